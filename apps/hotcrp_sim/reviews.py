"""What a review consists of, and how one is written. Who may do so is `policy`'s matter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from .models import PC_REVIEW, REVIEW_TEXTS, ContactInfo, Paper, PaperReview

#: Field, what it is called, and what its values from 1 on mean. Those without words are numbers.
SCORES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "over_all_merit": ("Overall merit", ("Reject", "Weak reject", "Weak accept", "Accept", "Strong accept")),
    "reviewer_qualification": ("Expertise", ("No familiarity", "Some familiarity", "Knowledgeable", "Expert")),
    "novelty": ("Novelty", ("Done before", "Incremental", "New contribution", "Surprising", "Opens a field")),
    "technical_merit": ("Technical merit", ("Broken", "Flawed", "Sound", "Strong", "Outstanding")),
    "interest_to_community": ("Interest", ("None", "Little", "Some", "Much", "Everybody’s")),
    "longevity": ("Longevity", ("",) * 5),
    "grammar": ("Grammar", ("",) * 5),
    "likely_presentation": ("Likely presentation", ("",) * 5),
    "suitable_for_short": ("Suitable for a short paper", ("No", "Maybe", "Yes")),
    "potential": ("Potential", ("",) * 5),
    "fixability": ("Fixability", ("",) * 5),
}
#: How often a review's number is drawn again because somebody else has it by now.
_NUMBER_DRAWS = 5
#: Those that the form asks for; the others are shown where an older review has them.
ASKED = ("over_all_merit", "reviewer_qualification", "novelty", "technical_merit", "interest_to_community")
REQUIRED = ASKED[:2]
#: What authors do not read.
INNER = "t03"
#: Bytes that all texts of a review may take together: the size of the column.
LONGEST_TEXTS = PaperReview._meta.get_field("tfields").max_length


def size_of(texts: Mapping[str, str]) -> int:
    """How many bytes of the column the texts would fill."""
    review = PaperReview()
    review.texts = texts
    return len(str(review.tfields).encode())


def letter(ordinal: int | None) -> str:
    """1 is A, 27 is AA."""
    letters = ""
    while ordinal:
        ordinal, rest = divmod(ordinal - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def parse_name(text: str) -> tuple[int, int]:
    """12A is the first review of paper 12; what is no such name is of paper 0."""
    found = re.fullmatch(r"#?(\d{1,9})([A-Z]{1,3})", text.strip().upper())
    if found is None:
        return 0, 0
    ordinal = 0
    for each in found[2]:
        ordinal = ordinal * 26 + ord(each) - ord("A") + 1
    return int(found[1]), ordinal


def is_started(review: PaperReview) -> bool:
    return bool(review.tfields or review.over_all_merit or review.review_modified)


def state_of(review: PaperReview) -> tuple[str, str]:
    """In words, and the class of its badge."""
    if review.review_submitted:
        return "submitted", "yes"
    return ("a draft", "wait") if is_started(review) else ("not started", "no")


@dataclass(frozen=True)
class ShownReview:
    """A review with what its reader may see of it."""

    letter: str
    reviewer: str
    mine: bool
    when: Any
    scores: list[tuple[str, str, int]]
    texts: list[tuple[str, str, bool]]


def shown(review: PaperReview, *, reviewer: str, mine: bool, inner: bool) -> ShownReview:
    """``inner``: with what authors do not read."""
    scores = []
    for field, (label, words) in SCORES.items():
        value = getattr(review, field)
        if value > 0:
            word = words[value - 1] if value <= len(words) else ""
            scores.append((label, f"{value} {word}".strip(), len(words)))
    written = review.texts
    texts = [
        (label, written[key], key == INNER)
        for key, label in REVIEW_TEXTS.items()
        if written[key] and (inner or key != INNER)
    ]
    return ShownReview(letter(review.review_ordinal), reviewer, mine, review.review_submitted, scores, texts)


def ask(paper_id: int, reviewer: ContactInfo, *, asked_by: ContactInfo) -> PaperReview:
    """Ask for a review, inside the caller's transaction."""
    asked = {"paper_id": paper_id, "contact": reviewer, "requested_by": asked_by, "review_type": PC_REVIEW}
    for _ in range(_NUMBER_DRAWS):
        # Of two who ask at once for reviews of two papers, the second has drawn the same number, and takes the next one.
        with suppress(IntegrityError), transaction.atomic():
            return PaperReview.objects.create(**asked, time_requested=timezone.now())
    return PaperReview.objects.create(**asked, time_requested=timezone.now())


def save(review: PaperReview, values: Mapping[str, Any], *, submit: bool) -> None:
    """Write scores and texts, inside the caller's transaction; with ``submit``, the committee and the authors see them from now on."""
    now = timezone.now()
    changed = [*_write(review, values), "review_modified", "time_displayed", "review_needs_submit"]
    review.review_modified = now
    if submit and not review.review_submitted:
        # Locked: two who submit at once get different letters.
        Paper.objects.select_for_update().filter(pk=review.paper_id).first()
        highest = PaperReview.objects.filter(paper=review.paper_id).aggregate(Max("review_ordinal"))
        review.review_ordinal = review.review_ordinal or (highest["review_ordinal__max"] or 0) + 1
        review.review_submitted = review.time_displayed = now
        review.review_needs_submit = 0
        changed += ["review_submitted", "review_ordinal"]
    if review.review_submitted:
        review.review_author_modified = now
        changed += ["review_author_modified"]
    review.save(update_fields=changed)


def save_quietly(review: PaperReview, values: Mapping[str, Any]) -> None:
    """Change an anonymous review: its times stay as they were, for equal times would tie one person's reviews together."""
    review.save(update_fields=_write(review, values))


def _write(review: PaperReview, values: Mapping[str, Any]) -> list[str]:
    for field in ASKED:
        setattr(review, field, values[field])
    # Texts of older forms, under other keys, stay as they are.
    review.texts = {**review.texts, **{key: values[key] for key in REVIEW_TEXTS}}
    review.review_word_count = sum(len(text.split()) for text in review.texts.values())
    review.review_edit_version += 1
    return [*ASKED, "tfields", "review_word_count", "review_edit_version"]
