"""How far audiences have come, as the audit trail says: so that whoever puts an earlier state of the tables back is found.

Each change of an audience, and of its shares, is noted in the audit trail, in the transaction that makes it. A tag does not tell that a row
of before was put back; the trail is a chain, with a count. Keeps: it names audiences, and nobody about whom something is held. Without
`edna.operations` there is no trail, and nothing is noted. Does not know how members change something.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from edna import inner_door
from edna.audiences import store, tags

_CHANGED: Final = "audience-changed"
_SHARED: Final = "audience-shared"


def note_change(name: str, sequence: int, *, by: str) -> None:
    """That an update was made: last in the caller's transaction."""
    inner_door.note_act(_CHANGED, operator=by, audience=name, update=sequence)


def note_shares(name: str, together: int, epoch: int, *, by: str) -> None:
    """That other shares count from now on: last in the caller's transaction."""
    inner_door.note_act(_SHARED, operator=by, audience=name, together=together, epoch=epoch)


class Tables(inner_door.FurtherTables):
    """What `edna_verify`, `edna_keys` and `edna_vouch` know of audiences."""

    def tagged(self) -> Sequence[inner_door.Tagged]:
        return tags.tables()

    def set_back(self, noted: inner_door.Noted, *, using: str) -> Iterator[str]:
        updates, epochs = store.numbers_of_updates(using=using), store.epochs(using=using)
        newest: dict[str, int] = {}
        for said in noted(_CHANGED):
            newest.setdefault(str(said["audience"]), int(said["update"]))
        for name in sorted({*updates, *newest}):
            there = updates.get(name, [])
            # Of an earlier release nothing was noted.
            if there != list(range(len(there))) or len(there) - 1 < newest.get(name, -1):
                yield name
        shared: dict[tuple[str, int], int] = {}
        for said in noted(_SHARED):
            shared.setdefault((str(said["audience"]), int(said["together"])), int(said["epoch"]))
        for (name, together), epoch in sorted(shared.items()):
            if epochs.get((name, together), -1) < epoch:
                yield f"{name}, {together} together"
