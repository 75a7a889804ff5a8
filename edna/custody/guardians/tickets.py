"""Tickets: what somebody shows who asks a guardian for help, and what stops it.

Keeps: a guardian stores hashes. Does not know: policies.
"""

from __future__ import annotations

from typing import Final

from edna.crypto.keys import derive, fingerprint

TOKEN_BYTES: Final = 32
#: What a person reads aloud of a ticket: enough that nobody makes another with the same.
_NAME_LETTERS: Final = 10


def token_for(secret: bytes, *, number: int) -> bytes:
    """The token of one guardian. Each its own: one who is shown a token could use it with the others."""
    return derive(secret, purpose=b"edna.guard.tok.1", data=bytes((number,)), size=TOKEN_BYTES)


def ticket_of(token: bytes) -> bytes:
    """What is stored of a token: its hash."""
    return fingerprint(token, purpose=b"edna.guard.tick1")


def name_of(ticket: bytes) -> str:
    """What a person's page and a guardian's message call a ticket."""
    return ticket.hex()[:_NAME_LETTERS]


def veto_of(secret: bytes, *, enrolment: bytes) -> bytes:
    """The word by which the owner of a secret vetoes: whoever has the secret can say it, and nobody else."""
    return derive(secret[:64], purpose=b"edna.guard.veto2", data=enrolment)


def veto_hash(veto: bytes) -> bytes:
    """What is stored of it."""
    return fingerprint(veto, purpose=b"edna.guard.veto1")
