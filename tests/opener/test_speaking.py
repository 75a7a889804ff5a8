"""Somebody edits what they have disowned, with a key that stays in the browser: the example of docs/browser.md, against a real server."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.test import override_settings
from django.urls import include, path

import edna
from edna.api_http.proofs import VOICES_HEADER
from edna.engine import key_proofs
from edna.errors import CapabilityClosed, KeyNotProved, NotYours
from edna.reports import looks_secret
from edna.testing.search import finds, places
from tests.acceptance.conftest import lobsters, lobsters_tables, small_community  # noqa: F401  # fixtures
from tests.custody.browser import Browser as Asking
from tests.handing import Browser, without_keys
from tests.lobsters.community import Community
from tests.lobsters.models import Story, User
from tests.lobsters.specs import DISOWN_STORIES
from tests.opener.test_handing_over import RECEIVED, in_browser, opened  # noqa: F401  # fixtures

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]

SPEAKERS: list[Any] = []


def example(language: str) -> str:
    section = (django_settings.BASE_DIR / "docs" / "browser.md").read_text().partition("## Edit what is disguised")[2]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.M | re.S)[0]


def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """As docs/browser.md has it."""
    known = {
        "get_object_or_404": get_object_or_404,
        "Story": Story,
        "CapabilityClosed": CapabilityClosed,
        "KeyNotProved": KeyNotProved,
        "NotYours": NotYours,
        "PermissionDenied": PermissionDenied,
        "HttpResponse": HttpResponse,
    }
    exec(example("python"), known)
    response: HttpResponse = known["edit"](request, pk)  # type: ignore[operator]
    SPEAKERS.append(getattr(request, "edna").speaks_for(User))  # noqa: B009
    return response


site = types.ModuleType("site_of_stories")
site.urlpatterns = [path("stories/<int:pk>/edit", edit), path("", include("edna.urls"))]  # type: ignore[attr-defined]


@pytest.fixture
def stories(in_browser: Callable[..., Any]) -> Iterator[Callable[..., Any]]:  # noqa: F811
    SPEAKERS.clear()
    with override_settings(ROOT_URLCONF=site):
        yield in_browser


def test_a_disowned_story_is_edited_and_the_server_sees_neither_key_nor_bag(
    small_community: Community,  # noqa: F811
    stories: Callable[..., Any],
    opened: list[bytes],  # noqa: F811
) -> None:
    """In her name as nobody; somebody else's browser is refused, and it comes back as she has left it."""
    ann, bob = small_community.ann, small_community.bob
    story = Story.objects.get(user=ann.pk)
    receipt = edna.disguise(DISOWN_STORIES, ann.user)
    owner = Story.objects.get(pk=story.pk).user_id
    asked = {"code": example("javascript"), "story": story.pk, "owner": owner, "title": "Corrected"}
    RECEIVED.clear()
    with without_keys():
        assert in_browser_of(stories, ann, asked) == {"result": 204}
    assert Story.objects.values_list("title", "user").get(pk=story.pk) == ("Corrected", owner)
    assert [[owner]] == SPEAKERS

    secrets = {
        name.hex(): holder.opener.secret_key.expose() for name, holder in Browser(ann.secret_key).graph.holders.items()
    }
    voice = next(key for key in secrets if key != bytes(ann.secret_key.public_key).hex())
    assert any(finds(seen, {"public key": bytes.fromhex(voice)}) for seen in RECEIVED)
    assert not any(finds(seen, secrets | {"locator": receipt.locator.expose()}) for seen in RECEIVED)
    assert opened == []
    assert places(secrets) == []

    assert in_browser_of(stories, bob, asked) == {"error": "NotYours"}
    ann.reveal(receipt)
    assert Story.objects.values_list("title", "user").get(pk=story.pk) == ("Corrected", ann.pk)
    assert in_browser_of(stories, ann, asked) == {"error": "NotYours"}


def in_browser_of(stories: Callable[..., Any], member: Any, asked: dict[str, Any]) -> dict[str, Any]:
    outcome: dict[str, Any] = stories(member, "edit", **asked)
    return {name: outcome[name] for name in ("result", "error") if name in outcome}


def test_what_was_proved_serves_one_placeholder_one_browser_and_some_minutes(
    small_community: Community,  # noqa: F811
    stories: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not the person themselves, not other people's rows, not a placeholder that is gone."""
    ann, bob = small_community.ann, small_community.bob
    mine, theirs = Story.objects.get(user=ann.pk), Story.objects.get(user=bob.pk)
    receipt = edna.disguise(DISOWN_STORIES, ann.user)
    [voice] = Browser(ann.secret_key).voices
    assert looks_secret("HTTP_" + VOICES_HEADER.replace("-", "_").upper()), "no report of an error shows the token"
    here, elsewhere = Asking(), Asking()
    elsewhere.cookies["csrftoken"] = "u" * 32
    token, own = here.prove(voice.opener.secret_key), here.prove(ann.secret_key)

    def edits(browser: Asking, story: Story, header: str | None) -> int:
        headers = {
            "X-CSRFToken": browser.cookies["csrftoken"].value,
            **({"X-Edna-Voice-Token": header} if header else {}),
        }
        return int(browser.post(f"/stories/{story.pk}/edit", {"title": "Edited"}, headers=headers).status_code)

    for browser, story, header in [
        (here, mine, None),
        (here, mine, ""),
        (here, mine, "none"),
        (here, mine, own),
        (here, theirs, token),
        (here, theirs, own),
        (elsewhere, mine, token),
    ]:
        assert edits(browser, story, header) == 403, (story, header)
    assert not Story.objects.filter(title="Edited").exists()
    assert edits(here, mine, f"{own}, {token}") == 204

    with override_settings(EDNA={**django_settings.EDNA, "CUSTODY": "server"}):
        assert edits(here, mine, token) == 403
    now = key_proofs._now()
    with monkeypatch.context() as later:
        later.setattr(key_proofs, "_now", lambda: now + key_proofs.SESSION_SECONDS + 2)
        assert edits(here, mine, token) == 403
    ann.reveal(receipt)
    assert edits(here, mine, token) == 403
