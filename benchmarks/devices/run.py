"""Operations of groups of 8 and of 128 devices, in memory; then an update of somebody with many bags, on a database."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.timing import Result

DATABASES = ("sqlite",)
QUICK = {"groups": "8", "bags": 500}


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--groups", default="8,128", help="how many devices there are (default: %(default)s)")
    parser.add_argument(
        "--bags", type=int, default=10_000, help="of somebody who updates a device (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> list[Result]:
    from benchmarks.devices.measuring import measured
    from benchmarks.devices.wrapping import wrapped
    from benchmarks.timing import say

    results = []
    for count in map(int, arguments.groups.split(",")):
        say(f"operations of a group of {count} devices")
        results += measured(count, samples=max(arguments.slow_samples, 10), database=arguments.database)
    say(f"updating a device of somebody with {arguments.bags:,} bags")
    return results + wrapped(arguments.bags, samples=3, database=arguments.database)
