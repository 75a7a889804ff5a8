"""A person's name in rows of others: as a value of its own, within a longer text, and under a key of a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import Any

import pytest
from django.core.checks import run_checks

import edna
from edna import Decorrelate, Disguise, Modify, Pseudoprincipal, Reason, Remove, placeholders
from edna.errors import NotYours, SpecError
from edna.testing import Person, application_dump
from tests.databases import first_everywhere
from tests.installed import registered, registering
from tests.integration.papers.models import Folder, Mention, Paper, Pen, Writer
from tests.support import AUDIT_TABLES, cut_into_chunks, edna_dump, nothing_changes, statements

pytestmark = pytest.mark.django_db

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


@pytest.mark.once
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


@pytest.mark.once
def test_for_everybody_each_has_the_own_name(people: list[Person]) -> None:
    """One statement finds them, however many there are, and none where nobody asks."""
    sent = statements(lambda: edna.disguise_all("papers.last-writer"))
    assert said() == [
        ("[deleted]", "By [deleted] and Carl.", "? & co"),
        ("[deleted]", "By Bea and [deleted].", "? & co"),
    ]
    names = [sql for sql in sent if sql.startswith("SELECT") and '"name"' in sql and '"papers_writer"."id" IN' in sql]
    assert len(names) == 2  # the step of the writers' own rows, and this


@pytest.mark.once
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


@pytest.mark.once
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


@pytest.mark.once
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


@pytest.mark.once
@pytest.mark.parametrize("order", list(permutations(range(2))))
@pytest.mark.parametrize("turned", [False, True])
def test_who_left_in_one_moment_with_another_waits_for_them(
    people: list[Person], order: tuple[int, int], turned: bool
) -> None:
    """What the other one took out lies over the own change, and was changed by nobody who is there."""

    class Leave(Disguise):
        name = "papers.leave-both"
        transformations = [
            Modify(
                Folder,
                owner=["keeper", "last_paper__author"] if turned else ["last_paper__author", "keeper"],
                set={"summary": BY_NAME},
            ),
            Decorrelate(Folder, owner="keeper"),
            Decorrelate(Paper, owner="author"),
            Remove(Pen, owner="writer"),
            Remove(Mention, owner="writer"),
            Remove(Writer),
        ]

    bea, carl = people
    Folder.objects.filter(last_paper__author=bea.user.pk).update(keeper=carl.user.pk)
    before, tables = application_dump(), edna_dump()
    audited: dict[str, Any] = dict.fromkeys(AUDIT_TABLES)
    with registering(Leave, Nobody):
        edna.disguise_all("papers.leave-both")
        assert said()[0][1] == "By ? and ?."
        first, last = (people[number] for number in order)
        outcome = first.reveal(first.history()[0].receipt)
        assert {held.reason for held in outcome.held} <= {Reason.OWNER_AWAY}
        assert last.reveal(last.history()[0].receipt).complete
        assert application_dump() == before
        for person in people:
            person.reveal_everything()
    assert application_dump() == before
    assert edna_dump() | audited == tables | audited


class Nobody(Pseudoprincipal):
    model = Writer
    values = {"name": placeholders.random_string()}


class Unmentioned(Disguise):
    """The account goes, and with it what says who is named where."""

    name = "papers.unmentioned"
    transformations = [
        Modify(Folder, owner="mentions__writer", set={"summary": BY_NAME}),
        Remove(Mention, owner="writer"),
        Remove(Paper, owner="author"),
        Remove(Pen, owner="writer"),
        Remove(Writer),
    ]


class MentionedByNobody(Disguise):
    """The account goes, and it stays to be seen that somebody is named."""

    name = "papers.mentioned-by-nobody"
    transformations = [
        Modify(Folder, owner=["mentions__writer", "keeper"], set={"summary": BY_NAME, "last_writer_name": "?"}),
        Decorrelate(Mention, owner="writer"),
        Remove(Paper, owner="author"),
        Remove(Pen, owner="writer"),
        Remove(Writer),
    ]


class Unnamed(Disguise):
    """The same is put there whoever leaves, and the account stays."""

    name = "papers.unnamed"
    transformations = [
        Modify(Folder, owner="mentions__writer", set={"summary": "?"}),
        Decorrelate(Mention, owner="writer"),
    ]


@pytest.fixture
def mentioned() -> Iterator[list[Person]]:
    """Three people who are all named in one folder, each in one of their own, and nobody in another."""
    made = [Writer.objects.create(name=name) for name in ("Bea", "Carl", "Dora")]
    together = Folder.objects.create(last_writer_name="", summary="By Bea, Carl and Dora.")
    for writer in made:
        Mention.objects.create(folder=together, writer=writer)
        own = Folder.objects.create(last_writer_name="", summary=f"Of {writer.name}.")
        Mention.objects.create(folder=own, writer=writer)
    Folder.objects.create(summary="By nobody.")
    with registering(Nobody, Unmentioned, MentionedByNobody, Unnamed):
        yield [Person.registered(writer) for writer in made]


def readable(names: Iterable[str]) -> list[str]:
    return [text for text in Folder.objects.values_list("summary", flat=True) if any(name in text for name in names)]


@first_everywhere("back", list(permutations(range(3))))
@pytest.mark.parametrize(
    ("disguise", "rows"), [(Unmentioned, None), (Unmentioned, 1), (MentionedByNobody, 1), (Unnamed, None)]
)
def test_whoever_is_named_along_one_path_goes_and_comes_back_for_themselves(
    mentioned: list[Person], disguise: type[Disguise], rows: int | None, back: tuple[int, ...]
) -> None:
    """One path leads from the row to several people. What they have in common comes back with the last of them, in one pass."""
    before = application_dump()
    away = {}
    for number, name in enumerate(("Bea", "Carl", "Dora")):
        with cut_into_chunks(rows):
            away[name] = mentioned[number].disguise(disguise.name)
        assert readable(away) == []
    for number in back:
        name = ("Bea", "Carl", "Dora")[number]
        outcome = mentioned[number].reveal(away.pop(name))
        assert {held.reason for held in outcome.held} <= {Reason.OWNER_AWAY}
        assert readable(away) == []
    assert application_dump() == before


@first_everywhere("back", list(permutations(range(3))))
@pytest.mark.parametrize("disguise", [Unmentioned, MentionedByNobody])
def test_for_everybody_each_who_is_named_along_one_path_loses_the_name(
    mentioned: list[Person], disguise: type[Disguise], back: tuple[int, ...]
) -> None:
    before, away = application_dump(), ["Bea", "Carl", "Dora"]
    edna.disguise_all(disguise.name)
    assert readable(away) == []
    for number in back:
        away.remove(("Bea", "Carl", "Dora")[number])
        outcome = mentioned[number].reveal(mentioned[number].history()[0].receipt)
        assert {held.reason for held in outcome.held} <= {Reason.OWNER_AWAY}
        assert readable(away) == []
    assert application_dump() == before


@pytest.mark.once
@pytest.mark.parametrize("back", list(permutations(range(3))))
def test_what_waits_for_somebody_who_is_away_was_changed_by_nobody(
    mentioned: list[Person], back: tuple[int, ...]
) -> None:
    """Who came back before, and has to wait, has a change that still lies over the own one: that cannot be given up by mistake."""

    class Kept(Disguise):
        name = "papers.kept-by-nobody"
        transformations = [
            Modify(Folder, owner=["keeper", "mentions__writer"], set={"summary": BY_NAME}),
            Decorrelate(Folder, owner="keeper"),
            *MentionedByNobody.transformations[1:],
        ]

    names, dora = ["Bea", "Carl", "Dora"], mentioned[2]
    Folder.objects.filter(summary__contains="Bea, Carl").update(keeper=dora.user.pk)
    Mention.objects.filter(folder__keeper=dora.user.pk, writer=dora.user.pk).delete()
    before, away = application_dump(), [*names]
    with registering(Kept):
        edna.disguise_all("papers.kept-by-nobody")
        assert readable(away) == []
        for number in back:
            away.remove(names[number])
            outcome = mentioned[number].reveal(mentioned[number].history()[0].receipt)
            assert {held.reason for held in outcome.held} <= {Reason.OWNER_AWAY}
            assert readable(away) == []
        assert application_dump() == before


@pytest.mark.once
def test_whoever_is_named_no_more_by_what_the_site_did_keeps_nobody_waiting(mentioned: list[Person]) -> None:
    bea, carl, _ = mentioned
    receipt = bea.disguise("papers.unmentioned")
    Mention.objects.filter(writer=carl.user.pk).delete()
    assert bea.reveal(receipt).complete
    assert readable(["Bea"]) == ["By Bea, Carl and Dora.", "Of Bea."]


@pytest.mark.once
@pytest.mark.parametrize("has_key", [True, False])
def test_of_a_row_that_was_removed_whoever_has_left_meanwhile_is_waited_for(
    people: list[Person], has_key: bool
) -> None:
    """Also who had no key at that time, so that nobody could be told. What said that they are named there went with the row."""

    class Emptied(Disguise):
        name = "papers.emptied"
        transformations = [
            Modify(Folder, owner="mentions__writer", set={"summary": BY_NAME}),
            Remove(Folder, owner="keeper"),
            Remove(Mention, owner="folder__keeper"),
            *Unmentioned.transformations[1:],
        ]

    bea, carl = people[0].user, people[1]
    dora = Writer.objects.create(name="Dora")
    later = carl if has_key else None
    for named in (carl.user, dora):
        folder = Folder.objects.create(keeper=bea, summary=f"By Bea and {named.name}.")
        for writer in (bea, named):
            Mention.objects.create(folder=folder, writer=writer)
    before = application_dump()
    with registering(Nobody, Emptied):
        receipt = people[0].disguise("papers.emptied")
        later = later or Person.registered(dora)
        left = later.disguise("papers.emptied")
        outcome = people[0].reveal(receipt)
        assert [held.reason for held in outcome.held if held.model == "papers.folder"] == [Reason.OWNER_AWAY]
        assert later.user.name not in " ".join(Folder.objects.filter(keeper=bea).values_list("summary", flat=True))
        assert later.reveal(left).complete
        people[0].reveal(receipt)
    assert application_dump() == before


@pytest.mark.once
def test_whoever_is_named_beside_others_does_not_own_the_row(mentioned: list[Person]) -> None:
    """It is in nobody's export, and nobody edits it as one who is named there."""
    bea, *_ = mentioned
    with bea.unlock() as unlocked:
        assert {row["model"] for row in edna.export(unlocked)["rows"]} == {"papers.writer", "papers.mention"}
    bea.disguise("papers.unnamed")
    with bea.unlock() as unlocked:
        assert edna.speak_as(unlocked, Mention.objects.order_by("pk")[0]).pk != bea.user.pk
        with pytest.raises(NotYours):
            edna.speak_as(unlocked, Folder.objects.order_by("pk")[0])


@pytest.mark.once
@pytest.mark.parametrize("rows", [None, 1])
def test_the_name_may_stand_in_a_row_beside_the_person(people: list[Person], rows: int | None) -> None:
    """Although that row goes with the account. Who has none loses the other name."""
    both = placeholders.derived(
        lambda text, person: text.replace(person["pen__name"] or person["name"], "?"), person=["name", "pen__name"]
    )

    class Leave(Disguise):
        name = "papers.leave-with-pen"
        transformations = [
            Remove(Pen, owner="writer"),
            Modify(Folder, owner="keeper", set={"summary": both}),
            Remove(Paper, owner="author"),
            Remove(Mention, owner="writer"),
            Remove(Writer),
        ]

    Pen.objects.create(writer=people[0].user, name="Queen")
    for person in people:
        Folder.objects.create(keeper=person.user, summary="Queen asks, and Carl answers.")
    before = application_dump()
    with registering(Leave, Nobody):
        assert not [each for each in run_checks(tags=["edna"]) if each.id == "edna.E302"]
        with cut_into_chunks(rows):
            receipts = [person.disguise("papers.leave-with-pen") for person in people]
        texts = Folder.objects.order_by("pk").values_list("summary", flat=True)
        assert list(texts)[2:] == ["? asks, and Carl answers.", "Queen asks, and ? answers."]
        for person, receipt in zip(people, receipts, strict=True):
            assert person.reveal(receipt).complete
    assert application_dump() == before


@pytest.mark.once
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
