"""A draft does what it says: whoever is disguised by one comes back to the byte, in any order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.db.models import AutoField, CharField, ForeignKey, IntegerField, Model, TextField

import edna
from edna import registry
from edna.scaffold.draft import draft
from edna.scaffold.module import written_module
from edna.testing import Person, application_dump
from tests.zoo.models import court, lending, shop, studio, town
from tests.zoo.tables import zoo, zoo_tables  # noqa: F401 - fixtures

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]


def made(model: type[Model], people: list[Any], number: int) -> Model:
    """A row that says something in each column, of people and rows by turns."""
    values: dict[str, Any] = {}
    for column in model._meta.concrete_fields:
        if isinstance(column, ForeignKey):
            target: Any = column.related_model
            rows = people if isinstance(people[0], target) else list(target._base_manager.order_by("pk"))
            rows = [ContentType.objects.get_for_model(model)] if target is ContentType else rows
            if not column.remote_field.parent_link and rows:
                values[column.name] = rows[number % len(rows)]
                number = number // len(people) if rows is people else number
        elif column.name == "object_id" or (isinstance(column, IntegerField) and not isinstance(column, AutoField)):
            values[column.name] = number + 1
        elif isinstance(column, (CharField, TextField)) and not column.choices:
            values[column.name] = f"{model._meta.model_name} {number}"
    return model._base_manager.create(**values)


@pytest.fixture
def drafted(request: pytest.FixtureRequest, zoo: Any) -> Iterator[str]:  # noqa: F811
    """The draft for a principal model, written, imported, and registered."""
    principal = request.param
    before = {*registry.disguises()}
    generators = dict(registry._pseudoprincipals)
    text = written_module([draft(principal, principals=registry.principal_models(), name="drafts.leave")])
    exec(compile(text, "disguises.py", "exec"), {"__name__": "drafts.disguises"})
    yield "drafts.leave"
    for name in {*registry.disguises()} - before:
        edna.unregister(registry.get(name))
    registry._pseudoprincipals.clear()
    registry._pseudoprincipals.update(generators)


@pytest.mark.parametrize(
    ("drafted", "habitat"),
    [
        (town.Citizen, town),
        (court.Party, court),
        (lending.Reader, lending),
        (studio.Artist, studio),
        (shop.Customer, shop),
    ],
    indirect=["drafted"],
)
def test_everybody_returns_to_the_byte(drafted: str, habitat: Any) -> None:
    """Two people leave and return, in each order of both; what waits for the other one comes with a second reveal."""
    principal = habitat.MODELS[0]
    people = [Person.registered(made(principal, [None], number)) for number in range(3)]
    users = [person.user for person in people]
    for number, model in itertools.product(range(6), habitat.MODELS[1:]):
        if not (model is town.Profile or (model._meta.pk.is_relation and number >= len(users))):
            made(model, users, number)
    ContentType.objects.get_for_models(*apps.get_models(include_auto_created=True))
    before = application_dump()
    for out, back in itertools.product(itertools.permutations(people[:2]), repeat=2):
        receipts = {person.user.pk: person.disguise(drafted) for person in out}
        assert not principal._base_manager.filter(pk__in=receipts).exists()
        while receipts:
            done = [
                pk
                for pk, receipt in receipts.items()
                if next(p for p in back if p.user.pk == pk).reveal(receipt).complete
            ]
            assert done, "somebody waits for nobody"
            receipts = {pk: receipt for pk, receipt in receipts.items() if pk not in done}
        assert application_dump() == before
