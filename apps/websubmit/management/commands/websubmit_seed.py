"""``manage.py websubmit_seed``: a course with students, lectures and answers."""

from __future__ import annotations

import datetime
import os
import random
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, TypeVar

from django.contrib.auth.hashers import make_password
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

import edna
from apps.showcase.progress import progress

from ... import corpus
from ...models import Answer, Lecture, Question, User

DEMO_PASSWORD = "homework-demo"  # noqa: S105 - no secret: printed for everybody who seeds the demo
DEMO_STUDENT = "bea@example.org"
DEMO_STAFF = "staff@example.org"
FIRST_DAY = datetime.datetime(2025, 2, 3, 9, 0, tzinfo=datetime.UTC)
BATCH = 5_000

Row = TypeVar("Row")


class Command(BaseCommand):
    help = (
        "Fill an empty WebSubmit with a course: students, lectures, questions, and one answer per student and question. "
        f"The same --seed makes the same data. Everybody's password is “{DEMO_PASSWORD}”. Every account gets a key; password and "
        f"recovery code open it for {DEMO_STUDENT} and {DEMO_STAFF} only, since making it so takes time on purpose."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--users", type=int, default=2000, help="number of students (default: %(default)s)")
        parser.add_argument("--lectures", type=int, default=20, help="number of lectures (default: %(default)s)")
        parser.add_argument("--questions", type=int, default=4, help="questions per lecture (default: %(default)s)")
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
        users, lectures, questions = options["users"], options["lectures"], options["questions"]
        if min(users, lectures, questions) < 1:
            raise CommandError("--users, --lectures and --questions must be at least 1.")
        if options["no_register"] and options["keys_file"]:
            raise CommandError("--no-register makes no keys that --keys-file could write.")
        if User.objects.exists() or Lecture.objects.exists():
            raise CommandError("There is data already. Seed an empty database, for example after `manage.py flush`.")
        started = time.monotonic()
        source = random.Random(options["seed"])
        with transaction.atomic():
            people = User.objects.bulk_create(make_people(users, source), batch_size=BATCH)
            course = Lecture.objects.bulk_create(make_lectures(lectures))
            asked = Question.objects.bulk_create(make_questions(course, questions), batch_size=BATCH)
            rows = make_answers([person for person in people if not person.is_admin], asked, source)
            for batch in batches(progress(rows, users * len(asked), "answers", self.stderr), BATCH):
                Answer.objects.bulk_create(batch)
            recovery_code = None if options["no_register"] else self._register(people, options["keys_file"])
        self.stdout.write(
            f"Made {users:,} students, 1 member of staff, {lectures:,} lectures, {len(asked):,} questions and "
            f"{users * len(asked):,} answers in {time.monotonic() - started:.1f} s.\n"
            f"Student: {DEMO_STUDENT}   Staff: {DEMO_STAFF}   Password of everybody: {DEMO_PASSWORD}"
        )
        if recovery_code:
            self.stdout.write(f"Recovery code of {DEMO_STUDENT}: {recovery_code}")

    def _register(self, people: list[User], keys_file: str | None) -> str:
        """A key for everybody; returns the demo student's recovery code."""
        named = [person for person in people if person.email in (DEMO_STUDENT, DEMO_STAFF)]
        registrations = {person.email: edna.register_principal(person, password=DEMO_PASSWORD) for person in named}
        others = [person for person in people if person not in named]
        registrations |= zip((person.email for person in others), edna.register_principals(others), strict=True)
        if keys_file:
            # These keys open everything: a file for its owner alone, made as such.
            with os.fdopen(os.open(keys_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.writelines(f"{email},{made.secret_key.expose_text()}\n" for email, made in registrations.items())
        return str(registrations[DEMO_STUDENT].recovery_code)


def make_people(students: int, source: random.Random) -> Iterator[User]:
    """The demo student, the member of staff, and more students; one password hash for all, computed once."""
    password = make_password(DEMO_PASSWORD, salt="".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=22)))
    emails = [DEMO_STUDENT, DEMO_STAFF]
    for number in range(2, students + 1):
        first, last = source.choice(corpus.FIRST_NAMES), source.choice(corpus.LAST_NAMES)
        emails.append(f"{first}.{last}{number}@example.org".lower())
    for email in emails:
        yield User(
            email=email,
            password=password,
            apikey=f"{source.getrandbits(128):032x}",
            is_admin=email == DEMO_STAFF,
            joined_on=FIRST_DAY.date() - datetime.timedelta(days=source.randrange(60)),
        )


def make_lectures(lectures: int) -> list[Lecture]:
    topics = [corpus.TOPICS[number % len(corpus.TOPICS)] for number in range(lectures)]
    return [Lecture(label=f"{number}. {topic}") for number, topic in enumerate(topics, start=1)]


def make_questions(lectures: Iterable[Lecture], questions: int) -> Iterator[Question]:
    for lecture in lectures:
        for number in range(1, questions + 1):
            text = corpus.QUESTIONS[(number - 1) % len(corpus.QUESTIONS)]
            yield Question(lecture=lecture, number=number, text=text.format(topic=_topic(lecture)))


def _topic(lecture: Lecture) -> str:
    return lecture.label.partition(". ")[2].lower()


def make_answers(students: list[User], questions: list[Question], source: random.Random) -> Iterator[Answer]:
    """One answer per student and question: a few sentences, handed in during the week after the lecture.

    Students hand in a lecture's answers in another order each week, as in life: whose answers stand next to each other in the
    table then says nothing across lectures, even once they are anonymised.
    """
    order = list(students)
    for week, (lecture, asked) in enumerate(groupby(questions, key=lambda question: question.lecture)):
        topic, asked_now = _topic(lecture), list(asked)
        source.shuffle(order)
        for student in order:
            submitted_at = FIRST_DAY + datetime.timedelta(weeks=week, seconds=source.randrange(7 * 86_400))
            for question in asked_now:
                opening = source.choice(corpus.OPENINGS).format(topic=topic, idea=source.choice(corpus.IDEAS))
                middles = [
                    text.format(number=source.randrange(3, 60))
                    for text in source.sample(corpus.MIDDLES, source.randrange(1, 4))
                ]
                text = " ".join([opening, *middles, source.choice(corpus.CLOSINGS)])
                yield Answer(author=student, question=question, text=text, submitted_at=submitted_at)


def batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
