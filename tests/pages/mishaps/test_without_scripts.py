"""On every page of the three sites, in both custodies, without scripts: what is sent twice, a wrong password, a session that has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guardians.parties import parties
from tests.pages.mishaps import sites
from tests.pages.mishaps.addresses import SITES
from tests.pages.mishaps.matrix import CLIENT, SAME, cells
from tests.pages.mishaps.walk import Walk

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.django_db]


@pytest.mark.parametrize("custody", ["server", "browser"])
@pytest.mark.parametrize("name", SITES)
def test_on_each_page_nothing_is_done_twice_or_fails_without_a_word(name: str, custody: str, tmp_path: Path) -> None:
    """And each cell of the matrix that says so was tried."""
    with parties(tmp_path, CUSTODY=custody):
        walk = Walk(sites.MAKE[name](), in_browser=custody == "browser")
        said = {page: cells(page, custody) for page in walk.site.pages}
        for page in walk.site.pages:
            if set(said[page].values()) != {SAME}:
                walk.visits(page)
    assert walk.problems == []
    claimed = {(str(page), mishap) for page in said for mishap, by in said[page].items() if by == CLIENT}
    assert {(page, mishap) for page, mishap in claimed if mishap not in walk.tried[page]} == set()
