"""Times what guardians and their client compute, and whole evaluations: schedule-aware, and asking all and taking the first."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter_ns

from benchmarks.guardians.ring import Ring, ring_of
from benchmarks.kit.percentiles import percentile
from benchmarks.timing import Clock, Key, Result
from edna.custody.guardians import evaluation, quorum, sharing
from edna.custody.guardians.envelope import ENROLMENT_BYTES, Envelope
from edna.custody.guardians.evaluation import Partial, Place, Verified
from edna.custody.guardians.group import Scalar, multiply_base
from edna.custody.guardians.process.requests import Limits
from edna.custody.guardians.quorum import Recovery, Wrong, answers, verified_of
from edna.custody.guardians.roster import to_base64
from edna.custody.guardians.tickets import token_for

AWARE, ALL = "schedule-aware", "poll all"
BLOCKS = 5
_SECRET = bytes(range(32))


def parts(*, samples: int, database: str) -> list[Result]:
    """A guardian's part with its proof; and what a client does with six and with twelve of them."""
    clock = Clock(_no_statements, processor=True)
    for needed in (6, 12):
        secret = Scalar.random()
        dealt = sharing.deal(secret, count=18, threshold=needed)
        commitment, blinded = multiply_base(secret), evaluation.blind(b"what is asked")
        place = [Place(bytes(ENROLMENT_BYTES), 0, number) for number in range(1, needed + 1)]

        def part(at: Place, dealt: sharing.Dealt = dealt, point: bytes = blinded.point) -> Partial:
            return evaluation.evaluate(dealt.shares[at.number], place=at, point=point, commitments=dealt.commitments)

        partials = [part(at) for at in place]
        for _ in clock.rounds(range(samples)):
            if needed == 6:
                clock(Key("part with proof", "edna"), lambda at=place[0], part=part: part(at), rows=1)
            clock(
                Key(f"verify and combine {needed}", "edna"),
                lambda blinded=blinded, partials=partials, commitment=commitment, needed=needed: evaluation.combine(
                    blinded, partials, threshold=needed, secret_commitment=commitment
                ),
                rows=needed,
            )
    return clock.results(app="guardians", level="library", database=database, scale="18 guardians")


def evaluations(count: int, threshold: int, *, each: int, database: str) -> list[Result]:
    """Whole evaluations over loopback, one after the other, in blocks of both kinds in turn."""
    timed: dict[str, list[float]] = {AWARE: [], ALL: []}
    rates: dict[str, list[float]] = {AWARE: [], ALL: []}
    with (
        tempfile.TemporaryDirectory(prefix="edna-guardians-", dir=_memory()) as folder,
        ring_of(Path(folder), count=count, threshold=threshold) as ring,
    ):
        envelope = quorum.enrol(_SECRET, roster=ring.roster, transport=ring.transport, contact="x").envelope
        for block in range(BLOCKS):
            for kind in (AWARE, ALL) if block % 2 else (ALL, AWARE):
                opened = [
                    Recovery(envelope, roster=ring.roster, transport=ring.transport) for _ in range(_tickets(each))
                ]
                for recovery in opened:
                    recovery.open()
                began = perf_counter_ns()
                for number in range(each):
                    start = perf_counter_ns()
                    secret = opened[number // Limits().uses_of_a_ticket].secret
                    _evaluate(kind, ring, envelope, secret, pin=str(number))
                    timed[kind].append((perf_counter_ns() - start) / 1e6)
                rates[kind].append(each / ((perf_counter_ns() - began) / 1e9))
    common = {"app": "guardians", "level": "library", "database": database, "scale": "over loopback"}
    return [
        Result(
            operation=f"evaluation, {threshold} of {count}: {kind}",
            variant="edna",
            n=len(samples),
            p5_ms=round(percentile(samples, 5), 4),
            p50_ms=round(percentile(samples, 50), 4),
            p95_ms=round(percentile(samples, 95), 4),
            statements=None,
            rows=threshold,
            extra={"each_second": round(percentile(rates[kind], 50), 1)},
            **common,
        )
        for kind, samples in timed.items()
    ]


def _evaluate(kind: str, ring: Ring, envelope: Envelope, secret: bytes, *, pin: str) -> None:
    """All but the opening of the envelope, the same way for both kinds: another input each time. `secret` is that of a request."""
    head = envelope.head
    blinded = evaluation.blind(envelope.asked(pin=pin))

    def ask(number: int) -> list[Partial | Verified]:
        said = {"token": to_base64(token_for(secret, number=number)), "point": to_base64(blinded.point)}
        answer = ring.transport.ask(number, "/evaluate", said)
        return verified_of(answer, enrolment=head.enrolment, number=number, point=blinded.point)

    order = [each.number for each in ring.roster.members]
    need = head.threshold if kind == AWARE else ring.roster.count
    got: list[Partial | Verified] = []
    for answer in answers(ask, order, need=need, timeout_seconds=30):
        assert not isinstance(answer, Wrong), answer
        got += answer
        if len(got) >= head.threshold:
            evaluation.combine(blinded, got, threshold=head.threshold, secret_commitment=head.secret_commitment)
            return
    raise AssertionError("too few answers")


def _tickets(each: int) -> int:
    return -(-each // Limits().uses_of_a_ticket)


def _memory() -> str | None:
    from benchmarks.kit.servers import in_memory

    found = in_memory()
    return str(found) if found else None


def _no_statements() -> AbstractContextManager[Callable[[], int]]:
    return nullcontext(lambda: 0)
