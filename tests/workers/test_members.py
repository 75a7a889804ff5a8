"""The site that the jobs work on is what the tests take it for."""

from __future__ import annotations

import pytest

from apps.lobsters_sim.models import User
from edna.testing.dumps import check_foreign_keys
from tests.workers import members

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def test_few_own_much_and_everybody_can_be_disguised() -> None:
    people = members.settle(300)
    check_foreign_keys()
    rows = members.rows_by_owner()
    assert len(people) == User.objects.count() == 300
    assert rows.keys() == {person.user.pk for person in people}
    numbers = sorted((sum(each.values()) for each in rows.values()), reverse=True)
    assert numbers[0] > 50 > 6 > numbers[150]
    assert sum(numbers) > 4 * 300
    assert set(members.owner_cells()) <= rows.keys()
