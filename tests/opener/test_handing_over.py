"""A person whose key never leaves their browser: walked, looked at and revealed by the modules in Node, against a real server.

Every byte that reaches the server is recorded, what it opens, logs, stores and gives to a broker: neither a key is among them, nor anything
of a disguise that stays.
"""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import AnonymousUser
from django.core.cache.backends import locmem
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.test import override_settings
from kombu.messaging import Producer

import edna
from edna import conf
from edna.api_http import graph
from edna.crypto.sealing import content_key_of
from edna.models import Bag
from edna.records import bag as bags
from edna.testing.search import finds, places
from tests.acceptance.conftest import lobsters, lobsters_tables, small_community  # noqa: F401  # fixtures
from tests.handing import Browser, without_keys
from tests.lobsters.community import Community, Member, state
from tests.lobsters.models import Message, User
from tests.lobsters.specs import ANON, CLEAR_MESSAGES, HIDE_PROFILE, REDACT_MESSAGES, ClearMessages
from tests.support import edna_dump

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]

HERE = Path(__file__).resolve().parent
RECEIVED: list[bytes] = []
RESOLVE = BaseHandler.resolve_request


class LoggedIn:
    """Whoever has logged in: the principals of these tests cannot."""

    user: Any = AnonymousUser()


def recorded(handler: BaseHandler, request: HttpRequest) -> Any:
    """What reaches a view is kept. The server of these tests runs already, so that no middleware can be added."""
    RECEIVED.append(request.body + repr(request.META).encode())
    if request.content_type == "application/json":
        RECEIVED.extend(_decoded(json.loads(request.body)))
    request.user = LoggedIn.user
    return RESOLVE(handler, request)


def published(producer: Producer, body: Any, *args: Any, **options: Any) -> None:
    """What would go to a broker is kept as well."""
    RECEIVED.append(repr((body, args, options)).encode())


def _decoded(value: Any) -> Iterator[bytes]:
    match value:
        case dict():
            yield from _decoded(list(value.values()))
        case list():
            for item in value:
                yield from _decoded(item)
        case str():
            try:
                yield b64decode(value, validate=True)
            except ValueError:
                yield value.encode()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The content of every bag that the server opens with a key that was handed over."""
    contents: list[bytes] = []
    really = bags.open_with_content_key

    def opening(sealed: bytes, **options: Any) -> bytes:
        contents.append(really(sealed, **options))
        return contents[-1]

    monkeypatch.setattr(bags, "open_with_content_key", opening)
    return contents


@pytest.fixture(params=["x25519", "x-wing"])
def either_kind(request: pytest.FixtureRequest, settings: Any) -> str:
    """Of which all keys are."""
    settings.EDNA = {**settings.EDNA, "RECIPIENT": request.param}
    kind: str = request.param
    return kind


@pytest.fixture
def in_browser(live_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """What somebody's browser does."""
    RECEIVED.clear()

    def act(member: Member, what: str, **given: str | int) -> Any:
        asked = {"base": f"{live_server.url}/", "text": member.secret_key.expose_text(), "act": what}
        asked |= {"hybrid": conf.is_hybrid(), **given}
        program = str(shutil.which("node") or shutil.which("nodejs"))
        done = subprocess.run(
            [program, str(HERE / "story.mjs")], input=json.dumps(asked), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    configured = {**django_settings.EDNA, "CUSTODY": "browser"}
    monkeypatch.setattr(BaseHandler, "resolve_request", recorded)
    monkeypatch.setattr(Producer, "publish", published)
    with override_settings(EDNA=configured, ROOT_URLCONF="edna.urls"):
        yield act


def test_one_of_three_disguises_comes_back_and_the_server_sees_nothing_of_the_others(
    either_kind: str,
    small_community: Community,  # noqa: F811
    in_browser: Callable[..., Any],
    opened: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Removed, changed and given away; then the rest comes back, and everything is as it was."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(ClearMessages, "self_service", True)
    ann, before, tables = small_community.ann, state(), edna_dump()
    User.objects.filter(pk=ann.pk).update(about="What nobody else is to read")
    monkeypatch.setattr(LoggedIn, "user", User.objects.get(pk=ann.pk))
    whole = state()
    profile = edna.disguise(HIDE_PROFILE, User.objects.get(pk=ann.pk))
    anon = small_community.everybody(ANON)
    with without_keys():
        cleared = edna.Receipt.parse(in_browser(ann, "disguise", disguise=CLEAR_MESSAGES)["result"])
    assert not Message.objects.filter(author=ann.pk).exists()
    bags_now = Bag.objects.count()
    assert in_browser(ann, "disguise", disguise=CLEAR_MESSAGES)["error"] == "RequestRefused", "nothing is left for it"
    assert Bag.objects.count() == bags_now

    walked = in_browser(ann, "history")
    assert {entry["receipt"]: entry["counts"] for entry in walked["result"]} == {
        str(entry.receipt): entry.counts for entry in ann.history()
    }
    assert walked["requests"] <= 2 + 2 * 3
    with monkeypatch.context() as small:
        small.setattr(graph, "_MOST_ANSWERED_BYTES", 1)
        in_parts = in_browser(ann, "history")
    assert in_parts["result"] == walked["result"]
    assert in_parts["requests"] > walked["requests"]

    browser = Browser(ann.secret_key)
    profiles = list(browser.bags[profile.locator])
    before_reveal = len(RECEIVED)  # to disguise with voices, each item of the own list is told with its locator
    with without_keys():
        outcome = in_browser(ann, "reveal", receipt=str(cleared))["result"]
    assert outcome["complete"]
    assert outcome["restored"]

    secrets = {name.hex(): holder.opener.secret_key.expose() for name, holder in browser.graph.holders.items()}
    contents = {
        f"content {number}": content_key_of(segment.stored.sealed, secret_key=ann.secret_key).expose()
        for number, segment in enumerate(profiles)
    }
    assert profiles
    assert len(secrets) > 5
    hidden = secrets | contents | {"text": b"What nobody else is to read"}
    place = {"profile": profile.locator.expose()}
    sent = ann.secret_key.public_key
    assert any(finds(seen, {"public key": bytes(sent)}) for seen in RECEIVED)
    logged = [str(record.__dict__).encode() for record in caplog.records]
    cached = [value for kept in locmem._caches.values() for value in kept.values()]
    assert logged
    for seen in [*RECEIVED, *opened, *logged, *cached]:
        assert not finds(seen, hidden)
    for seen in [*RECEIVED[before_reveal:], *opened, *logged, *cached]:
        assert not finds(seen, place)
    assert places(hidden | place) == []

    for receipt in (profile, *anon[ann.pk]):
        assert in_browser(ann, "reveal", receipt=str(receipt))["result"]["complete"]
    for member in (small_community.bob, small_community.cat):
        member.takes_back(anon)
    assert state() == whole
    assert before.keys() == whole.keys()
    assert edna_dump() == tables


def test_what_another_owner_hides_stays_hidden_until_they_are_back(
    small_community: Community,  # noqa: F811
    in_browser: Callable[..., Any],
) -> None:
    """The site asks for all that may tell of others, and a pseudoprincipal's list has it; a disguise that lies apart stays closed."""
    ann, bob = small_community.ann, small_community.bob
    before, tables = state(), edna_dump()
    edna.disguise(HIDE_PROFILE, User.objects.get(pk=ann.pk))
    profile = ann.history()[0].receipt
    closed = [segment.stored.sealed for segment in Browser(ann.secret_key).bags[profile.locator]]
    keys = {"content": content_key_of(closed[0], secret_key=ann.secret_key).expose()}
    anon = ann.applies(ANON)
    [mine], [theirs] = ann.applies(REDACT_MESSAGES, with_key=True)[ann.pk][-1:], bob.applies(REDACT_MESSAGES)[bob.pk]

    held = in_browser(ann, "reveal", receipt=str(mine))["result"]["held"]

    assert {each["reason"] for each in held} == {"owner_away"}
    assert in_browser(bob, "reveal", receipt=str(theirs))["result"]["restored"]
    assert any(b"whole" in seen for seen in RECEIVED)
    assert not finds(b"".join(RECEIVED), keys)
    for receipt in (*anon[ann.pk], mine, profile):
        assert "result" in in_browser(ann, "reveal", receipt=str(receipt))
    ann.reveal_everything()
    assert state() == before
    assert edna_dump() == tables


def test_who_has_proved_another_key_reveals_nothing(
    small_community: Community,  # noqa: F811
    in_browser: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor does anybody who asks for what people cannot do by themselves."""
    receipt = edna.disguise(CLEAR_MESSAGES, small_community.ann.user)
    before = state()

    eve = Member(small_community.bob.user, small_community.bob.secret_key)
    refused = [in_browser(eve, act, receipt=str(receipt))["error"] for act in ("reveal", "erase")]
    assert refused == ["ReceiptForeign"] * 2
    monkeypatch.setattr(LoggedIn, "user", User.objects.get(pk=small_community.ann.pk))
    assert in_browser(small_community.ann, "disguise", disguise=ANON)["error"] == "RequestRefused"
    assert state() == before


def test_a_key_alone_disguises_nothing(
    small_community: Community,  # noqa: F811
    in_browser: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever may not log in, or is somebody else, does not act by this door."""
    monkeypatch.setattr(ClearMessages, "self_service", True)
    before = state()

    for user in (AnonymousUser(), User.objects.get(pk=small_community.bob.pk)):
        monkeypatch.setattr(LoggedIn, "user", user)
        assert in_browser(small_community.ann, "disguise", disguise=CLEAR_MESSAGES)["error"] == "RequestRefused"
    assert state() == before
