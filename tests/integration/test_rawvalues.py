"""A value that Python gives a column is, in a record, what the driver of this database would have read from it."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import pytest
from django.db.models import BooleanField, DateTimeField, IntegerField, TextField, Value
from django.db.models.functions import Now

from edna.db import rows as raw
from edna.db.rows import table_of
from edna.engine.forwarding.driver_values import default_maker, raw_value

pytestmark = pytest.mark.django_db

VALUES: dict[str, Any] = {
    "text": "né\\ 'quoted'",
    "name": "NULL",
    "blob": bytes(range(256)),
    "whole": -(2**31),
    "big": 2**63 - 1,
    "small": 0,
    "amount": decimal.Decimal("12345.678900"),
    "ratio": 0.1,
    "flag": True,
    "day": datetime.date(2024, 2, 29),
    "moment": datetime.datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=datetime.timezone(datetime.timedelta(hours=5))),
    "clock": datetime.time(1, 2, 3, 4),
    "span": datetime.timedelta(days=-1, microseconds=7),
    "data": {"a": [1, None, "x"]},
    "unique_id": uuid.UUID("12345678-1234-5678-1234-567812345678"),
    "address": "::1",
}


@pytest.mark.parametrize("name", VALUES)
def test_it_is_what_is_read(world: Any, name: str) -> None:
    row = world.Everything.objects.create(owner=world.Person.objects.create(), **{name: VALUES[name]})
    table = table_of(world.Everything)
    [(read,)] = raw.read(table, [name], [(row.pk,)], lock=False, using="default")

    made = raw_value(table.field(name), VALUES[name], using="default")

    assert made == read
    assert type(made) is type(read) or name in ("flag", "amount")  # numbers, of which the database chooses the kind
    raw.update(table, [name], [(row.pk, made)], using="default")
    row.refresh_from_db()
    assert row.owner_id
    assert getattr(row, name) == VALUES[name]


def test_null_is_null(world: Any) -> None:
    table = table_of(world.Everything)
    assert {raw_value(table.field(name), None, using="default") for name in VALUES} == {None}


def test_a_reference_is_the_key(world: Any) -> None:
    person = world.Person.objects.create()
    table = table_of(world.Everything)
    row = world.Everything.objects.create(owner=person)
    [(read,)] = raw.read(table, ["owner"], [(row.pk,)], lock=False, using="default")
    assert raw_value(table.field("owner"), person, using="default") == read
    assert raw_value(table.field("owner"), person.pk, using="default") == read


def test_defaults() -> None:
    def made(field: Any) -> Any:
        maker = default_maker(field, using="default")
        assert maker is not None
        return maker()

    assert made(IntegerField(default=3)) == 3
    assert made(BooleanField(default=False)) in (False, 0)
    assert made(IntegerField(db_default=4, default=5)) == 4
    assert made(IntegerField(db_default=Value(4))) == 4
    assert made(TextField(blank=True)) == ""
    assert made(TextField(null=True)) is None
    assert made(DateTimeField(db_default=Now())) is not None
    assert isinstance(made(DateTimeField(auto_now_add=True)), datetime.datetime)
    assert default_maker(IntegerField(), using="default") is None
