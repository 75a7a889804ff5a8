"""edna's words for the people who use a sample application: its errors, plans, histories and outcomes as sentences.

Each application makes one `Words`, and says in it how its people log in and whom they may ask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.apps import apps

import edna

_EXPLANATIONS: Mapping[type[edna.errors.EdnaError], str] = {
    edna.errors.WrongCredentials: (
        "This {login} with this password, or this recovery code, does not open a key here. "
        "Check for typing errors, or use the other one: recovery code instead of password, or the other way round."
    ),
    edna.errors.RecoveryCodeMalformed: (
        "The recovery code is incomplete or mistyped. It has seven groups of four characters; please copy it again. "
        "Spaces, dashes and capital letters do not matter."
    ),
    edna.errors.PrincipalNotRegistered: "This account has no key yet. Make one on your account page, then try again.",
    edna.errors.PrincipalAlreadyRegistered: "This account has its key already. Open your account page again.",
    edna.errors.UnregisteredOwners: (
        "Some people have no key yet, so what is theirs could never be given back to them. Nothing was changed. "
        "Make the missing keys with “manage.py edna_register --all --keys-file FILE”, then try again."
    ),
    edna.errors.NotYours: "Your key does not speak for the author of this, so only its real author can change it.",
    edna.errors.BagError: (
        "What is stored for you does not pass its integrity check, so it was not used. Nothing was changed, and the stored data is kept. "
        "Please tell {helpers}, and mention this word: {name}."
    ),
    edna.errors.DatabaseBusy: "The database is very busy right now. Nothing was changed; please try again in a minute.",
    edna.errors.TooBusy: (
        "Many people are using their keys right now, or are leaving and coming back, and this site does only so much of it at a time. "
        "Nothing was changed; please try again in {seconds}."
    ),
    edna.errors.ServerKeyUnknown: (
        "This site was started with a wrong key of the server’s, and can neither open nor seal anything. There is nothing wrong with what "
        "you typed, and nothing was changed. Please tell {helpers}."
    ),
    edna.errors.EdnaError: (
        "This cannot be done right now. Nothing was changed. Please tell {helpers}, and mention this word: {name}."
    ),
}

_OPERATIONS = {"remove": "removed", "modify": "emptied of what you wrote", "decorrelate": "given an anonymous owner"}


def count(rows: int, label: str) -> str:
    """``count(2, "websubmit.answer")`` is "2 answers"."""
    meta = apps.get_model(label)._meta
    return f"{rows:,} {meta.verbose_name if rows == 1 else meta.verbose_name_plural}"


def count_each(counts: Mapping[str, int]) -> list[str]:
    """The same for what a history entry or an outcome counts, without what it counts none of."""
    return [count(rows, label) for label, rows in counts.items() if rows]


@dataclass(frozen=True)
class Words:
    """The words of one application: what people log in with, whom they ask, and what it says otherwise than the others."""

    login: str
    helpers: str
    explanations: Mapping[type[edna.errors.EdnaError], str] = field(default_factory=dict)
    operations: Mapping[str, str] = field(default_factory=dict)

    def explain(self, error: edna.errors.EdnaError) -> str:
        """A sentence that says what to do about an error: that of the nearest class in the tree of errors."""
        sentences = {**_EXPLANATIONS, **self.explanations}
        sentence = next(sentences[kind] for kind in type(error).__mro__ if kind in sentences)
        seconds = getattr(error, "retry_after_seconds", 1)
        return sentence.format(
            name=type(error).__name__,
            login=self.login,
            helpers=self.helpers,
            seconds="a second" if seconds == 1 else f"{seconds} seconds",
        )

    def preview(self, plan: edna.Plan) -> list[str]:
        """What a plan would do, one line per table and operation, without those that it would not touch."""
        rows: Counter[tuple[str, str]] = Counter()
        for table in plan.tables:
            rows[table.model, table.operation] += table.rows
        words = {**_OPERATIONS, **self.operations}
        return [f"{count(number, model)}: {words[operation]}" for (model, operation), number in rows.items() if number]
