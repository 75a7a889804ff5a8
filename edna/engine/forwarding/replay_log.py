"""Updates that must hold for rows under disguise too: a moderator's redaction, logged, and done again to what a reveal opens.

The log is sealed to a key that comes from the server's own: whoever has the database alone sees how many updates there were, and
on which days. Inside stands the exact time, because it must be told from that of a disguise: an update from before a
disguise is in its records already; and, of several databases, the one in which it was made: it says which rows by their keys, and these
are given anew in each. Each update is done to records in the shape that the tables had when it was made.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edna import conf, json_keys, shards, store
from edna.clock import moment
from edna.crypto.keys import SecretKey, fingerprint
from edna.crypto.sealing import open_sealed, seal
from edna.db import rows as raw
from edna.db.rows import Row, Table
from edna.engine.forwarding import table_history, vendors
from edna.engine.forwarding.batch import Moving
from edna.engine.forwarding.walk import Follower, table_by_label
from edna.errors import BagError, BagForged, WrongKey
from edna.records import values
from edna.records.diff import RowBatch
from edna.store import serverkeys

_VERSION = 1


@dataclass(frozen=True)
class Update:
    """``set`` where all of ``where`` agree; values as the driver reads them, those of ``where`` in lists."""

    model: str
    stamp: str
    made_at: datetime.datetime
    where: Mapping[str, Sequence[Any]]
    set: Mapping[str, Any]

    @property
    def app_label(self) -> str:
        return self.model.partition(".")[0]

    @property
    def position(self) -> int:
        """How far the tables had come; as far as today where that cannot be told."""
        history = table_history.history(self.app_label)
        return history.after.get(self.stamp, history.end)

    def value_of(self, name: str) -> Any:
        """What it sets a column to, or what a column that it sets has under a key."""
        column = json_keys.holder(name, self.set) or name
        return self.set[column] if column == name else json_keys.read(self.set[column], name)


# Writing the log


def add(table: Table, where: Mapping[str, Any], new: Mapping[str, Any], *, using: str) -> datetime.date:
    """Log an update that was made just now, in the caller's transaction, and return its day.

    Raises:
        ServerKeyUnknown
    """
    recipient = _key(serverkeys.signing_key(using=using)).public_key
    now = moment(using=using)
    payload = [_VERSION, table.label, table_history.newest(table.model._meta.app_label), now, where, new]
    sealed = seal(values.encode(_placed(payload, using=using)), recipients=(recipient,))
    store.add_replay(sealed, logged_on=now.date(), using=using)
    return now.date()


def _placed(payload: list[Any], *, using: str) -> list[Any]:
    database = shards.named(using)
    return payload if database is None else [*payload, database]


def moved(sealed: bytes, *, place: str | None, using: str) -> bytes | None:
    """An entry that was made in another place, an alias or None for a site with one database, as one of this database; None of others.

    Raises:
        ServerKeyUnknown
    """
    try:
        update = _opened(sealed, _keys(), place)
    except BagForged:
        return None
    recipient = _key(serverkeys.signing_key(using=using)).public_key
    payload = [_VERSION, update.model, update.stamp, update.made_at, dict(update.where), dict(update.set)]
    return seal(values.encode(_placed(payload, using=using)), recipients=(recipient,))


def _keys() -> list[SecretKey]:
    return [_key(key) for key in conf.mac_keys()]


def _key(server_key: bytes) -> SecretKey:
    return SecretKey(fingerprint(server_key, purpose=b"edna.replay.1"))


# Reading the log


def logged_since(moment: datetime.datetime, *, using: str) -> list[Update]:
    """All updates that were made since, oldest first. One statement.

    Raises:
        BagForged: an entry of the log does not open.
    """
    sealed = store.replays_since(moment.date(), using=using)
    keys = _keys() if sealed else []
    database = shards.named(using)
    updates = [_here(_opened(each, keys, database), using=using) for each in sealed]
    return sorted([each for each in updates if each.made_at >= moment], key=lambda each: each.made_at)


def verifies(sealed: bytes, *, using: str) -> bool:
    """Whether an entry of the log was made by this site, in this database, and opens."""
    try:
        _opened(sealed, _keys(), shards.named(using))
    except BagForged:
        return False
    return True


def is_of_this_site(sealed: bytes) -> bool:
    """Whether an entry of the log was made by this site, in whichever database, and opens."""
    return any(_payload(sealed, key) is not None for key in _keys())


def _here(update: Update, *, using: str) -> Update:
    """With values as this kind of database has them: the site may have moved since."""
    try:
        needed = vendors.columns_here(update.model, update.stamp, [*update.where, *update.set], using=using)
        where = {name: list(map(needed[name], each)) if name in needed else each for name, each in update.where.items()}
        new = {name: needed[name](value) if name in needed else value for name, value in update.set.items()}
        return replace(update, where=where, set=new)
    except (LookupError, ValueError, ArithmeticError):
        return update  # what it is about is not there any more, or was always of another type


def _opened(sealed: bytes, keys: Sequence[SecretKey], database: str | None) -> Update:
    """``database``: the one of several in which it has to be made, or None."""
    for key in keys:
        match _payload(sealed, key):
            case [1, str(model), str(stamp), datetime.datetime() as made_at, dict(where), dict(new), *place] if (
                place == ([] if database is None else [database])
            ):
                return Update(model, stamp, made_at, where, new)
    of_several = (
        f" Or it was made in another database than {database!r}, or while there was one alone: docs/howto-shards.md, "
        '"Whose tags count where".'
    )
    raise BagForged(
        "An entry of the log of replayed updates was not made by this server, or was edited: no key of MAC_KEYS opens it. "
        f"Nothing was changed; put a missing key back, or delete the entry.{of_several if database else ''}"
    )


def _payload(sealed: bytes, key: SecretKey) -> Any:
    """None if this key does not open it."""
    try:
        return values.decode(open_sealed(sealed, secret_key=key))
    except (WrongKey, BagError):
        return None


# Doing it again


class Replays(Follower):
    """The logged updates that the records of one bag have missed."""

    def __init__(self, updates: Sequence[Update], applied_at: datetime.datetime, *, using: str) -> None:
        self._using = using
        self._by_application: dict[str, list[Update]] = {}
        for update in updates:
            if update.made_at >= applied_at:
                self._by_application.setdefault(update.app_label, []).append(update)
        for own in self._by_application.values():
            own.sort(key=lambda update: (update.position, update.made_at))

    def concerns(self, batch: RowBatch) -> bool:
        return batch.model.partition(".")[0] in self._by_application

    def follow(self, moving: Moving, *, position: int) -> Iterator[tuple[int, str | None]]:
        updates = self._by_application.get(moving.app_label, ())
        while moving.followed < len(updates) and updates[moving.followed].position <= position:
            update = updates[moving.followed]
            moving.followed += 1
            if update.model == moving.model:
                yield from self._redo(update, moving)

    def _redo(self, update: Update, moving: Moving) -> Iterator[tuple[int, str | None]]:
        names = [column.name for column in moving.columns]
        touched = {name: update.value_of(name) for name in names if json_keys.holder(name, update.set)}
        known = names if moving.removed else [*moving.key, *names]
        unknown = [name for name in update.where if name not in known]
        if not touched:
            return
        if moving.removed and unknown:
            yield from ((source, unknown[0]) for source in moving.sources)
        elif moving.removed:
            where = {names.index(name): _set(wanted) for name, wanted in update.where.items()}
            new = {names.index(name): value for name, value in touched.items()}
            moving.settle([_redone(row, where, new) for row in moving.rows()])
        else:
            yield from self._redo_changes(update, moving, touched, unknown)

    def _redo_changes(
        self, update: Update, moving: Moving, touched: Mapping[str, Any], unknown: Sequence[str]
    ) -> Iterator[tuple[int, str | None]]:
        """What was there before the disguise, and what it wrote: the update may have met the one, the other, or both."""
        width, count = len(moving.key), len(moving.columns)
        names = [column.name for column in moving.columns]
        rows = moving.rows()
        live = self._live(moving, [tuple(row[:width]) for row in rows], unknown)
        if live is None:
            yield from ((source, unknown[0]) for source in moving.sources)
            return
        redone = []
        for row in rows:
            key = tuple(row[:width])
            values_of = [*row, *live.get(key, ())]
            for offset in (width, width + count):
                places = {name: position for position, name in enumerate(moving.key)}
                places |= {name: offset + position for position, name in enumerate(names)}
                places |= {name: len(row) + position for position, name in enumerate(unknown)}
                if all(places[name] < len(values_of) for name in update.where):
                    where = {places[name]: _set(wanted) for name, wanted in update.where.items()}
                    new = {places[name]: value for name, value in touched.items()}
                    values_of = list(_redone(values_of, where, new))
            redone.append(values_of[: len(row)])
        moving.settle(redone)

    def _live(self, moving: Moving, keys: Sequence[Row], names: Sequence[str]) -> dict[Row, Row] | None:
        """Columns that the records do not have, of the rows as they are now; None if the table does not have them either."""
        if not names:
            return {}
        table = table_by_label(moving.model)
        if table is None or moving.key != table.key_names or not set(names) <= set(table.names):
            return None
        rows = raw.read(table, (*moving.key, *names), keys, lock=False, using=self._using)
        return {row[: len(moving.key)]: row[len(moving.key) :] for row in rows}


def _set(wanted: Sequence[Any]) -> Collection[Any]:
    try:
        return frozenset(wanted)
    except TypeError:
        return wanted


def _redone(row: Sequence[Any], where: Mapping[int, Collection[Any]], new: Mapping[int, Any]) -> Sequence[Any]:
    if not all(_among(row[position], wanted) for position, wanted in where.items()):
        return row
    return [new.get(position, value) for position, value in enumerate(row)]


def _among(value: Any, wanted: Collection[Any]) -> bool:
    try:
        return value in wanted
    except TypeError:
        return value in list(wanted)
