"""Raw rows of any table, the application's or our own: read, inserted, updated and deleted in bulk.

Values travel exactly as the database driver hands them over and takes them (no converters, no model instances, no
signals), so that what was read can be written back to the byte. Each function issues a number of statements that does
not depend on the number of rows, but for packets that would grow beyond `MAX_STATEMENT_BYTES` or hold more parameters than
the database binds (SQLite; PostgreSQL with server-side binding). Knows no disguises, bags or keys. All SQL that is not Django's is in
this package.
"""

from __future__ import annotations

from edna.db.rows.arrays import GIVEN
from edna.db.rows.binding import (
    MAX_STATEMENT_BYTES,
    array_types,
    in_list,
    in_list_of_one,
    marks_for,
    packets,
    plain,
    prepared,
    python_value,
    python_values,
    row_bytes,
    total_bytes,
)
from edna.db.rows.counting import count_beyond, counts_beyond
from edna.db.rows.reading import (
    any_rows,
    asking_for_any,
    counting,
    held_values,
    holding,
    keep,
    read,
    read_from,
    read_where,
    take,
)
from edna.db.rows.tables import Row, Table, table_of
from edna.db.rows.updating import update, update_each
from edna.db.rows.writing import (
    can_leave_taken,
    can_send_savepoints,
    check_deferred,
    delete,
    delete_each,
    delete_where,
    in_one_statement,
    insert,
    insert_free,
)

__all__ = [
    "GIVEN",
    "MAX_STATEMENT_BYTES",
    "Row",
    "Table",
    "any_rows",
    "array_types",
    "asking_for_any",
    "can_leave_taken",
    "can_send_savepoints",
    "check_deferred",
    "count_beyond",
    "counting",
    "counts_beyond",
    "delete",
    "delete_each",
    "delete_where",
    "held_values",
    "holding",
    "in_list",
    "in_list_of_one",
    "in_one_statement",
    "insert",
    "insert_free",
    "keep",
    "marks_for",
    "packets",
    "plain",
    "prepared",
    "python_value",
    "python_values",
    "read",
    "read_from",
    "read_where",
    "row_bytes",
    "table_of",
    "take",
    "total_bytes",
    "update",
    "update_each",
]
