"""A browser, played by Python: it has a person's secret key, opens what is theirs, and hands over what one act needs, and no more.

Works with the primitives of the library, and with its key graph to walk. `edna.static` has the same in JavaScript.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from django.conf import settings
from django.test import override_settings
from nacl.bindings import crypto_box_beforenm

import edna
from edna import conf, inner_door
from edna.crypto.keys import HybridSecretKey, PublicKey, generate_key_pairs, half_tag
from edna.crypto.sealing import content_key_of, open_small, open_succession, wrap
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.key_graph import Holder, Segment
from edna.engine.bags.openers import KeyOpener, items_of
from edna.engine.graph.references import columns_that_refer
from edna.engine.planning.owners import several_may_own, tables_in_common
from edna.errors import BagError
from edna.inner_door import Handover, MadeOver, NewKeys
from edna.records.bag import BagKind
from edna.records.chain import chunks_of
from edna.records.diff import Changed, Modified, Owners, Removed, RowBatch, Shares
from edna.records.locator import Locator, is_item_of, open_locator
from edna.records.speaksfor import SealedKey, SpeaksFor, SpeaksForBatch
from edna.records.succession import read_succession
from edna.testing import Person


class Browser:
    """Of one person, as it is after it has walked."""

    def __init__(self, secret_key: edna.SecretKey, *, start: Collection[Locator] = (), using: str = "default") -> None:
        with Unlocked(secret_key, using=using) as unlocked:
            self.graph = unlocked.key_graph()
            self.bags: dict[Locator, list[Segment]] = dict(self.graph.follow(tuple(BagKind), start=start))
        self.secret_key = secret_key

    @property
    def voices(self) -> list[Holder]:
        return [holder for holder in self.graph.holders.values() if holder is not self.graph.own]

    def for_disguise(self) -> Handover:
        """What says for whom the person speaks, and nothing of what was disguised."""
        return self._handover(self.bags, kinds=[BagKind.SPEAKS_FOR])

    def for_reveal(self, receipt: edna.Receipt) -> Handover:
        """The bags of the receipt, those that lie over or under them, and those that speak for their owners.

        Raises:
            BagError: one of the receipt's does not open.
        """
        if refusal := self.graph.refused.get(receipt.locator):
            raise refusal
        wanted = self.needed(receipt.locator)
        if not self._may_be_others(wanted):
            return self._handover(wanted, kinds=tuple(BagKind))
        shared = {each for each, segments in self.bags.items() if segments[0].kind is BagKind.SHARED}
        handover = self._handover(self.closure(wanted | shared), kinds=tuple(BagKind))
        return replace(handover, whole=self._handover(self.graph.listed, kinds=[BagKind.SPEAKS_FOR]))

    def _may_be_others(self, wanted: Collection[Locator]) -> bool:
        """Whether the site asks for everything that may tell of other owners."""
        bags = [segment.bag for each in wanted for segment in self.bags.get(each, ())]
        changed = {(bag.kind, batch.model) for bag in bags for batch in bag.batches if isinstance(batch, Modified)}
        common = tables_in_common()
        return any(isinstance(batch, Owners) for bag in bags for batch in bag.batches) or any(
            kind is BagKind.SHARED or model in common for kind, model in changed
        )

    def needed(self, locator: Locator) -> set[Locator]:
        own = self.graph.own.items
        return self.closure({locator.chunk(number) for number in (chunks_of(locator, own) if locator in own else [0])})

    def closure(self, wanted: set[Locator]) -> set[Locator]:
        """With what lies over or under these, and what speaks for those whose they are."""
        while True:
            known = self.bags.keys() - self.graph.refused.keys()
            more = {each for each in known - wanted if self._belongs(each, wanted)}
            if not more:
                return wanted
            wanted |= more

    def _belongs(self, locator: Locator, wanted: set[Locator]) -> bool:
        parts = [Part(self.bags[each]) for each in wanted if each in self.bags]
        this = Part(self.bags.get(locator, ()))
        spoken = {voice for part in parts for voice in part.voices}
        if any(
            holder.entry.public_key in spoken
            for holder in self.graph.listed.get(locator, ())
            if locator in holder.items
        ):
            return True
        owners = (holder for each in wanted for holder in self.graph.listed.get(each, ()))
        return any(holder.spoken_under == locator for holder in owners) or any(this.meets(part) for part in parts)

    def _handover(self, wanted: Collection[Locator], *, kinds: Collection[BagKind]) -> Handover:
        own = self.secret_key.public_key
        segments = [(each, segment) for each in wanted for segment in self.bags.get(each, ()) if segment.kind in kinds]
        rows = [
            row
            for _, segment in segments
            for batch in segment.bag.batches
            if isinstance(batch, SpeaksForBatch)
            for row in batch.rows
        ]
        spoken = {bytes(public) for _, public, _, _ in rows}
        holders = [self.graph.own, *(holder for holder in self.voices if holder.entry.public_key in spoken)]
        return Handover(
            own,
            {holder.entry.public_key: self._handed_items(holder, wanted) for holder in holders},
            {
                each.index(segment.kind, segment.sequence): content_key_of(
                    segment.stored.sealed, secret_key=segment.holder.opener.secret_key
                )
                for each, segment in segments
                if segment.kind is not BagKind.SHARED
            },
            {bytes(public): SealedKey.of(secret, recipient=own) for _, public, secret, _ in rows},
            bool(self.graph.refused),
            successions={
                each.index(segment.kind, segment.sequence): pieces
                for each, segment in segments
                if segment.kind is not BagKind.SHARED and (pieces := self.beside(segment))
            },
            halves=halves_of(holder.opener.secret_key for holder in holders),
        )

    def for_new_key(self, new: edna.SecretKey) -> tuple[NewKeys, dict[bytes, edna.SecretKey]]:
        """What is sent to have the key, and those of all voices, replaced; and all secret keys that have to be proved, by public key."""
        own, old = bytes(self.secret_key.public_key), {}
        renewed = {own: new}
        bags: dict[bytes, MadeOver] = {}
        segments = [(each, segment) for each, found in self.bags.items() for segment in found]
        rows = {
            segment: [SpeaksFor(*row) for batch in segment.bag.batches for row in batch.rows]
            for _, segment in segments
            if segment.kind is BagKind.SPEAKS_FOR
        }
        for row in (row for each in rows.values() for row in each):
            renewed.setdefault(bytes(row.public_key), generate_key_pairs(1, hybrid=conf.is_hybrid())[0])
            assert isinstance(row.secret_key, edna.SecretKey)
            old[bytes(row.public_key)] = row.secret_key
        for locator, segment in segments:
            if segment.kind is BagKind.SHARED:
                continue
            owner, pieces = segment.holder.entry.public_key, self.beside(segment)
            index = locator.index(segment.kind, segment.sequence)
            before = read_succession(pieces, index=index, owner=PublicKey(owner), mac_keys=conf.mac_keys())
            assert not isinstance(before, BagError)
            recorded = {bytes(today): public for public, (today, _) in before.voices.items()} if before else {}
            recipient = renewed[owner].public_key
            opener = segment.holder.opener.secret_key
            sealed = segment.stored.sealed
            bags[index] = MadeOver(
                owner,
                sealed[-int.from_bytes(sealed[3:7], "big") :][:24],
                wrap(content_key_of(sealed, secret_key=opener), recipient=recipient),
                pieces,
                {
                    recorded.get(bytes(row.public_key), bytes(row.public_key)): SealedKey.of(
                        renewed[bytes(row.public_key)], recipient=recipient
                    )
                    for row in rows.get(segment, ())
                },
                content_key_of(sealed, secret_key=opener)
                if several_may_own() and segment.kind is BagKind.SPEAKS_FOR
                else None,
            )
        lists = {
            holder.entry.public_key: {item: shown_in(item, holder.opener.secret_key) for item in items_of(holder.entry)}
            for holder in self.graph.holders.values()
        }
        keys = {former: key.public_key for former, key in renewed.items()}
        proved = {bytes(key.public_key): key for key in (self.secret_key, *renewed.values())}
        return NewKeys(own, keys, lists, bags), proved | old

    def beside(self, segment: Segment) -> list[bytes]:
        """What is sealed beside a bag that was made over to a new key."""
        pieces = open_succession(segment.stored.sealed, secret_key=segment.holder.opener.secret_key)
        assert isinstance(pieces, list)
        return pieces

    def _handed_items(self, holder: Holder, wanted: Collection[Locator]) -> dict[bytes, Locator | None]:
        """Those that are wanted, and those that lead nowhere: as far as the site has put them there."""
        recipient = holder.opener.secret_key.public_key
        locators = {
            item: locator
            for locator, item in holder.items.items()
            if (locator in wanted or not self.graph.seen[locator].segments)
            and is_item_of(item, locator, recipient=recipient)
        }
        return {item: locators.get(item) for item in items_of(holder.entry)}


def shown_in(item: bytes, secret_key: edna.SecretKey) -> bytes:
    """What shows the site which locator is inside an item: the key of its box, or of an item of the hybrid kind the locator."""
    if isinstance(secret_key, HybridSecretKey):
        return open_locator(item, secret_key=secret_key).expose()
    shared: bytes = crypto_box_beforenm(item[:32], secret_key.expose())
    return shared


def halves_of(keys: Iterable[edna.SecretKey]) -> dict[bytes, bytes]:
    """What the ML-KEM halves of these are known by, of those that have one."""
    halves = {bytes(key.public_key): key.public_key.encapsulation_key for key in keys}
    return {name: half_tag(half) for name, half in halves.items() if half}


class Part:
    """What tells whether bags lie over each other: rows, whom they name, to what they point."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self.rows: set[Any] = set()
        #: Values of removed rows, and keys of pseudoprincipals, by model and column; what refers to such.
        self.there: set[Any] = set()
        self.named: set[Any] = set()
        self.pointers: set[bytes] = set()
        self.voices: set[bytes] = set()
        for bag in (segment.bag for segment in segments):
            self.named.add((*_own(bag.principal_model), bag.principal))
            for batch in bag.batches:
                self._add(batch)

    def _add(self, batch: RowBatch | SpeaksForBatch) -> None:
        if isinstance(batch, SpeaksForBatch):
            self.voices |= {bytes(public) for _, public, _, _ in batch.rows}
            self.there |= {(*_own(batch.model), key) for key, *_ in batch.rows}
            self.named |= {(*_own(batch.model), owner) for *_, owner in batch.rows}
        elif isinstance(batch, Shares):
            self.pointers |= set(batch.locators())
        elif isinstance(batch, Removed | Changed):
            self.rows |= {(batch.model, key) for key in batch.primary_keys()}
            names = batch.columns if isinstance(batch, Removed) else (*batch.key, *batch.columns, *batch.columns)
            for place, name in enumerate(names):
                target = columns_that_refer(batch.model).get(name)
                values = [row[place] for row in batch.rows if not isinstance(row[place], bool | list | dict | None)]
                self.named |= {(*target, str(value) if target == ("", "") else value) for value in values if target}
                if isinstance(batch, Removed):
                    self.there |= {(batch.model, name, value) for value in values}
                    self.there |= {("", "", str(value)) for value in values if name in batch.key}

    def meets(self, other: Part) -> bool:
        pairs = (
            (self.rows, other.rows),
            (self.there, other.named),
            (self.named, other.there),
            (self.pointers, other.pointers),
        )
        return any(not one.isdisjoint(two) for one, two in pairs)


def _own(label: str) -> tuple[str, str]:
    """A model, and the column of its key."""
    return columns_that_refer(label).get("", ("", label))


def send_new_keys(new_keys: NewKeys, proved: Mapping[bytes, edna.SecretKey]) -> None:
    """As a browser does that has these secret keys, without slots."""
    asked = {*new_keys.keys, *map(bytes, new_keys.keys.values())} & proved.keys()
    challenges = inner_door.challenge_keys(sorted(asked), bound_to=b"here")
    opened = {
        key: open_small(challenge, secret_key=proved[key])
        for key, challenge in zip(sorted(asked), challenges, strict=True)
    }
    with without_keys():
        inner_door.rotate_elsewhere(new_keys, opened=opened, slots=[], bound_to=b"here")


@contextmanager
def without_keys() -> Iterator[None]:
    """In this block nothing is opened with a secret key."""
    with mock.patch.object(KeyOpener, "__init__", side_effect=AssertionError("a secret key was used")):
        yield


@contextmanager
def keys_in_browsers() -> Iterator[None]:
    """In this block what people do with their key is done by what their browsers hand over."""

    def disguise(self: Person, name: str, *, with_key: bool = False, **params: Any) -> edna.Receipt:
        if not with_key:
            return edna.disguise(name, self.user, params=params)
        handover = Browser(self.secret_key).for_disguise()
        with without_keys(), inner_door.unlock_handed(handover) as unlocked:
            return edna.disguise(name, self.user, params=params, unlocked=unlocked)

    def reveal(self: Person, receipt: edna.Receipt | str, **kwargs: Any) -> edna.Outcome:
        receipt = edna.Receipt.parse(receipt) if isinstance(receipt, str) else receipt
        handover = Browser(self.secret_key, start=[receipt.locator]).for_reveal(receipt)
        with without_keys(), inner_door.unlock_handed(handover) as unlocked:
            return edna.reveal(receipt, unlocked, **kwargs)

    configured = {**settings.EDNA, "CUSTODY": "browser"}
    doing = mock.patch.multiple(Person, disguise=disguise, reveal=reveal)
    with override_settings(EDNA=configured), doing:
        yield


def as_sent(handover: Handover) -> dict[str, Any]:
    """As the HTTP interface takes it."""
    whole = {"whole": as_sent(handover.whole)} if handover.whole else {}
    return {
        **whole,
        "damaged": handover.damaged,
        "lists": [
            {
                "public_key": _base64(public_key),
                "items": _base64(b"".join(items)),
                "locators": [locator and _base64(locator.expose()) for locator in items.values()],
                "half": (half := handover.halves.get(public_key)) and _base64(half),
            }
            for public_key, items in handover.lists.items()
        ],
        "bags": [
            {
                "index": _base64(index),
                "content_key": _base64(key.expose()),
                "succession": [*map(_base64, handover.successions.get(index, ()))],
            }
            for index, key in handover.content_keys.items()
        ],
        "voices": [
            {"public_key": _base64(public_key), "sealed_key": _base64(box.box)}
            for public_key, box in handover.voices.items()
        ],
    }


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
