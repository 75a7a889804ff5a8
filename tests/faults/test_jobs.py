"""Jobs under attack: whoever works on one is killed at every step, at any moment, in the middle of others, and loses the database.

Each principal is disguised no time or once, the list of who is still to do says exactly who, and whoever goes on finishes it.
"""

from __future__ import annotations

import logging
import multiprocessing
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.db import OperationalError, connection, connections
from django.test.utils import override_settings

import edna
from apps.websubmit.models import User
from edna.operations import jobs
from edna.operations.jobs import JobReport, JobState, eager_runner
from edna.operations.models import JobItem
from edna.testing import Person
from edna.testing.dumps import check_foreign_keys
from edna.testing.search import finds, places
from tests.faults.operations import DEEP
from tests.faults.post.models import Citizen, Letter
from tests.faults.states import Snapshot, State
from tests.faults.steps import AFTER_COMMIT, MOST_STEPS, failing_at, killed_at, steps_to_die_at, watched
from tests.faults.test_server import lose_the_connection
from tests.support import ANONYMISE_ALL, DELETE, Student, answer_everything, enrol_many, in_another_process, make_course
from tests.waiting import WAIT_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("applications"), pytest.mark.django_db(transaction=True)]

#: In batches of two: of one batch, or of several.
PEOPLE = 3 if connection.vendor == "sqlite" or DEEP else 2
#: For a server, a process that is killed is a connection that is lost, and so is an error of its own making: there the connection is
#: lost at every step, and processes are killed at random.
once = pytest.mark.slow if DEEP else pytest.mark.once  # slow they all are
GOOSE = "seven geese over the marsh"
#: What an operator's side leaves for good.
KEPT = {"edna_job", "edna_auditentry"}


@pytest.fixture
def small_batches(settings: object) -> Iterator[Callable[[int], None]]:
    from django.conf import settings as configured

    with override_settings(EDNA={**configured.EDNA, "JOB_BATCH": 2}):
        yield


class Attack:
    """A job, again and again from the same beginning."""

    def __init__(self, disguise: str, *, number: int, concurrency: int = 2) -> None:
        make_course()
        self.students: list[Student] = enrol_many(number)
        answer_everything(*self.students)
        self.origin = State.now()
        self.job = jobs.start(disguise, concurrency=concurrency).id
        self.prepared = Snapshot()

    def work(self) -> JobReport:
        return jobs.run(self.job)

    def again(self) -> None:
        self.prepared.restore()
        connection.close()

    def check_interrupted(self) -> int:
        """How many are done: each of them once, and exactly the others are on the list."""
        check_foreign_keys()
        report = jobs.report(self.job)
        assert report.done + report.skipped + report.failed + report.left == report.total == len(self.students)
        assert (report.skipped, report.failed) == (0, 0)
        histories = [len(student.history()) for student in self.students]
        assert set(histories) <= {0, 1}
        assert sum(histories) == report.done
        left = {str(s.user.pk) for s, entries in zip(self.students, histories, strict=True) if not entries}
        assert set(JobItem.objects.filter(job=self.job).values_list("reference", flat=True)) == left
        return report.done

    def check_end(self) -> None:
        report = self.work()
        assert (report.state, report.done, report.left) == (JobState.FINISHED, len(self.students), 0)
        assert [len(student.history()) for student in self.students] == [1] * len(self.students)
        assert jobs.waiting() == []

    def check_everything_comes_back(self) -> None:
        for student in self.students:
            student.reveal_everything()
        now = State.now()
        assert now.application == self.origin.application
        changed = {table for table, rows in now.edna.items() if rows != self.origin.edna[table]}
        assert changed - {"edna_principalentry"} == KEPT  # those who are back were here today
        assert now.sizes()["edna_principalentry"] == len(self.students)


@once
@pytest.mark.parametrize("disguise", [ANONYMISE_ALL, DELETE])
@pytest.mark.usefixtures("small_batches")
def test_killed_at_every_step_of_a_batch(disguise: str) -> None:
    kill_at_every_step_of_a_batch(Attack(disguise, number=PEOPLE))


def kill_at_every_step_of_a_batch(
    attack: Attack, *, at: Callable[[], AbstractContextManager[object]] = nullcontext
) -> list[str]:
    """The steps. ``at`` chooses a server for the process that is killed. We look, and go on, without it."""
    killed: list[str] = []
    seen: set[int] = set()
    steps = steps_to_die_at(attack.work, stride=1 if DEEP else 3)
    attack.again()
    for number in steps:
        with at():
            killed.append(killed_at(number, attack.work) or "")
        done = attack.check_interrupted()
        attack.check_end()
        if done not in seen:
            attack.check_everything_comes_back()
        seen.add(done)
        attack.again()
    assert {"COMMIT", AFTER_COMMIT} <= set(killed)
    assert {0, len(attack.students)} <= seen
    attack.check_end()
    return killed


@pytest.mark.usefixtures("small_batches")
def test_one_who_is_disguised_in_chunks_is_killed_at_any_step(settings: Any) -> None:
    """Between two chunks, and within them: on the list until the last, one receipt, and no chunk of it twice."""
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 2}
    attack = Attack(DELETE, number=2)
    seen: set[tuple[int, int]] = set()
    for number in range(0, MOST_STEPS, 1 if DEEP else 19):
        if killed_at(number, attack.work) is None:
            break
        check_foreign_keys()
        report = jobs.report(attack.job)
        assert (report.done + report.left, report.failed) == (2, 0)
        assert User.objects.count() == report.left == JobItem.objects.filter(job=attack.job).count()
        before = [[entry.receipt for entry in student.history()] for student in attack.students]
        seen.add((report.done, sum(map(len, before))))
        attack.check_end()
        for student, receipts in zip(attack.students, before, strict=True):
            [entry] = student.history()
            assert receipts in ([], [entry.receipt])
        attack.check_everything_comes_back()
        attack.again()
    else:
        pytest.fail("it goes on and on")
    assert any(begun > done for done, begun in seen)


@once
@pytest.mark.usefixtures("small_batches")
def test_the_database_fails_at_every_step_and_the_job_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself: the runner has a new connection, and does what was undone again."""
    monkeypatch.setattr("edna.operations.jobs.runner._FIRST_PAUSE_SECONDS", 0.001)
    attack = Attack(DELETE, number=PEOPLE)
    for number in range(MOST_STEPS):
        happened: list[str] = []
        with watched(failing_at(number, lambda: OperationalError("gone"), happened)):
            try:
                report = attack.work()
            except OperationalError:
                report = None  # before the first batch, or after the last: the caller is told
        if not happened:
            break
        attack.check_interrupted()
        if report is not None:
            assert (report.state, report.done) == (JobState.FINISHED, PEOPLE), happened
        attack.check_end()
        attack.again()
    assert number > 20


@pytest.mark.only_on("mysql", "postgresql")
@pytest.mark.usefixtures("small_batches")
def test_the_connection_is_lost_at_every_step_and_the_job_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edna.operations.jobs.runner._FIRST_PAUSE_SECONDS", 0.001)
    attack = Attack(DELETE, number=PEOPLE)
    for number in range(MOST_STEPS):
        happened: list[str] = []

        def reached(at: int, name: str, this: int = number, struck: list[str] = happened) -> None:
            if at == this:
                struck.append(name)
                lose_the_connection()

        with watched(reached):
            try:
                attack.work()
            except OperationalError:
                pass
        connection.close()
        if not happened:
            break
        attack.check_interrupted()
        attack.check_end()
        attack.again()
    assert number > 20


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("disguise", [ANONYMISE_ALL, DELETE])
def test_two_processes_at_once(disguise: str) -> None:
    attack = Attack(disguise, number=24)
    begun: list[JobReport] = []
    assert in_another_process(attack.work, meanwhile=lambda: begun.append(attack.work())) == 0
    assert begun[0].done > 0
    attack.check_end()
    attack.check_everything_comes_back()


@pytest.mark.usefixtures("small_batches")
def test_two_processes_at_once_whose_people_are_disguised_in_chunks(settings: Any) -> None:
    """Each takes over from the other between two chunks, or leaves it alone."""
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 1}
    attack = Attack(DELETE, number=4)
    assert in_another_process(attack.work, meanwhile=attack.work) == 0
    attack.check_end()
    attack.check_everything_comes_back()


@pytest.mark.usefixtures("small_batches")
def test_a_third_process_is_one_too_many() -> None:
    attack = Attack(DELETE, number=10, concurrency=1)

    working, looked = multiprocessing.Event(), multiprocessing.Event()

    def other() -> None:
        assert working.wait(WAIT_SECONDS)
        found.append((jobs.report(attack.job).runners, attack.work().state))
        looked.set()

    found: list[tuple[int, JobState]] = []

    def watched_by_another(report: JobReport) -> None:
        working.set()
        assert looked.wait(WAIT_SECONDS)

    assert in_another_process(lambda: jobs.run(attack.job, progress=watched_by_another), meanwhile=other) == 0
    assert found == [(1, JobState.RUNNING)]
    assert attack.check_interrupted() == 10


@pytest.mark.usefixtures("small_batches")
def test_killed_at_random_until_it_is_done() -> None:
    """Killed again and again, wherever it happens to be, until nothing is left."""
    attack = Attack(ANONYMISE_ALL, number=150)
    rounds = 0
    while jobs.report(attack.job).left and rounds < 200:
        rounds += 1
        # Longer and longer: where it takes a second to begin, it would never come to its work.
        in_another_process(attack.work, killed_after=random.uniform(0.02, 0.2) * (1 + rounds / 10))
        attack.check_interrupted()
    assert rounds > 1
    attack.check_end()
    attack.check_everything_comes_back()


@pytest.mark.usefixtures("small_batches")
def test_one_is_killed_while_another_goes_on() -> None:
    attack = Attack(ANONYMISE_ALL, number=24)
    in_another_process(attack.work, killed_after=0.0, meanwhile=lambda: time.sleep(random.uniform(0.05, 0.2)))
    in_another_process(
        lambda: jobs.run(attack.job, progress=lambda report: time.sleep(0.01)),
        killed_after=0.3,
        meanwhile=lambda: jobs.run(attack.job, seconds=0.2) and None,
    )
    attack.check_interrupted()
    attack.check_end()
    attack.check_everything_comes_back()


@pytest.mark.usefixtures("small_batches")
def test_people_leave_by_themselves_while_a_job_is_at_it() -> None:
    """Whoever comes first: nobody is disguised twice by the job, nobody's data is lost, and it ends."""
    attack = Attack(ANONYMISE_ALL, number=16)
    errors: list[str] = []

    def leave() -> None:
        for student in attack.students[::2]:
            try:
                student.disguise(DELETE)
            except edna.errors.DatabaseBusy as error:
                errors.append(str(error))

    assert in_another_process(attack.work, meanwhile=leave) == 0
    report = attack.work()
    assert report.state is JobState.FINISHED
    assert (report.done + report.skipped, report.failed) == (16, 0)
    for student in attack.students:
        names = [entry.name for entry in student.history()]
        assert len([name for name in names if name != DELETE]) <= 1
        student.reveal_everything()
    assert State.now().application == attack.origin.application


@pytest.mark.usefixtures("small_batches")
def test_an_eager_thread_works_by_itself() -> None:
    from django.conf import settings

    eager_runner.connect()
    with override_settings(EDNA={**settings.EDNA, "JOB_RUNNER": "eager"}):
        attack = Attack(DELETE, number=5)
        assert eager_runner.wait(seconds=WAIT_SECONDS)
    assert User.objects.count() == 0
    assert jobs.report(attack.job).state is JobState.FINISHED
    connections.close_all()


# For good


@once
def test_for_good_whoever_is_killed_leaves_everything_or_nothing_of_a_person(
    caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    """In the middle of a batch, and of deleting its files: once the job is over, no table, cache, file or line of a log has anything of
    them; what others own, too, is there and comes back. In a deep run, killed at every step."""
    settings.EDNA = {**settings.EDNA, "JOB_BATCH": 2, "LEDGER": True}
    caplog.set_level(logging.DEBUG)
    # Numbers that no table and no log has by chance.
    named = {"Al": 7_654_310_928_377, "Bo": 7_654_310_928_378}
    quitters = [Citizen.objects.create(name=f"{name} Quitter", pk=key) for name, key in named.items()]
    clem = Citizen.objects.create(name="Clementine")
    keys = [
        edna.register_principal(each, password=GOOSE, identifier=each.name).secret_key for each in [*quitters, clem]
    ]
    for at, (sender, recipient) in enumerate([*zip(quitters, reversed(quitters), strict=True), (clem, quitters[0])]):
        content = ContentFile(f"enclosed by {sender.name}".encode(), name=f"{at}.txt")
        text = f"A letter of {sender.name}"
        Letter.objects.create(sender=sender, recipient=recipient, text=text, enclosure=content)
    needles: dict[str, Any] = {"password": GOOSE}
    for citizen, key in zip(quitters, keys, strict=False):
        about = {"name": citizen.name, "pk": citizen.pk, "key": key.expose(), "public key": bytes(key.public_key)}
        needles |= {f"{what} of {citizen.name}": value for what, value in about.items()}

    def seen() -> list[str]:
        logged = [str(record.__dict__).encode() for record in caplog.records]
        return places(needles) + finds(
            b"\n".join([*State.now().files.values(), repr(vars(cache)).encode(), *logged]), needles
        )

    assert len(seen()) >= len(needles) - 1, "the search finds what is there; of the password nothing is"
    job = jobs.start("post.leave", principals=quitters, operator="olga", keep_no_way_back=True).id
    prepared = Snapshot()
    started: list[str] = []
    with watched(lambda _, name: started.append(name)):
        jobs.run(job)
    middle = next(name for name in started if name.startswith("DELETE FROM") and "post_citizen" in name)
    steps: Iterable[int | str] = range(MOST_STEPS) if DEEP else (middle, "file os.remove")
    for step in steps:
        prepared.restore()
        connection.close()
        if killed_at(step, lambda: jobs.run(job)) is None:
            break
        check_foreign_keys()
        here = Citizen.objects.filter(pk__in=[each.pk for each in quitters]).count()
        assert (jobs.report(job).done, JobItem.objects.filter(job=job).count()) == (2 - here, here)
        report = jobs.run(job)
        assert (report.state, report.done, report.failures) == (JobState.FINISHED, 2, {})
        assert seen() == []
    assert State.now().files == {"letters/2.txt": b"enclosed by Clementine"}
    person = Person(clem, keys[-1])
    before = set(Letter.objects.values_list("sender", "text"))
    assert person.reveal(person.disguise("post.leave")).complete
    assert set(Letter.objects.values_list("sender", "text")) == before == {(clem.pk, "A letter of Clementine")}


@pytest.mark.usefixtures("small_batches")
def test_for_good_while_another_operator_anonymises_and_somebody_returns() -> None:
    """Two jobs want the same people at once: each is done or passed over by each, and nobody is left. Who comes back meanwhile was on no
    list, and has everything."""
    attack = Attack(ANONYMISE_ALL, number=13)
    returning, *others = attack.students
    texts = returning.texts()
    receipt = returning.disguise(DELETE)
    for_good = jobs.start(DELETE, operator="olga", keep_no_way_back=True).id

    def meanwhile() -> None:
        assert not returning.reveal(receipt).held
        jobs.run(for_good)

    assert in_another_process(attack.work, meanwhile=meanwhile) == 0
    gone, anonymised = jobs.run(for_good), attack.work()
    assert (gone.state, gone.done, gone.failures) == (JobState.FINISHED, len(others), {})
    assert (anonymised.state, anonymised.failures, anonymised.left) == (JobState.FINISHED, {}, 0)
    assert [user.pk for user in User.objects.filter(is_anon=False)] == [returning.user.pk]
    assert returning.texts() == texts
    for student in others:  # what was anonymised before they were gone is theirs, and nobody's to come back
        with suppress(edna.errors.PrincipalNotRegistered):
            assert [entry.name for entry in student.history()] == [ANONYMISE_ALL]


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("disguise", ["post.leave", "post.veil"])
def test_two_processes_at_once_whose_people_share_rows(disguise: str) -> None:
    """They want each other's rows and entries all the time, and one of two that do so at once has to try again."""
    citizens = [Citizen.objects.create(name=f"Citizen {number}") for number in range(14)]
    people = [Person(each, edna.register_principal(each).secret_key) for each in citizens]
    for number, sender in enumerate(citizens):
        for distance in (0, 1, 2, 5):
            recipient = citizens[(number + distance) % len(citizens)]
            Letter.objects.create(sender=sender, recipient=recipient, text=f"A letter from {number}")
    origin = State.now()
    job = jobs.start(disguise).id
    assert in_another_process(lambda: jobs.run(job), meanwhile=lambda: jobs.run(job)) == 0
    report = jobs.run(job)
    assert (report.state, report.done, report.failures) == (JobState.FINISHED, 14, {})
    assert all(len(person.history()) == 1 for person in people)
    if disguise == "post.leave":
        assert Letter.objects.count() == 0
    for _ in range(3):
        for person in people:
            for entry in person.history():
                person.reveal(entry.receipt)
    assert State.now().application == origin.application
