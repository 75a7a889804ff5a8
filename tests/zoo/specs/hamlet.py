"""One disguise of each kind, for one villager and for all."""

from __future__ import annotations

from django.db.models import Q

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders
from tests.zoo.models.hamlet import Diary, Hearth, Letter, Stamp, Villager


class AnonymousVillager(edna.Pseudoprincipal):
    model = Villager
    values = {"name": placeholders.random_string()}
    companions = {Hearth: {"fuel": "peat"}}


UNREAD = Modify(Letter, owner=edna.by_element("readers__*", "name", principal=Villager), set={"readers__*": None})


class Leave(Disguise):
    """Everything of a villager, the account included; the text of a letter goes with its sender, the letter with the last of both."""

    name = "zoo.hamlet-leave"
    applies_to = "staff"
    transformations = [
        Remove(Villager),
        Remove(Diary, owner="villager"),
        Remove(Letter, owner=["sender", "recipient"]),
        Modify(Letter, owner="sender", set={"text": "[left]"}),
        UNREAD,
        Remove(Stamp, owner=["letter__sender", "letter__recipient"]),
        Remove(Hearth, owner="villager"),
    ]


class Mask(Disguise):
    """Every owner, by a condition where a row is one villager's alone."""

    name = "zoo.hamlet-mask"
    applies_to = "staff"
    transformations = [
        Decorrelate(Diary, owner="villager", where=Q(public=True)),
        Decorrelate(Letter, owner=["sender", "recipient"]),
    ]


class Hush(Disguise):
    """One constant in place of every text; and nobody has read a letter, as far as it is theirs to say."""

    name = "zoo.hamlet-hush"
    applies_to = "staff"
    transformations = [
        Modify(Diary, owner="villager", set={"text": "[hushed]", "meta__mood": "calm"}, where=Q(public=True)),
        Modify(Letter, owner=["sender", "recipient"], set={"text": "[hushed]"}),
        UNREAD,
    ]


ALL = (AnonymousVillager, Leave, Mask, Hush)
