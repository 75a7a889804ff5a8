"""Whether what is kept of devices is as devices wrote it: each log that a person's key leads to, from its first operation on, and what lies
beside it.

Keeps: reads only; what it says names numbers of rows. Without a key of a device it sees of a state, and of a device that has not come yet,
that it is a sealed record, and no more. Does not know what is missing altogether.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from edna import conf
from edna.crypto.keys import KEY_BYTES, PublicKey
from edna.crypto.sealing import BEGINNING_BYTES, check_container
from edna.custody.devices import keeping
from edna.custody.devices.membership import Membership
from edna.custody.devices.operations import Operation
from edna.devices import store
from edna.devices.upkeep.former_keys import WORDS, Record, found
from edna.errors import BagError, DeviceLogForked, DeviceLogTruncated, OperationForged, OperationRefused

#: It was changed, cut or put where another lies.
_CHANGED: Final = "device_record"
#: No device of the group has signed it.
_FORGED: Final = "device_forged"
#: It does not follow the one before it.
_OUT_OF_ORDER: Final = "device_order"
#: The log ends before the key that its person has.
_CUT: Final = "device_end"

Wrong = Mapping[str, Sequence[int]]
_AT_ONCE: Final = 64


def checked(*, using: str) -> Iterator[tuple[str, int, Wrong]]:
    """What was looked at, how many, and what is wrong with them."""
    told = set[int]()
    for page in store.beginnings(BEGINNING_BYTES, using=using):
        odd = [pk for pk, place, beginning, length in page if not _is_record(place, beginning, length)]
        told.update(odd)
        yield WORDS[1], len(page), {_CHANGED: odd}
    for record, lies in found(using=using):
        wrong = defaultdict[str, list[int]](list)
        for kind, pk in _record(record, lies, using=using):
            if pk not in told:
                wrong[kind].append(pk)
        yield "logs of devices", int(isinstance(record.about, PublicKey)), wrong


def _is_record(place_bytes: int, beginning: bytes, length: int) -> bool:
    try:
        check_container(beginning, length=length)
    except BagError:
        return False
    return place_bytes == KEY_BYTES


def _record(record: Record, lies: Mapping[bytes, bytes], *, using: str) -> Iterator[tuple[str, int]]:
    """What is wrong with one that a key of the server leads to, and with the log to which it leads."""
    for place, pepper in zip(record.places, conf.mac_keys(), strict=True):
        if place not in lies:
            continue
        pk = store.seen([place], using=using)[place][0]
        try:
            content = record.opened(lies[place], pepper=pepper)
        except BagError:
            yield _CHANGED, pk
            continue
        if isinstance(record.about, PublicKey):
            yield from _log(content, record.about, named_by=pk, using=using)


def _log(group: bytes, public_key: PublicKey, *, named_by: int, using: str) -> Iterator[tuple[str, int]]:
    """Behind the first operation that is wrong, nobody can say what follows."""
    log, devices = Membership(group=group), set[bytes]()
    for number, (pk, sealed) in _entries(group, using=using):
        try:
            operation = Operation.parse(keeping.open_of_group(sealed, group))
            if number > log.sequence + 1:
                raise DeviceLogTruncated(f"There is no operation {log.sequence + 1}.")
            log = log.follow(operation)
        except BagError:
            yield _CHANGED, pk
            return
        except OperationForged:
            yield _FORGED, pk
            return
        except (OperationRefused, DeviceLogTruncated, DeviceLogForked):
            yield _OUT_OF_ORDER, pk
            return
        devices.update(card.device for card in operation.cards)
    if not log.public_keys or log.public_key != public_key:
        yield _CUT, named_by
    notes = store.seen([keeping.note_place(group, device) for device in sorted(devices)], using=using)
    for pk, sealed in notes.values():
        try:
            keeping.open_note(sealed, group=group)
        except (BagError, ValueError):
            yield _CHANGED, pk


def _entries(group: bytes, *, using: str) -> Iterator[tuple[int, tuple[int, bytes]]]:
    """Number, row and content of each operation; also of those behind a gap, if it is not too long."""
    first, found_any = 0, True
    while found_any:
        places = {keeping.entry_place(group, number): number for number in range(first, first + _AT_ONCE)}
        there = store.seen(list(places), using=using)
        yield from sorted((places[place], told) for place, told in there.items())
        first, found_any = first + _AT_ONCE, bool(there)
