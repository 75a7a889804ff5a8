"""Leaving the conference, taking the names off it, and coming back, in every order."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth import authenticate
from django.core.checks import run_checks
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

import edna
from apps.hotcrp_sim import keys
from apps.hotcrp_sim import models as m
from apps.showcase.tests.tables import thief
from edna import devices
from tests.databases import first_everywhere

from .conftest import (
    ANONYMIZE,
    NOT_ANONYMISED,
    PASSWORD,
    REMOVE,
    Conference,
    Person,
    enrol,
    fill,
    nobody_left,
    owned_by,
    owner_columns,
)
from .conftest import dump as whole_dump

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]
NAMES = ("bea", "carl", "rae", "sam", "chair")
Anonymised = Callable[[], dict[str, edna.Receipt]]


def traces_of(person: Person) -> list[str]:
    """What a thief would find of this person."""
    copy = thief()
    return [trace for trace in person.traces if trace in copy]


@pytest.mark.once
def test_the_specifications_need_no_warning() -> None:
    messages = [message for message in run_checks() if message.id.startswith("edna.")]
    assert [message for message in messages if "hotcrp" in f"{message.obj} {message.msg}".lower()] == []


@pytest.mark.once
def test_everybody_owns_something_in_every_owner_column(conference: Conference) -> None:
    """Or the tests below would prove less than they seem to."""
    columns = {f"{model.__name__}.{field.name}" for model, field in owner_columns()}
    assert set(owned_by([person.pk for person in conference.everybody])) == columns | {"ContactInfo"}
    for person in conference.everybody:
        assert len(person.owned()) >= 10
        assert traces_of(person)


def dump() -> dict[str, list[tuple[Any, ...]]]:
    """Every row, byte for byte, but for the rights of chairs: those do not come back."""
    tables = whole_dump()
    table = m.ContactInfo._meta.db_table
    with connection.cursor() as cursor:
        names = [column.name for column in connection.introspection.get_table_description(cursor, table)]
    position = [name for name in names if name != "lastLogin"].index("roles")
    tables[table] = [(*row[:position], row[position] & m.PC, *row[position + 1 :]) for row in tables[table]]
    return tables


@pytest.mark.once
def test_a_chair_returns_as_a_member_of_the_pc(conference: Conference) -> None:
    chair = conference.chair
    assert m.ContactInfo.objects.get(pk=chair.pk).roles & m.CHAIR
    outcome = chair.reveal(chair.remove())
    assert outcome.complete
    assert outcome.altered == {"hotcrp_sim.contactinfo": {"roles": 1}}
    assert m.ContactInfo.objects.get(pk=chair.pk).roles == 0


@pytest.mark.parametrize("name", NAMES)
def test_who_removes_their_account_is_nowhere_until_they_return(name: str, conference: Conference) -> None:
    person: Person = getattr(conference, name)
    before, owned = dump(), person.owned()
    receipt = person.remove()
    assert person.owned() == {}
    assert traces_of(person) == []
    outcome = person.reveal(receipt)
    assert not outcome.held
    assert not outcome.deferred
    assert dump() == before
    assert person.owned() == owned
    assert nobody_left()


def test_what_stays_of_a_reviewer_names_nobody(conference: Conference) -> None:
    """Reviews, comments, requests and log entries each belong to a placeholder of their own, which carries nothing."""
    others = [person.pk for person in conference.everybody if person is not conference.rae]
    rows = {
        model: model.objects.count() for model in (m.PaperReview, m.PaperComment, m.ActionLog, m.PaperReviewRefused)
    }
    theirs = conference.rae.owned()
    conference.rae.remove()
    assert {model: model.objects.count() for model in rows} == rows
    guises = list(m.ContactInfo.objects.filter(is_guise=True))
    kept = [name for name in theirs if name.split(".")[0] in {"Paper", *(model.__name__ for model in rows)}]
    assert len(guises) == sum(theirs[name] for name in kept)
    assert owned_by([guise.pk for guise in guises]) == {
        **{name: theirs[name] for name in kept},
        "ContactInfo": len(guises),
    }
    for guise in guises:
        told = {
            field.name: getattr(guise, field.name)
            for field in m.ContactInfo._meta.fields
            if getattr(guise, field.name) and field.name not in ("contact_id", "email", "password")
        }
        assert told == {"disabled": True, "is_guise": True}
        assert guise.pk not in others
        assert not guise.has_usable_password()
        assert not guise.is_active


def test_nobody_stays_nobody(conference: Conference, anonymised: Anonymised) -> None:
    """A 0 is no owner: it is a 0 before, during and after."""

    def zeros() -> dict[str, list[Any]]:
        columns = [(model, field) for model, field in owner_columns() if not field.db_constraint]
        return {
            f"{model.__name__}.{field.name}": sorted(
                map(str, model.objects.filter(**{field.name: 0}).values_list("pk"))
            )
            for model, field in columns
        }

    before = zeros()
    assert sum(map(bool, before.values())) >= 6
    receipts = anonymised()
    assert zeros() | {"PaperReviewRefused.contact": []} == before | {"PaperReviewRefused.contact": []}
    conference.rae.remove(with_key=True)
    assert zeros().keys() == before.keys()
    assert {name: set(found) for name, found in zeros().items()} == {name: set(found) for name, found in before.items()}
    assert receipts


@pytest.mark.parametrize("order", [NAMES, tuple(reversed(NAMES)), ("rae", "bea", "chair", "carl", "sam")])
def test_an_anonymised_conference_names_nobody_until_all_reclaim(
    order: tuple[str, ...], conference: Conference, anonymised: Anonymised
) -> None:
    before = dump()
    owned = {person.name: person.owned() for person in conference.everybody}
    receipts = anonymised()
    for person in conference.everybody:
        assert set(person.owned()) == {"ContactInfo", NOT_ANONYMISED}
    assert traces_of(conference.rae) == []
    assert traces_of(conference.sam) == []
    for model, field in owner_columns():
        if f"{model.__name__}.{field.name}" != NOT_ANONYMISED:
            keys = model.objects.exclude(**{field.name: 0}).values_list(field.attname, flat=True)
            named = [key for key in keys if key is not None]
            assert len(named) == len(set(named)), "every row has a placeholder of its own"
            assert m.ContactInfo.objects.filter(pk__in=named, is_guise=True).count() == len(named)
    held: list[Any] = []
    for name in order:
        held += getattr(conference, name).reveal(receipts[name]).held
    assert held == []
    assert dump() == before
    assert {person.name: person.owned() for person in conference.everybody} == owned
    assert nobody_left()


def test_anonymised_accounts_of_the_pc_are_empty_and_others_as_they_were(
    conference: Conference, anonymised: Anonymised
) -> None:
    anonymised()
    for person in conference.everybody:
        account = m.ContactInfo.objects.get(pk=person.pk)
        told = [account.name, account.affiliation, account.phone, account.collaborators, account.country, account.data]
        assert account.is_covered == account.is_pc == (not any(told))
        assert account.roles == person.contact.roles


@pytest.mark.once
def test_who_is_anonymised_logs_in_with_the_old_address(conference: Conference, anonymised: Anonymised) -> None:
    anonymised()
    for person in conference.everybody:
        assert authenticate(None, hotcrp_email=person.contact.email.upper(), password=PASSWORD) == person.contact
        assert authenticate(None, hotcrp_email=person.contact.email, password="wrong") is None
    conference.rae.remove(with_key=True)
    assert authenticate(None, hotcrp_email="rae@example.org", password=PASSWORD) is None


@first_everywhere("name", ["bea", "rae", "chair"])
@pytest.mark.parametrize("with_key", [True, False], ids=["with-key", "without-key"])
@pytest.mark.parametrize("first", [REMOVE, ANONYMIZE])
def test_anonymised_then_removed_then_revealed_in_both_orders(
    first: str, with_key: bool, name: str, conference: Conference, anonymised: Anonymised
) -> None:
    before = dump()
    anonymised()
    person: Person = getattr(conference, name)
    between = dump()
    person.remove(with_key=with_key)
    assert person.owned() == {}
    assert traces_of(person) == []
    receipts = person.history()
    second = ANONYMIZE if first == REMOVE else REMOVE
    assert not person.reveal(receipts[first]).held
    if first == REMOVE:
        assert dump() == between
    else:
        assert person.owned() == {}
        # Whoever left without the key, and reclaims before they return, gets back what stands in entries of nobody's: the address.
        assert traces_of(person) in ([], [person.address] * (not with_key))
    assert not person.reveal(receipts[second]).held
    for other in conference.everybody:
        if other is not person:
            assert not other.reveal(other.history()[ANONYMIZE]).held
    assert dump() == before
    assert nobody_left()


PAIRS = [("bea", "carl"), ("rae", "sam"), ("rae", "bea"), ("rae", "chair")]


@pytest.mark.once
@pytest.mark.parametrize("returning", [(0, 1), (1, 0)], ids=["same-order", "last-first"])
@pytest.mark.parametrize("pair", [*PAIRS, *(pair[::-1] for pair in PAIRS)], ids="-".join)
def test_two_who_leave_never_show_the_one_who_is_away(
    pair: tuple[str, str], returning: tuple[int, int], conference: Conference
) -> None:
    """Authors of one paper, reviewers of it, a chair who acted as a reviewer: whoever returns first brings back only what is theirs."""
    before = dump()
    away = [getattr(conference, name) for name in pair]
    receipts = {}
    for person in away:
        receipts[person.name] = person.remove()
        assert person.owned() == {}
    assert [traces_of(person) for person in away] == [[], []]
    first, second = (away[place] for place in returning)
    assert not first.reveal(receipts[first.name]).held
    assert traces_of(second) == []
    assert second.owned() == {}
    assert traces_of(first)
    assert not second.reveal(receipts[second.name]).held
    assert dump() == before
    assert nobody_left()


@pytest.mark.once
def test_every_order_in_which_three_return(conference: Conference) -> None:
    before = dump()
    away = [conference.bea, conference.carl, conference.rae]
    for order in itertools.permutations(away):
        receipts = {person.name: person.remove() for person in away}
        for place, person in enumerate(order):
            assert not person.reveal(receipts[person.name]).held
            assert not any(traces_of(other) for other in order[place + 1 :])
        assert dump() == before


@first_everywhere("name", ["bea", "rae", "chair"])
@pytest.mark.parametrize("first", [REMOVE, ANONYMIZE])
def test_removed_before_the_conference_is_anonymised(first: str, name: str, conference: Conference) -> None:
    """What was left of somebody who is away loses its placeholders for others; both come back, in either order."""
    before = dump()
    person: Person = getattr(conference, name)
    person.remove()
    edna.disguise_all(ANONYMIZE)
    assert traces_of(person) == []
    assert person.reveal_all(first)
    assert person.reveal_all(REMOVE if first == ANONYMIZE else ANONYMIZE) or first == REMOVE
    for other in conference.everybody:
        other.reveal_all(ANONYMIZE)
    assert dump() == before
    assert nobody_left()


@pytest.mark.once
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_anonymised_twice_then_removed_in_every_order(order: tuple[int, ...], conference: Conference) -> None:
    before = dump()
    edna.disguise_all(ANONYMIZE)
    edna.disguise_all(ANONYMIZE)
    rae = conference.rae
    rae.remove(with_key=True)
    with rae.unlock() as unlocked:
        entries = sorted(edna.history(unlocked), key=lambda entry: entry.applied_at)
    # The second time, her placeholders were anonymised, too: each of them has a receipt, which is hers.
    first, *second, last = [entry.receipt for entry in entries]
    assert len(second) > 1
    assert last.disguise == REMOVE
    for place in order:
        for receipt in ([first], second, [last])[place]:
            assert not rae.reveal(receipt).held
    for person in conference.everybody:
        if person is not rae:
            person.reveal_all(ANONYMIZE)
    assert dump() == before
    assert nobody_left()


@pytest.mark.parametrize("returning", [(0, 1), (1, 0)], ids=["same-order", "last-first"])
@first_everywhere("pair", [("rae", "sam"), ("bea", "carl")], ids="-".join)
def test_two_who_leave_an_anonymised_conference(
    pair: tuple[str, str], returning: tuple[int, int], conference: Conference, anonymised: Anonymised
) -> None:
    before = dump()
    anonymised()
    between = dump()
    away = [getattr(conference, name) for name in pair]
    receipts = [person.remove(with_key=True) for person in away]
    for place in returning:
        assert traces_of(away[place]) == []
        assert not away[place].reveal(receipts[place]).held
    assert dump() == between
    for person in conference.everybody:
        assert not person.reveal(person.history()[ANONYMIZE]).held
    assert dump() == before
    assert nobody_left()


@pytest.mark.once
def test_somebody_without_a_key_stops_the_anonymising(conference: Conference) -> None:
    stranger = m.ContactInfo.objects.create_user("dora@example.org", PASSWORD)
    m.PaperWatch.objects.create(paper=m.Paper.objects.all()[0], contact=stranger)
    before = dump()
    with pytest.raises(edna.errors.UnregisteredOwners):
        edna.disguise_all(ANONYMIZE)
    assert dump() == before


@pytest.mark.once
def test_the_list_of_authors_without_those_who_left(conference: Conference) -> None:
    paper = m.Paper.objects.get(title="Reversible Logs")
    assert [author.name for author in paper.author_list()] == [
        "Bea-first bea-personal-last",
        "Carl-first carl-personal-last",
        "Guest Outside",
    ]
    conference.bea.remove()
    assert [author.name for author in paper.author_list()] == ["Carl-first carl-personal-last", "Guest Outside"]


@pytest.mark.once
def test_two_authors_of_a_paper_leave_and_return_alone_and_together_each_by_a_device(conference: Conference) -> None:
    """Bea has a laptop and a phone, which she loses while she is away; Carl has a laptop. Neither needs the other, nor brings them back."""
    before, paper = dump(), m.Paper.objects.get(title="Reversible Logs")
    bea, carl = "Bea-first bea-personal-last", "Carl-first carl-personal-last"
    with conference.bea.unlock() as unlocked:
        laptop = devices.create(unlocked)
    with conference.carl.unlock() as unlocked:
        others = devices.create(unlocked)
    phone = devices.begin()
    lost = devices.add(laptop, phone.code)

    def authors() -> list[str]:
        return [author.name for author in m.Paper.objects.get(pk=paper.pk).author_list() if author.name in (bea, carl)]

    def leave(key: Any) -> edna.Receipt:
        with devices.unlock(key) as unlocked:
            return edna.disguise(REMOVE, edna.principal(unlocked), unlocked=unlocked)

    def come_back(key: Any, receipt: edna.Receipt) -> None:
        with devices.unlock(key) as unlocked:
            assert edna.reveal(receipt, unlocked).complete

    hers = leave(phone.secret_key)
    assert authors() == [carl]
    his = leave(others)
    assert authors() == []
    devices.remove(laptop, lost)
    come_back(laptop, hers)
    assert authors() == [bea]
    come_back(others, his)
    assert authors() == [bea, carl]
    his, hers = leave(others), leave(laptop)
    come_back(others, his)
    assert authors() == [carl]
    come_back(laptop, hers)
    assert dump() == before
    with pytest.raises(edna.errors.DeviceRemoved):
        devices.unlock(phone.secret_key)


def test_a_review_written_about_by_others_meanwhile_comes_back_with_what_they_added(conference: Conference) -> None:
    """Ratings of, and replies to, what a placeholder owns are other people's and stay theirs."""
    receipt = conference.rae.remove()
    review = m.PaperReview.objects.filter(contact__is_guise=True).first()
    assert review is not None
    m.ReviewRating.objects.filter(review=review, contact=conference.bea.contact).delete()
    rating = m.ReviewRating.objects.create(paper=review.paper, review=review, contact=conference.bea.contact, rating=8)
    m.PaperReview.objects.filter(pk=review.pk).update(over_all_merit=5)
    assert not conference.rae.reveal(receipt).held
    review = m.PaperReview.objects.get(pk=review.pk)
    assert (review.contact, review.over_all_merit) == (conference.rae.contact, 5)
    assert m.ReviewRating.objects.get(pk=rating.pk).contact == conference.bea.contact
    assert nobody_left()


@pytest.mark.once
@pytest.mark.parametrize("name", [REMOVE, ANONYMIZE])
def test_a_chair_reveals_nothing_of_others(name: str, conference: Conference, anonymised: Anonymised) -> None:
    receipt = conference.rae.remove() if name == REMOVE else anonymised()["rae"]
    before = dump()
    with conference.chair.unlock() as unlocked:
        with pytest.raises(edna.errors.ReceiptForeign):
            edna.reveal(receipt, unlocked)
        for review in m.PaperReview.objects.filter(contact__is_guise=True):
            with pytest.raises(edna.errors.NotYours):
                edna.speak_as(unlocked, review, owner="contact")
    assert dump() == before


@pytest.mark.once
def test_a_disguised_review_is_edited_by_who_wrote_it(conference: Conference, anonymised: Anonymised) -> None:
    before = dump()
    receipts = anonymised()
    review = m.PaperReview.objects.order_by("review_id")[0]
    with conference.rae.unlock() as unlocked:
        assert edna.speak_as(unlocked, review, owner="contact") == review.contact
        assert review.contact.is_guise
    m.PaperReview.objects.filter(pk=review.pk).update(over_all_merit=4)
    for person in conference.everybody:
        assert not person.reveal(receipts[person.name]).held
    assert m.PaperReview.objects.get(pk=review.pk).contact == conference.rae.contact
    m.PaperReview.objects.filter(pk=review.pk).update(over_all_merit=0)
    assert dump() == before


# Statements


def statements(work: Callable[[], Any]) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        work()
    return len(captured)


def costs(person: Person) -> dict[str, int]:
    """Statements of removing and returning, directly and after the conference was anonymised."""
    receipts: list[edna.Receipt] = []
    found = {
        "remove": statements(lambda: receipts.append(person.remove())),
        "return": statements(lambda: person.reveal(receipts[0])),
    }
    edna.disguise(ANONYMIZE, person.contact)
    with person.unlock() as unlocked:
        edna.speaks_for(unlocked)
    found["remove-anonymised"] = statements(lambda: receipts.append(person.remove(with_key=True)))
    found["return-anonymised"] = statements(lambda: person.reveal(receipts[1]))
    found["reclaim"] = statements(lambda: person.reveal(person.history()[ANONYMIZE]))
    assert nobody_left()
    return found


def papers_of(person: Person, conference: Conference, *, count: int) -> None:
    for number in range(count):
        who = person.contact
        paper = m.Paper.objects.create(
            title=f"Paper {number}", lead_contact=who, shepherd_contact=who, manager_contact=who
        )
        fill(paper, conference, list(m.TopicArea.objects.all()))


def test_statements_do_not_grow_with_rows_or_placeholders(conference: Conference) -> None:
    papers_of(conference.rae, conference, count=1)
    few, rows = costs(conference.rae), sum(conference.rae.owned().values())
    papers_of(conference.rae, conference, count=27)
    assert sum(conference.rae.owned().values()) > 9 * rows
    assert costs(conference.rae) == few


def test_statements_of_anonymising_do_not_grow_with_rows_or_people(conference: Conference) -> None:
    edna.disguise_all(ANONYMIZE)  # the first entry of the audit trail begins its count
    for person in conference.everybody:
        person.reveal(person.history()[ANONYMIZE])
    few = statements(lambda: edna.disguise_all(ANONYMIZE))
    assert few > 0
    for person in conference.everybody:
        person.reveal(person.history()[ANONYMIZE])
    for number in range(20):
        enrol(f"person{number}", m.PC)
    papers_of(conference.rae, conference, count=27)
    assert statements(lambda: edna.disguise_all(ANONYMIZE)) == few


@pytest.mark.once
@pytest.mark.django_db(transaction=True)
def test_several_are_brought_back_at_once_though_the_database_gives_way_to_others_at_the_end(
    conference: Conference,
) -> None:
    """A cluster of servers says no to a whole transaction when it is committed: it is done once more, as after a deadlock."""
    before = dump()
    edna.disguise_all(ANONYMIZE)
    edna.disguise_all(ANONYMIZE)
    commit, refused = connection._commit, []

    def refuse_once() -> None:
        if not refused:
            refused.append(True)
            raise OperationalError(1213, "Deadlock found when trying to get lock; try restarting transaction")
        commit()

    with conference.rae.unlock() as unlocked:
        receipts = [entry.receipt for entry in edna.history(unlocked)]
        with patch.object(connection, "_commit", refuse_once):
            outcome, _ = keys.reveal_all(receipts, unlocked)
    assert (refused, outcome.complete) == ([True], True)
    for person in conference.everybody:
        person.reveal_all(ANONYMIZE)
    assert dump() == before
