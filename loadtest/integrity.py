"""Whether everything is as it was: rows of everybody who went and came back, whose every row is, and what edna keeps.

``python -m loadtest.integrity keep --app APP --people people.json --file FILE`` before a load, ``compare`` in place of ``keep`` after it
(with ``--output integrity.json``). What is compared an application's ``prepare_APP`` says: ``everything_of`` somebody, without ``IGNORED``
columns (each with its reason); ``KEPT`` columns of every row of a table; tables of the ``SAME_SIZE``; ``disagreements`` of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadtest.people import People

if TYPE_CHECKING:
    from benchmarks.kit.driver import Driver

#: What edna's tables hold after everybody is back is what they held before.
EDNA_TABLES = ("edna_bag", "edna_principalentry", "edna_keyslot")
PSEUDOPRINCIPALS = 'SELECT COUNT(*) FROM edna_principalentry WHERE NOT "natural"'
LOCATORS = "SELECT COUNT(*) FROM edna_principalentry WHERE LENGTH(locators) > 0"


@dataclass
class State:
    """``owned``: digests of the rows of disguisers, by table and account; ``kept``: of all rows; ``counts``: by what is counted."""

    owned: dict[tuple[str, int], Counter[bytes]] = field(default_factory=dict)
    kept: dict[str, set[bytes]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    disagreements: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(counter.total() for counter in self.owned.values()) + sum(map(len, self.kept.values()))


def look(app: str, people: People, driver: Driver) -> State:
    """The state of the database of the settings."""
    module = import_module(f"loadtest.prepare_{app}")
    ignored: Mapping[str, str] = module.IGNORED
    columns: dict[str, str] = {}
    state = State()
    for account in people.all_disguisers():
        for table, where, params in module.everything_of(account.key):
            if table not in columns:
                columns[table] = ", ".join(f"t.{driver.quoted(name)}" for name in _columns(driver, table, ignored))
            rows = driver.execute(f"SELECT {columns[table]} FROM {driver.quoted(table)} t WHERE {where}", params)
            state.owned.setdefault((table, account.key), Counter()).update(_digests(rows.fetchall()))
    kept: Mapping[str, Sequence[str]] = getattr(module, "KEPT", {})
    for table, names in kept.items():
        chosen = ", ".join(map(driver.quoted, names))
        state.kept[table] = set(_digests(driver.execute(f"SELECT {chosen} FROM {driver.quoted(table)}").fetchall()))
    for table in (*EDNA_TABLES, *getattr(module, "SAME_SIZE", ())):
        state.counts[f"rows of {table}"] = driver.number(f"SELECT COUNT(*) FROM {driver.quoted(table)}")
    if hasattr(module, "disagreements"):
        state.disagreements = module.disagreements(driver)
    state.counts["pseudoprincipals"] = driver.number(PSEUDOPRINCIPALS)
    state.counts["people with locators"] = driver.number(LOCATORS)
    driver.connection.commit()
    return state


def _columns(driver: Driver, table: str, ignored: Mapping[str, str]) -> list[str]:
    found = driver.execute(f"SELECT * FROM {driver.quoted(table)} WHERE 1 = 0").description
    return [name for name, *_ in found if f"{table}.{name}" not in ignored]


def _digests(rows: Iterable[Any]) -> Iterable[bytes]:
    return (hashlib.blake2b(repr(row).encode(), digest_size=16).digest() for row in rows)


def differences(before: State, now: State) -> list[str]:
    """In words, with tables and numbers, and nobody's data."""
    found: Counter[str] = Counter()
    for place in before.owned.keys() | now.owned.keys():
        then, here = before.owned.get(place, Counter()), now.owned.get(place, Counter())
        if lost := (then - here).total():
            found[f"{place[0]}: rows of somebody who came back are lost or changed"] += lost
        if foreign := (here - then).total():
            found[f"{place[0]}: rows of somebody who came back were not theirs or are changed"] += foreign
    for table, rows in before.kept.items():
        if lost := len(rows - now.kept[table]):
            found[f"{table}: rows that nobody touches are lost, or whose they are has changed"] += lost
    told = [f"{what} ({number})" for what, number in sorted(found.items())] + [
        what for what in now.disagreements if what not in before.disagreements
    ]
    for what, number in before.counts.items():
        if now.counts[what] != number:
            told.append(f"{what}: {number} before, {now.counts[what]} now")
    return told


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m loadtest.integrity", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("action", choices=("keep", "compare"))
    parser.add_argument("--app", required=True)
    parser.add_argument("--people", type=Path, required=True)
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loadtest.site_settings")

    import django

    django.setup()

    from benchmarks.kit.driver import Driver

    with closing(Driver()) as driver:
        state = look(arguments.app, People.read(arguments.people), driver)
    if arguments.action == "keep":
        arguments.file.write_bytes(pickle.dumps(state))
        return 0
    told = differences(pickle.loads(arguments.file.read_bytes()), state)
    ignored = dict(import_module(f"loadtest.prepare_{arguments.app}").IGNORED)
    arguments.output.write_text(json.dumps({"differences": told, "rows": state.rows, "ignored": ignored}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
