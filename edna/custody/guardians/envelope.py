"""The envelope: a secret that opens with the guardians' hash alone, and commits to it (after DiSE: Agrawal et al. 2018, section 7).

Keeps: the layout of docs/format.md ("Guardians"). The hash is taken of the envelope's head, of a commitment to the
content, and of the PIN: whoever
changes any of them asks for another hash. So an envelope opens to what was put in, or not at all. Does not know:
where it is stored, whose it is.
"""

from __future__ import annotations

import struct
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

import nacl.utils
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt, crypto_aead_xchacha20poly1305_ietf_encrypt
from nacl.exceptions import CryptoError

from edna.crypto.keys import derive, fingerprint
from edna.custody.guardians.evaluation import Output
from edna.custody.guardians.group import POINT_BYTES, Point, point_of
from edna.custody.guardians.roster import from_base64, to_base64
from edna.custody.guardians.sharing import check_threshold
from edna.errors import ConfigurationError, EnvelopeRefused, GuardianRefused

VERSION: Final = 1
ENROLMENT_BYTES: Final = 16
#: A secret key has 32 bytes; the server's keys together may have more.
MAX_SECRET_BYTES: Final = 4096

_HEAD = struct.Struct(f">BBB{ENROLMENT_BYTES}s{POINT_BYTES}s")
_RANDOM_BYTES = 32
_COMMITMENT_BYTES = 32
_TAG_BYTES = 16
# The key is for this envelope alone, so that one nonce is enough.
_NONCE = bytes(24)
_TEXT_PREFIX = "edna-guardians-envelope-1:"
_OPENS_NOT = (
    "This envelope does not open with what the guardians answered: the PIN is another, or somebody has changed it."
)


@dataclass(frozen=True, slots=True)
class Head:
    """Who can help with an envelope: which enrolment at `count` guardians, `threshold` of whom are needed, and the
    public half of what they share."""

    enrolment: bytes
    count: int
    threshold: int
    secret_commitment: Point

    def __bytes__(self) -> bytes:
        return _HEAD.pack(VERSION, self.count, self.threshold, self.enrolment, self.secret_commitment)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A sealed secret: `head`, the commitment to what is inside, and the box."""

    head: Head
    commitment: bytes
    box: bytes

    def __bytes__(self) -> bytes:
        return bytes(self.head) + self.commitment + self.box

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """
        Raises: EnvelopeRefused if it is no envelope that this release reads.
        """
        if not _SHORTEST <= len(raw) <= _LONGEST or raw[0] != VERSION:
            raise EnvelopeRefused("This is no envelope that this release of edna reads.")
        _, count, threshold, enrolment, secret_commitment = _HEAD.unpack_from(raw)
        try:
            check_threshold(count=count, threshold=threshold)
            head = Head(enrolment, count, threshold, point_of(secret_commitment))
        except (ConfigurationError, GuardianRefused) as error:
            raise EnvelopeRefused("The head of this envelope says what cannot be.") from error
        start = _HEAD.size + _COMMITMENT_BYTES
        return cls(head, bytes(raw[_HEAD.size : start]), bytes(raw[start:]))

    @property
    def text(self) -> str:
        """One line, for a file."""
        return _TEXT_PREFIX + to_base64(bytes(self)) + "\n"

    @classmethod
    def parse_text(cls, text: str) -> Self:
        """White space does not count: mail programs wrap lines.

        Raises: EnvelopeRefused if it is no envelope that this release reads.
        """
        line = "".join(text.split())
        if not line.startswith(_TEXT_PREFIX):
            raise EnvelopeRefused(f"This is no envelope: one begins with {_TEXT_PREFIX}.")
        try:
            raw = from_base64(line.removeprefix(_TEXT_PREFIX))
        except GuardianRefused as error:
            raise EnvelopeRefused("Something is missing of this envelope: copy the whole of it again.") from error
        return cls.parse(raw)

    def asked(self, *, pin: str) -> bytes:
        """What the guardians are asked to hash, blinded."""
        return _asked(self.head, self.commitment, pin)

    def open(self, output: Output) -> bytes:
        """Return the secret.

        Raises: EnvelopeRefused: another PIN, another hash, or the envelope was changed; it cannot be told which.
        """
        secret = self._opened(output)
        if secret is None:
            raise EnvelopeRefused(_OPENS_NOT)
        return secret

    def _opened(self, output: Output) -> bytes | None:
        """Never raises: its variables are the secret."""
        try:
            content = crypto_aead_xchacha20poly1305_ietf_decrypt(
                self.box, bytes(self.head) + self.commitment, _NONCE, _key(output)
            )
        except CryptoError:
            return None
        return content[_RANDOM_BYTES:] if _commitment(self.head, content) == self.commitment else None


_SHORTEST = _HEAD.size + _COMMITMENT_BYTES + _RANDOM_BYTES + 1 + _TAG_BYTES
_LONGEST = _SHORTEST - 1 + MAX_SECRET_BYTES


def size_of(secret_bytes: int) -> int:
    """How many bytes an envelope has that holds so many."""
    return _SHORTEST - 1 + secret_bytes


def seal(head: Head, secret: bytes, *, pin: str, hash_of: Callable[[bytes], Output]) -> Envelope:
    """Return an envelope around `secret`; `hash_of` is the guardians' hash, which whoever deals their shares computes alone.

    Raises: EnvelopeRefused if the secret is empty or too long.
    """
    if not 1 <= len(secret) <= MAX_SECRET_BYTES:
        del secret
        raise EnvelopeRefused(f"An envelope holds 1 to {MAX_SECRET_BYTES} bytes.")
    content = nacl.utils.random(_RANDOM_BYTES) + secret
    commitment = _commitment(head, content)
    key = _key(hash_of(_asked(head, commitment, pin)))
    return Envelope(
        head,
        commitment,
        crypto_aead_xchacha20poly1305_ietf_encrypt(content, bytes(head) + commitment, _NONCE, key),
    )


def _asked(head: Head, commitment: bytes, pin: str) -> bytes:
    # Keyboards differ in how they spell the same letters.
    return bytes(head) + commitment + unicodedata.normalize("NFKC", pin).encode("utf-8", "surrogatepass")


def _commitment(head: Head, content: bytes) -> bytes:
    # The random bytes in the content hide the rest of it.
    return fingerprint(bytes(head) + content, purpose=b"edna.guard.com.1", size=_COMMITMENT_BYTES)


def _key(output: Output) -> bytes:
    return derive(output.expose(), purpose=b"edna.guard.env.1", data=b"")
