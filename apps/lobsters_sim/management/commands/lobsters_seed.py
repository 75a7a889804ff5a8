"""``manage.py lobsters_seed``: a site with members, stories, comments, votes and messages, as large as the published one if wanted."""

from __future__ import annotations

import datetime
import os
import random
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any, TextIO

from django.apps import apps
from django.contrib.auth.hashers import make_password
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils.dateparse import parse_date

import edna
from apps.showcase import statistics

from ...models import Comment, Story, Tag, User, Vote
from ...seeding import bulk
from ...seeding.population import populate
from ...seeding.rows import BEA, MOD, Site

DEMO_PASSWORD = "crustacean-demo"  # noqa: S105 - no secret: printed for everybody who seeds the demo
LAST_DAY = "2025-06-30"
#: So many get their keys at once.
BATCH = 1_000


class Command(BaseCommand):
    help = (
        "Fill an empty Lobsters with members, stories, comments, votes, messages and some of everything else, distributed as the "
        "statistics of the original say: --scale 2.75 is the published size (15,955 members and 3.4 million rows), the default a "
        f"small site. The same --seed makes the same data. Everybody's password is “{DEMO_PASSWORD}”. Every account gets a key; "
        f"password and recovery code open it for {BEA} and {MOD} only, since making it so takes time on purpose."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--scale", type=float, default=0.05, help="size, where the original of 2018 is 1 (default: %(default)s)"
        )
        parser.add_argument(
            "--seed", type=int, default=1, help="another number makes other data (default: %(default)s)"
        )
        parser.add_argument(
            "--until",
            metavar="DATE",
            default=LAST_DAY,
            help="the last day of the site's six years (default: %(default)s)",
        )
        parser.add_argument(
            "--no-register", action="store_true", help="give nobody a key: their data cannot be disguised yet"
        )
        parser.add_argument(
            "--keys-file",
            metavar="PATH",
            help="write “user name,secret key” lines there, for tests and benchmarks only",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        scale, until = options["scale"], _day(options["until"])
        if not 0.01 <= scale <= 100:
            raise CommandError("--scale must be at least 0.01, and at most 100.")
        if options["no_register"] and options["keys_file"]:
            raise CommandError("--no-register makes no keys that --keys-file could write.")
        if any(model.objects.exists() for model in (User, Story, Tag)):
            raise CommandError("There is data already. Seed an empty database, for example after `manage.py flush`.")
        started = time.monotonic()
        source = random.Random(f"lobsters {options['seed']} password")
        password = make_password(DEMO_PASSWORD, salt="".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=22)))
        people = populate(scale, options["seed"])
        site = Site(people, scale=scale, seed=options["seed"], until=until, password=password)
        tables = site.tables()
        keys = 0 if options["no_register"] else people.users
        bar = Bar(sum(table.size for table in tables) + keys, self.stderr)
        made = {}
        with transaction.atomic():
            for table in tables:
                made[table.model] = bulk.insert(table.model, table.names, table.rows, done=bar.advance)
            bulk.count_on(made)
            recovery_code = self._register(options["keys_file"], bar) if keys else None
        statistics.refresh(apps.get_app_config("lobsters_sim").get_models())
        bar.finish()
        self.stdout.write(
            f"Made {made[User]:,} members, {made[Story]:,} stories, {made[Comment]:,} comments and {made[Vote]:,} votes, "
            f"{sum(made.values()):,} rows in all, in {time.monotonic() - started:.1f} s.\n"
            f"Member: {BEA}   Moderator: {MOD}   Password of everybody: {DEMO_PASSWORD}"
        )
        if recovery_code:
            self.stdout.write(f"Recovery code of {BEA}: {recovery_code}")

    def _register(self, keys_file: str | None, bar: Bar) -> str:
        """A key for everybody; returns the demo member's recovery code."""
        made = _registrations(bar)
        code = ""
        # These keys open everything: a file for its owner alone, made as such.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(keys_file or os.devnull, flags, 0o600), "w") as file:
            for user, registration in made:
                if user.username == BEA:
                    code = str(registration.recovery_code)
                if keys_file:
                    file.write(f"{user.username},{registration.secret_key.expose_text()}\n")
        return code


def _registrations(bar: Bar) -> Iterator[tuple[User, Any]]:
    named = (BEA, MOD)
    for user in User.objects.filter(username__in=named):
        yield user, edna.register_principal(user, password=DEMO_PASSWORD, identifier=f"lobsters:{user.username}")
    others = User.objects.exclude(username__in=named).order_by("pk").only("pk", "username")
    for first in range(0, others.count(), BATCH):
        users = list(others[first : first + BATCH])
        yield from zip(users, edna.register_principals(users), strict=True)
        bar.advance(len(users))


def _day(text: str) -> datetime.datetime:
    try:
        day = parse_date(text)
    except ValueError:
        day = None
    if day is None:
        raise CommandError(f"--until {text}: write a date as in {LAST_DAY}.")
    return datetime.datetime.combine(day, datetime.time(), tzinfo=datetime.UTC)


class Bar:
    """How far it is, drawn while somebody watches."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self.total, self.done, self.stream = max(1, total), 0, stream
        self.watched, self.drawn = stream.isatty(), -1

    def advance(self, rows: int) -> None:
        self.done = min(self.done + rows, self.total)
        percent = 100 * self.done // self.total
        if self.watched and percent != self.drawn:
            self.drawn = percent
            filled = 40 * self.done // self.total
            self.stream.write(
                f"\r[{'#' * filled}{'.' * (40 - filled)}] {self.done:,} of {self.total:,} rows", ending=""
            )
            self.stream.flush()

    def finish(self) -> None:
        if self.watched:
            self.advance(self.total)
            self.stream.write("")
