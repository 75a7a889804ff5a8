"""Behaviour 14: an update that `edna.replay` has made holds for the rows that were under disguise when it was made."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone

import edna
from apps.websubmit.models import Answer, Lecture, User
from edna import Decorrelate, Disguise, Modify, Remove
from edna.engine.forwarding import replay_log
from edna.errors import BagForged, ConstraintRefused, InvalidParameters
from edna.models import Replay
from edna.testing.search import finds
from tests.installed import registering
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    Student,
    answer_everything,
    enrol,
    enrol_in_course,
    enrol_many,
    loot,
    make_course,
    nothing_changes,
    statements,
    with_server_keys,
)

pytestmark = pytest.mark.django_db


class Redact(Disguise):
    name = "test.redact"
    transformations = [Modify(Answer, owner="author", set={"text": "[redacted]"})]


class Withdraw(Disguise):
    name = "test.withdraw"
    transformations = [Remove(Answer, owner="author")]


class Anonymise(Disguise):
    name = "test.anonymise"
    transformations = [Decorrelate(Answer, owner="author")]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with registering(Redact, Withdraw, Anonymise):
        yield


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org")


def texts(student: Student) -> list[str]:
    return list(Answer.objects.filter(author=student.user.pk).order_by("pk").values_list("text", flat=True))


class TestRemovedRows:
    def test_what_was_updated_meanwhile_comes_back_updated(self, bea: Student) -> None:
        first, *_ = Answer.objects.order_by("pk").values_list("pk", flat=True)
        before = texts(bea)
        receipt = bea.disguise(DELETE)

        assert edna.replay(Answer, where={"pk": first}, set={"text": "[moderated]"}) == 0

        assert bea.reveal(receipt).complete
        assert texts(bea) == ["[moderated]", *before[1:]]

    def test_rows_that_are_there_are_updated_at_once(self, bea: Student) -> None:
        first, second, *_ = Answer.objects.order_by("pk").values_list("pk", flat=True)
        assert edna.replay(Answer, where={"id": [first, second]}, set={"text": "[moderated]"}) == 2
        assert texts(bea)[:3] == ["[moderated]", "[moderated]", texts(bea)[2]]

    @pytest.mark.once
    def test_an_update_from_before_the_disguise_is_not_done_again(self, bea: Student) -> None:
        """The author may have changed the row since."""
        edna.replay(Answer, where={"author": bea.user}, set={"text": "[moderated]"})
        Answer.objects.update(text="written again")
        receipt = bea.disguise(DELETE)
        assert bea.reveal(receipt).complete
        assert set(texts(bea)) == {"written again"}

    @pytest.mark.once
    def test_nor_if_an_earlier_disguise_has_missed_it(self, bea: Student) -> None:
        """Each bag misses what came after it."""
        bea.disguise("test.anonymise")
        edna.replay(Answer, where={"text": "written"}, set={"text": "[moderated]"})
        Answer.objects.create(author=bea.user, question=Answer.objects.earliest("pk").question, text="written")
        receipt = bea.disguise("test.withdraw")
        assert bea.reveal(receipt).complete
        assert texts(bea) == ["written"]

    @pytest.mark.once
    def test_it_holds_however_often_the_row_goes_and_comes(self, bea: Student) -> None:
        receipt = bea.disguise(DELETE)
        edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "[moderated]"})
        bea.reveal(receipt)
        Answer.objects.filter(author=bea.user.pk).update(text="better")
        bea.reveal(bea.disguise(DELETE))
        assert set(texts(bea)) == {"better"}

    def test_by_any_columns_and_in_their_order(self, bea: Student) -> None:
        before = texts(bea)
        receipt = bea.disguise(DELETE)
        edna.replay(Answer, where={"text": before[0], "author": bea.user.pk}, set={"text": "a"})
        edna.replay(Answer, where={"text": ["a", "nothing"]}, set={"text": "b"})
        edna.replay(Answer, where={"text": "c"}, set={"text": "d"})
        edna.replay(User, where={"email": bea.email}, set={"is_anon": True, "joined_on": None})
        bea.reveal(receipt)
        user = User.objects.get(pk=bea.user.pk)
        assert (user.is_anon, user.joined_on) == (True, None)
        assert texts(bea) == ["b", *before[1:]]

    @pytest.mark.once
    def test_a_held_record_keeps_it(self, bea: Student) -> None:
        receipt = bea.disguise(DELETE)
        edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "[moderated]"})
        other = User.objects.create_user(bea.email, None)
        assert not bea.reveal(receipt).complete
        other.delete()
        assert bea.reveal(receipt).complete
        assert set(texts(bea)) == {"[moderated]"}

    @pytest.mark.once
    def test_anybody_elses_rows_are_not_touched(self, bea: Student) -> None:
        carl = enrol("carl@example.org")
        answer_everything(carl)
        receipts = [bea.disguise(DELETE), carl.disguise(DELETE)]
        before = carl.email
        edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "[moderated]"})
        bea.reveal(receipts[0])
        carl.reveal(receipts[1])
        assert set(texts(bea)) == {"[moderated]"}
        assert all(before in text for text in texts(carl))


class TestChangedRows:
    def test_the_text_under_a_placeholder_is_replaced_too(self, bea: Student) -> None:
        first, *_ = Answer.objects.order_by("pk").values_list("pk", flat=True)
        before = texts(bea)
        receipt = bea.disguise(Redact.name)
        edna.replay(Answer, where={"pk": first}, set={"text": "[moderated]"})
        assert texts(bea)[:2] == ["[moderated]", "[redacted]"]
        assert bea.reveal(receipt).complete
        assert texts(bea) == ["[moderated]", *before[1:]]

    def test_it_is_found_by_what_it_was(self, bea: Student) -> None:
        """The live row does not say it any more: nothing is updated now, and the record is."""
        before = texts(bea)
        receipt = bea.disguise(Redact.name)
        assert edna.replay(Answer, where={"text": before[0]}, set={"text": "[moderated]"}) == 0
        assert bea.reveal(receipt).complete
        assert texts(bea) == ["[moderated]", *before[1:]]

    @pytest.mark.once
    def test_it_is_found_by_columns_that_no_disguise_changed(self, bea: Student) -> None:
        lecture = Lecture.objects.order_by("pk").first()
        assert lecture is not None
        question = lecture.questions.order_by("pk").first()
        before = dict(Answer.objects.values_list("question", "text"))
        receipt = bea.disguise(Redact.name)
        edna.replay(Answer, where={"question": question}, set={"text": "[moderated]"})
        assert bea.reveal(receipt).complete
        assert dict(Answer.objects.values_list("question", "text")) == before | {question.pk: "[moderated]"}

    def test_another_owner_is_given_to_a_pseudonymous_row(self, bea: Student) -> None:
        carl = enrol("carl@example.org")
        receipt = bea.disguise(Anonymise.name)
        edna.replay(Answer, where={"author": bea.user.pk}, set={"author": carl.user})
        assert bea.reveal(receipt).complete
        assert set(Answer.objects.values_list("author", flat=True)) == {carl.user.pk}
        assert User.objects.count() == 2

    @pytest.mark.once
    def test_columns_that_the_disguise_left_alone_were_updated_at_once(self, bea: Student) -> None:
        receipt = bea.disguise(Anonymise.name)
        edna.replay(Answer, where={"pk": list(Answer.objects.values_list("pk", flat=True))}, set={"text": "x"})
        assert bea.reveal(receipt).complete
        assert set(texts(bea)) == {"x"}

    @pytest.mark.once
    def test_one_lies_on_top_of_another(self, bea: Student) -> None:
        receipts = [bea.disguise(Redact.name), bea.disguise(Withdraw.name)]
        edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "[moderated]"})
        for receipt in receipts:
            bea.reveal(receipt)
        assert set(texts(bea)) == {"[moderated]"}


class TestTheLog:
    @pytest.mark.once
    def test_the_database_alone_does_not_tell_what_it_says(self, bea: Student) -> None:
        bea.disguise(DELETE)
        edna.replay(User, where={"email": bea.email}, set={"email": "moderated@example.org"})
        assert finds(loot(), {"e-mail": bea.email, "set": "moderated@example.org"}) == []
        [row] = Replay.objects.all()
        assert row.logged_on == datetime.datetime.now(datetime.UTC).date()

    @pytest.mark.once
    def test_all_entries_of_a_small_size_look_alike(self, bea: Student) -> None:
        edna.replay(User, where={"pk": 1}, set={"is_admin": False})
        edna.replay(Answer, where={"text": "x" * 30}, set={"text": "y" * 30})
        assert len({len(row.sealed) for row in Replay.objects.all()}) == 1

    @pytest.mark.once
    def test_a_forged_entry_is_refused_and_changes_nothing(self, bea: Student) -> None:
        receipt = bea.disguise(DELETE)
        edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "x"})
        entry = Replay.objects.get()
        entry.sealed = bytes(entry.sealed)[:-1] + bytes([entry.sealed[-1] ^ 1])
        entry.save()
        with nothing_changes(), pytest.raises(BagForged):
            bea.reveal(receipt)

    @pytest.mark.once
    def test_an_older_server_key_still_reads_it(self, bea: Student, settings: Any) -> None:
        receipt = bea.disguise(DELETE)
        edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "x"})
        keys = settings.EDNA["MAC_KEYS"]
        with with_server_keys("n" * 32, *keys):
            bea.reveal(receipt)
        assert set(texts(bea)) == {"x"}

    def test_entries_go_when_no_bag_can_be_as_old(self, bea: Student, settings: Any) -> None:
        edna.replay(User, where={"pk": 1}, set={"is_admin": False})
        Replay.objects.update(logged_on=timezone.now().date() - datetime.timedelta(days=70))
        with override_settings(EDNA=settings.EDNA | {"RETENTION_DAYS": 30}):
            edna.replay(User, where={"pk": 1}, set={"is_admin": False})
        assert Replay.objects.count() == 1

    @pytest.mark.once
    def test_entries_stay_as_long_as_a_bag_can_be_as_old(self, bea: Student, settings: Any) -> None:
        """One of the first of a month, kept for thirty days, is erased on the first of the month after the next."""
        edna.replay(User, where={"pk": 1}, set={"is_admin": False})
        Replay.objects.update(logged_on=timezone.now().date() - datetime.timedelta(days=30 + 31))
        with override_settings(EDNA=settings.EDNA | {"RETENTION_DAYS": 30}):
            edna.replay(User, where={"pk": 1}, set={"is_admin": False})
        assert Replay.objects.count() == 2

    def test_statements_do_not_depend_on_rows(self, bea: Student) -> None:
        counted = []
        for number in (2, 20):
            make_course(lectures=1, questions=number)
            student = enrol()
            answer_everything(student)
            receipt = student.disguise(Redact.name)
            edna.replay(Answer, where={"question": 1, "author": student.user.pk}, set={"text": "x"})
            counted.append(len(statements(lambda student=student, receipt=receipt: student.reveal(receipt))))
        assert counted[0] == counted[1]

    @pytest.mark.once
    def test_a_reveal_without_a_log_asks_for_it_once(self) -> None:
        make_course()
        [student] = enrol_many(1)
        receipt = student.disguise(ANONYMISE_ALL)
        asked = [sql for sql in statements(lambda: student.reveal(receipt)) if "edna_replay" in sql]
        assert len(asked) == 1


class TestBadInput:
    @pytest.mark.once
    @pytest.mark.parametrize(
        ("where", "new"),
        [
            ({}, {"text": "x"}),
            ({"pk": 1}, {}),
            ({"nonsense": 1}, {"text": "x"}),
            ({"author__email": "x"}, {"text": "x"}),
            ({"pk": 1}, {"answers": "x"}),
            ({"pk": 1}, {"id": 5}),
            ({"pk": 1}, {"text": None}),
            ({"pk": "one"}, {"text": "x"}),
            ({"pk": 1}, {"submitted_at": "yesterday"}),
            ({"author": object()}, {"text": "x"}),
        ],
    )
    def test_it_is_refused_before_anything_happens(self, bea: Student, where: Any, new: Any) -> None:
        with nothing_changes(), pytest.raises(InvalidParameters):
            edna.replay(Answer, where=where, set=new)
        assert Replay.objects.count() == 0

    def test_what_the_database_refuses_is_not_logged(self, bea: Student) -> None:
        carl = enrol("carl@example.org")
        with pytest.raises(ConstraintRefused) as refusal:
            edna.replay(User, where={"pk": carl.user.pk}, set={"email": bea.email})
        assert bea.email not in str(refusal.value)
        assert Replay.objects.count() == 0


def test_the_time_is_that_of_the_update_not_of_the_day(bea: Student) -> None:
    edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "x"})
    now = datetime.datetime.now(datetime.UTC)
    assert replay_log.logged_since(now, using=connection.alias) == []
    [update] = replay_log.logged_since(now - datetime.timedelta(minutes=1), using=connection.alias)
    assert update.stamp == "0002_lists_in_order_of_key"


def test_a_site_without_time_zones_logs_and_follows_updates(bea: Student) -> None:
    """By its own clock: what is sealed is in UTC all the same."""
    with override_settings(USE_TZ=False, TIME_ZONE="America/New_York"):
        receipt = edna.disguise(DELETE, bea.user)
        edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "x"})
        with bea.unlock() as unlocked:
            [entry] = edna.history(unlocked)
            assert abs(entry.applied_at - datetime.datetime.now(datetime.UTC)) < datetime.timedelta(hours=1)
            assert edna.reveal(receipt, unlocked).complete
    assert set(Answer.objects.filter(author=bea.user).values_list("text", flat=True)) == {"x"}


def test_the_log_goes_by_the_clock_of_django(bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    later = timezone.now() + datetime.timedelta(days=40)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "x"})
    assert Replay.objects.get().logged_on == later.date()
    [update] = replay_log.logged_since(later, using=connection.alias)
    assert update.made_at == later
