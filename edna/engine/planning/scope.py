"""Whom a plan is for, and how its rows are read: what every part of planning is told. Values; reads and writes nothing."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from django.db.models import Model

from edna import registry, store
from edna.db.rows import Row
from edna.engine.graph.references import key_of
from edna.engine.planning.steps import AskTurns, Target, Turns
from edna.spec import Disguise
from edna.store import Entry


@dataclass(frozen=True)
class Scope:
    """``disguise`` with ``params`` for ``targets``; for everybody at once (to be looked at) where ``everyone`` is set."""

    disguise: type[Disguise]
    targets: Sequence[Target]
    _: KW_ONLY
    params: Mapping[str, Any]
    using: str
    lock: bool = False
    everyone: bool = False
    #: Entries of others that were read for the plan, locked if it is, by reference: each is read once.
    known: dict[str, Entry] = field(default_factory=dict, repr=False)
    #: Of tables of which a step has found more rows than one plan is to have: as many, in no order, locked if the plan is.
    too_many: dict[type[Model], list[Row]] = field(default_factory=dict, repr=False)

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

    @functools.cached_property
    def ask_turns(self) -> AskTurns | None:
        """Where the targets are a part of everybody, who knows of the others; a row of several owners is modified once."""
        return next((target.ask_turns for target in self.targets if target.ask_turns is not None), None)

    def turns_of(self, references: Set[str]) -> Turns:
        """Of owners who are not in this plan."""
        others = references - self.owners.keys()
        if self.ask_turns is None or not others:
            return Turns()
        entries = {reference: self.known[reference] for reference in others & self.known.keys()}
        if unread := others - self.known.keys():
            read = store.entries_by_reference(self.model._meta.label_lower, unread, using=self.using)
            entries |= {str(entry.reference): entry for entry in read}
        there = {reference for reference, entry in entries.items() if entry.attached}
        natural = {reference for reference in there if entries[reference].natural}
        return self.ask_turns(natural, there - natural)

    @functools.cached_property
    def keys(self) -> list[Any] | None:
        """Their raw primary keys; None stands for everybody's."""
        return None if self.everyone else [key_of(self.model, each, using=self.using) for each in self.owners]
