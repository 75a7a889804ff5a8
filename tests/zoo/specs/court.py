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


_THREE = ["first", "second", "third"]


class Withdraw(Disguise):
    """Everything of a party, as far as it is theirs alone; the text of a treaty with the second of its first two."""

    name = "zoo.court-withdraw"
    transformations = [
        Remove(Party),
        *_MESSAGES,
        Remove(Moderation, owner=["moderator", "user"]),
        Remove(Treaty, owner=_THREE),
        Modify(Treaty, owner=["first", "second"], set={"text": "[left]"}, when=edna.ALL_LEFT),
    ]


class Clear(Disguise):
    """The rows, not the account; that the text goes when the row does says nothing more. For everybody, too."""

    name = "zoo.court-clear"
    applies_to = "staff"
    transformations = [
        *_MESSAGES,
        Remove(Treaty, owner=_THREE, when=edna.ALL_LEFT),
        Modify(Treaty, owner=_THREE, set={"text": "[left]"}, when=edna.ALL_LEFT),
    ]


class Mask(Disguise):
    """Every owner of every row. For everybody, too."""

    name = "zoo.court-mask"
    applies_to = "staff"
    transformations = [
        Decorrelate(Message, owner=["author", "recipient"]),
        Decorrelate(Moderation, owner=["moderator", "user"]),
        Decorrelate(Treaty, owner=_THREE),
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


class Fade(Disguise):
    """Names, and texts when all have left. For everybody, too."""

    name = "zoo.court-fade"
    applies_to = "staff"
    transformations = [
        Modify(Message, owner=["author", "recipient"], set={"text": "[left]"}, when=edna.ALL_LEFT),
        Decorrelate(Message, owner=["author", "recipient"]),
        Modify(
            Seal,
            owner=["message__author", "message__recipient"],
            set={"text": placeholders.null()},
            when=edna.ALL_LEFT,
        ),
        Modify(Treaty, owner=_THREE, set={"text": placeholders.random_string()}, when=edna.ALL_LEFT),
        Decorrelate(Treaty, owner=_THREE),
    ]


class Depart(Disguise):
    """The same, and the account. Whoever has moderated is nobody then."""

    name = "zoo.court-depart"
    transformations = [
        Remove(Party),
        *Fade.transformations,
        Modify(Moderation, owner=["moderator", "user"], set={"reason": "[left]"}, when=edna.ALL_LEFT),
        Decorrelate(Moderation, owner="user"),
    ]


class Resign(Disguise):
    """A message goes with its recipient, and loses the name of its author. For everybody, too."""

    name = "zoo.court-resign"
    applies_to = "staff"
    transformations = [
        Remove(Message, owner="recipient"),
        Decorrelate(Message, owner="author"),
        Remove(Seal, owner="message__recipient"),
    ]


class Retire(Disguise):
    """The same, and the account."""

    name = "zoo.court-retire"
    transformations = [
        Remove(Party),
        *Resign.transformations,
        Decorrelate(Moderation, owner=["moderator", "user"]),
        Decorrelate(Treaty, owner=_THREE),
    ]


class Veil(Disguise):
    """Names and texts, in one. Moderations that somebody has deleted are not waited for, nor are messages that were written anew."""

    name = "zoo.court-veil"
    transformations = [
        Modify(Message, owner=["author", "recipient"], set={"text": placeholders.random_string()}),
        Decorrelate(Message, owner=["author", "recipient"]),
        Modify(Moderation, owner=["moderator", "user"], set={"reason": "[veiled]"}),
        Decorrelate(Moderation, owner=["moderator", "user"]),
        Modify(Treaty, owner=_THREE, set={"text": "[veiled]"}),
    ]
    accepts = {"zoo.Moderation": ["row_missing"], "zoo.Message": ["changed"]}


class Unseal(Disguise):
    """Seals alone: their messages stay."""

    name = "zoo.court-unseal"
    transformations = [Remove(Seal, owner="message__recipient")]


#: For the habitat in which what others did is accepted.
DISPUTED = (Veil, Unseal)

ALL = (AnonymousParty, Withdraw, Clear, Mask, MaskSent, Hush, Fade, Depart, Resign, Retire, *DISPUTED)
