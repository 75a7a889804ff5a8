"""In which form a database updates many rows fastest, each to a value of its own: ``python -m benchmarks.updates``.

What a decorrelation does to a column that names an owner: by primary key, to accounts of their own, with an index and a foreign
key on the column. The forms take turns, each in a transaction that is rolled back, untimed. Values are written into the
statements beforehand, so what is timed is the database and the round trips. Which form edna uses `edna.db.rows.update` says, and why
decision 7.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter_ns

import django
from django.db import connection, transaction

from benchmarks.kit.percentiles import percentile
from benchmarks.kit.servers import DATABASES, private_database
from benchmarks.timing import interleave

#: A row's key, and its new owner.
Changes = Sequence[tuple[int, int]]
#: SQL, and the rows of parameters that it is prepared for and run with.
Statement = tuple[str, Sequence[tuple[int, int]] | None]
Form = Callable[[Changes], list[Statement]]
PEOPLE, THINGS = 10_000, 100_000


def prepare(*, people: int, things: int) -> None:
    filling = random.Random(1)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE people (id integer PRIMARY KEY)")
        cursor.execute(
            "CREATE TABLE things (id integer PRIMARY KEY, owner integer NOT NULL REFERENCES people (id), body varchar(200) NOT NULL)"
        )
        cursor.execute("CREATE INDEX things_owner ON things (owner)")
        with transaction.atomic():
            for some in _portions(range(1, people + 1)):
                cursor.execute(f"INSERT INTO people VALUES {', '.join(f'({one})' for one in some)}")
            for some in _portions(range(1, things + 1)):
                rows = ", ".join(f"({one}, {filling.randint(1, people)}, '{'x' * 150}')" for one in some)
                cursor.execute(f"INSERT INTO things VALUES {rows}")


def _portions(numbers: range) -> Iterator[range]:
    for first in range(0, len(numbers), 1_000):
        yield numbers[first : first + 1_000]


def _values(changes: Changes) -> str:
    return ", ".join(map(str, changes))


def one_by_one(changes: Changes) -> list[Statement]:
    return [(f"UPDATE things SET owner = {owner} WHERE id = {key}", None) for key, owner in changes]


def prepared(changes: Changes) -> list[Statement]:
    return [("UPDATE things SET owner = %s WHERE id = %s", [(owner, key) for key, owner in changes])]


def by_case(changes: Changes) -> list[Statement]:
    cases = " ".join(f"WHEN {key} THEN {owner}" for key, owner in changes)
    keys = ", ".join(str(key) for key, _ in changes)
    return [(f"UPDATE things SET owner = CASE id {cases} END WHERE id IN ({keys})", None)]


def joined_selects(changes: Changes) -> list[Statement]:
    (key, owner), *others = changes
    return _joined(f"SELECT {key} AS k, {owner} AS o" + "".join(f" UNION ALL SELECT {k}, {o}" for k, o in others))


def joined_values(changes: Changes) -> list[Statement]:
    return _joined(f"WITH listed (k, o) AS (VALUES {_values(changes)}) SELECT k, o FROM listed")


def _joined(given: str) -> list[Statement]:
    return [(f"UPDATE things JOIN ({given}) AS given ON things.id = given.k SET things.owner = given.o", None)]


def joined_table(changes: Changes) -> list[Statement]:
    return [
        ("CREATE TEMPORARY TABLE given (k integer PRIMARY KEY, o integer) ENGINE=MEMORY", None),
        (f"INSERT INTO given VALUES {_values(changes)}", None),
        ("UPDATE things JOIN given ON things.id = given.k SET things.owner = given.o", None),
        ("DROP TEMPORARY TABLE given", None),
    ]


def from_values(changes: Changes) -> list[Statement]:
    given = f"(VALUES {_values(changes)}) AS given (k, o)"
    return [(f"UPDATE things SET owner = given.o FROM {given} WHERE id = given.k", None)]


def from_arrays(changes: Changes) -> list[Statement]:
    keys, owners = (", ".join(map(str, column)) for column in zip(*changes, strict=True))
    given = f"unnest(ARRAY[{keys}], ARRAY[{owners}]) AS given (k, o)"
    return [(f"UPDATE things SET owner = given.o FROM {given} WHERE id = given.k", None)]


def with_values(changes: Changes) -> list[Statement]:
    given = f"WITH given (k, o) AS (VALUES {_values(changes)})"
    return [(f"{given} UPDATE things SET owner = given.o FROM given WHERE id = given.k", None)]


#: What edna uses stands first.
FORMS: dict[str, dict[str, Form]] = {
    "mysql": {
        "JOIN (SELECT ... UNION ALL ...)": joined_selects,
        "JOIN (VALUES ...)": joined_values,
        "JOIN a temporary table": joined_table,
        "CASE": by_case,
        "one by one": one_by_one,
    },
    "postgresql": {
        "FROM (VALUES ...)": from_values,
        "FROM unnest(...)": from_arrays,
        "CASE": by_case,
        "one by one": one_by_one,
    },
    "sqlite": {
        "one by one, prepared": prepared,
        "FROM (VALUES ...)": with_values,
        "CASE": by_case,
        "one by one": one_by_one,
    },
}


def measure(form: Form, changes: Changes) -> float:
    """Milliseconds until the rows are changed."""
    statements = form(changes)
    with transaction.atomic(), connection.cursor() as cursor:
        began = perf_counter_ns()
        for sql, rows in statements:
            if rows is None:
                cursor.execute(sql)
            else:
                cursor.executemany(sql, rows)
        took = (perf_counter_ns() - began) / 1e6
        cursor.execute(f"SELECT id, owner FROM things WHERE id IN ({', '.join(str(key) for key, _ in changes)})")
        assert sorted(cursor.fetchall()) == sorted(changes)
        transaction.set_rollback(True)
    return took


def sample(taken: list[float], form: Form, changes: Changes) -> None:
    taken.append(measure(form, changes))


def compare(sizes: Sequence[int], rounds: int) -> None:
    forms, drawing = FORMS[connection.vendor], random.Random(2)
    print(f"{connection.vendor}: {THINGS:,} rows, {rounds} rounds, ms at p5 / p50 / p95")
    for size in sizes:
        samples: dict[str, list[float]] = {name: [] for name in forms}
        for number in range(rounds + 3):
            keys = drawing.sample(range(1, THINGS + 1), size)
            changes = [(key, drawing.randint(1, PEOPLE)) for key in keys]
            interleave(number, *(partial(sample, taken, forms[name], changes) for name, taken in samples.items()))
        for name, taken in samples.items():
            spread = " / ".join(f"{percentile(taken[3:], percent):.2f}" for percent in (5, 50, 95))
            print(f"{size:>8,} rows  {name:<34}{spread:>24}", flush=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.updates", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=50, help="of each form (default: %(default)s)")
    parser.add_argument("--sizes", default="10,100,1000", help="rows in one update (default: %(default)s)")
    parser.add_argument("--database", choices=DATABASES, default="mariadb")
    given = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="edna-bench-") as scratch,
        private_database(given.database, to_be_measured=True) as url,
    ):
        os.environ |= {"EDNA_DATABASE_URL": url, "EDNA_VAR": str(Path(scratch) / "var")}
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        django.setup()
        prepare(people=PEOPLE, things=THINGS)
        compare([int(size) for size in given.sizes.split(",")], given.rounds)
        connection.close()


if __name__ == "__main__":
    main(sys.argv[1:])
