"""Multi-table inheritance: one object in several tables goes, changes and comes back as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import Q

import edna
from edna import Decorrelate, Held, Keep, Modify, Reason, Remove, placeholders
from edna.checks import terms
from edna.errors import DanglingReferences
from edna.testing import application_dump
from tests.support import Student, edna_dump, statements

pytestmark = pytest.mark.django_db

Enrol = Callable[..., Student]


def leaving(models: Any) -> list[Any]:
    return [
        Remove(models.Keeper),
        Remove(models.Animal, owner="keeper"),
        Remove(models.Sighting, owner="animal__keeper"),
        Decorrelate(models.Bird, owner="trainer"),
        Remove(models.Walker, owner="keeper"),
        Remove(models.Gate, owner="warden"),
    ]


@pytest.fixture
def ada(schemas: Any, enrolled: Enrol) -> Student:
    """A warden, and so a row in two tables."""
    keeper = schemas.Warden.objects.create(name="Ada", badge="007")
    key = edna.register_principal(keeper.keeper_ptr, identifier="Ada").secret_key
    assert key is not None
    return Student(keeper, key)


@pytest.fixture
def bob(schemas: Any, enrolled: Enrol) -> Student:
    return enrolled(schemas.Keeper, name="Bob")


def duck(models: Any, bird: Any, depth: int) -> Any:
    """The bird swims, too: a second child of one parent row."""
    swimmer = models.Swimmer(animal_ptr=bird.animal_ptr, depth=depth)
    swimmer.save_base(raw=True)
    return swimmer


@pytest.fixture
def zoo(schemas: Any, ada: Student, bob: Student) -> Any:
    """Each has an animal of every kind; each trains a bird of the other's."""
    for owner, other in ((ada.user, bob.user), (bob.user, ada.user)):
        keeper, trainer = (getattr(each, "keeper_ptr", each) for each in (owner, other))
        plain = schemas.Animal.objects.create(keeper=keeper, name=f"cat of {owner.name}", chip=f"chip of {owner.name}")
        bird = schemas.Bird.objects.create(keeper=keeper, name=f"duck of {owner.name}", trainer=trainer, wingspan=30)
        parrot = schemas.Parrot.objects.create(
            keeper=keeper, name=f"parrot of {owner.name}", trainer=keeper, wingspan=20, vocabulary="hello"
        )
        duck(schemas, bird, 3)
        for animal in (plain, bird, parrot):
            schemas.Sighting.objects.create(animal_id=animal.pk, text=f"saw {animal.name}")
        schemas.Walker.objects.create(keeper=keeper, legs=4)
        schemas.Frog.objects.create(keeper=keeper, legs=4, depth=2, colour="green")
    schemas.Diver.objects.create(depth=9)
    schemas.Gate.objects.create(warden=ada.user, name="north")
    return schemas


def animals(models: Any, **condition: Any) -> list[int]:
    """How many rows there are of an animal in each table."""
    tables = (models.Animal, models.Bird, models.Parrot, models.Swimmer)
    return [model.objects.filter(**condition).count() for model in tables]


def identical(student: Student, receipt: Any, before: Any, tables: Any) -> None:
    outcome = student.reveal(receipt)
    assert outcome.complete, outcome
    assert application_dump() == before
    assert edna_dump() == tables


class TestRemoval:
    def test_of_the_parent_takes_the_rows_of_its_children(
        self, zoo: Any, ada: Student, bob: Student, spec: Any
    ) -> None:
        """All of them: child, grandchild, and the second child of the same parent; and nobody else's."""
        before, tables = application_dump(), edna_dump()
        name = spec("leave", *leaving(zoo))
        others = animals(zoo, keeper=bob.user)

        receipt = ada.disguise(name)

        assert animals(zoo) == others == [3, 2, 1, 1]
        assert (zoo.Frog.objects.count(), zoo.Walker.objects.count(), zoo.Diver.objects.count()) == (1, 2, 2)
        assert set(zoo.Sighting.objects.values_list("animal__keeper", flat=True)) == {bob.user.pk}
        identical(ada, receipt, before, tables)

    def test_of_a_child_takes_the_parents_row(self, zoo: Any, ada: Student, bob: Student, spec: Any) -> None:
        """The owner is a column of the parent; the parent's row, which is the same animal, goes with the child's."""
        before, tables = application_dump(), edna_dump()
        name = spec("birds", Remove(zoo.Bird, owner="keeper"), Remove(zoo.Sighting, owner="animal__bird__keeper"))

        receipt = ada.disguise(name)

        assert animals(zoo, keeper=ada.user.pk) == [1, 0, 0, 0]
        assert animals(zoo, keeper=bob.user) == [3, 2, 1, 1]
        assert zoo.Sighting.objects.count() == 4
        identical(ada, receipt, before, tables)

    def test_by_an_owner_of_the_child(self, zoo: Any, ada: Student, bob: Student, spec: Any) -> None:
        """Bob's duck is Ada's by training."""
        before, tables = application_dump(), edna_dump()
        name = spec("trained", Remove(zoo.Bird, owner="trainer"), Remove(zoo.Sighting, owner="animal__bird__trainer"))

        receipt = ada.disguise(name)

        assert animals(zoo, keeper=ada.user.pk) == [2, 1, 0, 1]
        assert animals(zoo, keeper=bob.user) == [2, 1, 1, 0]
        identical(ada, receipt, before, tables)

    def test_with_a_condition_on_either_table(self, zoo: Any, ada: Student, spec: Any) -> None:
        before, tables = application_dump(), edna_dump()
        name = spec(
            "some",
            Remove(zoo.Parrot, owner="keeper", where=Q(wingspan__gt=10, vocabulary="hello", name__startswith="parrot")),
            Remove(zoo.Sighting, owner="animal__keeper"),
        )
        receipt = ada.disguise(name)
        assert animals(zoo, keeper=ada.user.pk) == [2, 1, 0, 1]
        identical(ada, receipt, before, tables)

    def test_of_an_object_with_two_parents(self, zoo: Any, ada: Student, spec: Any) -> None:
        """Whichever parent it is that has the owner, both rows go."""
        before, tables = application_dump(), edna_dump()
        for step in (Remove(zoo.Walker, owner="keeper"), Remove(zoo.Frog, owner="keeper")):
            receipt = ada.disguise(spec(f"frogs-{step.model.__name__.lower()}", step))
            assert (zoo.Frog.objects.count(), zoo.Diver.objects.count()) == (1, 2)
            identical(ada, receipt, before, tables)

    def test_of_a_principal_who_has_a_row_in_a_childs_table(self, zoo: Any, ada: Student, spec: Any) -> None:
        before, tables = application_dump(), edna_dump()
        receipt = ada.disguise(spec("leave", *leaving(zoo)))
        assert not zoo.Warden.objects.exists()
        assert not edna.is_registered(zoo.Keeper(pk=ada.user.pk))
        identical(ada, receipt, before, tables)
        assert edna.is_registered(zoo.Keeper(pk=ada.user.pk))

    def test_of_everybody_at_once(self, zoo: Any, ada: Student, bob: Student, spec: Any) -> None:
        before, tables = application_dump(), edna_dump()
        name = spec("animals", Remove(zoo.Animal, owner="keeper"), Remove(zoo.Sighting, owner="animal__keeper"))
        edna.disguise_all(name)
        assert animals(zoo) == [0, 0, 0, 0]
        for student in (bob, ada):
            student.reveal_everything()
        assert application_dump() == before
        assert edna_dump() == tables

    def test_is_refused_where_a_reference_to_any_of_the_tables_would_dangle(
        self, zoo: Any, ada: Student, spec: Any
    ) -> None:
        """Sightings point at the parent, and the step is on the child."""
        with pytest.raises(DanglingReferences, match=r"Sighting\.animal"):
            ada.disguise(spec("careless", Remove(zoo.Parrot, owner="keeper")))

    def test_an_unregistered_child_of_the_principal_needs_no_step(self, zoo: Any, spec: Any) -> None:
        """The warden's row is the keeper's: it is covered as part of them."""
        from edna import coverage, registry

        cls = registry.get(spec("leave", *leaving(zoo)))
        assert coverage.uncovered_relations(cls) == []

    def test_a_taken_unique_value_of_the_parent_holds_all_its_rows(
        self, zoo: Any, ada: Student, bob: Student, spec: Any
    ) -> None:
        """The child's row waits for the parent's; an override brings both back."""
        parrot = zoo.Parrot.objects.get(keeper=ada.user.pk)
        zoo.Animal.objects.filter(pk=parrot.pk).update(chip="taken")
        receipt = ada.disguise(spec("leave", *leaving(zoo)))
        squatter = zoo.Animal.objects.create(keeper=bob.user, name="squatter", chip="taken")

        held = {(h.model, h.pk, h.reason, h.field) for h in ada.reveal(receipt).held}

        assert ("schemas.animal", parrot.pk, Reason.UNIQUE_TAKEN, "chip") in held
        assert ("schemas.bird", parrot.pk, Reason.REFERENCE_MISSING, "animal_ptr") in held
        assert ("schemas.parrot", parrot.pk, Reason.REFERENCE_MISSING, "bird_ptr") in held
        assert zoo.Bird.objects.filter(keeper=ada.user.pk).count() == 1
        assert ada.reveal(receipt, overrides={"schemas.Animal.chip": "another"}).complete
        assert zoo.Parrot.objects.get(pk=parrot.pk).chip == "another"
        assert squatter.chip == "taken"

    def test_is_not_given_up_in_parts(self, zoo: Any, ada: Student, bob: Student, spec: Any) -> None:
        """A specification that accepts that what the child refers to is gone says nothing of its own parent, which is only held: the
        child was given up, and its parent came back later as half an object."""
        parrot = zoo.Parrot.objects.get(keeper=ada.user.pk)
        zoo.Animal.objects.filter(pk=parrot.pk).update(chip="taken")
        before, tables = application_dump(), edna_dump()
        accepts = {"schemas.Bird": ["reference_missing"], "schemas.Parrot": ["reference_missing"]}
        receipt = ada.disguise(spec("leave", *leaving(zoo), accepts=accepts))
        squatter = zoo.Animal.objects.create(keeper=bob.user, name="squatter", chip="taken")

        assert ada.reveal(receipt).accepted == {}

        squatter.delete()
        identical(ada, receipt, before, tables)

    @pytest.mark.parametrize("part", ["schemas.animal", "schemas.bird", "schemas.parrot"])
    @pytest.mark.parametrize("by", ["caller", "specification"])
    def test_is_given_up_as_a_whole(self, zoo: Any, ada: Student, bob: Student, spec: Any, part: str, by: str) -> None:
        """Whichever of its tables is named."""
        parrot = zoo.Parrot.objects.get(keeper=ada.user.pk)
        zoo.Animal.objects.filter(pk=parrot.pk).update(chip="taken")
        accepts = {"schemas.Sighting": ["reference_missing"]}
        accepts |= {part: ["unique_taken"]} if by == "specification" else {}
        receipt = ada.disguise(spec("leave", *leaving(zoo), accepts=accepts))
        zoo.Animal.objects.create(keeper=bob.user, name="squatter", chip="taken")

        with ada.unlock() as unlocked:
            outcome = edna.reveal(receipt, unlocked)
            if by == "caller":
                named = [held for held in outcome.held if (held.model, held.pk) == (part, parrot.pk)]
                outcome = edna.reveal(receipt, unlocked, accept=named)

        assert outcome.complete, outcome
        assert animals(zoo, pk=parrot.pk) == [0, 0, 0, 0]
        assert animals(zoo, keeper=ada.user.pk) == [2, 1, 0, 1]

    def test_takes_as_many_statements_for_many_objects_as_for_few(
        self, schemas: Any, enrolled: Enrol, spec: Any
    ) -> None:
        name = spec("animals", Remove(schemas.Animal, owner="keeper"), Remove(schemas.Sighting, owner="animal__keeper"))
        seen = set()
        for number in (10, 200):
            student = enrolled(schemas.Keeper, name=f"keeper of {number}")
            for index in range(number):
                parrot = schemas.Parrot.objects.create(keeper=student.user, name=str(index), wingspan=1)
                schemas.Sighting.objects.create(animal_id=parrot.pk, text="seen")
            with student.unlock() as unlocked:
                going = len(statements(lambda student=student: student.disguise(name)))
                [entry] = student.history()
                coming = len(
                    statements(lambda unlocked=unlocked, receipt=entry.receipt: edna.reveal(receipt, unlocked))
                )
            assert schemas.Parrot.objects.filter(keeper=student.user).count() == number
            seen.add((going, coming))
        assert len(seen) == 1, seen

    def test_is_foreseen_table_by_table(self, zoo: Any, ada: Student, spec: Any) -> None:
        name = spec("birds", Remove(zoo.Bird, owner="keeper"), Remove(zoo.Sighting, owner="animal__bird__keeper"))
        foreseen = {table.model: table.rows for table in edna.plan(name, ada.user).tables}
        assert foreseen == {
            "schemas.animal": 2,
            "schemas.bird": 2,
            "schemas.parrot": 1,
            "schemas.swimmer": 1,
            "schemas.sighting": 2,
        }
        everybody = {table.model: table.rows for table in edna.plan_all(name).tables}
        assert everybody == {model: rows * 2 for model, rows in foreseen.items()}

    def test_of_what_belongs_to_a_child_of_the_principal(self, zoo: Any, ada: Student, spec: Any) -> None:
        """The gate is a warden's, and a warden is a keeper."""
        before, tables = application_dump(), edna_dump()
        name = spec(
            "gates",
            Modify(zoo.Gate, owner="warden", set={"name": "x"}),
            Remove(zoo.Animal, owner="keeper"),
            Remove(zoo.Sighting, owner="animal__keeper"),
        )
        receipt = ada.disguise(name)
        assert zoo.Gate.objects.get().name == "x"
        identical(ada, receipt, before, tables)


class TestChanges:
    def test_columns_of_several_tables_in_one_step(self, zoo: Any, ada: Student, bob: Student, spec: Any) -> None:
        """Each table gets those that it has."""
        before, tables = application_dump(), edna_dump()
        values = {"name": "[gone]", "chip": placeholders.random_string(), "wingspan": 0, "vocabulary": ""}
        receipt = ada.disguise(spec("redact", Modify(zoo.Parrot, owner="keeper", set=values)))

        parrot = zoo.Parrot.objects.get(keeper=ada.user.pk)
        assert (parrot.name, parrot.wingspan, parrot.vocabulary) == ("[gone]", 0, "")
        assert len(parrot.chip) == 32
        assert zoo.Animal.objects.filter(name="[gone]").count() == 1
        assert zoo.Bird.objects.filter(wingspan=0).count() == 1
        identical(ada, receipt, before, tables)

    def test_for_an_owner_of_another_table_than_the_columns(
        self, zoo: Any, ada: Student, bob: Student, spec: Any
    ) -> None:
        before, tables = application_dump(), edna_dump()
        receipt = ada.disguise(spec("rename", Modify(zoo.Bird, owner="trainer", set={"name": "[gone]"})))
        assert set(zoo.Animal.objects.filter(name="[gone]")) == set(
            zoo.Animal.objects.filter(bird__trainer=ada.user.pk)
        )
        assert zoo.Animal.objects.filter(name="[gone]").count() == 2
        identical(ada, receipt, before, tables)

    def test_of_the_principals_own_row_in_a_childs_table(self, zoo: Any, ada: Student, spec: Any) -> None:
        """A step without owner on a child of the principal model is about the principal, too."""
        before, tables = application_dump(), edna_dump()
        name = spec("secret", Modify(zoo.Warden, set={"badge": placeholders.random_string(length=20), "name": "X"}))
        receipt = ada.disguise(name)
        warden = zoo.Warden.objects.get()
        assert (warden.name, warden.badge == "007") == ("X", False)
        identical(ada, receipt, before, tables)

    def test_a_row_that_is_removed_as_a_child_is_not_changed_as_a_parent(
        self, zoo: Any, ada: Student, spec: Any
    ) -> None:
        before, tables = application_dump(), edna_dump()
        name = spec(
            "both",
            Modify(zoo.Animal, owner="keeper", set={"name": "[gone]"}),
            Remove(zoo.Bird, owner="keeper"),
            Remove(zoo.Sighting, owner="animal__keeper"),
        )
        receipt = ada.disguise(name)
        assert list(zoo.Animal.objects.filter(keeper=ada.user.pk).values_list("name", flat=True)) == ["[gone]"]
        identical(ada, receipt, before, tables)


class TestDecorrelation:
    @pytest.mark.parametrize("model", ["Animal", "Bird", "Parrot", "Swimmer"])
    def test_by_the_parents_owner_from_every_level(self, zoo: Any, ada: Student, spec: Any, model: str) -> None:
        """The parent's table has the column; only the objects of that kind are meant."""
        before, tables = application_dump(), edna_dump()
        kind = getattr(zoo, model)
        meant = list(kind.objects.filter(keeper=ada.user.pk).values_list("pk", flat=True))
        receipt = ada.disguise(spec(f"anon-{model.lower()}", Decorrelate(kind, owner="keeper")))
        assert meant
        assert not kind.objects.filter(keeper=ada.user.pk).exists()
        assert zoo.Animal.objects.filter(keeper=ada.user.pk).count() == 3 - len(meant)
        assert zoo.Keeper.objects.count() == 2 + len(meant)
        assert zoo.Warden.objects.count() == 1
        identical(ada, receipt, before, tables)

    def test_its_owner_can_act_as_the_pseudoprincipal(self, zoo: Any, ada: Student, spec: Any) -> None:
        """Whichever model the object is given as."""
        ada.disguise(spec("anonymise", Decorrelate(zoo.Animal, owner="keeper")))
        parrot = zoo.Parrot.objects.get(name="parrot of Ada")
        with ada.unlock() as unlocked:
            assert edna.speak_as(unlocked, parrot) == parrot.keeper
            assert edna.speak_as(unlocked, parrot.animal_ptr) == parrot.keeper

    def test_grouped_by_a_column_of_another_table(self, zoo: Any, ada: Student, spec: Any) -> None:
        before, tables = application_dump(), edna_dump()
        name = spec("by-name", Decorrelate(zoo.Bird, owner="trainer", group_by=["name"]))
        receipt = ada.disguise(name)
        assert zoo.Bird.objects.filter(trainer=ada.user.pk).count() == 0
        assert zoo.Keeper.objects.count() == 4
        identical(ada, receipt, before, tables)

    def test_and_then_removal_with_the_key(self, zoo: Any, ada: Student, spec: Any) -> None:
        """What the pseudoprincipals own goes along, children and all."""
        before, tables = application_dump(), edna_dump()
        anonymise = spec("anonymise", Decorrelate(zoo.Animal, owner="keeper"))
        leave = spec("leave", *leaving(zoo))
        ada.disguise(anonymise)
        ada.disguise(leave, with_key=True)
        assert animals(zoo) == [3, 2, 1, 1]
        ada.reveal_everything()
        assert application_dump() == before
        assert edna_dump() == tables

    @pytest.mark.parametrize("policy", ["restore", "delete", "retain"])
    def test_what_came_to_a_pseudoprincipal_meanwhile(self, zoo: Any, ada: Student, spec: Any, policy: str) -> None:
        """A parrot, in three tables, whose owner is in the first."""
        before = application_dump()
        references = {"schemas.Animal.keeper": policy}
        name = spec("anonymise", Decorrelate(zoo.Animal, owner="keeper", group_by=edna.ALL), references=references)
        receipt = ada.disguise(name)
        somebody = zoo.Animal.objects.get(name="cat of Ada").keeper
        new = zoo.Parrot.objects.create(keeper=somebody, name="new", wingspan=1, vocabulary="")

        outcome = ada.reveal(receipt)

        assert outcome.complete, outcome
        found = list(zoo.Parrot.objects.filter(name="new").values_list("pk", "keeper"))
        assert (
            found
            == {
                "restore": [(new.pk, ada.user.pk)],
                "delete": [],
                "retain": [(new.pk, somebody.pk)],
            }[policy]
        )
        assert zoo.Keeper.objects.filter(pk=somebody.pk).exists() == (policy == "retain")
        zoo.Parrot.objects.filter(pk=new.pk).delete()
        zoo.Keeper.objects.filter(pk=somebody.pk).delete()
        assert application_dump() == before


def test_held_rows_name_the_table_that_is_in_the_way(zoo: Any, ada: Student, spec: Any) -> None:
    """Somebody renamed the animal, whose placeholder is in the parent's table."""
    receipt = ada.disguise(spec("redact", Modify(zoo.Parrot, owner="keeper", set={"name": "[gone]", "vocabulary": ""})))
    parrot = zoo.Parrot.objects.get(keeper=ada.user.pk)
    zoo.Animal.objects.filter(pk=parrot.pk).update(name="Polly")
    outcome = ada.reveal(receipt)
    assert outcome.held == [Held("schemas.animal", parrot.pk, Reason.CHANGED, "name")]
    assert outcome.restored == {"schemas.parrot": 1}


def test_keep_is_not_needed_for_parent_links(schemas: Any, enrolled: Enrol, spec: Any) -> None:
    cat = enrolled(schemas.Keeper, name="Cat")
    schemas.Swimmer.objects.create(keeper=cat.user, name="seal", depth=7)
    before = application_dump()
    name = spec("swim", Remove(schemas.Swimmer, owner="keeper"), Remove(schemas.Sighting, owner="animal__keeper"))
    receipt = cat.disguise(name)
    assert not schemas.Animal.objects.exists()
    assert cat.reveal(receipt).complete
    assert application_dump() == before
    assert not any(isinstance(step, Keep) for step in edna.registry.get(name).transformations)


class TestTerms:
    """What does not come back as it was: columns of either table, and whole objects."""

    def test_columns_of_parent_and_child(self, zoo: Any, ada: Student, spec: Any) -> None:
        name = spec(
            "birds",
            Remove(zoo.Bird, owner="keeper", returning={"wingspan": 0, "chip": None}),
            Remove(zoo.Sighting, owner="animal__bird__keeper"),
        )
        outcome = ada.reveal(ada.disguise(name))
        assert outcome.complete
        assert set(zoo.Bird.objects.filter(keeper=ada.user).values_list("wingspan", "chip")) == {(0, None)}
        assert not zoo.Bird.objects.exclude(keeper=ada.user).filter(wingspan=0).exists()
        assert outcome.altered["schemas.bird"] == {"wingspan": 2}

    def test_of_a_principal_of_two_tables(self, zoo: Any, ada: Student, spec: Any) -> None:
        name = spec("leave", Remove(zoo.Keeper, returning={"name": "returned"}), *leaving(zoo)[1:])
        outcome = ada.reveal(ada.disguise(name))
        assert outcome.complete
        warden = zoo.Warden.objects.get(pk=ada.user.pk)
        assert (warden.name, warden.badge) == ("returned", "007")

    def test_of_a_column_in_a_child_of_the_principal(
        self, zoo: Any, ada: Student, bob: Student, spec: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The child's row goes and returns with the principal's, and may hold the rights."""
        monkeypatch.setattr(terms, "_SETS_OF_RIGHTS", {"badge"})
        unsaid = spec("unsaid", *leaving(zoo))
        name = spec("leave", Remove(zoo.Keeper, returning={"badge": placeholders.random_string()}), *leaving(zoo)[1:])
        found = {each: terms.check_returning(edna.registry.get(each)) for each in (unsaid, name)}
        assert [message.id for message in found[unsaid]] == ["edna.W123"]
        assert 'returning={"badge": ""}' in str(found[unsaid][0].hint)
        assert [message.id for message in found[name]] == ["edna.W303"], "the column is short, and can be set"
        outcome = ada.reveal(ada.disguise(name))
        assert outcome.complete
        assert outcome.altered == {"schemas.warden": {"badge": 1}}
        back = zoo.Warden.objects.get(pk=ada.user.pk)
        assert back.name == "Ada"
        assert back.badge not in ("", "007")
        assert bob.reveal(bob.disguise(name)).complete, "who has no row there has none afterwards"
        assert zoo.Warden.objects.count() == 1
