"""The append-only trail of what operators did. Names operators and disguises; links no principal.

Keeps: an entry has the hour, no finer, and carries a MAC over itself and over the entry before it, under a key that is not in the
database (`EDNA["MAC_KEYS"]`: the first signs, all verify). So an entry that was changed, taken out or put in between is
found by `verify`. Entries that are cut off at the end are not: the log (`edna.audit`) names each entry and its MAC, for those who
keep it elsewhere.
Does not know: who may do what, and whether it succeeded; callers note what they have done, in the same transaction.
"""

from __future__ import annotations

import datetime
import hmac
from dataclasses import dataclass
from typing import Any

from django.db import router, transaction
from django.utils import timezone

from edna import conf, logs, registry
from edna.crypto.keys import derive, fingerprint
from edna.records import values
from edna.store import audit as store
from edna.store.audit import AuditRow

_LONGEST_OPERATOR = 255


@dataclass(frozen=True)
class Entry:
    """One thing that an operator did, in the hour that ``hour`` begins."""

    id: int
    hour: datetime.datetime
    operator: str
    action: str
    disguise: str
    details: dict[str, Any]


def note(action: str, *, operator: str, disguise: str = "", **details: int | str) -> None:
    """Append an entry, in the caller's transaction (or in one of its own). ``operator`` is "" where nobody did it: a schedule.

    ``details`` are numbers and such: a count, a job, a bucket. Never whom it was about. Until the transaction commits, others who
    note something wait: note it last.
    """
    if unsuitable := sorted(name for name, value in details.items() if type(value) not in (int, str)):
        raise TypeError(f"A detail of the audit trail is a whole number or a text: {', '.join(unsuitable)}.")
    using = _database()
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    with transaction.atomic(using=using):
        row = AuditRow(0, hour, operator[:_LONGEST_OPERATOR], action, disguise, dict(details))
        row = store.append(row, mac=lambda numbered, before: _macs(numbered, before)[0], using=using)
    mac = row.mac.hex()
    transaction.on_commit(
        lambda: logs.event("audit", area="audit", entry=row.id, action=action, disguise=disguise or None, mac=mac),
        using=using,
    )


def entries(*, most: int = 100) -> list[Entry]:
    """The newest entries, newest first."""
    found = store.rows(using=_database(), newest_first=True, most=most)
    return [Entry(row.id, row.logged_at, row.operator, row.action, row.disguise, row.details) for row in found]


def verify() -> list[int]:
    """The numbers of entries that do not verify: changed, not written by this site, or after one that is missing."""
    before, expected, wrong = b"", 1, []
    for row in store.rows(using=_database()):
        if row.id != expected or not any(hmac.compare_digest(row.mac, mac) for mac in _macs(row, before)):
            wrong.append(row.id)
        before, expected = row.mac, row.id + 1
    return wrong


def _macs(row: AuditRow, before: bytes) -> list[bytes]:
    """Under each key of the server, the current one first."""
    hour = row.logged_at if timezone.is_naive(row.logged_at) else row.logged_at.astimezone(datetime.UTC)
    data = values.encode(
        # Sorted: databases keep the members of a JSON object in an order of their own.
        [row.id, hour.isoformat(), row.operator, row.action, row.disguise, sorted(row.details.items()), before]
    )
    return [
        derive(fingerprint(key, purpose=b"edna.audit.key.1"), purpose=b"edna.audit.mac.1", data=data)
        for key in conf.mac_keys()
    ]


def _database() -> str:
    return router.db_for_write(registry.principal_models()[0])
