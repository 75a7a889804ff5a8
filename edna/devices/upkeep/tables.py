"""What `edna_keys`, `edna_vouch` and `edna_verify` know of devices."""

from __future__ import annotations

from collections.abc import Iterator

from edna import inner_door
from edna.crypto.keys import PublicKey
from edna.devices.upkeep import former_keys, logs


class Tables(inner_door.FurtherTables):
    """The table of devices."""

    def kept(self, *, using: str) -> Iterator[inner_door.KeyStatistic]:
        yield inner_door.KeyStatistic("devices", former_keys.WORDS, former_keys.count(using=using))

    def renew(self, *, using: str) -> Iterator[inner_door.KeyStatistic]:
        yield inner_door.KeyStatistic("devices", former_keys.WORDS, former_keys.count(using=using, renew=True))

    def slot_keys(self, *, using: str) -> Iterator[list[PublicKey]]:
        return former_keys.slot_keys(using=using)

    def checked(self, *, using: str) -> Iterator[inner_door.Checked]:
        return (inner_door.Checked(*told) for told in logs.checked(using=using))
