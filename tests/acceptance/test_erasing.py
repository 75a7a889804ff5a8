"""Somebody has a receipt destroyed for good: nothing of it comes back, and nothing else of theirs is lost."""

from __future__ import annotations

import io
import json
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest import mock
from unittest.mock import ANY

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, transaction

import edna
from apps.websubmit.models import Answer, User
from edna import Disguise, Modify, store
from edna.errors import (
    CapabilityClosed,
    ErasureRefused,
    PrincipalNotRegistered,
    ReceiptForeign,
    ReceiptsIncomplete,
    ReceiptUnknown,
    WrongCredentials,
)
from edna.models import Bag, KeySlot, PrincipalEntry
from edna.operations.retention import holds
from edna.operations.upkeep import residue, verification
from edna.records.bag import BagKind
from edna.testing import application_dump, cheap_keys
from tests.installed import registering
from tests.lobsters.community import Community, between, state
from tests.lobsters.models import Comment, Message, Story
from tests.lobsters.models import User as Member
from tests.lobsters.specs import ANON, CLEAR_MESSAGES, CLEAR_OUTBOX, DECAY, GDPR, REDACT_COMMENTS
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    PASSWORD,
    Student,
    cut_into_chunks,
    edna_dump,
    enrol,
    enrol_in_course,
    flipped,
    nothing_changes,
    statements,
)

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]


def erase(person: Any, receipt: edna.Receipt, **kwargs: Any) -> edna.Erasure:
    with person.unlock() as unlocked:
        planned = edna.plan_erasure(receipt, unlocked, **kwargs)
        erased = edna.erase(receipt, unlocked, **kwargs)
    assert planned == erased
    return erased


@pytest.fixture
def bea() -> Student:
    with cheap_keys():
        return enrol_in_course("bea@example.org", "carl@example.org", password=PASSWORD)


def test_who_left_and_is_erased_has_nothing_to_come_back_to(bea: Student) -> None:
    """No bag, no entry and no slot is left; no table of the application is touched."""
    with cheap_keys():
        entries = PrincipalEntry.objects.count()
        receipt = bea.disguise()
        without = application_dump()
        erased = erase(bea, receipt)
        assert erased.rows == {"websubmit.answer": 4, "websubmit.user": 1}
        assert erased.forgets
        assert application_dump() == without
        assert (Bag.objects.count(), PrincipalEntry.objects.count()) == (0, entries - 1)
        assert KeySlot.objects.count() == 1  # of the classmate
        with pytest.raises(PrincipalNotRegistered):
            bea.unlock()
        with pytest.raises(WrongCredentials):
            edna.unlock(identifier="bea@example.org", password=PASSWORD)
        with pytest.raises(WrongCredentials):
            edna.unlock(recovery_code=bea.recovery_code)


def test_an_erasure_that_forgets_closes_the_capability(bea: Student) -> None:
    receipt = bea.disguise()
    with bea.unlock() as unlocked:
        edna.erase(receipt, unlocked)
        with pytest.raises(CapabilityClosed):
            edna.history(unlocked)


def test_who_has_an_account_keeps_it_and_their_key(bea: Student) -> None:
    receipt = bea.disguise(ANONYMISE_ALL)
    anonymous = application_dump()
    assert erase(bea, receipt) == edna.Erasure({"websubmit.answer": 4}, pseudoprincipals=2)
    assert application_dump() == anonymous
    assert bea.history() == []
    assert not Bag.objects.exists()
    with bea.unlock() as unlocked:
        assert edna.speaks_for(unlocked) == []
        with pytest.raises(ReceiptUnknown):
            edna.reveal(receipt, unlocked)
    assert all(edna.is_pseudoprincipal(user) for user in User.objects.filter(is_anon=True))
    bea.reveal(bea.disguise())
    assert application_dump() == anonymous


def test_only_its_owner_can_erase(bea: Student) -> None:
    receipt, carl = bea.disguise(), enrol()
    with nothing_changes(), carl.unlock() as unlocked:
        for work in (edna.erase, edna.plan_erasure):
            with pytest.raises(ReceiptForeign):
                work(receipt, unlocked)
    assert bea.reveal(receipt).complete


def test_a_plan_of_an_erasure_changes_nothing(bea: Student) -> None:
    receipt = bea.disguise()
    with nothing_changes(), bea.unlock() as unlocked:
        assert edna.plan_erasure(receipt, unlocked).forgets


def test_a_list_says_of_each_what_its_plan_says(community: Community, settings: Any) -> None:
    """What is refused stands there as well, and the others with it."""
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}
    ann, bob, _ = community.members
    receipts = [ann.disguise(ANON), ann.disguise(CLEAR_MESSAGES, with_key=True)]
    bucket = Bag.objects.values_list("expires_on", flat=True).distinct().get()
    receipts += [ann.disguise(GDPR, with_key=True), bob.disguise(CLEAR_MESSAGES)]
    with nothing_changes(), ann.unlock() as unlocked:
        planned = edna.plan_erasures(map(str, receipts), unlocked)
        assert planned == {**{each: edna.plan_erasure(each, unlocked) for each in receipts[:3]}, receipts[3]: ANY}
    assert isinstance(planned[receipts[3]], ReceiptForeign)
    holds.place(bucket, reason="case 12/26", operator="olga")
    with ann.unlock() as unlocked:
        planned = edna.plan_erasures(receipts[:3], unlocked)
    assert all(isinstance(each, ErasureRefused) for each in planned.values())


def test_a_list_takes_no_more_statements_for_many_than_for_one(bea: Student) -> None:
    receipts = [bea.disguise(ANONYMISE_ALL)]
    receipts += [bea.disguise(ANONYMISE_ALL, with_key=True) for _ in range(3)]
    with bea.unlock() as unlocked:
        edna.history(unlocked)
        one, all_four = (
            len(statements(partial(edna.plan_erasures, some, unlocked))) for some in (receipts[:1], receipts)
        )
    assert one == all_four


# From the command line


def test_the_command_shows_what_it_destroys_and_asks_for_the_name(
    bea: Student, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing happens without the name of the disguise; then there is nothing to come back to."""
    (tmp_path / "key").write_text(bea.secret_key.expose_text())
    typed = ["edna_erase", str(bea.disguise()), "--secret-key-file", str(tmp_path / "key")]
    with nothing_changes():
        monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
        with pytest.raises(CommandError, match="Not confirmed"):
            call_command(*typed)
        assert "websubmit.answer  4" in capsys.readouterr().err
        with pytest.raises(CommandError, match="add --yes"):
            call_command("edna_erase", typed[1], "--recovery-code-stdin")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{DELETE}\n"))
    call_command(*typed, "--json")
    assert json.loads(capsys.readouterr().out) == {
        "disguise": DELETE,
        "rows": {"websubmit.answer": 4, "websubmit.user": 1},
        "pseudoprincipals": 0,
        "files": 0,
        "forgets": True,
    }
    with pytest.raises(CommandError, match="key"):
        call_command(*typed, "--yes")


# Beside other disguises


def test_the_later_of_two_disguises_by_others_outlives_the_first(community: Community) -> None:
    """It was sealed to pseudoprincipals whose keys are gone, and brings rows back to them: no further."""
    ann = community.ann
    first = community.everybody()
    once = state()
    second = community.everybody()
    for receipt in first[ann.pk]:
        erase(ann, receipt)
    assert {entry.receipt for entry in ann.history()} == set(second[ann.pk])
    ann.takes_back(second)
    for other in (community.bob, community.cat):
        other.takes_back(second)
    assert state() == once
    for other in (community.bob, community.cat):
        other.takes_back(first)
    assert not ann.owns(Story)
    assert set(community.bob.owns(Story)) == {
        row["pk"] for row in Story.objects.filter(user=community.bob.pk).values("pk")
    }
    assert ann.history() == []
    assert ann.stands_behind() == set()


@pytest.mark.parametrize("keys", ["negative", "random"])
def test_what_names_a_pseudoprincipal_comes_back_after_its_voice_is_erased(
    small_community: Community, settings: Any, keys: str
) -> None:
    """Swept in between or not: where its key does not say that it is one, it is not swept."""
    settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": keys}
    ann = small_community.ann
    [first] = ann.applies(ANON)[ann.pk]
    messages = set(Message.objects.values_list("pk", "author", "recipient", "body"))
    [second] = ann.applies(CLEAR_OUTBOX, with_key=True)[ann.pk]
    erase(ann, first)
    assert bool(residue.sweep().pseudoprincipals) == (keys == "negative")
    assert ann.reveal(second).complete
    assert set(Message.objects.values_list("pk", "author", "recipient", "body")) == messages
    assert verification.verify().findings == []


def test_a_pseudoprincipal_without_a_voice_comes_back_as_one(small_community: Community) -> None:
    """A later disguise had removed its row; whoever brings that back does not become it."""
    ann = small_community.ann
    [first] = ann.applies(ANON)[ann.pk]
    anonymous = state()
    [second] = ann.applies(GDPR, with_key=True)[ann.pk]
    erase(ann, first)
    assert ann.reveal(second).complete
    assert state() == anonymous
    assert verification.verify().findings == []
    assert all(
        edna.is_pseudoprincipal(user) for user in Member.objects.filter(pk__in=small_community.pseudoprincipals())
    )
    assert ann.stands_behind() == set()


def test_who_was_removed_without_a_key_comes_back_beside_pseudoprincipals_without_a_voice(
    small_community: Community,
) -> None:
    """Each of those had a bag of its own, which is the person's now, and nobody gets the person's key with it."""
    ann = small_community.ann
    first = small_community.everybody()
    anonymous = state()
    second = small_community.everybody(GDPR)
    for receipt in first[ann.pk]:
        erase(ann, receipt)
    for _ in range(3):  # what somebody else has to bring back first is held
        for member in small_community.members:
            for entry in [entry for entry in member.history() if entry.name == GDPR]:
                member.reveal(entry.receipt)
    assert second
    assert state() == anonymous
    assert [entry.name for entry in ann.history()] == []
    assert {user.pk for user in Member.objects.all() if not edna.is_pseudoprincipal(user)} == {
        member.pk for member in small_community.members
    }
    assert verification.verify().findings == []


def test_what_an_erased_disguise_has_changed_is_held_for_an_earlier_one(community: Community) -> None:
    ann = community.ann
    first, second = ann.disguise(REDACT_COMMENTS), ann.disguise(REDACT_COMMENTS)
    redacted = state()
    erase(ann, second)
    outcome = ann.reveal(first)
    assert not outcome.restored
    assert {held.reason for held in outcome.held} == {edna.Reason.CHANGED}
    assert state() == redacted
    assert [entry.receipt for entry in ann.history()] == [first]


def test_of_two_that_put_the_very_same_there_the_one_that_is_left_brings_its_values_back(bea: Student) -> None:
    """Nothing tells the two constants apart: who wants them gone for good erases both."""

    class Withdraw(Disguise):
        name = "tests.withdraw"
        transformations = [Modify(Answer, owner="author", set={"text": "[withdrawn]"})]

    before = application_dump()
    with registering(Withdraw):
        first, second = bea.disguise(Withdraw.name), bea.disguise(Withdraw.name)
        erase(bea, second)
        assert bea.reveal(first).complete
    assert application_dump() == before


def test_what_has_moved_into_a_disguise_goes_with_it(community: Community) -> None:
    """The earlier one was taken back first, so that its values lie in the later one: as the plan says."""
    ann = community.ann
    first, second = ann.disguise(REDACT_COMMENTS), ann.disguise(REDACT_COMMENTS)
    assert ann.reveal(first).deferred
    redacted = state()
    erased = erase(ann, second)
    assert erased.rows["lobsters.comment"] == len(ann.owns(Comment))
    assert state() == redacted
    assert ann.history() == []


def test_rows_that_an_erased_disguise_has_removed_are_missed_by_an_earlier_one(community: Community) -> None:
    """It stays what it is until it is erased as well, and only then the person is forgotten."""
    ann = community.ann
    first, second = ann.disguise(REDACT_COMMENTS), ann.disguise(GDPR)
    without = state()
    assert not erase(ann, second).forgets
    outcome = ann.reveal(first)
    assert {held.reason for held in outcome.held} == {edna.Reason.ROW_MISSING}
    assert erase(ann, first).forgets
    assert state() == without
    with pytest.raises(PrincipalNotRegistered):
        ann.unlock()


# What others own, too


@pytest.mark.parametrize("who", list(permutations(("ann", "bob"))))
def test_of_rows_with_two_owners_one_erases_their_own_share(community: Community, who: tuple[str, str]) -> None:
    """Whoever comes back brings the message back; who has erased theirs stays without a name in it."""
    first, second = (getattr(community, name) for name in who)
    shared = Message.objects.get(author=community.ann.pk, recipient=community.bob.pk)
    receipts = {member.pk: member.disguise(CLEAR_MESSAGES) for member in (first, second)}
    for member, other in ((first, second), (second, first)):
        with transaction.atomic():
            erase(member, receipts[member.pk])
            assert other.reveal(receipts[other.pk]).complete
            [(author, recipient)] = between(shared)
            names = {author, recipient}
            assert other.pk in names
            assert member.pk not in names
            assert verification.verify().findings == []
            transaction.set_rollback(True)


# All or nothing


def test_of_a_disguise_in_chunks_all_of_them_go(chunked_community: Community) -> None:
    ann = chunked_community.ann
    tables = edna_dump()
    with cut_into_chunks(settings.EDNA.get("CHUNK_ROWS")):
        receipt = ann.disguise(DECAY)
        without = state()
        counts = ann.history()[0].counts
        erased = erase(ann, receipt)
    assert erased.rows == counts
    assert erased.forgets
    assert state() == without
    left = edna_dump()
    assert {table: len(rows) for table, rows in left.items() if table != PrincipalEntry._meta.db_table} == {
        table: len(rows) for table, rows in tables.items() if table != PrincipalEntry._meta.db_table
    }
    assert not Bag.objects.exists()


def test_a_chunk_that_is_gone_does_not_keep_the_others(community: Community) -> None:
    """Somebody has deleted a row of the table, or it has expired."""
    ann = community.ann
    with cut_into_chunks(2):
        receipt = ann.disguise(ANON)
        lost = [receipt.locator.chunk(3).index(kind, number) for kind in BagKind for number in range(3)]
        store.delete_bags(lost, using="default")
        erase(ann, receipt)
    assert not Bag.objects.exists()


def test_an_erasure_that_fails_has_erased_nothing(community: Community, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = community.ann
    ann.disguise(ANON)
    [receipt] = [entry.receipt for entry in ann.history()]
    everybody = community.everybody()
    monkeypatch.setattr(store, "delete_bags", mock.Mock(side_effect=OperationalError("disk full")))
    with nothing_changes(), pytest.raises(OperationalError), ann.unlock() as unlocked:
        edna.erase(receipt, unlocked)
    monkeypatch.undo()
    ann.takes_back(everybody)
    assert ann.reveal(receipt).complete


def test_what_is_held_by_law_is_not_erased(bea: Student, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}
    receipt = bea.disguise()
    bucket = Bag.objects.values_list("expires_on", flat=True).distinct().get()
    assert bucket is not None
    holds.place(bucket, reason="case 12/26", operator="olga")
    with nothing_changes(), bea.unlock() as unlocked:
        for work in (edna.erase, edna.plan_erasure):
            with pytest.raises(ErasureRefused, match="legal hold"):
                work(receipt, unlocked)
    holds.lift(bucket, operator="olga")
    assert erase(bea, receipt).forgets


def test_while_a_bag_does_not_open_no_key_goes_that_it_may_need(community: Community) -> None:
    ann = community.ann
    first = ann.disguise(ANON)
    second = community.everybody()[ann.pk][0]
    index = second.locator.index(BagKind.DIFF, 0)
    bag = Bag.objects.get(index=index)
    Bag.objects.filter(pk=bag.pk).update(sealed=flipped(bytes(bag.sealed)))
    with nothing_changes(), pytest.raises(ReceiptsIncomplete), ann.unlock() as unlocked:
        edna.erase(first, unlocked)
    Bag.objects.filter(pk=bag.pk).update(sealed=bag.sealed)
    erase(ann, first)
    assert ann.reveal(second).complete


class Redact(Disguise):
    name = "test.redact"
    transformations = [Modify(Answer, owner="author", set={"text": "[redacted]"})]


def test_who_has_a_bag_that_does_not_open_is_not_forgotten(bea: Student) -> None:
    """It may be restored from a backup, and their key opens it then."""
    with cheap_keys(), registering(Redact):
        first, second = bea.disguise(Redact.name), bea.disguise()
        bag = Bag.objects.get(index=first.locator.index(BagKind.DIFF, 0))
        Bag.objects.filter(pk=bag.pk).update(sealed=flipped(bytes(bag.sealed)))
        assert not erase(bea, second).forgets
        Bag.objects.filter(pk=bag.pk).update(sealed=bag.sealed)
        assert erase(bea, first).forgets


@pytest.mark.parametrize("told", [False, True])
def test_who_has_receipts_that_are_still_out_is_not_forgotten(bea: Student, settings: Any, told: bool) -> None:
    """Where receipts are the only way: whether one is out, nobody knows, or the person says so by giving it."""
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    before = application_dump()
    out, gone = bea.disguise(ANONYMISE_ALL), bea.disguise()
    anonymous = application_dump()
    with bea.unlock(receipts=[out, gone] if told else [gone]) as unlocked:
        assert not edna.plan_erasure(gone, unlocked, receipts_complete=told).forgets
        assert not edna.erase(gone, unlocked, receipts_complete=told).forgets
    assert application_dump() == anonymous
    with bea.unlock(receipts=[out]) as unlocked:
        assert edna.reveal(out, unlocked).held
    assert application_dump() != before
