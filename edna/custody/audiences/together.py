"""What only several members together open: sealed to a point whose logarithm is shared among them, and never put together.

Each member who agrees computes with their share, for this one container, and proves it; any ``threshold`` parts open that container and no
other. So who has taken part in one opening cannot open the next alone. The shares, parts and proofs are those of guardians
(`edna.custody.guardians.sharing`, `evaluation`). When members come or go, ``threshold`` of those who have shares hand them on, in new ones
(Desmedt and Jajodia 1997): old and new do not combine, and what was sealed before opens for who is there now.

Keeps: a share and a part are checked before they count. Does not know whom it is about, nor where anything is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

import nacl.utils
from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
)
from nacl.exceptions import CryptoError

from edna.crypto.keys import PublicKey, SecretKey, derive
from edna.crypto.sealing import open_small, seal_small
from edna.custody.guardians import evaluation
from edna.custody.guardians import sharing as shamir
from edna.custody.guardians.evaluation import Blinded, Output, Partial, Place
from edna.custody.guardians.group import POINT_BYTES, ZERO, Point, Scalar, multiply, multiply_base, point_of, scalar_of
from edna.errors import GuardianRefused, NotInAudience, QuorumUnavailable, ShareRefused, TooFewTogether, WrongKey

#: Among so many a secret is shared at most: the number of a share is one byte.
MOST_MEMBERS: Final = shamir.MAX_GUARDIANS
#: More than what is in it.
OVERHEAD_BYTES: Final = POINT_BYTES + 16
PART_BYTES: Final = 1 + POINT_BYTES + 64
_ID_BYTES: Final = 16
# A key is for one container alone, so that one nonce is enough.
_NONCE: Final = bytes(24)
_ONE: Final = Scalar.of_number(1)


@dataclass(frozen=True, slots=True)
class Sharing:
    """Among whom a secret is shared, by their numbers from 1, and the commitments to the shares. ``dealers`` are the numbers in the sharing
    before of those who handed it on; none of the first one."""

    id: bytes
    epoch: int
    members: tuple[bytes, ...]
    commitments: tuple[Point, ...]
    dealers: tuple[int, ...] = ()

    @property
    def threshold(self) -> int:
        return len(self.commitments)

    @property
    def point(self) -> Point:
        """What is sealed to; it stays when shares are handed on."""
        return self.commitments[0]

    def number(self, member: bytes) -> int:
        """
        Raises: NotInAudience
        """
        if member not in self.members:
            raise NotInAudience(f"Member {member.hex()} has no share here.")
        return self.members.index(member) + 1

    def place(self, number: int) -> Place:
        return Place(self.id, self.epoch, number)


@dataclass(frozen=True, slots=True)
class Deal:
    """Shares of one secret, each sealed to a member, by the number of who dealt them; 0 of the first deal."""

    dealer: int
    commitments: tuple[Point, ...]
    sealed: Mapping[bytes, bytes] = field(repr=False)


def begin(members: Mapping[bytes, PublicKey], *, threshold: int) -> tuple[Sharing, Deal]:
    """A new secret, shared among these; nobody keeps it.

    Raises: ConfigurationError if that many of so many make no sense.
    """
    deal = _dealt(Scalar.random(), 0, members, threshold)
    return Sharing(nacl.utils.random(_ID_BYTES), 0, tuple(members), deal.commitments), deal


def hand_on(
    share: Scalar, *, sharing: Sharing, member: bytes, members: Mapping[bytes, PublicKey], threshold: int
) -> Deal:
    """What one who has a share does for those who are to have one.

    Raises: ConfigurationError, NotInAudience.
    """
    return _dealt(share, sharing.number(member), members, threshold)


def handed_on(sharing: Sharing, deals: Sequence[Deal], members: Sequence[bytes]) -> Sharing:
    """The sharing once enough have handed theirs on.

    Raises:
        TooFewTogether: fewer than `threshold` have.
        ShareRefused: one has dealt something else than their share.
    """
    if len(deals) < sharing.threshold:
        raise TooFewTogether(have=len(deals), need=sharing.threshold)
    chosen = sorted(deals, key=lambda deal: deal.dealer)[: sharing.threshold]
    for deal in chosen:
        _check_deal(deal, sharing)
    if len({len(deal.commitments) for deal in chosen}) > 1:
        raise ShareRefused("Those who handed their shares on do not agree on how many are to act together.")
    powers = range(len(chosen[0].commitments))
    commitments = tuple(shamir.combine({deal.dealer: deal.commitments[power] for deal in chosen}) for power in powers)
    return Sharing(sharing.id, sharing.epoch + 1, tuple(members), commitments, tuple(deal.dealer for deal in chosen))


def _check_deal(deal: Deal, sharing: Sharing) -> None:
    try:
        points = [point_of(each) for each in deal.commitments]
        if points[0] == shamir.public_share(sharing.commitments, deal.dealer):
            return
    except (GuardianRefused, IndexError):
        pass
    raise ShareRefused(
        f"What number {deal.dealer} has handed on is not their share. Nothing was changed; leave it out."
    )


def open_share(sharing: Sharing, deals: Sequence[Deal], *, member: bytes, secret_key: SecretKey) -> Scalar:
    """A member's share, from the deals that made this sharing.

    Raises: NotInAudience; ShareRefused if what was dealt does not open, or is no share.
    """
    number = sharing.number(member)
    share = _opened_share(sharing, deals, member, secret_key)
    try:
        if share is not None:
            shamir.check_share(share, number=number, commitments=sharing.commitments)
            return share
    except GuardianRefused:
        pass
    raise ShareRefused(
        f"The share of member {member.hex()} does not open, or is not what was announced. Let the others hand theirs on once more."
    )


def _opened_share(sharing: Sharing, deals: Sequence[Deal], member: bytes, secret_key: SecretKey) -> Scalar | None:
    """Never raises: its variables are secrets."""
    try:
        pieces = {deal.dealer: scalar_of(open_small(deal.sealed[member], secret_key=secret_key)) for deal in deals}
        if not sharing.dealers:
            return pieces[0]
        factors = shamir.at_zero(sharing.dealers)
        return reduce(lambda total, dealer: total + pieces[dealer] * factors[dealer], sharing.dealers, ZERO)
    except (WrongKey, GuardianRefused, KeyError):
        return None


def _dealt(secret: Scalar, dealer: int, members: Mapping[bytes, PublicKey], threshold: int) -> Deal:
    dealt = shamir.deal(secret, count=len(members), threshold=threshold)
    sealed = {
        member: seal_small(dealt.shares[number].expose(), recipient=key)
        for number, (member, key) in enumerate(members.items(), 1)
    }
    return Deal(dealer, dealt.commitments, sealed)


# --- sealing and opening ------------------------------------------------------------------------------------------------


def seal_together(content: bytes, *, point: Point, context: bytes) -> bytes:
    """Return what ``threshold`` members together open. ``context`` says what it belongs to, and is not in it."""
    secret = Scalar.random()
    ephemeral = multiply_base(secret)
    output = evaluation.output_of(context + ephemeral, multiply(point, secret))
    return ephemeral + crypto_aead_xchacha20poly1305_ietf_encrypt(content, context, _NONCE, _key(output))


def part_of(sealed: bytes, share: Scalar, *, sharing: Sharing, member: bytes) -> bytes:
    """A member's part in opening this container, with its proof.

    Raises: ShareRefused if it is no container; NotInAudience.
    """
    number = sharing.number(member)
    try:
        partial = evaluation.evaluate(
            share, place=sharing.place(number), point=sealed[:POINT_BYTES], commitments=sharing.commitments
        )
    except GuardianRefused as error:
        raise ShareRefused("This is nothing that members open together.") from error
    return bytes((number,)) + partial.point + partial.challenge + partial.response


def open_together(sealed: bytes, parts: Sequence[bytes], *, sharing: Sharing, context: bytes) -> bytes:
    """Return what is in it.

    Raises:
        TooFewTogether: fewer right parts than it takes.
        WrongKey: it belongs to something else, or was changed.
    """
    ephemeral = bytes(sealed[:POINT_BYTES])
    partials = [
        _partial(part, sharing) for part in {part[:1]: part for part in parts if len(part) == PART_BYTES}.values()
    ]
    opened = None
    try:
        blinded = Blinded(context + ephemeral, point_of(ephemeral), _ONE)
        output, _ = evaluation.combine(
            blinded,
            [each for each in partials if each is not None],
            threshold=sharing.threshold,
            secret_commitment=sharing.point,
        )
        opened = _decrypted(sealed[POINT_BYTES:], output, context)
    except QuorumUnavailable as error:
        have = error.have
    except GuardianRefused:
        have = sharing.threshold
    else:
        have = sharing.threshold
    if opened is None and have < sharing.threshold:
        raise TooFewTogether(have=have, need=sharing.threshold)
    if opened is None:
        raise WrongKey(
            "This does not open, though enough members act together: it belongs to something else, or was changed."
        )
    return opened


def _partial(part: bytes, sharing: Sharing) -> Partial | None:
    number, rest = part[0], part[1:]
    if not 1 <= number <= len(sharing.members):
        return None
    public = shamir.public_share(sharing.commitments, number)
    point, challenge, response = (rest[start : start + 32] for start in (0, 32, 64))
    return Partial(sharing.place(number), point, public, challenge, response, sharing.commitments)


def _key(output: Output) -> bytes:
    return derive(output.expose(), purpose=b"edna.aud.hold.1", data=b"")


def _decrypted(body: bytes, output: Output, context: bytes) -> bytes | None:
    """Never raises: its variables are secrets."""
    try:
        return crypto_aead_xchacha20poly1305_ietf_decrypt(body, context, _NONCE, _key(output))
    except CryptoError:
        return None
