"""What tables take before and after some people left, split by what takes it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Model

import edna
from benchmarks.kit.driver import Driver
from benchmarks.timing import Clock, Key, say
from benchmarks.watching import stored

Sizes = dict[str, tuple[int, int]]


def leave(driver: Driver, clock: Clock, key: Key, users: Sequence[Model], disguise: str) -> dict[str, Any]:
    """Let them go one after the other, each by the clock; returns what stands in the results beside the times.

    Tables are rebuilt before they are measured, so that it does not matter how a seed filled them; afterwards they are measured
    as they are, and rebuilt again.
    """
    say("storage: rebuilding the tables, to measure them")
    _rebuild(driver)
    before, kept_before = _sizes(driver), stored(driver)
    say(f"storage: {len(users):,} leave")
    for user in users:
        began = time.perf_counter()
        edna.disguise(disguise, user)
        clock.samples.setdefault(key, []).append((time.perf_counter() - began) * 1000)
    kept = stored(driver)
    analyse(driver)
    grown = _sizes(driver)
    say("storage: rebuilding the tables again")
    _rebuild(driver)
    after = _sizes(driver)
    made = kept - kept_before
    tables: dict[str, dict[str, Any]] = {}
    changed = [name for name in after if after[name] != before.get(name)]
    for name in changed:
        _put(tables, name, before, grown, after, [name])
    ours = [name for name in after if name.startswith("edna_")]
    theirs = [name for name in after if name not in ours]
    _put(tables, "edna's tables", before, grown, after, ours)
    _put(tables, "the application's tables", before, grown, after, theirs)
    return {
        "left": len(users),
        "tables": tables,
        "pseudoprincipals": made.pseudoprincipals,
        "bags": made.bags,
        "bag_bytes": made.bag_bytes,
        "locator_bytes": made.locator_bytes,
        "notes": [
            driver.dialect.storage_note,
            f"{made.pseudoprincipals:,} pseudoprincipals; {made.bags:,} bags with {made.bag_bytes / 1e6:.1f} MB sealed; "
            f"{made.locator_bytes / 1e6:.2f} MB of locators",
        ],
    }


def _put(
    tables: dict[str, dict[str, Any]], name: str, before: Sizes, grown: Sizes, after: Sizes, parts: Sequence[str]
) -> None:
    def total(sizes: Sizes, which: int) -> int:
        return sum(sizes[part][which] for part in parts if part in sizes)

    tables[name] = {
        "before_bytes": total(before, 0),
        "after_bytes": total(grown, 0),
        "rebuilt_bytes": total(after, 0),
        "before_rows": total(before, 1),
        "after_rows": total(after, 1),
    }


def _sizes(driver: Driver) -> Sizes:
    """Bytes and rows of each table; a file that has them all has no rows."""
    rows = {name: driver.number(f"SELECT COUNT(*) FROM {driver.quoted(name)}") for name in _tables()}
    sizes = driver.dialect.sizes(driver.cursor)
    driver.connection.commit()
    return {name: (sizes.get(name, 0), rows.get(name, 0)) for name in dict.fromkeys((*rows, *sizes))}


def _rebuild(driver: Driver) -> None:
    driver.dialect.rebuild(driver.connection, _tables())


def analyse(driver: Driver) -> None:
    """After a lot of rows have changed, and before anything is measured."""
    driver.dialect.analyse(driver.connection, _tables())


def _tables() -> list[str]:
    return connection.introspection.table_names()
