"""What keys of the hybrid kind cost beside those of X25519: ``python -m benchmarks.recipients``.

First: a key pair is made, a small bag sealed and opened. Second: somebody's answers each get another author, with a pool of keys that is
full and one that is drained, and are revealed; and what edna's tables hold meanwhile. Both kinds take turns, in one run. With ``--leave``:
what the tables take when members of Lobsters leave, with keys of one kind.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from time import perf_counter_ns
from typing import Any

from benchmarks.keypool import DISGUISE, prepare, private_site, spread, wait_for_refill
from benchmarks.timing import interleave

KINDS = ("x25519", "x-wing")


def timed(work: Callable[[], Any], into: list[float]) -> Any:
    began = perf_counter_ns()
    result = work()
    into.append((perf_counter_ns() - began) / 1e6)
    return result


def keys(rounds: int) -> None:
    from edna.crypto.keys import generate_key_pairs
    from edna.crypto.sealing import open_sealed, seal

    print(f"\nOne key, one bag of 1 kB, {rounds} rounds, ms at p5 / p50 / p95")
    print(f"{'':>10}{'key pair':>24}{'seal':>24}{'open':>24}{'bytes of the bag':>20}")
    taken: dict[str, tuple[list[float], list[float], list[float]]] = {kind: ([], [], []) for kind in KINDS}
    sizes: dict[str, int] = {}

    def once(kind: str) -> None:
        [key] = timed(lambda: generate_key_pairs(1, hybrid=kind == "x-wing"), taken[kind][0])
        sealed = timed(lambda: seal(b"x" * 900, recipients=[key.public_key]), taken[kind][1])
        timed(lambda: open_sealed(sealed, secret_key=key), taken[kind][2])
        sizes[kind] = len(sealed)

    for number in range(rounds + 3):
        interleave(number, *(lambda kind=kind: once(kind) for kind in KINDS))
    for kind in KINDS:
        print(f"{kind:>10}" + "".join(f"{spread(samples[3:]):>24}" for samples in taken[kind]) + f"{sizes[kind]:>20,}")


def held() -> tuple[int, int]:
    """Bytes of public keys and lists in entries, and of sealed bags."""
    from edna.models import Bag, PrincipalEntry

    entries = PrincipalEntry.objects.values_list("public_key", "encapsulation_key", "locators")
    return (
        sum(len(part or b"") for row in entries for part in row),
        sum(len(sealed) for sealed in Bag.objects.values_list("sealed", flat=True)),
    )


def disguises(people: Sequence[tuple[int, Any, Any]], rounds: int) -> None:
    from django.conf import settings

    import edna
    from edna.keypool import pool

    print(f"\nA disguise and its reveal, {rounds} rounds, ms at p5 / p50 / p95; kB that came into edna's tables")
    print(f"{'pseudoprincipals':>17}{'':>10}{'full pool':>27}{'drained':>27}{'reveal':>27}{'entries':>10}{'bags':>8}")
    for size, student, first in people:
        key = [first]
        taken: dict[str, dict[str, list[float]]] = {kind: {"full": [], "drained": [], "reveal": []} for kind in KINDS}
        grown: dict[str, tuple[float, float]] = {}

        def once(
            kind: str,
            state: str,
            student: Any = student,
            key: list[Any] = key,
            taken: dict[str, dict[str, list[float]]] = taken,
            grown: dict[str, tuple[float, float]] = grown,
        ) -> None:
            settings.EDNA["RECIPIENT"] = kind
            with edna.unlock(secret_key=key[0]) as unlocked:
                key[0] = edna.rotate(unlocked).secret_key
            wait_for_refill()
            if state == "full":
                pool.refill()
            else:
                pool.take(pool.depth)
                wait_for_refill(drain=True)
            before = held()
            receipt = timed(lambda: edna.disguise(DISGUISE, student), taken[kind][state])
            grown[kind] = tuple((after - former) / 1000 for after, former in zip(held(), before, strict=True))  # type: ignore[assignment]
            with edna.unlock(secret_key=key[0]) as unlocked:
                assert timed(lambda: edna.reveal(receipt, unlocked), taken[kind]["reveal"]).complete

        turns = [(kind, state) for kind in KINDS for state in ("full", "drained")]
        for number in range(rounds):
            interleave(number, *(lambda turn=turn: once(*turn) for turn in turns))
        for kind in KINDS:
            times = "".join(f"{spread(taken[kind][state]):>27}" for state in ("full", "drained", "reveal"))
            print(f"{size:>17,}{kind:>10}{times}{grown[kind][0]:>10,.1f}{grown[kind][1]:>8,.1f}", flush=True)


def leaving(part: float, *, scale: float, kind: str) -> None:
    """What the tables take when some members of Lobsters leave, all with keys of one kind."""
    from benchmarks.kit.driver import Driver

    with private_site("mariadb", RECIPIENT=kind, KEY_POOL_SIZE=4096), closing(Driver()) as driver:
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


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recipients", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20, help="disguises of each kind (default %(default)s)")
    parser.add_argument("--sizes", default="2,55,1000", help="answers of the students (default %(default)s)")
    parser.add_argument("--database", choices=("mariadb", "sqlite"), default="mariadb")
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
        leaving(given.leave, scale=given.lobsters_scale, kind=given.kind)
        return
    with private_site(given.database, KEY_POOL_SIZE=max(1024, *sizes)) as vendor:
        people = prepare(sizes)
        print(vendor)
        keys(10 * given.rounds)
        disguises(people, given.rounds)


if __name__ == "__main__":
    main(sys.argv[1:])
