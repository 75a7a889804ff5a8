"""A custom field: what the column holds is not what Python sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import models


@dataclass(frozen=True)
class Point:
    x: int
    y: int


class PointField(models.Field):
    """Two whole numbers in one column of text."""

    def db_type(self, connection: Any) -> str:
        return "varchar(60)"

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Point | None:
        return self.to_python(value)

    def to_python(self, value: Any) -> Point | None:
        if value is None or isinstance(value, Point):
            return value
        return Point(*map(int, str(value).split(";")))

    def get_prep_value(self, value: Any) -> str | None:
        point = self.to_python(value)
        return None if point is None else f"{point.x};{point.y}"
