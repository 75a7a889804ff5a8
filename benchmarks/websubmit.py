"""One database, every operation of WebSubmit: `python -m benchmarks` starts this once per database, the settings in its environment."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING:
    from benchmarks.course import Course, Scale
    from benchmarks.manual import Driver
    from benchmarks.timing import Result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.websubmit", description=(__doc__ or "").split("\n")[0])
    add_arguments(parser)
    parser.add_argument("--database", required=True, help="its name in the results")
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    results = run(arguments)
    arguments.output.write_text(json.dumps([result.as_dict() for result in results]))
    return 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--lectures", type=int, default=20)
    parser.add_argument("--questions", type=int, default=4)
    parser.add_argument(
        "--samples", type=int, default=150, help="of an operation at the library level (default: %(default)s)"
    )
    parser.add_argument("--http-samples", type=int, default=25, help="of an operation over HTTP (default: %(default)s)")
    parser.add_argument(
        "--slow-samples",
        type=int,
        default=10,
        help="of what takes a password derivation, or long (default: %(default)s)",
    )
    parser.add_argument(
        "--growth", type=int, default=8000, metavar="ANSWERS", help="most answers of one student (default: %(default)s)"
    )
    parser.add_argument("--levels", default="library,http", help="comma-separated, of: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="another number draws other users (default: %(default)s)")
    parser.add_argument(
        "--output", type=Path, default=Path("build/bench.json"), help="where to write (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> list[Result]:
    """All measurements on the database of the settings, which must be empty."""
    from benchmarks.course import Course, Scale
    from benchmarks.manual import Authors, Driver
    from benchmarks.timing import COUNTED, WARM_UP

    levels = arguments.levels.split(",")
    scale = Scale(arguments.users, arguments.lectures, arguments.questions)
    slots = min(
        scale.users, max(arguments.http_samples if "http" in levels else 0, arguments.slow_samples) + WARM_UP + COUNTED
    )
    with ExitStack() as stack:
        _say(f"seeding {scale}")
        course = Course(scale, with_slots=slots, seed=arguments.seed)
        driver = stack.enter_context(closing(Driver()))
        _say(_server(driver))
        library = http = None
        if "library" in levels:
            from benchmarks.library import Library

            library = Library(course, driver, samples=arguments.samples, slow=arguments.slow_samples)
        if "http" in levels:
            http = stack.enter_context(closing(_http(arguments, course, driver, stack)))
        chosen = [level for level in (library, http) if level]
        for level in chosen:
            _say(f"{level.name}: create, list, edit, delete, restore")
            level.plain()
        if library:
            _say("library: delete and restore with more and more answers")
            library.growth(times=arguments.slow_samples, largest=arguments.growth)
        authors = Authors(driver)
        for number, level in enumerate(chosen):
            if number:
                authors.put_back()
            _say(f"{level.name}: anonymise everybody, by hand and with edna")
            level.anonymise(authors)
        authors.drop()
        for level in chosen:
            _say(f"{level.name}: edit, delete and restore under disguise")
            level.under_disguise()
        return [result for level in chosen for result in _results(level, arguments.database, scale)]


def _http(arguments: argparse.Namespace, course: Course, driver: Driver, stack: ExitStack) -> Any:
    from benchmarks.over_http import VARIANTS, Http, site

    ports = {variant: stack.enter_context(site(variant)) for variant in VARIANTS}
    return Http(course, driver, ports, samples=arguments.http_samples, slow=arguments.slow_samples)


def _results(level: Any, database: str, scale: Scale) -> list[Result]:
    found: list[Result] = level.clock.results(
        app="websubmit", level=level.name, database=database, scale=str(scale), extra=level.extra
    )
    return found


def _server(driver: Driver) -> str:
    """The database's version, and the settings that decide how durable, and so how slow, a commit is."""
    if driver.is_sqlite:
        names = ("journal_mode", "synchronous", "secure_delete")
        settings = {name: driver.execute(f"PRAGMA {name}").fetchone()[0] for name in names}
        version = "SQLite " + driver.execute("SELECT sqlite_version()").fetchone()[0]
    else:
        names = ("flush_log_at_trx_commit", "doublewrite", "buffer_pool_size", "flush_method")
        settings = {f"innodb_{name}": driver.execute(f"SELECT @@innodb_{name}").fetchone()[0] for name in names}
        settings["log_bin"] = driver.execute("SELECT @@log_bin").fetchone()[0]
        version = "MariaDB " + driver.execute("SELECT @@version").fetchone()[0]
    driver.connection.commit()
    return f"{version}: " + ", ".join(f"{name}={value}" for name, value in settings.items())


_began = time.monotonic()


def _say(what: str) -> None:
    print(f"[{time.monotonic() - _began:5.0f} s] {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
