"""A large disguise that was interrupted between two chunks, and is begun again: one receipt, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.test.utils import override_settings

import edna
from edna import store
from edna.engine.chunks import disguise as disguising
from edna.engine.chunks.parts import Part
from edna.models import PrincipalEntry
from edna.records.bag import BagKind
from tests.databases import first_everywhere
from tests.interrupting import Transactions
from tests.lobsters.community import Community, Member, state
from tests.lobsters.models import Comment, Draft, Tag
from tests.lobsters.specs import ANON, BY_URL, CLEAR_DRAFTS, DECAY, GDPR, REDACT_COMMENTS, TOPIC
from tests.support import cut_into_chunks, flipped, rows_of, statements

pytestmark = [pytest.mark.django_db, pytest.mark.every_database, pytest.mark.thorough]

LARGE_ONES = (ANON, DECAY, GDPR)


@pytest.fixture(autouse=True)
def most() -> Iterator[int]:
    """Chunks of two rows."""
    with cut_into_chunks(2):
        yield 2


def noted() -> list[bytes]:
    """What the entries say of disguises that are under way."""
    return [bytes(note) for (note,) in rows_of("edna_principalentry", ["under_way"]) if note is not None]


def interrupted(member: Member, name: str, counted: Transactions, *, at_most: int = 3, **options: Any) -> edna.Receipt:
    """The process dies after so many chunks; the receipt that the history shows."""
    assert counted.of(lambda: member.disguise(name, **options), at_most=at_most) == at_most
    receipts = [entry.receipt for entry in member.history() if entry.name == name]
    assert len(receipts) == 1
    return receipts[0]


def receipts_of(member: Member) -> set[edna.Receipt]:
    return {entry.receipt for entry in member.history()}


@first_everywhere("at_most", [2, 1, 5])
@pytest.mark.parametrize("name", LARGE_ONES)
def test_doing_it_again_goes_on_under_the_same_receipt(
    community: Community, counted: Transactions, name: str, at_most: int
) -> None:
    ann = community.ann
    whole = edna.disguise(name, ann.user, atomic=True)
    expected = {table: len(rows) for table, rows in state().items()}, ann.counts(), ann.history()[0].counts
    ann.reveal(whole)
    first = interrupted(ann, name, counted, at_most=at_most)

    receipt = ann.disguise(name)

    [entry] = ann.history()
    assert receipt == first == entry.receipt
    assert ({table: len(rows) for table, rows in state().items()}, ann.counts(), entry.counts) == expected
    assert ann.reveal(receipt).complete
    assert ann.history() == []
    assert community.is_as_before()


@pytest.mark.once
@pytest.mark.parametrize("name", LARGE_ONES)
def test_the_key_of_those_who_were_made_so_far_does_not_disguise_theirs(
    community: Community, counted: Transactions, name: str
) -> None:
    ann = community.ann
    whole = ann.disguise(name, with_key=True)
    expected = {table: len(rows) for table, rows in state().items()}, ann.history()[0].counts
    ann.reveal(whole)
    first = interrupted(ann, name, counted, with_key=True)
    with ann.unlock() as unlocked:
        left = edna.plan(name, ann.user, unlocked=unlocked)
    assert sum(table.rows for table in left.tables) < sum(expected[1].values())

    receipt = ann.disguise(name, with_key=True)

    [entry] = ann.history()
    assert receipt == first == entry.receipt
    assert ({table: len(rows) for table, rows in state().items()}, entry.counts) == expected
    assert ann.reveal(receipt).complete
    assert community.is_as_before()


@pytest.mark.once
def test_what_was_modified_before_is_modified_again_and_comes_back(community: Community, counted: Transactions) -> None:
    """Only the key tells which rows those are. A reveal undoes the later change first."""
    ann = community.ann
    texts = set(Comment.objects.filter(user=ann.pk).values_list("text", flat=True))
    first = interrupted(ann, REDACT_COMMENTS, counted, at_most=1)
    assert ann.disguise(REDACT_COMMENTS) == first
    assert not texts & set(Comment.objects.filter(user=ann.pk).values_list("text", flat=True))
    assert ann.reveal(first).complete
    assert community.is_as_before()


@pytest.mark.once
@pytest.mark.parametrize("inside", ["atomic", "few rows"])
def test_the_rest_may_be_one_transaction(
    community: Community, counted: Transactions, settings: Any, most: int, inside: str
) -> None:
    ann = community.ann
    first = interrupted(ann, GDPR, counted)
    receipts: list[edna.Receipt] = []
    rows = 2_000 if inside == "few rows" else most
    with override_settings(EDNA={**settings.EDNA, "CHUNK_ROWS": rows}):
        done = counted.of(lambda: receipts.append(edna.disguise(GDPR, ann.user, atomic=inside == "atomic")))
    assert (done, receipts, noted()) == (1, [first], [])
    assert ann.reveal(first).complete
    assert community.is_as_before()


def test_it_may_die_again_and_again(community: Community, counted: Transactions) -> None:
    ann = community.ann
    first = interrupted(ann, GDPR, counted, at_most=1)
    while counted.of(lambda: ann.disguise(GDPR), at_most=1) and ann.owns(Draft):
        assert receipts_of(ann) == {first}
        assert len(noted()) == 1
    ann.disguise(GDPR)
    assert receipts_of(ann) == {first}
    assert ann.reveal(first).complete
    assert community.is_as_before()


@pytest.mark.once
def test_a_reveal_in_the_middle_ends_it(community: Community, counted: Transactions) -> None:
    ann = community.ann
    first = interrupted(ann, GDPR, counted)
    assert ann.reveal(first).complete
    assert community.is_as_before()
    assert noted() == []

    receipt = ann.disguise(GDPR)

    assert receipts_of(ann) == {receipt} != {first}
    assert ann.reveal(receipt).complete
    assert community.is_as_before()


@pytest.mark.once
@pytest.mark.parametrize("back", [1, 2])
def test_a_reveal_that_dies_in_the_middle_leaves_the_receipt(
    community: Community, counted: Transactions, back: int
) -> None:
    """What is left has no gaps, and what goes on comes behind it."""
    ann = community.ann
    first = interrupted(ann, GDPR, counted, at_most=4)
    assert counted.of(lambda: ann.reveal(first), at_most=back) == back
    assert len(noted()) == 1

    assert ann.disguise(GDPR) == first

    assert receipts_of(ann) == {first}
    assert ann.reveal(first).complete
    assert community.is_as_before()


@pytest.mark.once
def test_an_erasure_in_the_middle_ends_it(community: Community, counted: Transactions) -> None:
    ann = community.ann
    first = interrupted(ann, ANON, counted)
    with ann.unlock() as unlocked:
        edna.erase(first, unlocked)
    assert noted() == []
    assert ann.disguise(ANON) != first


@pytest.mark.once
@pytest.mark.parametrize("with_key", [False, True])
def test_a_smaller_disguise_in_between_changes_nothing(
    community: Community, counted: Transactions, settings: Any, with_key: bool
) -> None:
    ann = community.ann
    first = interrupted(ann, GDPR, counted)
    between = edna.disguise(CLEAR_DRAFTS, ann.user, atomic=True)

    assert ann.disguise(GDPR, with_key=with_key) == first

    assert receipts_of(ann) == {first, between}
    assert ann.reveal(first).held == []
    assert ann.reveal(between).complete
    assert community.is_as_before()


@pytest.mark.once
def test_another_large_disguise_takes_its_place(community: Community, counted: Transactions) -> None:
    """Of one disguise is noted what is under way; the other goes on under a receipt of its own. Everything comes back."""
    ann = community.ann
    first = interrupted(ann, ANON, counted)
    between = ann.disguise(BY_URL)
    assert noted() == []

    last = ann.disguise(ANON)

    assert receipts_of(ann) == {first, between, last}
    for receipt in (between, first, last):
        assert ann.reveal(receipt).held == []
    assert community.is_as_before()


@pytest.mark.once
def test_the_account_takes_along_what_was_under_way(community: Community, counted: Transactions) -> None:
    """What is left says nothing of a disguise, and what is begun when the account is back is another one."""
    ann = community.ann
    first = interrupted(ann, ANON, counted)
    gone = edna.disguise(GDPR, ann.user, atomic=True)
    assert noted() == []
    assert ann.reveal(gone).held == []
    last = ann.disguise(ANON)
    assert last != first
    assert receipts_of(ann) == {first, last}
    for receipt in (last, first):
        assert ann.reveal(receipt).held == []
    assert community.is_as_before()


@pytest.mark.once
def test_other_parameters_are_another_disguise(community: Community, counted: Transactions) -> None:
    ann = community.ann
    tags = list(Tag.objects.values_list("name", flat=True))
    assert counted.of(lambda: ann.disguise(TOPIC, tag=tags[0]), at_most=1) == 1
    [entry] = ann.history()
    assert ann.disguise(TOPIC, tag=tags[1]) != entry.receipt
    for receipt in receipts_of(ann):
        assert ann.reveal(receipt).held == []
    assert community.is_as_before()


@pytest.mark.once
def test_a_new_key_of_the_person_keeps_the_receipt(community: Community, counted: Transactions) -> None:
    ann = community.ann
    first = interrupted(ann, GDPR, counted)
    with ann.unlock() as unlocked:
        made = edna.rotate(unlocked)
    assert made.secret_key is not None
    ann.secret_key = made.secret_key

    assert ann.disguise(GDPR) == first

    assert receipts_of(ann) == {first}
    assert ann.reveal(first).complete


@pytest.mark.once
def test_a_rotation_that_gives_up_the_first_chunk_ends_it(community: Community, counted: Transactions) -> None:
    """The receipt would not lead to the rest."""
    ann = community.ann
    first = interrupted(ann, GDPR, counted)
    for kind in (BagKind.DIFF, BagKind.SPEAKS_FOR):
        _damage(first.locator.index(kind, 0))
    with ann.unlock() as unlocked:
        made = edna.rotate(unlocked, leave_damaged=True)
    assert made.secret_key is not None
    ann.secret_key = made.secret_key
    assert noted() == []

    receipt = ann.disguise(GDPR)

    assert receipt != first
    assert receipt in receipts_of(ann)


@pytest.mark.once
@pytest.mark.parametrize("kept", [True, False])
def test_new_keys_of_the_server_keep_the_receipt_as_long_as_the_former_one_is_there(
    community: Community, counted: Transactions, settings: Any, kept: bool
) -> None:
    ann = community.ann
    first = interrupted(ann, ANON, counted)
    former = settings.EDNA["MAC_KEYS"]
    with override_settings(EDNA={**settings.EDNA, "MAC_KEYS": ["n" * 64, *former]}):
        call_command("edna_keys", "add", operator="olga", verbosity=0)
        call_command("edna_vouch", operator="olga", verbosity=0)
    keys = ["n" * 64, *former] if kept else ["n" * 64]
    with override_settings(EDNA={**settings.EDNA, "MAC_KEYS": keys}):
        receipt = ann.disguise(ANON)
        assert (receipt == first) is kept
        assert noted() == []
    with override_settings(EDNA={**settings.EDNA, "MAC_KEYS": ["n" * 64, *former]}):
        assert receipts_of(ann) == {first, receipt}
        for each in {first, receipt}:
            assert ann.reveal(each).held == []
    assert state() == community.before  # entries and keys of the server are other ones


@pytest.mark.once
def test_what_expires_in_the_middle_ends_it(community: Community, counted: Transactions) -> None:
    ann = community.ann
    first = interrupted(ann, ANON, counted)
    store.delete_bags([index for (index,) in rows_of("edna_bag", ["index"])], using="default")

    receipt = ann.disguise(ANON)

    assert receipt != first
    assert noted() == []
    assert ann.reveal(receipt).held == []


@pytest.mark.once
def test_in_locator_mode_client_it_is_another_disguise(community: Community, counted: Transactions) -> None:
    """The site has changed its mind in between: what is not listed, no earlier receipt leads to."""
    ann = community.ann
    first = interrupted(ann, GDPR, counted)
    with override_settings(EDNA={**django_settings.EDNA, "LOCATORS": "client"}):
        receipt = ann.disguise(GDPR)
        assert receipt != first
        with ann.unlock(receipts=[str(receipt)]) as unlocked:
            assert edna.reveal(receipt, unlocked).held == []
            assert edna.reveal(first, unlocked).held == []
    assert community.is_as_before()


def test_two_processes_share_one_receipt(community: Community, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both begin, or go on, while the other is at it: each chunk gets a number of its own."""
    ann = community.ann
    real, receipts = disguising._Disguising.do, []

    def do(self: Any, part: Part) -> bool:
        if self.chunk.number == 2 and not receipts:
            monkeypatch.setattr(disguising._Disguising, "do", real)
            receipts.append(ann.disguise(ANON))
        return real(self, part)

    monkeypatch.setattr(disguising._Disguising, "do", do)
    receipts.append(ann.disguise(ANON))
    assert len(receipts) == 2
    for receipt in receipts_of(ann):
        assert ann.reveal(receipt).complete
    assert community.is_as_before()


# What the tables say meanwhile


def test_the_note_is_there_from_the_first_chunk_to_the_last(community: Community, counted: Transactions) -> None:
    ann = community.ann
    interrupted(ann, GDPR, counted, at_most=1)
    [note] = noted()
    interrupted(ann, GDPR, counted, at_most=2)
    assert noted() == [note]
    ann.disguise(GDPR)
    assert noted() == []


@pytest.mark.once
def test_notes_are_alike_in_length_and_hold_no_locator(community: Community, counted: Transactions) -> None:
    first = interrupted(community.ann, ANON, counted)
    other = interrupted(community.bob, GDPR, counted)
    notes = noted()
    assert {len(note) for note in notes} == {96}
    assert len(set(notes)) == 2
    for receipt in (first, other):
        assert not any(receipt.locator.expose() in note for note in notes)


@pytest.mark.once
@pytest.mark.parametrize("forge", [lambda note, other: other, lambda note, other: flipped(note)])
def test_a_note_of_somebody_elses_or_a_changed_one_counts_nowhere(
    community: Community, counted: Transactions, forge: Callable[[bytes, bytes], bytes]
) -> None:
    ann, bob = community.ann, community.bob
    first = interrupted(ann, ANON, counted)
    foreign = interrupted(bob, ANON, counted)
    notes = dict(PrincipalEntry.objects.exclude(under_way=None).values_list("reference", "under_way"))
    forged = forge(notes[str(ann.pk)], notes[str(bob.pk)])
    PrincipalEntry.objects.filter(reference=str(ann.pk)).update(under_way=forged)

    receipt = ann.disguise(ANON)

    assert receipt not in (first, foreign)
    assert receipts_of(ann) == {first, receipt}
    assert bob.disguise(ANON) == foreign
    for each in (first, receipt):
        assert ann.reveal(each).held == []
    assert bob.reveal(foreign).complete
    assert community.is_as_before()


@pytest.mark.once
def test_it_costs_those_nothing_for_whom_nothing_is_under_way(community: Community) -> None:
    told = statements(lambda: edna.disguise(CLEAR_DRAFTS, community.ann.user))
    assert not any("UPDATE" in each and "under_way" in each for each in told)
    assert not any("INSERT" in each and "under_way" in each for each in told)


def _damage(place: bytes) -> None:
    for pk, index, sealed in rows_of("edna_bag", ["id", "index", "sealed"]):
        if bytes(index) == place:
            store.Bag.objects.filter(pk=pk).update(sealed=flipped(sealed))
