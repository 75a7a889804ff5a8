"""Tickets: what somebody shows who asks a guardian for help, and what stops it.

Keeps: a guardian stores hashes. Does not know: policies.
"""

from __future__ import annotations

import hmac
from typing import Final

from edna.crypto.keys import derive, fingerprint

TOKEN_BYTES: Final = 32
VETO_BYTES: Final = 32
#: What a person reads aloud of a ticket: enough that nobody makes another with the same.
_NAME_LETTERS: Final = 16


def token_for(secret: bytes, *, number: int) -> bytes:
    """The token of one guardian. Each its own: one who is shown a token could use it with the others."""
    return derive(secret, purpose=b"edna.guard.tok.1", data=bytes((number,)), size=TOKEN_BYTES)


def ticket_of(token: bytes) -> bytes:
    """What is stored of a token: its hash."""
    return fingerprint(token, purpose=b"edna.guard.tick1")


def name_of(ticket: bytes) -> str:
    """What a person's page and a guardian's message call a ticket."""
    return ticket.hex()[:_NAME_LETTERS]


def veto_of(secret: bytes, *, enrolment: bytes, number: int) -> bytes:
    """The word by which the owner of a secret vetoes at one guardian: whoever has the secret can say it, and nobody else. Each its own:
    one who has heard it could say it to the others for ever."""
    return derive(secret[:64], purpose=b"edna.guard.veto2", data=enrolment + bytes((number,)))


def veto_hashes(secret: bytes, *, enrolment: bytes, count: int) -> bytes:
    """What each guardian stores: the hashes of all words, so that one can help another to what it has lost."""
    words = (veto_of(secret, enrolment=enrolment, number=number) for number in range(1, count + 1))
    return b"".join(fingerprint(word, purpose=b"edna.guard.veto1") for word in words)


def is_veto(word: bytes, hashes: bytes, *, number: int) -> bool:
    """Whether it is the word of that guardian."""
    ours = hashes[(number - 1) * VETO_BYTES : number * VETO_BYTES]
    return hmac.compare_digest(fingerprint(word, purpose=b"edna.guard.veto1"), ours)
