"""A copy opens one bag: for members of an audience who have opened the copy together.

Invariant (nothing forged): what is opened is the stored bag, its MAC says place and owner, and it is about whom was asked for. Knows copies
and bags; not who keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from edna import conf, policy_seals, registry
from edna.crypto.keys import ContentKey, PublicKey
from edna.engine.bags.held_copies import COPY, Subject, subjects_of
from edna.errors import BagMissing, HeldCopyRefused
from edna.personal_columns import is_credential
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
    """What the bag holds of rows: model, what was done, and the values that were there before; without what nobody reads in a case: what
    opens an account, and what the disguise leaves out."""
    found = registry.find(bag.disguise)
    without = {label.lower(): frozenset(names) for label, names in (found.audience_without if found else {}).items()}
    rows = []
    for batch in bag.batches:
        if isinstance(batch, RowBatch) and batch.word in ("remove", "modify", "decorrelate"):
            start = batch.old_from  # type: ignore[attr-defined]  # those three have it
            left_out = without.get(batch.model.lower(), frozenset())
            told_of = {name for name in batch.layout if name not in left_out and not is_credential(name)}
            for row in batch.rows:
                keys = _shown(batch.key, row[:start], told_of)
                old = _shown(batch.columns, row[start : start + len(batch.columns)], told_of)
                rows.append((batch.model, batch.word, keys | old))
    return rows


def _shown(names: Sequence[str], values: Sequence[object], told_of: Collection[str]) -> dict[str, object]:
    """Of a row that was removed there are no ``values`` of its key beside those of its columns."""
    pairs = zip(names, values, strict=True) if values else ()
    return {name: _without_credentials(value) for name, value in pairs if name in told_of}


def _without_credentials(value: object) -> object:
    """Libraries keep them in documents as well: an access token in what another site said of somebody, the seed of a second factor."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        document = json.loads(value)
        cleared = _cleared(document)
        return value if cleared == document else json.dumps(cleared)
    except (ValueError, RecursionError):  # a text that begins like one
        return value


def _cleared(document: object) -> object:
    if isinstance(document, dict):
        return {name: _cleared(value) for name, value in document.items() if not is_credential(name)}
    return [_cleared(each) for each in document] if isinstance(document, list) else document
