"""Keys as types that cannot leak by accident, and the one keyed hash that everything else is derived with.

Keeps: a secret is never printed, pickled, copied or compared in variable time; its bytes come out through `expose()`
only (secrets are a type). Keeps: the text form of a secret key (docs/format.md, "Secret key text"). Keys are of
X25519 or of the hybrid kind. A pair of the second is known by its X25519 half wherever a key stands for its owner,
so that all who do not seal or open need not know of kinds.
Does not know: whose a key is, where it is stored, what is sealed with it.
A little long: all types of keys are here, so that what keeps a secret from leaking is read once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self, SupportsIndex

import nacl.bindings
import nacl.utils

from edna.crypto import hybrid
from edna.errors import KeyMalformed, SecretKeyLeak

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.hpke import MLKEM768X25519PrivateKey, MLKEM768X25519PublicKey

KEY_BYTES = 32
_CHECKSUM_BYTES = 4
_HYBRID = b"\2"


def derive(key: bytes, *, purpose: bytes, data: bytes, size: int = KEY_BYTES) -> bytes:
    """Return `size` bytes that only a holder of `key` can compute: BLAKE2b keyed by `key`, personalised by `purpose`.

    `key` is at most 64 bytes, `purpose` at most 16 ASCII bytes (two purposes never give related results; RFC 7693 and
    the personalisation of the BLAKE2 paper). One way: neither `key` nor `data` can be found from the result.
    """
    return hashlib.blake2b(data, digest_size=size, key=key, person=purpose).digest()


def deriving(key: bytes, *, purpose: bytes, size: int = KEY_BYTES) -> Callable[[bytes], bytes]:
    """As `derive`, for many `data`: what is done with the key is done once, which is half of it."""
    begun = hashlib.blake2b(digest_size=size, key=key, person=purpose)

    def derived(data: bytes) -> bytes:
        one = begun.copy()
        one.update(data)
        return one.digest()

    return derived


def fingerprint(data: bytes, *, purpose: bytes, size: int = KEY_BYTES) -> bytes:
    """Return an unkeyed, personalised BLAKE2b hash of `data`: for checksums, and to make a fixed length of any."""
    return hashlib.blake2b(data, digest_size=size, person=purpose).digest()


def half_tag(encapsulation_key: bytes) -> bytes:
    """Return what the ML-KEM half of a public key is known by to whoever can make it of the seed."""
    return fingerprint(encapsulation_key, purpose=b"edna.half.tag.1")


class Secret:
    """Bytes that redact themselves. Base of secret keys, slot secrets, locators and recovery codes.

    `repr`, `str`, `format` and logging show the type only; there is no `__dict__`; pickling and copying raise
    `SecretKeyLeak`, JSON, YAML and msgpack encoders refuse it because it is none of their types; `==` takes constant
    time; not hashable.
    """

    __slots__ = ("__bytes",)

    SIZE = KEY_BYTES

    def __init__(self, raw: bytes) -> None:
        if type(raw) is not bytes or len(raw) != self.SIZE:
            # The wrong bytes may be most of a right secret: an error page that prints the variables of this frame must
            # not find them.
            del raw
            raise KeyMalformed(f"{type(self).__name__} needs exactly {self.SIZE} bytes")
        self.__bytes = raw

    def expose(self) -> bytes:
        """Return the raw bytes. Do not give them a name in a function that may raise: error pages print variables."""
        return self.__bytes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} redacted>"

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, specification: str) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret) or type(other) is not type(self):
            return NotImplemented
        return hmac.compare_digest(self.__bytes, other.__bytes)

    def _refuse(self) -> NoReturn:
        raise SecretKeyLeak(f"A {type(self).__name__} cannot be pickled, copied or serialised.")

    def __reduce__(self) -> NoReturn:
        self._refuse()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        self._refuse()

    def __getstate__(self) -> NoReturn:
        self._refuse()

    def __copy__(self) -> Self:
        self._refuse()

    def __deepcopy__(self, memo: object) -> Self:
        self._refuse()


# The u-coordinates of small order (RFC 7748 section 7, Curve25519 paper): a box sealed to one of them has a key that
# everybody can compute. libsodium refuses them at sealing time, in the middle of a disguise; we refuse them when they
# are registered.
_LOW_ORDER = frozenset(
    bytes.fromhex(point[:62]) + bytes((int(point[62:], 16) | top_bit,))
    for top_bit in (0x00, 0x80)  # X25519 ignores the top bit: both spellings of each point
    for point in (
        "00" * 32,
        "01" + "00" * 31,
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)
_P = 2**255 - 19
_TOP_BYTE_OF_P = 0x7F


def _why_not_to_seal_to(raw: bytes) -> str | None:
    """What is wrong with these 32 bytes as a public key; None if nothing is.

    X25519 takes several spellings for the same point (RFC 7748 section 5), but a box is bound to the bytes it was sealed to, and
    whoever has the secret key computes only the least of them: what is sealed to another is lost.
    """
    if raw in _LOW_ORDER:
        return "is a point of small order: anybody could open what is sealed to it"
    if raw[-1] & 0x80:
        return "has its top bit set, which X25519 ignores: nobody could open what is sealed to it"
    if raw[-1] == _TOP_BYTE_OF_P and int.from_bytes(raw, "little") >= _P:
        return "is not less than 2^255 - 19: nobody could open what is sealed to it"
    return None


class PublicKey:
    """An X25519 public key: an immutable value, hashable, `bytes(public_key)` gives its 32 bytes.

    One of the hybrid kind is a `HybridPublicKey`, and equal to its X25519 half.

    Raises: KeyMalformed if `raw` is not 32 bytes, is a point of small order, or is not the one spelling of its point.
    """

    __slots__ = ("__bytes",)

    def __init__(self, raw: bytes) -> None:
        raw = bytes(raw) if isinstance(raw, (bytearray, memoryview)) else raw
        if type(raw) is not bytes or len(raw) != KEY_BYTES:
            raise KeyMalformed(f"A public key is exactly {KEY_BYTES} bytes.")
        if (wrong := _why_not_to_seal_to(raw)) is not None:
            raise KeyMalformed(f"This public key {wrong}. Take one that an X25519 implementation made.")
        self.__bytes = raw

    def __bytes__(self) -> bytes:
        return self.__bytes

    def __eq__(self, other: object) -> bool:
        return self.__bytes == other.__bytes if isinstance(other, PublicKey) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.__bytes)

    def __repr__(self) -> str:
        return f"<PublicKey {self.__bytes[:4].hex()}…>"

    def __reduce__(self) -> tuple[type[PublicKey], tuple[bytes, ...]]:
        return (PublicKey, (self.__bytes,))

    @property
    def encapsulation_key(self) -> bytes | None:
        """The ML-KEM-768 half of one of the hybrid kind, 1184 bytes."""
        return None

    @classmethod
    def of(cls, raw: bytes) -> PublicKey:
        """Either kind, as its owner sends it: 32 bytes, or the 1216 of X-Wing, in which the ML-KEM half comes first.

        Raises: KeyMalformed if it is neither.
        """
        if len(raw) == hybrid.ENCAPSULATION_KEY_BYTES + KEY_BYTES:
            half = bytes(raw[: hybrid.ENCAPSULATION_KEY_BYTES])
            made = HybridPublicKey(bytes(raw[hybrid.ENCAPSULATION_KEY_BYTES :]), half)
            made.sealer()  # of no use if the half is none
            return made
        return PublicKey(raw)


class HybridPublicKey(PublicKey):
    """A public key of the hybrid kind: what is sealed to it takes its X25519 half and its ML-KEM-768 half to open.

    ``encapsulation_key`` is the second half, or who can compute it if it is ever needed: that takes ten times as long as the first.

    Raises: KeyMalformed if one of the halves has another size, or the first is none.
    """

    __slots__ = ("__half", "__sealer")

    __sealer: MLKEM768X25519PublicKey

    def __init__(self, raw: bytes, encapsulation_key: bytes | HybridSecretKey) -> None:
        super().__init__(raw)
        if isinstance(encapsulation_key, bytes) and len(encapsulation_key) != hybrid.ENCAPSULATION_KEY_BYTES:
            raise KeyMalformed(f"The ML-KEM half of a public key is exactly {hybrid.ENCAPSULATION_KEY_BYTES} bytes.")
        self.__half = encapsulation_key

    @property
    def encapsulation_key(self) -> bytes:
        if not isinstance(self.__half, bytes):
            self.__half = hybrid.encapsulation_key(self.__half.expose())
        return self.__half

    def sealer(self) -> MLKEM768X25519PublicKey:
        """What `hybrid.seal` takes; made at the first use, then kept."""
        try:
            return self.__sealer
        except AttributeError:
            self.__sealer = hybrid.public_key(bytes(self), self.encapsulation_key)
            return self.__sealer

    def __reduce__(self) -> tuple[type[PublicKey], tuple[bytes, ...]]:
        return (HybridPublicKey, (bytes(self), self.encapsulation_key))


class SecretKey(Secret):
    """An X25519 secret key. See `Secret` for what it refuses to do.

    One of the hybrid kind is a `HybridSecretKey`.

    Raises: KeyMalformed if not given exactly 32 bytes.
    """

    __slots__ = ("__public_key",)

    __public_key: PublicKey
    _TEXT_PREFIX: ClassVar[str] = "edna-secret-key-1:"
    _TEXT_PURPOSE: ClassVar[bytes] = b"edna.secretkey.1"

    @classmethod
    def generate(cls) -> Self:
        """Return a new random key; its public half is already computed."""
        public, secret = nacl.bindings.crypto_box_keypair()
        return cls(secret).paired(PublicKey(public))

    def paired(self, public_key: PublicKey) -> Self:
        """Return this key, told its public half by a source that is trusted: saves computing it (one X25519 operation)."""
        self.__public_key = public_key
        return self

    @property
    def public_key(self) -> PublicKey:
        """The public half; computed at the first use, then kept."""
        try:
            return self.__public_key
        except AttributeError:
            self.__public_key = PublicKey(nacl.bindings.crypto_scalarmult_base(self.expose()))
            return self.__public_key

    def scalar(self) -> bytes:
        """The bytes that X25519 computes with."""
        return self.expose()

    def expose_with_kind(self) -> bytes:
        """Return what tells the kind as well: the bytes alone, or with a byte in front of those of the hybrid kind."""
        return self.expose()

    @classmethod
    def of_kind(cls, raw: bytes) -> SecretKey:
        """Read what `expose_with_kind` wrote.

        Raises: KeyMalformed if it is neither kind.
        """
        if len(raw) == len(_HYBRID) + KEY_BYTES and raw.startswith(_HYBRID):
            return HybridSecretKey(raw[len(_HYBRID) :])
        return SecretKey(raw)

    def expose_text(self) -> str:
        """Return the key as printable text with a checksum, for its owner to keep."""
        checksum = fingerprint(self.expose(), purpose=self._TEXT_PURPOSE, size=_CHECKSUM_BYTES)
        return self._TEXT_PREFIX + base64.b32encode(self.expose() + checksum).decode("ascii").rstrip("=").lower()

    @classmethod
    def parse(cls, text: str) -> SecretKey:
        """Read what `expose_text` wrote, of either kind; white space and case do not matter.

        Raises: KeyMalformed if the text is truncated or mistyped.
        """
        key = _read_text(text)
        del text  # the caller's mistyped key must not be printed by an error page from this frame
        if key is None:
            raise KeyMalformed(
                "This is not a secret key; copy it again, from edna-secret-key-1: to its last character."
            )
        return key


class HybridSecretKey(SecretKey):
    """A secret key of the hybrid kind: a seed of 32 bytes, from which X-Wing makes the secret keys of both halves."""

    __slots__ = ("__opener", "__public")

    __public: HybridPublicKey
    __opener: MLKEM768X25519PrivateKey
    _TEXT_PREFIX: ClassVar[str] = "edna-secret-key-2:"
    _TEXT_PURPOSE: ClassVar[bytes] = b"edna.secretkey.2"

    @classmethod
    def generate(cls) -> Self:
        """Return a new random key; its public half is already computed.

        Raises: ConfigurationError if the package that this takes is not there.
        """
        key = cls(nacl.utils.random(KEY_BYTES))
        key.__public = HybridPublicKey(
            nacl.bindings.crypto_scalarmult_base(key.scalar()), hybrid.encapsulation_key(key.expose())
        )
        return key

    def paired(self, public_key: PublicKey) -> Self:
        self.__public = HybridPublicKey(bytes(public_key), self)
        return self

    @property
    def public_key(self) -> PublicKey:
        """The public half. Its X25519 half is computed at the first use, its other half when that is asked for."""
        try:
            return self.__public
        except AttributeError:
            self.__public = HybridPublicKey(nacl.bindings.crypto_scalarmult_base(self.scalar()), self)
            return self.__public

    def scalar(self) -> bytes:
        return hybrid.scalar(self.expose())

    def expose_with_kind(self) -> bytes:
        return _HYBRID + self.expose()

    def opener(self) -> MLKEM768X25519PrivateKey:
        """What `hybrid.unseal` takes; made at the first use, then kept."""
        try:
            return self.__opener
        except AttributeError:
            self.__opener = hybrid.private_key(self.expose())
            return self.__opener


def _read_text(text: str) -> SecretKey | None:
    compact = "".join(text.split()).lower()
    kind = HybridSecretKey if compact.startswith(HybridSecretKey._TEXT_PREFIX) else SecretKey
    try:
        raw = base64.b32decode(compact.removeprefix(kind._TEXT_PREFIX).upper() + "======")
    except ValueError:
        return None
    if len(raw) != KEY_BYTES + _CHECKSUM_BYTES:
        return None
    key = kind(raw[:KEY_BYTES])
    # Comparing the whole text also refuses a missing prefix, and bits after the last byte.
    return key if hmac.compare_digest(key.expose_text().encode(), compact.encode()) else None


class ContentKey(Secret):
    """The key of one container's body (docs/format.md, "file key"): opens this one and no other, whoever it is sealed to."""

    __slots__ = ()

    @classmethod
    def new(cls) -> Self:
        """Return a fresh random key, for a container that is yet to be made."""
        return cls(nacl.utils.random(KEY_BYTES))


def generate_key_pairs(count: int, *, hybrid: bool = False) -> list[SecretKey]:
    """Return `count` new secret keys with their public halves computed, of X25519 or of the hybrid kind.

    Raises: ConfigurationError if the package that the hybrid kind takes is not there.
    """
    kind = HybridSecretKey if hybrid else SecretKey
    return [kind.generate() for _ in range(count)]
