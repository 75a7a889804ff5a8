"""Behaviour 15: what was disguised before the tables changed comes back in the tables of today, in every order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.every_database, pytest.mark.slow]


def process(stage: str, version: str, scratch: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.migrating.run", stage],
        cwd=ROOT,
        env=os.environ
        | {"DJANGO_SETTINGS_MODULE": f"tests.migrating.settings_{version}", "MIGRATING_SCRATCH": str(scratch)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{stage}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


def test_15_revealed_after_a_migration_in_every_order(tmp_path: Path) -> None:
    """A derived column, a flag, a renamed column, and texts and names in tables of their own; the migration at every place."""
    process("before", "before", tmp_path)
    process("after", "after", tmp_path)


def test_what_no_rule_brings_forward_stays_sealed_until_there_is_one(tmp_path: Path) -> None:
    process("before", "before", tmp_path)
    process("without_rules", "after", tmp_path)
    process("with_rules", "after", tmp_path)
