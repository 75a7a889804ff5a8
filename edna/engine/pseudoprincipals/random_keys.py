"""Draws primary keys for new rows: at random, of any type that allows it, and free ones where they may meet.

Invariant (nothing linkable): a key tells nothing of when, by whom or beside which others it was drawn, and does not move what the next row
of somebody real is called (docs/decisions/0001). Reads which keys are taken; writes nothing.
"""

from __future__ import annotations

import secrets
import uuid
from typing import Any, Final

from django.db.models import Field, IntegerField, UUIDField
from django.db.models.fields import CharField

from edna import placeholders
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.db.rows import Table
from edna.errors import SpecError
from edna.key_ranges import key_range

#: How often keys are drawn again because rows have them already.
_DRAWS: Final = 20


def free_keys(key: Field[Any, Any], count: int, table: Table, *, using: str) -> list[Any]:
    """``count`` random keys that no row has."""
    keys = dict.fromkeys(random_keys(key, count, connection_of(using)))
    for _ in range(_DRAWS):
        for (taken,) in raw.read(table, table.key_names, [(each,) for each in keys], lock=False, using=using):
            del keys[taken]
        if len(keys) == count:
            return list(keys)
        # Only those that are missing: among many rows, some of a large draw are always taken.
        keys |= dict.fromkeys(random_keys(key, count - len(keys), connection_of(using)))
    raise SpecError(
        f"{table.model._meta.label} has too few possible primary keys for {count} more pseudoprincipals; give it a wider key."
    )


def random_keys(field: Field[Any, Any], count: int, connection: Any) -> list[Any]:
    if isinstance(field, UUIDField):
        return [uuid.uuid4() for _ in range(count)]
    if isinstance(field, IntegerField):
        found = key_range(field, connection)
        return _random_integers(found.lowest, found.highest, count)
    if isinstance(field, CharField):
        return [placeholders.random_string().make(field, None) for _ in range(count)]
    raise SpecError(
        f"{field.model._meta.label}: no random primary keys for a {type(field).__name__}; use an integer, UUID or text key."
    )


def _random_integers(lowest: int, highest: int, count: int) -> list[int]:
    """From one call to the system's generator; of 128 bits each, so that all are as likely."""
    drawn = secrets.token_bytes(16 * count)
    several = (int.from_bytes(drawn[start : start + 16], "big") for start in range(0, len(drawn), 16))
    return [lowest + number % (highest - lowest + 1) for number in several]
