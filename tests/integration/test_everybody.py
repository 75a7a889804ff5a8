"""Everybody at once: in one transaction, or in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q

import edna
from apps.lobsters_sim.models import Comment, Story
from apps.lobsters_sim.models import User as Member
from apps.websubmit.models import Answer, Lecture, Question, User
from edna import Decorrelate, Disguise, Modify, Receipt
from edna.engine.chunks import disguise as chunks
from edna.engine.chunks import everybody
from edna.engine.disguising import execute
from edna.errors import ConstraintRefused, JobRefused, PartsRefused
from edna.operations import jobs
from edna.operations.jobs import launch
from edna.testing import application_dump
from tests.installed import registering
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    Student,
    answer_everything,
    cut_into_chunks,
    edna_dump,
    enrol,
    enrol_many,
    make_course,
    nothing_changes,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def students() -> list[Student]:
    """Eight, each with four answers."""
    make_course()
    students = enrol_many(8)
    answer_everything(*students)
    return students


# All in one


@pytest.mark.once
def test_a_global_disguise_without_rows_does_nothing() -> None:
    enrol()
    with nothing_changes():
        assert edna.disguise_all(ANONYMISE_ALL) == []


@pytest.mark.once
def test_a_global_disguise_reports_its_progress() -> None:
    make_course()
    answer_everything(*enrol_many(3))
    seen: list[tuple[int, int]] = []
    edna.disguise_all(ANONYMISE_ALL, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(3, 3)]


def test_batches_of_a_global_disguise_cover_everybody_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """More principals than are taken at once: each gets one receipt, and everybody can go back."""
    monkeypatch.setattr(everybody, "_AT_ONCE", 3)
    make_course()
    students = enrol_many(8)
    answer_everything(*students)
    before = application_dump()
    receipts = edna.disguise_all(ANONYMISE_ALL)
    assert len(set(receipts)) == 8
    assert not Answer.objects.filter(author__is_anon=False).exists()
    for student in students:
        assert len(student.history()) == 1
        student.reveal_everything()
    assert application_dump() == before


def test_a_sentinel_owner_or_an_unregistered_one_stops_a_global_disguise_before_it_starts() -> None:
    """Behaviours 27: a clear error, nothing half-applied."""
    make_course()
    bea = enrol()
    answer_everything(bea)
    stranger = User.objects.create(email="stranger@example.org")
    Answer.objects.create(author=stranger, question=Question.objects.first(), text="x")
    said = rf"1 owner\(s\) .* have no key \(websubmit\.User {stranger.pk}\); .*edna_register"
    with nothing_changes(), pytest.raises(edna.errors.UnregisteredOwners, match=said):
        edna.disguise_all(ANONYMISE_ALL)
    # Of the lecture that the stranger did not answer, everything can be anonymised.
    other = Lecture.objects.exclude(pk=Question.objects.first().lecture_id).get()
    assert len(edna.disguise_all("websubmit.anonymize-lecture", params={"lecture": other.pk})) == 1


def test_of_many_without_a_key_some_are_named() -> None:
    make_course()
    strangers = [User.objects.create(email=f"{number}@example.org") for number in range(7)]
    for stranger in strangers:
        Answer.objects.create(author=stranger, question=Question.objects.first(), text="x")
    first = ", ".join(sorted(str(stranger.pk) for stranger in strangers)[:5])
    with pytest.raises(edna.errors.UnregisteredOwners, match=rf"7 owner\(s\) .* \(websubmit\.User {first} …\);"):
        edna.disguise_all(ANONYMISE_ALL)


# In parts


@pytest.fixture
def parts_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(everybody, "_AT_ONCE", 3)


class Taken(list[int]):
    """How many receipts each part has handed over, and all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.receipts: list[Receipt] = []

    def __call__(self, receipts: Sequence[Receipt]) -> None:
        self.append(len(receipts))
        self.receipts += receipts


def have_left() -> int:
    return 8 - User.objects.filter(is_anon=False).count()


def test_in_parts_everybody_is_disguised_once_and_can_come_back(students: list[Student], parts_of_three: None) -> None:
    before, clean = application_dump(), edna_dump()
    seen: list[tuple[int, int]] = []
    receipts = edna.disguise_all(ANONYMISE_ALL, atomic=False, progress=lambda done, total: seen.append((done, total)))
    assert len(set(receipts)) == 8
    assert seen == [(3, 8), (6, 8), (8, 8)]
    assert not Answer.objects.filter(author__is_anon=False).exists()
    # Whom a part has made, the next one leaves alone.
    assert User.objects.filter(is_anon=True).count() == 8 * 2  # a lecture each
    for student in students:
        assert len(student.history()) == 1
        student.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == clean


@pytest.mark.once
def test_receipts_that_are_handed_over_are_not_returned(students: list[Student], parts_of_three: None) -> None:
    taken = Taken()
    assert edna.disguise_all(DELETE, atomic=False, hand_over=taken) == []
    assert taken == [3, 3, 2]
    assert {entry.receipt for student in students for entry in student.history()} == {*taken.receipts}
    all_at_once = Taken()
    students[0].reveal_everything()
    assert edna.disguise_all(DELETE, hand_over=all_at_once) == []
    assert all_at_once == [1]


@pytest.mark.once
def test_a_part_whose_receipts_cannot_be_handed_over_is_undone(students: list[Student], parts_of_three: None) -> None:
    """A full disk: in locator mode client, the receipts are the only way back."""

    def write(receipts: Sequence[Receipt]) -> None:
        if have_left() > 3:
            raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space left"):
        edna.disguise_all(DELETE, atomic=False, hand_over=write)
    assert have_left() == 3


@pytest.mark.once
def test_an_error_says_that_earlier_parts_stay(
    students: list[Student], parts_of_three: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = execute.execute

    def fail_later(*args: Any, **kwargs: Any) -> Any:
        if have_left() >= 3:
            raise IntegrityError("a value of somebody's")
        return real(*args, **kwargs)

    monkeypatch.setattr(execute, "execute", fail_later)
    with pytest.raises(ConstraintRefused, match="Who was disguised before stays so") as refused:
        edna.disguise_all(DELETE, atomic=False)
    assert "somebody" not in str(refused.value)
    assert have_left() == 3
    with pytest.raises(ConstraintRefused, match="Nothing was changed"):
        edna.disguise_all(DELETE)


@pytest.mark.once
def test_who_has_left_meanwhile_is_left_out(students: list[Student], parts_of_three: None) -> None:
    """In the second part, after it was noted who takes part."""
    last = students[-1]

    def leave(done: int, total: int) -> None:
        if done == 3:
            last.disguise(DELETE)

    assert len(edna.disguise_all(DELETE, atomic=False, progress=leave)) == 7
    assert [entry.receipt.disguise for entry in last.history()] == [DELETE]
    assert have_left() == 8


def test_whoever_has_many_rows_is_disguised_alone_in_chunks(students: list[Student], parts_of_three: None) -> None:
    """Nobody waits for locks on more rows than a chunk has: parts get smaller first, and then there are chunks."""
    before, clean = application_dump(), edna_dump()
    diligent = sorted(students, key=lambda each: str(each.user.pk))[1]  # people come in the order of their references
    for lecture in Lecture.objects.all():
        more = Question.objects.bulk_create(Question(lecture=lecture, number=n, text="And?") for n in range(10, 14))
        Answer.objects.bulk_create(Answer(author=diligent.user, question=each, text="So") for each in more)
    taken = Taken()
    with cut_into_chunks(9):
        edna.disguise_all(ANONYMISE_ALL, atomic=False, hand_over=taken)
    assert sum(taken) == len(set(taken.receipts)) == 8
    assert max(taken) == 2  # three of them have twelve rows
    assert not Answer.objects.filter(author__is_anon=False).exists()
    for student in students:
        student.reveal_everything()
    Answer.objects.filter(text="So").delete()
    Question.objects.filter(text="And?").delete()
    assert application_dump() == before
    assert edna_dump() == clean


@pytest.mark.once
def test_in_mode_client_parts_need_somebody_to_hand_receipts_to(
    students: list[Student], parts_of_three: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in a later part would lose the only way back of all earlier ones."""
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    with nothing_changes(), pytest.raises(PartsRefused, match="hand_over"):
        edna.disguise_all(DELETE, atomic=False)
    taken, real = Taken(), execute.execute

    def fail_later(*args: Any, **kwargs: Any) -> Any:
        if have_left() >= 3:
            raise IntegrityError("a value of somebody's")
        return real(*args, **kwargs)

    monkeypatch.setattr(execute, "execute", fail_later)
    with pytest.raises(ConstraintRefused, match="their receipts were handed over") as refused:
        edna.disguise_all(DELETE, atomic=False, hand_over=taken)
    assert "with their key" not in str(refused.value)
    assert len(taken.receipts) == have_left() == 3


@pytest.mark.once
@pytest.mark.django_db(transaction=True)
def test_a_part_whose_commit_is_refused_returns_its_receipts_once(
    students: list[Student], parts_of_three: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster says so at the COMMIT: the part is done again, and what the first attempt made opens nothing."""
    real, refused = BaseDatabaseWrapper.commit, list[bool]()

    def commit(self: BaseDatabaseWrapper) -> None:
        if not refused and have_left():
            refused.append(True)
            raise OperationalError(1213, "Deadlock found when trying to get lock")
        real(self)

    monkeypatch.setattr(BaseDatabaseWrapper, "commit", commit)
    receipts = edna.disguise_all(DELETE, atomic=False)
    assert refused
    assert sorted(map(str, receipts)) == sorted(str(entry.receipt) for each in students for entry in each.history())


# Somebody who has more rows than a chunk


def between_chunks(
    monkeypatch: pytest.MonkeyPatch, students: Sequence[Student], work: Callable[[Student], object]
) -> list[Student]:
    """``work(student)``, as another process does it, once the first chunk of one is committed. Returns whom it was done for."""
    met: list[Student] = []
    real = chunks._Disguising._committed

    def committed(self: Any, chunk: Callable[[], Any]) -> Any:
        result = real(self, chunk)
        if not met:
            met.extend(each for each in students if str(each.user.pk) == str(self.target.entry.reference))
            work(met[0])
        return result

    monkeypatch.setattr(chunks._Disguising, "_committed", committed)
    return met


@pytest.mark.once
@pytest.mark.django_db(transaction=True)
def test_the_receipt_of_a_large_one_is_handed_over_before_anything_of_it_stays(students: list[Student]) -> None:
    """A full disk: nobody has lost anything that no receipt leads to."""
    inside: list[bool] = []

    def write(receipts: Sequence[Receipt]) -> None:
        inside.append(connection.in_atomic_block)
        raise OSError("No space left on device")

    with cut_into_chunks(3), nothing_changes(), pytest.raises(OSError, match="No space left"):
        edna.disguise_all(ANONYMISE_ALL, atomic=False, hand_over=write)
    assert inside == [True]


@pytest.mark.once
@pytest.mark.django_db(transaction=True)
def test_a_new_key_between_two_chunks_breaks_nothing_off(
    students: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Taken()

    def rotate(student: Student) -> None:
        with student.unlock() as unlocked:
            student.secret_key = edna.rotate(unlocked, identifier=student.user.email, password="another").secret_key

    met = between_chunks(monkeypatch, students, rotate)
    with cut_into_chunks(3):
        edna.disguise_all(ANONYMISE_ALL, atomic=False, hand_over=taken)
    assert not Answer.objects.filter(author__is_anon=False).exists()
    assert [entry.receipt in taken.receipts for entry in met[0].history()] == [True]
    assert len(taken.receipts) == 8


@pytest.mark.once
@pytest.mark.django_db(transaction=True)
def test_whoever_leaves_between_two_chunks_has_a_receipt_for_what_was_done(
    students: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Taken()
    met = between_chunks(monkeypatch, students, lambda student: edna.disguise(DELETE, student.user, atomic=True))
    with cut_into_chunks(3):
        edna.disguise_all(ANONYMISE_ALL, atomic=False, hand_over=taken)
    [anonymised] = [entry.receipt for entry in met[0].history() if entry.receipt.disguise == ANONYMISE_ALL]
    assert anonymised in taken.receipts


@pytest.mark.once
def test_in_parts_or_not_a_stranger_stops_it_before_it_starts(students: list[Student], parts_of_three: None) -> None:
    stranger = User.objects.create(email="stranger@example.org")
    Answer.objects.create(author=stranger, question=Question.objects.first(), text="x")
    with nothing_changes(), pytest.raises(edna.errors.UnregisteredOwners, match=r"1 owner\(s\)"):
        edna.disguise_all(ANONYMISE_ALL, atomic=False)


# Conditions about what the disguise changes for others


class HidePrivateMatters(Disguise):
    """What somebody comments on a story depends on its title, which goes as well."""

    name = "lobsters.hide-private-matters"
    transformations = (
        Modify(Comment, "user", {"comment": "[gone]"}, where=Q(story__title__startswith="Private")),
        Decorrelate(Comment, "user", where=Q(story__title__startswith="Private")),
        Modify(Story, "user", {"title": "[gone]"}),
    )


@pytest.fixture
def commentators() -> Iterator[list[Student]]:
    """Eight. Each has written below another one's story."""
    people = [Member.objects.create(username=f"member{number}") for number in range(8)]
    stories = [Story.objects.create(user=each, title="Private matters") for each in people]
    for number, each in enumerate(people):
        Comment.objects.create(user=each, story=stories[number - 1], comment=f"{each.username} was ill")
    keys = [edna.register_principal(each, identifier=each.username).secret_key for each in people]
    with registering(HidePrivateMatters):
        yield [Student(each, key) for each, key in zip(people, keys, strict=True) if key is not None]


def test_all_are_planned_together_where_a_condition_reads_what_is_changed_for_others(
    commentators: list[Student], parts_of_three: None
) -> None:
    """Whoever came in a later batch was not found any more: the texts stayed, with the names."""
    before = application_dump()
    assert len(edna.disguise_all(HidePrivateMatters.name)) == 8
    assert not Comment.objects.filter(comment__endswith="was ill").exists()
    assert not Comment.objects.filter(user__in=[each.user.pk for each in commentators]).exists()
    for each in commentators:
        each.reveal_everything()
    for each in commentators:
        each.reveal_everything()
    assert application_dump() == before


@pytest.mark.once
def test_such_a_disguise_is_done_neither_in_parts_nor_by_a_job(commentators: list[Student]) -> None:
    sentence = r'the where of Modify\(Comment, owner="user"\) reads lobsters_sim\.Story\.title'
    with nothing_changes(), pytest.raises(PartsRefused, match=sentence):
        edna.disguise_all(HidePrivateMatters.name, atomic=False, hand_over=Taken())
    with nothing_changes(), pytest.raises(JobRefused, match=sentence):
        jobs.start(HidePrivateMatters.name)
    # Of a selection, each is disguised as if they were alone.
    assert jobs.start(HidePrivateMatters.name, principals=[commentators[0].user]).total == 1


@pytest.mark.once
def test_nor_is_a_job_run_that_was_started_before_the_condition_was_written(
    commentators: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(launch, "refuse_batches", lambda _: None)
        job = jobs.start(HidePrivateMatters.name)
    with nothing_changes(), pytest.raises(JobRefused, match="Story"):
        jobs.run(job.id)
