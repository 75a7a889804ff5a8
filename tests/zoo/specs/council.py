"""Removals in a tree, by a condition along relations, and of what is about somebody."""

from __future__ import annotations

from django.db.models import Q

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders
from tests.zoo.models.council import Elder, Minute, Motion, Remark

#: Disguised by hand: a motion, with all that is below it.
BRANCH = "zoo.council-branch"


def branch_is_back(revealed: edna.Revealed) -> None:
    """The rows are back by themselves."""


class AnonymousElder(edna.Pseudoprincipal):
    model = Elder
    values = {"name": placeholders.random_string()}


class Leave(Disguise):
    """Everything of an elder; what others have put below a motion moves to the top."""

    name = "zoo.council-leave"
    asks_for_key = True
    transformations = [
        Remove(Elder),
        Remove(Motion, owner="proposer"),
        Modify(Motion, owner="parent__proposer", set={"parent": None}),
        Remove(Remark, owner="motion__proposer", when=edna.ANY_LEFT),
        Remove(Remark, owner="elder", when=edna.ANY_LEFT),
        Remove(Minute, owner=edna.about(Elder)),
    ]


class Retract(Disguise):
    """What is private, with the remarks of others on it. For everybody, too."""

    name = "zoo.council-retract"
    applies_to = "staff"
    transformations = [
        Remove(Motion, owner="proposer", where=Q(private=True)),
        Modify(Motion, owner="parent__proposer", set={"parent": None}, where=Q(parent__private=True)),
        Remove(Remark, owner="motion__proposer", where=Q(motion__private=True)),
    ]


class Mask(Disguise):
    """Names. For everybody, too."""

    name = "zoo.council-mask"
    applies_to = "staff"
    transformations = [Decorrelate(Motion, owner="proposer"), Decorrelate(Remark, owner="elder")]


class Hush(Disguise):
    """Texts, and what is said about somebody. For everybody, too."""

    name = "zoo.council-hush"
    applies_to = "staff"
    transformations = [
        Modify(Motion, owner="proposer", set={"text": "[hushed]"}, where=Q(private=False)),
        Modify(Minute, owner=edna.about(Elder), set={"text": placeholders.random_string()}),
    ]


class Unsay(Disguise):
    """Remarks alone, and minutes."""

    name = "zoo.council-unsay"
    transformations = [Remove(Remark, owner="elder"), Remove(Minute, owner=edna.about(Elder))]


ALL = (AnonymousElder, Leave, Retract, Mask, Hush, Unsay)
