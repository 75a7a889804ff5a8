"""What the key pool saves whoever waits, and what its refill costs others: ``python -m benchmarks.keypool``.

First: somebody's answers each get another author, with a full pool and with a drained one, in turn, and are revealed after each,
untimed. The drained pool refills itself meanwhile, as it does in a site. Second: a piece of work of a few milliseconds, such as a
request is, while nothing else goes on, while a pool is refilled again and again, and the same without the rests that the pool takes.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter_ns
from typing import Any
from unittest import mock

from benchmarks.kit.percentiles import percentile
from benchmarks.kit.servers import private_database
from benchmarks.timing import interleave

POOL = 1024
DISGUISE = "benchmarks.every-answer"


def prepare(sizes: Sequence[int]) -> list[tuple[int, Any, Any]]:
    """(answers, student, secret key) of one student for each size."""
    from django.core.management import call_command

    import edna
    from apps.websubmit.disguises import Anonymous
    from apps.websubmit.models import Answer, Lecture, Question, User

    call_command("migrate", verbosity=0)
    lecture = Lecture.objects.create(label="All")
    questions = Question.objects.bulk_create(
        Question(lecture=lecture, number=number, text="Why?") for number in range(max(sizes))
    )
    questions = list(Question.objects.order_by("pk"))
    people = []
    for size in sizes:
        student = User.objects.create_user(f"student{size}@example.org")
        Answer.objects.bulk_create(Answer(author=student, question=each, text="Because.") for each in questions[:size])
        people.append((size, student, edna.register_principal(student).secret_key))

    class EveryAnswer(edna.Disguise):
        """Another author for every answer."""

        name = DISGUISE
        transformations = [edna.Decorrelate(Answer, owner="author")]
        pseudoprincipal = Anonymous

    edna.register(EveryAnswer)
    return people


def disguises(people: Sequence[tuple[int, Any, Any]], rounds: int) -> None:
    import edna
    from edna.keypool import pool

    print(f"\nA disguise, {rounds} rounds, ms at p5 / p50 / p95")
    print(f"{'pseudoprincipals':>17}{'full pool':>26}{'drained':>26}{'saved at p50':>16}")
    for size, student, key in people:
        taken: dict[str, list[float]] = {"full": [], "drained": []}

        def once(state: str, student: Any = student, key: Any = key, taken: dict[str, list[float]] = taken) -> None:
            wait_for_refill()
            if state == "full":
                pool.refill()
            else:
                pool.take(pool.depth)
                wait_for_refill(drain=True)
            began = perf_counter_ns()
            receipt = edna.disguise(DISGUISE, student)
            taken[state].append((perf_counter_ns() - began) / 1e6)
            with edna.unlock(secret_key=key) as unlocked:
                assert edna.reveal(receipt, unlocked).complete

        for number in range(rounds + 3):
            interleave(number, lambda: once("full"), lambda: once("drained"))
        full, drained = taken["full"][3:], taken["drained"][3:]
        saved = percentile(drained, 50) - percentile(full, 50)
        share = saved / percentile(drained, 50)
        print(f"{size:>17,}{spread(full):>26}{spread(drained):>26}{f'{saved:.2f} ({share:.0%})':>16}", flush=True)


def wait_for_refill(*, drain: bool = False) -> None:
    """Until no thread refills; with ``drain`` the pool is empty then."""
    from edna.keypool import THREAD, pool

    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join()
    if drain:
        pool.wipe()


@contextmanager
def private_site(database: str, **configured: Any) -> Iterator[str]:
    """The sample site's applications in this process, with these of edna's settings, on a database of their own; of which vendor."""
    with (
        tempfile.TemporaryDirectory(prefix="edna-bench-") as scratch,
        private_database(database, to_be_measured=True) as url,
    ):
        os.environ |= {"EDNA_DATABASE_URL": url, "EDNA_VAR": str(Path(scratch) / "var")}
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        import django
        from django.conf import settings
        from django.db import connections

        django.setup()
        settings.EDNA |= configured
        yield connections["default"].vendor
        connections.close_all()


def spread(samples: Sequence[float]) -> str:
    return " / ".join(f"{percentile(samples, percent):.2f}" for percent in (5, 50, 95))


def piece_of_work() -> None:
    """About two milliseconds of Python, as a view or a template is."""
    text = "".join(f"<li>{number} {hashlib.sha256(str(number).encode()).hexdigest()}</li>" for number in range(1_500))
    assert len(text) > 1


def beside_the_refill(rounds: int) -> None:
    from edna import keypool

    print(f"\nA piece of work of one thread, {rounds} rounds, ms at p5 / p50 / p95")
    stop = threading.Event()

    def timed() -> list[float]:
        samples = []
        for _ in range(rounds):
            began = perf_counter_ns()
            piece_of_work()
            samples.append((perf_counter_ns() - began) / 1e6)
        return samples

    def keep_refilling() -> None:
        pool = keypool.KeyPool()
        while not stop.is_set():
            pool.wipe()
            pool._refill_in_background(pool._stock)

    def meanwhile(work: Callable[[], None]) -> list[float]:
        stop.clear()
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        samples = timed()
        stop.set()
        thread.join()
        return samples

    timed()
    print(f"{'nothing else':>28}{spread(timed()):>26}")
    print(f"{'refilled without an end':>28}{spread(meanwhile(keep_refilling)):>26}")
    with mock.patch.object(keypool.time, "sleep"), mock.patch.object(keypool, "_AT_ONCE", 256):
        print(f"{'the same without rests':>28}{spread(meanwhile(keep_refilling)):>26}", flush=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.keypool", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100, help="disguises of each kind (default %(default)s)")
    parser.add_argument("--sizes", default="2,55,250,1000", help="answers of the students (default %(default)s)")
    parser.add_argument("--database", choices=("mariadb", "postgres", "sqlite"), default="mariadb")
    given = parser.parse_args(arguments)
    sizes = [int(size) for size in given.sizes.split(",")]
    with private_site(given.database, KEY_POOL_SIZE=max(POOL, *sizes)) as vendor:
        people = prepare(sizes)
        print(f"{vendor}; a pool of {max(POOL, *sizes):,}")
        gc.collect()
        gc.freeze()
        disguises(people, given.rounds)
        beside_the_refill(10 * given.rounds)


if __name__ == "__main__":
    main(sys.argv[1:])
