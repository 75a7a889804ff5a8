"""Every page of members and moderators: what it shows, to whom, how it says no. Those of disguises are in `test_leaving`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, SESSION_KEY
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

import edna
from apps.lobsters_sim.models import (
    Comment,
    Hat,
    HatRequest,
    HiddenStory,
    Message,
    Moderation,
    ReadRibbon,
    SavedStory,
    Story,
    Tag,
    TagFilter,
    User,
    Vote,
)
from apps.websubmit.models import User as Student

from .conftest import BACKEND, PASSWORD, Person, Site

#: On MariaDB tests/loadtest/test_lobsters.py goes through the pages.
pytestmark = [pytest.mark.django_db, pytest.mark.thorough, pytest.mark.once]

PUBLIC = (
    "front",
    "recent",
    "comments",
    "tags",
    "hats",
    "moderations",
    "register",
    "login",
    "finish",
    "disguised",
)
MEMBERS = (
    "submit",
    "messages",
    "sent",
    "write-message",
    "saved",
    "hidden",
    "filters",
    "request-hat",
    "account",
    "change-password",
    "choose-topic",
)
POST_ONLY_OF_STORIES = ("upvote", "downvote", "unvote")


def text_of(response: Any) -> str:
    content: str = response.content.decode()
    return content


def see(client: Client, name: str, *args: Any, **query: Any) -> Any:
    return client.get(reverse(f"lobsters:{name}", args=args), query)


def send(client: Client, name: str, *args: Any, **data: Any) -> Any:
    return client.post(reverse(f"lobsters:{name}", args=args), data)


# Who may see what


@pytest.mark.parametrize("name", PUBLIC)
def test_public_pages(name: str, client: Client, site: Site, bea: Person) -> None:
    assert see(client, name).status_code == 200
    assert see(bea.client, name).status_code == (302 if name in {"register", "login"} else 200)


@pytest.mark.parametrize("name", MEMBERS)
def test_pages_for_members(name: str, client: Client, bea: Person, tags: dict[str, Tag]) -> None:
    assert see(bea.client, name).status_code == 200
    url = reverse(f"lobsters:{name}")
    assert unquote(client.get(url).headers["Location"]) == f"/lobsters/login?next={url}"


def test_somebody_of_another_application_is_a_stranger(client: Client, tags: dict[str, Tag], bea: Person) -> None:
    student = Student.objects.create_user("bea@example.org", PASSWORD, pk=bea.user.pk)
    client.force_login(student, backend="django.contrib.auth.backends.ModelBackend")
    assert see(client, "account").status_code == 302
    assert "Log in" in text_of(see(client, "front"))


def test_pages_of_a_story_and_a_comment(client: Client, site: Site, bea: Person) -> None:
    for visitor in (client, bea.client):
        page = text_of(see(visitor, "story", site.carls.short_id))
        assert "Bea thinks that this is a heap of trouble." in page
        assert page.index("Bea thinks") < page.index("Carl begs to differ.") < page.index("Both of you, be kind.")
        assert "Carl begs to differ." in text_of(see(visitor, "comment", site.carls_reply.short_id))
    assert see(client, "story", "nothing").status_code == 404
    assert see(client, "comment", "nothing").status_code == 404
    assert "There is nothing at this address" in text_of(see(client, "story", "nothing"))


def test_addresses_are_those_of_the_request_mix(bea: Person, site: Site) -> None:
    story, comment = site.carls.short_id, site.carls_reply.short_id
    for path in (
        f"stories/{story}",
        "",
        "u/carl",
        "comments",
        f"comments/{comment}",
        "recent",
        "page/1",
        "recent/page/1",
    ):
        assert bea.client.get(f"/lobsters/{path}").status_code == 200, path
    for path, data in (
        (f"comments/{comment}/upvote", {}),
        (f"comments/{comment}/downvote", {}),
        (f"stories/{story}/upvote", {}),
        (f"stories/{story}/downvote", {}),
        ("comments", {"story": story, "comment": "One."}),
        (f"comments/{comment}", {"comment": "Two."}),
        ("stories", {"title": "Three", "description": "Four.", "tags": "compsci"}),
        ("logout", {}),
        ("login", {"username": "bea", "password": PASSWORD}),
    ):
        assert bea.client.post(f"/lobsters/{path}", data).status_code == 302, path
    assert Comment.objects.get(comment="Two.").parent_comment == site.carls_reply
    assert Story.objects.filter(title="Three").exists()


@pytest.mark.parametrize(
    "name",
    [
        *(f"{vote}-{kind}" for vote in POST_ONLY_OF_STORIES for kind in ("story", "comment")),
        "save",
        "unsave",
        "hide",
        "unhide",
    ],
)
def test_only_post_changes_anything(name: str, client: Client, bea: Person, site: Site) -> None:
    row = site.carls_reply if name.endswith("comment") else site.carls
    url = reverse(f"lobsters:{name}", args=[row.short_id])
    assert bea.client.get(url).status_code == 405
    assert client.post(url).headers["Location"] == "/lobsters/login"
    assert (
        client.post(url, {"next": "/lobsters/recent"}).headers["Location"]
        == "/lobsters/login?next=%2Flobsters%2Frecent"
    )
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(bea.user, backend=BACKEND)
    assert strict.post(url).status_code == 403
    assert bea.client.post(url).status_code == 302


def test_the_way_back_stays_on_this_site(bea: Person, site: Site) -> None:
    for address in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        assert send(bea.client, "save", site.carls.short_id, next=address).headers["Location"].startswith("/lobsters/")
        bea.client.logout()
        assert (
            send(bea.client, "login", username="bea", password=PASSWORD, next=address).headers["Location"]
            == "/lobsters/"
        )
    kept = send(bea.client, "save", site.carls.short_id, next="/lobsters/recent")
    assert kept.headers["Location"] == f"/lobsters/recent#s_{site.carls.short_id}"


# Lists


def test_the_front_page_is_by_hotness_and_paged(client: Client, bea: Person, tags: dict[str, Tag]) -> None:
    Story.objects.bulk_create(Story(user=bea.user, title=f"Number {n:03}", upvotes=1, hotness=-n) for n in range(60))
    first, last = text_of(see(client, "front")), text_of(see(client, "front-page", 3))
    assert [f"Number {n:03}" in first for n in (59, 35, 34)] == [True, True, False]
    assert first.index("Number 059") < first.index("Number 058")
    assert '<a rel="next" href="/lobsters/page/2">' in first
    assert [f"Number {n:03}" in last for n in (10, 9, 0)] == [False, True, True]
    assert 'rel="next"' not in last
    for page in (0, 4, 10**6, 10**30):
        assert client.get(f"/lobsters/page/{page}").status_code == 404


def test_what_lists_leave_out(client: Client, site: Site) -> None:
    Story.objects.filter(pk=site.beas_film.pk).update(upvotes=1, downvotes=3)
    assert "Blasters" not in text_of(see(client, "front"))
    assert "Blasters" in text_of(see(client, "recent"))
    Story.objects.filter(pk=site.carls.pk).update(is_expired=True)
    for name in ("front", "recent"):
        assert "Garbage" not in text_of(see(client, name))
    assert "Carl begs to differ." not in text_of(see(client, "comments"))
    assert see(client, "story", site.carls.short_id).status_code == 404


def test_a_merged_story_leads_to_the_other(client: Client, site: Site) -> None:
    Story.objects.filter(pk=site.beas_film.pk).update(merged_story=site.beas)
    response = see(client, "story", site.beas_film.short_id)
    assert (response.status_code, response.headers["Location"]) == (301, f"/lobsters/stories/{site.beas.short_id}")


def test_filtered_tags_and_hidden_stories_vanish_for_this_member_only(bea: Person, carl: Person, site: Site) -> None:
    compsci = Tag.objects.get(tag="compsci")
    assert send(carl.client, "filters", tags=[compsci.pk]).status_code == 302
    assert list(TagFilter.objects.filter(user=carl.user).values_list("tag__tag", flat=True)) == ["compsci"]
    for name in ("front", "recent"):
        page = text_of(see(carl.client, name))
        assert "Paxos" not in page
        assert "Blasters" in page
    assert "Paxos" in text_of(see(bea.client, "front"))
    assert "Paxos" in text_of(see(carl.client, "tag", "compsci"))
    send(carl.client, "hide", site.beas_film.short_id)
    assert "Blasters" not in text_of(see(carl.client, "front"))
    assert "Blasters" in text_of(see(carl.client, "hidden"))
    send(carl.client, "unhide", site.beas_film.short_id)
    send(carl.client, "filters")
    assert not HiddenStory.objects.filter(user=carl.user).exists()
    assert "Paxos" in text_of(see(carl.client, "front"))
    assert send(carl.client, "filters", tags=["nonsense"]).status_code == 200


def test_saving(carl: Person, site: Site) -> None:
    for _ in range(2):
        send(carl.client, "save", site.beas.short_id)
    assert "Paxos" in text_of(see(carl.client, "saved"))
    assert SavedStory.objects.filter(user=carl.user).count() == 1
    send(carl.client, "unsave", site.beas.short_id)
    assert "Paxos" not in text_of(see(carl.client, "saved"))


def test_reading_leaves_a_ribbon_and_shows_what_is_new(client: Client, bea: Person, carl: Person, site: Site) -> None:
    ribbons = ReadRibbon.objects.filter(user=carl.user, story=site.beas)
    assert "<strong>new</strong>" not in text_of(see(carl.client, "story", site.beas.short_id))
    assert ribbons.count() == 1
    ribbons.update(updated_at=site.beas.created_at)
    send(bea.client, "comments", story=site.beas.short_id, comment="Fresh.")
    assert "<strong>new</strong>" in text_of(see(carl.client, "story", site.beas.short_id))
    assert "<strong>new</strong>" not in text_of(see(carl.client, "story", site.beas.short_id))
    assert ribbons.count() == 1
    see(client, "story", site.beas.short_id)
    assert not ReadRibbon.objects.filter(user=None).exists()


def test_profile(client: Client, site: Site) -> None:
    page = text_of(see(client, "profile", "bea"))
    for part in ("Tea taster of example.org", "Member", "compsci"):
        assert part in page
    assert "bea@example.org" not in page
    assert see(client, "profile", "nobody").status_code == 404
    assert "Paxos" in text_of(see(client, "profile-stories", "bea"))
    assert "heap of trouble" in text_of(see(client, "profile-comments", "bea"))


# Writing


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"title": "ab"}, "at least 3 characters"),
        ({"url": "javascript:alert(1)"}, "valid URL"),
        ({"url": "ftp://example.org/"}, "begins with http"),
        ({"tags": "compsci nothing"}, "There is no tag nothing"),
        ({"tags": "compsci fad"}, "There is no tag fad"),
        ({"tags": "compsci announce"}, "Only moderators use the tag announce"),
        ({"tags": "video"}, "not only what kind of medium"),
        ({"tags": "a b c d e f"}, "At most 5 tags"),
        ({"tags": ""}, "required"),
        ({"url": "", "description": ""}, "needs a link or a text"),
        ({"url": "https://example.org/Paxos"}, "submitted already"),
    ],
)
def test_submitting_is_refused(change: dict[str, str], message: str, site: Site, carl: Person) -> None:
    data = {"title": "Fine title", "url": "https://example.org/new", "tags": "compsci", "description": "", **change}
    response = send(carl.client, "stories", **data)
    assert response.status_code == 200
    assert message in text_of(response)
    assert not Story.objects.filter(title="Fine title").exists()


def test_submitting(site: Site, carl: Person, mod: Person) -> None:
    data = {
        "title": "New & <b>shiny</b>",
        "url": "https://example.org/new",
        "tags": "Compsci, video",
        "user_is_author": "on",
    }
    response = send(carl.client, "stories", **data)
    story = Story.objects.get(url="https://example.org/new")
    assert response.headers["Location"] == f"/lobsters/stories/{story.short_id}"
    assert (story.user, story.upvotes, story.user_is_author) == (carl.user, 1, True)
    assert Vote.objects.filter(user=carl.user, story=story, comment=None, vote=1).count() == 1
    page = text_of(see(carl.client, "story", story.short_id))
    assert "New &amp; &lt;b&gt;shiny&lt;/b&gt;" in page
    assert "authored by" in page
    assert send(mod.client, "stories", title="From us", description="Hear!", tags="announce").status_code == 302


def test_editing_and_deleting_is_for_authors(site: Site, bea: Person, carl: Person) -> None:
    story, comment = site.beas.short_id, site.beas_comment.short_id
    assert see(carl.client, "edit-story", story).status_code == 404
    assert send(carl.client, "edit-story", story, title="Mine now").status_code == 404
    assert see(carl.client, "edit-comment", comment).status_code == 404
    assert send(carl.client, "edit-comment", comment, comment="Mine now").status_code == 404
    for name, row in (("delete-story", story), ("delete-comment", comment)):
        assert "Only its author can do that." in text_of(
            carl.client.post(reverse(f"lobsters:{name}", args=[row]), follow=True)
        )
    assert not Story.objects.filter(title="Mine now").exists()
    assert not Comment.objects.filter(comment="Mine now").exists()
    assert send(bea.client, "edit-story", story, title="Paxos over cake", description="> So.").status_code == 302
    assert "<blockquote><p>So.</p></blockquote>" in text_of(see(carl.client, "story", story))
    assert send(bea.client, "edit-comment", comment, comment="A heap of fun.").status_code == 302
    page = text_of(see(carl.client, "story", site.carls.short_id))
    assert "A heap of fun." in page
    assert "(edited)" in page
    count = Story.objects.get(pk=site.carls.pk).comments_count
    assert send(bea.client, "delete-comment", comment).status_code == 302
    assert Story.objects.get(pk=site.carls.pk).comments_count == count - 1
    page = text_of(see(carl.client, "story", site.carls.short_id))
    assert "[comment removed by its author]" in page
    assert "Carl begs to differ." in page
    assert send(bea.client, "delete-story", story).status_code == 302
    assert see(carl.client, "story", story).status_code == 404
    assert see(bea.client, "story", story).status_code == 200


def test_commenting(site: Site, bea: Person, carl: Person) -> None:
    count = site.beas.comments_count
    response = send(bea.client, "comments", story=site.beas.short_id, comment="<script>alert(1)</script>")
    comment = Comment.objects.get(comment__startswith="<script>")
    assert response.headers["Location"] == f"/lobsters/stories/{site.beas.short_id}#c_{comment.short_id}"
    assert "<script" not in text_of(see(carl.client, "story", site.beas.short_id))
    assert (comment.thread_id, comment.upvotes, comment.user) == (comment.pk, 1, bea.user)
    assert Vote.objects.get(comment=comment).story == site.beas
    send(carl.client, "comment", comment.short_id, comment="Tut.")
    reply = Comment.objects.get(comment="Tut.")
    assert (reply.thread_id, reply.parent_comment, reply.story) == (comment.pk, comment, site.beas)
    site.beas.refresh_from_db()
    assert site.beas.comments_count == count + 2
    assert "required" in text_of(send(bea.client, "comments", story=site.beas.short_id, comment=" "))
    assert "required" in text_of(send(bea.client, "comment", comment.short_id, comment=""))
    assert send(bea.client, "comments", story="nothing", comment="Lost.").status_code == 404
    assert send(bea.client, "comment", "nothing", comment="Lost.").status_code == 404
    Comment.objects.filter(pk=comment.pk).update(is_deleted=True)
    refused = carl.client.post(reverse("lobsters:comment", args=[comment.short_id]), {"comment": "Late."}, follow=True)
    assert "nobody can answer it any more" in text_of(refused)


def test_only_ones_own_hat_can_be_put_on(site: Site, bea: Person, carl: Person) -> None:
    hats = {hat.user_id: hat for hat in Hat.objects.all()}
    own, foreign = hats[bea.user.pk], hats[carl.user.pk]
    assert "Put on a hat" in text_of(see(bea.client, "story", site.beas.short_id))
    send(bea.client, "comments", story=site.beas.short_id, comment="As a taster.", hat=own.pk)
    assert Comment.objects.get(comment="As a taster.").hat == own
    refused = send(bea.client, "comments", story=site.beas.short_id, comment="As a barista.", hat=foreign.pk)
    assert refused.status_code == 200
    assert not Comment.objects.filter(comment="As a barista.").exists()


def test_votes_over_the_pages(site: Site, bea: Person, carl: Person) -> None:
    send(bea.client, "downvote-story", site.carls.short_id, reason="S")
    vote = Vote.objects.get(user=bea.user, story=site.carls, comment=None)
    assert (vote.vote, vote.reason) == (-1, "S")
    send(bea.client, "downvote-comment", site.carls_reply.short_id, reason="bogus")
    vote = Vote.objects.get(user=bea.user, comment=site.carls_reply)
    assert (vote.vote, vote.reason) == (-1, "")
    assert "unflag" in text_of(see(bea.client, "story", site.carls.short_id))
    own = bea.client.post(reverse("lobsters:upvote-story", args=[site.beas.short_id]), follow=True)
    assert "You cannot vote on what you wrote yourself." in text_of(own)
    assert send(bea.client, "upvote-story", "nothing").status_code == 404
    assert send(bea.client, "upvote-comment", "nothing").status_code == 404
    assert see(bea.client, "flag-story", site.carls.short_id).status_code == 200
    assert see(bea.client, "flag-story", site.beas.short_id).status_code == 302


# Messages


def test_messages(site: Site, bea: Person, carl: Person, mod: Person) -> None:
    assert '<span class="unread">1' in text_of(see(bea.client, "front"))
    received = Message.objects.get(recipient_user=bea.user)
    assert "Black, and no tea." in text_of(see(bea.client, "message", received.short_id))
    assert '<span class="unread">' not in text_of(see(bea.client, "front"))
    assert see(mod.client, "message", received.short_id).status_code == 404
    assert send(mod.client, "delete-message", received.short_id).status_code == 404
    response = send(bea.client, "write-message", recipient="Carl", subject="Re: Coffee", body="<i>Fine.</i>")
    assert response.status_code == 302
    sent = Message.objects.get(subject="Re: Coffee")
    assert (sent.author_user, sent.recipient_user, sent.has_been_read) == (bea.user, carl.user, False)
    assert "&lt;i&gt;Fine." in text_of(see(carl.client, "message", sent.short_id))
    unknown = send(bea.client, "write-message", recipient="nobody", subject="Hello", body="Is anybody there?")
    assert "Nobody here has this user name" in text_of(unknown)


def test_a_message_goes_when_both_have_deleted_it(site: Site, bea: Person, carl: Person) -> None:
    message = Message.objects.get(author_user=bea.user)
    assert send(bea.client, "delete-message", message.short_id).status_code == 302
    assert see(bea.client, "message", message.short_id).status_code == 404
    assert see(carl.client, "message", message.short_id).status_code == 200
    send(carl.client, "delete-message", message.short_id)
    assert not Message.objects.filter(pk=message.pk).exists()


# Hats and moderation


def test_hats(site: Site, bea: Person, carl: Person, mod: Person) -> None:
    assert "Potter" not in text_of(see(bea.client, "hats"))
    asked = HatRequest.objects.get()
    assert "Potter" in text_of(see(mod.client, "hats"))
    assert send(bea.client, "grant-hat", asked.pk).status_code == 403
    assert send(mod.client, "grant-hat", asked.pk).status_code == 302
    hat = Hat.objects.get(hat="Potter")
    assert (hat.user, hat.granted_by_user) == (bea.user, mod.user)
    assert not HatRequest.objects.exists()
    assert Moderation.objects.filter(action="granted a hat", user=bea.user, moderator_user=mod.user).exists()
    cache.clear()  # later than a second click
    assert send(mod.client, "grant-hat", asked.pk).status_code == 404
    assert send(carl.client, "doff-hat", hat.pk).status_code == 404
    assert send(bea.client, "doff-hat", hat.pk).status_code == 302
    assert "Potter" not in text_of(see(carl.client, "hats"))
    assert "valid URL" in text_of(send(carl.client, "request-hat", hat="Miller", link="no", comment="Why not?"))
    data = {"hat": "Miller", "link": "https://example.org/mill", "comment": "Flour."}
    assert send(carl.client, "request-hat", **data).status_code == 302
    assert send(mod.client, "refuse-hat", HatRequest.objects.get().pk).status_code == 302
    assert not Hat.objects.filter(hat="Miller").exists()


def test_moderators_remove_and_restore_with_a_reason_for_everybody_to_read(
    client: Client, site: Site, bea: Person, mod: Person
) -> None:
    story, comment = site.beas, site.beas_comment
    for name, row in (("moderate-story", story), ("moderate-comment", comment)):
        assert see(bea.client, name, row.short_id).status_code == 403
        assert send(bea.client, name, row.short_id, reason="I can").status_code == 403
        assert "required" in text_of(send(mod.client, name, row.short_id, reason=""))
        assert send(mod.client, name, row.short_id, reason="Not about tea").status_code == 302
    assert see(client, "story", story.short_id).status_code == 404
    assert "This story was removed" in text_of(see(mod.client, "story", story.short_id))
    assert "[comment removed by a moderator]" in text_of(see(client, "story", site.carls.short_id))
    log = text_of(see(client, "moderations"))
    stale = {"do": "remove", "reason": "Not at all about tea"}  # a page from before; it puts nothing back
    assert "It is removed by now." in text_of(send(mod.client, "moderate-story", story.short_id, **stale))
    assert see(client, "story", story.short_id).status_code == 404
    assert "Not about tea" in log
    assert "removed a comment" in log
    send(mod.client, "moderate-story", story.short_id, reason="It is about tea")
    assert see(client, "story", story.short_id).status_code == 200
    assert "restored a story" in text_of(see(client, "moderations"))


def test_what_no_moderator_did(client: Client, site: Site) -> None:
    Moderation.objects.create(story=site.beas, action="changed the title", is_from_suggestions=True)
    Moderation.objects.create(story=site.beas, action="closed it")
    log = text_of(see(client, "moderations"))
    assert "members’ suggestions" in log
    assert "the site itself" in log
    assert "[anonymous]" not in log


# Accounts


def test_register_shows_the_recovery_code_once(client: Client, tags: dict[str, Tag]) -> None:
    data = {"username": "Dora", "email": "Dora@Example.org", "new_password": PASSWORD, "again": PASSWORD}
    response = send(client, "register", **data)
    code = str(response.context["code"])
    assert code in text_of(response)
    assert "no-store" in response.headers["Cache-Control"]
    user = User.objects.get(username="dora")
    assert (client.session[SESSION_KEY], client.session[BACKEND_SESSION_KEY]) == (str(user.pk), BACKEND)
    stored = repr(dict(client.session)) + repr(list(User.objects.values_list()))
    assert code not in stored
    assert PASSWORD not in stored
    assert code not in text_of(see(client, "account"))
    edna.unlock(identifier="lobsters:dora", password=PASSWORD).close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"again": "something else"}, "The two passwords differ"),
        ({"new_password": "12345678", "again": "12345678"}, "too common"),
        ({"new_password": "dora-dora", "again": "dora-dora", "username": "dora-dora"}, "too similar"),
        ({"username": "bea"}, "Somebody has this user name already"),
        ({"username": "-x"}, "Begin with a letter or a digit"),
        ({"username": "a" * 26}, "Begin with a letter or a digit"),
        ({"username": "a/b"}, "Begin with a letter or a digit"),
        ({"email": "dora"}, "valid email"),
    ],
)
def test_register_refuses(change: dict[str, str], message: str, client: Client, bea: Person) -> None:
    data = {"username": "dora", "email": "dora@example.org", "new_password": PASSWORD, "again": PASSWORD, **change}
    response = send(client, "register", **data)
    assert message in text_of(response)
    assert User.objects.count() == 1


def test_log_in_and_out(client: Client, bea: Person, tags: dict[str, Tag]) -> None:
    assert "you can come back" in text_of(send(client, "login", username="bea", password="wrong"))
    assert "you can come back" in text_of(send(client, "login", username="nobody", password=PASSWORD))
    response = send(client, "login", username=" Bea ", password=PASSWORD, next="/lobsters/saved")
    assert response.headers["Location"] == "/lobsters/saved"
    assert see(client, "logout").status_code == 405
    assert send(client, "logout").status_code == 302
    assert SESSION_KEY not in client.session


def test_change_password_opens_the_key_too(bea: Person) -> None:
    new = "another long walk"
    refused = send(bea.client, "change-password", old_password="wrong", new_password1=new, new_password2=new)
    assert "entered incorrectly" in text_of(refused)
    sent = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert send(bea.client, "change-password", **sent).status_code == 302
    assert see(bea.client, "account").status_code == 200  # still logged in
    edna.unlock(identifier="lobsters:bea", password=new).close()


@pytest.mark.parametrize("make", [lambda client: see(client, "login"), lambda client: see(client, "register")])
def test_pages_that_take_secrets_stay_out_of_caches(make: Callable[[Client], Any], client: Client, db: None) -> None:
    assert "no-store" in make(client).headers["Cache-Control"]
