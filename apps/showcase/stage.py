"""The stage of ``manage.py demo``: prints sentences, evidence and checks, and keeps count of what held."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

WIDTH = 98


class Stage:
    """Lines of at most `WIDTH` columns; ``failed`` holds the claims that did not hold."""

    def __init__(self, write: Callable[[str], Any], *, colour: bool) -> None:
        self._write, self._colour = write, colour
        self.checks = 0
        self.failed: list[str] = []

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def _wrapped(self, text: str, *, first: str, rest: str) -> list[str]:
        return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)

    def chapter(self, title: str) -> None:
        self._write("\n" + self._paint("1", title))

    def say(self, text: str) -> None:
        for line in self._wrapped(text, first="", rest=""):
            self._write(line)

    def code(self, line: str) -> None:
        self._write(self._paint("36", f"    >>> {line}"))

    def show(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._write(f"    {line}")

    def compare(self, columns: Mapping[str, Mapping[str, Any]]) -> None:
        """A small table: one column for each mapping, one line for each of their keys."""
        names = list(dict.fromkeys(name for column in columns.values() for name in column))
        first = max(map(len, names)) + 2
        self.show([" " * first + "".join(f"{title:>12}" for title in columns)])
        for name in names:
            self.show([f"{name:<{first}}" + "".join(f"{column[name]:>12}" for column in columns.values())])

    def check(self, claim: str, held: bool) -> None:
        self.checks += 1
        if not held:
            self.failed.append(claim)
        mark = self._paint("32", "✓") if held else self._paint("31;1", "✗")
        lines = self._wrapped(claim, first="  ", rest="      ")
        self._write("  " + mark + " " + "\n".join(lines).lstrip())
