"""Every history of the hamlet is as the oracle says: two people, three tables, up to five acts.

`make test` goes through those of up to three acts, `make test-deep` through all. `EDNA_ACTS=4` chooses how many, and
`EDNA_HISTORY="1 hush; others edit"` only those that begin so.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from tests.installed import registering
from tests.zoo.hamlet import Hamlet
from tests.zoo.histories import Walk
from tests.zoo.specs import hamlet as specs
from tests.zoo.tables import zoo_tables  # noqa: F401 - a fixture

pytestmark = [pytest.mark.django_db, pytest.mark.once]

USUAL, ALL = 3, 5


@pytest.fixture
def hamlet(zoo_tables: Any, db: None) -> Iterator[Hamlet]:  # noqa: F811
    """Its disguises alone are registered, and what is in memory is not looked through again and again: it goes faster by half."""
    gc.collect()
    gc.freeze()
    with registering(*specs.ALL):
        place = Hamlet()
        yield place
        transaction.set_rollback(True)
        place.example.__exit__(None, None, None)
    gc.unfreeze()


def test_every_history_is_as_the_oracle_says(hamlet: Hamlet, capsys: pytest.CaptureFixture[str]) -> None:
    """What everybody sees, what a reveal says, and what stays sealed, after each act; and in the end all is as if nothing had been."""
    acts = int(os.environ.get("EDNA_ACTS") or USUAL)
    beginning = os.environ.get("EDNA_HISTORY", "")
    walk = Walk(hamlet, acts, short=max(2, acts - 2), one_in=5 if acts <= USUAL else 50, beginning=beginning)
    with capsys.disabled():
        walk.listen = print if acts > USUAL else str
        walk.go()
        print(f"\n{walk}")
    assert sorted(walk.differing)[:10] == []
    assert beginning or walk.histories.total() >= {USUAL: 2_000, ALL: 100_000}.get(acts, 1)
