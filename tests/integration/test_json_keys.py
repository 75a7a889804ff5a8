"""A disguise of one key of a JSON column: only that key changes, only that key comes back, and what others write beside it stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.exceptions import FieldDoesNotExist
from django.db import connection

import edna
from edna import Disguise, Modify, Reason, json_keys, placeholders
from edna.auditing import treatment, values
from edna.auditing.search import search
from edna.engine.forwarding.batch import Moving
from edna.errors import EdnaError
from edna.management.commands.edna_plan import describe
from edna.records.diff import Modified
from edna.testing import Person, application_dump
from tests.databases import first_everywhere
from tests.installed import registered, registering
from tests.integration.papers.models import Paper, Writer
from tests.integration.papers.specs import DELETED, Name
from tests.support import cut_into_chunks, edna_dump, nothing_changes

pytestmark = [pytest.mark.django_db, pytest.mark.long]

#: Written by another program: spaces, escapes, numbers and an order that Python would not write.
ODD = (
    '{ "z":1.50,"author" : {"name":"B\\u00e9a \\"B\\"","email": "bea@example.org" ,"k":1e200}, '
    '"tags":["Bea", [ ], 12345678901234567890123], "by" : [{"name":"Bea", "n": 1}, {"n":2},{"name" :"Carl"}]}'
)


@pytest.fixture(autouse=True)
def papers(papers_tables: None, db: None) -> Iterator[None]:
    with registered("tests.integration.papers"):
        edna.on_reveal("papers.by-hand")(by_hand)
        yield
        edna.unregister(by_hand)


@pytest.fixture
def bea() -> Person:
    """Her documents: one as somebody else wrote it, one as Django did, two without the key, an SQL NULL, and one of carl's."""
    writer, carl = Writer.objects.create(name="first"), Writer.objects.create(name="second")
    odd = Paper.objects.create(author=writer, meta={})
    write(odd, ODD)
    mine = {"author": {"name": "Bea", "email": "b@x.org"}, "tags": ["Bea", 1], "n": [1, 2.5, None]}
    for meta in (mine, {"author": {"email": "b@x.org"}}, ["no", "object"], None):
        Paper.objects.create(author=writer, meta=meta)
    Paper.objects.create(author=carl, meta=mine)
    Person.registered(carl)
    return Person.registered(writer)


def by_hand(principal: Any, blobs: Any) -> None:
    """Nothing is left to do."""


def write(paper: Paper, document: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE papers_paper SET meta = %s WHERE id = %s", [document, paper.pk])


def stored(paper: Paper) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT meta FROM papers_paper WHERE id = %s", [paper.pk])
        return str(cursor.fetchone()[0])


def of(person: Person) -> list[Any]:
    return list(Paper.objects.filter(author=person.user.pk).order_by("pk").values_list("meta", flat=True))


def test_only_the_key_changes_and_everything_comes_back_to_the_byte(bea: Person) -> None:
    """A document that lacks the key stays as it is."""
    before, tables = application_dump(), edna_dump()
    odd, plain, *others = of(bea)
    texts = {paper.pk: stored(paper) for paper in Paper.objects.all()}
    receipt = bea.disguise("papers.name")
    odd["author"]["name"] = plain["author"]["name"] = DELETED
    assert of(bea) == [odd, plain, *others]
    first = Paper.objects.order_by("pk")[0]
    assert stored(first) == texts[first.pk].replace('"B\\u00e9a \\"B\\""', '"[deleted]"').replace(
        '"Béa \\"B\\""', '"[deleted]"'
    )
    outcome = bea.reveal(receipt)
    assert (outcome.complete, outcome.restored) == (True, {"papers.paper": 5})
    assert application_dump() == before
    assert edna_dump() == tables


@first_everywhere(
    "names",
    [
        ("papers.name", "papers.mail"),
        ("papers.name", "papers.leave"),
        ("papers.name", "papers.name-again"),
        ("papers.name", "papers.author"),
        ("papers.name", "papers.whole"),
        ("papers.author", "papers.name"),
        ("papers.whole", "papers.name"),
        ("papers.initials", "papers.mail", "papers.author", "papers.leave"),
        ("papers.whole", "papers.each"),
        ("papers.each", "papers.each-author", "papers.leave"),
    ],
    count=3,
)
def test_disguises_of_one_document_compose_in_any_order(bea: Person, names: tuple[str, ...]) -> None:
    """Whichever comes back first; what was put around or under it comes back with whoever comes last."""
    before, tables = application_dump(), edna_dump()
    for order in permutations(range(len(names))):
        receipts = [bea.disguise(name) for name in names]
        for number in order:
            bea.reveal(receipts[number])
        left = edna.history(bea.unlock())
        assert (order, left) == (order, [])
        assert application_dump() == before
        assert edna_dump() == tables


@pytest.mark.once
def test_the_plan_says_which_keys_no_row_has(bea: Person) -> None:
    """A typing error in a path changes nothing, and no check can see it: checks do not look into rows."""
    wrong = {"meta__author__nmae": DELETED, "meta__author__name": DELETED}
    attributes = {"name": "papers.typo", "transformations": [Modify(Paper, owner="author", set=wrong)]}
    with registering(type("Typo", (Disguise,), attributes)):
        plan = edna.plan("papers.typo", bea.user)
    assert plan.keys_not_found == {"papers.paper": ["meta__author__nmae"]} == plan.as_dict()["keys_not_found"]
    assert "no row of papers.paper here has anything under meta__author__nmae" in describe(plan, "1")
    assert edna.plan("papers.name", bea.user).keys_not_found == {}


def test_each_element_of_a_list_changes_and_comes_back(bea: Person) -> None:
    """One value for each; an element without the key, or a document without the list, stays as it is."""
    before = application_dump()
    receipt = bea.disguise("papers.each")
    odd, plain, *_ = of(bea)
    assert odd["tags"] == ["'Bea'", "[]", "12345678901234567890123"]
    assert plain["tags"] == ["'Bea'", "1"]
    assert odd["by"] == [{"name": DELETED, "n": 1}, {"n": 2}, {"name": DELETED}]
    assert bea.reveal(receipt).complete
    assert application_dump() == before


@pytest.mark.once
def test_a_list_that_others_made_longer_is_held_and_what_is_not_of_it_stays(bea: Person) -> None:
    receipt = bea.disguise("papers.each")
    paper = Paper.objects.filter(author=bea.user.pk).order_by("pk")[0]
    paper.meta["by"].append({"name": "carl"})
    paper.save()
    held = bea.reveal(receipt).held
    assert [(each.reason, each.field) for each in held] == [(Reason.CHANGED, "meta__by__*__name")]
    paper.meta["by"].pop()
    paper.save()
    assert bea.reveal(receipt).complete


@pytest.mark.once
def test_one_element_and_each_of_them_come_back_in_any_order(bea: Person) -> None:
    """The one that lies below waits for the other one."""
    before = application_dump()
    for names in permutations(("papers.each", "papers.mail")):
        for order in permutations(range(2)):
            receipts = [bea.disguise(name) for name in names]
            for number in (*order, *order):
                if edna.history(bea.unlock()):
                    bea.reveal(receipts[number])
            assert edna.history(bea.unlock()) == []
            assert application_dump() == before


def test_what_others_write_beside_the_key_stays(bea: Person) -> None:
    """Their program writes the whole document again, with other spaces."""
    receipt = bea.disguise("papers.name")
    paper = Paper.objects.filter(author=bea.user.pk).order_by("pk")[0]
    paper.meta["author"]["email"], paper.meta["pages"] = "moved@example.org", 7
    write(paper, json.dumps(paper.meta, indent=2))
    assert bea.reveal(receipt).complete
    expected = {**paper.meta, "author": {**paper.meta["author"], "name": 'Béa "B"'}}
    paper.refresh_from_db()
    assert paper.meta == expected


@pytest.mark.parametrize("act", ["changed", "key gone", "part gone", "document gone"])
def test_a_key_that_others_have_changed_is_held(bea: Person, act: str) -> None:
    """And what they did stays, until the person accepts it or it is undone."""
    receipt = bea.disguise("papers.name")
    paper = Paper.objects.filter(author=bea.user.pk).order_by("pk")[1]
    meta = {**paper.meta, "author": {"name": "a moderator's"}}
    if act == "key gone":
        del meta["author"]["name"]
    if act == "part gone":
        meta["author"] = "nobody"
    Paper.objects.filter(pk=paper.pk).update(meta=None if act == "document gone" else meta)
    outcome = bea.reveal(receipt)
    assert [(held.reason, held.field) for held in outcome.held] == [(Reason.CHANGED, "meta__author__name")]
    after = Paper.objects.get(pk=paper.pk).meta
    assert after == (None if act == "document gone" else meta)
    assert of(bea)[0]["author"]["name"] == 'Béa "B"'
    Paper.objects.filter(pk=paper.pk).update(meta={"author": {"name": DELETED}, "new": 1})
    assert bea.reveal(receipt).complete
    assert of(bea)[1] == {"author": {"name": "Bea"}, "new": 1}


def test_a_key_that_others_have_added_meanwhile_is_theirs(bea: Person) -> None:
    receipt = bea.disguise("papers.name")
    paper = Paper.objects.filter(author=bea.user.pk).order_by("pk")[2]
    Paper.objects.filter(pk=paper.pk).update(meta={"author": {"name": "somebody's"}})
    assert bea.reveal(receipt).complete
    assert of(bea)[2] == {"author": {"name": "somebody's"}}


@pytest.mark.once
@pytest.mark.parametrize(
    ("sets", "problem"),
    [
        ([{"author__name": ""}], "edna.E112"),
        ([{"meta__author__": ""}], "edna.E112"),
        ([{"meta": {}, "meta__author__name": ""}], "edna.E112"),
        ([{"nothing__author": ""}], "edna.E112"),
        ([{"meta__author__name": placeholders.constant(object())}], "edna.E302"),
        ([{"meta__author__name": placeholders.truncated_date(to="year")}], "edna.E302"),
        ([{"meta__author__name": ""}, {"meta__author": {}}], "edna.W114"),
        (
            [{"meta__author__name": ""}, {"meta__author__mail": None, "meta__tags__0": placeholders.random_email()}],
            None,
        ),
    ],
)
def test_checks_prove_a_path(sets: list[dict[str, Any]], problem: str | None) -> None:
    class Odd(Disguise):
        name = "papers.odd"
        transformations = [Modify(Paper, owner="author", set=each) for each in sets]

    with registering(Odd):
        found = [each.id for each in run_checks(tags=["edna"]) if str(each.obj).endswith("Odd")]
        assert found == ([problem] if problem else [])
        if not any(name.startswith("meta") for name in sets[0]):
            nobody = Person.registered(Writer.objects.create(name="nobody"))
            with pytest.raises((EdnaError, FieldDoesNotExist)), nothing_changes():
                nobody.disguise("papers.odd")


@pytest.mark.once
def test_a_document_of_any_kind_is_read_as_json_reads_it() -> None:
    """Escaped names, positions and names of digits, the last of equal names, and what is no path of it."""
    document = ' {"a":{"\\u0062":[1,{"c":"}\\"]"}],"0":2,"0":3},"":"", "d":[]}\n'
    found = {
        path: json_keys.read(document, f"x__{path}")
        for path in ("a__b__1__c", "a__0", "a__b__0", "d__0", "a__b__c", "a__1")
    }
    assert found == {"a__b__1__c": '"}\\"]"', "a__0": "3", "a__b__0": "1", "d__0": None, "a__b__c": None, "a__1": None}
    assert json_keys.written(document, "x__a__b", "[]") == document.replace('[1,{"c":"}\\"]"}]', "[]")
    for scalar in ("7", '"text"', "null", "[]", "{}", " [ ] "):
        assert json_keys.read(scalar, "x__a") is None
        assert json_keys.written(scalar, "x__a", "1") == scalar


@pytest.mark.once
def test_a_document_may_be_deeper_than_python_reads() -> None:
    """Beside the key, under it, and where values are compared."""
    deep = "[" * 5_000 + "]" * 5_000
    document = f'{{"a": {deep}, "b": {{"c": {deep}}}, "d": "x"}}'
    assert json_keys.read(document, "x__b__c") == json_keys.read(document, "x__a") == deep
    assert json_keys.written(document, "x__d", '"y"') == document.replace('"x"', '"y"')
    assert json_keys.same_value("x__a", deep, deep.replace("[]", "[ ]")) is False


@pytest.mark.once
def test_by_hand_a_key_is_a_column_too(bea: Person) -> None:
    before = application_dump()
    paper = Paper.objects.filter(author=bea.user.pk).order_by("pk")[1]
    with edna.session(bea.user, "papers.by-hand") as session:
        session.modify(paper, meta__author__name="", meta__author__email=None)
        assert paper.meta["author"] == {"name": "", "email": None}
        with pytest.raises(edna.errors.SpecError):
            session.modify(paper, author__name="")
    assert session.receipt is not None
    assert bea.reveal(session.receipt).complete
    assert application_dump() == before


@pytest.mark.once
def test_the_audit_names_keys_and_looks_beside_them(bea: Person) -> None:
    """The name stands in the tags, too."""
    column = treatment.of(Name).tables[Paper].columns["meta"]
    assert (column.becomes.value, column.partly, column.keys) == ("changed", True, ("author.name",))
    assert column.how == "author.name to '[deleted]'"
    Paper.objects.exclude(author=bea.user.pk).delete()
    Paper.objects.filter(pk=Paper.objects.order_by("pk")[0].pk).delete()
    plan = edna.plan("papers.name", bea.user)
    tags = [place.name for place in search(values.of_plan(plan, bea.user)).places]
    assert tags == ["papers_paper.meta"]
    Paper.objects.filter(meta__tags__0="Bea").update(meta={"author": {"name": "Bea"}})
    assert search(values.of_plan(edna.plan("papers.name", bea.user), bea.user)).places == []
    Paper.objects.create(author=bea.user, meta={"author": {"name": None}, "note": "null"})
    found = search(values.of_plan(edna.plan("papers.name", bea.user), bea.user))
    assert found.places == [], "what is null is nobody's name"


@pytest.mark.once
def test_a_column_that_is_renamed_takes_its_keys_along() -> None:
    """And one that is removed."""
    batch = Modified("papers.paper", "", ("id",), ("meta__author__name", "meta__n"), [[1, '"a"', "1", '"b"', "2"]])
    moving = Moving.of(batch)
    moving.rename("meta", "details")
    assert [column.name for column in moving.columns] == ["details__author__name", "details__n"]
    assert moving.rows() == [[1, '"a"', "1", '"b"', "2"]]
    moving.drop("details__n")
    moving.drop("details")
    assert moving.columns == []


def test_a_replayed_update_of_the_document_holds_for_its_keys(bea: Person) -> None:
    """What a moderator wrote in place of the whole is what comes back."""
    receipt = bea.disguise("papers.name")
    paper = Paper.objects.filter(author=bea.user.pk).order_by("pk")[1]
    edna.replay(Paper, where={"id": paper.pk}, set={"meta": {"author": {"name": "redacted"}, "by": "a moderator"}})
    assert bea.reveal(receipt).complete
    assert of(bea)[1] == {"author": {"name": "redacted"}, "by": "a moderator"}


def test_for_everybody_and_in_chunks_it_is_the_same(bea: Person) -> None:
    before = of(bea)
    with cut_into_chunks(2):
        receipt = bea.disguise("papers.initials")
    assert [meta["author"]["name"] for meta in of(bea)[:2]] == ["B.", "B."]
    edna.disguise_all("papers.name")
    assert {meta["author"]["name"] for meta in of(bea)[:2]} == {DELETED}
    assert bea.reveal(receipt).complete
    assert {meta["author"]["name"] for meta in of(bea)[:2]} == {DELETED}
    assert [bea.reveal(each.receipt).complete for each in edna.history(bea.unlock())] == [True]
    assert of(bea) == before
