"""What several people own goes with whoever leaves first, and comes back with whoever comes back last: in every order, in one pass."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import combinations, permutations
from typing import Any

import pytest
from django.db import transaction

import edna
from edna import Decorrelate, Disguise, Modify, Remove, devices, inner_door
from edna.crypto.keys import SecretKey
from edna.errors import EntryForged
from edna.models import Bag, PrincipalEntry
from edna.operations import jobs
from edna.records.bag import BagKind
from edna.records.diff import Listed
from edna.records.locator import SEALED_LOCATOR_BYTES
from edna.testing import Person, application_dump, cheap_keys
from tests.databases import first_everywhere
from tests.handing import Browser, send_new_keys, without_keys
from tests.installed import installed, registered, registering
from tests.office import models as office
from tests.office import specs
from tests.support import cut_into_chunks, edna_dump

DESK = "tests.office"
pytestmark = [pytest.mark.django_db, pytest.mark.long]


@pytest.fixture(scope="module")
def desk_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed(DESK, principals=["office.Person"]):
        yield


@pytest.fixture
def people(desk_tables: None, db: None) -> Iterator[list[Person]]:
    """Two customers who are staff as well, and a third person; each has something with each."""
    with registered(DESK), cheap_keys():
        made = [Person.registered(office.Person.objects.create(name=name)) for name in ("ann", "bob", "cat")]
        for customer, author in permutations([each.user for each in made], 2):
            order = office.Order.objects.create(customer=customer)
            text = f"secret of {customer.pk} and {author.pk}"
            office.Note.objects.create(order=order, author=author, text=f"note: {text}")
            office.Entry.objects.create(order=order, user=author, text=f"entry: {text}")
            office.Ticket.objects.create(customer=customer, assignee=author, text=f"ticket: {text}")
            office.Message.objects.create(sender=customer, recipient=author, text=f"message: {text}")
        for first, second, third in permutations([each.user for each in made], 3):
            text = f"secret of {first.pk} and {second.pk} and {third.pk}"
            for model in (office.Paper, office.Draft):
                model.objects.create(first=first, second=second, third=third, text=f"{model.__name__}: {text}")
        for authors in (each for number in (2, 3) for each in combinations([each.user for each in made], number)):
            text = " and ".join(str(each.pk) for each in authors)
            office.Report.objects.create(text=f"report: secret of {text}").authors.set(authors)
        yield made


def hides(disguise: type[Disguise], table: str, names: Sequence[str], away: set[str]) -> bool:
    """Whether a row that these own has to be out of sight while some are away."""
    about = disguise.name.removeprefix("office.").removeprefix("shared-").partition("-")[0]
    if "shared" in disguise.name:
        # The first one's text goes with the first, or with each; the row with the last.
        meant = names if "of-both" in disguise.name else names[:1]
        return about.startswith(table) and (not away.isdisjoint(meant) or away.issuperset(names))
    # Of a message, the first is the sender, whose text goes where the specification says so.
    first = names[:1] if table != "message" or "texts" in disguise.name else ()
    meant = {*first, *names[1:]}
    return about.startswith(table) and not meant.isdisjoint(away)


def readable(disguise: type[Disguise], away: set[str]) -> list[str]:
    """Texts in the tables that ought to be out of sight."""
    found = []
    for model in (office.Note, office.Entry, office.Ticket, office.Message, office.Paper, office.Draft, office.Report):
        for text in model.objects.values_list("text", flat=True):
            kind, _, names = text.partition(": secret of ")
            table = {"entry": "entr"}.get(kind.lower(), kind.lower())
            if names and hides(disguise, table, names.split(" and "), away):
                found.append(text)
    return found


def goes_and_comes(disguise: type[Disguise], people: Sequence[Person], out: Sequence[int], back: Sequence[int]) -> None:
    before = application_dump()
    keys = [str(each.user.pk) for each in people]
    away: set[str] = set()
    receipts = {}
    for number in out:
        receipts[number] = people[number].disguise(disguise.name)
        away.add(keys[number])
        assert readable(disguise, away) == []
    for number in back:
        people[number].reveal(receipts[number])
        away.discard(keys[number])
        assert readable(disguise, away) == [], f"of {away}, after {number} came back"
    assert application_dump() == before


def comes_back(people: Sequence[Person], disguise: type[Disguise], number: int, away: set[str]) -> None:
    """One of those who are ``away`` reveals all they have; nothing of the others is readable."""
    person = people[number]
    for entry in person.history():
        person.reveal(entry.receipt)
    away.discard(str(person.user.pk))
    assert readable(disguise, away) == []


def nothing_is_left(people: Sequence[Person], before: dict[str, Any]) -> None:
    """Everything is as it was; what still leads to something that came back with somebody else leads to nothing."""
    assert application_dump() == before
    for person in people:
        person.reveal_everything()
    assert not Bag.objects.exists()


ORDERS = [(out, back) for out in permutations(range(2)) for back in permutations(range(2))]


@pytest.mark.thorough
@first_everywhere(("out", "back"), ORDERS)
@pytest.mark.parametrize("disguise", [*specs.TWO, *specs.OF_MANY], ids=lambda each: each.name.removeprefix("office."))
def test_two_people_go_and_come_back(
    people: list[Person], disguise: type[Disguise], out: Sequence[int], back: Sequence[int]
) -> None:
    """Nothing of either is readable as long as one is away; then all is as it was."""
    goes_and_comes(disguise, people, out, back)


@pytest.mark.thorough
@pytest.mark.once
@pytest.mark.parametrize(("out", "back"), ORDERS)
@pytest.mark.parametrize(
    "disguise",
    [each for each in specs.TWO if each.name.startswith("office.tickets") and each.name != "office.tickets-emptied"],
    ids=lambda each: each.name.removeprefix("office."),
)
def test_two_people_go_and_come_back_chunk_by_chunk(
    people: list[Person], disguise: type[Disguise], out: Sequence[int], back: Sequence[int]
) -> None:
    """The account is back before the texts are. That a row names its owner again says nothing of whether they were told."""
    with cut_into_chunks(1):
        goes_and_comes(disguise, people, out, back)


@pytest.mark.thorough
@pytest.mark.once  # of two, on each database
@pytest.mark.parametrize("back", list(permutations(range(3))))
@pytest.mark.parametrize(
    "disguise", [*specs.OF_THREE, *specs.OF_MANY], ids=lambda each: each.name.removeprefix("office.")
)
def test_three_people_go_and_come_back(people: list[Person], disguise: type[Disguise], back: Sequence[int]) -> None:
    goes_and_comes(disguise, people, range(3), back)


def test_whom_others_take_off_a_row_of_several_is_not_waited_for(people: list[Person]) -> None:
    """Their account is there, and the disguise would have taken it along."""
    ann, bob, _ = people
    report = office.Report.objects.filter(authors=ann.user).filter(authors=bob.user).first()
    assert report is not None
    receipt = ann.disguise("office.reports")
    report.authors.remove(bob.user.pk)
    assert ann.reveal(receipt).complete
    assert office.Report.objects.get(pk=report.pk).text == report.text


@first_everywhere("back", list(permutations(range(3))))
@pytest.mark.parametrize("atomic", [True, False], ids=["at-once", "in-parts"])
@pytest.mark.parametrize("disguise", specs.REPORT_NAMES, ids=lambda each: each.name.removeprefix("office."))
def test_for_everybody_each_of_several_takes_the_own_name_along(
    people: list[Person], disguise: type[Disguise], atomic: bool, back: Sequence[int]
) -> None:
    """Where a table in between says whose names stand in one text. Nobody's is readable before they are back."""
    for report in office.Report.objects.all():
        report.text = f"by {', '.join(report.authors.order_by('name').values_list('name', flat=True))} and dan"
        report.save()
    before, away = application_dump(), {"ann", "bob", "cat"}
    edna.disguise_all(disguise.name, atomic=atomic)
    texts = [*office.Report.objects.order_by("pk").values_list("text", flat=True)]
    assert texts == [f"by {', '.join(['[gone]'] * number)} and dan" for number in (2, 2, 2, 3)]
    for number in back:
        for entry in people[number].history():
            people[number].reveal(entry.receipt)
        away.discard(("ann", "bob", "cat")[number])
        assert not any(name in text for name in away for text in office.Report.objects.values_list("text", flat=True))
    assert application_dump() == before


IN_COMMON = {
    each.name.removeprefix("office."): each
    for each in (*specs.TWO, *specs.OF_THREE, *specs.OF_MANY, *specs.SHARED)
    if each.name.removeprefix("office.")
    in (
        *("notes", "tickets-emptied", "papers", "papers-at-random"),
        *("reports-re-pointed", "reports-and-other-names", "shared-messages-of-both"),
        # Nothing of them takes the names out of the rows: they are changed for each.
        *(
            "notes-alone",
            "notes-alone-at-random",
            "papers-alone",
            "reports-alone",
            "reports-alone-at-random",
            "messages-alone",
        ),
    )
}


@pytest.mark.thorough
@first_everywhere("back", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("way", ["at-once", "in-parts", "by-a-job", "selected"])
@pytest.mark.parametrize("disguise", IN_COMMON.values(), ids=IN_COMMON)
def test_for_everybody_what_several_have_in_common_comes_back_with_the_last(
    people: list[Person], settings: Any, disguise: type[Disguise], way: str, back: Sequence[int]
) -> None:
    """It is changed once for all of them. Whoever comes back first has to wait for the others: no change of theirs tells of them."""
    settings.EDNA = {**settings.EDNA, "JOB_BATCH": 1 if way == "by-a-job" else len(people)}
    before, away = application_dump(), {str(each.user.pk) for each in people}
    if way in ("at-once", "in-parts"):
        edna.disguise_all(disguise.name, atomic=way == "at-once")
    else:
        jobs.run(jobs.start(disguise.name, principals=[each.user for each in people] if way == "selected" else None).id)
    assert readable(disguise, away) == []
    for number in back:
        comes_back(people, disguise, number, away)
    assert application_dump() == before


@pytest.mark.thorough
@first_everywhere("back", list(permutations(range(3))))
@pytest.mark.parametrize("atomic", [True, False], ids=["at-once", "in-parts"])
@pytest.mark.parametrize("disguise", specs.MESSAGES_FOR_ALL, ids=lambda each: each.name.removeprefix("office."))
def test_for_everybody_a_row_goes_with_one_without_what_is_anothers(
    people: list[Person], disguise: type[Disguise], back: Sequence[int], *, atomic: bool
) -> None:
    """Whoever brings a message back sees neither text nor name of a sender who is away; and that one finds both as they were."""
    before, away = application_dump(), {str(each.user.pk) for each in people}
    edna.disguise_all(disguise.name, atomic=atomic)
    assert not office.Message.objects.exists()
    for number in back:
        comes_back(people, disguise, number, away)
        assert office.Message.objects.count() == 2 * (3 - len(away))
        if "names" in disguise.name:
            assert not office.Message.objects.filter(sender__in=away).exists()
    nothing_is_left(people, before)


@pytest.mark.thorough
@first_everywhere("back", list(permutations(range(3))))
@pytest.mark.parametrize("atomic", [True, False], ids=["at-once", "in-parts"])
@pytest.mark.parametrize("disguise", specs.REMOVED_FOR_ALL, ids=lambda each: each.name.removeprefix("office."))
def test_for_everybody_a_row_that_would_go_with_each_comes_back_with_the_last(
    people: list[Person], disguise: type[Disguise], back: Sequence[int], *, atomic: bool
) -> None:
    """One of them has it. The accounts stay, so that nothing of the row tells that another owner is away."""
    before, away = application_dump(), {str(each.user.pk) for each in people}
    edna.disguise_all(disguise.name, atomic=atomic)
    assert readable(disguise, away) == []
    for number in back:
        comes_back(people, disguise, number, away)
    nothing_is_left(people, before)


@pytest.mark.thorough
@first_everywhere("back", list(permutations(range(3))))
@pytest.mark.parametrize("alone", range(3))
@pytest.mark.parametrize(
    ("name", "for_all"),
    [("papers", True), *((name, False) for name in ("papers", "papers-at-random", "reports-and-other-names"))],
)
def test_whoever_left_before_others_who_left_together_waits_for_each_of_these(
    people: list[Person], name: str, alone: int, back: Sequence[int], *, for_all: bool
) -> None:
    """They were told by one of the two, who came back: the other one was away, and what all had in common was readable."""
    before, away = application_dump(), {str(each.user.pk) for each in people}
    disguise = IN_COMMON[name]
    people[alone].disguise(disguise.name)
    if for_all:  # whoever stands for the one who has left is disguised with the others
        edna.disguise_all(disguise.name)
    else:
        jobs.run(jobs.start(disguise.name, principals=[each.user for each in people if each is not people[alone]]).id)
    assert readable(disguise, away) == []
    for number in back:
        comes_back(people, disguise, number, away)
    assert application_dump() == before


@pytest.mark.parametrize("back", [(0, 1, 2), (2, 1, 0)])
@pytest.mark.parametrize("later", ["office.notes-and-names", specs.CLEARED.name, "everybody"])
def test_what_was_changed_for_several_does_not_go_into_a_later_disguise_while_one_of_them_is_away(
    people: list[Person], later: str, back: Sequence[int]
) -> None:
    """The later one knows nothing of them: pseudoprincipals stood there by then."""
    before, away = application_dump(), {str(each.user.pk) for each in people}
    disguise = next(each for each in specs.TWO if each.name == "office.notes-and-names")
    edna.disguise_all(disguise.name)
    if later == "everybody":
        edna.disguise_all(disguise.name)
    else:
        for person in people:
            person.disguise(later, with_key=True)
    for number in back:
        away.discard(str(people[number].user.pk))
        for entry in people[number].history()[::-1]:
            people[number].reveal(entry.receipt)
            assert readable(disguise, away) == []
    assert application_dump() == before


@pytest.mark.thorough
@first_everywhere(("out", "back"), ORDERS)
@pytest.mark.parametrize("disguise", specs.SHARED, ids=lambda each: each.name.removeprefix("office.shared-"))
def test_a_shared_row_comes_back_without_what_is_anothers(
    people: list[Person], disguise: type[Disguise], out: Sequence[int], back: Sequence[int]
) -> None:
    """Who leaves last takes their own out of the row, too, and brings it back."""
    goes_and_comes(disguise, people, out, back)


@pytest.mark.thorough
@first_everywhere("back", list(permutations(range(3))), count=2)
@pytest.mark.parametrize("disguise", specs.SHARED_BY_THREE, ids=lambda each: each.name.removeprefix("office.shared-"))
def test_a_row_of_three_comes_back_without_what_is_anothers(
    people: list[Person], disguise: type[Disguise], back: Sequence[int]
) -> None:
    goes_and_comes(disguise, people, (1, 2, 0), back)


@pytest.mark.parametrize("erased", [False, True], ids=["no-way-back", "erased"])
def test_what_was_taken_out_of_a_shared_row_for_good_is_nowhere(people: list[Person], erased: bool) -> None:
    """Neither in the row that somebody else brings back, nor in what stays sealed."""
    ann, bob, _ = people
    theirs = office.Message.objects.get(sender=ann.user, recipient=bob.user)
    text, name = theirs.text, specs.SHARED[0].name
    receipt = bob.disguise(name)
    if erased:
        mine = ann.disguise(name)
        with ann.unlock() as unlocked:
            edna.erase(mine, unlocked)
    else:
        edna.disguise(name, ann.user, keep_no_way_back=True)
    with bob.unlock() as unlocked:
        assert text not in [value for _, _, value in inner_door.sealed_values(unlocked).values]
    assert bob.reveal(receipt).complete
    row = office.Message.objects.get(pk=theirs.pk)
    assert (row.text, row.recipient_id) == ("[gone]", bob.user.pk)
    assert row.sender_id != theirs.sender_id


@pytest.mark.parametrize("back", list(permutations(range(2))))
def test_a_shared_row_names_nobody_who_is_away_in_any_column(people: list[Person], back: Sequence[int]) -> None:
    """A column that makes nobody an owner of what is removed, too."""
    ann, bob, cat = (each.user for each in people)
    cat.delete()
    both = office.Paper.objects.create(first=ann, second=bob, third=ann, text="")
    before = application_dump()
    receipts = {number: people[number].disguise(specs.NAMED_TWICE.name) for number in (1, 0)}
    for number in back:
        assert people[number].reveal(receipts[number]).complete
        named = office.Paper.objects.values_list("first", "second", "third").get(pk=both.pk)
        assert (ann.pk in named, bob.pk in named) == (
            number == 0 or number == back[1],
            number == 1 or number == back[1],
        )
    assert application_dump() == before


def shown(disguise: type[Disguise], away: set[str]) -> bool:
    """Whether exactly those texts are out of sight whose owners are all away."""
    name = disguise.name.removeprefix("office.").partition("-")[0]
    model = {"notes": office.Note, "papers": office.Paper}[name]
    texts = model.objects.order_by("pk").values_list("text", flat=True)
    before = {"notes": list(permutations("123", 2)), "papers": list(permutations("123", 3))}[name]
    return [" of " in text for text in texts] == [not {*names} <= away for names in before]


@first_everywhere("back", list(permutations(range(3))))
@pytest.mark.parametrize("disguise", specs.WHEN_ALL_LEFT, ids=lambda each: each.name.removeprefix("office."))
def test_what_goes_when_all_have_left_comes_back_with_the_first(
    people: list[Person], disguise: type[Disguise], back: Sequence[int]
) -> None:
    """Nobody who is there misses it, and a reveal is complete."""
    before = application_dump()
    away: set[str] = set()
    receipts = []
    for number, person in enumerate(people, start=1):
        receipts.append(person.disguise(disguise.name))
        away.add(str(number))
        assert shown(disguise, away)
    for number in back:
        assert people[number].reveal(receipts[number]).complete
        away.discard(str(number + 1))
        assert shown(disguise, away), f"while {away} are away"
    assert application_dump() == before


@pytest.mark.parametrize("back", list(permutations(range(2))))
def test_whoever_becomes_an_owner_later_shares_what_is_sealed_later_and_whoever_was_one_does_not(
    people: list[Person], back: Sequence[int]
) -> None:
    """Nobody keeps a list of owners: the row says whose it is when it goes (decision 41)."""
    ann, bob, cat = people
    name, message = specs.SHARED_ALONE.name, office.Message.objects.get(sender=ann.user, recipient=bob.user)
    office.Message.objects.exclude(pk=message.pk).delete()
    receipts = [ann.disguise(name)]
    office.Message.objects.filter(pk=message.pk).update(recipient=cat.user)
    receipts.append(cat.disguise(name))
    assert not office.Message.objects.exists()
    with bob.unlock() as unlocked:
        assert inner_door.locators_of(unlocked) == set()
    for number in back:
        assert [ann, cat][number].reveal(receipts[number]).complete
        assert office.Message.objects.get().pk == message.pk, "either brings it back"
    row = office.Message.objects.get()
    assert (row.sender, row.recipient, row.text) == (ann.user, cat.user, message.text)
    assert not Bag.objects.exists()


@pytest.mark.parametrize("earlier_first", [True, False])
@first_everywhere("second", [specs.AGAIN, specs.CLEARED], ids=["again", "cleared"])
def test_what_all_have_left_lies_under_a_later_disguise(
    people: list[Person], second: type[Disguise], earlier_first: bool
) -> None:
    """Whoever takes back the earlier one first sees nothing of it yet; whoever takes back both sees all again."""
    before = application_dump()
    ann, bob, _ = people
    theirs = office.Note.objects.filter(text__contains=f"secret of {ann.user.pk} and {bob.user.pk}")
    receipts = [ann.disguise(specs.AGAIN.name), bob.disguise(specs.AGAIN.name)]
    later = bob.disguise(second.name, with_key=True)

    order = [receipts[1], later] if earlier_first else [later, receipts[1]]
    assert bob.reveal(order[0]).complete
    assert not theirs.exists()
    assert bob.reveal(order[1]).complete
    assert theirs.exists()
    assert ann.reveal(receipts[0]).complete
    assert application_dump() == before


@pytest.mark.once
@pytest.mark.parametrize("back", list(permutations(range(2))))
@pytest.mark.parametrize("everybody", [True, False])
def test_the_same_value_when_all_have_left_is_all_theirs_as_well(
    people: list[Person], everybody: bool, back: Sequence[int]
) -> None:
    """A second disguise finds what the first has put there: as long as it lasts, nobody sees what is beneath; then whoever comes first
    brings it back."""
    before = application_dump()
    ann, bob, _ = people
    theirs = office.Note.objects.filter(text__contains=f"secret of {ann.user.pk} and {bob.user.pk}")
    earlier = [each.disguise(specs.AGAIN.name) for each in (ann, bob)]
    if everybody:
        edna.disguise_all(specs.AGAIN.name)
    else:
        bob.disguise(specs.AGAIN.name, with_key=True)

    for number in back if everybody else [1]:
        assert people[number].reveal(earlier[number]).complete
        assert not theirs.exists()
    first = people[back[0]] if everybody else ann
    first.reveal_everything()
    assert theirs.exists()
    for each in people:
        each.reveal_everything()
    assert application_dump() == before
    assert not Bag.objects.exists()


@pytest.mark.once
def test_what_was_left_as_it_was_waits_for_nobody_and_what_lies_beneath_does(people: list[Person]) -> None:
    before = application_dump()
    ann, bob, _ = people
    earlier = [each.disguise(specs.AGAIN.name) for each in (ann, bob)]
    later = bob.disguise(specs.AGAIN.name, with_key=True)
    ann.disguise("office.notes-alone-at-random", with_key=True)

    assert bob.reveal(later).complete
    assert {held.reason for held in bob.reveal(earlier[1]).held} == {edna.Reason.OWNER_AWAY}
    for each in (ann, bob):
        each.reveal_everything()
    assert application_dump() == before
    assert not Bag.objects.exists()


@pytest.mark.once
def test_whom_only_a_condition_leads_to_that_does_not_mean_the_row_owns_nothing(people: list[Person]) -> None:
    """Two steps with conditions that exclude each other: nobody waits for the other, and nobody gets a note about the other's."""
    ann, bob, _ = people
    made = {
        who: office.Ticket.objects.create(customer=ann.user, assignee=bob.user, text=f"secret of the {who}")
        for who in ("customer", "assignee")
    }
    before = application_dump()
    name = specs.EACH_THEIR_OWN.name
    receipts = [each.disguise(name) for each in (ann, bob)]

    assert ann.reveal(receipts[0]).complete

    texts = {who: office.Ticket.objects.get(pk=ticket.pk).text for who, ticket in made.items()}
    assert texts == {"customer": "secret of the customer", "assignee": "[gone]"}
    assert bob.reveal(receipts[1]).complete
    assert application_dump() == before


@pytest.mark.once
def test_what_tells_of_another_owner_outlives_the_key_that_found_it(people: list[Person]) -> None:
    """It stood in the list of ann's pseudoprincipal; whoever erases its key keeps it in their own list."""
    ann, bob, _ = people
    note = office.Note.objects.get(order__customer=ann.user, author=bob.user)
    names = specs.staying("only-names", Decorrelate(office.Order, owner="customer"))
    with registering(names):
        mine, disowned = ann.disguise("office.notes-alone"), ann.disguise(names.name)
        theirs = bob.disguise("office.notes-alone")
        with ann.unlock() as unlocked:
            edna.erase(disowned, unlocked)

        held = {row.pk: row.reason for row in ann.reveal(mine).held}

        assert held[note.pk] == edna.Reason.OWNER_AWAY
        assert office.Note.objects.get(pk=note.pk).text == "[gone]"
        bob.reveal(theirs)
        ann.reveal(mine)
    assert office.Note.objects.get(pk=note.pk).text == note.text
    assert not Bag.objects.exists()


def another_key(person: Person, how: str) -> Person:
    """The same one, with a new key that the server, their first device, or their browser has made."""
    if how == "browser":
        new = SecretKey.generate()
        send_new_keys(*Browser(person.secret_key).for_new_key(new))
        return Person(person.user, new)
    with person.unlock() as unlocked:
        made = devices.create(unlocked) if how == "device" else edna.rotate(unlocked).secret_key
    if how == "device":
        with devices.unlock(made) as unlocked:
            made = unlocked.secret_key
    return Person(person.user, made)


@pytest.mark.once
@pytest.mark.parametrize("disguise", specs.TWO[::6], ids=lambda each: each.name.removeprefix("office."))
@pytest.mark.parametrize(("who", "late"), [(0, False), (0, True), (1, False), (1, True)])
@pytest.mark.parametrize("how", ["server", "device", "browser"])
def test_a_new_key_leaves_nothing_in_anybodys_list(
    people: list[Person], disguise: type[Disguise], who: int, late: bool, how: str
) -> None:
    """What waits for another owner says in whose list it is, and by which key they are found: also after one of them has a new one."""
    before = application_dump()
    people = people[:2]
    receipts = [each.disguise(disguise.name) for each in people]
    for number, receipt in enumerate(receipts):
        if number == late:
            people[who] = another_key(people[who], how)
        people[number].reveal(receipt)
    for each in people:
        each.reveal_everything()
    assert application_dump() == before
    assert not Bag.objects.exists()
    left = b"".join(map(bytes, PrincipalEntry.objects.values_list("locators", flat=True)))
    # Of whoever is away, nothing says that the key which a browser made is theirs.
    assert len(left) <= (SEALED_LOCATOR_BYTES if how == "browser" and who == 1 and not late else 0)


@pytest.mark.once
@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize("how", ["server", "device", "browser"])
@pytest.mark.parametrize(
    "disguise",
    [specs.REMOVED_FOR_ALL[0], specs.MESSAGES_FOR_ALL[-1], IN_COMMON["notes-alone"]],
    ids=lambda each: each.name.removeprefix("office."),
)
def test_after_a_disguise_of_everybody_a_new_key_waits_for_the_same_people(
    people: list[Person], disguise: type[Disguise], how: str, who: int
) -> None:
    """The first has handed over what waits; one of the two has a new key before the second comes back."""
    before, away = application_dump(), {str(each.user.pk) for each in people}
    edna.disguise_all(disguise.name)
    for number in range(3):
        if number == 1:
            people[who] = another_key(people[who], how)
        comes_back(people, disguise, number, away)
    for each in people:
        each.reveal_everything()
    assert application_dump() == before
    assert not Bag.objects.exists()


@pytest.mark.once
@pytest.mark.parametrize("tried_before", [False, True])
def test_a_row_of_several_that_was_deleted_can_be_given_up(people: list[Person], tried_before: bool) -> None:
    """It is handed over, for whoever may bring it back. Where all owners are there, and none can have removed it, nobody does."""
    ann, bob, _ = people
    ticket = office.Ticket.objects.get(customer=ann.user, assignee=bob.user)
    receipt = ann.disguise("office.tickets")
    ticket.delete()
    if tried_before:
        assert {held.reason for held in ann.reveal(receipt).held} == {edna.Reason.ROW_MISSING}

    outcome = ann.reveal(receipt, accept=edna.ALL)

    assert (outcome.complete, outcome.accepted) == (True, {"office.ticket": 1})
    assert ann.history() == []
    assert not Bag.objects.exists()
    assert {bytes(each) for each in PrincipalEntry.objects.values_list("locators", flat=True)} == {b""}


@pytest.mark.once
@pytest.mark.parametrize("other", [None, "before", "after"])
def test_what_is_given_up_without_an_account_is_not_told_again(people: list[Person], other: str | None) -> None:
    """Nobody is there to whom the rows could go: they stay as they are, and with the last of them nothing is left of the person."""
    ann, bob, _ = people
    if other == "before":
        bob.disguise("office.notes-cleared")
    receipt = ann.disguise("office.notes-cleared")
    if other == "after":
        bob.disguise("office.notes-cleared")
    left = ann.disguise("office.tickets")
    with ann.unlock() as unlocked:
        edna.erase(left, unlocked)
    held = ann.reveal(receipt).held
    notes = application_dump()["office_note"]
    one, *_ = held

    first = ann.reveal(receipt, accept=[one])

    assert (first.accepted, {each.pk for each in first.held}) == ({one.model: 1}, {each.pk for each in held} - {one.pk})
    outcome = ann.reveal(receipt, accept=edna.ALL)
    assert (outcome.complete, sum(outcome.accepted.values())) == (True, len(held) - 1)
    assert application_dump()["office_note"] == notes
    assert PrincipalEntry.objects.filter(natural=True).count() == 2


@pytest.mark.once
@pytest.mark.parametrize("new_key", [False, True])
def test_what_waits_for_somebody_who_is_away_is_not_given_up(people: list[Person], new_key: bool) -> None:
    """Bob has taken the row along: its text is his, too. Nobody can hand it to him if he had a new key by then."""
    steps = Modify(office.Ticket, owner="customer", set={"text": "[gone]"}), Remove(office.Ticket, owner="assignee")
    before = application_dump()
    ann, bob, _ = people
    with registering(specs.leaving("tickets-of-either", *steps)):
        receipts = [ann.disguise("office.tickets-of-either")]
        if new_key:
            bob = another_key(bob, "server")
        receipts.append(bob.disguise("office.tickets-of-either"))

        outcome = ann.reveal(receipts[0], accept=edna.ALL)

        assert outcome.held
        assert outcome.accepted == {}
        bob.reveal(receipts[1])
        ann.reveal_everything()
        assert application_dump() == before


@pytest.mark.once
def test_a_row_of_which_something_waits_for_somebody_is_not_given_up_in_part(people: list[Person]) -> None:
    """Bob's disguise lies over the text of a ticket that is deleted, and nobody's over Ann's name."""
    both = ["customer", "assignee"]
    steps = Modify(office.Ticket, owner=both, set={"text": specs.RANDOM}), Decorrelate(office.Ticket, owner=both)
    ann, bob, _ = people
    with registering(specs.staying("tickets-veiled", *steps)):
        ticket = office.Ticket.objects.get(customer=ann.user, assignee=bob.user)
        receipts = [each.disguise("office.tickets-veiled") for each in (ann, bob)]
        office.Ticket.objects.filter(pk=ticket.pk).delete()

        outcome = ann.reveal(receipts[0], accept=edna.ALL)

        assert {held.reason for held in outcome.held if held.pk == ticket.pk} == {
            edna.Reason.OWNER_AWAY,
            edna.Reason.ROW_MISSING,
        }
        assert outcome.accepted == {}
        for each, receipt in ((bob, receipts[1]), (ann, receipts[0])):
            assert each.reveal(receipt, accept=edna.ALL).accepted == {"office.ticket": 1}
        assert not Bag.objects.exists()


@pytest.mark.once
def test_a_row_of_which_others_hold_something_is_not_given_up_in_part(people: list[Person]) -> None:
    """Its text waits for whoever comes first, and with it Ann's name."""
    ann, bob, _ = people
    note = office.Note.objects.get(order__customer=ann.user, author=bob.user)
    receipts = [each.disguise("office.notes-again") for each in (ann, bob)]
    row = office.Note.objects.filter(pk=note.pk).values().get()
    office.Note.objects.filter(pk=note.pk).delete()

    outcome = bob.reveal(receipts[1], accept=edna.ALL)

    assert {(held.pk, held.reason) for held in outcome.held} == {(note.pk, edna.Reason.ROW_MISSING)}
    assert outcome.accepted == {}
    office.Note.objects.bulk_create([office.Note(**row)])
    assert [each.reveal(receipt).complete for each, receipt in zip((bob, ann), receipts[::-1], strict=True)] == [
        True,
        True,
    ]
    assert office.Note.objects.get(pk=note.pk).text == note.text


@pytest.mark.once
@pytest.mark.parametrize("accepts", [{}, {"office.Note": ["changed"]}], ids=["held", "accepted"])
def test_what_all_had_left_comes_off_before_what_lies_beneath(
    people: list[Person], accepts: dict[str, list[str]]
) -> None:
    """Ann's text lies under Bob's, who was the last to leave: she gets both back at once, and her specification gives nothing up."""
    both = Modify(office.Note, owner=["order__customer", "author"], set={"text": specs.RANDOM})
    veiled = specs.staying("notes-veiled", both, *specs.AGAIN.transformations[1:])
    veiled.accepts = accepts
    ann, bob, cat = people
    office.Order.objects.filter(customer=cat.user).delete()
    office.Note.objects.filter(author=cat.user).delete()
    before = application_dump()
    with registering(veiled):
        receipts = [ann.disguise(veiled.name), bob.disguise(specs.AGAIN.name)]

        outcome = ann.reveal(receipts[0])

        assert (outcome.held, outcome.accepted) == ([], {})
        assert bob.reveal(receipts[1]).complete
        assert application_dump() == before


# What waits is handed to the others


@pytest.fixture
def waiting(people: list[Person]) -> tuple[Person, Person, edna.Receipt, edna.Receipt]:
    """Two people whose notes are out of sight, the first one's older; nothing was handed over yet."""
    ann, bob, _ = people
    return ann, bob, ann.disguise("office.notes-alone"), bob.disguise("office.notes-alone")


@pytest.mark.once
def test_what_waits_is_handed_to_nobody_whose_entry_is_forged(waiting: Any) -> None:
    """It would be sealed to whoever wrote the table."""
    ann, bob, mine, theirs = waiting
    entries = PrincipalEntry.objects.filter(reference=str(bob.user.pk))
    [tag] = entries.values_list("tag", flat=True)
    entries.update(tag=bytes(len(tag)))
    before = edna_dump()
    with pytest.raises(EntryForged):
        ann.reveal(mine)
    assert edna_dump() == before
    entries.update(tag=tag)
    ann.reveal(mine)
    bob.reveal(theirs)
    ann.reveal(mine)
    assert not Bag.objects.exists()


@pytest.mark.once
def test_what_was_handed_over_does_not_say_whose_disguise_it_was(waiting: Any) -> None:
    """Only what is common: neither name nor parameters of what another person has done, nor their key."""
    ann, bob, mine, _ = waiting
    ann.reveal(mine)
    heads = [
        segment.bag for segments in Browser(bob.secret_key).bags.values() for segment in segments if segment.bag.batches
    ]
    handed = [bag for bag in heads if any(isinstance(batch, Listed) for batch in bag.batches)]
    assert {(bag.disguise, bag.principal, tuple(bag.params)) for bag in handed} == {("", None, ())}


@pytest.mark.once
def test_who_is_removed_finds_what_was_handed_to_them_as_long_as_it_is_kept(
    people: list[Person], settings: Any
) -> None:
    """The rows name nobody in their place, and their entry was to go earlier; without it nobody finds the bag."""
    ann, bob, _ = people
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}
    mine = ann.disguise("office.tickets")
    bob.disguise("office.tickets")
    entries = PrincipalEntry.objects.filter(public_key=bytes(bob.secret_key.public_key))
    later = datetime.date(2400, 1, 1)
    Bag.objects.filter(index=mine.locator.index(BagKind.DIFF, 0)).update(expires_on=later)
    assert entries.get().expires_on < later

    ann.reveal(mine)

    assert entries.get().expires_on == later


@pytest.mark.once
@pytest.mark.parametrize("in_browser", [False, True])
def test_who_withholds_a_receipt_brings_back_nothing_that_another_owner_hides(
    people: list[Person], settings: Any, in_browser: bool
) -> None:
    """In mode ``client``: what tells of bob lies in the list of a pseudoprincipal to whom that receipt alone leads. That there is a list
    which nobody reads tells as much; if nobody else is away it is empty, and all comes back without the other receipt.
    """
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}
    ann, bob, _ = people
    note = office.Note.objects.get(order__customer=ann.user, author=bob.user)
    names = specs.staying("only-names", Decorrelate(office.Order, owner="customer"))

    def revealed(mine: edna.Receipt, *others: edna.Receipt) -> str:
        """What the note says then; and everything is as it was."""
        with transaction.atomic(), ExitStack() as stack:
            if in_browser:
                given = Browser(ann.secret_key, start=[each.locator for each in (mine, *others)]).for_reveal(mine)
                stack.enter_context(without_keys())
                unlocked = stack.enter_context(inner_door.unlock_handed(given, receipts=others))
            else:
                unlocked = stack.enter_context(ann.unlock(receipts=[mine, *others]))
            edna.reveal(mine, unlocked)
            text = office.Note.objects.get(pk=note.pk).text
            transaction.set_rollback(True)
            return text

    with registering(names):
        for mode in ("server", "client"):
            settings.EDNA = {**settings.EDNA, "LOCATORS": mode}
            with transaction.atomic():
                mine, disowned = ann.disguise("office.notes-alone"), ann.disguise(names.name)
                assert revealed(mine) == note.text
                theirs = bob.disguise("office.notes-alone")
                assert revealed(mine, disowned) == revealed(mine) == "[gone]"
                assert ann.reveal(mine).held, "and it waits for bob"
                with bob.unlock(receipts=[theirs]) as unlocked:
                    edna.reveal(theirs, unlocked)
                with ann.unlock(receipts=[mine, disowned]) as unlocked:
                    assert edna.reveal(mine, unlocked).complete
                assert office.Note.objects.get(pk=note.pk).text == note.text
                transaction.set_rollback(True)


@pytest.mark.once
@pytest.mark.parametrize("way", ["erased", "no way back"])
def test_what_tells_of_another_owner_counts_where_nobody_can_read_it_any_more(people: list[Person], way: str) -> None:
    """Ann has given up for good what led to the pseudoprincipal in her place; what bob hides since then, he tells that one."""
    ann, bob, _ = people
    note = office.Note.objects.get(order__customer=ann.user, author=bob.user)
    names = specs.staying("only-names", Decorrelate(office.Order, owner="customer"))
    with registering(names):
        mine = ann.disguise("office.notes-alone")
        if way == "erased":
            disowned = ann.disguise(names.name)
            with ann.unlock() as unlocked:
                edna.erase(disowned, unlocked)
        else:
            edna.disguise(names.name, ann.user, keep_no_way_back=True)
        bob.disguise("office.notes-alone")

        outcome = ann.reveal(mine)

        assert note.pk in {int(held.pk) for held in outcome.held if held.reason is edna.Reason.OWNER_AWAY}
        assert office.Note.objects.get(pk=note.pk).text == "[gone]"


@pytest.mark.once
@pytest.mark.parametrize("made", [specs.staying, specs.leaving])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first-leaves-first", "second-leaves-first"])
def test_of_what_one_step_changes_the_own_column_does_not_wait_for_who_has_the_other_in_common(
    people: list[Person], order: Sequence[int], made: Any
) -> None:
    disguise = made(
        "drafts-of-two",
        Modify(office.Draft, owner="first", set={"text": "gone", "third": None}),
        Modify(office.Draft, owner="second", set={"text": "gone"}),
    )
    ann, bob, cat = people
    (before,) = office.Draft.objects.filter(first=ann.user, second=bob.user).values()
    draft = office.Draft.objects.filter(pk=before["id"])
    with registering(disguise):
        receipts = {number: people[number].disguise(disguise.name) for number in order}
        ann.reveal(receipts[0])
        (now,) = draft.values()
        assert (now["text"], now["third_id"]) == ("gone", cat.user.pk)
        bob.reveal(receipts[1])
        assert draft.values().get() == before
