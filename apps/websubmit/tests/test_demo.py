"""The guided tour holds, and it would say so if it did not."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, connections

import edna
from apps.websubmit.models import Answer, User

ROOT = Path(__file__).resolve().parents[3]
Run = Callable[..., str]


@pytest.fixture
def tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_db_blocker: Any) -> Iterator[Run]:
    """Runs the tour in this process. It uses no test database: it makes one of its own."""
    monkeypatch.setattr(settings, "VAR", tmp_path, raising=False)

    def run(**options: Any) -> str:
        output = io.StringIO()
        try:
            call_command("demo", stdout=output, **options)
        finally:
            run.output = output.getvalue()  # type: ignore[attr-defined]
        return output.getvalue()

    with django_db_blocker.unblock():
        yield run


def test_every_check_holds(tour: Run) -> None:
    sites_own = connections["default"]
    output = tour()
    assert "✗" not in output
    assert output.count("✓ ") >= 30
    assert f"All {output.count('  ✓ ')} checks held" in output
    assert "make serve" in output
    assert "\x1b" not in output
    assert max(map(len, output.splitlines())) <= 100
    assert connections["default"] is sites_own


@pytest.mark.slow
def test_it_runs_again_on_a_file_that_is_there(tour: Run, tmp_path: Path) -> None:
    (tmp_path / "demo.sqlite3").write_bytes(b"not a database")
    tour()
    tour()


def test_the_thief_finds_much_before_and_nothing_after(tour: Run) -> None:
    lines = [line.split() for line in tour().splitlines()]
    answers = [line[1:] for line in lines if len(line) == 3 and line[0] == "answers" and line[1] == line[2]]
    assert answers[:2] == [["20", "20"], ["0", "0"]]


@pytest.mark.slow
def test_colours_only_when_asked_for(tour: Run) -> None:
    assert "\x1b[32m✓" in tour(force_color=True)


@pytest.mark.slow
@pytest.mark.parametrize("variable", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_on_a_terminal(tour: Run, monkeypatch: pytest.MonkeyPatch, variable: dict[str, str]) -> None:
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


def leave_an_answer(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A disguise that forgets a table: the student is gone, one answer of theirs is not."""
    answer = args[1].answers.order_by("pk").first()
    receipt = original(*args, **kwargs)
    Answer(author=User.objects.get(email="staff@example.org"), question=answer.question, text=answer.text).save()
    return receipt


def leave_the_address(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A disguise that writes where it should not."""
    receipt = original(*args, **kwargs)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE edna_principalentry SET model = %s WHERE reference IS NULL", [args[1].email])
    return receipt


def leave_the_key(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A registration that keeps the secret key, as bytes."""
    registration = original(*args, **kwargs)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE edna_keyslot SET tag = %s", [registration.secret_key.expose()])
    return registration


def forget_an_answer(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A reveal that skips a row."""
    outcome = original(*args, **kwargs)
    Answer.objects.order_by("pk").filter(author__email="bea@example.org")[0].delete()
    return outcome


def change_a_byte(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A reveal that brings back almost what was there."""
    outcome = original(*args, **kwargs)
    answer = Answer.objects.order_by("pk").filter(author__email="bea@example.org")[0]
    Answer.objects.filter(pk=answer.pk).update(text=answer.text + " ")
    return outcome


def leave_a_name(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A global disguise that misses somebody's answer."""
    receipts = original(*args, **kwargs)
    one = Answer.objects.filter(author__is_anon=True).order_by("pk")[0]
    Answer.objects.filter(pk=one.pk).update(author=User.objects.get(email="staff@example.org"))
    return receipts


def let_everybody_speak(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A check of rights that checks nothing."""
    return args[1].author


def fail(original: Any, *args: Any, **kwargs: Any) -> Any:
    raise edna.errors.BagForged("made for a test")


def crash(original: Any, *args: Any, **kwargs: Any) -> Any:
    raise ZeroDivisionError("made for a test")


@pytest.mark.parametrize(
    ("name", "sabotage", "claim"),
    [
        ("disguise", leave_an_answer, "Nothing of Bea's is left to be read"),
        ("reveal", forget_an_answer, "Every table is equal to what it was before"),
        pytest.param("disguise", leave_the_address, "Nothing of Bea's is left to be read", marks=pytest.mark.slow),
        pytest.param("register_principal", leave_the_key, "No secret is in the database", marks=pytest.mark.slow),
        pytest.param("reveal", change_a_byte, "Every table is equal to what it was before", marks=pytest.mark.slow),
        pytest.param("disguise_all", leave_a_name, "None of them has an author with a name", marks=pytest.mark.slow),
        pytest.param("speak_as", let_everybody_speak, "Refused: somebody else's key", marks=pytest.mark.slow),
        pytest.param("reveal", fail, "without BagForged", marks=pytest.mark.slow),
        pytest.param("history", crash, "without ZeroDivisionError", marks=pytest.mark.slow),
    ],
)
def test_it_fails_when_something_is_not_as_promised(
    tour: Any, monkeypatch: pytest.MonkeyPatch, name: str, sabotage: Any, claim: str
) -> None:
    original = getattr(edna, name)
    monkeypatch.setattr(edna, name, lambda *args, **kwargs: sabotage(original, *args, **kwargs), raising=False)
    with pytest.raises(CommandError) as failure:
        tour()
    assert failure.value.returncode == 1
    assert "checks failed" in str(failure.value)
    assert any(claim in line for line in tour.output.split("  ✗ ")[1:])
    assert "checks held" not in tour.output


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
@pytest.mark.parametrize(("sabotage", "status"), [("", 0), (SABOTAGED, 1)])
def test_exit_status(tmp_path: Path, sabotage: str, status: int) -> None:
    program = f"import sys, django; django.setup()\n{sabotage}\n" + (
        "from django.core.management import execute_from_command_line\nexecute_from_command_line(['manage.py', 'demo'])"
    )
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("EDNA_", "DJANGO_"))},
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "EDNA_VAR": str(tmp_path),
        "LC_ALL": "POSIX",
    }
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert ("checks held" in done.stdout) == (status == 0)
    assert "Traceback" not in done.stderr
