"""Measure what people wait for, with edna and by hand: WebSubmit in the library and over HTTP, Lobsters and HotCRP in the library;
where the time goes, how it grows, and what storage it takes. Print it, and draw it.

Each on private servers of MariaDB and PostgreSQL (WebSubmit on SQLite, too). `make bench` runs this at the published scales;
`make bench QUICK=1` or --quick at small ones, to see that it works.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.kit.environment import without_settings
from benchmarks.kit.machine import processor
from benchmarks.kit.servers import ServerError, in_memory, private_database
from benchmarks.measure import APPS, add_arguments, module_of
from benchmarks.reporting import report
from benchmarks.timing import Result

DATABASES = ("mariadb", "postgres", "sqlite")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--apps", default=",".join(APPS), help="comma-separated, of: %(default)s")
    parser.add_argument(
        "--databases", help=f"comma-separated, of: {','.join(DATABASES)} (default: those that the application is for)"
    )
    parser.add_argument("--quick", action="store_true", help="small scale, few samples")
    parser.add_argument(
        "--no-pictures", action="store_true", help="measure, print and write the results, and draw nothing"
    )
    add_arguments(parser)
    quick = os.environ.get("QUICK", "0") not in ("", "0") or "--quick" in sys.argv
    if quick:
        for app in APPS:
            parser.set_defaults(**module_of(app).QUICK)
    arguments = parser.parse_args()
    if not arguments.output.suffix:
        parser.error(
            f"--output is a file with an ending, such as {arguments.output}.json: pictures go into a folder of its name"
        )
    apps = _chosen(parser, arguments.apps, APPS)
    databases = _chosen(parser, arguments.databases, DATABASES) if arguments.databases else None
    parent, kind = _place()
    print(f"python -m benchmarks {' '.join(sys.argv[1:])}".rstrip())
    print(
        f"{platform.python_implementation()} {platform.python_version()}, {processor()}; data in {parent} ({kind})",
        flush=True,
    )
    results: list[Result] = []
    failed, missing = [], set()
    for app in apps:
        for database in databases or module_of(app).DATABASES:
            if database in missing:
                continue
            try:
                results += _measure(app, database, arguments, parent)
            except ServerError as error:
                print(f"error: {error}", file=sys.stderr)
                missing.add(database)
            except subprocess.CalledProcessError as error:
                print(
                    f"error: {app} on {database} ended with status {error.returncode}; why is above.", file=sys.stderr
                )
                failed.append(database)
    if not results:
        return 1
    if quick:
        results = [replace(result, extra={**result.extra, "quick": True}) for result in results]
    print(report(results))
    lines = kept_lines(arguments.output, results) + [result.as_dict() for result in results]
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(lines, indent=1) + "\n")
    print(f"\n{len(results)} results are in {arguments.output}")
    if not arguments.no_pictures:
        from benchmarks.plots import draw  # here, for measuring takes no matplotlib

        index = draw([Result.from_dict(line) for line in lines], arguments.output.with_suffix(""))[-1]
        print(f"pictures and tables are in {index}")
    return 1 if failed or missing else 0


def _chosen(parser: argparse.ArgumentParser, given: str, known: tuple[str, ...]) -> list[str]:
    chosen: list[str] = given.split(",")
    if unknown := set(chosen) - set(known):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return chosen


def _place() -> tuple[Path, str]:
    """Where the data goes: into memory if there is room, for a disk's moods are no property of edna."""
    if (memory := in_memory()) is not None:
        return memory, "tmpfs: a commit waits for no disk"
    return Path(tempfile.gettempdir()), "no room in /dev/shm, so this may be a disk"


def _measure(app: str, name: str, arguments: argparse.Namespace, parent: Path) -> list[Result]:
    """One application and database in a process of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="edna-bench-", dir=parent) as directory,
        private_database(name, parent=parent, to_be_measured=True) as url,
    ):
        output = Path(directory) / "results.json"
        others = ("apps", "databases", "quick", "no_pictures", "output")
        given = {key: value for key, value in vars(arguments).items() if key not in others}
        options = [f"--{key.replace('_', '-')}={value}" for key, value in given.items()]
        command = [sys.executable, "-m", "benchmarks.measure", f"--app={app}", f"--database={name}"]
        environment = {**without_settings(), "EDNA_DATABASE_URL": url, "EDNA_VAR": f"{directory}/var"}
        subprocess.run([*command, f"--output={output}", *options], env=environment, check=True)
        return [Result.from_dict(line) for line in json.loads(output.read_text())]


def kept_lines(output: Path, results: list[Result]) -> list[dict[str, Any]]:
    """What an earlier run wrote about applications and databases that this one did not measure."""
    measured = {(result.app, result.database) for result in results}
    try:
        lines = json.loads(output.read_text())
        return [line for line in lines if (line["app"], line["database"]) not in measured]
    except (OSError, ValueError, TypeError, KeyError):
        return []


if __name__ == "__main__":
    sys.exit(main())
