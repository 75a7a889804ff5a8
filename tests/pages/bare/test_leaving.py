"""Do it: preview, password, receipt; and nothing by a second click, an old page or somebody else's page."""

from __future__ import annotations

import re
import time
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

import edna
from edna import inner_door, signals
from edna.pages import applying
from edna.pages.applying import ConfirmForm
from edna.testing import Person
from tests.pages.bare.club.models import Comment, Note
from tests.pages.bare.conftest import PASSWORD
from tests.pages.bare.visitor import Visitor

LEAVE, DISOWN = "/privacy/do/club.leave/", "/privacy/do/club.disown-remarks/"


def is_here(name: str = "bea") -> bool:
    return User.objects.filter(username=name).exists()


def receipt_on(visitor: Visitor) -> str:
    return re.search(r"edna1:[\w.:-]+", visitor.text)[0]  # type: ignore[index]


def test_it_takes_the_password_and_ends_with_the_receipt(visitor: Visitor) -> None:
    assert "Removed: your account" in visitor.open(LEAVE)
    assert "This is not your password." in visitor.press("Delete your account", password="a guess")
    assert PASSWORD not in visitor.response.content.decode()
    assert "Please give your password or your recovery code." in visitor.press("Delete your account", password="")
    assert is_here()
    page = visitor.press("Delete your account", password=PASSWORD)
    assert "Good-bye" in page
    assert "Come back brings your account back, with your password or your recovery code." in page
    assert 'href="/privacy/return/"' in visitor.response.content.decode()
    assert not is_here()
    assert "_auth_user_id" not in visitor.client.session
    assert edna.Receipt.parse(receipt_on(visitor)).disguise == "club.leave"
    # A second click, and the page before.
    visitor.again()
    assert visitor.address.startswith("/login/")
    visitor.open(LEAVE)
    assert visitor.address.startswith("/login/")


def counts_on_an_account(request: Any) -> dict[str, Any]:
    """A context processor, as a site may have it."""
    return {"city": request.user.profile.city} if not request.user.is_authenticated else {}


def test_the_receipt_is_shown_where_the_sites_frame_fails(
    visitor: Visitor, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The account is gone already, and nobody shows the receipt a second time."""
    [engine] = settings.TEMPLATES
    options = engine["OPTIONS"]
    processors = [*options["context_processors"], f"{__name__}.counts_on_an_account"]
    settings.TEMPLATES = [{**engine, "OPTIONS": {**options, "context_processors": processors}}]
    visitor.open(LEAVE)
    visitor.press("Delete your account", password=PASSWORD)
    assert visitor.status == 200
    assert visitor.response.headers["Content-Type"].startswith("text/plain")
    assert not is_here()
    receipt = receipt_on(visitor)
    assert edna.Receipt.parse(receipt).disguise == "club.leave"
    assert "/privacy/back/" in visitor.text
    assert "AttributeError" in caplog.text
    assert receipt not in caplog.text


def test_the_receipt_is_downloaded_and_mailed_a_few_times(visitor: Visitor) -> None:
    visitor.open(LEAVE)
    visitor.press("Delete your account", password=PASSWORD)
    receipt, forms = receipt_on(visitor), visitor.forms
    text = visitor.press("Download")
    assert receipt in text
    assert "attachment" in visitor.response.headers["Content-Disposition"]
    visitor.forms = forms
    assert "Enter a valid email address." in visitor.press("Send", address="bea")
    assert receipt in visitor.text
    assert "It was sent to new@example.org." in visitor.press("Send", address="new@example.org")
    assert receipt in visitor.text
    assert receipt in mail.outbox[0].body
    assert mail.outbox[0].to == ["new@example.org"]
    visitor.again()
    visitor.again()
    assert "It has been mailed several times already." in visitor.again()
    assert len(mail.outbox) == 3


def test_an_answer_is_no_new_leave_to_mail(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes with it, the token is the one that was sent: it counts, and it gets old."""
    visitor.open(LEAVE)
    visitor.press("Delete your account", password=PASSWORD)
    for _ in range(3):
        forms = visitor.forms
        visitor.press("Send", address="bea")
        assert "It was sent to" in visitor.press("Send", address="new@example.org")
        visitor.forms = forms
    assert "It has been mailed several times already." in visitor.press("Send", address="new@example.org")
    later = time.time() + 3700
    monkeypatch.setattr("django.core.signing.time.time", lambda: later)
    for address in ("bea", "new@example.org"):
        visitor.forms = forms
        visitor.press("Send", address=address)
        assert "receipt_token" not in visitor.response.content.decode()
    assert len(mail.outbox) == 3


def test_only_what_a_page_has_shown_is_mailed(visitor: Visitor) -> None:
    visitor.open(LEAVE)
    visitor.press("Delete your account", password=PASSWORD)
    page = visitor.press("Send", address="new@example.org", receipt_token="forged")
    assert "The receipt is incomplete or mistyped." in page
    assert (visitor.status, mail.outbox) == (409, [])


def test_what_has_changed_since_the_page_was_opened_is_shown_again(visitor: Visitor, bea: Person) -> None:
    visitor.open(LEAVE)
    Note.objects.create(author=bea.user, text="Just now")
    assert "This has changed since you opened the page." in visitor.press("Delete your account", password=PASSWORD)
    assert "Removed: 3 notes" in visitor.text
    assert is_here()
    assert "Good-bye" in visitor.press("Delete your account", password=PASSWORD)


def test_a_second_click_finds_nothing_to_do(visitor: Visitor, bea: Person) -> None:
    visitor.open(DISOWN)
    assert "It is done" in visitor.press("Disown remarks", password=PASSWORD)
    assert "There is nothing of yours that this would change now." in visitor.again()
    with bea.unlock() as unlocked:
        assert [entry.name for entry in edna.history(unlocked)] == ["club.disown-remarks"]


@pytest.fixture
def first_click(monkeypatch: pytest.MonkeyPatch, bea: Person) -> list[str]:
    """What another request commits after the next one has read what there is."""
    names: list[str] = []
    needs_key = ConfirmForm.needs_key

    def overtaken(form: ConfirmForm) -> bool:
        while names:
            edna.disguise(names.pop(), bea.user)
        return needs_key(form)

    monkeypatch.setattr(ConfirmForm, "needs_key", overtaken)
    return names


@pytest.mark.parametrize("secret", ["password", "recovery_code"])
def test_of_two_clicks_at_once_the_second_says_that_the_account_is_gone(
    visitor: Visitor, bea: Person, first_click: list[str], secret: str
) -> None:
    visitor.open(LEAVE)
    first_click.append("club.leave")
    given = {"password": PASSWORD, "recovery_code": str(bea.recovery_code)}
    page = visitor.press("Delete your account", **{secret: given[secret]})
    assert "Your account is gone already" in page
    assert "Nothing was changed" not in page
    assert "/privacy/hidden/" in visitor.response.content.decode()
    assert "_auth_user_id" not in visitor.client.session


@pytest.mark.parametrize("chunk_rows", [1, 2_000])
def test_of_two_clicks_at_once_the_second_does_nothing(
    settings: Any, visitor: Visitor, bea: Person, first_click: list[str], chunk_rows: int
) -> None:
    """No second receipt, of nothing, is in the list; neither where it is done in several transactions."""
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": chunk_rows}
    Comment.objects.create(author=bea.user, note=Note.objects.earliest("pk"), text="and again")
    visitor.open(DISOWN)
    first_click.append("club.disown-remarks")
    assert "There is nothing of yours that this would change now." in visitor.press("Disown remarks", password=PASSWORD)
    with bea.unlock() as unlocked:
        assert len(edna.history(unlocked)) == 1


def test_what_another_process_has_begun_is_not_done_twice(
    settings: Any, visitor: Visitor, bea: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with a cache of its own, the second request in the very moment before it begins itself."""
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 1}
    for number in range(3):
        Comment.objects.create(author=bea.user, note=Note.objects.earliest("pk"), text=f"and again {number}")
    really = inner_door.disguise_if

    def after_the_first_chunk_of_another(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(inner_door, "disguise_if", really)
        edna.disguise("club.disown-remarks", bea.user)
        Comment.objects.create(author=bea.user, note=Note.objects.earliest("pk"), text="left for the last chunk")
        return really(*args, **options)

    visitor.open(DISOWN)
    monkeypatch.setattr(inner_door, "disguise_if", after_the_first_chunk_of_another)
    assert "This has changed since you opened the page." in visitor.press("Disown remarks", password=PASSWORD)
    with bea.unlock() as unlocked:
        assert len(edna.history(unlocked)) == 1
    assert Comment.objects.filter(author=bea.user).count() == 1


def test_what_is_being_done_in_several_transactions_is_not_begun_again(
    settings: Any, visitor: Visitor, bea: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 1}
    Comment.objects.create(author=bea.user, note=Note.objects.earliest("pk"), text="and again")
    visitor.open(DISOWN)
    monkeypatch.setattr(applying, "cache", SimpleNamespace(add=lambda *args, **options: False))
    assert "You have sent this already, and it is being done." in visitor.press("Disown remarks", password=PASSWORD)
    with bea.unlock() as unlocked:
        assert edna.history(unlocked) == []


def test_what_only_the_key_finds_is_not_begun_twice_either(
    settings: Any, visitor: Visitor, bea: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page has told little, which one transaction could do; with what the key finds it takes several."""
    anna = Note.objects.create(author=User.objects.create_user("anna"), text="hers")
    Comment.objects.update(note=anna)
    for number in range(5):
        Comment.objects.create(author=bea.user, note=anna, text=f"and again {number}")
    edna.disguise("club.disown-remarks", bea.user)
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 5}
    visitor.open(LEAVE)
    monkeypatch.setattr(applying, "cache", SimpleNamespace(add=lambda *args, **options: False))
    page = visitor.press("Delete your account", password=PASSWORD, also_earlier="on")
    assert "You have sent this already, and it is being done." in page
    assert is_here()
    assert Comment.objects.count() == 6
    monkeypatch.undo()
    assert "Good-bye" in visitor.press("Delete your account", password=PASSWORD, also_earlier="on")
    assert not Comment.objects.exists()


def test_what_is_asked_again_is_counted_neither_as_done_nor_as_refused(
    visitor: Visitor, bea: Person, django_capture_on_commit_callbacks: Any
) -> None:
    heard: list[tuple[str, str, str]] = []

    def note(*, operation: str, name: str, error: str, **rest: Any) -> None:
        heard.append((operation, name, error))

    signals.measured.connect(note)
    try:
        visitor.open(LEAVE)
        Note.objects.create(author=bea.user, text="Just now")
        assert "This has changed since you opened the page." in visitor.press("Delete your account", password=PASSWORD)
        assert heard == []
        with django_capture_on_commit_callbacks(execute=True):
            assert "Good-bye" in visitor.press("Delete your account", password=PASSWORD)
        assert heard == [("disguise", "club.leave", "")]
    finally:
        signals.measured.disconnect(note)


def test_what_was_disowned_earlier_goes_along_if_one_wants(visitor: Visitor, bea: Person) -> None:
    visitor.open(LEAVE)
    assert "also_earlier" not in visitor.response.content.decode()
    Comment.objects.update(note=Note.objects.create(author=User.objects.create_user("anna"), text="hers"))
    edna.disguise("club.disown-remarks", bea.user)
    assert "Also what carried my name once" in visitor.open(LEAVE)
    assert "Good-bye" in visitor.press("Delete your account", password=PASSWORD, also_earlier="on")
    assert not Comment.objects.filter(text="bea agrees").exists()


def test_by_recovery_code_alone_what_was_disowned_earlier_stays(visitor: Visitor, bea: Person) -> None:
    """The key tells who it is; it takes along what one has ticked, and nothing else."""
    Comment.objects.update(note=Note.objects.create(author=User.objects.create_user("anna"), text="hers"))
    edna.disguise("club.disown-remarks", bea.user)
    visitor.open(LEAVE)
    assert "Good-bye" in visitor.press("Delete your account", recovery_code=bea.recovery_code, also_earlier=None)
    assert Comment.objects.filter(text="bea agrees").exists()


def test_by_recovery_code_it_is_the_same_person_or_nothing_happens(visitor: Visitor, bea: Person) -> None:
    eve = Person.registered(User.objects.create_user("eve", password=PASSWORD))
    visitor.open(LEAVE)
    page = visitor.press("Delete your account", recovery_code=eve.recovery_code)
    assert "This key belongs to another account." in page
    assert is_here()
    assert is_here("eve")
    assert "Good-bye" in visitor.press("Delete your account", recovery_code=bea.recovery_code)
    assert not is_here()


def test_a_form_of_another_site_does_nothing(visitor: Visitor) -> None:
    visitor.open(LEAVE)
    visitor.press("Delete your account", password=PASSWORD, csrfmiddlewaretoken="a" * 64)
    assert visitor.status == 403
    assert is_here()


def test_a_session_that_has_ended_leads_to_the_login(visitor: Visitor) -> None:
    visitor.open(LEAVE)
    visitor.client.session.flush()
    visitor.press("Delete your account", password=PASSWORD)
    assert visitor.address == f"/login/?next={LEAVE}"
    assert is_here()


def test_what_is_not_offered_is_not_there(visitor: Visitor, client: Client, bea: Person) -> None:
    visitor.open("/privacy/do/club.tidy/")
    assert visitor.status == 404


def test_who_has_no_key_is_told(client: Client, db: Any) -> None:
    client.force_login(User.objects.create_user("dora", password=PASSWORD))
    page = client.get(LEAVE).content.decode()
    assert "You have no key yet" in page
    assert f'href="/privacy/key/?next={LEAVE}"' in page
    assert "<form" not in page
