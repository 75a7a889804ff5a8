"""Owners who are named in a list or a document, beside others: of each row, each has their own element."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import edna
from edna import Disguise, Modify, Remove, placeholders
from edna.testing import Person, application_dump
from tests.databases import first_everywhere
from tests.installed import installed, registered, registering
from tests.integration.counter.models import Address, Board, Customer
from tests.support import statements

pytestmark = [pytest.mark.django_db, pytest.mark.long]

COUNTER = "tests.integration.counter"


class Unlist(Disguise):
    """Out of the lists in which they are with others; the customer stays."""

    name = "counter.unlist"
    transformations = [
        Modify(Board, owner=edna.by_element("watchers__*", "email", principal=Customer), set={"watchers__*": None}),
        Modify(
            Board,
            owner=edna.by_element("people__readers__*__mail", "email", principal=Customer),
            set={"people__readers__*__mail": "", "people__readers__*__name": placeholders.random_name()},
        ),
        Modify(
            Board, owner=edna.by_element("people__chair", "email", principal=Customer), set={"people__chair": "nobody"}
        ),
        Modify(Board, owner=edna.by_element("cc__*", "email", principal=Customer), set={"cc__*": ""}),
    ]


class Depart(Disguise):
    """The same, and the account goes, with the boards that are the customer's own."""

    name = "counter.depart"
    transformations = [
        *Unlist.transformations,
        Remove(Board, owner="owner"),
        Remove(Address, owner="customer"),
        Remove(Customer),
    ]


@pytest.fixture(scope="module")
def tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed(COUNTER, principals=["counter.customer"]):
        yield


@pytest.fixture(autouse=True)
def counter(tables: None, db: None) -> Iterator[None]:
    with registered(COUNTER), registering(Unlist, Depart):
        yield


def customer(name: str) -> Person:
    return Person.registered(Customer.objects.create(email=f"{name}@example.org", nickname=name))


def test_each_takes_their_own_elements_and_nobody_elses() -> None:
    """Wherever they stand, twice in one list too; not what only looks like it, and not elsewhere in the document."""
    bea, carl, other = "bea@example.org", "carl@example.org", "abea@example.org"
    person = customer("bea")
    readers = [{"mail": carl, "name": "Carl"}, {"name": "x"}, {"mail": bea, "name": "Bea", "since": 3}]
    made = Board.objects.create(
        watchers=[carl, bea, 7, bea, other],
        people={"readers": readers, "chair": bea, "spoke": [bea]},
        cc=f" {carl} ; {bea} ,{other}\n{bea}",
    )
    Board.objects.create(watchers=[other, [bea]], cc=other)
    before = application_dump()
    plan = edna.plan("counter.unlist", person.user)
    assert plan.counts == {"counter.board": 1}
    receipt = person.disguise("counter.unlist")
    made.refresh_from_db()
    assert made.watchers == [carl, None, 7, None, other]
    assert made.cc == f" {carl} ; ,{other}\n"
    of_carl, of_nobody, of_bea = made.people["readers"]
    assert (of_carl, of_nobody) == ({"mail": carl, "name": "Carl"}, {"name": "x"})
    assert (of_bea["mail"], of_bea["since"]) == ("", 3)
    assert of_bea["name"] not in ("", "Bea")
    assert (made.people["chair"], made.people["spoke"]) == ("nobody", [bea])
    made.watchers.append(carl)  # whoever comes meanwhile stays
    made.save()
    assert person.reveal(receipt).complete
    made.refresh_from_db()
    assert made.watchers.pop() == carl
    made.save()
    assert application_dump() == before


@first_everywhere("back", list(itertools.permutations(range(3))), count=2)
@first_everywhere("out", [(0, 1, 2), (2, 0, 1)])
def test_people_of_one_list_leave_and_return_in_any_order(out: tuple[int, ...], back: tuple[int, ...]) -> None:
    """In one pass, boards that go with one of them included; and while somebody is away, no board has their address."""
    people = [customer(name) for name in ("bea", "carl", "dora")]
    mails = [each.user.email for each in people]
    for person in people:
        Board.objects.create(
            owner=person.user,
            watchers=mails,
            people={"readers": [{"mail": mail, "name": mail} for mail in mails], "chair": mails[1]},
            cc=", ".join(mails),
        )
    before = application_dump()
    receipts = {number: people[number].disguise("counter.depart") for number in out}
    away = {*out}
    for number in back:
        people[number].reveal(receipts[number])
        away.remove(number)
        said = str(list(Board.objects.values()))
        assert not [mails[each] for each in away if mails[each] in said]
    assert application_dump() == before


def test_everybody_in_one_go_is_found_along_with_the_others() -> None:
    people = [customer(name) for name in ("bea", "carl", "dora")]
    mails = [each.user.email for each in people]
    for _ in range(3):
        Board.objects.create(watchers=mails, cc=";".join(mails), people={"chair": mails[0]})
    before = application_dump()
    few = statements(lambda: edna.disguise_all("counter.unlist"))
    assert not [mail for mail in mails if mail in str(list(Board.objects.values()))]
    for person in people:
        person.reveal_everything()
    assert application_dump() == before
    Board.objects.bulk_create(Board(watchers=mails, cc=";".join(mails), people={"chair": mails[0]}) for _ in range(9))
    many = statements(lambda: edna.disguise_all("counter.unlist"))
    assert len(many) <= len(few), "they grow with the longest list, not with the rows"


def test_case_counts_unless_it_is_said_otherwise() -> None:
    person = customer("bea")
    Board.objects.create(watchers=["Bea@Example.org"], cc="BEA@EXAMPLE.ORG", people={"Chair": "bea@example.org"})
    assert edna.plan("counter.unlist", person.user).rows == 0

    class Folded(Disguise):
        name = "counter.folded"
        transformations = [
            Modify(
                Board,
                owner=edna.by_element(place, "email", principal=Customer, ignore_case=True),
                set={place: ""},
            )
            for place in ("watchers__*", "cc__*")
        ]

    with registering(Folded):
        receipt = person.disguise("counter.folded")
        assert Board.objects.values_list("watchers", "cc").get() == ([""], "")
        assert person.reveal(receipt).complete
        assert Board.objects.values_list("watchers", "cc").get() == (["Bea@Example.org"], "BEA@EXAMPLE.ORG")


def test_numbers_in_a_document_name_whoever_has_them() -> None:
    person, other = customer("bea"), customer("carl")

    class Numbered(Disguise):
        name = "counter.numbered"
        transformations = [
            Modify(Board, owner=edna.by_element("watchers__*", "pk", principal=Customer), set={"watchers__*": 0})
        ]

    Board.objects.create(watchers=[other.user.pk, person.user.pk, 0])
    with registering(Numbered):
        receipt = person.disguise("counter.numbered")
        assert Board.objects.get().watchers == [other.user.pk, 0, 0]
        assert person.reveal(receipt).complete
        assert Board.objects.get().watchers == [other.user.pk, person.user.pk, 0]


def test_letters_that_documents_escape_name_people_as_well() -> None:
    """Also along a row that refers to the person."""
    name = 'Bé"a \\ 100%_/'

    class Odd(Disguise):
        name = "counter.odd"
        transformations = [
            Modify(Board, owner=edna.by_element(place, theirs, principal=Customer), set={place: ""})
            for place, theirs in (
                ("watchers__*", "nickname"),
                ("cc__*", "nickname"),
                ("people__readers__*__mail", "address__email"),
            )
        ]

    person = Person.registered(Customer.objects.create(email="bea@example.org", nickname=name))
    Address.objects.create(customer=person.user, email="other@example.org")
    readers = {"readers": [{"mail": "other@example.org"}]}
    Board.objects.create(watchers=[name, "Be"], cc=f"{name} , b", people=readers)
    before = application_dump()
    with registering(Odd):
        receipt = person.disguise("counter.odd")
        board = Board.objects.get()
        assert (board.watchers, board.cc, board.people) == (["", "Be"], ", b", {"readers": [{"mail": ""}]})
        assert person.reveal(receipt).complete
    assert application_dump() == before


@pytest.mark.once
def test_a_large_disguise_finds_elements_in_every_chunk(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 2}
    people = [customer(name) for name in ("bea", "carl")]
    mails = [each.user.email for each in people]
    for number in range(5):
        Board.objects.create(
            owner=people[number % 2].user, watchers=mails[:: 1 if number % 2 else -1], cc=";".join(mails)
        )
    before = application_dump()
    receipts = [each.disguise("counter.depart") for each in people]
    assert not [mail for mail in mails if mail in str(list(Board.objects.values()))]
    for person, receipt in zip(people, receipts, strict=True):
        person.reveal(receipt)
    assert application_dump() == before
