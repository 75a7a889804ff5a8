"""On every page of the three sites, in both custodies, without scripts: what is sent twice, a wrong password, a session that has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guardians.parties import parties
from tests.pages.mishaps import sites
from tests.pages.mishaps.addresses import SITES
from tests.pages.mishaps.walk import problems_of

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.django_db]


@pytest.mark.parametrize("custody", ["server", "browser"])
@pytest.mark.parametrize("name", SITES)
def test_on_each_page_nothing_is_done_twice_or_fails_without_a_word(name: str, custody: str, tmp_path: Path) -> None:
    with parties(tmp_path, CUSTODY=custody):
        assert problems_of(sites.MAKE[name](), custody) == []
