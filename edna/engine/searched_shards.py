"""The databases in which something is looked for, where one of several may be away: it is passed over as long as another has what is asked.

Keeps: what was found counts; that nothing was found is said only by all of them. Knows aliases; no keys, no tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from django.db import InterfaceError, OperationalError

from edna.errors import DatabaseBusy

Found = TypeVar("Found")


class SearchedShards:
    def __init__(self, aliases: Sequence[str]) -> None:
        self._aliases = aliases
        #: The error's class of each that is away.
        self._away: dict[str, str] = {}

    def there(self) -> list[str]:
        """Those that have answered so far."""
        return [alias for alias in self._aliases if alias not in self._away]

    def ask(self, question: Callable[[str], Iterable[Found]]) -> list[tuple[Found, str]]:
        """What each answers, and which one it was. Where there is one, its errors are its own."""
        found: list[tuple[Found, str]] = []
        for alias in self.there():
            with self.passed_over_if_away(alias):
                found += [(each, alias) for each in question(alias)]
        return found

    @contextmanager
    def passed_over_if_away(self, alias: str) -> Iterator[None]:
        """For what is asked of this one."""
        try:
            yield
        except (OperationalError, InterfaceError) as error:
            if len(self._aliases) == 1:
                raise
            self._away[alias] = type(error).__name__

    def require_all(self, *, otherwise: str = "None of the others has what was looked for.") -> None:
        """
        Raises:
            DatabaseBusy: one is away, so that it is not known what is there.
        """
        if self._away:
            which = ", ".join(f"{alias!r} ({self._away[alias]})" for alias in self._aliases if alias in self._away)
            raise DatabaseBusy(
                f"These databases do not answer: {which}. {otherwise} Nothing was changed; try again when they do."
            )
