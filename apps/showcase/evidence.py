"""The evidence of the guided tours: fingerprints of the tables, a thief's search, pages as others see them, and a database made for it.

Reads the database as somebody would who has stolen it: table by table and as a file, without models.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.backends.db import SessionStore
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.utils import ConnectionHandler
from django.test import Client

from config.database import from_url

Rows = list[tuple[Any, ...]]
#: What differs from one rendering of the same page to the next: the mask of the token in its forms.
TOKENS = re.compile(r'name="csrfmiddlewaretoken" value="[^"]*"')


@contextmanager
def database_of_its_own(path: Path) -> Iterator[None]:
    """Whatever database the site uses: inside, it is a new SQLite file at ``path``."""
    for file in _files(path):
        file.unlink(missing_ok=True)
    description = from_url(f"sqlite:///{path}", base=Path())
    sites_own = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = ConnectionHandler({DEFAULT_DB_ALIAS: description})[DEFAULT_DB_ALIAS]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS].close()
        connections[DEFAULT_DB_ALIAS] = sites_own
        ContentType.objects.clear_cache()


@contextmanager
def log_kept() -> Iterator[list[str]]:
    """What edna writes into the site's log meanwhile, line by line, instead of where the log goes."""
    lines: list[str] = []
    logger = logging.getLogger("edna")
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: lines.append(handler.format(record))  # type: ignore[method-assign]
    logger.addHandler(handler)
    propagated, logger.propagate = logger.propagate, False
    try:
        yield lines
    finally:
        logger.propagate = propagated
        logger.removeHandler(handler)


def _files(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm", "-journal")]


def query(sql: str, *params: Any) -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall()


def tables() -> dict[str, Rows]:
    """Every row of every table, SQLite's own counters of primary keys included."""
    names = [name for (name,) in query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {name: query(f"SELECT * FROM {connection.ops.quote_name(name)} ORDER BY 1, 2") for name in names}  # noqa: S608


def columns(table: str) -> list[str]:
    """Their names, in the order in which `tables` has the values."""
    return [name for _, name, *_ in query(f"PRAGMA table_info({connection.ops.quote_name(table)})")]


def application_tables() -> dict[str, Rows]:
    """All that is the application's: every table but edna's own and that of the sessions."""
    found = {name: rows for name, rows in tables().items() if not name.startswith("edna_") and name != "django_session"}
    if "sqlite_sequence" in found:  # SQLite's own: the last number of each table, edna's among them
        found["sqlite_sequence"] = [row for row in found["sqlite_sequence"] if not str(row[0]).startswith("edna_")]
    return found


def fingerprint(dump: Mapping[str, Rows]) -> str:
    return hashlib.sha256(repr(sorted(dump.items())).encode()).hexdigest()


def changed_rows(before: Mapping[str, Rows], after: Mapping[str, Rows]) -> list[tuple[str, tuple[Any, ...]]]:
    """The rows, with their tables, that are in one of the two but not in the other; a changed row is in it twice."""
    return [
        (name, row)
        for name in sorted({*before, *after})
        for row in set(before.get(name, [])) ^ set(after.get(name, []))
    ]


def counts(*names: str) -> dict[str, int]:
    return {name: query(f"SELECT count(*) FROM {connection.ops.quote_name(name)}")[0][0] for name in names}  # noqa: S608


def printed() -> str:
    """The whole database as text, as a dump tool prints it: blobs in hexadecimal."""
    return "\n".join(
        f"{name}: " + " | ".join(value.hex() if isinstance(value, bytes) else str(value) for value in row)
        for name, rows in tables().items()
        for row in rows
    )


def raw(path: Path) -> bytes:
    """The database's files as they lie on the disk."""
    return b"".join(file.read_bytes() for file in _files(path) if file.exists())


def empty_the_log() -> None:
    """Have SQLite move its write-ahead log into the database and cut it to nothing: it keeps older versions of pages."""
    query("PRAGMA wal_checkpoint(TRUNCATE)")


def hits(needles: Mapping[str, list[str | bytes]], *, text: str, data: bytes) -> dict[str, tuple[int, int]]:
    """How often each group of needles occurs in the printed dump (as itself or in hexadecimal), and in the files."""
    found = {}
    for label, group in needles.items():
        as_bytes = [needle if isinstance(needle, bytes) else needle.encode() for needle in group]
        in_text = sum(text.count(needle) for needle in group if isinstance(needle, str))
        in_text += sum(text.count(needle.hex()) for needle in as_bytes)
        found[label] = (in_text, sum(data.count(needle) for needle in as_bytes))
    return found


def pointers_to(label: str, key: Any) -> int:
    """How many values of foreign keys to the table ``label`` are ``key``, according to the database's own schema."""
    found = 0
    for name in tables():
        for _, _, target, column, *_ in query(f"PRAGMA foreign_key_list({connection.ops.quote_name(name)})"):
            if target == label:
                column, table = connection.ops.quote_name(column), connection.ops.quote_name(name)
                found += query(f"SELECT count(*) FROM {table} WHERE {column} = %s", key)[0][0]  # noqa: S608
    return found


def page(path: str, *, reader: AbstractBaseUser | None = None, backend: str = "") -> str:
    """A page as somebody reads it, without the tokens in its forms, which are never the same twice.

    ``reader`` is whoever is logged in. They were before the tour began: to log in would write to their row.
    """
    browser = Client(SERVER_NAME="localhost")
    session = SessionStore()
    if reader is not None:
        session[SESSION_KEY] = reader._meta.pk.value_to_string(reader)
        session[BACKEND_SESSION_KEY] = backend
        session[HASH_SESSION_KEY] = reader.get_session_auth_hash()
        session.save()
        browser.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    response = browser.get(path, secure=settings.SECURE_SSL_REDIRECT)
    if reader is not None:
        session.delete()
    if response.status_code != 200:
        raise ValueError(f"{path} was answered with {response.status_code}")
    return TOKENS.sub("", response.content.decode())
