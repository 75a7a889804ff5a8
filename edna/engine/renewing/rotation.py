"""Gives a principal new keys, and everyone they speak for: whatever was sealed to the old ones is sealed anew.

Bags keep their locators, so receipts stay good. Works on bags as they are stored, segment by segment, whatever their records say
and whichever database or release they come from; only the keys in speaks-for records are replaced. Invariants: everything
that the old key opens the new one opens, or nothing is changed (nothing lost); the old keys open nothing afterwards. Bags that
several people share, and the content of files, stay where they are, because their keys follow from their locators: the
old keys no longer lead to those (docs/decisions/0010). What says there by which key somebody is found, and in whose list a bag is, says
the new ones. The number of statements depends on the levels of speaking-for alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from edna import store
from edna.crypto.keys import PublicKey, SecretKey
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.key_graph import Holder
from edna.engine.bags.reader import Everything, read_all
from edna.engine.bags.seal import Sealed, seal_segment
from edna.engine.books import under_way
from edna.errors import BagError, PolicyError, PrincipalAlreadyRegistered, ReceiptsIncomplete
from edna.keypool import pool
from edna.records.bag import Bag, BagKind
from edna.records.diff import Listed, Owners, RowBatch
from edna.records.locator import Locator, seal_locator
from edna.records.speaksfor import SpeaksFor, SpeaksForBatch
from edna.store import Entry


def rotate(unlocked: Unlocked, public_key: PublicKey, *, leave_damaged: bool) -> None:
    """Seal everything that ``unlocked`` opens to ``public_key``, in the caller's transaction.

    With ``leave_damaged``, what does not open is left where it is and taken out of the lists.

    Raises:
        PrincipalNotRegistered: the old key is nobody's, perhaps because it was rotated before.
        PrincipalAlreadyRegistered: ``public_key`` is somebody's, or one that was drawn for a pseudoprincipal is: the caller draws again.
        ReceiptForeign: one of the receipts given to `unlock` does not open.
        ReceiptsIncomplete: a bag that no list leads to is there, and its receipt was not given.
        BagError: something that the lists lead to was changed, moved, forged or is missing.
    """
    using = unlocked.using
    everything = read_all(unlocked)
    if everything.refused and not leave_damaged:
        raise next(iter(everything.refused.values()))
    require_no_policy(everything.refused.values())
    if everything.unopened and not leave_damaged:
        raise ReceiptsIncomplete(
            "A bag of this principal is there whose receipt was not given: a disguise with their key at hand has noted it. Unlock with all "
            "their receipts; leave_damaged=True gives it up. Nothing was changed."
        )
    if bytes(public_key) in everything.holders:
        raise PrincipalAlreadyRegistered("This public key is one of those that are to be replaced; take a new one.")
    own = bytes(unlocked.public_key)
    others = [old for old in everything.holders if old != own]
    # Those without an entry too: one that was swept may be made again, and not with a key that was compromised.
    others += _without_entry(everything)
    new_keys = dict(zip(others, pool.take(len(others)), strict=True))
    recipients = {old: secret_key.public_key for old, secret_key in new_keys.items()} | {own: public_key}
    sealed: list[Sealed] = []
    for opened in everything.opened:
        renamed = [renamed_in(bag, recipients, opened.locator) for bag in opened.bags]
        if opened.holder is not None:
            recipient = recipients[opened.holder.public_key]
            renamed = [with_new_keys(bag, new_keys, given_up=everything.unopened) for bag in renamed]
        elif all(one is other for one, other in zip(renamed, opened.bags, strict=True)):
            continue
        else:
            recipient = opened.locator.shared_key().public_key
        sealed += _resealed(renamed, locator=opened.locator, recipient=recipient, using=using)
    # What is left of an expired disguise is not sealed anew, and must not look damaged to the new key.
    gone = set(everything.refused) | everything.expired
    entries = [_entry(holder, recipients[old], gone=gone) for old, holder in everything.holders.items()]
    store.replace_bags(sealed, using=using)
    store.replace_keys(entries, using=using)


def require_no_policy(refused: Iterable[BagError]) -> None:
    """What only a worker with a credential opens is not damaged, and is not given up.

    Raises:
        PolicyError: something has a policy seal that this process does not open.
    """
    for error in refused:
        if isinstance(error, PolicyError):
            raise error


def _without_entry(everything: Everything) -> list[bytes]:
    voices = [voice for opened in everything.opened for voice in opened.speaks_for]
    return [key for key in dict.fromkeys(bytes(voice.public_key) for voice in voices) if key not in everything.holders]


def _entry(holder: Holder, public_key: PublicKey, *, gone: set[Locator]) -> Entry:
    items = [seal_locator(locator, recipient=public_key) for locator in holder.items if locator not in gone]
    return under_way.without(holder.entry, gone)._replace(
        public_key=bytes(public_key),
        encapsulation_key=public_key.encapsulation_key,
        locators=b"".join(items),
    )


def _resealed(bags: Sequence[Bag], *, locator: Locator, recipient: PublicKey, using: str) -> Iterator[Sealed]:
    numbers = {kind: count() for kind in BagKind}
    for bag in bags:
        yield seal_segment(bag, next(numbers[bag.kind]), locator=locator, recipient=recipient, using=using)


def renamed_in(bag: Bag, recipients: Mapping[bytes, PublicKey], locator: Locator) -> Bag:
    """With the new keys where it says by which one an owner of its rows is found, or in whose list it is."""
    if bag.kind is BagKind.SPEAKS_FOR:
        return bag
    batches: list[RowBatch] = []
    for batch in bag.batches:
        assert isinstance(batch, RowBatch)
        place = batch.layout.index("public_key") if isinstance(batch, Listed | Owners) else None
        if place is not None and any(bytes(row[place]) in recipients for row in batch.rows):
            rows = [list(row) for row in batch.rows]
            for row in rows:
                if (new := recipients.get(bytes(row[place]))) is not None:
                    row[place] = bytes(new)
                    if isinstance(batch, Listed):
                        row[batch.layout.index("item")] = seal_locator(locator, recipient=new)
            batch = replace(batch, rows=rows)
        batches.append(batch)
    same = all(one is other for one, other in zip(batches, bag.batches, strict=True))
    return bag if same else replace(bag, batches=tuple(batches))


def with_new_keys(bag: Bag, new_keys: Mapping[bytes, SecretKey], *, given_up: set[bytes]) -> Bag:
    """The bag with these keys in the place of the former ones, by their public keys, and without the indexes that are ``given_up``."""
    if bag.kind is not BagKind.SPEAKS_FOR:
        return bag
    batches = []
    for batch in bag.batches:
        assert isinstance(batch, SpeaksForBatch)
        rows = []
        for principal, public_key, secret_key, owner in batch.rows:
            key = new_keys.get(bytes(public_key))
            new = SpeaksFor(principal, public_key, secret_key, owner)
            rows.append(new._replace(public_key=key.public_key, secret_key=key) if key else new)
        unlisted = tuple(index for index in batch.unlisted if index not in given_up)
        batches.append(replace(batch, rows=rows, unlisted=unlisted))
    return replace(bag, batches=tuple(batches))
