"""What is there after a test with transactions of its own is what Django's `flush` leaves, however little of it was done anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection
from django.test import override_settings

from apps.websubmit.models import Lecture, User
from edna.store import serverkeys
from edna.testing import dumps
from tests import emptying
from tests.emptying import empty_now
from tests.support import DELETE, EDNA_TABLES, answer_everything, enrol, make_course, statements

pytestmark = pytest.mark.django_db(transaction=True)

MADE_BY_RECEIVERS = {"auth_permission", "django_content_type"}


def everything() -> dumps.Dump:
    """Every row of every table, but for the numbers and the day that `flush` gives anew to what it fills in."""
    known = serverkeys.MODEL._meta.db_table
    numbers = {f"{table}.{column}" for table in MADE_BY_RECEIVERS for column in ("id", "content_type_id")}
    return dumps.application_dump(ignore=numbers) | {
        table: dumps.rows(table, ignore={f"{known}.id", f"{known}.added_on"}) for table in EDNA_TABLES
    }


@pytest.fixture
def flushes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often Django's own `flush` was called."""
    called: list[str] = []

    def flush(command: str, *arguments: Any, **options: Any) -> Any:
        called.append(command)
        return call_command(command, *arguments, **options)

    monkeypatch.setattr("django.test.testcases.call_command", flush)
    return called


def somebody_leaves() -> None:
    make_course()
    bea = enrol()
    answer_everything(bea)
    bea.disguise(DELETE)


def nothing() -> None:
    pass


def a_permission_is_gone() -> None:
    Permission.objects.order_by("pk")[:1].get().delete()


def a_permission_is_new() -> None:
    Permission.objects.create(content_type_id=Permission.objects.first().content_type_id, codename="own", name="Own")


def the_server_key_is_forgotten() -> None:
    serverkeys.MODEL.objects.all().delete()


@pytest.mark.parametrize(
    "act", [nothing, somebody_leaves, a_permission_is_gone, a_permission_is_new, the_server_key_is_forgotten]
)
def test_all_is_as_django_leaves_it(flushes: list[str], act: Callable[[], None]) -> None:
    call_command("flush", interactive=False, verbosity=0)
    expected = everything()
    empty_now()
    flushes.clear()
    act()
    empty_now()
    assert everything() == expected
    assert flushes == []
    assert not User.objects.exists()


def test_this_process_remembers_what_it_would_after_a_flush() -> None:
    empty_now()
    serverkeys.forget_all(using="default")
    ContentType.objects.get_for_model(User).pk = 0  # in the cache of content types
    empty_now()
    assert ContentType.objects.get_for_model(User).pk > 0
    assert statements(lambda: serverkeys.signing_key(using="default")) == []


def test_other_settings_have_the_receivers_write_anew(flushes: list[str]) -> None:
    empty_now()
    flushes.clear()
    with override_settings(EDNA={**settings.EDNA, "MAC_KEYS": ["another key of the server, which is long enough"]}):
        empty_now()
        known = dumps.rows(serverkeys.MODEL._meta.db_table)
        empty_now()
        assert dumps.rows(serverkeys.MODEL._meta.db_table) == known
    empty_now()
    assert dumps.rows(serverkeys.MODEL._meta.db_table) != known
    assert flushes == ["flush"], "of those before it is known"


@pytest.mark.only_on("postgresql")
def test_what_is_gone_has_left_no_place_in_the_files() -> None:
    enrol()
    User.objects.all().delete()
    empty_now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_relation_size(%s::regclass)", [User._meta.db_table])
        assert cursor.fetchone() == (0,)


@pytest.mark.only_on("sqlite3")
def test_what_is_gone_has_left_no_place_in_the_file() -> None:
    """Each copy of the file, and each look through it, would go through that as well."""

    def pages(*, free: bool) -> int:
        with connection.cursor() as cursor:
            [count] = cursor.execute("PRAGMA page_count").fetchone()
            [unused] = cursor.execute("PRAGMA freelist_count").fetchone()
        return int(count if free else count - unused)

    empty_now()
    before = pages(free=False)
    # Some sixteen of them fill a page.
    Lecture.objects.bulk_create(Lecture(label="x" * 200) for _ in range(20 * emptying._FREE_PAGES))
    assert pages(free=False) > before + emptying._FREE_PAGES
    empty_now()
    assert pages(free=True) <= before + emptying._FREE_PAGES
