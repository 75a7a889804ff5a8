"""Whatever is typed, sent or forged into a form or an address: a page, a redirect or a refusal, and never an error of the server."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from apps.lobsters_sim.models import Hat, HatRequest, Message

from .conftest import PASSWORD, Person, Site

pytestmark = [pytest.mark.django_db, pytest.mark.only_on("sqlite3", "mysql"), pytest.mark.thorough]

RUBBISH = {
    "empty": "",
    "long": "x" * 70_000,
    "number": str(10**30),
    "long-number": "9" * 5_000,
    "negative": "-1",
    "nul": "a\0b",
    "lines": "a\r\nb\u2028c",
    "emoji": "👩‍🎓 à la carte",
    "foreign-digits": "١٢",
    "address": "https://[::1/\0",
    "markup": "<b>\"'&",
}
KEY = {"password": PASSWORD, "recovery_code": ""}
NEW = {"new_password": "a longer walk home", "again": "a longer walk home"}
OPEN: dict[str, dict[str, str]] = {
    "register": {"username": "dora", "email": "dora@example.org", **NEW},
    "login": {"username": "bea", "password": PASSWORD, "next": "/lobsters/"},
    "finish": {"identifier": "bea", **KEY, "receipt": "edna1:"},
    "disguised": {"identifier": "bea", **KEY},
    "edit-disguised": {
        "kind": "comment",
        "short_id": "",
        "identifier": "bea",
        **KEY,
        "title": "Title",
        "text": "Text.",
    },
}
MEMBERS: dict[str, dict[str, str]] = {
    "stories": {
        "title": "Fine",
        "url": "https://example.org/fine",
        "tags": "compsci",
        "description": "Text.",
        "user_is_author": "on",
    },
    "comments": {"story": "", "comment": "Text.", "hat": ""},
    "comment": {"comment": "Text.", "hat": ""},
    "edit-story": {"title": "Fine", "description": "Text."},
    "edit-comment": {"comment": "Text."},
    "upvote-story": {"next": "/lobsters/"},
    "downvote-comment": {"next": "/lobsters/", "reason": "O"},
    "save": {"next": "/lobsters/"},
    "write-message": {"recipient": "carl", "subject": "Hello", "body": "Text."},
    "filters": {"tags": "1"},
    "request-hat": {"hat": "Potter", "link": "https://example.org", "comment": "Text."},
    "account": {"email": "bea@example.org"},
    "change-password": {"old_password": PASSWORD, "new_password1": "a longer walk", "new_password2": "a longer walk"},
    "leave-topic": {"tag": "compsci", "seen": "x", "password": PASSWORD},
    "moderate-story": {"reason": "Text."},
}


def address(page: str, site: Site) -> tuple[str, dict[str, str]]:
    """Where to send it, and what goes with it that names a row."""
    if page in {"comment", "downvote-comment"}:
        return reverse(f"lobsters:{page}", args=[site.carls_reply.short_id]), {}
    if page == "edit-comment":
        return reverse(f"lobsters:{page}", args=[site.beas_comment.short_id]), {}
    if page in {"edit-story", "moderate-story"}:
        return reverse(f"lobsters:{page}", args=[site.beas.short_id]), {}
    if page in {"upvote-story", "save"}:
        return reverse(f"lobsters:{page}", args=[site.carls.short_id]), {}
    named = {"comments": {"story": site.carls.short_id}, "edit-disguised": {"short_id": site.beas_comment.short_id}}
    return reverse(f"lobsters:{page}"), named.get(page, {})


@pytest.mark.parametrize("page", [*OPEN, *MEMBERS])
def test_forms(page: str, site: Site, bea: Person, mod: Person) -> None:
    url, named = address(page, site)
    fields = {**(OPEN.get(page) or MEMBERS[page]), **named}
    client = Client() if page in OPEN else mod.client if page.startswith("moderate") else bea.client
    cookies = client.cookies.copy()
    for what, rubbish in RUBBISH.items():
        for name in fields:
            # As if the one before had not been: some of it is accepted, for a text may say anything.
            before = transaction.savepoint()
            response = client.post(url, {**fields, name: rubbish})
            assert response.status_code in {200, 302, 404}, (what, name)
            transaction.savepoint_rollback(before)
            client.cookies = cookies.copy()


def test_addresses(site: Site, bea: Person) -> None:
    patterns = (
        "stories/%",
        "stories/%/upvote",
        "comments/%",
        "u/%",
        "u/%/stories",
        "t/%",
        "t/%/page/2",
        "messages/%",
        "page/%",
    )
    for rubbish in (*RUBBISH.values(), "..", "%", "a/b", "#", "?"):
        for pattern in (*patterns, "recent/page/%", "hats/%/doff", "hats/requests/%/grant"):
            url = "/lobsters/" + pattern.replace("%", quote(rubbish[:5_000], safe=""))
            for method in (bea.client.get, bea.client.post):
                assert method(url).status_code in {200, 301, 302, 403, 404, 405}, url[:200]


def test_queries(site: Site, bea: Person) -> None:
    for rubbish in RUBBISH.values():
        for page, name in (("write-message", "to"), ("write-message", "subject"), ("login", "next")):
            client = Client() if page == "login" else bea.client
            assert client.get(reverse(f"lobsters:{page}"), {name: rubbish[:5_000]}).status_code == 200


def test_numbers_that_are_no_rows(site: Site, mod: Person) -> None:
    for pk in (0, 2**31, 2**63, 10**30):
        for page in ("doff-hat", "grant-hat", "refuse-hat"):
            url = reverse("lobsters:hats") + {"doff-hat": f"/{pk}/doff"}.get(
                page, f"/requests/{pk}/{page.split('-')[0]}"
            )
            assert mod.client.post(url).status_code == 404, url
    assert (Hat.objects.count(), HatRequest.objects.count()) == (2, 1)
    assert Message.objects.count() == 2


def test_a_stored_text_is_never_markup(site: Site, bea: Person, carl: Person) -> None:
    """Whatever name, title, tag, hat, subject or reason says, the pages show it as text."""
    evil: Any = '"><script>alert(1)</script>'
    carl.client.post(reverse("lobsters:edit-story", args=[site.carls.short_id]), {"title": evil, "description": evil})
    carl.client.post(reverse("lobsters:write-message"), {"recipient": "bea", "subject": evil, "body": evil})
    Hat.objects.filter(user=carl.user).update(hat=evil, link=f"javascript:{evil}")
    message = Message.objects.get(subject=evil)
    for url in (
        reverse("lobsters:front"),
        reverse("lobsters:recent"),
        reverse("lobsters:comments"),
        reverse("lobsters:story", args=[site.carls.short_id]),
        reverse("lobsters:comment", args=[site.beas_comment.short_id]),
        reverse("lobsters:flag-story", args=[site.carls.short_id]),
        reverse("lobsters:profile", args=["carl"]),
        reverse("lobsters:hats"),
        reverse("lobsters:messages"),
        reverse("lobsters:message", args=[message.short_id]),
    ):
        html = bea.client.get(url).content.decode()
        assert "<script" not in html, url
        assert 'href="javascript' not in html, url
