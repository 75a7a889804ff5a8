"""The files of tests/vectors/devices are read, or refused, as they say: the promise of docs/format.md to every other device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edna import errors
from edna.custody.devices import states
from edna.custody.devices.device import Device
from tests.vectors.devices.generate import all_cases

VECTORS = Path(__file__).resolve().parent.parent / "vectors" / "devices"
CASES = {path.stem: json.loads(path.read_text()) for path in sorted(VECTORS.glob("*.json"))}
VALID = [name for name, case in CASES.items() if "expect" in case]


def catch_up(given: dict[str, Any]) -> Device:
    return states.from_bytes(bytes.fromhex(given["state"])).catch_up([bytes.fromhex(raw) for raw in given["entries"]])


@pytest.mark.parametrize("name", VALID)
def test_a_device_knows_afterwards_what_the_vector_says(name: str) -> None:
    device = catch_up(CASES[name]["input"])
    group = device.membership
    assert CASES[name]["expect"] == {
        "members": [member.hex() for member in group.members],
        "sequence": group.sequence,
        "head": group.head.hex(),
        "public_key": bytes(group.public_key).hex(),
        "secrets": {str(number): secret.expose().hex() for number, secret in device.secrets.items()},
        "due": group.due,
    }


@pytest.mark.parametrize("name", [name for name in CASES if name not in VALID])
def test_a_defective_vector_is_refused_with_the_error_it_names(name: str) -> None:
    with pytest.raises(errors.EdnaError) as caught:
        catch_up(CASES[name]["input"])
    assert type(caught.value) is getattr(errors, CASES[name]["error"])


def test_the_vectors_are_those_of_their_generator() -> None:
    assert all_cases() == {path.name: path.read_text() for path in VECTORS.glob("*.json")}
