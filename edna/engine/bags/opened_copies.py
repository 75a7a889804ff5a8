"""A copy opens one bag: for members of an audience who have opened the copy together.

Invariant (nothing forged): what is opened is the stored bag, its MAC says place and owner, and it is about whom was asked for. Knows copies
and bags; not who keeps them.
"""

from __future__ import annotations

from edna import conf, policy_seals
from edna.crypto.keys import ContentKey, PublicKey
from edna.engine.bags.held_copies import COPY, Subject, subjects_of
from edna.errors import BagMissing, HeldCopyRefused
from edna.records.bag import Bag, BagKind, open_handed_bag
from edna.records.diff import RowBatch
from edna.records.locator import Locator
from edna.store import stored_bags


def opened(copy: bytes, *, subject: Subject, using: str) -> tuple[Bag, Locator]:
    """The bag that a copy opens, as it is stored now.

    Raises:
        BagMissing: it is not there any more: it was taken back, expired, or erased.
        HeldCopyRefused: it is about somebody else.
        BagError: it was changed, moved or forged; WrongKey: sealed anew since; PolicyError: this process does not satisfy its policy.
    """
    read = _read(copy)
    if read is None:
        raise HeldCopyRefused("This is no copy that opens a bag. Nothing was opened.")
    locator, content_key, public_key, sequence = read
    index = locator.index(BagKind.DIFF, sequence)
    stored = stored_bags([index], using=using).get(index)
    if stored is None:
        raise BagMissing("What this copy opens is not there any more: it was brought back, has expired, or was erased.")
    _, sealed = policy_seals.take_off(stored.sealed, index=index)
    bag = open_handed_bag(
        sealed,
        locator=locator,
        kind=BagKind.DIFF,
        sequence=sequence,
        content_key=content_key,
        mac_keys=conf.mac_keys(),
        public_key=public_key,
    )
    if subject not in subjects_of(bag):
        raise HeldCopyRefused("This copy is about somebody else than was asked for. Nothing was opened.")
    return bag, locator


def _read(copy: bytes) -> tuple[Locator, ContentKey, PublicKey, int] | None:
    if len(copy) != COPY.size:
        return None
    locator, content_key, public_key, sequence = COPY.unpack(copy)
    return Locator(locator), ContentKey(content_key), PublicKey(public_key), sequence


def told(bag: Bag) -> list[tuple[str, str, dict[str, object]]]:
    """What the bag holds of rows: model, what was done, and the values that were there before."""
    rows = []
    for batch in bag.batches:
        if isinstance(batch, RowBatch) and batch.word in ("remove", "modify", "decorrelate"):
            start = batch.old_from  # type: ignore[attr-defined]  # those three have it
            for row in batch.rows:
                old = dict(zip(batch.columns, row[start : start + len(batch.columns)], strict=True))
                keys = dict(zip(batch.key, row[: len(batch.key)], strict=True)) if start else {}
                rows.append((batch.model, batch.word, keys | old))
    return rows
