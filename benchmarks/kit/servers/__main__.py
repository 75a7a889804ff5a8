"""``python -m benchmarks.kit.servers run``: a command, once for each database."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.kit.servers import DATABASES, KNOWN, ServerError, database
from benchmarks.kit.servers import __doc__ as description
from benchmarks.kit.servers.server import STOP_SECONDS


def _run(databases: Sequence[str], command: Sequence[str]) -> int:
    """Run the command for each database; every one gets its turn even if an earlier one failed. What has failed is told at the end, too,
    where it is read: what the command leaves in the file that ``EDNA_LAST_WORDS`` names."""
    results: dict[str, int] = {}
    words: dict[str, str] = {}
    for name in databases:
        began = time.monotonic()
        with database(name) as url, tempfile.NamedTemporaryFile("r", prefix="edna-last-words-") as last:
            print(f"\n##### {name} " + "#" * (100 - len(name)), flush=True)
            path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
            environment = os.environ | {"PATH": path, "EDNA_LAST_WORDS": last.name}
            if url:
                environment["EDNA_DATABASE_URL"] = url
            elif name == "sqlite":
                environment.pop("EDNA_DATABASE_URL", None)
            results[name] = _call(command, environment)
            words[name] = last.read()
        print(f"##### {name}: exit {results[name]} after {time.monotonic() - began:.0f} s", flush=True)
    failed = [name for name, code in results.items() if code]
    for name in failed:
        print(f"\n##### {name}: what failed\n{words[name]}", end="", file=sys.stderr)
    if failed:
        print(f"failed on {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _call(command: Sequence[str], environment: dict[str, str]) -> int:
    try:
        process = subprocess.Popen(command, env=environment)
    except FileNotFoundError:
        raise ServerError(f"there is no command {command[0]}.") from None
    try:
        return process.wait()
    except BaseException:  # interrupted: the child must not outlive the servers
        for how, patience in ((None, 3), (signal.SIGINT, STOP_SECONDS), (signal.SIGKILL, None)):
            if how:  # Ctrl-C in a terminal has reached the child already: a second one would disturb its clearing up
                process.send_signal(how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
                break
        raise


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kit.servers", description=(description or "").split("\n")[0]
    )
    actions = parser.add_subparsers(dest="action", required=True)
    run = actions.add_parser("run", help="run a command once for each database")
    run.add_argument("--databases", default=",".join(DATABASES), help="comma-separated, of: %(default)s, mysql")
    run.add_argument("command", nargs="+", metavar="COMMAND", help="after --")
    arguments = parser.parse_args()
    databases = arguments.databases.split(",")
    if unknown := set(databases) - set(KNOWN):
        parser.error(f"unknown database: {', '.join(sorted(unknown))}")

    def interrupted(number: int, frame: object) -> None:
        for other in signals:
            signal.signal(other, signal.SIG_IGN)  # once is enough, and clearing up takes bounded time
        raise SystemExit(128 + number)  # so that every `with` above stops what it started

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        signal.signal(number, interrupted)
    try:
        return _run(databases, arguments.command)
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
