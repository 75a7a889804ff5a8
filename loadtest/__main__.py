"""Load on the sample sites: ``python -m loadtest websubmit-paced``, or ``make load SCENARIO=websubmit-paced``; "all" for all of them.

Starts MariaDB or PostgreSQL, gunicorn and what else a scenario needs privately, fills the site, runs the baseline and the disguises in
turns, compares the data, stops everything, and writes raw samples, a summary and a report. Ends with 1 if anything was not as it must be.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from benchmarks.kit.servers import ServerError
from loadtest.run import QUICK, Run, Settings
from loadtest.scenarios import LEVELS, SCALES, SCENARIOS, Scenario
from loadtest.stage import DATABASES, LoadFailed, Stage, stage

#: Disguisers drawn by lot: more than ever disguise at once.
DRAWN, DRAWN_QUICK = 150, 20
NEEDED = {"locust": "loadtest", "gunicorn": "dev", "celery": "dev", "matplotlib": "dev"}
DRIVERS = {"mariadb": ("MySQLdb", "mariadb"), "postgres": ("psycopg", "postgres")}


def main() -> int:
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.output is None:
        arguments.output = Path("build/load" if arguments.database == "mariadb" else f"build/load-{arguments.database}")
    if arguments.list or not arguments.scenarios:
        print("\n".join(f"{scenario.name:22} {scenario.asks}" for scenario in SCENARIOS.values()))
        return 0 if arguments.list else 2
    chosen = _chosen(parser, arguments.scenarios)
    _handle_signals()
    try:
        _check_tools(arguments.database)
        failed = [
            name for app, some in groupby(chosen, lambda one: one.app) for name in _run(app, list(some), arguments)
        ]
    except (LoadFailed, ServerError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if failed:
        print(f"error: {', '.join(failed)}: not everything was as it must be.", file=sys.stderr)
    return 1 if failed else 0


def _run(app: str, scenarios: Sequence[Scenario], arguments: argparse.Namespace) -> list[str]:
    """All scenarios of one application, on the same data; the names of those that failed."""
    from loadtest.overview import write_overview

    full, small = SCALES[app]
    failed = []
    with stage(app, arguments.database) as prepared:
        prepared.fill(
            scale=arguments.scale or (small if arguments.quick else full),
            drawn=DRAWN_QUICK if arguments.quick else DRAWN,
            seed=arguments.seed,
        )
        for scenario in scenarios:
            try:
                wrong = _measure(scenario, prepared, arguments)
            except LoadFailed as error:  # of this one; it took long to come here
                wrong = [str(error)]
            for what in wrong:
                print(f"error: {scenario.name}: {what}", file=sys.stderr)
            if wrong:
                failed.append(scenario.name)
    write_overview(arguments.output)
    return failed


def _measure(scenario: Scenario, prepared: Stage, arguments: argparse.Namespace) -> list[str]:
    """Runs a scenario and writes its report; what was wrong."""
    from loadtest import report

    levels = arguments.level or (scenario.levels[:1] if arguments.quick else scenario.levels)
    output = arguments.output / scenario.name
    Run(scenario, prepared, output, _settings(arguments), levels=levels).run()
    summary = report.write(output)
    print(f"{scenario.name}: {output / 'report.html'}", flush=True)
    wrong: list[str] = summary["failed"]
    return wrong


def _settings(arguments: argparse.Namespace) -> Settings:
    given = {name: getattr(arguments, name) for name in ("seconds", "rounds", "users")}
    chosen = {name: value for name, value in given.items() if value is not None}
    return replace(QUICK if arguments.quick else Settings(), seed=arguments.seed, **chosen)


def _chosen(parser: argparse.ArgumentParser, names: Sequence[str]) -> list[Scenario]:
    """By application, so that each is filled once."""
    if unknown := sorted(set(names) - set(SCENARIOS) - {"all"}):
        parser.error(f"unknown: {', '.join(unknown)}; there are all, {', '.join(SCENARIOS)}")
    wanted = list(SCENARIOS) if "all" in names else list(dict.fromkeys(names))
    return sorted((SCENARIOS[name] for name in wanted), key=lambda scenario: list(SCALES).index(scenario.app))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m loadtest", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="see --list; or all")
    parser.add_argument("--list", action="store_true", help="say what scenarios there are")
    parser.add_argument("--quick", action="store_true", help="small data, short phases: to see that everything works")
    parser.add_argument("--seconds", type=_positive, help=f"of a phase (default: {Settings.seconds:g})")
    parser.add_argument("--rounds", type=_count, help=f"of baseline and variants (default: {Settings.rounds})")
    parser.add_argument("--level", action="append", choices=tuple(LEVELS), help="instead of the scenario's; repeatable")
    parser.add_argument("--users", type=_count, help="normal users, instead of as many as the level takes")
    parser.add_argument("--scale", type=_positive, help="size of the site, instead of the published one")
    parser.add_argument("--seed", type=int, default=1, help="another number makes other data (default: %(default)s)")
    parser.add_argument("--database", choices=tuple(DATABASES), default="mariadb", help="default: %(default)s")
    parser.add_argument("--output", type=Path, help="directory (default: build/load; build/load-postgres)")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _positive(text: str) -> float:
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError("must be more than 0")
    return number


def _check_tools(database: str) -> None:
    for module, extra in (*NEEDED.items(), DRIVERS[database]):
        if find_spec(module) is None:
            raise LoadFailed(
                f"{module} is not installed: `make load` installs what it needs; or pip install -e '.[{extra}]'"
            )
    if not Path("/proc/self/stat").exists():
        raise LoadFailed("who takes the processors is read from /proc, which this system does not have; use Linux.")


def _handle_signals() -> None:
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupted(number: int, frame: object) -> None:
        for other in signals:
            signal.signal(other, signal.SIG_IGN)  # once is enough, and clearing up takes bounded time
        raise SystemExit(128 + number)  # so that every `with` stops what it started

    for number in signals:
        signal.signal(number, interrupted)


if __name__ == "__main__":
    sys.exit(main())
