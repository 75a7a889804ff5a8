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
from apps.lobsters_sim.keys import identifier
from apps.lobsters_sim.models import Comment, Message, Story, User
from apps.showcase.tests.tables import thief

from .conftest import PASSWORD, Person, Site, dump
from .test_pages import see, send, text_of

#: What views say and show; what the database does is in test_disguises.py and test_composition.py, on each.
pytestmark = [pytest.mark.django_db, pytest.mark.thorough, pytest.mark.once]

BACK = "It is back"


def steady(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Without what reading the pages and logging in change by themselves."""
    return {table: found for table, found in rows.items() if table != "read_ribbons"}


# Deleting the account


def delete(person: Person) -> str:
    """On the page; returns the receipt."""
    url = reverse("lobsters-privacy:apply", args=["lobsters.delete-account"])
    page = person.client.get(url)
    sent = {"password": PASSWORD, "seen": page.context["form"]["seen"].value()}
    return str(person.client.post(url, sent).context["receipt"])


def come_back(client: Client, **data: str) -> str:
    given = {"identifier": "bea", "password": PASSWORD, **data}
    return text_of(client.post(reverse("lobsters-privacy:return"), given))


def reclaim(client: Client, receipt: str) -> str:
    sent = {"identifier": "bea", "password": PASSWORD, "receipt": receipt}
    return text_of(client.post(reverse("lobsters-privacy:bring-back"), sent))


def test_delete_and_come_back(client: Client, site: Site, bea: Person) -> None:
    before = steady(dump())
    receipt = delete(bea)
    assert SESSION_KEY not in bea.client.session
    assert see(bea.client, "account").status_code == 302
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
    assert BACK in come_back(client)
    assert steady(dump()) == before


def test_somebody_has_taken_the_name(client: Client, site: Site, bea: Person) -> None:
    receipt = delete(bea)
    User.objects.create_user("bea", "other@example.org", PASSWORD)
    asked = come_back(client)
    assert "Somebody else has what was yours" in asked
    field = "instead-lobsters_sim.user.username"
    assert f'name="{field}"' in asked
    sent = {"identifier": "bea", "password": PASSWORD, "receipt": receipt}
    taken = client.post(reverse("lobsters-privacy:bring-back"), {**sent, field: "carl"})
    assert taken.status_code == 200
    done = client.post(reverse("lobsters-privacy:bring-back"), {**sent, field: "beatrix"})
    assert "Your account is here, as beatrix." in text_of(done)
    back = User.objects.get(username="beatrix")
    assert (back.pk, back.stories.count()) == (bea.user.pk, 2)
    assert send(client, "login", username="beatrix", password=PASSWORD).status_code == 302
    edna.unlock(identifier="lobsters:beatrix", password=PASSWORD).close()


def test_what_the_other_side_deletes_meanwhile_is_not_lost(
    client: Client, site: Site, bea: Person, carl: Person
) -> None:
    message = Message.objects.get(author_user=bea.user)
    delete(bea)
    page = text_of(see(carl.client, "message", message.short_id))
    assert "Bea asks" in page
    assert "cannot be answered" in page
    send(carl.client, "delete-message", message.short_id)
    assert BACK in come_back(client)
    message.refresh_from_db()
    assert (message.author_user, message.deleted_by_author, message.deleted_by_recipient) == (bea.user, False, True)


# Leaving a topic


def leave(person: Person, tag: str = "starwars") -> str:
    page = send(person.client, "leave-topic", tag=tag)
    seen = page.context["form"]["seen"].value()
    receipt = send(person.client, "leave-topic", tag=tag, seen=seen, password=PASSWORD).context["receipt"]
    return str(receipt)


def test_leave_a_topic(site: Site, bea: Person, carl: Person) -> None:
    assert send(bea.client, "leave-topic", tag="nothing").status_code == 404
    assert "nothing of yours" in text_of(send(carl.client, "leave-topic", tag="meta"))
    before = steady(dump())
    preview = text_of(send(bea.client, "leave-topic", tag="StarWars"))
    assert "Kept, but without your name: 1 story" in preview
    assert "not your password" in text_of(send(bea.client, "leave-topic", tag="starwars", seen="", password="wrong"))
    assert steady(dump()) == before
    receipt = leave(bea)
    film = text_of(see(carl.client, "story", site.beas_film.short_id))
    assert film.count("[anonymous]") == 2
    assert "/u/bea" in text_of(see(carl.client, "story", site.beas.short_id))
    listed = text_of(bea.client.post(reverse("lobsters-privacy:hidden"), {"password": PASSWORD}))
    assert "Leave the topic “starwars”" in listed
    assert BACK in reclaim(bea.client, receipt)
    assert steady(dump()) == before


def test_what_is_disguised_is_shown_to_its_owner_only(client: Client, site: Site, bea: Person, carl: Person) -> None:
    leave(bea)
    shown = send(bea.client, "disguised", password=PASSWORD)
    assert "no-store" in shown.headers["Cache-Control"]
    # Without being logged in, too: who has deleted the account cannot log in.
    for page in (shown, send(client, "disguised", recovery_code=bea.recovery_code, password="")):
        assert "Blasters and their optics" in text_of(page)
        assert "Bea adds" in text_of(page)
    assert "Nothing that you could edit" in text_of(send(carl.client, "disguised", password=PASSWORD))
    assert "does not open your key" in text_of(send(carl.client, "disguised", password="wrong"))


def test_edit_under_disguise(client: Client, site: Site, bea: Person, carl: Person) -> None:
    receipt = leave(bea)
    comment = {"kind": "comment", "short_id": site.film_comment.short_id}
    story = {"kind": "story", "short_id": site.beas_film.short_id}
    assert "the light is too slow" in text_of(send(bea.client, "edit-disguised", **comment))
    assert 'name="title" value="Blasters' in text_of(send(bea.client, "edit-disguised", **story))
    mine = {**comment, "text": "The light is fast enough.", "password": PASSWORD}
    before = dump()
    assert "does not speak for" in text_of(send(carl.client, "edit-disguised", **mine))
    assert "does not open your key" in text_of(send(bea.client, "edit-disguised", **{**mine, "password": "wrong"}))
    assert "cannot be emptied" in text_of(send(bea.client, "edit-disguised", **{**mine, "text": ""}))
    assert "needs a title" in text_of(send(bea.client, "edit-disguised", **{**story, "text": "", "password": PASSWORD}))
    assert dump() == before
    updated_at = Comment.objects.get(pk=site.film_comment.pk).updated_at
    assert send(bea.client, "edit-disguised", **mine).status_code == 302
    data = {**story, "title": "Blasters", "text": "Shorter.", "recovery_code": bea.recovery_code, "password": ""}
    assert send(client, "edit-disguised", **data).status_code == 302
    edited = Comment.objects.get(pk=site.film_comment.pk)
    assert (edited.comment, edited.updated_at) == ("The light is fast enough.", updated_at)
    assert not edited.user.is_active
    for page in ("edit-story", "edit-comment"):
        row = site.beas_film if page == "edit-story" else site.film_comment
        assert see(bea.client, page, row.short_id).status_code == 404
    assert BACK in reclaim(bea.client, receipt)
    assert Story.objects.get(pk=site.beas_film.pk).title == "Blasters"
    assert Comment.objects.get(pk=site.film_comment.pk).user == bea.user


@pytest.mark.parametrize("data", [{}, {"kind": "user", "short_id": "x"}, {"kind": "story", "short_id": "nothing"}])
def test_nothing_to_edit(data: dict[str, str], client: Client, site: Site) -> None:
    assert send(client, "edit-disguised", **data).status_code == 404


def test_deleting_takes_what_was_disowned_along(client: Client, site: Site, bea: Person) -> None:
    before = steady(dump())
    topic = leave(bea)
    delete(bea)
    assert Story.objects.get(pk=site.beas_film.pk).title == "[deleted content]"
    assert BACK in come_back(client)
    assert BACK in reclaim(client, topic)
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
    for page in ("privacy/return/", "finish", "disguised"):
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
    assert BACK in come_back(client)
    assert steady(dump()) == before


def test_finish_the_deletion_and_still_come_back(client: Client, site: Site, carl: Person, mod: Person) -> None:
    were_here(carl, mod)
    before = steady(dump())
    put_away()
    receipt = re.search(r"edna1:\S+", mail.outbox[-1].body)
    assert receipt is not None
    response = send(client, "finish", identifier="bea", password=PASSWORD, receipt=receipt.group())
    assert "Good-bye" in text_of(response)
    assert str(response.context["receipt"]).startswith("edna1:lobsters.delete-account:")
    stolen = thief()
    for secret in ("bea@example.org", "Paxos", "heap of trouble"):
        assert secret not in stolen, secret
    assert "deleted already" in text_of(send(client, "finish", identifier="bea", password=PASSWORD))
    with edna.unlock(identifier=identifier("bea"), password=PASSWORD) as unlocked:
        assert [entry.name for entry in edna.history(unlocked)] == ["lobsters.delete-account"]
    assert BACK in come_back(client)
    assert steady(dump()) == before


def test_finish_when_the_name_is_taken(client: Client, site: Site, bea: Person) -> None:
    edna.disguise("lobsters.decay", bea.user)
    User.objects.create_user("bea", "other@example.org", PASSWORD)
    before = dump()
    refused = send(client, "finish", identifier="bea", password=PASSWORD)
    assert "perhaps because somebody else has your user name now" in text_of(refused)
    assert dump() == before


def test_edit_while_decayed(client: Client, site: Site, bea: Person) -> None:
    edna.disguise("lobsters.decay", bea.user)
    data = {"kind": "comment", "short_id": site.beas_comment.short_id, "text": "A heap of joy."}
    saved = send(client, "edit-disguised", **data, identifier="bea", password=PASSWORD)
    assert saved.status_code == 302
    assert BACK in come_back(client)
    comment = Comment.objects.get(pk=site.beas_comment.pk)
    assert (comment.comment, comment.user) == ("A heap of joy.", bea.user)


def test_no_address_carries_a_secret_or_says_what_is_whose(site: Site, bea: Person, client: Client) -> None:
    """The addresses of these pages are the same for everybody; all else travels in the body."""
    for name in ("finish", "choose-topic", "leave-topic", "disguised", "edit-disguised"):
        assert reverse(f"lobsters:{name}").count("/") <= 4
