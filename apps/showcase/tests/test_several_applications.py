"""Three applications in one site, each with people of its own: the same number, address and password are three people."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import SESSION_KEY, get_user
from django.contrib.sessions.models import Session
from django.db import connection
from django.http import HttpRequest
from django.test.utils import CaptureQueriesContext

import edna
from apps.hotcrp_sim.models import ContactInfo
from apps.lobsters_sim.models import User as Member
from apps.showcase.tests.beas import (
    DISGUISES,
    EMAIL,
    KEYS,
    MEMBERS_ONLY,
    NUMBER,
    PAIRS,
    PASSWORD,
    Bea,
    rows,
    text_of,
    url,
)
from apps.websubmit.models import User as Student

pytestmark = [pytest.mark.django_db, pytest.mark.thorough, pytest.mark.once]


# Keys and disguises


@pytest.mark.parametrize("key", KEYS)
def test_the_same_password_opens_three_keys(beas: dict[str, Bea], key: str) -> None:
    """Each application puts a word of its own into the identifier, so that nobody meets another's key slot."""
    with beas[key].unlock() as unlocked:
        assert edna.principal(unlocked) == beas[key].user
        assert unlocked.secret_key == beas[key].registration.secret_key


@pytest.mark.parametrize("key", KEYS)
def test_one_leaves_and_the_others_notice_nothing(beas: dict[str, Bea], key: str) -> None:
    others = set(KEYS) - {key}
    before, whole = rows(others), rows(set(KEYS))
    receipt = beas[key].leave()
    assert not beas[key].is_here()
    assert rows(others) == before
    for other in others:
        assert beas[other].is_here()
        assert edna.is_registered(beas[other].user)
        with beas[other].unlock() as unlocked:
            assert edna.history(unlocked) == []
            assert edna.speaks_for(unlocked) == []
    with beas[key].unlock() as unlocked:
        [entry] = edna.history(unlocked)
        assert entry.receipt == receipt
        assert edna.reveal(receipt, unlocked).complete
    assert rows(set(KEYS)) == whole


def test_all_three_leave_and_return_in_another_order(beas: dict[str, Bea]) -> None:
    before = rows(set(KEYS))
    receipts = {key: beas[key].leave() for key in KEYS}
    for key in ("lobsters", "hotcrp", "websubmit"):
        with beas[key].unlock() as unlocked:
            assert edna.reveal(receipts[key], unlocked).complete
    assert rows(set(KEYS)) == before


@pytest.mark.parametrize(("key", "other"), PAIRS)
def test_a_disguise_takes_people_of_its_own_application_only(beas: dict[str, Bea], key: str, other: str) -> None:
    """Not whoever has the same number there."""
    before = rows(set(KEYS))
    with pytest.raises(edna.errors.PrincipalError, match=DISGUISES[other]):
        edna.disguise(DISGUISES[other], beas[key].user)
    assert rows(set(KEYS)) == before


@pytest.mark.parametrize(("key", "other"), PAIRS)
def test_another_applications_key_opens_nothing(beas: dict[str, Bea], key: str, other: str) -> None:
    receipt = beas[key].leave()
    before = rows(set(KEYS))
    with beas[other].unlock() as unlocked, pytest.raises(edna.errors.ReceiptForeign):
        edna.reveal(receipt, unlocked)
    assert rows(set(KEYS)) == before


@pytest.mark.parametrize("key", KEYS)
def test_a_disguise_asks_no_table_of_another_application(beas: dict[str, Bea], key: str) -> None:
    """What it costs does not depend on which other principal models there are."""
    with CaptureQueriesContext(connection) as queries:
        receipt = beas[key].leave()
        with beas[key].unlock() as unlocked:
            edna.history(unlocked)
            edna.reveal(receipt, unlocked)
    statements = [query["sql"] for query in queries.captured_queries]
    assert len(statements) > 10
    own = rows({key})
    foreign = set(rows(set(KEYS) - {key})) - set(own)
    quote = connection.ops.quote_name
    assert [sql for sql in statements for table in foreign if quote(table) in sql] == []


# Sessions


@pytest.mark.parametrize(("key", "other"), PAIRS)
def test_a_login_counts_in_its_own_application_only(beas: dict[str, Bea], key: str, other: str) -> None:
    browser = beas[key].browser()
    assert browser.get(url(key, MEMBERS_ONLY[key])).status_code == 200
    refused = browser.get(url(other, MEMBERS_ONLY[other]))
    assert refused.status_code == 302
    assert refused.headers["Location"].startswith(url(other, "login"))
    shown = browser.get(url(other, "login"))  # and the way does not lead in a circle
    assert shown.status_code == 200
    assert "Log out" not in text_of(shown)


@pytest.mark.parametrize("key", KEYS)
def test_a_login_counts_asynchronously_in_its_own_application_only(beas: dict[str, Bea], key: str, rf: Any) -> None:
    from asgiref.sync import async_to_sync
    from django.contrib.sessions.backends.db import SessionStore

    from apps.showcase.middleware import AuthenticationMiddleware

    session = SessionStore(beas[key].browser().session.session_key)
    for path in KEYS:
        request = rf.get(f"/{path}/")
        request.session = session
        AuthenticationMiddleware(lambda request: None).process_request(request)
        assert async_to_sync(request.auser)().is_authenticated == (path == key)
        assert request.user.is_authenticated == (path == key)


@pytest.mark.parametrize(("key", "other"), PAIRS)
def test_a_login_elsewhere_ends_the_first(beas: dict[str, Bea], key: str, other: str) -> None:
    """A browser has one session, and with it one person; that both have number 7 does not let the first one in again."""
    browser = beas[key].browser()
    names = {"websubmit": ("username", EMAIL), "lobsters": ("username", "bea"), "hotcrp": ("email", EMAIL)}
    name, value = names[other]
    assert browser.post(url(other, "login"), {name: value, "password": PASSWORD}).status_code == 302
    assert browser.get(url(other, MEMBERS_ONLY[other])).status_code == 200
    assert browser.get(url(key, MEMBERS_ONLY[key])).status_code == 302


@pytest.mark.parametrize("key", KEYS)
def test_leaving_ends_ones_own_sessions(beas: dict[str, Bea], key: str) -> None:
    browsers = {each: bea.browser() for each, bea in beas.items()}
    beas[key].leave()
    for each, browser in browsers.items():
        assert (browser.get(url(each, MEMBERS_ONLY[each])).status_code == 200) == (each != key)
    assert Session.objects.count() == 2
    with beas[key].unlock() as unlocked:
        [entry] = edna.history(unlocked)
        edna.reveal(entry.receipt, unlocked)
    assert browsers[key].get(url(key, MEMBERS_ONLY[key])).status_code == 302


@pytest.mark.parametrize("key", KEYS)
def test_only_staff_of_the_user_model_enter_the_admin_site(beas: dict[str, Bea], key: str) -> None:
    Student.objects.filter(pk=NUMBER).update(is_admin=True)
    Member.objects.filter(pk=NUMBER).update(is_moderator=True)
    ContactInfo.objects.filter(pk=NUMBER).update(roles=7)
    response = beas[key].browser().get("/admin/")
    assert (response.status_code == 200) == (key == "websubmit")
    if key != "websubmit":
        assert response.headers["Location"].startswith("/admin/login/")


# One's own account


def test_the_session_says_whose_it_is(beas: dict[str, Bea]) -> None:
    """Three sessions with the same number in them are of three people."""
    for bea in beas.values():
        request = HttpRequest()
        request.session = bea.browser().session
        assert request.session[SESSION_KEY] == str(NUMBER)
        assert type(get_user(request)) is type(bea.user)
