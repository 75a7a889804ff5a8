"""Which database is at work, on a site that keeps its people in several: each of them has edna's tables, and a disguise stays within one.

Keeps one context variable, so that no function takes an alias only to hand it on. The door needs none: a person says where they are, and
a key where it was found. Whatever begins a transaction says it for what it calls; `on` says it where neither a person nor a key does.
Threads and tasks that somebody starts do not have it, and are told. Where there is one database, nobody asks for it. Knows aliases; no
models and no routers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from edna import conf
from edna.errors import DatabaseNotChosen

#: None outside of everything.
at_work: Final[ContextVar[str | None]] = ContextVar("edna_alias", default=None)


@contextmanager
def on(alias: str) -> Iterator[None]:
    """What is called in the block works on this database: ``with edna.on("north"):``, one of ``EDNA["DATABASES"]``.

    For what names nobody: everybody's disguises, jobs, upkeep; or a whole request, if its address says where its people are.

    Raises:
        DatabaseNotChosen: it is none of them.
    """
    if alias not in conf.databases():
        known = listed(conf.databases()) or "none: the site has one database"
        raise DatabaseNotChosen(f'{alias!r} is not among EDNA["DATABASES"] ({known}). Nothing was done.')
    with at(alias):
        yield


def named(alias: str) -> str | None:
    """The alias, for whoever reads of what was done there; None where there is one database."""
    return alias if conf.databases() else None


def listed(aliases: Iterable[str]) -> str:
    """In quotes, by which a message that names a database is known (`edna.api_http.answers`)."""
    return ", ".join(map(repr, aliases))


def in_words(alias: str | None = None) -> str:
    """Where something was looked for, in the middle of a sentence; nothing where there is one database."""
    looked_in = alias or at_work.get()
    return f" in the database {looked_in!r}" if looked_in and conf.databases() else ""


def as_argument() -> str:
    """What names to a command the database that is at work, behind its other arguments; nothing where there is one database."""
    alias = at_work.get()
    return f" --database {alias}" if alias and conf.databases() else ""


@contextmanager
def at(alias: str) -> Iterator[None]:
    """As `on`, for an alias that is known to be right."""
    token = at_work.set(alias)
    try:
        yield
    finally:
        at_work.reset(token)
