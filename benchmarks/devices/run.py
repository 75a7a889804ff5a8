"""Operations of groups of 8 and of 128 devices, in memory: no database has a part in it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.timing import Result

DATABASES = ("sqlite",)
QUICK = {"groups": "8"}


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--groups", default="8,128", help="how many devices there are (default: %(default)s)")


def run(arguments: argparse.Namespace) -> list[Result]:
    from benchmarks.devices.measuring import measured
    from benchmarks.timing import say

    results = []
    for count in map(int, arguments.groups.split(",")):
        say(f"operations of a group of {count} devices")
        results += measured(count, samples=max(arguments.slow_samples, 10), database=arguments.database)
    return results
