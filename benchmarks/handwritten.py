"""What hand-written SQL needs for leaving rows without their owner, in one INSERT and one UPDATE for each column: in one
statement where the database can."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.kit.dialects import Piece
from benchmarks.kit.driver import Driver, Row

#: The table of people with its primary key, which counts up, and an SQL expression for each column that has to be filled.
Placeholders = tuple[tuple[str, str], Mapping[str, str]]


def repoint(
    driver: Driver,
    table: str,
    column: str,
    where: str,
    params: Row,
    *,
    placeholders: Placeholders,
    key: tuple[str, ...] = ("id",),
    group: str | None = None,
    also: Mapping[str, str] | None = None,
) -> None:
    """Give the rows of ``table t`` that ``where`` finds to new placeholder people, one for each row or each value of ``group``.

    ``also``: columns of the rows that are set to an SQL expression on the way.
    """
    (people, person), filled = placeholders
    quoted, dialect = driver.quoted, driver.dialect
    keys = [f"t.{quoted(name)}" for name in key]
    groups = group or ", ".join(keys)
    found = f"FROM {quoted(table)} t WHERE {where}"
    ranked = f"SELECT {', '.join(keys)}, DENSE_RANK() OVER (ORDER BY {groups}) AS n {found}"
    into = f"INSERT INTO {quoted(people)} ({', '.join(map(quoted, filled))}) SELECT {', '.join(filled.values())} FROM"
    match = " AND ".join(f"g.{quoted(name)} = u.{quoted(name)}" for name in key), ()
    changes: dict[str, Piece] = {name: (value, ()) for name, value in (also or {}).items()}
    if dialect.inserts_in_queries:
        numbered = f"(SELECT {quoted(person)} AS person, ROW_NUMBER() OVER () AS n FROM made)"
        given = f"(SELECT r.*, m.person FROM r JOIN {numbered} m ON m.n = r.n)", ()
        sql, _ = dialect.joined_update(table, given, match, {column: ("g.person", ()), **changes})
        made = f"{into} (SELECT DISTINCT n FROM r) d RETURNING {quoted(person)}"
        driver.execute(f"WITH r AS ({ranked}), made AS ({made}) {sql}", params)
        return
    driver.execute(f"{into} (SELECT DISTINCT {groups} {found}) d", params)
    made_count = driver.cursor.rowcount
    if made_count < 1:
        return
    first = dialect.first_key(driver.cursor, made_count)
    changes = {column: ("%s + g.n - 1", (first,)), **changes}
    driver.execute(*dialect.joined_update(table, (f"({ranked})", params), match, changes))
