"""The frames of a socket: each is its length, and what is said, sealed (SECURE) or with a tag (AUTH).

Keeps: docs/format.md, "Sockets". A frame that was changed, left out, brought twice or in another order is refused, and so is the end of
the frames where none was said to be the last. Does not know: how keys are agreed on (`handshake`), sockets.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final, Protocol

import nacl.bindings
from nacl.exceptions import RuntimeError as NaclRuntimeError

from edna.custody.sockets.handshake import Agreed
from edna.custody.sockets.profiles import Profile
from edna.errors import SocketRefused

#: In one frame.
MOST_SAID: Final = 64 * 1024
LENGTH_BYTES: Final = 4
#: What a frame has beside what it says: of the larger kind.
MOST_BODY: Final = MOST_SAID + 64
_TAG_BYTES: Final = 32
_MORE, _LAST = b"\0", b"\1"
_PERSON: Final = b"edna.socket.auth"
_FINAL: Final = nacl.bindings.crypto_secretstream_xchacha20poly1305_TAG_FINAL
_MESSAGE: Final = nacl.bindings.crypto_secretstream_xchacha20poly1305_TAG_MESSAGE


class Sealer(Protocol):
    """``beginning`` goes before the first frame."""

    beginning: bytes

    def body(self, said: bytes, *, is_last: bool) -> bytes: ...


class Opener(Protocol):
    """``beginning_bytes`` are read before the first frame."""

    beginning_bytes: int

    def begin(self, beginning: bytes) -> None: ...

    def open(self, body: bytes) -> tuple[bytes, bool]:
        """What was said, and whether it was the last.

        Raises: SocketRefused
        """
        ...


def sealer_of(agreed: Agreed) -> Sealer:
    return _Sealing(agreed) if agreed.profile is Profile.SECURE else _Tagging(agreed)


def opener_of(agreed: Agreed) -> Opener:
    return _Opening(agreed) if agreed.profile is Profile.SECURE else _Checking(agreed)


def frames(sealer: Sealer, said: bytes | memoryview, *, is_last: bool = False) -> bytes:
    """What goes over the wire for it, in as many frames as it takes."""
    made = []
    while len(said) > MOST_SAID:
        made.append(_framed(sealer.body(bytes(said[:MOST_SAID]), is_last=False)))
        said = said[MOST_SAID:]
    made.append(_framed(sealer.body(bytes(said), is_last=is_last)))
    return b"".join(made)


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def _refused() -> SocketRefused:
    return SocketRefused("A frame was changed on the way, left out, brought twice or in another order.")


class _Sealing:
    """libsodium's secretstream: XChaCha20-Poly1305, whose nonce goes on with each message."""

    def __init__(self, agreed: Agreed) -> None:
        self._state = nacl.bindings.crypto_secretstream_xchacha20poly1305_state()
        self._bound = agreed.transcript
        self.beginning = nacl.bindings.crypto_secretstream_xchacha20poly1305_init_push(self._state, agreed.sends)

    def body(self, said: bytes, *, is_last: bool) -> bytes:
        tag = _FINAL if is_last else _MESSAGE
        return nacl.bindings.crypto_secretstream_xchacha20poly1305_push(self._state, said, self._bound, tag)


class _Opening:
    beginning_bytes = nacl.bindings.crypto_secretstream_xchacha20poly1305_HEADERBYTES

    def __init__(self, agreed: Agreed) -> None:
        self._state, self._key = nacl.bindings.crypto_secretstream_xchacha20poly1305_state(), agreed.receives
        self._bound = agreed.transcript

    def begin(self, beginning: bytes) -> None:
        nacl.bindings.crypto_secretstream_xchacha20poly1305_init_pull(self._state, beginning, self._key)

    def open(self, body: bytes) -> tuple[bytes, bool]:
        try:
            said, tag = nacl.bindings.crypto_secretstream_xchacha20poly1305_pull(self._state, body, self._bound)
        except (NaclRuntimeError, ValueError):
            raise _refused() from None
        if tag not in (_FINAL, _MESSAGE):
            raise _refused()
        return said, tag == _FINAL


class _Tagging:
    """In clear; the tag is a keyed BLAKE2b over what both have agreed on, a count, and what is said."""

    beginning = b""

    def __init__(self, agreed: Agreed) -> None:
        self._key, self._bound, self._count = agreed.sends, agreed.transcript, 0

    def body(self, said: bytes, *, is_last: bool) -> bytes:
        plain = (_LAST if is_last else _MORE) + said
        tag = _tag(self._key, self._bound, self._count, plain)
        self._count += 1
        return plain + tag


class _Checking:
    beginning_bytes = 0

    def __init__(self, agreed: Agreed) -> None:
        self._key, self._bound, self._count = agreed.receives, agreed.transcript, 0

    def begin(self, beginning: bytes) -> None:
        """There is nothing before the first frame."""

    def open(self, body: bytes) -> tuple[bytes, bool]:
        plain, tag = body[:-_TAG_BYTES], body[-_TAG_BYTES:]
        if not hmac.compare_digest(tag, _tag(self._key, self._bound, self._count, plain)):
            raise _refused()
        if plain[:1] not in (_MORE, _LAST):
            raise _refused()
        self._count += 1
        return plain[1:], plain[:1] == _LAST


def _tag(key: bytes, bound: bytes, count: int, plain: bytes) -> bytes:
    counted = bound + count.to_bytes(8, "big") + plain
    return hashlib.blake2b(counted, digest_size=_TAG_BYTES, key=key, person=_PERSON).digest()
