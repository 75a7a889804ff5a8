"""How often a Galera cluster asks for another try, and whether that is ever too often: ``python -m benchmarks.galera``.

Three nodes on this machine, all written to. Each writer is a process with one node: somebody leaves, and comes back, as fast as that goes.
The fewer people there are, the more often two nodes change the same rows, and one of the two has to begin again when it commits. Says how
many operations a second were done, how many had to be tried again, how long they took, and how many ended with `DatabaseBusy`.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.kit.percentiles import percentile
from benchmarks.kit.servers import ServerError
from benchmarks.kit.servers.clusters import Node, private_galera
from benchmarks.writers import in_children

LEAVE = "websubmit.delete-account"


def write(seed: int, node: Node, people: Sequence[Any], until: float) -> dict[str, Any]:
    """One writer; what it did."""
    from django.db import OperationalError, connection

    import edna
    from edna.db import transactions
    from edna.errors import DatabaseBusy, EdnaError

    connection.settings_dict["HOST"] = str(node.socket)
    chance = random.Random(seed)
    found: dict[str, Any] = {"done": 0, "refused": 0, "busy": 0, "tries": [], "ms": []}
    again = transactions.asks_for_another_try
    asked = 0

    def counted(error: OperationalError) -> bool:
        nonlocal asked
        asked += again(error)
        return again(error)

    def once(work: Any) -> None:
        nonlocal asked
        asked, began = 0, time.perf_counter()
        try:
            work()
        except DatabaseBusy:
            found["busy"] += 1
        except EdnaError:  # they are away, or back, by another writer
            found["refused"] += 1
            return
        else:
            found["done"] += 1
        found["tries"].append(1 + asked)
        found["ms"].append((time.perf_counter() - began) * 1e3)

    def come_back(unlocked: Any) -> None:
        for entry in edna.history(unlocked)[:1]:
            edna.reveal(entry.receipt, unlocked)

    with mock.patch.object(transactions, "asks_for_another_try", counted):
        while time.time() < until:
            user, key = chance.choice(people)
            once(lambda user=user: edna.disguise(LEAVE, user))
            with edna.unlock(secret_key=key) as unlocked:
                once(lambda unlocked=unlocked: come_back(unlocked))
    return found


def measure(nodes: Sequence[Node], people: Sequence[Any], *, writers: int, seconds: float, scratch: Path) -> None:
    from django.db import connections

    connections.close_all()
    until = time.time() + seconds
    work = [partial(write, number, nodes[number % len(nodes)], people, until) for number in range(writers)]
    all_found = in_children(work, scratch)
    done, busy = (sum(found[name] for found in all_found) for name in ("done", "busy"))
    tries = [number for found in all_found for number in found["tries"]]
    taken = [each for found in all_found for each in found["ms"]]
    again = sum(number > 1 for number in tries)
    print(
        f"{len(people):>8}{writers:>9}{done / seconds:>12.1f}{again / max(1, len(tries)):>13.1%}{max(tries, default=0):>12}"
        f"{percentile(taken, 50):>10.1f}{percentile(taken, 99):>10.1f}{max(taken):>10.1f}{busy:>8}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.galera", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--people", default="1000,30,6,3", help="how many they are, comma-separated: %(default)s")
    parser.add_argument("--writers", default="3,9", help="processes, comma-separated: %(default)s")
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    counts = [int(each) for each in arguments.people.split(",")]
    try:
        with private_galera(count=3) as nodes, tempfile.TemporaryDirectory(prefix="edna-bench-") as directory:
            os.environ |= {"EDNA_DATABASE_URL": nodes[0].url, "EDNA_VAR": f"{directory}/var"}
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
            import django

            django.setup()
            from benchmarks.websubmit.course import Course, Scale

            course = Course(Scale(users=max(counts), lectures=5, questions=4), with_slots=0, seed=1)
            everybody = [(member.user, member.secret_key) for member in course.members]
            print(f"\n{'people':>8}{'writers':>9}{'a second':>12}{'again':>13}{'most tries':>12}", end="")
            print(f"{'p50 ms':>10}{'p99 ms':>10}{'most ms':>10}{'busy':>8}")
            for number in counts:
                for writers in map(int, arguments.writers.split(",")):
                    measure(
                        nodes,
                        everybody[:number],
                        writers=writers,
                        seconds=arguments.seconds,
                        scratch=Path(directory),
                    )
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
