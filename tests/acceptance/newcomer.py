"""Somebody who follows a page of the documentation: a new Django project, and a real `manage.py shell` to paste into.

Code is typed into the shell line by line, as a paste arrives in a terminal. So a block that the interactive interpreter does not
take (no empty line below a `with`, an empty line inside a function) fails here, as it does for whoever tries the page.

    python tests/acceptance/newcomer.py README.md docs/tutorial.md

follows pages with what is installed for that Python, and nothing of this repository but the pages: `make release` has it do so.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import socket
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPTS = NEW, GOES_ON = (b">>> ", b"... ")


class Shell:
    """`manage.py shell` on a terminal of its own. Does not echo what is typed, so that only what it prints is read."""

    def __init__(self, where: Path, environment: dict[str, str], python: str) -> None:
        self._terminal, terminal = pty.openpty()
        attributes = termios.tcgetattr(terminal)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (`close` closes it)
        self._process = subprocess.Popen(
            [python, "manage.py", "shell", "--interface", "python"],
            cwd=where,
            env=environment,
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        os.close(terminal)
        self._answer()

    def paste(self, code: str) -> str:
        """Paste the block, press Enter until the shell is ready for the next one, and return what it printed."""
        said = self._errors.seek(0, os.SEEK_END)
        printed, prompt = b"", NEW
        for line in code.splitlines():
            text, prompt = self._type(line)
            printed += text
        while prompt == GOES_ON:
            text, prompt = self._type("")
            printed += text
        self._errors.seek(said)
        failure = self._errors.read().decode()
        assert "Traceback" not in failure, f"{code}\n{failure}"
        assert "SyntaxError" not in failure, f"{code}\nThe shell does not take it as it stands:\n{failure}"
        assert "IndentationError" not in failure, f"{code}\nThe shell does not take it as it stands:\n{failure}"
        return printed.decode()

    def close(self) -> None:
        os.close(self._terminal)
        self._process.communicate()
        self._errors.close()

    def _type(self, line: str) -> tuple[bytes, bytes]:
        os.write(self._terminal, line.encode() + b"\n")
        return self._answer()

    def _answer(self) -> tuple[bytes, bytes]:
        """What is printed up to the next prompt, and the prompt."""
        assert self._process.stdout is not None
        answer = b""
        while not answer.endswith(PROMPTS):
            some = os.read(self._process.stdout.fileno(), 1 << 16)
            assert some, f"the shell ended: {answer.decode()}"
            answer += some
        return answer[: -len(NEW)], answer[-len(NEW) :]


class Project:
    """A new Django project, as `startproject mysite` makes it, that the blocks of a page work on."""

    def __init__(self, where: Path, *, installed: bool = False, python: str = sys.executable) -> None:
        """With ``installed`` the library is not that of this repository. ``python`` is that of another environment."""
        self.where = where
        self.python = python
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("EDNA_", "DJANGO_"))}
        self.environment = inherited | {
            "EDNA_MAC_KEY": "0123456789abcdef" * 4,
            "PATH": f"{Path(python).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(where) if installed else f"{where}:{ROOT}",
        }
        self._shell: Shell | None = None
        self.run("python -m django startproject mysite .", DJANGO_SETTINGS_MODULE="")

    def run(self, command: str, *, fails: bool = False, **environment: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-ec", command],
            cwd=self.where,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        assert (done.returncode != 0) == fails, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def write(self, name: str, text: str, *, append: bool = False) -> None:
        self.close()  # a running process would not notice
        path = self.where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".py":
            (path.parent / "__init__.py").touch()
        path.write_text(f"{path.read_text()}\n\n{text}" if append else text)

    def paste(self, code: str) -> str:
        if self._shell is None:
            self._shell = Shell(self.where, self.environment, self.python)
        return self._shell.paste(code)

    def close(self) -> None:
        if self._shell is not None:
            self._shell.close()
            self._shell = None

    @contextlib.contextmanager
    def served(self) -> Iterator[str]:
        """The address of the project under `manage.py runserver`."""
        with socket.socket() as held:
            # As `benchmarks.kit.ports` does it, which is not there for whoever follows pages with a wheel.
            held.bind(("127.0.0.1", 0))
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            port = held.getsockname()[1]
            server = subprocess.Popen(
                [self.python, "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"],
                cwd=self.where,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                while True:
                    assert server.poll() is None, "manage.py runserver ended"
                    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                        break
                    time.sleep(0.05)
                yield f"http://127.0.0.1:{port}"
            finally:
                server.terminate()
                server.wait()

    def follow(self, page: str, *, pasting: bool = True, until: str | None = None) -> int:
        """Do what the page says, block by block, and compare what it shows; how many blocks were run.

        Without ``pasting`` only the files are written and the commands run: the project as it is at the end of the page. ``until`` is
        a line of the page to stop at.
        """
        printed, ran = "", 0
        text = (ROOT / page).read_text()
        if until is not None:
            text = text[: text.index(f"\n{until}\n") + 1]
        for language, mark, code in BLOCK.findall(text):
            kind, _, name = mark.partition("=")
            if kind in ("file", "append"):
                self.write(name, code, append=kind == "append")
            elif (language, mark) in (("sh", "run"), ("sh", "fails")):
                printed, ran = self.run(code, fails=mark == "fails"), ran + 1
            elif (language, mark) == ("python", "run"):
                if pasting:
                    printed, ran = self.paste(code), ran + 1
            elif (language, mark) == ("text", "output"):
                if pasting:
                    assert _agrees(printed, code), f"{page} shows:\n{code}\nThis was printed:\n{printed}"
            else:
                assert mark == "", f"{page}: what is a block marked {mark!r}?"
                assert language != "python", f"{page}: this code is not run by the tests:\n{code}"
        return ran


def main(pages: list[str]) -> None:
    for page in pages:
        with tempfile.TemporaryDirectory() as where:
            project = Project(Path(where), installed=True)
            found = Path(project.run("python -c 'import edna; print(edna.__file__)'").strip())
            assert ROOT / "edna" not in found.parents, "the library of this repository would be used"
            ran = project.follow(page)
            project.close()
        print(f"{page}: {ran} blocks, with {found.parent}")


def _agrees(printed: str, shown: str) -> bool:
    pattern = ".*?".join(re.escape(part) for part in shown.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


if __name__ == "__main__":
    main(sys.argv[1:])
