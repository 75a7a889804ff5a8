"""What the pages for people say of what others can read: wherever something is locked they say so, and nowhere that nobody can read it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from apps.websubmit.disguises import DeleteAccount
from tests.audiences.test_holds import Chairs
from tests.policies.test_bags import PASSWORD, enrol_in_course
from tests.support import Student

pytestmark = [pytest.mark.django_db, pytest.mark.once]

READ = "2 of the people in “chairs” can read together what this hides"
NOBODY_ELSE = ("this site cannot read it", "only your key opens it", "nobody can tell whether there is anything")


@pytest.fixture
def chairs(monkeypatch: pytest.MonkeyPatch) -> Chairs:
    monkeypatch.setattr(DeleteAccount, "audience", "chairs")
    return Chairs("ada", "bob")


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", password=PASSWORD)


def page(client: Client, name: str, *args: str, **sent: str) -> str:
    address = reverse(f"websubmit-privacy:{name}", args=args)
    return (client.post(address, sent) if sent else client.get(address)).content.decode()


def test_each_page_says_who_else_can_read_it(bea: Student, chairs: Chairs, client: Client) -> None:
    client.force_login(bea.user)
    home, apply, hidden = page(client, "home"), page(client, "apply", DeleteAccount.name), page(client, "hidden")
    assert READ in home
    assert READ in apply
    seen = apply.partition('name="seen" value="')[2].partition('"')[0]
    done = page(client, "apply", DeleteAccount.name, seen=seen, password=PASSWORD)
    assert "What is left is locked." in done
    assert READ in done
    listed = page(Client(), "hidden", identifier="bea@example.org", password=PASSWORD)
    assert READ in listed
    for text in (home, apply, hidden, done, listed):
        assert [said for said in NOBODY_ELSE if said in text] == []


def test_without_an_audience_nobody_else_is_named(bea: Student, client: Client) -> None:
    client.force_login(bea.user)
    home, apply = page(client, "home"), page(client, "apply", DeleteAccount.name)
    assert "people in" not in home + apply
    for said in NOBODY_ELSE[::2]:
        assert said in home
    assert "this site cannot read it" in apply


def test_where_too_few_are_left_pages_say_so_before(bea: Student, chairs: Chairs, client: Client) -> None:
    client.force_login(bea.user)
    chairs.leave("ada", "bob")
    for text in (page(client, "home"), page(client, "apply", DeleteAccount.name)):
        assert "too few of them are left" in text
        assert "AudienceTooSmall" in text
