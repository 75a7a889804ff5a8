"""Rows with several owners: what becomes of one when some of them remove it.

While another natural owner remains, the row stays, and the columns that name those who leave are re-pointed. When the last
natural owner leaves, the row goes; if pseudoprincipals of others own it too, it is sealed for them as well. Decides on
values, in at most two statements however many rows there are; writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from edna import store
from edna.db.rows import Row
from edna.engine.graph.references import reference_of, without_row
from edna.store import Entry


@dataclass(frozen=True)
class Share:
    """What becomes of one row. ``own`` are the positions of owners that leave, each with its target, ``names`` are they.

    ``others`` are pseudoprincipals of people who take no part, ``voices`` those who stand for the ones who leave from now on.
    """

    stays: bool
    own: tuple[tuple[int, int], ...]
    names: tuple[str, ...]
    others: tuple[Entry, ...]
    voices: tuple[Entry, ...] = ()

    @property
    def targets(self) -> tuple[int, ...]:
        """Whose bags the row belongs into, each once."""
        return tuple(dict.fromkeys(target for _, target in self.own))

    def same(self, other: Share) -> bool:
        """Whether the same people have it."""
        return set(self.targets) == set(other.targets) and set(self.others) == set(other.others)

    @property
    def alone(self) -> bool:
        """Nobody else has anything of this row: it is removed like any other."""
        return not self.stays and not self.others and len(self.targets) == 1


def decide(
    holders: Sequence[Row],
    *,
    owners: Mapping[str, int],
    known: dict[str, Entry],
    model: type[Model],
    lock: bool,
    using: str,
) -> list[Share]:
    """One `Share` for each row's owners; ``owners`` are the references that leave, with their targets. Others' entries go to those that
    are ``known``.

    A principal without a key is a natural owner, too; NULL, and a value that no row of the principal model has, is none.
    """
    references = {value: reference_of(model, value) for row in holders for value in row if value is not None}
    strangers = {reference for reference in references.values() if reference not in owners}
    if unread := strangers - known.keys():
        read = store.entries_by_reference(model._meta.label_lower, unread, using=using, lock=lock)
        known |= {str(entry.reference): entry for entry in read}
    unknown = sorted(strangers - known.keys())
    nobody = set(without_row(model, unknown, using=using)) if unknown else set()
    return [_decide([references.get(value) for value in row], owners, known, nobody) for row in holders]


def pseudoprincipals_among(values: Set[Any], *, model: type[Model], lock: bool, using: str) -> dict[Any, Entry]:
    """Of raw primary keys of principals, those that are pseudoprincipals, with their entries."""
    references = {reference_of(model, value): value for value in values}
    entries = store.entries_by_reference(model._meta.label_lower, references, using=using, lock=lock)
    return {references[str(entry.reference)]: entry for entry in entries if not entry.natural}


def _decide(
    holders: Sequence[str | None], owners: Mapping[str, int], entries: Mapping[str, Entry], nobody: set[str]
) -> Share:
    own: list[tuple[int, int]] = []
    names: list[str] = []
    others: dict[int, Entry] = {}
    stays = False
    for position, reference in enumerate(holders):
        if reference is None or reference in nobody:
            continue
        if reference in owners:
            own.append((position, owners[reference]))
            names.append(reference)
        elif reference in entries and not entries[reference].natural:
            others[entries[reference].id] = entries[reference]
        else:
            stays = True
    return Share(stays, tuple(own), tuple(names), tuple(others.values()))
