"""What is kept beside the engine's own tables, and must change with them: the way from the engine to `edna.operations`, which is above it.

Keeps: what is done here is done in the caller's transaction, and a failure of it undoes that. Knows none of these tables; while nobody
has connected any, nothing is kept, and nothing is asked.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, Model

from edna.crypto.keys import PublicKey, SecretKey
from edna.db.rows import Table
from edna.engine.planning.steps import Plan
from edna.store import Entry
from edna.store.vouching import Found, Tagged


@dataclass(frozen=True)
class Trace:
    """Where people may be named who go: what to look for in a column, and how to forget them if it is there."""

    table: Table
    column: str
    values: Sequence[Any]
    forget: Callable[[], None]


class Beside:
    """Nothing. Who keeps something says so in a subclass."""

    def traces(self, gone: Sequence[Entry], people: Sequence[Entry], *, using: str) -> list[Trace]:
        """Of accounts of one model that go, those of ``people`` among them."""
        return []

    def note_disguise(self, plan: Plan, *, now: datetime.datetime, for_good: bool, using: str) -> None:
        """``plan`` was executed; ``for_good``, without a way back."""

    def strikes(self) -> bool:
        """Whether `strike_disguise` would do anything."""
        return False

    def strike_disguise(self, model: str, reference: str, subject: bytes, *, using: str) -> None:
        """Nothing is left to bring back of a disguise of this person."""

    def seen_on_return(self, model: str) -> datetime.date | None:
        """The day of activity that is kept of somebody of this model whose account has just come back."""
        return None

    def spread_hold(
        self, source: datetime.date | None, others: Collection[datetime.date | None], *, using: str
    ) -> None:
        """What was in the bucket ``source`` may be in these now."""

    def held_among(self, buckets: Collection[datetime.date], *, using: str) -> set[datetime.date]:
        """On which of these days what expires must not be erased."""
        return set()

    def lock_unheld(self, bucket: datetime.date, *, using: str) -> bool:
        """Whether what expires on that day may be erased: if so, nobody can hold it before the transaction ends."""
        return True

    def anything_held(self) -> Exists | None:
        """A condition: that something is held beyond its day."""
        return None

    # What says under which key of the server it was made

    def under_a_key(self) -> Sequence[type[Model]]:
        """Further tables of what is sealed or tagged."""
        return ()

    def tagged(self, *, job: int | None = None) -> Sequence[Tagged]:
        """Further tables whose rows have tags; with ``job``, those rows of them that are about it."""
        return ()

    def verdicts(self, *, most: int, using: str) -> Iterator[Iterator[bool]]:
        """By kind, of ``most`` things that carry a MAC, whether it is this site's."""
        yield from ()

    def has_vouched(self) -> bool:
        """Whether it is on record that edna has vouched for rows here."""
        return False


#: What the audit trail says of acts of one kind: their details, newest first. Nothing without `edna.operations`.
Noted = Callable[[str], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True)
class KeyStatistic:
    """What is kept under keys of the server: one and several of it in ``words``, and under which of them. ``by_owner``: only whose it is
    can have it made under another one."""

    kind: str
    words: tuple[str, str]
    found: Found
    by_owner: bool = False


@dataclass(frozen=True)
class Checked:
    """How many ``words`` were looked at, and the keys of rows with which something is wrong, by what `edna_verify` calls it."""

    words: str
    count: int
    wrong: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class HealthLine:
    """What `edna_health` tells of something: what was found, and what to do ("" if it is well)."""

    kind: str
    finding: str
    advice: str
    numbers: Mapping[str, int]


class FurtherTables:
    """Those of another application: what is to be verified in them, and tagged anew under a new key of the server."""

    def tagged(self) -> Sequence[Tagged]:
        """Tables whose rows have tags."""
        return ()

    def kept(self, *, using: str) -> Iterator[KeyStatistic]:
        """What is kept under keys of the server beside rows with tags. Reads all of it."""
        yield from ()

    def renew(self, *, using: str) -> Iterator[KeyStatistic]:
        """As `kept`, and puts under the first key whatever can be put there without its owner."""
        yield from ()

    def slot_keys(self, *, using: str) -> Iterator[list[PublicKey]]:
        """In pages, public keys that are nobody's and may have slots."""
        yield from ()

    def checked(self, *, using: str) -> Iterator[Checked]:
        """What shows that rows without tags are as they were written."""
        yield from ()

    def lines(self, *, using: str) -> Iterator[HealthLine]:
        """How what is in them stands."""
        yield from ()

    def set_back(self, noted: Noted, *, using: str) -> Iterator[str]:
        """What is older in them than the audit trail says, or has gaps: names that tell nothing of a person."""
        yield from ()


_kept = [Beside()]
_further: dict[type[FurtherTables], FurtherTables] = {}
#: Each once, however often Django makes its applications ready: it does so again where a test installs others.
_without_slots: dict[Callable[[PublicKey, str], None], None] = {}
_openers: dict[Callable[[SecretKey], Any], None] = {}
_before_rotation: dict[Callable[[PublicKey, str], None], None] = {}


def connect(beside: Beside) -> None:
    """Called once the applications are loaded."""
    _kept[:] = [beside]


def kept() -> Beside:
    return _kept[0]


def tables_too(tables: FurtherTables) -> None:
    """These are verified and tagged anew, too. Calling it again changes nothing."""
    _further.setdefault(type(tables), tables)


def further() -> list[FurtherTables]:
    return list(_further.values())


def on_slots_gone(told: Callable[[PublicKey, str], None]) -> None:
    """Have ``told(public_key, alias)`` called when all slots of a key are deleted, in that transaction, which may be tried again."""
    _without_slots.setdefault(told)


def slots_gone(public_key: PublicKey, *, using: str) -> None:
    for told in _without_slots:
        told(public_key, using)


def before_rotation(asked: Callable[[PublicKey, str], None]) -> None:
    """Have ``asked(public_key, alias)`` called before a key is replaced by one that is made without those who hold it; it may raise."""
    _before_rotation.setdefault(asked)


def require_rotation(public_key: PublicKey, *, using: str) -> None:
    for asked in _before_rotation:
        asked(public_key, using)


def open_otherwise(opened: Callable[[SecretKey], Any]) -> None:
    """Have ``opened(secret_key)`` called for a key that is nobody's: an unlocked principal, if it leads to somebody's; or None."""
    _openers.setdefault(opened)


def opened_otherwise(secret_key: SecretKey) -> Any:
    found = (opened(secret_key) for opened in _openers)
    return next((unlocked for unlocked in found if unlocked is not None), None)
