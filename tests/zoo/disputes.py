"""What habitats share in which the application, and others, get in the way of what is hidden; and in which people accept that."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.db.models import QuerySet
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

import edna
from tests.zoo.machine import Habitat, Inhabitant, crashes, numbers
from tests.zoo.oracle import APPLICATION, Layer, Row


class Disputed(Habitat):
    """What is in the way is there until somebody gets it out of the way."""

    def __init__(self) -> None:
        #: How to undo each quarrel; False while something lies on top of it.
        self.quarrels: list[Callable[[], bool]] = []
        super().__init__()

    def quarrel(self, story: str) -> None:
        self.tell(story)
        self.latest = None

    def put_over(self, row: Row, name: str, now: Any) -> Layer:
        """The application writes another value over one that a disguise has put there, and nobody undoes that by itself."""
        self.quarrel(f"the application overwrites {row!r}.{name}")
        QuerySet(row.model).filter(pk=row.key).update(**{name: now})
        layer = Layer(APPLICATION, set(), now)
        row.layers[name].append(layer)
        return layer

    def take_off(self, row: Row, name: str, layer: Layer, before: Any) -> bool:
        """What stood there before stands there again, unless something lies on top of it."""
        if row.gone is not None or row.layers[name][-1] is not layer:
            return False
        QuerySet(row.model).filter(pk=row.key).update(**{name: before})
        row.layers[name].remove(layer)
        return True

    @rule(number=numbers)
    def make_up(self, number: int) -> None:
        if self.quarrels:
            self.latest = None
            undo = self.quarrels[number % len(self.quarrels)]
            if undo():
                self.quarrels.remove(undo)


class Accepting(Disputed):
    """Whoever is held up by others can accept that; some of it the specification accepts by itself."""

    #: Why what a specification accepts is held, in the oracle's words.
    whys: ClassVar[dict[str, str]] = {"changed": "changed", "row_missing": "row"}

    def __init__(self) -> None:
        #: What the latest reveal of a receipt held.
        self.held: dict[str, list[edna.Held]] = {}
        #: How many rows were given up so far.
        self.accepted = 0
        super().__init__()
        self.oracle.disguises = self.disguises

    @precondition(lambda self: self.held)
    @rule(which=numbers, one=numbers, everything=st.booleans(), crash=crashes)
    def accept(self, which: int, one: int, everything: bool, crash: int | None) -> None:
        """All of it, or one row of an outcome that may be old."""
        waiting = [
            (person, receipt)
            for person in self.inhabitants.values()
            for receipt in self.history(person)
            if self.held.get(receipt)
        ]
        if waiting:
            person, receipt = waiting[which % len(waiting)]
            held = self.held[receipt]
            self.reveal_one(person, receipt, crash, edna.ALL if everything else [held[one % len(held)]])

    def given_up(self, person: Inhabitant, receipt: str, held: set[tuple[Row, str]], accept: Any) -> set[Row]:
        if any(row.model is self.principal and why not in self.whys.values() for row, why in held):
            return set()  # the account may come back, and what belongs to it waits for it
        named = {(each.model, each.pk) for each in accept} if accept is not edna.ALL else set()
        (cls,) = (each for each in self.disguises if each.name == receipt.split(":")[1])
        by_itself = {(label, self.whys[reason]) for label, reasons in cls.accepts.items() for reason in reasons}
        return {
            row
            for row, why in held
            if self.oracle.can_be_given_up(person.pk, receipt, row, {each for of, each in held if of is row})
            and (
                accept is edna.ALL
                or (row.model._meta.label_lower, row.key) in named
                or (row.model._meta.label, why) in by_itself
            )
        }

    def told(self, receipt: str, outcome: edna.Outcome, held: set[tuple[Row, str]], deferred: set[Row]) -> None:
        self.held[receipt] = list(outcome.held)
        self.accepted += sum(outcome.accepted.values())

    def sweep_now(self, crash: int | None = None) -> None:
        """Also those whom others had named: nobody names them again, and what waits for that can be accepted."""
        Habitat.sweep_now(self, crash)

    def accept_everything(self) -> bool:
        """Whether anybody has accepted anything."""
        before = self.accepted
        for person in self.inhabitants.values():
            for receipt in self.history(person):
                if receipt in self.history(person):
                    self.reveal_one(person, receipt, accept=edna.ALL)
        return self.accepted > before

    def compare_with_the_twin(self) -> None:
        """What the twin's application does in the end is what the others' has done, and the person has accepted."""
        for row in sorted(self.oracle.lost, key=lambda row: -self.tables.index(row.model)):
            key = self.true_key(row)
            self.write(int, partial(QuerySet(row.model).filter(pk=key)._raw_delete, using="default"))
        for row in (row for model in self.tables for row in self.oracle.present(model)):
            for name, stack in row.layers.items():
                if stack:
                    assert {layer.person for layer in stack} == {APPLICATION}, (row, name, stack)
                    self.write(int, partial(QuerySet(row.model).filter(pk=row.key).update, **{name: row.value(name)}))
        super().compare_with_the_twin()
