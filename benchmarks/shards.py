"""What several databases for the people of one site cost, and what they bring: ``python -m benchmarks.shards``.

Two MariaDBs or PostgreSQLs on this machine. First one process, in turns: somebody leaves and comes back, where the settings name one
database, and where they name two. Statements of each, and time of the processor. Then several writers, all on one database, and on both:
how many times a second.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.kit.percentiles import percentile
from benchmarks.kit.servers import ServerError, private_database
from benchmarks.writers import in_children

LEAVE = "websubmit.delete-account"
SHARDS = ("default", "south")


def settle(url: str, people: int) -> list[tuple[int, str]]:
    """A course in one database: primary keys of its students, and their keys."""
    os.environ["EDNA_DATABASE_URL"] = url
    import django

    django.setup()
    from benchmarks.websubmit.course import Course, Scale

    course = Course(Scale(users=people, lectures=5, questions=4), with_slots=0, seed=1)
    return [(member.user.pk, member.secret_key.expose_text()) for member in course.members]


def use(urls: Sequence[str]) -> None:
    """This process knows both databases from now on."""
    os.environ["EDNA_DATABASE_URL"] = urls[0]
    import django

    django.setup()
    from django.conf import settings
    from django.db import connections

    from config.database import from_url

    for alias, url in zip(SHARDS, urls, strict=True):
        described = from_url(url, base=Path("/"))
        settings.DATABASES[alias] = {**settings.DATABASES["default"], **described}
    connections.databases[SHARDS[1]] = connections.configure_settings(settings.DATABASES)[SHARDS[1]]


def name(*shards: str) -> None:
    from django.conf import settings

    settings.EDNA = {**settings.EDNA, "CUSTODY": "server", "DATABASES": list(shards)}


def vouch() -> None:
    """For everybody who was registered while their database was the only one."""
    from django.core.management import call_command

    name(*SHARDS)
    for alias in SHARDS:
        call_command("edna_vouch", formerly_alone=True, database=alias, stdout=io.StringIO())


def away_and_back(user: Any, key: str) -> None:
    import edna

    receipt = edna.disguise(LEAVE, user)
    with edna.unlock(secret_key=key, principal=user) as unlocked:
        edna.reveal(receipt, unlocked)


def write(alias: str, people: Sequence[tuple[int, str]], until: float) -> list[float]:
    """One writer; how many milliseconds each took."""
    from apps.websubmit.models import User

    name(*SHARDS)
    users = [(User.objects.using(alias).get(pk=pk), key) for pk, key in people]
    taken: list[float] = []
    while time.time() < until:
        began = time.perf_counter()
        away_and_back(*users[len(taken) % len(users)])
        taken.append((time.perf_counter() - began) * 1e3)
    return taken


def in_turns(people: Sequence[tuple[int, str]], rounds: int) -> dict[str, tuple[int, list[float]]]:
    """Statements of one, and microseconds of the processor of each, with one database and with two."""
    from django.core.management import call_command
    from django.db import connections
    from django.test.utils import CaptureQueriesContext

    from apps.websubmit.models import User
    from edna import store

    users = [(User.objects.using("default").get(pk=pk), key) for pk, key in people]
    half = len(users) // 2
    # Whose key an entry has counts in the place that its tag names: so each half is of one of the two.
    name(*SHARDS)
    for user, _ in users[half:]:
        (entry,) = store.entries_by_reference(User._meta.label_lower, [str(user.pk)], using="default")
        call_command("edna_vouch", entry=entry.id, database="default", stdout=io.StringIO())
    halves = {"one": users[:half], "two": users[half:]}
    found: dict[str, tuple[int, list[float]]] = {}
    for number in range(-5, rounds):
        for words, shards in (("one", ()), ("two", SHARDS)) if number % 2 else (("two", SHARDS), ("one", ())):
            name(*shards)
            user, key = halves[words][number % half]
            if number < 0:  # to warm up, and to count
                with CaptureQueriesContext(connections["default"]) as sent:
                    away_and_back(user, key)
                found[words] = len(sent), []
                continue
            began = time.process_time_ns()
            away_and_back(user, key)
            found[words][1].append((time.process_time_ns() - began) / 1e3)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shards", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--people", type=int, default=200, help="in each database: %(default)s")
    parser.add_argument("--writers", default="2,4", help="processes, comma-separated: %(default)s")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=400, help="of the comparison in turns: %(default)s")
    parser.add_argument("--database", choices=("mariadb", "postgres"), default="mariadb", help="default: %(default)s")
    arguments = parser.parse_args()
    try:
        with (
            private_database(arguments.database, to_be_measured=True) as first,
            private_database(arguments.database, to_be_measured=True) as second,
            tempfile.TemporaryDirectory(prefix="edna-bench-") as directory,
        ):
            os.environ["EDNA_VAR"] = f"{directory}/var"
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
            report(arguments, [first, second], Path(directory))
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def report(arguments: argparse.Namespace, urls: Sequence[str], scratch: Path) -> None:
    people = [
        found for each in urls for found in in_children([lambda each=each: settle(each, arguments.people)], scratch)
    ]
    use(urls)
    turns: dict[str, Any]
    (turns,) = in_children([lambda: in_turns(people[0], arguments.rounds)], scratch)
    in_children([vouch], scratch)
    print(f"\n{'databases':>10}{'statements':>12}{'processor p50 us':>18}")
    for words, (statements, taken) in turns.items():
        print(f"{words:>10}{statements:>12}{statistics.median(taken):>18.0f}")
    print(f"\n{'writers':>8}{'databases':>11}{'away and back a second':>24}{'p50 ms':>9}{'p99 ms':>9}")
    for writers in map(int, arguments.writers.split(",")):
        for shards in (SHARDS[:1], SHARDS):
            until = time.time() + arguments.seconds
            jobs = []
            for number in range(writers):
                place = number % len(shards)
                mine = people[place][number::writers]
                jobs.append(lambda alias=shards[place], mine=mine, until=until: write(alias, mine, until))
            taken = [each for found in in_children(jobs, scratch) for each in found]
            rate = len(taken) / arguments.seconds
            print(
                f"{writers:>8}{len(shards):>11}{rate:>24.1f}{percentile(taken, 50):>9.1f}{percentile(taken, 99):>9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
