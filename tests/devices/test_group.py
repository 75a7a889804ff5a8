"""Devices of a group: who learns which secret, what heals, what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edna.crypto.sealing import open_sealed, seal
from edna.custody.devices import states
from edna.custody.devices.device import Device
from edna.custody.devices.operations import Kind, Operation
from edna.errors import (
    CustodyError,
    DeviceCopied,
    DeviceLogForked,
    DeviceLogTruncated,
    DeviceRemoved,
    DeviceStateRefused,
    DirectMessageRefused,
    OperationForged,
    OperationRefused,
    OperationReplayed,
    SequenceTaken,
    WrongKey,
)
from tests.devices.log import Log, group


def opens(device: Device, bag: bytes) -> bool:
    for secret_key in device.secret_keys().values():
        try:
            return bool(open_sealed(bag, secret_key=secret_key))
        except WrongKey:
            continue
    return False


def bag_for(log: Log) -> bytes:
    return seal(b"of next year", recipients=[log.membership.public_key])


def test_members_have_one_secret_and_the_log_its_public_key() -> None:
    log, devices = group(3)
    for _ in range(2):  # in both directions, and twice: each message goes to another key
        for number in range(3):
            devices[number] = log.done(devices[number], Device.update)
            devices = [log.read(device) for device in devices]
            assert len({device.secret.expose() for device in devices}) == 1
            assert devices[0].secret.secret_key().public_key == log.membership.public_key
    assert all(opens(device, bag_for(log)) for device in devices)


def test_a_removed_device_opens_nothing_that_is_new() -> None:
    """It was offline, has the whole log, and follows who is in the group."""
    log, devices = group(4)
    old = bag_for(log)
    devices[0] = log.done(devices[0], lambda device: device.remove(devices[3].id))
    devices[1] = log.done(devices[1], Device.update)
    removed = log.read(devices[3])
    assert removed.membership == log.membership
    assert not opens(removed, bag_for(log))
    assert opens(removed, old), "until it is wrapped anew"
    assert log.read(devices[2]).secret == devices[1].secret
    for act in (
        Device.update,
        lambda device: device.remove(devices[0].id),
        lambda device: device.add(Device.new().card),
    ):
        with pytest.raises(DeviceRemoved):
            act(removed)
    forged = devices[3].update().pending
    assert forged is not None
    with pytest.raises(SequenceTaken):
        log.append(forged.operation)


def test_a_removed_device_that_signs_at_the_end_of_the_log_is_refused() -> None:
    log, devices = group(3)
    devices[0] = log.done(devices[0], lambda device: device.remove(devices[2].id))
    thief = log.read(devices[2])
    pretending = replace(thief, membership=replace(thief.membership, members={**devices[2].membership.members}))
    pending = pretending.update().pending
    assert pending is not None
    with pytest.raises(OperationRefused, match="not in the group"):
        log.append(pending.operation)


def test_theft_and_healing_in_three_steps() -> None:
    """Whoever has a full copy of device 2 reads; still reads after device 0 has updated; and no more after device 2 has."""
    log, devices = group(3)
    thief = states.from_bytes(states.to_bytes(devices[2]))
    assert opens(thief, bag_for(log))
    devices[0] = log.done(devices[0], Device.update)
    thief = log.read(thief)
    assert opens(thief, bag_for(log)), "another one's update heals nobody"
    devices[2] = log.done(devices[2], Device.update)
    with pytest.raises(DeviceCopied):
        log.read(thief)
    for number in (1, 0, 2):
        devices[number] = log.done(devices[number], Device.update)
        assert not opens(thief, bag_for(log))
        operation = Operation.parse(log.entries[-1])
        readers = log.membership.readers(operation)
        # Even if nothing had told it: none of its keys opens the message to device 2.
        if devices[2].id in readers:
            blind = replace(thief, membership=devices[2].membership)
            with pytest.raises(DirectMessageRefused):
                blind.catch_up(log.since(blind))


def test_a_thief_cannot_sign_after_the_healing() -> None:
    log, devices = group(3)
    thief = devices[2]
    devices[2] = log.done(devices[2], Device.update)
    pending = replace(thief, membership=log.membership).remove(devices[0].id).pending
    assert pending is not None
    with pytest.raises(OperationForged):
        log.append(pending.operation)


@pytest.mark.parametrize("with_history", [True, False])
def test_a_new_device_is_handed_the_history_or_the_present_alone(with_history: bool) -> None:
    log, devices = group(2)
    early = bag_for(log)
    devices[0] = log.done(devices[0], Device.update)
    phone = Device.new()
    devices[1] = log.done(devices[1], lambda device: device.add(phone.card, with_history=with_history))
    phone = log.read(phone)
    assert opens(phone, bag_for(log))
    assert opens(phone, early) is with_history
    # It speaks with somebody who has never written to it, in either direction.
    phone = log.done(phone, Device.update)
    devices[0] = log.done(devices[0], Device.update)
    assert log.read(phone).secret == log.read(devices[1]).secret == devices[0].secret


def test_two_who_remove_each_other_are_both_out_and_the_next_update_is_whoever_is_lefts() -> None:
    log, devices = group(4)
    first, second = devices[0].remove(devices[1].id), devices[1].remove(devices[0].id)
    assert first.pending is not None
    assert second.pending is not None
    log.append(first.pending.operation)
    log.append(second.pending.operation)
    assert [*log.membership.members] == [devices[2].id, devices[3].id]
    assert log.membership.due
    late = log.read(devices[3])
    with pytest.raises(OperationRefused, match="update first"):
        late.add(Device.new().card)
    late = log.done(late, Device.update)
    assert log.read(devices[2]).secret == late.secret
    for device in (first, second):
        assert not opens(log.read(device), bag_for(log))
    with pytest.raises(SequenceTaken):
        log.append(second.pending.operation)


def test_two_who_remove_each_other_leave_somebody() -> None:
    log, devices = group(2)
    first, second = devices[0].remove(devices[1].id), devices[1].remove(devices[0].id)
    assert first.pending is not None
    assert second.pending is not None
    log.append(first.pending.operation)
    with pytest.raises(OperationRefused, match="leave nobody"):
        log.append(second.pending.operation)
    assert opens(log.read(first), bag_for(log))


def test_of_two_updates_at_one_place_one_wins_and_the_other_tries_again() -> None:
    log, devices = group(3)
    first, second = devices[0].update(), states.from_bytes(states.to_bytes(devices[1].update()))
    assert first.pending is not None
    assert second.pending is not None
    log.append(first.pending.operation)
    with pytest.raises(SequenceTaken):
        log.append(second.pending.operation)
    second = log.read(second)
    assert second.pending is None
    second = log.done(second, Device.update)
    assert log.read(first).secret == log.read(devices[2]).secret == second.secret


def test_what_was_appended_before_a_crash_has_happened() -> None:
    log, devices = group(2)
    ready = devices[0].update()
    assert ready.pending is not None
    log.append(ready.pending.operation)
    again = log.read(states.from_bytes(states.to_bytes(ready)))
    assert again.secret == log.read(devices[1]).secret


def test_a_device_that_was_offline_for_a_hundred_operations_catches_up() -> None:
    log, devices = group(4)
    asleep = devices[3]
    for number in range(100):
        at = number % 3
        if number % 10 == 9:
            guest = Device.new()
            devices[at] = log.done(devices[at], lambda device, card=guest.card: device.add(card))
            devices[at] = log.done(devices[at], lambda device, guest=guest.id: device.remove(guest))
        else:
            devices[at] = log.done(devices[at], Device.update)
    awake = log.read(asleep)
    assert len(log.entries) > 100
    assert awake.secret == log.read(devices[0]).secret
    assert awake.secrets.keys() == log.membership.public_keys.keys()


def refusal(device: Device, entries: list[bytes]) -> CustodyError:
    with pytest.raises(CustodyError) as refused:
        device.catch_up(entries)
    return refused.value


def test_a_log_that_somebody_has_changed_is_refused_each_way_by_its_own_error() -> None:
    log, devices = group(4)
    reader = devices[3]
    devices[0] = log.done(devices[0], Device.update)
    devices[1] = log.done(devices[1], Device.update)
    known, first, second = log.since(reader)
    flipped = bytearray(first)
    flipped[-1] ^= 1
    assert type(refusal(reader, [known, bytes(flipped), second])) is OperationForged
    assert type(refusal(reader, [known, first, first])) is OperationReplayed
    assert type(refusal(reader, [known, second])) is DeviceLogTruncated
    ahead = log.read(reader)
    assert type(refusal(ahead, [])) is DeviceLogTruncated
    assert type(refusal(ahead, [first])) is DeviceLogForked
    # Somebody with the key of a member writes another log, of the same group and place.
    fork = Log()
    fork.entries, fork.membership = log.entries[:1], devices[2].membership
    fork.done(devices[2], Device.update)
    assert type(refusal(ahead, fork.entries[-1:])) is DeviceLogForked
    assert type(refusal(reader, [known, fork.entries[1], second])) is DeviceLogForked
    other, _ = group(2)
    assert type(refusal(reader, [known, *other.entries])) is OperationRefused
    for cut in (0, 1, 100, len(first) - 1):
        assert type(refusal(reader, [known, first[:cut]])) in (OperationRefused, OperationForged)


def test_a_swapped_message_is_refused_even_with_a_good_signature() -> None:
    """A member swaps what it says to two others, or says to one what it does not say to the log."""
    log, devices = group(3)
    ready = devices[0].update()
    assert ready.pending is not None
    operation = Operation.parse(ready.pending.operation)
    assert operation.head.kind is Kind.UPDATE
    swapped = replace(operation, messages=operation.messages[::-1]).signed(devices[0].keys.signing_key)
    for device in devices[1:]:
        assert type(refusal(device, [log.entries[-1], bytes(swapped)])) is DirectMessageRefused
    unsigned = replace(operation, messages=operation.messages[::-1])
    assert type(refusal(devices[1], [log.entries[-1], bytes(unsigned)])) is OperationForged
    other = replace(operation, public_key=Device.new().card.prekey).signed(devices[0].keys.signing_key)
    assert type(refusal(devices[1], [log.entries[-1], bytes(other)])) is DirectMessageRefused


def test_every_byte_of_an_operation_is_under_the_signature() -> None:
    log, devices = group(2)
    ready = devices[0].update()
    assert ready.pending is not None
    raw = ready.pending.operation
    for at in range(len(raw)):
        changed = raw[:at] + bytes((raw[at] ^ 1,)) + raw[at + 1 :]
        with pytest.raises(CustodyError):
            devices[1].catch_up([log.entries[-1], changed])


def test_the_state_of_a_device_is_read_as_it_was_written() -> None:
    log, devices = group(3)
    devices[0] = log.done(devices[0], lambda device: device.remove(devices[2].id))
    for device in (Device.new(), devices[0], devices[1].update(), devices[0].add(Device.new().card)):
        raw = states.to_bytes(device)
        assert states.to_bytes(states.from_bytes(raw)) == raw
        assert repr(device) == f"<Device {device.id.hex()} redacted>"
    for damaged in (b"", raw[:-1], b"\x91" + raw, states.to_bytes(devices[1]).replace(devices[1].id, b"", 1)):
        with pytest.raises(DeviceStateRefused):
            states.from_bytes(damaged)
