"""How WebSubmit's deletion and return grow: with one student's answers, and with the authors whom anonymising gave to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from django.conf import settings
from django.test import override_settings
from django.utils import timezone

import edna
from apps.websubmit.models import Answer, Lecture, Question, User
from benchmarks.timing import Key, interleave
from benchmarks.websubmit.course import SENTENCE, Member
from benchmarks.websubmit.in_library import ANONYMISE, DELETE, Library

SIZES: Final = (10, 100, 1_000, 10_000, 100_000)
#: In how many lectures, and so with how many anonymous authors, the answers of one student are.
GROUPS: Final = (0, 1, 10, 50, 100, 200, 400, 800)
#: Rounds where there are so many answers, at most.
_FEW: Final = {10_000: 15, 100_000: 3}
_BATCH: Final = 5_000
_LABEL: Final = "0. "


def growth(library: Library, *, times: int, largest: int) -> None:
    """Delete and restore students with more and more answers: in chunks as shipped, in one transaction and by hand, in turns."""
    for size in [size for size in SIZES if size <= largest]:
        with _prolific(size, lectures=1) as (member, _):
            _grown(library, member, size, times=times)


def _grown(library: Library, member: Member, size: int, *, times: int) -> None:
    suffix, whole, rows = f", {size:,} answers", f", {size:,} answers in one transaction", size + 1

    def in_one_transaction() -> None:
        with override_settings(EDNA={**settings.EDNA, "CHUNK_ROWS": 2 * size}):
            library.there_and_back(member, rows, suffix=whole)

    works: list[Callable[[], None]] = [
        lambda: library.there_and_back(member, rows, suffix=suffix),
        lambda: library.delete_by_hand(member, rows, suffix=suffix),
    ]
    if size > settings.EDNA.get("CHUNK_ROWS", edna.conf.DEFAULTS["CHUNK_ROWS"]):
        works.append(in_one_transaction)
    # Those of 100,000 answers take seconds each.
    times, drilled = (min(times, _FEW[size]), 1) if size in _FEW else (times, min(times, 3))
    for number in library.clock.rounds(range(times + drilled + 2), warm_up=1, drilled=drilled, counted=1):
        interleave(number, *works)
    lines = {suffix: "in chunks", whole: "in one transaction"} if in_one_transaction in works else {suffix: "in chunks"}
    for what, how in lines.items():
        for name in ("delete", "restore"):
            extra = {"curve": "rows", "x": size, "line": f"{name}, {how}"}
            library.extra[Key(f"{name} account{what}", "edna")] = extra
    library.extra[Key(f"delete account{suffix}", "manual")] = {"curve": "rows", "x": size, "line": "delete, by hand"}


def composition(library: Library, *, answers: int, times: int) -> None:
    """Delete and restore one student, whose answers are with more and more anonymous authors; always as many answers."""
    with _prolific(answers, lectures=answers) as (member, lectures):
        for groups in [number for number in GROUPS if number <= answers]:
            suffix = f", {answers:,} answers of {groups:,} authors"
            _spread(lectures, groups)
            receipt = edna.disguise(ANONYMISE, member.user) if groups else None
            drilled = min(times, 3)
            for _ in library.clock.rounds(range(times + drilled + 3), warm_up=2, drilled=drilled, counted=1):
                _there_and_back(library, member, answers + 1, suffix)
            if receipt is not None:
                with edna.unlock(secret_key=member.secret_key) as unlocked:
                    assert edna.reveal(receipt, unlocked).complete
            for name in ("delete", "restore"):
                extra = {"curve": "composition", "x": groups, "line": name}
                library.extra[Key(f"{name} account{suffix}", "edna")] = extra


def _there_and_back(library: Library, member: Member, rows: int, suffix: str) -> None:
    """As somebody who wants what was anonymised to go, too: with their key."""

    def delete() -> edna.Receipt:
        with edna.unlock(secret_key=member.secret_key) as unlocked:
            return edna.disguise(DELETE, member.user, unlocked=unlocked)

    def restore() -> edna.Outcome:
        with edna.unlock(secret_key=member.secret_key) as unlocked:
            return edna.reveal(receipt, unlocked)

    receipt = library.clock(Key(f"delete account{suffix}", "edna"), delete, rows=rows)
    if Answer.objects.filter(question__lecture__label__startswith=_LABEL).exists():
        raise AssertionError("answers were left that anonymous authors own")
    outcome = library.clock(Key(f"restore account{suffix}", "edna"), restore, rows=rows)
    if not outcome.complete:
        raise AssertionError(f"not everything came back: {outcome}")


@contextmanager
def _prolific(answers: int, *, lectures: int) -> Iterator[tuple[Member, Sequence[Lecture]]]:
    """A student with so many answers, in lectures of their own; gone afterwards, for the other measurements are at the paper's scale."""
    made = [Lecture.objects.create(label=f"{_LABEL}Everything, part {number}") for number in range(lectures)]
    Question.objects.bulk_create(
        (Question(lecture=made[0], number=number, text="Why?") for number in range(1, answers + 1)), batch_size=_BATCH
    )
    asked = list(Question.objects.filter(lecture=made[0]).order_by("number").values_list("pk", flat=True))
    user, now = User.objects.create(email=f"prolific-{answers}-{lectures}@example.org", password="!"), timezone.now()
    Answer.objects.bulk_create(
        (Answer(author=user, question_id=pk, text=f"{pk} " + SENTENCE * 3, submitted_at=now) for pk in asked),
        batch_size=_BATCH,
    )
    (registered,) = edna.register_principals([user])
    assert registered.secret_key is not None
    yield Member(user, registered.secret_key), made
    Answer.objects.filter(author=user)._raw_delete("default")
    Question.objects.filter(lecture__in=made)._raw_delete("default")
    Lecture.objects.filter(label__startswith=_LABEL)._raw_delete("default")


def _spread(lectures: Sequence[Lecture], groups: int) -> None:
    """Put the questions into so many of the lectures, and into the first one if none."""
    questions = list(Question.objects.filter(lecture__in=lectures).order_by("number"))
    for position, question in enumerate(questions):
        question.lecture = lectures[position % max(groups, 1)]
    Question.objects.bulk_update(questions, ["lecture"], batch_size=1_000)
