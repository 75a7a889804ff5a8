"""What passes between the site and one guardian, signed: what the site orders, and what the guardian says of itself.

Keeps: what the site orders is signed with the site's key, for this guardian, this path, this body and these minutes. How many people a
guardian helps it tells the site alone, and signs what it tells. Does not know: sockets, nor what guardians do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import nacl.signing

from edna.crypto.keys import fingerprint
from edna.custody.guardians.roster import Member, check_signature, from_base64, signed, to_base64
from edna.errors import GuardianRefused

_ORDER: Final = b"edna guardians order 1\n"
ORDER_HEADER: Final = "X-Edna-Order"
_ORDER_LASTS_SECONDS: Final = 300
_STATUS: Final = b"edna guardians status 1\n"
CHALLENGE_BYTES: Final = 32
_MOST_SAID: Final = 400


def plain(said: str) -> str:
    """What somebody else's program said, for a terminal and for a person: in one line, without what moves a cursor or turns text round."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in said[:_MOST_SAID])


def order(number: int, path: str, body: bytes, *, at: int, key: nacl.signing.SigningKey) -> str:
    """Return the header with which the site orders something of one guardian."""
    return f"{at} {to_base64(signed(_order(number, path, body, at), purpose=_ORDER, key=key))}"


def _order(number: int, path: str, body: bytes, at: int) -> bytes:
    return f"{number} {path} {at} ".encode() + fingerprint(body, purpose=b"edna.guard.ord.1")


def check_order(header: str, number: int, path: str, body: bytes, *, now: int, key: bytes) -> None:
    """
    Raises: GuardianRefused if the site has not ordered this, or some time ago.
    """
    at, _, signature = header.partition(" ")
    if not at.isascii() or not at.isdigit() or len(at) > 12 or abs(now - int(at)) > _ORDER_LASTS_SECONDS:
        raise GuardianRefused("This takes an order of the site, made within the last minutes.")
    message = _order(number, path, body, int(at))
    check_signature(from_base64(signature), message, purpose=_ORDER, key=key, whose="the site")


def signed_status(status: Mapping[str, Any], *, challenge: bytes, key: nacl.signing.SigningKey) -> Mapping[str, Any]:
    """What a guardian says of itself to whoever has sent this challenge."""
    text = json.dumps(status)
    return {"status": text, "signature": to_base64(signed(challenge + text.encode(), purpose=_STATUS, key=key))}


def checked_status(answer: Mapping[str, Any], *, challenge: bytes, member: Member) -> Mapping[str, Any]:
    """What a guardian says of itself, if it is the one of the roster who answers, now.

    Raises: GuardianRefused if it is somebody else.
    """
    number = member.number
    try:
        text, signature = answer["status"], from_base64(answer["signature"])
        message, whose = challenge + text.encode(), f"guardian {number}"
        check_signature(signature, message, purpose=_STATUS, key=member.verify_key, whose=whose)
        said = json.loads(text)
    except (KeyError, TypeError, AttributeError, ValueError, GuardianRefused) as error:
        raise GuardianRefused(f"Guardian {number}: somebody else answers at {member.address}.") from error
    if not isinstance(said, dict) or said.get("number") != number:
        raise GuardianRefused(f"Guardian {number}: somebody else answers at {member.address}.")
    epochs = said.get("epochs")
    numbers = [said.get("enrolments"), *(epochs.values() if isinstance(epochs, dict) else [None])]
    if any(type(each) is not int for each in numbers) or not all(map(str.isdecimal, epochs or ())):
        raise GuardianRefused(f"Guardian {number} says of itself what is no number.")
    return said
