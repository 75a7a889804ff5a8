"""``manage.py hotcrp_seed``: a conference with people, papers, reviews and comments."""

from __future__ import annotations

import os
import random
import time
from argparse import ArgumentParser
from typing import Any, TypeVar

from django.apps import apps
from django.contrib.auth.hashers import make_password
from django.core.management.base import BaseCommand, CommandError
from django.db import models, transaction

import edna
from apps.showcase import statistics
from apps.showcase.progress import progress

from ... import seeding
from ...auth import identifier
from ...models import ContactInfo, Paper, Settings, TopicArea

DEMO_PASSWORD = "conference-demo"  # noqa: S105 - no secret: printed for everybody who seeds the demo
DEMO_PEOPLE = (seeding.DEMO_AUTHOR, seeding.DEMO_REVIEWER, seeding.DEMO_CHAIR)
#: People not on the PC, people on it, papers: with fewer, a paper does not get its authors, conflicts and reviews.
FEWEST = (seeding.AUTHORS + 1, seeding.CONFLICTS + seeding.REVIEWS, 1)
BATCH = 2_000
PAPERS_AT_ONCE = 50

Row = TypeVar("Row")


class Command(BaseCommand):
    help = (
        "Fill an empty conference: authors, a PC, papers with reviews and comments. The same --seed makes the same data. Everybody's "
        f"password is “{DEMO_PASSWORD}”. Every account gets a key; password and recovery code open it for {', '.join(DEMO_PEOPLE)} "
        "only, since making it so takes time on purpose."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--users", type=int, default=3000, help="people who are not on the PC (default: %(default)s)"
        )
        parser.add_argument("--pc", type=int, default=80, help="people who are (default: %(default)s)")
        parser.add_argument("--papers", type=int, default=550, help="number of papers (default: %(default)s)")
        parser.add_argument(
            "--scale", type=float, default=1.0, help="multiplies these three, as far as a conference can be that small"
        )
        parser.add_argument(
            "--seed", type=int, default=1, help="another number makes other data (default: %(default)s)"
        )
        parser.add_argument(
            "--no-register", action="store_true", help="give nobody a key: their data cannot be disguised yet"
        )
        parser.add_argument(
            "--keys-file", metavar="PATH", help="write “e-mail,secret key” lines there, for tests and benchmarks only"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        users, pc, count = options["users"], options["pc"], options["papers"]
        if users < FEWEST[0] or pc < FEWEST[1] or count < FEWEST[2] or options["scale"] <= 0:
            raise CommandError(
                "At least --users {} --pc {} --papers {} are needed, and a positive --scale.".format(*FEWEST)
            )
        sizes = zip((users, pc, count), FEWEST, strict=True)
        users, pc, count = (max(fewest, round(size * options["scale"])) for size, fewest in sizes)
        if options["no_register"] and options["keys_file"]:
            raise CommandError("--no-register makes no keys that --keys-file could write.")
        if ContactInfo.objects.exists() or Paper.objects.exists():
            raise CommandError("There is data already. Seed an empty database, for example after `manage.py flush`.")
        started = time.monotonic()
        source = random.Random(options["seed"])
        with transaction.atomic():
            people = self._people(users, pc, source)
            made = self._conference(count, people, source)
            recovery_code = None if options["no_register"] else self._register(people, options["keys_file"])
        statistics.refresh(apps.get_app_config("hotcrp_sim").get_models())
        self.stdout.write(
            f"Made {users + pc:,} people, {pc:,} of them on the PC, {count:,} papers and {made:,} rows around them in "
            f"{time.monotonic() - started:.1f} s.\n"
            f"Author: {seeding.DEMO_AUTHOR}   Reviewer: {seeding.DEMO_REVIEWER}   Chair: {seeding.DEMO_CHAIR}   "
            f"Password of everybody: {DEMO_PASSWORD}"
        )
        if recovery_code:
            self.stdout.write(f"Recovery code of {seeding.DEMO_AUTHOR}: {recovery_code}")

    def _people(self, users: int, pc: int, source: random.Random) -> seeding.People:
        """Stored in random order: whoever is on the PC cannot be told by their number."""
        # One hash for all, computed once.
        password = make_password(DEMO_PASSWORD, salt="".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=22)))
        people = seeding.make_people(users, pc, password, source)
        everybody = people.everybody
        ContactInfo.objects.bulk_create(source.sample(everybody, len(everybody)), batch_size=BATCH)
        return people

    def _conference(self, count: int, people: seeding.People, source: random.Random) -> int:
        """Store everything but people; returns how many rows there are beside the papers."""
        Settings.objects.bulk_create(seeding.make_settings())
        topics = TopicArea.objects.bulk_create(seeding.make_topics())
        papers = list(seeding.make_papers(count, people, source))
        Paper.objects.bulk_create([paper for paper, _ in papers], batch_size=BATCH)
        made = store(seeding.about_people(people, topics, source))
        waiting = seeding.Extras()
        about = seeding.about_papers(papers, people, topics, source)
        for done, (_, rows) in enumerate(progress(about, count, "papers", self.stderr), start=1):
            for each in rows.rows.values():
                waiting.add(*each)
            if done % PAPERS_AT_ONCE == 0 or done == count:
                made += store(waiting)
                waiting = seeding.Extras()
        links = seeding.Extras()
        links.add(*seeding.links_to_papers((paper for paper, _ in papers), source))
        return made + store(links)

    def _register(self, people: seeding.People, keys_file: str | None) -> str:
        """A key for everybody; returns the demo author's recovery code."""
        everybody = people.everybody
        named = [person for person in everybody if person.email in DEMO_PEOPLE]
        registrations = {
            person.email: edna.register_principal(person, password=DEMO_PASSWORD, identifier=identifier(person.email))
            for person in named
        }
        others = [person for person in everybody if person.email not in DEMO_PEOPLE]
        registrations |= zip((person.email for person in others), edna.register_principals(others), strict=True)
        if keys_file:
            # These keys open everything: a file for its owner alone, made as such.
            with os.fdopen(os.open(keys_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.writelines(f"{email},{made.secret_key.expose_text()}\n" for email, made in registrations.items())
        return str(registrations[seeding.DEMO_AUTHOR].recovery_code)


def store(extras: seeding.Extras) -> int:
    """Insert the rows, those of each table at once; returns how many there were."""
    for table, rows in extras.rows.items():
        assert issubclass(table, models.Model)
        table._default_manager.bulk_create(rows, batch_size=BATCH)  # type: ignore[arg-type]
    return sum(len(rows) for rows in extras.rows.values())
