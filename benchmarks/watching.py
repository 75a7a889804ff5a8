"""Watches edna's connection from outside: statements, and how long transactions are open; and weighs what is stored.

What it does costs something, so it looks on while an operation is counted, never while it is timed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from django.db import connection

from benchmarks.kit.driver import Driver


@dataclass
class Seen:
    """What was seen of one operation."""

    statements: int = 0
    transactions: list[float] = field(default_factory=list)

    @property
    def longest_transaction_ms(self) -> float:
        return max(self.transactions, default=0.0) * 1000


@contextmanager
def watching() -> Iterator[Seen]:
    """Statements that pass Django's cursors, and each time between turning autocommit off and on again."""
    seen = Seen()
    began: list[float] = []
    switch = connection.set_autocommit

    def note(execute: Any, *arguments: Any) -> Any:
        seen.statements += 1
        return execute(*arguments)

    def set_autocommit(autocommit: bool, *arguments: Any, **options: Any) -> None:
        if not autocommit:
            began.append(perf_counter())
        switch(autocommit, *arguments, **options)
        if autocommit and began:
            seen.transactions.append(perf_counter() - began.pop())

    connection.set_autocommit = set_autocommit  # type: ignore[method-assign]
    try:
        with connection.execute_wrapper(note):
            yield seen
    finally:
        del connection.set_autocommit  # type: ignore[method-assign]


@dataclass(frozen=True)
class Stored:
    """What edna keeps: sealed bytes with their indexes, rows in its two tables, and sealed locators."""

    bags: int
    bag_bytes: int
    pseudoprincipals: int
    locator_bytes: int

    def __sub__(self, before: Stored) -> Stored:
        return Stored(
            self.bags - before.bags,
            self.bag_bytes - before.bag_bytes,
            self.pseudoprincipals - before.pseudoprincipals,
            self.locator_bytes - before.locator_bytes,
        )

    @property
    def bytes(self) -> int:
        return self.bag_bytes + self.locator_bytes


def stored(driver: Driver) -> Stored:
    index, natural = driver.quoted("index"), driver.quoted("natural")
    bags, sealed = driver.execute(f"SELECT COUNT(*), SUM(LENGTH(sealed) + LENGTH({index})) FROM edna_bag").fetchone()
    # Of a removed principal's entry it cannot be told whether it was a pseudoprincipal's; but it has its locators.
    pseudoprincipals, locators = driver.execute(
        f"SELECT SUM(CASE WHEN reference IS NOT NULL AND NOT {natural} THEN 1 ELSE 0 END), SUM(LENGTH(locators)) "
        "FROM edna_principalentry"
    ).fetchone()
    driver.connection.commit()
    return Stored(int(bags), int(sealed or 0), int(pseudoprincipals or 0), int(locators or 0))
