"""The floor's statements for many rows at once: read and locked, inserted, changed each to its own values, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.kit.driver import Driver, Row


def locked(driver: Driver) -> str:
    """What a SELECT ends with whose rows stay as they are until the commit. SQLite's transaction has locked all."""
    return "" if driver.is_sqlite else " FOR UPDATE"


def marks(count: int) -> str:
    return ", ".join(["%s"] * count)


def select(driver: Driver, sql: str, params: Row) -> list[tuple[Any, ...]]:
    return list(driver.execute(sql, params).fetchall())


def insert(driver: Driver, table: str, rows: Sequence[Row], columns: Sequence[str] = ()) -> None:
    named = f" ({', '.join(map(driver.quoted, columns))})" if columns else ""
    values = f"({marks(len(rows[0]))})"
    if driver.is_sqlite:
        driver.many(f"INSERT INTO {driver.quoted(table)}{named} VALUES {values}", rows)
        return
    listed = ", ".join([values] * len(rows))
    driver.execute(
        f"INSERT INTO {driver.quoted(table)}{named} VALUES {listed}", [value for row in rows for value in row]
    )


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
    quoted = driver.quoted
    if driver.is_sqlite:
        values = ", ".join(f"{quoted(name)} = %s" for name in names)
        where = " AND ".join([f"{quoted(name)} = %s" for name in key] + [f"{quoted(name)} IS %s" for name in names])
        driver.many(f"UPDATE {quoted(table)} SET {values} WHERE {where}", [(*new, *pk, *old) for pk, old, new in rows])
    elif len(rows) == 1:
        ((pk, old, new),) = rows
        values = ", ".join(f"{quoted(name)} = %s" for name in names)
        where = " AND ".join([f"{quoted(name)} = %s" for name in key] + [f"{quoted(name)} <=> %s" for name in names])
        driver.execute(f"UPDATE {quoted(table)} SET {values} WHERE {where}", [*new, *pk, *old])
    else:
        _change_joined(driver, table, key, names, rows)
    if driver.cursor.rowcount != len(rows):
        raise AssertionError(f"{table}: {driver.cursor.rowcount} of {len(rows)} rows are as they were left")


def _change_joined(
    driver: Driver, table: str, key: Sequence[str], names: Sequence[str], rows: Sequence[tuple[Row, Row, Row]]
) -> None:
    """One UPDATE beside a list of values; what is the same in all rows stands in it once."""
    quoted = driver.quoted
    columns: list[Row] = [[pk[place] for pk, _, _ in rows] for place in range(len(key))]
    match = [f"u.{quoted(name)} = g.c{place}" for place, name in enumerate(key)]
    same: list[Any] = []

    def term(values: Row) -> tuple[str, list[Any]]:
        first = values[0]
        if all(value == first and type(value) is type(first) for value in values):
            return "%s", [first]
        columns.append(values)
        return f"g.c{len(columns) - 1}", []

    changes, changed = [], []
    for place, name in enumerate(names):
        value, given = term([old[place] for _, old, _ in rows])
        match.append(f"u.{quoted(name)} <=> {value}")
        same += given
        value, given = term([new[place] for _, _, new in rows])
        changes.append(f"u.{quoted(name)} = {value}")
        changed += given
    listed = ", ".join(f"c{place}" for place in range(len(columns)))
    values = ", ".join([f"({marks(len(columns))})"] * len(rows))
    driver.execute(
        f"UPDATE {quoted(table)} u JOIN (WITH g ({listed}) AS (VALUES {values}) SELECT * FROM g) g "
        f"ON {' AND '.join(match)} SET {', '.join(changes)}",
        [*(value for row in zip(*columns, strict=True) for value in row), *same, *changed],
    )


def _among(driver: Driver, key: Sequence[str], rows: Sequence[Row]) -> tuple[str, list[Any]]:
    names = ", ".join(map(driver.quoted, key))
    if len(key) == 1:
        return f"{names} IN ({marks(len(rows))})", [row[0] for row in rows]
    given = ", ".join([f"({marks(len(key))})"] * len(rows))
    return f"({names}) IN ({'VALUES ' if driver.is_sqlite else ''}{given})", [value for row in rows for value in row]
