"""What goes on in a soak, by process: students over HTTP, members of Lobsters in the library, and the operator.

In each group as many are away at any time: who leaves and who comes back take turns, so what edna keeps has a size that it settles at.
"""

from __future__ import annotations

import datetime
import io
import itertools
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from unittest import mock

from django.core.management import CommandError, call_command
from django.db.models import Model
from django.urls import reverse
from django.utils import timezone

import edna
from apps.lobsters_sim.keys import DECAY
from apps.lobsters_sim.models import User as Member
from apps.websubmit.models import Answer, Question
from apps.websubmit.models import User as Student
from benchmarks.browser import Browser
from benchmarks.lobsters.site import DELETE, TAG, TOPIC
from benchmarks.websubmit.course import SENTENCE
from benchmarks.websubmit.over_http import (
    IT_IS_BACK,
    LEAVING,
    RECEIPT,
    RETURNING,
    browser_of,
    leaving,
    log_in,
    returning,
)
from edna.management.base import PARTIAL
from edna.operations import jobs
from edna.operations.schedules import rounds

Someone = TypeVar("Someone")

_LEAVE: Final = "websubmit.delete-account"
_ANONYMISE: Final = "websubmit.anonymize-lecture"
#: Of a group, so many are away.
_AWAY_PART: Final = 0.25
#: When somebody left whose sealed copy has expired by now.
_LEFT_LONG_AGO: Final = datetime.timedelta(days=400)
#: When the two warnings are sent, as `edna.schedule` of Lobsters has them.
_WARNED_DAYS_AGO: Final = (40, 9)


@dataclass(frozen=True)
class Act:
    """Something that is done so many times a second. It may return a remark, which the report counts."""

    name: str
    rate: float
    do: Callable[[], str | None]


@dataclass
class Person:
    """Somebody with a key. Receipts are found by it."""

    user: Model
    secret_key: edna.SecretKey = field(repr=False)

    def unlock(self) -> Any:
        return edna.unlock(secret_key=self.secret_key)

    def come_back(self) -> None:
        with self.unlock() as unlocked:
            for entry in edna.history(unlocked):
                edna.reveal(entry.receipt, unlocked)


class Group(Generic[Someone]):
    """People who leave and come back in turn: who has been there for longest leaves, who has been away for longest comes back."""

    def __init__(
        self, people: Sequence[Someone], leave: Callable[[Someone], None], come_back: Callable[[Someone], None]
    ) -> None:
        self.home, self.away = deque(people), deque[Someone]()
        self._leave, self._come_back = leave, come_back

    def prepare(self) -> None:
        for _ in range(max(1, round(len(self.home) * _AWAY_PART))):
            self.leave()

    def leave(self) -> None:
        someone = self.home.popleft()
        self._leave(someone)
        self.away.append(someone)

    def come_back(self) -> None:
        someone = self.away.popleft()
        self._come_back(someone)
        self.home.append(someone)

    def finish(self) -> None:
        while self.away:
            self.come_back()


def _people(model: type[Model], listed: Sequence[Mapping[str, Any]]) -> list[Person]:
    users = model._default_manager.in_bulk([each["pk"] for each in listed])
    return [Person(users[each["pk"]], edna.SecretKey.parse(each["key"])) for each in listed]


class Students:
    """WebSubmit's pages through gunicorn, each act over a connection of its own."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._port, self._lectures = known["port"], known["lectures"]
        students = Student.objects.in_bulk([each["pk"] for each in known["readers"] + known["leavers"]])
        self._readers = [students[each["pk"]] for each in known["readers"]]
        self._codes = {each["pk"]: {"recovery_code": each["code"]} for each in known["leavers"]}
        self._receipts: dict[int, str] = {}
        self._sessions: dict[int, dict[str, str]] = {}
        self._turns = itertools.count()
        self._answers = list(Answer.objects.filter(author__in=self._readers))
        self._group = Group([students[each["pk"]] for each in known["leavers"]], self._leave, self._come_back)

    def prepare(self) -> None:
        for reader in self._readers:
            with closing(browser_of(self._port)) as browser:
                log_in(browser, reader)
                self._sessions[reader.pk] = browser.cookies
        self._group.prepare()

    def acts(self) -> list[Act]:
        return [
            Act("read a lecture", 6, self._read),
            Act("edit an answer", 2, self._edit),
            Act("delete a student's account", 1, self._group.leave),
            Act("restore a student's account", 1, self._group.come_back),
        ]

    def finish(self) -> None:
        self._group.finish()
        Answer.objects.bulk_update(self._answers, ["text", "submitted_at"])

    def _next_page(self) -> tuple[Browser, str, int]:
        turn = next(self._turns)
        reader, lecture = self._readers[turn % len(self._readers)], self._lectures[turn % len(self._lectures)]
        browser = browser_of(self._port)
        browser.cookies = self._sessions[reader.pk]
        return browser, f"/lectures/{lecture}/", lecture

    def _read(self) -> None:
        browser, path, _ = self._next_page()
        with closing(browser):
            browser.get(path).find(r'class="badge done">(answered)')

    def _edit(self) -> None:
        browser, path, lecture = self._next_page()
        question = Question.objects.filter(lecture=lecture).values_list("pk", flat=True)[0]
        with closing(browser):
            form = browser.get(path)
            text = f"{next(self._turns)} {SENTENCE}"
            browser.post(path, {"csrfmiddlewaretoken": form.token, f"question_{question}": text}, expect=302)

    def _leave(self, student: Model) -> None:
        with closing(browser_of(self._port)) as browser:
            log_in(browser, student)
            page = browser.post(LEAVING, leaving(browser, self._codes[student.pk]))
            self._receipts[student.pk] = page.find(RECEIPT)

    def _come_back(self, student: Model) -> None:
        with closing(browser_of(self._port)) as browser:
            fields = returning(browser, self._receipts.pop(student.pk), self._codes[student.pk])
            browser.post(RETURNING, fields).find(IT_IS_BACK)


class Members:
    """Lobsters in the library, with keys that are replaced; and its first page through gunicorn."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._port = known["port"]
        members, in_topic = (_people(Member, known[name]) for name in ("members", "in_topic"))
        self._accounts = Group(members, lambda person: self._disguise(DELETE.disguise, person), Person.come_back)
        self._topics = Group(in_topic, lambda person: self._disguise(TOPIC.disguise, person, tag=TAG), Person.come_back)
        self._everybody = itertools.cycle([*members, *in_topic])

    def prepare(self) -> None:
        self._accounts.prepare()
        self._topics.prepare()

    def acts(self) -> list[Act]:
        return [
            Act("read the front page", 1.5, self._read),
            Act("delete a member's account", 0.75, self._accounts.leave),
            Act("restore a member's account", 0.75, self._accounts.come_back),
            Act("leave a topic", 0.75, self._topics.leave),
            Act("reclaim a topic", 0.75, self._topics.come_back),
            Act("look at what is disguised", 0.75, self._look),
            Act("replace a key", 0.75, self._rotate),
        ]

    def finish(self) -> None:
        self._topics.finish()
        self._accounts.finish()

    def _read(self) -> None:
        with closing(Browser(self._port, root=reverse("lobsters:front"))) as browser:
            browser.get("/").find(r"(<html)")

    def _disguise(self, name: str, person: Person, **params: str) -> None:
        edna.disguise(name, person.user, params=params)

    def _look(self) -> None:
        with self._accounts.away[-1].unlock() as unlocked:
            edna.history(unlocked)
            edna.waiting(unlocked)
            edna.speaks_for(unlocked)

    def _rotate(self) -> None:
        person = next(self._everybody)
        made = edna.rotate(person.unlock())
        assert made.secret_key is not None
        person.secret_key = made.secret_key


class Operator:
    """Jobs, the schedule, and the commands that run every night: here all the time. Newcomers are those whose copies expire."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._lecture = known["lectures"][-1]
        self._students = _people(Student, known["in_jobs"])
        self._dormant = _people(Member, known["dormant"])
        self._to_reclaim: deque[Person] = deque()
        self._numbers = itertools.count()

    def prepare(self) -> None:
        """Nothing is away before the first job."""

    def acts(self) -> list[Act]:
        return [
            Act("a newcomer leaves", 1, self._newcomer),
            Act("a job", 0.1, self._job),
            Act("the schedule", 0.1, self._schedule),
            Act("reclaim after a job", 2, self._reclaim),
            Act("edna_expire", 0.2, lambda: self._command("edna_expire")),
            Act("edna_sweep", 0.2, lambda: self._command("edna_sweep")),
            Act("edna_scrub", 0.0175, lambda: self._command("edna_scrub")),
        ]

    def finish(self) -> None:
        while self._to_reclaim:
            self._to_reclaim.popleft().come_back()
        for name in ("edna_expire", "edna_sweep"):
            self._command(name)

    def _newcomer(self) -> None:
        number = next(self._numbers)
        user = Student.objects.create(email=f"newcomer-{number}@example.org")
        Answer.objects.create(author=user, question=Question.objects.all()[0], text=SENTENCE)
        edna.register_principals([user])
        with mock.patch.object(timezone, "now", return_value=timezone.now() - _LEFT_LONG_AGO):
            edna.disguise(_LEAVE, user)

    def _job(self) -> str | None:
        if not all(self._is_home(person) for person in self._students):
            return "those of the last job are not all back"
        users = [person.user for person in self._students]
        job = jobs.start(_ANONYMISE, params={"lecture": self._lecture}, principals=users, operator="soak")
        self._command("edna_run", job.id)
        self._to_reclaim.extend(self._students)
        return None

    def _schedule(self) -> str | None:
        if not all(self._is_home(person) for person in self._dormant):
            return "those whom the schedule put away are not all back"
        for days in _WARNED_DAYS_AGO:
            day = timezone.now().date() - datetime.timedelta(days=days)
            rounds.run_schedules(only=DECAY, today=day)
        self._command("edna_run_schedules")
        self._to_reclaim.extend(self._dormant)
        return None

    def _is_home(self, person: Person) -> bool:
        return person not in self._to_reclaim

    def _reclaim(self) -> str | None:
        if not self._to_reclaim:
            return "nobody is away"
        self._to_reclaim.popleft().come_back()
        return None

    def _command(self, *words: Any) -> str | None:
        try:
            call_command(*words, stdout=io.StringIO(), stderr=io.StringIO())
        except CommandError as error:
            if words[0] == "edna_scrub" and error.returncode == PARTIAL:
                return str(error)
            raise
        return None


ROLES: Final = {"students": Students, "members": Members, "operator": Operator}
