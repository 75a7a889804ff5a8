"""Who knows what: the users of a load know the site by its pages alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
USERS = ("loadtest.driver", "loadtest.websubmit", "loadtest.lobsters", "loadtest.hotcrp")


def imported_with(modules: tuple[str, ...]) -> set[str]:
    """The packages that a process has imported with these; of the benchmarks, their parts."""
    program = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = [name.split(".") for name in done.stdout.split()]
    return {path[0] for path in names} | {".".join(path[:2]) for path in names if path[0] == "benchmarks"}


def test_users_talk_http_only() -> None:
    imported = imported_with(USERS)
    assert not imported & {"django", "edna", "apps", "config", "MySQLdb"}
    assert {name for name in imported if name.startswith("benchmarks.")} == {"benchmarks.kit"}


@pytest.mark.parametrize("module", ["loadtest.run", "loadtest.__main__"])
def test_who_starts_a_load_is_neither_patched_nor_has_settings(module: str) -> None:
    assert not imported_with((module,)) & {"gevent", "locust", "django", "edna", "apps"}
