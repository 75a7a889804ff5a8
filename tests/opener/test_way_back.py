"""Guardians of somebody whose key never leaves their browser: by the modules in Node, against a real server and guardians on sockets.

Every byte that reaches the site is recorded: neither key nor PIN, nor what the guardians help to, nor a ticket is among them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.handlers.base import BaseHandler
from django.test import override_settings

import edna
from apps.websubmit.models import User
from edna import errors, guardians
from edna.custody import by_guardians
from edna.custody.guardians.tickets import token_for
from edna.guardians.enrolments import envelopes_at, kept_for
from edna.testing.search import finds, places
from tests.guardians.parties import Parties, parties
from tests.opener.test_handing_over import RECEIVED, LoggedIn, recorded

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]
HERE = Path(__file__).resolve().parent
NAME, PIN = "bea@example.org", "a PIN of hers"


@pytest.fixture
def five(tmp_path: Path) -> Iterator[Parties]:
    with parties(tmp_path, CUSTODY="browser") as made:
        yield made


@pytest.fixture
def bea(monkeypatch: pytest.MonkeyPatch) -> tuple[User, edna.SecretKey]:
    user, key = User.objects.create_user(NAME, "p"), edna.SecretKey.generate()
    edna.register_principal(user, public_key=key.public_key)
    monkeypatch.setattr(LoggedIn, "user", user)
    return user, key


@pytest.fixture
def in_browser(live_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    RECEIVED.clear()

    def act(what: str, **given: Any) -> Any:
        asked = {"base": f"{live_server.url}/", "act": what, "identifier": NAME, **given}
        program = str(shutil.which("node") or shutil.which("nodejs"))
        done = subprocess.run(
            [program, str(HERE / "guardians-story.mjs")], input=json.dumps(asked), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    monkeypatch.setattr(BaseHandler, "resolve_request", recorded)
    with override_settings(ROOT_URLCONF="edna.urls"):
        yield act


def test_a_key_comes_back_to_a_browser_and_the_site_has_seen_nothing_of_it(
    five: Parties, bea: tuple[User, edna.SecretKey], in_browser: Callable[..., Any]
) -> None:
    """Enrolled, asked, confirmed and opened in the browser; a request that it began is gone on with on the server, too."""
    user, key = bea
    text = key.expose_text()
    assert in_browser("enroll", text=text, contact="bea@home.example", pin=PIN)["result"] == []
    assert guardians.is_enrolled(user)
    assert in_browser("is enrolled", text=text)["result"] is True

    begun = in_browser("ask")["result"]
    assert (begun["progress"]["helping"], begun["progress"]["needed"]) == (0, 3)
    assert [each["waitsForCode"] for each in begun["progress"]["answers"]] == [False] * 3 + [True] * 2
    code = begun["code"]
    assert in_browser("recover", code=code, pin=PIN)["error"] == "QuorumUnavailable"
    assert in_browser("look", code=code, codes={4: "AAAA-AAAA-AAAA"})["error"] == "TicketRefused"
    assert in_browser("look", code=code, codes={4: five.code(4)})["result"]["helping"] == 1
    five.now += 7201
    five.stop(1)
    assert in_browser("recover", code=code, pin="another")["error"] == "EnvelopeRefused"
    recovered = in_browser("recover", code=code, pin=PIN)
    assert recovered["result"] == key.expose_text()
    assert PIN not in "".join(recovered["asked"])

    (envelope,), ((salt, _),) = envelopes_at(NAME), kept_for(key.public_key)
    request = by_guardians.request_secret(edna.RecoveryCode.parse(code), envelope=bytes(envelope))
    secrets = {
        "key": key.expose(), "text of the key": key.expose_text(), "PIN": PIN, "code": code, "request": request,
        "what guardians help to": by_guardians.secret_for(key, salt=salt).expose(),
        **{f"ticket {number}": token_for(request, number=number) for number in range(1, 6)},
    }  # fmt: skip
    assert [found for content in RECEIVED for found in finds(content, secrets)] == []
    assert places(secrets) == []
    with guardians.recover(NAME, code, pin=PIN) as unlocked:
        assert unlocked.public_key == key.public_key


def test_it_is_refused_and_given_up_from_the_browser(
    five: Parties, bea: tuple[User, edna.SecretKey], in_browser: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A veto is said to the guardians without the site; nobody enrols for another account, nor without a proof."""
    user, key = bea
    given = {"text": key.expose_text(), "contact": "bea@home.example", "pin": ""}
    in_browser("enroll", **given)
    code = in_browser("ask")["result"]["code"]
    five.now += 7201
    assert in_browser("veto", **given)["result"] == []
    assert all(each["isRefused"] for each in in_browser("look", code=code)["result"]["answers"])
    five.now -= 7201  # orders of the site are good for minutes
    assert in_browser("withdraw", **given)["result"] == []
    assert not guardians.is_enrolled(user)
    assert {each.status()["enrolments"] for each in five.guardians.values()} == {0}
    with pytest.raises(errors.WrongCredentials):
        guardians.ask(NAME)
    assert in_browser("enroll", **given, identifier="carl@example.org")["error"] == "NotYours"
    monkeypatch.setattr(LoggedIn, "user", User.objects.create_user("carl@example.org", "p"))
    assert in_browser("enroll", **given)["error"] == "NotYours"
    assert {each.status()["enrolments"] for each in five.guardians.values()} == {0}
