"""Pseudoprincipals with companions; one for several steps, or for several columns of a row."""

from __future__ import annotations

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders
from tests.zoo.models.guild import Chest, Member, Piece, Sign, Tool


class AnonymousMember(edna.Pseudoprincipal):
    model = Member
    values = {"name": placeholders.random_name()}
    companions = {Sign: {"motto": "[nobody]"}, Chest: {}}


class Leave(Disguise):
    """The account, and what stands beside it. Pieces and tools stay, and those of one piece are one nobody's."""

    name = "zoo.guild-leave"
    transformations = [
        Remove(Member),
        Remove(Sign, owner="member"),
        Remove(Chest, owner="member"),
        Decorrelate(Piece, owner=["master", "journeyman"], group_by=["pk"], together="piece"),
        Decorrelate(Tool, owner="member", group_by=["piece"], together="piece"),
    ]


class Mask(Disguise):
    """One nobody for each piece, whatever names them. For everybody, too."""

    name = "zoo.guild-mask"
    applies_to = "staff"
    transformations = [
        Decorrelate(Piece, owner=["master", "journeyman"], group_by=["pk"], together="piece"),
        Decorrelate(Tool, owner="member", group_by=["piece"], together="piece"),
    ]


class OneNobody(Disguise):
    """One nobody for everything. For everybody, too."""

    name = "zoo.guild-one-nobody"
    applies_to = "staff"
    transformations = [
        Decorrelate(Piece, owner=["master", "journeyman"], group_by=edna.ALL, together="all"),
        Decorrelate(Tool, owner="member", group_by=edna.ALL, together="all"),
    ]


class TwoNobodies(Disguise):
    """One nobody for each column, where no word says that they are the same; tools with the masters'."""

    name = "zoo.guild-two-nobodies"
    transformations = [
        Decorrelate(Piece, owner="master", group_by=edna.ALL, together="masters"),
        Decorrelate(Piece, owner="journeyman", group_by=edna.ALL),
        Decorrelate(Tool, owner="member", group_by=edna.ALL, together="masters"),
    ]


class Hush(Disguise):
    """Also what stands beside pseudoprincipals. For everybody, too."""

    name = "zoo.guild-hush"
    applies_to = "staff"
    transformations = [
        Modify(Sign, owner="member", set={"motto": "[hushed]"}),
        Modify(Chest, owner="member", set={"lock": placeholders.random_string()}),
        Modify(Tool, owner="member", set={"text": "[hushed]"}),
    ]


class Strip(Disguise):
    """What stands beside members goes, also beside pseudoprincipals."""

    name = "zoo.guild-strip"
    transformations = [Remove(Sign, owner="member"), Remove(Chest, owner="member"), Remove(Tool, owner="member")]


ALL = (AnonymousMember, Leave, Mask, OneNobody, TwoNobodies, Hush, Strip)
