"""In which form PostgreSQL takes many new rows fastest: ``python -m benchmarks.inserts``.

Votes of Lobsters, with their foreign keys and indexes, and edna's own entries are taken away and put back. The forms take turns, each in a
transaction that is rolled back, untimed. Writing values into a statement is timed, too: most of the difference lies there. Which form
edna uses `edna.db.rows.insert` says, and why decision 7.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from typing import Any

import django
from django.core.management import call_command
from django.db import connection, models, transaction

from benchmarks.kit.percentiles import percentile
from benchmarks.kit.servers import private_database
from benchmarks.timing import interleave

Row = tuple[Any, ...]
Form = Callable[[type[models.Model], Sequence[Row]], None]


def arrays(model: type[models.Model], rows: Sequence[Row]) -> None:
    from edna.db import rows as raw

    table = raw.table_of(model)
    raw.insert(table, table.names, rows, using="default")


def values(model: type[models.Model], rows: Sequence[Row]) -> None:
    head, width = _head(model)
    marks = ", ".join([f"({', '.join(['%s'] * width)})"] * len(rows))
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {head} VALUES {marks}", [value for row in rows for value in row])


def copied(model: type[models.Model], rows: Sequence[Row]) -> None:
    head, _ = _head(model)
    with connection.cursor() as cursor, cursor.copy(f"COPY {head} FROM STDIN") as copying:
        for row in rows:
            copying.write_row(row)


def _head(model: type[models.Model]) -> tuple[str, int]:
    columns = [field.column for field in model._meta.local_concrete_fields]
    quoted = ", ".join(map(connection.ops.quote_name, columns))
    return f"{connection.ops.quote_name(model._meta.db_table)} ({quoted})", len(columns)


#: What edna uses from 20 rows on stands first.
FORMS: dict[str, Form] = {"SELECT FROM UNNEST(arrays)": arrays, "VALUES": values, "COPY": copied}


def measure(form: Form, model: type[models.Model], rows: Sequence[Row]) -> tuple[float, float]:
    """Milliseconds by the clock, and of this process, until rows that were taken away are back."""
    from edna.db import rows as raw

    table = raw.table_of(model)
    keys = [row[:1] for row in rows]
    with transaction.atomic():
        raw.delete(table, keys, using="default")
        began, busy = perf_counter_ns(), process_time_ns()
        form(model, rows)
        took = (perf_counter_ns() - began) / 1e6, (process_time_ns() - busy) / 1e6
        assert sorted(raw.read(table, table.names, keys, lock=False, using="default")) == sorted(rows)
        transaction.set_rollback(True)
    return took


def sample(taken: list[tuple[float, float]], form: Form, model: type[models.Model], rows: Sequence[Row]) -> None:
    taken.append(measure(form, model, rows))


def compare(sizes: Sequence[int], rounds: int) -> None:
    from apps.lobsters_sim.models import Vote
    from edna.db import rows as raw
    from edna.models import PrincipalEntry

    print(f"{rounds} rounds, ms at p5 / p50 by the clock, and at p50 of the client's processor")
    for model in (Vote, PrincipalEntry):
        table = raw.table_of(model)
        keys = list(model._base_manager.order_by("pk").values_list("pk")[: max(sizes)])
        for size in sizes:
            rows = raw.read(table, table.names, keys[:size], lock=False, using="default")
            assert len(rows) == size, f"{model._meta.label} has no {size} rows"
            samples: dict[str, list[tuple[float, float]]] = {name: [] for name in FORMS}
            for number in range(rounds + 3):
                interleave(
                    number, *(partial(sample, taken, FORMS[name], model, rows) for name, taken in samples.items())
                )
            for name, taken in samples.items():
                clock, client = zip(*taken[3:], strict=True)
                spread = f"{percentile(clock, 5):.2f} / {percentile(clock, 50):.2f}; {percentile(client, 50):.2f}"
                print(f"{size:>8,} x {model._meta.db_table:<22} {name:<28}{spread:>24}", flush=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.inserts", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=30, help="of each form (default: %(default)s)")
    parser.add_argument("--sizes", default="2,20,200,2000", help="rows in one statement (default: %(default)s)")
    given = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="edna-bench-") as scratch,
        private_database("postgres", to_be_measured=True) as url,
    ):
        os.environ |= {"EDNA_DATABASE_URL": url, "EDNA_VAR": str(Path(scratch) / "var")}
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        django.setup()
        call_command("migrate", verbosity=0)
        call_command("lobsters_seed", scale=0.4, verbosity=0)
        compare([int(size) for size in given.sizes.split(",")], given.rounds)
        connection.close()


if __name__ == "__main__":
    main(sys.argv[1:])
