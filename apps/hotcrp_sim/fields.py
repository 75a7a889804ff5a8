"""Columns as HotCRP's own tables have them: ``varbinary``, ``tinyint``, seconds, and the zero that means nobody.

On SQLite and PostgreSQL each is the nearest type that there is.
"""

from __future__ import annotations

import datetime
from typing import Any

from django.db import models
from django.db.models.fields.related_descriptors import ForwardManyToOneDescriptor
from django.db.models.lookups import IContains


class Key(models.AutoField):
    """A number that the database counts up, to which a reference may be 0.

    Django's own field refuses a 0 on MariaDB, where it would ask for the next number; but a foreign key of HotCRP that is 0
    refers to nobody.
    """

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return value if prepared else self.get_prep_value(value)


class Nobody(ForwardManyToOneDescriptor):
    """Reads 0 as None, without asking the database, and writes None as 0."""

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        if instance is not None and getattr(instance, self.field.attname) == 0:
            return None
        return super().__get__(instance, cls)

    def __set__(self, instance: Any, value: Any) -> None:
        super().__set__(instance, value)
        if value is None:
            setattr(instance, self.field.attname, 0)


class OrNobody(models.ForeignKey):
    """A foreign key that is never NULL; 0 says that there is nobody (or no paper, or no comment).

    The database cannot watch such a key. Follow it with ``prefetch_related``: ``select_related`` leaves out the rows with 0.
    """

    forward_related_accessor_class = Nobody

    def __init__(self, to: Any, **options: Any) -> None:
        words = {
            "default": 0,
            "blank": True,
            "db_constraint": False,
            "on_delete": models.DO_NOTHING,
            "related_name": "+",
        }
        super().__init__(to, **{**words, **options})

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        # From 6.1 on Django asks the key that is referred to, and no key of MySQL's or MariaDB's is counted from 0.
        return 0 if value == 0 else super().get_db_prep_save(value, connection)

    def validate(self, value: Any, model_instance: Any) -> None:
        if value != 0:
            super().validate(value, model_instance)


class Varbinary(models.CharField):
    """Text in a column of bytes: HotCRP keeps it so, in UTF-8, to compare it byte by byte."""

    def db_type(self, connection: Any) -> str | None:
        return f"varbinary({self.max_length})" if connection.vendor == "mysql" else super().db_type(connection)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        # Old entries can hold Latin-1: they are shown with a mark rather than breaking the page.
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


@Varbinary.register_lookup
class VarbinaryIContains(IContains):
    """Bytes have no case: MariaDB has to be told that they are text."""

    def as_mysql(self, compiler: Any, connection: Any) -> Any:
        left, parameters = self.process_lhs(compiler, connection)
        right, more = self.process_rhs(compiler, connection)
        return f"CONVERT({left} USING utf8mb4) LIKE {right}", [*parameters, *more]


class Digest(models.BinaryField):
    """A checksum, as bytes."""

    def db_type(self, connection: Any) -> str | None:
        return f"varbinary({self.max_length})" if connection.vendor == "mysql" else super().db_type(connection)


class TinyInteger(models.SmallIntegerField):
    """One byte."""

    def db_type(self, connection: Any) -> str | None:
        return "tinyint" if connection.vendor == "mysql" else super().db_type(connection)


class Float(models.FloatField):
    """Four bytes, not eight."""

    def db_type(self, connection: Any) -> str | None:
        return "float" if connection.vendor == "mysql" else super().db_type(connection)


class Seconds(models.BigIntegerField):
    """A moment, as seconds since 1970; 0 where NULL is not allowed means never. Python sees a time, or None."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        if not options.get("null"):
            options = {"default": 0, **options}
        super().__init__(*arguments, **options)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> datetime.datetime | None:
        return self.to_python(value)

    def to_python(self, value: Any) -> Any:
        if isinstance(value, datetime.datetime) or value is None:
            return value
        seconds = int(value)
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC) if seconds or self.null else None

    def get_prep_value(self, value: Any) -> Any:
        if isinstance(value, datetime.datetime):
            return int(value.timestamp())
        return 0 if value is None and not self.null else super().get_prep_value(value)
