"""What others leave at what stands beside a pseudoprincipal: wherever it lies when its person comes back, it comes back with them, or is
held by a reason that can go away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db.models import Q

import edna
from edna import Decorrelate, Disguise, Held, Reason, Remove
from edna.testing import Person, application_dump
from tests.installed import registered, registering
from tests.integration.fair.models import Ledger, Line, Pennant, Remark, Stall, Trader, Visit, Ware
from tests.integration.fair.specs import Clear, Mask, Travel
from tests.support import cut_into_chunks, edna_dump, statements

pytestmark = [pytest.mark.django_db]


@pytest.fixture(autouse=True)
def fair(fair_tables: None, db: None) -> Iterator[None]:
    with registered("tests.integration.fair"):
        yield


def trader(name: str, *, ledger: bool = True) -> Person:
    made = Trader.objects.create(name=name)
    Stall.objects.create(trader=made, colour=name)
    Ware.objects.create(maker=made)
    if ledger:
        Ledger.objects.create(trader=made, text=name)
    return Person.registered(made)


@pytest.fixture
def bea() -> Person:
    return trader("bea")


@pytest.fixture
def carl() -> Person:
    return trader("carl")


def nobody() -> Trader:
    return Trader.objects.get(ware__isnull=False, pk__lt=0)


def nobody_is_there() -> bool:
    return Trader.objects.filter(pk__lt=0).exists()


# A row of which everybody has one, made by a page


def test_a_row_made_by_a_page_waits_while_the_owners_own_is_away(bea: Person, carl: Person) -> None:
    """It became hers, and her own was held for good."""
    before, tables = application_dump(), edna_dump()
    masked = bea.disguise("fair.mask")
    cleared = bea.disguise("fair.clear")
    made = Ledger.objects.create(trader=nobody())
    line = Line.objects.create(ledger=made, writer=carl.user)
    assert bea.reveal(masked).complete
    assert not Ledger.objects.filter(trader=bea.user).exists()
    assert bea.reveal(cleared).complete
    line.refresh_from_db()
    assert (line.ledger.text, Ledger.objects.count()) == ("bea", 2)
    line.delete()
    assert (application_dump(), edna_dump()) == (before, tables)


@pytest.mark.parametrize("both", [True, False])
def test_what_was_written_into_a_second_one_goes_to_the_owners_own_from_its_bag(
    bea: Person, carl: Person, both: bool
) -> None:
    """Whether that lies there, too, or not: the line waited for the ledger of nobody for ever."""
    own = Ledger.objects.get(trader=bea.user).pk
    masked = bea.disguise("fair.mask")
    Line.objects.create(ledger=Ledger.objects.create(trader=nobody()), writer=carl.user)
    cleared = bea.disguise("fair.clear", with_key=True)
    if not both:
        Ledger.objects.create(trader=bea.user, text="new")
    assert not Line.objects.exists()
    assert bea.reveal(masked).complete
    outcome = bea.reveal(cleared)
    assert outcome.held == ([] if both else [Held("fair.ledger", own, Reason.UNIQUE_TAKEN, "trader")])
    assert Line.objects.get().ledger.trader == bea.user
    assert Ledger.objects.filter(trader=bea.user).count() == 1


def test_the_owner_without_one_gets_it_from_its_bag(carl: Person) -> None:
    dora = trader("dora", ledger=False)
    masked = dora.disguise("fair.mask")
    made = Ledger.objects.create(trader=nobody(), text="page")
    Line.objects.create(ledger=made, writer=carl.user)
    cleared = dora.disguise("fair.clear", with_key=True)
    assert dora.reveal(masked).complete
    assert dora.reveal(cleared).complete
    assert Line.objects.get().ledger == made
    assert Ledger.objects.get(text="page").trader == dora.user


class PennantAndName(Disguise):
    name = "fair.pennant-and-name"
    transformations = [Remove(Pennant, owner="trader"), Decorrelate(Ware, owner="maker")]


def test_in_chunks_the_owners_own_is_back_before_their_name(bea: Person) -> None:
    with registering(PennantAndName), cut_into_chunks(1):
        Pennant.objects.create(trader=bea.user, text="bea")
        before, tables = application_dump(), edna_dump()
        gone = bea.disguise(PennantAndName.name)
        Pennant.objects.create(trader=nobody())
        assert bea.reveal(gone).complete
        assert (application_dump(), edna_dump()) == (before, tables)


def test_one_to_which_nothing_refers_waits_as_well(bea: Person) -> None:
    Pennant.objects.create(trader=bea.user, text="bea")
    before, tables = application_dump(), edna_dump()
    masked = bea.disguise("fair.mask")
    cleared = bea.disguise("fair.clear")
    Pennant.objects.create(trader=nobody())
    assert bea.reveal(masked).complete
    assert bea.reveal(cleared).complete
    assert (application_dump(), edna_dump()) == (before, tables)


# Who waits for a chunk


class ColoursAndNames(Disguise):
    """Her wares are given away with an earlier chunk than her own stall; nobody's stalls stay."""

    name = "fair.colours-and-names"
    transformations = [
        Decorrelate(Ware, owner="maker"),
        Remove(Stall, owner="trader", where=~Q(colour="grey")),
        Remove(Visit, owner="stall__trader"),
        Remove(Remark, owner="visit__stall__trader"),
    ]


class ColoursAndWares(Disguise):
    """They go with it."""

    name = "fair.colours-and-wares"
    transformations = [Remove(Ware, owner="maker"), *ColoursAndNames.transformations[1:]]


@pytest.mark.parametrize("between", [0, 1])
def test_nobody_goes_with_a_chunk_while_somebody_in_an_earlier_one_stands_for_them(
    bea: Person, carl: Person, between: int
) -> None:
    """What had come to the one waited for the other, who was gone, for ever; also where the one stood for somebody ``between`` before."""
    with registering(ColoursAndNames), cut_into_chunks(1):
        before, tables = application_dump(), edna_dump()
        receipts, nobodies = [bea.disguise("fair.mask")], [nobody()]
        for name in (*["fair.mask"] * between, ColoursAndNames.name):
            receipts.append(bea.disguise(name, with_key=True))
            nobodies.append(nobody())
        visits = [Visit.objects.create(stall=each.stall, visitor=carl.user) for each in nobodies]
        ware = Ware.objects.create(maker=nobodies[-1])
        for receipt in receipts:
            assert bea.reveal(receipt).complete
        assert not nobody_is_there()
        for row in (*visits, ware):
            row.refresh_from_db()
        assert {*(visit.stall.trader for visit in visits), ware.maker} == {bea.user}
        for row in (*visits, ware):
            row.delete()
        assert (application_dump(), edna_dump()) == (before, tables)


class Everything(ColoursAndNames):
    """Ledgers go as well, with the chunks in between: nobody's, too."""

    name = "fair.everything"
    transformations = [
        *ColoursAndNames.transformations,
        Remove(Ledger, owner="trader"),
        Remove(Line, owner="ledger__trader"),
    ]


def test_nobody_goes_with_a_chunk_while_somebody_who_stands_for_them_waits_in_an_earlier_one(
    bea: Person, carl: Person
) -> None:
    """The one waits for the ledger of the other, and somebody stands for the one in a chunk before that."""
    with registering(Everything), cut_into_chunks(1):
        before, tables = application_dump(), edna_dump()
        receipts, nobodies = [bea.disguise("fair.mask")], [nobody()]
        Ledger.objects.create(trader=nobodies[0], text="page")
        for name in ("fair.mask", Everything.name):
            receipts.append(bea.disguise(name, with_key=True))
            nobodies.append(nobody())
        Ledger.objects.create(trader=nobodies[1], text="page")
        visits = [Visit.objects.create(stall=each.stall, visitor=carl.user) for each in nobodies]
        for receipt in receipts:
            assert bea.reveal(receipt).complete
        assert not nobody_is_there()
        for visit in visits:
            visit.refresh_from_db()
            assert visit.stall.trader == bea.user
            visit.delete()
        assert (application_dump(), edna_dump()) == (before, tables)


@pytest.mark.parametrize("chunk", [1, 100])
def test_nobody_waits_for_another_disguise_in_which_somebody_stands_for_them(
    bea: Person, carl: Person, chunk: int
) -> None:
    with registering(ColoursAndNames):
        masked = bea.disguise("fair.mask")
        first = nobody()
        again = bea.disguise("fair.mask", with_key=True)
        visit = Visit.objects.create(stall=first.stall, visitor=carl.user)
        with cut_into_chunks(chunk):
            gone = bea.disguise(ColoursAndNames.name)
        assert bea.reveal(masked).complete
        assert Trader.objects.filter(pk=first.pk).exists()
        assert bea.reveal(gone).complete
        assert not Trader.objects.filter(pk=first.pk).exists()
        visit.refresh_from_db()
        assert visit.stall.trader == bea.user
        assert bea.reveal(again).complete
        assert not nobody_is_there()


def test_nobody_goes_with_a_chunk_while_a_row_in_an_earlier_one_is_theirs(bea: Person, carl: Person) -> None:
    with registering(ColoursAndWares), cut_into_chunks(1):
        before, tables = application_dump(), edna_dump()
        masked = bea.disguise("fair.mask")
        first = nobody()
        ware = Ware.objects.create(maker=first)
        gone = bea.disguise(ColoursAndWares.name, with_key=True)
        visit = Visit.objects.create(stall=first.stall, visitor=carl.user)
        assert bea.reveal(masked).complete
        assert bea.reveal(gone).complete
        assert not nobody_is_there()
        for row in (visit, ware):
            row.refresh_from_db()
        assert visit.stall.trader == ware.maker == bea.user
        for row in (visit, ware):
            row.delete()
        assert (application_dump(), edna_dump()) == (before, tables)


# What is said of an attached row that is to go


class ForgettingVisits(Mask):
    name = "fair.forgetting-visits"
    references = {"fair.Visit.stall": "delete"}


class ForgettingLedgers(Mask):
    name = "fair.forgetting-ledgers"
    references = {"fair.Ledger.trader": "delete"}


@pytest.mark.parametrize("cls", [ForgettingVisits, ForgettingLedgers])
def test_what_is_said_of_a_sealed_row_brings_that_back(bea: Person, carl: Person, cls: type[Disguise]) -> None:
    """Where it lies in a table, the row is not deleted either. It was forgotten, and what was said of it waited for it for ever."""
    eve = trader("eve")
    with registering(cls):
        before, tables = application_dump(), edna_dump()
        masked = bea.disguise(cls.name)
        visit = Visit.objects.create(stall=nobody().stall, visitor=carl.user)
        Remark.objects.create(visit=visit, speaker=eve.user, text="as said")
        Line.objects.create(ledger=Ledger.objects.create(trader=nobody()), writer=carl.user)
        cleared = bea.disguise("fair.clear", with_key=True)
        assert bea.reveal(masked).complete
        assert bea.reveal(cleared).complete
        assert [(each.text, each.visit.stall.trader) for each in Remark.objects.all()] == [("as said", bea.user)]
        assert [each.ledger.trader for each in Line.objects.all()] == [bea.user]
        assert bea.history() == []
        for model in (Remark, Visit, Line):
            model.objects.all().delete()
        assert (application_dump(), edna_dump()) == (before, tables)


@pytest.mark.parametrize("cls", [ForgettingVisits, ForgettingLedgers])
def test_a_sealed_row_of_which_nothing_is_said_is_forgotten(bea: Person, carl: Person, cls: type[Disguise]) -> None:
    with registering(cls):
        masked = bea.disguise(cls.name)
        before = application_dump()
        Visit.objects.create(stall=nobody().stall, visitor=carl.user)
        Ledger.objects.create(trader=nobody())
        cleared = bea.disguise("fair.clear", with_key=True)
        assert bea.reveal(masked).complete
        assert bea.reveal(cleared).complete
        assert Visit.objects.count() == (cls is ForgettingLedgers)
        assert len(application_dump()["fair_ledger"]) == len(before["fair_ledger"])
        assert bea.history() == []


# What somebody else has taken away with themselves


@pytest.mark.parametrize("carl_first", [True, False])
@pytest.mark.parametrize("own", [True, False])
def test_what_was_left_beside_nobody_and_taken_away_comes_back_beside_the_owner(
    bea: Person, carl: Person, own: bool, carl_first: bool
) -> None:
    """Whoever is back first. It waited for a companion that had gone."""
    if not own:
        Stall.objects.get(trader=bea.user).delete()
    before, tables = application_dump(), edna_dump()
    masked = bea.disguise("fair.mask")
    stall = nobody().stall
    Visit.objects.create(stall=stall, visitor=carl.user)
    gone = carl.disguise("fair.travel")
    first, second = ((carl, gone), (bea, masked))[:: 1 if carl_first else -1]
    for person, receipt in (first, second):
        assert person.reveal(receipt).complete
    visit = Visit.objects.get()
    assert visit.stall.trader == bea.user
    assert (visit.stall == stall) is not own
    visit.delete()
    if not own:
        stall.delete()
    assert (application_dump(), edna_dump()) == (before, tables)


def test_what_was_taken_away_waits_with_the_companion_for_what_is_beside_the_owner(bea: Person, carl: Person) -> None:
    masked = bea.disguise("fair.mask")
    Visit.objects.create(stall=nobody().stall, visitor=carl.user)
    cleared, gone = bea.disguise("fair.clear"), carl.disguise("fair.travel")
    assert bea.reveal(masked).complete
    assert Trader.objects.filter(pk__lt=0).exists()
    assert bea.reveal(cleared).complete
    assert not Trader.objects.filter(pk__lt=0).exists()
    assert carl.reveal(gone).complete
    assert Visit.objects.get().stall.colour == "bea"


def at_a_stall(person: Person, nobody: Trader) -> None:
    Visit.objects.create(stall=nobody.stall, visitor=person.user)


def by_name(person: Person, nobody: Trader) -> None:
    """Of nobody, in what goes with the person."""
    visit = Visit.objects.create(stall=person.user.stall, visitor=person.user)
    Remark.objects.create(visit=visit, speaker=nobody)


@pytest.mark.parametrize("leave", [at_a_stall, by_name])
@pytest.mark.parametrize("newest_first", [True, False])
def test_what_was_taken_away_follows_from_one_pseudoprincipal_to_the_next(
    bea: Person, carl: Person, newest_first: bool, leave: Callable[[Person, Trader], None]
) -> None:
    """One stands for the other, and each is named by what somebody took away. An item stayed in a list that led to nothing."""
    before, tables = application_dump(), edna_dump()
    receipts = [bea.disguise("fair.mask")]
    first = nobody()
    leave(carl, first)
    gone = [carl.disguise("fair.travel")]
    receipts.append(bea.disguise("fair.mask", with_key=True))
    second = nobody()
    assert first != second
    leave(carl, second)
    gone.append(carl.disguise("fair.travel"))
    for receipt in receipts[:: -1 if newest_first else 1]:
        assert bea.reveal(receipt).complete
    for receipt in gone:
        assert carl.reveal(receipt).complete
    named = [visit.stall.trader for visit in Visit.objects.exclude(stall=carl.user.stall)]
    assert [*named, *(remark.speaker for remark in Remark.objects.all())] == [bea.user, bea.user]
    for model in (Remark, Visit):
        model.objects.all().delete()
    assert (application_dump(), edna_dump()) == (before, tables)


def test_what_was_taken_away_follows_a_companion_that_lies_in_a_bag(bea: Person, carl: Person) -> None:
    masked = bea.disguise("fair.mask")
    Visit.objects.create(stall=nobody().stall, visitor=carl.user)
    gone = carl.disguise("fair.travel")
    cleared = bea.disguise("fair.clear", with_key=True)
    assert not Stall.objects.exclude(trader=carl.user).exists()
    assert bea.reveal(masked).complete
    assert bea.reveal(cleared).complete
    assert carl.reveal(gone).complete
    assert Visit.objects.get().stall.colour == "bea"


# What is held in the very bag whose reveal lets the pseudoprincipal go


class Leave(Disguise):
    """The account as well."""

    name = "fair.leave"
    transformations = [
        Remove(Trader),
        *Clear.transformations,
        *Travel.transformations,
        Remove(Remark, owner="speaker"),
        Remove(Ware, owner="maker"),
    ]


class ClearColours(Disguise):
    """Her own stall goes, and what others have left at any of hers."""

    name = "fair.clear-colours"
    transformations = [
        Remove(Stall, owner="trader", where=~Q(colour="grey")),
        Remove(Visit, owner="stall__trader"),
        Remove(Remark, owner="visit__stall__trader"),
    ]


class ClearAndForget(ClearColours):
    name = "fair.clear-and-forget"
    references = {"fair.Visit.stall": "delete"}


class ClearAndKeep(ClearColours):
    name = "fair.clear-and-keep"
    references = {"fair.Visit.stall": "retain"}


def cleared_once_masked(bea: Person, carl: Person, cls: type[Disguise], *, remark: bool) -> edna.Receipt:
    """What carl has left at nobody's stall lies in her bag, with the key of nobody."""
    masked = bea.disguise("fair.mask")
    visit = Visit.objects.create(stall=nobody().stall, visitor=carl.user)
    if remark:
        Remark.objects.create(visit=visit, speaker=nobody())
    cleared = bea.disguise(cls.name, with_key=True)
    assert bea.reveal(masked).complete
    assert nobody_is_there()
    return cleared


@pytest.mark.parametrize("cls", [ClearColours, ClearAndForget, ClearAndKeep])
def test_what_is_held_as_nobody_may_go_comes_back(bea: Person, carl: Person, cls: type[Disguise]) -> None:
    """It waited for a companion that had gone, and what named nobody itself for that. What is to be forgotten, or to keep nobody, does as
    in a table: it stays while something is said of it, or keeps them for good."""
    with registering(Leave, cls):
        before, tables = application_dump(), edna_dump()
        cleared = cleared_once_masked(bea, carl, cls, remark=True)
        left = carl.disguise(Leave.name)
        assert {(each.model, each.reason) for each in bea.reveal(cleared).held} == {
            ("fair.visit", Reason.REFERENCE_MISSING),
            ("fair.remark", Reason.REFERENCE_MISSING),
        }
        gone = cls is ClearColours
        assert nobody_is_there() is not gone
        assert carl.reveal(left).complete
        bea.reveal(cleared)
        remark = Remark.objects.get()
        assert remark.visit.stall.colour == ("bea" if gone else "grey")
        assert remark.speaker == bea.user or cls is ClearAndKeep
        remark.delete()
        if cls is not ClearAndKeep:
            bea.reveal(cleared) if not gone else remark.visit.delete()
            assert (application_dump(), edna_dump()) == (before, tables)


def test_what_is_held_is_forgotten_where_that_is_said_and_no_outcome_holds_it(bea: Person, carl: Person) -> None:
    with registering(Leave, ClearAndForget):
        before, tables = application_dump(), edna_dump()
        cleared = cleared_once_masked(bea, carl, ClearAndForget, remark=False)
        left = carl.disguise(Leave.name)
        outcome = bea.reveal(cleared)
        assert (outcome.held, outcome.restored) == ([], {"fair.stall": 1})
        assert (bea.history(), nobody_is_there()) == ([], False)
        assert carl.reveal(left).complete
        assert (application_dump(), edna_dump()) == (before, tables)


def test_who_knows_nothing_of_companions_waits_for_nobody_else(bea: Person, carl: Person, settings: Any) -> None:
    """With random keys a statement tells whose a stall is."""
    settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": "random"}
    masked = bea.disguise("fair.mask")
    Visit.objects.create(stall=Ware.objects.exclude(maker=carl.user).get().maker.stall, visitor=carl.user)
    Visit.objects.create(stall=trader("eve").user.stall, visitor=carl.user)
    gone = carl.disguise("fair.travel")
    assert bea.reveal(masked).complete
    assert carl.reveal(gone).complete
    assert {visit.stall.colour for visit in Visit.objects.all()} == {"bea", "eve"}


@pytest.mark.once
def test_where_no_companion_is_named_nobody_asks(bea: Person, carl: Person) -> None:
    """Keys tell: a disguise sends as many statements as without companions."""
    Visit.objects.create(stall=bea.user.stall, visitor=carl.user)
    sent = statements(lambda: carl.disguise("fair.travel"))
    assert not any("fair_stall" in sql for sql in sent)
