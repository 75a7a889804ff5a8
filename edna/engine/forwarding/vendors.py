"""Values as the driver of another kind of database handed them over, as that of this one does: for a site that has moved.

Invariant: what comes out is what this database would hand over had the row been moved by Django itself (``dumpdata``, ``loaddata``), so
that a reveal can compare and write it. What a column is, the record's own stamp says, however the tables have changed since. A type
that is not known here is refused rather than guessed. Knows fields and kinds of databases; reads no tables.
"""

from __future__ import annotations

import datetime
import decimal
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.apps import apps
from django.db.models import Field, Model

from edna import json_keys
from edna.db.cursors import connection_of
from edna.db.rows import Table, table_of
from edna.engine.forwarding import table_history
from edna.errors import ConfigurationError
from edna.records.bag import Bag
from edna.records.diff import Blobs, Files, Listed, Mentions, Owners, RowBatch, Shares
from edna.records.speaksfor import SpeaksFor

#: Makes a value of another kind of database one of this kind.
Converter = Callable[[Any], Any]

_PLAIN = (str, bytes, int, float, type(None))
#: What every driver hands over alike.
_ALIKE = frozenset(
    {
        *("AutoField", "BigAutoField", "SmallAutoField", "IntegerField", "BigIntegerField", "SmallIntegerField"),
        *("PositiveIntegerField", "PositiveBigIntegerField", "PositiveSmallIntegerField", "FloatField"),
        *("CharField", "TextField", "SlugField", "FileField", "FilePathField", "BinaryField"),
        *("GenericIPAddressField", "IPAddressField", "DateField", "TimeField"),
    }
)


def converter(field: Field[Any, Any], *, using: str) -> Converter | None:
    """What brings values of a column here; None if they are the same everywhere.

    A converter raises ConfigurationError for a value of a type that it does not know.
    """
    connection = connection_of(using)
    kind, vendor = field.get_internal_type(), connection.vendor
    if kind in _ALIKE:
        return None
    if kind in ("BooleanField", "NullBooleanField"):
        return _of((bool, int), int if vendor == "mysql" else bool)
    if kind == "DecimalField":
        return _of((decimal.Decimal, float, int), _to_number if vendor == "sqlite" else _to_decimal(field))
    if kind == "DateTimeField":
        zone = connection.timezone
        if vendor == "postgresql":
            return _of(
                (datetime.datetime,), lambda value: value if value.tzinfo or not zone else value.replace(tzinfo=zone)
            )
        return _of((datetime.datetime,), lambda value: _naive(value, zone))
    if kind == "DurationField":
        if connection.features.has_native_duration_field:
            return _of((int, datetime.timedelta), lambda v: datetime.timedelta(microseconds=v) if type(v) is int else v)
        return _of(
            (int, datetime.timedelta), lambda v: v if type(v) is int else v // datetime.timedelta(microseconds=1)
        )
    if kind == "UUIDField":
        if vendor == "postgresql":
            return _of((str, uuid.UUID), lambda value: uuid.UUID(str(value)))
        native = connection.features.has_native_uuid_field
        return _of((str, uuid.UUID), lambda v: str(uuid.UUID(str(v))) if native else uuid.UUID(str(v)).hex)
    if kind == "JSONField":
        return _of((str,), _as_jsonb if vendor == "postgresql" else lambda value: json.dumps(json.loads(value)))
    return _of(_PLAIN, lambda value: value)


def brought_here(
    head: Bag, diffs: Sequence[RowBatch], speaks_for: Sequence[SpeaksFor], *, using: str
) -> tuple[Bag, list[RowBatch], list[SpeaksFor]]:
    """What a bag holds, as this kind of database has it, and a head that says so.

    Raises:
        ConfigurationError: a column, or the type of a value, is not known. Nothing was changed.
    """
    try:
        moved = [_batch(batch, using=using) for batch in diffs]
        key = _key_converter(head.principal_model, using=using) if speaks_for else None
        voices = [
            voice._replace(principal=key(voice.principal), owner=key(voice.owner)) if key else voice
            for voice in speaks_for
        ]
        return replace(head, database=connection_of(using).vendor), moved, voices
    except (LookupError, ValueError, decimal.InvalidOperation):
        pass
    # Outside of the handler, whose frames hold values.
    raise ConfigurationError(
        f"A bag holds values of a {head.database} database that cannot be read as those of a {connection_of(using).vendor} one, because "
        "their columns are of a kind that edna does not know: reveal it where it was made. Nothing was changed."
    )


def columns_here(label: str, stamp: str, names: Iterable[str], *, using: str) -> dict[str, Converter]:
    """A converter for each of these columns that needs one, of a model as it was at that stamp.

    Raises:
        LookupError: there is no such model or column.
    """
    fields = table_history.fields_at(label, stamp) or _fields_now(label)
    converters = {name: converter(fields[json_keys.column(name)], using=using) for name in dict.fromkeys(names)}
    return {name: convert for name, convert in converters.items() if convert is not None}


def _fields_now(label: str) -> Mapping[str, Field[Any, Any]]:
    return {field.name: _target(field) for field in _table(label).fields}


def _table(label: str) -> Table:
    model: type[Model] = apps.get_model(label)
    return table_of(model)


def _target(field: Field[Any, Any]) -> Field[Any, Any]:
    while field.remote_field is not None:
        field = field.target_field  # type: ignore[attr-defined]
    return field


def _key_converter(label: str, *, using: str) -> Converter | None:
    """For primary keys of a model of today: a principal's."""
    return converter(_target(_table(label).key[0]), using=using)


def _batch(batch: RowBatch, *, using: str) -> RowBatch:
    if isinstance(batch, Mentions):
        key = _key_converter(batch.model, using=using)
        return batch if key is None else replace(batch, rows=[[key(value) for value in row] for row in batch.rows])
    if isinstance(batch, Shares | Files | Blobs | Listed):
        return batch
    names = batch.key if isinstance(batch, Owners) else batch.layout
    needed = columns_here(batch.model, batch.stamp, names, using=using)
    converters = [needed.get(name) if name in names else None for name in batch.layout]
    if not any(converters):
        return batch
    return replace(batch, rows=[_row(converters, row) for row in batch.rows])


def _row(converters: Sequence[Converter | None], row: Sequence[Any]) -> list[Any]:
    return [value if convert is None else convert(value) for convert, value in zip(converters, row, strict=True)]


def _of(types: tuple[type, ...], convert: Converter) -> Converter:
    def checked(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, types):
            raise ValueError("a type that this column does not have")
        return convert(value)

    return checked


def _to_number(value: Any) -> int | float:
    """As SQLite keeps decimals: whole ones as integers."""
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _to_decimal(field: Any) -> Converter:
    """As Django reads SQLite's numbers: 15 digits, and the column's places."""
    exponent = decimal.Decimal(1).scaleb(-field.decimal_places)
    read = decimal.Context(prec=15)

    def convert(value: Any) -> decimal.Decimal:
        found = value if isinstance(value, decimal.Decimal) else read.create_decimal_from_float(value)
        return found.quantize(exponent, context=field.context)

    return convert


def _naive(value: datetime.datetime, zone: datetime.tzinfo | None) -> datetime.datetime:
    return value.astimezone(zone or datetime.UTC).replace(tzinfo=None) if value.tzinfo else value


def _as_jsonb(text: str) -> str:
    """As PostgreSQL writes it: members by the length of their names, then by their bytes."""
    return _jsonb(json.loads(text, parse_float=decimal.Decimal))


def _jsonb(value: Any) -> str:
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: (len(member[0].encode()), member[0].encode()))
        return "{" + ", ".join(f"{_jsonb(name)}: {_jsonb(each)}" for name, each in members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_jsonb, value)) + "]"
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return json.dumps(value, ensure_ascii=False)
