"""A succession is read as it was written, however many pieces it takes; tests/vectors has the rest."""

from __future__ import annotations

import pytest

from edna.crypto.keys import PublicKey, generate_key_pairs
from edna.records.speaksfor import SealedKey
from edna.records.succession import MOST_PIECES, MOST_VOICES_IN_A_PIECE, Succession, read_succession

OWNER, FORMER, NEW = (key.public_key for key in generate_key_pairs(3))
INDEX, MAC_KEY = b"i" * 32, b"a key of the server's"
BOX = SealedKey(b"b" * 80)


def with_voices(count: int) -> Succession:
    return Succession(FORMER, {number.to_bytes(32, "big"): (NEW, BOX) for number in range(count)})


@pytest.mark.parametrize("count", [0, 1, MOST_VOICES_IN_A_PIECE, MOST_VOICES_IN_A_PIECE + 1, 2000])
def test_it_is_read_as_it_was_written(count: int) -> None:
    """Each piece fits into a stanza, padded and sealed."""
    said = with_voices(count)
    pieces = said.pieces(index=INDEX, owner=OWNER, mac_key=MAC_KEY)
    assert read_succession(pieces, index=INDEX, owner=OWNER, mac_keys=[b"another key of it", MAC_KEY]) == said
    assert max(map(len, pieces)) < 63_500


def test_more_voices_than_fit_are_refused_before_anything_is_made() -> None:
    with pytest.raises(ValueError, match="more pseudoprincipals"):
        with_voices(MOST_PIECES * MOST_VOICES_IN_A_PIECE + 1).pieces(index=INDEX, owner=OWNER, mac_key=MAC_KEY)


def test_whoever_has_no_key_of_the_server_makes_none() -> None:
    pieces = with_voices(1).pieces(index=INDEX, owner=OWNER, mac_key=b"not one of the server's")
    refused = read_succession(pieces, index=INDEX, owner=PublicKey(bytes(OWNER)), mac_keys=[MAC_KEY])
    assert type(refused).__name__ == "BagForged"
