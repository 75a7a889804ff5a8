"""Names that are taken out of texts, and of documents, of rows that stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders
from tests.zoo.models.press import Article, Duet, Notice, Writer


def without_name(text: str, person: Mapping[str, Any]) -> str:
    return text.replace(person["name"], "[deleted]")


def first_word(text: str) -> str:
    return text.partition(" ")[0]


WITHOUT_NAME = placeholders.derived(without_name, person=["name"])
_BOTH = ["first", "second"]


class AnonymousWriter(edna.Pseudoprincipal):
    model = Writer
    values = {"name": placeholders.random_string()}


class Unname(Disguise):
    """The name in the account, and in texts of others. For everybody, too."""

    name = "zoo.press-unname"
    applies_to = "staff"
    transformations = [
        Modify(Writer, set={"name": placeholders.random_string()}),
        Modify(Notice, owner="article__writer", set={"headline": WITHOUT_NAME}),
        Modify(Duet, owner=_BOTH, set={"text": WITHOUT_NAME}),
    ]


class Redact(Disguise):
    """Single keys of a document, what a text begins with, and a text as a whole. For everybody, too."""

    name = "zoo.press-redact"
    applies_to = "staff"
    transformations = [
        Modify(
            Article,
            owner="writer",
            set={
                "meta__by": WITHOUT_NAME,
                "meta__desk": placeholders.random_string(),
                "text": placeholders.derived(first_word),
            },
        ),
        Modify(Notice, owner="article__writer", set={"by_name": "[deleted]"}),
        Modify(Duet, owner=_BOTH, set={"text": "[redacted]"}),
    ]


class Disown(Disguise):
    """Articles and duets lose their writers, and notices their names. For everybody, too."""

    name = "zoo.press-disown"
    applies_to = "staff"
    transformations = [
        Decorrelate(Article, owner="writer"),
        Modify(Notice, owner="article__writer", set={"headline": WITHOUT_NAME, "by_name": "[deleted]"}),
        Modify(Duet, owner=_BOTH, set={"text": WITHOUT_NAME}),
        Decorrelate(Duet, owner=_BOTH),
    ]


class Withdraw(Disguise):
    """Articles go, with what was said of them."""

    name = "zoo.press-withdraw"
    transformations = [Remove(Article, owner="writer"), Remove(Notice, owner="article__writer")]


class Leave(Disguise):
    """The account, too; articles stay, and are one nobody's in each journal."""

    name = "zoo.press-leave"
    transformations = [
        Remove(Writer),
        Decorrelate(Article, owner="writer", group_by=["journal"]),
        Modify(Article, owner="writer", set={"meta__by": WITHOUT_NAME}),
        Modify(Notice, owner="article__writer", set={"headline": WITHOUT_NAME, "by_name": ""}),
        Modify(Duet, owner=_BOTH, set={"text": WITHOUT_NAME}),
        Decorrelate(Duet, owner=_BOTH),
    ]


ALL = (AnonymousWriter, Unname, Redact, Disown, Withdraw, Leave)
