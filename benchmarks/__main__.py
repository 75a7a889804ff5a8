"""Measure the operations of WebSubmit with edna and by hand, on a private MariaDB and on SQLite, in the library and over HTTP.

`make bench` runs this at the paper's scale; `make bench QUICK=1` or --quick at a small one, to see that it works.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import websubmit
from benchmarks.timing import Result, ratios, table
from tests.servers import ServerError, private_mariadb

DATABASES = ("mariadb", "sqlite")
MEMORY = Path("/dev/shm")
NEEDED_BYTES = 2 * 1024**3
QUICK = {"users": 60, "lectures": 5, "samples": 15, "http_samples": 5, "slow_samples": 3, "growth": 800}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--databases", default=",".join(DATABASES), help="comma-separated, of: %(default)s")
    parser.add_argument("--quick", action="store_true", help="small scale, few samples")
    websubmit.add_arguments(parser)
    if os.environ.get("QUICK", "0") not in ("", "0") or "--quick" in sys.argv:
        parser.set_defaults(**QUICK)
    arguments = parser.parse_args()
    databases = arguments.databases.split(",")
    if unknown := set(databases) - set(DATABASES):
        parser.error(f"unknown database: {', '.join(sorted(unknown))}")
    parent, kind = _place()
    print(
        f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores; data in {parent} ({kind})"
    )
    results: list[Result] = []
    failed = []
    for name in databases:
        try:
            results += _measure(name, arguments, parent)
        except ServerError as error:
            print(f"error: {error}", file=sys.stderr)
            failed.append(name)
        except subprocess.CalledProcessError as error:
            print(f"error: {name} ended with status {error.returncode}; what it said is above.", file=sys.stderr)
            failed.append(name)
    if not results:
        return 1
    print(table(results), ratios(results), sep="\n\n")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps([result.as_dict() for result in results], indent=1) + "\n")
    print(f"\n{len(results)} results are in {arguments.output}")
    return 1 if failed else 0


def _place() -> tuple[Path, str]:
    """Where the data goes: into memory if there is room, for a disk's moods are no property of edna."""
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > NEEDED_BYTES:
        return MEMORY, "tmpfs: a commit waits for no disk"
    return Path(tempfile.gettempdir()), "no room in /dev/shm, so this may be a disk"


def _measure(name: str, arguments: argparse.Namespace, parent: Path) -> list[Result]:
    """One database in a process of its own, for Django's settings are read once."""
    with (
        tempfile.TemporaryDirectory(prefix="edna-bench-", dir=parent) as directory,
        _url(name, directory, parent) as url,
    ):
        output = Path(directory) / "results.json"
        given = {key: value for key, value in vars(arguments).items() if key not in ("databases", "quick", "output")}
        options = [f"--{key.replace('_', '-')}={value}" for key, value in given.items()]
        subprocess.run(
            [sys.executable, "-m", "benchmarks.websubmit", f"--database={name}", f"--output={output}", *options],
            env={**_environment(), "EDNA_DATABASE_URL": url, "EDNA_VAR": f"{directory}/var"},
            check=True,
        )
        return [_result(line) for line in json.loads(output.read_text())]


def _environment() -> dict[str, str]:
    """Ours, without what would make the sample site another one."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("EDNA_", "DJANGO_"))}


@contextmanager
def _url(name: str, directory: str, parent: Path) -> Iterator[str]:
    if name == "sqlite":
        yield f"sqlite:///{directory}/site.sqlite3"
    else:
        with private_mariadb(parent=parent) as server:
            yield server.url


def _result(line: dict[str, Any]) -> Result:
    known = {name: line.pop(name) for name in Result.__dataclass_fields__ if name in line}
    return Result(**known, extra=line)


if __name__ == "__main__":
    sys.exit(main())
