"""Locators lead to bags one way; receipts survive mail and notice typing errors."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edna.crypto.keys import SecretKey
from edna.crypto.sealing import seal_small
from edna.errors import ReceiptMalformed, WrongKey
from edna.records.locator import (
    SEALED_LOCATOR_BYTES,
    BagKind,
    Locator,
    Receipt,
    open_locator,
    seal_locator,
)
from tests.unit.leaks import assert_error_leaks_nothing

pytestmark = pytest.mark.long

LOCATOR = Locator(bytes(range(65, 97)))
RECEIPT = Receipt("websubmit.delete-account", LOCATOR)


def test_locators_are_random() -> None:
    """Two of them never agree."""
    assert len({Locator.new() for _ in range(100)}) == 100


def test_the_indexes_of_a_locator_have_nothing_in_common() -> None:
    """Kinds and segments lie in unrelated places, none of which gives the locator away."""
    indexes = [LOCATOR.index(kind, sequence) for kind in BagKind for sequence in (0, 1, 2, 2**32 - 1)]

    assert len(set(indexes)) == 12
    assert {len(index) for index in indexes} == {32}
    assert len({index[:4] for index in indexes} | {LOCATOR.expose()[:4]}) == 13
    assert LOCATOR.index(BagKind.DIFF, 0) == Locator(LOCATOR.expose()).index(BagKind.DIFF, 0)


def test_the_locators_of_chunks_follow_from_the_first_and_not_from_each_other() -> None:
    chunks = [LOCATOR.chunk(number) for number in range(4)]

    assert chunks[0] == LOCATOR
    assert len(set(chunks)) == 4
    assert chunks[1].chunk(1) not in chunks
    assert Locator.new().chunk(1) not in chunks


def test_the_key_of_a_shared_bag_follows_from_its_locator() -> None:
    """Whoever has the locator opens the bag; neither its indexes nor another locator lead there."""
    key = LOCATOR.shared_key()

    assert key == Locator(LOCATOR.expose()).shared_key()
    assert key != Locator.new().shared_key()
    assert key.expose() not in {LOCATOR.expose(), *(LOCATOR.index(kind, 0) for kind in BagKind)}
    assert repr(key) == "<SecretKey redacted>"


@pytest.mark.parametrize("sequence", [-1, 2**32])
def test_a_sequence_number_that_the_format_has_not_is_refused(sequence: int) -> None:
    """It would wrap around onto another bag's place."""
    with pytest.raises(OverflowError):
        LOCATOR.index(BagKind.DIFF, sequence)


def test_a_receipt_prints_and_reads_back() -> None:
    """One line, printable, no padding characters."""
    text = str(RECEIPT)

    assert re.fullmatch(r"edna1:websubmit\.delete-account:[a-z2-7]{58}", text)
    assert Receipt.parse(text) == RECEIPT
    assert hash(Receipt.parse(text)) == hash(RECEIPT)
    assert Receipt.parse(text) != Receipt("websubmit.delete-account", Locator.new())
    assert Receipt.parse(text) != Receipt("websubmit.other", LOCATOR)


@given(data=st.data(), name=st.text(min_size=1).filter(lambda name: not re.search(r"[\s:]", name)))
@settings(max_examples=200)
def test_white_space_in_a_receipt_does_not_matter(data: st.DataObject, name: str) -> None:
    """Mail programs wrap, people copy line ends and non-breaking spaces."""
    receipt = Receipt(name, LOCATOR)
    text = str(receipt)
    for _ in range(3):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.sampled_from([" ", "\n", "\r\n", "\t", "\u00a0", "\n  "])) + text[at:]

    assert Receipt.parse(text) == receipt


def test_a_receipt_in_capitals_reads_back() -> None:
    """The code may be written in capitals; the name of a disguise is taken as it is."""
    prefix, name, code = str(RECEIPT).split(":")

    assert Receipt.parse(f"{prefix.upper()}:{name}:{code.upper()}") == RECEIPT


@given(data=st.data())
def test_any_wrong_character_is_noticed(data: st.DataObject) -> None:
    """In the prefix, in the name or in the code; the error does not repeat the rest of the code."""
    text = str(RECEIPT)
    at = data.draw(st.integers(0, len(text) - 1))
    symbol = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz234567.-:0é"))
    wrong = text[:at] + symbol + text[at + 1 :]
    if wrong == text:
        return

    with pytest.raises(ReceiptMalformed) as caught:
        Receipt.parse(wrong)

    assert_error_leaks_nothing(caught.value, text[-58:-38].encode(), text[-20:].encode(), LOCATOR.expose())


@pytest.mark.parametrize("cut", range(1, 70, 3))
def test_any_truncation_is_noticed(cut: int) -> None:
    """At either end."""
    for text in (str(RECEIPT)[:-cut], str(RECEIPT)[cut:]):
        with pytest.raises(ReceiptMalformed):
            Receipt.parse(text)


@given(text=st.text())
def test_any_other_text_is_not_a_receipt(text: str) -> None:
    """Whatever is pasted into the field is refused as a receipt, never as another error."""
    for candidate in (text, f"edna1:{text}", f"edna1:name:{text}"):
        with pytest.raises(ReceiptMalformed):
            Receipt.parse(candidate)


@pytest.mark.parametrize("name", ["", "two words", "a:b", "tab\tname", "\n"])
def test_a_disguise_name_that_would_not_read_back_is_refused(name: str) -> None:
    """A receipt that is printed can be read."""
    with pytest.raises(ReceiptMalformed):
        Receipt(name, LOCATOR)


def test_an_item_of_a_list_of_locators_opens_for_its_owner_only() -> None:
    """All items have one size. One locator has one item for each owner, by which a server sees what it was told; nobody else can."""
    owner, other = SecretKey.generate(), SecretKey.generate()
    items = [seal_locator(LOCATOR, recipient=owner.public_key) for _ in range(2)]
    another = seal_locator(LOCATOR, recipient=other.public_key)

    assert {len(item) for item in items} == {SEALED_LOCATOR_BYTES}
    assert items[0] == items[1]
    assert items[0][:32] != another[:32]
    assert open_locator(items[0], secret_key=owner) == LOCATOR
    with pytest.raises(WrongKey):
        open_locator(items[0], secret_key=other)


def test_an_item_that_holds_something_else_is_refused() -> None:
    """Anybody can seal anything to a public key."""
    owner = SecretKey.generate()

    with pytest.raises(WrongKey):
        open_locator(seal_small(b"short", recipient=owner.public_key), secret_key=owner)
