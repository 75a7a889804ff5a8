"""What PostgreSQL says of tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from edna.checks.catalogue.description import Column, Description


def read(cursor: Any, tables: Collection[str]) -> Mapping[str, Description]:
    quote = cursor.db.ops.quote_name
    found: dict[str, Description] = {}
    by_id: dict[int, Description] = {}
    for table in sorted(tables):
        cursor.execute("SELECT to_regclass(%s)::oid::bigint", [quote(table)])
        [(number,)] = cursor.fetchall()
        if number is not None:
            by_id[number] = found[table] = Description()

    def each(sql: str) -> Any:
        cursor.execute(sql, [list(by_id)])
        return [(by_id[number], *row) for number, *row in cursor.fetchall()]

    for one, column, kind, generated in each(
        "SELECT attrelid::bigint, attname, format_type(atttypid, NULL), attgenerated <> '' FROM pg_attribute "
        "WHERE attrelid = ANY (%s) AND attnum > 0 AND NOT attisdropped ORDER BY attrelid, attnum"
    ):
        one.columns[column] = Column(generated, kind == "interval")
    for one, name in each(
        "SELECT tgrelid::bigint, tgname FROM pg_trigger WHERE tgrelid = ANY (%s) AND NOT tgisinternal AND tgenabled <> 'D'"
    ):
        one.acts.append(f"trigger {name}")
    for one, name in each(
        "SELECT ev_class::bigint, rulename FROM pg_rewrite WHERE ev_class = ANY (%s) AND ev_type IN ('2', '3', '4')"
    ):
        one.acts.append(f"rule {name}")
    for one in each("SELECT oid::bigint FROM pg_class WHERE oid = ANY (%s) AND relrowsecurity"):
        one[0].acts.append("row-level security")
    for one, name in each(
        "SELECT inhparent::bigint, inhrelid::regclass::text FROM pg_inherits JOIN pg_class p ON p.oid = inhparent "
        "WHERE inhparent = ANY (%s) AND p.relkind = 'r'"
    ):
        one.inheriting.append(name)
    for one, other, column in each(
        "SELECT confrelid::bigint, c.relname, a.attname FROM pg_constraint JOIN pg_class c ON c.oid = conrelid "
        "JOIN pg_attribute a ON a.attrelid = conrelid AND a.attnum = ANY (conkey) "
        "WHERE confrelid = ANY (%s) AND contype = 'f' AND confdeltype IN ('c', 'n', 'd')"
    ):
        one.changes_along.append((other, column))
    return found
