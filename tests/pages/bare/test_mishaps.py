"""On every page of the bare project, in both custodies, without scripts: what is sent twice, a wrong password, a session that has ended."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pages.bare.members import club
from tests.pages.mishaps.addresses import BARE, pages_of
from tests.pages.mishaps.matrix import kinds_of, unsaid
from tests.pages.mishaps.walk import problems_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("custody", ["server", "browser"])
def test_on_each_page_nothing_is_done_twice_or_fails_without_a_word(custody: str, settings: Any) -> None:
    """And each cell of the matrix that says so was tried."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": custody}
    assert problems_of(club(), custody) == []


@pytest.mark.parametrize("custody", ["server", "browser"])
def test_somebody_has_thought_of_every_page(custody: str) -> None:
    pages = pages_of(BARE)
    assert {page.name for page in pages if not page.is_ednas} == set(kinds_of(BARE))
    assert unsaid(pages, custody) == []
