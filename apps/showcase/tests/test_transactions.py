"""What the database ended is run again, whole; and only what it can run again."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, transaction
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from apps.showcase.transactions import ATTEMPTS, atomically, posts_atomically

pytestmark = pytest.mark.django_db(transaction=True)


class Work:
    """Writes a row, and is ended by the database the first few times."""

    def __init__(self, *, failures: int) -> None:
        self.failures, self.attempts, self.in_transaction = failures, 0, False

    def __call__(self, name: str) -> str:
        self.attempts += 1
        self.in_transaction = transaction.get_connection().in_atomic_block
        Group.objects.create(name=name)
        if self.attempts <= self.failures:
            raise OperationalError("Deadlock found")
        return name

    def page(self, _: HttpRequest) -> HttpResponse:
        return HttpResponse(self("a row"))


def test_what_the_database_ended_is_tried_again_and_leaves_nothing_of_the_first_time() -> None:
    work = Work(failures=ATTEMPTS - 1)
    assert atomically(work.__call__)("a row") == "a row"
    assert work.attempts == ATTEMPTS
    assert Group.objects.filter(name="a row").count() == 1


def test_it_is_not_tried_for_ever() -> None:
    work = Work(failures=ATTEMPTS)
    with pytest.raises(OperationalError):
        atomically(work.__call__)("a row")
    assert work.attempts == ATTEMPTS
    assert not Group.objects.filter(name="a row").exists()


def test_inside_another_transaction_it_is_not_tried_again() -> None:
    """The database has ended that one; only whoever began it can begin it again."""
    work = Work(failures=1)
    with pytest.raises(OperationalError), transaction.atomic():
        atomically(work.__call__)("a row")
    assert work.attempts == 1


def test_a_form_that_was_sent_is_handled_again() -> None:
    work = Work(failures=1)
    assert posts_atomically(work.page)(RequestFactory().post("/")).content == b"a row"
    assert work.attempts == 2
    assert work.in_transaction


def test_a_page_that_is_only_looked_at_takes_no_transaction() -> None:
    """On SQLite each would keep everybody else from writing."""
    work = Work(failures=0)
    posts_atomically(work.page)(RequestFactory().get("/"))
    assert not work.in_transaction
