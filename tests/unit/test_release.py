"""Which of a revealed disguise's pseudoprincipals may go, and where the keys of the others go."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

from edna.crypto.keys import SecretKey
from edna.engine.bags.opened_bag import Opened
from edna.engine.revealing.progress import Progress
from edna.engine.revealing.release import _candidates
from edna.records.bag import Bag, BagKind
from edna.records.diff import Decorrelated, Removed, RowBatch
from edna.records.locator import Locator
from edna.records.speaksfor import SpeaksFor, SpeaksForBatch
from edna.store import Entry
from tests.lobsters.models import User

KEY = SecretKey.generate()
VOICE = SpeaksFor(-5, KEY.public_key, KEY, 3)
ENTRY = Entry(1, bytes(SecretKey.generate().public_key), "auth.user", "3", True, b"", None)


def opened(*batches: RowBatch, day: int = 1, voices: tuple[SpeaksFor, ...] = (), shared: bool = False) -> Opened:
    at = datetime.datetime(2026, 1, day, tzinfo=datetime.UTC)
    head = Bag(BagKind.DIFF, "shop.hush", at, "auth.user", 3, {}, "sqlite", True, (1, 1), batches)
    named = [getattr(head, name) for name in Bag.__slots__[1:-1]]
    speaking = Bag(BagKind.SPEAKS_FOR, *named, (SpeaksForBatch("auth.user", list(voices)),))
    return Opened(Locator.new(), [head, speaking], holder=None if shared else ENTRY)


def candidates(current: Opened, others: list[Opened], *, listed: tuple[Opened, ...] = ()) -> set[Any]:
    """Who may go; ``listed`` is what leads the pseudoprincipal's own list."""
    own, voice = SimpleNamespace(entry=ENTRY, items={}), SimpleNamespace(items={bag.locator: b"" for bag in listed})
    journal: Any = SimpleNamespace(
        current=current, others=others, damaged=set(), own=own, holder_of=lambda _voice: voice
    )
    aliases: Any = SimpleNamespace(owners_in=lambda batch: [row[-1] for row in batch.rows])
    free, _, _ = _candidates(journal, Progress(), aliases, User)
    return set(free)


def pointed_at() -> Decorrelated:
    return Decorrelated("shop.quote", "", ("id",), ("author",), [[1, -5, -9]])


def points_at_it() -> Decorrelated:
    return Decorrelated("shop.quote", "", ("id",), ("author",), [[1, 3, -5]])


def test_who_is_needed_by_nothing_may_go() -> None:
    assert candidates(opened(voices=(VOICE,)), [opened(pointed_at())]) == {-5}


def test_the_key_goes_into_the_oldest_bag_that_needs_it() -> None:
    """Of a disguise in chunks, that is the one that is revealed last: the others would lose it to nobody."""
    oldest, newest = opened(points_at_it(), day=2), opened(points_at_it(), day=3)
    assert candidates(opened(voices=(VOICE,)), [oldest, newest]) == set()
    assert (oldest.speaks_for, newest.speaks_for) == ((VOICE,), ())


def test_who_is_waited_for_by_a_row_that_others_own_too_stays() -> None:
    """Its list leads to the row, and no bag of its own person does."""
    row = Removed("shop.letter", "", ("id",), ("id", "sender"), [[1, -5]])
    waiting = opened(row, shared=True)
    assert candidates(opened(voices=(VOICE,)), [waiting], listed=(waiting,)) == set()
    assert candidates(opened(voices=(VOICE,)), [waiting]) == {-5}
