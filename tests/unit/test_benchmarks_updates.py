"""Every form of an update that is compared changes the same rows, and leaves none of it behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection

from benchmarks.updates import FORMS, Changes, Statement, measure, prepare

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tables() -> Iterator[None]:
    prepare(people=20, things=100)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE things")
        cursor.execute("DROP TABLE people")


def owners() -> list[tuple[int, int]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, owner FROM things ORDER BY id")
        return list(cursor.fetchall())


def test_the_rows_get_what_was_given_and_then_what_they_had(tables: None) -> None:
    before = owners()
    for form in FORMS[connection.vendor].values():
        assert measure(form, [(1, 7), (50, 8), (100, 7)]) > 0
        assert owners() == before


def test_a_form_that_forgets_a_row_is_found_out(tables: None) -> None:
    def forgetful(changes: Changes) -> list[Statement]:
        key, owner = changes[0]
        return [(f"UPDATE things SET owner = {owner} WHERE id = {key}", None)]

    before = dict(owners())
    with pytest.raises(AssertionError):
        measure(forgetful, [(1, 7), (50, before[50] % 20 + 1)])
