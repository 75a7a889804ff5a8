"""What edna says to the people of the conference."""

from __future__ import annotations

import dataclasses
import datetime
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import edna
from apps.showcase.friendly import Words, count, count_each

WORDS = Words(
    login="e-mail address",
    helpers="the chairs",
    explanations={
        edna.errors.UnregisteredOwners: (
            "Some people have no key yet, so what is theirs could never be given back to them. Nothing was changed. "
            "They can make a key on their account page; or the site’s administrator makes all that are missing with "
            "“manage.py edna_register --all --keys-file FILE”."
        ),
        edna.errors.RevealRefused: (
            "One of your conflicts of interest cannot be put back, because something else is in its place; and without it you would see "
            "what you must not. Nothing was changed. Please tell the chairs."
        ),
        edna.errors.PrincipalError: (
            "The conference has been anonymised, and your account has no address now, with which a password could go. "
            "Take your name back first."
        ),
        edna.errors.NotYours: "Your key does not speak for the writer of this, so only its real writer can change it.",
    },
)


#: On the pages of cases of misconduct.
OF_CASES = dataclasses.replace(
    WORDS,
    explanations={
        **WORDS.explanations,
        edna.errors.TooFewTogether: "Nobody reads it alone. Another chair has to agree to this case first.",
        edna.errors.HeldCopyRefused: (
            "Nothing about this is held for the chairs, or you have not agreed to the case yet. Two chairs read together whose a review "
            "is, if its writer was told so, when they left or when the conference was anonymised. Nothing was opened."
        ),
        edna.errors.NotInAudience: (
            "This key is of nobody who may read such cases; or of somebody who came later, for whom two of the others have to hand their "
            "shares on first."
        ),
        edna.errors.BagMissing: (
            "It is not held any more: whoever wrote it has taken their name back, or it was erased. Nothing was opened."
        ),
        edna.errors.KeyMalformed: "This is no chair key, or it is mistyped. Please copy it again.",
        edna.errors.AudienceForged: (
            "What is stored of the chairs’ keys, or of this case, was not written by this site. Nothing was opened. Please tell the site’s "
            "administrator."
        ),
        edna.errors.AudienceExists: (
            "Other chairs have made keys already, or what is stored of them is not whole. Nothing was changed. Let one of those take you "
            "in; if the site says that there are none, please tell its administrator."
        ),
        edna.errors.AudienceRefused: (
            "A card is mistyped, or it is of somebody who holds a key already. Nothing was changed."
        ),
        edna.errors.AudienceUnknown: "The chairs have not made their keys yet. Nothing was changed.",
    },
)


def preview(plan: edna.Plan) -> list[str]:
    """What a plan would do, a line for each table and what happens to its rows."""
    rows: Counter[tuple[str, str]] = Counter()
    for table in plan.tables:
        rows[table.model, table.operation] += table.rows
    lines = []
    for (label, operation), number in rows.items():
        if operation == "decorrelate" and number:
            lines.append(f"names taken off {count(number, label)}")
        elif number:
            lines.append(_DONE[operation].format(count(number, label)))
    return lines


_DONE = {"remove": "{} removed", "modify": "personal details taken out of {}"}


@dataclass(frozen=True)
class Disguised:
    """All entries of one disguise, as their owner reads them."""

    last: datetime.datetime
    counts: list[str]


def describe(entries: Iterable[edna.HistoryEntry], names: Collection[str]) -> Disguised | None:
    """A conference that was anonymised twice, or after somebody had left, makes many entries: one for the person, and one for each
    placeholder that stood for them. To its owner it is one thing, and each row is one."""
    found = [entry for entry in entries if entry.name in names]
    if not found:
        return None
    counts = edna.HistoryEntry.counts_together(found)
    return Disguised(max(entry.applied_at for entry in found), count_each(counts))
