"""Key slots: the right secret brings the key back; a stolen table helps nobody."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edna.crypto.keys import SecretKey
from edna.custody import base
from edna.custody.base import Slot, SlotSecret, candidate_ids, lock_slot, lookup, part, slot_tags, unlock_slot
from edna.errors import ConfigurationError, WrongCredentials
from tests.unit.leaks import assert_error_leaks_nothing

KEY = SecretKey(b"K" * 32)
SECRET, OTHER_SECRET = SlotSecret(b"S" * 32), SlotSecret(b"T" * 32)
PEPPER, OLDER_PEPPER = b"the server's pepper, any length", b"the older pepper"
SLOT = lock_slot(KEY, slot_secret=SECRET, kind="password", pepper=PEPPER)


def test_the_secret_finds_and_opens_its_slot() -> None:
    """From the secret alone: no identifier is stored."""
    assert candidate_ids(SECRET, peppers=[PEPPER])[0] == SLOT.slot_id
    assert unlock_slot(SLOT, slot_secret=SECRET, peppers=[PEPPER]) == KEY


def test_a_slot_outlives_a_change_of_the_pepper() -> None:
    """Every pepper of the list is tried; the first one locks."""
    older = lock_slot(KEY, slot_secret=SECRET, kind="password", pepper=OLDER_PEPPER)

    assert older.slot_id == candidate_ids(SECRET, peppers=[PEPPER, OLDER_PEPPER])[1]
    assert unlock_slot(older, slot_secret=SECRET, peppers=[PEPPER, OLDER_PEPPER]) == KEY


@pytest.mark.parametrize(
    ("secret", "peppers"),
    [(OTHER_SECRET, [PEPPER]), (SECRET, [OLDER_PEPPER]), (SECRET, []), (OTHER_SECRET, [OLDER_PEPPER, PEPPER])],
)
def test_a_wrong_secret_or_pepper_opens_nothing_and_shows_nothing(secret: SlotSecret, peppers: list[bytes]) -> None:
    """The page of Django, DEBUG on, has no key, slot secret, wrapping key or pepper."""
    with pytest.raises(WrongCredentials) as caught:
        unlock_slot(SLOT, slot_secret=secret, peppers=peppers)

    wrapping_keys = [
        base._wrapping_key(each, part(lookup(each), pepper=PEPPER).share) for each in (SECRET, OTHER_SECRET)
    ]
    assert_error_leaks_nothing(
        caught.value, KEY.expose(), SECRET.expose(), OTHER_SECRET.expose(), PEPPER, OLDER_PEPPER, *wrapping_keys
    )


def test_a_stolen_table_allows_no_guessing_even_of_a_known_secret() -> None:
    """Without the pepper the right password can neither be recognised nor used."""
    assert SLOT.slot_id not in candidate_ids(SECRET, peppers=[b"a guess at the pepper"])
    with pytest.raises(WrongCredentials):
        unlock_slot(SLOT, slot_secret=SECRET, peppers=[b"a guess at the pepper"])


def test_slots_of_all_kinds_look_alike_and_share_nothing() -> None:
    """Neither the size nor an equal column says that two slots hold the same key or are of the same kind."""
    slots = [
        lock_slot(KEY, slot_secret=SECRET, kind="password", pepper=PEPPER),
        lock_slot(KEY, slot_secret=OTHER_SECRET, kind="recovery", pepper=PEPPER),
        lock_slot(SecretKey.generate(), slot_secret=SlotSecret(b"U" * 32), kind="password", pepper=PEPPER),
    ]

    assert {(len(slot.slot_id), len(slot.tag), len(slot.wrapped)) for slot in slots} == {(32, 32, base.WRAPPED_BYTES)}
    assert len({slot.slot_id for slot in slots}) == len({slot.tag for slot in slots}) == 3
    assert len({slot.wrapped[1:25] for slot in slots}) == 3


def test_the_holder_of_the_key_finds_its_own_slots_by_kind() -> None:
    """Changing the password replaces the slot without knowing the old password."""
    again = lock_slot(KEY, slot_secret=OTHER_SECRET, kind="password", pepper=PEPPER)

    peppers = [OLDER_PEPPER, PEPPER]
    assert again.tag == SLOT.tag == slot_tags(KEY, kind="password", peppers=peppers)[1]
    assert SLOT.tag not in slot_tags(KEY, kind="recovery", peppers=peppers)
    assert SLOT.tag not in slot_tags(SecretKey.generate(), kind="password", peppers=peppers)


def test_neither_the_lookup_nor_the_server_s_part_opens_a_slot() -> None:
    """Its tag follows from the server's key, the public key and the kind."""
    found = part(lookup(SECRET), pepper=PEPPER)
    assert base.stored_tag(KEY.public_key, kind="password", pepper=PEPPER) == SLOT.tag
    assert found.slot_id == SLOT.slot_id
    for wrong in (lookup(SECRET), found.share):
        with pytest.raises(WrongCredentials):
            unlock_slot(SLOT, slot_secret=SlotSecret(wrong), peppers=[PEPPER])


@given(at=st.integers(0, base.WRAPPED_BYTES - 1), change=st.integers(1, 255))
@settings(max_examples=150)
def test_a_changed_slot_opens_nothing(at: int, change: int) -> None:
    """No byte of it can be changed; nor does a slot open under another's id."""
    wrapped = bytearray(SLOT.wrapped)
    wrapped[at] ^= change

    for slot in (dataclasses.replace(SLOT, wrapped=bytes(wrapped)), dataclasses.replace(SLOT, slot_id=b"\0" * 32)):
        with pytest.raises(WrongCredentials):
            unlock_slot(slot, slot_secret=SECRET, peppers=[PEPPER])


@pytest.mark.parametrize(
    "wrapped",
    [b"", SLOT.wrapped[:-1], SLOT.wrapped + b"\0", b"\x01" * 20],
    ids=["empty", "shorter", "longer", "of-another-kind"],
)
def test_a_slot_of_another_size_opens_nothing(wrapped: bytes) -> None:
    """A truncated column is a refusal, not a crash."""
    with pytest.raises(WrongCredentials):
        unlock_slot(dataclasses.replace(SLOT, wrapped=wrapped), slot_secret=SECRET, peppers=[PEPPER])


@pytest.mark.parametrize("pepper", [b"", b"short"])
def test_a_short_pepper_locks_nothing(pepper: bytes) -> None:
    """An empty setting does not silently make guessing possible."""
    with pytest.raises(ConfigurationError) as caught:
        lock_slot(KEY, slot_secret=SECRET, kind="password", pepper=pepper)
    assert_error_leaks_nothing(caught.value, KEY.expose(), SECRET.expose())
    with pytest.raises(ConfigurationError) as caught:
        candidate_ids(SECRET, peppers=[PEPPER, pepper])
    assert_error_leaks_nothing(caught.value, SECRET.expose(), PEPPER)


def test_a_slot_does_not_print_itself() -> None:
    """An id in a log would tell when its owner came back."""
    assert repr(SLOT) == "Slot()"
    assert Slot(SLOT.slot_id, SLOT.tag, SLOT.wrapped) == SLOT
