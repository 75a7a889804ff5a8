"""Owners by another column than the primary key: foreign keys with ``to_field``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import Q

import edna
from edna import Decorrelate, Held, Modify, Reason, Remove, placeholders
from edna.testing import application_dump
from tests.support import Student, edna_dump, statements

pytestmark = pytest.mark.django_db

Enrol = Callable[..., Student]


@pytest.fixture
def ada(schemas: Any, enrolled: Enrol) -> Student:
    return enrolled(schemas.Citizen, email="ada@example.org", passport="A1")


@pytest.fixture
def bob(schemas: Any, enrolled: Enrol) -> Student:
    return enrolled(schemas.Citizen, email="bob@example.org", passport="B2")


@pytest.fixture
def town(schemas: Any, ada: Student, bob: Student) -> Any:
    for author, second in ((ada, bob), (bob, ada), (ada, None), (bob, None)):
        petition = schemas.Petition.objects.create(
            author=author.user, second=second and second.user, text=f"of {author.user.email}"
        )
        schemas.Stamp.objects.create(petition=petition, place="town hall")
    for student in (ada, bob):
        schemas.Visa.objects.create(holder=student.user, country=student.user.passport)
    return schemas


def leaving(models: Any) -> list[Any]:
    return [
        Remove(models.Petition, owner="author"),
        Remove(models.Stamp, owner="petition__author"),
        Remove(models.Visa, owner="holder"),
        Remove(models.Citizen),
    ]


def test_leaving_and_returning(town: Any, ada: Student, bob: Student, spec: Any) -> None:
    """A seconded petition of somebody else loses its second (SET_NULL) and gets it back."""
    before, tables = application_dump(), edna_dump()
    receipt = ada.disguise(spec("leave", *leaving(town)))
    assert set(town.Petition.objects.values_list("author", "second")) == {("bob@example.org", None)}
    assert town.Stamp.objects.count() == 2
    assert town.Visa.objects.count() == 1
    assert ada.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


def test_anonymising_writes_the_pseudoprincipals_column(town: Any, ada: Student, spec: Any) -> None:
    before, tables = application_dump(), edna_dump()
    name = spec(
        "anonymise",
        Decorrelate(town.Petition, owner="author"),
        Decorrelate(town.Petition, owner="second", group_by=edna.ALL),
        Decorrelate(town.Visa, owner="holder"),
    )
    receipt = ada.disguise(name)
    assert town.Citizen.objects.count() == 2 + 2 + 1 + 1
    owners = set(town.Petition.objects.values_list("author__email", "second__email"))
    assert not any("ada@example.org" in pair for pair in owners)
    assert town.Visa.objects.get(country="A1").holder.passport != "A1"
    assert ada.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


def test_modifying(town: Any, ada: Student, spec: Any) -> None:
    before, tables = application_dump(), edna_dump()
    name = spec(
        "redact",
        Modify(town.Petition, owner="author", set={"text": ""}),
        Modify(town.Stamp, owner="petition__author", where=Q(place="town hall"), set={"place": "somewhere"}),
    )
    receipt = ada.disguise(name)
    assert town.Petition.objects.filter(text="").count() == 2
    assert town.Stamp.objects.filter(place="somewhere").count() == 2
    assert ada.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.parametrize("first", [0, 1])
def test_everybody_twice_and_then_leaving(town: Any, ada: Student, bob: Student, spec: Any, first: int) -> None:
    """Composition: what the pseudoprincipals own is found by their columns, too."""
    before, tables = application_dump(), edna_dump()
    anonymise = spec("anonymise", Decorrelate(town.Petition, owner="author"), Decorrelate(town.Visa, owner="holder"))
    leave = spec("leave", *leaving(town))
    for _ in range(2):
        edna.disguise_all(anonymise)
    assert not town.Petition.objects.filter(author__in=["ada@example.org", "bob@example.org"]).exists()
    ada.disguise(leave, with_key=True)
    assert set(town.Petition.objects.values_list("text", flat=True)) == {"of bob@example.org"}
    assert town.Visa.objects.count() == 1
    for student in ((ada, bob), (bob, ada))[first]:
        student.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.parametrize("policy", ["restore", "delete", "retain"])
def test_what_came_to_a_pseudoprincipal_meanwhile(town: Any, ada: Student, spec: Any, policy: str) -> None:
    before = application_dump()
    name = spec(
        "anonymise",
        Decorrelate(town.Petition, owner="author", group_by=edna.ALL),
        references={"schemas.Petition.author": policy},
    )
    receipt = ada.disguise(name)
    somebody = town.Petition.objects.filter(text="of ada@example.org").first().author
    new = town.Petition.objects.create(author=somebody, text="new")

    assert ada.reveal(receipt).complete

    owners = list(town.Petition.objects.filter(pk=new.pk).values_list("author", flat=True))
    assert owners == {"restore": ["ada@example.org"], "delete": [], "retain": [somebody.email]}[policy]
    assert town.Citizen.objects.filter(pk=somebody.pk).exists() == (policy == "retain")
    town.Petition.objects.filter(pk=new.pk).delete()
    town.Citizen.objects.filter(pk=somebody.pk).delete()
    assert application_dump() == before


def test_a_reference_that_cannot_move_stays_with_the_pseudoprincipal(town: Any, ada: Student, spec: Any) -> None:
    """The visa is one to one: the owner has another one by now."""
    receipt = ada.disguise(spec("anonymise", Decorrelate(town.Visa, owner="holder")))
    visa = town.Visa.objects.get(country="A1")
    somebody = visa.holder
    other = town.Visa.objects.create(holder=ada.user, country="new")
    assert ada.reveal(receipt).held == [Held("schemas.visa", visa.pk, Reason.UNIQUE_TAKEN, "holder")]
    assert town.Visa.objects.get(pk=visa.pk).holder == somebody
    other.delete()
    assert ada.reveal(receipt).complete
    assert not town.Citizen.objects.filter(pk=somebody.pk).exists()


def test_speaking_as_the_pseudoprincipal(town: Any, ada: Student, spec: Any) -> None:
    ada.disguise(spec("anonymise", Decorrelate(town.Visa, owner="holder")))
    visa = town.Visa.objects.get(country="A1")
    with ada.unlock() as unlocked:
        assert edna.speak_as(unlocked, visa) == visa.holder


def test_what_is_foreseen(town: Any, ada: Student, spec: Any) -> None:
    name = spec("anonymise", Decorrelate(town.Petition, owner="author"), Remove(town.Visa, owner="holder"))
    plan = edna.plan(name, ada.user)
    assert {table.model: table.rows for table in plan.tables} == {"schemas.petition": 2, "schemas.visa": 1}
    assert plan.pseudoprincipals == 2
    assert edna.plan_all(name).rows == 6
    unregistered = town.Citizen.objects.create(email="cat@example.org", passport="C3")
    town.Visa.objects.create(holder=unregistered, country="C3")
    with pytest.raises(edna.errors.UnregisteredOwners):
        edna.disguise_all(name)


def test_what_others_refer_to_changes_when_they_no_longer_do(town: Any, ada: Student, spec: Any) -> None:
    """Steps are done in the order written, although one statement could change both columns of the account."""
    before, tables = application_dump(), edna_dump()
    name = spec(
        "hide",
        Decorrelate(town.Visa, owner="holder"),
        Modify(town.Citizen, set={"passport": placeholders.random_string()}),
        Decorrelate(town.Petition, owner=["author", "second"]),
        Modify(town.Citizen, set={"email": placeholders.random_email()}),
    )
    receipt = ada.disguise(name)
    now = town.Citizen.objects.get(pk=ada.user.pk)
    assert (now.passport, now.email) != ("A1", "ada@example.org")
    assert not town.Petition.objects.filter(author__in=["ada@example.org", now.email]).exists()
    assert ada.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


def test_it_takes_as_many_statements_for_many_rows_as_for_few(schemas: Any, enrolled: Enrol, spec: Any) -> None:
    name = spec("anonymise", Decorrelate(schemas.Petition, owner="author"))
    seen = set()
    for number in (10, 300):
        student = enrolled(schemas.Citizen, email=f"{number}@example.org", passport=str(number))
        schemas.Petition.objects.bulk_create(schemas.Petition(author=student.user, text=str(n)) for n in range(number))
        with student.unlock() as unlocked:
            going = len(statements(lambda student=student: student.disguise(name)))
            [entry] = student.history()
            coming = len(statements(lambda unlocked=unlocked, receipt=entry.receipt: edna.reveal(receipt, unlocked)))
        assert schemas.Petition.objects.filter(author=student.user.email).count() == number
        seen.add((going, coming))
    assert len(seen) == 1, seen
