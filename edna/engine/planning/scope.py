"""Whom a plan is for, and how its rows are read: what every part of planning is told. Values; reads and writes nothing."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from django.db.models import Model

from edna import registry, store
from edna.engine.graph.references import key_of, without_row
from edna.engine.planning.steps import Target
from edna.spec import Disguise
from edna.store import Entry


@dataclass(frozen=True)
class Scope:
    """``disguise`` with ``params`` for ``targets``; for everybody at once (to be looked at) where ``everyone`` is set.

    ``first_owner_only`` says that ``targets`` are a part of everybody: a row with several owners is then modified only for the first
    of them who takes part, in whichever plan they are (`whose_it_is_before`).
    """

    disguise: type[Disguise]
    targets: Sequence[Target]
    _: KW_ONLY
    params: Mapping[str, Any]
    using: str
    lock: bool = False
    everyone: bool = False
    first_owner_only: bool = False
    #: Entries of others that were read for the plan, locked if it is, by reference: each is read once.
    known: dict[str, Entry] = field(default_factory=dict, repr=False)

    @functools.cached_property
    def model(self) -> type[Model]:
        """The principal model."""
        return registry.principal_model_for(self.disguise)

    @functools.cached_property
    def owners(self) -> Mapping[str, int]:
        """The references of those whose rows are meant, each with the position of its target."""
        return {
            str(entry.reference): position
            for position, target in enumerate(self.targets)
            for entry in target.owners
            if entry.attached
        }

    def whose_it_is_before(self, references: Set[str]) -> Set[str]:
        """Of owners who are not in this plan, those in whose turn a row that they own first is modified, or was: whoever takes part.

        Nobody, if it is somebody without a key, left out, or gone. A pseudoprincipal has taken the place of somebody whose turn it was.
        """
        take_part = next((target.take_part for target in self.targets if target.take_part is not None), None)
        others = references - self.owners.keys()
        if take_part is None or not self.first_owner_only or not others:
            return frozenset()
        if unread := others - self.known.keys():
            read = store.entries_by_reference(self.model._meta.label_lower, unread, using=self.using)
            entries = {str(entry.reference): entry for entry in read}
        else:
            entries = {}
        entries |= {reference: self.known[reference] for reference in others & self.known.keys()}
        there = {reference for reference, entry in entries.items() if entry.attached}
        there -= {*without_row(self.model, sorted(there), using=self.using)}
        natural = {reference for reference in there if entries[reference].natural}
        return there - natural | (take_part(natural) if natural else frozenset())

    @functools.cached_property
    def keys(self) -> list[Any] | None:
        """Their raw primary keys; None stands for everybody's."""
        return None if self.everyone else [key_of(self.model, each, using=self.using) for each in self.owners]
