"""WebSubmit's users: students who read, students who edit; and students who delete their account and restore it."""

from __future__ import annotations

import random
from typing import Any, Final

from locust import between, task

from loadtest.browser import Page, Unexpected, Visitor
from loadtest.disguisers import Disguiser
from loadtest.people import Account
from loadtest.samples import AROUND, DISGUISE, REVEAL
from loadtest.websubmit_lectures import LectureAnonymised

LOGGED_IN = r'action="[^"]*(/logout/)"'
ANSWERED = 'class="badge done"'
RECEIPT = r'id="edna-receipt">([^<]+)<'


LEAVING = "/privacy/do/websubmit.delete-account/"


class Student(Visitor):
    """Logged in as one of the ordinary students, each user as another one: two would find what the other has written."""

    abstract = True
    root = "/websubmit"
    wait_time = between(0.25, 0.5)

    def on_start(self) -> None:
        name = self.load.next_of("students", alone=True)
        self.enter("/login/", {"username": name, "password": self.load.people.password}).find(LOGGED_IN)

    def read_answers(self) -> tuple[str, Page, list[str]]:
        """A lecture's page: its address, what is on it, and the names of the fields there. Somebody has answered every question."""
        path = f"/lectures/{random.choice(self.load.people.facts['lectures'])}/"
        page = self.get(path, name="read answers")
        fields = page.all(r'name="(question_\d+)"')
        if not fields or page.text.count(ANSWERED) != len(fields):
            raise Unexpected("a lecture's page does not show all answers")
        return path, page, fields


class Reader(Student):
    """Looks at lectures and at the own answers there."""

    @task(3)
    def read(self) -> None:
        self.read_answers()

    @task(1)
    def browse(self) -> None:
        self.get("/lectures/", name="list lectures").find(LOGGED_IN)


class Editor(Student):
    """Changes one answer after the other, and looks whether what was written last is what stands there."""

    @task
    def edit(self) -> None:
        path, form, fields = self.read_answers()
        text = f"{random.getrandbits(64):016x} " + "The evaluation answers the question. " * 3
        changed = {random.choice(fields): text.strip()}
        saved = self.post(path, changed, token=form.token, name="edit an answer")
        if text[:16] not in saved.text:
            raise Unexpected("an edited answer is not on the page")


class StudentWhoLeaves(Disguiser):
    """Deletes the account on its page; comes back with the receipt of the good-bye page, or without if it was never seen."""

    root = "/websubmit"
    receipt = ""

    def log_in(self, account: Account) -> None:
        self.receipt = ""
        self.enter("/login/", {"username": account.name, "password": self.load.people.password})

    def leave(self, account: Account) -> None:
        page = self.persist(
            LEAVING,
            LEAVING,
            {"password": self.load.people.password}
            if self.load.by_password
            else {"recovery_code": account.recovery_code},
            name="delete account",
            kind=DISGUISE,
            rows=account.rows,
            seen=True,
        )
        self.receipt = page.find(RECEIPT)

    def come_back(self, account: Account) -> None:
        fields = {"receipt": self.receipt, "recovery_code": account.recovery_code, "password": ""}
        if self.load.by_password:
            fields = {"receipt": self.receipt, "identifier": account.name, "password": self.load.people.password}
        page = self.persist(*["/privacy/return/"] * 2, fields, name="restore account", kind=REVEAL, rows=account.rows)
        page.find(r"<h1>(It is back)<")

    def look(self, account: Account) -> None:
        self.forget_cookies()
        self.log_in(account)
        lecture = random.choice(self.load.people.facts["lectures"])
        page = self.get(f"/lectures/{lecture}/", name="look what is back", kind=AROUND)
        if any(text not in page.text for text in account.marks[str(lecture)]):
            raise Unexpected("an answer did not come back")


#: Who there is, by what they do: ``normal``, and those of `loadtest.scenarios.Variant.what`.
USERS: Final[dict[str, Any]] = {
    "normal": [Reader, Editor],
    "account": StudentWhoLeaves,
    "lecture": LectureAnonymised,
}
