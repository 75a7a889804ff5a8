"""Disguises of an application's people, each beside the same visible change by hand, and back again.

Knows no application: what is disguised, which rows that means and how it is done by hand are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model

import edna
from benchmarks.floor import Floor, Place
from benchmarks.floor import Person as AtFloor
from benchmarks.kit.driver import Affected, Driver, Snapshot
from benchmarks.kit.percentiles import percentile
from benchmarks.memory import peaks
from benchmarks.parts import drilling, summary
from benchmarks.timing import COUNTED, DRILLED, Clock, Key, interleave
from benchmarks.watching import Seen, Stored, stored, watching

#: A published median in ms: by hand, and with the prototype.
Published = tuple[float | None, float]


@dataclass(frozen=True)
class Person:
    """Somebody with a key."""

    user: Model
    secret_key: edna.SecretKey = field(repr=False)


@dataclass(frozen=True)
class Operation:
    """A disguise and its way back. ``by_hand(driver, primary key)`` makes the same visible change for good; ``places`` are those of the
    floor."""

    name: str
    back: str
    disguise: str
    affected: Callable[[Any], Sequence[Affected]]
    by_hand: Callable[[Driver, Any], None]
    places: Sequence[Place]
    params: Mapping[str, Any] = field(default_factory=dict)
    published: Published | None = None
    published_back: Published | None = None


class Disguising:
    """Measures disguises and reveals.

    ``people`` is the table and key column in which work by hand leaves placeholders; ``new`` are columns referring to them, of rows
    that it gives another key. ``floor`` gets an account of its own for each of ``members``.
    """

    def __init__(
        self,
        driver: Driver,
        *,
        people: tuple[str, str],
        floor: Floor,
        members: Sequence[Person],
        new: Mapping[str, str] | None = None,
    ) -> None:
        self.driver, self._people, self._new = driver, people, dict(new or {})
        self.floor = floor
        self.at_floor: Mapping[Any, AtFloor] = floor.register([person.user.pk for person in members])
        self.clock = Clock(self._counting, (drilling, summary))
        self._seen: Seen | None = None
        self._weighed: dict[Key, list[Stored]] = {}
        self._looks: dict[Key, list[Seen]] = {}
        self._published: dict[Key, Published] = {}
        self.more: dict[Key, dict[str, Any]] = {}

    @contextmanager
    def _counting(self) -> Iterator[Callable[[], int]]:
        before = self.driver.statements
        with watching() as seen:
            yield lambda: seen.statements + self.driver.statements - before
        self._seen = seen

    @contextmanager
    def watched(self, key: Key) -> Iterator[None]:
        """Look on at work that is done once and by the clock: what that costs is little beside it."""
        with watching() as seen:
            yield
        self._looks.setdefault(key, []).append(seen)
        self.clock.statements.setdefault(key, set()).add(seen.statements)

    def timed(self, key: Key, work: Callable[[], Any], *, rows: int) -> Any:
        """Do one piece of work by the clock, and keep what was seen if it was watched."""
        self._seen = None
        outcome = self.clock(key, work, rows=rows)
        if self._seen is not None:
            self._looks.setdefault(key, []).append(self._seen)
        return outcome

    def many(self, operation: Operation, people: Sequence[Person], *, suffix: str = "") -> None:
        """Each once: with edna and by hand, another one first each time, and everything as it was afterwards."""
        counted = max(COUNTED, len(people) // 10)
        for number, person in enumerate(self.clock.rounds(people, drilled=max(DRILLED, counted), counted=counted)):
            self._both(number, operation, person, suffix)

    def repeated(self, operation: Operation, person: Person, *, times: int, suffix: str) -> None:
        """One person, again and again."""
        drilled = min(DRILLED, times)
        for number in self.clock.rounds(range(times + drilled + 3), warm_up=1, drilled=drilled, counted=2):
            self._both(number, operation, person, suffix)

    def _both(self, number: int, operation: Operation, person: Person, suffix: str) -> None:
        before = Snapshot(self.driver, operation.affected(person.user.pk))
        interleave(
            number,
            lambda: self.there_and_back(operation, person, before, suffix=suffix),
            lambda: self._by_hand(operation, person, before, suffix=suffix),
            lambda: self.floor_there_and_back(operation, person, before, suffix=suffix),
        )

    def there_and_back(
        self, operation: Operation, person: Person, before: Snapshot, *, suffix: str = "", unlock: bool = False
    ) -> None:
        """Disguise and reveal with edna; every row must be as it was. ``unlock``: what earlier disguises moved is meant, too."""

        def disguise() -> edna.Receipt:
            if not unlock:
                return edna.disguise(operation.disguise, person.user, params=operation.params)
            with edna.unlock(secret_key=person.secret_key) as unlocked:
                return edna.disguise(operation.disguise, person.user, params=operation.params, unlocked=unlocked)

        def reveal() -> edna.Outcome:
            with edna.unlock(secret_key=person.secret_key) as unlocked:
                return edna.reveal(receipt, unlocked)

        there, back = Key(f"{operation.name}{suffix}", "edna"), Key(f"{operation.back}{suffix}", "edna")
        for key, published in ((there, operation.published), (back, operation.published_back)):
            if published:
                self._published[key] = published
        then = stored(self.driver)
        receipt = self.timed(there, disguise, rows=len(before))
        self._weighed.setdefault(there, []).append(stored(self.driver) - then)
        outcome = self.timed(back, reveal, rows=len(before))
        if not outcome.complete:
            raise AssertionError(f"{operation.back}: not everything came back: {outcome}")
        before.assert_unchanged()

    def floor_there_and_back(
        self, operation: Operation, person: Person, before: Snapshot, *, suffix: str = "", unlock: bool = False
    ) -> None:
        """The same at the floor."""
        there, back = Key(f"{operation.name}{suffix}", "floor"), Key(f"{operation.back}{suffix}", "floor")
        known = self.at_floor[person.user.pk]
        self.floor.ready(2 * len(before))
        locators = self.timed(
            there, lambda: self.floor.hide(operation.places, [known], with_key=unlock), rows=len(before)
        )
        self.timed(back, lambda: self.floor.back(known, locators[known.key]), rows=len(before))
        before.assert_unchanged()

    def memory(self, operation: Operation, person: Person, *, suffix: str) -> None:
        """How much memory it takes, there and back: in a process of its own."""
        before = Snapshot(self.driver, operation.affected(person.user.pk))
        found = peaks(
            disguise=operation.disguise, params=operation.params, user=person.user, secret_key=person.secret_key
        )
        before.assert_unchanged()
        for name, which in ((operation.name, "there"), (operation.back, "back")):
            if found:
                more = self.more.setdefault(Key(f"{name}{suffix}", "edna"), {})
                more |= {"peak_bytes": found[which], "process_bytes": found["before"]}

    def _by_hand(self, operation: Operation, person: Person, before: Snapshot, *, suffix: str) -> None:
        table, column = self._people
        quoted = self.driver.quoted
        least = self.driver.number(f"SELECT MAX({quoted(column)}) + 1 FROM {quoted(table)}")
        self.driver.connection.commit()
        key = Key(f"{operation.name}{suffix}", "manual")
        self.timed(key, lambda: operation.by_hand(self.driver, person.user.pk), rows=len(before))
        before.put_back(new={name: (place, least) for name, place in {table: column, **self._new}.items()})
        before.assert_unchanged()

    def extra(self) -> dict[Key, dict[str, Any]]:
        """What stands in the results beside the times."""
        found: dict[Key, dict[str, Any]] = {key: dict(more) for key, more in self.more.items()}
        for key, published in self._published.items():
            found.setdefault(key, {})["published"] = list(published)
        for key, weighed in self._weighed.items():
            sizes = [each.bytes for each in weighed]
            made = [each.pseudoprincipals for each in weighed]
            found.setdefault(key, {}).update(
                stored_bytes=round(percentile(sizes, 50)),
                stored_bytes_p95=round(percentile(sizes, 95)),
                pseudoprincipals=round(percentile(made, 50)),
            )
        for key, looks in self._looks.items():
            if key.variant == "edna":
                found.setdefault(key, {}).update(
                    least_statements=min(seen.statements for seen in looks),
                    transactions=max(len(seen.transactions) for seen in looks),
                    longest_transaction_ms=round(max(seen.longest_transaction_ms for seen in looks), 2),
                )
                found[key].setdefault("stored_bytes", None)
        return found
