"""Everything that lasts, compared and put back: the rows of every table and the files."""

from __future__ import annotations

import functools
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from edna.testing import Dump
from edna.testing.dumps import dump_query, filled, tables
from tests import support


@dataclass(frozen=True)
class State:
    """Every row of every table, and every file, byte for byte."""

    application: Dump
    edna: Dump
    files: dict[str, bytes]

    @classmethod
    def now(cls) -> State:
        wanted = tables()
        with_rows = filled(wanted)
        found = {table: _rows(table) if table in with_rows else [] for table in wanted}
        of_people = set(support.EDNA_TABLES) - support.AUDIT_TABLES
        own = {table: rows for table, rows in found.items() if table in of_people} | support.acts_noted()
        application = {table: rows for table, rows in found.items() if not table.startswith("edna_")}
        return cls(application, own, _files())

    def sizes(self) -> dict[str, int]:
        """What two runs of one operation have in common, whose keys and ciphertexts are random."""
        return {table: len(rows) for table, rows in (self.application | self.edna).items()} | {"files": len(self.files)}


_query_of = functools.cache(dump_query)  # the tables here keep their columns


def _rows(table: str) -> list[tuple[str | None, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(_query_of(table), [])
        return sorted(cursor.fetchall(), key=repr)


def _files() -> dict[str, bytes]:
    # Without one, Django means the current directory: restoring would write over the work tree.
    assert settings.MEDIA_ROOT, "set MEDIA_ROOT to a temporary directory"
    root = Path(settings.MEDIA_ROOT)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


class Snapshot:
    """A prepared database and its files, to go back to."""

    def __init__(self) -> None:
        self._files = _files()
        if connection.vendor == "sqlite":
            connection.ensure_connection()
            self._copy = sqlite3.connect(":memory:", check_same_thread=False)
            connection.connection.backup(self._copy)
        else:
            self._rows = {table: self._read(table) for table in tables()}

    def restore(self) -> None:
        for name in _files().keys() - self._files.keys():
            (Path(settings.MEDIA_ROOT) / name).unlink()
        for name, content in self._files.items():
            path = Path(settings.MEDIA_ROOT) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if connection.vendor == "sqlite":
            connection.ensure_connection()
            self._copy.backup(connection.connection)
            return
        with connection.constraint_checks_disabled(), transaction.atomic(), connection.cursor() as cursor:
            for table in self._rows:
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")
            for table, (names, rows) in self._rows.items():
                marks = ", ".join(["%s"] * len(names))
                columns = ", ".join(map(connection.ops.quote_name, names))
                for row in rows:
                    cursor.execute(
                        f"INSERT INTO {connection.ops.quote_name(table)} ({columns}) VALUES ({marks})", list(row)
                    )

    @staticmethod
    def _read(table: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            return [column[0] for column in cursor.description], cursor.fetchall()
