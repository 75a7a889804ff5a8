"""Succession: what stands beside the body of a bag that was made over to a new key without being opened by the server.

Keeps: the layout of docs/format.md ("Succession"). It says, under a MAC of the server's that covers the place and the new owner, whom the
bag's own MAC names as its owner, and whose keys came after those of the pseudoprincipals in the bag's records. Nobody but the server can
make one; nobody but the new owner can read it. Does not know: where bags are stored, who may have one made over.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from edna.crypto.keys import KEY_BYTES, PublicKey, derive, fingerprint
from edna.errors import BagCorrupt, BagError, BagForged, KeyMalformed
from edna.records.speaksfor import SEALED_KEY_BYTES, SealedKey

#: As many as fit into a stanza, padded; and so many stanzas beside the one with the file key.
MOST_VOICES_IN_A_PIECE = 440
MOST_PIECES = 15

_MAC_BYTES = 32
_VOICE_BYTES = 2 * KEY_BYTES + SEALED_KEY_BYTES
_HEAD_BYTES = 2 + _MAC_BYTES + KEY_BYTES


@dataclass(frozen=True, slots=True)
class Succession:
    """``former`` is the public key that the bag's MAC names; ``voices`` are, by public key in its records, the keys of today."""

    former: PublicKey
    voices: Mapping[bytes, tuple[PublicKey, SealedKey]] = field(default_factory=dict, repr=False)

    def pieces(self, *, index: bytes, owner: PublicKey, mac_key: bytes) -> list[bytes]:
        """Return what is sealed beside the body of the bag at that index, for its new ``owner``.

        Raises: ValueError if there are too many voices for one bag.
        """
        voices = [public + bytes(new) + sealed.box for public, (new, sealed) in self.voices.items()]
        most = MOST_VOICES_IN_A_PIECE
        portions = [b"".join(voices[start : start + most]) for start in range(0, len(voices), most)] or [b""]
        if len(portions) > MOST_PIECES:
            raise ValueError("one bag has more pseudoprincipals than their new keys fit beside it")
        made = []
        for number, portion in enumerate(portions):
            place = bytes((number, len(portions)))
            said = bytes(self.former) + portion
            made.append(place + _mac(mac_key, index + bytes(owner) + place + said) + said)
        return made


def read_succession(
    pieces: Sequence[bytes], *, index: bytes, owner: PublicKey, mac_keys: Sequence[bytes]
) -> Succession | BagError | None:
    """Return what the pieces say, None if there are none, or the error that the caller shall raise (this frame knows the MAC keys)."""
    if not pieces:
        return None
    if any(len(piece) < _HEAD_BYTES or (len(piece) - _HEAD_BYTES) % _VOICE_BYTES for piece in pieces):
        return BagCorrupt(_MALFORMED)
    for piece in pieces:
        place, mac, said = piece[:2], piece[2 : 2 + _MAC_BYTES], piece[2 + _MAC_BYTES :]
        expected = [_mac(key, index + bytes(owner) + place + said) for key in mac_keys]
        if not any(hmac.compare_digest(mac, candidate) for candidate in expected):
            return BagForged(
                "A bag says that its owner has a new key, and this server has not noted that: no key of MAC_KEYS verifies it. "
                "Nothing was changed; put a missing key back, or keep the bag as evidence."
            )
    # Their MACs say where each belongs: one that was taken out, or put in twice, is found out.
    whole = [bytes((number, len(pieces))) for number in range(len(pieces))]
    if [piece[:2] for piece in pieces] != whole or len({piece[34:_HEAD_BYTES] for piece in pieces}) > 1:
        return BagCorrupt(_MALFORMED)
    try:
        return Succession(PublicKey(pieces[0][34:_HEAD_BYTES]), dict(_voices(pieces)))
    except KeyMalformed:
        return BagCorrupt(_MALFORMED)


def _voices(pieces: Sequence[bytes]) -> Iterator[tuple[bytes, tuple[PublicKey, SealedKey]]]:
    for piece in pieces:
        for start in range(_HEAD_BYTES, len(piece), _VOICE_BYTES):
            voice = piece[start : start + _VOICE_BYTES]
            new, box = voice[KEY_BYTES : 2 * KEY_BYTES], voice[2 * KEY_BYTES :]
            yield voice[:KEY_BYTES], (PublicKey(new), SealedKey(box))


_MALFORMED = "What a bag says about its owner's keys is malformed. Nothing was changed; restore the bag from a backup."


def _mac(mac_key: bytes, data: bytes) -> bytes:
    key = fingerprint(mac_key, purpose=b"edna.owner.key.1")
    return derive(key, purpose=b"edna.owner.mac.1", data=data)
