"""Somebody takes their data along: all that is theirs, disguised or not, and nothing of anybody else."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

import edna
from edna.errors import PrincipalError
from tests.lobsters.community import Community, Member
from tests.lobsters.models import Comment, Message, Story
from tests.lobsters.specs import ANON, CLEAR_OUTBOX, GDPR, REDACT_COMMENTS
from tests.support import nothing_changes

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]

SCHEMA = json.loads((Path(settings.BASE_DIR) / "docs" / "export-1.schema.json").read_text())


def exported(member: Member) -> dict[str, Any]:
    """Through JSON and back, as whoever reads the file has it."""
    with nothing_changes(), member.unlock() as unlocked:
        document: dict[str, Any] = json.loads(json.dumps(edna.export(unlocked)))
    fits(document, SCHEMA)
    return document


def fits(value: Any, schema: dict[str, Any]) -> None:
    """The part of JSON Schema that ours uses."""
    names = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    assert not kinds or isinstance(value, tuple(names[kind] for kind in kinds)), (value, schema)
    assert value in schema.get("enum", [value])
    assert value == schema.get("const", value)
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value)
        assert schema.get("additionalProperties", True) or set(value) <= set(schema["properties"])
        for name, part in schema.get("properties", {}).items():
            fits(value[name], part)
    elif isinstance(value, list):
        for each in value:
            fits(each, schema.get("items", {}))


def rows(document: dict[str, Any], model: Any, state: str) -> list[dict[str, Any]]:
    label = model._meta.label_lower
    return [row for row in document["rows"] if (row["model"], row["state"]) == (label, state)]


def test_what_is_there_is_all_of_theirs_and_names_nobody_else(community: Community) -> None:
    ann = community.ann
    document = exported(ann)
    assert {row["key"][0] for row in rows(document, Story, "present")} == set(ann.owns(Story))
    assert {row["key"][0] for row in rows(document, Comment, "present")} == set(ann.owns(Comment))
    messages = rows(document, Message, "present")
    assert {row["key"][0] for row in messages} == {*ann.owns(Message, "author"), *ann.owns(Message, "recipient")}
    assert {"author", "recipient"} <= {name for row in messages for name in row["left_out"]}
    for row in messages:
        assert {row["columns"].get(name, ann.pk) for name in ("author", "recipient")} == {ann.pk}
    [account] = [row for row in document["rows"] if row["model"] == "lobsters.user"]
    assert account["columns"]["email"] == "ann@example.org"
    text = json.dumps(document)
    assert "bob@example.org" not in text
    assert "I am bob" not in text


def test_what_is_disguised_is_in_it_with_disguise_and_day(community: Community) -> None:
    ann = community.ann
    comments = dict(Comment.objects.filter(user=ann.pk).values_list("pk", "text"))
    ann.disguise(REDACT_COMMENTS)
    ann.disguise(ANON)
    document = exported(ann)
    changed = rows(document, Comment, "changed")
    assert {row["key"][0]: row["columns"]["text"] for row in changed} == comments
    assert {row["disguise"] for row in changed} == {REDACT_COMMENTS}
    assert all(row["day"] for row in changed)
    # Under other names they are theirs all the same.
    assert {row["key"][0] for row in rows(document, Comment, "present")} == set(comments)


def test_who_has_left_takes_everything_along_and_nothing_of_who_has_their_number(community: Community) -> None:
    ann = community.ann
    stories = set(ann.owns(Story))
    ann.disguise(CLEAR_OUTBOX)
    ann.disguise(GDPR)
    type(ann.user).objects.create(pk=ann.pk, username="dan", email="dan@example.org", karma=1)
    document = exported(ann)
    assert not [row for row in document["rows"] if row["state"] == "present" and row["model"] == "lobsters.user"]
    assert {row["key"][0] for row in rows(document, Story, "removed")} == stories
    assert "ann@example.org" in json.dumps(document)
    assert "dan@example.org" not in json.dumps(document)


def test_it_takes_an_open_key(community: Community) -> None:
    with pytest.raises(PrincipalError, match=r"edna\.unlock"):
        edna.export(community.ann)  # type: ignore[arg-type]


def test_the_command_writes_a_private_file(community: Community, tmp_path: Path) -> None:
    """What the door hands out, in the clear: so for its owner alone to read, and never over another file."""
    ann = community.ann
    ann.disguise(GDPR)
    path, key = tmp_path / "ann.json", tmp_path / "ann.key"
    key.write_text(ann.secret_key.expose_text())
    typed = ["edna_export_person", "--output", str(path), "--secret-key-file", str(key)]

    out = io.StringIO()
    call_command(*typed, "--json", stdout=out)

    told, states = json.loads(out.getvalue()), json.loads(path.read_text())["rows"]
    assert told["states"] == len(states)
    assert told["rows"] == len({(row["model"], *row["key"]) for row in states}) < told["states"], "a row counts once"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["rows"] == exported(ann)["rows"]
    with pytest.raises(CommandError, match="exists already"):
        call_command(*typed)
