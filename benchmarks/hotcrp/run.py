"""Everything about HotCRP on one database: what members of the PC do, remove, restore; anonymise; and the same after that."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.timing import Result

DATABASES = ("mariadb", "postgres")
QUICK = {"hotcrp_users": 60, "hotcrp_pc": 10, "hotcrp_papers": 15, "samples": 15, "slow_samples": 3}


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    for name, count, what in (
        ("users", 3000, "users who are not on the PC"),
        ("pc", 80, "members of the PC"),
        ("papers", 550, "papers"),
    ):
        parser.add_argument(f"--hotcrp-{name}", type=int, default=count, help=f"{what} (default: %(default)s)")


def run(arguments: argparse.Namespace) -> list[Result]:
    """All measurements on the database of the settings, which must be empty."""
    from benchmarks.hotcrp.site import Scale, Site
    from benchmarks.kit.driver import Driver
    from benchmarks.timing import say

    with closing(Driver()) as driver:
        say(driver.server())
        scale = Scale(arguments.hotcrp_users, arguments.hotcrp_pc, arguments.hotcrp_papers)
        say(f"seeding HotCRP: {scale}")
        site = Site(driver, scale, seed=arguments.seed)
        say(f"members of the PC own {site.spread()} rows")
        say("creating accounts, reading and editing reviews")
        site.plain(arguments.samples)
        say("removing and restoring members of the PC")
        site.remove(repeated=arguments.slow_samples)
        say("anonymising and reclaiming them")
        site.anonymise(repeated=arguments.slow_samples)
        say("anonymising everybody; then editing, removing and restoring")
        site.anonymise_all()
        site.under_disguise(repeated=arguments.slow_samples)
        found: list[Result] = site.measured.clock.results(
            app="hotcrp",
            level="library",
            database=arguments.database,
            scale=str(scale),
            extra=site.measured.extra(),
        )
        return found
