"""The upgrade that gives rows their tags: edna vouches once, in the `migrate` that adds the columns. Whoever writes to the database can
have that run again, and gains nothing by it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DatabaseError
from django.test import override_settings

import edna
from apps.websubmit.models import Lecture, User
from edna.errors import EntryForged, JobForged
from edna.models import PrincipalEntry
from edna.operations import audit, jobs
from edna.operations.models import AuditEntry, Job, JobItem
from edna.operations.upkeep import verification
from edna.store import vouching
from edna.testing import application_dump
from tests.databases import first_everywhere
from tests.integration.test_tags import Vandal
from tests.support import ANONYMISE_ALL, ANONYMISE_LECTURE, DELETE, Student, enrol_in_course, execute

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.usefixtures("of_x25519")]

TAGGED = (PrincipalEntry, Job, JobItem)
#: What is printed where edna vouches for nothing.
NOTHING = "edna vouches for nothing here"


def migrated() -> str:
    printed = io.StringIO()
    call_command("migrate", verbosity=0, stdout=printed)
    return printed.getvalue()


def back_to_a_release_without_tags() -> None:
    call_command("migrate", "edna", "0006", verbosity=0)


def forget_migrations(*numbers: str) -> None:
    # Later ones add columns, and would fail: the first test of a vandal.
    call_command("migrate", "edna", "0008", verbosity=0)
    for number in numbers:
        assert execute("DELETE FROM django_migrations WHERE app = 'edna' AND name LIKE %s", [f"{number}%"]) == 1


def tags() -> list[bytes | None]:
    return [tag for model in TAGGED for tag in model._base_manager.order_by("pk").values_list("tag", flat=True)]


def damage() -> dict[str, int]:
    return {finding.kind: finding.count for finding in verification.verify().findings if finding.kind != "job_waiting"}


@pytest.fixture(autouse=True)
def _tables_as_today() -> Iterator[None]:
    yield
    call_command("migrate", verbosity=0, stdout=io.StringIO())


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", "carl@example.org")


def test_what_is_there_is_tagged_with_the_columns_and_never_again(bea: Student) -> None:
    receipt = bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.all()[0].pk)
    job = jobs.start(ANONYMISE_ALL, principals=[bea.user], operator="olga")
    back_to_a_release_without_tags()
    assert migrated() == "  edna vouches for 3 public keys, 1 job and 1 person on lists of jobs as they are now.\n"
    assert damage() == {}
    [noted] = AuditEntry.objects.filter(action="vouch")
    assert (noted.operator, noted.details) == ("", {"entries": 3, "jobs": 1, "items": 1, "wrong": 5, "by": "migrate"})
    assert audit.verify() == []
    assert migrated() == ""
    assert jobs.run(job.id).done == 1
    assert bea.reveal(receipt).complete
    # The trail says that there were tags before: who has taken the columns away, is not helped.
    back_to_a_release_without_tags()
    printed = migrated()
    assert (NOTHING in printed, "manage.py edna_vouch --as-they-are" in printed) == (True, True)
    assert set(tags()) == {None}


def test_a_new_site_has_nothing_to_vouch_for() -> None:
    back_to_a_release_without_tags()
    assert migrated() == ""
    assert not AuditEntry.objects.exists()


def the_last_migration() -> None:
    forget_migrations("0008")


def those_with_the_columns() -> None:
    forget_migrations("0007", "0008")


def all_tags_and_the_trail_too() -> None:
    those_with_the_columns()
    for table in ("edna_auditentry", "edna_auditcount"):
        execute(f"DELETE FROM {table}")
    for model in TAGGED:
        model._base_manager.update(tag=None)


def a_column() -> None:
    those_with_the_columns()
    execute("ALTER TABLE edna_job DROP COLUMN tag")


WAYS = [the_last_migration, those_with_the_columns, all_tags_and_the_trail_too, a_column]


def test_a_vandal_who_forgets_all_migrations_since_has_them_fail(bea: Student) -> None:
    execute("UPDATE edna_principalentry SET tag = NULL")
    execute("DELETE FROM django_migrations WHERE app = 'edna_operations' OR (app = 'edna' AND name >= '0007')")
    try:
        with pytest.raises(DatabaseError):
            migrated()
    finally:
        call_command("migrate", fake=True, verbosity=0)
    assert set(tags()) == {None}


@first_everywhere("way", WAYS)
def test_a_vandal_has_the_migration_vouch_for_nothing(bea: Student, way: Callable[[], None], typed: Any) -> None:
    """As it was done: a public key of theirs and a job, both without a tag, and the migration is to be run again."""
    audit.note("start", operator="olga")
    vandal = Vandal()
    vandal.take_over(bea)
    PrincipalEntry.objects.filter(reference=str(bea.user.pk)).update(tag=None)
    job = vandal.note_job(bea)
    before, noted = application_dump(), AuditEntry.objects.filter(action="vouch").count()
    way()
    printed = migrated()
    assert NOTHING in printed
    assert "manage.py edna_vouch --as-they-are" in printed
    assert PrincipalEntry.objects.get(reference=str(bea.user.pk)).tag is None
    assert (Job.objects.get().tag, JobItem.objects.get().tag) == (None, None)
    assert AuditEntry.objects.filter(action="vouch").count() == noted
    assert damage().keys() >= {"entry_tag", "job", "job_item"}
    with pytest.raises(EntryForged):
        edna.disguise(DELETE, bea.user)
    with pytest.raises(JobForged):
        jobs.run(job)
    typed("edna_run")
    after = application_dump()
    assert User.objects.filter(pk=bea.user.pk).exists()
    assert after["websubmit_answer"] == before["websubmit_answer"]


def test_a_migrate_that_was_interrupted_says_at_the_next_one_what_to_do(bea: Student) -> None:
    """Killed after the columns are there."""
    back_to_a_release_without_tags()
    call_command("migrate", "edna", "0007", verbosity=0)
    vouching.take_new_columns(using="default")
    printed = migrated()
    assert "Without a tag: 2 public keys." in printed
    assert NOTHING in printed
    call_command("edna_vouch", "--as-they-are", "--operator", "olga", stdout=io.StringIO())
    assert migrated() == ""
    assert bea.reveal(bea.disguise(DELETE)).complete


def test_nothing_is_tagged_under_a_key_that_the_database_does_not_know(bea: Student, settings: Any) -> None:
    back_to_a_release_without_tags()
    with override_settings(EDNA={**settings.EDNA, "MAC_KEYS": ["the key of another site, which is long"]}):
        assert NOTHING in migrated()
    assert set(tags()) == {None}
    call_command("edna_vouch", "--as-they-are", "--operator", "olga", stdout=io.StringIO())
    assert bea.reveal(bea.disguise(DELETE)).complete
