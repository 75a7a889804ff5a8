"""Everything together at a fixed rate, for as long as one likes, to see what grows and what gets slower.

Students leave and come back over HTTP, members of Lobsters in the library; keys are replaced; jobs, the schedule, `edna_expire`,
`edna_sweep` and `edna_scrub` run all the time. Each is a process, with a private database server and gunicorn beside them. In the end
everybody comes back, and every row is compared. ``FOLDER/DATABASE/report.md`` says what came out. Exit status 1: something grew, got
slower, went wrong or is not as it was.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from benchmarks.kit.machine import processor
from benchmarks.kit.servers import ServerError, private_database
from benchmarks.timing import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.kit.driver import Driver, Snapshot

SETTINGS: Final = "benchmarks.soak.site_settings"
#: Which `benchmarks.soak.traffic` has.
ROLES: Final = ("students", "members", "operator")
#: What comes and goes by itself: who is logged in.
_NOT_COMPARED: Final = ("django_session",)


@dataclass(frozen=True)
class Order:
    """What is asked for. ``rate`` 1 is some twenty acts a second, for which two cores have plenty; ``scale`` says how many people there
    are."""

    database: str
    folder: Path
    seconds: float = 1200.0
    warm_seconds: float = 60.0
    rate: float = 1.0
    scale: float = 1.0
    look_seconds: float = 5.0
    seed: int = 1


def soak(order: Order) -> bool:
    """Whether nothing grew, got slower, went wrong or is not as it was. The report is in the order's folder.

    Raises: ServerError
    """
    order.folder.mkdir(parents=True, exist_ok=True)
    for old in (*order.folder.glob("*.jsonl"), *order.folder.glob("soak.json"), *order.folder.glob("report.md")):
        old.unlink()  # of an earlier one: if this one breaks off, there is none
    with (
        tempfile.TemporaryDirectory(prefix="edna-soak-") as scratch,
        private_database(order.database, to_be_measured=True) as url,
    ):
        os.environ |= {"EDNA_DATABASE_URL": url, "EDNA_VAR": f"{scratch}/var", "DJANGO_SETTINGS_MODULE": SETTINGS}
        import django

        django.setup()
        _soak(order, Path(scratch))
    from benchmarks.soak import report

    return report.write(order.folder)


def _soak(order: Order, scratch: Path) -> None:
    from django.db import connection

    from benchmarks.kit.driver import Driver
    from benchmarks.soak.people import forget_logins, settle
    from benchmarks.websubmit.over_http import site

    say("filling the database, and giving everybody a key")
    people = settle(scale=order.scale, seed=order.seed)
    with ExitStack() as stack:
        driver = stack.enter_context(closing(Driver()))
        before = _everything(driver)
        rows = _rows_of_edna(driver)
        connection.close()
        people["port"] = stack.enter_context(site("edna", SETTINGS))
        (scratch / "people.json").write_text(json.dumps(people))
        workers = {role: stack.enter_context(_worker(role, scratch, order.folder)) for role in ROLES}
        for worker in workers.values():
            _await_ready(worker)
        began = time.time() + 1
        say(f"{order.seconds:,.0f} seconds begin")
        for worker in workers.values():
            _pipe(worker.stdin).write(f"{began} {order.seconds} {order.rate}\n")
            _pipe(worker.stdin).flush()
        differences = _watch(order, driver, workers, began + order.seconds)
        say("everybody is back; comparing")
        forget_logins()
        differences += _compare(before, rows, driver)
        _write(order, driver, people, began=began, differences=differences)
        connection.close()


@contextmanager
def _worker(role: str, scratch: Path, folder: Path) -> Iterator[subprocess.Popen[str]]:
    with (
        (folder / f"{role}.log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.soak.worker", role, str(scratch), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as worker,
    ):
        try:
            yield worker
        finally:
            worker.kill()


def _pipe(end: IO[str] | None) -> IO[str]:
    assert end is not None
    return end


def _await_ready(worker: subprocess.Popen[str]) -> None:
    for line in _pipe(worker.stdout):  # what commands print while everybody gets ready is of no interest
        if line == "ready\n":
            return
    raise RuntimeError("a process of the soak ended before it began; its log says why")


def _watch(order: Order, driver: Driver, workers: Mapping[str, subprocess.Popen[str]], until: float) -> list[str]:
    """Look on until all have ended; what is wrong with how they ended."""
    from benchmarks.soak.watch import look

    with (order.folder / "looks.jsonl").open("w") as file:
        print(json.dumps(look(driver, os.getpid())), file=file)
        while any(worker.poll() is None for worker in workers.values()):
            time.sleep(order.look_seconds)
            if time.time() < until:  # bringing everybody back is no part of it
                print(json.dumps(look(driver, os.getpid())), file=file, flush=True)
    return [f"{role} ended with status {w.returncode}" for role, w in workers.items() if w.returncode]


def _everything(driver: Driver) -> Snapshot:
    """Each row of the application's tables."""
    from django.db import connection

    from benchmarks.kit.driver import Affected, Snapshot

    tables = [name for name in connection.introspection.table_names() if not name.startswith("edna_")]
    return Snapshot(driver, [Affected(name, "1 = 1", ()) for name in sorted(tables) if name not in _NOT_COMPARED])


def _rows_of_edna(driver: Driver) -> dict[str, int]:
    """What edna keeps of people who are there."""
    names = ("edna_bag", "edna_principalentry", "edna_keyslot")
    rows = {name: driver.number(f"SELECT COUNT(*) FROM {driver.quoted(name)}") for name in names}
    driver.commit()
    return rows


def _compare(before: Snapshot, rows: Mapping[str, int], driver: Driver) -> list[str]:
    """What is not as it was, in words."""
    from django.core.management import CommandError, call_command

    found = [
        f"{name}: {rows[name]:,} rows before, {now:,} now"
        for name, now in _rows_of_edna(driver).items()
        if now != rows[name]
    ]
    try:
        before.assert_unchanged()
    except AssertionError as error:
        found.append(str(error))
    try:
        call_command("edna_verify", stdout=sys.stderr, stderr=sys.stderr)
    except CommandError as error:
        found.append(f"edna_verify: {error}")
    return found


def _write(
    order: Order, driver: Driver, people: Mapping[str, Any], *, began: float, differences: Sequence[str]
) -> None:
    told = {
        "database": order.database,
        "server": driver.server(),
        "command": " ".join(["python -m benchmarks.soak", *sys.argv[1:]]),
        "machine": processor(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "people": ", ".join(
            f"{len(some)} {name.replace('_', ' ')}" for name, some in people.items() if name not in ("port", "lectures")
        ),
        "began": began,
        "seconds": order.seconds,
        "warm_seconds": order.warm_seconds,
        "rate": order.rate,
        "differences": list(differences),
    }
    (order.folder / "soak.json").write_text(json.dumps(told, indent=1))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--database", choices=("mariadb", "postgres"), default="mariadb", help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1200, help="(default: %(default)s)")
    parser.add_argument(
        "--warm-seconds",
        type=float,
        default=60,
        help="of these, at the beginning, for what fills up (default: %(default)s)",
    )
    parser.add_argument("--rate", type=float, default=1, help="1 is some twenty acts a second (default: %(default)s)")
    parser.add_argument("--scale", type=float, default=1, help="how many people there are (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("build/soak"), help="(default: %(default)s)")
    given = parser.parse_args(arguments)
    folder = given.output / given.database
    order = Order(
        given.database, folder, given.seconds, given.warm_seconds, given.rate, given.scale, min(5.0, given.seconds / 40)
    )
    try:
        met = soak(order)
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print((folder / "report.md").read_text().partition("## Operations")[0])
    print(f"All of it is in {folder}/report.md.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
