"""What can go wrong where: a page that nobody has thought of, and a cell that says nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages.mishaps.addresses import of_the_sites
from tests.pages.mishaps.matrix import KINDS, MISHAPS, cells, kinds_of

TESTS = Path(__file__).resolve().parents[1]


def test_somebody_has_thought_of_every_page() -> None:
    pages = of_the_sites()
    there: dict[str, set[str]] = {}
    for page in pages:
        there.setdefault("edna" if page.is_ednas else page.site, set()).add(page.name)
    assert there == {site: set(kinds_of(site)) for site in KINDS}


@pytest.mark.parametrize("custody", ["server", "browser"])
def test_every_cell_says_which_test_tries_it_or_why_it_cannot_be(custody: str) -> None:
    """And the tests are there."""
    named = set()
    for page in of_the_sites():
        said = cells(page, custody)
        assert set(said) == set(MISHAPS), page
        for sentence in said.values():
            assert sentence.startswith(("tried: ", "cannot: ", "as in server custody: ", "empty: ")), (page, sentence)
            named |= set(re.findall(r"[\w/]+\.py", sentence))
    places = [TESTS, TESTS.parents[1]]
    assert {page.name for page in of_the_sites() if "empty: " in str(cells(page, custody))} <= {"give-up"}
    assert {each for each in named if not any((place / each).exists() for place in places)} == set()
