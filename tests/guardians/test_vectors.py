"""The files of tests/vectors/guardians give, or are refused, what they say: the promise of docs/format.md to guardians and clients."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nacl.signing
import pytest

from edna import errors
from edna.crypto.keys import SecretKey
from edna.crypto.sealing import open_small
from edna.custody.guardians import envelope, evaluation, refresh, repair, sharing, tickets
from edna.custody.guardians.evaluation import Blinded, Output, Partial, Place
from edna.custody.guardians.group import Scalar, hash_to_point, multiply, multiply_base, point_of, scalar_of
from edna.custody.guardians.process import orders, policies, routes
from edna.custody.guardians.quorum import first_to_ask, partials_of
from edna.custody.guardians.roster import Identity, Member, Roster
from edna.custody.guardians.schedule import GuardianSchedule
from edna.custody.guardians.sharing import Share
from tests.vectors.guardians.generate import all_cases

VECTORS = Path(__file__).resolve().parent.parent / "vectors" / "guardians"
CASES = {path.stem: json.loads(path.read_text()) for path in sorted(VECTORS.glob("*.json"))}
Given = Mapping[str, Any]


def raw(text: str) -> bytes:
    return bytes.fromhex(text)


def points(texts: list[str]) -> tuple[bytes, ...]:
    return tuple(map(raw, texts))


def told(partial: Partial) -> Any:
    return routes._told(partial)


def roster_of(given: Given) -> Roster:
    """Guardians known by their keys alone."""
    nobody = SecretKey(b"\x01" * 32).public_key
    members = [
        Member(number, f"http://127.0.0.1:{number}", raw(key), nobody)
        for number, key in enumerate(given["verify_keys"], start=1)
    ]
    return Roster(members, given["threshold"], bytes(32))


def share_of(given: Given) -> Share:
    return Share(
        raw(given["enrolment"]), given["epoch"], Scalar(raw(given["share"])), points(given["commitments"]), raw(given["former"])
    )  # fmt: skip


def run_open_share(given: Given) -> str:
    try:
        share = scalar_of(open_small(raw(given["sealed"]), secret_key=SecretKey(raw(given["secret_key"]))))
    except errors.WrongKey as error:
        raise errors.GuardianRefused("It does not open.") from error
    sharing.check_share(share, number=given["number"], commitments=points(given["commitments"]))
    return share.expose().hex()


def run_check_parts(given: Given) -> list[int]:
    partials = partials_of(given["answer"], enrolment=raw(given["enrolment"]), number=given["number"])
    for each in partials:
        evaluation.check(each, point=raw(given["point"]))
    return [each.place.epoch for each in partials]


def run_make_part(given: Given, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(Scalar, "random", lambda: Scalar(raw(given["nonce"])))
    place = Place(raw(given["enrolment"]), given["epoch"], given["number"])
    commitments = points(given["commitments"])
    return told(
        evaluation.evaluate(
            Scalar(raw(given["share"])), place=place, point=raw(given["point"]), commitments=commitments
        )
    )


def run_combine(given: Given) -> Any:
    factor, data = Scalar(raw(given["factor"])), raw(given["input"])
    partials, wrong = [], {}
    for number, answer in given["answers"].items():
        try:
            partials += partials_of(answer, enrolment=raw(given["enrolment"]), number=int(number))
        except errors.GuardianRefused as error:
            wrong[int(number)] = str(error)
    blinded = Blinded(data, multiply(hash_to_point(data), factor), factor)
    output, refused = evaluation.combine(
        blinded, partials, threshold=given["threshold"], secret_commitment=raw(given["secret_commitment"])
    )
    return {"output": output.expose().hex(), "wrong": sorted({**wrong, **refused})}


def run_make_envelope(given: Given, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(envelope.nacl.utils, "random", lambda size: raw(given["random"])[:size])
    shared = Scalar(raw(given["secret_scalar"]))
    head = envelope.Head(raw(given["enrolment"]), given["count"], given["threshold"], multiply_base(shared))
    made = envelope.seal(
        head,
        raw(given["secret"]),
        pin=given["pin"],
        hash_of=lambda data: evaluation.output_of(data, multiply(hash_to_point(data), shared)),
    )
    return {"envelope": bytes(made).hex(), "asked": made.asked(pin=given["pin"]).hex()}


def run_deal(given: Given) -> Any:
    dealt = sharing._deal([Scalar(raw(each)) for each in given["coefficients"]], given["count"])
    shares = [dealt.shares[number].expose().hex() for number in sorted(dealt.shares)]
    return {"shares": shares, "commitments": [each.hex() for each in dealt.commitments]}


def run_ticket(given: Given) -> Any:
    token = tickets.token_for(raw(given["secret"]), number=given["number"])
    ticket = tickets.ticket_of(token)
    return {"token": token.hex(), "ticket": ticket.hex(), "name": tickets.name_of(ticket)}


def run_vetoes(given: Given) -> Any:
    enrolment, count = raw(given["enrolment"]), given["count"]
    words = [
        tickets.veto_of(raw(given["secret"]), enrolment=enrolment, number=number) for number in range(1, count + 1)
    ]
    hashes = tickets.veto_hashes(raw(given["secret"]), enrolment=enrolment, count=count)
    return {"words": [word.hex() for word in words], "hashes": hashes.hex()}


def run_read_roster(given: Given) -> Any:
    return Roster.parse(given["text"], site_key=raw(given["site_key"]))._as_dict()


def run_asked_first(given: Given) -> Any:
    times = {name: given[name] for name in ("attack_seconds", "restart_seconds")}
    plan = GuardianSchedule(given["count"], given["threshold"], **times)
    members = [Identity.new(number).member("http://127.0.0.1:1") for number in range(1, given["count"] + 1)]
    roster = Roster(members, given["threshold"], bytes(32), plan)
    return [list(first_to_ask(roster, at)) for at in given["at_seconds"]]


def run_make_order(given: Given) -> str:
    key = nacl.signing.SigningKey(raw(given["signing_key"]))
    return orders.order(given["number"], given["path"], raw(given["body"]), at=given["at"], key=key)


def run_check_order(given: Given) -> bool:
    orders.check_order(
        given["header"], given["number"], given["path"], raw(given["body"]), now=given["now"], key=raw(given["site_key"])
    )  # fmt: skip
    return True


def run_check_status(given: Given) -> Any:
    member = roster_of(given).member(given["number"])
    return orders.checked_status(given["answer"], challenge=raw(given["challenge"]), member=member)


def run_check_receiver(given: Given) -> int:
    receiver = refresh.Receiver.of_dict(given["receiver"])
    receiver.check(roster_of(given), round_=raw(given["round"]))
    return receiver.number


def run_take(given: Given) -> Any:
    deals = [refresh.Deal.of_dict(each) for each in given["deals"]]
    share = refresh.taken(
        share_of(given),
        deals,
        roster=roster_of(given),
        number=given["number"],
        secret_key=SecretKey(raw(given["secret_key"])),
    )
    signer = Identity(given["number"], nacl.signing.SigningKey(raw(given["signing_key"])), SecretKey(b"\x01" * 32))
    return {
        "share": share.share.expose().hex(),
        "commitments": [each.hex() for each in share.commitments],
        "receipt": refresh.Taken.new(signer, share).as_dict(),
    }


def run_check_receipt(given: Given) -> int:
    receipt = refresh.Taken.of_dict(given["receipt"])
    receipt.check(roster_of(given))
    return receipt.number


def run_add_masks(given: Given) -> str:
    total = Scalar(raw(given["share"]))
    for said in given["masks"]:
        mask = repair.Mask.of_dict(said)
        mask.check(roster_of(given))
        total = total + mask.opened(number=given["number"], secret_key=SecretKey(raw(given["secret_key"])))
    return total.expose().hex()


def run_repair(given: Given) -> str:
    share = repair.repaired(
        [repair.Sum.of_dict(each) for each in given["sums"]],
        [repair.Mask.of_dict(each) for each in given["masks"]],
        roster=roster_of(given),
        number=given["number"],
        secret_key=SecretKey(raw(given["secret_key"])),
    )
    return share.share.expose().hex()


OPERATIONS: dict[str, Callable[..., Any]] = {
    "hash_to_point": lambda given: hash_to_point(raw(given)).hex(),
    "check_point": lambda given: point_of(raw(given)).hex(),
    "check_scalar": lambda given: scalar_of(raw(given)).expose().hex(),
    "blind": lambda given: multiply(hash_to_point(raw(given["input"])), Scalar(raw(given["factor"]))).hex(),
    "blind_request": lambda given: evaluation.blind(raw(given["input"]), secret=raw(given["secret"])).point.hex(),
    "deal": run_deal,
    "public_share": lambda given: sharing.public_share(points(given["commitments"]), given["number"]).hex(),
    "open_share": run_open_share,
    "make_part": run_make_part,
    "check_parts": run_check_parts,
    "combine": run_combine,
    "make_envelope": run_make_envelope,
    "open_envelope": lambda given: (
        envelope.Envelope.parse(raw(given["envelope"])).open(Output(raw(given["output"]))).hex()
    ),
    "envelope_input": lambda given: envelope.Envelope.parse(raw(given["envelope"])).asked(pin=given["pin"]).hex(),
    "read_envelope": lambda given: bytes(envelope.Envelope.parse_text(given)).hex(),
    "ticket": run_ticket,
    "vetoes": run_vetoes,
    "read_roster": run_read_roster,
    "asked_first": run_asked_first,
    "make_order": run_make_order,
    "check_order": run_check_order,
    "check_status": run_check_status,
    "code": lambda given: policies.code_hash(policies.as_printed(given)),
    "check_receiver": run_check_receiver,
    "take": run_take,
    "check_receipt": run_check_receipt,
    "add_masks": run_add_masks,
    "repair": run_repair,
}
#: They draw random numbers, which are fixed for the vector.
RANDOM = {"make_part", "make_envelope"}


@pytest.mark.parametrize("name", CASES)
def test_a_vector_of_guardians_gives_what_it_says_or_is_refused_with_the_error_it_names(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = CASES[name]
    given = (said["input"], monkeypatch) if said["operation"] in RANDOM else (said["input"],)
    if "error" not in said:
        assert OPERATIONS[said["operation"]](*given) == said["expect"]
        return
    with pytest.raises(errors.EdnaError) as caught:
        OPERATIONS[said["operation"]](*given)
    assert type(caught.value) is getattr(errors, said["error"])
    assert len(str(caught.value)) > 15
    if isinstance(caught.value, errors.QuorumUnavailable):
        refused = caught.value
        assert {"have": refused.have, "need": refused.need, "wrong": sorted(refused.wrong)} == said["told"]


def test_the_vectors_of_guardians_are_those_of_their_generator() -> None:
    """It is independent and deterministic: no file was edited or forgotten."""
    assert all_cases() == {path.name: path.read_text() for path in VECTORS.glob("*.json")}
    generator = (VECTORS / "generate.py").read_text().splitlines()
    assert not [line for line in generator if line.startswith(("import edna", "from edna"))]
    assert {said["operation"] for said in CASES.values()} == set(OPERATIONS)
