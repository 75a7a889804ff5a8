"""Rows with two owners, whose columns are of every kind: by another column, in another table, inside the key."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

import edna
from edna import Decorrelate, Remove
from edna.testing import application_dump
from tests.support import Student, edna_dump

pytestmark = pytest.mark.django_db

Enrol = Callable[..., Student]


def petitions(models: Any, enrol: Enrol) -> tuple[list[Student], Any, list[Any]]:
    """Owners by ``to_field``."""
    people = [enrol(models.Citizen, email=f"{n}@example.org", passport=str(n)) for n in range(2)]
    for author, second in (people, people[::-1]):
        models.Petition.objects.create(author=author.user, second=second.user, text="shared")
    models.Petition.objects.create(author=people[0].user, text="alone")
    stamps = Remove(models.Stamp, owner=["petition__author", "petition__second"])
    return people, models.Petition, [Remove(models.Petition, owner=["author", "second"]), stamps]


def birds(models: Any, enrol: Enrol) -> tuple[list[Student], Any, list[Any]]:
    """One owner in the parent's table, one in the child's."""
    people = [enrol(models.Keeper, name=str(n)) for n in range(2)]
    for keeper, trainer in (people, people[::-1]):
        models.Parrot.objects.create(keeper=keeper.user, trainer=trainer.user, name="shared", wingspan=1)
    models.Bird.objects.create(keeper=people[0].user, name="alone", wingspan=2)
    sightings = Remove(models.Sighting, owner=["animal__bird__keeper", "animal__bird__trainer"])
    return people, models.Bird, [Remove(models.Bird, owner=["keeper", "trainer"]), sightings]


def matches(models: Any, enrol: Enrol) -> tuple[list[Student], Any, list[Any]]:
    """Both owners are the primary key."""
    people = [enrol(models.Player, name=str(n)) for n in range(2)]
    for home, away in (people, people[::-1]):
        models.Match.objects.create(home=home.user, away=away.user, score="shared")
    somebody = models.Player.objects.create(name="nobody's principal")
    models.Match.objects.create(home=people[0].user, away=somebody, score="with a stranger")
    return people, models.Match, [Remove(models.Match, owner=["home", "away"])]


KINDS = (petitions, birds, matches)
TOGETHER = {"petition": {"text": "shared"}, "bird": {"name": "shared"}, "match": {"score": "shared"}}


@pytest.fixture(params=KINDS, ids=[kind.__name__ for kind in KINDS])
def shared(request: Any, schemas: Any, enrolled: Enrol, spec: Any) -> tuple[list[Student], Any, str]:
    people, model, steps = request.param(schemas, enrolled)
    return people, model, spec("take", *steps)


def test_one_takes_their_rows_and_brings_them_back(shared: Any) -> None:
    """The other's rows stay, and nothing in them says who left."""
    (ada, bob), model, name = shared
    before, tables = application_dump(), edna_dump()
    rows = model.objects.count()
    receipt = ada.disguise(name)
    owners = next(step.owner for step in edna.registry.get(name).steps())
    assert 2 <= model.objects.count() <= rows
    for owner in owners:
        assert not model.objects.filter(**{f"{owner}__pk": ada.user.pk}).exists()
        assert model.objects.filter(**{f"{owner}__pk": bob.user.pk}).count() == 1
    assert ada.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.parametrize("order", list(permutations((0, 1))))
@pytest.mark.parametrize("back", list(permutations((0, 1))))
def test_both_take_them_and_bring_them_back(shared: Any, order: tuple[int, ...], back: tuple[int, ...]) -> None:
    people, model, name = shared
    before, tables = application_dump(), edna_dump()
    receipts = {number: people[number].disguise(name) for number in order}
    assert not model.objects.filter(**TOGETHER[model._meta.model_name]).exists()
    for number in back:
        people[number].reveal(receipts[number])
    for number in back:
        people[number].reveal_everything()
    assert application_dump() == before
    assert edna_dump() == tables


def test_everybody_anonymised_then_taken(shared: Any, schemas: Any, spec: Any) -> None:
    (ada, bob), model, name = shared
    before, tables = application_dump(), edna_dump()
    owners = next(step.owner for step in edna.registry.get(name).steps())
    steps = [Decorrelate(model, owner=list(owners))]
    if model is schemas.Match:
        # The stranger has no key.
        model.objects.filter(score="with a stranger").delete()
        before = application_dump()
    edna.disguise_all(spec("anonymise", *steps))
    for student in (ada, bob):
        student.disguise(name, with_key=True)
    for student in (ada, bob, ada, bob):
        for entry in student.history():
            student.reveal(entry.receipt)
    for student in (ada, bob):
        student.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == tables
