"""Owners that no foreign key leads to: rows that name somebody by a value, and rows about somebody."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.models import Q

import edna
from edna import Disguise, Keep, Modify, Param, Reason, Remove
from edna.testing import Person, application_dump
from tests.installed import installed, registered, registering
from tests.integration.counter.models import Address, Answer, Customer, Entry, EntryNote, Regular, Remark, Ticket, Visit
from tests.integration.counter.specs import BY_EMAIL
from tests.support import statements

pytestmark = [pytest.mark.django_db, pytest.mark.long]

COUNTER = "tests.integration.counter"
FOLDED = edna.by_value("submitter_email", "email", principal=Customer, ignore_case=True)


def disguise(*steps: Any) -> type[Disguise]:
    return type(
        "Sample", (Disguise,), {"__module__": __name__, "name": "counter.sample", "transformations": list(steps)}
    )


@pytest.fixture(scope="module")
def tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed(COUNTER, principals=["counter.customer"]):
        yield


@pytest.fixture(autouse=True)
def counter(tables: None, db: None) -> Iterator[None]:
    ContentType.objects.clear_cache()  # those of an earlier test are gone with it
    with registered(COUNTER):
        yield


def customer(email: str, *, rows: int = 1) -> Person:
    """Somebody with ``rows`` rows in each table."""
    made = Customer.objects.create(email=email, nickname=email[:3])
    Address.objects.create(customer=made, email=f"other-{email}")
    for model in (Customer, Regular):
        kind = ContentType.objects.get_for_model(model, for_concrete_model=False)
        Entry.objects.bulk_create(Entry(content_type=kind, object_id=str(made.pk), text=email) for _ in range(rows))
    other = ContentType.objects.get_for_model(Ticket)
    mine = ContentType.objects.get_for_model(Customer)
    Entry.objects.create(content_type=other, object_id=str(made.pk), text="about a ticket")
    Remark.objects.create(subject_type=mine, subject_number=made.pk, context_type=other, context_number=made.pk)
    Remark.objects.create(subject_type=other, subject_number=made.pk, context_type=mine, context_number=made.pk)
    for number in range(rows):
        ticket = Ticket.objects.create(submitter_email=email, text=f"of {email} {number}")
        Answer.objects.create(ticket=ticket, text=f"to {email}")
        Visit.objects.create(customer_number=made.pk)
    return Person.registered(made)


def left_of(email: str) -> list[int]:
    return [
        Ticket.objects.filter(submitter_email=email).count(),
        Answer.objects.filter(text=f"to {email}").count(),
        Entry.objects.filter(text=email).count(),
    ]


def test_rows_that_name_somebody_go_with_them_and_come_back() -> None:
    """By value, along a path to a row with the value, by number, and about them; nobody else's."""
    bea, _ = customer("bea@example.org"), customer("carl@example.org")
    Ticket.objects.create(submitter_email=None)
    Ticket.objects.create(submitter_email="")
    Visit.objects.create(customer_number=0)
    before = application_dump()
    plan = edna.plan("counter.leave", bea.user)
    receipt = edna.disguise("counter.leave", bea.user)
    assert left_of("bea@example.org") == [0, 0, 0]
    assert left_of("carl@example.org") == [1, 1, 2]
    assert plan.counts == {
        "counter.customer": 1,
        "counter.address": 1,
        "counter.ticket": 1,
        "counter.answer": 1,
        "counter.visit": 1,
        "counter.entry": 2,
        "counter.remark": 2,
    }
    assert bea.reveal(receipt).complete
    assert application_dump() == before


def test_the_very_value_that_names_somebody_may_be_replaced() -> None:
    """In the rows and in the account, in one disguise."""
    bea = customer("bea@example.org")
    before = application_dump()
    receipt = edna.disguise("counter.hush", bea.user)
    assert left_of("bea@example.org") == [0, 1, 0]
    assert set(Ticket.objects.values_list("submitter_email", "text")) == {("", "[gone]")}
    assert bea.reveal(receipt).complete
    assert application_dump() == before


def test_everybody_in_one_go_and_in_statements_that_do_not_grow() -> None:
    """A batch of people is joined in SQL; the preview of all counts the same."""
    people = [customer(f"{name}@example.org") for name in ("ada", "bea", "carl")]
    Ticket.objects.create(submitter_email="stranger@example.org")
    Entry.objects.create(content_type=ContentType.objects.get_for_model(Customer), object_id="no number")
    before = application_dump()
    assert edna.plan_all("counter.leave").counts["counter.ticket"] == 3
    assert edna.plan_all("counter.leave").counts["counter.entry"] == 6
    receipts = edna.disguise_all("counter.leave")
    assert [Customer.objects.count(), Ticket.objects.count(), Answer.objects.count(), Visit.objects.count()] == [
        0,
        1,
        0,
        0,
    ]
    assert [Remark.objects.count(), Entry.objects.count()] == [0, 4]
    assert len(receipts) == 3
    for person in people:
        assert person.reveal(person.history()[0].receipt).complete
    assert application_dump() == before


def test_one_more_row_takes_no_more_statements() -> None:
    """Of a disguise and of its reveal."""
    one, many = customer("one@example.org"), customer("many@example.org", rows=20)
    counted = []
    for person in (one, many):
        receipts: list[Any] = []
        disguising = statements(lambda whom=person, made=receipts: made.append(whom.disguise("counter.leave")))
        revealing = statements(lambda whom=person, made=receipts: whom.reveal(made[0]))
        counted.append((len(disguising), len(revealing)))
    assert counted[0] == counted[1]


@pytest.mark.parametrize("rows", [3, 7])
def test_a_large_disguise_finds_its_rows_in_every_chunk(rows: int, settings: Any) -> None:
    """What says whose the rows are goes after them."""
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 5}
    bea = customer("bea@example.org", rows=rows)
    before = application_dump()
    for name in ("counter.leave", "counter.hush"):
        receipt = edna.disguise(name, bea.user)
        assert left_of("bea@example.org")[0] == 0
        assert bea.reveal(receipt).complete
        assert application_dump() == before


def test_nobody_owns_what_is_empty() -> None:
    """An account without an address is no owner of all that has none."""
    bea = customer("")
    Ticket.objects.create(submitter_email=None)
    assert edna.plan("counter.leave", bea.user).counts.get("counter.ticket", 0) == 0
    assert edna.plan_all("counter.leave").counts.get("counter.ticket", 0) == 0
    Customer.objects.update(email=" ")
    Ticket.objects.create(submitter_email=" ")
    assert edna.plan("counter.leave", bea.user).counts.get("counter.ticket", 0) == 0


def test_case_and_length_are_no_way_to_somebody_elses_rows() -> None:
    """As the database compares, unless it is told otherwise; a longer value is another one."""
    bea = customer("bea@example.org")
    Ticket.objects.create(submitter_email="BEA@Example.org")
    Ticket.objects.create(submitter_email="bea@example.org" + "g" * 240)
    exact = 2 if connection.vendor == "mysql" else 1
    assert edna.plan("counter.leave", bea.user).counts["counter.ticket"] == exact
    with registering(
        ignoring_case := disguise(Remove(Ticket, owner=FOLDED), Remove(Answer, owner=f"ticket__{FOLDED}"))
    ):
        assert edna.plan(ignoring_case.name, bea.user).counts["counter.ticket"] == 2


def test_one_of_several_addresses_and_several_columns_at_once() -> None:
    """A column of rows that refer to the principal; and columns that must all be the same."""
    bea = customer("bea@example.org")
    Ticket.objects.create(submitter_email="other-bea@example.org")
    Ticket.objects.create(submitter_email="bea@example.org", nickname="bea")
    elsewhere = edna.by_value("submitter_email", "address__email", principal=Customer)
    both = edna.by_value({"submitter_email": "email", "nickname": "nickname"}, principal=Customer)
    for owner in (elsewhere, both):
        quiet = disguise(Modify(Ticket, owner=owner, set={"text": "[gone]"}))
        with registering(quiet):
            receipt = bea.disguise(quiet.name)
            assert Ticket.objects.filter(text="[gone]").count() == 1
            assert bea.reveal(receipt).complete


@pytest.mark.parametrize("first", [0, 1])
def test_what_two_share_by_value_comes_back_with_the_last_whose_account_is_back(first: int) -> None:
    """Both accounts are gone: whom the value meant is away, although no row says so any more."""
    people = [customer("bea@example.org", rows=0), customer("carl@example.org", rows=0)]
    Ticket.objects.create(submitter_email="bea@example.org", nickname="car", text="ours")
    before = application_dump()
    other = edna.by_value("nickname", "nickname", principal=Customer)
    leaving = disguise(
        Modify(Ticket, owner=[BY_EMAIL, other], set={"text": ""}),
        Remove(Address, owner="customer"),
        Remove(Customer),
    )
    with registering(leaving):
        receipts = [each.disguise(leaving.name) for each in people]
        order = [first, 1 - first]
        people[order[0]].reveal(receipts[order[0]])
        assert Ticket.objects.get().text == ""
        people[order[1]].reveal(receipts[order[1]])
    assert application_dump() == before


def test_whoever_may_have_a_shared_row_under_another_disguise_is_told_of_the_next() -> None:
    """One hides what two own, the other leaves with all of it: nobody's text is back with the one who was here all the time."""
    people = [customer("bea@example.org", rows=0), customer("carl@example.org", rows=0)]
    Ticket.objects.create(submitter_email="bea@example.org", nickname="car", text="ours")
    before = application_dump()
    both = Modify(Ticket, owner=[BY_EMAIL, edna.by_value("nickname", "nickname", principal=Customer)], set={"text": ""})
    hiding, leaving = disguise(both), disguise(both, Remove(Address, owner="customer"), Remove(Customer))
    leaving.name = "counter.leaving"
    with registering(hiding, leaving):
        hidden, left = people[0].disguise(hiding.name), people[1].disguise(leaving.name)
        assert [held.reason for held in people[0].reveal(hidden).held] == [Reason.OWNER_AWAY]
        assert Ticket.objects.get().text == ""
        people[1].reveal(left)
        people[0].reveal(hidden)
    assert application_dump() == before


@pytest.mark.parametrize("first", [0, 1])
def test_what_is_somebody_elses_too_comes_back_with_the_last(first: int) -> None:
    """A ticket goes with whoever asked and with whoever was to answer, and its text is read when both are there."""
    people = [customer("bea@example.org"), customer("carl@example.org")]
    Answer.objects.all().delete()
    Ticket.objects.exclude(submitter_email="bea@example.org").delete()
    Ticket.objects.update(assigned_to=people[1].user)
    before = application_dump()
    steps = [Modify(Ticket, owner=[BY_EMAIL, "assigned_to"], set={"text": ""})]
    gone = [
        Remove(Ticket, owner=BY_EMAIL),
        Remove(Ticket, owner="assigned_to"),
        Remove(Answer, owner="ticket__assigned_to"),
    ]
    gone.append(Remove(Answer, owner=f"ticket__{BY_EMAIL}"))
    rest = [Remove(Customer), Remove(Address, owner="customer")]
    for words in (steps, [*gone, *rest]):
        with registering(both := disguise(*words)):
            receipts = [each.disguise(both.name) for each in people]
            order = [first, 1 - first]
            people[order[0]].reveal(receipts[order[0]])
            assert "of bea@example.org 0" not in Ticket.objects.values_list("text", flat=True)
            assert people[order[1]].reveal(receipts[order[1]]).complete
            assert application_dump() == before


@pytest.mark.once
def test_a_value_that_was_changed_since_is_not_overwritten() -> None:
    """What somebody else has written in its place stays; the rest waits, and nothing is lost."""
    bea = customer("bea@example.org")
    receipt = bea.disguise("counter.hush")
    Ticket.objects.update(submitter_email="desk@example.org")
    outcome = bea.reveal(receipt)
    assert [(held.model, held.field) for held in outcome.held] == [("counter.ticket", "submitter_email")]
    Ticket.objects.update(submitter_email="")
    assert bea.reveal(receipt).complete
    assert left_of("bea@example.org") == [1, 1, 2]


@pytest.mark.once
def test_rows_of_a_new_address_are_found_and_those_of_the_old_are_not() -> None:
    """Whose a row is, the values of the moment tell."""
    bea = customer("bea@example.org")
    Customer.objects.update(email="new@example.org")
    Ticket.objects.create(submitter_email="new@example.org")
    assert edna.plan("counter.leave", bea.user).counts["counter.ticket"] == 1


@pytest.mark.once
@pytest.mark.parametrize("first", [0, 1])
def test_two_removals_bring_a_row_back_with_the_last(first: int) -> None:
    """The account is gone whose value the row has: no key would point at nothing and say so."""
    two = disguise(
        Remove(Customer),
        Remove(Address, owner="customer"),
        Remove(Ticket, owner=BY_EMAIL, when=edna.ANY_LEFT),
        Remove(Ticket, owner="assigned_to"),
        Keep(Answer, "ticket"),
    )
    bea, carl = customer("bea@example.org"), customer("carl@example.org")
    Answer.objects.all().delete()
    Ticket.objects.filter(submitter_email="bea@example.org").update(assigned_to=carl.user)
    before = application_dump()
    with registering(two):
        people = (bea, carl) if first == 0 else (carl, bea)
        receipts = [person.disguise(two.name) for person in people]
        held = people[0].reveal(receipts[0]).held
        assert {each.reason for each in held} == {Reason.OWNER_AWAY if first else Reason.REFERENCE_MISSING}
        assert not Ticket.objects.filter(text="of bea@example.org 0").exists()
        assert people[1].reveal(receipts[1]).complete
    assert application_dump() == before


ABOUT = edna.about(Customer)
ABOUT_OF_ENTRY = edna.about(Customer, by=("entry__content_type", "entry__object_id"))
WROTE = edna.by_value("text", "email", principal=Customer)


@pytest.mark.parametrize(
    "steps",
    [
        [Remove(Entry, owner=WROTE), Remove(Entry, owner=ABOUT)],
        [Remove(EntryNote, owner=WROTE), Remove(EntryNote, owner=ABOUT_OF_ENTRY)],
        [Modify(EntryNote, owner=[WROTE, ABOUT_OF_ENTRY], set={"slots": {}})],
    ],
    ids=["removed", "removed with what it hangs on", "changed"],
)
@pytest.mark.parametrize("first", [0, 1])
def test_what_is_about_somebody_does_not_come_back_while_they_are_away(first: int, steps: list[Any]) -> None:
    """The row's number says whom it is about although their account is gone. They are away all the same."""
    bea, carl = (Person.registered(Customer.objects.create(email=f"{name}@example.org")) for name in ("bea", "carl"))
    kind = ContentType.objects.get_for_model(Customer)
    entry = Entry.objects.create(content_type=kind, object_id=str(carl.user.pk), text="bea@example.org")
    if steps[0].model is EntryNote:
        EntryNote.objects.create(entry=entry, text="bea@example.org", slots={"said": "of carl"})
    before = application_dump()
    addresses = Remove(Address, owner="customer")
    kept = [Keep(EntryNote, "entry")] if steps[0].model is Entry else []
    with registering(leaving := disguise(*steps, *kept, addresses, Remove(Customer))):
        people = [bea, carl] if first == 0 else [carl, bea]
        receipts = [person.disguise(leaving.name) for person in people]
        assert {held.reason for held in people[0].reveal(receipts[0]).held} == {Reason.OWNER_AWAY}
        if steps[0].model is EntryNote:
            assert not EntryNote.objects.exclude(slots={}).exists()
        else:
            assert not Entry.objects.exists()
        assert people[1].reveal(receipts[1]).complete
    assert application_dump() == before


@pytest.mark.once
def test_an_export_leaves_out_whom_else_a_row_names_by_value() -> None:
    _, carl = customer("bea@example.org"), customer("carl@example.org")
    Ticket.objects.filter(submitter_email="bea@example.org").update(assigned_to=carl.user)
    shared = disguise(Modify(Ticket, owner=[BY_EMAIL, "assigned_to"], set={"text": ""}))
    with registering(shared), carl.unlock() as unlocked:
        theirs, own = [row for row in edna.export(unlocked)["rows"] if row["model"] == "counter.ticket"]
    assert "bea@example.org" not in str(
        (theirs["columns"].get("submitter_email"), own["columns"].get("submitter_email"))
    )
    assert [row["left_out"] for row in (theirs, own)] == [["submitter_email"], []]
    assert own["columns"]["submitter_email"] == "carl@example.org"


@pytest.mark.once
@pytest.mark.parametrize(
    "where",
    [
        Q(text="of a person"),
        Q(text="of a person", pk=Param("number")),
        Q(text="of a person") & ~Q(pk=Param("number")),
    ],
)
def test_an_export_takes_a_value_for_somebody_only_where_the_step_does(where: Q) -> None:
    """The same number may be an order's. What a parameter chooses does not matter: it is theirs, whether it is chosen or not."""
    bea = customer("bea@example.org", rows=0)
    for text in ("of a person", "of an order"):
        Ticket.objects.create(nickname="bea", text=text)
    named = disguise(Remove(Ticket, owner=edna.by_value("nickname", "nickname", principal=Customer), where=where))
    named.params = {"number": int}
    with registering(named), bea.unlock() as unlocked:
        rows = [row["columns"]["text"] for row in edna.export(unlocked)["rows"] if row["model"] == "counter.ticket"]
    assert rows == ["of a person"]


@pytest.mark.parametrize("how", ["back", "no way back", "erased"])
def test_who_leaves_last_takes_their_address_out_of_a_shared_row(how: str) -> None:
    """By value nobody stands for them: the row that comes back has what the disguise put there, until they come back."""
    agent, bea = (Person.registered(Customer.objects.create(email=f"{name}@example.org")) for name in ("agent", "bea"))
    ticket = Ticket.objects.create(submitter_email=bea.user.email, assigned_to=agent.user, text="of bea")
    before = application_dump()
    steps = [
        Remove(Ticket, owner=[BY_EMAIL, "assigned_to"]),
        Remove(Answer, owner=[f"ticket__{BY_EMAIL}", "ticket__assigned_to"]),
        Modify(Ticket, owner=BY_EMAIL, set={"submitter_email": "", "text": "[gone]"}),
    ]
    with registering(disguise(*steps)):
        receipt = agent.disguise("counter.sample")
        theirs = edna.disguise("counter.sample", bea.user, keep_no_way_back=how == "no way back")
        assert not Ticket.objects.exists()
        with bea.unlock() as unlocked:
            assert [each.counts for each in edna.history(unlocked)] == [{"counter.ticket": 1}] * (theirs is not None)
            if how == "erased":
                assert edna.plan_erasure(theirs, unlocked).rows == {"counter.ticket": 1}
                edna.erase(theirs, unlocked)
        assert agent.reveal(receipt).complete
        ticket.refresh_from_db()
        assert (ticket.submitter_email, ticket.text, ticket.assigned_to) == ("", "[gone]", agent.user)
        if how == "back":
            assert bea.reveal(theirs).complete
            assert application_dump() == before


ORDERS = list(itertools.product(itertools.permutations((0, 1)), repeat=2))


@pytest.mark.once
@pytest.mark.parametrize(("out", "back"), ORDERS)
@pytest.mark.parametrize("removed", [False, True])
def test_what_says_whose_a_row_is_does_not_come_back_by_somebody_else_meanwhile(
    removed: bool, out: tuple[int, int], back: tuple[int, int]
) -> None:
    """Who has a ticket to do takes its submitter's address out as a whole. Then the ticket names nobody to whoever leaves after that."""
    bea, carl = (
        Person.registered(Customer.objects.create(email=f"{name}@example.org", nickname=name))
        for name in ("bea", "carl")
    )
    Ticket.objects.create(submitter_email="bea@example.org", assigned_to=carl.user, text="about a pump")
    by_email = edna.by_value("submitter_email", "email", principal=Customer)
    answers = edna.by_value("ticket__submitter_email", "email", principal=Customer)
    theirs = (
        [Remove(Answer, owner=answers), Remove(Ticket, owner=by_email)]
        if removed
        else [Modify(Ticket, owner=by_email, set={"submitter_email": "", "text": "[gone]"})]
    )
    empty = Modify(Ticket, owner="assigned_to", set={"submitter_email": None})
    before = application_dump()
    with registering(disguise(*theirs, empty, Remove(Address, owner="customer"), Remove(Customer))):
        receipts = {number: (bea, carl)[number].disguise("counter.sample") for number in out}
        for number in back:
            (bea, carl)[number].reveal(receipts[number])
            if number == back[0] == 1:
                assert left_of("bea@example.org")[0] == 0
        assert application_dump() == before


@pytest.mark.once
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("erased", [False, True])
def test_what_says_whose_a_row_was_never_comes_back_after_they_have_gone_for_good(erased: bool, several: bool) -> None:
    """Who has the ticket to do had taken the address out before, and comes back after its owner has left nothing to come back to."""
    bea, carl = (
        Person.registered(Customer.objects.create(email=f"{name}@example.org", nickname=name))
        for name in ("bea", "carl")
    )
    Ticket.objects.create(submitter_email="bea@example.org", nickname="bea", assigned_to=carl.user, text="about a pump")
    columns = {"submitter_email": "email", "nickname": "nickname"} if several else {"submitter_email": "email"}
    theirs = edna.by_value(columns, principal=Customer)
    steps = (
        Modify(Ticket, owner=theirs, set={"submitter_email": "", "nickname": "", "text": "[gone]"}),
        Modify(Ticket, owner="assigned_to", set={"submitter_email": None}),
        Remove(Address, owner="customer"),
        Remove(Customer),
    )
    with registering(disguise(*steps)):
        receipt = carl.disguise("counter.sample")
        gone = edna.disguise("counter.sample", bea.user, keep_no_way_back=not erased)
        if erased:
            with bea.unlock() as unlocked:
                edna.erase(gone, unlocked)
        assert {held.reason for held in carl.reveal(receipt).held} == {Reason.OWNER_AWAY}
        assert left_of("bea@example.org")[0] == 0


@pytest.mark.once
def test_what_says_whose_a_row_is_does_not_come_back_where_another_disguise_names_them() -> None:
    """Carl puts his tickets aside, and says nothing of submitters. Bea leaves by another disguise, which does not find hers then."""
    bea, carl = (
        Person.registered(Customer.objects.create(email=f"{name}@example.org", nickname=name))
        for name in ("bea", "carl")
    )
    Ticket.objects.create(submitter_email="bea@example.org", assigned_to=carl.user, text="about a pump")
    before = application_dump()
    by_email = edna.by_value("submitter_email", "email", principal=Customer)
    aside = disguise(Modify(Ticket, owner="assigned_to", set={"submitter_email": None}))
    aside.name = "counter.aside"
    leave = disguise(
        Modify(Ticket, owner=by_email, set={"submitter_email": "", "text": "[gone]"}),
        Remove(Address, owner="customer"),
        Remove(Customer),
    )
    with registering(aside, leave):
        put_aside, left = carl.disguise(aside.name), bea.disguise(leave.name)
        assert {held.reason for held in carl.reveal(put_aside).held} == {Reason.OWNER_AWAY}
        assert left_of("bea@example.org")[0] == 0
        bea.reveal(left)
        carl.reveal(put_aside)
    assert application_dump() == before
