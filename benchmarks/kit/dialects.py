"""What SQLite, MariaDB and PostgreSQL have of their own, in the SQL and in the driver that speaks it: all of it is here.

Whoever writes SQL asks the dialect for the best form that the database has of it; nobody asks which database it is. Names are quoted
as the standard says, in MariaDB, too: its connection is told so. Knows no table, no application, and nothing of measuring.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

#: A piece of SQL, and the parameters in it from left to right.
Piece = tuple[str, Sequence[Any]]


def quoted(name: str) -> str:
    return f'"{name}"'


def listed(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Piece:
    """A table of these rows, to be joined: all three know this form."""
    row = f"({', '.join(['%s'] * len(names))})"
    values = ", ".join([row] * len(rows))
    sql = f"(WITH v ({', '.join(names)}) AS (VALUES {values}) SELECT * FROM v)"
    return sql, [value for each in rows for value in each]


class Dialect:
    """One database's SQL."""

    vendor: ClassVar[str]
    #: Equal, and so are NULL and NULL.
    same: ClassVar[str]
    #: What a SELECT ends with whose rows stay as they are until the commit.
    locked: ClassVar[str] = " FOR UPDATE"
    #: Types of columns: bytes without a limit, and a key of 32 bytes.
    blob: ClassVar[str]
    digest: ClassVar[str]
    #: What stands before a list of rows that some columns are to be among.
    rows_prefix: ClassVar[str] = ""
    #: An expression, another value for each row.
    random_text: ClassVar[str]
    #: Nothing is on the way to the database: a prepared statement for each row is quicker than one with all of them.
    row_by_row: ClassVar[bool] = False
    #: Where each value is for several rows, one UPDATE beside a list of values is quicker than an UPDATE for each.
    updates_by_lists: ClassVar[bool] = False
    #: A query can have an INSERT in it, and use the keys that this gave.
    inserts_in_queries: ClassVar[bool] = False
    #: What an INSERT begins with that writes over rows with the same keys; `unique_keys` says what else has to go before.
    inserts_over: ClassVar[str] = "REPLACE INTO"
    #: How sizes of tables are told, for whoever reads them.
    storage_note: ClassVar[str]
    #: Foreign keys are not looked at from now on, and are again; outside of transactions.
    references: ClassVar[tuple[str, str]]

    #: An expression, another primary key of 63 bits for each row.
    random_key: ClassVar[str]

    def random_bytes(self, count: int) -> str:
        """An expression, others for each row."""
        raise NotImplementedError

    def random_public_key(self) -> str:
        """A public key is the one spelling of its point, or edna refuses it. One with a last byte of zero always is."""
        raise NotImplementedError

    def eight_bytes(self, number: str) -> str:
        """An integer, most significant byte first."""
        return f"UNHEX(LPAD(HEX({number}), 16, '0'))"

    def hexadecimal(self, data: str) -> str:
        return f"LOWER(HEX({data}))"

    def text(self, *parts: str) -> str:
        """Texts and numbers in a row."""
        return f"({' || '.join((*parts, chr(39) * 2))})"

    def connect(self, database: Mapping[str, Any]) -> Any:
        """A connection with the parameters that Django has."""
        raise NotImplementedError

    def written(self, sql: str) -> str:
        """As the driver wants its placeholders."""
        return sql

    def begin(self, cursor: Any) -> None:
        """Transactions begin by themselves, with the first statement."""

    def joined_update(self, table: str, source: Piece, match: Piece, changes: Mapping[str, Piece]) -> Piece:
        """Give columns of the rows ``u`` of a table values of rows ``g`` beside them."""
        assigned, params = _assigned(changes, "")
        sql = f"UPDATE {quoted(table)} AS u SET {assigned} FROM {source[0]} AS g WHERE {match[0]}"
        return sql, [*params, *source[1], *match[1]]

    def returning(self, key: str) -> str:
        """What an INSERT of one row ends with, whose key `new_key` then tells."""
        return ""

    def new_key(self, cursor: Any) -> Any:
        return cursor.lastrowid

    def first_key(self, cursor: Any, made: int) -> int:
        """The first of the keys in a row that one statement gave to so many rows."""
        raise NotImplementedError

    def unique_keys(self, cursor: Any, table: str) -> Sequence[Mapping[int, str]]:
        """Columns, by their places, in which rows are in the way that `inserts_over` does not take out."""
        return []

    def settings(self, cursor: Any) -> str:
        """The version, and the settings that decide how durable, and so how slow, a commit is."""
        raise NotImplementedError

    def sizes(self, cursor: Any) -> Mapping[str, int]:
        """Bytes of each table with its indexes."""
        raise NotImplementedError

    def connections(self, cursor: Any) -> int:
        """How many are open to this database, the one that asks included."""
        return 1

    def trees(self, cursor: Any) -> Mapping[tuple[str, str], int]:
        """Bytes of each table's rows and indexes, by table and name, where the database tells."""
        return {}

    def rebuild(self, connection: Any, tables: Sequence[str]) -> None:
        """Write tables anew, so that it does not matter how they came to be filled, and analyse them."""
        raise NotImplementedError

    def analyse(self, connection: Any, tables: Sequence[str]) -> None:
        """Tell the database how its tables are filled: its plans depend on it."""
        raise NotImplementedError


def _assigned(changes: Mapping[str, Piece], prefix: str) -> Piece:
    sql = ", ".join(f"{prefix}{quoted(name)} = {value}" for name, (value, _) in changes.items())
    return sql, [param for _, params in changes.values() for param in params]


def _asked(cursor: Any, sql: str) -> Any:
    cursor.execute(sql)
    return cursor.fetchone()[0]


def _told(version: str, found: Mapping[str, Any]) -> str:
    return f"{version}: " + ", ".join(f"{name}={value}" for name, value in found.items())


class SQLite(Dialect):
    vendor = "sqlite"
    same = "IS"
    locked = ""  # the transaction has locked all
    blob, digest = "BLOB", "BINARY(32)"
    rows_prefix = "VALUES "
    random_text = "lower(hex(randomblob(16)))"
    row_by_row = True
    storage_note = "the whole file: rebuilt by VACUUM before; afterwards as it is, and rebuilt again"
    references = ("PRAGMA foreign_keys = 0", "PRAGMA foreign_keys = 1")

    random_key = "random() & 9223372036854775807"

    def random_bytes(self, count: int) -> str:
        return f"randomblob({count})"

    def random_public_key(self) -> str:
        return "CAST(randomblob(31) || x'00' AS BLOB)"

    def eight_bytes(self, number: str) -> str:
        return f"eight_bytes({number})"

    def connect(self, database: Mapping[str, Any]) -> Any:
        import sqlite3

        connection = sqlite3.connect(database["NAME"], isolation_level=None, timeout=20)
        connection.executescript(f"{database['OPTIONS']['init_command']} PRAGMA foreign_keys=ON;")
        connection.create_function("eight_bytes", 1, lambda number: number.to_bytes(8, "big", signed=True))
        return connection

    def written(self, sql: str) -> str:
        return _question_marks(sql)

    def begin(self, cursor: Any) -> None:
        cursor.execute("BEGIN IMMEDIATE")

    def first_key(self, cursor: Any, made: int) -> int:
        last: int = cursor.lastrowid
        return last - (made - 1)

    def settings(self, cursor: Any) -> str:
        names = ("journal_mode", "synchronous", "secure_delete")
        found = {name: _asked(cursor, f"PRAGMA {name}") for name in names}
        return _told("SQLite " + _asked(cursor, "SELECT sqlite_version()"), found)

    def sizes(self, cursor: Any) -> Mapping[str, int]:
        """SQLite tells the bytes of the file only."""
        return {"(the file)": _asked(cursor, "PRAGMA page_count") * _asked(cursor, "PRAGMA page_size")}

    def rebuild(self, connection: Any, tables: Sequence[str]) -> None:
        connection.execute("VACUUM")

    def analyse(self, connection: Any, tables: Sequence[str]) -> None:
        connection.execute("ANALYZE")


class MariaDB(Dialect):
    vendor = "mysql"
    same = "<=>"
    blob, digest = "LONGBLOB", "BINARY(32)"
    random_text = "LOWER(HEX(RANDOM_BYTES(16)))"
    storage_note = "data and indexes by information_schema: rebuilt by OPTIMIZE TABLE before; afterwards as they are, and rebuilt again"
    references = ("SET foreign_key_checks = 0", "SET foreign_key_checks = 1")

    random_key = "CAST(CONV(HEX(RANDOM_BYTES(8)), 16, 10) AS UNSIGNED) >> 1"

    def random_bytes(self, count: int) -> str:
        # No more than 1,024 at once.
        pieces = [f"RANDOM_BYTES({min(1024, count - start)})" for start in range(0, count, 1024)]
        return f"CONCAT({', '.join(pieces)})"

    def random_public_key(self) -> str:
        return "CONCAT(RANDOM_BYTES(31), X'00')"

    def text(self, *parts: str) -> str:
        return f"CONCAT({', '.join(parts)})"

    def connect(self, database: Mapping[str, Any]) -> Any:
        import MySQLdb

        options, host = database["OPTIONS"], database["HOST"]
        connection = MySQLdb.connect(
            user=database["USER"],
            password=database["PASSWORD"],
            database=database["NAME"],
            charset=options["charset"],
            init_command=options["init_command"],
            binary_prefix=True,  # bytes among values that a statement lists are no text
            **(
                {"unix_socket": host} if host.startswith("/") else {"host": host, "port": int(database["PORT"] or 3306)}
            ),
        )
        connection.query(f"SET SESSION TRANSACTION ISOLATION LEVEL {options['isolation_level']}")
        connection.query("SET SESSION sql_mode = CONCAT(@@SESSION.sql_mode, ',ANSI_QUOTES')")
        return connection

    def joined_update(self, table: str, source: Piece, match: Piece, changes: Mapping[str, Piece]) -> Piece:
        assigned, params = _assigned(changes, "u.")
        sql = f"UPDATE {quoted(table)} u JOIN {source[0]} g ON {match[0]} SET {assigned}"
        return sql, [*source[1], *match[1], *params]

    def first_key(self, cursor: Any, made: int) -> int:
        first: int = cursor.lastrowid
        return first

    def settings(self, cursor: Any) -> str:
        names = ("flush_log_at_trx_commit", "doublewrite", "buffer_pool_size", "flush_method")
        found = {f"innodb_{name}": _asked(cursor, f"SELECT @@innodb_{name}") for name in names}
        found["log_bin"] = _asked(cursor, "SELECT @@log_bin")
        return _told("MariaDB " + _asked(cursor, "SELECT @@version"), found)

    def sizes(self, cursor: Any) -> Mapping[str, int]:
        cursor.execute(
            "SELECT table_name, data_length + index_length FROM information_schema.tables WHERE table_schema = DATABASE()"
        )
        return {name: int(size or 0) for name, size in cursor.fetchall()}

    def connections(self, cursor: Any) -> int:
        return int(_asked(cursor, "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE()"))

    def trees(self, cursor: Any) -> Mapping[tuple[str, str], int]:
        """Pages in which records are: of the primary key the rows, with what is stored beside them."""
        cursor.execute(
            "SELECT table_name, index_name, stat_value * @@innodb_page_size FROM mysql.innodb_index_stats "
            "WHERE database_name = DATABASE() AND stat_name = 'n_leaf_pages'"
        )
        return {(table, name): int(size) for table, name, size in cursor.fetchall()}

    def rebuild(self, connection: Any, tables: Sequence[str]) -> None:
        cursor = connection.cursor()
        for name in tables:
            cursor.execute(f"OPTIMIZE TABLE {quoted(name)}")
            cursor.fetchall()
        self.analyse(connection, tables)

    def analyse(self, connection: Any, tables: Sequence[str]) -> None:
        cursor = connection.cursor()
        cursor.execute(f"ANALYZE TABLE {', '.join(map(quoted, tables))}")
        cursor.fetchall()


class PostgreSQL(Dialect):
    vendor = "postgresql"
    same = "IS NOT DISTINCT FROM"
    blob, digest = "BYTEA", "BYTEA"
    rows_prefix = "VALUES "  # a list without it becomes a chain of ORs
    random_text = "replace(gen_random_uuid()::text, '-', '')"
    updates_by_lists = True
    inserts_in_queries = True
    inserts_over = "INSERT INTO"  # ON CONFLICT looks at one key only
    storage_note = (
        "data, indexes and what is stored beside by pg_total_relation_size: rebuilt by VACUUM FULL before; "
        "afterwards as they are, and rebuilt again"
    )
    # Foreign keys are triggers, and a replica's writes fire none. It takes a superuser, which a private server's user is.
    references = ("SET session_replication_role = replica", "SET session_replication_role = origin")

    random_key = "('x' || right(gen_random_uuid()::text, 12) || left(gen_random_uuid()::text, 4))::bit(64)::bigint & 9223372036854775807"

    def random_bytes(self, count: int) -> str:
        """Of UUIDs, which say in six of 128 bits what they are: nothing better is built in."""
        pieces = " || ".join(["uuid_send(gen_random_uuid())"] * -(-count // 16))
        return f"substring({pieces} FROM 1 FOR {count})"

    def random_public_key(self) -> str:
        return f"{self.random_bytes(31)} || '\\x00'::bytea"

    def eight_bytes(self, number: str) -> str:
        return f"int8send({number})"

    def hexadecimal(self, data: str) -> str:
        return f"encode({data}, 'hex')"

    def connect(self, database: Mapping[str, Any]) -> Any:
        """Parameters are written into the statement's text, as Django has it, too."""
        import psycopg

        return psycopg.connect(
            user=database["USER"],
            password=database["PASSWORD"] or None,
            dbname=database["NAME"],
            host=database["HOST"] or None,
            port=database["PORT"] or None,
            options="-c timezone=UTC",
            cursor_factory=psycopg.ClientCursor,
        )

    def returning(self, key: str) -> str:
        return f" RETURNING {quoted(key)}"

    def new_key(self, cursor: Any) -> Any:
        return cursor.fetchone()[0]

    def unique_keys(self, cursor: Any, table: str) -> Sequence[Mapping[int, str]]:
        cursor.execute(
            "SELECT i.indexrelid, a.place - 1, a.attname FROM pg_index i JOIN "
            "(SELECT *, ROW_NUMBER() OVER (ORDER BY attnum) AS place FROM pg_attribute "
            "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped) a "
            "ON i.indrelid = a.attrelid AND a.attnum = ANY(i.indkey) WHERE i.indisunique",
            (quoted(table),),
        )
        found: dict[int, dict[int, str]] = {}
        for index, place, name in cursor.fetchall():
            found.setdefault(index, {})[place] = name
        return list(found.values())

    def settings(self, cursor: Any) -> str:
        names = ("fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "autovacuum")
        found = {name: _asked(cursor, f"SHOW {name}") for name in names}
        return _told("PostgreSQL " + _asked(cursor, "SHOW server_version"), found)

    def sizes(self, cursor: Any) -> Mapping[str, int]:
        cursor.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
        )
        return dict(cursor.fetchall())

    def connections(self, cursor: Any) -> int:
        return int(_asked(cursor, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()"))

    def trees(self, cursor: Any) -> Mapping[tuple[str, str], int]:
        cursor.execute(
            "SELECT t.relname, c.relname, pg_relation_size(c.oid) FROM pg_class t "
            "JOIN pg_class c ON c.oid IN (t.oid, t.reltoastrelid) OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = t.oid) "
            "WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace"
        )
        return {(table, name): int(size) for table, name, size in cursor.fetchall()}

    def rebuild(self, connection: Any, tables: Sequence[str]) -> None:
        self._outside(connection, f"VACUUM (FULL, ANALYZE) {', '.join(map(quoted, tables))}")

    def analyse(self, connection: Any, tables: Sequence[str]) -> None:
        """With the map of what is visible, which autovacuum would make in time: without it no index answers alone."""
        self._outside(connection, f"VACUUM (ANALYZE) {', '.join(map(quoted, tables))}")

    @staticmethod
    def _outside(connection: Any, sql: str) -> None:
        """No transaction takes this."""
        connection.commit()
        connection.autocommit = True
        try:
            connection.execute(sql)
        finally:
            connection.autocommit = False


_KNOWN: Final = {"sqlite3": SQLite, "mysql": MariaDB, "postgresql": PostgreSQL}


def dialect_of(database: Mapping[str, Any]) -> Dialect:
    """That of a database which Django's settings describe."""
    return _KNOWN[database["ENGINE"].rpartition(".")[2]]()


@functools.cache
def _question_marks(sql: str) -> str:
    return sql.replace("%s", "?")
