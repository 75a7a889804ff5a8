"""Every command, and whatever else operators do, is noted in the audit trail, or is listed here with the reason why not."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import get_commands
from django.test import override_settings

import edna
from apps.websubmit.models import User
from edna.operations import audit, jobs
from tests.support import ANONYMISE_ALL, DELETE, Student, enrol_in_course

pytestmark = [pytest.mark.django_db, pytest.mark.long]


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", "carl@example.org")


class Desk:
    """What is typed, and what it needs to be there before."""

    def __init__(self, bea: Student, directory: Path) -> None:
        self.bea, self.directory = bea, directory

    def file(self, name: str) -> str:
        return str(self.directory / name)

    def receipt_and_key(self) -> list[str]:
        path = self.directory / "bea.key"
        path.write_text(self.bea.secret_key.expose_text())
        return [str(self.bea.disguise(DELETE)), "--secret-key-file", str(path)]

    def job(self) -> str:
        return str(jobs.start(ANONYMISE_ALL, principals=[self.bea.user]).id)

    def newcomer(self) -> str:
        return str(User.objects.create_user("newcomer@example.org").email)

    def expired(self) -> list[str]:
        from edna.models import Bag

        self.bea.disguise(DELETE)
        Bag.objects.update(expires_on=datetime.date(2020, 1, 1))
        return []

    def exported(self) -> str:
        """A file of tables that are empty, as those that it is read into."""
        from django.core.management import call_command

        from edna.models import PrincipalEntry, ServerKey
        from edna.operations.store import transfer

        call_command("edna_export", self.file("moved"), verbosity=0)
        for table in transfer.tables():
            table.model._base_manager.all()._raw_delete("default")
        assert not PrincipalEntry.objects.exists()
        assert not ServerKey.objects.exists()
        return self.file("moved")


#: How each command that does something is typed, and the action that the trail has then.
ACTS: dict[str, list[tuple[Callable[[Desk], list[Any]], str]]] = {
    "edna_disguise": [
        (lambda desk: [DELETE, "--principal", desk.bea.email, "--yes"], "disguise"),
        (lambda desk: [ANONYMISE_ALL, "--all", "--yes"], "disguise"),
        (lambda desk: [ANONYMISE_ALL, "--all", "--yes", "--job"], "start"),
    ],
    "edna_erase": [(lambda desk: [*desk.receipt_and_key(), "--yes"], "erase")],
    "edna_expire": [(lambda desk: desk.expired(), "expire")],
    "edna_export": [(lambda desk: [desk.file("tables")], "export")],
    "edna_export_sealed": [
        (lambda desk: ["--output", desk.file("sealed"), *desk.receipt_and_key()[1:]], "export sealed"),
    ],
    "edna_export_person": [
        (lambda desk: ["--output", desk.file("own"), *desk.receipt_and_key()[1:]], "export person"),
    ],
    "edna_hold": [
        (lambda desk: ["place", "2027-03-01", "--reason", "case 12/26"], "place hold"),
    ],
    "edna_import": [(lambda desk: [desk.exported()], "import")],
    "edna_jobs": [
        (lambda desk: ["pause", desk.job()], "pause"),
        (lambda desk: ["resume", desk.job()], "resume"),
        (lambda desk: ["cancel", desk.job()], "cancel"),
    ],
    "edna_ledger": [
        (lambda desk: ["write", desk.file("ledger")], "write ledger"),
        (lambda desk: ["prune", "2026-05"], "prune"),
    ],
    "edna_register": [
        (lambda desk: [desk.newcomer()], "register"),
        (lambda desk: [desk.newcomer() and "--all", "--keys-file", desk.file("keys")], "register"),
    ],
    "edna_reveal": [(lambda desk: desk.receipt_and_key(), "reveal")],
    "edna_sweep": [(lambda desk: [], "sweep")],
}
#: Noted by tests of their own, which need what cannot be had here.
ELSEWHERE = {
    "edna_keys": "tests/integration/test_serverkeys.py: needs another key of the server",
    "edna_scrub": "tests/integration/test_scrub_command.py: not inside a transaction",
    "edna_vouch": "tests/integration/test_tags.py: needs a row that was changed past edna",
}
#: They finish what was noted when it was begun.
FINISHES = {"edna_run": "start", "edna_files": "whatever took the rows", "edna_run_schedules": "start, of its jobs"}
READS = {"edna_audit", "edna_health", "edna_plan", "edna_scaffold", "edna_verify"}


@pytest.mark.once
def test_every_command_says_whether_the_trail_notes_it() -> None:
    """A new command is added to one of these lists."""
    commands = {name for name, application in get_commands().items() if application in ("edna", "edna.operations")}
    assert commands == {*ACTS, *ELSEWHERE, *FINISHES, *READS}


@pytest.mark.once
@pytest.mark.parametrize(
    ("command", "number"), [(command, number) for command, typed in ACTS.items() for number in range(len(typed))]
)
def test_what_an_operator_does_is_noted(command: str, number: int, bea: Student, typed: Any, tmp_path: Path) -> None:
    words, action = ACTS[command][number]
    with override_settings(EDNA={**settings.EDNA, "LEDGER": True}):
        given = words(Desk(bea, tmp_path))
        before = {entry.id for entry in audit.entries()}
        ran = typed(command, *given, "--operator", "olga")
    assert ran.code == 0, ran.err
    new = [entry for entry in audit.entries() if entry.id not in before]
    if command == "edna_import":
        assert new.pop().action == "export"  # of the site that the file is from
    assert [(entry.action, entry.operator) for entry in new] == [(action, "olga")]
    # Never whom it was about.
    assert "example.org" not in str(new[0].details)
    assert audit.verify() == []


@pytest.mark.once
@pytest.mark.parametrize(
    "words", [("edna_plan", DELETE, "--all"), ("edna_verify",), ("edna_health",), ("edna_jobs", "list"), ("edna_run",)]
)
def test_what_only_looks_is_not_noted(words: tuple[str, ...], bea: Student, typed: Any) -> None:
    typed(*words)
    assert audit.entries() == []


@pytest.mark.once
def test_what_is_refused_is_not_noted(bea: Student, typed: Any, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    User.objects.create_user("newcomer@example.org")
    for words in (
        ("edna_export", str(taken)),
        ("edna_import", str(taken)),
        ("edna_register", bea.email),
        ("edna_disguise", DELETE, "--principal", "newcomer@example.org", "--yes"),
    ):
        assert typed(*words).code == 1, words
    assert audit.entries() == []


# From code


def test_a_disguise_of_everybody_is_noted_in_its_transaction(bea: Student) -> None:
    edna.disguise_all(ANONYMISE_ALL, operator="olga")
    (entry,) = audit.entries()
    assert (entry.action, entry.operator, entry.disguise) == ("disguise", "olga", ANONYMISE_ALL)
    assert entry.details == {"principals": 2, "whom": "everybody"}


@pytest.mark.once
def test_a_disguise_by_an_operator_is_noted_and_one_of_their_own_is_not(bea: Student) -> None:
    bea.disguise(ANONYMISE_ALL)
    assert audit.entries() == []
    edna.disguise(DELETE, bea.user, operator="olga")
    (entry,) = audit.entries()
    assert (entry.action, entry.operator, entry.disguise) == ("disguise", "olga", DELETE)
    assert entry.details == {"principals": 1}


def test_one_in_chunks_is_noted_once(bea: Student) -> None:
    with override_settings(EDNA={**settings.EDNA, "CHUNK_ROWS": 2}):
        edna.disguise(DELETE, bea.user, operator="olga")
    assert [entry.action for entry in audit.entries()] == ["disguise"]
