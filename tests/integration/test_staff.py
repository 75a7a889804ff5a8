"""Who runs the site stays when everybody goes, whichever of Django's columns says who that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test.utils import override_settings

import edna
from edna.operations import jobs
from tests.installed import installed, registered
from tests.integration.bureau.models import Clerk, Letter

pytestmark = [pytest.mark.django_db, pytest.mark.once]

BUREAU = "tests.integration.bureau"


@pytest.fixture(scope="module")
def tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed(BUREAU, principals=["bureau.clerk"]):
        yield


@pytest.fixture(autouse=True)
def bureau(tables: None, db: None) -> Iterator[None]:
    with registered(BUREAU):
        yield


def clerk(name: str, **columns: Any) -> Clerk:
    made = Clerk.objects.create(email=f"{name}@example.org", **columns)
    Letter.objects.create(clerk=made, text=name)
    return made


def test_superusers_stay_where_no_column_says_who_is_of_the_staff(capsys: pytest.CaptureFixture[str]) -> None:
    olga, bea = clerk("olga", is_superuser=True), clerk("bea")
    edna.register_principal(olga)
    edna.register_principal(bea)
    call_command("edna_plan", "bureau.leave", "--all")
    assert "without 1 staff account (--include-staff)" in capsys.readouterr().out
    assert jobs.start("bureau.leave").total == 1
    call_command("edna_disguise", "bureau.leave", "--all", "--yes")
    assert list(Clerk.objects.all()) == [olga]


def test_staff_without_a_key_keep_nobody_waiting_and_a_refusal_names_them() -> None:
    clerk("olga", is_superuser=True)
    edna.register_principal(clerk("bea"))
    with pytest.raises(CommandError, match=r'edna_register --all .*EDNA\["STAFF"\].*--include-staff'):
        call_command("edna_disguise", "bureau.leave", "--all", "--yes", "--include-staff")
    with (
        override_settings(EDNA={**settings.EDNA, "STAFF": {"bureau.clerk": {"email": "nobody@example.org"}}}),
        pytest.raises(CommandError, match=r'EDNA\["STAFF"\]'),
    ):
        call_command("edna_disguise", "bureau.leave", "--all", "--yes")
    call_command("edna_disguise", "bureau.leave", "--all", "--yes")
    assert [each.email for each in Clerk.objects.all()] == ["olga@example.org"]
