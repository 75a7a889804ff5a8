"""What edna's rows say of themselves under the server's key: somebody who writes to the database, and has no key of the server, makes
edna do nothing, and has nothing sealed to them."""

from __future__ import annotations

import contextlib
import datetime
import socket
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

import edna
from apps.websubmit.models import Answer, Lecture, User
from edna import errors, inner_door, serverkeys, store, vouching
from edna.crypto.keys import SecretKey
from edna.db.short_values import label_number, number_of, short_reference
from edna.engine.bags.capability import Unlocked
from edna.errors import EntryForged, JobForged
from edna.models import KeySlot, PrincipalEntry, SessionLink
from edna.operations import audit, jobs
from edna.operations.jobs import JobReport, JobState
from edna.operations.models import AuditEntry, Job, JobItem
from edna.operations.retention import expiry
from edna.operations.upkeep import residue, verification
from edna.testing import application_dump
from edna.testing.search import finds
from tests.databases import first_everywhere
from tests.integration.shell import refused
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    PASSWORD,
    Student,
    cut_into_chunks,
    enrol_in_course,
    execute,
    know_server_keys,
    loot,
    nothing_changes,
    statements,
    vouch_for_what_is_there,
)

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

BEA, CARL = "bea@example.org", "carl@example.org"


@pytest.fixture
def bea() -> Student:
    return enrol_in_course(BEA, CARL)


@pytest.fixture
def carl(bea: Student) -> User:
    return User.objects.get(email=CARL)


def entry_of(user: User) -> PrincipalEntry:
    return PrincipalEntry.objects.get(model="websubmit.user", reference=str(user.pk))


def set_entry(pk: int, **columns: Any) -> None:
    assert PrincipalEntry.objects.filter(pk=pk).update(**columns) == 1


def found() -> dict[str, list[Any]]:
    return {finding.kind: finding.ids for finding in verification.verify().findings}


def quoted(*names: str) -> str:
    return ", ".join(map(connection.ops.quote_name, names))


class Vandal:
    """Writes SQL, and has a key pair of their own; of the server's keys they know nothing."""

    def __init__(self) -> None:
        self.secret_key = SecretKey.generate()
        self.job = 4_711

    def take_over(self, student: Student) -> None:
        """One UPDATE: what is sealed to this student from now on, the vandal opens."""
        self.take_over_entry(entry_of(student.user).pk)

    def take_over_entry(self, pk: int) -> None:
        """With the number under which the vandal's key is looked for."""
        key = bytes(self.secret_key.public_key)
        set_entry(pk, id=number_of(key), public_key=key)

    def take_over_all(self) -> None:
        """Each gets a key of the vandal's: pseudoprincipals, too."""
        for entry in PrincipalEntry.objects.all():
            set_entry(entry.pk, public_key=bytes(SecretKey.generate().public_key))

    def note_job(self, *students: Student, **columns: Any) -> int:
        """As edna would: the row of a job, and one for each whom it is about."""
        row: dict[str, Any] = {
            "id": self.job,
            "disguise": DELETE,
            "params": "{}",
            "everybody": False,
            "schedule": "",
            "operator": "admin@example.org",
            "state": "running",
            "total": len(students),
            "done": 0,
            "skipped": 0,
            "seconds": 0.0,
            "concurrency": 2,
            "created_on": "2026-01-01",
            **columns,
        }
        self.insert("edna_job", row)
        for number, student in enumerate(students, start=1):
            self.note_item(row["id"], student, id=number)
        return int(row["id"])

    def note_item(self, job: int, student: Student, **columns: Any) -> None:
        row = {
            "id": 1,
            "job": job,
            "reference": str(student.user.pk),
            "state": 0,
            "reason": "",
            "attempts": 0,
            **columns,
        }
        self.insert("edna_jobitem", row)

    @staticmethod
    def insert(table: str, row: dict[str, Any]) -> None:
        # Columns that are not here have what the database gives them: a release may add some.
        marks = ", ".join(["%s"] * len(row))
        execute(f"INSERT INTO {table} ({quoted(*row)}) VALUES ({marks})", row.values())


@pytest.fixture
def vandal() -> Vandal:
    return Vandal()


# The whole attack


def test_a_vandal_has_no_account_deleted_and_sealed_to_them(bea: Student, vandal: Vandal, typed: Any) -> None:
    """As it was done: a key replaced by one UPDATE, a job put in by two INSERTs, and the site's own runner comes by."""
    vandal.take_over(bea)
    job = vandal.note_job(bea)
    before = application_dump()
    for _ in range(2):
        ran = typed("edna_run")
        assert ran.code == 3, ran
        assert "does not carry this site's tag" in ran.err
    assert application_dump() == before
    # It stays as evidence; everybody who looks is told, and the trail has it once.
    assert (Job.objects.get(pk=job).state, JobItem.objects.get(job=job).state) == ("running", JobItem.State.PENDING)
    [noted] = AuditEntry.objects.filter(action="job_refused")
    assert (noted.operator, noted.disguise, noted.details) == ("", "", {"job": job})
    assert audit.verify() == []
    assert found() == {"entry_tag": [entry_of(bea.user).pk], "job": [job], "job_item": [1]}
    assert jobs.forged() == [job]
    assert "this site did not note" in typed("edna_health").out
    assert "refused" in typed("edna_jobs").out
    assert f"{DELETE}: refused; 0 of 1 disguised" in typed("edna_jobs", "show", job).out


# Entries


Disguising = Callable[[Student], Any]


def _session(bea: Student) -> None:
    @edna.on_reveal("test.by-hand")
    def callback(revealed: Any) -> None:
        pass

    try:
        with edna.session(bea.user, "test.by-hand") as session:
            session.modify(Answer.objects.filter(author=bea.user), text="[gone]")
    finally:
        edna.unregister(callback)


def _chunks(bea: Student) -> None:
    with cut_into_chunks(1):
        bea.disguise(DELETE)


DISGUISING: dict[str, Disguising] = {
    "alone": lambda bea: bea.disguise(DELETE),
    "everybody": lambda bea: edna.disguise_all(ANONYMISE_ALL),
    "chunks": _chunks,
    "low-level": _session,
}


@pytest.mark.once
@pytest.mark.parametrize("way", DISGUISING)
def test_nothing_is_sealed_to_a_replaced_key(bea: Student, vandal: Vandal, way: str) -> None:
    vandal.take_over(bea)
    pk = entry_of(bea.user).pk
    with nothing_changes(), pytest.raises(EntryForged) as refusal:
        DISGUISING[way](bea)
    assert f"Entry {pk} does not carry" in str(refusal.value)
    assert BEA not in str(refusal.value)


@pytest.mark.once
def test_nor_where_people_keep_their_receipts_themselves(bea: Student, vandal: Vandal, settings: Any) -> None:
    """Nothing is listed then, so that the entry is not written."""
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    vandal.take_over(bea)
    with nothing_changes(), pytest.raises(EntryForged):
        bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.all()[0].pk)


@pytest.mark.once
def test_a_job_of_the_site_leaves_out_whose_key_was_replaced(bea: Student, vandal: Vandal, typed: Any) -> None:
    """The others are done."""
    vandal.take_over(bea)
    job = jobs.start(ANONYMISE_ALL)
    report = jobs.run(job.id)
    assert (report.state, report.done, report.failures) == (JobState.FINISHED, 1, {"EntryForged": 1})
    assert Answer.objects.filter(author=bea.user).exists()
    assert "EntryForged" in typed("edna_jobs", "show", job.id).out


@pytest.mark.once
def test_nor_to_a_replaced_key_of_somebody_they_speak_for(bea: Student, vandal: Vandal) -> None:
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.all()[0].pk)
    [speaking] = PrincipalEntry.objects.filter(natural=False).values_list("pk", flat=True)
    vandal.take_over_entry(speaking)
    with nothing_changes(), pytest.raises(EntryForged, match=str(number_of(bytes(vandal.secret_key.public_key)))):
        edna.disguise_all(ANONYMISE_ALL)


CHANGES: dict[str, Callable[[PrincipalEntry, PrincipalEntry], dict[str, Any]]] = {
    "no tag": lambda own, other: {"tag": None},
    "a tag of zeros": lambda own, other: {"tag": bytes(16)},
    "somebody else's tag": lambda own, other: {"tag": bytes(other.tag)},
    "one bit of it": lambda own, other: {"tag": bytes([own.tag[0] ^ 1]) + bytes(own.tag[1:])},
    "another model": lambda own, other: {"model": "auth.user"},
    "a pseudoprincipal": lambda own, other: {"natural": False},
    "somebody else": lambda own, other: {"reference": "4711"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_the_tag_is_over(bea: Student, carl: User, change: str) -> None:
    own = entry_of(bea.user)
    set_entry(own.pk, **CHANGES[change](own, entry_of(carl)))
    with nothing_changes(), pytest.raises(EntryForged):
        bea.history()
    assert found()["entry_tag"] == [own.pk]


@pytest.mark.once
def test_an_entry_that_was_copied_with_its_tag(bea: Student) -> None:
    """Under another number."""
    own = entry_of(bea.user)
    PrincipalEntry.objects.filter(pk=own.pk).delete()
    own.pk = 12
    own.save(force_insert=True)
    with nothing_changes(), pytest.raises(EntryForged):
        bea.disguise()


@pytest.mark.once
def test_an_entry_that_was_put_in_for_somebody_without_a_key(bea: Student, vandal: Vandal) -> None:
    new = User.objects.create_user("dora@example.org", None)
    vandal.insert(
        "edna_principalentry",
        {
            "id": 5,
            "public_key": bytes(vandal.secret_key.public_key),
            "model": label_number("websubmit.user"),
            "reference": short_reference(str(new.pk)),
            "natural": True,
            "locators": b"",
        },
    )
    with nothing_changes():
        with pytest.raises(EntryForged):
            edna.disguise(DELETE, new)
        with pytest.raises(errors.PrincipalAlreadyRegistered):
            edna.register_principal(new, password=PASSWORD)


@pytest.mark.once
def test_the_vandals_key_is_nobodys(bea: Student, vandal: Vandal) -> None:
    """With the key that they have put in they are not taken for that person, and get no tag by a rotation."""
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.all()[0].pk)
    vandal.take_over(bea)
    with nothing_changes():
        for use in (
            edna.history,
            edna.rotate,
            lambda unlocked: edna.change_password(unlocked, identifier=BEA, password=PASSWORD),
            lambda unlocked: edna.disguise(DELETE, bea.user, unlocked=unlocked),
        ):
            with pytest.raises(EntryForged), Unlocked(vandal.secret_key, using="default") as unlocked:
                use(unlocked)
        with pytest.raises(EntryForged):
            edna.unlock(secret_key=vandal.secret_key)


@pytest.mark.once
def test_somebody_elses_rows_are_not_taken_for_those_of_a_voice(bea: Student, carl: User) -> None:
    """Bea is the vandal: one for whom she speaks is to be Carl, so that she could seal what is his."""
    receipt = bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.all()[0].pk)
    [voice] = PrincipalEntry.objects.filter(natural=False)
    PrincipalEntry.objects.filter(pk=entry_of(carl).pk).delete()
    set_entry(voice.pk, reference=str(carl.pk))
    with nothing_changes():
        with pytest.raises(EntryForged, match=str(voice.pk)):
            bea.disguise(DELETE, with_key=True)
        with pytest.raises(EntryForged, match=str(voice.pk)):
            bea.reveal(receipt)
        with pytest.raises(EntryForged), bea.unlock() as unlocked:
            edna.rotate(unlocked)


@pytest.mark.once
def test_an_entry_of_before_a_rotation_is_put_back(bea: Student) -> None:
    """What edna cannot tell, as the threat model says: it was right once."""
    before = entry_of(bea.user)
    with bea.unlock() as unlocked:
        edna.rotate(unlocked)
    entry_of(bea.user).delete()
    before.save(force_insert=True)
    assert found() == {}
    receipt = bea.disguise()
    assert bea.reveal(receipt).complete


@pytest.mark.once
def test_the_slot_of_an_earlier_password_is_put_back(bea: Student) -> None:
    """Nor this, as the threat model says; a rotation helps where a new password does not."""
    with bea.unlock() as unlocked:
        edna.change_password(unlocked, identifier=BEA, password=PASSWORD)
        earlier = list(KeySlot.objects.all())
        edna.change_password(unlocked, identifier=BEA, password="another one, as long")
    with pytest.raises(errors.WrongCredentials):
        edna.unlock(identifier=BEA, password=PASSWORD)
    KeySlot.objects.bulk_create(earlier, ignore_conflicts=True)
    assert found() == {}
    with edna.unlock(identifier=BEA, password=PASSWORD) as unlocked:
        edna.rotate(unlocked)
    KeySlot.objects.bulk_create(earlier, ignore_conflicts=True)
    with pytest.raises(errors.PrincipalNotRegistered):
        edna.unlock(identifier=BEA, password=PASSWORD)


@pytest.mark.once
def test_a_paused_job_is_put_back_as_it_ran(bea: Student) -> None:
    """Nor this: it was right once."""
    job = a_job(bea)
    before = Job.objects.values("state", "tag").get()
    jobs.pause(job.id)
    Job.objects.update(**before)
    assert found().keys() <= {"job_waiting"}
    assert jobs.run(job.id).done == 1


def test_tags_follow_a_principal(bea: Student, carl: User) -> None:
    """Away, back, with a new key, and without a row: no tag is wrong, and none tells whose a removed entry was."""
    receipt = bea.disguise(DELETE)
    assert PrincipalEntry.objects.get(reference=None).tag is None
    assert found() == {}
    assert bea.reveal(receipt).complete
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.all()[0].pk)
    bea.disguise(DELETE, with_key=True)
    assert {entry.tag for entry in PrincipalEntry.objects.filter(reference=None)} == {None}
    bea.reveal_everything()
    bea.disguise(ANONYMISE_ALL)
    with bea.unlock() as unlocked:
        bea.secret_key = edna.rotate(unlocked).secret_key or bea.secret_key
    assert found() == {}
    bea.reveal_everything()
    inner_door.forget_principal(carl)
    assert PrincipalEntry.objects.get(reference=None).tag is None
    assert found() == {}


@pytest.mark.once
def test_a_tag_tells_nothing_without_a_key_of_the_server(bea: Student, settings: Any) -> None:
    """Of the same person it is another one with another key; with the same key, which the row says, under another key of the server."""
    own, mac_keys = entry_of(bea.user), settings.EDNA["MAC_KEYS"]
    tags = {bytes(own.tag)}
    for key, newer in (
        (SecretKey.generate().public_key, []),
        (own.public_key, ["another key of the server, which is long"]),
    ):
        PrincipalEntry.objects.filter(reference=str(bea.user.pk)).delete()
        settings.EDNA = {**settings.EDNA, "MAC_KEYS": [*newer, *mac_keys]}
        serverkeys.add(operator="")
        edna.register_principal(bea.user, public_key=bytes(key))
        tags.add(bytes(entry_of(bea.user).tag))
    assert [len(tag) for tag in tags] == [16] * 3


# Voices


def is_to_be_carl(bea: Student, carl: User) -> PrincipalEntry:
    """Bea is the vandal: an entry of hers, of which she has the key, names Carl, and his own is out of the way."""
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.all()[0].pk)
    [voice] = PrincipalEntry.objects.filter(natural=False)
    return speak_for(voice, carl)


def speak_for(voice: PrincipalEntry, victim: User) -> PrincipalEntry:
    set_entry(entry_of(victim).pk, reference="777777")
    set_entry(voice.pk, reference=str(victim.pk))
    return voice


def _plan(unlocked: Unlocked, bea: Student) -> Any:
    return edna.plan(DELETE, bea.user, unlocked=unlocked)


def _session_with_key(unlocked: Unlocked, bea: Student) -> None:
    @edna.on_reveal("test.by-hand")
    def callback(revealed: Any) -> None:
        pass

    try:
        with edna.session(bea.user, "test.by-hand", unlocked=unlocked) as session:
            session.save(b"")
    finally:
        edna.unregister(callback)


ACTING: dict[str, Callable[[Unlocked, Student], Any]] = {
    "plan": _plan,
    "disguise": lambda unlocked, bea: edna.disguise(DELETE, bea.user, unlocked=unlocked),
    "reveal": lambda unlocked, bea: edna.reveal(edna.history(unlocked)[0].receipt, unlocked),
    "rotate": lambda unlocked, bea: edna.rotate(unlocked),
    "session": _session_with_key,
}


@pytest.mark.once
@pytest.mark.parametrize("vouched", [False, True], ids=["forged", "vouched for by mistake"])
@pytest.mark.parametrize("way", ACTING)
def test_a_key_acts_for_nobody_but_whom_it_was_made_for(bea: Student, carl: User, way: str, vouched: bool) -> None:
    """Whom a pseudoprincipal is says the sealed record with its key, beside the tag of the entry."""
    voice = is_to_be_carl(bea, carl)
    if vouched:
        vouch_for_what_is_there()
    with nothing_changes(), bea.unlock() as unlocked, pytest.raises(EntryForged, match=str(voice.pk)):
        ACTING[way](unlocked, bea)
    named = {each.kind for each in verification.verify(secret_key=bea.secret_key).findings}
    assert ("person_damaged" if vouched else "entry_tag") in named


@pytest.mark.once
@pytest.mark.parametrize("vouched", [False, True], ids=["forged", "vouched for by mistake"])
def test_a_key_speaks_for_nobody_but_whom_it_was_made_for(bea: Student, carl: User, vouched: bool) -> None:
    """It is left out, and said; what else the key opens it opens."""
    voice = is_to_be_carl(bea, carl)
    if vouched:
        vouch_for_what_is_there()
    with nothing_changes(), bea.unlock() as unlocked:
        assert edna.speaks_for(unlocked) == []
        for answer in Answer.objects.filter(author=carl):
            with pytest.raises(errors.NotYours):
                edna.speak_as(unlocked, answer)
        assert [each.name for each in edna.history(unlocked)] == [ANONYMISE_LECTURE]
        [error] = unlocked.damaged
        assert isinstance(error, EntryForged)
        assert str(voice.pk) in str(error)


@pytest.mark.once
def test_nor_does_one_that_was_looked_up_before(bea: Student, carl: User) -> None:
    """A plan reads the entries again: the rows that it counts are never somebody else's."""
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.all()[0].pk)
    [voice] = PrincipalEntry.objects.filter(natural=False)
    with bea.unlock() as unlocked:
        assert edna.speaks_for(unlocked) == [int(str(voice.reference))]
        speak_for(voice, carl)
        with pytest.raises(EntryForged, match=str(voice.pk)):
            _plan(unlocked, bea)


@pytest.mark.once
def test_what_is_right_again_is_a_voice_again(bea: Student, carl: User) -> None:
    before = list(PrincipalEntry.objects.all())
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.all()[0].pk)
    [voice] = PrincipalEntry.objects.filter(natural=False)
    own = str(voice.reference)
    speak_for(voice, carl)
    with bea.unlock() as unlocked:
        assert edna.speaks_for(unlocked) == []
        set_entry(voice.pk, reference=own)
        set_entry(entry_of_number("777777").pk, reference=str(carl.pk))
        unlocked.forget_voices()
        assert edna.speaks_for(unlocked) == [int(own)]
        assert unlocked.damaged == []
    assert bea.reveal_latest().complete
    assert list(PrincipalEntry.objects.all()) == before


def entry_of_number(reference: str) -> PrincipalEntry:
    return PrincipalEntry.objects.get(model="websubmit.user", reference=reference)


# What a forged entry does not set going, and what makes none a right one


def _a_placeholder(bea: Student, lonely: User) -> int:
    """Their entry says that they are a pseudoprincipal, and nobody needs them."""
    set_entry(entry_of(lonely).pk, natural=False)
    return entry_of(lonely).pk


def _a_placeholders(bea: Student, lonely: User) -> int:
    """That of a real pseudoprincipal says that it is them."""
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.all()[0].pk)
    [voice] = PrincipalEntry.objects.filter(natural=False)
    return speak_for(voice, lonely).pk


def _put_in(bea: Student, lonely: User) -> int:
    PrincipalEntry.objects.filter(pk=entry_of(lonely).pk).delete()
    key = bytes(SecretKey.generate().public_key)
    PrincipalEntry.objects.create(pk=9, public_key=key, model="websubmit.user", reference=str(lonely.pk), natural=False)
    return 9


FORGERIES: dict[str, Callable[[Student, User], int]] = {
    "a placeholder": _a_placeholder,
    "a placeholder's": _a_placeholders,
    "put in": _put_in,
}


@pytest.fixture
def lonely(bea: Student) -> User:
    """Nothing refers to them, and they have disguised nothing."""
    user = User.objects.create_user("lonely@example.org", PASSWORD)
    edna.register_principal(user, password=PASSWORD)
    return user


def columns_of(pk: int) -> dict[str, Any]:
    return PrincipalEntry.objects.filter(pk=pk).values().get()


@pytest.mark.once
@pytest.mark.parametrize("forgery", FORGERIES)
def test_nobodys_account_is_swept(bea: Student, lonely: User, typed: Any, forgery: str) -> None:
    forged = FORGERIES[forgery](bea, lonely)
    orphans = PrincipalEntry.objects.filter(reference="777777").values_list("pk", flat=True)
    before, rows, left = columns_of(forged), application_dump(), 1 + len(orphans)
    ran = typed("edna_sweep", "--json")
    assert (ran.code, ran.json["forged"]) == (3, left)
    assert "edna_verify" in ran.err
    assert application_dump() == rows
    assert columns_of(forged) == before
    assert {number for what, number in ran.json.items() if what != "forged"} == {0}
    named = found()
    assert named.pop("entry_tag") == sorted([forged, *orphans])
    assert not named.keys() & {"entry_without_row", "orphan"}  # which say to sweep
    said = typed("edna_sweep")
    assert said.out == "Nothing was swept.\n"
    assert f"CommandError: {left} entr" in said.err
    assert f"edna_sweep left {left} entr" in typed("edna_health").out
    [*_, noted] = AuditEntry.objects.filter(action="sweep").order_by("id")
    assert noted.details["rows"] == 0


def _delete_by_sql(lonely: User) -> None:
    execute("DELETE FROM websubmit_user WHERE id = %s", [lonely.pk])
    residue.sweep()


LAUNDRIES: dict[str, Callable[[User], Any]] = {
    "sweep": lambda lonely: residue.sweep(),
    "deleted by the application": lambda lonely: lonely.delete(),
    "forgotten": inner_door.forget_principal,
    "deleted past Django": _delete_by_sql,
    "disguise": lambda lonely: edna.disguise(DELETE, lonely),
    "disguise_all": lambda lonely: edna.disguise_all(ANONYMISE_ALL),
    "job": lambda lonely: jobs.run(jobs.start(DELETE, principals=[lonely], operator="olga").id),
    "unlock": lambda lonely: edna.unlock(identifier=lonely.email, password=PASSWORD),
    "register": lambda lonely: edna.register_principal(lonely, password=PASSWORD),
    "login": lambda lonely: Client().post(reverse("websubmit:login"), {"username": lonely.email, "password": PASSWORD}),
    "activity": lambda lonely: inner_door.note_activity(lonely, today=datetime.date(2026, 1, 1)),
    "expire": lambda lonely: expiry.expire(),
    "verify": lambda lonely: verification.verify(),
    "vouch": lambda lonely: vouching.vouch(),
}


@pytest.mark.once
@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("laundry", LAUNDRIES)
def test_nothing_makes_a_forged_entry_a_right_one(bea: Student, lonely: User, laundry: str, forgery: str) -> None:
    """It stays what it is, as evidence, whatever is done about the person: all that may change is the day of their last visit."""
    forged = FORGERIES[forgery](bea, lonely)
    before = columns_of(forged)
    with contextlib.suppress(errors.EdnaError):
        LAUNDRIES[laundry](lonely)
    assert {**columns_of(forged), "last_seen_on": None} == before
    assert forged in found()["entry_tag"]


@pytest.mark.once
def test_sessions_end_with_the_account_whatever_its_entry_says(bea: Student, lonely: User) -> None:
    inner_door.end_sessions_on_removal(lonely, "k" * 32)
    _a_placeholder(bea, lonely)
    lonely.delete()
    assert not SessionLink.objects.exists()


@pytest.mark.once
def test_who_comes_back_does_not_push_a_forged_entry_aside(bea: Student, vandal: Vandal) -> None:
    """It has their number. They are told, nothing is changed, and they come back once the row is gone."""
    receipt = bea.disguise(DELETE)
    vandal.insert(
        "edna_principalentry",
        {
            "id": 5,
            "public_key": bytes(vandal.secret_key.public_key),
            "model": label_number("websubmit.user"),
            "reference": short_reference(str(bea.user.pk)),
            "natural": True,
            "locators": b"",
        },
    )
    with nothing_changes(), pytest.raises(EntryForged, match="Entry 5 "):
        bea.reveal(receipt)
    assert found() == {"entry_tag": [5]}
    PrincipalEntry.objects.filter(pk=5).delete()
    assert bea.reveal(receipt).complete


@pytest.mark.once
def test_the_store_itself_writes_no_tag_for_a_forged_entry(bea: Student) -> None:
    """However it was changed since it was read; nor does it delete one."""
    set_entry(entry_of(bea.user).pk, tag=None)
    [entry] = store.entries_by_reference("websubmit.user", [str(bea.user.pk)], using="default")
    for write in (
        lambda: store.save_entries([entry.detached(expires_on=None)], using="default"),
        lambda: store.save_entries([entry._replace(reference="4711")], using="default"),
        lambda: store.replace_keys([entry._replace(public_key=bytes(32))], using="default"),
        lambda: store.delete_entries([entry], using="default"),
    ):
        with nothing_changes(), pytest.raises(EntryForged):
            write()


# Jobs


def a_job(*students: Student, name: str = ANONYMISE_ALL, **kwargs: Any) -> JobReport:
    return jobs.start(name, principals=[student.user for student in students], operator="olga", **kwargs)


JOB_CHANGES: dict[str, dict[str, Any]] = {
    "disguise": {"disguise": DELETE},
    "parameters": {"params": {"lecture": "2"}},
    "parameters of another shape": {"params": ["lecture"]},
    "whom": {"everybody": True},
    "schedule": {"schedule": "inactive"},
    "operator": {"operator": "somebody else"},
    "no tag": {"tag": None},
    "a tag of zeros": {"tag": bytes(16)},
}


@first_everywhere("change", JOB_CHANGES)
def test_a_job_that_was_changed_is_not_run(bea: Student, change: str) -> None:
    job = a_job(bea, name=ANONYMISE_LECTURE, params={"lecture": Lecture.objects.all()[0].pk})
    Job.objects.filter(pk=job.id).update(**JOB_CHANGES[change])
    before = application_dump()
    with pytest.raises(JobForged, match=str(job.id)):
        jobs.run(job.id)
    assert application_dump() == before
    assert found() == {"job": [job.id]}


@pytest.mark.once
@pytest.mark.parametrize("state", ["cancelled", "finished", "paused"])
def test_a_job_is_not_started_again_by_an_update(bea: Student, vandal: Vandal, state: str) -> None:
    job = a_job(bea)
    if state == "finished":
        bea.reveal_everything() if jobs.run(job.id).done else None
    else:
        (jobs.pause if state == "paused" else jobs.cancel)(job.id)
    assert found() == {}
    Job.objects.filter(pk=job.id).update(state="running")
    if state != "paused":
        vandal.note_item(job.id, bea)
    before = application_dump()
    with pytest.raises(JobForged):
        jobs.run(job.id)
    assert application_dump() == before


@pytest.mark.once
@pytest.mark.parametrize("steer", [jobs.pause, jobs.resume, jobs.cancel, jobs.retry])
def test_no_button_makes_a_job_right(bea: Student, vandal: Vandal, steer: Any) -> None:
    job = vandal.note_job(bea)
    JobItem.objects.update(state=JobItem.State.FAILED)
    with nothing_changes(), pytest.raises(JobForged):
        steer(job)


@pytest.mark.once
def test_a_job_that_is_changed_while_it_is_at_work(bea: Student, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "JOB_BATCH": 1}
    job = jobs.start(ANONYMISE_ALL)

    def change(report: JobReport) -> None:
        Job.objects.filter(pk=job.id).update(operator="somebody else")

    report = jobs.run(job.id, progress=change)
    assert (report.done, report.left, report.state, report.sound) == (1, 1, JobState.RUNNING, False)
    with pytest.raises(JobForged):
        jobs.run(job.id)


@pytest.mark.once
def test_whom_the_site_did_not_put_on_a_list(bea: Student, carl: User, vandal: Vandal, typed: Any) -> None:
    """They are left, and the others are done. Trying again changes nothing."""
    job = a_job(bea)
    vandal.note_item(job.id, Student(carl, bea.secret_key), id=1)
    execute("UPDATE edna_job SET total = 2 WHERE id = %s", [job.id])
    for round in (1, 2):
        report = jobs.run(job.id)
        assert (report.done, report.failures, report.state) == (1, {"JobForged": 1}, JobState.FINISHED)
        noted = [entry.details for entry in AuditEntry.objects.filter(action="items_refused")]
        assert noted == [{"job": job.id, "items": 1}] * round
        if round == 1:
            jobs.retry(job.id)
    assert Answer.objects.filter(author=carl).exists()
    assert not Answer.objects.filter(author=bea.user).exists()
    assert found() == {"job_item": [1]}
    assert "JobForged" in typed("edna_jobs", "show", job.id).out


ITEM_CHANGES: dict[str, Callable[[JobItem, int, User], dict[str, Any]]] = {
    "somebody else": lambda item, other, carl: {"reference": str(carl.pk)},
    "another number": lambda item, other, carl: {"id": item.pk - 1},
    "another job": lambda item, other, carl: {"job": other},
    "no tag": lambda item, other, carl: {"tag": None},
}


@pytest.mark.once
@pytest.mark.parametrize("change", ITEM_CHANGES)
def test_an_item_that_was_changed_is_not_done(bea: Student, carl: User, change: str) -> None:
    job, other = a_job(bea), a_job(bea, name=DELETE)
    item = JobItem.objects.get(job=job.id)
    JobItem.objects.filter(job=other.id).delete()
    JobItem.objects.filter(pk=item.pk).update(**ITEM_CHANGES[change](item, other.id, carl))
    before = application_dump()
    for each in (job, other):
        jobs.run(each.id)
    assert application_dump() == before
    assert jobs.report(other.id if change == "another job" else job.id).failures == {"JobForged": 1}


@pytest.mark.once
def test_a_forged_job_is_in_nobodys_way(bea: Student, vandal: Vandal, typed: Any) -> None:
    vandal.note_job(bea)
    job = a_job(bea)
    assert typed("edna_run").code == 3
    assert jobs.report(job.id).state is JobState.FINISHED


#: MariaDB takes no JSON of more than 32 levels.
NOT_SO_DEEP = pytest.mark.only_on("sqlite", "postgresql")


@pytest.mark.parametrize(
    "params",
    ['{"a": ' + "1" * 5_000 + "}", pytest.param("[" * 900 + "]" * 900, marks=NOT_SO_DEEP), '{"a": [1]}', "null"],
)
def test_parameters_that_cannot_be_read_are_one_jobs_refusal(
    bea: Student, carl: User, vandal: Vandal, typed: Any, params: str
) -> None:
    """Whoever looks sees the others, which go on."""
    vandal.note_job(params=params)
    job = jobs.start(DELETE, principals=[bea.user]).id
    ran = typed("edna_run")
    assert (ran.code, jobs.report(job).done) == (3, 1)
    assert found() == {"job": [vandal.job]}
    assert [line.split()[2] for line in typed("edna_jobs").out.splitlines() if str(vandal.job) in line] == ["refused"]
    assert "this site did not note" in typed("edna_health").out


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE edna_job SET rate_per_second = 0",
        "UPDATE edna_job SET rate_per_second = -1",
        "INSERT INTO edna_jobitem (id, job, reference, state, reason, attempts) VALUES (7, 999, '1', 0, '', 0)",
        "INSERT INTO edna_jobrunner (id, job, name, done, skipped, seconds, seen_at)"
        " SELECT 7, id, '{host}:99999999999999999999', 0, 0, 0, '2026-01-01 00:00:00' FROM edna_job",
    ],
)
def test_rows_that_stop_no_runner(bea: Student, statement: str) -> None:
    job = jobs.start(DELETE, principals=[bea.user]).id
    execute(statement.replace("{host}", socket.gethostname()[:80]), [])
    assert jobs.tidy() == 0
    assert jobs.run(job).done == 1


def test_runners_ask_nothing_more_for_it(bea: Student) -> None:
    """What tags are over comes with what is read anyway."""
    job = a_job(bea)
    asked = [each for each in statements(lambda: jobs.run(job.id)) if "edna_job" in each and each.startswith("SELECT")]
    assert not [each for each in asked if each.count("edna_job") == 1 and "tag" not in each and "state" in each]


# Vouching


def test_what_is_right_as_it_is(bea: Student, carl: User, vandal: Vandal, typed: Any) -> None:
    """One entry, one job: only those."""
    for user in (bea.user, carl):
        set_entry(entry_of(user).pk, tag=None)
    job = vandal.note_job(bea)
    execute("UPDATE edna_job SET operator = %s", ["olga"])
    refused(typed("edna_vouch", "--entry", 1), "no such entry")
    refused(typed("edna_vouch", "--job", 1), "no such job")
    ran = typed("edna_vouch", "--entry", entry_of(bea.user).pk, "--operator", "olga")
    assert ran.code == 0, ran
    assert found()["entry_tag"] == [entry_of(carl).pk]
    assert typed("edna_vouch", "--job", job, "--json").json["tagged"] == 2
    assert found().keys() == {"entry_tag", "job_waiting"}
    assert jobs.run(job).done == 1
    noted = AuditEntry.objects.filter(action="vouch").order_by("id")
    assert noted[0].operator == "olga"
    assert [entry.details for entry in noted] == [{"entries": 1, "wrong": 1}, {"jobs": 1, "items": 1, "wrong": 2}]


def test_a_new_key_of_the_server_and_one_that_was_lost(bea: Student, settings: Any, typed: Any) -> None:
    """What was tagged under an older one is tagged anew; what has no right tag is, where that is said."""
    a_job(bea)
    own = settings.EDNA["MAC_KEYS"]
    new, last = "a new key of the server, long enough", "yet another key of the server"
    know_server_keys(new)
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": [new, *own]}
    assert found() == {"job_waiting": [Job.objects.get().pk]}
    ran = typed("edna_vouch")
    assert ran.code == 0, ran
    assert "edna vouches for 4 more" in ran.out
    assert typed("edna_vouch", "--json").json["tagged"] == 0
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": [new]}
    assert found().keys() - {"server_key_missing"} == {"job_waiting", "audit"}
    # All keys are lost.
    know_server_keys(last)
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": [last]}
    with nothing_changes():
        ran = typed("edna_vouch")
    assert (ran.code, "4 row(s) have no right tag" in ran.err) == (3, True)
    with pytest.raises(EntryForged):
        bea.disguise()
    assert typed("edna_vouch", "--as-they-are").code == 0
    assert found().keys() - {"server_key_missing"} == {"job_waiting", "audit"}
    assert bea.reveal(bea.disguise()).complete


@pytest.mark.once
def test_nobody_is_named(bea: Student, typed: Any) -> None:
    set_entry(entry_of(bea.user).pk, tag=None)
    ran = typed("edna_vouch", "--as-they-are")
    assert finds((ran.out + ran.err).encode(), {"address": BEA}) == []
    assert BEA.encode() in loot()
    vouch_for_what_is_there()
