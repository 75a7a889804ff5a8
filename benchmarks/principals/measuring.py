"""Deleting and restoring students drawn at random from a crowd, by the clock, and by what the server read for it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.core.management import call_command

import edna
from benchmarks.disguising import Person
from benchmarks.kit.driver import Affected, Driver, Snapshot
from benchmarks.kit.percentiles import percentile
from benchmarks.parts import drilling, summary
from benchmarks.principals.crowd import ANSWERS_EACH, Crowd
from benchmarks.principals.reads import Reads, reads_of_asking, reads_so_far
from benchmarks.space import analyse
from benchmarks.timing import DRILLED, WARM_UP, Clock, Key, Result, interleave, say
from benchmarks.watching import watching
from benchmarks.websubmit import manual

DELETE: Final = "websubmit.delete-account"
_SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
_COUNTED: Final = 10
#: A million students with everything, so that all sizes are read from memory, as a server of that size would be set up.
_BUFFER_POOL_BYTES: Final = 4 * 1024**3
_SMALL: Final = 20_000


def sizes_up_to(most: int) -> list[int]:
    return [size for size in _SIZES if size < most] + [most]


class Among:
    """One student among the others."""

    def __init__(self, driver: Driver, *, seed: int) -> None:
        call_command("migrate", verbosity=0)
        self._driver, self._source = driver, random.Random(seed)
        self._crowd = Crowd(driver)
        self._clock = Clock(self._counting, (drilling, summary))
        self._reads: dict[Key, list[Reads]] = {}
        self._seen: Reads | None = None
        self._asking: Reads | None = None
        self._points: dict[Key, dict[str, Any]] = {}
        self._bag_bytes = self._usual_bag()

    def _usual_bag(self) -> int:
        """How long the bag of such a student is: that of the first one, who leaves and comes back."""
        self._crowd.grow(1, bag_bytes=1)  # nobody has left yet
        (person,) = self._crowd.with_keys([1])
        receipt = edna.disguise(DELETE, person.user)
        size = self._driver.number("SELECT MAX(LENGTH(sealed)) FROM edna_bag")
        self._driver.commit()
        with edna.unlock(secret_key=person.secret_key) as unlocked:
            assert edna.reveal(receipt, unlocked).complete
        return size

    def grow(self, size: int) -> None:
        if size > _SMALL and self._driver.dialect.vendor == "mysql":
            self._driver.execute("SET GLOBAL innodb_buffer_pool_size = %s", (_BUFFER_POOL_BYTES,))
        self._crowd.grow(size, bag_bytes=self._bag_bytes)
        analyse(self._driver)

    def measure(self, *, samples: int) -> None:
        """Each of those drawn once, with edna and by hand."""
        here, wanted = self._crowd.here(), samples + WARM_UP + DRILLED + _COUNTED
        people = self._crowd.with_keys(self._source.sample(here, min(wanted, len(here))))
        self._source.shuffle(people)
        self._asking = reads_of_asking(self._driver)
        say(self._tables())
        for number, person in enumerate(self._clock.rounds(people, counted=_COUNTED)):
            interleave(number, lambda p=person: self._there_and_back(p), lambda p=person: self._by_hand(p))

    def _tables(self) -> str:
        names = ("websubmit_user", "websubmit_answer", "edna_principalentry", "edna_bag")
        counts = [f"{self._driver.number(f'SELECT COUNT(*) FROM {name}'):,} in {name}" for name in names]
        self._driver.commit()
        return "rows: " + ", ".join(counts)

    @contextmanager
    def _counting(self) -> Iterator[Callable[[], int]]:
        before, then = self._driver.statements, reads_so_far(self._driver)
        with watching() as seen:
            yield lambda: seen.statements + self._driver.statements - before
        now = reads_so_far(self._driver)
        self._seen = now - then - self._asking if now and then and self._asking else None

    def _timed(self, name: str, variant: str, work: Callable[[], Any]) -> Any:
        size = self._crowd.size
        key = Key(f"{name} account, {size:,} principals", variant)
        line = name if variant == "edna" else f"{name}, by hand"
        self._points[key] = {"curve": "principals", "x": size, "line": line}
        self._seen = None
        outcome = self._clock(key, work, rows=ANSWERS_EACH + 1)
        if self._seen is not None and variant == "edna":
            self._reads.setdefault(key, []).append(self._seen)
        return outcome

    def _there_and_back(self, person: Person) -> None:
        """Every row of the student must be as it was."""
        before = Snapshot(
            self._driver,
            [
                Affected("websubmit_user", "t.id = %s", (person.user.pk,)),
                Affected("websubmit_answer", "t.author_id = %s", (person.user.pk,)),
            ],
        )

        def restore() -> edna.Outcome:
            with edna.unlock(secret_key=person.secret_key) as unlocked:
                return edna.reveal(receipt, unlocked)

        receipt = self._timed("delete", "edna", lambda: edna.disguise(DELETE, person.user))
        outcome = self._timed("restore", "edna", restore)
        if not outcome.complete or len(before) != ANSWERS_EACH + 1:
            raise AssertionError(f"not everything came back of {len(before)} rows: {outcome}")
        before.assert_unchanged()

    def _by_hand(self, person: Person) -> None:
        saved = manual.Saved(self._driver, person.user.pk)
        self._timed("delete", "manual", lambda: manual.delete_account(self._driver, person.user.pk))
        saved.put_back()

    def results(self, *, database: str) -> list[Result]:
        extra = self._points
        for key, seen in self._reads.items():
            extra[key] |= {
                "rows_read": round(percentile([each.rows for each in seen], 50)),
                "rows_read_most": max(each.rows for each in seen),
                "rows_read_least": min(each.rows for each in seen),
                "pages": round(percentile([each.pages for each in seen], 50)),
            }
            if self._driver.dialect.vendor == "postgresql":
                extra[key]["rows_scanned"] = round(percentile([each.scanned for each in seen], 50))
        scale = f"up to {self._crowd.size:,} students with {ANSWERS_EACH} answers each, of whom every tenth has left"
        found: list[Result] = self._clock.results(
            app="principals", level="library", database=database, scale=scale, extra=extra
        )
        return found
