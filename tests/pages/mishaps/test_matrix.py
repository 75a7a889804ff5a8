"""What can go wrong where: a page that nobody has thought of, and a cell that says nothing."""

from __future__ import annotations

import pytest

from tests.pages.mishaps.addresses import SITES, pages_of
from tests.pages.mishaps.matrix import kinds_of, unsaid


def test_somebody_has_thought_of_every_page() -> None:
    there: dict[str, set[str]] = {}
    for page in pages_of(*SITES):
        there.setdefault("edna" if page.is_ednas else page.site, set()).add(page.name)
    assert there == {site: set(kinds_of(site)) for site in ("edna", *SITES)}


@pytest.mark.parametrize("custody", ["server", "browser"])
def test_every_cell_says_which_test_tries_it_or_why_it_cannot_be(custody: str) -> None:
    """And the tests are there."""
    assert unsaid(pages_of(*SITES), custody) == []
