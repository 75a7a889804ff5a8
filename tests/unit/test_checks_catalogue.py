"""What the database's own description says of tables, and models do not."""

from __future__ import annotations

import pytest
from django.core.checks import Tags, run_checks
from django.db import connection

from edna import Modify, Remove
from edna.spec import Transformation
from tests.installed import registering
from tests.integration.attic.models import Counted, Stubborn
from tests.integration.attic.tables import attic_tables, disguise, run  # noqa: F401 - a fixture

pytestmark = [pytest.mark.django_db]


@pytest.fixture(autouse=True)
def attic(attic_tables: None, db: None) -> None:  # noqa: F811
    """The tables, empty."""


def told(step: Transformation) -> dict[str, str]:
    with registering(disguise(step)):
        messages = run_checks(tags=[Tags.database], databases=["default"])
    return {
        message.id: message.msg
        for message in messages
        if getattr(message.obj, "__module__", "").endswith("attic.models")
    }


def test_the_checks_say_what_the_tables_have_that_models_have_not() -> None:
    found = told(Remove(Counted, owner="person"))
    assert "hidden" in found.pop("edna.W074")
    assert "upper" in found.pop("edna.E075")
    assert "attic_part.counted" in found.pop("edna.E076")
    if connection.vendor == "mysql":
        assert "column at ON UPDATE" in found.pop("edna.W078")
    assert found == {}
    if connection.vendor != "mysql":
        assert "trigger keep" in told(Remove(Stubborn, owner="person"))["edna.W078"]
    else:
        assert "id" in told(Remove(Stubborn, owner="person"))["edna.W079"]


def test_of_tables_that_stay_nothing_is_said_about_what_goes_along() -> None:
    assert set(told(Modify(Counted, owner="person", set={"text": ""}))) <= {"edna.W078"}


def test_of_tables_that_the_project_has_made_nothing_is_said() -> None:
    """Of all that disguises of the sample applications change."""
    ids = {f"edna.{number}" for number in ("W074", "E075", "E076", "E077", "W078", "W079")}
    assert [each for each in run_checks(tags=[Tags.database], databases=["default"]) if each.id in ids] == []


@pytest.mark.only_on("postgresql")
def test_tables_that_inherit_are_told() -> None:
    run(
        "CREATE TABLE attic_heir (extra text) INHERITS (attic_counted)",
        "ALTER TABLE attic_counted ENABLE ROW LEVEL SECURITY",
    )
    found = told(Remove(Counted, owner="person"))
    assert "attic_heir" in found["edna.E077"]
    assert "row-level security" in found["edna.W078"]
