"""Disguises of every schema in random compositions, revealed in random orders: at the end, everything is as it was."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import edna
from edna import Decorrelate, Modify, Remove, placeholders
from edna.testing import application_dump
from tests.support import Student, edna_dump

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

Enrol = Callable[..., Student]
Specs = dict[str, list[Any]]

DRAWN = placeholders.random_string(length=20)
LEAVE = "leave"  # not for everybody at once: keys without accounts cannot be disguised further
ROUNDS = 12


def keys(models: Any, enrol: Enrol) -> tuple[list[Student], Specs]:
    people = [enrol(models.Player, name=str(number)) for number in range(3)]
    clubs = [models.Club.objects.create(name=str(number)) for number in range(2)]
    for number, person in enumerate(people):
        models.Profile.objects.create(player=person.user, motto="hello")
        for club in clubs:
            models.Membership.objects.create(club=club, player=person.user, number=number)
        for other in people:
            if other is not person:
                models.Match.objects.create(home=person.user, away=other.user, score="1:0")
    owned = [
        Remove(models.Profile, "player"),
        Remove(models.Membership, "player"),
        Remove(models.Match, "home"),
        Remove(models.Match, "away"),
    ]
    return people, {
        "anonymise": [
            Decorrelate(models.Profile, "player"),
            Decorrelate(models.Membership, "player"),
            Decorrelate(models.Match, ["home", "away"]),
        ],
        "as-one": [Decorrelate(models.Membership, "player", group_by=edna.ALL), Decorrelate(models.Profile, "player")],
        "redact": [
            Modify(models.Profile, "player", set={"motto": DRAWN}),
            Modify(models.Membership, "player", set={"note": DRAWN}),
        ],
        "take": [Remove(models.Match, ["home", "away"]), Remove(models.Profile, "player")],
        LEAVE: [Remove(models.Player), *owned],
    }


def to_field(models: Any, enrol: Enrol) -> tuple[list[Student], Specs]:
    people = [enrol(models.Citizen, email=f"{number}@example.org", passport=str(number)) for number in range(3)]
    for person in people:
        models.Visa.objects.create(holder=person.user, country="far away")
        for other in people:
            second = None if other is person else other.user
            petition = models.Petition.objects.create(author=person.user, second=second, text="please")
            models.Stamp.objects.create(petition=petition, place="here")
    return people, {
        "anonymise": [Decorrelate(models.Petition, ["author", "second"]), Decorrelate(models.Visa, "holder")],
        "as-one": [Decorrelate(models.Petition, "author", group_by=edna.ALL)],
        "redact": [
            Modify(models.Petition, "author", set={"text": DRAWN}),
            Modify(models.Stamp, "petition__author", set={"place": DRAWN}),
        ],
        "take": [
            Remove(models.Petition, ["author", "second"]),
            Remove(models.Stamp, ["petition__author", "petition__second"]),
        ],
        LEAVE: [
            Remove(models.Citizen),
            Remove(models.Petition, "author"),
            Remove(models.Stamp, "petition__author"),
            Remove(models.Visa, "holder"),
        ],
    }


def inheritance(models: Any, enrol: Enrol) -> tuple[list[Student], Specs]:
    people = [enrol(models.Keeper, name=str(number)) for number in range(3)]
    for number, person in enumerate(people):
        other = people[(number + 1) % 3]
        models.Animal.objects.create(keeper=person.user, name="cat", chip=str(number))
        bird = models.Bird.objects.create(keeper=person.user, trainer=other.user, name="duck", wingspan=1)
        parrot = models.Parrot.objects.create(keeper=person.user, trainer=person.user, name="parrot", wingspan=1)
        models.Swimmer(animal_ptr=bird.animal_ptr, depth=3).save_base(raw=True)
        models.Sighting.objects.create(animal_id=bird.pk, text="duck")
        models.Sighting.objects.create(animal_id=parrot.pk, text="parrot")
        models.Frog.objects.create(keeper=person.user, legs=4, depth=1, colour="green")
    return people, {
        "anonymise": [
            Decorrelate(models.Animal, "keeper"),
            Decorrelate(models.Bird, "trainer"),
            Decorrelate(models.Frog, "keeper"),
        ],
        "as-one": [Decorrelate(models.Parrot, ["keeper", "trainer"], group_by=edna.ALL)],
        "redact": [
            Modify(models.Parrot, "keeper", set={"name": DRAWN, "vocabulary": DRAWN}),
            Modify(models.Bird, "trainer", set={"chip": DRAWN}),
        ],
        "take": [
            Remove(models.Bird, ["keeper", "trainer"]),
            Remove(models.Sighting, ["animal__bird__keeper", "animal__bird__trainer"]),
        ],
        "swimmers": [Remove(models.Swimmer, "keeper"), Remove(models.Sighting, "animal__keeper")],
        LEAVE: [
            Remove(models.Keeper),
            Remove(models.Animal, "keeper"),
            Remove(models.Sighting, "animal__keeper"),
            Decorrelate(models.Bird, "trainer"),
            Remove(models.Walker, "keeper"),
            Remove(models.Gate, "warden"),
        ],
    }


def relations(models: Any, enrol: Enrol) -> tuple[list[Student], Specs]:
    people = [enrol(models.Actor, name=str(number)) for number in range(3)]
    models.sentinel()
    for number, person in enumerate(people):
        play = models.Play.objects.create(author=person.user, title="a play")
        for actor in (person.user, people[(number + 1) % 3].user):
            models.Part.objects.create(play=play, actor=actor, role="a part")
            play.fans.add(actor)
        play.marks.create(text="good")
        models.Contract.objects.create(actor=person.user, pay=1)
        models.Trace.objects.create(actor=person.user, text="was here")
        for model in (models.Review, models.Credit, models.Quote):
            model.objects.create(actor=person.user, text="of them")
        company = models.Company.objects.create(owner=person.user, name="a company")
        shows = [models.Show.objects.create(company=company, title=str(night)) for night in range(3)]
        for night in range(3):
            models.Show.objects.filter(pk=shows[night].pk).update(sequel=shows[night - 2])
        models.Company.objects.filter(pk=company.pk).update(first_show=shows[0])
    shows_go = Remove(models.Show, "company__owner")
    return people, {
        "anonymise": [
            *(Decorrelate(model, "actor") for model in (models.Part, models.Quote, models.Trace)),
            Decorrelate(models.Play, "author"),
            Decorrelate(models.Company, "owner"),
        ],
        "redact": [
            Modify(models.Show, "company__owner", set={"title": DRAWN}),
            Modify(models.Mark, "play__author", set={"text": DRAWN}),
        ],
        "close": [Remove(models.Company, "owner"), shows_go],
        "shows": [shows_go],
        "marks": [Remove(models.Mark, "play__author")],
        LEAVE: [
            Remove(models.Actor),
            Remove(models.Play, "author"),
            Remove(models.Play.fans.through, "play__author"),
            Remove(models.Play.fans.through, "actor"),
            Remove(models.Part, "play__author"),
            Remove(models.Mark, "play__author"),
            *(Remove(model, "actor") for model in (models.Part, models.Contract, models.Booking, models.Trace)),
            Remove(models.Company, "owner"),
            shows_go,
            Remove(models.Left, "owner"),
            Remove(models.Right, "left__owner"),
        ],
    }


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [keys, to_field, inheritance, relations], ids=lambda kind: str(kind.__name__))
def test_everything_comes_back(schemas: Any, enrolled: Enrol, spec: Any, kind: Any, seed: int) -> None:
    chance = random.Random(f"{kind.__name__} {seed}")
    people, specs = kind(schemas, enrolled)
    names = {key: spec(key, *steps) for key, steps in specs.items()}
    before, tables = application_dump(), edna_dump()
    for _ in range(chance.randint(3, 7)):
        _one_event(chance, people, names)
        application_dump()  # nothing dangles in between
    for _ in range(ROUNDS):
        chance.shuffle(people)
        for person in people:
            entries = person.history()
            for entry in chance.sample(entries, len(entries)):
                try:
                    person.reveal(entry.receipt)
                except edna.errors.ReceiptUnknown:
                    pass  # folded into one that was revealed before it
    assert [entry for person in people for entry in person.history()] == []
    assert application_dump() == before
    assert edna_dump() == tables


def _one_event(chance: random.Random, people: list[Student], names: dict[str, str]) -> None:
    event = chance.choice(["alone", "alone", "with key", "with key", "everybody", "reveal", "reveal"])
    person = chance.choice(people)
    if event == "everybody":
        edna.disguise_all(names[chance.choice([key for key in names if key != LEAVE])])
    elif event == "reveal":
        if entries := person.history():
            person.reveal(chance.choice(entries).receipt)
    else:
        try:
            person.disguise(names[chance.choice(list(names))], with_key=event == "with key")
        except edna.errors.PrincipalNotRegistered:
            pass  # has left
