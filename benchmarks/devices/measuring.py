"""Makes each operation some times, and reads it with another device. Nothing of it is appended: each is made of the same group."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from benchmarks.timing import Clock, Key, Result
from edna.custody.devices.device import Device


def measured(count: int, *, samples: int, database: str) -> list[Result]:
    """Of create, update, remove and add, at the sender's and at a recipient's."""
    clock = Clock(_no_statements, processor=True)
    fresh = [Device.new() for _ in range(count)]
    first, second, *_, last = fresh
    created = _made(first.create(device.card for device in fresh[1:]))
    sender, reader = first.create(device.card for device in fresh[1:]), second.catch_up([created])
    member = sender.catch_up([_made(sender)])
    reader = second.catch_up([_made(sender)])
    before, guest = _made(sender), Device.new()
    acts: dict[str, tuple[Device, Device, Callable[[Device], Device], list[bytes]]] = {
        "create": (first, second, lambda device: device.create(other.card for other in fresh[1:]), []),
        "update": (member, reader, Device.update, [before]),
        "remove": (member, reader, lambda device: device.remove(last.id), [before]),
        "add": (member, reader, lambda device: device.add(guest.card), [before]),
    }
    sizes = {}
    for name, (sender, reader, act, known) in acts.items():
        for _ in clock.rounds(range(samples + 8)):
            ready = clock(
                Key(f"{name}, {count} devices: make", "edna"), lambda act=act, sender=sender: act(sender), rows=count
            )
            entries = [*known, _made(ready)]
            clock(
                Key(f"{name}, {count} devices: read", "edna"),
                lambda reader=reader, entries=entries: reader.catch_up(entries),
                rows=count,
            )
            sizes[name] = len(_made(ready))
    extra = {
        Key(f"{name}, {count} devices: {part}", "edna"): {"bytes": size}
        for name, size in sizes.items()
        for part in ("make", "read")
    }
    return clock.results(app="devices", level="library", database=database, scale="8 to 128 devices", extra=extra)


def _made(device: Device) -> bytes:
    assert device.pending is not None
    return device.pending.operation


def _no_statements() -> AbstractContextManager[Callable[[], int]]:
    return nullcontext(lambda: 0)
