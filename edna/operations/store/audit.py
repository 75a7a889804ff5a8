"""Reads and appends the rows of the audit trail, and their count. Knows neither what a MAC covers nor under which key.

Keeps: whoever appends a row holds the count until they commit, so that no two rows follow the same one; a number that was counted is not
given again, whether or not its row is still there. Every function takes the database alias; `append` runs inside the caller's
transaction.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.db import IntegrityError, OperationalError, connections, transaction
from django.db.models import F, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from edna.errors import DatabaseBusy
from edna.operations.models import AuditCount, AuditEntry

_ROWS_AT_ONCE: Final = 1_000
_ONE: Final = 1
#: Numbers from here on were not given here. Whoever went on after the highest that there is could give no more.
TOO_HIGH: Final = 1 << 62
#: What PostgreSQL says, and MariaDB from 11.6 on, where a transaction is isolated so strictly that it cannot see the newest row.
_SERIALISATION_FAILURE: Final = "40001"
_CHANGED_SINCE_LAST_READ: Final = 1020
_NOT_SEEN: Final = (
    "Somebody else has noted something in the audit trail, and this transaction, being an older one, does not see it; "
    "roll it back and try again."
)


@dataclass(frozen=True, slots=True)
class AuditRow:
    id: int
    logged_at: datetime.datetime
    operator: str
    action: str
    disguise: str
    details: dict[str, Any]
    mac: bytes = b""


@dataclass(frozen=True, slots=True)
class Counted:
    """How many rows were appended, and the mac of the newest."""

    count: int
    newest: bytes
    mac: bytes = b""


#: A row as it is to be stored, and the count with it: of what is to be noted, after this count (None if there is none yet) and, where
#: it is not what the count says, the newest row.
Seal = Callable[[AuditRow, Counted | None, AuditRow | None], tuple[AuditRow, Counted]]


def append(row: AuditRow, *, seal: Seal, is_ours: Callable[[Counted], bool], using: str) -> AuditRow:
    """Add ``row`` as ``seal`` makes it, after what the count says, if that ``is_ours``; return it as it was stored.

    Raises:
        DatabaseBusy: the transaction cannot see what came before (PostgreSQL and MariaDB, if it is isolated more strictly than usual).
    """
    if connections[using].vendor == "sqlite":
        # Nothing to lock a row with: a statement that could write takes the lock of the whole file.
        _rows(using).filter(id=0).update(action="")
    counted = _counted(using, lock=True)
    if counted is None:
        # Whoever is first makes the row that all others wait for. It counts nothing yet, and nobody sees it so.
        try:
            with transaction.atomic(using=using):
                AuditCount(id=_ONE, count=0, newest=bytes(32), mac=bytes(32)).save(using=using, force_insert=True)
        except IntegrityError:
            counted = _counted(using, lock=True)
            if counted is None:
                raise DatabaseBusy(_NOT_SEEN) from None
    known = counted if counted is not None and is_ours(counted) else None
    last = next(rows(using=using, newest_first=True, most=1, below=TOO_HIGH), None) if known is None else None
    while True:
        signed, count = seal(row, counted, last)
        try:
            with transaction.atomic(using=using):
                AuditEntry(**asdict(signed)).save(using=using)
            break
        except IntegrityError:
            # Somebody has put a row there that the count does not know: another process of an earlier release, or a vandal.
            newest = next(rows(using=using, newest_first=True, most=1), None)
            if newest is None or newest == last:
                raise DatabaseBusy(_NOT_SEEN) from None
            last = newest
    AuditCount.objects.using(using).filter(id=_ONE).update(count=count.count, newest=count.newest, mac=count.mac)
    return signed


def counted(*, using: str) -> Counted | None:
    """What the count says; None where nothing was appended since there is one."""
    return _counted(using, lock=False)


def _counted(using: str, *, lock: bool) -> Counted | None:
    found = AuditCount.objects.using(using).filter(id=_ONE)
    try:
        row = (found.select_for_update() if lock else found).first()
    except OperationalError as error:
        refused = getattr(error.__cause__, "sqlstate", None) == _SERIALISATION_FAILURE
        if refused or error.args[:1] == (_CHANGED_SINCE_LAST_READ,):
            raise DatabaseBusy(_NOT_SEEN) from error
        raise
    return None if row is None else Counted(row.count, bytes(row.newest), bytes(row.mac))


def rows(
    *,
    using: str,
    newest_first: bool = False,
    most: int | None = None,
    action: str | None = None,
    below: int | None = None,
) -> Iterator[AuditRow]:
    found = _rows(using) if action is None else _rows(using).filter(action=action)
    if below is not None:
        found = found.filter(id__lt=below)
    told: Any = F("logged_at")
    if connections[using].vendor == "sqlite":
        # A column takes any text there, and Django stops at what is no moment.
        told = Cast(told, TextField())
        found = found.defer("logged_at")
    found = found.annotate(told=told).order_by("-id" if newest_first else "id")[:most]
    for entry in found.iterator(chunk_size=_ROWS_AT_ONCE):
        yield AuditRow(
            entry.id,
            _moment(entry.told, using=using),
            entry.operator,
            entry.action,
            entry.disguise,
            entry.details,
            bytes(entry.mac),
        )


def _moment(told: Any, *, using: str) -> datetime.datetime:
    """What the column says; of what is no moment, one that no entry has, so that it does not verify."""
    if isinstance(told, datetime.datetime):
        return told
    try:
        moment = parse_datetime(str(told))
    except ValueError:
        moment = None
    moment = moment or datetime.datetime(1970, 1, 1)
    zone = connections[using].timezone
    return moment if zone is None or timezone.is_aware(moment) else timezone.make_aware(moment, zone)


def _rows(using: str) -> QuerySet[AuditEntry]:
    """Past the model's own manager, which refuses to change anything: even the statement that changes nothing."""
    return QuerySet(AuditEntry, using=using)
