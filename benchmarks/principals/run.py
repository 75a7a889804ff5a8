"""Delete and restore one student among more and more others: what that costs must not depend on how many there are."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.timing import Result

DATABASES = ("mariadb", "postgres")
QUICK = {"principals": 10_000, "samples": 15}


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--principals",
        type=int,
        default=1_000_000,
        help="most students; a million take about 3 GiB of memory (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> list[Result]:
    """All measurements on the database of the settings, which must be empty."""
    from benchmarks.kit.driver import Driver
    from benchmarks.principals.measuring import Among, sizes_up_to
    from benchmarks.timing import say

    with closing(Driver()) as driver:
        say(driver.server())
        among = Among(driver, seed=arguments.seed)
        for size in sizes_up_to(arguments.principals):
            say(f"making {size:,} students")
            among.grow(size)
            say(f"deleting and restoring some of {size:,} students")
            among.measure(samples=arguments.samples)
        return among.results(database=arguments.database)
