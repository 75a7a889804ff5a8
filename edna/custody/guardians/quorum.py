"""The other side: who enrols a secret at guardians, gets it back with their help, and carries the messages of a refresh.

Keeps: shares leave here sealed to each guardian; the point that guardians see is blinded; nothing that they answer
is believed unverified. Those whom the
schedule says to be up are asked first, and just as many as are needed. Does not know: how messages travel
(`transport`), whose the secret is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import nacl.utils

from edna.crypto.sealing import seal_small
from edna.custody.guardians.envelope import ENROLMENT_BYTES, Envelope, Head, seal
from edna.custody.guardians.evaluation import Partial, Place, Verified, blind, combine, output_of, verify
from edna.custody.guardians.group import POINT_BYTES, Point, Scalar, hash_to_point, multiply, multiply_base
from edna.custody.guardians.refresh import epoch_of, unchecked_points_of
from edna.custody.guardians.roster import Roster, from_base64, to_base64
from edna.custody.guardians.sharing import deal
from edna.custody.guardians.tickets import TOKEN_BYTES, name_of, ticket_of, token_for, veto_hashes, veto_of
from edna.custody.sockets.asked import Asked
from edna.errors import CustodyError, GuardianRefused, QuorumUnavailable

DEFAULT_TIMEOUT_SECONDS: Final = 10.0
#: After so long without an answer another guardian is asked as well.
HEDGE_SECONDS: Final = 2.0

T = TypeVar("T")


class Transport(Protocol):
    """Carries a request to one guardian. With `ordered`, as the site's order."""

    def ask(self, number: int, path: str, said: Mapping[str, Any], *, ordered: bool = False) -> Mapping[str, Any]:
        """
        Raises: TicketRefused, GuardianRefused as the guardian says; GuardianRefused if it cannot be reached.
        """


@dataclass(frozen=True, slots=True)
class Enrolled:
    """What comes of an enrolment: `envelope` is to be stored; `missing` are the guardians that could not be reached,
    and why. Repair those."""

    envelope: Envelope
    missing: Mapping[int, str]


def enrol(
    secret: bytes,
    *,
    roster: Roster,
    transport: Transport,
    contact: str,
    account: str = "",
    pin: str = "",
    before: Callable[[Envelope], object] = lambda envelope: None,
) -> Enrolled:
    """Seal a secret so that `roster.threshold` guardians help to it, and give each their share. `account` is what the person calls it.
    `before` is called before any guardian hears of it: whoever is killed afterwards knows by the envelope what guardians may have.

    Raises: QuorumUnavailable if fewer than that could be given one; EnvelopeRefused if the secret is empty or too long.
    """
    shared, id_ = Scalar.random(), nacl.utils.random(ENROLMENT_BYTES)
    dealt = deal(shared, count=roster.count, threshold=roster.threshold)
    head = Head(id_, roster.count, roster.threshold, multiply_base(shared))
    envelope = seal(head, secret, pin=pin, hash_of=lambda data: output_of(data, multiply(hash_to_point(data), shared)))
    before(envelope)
    said = {
        "enrolment": to_base64(id_),
        "contact": contact,
        "account": account,
        "vetoes": to_base64(veto_hashes(secret, enrolment=id_, count=roster.count)),
        "commitments": to_base64(b"".join(dealt.commitments)),
    }
    missing: dict[int, str] = {}
    asked = {
        each.number: {
            **said,
            "share": to_base64(seal_small(dealt.shares[each.number].expose(), recipient=each.public_key)),
        }
        for each in roster.members
    }
    for number, answer in ask_each(transport, asked, "/enrol", ordered=True).items():
        if isinstance(answer, CustodyError):
            missing[number] = str(answer)
    if roster.count - len(missing) < roster.threshold:
        ask_each(transport, {number: {"enrolment": to_base64(id_)} for number in asked}, "/forget", ordered=True)
        raise QuorumUnavailable(have=roster.count - len(missing), need=roster.threshold, wrong=missing)
    return Enrolled(envelope, missing)


class Recovery:
    """Somebody's way back to what is in an envelope. The `secret` of 32 bytes makes the tickets: whoever has it may go on with it."""

    def __init__(
        self, envelope: Envelope, *, roster: Roster, transport: Transport, secret: bytes | None = None
    ) -> None:
        if (envelope.head.count, envelope.head.threshold) != (roster.count, roster.threshold):
            raise GuardianRefused("This envelope was made for other guardians than the roster's.")
        self._envelope, self._roster, self._transport = envelope, roster, transport
        self.secret = secret or nacl.utils.random(TOKEN_BYTES)

    def name(self, number: int) -> str:
        """What that guardian, and the person's page, call the ticket."""
        return name_of(ticket_of(self._token(number)))

    def open(self) -> Mapping[int, str]:
        """Ask all guardians for help. Returns what those said who refused, or could not be reached."""
        id_ = to_base64(self._envelope.head.enrolment)
        asked = {each.number: {"enrolment": id_, "token": self._shown(each.number)} for each in self._roster.members}
        answers = ask_each(self._transport, asked, "/ticket")
        return {number: str(answer) for number, answer in answers.items() if isinstance(answer, CustodyError)}

    def confirm(self, number: int, code: str) -> None:
        """Give a guardian the code that it waits for.

        Raises: TicketRefused if it is not the right one; GuardianRefused if the guardian cannot be reached.
        """
        id_ = to_base64(self._envelope.head.enrolment)
        said = {"enrolment": id_, "token": self._shown(number), "code": code}
        # Within the time that all have: one that drips its answer holds nobody up.
        answer = ask_each(self._transport, {number: said}, "/confirm")[number]
        if isinstance(answer, CustodyError):
            raise answer

    def waiting_for_codes(self) -> Sequence[int]:
        """The guardians that wait for a code of the person. Who cannot be reached is not among them."""
        return [
            number
            for number, answer in self.states().items()
            if not isinstance(answer, CustodyError) and answer.get("for_code")
        ]

    def states(self) -> Mapping[int, Mapping[str, Any] | CustodyError]:
        """What each guardian says of the request: whether it ``helps``, or waits ``for_code``, or ``retry_after_seconds``."""
        return ask_each(
            self._transport,
            {each.number: {"token": self._shown(each.number)} for each in self._roster.members},
            "/waits",
        )

    @property
    def roster(self) -> Roster:
        return self._roster

    @property
    def envelope(self) -> Envelope:
        return self._envelope

    def finish(
        self, *, pin: str = "", at_seconds: float | None = None, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> bytes:
        """Return the secret.

        Raises: QuorumUnavailable: too few guardians help, or gave right answers in time; EnvelopeRefused: another PIN.
        """
        head = self._envelope.head
        # The same for the same PIN, whichever process asks: who tries one again does not guess again.
        blinded = blind(self._envelope.asked(pin=pin), secret=self.secret)
        at = time.time() if at_seconds is None else at_seconds

        def ask(number: int) -> list[Partial | Verified]:
            said = {"token": self._shown(number), "point": to_base64(blinded.point)}
            answer = self._transport.ask(number, "/evaluate", said)
            return verified_of(answer, enrolment=head.enrolment, number=number, point=blinded.point)

        wrong: dict[int, str] = {}
        partials: list[Partial | Verified] = []
        for answer in answers(
            ask, first_to_ask(self._roster, at), need=head.threshold, timeout_seconds=timeout_seconds
        ):
            if isinstance(answer, Wrong):
                wrong[answer.number] = answer.what
                continue
            partials += answer
            if len({each.place.number for each in partials}) < head.threshold:
                continue
            try:
                output, _ = combine(
                    blinded, partials, threshold=head.threshold, secret_commitment=head.secret_commitment
                )
            except QuorumUnavailable as error:
                wrong.update(error.wrong)
                continue
            return self._envelope.open(output)
        have = len({each.place.number for each in partials} - set(wrong))
        raise QuorumUnavailable(have=have, need=head.threshold, wrong=wrong)

    def _token(self, number: int) -> bytes:
        return token_for(self.secret, number=number)

    def _shown(self, number: int) -> str:
        return to_base64(self._token(number))


def veto(secret: bytes, envelope: Envelope, *, roster: Roster, transport: Transport) -> Mapping[int, str]:
    """Whoever still has what is inside refuses what anybody asks of guardians. Returns what those said who did not hear it."""
    id_ = envelope.head.enrolment
    said = {
        each.number: {
            "enrolment": to_base64(id_),
            "veto": to_base64(veto_of(secret, enrolment=id_, number=each.number)),
        }
        for each in roster.members
    }
    told = ask_each(transport, said, "/veto")
    return {number: str(answer) for number, answer in told.items() if isinstance(answer, CustodyError)}


def forget(envelope: Envelope, *, roster: Roster, transport: Transport) -> Mapping[int, str]:
    """Have guardians destroy their shares, as the site orders. Returns what those said who did not hear it."""
    said = {"enrolment": to_base64(envelope.head.enrolment)}
    told = ask_each(transport, {each.number: said for each in roster.members}, "/forget", ordered=True)
    return {number: str(answer) for number, answer in told.items() if isinstance(answer, CustodyError)}


def first_to_ask(roster: Roster, at_seconds: float) -> Sequence[int]:
    """All guardians: those first who are to be up longest."""
    plan = roster.schedule
    numbers = [each.number for each in roster.members]
    if plan is None:
        return numbers
    down = plan.down(at_seconds)

    def until_restart(number: int) -> float:
        return plan.next_restart(number, after_seconds=at_seconds)

    up = sorted((number for number in numbers if number not in down), key=until_restart, reverse=True)
    return [*up, *sorted(down)]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A guardian that gave no right answer, and why."""

    number: int
    what: str


def answers(ask: Callable[[int], T], order: Sequence[int], *, need: int, timeout_seconds: float) -> Iterable[T | Wrong]:
    """What guardians answer, as it comes: `need` of them are asked at once, and one more for each that gave no right answer.

    Whoever reads asks for more than `need` by reading on.
    """
    waiting = iter(order)
    deadline = time.monotonic() + timeout_seconds
    running: set[int] = set()
    asked = Asked(ask)

    def more(count: int) -> None:
        for _, number in zip(range(count), waiting, strict=False):
            running.add(number)
            asked.begin(number)

    more(need)
    while running:
        left = deadline - time.monotonic()
        if left <= 0:
            for number in running:
                yield Wrong(number, f"Guardian {number} did not answer in time.")
            return
        try:
            number, answer = asked.next(within_seconds=min(left, HEDGE_SECONDS))
        except TimeoutError:
            more(1)  # one that is slow is not waited for as long as there are others
            continue
        running.remove(number)
        if isinstance(answer, CustodyError):
            more(1)
            yield Wrong(number, str(answer))
        else:
            yield answer
        if not running:
            more(1)


def verified_of(answer: Mapping[str, Any], *, enrolment: bytes, number: int, point: Point) -> list[Partial | Verified]:
    """What an answer says, verified: one part, or two while shares are refreshed. A wrong one beside a right one stays as it came, so that
    `evaluation.combine` names its guardian.

    Raises: GuardianRefused if no part is right, or the answer has another shape.
    """
    found: list[Partial | Verified] = []
    refused = GuardianRefused(f"Guardian {number} answers without a part.")
    for each in partials_of(answer, enrolment=enrolment, number=number):
        try:
            found.append(verify(each, point=point))
        except GuardianRefused as error:
            refused = error
            found.append(each)
    if not any(isinstance(each, Verified) for each in found):
        raise refused
    return found


def partials_of(answer: Mapping[str, Any], *, enrolment: bytes, number: int) -> list[Partial]:
    """What an answer says, by its shape alone: `evaluation.check` refuses what is no point, where it multiplies it.

    Raises: GuardianRefused if a guardian's answer has another shape.
    """
    try:
        return [
            Partial(
                Place(enrolment, epoch_of(each["epoch"]), number),
                from_base64(each["point"], size=POINT_BYTES),
                from_base64(each["public_share"], size=POINT_BYTES),
                from_base64(each["challenge"], size=32),
                from_base64(each["response"], size=32),
                unchecked_points_of(from_base64(each["commitments"])),
            )
            for each in answer["partials"][:2]
        ]
    except (KeyError, TypeError) as error:
        raise GuardianRefused(f"Guardian {number} answers something else than it was asked.") from error
    except GuardianRefused as error:
        raise GuardianRefused(f"Guardian {number}: {error}") from error


def ask_each(
    transport: Transport, asked: Mapping[int, Mapping[str, Any]], path: str, *, ordered: bool = False
) -> Mapping[int, Mapping[str, Any] | CustodyError]:
    """Ask several guardians at once; what each answers, or why it does not."""

    running = Asked(lambda number: transport.ask(number, path, asked[number], ordered=ordered))
    answered: dict[int, Mapping[str, Any] | CustodyError] = {
        number: GuardianRefused(f"Guardian {number} did not answer in time.") for number in asked
    }
    for number in asked:
        running.begin(number)
    deadline = time.monotonic() + DEFAULT_TIMEOUT_SECONDS
    with suppress(TimeoutError):
        for _ in asked:
            number, answer = running.next(within_seconds=max(deadline - time.monotonic(), 0))
            answered[number] = answer
    return answered
