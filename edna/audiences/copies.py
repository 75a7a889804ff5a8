"""Copies of what opens single bags, sealed to members together.

Invariant (nothing linkable): places and marks follow from keys of the server, which the database does not have. Writes in the engine's
transaction: a disguise whose copy cannot be kept is refused, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from edna import inner_door
from edna.audiences import store
from edna.audiences.notices import uses_under
from edna.custody.audiences.together import seal_together
from edna.errors import AudienceUnknown
from edna.records.locator import Locator

#: How many are looked for in one statement.
_AT_ONCE: Final = 16
#: So many numbers are looked at behind the last one at which something lies: who brings back what lies at the first ones hides nothing
#: of what lies behind.
_BEHIND: Final = 1_024

Subject = tuple[str, str]


class Copies(inner_door.Keeper):
    def require(self, audience: str, together: int, *, using: str) -> None:
        store.usable_sharing(audience, together, using=using)

    def keep(
        self,
        index: bytes,
        copy: bytes,
        *,
        subjects: Sequence[Subject],
        audience: str,
        together: int,
        first: bytes | None,
        using: str,
    ) -> None:
        if first is None:
            sharing = store.usable_sharing(audience, together, using=using, to_seal=True)
        else:
            # Whatever has become of the audience, it keeps nobody from coming back, and from a new key.
            if not _is_held(first, using=using):
                return
            store.keep_from_deletion(audience, using=using)
            try:
                sharing = store.sharing(audience, together, using=using)
            except AudienceUnknown:  # deleted, or somebody has taken the shares away: nobody could open what lies there
                self.forget([index], using=using)
                return
        self.forget([index], using=using)
        rows = []
        for number, place in enumerate(_free(subjects, using=using)):
            sealed = seal_together(copy, point=sharing.point, context=place)
            rows.append((place, inner_door.marks_of_copies(index, [number])[0], sharing.id, sealed))
        store.add_copies(rows, using=using)

    def forget(self, indexes: Collection[bytes], *, using: str) -> None:
        start, left = 0, list(indexes)
        while left:
            numbers = range(start, start + _AT_ONCE)
            marks = {mark: index for index in left for mark in inner_door.marks_of_copies(index, numbers)}
            gone = store.remove_copies(list(marks), using=using)
            left = [index for index in left if sum(marks[mark] == index for mark in gone) >= _AT_ONCE]
            start += _AT_ONCE

    def uses(self, locators: Collection[Locator], *, using: str) -> list[tuple[str, int, str, str]]:
        return [(use.audience, use.together, use.month, use.reason) for use in uses_under(locators, using=using)]


def _is_held(index: bytes, *, using: str) -> bool:
    """A bag has one of that number, if it has any."""
    return bool(store.marks_there(inner_door.marks_of_copies(index, [0]), using=using))


def _free(subjects: Sequence[Subject], *, using: str) -> list[bytes]:
    """For each of these, the first place where nothing lies."""
    found: dict[Subject, bytes] = {}
    start = 0
    while len(found) < len(subjects):
        wanted = {
            (subject, number): inner_door.places_of_copies(subject, number, using=using)[0]
            for subject in subjects
            if subject not in found
            for number in range(start, start + 4)
        }
        taken = store.places_there(list(wanted.values()), using=using)
        for (subject, _), place in wanted.items():
            if place not in taken:
                found.setdefault(subject, place)
        start += 4
    return [found[subject] for subject in subjects]


def places_about(subject: Subject, *, using: str) -> list[bytes]:
    """Where copies about somebody lie. A gap is left wherever one was taken back."""
    found: list[bytes] = []
    start, end = 0, _BEHIND
    while start < end:
        numbers = range(start, end)
        wanted = {
            place: number for number in numbers for place in inner_door.places_of_copies(subject, number, using=using)
        }
        there = store.places_there(list(wanted), using=using)
        found += [place for place in wanted if place in there]
        start, end = end, max((wanted[place] + 1 + _BEHIND for place in there), default=end)
    return found
