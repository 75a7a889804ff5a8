"""Sealed containers: only a recipient opens them, nothing about them is telling, hostile bytes are refused cheaply."""

from __future__ import annotations

import struct
import tracemalloc

import nacl.utils
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edna.crypto import sealing
from edna.crypto.keys import PublicKey, SecretKey
from edna.crypto.sealing import open_sealed, open_small, padded_length, seal, seal_small, sealed_length
from edna.errors import BagCorrupt, BagError, BagTooLarge, BagTruncated, WrongKey
from tests.support import flipped
from tests.unit.leaks import assert_error_leaks_nothing

pytestmark = pytest.mark.long

BEA, CARL, EVE = SecretKey(b"B" * 32), SecretKey(b"C" * 32), SecretKey(b"E" * 32)
SEALED = seal(b"the content " * 10, recipients=[BEA.public_key])


@given(content=st.binary(max_size=5000))
@settings(max_examples=50)
def test_what_is_sealed_opens_for_every_recipient_and_nobody_else(content: bytes) -> None:
    """Byte for byte, whatever the content, including trailing zero bytes."""
    sealed = seal(content, recipients=[BEA.public_key, CARL.public_key])

    assert open_sealed(sealed, secret_key=BEA) == open_sealed(sealed, secret_key=CARL) == content
    assert open_sealed(memoryview(sealed), secret_key=BEA) == content  # type: ignore[arg-type]
    with pytest.raises(WrongKey):
        open_sealed(sealed, secret_key=EVE)


def test_sealing_the_same_twice_gives_nothing_in_common() -> None:
    """Fresh file key, nonce and ephemeral key: equal contents, or equal recipients, cannot be told from the bytes."""
    first, second = (seal(b"same", recipients=[BEA.public_key]) for _ in range(2))

    common = [at for at in range(10, len(first)) if first[at] == second[at]]

    assert len(common) < len(first) / 64
    assert bytes(BEA.public_key) not in first
    assert bytes(BEA.public_key)[:8] not in first


@given(length=st.integers(0, 2**26))
def test_padding_hides_the_length_and_costs_at_most_an_eighth(length: int) -> None:
    """Padmé: few distinct lengths, never shorter than the content, at most 12 % longer beyond the floor."""
    padded = padded_length(length)

    assert padded >= length
    assert padded >= sealing.MIN_PADDED_BYTES
    assert padded <= max(sealing.MIN_PADDED_BYTES, length * 1.12)
    assert padded_length(padded) == padded


def test_there_are_few_distinct_padded_lengths() -> None:
    """Between 1 KiB and 1 MiB, a million lengths become about two hundred."""
    assert len({padded_length(length) for length in range(1024, 2**20, 7)}) < 250


@pytest.mark.parametrize("length", [0, 1, 1019, 1020, 1021, 50_000])
def test_the_estimate_of_the_sealed_length_is_exact(length: int) -> None:
    """Cost estimates say how much a disguise will store."""
    sealed = seal(bytes(length), recipients=[BEA.public_key, CARL.public_key])

    assert len(sealed) == sealed_length(length, recipients=2)


@pytest.mark.parametrize("count", [0, 17])
def test_a_container_without_recipients_or_with_too_many_is_not_made(count: int) -> None:
    """Nothing is sealed that nobody opens or no reader accepts."""
    with pytest.raises(ValueError, match="recipients"):
        seal(b"x", recipients=[BEA.public_key] * count)


def test_too_much_content_is_refused_before_anything_is_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sealed can be opened: both sides keep the same limit."""
    monkeypatch.setattr(sealing, "MAX_SEALED_BYTES", 5000)
    largest = max(n for n in range(6000) if sealed_length(n) <= 5000)

    assert open_sealed(seal(bytes(largest), recipients=[BEA.public_key]), secret_key=BEA) == bytes(largest)
    with pytest.raises(BagTooLarge) as caught:
        seal(b"private" * 800, recipients=[BEA.public_key])
    assert_error_leaks_nothing(caught.value, b"private")


@given(data=st.binary(max_size=3000))
@settings(max_examples=300)
def test_random_bytes_are_refused_as_a_bag_error(data: bytes) -> None:
    """Nothing but a BagError, whatever is in the table."""
    with pytest.raises(BagError):
        open_sealed(data, secret_key=BEA)


@given(offset=st.integers(0, len(SEALED) - 1), bit=st.integers(0, 7))
@settings(max_examples=500)
def test_any_flipped_bit_is_refused(offset: int, bit: int) -> None:
    """There is no byte of a container that can be changed unnoticed."""
    changed = bytearray(SEALED)
    changed[offset] ^= 1 << bit

    with pytest.raises(BagError):
        open_sealed(bytes(changed), secret_key=BEA)


@given(data=st.data())
@settings(max_examples=300)
def test_any_cut_insertion_or_splice_is_refused(data: st.DataObject) -> None:
    """Nor can bytes be removed, inserted or replaced."""
    start = data.draw(st.integers(0, len(SEALED)))
    end = data.draw(st.integers(start, len(SEALED)))
    changed = SEALED[:start] + data.draw(st.binary(max_size=40)) + SEALED[end:]
    if changed == SEALED:
        return

    with pytest.raises(BagError):
        open_sealed(changed, secret_key=BEA)


@pytest.mark.parametrize("length", [0, 1, 2, 6, 7, 9, 10, 89, 90, 113, 114, len(SEALED) - 17, len(SEALED) - 1])
def test_every_truncation_says_so(length: int) -> None:
    """A column that cuts long values is recognised as that."""
    with pytest.raises(BagTruncated):
        open_sealed(SEALED[:length], secret_key=BEA)


@pytest.mark.parametrize(
    "data",
    [
        b"\x01\x01\x01" + struct.pack(">I", 2**32 - 1) + SEALED[7:],
        b"\x01\x01\x10" + struct.pack(">I", 2**26) + SEALED[7:],
        b"\x01\x01\x10" + struct.pack(">I", 2000) + b"\x02\xff\xff" * 600,
    ],
)
def test_announced_lengths_reserve_no_memory(data: bytes) -> None:
    """A header may claim anything; only the bytes that are there count."""
    tracemalloc.start()
    try:
        with pytest.raises(BagError):
            open_sealed(data, secret_key=BEA)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 100_000


def test_a_failed_opening_shows_neither_the_secret_key_nor_the_file_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The debug page of Django prints the variables of every frame: wrong key, changed stanza, changed body, changed padding."""
    drawn: list[bytes] = []
    draw = nacl.utils.random
    monkeypatch.setattr(nacl.utils, "random", lambda size: drawn.append(draw(size)) or drawn[-1])
    sealed = seal(b"private content", recipients=[BEA.public_key])
    monkeypatch.setattr(sealing, "padded_length", lambda length: 1025)
    badly_padded = seal(b"private content", recipients=[BEA.public_key])
    monkeypatch.undo()
    cases = {WrongKey: [(sealed, EVE)], BagCorrupt: [(flipped(sealed), BEA), (badly_padded, BEA)]}

    for error, attempts in cases.items():
        for data, key in attempts:
            with pytest.raises(error) as caught:
                open_sealed(data, secret_key=key)
            assert_error_leaks_nothing(
                caught.value, key.expose(), b"private content", *(d for d in drawn if len(d) == 32)
            )


def test_a_small_box_has_a_fixed_overhead_and_opens_for_its_recipient_only() -> None:
    """Items of a list all look the same."""
    item = seal_small(b"i" * 32, recipient=BEA.public_key)

    assert len(item) == 80
    assert open_small(item, secret_key=BEA) == b"i" * 32
    for sealed, key in ((item, EVE), (flipped(item), BEA), (item[:40], BEA), (b"", BEA)):
        with pytest.raises(WrongKey) as caught:
            open_small(sealed, secret_key=key)
        assert_error_leaks_nothing(caught.value, key.expose())


def test_a_public_key_that_is_accepted_can_be_sealed_to() -> None:
    """No key passes registration and then fails in the middle of a disguise: on the curve or on its twist, small or large."""
    for raw in (b"\x02" + bytes(31), b"\x09" + bytes(31), b"\xeb" + b"\xff" * 30 + b"\x7f", bytes(31) + b"\x40"):
        assert len(seal(b"x", recipients=[PublicKey(raw)])) == sealed_length(1)
