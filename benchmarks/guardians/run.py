"""What guardians compute, and whole evaluations of guardians that are processes on this machine: no database has a part in it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.timing import Result

DATABASES = ("sqlite",)
QUICK = {"rings": "2:8", "evaluations": 12}


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--rings",
        default="2:8,6:8,6:18,12:18",
        help="how many guardians are needed, and of how many (default: %(default)s)",
    )
    parser.add_argument(
        "--evaluations", type=int, default=60, help="in each of five blocks of each kind (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> list[Result]:
    from benchmarks.guardians.measuring import evaluations, parts
    from benchmarks.guardians.sockets import sockets
    from benchmarks.timing import say

    say("900 bytes there and back, by each profile of a socket")
    results = sockets(samples=arguments.samples, database=arguments.database)
    say("parts of guardians, verified and combined")
    results += parts(samples=arguments.samples, database=arguments.database)
    for each in arguments.rings.split(","):
        needed, count = map(int, each.split(":"))
        say(f"evaluations of {needed} of {count} guardians")
        results += evaluations(count, needed, each=arguments.evaluations, database=arguments.database)
    return results
