"""From which numbers the primary keys of pseudoprincipals, and of what is made beside them, are drawn (docs/decisions/0001).

Invariant (nothing linkable): what the next row of somebody real is called does not depend on how many were drawn, nor on which. Negative
numbers never meet what a table counts; positive ones lie below a number beyond which it goes on counting. Knows settings and columns;
sends no statement.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from django.db.models import AutoField, Field

from edna import conf
from edna.errors import SpecError

#: The largest integer that JavaScript reads exactly: admin pages and JSON APIs round anything beyond.
_SAFE_INTEGER: Final = 2**53 - 1


class KeyRange(NamedTuple):
    """Both are in it. ``counted_from``: the table must give its own rows no number up to this one; None if it never comes near."""

    lowest: int
    highest: int
    counted_from: int | None = None


def key_range(field: Field[Any, Any], connection: Any) -> KeyRange:
    """Of a column of integers, as the setting has it.

    Raises:
        SpecError: it has no negative numbers, and these are asked for.
    """
    low, high = connection.ops.integer_field_range(field.get_internal_type())
    low, high = max(low or -_SAFE_INTEGER, -_SAFE_INTEGER), min(high or _SAFE_INTEGER, _SAFE_INTEGER)
    if conf.pseudoprincipal_keys() == "negative":
        if low >= 0:
            raise SpecError(
                f"{field.model._meta.label} has an unsigned primary key, so pseudoprincipals cannot have negative ones: "
                'set EDNA["PSEUDOPRINCIPAL_KEYS"] to "random" or "sequence".'
            )
        return KeyRange(low + 1, -1)
    # The second quarter: the first is for the rows that there are, and the upper half for those that are to come.
    half = high // 2
    counts = isinstance(field, AutoField) and connection.vendor != "postgresql"
    return KeyRange(half // 2, half - 1, half if counts else None)
