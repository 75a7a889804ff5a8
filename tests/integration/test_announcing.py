"""Signals: after the commit, the model and primary keys only, and no receiver can do harm."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction

import edna
from apps.websubmit.models import Answer, Question, User
from edna import Decorrelate, Disguise, Modify, signals
from edna.db.rows import table_of
from edna.engine.books.announcements import News
from edna.signals import disguised, revealed, rows_changed, rows_removed, rows_restored
from edna.testing import Person
from tests.installed import registering
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    Student,
    answer_everything,
    cut_into_chunks,
    enrol,
    enrol_in_course,
    enrol_many,
    make_course,
    statements,
)

pytestmark = pytest.mark.django_db

ROWS = (rows_removed, rows_restored, rows_changed)
ALL = (*ROWS, disguised, revealed)
NAMES = {id(getattr(signals, name)): name for name in signals.__all__}

Heard = tuple[str, str, str, tuple[Any, ...]]


class Prune(Disguise):
    """What others attach to the pseudoprincipal is deleted by the reveal."""

    name = "test.prune-answers"
    transformations = [Decorrelate(Answer, owner="author", group_by=edna.ALL)]
    references = {"websubmit.Answer.author": "delete"}


class Twice(Disguise):
    """Two steps change the same rows."""

    name = "test.twice"
    transformations = [
        Modify(Answer, owner="author", set={"text": "[gone]"}),
        Decorrelate(Answer, owner="author"),
    ]


class Redact(Disguise):
    name = "test.redact-answers"
    transformations = [Modify(Answer, owner="author", set={"text": "[gone]"})]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with registering(Prune, Twice, Redact):
        yield


class Ears:
    """A receiver that writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []

    def __call__(self, *, signal: Any, sender: Any, name: str, keys: tuple[Any, ...], **more: Any) -> None:
        assert more == {"using": "default"}
        self.heard.append((NAMES[id(signal)], sender._meta.label, name, keys))

    def take(self) -> list[Heard]:
        heard, self.heard = self.heard, []
        return heard


@pytest.fixture
def ears() -> Iterator[Ears]:
    receiver = Ears()
    for signal in ALL:
        signal.connect(receiver)
    yield receiver
    for signal in ALL:
        signal.disconnect(receiver)


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", "carl@example.org")


@pytest.fixture
def commit(django_capture_on_commit_callbacks: Any) -> Any:
    return lambda: django_capture_on_commit_callbacks(execute=True)


def answers_of(user: User) -> tuple[int, ...]:
    return tuple(Answer.objects.filter(author=user).order_by("pk").values_list("pk", flat=True))


def test_leaving_and_returning(bea: Student, ears: Ears, commit: Any) -> None:
    """One signal for each model, in the order of the work; the person's own two last."""
    answers, pk = answers_of(bea.user), bea.user.pk
    with commit():
        receipt = bea.disguise(DELETE)
        assert ears.heard == []  # not before the commit
    assert ears.take() == [
        ("rows_removed", "websubmit.Answer", DELETE, answers),
        ("rows_removed", "websubmit.User", DELETE, (pk,)),
        ("disguised", "websubmit.User", DELETE, (pk,)),
    ]
    with commit():
        bea.reveal(receipt)
        assert ears.heard == []
    assert ears.take() == [
        ("rows_restored", "websubmit.User", DELETE, (pk,)),
        ("rows_restored", "websubmit.Answer", DELETE, answers),
        ("revealed", "websubmit.User", DELETE, (pk,)),
    ]


@pytest.mark.once
def test_anonymising_and_reclaiming(bea: Student, ears: Ears, commit: Any) -> None:
    """Pseudoprincipals that are let go of are rows that were removed; a user index may have met them."""
    answers = answers_of(bea.user)
    with commit():
        receipt = bea.disguise(ANONYMISE_ALL)
    assert ears.take() == [
        ("rows_changed", "websubmit.Answer", ANONYMISE_ALL, answers),
        ("disguised", "websubmit.User", ANONYMISE_ALL, (bea.user.pk,)),
    ]
    authors = set(Answer.objects.filter(pk__in=answers).values_list("author", flat=True))
    with commit():
        bea.reveal(receipt)
    changed, removed, whom = ears.take()
    assert changed == ("rows_changed", "websubmit.Answer", ANONYMISE_ALL, answers)
    assert (removed[:3], set(removed[3])) == (("rows_removed", "websubmit.User", ANONYMISE_ALL), authors)
    assert whom == ("revealed", "websubmit.User", ANONYMISE_ALL, (bea.user.pk,))


@pytest.mark.once
def test_two_steps_on_the_same_rows_are_told_once(bea: Student, ears: Ears, commit: Any) -> None:
    with commit():
        receipt = bea.disguise("test.twice")
    assert [news[:2] for news in ears.take()] == [
        ("rows_changed", "websubmit.Answer"),
        ("disguised", "websubmit.User"),
    ]
    with commit():
        bea.reveal(receipt)
    assert [news[:2] for news in ears.take()].count(("rows_changed", "websubmit.Answer")) == 1


@pytest.mark.once
def test_each_row_is_changed_in_one_chunk(bea: Student, ears: Ears, commit: Any) -> None:
    """And in none after it, although it is still theirs, and what the disguise means."""
    answers = answers_of(bea.user)
    with commit(), cut_into_chunks(1):
        bea.disguise("test.redact-answers")
    told = [key for signal, *_, keys in ears.take() if signal == "rows_changed" for key in keys]
    assert sorted(told) == sorted(answers)


def test_what_a_reveal_deletes_or_moves_is_told(bea: Student, ears: Ears, commit: Any) -> None:
    """A row that came to a pseudoprincipal since: deleted or given back, as the disguise says."""
    old = answers_of(bea.user)
    for name, expected in (("test.prune-answers", "rows_removed"), ("test.twice", "rows_changed")):
        receipt = bea.disguise(name)
        author = User.objects.get(pk=Answer.objects.get(pk=old[0]).author_id)
        late = Answer.objects.create(author=author, question=new_question(), text="late")
        with commit():
            bea.reveal(receipt)
        told = [news for news in ears.take() if news[:2] == (expected, "websubmit.Answer")]
        assert len(told) == 1
        assert late.pk in told[0][3]
        Answer.objects.filter(pk=late.pk).delete()


def new_question() -> Question:
    last = Question.objects.order_by("-number").first()
    assert last is not None
    return Question.objects.create(lecture=last.lecture, number=last.number + 1, text="One more?")


@pytest.mark.once
def test_what_is_held_is_not_told(bea: Student, ears: Ears, commit: Any) -> None:
    answers = answers_of(bea.user)
    receipt = bea.disguise(DELETE)
    gone = Question.objects.order_by("pk").first()
    lost = Answer.objects.filter(question=gone).count()
    assert (lost, gone is not None) == (1, True)
    gone.delete()
    with commit():
        assert len(bea.reveal(receipt).held) == 1
    told = {news[:2]: news[3] for news in ears.take()}
    assert set(told["rows_restored", "websubmit.Answer"]) < set(answers)
    assert len(told["rows_restored", "websubmit.Answer"]) == len(answers) - 1


def test_what_came_back_and_had_to_go_again_is_not_told(bea: Student, ears: Ears, commit: Any) -> None:
    """Rows of tables in a circle are inserted before it is known that they can stay."""
    news = News()
    table = table_of(Answer)
    news.note(rows_restored, table, ("id", "text"), [(1, "one"), (2, "two")])
    news.forget(rows_restored, table, ("id", "text"), [(2, "two"), (3, "three")])
    news.forget(rows_removed, table, ("id", "text"), [(1, "one")])
    with commit():
        news.send("test.circle", using="default")
    assert ears.take() == [("rows_restored", "websubmit.Answer", "test.circle", (1,))]


@pytest.mark.once
def test_a_global_disguise_tells_once_for_each_model_and_batch(ears: Ears, commit: Any) -> None:
    """The keys of many people in one signal, and nobody's in particular. Pseudoprincipals are nobody to be named."""
    make_course()
    students = enrol_many(5)
    answer_everything(*students)
    for _ in range(2):
        with commit():
            edna.disguise_all(ANONYMISE_ALL)
        rows, whom = ears.take()
        assert (rows[:2], len(rows[3])) == (("rows_changed", "websubmit.Answer"), 20)
        assert whom[:2] == ("disguised", "websubmit.User")
        assert set(whom[3]) <= {student.user.pk for student in students}
    assert whom[3] == ()


@pytest.mark.once
def test_a_composed_deletion_names_the_person_only(bea: Student, ears: Ears, commit: Any) -> None:
    edna.disguise_all(ANONYMISE_ALL)
    with commit():
        receipt = bea.disguise(DELETE, with_key=True)
    news = {heard[:2]: heard[3] for heard in ears.take()}
    assert news["disguised", "websubmit.User"] == (bea.user.pk,)
    assert len(news["rows_removed", "websubmit.Answer"]) == 4
    with commit():
        bea.reveal(receipt)
    assert {heard[:2]: heard[3] for heard in ears.take()}["revealed", "websubmit.User"] == (bea.user.pk,)


def test_a_failure_tells_nothing(bea: Student, ears: Ears, commit: Any) -> None:
    def leave_and_fail() -> None:
        with transaction.atomic():
            bea.disguise(DELETE)
            raise RuntimeError

    with commit(), pytest.raises(RuntimeError):
        leave_and_fail()
    assert ears.heard == []


def test_keys_are_what_instances_have(world: Any, ears: Ears, commit: Any) -> None:
    """UUIDs, composite keys, keys that are foreign keys, and the hidden table of a many-to-many field."""
    person = world.Person.objects.create(handle="bea")
    note = world.Note.objects.create(author=person, text="a note")
    note.tags.add(world.Tag.objects.create(name="a tag"))
    world.Pin.objects.create(note=note, place="door")
    member = world.Member.objects.create(code="m1")
    seats = [world.Seat.objects.create(room="a", number=number, owner=member) for number in (1, 2)]
    world.Badge.objects.create(owner=member, title="a badge")
    made = edna.register_principal(person)
    edna.register_principal(member)
    through = world.Note.tags.through
    link = through.objects.get().pk
    with commit():
        receipt = edna.disguise("world.leave", person)
        edna.disguise("world.mask", member)
    told = {news[:2]: news[3] for news in ears.take()}
    assert told["rows_removed", "world.Person"] == (person.pk,)
    assert isinstance(told["rows_removed", "world.Person"][0], uuid.UUID)
    assert told["rows_removed", "world.Note"] == (note.pk,)
    assert told["rows_removed", "world.Pin"] == (note.pk,)
    assert told["rows_removed", through._meta.label] == (link,)
    assert told["disguised", "world.Person"] == (person.pk,)
    assert told["rows_changed", "world.Seat"] == tuple(seat.pk for seat in seats)
    assert told["disguised", "world.Member"] == ("m1",)
    with commit():
        Person(person, made.secret_key).reveal(receipt)
    told = {news[:2]: news[3] for news in ears.take()}
    assert told["rows_restored", "world.Pin"] == (note.pk,)
    assert told["revealed", "world.Person"] == (person.pk,)


@pytest.mark.once
def test_a_receiver_hears_its_own_model_only(bea: Student, commit: Any) -> None:
    heard: list[Any] = []

    def receiver(sender: Any, **_: Any) -> None:
        heard.append(sender)

    rows_removed.connect(receiver, sender=Answer)
    with commit():
        bea.disguise(DELETE)
    rows_removed.disconnect(receiver, sender=Answer)
    assert heard == [Answer]


@pytest.mark.once
@pytest.mark.parametrize("error", [ValueError("What Bea wrote"), OperationalError(1213, "What Bea wrote")])
def test_a_failing_receiver_harms_nobody(
    bea: Student, ears: Ears, commit: Any, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """Neither the caller, nor the receivers behind it, and the log does not repeat what it said."""

    def broken(**_: Any) -> None:
        raise error

    for signal in ALL:
        signal.connect(broken)
        signal.receivers.insert(0, signal.receivers.pop())  # before the other one
        signal.sender_receivers_cache.clear()
    with caplog.at_level(logging.DEBUG), commit():
        receipt = bea.disguise(DELETE)
    assert len(ears.take()) == 3
    assert "broken" in caplog.text
    assert type(error).__name__ in caplog.text
    assert "What Bea wrote" not in caplog.text
    with commit():
        assert bea.reveal(receipt).complete
    assert len(ears.take()) == 3
    for signal in ALL:
        assert signal.disconnect(broken)


@pytest.mark.django_db(transaction=True)
def test_after_a_real_commit_a_failing_receiver_repeats_nothing() -> None:
    """A lock time-out in a receiver looks like one of the disguise, which is done: it must not be tried again."""
    make_course()
    bea = enrol("bea@example.org")
    answer_everything(bea)
    seen: list[tuple[bool, int]] = []

    def receiver(**_: Any) -> None:
        seen.append((connection.in_atomic_block, Answer.objects.count()))
        raise OperationalError("database is locked")

    disguised.connect(receiver)
    receipt = bea.disguise(DELETE)
    disguised.disconnect(receiver)
    assert seen == [(False, 0)]
    assert bea.reveal(receipt).complete
    assert Answer.objects.count() == 4


class Broken:
    """A receiver that is no function."""

    def __call__(self, **_: Any) -> None:
        raise ValueError("What Bea wrote")


@pytest.mark.once
def test_the_log_names_a_receiver_that_is_an_object(
    bea: Student, commit: Any, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken()
    disguised.connect(broken)
    with caplog.at_level(logging.DEBUG), commit():
        bea.disguise(DELETE)
    disguised.disconnect(broken)
    assert f"{__name__}.Broken, a receiver of edna's signals, raised ValueError." in caplog.text
    assert "What Bea wrote" not in caplog.text


async def ears_of_a_coroutine(**_: Any) -> None:
    raise IntegrityError("What Bea wrote")


@pytest.mark.once
def test_an_asynchronous_receiver_may_listen(bea: Student, commit: Any, caplog: pytest.LogCaptureFixture) -> None:
    disguised.connect(ears_of_a_coroutine)
    with caplog.at_level(logging.DEBUG), commit():
        bea.disguise(DELETE)
    disguised.disconnect(ears_of_a_coroutine)
    assert "ears_of_a_coroutine" in caplog.text
    assert "What Bea wrote" not in caplog.text


@pytest.mark.once
def test_without_receivers_nothing_is_computed(
    bea: Student, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    """Not a statement more, and nothing waits for the commit."""
    assert not any(signal.has_listeners() for signal in ALL)
    with django_capture_on_commit_callbacks() as waiting:
        quiet = len(statements(lambda: bea.reveal(bea.disguise(DELETE))))
    assert waiting == []
    receivers = [Ears() for _ in ALL]
    for signal, receiver in zip(ALL, receivers, strict=True):
        signal.connect(receiver)
    with django_capture_on_commit_callbacks() as waiting:
        loud = len(statements(lambda: bea.reveal(bea.disguise(DELETE))))
    assert len(waiting) == 4  # rows and people, twice
    assert loud <= quiet + 1  # who revealed
    for signal, receiver in zip(ALL, receivers, strict=True):
        signal.disconnect(receiver)


@pytest.mark.once
def test_the_signals_are_easy_to_import() -> None:
    assert edna.signals is signals
    assert set(signals.__all__) == {
        "before_commit", "disguised", "file_deleted", "file_written", "job_ready", "measured", "request_counted", "revealed",
        "rows_changed", "rows_removed", "rows_restored",
    }  # fmt: skip


# Before the commit


@pytest.fixture
def mended() -> Iterator[list[Any]]:
    """What a receiver of `before_commit` was told, and how many answers it found; it writes to a row that no disguise is about."""
    told: list[Any] = []

    def mend(sender: Any, name: str, keys: tuple[Any, ...], using: str, **_: Any) -> None:
        there = Answer.objects.using(using)
        told.append((name, set(keys), there.filter(pk__in=keys).count()))
        Question.objects.using(using).update(text=f"{there.count()} answers")

    signals.before_commit.connect(mend, sender=Answer)
    yield told
    signals.before_commit.disconnect(mend, sender=Answer)


def test_whoever_completes_rows_is_asked_inside_of_the_transaction(bea: Student, mended: list[Any]) -> None:
    """Once for each model, whatever was done with its rows, and when everything else is written."""
    answers, everything = set(answers_of(bea.user)), Answer.objects.count()
    receipt = bea.disguise(DELETE)
    assert mended == [(DELETE, answers, 0)]
    assert set(Question.objects.values_list("text", flat=True)) == {f"{everything - len(answers)} answers"}
    mended.clear()
    assert bea.reveal(receipt).complete
    assert mended == [(DELETE, answers, len(answers))]
    mended.clear()
    bea.disguise("test.twice")
    assert mended == [("test.twice", answers, len(answers))]


def test_who_cannot_complete_rows_refuses_all_of_it(bea: Student) -> None:
    """Half of a tree is worse than none: the disguise, and the reveal, have not happened."""

    def refuse(**_: Any) -> None:
        raise RuntimeError("the tree is broken")

    def dump() -> list[Any]:
        return list(Answer.objects.order_by("pk").values())

    before = dump()
    receipt = None
    for _ in range(2):
        signals.before_commit.connect(refuse, sender=Answer)
        try:
            with pytest.raises(RuntimeError):
                bea.reveal(receipt) if receipt else bea.disguise(DELETE)
        finally:
            signals.before_commit.disconnect(refuse, sender=Answer)
        assert dump() == (
            before if receipt is None else [answer for answer in before if answer["author_id"] != bea.user.pk]
        )
        receipt = receipt or bea.disguise(DELETE)
    assert bea.reveal(receipt).complete
    assert dump() == before


@pytest.fixture
def led() -> Iterator[list[dict[str, set[Any]]]]:
    """What a receiver of `before_commit` was told that rows had referred to."""
    told: list[dict[str, set[Any]]] = []

    def listen(referred_to: dict[str, tuple[Any, ...]], **_: Any) -> None:
        told.append({name: set(keys) for name, keys in referred_to.items()})
        assert all(len(set(keys)) == len(keys) for keys in referred_to.values())

    signals.before_commit.connect(listen, sender=Answer)
    yield told
    signals.before_commit.disconnect(listen, sender=Answer)


@pytest.mark.once
def test_of_what_is_gone_it_is_told_what_it_referred_to(bea: Student, led: list[dict[str, set[Any]]]) -> None:
    """And of nobody whose it was. Of a disguise in parts, each tells of its own rows."""
    questions = set(Answer.objects.filter(author=bea.user.pk).values_list("question", flat=True))
    receipt = bea.disguise(DELETE)
    assert led == [{"question": questions}]
    assert bea.reveal(receipt).complete
    with cut_into_chunks(1):
        bea.disguise(DELETE)
    assert len(led) > 3
    assert led[1] == {}
    assert set().union(*(each["question"] for each in led[2:])) == questions


@pytest.mark.once
def test_what_a_reveal_deletes_is_told_so_too(bea: Student, led: list[dict[str, set[Any]]]) -> None:
    """An answer that others gave to the pseudoprincipal meanwhile."""
    own = answers_of(bea.user)
    receipt = bea.disguise("test.prune-answers")
    late = Answer.objects.create(author=Answer.objects.get(pk=own[0]).author, question=new_question(), text="late")
    assert bea.reveal(receipt).complete
    assert led == [{}, {"question": {late.question_id}}]
