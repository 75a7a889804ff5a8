"""The system checks: each one fires on what it is about, and stays silent on the same thing done right."""

from __future__ import annotations

import logging
import re
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import django
import nacl.signing
import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.core.checks import CheckMessage, Tags, run_checks
from django.db import connection, connections
from django.db.models import Exists, Q, UniqueConstraint
from django.db.models.signals import post_save

import edna
from edna import (
    Decorrelate,
    Disguise,
    Keep,
    Modify,
    Param,
    Pseudoprincipal,
    Remove,
    conf,
    placeholders,
    registry,
    schedules,
    signals,
    store,
)
from edna.checks.without_operations import TABLES as TABLES_OF_OPERATIONS
from edna.crypto.keys import SecretKey
from edna.custody.guardians.roster import Identity, Roster
from edna.custody.policies.signing import to_base64
from edna.guardians import files
from edna.models import PrincipalEntry
from edna.operations.models import LastRun
from edna.spec import filler
from tests.policies.parties import Party
from tests.support import server_clock_set
from tests.unit.checks_app.models import (
    Agent,
    Band,
    Bench,
    Card,
    Casting,
    Coin,
    Comment,
    Crew,
    DatabasePin,
    Diary,
    Duel,
    Guest,
    HistoricalDiary,
    Letter,
    LoosePin,
    MemberThing,
    MoneyThing,
    Nickname,
    NullPin,
    Officer,
    Outline,
    Person,
    Pin,
    Place,
    Post,
    Posting,
    Remark,
    Seat,
    Shop,
    SmallThing,
    Song,
    Stranger,
    Table,
    TaggedItem,
    Thread,
    Till,
    UnsignedThing,
    Visit,
    Wallet,
)

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
PRINCIPALS = ["Person", "Guest", "UnsignedPerson", "SmallPerson", "MoneyPerson", "Member", "Officer"]

#: `STAFF` of a site whose users do not run it.
NOBODY = {"websubmit.User": {"pk__in": []}}
ANONYMOUS = {"author_email": "", "author_name": None}

Run = Callable[..., list[CheckMessage]]


class Nobody(Pseudoprincipal):
    model = Person
    values = {"email": placeholders.random_email(), "is_active": False}
    companions = {Card: None, Wallet: None}


def spec(*transformations: Any, **attributes: Any) -> type[Disguise]:
    """A disguise without a fault but those of its arguments."""
    return type(
        "Sample", (Disguise,), {"name": "checks.sample", "transformations": list(transformations), **attributes}
    )


@pytest.fixture
def run(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs the checks with nothing registered but the arguments. Without database access: a query would fail the test."""
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "tests.unit.checks_app"]
    settings.EDNA = {**settings.EDNA, "PRINCIPAL_MODELS": [f"checks_app.{name}" for name in PRINCIPALS]}
    monkeypatch.setattr(registry, "_disguises", {})
    monkeypatch.setattr(schedules, "_schedules", {})
    monkeypatch.setattr(registry, "_pseudoprincipals", {})
    monkeypatch.setattr(registry, "_by_hand", {})

    def run(*registered: Any) -> list[CheckMessage]:
        for cls in registered:
            edna.register(cls)
        messages = run_checks(tags=["edna"])
        for message in messages:
            assert message.hint
            assert message.obj
            assert message.msg.endswith(".")
            assert message.hint.endswith((".", ")")), message.hint
        return messages

    return run


@pytest.mark.parametrize(("declared", "number"), [("policy", "E066"), ("audience", "E067")])
def test_what_an_application_does_is_declared_and_the_application_is_missing(
    run: Run, settings: Any, declared: str, number: str
) -> None:
    """It is refused when it is applied; whoever deploys hears of it before."""
    missing = {"policy": "edna.policies", "audience": "edna.audiences"}[declared]
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != missing]
    assert number not in ids(run(spec(Remove(Person))))
    found = run(spec(Remove(Person), **{declared: "legal"}, together=2))
    [said] = [each for each in found if each.id == f"edna.{number}" and missing in each.msg]
    assert ("Sample" in str(said.obj), "'legal'" in said.msg, missing in str(said.hint)) == (True, True, True)


def by_hand(revealed: edna.Revealed) -> None:
    """The function of a disguise by hand."""


@pytest.mark.parametrize(
    ("check_id", "wrong", "right"),
    [
        ("E115", {"locators": "user"}, {"locators": "client"}),
        (
            "E116",
            {"references": {"checks_app.Comment.writer": "delete"}},
            {"references": {"checks_app.Comment.author": "delete"}},
        ),
        ("E311", {"pseudoprincipal": Person}, {"pseudoprincipal": Nobody}),
    ],
)
def test_disguises_by_hand(run: Run, check_id: str, wrong: dict[str, Any], right: dict[str, Any]) -> None:
    """They have no steps, but the same options."""
    edna.on_reveal("checks.by-hand", **right)(by_hand)
    assert check_id not in ids(run())
    edna.on_reveal("checks.by-hand", **wrong)(by_hand)
    found = message(run(), check_id)
    assert found.obj == f"{__name__}.by_hand"


def ids(messages: list[CheckMessage]) -> list[str]:
    return [str(message.id).removeprefix("edna.") for message in messages]


def message(messages: list[CheckMessage], check_id: str) -> CheckMessage:
    return next(found for found in messages if found.id == f"edna.{check_id}")


# Disguises: (id, done wrong, done right)

LETTERS = Remove(Letter, owner="author")
READERS = Remove(Letter.readers.through, owner="letter__author")
COMMENTS = Remove(Comment, owner="author")


def along_comment(pin: Remove, where: Q) -> Remove:
    return Remove(pin.model, owner=pin.owner, where=where)


PINS = [
    Remove(Pin, owner="comment__author"),
    Remove(LoosePin, owner="comment__author"),
    Remove(DatabasePin, owner="comment__author"),
]
FEW_COMMENTS = Remove(Comment, owner="author", where=Q(post__rating=1))
POSTS = Remove(Post, owner="author")
RATED = Q(rating__gt=Param("limit"))

SPECS: dict[str, tuple[str, type[Disguise], type[Disguise]]] = {
    "nothing to do": ("E100", spec(), spec(LETTERS, READERS)),
    "not a step": ("E100", spec("Letter"), spec(LETTERS)),
    "step on a label": ("E100", spec(Remove("checks_app.Letter", owner="author")), spec(LETTERS)),
    "step on an abstract model": (
        "E100",
        spec(Modify(Table, set={"name": ""})),
        spec(Modify(Nickname, set={"name": ""})),
    ),
    "steps in no list": ("E100", spec(transformations=LETTERS), spec(transformations=(LETTERS,))),
    "type of a parameter": ("E101", spec(LETTERS, params={"limit": list}), spec(LETTERS, params={"limit": int})),
    "default as a type": ("E101", spec(LETTERS, params={"limit": 3}), spec(LETTERS, params={"limit": int})),
    "parameters in a list": ("E101", spec(LETTERS, params=["limit"]), spec(LETTERS, params={"limit": int})),
    "parameter unused": (
        "W101",
        spec(LETTERS, params={"limit": int}),
        spec(Decorrelate(Post, "author", where=~(RATED & Q(body=""))), params={"limit": int}),
    ),
    "where on an unknown field": (
        "E102",
        spec(Decorrelate(Post, "author", where=Q(stars=1))),
        spec(Decorrelate(Post, "author", where=Q(rating=1))),
    ),
    "where on an unknown lookup": (
        "E102",
        spec(Decorrelate(Post, "author", where=Q(rating__above=1))),
        spec(Decorrelate(Post, "author", where=Q(rating__gt=1))),
    ),
    "where on a value of another type": (
        "E102",
        spec(Decorrelate(Post, "author", where=Q(rating="many"))),
        spec(Decorrelate(Post, "author", where=Q(rating="3"))),
    ),
    "where in SQL": ("E102", spec(Decorrelate(Post, "author", where="rating > 1")), spec(Decorrelate(Post, "author"))),
    "parameter undeclared": (
        "E103",
        spec(Decorrelate(Post, "author", where=RATED)),
        spec(Decorrelate(Post, "author", where=RATED), params={"limit": int}),
    ),
    "parameter undeclared, in a subquery": (
        "E103",
        spec(Decorrelate(Person, "manager", where=~Q(posts__rating=Param("limit")))),
        spec(Decorrelate(Person, "manager", where=~Q(posts__rating=Param("limit"))), params={"limit": int}),
    ),
    "parameter for several values": (
        "E104",
        spec(Decorrelate(Post, "author", where=Q(rating__in=Param("limit"))), params={"limit": int}),
        spec(Decorrelate(Post, "author", where=RATED), params={"limit": int}),
    ),
    "owner misspelt": ("E106", spec(Remove(Letter, owner="writer")), spec(LETTERS)),
    "owner through a column": ("E106", spec(Remove(Post, owner="slug__author")), spec(POSTS)),
    "owner no principal": ("E107", spec(Remove(Letter)), spec(LETTERS)),
    "owner another model": ("E107", spec(Decorrelate(Post, "stranger")), spec(Decorrelate(Post, "author"))),
    "owners of two models": ("E107", spec(LETTERS, Remove(Visit, owner="guest")), spec(LETTERS, COMMENTS)),
    "other principals": ("E109", spec(Remove(Person, owner="manager")), spec(Remove(Person))),
    "other principals, as a child": ("E109", spec(Remove(Agent, owner="manager")), spec(Remove(Agent))),
    "several owners": ("W106", spec(Remove(Letter, owner="readers")), spec(READERS)),
    "several owners, by what refers to the row": (
        "W106",
        spec(Remove(Stranger, owner="post__author")),
        spec(Remove(Stranger, owner="post__author", one_owner=True)),
    ),
    "decorrelate along a path": (
        "E110",
        spec(Decorrelate(Comment, "post__author")),
        spec(Decorrelate(Comment, "author")),
    ),
    "decorrelate from a stranger": ("E110", spec(Decorrelate(Post, "stranger")), spec(Decorrelate(Post, "author"))),
    "group_by misspelt": (
        "E111",
        spec(Decorrelate(Comment, "author", group_by=["post__headline"])),
        spec(Decorrelate(Comment, "author", group_by=["post__title", "post"])),
    ),
    "group_by in a string": (
        "E111",
        spec(Decorrelate(Comment, "author", group_by="post")),
        spec(Decorrelate(Comment, "author", group_by=edna.ALL)),
    ),
    "modify nothing": ("E112", spec(Modify(Post, "author")), spec(Modify(Post, "author", {"body": ""}))),
    "modify misspelt": ("E112", spec(Modify(Post, "author", {"text": ""})), spec(Modify(Post, "author", {"body": ""}))),
    "modify many": ("E112", spec(Modify(Post, "author", {"labels": ""})), spec(Modify(Post, "author", {"body": ""}))),
    "modify by attribute": (
        "E112",
        spec(Modify(Post, "author", {"stranger_id": None})),
        spec(Modify(Post, "author", {"stranger": None})),
    ),
    "decorrelate by attribute": ("E110", spec(Decorrelate(Post, "author_id")), spec(Decorrelate(Post, "author"))),
    "modify a key": ("E113", spec(Modify(Post, "author", {"id": 1})), spec(Modify(Post, "author", {"body": ""}))),
    "modify a part of a key": (
        "E113",
        spec(Modify(Seat, "person", {"row": 1})),
        spec(Modify(Seat, "person", {"note": ""})),
    ),
    "modify what others refer to": (
        "E113",
        spec(Modify(Person, set={"email": placeholders.random_email()})),
        spec(Modify(Person, set={"name": ""})),
    ),
    "decorrelate a key that others refer to": (
        "E113",
        spec(Decorrelate(Wallet, "person")),
        spec(Decorrelate(Card, "person"), Decorrelate(Seat, "person")),
    ),
    "re-point a shared key that others refer to": (
        "E113",
        spec(Remove(Wallet, owner=["person", "banker"])),
        spec(Remove(Wallet, owner="person"), Remove(Coin, owner="wallet__person")),
    ),
    "decorrelate a key of two people": (
        "W118",
        spec(Decorrelate(Duel, "challenger")),
        spec(Decorrelate(Seat, "person"), Remove(Duel, owner="challenger")),
    ),
    "re-point a shared key of two people": (
        "W118",
        spec(Remove(Duel, owner=["challenger", "challenged"])),
        spec(Remove(Duel, owner="challenged")),
    ),
    "modified twice": (
        "W114",
        spec(Modify(Post, "author", {"body": "a"}), Modify(Post, "author", {"body": "b"})),
        spec(Modify(Post, "author", {"body": "a"}), Modify(Post, "author", {"rating": 0})),
    ),
    "modified twice, where both can be meant": (
        "W114",
        spec(
            Modify(Post, "author", {"body": "a"}, where=Q(rating=1)),
            Modify(Post, "author", {"body": "b"}, where=Q(rating=2) | Q(code=None)),
        ),
        spec(
            Modify(Post, "author", {"body": "a"}, where=Q(rating=1)),
            Modify(Post, "author", {"body": "b"}, where=Q(rating=2) & Q(code=None)),
        ),
    ),
    "modified twice, where one condition is the other's opposite": (
        "W114",
        spec(
            Modify(Post, "author", {"body": "a"}, where=Q(published_on=None)),
            Modify(Post, "author", {"body": "b"}, where=~Q(published_on__isnull=True)),
        ),
        spec(
            Modify(Post, "author", {"body": "a"}, where=Q(published_on=None)),
            Modify(Post, "author", {"body": "b"}, where=Q(published_on__isnull=False)),
        ),
    ),
    "modified twice, of related rows": (
        "W114",
        spec(
            Modify(Post, "author", {"body": "a"}, where=Q(comment__isnull=True)),
            Modify(Post, "author", {"body": "b"}, where=Q(comment__isnull=False)),
        ),
        spec(
            Modify(Post, "author", {"body": "a"}, where=Q(stranger__isnull=True)),
            Modify(Post, "author", {"body": "b"}, where=Q(stranger_id=3)),
        ),
    ),
    "modified three times": (
        "W114",
        spec(*(Modify(Post, "author", {"body": "a"}, where=Q(rating=rating)) for rating in (1, 2, 1))),
        spec(*(Modify(Post, "author", {"body": "a"}, where=Q(rating=rating)) for rating in (1, 2, 3))),
    ),
    "modified for two owners": (
        "W114",
        spec(Modify(Wallet, "person", {"note": "a"}), Modify(Wallet, "banker", {"note": "b"})),
        spec(Modify(Wallet, "person", {"note": "a"}, where=Q(banker=None)), Modify(Wallet, "banker", {"note": "b"})),
    ),
    "offered with parameters that nobody gives": (
        "E127",
        spec(Remove(Letter, "sender", Q(pk=Param("letter"))), params={"letter": int}, self_service=True),
        spec(Remove(Letter, "sender", Q(pk=Param("letter"))), params={"letter": int}, self_service={"letter": 1}),
    ),
    "offered, and for the staff": (
        "E127",
        spec(Modify(Wallet, "person", {"note": "a"}), self_service=True, applies_to="staff"),
        spec(Modify(Wallet, "person", {"note": "a"}), self_service=True),
    ),
    "when all have left, of one owner": (
        "E125",
        spec(Modify(Wallet, "person", {"note": "a"}, when=edna.ALL_LEFT)),
        spec(
            Modify(Wallet, ["person", "banker"], {"note": "a"}, when=edna.ALL_LEFT),
            Decorrelate(Wallet, ["person", "banker"]),
        ),
    ),
    "when all have left, and a name stays": (
        "W125",
        spec(Modify(Wallet, ["person", "banker"], {"note": "a"}, when=edna.ALL_LEFT), Decorrelate(Wallet, "person")),
        spec(
            Modify(Wallet, ["person", "banker"], {"note": "a"}, when=edna.ALL_LEFT),
            Decorrelate(Wallet, ["person", "banker"]),
        ),
    ),
    "two owners, one after the other": (
        "W126",
        spec(Modify(Wallet, "person", {"note": "a"}), Modify(Wallet, "banker", {"note": "a"})),
        spec(Modify(Wallet, "person", {"note": "a"}, when=edna.ANY_LEFT), Modify(Wallet, "banker", {"note": "a"})),
    ),
    "removed for two owners, one after the other": (
        "W126",
        spec(Remove(Duel, owner="challenger"), Remove(Duel, owner="challenged")),
        spec(Remove(Duel, owner=["challenger", "challenged"])),
    ),
    "a condition about what is changed for others": (
        "W133",
        spec(
            Modify(Post, "author", {"body": "a"}),
            Decorrelate(Comment, "author", where=Q(post__body="x"), group_by=["post"]),
        ),
        spec(
            Modify(Post, "author", {"body": "a"}),
            Decorrelate(Comment, "author", where=Q(post__rating=1), group_by=["post"]),
        ),
    ),
    "a condition about what another step has changed before the last chunk": (
        "W134",
        spec(
            Modify(Post, "author", {"body": ""}, where=~Q(body="")),
            Decorrelate(Post, "author", where=Q(body="")),
        ),
        spec(
            Modify(Post, "author", {"body": ""}, where=~Q(body="")),
            Decorrelate(Post, "author", where=Q(rating=1)),
        ),
    ),
    "a condition about what is not there before the last chunk": (
        "W134",
        spec(COMMENTS, *PINS, Modify(Post, "author", {"body": ""}, where=Q(comment=None))),
        spec(COMMENTS, *PINS, Modify(Post, "author", {"body": ""}, where=Q(rating=None))),
    ),
    "a condition that compares with what another step has changed in another table": (
        "W134",
        spec(
            Modify(Post, "author", {"body": ""}),
            Modify(Wallet, "person", {"note": ""}, where=Q(note__in=Post.objects.values("body"))),
        ),
        spec(
            Modify(Post, "author", {"body": ""}),
            Modify(Wallet, "person", {"note": ""}, where=Q(note__in=Post.objects.values("title"))),
        ),
    ),
    "a condition about what is changed, where nothing is cut": (
        "W134",
        spec(
            Modify(Post, "author", {"body": ""}, where=~Q(body="")),
            Modify(Post, "author", {"published_on": None}, where=Q(body="")),
        ),
        spec(
            Modify(Post, "author", {"body": ""}, where=~Q(body="")),
            Modify(Post, "author", {"published_on": None}, where=Q(body="")),
            locators="client",
        ),
    ),
    "applies to": ("E115", spec(LETTERS, applies_to="users"), spec(LETTERS, applies_to="staff")),
    "locators": ("E115", spec(LETTERS, locators="user"), spec(LETTERS, locators="client")),
    "reference misspelt": (
        "E116",
        spec(LETTERS, references={"checks_app.Comment.writer": "delete"}),
        spec(LETTERS, references={"checks_app.Comment.author": "delete"}),
    ),
    "reference to no principal": (
        "E116",
        spec(LETTERS, references={"checks_app.Comment.post": "delete"}),
        spec(LETTERS, references={"checks_app.comment.author": "retain"}),
    ),
    "accepts a model that there is not": (
        "E119",
        spec(LETTERS, accepts={"checks_app.Nowhere": ["row_missing"]}),
        spec(LETTERS, accepts={"checks_app.Comment": ["row_missing", "changed"]}),
    ),
    "accepts for a reason that there is not": (
        "E119",
        spec(LETTERS, accepts={"checks_app.Comment": ["deleted"]}),
        spec(LETTERS, accepts={"checks_app.comment": ["unique_taken"]}),
    ),
    "accepts what is another owner's": (
        "E119",
        spec(LETTERS, accepts={"checks_app.Comment": ["owner_away"]}),
        spec(LETTERS, accepts={"checks_app.Comment": ["reference_missing"]}),
    ),
    "accepts a word": (
        "E119",
        spec(LETTERS, accepts={"checks_app.Comment": "changed"}),
        spec(LETTERS, accepts={"checks_app.Comment": ["changed"]}),
    ),
    "an audience does not read a column that there is not": (
        "E128",
        spec(LETTERS, audience_without={"checks_app.Comment": ["nowhere"]}),
        spec(LETTERS, audience_without={"checks_app.comment": ["author"]}),
    ),
    "an audience does not read a word": (
        "E128",
        spec(LETTERS, audience_without={"checks_app.Comment": "author"}),
        spec(LETTERS, audience_without={"checks_app.Comment": ["author"]}),
    ),
    "an audience does not read a model that there is not": (
        "E128",
        spec(LETTERS, audience_without={"checks_app.Nowhere": ["author"]}),
        spec(LETTERS, audience_without={}),
    ),
    "reference policy": (
        "E116",
        spec(LETTERS, references={"checks_app.Comment.author": "forget"}),
        spec(LETTERS, references={"checks_app.Comment.author": "restore"}),
    ),
    "keep misspelt": ("E117", spec(COMMENTS, Keep(LoosePin, "remark")), spec(COMMENTS, Keep(LoosePin, "comment"))),
    "keep in vain": ("W117", spec(LETTERS, Keep(LoosePin, "comment")), spec(COMMENTS, Keep(LoosePin, "comment"))),
    "keep in vain, but with a reason": (
        "W117",
        spec(LETTERS, Keep(LoosePin, "comment")),
        spec(LETTERS, Keep(LoosePin, "comment", why="for the report")),
    ),
    # Relations
    "hidden many-to-many": ("E201", spec(LETTERS), spec(LETTERS, READERS)),
    "plain foreign key": ("E201", spec(COMMENTS), spec(COMMENTS, *PINS)),
    "foreign key covered in part": (
        "E201",
        spec(COMMENTS, Remove(Pin, owner="comment__author", where=Q(pk=1)), *PINS[1:]),
        spec(COMMENTS, *PINS),
    ),
    "foreign key covered under another condition": (
        "E201",
        spec(FEW_COMMENTS, *(along_comment(pin, Q(comment__post__rating=2)) for pin in PINS)),
        spec(FEW_COMMENTS, *(along_comment(pin, Q(comment__post__rating=1)) for pin in PINS)),
    ),
    "foreign key covered for another owner": (
        "E201",
        spec(COMMENTS, Remove(Pin, owner="comment__post__author"), *PINS[1:]),
        spec(COMMENTS, *PINS),
    ),
    "loose foreign key": (
        "E201",
        spec(COMMENTS, PINS[0], PINS[2]),
        spec(COMMENTS, PINS[0], PINS[2], Keep(LoosePin, "comment")),
    ),
    "keep what is enforced": ("E202", spec(COMMENTS, Keep(Pin, "comment")), spec(COMMENTS, Keep(LoosePin, "comment"))),
    "keep what SET_NULL empties": ("E202", spec(COMMENTS, Keep(NullPin, "comment")), spec(COMMENTS)),
    "database cascades": ("E203", spec(COMMENTS, *PINS[:2]), spec(COMMENTS, *PINS)),
    "database cascades, kept": ("E203", spec(COMMENTS, Keep(DatabasePin, "comment")), spec(COMMENTS, *PINS)),
    "reference to a multi-table parent": (
        "E201",
        spec(Remove(Shop, owner="owner"), Remove(Till, owner="shop__owner")),
        spec(
            Remove(Shop, owner="owner"),
            Remove(Till, owner="shop__owner"),
            Remove(Bench, owner="place__shop__owner"),
        ),
    ),
    "reference to a multi-table child": (
        "E201",
        spec(Remove(Place, owner="owner"), Remove(Bench, owner="place__owner")),
        spec(Remove(Place, owner="owner"), Remove(Bench, owner="place__owner"), Remove(Till, owner="shop__owner")),
    ),
    "tables in a circle": (
        "E201",
        spec(Remove(Band, owner="founder")),
        spec(Remove(Band, owner="founder"), Remove(Song, owner="band__founder")),
    ),
    "emptied rows that say who": (
        "W207",
        spec(Remove(Person), Modify(Remark, owner="author", set={"author_email": ""})),
        spec(Remove(Person), Modify(Remark, owner="author", set=ANONYMOUS)),
    ),
    "emptied rows that say who, replaced of some only": (
        "W207",
        spec(Remove(Person), Modify(Remark, owner="author", set=ANONYMOUS, where=Q(title="first"))),
        spec(Remove(Person), Modify(Remark, owner="author", set=ANONYMOUS)),
    ),
    "emptied rows that say who, which may stay": (
        "W207",
        spec(Remove(Person), Keep(Remark, "author_email", why="it was public")),
        spec(Remove(Person), Keep(Remark, "author_email"), Keep(Remark, "author_name")),
    ),
    "rows emptied by a step that say who": (
        "W207",
        spec(Remove(Person), Modify(Remark, owner="author", set={"author": None, "author_email": ""})),
        spec(Remove(Person), Modify(Remark, owner="author", set={"author": None, **ANONYMOUS})),
    ),
    "tree by path": ("W208", spec(Remove(Outline, owner="author")), spec(Decorrelate(Outline, owner="author"))),
    "tree of nested sets": (
        "W208",
        spec(Remove(Thread, owner="author"), Modify(Thread, owner="parent__author", set={"parent": None})),
        spec(Decorrelate(Thread, owner="author"), Modify(Thread, owner="author", set={"author": None})),
    ),
    "tree of nested sets whose rows move": (
        "W208",
        spec(Modify(Thread, owner="author", set={"parent": None})),
        spec(Decorrelate(Thread, owner="author")),
    ),
    "tree that is sorted by what changes": (
        "W208",
        spec(Modify(Outline, owner="author", set={"title": ""})),
        spec(Decorrelate(Outline, owner="author")),
    ),
    "copies of removed rows": (
        "W209",
        spec(Remove(Diary, owner="author"), Modify(HistoricalDiary, owner="author", set={"author": None})),
        spec(Remove(Diary, owner="author"), Remove(HistoricalDiary, owner="author")),
    ),
    "copies of changed rows": (
        "W209",
        spec(Modify(Diary, owner="author", set={"body": ""}), Decorrelate(HistoricalDiary, owner="author")),
        spec(
            Modify(Diary, owner="author", set={"body": ""}),
            Modify(HistoricalDiary, owner="author", set={"body": "", "author": None}),
        ),
    ),
    "copies of a document of which a key is changed": (
        "W209",
        spec(
            Modify(Diary, owner="author", set={"meta__by": ""}),
            Modify(HistoricalDiary, owner="author", set={"meta__to": ""}),
        ),
        spec(
            Modify(Diary, owner="author", set={"meta__by": ""}),
            Modify(HistoricalDiary, owner="author", set={"meta__by": ""}),
        ),
    ),
    "copies of rows that lose their owner": (
        "W209",
        spec(Decorrelate(Diary, owner="author"), Remove(HistoricalDiary, owner="history_user")),
        spec(Decorrelate(Diary, owner="author"), Decorrelate(HistoricalDiary, owner="author")),
    ),
    "copies of changed rows, which may stay": (
        "W209",
        spec(Decorrelate(Diary, owner="author"), Keep(Diary, "body", why="it was public")),
        spec(Decorrelate(Diary, owner="author"), Keep(HistoricalDiary, "history_id", why="it was public")),
    ),
    "copies that say who made the change": (
        "W210",
        spec(Decorrelate(HistoricalDiary, owner="author")),
        spec(*(Decorrelate(HistoricalDiary, owner=each) for each in ("author", "history_user"))),
    ),
    "copies that say who made the change, of an account that goes": (
        "W210",
        spec(Decorrelate(HistoricalDiary, owner="author")),
        spec(Remove(Person), Decorrelate(HistoricalDiary, owner="author")),
    ),
    "copies that say who made the change, which may stay": (
        "W210",
        spec(Decorrelate(HistoricalDiary, owner="author")),
        spec(Decorrelate(HistoricalDiary, owner="author"), Keep(HistoricalDiary, "history_user", why="it was public")),
    ),
    "generic key": ("W205", spec(LETTERS), spec(LETTERS, Keep(TaggedItem, "content_object"))),
    "generic key, and a hidden table": ("W205", spec(LETTERS), spec(READERS)),
    "generic key, covered for another owner": (
        "W205",
        spec(POSTS, Remove(TaggedItem, owner="post")),
        spec(POSTS, Remove(TaggedItem, owner="post__author")),
    ),
    # Terms of return
    "terms that are none": ("E121", spec(Remove(Person, returning="nothing")), spec(Remove(Person, returning=None))),
    "terms for no column": (
        "E121",
        spec(Remove(Person, returning={"staff": False})),
        spec(Remove(Agent, returning={"name": ""})),
    ),
    "terms for a key": (
        "E121",
        spec(Remove(Seat, owner="person", returning={"row": 1})),
        spec(Remove(Seat, owner="person", returning={"note": ""})),
    ),
    "terms for the owner": (
        "E121",
        spec(Remove(Comment, owner="post__author", returning={"post": 1})),
        spec(Remove(Comment, owner="post__author", returning={"author": 1})),
    ),
    "terms for what others refer to": (
        "E121",
        spec(Remove(Person, returning={"email": placeholders.random_email()})),
        spec(Remove(Person, returning={"manager": None})),
    ),
    "terms for a file": (
        "E121",
        spec(Remove(Officer, returning={"photo": None})),
        spec(Remove(Officer, returning={"roles": placeholders.derived(lambda roles: roles & 1)})),
    ),
    "two terms for one table": (
        "E121",
        spec(Remove(Letter, owner="author"), Remove(Letter, owner="author", where=Q(text=""), returning={"text": "-"})),
        spec(
            Remove(Letter, owner="author", returning={"text": "-"}),
            Remove(Letter, owner="author", where=Q(text=""), returning={"text": "-"}),
        ),
    ),
    "terms that do not fit": (
        "E302",
        spec(Remove(Officer, returning={"roles": "none"})),
        spec(Remove(Officer, returning={"roles": 0})),
    ),
    "terms that must be unique": (
        "E301",
        spec(Remove(Post, owner="author", returning={"slug": "gone"})),
        spec(Remove(Post, owner="author", returning={"slug": edna.AS_IT_WAS, "body": "gone"})),
    ),
    "an account that stays away": ("E122", spec(Remove(Person, returning=edna.NOTHING)), spec(Remove(Person))),
    "rows of several that stay away": (
        "E122",
        spec(Remove(Duel, owner=["challenger", "challenged"], returning=edna.NOTHING)),
        spec(Remove(Duel, owner="challenger", returning=edna.NOTHING)),
    ),
    "rows of several tables that stay away": (
        "E122",
        spec(Remove(Shop, owner="owner", returning=edna.NOTHING)),
        spec(Remove(Shop, owner="owner")),
    ),
    "rows that stay away, and are referred to": (
        "E122",
        spec(Remove(Wallet, owner="person", returning=edna.NOTHING), Remove(Coin, owner="wallet__person")),
        spec(
            Remove(Wallet, owner="person", returning=edna.NOTHING),
            Remove(Coin, owner="wallet__person", returning=edna.NOTHING),
        ),
    ),
    "rights that come back": (
        "W123",
        spec(Remove(Officer, returning={"is_staff": False})),
        spec(Remove(Officer, returning={"is_staff": False, "roles": edna.AS_IT_WAS})),
    ),
    "rights that come back, all of them": (
        "W123",
        spec(Remove(Officer)),
        spec(Remove(Officer, returning=edna.AS_IT_WAS)),
    ),
    "groups that come back": (
        "W123",
        spec(Remove(Officer.groups.through, owner="officer")),
        spec(Remove(Officer.groups.through, owner="officer", returning=edna.NOTHING)),
    ),
    "a site's own groups that come back": (
        "W123",
        spec(Remove(Crew.members.through, owner="officer")),
        spec(Remove(Crew.members.through, owner="officer", returning=edna.NOTHING)),
    ),
    "those whom a group has for admins, again": (
        "W123",
        spec(Remove(Crew.admins.through, owner="officer")),
        spec(Remove(Crew.admins.through, owner="officer", returning=edna.AS_IT_WAS)),
    ),
    "a table between two others that gives nobody anything": (
        "W123",
        spec(Remove(Crew.admins.through, owner="officer")),
        spec(Remove(Crew.fans.through, owner="officer")),
    ),
    "what somebody may do in a group, again": (
        "W123",
        spec(Remove(Posting, owner="officer")),
        spec(Remove(Posting, owner="officer", returning={"role": "h", "is_owner": False})),
    ),
    "a role on a stage": (
        "W123",
        spec(Remove(Posting, owner="officer", returning={"role": "h"})),
        spec(Remove(Casting, owner="officer")),
    ),
    "those who were in a group of somebody's, again": (
        "W123",
        spec(Remove(Posting, owner="officer", returning={"is_owner": False})),
        spec(Remove(Posting, owner="crew__fans")),
    ),
    # Columns
    "unique column": (
        "E301",
        spec(Modify(Post, "author", {"slug": "gone"})),
        spec(Modify(Post, "author", {"slug": placeholders.random_string()})),
    ),
    "unique column, short text": (
        "E301",
        spec(Modify(Post, "author", {"slug": placeholders.random_string(length=8)})),
        spec(Modify(Post, "author", {"slug": placeholders.call(lambda: "x", unique=True)})),
    ),
    "a name that is short, and unique": (
        "W303",
        spec(Modify(Post, "author", {"code": placeholders.random_name()})),
        spec(Modify(Post, "author", {"slug": placeholders.random_name()})),
    ),
    "unique column, own function": (
        "E301",
        spec(Modify(Post, "author", {"slug": placeholders.call(lambda: "x")})),
        spec(Modify(Post, "author", {"code": placeholders.null()})),
    ),
    "unique together": (
        "W301",
        spec(Modify(Post, "author", {"title": "gone"})),
        spec(Modify(Post, "author", {"title": placeholders.random_string()})),
    ),
    "null where there is none": (
        "E302",
        spec(Modify(Post, "author", {"body": None})),
        spec(Modify(Post, "author", {"published_on": None})),
    ),
    "text in a number": (
        "E302",
        spec(Modify(Post, "author", {"rating": "none"})),
        spec(Modify(Post, "author", {"rating": 0})),
    ),
    "too long": ("E302", spec(Modify(Person, set={"name": "x" * 51})), spec(Modify(Person, set={"name": "x" * 50}))),
    "no choices": (
        "E302",
        spec(Modify(Person, set={"name": placeholders.random_choice()})),
        spec(Modify(Person, set={"name": placeholders.blank()})),
    ),
    "date cut from text": (
        "E302",
        spec(Modify(Post, "author", {"body": placeholders.truncated_date(to="year")})),
        spec(Modify(Post, "author", {"published_on": placeholders.truncated_date(to="year")})),
    ),
    "no room for an address": (
        "E302",
        spec(Modify(Post, "author", {"code": placeholders.random_email()})),
        spec(Modify(Post, "author", {"slug": placeholders.random_email()})),
    ),
    "unique but short": (
        "W303",
        spec(Modify(Post, "author", {"code": placeholders.random_string()})),
        spec(Modify(Post, "author", {"slug": placeholders.random_string()})),
    ),
}


@pytest.mark.parametrize(("check_id", "wrong", "right"), SPECS.values(), ids=SPECS)
def test_disguise(run: Run, check_id: str, wrong: type[Disguise], right: type[Disguise]) -> None:
    found = run(Nobody, wrong)
    assert check_id in ids(found)
    assert message(found, check_id).obj == f"{wrong.__module__}.Sample"
    edna.unregister(wrong)
    assert check_id not in ids(run(right))


def test_disguise_without_a_fault_is_silent(run: Run) -> None:
    assert run(Nobody, spec(LETTERS, READERS, Keep(TaggedItem, "content_object"))) == []
    edna.unregister(registry.get("checks.sample"))
    assert run(spec(Decorrelate(Comment, "author", group_by=["post"]))) == []


def test_set_null_needs_nothing(run: Run) -> None:
    found = run(spec(COMMENTS, *PINS, Keep(TaggedItem, "content_object")))
    assert found == []


def test_hint_is_the_code_that_is_missing(run: Run) -> None:
    hint = message(run(spec(LETTERS)), "E201").hint
    assert 'Remove(Letter.readers.through, owner="letter__author")' in hint
    edna.unregister(registry.get("checks.sample"))
    hints = [found.hint for found in run(spec(Remove(Person))) if found.id == "edna.E201"]
    assert any('Remove(Letter, owner="author") or Decorrelate(Letter, owner="author")' in hint for hint in hints)


def test_hint_for_rows_of_two_people_says_how_they_stay_for_the_other(run: Run) -> None:
    hints = {found.msg.split(", ")[1]: found.hint for found in run(spec(Remove(Person))) if found.id == "edna.E201"}
    for column in ("giver", "taker"):
        (hint,) = [hint for about, hint in hints.items() if f"Swap.{column}" in about]
        assert 'Remove(Swap, owner=["giver", "taker"]) instead of a step for each' in hint
    # The owners of these are parts of their key: a row cannot stay for one of them.
    assert not any("last of its owners" in hint for about, hint in hints.items() if "Duel" in about)


def test_hints_that_lead_out_of_a_dead_end(run: Run) -> None:
    assert 'edna.by_value("user_number", "pk")' in str(message(run(spec(Remove(Letter, owner="writer"))), "E106").hint)
    edna.unregister(registry.get("checks.sample"))
    generic = spec(Decorrelate(Comment, "author", group_by=["content_object"]))
    assert "of a GenericForeignKey, the two that it is made of" in str(message(run(generic), "E111").hint)
    edna.unregister(registry.get("checks.sample"))
    assert 'edna.Keep(TaggedItem, "content_object")' in str(message(run(spec(LETTERS)), "W205").hint)


def test_hint_for_the_table_of_rights_ends_them(run: Run) -> None:
    hints = [found.hint for found in run(spec(Remove(Officer, returning=edna.AS_IT_WAS))) if found.id == "edna.E201"]
    assert any('Remove(Officer.groups.through, owner="officer", returning=edna.NOTHING)' in hint for hint in hints)


def test_hint_for_emptied_rows_is_the_code_that_is_missing(run: Run) -> None:
    hint = message(run(spec(Remove(Person))), "W207").hint
    assert 'Modify(Remark, owner="author", set={"author_email": "", "author_name": None})' in hint


def test_hint_for_emptied_rows_says_how_one_column_stays(run: Run) -> None:
    """It said to silence the check, and so for all tables and all columns."""
    hint = str(message(run(spec(Remove(Person))), "W207").hint)
    assert 'Of a column that is not about the person: Keep(Remark, "author_email", why="...").' in hint


def test_hint_for_what_is_emptied_by_itself_is_to_leave_keep_out(run: Run) -> None:
    hint = str(message(run(spec(COMMENTS, Keep(NullPin, "comment"))), "E202").hint)
    assert hint.startswith("Leave Keep out")


def test_hints_lead_out_of_a_circle_that_the_owner_goes_through(run: Run) -> None:
    """Rows that are somebody's because of one that hangs on them, an article by its last revision: it was said that no path leads there,
    and to decorrelate rows that have no owner of their own."""
    steps = [Remove(Band, owner="anthem__composer")]
    hint = str(message(run(spec(*steps)), "E201").hint)
    assert 'Remove(Song, owner="band__anthem__composer")' in hint
    edna.unregister(registry.get("checks.sample"))
    steps.append(Remove(Song, owner="band__anthem__composer"))
    assert "edna.E201" not in [found.id for found in run(spec(*steps))]


def test_hint_for_copies_is_the_same_step_where_they_say_whose_they_are(run: Run) -> None:
    same = Decorrelate(Diary, owner="author", group_by=["pk"], together="diary")
    hint = str(message(run(spec(same)), "W209").hint)
    assert 'Decorrelate(HistoricalDiary, owner="author", group_by=["id"], together="diary")' in hint
    edna.unregister(registry.get("checks.sample"))
    hint = str(message(run(spec(Remove(Guest), Remove(Visit, owner="guest"))), "W209").hint)
    assert 'Remove(HistoricalGuest, owner=edna.by_value("id", "id", principal=Guest))' in hint


def test_notes_about_any_row_are_about_accounts_too(run: Run, settings: Any) -> None:
    """What django-auditlog and its like write has no generic key, so nothing spoke of the names in it."""
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "tests.unit.draft_app"]
    settings.EDNA = {**settings.EDNA, "PRINCIPAL_MODELS": ["draft_app.Patron"]}
    from tests.unit.draft_app.models import ChangeLog, Patron

    def said(*steps: Any) -> list[CheckMessage]:
        found = [each for each in run(spec(*steps)) if each.id == "edna.W211"]
        edna.unregister(registry.get("checks.sample"))
        return found

    by = ("content_type", "object_pk")
    (gone,) = said(Remove(Patron))
    assert "What it has noted about draft_app.Patron stays" in gone.msg
    assert 'Add Remove(ChangeLog, owner=edna.about(Patron, by=("content_type", "object_pk"))). ' in str(gone.hint)
    assert 'edna.Keep(ChangeLog, "object_pk", why="...").' in str(gone.hint)
    (beside,) = said(Remove(Patron), Remove(ChangeLog, owner="actor"))
    assert "when=edna.ANY_LEFT" in str(beside.hint)
    assert said(Modify(Patron, set={"handle": None}))
    assert not said(Modify(Patron, set={"number": placeholders.call(lambda: 1, unique=True)}))
    assert not said(Remove(Patron), Remove(ChangeLog, owner=edna.about(Patron, by=by)))
    assert not said(
        Modify(Patron, set={"handle": None}), Modify(ChangeLog, owner=edna.about(Patron, by=by), set={"changes": {}})
    )
    assert not said(Remove(Patron), Keep(ChangeLog, "object_pk", why="accounts are left out of it"))


def test_who_made_changes_is_told_once_a_table(run: Run) -> None:
    """Of several owners each is a step of its own."""
    first, again = (Decorrelate(HistoricalDiary, owner="author", where=Q(body=text)) for text in ("", "x"))
    found = [each for each in run(spec(first, again)) if each.id == "edna.W210"]
    assert len(found) == 1
    assert 'Modify(HistoricalDiary, owner="history_user", set={"history_user": None})' in str(found[0].hint)


def test_a_tree_that_somebody_mends_is_no_matter(run: Run) -> None:
    """What says that a library's columns are seen to is a receiver of `before_commit` for the table that has them."""
    disguise = spec(Remove(Outline, owner="author"))
    found = message(run(disguise), "W208")
    assert "only path, depth, numchild say what is below" in found.msg
    assert "Decorrelate Outline instead" in str(found.hint)

    def mend(**_: Any) -> None: ...

    signals.before_commit.connect(mend, sender=Outline)
    try:
        edna.unregister(disguise)
        assert "W208" not in ids(run(disguise))
    finally:
        signals.before_commit.disconnect(mend, sender=Outline)


def test_hint_writes_the_condition_along_the_relation(run: Run) -> None:
    """A condition that cannot be carried along leaves the step without one, which takes more."""
    hint = message(run(spec(FEW_COMMENTS)), "E201").hint
    assert 'Remove(Pin, owner="comment__author", where=Q(comment__post__rating=1))' in hint
    edna.unregister(registry.get("checks.sample"))
    hint = message(run(spec(Remove(Comment, owner="author", where=Q(Exists(Post.objects.all()))))), "E201").hint
    assert 'Remove(Pin, owner="comment__author")' in hint


def test_covered_relations_by_either_kind_of_step(run: Run) -> None:
    messages = run(Nobody, spec(Remove(Person), Decorrelate(Letter, "author"), Remove(Post, owner="author")))
    uncovered = {found.msg.split(", ")[1] for found in messages if found.id == "edna.E201"}
    assert not any("Letter.author" in text or "Post.author" in text for text in uncovered)
    assert any("Comment.author" in text for text in uncovered)
    assert not any("Person.manager" in text for text in uncovered)


@pytest.mark.parametrize(
    ("step", "covers"),
    [
        (Modify(Wallet, owner="banker", set={"banker": None, "note": "-"}), True),
        (Modify(Wallet, owner="banker", set={"note": "-"}), False),
        (Modify(Wallet, owner="person", set={"banker": None}), False),
        (Modify(Wallet, owner="banker", set={"banker": None}, where=Q(note="")), False),
    ],
)
def test_an_owner_that_is_emptied_is_covered(run: Run, step: Modify, covers: bool) -> None:
    """In every row that names the one who goes; the hint says so, too."""
    uncovered = [found for found in run(spec(Remove(Person), step)) if "Wallet.banker" in found.msg]
    assert [found.id for found in uncovered] == ([] if covers else ["edna.E201"])
    assert covers or 'Modify(Wallet, owner="banker", set={"banker": None})' in str(uncovered[0].hint)


@pytest.mark.parametrize(
    ("step", "gives"),
    [
        (Decorrelate(Comment, "author"), True),
        (Decorrelate(Comment, "author", where=Q(post__rating=1)), True),
        (Modify(Comment, "author", {"text": ""}), False),
        (Decorrelate(Letter, "author"), False),
    ],
)
def test_what_another_disguise_gives_away_is_found_with_the_key_alone(run: Run, step: Any, gives: bool) -> None:
    """Along a path that ends at the same foreign key, too; once it is said whether pages ask for the key, that is the site's word."""
    other = type("Other", (Disguise,), {"name": "checks.other", "transformations": [step], "applies_to": "staff"})
    told = [found for found in run(Nobody, spec(*PINS), other) if found.id == "edna.W124"]
    assert ["checks_app.Pin" in found.msg and "checks.other" in found.msg for found in told] == [True] * gives
    assert all(
        str(found.hint).startswith("Say asks_for_key = True: edna's pages ask for the key then.") for found in told
    )
    for attributes in ({"asks_for_key": True}, {"asks_for_key": False}, {"applies_to": "staff"}):
        edna.unregister(registry.get("checks.sample"))
        assert "W124" not in ids(run(spec(*PINS, **attributes)))


@pytest.mark.parametrize(
    ("owner", "given"),
    [
        ("readers", Decorrelate(Letter.readers.through, "person")),
        ("author__letters_read__readers", Decorrelate(Letter.readers.through, "person")),
        ("readers", Decorrelate(Letter, "author")),
    ],
)
def test_what_a_table_in_between_gave_away_is_found_with_the_key_alone(
    run: Run, owner: str, given: Decorrelate
) -> None:
    """Whom a letter names by it, the letter itself does not tell."""
    other = type("Other", (Disguise,), {"name": "checks.other", "transformations": [given], "applies_to": "staff"})
    told = [
        each
        for each in run(Nobody, spec(Modify(Letter, owner=owner, set={"text": ""})), other)
        if each.id == "edna.W124"
    ]
    assert ["checks_app.Letter" in each.msg for each in told] == [True] * (given.model is not Letter)


def test_what_sets_apart_in_a_short_column_is_said_as_it_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a string that is too short, that values may meet; of a column, what fits. Names need less room."""
    told = message(run(spec(Modify(Post, "author", {"slug": placeholders.random_string(length=16)}))), "E301")
    assert "two rows may get the same value" in told.msg
    assert "without a length" in told.hint
    edna.unregister(registry.get("checks.sample"))
    monkeypatch.setattr(Post._meta.get_field("slug"), "max_length", 16)
    told = message(run(spec(Modify(Post, "author", {"slug": placeholders.random_string()}))), "W303")
    assert "random_name()" in told.hint
    edna.unregister(registry.get("checks.sample"))
    assert "W303" not in ids(run(spec(Modify(Post, "author", {"slug": placeholders.random_name()}))))


def test_a_row_to_which_one_row_refers_has_one_owner(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not certain, the hint names the column that would say so."""
    step = spec(Remove(Stranger, owner="post__author"))
    hint = message(run(step), "W106").hint
    assert "one_owner=True" in hint
    assert "checks_app.Post rows that refer to the same one by stranger" in hint
    assert (
        "the table in between" in message(run(spec(Remove(Letter, owner="readers"), name="checks.other")), "W106").hint
    )
    unique = UniqueConstraint(fields=["stranger"], name="one")
    monkeypatch.setattr(Post._meta, "constraints", [unique])
    edna.unregister(registry.get("checks.other"))
    assert "W106" not in ids(run())


class SilentAdmin(admin.ModelAdmin):
    def nothing(self, *args: Any) -> None:
        pass

    log_addition = log_change = log_deletions = nothing


class ImportingAdmin(SilentAdmin):
    """An import of django-import-export writes the history without these methods."""

    def get_skip_admin_log(self) -> bool:
        return False


class SkippingAdmin(ImportingAdmin):
    def get_skip_admin_log(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("pages", "logs"), [(admin.ModelAdmin, True), (SilentAdmin, False), (ImportingAdmin, True), (SkippingAdmin, False)]
)
def test_admin_history(run: Run, pages: type[admin.ModelAdmin], logs: bool) -> None:
    site = admin.AdminSite("checks")
    site.register(Letter, pages)
    try:
        assert ("W206" in ids(run(spec(LETTERS)))) == logs
        edna.unregister(registry.get("checks.sample"))
        assert "W206" not in ids(run(spec(LETTERS, Keep(LogEntry, "object_id"))))
        edna.unregister(registry.get("checks.sample"))
        assert "W206" not in ids(run(spec(COMMENTS)))
        edna.unregister(registry.get("checks.sample"))
        # What the row is called may be the text that goes.
        assert ("W206" in ids(run(spec(Modify(Letter, owner="author", set={"text": ""}))))) == logs
    finally:
        site.unregister(Letter)


def test_admin_history_of_what_is_modified_loses_its_name(run: Run) -> None:
    """The hint for an account that stays says so."""
    site = admin.AdminSite("checks")
    site.register(Person)
    renamed = Modify(Person, set={"name": ""})
    try:
        said = message(run(spec(renamed)), "W206")
        assert 'Modify(LogEntry, owner=edna.about(Person), set={"object_repr": ""})' in str(said.hint)
        edna.unregister(registry.get("checks.sample"))
        assert "W206" not in ids(
            run(spec(renamed, Modify(LogEntry, owner=edna.about(Person), set={"object_repr": ""})))
        )
        edna.unregister(registry.get("checks.sample"))
        assert "W206" not in ids(run(spec(Modify(Person, set={"is_active": False}))))
    finally:
        site.unregister(Person)


@pytest.mark.parametrize(
    ("step", "covers"),
    [
        (Remove(LogEntry, owner="letter__author"), True),
        (Remove(LogEntry, owner="letter__author", where=Q(object_repr="")), False),
        (Remove(LogEntry, owner="user"), False),
        (Modify(LogEntry, owner="letter__author", set={"object_id": None, "object_repr": ""}), True),
        (Modify(LogEntry, owner="letter__author", set={"object_repr": ""}), False),
    ],
)
def test_admin_history_that_a_step_takes_along_is_no_matter(run: Run, step: Remove | Modify, covers: bool) -> None:
    """Entries about the removed rows, not those that their owner wrote."""
    site = admin.AdminSite("checks")
    site.register(Letter)
    try:
        assert ("W206" not in ids(run(spec(LETTERS, step)))) == covers
    finally:
        site.unregister(Letter)


# Pseudoprincipals


def generator(of: Any = Person, **values: Any) -> type[Pseudoprincipal]:
    return type("Somebody", (Pseudoprincipal,), {"model": of, "values": values})


GUEST = {
    "token": placeholders.random_string(),
    "visits": 0,
}
EMAIL = placeholders.random_email()
GENERATORS: dict[str, tuple[str, type[Pseudoprincipal], type[Pseudoprincipal]]] = {
    "column left out": ("E312", generator(), generator(email=EMAIL)),
    "column misspelt": ("E317", generator(mail=EMAIL), generator(email=EMAIL)),
    "key named": ("E317", generator(email=EMAIL, id=1), generator(email=EMAIL)),
    "not unique": ("E301", generator(email="anonymous@example.org"), generator(email=EMAIL)),
    "does not fit": ("E302", generator(email=EMAIL, name=None), generator(email=EMAIL, name="Anonymous")),
    "could log in": ("W313", generator(email=EMAIL), generator(email=EMAIL, is_active=False)),
    "could log in, said so": ("W313", generator(email=EMAIL, is_active=True), generator(email=EMAIL, is_active=False)),
}


@pytest.mark.parametrize("own", [True, False], ids=["the disguise's own", "registered"])
@pytest.mark.parametrize(("check_id", "wrong", "right"), GENERATORS.values(), ids=GENERATORS)
def test_generator(
    run: Run, check_id: str, wrong: type[Pseudoprincipal], right: type[Pseudoprincipal], own: bool
) -> None:
    step = Decorrelate(Comment, "author")
    if own:
        found = run(spec(step, pseudoprincipal=wrong))
        edna.unregister(registry.get("checks.sample"))
        silent = run(spec(step, pseudoprincipal=right))
    else:
        found = run(wrong, spec(step))
        silent = run(right)
    assert check_id in ids(found)
    assert message(found, check_id).obj == f"{wrong.__module__}.Somebody"
    assert check_id not in ids(silent)


@pytest.mark.every_database
@pytest.mark.only_on("postgresql")
def test_lists_without_an_order(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is re-pointed or modified, and of those who may be pseudoprincipals; rows that go are in no list."""
    found = run(Nobody, spec(Decorrelate(Comment, "author"), Remove(Guest)))
    (told,) = [one.msg for one in found if one.id == "edna.W061"]
    assert "No Meta.ordering: checks_app.Comment, checks_app." in told
    assert "checks_app.Person" in told
    for model in apps.get_models():
        if model._meta.label in told:
            monkeypatch.setattr(model._meta, "ordering", ("pk",))
    assert "W061" not in ids(run_checks(tags=["edna"]))


@pytest.mark.every_database
@pytest.mark.only_on("sqlite3", "mysql")
def test_where_rows_lie_by_their_keys_no_list_needs_an_order(run: Run) -> None:
    assert "W061" not in ids(run(Nobody, spec(Decorrelate(Comment, "author"))))


@pytest.mark.every_database
def test_the_sample_site_s_lists_have_an_order() -> None:
    assert "W061" not in ids(run_checks(tags=["edna"]))


def test_generator_is_looked_at_once_and_only_where_it_is_needed(run: Run) -> None:
    step = Decorrelate(Comment, "author")
    assert ids(run(generator(), spec(step), spec(step, name="checks.other"))).count("E312") == 1
    for name in ("checks.sample", "checks.other"):
        edna.unregister(registry.get(name))
    assert "E312" not in ids(run(spec(Modify(Post, "author", {"body": ""}))))


def test_no_generator(run: Run) -> None:
    assert "E310" in ids(run(spec(Decorrelate(Comment, "author"))))
    assert "E310" not in ids(run(Nobody))


@pytest.mark.parametrize("wrong", [generator(Guest, **GUEST), generator(Stranger), Person, "Anonymous"])
def test_generator_of_something_else(run: Run, wrong: Any) -> None:
    assert "E311" in ids(run(spec(Decorrelate(Comment, "author"), pseudoprincipal=wrong)))
    edna.unregister(registry.get("checks.sample"))
    assert "E311" not in ids(run(spec(Decorrelate(Comment, "author"), pseudoprincipal=Nobody)))


def test_what_the_generator_leaves_out_is_filled_where_it_can_be(run: Run) -> None:
    """A callable default would be the same for all, and a number has no empty value."""
    found = run(generator(Guest), spec(Decorrelate(Visit, "guest")))
    missing = {text for text in (re.search(r"Guest\.(\w+)", one.msg) for one in found if one.id == "edna.E312") if text}
    assert {match[1] for match in missing} == {"token", "visits"}
    somebody = generator(Guest, **GUEST)
    assert "E312" not in ids(run(somebody))
    drawn = {
        field.name: filler(somebody.values, field, said="values").make(field, None) for field in Guest._meta.fields[2:]
    }
    assert drawn["ticket"] == b""
    assert drawn["nick"] == ""
    assert str(drawn["born_on"]) == "2000-01-01"


@pytest.mark.parametrize(
    ("check_id", "model", "keys", "fires"),
    [
        ("E314", UnsignedThing, "negative", True),
        ("E314", UnsignedThing, "random", False),
        ("E314", Comment, "negative", False),
        ("E315", MoneyThing, "negative", True),
        ("E315", Comment, "negative", False),
        ("W316", SmallThing, "negative", True),
        ("W316", SmallThing, "sequence", False),
        ("W316", Comment, "negative", False),
        ("E105", MemberThing, "negative", True),
        ("E105", Comment, "negative", False),
    ],
)
def test_primary_keys(run: Run, settings: Any, check_id: str, model: Any, keys: str, fires: bool) -> None:
    settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": keys}
    owner = "author" if model is Comment else "owner"
    assert (check_id in ids(run(spec(Decorrelate(model, owner))))) == fires


# Settings and site


def with_setting(settings: Any, **values: Any) -> list[str]:
    settings.EDNA = {**settings.EDNA, **values}
    return ids(run_checks(tags=["edna"]))


@pytest.mark.parametrize(
    ("check_id", "wrong", "right"),
    [
        ("E001", {"MAC_KEY": ["k" * 32]}, {"MAC_KEYS": ["k" * 32]}),
        ("E002", {"MAC_KEYS": ["short"]}, {"MAC_KEYS": ["k" * 16]}),
        ("E002", {"MAC_KEYS": "k" * 32}, {"MAC_KEYS": (b"k" * 32,)}),
        ("E002", {"MAC_KEYS": [32]}, {"MAC_KEYS": []}),
        ("E002", {"LOCATORS": "user"}, {"LOCATORS": "client"}),
        ("E002", {"PSEUDOPRINCIPAL_KEYS": "positive"}, {"PSEUDOPRINCIPAL_KEYS": "random"}),
        ("E002", {"CHUNK_ROWS": 0}, {"CHUNK_ROWS": 1}),
        ("E002", {"RETENTION_DAYS": "30"}, {"RETENTION_DAYS": 30}),
        ("E002", {"METRICS_TOKEN": "short"}, {"METRICS_TOKEN": "x" * 16}),
        ("E003", {"PRINCIPAL_MODELS": ["websubmit.Student"]}, {"PRINCIPAL_MODELS": ["websubmit.User"]}),
        ("E003", {"PRINCIPAL_MODELS": "websubmit.User"}, {"PRINCIPAL_MODELS": []}),
        ("E003", {"PRINCIPAL_MODELS": ["User"]}, {"PRINCIPAL_MODELS": ["websubmit.user"]}),
        ("E003", {"PRINCIPAL_MODELS": ["auth.User"]}, {"PRINCIPAL_MODELS": ["websubmit.User"]}),
        ("E005", {"STAFF": {"shop.Customer": {"x": 1}}}, {"STAFF": {"Websubmit.User": {"is_admin": True}}}),
        ("E005", {"STAFF": {"user": {"is_admin": True}}}, {"STAFF": {}}),
        (
            "E005",
            {"STAFF": {"websubmit.User": {"rank": 1}}},
            {"STAFF": {"websubmit.User": {"email__endswith": "@x.org"}}},
        ),
        (
            "E005",
            {"STAFF": {"websubmit.User": Q(is_admin=True) | Q(rank=1)}},
            {"STAFF": {"websubmit.User": Q(is_admin=True) | Q(email="x@x.org")}},
        ),
        ("E005", {"STAFF": {"websubmit.User": {"pk": "olga"}}}, {"STAFF": {"websubmit.User": {"pk__in": [1, 2]}}}),
        ("W005", {"STAFF": {}}, {"STAFF": NOBODY}),
        ("W001", {"MAC_KEYS": []}, {"MAC_KEYS": ["k" * 32]}),
        ("W002", {"PSEUDOPRINCIPAL_KEYS": "sequence"}, {"PSEUDOPRINCIPAL_KEYS": "negative"}),
    ],
)
def test_setting(settings: Any, check_id: str, wrong: dict[str, Any], right: dict[str, Any]) -> None:
    before = settings.EDNA
    assert check_id in with_setting(settings, **wrong)
    settings.EDNA = before
    assert check_id not in with_setting(settings, **right)


@pytest.mark.parametrize("keys", [[""], ["too short"], [None]])
def test_the_hint_for_a_server_key_has_lines_to_copy(settings: Any, keys: list[Any]) -> None:
    """As in a project whose settings read a variable that is not set."""
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": keys}
    hint = next(each.hint for each in run_checks(tags=["edna"]) if each.id == "edna.E002")
    line = next(line.strip() for line in hint.splitlines() if line.strip().startswith("export "))
    made = subprocess.run(["sh", "-c", f"{line}; printenv EDNA_MAC_KEY"], capture_output=True, text=True, check=True)
    assignment = next(line.strip() for line in hint.splitlines() if line.strip().startswith("EDNA = "))
    module = {"os": SimpleNamespace(environ={"EDNA_MAC_KEY": made.stdout.strip()})}
    exec(assignment, module)
    settings.EDNA = module["EDNA"]
    assert "E002" not in ids(run_checks(tags=["edna"]))


def test_setting_that_is_no_dictionary(settings: Any) -> None:
    settings.EDNA = ["MAC_KEYS"]
    assert "E001" in ids(run_checks(tags=["edna"]))


def test_secret_key_is_no_mac_key(settings: Any) -> None:
    assert "W001" in with_setting(settings, MAC_KEYS=[settings.SECRET_KEY])


def test_metrics_without_the_client_of_prometheus(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "W003" not in with_setting(settings, METRICS_TOKEN="x" * 16)
    monkeypatch.setattr("edna.checks.settings.find_spec", lambda name: None)
    assert "W003" in with_setting(settings, METRICS_TOKEN="x" * 16)
    assert "W003" not in with_setting(settings, METRICS_TOKEN=None)


@pytest.mark.parametrize(
    ("backend", "complains"),
    [
        ("locmem.LocMemCache", True),
        ("dummy.DummyCache", True),
        ("filebased.FileBasedCache", True),
        ("db.DatabaseCache", True),
        ("redis.RedisCache", False),
        ("memcached.PyMemcacheCache", False),
    ],
)
def test_request_rate_and_a_cache_that_does_not_count(settings: Any, backend: str, complains: bool) -> None:
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache"},
        "shared": {"BACKEND": f"django.core.cache.backends.{backend}"},
    }
    here = {"REQUEST_RATE_CACHE": "shared", "REQUEST_RATE_PER_SECOND": 2}
    assert ("W004" in with_setting(settings, **here)) == complains
    assert "W004" not in with_setting(settings, **{**here, "REQUEST_RATE_CACHE": "default"})
    assert "W004" not in with_setting(settings, **{**here, "REQUEST_RATE_PER_SECOND": None})
    elsewhere = with_setting(settings, **{**here, "REQUEST_RATE_CACHE": "elsewhere"})
    assert "E002" in elsewhere
    assert "W004" not in elsewhere
    assert "E002" in with_setting(settings, **{**here, "REQUEST_RATE_PER_SECOND": "2"})


def test_celery_that_is_not_installed(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "E004" not in with_setting(settings, JOB_RUNNER="celery")
    monkeypatch.setattr("edna.checks.settings.find_spec", lambda name: None)
    assert "E004" in with_setting(settings, JOB_RUNNER="celery")
    assert "E004" not in with_setting(settings, JOB_RUNNER="command")


def test_keys_of_the_hybrid_kind(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for custody in ("server", "browser", "both"):
        assert "E063" not in with_setting(settings, RECIPIENT="x-wing", CUSTODY=custody)
    assert "E002" in with_setting(settings, RECIPIENT="x448")
    monkeypatch.setattr("edna.inner_door.missing_for_hybrid_keys", lambda: "It is not installed.")
    assert "E063" in with_setting(settings, RECIPIENT="x-wing")
    assert "E063" not in with_setting(settings, RECIPIENT="x25519")


def test_middleware(settings: Any) -> None:
    ours, login = "edna.middleware.EdnaMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware"
    others = [name for name in settings.MIDDLEWARE if name not in (ours, login)]
    settings.MIDDLEWARE = [*others, login]
    assert "W010" in ids(run_checks(tags=["edna"]))
    settings.MIDDLEWARE = [*others, ours, login]
    assert "E010" in ids(run_checks(tags=["edna"]))
    settings.MIDDLEWARE = [*others, login, ours]
    assert not {"W010", "E010"} & set(ids(run_checks(tags=["edna"])))


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ("db", set()),
        ("cached_db", set()),
        ("cache", {"W012"}),
        ("file", {"W012"}),
        ("signed_cookies", {"W011"}),
    ],
)
def test_sessions(settings: Any, engine: str, expected: set[str]) -> None:
    settings.SESSION_ENGINE = f"django.contrib.sessions.backends.{engine}"
    assert {"W011", "W012"} & set(ids(run_checks(tags=["edna"]))) == expected
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "SessionMiddleware" not in name]
    assert not {"W011", "W012"} & set(ids(run_checks(tags=["edna"])))


@pytest.mark.parametrize(
    ("debug", "level", "fires"),
    [(True, logging.DEBUG, True), (False, logging.DEBUG, False), (True, logging.INFO, False)],
)
def test_logged_statements(settings: Any, debug: bool, level: int, fires: bool) -> None:
    logger = logging.getLogger("django.db.backends")
    before = logger.level
    settings.DEBUG = debug
    logger.setLevel(level)
    try:
        assert ("W013" in ids(run_checks(tags=["edna"]))) == fires
    finally:
        logger.setLevel(before)


def test_a_log_of_all_models_is_told_of_ednas_own_rows() -> None:
    """It ended a job with a UnicodeDecodeError, as it took a proof for a text."""
    assert "W014" not in ids(run_checks(tags=["edna"]))
    own = apps.get_model("edna_operations", "AuditEntry")

    def note(**_: Any) -> None:
        pass

    post_save.connect(note, sender=own)
    try:
        (found,) = [each for each in run_checks(tags=["edna"]) if each.id == "edna.W014"]
    finally:
        post_save.disconnect(note, sender=own)
    assert "edna_operations.AuditEntry" in found.msg
    assert 'AUDITLOG_EXCLUDE_TRACKING_MODELS = ("edna_operations",).' in str(found.hint)


# Databases


class Route:
    def __init__(self, *labels: str, reading: bool = False) -> None:
        self.labels, self.reading = labels, reading

    def _route(self, model: Any) -> str | None:
        return "elsewhere" if model._meta.label in self.labels or model._meta.app_label in self.labels else None

    def db_for_read(self, model: Any, **_: Any) -> str | None:
        return self._route(model)

    def db_for_write(self, model: Any, **_: Any) -> str | None:
        return None if self.reading else self._route(model)


@pytest.mark.parametrize(
    ("check_id", "wrong", "right"),
    [
        ("E050", Route("checks_app.Guest"), Route("checks_app")),
        ("E051", Route("edna", "checks_app"), Route(*conf.OWN_LABELS, "checks_app")),
        ("E051", Route("checks_app"), Route(*conf.OWN_LABELS, "checks_app")),
        ("E052", Route("checks_app.Comment"), Route("checks_app.Post")),
        ("W053", Route("checks_app.Comment", reading=True), Route("checks_app.Post", reading=True)),
        ("W053", Route("checks_app.Person", reading=True), Route("edna", reading=True)),
    ],
)
def test_routes(run: Run, settings: Any, check_id: str, wrong: Route, right: Route) -> None:
    settings.DATABASE_ROUTERS = [wrong]
    assert check_id in ids(run(Nobody, spec(Decorrelate(Comment, "author"))))
    settings.DATABASE_ROUTERS = [right]
    assert check_id not in ids(run())


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (Route("checks_app.Guest"), None),
        (Route("edna"), Route("sessions")),
        (Route("checks_app.Comment"), Route("checks_app.Post")),
    ],
)
def test_routes_of_several_databases(run: Run, settings: Any, wrong: Route, right: Route | None) -> None:
    settings.EDNA = {**settings.EDNA, "DATABASES": ["default"]}
    settings.DATABASE_ROUTERS = [wrong]
    found = ids(run(Nobody, spec(Decorrelate(Comment, "author"))))
    assert "E069" in found
    assert not {"E050", "E051", "E052"} & set(found)
    settings.DATABASE_ROUTERS = [right] if right else []
    assert "E069" not in ids(run())


class WithoutARow(Route):
    """Sends what is made elsewhere, and leaves what was read where it is."""

    def db_for_write(self, model: Any, *, instance: Any = None, **_: Any) -> str | None:
        return self._route(model) if instance is None else None

    db_for_read = db_for_write


def test_rows_that_are_made_in_nobodys_database(run: Run, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "DATABASES": ["default"]}
    settings.DATABASE_ROUTERS = [WithoutARow("checks_app.Comment")]
    disguises = Nobody, spec(Decorrelate(Comment, "author"))
    (warning,) = [message for message in run(*disguises) if message.id == "edna.W071"]
    assert "checks_app.Comment go to the database 'elsewhere'" in warning.msg
    assert "E069" not in ids(run(*disguises))
    settings.DATABASE_ROUTERS = [WithoutARow("checks_app.Person")]  # operators may be somewhere else
    assert "W071" not in ids(run(*disguises))


def test_two_names_for_one_database(run: Run, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    described = {**settings.DATABASES["default"], "NAME": "people"}
    monkeypatch.setitem(settings.DATABASES, "one", described)
    monkeypatch.setitem(settings.DATABASES, "other", {**described})
    settings.EDNA = {**settings.EDNA, "DATABASES": ["one", "other"]}
    (error,) = [message for message in run() if message.id == "edna.E072"]
    assert "'one' and 'other' are one database" in error.msg
    settings.DATABASES["other"]["NAME"] = "others"
    assert "E072" not in ids(run())
    settings.DATABASES["one"]["NAME"] = settings.DATABASES["other"]["NAME"] = ":memory:"
    assert "E072" not in ids(run()), "each connection has a database of its own"


SECURE = "PRAGMA journal_mode=WAL; PRAGMA secure_delete=ON;"


@pytest.mark.parametrize(
    ("check_id", "options", "fires"),
    [
        ("W054", {}, True),
        ("W054", {"init_command": "PRAGMA secure_delete=OFF;"}, True),
        ("W054", {"init_command": "PRAGMA secure_delete=FAST;"}, True),
        ("W054", {"init_command": SECURE}, False),
        ("W054", {"init_command": "pragma main.secure_delete (1)"}, False),
        ("W055", {}, True),
        ("W055", {"transaction_mode": None}, True),
        ("W055", {"transaction_mode": "DEFERRED"}, True),
        ("W055", {"transaction_mode": "immediate"}, False),
    ],
)
def test_sqlite_options(monkeypatch: pytest.MonkeyPatch, check_id: str, options: dict[str, Any], fires: bool) -> None:
    monkeypatch.setitem(connections.settings["default"], "OPTIONS", options)
    assert (check_id in ids(run_checks(tags=["edna"]))) == fires


def test_sqlite_in_memory_leaves_no_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connections.settings["default"], "OPTIONS", {})
    monkeypatch.setitem(connections.settings["default"], "NAME", ":memory:")
    assert "W054" not in ids(run_checks(tags=["edna"]))


@pytest.mark.only_on("sqlite3")
@pytest.mark.django_db
@pytest.mark.parametrize(("state", "fires"), [("ON", False), ("OFF", True), ("FAST", True)])
def test_what_sqlite_answers(state: str, fires: bool) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA secure_delete={state}")
        found = run_checks(tags=[Tags.database], databases=["default"])
        assert ("W056" in ids(found)) == fires
        # No database was named: since Django 6.1 that means all of them, before it none.
        assert ("W056" in ids(run_checks(tags=[Tags.database]))) == (fires and django.VERSION >= (6, 1))
        assert "W056" not in ids(run_checks())
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete=ON")


@pytest.mark.only_on("mysql")
@pytest.mark.django_db(transaction=True)
def test_table_without_transactions() -> None:
    assert "E057" not in ids(run_checks(tags=[Tags.database], databases=["default"]))
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE edna_sessionlink ENGINE=MyISAM")
    try:
        found = message(run_checks(tags=[Tags.database], databases=["default"]), "E057")
        assert "edna_sessionlink" in found.msg
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE edna_sessionlink ENGINE=InnoDB")


@pytest.mark.only_on("mysql", "postgresql")
@pytest.mark.django_db
@pytest.mark.parametrize("minutes", [-60, 0, 60])
def test_clocks_that_differ(minutes: int) -> None:
    with server_clock_set(60 * minutes):
        found = {each.id: each.msg for each in run_checks(tags=[Tags.database], databases=["default"])}
    assert ("edna.W080" in found) == bool(minutes)
    assert not minutes or "by 3,600 s" in found["edna.W080"] or "by 3,599 s" in found["edna.W080"]


# Rights


def test_what_is_to_be_written_about_rights_can_be_copied(run: Run) -> None:
    found = [
        each.hint
        for each in run(spec(Remove(Officer.groups.through, owner="officer"), Remove(Officer)))
        if each.id == "edna.W123"
    ]
    assert 'Remove(Officer.groups.through, owner="officer", returning=edna.NOTHING)' in str(found[0])
    assert 'Remove(Officer, returning={"is_staff": False, "roles": 0})' in str(found[1])
    (of_a_group,) = [each.hint for each in run(spec(Remove(Posting, owner="officer"))) if each.id == "edna.W123"]
    assert 'Remove(Posting, owner="officer", returning={"role": "h", "is_owner": False})' in str(of_a_group)
    assert "edna.NOTHING if they are not" in str(of_a_group)


def test_terms_of_a_disguise_by_hand(run: Run) -> None:
    edna.on_reveal("checks.hand", returning={Person: {"staff": False}})(by_hand)
    assert "E121" in ids(run())


# The server's key


@pytest.mark.once
@pytest.mark.django_db
def test_server_keys(settings: Any) -> None:
    def said() -> list[CheckMessage]:
        return run_checks(tags=[Tags.database], databases=["default"])

    def found() -> set[str]:
        return {"E059", "W060"} & set(ids(said()))

    ours = settings.EDNA["MAC_KEYS"]
    assert found() == set()
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["another key than the data's"]}
    assert found() == {"E059", "W060"}
    assert "Put the key back" in message(said(), "E059").msg
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["another key than the data's", *ours]}
    assert found() == {"E059"}
    assert "edna_keys add" in message(said(), "E059").msg
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": "unreadable"}
    assert found() == set()
    # Before it is migrated there is no table, and it is `migrate` that asks.
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["another key than the data's"]}
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE edna_serverkey RENAME TO edna_elsewhere")
    assert found() == set()


@pytest.mark.once
@pytest.mark.django_db
def test_public_keys_from_when_there_was_one_database(settings: Any) -> None:
    def found() -> list[CheckMessage]:
        return [each for each in run_checks(tags=[Tags.database], databases=["default"]) if each.id == "edna.W073"]

    made = [store.NewEntry(bytes(SecretKey.generate().public_key), "websubmit.user", str(pk), True) for pk in (1, 2)]
    store.add_entries(made[:1], using="default")
    assert found() == []
    settings.EDNA = {**settings.EDNA, "DATABASES": ["default"]}
    store.add_entries(made[1:], using="default")  # one that is right does not hide the other
    (warning,) = found()
    assert "--formerly-alone --database default" in str(warning.hint)
    assert "'default'" in warning.msg
    PrincipalEntry.objects.filter(reference="1").delete()
    assert found() == []
    # Before it is migrated there is no table, and it is `migrate` that asks.
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE edna_principalentry RENAME TO edna_elsewhere")
    assert found() == []


# Without edna.operations


@pytest.fixture
def without_operations(settings: Any, run: Run) -> None:
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "edna.operations"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LEDGER", True),
        ("METRICS_TOKEN", "a token of sixteen or more"),
        ("JOB_RUNNER", "celery"),
        ("JOB_RUNNER", "eager"),
        ("JOB_BATCH", 7),
        ("JOB_CONCURRENCY", 7),
        ("JOB_RATE_PER_SECOND", 0.5),
        ("JOB_SILENT_SECONDS", 7),
    ],
)
def test_a_setting_that_only_operations_read(without_operations: None, settings: Any, name: str, value: Any) -> None:
    alone = {**settings.EDNA, **{key: default for key, default in conf.DEFAULTS.items() if key.startswith("JOB_")}}
    alone |= {"LEDGER": False, "METRICS_TOKEN": None}
    settings.EDNA = alone
    assert "E006" not in ids(run_checks(tags=["edna"]))
    settings.EDNA = {**alone, name: value}
    said = message(run_checks(tags=["edna"]), "E006")
    assert (name in said.msg, 'INSTALLED_APPS += ["edna.operations"]' in str(said.hint)) == (True, True)
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "edna.operations"]
    assert "E006" not in ids(run_checks(tags=["edna"]))


def test_policies_that_nobody_could_satisfy_or_seal_to(settings: Any, tmp_path: Path) -> None:
    assert "E002" in with_setting(settings, POLICIES=["restore"])
    assert "E002" in with_setting(settings, POLICIES={}, MONITOR={"ADDRESS": "http://localhost:8600"})
    party, list_file = Party(), tmp_path / "clauses.json"
    list_file.write_text(party.monitor.clauses())
    key = to_base64(party.monitor.public_key)
    monitor = {"ADDRESS": "http://localhost:8600", "PUBLIC_KEY": key, "CLAUSES": str(list_file)}
    made = {"POLICIES": dict(party.policies), "MONITOR": monitor}
    assert {"E002", "E006", "E066"}.isdisjoint(with_setting(settings, **made))
    assert "E066" in with_setting(settings, **{**made, "POLICIES": {"restore": "region ="}})
    assert "E066" in with_setting(settings, **{**made, "POLICIES": {"restore": "region = us"}})
    assert "E066" in with_setting(settings, **{**made, "MONITOR": None})
    list_file.write_text(Party().monitor.clauses())
    assert "E066" in with_setting(settings, **made)
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "edna.policies"]
    assert 'INSTALLED_APPS += ["edna.policies"]' in str(message(run_checks(tags=["edna"]), "E006").hint)


@pytest.mark.once
def test_devices_where_keys_are_hybrid(settings: Any) -> None:
    """A group has a key of the other kind: whoever makes one goes back."""
    assert "W068" not in with_setting(settings, RECIPIENT="x25519")
    assert "W068" in with_setting(settings, RECIPIENT="x-wing")


def test_guardians_that_the_site_cannot_find(settings: Any, tmp_path: Path) -> None:
    """Whoever has forgotten the application, or written a path that leads nowhere, is told before anybody opens a page."""
    assert "E002" in with_setting(settings, GUARDIANS={"ROSTER": None, "SITE_KEY": "site.key"})
    made = {"ROSTER": tmp_path / "roster.json", "SITE_KEY": str(tmp_path / "site.key")}
    missing = with_setting(settings, GUARDIANS=made)
    assert ("W065" in missing, "E065" in missing) == (True, False)  # which stops no `migrate` where a site is built
    key = nacl.signing.SigningKey.generate()
    files.write_site_key(tmp_path / "site.key", key)
    five = [Identity.new(number).member(f"http://127.0.0.1:844{number}") for number in range(1, 6)]
    made["ROSTER"].write_text(Roster(five, 3, bytes(key.verify_key)).signed(key))
    assert {"E002", "E006", "E065", "W065"}.isdisjoint(with_setting(settings, GUARDIANS=made))
    assert "E065" in with_setting(settings, GUARDIANS={**made, "NAMES": ["The library"]})
    # With a profile that no browser speaks.
    profiled = [Identity.new(number).member(f"secure://127.0.0.1:844{number}") for number in range(1, 6)]
    made["ROSTER"].write_text(Roster(profiled, 3, bytes(key.verify_key)).signed(key))
    assert "E065" not in with_setting(settings, GUARDIANS=made)
    assert "E065" in with_setting(settings, GUARDIANS=made, CUSTODY="browser")
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "edna.guardians"]
    assert 'INSTALLED_APPS += ["edna.guardians"]' in str(message(run_checks(tags=["edna"]), "E006").hint)


def test_a_schedule_that_nothing_runs(without_operations: None, run: Run, settings: Any) -> None:
    disguise = spec(LETTERS, READERS)
    edna.schedule(disguise, inactive_for=timedelta(days=365))(lambda notice: None)
    assert 'INSTALLED_APPS += ["edna.operations"]' in str(message(run(disguise), "E406").hint)
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "edna.operations"]
    assert "E406" not in ids(run_checks(tags=["edna"]))


def test_retention_that_nothing_ends(without_operations: None, settings: Any) -> None:
    assert "W006" not in with_setting(settings, RETENTION_DAYS=None)
    assert "W006" in with_setting(settings, RETENTION_DAYS=30)
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "edna.operations"]
    assert "W006" not in with_setting(settings, RETENTION_DAYS=30)


@pytest.mark.django_db
def test_rows_of_operations_that_are_not_installed(settings: Any) -> None:
    def found(databases: list[str] | None) -> list[CheckMessage]:
        return [each for each in run_checks(tags=[Tags.database], databases=databases) if each.id == "edna.E062"]

    tables = [
        model._meta.db_table for model in apps.get_app_config("edna_operations").get_models() if not model._meta.proxy
    ]
    assert sorted(tables) == sorted(TABLES_OF_OPERATIONS)
    LastRun.objects.create(name="expire")
    assert found(["default"]) == []
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "edna.operations"]
    [said] = found(["default"])
    assert "edna_lastrun" in said.msg
    assert "edna_job" not in said.msg
    assert "migrate" in str(said.hint)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM edna_lastrun")
        assert found(["default"]) == []
        # Back at once: MariaDB makes no transaction of it.
        cursor.execute("ALTER TABLE edna_lastrun RENAME TO edna_elsewhere")
        try:
            assert found(["default"]) == []
        finally:
            cursor.execute("ALTER TABLE edna_elsewhere RENAME TO edna_lastrun")


# All together


def test_sample_site_passes() -> None:
    """Also without a single warning."""
    assert run_checks(tags=["edna"]) == []


def test_every_check_is_documented_and_tested() -> None:
    pattern = re.compile(r"\b[EW]\d{3}\b")
    files = [*(ROOT / "edna/checks").rglob("*.py"), *ROOT.glob("edna/*/checks.py")]
    source = {found for path in files for found in pattern.findall(path.read_text())}
    documented = [
        match[1] for match in re.finditer(r"^\| edna\.([EW]\d{3}) \|", (ROOT / "docs/checks.md").read_text(), re.M)
    ]
    assert documented == sorted(set(documented), key=lambda name: (name[1:], name))
    assert set(documented) == source
    tested = "".join(path.read_text() for path in Path(__file__).parent.glob("test_checks*.py"))
    assert source == set(pattern.findall(tested))
