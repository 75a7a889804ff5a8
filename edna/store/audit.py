"""Reads and appends the rows of the audit trail. Knows neither what a MAC covers nor under which key.

Keeps: rows are numbered without a gap, and whoever appends one holds the row before it until they commit, so that no two rows follow
the same one. Every function takes the database alias; `append` runs inside the caller's transaction.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from django.db import IntegrityError, connections, transaction
from django.db.models import QuerySet

from edna.errors import DatabaseBusy
from edna.models import AuditEntry

_ROWS_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True)
class AuditRow:
    id: int
    logged_at: datetime.datetime
    operator: str
    action: str
    disguise: str
    details: dict[str, Any]
    mac: bytes = b""


def append(row: AuditRow, *, mac: Callable[[AuditRow, bytes], bytes], using: str) -> AuditRow:
    """Add ``row`` under the next number, with ``mac(row with that number, the mac before)``; return it as it was stored.

    Raises:
        DatabaseBusy: the transaction cannot see what came before (PostgreSQL, if it is isolated more strictly than usual).
    """
    if connections[using].vendor == "sqlite":
        # Nothing to lock a row with: a statement that could write takes the lock of the whole file.
        _rows(using).filter(id=0).update(action="")
    newest = _rows(using).order_by("-id").values_list("id", flat=True).first() or 0
    while True:
        # By its key alone: a search for the last row would lock the gap after it on MariaDB, and two who have done so wait for
        # each other. Whoever got there first has appended a row meanwhile; the next round finds it by its number.
        last = _rows(using).select_for_update().filter(id=newest).first()
        if newest and last is None:
            raise DatabaseBusy(
                "Somebody else has noted something in the audit trail, and this transaction, being an older one, does not see it; "
                "roll it back and try again."
            )
        number = newest + 1
        numbered = replace(row, id=number)
        signed = replace(numbered, mac=mac(numbered, last.mac if last else b""))
        try:
            with transaction.atomic(using=using):
                AuditEntry(**asdict(signed)).save(using=using)
            return signed
        except IntegrityError:
            newest = number


def rows(*, using: str, newest_first: bool = False, most: int | None = None) -> Iterator[AuditRow]:
    found = _rows(using).order_by("-id" if newest_first else "id")[:most]
    for entry in found.iterator(chunk_size=_ROWS_AT_ONCE):
        yield AuditRow(
            entry.id,
            entry.logged_at,
            entry.operator,
            entry.action,
            entry.disguise,
            dict(entry.details),
            bytes(entry.mac),
        )


def _rows(using: str) -> QuerySet[AuditEntry]:
    """Past the model's own manager, which refuses to change anything: even the statement that changes nothing."""
    return QuerySet(AuditEntry, using=using)
