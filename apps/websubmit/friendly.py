"""edna's words for the people who use this site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.apps import apps

import edna

from .models import Lecture

_EXPLANATIONS: Mapping[type[edna.errors.EdnaError], str] = {
    edna.errors.WrongCredentials: (
        "This e-mail address with this password, or this recovery code, does not open a key here. "
        "Check for typing errors, or use the other one: recovery code instead of password, or the other way round."
    ),
    edna.errors.RecoveryCodeMalformed: (
        "This is not a complete recovery code. It has seven groups of four characters; please copy it again. "
        "Spaces, dashes and capital letters do not matter."
    ),
    edna.errors.ReceiptMalformed: (
        "The receipt is incomplete or mistyped. Copy all of it, from “edna1:” to its last character, "
        "or leave the field empty and we look for it."
    ),
    edna.errors.ReceiptUnknown: (
        "Nothing is stored under this receipt. Most likely it has been used already: try to log in. Otherwise it comes from another site."
    ),
    edna.errors.ReceiptForeign: (
        "This receipt belongs to somebody else’s account, and your key does not open it. "
        "Use the receipt that you were given yourself, or leave the field empty and we look for it."
    ),
    edna.errors.PrincipalNotRegistered: "Your account has no key yet. Make one on your account page, then try again.",
    edna.errors.PrincipalAlreadyRegistered: (
        "There is a key for this e-mail address and password already. If you deleted your account earlier, return to it instead."
    ),
    edna.errors.UnregisteredOwners: (
        "Some authors have no key yet, so their answers could never be given back to them. Nothing was changed. "
        "Make the missing keys with “manage.py edna_register --all”, then try again."
    ),
    edna.errors.NotYours: "Your key does not speak for the author of this answer, so only its real author can change it.",
    edna.errors.BagError: (
        "What is stored for you does not pass its integrity check, so it was not used. Nothing was changed, and the stored data is kept. "
        "Please tell the course staff, and mention this word: {name}."
    ),
    edna.errors.DatabaseBusy: "The database is very busy right now. Nothing was changed; please try again in a minute.",
    edna.errors.EdnaError: (
        "This cannot be done right now. Nothing was changed. "
        "Please tell the course staff, and mention this word: {name}."
    ),
}


def explain(error: edna.errors.EdnaError) -> str:
    """A sentence that says what to do about an error: that of the nearest class in the tree of errors."""
    explanation = next(_EXPLANATIONS[kind] for kind in type(error).__mro__ if kind in _EXPLANATIONS)
    return explanation.format(name=type(error).__name__)


def count(rows: int, label: str) -> str:
    """``count(2, "websubmit.answer")`` is "2 answers"."""
    meta = apps.get_model(label)._meta
    return f"{rows:,} {meta.verbose_name if rows == 1 else meta.verbose_name_plural}"


def count_each(counts: Mapping[str, int]) -> list[str]:
    """The same for what a plan, a history entry or an outcome counts, without what it counts none of."""
    return [count(rows, label) for label, rows in counts.items() if rows]


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


_OPERATIONS = {"remove": "removed", "modify": "changed", "decorrelate": "given an anonymous author"}


def preview(plan: edna.Plan) -> list[str]:
    """What a plan would do, one line per table, without those that it would not touch."""
    return [f"{count(table.rows, table.model)}: {_OPERATIONS[table.operation]}" for table in plan.tables if table.rows]


_TAKEN = "there is another one in its place, for example because you answered the question again. Withdraw that one, then try again."
_REASONS: Mapping[edna.Reason, str] = {
    edna.Reason.ROW_EXISTS: _TAKEN,
    edna.Reason.ROW_MISSING: "it has been deleted meanwhile.",
    edna.Reason.CHANGED: "somebody has changed it meanwhile, and we do not overwrite that.",
    edna.Reason.UNIQUE_TAKEN: _TAKEN,
    edna.Reason.REFERENCE_MISSING: "what it belongs to is not there (any more, or not yet).",
    # The constraint that can be in the way in this application is the one of one answer per author and question.
    edna.Reason.CONSTRAINT: _TAKEN,
    edna.Reason.FILE_EXISTS: "a file of that name is there already. Please tell the course staff.",
    edna.Reason.SCHEMA_CHANGED: "the site has been rebuilt since. Please tell the course staff.",
}


def describe_held(held: Iterable[edna.Held]) -> list[str]:
    """What could not be brought back yet, and why; counted instead of listed, for primary keys tell a student nothing."""
    reasons = Counter((row.model, row.reason) for row in held)
    return [f"{count(rows, model)}: {_REASONS[reason]}" for (model, reason), rows in reasons.items()]


def describe_outcome(outcome: edna.Outcome) -> dict[str, list[str]]:
    """What `_outcome.html` shows."""
    return {
        "restored": count_each(outcome.restored),
        "deferred": count_each(outcome.deferred),
        "held": describe_held(outcome.held),
    }


def address_is_taken(held: Iterable[edna.Held]) -> bool:
    """Whether an account stays sealed because somebody else has its e-mail address now."""
    return any(
        (row.model, row.field, row.reason) == ("websubmit.user", "email", edna.Reason.UNIQUE_TAKEN) for row in held
    )
