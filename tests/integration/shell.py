"""Command lines as somebody types them, run in the test's own process and transaction."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import CommandError


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command line in this process, and so in the test's transaction, with exit codes as a shell would see them."""

    def run(name: str, *argv: object, stdin: str = "") -> Ran:
        command = load_command_class(get_commands()[name], name)
        command._called_from_command_line = True
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        out, err = io.StringIO(), io.StringIO()
        code = 0
        try:
            options = vars(command.create_parser("manage.py", name).parse_args([str(word) for word in argv]))
            command.execute(**options, stdout=out, stderr=err)
        except SystemExit as stop:
            code = int(stop.code or 0)
        except CommandError as error:
            code = error.returncode
            err.write(f"CommandError: {error}\n")
        captured = capsys.readouterr()  # argparse's complaints
        return Ran(code, captured.out + out.getvalue(), captured.err + err.getvalue())

    return run


def refused(ran: Ran, *words: str, code: int = 1) -> None:
    """One sentence, on stderr only."""
    assert ran.code == code, ran
    assert ran.out == ""
    assert "Traceback" not in ran.err
    message = ran.err.rpartition("CommandError: ")[2].strip()
    assert message.endswith((".", ".)"))
    for word in words:
        assert word in message
