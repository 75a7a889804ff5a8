"""With a rate limit, people who come when too many are at it are told so, on the page that they are on, in each application."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.utils.html import strip_tags

from apps.showcase.tests.beas import (
    EMAIL,
    Bea,
    text_of,
    url,
)

pytestmark = pytest.mark.django_db

SENTENCE = "Nothing was changed; please try again in {} seconds."


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


@pytest.mark.once
def test_a_login_that_would_have_asked_for_the_key(beas: dict[str, Bea]) -> None:
    """Whose account has lost its name by an anonymisation logs in by their key. Nobody is told that their password is wrong."""
    refused = Client().post(url("hotcrp", "login"), {"email": EMAIL, "password": "guessed"})
    assert is_told(refused)
    assert "No account has" not in text_of(refused)
    assert beas["hotcrp"].browser().get(url("hotcrp", "account")).status_code == 200


@pytest.mark.once
def test_the_page_for_all_other_views(settings: Any) -> None:
    settings.ROOT_URLCONF = "apps.showcase.tests.busy_urls"
    response = Client().get("/unlock/")
    assert is_told(response)
    assert "Too busy just now" in strip_tags(response.content.decode())
