"""An audience as everybody may see it: who is in it, the tree of public keys, and how a member comes to the secret at the root.

Each node has a key pair. Its secret is sealed to the keys of the nodes below it, so a member opens its way up from its leaf, however long
it was away. Whoever takes somebody out gives each node that they knew another key. Nodes that a member has set, though it does not lie
below them, are remembered (``set_by``), and refreshed when that member goes.

Keeps: who was removed comes to no later secret, by no key that it ever had or made. An update is followed whole or not at all. An immutable
value. Does not know where it is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import nacl.utils

from edna.crypto.keys import KEY_BYTES, PublicKey, SecretKey
from edna.crypto.sealing import open_small, seal_small
from edna.custody.audiences import shape as shapes
from edna.custody.audiences.shape import Change, Shape
from edna.custody.audiences.updates import (
    HASH_BYTES,
    ID_BYTES,
    MAX_MEMBERS,
    WRAP_BYTES,
    Card,
    Kind,
    Member,
    Update,
    head_after,
)
from edna.errors import AudienceChanged, AudienceRefused, KeyMalformed, NotInAudience, WrapRefused, WrongKey

_NO_HASH: Final = bytes(HASH_BYTES)


@dataclass(frozen=True, slots=True)
class Node:
    """A node above others: ``wraps`` hold its secret, one for each node below it, in their order."""

    public_key: PublicKey
    set_by: bytes
    wraps: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Audience:
    """``former`` are the secrets of before, from the first: each sealed to the key that came after it."""

    id: bytes = b""
    sequence: int = -1
    head: bytes = _NO_HASH
    cards: Mapping[bytes, Card] = field(default_factory=dict)
    shape: Shape = field(default_factory=Shape)
    nodes: Mapping[int, Node] = field(default_factory=dict)
    former: tuple[bytes, ...] = ()

    @property
    def public_key(self) -> PublicKey:
        """What is sealed to it opens for every member."""
        return self.nodes[self.shape.root].public_key

    # --- what members do -------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, member: Member, others: Collection[Card] = ()) -> Update:
        """
        Raises: AudienceRefused if somebody is named twice, or there are too many.
        """
        cards = [member.card, *others]
        _check_new(cards, ())
        begun = cls(id=nacl.utils.random(ID_BYTES))
        return begun._made(Kind.CREATE, member, shapes.create([card.member for card in cards]), cards=cards)

    def join(self, member: Member, cards: Sequence[Card]) -> Update:
        """Take somebody in: they come to the present secret, and from it to those of before.

        Raises: NotInAudience; AudienceRefused if one is there, or there are too many.
        """
        self.require(member.id)
        _check_new(cards, self.cards)
        return self._made(Kind.JOIN, member, shapes.join(self.shape, [card.member for card in cards]), cards=cards)

    def leave(self, member: Member, gone: bytes, *, secret: SecretKey | None = None) -> Update:
        """``member`` takes another one out. ``secret`` is one that was told to the others already, by a flood.

        Raises: NotInAudience; AudienceRefused if that is nobody, or the member itself.
        """
        return self.leave_many(member, [gone], secret=secret)

    def leave_many(self, member: Member, gone: Collection[bytes], *, secret: SecretKey | None = None) -> Update:
        """Several at once, which costs less than one after the other.

        Raises: as `leave`.
        """
        self.require(member.id)
        self._check_gone(gone, member.id)
        change = shapes.leave(self.shape, set(gone), known=self.tainted(gone))
        return self._made(Kind.LEAVE, member, change, removed=sorted(gone), secret=secret)

    def tainted(self, members: Collection[bytes]) -> list[int]:
        """Nodes whose secrets these have set."""
        return [number for number, node in self.nodes.items() if node.set_by in members]

    def _check_gone(self, gone: Collection[bytes], sender: bytes) -> None:
        if not gone or len(set(gone)) < len(gone):
            raise AudienceRefused("Nobody goes, or somebody is named twice. Nothing was changed.")
        if sender in gone:
            raise AudienceRefused("Nobody takes themselves out: let another member do it. Nothing was changed.")
        if others := sorted(member.hex() for member in gone if member not in self.cards):
            raise AudienceRefused(f"Member {others[0]} is not in the audience. Nothing was changed.")

    def require(self, member: bytes) -> None:
        """
        Raises: NotInAudience
        """
        if member not in self.cards:
            raise NotInAudience(f"Member {member.hex()} is not in this audience: it was taken out, or was never in it.")

    def _made(
        self,
        kind: Kind,
        member: Member,
        change: Change,
        *,
        cards: Sequence[Card] = (),
        removed: Sequence[bytes] = (),
        secret: SecretKey | None = None,
    ) -> Update:
        known = {**self.cards, **{card.member: card for card in cards}}
        below = {change.shape.leaves[each]: card.public_key for each, card in known.items() if each not in removed}
        secrets: dict[int, SecretKey] = {}
        wraps = []
        for number in change.refreshed:
            made = secret if secret is not None and number == change.shape.root else SecretKey.generate()
            secrets[number] = made
            for child in change.shape.children[number]:
                key = below.get(child) or (
                    secrets[child].public_key if child in secrets else self.nodes[child].public_key
                )
                wraps.append(seal_small(made.expose(), recipient=key))
        keys = [bytes(secrets[number].public_key) for number in change.refreshed]
        root = secrets[change.shape.root].public_key
        former = [seal_small(self.secret(member).expose(), recipient=root)] if self.nodes else []
        body = b"".join((*keys, *wraps, *former))
        update = Update(kind, self.id, self.sequence + 1, self.head, member.id, cards, removed, body)
        return update.signed(member.signing_key)

    # --- what everybody reads ----------------------------------------------------------------------------------------------

    def follow(self, raw: bytes) -> Audience:
        """Return the audience after an update.

        Raises:
            AudienceRefused: of another audience, or nothing that may be done now.
            AudienceChanged: it is made for another moment: something else was done first, or it comes a second time.
            AudienceForged: its sender did not sign it.
        """
        update = Update.parse(raw)
        if self.nodes and update.audience != self.id:
            raise AudienceRefused("This update is of another audience.")
        if (update.sequence, update.previous) != (self.sequence + 1, self.head):
            raise AudienceChanged(
                f"Update {update.sequence} of the audience does not follow on {self.sequence}: something else was done first. "
                "Nothing was changed; do it again."
            )
        update.check_signature(self._card_of_sender(update).verify_key)
        cards, change = self._planned(update)
        return self._after(update, raw, cards, change)

    def _card_of_sender(self, update: Update) -> Card:
        if update.kind is Kind.CREATE and update.cards and update.cards[0].member == update.sender:
            return update.cards[0]
        if update.kind is Kind.CREATE or update.sender not in self.cards:
            raise AudienceRefused(f"Update {update.sequence} is by nobody in the audience. Nothing was changed.")
        return self.cards[update.sender]

    def _planned(self, update: Update) -> tuple[Mapping[bytes, Card], Change]:
        come = [card.member for card in update.cards]
        if update.kind is Kind.LEAVE:
            if update.cards:
                raise AudienceRefused("Who goes and who comes stand in one update. Nothing was changed.")
            self._check_gone(update.removed, update.sender)
            staying = {member: card for member, card in self.cards.items() if member not in update.removed}
            known = self.tainted(update.removed)
            return staying, shapes.leave(self.shape, set(update.removed), known=known)
        if update.removed or (update.kind is Kind.CREATE and self.nodes):
            raise AudienceRefused("An update begins the audience anew, or takes out while it takes in.")
        _check_new(update.cards, self.cards)
        cards = {**self.cards, **dict(zip(come, update.cards, strict=True))}
        return cards, shapes.create(come) if update.kind is Kind.CREATE else shapes.join(self.shape, come)

    def _after(self, update: Update, raw: bytes, cards: Mapping[bytes, Card], change: Change) -> Audience:
        counts = [len(change.shape.children[number]) for number in change.refreshed]
        split = KEY_BYTES * len(counts)
        end = split + WRAP_BYTES * sum(counts)
        if len(update.body) != end + (WRAP_BYTES if self.nodes else 0):
            raise AudienceRefused(f"Update {update.sequence} has not the keys and wraps that it takes.")
        wraps = _pieces(update.body[split:end], WRAP_BYTES)
        nodes = {number: self.nodes[number] for number in change.shape.children if number in self.nodes}
        used = {bytes(node.public_key) for node in self.nodes.values()}
        for number, key, count in zip(change.refreshed, _pieces(update.body[:split], KEY_BYTES), counts, strict=True):
            if key in used:
                raise AudienceRefused(f"Update {update.sequence} has a key that the audience had before.")
            nodes[number] = Node(_public(key), update.sender, tuple(next(wraps) for _ in range(count)))
        former = (*self.former, update.body[end:]) if self.nodes else ()
        head = head_after(self.head, raw)
        return Audience(update.audience, update.sequence, head, cards, change.shape, nodes, former)

    # --- secrets -----------------------------------------------------------------------------------------------------------

    def secret(self, member: Member) -> SecretKey:
        """The secret at the root, for a member.

        Raises:
            NotInAudience
            WrapRefused: somebody has changed a node past edna.
        """
        self.require(member.id)
        node = self.shape.leaves[member.id]
        # The row says whose leaf it is; the key may be another one since.
        secret = member.secret_key
        for above in self.shape.path(node):
            opened = _opened(self.nodes[above], self.shape.children[above].index(node), secret)
            if opened is None:
                raise WrapRefused(
                    f"Node {above} of the audience does not open for member {member.id.hex()}: it was changed past edna. "
                    "Nothing was changed; restore the table from a backup."
                )
            node, secret = above, opened
        return secret

    def secrets(self, member: Member) -> list[SecretKey]:
        """That at the root and all of before, newest first.

        Raises: as `secret`.
        """
        found = [self.secret(member)]
        for sealed in reversed(self.former):
            former = _unsealed(sealed, found[-1])
            if former is None:
                raise WrapRefused("A former secret of the audience does not open: it was changed past edna.")
            found.append(former)
        return found


def _check_new(cards: Sequence[Card], there: Collection[bytes]) -> None:
    ids = {card.member for card in cards}
    most = MAX_MEMBERS - len(there)
    if not cards or len(ids) < len(cards) or not ids.isdisjoint(there) or len(cards) > most:
        raise AudienceRefused("Nobody comes, or somebody who is in the audience, or twice, or too many.")


def _public(key: bytes) -> PublicKey:
    try:
        return PublicKey(key)
    except KeyMalformed as error:
        raise AudienceRefused("An update of the audience holds what is no public key.") from error


def _pieces(raw: bytes, size: int) -> Iterator[bytes]:
    return (raw[start : start + size] for start in range(0, len(raw), size))


def _opened(node: Node, place: int, secret: SecretKey) -> SecretKey | None:
    opened = _unsealed(node.wraps[place], secret)
    return opened if opened is not None and opened.public_key == node.public_key else None


def _unsealed(sealed: bytes, secret: SecretKey) -> SecretKey | None:
    """Never raises: its variables are secrets."""
    try:
        return SecretKey(open_small(sealed, secret_key=secret))
    except (WrongKey, KeyMalformed):
        return None
