"""Every history of the hamlet is as the oracle says: two people, three tables, up to five acts.

`make test` goes through those of up to three acts, `make test-deep` through all; how many there were stands below the tests.
`EDNA_ACTS=4` chooses how long they are, and `EDNA_HISTORY="1 hush; others edit"` which begin so: then everybody comes back after each of
them. With `-s` one sees how far it has come.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.installed import registering
from tests.support import server_clock_set
from tests.zoo.hamlet import Hamlet
from tests.zoo.histories import Walk
from tests.zoo.specs import hamlet as specs
from tests.zoo.tables import zoo_tables  # noqa: F401 - a fixture

pytestmark = [pytest.mark.django_db, pytest.mark.once]

ACTS = int(os.environ.get("EDNA_ACTS") or 3)
BEGINNING = os.environ.get("EDNA_HISTORY", "")
DISGUISES = ("leave", "mask", "hush")
#: What can be the first act: nobody has anything to reveal yet, and a key makes no difference.
FIRST = (
    *(f"{who} {disguise}" for who in ("1", "2", "all") for disguise in DISGUISES),
    *("others edit", "others insert", "others delete"),
)


@pytest.fixture
def hamlet(zoo_tables: Any, db: None) -> Iterator[Hamlet]:  # noqa: F811
    """Its disguises alone are registered, and what is in memory is seldom looked through: it goes faster by more than half."""
    gc.collect()
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, 50, 1_000)
    with registering(*specs.ALL):
        place = Hamlet()
        yield place
        place.end()
    gc.set_threshold(*thresholds)


@pytest.mark.parametrize("first", FIRST)
def test_every_history_is_as_the_oracle_says(
    hamlet: Hamlet, first: str, record_property: Callable[[str, object], None]
) -> None:
    """What everybody sees, what a reveal says, and what stays sealed, after each act; and in the end all is as if nothing had been."""
    beginning = BEGINNING if BEGINNING.startswith(first) else first
    if not beginning.startswith(BEGINNING):
        pytest.skip(f"not {BEGINNING}")
    few = ACTS <= 3
    short = ACTS if BEGINNING else 2 if few else ACTS - 2
    walk = Walk(hamlet, ACTS, short=short, one_in=10 if few else 50, beginning=beginning, listen=print)
    walk.go()
    record_property(f"histories of up to {ACTS} acts were gone through", walk.histories.total())
    record_property("times everybody came back in the end", walk.returns)
    record_property("histories differ from what the oracle says", len(walk.differing))
    assert sorted(walk.differing)[:10] == []


#: Of which edna, or the oracle, said something else at one time: what is told of the letter.
ONCE_OTHERWISE = {
    "1 hush; all mask; others edit; 1 reveals 1": "others have edited it: nobody's return would help",
    "1 hush; 2 leave; others edit; 1 reveals 1": "the same, where the account has gone as well",
    "others insert; 2 hush; others edit; all hush; others delete": "it is missing: who lay over it has asked for it back",
    "2 mask; all hush; all mask; others delete": "only pseudoprincipals owned it beside whom it was hushed for: nobody is waited for",
    "2 hush; 2 hush; all hush; 2 reveals 1": "what was handed over folds into a later disguise of whoever had it",
    "2 hush; others delete; all leave; others insert": "what comes back with somebody else does not count as theirs",
    "1 hush; others edit; 1 hush; all leave; 1 reveals 1": "the edit lies between the two: nothing folds into the removal",
    "1 hush; others edit; 2 hush; others delete; 1 hush": "what was handed over goes before what lies below it",
    "2 hush; others edit; all hush; 2 hush": "nothing folds past what somebody else has handed over, and what that lies on",
    "all hush; 2 hush; all mask; 1 reveals 1; 2 reveals 3": "what was handed over is tried when it is due as well",
    "1 hush; 1 leave; 2 hush": "several things that were handed over come back at once, and what lies between is never seen",
    "all hush; others edit; 2 hush; others delete; 2 reveals 3": "what found nothing to change says nothing of where it lies",
    "all hush; 1 reveals 1; 2 reveals 2; others delete": "a list still points at what others delete",
    "1 hush; others edit; all mask; all hush": "what is put back lies below an edit, though the constant above that is the same",
    "1 leave; 2 mask; others delete": "who lies over the row's name, and not over its text, is not waited for with the text",
    "1 hush; 1 leave; others delete; 1 reveals 2": "nothing folds into what was handed over, but where it is the same",
    "1 hush; 1 leave; all hush; others edit; 1 reveals 4": "two constants by turns: time says which lies on top",
    "2 hush; 1 leave; all hush; others delete; 1 reveals 4": "what was handed over comes back with what lies beneath",
    "1 leave; 2 hush; others delete; 1 reveals 1; 1 reveals 1": "parts of one row wait for different reasons, and all are told",
    "others edit; all mask; 1 leave; others delete": "who is named in the list has what waits in it, too",
    "2 hush; 1 mask; 1 leave with key; 2 hush; others delete": "what was handed over waits for what lies on top, though it fits",
}


@pytest.mark.parametrize("history", ONCE_OTHERWISE)
def test_a_history_that_once_ended_otherwise(hamlet: Hamlet, history: str) -> None:
    acts = len(history.split("; "))
    walk = Walk(hamlet, acts, short=acts, one_in=1, beginning=history)
    walk.go()
    assert walk.histories[acts]
    assert walk.differing == []


@pytest.mark.parametrize("first", FIRST)
def test_a_clock_that_is_set_back_changes_no_history(hamlet: Hamlet, first: str) -> None:
    """Each act is done with the clock of the server an hour further behind than the one before."""
    walk = Walk(hamlet, 3, short=2, one_in=10, beginning=first, around=lambda number: server_clock_set(-3600 * number))
    walk.go()
    assert walk.histories[3]
    assert walk.differing == []


def test_no_act_is_left_out(hamlet: Hamlet) -> None:
    """As many as there were when they were written down, so that none falls out unnoticed."""
    walk = Walk(hamlet, 2, short=0, one_in=1_000)
    walk.go()
    assert {act.story for act in hamlet.choices()} == set(FIRST)
    assert walk.histories == {1: 12, 2: 149}
