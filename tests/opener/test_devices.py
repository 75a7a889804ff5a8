"""The JavaScript twin of groups of devices: the same vectors as the library, defects included; and the same bytes, whatever they do."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from edna.crypto.keys import SecretKey
from edna.custody.devices import keeping, states
from edna.custody.devices.device import Device
from tests.devices.log import Log, done_by, noting
from tests.devices.test_vectors import CASES
from tests.opener.conftest import Case
from tests.opener.test_vectors import expected

pytestmark = pytest.mark.browser

STEPS = 40


def test_the_twin_reads_every_vector_in_node(in_node: Callable[..., list[Case]]) -> None:
    """Logs, what devices make of given random bytes, where a site keeps it: to the byte, and each defect by its error."""
    outcomes = dict(zip(CASES, in_node(CASES.values()), strict=True))

    assert len(CASES) > 30
    assert outcomes == {name: expected(case) for name, case in CASES.items()}


class Course:
    """A group that grows, shrinks and heals by chance; what its devices did, and what they knew."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.log, self.devices = Log(), [Device.new()]
        self.cases: list[Case] = []
        self.expected: list[Any] = []
        self.act(0, {"act": "create", "cards": []})

    def ask(self, operation: str, given: Case, result: Any) -> None:
        self.cases.append({"operation": operation, "input": given})
        self.expected.append({"result": result})

    def act(self, at: int, said: Case) -> None:
        before = self.devices[at]
        device = self.log.read(before) if self.log.entries else before
        with noting() as drawn:
            ready = done_by(device, said)
        assert ready.pending is not None
        entries = [raw.hex() for raw in self.log.since(before)]
        self.log.append(ready.pending.operation)
        self.devices[at] = ready.appended()
        given = {"state": states.to_bytes(before).hex(), "entries": entries, "states": True, **said}
        result = {
            "operation": ready.pending.operation.hex(),
            "ready": states.to_bytes(ready).hex(),
            "done": states.to_bytes(self.devices[at]).hex(),
        }
        self.ask("act", {**given, "random": [each.hex() for each in drawn]}, result)

    def read(self, at: int) -> None:
        before = self.devices[at]
        entries = [raw.hex() for raw in self.log.since(before)]
        self.devices[at] = self.log.read(before)
        self.ask(
            "read_state",
            {"state": states.to_bytes(before).hex(), "entries": entries},
            states.to_bytes(self.devices[at]).hex(),
        )

    def step(self) -> None:
        inside = [at for at, device in enumerate(self.devices) if device.id in self.log.membership.members]
        at = self.chance.choice(inside)
        act = self.chance.choice(["add", "add", "remove", "update", "read"])
        if act == "read":
            self.read(self.chance.randrange(len(self.devices)))
        elif act == "add" or len(inside) < 2:
            new = Device.new()
            self.act(
                at, {"act": "add", "card": bytes(new.card).hex(), "with_history": self.chance.choice([True, False])}
            )
            self.devices.append(new)
        elif act == "remove":
            other = self.devices[self.chance.choice([each for each in inside if each != at])]
            self.act(at, {"act": "remove", "device": other.id.hex()})
        else:
            self.act(at, {"act": "update"})


@pytest.mark.parametrize("seed", [1, 2])
def test_the_twin_does_what_the_library_does_by_chance(seed: int, in_node: Callable[..., list[Case]]) -> None:
    """Whatever devices do, operations and states are the same bytes."""
    course = Course(seed)
    for _ in range(STEPS):
        course.step()
    for at in range(len(course.devices)):
        course.read(at)

    assert in_node(course.cases) == course.expected


def test_the_library_opens_what_the_twin_seals(in_node: Callable[..., list[Case]]) -> None:
    key, device, group = SecretKey.generate(), Device.new(), bytes(range(16))
    given = {"group": group.hex(), "secret_key": key.expose().hex(), "state": states.to_bytes(device).hex()}
    (outcome,) = in_node([{"operation": "seal_all", "input": {**given, "name": "Béa's phone", "month": "2026-11"}}])
    sealed = {name: bytes.fromhex(each) for name, each in outcome["result"].items()}

    assert states.to_bytes(keeping.open_state(sealed["state"], key=key)) == states.to_bytes(device)
    assert keeping.open_note(sealed["note"], group=group) == ("Béa's phone", "2026-11")
    assert keeping.open_card(sealed["card"], code=keeping.code_of(device.id)) == device.card
    assert keeping.open_welcome(sealed["welcome"], device=device) == group
    assert {len(each) for each in sealed.values()} == {len(keeping.seal_note("", "", group=group))}
