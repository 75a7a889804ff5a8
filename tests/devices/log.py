"""A log in memory that judges as a server does, and devices that use it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import nacl.utils
import pytest

from edna.crypto.keys import SecretKey
from edna.custody.devices.device import Device
from edna.custody.devices.membership import Membership
from edna.custody.devices.operations import Card, Operation


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


@contextmanager
def _random_by(draw: Callable[..., bytes]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nacl.utils, "random", draw)
        patch.setattr("nacl.signing.random", draw)
        patch.setattr(SecretKey, "generate", lambda: SecretKey(draw(32)))
        yield


@contextmanager
def drawing(pieces: list[bytes]) -> Iterator[None]:
    """These instead of random bytes, all of them, in this order."""
    waiting = list(pieces)

    def draw(size: int, *_: Any) -> bytes:
        piece = waiting.pop(0)
        assert len(piece) == size
        return piece

    with _random_by(draw):
        yield
    assert not waiting


@contextmanager
def noting() -> Iterator[list[bytes]]:
    """What random bytes are drawn, in their order."""
    drawn: list[bytes] = []

    def draw(size: int, *_: Any) -> bytes:
        drawn.append(os.urandom(size))
        return drawn[-1]

    with _random_by(draw):
        yield drawn


def done_by(device: Device, said: dict[str, Any]) -> Device:
    """What a case of a test asks of a device."""
    acts: dict[str, Callable[[], Device]] = {
        "create": lambda: device.create([Card.parse(bytes.fromhex(card)) for card in said["cards"]]),
        "add": lambda: device.add(Card.parse(bytes.fromhex(said["card"])), with_history=said["with_history"]),
        "remove": lambda: device.remove(bytes.fromhex(said["device"])),
        "update": device.update,
    }
    return acts[said["act"]]()
