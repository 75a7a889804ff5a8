"""Every way to refer to a row: all kinds of ``on_delete``, many-to-many tables, generic keys, proxies, circles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

import edna
from edna import Decorrelate, Held, Keep, Modify, Reason, Remove, placeholders
from edna.db.rows import table_of
from edna.engine.revealing.constraints import refuses_at_once
from edna.errors import DanglingReferences
from edna.testing import application_dump
from tests.support import Student, cut_into_chunks, edna_dump

pytestmark = pytest.mark.django_db

Enrol = Callable[..., Student]

REFERRING = ("Contract", "Booking", "Review", "Credit", "Quote", "Trace")


@pytest.fixture
def ada(schemas: Any, enrolled: Enrol) -> Student:
    return enrolled(schemas.Actor, name="Ada")


@pytest.fixture
def bob(schemas: Any, enrolled: Enrol) -> Student:
    return enrolled(schemas.Actor, name="Bob")


@pytest.fixture
def theatre(schemas: Any, ada: Student, bob: Student) -> Any:
    """Everything in both directions."""
    schemas.sentinel()
    for author, other in ((ada, bob), (bob, ada)):
        star = schemas.Star.objects.get(pk=author.user.pk)
        play = schemas.Play.objects.create(author=star, title=f"by {author.user.name}")
        for actor in (author, other):
            schemas.Part.objects.create(play=play, actor_id=actor.user.pk, role=f"{actor.user.name} themselves")
            play.fans.add(actor.user)
        play.marks.create(text=f"on {play.title}")
        schemas.Contract.objects.create(actor=author.user, pay=100)
        schemas.Booking.objects.create(actor=author.user, room=101)
        schemas.Trace.objects.create(actor=author.user, text="was here")
        for model in (schemas.Review, schemas.Credit, schemas.Quote):
            model.objects.create(actor=author.user, text=f"of {author.user.name}")
        company = schemas.Company.objects.create(owner=author.user, name=f"of {author.user.name}")
        shows = [schemas.Show.objects.create(company=company, title=f"night {n}") for n in range(3)]
        for show, sequel in zip(shows, (shows[1], shows[2], shows[0]), strict=True):
            show.sequel = sequel
            show.save()
        company.first_show = shows[0]
        company.save()
    return schemas


def leaving(models: Any, *, without: tuple[str, ...] = ()) -> list[Any]:
    steps = {
        "Play": Remove(models.Play, owner="author"),
        "fans": Remove(models.Play.fans.through, owner="play__author"),
        "favourites": Remove(models.Play.fans.through, owner="actor"),
        "Part": Remove(models.Part, owner="play__author"),
        "parts": Remove(models.Part, owner="actor"),
        "Mark": Remove(models.Mark, owner="play__author"),
        "Contract": Remove(models.Contract, owner="actor"),
        "Booking": Remove(models.Booking, owner="actor"),
        "Trace": Remove(models.Trace, owner="actor"),
        "Company": Remove(models.Company, owner="owner"),
        "Show": Remove(models.Show, owner="company__owner"),
        "Left": Remove(models.Left, owner="owner"),
        "Right": Remove(models.Right, owner="left__owner"),
        "Actor": Remove(models.Actor),
    }
    return [step for name, step in steps.items() if name not in without]


def identical(student: Student, receipt: Any, before: Any, tables: Any) -> None:
    outcome = student.reveal(receipt)
    assert outcome.complete, outcome
    assert application_dump() == before
    assert edna_dump() == tables


def test_leaving_takes_everything_along_and_brings_it_back(theatre: Any, ada: Student, bob: Student, spec: Any) -> None:
    """What on_delete says is done to what stays: emptied, given its default, given to the sentinel."""
    before, tables = application_dump(), edna_dump()
    receipt = ada.disguise(spec("leave", *leaving(theatre)))

    for name in ("Play", "Contract", "Booking", "Trace", "Company"):
        assert getattr(theatre, name).objects.count() == 1, name
    assert (theatre.Part.objects.count(), theatre.Play.fans.through.objects.count()) == (1, 1)
    assert list(theatre.Mark.objects.values_list("text", flat=True)) == ["on by Bob"]
    assert set(theatre.Review.objects.values_list("actor__name", "text")) == {("Bob", "of Bob"), (None, "of Ada")}
    assert set(theatre.Credit.objects.values_list("actor__name", "text")) == {("Bob", "of Bob"), (None, "of Ada")}
    assert set(theatre.Quote.objects.values_list("actor__name", "text")) == {("Bob", "of Bob"), ("sentinel", "of Ada")}
    identical(ada, receipt, before, tables)


def test_both_leave_and_return_in_any_order(theatre: Any, ada: Student, bob: Student, spec: Any) -> None:
    before, tables = application_dump(), edna_dump()
    name = spec("leave", *leaving(theatre))
    for order in ((ada, bob), (bob, ada)):
        receipts = [(student, student.disguise(name)) for student in order]
        for student, receipt in receipts:
            student.reveal(receipt)
        for student, _ in receipts:
            student.reveal_everything()
        assert application_dump() == before
        assert edna_dump() == tables


@pytest.mark.parametrize("name", REFERRING)
@pytest.mark.parametrize("kind", ["remove", "decorrelate"])
def test_a_reference_of_every_kind_can_be_covered(
    theatre: Any, ada: Student, bob: Student, spec: Any, name: str, kind: str
) -> None:
    """The step decides; what on_delete says would be done is not."""
    before, tables = application_dump(), edna_dump()
    model = getattr(theatre, name)
    step = (Remove if kind == "remove" else Decorrelate)(model, owner="actor")
    receipt = ada.disguise(spec("leave", *leaving(theatre, without=(name,)), step))
    assert model.objects.count() == (1 if kind == "remove" else 2)
    assert not model.objects.filter(actor__isnull=True).exists()
    assert not model.objects.filter(actor__name="sentinel").exists()
    identical(ada, receipt, before, tables)


@pytest.mark.parametrize("name", ["Contract", "Booking", "Trace"])
def test_a_reference_that_is_not_covered_is_refused(theatre: Any, ada: Student, spec: Any, name: str) -> None:
    with pytest.raises(DanglingReferences, match=rf"{name}\.actor"):
        ada.disguise(spec("leave", *leaving(theatre, without=(name,))))


def test_a_reference_without_a_constraint_may_be_kept(theatre: Any, ada: Student, spec: Any) -> None:
    before, tables = application_dump(), edna_dump()
    receipt = ada.disguise(spec("leave", *leaving(theatre, without=("Trace",)), Keep(theatre.Trace, "actor")))
    assert theatre.Trace.objects.filter(actor_id=ada.user.pk).count() == 1
    identical(ada, receipt, before, tables)


def test_what_the_sentinel_was_given_and_lost_again_is_held(
    theatre: Any, ada: Student, bob: Student, spec: Any
) -> None:
    receipt = ada.disguise(spec("leave", *leaving(theatre)))
    quote = theatre.Quote.objects.get(text="of Ada")
    theatre.Quote.objects.filter(pk=quote.pk).update(actor=bob.user)
    outcome = ada.reveal(receipt)
    assert outcome.held == [Held("schemas.quote", quote.pk, Reason.CHANGED, "actor")]


@pytest.mark.parametrize("name", [*REFERRING, "Part"])
@pytest.mark.parametrize("policy", ["restore", "delete", "retain"])
def test_what_came_to_a_pseudoprincipal_meanwhile(
    theatre: Any, ada: Student, spec: Any, name: str, policy: str
) -> None:
    """Whatever on_delete says, the disguise's own word counts."""
    before = application_dump()
    references = {f"schemas.{name}.actor": policy}
    receipt = ada.disguise(
        spec("anonymise", Decorrelate(theatre.Play, owner="author", group_by=edna.ALL), references=references)
    )
    play = theatre.Play.objects.get(title="by Ada")
    somebody = play.author
    model = getattr(theatre, name)
    values = {"Contract": {"pay": 1}, "Booking": {"room": 1}, "Part": {"play": play, "role": "new"}}
    new = model.objects.create(actor_id=somebody.pk, **values.get(name, {"text": "new"}))

    assert ada.reveal(receipt).complete

    owners = list(model.objects.filter(pk=new.pk).values_list("actor", flat=True))
    assert owners == {"restore": [ada.user.pk], "delete": [], "retain": [somebody.pk]}[policy]
    assert theatre.Actor.objects.filter(pk=somebody.pk).exists() == (policy == "retain")
    model.objects.filter(pk=new.pk).delete()
    theatre.Actor.objects.filter(pk=somebody.pk).delete()
    assert application_dump() == before


class TestProxies:
    def test_a_principal_may_be_given_as_a_proxy(self, theatre: Any, ada: Student, spec: Any) -> None:
        before, tables = application_dump(), edna_dump()
        star = theatre.Star.objects.get(pk=ada.user.pk)
        assert edna.is_registered(star)
        receipt = edna.disguise(spec("leave", *leaving(theatre)), star)
        identical(ada, receipt, before, tables)

    def test_a_step_on_a_proxy_is_a_step_on_its_table(
        self, theatre: Any, ada: Student, bob: Student, spec: Any
    ) -> None:
        """All rows of it: the proxy's manager hides every one."""
        assert theatre.Comedy.objects.count() == 0
        before, tables = application_dump(), edna_dump()
        steps = leaving(theatre, without=("Play", "Actor"))
        receipt = ada.disguise(spec("leave", *steps, Remove(theatre.Comedy, owner="author"), Remove(theatre.Star)))
        assert list(theatre.Play.objects.values_list("author__name", flat=True)) == ["Bob"]
        identical(ada, receipt, before, tables)

    def test_modify_and_decorrelate_by_a_proxy(self, theatre: Any, ada: Student, spec: Any) -> None:
        before, tables = application_dump(), edna_dump()
        receipt = ada.disguise(
            spec(
                "proxies",
                Modify(theatre.Comedy, owner="author", set={"title": "[gone]"}),
                Decorrelate(theatre.Comedy, owner="author"),
                Modify(theatre.Star, set={"name": placeholders.random_string()}),
                Decorrelate(theatre.Part, owner="actor"),
            )
        )
        assert theatre.Play.objects.filter(title="[gone]").exclude(author=ada.user).count() == 1
        assert theatre.Part.objects.filter(actor=ada.user.pk).count() == 0
        assert theatre.Actor.objects.get(pk=ada.user.pk).name != "Ada"
        identical(ada, receipt, before, tables)


class TestManyToMany:
    def test_hidden_and_explicit_tables_are_anonymised(self, theatre: Any, ada: Student, spec: Any) -> None:
        before, tables = application_dump(), edna_dump()
        through = theatre.Play.fans.through
        name = spec("fans", Decorrelate(through, owner="actor"), Decorrelate(theatre.Part, owner="actor"))
        receipt = ada.disguise(name)
        assert not ada.user.favourites.exists()
        assert not ada.user.played_in.exists()
        assert through.objects.count() == 4
        identical(ada, receipt, before, tables)

    def test_a_fan_of_their_own_removes_by_either_side(self, theatre: Any, ada: Student, spec: Any) -> None:
        before, tables = application_dump(), edna_dump()
        through = theatre.Play.fans.through
        receipt = ada.disguise(spec("fans", Remove(through, owner="play__author"), Remove(through, owner="actor")))
        assert through.objects.count() == 1
        identical(ada, receipt, before, tables)


def test_generic_keys_are_followed_along_a_generic_relation(theatre: Any, ada: Student, spec: Any) -> None:
    """Rows of another model with the same number are not meant."""
    company = theatre.Company.objects.get(owner=ada.user)
    play = theatre.Play.objects.get(author=ada.user)
    other = theatre.Mark.objects.create(on=company, text="on the company")
    theatre.Mark.objects.filter(pk=other.pk).update(object_id=play.pk)
    before, tables = application_dump(), edna_dump()
    receipt = ada.disguise(
        spec(
            "marks",
            Modify(theatre.Mark, owner="play__author", set={"text": "[gone]"}),
            Remove(theatre.Part, owner="play__author"),
        )
    )
    assert list(theatre.Mark.objects.filter(text="[gone]").values_list("object_id", flat=True)) == [play.pk]
    theatre.Mark.objects.get(pk=other.pk, text="on the company")
    identical(ada, receipt, before, tables)


def test_a_generic_key_waits_for_the_row_that_it_means(theatre: Any, ada: Student, bob: Student, spec: Any) -> None:
    """Somebody has the play's number by now: Ada's mark must not appear on their play."""
    before, tables = application_dump(), edna_dump()
    play = theatre.Play.objects.get(author=ada.user)
    mark = theatre.Mark.objects.get(play=play)
    receipt = ada.disguise(spec("leave", *leaving(theatre)))
    squatter = theatre.Play.objects.create(pk=play.pk, author=bob.user, title="mine")
    held = {(h.model, h.pk, h.reason, h.field) for h in ada.reveal(receipt).held}
    assert ("schemas.play", play.pk, Reason.ROW_EXISTS, None) in held
    assert ("schemas.mark", mark.pk, Reason.REFERENCE_MISSING, "object_id") in held
    assert not squatter.marks.exists()
    squatter.delete()
    identical(ada, receipt, before, tables)


def test_a_generic_key_to_what_another_disguise_removed(theatre: Any, ada: Student, spec: Any) -> None:
    """The mark goes first, then the play: if the mark's disguise is revealed first, it waits with the play."""
    before, tables = application_dump(), edna_dump()
    marks = ada.disguise(spec("marks", Remove(theatre.Mark, owner="play__author")))
    leave = ada.disguise(spec("leave", *leaving(theatre)))
    outcome = ada.reveal(marks)
    assert (outcome.restored, outcome.deferred, outcome.held) == ({}, {"schemas.mark": 1}, [])
    identical(ada, leave, before, tables)


class TestCircles:
    """Company and show refer to each other; so do the shows among themselves."""

    @pytest.mark.parametrize("turned", [False, True])
    def test_go_and_come_back(self, theatre: Any, ada: Student, spec: Any, turned: bool) -> None:
        before, tables = application_dump(), edna_dump()
        steps = [Remove(theatre.Company, owner="owner"), Remove(theatre.Show, owner="company__owner")]
        receipt = ada.disguise(spec("close", *(steps[::-1] if turned else steps)))
        assert (theatre.Company.objects.count(), theatre.Show.objects.count()) == (1, 3)
        identical(ada, receipt, before, tables)

    def test_what_is_in_the_way_of_one_half_holds_back_what_depends_on_it(
        self, theatre: Any, ada: Student, bob: Student, spec: Any
    ) -> None:
        """Somebody has the key of the first show: the company comes back, and waits for its first show."""
        before, tables = application_dump(), edna_dump()
        company = theatre.Company.objects.get(owner=ada.user)
        first = company.first_show
        steps = [Remove(theatre.Company, owner="owner"), Remove(theatre.Show, owner="company__owner")]
        receipt = ada.disguise(spec("close", *steps))
        theirs = theatre.Company.objects.get(owner=bob.user)
        squatter = theatre.Show.objects.create(pk=first.pk, company=theirs, title="mine")

        outcome = ada.reveal(receipt)

        held = {(h.model, h.pk, h.reason, h.field) for h in outcome.held}
        assert ("schemas.show", first.pk, Reason.ROW_EXISTS, None) in held
        assert ("schemas.company", company.pk, Reason.REFERENCE_MISSING, "first_show") in held
        assert theatre.Company.objects.get(pk=theirs.pk).first_show.company == theirs
        connection.check_constraints()
        squatter.delete()
        assert ada.reveal(receipt).complete
        assert application_dump() == before
        assert edna_dump() == tables

    @pytest.mark.only_on("sqlite3", "postgresql")
    def test_that_no_row_can_leave_empty(self, theatre: Any, ada: Student, spec: Any) -> None:
        """Only a database that checks at the end takes such rows in the first place."""
        theatre.Left.objects.create(pk=1, owner=ada.user, right_id=2)
        theatre.Right.objects.create(pk=2, left_id=1, word="closed")
        before, tables = application_dump(), edna_dump()
        receipt = ada.disguise(
            spec("circle", Remove(theatre.Left, owner="owner"), Remove(theatre.Right, owner="left__owner"))
        )
        assert not theatre.Left.objects.exists()
        identical(ada, receipt, before, tables)

    @pytest.mark.only_on("sqlite3", "postgresql")
    def test_that_no_row_can_leave_empty_is_held_as_a_whole(
        self, theatre: Any, ada: Student, bob: Student, spec: Any
    ) -> None:
        for number, student in enumerate((ada, bob)):
            theatre.Left.objects.create(pk=number + 1, owner=student.user, right_id=number + 11, code="ab"[number])
            theatre.Right.objects.create(pk=number + 11, left_id=number + 1, word="closed")
        before, tables = application_dump(), edna_dump()
        receipt = ada.disguise(
            spec("circle", Remove(theatre.Left, owner="owner"), Remove(theatre.Right, owner="left__owner"))
        )
        theatre.Left.objects.create(pk=3, owner=bob.user, right_id=13, code="a")
        theatre.Right.objects.create(pk=13, left_id=3, word="mine")
        outcome = ada.reveal(receipt)
        held = {(h.model, h.pk, h.reason, h.field) for h in outcome.held}
        assert held == {
            ("schemas.left", 1, Reason.UNIQUE_TAKEN, "code"),
            ("schemas.right", 11, Reason.REFERENCE_MISSING, "left"),
        }
        assert outcome.restored == {}
        connection.check_constraints()
        theatre.Right.objects.get(pk=13).delete()
        assert ada.reveal(receipt).complete
        assert application_dump() == before
        assert edna_dump() == tables


@pytest.mark.only_on("mysql")
@pytest.mark.parametrize("supported", [True, False])
def test_what_the_database_does_not_look_at_is_looked_at(
    schemas: Any, monkeypatch: pytest.MonkeyPatch, supported: bool
) -> None:
    """A database without foreign keys refuses nothing."""
    monkeypatch.setattr(type(connection.features), "supports_foreign_keys", supported)
    assert refuses_at_once(table_of(schemas.Quote), using="default") is supported


@pytest.mark.parametrize("rows", [None, 1], ids=["whole", "chunks"])
def test_a_specification_gives_up_what_is_gone_and_nothing_that_waits(
    schemas: Any, enrolled: Enrol, spec: Any, rows: int | None
) -> None:
    """The animal is held, as somebody has its chip meanwhile; what was seen of it refers to it. It was given up for good, although the
    animal came back. Once the animal is given up, it goes as well."""
    ada, bob = (enrolled(schemas.Keeper, name=name) for name in ("Ada", "Bob"))
    animal = schemas.Animal.objects.create(keeper=ada.user, name="cat", chip="7")
    schemas.Sighting.objects.create(animal=animal, text="seen")
    before = application_dump()
    name = spec(
        "animals",
        Remove(schemas.Animal, owner="keeper"),
        Remove(schemas.Sighting, owner="animal__keeper"),
        accepts={"schemas.Sighting": ["reference_missing"]},
    )
    with cut_into_chunks(rows):
        for accept in (False, True):
            receipt = ada.disguise(name)
            squatter = schemas.Animal.objects.create(keeper=bob.user, name="squatter", chip="7")

            assert ada.reveal(receipt).accepted == {}

            if accept:
                with ada.unlock() as unlocked:
                    outcome = edna.reveal(
                        receipt, unlocked, accept=[Held("schemas.animal", animal.pk, Reason.UNIQUE_TAKEN)]
                    )
                assert (outcome.complete, outcome.accepted) == (True, {"schemas.animal": 1, "schemas.sighting": 1})
            else:
                squatter.delete()
                assert ada.reveal(receipt).complete
                assert application_dump() == before
