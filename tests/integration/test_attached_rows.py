"""What others leave at what stands beside a pseudoprincipal: wherever it lies when its person comes back, it comes back with them, or is
held by a reason that can go away.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from edna import Decorrelate, Disguise, Held, Reason, Remove
from edna.testing import Person, application_dump
from tests.installed import registered, registering
from tests.integration.fair.models import Ledger, Line, Pennant, Remark, Stall, Trader, Visit, Ware
from tests.integration.fair.specs import Mask
from tests.support import cut_into_chunks, edna_dump

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
