"""Gives a principal another key without sealing anew what is hidden: bags keep their bodies, and get other recipients.

As `making_over` does with what a browser has opened, this does with a secret key: each bag's file key is sealed to its new owner, with
a succession beside it (docs/format.md). Bags that speak for somebody are sealed anew, with new keys for all for whom they speak; shared
ones where they say by which key somebody is found. Of somebody who has many bags, those with nothing but records get their recipients in
parts, afterwards: until then what the former keys are is noted for the new one (`books.former_keys`).
Invariants: the old keys open nothing once it is finished, and from the first on neither lists nor keys of pseudoprincipals; nothing that
is damaged or missing in part is left to them, or nothing is changed, unless it is given up on purpose; receipts stay good; a kill between
two parts loses nothing. The number of statements depends on the levels of speaking-for, and the parts, alone. Does not know why the key
is another one.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final

from edna import conf, policy_seals, store
from edna.crypto.keys import PublicKey, SecretKey
from edna.crypto.sealing import content_key_of, open_succession, rewrap, wrap
from edna.db import transactions
from edna.engine.bags import unlisted_bags
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.key_graph import Holder, KeyGraph, Segment, stored_segments
from edna.engine.bags.openers import recipient_of
from edna.engine.bags.seal import Sealed, seal_segment
from edna.engine.books import former_keys, under_way
from edna.engine.books.former_keys import FormerKey
from edna.engine.renewing.rotation import renamed_in, require_no_policy, with_new_keys
from edna.errors import BagError, EdnaError, PrincipalAlreadyRegistered, ReceiptsIncomplete, WrongKey
from edna.keypool import pool
from edna.records.bag import BagKind
from edna.records.locator import Locator, seal_locator
from edna.records.succession import Succession, read_succession
from edna.store import Entry, StoredBag, later_bucket, serverkeys

#: As many bags get other recipients in one transaction.
AT_ONCE: Final = 1_000


def rewrap_all(
    unlocked: Unlocked, secret_key: SecretKey, *, leave_damaged: bool = False, in_parts: bool = False
) -> int:
    """Replace the keys, the principal's by ``secret_key``, in the caller's transaction; return how many bags have other recipients then.

    With ``leave_damaged``, what does not open as a whole is left where it is and taken out of the lists. With ``in_parts`` more bags than
    `AT_ONCE` are left to `finish`.

    Raises:
        PrincipalNotRegistered: the old key is nobody's, perhaps because it was replaced before.
        PrincipalAlreadyRegistered: the new key is somebody's, or one that was drawn for a pseudoprincipal is: the caller draws again.
        EntryForged: somebody has changed an entry.
        BagError: something that the lists lead to was changed, moved, forged or is missing.
        ReceiptsIncomplete: a bag that no list leads to is there.
    """
    using, public_key = unlocked.using, secret_key.public_key
    graph = unlocked.key_graph(lock_entries=True, lock_bags=True)
    # Each is opened, so that none goes to the new key with a part damaged or missing: what is restored later would be the old one's.
    opened, records = _opened(graph, only_whole=leave_damaged)
    for problem in (*(() if leave_damaged else graph.refused.values()), *graph.forged.values()):
        raise problem
    require_no_policy(graph.refused.values())
    gone = {locator for locator, seen in graph.seen.items() if not seen.whole} if leave_damaged else set()
    if bytes(public_key) in graph.holders:
        raise PrincipalAlreadyRegistered("This public key is one of those that are to be replaced; take a new one.")
    keys = _new_keys(graph, public_key)
    noted = {index for batch in graph.voices for index in batch.unlisted}
    known = {*records.indexes, *(locator.index(segment.kind, segment.sequence) for locator, segment in opened)}
    unlisted = unlisted_bags.still_there(noted, opened=known, using=using)
    if unlisted and not leave_damaged:
        raise ReceiptsIncomplete(
            "A bag of this principal is there that no list leads to: a disguise with their key at hand has noted it. Reveal it first, or "
            "rotate with its receipt. Nothing was changed."
        )
    sealed, left = {}, 0
    if in_parts and len(records.indexes) > AT_ONCE:
        left = len(records.indexes)
        former = _former(records.holders, keys)
        former_keys.note(former, secret_key=secret_key, at_once=AT_ONCE, expires_on=records.expires_on, using=using)
    else:
        sealed = dict(_rewrapped(records.holders, keys, using=using))
    recipients = {former: keys.recipient(holder) for former, holder in graph.holders.items()}
    for locator, segment in opened:
        if segment.kind is BagKind.SPEAKS_FOR:
            bag = with_new_keys(segment.bag, keys.voices, given_up=unlisted)
            recipient = keys.recipient(segment.holder)
        elif (bag := renamed_in(segment.bag, recipients, locator)) is not segment.bag:
            recipient = locator.shared_key().public_key
        else:
            continue
        sealed.update([seal_segment(bag, segment.sequence, locator=locator, recipient=recipient, using=using)])
    store.replace_bags([*sealed.items()], using=using)
    store.replace_keys(
        [_entry(holder, keys.recipient(holder), gone=gone) for holder in graph.holders.values()], using=using
    )
    return len(sealed) + left


def finish(secret_key: SecretKey, *, using: str) -> int:
    """Give bags their new recipients that a change to this key has left without, in a transaction for each part; return how many.

    Raises:
        BagError, EntryForged, DatabaseBusy: a part was left; the others were not.
    """
    left = former_keys.read(secret_key, using=using)
    number, problems = 0, list[EdnaError](left.refused.values())
    for part in left.parts:
        try:
            number += transactions.run(partial(_finish_part, secret_key, part, using=using), using=using)
        except EdnaError as error:
            problems.append(error)
    for problem in problems:
        raise problem
    return number


def left_of(secret_key: SecretKey, *, using: str) -> int:
    """How many bags `finish` would look at."""
    return sum(len(each.locators) for each in former_keys.read(secret_key, using=using).all())


def _finish_part(secret_key: SecretKey, number: int, *, using: str) -> int:
    # Their entry first, as a reveal does: what it seals anew meanwhile is not met half done.
    store.entries_by_public_key([bytes(secret_key.public_key)], using=using, lock=True)
    part = former_keys.read(secret_key, only=number, lock=True, using=using).parts.get(number)
    if part is None:
        return 0
    entries = {
        entry.public_key: entry
        for entry in store.entries_by_public_key([each.public_key for each in part], using=using, lock=True)
    }
    store.require_sound(entries.values())
    mac_key = serverkeys.signing_key(using=using)
    wanted = {locator: each for each in part if each.public_key in entries for locator in each.locators}
    sealed: list[Sealed] = []
    kept: dict[Locator, FormerKey] = {}
    for locator, segments in stored_segments(wanted, [BagKind.DIFF], lock=True, using=using).items():
        former = wanted[locator]
        for kind, sequence, stored in segments:
            try:
                recipient = recipient_of(entries[former.public_key])
                index = locator.index(kind, sequence)
                sealed.append(_wrapped(stored, index, former.secret_key, recipient=recipient, mac_key=mac_key))
            except WrongKey:
                pass  # it was sealed anew meanwhile
            except BagError:
                kept[locator] = former  # it may be restored
    store.replace_bags(sealed, using=using)
    former_keys.keep(
        number, [replace(each, locators=[at]) for at, each in kept.items()], secret_key=secret_key, using=using
    )
    return len(sealed)


@dataclass(frozen=True, repr=False)
class _Records:
    """The bags with nothing but records: whose each is, where they lie, and until when they are kept."""

    holders: Mapping[Locator, Holder]
    indexes: Collection[bytes]
    expires_on: datetime.date | None


def _opened(graph: KeyGraph, *, only_whole: bool) -> tuple[list[tuple[Locator, Segment]], _Records]:
    """All that opens, followed to the end: what has to be sealed anew, and what gets other recipients."""
    anew: list[tuple[Locator, Segment]] = []
    holders: dict[Locator, Holder] = {}
    indexes: dict[bytes, datetime.date | None] = {}
    for locator, segments in graph.follow(tuple(BagKind), start=(), only_whole=only_whole):
        for segment in segments:
            if segment.kind is BagKind.DIFF:
                holders[locator] = segment.holder
                indexes[locator.index(segment.kind, segment.sequence)] = segment.stored.expires_on
            else:
                anew.append((locator, segment))
    latest = reduce(later_bucket, indexes.values()) if indexes else None
    return anew, _Records(holders, indexes.keys(), latest)


@dataclass(frozen=True, repr=False)
class _NewKeys:
    """The principal's new public key, and by former public key the pairs of those for whom they speak."""

    public_key: PublicKey
    own: Entry
    voices: Mapping[bytes, SecretKey]

    def recipient(self, holder: Holder) -> PublicKey:
        former = holder.entry.public_key
        return self.public_key if former == self.own.public_key else self.voices[former].public_key


def _new_keys(graph: KeyGraph, public_key: PublicKey) -> _NewKeys:
    # Those without an entry too: one that was swept may be made again, and not with a key that others know.
    voices = dict.fromkeys(bytes(row[1]) for batch in graph.voices for row in batch.rows)
    return _NewKeys(public_key, graph.own.entry, dict(zip(voices, pool.take(len(voices)), strict=True)))


def _entry(holder: Holder, public_key: PublicKey, *, gone: set[Locator]) -> Entry:
    items = [seal_locator(locator, recipient=public_key) for locator in holder.items if locator not in gone]
    half = public_key.encapsulation_key
    entry = under_way.without(holder.entry, gone)
    return entry._replace(public_key=bytes(public_key), encapsulation_key=half, locators=b"".join(items))


def _former(holders: Mapping[Locator, Holder], keys: _NewKeys) -> list[FormerKey]:
    return [
        FormerKey(holder.opener.secret_key, bytes(keys.recipient(holder)), [locator])
        for locator, holder in holders.items()
    ]


def _rewrapped(holders: Mapping[Locator, Holder], keys: _NewKeys, *, using: str) -> Iterator[Sealed]:
    mac_key = serverkeys.signing_key(using=using)
    for locator, segments in stored_segments(holders, [BagKind.DIFF], lock=True, using=using).items():
        holder = holders[locator]
        for kind, sequence, stored in segments:
            former, recipient = holder.opener.secret_key, keys.recipient(holder)
            yield _wrapped(stored, locator.index(kind, sequence), former, recipient=recipient, mac_key=mac_key)


def _wrapped(stored: StoredBag, index: bytes, former: SecretKey, *, recipient: PublicKey, mac_key: bytes) -> Sealed:
    """
    Raises:
        BagError: it does not open with the former key.
    """
    policy, container = policy_seals.take_off(stored.sealed, index=index)
    content_key, before = content_key_of(container, secret_key=former), _before(container, former, index=index)
    # Its own succession says whom the MAC in it names, if it was made over before.
    made = Succession(before.former if before else former.public_key)
    sealed = rewrap(
        container,
        box=wrap(content_key, recipient=recipient),
        recipient=recipient,
        succession=made.pieces(index=index, owner=recipient, mac_key=mac_key),
    )
    assert sealed is not None
    return index, policy_seals.put_back(sealed, policy=policy, index=index)


def _before(container: bytes, former: SecretKey, *, index: bytes) -> Succession | None:
    pieces = open_succession(container, secret_key=former)
    if isinstance(pieces, BagError):
        raise pieces
    before = read_succession(pieces, index=index, owner=former.public_key, mac_keys=conf.mac_keys())
    if isinstance(before, BagError):
        raise before
    return before
