"""Columns as the original schema has them on MySQL and MariaDB; on other databases the nearest type that Django knows.

A foreign key takes the type of the key that it refers to, so that the database can enforce it; the original, which has no
foreign keys, mixes signed and unsigned there.
"""

from __future__ import annotations

import datetime
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class _MySQLType:
    """A field whose column has the type ``mysql_type`` there."""

    mysql_type: str

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return self.mysql_type if connection.vendor == "mysql" else super().db_type(connection)  # type: ignore[misc]


class UnsignedAutoField(_MySQLType, models.AutoField):
    """``int unsigned``, counted by the database."""

    mysql_type = "integer UNSIGNED AUTO_INCREMENT"

    def rel_db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "integer UNSIGNED" if connection.vendor == "mysql" else super().rel_db_type(connection)


class UnsignedBigAutoField(_MySQLType, models.BigAutoField):
    """``bigint unsigned``, counted by the database."""

    mysql_type = "bigint UNSIGNED AUTO_INCREMENT"

    def rel_db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "bigint UNSIGNED" if connection.vendor == "mysql" else super().rel_db_type(connection)


class ShortTextField(_MySQLType, models.TextField):
    """``text``: up to 64 KiB."""

    mysql_type = "text"


class MediumTextField(_MySQLType, models.TextField):
    """``mediumtext``: up to 16 MiB."""

    mysql_type = "mediumtext"


class TinyIntegerField(_MySQLType, models.SmallIntegerField):
    """``tinyint``: -128 to 127."""

    mysql_type = "tinyint"


class SingleFloatField(_MySQLType, models.FloatField):
    """``float(24)``: a float of four bytes, about seven digits."""

    mysql_type = "float"

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "real" if connection.vendor == "postgresql" else super().db_type(connection)


class SecondsField(_MySQLType, models.DateTimeField):
    """``datetime``: whole seconds, on every database alike."""

    mysql_type = "datetime"

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        return value.replace(microsecond=0) if isinstance(value, datetime.datetime) else value

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        # What the object says must be what a later read of it says.
        value = super().pre_save(model_instance, add)
        if isinstance(value, datetime.datetime) and value.microsecond:
            value = value.replace(microsecond=0)
            setattr(model_instance, self.attname, value)
        return value
