"""What the tests of the library share: a course with people in it, exact dumps, a thief who searches, another process."""

from __future__ import annotations

import base64
import contextlib
import datetime
import json
import os
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote as url_quote

from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext, override_settings

import edna
from apps.websubmit.models import Answer, Lecture, Question, User
from config.database import from_url
from edna.crypto.keys import SecretKey
from edna.engine import applying
from edna.models import AuditCount, AuditEntry
from edna.operations import vouching
from edna.store import serverkeys

PASSWORD = "four zebras on a unicycle"
DELETE, ANONYMISE_LECTURE, ANONYMISE_ALL = (
    "websubmit.delete-account",
    "websubmit.anonymize-lecture",
    "websubmit.anonymize-all",
)
EDNA_TABLES = tuple(
    sorted(model._meta.db_table for model in apps.get_app_config("edna").get_models() if not model._meta.proxy)
)
AUDIT_TABLES = {model._meta.db_table for model in (AuditEntry, AuditCount)}
BINARY = bytes(range(256))

CHILD_SECONDS = 600

_numbers = count(1)


def flipped(data: bytes, position: int = -1) -> bytes:
    """``data`` with one bit changed. Not with one byte replaced: it may have been that byte before."""
    changed = bytearray(data)
    changed[position] ^= 1
    return bytes(changed)


# People


@dataclass
class Person:
    """Somebody with an account of whatever application, and a key."""

    user: Any
    secret_key: SecretKey
    recovery_code: str = ""

    def unlock(self, **kwargs: Any) -> edna.Unlocked:
        return edna.unlock(secret_key=self.secret_key, **kwargs)

    def disguise(self, name: str, *, with_key: bool = False, **params: Any) -> edna.Receipt:
        if not with_key:
            return edna.disguise(name, self.user, params=params)
        with self.unlock() as unlocked:
            return edna.disguise(name, self.user, params=params, unlocked=unlocked)

    def reveal(self, receipt: edna.Receipt | str, **kwargs: Any) -> edna.Outcome:
        with self.unlock() as unlocked:
            return edna.reveal(receipt, unlocked, **kwargs)

    def history(self) -> list[edna.HistoryEntry]:
        with self.unlock() as unlocked:
            return edna.history(unlocked)

    def reveal_latest(self) -> edna.Outcome:
        return self.reveal(self.history()[0].receipt)

    def reveal_everything(self) -> None:
        """Newest first, each of them completely."""
        while entries := self.history():
            outcome = self.reveal(entries[0].receipt)
            assert outcome.complete, outcome


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
    made = edna.register_principal(user, password=password)
    assert made.secret_key is not None
    return Student(user, made.secret_key, str(made.recovery_code))


def enrol_in_course(email: str, *classmates: str, password: str | None = None) -> Student:
    """A student of a new course who, as their classmates, has answered all of it."""
    make_course()
    student = enrol(email, password=password)
    answer_everything(student, *(enrol(each) for each in classmates))
    return student


def enrol_many(number: int) -> list[Student]:
    users = User.objects.bulk_create(User(email=f"student{next(_numbers)}@example.org") for _ in range(number))
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

Dump = dict[str, list[tuple[str | None, ...]]]


def tables() -> list[str]:
    with connection.cursor() as cursor:
        return sorted(connection.introspection.table_names(cursor))


def columns(table: str) -> list[str]:
    # Not by Django's introspection, which on SQLite parses the definition of every table, and takes longer than all else here.
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)} LIMIT 0")
        return [column[0] for column in cursor.description]


def _exact(column: str) -> str:
    """The stored bytes of a column in hexadecimal, and on SQLite, where it may differ from row to row, their storage class."""
    name = connection.ops.quote_name(column)
    if connection.vendor == "sqlite":
        # CAST would round a real to 15 digits.
        value = f"CASE typeof({name}) WHEN 'real' THEN printf('%%!.20g', {name}) ELSE hex(CAST({name} AS BLOB)) END"
        return f"typeof({name}) || ' ' || coalesce({value}, '')"
    if connection.vendor == "mysql":
        return f"HEX(CAST({name} AS BINARY))"
    return f"encode(convert_to({name}::text, 'UTF8'), 'hex')"


def dump_query(table: str) -> str:
    names = ", ".join(_exact(column) for column in columns(table))
    return f"SELECT {names} FROM {connection.ops.quote_name(table)}"


def _rows(table: str) -> list[tuple[str | None, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(dump_query(table), [])
        return sorted(cursor.fetchall(), key=repr)


def check_foreign_keys(tables: Sequence[str] | None = None) -> None:
    """Fail if a foreign key dangles. MariaDB checks each statement itself; asking it takes two slow questions for each table."""
    if connection.vendor != "mysql":
        connection.check_constraints(tables)


def application_dump() -> Dump:
    """Every row of every table that is not edna's, byte for byte. Fails if a foreign key dangles."""
    check_foreign_keys()
    return {table: _rows(table) for table in tables() if not table.startswith("edna_")}


def edna_dump() -> Dump:
    """Every row of edna's tables, but for what the audit trail says of disguises of everybody: it stays, whoever comes back."""
    return {table: _rows(table) for table in EDNA_TABLES if table not in AUDIT_TABLES} | acts_noted()


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
    """The block leaves every table of the database as it was, edna's included."""
    before = whole_dump()
    yield
    assert whole_dump() == before


# The thief


def loot() -> bytes:
    """Everything that somebody with a copy of the database can read, the contents of sessions included."""
    cells: list[Any] = []
    for table in tables():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            cells += [value for row in cursor.fetchall() for value in row]
    cells += [json.dumps(session.get_decoded()) for session in Session.objects.all()]
    return b"\n".join(_as_bytes(cell) for cell in cells)


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return str(value).encode("utf-8", "surrogatepass")


def spellings(needle: str | bytes | int) -> set[bytes]:
    """How a thief would look for ``needle``: as it is, in other encodings of text, in hexadecimal, base 64 and base 32."""
    if isinstance(needle, int):
        packed = {struct.pack(order + "q", needle) for order in "<>"}
        return {str(needle).encode()} | packed | {spelled.hex().encode() for spelled in packed}
    found: set[bytes] = set()
    if isinstance(needle, str):
        for encoding in ("utf-8", "utf-16-le", "utf-16-be", "latin-1"):
            with contextlib.suppress(UnicodeEncodeError):
                found.add(needle.encode(encoding))
        found |= {json.dumps(needle)[1:-1].encode(), url_quote(needle).encode()}
    raw = _as_bytes(needle)
    found |= {raw, raw.hex().encode(), raw.hex().upper().encode()}
    for encode, bits, group in ((base64.b64encode, 6, 3), (base64.urlsafe_b64encode, 6, 3), (base64.b32encode, 5, 5)):
        for shift in range(group):
            # The needle may start in the middle of a group of bytes: only the characters that it fills alone are its own.
            encoded = encode(bytes(shift) + raw).rstrip(b"=")
            own = encoded[-(-shift * 8 // bits) : (shift + len(raw)) * 8 // bits]
            found |= {own, own.lower()} if encode is base64.b32encode else {own}
    return found


def finds(haystack: bytes, needles: dict[str, str | bytes | int]) -> list[str]:
    """The names of the needles that the haystack holds in any spelling; case does not protect text."""
    lowered = haystack.lower()
    return [
        name
        for name, needle in needles.items()
        if any(spelled in haystack for spelled in spellings(needle))
        or (isinstance(needle, str) and any(spelled in lowered for spelled in spellings(needle.lower())))
    ]


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
    alone = mock.patch.object(applying, "_inside_another_transaction", return_value=False)
    with alone, override_settings(EDNA=configured):
        yield


# Statements, and processes


def statements(work: Callable[[], Any]) -> list[str]:
    """The SQL that ``work`` sends, savepoints and the transaction's own statements included."""
    with CaptureQueriesContext(connection) as captured:
        work()
    return [query["sql"] for query in captured]


def in_another_process(
    work: Callable[[], Any], *, killed_after: float | None = None, meanwhile: Callable[[], object] = lambda: None
) -> int:
    """Run ``work`` in a process of its own, with connections of its own; its exit status, -9 if it was killed.

    ``meanwhile`` is called as soon as it runs; ``killed_after`` so many seconds it is killed, unless it has ended.
    """
    connections.close_all()  # a connection that two processes hold is closed for both by the first that ends
    child = os.fork()
    if child == 0:
        status = 1
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
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def rows_of(table: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
    quoted = ", ".join(map(connection.ops.quote_name, names))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {quoted} FROM {table}")
        return [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in cursor.fetchall()]


def execute(sql: str, params: Iterable[Any] = ()) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, list(params))
        return int(cursor.rowcount)
