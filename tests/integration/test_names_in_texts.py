"""A person's name in rows of others: as a value of its own, within a longer text, and under a key of a document."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest
from django.core.checks import run_checks

import edna
from edna import Disguise, Modify, Reason, Remove, placeholders
from edna.errors import SpecError
from edna.testing import Person, application_dump
from tests.installed import registered, registering
from tests.integration.papers.models import Folder, Paper, Writer
from tests.support import AUDIT_TABLES, cut_into_chunks, edna_dump, nothing_changes, statements

pytestmark = [pytest.mark.django_db, pytest.mark.once]

BY_NAME = placeholders.derived(lambda text, person: text.replace(person["name"], "?"), person=["name"])


@pytest.fixture(autouse=True)
def papers(papers_tables: None, db: None) -> Iterator[None]:
    with registered("tests.integration.papers"):
        yield


@pytest.fixture
def people() -> list[Person]:
    """Each has written last in a folder, whose summary names both."""
    made = [Writer.objects.create(name=name) for name in ("Bea", "Carl")]
    for writer in made:
        paper = Paper.objects.create(author=writer, meta={"by": f"{writer.name} & co"})
        Folder.objects.create(last_paper=paper, last_writer_name=writer.name, summary="By Bea and Carl.")
    return [Person.registered(writer) for writer in made]


def said() -> list[tuple[Any, ...]]:
    return list(Folder.objects.order_by("pk").values_list("last_writer_name", "summary", "last_paper__meta__by"))


@pytest.mark.parametrize("rows", [None, 1])
def test_the_name_goes_and_comes_back(people: list[Person], rows: int | None) -> None:
    """Although the same disguise, and one of its parts before, replaces it in the person's own row."""
    bea, _ = people
    before, tables = application_dump(), edna_dump()
    with cut_into_chunks(rows):
        receipt = bea.disguise("papers.last-writer")
    assert said() == [
        ("[deleted]", "By [deleted] and Carl.", "? & co"),
        ("Carl", "By Bea and Carl.", "Carl & co"),
    ]
    assert not Writer.objects.filter(name="Bea").exists()
    assert bea.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


def test_for_everybody_each_has_the_own_name(people: list[Person]) -> None:
    """One statement finds them, however many there are, and none where nobody asks."""
    sent = statements(lambda: edna.disguise_all("papers.last-writer"))
    assert said() == [
        ("[deleted]", "By [deleted] and Carl.", "? & co"),
        ("[deleted]", "By Bea and [deleted].", "? & co"),
    ]
    names = [sql for sql in sent if sql.startswith("SELECT") and '"name"' in sql and '"papers_writer"."id" IN' in sql]
    assert len(names) == 2  # the step of the writers' own rows, and this


def test_what_others_write_meanwhile_is_held_and_stays(people: list[Person]) -> None:
    bea, _ = people
    receipt = bea.disguise("papers.last-writer")
    Folder.objects.filter(last_writer_name="[deleted]").update(summary="By [deleted] and others.")
    outcome = bea.reveal(receipt)
    assert [(held.model, held.reason, held.field) for held in outcome.held] == [
        ("papers.folder", Reason.CHANGED, "summary")
    ]
    assert said()[0][1] == "By [deleted] and others."
    Folder.objects.filter(last_writer_name="[deleted]").update(summary="By [deleted] and Carl.")
    assert bea.reveal(receipt).complete
    assert said()[0] == ("Bea", "By Bea and Carl.", "Bea & co")


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_of_two_names_in_one_text_each_goes_with_its_own(people: list[Person], order: tuple[int, int]) -> None:
    """Whoever comes back first brings back nobody else's."""

    class Both(Disguise):
        name = "papers.both"
        transformations = [Modify(Folder, owner=["last_paper__author", "keeper"], set={"summary": BY_NAME})]

    bea, carl = people
    Folder.objects.filter(last_paper__author=bea.user.pk).update(keeper=carl.user.pk)
    before = application_dump()
    with registering(Both):
        receipts = [(each, each.disguise("papers.both")) for each in people]
        assert said()[0][1] == "By ? and ?."
        first, last = (receipts[number] for number in order)
        first[0].reveal(first[1])
        assert ("Carl" in said()[0][1], "Bea" in said()[0][1]) == (
            (True, False) if first[0] is carl else (False, False)
        )
        last[0].reveal(last[1])
    assert application_dump() == before


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_for_everybody_each_name_of_a_text_goes_and_comes_back_with_its_own(
    people: list[Person], order: tuple[int, int]
) -> None:
    """Whoever comes back first brings back nobody else's. One of them has a text that names them twice."""

    class Both(Disguise):
        name = "papers.both"
        transformations = [Modify(Folder, owner=["last_paper__author", "keeper"], set={"summary": BY_NAME})]

    bea, carl = people
    Folder.objects.filter(last_paper__author=bea.user.pk).update(keeper=carl.user.pk)
    Folder.objects.filter(last_paper__author=carl.user.pk).update(keeper=carl.user.pk)
    before, tables = application_dump(), edna_dump()
    audited: dict[str, Any] = dict.fromkeys(AUDIT_TABLES)
    with registering(Both):
        edna.disguise_all("papers.both")
        assert [text for _, text, _ in said()] == ["By ? and ?.", "By Bea and ?."]
        first, last = (people[number] for number in order)
        first.reveal(first.history()[0].receipt)
        # What was done for the second one lies over what was done for the first.
        assert said()[0][1] == ("By ? and Carl." if first is carl else "By ? and ?.")
        for each in (last, first):
            each.reveal_everything()
    assert application_dump() == before
    assert edna_dump() | audited == tables | audited


def test_what_asks_for_the_person_stands_in_steps_alone(people: list[Person]) -> None:
    """The check says which columns there are; by hand, nobody is asked for."""

    class Odd(Disguise):
        name = "papers.odd"
        transformations = [
            Modify(
                Paper, owner="author", set={"meta": placeholders.derived(lambda meta, person: meta, person=["nick"])}
            ),
            Remove(Folder, owner="keeper", returning={"summary": BY_NAME}),
            Modify(Folder, owner=["last_paper__author", "keeper"], set={"summary": BY_NAME}, when=edna.ALL_LEFT),
        ]

    with registering(Odd):
        found = [
            each.msg for each in run_checks(tags=["edna"]) if each.id == "edna.E302" and str(each.obj).endswith("Odd")
        ]
    for number, words in enumerate(["'nick' of the person", "several have left by then", "only a Modify has"]):
        assert words in found[number]
    edna.on_reveal("papers.by-hand")(by_hand)
    try:
        with pytest.raises(SpecError), nothing_changes(), edna.session(people[0].user, "papers.by-hand") as session:
            session.modify(Folder.objects.all(), summary=BY_NAME)
    finally:
        edna.unregister(by_hand)


def by_hand(revealed: Any) -> None:
    """Nothing is left to do."""
