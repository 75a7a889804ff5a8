"""Leaving and coming back over the pages: what they show and refuse, what is mailed, and what nobody can read meanwhile."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth import SESSION_KEY
from django.core import mail
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import edna
from apps.lobsters_sim import mails
from apps.lobsters_sim.keys import identifier
from apps.lobsters_sim.models import Comment, Message, Story, User
from apps.showcase.tests.tables import thief
from apps.websubmit.models import User as Student

from .conftest import PASSWORD, Person, Site, dump
from .test_pages import see, send, text_of

#: What views say and show; what the database does is in test_disguises.py and test_composition.py, on each.
pytestmark = [pytest.mark.django_db, pytest.mark.thorough, pytest.mark.once]

BACK = "Welcome back!"


def steady(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Without what reading the pages and logging in change by themselves."""
    return {table: found for table, found in rows.items() if table != "read_ribbons"}


# Deleting the account


def test_delete_and_come_back(client: Client, site: Site, bea: Person) -> None:
    before = steady(dump())
    page = text_of(see(bea.client, "delete"))
    for line in ("2 stories: lose their text and your name", "2 comments: lose their text", "1 account: taken away"):
        assert line in page
    response = send(bea.client, "delete", password=PASSWORD)
    receipt = response.context["receipt"]
    assert receipt in text_of(response)
    assert "no-store" in response.headers["Cache-Control"]
    assert SESSION_KEY not in bea.client.session
    assert see(bea.client, "account").status_code == 302
    letter = mail.outbox[-1]
    assert letter.to == ["bea@example.org"]
    assert receipt in letter.body
    assert "http://testserver/lobsters/return" in letter.body
    stolen = thief()
    for secret in (
        "bea@example.org",
        "\nbea\n",
        "Paxos",
        "heap of trouble",
        "Tea taster",
        "Potter",
        receipt,
        receipt.split(":")[-1],
    ):
        assert secret not in stolen, secret
    assert "Bea asks" in stolen  # Carl's, too: he still reads it
    assert see(client, "profile", "bea").status_code == 404
    back = send(client, "return", username="bea", password=PASSWORD)
    assert BACK in text_of(back)
    assert steady(dump()) == before


@pytest.mark.parametrize("by", ["receipt", "recovery code", "receipt and recovery code"])
def test_come_back_with_what_one_has(by: str, client: Client, site: Site, bea: Person) -> None:
    receipt = send(bea.client, "delete", password=PASSWORD).context["receipt"]
    data = {
        "receipt": {"username": "bea", "password": PASSWORD, "receipt": f" {receipt}\n"},
        "recovery code": {"recovery_code": bea.recovery_code.lower()},
        "receipt and recovery code": {"recovery_code": bea.recovery_code, "receipt": receipt},
    }[by]
    assert BACK in text_of(send(client, "return", **data))
    assert User.objects.get(username="bea").pk == bea.user.pk


def test_delete_refuses(site: Site, bea: Person) -> None:
    assert "not your password" in text_of(send(bea.client, "delete", password="wrong"))
    assert "not your password" in text_of(send(bea.client, "delete", password="wrong", disowned="on"))
    assert User.objects.filter(pk=bea.user.pk).exists()


def test_a_password_that_does_not_open_the_key(site: Site, bea: Person) -> None:
    bea.user.set_password("reset by a moderator")
    bea.user.save()
    bea.client.force_login(bea.user, backend="apps.lobsters_sim.auth.LobstersBackend")
    refused = send(bea.client, "delete", password="reset by a moderator", disowned="on")
    assert "does not open your key" in text_of(refused)
    assert User.objects.filter(pk=bea.user.pk).exists()
    assert send(bea.client, "delete", password="reset by a moderator").context["receipt"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"username": ""}, "Enter your password or your recovery code"),
        ({"password": PASSWORD}, "only together with your user name"),
        ({"username": "bea", "password": "wrong"}, "does not open a key"),
        ({"recovery_code": "ABCD-EFGH"}, "not a complete recovery code"),
        ({"username": "bea", "password": PASSWORD, "receipt": "edna1:lobsters"}, "incomplete or mistyped"),
        ({"username": "bea", "password": PASSWORD, "receipt": "nonsense"}, "incomplete or mistyped"),
        ({"username": "carl", "password": PASSWORD}, "its account is here"),
    ],
)
@pytest.mark.parametrize("page", ["return", "finish"])
def test_coming_back_is_refused(
    page: str, data: dict[str, str], message: str, client: Client, site: Site, bea: Person, carl: Person
) -> None:
    edna.disguise("lobsters.decay", bea.user)
    before = dump()
    response = send(client, page, **data)
    assert response.status_code == 200
    assert message in text_of(response)
    assert PASSWORD not in text_of(response)
    assert dump() == before


def test_somebody_elses_receipt(client: Client, site: Site, bea: Person, carl: Person) -> None:
    receipt = send(bea.client, "delete", password=PASSWORD).context["receipt"]
    before = dump()
    response = send(client, "return", username="carl", password=PASSWORD, receipt=receipt)
    assert "somebody else’s account" in text_of(response)
    assert "somebody else’s" in text_of(send(carl.client, "reclaim", password=PASSWORD, receipt=receipt))
    assert dump() == before


def test_a_receipt_of_another_application_brings_nothing_back_here(client: Client, bea: Person, site: Site) -> None:
    student = Student.objects.create_user("bea@example.org", PASSWORD)
    code = str(edna.register_principal(student, password=PASSWORD).recovery_code)
    receipt = str(edna.disguise("websubmit.delete-account", student))
    for page, data in (
        ("return", {"recovery_code": code, "receipt": receipt}),
        ("return", {"recovery_code": code}),
        ("finish", {"recovery_code": code, "receipt": receipt}),
        ("reclaim", {"recovery_code": code, "receipt": receipt}),
    ):
        response = send(client, page, **data)
        assert 'role="alert"' in text_of(response), page
        assert not Student.objects.filter(email="bea@example.org").exists()
    assert "websubmit" not in text_of(send(client, "disguised", recovery_code=code)).lower()


def test_somebody_has_taken_the_name(client: Client, site: Site, bea: Person) -> None:
    send(bea.client, "delete", password=PASSWORD)
    User.objects.create_user("bea", "other@example.org", PASSWORD)
    data = {"username": "bea", "password": PASSWORD}
    asked = send(client, "return", **data)
    assert "Somebody else has this user name now" in text_of(asked)
    assert 'name="new_username"' in text_of(asked)
    taken = send(client, "return", **data, new_username="bea")
    assert "Somebody else has this user name now" in text_of(taken)
    assert "Letters, digits" in text_of(send(client, "return", **data, new_username="a b"))
    assert "This field is required" in text_of(
        send(client, "return", recovery_code=bea.recovery_code, new_username="beatrix")
    )
    assert BACK in text_of(send(client, "return", **data, new_username="Beatrix"))
    back = User.objects.get(username="beatrix")
    assert (back.pk, back.stories.count()) == (bea.user.pk, 2)
    assert send(client, "login", username="beatrix", password=PASSWORD).status_code == 302
    edna.unlock(identifier="lobsters:beatrix", password=PASSWORD).close()


def test_a_mail_server_that_is_down(site: Site, bea: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> None:
        raise OSError("no route")

    monkeypatch.setattr(mails, "send_mail", broken)
    response = send(bea.client, "delete", password=PASSWORD)
    assert "could not be sent" in text_of(response)
    assert response.context["receipt"] in text_of(response)


def test_what_the_other_side_deletes_meanwhile_is_not_lost(
    client: Client, site: Site, bea: Person, carl: Person
) -> None:
    message = Message.objects.get(author_user=bea.user)
    send(bea.client, "delete", password=PASSWORD)
    page = text_of(see(carl.client, "message", message.short_id))
    assert "Bea asks" in page
    assert "cannot be answered" in page
    send(carl.client, "delete-message", message.short_id)
    assert BACK in text_of(send(client, "return", username="bea", password=PASSWORD))
    message.refresh_from_db()
    assert (message.author_user, message.deleted_by_author, message.deleted_by_recipient) == (bea.user, False, True)


# Leaving a topic


def leave(person: Person, tag: str = "starwars") -> str:
    receipt: str = send(person.client, "leave-topic", tag=tag, confirmed="yes").context["receipt"]
    return receipt


def test_leave_a_topic(site: Site, bea: Person, carl: Person) -> None:
    assert "There is no tag “nothing”" in text_of(send(bea.client, "leave-topic", tag="nothing"))
    nothing = text_of(send(carl.client, "leave-topic", tag="meta"))
    assert "There is nothing of yours" in nothing
    before = steady(dump())
    preview = text_of(send(bea.client, "leave-topic", tag="StarWars"))
    assert "1 story: lose your name" in preview
    assert "votes: no longer yours, and still counted" in preview
    assert steady(dump()) == before
    receipt = leave(bea)
    film = text_of(see(carl.client, "story", site.beas_film.short_id))
    assert film.count("[anonymous]") == 2
    assert "/u/bea" in text_of(see(carl.client, "story", site.beas.short_id))
    letter = mail.outbox[-1]
    assert receipt in letter.body
    assert "http://testserver/lobsters/disguised" in letter.body
    response = send(bea.client, "reclaim", password=PASSWORD, receipt=receipt)
    assert "It is yours again" in text_of(response)
    assert steady(dump()) == before
    assert "used already" in text_of(send(bea.client, "reclaim", password=PASSWORD, receipt=receipt))


def test_what_is_disguised_is_shown_to_its_owner_only(client: Client, site: Site, bea: Person, carl: Person) -> None:
    receipt = leave(bea)
    assert receipt not in text_of(see(bea.client, "disguised"))
    shown = send(bea.client, "disguised", password=PASSWORD)
    assert "no-store" in shown.headers["Cache-Control"]
    for part in ("You left the topic “starwars”", receipt, "Blasters and their optics", "Bea adds"):
        assert part in text_of(shown)
    # Without being logged in, too: who has deleted the account cannot log in.
    assert receipt in text_of(send(client, "disguised", username="bea", password=PASSWORD))
    assert receipt in text_of(send(client, "disguised", recovery_code=bea.recovery_code))
    assert "Nothing of yours is disguised" in text_of(send(carl.client, "disguised", password=PASSWORD))
    assert "does not open a key" in text_of(send(carl.client, "disguised", password="wrong"))


def test_edit_under_disguise(client: Client, site: Site, bea: Person, carl: Person) -> None:
    receipt = leave(bea)
    comment = {"kind": "comment", "short_id": site.film_comment.short_id}
    story = {"kind": "story", "short_id": site.beas_film.short_id}
    assert "the light is too slow" in text_of(send(bea.client, "edit-disguised", **comment))
    assert 'name="title" value="Blasters' in text_of(send(bea.client, "edit-disguised", **story))
    mine = {**comment, "text": "The light is fast enough.", "password": PASSWORD}
    before = dump()
    assert "does not speak for" in text_of(send(carl.client, "edit-disguised", **mine))
    assert "does not open a key" in text_of(send(bea.client, "edit-disguised", **{**mine, "password": "wrong"}))
    assert "cannot be emptied" in text_of(send(bea.client, "edit-disguised", **{**mine, "text": ""}))
    assert "needs a title" in text_of(send(bea.client, "edit-disguised", **{**story, "text": "", "password": PASSWORD}))
    assert dump() == before
    updated_at = Comment.objects.get(pk=site.film_comment.pk).updated_at
    assert send(bea.client, "edit-disguised", **mine).status_code == 302
    data = {**story, "title": "Blasters", "text": "Shorter.", "recovery_code": bea.recovery_code}
    assert send(client, "edit-disguised", **data).status_code == 302
    edited = Comment.objects.get(pk=site.film_comment.pk)
    assert (edited.comment, edited.updated_at) == ("The light is fast enough.", updated_at)
    assert not edited.user.is_active
    for page in ("edit-story", "edit-comment"):
        row = site.beas_film if page == "edit-story" else site.film_comment
        assert see(bea.client, page, row.short_id).status_code == 404
    assert "It is yours again" in text_of(send(bea.client, "reclaim", password=PASSWORD, receipt=receipt))
    assert Story.objects.get(pk=site.beas_film.pk).title == "Blasters"
    assert Comment.objects.get(pk=site.film_comment.pk).user == bea.user


@pytest.mark.parametrize("data", [{}, {"kind": "user", "short_id": "x"}, {"kind": "story", "short_id": "nothing"}])
def test_nothing_to_edit(data: dict[str, str], client: Client, site: Site) -> None:
    assert send(client, "edit-disguised", **data).status_code == 404


def test_reclaim_without_a_choice(bea: Person, site: Site) -> None:
    assert "Choose what you want" in text_of(send(bea.client, "reclaim", password=PASSWORD))


@pytest.mark.parametrize("disowned", [True, False])
def test_deleting_with_and_without_what_was_disowned(disowned: bool, client: Client, site: Site, bea: Person) -> None:
    before = steady(dump())
    assert not see(bea.client, "delete").context["beyond_reach"]
    topic = leave(bea)
    assert see(bea.client, "delete").context["form"]["disowned"].value()
    send(bea.client, "delete", password=PASSWORD, **({"disowned": "on"} if disowned else {}))
    film = Story.objects.get(pk=site.beas_film.pk)
    assert (film.title == "[deleted content]") is disowned
    assert BACK in text_of(send(client, "return", username="bea", password=PASSWORD))
    assert "[deleted content]" not in repr(dump())
    response = send(client, "reclaim", username="bea", password=PASSWORD, receipt=topic)
    assert "It is yours again" in text_of(response)
    assert steady(dump()) == before


# Decay


def decay() -> str:
    out = io.StringIO()
    call_command("edna_run_schedules", schedule="lobsters.decay", stdout=out, stderr=out)
    return out.getvalue()


@contextmanager
def days_later(days: int) -> Iterator[datetime.datetime]:
    moment = timezone.now() + datetime.timedelta(days=days)
    with mock.patch.object(timezone, "now", return_value=moment):
        yield moment


def were_here(*people: Person) -> None:
    """Not now, but in a hundred days."""
    last = timezone.now() + datetime.timedelta(days=100)
    User.objects.filter(pk__in=[person.user.pk for person in people]).update(last_login=last)


def warn() -> None:
    """Who is not here for a year gets both warnings."""
    for days in (340, 363):
        with days_later(days):
            decay()


def put_away() -> str:
    warn()
    mail.outbox.clear()
    with days_later(370):
        return decay()


def test_decay_takes_only_who_was_away(site: Site, bea: Person, carl: Person, mod: Person) -> None:
    were_here(carl, mod)
    said = put_away()
    assert "1 disguised" in said
    assert "bea" not in said
    assert set(User.objects.filter(deleted_at=None).values_list("username", flat=True)) == {"carl", "mod"}
    (letter,) = mail.outbox
    assert letter.to == ["bea@example.org"]
    receipt = re.search(r"edna1:lobsters\.decay:\S+", letter.body)
    assert receipt is not None
    for page in ("return", "finish", "disguised"):
        assert f"http://localhost:8000/lobsters/{page}" in letter.body
    # What others read is there, under nobody's name.
    assert "heap of trouble" in text_of(see(carl.client, "story", site.carls.short_id))
    assert "disguised" not in decay()
    stolen = thief()
    assert "bea@example.org" not in stolen
    assert receipt.group().split(":")[-1] not in stolen


def test_a_warning_says_when_and_what_to_do(bea: Person) -> None:
    with days_later(340) as now:
        decay()
    (letter,) = mail.outbox
    assert letter.to == ["bea@example.org"]
    day = now + datetime.timedelta(days=30)
    assert f"{day.day} {day:%B %Y}, in 30 days." in letter.body
    assert "http://localhost:8000/lobsters/login" in letter.body
    assert "edna1:" not in letter.body


def test_who_logs_in_after_the_warnings_stays(client: Client, bea: Person) -> None:
    warn()
    with days_later(369):
        send(client, "login", username="bea", password=PASSWORD)
    with days_later(370):
        assert "disguised" not in decay()
    assert User.objects.filter(username="bea").exists()


def test_somebody_who_never_logged_in_counts_from_the_day_they_joined(bea: Person, carl: Person) -> None:
    User.objects.update(last_login=None)
    User.objects.filter(pk=carl.user.pk).update(created_at=timezone.now() + datetime.timedelta(days=100))
    with days_later(340):
        decay()
    assert [letter.to for letter in mail.outbox] == [["bea@example.org"]]


def test_who_has_no_key_is_left_alone(bea: Person) -> None:
    User.objects.create_user("dora", "dora@example.org", PASSWORD)
    assert "1 disguised" in put_away()
    assert User.objects.filter(username="dora").exists()


def test_come_back_after_decay(client: Client, site: Site, carl: Person, mod: Person) -> None:
    were_here(carl, mod)
    before = steady(dump())
    put_away()
    assert "you can come back" in text_of(send(client, "login", username="bea", password=PASSWORD))
    assert BACK in text_of(send(client, "return", username="bea", password=PASSWORD))
    assert steady(dump()) == before


def test_finish_the_deletion_and_still_come_back(client: Client, site: Site, carl: Person, mod: Person) -> None:
    were_here(carl, mod)
    before = steady(dump())
    put_away()
    receipt = re.search(r"edna1:\S+", mail.outbox[-1].body)
    assert receipt is not None
    response = send(client, "finish", username="bea", password=PASSWORD, receipt=receipt.group())
    assert "The deletion is finished" in text_of(response)
    new = response.context["receipt"]
    assert new.startswith("edna1:lobsters.delete-account:")
    assert mail.outbox[-1].to == ["bea@example.org"]
    assert new in mail.outbox[-1].body
    stolen = thief()
    for secret in ("bea@example.org", "Paxos", "heap of trouble"):
        assert secret not in stolen, secret
    assert "deleted already" in text_of(send(client, "finish", username="bea", password=PASSWORD))
    with edna.unlock(identifier=identifier("bea"), password=PASSWORD) as unlocked:
        assert [entry.name for entry in edna.history(unlocked)] == ["lobsters.delete-account"]
    assert BACK in text_of(send(client, "return", username="bea", password=PASSWORD))
    assert steady(dump()) == before


def test_finish_when_the_name_is_taken(client: Client, site: Site, bea: Person) -> None:
    edna.disguise("lobsters.decay", bea.user)
    User.objects.create_user("bea", "other@example.org", PASSWORD)
    before = dump()
    data = {"username": "bea", "password": PASSWORD}
    assert "Somebody else has this user name now" in text_of(send(client, "finish", **data))
    assert dump() == before
    response = send(client, "finish", **data, new_username="beatrix")
    assert "The deletion is finished" in text_of(response)
    assert "Paxos" not in thief()
    assert BACK in text_of(send(client, "return", username="beatrix", password=PASSWORD))
    assert User.objects.get(username="beatrix").pk == bea.user.pk


def test_edit_while_decayed(client: Client, site: Site, bea: Person) -> None:
    edna.disguise("lobsters.decay", bea.user)
    data = {"kind": "comment", "short_id": site.beas_comment.short_id, "text": "A heap of joy."}
    saved = send(client, "edit-disguised", **data, username="bea", password=PASSWORD)
    assert saved.status_code == 302
    assert BACK in text_of(send(client, "return", username="bea", password=PASSWORD))
    comment = Comment.objects.get(pk=site.beas_comment.pk)
    assert (comment.comment, comment.user) == ("A heap of joy.", bea.user)


def test_no_address_carries_a_secret_or_says_what_is_whose(site: Site, bea: Person, client: Client) -> None:
    """The addresses of these pages are the same for everybody; all else travels in the body."""
    for name in ("delete", "return", "finish", "leave-topic", "disguised", "reclaim", "edit-disguised"):
        assert reverse(f"lobsters:{name}").count("/") <= 3
