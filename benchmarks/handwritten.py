"""What hand-written SQL needs for leaving rows without their owner, in one INSERT and one UPDATE for each column."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.kit.driver import Driver, Row


def repoint(
    driver: Driver,
    table: str,
    column: str,
    where: str,
    params: Row,
    *,
    placeholders: tuple[str, Mapping[str, str]],
    key: tuple[str, ...] = ("id",),
    group: str | None = None,
    also: Mapping[str, str] | None = None,
) -> None:
    """Give the rows of ``table t`` that ``where`` finds to new placeholder people, one for each row or each value of ``group``.

    ``placeholders``: the table of people and an SQL expression for each column that has to be filled; its primary key counts up.
    ``also``: columns of the rows that are set to an SQL expression on the way.
    """
    people, filled = placeholders
    quoted = driver.quoted
    keys = [f"t.{quoted(column)}" for column in key]
    groups = group or ", ".join(keys)
    driver.execute(
        f"INSERT INTO {quoted(people)} ({', '.join(map(quoted, filled))}) SELECT {', '.join(filled.values())} "
        f"FROM (SELECT DISTINCT {groups} FROM {quoted(table)} t WHERE {where}) g",
        params,
    )
    made = driver.cursor.rowcount
    if made < 1:
        return
    # MariaDB tells the first of the numbers that it gave in one statement, SQLite the last.
    first = driver.cursor.lastrowid - (made - 1 if driver.is_sqlite else 0)
    ranked = f"(SELECT {', '.join(keys)}, DENSE_RANK() OVER (ORDER BY {groups}) - 1 AS n FROM {quoted(table)} t WHERE {where}) r"
    changes = {column: "%s + r.n", **(also or {})}
    target = quoted(table) if driver.is_sqlite else "u"
    matched = " AND ".join(f"r.{quoted(column)} = {target}.{quoted(column)}" for column in key)
    if driver.is_sqlite:
        assignments = ", ".join(f"{quoted(name)} = {value}" for name, value in changes.items())
        sql, given = f"UPDATE {target} SET {assignments} FROM {ranked} WHERE {matched}", (first, *params)
    else:
        assignments = ", ".join(f"u.{quoted(name)} = {value}" for name, value in changes.items())
        sql, given = f"UPDATE {quoted(table)} u JOIN {ranked} ON {matched} SET {assignments}", (*params, first)
    driver.execute(sql, given)


def random_text(driver: Driver) -> str:
    """An SQL expression, another value for each row."""
    return "lower(hex(randomblob(16)))" if driver.is_sqlite else "LOWER(HEX(RANDOM_BYTES(16)))"
