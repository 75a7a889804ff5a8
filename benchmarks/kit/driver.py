"""The bare driver, for the hand-written SQL; and rows as they were, to compare with and to put back.

Takes its connection parameters from Django's settings, so that both sides talk to the same database over the same kind of
connection with the same options.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.conf import settings

Row = Sequence[Any]
#: Rows of one statement that puts rows back: each stays well below what the server takes in one packet.
_BATCH = 5000


class Driver:
    """A connection of mysqlclient or sqlite3, and how many statements went through it (transactions not counted)."""

    def __init__(self) -> None:
        database = settings.DATABASES["default"]
        self.statements = 0
        self.is_sqlite = database["ENGINE"].endswith("sqlite3")
        if self.is_sqlite:
            import sqlite3

            self.connection: Any = sqlite3.connect(database["NAME"], isolation_level=None, timeout=20)
            self.connection.executescript(f"{database['OPTIONS']['init_command']} PRAGMA foreign_keys=ON;")
        else:
            import MySQLdb

            options = database["OPTIONS"]
            host = database["HOST"]
            self.connection = MySQLdb.connect(
                user=database["USER"],
                password=database["PASSWORD"],
                database=database["NAME"],
                charset=options["charset"],
                init_command=options["init_command"],
                binary_prefix=True,  # bytes among values that a statement lists are no text
                **(
                    {"unix_socket": host}
                    if host.startswith("/")
                    else {"host": host, "port": int(database["PORT"] or 3306)}
                ),
            )
            self.connection.query(f"SET SESSION TRANSACTION ISOLATION LEVEL {options['isolation_level']}")
        self.cursor = self.connection.cursor()

    def execute(self, sql: str, params: Row = ()) -> Any:
        self.statements += 1
        self.cursor.execute(self._dialect(sql), params)
        return self.cursor

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        self.statements += 1
        self.cursor.executemany(self._dialect(sql), rows)

    def number(self, sql: str, params: Row = ()) -> int:
        """The one number that a query gives; NULL counts as none."""
        return int(self.execute(sql, params).fetchone()[0] or 0)

    def quoted(self, name: str) -> str:
        return f'"{name}"' if self.is_sqlite else f"`{name}`"

    def _dialect(self, sql: str) -> str:
        return _question_marks(sql) if self.is_sqlite else sql

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.begin()
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def begin(self) -> None:
        """MariaDB's transactions begin by themselves, with the first statement."""
        if self.is_sqlite:
            self.cursor.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()

    @contextmanager
    def without_references(self) -> Iterator[None]:
        """Foreign keys are not looked at meanwhile: rows are put back in no particular order."""
        switch = "PRAGMA foreign_keys = {}" if self.is_sqlite else "SET foreign_key_checks = {}"
        self.cursor.execute(switch.format(0))
        try:
            yield
        finally:
            self.cursor.execute(switch.format(1))

    def server(self) -> str:
        """The database's version, and the settings that decide how durable, and so how slow, a commit is."""
        if self.is_sqlite:
            names: tuple[str, ...] = ("journal_mode", "synchronous", "secure_delete")
            found = {name: self.execute(f"PRAGMA {name}").fetchone()[0] for name in names}
            version = "SQLite " + self.execute("SELECT sqlite_version()").fetchone()[0]
        else:
            names = ("flush_log_at_trx_commit", "doublewrite", "buffer_pool_size", "flush_method")
            found = {f"innodb_{name}": self.execute(f"SELECT @@innodb_{name}").fetchone()[0] for name in names}
            found["log_bin"] = self.execute("SELECT @@log_bin").fetchone()[0]
            version = "MariaDB " + self.execute("SELECT @@version").fetchone()[0]
        self.connection.commit()
        return f"{version}: " + ", ".join(f"{name}={value}" for name, value in found.items())

    def close(self) -> None:
        self.connection.close()


@functools.cache
def _question_marks(sql: str) -> str:
    return sql.replace("%s", "?")


class Affected(NamedTuple):
    """Rows of one table that an operation means to change: ``SELECT t.* FROM table t WHERE`` finds them."""

    table: str
    where: str
    params: tuple[Any, ...]


class Snapshot:
    """Rows as they are now, by table: to compare with what there is later, and to put back."""

    def __init__(self, driver: Driver, affected: Sequence[Affected]) -> None:
        self._driver, self._affected = driver, affected
        self.rows = self._read()

    def _read(self) -> Mapping[str, list[tuple[Any, ...]]]:
        driver = self._driver
        found: dict[str, set[tuple[Any, ...]]] = {}
        for table, where, params in self._affected:
            sql = f"SELECT t.* FROM {driver.quoted(table)} t WHERE {where}"
            found.setdefault(table, set()).update(map(tuple, driver.execute(sql, params).fetchall()))
        driver.connection.commit()
        return {table: sorted(rows, key=repr) for table, rows in found.items()}

    def __len__(self) -> int:
        return sum(map(len, self.rows.values()))

    def assert_unchanged(self) -> None:
        """Every row, byte for byte."""
        for table, now in self._read().items():
            if now != self.rows[table]:
                gone, new = set(self.rows[table]) - set(now), set(now) - set(self.rows[table])
                raise AssertionError(f"{table} is not what it was: {len(gone)} rows are missing, {len(new)} are new")

    def put_back(self, *, new: Mapping[str, tuple[str, int]]) -> None:
        """Write every row as it was, over what is there; take out the rows of ``new``: by table, a column and its least value."""
        driver = self._driver
        with driver.without_references(), driver.transaction():
            for table, (column, least) in new.items():
                driver.execute(f"DELETE FROM {driver.quoted(table)} WHERE {driver.quoted(column)} >= %s", (least,))
            for table, rows in self.rows.items():
                marks = ", ".join(["%s"] * len(rows[0])) if rows else ""
                for start in range(0, len(rows), _BATCH):
                    driver.many(f"REPLACE INTO {driver.quoted(table)} VALUES ({marks})", rows[start : start + _BATCH])
