"""Columns that compute themselves, constraints of every kind, odd names, rows that managers hide."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet

import edna
from edna import Decorrelate, Held, Modify, Reason, Remove, placeholders
from edna.testing import application_dump
from tests.support import Student, edna_dump, execute

pytestmark = pytest.mark.django_db

Enrol = Callable[..., Student]

PAINTING = "schemas.painting"


@pytest.fixture
def ada(schemas: Any, enrolled: Enrol) -> Student:
    return enrolled(schemas.Painter, name="Ada")


@pytest.fixture
def bob(schemas: Any, enrolled: Enrol) -> Student:
    return enrolled(schemas.Painter, name="Bob")


@pytest.fixture
def gallery(schemas: Any, ada: Student, bob: Student) -> Any:
    for student in (ada, bob):
        for number in range(4):
            schemas.Painting.objects.create(
                owner=student.user,
                title=f"No. {number} of {student.user.name}" if number % 2 else f"Untitled {student.user.name}",
                wall=f"Wall {number} of {student.user.name}" if number else "",
                hidden=number % 2 == 0,
                width=10 + number,
                height=20,
                colour=schemas.Colour(number, 128, 255) if number else None,
            )
        schemas.Sketch.objects.create(owner=student.user, text="a line")
    # Long ago: what a disguise must not touch.
    paintings(schemas).update(changed_at=datetime.datetime(2001, 2, 3, 4, 5, 6, 7, tzinfo=datetime.UTC))
    return schemas


def paintings(models: Any) -> Any:
    """All of them: the model's managers hide some."""
    return QuerySet(models.Painting)


def identical(student: Student, receipt: Any, before: Any, tables: Any) -> None:
    outcome = student.reveal(receipt)
    assert outcome.complete, outcome
    assert application_dump() == before
    assert edna_dump() == tables


def leaving(models: Any) -> list[Any]:
    return [
        Remove(models.Painter),
        Remove(models.Painting, owner="owner"),
        Remove(models.Sketch, owner="owner"),
        Remove(models.Place, owner="owner"),
    ]


def test_hidden_rows_odd_names_and_unmanaged_tables_go_and_come_back(gallery: Any, ada: Student, spec: Any) -> None:
    before, tables = application_dump(), edna_dump()
    receipt = ada.disguise(spec("leave", *leaving(gallery)))
    assert paintings(gallery).count() == 4
    assert gallery.Sketch.objects.count() == 1
    identical(ada, receipt, before, tables)


def test_generated_columns_follow_and_automatic_times_stay(gallery: Any, ada: Student, spec: Any) -> None:
    before, tables = application_dump(), edna_dump()
    mine = paintings(gallery).filter(owner=ada.user)
    times = set(mine.values_list("pk", "changed_at", "made_at"))
    values = {"height": 2, "title": placeholders.random_string()}
    receipt = ada.disguise(spec("shrink", Modify(gallery.Painting, owner="owner", set=values)))
    assert set(mine.values_list("area", flat=True)) == {20, 22, 24, 26}
    assert set(mine.values_list("pk", "changed_at", "made_at")) == times
    identical(ada, receipt, before, tables)


def test_custom_columns_get_and_give_python_values(gallery: Any, ada: Student, spec: Any) -> None:
    before, tables = application_dump(), edna_dump()
    name = spec("paint", Modify(gallery.Painting, owner="owner", set={"colour": gallery.Colour(1, 2, 3)}))
    receipt = ada.disguise(name)
    assert set(paintings(gallery).filter(owner=ada.user).values_list("colour", flat=True)) == {(1, 2, 3)}
    identical(ada, receipt, before, tables)


def test_decorrelating_hidden_rows(gallery: Any, ada: Student, spec: Any) -> None:
    before, tables = application_dump(), edna_dump()
    name = spec("anonymise", Decorrelate(gallery.Painting, owner="owner"), Decorrelate(gallery.Sketch, owner="owner"))
    receipt = ada.disguise(name)
    assert not paintings(gallery).filter(owner=ada.user).exists()
    assert not gallery.Sketch.objects.filter(owner=ada.user).exists()
    assert gallery.Painter.objects.count() == 2 + 4 + 1
    identical(ada, receipt, before, tables)


def test_hidden_rows_that_came_to_a_pseudoprincipal_meanwhile(gallery: Any, ada: Student, spec: Any) -> None:
    name = spec("anonymise", Decorrelate(gallery.Sketch, owner="owner"))
    receipt = ada.disguise(name)
    somebody = gallery.Sketch.objects.exclude(owner__name="Bob").get().owner
    new = gallery.Painting.objects.create(owner=somebody, title="new", hidden=True, width=1, height=1)
    assert ada.reveal(receipt).complete
    assert paintings(gallery).get(pk=new.pk).owner == ada.user
    assert gallery.Painter.objects.count() == 2


def test_a_placeholder_against_a_check_constraint_is_refused_as_a_whole(gallery: Any, ada: Student, spec: Any) -> None:
    before, tables = application_dump(), edna_dump()
    with pytest.raises(edna.errors.ConstraintRefused):
        ada.disguise(spec("vanish", Modify(gallery.Painting, owner="owner", set={"width": 0})))
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.only_on("postgresql")
def test_a_check_constraint_in_the_way_of_a_reveal(gallery: Any, ada: Student, spec: Any) -> None:
    """Added to the table while the rows were away: those that it forbids are held."""
    name = spec("leave", Remove(gallery.Painting, owner="owner"))
    before = application_dump()
    receipt = ada.disguise(name)
    paintings(gallery).filter(width=13).update(width=12)  # of the others: they are measured, too
    execute("SET CONSTRAINTS ALL IMMEDIATE")  # what is still to be checked would be in the way
    execute("ALTER TABLE schemas_painting ADD CONSTRAINT schemas_narrow CHECK (width < 13)")
    outcome = ada.reveal(receipt)
    assert {(held.reason, held.field) for held in outcome.held} == {(Reason.CONSTRAINT, None)}
    assert outcome.restored == {PAINTING: 3}
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute("ALTER TABLE schemas_painting DROP CONSTRAINT schemas_narrow")
    paintings(gallery).filter(width=12, title__endswith="3 of Bob").update(width=13)
    assert ada.reveal(receipt).complete
    assert application_dump() == before


class TestConditionalUniqueness:
    """One painting of a title is shown; hidden ones may be called the same. MariaDB knows no such constraint."""

    @pytest.fixture(autouse=True)
    def supported(self, db: None) -> None:
        if not connection.features.supports_partial_indexes:
            pytest.skip("no conditional constraints here")

    def test_a_taken_title_names_the_field_and_can_be_overridden(
        self, gallery: Any, ada: Student, bob: Student, spec: Any
    ) -> None:
        shown = gallery.Painting.objects.get(title="No. 1 of Ada")
        receipt = ada.disguise(spec("leave", *leaving(gallery)))
        gallery.Painting.objects.create(owner=bob.user, title=shown.title, width=1, height=1)

        outcome = ada.reveal(receipt)

        assert outcome.held == [Held(PAINTING, shown.pk, Reason.UNIQUE_TAKEN, "title")]
        assert ada.reveal(receipt, overrides={"schemas.Painting.title": "Opus 1"}).complete
        assert gallery.Painting.objects.get(pk=shown.pk).title == "Opus 1"

    def test_a_hidden_painting_of_the_title_is_in_nobodys_way(
        self, gallery: Any, ada: Student, bob: Student, spec: Any
    ) -> None:
        receipt = ada.disguise(spec("leave", *leaving(gallery)))
        gallery.Painting.objects.create(owner=bob.user, title="No. 1 of Ada", width=1, height=1, hidden=True)
        assert ada.reveal(receipt).complete

    def test_a_title_that_was_modified_and_taken(self, gallery: Any, ada: Student, bob: Student, spec: Any) -> None:
        shown = gallery.Painting.objects.get(title="No. 1 of Ada")
        receipt = ada.disguise(
            spec("untitle", Modify(gallery.Painting, owner="owner", set={"title": placeholders.random_string()}))
        )
        gallery.Painting.objects.create(owner=bob.user, title=shown.title, width=1, height=1)
        outcome = ada.reveal(receipt)
        assert outcome.held == [Held(PAINTING, shown.pk, Reason.UNIQUE_TAKEN, "title")]
        assert outcome.restored == {PAINTING: 3}
        assert ada.reveal(receipt, overrides={"schemas.painting.title": "Opus 1"}).complete


def test_a_constraint_on_expressions_names_a_field(gallery: Any, ada: Student, bob: Student, spec: Any) -> None:
    """The same wall in other letters, and the same size."""
    if not connection.features.supports_expression_indexes or not connection.features.supports_partial_indexes:
        pytest.skip("no such constraints here")
    painting = gallery.Painting.objects.get(wall="Wall 1 of Ada")
    receipt = ada.disguise(spec("leave", *leaving(gallery)))
    gallery.Painting.objects.create(
        owner=bob.user, title="other", wall="WALL 1 OF ADA", width=painting.width, height=painting.height
    )
    outcome = ada.reveal(receipt)
    assert outcome.held == [Held(PAINTING, painting.pk, Reason.UNIQUE_TAKEN, "wall")]
    with ada.unlock() as unlocked:
        [waiting] = edna.waiting(unlocked)
    assert [(each.pk, each.reason, each.field) for each in waiting.held] == [
        (painting.pk, Reason.UNIQUE_TAKEN, "wall")
    ], "foreseen as a reveal would find it"
    assert ada.reveal(receipt, overrides={"schemas.painting.wall": "elsewhere"}).complete
    assert gallery.Painting.objects.get(pk=painting.pk).wall == "elsewhere"


class TestDeferredUniqueness:
    """PostgreSQL compares places at the end of the transaction; elsewhere Django makes no such constraint."""

    @pytest.fixture(autouse=True)
    def supported(self, db: None) -> None:
        if not connection.features.supports_deferrable_unique_constraints:
            pytest.skip("no deferrable constraints here")

    def test_rows_go_and_come_back(self, schemas: Any, ada: Student, spec: Any) -> None:
        schemas.Place.objects.bulk_create(schemas.Place(owner=ada.user, position=n) for n in range(5))
        before, tables = application_dump(), edna_dump()
        receipt = ada.disguise(spec("places", Remove(schemas.Place, owner="owner")))
        identical(ada, receipt, before, tables)

    def test_a_taken_place_holds_its_row_only(self, schemas: Any, ada: Student, bob: Student, spec: Any) -> None:
        """And not the whole reveal, when it is committed."""
        places = schemas.Place.objects.bulk_create(schemas.Place(owner=ada.user, position=n) for n in range(5))
        receipt = ada.disguise(spec("places", Remove(schemas.Place, owner="owner")))
        schemas.Place.objects.create(owner=bob.user, position=3)
        outcome = ada.reveal(receipt)
        assert outcome.held == [Held("schemas.place", places[3].pk, Reason.UNIQUE_TAKEN, "position")]
        assert outcome.restored == {"schemas.place": 4}
        connection.check_constraints()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        assert ada.reveal(receipt, overrides={"schemas.place.position": 33}).complete

    def test_places_that_were_swapped_come_back(self, schemas: Any, ada: Student, bob: Student, spec: Any) -> None:
        """Two rows exchange their values: taken one by one, each is in the way of the other."""
        places = schemas.Place.objects.bulk_create(schemas.Place(owner=ada.user, position=n) for n in range(2))
        numbers = iter((1, 0))
        before, tables = application_dump(), edna_dump()
        swap = Modify(schemas.Place, owner="owner", set={"position": placeholders.call(lambda: next(numbers))})
        receipt = ada.disguise(spec("swap", swap))
        assert [schemas.Place.objects.get(pk=place.pk).position for place in places] == [1, 0]
        identical(ada, receipt, before, tables)


def test_the_database_still_watches(gallery: Any, ada: Student) -> None:
    """The constraints above are really there."""
    with pytest.raises(IntegrityError), transaction.atomic():
        execute("UPDATE schemas_painting SET width = 0")
