"""Rows with two and three owners: removed by one, by the other, by all; hidden; hushed."""

from __future__ import annotations

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders
from tests.zoo.models.court import Message, Moderation, Party, Seal, Treaty


class AnonymousParty(edna.Pseudoprincipal):
    model = Party
    values = {"name": "somebody"}


_MESSAGES = [
    Remove(Message, owner=["author", "recipient"]),
    Remove(Seal, owner=["message__author", "message__recipient"]),
]


class Withdraw(Disguise):
    """Everything of a party, as far as it is theirs alone."""

    name = "zoo.court-withdraw"
    transformations = [
        Remove(Party),
        *_MESSAGES,
        Remove(Moderation, owner=["moderator", "user"]),
        Remove(Treaty, owner=["first", "second", "third"]),
    ]


class Clear(Disguise):
    """The rows, not the account. For everybody, too."""

    name = "zoo.court-clear"
    applies_to = "staff"
    transformations = [*_MESSAGES, Remove(Treaty, owner=["first", "second", "third"])]


class Mask(Disguise):
    """Every owner of every row. For everybody, too."""

    name = "zoo.court-mask"
    applies_to = "staff"
    transformations = [
        Decorrelate(Message, owner=["author", "recipient"]),
        Decorrelate(Moderation, owner=["moderator", "user"]),
        Decorrelate(Treaty, owner=["first", "second", "third"]),
    ]


class MaskSent(Disguise):
    """One of two owners, one pseudoprincipal for all rows."""

    name = "zoo.court-mask-sent"
    transformations = [Decorrelate(Message, owner="author", group_by=edna.ALL)]


class Hush(Disguise):
    """Texts of shared rows. For everybody, too."""

    name = "zoo.court-hush"
    applies_to = "staff"
    transformations = [
        Modify(Message, owner=["author", "recipient"], set={"text": "[hushed]"}),
        Modify(Moderation, owner=["moderator", "user"], set={"reason": placeholders.random_string()}),
        Modify(Seal, owner=["message__author", "message__recipient"], set={"text": "[hushed]"}),
    ]


ALL = (AnonymousParty, Withdraw, Clear, Mask, MaskSent, Hush)
