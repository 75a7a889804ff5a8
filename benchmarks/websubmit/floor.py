"""WebSubmit's operations at the floor: what becomes of which rows, and an edit under disguise."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

from benchmarks.floor import Floor, People, Person, Place, repointed
from benchmarks.kit.driver import Driver
from benchmarks.websubmit import manual

#: Referred to come last: rows go in this order, and come back in the opposite one.
DELETE: Final = (
    Place("websubmit_answer", ("author_id",), removes=True),
    Place("django_admin_log", ("user_id",), removes=True),
    Place("websubmit_user", ("id",), removes=True),
)
LECTURE: Final = "(SELECT q.lecture_id FROM websubmit_question q WHERE q.id = t.question_id)"
ANONYMISE: Final = (repointed("websubmit_answer", "author_id", group=LECTURE),)


def floor(driver: Driver) -> Floor:
    return Floor(driver, People("websubmit_user", "id", _placeholder))


def _placeholder() -> Mapping[str, Any]:
    return {
        "email": f"{secrets.token_hex(16)}@anonymous.invalid",
        "password": "!",
        "apikey": secrets.token_hex(16),
        "is_admin": False,
        "is_anon": True,
        "is_active": False,
    }


def create_account(floor: Floor, driver: Driver, email: str, password_hash: str) -> None:
    """With a key of its own."""
    with driver.transaction():
        floor.add(manual.insert_account(driver, email, password_hash))


def edit(floor: Floor, driver: Driver, person: Person, question: int, text: str) -> None:
    """An answer that is with one of those for whom its author speaks."""
    with driver.transaction():
        voices = list(floor.voices(person))
        marks = ", ".join(["%s"] * len(voices))
        sql = f"SELECT author_id FROM websubmit_answer WHERE author_id IN ({marks}) AND question_id = %s"
        ((author,),) = driver.execute(sql, [*voices, question]).fetchall()
        manual.change_answer(driver, author, question, text)
