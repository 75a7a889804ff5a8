"""Rotating the server's key: everything that was made under the old one keeps working, what is new needs the new one alone, and
without a key that is still needed nothing is lost but time (docs/operations.md)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connections
from django.test import Client
from django.urls import reverse

import edna
from apps.websubmit.models import Answer, User
from edna import errors
from edna.models import Replay
from edna.operations import audit
from edna.operations.models import AuditEntry, LedgerEntry
from edna.testing import application_dump
from tests.faults import operations as scenes
from tests.faults.states import State
from tests.installed import installed, registered
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    PASSWORD,
    Student,
    answer_everything,
    enrol,
    enrol_in_course,
    know_server_keys,
    nothing_changes,
    with_server_keys,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.thorough]

OLD, NEW = "an old key of the server's, long", "a new key of the server's, long"


def with_keys(*keys: str) -> AbstractContextManager[None]:
    return with_server_keys(*keys, LEDGER=True)


@pytest.fixture(scope="module")
def post_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed("tests.faults.post", principals=["post.citizen"]):
        yield


@pytest.fixture
def post(post_tables: None, transactional_db: None, tmp_path: Path, settings: Any) -> Iterator[None]:
    """People who write letters to each other, with enclosures: rows that two own, and files."""
    settings.MEDIA_ROOT = str(tmp_path)
    with registered("tests.faults.post"):
        yield
    connections.close_all()


def course() -> tuple[Student, Student]:
    bea = enrol_in_course("bea@example.org", password=PASSWORD)
    carl = enrol("carl@example.org", password=PASSWORD)
    answer_everything(carl)
    return bea, carl


def everything_by(**how: Any) -> bool:
    """Reveal all that somebody has disguised, with this password, code or key; whether that was complete."""
    complete = True
    with edna.unlock(**how) as unlocked:
        for entry in edna.history(unlocked):
            complete &= edna.reveal(entry.receipt, unlocked).complete
        return complete and not unlocked.damaged


# What was made under the old key


def test_bags_and_key_slots() -> None:
    with with_keys(OLD):
        bea, carl = course()
        before = application_dump()
        edna.disguise_all(ANONYMISE_ALL)
        bea.disguise(DELETE)
        carl.disguise(DELETE, with_key=True)
    with with_keys(NEW, OLD):
        assert everything_by(identifier=bea.email, password=PASSWORD)
        assert everything_by(recovery_code=carl.recovery_code)
        assert application_dump() == before
        assert not LedgerEntry.objects.exists()


@pytest.mark.once
def test_what_is_held_is_signed_anew() -> None:
    with with_keys(OLD):
        bea, _ = course()
        before = application_dump()
        receipt = bea.disguise(DELETE)
        squatter = User.objects.create_user(bea.email)
    with with_keys(NEW, OLD):
        assert bea.reveal(receipt).held
    with with_keys(NEW):
        squatter.delete()
        assert bea.reveal(receipt).complete
        assert application_dump() == before


@pytest.mark.usefixtures("post")
def test_shared_rows_and_files() -> None:
    with with_keys(OLD):
        scene = scenes.both_left()
    with with_keys(NEW, OLD):
        for person in scene.people:
            person.reveal_everything()
        now = State.now()
        assert (now.application, now.files) == (scene.origin.application, scene.origin.files)


@pytest.mark.once
@pytest.mark.usefixtures("post")
@pytest.mark.parametrize("what", ["files_left_to_delete", "files_left_to_write"])
def test_files_that_are_yet_to_be_done(what: str) -> None:
    know_server_keys(OLD, NEW)
    with with_keys(OLD):
        scene = getattr(scenes, what)()
    with with_keys(NEW):
        left = edna.finish_files().left
        assert {each.reason for each in left} == {"forged"}
    with with_keys(NEW, OLD):
        assert not edna.finish_files().left
        # Whoever is written, has a tag under the new one.
        scenes.everything_comes_back_but(scene, "edna_principalentry")


@pytest.mark.once
def test_logged_updates_of_before_and_after() -> None:
    with with_keys(OLD):
        bea, _ = course()
        receipt = bea.disguise(DELETE)
        edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "first"})
    with with_keys(NEW, OLD):
        edna.replay(Answer, where={"text": "first"}, set={"text": "second"})
        assert bea.reveal(receipt).complete
        assert set(bea.texts().values()) == {"second"}


@pytest.mark.once
def test_sessions_that_began_before() -> None:
    with with_keys(OLD):
        bea, carl = course()
        for student in (bea, carl):
            login(student)
    with with_keys(NEW, OLD):
        login(bea)
        assert Session.objects.count() == 3
        bea.disguise(DELETE)
        assert Session.objects.count() == 1


def login(student: Student) -> None:
    answer = Client().post(reverse("websubmit:login"), {"username": student.email, "password": PASSWORD})
    assert answer.status_code == 302


def test_the_audit_trail() -> None:
    with with_keys(OLD):
        audit.note("start", operator="olga", job=1)
    with with_keys(NEW, OLD):
        audit.note("start", operator="olga", job=2)
        assert audit.verify() == []
    with with_keys(NEW):
        assert audit.verify() == [AuditEntry.objects.order_by("pk").first().pk]


def test_the_ledger() -> None:
    with with_keys(OLD):
        bea, _ = course()
        receipt = bea.disguise(DELETE)
        assert LedgerEntry.objects.count() == 1
    with with_keys(NEW, OLD):
        assert bea.reveal(receipt).complete
        assert LedgerEntry.objects.count() == 0


# What is made under the new one


def test_new_data_needs_the_new_key_alone() -> None:
    with with_keys(NEW, OLD):
        bea, carl = course()
        before = application_dump()
        edna.disguise_all(ANONYMISE_ALL)
        login(carl)
        bea.disguise(DELETE)
        edna.replay(Answer, where={"text": "nobody's"}, set={"text": "moderated"})
        audit.note("start", operator="olga", job=2)
    with with_keys(NEW):
        carl.disguise(DELETE)
        assert not Session.objects.exists()
        assert everything_by(identifier=bea.email, password=PASSWORD)
        assert everything_by(recovery_code=carl.recovery_code)
        dump = application_dump()
        for table in ("django_session", "websubmit_user"):  # carl has logged in
            before.pop(table), dump.pop(table)
        assert dump == before
        assert audit.verify() == []
        assert not LedgerEntry.objects.exists()


@pytest.mark.once
def test_a_new_password_or_key_needs_the_new_one_alone() -> None:
    """A person whose password is changed, or whose key is rotated, leaves the old key of the server behind."""
    with with_keys(OLD):
        bea, carl = course()
        before = application_dump()
        for student in (bea, carl):
            student.disguise(DELETE)
    with with_keys(NEW, OLD):
        with carl.unlock() as unlocked:
            made = edna.rotate(unlocked, identifier=carl.email, password="another")
        with bea.unlock() as unlocked:
            edna.change_password(unlocked, identifier=bea.email, password="another")
    with with_keys(NEW):
        assert everything_by(identifier=carl.email, password="another")
        assert everything_by(recovery_code=str(made.recovery_code))
        edna.unlock(identifier=bea.email, password="another").close()
    with with_keys(NEW, OLD):
        assert everything_by(identifier=bea.email, password="another")
        assert application_dump() == before


# When the old key is dropped too early


@pytest.mark.once
def test_without_the_old_key_everything_is_refused_and_kept() -> None:
    with with_keys(OLD):
        bea, _ = course()
        before = application_dump()
        receipt = bea.disguise(DELETE)
    with with_keys(NEW), nothing_changes():
        with pytest.raises(errors.BagForged, match="put a missing key back"):
            bea.reveal(receipt)
        with bea.unlock() as unlocked:
            assert edna.history(unlocked) == []
            assert [type(error) for error in unlocked.damaged] == [errors.BagForged]
        with pytest.raises(errors.BagForged), bea.unlock() as unlocked:
            edna.rotate(unlocked, identifier=bea.email, password="another")
        for how in ({"identifier": bea.email, "password": PASSWORD}, {"recovery_code": bea.recovery_code}):
            with pytest.raises(errors.WrongCredentials):
                edna.unlock(**how)
    with with_keys(NEW, OLD):
        assert everything_by(identifier=bea.email, password=PASSWORD)
        assert application_dump() == before


@pytest.mark.once
def test_without_the_old_key_a_logged_update_stops_a_reveal() -> None:
    with with_keys(OLD):
        bea, _ = course()
    with with_keys(NEW, OLD):
        receipt = bea.disguise(DELETE)
    with with_keys(OLD):
        edna.replay(Answer, where={"author": bea.user.pk}, set={"text": "moderated"})
    with with_keys(NEW), nothing_changes(), pytest.raises(errors.BagForged, match="log of replayed updates"):
        bea.reveal(receipt)
    assert Replay.objects.count() == 1


@pytest.mark.once
def test_without_the_old_key_a_row_of_the_ledger_outlives_its_disguise() -> None:
    """So that the key stays for as long as rows of its time do; `edna_ledger prune` takes those away that no backup needs."""
    with with_keys(OLD):
        bea, _ = course()
        bea.disguise(DELETE)
    with with_keys(NEW, OLD), bea.unlock() as unlocked:
        made = edna.rotate(unlocked, identifier=bea.email, password="another")
    with with_keys(NEW):
        assert everything_by(secret_key=made.secret_key)
        assert LedgerEntry.objects.count() == 1


@pytest.mark.once
@pytest.mark.usefixtures("post")
def test_shared_bags_need_the_key_of_their_time() -> None:
    """A person's own bags are signed anew by a rotation of their key; those that others share, and files, are not."""
    with with_keys(OLD):
        scene = scenes.both_left()
        person = scene.actor
    with with_keys(NEW, OLD):
        with person.unlock() as unlocked:
            made = edna.rotate(unlocked)
        renewed = scenes.Person(person.user, made.secret_key)
    with with_keys(NEW), nothing_changes(), pytest.raises(errors.BagForged):
        renewed.reveal(scene.receipt)
    with with_keys(NEW, OLD):
        assert renewed.reveal(scene.receipt).complete
