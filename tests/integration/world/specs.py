"""What the world's principals can disguise. Registered by the `world` fixture only."""

from __future__ import annotations

import datetime
import decimal

from django.db.models import Q

import edna
from edna import Decorrelate, Disguise, Modify, Param, Remove, placeholders

from .models import (
    Badge,
    Contract,
    Document,
    Everything,
    Hut,
    Like,
    Member,
    Note,
    Person,
    Pin,
    Portrait,
    Seat,
    Villager,
)


class AnonymousPerson(edna.Pseudoprincipal):
    model = Person
    values = {"handle": placeholders.random_string()}


class AnonymousVillager(edna.Pseudoprincipal):
    model = Villager


class AnonymousMember(edna.Pseudoprincipal):
    model = Member


class Leave(Disguise):
    name = "world.leave"
    transformations = [
        Remove(Person),
        Remove(Note, owner="author"),
        Remove(Note.tags.through, owner="note__author"),
        Remove(Pin, owner="note__author"),
        Remove(Like, owner="note__author"),
        Remove(Like, owner="person"),
        Remove(Everything, owner="owner"),
        Remove(Document, owner="owner"),
        Remove(Portrait, owner="owner"),
        Remove(Contract, owner=["first", "second"]),
    ]


def _tagged(path: str) -> Q:
    return Q(**{f"{path}tags__name": Param("tag"), f"{path}reply_to__isnull": False})


class Withdraw(Disguise):
    """Some notes, with all that refers to them, and nothing of the others."""

    name = "world.withdraw"
    params = {"tag": str}
    transformations = [
        Remove(Note, owner="author", where=_tagged("")),
        Remove(Note.tags.through, owner="note__author", where=_tagged("note__")),
        Remove(Pin, owner="note__author", where=_tagged("note__")),
        Remove(Like, owner="note__author", where=_tagged("note__")),
    ]


class Anonymise(Disguise):
    """One pseudoprincipal for every row."""

    name = "world.anonymise"
    transformations = [Decorrelate(Note, owner="author"), Decorrelate(Like, owner="person")]


class Prune(Disguise):
    """What others attached to the pseudoprincipal meanwhile is deleted by the reveal."""

    name = "world.prune"
    transformations = [Decorrelate(Note, owner="author", group_by=edna.ALL)]
    references = {"world.Note.author": "delete"}


class Redact(Disguise):
    """Every column gets another value."""

    name = "world.redact"
    transformations = [
        Modify(
            Everything,
            owner="owner",
            set={
                "text": "[redacted] '%s' \\",
                "name": placeholders.random_string(),
                "slug": placeholders.random_string(),
                "blob": b"\x00\xff'\x80",
                "whole": placeholders.random_number(minimum=-5, maximum=5),
                "big": -(2**63),
                "small": 0,
                "amount": decimal.Decimal("0.100000"),
                "ratio": 0.1,
                "flag": True,
                "day": placeholders.truncated_date(to="month"),
                "moment": placeholders.truncated_date(to="day"),
                "clock": datetime.time(1, 2, 3, 4),
                "span": datetime.timedelta(days=-1, microseconds=7),
                "data": {"z": [1.5, None, "é"], "a": {}},
                "unique_id": placeholders.null(),
                "address": "::1",
            },
        )
    ]


class Shred(Disguise):
    name = "world.shred"
    transformations = [Remove(Document, owner="owner")]


class Blacken(Disguise):
    """The file goes, and the row stays."""

    name = "world.blacken"
    transformations = [
        Modify(Document, owner="owner", set={"scan": "scans/blackened.pdf", "draft": placeholders.null()}),
        Modify(Portrait, owner="owner", set={"image": "portraits/nobody.png", "width": None, "height": None}),
    ]


class Burn(Disguise):
    name = "world.burn"
    transformations = [Remove(Hut, owner="owner"), Remove(Villager)]


class Scatter(Disguise):
    name = "world.scatter"
    transformations = [Decorrelate(Hut, owner="owner")]


class Resign(Disguise):
    name = "world.resign"
    transformations = [Remove(Badge, owner="owner"), Remove(Seat, owner="owner"), Remove(Member)]


class Mask(Disguise):
    name = "world.mask"
    transformations = [Decorrelate(Badge, owner="owner"), Decorrelate(Seat, owner="owner")]


ALL = (
    AnonymousPerson,
    AnonymousVillager,
    AnonymousMember,
    Leave,
    Withdraw,
    Anonymise,
    Prune,
    Redact,
    Shred,
    Blacken,
    Burn,
    Scatter,
    Resign,
    Mask,
)
