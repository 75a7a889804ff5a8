"""Pseudoprincipals with companions; one for several steps, or for several columns of a row."""

from __future__ import annotations

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders
from tests.zoo.models.guild import Chest, Coin, Member, Piece, Plaque, Ribbon, Sign, Taunt, Tool, Wreath


class AnonymousMember(edna.Pseudoprincipal):
    model = Member
    values = {"name": placeholders.random_name()}
    companions = {Sign: {"motto": "[nobody]"}, Chest: {}}


#: What becomes of rows that others have attached beside a pseudoprincipal. The others go to what stands beside the owner.
REFERENCES = {"zoo.Taunt.sign": "delete", "zoo.Plaque.sign": "retain"}


class Leave(Disguise):
    """The account, and what stands beside it. Pieces and tools stay, and those of one piece are one nobody's."""

    name = "zoo.guild-leave"
    references = REFERENCES
    transformations = [
        Remove(Member),
        Remove(Sign, owner="member"),
        Remove(Chest, owner="member"),
        Remove(Wreath, owner="sign__member"),
        Remove(Ribbon, owner="sign__member"),
        Remove(Ribbon, owner="giver", when=edna.ANY_LEFT),
        Remove(Taunt, owner="sign__member"),
        Remove(Plaque, owner="sign__member"),
        Remove(Coin, owner="chest__member"),
        Decorrelate(Piece, owner=["master", "journeyman"], group_by=["pk"], together="piece"),
        Decorrelate(Tool, owner="member", group_by=["piece"], together="piece"),
    ]


class Mask(Disguise):
    """One nobody for each piece, whatever names them. For everybody, too."""

    name = "zoo.guild-mask"
    applies_to = "staff"
    references = REFERENCES
    transformations = [
        Decorrelate(Piece, owner=["master", "journeyman"], group_by=["pk"], together="piece"),
        Decorrelate(Tool, owner="member", group_by=["piece"], together="piece"),
    ]


class OneNobody(Disguise):
    """One nobody for everything. For everybody, too."""

    name = "zoo.guild-one-nobody"
    applies_to = "staff"
    references = REFERENCES
    transformations = [
        Decorrelate(Piece, owner=["master", "journeyman"], group_by=edna.ALL, together="all"),
        Decorrelate(Tool, owner="member", group_by=edna.ALL, together="all"),
    ]


class TwoNobodies(Disguise):
    """One nobody for each column, where no word says that they are the same; tools with the masters'."""

    name = "zoo.guild-two-nobodies"
    references = REFERENCES
    transformations = [
        Decorrelate(Piece, owner="master", group_by=edna.ALL, together="masters"),
        Decorrelate(Piece, owner="journeyman", group_by=edna.ALL),
        Decorrelate(Tool, owner="member", group_by=edna.ALL, together="masters"),
    ]


class Hush(Disguise):
    """Also what stands beside pseudoprincipals. For everybody, too."""

    name = "zoo.guild-hush"
    applies_to = "staff"
    references = REFERENCES
    transformations = [
        Modify(Sign, owner="member", set={"motto": "[hushed]"}),
        Modify(Chest, owner="member", set={"lock": placeholders.random_string()}),
        Modify(Tool, owner="member", set={"text": "[hushed]"}),
        Modify(Wreath, owner="sign__member", set={"text": "[hushed]"}),
        Modify(Coin, owner="chest__member", set={"text": "[hushed]"}),
    ]


class Strip(Disguise):
    """What stands beside members goes, also beside pseudoprincipals."""

    name = "zoo.guild-strip"
    references = REFERENCES
    transformations = [
        Remove(Sign, owner="member"),
        Remove(Chest, owner="member"),
        Remove(Tool, owner="member"),
        Remove(Wreath, owner="sign__member"),
        Remove(Ribbon, owner="sign__member"),
        Remove(Ribbon, owner="giver", when=edna.ANY_LEFT),
        Remove(Taunt, owner="sign__member"),
        Remove(Plaque, owner="sign__member"),
        Remove(Coin, owner="chest__member"),
    ]


ALL = (AnonymousMember, Leave, Mask, OneNobody, TwoNobodies, Hush, Strip)
