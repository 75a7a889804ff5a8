"""The assertions for a TestCase of Django's or of unittest's, in its own way of naming."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import DEFAULT_DB_ALIAS

from edna.testing.assertions import (
    assert_nothing_left,
    assert_nothing_left_of,
    assert_report_is_current,
    everything_returns,
)
from edna.testing.people import Person, cheap_keys
from edna.testing.search import Needle

if TYPE_CHECKING:
    from unittest import TestCase
else:
    TestCase = object


class DisguiseAssertions(TestCase):
    """Stands before TestCase among the bases. Keys cost nothing in its tests, and in their `setUpTestData`."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.enterClassContext(cheap_keys())
        super().setUpClass()

    def person(self, user: Any, *, password: str | None = None) -> Person:
        """Give the user a key."""
        return Person.registered(user, password=password)

    def assertEverythingReturns(
        self, *, using: str = DEFAULT_DB_ALIAS, ignore: Collection[str] = ()
    ) -> AbstractContextManager[None]:
        return everything_returns(using=using, ignore=ignore)

    def assertNothingLeft(self, *needles: Needle, using: str = DEFAULT_DB_ALIAS, ignore: Collection[str] = ()) -> None:
        assert_nothing_left(*needles, using=using, ignore=ignore)

    def assertNothingLeftOf(
        self, user: Any, disguise: str, *, params: Mapping[str, Any] | None = None, ignore: Collection[str] = ()
    ) -> None:
        assert_nothing_left_of(user, disguise, params=params, ignore=ignore)

    def assertReportIsCurrent(self, path: str | Path, *, facts: Mapping[str, str] | None = None) -> None:
        assert_report_is_current(path, facts=facts)
