"""What `edna_keys` knows of envelopes: under which of the server's keys each is kept.

Keeps: nothing is put under another key here, for that takes the name that its owner types (`enrolments.renew`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from edna import conf, inner_door
from edna.custody import by_guardians
from edna.guardians import store

_WORDS: Final = ("guardians' envelope", "guardians' envelopes")


class Tables(inner_door.FurtherTables):
    """The table of envelopes."""

    def kept(self, *, using: str) -> Iterator[inner_door.KeyStatistic]:
        found, keys = inner_door.FoundUnderKeys(), conf.mac_keys()
        for page in store.everything(using=using):
            found.looked_at += len(page)
            for place, sealed in page:
                if by_guardians.open_sealed(sealed, place=place, peppers=keys[:1]) is None:
                    opens = by_guardians.open_sealed(sealed, place=place, peppers=keys[1:]) is not None
                    found.older += opens
                    found.wrong += not opens
        yield inner_door.KeyStatistic("envelopes", _WORDS, found, by_owner=True)
