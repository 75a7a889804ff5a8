"""Keys of both kinds in turn: one key and one bag in memory; then a disguise with a pool of keys that is full and one that is drained."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.timing import Result

DATABASES = ("mariadb", "postgres")
QUICK = {"recipient_rounds": 3}


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--recipient-rounds", type=int, default=12, help="disguises with keys of each kind (default: %(default)s)"
    )
    parser.add_argument(
        "--recipient-sizes",
        default="55",
        help="how many pseudoprincipals each makes, comma-separated (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> list[Result]:
    from django.conf import settings

    from benchmarks.keypool import POOL, prepare
    from benchmarks.recipients.measuring import disguises, keys
    from benchmarks.timing import say

    sizes = [int(size) for size in arguments.recipient_sizes.split(",")]
    settings.EDNA |= {"KEY_POOL_SIZE": max(POOL, *sizes)}
    say("keys and bags of both kinds")
    results = keys(10 * arguments.recipient_rounds, database=arguments.database)
    people = prepare(sizes)
    for size, student, key in people:
        say(f"a disguise of {size:,} pseudoprincipals, with keys of both kinds")
        results += disguises(size, student, key, rounds=arguments.recipient_rounds, database=arguments.database)
    return results
