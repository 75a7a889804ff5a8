"""The guided tour through WebSubmit holds, and it would say so if it did not."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from apps.websubmit.models import Answer, User

pytestmark = pytest.mark.long


def test_every_check_holds_and_the_thief_finds_much_before_and_nothing_after(tour: Any) -> None:
    output = tour("websubmit")
    assert "✗" not in output
    assert output.count("  ✓ ") >= 30
    assert "changed rows in websubmit_answer: 1\n" in output
    lines = [line.split() for line in output.splitlines()]
    answers = [line[1:] for line in lines if len(line) == 3 and line[0] == "answers" and line[1] == line[2]]
    assert answers[:2] == [["20", "20"], ["0", "0"]]


def leave_an_answer(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A disguise that forgets a table: the student is gone, one answer of theirs is not."""
    answer = args[1].answers.order_by("pk").first()
    receipt = original(*args, **kwargs)
    Answer(author=User.objects.get(email="staff@example.org"), question=answer.question, text=answer.text).save()
    return receipt


def leave_the_address(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A disguise that writes where it should not."""
    receipt = original(*args, **kwargs)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE edna_principalentry SET locators = %s WHERE reference IS NULL", [args[1].email.encode()])
    return receipt


def leave_the_key(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A registration that keeps the secret key, as bytes."""
    registration = original(*args, **kwargs)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE edna_keyslot SET tag = %s", [registration.secret_key.expose()])
    return registration


def forget_an_answer(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A reveal that skips a row."""
    outcome = original(*args, **kwargs)
    Answer.objects.order_by("pk").filter(author__email="bea@example.org")[0].delete()
    return outcome


def change_a_byte(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A reveal that brings back almost what was there."""
    outcome = original(*args, **kwargs)
    answer = Answer.objects.order_by("pk").filter(author__email="bea@example.org")[0]
    Answer.objects.filter(pk=answer.pk).update(text=answer.text + " ")
    return outcome


def leave_a_name(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A global disguise that misses somebody's answer."""
    receipts = original(*args, **kwargs)
    one = Answer.objects.filter(author__is_anon=True).order_by("pk")[0]
    Answer.objects.filter(pk=one.pk).update(author=User.objects.get(email="staff@example.org"))
    return receipts


def let_everybody_speak(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A check of rights that checks nothing."""
    return args[1].author


@pytest.mark.parametrize(
    ("name", "sabotage", "claim"),
    [
        pytest.param("disguise", leave_an_answer, "Nothing of Bea's is left to be read", marks=pytest.mark.slow),
        pytest.param("reveal", forget_an_answer, "Every table is equal to what it was before", marks=pytest.mark.slow),
        pytest.param("disguise", leave_the_address, "Nothing of Bea's is left to be read", marks=pytest.mark.slow),
        pytest.param("register_principal", leave_the_key, "No secret is in the database", marks=pytest.mark.slow),
        pytest.param("reveal", change_a_byte, "Every table is equal to what it was before", marks=pytest.mark.slow),
        pytest.param("disguise_all", leave_a_name, "None of them has an author with a name", marks=pytest.mark.slow),
        pytest.param("speak_as", let_everybody_speak, "Refused: somebody else's key", marks=pytest.mark.slow),
    ],
)
def test_it_fails_when_something_is_not_as_promised(sabotaged: Any, name: str, sabotage: Any, claim: str) -> None:
    sabotaged("websubmit", name, sabotage, claim)
