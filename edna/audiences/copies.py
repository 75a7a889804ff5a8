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
from edna.records.locator import Locator

#: How many are looked for in one statement.
_AT_ONCE: Final = 16

Subject = tuple[str, str]


class Copies(inner_door.Keeper):
    def keep(
        self, index: bytes, copy: bytes, *, subjects: Sequence[Subject], audience: str, together: int, using: str
    ) -> None:
        sharing = store.sharing(audience, together, using=using)
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


def _free(subjects: Sequence[Subject], *, using: str) -> list[bytes]:
    """For each of these, the first place where nothing lies."""
    found: dict[Subject, bytes] = {}
    start = 0
    while len(found) < len(subjects):
        wanted = {
            (subject, number): inner_door.places_of_copies(subject, number)[0]
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
    """Where copies about somebody lie."""
    found: list[bytes] = []
    start, misses = 0, False
    while not misses:
        wanted = [
            place for number in range(start, start + _AT_ONCE) for place in inner_door.places_of_copies(subject, number)
        ]
        there = store.places_there(wanted, using=using)
        found += [place for place in wanted if place in there]
        misses, start = not there, start + _AT_ONCE
    return found
