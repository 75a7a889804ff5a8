"""People who leave, come back, and are anonymised, all at the same time, over whatever stands between them and the database."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable

from django.db import InterfaceError, OperationalError, connection

from edna import errors
from edna.models import Bag
from edna.testing import application_dump
from tests.support import ANONYMISE_ALL, DELETE, Student, answer_everything, enrol_many, make_course
from tests.waiting import at_once, eventually


class Traffic:
    """Some people. ``acts`` counts what they did, by act and outcome."""

    def __init__(self, *, people: int) -> None:
        make_course(2, questions=2)
        self.people = enrol_many(people)
        answer_everything(*self.people)
        self.origin = application_dump()
        self.acts: Counter[str] = Counter()
        self._until = 0.0

    def flows(self, *, writers: int, seconds: float = 0.0, meanwhile: Callable[[], object] | None = None) -> None:
        """So many of them at once, for so long or until ``meanwhile`` is over."""
        self._until = float("inf") if meanwhile else time.monotonic() + seconds

        def watch() -> None:
            if meanwhile:
                try:
                    meanwhile()
                finally:
                    self._until = 0.0

        works = [lambda seed=seed: self._someone(random.Random(seed)) for seed in range(writers)]
        assert at_once(*works, watch) == [None] * (writers + 1)

    def goes_on(self) -> None:
        before = self.done
        eventually(lambda: self.done >= before + 10, what="people are served")

    @property
    def done(self) -> int:
        return sum(number for act, number in self.acts.items() if act.endswith(": done"))

    def everybody_gets_everything_back(self) -> bool:
        connection.close()  # its server may have been killed
        for _ in range(5):
            for person in self.people:
                for entry in person.history():
                    person.reveal(entry.receipt)
        return application_dump() == self.origin and Bag.objects.count() == 0

    def _someone(self, chance: random.Random) -> None:
        while time.monotonic() < self._until:
            person = chance.choice(self.people)
            act = chance.choice((self.leave, self.come_back, self.anonymise))
            try:
                outcome = act(person, chance)
            except (errors.EdnaError, OperationalError, InterfaceError) as error:
                outcome = type(error).__name__
            self.acts[f"{act.__name__}: {outcome}"] += 1
            connection.close()  # the next one is somebody else's, as after a request

    def leave(self, person: Student, chance: random.Random) -> str:
        person.disguise(DELETE, with_key=chance.random() < 0.5)
        return "done"

    def anonymise(self, person: Student, chance: random.Random) -> str:
        person.disguise(ANONYMISE_ALL)
        return "done"

    def come_back(self, person: Student, chance: random.Random) -> str:
        history = person.history()
        if not history:
            return "nothing to do"
        person.reveal(chance.choice(history).receipt)
        return "done"
