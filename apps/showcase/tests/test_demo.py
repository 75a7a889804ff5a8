"""``manage.py demo``: one command for the tours of all applications."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections

import edna
from tests import warm

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_without_a_name_it_shows_websubmit_and_says_what_to_try_next(tour: Any) -> None:
    """And leaves the site's own database alone."""
    sites_own = connections["default"]
    output = tour()
    assert "This tour uses WebSubmit" in " ".join(output.split())
    assert f"All {output.count('  ✓ ')} checks held" in output
    assert "http://localhost:8000/websubmit/" in output
    assert "make demo APP=lobsters" in output
    assert "make demo APP=hotcrp" in output
    assert "\x1b" not in output
    assert connections["default"] is sites_own


def test_another_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(CommandError, match=r"lobsters.*hotcrp.*websubmit"):
        call_command("demo", "crustaceans")


@pytest.mark.slow
def test_it_runs_again_on_a_file_that_is_there(tour: Any, tmp_path: Path) -> None:
    (tmp_path / "demo.sqlite3").write_bytes(b"not a database")
    tour()
    tour("hotcrp")


@pytest.mark.slow
def test_colours_only_when_asked_for(tour: Any) -> None:
    assert "\x1b[32m✓" in tour(force_color=True)


@pytest.mark.slow
@pytest.mark.parametrize("variable", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_on_a_terminal(tour: Any, monkeypatch: pytest.MonkeyPatch, variable: dict[str, str]) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variable.items():
        monkeypatch.setenv(name, value)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    call_command("demo", stdout=terminal)
    assert ("\x1b[" in terminal.getvalue()) == (not variable)


def fail(original: Any, *args: Any, **kwargs: Any) -> Any:
    raise edna.errors.BagForged("made for a test")


def crash(original: Any, *args: Any, **kwargs: Any) -> Any:
    raise ZeroDivisionError("made for a test")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sabotage", "claim"),
    [("reveal", fail, "without BagForged"), ("history", crash, "without ZeroDivisionError")],
)
def test_a_tour_that_breaks_off_has_failed(sabotaged: Any, name: str, sabotage: Any, claim: str) -> None:
    sabotaged("websubmit", name, sabotage, claim)


SABOTAGED = """
import edna
from apps.websubmit.models import Answer
reveal = edna.reveal
def forget(*args, **kwargs):
    outcome = reveal(*args, **kwargs)
    Answer.objects.filter(author__email="bea@example.org").delete()
    return outcome
edna.reveal = forget
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("application", "sabotage", "status"),
    [("websubmit", "", 0), ("lobsters", "", 0), ("hotcrp", "", 0), ("websubmit", SABOTAGED, 1)],
)
def test_exit_status(tmp_path: Path, application: str, sabotage: str, status: int) -> None:
    """And nothing but the story: what edna writes into the site's log stays out of it, or is shown as that."""
    program = f"import sys, django; django.setup()\n{sabotage}\n" + (
        f"from django.core.management import execute_from_command_line\nexecute_from_command_line(['manage.py', 'demo', '{application}'])"
    )
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("EDNA_", "DJANGO_"))},
        "DJANGO_SETTINGS_MODULE": "apps.showcase.tests.quick_hashes",
        "EDNA_VAR": str(tmp_path),
        "LC_ALL": "POSIX",
    }
    done = subprocess.run(
        [warm.python(), "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert ("checks held" in done.stdout) == (status == 0)
    assert "Traceback" not in done.stderr
    assert status or done.stderr == ""
