"""Every way back into an account, in each application: by password, by recovery code alone, under another name, and what is in the way.

The pages are the applications' own; what they do is the same in all of them.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import SESSION_KEY
from django.test import Client

import edna
from apps.hotcrp_sim import mails
from apps.hotcrp_sim.auth import identifier as hotcrp_identifier
from apps.lobsters_sim.keys import identifier as lobsters_identifier
from apps.showcase.tests.beas import (
    EMAIL,
    KEYS,
    NUMBER,
    OLD,
    PASSWORD,
    Bea,
    rows,
    text_of,
    url,
)
from apps.showcase.tests.tables import thief

pytestmark = [pytest.mark.django_db, pytest.mark.only_on("sqlite3", "mysql"), pytest.mark.thorough]

NEW = "another long walk"
TWICE = {"new_password": NEW, "again": NEW}
#: The field for another name to come back with, and such a name.
OTHER = {
    "websubmit": ("new_email", "bea.again@example.org"),
    "lobsters": ("new_username", "bea-again"),
    "hotcrp": ("new_email", "bea.again@example.org"),
}
CREDENTIALS = {"websubmit": ("email", EMAIL), "lobsters": ("username", "bea"), "hotcrp": ("email", EMAIL)}
IDENTIFIER = {"websubmit": str, "lobsters": lobsters_identifier, "hotcrp": hotcrp_identifier}


@pytest.fixture(params=OLD)
def bea(request: Any, beas: dict[str, Bea]) -> Bea:
    found: Bea = beas[request.param]
    return found


def key_of(bea: Bea) -> str:
    return bea.application.key


def proof(bea: Bea, name: str) -> dict[str, str]:
    """What the conference asks for with another address, and mails to it."""
    return {"mail_code": mails.address_code(name)} if key_of(bea) == "hotcrp" else {}


def page(bea: Bea, name: str) -> str:
    return url(key_of(bea), name)


def by_password(bea: Bea) -> dict[str, str]:
    name, value = CREDENTIALS[key_of(bea)]
    return {name: value, "password": PASSWORD}


def is_logged_in(client: Client) -> bool:
    return client.session.get(SESSION_KEY) == str(NUMBER)


def logs_in(bea: Bea, password: str, *, name: str = "") -> bool:
    field = "email" if key_of(bea) == "hotcrp" else "username"
    client = Client()
    client.post(page(bea, "login"), {field: name or CREDENTIALS[key_of(bea)][1], "password": password})
    return is_logged_in(client)


def opens(bea: Bea, password: str, *, name: str = "") -> bool:
    identifier = IDENTIFIER[key_of(bea)](name) if name else bea.identifier
    try:
        with edna.unlock(identifier=identifier, password=password) as unlocked:
            return unlocked.public_key == bea.registration.public_key
    except edna.errors.WrongCredentials:
        return False


def holds_for_both(bea: Bea, password: str, *, name: str = "") -> bool:
    """Whether a password logs in and opens the key. Never one of the two."""
    found = {logs_in(bea, password, name=name), opens(bea, password, name=name)}
    assert len(found) == 1
    return found.pop()


def squat(bea: Bea) -> None:
    """Somebody takes the name of whoever is away."""
    model: Any = type(bea.user)
    if key_of(bea) == "lobsters":
        model.objects.create_user("bea", "other@example.org", "finders keepers", pk=NUMBER + 1)
    else:
        model.objects.create_user(EMAIL, "finders keepers", pk=NUMBER + 1)


def update(bea: Bea, **values: Any) -> None:
    type(bea.user)._base_manager.filter(pk=NUMBER).update(**values)


# By recovery code alone


def test_by_code_alone_and_a_new_password_afterwards(bea: Bea) -> None:
    """The page on which one is back offers to set the password that was forgotten."""
    bea.leave()
    client = Client()
    response = client.post(page(bea, "return"), {"recovery_code": bea.code})
    assert "Welcome back" in text_of(response)
    assert "You are logged in" in text_of(response)
    assert is_logged_in(client)
    form = response.context["password_form"]
    assert form["recovery_code"].value() == bea.code
    assert form.fields["recovery_code"].widget.is_hidden
    assert holds_for_both(bea, PASSWORD)

    response = client.post(page(bea, "recover"), {"recovery_code": bea.code, **TWICE}, follow=True)
    assert "Your new password is set, for logging in and for your key" in text_of(response)
    assert is_logged_in(client)
    assert holds_for_both(bea, NEW)
    assert not holds_for_both(bea, PASSWORD)


def test_away_without_the_old_password(bea: Bea) -> None:
    bea.leave()
    client = Client()
    response = client.post(page(bea, "recover"), {"recovery_code": bea.code, **TWICE})
    assert "Your new password holds for logging in and for your key" in text_of(response)
    assert response.context["password_form"] is None
    assert is_logged_in(client)
    assert holds_for_both(bea, NEW)
    assert not holds_for_both(bea, PASSWORD)


def test_here_without_the_old_password(bea: Bea) -> None:
    """Nobody has to leave to get a new password; other browsers are logged out."""
    elsewhere, client = bea.browser(), Client()
    assert page(bea, "recover") in client.get(page(bea, "login")).content.decode()
    response = client.post(page(bea, "recover"), {"recovery_code": bea.code.lower(), **TWICE}, follow=True)
    assert "You are logged in" in text_of(response)
    assert is_logged_in(client)
    assert elsewhere.get(page(bea, "account")).status_code == 302
    assert holds_for_both(bea, NEW)
    assert not holds_for_both(bea, PASSWORD)


def test_a_login_and_a_key_that_have_parted_get_one_password_again(bea: Bea) -> None:
    bea.user.set_password("of the login alone")
    bea.user.save(update_fields=["password"])
    client = Client()
    client.force_login(bea.user, backend=bea.backend)
    refused = client.post(page(bea, "recovery-code"), {"password": "of the login alone"})
    assert "does not open your key" in text_of(refused)
    client.post(page(bea, "recover"), {"recovery_code": bea.code, **TWICE})
    assert holds_for_both(bea, NEW)


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "This field is required"),
        ({"recovery_code": "ABCD-EFGH"}, "not a complete recovery code"),
        ({"recovery_code": str(edna.RecoveryCode.new())}, "does not open a key here"),
        ({"again": "something else"}, "The two passwords differ"),
        ({"new_password": "short", "again": "short"}, "too short"),
        ({"new_password": "12345678901", "again": "12345678901"}, "entirely numeric"),
        ({"new_password": "bea@example.org", "again": "bea@example.org"}, "too similar to the"),
    ],
)
def test_what_is_refused_is_explained_and_changes_nothing(
    bea: Bea, given: dict[str, str], sentence: str, *, away: bool
) -> None:
    """Also what can be told only when the account is known: that a password is too like it."""
    if away:
        bea.leave()
    before = rows(set(KEYS))
    client = Client()
    response = client.post(page(bea, "recover"), {"recovery_code": bea.code if given else "", **TWICE, **given})
    assert response.status_code == 200
    assert sentence in text_of(response)
    assert rows(set(KEYS)) == before
    assert not is_logged_in(client)
    assert opens(bea, PASSWORD)


@pytest.mark.parametrize("bea", ["hotcrp"], indirect=True)
@pytest.mark.parametrize("away", [False, True])
def test_an_account_that_has_lost_its_address(bea: Bea, *, away: bool) -> None:
    """A password goes with an address. While the conference is anonymised only its owner knows which, and is asked for it."""
    update(bea, roles=1)
    edna.disguise_all("hotcrp.anonymize-conference")
    if away:
        bea.leave()
    sent = {"recovery_code": bea.code, **TWICE}
    asked = Client().post(page(bea, "recover"), sent)
    assert "Enter the one that you log in with" in text_of(asked)
    assert "email" in asked.context["form"].fields
    assert bea.is_here() != away
    assert opens(bea, PASSWORD)
    client = Client()
    client.post(page(bea, "recover"), {**sent, "email": EMAIL})
    assert is_logged_in(client)
    assert holds_for_both(bea, NEW)
    client.post(page(bea, "reclaim"), {"recovery_code": bea.code})
    assert type(bea.user)._base_manager.get(pk=NUMBER).email == EMAIL
    assert holds_for_both(bea, NEW)


# Under another name


@pytest.mark.parametrize("name", ["return", "recover"])
def test_by_code_alone_under_another_name(bea: Bea, name: str) -> None:
    """Whoever came by code chooses a password for the new name. It takes no text for a password that is none."""
    bea.leave()
    squat(bea)
    field, value = OTHER[key_of(bea)]
    client, sent = Client(), {"recovery_code": bea.code, **(TWICE if name == "recover" else {})}
    asked = client.post(page(bea, name), sent)
    assert "Somebody else has" in text_of(asked) or "somebody else has" in text_of(asked)
    assert set(asked.context["form"].fields) >= {field, "new_password", "again"}
    assert "password" not in asked.context["form"].fields

    refused = client.post(page(bea, name), {**sent, field: value, "password": "x", "new_password": "x", "again": "x"})
    assert "too short" in text_of(refused)
    refused = client.post(page(bea, name), {"recovery_code": bea.code, field: value, "password": "any text"})
    assert "This field is required" in text_of(refused)
    assert not bea.is_here()

    response = client.post(page(bea, name), {"recovery_code": bea.code, field: value, **proof(bea, value), **TWICE})
    assert "Welcome back" in text_of(response)
    assert value in text_of(response)
    assert is_logged_in(client)
    assert holds_for_both(bea, NEW, name=value)
    assert not opens(bea, PASSWORD)


def test_by_password_under_another_name(bea: Bea) -> None:
    """The password stays, and goes with the new name."""
    bea.leave()
    squat(bea)
    field, value = OTHER[key_of(bea)]
    asked = Client().post(page(bea, "return"), by_password(bea))
    assert field in asked.context["form"].fields
    assert "new_password" not in asked.context["form"].fields
    client = Client()
    response = client.post(page(bea, "return"), {**by_password(bea), field: value, **proof(bea, value)})
    assert "Welcome back" in text_of(response)
    assert is_logged_in(client)
    assert holds_for_both(bea, PASSWORD, name=value)
    assert not opens(bea, PASSWORD)


@pytest.mark.parametrize("bea", ["hotcrp"], indirect=True)
def test_another_address_at_the_conference_is_proved_by_a_mail(bea: Bea, mailoutbox: list[Any]) -> None:
    """Otherwise whoever comes back takes the address, and so the papers, of somebody who has no account yet."""
    bea.leave()
    squat(bea)
    field, value = OTHER["hotcrp"]
    for name in ("return", "recover"):
        sent = {"recovery_code": bea.code, field: value, **TWICE}
        mailoutbox.clear()
        asked = Client().post(page(bea, name), sent)
        assert f"mailed a code to {value}" in text_of(asked)
        assert "mail_code" in asked.context["form"].fields
        [mail] = mailoutbox
        assert mail.to == [value]
        assert mails.address_code(value) in mail.body
        for wrong in ("AAAAAAAAAA", mails.address_code(EMAIL), mails.address_code(value, days_ago=2)):
            refused = Client().post(page(bea, name), sent | {"mail_code": wrong})
            assert "This is not the code" in text_of(refused)
        assert len(mailoutbox) == 1
    assert not bea.is_here()
    code = mails.address_code(value, days_ago=1)
    assert "Welcome back" in text_of(Client().post(page(bea, "return"), sent | {"mail_code": f" {code.lower()} "}))


# Who is logged in


def test_by_password_one_is_logged_in(bea: Bea) -> None:
    bea.leave()
    client = Client()
    response = client.post(page(bea, "return"), by_password(bea))
    assert "You are logged in" in text_of(response)
    assert response.context["password_form"] is None
    assert is_logged_in(client)


CLOSED: dict[str, dict[str, Any]] = {"hotcrp": {"disabled": True}}
PRIVILEGED: dict[str, dict[str, Any]] = {
    "websubmit": {"is_admin": True},
    "lobsters": {"is_moderator": True},
    "hotcrp": {"roles": 7},
}


@pytest.mark.parametrize("bea", CLOSED, indirect=True)
def test_a_closed_account_is_told_so(bea: Bea) -> None:
    """It comes back, or gets its new password, and stays closed. (In Lobsters there is no such thing.)"""
    update(bea, **CLOSED[key_of(bea)])
    for name, sent in (("recover", TWICE), ("return", {})):
        client = Client()
        response = client.post(page(bea, name), {"recovery_code": bea.code, **sent}, follow=True)
        assert "have closed this account" in text_of(response)
        assert SESSION_KEY not in client.session
        if name == "recover":
            bea.leave()


def test_those_with_rights_are_asked_for_the_password(bea: Bea) -> None:
    """A code alone does not log in who can do more than others. By it they set a password, and with that they log in."""
    update(bea, **PRIVILEGED[key_of(bea)])
    client = Client()
    response = client.post(page(bea, "recover"), {"recovery_code": bea.code, **TWICE}, follow=True)
    assert "not logged in yet" in text_of(response)
    assert SESSION_KEY not in client.session
    assert holds_for_both(bea, NEW)


def test_who_comes_back_without_rights_is_told_so(bea: Bea) -> None:
    for rights in (True, False):
        if rights:
            update(bea, **PRIVILEGED[key_of(bea)])
        bea.leave()
        page_text = text_of(Client().post(page(bea, "return"), {"recovery_code": bea.code}))
        assert "Welcome back!" in page_text
        assert ("did not come back with it" in page_text) == rights
        assert ("but for its rights" in page_text) == rights


def test_nobody_else_is_logged_out_by_it(bea: Bea, beas: dict[str, Bea]) -> None:
    bea.leave()
    squat(bea)
    other = type(bea.user).objects.get(pk=NUMBER + 1)
    client = Client()
    client.force_login(other, backend=bea.backend)
    field, value = OTHER[key_of(bea)]
    response = client.post(page(bea, "return"), {**by_password(bea), field: value, **proof(bea, value)})
    assert "another account is logged in in this browser" in text_of(response)
    assert client.session[SESSION_KEY] == str(NUMBER + 1)
    assert bea.is_here()


@pytest.mark.parametrize("sent", ["code", "password"])
def test_sent_twice_or_reloaded(bea: Bea, sent: str) -> None:
    """Whoever is logged in already is shown in; a stranger is told that the account is here, and how to get in."""
    bea.leave()
    given = {"recovery_code": bea.code} if sent == "code" else by_password(bea)
    client, other = Client(), Client()
    client.post(page(bea, "return"), given)
    again = client.post(page(bea, "return"), given, follow=True)
    assert "Your account is here, and you are logged in" in text_of(again)
    stranger = other.post(page(bea, "return"), given)
    assert "ust log in" in text_of(stranger)
    assert page(bea, "recover") in stranger.content.decode()
    assert not is_logged_in(other)


# The recovery code itself


def test_a_new_code_and_the_old_one_opens_nothing(bea: Bea) -> None:
    browser = bea.browser()
    assert page(bea, "recovery-code") in browser.get(page(bea, "account")).content.decode()
    assert "This is not your password" in text_of(browser.post(page(bea, "recovery-code"), {"password": "wrong"}))
    response = browser.post(page(bea, "recovery-code"), {"password": PASSWORD})
    code = response.context["recovery_code"]
    assert code in text_of(response)
    assert "The code that you had before opens nothing any more" in text_of(response)
    with pytest.raises(edna.errors.WrongCredentials):
        edna.unlock(recovery_code=bea.code)
    edna.unlock(recovery_code=code).close()
    assert opens(bea, PASSWORD)
    for text in (code, code.replace("-", "")):
        assert text not in thief()
        assert text not in repr(dict(browser.session))
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "no-store" in response.headers["Cache-Control"]


def test_a_reload_shows_no_code_that_the_server_would_have_kept(bea: Bea) -> None:
    """The page has the word under which the browser keeps it, for as long as nobody has said that it is kept."""
    browser = bea.browser()
    made = browser.post(page(bea, "recovery-code"), {"password": PASSWORD})
    code, word = made.context["recovery_code"], made.context["shown"]
    again = browser.get(page(bea, "recovery-code"))
    assert again.context["shown"] == word
    assert code not in again.content.decode()
    assert "We do not keep your recovery code" in text_of(again)
    assert browser.post(page(bea, "recovery-code"), {"kept": "on"}).status_code == 302
    assert browser.get(page(bea, "recovery-code")).context["shown"] == ""
    edna.unlock(recovery_code=code).close()


def test_a_new_code_takes_a_login_and_a_key(bea: Bea) -> None:
    browser = bea.browser()
    browser.post(page(bea, "logout"))
    refused = browser.post(page(bea, "recovery-code"), {"password": PASSWORD})
    assert refused.headers["Location"].startswith(page(bea, "login"))
    edna.unlock(recovery_code=bea.code).close()
    keyless: Any = type(bea.user)
    name = ("dora", "dora@example.org") if key_of(bea) == "lobsters" else ("dora@example.org",)
    browser.force_login(keyless.objects.create_user(*name, PASSWORD), backend=bea.backend)
    assert browser.get(page(bea, "recovery-code")).headers["Location"] == page(bea, "make-key")
    assert "recovery_code" in browser.post(page(bea, "make-key"), {"password": PASSWORD}).context
    again = browser.post(page(bea, "make-key"), {"password": PASSWORD})
    assert again.headers["Location"] == page(bea, "recovery-code")
