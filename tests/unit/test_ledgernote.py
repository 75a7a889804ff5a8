"""Notes of the erasure ledger: where they stand follows from the person and the disguise, what they say opens there alone."""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import replace
from typing import Any

import msgpack
import pytest

from edna.errors import BagCorrupt, BagForged
from edna.records import ledgernote, values
from edna.records.ledgernote import PADDED_BYTES, LedgerNote, ledger_index, open_note, seal_note, what
from tests.support import flipped
from tests.unit.leaks import assert_error_leaks_nothing

KEY, OTHER = b"a key of the server's", b"another key of the server's"
SUBJECT = what("shop.delete-account", {"year": 2026, "all": True})
INDEX = ledger_index(KEY, model="shop.user", reference="7", what=SUBJECT)
NOTE = LedgerNote("shop.delete-account", {"year": 2026, "all": True}, "2026-11", 3)


def blake(data: bytes, person: bytes, key: bytes = b"") -> bytes:
    return hashlib.blake2b(data, digest_size=32, key=key, person=person).digest()


def test_the_index_is_that_of_the_page() -> None:
    """docs/format.md, computed without the library."""
    subject = blake(msgpack.packb(["shop.delete-account", [["all", True], ["year", 2026]]]), b"edna.ledger.what")
    data = msgpack.packb(["shop.user", "7", subject])
    assert blake(data, b"edna.ledger.idx", blake(KEY, b"edna.ledger.key")) == INDEX


def test_what_was_done_for_good_stands_elsewhere_and_says_so() -> None:
    subject = blake(msgpack.packb(["shop.delete-account", [["all", True], ["year", 2026]], True]), b"edna.ledger.what")
    assert what(NOTE.disguise, NOTE.params, for_good=True) == subject != SUBJECT
    note = replace(NOTE, for_good=True)
    assert open_note(seal_note(note, index=INDEX, server_key=KEY), index=INDEX, server_keys=[KEY]) == note


@pytest.mark.parametrize("for_good", [False, True])
def test_a_note_of_several_databases_names_its_own(for_good: bool) -> None:
    note = replace(NOTE, for_good=for_good, database="north")
    sealed = seal_note(note, index=INDEX, server_key=KEY)
    assert len(sealed) == 24 + PADDED_BYTES + 16
    assert open_note(sealed, index=INDEX, server_keys=[KEY]) == note


def test_the_order_of_parameters_does_not_matter() -> None:
    assert what("shop.delete-account", {"all": True, "year": 2026}) == SUBJECT


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "shop.clerk"},
        {"reference": "07"},
        {"what": what("shop.delete-account", {"year": 2026, "all": 1})},
        {"key": OTHER},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_anything_else_is_another_index(changed: dict[str, Any]) -> None:
    given = {"model": "shop.user", "reference": "7", "what": SUBJECT} | changed
    assert ledger_index(given.pop("key", KEY), **given) != INDEX


def test_a_note_opens_under_any_key_of_the_list() -> None:
    sealed = seal_note(NOTE, index=INDEX, server_key=KEY)
    assert open_note(sealed, index=INDEX, server_keys=[OTHER, KEY]) == NOTE
    assert seal_note(NOTE, index=INDEX, server_key=KEY) != sealed


@pytest.mark.parametrize("size", [0, 1, 100, 150])
def test_notes_are_of_one_size(size: int) -> None:
    note = LedgerNote("shop.x", {"text": "x" * size}, "2026-11", size)
    assert len(seal_note(note, index=INDEX, server_key=KEY)) == 24 + PADDED_BYTES + 16


def test_long_parameters_take_the_next_power_of_two() -> None:
    note = LedgerNote("shop.x", {"text": "x" * 300, "day": datetime.date(2026, 11, 21)}, "2026-11", 0)
    sealed = seal_note(note, index=INDEX, server_key=KEY)
    assert len(sealed) == 24 + 2 * PADDED_BYTES + 16
    assert open_note(sealed, index=INDEX, server_keys=[KEY]) == note


def test_what_was_moved_edited_or_made_elsewhere_is_refused() -> None:
    sealed = seal_note(NOTE, index=INDEX, server_key=KEY)
    for wrong, index, key in (
        (sealed, flipped(INDEX), KEY),
        (sealed, INDEX, OTHER),
        (sealed[:-1], INDEX, KEY),
        (b"", INDEX, KEY),
        *((flipped(sealed, place), INDEX, KEY) for place in range(0, len(sealed), 7)),
    ):
        with pytest.raises(BagForged, match="MAC_KEYS") as refused:
            open_note(wrong, index=index, server_keys=[key])
        assert_error_leaks_nothing(refused.value, KEY, OTHER)


def test_a_note_of_another_shape_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgernote, "_VERSION", 2)
    sealed = seal_note(NOTE, index=INDEX, server_key=KEY)
    with pytest.raises(BagCorrupt, match="another shape"):
        open_note(sealed, index=INDEX, server_keys=[KEY])
    assert values.encode([2])


def test_a_note_prints_no_parameters() -> None:
    assert repr(NOTE) == "LedgerNote(disguise='shop.delete-account')"
