"""What keys of the hybrid kind cost beside those of X25519, at more sizes than `make bench`: ``python -m benchmarks.recipients``.

With ``--leave``: what the tables take when members of Lobsters leave, with keys of one kind.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from typing import Final

from benchmarks.keypool import prepare, private_site
from benchmarks.recipients.measuring import KINDS, disguises, keys
from benchmarks.recipients.report import recipients

#: Trees of a page or two say nothing.
_SMALL_BYTES: Final = 100_000


def leaving(part: float, *, scale: float, kind: str, database: str) -> None:
    """What the tables take when some members of Lobsters leave, all with keys of one kind."""
    from benchmarks.kit.driver import Driver

    with private_site(database, RECIPIENT=kind, KEY_POOL_SIZE=4096), closing(Driver()) as driver:
        from benchmarks.lobsters.site import Site  # which imports models

        site = Site(driver, scale=scale, seed=1)
        site.leave(part)
        [extra] = site.measured.more.values()
        print(f"{kind}: {site}; {extra['left']:,} left")
        for note in extra["notes"][:2]:
            print(note)
        for name, sizes in extra["tables"].items():
            mb = " -> ".join(f"{sizes[at] / 1e6:.1f}" for at in ("before_bytes", "after_bytes", "rebuilt_bytes"))
            print(f"{name:>30} {mb} MB; {sizes['before_rows']:,} -> {sizes['after_rows']:,} rows")
        for (table, tree), size in sorted(driver.dialect.trees(driver.cursor).items()):
            if table.startswith("edna_") and size > _SMALL_BYTES:
                print(f"{table:>30} {tree}: {size / 1e6:.1f} MB, rebuilt")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recipients", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20, help="disguises of each kind (default %(default)s)")
    parser.add_argument("--sizes", default="2,55,1000", help="answers of the students (default %(default)s)")
    parser.add_argument("--database", choices=("mariadb", "postgres", "sqlite"), default="mariadb")
    parser.add_argument(
        "--leave", type=float, default=0, metavar="PART", help="only: storage, when so many members of Lobsters leave"
    )
    parser.add_argument(
        "--lobsters-scale", type=float, default=0.275, help="0.275 are 1,596 members (default %(default)s)"
    )
    parser.add_argument(
        "--kind", choices=KINDS, default="x-wing", help="with --leave: of which all keys are (default %(default)s)"
    )
    given = parser.parse_args(arguments)
    sizes = [int(size) for size in given.sizes.split(",")]
    if given.leave:
        leaving(given.leave, scale=given.lobsters_scale, kind=given.kind, database=given.database)
        return
    with private_site(given.database, KEY_POOL_SIZE=max(1024, *sizes)) as vendor:
        results = keys(10 * given.rounds, database=vendor)
        for size, student, key in prepare(sizes):
            results += disguises(size, student, key, rounds=given.rounds, database=vendor)
        print(vendor, recipients(results), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
