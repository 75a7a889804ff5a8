"""Shared bags and the content of files, in a person's file: the opener finds them from the person's key, too."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

import edna
from edna.models import Bag
from edna.testing import Person
from tests.integration.conftest import world, world_tables  # noqa: F401  # fixtures
from tests.integration.test_files import document, files, person  # noqa: F401
from tests.integration.test_shared_bags import Scene, post_tables, scene  # noqa: F401
from tests.opener.conftest import Case

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: A piece and some more.
CONTENT = bytes(range(256)) * 4_200


def account(who: Person, in_node: Callable[..., list[Case]], *, without: Collection[bytes] = ()) -> Case:
    with edna.unlock(secret_key=who.secret_key) as unlocked:
        text = edna.export_sealed(unlocked)
    document = json.loads(text)
    document["bags"] = [bag for bag in document["bags"] if bytes.fromhex(bag["index"]) not in without]
    typed = who.secret_key.expose_text()
    (outcome,) = in_node([{"operation": "open_file", "input": {"text": json.dumps(document), "typed": typed}}])
    return outcome["result"]


def test_the_content_of_a_file_is_put_together(
    world: Any,  # noqa: F811
    files: Any,  # noqa: F811
    tmp_path: Path,
    in_node: Callable[..., list[Case]],
) -> None:
    """Of several pieces, and compared with its digest; one that is missing is said to be."""
    ada = person(world)
    name = document(world, ada, CONTENT).scan.name
    before = set(Bag.objects.values_list("index", flat=True))
    ada.disguise("world.leave")

    (found,) = account(ada, in_node)["files"]

    assert (found["field"], found["name"]) == ("scan", name)
    assert base64.b64decode(found["base64"]) == CONTENT
    largest = max(Bag.objects.exclude(index__in=before), key=lambda bag: len(bag.sealed))
    short = account(ada, in_node, without={bytes(largest.index)})
    assert short["files"] == []
    assert {"index": bytes(largest.index).hex(), "error": "BagMissing"} in short["refused"]


def test_rows_that_two_people_owned_are_in_the_file_of_each(
    scene: Scene,  # noqa: F811
    in_node: Callable[..., list[Case]],
) -> None:
    """Whoever has left last sealed them for both; each finds them by their own key."""
    for who in (scene.dora, scene.emil):
        opened = account(who, in_node)
        rows = [row for bag in opened["bags"] for batch in bag["records"] for row in batch["rows"]]
        assert {"To Dora", "To Emil"} <= {row.get("text") for row in rows}
        assert opened["refused"] == []
    assert "To Dora" not in json.dumps(account(scene.frieda, in_node))
