"""Python's values as the database driver would hand them back: for columns that a record does not have, or that a rule has set.

Knows fields and the kinds of databases. Reads no tables; a default that only the database can compute costs one statement.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db.models import (
    NOT_PROVIDED,
    AutoField,
    BinaryField,
    DateField,
    DateTimeField,
    Expression,
    Field,
    ForeignKey,
    Model,
    TimeField,
    Value,
)
from django.db.models.sql import Query
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime, parse_time

from edna.db.cursors import connection_of

#: Makes a value for one row; constant defaults are computed once.
Maker = Callable[[], Any]


def raw_value(field: Field[Any, Any], value: Any, *, using: str) -> Any:
    """``value``, as on a model instance, in the form in which this database's driver reads it.

    Raises: what the field raises for a value that is none of its own.
    """
    connection = connection_of(using)
    if isinstance(value, Model):
        value = getattr(value, field.target_field.attname) if isinstance(field, ForeignKey) else value.pk
    if isinstance(value, datetime.datetime) and settings.USE_TZ and timezone.is_naive(value):
        return value  # read from the database: Python's own have a time zone
    while isinstance(field, ForeignKey) and not isinstance(field.remote_field.model, str):
        field = field.target_field
    if isinstance(field, ForeignKey):
        return value  # of a migration: what it refers to is only a name there
    prepared = field.get_db_prep_save(value, connection)
    if type(prepared).__module__.startswith("psycopg") and hasattr(prepared, "obj"):
        # A wrapper that tells PostgreSQL's driver the type.
        held = prepared.obj
        prepared = held if isinstance(held, bytes | bytearray | memoryview) else (prepared.dumps or json.dumps)(held)
    if isinstance(prepared, memoryview | bytearray):
        return bytes(prepared)
    if isinstance(prepared, int) and not isinstance(prepared, bool):
        return int(prepared)
    if isinstance(prepared, ipaddress.IPv4Address | ipaddress.IPv6Address):
        return str(prepared)
    if isinstance(prepared, uuid.UUID) and connection.vendor == "mysql":
        return str(prepared)
    if prepared is not None and connection.vendor == "sqlite" and field.get_internal_type() == "DecimalField":
        return float(prepared)
    if isinstance(prepared, str):
        # SQLite and MariaDB take times as texts, and hand them back as times.
        if isinstance(field, DateTimeField):
            return parse_datetime(prepared)
        if isinstance(field, DateField):
            return parse_date(prepared)
        if isinstance(field, TimeField):
            return parse_time(prepared)
    return prepared


def default_maker(field: Field[Any, Any], *, using: str) -> Maker | None:
    """What fills a column that is added to rows that exist, as Django's ``AddField`` does it; None if nothing does."""
    db_default = getattr(field, "db_default", NOT_PROVIDED)
    if db_default is not NOT_PROVIDED:
        return _constant(_database_default(field, db_default, using=using))
    if field.has_default():
        if callable(field.default):
            return lambda: raw_value(field, field.get_default(), using=using)
        return _constant(raw_value(field, field.get_default(), using=using))
    if field.null:
        return _constant(None)
    if field.blank and field.empty_strings_allowed:
        return _constant(b"" if isinstance(field, BinaryField) else "")
    if getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False):
        now = timezone.now()
        local = timezone.localtime(now) if settings.USE_TZ else now
        if isinstance(field, DateTimeField):
            return _constant(raw_value(field, now, using=using))
        return _constant(raw_value(field, local.date() if isinstance(field, DateField) else local.time(), using=using))
    return None


def is_automatic(field: Field[Any, Any]) -> bool:
    """Whether the database numbers the rows by this column."""
    return field.primary_key and isinstance(field, AutoField)


def _constant(value: Any) -> Maker:
    return lambda: value


def _database_default(field: Field[Any, Any], default: Any, *, using: str) -> Any:
    if isinstance(default, Value):
        default = default.value
    if not isinstance(default, Expression):
        return raw_value(field, default, using=using)
    connection = connection_of(using)
    query: Any = Query(None)  # an expression of a default refers to no column
    sql, params = query.get_compiler(connection=connection).compile(default.resolve_expression(query))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {sql}", params)
        (value,) = cursor.fetchone()
    return value
