"""A process that dies between two transactions, and how many it has made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from edna.db import transactions


class Stopped(Exception):
    """The process dies."""


@dataclass
class Transactions:
    """How many were committed since the count was last set to nought, and after how many the process dies.

    Those do not count that only found out that one transaction is not enough: they return None, and have changed nothing.
    """

    committed: int = 0
    at_most: int | None = None
    #: What is run within another one is a part of it.
    depth: int = field(default=0, repr=False)

    def run(self, work: Callable[[], Any], *, using: str) -> Any:
        def watched() -> Any:
            result = work()
            full = self.at_most is not None and self.committed >= self.at_most
            if self.depth == 1 and full and result is not None:
                raise Stopped
            return result

        self.depth += 1
        try:
            result = _run(watched, using=using)
        finally:
            self.depth -= 1
        self.committed += self.depth == 0 and result is not None
        return result

    def of(self, work: Callable[[], Any], *, at_most: int | None = None) -> int:
        """How many ``work`` makes; with ``at_most``, it dies when it wants to commit one more."""
        self.committed, self.at_most = 0, at_most
        try:
            work()
        except Stopped:
            pass
        self.at_most = None
        return self.committed


_run = transactions.run
