"""Every form of an insert that is compared puts the same rows back, and leaves them as they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import models

from benchmarks.inserts import FORMS, measure, values
from edna.db import rows as raw
from edna.models import PrincipalEntry
from tests.support import enrol_many

pytestmark = [pytest.mark.django_db, pytest.mark.only_on("postgresql")]


@pytest.fixture
def entries() -> list[tuple[Any, ...]]:
    enrol_many(25)
    return everything()


def everything() -> list[tuple[Any, ...]]:
    table, keys = raw.table_of(PrincipalEntry), list(PrincipalEntry.objects.values_list("pk"))
    return sorted(raw.read(table, table.names, keys, lock=False, using="default"))


def test_the_rows_are_put_back(entries: list[tuple[Any, ...]]) -> None:
    for form in FORMS.values():
        assert min(measure(form, PrincipalEntry, entries)) > 0
        assert everything() == entries


def test_a_form_that_forgets_a_row_is_found_out(entries: list[tuple[Any, ...]]) -> None:
    def forgetful(model: type[models.Model], rows: Sequence[tuple[Any, ...]]) -> None:
        values(model, rows[1:])

    with pytest.raises(AssertionError):
        measure(forgetful, PrincipalEntry, entries)
