"""The files of tests/vectors/audiences are read, or refused, as they say: the promise of docs/format.md to every other reader."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from edna import conf, errors, inner_door
from edna.audiences import tags
from edna.audiences.models import AudienceName, AudienceUpdate, HeldCopy, HoldRequest, SharedSecret
from edna.crypto.keys import PublicKey, SecretKey
from edna.custody.audiences import channels, together
from edna.custody.audiences.audience import Audience
from edna.custody.audiences.channels import Hop
from edna.custody.audiences.together import Sharing
from edna.custody.audiences.updates import Member
from tests.vectors.audiences.generate import all_cases

VECTORS = Path(__file__).resolve().parent.parent / "vectors" / "audiences"
CASES = {path.stem: json.loads(path.read_text()) for path in sorted(VECTORS.glob("*.json"))}
VALID = [name for name, case in CASES.items() if "expect" in case]

unhex = bytes.fromhex


def follow(given: dict[str, Any]) -> dict[str, Any]:
    audience = Audience()
    for update in given["updates"]:
        audience = audience.follow(unhex(update))
    told = [
        [secret.expose().hex() for secret in audience.secrets(Member(SecretKey(unhex(key))))]
        for key in given["members"]
    ]
    assert all(each == told[0] for each in told)
    return {
        "secrets": told[0],
        "head": audience.head.hex(),
        "members": [member.hex() for member in audience.cards],
    }


def open_together(given: dict[str, Any]) -> str:
    members = tuple(bytes((number,)) for number in range(given["members"]))
    sharing = Sharing(unhex(given["sharing"]), given["epoch"], members, tuple(map(unhex, given["commitments"])))
    parts = [unhex(part) for part in given["parts"]]
    context = unhex(given["context"])
    return together.open_together(unhex(given["sealed"]), parts, sharing=sharing, context=context).hex()


def open_hop(given: dict[str, Any]) -> str | None:
    key = channels.channel_key(SecretKey(unhex(given["own"])), PublicKey(unhex(given["theirs"])))
    hop = Hop(unhex(given["sender"]), unhex(given["reader"]), unhex(given["sealed"]))
    opened = channels.open_hop(hop, key=key, context=unhex(given["context"]))
    return opened.expose().hex() if opened else None


#: By the name of the row in the vectors.
TABLES: dict[str, type[Any]] = {
    "update": AudienceUpdate,
    "name": AudienceName,
    "shares": SharedSecret,
    "copy": HeldCopy,
    "request": HoldRequest,
}


def check_tag(given: dict[str, Any]) -> bool:
    """``database`` is the alias of the one, of several, in which the row is."""
    read: dict[str, Any] = {"bytes": unhex, "int": int, "str": lambda text: unhex(text).decode()}
    columns = [read[each["type"]](each["value"]) for each in given["columns"]]
    model = TABLES[given["row"]]
    tables = {table.model: table for table in tags.tables()}
    said = dict(zip(tables[model].columns, columns, strict=True))
    if "asked_on" in said:
        said["asked_on"] = datetime.date.fromisoformat(said["asked_on"])
    with pytest.MonkeyPatch.context() as patch:
        using = placed(given, patch)
        patch.setattr(conf, "mac_keys", lambda: [unhex(key) for key in given["mac_keys"]])
        data = tables[model].said(tuple(said.values()), database=given.get("database"))
        right = tables[model].tags().is_right(unhex(given["tag"]), data)
        try:
            tags.require([model(**said, tag=unhex(given["tag"]))], using=using)
        except errors.AudienceForged:
            assert not right
        else:
            assert right
    return right


def find_copy(given: dict[str, Any]) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        using = placed(given, patch)
        patch.setattr(conf, "mac_keys", lambda: [unhex(key) for key in given["mac_keys"]])
        found = inner_door.places_of_copies((given["model"], given["key"]), given["number"], using=using)
    return [place.hex() for place in found]


def placed(given: dict[str, Any], patch: pytest.MonkeyPatch) -> str:
    if "database" in given:
        patch.setattr(conf, "databases", lambda: (given["database"], "another"))
    return given.get("database", "default")  # type: ignore[no-any-return]


OPERATIONS = {
    "follow": follow,
    "open_together": open_together,
    "open_hop": open_hop,
    "check_tag": check_tag,
    "find_copy": find_copy,
}


@pytest.mark.parametrize("name", VALID)
def test_what_the_vector_says_comes_out(name: str) -> None:
    case = CASES[name]
    assert OPERATIONS[case["operation"]](case["input"]) == case["expect"]


@pytest.mark.parametrize("name", [name for name in CASES if name not in VALID])
def test_a_defective_vector_is_refused_with_the_error_it_names(name: str) -> None:
    case = CASES[name]
    with pytest.raises(errors.EdnaError) as caught:
        OPERATIONS[case["operation"]](case["input"])
    assert type(caught.value) is getattr(errors, case["error"])


def test_the_vectors_are_those_of_their_generator() -> None:
    assert all_cases() == {path.name: path.read_text() for path in VECTORS.glob("*.json")}
