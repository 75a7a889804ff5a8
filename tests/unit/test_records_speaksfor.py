"""Speaks-for batches: secret keys go in as objects and come out as objects, and are never printed."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from edna.crypto.keys import SecretKey, generate_key_pairs
from edna.errors import BagCorrupt
from edna.records.speaksfor import SpeaksFor, SpeaksForBatch
from edna.records.values import decode, encode
from tests.unit.leaks import assert_error_leaks_nothing

KEYS = generate_key_pairs(3)
ROWS = [
    SpeaksFor(pk, key.public_key, key, owner)
    for (pk, owner), key in zip(((-5, 7), ("name", "owner"), (uuid.UUID(int=9), uuid.UUID(int=8))), KEYS, strict=True)
]
BATCH = SpeaksForBatch("auth.user", ROWS)
PUBLIC, SECRET = bytes(KEYS[0].public_key), KEYS[0].expose()


def test_a_batch_comes_back_as_it_was() -> None:
    """Primary keys of any type, the owners' too; keys as objects whose halves belong together."""
    back = SpeaksForBatch.from_payload(decode(encode(BATCH.to_payload())))

    assert back == BATCH
    for row in back.rows:
        assert isinstance(row[2], SecretKey)
        assert SecretKey(row[2].expose()).public_key == row[1] == row[2].public_key


def test_what_no_list_leads_to_stands_beside_the_voices() -> None:
    """And a batch that has noted nothing looks as it always did."""
    noted = SpeaksForBatch("auth.user", ROWS, (b"1" * 32, b"2" * 32))
    assert SpeaksForBatch.from_payload(decode(encode(noted.to_payload()))) == noted
    assert len(BATCH.to_payload()) == 2
    assert SpeaksForBatch.from_payload(decode(encode(BATCH.to_payload()))).unlisted == ()


def test_plain_tuples_are_taken() -> None:
    """A caller need not know the row type."""
    assert SpeaksForBatch("auth.user", [tuple(row) for row in ROWS]).to_payload() == BATCH.to_payload()


@pytest.mark.parametrize(
    "payload",
    [
        None,
        ["auth.user"],
        [1, []],
        ["auth.user", {}],
        ["auth.user", [], []],
        ["auth.user", [], None],
        ["auth.user", [], [b"i" * 31]],
        ["auth.user", [], [b"i" * 32, "i" * 32]],
        ["auth.user", [], [b"i" * 32], []],
        ["auth.user", [[1, PUBLIC]]],
        ["auth.user", [[1, PUBLIC, SECRET]]],
        ["auth.user", [[1, PUBLIC, SECRET, 0, 0]]],
        ["auth.user", [[1, PUBLIC, SECRET[:31], 0]]],
        ["auth.user", [[1, PUBLIC + b"\0", SECRET, 0]]],
        ["auth.user", [[1, "p" * 32, SECRET, 0]]],
        ["auth.user", [[1, bytes(32), SECRET, 0]]],
        ["auth.user", [[1, PUBLIC, SECRET, 0], None]],
    ],
)
def test_a_payload_of_another_shape_is_refused_without_showing_keys(payload: Any) -> None:
    """A malformed record among good ones refuses the batch; the good ones' keys are on no error page."""
    with pytest.raises(BagCorrupt) as caught:
        SpeaksForBatch.from_payload(payload)

    assert_error_leaks_nothing(caught.value, SECRET[:31])


def test_a_batch_does_not_print_its_rows() -> None:
    """Which pseudoprincipals belong together is the secret."""
    assert repr(BATCH) == "<SpeaksForBatch auth.user rows=3>"
