"""Policy seals of one kilobyte and of one megabyte at ten attributes; credentials; attestations with a quote that takes its time."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.timing import Result

DATABASES = ("sqlite",)
QUICK = {"attestations": 2_000, "quote_seconds": 0.1}


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--attestations", type=int, default=16_384, help="that are asked for at once (default: %(default)s)"
    )
    parser.add_argument(
        "--quote-seconds", type=float, default=0.82, help="what a quote is made to take (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> list[Result]:
    from benchmarks.policies import attributes
    from benchmarks.policies.measuring import attested, measured
    from benchmarks.timing import say

    say("policy seals and credentials at ten attributes")
    results = measured(samples=max(arguments.slow_samples, 10) * 10, database=arguments.database)
    if attributes.is_built():
        say("policy seals by attributes")
        results += attributes.measured(samples=max(arguments.slow_samples, 10), database=arguments.database)
    else:
        say("not measured: policy seals by attributes, whose library is not built (make test-abe)")
    say(f"{arguments.attestations:,} attestations, each quote takes {arguments.quote_seconds} s")
    return results + attested(arguments.attestations, seconds=arguments.quote_seconds, database=arguments.database)
