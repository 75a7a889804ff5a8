"""Somebody's key lives in their browser: the whole story in Chromium, and all that the server got to see of it."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

import edna
from apps.websubmit.models import User
from edna import SecretKey, conf
from edna.custody import base, password, recovery
from edna.errors import WrongCredentials
from edna.testing.search import finds, places
from tests.custody import story_site
from tests.custody.chromium import bodies, with_passkeys

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

EMAIL, LOGIN = "bea@example.org", "what the site's log-in takes"
FIRST, SECOND = "a long wälk home", "a longer wälk home"


@pytest.fixture
def site(settings: Any, live_server: Any) -> str:
    settings.ROOT_URLCONF = "tests.custody.story_site"
    settings.MIDDLEWARE = ["tests.custody.story_site.recording", *settings.MIDDLEWARE]
    # Enough for Argon2id to take a moment, in which the page has to stay live.
    settings.EDNA = {
        **settings.EDNA,
        "CUSTODY": "browser",
        "ARGON2_OPSLIMIT": 2,
        "ARGON2_MEMLIMIT_BYTES": 16 * 1024 * 1024,
    }
    story_site.reached.clear()
    url: str = live_server.url
    return url


class Page:
    """What the person's page does, step by step."""

    def __init__(self, page: Any, site: str) -> None:
        self.page, self.site = page, site
        self.sent: list[bytes] = []
        page.context.on("request", self._note)

    def _note(self, request: Any) -> None:
        self.sent += [request.url.encode(), repr(request.headers).encode(), request.post_data_buffer or b""]

    def load(self) -> None:
        self.page.goto(self.site)
        self.page.wait_for_function("globalThis.step !== undefined")

    def step(self, name: str, given: Any = None) -> Any:
        done = self.page.evaluate("([name, given]) => step(name, given)", [name, given])
        assert "error" not in done, done
        return done["result"]

    def fails(self, name: str, given: Any = None) -> str:
        return str(self.page.evaluate("([name, given]) => step(name, given)", [name, given])["error"])


def test_the_server_never_sees_what_opens_a_key(page: Any, site: str, caplog: pytest.LogCaptureFixture) -> None:
    """Registered, opened by password, code, text and passkey after reloads, password and code changed; then every byte is searched."""
    user = User.objects.create_user(EMAIL, LOGIN)
    client = Client()
    client.force_login(user)
    page.context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": site}])
    with_passkeys(page)
    person = Page(page, site)

    with caplog.at_level(logging.DEBUG):
        person.load()
        first = person.step("register", {"identifier": EMAIL, "password": FIRST})
        assert first["live"], "the page stands still while the password is stretched"
        assert person.fails("register", {}) == "ServerRefused", "there is a key already"

        person.load()  # nothing is kept in the browser
        same = {"public": first["public"], "text": first["text"]}
        assert person.step("byPassword", {"identifier": " BEA@Example.org", "password": FIRST}) == same
        assert person.fails("byPassword", {"identifier": EMAIL, "password": SECOND}) == "WrongCredentials"
        assert person.fails("byPassword", {"identifier": "nobody@example.org", "password": FIRST}) == "WrongCredentials"
        assert person.step("byCode", first["code"].lower()) == same
        assert person.fails("byCode", first["code"][:-1]) == "RecoveryCodeMalformed"
        assert person.step("byText", first["text"]) == same

        person.step("changePassword", {"identifier": EMAIL, "password": SECOND})
        code = person.step("newRecoveryCode")
        from_passkey = person.step("addPasskey", EMAIL)

        person.load()
        assert person.fails("byPassword", {"identifier": EMAIL, "password": FIRST}) == "WrongCredentials"
        assert person.fails("byCode", first["code"]) == "WrongCredentials"
        assert person.step("byPassword", {"identifier": EMAIL, "password": SECOND}) == same
        assert person.step("byCode", code) == same
        assert person.step("byPasskey") == same

    assert page.evaluate("refused") == []

    key = SecretKey.parse(first["text"])
    (opslimit, memlimit_bytes), *_ = conf.argon2_costs()
    needles: dict[str, Any] = {"secret key": key.expose(), "text of the key": first["text"]}
    for number, text in enumerate((FIRST, SECOND)):
        secret = password.derive(
            text, identifier=EMAIL, opslimit=opslimit, memlimit_bytes=memlimit_bytes, pepper=conf.mac_keys()[0]
        )
        needles |= {f"password {number}": text, f"slot secret of password {number}": secret.expose()}
    for number, text in enumerate((first["code"], code)):
        parsed = edna.RecoveryCode.parse(text)
        secret = recovery.derive(parsed)
        needles |= {f"code {number}": parsed.expose(), f"text of code {number}": text}
        needles |= {f"slot secret of code {number}": secret.expose()}
    needles["slot secret of the passkey"] = bytes.fromhex(from_passkey)
    logged = [str(record.__dict__).encode() for record in caplog.records]
    seen = b"\n".join([*story_site.reached, *person.sent, *logged, repr(vars(cache)).encode(), *bodies(person.sent)])
    known = {"lookup": base.lookup(secret), "public key": bytes(key.public_key)}
    assert sorted({what.split(":")[0] for what in finds(seen, known)}) == sorted(known), (
        "the search finds what was sent"
    )
    assert finds(seen, needles) == []
    assert places(needles) == []

    # The same slots, in server custody.
    with edna.unlock(identifier=EMAIL, password=SECOND) as unlocked:
        assert bytes(unlocked.secret_key.public_key).hex() == first["public"]
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=EMAIL, password=FIRST)
