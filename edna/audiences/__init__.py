"""The optional application of a site that has audiences: wide roles with one key, and holds that several of them open together.

Not imported, and no table, on a site that does not list it. Knows sites; what audiences compute is in `edna.custody.audiences`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edna.audiences.holds import HeldData, Request, agree, ask, hand_on, read, requests, uses
    from edna.audiences.membership import (
        Person,
        card_of,
        create,
        delete,
        is_there,
        is_usable,
        join,
        leave,
        leave_many,
        member,
        members,
        new_member,
        public_key,
        secret_keys,
    )
    from edna.audiences.notices import Use

_PLACES = {
    "notices": ("Use",),
    "holds": ("HeldData", "Request", "agree", "ask", "hand_on", "read", "requests", "uses"),
    "membership": (
        "Person",
        "card_of",
        "create",
        "delete",
        "is_there",
        "is_usable",
        "join",
        "leave",
        "leave_many",
        "member",
        "members",
        "new_member",
        "public_key",
        "secret_keys",
    ),
}

__all__ = [
    "HeldData",
    "Person",
    "Request",
    "Use",
    "agree",
    "ask",
    "card_of",
    "create",
    "delete",
    "hand_on",
    "is_there",
    "is_usable",
    "join",
    "leave",
    "leave_many",
    "member",
    "members",
    "new_member",
    "public_key",
    "read",
    "requests",
    "secret_keys",
    "uses",
]


def __getattr__(name: str) -> Any:
    # Late: Django imports this package before its models may be imported.
    for module, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"edna.audiences.{module}"), name)
    raise AttributeError(f"module 'edna.audiences' has no attribute {name!r}")
