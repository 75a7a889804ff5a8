"""A person gives up what others stand in the way of: what they did stands, and nothing waits for ever."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import edna
from apps.websubmit.disguises import Anonymous
from apps.websubmit.models import Answer, User
from edna import Decorrelate, Disguise, Held, Modify, Reason, Remove, placeholders
from edna.errors import CapabilityClosed, InvalidParameters, ReceiptUnknown, RevealRefused
from edna.models import Bag, KeySlot, PrincipalEntry
from edna.testing import Person, application_dump
from tests.databases import first_everywhere
from tests.installed import registering
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    Student,
    answer_everything,
    cut_into_chunks,
    enrol,
    make_course,
    rows_of,
)
from tests.zoo.models.hamlet import Letter, Stamp, Villager
from tests.zoo.models.town import Attachment, Citizen, Comment, Flag, Post
from tests.zoo.specs.hamlet import Leave, Mask
from tests.zoo.tables import zoo, zoo_tables  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db

ANSWER = "websubmit.answer"


class Redact(Disguise):
    name = "tests.redact"
    transformations = [Modify(Answer, owner="author", set={"text": placeholders.constant("[withdrawn]")})]


class Tolerant(Disguise):
    """What a moderator deletes, or writes anew, is not waited for."""

    name = "tests.tolerant"
    transformations = [Decorrelate(Answer, owner="author")]
    pseudoprincipal = Anonymous
    accepts = {"websubmit.Answer": ["row_missing"]}


@pytest.fixture
def bea() -> Student:
    make_course()
    student = enrol("bea@example.org")
    answer_everything(student)
    return student


@pytest.fixture(params=[None, 2], ids=["whole", "chunks"])
def rows_at_once(request: Any) -> Iterator[None]:
    with cut_into_chunks(request.param):
        yield


def moderate(answer: Answer, *, text: str = "[moderated]") -> None:
    Answer.objects.filter(pk=answer.pk).update(text=text)


@first_everywhere("accept", ["row", "all"])
def test_what_is_accepted_is_gone_and_the_rest_is_back(bea: Student, accept: str, rows_at_once: None) -> None:
    with registering(Redact):
        edited, *others = Answer.objects.order_by("pk")
        receipt = bea.disguise(Redact.name)
        moderate(edited)
        first = bea.reveal(receipt)
        assert [held.pk for held in first.held] == [edited.pk]

        outcome = bea.reveal(receipt, accept=edna.ALL if accept == "all" else first.held)

        assert (outcome.complete, outcome.accepted) == (True, {ANSWER: 1})
        assert first.restored == {ANSWER: len(others)}
        assert Answer.objects.get(pk=edited.pk).text == "[moderated]"
        assert rows_of("edna_bag", ["id"]) == []
        assert not bea.history()
        with pytest.raises(ReceiptUnknown):
            bea.reveal(receipt)


@pytest.mark.once
def test_a_row_of_which_several_chunks_have_something_counts_once() -> None:
    first, second = edna.Outcome(), edna.Outcome()
    first.accept(ANSWER, 1)
    for key in (1, 2):
        second.accept(ANSWER, key)
    first.include(second)
    assert first.accepted == {ANSWER: 2}


def test_what_can_come_back_comes_back_although_it_was_accepted(bea: Student) -> None:
    """An outcome gets old: what stood in the way may be gone by now."""
    with registering(Redact):
        edited = Answer.objects.order_by("pk")[0]
        receipt = bea.disguise(Redact.name)
        moderate(edited)
        first = bea.reveal(receipt)
        moderate(edited, text="[withdrawn]")

        outcome = bea.reveal(receipt, accept=first.held)

        assert (outcome.restored, outcome.accepted) == ({ANSWER: 1}, {})
        assert Answer.objects.get(pk=edited.pk).text == edited.text


@pytest.mark.once
def test_rows_that_are_not_named_stay_sealed(bea: Student) -> None:
    with registering(Redact):
        receipt = bea.disguise(Redact.name)
        for answer in Answer.objects.order_by("pk")[:2]:
            moderate(answer)
        one, other = bea.reveal(receipt).held

        outcome = bea.reveal(receipt, accept=[one])

        assert (outcome.held, outcome.accepted) == ([other], {ANSWER: 1})
        with pytest.raises(RevealRefused):
            bea.reveal(receipt, accept=[one], allow_partial=False)
        assert bea.reveal(receipt, accept=edna.ALL, allow_partial=False).complete


def test_an_anonymous_row_that_was_deleted_leaves_nobody_behind(bea: Student) -> None:
    receipt = bea.disguise(ANONYMISE_ALL)
    gone = Answer.objects.order_by("pk").first()
    assert gone is not None
    gone.delete()
    users = User.objects.count()
    assert [held.reason for held in bea.reveal(receipt).held] == [Reason.ROW_MISSING]

    assert bea.reveal(receipt, accept=edna.ALL).complete

    assert User.objects.count() < users
    assert not Answer.objects.exclude(author=bea.user.pk).exists()
    assert rows_of("edna_principalentry", ["natural"]) == [(True,)]


@pytest.mark.once
def test_the_specification_accepts_by_itself(bea: Student) -> None:
    with registering(Tolerant):
        receipt = bea.disguise(Tolerant.name)
        Answer.objects.order_by("pk")[0].delete()

        outcome = bea.reveal(receipt)

        assert (outcome.complete, outcome.accepted) == (True, {ANSWER: 1})
        assert rows_of("edna_bag", ["id"]) == []


@pytest.mark.once
def test_as_long_as_the_account_is_held_nothing_is_given_up(bea: Student) -> None:
    """What belongs to it waits for it alone: to accept "everything" must not cost all that the person has."""
    receipt = bea.disguise(DELETE)
    other = User.objects.create_user(bea.email)

    outcome = bea.reveal(receipt, accept=edna.ALL)

    assert outcome.accepted == {}
    assert outcome.held
    other.delete()
    assert bea.reveal(receipt).complete


@pytest.mark.once
def test_what_is_no_row_of_an_outcome_is_refused(bea: Student) -> None:
    receipt = bea.disguise(DELETE)
    with pytest.raises(InvalidParameters, match="accept takes"):
        bea.reveal(receipt, accept=["websubmit.answer:1"])
    assert bea.reveal(receipt, accept=[Held(ANSWER, 1, Reason.CHANGED)]).complete


class Withdraw(Disguise):
    name = "tests.withdraw"
    transformations = [Remove(Answer, owner="author")]


@first_everywhere("cls", [Redact, Withdraw])
def test_where_the_account_is_gone_for_good_nothing_is_left_of_the_person(
    bea: Student, cls: type[Disguise], rows_at_once: None
) -> None:
    """Neither an entry nor a key slot, as after an erasure; while anything is left, both stay."""
    with registering(Redact, Withdraw):
        first, last = bea.disguise(Redact.name), bea.disguise(cls.name)
        bea.user.delete()
        bea.reveal(first, accept=edna.ALL)
        assert (PrincipalEntry.objects.count(), KeySlot.objects.count()) == (1, 1)

        with bea.unlock() as unlocked:
            outcome = edna.reveal(last, unlocked, accept=edna.ALL)
            with pytest.raises(CapabilityClosed):
                edna.history(unlocked)

        assert (outcome.complete, outcome.accepted) == (True, {ANSWER: 4})
        assert not any(model.objects.exists() for model in (Bag, KeySlot, PrincipalEntry))


@pytest.mark.once
def test_somebody_with_an_account_keeps_their_key(bea: Student) -> None:
    with registering(Redact):
        receipt = bea.disguise(Redact.name)
        Answer.objects.all().delete()
        assert bea.reveal(receipt, accept=edna.ALL).complete
    assert (PrincipalEntry.objects.count(), KeySlot.objects.count()) == (1, 1)


@first_everywhere(("taken", "rows"), [("key", None), ("key", 1), ("name", None), ("name", 1)])
def test_what_waits_only_for_what_is_given_up_comes_back(zoo: Any, taken: str, rows: int | None) -> None:  # noqa: F811
    """Where no constraint ties it to that, as of a copy in a history: it was given up as well. But not to another row that has its key."""
    person = Person.registered(Citizen.objects.create(email="bea@example.org"))
    post = Post.objects.create(author=person.user, title="of mice", body="sealed")
    Flag.objects.create(target=post, note="spam")
    comment = Comment.objects.create(author=person.user, post=post, text="and of men")
    Attachment.objects.create(comment=comment, text="picture")
    with cut_into_chunks(rows):
        receipt = person.disguise("zoo.town-unpublish")
        other = {"pk": post.pk, "title": "another"} if taken == "key" else {"title": post.title}
        Post.objects.create(author=person.user, body="another", **other)
        held = {"zoo.post", "zoo.flag", "zoo.comment", "zoo.attachment"}
        assert {each.model for each in person.reveal(receipt).held} == held
        outcome = person.reveal(receipt, accept=edna.ALL)
    back = set() if taken == "key" else {"zoo.flag"}
    assert outcome.accepted == dict.fromkeys(held - back, 1)
    assert (outcome.restored, outcome.complete) == (dict.fromkeys(back, 1), True)
    assert [each.object_id for each in Flag.objects.all()] == [post.pk] * len(back)
    assert (Comment.objects.count(), person.history()) == (0, [])


class LettersGone(Disguise):
    name = "tests.letters-gone"
    transformations = [
        Remove(Stamp, owner=["letter__sender", "letter__recipient"]),
        Remove(Letter, owner=["sender", "recipient"]),
    ]


@first_everywhere("accept", ["caller", "specification"])
def test_what_waits_in_a_shared_bag_does_not_keep_the_receipt(accept: str, zoo: None, monkeypatch: Any) -> None:  # noqa: F811 - the fixture
    """All of the receipt's own bag is back or in other hands at once. Looked for once more to give up the rest, it was not there: the
    receipt was said to be unknown, and nothing came back."""
    ann, bob = (Person.registered(Villager.objects.create(name=name)) for name in ("ann", "bob"))
    letter = Letter.objects.create(sender=ann.user, recipient=bob.user, text="from ann")
    stamp = Stamp.objects.create(letter=letter, text="red")
    before = application_dump()
    with registering(LettersGone):
        hidden = ann.disguise(Mask.name)
        gone = bob.disguise(LettersGone.name)
        ann.disguise(Leave.name)
        assert not Letter.objects.exists()
        other = Letter.objects.create(sender=bob.user, recipient=bob.user, text="of today")
        taken = Stamp.objects.create(pk=stamp.pk, letter=other, text="of today")
        if accept == "specification":
            monkeypatch.setattr(Mask, "accepts", {"zoo.Stamp": ["row_exists"]})

        outcome = ann.reveal(hidden, **({"accept": edna.ALL} if accept == "caller" else {}))

        assert [held.pk for held in outcome.held] == [stamp.pk]
        assert outcome.accepted == {}
        taken.delete()
        other.delete()
        bob.reveal(gone)
        ann.reveal_everything()
        assert application_dump() == before
