"""One disguise for each way in which a row can be several people's: what it is about, and whether it takes the account along."""

from __future__ import annotations

from typing import Any

from django.db.models import Q

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders
from tests.office.models import Draft, Entry, Message, Note, Order, Paper, Person, Report, Ticket


class Anonymous(edna.Pseudoprincipal):
    model = Person
    values = {"name": "somebody"}


CONSTANT: Any = placeholders.constant("[gone]")
RANDOM: Any = placeholders.random_string()
#: Rows of the tables that a specification is not about, as far as the account has to be covered.
_REST = {
    Order: Decorrelate(Order, owner="customer"),
    Note: Decorrelate(Note, owner="author"),
    Entry: Decorrelate(Entry, owner="user"),
    Message: Decorrelate(Message, owner=["sender", "recipient"]),
    Paper: Decorrelate(Paper, owner=["first", "second", "third"]),
    Report: Remove(Report.authors.through, owner="person"),
}
THREE = ["first", "second", "third"]


def leaving(name: str, *steps: Any, about: Any = None) -> type[Disguise]:
    """With the account; ``about``: what has its own steps in ``steps``."""
    rest = [step for model, step in _REST.items() if model is not about]
    return staying(name, *steps, *rest, Remove(Person))


def staying(name: str, *steps: Any) -> type[Disguise]:
    return type(name, (Disguise,), {"name": f"office.{name}", "transformations": steps})


def _note(text: Any) -> list[Any]:
    return [Modify(Note, owner=["order__customer", "author"], set={"text": text})]


TWO = (
    leaving("notes", *_note(CONSTANT)),
    leaving("notes-at-random", *_note(RANDOM)),
    leaving(
        "notes-in-two-steps",
        Modify(Note, owner="order__customer", set={"text": CONSTANT}),
        Modify(Note, owner="author", set={"text": CONSTANT}),
    ),
    staying("notes-alone", *_note(CONSTANT)),
    staying("notes-alone-at-random", *_note(RANDOM)),
    staying("notes-and-names", *_note(CONSTANT), _REST[Order], _REST[Note]),
    leaving("tickets", Modify(Ticket, owner=["customer", "assignee"], set={"text": CONSTANT})),
    leaving("tickets-at-random", Modify(Ticket, owner=["customer", "assignee"], set={"text": RANDOM})),
    leaving(
        "tickets-and-assignees",
        Modify(Ticket, owner=["customer", "assignee"], set={"text": CONSTANT}),
        Decorrelate(Ticket, owner="assignee"),
    ),
    staying(
        "tickets-emptied",
        Modify(Ticket, owner=["customer", "assignee"], set={"text": CONSTANT}),
        Modify(Ticket, owner="customer", set={"customer": None}),
        Modify(Ticket, owner="assignee", set={"assignee": None}),
    ),
    leaving("entries", Remove(Entry, owner="user"), Remove(Entry, owner="order__customer"), about=Entry),
    leaving(
        "entries-and-orders",
        Remove(Entry, owner="user"),
        Remove(Entry, owner="order__customer"),
        Remove(Note, owner="order__customer"),
        Remove(Order, owner="customer"),
        about=Entry,
    ),
    leaving("messages", Remove(Message, owner="recipient"), Decorrelate(Message, owner="sender"), about=Message),
    staying("messages-alone", Remove(Message, owner="recipient"), Decorrelate(Message, owner="sender")),
    leaving(
        "messages-and-texts",
        Remove(Message, owner="recipient"),
        Modify(Message, owner="sender", set={"text": CONSTANT}),
        Decorrelate(Message, owner="sender"),
        about=Message,
    ),
)
#: For everybody, what goes with one goes without what is another's; alone, whoever leaves later finds nothing to change.
MESSAGES_FOR_ALL = tuple(
    staying(f"messages-and-texts-{label}", Remove(Message, owner="recipient"), *steps)
    for label, steps in (
        ("alone", [Modify(Message, owner="sender", set={"text": CONSTANT})]),
        ("alone-at-random", [Modify(Message, owner="sender", set={"text": RANDOM})]),
        (
            "and-names",
            [Modify(Message, owner="sender", set={"text": CONSTANT}), Decorrelate(Message, owner="sender")],
        ),
    )
)
#: The same, where the row goes with each.
REMOVED_FOR_ALL = (
    staying("entries-alone", Remove(Entry, owner="user"), Remove(Entry, owner="order__customer", when=edna.ANY_LEFT)),
    staying("papers-removed-alone", *(Remove(Paper, owner=owner, when=edna.ANY_LEFT) for owner in THREE)),
)
#: Each ticket is one person's alone: whose, its conditions say.
EACH_THEIR_OWN = leaving(
    "tickets-of-one",
    Modify(Ticket, owner="customer", where=Q(text__contains="of the customer"), set={"text": CONSTANT}),
    Modify(Ticket, owner="assignee", where=Q(text__contains="of the assignee"), set={"text": CONSTANT}),
)
OF_THREE = (
    leaving("papers", Modify(Paper, owner=THREE, set={"text": CONSTANT})),
    leaving("papers-at-random", Modify(Paper, owner=THREE, set={"text": RANDOM})),
    staying("papers-alone", Modify(Paper, owner=THREE, set={"text": CONSTANT})),
    leaving("drafts", Modify(Draft, owner=THREE, set={"text": CONSTANT})),
    leaving("drafts-at-random", Modify(Draft, owner=THREE, set={"text": RANDOM})),
    leaving("papers-removed", *(Remove(Paper, owner=owner) for owner in THREE), about=Paper),
)
_REPORTS, _REPORTS_AT_RANDOM = (Modify(Report, owner="authors", set={"text": text}) for text in (CONSTANT, RANDOM))
_OTHER_AUTHORS = Decorrelate(Report.authors.through, owner="person")
#: Whose a row is, a table in between says: one path leads to all of them.
OF_MANY = (
    leaving("reports", _REPORTS),
    leaving("reports-at-random", _REPORTS_AT_RANDOM),
    leaving("reports-re-pointed", _REPORTS, _OTHER_AUTHORS, about=Report),
    leaving(
        "reports-removed",
        Remove(Report, owner="authors"),
        Remove(Report.authors.through, owner="report__authors"),
        Remove(Report.authors.through, owner="person"),
        about=Report,
    ),
    staying("reports-alone", _REPORTS),
    staying("reports-alone-at-random", _REPORTS_AT_RANDOM),
    staying("reports-and-names", _REPORTS, _REST[Report]),
    staying("reports-and-other-names", _REPORTS_AT_RANDOM, _OTHER_AUTHORS),
)
#: Of several names in one text each goes with its own.
REPORT_NAMES = tuple(
    make(
        f"report-names{ending}",
        Modify(
            Report,
            owner="authors",
            set={
                "text": placeholders.derived(
                    lambda text, person: text.replace(person["name"], "[gone]"), person=["name"]
                )
            },
        ),
    )
    for make, ending in ((leaving, ""), (staying, "-alone"))
)
#: Goes when all have left, and comes back with whoever comes first.
WHEN_ALL_LEFT = tuple(
    leaving(f"{label}-of-all{ending}", Modify(model, owner=owners, set={"text": text}, when=edna.ALL_LEFT))
    for label, model, owners in (("notes", Note, ["order__customer", "author"]), ("papers", Paper, THREE))
    for ending, text in (("", CONSTANT), ("-at-random", RANDOM))
)
#: The same, and the accounts stay: a person can do it several times.
AGAIN = staying(
    "notes-again",
    Modify(Note, owner=["order__customer", "author"], set={"text": CONSTANT}, when=edna.ALL_LEFT),
    _REST[Order],
    _REST[Note],
)
CLEARED = staying("notes-cleared", Remove(Note, owner=["order__customer", "author"]))
#: A row goes with the last of its owners, and something of it is one's own.
_MESSAGES = Remove(Message, owner=["sender", "recipient"])
SHARED_ALONE = staying("shared-messages-alone", _MESSAGES, Modify(Message, owner="sender", set={"text": CONSTANT}))
SHARED = (
    leaving("shared-messages", _MESSAGES, Modify(Message, owner="sender", set={"text": CONSTANT}), about=Message),
    leaving(
        "shared-messages-at-random", _MESSAGES, Modify(Message, owner="sender", set={"text": RANDOM}), about=Message
    ),
    SHARED_ALONE,
    leaving(
        "shared-messages-of-both",
        Modify(Message, owner=["sender", "recipient"], set={"text": RANDOM}),
        _MESSAGES,
        about=Message,
    ),
    leaving(
        "shared-messages-of-both-in-two-steps",
        Modify(Message, owner="sender", set={"text": CONSTANT}),
        _MESSAGES,
        Modify(Message, owner="recipient", set={"text": RANDOM}),
        about=Message,
    ),
)
SHARED_BY_THREE = (
    leaving(
        "shared-papers", Remove(Paper, owner=THREE), Modify(Paper, owner="first", set={"text": CONSTANT}), about=Paper
    ),
)
NAMED_TWICE = leaving(
    "papers-of-two", Remove(Paper, owner=["first", "second"]), Decorrelate(Paper, owner="third"), about=Paper
)
ALL = (
    Anonymous,
    AGAIN,
    CLEARED,
    NAMED_TWICE,
    *SHARED,
    *SHARED_BY_THREE,
    *TWO,
    *MESSAGES_FOR_ALL,
    *REMOVED_FOR_ALL,
    *OF_THREE,
    *OF_MANY,
    *REPORT_NAMES,
    *WHEN_ALL_LEFT,
    EACH_THEIR_OWN,
)
