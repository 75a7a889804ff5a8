"""Behaviour 15: what was disguised before the tables changed comes back in the tables of today, in every order."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests import warm
from tests.waiting import CHILD_SECONDS

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.every_database, pytest.mark.slow]


def process(stage: str, version: str, scratch: Path, custody: str = "server") -> None:
    done = subprocess.run(
        [warm.python(), "-m", "tests.migrating.run", stage],
        cwd=ROOT,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": f"tests.migrating.settings_{version}",
            "MIGRATING_SCRATCH": str(scratch),
            "MIGRATING_CUSTODY": custody,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=CHILD_SECONDS,
    )
    assert done.returncode == 0, f"{stage}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


def test_15_revealed_after_a_migration_in_every_order(tmp_path: Path) -> None:
    """A derived column, a flag, a renamed column, and texts and names in tables of their own; the migration at every place."""
    process("before", "before", tmp_path)
    process("after", "after", tmp_path)


@pytest.mark.once
def test_15_holds_where_the_key_stays_in_the_browser(tmp_path: Path) -> None:
    """Every third of the sequences and places."""
    process("before", "before", tmp_path, "browser")
    process("after", "after", tmp_path, "browser")


def test_what_no_rule_brings_forward_stays_sealed_until_there_is_one(tmp_path: Path) -> None:
    process("before", "before", tmp_path)
    process("without_rules", "after", tmp_path)
    process("with_rules", "after", tmp_path)
