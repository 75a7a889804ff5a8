"""Students by the hundred thousand, made in SQL: with answers, and with the rows in edna's tables that registering leaves.

Every tenth has left: no account and no answers, an entry without a name, a list with one locator, and a bag of the usual size. What
is sealed there is random, as sealed bytes look. Whoever is to be measured gets a real key, as everybody does who registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import edna
from apps.websubmit.models import Lecture, Question, User
from benchmarks.disguising import Person
from benchmarks.kit.driver import Driver
from edna.db.short_values import label_number, short_reference

#: Few, so that a million students fit into memory.
ANSWERS_EACH: Final = 4
#: Answers of different students are on different questions, as they would be.
_QUESTIONS: Final = 80
_LEAVES: Final = 10
_SEALED_LOCATOR_BYTES: Final = 80
_AT_ONCE: Final = 100_000


class Crowd:
    """Students with consecutive numbers from 1, which are their primary keys, too. It can only grow."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.size = 0
        lecture = Lecture.objects.create(label="1. Everything")
        Question.objects.bulk_create(
            Question(lecture=lecture, number=number, text="Why?") for number in range(_QUESTIONS)
        )
        self._question = min(Question.objects.values_list("pk", flat=True))
        driver.execute(
            "CREATE TABLE bench_numbers (n BIGINT NOT NULL PRIMARY KEY, gone INT NOT NULL, question BIGINT NOT NULL)"
        )
        driver.execute("CREATE TABLE bench_few (n INT NOT NULL PRIMARY KEY)")
        driver.many("INSERT INTO bench_few VALUES (%s)", [(number,) for number in range(ANSWERS_EACH)])
        driver.commit()

    def here(self) -> list[int]:
        """The keys of those who have not left."""
        return [number for number in range(1, self.size + 1) if not _has_left(number)]

    def grow(self, size: int, *, bag_bytes: int, only: str = "") -> None:
        """Up to so many, whoever has left among them. ``bag_bytes``: how long a bag usually is. ``only``: with how the names of tables
        begin, there is nothing of them elsewhere."""
        for start in range(self.size, size, _AT_ONCE):
            end = min(start + _AT_ONCE, size)
            self._number(start + 1, end)
            with self._driver.without_references(), self._driver.transaction():
                for table, columns, source in self._tables(bag_bytes):
                    if not table.startswith(only):
                        continue
                    self._driver.execute(
                        f"INSERT INTO {table} ({', '.join(map(self._driver.quoted, columns))}) "
                        f"SELECT {', '.join(columns.values())} FROM bench_numbers b {source} AND b.n > %s AND b.n <= %s",
                        (start, end),
                    )
        self.size = max(self.size, size)

    def _number(self, first: int, last: int) -> None:
        numbers = range(first, last + 1)
        rows = [(n, int(_has_left(n)), self._question + n * ANSWERS_EACH % _QUESTIONS) for n in numbers]
        with self._driver.transaction():
            self._driver.many("INSERT INTO bench_numbers VALUES (%s, %s, %s)", rows)

    def _tables(self, bag_bytes: int) -> list[tuple[str, dict[str, str], str]]:
        """Table, an expression for each column, and of which numbers ``b.n``."""
        dialect = self._driver.dialect
        # Numbers that do not follow from a key: nobody looks for these.
        random, text, key = dialect.random_bytes, dialect.text, dialect.random_key
        here, gone = "WHERE b.gone = 0", "WHERE b.gone = 1"
        entry = {"id": key, "public_key": dialect.random_public_key(), "last_seen_on": "NULL", "expires_on": "NULL"}
        named = {
            "model": str(label_number(User._meta.label_lower)),
            "reference": dialect.eight_bytes("b.n"),
            "natural": "TRUE",
            "locators": "''",
            "tag": random(16),
        }
        nameless = {
            "model": "0",
            "reference": "NULL",
            "natural": "FALSE",
            "locators": random(_SEALED_LOCATOR_BYTES),
            "tag": "NULL",
        }
        user = {
            "id": "b.n",
            "email": text("'student-'", "b.n", "'@example.org'"),
            "password": text("'pbkdf2_sha256$1000000$'", dialect.hexadecimal(random(32))),
            "apikey": dialect.hexadecimal(random(16)),
            **dict.fromkeys(("is_admin", "is_anon"), "FALSE"),
            "is_active": "TRUE",
            "joined_on": "'2025-02-03'",
        }
        answer = {
            "author_id": "b.n",
            "question_id": "b.question + f.n",
            "text": text("b.n", "': A page fault is served in three steps.'"),
            "submitted_at": "'2025-02-03 09:00:00'",
        }
        bag = {"id": key, "index": random(32), "sealed": random(bag_bytes), "expires_on": "NULL"}
        return [
            ("websubmit_user", user, here),
            ("websubmit_answer", answer, f"CROSS JOIN bench_few f {here}"),
            ("edna_principalentry", {**entry, **named}, here),
            ("edna_principalentry", {**entry, **nameless}, gone),
            ("edna_bag", bag, gone),
        ]

    def with_keys(self, chosen: Sequence[int]) -> list[Person]:
        """Give these students keys of their own in the place of the random ones."""
        users = list(User.objects.filter(pk__in=chosen))
        marks = ", ".join(["%s"] * len(users))
        with self._driver.transaction():
            self._driver.execute(
                f"DELETE FROM edna_principalentry WHERE model = %s AND reference IN ({marks})",
                (label_number(User._meta.label_lower), *(short_reference(str(user.pk)) for user in users)),
            )
        people = []
        for user, made in zip(users, edna.register_principals(users), strict=True):
            assert made.secret_key is not None
            people.append(Person(user, made.secret_key))
        return people


def _has_left(number: int) -> bool:
    return number % _LEAVES == 0
