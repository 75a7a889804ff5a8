"""Every step of an operation, counted, so that a test can make something happen at each of them.

A step is a moment before something lasting is done: before each SQL statement (on SQLite before each row of one that is
run for many), before and after a commit, before each change of a file below MEDIA_ROOT, and between the chunks of a
file that is written. The hooks are Django's, Python's and the database driver's: the library knows nothing of them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.conf import settings
from django.core.files import File
from django.db import connection

from tests.support import in_another_process

AFTER_COMMIT = "after COMMIT"
#: More than any operation here has; a loop that goes on has lost its way.
MOST_STEPS = 500

#: What happens at a step: it gets the step's number, counted from 0, and what is about to be done.
Reached = Callable[[int, str], None]

_FILE_EVENTS = {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}


class _Watch:
    """Counts the steps of the block that is watched now, if there is one."""

    reached: Reached | None = None
    number = 0

    def step(self, name: str) -> None:
        if self.reached is not None:
            number, self.number = self.number, self.number + 1
            self.reached(number, name)

    def statement(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        name = " ".join(sql.split())[:500]
        if many and connection.vendor == "sqlite":
            return execute(sql, self._each(name, params), many, context)
        self.step(name)
        return execute(sql, params, many, context)

    def _each(self, name: str, rows: Any) -> Iterator[Any]:
        for row in rows:
            self.step(name)
            yield row

    def chunks(self, whole: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        def each(file: File[Any], *args: Any, **kwargs: Any) -> Iterator[Any]:
            for chunk in whole(file, *args, **kwargs):
                self.step("file chunk")
                yield chunk

        return each

    def file_event(self, event: str, args: tuple[Any, ...]) -> None:
        if self.reached is None or not (event in _FILE_EVENTS or event == "open"):
            return
        if event == "open" and not (isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
            return
        if not isinstance(args[0], str | bytes | os.PathLike):  # a descriptor
            return
        path, media = Path(os.fsdecode(args[0])).absolute(), Path(settings.MEDIA_ROOT or os.devnull).absolute()
        if path == media or media in path.parents:
            self.step(f"file {event}")


_watch = _Watch()
sys.addaudithook(_watch.file_event)  # cannot be taken away again; does nothing unless something is watched


@contextlib.contextmanager
def watched(reached: Reached) -> Iterator[None]:
    """Call ``reached`` at every step of the block, in this process and over the default connection."""
    assert _watch.reached is None
    connection.ensure_connection()  # connecting is no step: it says some statements of its own
    commit = connection._commit

    def commit_watched() -> None:
        _watch.step("COMMIT")
        commit()
        _watch.step(AFTER_COMMIT)

    _watch.reached, _watch.number = reached, 0
    try:
        with (
            connection.execute_wrapper(_watch.statement),
            patch.object(connection, "_commit", commit_watched),
            patch.object(File, "chunks", _watch.chunks(File.chunks)),
        ):
            yield
    finally:
        _watch.reached = None


def killed_at(step: int | str, work: Callable[[], object]) -> str | None:
    """Run ``work`` in a process that is killed, as the kernel would, at this step (a number, or a name, whose first one is
    meant). The step's name; None if the process survived."""
    receiver, sender = os.pipe()

    def kill(at: int, name: str) -> None:
        if step in (at, name):
            os.write(sender, name.encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def run() -> None:
        with watched(kill):
            work()

    status = in_another_process(run)
    os.close(sender)
    name = os.read(receiver, 1000).decode()
    os.close(receiver)
    assert status in (0, -signal.SIGKILL), f"the child ended with {status}"
    return None if status == 0 else name


def steps_to_die_at(work: Callable[[], object], *, stride: int) -> list[int]:
    """Of the steps of ``work``: each that is no statement, and one in so many of the others. The database undoes what was not committed,
    before whichever statement the process died; what is done beside it, nobody undoes. ``work`` is done once, to count them."""
    receiver, sender = os.pipe()

    def note(number: int, name: str) -> None:
        os.write(sender, b"-" if name.startswith(("COMMIT", AFTER_COMMIT, "file ")) else b"s")

    def run() -> None:
        with watched(note):
            work()

    status = in_another_process(run)
    os.close(sender)
    with os.fdopen(receiver, "rb") as told:
        kinds = told.read()
    assert status == 0
    return [number for number, kind in enumerate(kinds) if kind == ord("-") or number % stride == 0]


def failing_at(number: int, error: Callable[[], BaseException], happened: list[str]) -> Reached:
    """Raise an error at the n-th step, once, and add the step to ``happened``. Not for having committed: that cannot fail."""
    committed = 0

    def fail(at: int, name: str) -> None:
        nonlocal committed
        committed += name == AFTER_COMMIT
        if name != AFTER_COMMIT and at - committed == number and not happened:
            happened.append(name)
            raise error()

    return fail
