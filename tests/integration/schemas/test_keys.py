"""Rows whose primary key says whose they are: a profile whose key is its owner, and keys of several columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.db.models.signals import post_save

import edna
from edna import Decorrelate, Held, Modify, Reason, Remove
from edna.testing import application_dump
from tests.support import Student, edna_dump, statements

pytestmark = pytest.mark.django_db

Enrol = Callable[..., Student]


def make_profile(sender: Any, instance: Any, created: bool, **_: Any) -> None:
    """As applications do it: nobody is without a profile."""
    from .models import Player, Profile

    if created and sender is Player:
        Profile.objects.create(player=instance, motto="my first day")


@pytest.fixture(autouse=True)
def profiles() -> Iterator[None]:
    post_save.connect(make_profile, dispatch_uid="schemas")
    yield
    post_save.disconnect(dispatch_uid="schemas")


@pytest.fixture
def ada(schemas: Any, enrolled: Enrol) -> Student:
    return enrolled(schemas.Player, name="Ada")


@pytest.fixture
def bob(schemas: Any, enrolled: Enrol) -> Student:
    return enrolled(schemas.Player, name="Bob")


@pytest.fixture
def league(schemas: Any, ada: Student, bob: Student) -> Any:
    for name in ("Reds", "Blues"):
        club = schemas.Club.objects.create(name=name)
        for number, student in enumerate((ada, bob)):
            schemas.Membership.objects.create(club=club, player=student.user, number=number, note=f"{number} of {name}")
    schemas.Match.objects.create(home=ada.user, away=bob.user, score="1:0")
    schemas.Match.objects.create(home=bob.user, away=ada.user, score="0:1")
    return schemas


def leaving(models: Any) -> list[Any]:
    return [
        Remove(models.Player),
        Remove(models.Profile, owner="player"),
        Remove(models.Membership, owner="player"),
        Remove(models.Match, owner="home"),
        Remove(models.Match, owner="away"),
    ]


def anonymising(models: Any) -> list[Any]:
    return [
        Decorrelate(models.Profile, owner="player"),
        Decorrelate(models.Membership, owner="player"),
        Decorrelate(models.Match, owner="home"),
        Decorrelate(models.Match, owner="away"),
    ]


def test_leaving_and_returning(league: Any, ada: Student, spec: Any) -> None:
    """No signal is sent for the rows that come back, or the returning player would have two profiles."""
    before, tables = application_dump(), edna_dump()
    receipt = ada.disguise(spec("leave", *leaving(league)))
    assert (league.Profile.objects.count(), league.Membership.objects.count(), league.Match.objects.count()) == (
        1,
        2,
        0,
    )
    assert ada.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


def test_pseudoprincipals_get_no_profile_of_their_own(league: Any, ada: Student, spec: Any) -> None:
    """Their rows are inserted without signals, too: a profile that the application makes would tell when."""
    before, tables = application_dump(), edna_dump()
    receipt = ada.disguise(spec("memberships", Decorrelate(league.Membership, owner="player")))
    assert (league.Player.objects.count(), league.Profile.objects.count()) == (4, 2)
    assert ada.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


def test_decorrelating_changes_the_key(league: Any, ada: Student, spec: Any) -> None:
    """Of the profile, of the memberships, and both halves of a match in turn."""
    before, tables = application_dump(), edna_dump()
    receipt = ada.disguise(spec("anonymise", *anonymising(league)))
    for model, name in (("Profile", "player"), ("Membership", "player"), ("Match", "home"), ("Match", "away")):
        assert not getattr(league, model).objects.filter(**{name: ada.user}).exists()
    assert league.Player.objects.count() == 2 + 1 + 2 + 1 + 1
    assert (league.Profile.objects.count(), league.Membership.objects.count(), league.Match.objects.count()) == (
        2,
        4,
        2,
    )
    assert ada.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.parametrize("late", [False, True], ids=["modify, decorrelate", "decorrelate, modify"])
def test_other_columns_of_the_same_row(league: Any, ada: Student, spec: Any, late: bool) -> None:
    """In whichever order the steps are written."""
    before, tables = application_dump(), edna_dump()
    modify = [
        Modify(league.Profile, owner="player", set={"motto": "[gone]"}),
        Modify(league.Membership, owner="player", set={"note": "[gone]"}),
    ]
    steps = anonymising(league) + modify if late else modify + anonymising(league)
    receipt = ada.disguise(spec("both", *steps))
    assert league.Profile.objects.filter(motto="[gone]").exclude(player=ada.user).count() == 1
    assert league.Membership.objects.filter(note="[gone]").exclude(player=ada.user).count() == 2
    assert ada.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0), (0, 2, 1), (2, 0, 1)])
def test_anonymised_twice_and_redacted_revealed_in_any_order(
    league: Any, ada: Student, spec: Any, order: tuple[int, ...]
) -> None:
    """Each record knows the key under which its row was to be found, whoever moved it on since."""
    before, tables = application_dump(), edna_dump()
    anonymise = spec("anonymise", *anonymising(league))
    redact = spec("redact", Modify(league.Profile, owner="player", set={"motto": "[gone]"}))
    receipts = [ada.disguise(name, with_key=True) for name in (anonymise, redact, anonymise)]
    for position in order:
        ada.reveal(receipts[position])
    ada.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == tables


def test_everybody_and_then_leaving_with_the_key(league: Any, ada: Student, bob: Student, spec: Any) -> None:
    before, tables = application_dump(), edna_dump()
    anonymise, leave = spec("anonymise", *anonymising(league)), spec("leave", *leaving(league))
    edna.disguise_all(anonymise)
    edna.disguise_all(anonymise)
    assert not league.Membership.objects.filter(player__in=[ada.user, bob.user]).exists()
    ada.disguise(leave, with_key=True)
    assert (league.Profile.objects.count(), league.Membership.objects.count()) == (1, 2)
    for student in (ada, bob):
        student.reveal_everything()
    for student in (ada, bob):
        student.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == tables


def test_a_new_profile_under_the_old_key_holds_the_old_one(league: Any, ada: Student, spec: Any) -> None:
    """The owner has made another one since."""
    receipt = ada.disguise(spec("profile", Decorrelate(league.Profile, owner="player")))
    league.Profile.objects.create(player=ada.user, motto="new")
    moved = league.Profile.objects.exclude(motto="new").exclude(player__name="Bob").get()
    outcome = ada.reveal(receipt)
    assert outcome.held == [Held("schemas.profile", moved.pk, Reason.ROW_EXISTS, "player")]
    league.Profile.objects.filter(player=ada.user).delete()
    assert ada.reveal(receipt).complete
    assert league.Profile.objects.get(player=ada.user).motto == "my first day"


def test_a_membership_given_to_somebody_else_is_held(league: Any, ada: Student, bob: Student, spec: Any) -> None:
    """Under its key of then it is not found any more: whoever moved it made another row of it."""
    receipt = ada.disguise(spec("memberships", Decorrelate(league.Membership, owner="player")))
    membership = league.Membership.objects.filter(note="0 of Reds").get()
    cat = league.Player.objects.create(name="Cat")
    league.Membership.objects.filter(note="0 of Reds").update(player=cat)
    outcome = ada.reveal(receipt)
    assert outcome.held == [Held("schemas.membership", (membership.club_id, membership.player_id), Reason.ROW_MISSING)]
    assert league.Membership.objects.get(note="0 of Blues").player == ada.user


def test_what_is_held_comes_back_in_the_order_in_which_it_was_done(league: Any, ada: Student, spec: Any) -> None:
    """The note was changed under the key that the second step has changed."""
    before = application_dump()
    note = Modify(league.Membership, owner="player", set={"note": "[gone]"})
    receipt = ada.disguise(spec("both", note, Decorrelate(league.Membership, owner="player", group_by=edna.ALL)))
    somebody = league.Membership.objects.filter(note="[gone]").first().player
    cat = league.Player.objects.create(name="Cat")
    league.Membership.objects.filter(player=somebody).update(player=cat)
    assert {held.reason for held in ada.reveal(receipt).held} == {Reason.ROW_MISSING}
    league.Membership.objects.filter(player=cat).update(player=somebody)
    cat.delete()
    assert ada.reveal(receipt).complete
    assert application_dump() == before


@pytest.mark.parametrize("policy", ["restore", "delete", "retain"])
def test_what_came_to_a_pseudoprincipal_meanwhile(league: Any, ada: Student, spec: Any, policy: str) -> None:
    """A membership of a third club, whose key holds the pseudoprincipal, and a profile."""
    before = application_dump()
    references = {"schemas.Membership.player": policy, "schemas.Profile.player": policy}
    name = spec(
        "memberships",
        Decorrelate(league.Membership, owner="player", group_by=edna.ALL),
        Modify(league.Profile, owner="player", set={"motto": ""}),
        references=references,
    )
    receipt = ada.disguise(name)
    somebody = league.Membership.objects.get(note="0 of Reds").player
    club = league.Club.objects.create(name="Greens")
    league.Membership.objects.create(club=club, player=somebody, number=7)

    assert ada.reveal(receipt).complete

    owners = list(league.Membership.objects.filter(club=club).values_list("player", flat=True))
    assert owners == {"restore": [ada.user.pk], "delete": [], "retain": [somebody.pk]}[policy]
    assert league.Player.objects.filter(pk=somebody.pk).exists() == (policy == "retain")
    league.Membership.objects.filter(club=club).delete()
    club.delete()
    league.Player.objects.filter(pk=somebody.pk).delete()
    assert application_dump() == before


def test_a_profile_made_for_a_pseudoprincipal_cannot_take_the_owners_place(
    league: Any, ada: Student, spec: Any
) -> None:
    """Where the disguise says "restore", it stays with the pseudoprincipal, which stays, until the owner has none."""
    transformation = Decorrelate(league.Membership, owner="player", group_by=edna.ALL)
    receipt = ada.disguise(spec("memberships", transformation, references={"schemas.Profile.player": "restore"}))
    somebody = league.Membership.objects.get(note="0 of Reds").player
    league.Profile.objects.create(player=somebody, motto="an eager script was here")
    outcome = ada.reveal(receipt)
    assert outcome.held == [Held("schemas.profile", somebody.pk, Reason.ROW_EXISTS, "player")]
    assert league.Membership.objects.filter(player=ada.user).count() == 2
    league.Profile.objects.filter(player=ada.user).delete()
    assert ada.reveal(receipt).complete
    assert league.Profile.objects.get(player=ada.user).motto == "an eager script was here"
    assert not league.Player.objects.filter(pk=somebody.pk).exists()


def test_a_taken_value_of_several_columns_is_overridden(league: Any, ada: Student, spec: Any) -> None:
    """One number for each member of a club."""
    receipt = ada.disguise(spec("memberships", Remove(league.Membership, owner="player")))
    cat = league.Player.objects.create(name="Cat")
    club = league.Club.objects.get(name="Reds")
    league.Membership.objects.create(club=club, player=cat, number=0)
    outcome = ada.reveal(receipt)
    key = (club.pk, ada.user.pk)
    assert outcome.held == [Held("schemas.membership", key, Reason.UNIQUE_TAKEN, "number")]
    assert outcome.restored == {"schemas.membership": 1}
    assert ada.reveal(receipt, overrides={"schemas.Membership.number": 12}).complete
    assert league.Membership.objects.get(club=club, player=ada.user).number == 12


def test_it_takes_as_many_statements_for_many_rows_as_for_few(schemas: Any, enrolled: Enrol, spec: Any) -> None:
    """Keys that change are followed in bulk, too: anonymised twice, the first revealed first."""
    name = spec("anonymise", Decorrelate(schemas.Membership, owner="player"))
    seen = set()
    for number in (10, 200):
        student = enrolled(schemas.Player, name=str(number))
        clubs = schemas.Club.objects.bulk_create(schemas.Club(name=str(n)) for n in range(number))
        members = (schemas.Membership(club=club, player=student.user, number=number) for club in clubs)
        schemas.Membership.objects.bulk_create(members)
        counts = []
        with student.unlock() as unlocked:
            for _ in range(2):
                work = partial(edna.disguise, name, student.user, unlocked=unlocked)
                counts.append(len(statements(work)))
            for entry in student.history()[::-1]:
                counts.append(len(statements(partial(edna.reveal, entry.receipt, unlocked))))
        assert schemas.Membership.objects.filter(player=student.user).count() == number
        seen.add(tuple(counts))
    assert len(seen) == 1, seen
