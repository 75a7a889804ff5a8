"""A group that lives at random, against a model that only says who may know which secret."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from edna.custody.devices import states
from edna.custody.devices.device import Device
from edna.custody.devices.operations import Operation
from edna.errors import DeviceCopied, DirectMessageRefused, SequenceTaken
from tests.devices.log import Log, group

pytestmark = pytest.mark.long

WHICH = st.integers(0, 9)


class Group(RuleBasedStateMachine):
    """``knows``: by device, the numbers of the secrets that it may know. ``stolen``: copies, with what they may know and whose they are.

    A copy reads on until its owner updates, or is removed; it knows what its owner knew until then, and nothing later.
    """

    @initialize(count=st.integers(1, 4))
    def begin(self, count: int) -> None:
        self.log: Log
        self.log, devices = group(count)
        self.devices = {device.id: device for device in devices}
        self.inside = [device.id for device in devices]
        self.knows = {device.id: {0} for device in devices}
        self.stolen: list[dict[str, Any]] = []

    def _some(self, which: int) -> bytes:
        return self.inside[which % len(self.inside)]

    def _done(self, who: bytes, act: Any) -> None:
        ready = act(self.log.read(self.devices[who]))
        self.log.append(ready.pending.operation)
        self.devices[who] = states.from_bytes(states.to_bytes(ready))

    def _begun(self) -> None:
        number = len(self.log.entries) - 1
        for who in self.inside:
            self.knows[who].add(number)
        for copy in self.stolen:
            if copy["of"] in self.inside and not copy["healed"]:
                copy["knows"].add(number)

    @rule(which=WHICH)
    def update(self, which: int) -> None:
        who = self._some(which)
        self._done(who, Device.update)
        for copy in self.stolen:
            copy["healed"] = copy["healed"] or copy["of"] == who
        self._begun()

    @precondition(lambda self: len(self.inside) > 1)
    @rule(which=WHICH, other=WHICH)
    def remove(self, which: int, other: int) -> None:
        who, gone = self._some(which), self._some(other)
        if who != gone:
            self._done(who, lambda device: device.remove(gone))
            self.inside.remove(gone)
            self._begun()

    @precondition(lambda self: len(self.inside) > 2)
    @rule(which=WHICH)
    def remove_each_other(self, which: int) -> None:
        """And whoever is left updates, before anything is sealed."""
        who, other = self._some(which), self._some(which + 1)
        ready = {a: self.log.read(self.devices[a]).remove(b) for a, b in ((who, other), (other, who))}
        for device in ready.values():
            assert device.pending is not None
            self.log.append(device.pending.operation)
        self.inside = [each for each in self.inside if each not in (who, other)]
        number = len(self.log.entries) - 2
        self.devices[who] = ready[who]
        for each in (*self.inside, who):
            self.knows[each].add(number)
        for copy in self.stolen:
            # The copy of the one who made this secret has not its new keys, but those of the others read it.
            if copy["of"] in self.inside and not copy["healed"]:
                copy["knows"].add(number)
        assert self.log.membership.due
        self.update(which)

    @precondition(lambda self: len(self.inside) < 6)
    @rule(which=WHICH, with_history=st.booleans())
    def add(self, which: int, with_history: bool) -> None:
        who, new = self._some(which), Device.new()
        present = max(self.log.membership.public_keys)
        self._done(who, lambda device: device.add(new.card, with_history=with_history))
        self.devices[new.id] = new
        self.inside.append(new.id)
        self.knows[new.id] = set(self.knows[who]) if with_history else {present}

    @precondition(lambda self: len(self.inside) > 1)
    @rule(which=WHICH)
    def two_at_one_place(self, which: int) -> None:
        who, other = self._some(which), self._some(which + 1)
        late = self.log.read(self.devices[other]).update()
        self.update(which)
        assert late.pending is not None
        try:
            self.log.append(late.pending.operation)
            raise AssertionError("one of the two has to lose")
        except SequenceTaken:
            self.devices[other] = late
        assert who != other

    @rule(which=WHICH)
    def catch_up(self, which: int) -> None:
        who = self._some(which)
        self.devices[who] = self.log.read(self.devices[who])

    @precondition(lambda self: len(self.stolen) < 3)
    @rule(which=WHICH)
    def steal(self, which: int) -> None:
        who = self._some(which)
        copy = self.devices[who] = self.log.read(self.devices[who])
        self.stolen.append({"of": who, "device": copy, "knows": set(self.knows[who]), "healed": False})

    @invariant()
    def everybody_knows_what_they_may_and_nobody_more(self) -> None:
        for who, device in self.devices.items():
            read = self.log.read(device)
            assert set(read.secrets) == self.knows[who]
            assert read.is_member == (who in self.inside)
        for copy in self.stolen:
            assert set(self._read(copy["device"]).secrets) <= copy["knows"]

    def _read(self, thief: Device) -> Device:
        """As a thief reads: what does not open, it passes over, and goes on."""
        last, *entries = self.log.since(thief)
        for raw in entries:
            try:
                thief = thief.catch_up([last, raw])
            except (DeviceCopied, DirectMessageRefused):
                thief = replace(thief, membership=thief.membership.follow(Operation.parse(raw)))
            last = raw
        return thief


TestGroup = Group.TestCase
TestGroup.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)
