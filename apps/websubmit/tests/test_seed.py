"""The data generator, at a small scale."""

from __future__ import annotations

import io
import stat
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command

import edna
from apps.websubmit.models import Answer, Lecture, Question, User

from .conftest import dump

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def seed(**options: Any) -> str:
    out = io.StringIO()
    call_command("websubmit_seed", stdout=out, **{"users": 5, "lectures": 3, "questions": 2, **options})
    return out.getvalue()


def test_makes_what_it_says() -> None:
    out = seed()
    assert (User.objects.count(), Lecture.objects.count(), Question.objects.count(), Answer.objects.count()) == (
        6,
        3,
        6,
        30,
    )
    assert "30 answers" in out
    assert len(set(Answer.objects.values_list("text", flat=True))) > 25
    assert len(set(User.objects.values_list("password", flat=True))) == 1
    assert all(edna.is_registered(user) for user in User.objects.all())


def test_the_demo_accounts_work() -> None:
    out = seed()
    student = authenticate(username="bea@example.org", password="homework-demo")
    staff = authenticate(username="staff@example.org", password="homework-demo")
    assert (student.is_admin, staff.is_admin) == (False, True)
    code = out.rpartition("Recovery code of bea@example.org: ")[2].strip()
    for key in ({"identifier": "bea@example.org", "password": "homework-demo"}, {"recovery_code": code}):
        with edna.unlock(**key) as unlocked:
            assert edna.history(unlocked) == []


def course() -> dict[str, list[tuple[Any, ...]]]:
    """All rows, with primary keys counted from 0: databases go on counting after a deletion."""
    tables = dump()
    first = {table: rows[0][0] for table, rows in tables.items() if rows}
    return {
        table: [(row[0] - first[table], *(v for v in row[1:] if not isinstance(v, int))) for row in rows]
        for table, rows in tables.items()
    }


def test_the_same_seed_makes_the_same_data() -> None:
    made = []
    for number in (1, 1, 2):
        seed(seed=number, no_register=True)
        made.append(course())
        for model in (Answer, Question, Lecture, User):
            model.objects.all().delete()
    assert made[0] == made[1]
    assert made[0] != made[2]


def test_keys_file_opens_every_account_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    seed(keys_file=str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = [line.split(",") for line in path.read_text().splitlines()]
    assert {email for email, _ in lines} == set(User.objects.values_list("email", flat=True))
    for email, text in lines:
        with edna.unlock(secret_key=edna.SecretKey.parse(text)) as unlocked:
            receipt = edna.disguise("websubmit.delete-account", User.objects.get(email=email), unlocked=unlocked)
            edna.reveal(receipt, unlocked)
    assert User.objects.count() == len(lines)


def test_no_register() -> None:
    seed(no_register=True)
    assert not any(edna.is_registered(user) for user in User.objects.all())


@pytest.mark.parametrize(
    ("options", "message"),
    [({"users": 0}, "at least 1"), ({"no_register": True, "keys_file": "x"}, "makes no keys")],
)
def test_refuses_nonsense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        seed(**options)


def test_refuses_to_mix_with_other_data() -> None:
    Lecture.objects.create(label="Mine")
    with pytest.raises(CommandError, match="There is data already"):
        seed()
    assert User.objects.count() == 0
