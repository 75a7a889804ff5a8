"""Gives a principal another key without sealing anew what is hidden: bags keep their bodies, and get other recipients.

As `making_over` does with what a browser has opened, this does with a secret key: each bag's file key is sealed to its new owner, with
a succession beside it (docs/format.md). Bags that speak for somebody are sealed anew, with new keys for all for whom they speak; shared
ones where they say by which key somebody is found.
Invariants: the old keys open nothing afterwards, and nothing that is damaged or missing in part is left to them, or nothing is changed,
unless it is given up on purpose; receipts stay good. The number of statements depends on the levels of speaking-for alone. Does not know
why the key is another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from edna import conf, policy_seals, store
from edna.crypto.keys import ContentKey, PublicKey, SecretKey
from edna.crypto.sealing import content_key_of, open_succession, rewrap, wrap
from edna.engine.bags import unlisted_bags
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.key_graph import Holder, KeyGraph, stored_segments
from edna.engine.bags.seal import Sealed, seal_segment
from edna.engine.renewing.rotation import renamed_in, require_no_policy, with_new_keys
from edna.errors import BagError, PrincipalAlreadyRegistered, ReceiptsIncomplete, WrongKey
from edna.keypool import pool
from edna.records.bag import BagKind
from edna.records.locator import Locator, seal_locator
from edna.records.succession import Succession, read_succession
from edna.store import Entry, StoredBag, serverkeys


def rewrap_all(unlocked: Unlocked, public_key: PublicKey, *, leave_damaged: bool = False) -> int:
    """Replace the keys, in the caller's transaction; return how many bags have other recipients now.

    With ``leave_damaged``, what does not open as a whole is left where it is and taken out of the lists.

    Raises:
        PrincipalNotRegistered: the old key is nobody's, perhaps because it was replaced before.
        PrincipalAlreadyRegistered: ``public_key`` is somebody's, or one that was drawn for a pseudoprincipal is: the caller draws again.
        EntryForged: somebody has changed an entry.
        BagError: something that the lists lead to was changed, moved, forged or is missing.
        ReceiptsIncomplete: a bag that no list leads to is there.
    """
    using = unlocked.using
    graph = unlocked.key_graph(lock_entries=True, lock_bags=True)
    # Each is opened, so that none goes to the new key with a part damaged or missing: what is restored later would be the old one's.
    everything = graph.follow(tuple(BagKind), start=(), only_whole=leave_damaged)
    opened = [(locator, each) for locator, part in everything for each in part if each.kind is not BagKind.DIFF]
    for problem in (*(() if leave_damaged else graph.refused.values()), *graph.forged.values()):
        raise problem
    require_no_policy(graph.refused.values())
    gone = {locator for locator, seen in graph.seen.items() if not seen.whole} if leave_damaged else set()
    if bytes(public_key) in graph.holders:
        raise PrincipalAlreadyRegistered("This public key is one of those that are to be replaced; take a new one.")
    keys = _new_keys(graph, public_key)
    sealed = dict(_rewrapped(graph, keys, gone=gone, using=using))
    noted = {index for batch in graph.voices for index in batch.unlisted}
    known = {*sealed, *(locator.index(segment.kind, segment.sequence) for locator, segment in opened)}
    unlisted = unlisted_bags.still_there(noted, opened=known, using=using)
    if unlisted and not leave_damaged:
        raise ReceiptsIncomplete(
            "A bag of this principal is there that no list leads to: a disguise with their key at hand has noted it. Reveal it first, or "
            "rotate with its receipt. Nothing was changed."
        )
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
    return len(sealed)


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
    return replace(holder.entry, public_key=bytes(public_key), encapsulation_key=half, locators=b"".join(items))


def _rewrapped(graph: KeyGraph, keys: _NewKeys, *, gone: set[Locator], using: str) -> Iterator[Sealed]:
    mac_key = serverkeys.signing_key(using=using)
    wanted = [locator for locator in graph.listed if locator not in gone]
    for locator, segments in stored_segments(wanted, [BagKind.DIFF], lock=True, using=using).items():
        for kind, sequence, stored in segments:
            index = locator.index(kind, sequence)
            policy, container = policy_seals.take_off(stored.sealed, index=index)
            stored = replace(stored, sealed=container)
            holder, content_key = _opened(stored, graph.listed[locator])
            recipient, before = keys.recipient(holder), _before(stored, holder, index=index)
            # Its own succession says whom the MAC in it names, if it was made over before.
            made = Succession(before.former if before else holder.opener.public_key)
            sealed = rewrap(
                stored.sealed,
                box=wrap(content_key, recipient=recipient),
                recipient=recipient,
                succession=made.pieces(index=index, owner=recipient, mac_key=mac_key),
            )
            assert sealed is not None
            yield index, policy_seals.put_back(sealed, policy=policy, index=index)


def _opened(stored: StoredBag, holders: Sequence[Holder]) -> tuple[Holder, ContentKey]:
    """Whose the bag is, of those in whose list it is.

    Raises:
        BagError: it opens for none of them.
    """
    refusal: BagError | None = None
    for holder in holders:
        try:
            return holder, content_key_of(stored.sealed, secret_key=holder.opener.secret_key)
        except WrongKey as error:
            refusal = error
    assert refusal is not None
    raise refusal


def _before(stored: StoredBag, holder: Holder, *, index: bytes) -> Succession | None:
    pieces = open_succession(stored.sealed, secret_key=holder.opener.secret_key)
    if isinstance(pieces, BagError):
        raise pieces
    before = read_succession(pieces, index=index, owner=holder.opener.public_key, mac_keys=conf.mac_keys())
    if isinstance(before, BagError):
        raise before
    return before
