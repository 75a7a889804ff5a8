"""Who knows what: the users of a load know the site by its pages alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
USERS = ("loadtest.driver", "loadtest.websubmit", "loadtest.lobsters", "loadtest.hotcrp")


def imported_with(modules: tuple[str, ...]) -> set[str]:
    """The packages that a process has imported with these."""
    program = f"import sys, {', '.join(modules)}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_users_talk_http_only() -> None:
    assert not imported_with(USERS) & {"django", "edna", "apps", "config", "benchmarks", "MySQLdb"}


@pytest.mark.parametrize("module", ["loadtest.run", "loadtest.__main__"])
def test_who_starts_a_load_is_neither_patched_nor_has_settings(module: str) -> None:
    assert not imported_with((module,)) & {"gevent", "locust", "django", "edna", "apps"}
