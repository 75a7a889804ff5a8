"""Every history of the hamlet: all that two people, staff and others can do there, in every order, up to so many acts.

Histories are a tree, so what begins alike is done once. Each act begins at a savepoint and with a copy of the oracle, and both go back
after it. Three things are left out that would say nothing new: a disguise with a key that leads to no more than the person's own rows;
a second edit, insert or delete by others; and what follows an act after which all is, to the byte, as it was before.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from tests.zoo.hamlet import Act, Hamlet


@dataclass
class Walk:
    """Through every history of at most so many ``acts``. ``differing``: those that ended otherwise than the oracle says, and how."""

    hamlet: Hamlet
    acts: int
    #: In the end everybody comes back: after each history of so many acts, and after one in so many of the longer ones.
    short: int
    one_in: int
    #: Only the histories that begin like this one.
    beginning: str = ""
    #: Is told how far it has come, and of each history that differs.
    listen: Callable[[str], object] = str
    #: In what each act is done, by its number.
    around: Callable[[int], AbstractContextManager[object]] = nullcontext
    histories: Counter[int] = field(default_factory=Counter)
    returns: int = 0
    differing: list[tuple[int, str, str]] = field(default_factory=list)

    def go(self, before: tuple[str, ...] = (), states: tuple[Any, ...] = ()) -> None:
        states = (*states, self.hamlet.state())
        for act in list(self.hamlet.choices()):
            history = (*before, act.story)
            if self.is_meant("; ".join(history)):
                self.histories[len(history)] += 1
                with self.hamlet.going_back():
                    try:
                        self.go_on(act, history, states)
                    except Exception as error:
                        self.differ(history, error)
                if len(history) < 3:
                    self.listen(f"... {'; '.join(history)}: {self}")

    def go_on(self, act: Act, history: tuple[str, ...], states: tuple[Any, ...]) -> None:
        with self.around(len(history)):
            act.do()
        self.hamlet.everybody_sees_what_they_should()
        if len(history) < self.acts and self.hamlet.state() not in states:
            self.go(history, states)
        if len(history) <= self.short or self.histories.total() % self.one_in == 0:
            self.returns += 1
            self.hamlet.everybody_comes_back()

    def is_meant(self, story: str) -> bool:
        return story.startswith(self.beginning) or self.beginning.startswith(story)

    def differ(self, history: tuple[str, ...], error: Exception) -> None:
        where = traceback.extract_tb(error.__traceback__)[-1]
        notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        what = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno}{notes})"
        self.differing.append((len(history), "; ".join(history), what))
        self.listen(f"!!! {'; '.join(history)}: {what}")

    def __str__(self) -> str:
        lengths = ", ".join(f"{number} of {length}" for length, number in sorted(self.histories.items()))
        return (
            f"{self.histories.total()} histories ({lengths} acts), everybody came back after {self.returns} of them; "
            f"{len(self.differing)} differ"
        )
