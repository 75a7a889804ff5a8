"""How two sides of a socket come to the keys of its frames: ephemeral X25519 keys by libsodium's `kx`, and an Ed25519 signature of each
side over all that was said.

Keeps: docs/format.md, "Sockets". Each side signs both ephemeral keys, the profile and the version, with the key by which it is known
anyway; so nobody stands between them, nothing of a former handshake counts again, and no other profile than both wanted is taken. Whoever
gets a signing key later reads nothing of before. Does not know: sockets, what is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import nacl.bindings
import nacl.signing
from nacl.exceptions import BadSignatureError, CryptoError

from edna.crypto.keys import fingerprint
from edna.custody.sockets.profiles import Profile
from edna.errors import ConfigurationError, SocketRefused

_KEY_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64
_VERSION: Final = 1
_MARK: Final = b"edna socket\n"
_HEAD_BYTES: Final = len(_MARK) + 2
HELLO_BYTES: Final = _HEAD_BYTES + _KEY_BYTES
REPLY_BYTES: Final = HELLO_BYTES + _SIGNATURE_BYTES
_SERVER: Final = b"edna socket server 1\n"
_CLIENT: Final = b"edna socket client 1\n"


@dataclass(frozen=True, slots=True)
class ServerProfile:
    """How a process is spoken to. ``key`` is the one by which others know it; ``is_peer`` says whom it answers, None: whoever comes.

    Raises: ConfigurationError if it would say to anybody what everybody can listen to.
    """

    profile: Profile
    key: nacl.signing.SigningKey = field(repr=False)
    is_peer: Callable[[bytes], bool] | None

    def __post_init__(self) -> None:
        if self.profile is Profile.AUTH and self.is_peer is None:
            raise ConfigurationError(
                "With AUTH whoever reads the wire reads what is shown there, so it answers nobody but those that are named: name them, or "
                "take SECURE."
            )


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """How a process is asked: ``server`` is the public key by which it is known. ``key`` says who asks."""

    profile: Profile
    server: bytes
    key: nacl.signing.SigningKey = field(repr=False)


@dataclass(frozen=True, slots=True, repr=False)
class Agreed:
    """What both sides have now: the keys of their frames, and what goes into each (`transcript`). Not shown: these are keys."""

    profile: Profile
    receives: bytes
    sends: bytes
    transcript: bytes


class Asking:
    """A client's side of one handshake: sends `hello`, gets the reply, sends its proof as the first frame."""

    def __init__(self, asked: ClientProfile) -> None:
        self._asked = asked
        self._public, self._secret = nacl.bindings.crypto_kx_keypair()
        self.hello = _head(asked.profile) + self._public

    def agree(self, reply: bytes) -> Agreed:
        """
        Raises: SocketRefused if it is not the reply of that server to this hello, with this profile.
        """
        asked = self._asked
        other = _other_key(reply[:HELLO_BYTES], asked.profile, whose="What answers there")
        transcript = _transcript(asked.profile, self._public, other, asked.server)
        if not _is_signed(reply[HELLO_BYTES:], transcript, purpose=_SERVER, signer=asked.server):
            raise SocketRefused(
                "Somebody else answers there than the process with this key, or what it says was changed on the way."
            )
        return _agreed(nacl.bindings.crypto_kx_client_session_keys, self, other, asked.profile, transcript)

    def proof(self, agreed: Agreed) -> bytes:
        """Who asks, and that it is they."""
        return bytes(self._asked.key.verify_key) + _signature(self._asked.key, agreed.transcript, purpose=_CLIENT)

    def pair(self) -> tuple[bytes, bytes]:
        return self._public, self._secret


class Answering:
    """A server's side of one handshake: `reply` goes back."""

    def __init__(self, served: ServerProfile, hello: bytes) -> None:
        """
        Raises: SocketRefused if it is no hello of this version and profile.
        """
        self._served = served
        profile = served.profile
        other = _other_key(hello, profile, whose="Who asks")
        self._public, self._secret = nacl.bindings.crypto_kx_keypair()
        transcript = _transcript(profile, other, self._public, bytes(served.key.verify_key))
        self.agreed = _agreed(nacl.bindings.crypto_kx_server_session_keys, self, other, profile, transcript)
        self.reply = _head(profile) + self._public + _signature(served.key, transcript, purpose=_SERVER)

    def check(self, proof: bytes) -> bytes:
        """The public key of who asks.

        Raises: SocketRefused if they have not signed, or are not answered here.
        """
        peer = proof[:_KEY_BYTES]
        if not _is_signed(proof[_KEY_BYTES:], self.agreed.transcript, purpose=_CLIENT, signer=peer):
            raise SocketRefused("Who asks does not have the key that they name.")
        if self._served.is_peer is not None and not self._served.is_peer(peer):
            raise SocketRefused("Who asks is not one of those that are answered here.")
        return peer

    def pair(self) -> tuple[bytes, bytes]:
        return self._public, self._secret


def _head(profile: Profile) -> bytes:
    return _MARK + bytes((_VERSION, profile))


def _other_key(said: bytes, profile: Profile, *, whose: str) -> bytes:
    """
    Raises: SocketRefused if it was not said in this version and profile.
    """
    if not said.startswith(_MARK) or len(said) != HELLO_BYTES:
        raise SocketRefused(
            f"{whose} does not speak {profile.name}: it is another profile, or another kind of process."
        )
    version, other = said[len(_MARK)], said[len(_MARK) + 1]
    if version != _VERSION:
        raise SocketRefused(f"{whose} speaks version {version} of the profiles; this release speaks {_VERSION}.")
    if other != profile:
        raise SocketRefused(f"{whose} speaks another profile than {profile.name}, and no other is taken.")
    return said[_HEAD_BYTES:]


def _transcript(profile: Profile, client: bytes, server: bytes, identity: bytes) -> bytes:
    return fingerprint(_head(profile) + client + server + identity, purpose=b"edna.socket.hand")


def _agreed(
    compute: Callable[[bytes, bytes, bytes], tuple[bytes, bytes]],
    side: Asking | Answering,
    other: bytes,
    profile: Profile,
    transcript: bytes,
) -> Agreed:
    try:
        receives, sends = compute(*side.pair(), other)
    except CryptoError:
        raise SocketRefused("The other side's key is of small order: it agrees on nothing.") from None
    return Agreed(profile, receives, sends, transcript)


def _signature(key: nacl.signing.SigningKey, transcript: bytes, *, purpose: bytes) -> bytes:
    return bytes(key.sign(purpose + transcript).signature)


def _is_signed(signature: bytes, transcript: bytes, *, purpose: bytes, signer: bytes) -> bool:
    try:
        nacl.signing.VerifyKey(signer).verify(purpose + transcript, signature)
    except (BadSignatureError, ValueError, TypeError):
        return False
    return True
