"""What guardians tell each other in a refresh of shares: deals of zero, each sealed to its receiver and signed by
its dealer; and receipts for them.

1. Each guardian that is up makes a key for this one refresh, in memory alone, and signs it. Whoever had stolen what a guardian keeps, and
   was thrown out by a restart, cannot open what is sealed to it now.
2. Each of them deals shares of zero to these keys, for each enrolment.
3. Each takes all deals, verifies its part, and keeps a second share beside the present one; its receipt names exactly these deals.
4. Who is shown receipts of `threshold` guardians for the same deals forgets the former share. Before that, enough of
them can answer with the
   former; after it, with the new one.

Keeps: whoever carries the messages learns no share, and can change none. Does not know: sockets, stores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from edna.crypto.keys import PublicKey, SecretKey, fingerprint
from edna.crypto.sealing import open_small, seal_small
from edna.custody.guardians.group import POINT_BYTES, Point, Scalar, point_of, scalar_of
from edna.custody.guardians.roster import Identity, Roster, check_signature, from_base64, signed, to_base64
from edna.custody.guardians.sharing import Share, check_refresh, deal_refresh, refreshed
from edna.errors import GuardianRefused, KeyMalformed, WrongKey

_DEAL: Final = b"edna guardians deal 1\n"
_TAKEN: Final = b"edna guardians taken 1\n"
_RECEIVER: Final = b"edna guardians receiver 1\n"
ROUND_BYTES: Final = 16
_EPOCH_BYTES: Final = 8
_ENROLMENT_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Receiver:
    """The key to which a guardian wants its parts sealed in one round, and its signature."""

    round: bytes
    number: int
    public_key: PublicKey
    signature: bytes

    @classmethod
    def new(cls, identity: Identity, *, round_: bytes, public_key: PublicKey) -> Self:
        signature = signed(round_ + bytes(public_key), purpose=_RECEIVER, key=identity.signing_key)
        return cls(round_, identity.number, public_key, signature)

    def check(self, roster: Roster, *, round_: bytes) -> None:
        """
        Raises: GuardianRefused if that guardian did not sign it, for this round.
        """
        key, whose = roster.member(self.number).verify_key, f"guardian {self.number}"
        if self.round != round_:
            raise GuardianRefused(f"The key of {whose} is for another round.")
        message = self.round + bytes(self.public_key)
        check_signature(self.signature, message, purpose=_RECEIVER, key=key, whose=whose)

    def as_dict(self) -> Mapping[str, Any]:
        return {
            "round": to_base64(self.round),
            "number": self.number,
            "public_key": to_base64(bytes(self.public_key)),
            "signature": to_base64(self.signature),
        }

    @classmethod
    def of_dict(cls, said: Mapping[str, Any]) -> Self:
        """
        Raises: GuardianRefused if it is none.
        """
        try:
            key = PublicKey(from_base64(said["public_key"], size=32))
            round_, signature = from_base64(said["round"], size=ROUND_BYTES), from_base64(said["signature"], size=64)
            return cls(round_, number_of(said["number"]), key, signature)
        except (KeyError, TypeError, KeyMalformed) as error:
            raise GuardianRefused("This is no key of a guardian for a round.") from error


@dataclass(frozen=True, slots=True)
class Deal:
    """Shares of zero of one dealer for one enrolment, on the way from an epoch to the next; `sealed` by the receiver's number."""

    enrolment: bytes
    epoch: int
    dealer: int
    commitments: tuple[Point, ...]
    sealed: Mapping[int, bytes]
    signature: bytes = b""

    @classmethod
    def new(
        cls, roster: Roster, identity: Identity, *, enrolment: bytes, epoch: int, receivers: Sequence[Receiver]
    ) -> Self:
        """`receivers` were checked."""
        dealt = deal_refresh(count=roster.count, threshold=roster.threshold)
        sealed = {
            each.number: seal_small(dealt.shares[each.number].expose(), recipient=each.public_key) for each in receivers
        }
        unsigned = cls(enrolment, epoch, identity.number, dealt.commitments, sealed)
        signature = signed(unsigned.digest, purpose=_DEAL, key=identity.signing_key)
        return cls(enrolment, epoch, identity.number, dealt.commitments, sealed, signature)

    @property
    def digest(self) -> bytes:
        """Of all that the dealer signs."""
        parts = [self.enrolment, self.epoch.to_bytes(_EPOCH_BYTES, "big"), bytes((self.dealer, len(self.commitments)))]
        parts += [*self.commitments, *(bytes((number,)) + box for number, box in sorted(self.sealed.items()))]
        return fingerprint(b"".join(parts), purpose=b"edna.guard.deal1")

    def opened(self, roster: Roster, *, number: int, secret_key: SecretKey) -> Scalar:
        """The part of this guardian.

        Raises: GuardianRefused, with the number of the dealer, if it is not signed by them or does not fit.
        """
        self.check(roster)
        if number not in self.sealed:
            raise GuardianRefused(f"The deal of guardian {self.dealer} is for others.", guardian=self.dealer)
        try:
            part = scalar_of(open_small(self.sealed[number], secret_key=secret_key))
            check_refresh(part, number=number, commitments=[point_of(each) for each in self.commitments])
        except (GuardianRefused, WrongKey) as error:
            raise GuardianRefused(f"The deal of guardian {self.dealer} is wrong.", guardian=self.dealer) from error
        return part

    def check(self, roster: Roster) -> None:
        """
        Raises: GuardianRefused, with the number of the dealer, if it is not signed by them, or is for another threshold.
        """
        key, whose = roster.member(self.dealer).verify_key, f"guardian {self.dealer}"
        try:
            check_signature(self.signature, self.digest, purpose=_DEAL, key=key, whose=whose)
        except GuardianRefused as error:
            raise GuardianRefused(str(error), guardian=self.dealer) from error
        if len(self.commitments) != roster.threshold - 1:
            raise GuardianRefused(f"The deal of {whose} is for another threshold.", guardian=self.dealer)

    def as_dict(self) -> Mapping[str, Any]:
        return {
            "enrolment": to_base64(self.enrolment),
            "epoch": self.epoch,
            "dealer": self.dealer,
            "commitments": to_base64(b"".join(self.commitments)),
            "sealed": {str(number): to_base64(box) for number, box in self.sealed.items()},
            "signature": to_base64(self.signature),
        }

    @classmethod
    def of_dict(cls, said: Mapping[str, Any]) -> Self:
        """
        Raises: GuardianRefused if it is no deal.
        """
        try:
            return cls(
                from_base64(said["enrolment"], size=_ENROLMENT_BYTES),
                epoch_of(said["epoch"]),
                number_of(said["dealer"]),
                points_of(from_base64(said["commitments"])),
                {number_of(int(number)): from_base64(box, size=80) for number, box in said["sealed"].items()},
                from_base64(said["signature"], size=64),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise GuardianRefused("This is no deal of a refresh.") from error


@dataclass(frozen=True, slots=True)
class Taken:
    """A guardian's word that it keeps the share of the next epoch, made of exactly these deals."""

    enrolment: bytes
    epoch: int
    deals: bytes
    number: int
    signature: bytes

    @classmethod
    def new(cls, identity: Identity, share: Share) -> Self:
        said = _taken(share.enrolment, share.epoch, share.deals, identity.number)
        signature = signed(said, purpose=_TAKEN, key=identity.signing_key)
        return cls(share.enrolment, share.epoch, share.deals, identity.number, signature)

    def check(self, roster: Roster) -> None:
        """
        Raises: GuardianRefused if that guardian did not sign it.
        """
        said = _taken(self.enrolment, self.epoch, self.deals, self.number)
        key = roster.member(self.number).verify_key
        check_signature(self.signature, said, purpose=_TAKEN, key=key, whose=f"guardian {self.number}")

    def as_dict(self) -> Mapping[str, Any]:
        return {
            "enrolment": to_base64(self.enrolment),
            "epoch": self.epoch,
            "deals": to_base64(self.deals),
            "number": self.number,
            "signature": to_base64(self.signature),
        }

    @classmethod
    def of_dict(cls, said: Mapping[str, Any]) -> Self:
        """
        Raises: GuardianRefused if it is none.
        """
        try:
            return cls(
                from_base64(said["enrolment"], size=_ENROLMENT_BYTES),
                epoch_of(said["epoch"]),
                from_base64(said["deals"], size=32),
                number_of(said["number"]),
                from_base64(said["signature"], size=64),
            )
        except (KeyError, TypeError) as error:
            raise GuardianRefused("This is no receipt for the deals of a refresh.") from error


def taken(share: Share, deals: Sequence[Deal], *, roster: Roster, number: int, secret_key: SecretKey) -> Share:
    """The share of the next epoch, made of these deals, of which `secret_key` opens what is sealed to this guardian.

    Raises: GuardianRefused, with the number of the dealer whose deal is wrong.
    """
    for each in deals:
        if (each.enrolment, each.epoch) != (share.enrolment, share.epoch):
            raise GuardianRefused(f"The deal of guardian {each.dealer} is for another enrolment or epoch.")
    if len({each.dealer for each in deals}) != len(deals) or not deals:
        raise GuardianRefused("Each guardian deals once in a refresh, and one at least.")
    total = share.share
    for each in deals:
        total = total + each.opened(roster, number=number, secret_key=secret_key)
    commitments = refreshed(share.commitments, [each.commitments for each in deals])
    digests = b"".join(each.digest for each in sorted(deals, key=lambda each: each.dealer))
    # What this refresh is, as all have to see it: the share before, and the deals.
    before = share.deals + b"".join(share.commitments)
    digest = fingerprint(before + digests, purpose=b"edna.guard.qual1")
    return Share(share.enrolment, share.epoch + 1, total, commitments, digest)


def points_of(raw: bytes) -> tuple[Point, ...]:
    """
    Raises: GuardianRefused if these are not points to compute with, one behind the other.
    """
    return tuple(map(point_of, unchecked_points_of(raw)))


def unchecked_points_of(raw: bytes) -> tuple[bytes, ...]:
    """The same for whoever checks them only where they matter: a check costs half as much as a multiplication.

    Raises: GuardianRefused if these are not pieces of a point's length.
    """
    if len(raw) % POINT_BYTES:
        raise GuardianRefused("These are not points, one behind the other.")
    return tuple(raw[start : start + POINT_BYTES] for start in range(0, len(raw), POINT_BYTES))


def _taken(enrolment: bytes, epoch: int, deals: bytes, number: int) -> bytes:
    return enrolment + epoch.to_bytes(_EPOCH_BYTES, "big") + deals + bytes((number,))


def epoch_of(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 2 ** (8 * _EPOCH_BYTES - 1):
        raise GuardianRefused("An epoch is a number from 0.")
    return number


def number_of(number: Any) -> int:
    if type(number) is not int or not 1 <= number <= 255:
        raise GuardianRefused("Guardians have numbers from 1 to 255.")
    return number
