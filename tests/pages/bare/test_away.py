"""Pages that need the key and no account: coming back, deleting for good, taking one's data along."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

import edna
from edna.errors import WrongCredentials
from edna.models import Bag, KeySlot, PrincipalEntry
from edna.pages.people import People
from edna.testing import Person, application_dump
from tests.pages.bare.club.models import Comment, Note
from tests.pages.bare.conftest import PASSWORD, a_browser, join
from tests.pages.bare.forms import send
from tests.pages.bare.visitor import Visitor

NEW = "a longer walk home, bea"
PHRASE = "delete for good"


def test_an_account_comes_back_by_password(client: Client, bea: Person) -> None:
    """Whoever mistypes and who never was here get the same answer; who is back is led to the login, and sent twice says so."""
    before = application_dump()
    edna.disguise("club.leave", bea.user)
    answers = [
        send(client, "/privacy/return/", identifier=name, password="wrong", receipt="").text_of_page
        for name in ("bea", "nobody")
    ]
    assert answers[0].count("This does not open your key.") == 1
    same = [re.sub(r'value="[^"]*"', "", answer) for answer in answers]
    assert same[0] == same[1]
    back = send(client, "/privacy/return/", identifier="bea", password=PASSWORD).text_of_page
    assert "It is back" in back
    assert "2 notes" in back
    assert 'href="/login/"' in back
    assert application_dump() == before
    assert "_auth_user_id" not in client.session
    assert "Your account is here" in send(client, "/privacy/return/", identifier="bea", password=PASSWORD).text_of_page


@pytest.mark.parametrize("way", ["recovery_code", "secret_key"])
@pytest.mark.parametrize("with_receipt", [False, True])
def test_it_comes_back_by_code_or_key_with_or_without_receipt(
    client: Client, bea: Person, way: str, with_receipt: bool
) -> None:
    receipt = str(edna.disguise("club.leave", bea.user))
    given = {"recovery_code": str(bea.recovery_code), "secret_key": bea.secret_key.expose_text()}
    answer = send(client, "/privacy/return/", **{way: given[way]}, receipt=receipt if with_receipt else "")
    assert "Your account is here.<" in answer.text_of_page
    assert given[way] not in answer.text_of_page


def test_a_receipt_that_is_mistyped_or_somebody_elses_changes_nothing(client: Client, bea: Person) -> None:
    dan = join("dan")
    edna.disguise("club.leave", bea.user)
    dans = str(edna.disguise("club.leave", dan.user))
    for receipt, said in [("edna1:club.leave:x", "The receipt is incomplete"), (dans, "somebody else")]:
        answer = send(client, "/privacy/return/", identifier="bea", password=PASSWORD, receipt=receipt)
        assert answer.text_of_page.count(said) == 1
    assert not User.objects.filter(username__in=["bea", "dan"]).exists()


def test_a_taken_name_is_replaced_on_the_next_page(bea: Person) -> None:
    """The password then goes with the new name."""
    edna.disguise("club.leave", bea.user)
    User.objects.create_user("bea", password="finders keepers")
    visitor = Visitor(a_browser())
    visitor.open("/privacy/return/")
    asked = visitor.press("Bring my account back", identifier="bea", password=PASSWORD)
    assert asked.count("It was free while you were away.") == 1
    back = visitor.press("Try again", **{"instead-auth.user.username": "beatrix"}, password=PASSWORD)
    assert "Your account is here, as beatrix." in back
    assert Note.objects.filter(author__username="beatrix").count() == 2
    edna.unlock(identifier="beatrix", password=PASSWORD).close()


def chosen(page: str, title: str) -> str:
    """The value of the choice of that title."""
    return re.search(rf'value="([^"]*)" required> <span><strong>{title}<', page)[1]


def test_what_is_hidden_is_deleted_one_by_one(visitor: Visitor, bea: Person) -> None:
    """With the phrase and the key only; the rest stays openable. What stands without a name stays there."""
    edna.disguise("club.disown-remarks", bea.user)
    Comment.objects.create(author=bea.user, note=Note.objects.earliest("pk"), text="and again")
    hidden = edna.disguise("club.tidy", bea.user)
    page = send(visitor.client, "/privacy/delete/", password=PASSWORD).text_of_page
    assert "What stands on the site without your name stays there" in page
    what = chosen(page, "Disown remarks")
    bags, dump = Bag.objects.count(), application_dump()
    for fields, said in [
        ({"phrase": "yes", "password": PASSWORD}, "Type exactly “delete for good”."),
        ({"phrase": PHRASE, "password": "wrong"}, "This does not open your key."),
    ]:
        refused = send(visitor.client, "/privacy/delete/", what=what, **fields).text_of_page
        assert refused.count(said) == 1
        assert "<strong>Disown remarks</strong>" in refused
        # The numbers stay where the key was right.
        assert ("<li>1 remark</li>" in refused) == (fields["password"] == PASSWORD)
    assert Bag.objects.count() == bags
    for said in ("It is done.", "Nothing is kept under this receipt any more."):
        assert (
            said
            in send(
                visitor.client, "/privacy/delete/", what=what, phrase="Delete  for GOOD", password=PASSWORD
            ).text_of_page
        )
    assert application_dump() == dump
    with bea.unlock() as unlocked:
        assert edna.speaks_for(unlocked) == []
        assert edna.reveal(hidden, unlocked).complete


def test_the_list_of_what_is_hidden_leads_there(visitor: Visitor, bea: Person) -> None:
    """Which one is meant goes along, and a wrong password does not lose it."""
    edna.disguise("club.disown-remarks", bea.user)
    visitor.open("/privacy/hidden/")
    visitor.press("Show it", password=PASSWORD)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(People, "title_of", lambda self, entry: f"What the site calls {entry.name}")
        said = "What is to be deleted for good? What the site calls club.disown-remarks"
        assert said in visitor.press("Delete it for good …")
    assert "Disown remarks" in visitor.press("Delete for good", phrase=PHRASE, password="wrong")
    assert "It is done." in visitor.press("Delete for good", phrase=PHRASE, password=PASSWORD)
    assert not Bag.objects.exists()


def test_everything_goes_with_the_account(visitor: Visitor, bea: Person) -> None:
    """No bag, no slot and no entry is left, nobody is logged in, and nothing leads back."""
    edna.disguise("club.disown-remarks", bea.user)
    page = send(visitor.client, "/privacy/delete/", password=PASSWORD).text_of_page
    assert "Everything, and my account" in page
    assert "Removed: 2 notes" in page
    answer = send(visitor.client, "/privacy/delete/", what="everything", phrase=PHRASE, password=PASSWORD)
    assert "Nothing of your account is left" in answer.text_of_page
    assert 'href="/">To the first page of the site' in answer.text_of_page
    assert not User.objects.filter(username="bea").exists()
    assert [model.objects.count() for model in (Bag, KeySlot, PrincipalEntry)] == [0, 0, 0]
    assert visitor.client.get("/privacy/").status_code == 302
    again = send(
        visitor.client, "/privacy/delete/", identifier="bea", phrase=PHRASE, what="everything", password=PASSWORD
    )
    assert "This does not open your key." in again.text_of_page


@pytest.mark.parametrize("is_shut_out", [False, True])
def test_an_account_that_is_there_goes_for_good_by_whoever_is_logged_in_to_it(
    client: Client, bea: Person, is_shut_out: bool
) -> None:
    """The key is not enough: a site that has shut somebody out, or asks for a second factor, means this page as well."""
    edna.disguise("club.disown-remarks", bea.user)
    User.objects.filter(pk=bea.user.pk).update(is_active=not is_shut_out)
    dump, bags = application_dump(), Bag.objects.count()
    offered = send(client, "/privacy/delete/", identifier="bea", password=PASSWORD).text_of_page
    assert "To delete it as well, log in first." in offered
    assert "Everything" not in offered
    assert "Disown remarks" in offered
    fields = {"identifier": "bea", "password": PASSWORD, "phrase": PHRASE}
    refused = send(client, "/privacy/delete/", what="everything", **fields).text_of_page
    assert "Log in first, and then delete everything." in refused
    assert (application_dump(), Bag.objects.count()) == (dump, bags)


def test_who_has_left_deletes_what_is_left_of_them(client: Client, bea: Person) -> None:
    edna.disguise("club.leave", bea.user)
    page = send(client, "/privacy/delete/", identifier="bea", password=PASSWORD).text_of_page
    assert 'value="bea"' in page
    what = chosen(page, "Delete your account")
    fields = {"identifier": "bea", "password": PASSWORD, "phrase": PHRASE}
    assert "Nothing of your account is left" in send(client, "/privacy/delete/", what=what, **fields).text_of_page
    with pytest.raises(WrongCredentials):
        edna.unlock(recovery_code=bea.recovery_code)


def test_somebody_elses_key_opens_nothing_of_whoever_is_logged_in(visitor: Visitor, bea: Person) -> None:
    dan = join("dan")
    edna.disguise("club.disown-remarks", dan.user)
    for address in ("/privacy/delete/", "/privacy/take-along/", "/privacy/key/code/"):
        fields: dict[str, Any] = {"recovery_code": str(dan.recovery_code), "kind": "readable"}
        assert "This key belongs to another account." in send(visitor.client, address, **fields).text_of_page
    dan.unlock().close()


def test_ones_data_is_taken_along(visitor: Visitor, bea: Person, client: Client) -> None:
    """Readable, of those who are here and of those who are not; or locked, with the code that opens it later."""
    edna.disguise("club.disown-remarks", bea.user)
    # The page stays when the file comes: its button is not for once.
    visitor.open("/privacy/take-along/")
    assert "data-edna-download" in visitor.response.content.decode()
    assert "data-edna-once" not in visitor.response.content.decode()
    answer = send(visitor.client, "/privacy/take-along/", kind="readable", password=PASSWORD)
    document = json.loads(answer.content)
    assert document["format"] == "edna-export-1"
    assert {row["model"] for row in document["rows"]} >= {"club.note", "club.comment", "auth.user"}
    assert answer.headers["Content-Disposition"] == 'attachment; filename="my-data.json"'
    assert "no-store" in answer.headers["Cache-Control"]
    refused = send(visitor.client, "/privacy/take-along/", kind="locked", password=PASSWORD).text_of_page
    assert refused.count("Give your recovery code instead of the password") == 1
    assert '<details class="edna-more" open>' in refused, "the message is where it can be seen"
    edna.disguise("club.leave", bea.user)
    locked = send(client, "/privacy/take-along/", kind="locked", recovery_code=bea.recovery_code)
    assert json.loads(locked.content)["wrapped"]
    assert b"Deadlock" not in locked.content


def test_where_only_receipts_lead_to_it_they_are_asked_for(settings: Any, bea: Person) -> None:
    """Each step has them again; without them a new key is refused, for what they lead to would be lost."""
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    receipt = str(edna.disguise("club.disown-remarks", bea.user))
    visitor = Visitor(a_browser())
    visitor.client.force_login(bea.user)
    visitor.open("/privacy/key/new/")
    given = {"password": PASSWORD, "new_password": NEW, "again": NEW}
    assert "Please give all your receipts." in visitor.press("Replace my key", **given)
    visitor.press("Replace my key", **given, receipts=receipt)
    visitor.open("/privacy/delete/")
    assert "The receipt is incomplete" in visitor.press("Show what there is", password=NEW, receipts=f"{receipt}x")
    visitor.press("Show what there is", password=NEW, receipts=receipt)
    assert "It is done." in visitor.press(
        "Delete for good", what=receipt, phrase=PHRASE, password=NEW, receipts=receipt
    )
    assert not Bag.objects.exists()


@pytest.mark.parametrize("address", ["return", "delete", "take-along", "forgotten", "key", "key/code", "key/new"])
def test_a_form_without_the_token_of_its_page_is_refused(visitor: Visitor, bea: Person, address: str) -> None:
    assert visitor.client.post(f"/privacy/{address}/", {"password": PASSWORD, "recovery_code": "x"}).status_code in (
        302,
        403,
    )
    assert Comment.objects.filter(author=bea.user).exists()


def test_too_many_at_once_are_told_when_to_come_again(
    settings: Any, client: Client, bea: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edna.throttle._now", lambda: 1_800_000_000.0)
    settings.EDNA = {**settings.EDNA, "REQUEST_RATE_PER_SECOND": 0.01}
    answers = [send(client, "/privacy/return/", identifier="bea", password="wrong") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[2].headers["Retry-After"]) > 0
    assert answers[2].text_of_page.count("please try again in") == 1
