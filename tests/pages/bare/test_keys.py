"""The pages of the key: made, kept by a code, followed by the password, replaced."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

import edna
from edna.errors import WrongCredentials
from edna.models import KeySlot
from edna.testing import Person
from tests.pages.bare.conftest import PASSWORD, join
from tests.pages.bare.forms import send
from tests.pages.bare.visitor import Visitor

CODE = re.compile(r'id="edna-code">([0-9A-Z-]{34})<')
NEW = "a longer walk home, bea"


def opens(**credentials: Any) -> bool:
    try:
        edna.unlock(**credentials).close()
    except WrongCredentials:
        return False
    return True


@pytest.fixture
def dora(db: None) -> Client:
    """Has an account from before, and no key."""
    User.objects.create_user("dora", "dora@example.org", PASSWORD)
    return logged_in("dora")


def logged_in(name: str) -> Client:
    client = Client(enforce_csrf_checks=True, headers={"host": "localhost"})
    client.force_login(User.objects.get(username=name))
    return client


def test_a_key_is_made_and_its_code_shown_once(dora: Client) -> None:
    """Wrong password, double submit and reload make no second key and lose none."""
    refused = send(dora, "/privacy/key/", password="wrong")
    assert refused.text_of_page.count("This is not your password.") == 1
    answer = send(dora, "/privacy/key/", password=PASSWORD)
    code = CODE.search(answer.content.decode())[1]
    assert "no-store" in answer.headers["Cache-Control"]
    assert opens(recovery_code=code)
    assert opens(identifier="dora", password=PASSWORD)
    assert send(dora, "/privacy/key/", password=PASSWORD).url == "/privacy/key/code/"
    assert opens(recovery_code=code)
    assert code not in dora.get("/privacy/key/code/").content.decode()
    assert code not in str([session.get_decoded() for session in Session.objects.all()])


@pytest.mark.parametrize("empty", [False, True])
def test_who_has_no_password_gets_a_key_that_the_code_opens(dora: Client, empty: bool) -> None:
    """Somebody who logs in elsewhere; a new key asks for no password either, and the account gets none. What Django makes for whoever the
    web server has logged in has an empty one, which no password matches, and which Django takes for usable."""
    user = User.objects.get(username="dora")
    user.set_unusable_password()
    user.password = "" if empty else user.password
    user.save()
    dora.force_login(user)
    assert 'type="password"' not in dora.get("/privacy/key/").content.decode()
    shown = send(dora, "/privacy/key/")
    assert "nothing else does: you have no password here" in shown.text_of_page
    code = CODE.search(shown.content.decode())[1]
    assert "only your new recovery code opens the new key" in dora.get("/privacy/key/new/").content.decode()
    renewed = send(dora, "/privacy/key/new/", recovery_code=code)
    assert "password is set" not in renewed.text_of_page
    newer = CODE.search(renewed.content.decode())[1]
    assert (opens(recovery_code=code), opens(recovery_code=newer)) == (False, True)
    assert User.objects.get(username="dora").password == user.password


def test_a_code_is_kept_when_its_end_is_typed(visitor: Visitor, bea: Person) -> None:
    """It goes along in the forms of its page, so that no step loses it; typed wrongly, it can be seen again."""
    code = CODE.search(send(visitor.client, "/privacy/key/code/", password=PASSWORD).content.decode())[1]
    assert not opens(recovery_code=bea.recovery_code)
    address = "/privacy/key/code/"
    checked = send(visitor.client, address, step="check", code=code)
    assert f">{code}<" not in checked.text_of_page
    wrong = send(visitor.client, address, step="confirm", code=code, typed="0000" if code[-4:] != "0000" else "1111")
    assert wrong.text_of_page.count("Your recovery code ends otherwise.") == 1
    assert f">{code}<" in send(visitor.client, address, step="show", code=code).text_of_page
    kept = send(visitor.client, address, step="confirm", code=code, typed=f" {code[-4:].lower()} ")
    assert "Good. Keep it" in kept.text_of_page
    saved = send(visitor.client, address, step="download", code=code)
    assert saved.headers["Content-Disposition"] == 'attachment; filename="recovery-code.txt"'
    assert code in saved.content.decode()
    assert "no-store" in saved.headers["Cache-Control"]
    stale = send(
        visitor.client, address, step="confirm", code=str(bea.recovery_code), typed=str(bea.recovery_code)[-4:]
    )
    assert "This code opens nothing any more" in stale.text_of_page
    assert send(visitor.client, address, step="show", code="nonsense").url == address


def test_somebody_elses_code_does_nothing_while_one_is_logged_in(visitor: Visitor, bea: Person) -> None:
    """It is not confirmed as one's own, and sets no password of theirs."""
    code, another = str(join("carl").recovery_code), "This key belongs to another account."
    confirmed = send(visitor.client, "/privacy/key/code/", step="confirm", code=code, typed=code[-4:])
    forgotten = send(visitor.client, "/privacy/forgotten/", recovery_code=code, new_password=NEW, again=NEW)
    assert [another in page.text_of_page for page in (confirmed, forgotten)] == [True, True]
    assert User.objects.get(username="carl").check_password(PASSWORD)
    assert opens(identifier="carl", password=PASSWORD)


def test_a_key_is_replaced_with_password_and_code(visitor: Visitor, bea: Person) -> None:
    """What was hidden comes back with the new one; the old password, code and key open nothing. One stays logged in."""
    receipt = edna.disguise("club.disown-remarks", bea.user)
    refused = send(visitor.client, "/privacy/key/new/", password="wrong", new_password=NEW, again=NEW)
    assert "This does not open your key." in refused.text_of_page
    same = send(visitor.client, "/privacy/key/new/", password=PASSWORD, new_password=PASSWORD, again=PASSWORD)
    assert same.text_of_page.count("This is the password that you have.") == 1
    assert "from then on it logs you in, and it opens your new key" in same.text_of_page
    answer = send(visitor.client, "/privacy/key/new/", password=PASSWORD, new_password=NEW, again=NEW)
    assert "Your new password is set: it logs you in" in answer.text_of_page
    code = CODE.search(answer.content.decode())[1]
    assert not opens(identifier="bea", password=PASSWORD)
    assert not opens(recovery_code=bea.recovery_code)
    assert User.objects.get(username="bea").check_password(NEW)
    assert visitor.client.get("/privacy/").status_code == 200
    with edna.unlock(identifier="bea", password=NEW) as unlocked:
        assert edna.reveal(receipt, unlocked).complete
    assert opens(recovery_code=code)


def test_a_new_password_keeps_the_key(settings: Any, visitor: Visitor, bea: Person) -> None:
    settings.ROOT_URLCONF = "tests.pages.bare.account_urls"
    changed = send(visitor.client, "/password/", old_password=PASSWORD, new_password1=NEW, new_password2=NEW)
    assert changed.url == "/settings/"
    assert opens(identifier="bea", password=NEW)
    assert not opens(identifier="bea", password=PASSWORD)
    assert visitor.client.get("/privacy/").status_code == 200


def test_a_new_password_leaves_what_a_namesake_has_left(settings: Any, bea: Person) -> None:
    """Somebody else has the name by now, happens to have the same password, and a key that it does not open."""
    settings.ROOT_URLCONF = "tests.pages.bare.account_urls"
    receipt = edna.disguise("club.leave", bea.user)
    edna.register_principal(User.objects.create_user("bea", password=PASSWORD))
    changed = send(logged_in("bea"), "/password/", old_password=PASSWORD, new_password1=NEW, new_password2=NEW)
    assert changed.url == "/privacy/forgotten/?is-set"
    assert User.objects.get(username="bea").check_password(NEW)
    with edna.unlock(identifier="bea", password=PASSWORD) as unlocked:
        assert [entry.receipt for entry in edna.history(unlocked)] == [receipt]


def test_after_a_reset_by_mail_the_code_brings_the_key_along(settings: Any, bea: Person, client: Client) -> None:
    settings.ROOT_URLCONF = "tests.pages.bare.account_urls"
    uid, token = urlsafe_base64_encode(force_bytes(bea.user.pk)), default_token_generator.make_token(bea.user)
    form = client.get(f"/reset/{uid}/{token}/").url
    assert client.post(form, {"new_password1": NEW, "new_password2": NEW}).url == "/privacy/forgotten/?is-set"
    assert not opens(identifier="bea", password=NEW)
    page = client.get("/privacy/forgotten/?is-set").content.decode()
    assert "Your new password is set, and logs you in." in page
    assert 'href="/login/"' in page
    assert "is set" not in client.get("/privacy/forgotten/").content.decode()
    answer = send(client, "/privacy/forgotten/", recovery_code=bea.recovery_code, new_password=NEW, again=NEW)
    assert "It logs you in, and it opens your key." in answer.text_of_page
    assert opens(identifier="bea", password=NEW)
    assert not opens(identifier="bea", password=PASSWORD)


def test_by_code_alone_a_password_is_set_for_both(client: Client, bea: Person) -> None:
    """A wrong code, one of nobody, and passwords that differ or are like the account change nothing."""
    address, slots = "/privacy/forgotten/", set(KeySlot.objects.values_list("pk", flat=True))
    nobodys = str(edna.RecoveryCode.new())
    for given, said in [
        ({"recovery_code": nobodys, "new_password": NEW, "again": NEW}, "This does not open your key."),
        ({"recovery_code": "XYZ", "new_password": NEW, "again": NEW}, "recovery code is incomplete or mistyped"),
        ({"recovery_code": bea.recovery_code, "new_password": NEW, "again": "other"}, "The two passwords differ."),
    ]:
        assert send(client, address, **given).text_of_page.count(said) == 1
    assert set(KeySlot.objects.values_list("pk", flat=True)) == slots
    send(client, address, recovery_code=bea.recovery_code, new_password=NEW, again=NEW)
    assert opens(identifier="bea", password=NEW)
    assert User.objects.get(username="bea").check_password(NEW)


def test_who_logs_in_without_a_key_gets_one(settings: Any, dora: Client, client: Client) -> None:
    """Where they wanted to go they go all the same; the second login makes nothing. They are reminded of a code until they have one."""
    settings.ROOT_URLCONF = "tests.pages.bare.account_urls"
    for _ in range(2):
        assert client.post("/login/", {"username": "dora", "password": PASSWORD}).url == "/privacy/"
        assert opens(identifier="dora", password=PASSWORD)
        assert KeySlot.objects.count() == 1
    reminded = "You have no recovery code yet."
    code_page = "/privacy/key/code/"
    pages = ["/privacy/", "/settings/", code_page]
    assert [reminded in dora.get(address).content.decode() for address in pages] == [True, True, True]
    assert "the old one opens nothing" not in dora.get(code_page).content.decode()
    first = send(dora, code_page, password=PASSWORD).text_of_page
    assert "Every earlier one opens nothing any more" not in first
    assert opens(recovery_code=CODE.search(first)[1])
    assert [reminded in dora.get(address).content.decode() for address in pages] == [False, False, False]
    assert "Every earlier one opens nothing any more" in send(dora, code_page, password=PASSWORD).text_of_page


#: Each page that works with the key of who is logged in.
WITH_KEY = ["hidden/", "do/club.disown-remarks/", "key/code/", "key/new/", "delete/", "take-along/"]


@pytest.mark.parametrize("page", [*WITH_KEY, "key/password/", "key/passkey/"])
def test_who_has_no_key_is_led_to_it_and_back(settings: Any, dora: Client, page: str) -> None:
    """From every page that works with one. The way back goes along until the code is kept, and leads to this site alone."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": "server" if page in WITH_KEY else "both"}
    visitor = Visitor(dora)
    told = visitor.open(f"/privacy/{page}")
    assert "You have no key yet." in told
    assert visitor.forms == []
    dora.get("/login/")
    token = {"csrfmiddlewaretoken": dora.cookies["csrftoken"].value, "password": PASSWORD}
    assert "You have no key yet." in dora.post(f"/privacy/{page}", token).content.decode()
    settings.EDNA = {**settings.EDNA, "CUSTODY": "server"}
    visitor.open(re.search(r'href="(/privacy/key/[^"]*)"', visitor.response.content.decode())[1])
    visitor.press("Make my key", password=PASSWORD)
    code = CODE.search(visitor.response.content.decode())[1]
    visitor.press("I have kept it", step="check")
    visitor.press("Confirm", step="confirm", typed=code[-4:])
    assert f'href="/privacy/{page}"' in visitor.response.content.decode()
    for elsewhere in ("https://example.org/", "//example.org/", "javascript:alert(1)"):
        assert dora.get("/privacy/key/", {"next": elsewhere}).url == "/privacy/key/code/"


def test_a_login_goes_on_where_no_key_can_be_made(settings: Any, dora: Client, client: Client) -> None:
    settings.ROOT_URLCONF = "tests.pages.bare.account_urls"
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["another key than the one that this site has"]}
    assert client.post("/login/", {"username": "dora", "password": PASSWORD}).url == "/privacy/"
    assert not KeySlot.objects.exists()


def test_the_fragment_says_what_one_can_do(
    settings: Any, visitor: Visitor, dora: Client, client: Client, django_assert_num_queries: Any
) -> None:
    """In a page of the site's own; for who is not logged in it is nothing, and costs no statement."""
    settings.ROOT_URLCONF = "tests.pages.bare.account_urls"
    assert "/privacy/take-along/" in visitor.client.get("/settings/").content.decode()
    assert "/privacy/key/" in dora.get("/settings/").content.decode()
    assert "/privacy/take-along/" not in dora.get("/settings/").content.decode()
    with django_assert_num_queries(0):
        assert client.get("/settings/").content.decode().strip() == "<h1>Settings</h1>"
