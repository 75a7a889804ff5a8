"""Values of one kind of database, as another one hands them over: what `truth` was on each, and what is made of it here."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from edna.db import rows
from edna.engine.forwarding import table_history
from edna.engine.forwarding.vendors import columns_here
from tests.installed import installed
from tests.moving.truth import HOLDER, PIECE, VALUES

pytestmark = pytest.mark.django_db(transaction=True)

_UIDS = {"id": PIECE, "owner": HOLDER, "before": PIECE, "uid": VALUES["uid"]}
_JSON = '{"z": [1, 2.5, null, true], "aa": {"\\u00fc": "x"}, "b": 100000000000000000000}'
_NAIVE = datetime.datetime(2026, 2, 28, 23, 59, 59, 123456)
#: Where the drivers differ; `test_what_this_driver_hands_over` holds each to its own.
RAW: dict[str, dict[str, Any]] = {
    "sqlite": {
        **{name: value.hex for name, value in _UIDS.items()},
        "flag": True,
        "maybe": False,
        "decimal": 1234567.125,
        "whole": 5,
        "moment": _NAIVE,
        "span": 34560000000001,
        "json": _JSON,
    },
    "mysql": {
        **{name: str(value) for name, value in _UIDS.items()},
        "flag": 1,
        "maybe": 0,
        "decimal": Decimal("1234567.125"),
        "whole": Decimal("5.00"),
        "moment": _NAIVE,
        "span": 34560000000001,
        "json": _JSON,
    },
    "postgresql": {
        **_UIDS,
        "flag": True,
        "maybe": False,
        "decimal": Decimal("1234567.125"),
        "whole": Decimal("5.00"),
        "moment": _NAIVE.replace(tzinfo=datetime.UTC),
        "span": datetime.timedelta(days=400, microseconds=1),
        "json": '{"b": 100000000000000000000, "z": [1, 2.5, null, true], "aa": {"ü": "x"}}',
    },
}


@pytest.fixture(scope="module")
def models(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    with django_db_blocker.unblock(), installed("tests.moving", principals=["moving.holder"]) as found:
        yield found


def here() -> dict[str, Any]:
    return {**VALUES, **RAW[connection.vendor]}


def test_what_this_driver_hands_over(models: Any) -> None:
    models.Holder.objects.create(id=HOLDER, name="holder")
    columns = {**VALUES, "owner_id": HOLDER, "before_id": None}
    models.Piece.objects.create(**{name: value for name, value in columns.items() if name not in ("owner", "before")})
    models.Piece.objects.update(before=PIECE)
    try:
        table = rows.table_of(models.Piece)
        [found] = rows.read_where(table, table.names, "slug", ["a-slug"], lock=False, using="default")
        assert dict(zip(table.names, found, strict=True)) == here()
    finally:
        models.Piece.objects.update(before=None)
        models.Piece.objects.all().delete()
        models.Holder.objects.all().delete()


@pytest.mark.parametrize("vendor", RAW)
def test_what_is_made_of_another_ones(models: Any, vendor: str) -> None:
    """Of its own as well: nothing is converted twice."""
    there = {**VALUES, **RAW[vendor]}
    needed = columns_here("moving.piece", "", there, using="default")
    made = {name: needed[name](value) if name in needed else value for name, value in there.items()}
    if vendor == "postgresql" != connection.vendor:
        # Its order of members is what moving the row would have made of it.
        assert made.pop("json") == json.dumps(json.loads(there["json"]))
        made["json"] = here()["json"]
    assert made == here()
    assert {name: type(value) for name, value in made.items()} == {name: type(value) for name, value in here().items()}


def test_null_stays_null(models: Any) -> None:
    needed = columns_here("moving.piece", "", VALUES, using="default")
    assert {convert(None) for convert in needed.values()} == {None}


@pytest.mark.parametrize(
    ("column", "value"), [("flag", "yes"), ("decimal", b"1"), ("moment", "2026-01-01"), ("uid", 7)]
)
def test_what_a_column_does_not_have_is_refused(models: Any, column: str, value: Any) -> None:
    needed = columns_here("moving.piece", "", [column], using="default")
    with pytest.raises(ValueError, match="a type that this column does not have"):
        needed[column](value)


def test_a_column_is_what_it_was_when_the_record_was_made() -> None:
    """By the migrations of its application, where the tables have changed since."""
    then = table_history.fields_at("contenttypes.contenttype", "0001_initial")
    assert "name" in then
    assert "name" not in {field.name for field in ContentType._meta.fields}
    assert table_history.fields_at("auth.permission", "0001_initial")["content_type"].get_internal_type() == "AutoField"
    assert table_history.fields_at("contenttypes.contenttype", table_history.newest("contenttypes")) == {}
    assert table_history.fields_at("moving.piece", "") == {}
    with pytest.raises(LookupError):
        table_history.fields_at("contenttypes.nothing", "0001_initial")
