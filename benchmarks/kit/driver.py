"""The bare driver, for the hand-written SQL; and rows as they were, to compare with and to put back.

Takes its connection parameters from Django's settings, so that both sides talk to the same database over the same kind of
connection with the same options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.conf import settings

from benchmarks.kit.dialects import dialect_of, listed, quoted

Row = Sequence[Any]
#: Rows of one statement that puts rows back: each stays well below what the server takes in one packet.
_BATCH = 5000


class Driver:
    """A connection of mysqlclient, sqlite3 or psycopg, and how many statements went through it (transactions not counted)."""

    def __init__(self) -> None:
        database = settings.DATABASES["default"]
        self.statements = 0
        self.dialect = dialect_of(database)
        self.connection: Any = self.dialect.connect(database)
        self.cursor = self.connection.cursor()

    def execute(self, sql: str, params: Row = ()) -> Any:
        self.statements += 1
        self.cursor.execute(self.dialect.written(sql), params)
        return self.cursor

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        self.statements += 1
        self.cursor.executemany(self.dialect.written(sql), rows)

    def number(self, sql: str, params: Row = ()) -> int:
        """The one number that a query gives; NULL counts as none."""
        return int(self.execute(sql, params).fetchone()[0] or 0)

    def insert(self, into: str, rows: Sequence[Row]) -> None:
        """All rows at once, in the form that is quickest; ``into`` is what stands before VALUES."""
        row = f"({', '.join(['%s'] * len(rows[0]))})"
        if self.dialect.row_by_row:
            self.many(f"{into} VALUES {row}", rows)
        else:
            sql = f"{into} VALUES {', '.join([row] * len(rows))}"
            self.execute(sql, [value for each in rows for value in each])

    def insert_one(self, sql: str, params: Row, *, key: str = "id") -> Any:
        """The key of the new row, which the database has made."""
        return self.dialect.new_key(self.execute(sql + self.dialect.returning(key), params))

    def quoted(self, name: str) -> str:
        return quoted(name)

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
        self.dialect.begin(self.cursor)

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()

    @contextmanager
    def without_references(self) -> Iterator[None]:
        """Foreign keys are not looked at meanwhile: rows are put back in no particular order."""
        self._set(self.dialect.references[0])
        try:
            yield
        finally:
            self._set(self.dialect.references[1])

    def _set(self, sql: str) -> None:
        self.cursor.execute(sql)
        self.connection.commit()

    def server(self) -> str:
        """The database's version, and the settings that decide how durable, and so how slow, a commit is."""
        told = self.dialect.settings(self.cursor)
        self.connection.commit()
        return told

    def close(self) -> None:
        self.connection.close()


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
                keys, into = driver.dialect.unique_keys(driver.cursor, table), driver.dialect.inserts_over
                for start in range(0, len(rows), _BATCH):
                    some = rows[start : start + _BATCH]
                    for key in keys:
                        self._take_out(table, list(key.values()), [[row[place] for place in key] for row in some])
                    driver.insert(f"{into} {driver.quoted(table)}", some)

    def _take_out(self, table: str, names: Sequence[str], rows: Sequence[Row]) -> None:
        given = [f"c{place}" for place in range(len(names))]
        sql, params = listed(given, rows)
        match = " AND ".join(f"u.{quoted(name)} = g.{place}" for name, place in zip(names, given, strict=True))
        self._driver.execute(f"DELETE FROM {quoted(table)} u USING {sql} g WHERE {match}", params)
