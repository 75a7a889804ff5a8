"""The HTTP interface: who is let in, what each refusal says, and what nobody gets to see."""

from __future__ import annotations

import gzip
import logging
from io import BytesIO
from itertools import product
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.handlers.asgi import ASGIRequest
from django.test import Client
from django.urls import resolve

from edna import SecretKey, inner_door
from edna.api_http.fields import Key
from edna.crypto.sealing import open_small, seal_small
from edna.engine import key_proofs
from edna.errors import KeyNotProved, RequestRefused
from edna.testing.search import finds
from tests.custody.browser import Browser, decoded, encoded, refused_as

pytestmark = [pytest.mark.django_db, pytest.mark.once]

KEY = SecretKey(b"K" * 32)
PUBLIC = bytes(KEY.public_key)
IDENTIFIER = "bea@example.org"


@pytest.fixture(autouse=True)
def browser_custody(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "CUSTODY": "both"}
    settings.ROOT_URLCONF = "edna.urls"


def test_whoever_has_the_key_gets_a_token_that_says_so() -> None:
    """Kept by no cache, and by nothing on the server."""
    browser = Browser()
    token = decoded(browser.prove(KEY))
    assert inner_door.proved_key(token, bound_to=b"t" * 32) == KEY.public_key
    answer = browser.ask("keys/challenge", {"public_key": encoded(PUBLIC)})
    assert "no-store" in answer["Cache-Control"]
    assert answer.cookies.keys() <= {"csrftoken"}


def test_a_proof_serves_one_key_one_browser_and_some_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    def challenge(key: SecretKey) -> bytes:
        return open_small(inner_door.challenge_key(bytes(key.public_key), bound_to=b"here"), secret_key=key)

    opened, other = challenge(KEY), SecretKey.generate()
    token = inner_door.prove_key(PUBLIC, opened, bound_to=b"here")
    for public, proof, bound_to in [
        (bytes(other.public_key), opened, b"here"),
        (PUBLIC, opened, b"elsewhere"),
        (PUBLIC, opened[:-1] + bytes((opened[-1] ^ 1,)), b"here"),
        (PUBLIC, opened + b"\0", b"here"),
        (PUBLIC, b"", b"here"),
        (PUBLIC, challenge(other), b"here"),
    ]:
        with pytest.raises(KeyNotProved):
            inner_door.prove_key(public, proof, bound_to=bound_to)
    for wrong, bound_to in [(token, b"elsewhere"), (token[:-1], b"here"), (b"", b"here"), (opened, b"here")]:
        with pytest.raises(KeyNotProved):
            inner_door.proved_key(wrong, bound_to=bound_to)

    now = key_proofs._now()
    monkeypatch.setattr(key_proofs, "_now", lambda: now + key_proofs.CHALLENGE_SECONDS + 2)
    with pytest.raises(KeyNotProved):
        inner_door.prove_key(PUBLIC, opened, bound_to=b"here")
    assert inner_door.proved_key(token, bound_to=b"here") == KEY.public_key
    monkeypatch.setattr(key_proofs, "_now", lambda: now + key_proofs.SESSION_SECONDS + 2)
    with pytest.raises(KeyNotProved):
        inner_door.proved_key(token, bound_to=b"here")


def test_a_proof_of_somebody_logged_in_ends_with_their_session() -> None:
    """By log-out, or by another password in any browser; also for whoever has copied the cookies, the token and the page's CSRF token."""
    user = get_user_model().objects.create_user(email=IDENTIFIER, password="before")
    for end in (Client.logout, lambda _: _with_password(user)):
        browser, copied = Browser(), Browser()
        browser.force_login(user)
        copied.cookies.load(browser.cookies.output(header="", sep=";"))
        headers = {"X-Edna-Key-Session": browser.prove(KEY)}
        asked = {"public_keys": [encoded(PUBLIC)]}
        assert copied.ask("graph/entries", asked, **headers).status_code == 200
        end(browser)
        assert refused_as(copied.ask("graph/entries", asked, **headers)) == (403, "KeyNotProved")


def _with_password(user: Any) -> None:
    user.set_password("after")
    user.save()


def test_no_address_is_there_in_server_custody(settings: Any) -> None:
    """Not even a refusal of CSRF protection tells that edna is."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": "server"}
    assert Browser().ask("keys/challenge", {"public_key": encoded(PUBLIC)}).status_code == 404
    assert Client(enforce_csrf_checks=True).post("/api/1/keys/challenge").status_code == 404


def test_only_json_of_this_site_and_of_a_sensible_size_is_taken() -> None:
    browser, good = Browser(), {"public_key": encoded(PUBLIC)}
    read = browser.get("/api/1/keys/challenge")
    assert (read.status_code, read.headers["Allow"]) == (405, "POST")
    long = Client().post("/api/1/keys/challenge", b"{}", "application/json", CONTENT_LENGTH="9" * 5000)
    assert refused_as(long) == (413, "RequestRefused")
    form = browser.post("/api/1/keys/challenge", good, headers={"X-CSRFToken": "t" * 32})
    assert refused_as(form) == (415, "RequestRefused")
    for content, headers, status in [
        (good, {"X-CSRFToken": "u" * 32}, 403),
        (good, {"Origin": "https://elsewhere.example"}, 403),
        (good, {"Sec-Fetch-Site": "same-site"}, 403),
        ({**good, "more": "x" * 20_000}, {}, 413),
        ("{", {}, 400),
        (b"\xff", {}, 400),
        ("[" * 9_000, {}, 400),
        ([], {}, 400),
        ({}, {}, 400),
        ({"public_key": 7}, {}, 400),
        ({"public_key": "ä"}, {}, 400),
        ({"public_key": encoded(PUBLIC[1:])}, {}, 400),
    ]:
        assert refused_as(browser.ask("keys/challenge", content, **headers)) == (status, "RequestRefused"), content
    weak = browser.ask("keys/challenge", {"public_key": encoded(bytes(32))})
    assert refused_as(weak) == (400, "KeyMalformed")


@pytest.mark.parametrize(
    "path", ["slots/salt", "slots/open", "keys/challenge", "keys/session", "keys/register", "graph/reveal"]
)
def test_no_body_however_hostile_is_an_error_of_the_server(path: str) -> None:
    """Deep, huge, no number, half a character, said twice, packed: refused as what it is, or read as JSON says."""
    browser, deep = Browser(), "[" * 3_000 + "]" * 3_000
    values = [deep, "1" * 5_000, "NaN", "-Infinity", "1e999", '"\\ud800"', '"\\u0000"', "{}"]
    names = ["identifier", "lookups", "public_key", "opened", "slots", "receipt", "handed"]
    token = browser.prove(KEY)
    for value in values:
        for text in (
            "{" + ", ".join(f'"{name}": {value}' for name in names) + "}",
            f'{{"slots": [{value}], "lookups": [{value}]}}',
            value,
        ):
            answer = browser.ask(path, text, **{"X-Edna-Key-Session": token})
            assert answer.status_code in (200, 400, 413), (text[:80], answer.content)
    twice = f'{{"public_key": 7, "public_key": "{encoded(PUBLIC)}"}}'
    assert browser.ask("keys/challenge", twice).status_code == 200, "the last one counts"
    packed = browser.ask(path, gzip.compress(b'{"identifier": "bea"}'), **{"Content-Encoding": "gzip"})
    assert refused_as(packed) == (400, "RequestRefused")
    for kind in ("text/plain", "multipart/form-data; boundary=x", "application/jsonp", ""):
        other = browser.post(f"/api/1/{path}", b"{}", content_type=kind, headers={"X-CSRFToken": "t" * 32})
        assert refused_as(other) == (415, "RequestRefused"), kind
    assert refused_as(browser.post(f"/api/1/{path}", b"{}", content_type="application/json")) == (403, "RequestRefused")


def test_no_more_is_taken_than_the_headers_say() -> None:
    """Servers that speak ASGI do not cut off what comes beyond."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
    scope = {"type": "http", "method": "POST", "path": "/api/1/keys/challenge", "headers": headers}
    request = ASGIRequest(scope, BytesIO(b" " * 20_000 + b"{}"))
    request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]  # as Django's own client says it
    assert resolve(request.path).func(request).status_code == 413


@pytest.mark.parametrize("path", ["graph/entries", "graph/bags", "graph/references", "graph/reveal", "graph/disguise"])
def test_whoever_has_proved_no_key_gets_nothing(path: str) -> None:
    asked = {name: [encoded(bytes(32))] for name in ("public_keys", "indexes", "models")}
    empty = {"lists": [], "bags": [], "voices": []}
    content = {**asked, "handed": empty, "receipt": "x", "disguise": "x"}
    assert refused_as(Browser().ask(path, content)) == (403, "KeyNotProved")


@pytest.fixture
def one_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """In which nothing is over for those who wait."""
    monkeypatch.setattr("edna.throttle._now", lambda: 1_800_000_018.0)


@pytest.mark.usefixtures("one_hour")
def test_one_request_too_many_waits(settings: Any) -> None:
    """With `EdnaMiddleware` and without it."""
    settings.EDNA = {**settings.EDNA, "REQUEST_RATE_PER_SECOND": 1 / 3600}
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "api-http"}}
    for middleware in (settings.MIDDLEWARE, []):
        settings.MIDDLEWARE = middleware
        answers = [Browser().ask("keys/challenge", {"public_key": encoded(PUBLIC)}) for _ in range(3)]
        assert refused_as(answers[-1]) == (429, "TooBusy")
        assert int(answers[-1]["Retry-After"]) > 0


@pytest.mark.usefixtures("one_hour")
def test_looking_for_bags_counts_as_well(settings: Any) -> None:
    """Whoever has made a key by themselves has a token, too."""
    browser, key = Browser(), SecretKey.generate()
    proved = {"X-Edna-Key-Session": browser.prove(key)}
    settings.EDNA = {**settings.EDNA, "REQUEST_RATE_PER_SECOND": 1 / 3600}
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "looking"}}
    for _ in range(3):
        browser.ask("keys/challenge", {"public_key": encoded(PUBLIC)})
    for path, content in [
        ("graph/entries", {"public_keys": [encoded(PUBLIC)]}),
        ("graph/bags", {"indexes": [encoded(bytes(32))]}),
        ("graph/references", {"models": ["auth.user"]}),
    ]:
        assert refused_as(browser.ask(path, content, **proved)) == (429, "TooBusy"), path


def test_nothing_that_was_sent_is_logged_or_reported(
    settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The page of an error, the mail about it and its line in the log: without `EdnaMiddleware`, too."""

    def breaks(public_key: bytes, **_: Any) -> bytes:
        raise RuntimeError(f"cannot seal to {public_key!r}, {encoded(public_key)}, {public_key.hex()}")

    def breaks_too(identifier: str) -> list[Any]:
        raise RuntimeError(f"cannot find {identifier}")

    monkeypatch.setattr(inner_door, "challenge_key", breaks)
    monkeypatch.setattr(inner_door, "stretchings", breaks_too)
    settings.DEBUG = True
    # The name of the second field does not look secret.
    asked = {"keys/challenge": ("public_key", encoded(PUBLIC)), "slots/salt": ("identifier", IDENTIFIER)}
    secrets = {"key": PUBLIC, "identifier": IDENTIFIER.encode()}
    for middleware, (path, (field, value)) in product((settings.MIDDLEWARE, []), asked.items()):
        settings.MIDDLEWARE = middleware
        caplog.clear()
        with caplog.at_level(logging.DEBUG):
            page = Browser(raise_request_exception=False).ask(path, {field: value})
        logged = [*caplog.messages, *(str(record.__dict__) for record in caplog.records), caplog.text]
        assert page.status_code == 500
        assert not finds(page.content, secrets)
        assert not any(finds(text.encode(), secrets) for text in logged)


def test_a_challenge_is_not_taken_for_a_box_of_a_bag() -> None:
    """What a browser sends back begins as no content of a bag does, and is longer than a key."""
    opened = open_small(inner_door.challenge_key(PUBLIC, bound_to=b""), secret_key=KEY)
    assert opened.startswith(b"edna key proof 1")
    assert len(opened) == 72
    assert len(seal_small(b"k" * 32, recipient=KEY.public_key)) < len(inner_door.challenge_key(PUBLIC, bound_to=b""))


@pytest.mark.parametrize("key", [True, None, 1.5, [], [7, False], {}])
def test_a_primary_key_is_a_text_a_number_or_several(key: Any) -> None:
    """JSON's `true` is no 1: it would name somebody's row."""
    with pytest.raises(RequestRefused, match="accept"):
        Key().read(key, "accept[].pk")
    assert [Key().read(each, "") for each in (1, "a", [1, "a"])] == [1, "a", (1, "a")]
