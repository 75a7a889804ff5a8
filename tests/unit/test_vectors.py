"""The files of tests/vectors open, or are refused, exactly as they say: the promise of docs/format.md to every other reader."""

from __future__ import annotations

import datetime
import json
import re
import runpy
import struct
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from nacl.bindings import crypto_scalarmult

from edna import errors
from edna.crypto.keys import HybridSecretKey, PublicKey, SecretKey
from edna.crypto.sealing import open_sealed, padded_length
from edna.custody import password, recovery
from edna.custody.base import Slot, SlotSecret, candidate_ids, slot_tags, unlock_slot
from edna.records import values
from edna.records.bag import Bag, BagKind, open_bag
from edna.records.locator import Locator, Receipt, open_locator, seal_locator
from edna.records.speaksfor import SealedKey

pytestmark = pytest.mark.long

VECTORS = Path(__file__).resolve().parent.parent / "vectors"
CASES = {path.stem: json.loads(path.read_text()) for path in sorted(VECTORS.glob("*.json"))}


def untag(value: dict[str, Any]) -> Any:
    """The Python value of a {"type": ..., "value": ...}."""
    given = value.get("value")
    readers = {
        "null": lambda: None,
        "bool": lambda: given,
        "int": lambda: int(given),
        "float": lambda: struct.unpack(">d", bytes.fromhex(given))[0],
        "str": lambda: bytes.fromhex(given).decode("utf-8", "surrogatepass"),
        "bytes": lambda: bytes.fromhex(given),
        "list": lambda: [untag(item) for item in given],
        "dict": lambda: {untag(key): untag(item) for key, item in given},
        "decimal": lambda: Decimal(given),
        "datetime": lambda: datetime.datetime.fromisoformat(given),
        "date": lambda: datetime.date.fromisoformat(given),
        "time": lambda: datetime.time.fromisoformat(given),
        "timedelta": lambda: datetime.timedelta(*map(int, (given.split(":")))),
        "uuid": lambda: uuid.UUID(given),
    }
    return readers[value["type"]]()


def raw_key(secret: SecretKey | SealedKey) -> bytes:
    if isinstance(secret, HybridSecretKey):
        return b"\2" + secret.expose()
    return secret.box if isinstance(secret, SealedKey) else secret.expose()


def key_in(given: dict[str, Any]) -> SecretKey:
    """A seed is a key of the hybrid kind."""
    return (
        HybridSecretKey(bytes.fromhex(given["seed"]))
        if "seed" in given
        else SecretKey(bytes.fromhex(given["secret_key"]))
    )


def run_hybrid_key(given: str) -> Any:
    public_key = HybridSecretKey(bytes.fromhex(given)).public_key
    assert public_key.encapsulation_key is not None
    assert PublicKey.of(public_key.encapsulation_key + bytes(public_key)) == public_key
    return (public_key.encapsulation_key + bytes(public_key)).hex()


def bag_as_list(bag: Bag) -> list[Any]:
    """The payload list of docs/format.md, from the fields a caller sees."""
    if bag.kind is not BagKind.SPEAKS_FOR:
        batches = [
            [b.number, b.model, b.stamp, list(b.key), list(b.columns), [list(row) for row in b.rows]]
            for b in bag.batches
        ]
    else:
        batches = [
            [
                b.model,
                [[pk, bytes(public), raw_key(secret), owner] for pk, public, secret, owner in b.rows],
                *([list(b.unlisted)] if b.unlisted else []),
            ]
            for b in bag.batches
        ]
    head = [int(bag.kind), bag.disguise, bag.applied_at, bag.principal_model, bag.principal, bag.params]
    return [*head, bag.database, bag.listed, list(bag.segments), batches]


def run_open_bag(given: dict[str, Any]) -> Any:
    sealed = bytes.fromhex(given["sealed"])
    return bag_as_list(
        open_bag(
            sealed.ljust(given.get("sealed_length", 0), b"\0"),
            locator=Locator(bytes.fromhex(given["locator"])),
            kind=BagKind(given["kind"]),
            sequence=given["sequence"],
            secret_key=key_in(given),
            mac_keys=[bytes.fromhex(key) for key in given["mac_keys"]],
            public_key=PublicKey(bytes.fromhex(given["public_key"])) if "public_key" in given else None,
        )
    )


def run_decode_value(given: Any) -> Any:
    if isinstance(given, dict):
        byte, count = given["repeat"]
        return values.decode(bytes.fromhex(byte) * count + bytes.fromhex(given["then"]))
    return values.decode(bytes.fromhex(given))


def run_slot(given: dict[str, Any], slot_secret: SlotSecret, kind: str) -> Any:
    peppers = [bytes.fromhex(pepper) for pepper in given["peppers"]]
    slot = Slot(*(bytes.fromhex(given[name]) for name in ("slot_id", "tag", "wrapped")))
    secret_key = unlock_slot(slot, slot_secret=slot_secret, peppers=peppers)
    assert slot.slot_id in candidate_ids(slot_secret, peppers=peppers)
    assert slot.tag in slot_tags(secret_key, kind=kind, peppers=peppers)
    return {"slot_secret": slot_secret.expose().hex(), "secret_key": secret_key.expose().hex()}


def run_password_slot(given: dict[str, Any]) -> Any:
    costs = {name: given[name] for name in ("opslimit", "memlimit_bytes")}
    peppers = [bytes.fromhex(pepper) for pepper in given["peppers"]]
    for pepper in (peppers[0], None, *peppers[1:]):
        slot_secret = password.derive(given["password"], identifier=given["identifier"], pepper=pepper, **costs)
        candidates = candidate_ids(slot_secret, peppers=[pepper] if pepper else peppers)
        if bytes.fromhex(given["slot_id"]) in candidates:
            break
    return run_slot(given, slot_secret, password.KIND)


def run_recovery_slot(given: dict[str, Any]) -> Any:
    return run_slot(given, recovery.derive(recovery.RecoveryCode.parse(given["code"])), recovery.KIND)


def run_parse_receipt(given: str) -> Any:
    receipt = Receipt.parse(given)
    return {"disguise": receipt.disguise, "locator": receipt.locator.expose().hex()}


def run_index(given: dict[str, Any]) -> Any:
    locator = Locator(bytes.fromhex(given["locator"]))
    return [locator.index(BagKind(kind), sequence).hex() for kind, sequence in given["kinds_and_sequences"]]


def run_chunks(given: dict[str, Any]) -> Any:
    locator = Locator(bytes.fromhex(given["locator"]))
    return [locator.chunk(number).expose().hex() for number in given["numbers"]]


def run_shared_key(given: str) -> Any:
    secret_key = Locator(bytes.fromhex(given)).shared_key()
    return {"secret_key": secret_key.expose().hex(), "public_key": bytes(secret_key.public_key).hex()}


def run_open_locator(given: dict[str, str]) -> Any:
    return open_locator(bytes.fromhex(given["sealed"]), secret_key=key_in(given)).expose().hex()


def run_make_item(given: dict[str, str]) -> Any:
    locator, recipient = Locator(bytes.fromhex(given["locator"])), PublicKey(bytes.fromhex(given["public_key"]))
    return seal_locator(locator, recipient=recipient).hex()


OPERATIONS = {
    "open_bag": run_open_bag,
    "decode_value": run_decode_value,
    "password_slot": run_password_slot,
    "recovery_slot": run_recovery_slot,
    "parse_receipt": run_parse_receipt,
    "parse_recovery_code": lambda given: recovery.RecoveryCode.parse(given).expose().hex(),
    "parse_secret_key": lambda given: SecretKey.parse(given).expose().hex(),
    "hybrid_key": run_hybrid_key,
    "public_key": lambda given: bytes(PublicKey(bytes.fromhex(given))).hex(),
    "open_locator": run_open_locator,
    "make_item": run_make_item,
    "index": run_index,
    "chunks": run_chunks,
    "shared_key": run_shared_key,
    "padded_length": lambda given: [padded_length(length) for length in given],
}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "expect" in case])
def test_a_valid_vector_gives_exactly_what_it_says(name: str) -> None:
    """Every version ever released keeps opening, with every type and every bit of every value."""
    case = CASES[name]
    typed = case["operation"] in ("open_bag", "decode_value")

    result = OPERATIONS[case["operation"]](case["input"])

    if typed:  # compared as bytes: == would let True pass for 1, 1.0 for 1.00 and no NaN for itself
        assert values.encode(result) == values.encode(untag(case["expect"]))
    else:
        assert result == case["expect"]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "error" in case])
def test_a_defective_vector_is_refused_with_the_error_it_names(name: str) -> None:
    """Every defect has one specific error; its message says something and repeats no secret input."""
    case = CASES[name]

    with pytest.raises(errors.EdnaError) as caught:
        OPERATIONS[case["operation"]](case["input"])

    assert type(caught.value) is getattr(errors, case["error"])
    assert len(str(caught.value)) > 15
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if case["operation"] == "decode_value" and "expect" in case]
)
def test_encoding_a_value_gives_the_bytes_of_its_vector(name: str) -> None:
    """A value has one encoding, so that a writer in another language can be compared byte by byte."""
    case = CASES[name]

    assert values.encode(untag(case["expect"])).hex() == case["input"]


def test_the_vectors_are_those_of_their_generator() -> None:
    """tests/vectors/generate.py is an independent implementation and deterministic: no file was edited or forgotten."""
    generator = runpy.run_path(str(VECTORS / "generate.py"))

    expected = generator["all_cases"]()

    assert expected == {path.name: path.read_text() for path in VECTORS.glob("*.json")}
    assert not [
        line for line in (VECTORS / "generate.py").read_text().splitlines() if "edna." in line and "import" in line
    ]


def test_another_library_makes_the_same_public_key_and_shared_secret() -> None:
    """X-Wing of @noble/post-quantum, beside the combiner that is written out here. `bag-hybrid-of-noble` is opened by all readers."""
    generated = runpy.run_path(str(VECTORS / "generate.py"))
    bea, noble = generated["HYBRID_BEA"], {name: bytes.fromhex(each) for name, each in generated["OF_NOBLE"].items()}
    encapsulated, ephemeral = noble["encapsulated"][:1088], noble["encapsulated"][1088:]
    exchanged = crypto_scalarmult(bea.secret, ephemeral)

    assert noble["public_key"] == bea.whole
    assert noble["shared_secret"] == generated["shared_secret"](bea, encapsulated, ephemeral, exchanged)


def test_the_worked_example_of_the_format_is_its_vector() -> None:
    """Every run of hexadecimal on the page, and the printed receipt and code, are in the bytes that it explains."""
    page = (VECTORS.parent.parent / "docs" / "format.md").read_text().partition("## A worked example")[2]
    given = CASES["bag-no-batches"]["input"]
    sealed, owner = bytes.fromhex(given["sealed"]), SecretKey(bytes.fromhex(given["secret_key"]))
    generated = runpy.run_path(str(VECTORS / "generate.py"))
    derived = [generated["fixed"]("file key"), generated["blake2b"](generated["MAC_KEY"], purpose=b"edna.mac.key.1")]
    known = [given["locator"], given["secret_key"], given["sealed"], *given["mac_keys"], bytes(owner.public_key).hex()]
    known += [
        open_sealed(sealed, secret_key=owner).hex(),
        CASES["recovery-code"]["expect"],
        *(item.hex() for item in derived),
    ]

    runs = re.findall(r"\b[0-9a-f]{16,}\b", page)

    assert len(runs) >= 20
    assert not [run for run in runs if not any(run in each for each in known)]
    assert CASES["receipt"]["input"] in page
    assert CASES["recovery-code"]["input"] in page
    assert f"{len(sealed)} bytes" in page


def test_every_refusal_of_a_bag_has_a_vector() -> None:
    """A new error for bags, or a defect that issue trackers will ask about, cannot be added without a file."""
    leaves = {error.__name__ for error in errors.BagError.__subclasses__() if not error.__subclasses__()}
    of_policies = [json.loads(path.read_text()) for path in (VECTORS / "policies").glob("*.json")]

    named = {case["error"] for name, case in CASES.items() if "error" in case and name.startswith("bag-")}
    named |= leaves & {case.get("error") for case in of_policies}

    assert named == leaves - {"BagMissing"}  # no bytes, no vector
