"""The commands, as they are typed: what they print, what they return, and how they refuse."""

from __future__ import annotations

import argparse
import getpass
import io
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.core.management import call_command, get_commands, load_command_class
from django.core.management.base import BaseCommand, CommandError, SystemCheckError
from django.db import DatabaseError, DataError, IntegrityError, OperationalError

import edna
from apps.lobsters_sim.models import User as Member
from apps.websubmit.models import Answer, Lecture, User
from edna import api
from edna.crypto.keys import SecretKey
from edna.errors import BagForged
from edna.management import base
from edna.management.base import sentence
from edna.management.commands.edna_plan import describe
from edna.operations import audit
from edna.testing import application_dump
from tests.integration.shell import refused
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    PASSWORD,
    Student,
    answer_everything,
    enrol,
    enrol_in_course,
    nothing_changes,
    statements,
)

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    "edna_plan",
    "edna_disguise",
    "edna_run",
    "edna_jobs",
    "edna_keys",
    "edna_reveal",
    "edna_erase",
    "edna_export_person",
    "edna_register",
    "edna_export",
    "edna_import",
    "edna_ledger",
)

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.thorough]


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", password=PASSWORD)


@pytest.fixture
def key_file(bea: Student, tmp_path: Path) -> Path:
    path = tmp_path / "bea.key"
    path.write_text(bea.secret_key.expose_text() + "\n")
    return path


# All of them


@pytest.mark.parametrize("name", COMMANDS)
def test_help_for_newcomers(name: str, typed: Any) -> None:
    ran = typed(name, "--help")
    assert ran.code == 0
    assert f"examples:\n  manage.py {name} " in ran.out
    assert "exit status: 0 done, 1 refused, 2 wrong usage, 3 done in part" in ran.out
    parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
    for action in parser._actions:
        assert action.help, action
        assert action.help is argparse.SUPPRESS or action.help.strip()
    assert len(parser.description) > 40


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_usage(name: str, typed: Any) -> None:
    assert typed(name, "--nonsense").code == 2
    assert typed(name, *("pause",) if name == "edna_jobs" else ("first",) if name == "edna_run" else ()).code == 2


@pytest.mark.parametrize("name", [*COMMANDS, "edna_audit"])
def test_documented(name: str) -> None:
    parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
    text = (ROOT / "docs/commands.md").read_text()
    section = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
    django = BaseCommand().create_parser("manage.py", name)
    everyones = {option for action in django._actions for option in action.option_strings}
    ours = {o for action in parser._actions for o in action.option_strings if o.startswith("--")} - everyones
    assert ours
    for option in ours:
        assert f"`{option}" in section


@pytest.mark.parametrize("name", ["edna_plan", "edna_disguise"])
@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (
            ["shop.delete-account", "--principal", "bea@example.org"],
            1,
            ["No disguise is called", "websubmit.delete-account"],
        ),
        ([DELETE, "--principal", "nobody@example.org"], 1, ["No websubmit.User", "nobody@example.org"]),
        ([DELETE, "--principal", "999999"], 1, ["No websubmit.User"]),
        ([DELETE, "--principal", "1e99"], 1, ["No websubmit.User"]),
        ([DELETE, "--principal", "pk:bea@example.org"], 1, ["No websubmit.User"]),
        ([DELETE, "--principal", ""], 1, ["No websubmit.User"]),
        ([DELETE, "--principal", "carl@example.org"], 1, ["has no key", "register"]),
        ([ANONYMISE_LECTURE, "--all"], 1, ["needs the parameter 'lecture'", "int"]),
        ([ANONYMISE_LECTURE, "--all", "--param", "lecture=first"], 1, ["does not read as int"]),
        ([ANONYMISE_LECTURE, "--all", "--param", "lecture=1", "--param", "week=2"], 1, ["no parameter 'week'"]),
        ([DELETE, "--principal", "bea@example.org", "--param", "lecture=1"], 1, ["no parameter 'lecture'", "none"]),
        ([ANONYMISE_LECTURE, "--all", "--param", "lecture=1", "--param", "lecture=2"], 2, ["twice"]),
    ],
)
def test_bad_input_changes_nothing(
    name: str, argv: list[str], code: int, words: list[str], bea: Student, typed: Any
) -> None:
    User.objects.create_user("carl@example.org")
    with nothing_changes():
        refused(typed(name, *argv, *(["--yes"] if name == "edna_disguise" else [])), *words, code=code)


@pytest.mark.parametrize("name", ["edna_plan", "edna_disguise"])
@pytest.mark.parametrize(
    "argv",
    [
        [DELETE],
        [DELETE, "--all", "--principal", "bea@example.org"],
        [ANONYMISE_LECTURE, "--all", "--param", "lecture"],
        [ANONYMISE_LECTURE, "--all", "--param", "=1"],
        ["--principal", "bea@example.org"],
    ],
)
def test_wrong_usage_of_a_disguise(name: str, argv: list[str], bea: Student, typed: Any) -> None:
    with nothing_changes():
        ran = typed(name, *argv)
    assert ran.code == 2
    assert f"usage: manage.py {name}" in ran.err


def test_a_disguise_that_fails_its_checks_is_not_applied(bea: Student, typed: Any) -> None:
    @edna.register
    class Broken(edna.Disguise):
        name = "websubmit.broken"
        transformations = [edna.Remove(User)]

    try:
        with nothing_changes(), pytest.raises(SystemCheckError, match=r"edna\.E201"):
            call_command("edna_disguise", "websubmit.broken", principal="bea@example.org", yes=True, skip_checks=False)
        # And without the checks it is refused all the same.
        with nothing_changes(), pytest.raises(CommandError, match="pointing at nothing"):
            call_command("edna_disguise", "websubmit.broken", principal="bea@example.org", yes=True)
    finally:
        edna.unregister(Broken)


def test_what_checks_say_beside_errors_is_one_line(
    bea: Student, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever runs a command each day has read the warnings; `manage.py check` has them."""
    settings.MIDDLEWARE = [each for each in settings.MIDDLEWARE if "edna" not in each]
    call_command("edna_plan", DELETE, principal="bea@example.org", skip_checks=False)
    ran = capsys.readouterr()
    assert ran.err == "1 remark of the system checks: manage.py check --tag edna.\n"
    assert "Nothing was changed." in ran.out
    settings.SILENCED_SYSTEM_CHECKS = [*settings.SILENCED_SYSTEM_CHECKS, "edna.W010"]
    call_command("edna_plan", DELETE, principal="bea@example.org", skip_checks=False)
    assert capsys.readouterr().err == ""


def test_trouble_with_the_database_is_a_sentence_too(bea: Student, typed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OperationalError("no such table: edna_bag, parameters 'bea@example.org'")

    monkeypatch.setattr(api, "plan", fail)
    ran = typed("edna_plan", DELETE, "--principal", "bea@example.org")
    refused(ran, "OperationalError", "migrate")
    assert "edna_bag" not in ran.err


# edna_plan


def test_plan(bea: Student, typed: Any) -> None:
    with nothing_changes():
        ran = typed("edna_plan", DELETE, "--principal", "bea@example.org")
    assert ran.code == 0
    assert f"{DELETE} for websubmit.User {bea.user.pk}, 5 rows" in ran.out
    assert ["websubmit.answer", "remove", "4"] in [line.split() for line in ran.out.splitlines()]
    assert "Nothing was changed." in ran.out


def test_plan_as_json(bea: Student, typed: Any) -> None:
    with nothing_changes():
        by_key = typed("edna_plan", DELETE, "--principal", bea.user.pk, "--json")
        by_name = typed("edna_plan", DELETE, "--principal", "bea@example.org", "--json")
    assert by_key.json == by_name.json
    assert by_key.err == ""
    document = by_key.json
    assert document["estimated_bytes"] > 0
    assert {key: document[key] for key in document if key not in ("tables", "estimated_bytes")} == {
        "disguise": DELETE,
        "principal": str(bea.user.pk),
        "counts": {"websubmit.answer": 4, "websubmit.user": 1},
        "rows": 5,
        "pseudoprincipals": 0,
        "beyond_reach": {},
        "keys_not_found": {},
    }
    assert {"model": "websubmit.answer", "operation": "remove", "rows": 4, "returning": ""} in document["tables"]


def test_plan_for_everybody(bea: Student, typed: Any) -> None:
    answer_everything(enrol("carl@example.org"))
    lecture = Lecture.objects.first()
    with nothing_changes():
        ran = typed("edna_plan", ANONYMISE_LECTURE, "--all", "--param", f"lecture={lecture.pk}")
        document = typed("edna_plan", ANONYMISE_LECTURE, "--all", "--param", f"lecture={lecture.pk}", "--json").json
    assert "for everybody, 4 rows" in ran.out
    assert "with 2 new pseudoprincipals as owners" in ran.out
    assert document["principal"] is None
    assert (document["rows"], document["pseudoprincipals"]) == (4, 2)


def test_somebody_is_named_by_key_name_or_address() -> None:
    """As of Django's own users, the name need be no address; and an address may be that of several."""
    people = Member.objects
    bea, _ = (people.create_user(name, f"{name}@example.org") for name in ("bea", "carl"))
    for text in (str(bea.pk), "bea", "bea@example.org", f"pk:{bea.pk}"):
        assert base.find_principal(Member, text) == bea
    dora = people.create_user("carl@example.org", "bea@example.org")
    assert base.find_principal(Member, f"pk:{dora.pk}") == dora
    for text, said in (("bea@example.org", "Several"), ("carl@example.org", "another"), ("eve@example.org", "No lob")):
        with pytest.raises(CommandError, match=said):
            base.find_principal(Member, text)


def test_plan_counts_in_words() -> None:
    def plan(rows: int, pseudoprincipals: int, estimated_bytes: int) -> Any:
        return SimpleNamespace(
            disguise=SimpleNamespace(name=DELETE),
            principal_model=User,
            rows=rows,
            tables=[api.PlannedTable("websubmit.answer", "remove", rows)],
            pseudoprincipals=pseudoprincipals,
            estimated_bytes=estimated_bytes,
            beyond_reach={},
            keys_not_found={},
        )

    one = plan(1, 1, 1)
    assert describe(one, "7").startswith(f"{DELETE} for websubmit.User 7, 1 row:")
    assert describe(one, "7").endswith("with 1 new pseudoprincipal as owner\n  about 1 byte to be sealed")
    many = plan(5678, 1234, 12345678)
    assert f"{DELETE} for everybody, 5,678 rows:" in describe(many, None)
    assert [line.split()[-1] for line in describe(many, None).splitlines() if "remove" in line] == ["5,678"]
    assert describe(many, None).endswith(
        "with 1,234 new pseudoprincipals as owners\n  about 12,345,678 bytes to be sealed"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("websubmit.anonymize-lecture needs a parameter", "websubmit.anonymize-lecture needs a parameter."),
        ("no such disguise.", "No such disguise."),
        ("refused.", "Refused."),
        ("", "."),
    ],
)
def test_sentences(text: str, expected: str) -> None:
    """Names are written as they are."""
    assert sentence(Exception(text)) == expected


@pytest.mark.parametrize("error", [IntegrityError, OperationalError, DataError, DatabaseError])
def test_what_the_database_refuses_is_a_sentence(
    error: type[Exception], bea: Student, typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error("INSERT INTO secret VALUES (7)")

    monkeypatch.setattr("edna.api.plan", fail)
    ran = typed("edna_plan", DELETE, "--principal", bea.user.pk)
    refused(ran, f"The database refused ({error.__name__})")
    assert "secret" not in ran.err


def test_key_that_is_also_a_name(bea: Student, typed: Any) -> None:
    """Nobody is disguised in place of another whose name looks like their key."""
    namesake = User.objects.create_user(str(bea.user.pk))
    edna.register_principal(namesake)
    refused(typed("edna_plan", DELETE, "--principal", bea.user.pk), f"pk:{bea.user.pk}")
    document = typed("edna_plan", DELETE, "--principal", f"pk:{bea.user.pk}", "--json").json
    assert document["rows"] == 5
    assert typed("edna_plan", DELETE, "--principal", namesake.pk, "--json").json["rows"] == 1


# edna_disguise


def test_disguise_and_reveal(bea: Student, key_file: Path, typed: Any) -> None:
    before = application_dump()
    ran = typed("edna_disguise", DELETE, "--principal", "bea@example.org", "--yes")
    assert ran.code == 0
    assert not User.objects.filter(pk=bea.user.pk).exists()
    assert edna.Receipt.parse(ran.out).disguise == DELETE
    assert ran.out.count("\n") == 1
    assert "give it to the person" in ran.err

    back = typed("edna_reveal", "-", "--secret-key-file", key_file, stdin=ran.out)
    assert back.code == 0
    assert ["websubmit.answer", "4"] in [line.split() for line in back.out.splitlines()]
    assert "Held" not in back.out
    assert application_dump() == before


def test_disguise_as_json(bea: Student, typed: Any) -> None:
    ran = typed("edna_disguise", DELETE, "--principal", bea.user.pk, "--yes", "--json")
    assert set(ran.json) == {"disguise", "principal", "receipt"}
    assert (ran.json["disguise"], ran.json["principal"]) == (DELETE, str(bea.user.pk))
    assert edna.Receipt.parse(ran.json["receipt"])
    assert ran.err == ""


@pytest.mark.parametrize("answer", ["", "y\n", "no\n", "yes please\n"])
def test_disguise_asks_first(bea: Student, typed: Any, answer: str) -> None:
    with nothing_changes():
        ran = typed("edna_disguise", DELETE, "--principal", "bea@example.org", stdin=answer)
    refused(ran, "Not confirmed; nothing was changed", "--yes")
    assert f"{DELETE} for websubmit.User {bea.user.pk}, 5 rows" in ran.err


def test_disguise_goes_on_when_told(bea: Student, typed: Any) -> None:
    ran = typed("edna_disguise", DELETE, "--principal", "bea@example.org", "--json", stdin="Yes\n")
    assert ran.code == 0
    assert ran.json["receipt"].startswith("edna1:")


@pytest.mark.parametrize("how", [(), ("--parts",)], ids=["in-one", "in-parts"])
def test_disguise_everybody(bea: Student, typed: Any, tmp_path: Path, how: tuple[str, ...]) -> None:
    carl = enrol("carl@example.org")
    answer_everything(carl)
    before, path = application_dump(), tmp_path / "receipts.txt"
    ran = typed("edna_disguise", ANONYMISE_ALL, "--all", "--yes", "--receipts", path, *how)
    assert ran.code == 0
    assert "disguised 2 principals" in ran.out
    assert "2 of 2" in ran.err
    assert not Answer.objects.filter(author__in=[bea.user.pk, carl.user.pk]).exists()
    assert path.stat().st_mode & 0o777 == 0o600
    receipts = [edna.Receipt.parse(line) for line in path.read_text().splitlines()]
    assert len(set(receipts)) == 2
    for student in (bea, carl):
        own = student.history()[0].receipt
        assert own in receipts
        student.reveal(own)
    assert application_dump() == before


def test_disguise_everybody_as_json(bea: Student, typed: Any) -> None:
    ran = typed("edna_disguise", ANONYMISE_ALL, "--all", "--yes", "--json")
    assert ran.json == {"disguise": ANONYMISE_ALL, "disguised": 1, "receipts": None}
    assert "edna1:" not in ran.out + ran.err


def test_disguise_everybody_with_somebody_unregistered(bea: Student, typed: Any, tmp_path: Path) -> None:
    carl = User.objects.create_user("carl@example.org")
    Answer.objects.create(author=carl, question_id=Answer.objects.first().question_id, text="mine")
    path = tmp_path / "receipts.txt"
    with nothing_changes():
        refused(typed("edna_disguise", ANONYMISE_ALL, "--all", "--yes", "--receipts", path), "edna_register --all")
    assert not path.exists()


def test_receipts_never_overwrite_a_file(bea: Student, typed: Any, tmp_path: Path) -> None:
    path = tmp_path / "receipts.txt"
    path.write_text("somebody's only receipt")
    with nothing_changes():
        refused(typed("edna_disguise", ANONYMISE_ALL, "--all", "--yes", "--receipts", path), "exists already")
        refused(
            typed("edna_disguise", ANONYMISE_ALL, "--all", "--yes", "--receipts", tmp_path / "no" / "dir"), "written"
        )
    assert path.read_text() == "somebody's only receipt"


def test_receipts_are_for_all(bea: Student, typed: Any, tmp_path: Path) -> None:
    ran = typed("edna_disguise", DELETE, "--principal", "bea@example.org", "--yes", "--receipts", tmp_path / "r")
    refused(ran, "--all", code=2)


def test_parts_are_of_everybody_and_not_of_a_job(bea: Student, typed: Any) -> None:
    with nothing_changes():
        refused(typed("edna_disguise", DELETE, "--principal", bea.user.pk, "--yes", "--parts"), "--all", code=2)
        refused(typed("edna_disguise", ANONYMISE_ALL, "--all", "--yes", "--parts", "--job"), "--job", code=2)


def test_a_disk_that_is_full_loses_no_receipt(
    bea: Student, typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Receipts that could not be written are not committed either."""

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("edna.management.commands.edna_disguise.write_through", full)
    with nothing_changes():
        ran = typed("edna_disguise", ANONYMISE_ALL, "--all", "--yes", "--receipts", tmp_path / "r")
        refused(ran, "No space left on device")


def test_without_locators_the_receipt_must_be_kept(
    bea: Student, key_file: Path, typed: Any, tmp_path: Path, settings: Any
) -> None:
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    with nothing_changes():
        refused(typed("edna_disguise", ANONYMISE_ALL, "--all", "--yes"), "--receipts FILE")
    before, path = application_dump(), tmp_path / "receipts.txt"
    assert typed("edna_disguise", ANONYMISE_ALL, "--all", "--yes", "--receipts", path).code == 0
    on_top = typed("edna_disguise", DELETE, "--principal", bea.user.pk, "--yes").out
    for receipt in (on_top, path.read_text()):
        assert typed("edna_reveal", "-", "--secret-key-file", key_file, stdin=receipt).code == 0
    assert application_dump() == before


class Closed(io.StringIO):
    """The other end of the pipe has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_a_receipt_that_cannot_be_shown_is_not_committed(
    bea: Student, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    with nothing_changes(), pytest.raises(CommandError, match="Broken pipe"):
        call_command("edna_disguise", DELETE, principal="bea@example.org", yes=True, stdout=Closed())


def test_a_receipt_that_cannot_be_shown_can_be_found_with_the_key(bea: Student) -> None:
    with pytest.raises(CommandError, match=r"was applied.*Broken pipe.*history"):
        call_command("edna_disguise", DELETE, principal="bea@example.org", yes=True, stdout=Closed())
    assert bea.reveal_latest().complete


# edna_reveal


@pytest.fixture
def receipt(bea: Student) -> str:
    return str(bea.disguise())


def test_reveal_with_each_kind_of_key(
    bea: Student, key_file: Path, typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = application_dump()
    asked = {"Password: ": PASSWORD, "Recovery code: ": bea.recovery_code}
    monkeypatch.setattr(getpass, "getpass", asked.__getitem__)
    for argv, stdin in (
        (["--secret-key-file", key_file], ""),
        (["--recovery-code"], ""),
        (["--recovery-code-stdin"], bea.recovery_code.lower() + "\n"),
        (["--identifier", "bea@example.org"], ""),
        (["--identifier", "bea@example.org", "--password-stdin"], PASSWORD + "\n"),
    ):
        ran = typed("edna_reveal", bea.disguise(), *argv, stdin=stdin)
        assert ran.code == 0, ran
        assert application_dump() == before


def test_reveal_where_nobody_sits_says_what_to_give(receipt: str, typed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr(getpass, "getpass", nobody)
    ran = typed("edna_reveal", receipt, "--identifier", "bea@example.org")
    assert (ran.code, "--password-stdin" in ran.err) == (2, True), ran


def test_reveal_as_json(bea: Student, receipt: str, key_file: Path, typed: Any) -> None:
    ran = typed("edna_reveal", receipt, "--secret-key-file", key_file, "--json")
    assert ran.code == 0
    assert ran.json["complete"] is True
    assert ran.json["held"] == []
    assert ran.json["disguise"] == DELETE
    assert ran.json["restored"] == {"websubmit.user": 1, "websubmit.answer": 4}
    assert ran.err == ""


def test_reveal_never_takes_a_secret_from_the_command_line() -> None:
    parser = load_command_class("edna", "edna_reveal").create_parser("manage.py", "edna_reveal")
    takes_value = {o for action in parser._actions if action.nargs != 0 for o in action.option_strings}
    assert not takes_value & {"--secret-key", "--password", "--recovery-code", "--key"}


def test_reveal_in_part(bea: Student, receipt: str, key_file: Path, typed: Any) -> None:
    """Somebody has taken the name: what depends on the row is held, and said in words; a new name frees it."""
    User.objects.create_user("bea@example.org")
    argv = [receipt, "--secret-key-file", key_file]
    ran = typed("edna_reveal", *argv)
    assert ran.code == 3
    assert "Restored: nothing" in ran.out
    assert "another row has the same email; give a new one with --override websubmit.user.email=VALUE" in ran.out
    assert "the row that author points at is not there" in ran.out
    assert "5 rows could not be revealed now and stay sealed" in ran.err

    document = typed("edna_reveal", *argv, "--json")
    assert document.code == 3
    assert document.json["complete"] is False
    assert {"model": "websubmit.user", "pk": bea.user.pk, "reason": "unique_taken", "field": "email"} in document.json[
        "held"
    ]

    done = typed("edna_reveal", *argv, "--override", "websubmit.User.email=bea2@example.org")
    assert done.code == 0
    assert User.objects.get(pk=bea.user.pk).email == "bea2@example.org"
    assert len(bea.texts()) == 4


def test_reveal_all_or_nothing(bea: Student, receipt: str, key_file: Path, typed: Any) -> None:
    User.objects.create_user("bea@example.org")
    with nothing_changes():
        ran = typed("edna_reveal", receipt, "--secret-key-file", key_file, "--all-or-nothing")
        document = typed("edna_reveal", receipt, "--secret-key-file", key_file, "--all-or-nothing", "--json")
    assert ran.code == document.code == 1
    assert "another row has the same email" in ran.out
    assert "CommandError" in ran.err
    assert document.json["restored"] == {}
    assert len(document.json["held"]) == 5


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("websubmit.User.mail=x", ["no column 'websubmit.User.mail'"]),
        ("websubmit.Student.email=x", ["no column"]),
        ("email=x", ["no column 'email'"]),
        ("websubmit.User.joined_on=yesterday", ["does not read as a DateField"]),
    ],
)
def test_reveal_override_that_means_nothing(
    receipt: str, key_file: Path, typed: Any, override: str, words: list[str]
) -> None:
    with nothing_changes():
        refused(typed("edna_reveal", receipt, "--secret-key-file", key_file, "--override", override), *words)


def test_every_reason_has_words() -> None:
    commands = import_module("edna.management.commands.edna_reveal")
    assert set(commands.REASONS) == set(api.Reason)
    for reason in api.Reason:
        words = commands.in_words(api.Held("shop.user", 1, reason, None))
        assert "{" not in words
        assert "None" not in words


def test_wrong_keys(bea: Student, receipt: str, key_file: Path, typed: Any, tmp_path: Path) -> None:
    carl = enrol("carl@example.org")
    with nothing_changes():
        for text, words in (
            (carl.secret_key.expose_text(), ["does not open with this key"]),
            (SecretKey.generate().expose_text(), ["no principal of this site"]),
            (bea.secret_key.expose_text()[:-3], ["not a secret key"]),
            ("", ["not a secret key"]),
        ):
            key_file.write_text(text)
            ran = typed("edna_reveal", receipt, "--secret-key-file", key_file)
            refused(ran, *words)
            assert not text or text not in ran.err
        key_file.write_bytes(b"\xff\xfe\x00")
        refused(typed("edna_reveal", receipt, "--secret-key-file", key_file), "cannot be read")
        refused(typed("edna_reveal", receipt, "--secret-key-file", tmp_path / "none"), "cannot be read")
        refused(typed("edna_reveal", receipt, "--recovery-code-stdin", stdin="ABCD"), "recovery code")
        refused(
            typed("edna_reveal", receipt, "--recovery-code-stdin", stdin=carl.recovery_code),
            "does not open with this key",
        )
        refused(
            typed("edna_reveal", receipt, "--identifier", "bea@example.org", "--password-stdin", stdin="guess"),
            "These credentials open nothing",
        )


def test_receipts_that_lead_nowhere(bea: Student, receipt: str, key_file: Path, typed: Any) -> None:
    argv = ["--secret-key-file", key_file]
    with nothing_changes():
        for text in (receipt[:-4], receipt.replace("delete", "defect"), "edna1:", "hello", "-"):
            refused(typed("edna_reveal", text, *argv), "not a complete receipt")
    assert typed("edna_reveal", receipt, *argv).code == 0
    with nothing_changes():
        refused(typed("edna_reveal", receipt, *argv), "revealed already")


def test_reveal_of_what_came_on_top(bea: Student, key_file: Path, typed: Any, tmp_path: Path, settings: Any) -> None:
    """Without locators on the server, the first receipt leads to the pseudoprincipals that the second one was issued to."""
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    before, texts = application_dump(), []
    for number in range(2):
        path = tmp_path / f"receipts{number}"
        assert typed("edna_disguise", ANONYMISE_ALL, "--all", "--yes", "--receipts", path).code == 0
        texts.append(path.read_text().split())
    argv = ["--secret-key-file", key_file]
    (first,), on_top = texts
    with nothing_changes():
        refused(typed("edna_reveal", on_top[0], *argv), "does not open with this key")
    for receipt in on_top:
        assert typed("edna_reveal", receipt, *argv, "--with-receipt", first).code == 0
    assert typed("edna_reveal", first, *argv).code == 0
    assert application_dump() == before


def test_receipt_wrapped_by_a_mail_program(bea: Student, receipt: str, key_file: Path, typed: Any) -> None:
    wrapped = "\n".join(receipt[start : start + 20] for start in range(0, len(receipt), 20))
    assert typed("edna_reveal", "-", "--secret-key-file", key_file, stdin=wrapped).code == 0


def test_a_tampered_bag_is_a_sentence(
    bea: Student, receipt: str, key_file: Path, typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forged(*_: Any, **__: Any) -> None:
        raise BagForged("the server's MAC does not verify")

    monkeypatch.setattr(api, "reveal", forged)
    with nothing_changes():
        refused(typed("edna_reveal", receipt, "--secret-key-file", key_file), "The server's MAC does not verify.")


@pytest.mark.parametrize(
    "argv",
    [
        ["edna1:x:y"],
        ["edna1:x:y", "--recovery-code", "--identifier", "bea@example.org"],
        ["edna1:x:y", "--recovery-code-stdin", "--password-stdin"],
        ["-", "--recovery-code-stdin"],
        ["-", "--identifier", "bea@example.org", "--password-stdin"],
        ["edna1:x:y", "--recovery-code", "--override", "email"],
    ],
)
def test_reveal_wrong_usage(typed: Any, argv: list[str]) -> None:
    ran = typed("edna_reveal", *argv)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err


# edna_register


def test_register_one(typed: Any, tmp_path: Path) -> None:
    user = User.objects.create_user("carl@example.org")
    ran = typed("edna_register", "carl@example.org", "--json")
    assert ran.code == 0
    assert set(ran.json) == {"model", "principal", "secret_key", "recovery_code"}
    assert (ran.json["model"], ran.json["principal"]) == ("websubmit.user", str(user.pk))
    path = tmp_path / "key"
    path.write_text(ran.json["secret_key"])
    for argv, stdin in (["--secret-key-file", path], ""), (["--recovery-code-stdin"], ran.json["recovery_code"]):
        receipt = typed("edna_disguise", DELETE, "--principal", user.pk, "--yes").out
        assert typed("edna_reveal", receipt, *argv, stdin=stdin).code == 0
    with nothing_changes():
        refused(typed("edna_register", user.pk), "registered already")


def test_register_one_in_words(typed: Any) -> None:
    User.objects.create_user("carl@example.org")
    ran = typed("edna_register", "carl@example.org")
    lines = dict(line.split(":", 1) for line in ran.out.splitlines())
    assert SecretKey.parse(lines["secret key"])
    assert edna.RecoveryCode.parse(lines["recovery code"])
    assert "kept nowhere" in ran.err


def test_register_everybody(bea: Student, typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edna.management.commands.edna_register._BATCH", 2)
    users = [User.objects.create_user(f"user{number}@example.org") for number in range(4)]
    bea.disguise(ANONYMISE_ALL)  # pseudoprincipals have keys: nobody gives them others
    path = tmp_path / "keys.jsonl"
    ran = typed("edna_register", "--all", "--keys-file", path, "--json")
    present = User.objects.count() - 4
    assert ran.code == 0
    assert ran.json == {"registered": 4, "registered_before": present, "sessions_linked": 0, "keys_file": str(path)}
    assert path.stat().st_mode & 0o777 == 0o600
    keys = {line["principal"]: line for line in map(json.loads, path.read_text().splitlines())}
    assert set(keys) == {str(user.pk) for user in users}
    for user in users:
        with edna.unlock(secret_key=SecretKey.parse(keys[str(user.pk)]["secret_key"])) as unlocked:
            receipt = edna.disguise(DELETE, user, unlocked=unlocked)
            assert edna.reveal(receipt, unlocked).complete

    again = typed("edna_register", "--all", "--keys-file", tmp_path / "more.jsonl")
    assert f"Registered 0; {present + 4} had a key before." in again.out
    assert not (tmp_path / "more.jsonl").exists()


def test_register_everybody_again_takes_the_rest_only(bea: Student, typed: Any, tmp_path: Path) -> None:
    carl = User.objects.create_user("carl@example.org")
    path = tmp_path / "keys.jsonl"
    assert typed("edna_register", "--all", "--keys-file", path).code == 0
    assert [json.loads(line)["principal"] for line in path.read_text().splitlines()] == [str(carl.pk)]
    assert bea.reveal(bea.disguise()).complete


def test_register_asks_few_times_who_has_a_key(typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    audit.note("test", operator="olga")  # the first entry of a trail costs other statements than those after it
    for size in (2, 20):
        users = [User.objects.create_user(f"user{size}-{number}@example.org") for number in range(size)]
        edna.register_principals(users[::2])
        path = tmp_path / f"{size}.jsonl"
        counts.append(len(statements(lambda path=path: typed("edna_register", "--all", "--keys-file", path))))
        written = [json.loads(line)["principal"] for line in path.read_text().splitlines()]
        assert written == [str(user.pk) for user in users[1::2]]
    assert counts[0] == counts[1]


def test_register_keeps_no_key_that_was_not_written(
    typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.create_user("carl@example.org")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("edna.management.commands.edna_register.write_through", full)
    with nothing_changes():
        refused(typed("edna_register", "--all", "--keys-file", tmp_path / "keys.jsonl"), "No space left")
    assert not (tmp_path / "keys.jsonl").exists()


def test_register_links_sessions_that_began_before(client: Any, typed: Any, tmp_path: Path) -> None:
    carl, dora = (User.objects.create_user(f"{name}@example.org") for name in ("carl", "dora"))
    for user in (carl, dora):
        store = import_module("django.contrib.sessions.backends.db").SessionStore()
        store[SESSION_KEY], store[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
        store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        store.save()
    anonymous = import_module("django.contrib.sessions.backends.db").SessionStore()
    anonymous["cart"] = 1
    anonymous.save()
    ran = typed("edna_register", "--all", "--keys-file", tmp_path / "keys.jsonl")
    assert "Linked 2 sessions." in ran.out
    edna.disguise(DELETE, carl)
    left = [session.get_decoded().get(SESSION_KEY) for session in Session.objects.all()]
    assert sorted(left, key=str) == sorted([None, str(dora.pk)], key=str)


def test_register_reads_sessions_where_they_are_written(typed: Any, tmp_path: Path, settings: Any) -> None:
    class Replica:
        def db_for_read(self, model: Any, **_: Any) -> str | None:
            return "replica" if model is Session else None

    settings.DATABASE_ROUTERS = [Replica()]
    assert typed("edna_register", "--all", "--keys-file", tmp_path / "keys.jsonl").code == 0


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["bea@example.org", "--all", "--keys-file", "keys.jsonl"],
        ["--all"],
        ["bea@example.org", "--keys-file", "keys.jsonl"],
    ],
)
def test_register_wrong_usage(typed: Any, argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = typed("edna_register", *argv)
    assert (ran.code, ran.out) == (2, "")
    assert list(tmp_path.iterdir()) == []


def test_register_refuses(bea: Student, typed: Any, tmp_path: Path) -> None:
    with nothing_changes():
        refused(typed("edna_register", "nobody@example.org"), "No websubmit.User")
        refused(typed("edna_register", bea.user.pk, "--model", "websubmit.Answer"), "no principal model")
        refused(typed("edna_register", "--all", "--keys-file", tmp_path), "exists already")
    assert typed("edna_register", bea.user.pk, "--model", "websubmit.user").code == 1  # right model, registered


# As a process


def manage(*argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *argv, "--settings", "config.settings_test"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.mark.slow
def test_exit_codes_of_the_process() -> None:
    unknown = manage("edna_plan", "shop.delete-account", "--all")
    assert unknown.returncode == 1
    assert unknown.stdout == ""
    assert unknown.stderr.startswith("CommandError: No disguise is called")
    assert manage("edna_plan", DELETE).returncode == 2
    assert manage("edna_register", "--all").returncode == 2
    assert manage("edna_plan", "--help").returncode == 0


def test_progress_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    command = base.EdnaCommand(stderr=terminal, no_color=True)
    command.show_progress(500, 2000)
    command.show_progress(2000, 2000)
    quarter, full = terminal.getvalue().split("\r")[1:]
    assert quarter == f"[{'#' * 10}{' ' * 30}] 500 of 2000"
    assert full == f"[{'#' * 40}] 2000 of 2000\n"
