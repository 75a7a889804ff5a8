"""A row comes back without a reference that the database would have emptied, and the reference when what it leads to is there again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import edna
from edna import Disguise, Held, Reason, Remove
from edna.testing import Person, application_dump
from tests.installed import registered, registering
from tests.integration.papers.models import Folder, Mention, Paper, Pen, Writer
from tests.support import edna_dump

pytestmark = [pytest.mark.django_db]


class Leave(Disguise):
    """A writer's own, and not what lies in the folders of others."""

    name = "papers.leave-folders"
    transformations = [
        Remove(Paper, owner="author"),
        Remove(Mention, owner="folder__keeper"),
        Remove(Mention, owner="writer"),
        Remove(Pen, owner="writer"),
        Remove(Folder, owner="keeper"),
        Remove(Writer),
    ]


@pytest.fixture(autouse=True)
def papers(papers_tables: None, db: None) -> Iterator[None]:
    with registered("tests.integration.papers"), registering(Leave):
        yield


@pytest.fixture
def people() -> list[Person]:
    """Each keeps a folder in which the other one's paper lies last, and one in which nothing does."""
    made = [Writer.objects.create(name=name) for name in ("Bea", "Carl")]
    papers = [Paper.objects.create(author=writer) for writer in made]
    for writer, paper in zip(made, reversed(papers), strict=True):
        Folder.objects.create(keeper=writer, last_paper=paper, summary=f"of {writer.name}")
        Folder.objects.create(keeper=writer, summary=f"of {writer.name}, empty")
    return [Person.registered(writer) for writer in made]


def test_what_was_deleted_meanwhile_keeps_no_row_away(people: list[Person]) -> None:
    """It is said of the reference alone, comes back with what it led to, and is not asked for twice."""
    bea, carl = people
    before, tables = application_dump(), edna_dump()
    receipt = bea.disguise(Leave.name)
    paper = Paper.objects.get(author=carl.user)
    key = paper.pk
    paper.delete()
    outcome = bea.reveal(receipt)
    folder = Folder.objects.get(summary="of Bea")
    assert outcome.held == [Held("papers.folder", folder.pk, Reason.REFERENCE_MISSING, "last_paper")]
    assert (folder.keeper_id, folder.last_paper_id) == (bea.user.pk, None)
    assert Folder.objects.filter(keeper=bea.user).count() == 2
    with bea.unlock() as unlocked:
        [waiting] = edna.waiting(unlocked)
        assert [(each.model, each.field) for each in waiting.held] == [("papers.folder", "last_paper")]
    assert bea.reveal(receipt).held == outcome.held
    Paper.objects.create(pk=key, author=carl.user)
    assert bea.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


def test_the_person_can_do_without_it(people: list[Person]) -> None:
    bea, carl = people
    tables = edna_dump()
    receipt = bea.disguise(Leave.name)
    Paper.objects.filter(author=carl.user).delete()
    bea.reveal(receipt)
    with bea.unlock() as unlocked:
        outcome = edna.reveal(receipt, unlocked, accept=edna.ALL)
    assert (outcome.complete, outcome.accepted) == (True, {"papers.folder": 1})
    assert Folder.objects.get(summary="of Bea").last_paper is None
    assert edna_dump() == tables


@pytest.mark.parametrize("first", [0, 1])
def test_what_is_away_with_somebody_else_comes_back_to_it(people: list[Person], first: int) -> None:
    """Whoever returns first has the folder at once, and the reference once the other one is back."""
    before, tables = application_dump(), edna_dump()
    receipts = [person.disguise(Leave.name) for person in people]
    early, late = people[first], people[1 - first]
    early.reveal(receipts[first])
    assert Folder.objects.filter(keeper=early.user).count() == 2
    late.reveal(receipts[1 - first])
    for person, receipt in zip(people, receipts, strict=True):
        with person.unlock() as unlocked:
            if edna.history(unlocked):
                assert edna.reveal(receipt, unlocked).complete
    assert application_dump() == before
    assert edna_dump() == tables
