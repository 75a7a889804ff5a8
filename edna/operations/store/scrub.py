"""How rows lie in the files of the database, and statements that let that say nothing: for `edna.operations.upkeep.scrubbing`.

Invariant: no statement here changes, adds or removes a value that an application or edna can read. A row is written as it is at that
very moment, under its lock, never as it was read before; and no lock is waited for while another one is held. Rows that
somebody else holds are left out, and the caller is told which.
Knows tables and keys, any model's; not whose they are. The second module with SQL of its own (docs/decisions/0007): here it differs
from database to database, and `edna.db.rows` stays what disguises need.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Final

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BinaryField

from edna import conf
from edna.db.rows import GIVEN, Row, Table, marks_for, plain, table_of
from edna.models import Bag, KeySlot, PrincipalEntry, Replay, SessionLink
from edna.operations.models import LedgerEntry

#: What keeps a table from being rewritten; see `obstacle`.
NOT_A_TABLE: Final = "not_a_table"
TRIGGERS: Final = "triggers"

#: A table is not waited for longer: whoever wants to read it would wait behind us.
_LOCK_SECONDS: Final = 2


def own_tables() -> list[Table]:
    """All of edna's."""
    return [table_of(model) for model in conf.own_models()]


def unlabelled_tables() -> list[Table]:
    """Those whose rows are somebody's and do not say whose, so that nothing else may say it.

    Not those of pending work: whoever does it passes over rows that are locked, and would take ours for somebody's at work.
    """
    return [table_of(model) for model in (Bag, PrincipalEntry, KeySlot, SessionLink, Replay, LedgerEntry)]


def pseudoprincipals(model: str, *, at_once: int, using: str) -> Iterator[list[str]]:
    """The references of all pseudoprincipals of ``model``, in the order of random keys."""
    query = PrincipalEntry.objects.using(using).filter(model=model, natural=False, reference__isnull=False)
    rows = query.order_by("id").values_list("id", "reference")
    last = 0
    while found := list(rows.filter(id__gt=last)[:at_once]):
        last = found[-1][0]
        yield [str(reference) for _, reference in found]


def keys(table: Table, *, at_once: int, using: str) -> Iterator[list[Row]]:
    """The primary keys of all rows of one of edna's tables, in their order, which is random."""
    query = table.model._base_manager.using(using).order_by("pk").values_list("pk")
    last = 0
    while found := list(query.filter(pk__gt=last)[:at_once]):
        last = found[-1][0]
        yield found


# PostgreSQL: every row says which transaction wrote it (xmin), which one locked it last (xmax), and where it lies (ctid).


def written_with_bags(table: Table, *, using: str) -> list[Row]:
    """The keys of rows that were last written, or locked, by a transaction that also wrote a bag or an entry: a disguise.

    Reads the whole table. Those of disguises whose bags and entries have been rewritten since are not found.
    """
    connection = connections[using]
    quote = connection.ops.quote_name
    own = " UNION ".join(f"SELECT xmin::text FROM {quote(model._meta.db_table)}" for model in (Bag, PrincipalEntry))
    columns, name = _columns(table, connection), quote(table.model._meta.db_table)
    sql = f"SELECT {', '.join(columns)} FROM {name} WHERE xmin::text IN ({own}) OR xmax::text IN ({own})"
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return plain(cursor.fetchall(), connection)


def rewrite(table: Table, wanted: Sequence[Row], *, using: str) -> list[Row]:
    """Write a new version of these rows in this transaction, in a random order. Those that were not locked by somebody else.

    Values of edna's own tables that are stored out of line are stored anew as well: their numbers count up, too.
    """
    connection = connections[using]
    quote = connection.ops.quote_name
    name, columns = quote(table.model._meta.db_table), _columns(table, connection)
    row = f"({marks_for(len(columns))})"
    with connection.cursor() as cursor:
        among = ", ".join([row] * len(wanted))
        cursor.execute(
            f"SELECT {', '.join(columns)} FROM {name} WHERE ({', '.join(columns)}) IN ({among}) FOR NO KEY UPDATE SKIP LOCKED",
            [value for key in wanted for value in key],
        )
        held = plain(cursor.fetchall(), connection)
        if not held:
            return []
        secrets.SystemRandom().shuffle(held)
        # One by one, in this order: joined in another way, they would be written in the order in which they lie now.
        ways = ("hashjoin", "mergejoin", "seqscan", "bitmapscan")
        cursor.execute("SELECT " + ", ".join(f"set_config('enable_{way}', 'off', true)" for way in ways))
        types = [f"CAST(%s AS {getattr(field, 'rel_db_type', field.db_type)(connection)})" for field in table.key]
        values = ", ".join([f"({', '.join(types)})", *[row] * (len(held) - 1)])
        aliases = [f"k{position}" for position in range(len(columns))]
        match = " AND ".join(
            f"{name}.{column} = {GIVEN}.{alias}" for column, alias in zip(columns, aliases, strict=True)
        )
        same = [f"{columns[0]} = {name}.{columns[0]}"]
        if table.model in conf.own_models():
            binary = [quote(field.column) for field in table.fields if isinstance(field, BinaryField)]
            same += [f"{column} = {name}.{column} || ''::bytea" for column in binary]
        cursor.execute(
            f"UPDATE {name} SET {', '.join(same)} FROM (VALUES {values}) AS {GIVEN} ({', '.join(aliases)}) WHERE {match}",
            [value for key in held for value in key],
        )
    return held


def transaction_number(*, using: str) -> str:
    """The number of a transaction that begins and ends here, for `older_is_open`."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()::xid::text")
        return str(cursor.fetchone()[0])


def older_is_open(number: str, *, using: str) -> bool:
    """Whether a transaction is open that may see rows as they were before that one: on this server, or on one that follows it.

    For it the database keeps what rows were, also in a file that it writes anew, and values out of line with their numbers.
    """
    sql = (
        "SELECT EXISTS (SELECT FROM ("
        # One that writes in another database counts, too: our own transactions see rows as if it could.
        "SELECT backend_xid AS since FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        " UNION ALL SELECT backend_xmin FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND coalesce(datname, current_database()) = current_database()"
        " UNION ALL SELECT transaction FROM pg_prepared_xacts"
        " UNION ALL SELECT xmin FROM pg_replication_slots) AS others WHERE age(since) >= age(%s::xid))"
    )
    with connections[using].cursor() as cursor:
        cursor.execute(sql, [number])
        return bool(cursor.fetchone()[0])


def _columns(table: Table, connection: BaseDatabaseWrapper) -> list[str]:
    return [connection.ops.quote_name(field.column) for field in table.key]


# SQLite: a table whose key is no INTEGER has a rowid beside it, which counts up.


def hidden_rowid(table: Table, *, using: str) -> str | None:
    """By which name the table's hidden rowid can be written; None if it has none, or all its names are taken by columns."""
    connection = connections[using]
    name = table.model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA table_info({connection.ops.quote_name(name)})")
        columns = cursor.fetchall()
        cursor.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = %s", [name])
        (definition,) = cursor.fetchone() or ("",)
    key = [column for column in columns if column[5]]
    if "WITHOUT ROWID" in definition.upper() or (len(key) == 1 and key[0][2].upper() == "INTEGER"):
        return None
    taken = {column[1].lower() for column in columns}
    return next((each for each in ("rowid", "oid", "_rowid_") if each not in taken), None)


def scatter(table: Table, wanted: Sequence[Row], rowid: str, *, using: str) -> None:
    """Give these rows random, negative rowids, in this transaction: those of rows to come go on from the highest."""
    connection = connections[using]
    match = " AND ".join(f"{column} = %s" for column in _columns(table, connection))
    name = connection.ops.quote_name(table.model._meta.db_table)
    with connection.cursor() as cursor:
        new = [(-secrets.randbits(62) - 1, *key) for key in wanted]
        cursor.executemany(f"UPDATE {name} SET {rowid} = %s WHERE {match}", new)


def vacuum(*, using: str) -> bool:
    """Write the whole file anew, without what was deleted, and cut the write-ahead log. Whether the log could be cut.

    Not inside a transaction.
    """
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat4'")
        if cursor.fetchone():
            cursor.execute("ANALYZE")  # it keeps samples of values
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        busy, *_ = cursor.fetchone()
        return not busy


# Whole tables


def obstacle(table: Table, *, using: str) -> str:
    """Why rows of this table must not be written by us: "" for no reason. Somebody's trigger would take it for a change."""
    connection = connections[using]
    name = table.model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT relkind = 'r', relhasrules OR EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = pg_class.oid"
                " AND NOT tgisinternal AND tgenabled <> 'D' AND tgtype & 16 <> 0) FROM pg_class WHERE oid = to_regclass(%s)",
                [connection.ops.quote_name(name)],
            )
        elif connection.vendor == "sqlite":
            cursor.execute(
                "SELECT type = 'table', EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name = m.name)"
                " FROM sqlite_master AS m WHERE name = %s AND type IN ('table', 'view')",
                [name],
            )
        else:
            # A table is rebuilt as a whole, which no trigger sees.
            cursor.execute(
                "SELECT table_type = 'BASE TABLE' AND engine = 'InnoDB', FALSE FROM information_schema.tables"
                " WHERE table_schema = DATABASE() AND table_name = %s",
                [name],
            )
        is_table, has_triggers = cursor.fetchone() or (False, False)
    return NOT_A_TABLE if not is_table else TRIGGERS if has_triggers else ""


def rebuild(table: Table, *, using: str) -> None:
    """Write the table's file anew, rows in the order of the primary key (or of the index by which the table is clustered),
    without what was deleted. Nobody reads or writes it meanwhile; on MariaDB and MySQL, where it is no transaction, they may read.
    """
    connection = connections[using]
    name = connection.ops.quote_name(table.model._meta.db_table)
    with connection.cursor() as cursor:
        if connection.vendor == "mysql":
            cursor.execute("SELECT @@SESSION.lock_wait_timeout")
            (before,) = cursor.fetchone()
            cursor.execute("SET SESSION lock_wait_timeout = %s", [_LOCK_SECONDS])
            try:
                # Row by row in one transaction, so that no page tells which transaction once wrote a row.
                cursor.execute(f"ALTER TABLE {name} FORCE, ALGORITHM=COPY")
            finally:
                cursor.execute("SET SESSION lock_wait_timeout = %s", [before])
            return
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{_LOCK_SECONDS}s"])
        cursor.execute(
            "SELECT c.relname, i.indisclustered FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " WHERE i.indrelid = to_regclass(%s) AND (i.indisclustered OR i.indisprimary) ORDER BY i.indisclustered DESC",
            [name],
        )
        index, clustered = cursor.fetchone()
        cursor.execute(f"CLUSTER {name} USING {connection.ops.quote_name(index)}")
        if not clustered:
            cursor.execute(f"ALTER TABLE {name} SET WITHOUT CLUSTER")


def forget_samples(table: Table, *, using: str) -> None:
    """PostgreSQL's statistics hold values of rows as they were when it last looked."""
    with connections[using].cursor() as cursor:
        cursor.execute(f"ANALYZE {connections[using].ops.quote_name(table.model._meta.db_table)}")
