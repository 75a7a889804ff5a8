"""A disguise without a way back does to the tables what it always does, and leaves nothing that could undo it."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction

import edna
from edna import inner_door
from edna.errors import JobForged, JobRefused, PrincipalNotRegistered
from edna.models import Bag, KeySlot, PrincipalEntry
from edna.operations import jobs
from edna.operations.exports import ledger
from edna.operations.models import AuditEntry, Job
from edna.operations.upkeep import verification
from edna.testing import cheap_keys
from tests.handing import Browser
from tests.lobsters.community import Community, Member, between, state
from tests.lobsters.models import Message, User
from tests.lobsters.specs import ANON, CLEAR_MESSAGES, DECAY, GDPR, REDACT_COMMENTS, REDACT_MESSAGES
from tests.support import DELETE, PASSWORD, enrol_in_course

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]


def for_good(member: Member, name: str, **kwargs: Any) -> None:
    assert edna.disguise(name, member.user, keep_no_way_back=True, **kwargs) is None


def after(work: Callable[[], object], known: set[str]) -> dict[str, Counter[tuple[str, ...]]]:
    """The tables once ``work`` is done, which is then undone; what was nowhere before is random, and all alike."""
    with transaction.atomic():
        work()
        tables = {
            table: Counter(tuple(repr(cell) if repr(cell) in known else "new" for cell in row) for row in rows)
            for table, rows in state().items()
        }
        transaction.set_rollback(True)
    return tables


@pytest.mark.parametrize("earlier", [None, REDACT_COMMENTS, CLEAR_MESSAGES])
def test_the_tables_end_as_with_a_way_back(small_community: Community, earlier: str | None) -> None:
    if earlier:
        small_community.bob.disguise(earlier)
    ann = small_community.ann
    known = {repr(cell) for rows in state().values() for row in rows for cell in row}
    for name in (ANON, GDPR, DECAY, REDACT_COMMENTS, REDACT_MESSAGES, CLEAR_MESSAGES):
        usual = after(lambda name=name: ann.disguise(name), known)  # type: ignore[misc]
        assert after(lambda name=name: for_good(ann, name), known) == usual  # type: ignore[misc]


def test_nothing_of_edna_is_left_but_pseudoprincipals(small_community: Community) -> None:
    ann = small_community.ann
    for_good(ann, DECAY)
    assert not Bag.objects.exists()
    entries = PrincipalEntry.objects.all()
    assert {bytes(entry.public_key) for entry in entries}.isdisjoint({bytes(ann.secret_key.public_key)})
    assert all(not entry.locators for entry in entries)
    assert not entries.filter(reference=None).exists()
    assert all(edna.is_pseudoprincipal(user) for user in User.objects.filter(pk__in=small_community.pseudoprincipals()))
    assert small_community.pseudoprincipals()
    assert verification.verify().findings == []
    with pytest.raises(PrincipalNotRegistered):
        ann.unlock()


def test_other_owners_bring_back_what_is_theirs_too(small_community: Community) -> None:
    ann, bob = small_community.ann, small_community.bob
    shared = Message.objects.get(author=ann.pk, recipient=bob.pk)
    receipt = bob.disguise(CLEAR_MESSAGES)
    for_good(ann, CLEAR_MESSAGES)
    assert not between(shared)
    assert bob.reveal(receipt).complete
    [(author, recipient)] = between(shared)
    assert recipient == bob.pk
    assert author in small_community.pseudoprincipals()
    assert ann.history() == []


def test_without_the_key_earlier_disguises_stay(small_community: Community) -> None:
    ann = small_community.ann
    receipt = ann.disguise(REDACT_MESSAGES)
    for_good(ann, DECAY)
    assert [entry.receipt for entry in ann.history()] == [receipt]
    assert not ann.reveal(receipt).held


@pytest.mark.parametrize("in_browser", [False, True])
def test_with_the_key_nothing_is_left_at_all(settings: Any, in_browser: bool) -> None:
    """Where it stays in the browser, too: the placeholders' lists were handed over, and go with the account."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser" if in_browser else "server"}
    with cheap_keys():
        bea = enrol_in_course("bea@example.org", password=PASSWORD)
        receipt = bea.disguise("websubmit.anonymize-all")
        handover = Browser(bea.secret_key).for_reveal(receipt)
        with inner_door.unlock_handed(handover) if in_browser else bea.unlock() as unlocked:
            edna.disguise(DELETE, bea.user, unlocked=unlocked, keep_no_way_back=True)
            assert unlocked.closed
    assert not (Bag.objects.exists())
    assert not (PrincipalEntry.objects.exists())
    assert not (KeySlot.objects.exists())


def everybody(name: str, *, keep_no_way_back: bool) -> jobs.JobReport:
    started = jobs.start(name, keep_no_way_back=keep_no_way_back)
    return jobs.run(started.id)


def test_a_job_does_it_to_everybody(small_community: Community, settings: Any) -> None:
    """Batch by batch, to the same rows as with a way back; nobody has anything to reveal, and the job says so."""
    settings.EDNA = {**settings.EDNA, "JOB_BATCH": 2}
    small_community.bob.disguise(CLEAR_MESSAGES)
    known = {repr(cell) for rows in state().values() for row in rows for cell in row}
    for name in (ANON, DECAY):
        usual = after(lambda name=name: everybody(name, keep_no_way_back=False), known)  # type: ignore[misc]
        assert after(lambda name=name: everybody(name, keep_no_way_back=True), known) == usual  # type: ignore[misc]
    bags = Bag.objects.count()
    report = everybody(ANON, keep_no_way_back=True)
    assert (report.done, report.failed, report.keep_no_way_back) == (report.total, 0, True)
    assert Bag.objects.count() == bags
    for member in small_community.members:
        assert [entry.name for entry in member.history()] == [CLEAR_MESSAGES] * (member is small_community.bob)
    assert AuditEntry.objects.get(action="start").details["way_back"] == "none"


def test_nobody_makes_a_job_irreversible_past_edna(small_community: Community) -> None:
    for before in (False, True):
        job = jobs.start(ANON, keep_no_way_back=before)
        Job.objects.filter(pk=job.id).update(keep_no_way_back=not before)
        with pytest.raises(JobForged):
            jobs.run(job.id)
    assert not Bag.objects.exists()
    assert User.objects.count() == 3


def test_receipts_that_nobody_gets_are_no_hindrance(small_community: Community, settings: Any) -> None:
    """A job can hand out none; for good there are none."""
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    with pytest.raises(JobRefused):
        jobs.start(ANON)
    assert everybody(ANON, keep_no_way_back=True).done == 3


def test_after_a_restore_the_ledger_has_it_done_for_good_again(
    small_community: Community, settings: Any, tmp_path: Path
) -> None:
    """Beside the same disguise with a way back, whose row goes when that is revealed."""
    settings.EDNA = {**settings.EDNA, "LEDGER": True}
    ann, bob, _ = small_community.members
    path = str(tmp_path / "ledger")
    with transaction.atomic():
        receipt = ann.disguise(REDACT_MESSAGES)
        for_good(ann, REDACT_MESSAGES)
        ann.reveal(receipt)
        everybody_else = bob.disguise(CLEAR_MESSAGES)
        assert ledger.write(path) == 2
        transaction.set_rollback(True)
    assert everybody_else
    found = ledger.reapply(path, dry_run=True)
    assert (dict(found.again), found.for_good) == ({REDACT_MESSAGES: 1, CLEAR_MESSAGES: 1}, 1)
    done = ledger.reapply(path)
    assert (done.done, done.complete) == (2, True)
    assert not ann.history()
    assert [entry.name for entry in bob.history()] == [CLEAR_MESSAGES]
    assert ledger.reapply(path, dry_run=True).already == 2


def test_the_command_asks_for_the_name_and_leaves_word_in_the_trail(
    small_community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [
        "edna_disguise",
        DECAY,
        "--principal",
        str(small_community.ann.pk),
        "--no-way-back",
        "--operator",
        "olga",
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    with pytest.raises(CommandError, match="Not confirmed"):
        call_command(*arguments)
    assert User.objects.filter(pk=small_community.ann.pk).exists()
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{DECAY}\n"))
    call_command(*arguments)
    assert not User.objects.filter(pk=small_community.ann.pk).exists()
    assert not Bag.objects.exists()
    [entry] = AuditEntry.objects.all()
    assert (entry.operator, entry.details["way_back"]) == ("olga", "none")
