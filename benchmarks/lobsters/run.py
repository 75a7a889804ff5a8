"""Every disguise of Lobsters on one database: for many members at random, for a light, a median and the heaviest one; then storage."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.timing import Result

DATABASES = ("mariadb", "postgres")
QUICK = {"lobsters_scale": 0.02, "samples": 15, "slow_samples": 3}


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--lobsters-scale", type=float, default=2.75, help="2.75 are 15,955 members (default: %(default)s)"
    )
    parser.add_argument(
        "--lobsters-leave",
        type=float,
        default=0.1,
        metavar="PART",
        help="part of the members that leave to see what storage that takes; 0 for none (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> list[Result]:
    """All measurements on the database of the settings, which must be empty."""
    from benchmarks.kit.driver import Driver
    from benchmarks.lobsters.site import Site
    from benchmarks.timing import say

    with closing(Driver()) as driver:
        say(driver.server())
        say(f"seeding Lobsters at scale {arguments.lobsters_scale:g}")
        site = Site(driver, scale=arguments.lobsters_scale, seed=arguments.seed)
        say(f"{site}; members own {site.spread()} rows")
        say("creating accounts, reading the front page and stories")
        site.create(arguments.samples)
        site.read(arguments.samples)
        for operation in site.operations:
            say(f"{operation.name}, {operation.back}")
            site.measure(operation, samples=arguments.samples, repeated=arguments.slow_samples)
        if arguments.lobsters_leave:
            site.leave(arguments.lobsters_leave)
        found: list[Result] = site.measured.clock.results(
            app="lobsters",
            level="library",
            database=arguments.database,
            scale=str(site),
            extra=site.measured.extra(),
        )
        return found
