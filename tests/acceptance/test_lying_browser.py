"""A browser that lies about rows of several owners: what tells that another one is away stands in lists that only it opens.

Whoever changes the script leaves something out of what is handed over, or says it wrongly. Nothing comes back then.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import override_settings

import edna
from edna import Decorrelate, inner_door
from edna.crypto.keys import SecretKey
from edna.crypto.sealing import seal_small
from edna.errors import HandoverRefused, ReceiptsIncomplete, ReceiptUnknown
from edna.inner_door import Handover, NewKeys
from edna.models import Bag, PrincipalEntry
from edna.records.bag import BagKind
from edna.records.locator import Locator
from edna.records.speaksfor import SealedKey
from edna.testing import Person, application_dump, cheap_keys
from tests.acceptance.test_several_owners import desk_tables  # noqa: F401  # a fixture
from tests.handing import Browser, send_new_keys, without_keys
from tests.installed import registered, registering
from tests.office import models as office
from tests.office.specs import REMOVED_FOR_ALL, staying
from tests.support import AUDIT_TABLES, edna_dump

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]

DESK = "tests.office"
SECRET = "what ann and bob own"
#: Named by the account, and by a pseudoprincipal: in whose list stands that the other one is away.
ALONE, WITH_NAMES = "office.notes-alone", "office.notes-and-names"


@pytest.fixture
def people(desk_tables: None, db: None) -> Iterator[tuple[Person, Person]]:  # noqa: F811
    """Ann, whose order it is, and bob, who has written the note."""
    configured = {**django_settings.EDNA, "CUSTODY": "browser"}
    with registered(DESK), cheap_keys(), override_settings(EDNA=configured):
        ann, bob = (Person.registered(office.Person.objects.create(name=name)) for name in ("ann", "bob"))
        order = office.Order.objects.create(customer=ann.user)
        office.Note.objects.create(order=order, author=bob.user, text=SECRET)
        office.Message.objects.create(sender=ann.user, recipient=ann.user, text="ann's alone")
        yield ann, bob


def text() -> str:
    return office.Note.objects.get().text


def reveals(person: Person, receipt: edna.Receipt, handover: Handover | None = None) -> edna.Outcome:
    handover = handover or honest(person, receipt)
    with without_keys(), inner_door.unlock_handed(handover) as unlocked:
        return edna.reveal(receipt, unlocked)


def honest(person: Person, receipt: edna.Receipt) -> Handover:
    return Browser(person.secret_key, start=[receipt.locator]).for_reveal(receipt)


def items_of(handover: Handover, *, but: edna.Receipt) -> Iterator[tuple[dict[bytes, Any], bytes]]:
    """All items with a locator, but that of the receipt, in all lists."""
    for items in [*handover.lists.values(), *(handover.whole.lists.values() if handover.whole else ())]:
        assert isinstance(items, dict)
        yield from ((items, item) for item, locator in items.items() if locator not in (None, but.locator))


def keeps_all_back(handover: Handover, receipt: edna.Receipt) -> None:
    for items, item in items_of(handover, but=receipt):
        items[item] = None


def keeps_it_out_of_the_act(handover: Handover, receipt: edna.Receipt) -> None:
    for items in handover.lists.values():
        items.update(dict.fromkeys([item for item, each in items.items() if each != receipt.locator], None))  # type: ignore[attr-defined]


def says_no_whole(handover: Handover, receipt: edna.Receipt) -> None:
    handover.whole = None


def leads_elsewhere(handover: Handover, receipt: edna.Receipt) -> None:
    for items, item in items_of(handover, but=receipt):
        items[item] = Locator.new()


def says_one_twice(handover: Handover, receipt: edna.Receipt) -> None:
    for items, item in items_of(handover, but=receipt):
        items[item] = receipt.locator


def knows_no_voices(handover: Handover, receipt: edna.Receipt) -> None:
    assert handover.whole
    own = bytes(handover.public_key)
    for each in (handover, handover.whole):
        each.lists = {own: each.lists[own]}
    handover.whole.content_keys = {}


LIES = [keeps_all_back, keeps_it_out_of_the_act, says_no_whole, leads_elsewhere, says_one_twice]


@pytest.mark.parametrize(
    ("lie", "name"),
    [*((lie, name) for lie in LIES for name in (ALONE, WITH_NAMES)), (knows_no_voices, WITH_NAMES)],
    ids=lambda given: getattr(given, "__name__", given),
)
def test_what_another_owner_hides_does_not_come_back_by_a_lie(
    people: tuple[Person, Person], lie: Callable[[Handover, edna.Receipt], None], name: str
) -> None:
    """It is refused, and changes nothing. The truth brings back what may come back, and the rest when the other one is there."""
    ann, bob = people
    rows, tables = application_dump(), edna_dump()
    first, second = ann.disguise(name), bob.disguise(name)
    before = application_dump(), edna_dump()
    handover = honest(ann, first)
    lie(handover, first)

    with pytest.raises(HandoverRefused, match="Nothing was changed"):
        reveals(ann, first, handover)

    assert (application_dump(), edna_dump()) == before
    assert [held.reason for held in reveals(ann, first).held] == [edna.Reason.OWNER_AWAY]
    assert text() == "[gone]"
    assert reveals(bob, second).complete
    assert text() == SECRET
    reveals(ann, first)
    assert (application_dump(), edna_dump()) == (rows, tables)


@pytest.mark.parametrize("lie", LIES, ids=lambda given: given.__name__)
def test_a_row_that_would_have_gone_with_another_owner_does_not_come_back_by_a_lie(
    people: tuple[Person, Person], lie: Callable[[Handover, edna.Receipt], None]
) -> None:
    """Of a disguise of everybody, one of them has it: that the other one is away stands in that one's list alone."""
    ann, bob = people
    office.Entry.objects.create(order=office.Order.objects.get(), user=bob.user, text=SECRET)
    assert inner_door.in_common(["office.entry"]), "the browser is told to hand over what tells of others"
    rows, tables = application_dump(), edna_dump()
    edna.disguise_all(REMOVED_FOR_ALL[0].name)
    [first] = [entry.receipt for entry in bob.history()]
    handover = honest(bob, first)
    lie(handover, first)

    with pytest.raises(HandoverRefused, match="Nothing was changed"):
        reveals(bob, first, handover)

    assert [held.reason for held in reveals(bob, first).held] == [edna.Reason.OWNER_AWAY]
    assert not office.Entry.objects.exists()
    [second] = [entry.receipt for entry in ann.history()]
    reveals(ann, second)
    assert office.Entry.objects.get().text == SECRET
    reveals(bob, first)
    assert application_dump() == rows
    assert edna_dump() | dict.fromkeys(AUDIT_TABLES) == tables | dict.fromkeys(AUDIT_TABLES)


def test_what_tells_of_another_owner_is_not_taken_out_of_a_list_by_a_lie(people: tuple[Person, Person]) -> None:
    """By the reveal of something else, that nobody else owns, which takes its own item out."""
    ann, bob = people
    own = ann.disguise("office.messages-alone")
    first = ann.disguise(ALONE)
    bob.disguise(ALONE)
    handover = honest(ann, own)
    [(public_key, items)] = handover.lists.items()
    [mine] = [item for item, locator in items.items() if locator == own.locator]
    for other in items.keys() - {mine}:
        swapped = copy.copy(handover)
        swapped.lists = {public_key: {**dict.fromkeys(items), other: own.locator}}
        with pytest.raises(HandoverRefused, match="not the one in its item"):
            reveals(ann, own, swapped)

    assert reveals(ann, own).complete
    assert [held.reason for held in reveals(ann, first).held] == [edna.Reason.OWNER_AWAY]


def test_a_new_key_takes_along_what_tells_of_another_owner(people: tuple[Person, Person]) -> None:
    """Nothing of a list is given up, or replaced by something else."""
    ann, bob = people
    first = ann.disguise(ALONE)
    bob.disguise(ALONE)
    new = SecretKey.generate()
    asked, proved = Browser(ann.secret_key).for_new_key(new)
    items = asked.lists[asked.own]
    assert len(items) == 2
    for item in items:
        left = {each: key for each, key in items.items() if each != item}
        for lie in (left, {**items, item: bytes(32)}):
            with pytest.raises(HandoverRefused, match="Nothing was changed"):
                send_new_keys(replace(asked, lists={asked.own: lie}), proved)

    send_new_keys(asked, proved)
    renewed = Person(ann.user, new)

    assert [held.reason for held in reveals(renewed, first).held] == [edna.Reason.OWNER_AWAY]
    assert text() == "[gone]"


def test_what_somebody_else_has_put_into_a_list_is_not_handed_over(people: tuple[Person, Person]) -> None:
    """It may be anything that was sealed to this person: a key of a pseudoprincipal, which has the size of a locator."""
    ann, _ = people
    first = ann.disguise(ALONE)
    key = SecretKey.generate()
    entry = PrincipalEntry.objects.get(public_key=bytes(ann.secret_key.public_key))
    planted = seal_small(key.expose(), recipient=ann.secret_key.public_key)
    PrincipalEntry.objects.filter(pk=entry.pk).update(locators=bytes(entry.locators) + planted)

    handover = honest(ann, first)

    assert handover.whole
    for each in (handover, handover.whole):
        assert all(items.get(planted) is None for items in each.lists.values())
    with pytest.raises(HandoverRefused, match="give the key to the site once"):
        reveals(ann, first, handover)
    with edna.unlock(secret_key=ann.secret_key) as unlocked:
        assert edna.reveal(first, unlocked).complete
    assert text() == SECRET


def with_wrong_keys_of_voices(asked: NewKeys) -> NewKeys:
    """All keys are proved, and the boxes that nobody else opens hold another one."""
    recipient = asked.keys[asked.own]
    bags = {
        index: replace(
            made,
            voices={voice: SealedKey.of(SecretKey.generate(), recipient=recipient) for voice in made.voices},
        )
        for index, made in asked.bags.items()
    }
    return replace(asked, bags=bags)


def test_a_key_that_was_sealed_wrongly_brings_back_nothing_that_another_owner_hides(
    people: tuple[Person, Person],
) -> None:
    """It stands in the list of ann's pseudoprincipal that bob's disguise lies over the row; ann makes the bag with that one's key look
    damaged, and takes back on the server what she has changed before."""
    ann, bob = people
    names = staying("only-names", Decorrelate(office.Order, owner="customer"))
    with registering(names):
        mine = ann.disguise(ALONE)
        ann.disguise(names.name)
        theirs = bob.disguise(ALONE)
        new = SecretKey.generate()
        asked, proved = Browser(ann.secret_key).for_new_key(new)
        send_new_keys(with_wrong_keys_of_voices(asked), proved)
        renewed = Person(ann.user, new)

        outcome = renewed.reveal(mine)

        assert text() == "[gone]"
        assert [held.reason for held in outcome.held] == [edna.Reason.BAG_DAMAGED]
        assert bob.reveal(theirs).complete
        with renewed.unlock() as unlocked:
            registration = edna.rotate(unlocked, leave_damaged=True)
        assert registration.secret_key is not None
        assert Person(ann.user, registration.secret_key).reveal(mine).complete
        assert text() == SECRET


def test_what_several_own_waits_until_a_damaged_bag_is_restored(people: tuple[Person, Person]) -> None:
    """Nobody else is away, but who could tell? What is ann's alone comes back."""
    ann, _ = people
    rows = application_dump()
    names = staying("only-names", Decorrelate(office.Order, owner="customer"))
    with registering(names):
        mine, own, disowned = (ann.disguise(name) for name in (ALONE, "office.messages-alone", names.name))
        [stored] = Bag.objects.filter(index=disowned.locator.index(BagKind.SPEAKS_FOR, 0))
        Bag.objects.filter(pk=stored.pk).update(sealed=bytes(len(stored.sealed)))
        for _ in range(2):
            outcome = ann.reveal(mine)
            assert [held.reason for held in outcome.held] == [edna.Reason.BAG_DAMAGED]
            assert text() == "[gone]"
        assert ann.reveal(own).complete

        Bag.objects.filter(pk=stored.pk).update(sealed=stored.sealed)

        assert ann.reveal(mine).complete
        assert ann.reveal(disowned).complete
    assert application_dump() == rows
    assert not Bag.objects.exists()


def test_nobody_gives_up_by_a_lie_what_leads_to_what_tells_of_another_owner(people: tuple[Person, Person]) -> None:
    """Bob's disguise has told ann's placeholder. She says nothing of what stands in that one's list, and destroys for good what leads to
    it; or takes her name back before, so that no row says anything of it any more."""
    ann, bob = people
    names = staying("only-names", Decorrelate(office.Order, owner="customer"))
    with registering(names):
        mine, disowned = ann.disguise(ALONE), ann.disguise(names.name)
        bob.disguise(ALONE)
        before = application_dump(), edna_dump()
        with pytest.raises(ReceiptsIncomplete):
            destroys(ann, disowned)
        assert (application_dump(), edna_dump()) == before
        handover = honest(ann, disowned)
        silenced(handover)
        with suppress(HandoverRefused):
            reveals(ann, disowned, handover)
        with suppress(HandoverRefused, ReceiptsIncomplete, ReceiptUnknown):
            destroys(ann, disowned)

        outcome = reveals(ann, mine)

        assert text() == "[gone]"
        assert [held.reason for held in outcome.held] == [edna.Reason.OWNER_AWAY]


def silenced(handover: Handover) -> None:
    """Of the lists of those for whom the person speaks, no item leads anywhere."""
    handover.whole = None
    for public_key, items in handover.lists.items():
        if public_key != bytes(handover.public_key):
            items.update(dict.fromkeys(items))  # type: ignore[attr-defined]


def destroys(person: Person, receipt: edna.Receipt) -> None:
    handover = honest(person, receipt)
    silenced(handover)
    with without_keys(), inner_door.unlock_handed(handover) as unlocked:
        edna.erase(receipt, unlocked)
