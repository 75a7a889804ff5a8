"""Which of the configured server keys the database knows: by a check value of each, so that a wrong key makes nothing.

Invariant: nothing is sealed, tagged or noted under a key that the database does not know, and nobody is told that their password is
wrong when it is the server's key that is. There are two ways to a key to make something with: `signing_key`, for whatever seals or is
an act of its own, and `first_known`, for what a return has to write whichever key stands in front. What was found once is
remembered by this process, by database and by check value, so that it costs a statement for each process and key. Does not know how a
key becomes known (`edna.serverkeys`).

Every function takes the database alias; those that write run in the caller's transaction.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.db.models import Model, QuerySet

from edna import conf
from edna.crypto.keys import derive, fingerprint
from edna.db.cursors import connection_of
from edna.errors import ServerKeyUnknown
from edna.models import Bag, FileTask, KeySlot, PrincipalEntry, Replay, ServerKey, SessionLink

#: How many digits of a check value name a key to people.
DIGITS: Final = 8

#: What is sealed, tagged or found under a key of the server.
_MADE_UNDER_A_KEY: Final[tuple[type[Model], ...]] = (
    PrincipalEntry,
    KeySlot,
    Bag,
    SessionLink,
    Replay,
    FileTask,
)

_Mark = tuple[str, str, bytes]
#: Databases and check values that were found in them.
_known: set[_Mark] = set()


# The table


MODEL: Final = ServerKey


@dataclass(frozen=True, slots=True)
class KnownKey:
    check_value: bytes
    added_on: datetime.date


def is_there(*, using: str) -> bool:
    """Whether the table is: not before its migration."""
    return ServerKey._meta.db_table in connection_of(using).introspection.table_names()


def known(*, using: str) -> list[KnownKey]:
    """Oldest first."""
    found = ServerKey.objects.using(using).order_by("added_on", "check_value").values_list("check_value", "added_on")
    return [KnownKey(bytes(check_value), added_on) for check_value, added_on in found]


def add(check_values: Iterable[bytes], *, added_on: datetime.date, using: str) -> None:
    """Those that are there already stay as they are."""
    new = [ServerKey(check_value=check_value, added_on=added_on) for check_value in check_values]
    ServerKey.objects.using(using).bulk_create(new, ignore_conflicts=True)


def forget(check_values: Iterable[bytes], *, using: str) -> None:
    ServerKey.objects.using(using).filter(check_value__in=list(check_values)).delete()


def anything_sealed(*, also: Sequence[type[Model]], using: str) -> bool:
    """Whether there is anything for which it matters under which key it was made: here, or in the tables ``also`` given."""
    # Past any manager of their own.
    return any(QuerySet(model, using=using).exists() for model in (*_MADE_UNDER_A_KEY, *also))


# The keys


def check_values() -> list[bytes]:
    """Of each configured key, in their order: what only who has the key can compute, and what says nothing about it."""
    return list(map(_check_value, conf.mac_keys()))


# Each act asks for them several times; it knows no more than the settings, which are in memory as long.
@functools.lru_cache(maxsize=64)
def _check_value(key: bytes) -> bytes:
    return derive(fingerprint(key, purpose=b"edna.check.key.1"), purpose=b"edna.check.val.1", data=b"edna server key")


def digits(check_value: bytes) -> str:
    return check_value.hex()[:DIGITS]


def require(*, using: str) -> None:
    """Go on only if the database knows the key that seals: the first one.

    Raises:
        ServerKeyUnknown: it does not.
    """
    configured = check_values()
    if not _knows_one(configured[:1], using=using):
        raise ServerKeyUnknown(_refusal(configured, using=using))


def may_seal(*, using: str) -> bool:
    """Whether the database knows the key that seals, for whoever goes on without it."""
    return _knows_one(check_values()[:1], using=using)


def require_any(*, using: str) -> None:
    """Go on only if the database knows one of the configured keys: with none, nothing that was sealed opens.

    Raises:
        ServerKeyUnknown: it knows none.
    """
    configured = check_values()
    if not _knows_one(configured, using=using):
        raise ServerKeyUnknown(_refusal(configured, using=using))


def signing_key(*, using: str) -> bytes:
    """The key that seals, which the database knows. Give it no name where something may raise: error pages print variables.

    Raises:
        ServerKeyUnknown: the database does not know it.
    """
    require(using=using)
    return conf.mac_keys()[0]


def first_known(*, using: str) -> bytes:
    """The first of the configured keys that the database knows: the one that seals, or, before that is added, a former one. For what a
    return writes: nobody's way back is to wait for an operator, and it counts with and without the new key. Give it no name either.

    Raises:
        ServerKeyUnknown: it knows none of them.
    """
    configured = check_values()
    for place, check_value in enumerate(configured):
        if _knows_one([check_value], using=using):
            return conf.mac_keys()[place]
    raise ServerKeyUnknown(_refusal(configured, using=using))


@dataclass(frozen=True)
class Standing:
    """How the configured keys and those that the database knows compare, by check values."""

    configured: tuple[bytes, ...]
    known: tuple[KnownKey, ...]

    @property
    def missing(self) -> list[bytes]:
        """Known keys that are configured nowhere: what was made under them alone does not verify."""
        return [key.check_value for key in self.known if key.check_value not in self.configured]

    @property
    def unknown(self) -> list[bytes]:
        known = {key.check_value for key in self.known}
        return [check_value for check_value in self.configured if check_value not in known]

    @property
    def refusal(self) -> str:
        """What a disguise would be refused with, or ""."""
        return _words(self.configured, self.known) if self.configured[0] in self.unknown else ""


def standing(*, using: str) -> Standing:
    """As it is in the database now."""
    return Standing(tuple(check_values()), tuple(known(using=using)))


@dataclass(frozen=True)
class _Settled:
    """What is known once the transaction that adds it is committed. Waits with that transaction, and is gone with it."""

    marks: set[_Mark]

    def __call__(self) -> None:
        _known.update(self.marks)


def added(new: Sequence[bytes], *, using: str) -> None:
    """Those are in the database now, perhaps by the caller's transaction alone, which may yet be rolled back."""
    transaction.on_commit(_Settled({_mark(check_value, using=using) for check_value in new}), using=using)


def forget_all(*, using: str) -> None:
    """This process looks again: the database may have been emptied."""
    _known.difference_update([mark for mark in _known if mark[0] == using])


def forgotten(gone: Sequence[bytes], *, using: str) -> None:
    """Those are not known any more, to this process either."""
    _known.difference_update({_mark(check_value, using=using) for check_value in gone})


def _knows_one(wanted: Sequence[bytes], *, using: str) -> bool:
    marks = {_mark(check_value, using=using) for check_value in wanted}
    if not marks.isdisjoint(_known):
        return True
    found = {_mark(key.check_value, using=using) for key in known(using=using)} & marks
    # A transaction sees what it has added itself, and may yet be rolled back.
    pending = [callback for _, callback, *_ in connection_of(using).run_on_commit if isinstance(callback, _Settled)]
    _known.update(found.difference(*(callback.marks for callback in pending)))
    return bool(found)


def _mark(check_value: bytes, *, using: str) -> _Mark:
    described = connection_of(using).settings_dict
    # An alias may come to mean another database: that of the tests, or a restored copy.
    return using, "\0".join(str(described.get(name)) for name in ("HOST", "PORT", "NAME")), check_value


def _refusal(configured: Sequence[bytes], *, using: str) -> str:
    return _words(configured, known(using=using))


def _words(configured: Sequence[bytes], known: Sequence[KnownKey]) -> str:
    which = f'key 1 of {len(configured)} in EDNA["MAC_KEYS"] (check value {digits(configured[0])})'
    there = {key.check_value for key in known}
    if not there:
        return (
            f"This database names no server key that it was sealed under, so {which} was not used. Nothing was changed. If it is this "
            "site's own, run manage.py edna_keys add."
        )
    if there.isdisjoint(configured):
        return (
            f"The server's key is wrong: {which} is not one that this database knows ({_listed(known)}), and no other of the list is. "
            "Nothing was changed, and nothing that was sealed opens. Put the key back that was there before."
        )
    return (
        f"The server's key is wrong, or new: {which} is not one that this database knows ({_listed(known)}). Nothing was changed. "
        "If it is new on purpose, run manage.py edna_keys add; otherwise put the key in front that was there before."
    )


def _listed(known: Sequence[KnownKey]) -> str:
    return ", ".join(digits(key.check_value) for key in known)
