"""The cursor of a transaction, which all its statements share."""

from __future__ import annotations

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from edna import store
from edna.db import transactions
from edna.db.cursors import cursor_of
from edna.db.rows import read, table_of
from edna.models import PrincipalEntry

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def cursor() -> object:
    with cursor_of(connections["default"]) as found:
        return found


def test_a_transaction_has_one_cursor_and_the_next_one_has_another() -> None:
    """Also where one begins in another, which goes on with its own."""

    def work() -> list[object]:
        before = cursor()
        inner = transactions.run(lambda: [cursor(), cursor()], using="default")
        return [before, *inner, cursor()]

    first, second = (transactions.run(work, using="default") for _ in range(2))

    assert first[0] is first[3]
    assert first[1] is first[2]
    assert len({*map(id, first), *map(id, second)}) == 4
    assert cursor() is not cursor()


def test_after_an_error_another_cursor_is_taken() -> None:
    """The transaction that failed leaves none behind that is closed."""
    with pytest.raises(ZeroDivisionError):
        transactions.run(lambda: 1 / 0, using="default")

    assert read(table_of(PrincipalEntry), ("id",), [(1,)], lock=False, using="default") == []


def test_whoever_begins_to_log_statements_within_a_transaction_gets_all_of_them() -> None:
    """A site's own code that counts statements sees those of edna."""

    def work() -> int:
        store.entries_by_public_key([b"1" * 32], using="default")
        with CaptureQueriesContext(connections["default"]) as log:
            store.entries_by_public_key([b"2" * 32], using="default")
        return len(log)

    assert transactions.run(work, using="default") == 1
