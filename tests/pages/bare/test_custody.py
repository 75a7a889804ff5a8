"""What the pages send and take without a script, by where keys are used."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

import edna
from edna.models import Bag, KeySlot
from edna.testing import Person
from tests.pages.bare.conftest import PASSWORD, a_browser
from tests.pages.bare.forms import send
from tests.waiting import logged_in_long_ago

pytestmark = pytest.mark.django_db

SECRETS = ("password", "recovery_code", "secret_key")


def named(text: str) -> list[str]:
    return [name for name in SECRETS if f'name="{name}"' in text]


@pytest.mark.parametrize(
    "page", ["hidden/", "back/", "return/", "do/club.disown-remarks/", "key/code/", "key/new/", "key/password/"]
)
def test_with_browser_no_field_of_a_secret_has_a_name(bea: Person, browser: Client, settings: Any, page: str) -> None:
    """Nothing of it is sent, whatever becomes of the script; and what is sent all the same is not looked at."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}
    text = browser.get(f"/privacy/{page}").content.decode()
    assert named(text) == []
    assert text.count("data-edna-secret") >= 3
    assert "This page needs JavaScript" in text
    bags = Bag.objects.count()
    answer = send(browser, f"/privacy/{page}", password=PASSWORD, recovery_code=str(bea.recovery_code))
    assert answer.status_code == 200
    assert Bag.objects.count() == bags


def test_with_both_the_form_goes_to_the_server_where_there_is_no_script(
    bea: Person, browser: Client, settings: Any
) -> None:
    settings.EDNA = {**settings.EDNA, "CUSTODY": "both"}
    for address in ("hidden/", "key/new/"):
        page = browser.get(f"/privacy/{address}").content.decode()
        assert named(page) == list(SECRETS)
        assert "What you type is sent to this site" in page
    receipt = edna.disguise("club.disown-remarks", bea.user)
    assert str(receipt) in send(browser, "/privacy/hidden/", password=PASSWORD).text_of_page
    assert "It is back" in send(browser, "/privacy/back/", receipt=str(receipt), password=PASSWORD).text_of_page


@pytest.mark.parametrize("custody", ["server", "both"])
def test_who_has_forgotten_a_password_is_told_where_it_goes(browser: Client, settings: Any, custody: str) -> None:
    """With keys of both kinds, and where a password is set that stays away from there."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": custody}
    page = browser.get("/privacy/forgotten/").content.decode()
    said = ["This page sends what you type to this site" in page, 'href="/privacy/key/password/"' in page]
    assert said == [custody == "both"] * 2


@pytest.mark.parametrize(
    ("custody", "said"),
    [
        ("server", "as a rule it is the one with which you logged in last"),
        ("browser", "it is another one than that of your log-in"),
        ("both", "the one that you have chosen for it or, if you have never chosen one, that of your log-in"),
    ],
)
def test_who_comes_back_is_told_which_password_opens_the_key(
    client: Client, settings: Any, custody: str, said: str
) -> None:
    settings.EDNA = {**settings.EDNA, "CUSTODY": custody}
    assert said in client.get("/privacy/return/").content.decode()


def test_with_server_there_is_no_trace_of_it(browser: Client) -> None:
    page = browser.get("/privacy/hidden/").content.decode()
    assert [word for word in ("data-edna-hands", "data-edna-secret", "start.js", "data-edna-say") if word in page] == []
    assert [browser.get(f"/privacy/key/{page}/").status_code for page in ("password", "passkey")] == [404, 404]


def test_with_browser_a_login_makes_no_key_and_leads_to_the_page_that_does(db: None, settings: Any) -> None:
    settings.EDNA, settings.ROOT_URLCONF = {**settings.EDNA, "CUSTODY": "browser"}, "tests.pages.bare.account_urls"
    User.objects.create_user("dora", password=PASSWORD)
    answer = send(a_browser(), "/login/", username="dora", password=PASSWORD)
    assert (answer.status_code, answer["Location"]) == (302, "/privacy/key/?next=%2Fprivacy%2F")
    assert not KeySlot.objects.exists()


@pytest.mark.parametrize("handed", ["", "[]", "{}", '{"lists": [], "bags": [], "voices": []}'])
def test_what_is_handed_over_needs_a_proof(bea: Person, browser: Client, settings: Any, handed: str) -> None:
    """And nobody who has none, or sends something else, learns or changes anything."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": "both"}
    edna.disguise("club.disown-remarks", bea.user)
    before = Bag.objects.count()
    answer = send(browser, "/privacy/hidden/", handed=handed, key_session="AAAA")
    assert "Too much time has passed" in answer.text_of_page
    assert "Disown remarks" not in answer.text_of_page
    assert Bag.objects.count() == before


def test_with_server_a_handover_is_not_looked_at(bea: Person, browser: Client) -> None:
    answer = send(browser, "/privacy/hidden/", handed="{}", key_session="AAAA")
    assert "Please give your password or your recovery code." in answer.text_of_page


@pytest.mark.parametrize("custody", ["browser", "both"])
@pytest.mark.parametrize("has_password", [True, False])
def test_who_has_copied_a_session_makes_no_key_in_their_own_browser(
    settings: Any, custody: str, has_password: bool
) -> None:
    """After a while the page asks for the log-in's password once more; whoever has none logs in anew."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": custody}
    eve = User.objects.create_user("eve", password=PASSWORD if has_password else None)
    browser = Client()
    browser.force_login(eve)
    assert 'data-edna-hands="make"' in browser.get("/privacy/key/").text
    logged_in_long_ago(browser)
    asked = browser.get("/privacy/key/").text
    assert 'data-edna-hands="make"' not in asked
    if not has_password:
        assert "Log out, log in again" in asked
        assert browser.post("/privacy/key/").status_code == 302
        assert 'data-edna-hands="make"' not in browser.get("/privacy/key/").text
        return
    assert "This is not your password." in browser.post("/privacy/key/", {"password": "wrong"}).text
    assert 'data-edna-hands="make"' not in browser.get("/privacy/key/").text
    answer = browser.post("/privacy/key/?next=/settings/", {"password": PASSWORD})
    assert answer.url == "/privacy/key/?next=/settings/"
    assert 'data-edna-hands="make"' in browser.get(answer.url).text
    assert not edna.is_registered(eve)


def test_a_copied_session_of_an_account_without_a_password_makes_no_key_on_the_site(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "CUSTODY": "server"}
    eve = User.objects.create_user("eve")
    browser = Client()
    browser.force_login(eve)
    logged_in_long_ago(browser)
    assert "Log out, log in again" in browser.get("/privacy/key/").text
    assert browser.post("/privacy/key/").status_code == 302
    assert not edna.is_registered(eve)
    browser.force_login(eve)
    assert browser.post("/privacy/key/").status_code == 200
    assert edna.is_registered(eve)
