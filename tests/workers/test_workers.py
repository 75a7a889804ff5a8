"""A job on real workers: they are killed, their Redis is and forgets everything, the database server is; nobody is disguised twice,
nobody is left out, and nothing that was disguised is told to the broker or to a log."""

from __future__ import annotations

import random
import time

import pytest
from celery import Celery

from apps.lobsters_sim.keys import DECAY, DELETION
from apps.websubmit.models import User
from benchmarks.kit.servers import Server
from edna import tasks
from edna.operations import jobs
from edna.operations.jobs import JobState
from edna.testing import application_dump
from edna.testing.search import finds
from tests.support import ANONYMISE_ALL, answer_everything, enrol_many, make_course
from tests.waiting import eventually
from tests.workers import members
from tests.workers.crew import Crew, Listener, arguments_in
from tests.workers.scene import Scene, finished, halfway, report

pytestmark = [pytest.mark.slow, pytest.mark.only_on("mysql", "postgresql")]

PEOPLE = 250
#: A job that is struck takes no less: on a machine that has something else to do, it would be over before.
SECONDS = 8
WITHIN = 240


@pytest.mark.only_on("mysql")
def test_nothing_is_told_and_a_start_reaches_the_workers_without_beat(
    crew: Crew, sending: Celery, listener: Listener, redis: Server
) -> None:
    """All of what went through Redis, and all that the workers logged, at their most talkative."""
    scene = Scene(PEOPLE)
    crew.hire(2, beat=False)
    start = f"from edna.operations import jobs; print(jobs.start('{DECAY}', concurrency=3).id)"
    job = int(crew.elsewhere(start))
    finished(job, within=WITHIN)
    crew.hire(0, beat=True)
    eventually(lambda: crew.ticks() > 0)
    eventually(lambda: tasks.workers_alive(timeout_seconds=5) == 2, what="both answer")
    scene.everybody_is_disguised_once(job)

    told, logged = listener.heard(), crew.logs().encode()
    assert {tuple(arguments) for arguments, _ in arguments_in(told)} == {(job,), ()}
    assert not any(keywords for _, keywords in arguments_in(told))
    assert str(job).encode() in logged
    assert b"edna.run_job" in logged
    secrets = members.needles(random.sample(scene.people, 5))
    assert len(secrets) > 5 * 5
    everything = told + logged + everything_in(redis)
    assert finds(everything, secrets) == []
    # The same search finds what is there, once somebody has been careless.
    careless = {name: needle for name, needle in secrets.items() if isinstance(needle, str | bytes)}
    for name, needle in careless.items():
        sending.send_task("careless", (needle.hex() if isinstance(needle, bytes) else needle,))
        found = eventually(lambda name=name, needle=needle: finds(listener.heard(), {name: needle}))
        assert found == [name]
    scene.reveal_everything()


def everything_in(server: Server) -> bytes:
    """Every key of a Redis, of whatever type, and what it holds."""
    import redis as client_library

    client = client_library.Redis(unix_socket_path=str(server.directory / "socket"))
    read = {
        b"string": client.get,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"set": client.smembers,
        b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        b"hash": client.hgetall,
        b"stream": client.xrange,
    }
    return b"\n".join(key + repr(read[client.type(key)](key)).encode() for key in client.scan_iter())


@pytest.mark.only_on("postgresql")  # on MariaDB tests/workers/test_ten_kills.py does more
def test_workers_are_killed_at_random(crew: Crew, sending: Celery, redis: Server) -> None:
    scene = Scene(4 * PEOPLE)
    crew.hire(3)
    job = scene.start(concurrency=4, rate_per_second=4 * PEOPLE / SECONDS)
    for share in (0.1, 0.3, 0.5, 0.7):
        halfway(job, share)
        crew.strike(random.choice(("a worker", "a process")), redis)
    finished(job, within=WITHIN)
    scene.everybody_is_disguised_once(job)
    scene.reveal_everything()


@pytest.mark.only_on("mysql")
def test_who_stays_after_the_disguise_is_not_disguised_again(crew: Crew, sending: Celery, redis: Server) -> None:
    """Nothing in the application's tables would keep a second time from doing something: only the job's own list does."""
    make_course(lectures=2, questions=2)
    students = enrol_many(3 * PEOPLE)
    answer_everything(*students)
    before = application_dump()
    crew.hire(3)
    job = jobs.start(ANONYMISE_ALL, concurrency=4, rate_per_second=len(students) / SECONDS).id
    for share, victim in ((0.1, "Redis"), (0.2, "a worker"), (0.35, "a process"), (0.5, "a worker")):
        halfway(job, share)
        crew.strike(victim, redis)
    finished(job, within=WITHIN)
    assert (report(job).done, report(job).failures) == (len(students), {})
    # Of each student's answers those of one lecture have one author: 2 for everybody, and none to whom nothing is left.
    assert User.objects.filter(is_anon=True).count() == 2 * len(students)
    for student in students:
        [entry] = student.history()
        assert entry.counts == {"websubmit.answer": 4}
        assert student.reveal(entry.receipt).complete
    assert application_dump() == before


@pytest.mark.only_on("mysql")
def test_redis_is_killed_and_has_forgotten_everything(crew: Crew, sending: Celery, redis: Server) -> None:
    scene = Scene(PEOPLE)
    crew.hire(2)
    job = scene.start(concurrency=3, rate_per_second=PEOPLE / SECONDS)
    halfway(job)
    redis.kill()
    assert tasks.queued() is None
    # Nobody starts a job in vain meanwhile, or waits for a broker that is away.
    other = scene.start(scene.people[:5], name=DELETION)
    redis.start()
    finished(job, within=WITHIN)
    finished(other, within=WITHIN)
    assert report(job).done + report(other).done == PEOPLE
    assert report(job).failures == report(other).failures == {}


def test_the_database_server_is_killed(crew: Crew, sending: Celery, database: Server) -> None:
    scene = Scene(PEOPLE)
    crew.hire(2)
    job = scene.start(concurrency=3, rate_per_second=PEOPLE / SECONDS)
    halfway(job)
    database.kill()
    time.sleep(random.random())
    database.start()
    finished(job, within=WITHIN)
    scene.everybody_is_disguised_once(job)
    scene.reveal_everything()


@pytest.mark.only_on("mysql")
def test_it_pauses_goes_on_and_is_cancelled(crew: Crew, sending: Celery) -> None:
    scene = Scene(PEOPLE)
    crew.hire(2)
    job = scene.start(concurrency=3, rate_per_second=PEOPLE / SECONDS)
    halfway(job, 0.1)
    jobs.pause(job)
    still = _stands_still(crew, job, JobState.PAUSED)
    jobs.resume(job)
    eventually(lambda: report(job).done > still)
    jobs.cancel(job)
    done = _stands_still(crew, job, JobState.CANCELLED)
    disguised = [person for person in scene.people if person.history()]
    assert len(disguised) == done < PEOPLE
    scene.reveal_everything(disguised)
    assert scene.is_as_it_was()


def _stands_still(crew: Crew, job: int, state: JobState) -> int:
    """How many were done when nobody was at work any more; and that nobody takes it up again, though it is looked for."""
    eventually(lambda: report(job).runners == 0)
    done, ticks = report(job).done, crew.ticks()
    eventually(lambda: crew.ticks() > ticks + 2)
    assert (report(job).state, report(job).done) == (state, done)
    return done


@pytest.mark.only_on("mysql")
def test_no_more_than_the_limit_is_done(crew: Crew, sending: Celery) -> None:
    """However many workers there are, and although each of their turns is short."""
    scene = Scene(PEOPLE)
    crew.hire(2)
    began = time.monotonic()
    job = scene.start(concurrency=4, rate_per_second=6)
    eventually(lambda: report(job).done >= 60)
    for _ in range(20):
        done = report(job).done
        # Each runner may have a second's worth in hand.
        assert done <= 6 * (time.monotonic() - began) + 4 * 6
        time.sleep(0.2)
    assert report(job).state is JobState.RUNNING
    # The settings have a time limit for other tasks that is shorter than a turn, and so than these turns were.
    assert "time limit" not in crew.logs().lower()
    assert "TimeLimit" not in crew.logs()


@pytest.mark.only_on("mysql")
def test_two_jobs_at_once(crew: Crew, sending: Celery) -> None:
    scene = Scene(PEOPLE)
    crew.hire(2)
    some, others = scene.people[: PEOPLE // 2], scene.people[PEOPLE // 2 :]
    first, second = scene.start(some, concurrency=2), scene.start(others, name=DELETION, concurrency=2)
    eventually(lambda: report(first).done and report(second).done)
    finished(first, within=WITHIN)
    finished(second, within=WITHIN)
    assert report(first).done + report(second).done == PEOPLE
    assert report(first).failures == report(second).failures == {}
    scene.reveal_everything()
