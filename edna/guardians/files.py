"""The files of guardians and of the site: identities, the site's key, members, the roster, envelopes.

Keeps: what is secret is written for its owner alone (mode 600), and into a new file. Does not know: what is in it for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nacl.signing

from edna.api import PublicKey, SecretKey
from edna.custody.guardians.envelope import Envelope
from edna.custody.guardians.roster import Identity, Member, Roster, from_base64, to_base64
from edna.errors import ConfigurationError, EdnaError, GuardianRefused
from edna.management.base import new_private_file


def write_identity(path: Path, identity: Identity) -> None:
    said = {
        "number": identity.number,
        "signing_key": to_base64(bytes(identity.signing_key)),
        "secret_key": identity.secret_key.expose_text(),
    }
    with new_private_file(str(path)) as file:
        file.write(json.dumps(said) + "\n")


def read_identity(path: Path) -> Identity:
    """
    Raises: ConfigurationError if it is no identity.
    """
    identity = _identity(path)
    if identity is None:
        raise ConfigurationError(f"{path} is no identity of a guardian; edna_guardian new makes one.")
    return identity


def _identity(path: Path) -> Identity | None:
    """Never raises but for a file that cannot be read: its variables are keys."""
    text = _read(path)
    try:
        said = json.loads(text)
        key = nacl.signing.SigningKey(from_base64(said["signing_key"], size=32))
        return Identity(int(said["number"]), key, SecretKey.parse(said["secret_key"]))
    except (ValueError, KeyError, TypeError, EdnaError):
        return None


def write_site_key(path: Path, key: nacl.signing.SigningKey) -> None:
    with new_private_file(str(path)) as file:
        file.write(to_base64(bytes(key)) + "\n")


def read_site_key(path: Path) -> nacl.signing.SigningKey:
    """
    Raises: ConfigurationError if it is no key.
    """
    key = _site_key(path)
    if key is None:
        raise ConfigurationError(f"{path} is no key of a site; edna_guardian site-key makes one.")
    return key


def _site_key(path: Path) -> nacl.signing.SigningKey | None:
    text = _read(path)
    try:
        return nacl.signing.SigningKey(from_base64(text.strip(), size=32))
    except EdnaError:
        return None


def verify_key_of(text: str) -> bytes:
    """The public half of a site's key, as guardians are told it.

    Raises: ConfigurationError if it is none.
    """
    try:
        return from_base64(text, size=32)
    except EdnaError as error:
        raise ConfigurationError(
            "The site's public key is 32 bytes in base 64; edna_guardian site-key prints it."
        ) from error


def member_text(member: Member) -> str:
    said = {
        "number": member.number,
        "address": member.address,
        "verify_key": to_base64(member.verify_key),
        "public_key": to_base64(bytes(member.public_key)),
        "certificate": member.certificate,
    }
    return json.dumps(said) + "\n"


def read_member(path: Path) -> Member:
    """
    Raises: ConfigurationError if the file says of no guardian how to reach and recognise it.
    """
    text = _read(path)
    try:
        said: dict[str, Any] = json.loads(text)
        return Member(
            int(said["number"]),
            str(said["address"]),
            from_base64(said["verify_key"], size=32),
            PublicKey(from_base64(said["public_key"], size=32)),
            str(said["certificate"]),
        )
    except (ValueError, KeyError, TypeError, EdnaError) as error:
        raise ConfigurationError(f"{path} is not what edna_guardian new prints about a guardian.") from error


def read_roster(path: Path, *, site_key: bytes) -> Roster:
    """
    Raises: ConfigurationError if it cannot be read; GuardianRefused if the site did not sign it.
    """
    try:
        return Roster.parse(_read(path), site_key=site_key)
    except GuardianRefused as error:
        raise GuardianRefused(
            f"{path}: {error} It has to be the roster that edna_guardian schedule wrote, with the site's key that signed it."
        ) from error


def read_envelope(path: Path) -> Envelope:
    """
    Raises: ConfigurationError if it cannot be read; EnvelopeRefused if it is none.
    """
    return Envelope.parse_text(_read(path))


def write_request(path: Path, secret: bytes) -> None:
    """Whoever has it may go on with the request at the guardians."""
    with new_private_file(str(path)) as file:
        file.write(to_base64(secret) + "\n")


def read_request(path: Path) -> bytes:
    """
    Raises: GuardianRefused if it is none.
    """
    return from_base64(_read(path).strip(), size=32)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {type(error).__name__}.") from None
