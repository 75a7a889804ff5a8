"""Two chairs together read who wrote an anonymised review, in a case of misconduct; nobody reads it alone, and the reviewer is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.template.loader import render_to_string

import edna
from apps.hotcrp_sim import models as m
from apps.hotcrp_sim.disguises import AnonymizeConference, RemoveAccountHeld
from edna import audiences, errors, inner_door
from edna.audiences import tags
from edna.audiences.models import HeldCopy, HoldNotice, HoldPart, SharedSecret
from edna.crypto.sealing import open_small, seal_small
from edna.operations import audit
from edna.pages.words import who_else_reads
from edna.testing import Person, application_dump
from tests.handing import Browser
from tests.installed import registering
from tests.support import ANONYMISE_ALL, answer_everything, enrol, make_course, statements

pytestmark = pytest.mark.django_db


class WithChairs(AnonymizeConference):
    """The names go; two chairs can read them together."""

    name = "hotcrp.anonymize-with-chairs"
    audience = "chairs"
    together = 2


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    with registering(WithChairs):
        yield


class Chairs:
    def __init__(self, *names: str, together: int = 2) -> None:
        self.new = {name: audiences.new_member() for name in names}
        first = next(iter(self.new.values()))
        cards = {name: each.card for name, each in self.new.items()}
        audiences.create("chairs", first.secret_key, cards, together=together)

    def __getitem__(self, name: str) -> Any:
        return self.new[name].secret_key

    def join(self, by: str, name: str) -> None:
        self.new[name] = audiences.new_member()
        audiences.join("chairs", self[by], name, self.new[name].card)

    def leave(self, by: str, name: str) -> None:
        (gone,) = (person.id for person in audiences.members("chairs") if person.name == name)
        audiences.leave("chairs", self[by], gone)


@pytest.fixture
def chairs() -> Chairs:
    return Chairs("ada", "bob", "cyd")


def somebody(email: str) -> Person:
    return Person.registered(m.ContactInfo.objects.create_user(email=email, password="x"))


@pytest.fixture
def reviewer() -> Person:
    return somebody("rae@example.org")


def review_of(reviewer: Person) -> m.PaperReview:
    paper = m.Paper.objects.create(title="Reversible Logs")
    return m.PaperReview.objects.create(paper=paper, contact=reviewer.user)


def names_in(found: list[audiences.HeldData]) -> set[tuple[str, str]]:
    return {(each.model, each.reference) for each in found}


def test_two_chairs_together_read_who_wrote_a_review(chairs: Chairs, reviewer: Person) -> None:
    review, before = review_of(reviewer), application_dump()
    receipt = edna.disguise(WithChairs.name, reviewer.user)
    review.refresh_from_db()
    nobody = review.contact
    assert nobody.pk != reviewer.user.pk
    number = audiences.ask("chairs", chairs["ada"], nobody, reason="case 12: a threat")
    with pytest.raises(errors.TooFewTogether) as caught:
        audiences.read(number, chairs["ada"])
    assert (caught.value.have, caught.value.need) == (1, 2)
    audiences.agree(number, chairs["cyd"])
    with pytest.raises(errors.HeldCopyRefused):
        audiences.read(number, chairs["bob"])
    found = audiences.read(number, chairs["ada"])
    assert names_in(found) == {("hotcrp_sim.contactinfo", str(reviewer.user.pk))}
    _, _, values = next(row for row in found[0].rows if row[0] == "hotcrp_sim.paperreview")
    assert values["contact"] == reviewer.user.pk
    # It is in the audit trail, for everybody who may see requests, and told to the reviewer.
    (entry, *_) = audit.entries(most=1)
    assert (entry.action, entry.operator, entry.details["audience"]) == ("held-data-read", "ada", "chairs")
    (request,) = audiences.requests("chairs")
    assert (request.asked_by, set(request.agreed), request.uses) == ("ada", {"ada", "cyd"}, 1)
    with edna.unlock(secret_key=reviewer.secret_key) as unlocked:
        (use,) = audiences.uses(unlocked)
        assert (use.audience, use.together, use.reason) == ("chairs", 2, "case 12: a threat")
        edna.reveal(receipt, unlocked)
    # Also by the receipt alone, as the page of return tells it.
    assert inner_door.uses_of(receipt) == [("chairs", 2, use.month, "case 12: a threat")]
    assert application_dump() == before
    # What came back is not held any more.
    assert not HeldCopy.objects.exists()
    with pytest.raises(errors.BagMissing):
        audiences.read(number, chairs["ada"])


@pytest.mark.once
def test_a_passwords_hash_and_what_the_disguise_leaves_out_is_not_read(chairs: Chairs, reviewer: Person) -> None:
    before = application_dump()
    with reviewer.unlock() as unlocked:
        receipt = edna.disguise(RemoveAccountHeld.name, reviewer.user, unlocked=unlocked)
    number = audiences.ask("chairs", chairs["ada"], reviewer.user, reason="case 12")
    audiences.agree(number, chairs["bob"])
    (held,) = audiences.read(number, chairs["ada"])
    (account,) = [values for model, _, values in held.rows if model == "hotcrp_sim.contactinfo"]
    assert account["email"] == "rae@example.org"
    assert "affiliation" in account
    assert not account.keys() & {"password", "birthday"}
    # The person gets all of it.
    with reviewer.unlock() as unlocked:
        edna.reveal(receipt, unlocked)
    assert application_dump() == before


@pytest.mark.once
def test_what_is_held_about_a_person_is_found_by_the_person_too(chairs: Chairs, reviewer: Person) -> None:
    review_of(reviewer)
    edna.disguise(WithChairs.name, reviewer.user)
    number = audiences.ask("chairs", chairs["ada"], reviewer.user, reason="case 12")
    audiences.agree(number, chairs["bob"])
    assert audiences.read(number, chairs["ada"])
    other = somebody("mia@example.org")
    with pytest.raises(errors.HeldCopyRefused, match="Nothing about"):
        audiences.ask("chairs", chairs["ada"], other.user, reason="curious")
    with pytest.raises(errors.HeldCopyRefused, match="reason"):
        audiences.ask("chairs", chairs["ada"], reviewer.user, reason=" ")


@pytest.mark.once
def test_what_more_open_together_is_asked_for_beside_what_fewer_do(chairs: Chairs, reviewer: Person) -> None:
    """Nobody hides the one behind the other, either."""

    class WithThree(WithChairs):
        name = "hotcrp.anonymize-with-three"
        together = 3

    audiences.create("chairs", chairs["ada"], {}, together=3)
    with registering(WithThree):
        for disguise in (WithChairs, WithThree):
            edna.disguise(disguise.name, reviewer.user)
        for together in (None, 2, 3):
            number = audiences.ask("chairs", chairs["ada"], reviewer.user, reason="case", together=together)
            (request,) = (each for each in audiences.requests("chairs") if each.id == number)
            assert request.together == (together or 2)
        for name in ("bob", "cyd"):
            audiences.agree(number, chairs[name])
        (held,) = audiences.read(number, chairs["ada"])
        assert held.disguise == WithThree.name
    with pytest.raises(errors.HeldCopyRefused, match="Nothing about"):
        audiences.ask("chairs", chairs["ada"], reviewer.user, reason="case", together=4)


@pytest.mark.once
def test_nobody_hides_what_is_held_behind_what_they_bring_back(chairs: Chairs, reviewer: Person) -> None:
    """Each disguise has a place behind those before it, which are free again once it was taken back."""
    before = [edna.disguise(WithChairs.name, reviewer.user) for _ in range(17)]
    review_of(reviewer)
    edna.disguise(WithChairs.name, reviewer.user)
    with edna.unlock(secret_key=reviewer.secret_key) as unlocked:
        for receipt in before:
            edna.reveal(receipt, unlocked)
    number = audiences.ask("chairs", chairs["ada"], reviewer.user, reason="case 12")
    audiences.agree(number, chairs["bob"])
    assert names_in(audiences.read(number, chairs["ada"])) == {("hotcrp_sim.contactinfo", str(reviewer.user.pk))}


def test_of_somebody_whose_key_stays_in_a_browser_it_is_read_and_they_are_told(
    chairs: Chairs, reviewer: Person
) -> None:
    """The server seals the copy, and looks for notices under what the browser hands over."""
    review_of(reviewer)
    before = application_dump()
    receipt = edna.disguise(WithChairs.name, reviewer.user)
    number = audiences.ask("chairs", chairs["ada"], reviewer.user, reason="case 12")
    audiences.agree(number, chairs["bob"])
    assert audiences.read(number, chairs["ada"])
    handed = Browser(reviewer.secret_key).for_reveal(receipt)
    with inner_door.unlock_handed(handed, receipts=[receipt]) as unlocked:
        (use,) = audiences.uses(unlocked)
        assert (use.audience, use.reason) == ("chairs", "case 12")
        edna.reveal(receipt, unlocked)
    assert application_dump() == before
    assert not HeldCopy.objects.exists()


@pytest.mark.once
def test_without_a_declaration_nobody_but_the_person_can_open_anything(chairs: Chairs, reviewer: Person) -> None:
    review = review_of(reviewer)
    edna.disguise(AnonymizeConference.name, reviewer.user)
    review.refresh_from_db()
    assert not HeldCopy.objects.exists()
    for about in (review.contact, reviewer.user):
        with pytest.raises(errors.HeldCopyRefused):
            audiences.ask("chairs", chairs["ada"], about, reason="case 12")


@pytest.mark.once
def test_the_pages_say_it_before_with_the_receipt_and_on_return(chairs: Chairs, reviewer: Person) -> None:
    review_of(reviewer)
    receipt = edna.disguise(WithChairs.name, reviewer.user)
    held, page = who_else_reads(receipt.disguise), {"base_template_name": "edna/base.html"}
    said = "2 of the people in “chairs” can read together what this hides"
    assert said in render_to_string("edna/receipt.txt", {"receipt": receipt, "held": held})
    assert said in render_to_string("edna/apply.html", {"held": held, "preview": ["1 review"], "form": None, **page})
    assert "people in" not in render_to_string("edna/receipt.txt", {"receipt": receipt, "held": ""})
    assert who_else_reads(AnonymizeConference.name) == ""
    told = render_to_string("edna/brought_back.html", {"read_by": [("chairs", 2, "2026-11", "case <12>")], **page})
    assert "2 of the people in “chairs” have read this together (2026-11). Their reason: case &lt;12&gt;" in told


def test_without_the_audience_it_is_refused_and_nothing_has_changed(reviewer: Person) -> None:
    review_of(reviewer)
    before = application_dump()
    with pytest.raises(errors.AudienceUnknown):
        edna.disguise(WithChairs.name, reviewer.user)
    assert application_dump() == before
    Chairs("ada", "bob", "cyd", together=3)
    with pytest.raises(errors.AudienceUnknown, match="2 act together"):
        edna.disguise(WithChairs.name, reviewer.user)


def test_who_comes_gets_a_share_from_two_and_who_went_opens_nothing(chairs: Chairs, reviewer: Person) -> None:
    review = review_of(reviewer)
    edna.disguise(WithChairs.name, reviewer.user)
    review.refresh_from_db()
    former = open_all(chairs["cyd"])
    chairs.leave("ada", "cyd")
    chairs.join("bob", "dan")
    with pytest.raises(errors.NotInAudience):
        audiences.ask("chairs", chairs["cyd"], review.contact, reason="mine")
    number = audiences.ask("chairs", chairs["ada"], review.contact, reason="case 12")
    with pytest.raises(errors.NotInAudience):
        audiences.agree(number, chairs["dan"])
    assert not audiences.hand_on("chairs", chairs["ada"])
    assert audiences.hand_on("chairs", chairs["bob"])
    assert all(person.has_share for person in audiences.members("chairs"))
    # A part with a former share does not count.
    audiences.agree(number, chairs["dan"])
    with pytest.raises(errors.TooFewTogether):
        audiences.read(number, chairs["ada"])
    number = audiences.ask("chairs", chairs["dan"], review.contact, reason="case 12")
    audiences.agree(number, chairs["bob"])
    assert audiences.read(number, chairs["dan"])
    assert former < open_all(chairs["ada"])


def open_all(key: Any) -> set[bytes]:
    return {each.expose() for each in audiences.secret_keys("chairs", key)}


@pytest.mark.once
def test_whose_key_it_is_and_whether_there_is_an_audience(chairs: Chairs) -> None:
    assert audiences.is_there("chairs")
    assert not audiences.is_there("judges")
    assert audiences.member("chairs", chairs["bob"]).name == "bob"
    assert audiences.member("chairs", chairs["bob"].expose_text()).has_share
    assert audiences.card_of(chairs["bob"]) == chairs.new["bob"].card
    with pytest.raises(errors.NotInAudience):
        audiences.member("chairs", audiences.new_member().secret_key)
    with pytest.raises(errors.AudienceUnknown):
        audiences.member("judges", chairs["bob"])


@pytest.mark.once
def test_a_member_who_was_away_for_ten_changes_reads_what_is_sealed_now_and_was_before(chairs: Chairs) -> None:
    first = seal_small(b"first", recipient=audiences.public_key("chairs"))
    for number in range(10):
        chairs.join("ada", f"guest {number}")
    last = seal_small(b"last", recipient=audiences.public_key("chairs"))
    keys = audiences.secret_keys("chairs", chairs["bob"])
    assert open_small(last, secret_key=keys[0]) == b"last"
    assert open_small(first, secret_key=keys[-1]) == b"first"


def _tables() -> list[list[dict[str, Any]]]:
    return [
        list(model._default_manager.order_by("pk").values())
        for model in apps.get_app_config("edna_audiences").get_models()
    ]


_ACTS: dict[str, Callable[[Chairs, Person, int], object]] = {
    "create": lambda chairs, person, number: audiences.create(
        "judges", chairs["ada"], {name: each.card for name, each in chairs.new.items()}
    ),
    "share more": lambda chairs, person, number: audiences.create("chairs", chairs["ada"], {}, together=3),
    "join": lambda chairs, person, number: chairs.join("ada", "dan"),
    "leave": lambda chairs, person, number: chairs.leave("ada", "cyd"),
    "hand on": lambda chairs, person, number: audiences.hand_on("chairs", chairs["bob"]),
    "ask": lambda chairs, person, number: audiences.ask("chairs", chairs["bob"], person.user, reason="case 13"),
    "agree": lambda chairs, person, number: audiences.agree(number, chairs["bob"]),
    "delete": lambda chairs, person, number: audiences.delete("chairs", lose_held=True),
}


@pytest.mark.once
@pytest.mark.parametrize("act", _ACTS)
def test_a_crash_at_any_statement_leaves_all_as_it_was(chairs: Chairs, reviewer: Person, act: str) -> None:
    """The former key is the audience's, nothing is there in half; and the same can be done then."""
    review_of(reviewer)
    edna.disguise(WithChairs.name, reviewer.user)
    number = audiences.ask("chairs", chairs["ada"], reviewer.user, reason="case 12")
    audiences.hand_on("chairs", chairs["ada"])
    before, key = _tables(), audiences.public_key("chairs")
    at = 0

    def crash(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal left
        result = execute(sql, params, many, context)
        if sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK")) and "INSERT" not in sql:
            return result
        left -= 1
        if left < 0:
            raise OSError("killed")
        return result

    for at in count():
        left = at
        try:
            with connection.execute_wrapper(crash):
                _ACTS[act](chairs, reviewer, number)
            break
        except OSError:
            assert _tables() == before
            assert audiences.public_key("chairs") == key
    assert at > 5
    assert _tables() != before


@pytest.mark.once
def test_what_is_held_of_a_part_that_stays_sealed_opens_still(chairs: Chairs, reviewer: Person) -> None:
    """A reveal that holds something seals the bag again; so does a new key."""
    review = review_of(reviewer)
    receipt = edna.disguise(WithChairs.name, reviewer.user)
    review.refresh_from_db()
    nobody = review.contact
    other = somebody("mia@example.org")
    m.PaperReview.objects.filter(pk=review.pk).update(contact=other.user)
    with edna.unlock(secret_key=reviewer.secret_key) as unlocked:
        outcome = edna.reveal(receipt, unlocked, allow_partial=True)
        assert outcome.held
    with edna.unlock(secret_key=reviewer.secret_key) as unlocked:
        edna.rotate(unlocked)
    number = audiences.ask("chairs", chairs["ada"], nobody, reason="case 12")
    audiences.agree(number, chairs["bob"])
    assert names_in(audiences.read(number, chairs["ada"])) == {("hotcrp_sim.contactinfo", str(reviewer.user.pk))}


@pytest.mark.once
def test_the_tables_tell_nothing_of_whose_a_copy_is(chairs: Chairs) -> None:
    people = [somebody(f"{name}@example.org") for name in "ab"]
    for person in people:
        review_of(person)
        review_of(person)
        edna.disguise(WithChairs.name, person.user)
        edna.disguise(WithChairs.name, person.user)
    rows = list(HeldCopy.objects.values_list("place", "mark", "sealed"))
    assert len(rows) >= 6
    assert len({len(sealed) for _, _, sealed in rows}) == 1
    pieces = [piece for row in rows for piece in row]
    assert len(set(map(bytes, pieces))) == len(pieces)


@pytest.mark.once
def test_a_copy_that_was_moved_to_another_person_is_refused(chairs: Chairs) -> None:
    one, other = somebody("a@example.org"), somebody("b@example.org")
    reviews = [review_of(one), review_of(other)]
    for person in (one, other):
        edna.disguise(WithChairs.name, person.user)
    for review in reviews:
        review.refresh_from_db()
    number = audiences.ask("chairs", chairs["ada"], reviews[0].contact, reason="case")
    request = audiences.requests("chairs")[0]
    assert request.id == number
    there = HeldCopy.objects.exclude(place=_place(number)).first()
    moved = HeldCopy.objects.get(place=_place(number))
    moved.sealed = there.sealed
    # By somebody who has the server's keys, too: without, it is refused for its tag.
    tags.give([moved], using="default")
    moved.save()
    number = audiences.ask("chairs", chairs["ada"], reviews[0].contact, reason="case")
    audiences.agree(number, chairs["bob"])
    with pytest.raises(errors.WrongKey):
        audiences.read(number, chairs["ada"])
    assert not HoldNotice.objects.exists()


def _place(number: int) -> bytes:
    from edna.audiences.models import HoldRequest

    return bytes(HoldRequest.objects.get(pk=number).places)[:32]


@pytest.mark.once
def test_parts_in_the_tables_open_nothing_for_who_did_not_ask(chairs: Chairs, reviewer: Person) -> None:
    review = review_of(reviewer)
    edna.disguise(WithChairs.name, reviewer.user)
    review.refresh_from_db()
    number = audiences.ask("chairs", chairs["ada"], review.contact, reason="case")
    audiences.agree(number, chairs["bob"])
    for part in HoldPart.objects.all():
        for key in [*(chairs[name] for name in ("bob", "cyd")), *audiences.secret_keys("chairs", chairs["cyd"])]:
            with pytest.raises(errors.WrongKey):
                open_small(bytes(part.sealed), secret_key=key)


def test_statements_do_not_grow_with_requests(chairs: Chairs, reviewer: Person) -> None:
    review = review_of(reviewer)
    edna.disguise(WithChairs.name, reviewer.user)
    review.refresh_from_db()
    counted = []
    for _ in range(3):
        number = audiences.ask("chairs", chairs["ada"], review.contact, reason="case")
        audiences.agree(number, chairs["bob"])
        counted.append(statements(lambda: audiences.requests("chairs")))
    assert [len(each.agreed) for each in audiences.requests("chairs")] == [2, 2, 2]
    assert len(set(map(len, counted))) == 1


@pytest.mark.once
@pytest.mark.parametrize("left", [0, 20, 100, 551])
def test_a_notice_that_somebody_damaged_keeps_nobody_from_what_is_theirs(
    chairs: Chairs, reviewer: Person, left: int
) -> None:
    """They could have deleted it as well."""
    review = review_of(reviewer)
    receipt = edna.disguise(WithChairs.name, reviewer.user)
    review.refresh_from_db()
    for _ in range(2):
        number = audiences.ask("chairs", chairs["ada"], review.contact, reason="case")
        audiences.agree(number, chairs["bob"])
        audiences.read(number, chairs["ada"])
    damaged = HoldNotice.objects.first()
    HoldNotice.objects.filter(pk=damaged.pk).update(sealed=bytes(damaged.sealed)[:left])
    with reviewer.unlock() as unlocked:
        (use,) = audiences.uses(unlocked)
        assert use.reason == "case"
        assert edna.reveal(receipt, unlocked).complete


def test_statements_do_not_grow_with_reviews(chairs: Chairs) -> None:
    counts = []
    for number, reviews in enumerate((2, 12)):
        person = somebody(f"p{number}@example.org")
        for _ in range(reviews):
            review_of(person)
        counted = statements(lambda person=person: edna.disguise(WithChairs.name, person.user))  # type: ignore[misc]
        counts.append(len(counted))
    assert counts[0] == counts[1]


@pytest.mark.once
def test_a_site_without_declarations_asks_nothing_more(chairs: Chairs) -> None:
    make_course()
    student = enrol()
    answer_everything(student)
    counted = statements(lambda: edna.disguise_all(ANONYMISE_ALL))
    assert not [each for each in counted if "edna_audiences" in each]


def test_two_who_change_it_at_once_come_one_after_the_other(chairs: Chairs, monkeypatch: pytest.MonkeyPatch) -> None:
    from edna.audiences import membership, store

    add, calls = store.add_update, []

    def late(name: str, sequence: int, update: bytes, *, using: str) -> None:
        if not calls:
            calls.append(sequence)
            raise errors.AudienceChanged("Another member was quicker.")
        add(name, sequence, update, using=using)

    monkeypatch.setattr(membership.store, "add_update", late)
    with transaction.atomic():
        chairs.join("ada", "dan")
    assert [person.name for person in audiences.members("chairs")] == ["ada", "bob", "cyd", "dan"]
    assert SharedSecret.objects.count() == 1


@pytest.mark.once
def test_a_site_without_the_application_refuses_a_disguise_that_declares_an_audience(
    reviewer: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    review_of(reviewer)
    before = application_dump()
    monkeypatch.setattr("edna.engine.bags.held_copies._keepers", [])
    with pytest.raises(errors.ConfigurationError, match=r"edna\.audiences is not installed"):
        edna.disguise(WithChairs.name, reviewer.user)
    assert application_dump() == before
