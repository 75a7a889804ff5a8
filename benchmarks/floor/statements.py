"""The floor's statements for many rows at once: read and locked, inserted, changed each to its own values, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.kit.dialects import Piece, listed
from benchmarks.kit.driver import Driver, Row


def marks(count: int) -> str:
    return ", ".join(["%s"] * count)


def select(driver: Driver, sql: str, params: Row) -> list[tuple[Any, ...]]:
    return list(driver.execute(sql, params).fetchall())


def insert(driver: Driver, table: str, rows: Sequence[Row], columns: Sequence[str] = ()) -> None:
    named = f" ({', '.join(map(driver.quoted, columns))})" if columns else ""
    driver.insert(f"INSERT INTO {driver.quoted(table)}{named}", rows)


def delete(driver: Driver, table: str, key: Sequence[str], rows: Sequence[Row]) -> None:
    where, params = _among(driver, key, rows)
    driver.execute(f"DELETE FROM {driver.quoted(table)} WHERE {where}", params)


def change(
    driver: Driver, table: str, key: Sequence[str], names: Sequence[str], rows: Sequence[tuple[Row, Row, Row]]
) -> None:
    """Each row is its key, what stands in the named columns, and what is to stand there.

    Raises:
        AssertionError: one of them is not there any more, or holds something else.
    """
    quoted, dialect = driver.quoted, driver.dialect
    if dialect.row_by_row or len(rows) == 1:
        values = ", ".join(f"{quoted(name)} = %s" for name in names)
        kept = [f"{quoted(name)} {dialect.same} %s" for name in names]
        sql = (
            f"UPDATE {quoted(table)} SET {values} WHERE {' AND '.join([f'{quoted(name)} = %s' for name in key] + kept)}"
        )
        given = [(*new, *pk, *old) for pk, old, new in rows]
        if dialect.row_by_row:
            driver.many(sql, given)
        else:
            driver.execute(sql, given[0])
    else:
        _change_joined(driver, table, key, names, rows)
    if driver.cursor.rowcount != len(rows):
        raise AssertionError(f"{table}: {driver.cursor.rowcount} of {len(rows)} rows are as they were left")


def _change_joined(
    driver: Driver, table: str, key: Sequence[str], names: Sequence[str], rows: Sequence[tuple[Row, Row, Row]]
) -> None:
    """One UPDATE beside a list of values; what is the same in all rows stands in it once."""
    quoted, same = driver.quoted, driver.dialect.same
    columns: list[Row] = [[pk[place] for pk, _, _ in rows] for place in range(len(key))]
    match = [f"u.{quoted(name)} = g.c{place}" for place, name in enumerate(key)]
    matched: list[Any] = []

    def term(values: Row) -> Piece:
        first = values[0]
        if all(value == first and type(value) is type(first) for value in values):
            return "%s", [first]
        columns.append(values)
        return f"g.c{len(columns) - 1}", []

    changes = {}
    for place, name in enumerate(names):
        value, given = term([old[place] for _, old, _ in rows])
        match.append(f"u.{quoted(name)} {same} {value}")
        matched += given
        changes[name] = term([new[place] for _, _, new in rows])
    source = listed([f"c{place}" for place in range(len(columns))], list(zip(*columns, strict=True)))
    driver.execute(*driver.dialect.joined_update(table, source, (" AND ".join(match), matched), changes))


def _among(driver: Driver, key: Sequence[str], rows: Sequence[Row]) -> tuple[str, list[Any]]:
    names = ", ".join(map(driver.quoted, key))
    if len(key) == 1:
        return f"{names} IN ({marks(len(rows))})", [row[0] for row in rows]
    given = ", ".join([f"({marks(len(key))})"] * len(rows))
    return f"({names}) IN ({driver.dialect.rows_prefix}{given})", [value for row in rows for value in row]
