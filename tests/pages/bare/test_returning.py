"""What is hidden now, and bringing it back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache

import edna
from edna.testing import Person, application_dump
from tests.installed import registering
from tests.pages.bare.club.disguises import Leave
from tests.pages.bare.club.models import Comment, Note
from tests.pages.bare.conftest import PASSWORD, a_browser, join
from tests.pages.bare.visitor import Visitor


@pytest.fixture
def away(bea: Person) -> Visitor:
    """Bea, who has left, in a browser that knows nothing of her."""
    bea.disguise("club.leave")
    return Visitor(a_browser())


def test_the_key_lists_what_is_hidden_and_brings_it_back(visitor: Visitor, bea: Person) -> None:
    edna.disguise("club.disown-remarks", bea.user)
    visitor.open("/privacy/hidden/")
    assert "This does not open your key." in visitor.press("Show it", password="a guess")
    page = visitor.press("Show it", password=PASSWORD)
    assert "Disown remarks" in page
    assert "1 remark" in page
    # A report of an error prints variables of the page.
    assert repr(visitor.response.context["entries"]) == "[<ShownFields redacted>]"
    assert "Receipt" not in visitor.press("Bring it back …")
    assert "This is back: 1 remark" in visitor.press("Bring it back", password=PASSWORD)
    assert Comment.objects.get(text="bea agrees").author == bea.user
    # A second click.
    assert "Nothing is kept under this receipt any more." in visitor.again()


def test_who_is_away_comes_back_by_name_and_password(away: Visitor) -> None:
    away.open("/privacy/hidden/")
    assert "Please say this, too" in away.press("Show it", password=PASSWORD)
    assert "Delete your account" in away.press("Show it", identifier="bea", password=PASSWORD)
    away.press("Bring it back …")
    page = away.press("Bring it back", identifier="bea", password=PASSWORD)
    assert "Your account is here." in page
    assert User.objects.get(username="bea").check_password(PASSWORD)
    assert Note.objects.filter(author__username="bea").count() == 2


def test_a_name_that_somebody_has_taken_is_replaced(away: Visitor, bea: Person) -> None:
    """The rest follows, and the password opens the key under the new name."""
    for name in ("bea", "anna"):
        User.objects.create_user(name, password="finders keepers")
    away.open("/privacy/hidden/")
    away.press("Show it", recovery_code=bea.recovery_code)
    away.press("Bring it back …")
    page = away.press("Bring it back", identifier="bea", password=PASSWORD)
    assert "Not all of it could come back" in page
    assert "Somebody else has what was yours" in page
    taken = away.press("Try again", **{"instead-auth.user.username": "anna", "identifier": "bea", "password": PASSWORD})
    assert "“anna” is taken, too." in taken
    away.press("Try again", **{"instead-auth.user.username": "beatrix", "password": PASSWORD, "identifier": ""})
    assert "a password opens nothing without “Username, as it was”" in away.text
    away.press("Bring it back", **{"instead-auth.user.username": "anna", "identifier": "bea", "password": PASSWORD})
    assert 'value="anna"' in away.response.content.decode()
    wrong = away.press("Try again", **{"instead-auth.user.username": "a b", "identifier": "bea", "password": PASSWORD})
    assert "Enter a valid username." in wrong
    page = away.press(
        "Bring it back", **{"instead-auth.user.username": "beatrix", "identifier": "bea", "password": PASSWORD}
    )
    assert "Your account is here, as beatrix." in page
    with edna.unlock(identifier="beatrix", password=PASSWORD) as unlocked:
        assert edna.principal(unlocked) == User.objects.get(username="beatrix")


class LeaveRemarks(edna.Disguise):
    name = "club.leave-remarks"
    transformations = [
        edna.Modify(Comment, owner="author", set={"text": "[gone]"}),
        edna.Decorrelate(Comment, owner="author"),
        *Leave.transformations[1:],
    ]


def test_nothing_comes_back_without_the_account(bea: Person) -> None:
    """Rows that stayed would say whose they are, while that person is away."""
    away = Visitor(a_browser())
    note = Note.objects.create(author=join("carl").user, text="of carl")
    Comment.objects.create(author=bea.user, note=note, text="bea to carl")
    with registering(LeaveRemarks):
        bea.disguise(LeaveRemarks.name)
        User.objects.create_user("bea", password="finders keepers")
        before = application_dump()
        away.open("/privacy/return/")
        page = away.press("Bring my account back", identifier="bea", password=PASSWORD)
        assert "Somebody else has what was yours" in page
        assert "This is back" not in page
        assert "2 notes What it belongs to is not there, or not yet." in page
        assert application_dump() == before
        given = {"instead-auth.user.username": "beatrix", "identifier": "bea", "password": PASSWORD}
        assert "Your account is here, as beatrix." in away.press("Try again", **given)
        assert Comment.objects.filter(author__username="beatrix", text="bea to carl").exists()
        with bea.unlock() as unlocked:
            assert edna.history(unlocked) == []


def test_another_value_is_for_what_is_taken_alone(away: Visitor, bea: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who writes a field into the form comes back with nothing else that they chose."""
    monkeypatch.setattr(User._meta.get_field("email"), "unique", True)
    User.objects.create_user("bea", password="finders keepers")
    away.open("/privacy/hidden/")
    away.press("Show it", recovery_code=bea.recovery_code)
    away.press("Bring it back …")
    away.press("Bring it back", identifier="bea", password=PASSWORD)
    chosen = {"instead-auth.user.username": "beatrix", "instead-auth.user.email": "chosen@example.org"}
    assert "Your account is here" in away.press("Try again", **chosen, identifier="bea", password=PASSWORD)
    assert User.objects.get(username="beatrix").email == "bea@example.org"


def test_what_others_did_is_told_and_given_up(visitor: Visitor, bea: Person) -> None:
    """Once more one is asked, for the key as well; what is not ticked, or not confirmed, stays."""
    edna.disguise("club.disown-remarks", bea.user)
    Comment.objects.filter(text="bea agrees").delete()
    visitor.open("/privacy/hidden/")
    visitor.press("Show it", password=PASSWORD)
    visitor.press("Bring it back …")
    page = visitor.press("Bring it back", password=PASSWORD)
    assert "Not back yet, of “Disown remarks”" in page
    assert "It has been deleted meanwhile." in page
    assert repr(visitor.response.context["waiting"]) == "[<ShownFields redacted>]"
    assert repr(visitor.response.context["called"]) == "<Shown redacted>"
    visitor.open("/privacy/hidden/")
    visitor.press("Show it", password=PASSWORD)
    listed, boxes = visitor.forms, re.findall(r'name="row" value="([^"]+)"', visitor.response.content.decode())
    assert len(boxes) == 1
    assert "Nothing was ticked" in visitor.press("Give up what is ticked …")
    visitor.forms = listed
    assert "You are about to give up 1 remark." in visitor.press("Give up what is ticked …", row=boxes)
    assert "Tick this box" in visitor.press("Give it up for good", password=PASSWORD)
    page = visitor.press("Give it up for good", password=PASSWORD, final="on")
    assert "This is given up, and erased: 1 remark" in page
    with bea.unlock() as unlocked:
        assert edna.history(unlocked) == []


class ForgetRemarks(edna.Disguise):
    name = "club.forget-remarks"
    asks_for_key = False
    transformations = [edna.Remove(Comment, owner=["author", "note__author"])]


def test_what_is_not_given_up_for_others_is_said_and_can_be_deleted(visitor: Visitor, bea: Person) -> None:
    """Two have put a remark away, and the note below which it stood is gone: neither of them can bring it back, nor give it up."""
    carl = join("carl")
    note = Note.objects.create(author=carl.user, text="of carl")
    Comment.objects.create(author=bea.user, note=note, text="bea to carl")
    with registering(ForgetRemarks):
        receipts = [each.disguise(ForgetRemarks.name) for each in (bea, carl)]
        note.delete()
        for each, receipt in zip((bea, carl), receipts, strict=True):
            assert not each.reveal(receipt).complete
        visitor.open("/privacy/hidden/")
        assert "it may come back with them" not in visitor.press("Show it", password=PASSWORD)
        boxes = re.findall(r'name="row" value="([^"]+)"', visitor.response.content.decode())
        visitor.press("Give up what is ticked …", row=boxes)
        page = visitor.press("Give it up for good", password=PASSWORD, final="on")
        assert "Some of it is other people’s, too, and is not given up for them: it may come back with them." in page
        assert "Forget remarks" in visitor.press("Delete it for good …")
        assert "It is done." in visitor.press("Delete for good", phrase="delete for good", password=PASSWORD)
        with bea.unlock() as unlocked:
            assert edna.history(unlocked) == []
        with carl.unlock() as unlocked:
            assert len(edna.history(unlocked)) == 1


def test_what_only_a_later_one_brings_back_is_not_called_back(visitor: Visitor, bea: Person) -> None:
    receipt = edna.disguise("club.disown-remarks", bea.user)
    with bea.unlock() as unlocked:
        edna.disguise("club.leave", bea.user, unlocked=unlocked)
    away = Visitor(a_browser())
    away.open("/privacy/back/")
    page = away.press("Bring it back", receipt=str(receipt), identifier="bea", password=PASSWORD)
    assert "It comes back with a later one" in page
    assert "It is back" not in page
    assert "Show what is hidden …" in page


def test_too_many_at_once_are_told_when_to_come_back(
    visitor: Visitor, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All places of a minute are taken; it has 42 seconds left."""
    monkeypatch.setattr("edna.throttle._now", lambda: 1_800_000_018.0)
    settings.EDNA = {**settings.EDNA, "REQUEST_RATE_PER_SECOND": 1 / 60}
    for window in (29_999_999, 30_000_000):
        cache.set(f"edna:requests:{window}", 1)
    visitor.open("/privacy/hidden/")
    page = visitor.press("Show it", password=PASSWORD)
    assert "Many people are using their keys right now. Nothing was changed; please try again in 42 seconds." in page
    assert (visitor.status, visitor.response.headers["Retry-After"]) == (429, "42")


def test_a_receipt_that_is_mistyped_is_said_so(visitor: Visitor) -> None:
    visitor.open("/privacy/back/")
    page = visitor.press("Bring it back", receipt="edna1:club.leave:abc", password=PASSWORD)
    assert "The receipt is incomplete or mistyped." in page
    assert "edna1:club.leave:abc" in visitor.response.content.decode()
