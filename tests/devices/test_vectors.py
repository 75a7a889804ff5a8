"""The files of tests/vectors/devices are read, or refused, as they say: the promise of docs/format.md to every other device."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edna import errors
from edna.crypto.keys import SecretKey
from edna.custody.devices import keeping, states
from edna.custody.devices.device import Device
from tests.devices.log import done_by, drawing
from tests.vectors.devices.generate import all_cases

VECTORS = Path(__file__).resolve().parent.parent / "vectors" / "devices"
CASES = {path.stem: json.loads(path.read_text()) for path in sorted(VECTORS.glob("*.json"))}
VALID = [name for name, case in CASES.items() if "expect" in case]


def read(given: dict[str, Any]) -> Device:
    return states.from_bytes(bytes.fromhex(given["state"])).catch_up([bytes.fromhex(raw) for raw in given["entries"]])


def catch_up(given: dict[str, Any]) -> Any:
    device = read(given)
    group = device.membership
    return {
        "members": [member.hex() for member in group.members],
        "sequence": group.sequence,
        "head": group.head.hex(),
        "public_key": bytes(group.public_key).hex(),
        "secrets": {str(number): secret.expose().hex() for number, secret in device.secrets.items()},
        "due": group.due,
    }


def act(given: dict[str, Any]) -> Any:
    device = read(given) if given["entries"] else states.from_bytes(bytes.fromhex(given["state"]))
    with drawing([bytes.fromhex(each) for each in given["random"]]):
        done = done_by(device, given)
    assert done.pending is not None
    return {"operation": done.pending.operation.hex()}


def places(given: dict[str, Any]) -> Any:
    group, device = bytes.fromhex(given["group"]), bytes.fromhex(given["device"])
    found = {
        "entry": keeping.entry_place(group, given["number"]),
        "note": keeping.note_place(group, device),
        "state": keeping.state_place(SecretKey(bytes.fromhex(given["secret_key"]))),
        "card": keeping.card_place(given["typed"]),
        "welcome": keeping.welcome_place(device),
    }
    codes = {"code": keeping.code_of(device), "code_of_group": keeping.code_of_group(group)}
    return {name: place.hex() for name, place in found.items()} | codes


def opened(open_with: Callable[[bytes, dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda given: open_with(bytes.fromhex(given["sealed"]), given)


def of_hex(given: dict[str, Any], name: str) -> bytes:
    return bytes.fromhex(given[name])


OPERATIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "catch_up": catch_up,
    "act": act,
    "places": places,
    "open_state": opened(
        lambda sealed, given: states.to_bytes(
            keeping.open_state(sealed, key=SecretKey(of_hex(given, "secret_key")))
        ).hex()
    ),
    "open_note": opened(lambda sealed, given: list(keeping.open_note(sealed, group=of_hex(given, "group")))),
    "open_card": opened(lambda sealed, given: bytes(keeping.open_card(sealed, code=given["code"])).hex()),
    "open_welcome": opened(
        lambda sealed, given: keeping.open_welcome(sealed, device=states.from_bytes(of_hex(given, "state"))).hex()
    ),
}


@pytest.mark.parametrize("name", VALID)
def test_a_vector_gives_what_it_says(name: str) -> None:
    """What a device knows, makes and finds, to the byte."""
    case = CASES[name]
    assert OPERATIONS[case["operation"]](case["input"]) == case["expect"]


@pytest.mark.parametrize("name", [name for name in CASES if name not in VALID])
def test_a_defective_vector_is_refused_with_the_error_it_names(name: str) -> None:
    case = CASES[name]
    with pytest.raises(errors.EdnaError) as caught:
        OPERATIONS[case["operation"]](case["input"])
    assert type(caught.value) is getattr(errors, case["error"])


def test_the_vectors_are_those_of_their_generator() -> None:
    assert all_cases() == {path.name: path.read_text() for path in VECTORS.glob("*.json")}
