"""How far audiences have come, as the audit trail says: so that whoever puts an earlier state of the tables back is found.

Each change of an audience, and of its shares, is noted in the audit trail, in the transaction that makes it. A tag does not tell that a row
of before was put back; the trail is a chain, with a count. Keeps: it names audiences, and nobody about whom something is held. Without
`edna.operations` there is no trail, and nothing is noted. Does not know how members change something.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from edna import inner_door
from edna.audiences import store, tags
from edna.custody.audiences.audience import Audience
from edna.custody.audiences.together import Sharing
from edna.errors import AudienceRefused, AudienceTooSmall, AudienceUnknown
from edna.words import count

_CHANGED: Final = "audience-changed"
_SHARED: Final = "audience-shared"
#: In place of the number of an update, or of an epoch: it was deleted.
_GONE: Final = -1


def note_change(name: str, audience: Audience, *, by: str) -> None:
    """That an update was made: last in the caller's transaction."""
    inner_door.note_act(_CHANGED, operator=by, audience=name, update=audience.sequence, id=audience.id.hex())


def note_shares(name: str, together: int, sharing: Sharing, *, by: str) -> None:
    """That other shares count from now on: last in the caller's transaction."""
    inner_door.note_act(
        _SHARED, operator=by, audience=name, together=together, epoch=sharing.epoch, id=sharing.id.hex()
    )


def note_deletion(name: str, togethers: Iterable[int], held: int, *, by: str) -> None:
    """That it was deleted: what is noted of it later is of another one."""
    for together in togethers:
        inner_door.note_act(_SHARED, operator=by, audience=name, together=together, epoch=_GONE)
    inner_door.note_act(_CHANGED, operator=by, audience=name, update=_GONE)
    inner_door.note_act("audience-deleted", operator=by, audience=name, held=held)


class Tables(inner_door.FurtherTables):
    """What `edna_verify`, `edna_keys`, `edna_vouch` and `edna_health` know of audiences."""

    def tagged(self) -> Sequence[inner_door.Tagged]:
        return tags.tables()

    def lines(self, *, using: str) -> Iterator[inner_door.HealthLine]:
        audiences, small, forged = len(store.numbers_of_updates(using=using)), [], []
        for (name, _), error in sorted(store.unusable(using=using).items()):
            if isinstance(error, AudienceTooSmall):
                small.append(f"{name} ({error.have} left of the {error.need} who act together)")
            else:
                forged.append(name)
        if not audiences and not forged:
            return
        finding, advice = f"{count(audiences, 'audience')}.", ""
        if small:
            finding = f"Nobody can read what is held for {', '.join(small)}, and disguises that declare it are refused."
            advice = "Let a member take in again who had a share and went; or delete it and make it anew (docs/audiences.md)."
        if forged:
            finding = (
                f"Shares of {', '.join(dict.fromkeys(forged))} are not this site's, and nothing is sealed to them."
            )
            advice = "manage.py edna_verify names the rows."
        numbers = {"audiences": audiences, "too_small": len(small), "forged": len(forged)}
        yield inner_door.HealthLine("audiences", finding, advice, numbers)

    def set_back(self, noted: inner_door.Noted, *, using: str) -> Iterator[str]:
        updates = store.numbers_of_updates(using=using)
        found = {name: _found(name, using=using) for name in updates}
        changed = list(_audiences_set_back(noted, updates, found))
        yield from changed
        there = {name: audience for name, audience in found.items() if name not in changed}
        yield from _shares_set_back(noted, there, using=using)


def _audiences_set_back(
    noted: inner_door.Noted, updates: Mapping[str, Sequence[int]], found: Mapping[str, Audience | None]
) -> Iterator[str]:
    newest: dict[str, tuple[int, str]] = {}
    for said in noted(_CHANGED):
        newest.setdefault(str(said["audience"]), (int(said["update"]), str(said.get("id", ""))))
    for name in sorted({*updates, *newest}):
        there = updates.get(name, [])
        number, id_ = newest.get(name, (_GONE, ""))
        # Of an earlier release nothing was noted.
        if there != list(range(len(there))) or len(there) - 1 < number:
            yield name
        elif there and name in newest and number == _GONE:
            yield name  # it was deleted
        elif id_ and (audience := found.get(name)) is not None and audience.id.hex() != id_:
            yield name  # another one of that name, which was deleted


def _shares_set_back(noted: inner_door.Noted, audiences: Mapping[str, Audience | None], *, using: str) -> Iterator[str]:
    epochs, sharings = store.epochs(using=using), store.sharings(using=using)
    shared: dict[tuple[str, int], tuple[int, str]] = {}
    for said in noted(_SHARED):
        place = str(said["audience"]), int(said["together"])
        shared.setdefault(place, (int(said["epoch"]), str(said.get("id", ""))))
    for name, together in sorted({*sharings, *shared}):
        epoch, id_ = shared.get((name, together), (_GONE, ""))
        known = sharings.get((name, together))
        is_older = epochs.get((name, together), _GONE) < epoch
        is_back = epoch == _GONE and (name, together) in shared and (name, together) in epochs
        is_another = known is not None and bool(id_) and known[0].id.hex() != id_
        if is_older or is_back or is_another or _forgets_who_went(known, audiences.get(name)):
            yield f"{name}, {together} together"


def _forgets_who_went(known: tuple[Sharing, set[bytes]] | None, audience: Audience | None) -> bool:
    """Shares as they were before somebody went, who counts as there: a disguise asks them, and not the audience."""
    if known is None or audience is None:
        return False
    sharing, gone = known
    return gone != set(sharing.members) - audience.cards.keys()


def _found(name: str, *, using: str) -> Audience | None:
    """None if it cannot be read: that is another finding."""
    try:
        return store.audience(name, using=using)
    except (AudienceRefused, AudienceUnknown):
        return None
