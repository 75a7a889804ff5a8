"""edna's words for the members of this site."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import edna
from apps.showcase.friendly import Words, count, count_each, is_taken

from .keys import DECAY, DELETION, TOPIC

WORDS = Words(
    login="user name",
    helpers="a moderator",
    explanations={
        edna.errors.ReceiptUnknown: (
            "Nothing is stored under this receipt. Most likely it has been used already: try to log in. "
            "Otherwise it comes from another site, or from another application of this one."
        ),
    },
    reasons={edna.Reason.REFERENCE_MISSING: "what it belongs to is not here now; perhaps its author has left, too."},
)

TAKEN = (
    "Your key is right, but your account cannot be put back yet. Somebody else has this user name now. Nothing of yours is lost. "
    "Choose another name to come back with, and a password for it."
)

_TITLES = {
    DELETION: "You deleted your account",
    DECAY: "You had not been here for long, and your account was put away",
}


#: What happens to the rows of a table, by the table and the operations that a disguise does to them.
_HAPPENS = {
    ("message", "decorrelate"): "stay with whom you wrote with, without your name",
    ("vote", "remove"): "no longer yours, and still counted",
    ("vote", "decorrelate"): "count on, as nobody’s",
    ("hat", "decorrelate"): "stay with whom you granted them to, without your name",
    ("", "remove"): "taken away",
    ("", "modify decorrelate"): "lose their text and your name",
    ("", "decorrelate"): "lose your name",
}


def preview(plan: edna.Plan) -> list[str]:
    """What a plan would do, one line per table and fate, without what it would not touch."""
    fates: dict[str, dict[str, int]] = {}
    for table in plan.tables:
        if table.rows:
            rows = fates.setdefault(table.model, {})
            rows[table.operation] = rows.get(table.operation, 0) + table.rows
    lines = []
    for model, rows in fates.items():
        name = model.rpartition(".")[2]
        if name == "message":
            rows.pop("modify", None)  # its flags; they say no more than the rest
        elif "decorrelate" in rows and rows.get("modify", 0) >= rows["decorrelate"]:
            rows = {"modify decorrelate": rows["decorrelate"]}
        for operation, number in rows.items():
            fate = _HAPPENS.get((name, operation)) or _HAPPENS.get(("", operation)) or "changed"
            lines.append(f"{count(number, model)}: {fate}")
    return lines


@dataclass(frozen=True)
class Disguised:
    """A history entry as its owner reads it."""

    receipt: str
    title: str
    applied_at: object
    counts: list[str]


def describe(entries: Iterable[edna.HistoryEntry]) -> list[Disguised]:
    described = []
    for entry in entries:
        title = _TITLES.get(entry.name, entry.name)
        if entry.name == TOPIC:
            title = f"You left the topic “{entry.params['tag']}”"
        described.append(Disguised(str(entry.receipt), title, entry.applied_at, count_each(entry.counts)))
    return described


def name_is_taken(outcome: edna.Outcome) -> bool:
    """Whether the account stays sealed because somebody else has its user name now."""
    return is_taken(outcome.held, "lobsters_sim.user", "username")
