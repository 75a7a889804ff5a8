"""A log in memory that judges as a server does, and devices that use it."""

from __future__ import annotations

from collections.abc import Callable

from edna.custody.devices.device import Device
from edna.custody.devices.membership import Membership
from edna.custody.devices.operations import Operation


class Log:
    def __init__(self) -> None:
        self.entries: list[bytes] = []
        self.membership = Membership()

    def append(self, raw: bytes) -> None:
        operation = Operation.parse(raw)
        self.membership.check_place(operation)
        self.membership = self.membership.follow(operation)
        self.entries.append(raw)

    def since(self, device: Device) -> list[bytes]:
        return self.entries[max(device.membership.sequence, 0) :]

    def read(self, device: Device) -> Device:
        return device.catch_up(self.since(device))

    def done(self, device: Device, act: Callable[[Device], Device]) -> Device:
        """What a device is that was up to date, did something, and met it in the log."""
        ready = act(self.read(device))
        assert ready.pending is not None
        self.append(ready.pending.operation)
        return self.read(ready)


def group(count: int) -> tuple[Log, list[Device]]:
    log, devices = Log(), [Device.new() for _ in range(count)]
    devices[0] = log.done(devices[0], lambda first: first.create(device.card for device in devices[1:]))
    return log, [log.read(device) for device in devices]
