"""The pages of a site where keys may stay in browsers, on one database."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.timing import Result

DATABASES = ("mariadb", "postgres", "sqlite")
QUICK = {"reveals": 3, "loads": 2, "depths": "0,1", "derivations": 2}


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--reveals", type=int, default=25, help="of 80 rows, in each custody (default: %(default)s)")
    parser.add_argument("--loads", type=int, default=9, help="of a page, for each network (default: %(default)s)")
    parser.add_argument(
        "--derivations", type=int, default=15, help="of a password, in each custody (default: %(default)s)"
    )
    parser.add_argument("--depths", default="0,1,2,3,4", help="of composition (default: %(default)s)")


def run(arguments: argparse.Namespace) -> list[Result]:
    from benchmarks.custody.measuring import Measuring
    from benchmarks.timing import say

    with Measuring(reveals=arguments.reveals, seed=arguments.seed) as measuring:
        say(f"bringing back {measuring.rows} rows in Chromium, the key in the browser and on the server")
        measuring.bring_back()
        say("round trips by depth of composition")
        measuring.walk([int(depth) for depth in arguments.depths.split(",")])
        say("the derivation of a password, at the cost that the site has chosen")
        measuring.derive(arguments.derivations)
        say("until the page is ready, over slower and slower networks")
        measuring.load(arguments.loads)
        return measuring.results(arguments.database)
