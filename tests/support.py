"""What the tests of the library share: a course with people in it, exact dumps, a thief who searches, another process."""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

from django.conf import settings
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.test.utils import CaptureQueriesContext, override_settings

import edna
from apps.websubmit.models import Answer, Lecture, Question, User
from config.database import from_url
from edna import clock, conf, vouching
from edna.engine.chunks import disguise as chunks
from edna.operations.models import AuditCount, AuditEntry
from edna.store import serverkeys
from edna.testing import Person
from edna.testing.dumps import Dump, application_dump, dump
from edna.testing.search import cells
from tests.waiting import CHILD_SECONDS, session_of, until_gone

PASSWORD = "four zebras on a unicycle"
DELETE, ANONYMISE_LECTURE, ANONYMISE_ALL = (
    "websubmit.delete-account",
    "websubmit.anonymize-lecture",
    "websubmit.anonymize-all",
)
EDNA_TABLES = tuple(sorted(model._meta.db_table for model in conf.own_models()))
AUDIT_TABLES = {model._meta.db_table for model in (AuditEntry, AuditCount)}
BINARY = bytes(range(256))

_numbers = count(1)


def flipped(data: bytes, position: int = -1) -> bytes:
    """``data`` with one bit changed. Not with one byte replaced: it may have been that byte before."""
    changed = bytearray(data)
    changed[position] ^= 1
    return bytes(changed)


# People


@dataclass
class Student(Person):
    """Somebody with an account of WebSubmit, and a key."""

    user: User

    @property
    def email(self) -> str:
        return self.user.email

    def disguise(self, name: str = DELETE, *, with_key: bool = False, **params: Any) -> edna.Receipt:
        return super().disguise(name, with_key=with_key, **params)

    def texts(self) -> dict[int, str]:
        return dict(Answer.objects.filter(author=self.user.pk).values_list("question_id", "text"))


def enrol(email: str | None = None, *, password: str | None = None, **fields: Any) -> Student:
    """A student with a key; with ``password``, it opens the key too."""
    user = User.objects.create_user(email or f"student{next(_numbers)}@example.org", password, **fields)
    return Student.registered(user, password=password)


def enrol_in_course(email: str, *classmates: str, password: str | None = None) -> Student:
    """A student of a new course who, as their classmates, has answered all of it."""
    make_course()
    student = enrol(email, password=password)
    answer_everything(student, *(enrol(each) for each in classmates))
    return student


def users_at(addresses: Iterable[str]) -> list[User]:
    """New users, made in bulk. MySQL does not say which numbers they got."""
    users = User.objects.bulk_create(User(email=address) for address in addresses)
    if connection.features.can_return_rows_from_bulk_insert:
        return users
    by_address = User.objects.in_bulk([user.email for user in users], field_name="email")
    return [by_address[user.email] for user in users]


def enrol_many(number: int) -> list[Student]:
    users = users_at(f"student{next(_numbers)}@example.org" for _ in range(number))
    registrations = edna.register_principals(users)
    return [Student(user, made.secret_key) for user, made in zip(users, registrations, strict=True)]


def make_course(lectures: int = 2, questions: int = 2) -> list[Lecture]:
    made = [Lecture.objects.create(label=f"Lecture {number}") for number in range(1, lectures + 1)]
    Question.objects.bulk_create(
        Question(lecture=lecture, number=number, text="Why?") for lecture in made for number in range(1, questions + 1)
    )
    return made


def answer_everything(*students: Student, text: str = "An answer") -> None:
    questions = list(Question.objects.order_by("pk"))
    Answer.objects.bulk_create(
        Answer(author=student.user, question=question, text=f"{text} of {student.email} to {question.pk}")
        for student in students
        for question in questions
    )


def vouch_for_what_is_there() -> None:
    """Rows that a test has written or changed past edna are tagged as edna's own."""
    vouching.vouch(as_they_are=True)


# Dumps


def edna_dump() -> Dump:
    """Every row of edna's tables, but for what the audit trail says of disguises of everybody: it stays, whoever comes back."""
    return dump([table for table in EDNA_TABLES if table not in AUDIT_TABLES]) | acts_noted()


def acts_noted() -> Dump:
    """What the audit trail says, but for disguises of everybody: people who disguise and reveal leave nothing in it."""
    rows = (
        (str(entry.pk), entry.operator, entry.action, entry.disguise, str(entry.details), bytes(entry.mac).hex())
        for entry in AuditEntry.objects.order_by("pk")
        if (entry.action, entry.details.get("whom")) != ("disguise", "everybody")
    )
    return {AuditEntry._meta.db_table: list(rows)}


def whole_dump() -> Dump:
    return application_dump() | edna_dump()


def counts() -> dict[str, int]:
    return {table: len(rows) for table, rows in whole_dump().items()}


def know_server_keys(*keys: str, using: str = "default") -> None:
    """Let the database know these keys of the server, as `edna_keys add` does, but for the audit trail."""
    with override_settings(EDNA={**settings.EDNA, "MAC_KEYS": list(keys)}), transaction.atomic(using=using):
        check_values = serverkeys.check_values()
        serverkeys.add(check_values, added_on=datetime.date(2026, 1, 1), using=using)
        serverkeys.added(check_values, using=using)


@contextlib.contextmanager
def with_server_keys(*keys: str, **changed: Any) -> Iterator[None]:
    """The block runs under these keys of the server, all of which the database knows."""
    know_server_keys(*keys)
    with override_settings(EDNA={**settings.EDNA, "MAC_KEYS": list(keys), **changed}):
        yield


@contextlib.contextmanager
def nothing_changes() -> Iterator[None]:
    """The block leaves every table of the database as it was, edna's included, however it ends."""
    before = whole_dump()
    try:
        yield
    finally:
        assert whole_dump() == before


# The thief


def loot() -> bytes:
    """Everything that somebody with a copy of the database can read, the contents of sessions included."""
    return b"\n".join(content for _, content in cells())


def secrets_of(student: Student, *receipts: edna.Receipt) -> dict[str, str | bytes | int]:
    """What nobody but the student may hold."""
    code = edna.RecoveryCode.parse(student.recovery_code) if student.recovery_code else None
    needles: dict[str, str | bytes | int] = {
        "secret key": student.secret_key.expose(),
        "secret key text": student.secret_key.expose_text().partition(":")[2],
    }
    if code is not None:
        needles |= {"recovery code": code.expose(), "recovery code text": student.recovery_code}
        needles |= {"recovery code without dashes": student.recovery_code.replace("-", "")}
    for number, receipt in enumerate(receipts):
        needles |= {f"locator {number}": receipt.locator.expose(), f"receipt {number}": str(receipt)}
        needles |= {f"code of receipt {number}": str(receipt).rpartition(":")[2]}
    return needles


@contextlib.contextmanager
def on_server(url: str) -> Iterator[None]:
    """This process uses the database that ``url`` names, in place of the usual one."""
    connection.close()
    usual, own = dict(connection.settings_dict), from_url(url, base=Path())
    connection.settings_dict.update({key: own[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")})
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(usual)


@contextlib.contextmanager
def cut_into_chunks(rows: int | None) -> Iterator[None]:
    """Disguises are cut into chunks of that many rows, although the test itself is a transaction: savepoints stand for theirs."""
    if rows is None:
        yield
        return
    configured = {**settings.EDNA, "CHUNK_ROWS": rows}
    alone = mock.patch.object(chunks, "inside_another_transaction", return_value=False)
    with alone, override_settings(EDNA=configured):
        yield


# Statements, and processes


def statements(work: Callable[[], Any]) -> list[str]:
    """The SQL that ``work`` sends, savepoints and the transaction's own statements included; what time it is, the database was asked."""
    clock.ask(using=connection.alias)
    with CaptureQueriesContext(connection) as captured:
        work()
    return [query["sql"] for query in captured]


@contextlib.contextmanager
def server_clock_set(seconds: float) -> Iterator[None]:
    """Somebody has set the clock of this server, and not that of the database: so far ahead, or back."""
    wall = time.time

    def set_clock() -> float:
        return wall() + seconds

    def now() -> datetime.datetime:
        return datetime.datetime.fromtimestamp(set_clock(), datetime.UTC)

    with mock.patch("time.time", set_clock), mock.patch("django.utils.timezone.now", now):
        yield


def in_another_process(
    work: Callable[[], Any], *, killed_after: float | None = None, meanwhile: Callable[[], object] = lambda: None
) -> int:
    """Run ``work`` in a process of its own, with connections of its own; its exit status, -9 if it was killed.

    ``meanwhile`` is called as soon as it runs; ``killed_after`` so many seconds it is killed, unless it has ended. If it was killed, the
    database has let go of what it held.
    """
    connections.close_all()  # a connection that two processes hold is closed for both by the first that ends
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1

        def say(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
            if session := session_of(connection):
                os.write(sender, f"{session} ".encode())

        connection_created.connect(say, weak=False)
        signal.alarm(CHILD_SECONDS)  # one that hangs fails its test, not the whole run
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            connections.close_all()
            os._exit(status)
    meanwhile()
    if killed_after is not None:
        time.sleep(killed_after)
        os.kill(child, signal.SIGKILL)  # it is not waited for yet, so that its number is nobody else's
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(sender)
    os.set_blocking(receiver, False)  # whoever it has started may still have the other end
    with os.fdopen(receiver, "rb", buffering=0) as told:
        sessions = [int(session) for session in (told.read(1 << 16) or b"").split()]
    if status == -signal.SIGKILL:
        until_gone(*sessions)
    return status


def rows_of(table: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
    quoted = ", ".join(map(connection.ops.quote_name, names))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {quoted} FROM {table}")
        return [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in cursor.fetchall()]


def execute(sql: str, params: Iterable[Any] = ()) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, list(params))
        return int(cursor.rowcount)
