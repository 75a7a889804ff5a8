"""Audiences in memory: one member after another is removed by a random other one; 32 at once; and each told by themselves."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.timing import Result

DATABASES = ("sqlite",)
QUICK = {"audiences": "128", "removals": 20}


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--audiences", default="1024,16384", help="how many members there are (default: %(default)s)")
    parser.add_argument(
        "--removals", type=int, default=300, help="by random members, of the first of these (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> list[Result]:
    from benchmarks.audiences.measuring import measured
    from benchmarks.timing import say

    results, removals = [], arguments.removals
    for count in map(int, arguments.audiences.split(",")):
        say(f"an audience of {count:,} members")
        results += measured(count, removals=removals, seed=arguments.seed, database=arguments.database)
        removals = min(removals, 10)
    return results
