"""The append-only trail of what operators did. Names operators and disguises; links no principal.

Keeps: an entry has the hour, no finer, and carries a MAC over itself and over the entry before it, under a key that is not in the
database (`EDNA["MAC_KEYS"]`: the first signs, all verify). So an entry that was changed, taken out or put in between is
found by `verify`. How many there were is kept under such a MAC, too: entries that are cut off at the end are missed, and a trail that
goes on without them has a gap for ever. Who puts an earlier count back with the earlier end is not found, nor who takes all away: the log
(`edna.audit`) names each entry and its MAC, for those who keep it elsewhere. Of several databases the MAC is over the alias, too: the
trail of one does not pass for that of another. What was noted under a former alias counts if the trail says that somebody has vouched.
Does not know: who may do what, and whether it succeeded; callers note what they have done, in the same transaction.
"""

from __future__ import annotations

import datetime
import enum
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from edna import conf, logs, registry, shards
from edna.crypto.keys import derive, fingerprint
from edna.engine.books import acts
from edna.operations.store import audit as store
from edna.operations.store.audit import AuditRow, Counted
from edna.records import values
from edna.store import serverkeys
from edna.store.vouching import FORMERLY as _FORMERLY
from edna.store.vouching import ONE_ALONE, other_places

_LONGEST_OPERATOR = 255
#: What the MAC of the count is personalised with.
_COUNT: Final = b"edna.audit.cnt.1"


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

    Raises:
        ServerKeyUnknown: under the configured key, the entry would pass for somebody else's.
    """
    if unsuitable := sorted(name for name, value in details.items() if type(value) not in (int, str)):
        raise TypeError(f"A detail of the audit trail is a whole number or a text: {', '.join(unsuitable)}.")
    using = registry.database()
    serverkeys.require(using=using)
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    with transaction.atomic(using=using):
        row = AuditRow(0, hour, operator[:_LONGEST_OPERATOR], action, disguise, dict(details))
        row = store.append(row, seal=_sealed, is_ours=_is_our_count, using=using)
    mac = row.mac.hex()
    transaction.on_commit(
        lambda: logs.event("audit", area="audit", entry=row.id, action=action, disguise=disguise or None, mac=mac),
        using=using,
    )


def connect() -> None:
    """Note what operators do through `edna.api`, too. Calling it again changes nothing."""
    acts.connect(note)


def entries(*, most: int = 100) -> list[Entry]:
    """The newest entries, newest first."""
    found = store.rows(using=registry.database(), newest_first=True, most=most)
    return [Entry(row.id, row.logged_at, row.operator, row.action, row.disguise, row.details) for row in found]


def is_noted(action: str, **details: int | str) -> bool:
    """Whether there is an entry of that action that says this, too."""
    found = store.rows(using=registry.database(), action=action)
    return any(details.items() <= row.details.items() for row in found)


def details_of(action: str) -> list[dict[str, Any]]:
    """What entries of that action say, newest first."""
    return [row.details for row in store.rows(using=registry.database(), action=action)][::-1]


def verify() -> list[int]:
    """The numbers of entries that do not verify: changed, not written by this site, or after one that is missing.

    Where the end is missing, or the count of entries is not this site's: the number after the last.
    """
    using = registry.database()
    before, last, wrong, has_count = b"", 0, [], False
    here = shards.named(using)
    vouched = _vouched(using)
    elsewhere: dict[str | None, list[int]] = {}
    formers: dict[str | None, set[str | None]] = {}
    for row in store.rows(using=using):
        kind, place = _kind(row, before, [here, *vouched])
        if kind is not None and place != here:
            elsewhere.setdefault(place, []).append(row.id)
        if kind is not None and row.action == "vouch" and _FORMERLY in row.details:
            formers.setdefault(place, set()).add(_former(row))
        # A count begins once: one that begins again does so because somebody took it away.
        if row.id != last + 1 or kind is None or (kind is _Kind.BEGINS and has_count):
            wrong.append(row.id)
        has_count |= kind in (_Kind.COUNTED, _Kind.BEGINS)
        before, last = row.mac, row.id
    known, reached = {here}, [here]
    while reached:
        new = formers.get(reached.pop(), set()) - known
        known |= new
        reached += new
    wrong = sorted({*wrong, *(pk for place, ids in elsewhere.items() if place not in known for pk in ids)})
    counted = store.counted(using=using)
    is_ours = counted is not None and _is_our_count(counted)
    cut = is_ours and counted is not None and counted.count > last
    ends_well = not has_count if counted is None else is_ours and (counted.count, counted.newest) == (last, before)
    if cut or (not ends_well and last not in wrong):
        wrong.append(last + 1)
    return wrong


def newest_verify(*, most: int) -> Iterator[bool]:
    """Whether each of the newest entries was written by this site, newest first; not of one whose predecessor is out of reach."""
    using = registry.database()
    places = [shards.named(using), *(each or None for each in other_places(using=using)), *_vouched(using)]
    newest = list(store.rows(using=using, newest_first=True, most=most))
    for row, earlier in zip(newest, [*newest[1:], None], strict=False):
        if earlier is not None or row.id == 1:
            yield _kind(row, earlier.mac if earlier else b"", places)[0] is not None


class _Kind(enum.Enum):
    """Of an entry, by what its MAC is personalised with."""

    #: Of earlier releases, which counted nothing.
    UNCOUNTED = b"edna.audit.mac.1"
    #: The first one that was counted, or the first after the count was lost.
    BEGINS = b"edna.audit.beg.2"
    COUNTED = b"edna.audit.mac.2"


def _sealed(row: AuditRow, counted: Counted | None, last: AuditRow | None) -> tuple[AuditRow, Counted]:
    """``row`` after what was counted, or after the ``last``; and the count with it."""
    kind = _Kind.COUNTED if counted is not None and _is_our_count(counted) else _Kind.BEGINS
    # A count of somebody else, too: a number that was given once is not given again. But not of a vandal, who left none to give.
    said = counted.count if counted and (kind is _Kind.COUNTED or counted.count < store.TOO_HIGH) else 0
    number = 1 + max(said, last.id if last else 0)
    before = last.mac if last else counted.newest if counted and kind is _Kind.COUNTED else b""
    row = replace(row, id=number)
    using = registry.database()
    row = replace(
        row, mac=_mac(_told(row, before, shards.named(using)), serverkeys.signing_key(using=using), purpose=kind.value)
    )
    return row, Counted(number, row.mac, _mac([number, row.mac], serverkeys.signing_key(using=using), purpose=_COUNT))


def _kind(row: AuditRow, before: bytes, places: Sequence[str | None]) -> tuple[_Kind | None, str | None]:
    """And in which of these it was noted; None if its MAC is not this site's."""
    fitting = (
        (kind, place)
        for place in places
        for kind in _Kind
        for mac in _macs(row, before, kind, place)
        if hmac.compare_digest(row.mac, mac)
    )
    return next(fitting, (None, None))


def _vouched(using: str) -> list[str | None]:
    """The former places for which somebody has vouched, as far as entries are to be believed: aliases, or None for a site with one."""
    found = store.rows(using=using, action="vouch")
    return list(dict.fromkeys(_former(row) for row in found if _FORMERLY in row.details))


def _former(row: AuditRow) -> str | None:
    former = row.details[_FORMERLY]
    return None if former == ONE_ALONE else str(former)


def _is_our_count(counted: Counted) -> bool:
    return any(hmac.compare_digest(counted.mac, mac) for mac in _count_macs(counted.count, counted.newest))


def _macs(row: AuditRow, before: bytes, kind: _Kind, place: str | None) -> list[bytes]:
    """Under each key of the server, the current one first."""
    return _under_each_key(_told(row, before, place), purpose=kind.value)


def _told(row: AuditRow, before: bytes, place: str | None) -> list[Any]:
    """What an entry's MAC is over; ``place`` is the alias of the one of several databases where it was noted."""
    hour = row.logged_at if timezone.is_naive(row.logged_at) else row.logged_at.astimezone(datetime.UTC)
    # Sorted: databases keep the members of a JSON object in an order of their own.
    said = [row.id, hour.isoformat(), row.operator, row.action, row.disguise, sorted(row.details.items()), before]
    return said if place is None else [*said, place]


def _count_macs(count: int, newest: bytes) -> list[bytes]:
    return _under_each_key([count, newest], purpose=_COUNT)


def _under_each_key(value: list[Any], *, purpose: bytes) -> list[bytes]:
    return [_mac(value, key, purpose=purpose) for key in conf.mac_keys()]


def _mac(value: list[Any], server_key: bytes, *, purpose: bytes) -> bytes:
    key = fingerprint(server_key, purpose=b"edna.audit.key.1")
    return derive(key, purpose=purpose, data=values.encode(value))
