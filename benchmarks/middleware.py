"""What `EdnaMiddleware` costs a request that has nothing to do with edna: ``python -m benchmarks.middleware``.

A hello-world view behind the middleware of a new Django project, with and without edna's, one request of each in turn, another one
first each time, so that whatever else the machine does hits both: through gunicorn, over a connection that stays open, and in the
process, without a server. The aim is less than 1 % of the request as it is served; the last lines say whether that was reached. The two
tables before them are the same view behind nothing but the authentication's two lines, to see the microseconds: there is little else to
measure against.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys

from benchmarks import served
from benchmarks.hello import BARE, NEW_PROJECT, Samples, ameasure, measure, set_up
from benchmarks.kit.percentiles import percentile

GOAL = 0.01
SERVED = "as gunicorn serves it"


def report(title: str, samples: Samples) -> tuple[float, float]:
    """Print the table; what edna's middleware adds, in parts of a request without it: the median of the differences between
    neighbours, and at the 5th percentile."""
    without, with_edna = ([pair[which] for pair in samples] for which in (0, 1))
    print(f"\n{title}, {len(samples):,} requests each, µs")
    print(f"{'':>5}{'without':>12}{'with edna':>12}{'difference':>12}{'ratio':>9}")
    for percent in (5, 50, 95):
        bare, more = percentile(without, percent) / 1000, percentile(with_edna, percent) / 1000
        print(f"{f'p{percent}':>5}{bare:>12.2f}{more:>12.2f}{more - bare:>12.2f}{more / bare:>9.4f}")
    differences = [more - bare for bare, more in samples]
    paired = percentile(differences, 50) / percentile(without, 50)
    undisturbed = percentile(without, 5)
    return paired, (percentile(with_edna, 5) - undisturbed) / undisturbed


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.middleware", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20_000, help="requests of each kind (default 20000)")
    rounds = parser.parse_args(arguments).rounds
    set_up()
    gc.collect()
    gc.freeze()
    new, bare = "a new project's middleware", "authentication only"
    found = {SERVED: report(f"A view that gunicorn serves, {new}", served.measure(rounds))}
    found["in the process, synchronous"] = report(f"Synchronous view, {new}", measure(NEW_PROJECT, rounds))
    asynchronous_too = asyncio.run(ameasure(NEW_PROJECT, rounds))
    found["in the process, asynchronous"] = report(f"Asynchronous view, {new}", asynchronous_too)
    report(f"Synchronous view, {bare}", measure(BARE, rounds))
    report(f"Asynchronous view, {bare}", asyncio.run(ameasure(BARE, rounds)))
    print(
        f"\nWhat EdnaMiddleware adds to a hello-world view behind {new}; goal: less than {GOAL:.0%} of it as it is served"
    )
    print(f"{'':>30}{'median':>9}{'p5':>9}")
    for where, (median, undisturbed) in found.items():
        verdict = "" if where != SERVED else "  reached" if median < GOAL else "  missed"
        print(f"{where:>30}{median:>9.2%}{undisturbed:>9.2%}{verdict}")


if __name__ == "__main__":
    main(sys.argv[1:])
