"""People of an application with keys in the benchmark's hands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import connection
from django.db.models import Model

import edna
from benchmarks.disguising import Person
from benchmarks.kit.driver import Driver

_BATCH = 1000


def with_keys(users: Sequence[Model]) -> list[Person]:
    """Register everybody. Whoever the seed registered gets another key: there is no bag yet that the first one opens."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM edna_principalentry")
        cursor.execute("DELETE FROM edna_keyslot")
    people = []
    for start in range(0, len(users), _BATCH):
        part = users[start : start + _BATCH]
        for user, made in zip(part, edna.register_principals(part), strict=True):
            assert made.secret_key is not None
            people.append(Person(user, made.secret_key))
    return people


def owned(driver: Driver, columns: Sequence[tuple[str, str]]) -> Mapping[int, int]:
    """How many rows refer to each user by these (table, column) pairs."""
    found: dict[int, int] = {}
    for table, column in columns:
        name = driver.quoted(column)
        sql = f"SELECT {name}, COUNT(*) FROM {driver.quoted(table)} WHERE {name} IS NOT NULL GROUP BY {name}"
        for user, count in driver.execute(sql).fetchall():
            found[user] = found.get(user, 0) + count
    driver.connection.commit()
    return found
