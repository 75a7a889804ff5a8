"""What opens the bags and the list of one holder: a secret key, or what a browser handed over instead of it.

Who hands over keeps the secret key, and the keys of pseudoprincipals: the server is given the locators that the lists' items hold, the
key of each bag's content that it needs, and each voice's key sealed to the principal. Invariant (nothing forged): what is opened so is
the stored bag, and its MAC says place and owner as ever; a list that has changed since, a key that does not fit, and a voice that no bag
names are refused before anything changes; so is a locator that is not the one in its item. Reads no tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from edna import conf
from edna.crypto.keys import ContentKey, HybridPublicKey, PublicKey, SecretKey, half_tag
from edna.errors import BagCorrupt, EntryForged, HandoverRefused, KeyMalformed, SecretKeyNeeded, WrongKey
from edna.records.bag import Bag, BagKind, open_bag, open_handed_bag
from edna.records.locator import Locator, is_item_of, open_locator, split_items
from edna.records.speaksfor import SealedKey, SpeaksFor, SpeaksForBatch
from edna.store import Entry


@dataclass(repr=False)
class Handover:
    """What somebody's browser hands over for one act.

    ``lists`` are, by public key, the items of the principal's list and of those of everybody whose voice is needed, all of them, each
    with its locator: None for one that does not open, or leads to what the act does not need. ``content_keys`` are by the bag's index;
    ``voices`` are the secret keys of pseudoprincipals, by their public keys, each sealed to the principal.
    ``whole`` leads everywhere: where others own rows, too, the server looks itself for what may tell of them.
    """

    public_key: PublicKey
    lists: Mapping[bytes, Mapping[bytes, Locator | None]]
    content_keys: dict[bytes, ContentKey] = field(default_factory=dict)
    voices: Mapping[bytes, SealedKey] = field(default_factory=dict)
    #: Some of the person's bags do not open, whatever they say: nobody whom they may name is let go of.
    damaged: bool = False
    #: The lists of everybody for whom the principal speaks, each item with its locator, and the keys of speaks-for bags alone.
    whole: Handover | None = None
    #: What is sealed beside the body of a bag that was made over to a new key, by the bag's index.
    successions: dict[bytes, Sequence[bytes]] = field(default_factory=dict)
    #: By public key, what the ML-KEM half of a key of the hybrid kind is known by, for its owner alone can make it.
    halves: Mapping[bytes, bytes] = field(default_factory=dict)

    @classmethod
    def of_bytes(
        cls,
        public_key: PublicKey,
        *,
        lists: Mapping[bytes, Mapping[bytes, bytes | None]],
        content_keys: Mapping[bytes, bytes],
        voices: Mapping[bytes, bytes],
        damaged: bool,
        successions: Mapping[bytes, Sequence[bytes]],
        halves: Mapping[bytes, bytes],
        whole: Handover | None = None,
    ) -> Handover:
        """As it was sent.

        Raises:
            KeyMalformed: a part of it has another size.
        """
        return cls(
            public_key,
            {
                key: {item: None if locator is None else Locator(locator) for item, locator in items.items()}
                for key, items in lists.items()
            },
            {index: ContentKey(key) for index, key in content_keys.items()},
            {key: SealedKey(box) for key, box in voices.items()},
            damaged,
            whole,
            dict(successions),
            halves,
        )

    def anew(self) -> Handover:
        """As it was handed over: what an act does to it is forgotten if the act is tried again."""
        return replace(
            self,
            lists={key: dict(items) for key, items in self.lists.items()},
            content_keys=dict(self.content_keys),
            successions=dict(self.successions),
            whole=self.whole and self.whole.anew(),
        )

    def is_other_than(self, given: Handover) -> bool:
        """Whether an act has changed what was handed over."""
        lists = [{key: set(items) for key, items in each.lists.items()} for each in (self, given)]
        return lists[0] != lists[1] or self.content_keys != given.content_keys

    def new_content_key(self, index: bytes) -> ContentKey:
        """For a bag that the act seals, and may have to open again."""
        key = ContentKey.new()
        for handover in [self, *([self.whole] if self.whole else ())]:
            handover.content_keys[index] = key
            handover.successions.pop(index, None)
        return key

    def follow(self, entries: Iterable[Entry], *, gone: Iterable[bytes], new: Mapping[bytes, Locator]) -> None:
        """The act has changed these lists: ``new`` are the locators of items that it has put there."""
        lists, entries = dict(self.lists), list(entries)
        known = {item: locator for items in lists.values() for item, locator in items.items()} | dict(new)
        for entry in entries:
            if entry.public_key in lists:
                lists[entry.public_key] = {item: known.get(item) for item in items_of(entry)}
        gone = list(gone)
        for public_key in gone:
            lists.pop(public_key, None)
        self.lists = lists
        if self.whole is not None:
            self.whole.follow(entries, gone=gone, new=new)


class KeyOpener:
    """Opens with a secret key; ``own`` is the principal's, if this is the key of somebody they speak for."""

    def __init__(self, secret_key: SecretKey, *, own: SecretKey | None = None) -> None:
        self.secret_key = secret_key
        self._own = own or secret_key

    @property
    def public_key(self) -> PublicKey:
        return self.secret_key.public_key

    def items(self, entry: Entry) -> dict[Locator, bytes]:
        """The locators in the entry's list, with their sealed items. Items that anybody else put there do not open, and are left out."""
        return listed_items(entry, self.secret_key)

    def require_half(self, entry: Entry) -> None:
        """That the entry of somebody who was removed, which carries no tag, has the ML-KEM half that belongs to this key, or none if it
        has none. It gets a tag when they return.

        Raises:
            EntryForged: somebody has put another half there, or taken it away, to have what is sealed from then on.
        """
        if entry.reference is None and entry.encapsulation_key != self.public_key.encapsulation_key:
            raise _forged_half(entry)

    def may_open(self, index: bytes) -> bool:
        return True

    def hides(self, entry: Entry) -> bool:
        """Whether items of the list were not handed over, and lead to what may name anybody."""
        return False

    def withholds(self, entry: Entry) -> bool:
        """Whether the list leads to something that was not handed over."""
        return False

    def require_holders(self, holders: Collection[bytes]) -> None:
        """Of those whose lists were handed over."""

    def voice(self, voice: SpeaksFor) -> KeyOpener:
        assert isinstance(voice.secret_key, SecretKey)
        return KeyOpener(voice.secret_key, own=self._own)

    def open(self, sealed: bytes, *, locator: Locator, kind: BagKind, sequence: int) -> Bag:
        """
        Raises:
            BagError: it does not open, or a key in it does not.
        """
        # The server's keys get no name here: error pages print variables.
        bag = open_bag(
            sealed,
            locator=locator,
            kind=kind,
            sequence=sequence,
            secret_key=self.secret_key,
            mac_keys=conf.mac_keys(),
        )
        return _with_voices(bag, self._opened) if _has_sealed_keys(bag) else bag

    def _opened(self, voice: SpeaksFor) -> SpeaksFor:
        if not isinstance(voice.secret_key, SealedKey):
            return voice
        keys = (self.secret_key, self._own)
        opened = voice.secret_key.open(keys, public_key=voice.public_key)
        if opened is None:
            raise BagCorrupt(
                "A sealed key in a speaks-for bag does not open, or is another one's. Nothing was changed; restore the bag from a backup."
            )
        return voice._replace(secret_key=opened)


class HandedOpener:
    """Opens with what a browser handed over: the principal's own bags, or those of the one of their voices who has ``public_key``."""

    def __init__(self, handover: Handover, public_key: PublicKey | None = None) -> None:
        self.handover = handover
        self.public_key = public_key or handover.public_key

    @property
    def secret_key(self) -> SecretKey:
        raise SecretKeyNeeded(
            "This takes the secret key itself, which did not leave its owner's browser. Nothing was changed; unlock with the key."
        )

    def items(self, entry: Entry) -> dict[Locator, bytes]:
        """
        Raises:
            HandoverRefused: it was not handed over, has changed since, or an item holds another locator.
        """
        handed = self.handover.lists.get(entry.public_key)
        listed = items_of(entry)
        if handed is None:
            raise refused(f"The list of entry {entry.id} is needed, and was not handed over.")
        if handed.keys() != set(listed):
            raise refused(
                f"The list of entry {entry.id} is another one than was handed over: it may have changed since."
            )
        found = {locator: item for item in listed if (locator := handed[item]) is not None}
        # Who reveals would take the wrong item out of the list: what tells of another owner, say.
        recipient = recipient_of(entry)
        if not all(is_item_of(item, locator, recipient=recipient) for locator, item in found.items()):
            raise refused(f"A locator was handed over that is not the one in its item in the list of entry {entry.id}.")
        return found

    def require_half(self, entry: Entry) -> None:
        """As `KeyOpener.require_half`, by what the browser says that the half is known by."""
        if entry.attached or not self.handover.lists:  # nothing is done with what is a proof alone
            return
        half = entry.encapsulation_key
        if (half and half_tag(half)) != self.handover.halves.get(entry.public_key):
            raise _forged_half(entry)

    def may_open(self, index: bytes) -> bool:
        return index in self.handover.content_keys

    def hides(self, entry: Entry) -> bool:
        if entry.public_key == bytes(self.handover.public_key):
            return self.handover.damaged
        return self.withholds(entry)

    def withholds(self, entry: Entry) -> bool:
        return None in self.handover.lists[entry.public_key].values()

    def require_holders(self, holders: Collection[bytes]) -> None:
        if not set(self.handover.lists) <= set(holders):
            raise refused("Somebody's list was handed over, and no bag that was speaks for them.")

    def voice(self, voice: SpeaksFor) -> HandedOpener:
        return HandedOpener(self.handover, voice.public_key)

    def open(self, sealed: bytes, *, locator: Locator, kind: BagKind, sequence: int) -> Bag:
        """
        Raises:
            HandoverRefused: the key of this bag was not handed over, or is not its key.
            BagError: it was not made by this server, or not for this place and owner.
        """
        index = locator.index(kind, sequence)
        content_key = self.handover.content_keys.get(index)
        if content_key is None:
            raise refused(
                "A bag is needed whose key was not handed over: it lies over what is to be done, or under it."
            )
        try:
            bag = open_handed_bag(
                sealed,
                locator=locator,
                kind=kind,
                sequence=sequence,
                content_key=content_key,
                mac_keys=conf.mac_keys(),
                public_key=self.public_key,
                succession=self.handover.successions.get(index, ()),
            )
        except WrongKey as error:
            raise refused(str(error)) from None
        return _with_voices(bag, self._handed)

    def _handed(self, voice: SpeaksFor) -> SpeaksFor:
        box = self.handover.voices.get(bytes(voice.public_key))
        if box is not None:
            return voice._replace(secret_key=box)
        if self.public_key != self.handover.public_key:
            # Sealed to somebody who may be let go of.
            raise refused("The key of a pseudoprincipal was not handed over, sealed to its principal.")
        return voice


Opener = KeyOpener | HandedOpener


def refused(why: str) -> HandoverRefused:
    """Of what was handed over."""
    return HandoverRefused(f"{why} Nothing was changed; look anew, and try again.")


def recipient_of(entry: Entry) -> PublicKey:
    """To whom is sealed what belongs to this entry.

    Raises:
        KeyMalformed: what is sealed to its public key opens for nobody. Earlier releases took such keys.
    """
    try:
        if entry.encapsulation_key is not None:
            return HybridPublicKey(entry.public_key, entry.encapsulation_key)
        return PublicKey(entry.public_key)
    except KeyMalformed as error:
        whose = f"{entry.model} {entry.reference}" if entry.attached else "somebody who was removed"
        raise KeyMalformed(
            f"Entry {entry.id} of {whose} has a key that nothing can be sealed to. {error} Nothing was changed. Delete that row of "
            "edna_principalentry and register them again, with another key."
        ) from error


def _forged_half(entry: Entry) -> EntryForged:
    return EntryForged(
        f"Entry {entry.id}, of somebody who was removed, has another ML-KEM half than belongs to its key: it was changed past "
        "edna. Nothing was changed, and nothing is sealed to it. Find out who wrote to the table, and restore the row from a backup."
    )


def items_of(entry: Entry) -> list[bytes]:
    return split_items(entry.locators, hybrid=entry.encapsulation_key is not None)


def listed_items(entry: Entry, secret_key: SecretKey) -> dict[Locator, bytes]:
    """The locators in the entry's list, with their sealed items. Items that anybody else put there do not open, and are left out."""
    return dict(_opened_items(entry, secret_key)) if entry.locators else {}


def _opened_items(entry: Entry, secret_key: SecretKey) -> Iterator[tuple[Locator, bytes]]:
    for item in items_of(entry):
        try:
            yield open_locator(item, secret_key=secret_key), item
        except WrongKey:
            continue


def _has_sealed_keys(bag: Bag) -> bool:
    voices = (batch for batch in bag.batches if isinstance(batch, SpeaksForBatch))
    return any(SealedKey in {type(row[2]) for row in batch.rows} for batch in voices)


def _with_voices(bag: Bag, exchanged: Callable[[SpeaksFor], SpeaksFor]) -> Bag:
    """The bag with the keys in its speaks-for records as whoever opened it can use them; the same one if there are none."""
    if bag.kind is not BagKind.SPEAKS_FOR:
        return bag
    batches = []
    for batch in bag.batches:
        assert isinstance(batch, SpeaksForBatch)
        batches.append(replace(batch, rows=list(map(exchanged, batch.voices()))))
    return replace(bag, batches=tuple(batches))
