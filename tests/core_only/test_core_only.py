"""A site that has `edna` alone works, knows nothing of operators, and imports nothing of other parts; what operators had, or will have, is
lost on no way between."""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.kit.servers import private_mariadb, private_postgres
from tests import warm
from tests.waiting import CHILD_SECONDS

ROOT = Path(__file__).resolve().parents[2]
SERVERS = {"mariadb": private_mariadb, "postgres": private_postgres}

every_kind = pytest.mark.parametrize(
    "kind", ["sqlite", *(pytest.param(name, marks=pytest.mark.slow) for name in SERVERS)]
)


def go(kind: str, scratch: Path, *stages: str) -> None:
    """Each stage is a process of its own; of those with a plus, `edna.operations` is installed."""
    with ExitStack() as stack:
        url = stack.enter_context(SERVERS[kind]()).url if kind in SERVERS else f"sqlite:///{scratch / 'site.sqlite3'}"
        for stage in stages:
            done = subprocess.run(
                [warm.python(), "-m", "tests.core_only.run", stage.removeprefix("+")],
                cwd=ROOT,
                env=os.environ
                | {
                    "DJANGO_SETTINGS_MODULE": "tests.core_only.settings",
                    "CORE_ONLY_DATABASE_URL": url,
                    "CORE_ONLY_SCRATCH": str(scratch),
                    "CORE_ONLY_OPERATIONS": "1" if stage.startswith("+") else "",
                    "CORE_ONLY_METRICS": "1" if stage == "metrics" else "",
                },
                capture_output=True,
                text=True,
                check=False,
                timeout=CHILD_SECONDS,
            )
            assert done.returncode == 0, f"{stage} on {kind}\n{done.stderr[-2500:]}"


@every_kind
def test_edna_alone_then_with_operations(kind: str, tmp_path: Path) -> None:
    go(kind, tmp_path, "alone", "+joined")


@every_kind
def test_an_upgrade_keeps_what_operators_have(kind: str, tmp_path: Path) -> None:
    go(kind, tmp_path, "+before", "+upgrade", "+back", "+upgrade", "+again")


@every_kind
def test_an_upgrade_without_operations_says_what_is_missing(kind: str, tmp_path: Path) -> None:
    go(kind, tmp_path, "before", "upgrade_alone", "+upgrade")


def test_metrics_without_operations(tmp_path: Path) -> None:
    go("sqlite", tmp_path, "metrics")
