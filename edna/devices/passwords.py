"""A password or a recovery code as a device: a key slot holds a key of a device, in the place of the principal's own.

So it goes on working when the group gets another secret, and is removed as any device is. Keeps: a slot is there before its device is in
the group, so that no device is there whose key nobody has. Does not know how slots are made.
"""

from __future__ import annotations

from collections.abc import Callable

from edna import inner_door
from edna.api import RecoveryCode, SecretKey, Unlocked
from edna.devices import acts
from edna.devices.reading import of_device


def add_password(secret_key: SecretKey | str, *, identifier: str, password: str, name: str = "") -> bytes:
    """Let a password open the principal's keys as a device of its own; return its id. `edna.unlock` takes it.

    Raises:
        DeviceUnknown, DeviceRemoved, DeviceGroupEnded, OperationRefused. Nothing was changed then.
    """

    def keep(key: SecretKey) -> None:
        inner_door.add_password_slot(key, identifier=identifier, password=password)

    return _added(secret_key, keep, name=name)


def add_recovery_code(secret_key: SecretKey | str, *, name: str = "") -> RecoveryCode:
    """As `add_password`, for a recovery code: return it. It is stored nowhere.

    Raises:
        DeviceUnknown, DeviceRemoved, DeviceGroupEnded, OperationRefused. Nothing was changed then.
    """
    codes: list[RecoveryCode] = []

    def keep(key: SecretKey) -> None:
        codes.append(inner_door.add_recovery_slot(key))

    _added(secret_key, keep, name=name)
    return codes[0]


def opened(secret_key: SecretKey) -> Unlocked | None:
    """What a key opens that is nobody's own; None if it is no device's either.

    Raises:
        DeviceRemoved, DeviceGroupEnded
    """
    return acts.unlock(secret_key) if acts.is_known(secret_key) else None


@of_device
def _added(secret_key: SecretKey | str, keep: Callable[[SecretKey], None], *, name: str) -> bytes:
    acts.members(secret_key)  # whoever is in no group any more leaves no slot behind
    new = acts.begin()
    try:
        keep(new.secret_key)
        return acts.add(secret_key, new.code, name=name)
    except BaseException:
        acts.forget(new.secret_key)
        raise
