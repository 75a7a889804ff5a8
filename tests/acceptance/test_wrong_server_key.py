"""A site that is started with another key than the one its data was sealed under: every act is refused in words that say so, nothing is
changed, and with the right key back everything is as it was (docs/backups.md)."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.core.management.base import CommandError, SystemCheckError
from django.db import connection, transaction
from django.db.models.signals import post_migrate
from django.test import Client, override_settings
from django.urls import reverse

import edna
from apps.websubmit.models import Answer, User
from edna import errors, serverkeys
from edna.models import PrincipalEntry, ServerKey, SessionLink
from edna.operations import audit, jobs
from edna.operations.exports import ledger, transfer
from edna.operations.jobs import preview
from edna.operations.models import AuditEntry
from edna.operations.retention import expiry, holds
from edna.operations.schedules import rounds
from edna.operations.upkeep import residue, scrubbing, verification
from edna.operations.upkeep.findings import Severity
from edna.store import serverkeys as engine
from edna.testing import application_dump
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    EDNA_TABLES,
    PASSWORD,
    Student,
    answer_everything,
    cut_into_chunks,
    enrol,
    enrol_in_course,
    execute,
    nothing_changes,
    statements,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.thorough]

RIGHT, WRONG = "the key of this site, which is long", "the key of another site, also long"


def configured(*keys: str, **changed: Any) -> override_settings:
    return override_settings(EDNA={**settings.EDNA, "MAC_KEYS": list(keys), **changed})


def migrated() -> None:
    """As `migrate` ends."""
    config = apps.get_app_config("edna")
    post_migrate.send(sender=config, app_config=config, using="default", verbosity=0, interactive=False)


def a_database_without_keys() -> None:
    ServerKey.objects.all().delete()
    engine.forget_all(using="default")


@contextmanager
def unknown(word: str = "The server's key is wrong") -> Iterator[None]:
    with nothing_changes(), pytest.raises(errors.ServerKeyUnknown, match=word):
        yield


@pytest.fixture
def site() -> Student:
    """A site under the right key, with one who is there and one who has left; the block of the test runs under the wrong one."""
    with configured(RIGHT):
        a_database_without_keys()
        migrated()
        bea = enrol_in_course("bea@example.org", password=PASSWORD)
    return bea


ACTS: dict[str, Callable[[Student, Any], Any]] = {
    "disguise": lambda bea, path: edna.disguise(DELETE, bea.user),
    "disguise_all": lambda bea, path: edna.disguise_all(ANONYMISE_ALL),
    "plan": lambda bea, path: edna.plan(DELETE, bea.user),
    "plan_all": lambda bea, path: edna.plan_all(ANONYMISE_ALL),
    "register": lambda bea, path: edna.register_principal(User.objects.get(email="new@example.org"), password="x" * 12),
    "register many": lambda bea, path: edna.register_principals([User.objects.get(email="new@example.org")]),
    "unlock by password": lambda bea, path: edna.unlock(identifier=bea.email, password=PASSWORD),
    "unlock by a wrong password": lambda bea, path: edna.unlock(identifier=bea.email, password="another"),
    "unlock by recovery code": lambda bea, path: edna.unlock(recovery_code=bea.recovery_code),
    "unlock by secret key": lambda bea, path: edna.unlock(secret_key=bea.secret_key),
    "replay": lambda bea, path: edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "x"}),
    "start a job": lambda bea, path: jobs.start(ANONYMISE_ALL, operator="olga"),
    "preview": lambda bea, path: preview.preview(DELETE, principals=[bea.user]),
    "schedules": lambda bea, path: rounds.run_schedules(),
    "hold": lambda bea, path: holds.place(datetime.date(2030, 1, 1), reason="case 1", operator="olga"),
    "audit": lambda bea, path: audit.note("start", operator="olga"),
    "expire": lambda bea, path: expiry.expire(),
    "sweep": lambda bea, path: residue.sweep(),
    "files": lambda bea, path: edna.finish_files(),
    "scrub": lambda bea, path: scrubbing.scrub(rebuild_application=False),
    "export": lambda bea, path: transfer.export(path),
    "write the ledger": lambda bea, path: ledger.write(path),
}


@pytest.mark.once
@pytest.mark.parametrize("act", ACTS)
def test_every_act_is_refused_and_says_why(site: Student, act: str, tmp_path: Path) -> None:
    User.objects.create_user("new@example.org")
    with configured(WRONG, LEDGER=True), unknown():
        ACTS[act](site, str(tmp_path / "file"))
    assert not (tmp_path / "file").exists()


def test_with_somebody_unlocked_the_key_is_asked_too(site: Student) -> None:
    with configured(RIGHT):
        receipt, unlocked = site.disguise(DELETE), site.unlock()
    with configured(WRONG), unlocked:
        for act in (
            lambda: edna.reveal(receipt, unlocked),
            lambda: edna.rotate(unlocked, identifier="x", password="y" * 12),
            lambda: edna.change_password(unlocked, identifier="x", password="y" * 12),
        ):
            with unknown():
                act()
    with configured(RIGHT):
        assert site.reveal(receipt).complete


def test_a_job_waits_for_the_right_key(site: Student) -> None:
    with configured(RIGHT):
        job = jobs.start(ANONYMISE_ALL, operator="olga")
    with configured(WRONG), unknown():
        jobs.run(job.id)
    with configured(RIGHT):
        assert (jobs.run(job.id).state, jobs.report(job.id).failed) == (jobs.JobState.FINISHED, 0)


@pytest.mark.once
def test_a_login_goes_on_and_its_session_is_noted_under_the_right_key(site: Student) -> None:
    client = Client()
    with configured(WRONG):
        answer = client.post(reverse("websubmit:login"), {"username": site.email, "password": PASSWORD})
        assert (answer.status_code, SessionLink.objects.count()) == (302, 0)
    with configured(RIGHT):
        client.get(reverse("websubmit:lectures"))
        assert SessionLink.objects.count() == 1
        site.disguise(DELETE)
        assert not Session.objects.exists()


@pytest.mark.once
def test_with_the_right_key_back_everything_is_as_it_was(site: Student) -> None:
    with configured(RIGHT):
        before = application_dump()
        receipt = site.disguise(DELETE)
    with configured(WRONG), pytest.raises(errors.ServerKeyUnknown):
        edna.unlock(identifier=site.email, password=PASSWORD)
    with configured(RIGHT):
        with edna.unlock(identifier=site.email, password=PASSWORD) as unlocked:
            assert edna.reveal(receipt, unlocked).complete
        assert application_dump() == before


@pytest.mark.once
def test_check_health_and_verify_say_it(site: Student, capsys: pytest.CaptureFixture[str]) -> None:
    with configured(WRONG):
        with pytest.raises(
            SystemCheckError, match=r"edna\.E059.*The server's key is wrong|server's key is wrong.*E059"
        ):
            call_command("check", databases=["default"])
        with pytest.raises(CommandError, match="server_key"):
            call_command("edna_health")
        assert "Put the key back" in capsys.readouterr().out
        with pytest.raises(CommandError) as refused:
            call_command("edna_verify")
        assert refused.value.returncode == 4
        assert "damage: server_key (1)" in capsys.readouterr().out
    with configured(WRONG, RIGHT):
        serverkeys.add(operator="olga")
    with configured(WRONG):
        with pytest.raises(CommandError):
            call_command("edna_verify")
        assert "attention: server_key_missing (1)" in capsys.readouterr().out
        call_command("check", databases=["default"])
        assert "edna.W060" in capsys.readouterr().err


@pytest.mark.once
def test_the_page_of_storage_and_health_says_it(site: Student, admin_client: Client) -> None:
    with configured(WRONG):
        assert (
            "The server&#x27;s key is wrong"
            in admin_client.get(reverse("admin:edna_operations_sitehealth_changelist")).content.decode()
        )


# A new key, on purpose


@pytest.mark.once
def test_the_message_names_the_key_by_its_place_and_check_value(site: Student) -> None:
    with configured(RIGHT):
        (right,) = serverkeys.listing()
    with configured(WRONG):
        wrong, _ = serverkeys.listing()
        with unknown(rf"key 1 of 1 .*check value {wrong.digits}.*{right.digits}.*Put the key back"):
            edna.disguise(DELETE, site.user)
    with configured(WRONG, RIGHT), unknown(rf"key 1 of 2 .*check value {wrong.digits}.*edna_keys add"):
        edna.disguise(DELETE, site.user)


@pytest.mark.once
def test_a_new_key_is_added_by_one_command(site: Student) -> None:
    with configured(RIGHT):
        before = application_dump()
        receipt = site.disguise(DELETE)
    with configured(WRONG, RIGHT):
        call_command("edna_keys", "add", "--operator", "olga")
        assert [line.added_on is not None for line in serverkeys.listing()] == [True, True]
        other = enrol("carl@example.org", password=PASSWORD)
        other.reveal(other.disguise(DELETE))
        assert site.reveal(receipt).complete
        other.user.delete()
        assert application_dump().keys() == before.keys()
    with configured(WRONG):
        assert audit.entries()[0].action == "add server key"
        edna.disguise(ANONYMISE_ALL, site.user)


@pytest.mark.once
def test_before_it_is_added_what_needs_no_new_seal_is_revealed(site: Student) -> None:
    with configured(RIGHT):
        before = application_dump()
        receipt = site.disguise(DELETE)
    with configured(WRONG, RIGHT):
        assert site.reveal(receipt).complete
        assert application_dump() == before


@pytest.mark.once
def test_what_would_be_sealed_anew_under_a_key_that_is_not_added_is_refused(site: Student) -> None:
    with configured(RIGHT):
        receipt = site.disguise(DELETE)
        User.objects.create_user(site.email)
    with configured(WRONG, RIGHT), unknown():
        site.reveal(receipt)


@pytest.mark.once
def test_a_wrong_key_cannot_be_added_alone(site: Student) -> None:
    with configured(RIGHT):
        site.disguise(DELETE)
    with configured(WRONG):
        with nothing_changes(), pytest.raises(CommandError, match="--lost"):
            call_command("edna_keys", "add", "--operator", "olga")
        call_command("edna_keys", "add", "--operator", "olga", "--lost")
        enrol("carl@example.org", password=PASSWORD)


@pytest.mark.once
def test_a_former_key_is_forgotten_when_it_is_configured_no_more(site: Student) -> None:
    with configured(WRONG, RIGHT):
        serverkeys.add(operator="olga")
        digits = serverkeys.listing()[1].digits
        with nothing_changes(), pytest.raises(errors.ServerKeyRefused, match="take it out"):
            serverkeys.forget(digits, operator="olga")
    with configured(WRONG):
        for wrong in ("00000000", digits[:4], ""):
            with nothing_changes(), pytest.raises(errors.ServerKeyRefused, match="edna_keys list"):
                serverkeys.forget(wrong, operator="olga")
        # Her public key is tagged under it alone.
        with nothing_changes(), pytest.raises(CommandError, match=r"1 public key .* edna_vouch"):
            call_command("edna_keys", "forget", digits, "--operator", "olga")
        with nothing_changes(), pytest.raises(errors.EntryForged, match="edna_vouch"):
            edna.disguise(DELETE, site.user)
    with configured(WRONG, RIGHT):
        call_command("edna_vouch", "--operator", "olga")
    with configured(WRONG), nothing_changes(), pytest.raises(CommandError, match=r"2 key slots have .* use it first"):
        call_command("edna_keys", "forget", digits, "--operator", "olga")
    with configured(WRONG, RIGHT):
        edna.unlock(identifier=site.email, password=PASSWORD).close()
        edna.unlock(recovery_code=site.recovery_code).close()
    with configured(WRONG):
        call_command("edna_keys", "forget", digits, "--operator", "olga")
        assert len(serverkeys.listing()) == 1
    with configured(RIGHT), unknown():
        edna.disguise(DELETE, site.user)


@pytest.mark.once
def test_a_key_that_is_lost_is_forgotten_whatever_was_tagged_under_it(site: Student) -> None:
    with configured(WRONG):
        call_command("edna_keys", "add", "--lost", "--operator", "olga")
        digits = serverkeys.listing()[1].digits
        call_command("edna_keys", "forget", digits, "--lost", "--operator", "olga")
        assert len(serverkeys.listing()) == 1


@pytest.mark.once
def test_the_list_of_keys_says_what_still_needs_a_former_one(site: Student, capsys: pytest.CaptureFixture[str]) -> None:
    def listed() -> str:
        call_command("edna_keys", "list")
        return capsys.readouterr().out

    with configured(RIGHT):
        jobs.start(ANONYMISE_ALL, operator="olga")
        assert "edna_vouch" not in listed()
    with configured(WRONG, RIGHT):
        call_command("edna_keys", "add", "--operator", "olga")
        printed = capsys.readouterr().out
        told = "1 public key, 1 job and 1 person on lists of jobs need a former key. Run manage.py edna_vouch before"
        assert told in printed
        assert "2 key slots need a former key until those whose they are have used them" in printed
        call_command("edna_keys", "list", "--json")
        former = json.loads(capsys.readouterr().out)["former"]
        assert {kind: number for kind, number in former.items() if number} == {
            "entries": 1,
            "jobs": 1,
            "items": 1,
            "slots": 2,
        }
    with configured(WRONG):
        told = "1 public key, 1 job, 1 person on lists of jobs and 2 key slots have no tag under a key of MAC_KEYS. Put"
        assert told in listed()
    with configured(WRONG, RIGHT):
        call_command("edna_vouch", "--operator", "olga")
        assert "edna_vouch" not in listed()


# Whom a database believes at first


def test_a_new_database_takes_the_configured_keys_for_its_own() -> None:
    a_database_without_keys()
    with configured(WRONG, RIGHT):
        migrated()
        assert [line.added_on is not None for line in serverkeys.listing()] == [True, True]
    with configured(RIGHT):
        migrated()  # changes nothing
        assert len(serverkeys.listing()) == 2


def an_audit_trail(bea: Student) -> None:
    audit.note("start", operator="olga")
    audit.note("start", operator="olga")


def a_logged_update(bea: Student) -> None:
    edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "x"})


def a_session(bea: Student) -> None:
    Client().post(reverse("websubmit:login"), {"username": bea.email, "password": PASSWORD})


def a_row_of_the_ledger(bea: Student) -> None:
    bea.disguise(DELETE)


def public_keys_alone(bea: Student) -> None:
    """Whatever else says under which key it was made, a vandal has deleted."""


def a_job_alone(bea: Student) -> None:
    jobs.start(ANONYMISE_ALL, operator="olga")
    without_audit_trail()
    execute("UPDATE edna_principalentry SET tag = NULL")


def without_audit_trail() -> None:
    for table in ("edna_auditentry", "edna_auditcount"):
        execute(f"DELETE FROM {table}")


EVIDENCE = [public_keys_alone, a_job_alone, an_audit_trail, a_logged_update, a_session, a_row_of_the_ledger]


@pytest.mark.once
@pytest.mark.parametrize("made", EVIDENCE)
def test_an_earlier_release_s_database_believes_what_it_can_verify(
    site: Student, made: Callable[[Student], None]
) -> None:
    with configured(RIGHT, LEDGER=True):
        made(site)
        a_database_without_keys()
    with configured(WRONG):
        migrated()
        assert not ServerKey.objects.exists()
        with unknown("names no server key"):
            edna.disguise(ANONYMISE_ALL, site.user)
        with nothing_changes(), pytest.raises(errors.ServerKeyRefused, match="Put the key back that was there before"):
            serverkeys.add(operator="olga")
    with configured(RIGHT):
        migrated()
        assert ServerKey.objects.count() == 1
        enrol("carl@example.org", password=PASSWORD)


@pytest.mark.once
def test_tags_speak_for_a_key_however_many_wrong_ones_there_are(site: Student) -> None:
    """Those of a vandal stand in front."""
    junk = [
        PrincipalEntry(
            id=pk, public_key=pk.to_bytes(32), model="websubmit.user", reference=f"x{pk}", natural=True, tag=bytes(16)
        )
        for pk in range(1, 2_050)
    ]
    PrincipalEntry.objects.bulk_create(junk)
    a_database_without_keys()
    with configured(WRONG):
        migrated()
        assert not ServerKey.objects.exists()
    with configured(RIGHT):
        migrated()
        assert ServerKey.objects.count() == 1


@pytest.mark.once
def test_the_right_key_is_added_again_whatever_the_database_believes(site: Student) -> None:
    """Somebody has made it know another one instead, under which something was made, too."""
    a_database_without_keys()
    with configured(WRONG):
        serverkeys.add(operator="olga", lost=True)
        enrol("carl@example.org", password=PASSWORD)
    with configured(RIGHT):
        with nothing_changes(), unknown():
            edna.disguise(DELETE, site.user)
        assert serverkeys.add(operator="olga") == [serverkeys.listing()[0].digits]
        assert site.reveal(site.disguise(DELETE)).complete
    with (
        configured("a third key, under which nothing was made"),
        nothing_changes(),
        pytest.raises(errors.ServerKeyRefused),
    ):
        serverkeys.add(operator="olga")


@pytest.mark.once
def test_a_cut_audit_trail_says_nothing_against_a_key(site: Student) -> None:
    """Its first entries were moved away: the one before the oldest is out of reach."""
    with configured(RIGHT):
        an_audit_trail(site)
        a_database_without_keys()
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM edna_auditentry WHERE id = 1")
        migrated()
        assert ServerKey.objects.count() == 1


# Another database


@pytest.mark.once
def test_the_known_keys_travel_with_an_export(site: Student, tmp_path: Path) -> None:
    path = str(tmp_path / "edna.export")
    with configured(RIGHT):
        receipt = site.disguise(DELETE)
        transfer.export(path)
    for table in EDNA_TABLES:
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table}")
    with configured(WRONG):
        migrated()
        with nothing_changes(), pytest.raises(errors.FileRefused, match="no key of MAC_KEYS signed it"):
            transfer.load(path)
    with configured(RIGHT):
        transfer.load(path)
        assert [(line.place, line.added_on is not None) for line in serverkeys.listing()] == [(1, True)]
        assert site.reveal(receipt).complete
    with configured(WRONG), unknown():
        edna.disguise(DELETE, site.user)


# What it costs, and what is remembered


@pytest.mark.once
def test_after_the_first_time_it_costs_no_statement(site: Student) -> None:
    with configured(RIGHT):
        engine.require(using="default")
        assert statements(lambda: engine.require(using="default")) == []


def test_what_was_rolled_back_is_not_remembered(site: Student) -> None:
    with configured(WRONG, RIGHT):
        with transaction.atomic():
            serverkeys.add(operator="olga")
            engine.require(using="default")
            transaction.set_rollback(True)
        with unknown():
            edna.disguise(DELETE, site.user)


@pytest.mark.once
@pytest.mark.once
def test_no_frame_of_the_refusal_holds_a_key(site: Student) -> None:
    """Error pages print the variables of every frame."""
    with configured(WRONG), pytest.raises(errors.ServerKeyUnknown) as refused:
        edna.disguise(DELETE, site.user)
    frames = [entry.frame for entry in refused.traceback if "edna/store/serverkeys" in str(entry.path)]
    assert frames
    assert not any(WRONG in repr(frame.f_locals) for frame in frames)


@pytest.mark.once
def test_no_check_value_tells_the_key(site: Student) -> None:
    with configured(RIGHT):
        (check_value,) = engine.check_values()
        assert bytes(ServerKey.objects.get().check_value) == check_value
    with configured(WRONG):
        assert engine.check_values() != [check_value]
    # It is tied to its purpose: nothing else that follows from the key is equal to it, or follows from it.
    with configured(RIGHT):
        audit.note("start", operator="olga")
        assert bytes(AuditEntry.objects.get().mac) != check_value


# A new key in front that was not added, and the former one behind it


def revealed(carl: Student, receipt: Any, path: str) -> None:
    with edna.unlock(identifier=carl.email, password=PASSWORD) as unlocked:
        assert edna.reveal(receipt, unlocked).complete


def logged_in(carl: Student, receipt: Any, path: str) -> None:
    bea = User.objects.get(email="bea@example.org")
    Client().post(reverse("websubmit:login"), {"username": bea.email, "password": PASSWORD})


def in_chunks(carl: Student, receipt: Any, path: str) -> None:
    with cut_into_chunks(1):
        revealed(carl, receipt, path)


def by_command(name: str, *args: Any) -> Callable[[Student, Any, str], Any]:
    return lambda carl, receipt, path: call_command(name, *args, stdout=io.StringIO(), stderr=io.StringIO())


def with_the_job(act: Callable[..., Any]) -> Callable[[Student, Any, str], Any]:
    return lambda carl, receipt, path: act(jobs.reports()[0].id)


def with_key(act: Callable[[Any], Any]) -> Callable[[Student, Any, str], Any]:
    def unlocked_act(carl: Student, receipt: Any, path: str) -> None:
        with edna.unlock(identifier="bea@example.org", password=PASSWORD) as unlocked:
            act(unlocked)

    return unlocked_act


def on_bea(act: Callable[[Student, Any], Any]) -> Callable[[Student, Any, str], Any]:
    return lambda carl, receipt, path: act(Student(User.objects.get(email="bea@example.org"), carl.secret_key), path)


WITH_A_NEW_KEY: dict[str, Callable[[Student, Any, str], Any]] = {
    **{name: on_bea(act) for name, act in ACTS.items() if not name.startswith("unlock")},
    "reveal": revealed,
    "reveal in chunks": in_chunks,
    "unlock by password": with_key(lambda unlocked: None),
    "history": with_key(edna.history),
    "rotate": with_key(lambda unlocked: edna.rotate(unlocked, identifier="bea@example.org", password="another one")),
    "change the password": with_key(
        lambda unlocked: edna.change_password(unlocked, identifier="bea@example.org", password="another one")
    ),
    "new recovery code": with_key(edna.new_recovery_code),
    "log in": logged_in,
    "delete a row": lambda carl, receipt, path: User.objects.get(email="dora@example.org").delete(),
    "pause": with_the_job(jobs.pause),
    "cancel": with_the_job(jobs.cancel),
    "run": with_the_job(jobs.run),
    "edna_run": by_command("edna_run"),
    "edna_vouch": by_command("edna_vouch"),
    "edna_files": by_command("edna_files"),
    "edna_register": by_command("edna_register", "--all"),
}


@pytest.mark.once
@pytest.mark.parametrize("cookies", [False, True], ids=["sessions on the server", "sessions in cookies"])
@pytest.mark.parametrize("act", WITH_A_NEW_KEY)
def test_nothing_is_made_under_a_key_that_was_not_added(
    site: Student, act: str, cookies: bool, tmp_path: Path, settings: Any
) -> None:
    """Whatever is done meanwhile, or refused: back under the former key alone, all of it is right, and everybody has their way back."""
    if cookies:
        settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
    User.objects.create_user("new@example.org")
    with configured(RIGHT, LEDGER=True):
        carl = enrol("carl@example.org", password=PASSWORD)
        answer_everything(carl)
        enrol("dora@example.org", password=PASSWORD)
        receipt = carl.disguise(DELETE)
        jobs.start(ANONYMISE_ALL, operator="olga")
    with (
        configured(WRONG, RIGHT, LEDGER=True),
        contextlib.suppress(errors.ServerKeyUnknown, CommandError),
    ):
        WITH_A_NEW_KEY[act](carl, receipt, str(tmp_path / "file"))
    with configured(RIGHT, LEDGER=True):
        wrong = {
            finding.kind: finding.ids
            for finding in verification.verify().findings
            if finding.severity is Severity.DAMAGE
        }
        assert wrong == {}
        for code in (site.recovery_code, carl.recovery_code):
            edna.unlock(recovery_code=code).close()
        with edna.unlock(identifier=carl.email, password=PASSWORD) as unlocked:
            for entry in edna.history(unlocked):
                assert edna.reveal(entry.receipt, unlocked).complete
        carl.reveal(carl.disguise(DELETE))


@pytest.mark.once
def test_whoever_returns_under_a_key_that_was_not_added_is_tagged_under_the_former(site: Student) -> None:
    with configured(RIGHT):
        anonymous, receipt = site.disguise(ANONYMISE_ALL), site.disguise(DELETE)
    with configured(WRONG, RIGHT):
        assert site.reveal(receipt).complete
    with configured(RIGHT):
        assert site.reveal(anonymous).complete
        assert site.reveal(site.disguise(DELETE)).complete
