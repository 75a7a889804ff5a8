"""The files of tests/vectors/rows: which tags count of which rows, on a site with one database and on one with several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edna import conf, shards
from edna.engine.files import file_tasks
from edna.operations.store.jobs import tagged_jobs
from edna.store import PendingFile, vouching
from tests.unit.test_vectors import untag
from tests.vectors.rows.generate import all_cases

VECTORS = Path(__file__).resolve().parent.parent / "vectors" / "rows"
CASES: dict[str, dict[str, Any]] = {path.stem: json.loads(path.read_text()) for path in sorted(VECTORS.glob("*.json"))}
TABLES = {"entry": vouching.entries(), "job": tagged_jobs()}


@pytest.mark.parametrize("name", CASES)
def test_a_tag_counts_as_the_vector_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    monkeypatch.setattr(conf, "mac_keys", lambda: [bytes.fromhex(each) for each in case["mac_keys"]])
    using = case.get("database", "default")
    monkeypatch.setattr(conf, "databases", lambda: (using, "another") if "database" in case else ())
    columns, tag = [untag(each) for each in case["columns"]], bytes.fromhex(case["tag"])
    if case["row"] == "file":
        pk, *said = columns
        assert file_tasks.is_ours(PendingFile(*said, pk, tag), using=using) is case["right"]
        return
    table = TABLES[case["row"]]
    data = table.said(columns, database=shards.named(using))
    assert table.tags().is_right(tag, data) is case["right"]


def test_the_vectors_are_those_of_their_generator() -> None:
    assert all_cases() == {path.name: path.read_text() for path in VECTORS.glob("*.json")}
