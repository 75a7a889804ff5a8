"""In Chromium, where keys stay in browsers: on every page of the bare project whose script uses the key, all that can go wrong there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pages.bare.members import club
from tests.pages.mishaps.unlucky import Unlucky, scripted_pages

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_each_page_whose_script_uses_the_key(page: Any, live_server: Any, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}
    site = club()
    Unlucky(page, live_server.url, site).goes_wrong_on_each(scripted_pages(site))
