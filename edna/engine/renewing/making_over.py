"""Gives a principal a new key that their browser has made, and everyone they speak for: bags are made over to it, and none is opened.

The browser has opened everything. It sends each file key sealed to the new owner; this puts that before the body that is stored, with a
succession (docs/format.md), and keeps the body. Invariants: the old keys open nothing afterwards, or nothing is changed; nobody has
anything made over but bags to which an item of their own list leads, and that list was written by the server; nothing that changed since
the browser looked is lost. Why so: docs/decisions/0032. Sees no content and no secret key. That all keys are proved, the caller knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from edna import conf, policy_seals, store
from edna.crypto.keys import KEY_BYTES, ContentKey, HybridPublicKey, PublicKey
from edna.crypto.sealing import open_small_with, rewrap, wrapped_bytes
from edna.engine.bags.key_graph import KeyGraph, stored_segments
from edna.engine.bags.memory import Memory
from edna.engine.bags.openers import HandedOpener, Handover, items_of, recipient_of, refused
from edna.engine.bags.seal import Sealed
from edna.engine.planning.owners import several_may_own
from edna.errors import BagError, PrincipalAlreadyRegistered, PrincipalNotRegistered
from edna.records.bag import BagKind
from edna.records.locator import Locator, is_item_of, seal_locator
from edna.records.speaksfor import SealedKey, SpeaksFor
from edna.records.succession import Succession, read_succession
from edna.store import Entry, serverkeys

_KINDS: Final = (BagKind.DIFF, BagKind.SPEAKS_FOR)


@dataclass(frozen=True, repr=False)
class MadeOver:
    """One bag, for its new owner: ``owner`` is the former public key of that one, ``box`` the file key, sealed to the new one.

    ``nonce`` is that of the body that the browser saw, ``succession`` what was sealed beside it already, and ``voices`` are the secret keys
    of the pseudoprincipals in it, by the public keys that its records have.
    """

    owner: bytes
    nonce: bytes
    box: bytes = field(repr=False)
    succession: Sequence[bytes] = ()
    voices: Mapping[bytes, SealedKey] = field(default_factory=dict)
    #: Of a bag that speaks for somebody, where several may own rows.
    content_key: ContentKey | None = None


@dataclass(frozen=True, repr=False)
class NewKeys:
    """What a browser sends to have the key of ``own`` replaced.

    ``keys`` are the new public keys by the former ones, of the principal and of everyone they speak for, each proved. ``lists`` are, by
    former public key, all items of the list, each with what shows which locator is inside: the key of its box, or of an item of the hybrid
    kind the locator. ``bags`` are by index.

    Where several may own rows, a list says who else is away: there bags that speak for somebody come with their content keys, and nobody
    is left out of what follows.
    """

    own: bytes
    keys: Mapping[bytes, PublicKey]
    lists: Mapping[bytes, Mapping[bytes, bytes]]
    bags: Mapping[bytes, MadeOver]


def make_over(new_keys: NewKeys, *, using: str) -> None:
    """Replace the keys, in the caller's transaction.

    Raises:
        PrincipalNotRegistered: the old key is nobody's, perhaps because it was replaced before.
        PrincipalAlreadyRegistered: one of the new keys is somebody's.
        HandoverRefused: a list or a bag is another one than the browser saw, or something was not sent, or is not theirs.
        EntryForged: somebody has changed one of the entries.
        BagError: a stored bag is none.
    """
    entries = {entry.public_key: entry for entry in store.entries_by_public_key(new_keys.keys, using=using, lock=True)}
    own = entries.get(new_keys.own)
    if own is None or (own.attached and not own.natural):
        raise PrincipalNotRegistered("Nobody is registered with this key. Nothing was changed; unlock again.")
    store.require_sound(entries.values())
    new = {bytes(key) for key in new_keys.keys.values()}
    if len(new) < len(new_keys.keys) or store.entries_by_public_key(new, using=using):
        raise PrincipalAlreadyRegistered("One of the new public keys is in use. Nothing was changed; make others.")
    holders: dict[Locator, set[bytes]] = {}
    mac_key = serverkeys.signing_key(using=using)
    renewed = [_relisted(entry, new_keys, holders) for entry in entries.values()]
    if several_may_own():
        _require_everybody(own, entries, new_keys, holders, using=using)
    store.replace_bags(_made_over(new_keys, holders, mac_key=mac_key, using=using), using=using)
    store.replace_keys(renewed, using=using)


def _relisted(entry: Entry, new_keys: NewKeys, holders: dict[Locator, set[bytes]]) -> Entry:
    """The entry with its new key and list; in ``holders`` is noted in whose list each locator is."""
    listed, recipient = items_of(entry), new_keys.keys[entry.public_key]
    sent = new_keys.lists.get(entry.public_key, {})
    if sent.keys() != set(listed):
        raise refused(f"The list of entry {entry.id} is another one than was sent: it may have changed since.")
    items = []
    for item in listed:
        locator = _locator_in(item, sent[item], recipient=recipient_of(entry))
        # What is given up, or sealed anew elsewhere, might be what tells of another owner of a row.
        if locator is None:
            raise refused(f"An item in the list of entry {entry.id} does not lead to what it is said to.")
        holders.setdefault(locator, set()).add(entry.public_key)
        items.append(seal_locator(locator, recipient=recipient))
    half = recipient.encapsulation_key
    return entry._replace(public_key=bytes(recipient), encapsulation_key=half, locators=b"".join(items))


def _locator_in(item: bytes, shown: bytes, *, recipient: PublicKey) -> Locator | None:
    """The locator inside an item, and none but that one: nobody finds another key of the box, or another locator with its tag."""
    if isinstance(recipient, HybridPublicKey):
        locator = Locator(shown)
        return locator if is_item_of(item, locator, recipient=recipient) else None
    raw = open_small_with(shown, item, recipient=recipient)
    return None if raw is None or len(raw) != KEY_BYTES else Locator(raw)


class _Follower(HandedOpener):
    """Follows lists whose items were opened by the keys of their boxes, to all who are spoken for; uses nobody's key."""

    def items(self, entry: Entry) -> dict[Locator, bytes]:
        return {locator: item for item, locator in self.handover.lists.get(entry.public_key, {}).items() if locator}

    def voice(self, voice: SpeaksFor) -> _Follower:
        return _Follower(self.handover, voice.public_key)

    def require_half(self, entry: Entry) -> None:
        """Everything is sealed to new keys: the halves of the former ones do not matter."""

    def _handed(self, voice: SpeaksFor) -> SpeaksFor:
        return voice


def _require_everybody(
    own: Entry,
    entries: Mapping[bytes, Entry],
    new_keys: NewKeys,
    holders: Mapping[Locator, set[bytes]],
    *,
    using: str,
) -> None:
    """That all for whom they speak get new keys, and all bags say so: none can be left behind whose list says that another owner is away.

    Raises:
        HandoverRefused: somebody is left out, or a bag that speaks for them was not handed over.
        EntryForged: somebody has changed the entry of one.
    """
    lists: dict[bytes, dict[bytes, Locator | None]] = {key: {} for key in entries}
    for locator, those in holders.items():
        for key in those:
            lists[key][locator.index(BagKind.DIFF, 0)] = locator  # its item does not matter any more
    content_keys = {index: made.content_key for index, made in new_keys.bags.items() if made.content_key}
    successions = {index: made.succession for index, made in new_keys.bags.items()}
    handover = Handover(PublicKey(own.public_key), lists, content_keys, successions=successions)
    graph = KeyGraph(own, _Follower(handover), memory=Memory(), using=using, lock_bags=True)
    for locator, segments in graph.follow([BagKind.SPEAKS_FOR], start=()):
        for segment in segments:
            index = locator.index(segment.kind, segment.sequence)
            made = new_keys.bags.get(index)
            voices = _succession(made, new_keys, index=index).voices if made else {}
            now = {bytes(key) for key, _ in voices.values()}
            rows = [row for batch in segment.bag.batches for row in batch.rows]
            if {bytes(new_keys.keys.get(bytes(public), public)) for _, public, _, _ in rows} - now:
                raise refused("Somebody for whom a bag speaks has no new key.")
    for forged in graph.forged.values():
        raise forged
    if graph.refused or graph.holders.keys() != entries.keys():
        raise refused("Several people may own rows here, and not all for whom the key speaks were handed over.")


def _made_over(new_keys: NewKeys, holders: Mapping[Locator, set[bytes]], *, mac_key: bytes, using: str) -> list[Sealed]:
    left, sealed = set(new_keys.bags), []
    for locator, segments in stored_segments(holders, _KINDS, lock=True, using=using).items():
        for kind, sequence, stored in segments:
            index = locator.index(kind, sequence)
            made = new_keys.bags.get(index)
            if made is None or made.owner not in holders[locator]:
                raise refused("A bag is there that was not sent, or not as its owner's: it may have been made since.")
            left.discard(index)
            recipient = new_keys.keys[made.owner]
            if len(made.box) != wrapped_bytes(recipient):
                raise refused("The key of a bag was sealed as another kind of new key has it.")
            try:
                pieces = _succession(made, new_keys, index=index).pieces(index=index, owner=recipient, mac_key=mac_key)
                policy, inner = policy_seals.take_off(stored.sealed, index=index)
                container = rewrap(inner, box=made.box, recipient=recipient, nonce=made.nonce, succession=pieces)
            except ValueError as error:
                raise refused(f"A bag has too many pseudoprincipals: {error}.") from None
            if container is None:
                raise refused("A bag was sealed anew since it was seen.")
            sealed.append((index, policy_seals.put_back(container, policy=policy, index=index)))
    if left:
        raise refused("A bag was sent to which no item of a list leads, or which is not there any more.")
    return sealed


def _succession(made: MadeOver, new_keys: NewKeys, *, index: bytes) -> Succession:
    owner = PublicKey(made.owner)
    before = read_succession(made.succession, index=index, owner=owner, mac_keys=conf.mac_keys())
    if isinstance(before, BagError):
        raise refused("What is said to be sealed beside a bag is not what this server has sealed there.")
    current = {public: bytes(new) for public, (new, _) in before.voices.items()} if before else {}
    voices = {}
    for public, box in made.voices.items():
        new = new_keys.keys.get(current.get(public, public))
        if new is None:
            raise refused("The key of a pseudoprincipal was sent that is not among those that are replaced.")
        voices[public] = (new, box)
    return Succession(before.former if before else owner, voices)
