"""A second click does nothing twice: it leads where the first led, and says so; what was refused, or is meant anew later, is sent again."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpResponse, HttpResponseRedirect
from django.test import Client, RequestFactory
from django.urls import reverse

from apps.lobsters_sim.models import Comment, Story, Tag, User
from apps.lobsters_sim.writing import submit_story
from apps.showcase import once
from apps.showcase.tests.beas import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.fixture
def story() -> Story:
    tag = Tag.objects.create(tag="compsci", description="Theory")
    told = {"title": "Locks", "url": "https://example.org/", "description": "", "tags": [tag], "by_author": False}
    return submit_story(User.objects.create_user("bea", "bea@example.org", "a long walk home"), **told)


@pytest.fixture
def bea(client: Client, story: Story) -> Client:
    client.force_login(story.user, backend="apps.lobsters_sim.auth.LobstersBackend")
    return client


def says(bea: Client, story: Story, text: str) -> Any:
    return bea.post(reverse("lobsters:comments"), {"story": story.short_id, "comment": text})


def test_a_second_click_leads_where_the_first_led(bea: Client, story: Story) -> None:
    first, second = (says(bea, story, "They wait.") for _ in range(2))
    assert Comment.objects.count() == 1
    assert second.url == first.url
    assert "You have sent this already" in text_of(bea.get(second.url))
    says(bea, story, "They wait for each other.")
    assert Comment.objects.count() == 2


def test_what_was_refused_is_sent_again_at_once_and_what_is_meant_later(bea: Client, story: Story) -> None:
    for _ in range(2):
        assert "required" in text_of(says(bea, story, ""))
    says(bea, story, "They wait.")
    cache.clear()  # its time is over
    says(bea, story, "They wait.")
    assert Comment.objects.count() == 2


def test_while_the_first_is_at_work_the_second_leads_to_the_page_of_the_button(
    bea: Client, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = f"http://testserver{reverse('lobsters:story', args=[story.short_id])}"
    seconds: list[Any] = []

    @once.once
    def view(request: Any) -> HttpResponse:
        seconds.append(view(request) if not seconds else None)
        return HttpResponseRedirect("/done/")

    monkeypatch.setattr(once.messages, "info", lambda *args: None)
    for referer, leads_to in ((page, page), ("https://elsewhere.example/", "/act/")):
        seconds.clear()
        request = RequestFactory().post("/act/", {"text": referer}, headers={"referer": referer})
        request.session = bea.session
        assert view(request).headers["Location"] == "/done/"
        assert [second.url for second in seconds] == [leads_to]


def test_after_an_error_it_is_sent_again(bea: Client) -> None:
    @once.once
    def view(request: Any) -> HttpResponse:
        raise ZeroDivisionError

    request = RequestFactory().post("/act/", {"password": "a long walk home"})
    request.session = bea.session
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            view(request)


def test_nothing_of_a_password_is_kept(rf: RequestFactory, bea: Client) -> None:
    """Nor anything that could be compared with it."""
    keys = []
    for password in ("a long walk home", "a guess"):
        request = rf.post("/act/", {"text": "They wait.", "chair_key": password, "old_password": password})
        request.session = bea.session
        keys.append(once._key(request))
    assert len(set(keys)) == 1
