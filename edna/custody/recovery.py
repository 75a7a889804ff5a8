"""The recovery code slot: 128 random bits on paper.

Keeps: the printed form of docs/format.md ("Recovery code"): 28 symbols of Crockford's base 32, a 12-bit checksum
included, so that a typing error is told apart from a wrong code without asking the server. Needs no slow derivation:
128 bits cannot be guessed. Does not know: where slots are stored, whose the code is.
"""

from __future__ import annotations

from typing import Self

import nacl.utils
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_encrypt

from edna.crypto.keys import Secret, SecretKey, fingerprint
from edna.custody.base import SlotSecret
from edna.errors import RecoveryCodeMalformed

KIND = "recovery"

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford: without I, L, O, U
_VALUES = {symbol: value for value, symbol in enumerate(_ALPHABET)} | {"O": 0, "I": 1, "L": 1}
_SYMBOLS = 28
_GROUP = 4
_CHECKSUM_BITS = 12
_FILE_VERSION = 1
# Word processors and mail programs turn hyphens into these.
_DASHES = dict.fromkeys(map(ord, "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"))


class RecoveryCode(Secret):
    """128 random bits. `str(code)` is the printed form, for its owner's eyes; `repr` is redacted, pickling refused."""

    __slots__ = ()

    SIZE = 16

    @classmethod
    def new(cls) -> Self:
        """Return a fresh random code."""
        return cls(nacl.utils.random(cls.SIZE))

    def __str__(self) -> str:
        number = int.from_bytes(self.expose(), "big") << _CHECKSUM_BITS | _checksum(self)
        return printed(number, symbols=_SYMBOLS)

    @classmethod
    def of(cls, code: Self | str) -> Self:
        """A code as it is, or read from its text."""
        return cls.parse(code) if isinstance(code, str) else code

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a printed code; case, white space, dashes, O for 0, and I or L for 1 do not matter.

        Raises: RecoveryCodeMalformed if it is incomplete or mistyped.
        """
        code = cls.__read(text)
        del text  # a code with one wrong symbol is still most of a code
        if code is None:
            raise RecoveryCodeMalformed(f"A recovery code has {_SYMBOLS} letters and digits; this one is mistyped.")
        return code

    @classmethod
    def __read(cls, text: str) -> Self | None:
        number = number_of(text, symbols=_SYMBOLS)
        if number is None:
            return None
        code = cls((number >> _CHECKSUM_BITS).to_bytes(cls.SIZE, "big"))
        return code if _checksum(code) == number & ((1 << _CHECKSUM_BITS) - 1) else None


def printed(number: int, *, symbols: int) -> str:
    """A number in Crockford's base 32, in groups of four: for people who type it."""
    text = "".join(_ALPHABET[number >> shift & 31] for shift in range(5 * (symbols - 1), -1, -5))
    return "-".join(text[start : start + _GROUP] for start in range(0, symbols, _GROUP))


def number_of(text: str, *, symbols: int) -> int | None:
    """What `printed` printed, however it was typed; None if it is none."""
    typed = "".join(text.split()).translate(_DASHES).upper()
    if len(typed) != symbols or not set(typed) <= set(_VALUES):
        return None
    number = 0
    for symbol in typed:
        number = number << 5 | _VALUES[symbol]
    return number


def derive(code: RecoveryCode) -> SlotSecret:
    """Return the slot secret of that code."""
    return SlotSecret(fingerprint(code.expose(), purpose=b"edna.recovery.1"))


def wrap_for_file(secret_key: SecretKey, *, code: RecoveryCode) -> bytes:
    """Return the key as a file of sealed bags has it: what the code alone opens, without a server. 128 random bits need no pepper."""
    nonce, version = nacl.utils.random(24), bytes((_FILE_VERSION,))
    box = crypto_aead_xchacha20poly1305_ietf_encrypt(
        secret_key.expose(),
        version + bytes(secret_key.public_key),
        nonce,
        fingerprint(code.expose(), purpose=b"edna.recovery.2"),
    )
    return version + nonce + box


def _checksum(code: RecoveryCode) -> int:
    hashed = fingerprint(code.expose(), purpose=b"edna.recovery.c1", size=2)
    return int.from_bytes(hashed, "big") >> (16 - _CHECKSUM_BITS)
