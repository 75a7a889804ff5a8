"""Somebody unknown and a wrong password: the same answer, for the same work. What takes time is counted, no clock is read.

`benchmarks.custody.strangers` measures how long both take.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

import edna
from apps.websubmit.models import User
from edna.custody import stretching
from edna.errors import WrongCredentials
from tests.custody.browser import Browser, decoded
from tests.support import statements

pytestmark = [pytest.mark.django_db, pytest.mark.once]

EMAIL, PASSWORD, WRONG = "bea@example.org", "a long walk home", "a wrong walk home"
#: Of the same length: what is counted does not depend on what it is asked about.
NOBODY = "ann@example.org"
#: Where keys are derived, and MACs and signatures made.
_PRIMITIVES = ("_blake2", "_hashlib", "_hmac", "nacl")


@contextmanager
def primitives(done: Counter[str]) -> Iterator[None]:
    """Counts each call into a cryptographic library: derivations, hashes, MACs, boxes."""

    def note(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            module = str(getattr(called, "__module__", None) or type(getattr(called, "__self__", None)).__module__)
            if module.partition(".")[0] in _PRIMITIVES:
                done[f"{module}.{called.__name__}"] += 1
        elif event == "call" and "/nacl/bindings/" in frame.f_code.co_filename:
            done[f"nacl.{frame.f_code.co_name}"] += 1

    former, stretching_thread = sys.getprofile(), stretching._pool.thread()
    stretching_thread.submit(sys.setprofile, note).result()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(former)
        stretching_thread.submit(sys.setprofile, former).result()


def work_of(act: Callable[[], Any]) -> tuple[Counter[str], int]:
    """Primitives by name, and how many statements."""
    done: Counter[str] = Counter()
    with primitives(done):
        count = len(statements(act))
    return done, count


@pytest.fixture(autouse=True)
def bea() -> User:
    user = User.objects.create_user(EMAIL, PASSWORD)
    edna.register_principal(user, password=PASSWORD)
    return user


def asked(identifier: str) -> tuple[Any, ...]:
    """As a browser asks that derives the key itself; the lookup is that of a wrong password for everybody."""
    browser = Browser()
    answers: list[Any] = []
    salt = work_of(lambda: answers.append(browser.ask("slots/salt", {"identifier": identifier})))
    opened = work_of(lambda: answers.append(browser.ask("slots/open", {"lookups": ["A" * 43 + "="]})))
    seen = [(answer.status_code, len(answer.content), sorted(answer.headers.items())) for answer in answers]
    return salt, opened, seen, len(decoded(answers[0].json()["stretchings"][0]["salt"]))


def test_a_browser_learns_nothing_from_the_work_of_an_answer(settings: Any) -> None:
    """The salt of everybody, known or not, and the server's part in a slot that nobody has."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}
    settings.ROOT_URLCONF = "edna.urls"
    asked(EMAIL)  # what is remembered from the first request on
    known, unknown = asked(EMAIL), asked(NOBODY)
    assert known[0][0].total() > 0, "primitives are counted"
    assert known[1][1] > 0
    assert known == unknown


@pytest.mark.parametrize("name", ["hidden", "return"])
def test_a_page_learns_nothing_from_the_work_of_an_answer(name: str) -> None:
    """In server custody: a wrong password of somebody, and one of nobody. The page is the same but for the name that was typed."""
    address = reverse(f"websubmit-privacy:{name}")

    def sent(identifier: str) -> tuple[Any, ...]:
        browser = Client()
        answers: list[Any] = []
        data = {"identifier": identifier, "password": WRONG, "receipt": ""}
        done = work_of(lambda: answers.append(browser.post(address, data)))
        [answer] = answers
        return done, answer.status_code, len(answer.content), sorted(answer.headers.keys())

    sent(EMAIL)
    known, unknown = sent(EMAIL), sent(NOBODY)
    assert known == unknown
    assert known[0][0]["nacl.crypto_pwhash_alg"] > 0, "a password is derived"


def test_a_wrong_password_costs_what_one_of_nobody_costs() -> None:
    """The one door that all else goes through; and the right one does cost something else."""

    def unlocked(identifier: str, password: str) -> tuple[Counter[str], int]:
        def act() -> None:
            with suppress(WrongCredentials):
                edna.unlock(identifier=identifier, password=password).close()

        return work_of(act)

    unlocked(EMAIL, WRONG)
    assert unlocked(EMAIL, WRONG) == unlocked(NOBODY, WRONG) == unlocked(NOBODY, PASSWORD)
    assert unlocked(EMAIL, PASSWORD) != unlocked(EMAIL, WRONG)
