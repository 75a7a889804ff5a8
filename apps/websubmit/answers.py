"""Reading and writing answers, with a number of statements that does not depend on how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from django.db import connections, router
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from apps.showcase.transactions import atomically

from .models import Answer, Lecture, Question, User


def texts_by_question(author: User, lecture: Lecture) -> dict[int, str]:
    """What an author handed in for a lecture, by the question's primary key."""
    return dict(Answer.objects.filter(author=author, question__lecture=lecture).values_list("question_id", "text"))


def save_answers(author: User, texts: Mapping[int, str]) -> None:
    """Hand in, change, or (empty text) withdraw the author's answers.

    Under an anonymous author the time stays as it was: equal times would tie one person's anonymous authors together.
    Two windows that save at the same moment do not collide: an answer that exists already is changed.
    """
    alias = router.db_for_write(Answer)
    now = timezone.now()
    changed = ["text"] if author.is_anon else ["text", "submitted_at"]
    withdrawn = [question for question, text in texts.items() if not text]
    # MariaDB and MySQL take whichever unique key collides; the others want to be told which one.
    target = ["author", "question"] if connections[alias].features.supports_update_conflicts_with_target else None

    def save() -> None:
        written = [
            Answer(author=author, question_id=question, text=text, submitted_at=now)
            for question, text in texts.items()
            if text
        ]
        if written:
            Answer.objects.using(alias).bulk_create(
                written, update_conflicts=True, update_fields=changed, unique_fields=target
            )
        if withdrawn:
            Answer.objects.using(alias).filter(author=author, question__in=withdrawn).delete()

    atomically(save, using=alias)()


def listing(lecture: Lecture) -> QuerySet[Answer, tuple[Any, ...]]:
    """All answers of a lecture as staff read them: plain values, for a lecture can have thousands."""
    rows = Answer.objects.filter(question__lecture=lecture).order_by("question__number", "pk")
    return rows.values_list("question__number", "author__email", "author__is_anon", "text", "submitted_at")


def table_rows(answers: Iterable[tuple[Any, ...]]) -> SafeString:
    """The listing as rows of HTML. Written here because Django's templates are too slow for thousands of them."""
    zone = timezone.get_current_timezone()
    rows = []
    for number, email, is_anon, text, submitted_at in answers:
        author = "<em>anonymous</em>" if is_anon else escape(email)
        when = submitted_at.astimezone(zone).isoformat(" ")[:16]
        rows.append(
            f'<tr><td class="n">{number}</td><td>{author}</td><td class="text">{escape(text)}</td><td class="when">{when}</td></tr>'
        )
    return mark_safe("\n".join(rows))  # noqa: S308 - what people wrote is escaped above


def has_anonymous_answers(question: Question) -> bool:
    """Whether answers to a question have been anonymised, told from some of the earliest: a lecture has thousands."""
    return any(Answer.objects.filter(question=question).order_by("pk").values_list("author__is_anon", flat=True)[:20])
