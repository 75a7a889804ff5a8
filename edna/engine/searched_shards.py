"""The databases in which something is looked for, where one of several may be away: it is passed over as long as another has what is asked.

Keeps: what was found counts; that nothing was found is said only by all of them. Knows aliases, and that each of them knows the server's
key; no keys of people, no tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from django.db import InterfaceError, OperationalError

from edna import shards
from edna.errors import DatabaseBusy, DatabaseNotChosen
from edna.store import serverkeys

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

    def first(self, question: Callable[[str], object]) -> str:
        """The first that answers.

        Raises:
            DatabaseBusy: none of several does.
        """
        for alias in self.there():
            with self.passed_over_if_away(alias):
                question(alias)
                return alias
        raise self._busy("One of them is needed.")

    def require_all(self, *, otherwise: str = "None of the others has what was looked for.") -> None:
        """
        Raises:
            DatabaseBusy: one is away, so that it is not known what is there.
        """
        if self._away:
            raise self._busy(otherwise)

    def _busy(self, otherwise: str) -> DatabaseBusy:
        which = ", ".join(f"{alias!r} ({self._away[alias]})" for alias in self._aliases if alias in self._away)
        return DatabaseBusy(
            f"These databases do not answer: {which}. {otherwise} Nothing was changed; try again when they do."
        )


def the_one_with(question: Callable[[str], Iterable[object]], *, aliases: Sequence[str]) -> str:
    """The one that answers with something, or any of them, if none does: what is looked for is not there either. Where there is one, or one
    is at work, nothing is asked.

    Raises:
        DatabaseNotChosen: several do.
        DatabaseBusy: one is away, and no other has it.
    """
    if len(aliases) == 1:
        return aliases[0]
    databases = SearchedShards(aliases)
    found = sorted({using for _, using in databases.ask(question)})
    if not found:
        databases.require_all()
    if len(found) > 1:
        raise DatabaseNotChosen(
            f"What was looked for is in several databases ({shards.listed(found)}). Nothing was done; log in as whose is meant."
        )
    return found[0] if found else aliases[0]


def knowing_a_key(aliases: Sequence[str]) -> SearchedShards:
    """
    Raises:
        ServerKeyUnknown: one of them knows none of the configured keys.
    """
    databases = SearchedShards(aliases)

    def ask(using: str) -> Sequence[None]:
        serverkeys.require_any(using=using)
        return ()

    databases.ask(ask)
    return databases


def one_that_may_seal(aliases: Sequence[str]) -> str:
    """For what is made under the server's key and kept in none of them, for they all have the same one. Of one nothing is asked.

    Raises:
        ServerKeyUnknown: it does not know the key that seals. DatabaseBusy: none of several answers.
    """
    if len(aliases) == 1:
        return aliases[0]
    return SearchedShards(aliases).first(lambda using: serverkeys.require(using=using))
