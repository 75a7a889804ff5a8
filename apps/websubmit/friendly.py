"""edna's words for the people who use this site."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import edna
from apps.showcase.friendly import Words, count_each, is_taken

from .models import Lecture

_TAKEN = "there is another one in its place, for example because you answered the question again. Withdraw that one, then try again."

WORDS = Words(
    login="e-mail address",
    helpers="the course staff",
    explanations={
        edna.errors.ReceiptUnknown: (
            "Nothing is stored under this receipt. Most likely it has been used already: try to log in. "
            "Otherwise it comes from another site, or from another application of this one."
        ),
        edna.errors.UnregisteredOwners: (
            "Some authors have no key yet, so their answers could never be given back to them. Nothing was changed. "
            "Make the missing keys with “manage.py edna_register --all --keys-file FILE”, then try again."
        ),
        edna.errors.NotYours: "Your key does not speak for the author of this answer, so only its real author can change it.",
    },
    operations={"modify": "changed", "decorrelate": "given an anonymous author"},
    reasons={
        edna.Reason.ROW_EXISTS: _TAKEN,
        edna.Reason.UNIQUE_TAKEN: _TAKEN,
        edna.Reason.REFERENCE_MISSING: "its question is not there now; perhaps the course staff have deleted it.",
        # The constraint that can be in the way in this application is the one of one answer per author and question.
        edna.Reason.CONSTRAINT: _TAKEN,
    },
)
explain, preview, describe_outcome = WORDS.explain, WORDS.preview, WORDS.outcome


@dataclass(frozen=True)
class Disguised:
    """A history entry as the student reads it."""

    receipt: str
    title: str
    applied_at: object
    counts: list[str]


_TITLES = {
    "websubmit.anonymize-lecture": "The staff anonymised a lecture",
    "websubmit.anonymize-all": "The staff anonymised all lectures",
    "websubmit.delete-account": "You deleted your account",
}


def describe(entries: Iterable[edna.HistoryEntry]) -> list[Disguised]:
    """History entries with titles; one statement, for the labels of the lectures that they mention."""
    entries = list(entries)
    labels = Lecture.objects.in_bulk([entry.params["lecture"] for entry in entries if "lecture" in entry.params])
    described = []
    for entry in entries:
        title = _TITLES.get(entry.name, entry.name)
        if lecture := labels.get(entry.params.get("lecture")):
            title = f"The staff anonymised “{lecture}”"
        described.append(Disguised(str(entry.receipt), title, entry.applied_at, count_each(entry.counts)))
    return described


def address_is_taken(held: Iterable[edna.Held]) -> bool:
    """Whether an account stays sealed because somebody else has its e-mail address now."""
    return is_taken(held, "websubmit.user", "email")
