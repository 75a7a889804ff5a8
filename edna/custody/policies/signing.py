"""Texts that somebody has signed: what monitors, certifiers and whoever deploys say.

Keeps: docs/format.md, "Policy seals": a signature is for one purpose, over the very text that is read. Does not know: what is said.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

import nacl.signing
from nacl.exceptions import BadSignatureError

SIGNING_KEY_BYTES: Final = 32
_MOST_LETTERS: Final = 1024 * 1024


def to_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def from_base64(text: Any, *, size: int | None = None) -> bytes | None:
    """The bytes; None if it is not base 64, or of another size."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        return None
    return raw if size is None or len(raw) == size else None


def signed_text(said: Mapping[str, Any], *, purpose: bytes, key: nacl.signing.SigningKey) -> str:
    """Return a file: what is said, and the signature."""
    text = json.dumps(said, sort_keys=True)
    signature = to_base64(bytes(key.sign(purpose + text.encode()).signature))
    signer = to_base64(bytes(key.verify_key))
    return json.dumps({"said": text, "signer": signer, "signature": signature}, indent=1) + "\n"


def signer_of(file: str) -> bytes | None:
    """Who claims to have signed it; None if it is no such file."""
    read = _read(file)
    return None if read is None else read[1]


def verified(file: str, *, purpose: bytes, signer: bytes) -> Mapping[str, Any] | None:
    """What is said, if this signer has signed it for this purpose; else None."""
    read = _read(file)
    if read is None or read[1] != signer or not is_signed(read[2], read[0].encode(), purpose=purpose, signer=signer):
        return None
    try:
        said = json.loads(read[0])
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def is_signed(signature: bytes, message: bytes, *, purpose: bytes, signer: bytes) -> bool:
    try:
        nacl.signing.VerifyKey(signer).verify(purpose + message, signature)
    except (BadSignatureError, ValueError, TypeError):
        return False
    return True


def _read(file: str) -> tuple[str, bytes, bytes] | None:
    """Text, signer, signature."""
    try:
        parts: dict[str, Any] = json.loads(file if len(file) <= _MOST_LETTERS else "{}")
        text, signer, signature = parts["said"], from_base64(parts["signer"], size=32), parts["signature"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    raw = from_base64(signature, size=64)
    if not isinstance(text, str) or signer is None or raw is None:
        return None
    return text, signer, raw
