"""Whose turn it is: of several processes that would do a recurring task at once, one does it.

A lease, so that the turn of a process that was killed ends by itself, and no transaction is open meanwhile. Knows no task.
"""

from __future__ import annotations

import datetime

from django.utils import timezone

from edna.db import transactions
from edna.operations.store import runs


class Turn:
    """``with Turn(name, seconds=300, using=alias) as turn: if turn.taken: ...``; call `keep` while it goes on.

    Not inside a transaction: others must see it at once.

    Raises:
        DatabaseBusy
    """

    def __init__(self, name: str, *, seconds: float, using: str) -> None:
        self._name, self._using = name, using
        self._length = datetime.timedelta(seconds=seconds)
        self._ends = datetime.datetime.min.replace(tzinfo=datetime.UTC)
        self.taken = False

    def __enter__(self) -> Turn:
        transactions.statement(lambda: runs.know(self._name, using=self._using), using=self._using)
        now = timezone.now()
        until = now + self._length

        def take() -> bool:
            return runs.take_turn(self._name, now=now, until=until, using=self._using)

        self.taken, self._ends = transactions.statement(take, using=self._using), until
        return self

    def __exit__(self, *_: object) -> None:
        if self.taken:
            self._change(None)
            self.taken = False

    def keep(self) -> bool:
        """Whether the turn is still ours; it is for as long again. Costs a statement only when half of its time is over."""
        now = timezone.now()
        if self.taken and self._ends - now < self._length / 2:
            # Of a turn that was not kept in time, somebody else may have taken the next.
            until = now + self._length
            self.taken, self._ends = self._change(until), until
        return self.taken

    def _change(self, until: datetime.datetime | None) -> bool:
        def change() -> bool:
            return runs.change_turn(self._name, ends=self._ends, until=until, using=self._using)

        return transactions.statement(change, using=self._using)
