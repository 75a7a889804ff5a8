"""Disguises by hand where the key stays in its owner's browser: blobs, pseudoprincipals, and whom one speaks as."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.conf import settings as django_settings
from django.db import transaction
from django.test import override_settings

import edna
from apps.websubmit.models import Answer, User
from edna import Disguise, Modify, inner_door
from edna.errors import NotYours
from edna.inner_door import Handover
from edna.records.bag import BagKind
from edna.testing import application_dump
from tests.handing import Browser, keys_in_browsers, without_keys
from tests.installed import registering
from tests.support import ANONYMISE_ALL, Student, edna_dump, enrol_in_course

pytestmark = [pytest.mark.django_db, pytest.mark.once]

NAME = "test.handed-over"


@pytest.fixture
def given() -> Iterator[list[tuple[bytes, ...]]]:
    """The blobs that the application's function was given."""
    calls: list[tuple[bytes, ...]] = []

    def function(revealed: edna.Revealed) -> None:
        calls.append(revealed.blobs)

    edna.on_reveal(NAME)(function)
    yield calls
    edna.unregister(function)


def test_blobs_and_rows_of_a_session_come_back(given: list[tuple[bytes, ...]]) -> None:
    """Removed, changed, given away and saved by hand; and once more on top of what is pseudonymous already."""
    bea = enrol_in_course("bea@example.org", "carl@example.org")
    before, tables = application_dump(), edna_dump()
    first, second, third, *_ = Answer.objects.filter(author=bea.user).order_by("pk")
    with keys_in_browsers():
        with edna.session(bea.user, NAME) as session:
            session.remove(first)
            session.modify(second, text="[gone]")
            session.decorrelate(third, "author")
            session.save(b"a blob")
            session.save(bytes(range(256)))
        anonymised = bea.disguise(ANONYMISE_ALL)
        assert bea.reveal(session.receipt).complete
        assert given == [(b"a blob", bytes(range(256)))]
        assert bea.reveal(anonymised).complete

    assert (application_dump(), edna_dump()) == (before, tables)


def test_whose_bags_were_handed_over_speaks_as_their_pseudoprincipals() -> None:
    """With what a disguise takes: for whom they speak, and no key; and as nobody else's."""
    bea, carl = (enrol_in_course(f"{name}@example.org") for name in ("bea", "carl"))
    with override_settings(EDNA={**django_settings.EDNA, "CUSTODY": "browser"}):
        answers = {student.user.pk: Answer.objects.filter(author=student.user).first() for student in (bea, carl)}
        for student in (bea, carl):
            edna.disguise(ANONYMISE_ALL, student.user)
        handover = Browser(bea.secret_key).for_disguise()

        with without_keys(), inner_door.unlock_handed(handover) as unlocked:
            for pk, answer in answers.items():
                assert answer is not None
                answer.refresh_from_db()
                if pk == bea.user.pk:
                    assert edna.speak_as(unlocked, answer).pk == answer.author_id
                    assert answer.author_id in edna.speaks_for(unlocked)
                else:
                    with pytest.raises(NotYours):
                        edna.speak_as(unlocked, answer)


# What is not handed over


class Redact(Disguise):
    """Over what pseudoprincipals have by then."""

    name = "test.redact"
    transformations = [Modify(Answer, owner="author", set={"text": "[redacted]"})]


@pytest.fixture
def bea() -> Iterator[Student]:
    with override_settings(EDNA={**django_settings.EDNA, "CUSTODY": "browser"}), registering(Redact):
        yield enrol_in_course("bea@example.org")


def reveal_handed(receipt: edna.Receipt, handover: Handover) -> edna.Outcome:
    with without_keys(), inner_door.unlock_handed(handover) as unlocked:
        return edna.reveal(receipt, unlocked)


def test_nobody_is_let_go_of_in_whose_list_something_was_kept_back(bea: Student) -> None:
    """It may be sealed to their key, which is in no other bag: it comes back when it is brought."""
    before = bea.texts()
    receipt = edna.disguise(ANONYMISE_ALL, bea.user)
    edna.disguise_all(Redact.name)
    handover = Browser(bea.secret_key).for_reveal(receipt)
    own = bytes(bea.secret_key.public_key)
    kept_back = {key: items if key == own else dict.fromkeys(items) for key, items in handover.lists.items()}

    assert reveal_handed(receipt, replace(handover, lists=kept_back)).complete
    assert set(bea.texts().values()) == {"[redacted]"}
    bea.reveal_everything()

    assert bea.texts() == before


@pytest.mark.parametrize("damaged", [False, True])
def test_nobody_is_let_go_of_whom_a_bag_may_name_that_does_not_open(bea: Student, damaged: bool) -> None:
    users = User.objects.count()
    receipt = edna.disguise(ANONYMISE_ALL, bea.user)

    assert reveal_handed(receipt, replace(Browser(bea.secret_key).for_reveal(receipt), damaged=damaged)).complete

    assert (User.objects.count() > users) is damaged


def test_what_was_handed_over_serves_another_try(bea: Student) -> None:
    """The first has changed lists, and was undone."""
    before, tables = application_dump(), edna_dump()
    receipt = edna.disguise(ANONYMISE_ALL, bea.user)
    handover = Browser(bea.secret_key).for_reveal(receipt)

    with without_keys(), inner_door.unlock_handed(handover) as unlocked:
        with transaction.atomic():
            edna.reveal(receipt, unlocked)
            transaction.set_rollback(True)
        assert edna.reveal(receipt, unlocked).complete

    assert (application_dump(), edna_dump()) == (before, tables)


@pytest.mark.parametrize("fails_first", [False, True])
def test_several_receipts_come_back_with_what_was_handed_over_once(fails_first: bool) -> None:
    """In one transaction, as pages do that undo all at once; and again after it was rolled back, because the database was busy say."""
    bea = enrol_in_course("bea@example.org", "carl@example.org")
    before, tables = application_dump(), edna_dump()

    class Blank(Disguise):
        name = "test.blank"
        transformations = [Modify(Answer, owner="author", set={"text": "[gone]"})]

    with override_settings(EDNA={**django_settings.EDNA, "CUSTODY": "browser"}), registering(Blank):
        receipts = [edna.disguise(name, bea.user) for name in (Blank.name, ANONYMISE_ALL)]
        browser = Browser(bea.secret_key)
        handover = browser._handover(browser.bags, kinds=tuple(BagKind))
        with without_keys(), inner_door.unlock_handed(handover) as unlocked:
            for is_last in [False, True] if fails_first else [True]:
                with transaction.atomic():
                    for receipt in reversed(receipts):
                        assert edna.reveal(receipt, unlocked).complete
                    transaction.set_rollback(not is_last)

    assert (application_dump(), edna_dump()) == (before, tables)
