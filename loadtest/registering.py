"""Keys for the people of a site, when it is filled. Opens the database; no user of the load imports it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Model

import edna
from loadtest.people import Account

_BATCH = 1000


def register_ordinary(users: Sequence[Model]) -> None:
    """Everybody who will never disguise anything: the rows of their keys are there, and nobody needs the keys."""
    for start in range(0, len(users), _BATCH):
        edna.register_principals(users[start : start + _BATCH])


def register_disguiser(
    user: Model,
    *,
    name: str,
    password: str,
    identifier: str | None = None,
    rows: int,
    marks: dict[str, Any] | None = None,
) -> Account:
    """Somebody whose recovery code and password open their key. ``name`` is what they log in with, ``identifier`` what they type beside
    the password, as the application's pages have it."""
    made = edna.register_principal(user, password=password, identifier=identifier)
    return Account(name, str(made.recovery_code), rows, marks or {}, user.pk)
