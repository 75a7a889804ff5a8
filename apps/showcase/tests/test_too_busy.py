"""With a rate limit, people who come when too many are at it are told so, on the page that they are on, in each application."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.utils.html import strip_tags

from apps.showcase.tests.beas import (
    EMAIL,
    KEYS,
    OLD,
    PASSWORD,
    Bea,
    rows,
    text_of,
    url,
)

pytestmark = pytest.mark.django_db

SENTENCE = "Nothing was changed; please try again in {} seconds."
LEAVING = {
    "websubmit": ("delete", {"password": PASSWORD, "everything": "on"}),
    "lobsters": ("delete", {"password": PASSWORD, "disowned": "on"}),
    "hotcrp": ("remove", {"password": PASSWORD}),
}
RETURNING = {
    "websubmit": {"email": EMAIL, "password": PASSWORD},
    "lobsters": {"username": "bea", "password": PASSWORD},
    "hotcrp": {"email": EMAIL, "password": PASSWORD},
}


@pytest.fixture(autouse=True)
def full(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All places of a minute are taken; it has 42 seconds left."""
    monkeypatch.setattr("edna.throttle._now", lambda: 1_800_000_018.0)
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": __name__}}
    settings.EDNA = {**settings.EDNA, "REQUEST_RATE_PER_SECOND": 1 / 60}
    for window in (29_999_999, 30_000_000):
        caches["default"].set(f"edna:requests:{window}", 1)


def is_told(response: Any) -> bool:
    assert response.status_code == 429, text_of(response)
    assert response["Retry-After"] == "42"
    assert "no-store" in response["Cache-Control"]
    return SENTENCE.format(42) in text_of(response)


@pytest.mark.parametrize("key", OLD)
def test_leaving(beas: dict[str, Bea], key: str) -> None:
    browser = beas[key].browser()
    name, form = LEAVING[key]
    before = rows(set(KEYS))
    page = browser.get(url(key, name))
    assert page.status_code == 200  # looking is free, the preview too
    assert "In numbers" in text_of(page)
    refused = browser.post(url(key, name), form)
    assert is_told(refused)
    assert "In numbers" not in text_of(refused)
    assert rows(set(KEYS)) == before
    caches["default"].clear()
    assert browser.post(url(key, name), form).status_code == 200
    assert not beas[key].is_here()


@pytest.mark.parametrize("key", OLD)
def test_returning(beas: dict[str, Bea], key: str) -> None:
    before = rows(set(KEYS))
    beas[key].leave()
    assert is_told(Client().post(url(key, "return"), RETURNING[key]))
    assert not beas[key].is_here()
    caches["default"].clear()
    assert Client().post(url(key, "return"), RETURNING[key]).status_code == 200
    assert rows(set(KEYS)) == before


def test_a_login_that_would_have_asked_for_the_key(beas: dict[str, Bea]) -> None:
    """Whose account has lost its name by an anonymisation logs in by their key. Nobody is told that their password is wrong."""
    refused = Client().post(url("hotcrp", "login"), {"email": EMAIL, "password": "guessed"})
    assert is_told(refused)
    assert "No account has" not in text_of(refused)
    assert beas["hotcrp"].browser().get(url("hotcrp", "account")).status_code == 200


def test_the_page_for_all_other_views(settings: Any) -> None:
    settings.ROOT_URLCONF = "apps.showcase.tests.busy_urls"
    response = Client().get("/unlock/")
    assert is_told(response)
    assert "Too busy just now" in strip_tags(response.content.decode())
