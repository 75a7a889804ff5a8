"""A disguise without a way back does to the tables what it always does, and leaves nothing that could undo it."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction

import edna
from edna.errors import PrincipalNotRegistered
from edna.models import Bag, KeySlot, PrincipalEntry
from edna.operations.models import AuditEntry
from edna.operations.upkeep import verification
from edna.testing import cheap_keys
from tests.lobsters.community import Community, Member, between, state
from tests.lobsters.models import Message, User
from tests.lobsters.specs import ANON, CLEAR_MESSAGES, DECAY, GDPR, REDACT_COMMENTS, REDACT_MESSAGES
from tests.support import DELETE, PASSWORD, enrol_in_course

pytestmark = [pytest.mark.django_db, pytest.mark.once]


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


def test_with_the_key_nothing_is_left_at_all() -> None:
    with cheap_keys():
        bea = enrol_in_course("bea@example.org", password=PASSWORD)
        bea.disguise("websubmit.anonymize-all")
        with bea.unlock() as unlocked:
            edna.disguise(DELETE, bea.user, unlocked=unlocked, keep_no_way_back=True)
            assert unlocked.closed
    assert not (Bag.objects.exists())
    assert not (PrincipalEntry.objects.exists())
    assert not (KeySlot.objects.exists())


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
