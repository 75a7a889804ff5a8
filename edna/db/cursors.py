"""The connection and the cursor that statements go through: in a transaction of ours one for all. To make a cursor costs as much as to
send a short statement, and to ask Django for a connection a tenth of that.

What is inserted goes through one of its own (`rows.writing`): it may be large, and a cursor keeps what it sent last.

Invariant: whoever asks for a cursor reads all of an answer before anybody asks again. Knows no SQL.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, cast

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorDebugWrapper, CursorWrapper


class _Shared(threading.local):
    """As connections are, each thread's own."""

    cursor: CursorWrapper | None = None


_shared = _Shared()


def connection_of(using: str) -> BaseDatabaseWrapper:
    """This thread's connection to the database."""
    shared = _shared.cursor
    if shared is not None and shared.db.alias == using:
        return cast(BaseDatabaseWrapper, shared.db)
    return connections[using]


@contextmanager
def one_cursor(*, using: str) -> Iterator[None]:
    """In the block, a transaction, `cursor_of` gives this database the same cursor each time."""
    before = _shared.cursor
    with connections[using].cursor() as _shared.cursor:
        try:
            _read_json_as_text(_shared.cursor)
            yield
        finally:
            _shared.cursor = before


def cursor_of(connection: BaseDatabaseWrapper) -> AbstractContextManager[CursorWrapper]:
    """A cursor for one statement, or for several in a row."""
    shared = _shared.cursor
    # Whoever begins to log statements in the middle wants all of them.
    if (
        shared is None
        or shared.db is not connection
        or connection.queries_logged != isinstance(shared, CursorDebugWrapper)
    ):
        cursor = connection.cursor()
        _read_json_as_text(cursor)
        return cursor
    return nullcontext(shared)


def _read_json_as_text(cursor: CursorWrapper) -> None:
    """As Django has it of jsonb. What psycopg makes of json, it takes back in another form, or not at all."""
    adapters = getattr(cursor.cursor, "adapters", None)
    if cursor.db.vendor == "postgresql" and adapters is not None:
        adapters.register_loader("json", _text_loader())


@functools.cache
def _text_loader() -> Any:
    from psycopg.types.string import TextLoader

    return TextLoader
