"""The connection and the cursor that statements go through: in a transaction of ours one for all. To make a cursor costs as much as to
send a short statement, and to ask Django for a connection a tenth of that.

What is inserted goes through one of its own (`rows.writing`): it may be large, and a cursor keeps what it sent last.

Invariant: whoever asks for a cursor reads all of an answer before anybody asks again. Knows no SQL.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import cast

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
        return connection.cursor()
    return nullcontext(shared)
