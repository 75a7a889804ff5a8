"""What a record migration can do with a record."""

from __future__ import annotations

import pytest

import edna
from edna.records.sealedrecord import SealedRecord


def removed() -> SealedRecord:
    return SealedRecord("remove", "shop.post", {"id": 1}, {"id": 1, "name": "Ann Lee", "note": None})


def changed() -> SealedRecord:
    return SealedRecord("modify", "shop.post", {"id": 1}, {"name": "Ann Lee"}, {"name": "No One"})


def test_it_is_public_and_shows_no_values() -> None:
    assert edna.SealedRecord is SealedRecord
    assert "Ann" not in repr(removed())


def test_values_by_column() -> None:
    assert (removed().removed, changed().removed) == (True, False)
    assert ("id" in changed(), "note" in changed(), "note" in removed()) == (True, False, True)
    assert (changed()["id"], changed()["name"]) == (1, "Ann Lee")
    with pytest.raises(KeyError):
        changed()["note"]


def test_renamed_on_every_side() -> None:
    record = changed()
    record.set("name", "Ann")
    record.rename("name", "title")
    record.rename("id", "number")
    record.rename("nothing", "else")
    assert (record.key, record.old, record.new) == ({"number": 1}, {"title": "Ann"}, {"title": "No One"})
    assert (record.python_old, record.python_new) == ({"title"}, set())


def test_dropped_on_both_sides() -> None:
    record = changed()
    record.drop("name")
    record.drop("nothing")
    assert (record.old, record.new) == ({}, {})


def test_set_needs_a_record_that_is_about_the_column() -> None:
    row, change = removed(), changed()
    for record in (row, change):
        record.set("colour", "red")
    assert row["colour"] == "red"
    assert "colour" not in change


def test_derived_where_the_sources_are() -> None:
    row, change, other = (
        removed(),
        changed(),
        SealedRecord("modify", "shop.post", {"id": 1}, {"note": "a"}, {"note": "b"}),
    )
    for record in (row, change, other):
        record.derive("first", lambda name: name.split()[0], "name")
    assert row["first"] == "Ann"
    assert (change.old["first"], change.new["first"]) == ("Ann", "No")
    assert "first" not in other
    change.derive("slug", lambda key, name: f"{key}-{name}", "id", "name")
    assert (change.old["slug"], change.new["slug"]) == ("1-Ann Lee", "1-No One")
    with pytest.raises(KeyError):
        change.derive("both", lambda name, note: name, "name", "note")


def test_split_off() -> None:
    row, change = removed(), changed()
    part = row.split_off("shop.Name", {"name": "words"}, key={"post": "id"}, size=3)
    assert part is not None
    assert (part.operation, part.model, part.key, part.old) == (
        "remove",
        "shop.name",
        {"post": 1},
        {"words": "Ann Lee", "post": 1, "size": 3},
    )
    assert (row.old, part.python_old) == ({"id": 1, "note": None}, {"size"})
    part = change.split_off("shop.Name", {"name": "words"}, key={"post": "id"}, size=3)
    assert part is not None
    assert (part.operation, part.key, part.old, part.new) == (
        "modify",
        {"post": 1},
        {"words": "Ann Lee"},
        {"words": "No One"},
    )
    assert (change.old, change.new) == ({}, {})
    assert change.split_off("shop.Name", {"name": "words"}, key={"post": "id"}) is None


def test_further_records() -> None:
    another = removed().another("shop.Log", post=1)
    assert (another.removed, another.model, another.old, another.python_old) == (
        True,
        "shop.log",
        {"post": 1},
        {"post"},
    )
    change = removed().change("shop.Log", key={"id": 2}, old={"a": 1}, new={"a": 0})
    assert (change.removed, change.key, change.old, change.new) == (False, {"id": 2}, {"a": 1}, {"a": 0})
    with pytest.raises(ValueError, match="same columns"):
        removed().change("shop.Log", key={"id": 2}, old={"a": 1}, new={})
