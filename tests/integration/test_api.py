"""The door: locator modes, speaking as a pseudoprincipal, history, and the shapes that applications rely on."""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import edna
from apps.websubmit.models import Answer, Lecture, Question, User
from edna import Decorrelate, Disguise, Remove
from edna.errors import ConfigurationError, NotYours, ReceiptForeign
from edna.testing import application_dump
from edna.testing.search import finds
from tests.installed import registering
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    edna_dump,
    enrol_in_course,
    loot,
    rows_of,
    secrets_of,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", "carl@example.org", password="a long walk home")


@pytest.fixture
def carl(bea: Student) -> User:
    return User.objects.get(email="carl@example.org")


def locator_lists() -> set[bytes]:
    return {bytes(locators) for (locators,) in rows_of("edna_principalentry", ["locators"])}


class ClientOnly(Disguise):
    """Leaves no locator on the server whatever the setting says."""

    name = "test.client-only"
    transformations = [Remove(Answer, owner="author")]
    locators = "client"


class ServerOnly(Disguise):
    name = "test.server-only"
    transformations = [Decorrelate(Answer, owner="author")]
    locators = "server"


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with registering(ClientOnly, ServerOnly):
        yield


@pytest.fixture
def client_mode(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}


class TestLocatorsOnTheServer:
    @pytest.mark.usefixtures("of_x25519")
    def test_the_list_is_sealed_and_grows_and_shrinks(self, bea: Student) -> None:
        """Eighty bytes for each disguise that can be revealed; nobody without the key can use them."""
        receipts = [bea.disguise(ANONYMISE_ALL), bea.disguise(DELETE)]
        assert {len(locators) for locators in locator_lists()} == {0, 160}
        assert finds(loot(), secrets_of(bea, *receipts)) == []
        bea.reveal(receipts[1])
        assert {len(locators) for locators in locator_lists()} == {0, 80}
        bea.reveal(receipts[0])
        assert locator_lists() == {b""}

    def test_without_a_receipt_everything_is_found(self, bea: Student) -> None:
        receipts = {bea.disguise(ANONYMISE_ALL), bea.disguise(DELETE)}
        assert {entry.receipt for entry in bea.history()} == receipts


@pytest.mark.once
def test_history_knows_what_was_disguised_after_the_key_was_opened(bea: Student) -> None:
    """By somebody who has no key: an administrator, a schedule, another request."""
    with bea.unlock() as unlocked:
        assert edna.history(unlocked) == []
        edna.disguise_all(ANONYMISE_ALL)
        assert [entry.name for entry in edna.history(unlocked)] == [ANONYMISE_ALL]
        edna.disguise_all(ANONYMISE_ALL)
        assert len(edna.history(unlocked)) == 3, "and what became of anonymous answers"


@pytest.mark.usefixtures("client_mode")
class TestLocatorsWithTheClient:
    @pytest.mark.once
    def test_no_locator_is_in_any_table(self, bea: Student) -> None:
        receipts = edna.disguise_all(ANONYMISE_ALL)
        receipts.append(bea.disguise(DELETE))
        assert locator_lists() == {b""}
        assert finds(loot(), secrets_of(bea, *receipts)) == []

    @pytest.mark.once
    def test_the_receipt_alone_leads_back(self, bea: Student) -> None:
        before, tables = application_dump(), edna_dump()
        receipt = bea.disguise(DELETE)
        assert bea.history() == []
        with bea.unlock(receipts=[str(receipt)]) as unlocked:
            [entry] = edna.history(unlocked)
            assert entry.receipt == receipt
        assert bea.reveal(str(receipt)).complete
        assert application_dump() == before
        assert edna_dump() == tables

    @pytest.mark.once
    def test_composed_data_is_found_through_receipts(self, bea: Student) -> None:
        """Leaving with the key and the receipt of the anonymisation takes the anonymised answers along."""
        before, tables = application_dump(), edna_dump()
        first = bea.disguise(ANONYMISE_ALL)
        with bea.unlock() as unlocked:
            assert edna.speaks_for(unlocked) == []
        with bea.unlock(receipts=[first]) as unlocked:
            assert len(edna.speaks_for(unlocked)) == 2
            second = edna.disguise(DELETE, bea.user, unlocked=unlocked)
        assert Answer.objects.count() == 4
        with bea.unlock(receipts=[first, second]) as unlocked:
            assert [entry.receipt for entry in edna.history(unlocked)] == [second, first]
            assert edna.reveal(second, unlocked).complete
            assert edna.reveal(first, unlocked).complete
        assert application_dump() == before
        assert edna_dump() == tables

    @pytest.mark.once
    def test_anonymised_twice_both_receipts_lead_back(self, bea: Student) -> None:
        """The second belongs to an anonymous author; with the first receipt it is known whose that is."""
        before = application_dump()
        first = bea.disguise(ANONYMISE_ALL)
        again = edna.disguise_all(ANONYMISE_ALL)
        with bea.unlock(receipts=[first]) as unlocked:
            mine = []
            for receipt in again:
                try:
                    assert edna.reveal(receipt, unlocked).complete
                    mine.append(receipt)
                except ReceiptForeign:
                    continue
            assert len(mine) == 2
            assert edna.reveal(first, unlocked).complete
        assert len(bea.texts()) == 4
        assert len(before["websubmit_answer"]) == Answer.objects.count()

    @pytest.mark.once
    def test_a_disguise_may_say_otherwise(self, bea: Student) -> None:
        receipt = bea.disguise("test.server-only")
        assert [entry.receipt for entry in bea.history()] == [receipt]
        bea.reveal_everything()

    @pytest.mark.once
    def test_what_is_held_stays_under_the_same_receipt(self, bea: Student) -> None:
        victim = Answer.objects.filter(author=bea.user).first()
        question = Question.objects.filter(pk=victim.question_id).values().get()
        receipt = bea.disguise(DELETE)
        victim.question.delete()
        assert len(bea.reveal(receipt).held) == 1
        Question.objects.create(**question)
        assert bea.reveal(receipt).complete
        assert locator_lists() == {b""}


@pytest.mark.once
def test_a_disguise_may_keep_its_locators_off_the_server(bea: Student) -> None:
    first, second = bea.disguise("test.client-only"), bea.disguise(ANONYMISE_ALL)
    assert [entry.receipt for entry in bea.history()] == [second]
    with bea.unlock(receipts=[first]) as unlocked:
        assert {entry.receipt for entry in edna.history(unlocked)} == {first, second}


@pytest.mark.once
def test_an_unknown_mode_is_refused_before_anything_changes(bea: Student, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "LOCATORS": "nowhere"}
    before = application_dump()
    with pytest.raises(ConfigurationError, match="LOCATORS"):
        bea.disguise(DELETE)
    assert application_dump() == before


@pytest.mark.once
def test_speaking_as_the_author_of_an_anonymised_answer(bea: Student, carl: User) -> None:
    """Only of one's own answers, at any depth, and only as long as they are anonymised."""
    edna.disguise_all(ANONYMISE_ALL)
    edna.disguise_all(ANONYMISE_LECTURE, params={"lecture": Lecture.objects.first().pk})
    with bea.unlock() as unlocked:
        mine = [a for a in Answer.objects.all() if "bea@" in a.text]
        assert len(mine) == 4
        for answer in mine:
            voice = edna.speak_as(unlocked, answer)
            assert isinstance(voice, User)
            assert (voice.pk, voice.is_anon) == (answer.author_id, True)
            assert voice.pk in edna.speaks_for(unlocked, User)
        for answer in Answer.objects.exclude(pk__in=[a.pk for a in mine]):
            with pytest.raises(NotYours):
                edna.speak_as(unlocked, answer)
        assert edna.speaks_for(unlocked, Lecture) == []
    bea.reveal_everything()
    with bea.unlock() as unlocked:
        assert edna.speaks_for(unlocked) == []
        with pytest.raises(NotYours):
            edna.speak_as(unlocked, Answer.objects.filter(author=bea.user).first())


@pytest.mark.once
def test_voices_of_removed_rows_are_not_offered(bea: Student) -> None:
    """After leaving with the key the anonymous authors are gone: there is nobody to speak as."""
    edna.disguise_all(ANONYMISE_ALL)
    bea.disguise(DELETE, with_key=True)
    with bea.unlock() as unlocked:
        assert edna.speaks_for(unlocked) == []


def test_history_times_are_aware_and_now(bea: Student) -> None:
    before = datetime.datetime.now(datetime.UTC)
    bea.disguise(DELETE)
    [entry] = bea.history()
    assert before <= entry.applied_at <= datetime.datetime.now(datetime.UTC)


@pytest.mark.once
def test_a_receipt_prints_and_reads(bea: Student) -> None:
    receipt = bea.disguise(DELETE)
    assert str(receipt).startswith("edna1:websubmit.delete-account:")
    assert edna.Receipt.parse(str(receipt)) == receipt
    assert str(receipt) not in repr(receipt)


@pytest.mark.once
def test_receipts_of_a_global_disguise_belong_to_one_person_each(bea: Student) -> None:
    receipts = edna.disguise_all(ANONYMISE_ALL)
    opened = 0
    for receipt in receipts:
        try:
            bea.reveal(receipt)
            opened += 1
        except ReceiptForeign:
            continue
    assert (len(receipts), opened) == (2, 1)


@pytest.mark.once
def test_compression_is_a_choice(bea: Student, settings: Any) -> None:
    """Long repetitive text: smaller with, and back to the byte both ways."""
    Answer.objects.filter(author=bea.user).update(text="again and " * 2000)
    before = application_dump()
    sizes = []
    for compress in (True, False):
        settings.EDNA = {**settings.EDNA, "COMPRESS": compress}
        receipt = bea.disguise(DELETE)
        sizes.append(sum(len(sealed) for (sealed,) in rows_of("edna_bag", ["sealed"])))
        assert bea.reveal(receipt).complete
        assert application_dump() == before
    assert sizes[0] * 10 < sizes[1]


@pytest.mark.once
def test_the_public_names_have_the_shapes_that_were_promised() -> None:
    """Widened maybe, renamed never."""
    shapes = {
        "register_principal": ["principal", "password", "public_key"],
        "plan": ["name", "principal", "params"],
        "disguise": ["name", "principal", "params", "unlocked"],
        "disguise_all": ["name", "params"],
        "unlock": ["secret_key", "identifier", "password", "recovery_code"],
        "history": ["unlocked"],
        "waiting": ["unlocked"],
        "reveal": ["receipt", "unlocked", "overrides", "allow_partial"],
        "speak_as": ["unlocked", "obj"],
    }
    for name, parameters in shapes.items():
        assert set(parameters) <= set(inspect.signature(getattr(edna, name)).parameters), name
    assert set(edna.Held.__dataclass_fields__) == {"model", "pk", "reason", "field"}
    for name in edna.__all__:
        assert getattr(edna, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        edna.nothing  # noqa: B018
