"""Many values as one parameter of a statement, for MySQL's driver: it writes parameters into the text of the statement itself, one
Python call each, which would be most of what a statement about a hundred rows costs.

Invariant: every value is written as the driver writes it on its own, so that what was read is written back to the byte. And it stays
a parameter: whoever logs statements without their parameters logs no values. Knows no tables.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper


class Packed:
    """Values as they stand in a statement."""

    __slots__ = ("_text",)

    def __init__(self, text: bytes) -> None:
        self._text = text

    def __repr__(self) -> str:
        return f"<{len(self._text)} bytes of values>"

    @staticmethod
    def write(packed: Packed, encoders: Any) -> bytes:
        """What the driver calls for a parameter of this type."""
        return packed._text


def packed(rows: Sequence[Sequence[Any]], connection: BaseDatabaseWrapper, *, between: str) -> Packed:
    """The values of all rows, with commas, and ``between`` one row and the next."""
    connection.ensure_connection()
    driver: Any = connection.connection
    driver.encoders[Packed] = Packed.write
    columns = [_written(values, driver) for values in zip(*rows, strict=True)]
    return Packed(between.encode().join(map(b",".join, zip(*columns, strict=True))))


def _written(values: tuple[Any, ...], driver: Any) -> Iterable[bytes]:
    """One column. What is the same in all rows, as most of what rows of placeholders hold, is written once."""
    if is_one_value(values):
        return itertools.repeat(_literal(values[0], driver), len(values))
    kinds = set(map(type, values))
    if kinds == {int}:
        return map(b"%d".__mod__, values)
    # What the driver does with a text, or with bytes, or a time, without asking of each what it is.
    quoted, encoding = driver.string_literal, driver.encoding
    if kinds == {str}:
        return [quoted(value.encode(encoding)) for value in values]
    if kinds == {bytes}:
        return [b"_binary " + quoted(value) for value in values]
    if kinds == {datetime.datetime} and {value.tzinfo for value in values} == {None}:
        return [b"'%b'" % str(value).encode() for value in values]
    return [_literal(value, driver) for value in values]


def _literal(value: Any, driver: Any) -> bytes:
    # Told which are bytes, or it would read them as text of the connection.
    return (b"_binary " if type(value) is bytes else b"") + bytes(driver.literal(value))


#: Equal values of these types are the same to the bit.
_EXACT: Final = frozenset({int, str, bytes, bool, type(None)})


def is_one_value(values: tuple[Any, ...]) -> bool:
    """Whether these are all the same to the bit."""
    first = values[0]
    # Counted before their types are: of columns that vary, as keys do, nothing else is asked.
    return type(first) in _EXACT and values.count(first) == len(values) and len(set(map(type, values))) == 1
