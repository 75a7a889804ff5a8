"""The drill of docs/backups.md: an older backup is restored, and the ledger disguises again who has left since, and nobody else."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import override_settings

import edna
from apps.websubmit.models import Answer, Lecture, User
from edna import errors
from edna.models import PrincipalEntry
from edna.operations import audit, jobs
from edna.operations.exports import bundle, ledger, transfer
from edna.operations.models import LedgerEntry
from edna.records.locator import SEALED_LOCATOR_BYTES
from edna.testing import application_dump
from edna.testing.search import finds
from tests.faults.states import Snapshot
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    answer_everything,
    enrol,
    flipped,
    in_another_process,
    know_server_keys,
    loot,
    make_course,
    nothing_changes,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.thorough]


@pytest.fixture(autouse=True)
def keeping_a_ledger(tmp_path: Path) -> Iterator[None]:
    with override_settings(EDNA={**settings.EDNA, "LEDGER": True}, MEDIA_ROOT=str(tmp_path / "media")):
        yield


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ledger")


def course(*names: str) -> list[Student]:
    make_course()
    people = [enrol(f"{name}@example.org") for name in names]
    answer_everything(*people)
    return people


def restore(backup: Snapshot) -> None:
    """As one does it: while nobody is connected."""
    connections.close_all()
    backup.restore()
    connections.close_all()


def listed(student: Student) -> int:
    """Under how many disguises somebody is."""
    entry = PrincipalEntry.objects.get(public_key=bytes(student.secret_key.public_key))
    return len(bytes(entry.locators)) // SEALED_LOCATOR_BYTES


def in_plain_sight(*people: Student) -> list[str]:
    """Who of them has an account, or anything that is theirs by name."""
    shown = set(User.objects.values_list("email", flat=True)) | set(
        Answer.objects.values_list("author__email", flat=True)
    )
    return [person.user.email for person in people if person.user.email in shown]


def test_the_drill(path: str) -> None:
    early, stays, leaves, both, back, returned = course("early", "stays", "leaves", "both", "back", "returned")
    early.disguise(DELETE)
    returned.disguise(DELETE)
    backup, then = Snapshot(), application_dump()

    lecture = Lecture.objects.order_by("pk")[0]
    leaves.disguise(DELETE)
    both.disguise(ANONYMISE_LECTURE, lecture=lecture.pk)
    both.disguise(DELETE)
    back.disguise(DELETE)
    back.reveal_everything()
    returned.reveal_everything()
    joined = enrol("joined@example.org")
    joined.disguise(DELETE)
    assert not in_plain_sight(early, leaves, both, joined)
    assert ledger.write(path) == 5  # both twice

    restore(backup)
    assert in_plain_sight(leaves, both) == [leaves.email, both.email]
    found = ledger.reapply(path, dry_run=True)
    assert (found.again, found.already, found.absent, found.left) == ({DELETE: 2, ANONYMISE_LECTURE: 1}, 0, 2, [])
    assert application_dump() == then

    done = ledger.reapply(path, operator="olga")
    assert (done.done, done.failed, done.complete) == (3, 0, True)
    assert not finds(loot(), {person.email: person.email for person in (early, leaves, returned)})
    assert not in_plain_sight(early, leaves, both, returned)  # who returned since is away again, and can return again
    assert in_plain_sight(stays, back) == [stays.email, back.email]
    assert listed(leaves) == 1
    assert listed(both) == 2
    # In the order in which it was done: the lecture's answers are anonymous, and not deleted with the account.
    assert Answer.objects.filter(question__lecture=lecture, author__is_anon=True).count() == 2

    for person in (early, leaves, both, returned):
        person.reveal_everything()
    assert len(in_plain_sight(early, stays, leaves, both, back, returned)) == 6
    assert User.objects.filter(is_anon=True).count() == 0
    assert [len(person.texts()) for person in (early, leaves, both)] == [4, 4, 4]


@pytest.mark.once
def test_doing_it_again_does_nothing(path: str) -> None:
    leaves, _ = course("leaves", "stays")
    backup = Snapshot()
    leaves.disguise(DELETE)
    ledger.write(path)
    restore(backup)
    ledger.reapply(path)
    with nothing_changes():
        again = ledger.reapply(path)
    assert (again.again, again.already + again.absent, again.jobs) == ({}, 1, [])


@pytest.mark.once
def test_what_the_restored_ledger_knows_is_not_done_again(path: str) -> None:
    """Somebody who is there, with anonymous answers, since before the backup."""
    bea, _ = course("bea", "stays")
    edna.disguise_all(ANONYMISE_ALL)
    ledger.write(path)
    backup = Snapshot()
    restore(backup)
    done = ledger.reapply(path)
    assert (done.again, done.already) == ({}, 2)
    assert listed(bea) == 1


def test_everybody_is_disguised_again(path: str) -> None:
    people = course("one", "two", "three")
    backup = Snapshot()
    edna.disguise_all(ANONYMISE_ALL)
    ledger.write(path)
    restore(backup)
    assert ledger.reapply(path).done == 3
    assert not Answer.objects.filter(author__is_anon=False).exists()
    for person in people:
        person.reveal_everything()
    assert Answer.objects.filter(author__is_anon=True).count() == 0


@pytest.mark.once
def test_after_a_rotation_of_the_server_key_the_old_rows_are_found(path: str) -> None:
    old, new = "an old key of at least 16 bytes", "a new key of at least 16 bytes"
    know_server_keys(old, new)
    with override_settings(EDNA={**settings.EDNA, "MAC_KEYS": [old]}):
        leaves, later, _ = course("leaves", "later", "stays")
        edna.disguise_all(ANONYMISE_ALL)
        backup = Snapshot()
        leaves.disguise(DELETE)
    with override_settings(EDNA={**settings.EDNA, "MAC_KEYS": [new, old]}):
        later.disguise(DELETE)
        ledger.write(path)
        restore(backup)
        done = ledger.reapply(path)
        assert (done.again, done.already, done.complete) == ({DELETE: 2}, 3, True)
        assert not in_plain_sight(leaves, later)
    with (
        override_settings(EDNA={**settings.EDNA, "MAC_KEYS": [new]}),
        pytest.raises(errors.BagForged, match="MAC_KEYS"),
    ):
        ledger.reapply(path, dry_run=True)


# Who cannot be disguised again by a job is named


@pytest.mark.once
def test_somebody_without_a_key_is_named(path: str) -> None:
    """They got their key after the backup."""
    course("stays")
    user = User.objects.create_user("late@example.org")
    backup = Snapshot()
    edna.register_principal(user)
    edna.disguise(DELETE, user)
    ledger.write(path)
    restore(backup)
    done = ledger.reapply(path)
    assert not done.complete
    assert [(each.disguise, each.principal, each.reason) for each in done.left] == [(DELETE, str(user.pk), "no_key")]
    edna.register_principal(user)
    assert ledger.reapply(path).done == 1


@pytest.mark.once
def test_a_disguise_that_is_gone_or_in_mode_client_is_named(path: str) -> None:
    class Gone(edna.Disguise):
        name = "websubmit.gone"
        transformations = [edna.Modify(User, set={"is_admin": True})]

    bea, _ = course("bea", "stays")
    backup = Snapshot()
    edna.register(Gone)
    try:
        bea.disguise(Gone.name)
        ledger.write(path)
    finally:
        edna.unregister(Gone)
    restore(backup)
    assert [each.reason for each in ledger.reapply(path).left] == ["unknown_disguise"]
    Gone.locators = "client"
    edna.register(Gone)
    try:
        assert [each.reason for each in ledger.reapply(path).left] == ["client_mode"]
    finally:
        edna.unregister(Gone)


@pytest.mark.once
def test_parameters_that_no_job_can_write_down_are_named(path: str) -> None:
    class Odd(edna.Disguise):
        name = "websubmit.odd"
        params = {"share": float}
        transformations = [edna.Modify(User, set={"is_admin": True})]

    bea, carl = course("bea", "carl")
    backup = Snapshot()
    edna.register(Odd)
    try:
        bea.disguise(Odd.name, share=float("nan"))  # not even the same as itself
        carl.disguise(DELETE)
        ledger.write(path)
        restore(backup)
        done = ledger.reapply(path)
    finally:
        edna.unregister(Odd)
    assert [(each.principal, each.reason) for each in done.left] == [(str(bea.user.pk), "other_parameters")]
    assert done.done == 1


# What is in the way


@pytest.mark.once
def test_unfinished_jobs_of_the_backup_are_in_the_way(path: str) -> None:
    bea, carl = course("bea", "carl")
    job = jobs.start(DELETE, principals=[bea.user, carl.user])
    backup = Snapshot()
    jobs.run(job.id)
    ledger.write(path)
    restore(backup)
    with pytest.raises(errors.JobRefused, match=str(job.id)), nothing_changes():
        ledger.reapply(path)
    jobs.cancel(job.id)
    assert ledger.reapply(path).done == 2
    assert not in_plain_sight(bea, carl)


@pytest.mark.once
def test_a_ledger_has_to_be_kept(path: str) -> None:
    course("bea")
    ledger.write(path)
    with override_settings(EDNA={**settings.EDNA, "LEDGER": False}):
        with pytest.raises(errors.ConfigurationError, match="LEDGER"):
            ledger.reapply(path)
        with pytest.raises(errors.ConfigurationError, match="LEDGER"):
            ledger.write(f"{path}.again")


@pytest.mark.once
def test_an_edited_ledger_is_refused(path: str) -> None:
    """And an earlier call that was interrupted can still go on."""
    bea, carl = course("bea", "carl")
    bea.disguise(DELETE)
    jobs.start(DELETE, principals=[carl.user], operator=ledger.MARK)
    ledger.write(path)
    content = Path(path).read_bytes()
    for place in (20, len(content) // 2, len(content) - 1):
        Path(path).write_bytes(flipped(content, place))
        with pytest.raises(errors.FileRefused), nothing_changes():
            ledger.reapply(path)
    export = f"{path}.export"
    transfer.export(export)
    with pytest.raises(errors.FileRefused, match="no ledger"):
        ledger.reapply(export)


@pytest.mark.once
def test_a_row_of_a_vandal_is_refused(path: str) -> None:
    """Rows that were swapped in the table would have other people disguised."""
    bea, carl = course("bea", "carl")
    bea.disguise(DELETE)
    carl.disguise(ANONYMISE_ALL)
    one, two = LedgerEntry.objects.all()
    LedgerEntry.objects.filter(pk=one.pk).update(sealed=two.sealed)
    ledger.write(path)
    with pytest.raises(errors.BagForged):
        ledger.reapply(path)


@pytest.mark.slow
def test_killed_at_any_moment_and_run_again(path: str) -> None:
    """Everybody is disguised, and nobody twice."""
    people = course(*(f"student{number}" for number in range(30)))
    backup = Snapshot()
    edna.disguise_all(ANONYMISE_ALL)
    for person in people[:10]:
        person.disguise(DELETE)
    ledger.write(path)
    with override_settings(EDNA={**settings.EDNA, "LEDGER": True, "JOB_BATCH": 2}):
        for _ in range(4):
            restore(backup)
            for _ in range(3):
                in_another_process(lambda: ledger.reapply(path), killed_after=random.uniform(0.02, 0.6))
            done = ledger.reapply(path)
            assert done.complete, done
            assert [listed(person) for person in people] == [2] * 10 + [1] * 20
            assert not in_plain_sight(*people[:10])


# Keeping it


@pytest.mark.once
def test_the_file_names_nobody_and_is_in_no_order(path: str) -> None:
    people = course(*(f"student{number}" for number in range(12)))
    written = []
    for person in people:
        person.disguise(DELETE)
        written.append(set(LedgerEntry.objects.values_list("index", flat=True)))
    ledger.write(path)
    order = [*written[:1], *(later - earlier for earlier, later in itertools.pairwise(written))]
    with bundle.whole_file(path) as reader:
        _, page = reader.pieces()
    assert [index for index, _ in page] != [bytes(*each) for each in order]
    content = Path(path).read_bytes()
    for person in people:
        assert person.email.encode() not in content
        assert bytes(person.secret_key.public_key) not in content


def test_rows_that_no_backup_needs_are_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    from edna.operations.books import ledger as noting

    bea, carl = course("bea", "carl")
    real = noting.LedgerNote
    monkeypatch.setattr(noting, "LedgerNote", lambda name, params, month, *rest: real(name, params, "2026-01", *rest))
    bea.disguise(DELETE)
    monkeypatch.undo()
    carl.disguise(DELETE)
    assert ledger.prune(before="2026-01", operator="olga") == 0
    assert ledger.prune(before="2026-02", operator="olga") == 1
    assert LedgerEntry.objects.count() == 1
    assert audit.entries()[0].details == {"rows": 1, "before": "2026-02"}
    bea.reveal_everything()


@pytest.mark.once
def test_the_command(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    bea, _ = course("bea", "stays")
    backup = Snapshot()
    bea.disguise(DELETE)
    call_command("edna_ledger", "write", path, "--json")
    assert json.loads(capsys.readouterr().out) == {"file": path, "rows": 1}
    restore(backup)
    call_command("edna_ledger", "reapply", path, "--dry-run")
    assert "To be disguised again" in capsys.readouterr().out
    assert in_plain_sight(bea)
    call_command("edna_ledger", "reapply", path, "--operator", "olga", "--json")
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (document["again"], document["done"], document["left"]) == ({DELETE: 1}, 1, [])
    assert not in_plain_sight(bea)
    for wrong in (("write", path, "--dry-run"), ("prune", "last year")):
        with pytest.raises(CommandError) as refused:
            call_command("edna_ledger", *wrong)
        assert refused.value.returncode == 2


@pytest.mark.once
def test_the_command_fails_in_part(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    course("stays")
    user = User.objects.create_user("late@example.org")
    backup = Snapshot()
    edna.register_principal(user)
    edna.disguise(DELETE, user)
    call_command("edna_ledger", "write", path)
    restore(backup)
    with pytest.raises(CommandError, match="in plain sight") as refused:
        call_command("edna_ledger", "reapply", path)
    assert refused.value.returncode == 3
    assert "no_key" in capsys.readouterr().out
