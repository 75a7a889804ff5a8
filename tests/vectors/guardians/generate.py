"""Write the test vectors of guardians: an independent second implementation of docs/format.md, "Guardians".

As its sibling one folder up it imports nothing of edna, and its keys and random numbers are fixed. Scalars are Python's whole numbers here.

    python -m tests.vectors.guardians.generate            writes one JSON file per case beside this one
    python -m tests.vectors.guardians.generate --check    writes nothing, exits 1 if a file is missing, different or superfluous

Each file holds `operation`, its `input` (bytes as hexadecimal; what travels as JSON as it travels), and either `expect` or `error`: the
name of the class that must be raised. With `QuorumUnavailable`, `told` says what it has to tell.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nacl import bindings as sodium

from tests.vectors.generate import Pair, blake2b, fixed, sealed_box

HERE = Path(__file__).resolve().parent
ORDER = 2**252 + 27742317777372353535851937790883648493
COUNT, THRESHOLD = 5, 3
ENROLMENT = fixed("enrolment", 16)
EPOCH = 4
NOW = 1_800_000_000
IDENTITY = b"\x01" + bytes(31)
#: A point of order 8 (RFC 8032's curve; libsodium's list of small orders).
SMALL = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")

Case = dict[str, Any]


def base64_of(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


# --- the group and shares ---------------------------------------------------------------------------------------------


def scalar(label: str) -> int:
    return int.from_bytes(fixed(label, 64), "little") % ORDER


def spelled(number: int) -> bytes:
    return (number % ORDER).to_bytes(32, "little")


def times(point: bytes, factor: int) -> bytes:
    return sodium.crypto_scalarmult_ed25519_noclamp(spelled(factor), point)


def base_times(factor: int) -> bytes:
    return sodium.crypto_scalarmult_ed25519_base_noclamp(spelled(factor))


def plus(*points: bytes) -> bytes:
    total, *others = points
    for each in others:
        total = sodium.crypto_core_ed25519_add(total, each)
    return total


def hash_to_point(data: bytes) -> bytes:
    wide = blake2b(data, purpose=b"edna.guard.h2c.1", size=64)
    return plus(*(sodium.crypto_core_ed25519_from_uniform(half) for half in (wide[:32], wide[32:])))


def hash_to_scalar(data: bytes, *, purpose: bytes = b"edna.guard.dleq1") -> int:
    return int.from_bytes(blake2b(data, purpose=purpose, size=64), "little") % ORDER


def request_factor(data: bytes) -> int:
    return hash_to_scalar(fixed("secret of a request") + data, purpose=b"edna.guard.bln.1")


def at(coefficients: Sequence[int], number: int) -> int:
    return sum(each * number**power for power, each in enumerate(coefficients)) % ORDER


def lagrange(numbers: Sequence[int], number: int, where: int = 0) -> int:
    above = below = 1
    for other in numbers:
        if other != number:
            above, below = above * (where - other), below * (number - other)
    return above * pow(below, -1, ORDER) % ORDER


SECRET_SCALAR = scalar("shared secret")
COEFFICIENTS = [SECRET_SCALAR, scalar("first power"), scalar("second power")]
SHARES = {number: at(COEFFICIENTS, number) for number in range(1, COUNT + 1)}
COMMITMENTS = [base_times(each) for each in COEFFICIENTS]
#: The same secret in other shares: those of a refresh under way.
NEXT = [SECRET_SCALAR, scalar("next first power"), scalar("next second power")]
OTHERS = [scalar("another secret"), scalar("another first power"), scalar("another second power")]


# --- parts ------------------------------------------------------------------------------------------------------------

INPUT = b"what is asked"
FACTOR = scalar("blinding factor")
BLINDED = times(hash_to_point(INPUT), FACTOR)


def place(number: int, *, enrolment: bytes = ENROLMENT, epoch: int = EPOCH) -> bytes:
    return enrolment + epoch.to_bytes(8, "big") + bytes((number,))


def part(
    number: int,
    *,
    share: int | None = None,
    commitments: Sequence[bytes] = COMMITMENTS,
    point: bytes = BLINDED,
    epoch: int = EPOCH,
    said_epoch: int | None = None,
    enrolment: bytes = ENROLMENT,
) -> dict[str, Any]:
    """What a guardian answers with, as JSON."""
    share = SHARES[number] if share is None else share
    nonce = scalar(f"nonce of guardian {number}")
    public, ours = base_times(share), times(point, share)
    challenge = hash_to_scalar(
        place(number, enrolment=enrolment, epoch=epoch)
        + public
        + point
        + ours
        + base_times(nonce)
        + times(point, nonce)
    )
    return {
        "epoch": epoch if said_epoch is None else said_epoch,
        "point": base64_of(ours),
        "public_share": base64_of(public),
        "challenge": base64_of(spelled(challenge)),
        "response": base64_of(spelled(nonce + challenge * share)),
        "commitments": base64_of(b"".join(commitments)),
    }


def forged(number: int) -> dict[str, Any]:
    """As the published proof lets through: the challenge is known before anything is announced."""
    return {
        **part(number),
        "point": base64_of(times(BLINDED, scalar("wrong"))),
        "challenge": base64_of(spelled(hash_to_scalar(BLINDED))),
        "response": base64_of(spelled(scalar("any response"))),
    }


def changed(said: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    return {**said, **{name: base64_of(each) if isinstance(each, bytes) else each for name, each in others.items()}}


def guardians_hash(data: bytes) -> bytes:
    point = times(hash_to_point(data), SECRET_SCALAR)
    return blake2b(len(data).to_bytes(8, "big") + data + point, purpose=b"edna.guard.out.1")


def _beyond(raw: str) -> bytes:
    """The same scalar, spelled otherwise."""
    return (int.from_bytes(base64.b64decode(raw), "little") + ORDER).to_bytes(32, "little")


def group_cases() -> dict[str, Case]:
    def refused(raw: bytes, description: str) -> Case:
        return case("check_point", description, raw.hex(), error="GuardianRefused")

    inside = hash_to_point(b"")
    return {
        "point-of-nothing": case("hash_to_point", "the empty input", "", inside.hex()),
        "point-of-an-input": case("hash_to_point", "a short input", INPUT.hex(), hash_to_point(INPUT).hex()),
        "point-of-a-long-input": case(
            "hash_to_point", "300 bytes", (b"x" * 300).hex(), hash_to_point(b"x" * 300).hex()
        ),
        "point": case("check_point", "a point to compute with", inside.hex(), inside.hex()),
        "point-identity": refused(IDENTITY, "the identity"),
        "point-identity-otherwise": refused((2**255 - 18).to_bytes(32, "little"), "the identity, spelled otherwise"),
        "point-of-small-order": refused(SMALL, "a point of order 8"),
        "point-outside-the-subgroup": refused(plus(inside, SMALL), "a point of order 8 added to one of the subgroup"),
        "point-of-zeros": refused(bytes(32), "a point of order 4"),
        "point-of-ones": refused(b"\xff" * 32, "no coordinate"),
        "point-too-short": refused(inside[:31], "31 bytes"),
        "point-too-long": refused(inside + b"\x00", "33 bytes"),
        "scalar-zero": case("check_scalar", "zero", bytes(32).hex(), bytes(32).hex()),
        "scalar-greatest": case("check_scalar", "the greatest", spelled(-1).hex(), spelled(-1).hex()),
        "scalar-of-the-order": case(
            "check_scalar", "zero, spelled otherwise", ORDER.to_bytes(32, "little").hex(), error="GuardianRefused"
        ),
        "scalar-too-short": case("check_scalar", "31 bytes", bytes(31).hex(), error="GuardianRefused"),
        "blinded": case(
            "blind",
            "the point of an input, times a factor",
            {"input": INPUT.hex(), "factor": spelled(FACTOR).hex()},
            BLINDED.hex(),
        ),
        "blinded-for-a-request": case(
            "blind_request",
            "by the secret of a request: the same each time",
            {"input": INPUT.hex(), "secret": fixed("secret of a request").hex()},
            times(hash_to_point(INPUT), request_factor(INPUT)).hex(),
        ),
        "deal": case(
            "deal",
            "a secret and two coefficients, shared among five",
            {"coefficients": [spelled(each).hex() for each in COEFFICIENTS], "count": COUNT},
            {
                "shares": [spelled(each).hex() for each in SHARES.values()],
                "commitments": [each.hex() for each in COMMITMENTS],
            },
        ),
        "public-share": case(
            "public_share",
            "the public half of a share, from the commitments",
            {"commitments": [each.hex() for each in COMMITMENTS], "number": 5},
            base_times(SHARES[5]).hex(),
        ),
    }


def share_cases() -> dict[str, Case]:
    guardian = Pair("guardian 2")

    def opened(plain: bytes, description: str, recipient: bytes = guardian.public, **outcome: Any) -> Case:
        given = {
            "sealed": sealed_box(plain, recipient, "share").hex(),
            "secret_key": guardian.secret.hex(),
            "number": 2,
            "commitments": [each.hex() for each in COMMITMENTS],
        }
        return case("open_share", description, given, **outcome)

    ours = spelled(SHARES[2])
    return {
        "share": opened(ours, "a share, sealed to guardian 2", expect=ours.hex()),
        "share-of-another": opened(spelled(SHARES[3]), "that of guardian 3", error="GuardianRefused"),
        "share-to-another": opened(ours, "sealed to guardian 3", Pair("guardian 3").public, error="GuardianRefused"),
        "share-spelled-otherwise": opened(
            (SHARES[2] + ORDER).to_bytes(32, "little"),
            "the same share, not less than the order",
            error="GuardianRefused",
        ),
        "share-too-short": opened(ours[:31], "31 bytes in the box", error="GuardianRefused"),
    }


def part_cases() -> dict[str, Case]:
    def checked(said: Any, description: str, **outcome: Any) -> Case:
        given = {"enrolment": ENROLMENT.hex(), "number": 2, "point": BLINDED.hex(), "answer": {"partials": said}}
        return case("check_parts", description, given, **outcome)

    def refused(said: Mapping[str, Any], description: str) -> Case:
        return checked([said], description, error="GuardianRefused")

    good = part(2)
    made = {
        "share": spelled(SHARES[2]).hex(),
        "enrolment": ENROLMENT.hex(),
        "epoch": EPOCH,
        "number": 2,
        "point": BLINDED.hex(),
        "commitments": [each.hex() for each in COMMITMENTS],
        "nonce": spelled(scalar("nonce of guardian 2")).hex(),
    }
    later = part(2, share=at(NEXT, 2), commitments=[base_times(each) for each in NEXT], epoch=EPOCH + 1)
    return {
        "part-made": case("make_part", "a guardian's part, with a fixed nonce", made, good),
        "part-made-of-the-identity": case(
            "make_part", "asked for no point", {**made, "point": IDENTITY.hex()}, error="GuardianRefused"
        ),
        "part": checked([good], "a right part", expect=[EPOCH]),
        "part-two-epochs": checked([good, later], "while a refresh is under way", expect=[EPOCH, EPOCH + 1]),
        "part-forged": refused(forged(2), "the challenge does not cover what was announced"),
        "part-for-another-input": refused(part(2, point=times(BLINDED, 2)), "for another point"),
        "part-for-another-epoch": refused(part(2, said_epoch=EPOCH + 1), "made in another epoch"),
        "part-for-another-enrolment": refused(part(2, enrolment=fixed("other", 16)), "made for another enrolment"),
        "part-of-another": refused(part(3), "that of guardian 3"),
        "part-identity": refused(changed(good, point=IDENTITY), "the identity"),
        "part-of-small-order": refused(changed(good, point=SMALL), "a point of order 8"),
        "part-outside-the-subgroup": refused(
            changed(good, point=plus(base64.b64decode(good["point"]), SMALL)), "with a point of order 8 added"
        ),
        "part-response-otherwise": refused(
            changed(good, response=_beyond(good["response"])), "the response is not less than the order"
        ),
        "part-challenge-otherwise": refused(
            changed(good, challenge=_beyond(good["challenge"])), "the challenge is not less than the order"
        ),
        "part-commitments-cut": refused(changed(good, commitments=COMMITMENTS[0][:31]), "no whole points"),
        "part-epoch-negative": refused(changed(good, epoch=-1), "an epoch is a number from 0"),
        "part-without-response": refused(
            {name: each for name, each in good.items() if name != "response"}, "a field is missing"
        ),
        "part-not-a-list": checked("rubbish", "a text in the place of the parts", error="GuardianRefused"),
    }


def combine_cases() -> dict[str, Case]:
    def combined(answers: Mapping[int, Any], description: str, **outcome: Any) -> Case:
        given = {
            "input": INPUT.hex(),
            "factor": spelled(FACTOR).hex(),
            "enrolment": ENROLMENT.hex(),
            "threshold": THRESHOLD,
            "secret_commitment": COMMITMENTS[0].hex(),
            "answers": {str(number): {"partials": said} for number, said in answers.items()},
        }
        return case("combine", description, given, **outcome)

    def right(description: str, *numbers: int, wrong: Sequence[int] = (), **answers: Any) -> Case:
        said = {number: [part(number)] for number in numbers}
        said |= {int(name[1:]): each for name, each in answers.items()}
        expect = {"output": guardians_hash(INPUT).hex(), "wrong": list(wrong)}
        return combined(dict(sorted(said.items())), description, expect=expect)

    def refused(answers: Mapping[int, Any], description: str, *, have: int, wrong: Sequence[int] = ()) -> Case:
        told = {"have": have, "need": THRESHOLD, "wrong": list(wrong)}
        return combined(answers, description, error="QuorumUnavailable", told=told)

    public = [base_times(each) for each in NEXT]

    def later(number: int) -> dict[str, Any]:
        return part(number, share=at(NEXT, number), commitments=public, epoch=EPOCH + 1)

    of_others = [part(2, share=at(OTHERS, 2))]
    return {
        "combine": right("guardians 1, 2 and 3", 1, 2, 3),
        "combine-others": right("guardians 2, 4 and 5", 2, 4, 5),
        "combine-all": right("more than are needed", 1, 2, 3, 4, 5),
        "combine-next-epoch": right(
            "three of the next epoch, two of the present one", 4, 5, g1=[later(1)], g2=[later(2)], g3=[later(3)]
        ),
        "combine-both-epochs": right(
            "each with both", g1=[part(1), later(1)], g2=[part(2), later(2)], g3=[part(3), later(3)]
        ),
        "combine-one-forged": right("a forged proof", 1, 4, 5, g2=[forged(2)], wrong=[2]),
        "combine-one-of-something-else": right("a share of another secret", 1, 4, 5, g2=of_others, wrong=[2]),
        "combine-one-is-rubbish": right("an answer of another shape", 1, 4, 5, g2=[{}], wrong=[2]),
        "combine-one-too-few": refused({1: [part(1)], 2: [part(2)]}, "two of three", have=2),
        "combine-two-and-a-forgery": refused(
            {1: [part(1)], 2: [forged(2)], 3: [part(3)]}, "two of three, and a forged proof", have=2, wrong=[2]
        ),
        "combine-two-and-something-else": refused(
            {1: [part(1)], 2: of_others, 3: [part(3)]}, "two of three, and a share of another secret", have=2, wrong=[2]
        ),
        "combine-mixed-epochs": refused(
            {1: [part(1)], 2: [part(2)], 3: [later(3)]}, "shares of before and after a refresh", have=2
        ),
    }


# --- envelopes --------------------------------------------------------------------------------------------------------

PRIVATE = fixed("what is enrolled")
RANDOM = fixed("random of the envelope")
PIN = "pin 4711"


def envelope_head(
    *, version: int = 1, count: int = COUNT, threshold: int = THRESHOLD, point: bytes | None = None
) -> bytes:
    return bytes((version, count, threshold)) + ENROLMENT + (COMMITMENTS[0] if point is None else point)


def envelope(
    secret: bytes = PRIVATE, *, pin: str = "", head: bytes | None = None, commitment: bytes | None = None
) -> bytes:
    head = envelope_head() if head is None else head
    content = RANDOM + secret
    made = blake2b(head + content, purpose=b"edna.guard.com.1")
    front = head + (made if commitment is None else commitment)
    key = blake2b(b"", purpose=b"edna.guard.env.1", key=guardians_hash(front + pin.encode()))
    return front + sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(content, front, bytes(24), key)


def envelope_cases() -> dict[str, Case]:
    front = 51 + 32
    good = envelope()
    output = guardians_hash(good[:front])

    def made(description: str, secret: bytes = PRIVATE, pin: str = "", sealed_with: str | None = None) -> Case:
        sealed = envelope(secret, pin=pin if sealed_with is None else sealed_with)
        given = {
            "enrolment": ENROLMENT.hex(),
            "count": COUNT,
            "threshold": THRESHOLD,
            "secret_scalar": spelled(SECRET_SCALAR).hex(),
            "secret": secret.hex(),
            "pin": pin,
            "random": RANDOM.hex(),
        }
        asked = sealed[:front] + (pin if sealed_with is None else sealed_with).encode()
        return case("make_envelope", description, given, {"envelope": sealed.hex(), "asked": asked.hex()})

    def opened(raw: bytes, description: str, output: bytes = output, **outcome: Any) -> Case:
        return case("open_envelope", description, {"envelope": raw.hex(), "output": output.hex()}, **outcome)

    def refused(raw: bytes, description: str, output: bytes = output) -> Case:
        return opened(raw, description, output, error="EnvelopeRefused")

    def flipped(offset: int) -> bytes:
        return good[:offset] + bytes((good[offset] ^ 1,)) + good[offset + 1 :]

    longest = envelope(b"x" * 4096)
    other = envelope(fixed("other content"))
    uncommitted = envelope(commitment=fixed("no commitment"))
    text = "edna-guardians-envelope-1:" + base64_of(good)
    return {
        "envelope-made": made("without a PIN"),
        "envelope-made-with-pin": made("with a PIN", pin=PIN),
        "envelope-made-with-wide-pin": made("a PIN in wide digits: NFKC", pin="４７１１", sealed_with="4711"),
        "envelope-made-longest": made("the longest content", b"x" * 4096),
        "envelope": opened(good, "a right one", expect=PRIVATE.hex()),
        "envelope-longest": opened(
            longest, "the longest content", guardians_hash(longest[:front]), expect=(b"x" * 4096).hex()
        ),
        "envelope-too-long": refused(
            (long := envelope(b"x" * 4097)), "a byte more than the longest", guardians_hash(long[:front])
        ),
        "envelope-empty-content": refused((empty := envelope(b"")), "nothing in it", guardians_hash(empty[:front])),
        "envelope-other-output": refused(good, "the hash of something else", fixed("other output")),
        "envelope-flipped-version": refused(flipped(0), "version 0"),
        "envelope-flipped-count": refused(flipped(1), "four guardians"),
        "envelope-flipped-threshold": refused(flipped(2), "two are needed"),
        "envelope-flipped-enrolment": refused(flipped(3), "another enrolment"),
        "envelope-flipped-secret-commitment": refused(flipped(19), "another secret commitment, or no point"),
        "envelope-flipped-commitment": refused(flipped(51), "another commitment"),
        "envelope-flipped-box": refused(flipped(front), "another box"),
        "envelope-flipped-tag": refused(flipped(len(good) - 1), "another tag"),
        "envelope-cut": refused(good[:-1], "the last byte is missing"),
        "envelope-short": refused(good[: front + 47], "no room for a content"),
        "envelope-of-nothing": refused(b"", "nothing"),
        "envelope-version-2": refused(envelope(head=envelope_head(version=2)), "another version"),
        "envelope-impossible-threshold": refused(
            envelope(head=envelope_head(threshold=6)), "more are needed than there are"
        ),
        "envelope-threshold-of-one": refused(envelope(head=envelope_head(threshold=1)), "one is enough"),
        "envelope-identity": refused(
            envelope(head=envelope_head(point=IDENTITY)), "the secret commitment is the identity"
        ),
        "envelope-box-of-another": refused(good[:front] + other[front:], "the box of another envelope"),
        "envelope-not-committed": refused(
            uncommitted, "rightly sealed, and the commitment is of something else", guardians_hash(uncommitted[:front])
        ),
        "envelope-input": case(
            "envelope_input",
            "what guardians are asked to hash",
            {"envelope": good.hex(), "pin": PIN},
            (good[:front] + PIN.encode()).hex(),
        ),
        "envelope-text": case("read_envelope", "in a file", text + "\n", good.hex()),
        "envelope-text-wrapped": case(
            "read_envelope", "as a mail program wraps it", f" {text[:60]}\r\n\t{text[60:]}", good.hex()
        ),
        "envelope-text-cut": case("read_envelope", "letters are missing", text[:-2], error="EnvelopeRefused"),
        "envelope-text-of-something-else": case("read_envelope", "a receipt", "edna1:" + text, error="EnvelopeRefused"),
    }


# --- requests ---------------------------------------------------------------------------------------------------------


def request_cases() -> dict[str, Case]:
    secret = fixed("secret of a request")

    def token(number: int) -> dict[str, str]:
        made = blake2b(bytes((number,)), purpose=b"edna.guard.tok.1", key=secret)
        ticket = blake2b(made, purpose=b"edna.guard.tick1")
        return {"token": made.hex(), "ticket": ticket.hex(), "name": ticket.hex()[:16]}

    def vetoes(content: bytes, description: str) -> Case:
        words = [
            blake2b(ENROLMENT + bytes((number,)), purpose=b"edna.guard.veto2", key=content[:64])
            for number in range(1, COUNT + 1)
        ]
        hashes = b"".join(blake2b(word, purpose=b"edna.guard.veto1") for word in words)
        given = {"secret": content.hex(), "enrolment": ENROLMENT.hex(), "count": COUNT}
        return case("vetoes", description, given, {"words": [word.hex() for word in words], "hashes": hashes.hex()})

    hashed = blake2b(b"ABCDEFGHJKLM", purpose=b"edna.guard.code1").hex()
    return {
        "code": case("code", "as a guardian prints it", "ABCD-EFGH-JKLM", hashed),
        "code-as-typed": case("code", "in small letters, with spaces", " abcd efgh\tjklm ", hashed),
        "ticket": case("ticket", "for guardian 1", {"secret": secret.hex(), "number": 1}, token(1)),
        "ticket-of-another": case("ticket", "for guardian 255", {"secret": secret.hex(), "number": 255}, token(255)),
        "vetoes": vetoes(PRIVATE, "by a key of 32 bytes"),
        "vetoes-of-long": vetoes(fixed("a long secret", 64) + b"more", "by what is longer than 64 bytes"),
    }


# --- signatures -------------------------------------------------------------------------------------------------------


class Signer:
    def __init__(self, label: str) -> None:
        self.seed = fixed(f"signing key of {label}")
        self.public, self._secret = sodium.crypto_sign_seed_keypair(self.seed)

    def sign(self, line: str, message: bytes) -> bytes:
        return sodium.crypto_sign(f"{line}\n".encode() + message, self._secret)[:64]


SITE = Signer("the site")
SIGNERS = {number: Signer(f"guardian {number}") for number in range(1, COUNT + 1)}
PAIRS = {number: Pair(f"guardian {number}") for number in range(1, COUNT + 1)}
ROUND = fixed("round", 16)
ROUND_PAIRS = {number: Pair(f"guardian {number} in this round") for number in range(1, COUNT + 1)}


def roster(**others: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "site": "HotCRP of the conference",
        "threshold": THRESHOLD,
        "guardians": [
            {
                "address": f"https://guardian{number}.example:8443",
                "verify_key": base64_of(SIGNERS[number].public),
                "public_key": base64_of(PAIRS[number].public),
                "certificate": "" if number > 1 else "-----BEGIN CERTIFICATE-----\n...\n",
            }
            for number in range(1, COUNT + 1)
        ],
        "schedule": {"attack_seconds": 86400, "restart_seconds": 600},
        **others,
    }


def roster_cases() -> dict[str, Case]:
    def read(
        said: Any, description: str, *, signer: Signer = SITE, replaced: tuple[str, str] = ("", ""), **outcome: Any
    ) -> Case:
        text = json.dumps(said, sort_keys=True)
        signature = base64_of(signer.sign("edna guardians roster 1", text.encode()))
        file = json.dumps(
            {"roster": text.replace(*replaced) if replaced[0] else text, "signature": signature}, indent=1
        )
        return case("read_roster", description, {"text": file + "\n", "site_key": SITE.public.hex()}, **outcome)

    def refused(said: Any, description: str, error: str = "GuardianRefused", **changes: Any) -> Case:
        return read(said, description, error=error, **changes)

    good = roster()
    twice = [*good["guardians"][:4], good["guardians"][0]]
    return {
        "roster": read(good, "five guardians, of whom three are needed", expect=good),
        "roster-without-schedule": read(roster(schedule=None), "nobody restarts", expect=roster(schedule=None)),
        "roster-changed": refused(good, "somebody changed an address", replaced=("guardian2.", "guardian9.")),
        "roster-of-another-site": refused(good, "signed by another key", signer=SIGNERS[1]),
        "roster-of-another-version": refused(roster(version=2), "version 2"),
        "roster-without-threshold": refused(
            {name: each for name, each in good.items() if name != "threshold"}, "a field is missing"
        ),
        "roster-impossible-threshold": refused(
            roster(threshold=6), "more are needed than there are", "ConfigurationError"
        ),
        "roster-two-of-one-key": refused(roster(guardians=twice), "two guardians with one key", "ConfigurationError"),
        "roster-impossible-schedule": refused(
            roster(schedule={"attack_seconds": 10, "restart_seconds": 10}), "all restart at once", "ConfigurationError"
        ),
        "roster-of-nothing": case(
            "read_roster", "no file", {"text": "", "site_key": SITE.public.hex()}, error="GuardianRefused"
        ),
    }


def first_asked(count: int, attack: int, restart: int, now: int) -> list[int]:
    slots = attack // restart
    together = -(-count // slots)
    present = now // restart
    down, up = [], []
    for number in range(1, count + 1):
        wait = ((number - 1) // together - present) % slots
        (up if wait else down).append((-wait, number))
    return [number for _, number in sorted(up)] + [number for _, number in down]


def schedule_cases() -> dict[str, Case]:
    def asked(count: int, threshold: int, attack: int, restart: int, description: str) -> Case:
        times = [NOW + step * restart + restart // 2 for step in range(attack // restart + 1)]
        given = {"count": count, "threshold": threshold, "attack_seconds": attack, "restart_seconds": restart}
        expect = [first_asked(count, attack, restart, now) for now in times]
        return case("asked_first", description, {**given, "at_seconds": times}, expect)

    return {
        "schedule": asked(5, 3, 3000, 600, "one after the other"),
        "schedule-groups": asked(18, 6, 60, 10, "three at once"),
        "schedule-uneven": asked(7, 2, 13, 4, "seven in three slots"),
    }


def order_cases() -> dict[str, Case]:
    body = b'{"enrolment": "AAAA"}'

    def header(number: int = 2, path: str = "/enrol", at_: int = NOW, said: bytes = body, signer: Signer = SITE) -> str:
        message = f"{number} {path} {at_} ".encode() + blake2b(said, purpose=b"edna.guard.ord.1")
        return f"{at_} {base64_of(signer.sign('edna guardians order 1', message))}"

    def checked(given: str, description: str, **outcome: Any) -> Case:
        asked = {"number": 2, "path": "/enrol", "body": body.hex(), "now": NOW, "site_key": SITE.public.hex()}
        return case("check_order", description, {**asked, "header": given}, **outcome)

    def refused(given: str, description: str) -> Case:
        return checked(given, description, error="GuardianRefused")

    made = {"number": 2, "path": "/enrol", "body": body.hex(), "at": NOW, "signing_key": SITE.seed.hex()}
    return {
        "order-made": case("make_order", "what the site orders of guardian 2", made, header()),
        "order": checked(header(at_=NOW - 300), "made five minutes ago", expect=True),
        "order-too-old": refused(header(at_=NOW - 301), "made a second earlier"),
        "order-of-later": refused(header(at_=NOW + 301), "not made yet"),
        "order-of-another-guardian": refused(header(number=3), "for guardian 3"),
        "order-of-another-path": refused(header(path="/forget"), "for something else"),
        "order-of-another-body": refused(header(said=b"{}"), "with another body"),
        "order-of-somebody-else": refused(header(signer=SIGNERS[2]), "signed by a guardian"),
        "order-without-time": refused(header().partition(" ")[2], "no time in front"),
        "order-of-nothing": refused("", "no header"),
    }


def status_cases() -> dict[str, Case]:
    challenge = fixed("challenge")

    def checked(description: str, *, signer: int = 2, said: int = 2, over: bytes = challenge, **outcome: Any) -> Case:
        text = json.dumps({"number": said, "enrolments": 7, "epochs": {"3": 7}})
        signature = SIGNERS[signer].sign("edna guardians status 1", over + text.encode())
        given = {
            "answer": {"status": text, "signature": base64_of(signature)},
            "challenge": challenge.hex(),
            "number": 2,
            "verify_keys": keys(),
            "threshold": THRESHOLD,
        }
        return case("check_status", description, given, **outcome)

    return {
        "status": checked("what guardian 2 says of itself", expect={"number": 2, "enrolments": 7, "epochs": {"3": 7}}),
        "status-of-another": checked("signed by guardian 1", signer=1, error="GuardianRefused"),
        "status-of-another-number": checked("it says that it is guardian 1", said=1, error="GuardianRefused"),
        "status-of-before": checked("for another challenge", over=fixed("other challenge"), error="GuardianRefused"),
    }


# --- refresh and repair -----------------------------------------------------------------------------------------------

FORMER = fixed("hash of the former deals")


def keys() -> list[str]:
    return [SIGNERS[number].public.hex() for number in range(1, COUNT + 1)]


def receiver(number: int, *, round_: bytes = ROUND, signer: Signer | None = None) -> dict[str, Any]:
    public = ROUND_PAIRS[number].public
    signature = (signer or SIGNERS[number]).sign("edna guardians receiver 1", round_ + public)
    return {
        "round": base64_of(round_),
        "number": number,
        "public_key": base64_of(public),
        "signature": base64_of(signature),
    }


def deal(
    dealer: int,
    *,
    epoch: int = EPOCH,
    powers: int = THRESHOLD - 1,
    wrong: bool = False,
    constant: int = 0,
    receivers: Sequence[int] = (1, 2, 3),
    signer: Signer | None = None,
) -> tuple[dict[str, Any], bytes, list[int]]:
    """The deal as JSON, the hash that is signed, and the coefficients from the first power on."""
    coefficients = [scalar(f"power {power} of dealer {dealer}") for power in range(1, powers + 1)]
    points = [base_times(each) for each in coefficients]
    boxes = {}
    for number in receivers:
        value = at([constant, *coefficients], number) + (1 if wrong and number == 2 else 0)
        boxes[number] = sealed_box(spelled(value), ROUND_PAIRS[number].public, f"deal of {dealer} to {number}")
    signed = b"".join(
        [ENROLMENT, epoch.to_bytes(8, "big"), bytes((dealer, len(points))), *points]
        + [bytes((number,)) + box for number, box in sorted(boxes.items())]
    )
    digest = blake2b(signed, purpose=b"edna.guard.deal1")
    said = {
        "enrolment": base64_of(ENROLMENT),
        "epoch": epoch,
        "dealer": dealer,
        "commitments": base64_of(b"".join(points)),
        "sealed": {str(number): base64_of(box) for number, box in boxes.items()},
        "signature": base64_of((signer or SIGNERS[dealer]).sign("edna guardians deal 1", digest)),
    }
    return said, digest, coefficients


def refresh_cases() -> dict[str, Case]:
    def received(said: Mapping[str, Any], description: str, **outcome: Any) -> Case:
        given = {"receiver": said, "round": ROUND.hex(), "verify_keys": keys(), "threshold": THRESHOLD}
        return case("check_receiver", description, given, **outcome)

    def taken(deals: Sequence[Mapping[str, Any]], description: str, **outcome: Any) -> Case:
        given = {
            "enrolment": ENROLMENT.hex(),
            "epoch": EPOCH,
            "number": 2,
            "share": spelled(SHARES[2]).hex(),
            "commitments": [each.hex() for each in COMMITMENTS],
            "former": FORMER.hex(),
            "deals": list(deals),
            "secret_key": ROUND_PAIRS[2].secret.hex(),
            "signing_key": SIGNERS[2].seed.hex(),
            "verify_keys": keys(),
            "threshold": THRESHOLD,
        }
        return case("take", description, given, **outcome)

    def refused(said: Mapping[str, Any], description: str) -> Case:
        return taken([deal(1)[0], said], description, error="GuardianRefused")

    deals = [deal(3), deal(1)]
    share = SHARES[2] + sum(at([0, *coefficients], 2) for _, _, coefficients in deals)
    commitments = [COMMITMENTS[0]] + [
        plus(COMMITMENTS[power], *(base_times(coefficients[power - 1]) for _, _, coefficients in deals))
        for power in range(1, THRESHOLD)
    ]
    digests = deals[1][1] + deals[0][1]
    hashed = blake2b(FORMER + b"".join(COMMITMENTS) + digests, purpose=b"edna.guard.qual1")
    said = ENROLMENT + (EPOCH + 1).to_bytes(8, "big") + hashed + bytes((2,))
    receipt = {
        "enrolment": base64_of(ENROLMENT),
        "epoch": EPOCH + 1,
        "deals": base64_of(hashed),
        "number": 2,
        "signature": base64_of(SIGNERS[2].sign("edna guardians taken 1", said)),
    }
    expect = {"share": spelled(share).hex(), "commitments": [each.hex() for each in commitments], "receipt": receipt}

    def receipts(said: Mapping[str, Any], description: str, **outcome: Any) -> Case:
        given = {"receipt": said, "verify_keys": keys(), "threshold": THRESHOLD}
        return case("check_receipt", description, given, **outcome)

    return {
        "receiver": received(receiver(2), "guardian 2's key for a round", expect=2),
        "receiver-of-another-round": received(
            receiver(2, round_=fixed("other round", 16)), "signed for another round", error="GuardianRefused"
        ),
        "receiver-signed-by-another": received(
            receiver(2, signer=SIGNERS[1]), "signed by guardian 1", error="GuardianRefused"
        ),
        "receiver-of-nobody": received({**receiver(2), "number": 6}, "there is no guardian 6", error="GuardianRefused"),
        "take": taken([each[0] for each in deals], "guardian 2 takes the deals of 3 and of 1", expect=expect),
        "take-wrong-part": refused(deal(3, wrong=True)[0], "the part does not fit the commitments"),
        "take-of-another-secret": refused(deal(3, constant=1)[0], "not zero at zero"),
        "take-another-epoch": refused(deal(3, epoch=EPOCH + 1)[0], "for another epoch"),
        "take-signed-by-another": refused(deal(3, signer=SIGNERS[1])[0], "not signed by its dealer"),
        "take-another-threshold": refused(deal(3, powers=3)[0], "for another threshold"),
        "take-of-others": refused(deal(3, receivers=(1, 3))[0], "for others alone"),
        "take-twice": refused(deal(1)[0], "the same dealer twice"),
        "take-nothing": taken([], "no deals", error="GuardianRefused"),
        "receipt": receipts(receipt, "for what guardian 2 has taken", expect=2),
        "receipt-of-another-epoch": receipts({**receipt, "epoch": EPOCH}, "for another epoch", error="GuardianRefused"),
        "receipt-of-another": receipts({**receipt, "number": 1}, "in the name of guardian 1", error="GuardianRefused"),
    }


def mask(helper: int, *, wrong: bool = False, signer: Signer | None = None) -> tuple[dict[str, Any], list[int]]:
    coefficients = [scalar(f"mask {power} of helper {helper}") for power in range(THRESHOLD - 1)]
    points = [base_times(each) for each in coefficients]
    boxes = {}
    for number in HELPERS:
        value = (number - REPAIRED) * at(coefficients, number) + (1 if wrong and number == 2 else 0)
        boxes[number] = sealed_box(spelled(value), ROUND_PAIRS[number].public, f"mask of {helper} to {number}")
    signed = b"".join(
        [ENROLMENT, EPOCH.to_bytes(8, "big"), bytes((REPAIRED, helper, len(points))), *points]
        + [bytes((number,)) + box for number, box in sorted(boxes.items())]
    )
    digest = blake2b(signed, purpose=b"edna.guard.mask1")
    said = {
        "enrolment": base64_of(ENROLMENT),
        "epoch": EPOCH,
        "repaired": REPAIRED,
        "helper": helper,
        "commitments": base64_of(b"".join(points)),
        "sealed": {str(number): base64_of(box) for number, box in boxes.items()},
        "signature": base64_of((signer or SIGNERS[helper]).sign("edna guardians mask 1", digest)),
    }
    return said, coefficients


HELPERS, REPAIRED = (1, 2, 3), 5


def masked(helper: int) -> int:
    masks = (mask(each)[1] for each in HELPERS)
    return SHARES[helper] + sum((helper - REPAIRED) * at(coefficients, helper) for coefficients in masks)


def sum_of(helper: int, *, more: int = 0, signer: Signer | None = None, deals: bytes = FORMER) -> dict[str, Any]:
    box = sealed_box(spelled(masked(helper) + more), ROUND_PAIRS[REPAIRED].public, f"sum of {helper}")
    signed = b"".join(
        [
            ENROLMENT,
            EPOCH.to_bytes(8, "big"),
            bytes((helper, THRESHOLD)),
            *COMMITMENTS,
            bytes((len(deals),)),
            deals,
            box,
        ]
    )
    digest = blake2b(signed, purpose=b"edna.guard.sum.1")
    return {
        "enrolment": base64_of(ENROLMENT),
        "epoch": EPOCH,
        "helper": helper,
        "commitments": base64_of(b"".join(COMMITMENTS)),
        "deals": base64_of(deals),
        "sealed": base64_of(box),
        "signature": base64_of((signer or SIGNERS[helper]).sign("edna guardians sum 1", digest)),
    }


def repair_cases() -> dict[str, Case]:
    masks = [mask(helper)[0] for helper in HELPERS]
    place_ = {"verify_keys": keys(), "threshold": THRESHOLD}

    def added(given: Sequence[Mapping[str, Any]], description: str, **outcome: Any) -> Case:
        said = {
            **place_,
            "masks": list(given),
            "number": 2,
            "share": spelled(SHARES[2]).hex(),
            "secret_key": ROUND_PAIRS[2].secret.hex(),
        }
        return case("add_masks", description, said, **outcome)

    def repaired(sums: Sequence[Mapping[str, Any]], description: str, given: Any = None, **outcome: Any) -> Case:
        said = {
            **place_,
            "masks": masks if given is None else given,
            "sums": list(sums),
            "number": REPAIRED,
            "secret_key": ROUND_PAIRS[REPAIRED].secret.hex(),
        }
        return case("repair", description, said, **outcome)

    def refused(sums: Sequence[Mapping[str, Any]], description: str, given: Any = None) -> Case:
        return repaired(sums, description, given, error="GuardianRefused")

    sums = [sum_of(helper) for helper in HELPERS]
    assert sum(lagrange(HELPERS, each, REPAIRED) * masked(each) for each in HELPERS) % ORDER == SHARES[REPAIRED]
    return {
        "masks": added(masks, "what helper 2 hands over", expect=spelled(masked(2)).hex()),
        "masks-one-wrong": added(
            [masks[0], masks[1], mask(3, wrong=True)[0]], "a part does not fit", error="GuardianRefused"
        ),
        "masks-signed-by-another": added(
            [masks[0], masks[1], mask(3, signer=SIGNERS[1])[0]], "not signed by its helper", error="GuardianRefused"
        ),
        "repair": repaired(sums, "guardian 5, with the help of 1, 2 and 3", expect=spelled(SHARES[REPAIRED]).hex()),
        "repair-one-too-few": refused(sums[:2], "two sums", masks[:2]),
        "repair-one-wrong": refused([sums[0], sums[1], sum_of(3, more=1)], "a sum does not fit"),
        "repair-signed-by-another": refused([sums[0], sums[1], sum_of(3, signer=SIGNERS[1])], "signed by guardian 1"),
        "repair-of-different-deals": refused(
            [sums[0], sums[1], sum_of(3, deals=b"")], "one of them says something else of the refresh"
        ),
        "repair-mask-missing": refused(sums, "a mask is missing", masks[:2]),
    }


# --- all --------------------------------------------------------------------------------------------------------------


def case(
    operation: str, description: str, given: Any, expect: Any = None, error: str | None = None, told: Any = None
) -> Case:
    outcome = {"error": error} if error else {"expect": expect}
    return {
        "description": description,
        "operation": operation,
        "input": given,
        **outcome,
        **({"told": told} if told else {}),
    }


def all_cases() -> dict[str, str]:
    """Return the text of every vector file by its name."""
    cases = group_cases() | share_cases() | part_cases() | combine_cases() | envelope_cases() | request_cases()
    cases |= roster_cases() | schedule_cases() | order_cases() | status_cases() | refresh_cases() | repair_cases()
    return {f"{name}.json": json.dumps(each, indent=1, sort_keys=True) + "\n" for name, each in cases.items()}


if __name__ == "__main__":
    from tests.vectors.generate import written

    sys.exit(written(sys.argv[1:], all_cases(), into=HERE))
