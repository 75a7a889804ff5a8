"""Several devices of a person, each with a key of its own: ``INSTALLED_APPS += ["edna.devices"]``, then ``edna.devices.create(unlocked)``.

What they compute is in `edna.custody.devices`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edna.devices.acts import (
        Member,
        NewDevice,
        Pending,
        add,
        begin,
        catch_up,
        create,
        end,
        finish,
        forget,
        group_code,
        members,
        new_key,
        pending,
        remove,
        rename,
        unlock,
        update,
    )
    from edna.devices.passwords import add_password, add_recovery_code

__all__ = [
    "Member",
    "NewDevice",
    "Pending",
    "add",
    "add_password",
    "add_recovery_code",
    "begin",
    "catch_up",
    "create",
    "end",
    "finish",
    "forget",
    "group_code",
    "members",
    "new_key",
    "pending",
    "remove",
    "rename",
    "unlock",
    "update",
]


def __getattr__(name: str) -> Any:
    # Late: Django imports this package before its models may be imported.
    if name in __all__:
        room = "passwords" if name in {"add_password", "add_recovery_code"} else "acts"
        return getattr(import_module(f"edna.devices.{room}"), name)
    raise AttributeError(f"module 'edna.devices' has no attribute {name!r}")
