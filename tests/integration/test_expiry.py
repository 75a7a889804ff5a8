"""What has expired is erased, what is held is not, and what is half gone is in nobody's way."""

from __future__ import annotations

import datetime
import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

import edna
from apps.websubmit.models import Lecture
from edna import errors, store
from edna.engine.books import beside
from edna.models import Bag, PrincipalEntry
from edna.operations import audit
from edna.operations.models import LegalHold
from edna.operations.retention import expiry, holds
from edna.operations.store import retention
from edna.operations.upkeep import residue
from edna.records.bag import BagKind
from edna.testing import application_dump
from tests.support import (
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    answer_everything,
    cut_into_chunks,
    enrol,
    execute,
    make_course,
    statements,
    whole_dump,
)

pytestmark = [pytest.mark.django_db, pytest.mark.long]

FAR = datetime.date(2150, 1, 1)
MONTHS = {month: datetime.datetime(2026, month, 10, tzinfo=datetime.UTC) for month in range(1, 13)}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the month in which things are done."""

    def set_to(month: int) -> None:
        monkeypatch.setattr("django.utils.timezone.now", lambda: MONTHS[month])

    set_to(1)
    return set_to


@pytest.fixture
def bea(settings: Any, clock: Any) -> Student:
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}
    make_course()
    bea = enrol("bea@example.org", password="four zebras on a unicycle")
    answer_everything(bea, enrol("carl@example.org"))
    return bea


def lecture(number: int) -> int:
    return list(Lecture.objects.order_by("pk").values_list("pk", flat=True))[number - 1]


def bucket(month: int) -> datetime.date:
    return datetime.date(2026, month, 1)


def buckets() -> dict[datetime.date | None, int]:
    return {each.expires_on: each.bags for each in expiry.upcoming()}


def outcome_of(student: Student, receipt: edna.Receipt) -> str:
    """What a reveal of an expired disguise says; it changes nothing."""
    before = whole_dump()
    with pytest.raises(errors.EdnaError) as caught:
        student.reveal(receipt)
    assert whole_dump() == before
    return type(caught.value).__name__


# What goes, and when


@pytest.mark.once
def test_nothing_goes_before_its_day(bea: Student) -> None:
    receipt = bea.disguise(DELETE)
    assert buckets() == {bucket(3): Bag.objects.count()}
    assert expiry.expire(today=datetime.date(2026, 2, 28)).as_dict() == {
        "bags": 0,
        "principals": 0,
        "kept": 0,
        "held": 0,
    }
    assert bea.reveal(receipt).complete


def test_on_its_day_all_of_it_goes(bea: Student) -> None:
    bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    receipt = bea.disguise(DELETE)
    assert Bag.objects.count() > 2
    done = expiry.expire(today=bucket(3))
    assert (Bag.objects.count(), done.principals, done.kept) == (0, 1, 0)
    assert not PrincipalEntry.objects.filter(reference=None).exists()
    with pytest.raises(errors.PrincipalNotRegistered, match="expires"):
        bea.reveal(receipt)
    with pytest.raises(errors.PrincipalNotRegistered):
        edna.unlock(identifier=bea.email, password="four zebras on a unicycle")


@pytest.mark.once
def test_what_is_kept_for_ever_never_goes(bea: Student, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": None}
    before = application_dump()
    receipt = bea.disguise(DELETE)
    assert [each.as_dict() for each in expiry.upcoming()] == [
        {"expires_on": None, "bags": 1, "bytes": len(bytes(Bag.objects.get().sealed)), "principals": 1, "held": None}
    ]
    assert expiry.expire(today=FAR).bags == 0
    assert bea.reveal(receipt).complete
    assert application_dump() == before


@pytest.mark.once
def test_who_is_there_keeps_their_key_when_a_bag_of_theirs_expires(bea: Student) -> None:
    receipt = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    assert expiry.expire(today=FAR).principals == 0
    assert outcome_of(bea, receipt) == "ReceiptUnknown"
    assert bea.history() == []
    newer = bea.disguise(ANONYMISE_LECTURE, with_key=True, lecture=lecture(2))
    assert bea.reveal(newer).complete


def test_the_number_of_statements_does_not_depend_on_how_many_expire(bea: Student) -> None:
    expiry.expire(today=bucket(3))
    audit.note("test", operator="olga")  # the first entry of a trail costs other statements than those after it
    bea.disguise(DELETE)
    few = len(statements(lambda: expiry.expire(today=bucket(3))))
    others = [enrol() for _ in range(4)]
    answer_everything(*others)
    for each in others:
        each.disguise(DELETE)
    assert len(statements(lambda: expiry.expire(today=bucket(3)))) == few


def test_in_batches_each_for_itself(bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "_ROWS_AT_ONCE", 2)
    for number in (1, 2):
        bea.disguise(ANONYMISE_LECTURE, lecture=lecture(number))
    assert Bag.objects.count() == 4
    seen: list[tuple[int, int]] = []
    expiry.expire(today=FAR, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 4), (4, 4)]


def test_by_bytes_too(bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "_BYTES_AT_ONCE", 1)
    bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    seen: list[tuple[int, int]] = []
    assert expiry.expire(today=FAR, progress=lambda done, total: seen.append((done, total))).bags == 2
    assert seen == [(1, 2), (2, 2)]


# Entries of removed principals


def entry_of(student: Student) -> PrincipalEntry:
    return PrincipalEntry.objects.get(public_key=bytes(student.secret_key.public_key))


@pytest.mark.once
def test_an_entry_has_a_day_only_while_its_person_is_removed(bea: Student) -> None:
    assert entry_of(bea).expires_on is None
    receipt = bea.disguise(DELETE)
    assert entry_of(bea).expires_on == bucket(3)
    bea.reveal(receipt)
    assert entry_of(bea).expires_on is None


def test_who_was_deleted_by_the_application_is_kept_as_long_as_their_newest_bag_may_be(bea: Student) -> None:
    bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    bea.user.delete()
    assert entry_of(bea).expires_on == bucket(3)


def still_opens(student: Student, receipt: edna.Receipt) -> bool:
    return receipt in [entry.receipt for entry in student.history()]


@pytest.mark.parametrize("removal", ["disguise", "the application", "past Django"])
def test_an_entry_is_kept_as_long_as_an_older_bag_of_its_person_may_be(
    bea: Student, settings: Any, removal: str
) -> None:
    """Made before there was a retention period: without the entry and its list, nobody would find it again."""
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": None}
    older = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}
    if removal == "disguise":
        bea.disguise(DELETE)
    elif removal == "the application":
        bea.user.delete()
    else:
        execute("DELETE FROM websubmit_answer WHERE author_id = %s", [bea.user.pk])
        execute("DELETE FROM websubmit_user WHERE id = %s", [bea.user.pk])
        residue.sweep()
    assert expiry.expire(today=FAR).principals == 0
    assert still_opens(bea, older)


@pytest.mark.once
def test_a_shorter_retention_period_does_not_lose_what_was_to_be_kept_longer(
    bea: Student, settings: Any, clock: Any
) -> None:
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 180}
    older = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 90}
    clock(2)
    bea.disguise(DELETE)
    assert set(buckets()) == {bucket(6), bucket(8)}
    assert (expiry.expire(today=bucket(6)).bags, still_opens(bea, older)) == (1, True)
    assert expiry.expire(today=bucket(8)).principals == 1


@pytest.mark.once
def test_a_hold_on_an_older_bag_keeps_the_entry_that_leads_to_it(bea: Student, clock: Any) -> None:
    older = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    holds.place(bucket(3), reason="case 12", operator="olga")
    clock(6)
    bea.disguise(DELETE)
    assert expiry.expire(today=bucket(8)).as_dict() == {"bags": 1, "principals": 0, "kept": 1, "held": 2}
    assert still_opens(bea, older)
    holds.lift(bucket(3), operator="olga")
    assert expiry.expire(today=bucket(8)).principals == 1


@pytest.mark.once
def test_who_has_nothing_older_is_kept_no_longer_than_the_rest(bea: Student, settings: Any) -> None:
    carl = enrol()
    answer_everything(carl)
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": None}
    carl.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}
    bea.disguise(DELETE)
    assert expiry.expire(today=bucket(3)).principals == 1


@pytest.mark.once
def test_without_lists_nobody_can_tell_whether_there_is_something_older(bea: Student, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client", "RETENTION_DAYS": 180}
    older = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}
    bea.disguise(DELETE)
    assert expiry.expire(today=bucket(3)).bags == 1
    with bea.unlock(receipts=[older]) as unlocked:
        assert [entry.receipt for entry in edna.history(unlocked)] == [older]


# Half of it is gone


@pytest.mark.parametrize("kind", ["diff", "speaks-for"])
def test_half_of_a_disguise_is_gone(bea: Student, kind: str) -> None:
    """A run was interrupted: what is left of it is in the way of nothing, and counts as gone."""
    receipt = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    other = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(2))
    Bag.objects.update(expires_on=datetime.date(2030, 1, 1))
    gone = receipt.locator.index(BagKind.DIFF if kind == "diff" else BagKind.SPEAKS_FOR, 0)
    left = receipt.locator.index(BagKind.SPEAKS_FOR if kind == "diff" else BagKind.DIFF, 0)
    Bag.objects.filter(index=gone).delete()
    Bag.objects.filter(index=left).update(expires_on=bucket(1))
    assert outcome_of(bea, receipt) == "ReceiptUnknown"
    assert [entry.receipt for entry in bea.history()] == [other]
    newest = bea.disguise(ANONYMISE_LECTURE, with_key=True, lecture=lecture(1))
    assert bea.reveal(newest).complete
    with bea.unlock() as unlocked:
        key = edna.rotate(unlocked).secret_key
    bea = Student(bea.user, key)
    assert bea.reveal(other).complete
    expiry.expire(today=bucket(2))
    assert Bag.objects.count() == 0


@pytest.mark.once
def test_a_bag_that_is_missing_before_its_day_is_still_damage(bea: Student) -> None:
    receipt = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    Bag.objects.filter(index=receipt.locator.index(BagKind.SPEAKS_FOR, 0)).delete()
    assert outcome_of(bea, receipt) == "BagMissing"


@pytest.mark.once
def test_a_bag_that_was_changed_is_damage_after_its_day_too(bea: Student, clock: Any) -> None:
    """What is due may be missing. Whatever else is wrong with it, somebody did."""
    receipt = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    changed = Bag.objects.get(index=receipt.locator.index(BagKind.SPEAKS_FOR, 0))
    changed.sealed = changed.sealed[:-1] + bytes([changed.sealed[-1] ^ 1])
    changed.save()
    clock(12)
    assert outcome_of(bea, receipt) == "BagCorrupt"


@pytest.mark.once
@pytest.mark.parametrize("gone", [0, 2, 4])
def test_a_chunk_of_a_large_disguise_has_expired(bea: Student, gone: int) -> None:
    """The others come back, and those of them that need what is gone are held."""
    with cut_into_chunks(1):
        receipt = bea.disguise(DELETE)
        locators = [receipt.locator.chunk(number) for number in range(5)]
        assert Bag.objects.count() == 5
        Bag.objects.filter(index=locators[gone].index(BagKind.DIFF, 0)).delete()
        outcome = bea.reveal(receipt)
        back = {"websubmit.user": 1, "websubmit.answer": 3}
        assert outcome.restored == (back if gone < 4 else {})
        assert len(outcome.held) == (0 if gone < 4 else 4)
        expiry.expire(today=FAR)
        assert outcome_of(bea, receipt) == ("ReceiptUnknown" if gone < 4 else "PrincipalNotRegistered")


# Buckets and holds


@pytest.mark.once
def test_a_reveal_in_part_leaves_the_rest_in_its_bucket(bea: Student, settings: Any, clock: Any) -> None:
    receipt = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    execute("UPDATE websubmit_answer SET author_id = %s WHERE author_id < 0", [bea.user.pk])
    clock(2)
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 4000}
    assert bea.reveal(receipt).held
    assert set(Bag.objects.values_list("expires_on", flat=True)) == {bucket(3)}


def test_a_bucket_that_is_held_stays_until_the_hold_is_lifted(bea: Student) -> None:
    receipt = bea.disguise(DELETE)
    holds.place(bucket(3), reason="case 12", operator="olga")
    assert [(each.expires_on, each.held) for each in expiry.upcoming()] == [(bucket(3), "case 12")]
    done = expiry.expire(today=FAR)
    assert (done.bags, done.principals, done.held) == (0, 0, 1)
    assert bea.history()[0].receipt == receipt
    holds.lift(bucket(3), operator="olga")
    assert expiry.expire(today=FAR).bags == 1
    assert [(each.action, each.operator, each.details) for each in audit.entries()] == [
        ("expire", "", {"bags": 1, "principals": 1}),
        ("lift hold", "olga", {"bucket": "2026-03-01"}),
        ("place hold", "olga", {"bucket": "2026-03-01", "reason": "case 12"}),
    ]


def test_a_hold_that_is_placed_between_two_transactions_stops_the_next(
    bea: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiry, "_ROWS_AT_ONCE", 1)
    bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    there = Bag.objects.count()

    def place(done: int, total: int) -> None:
        holds.place(bucket(3), reason="case 12", operator="olga")

    assert expiry.expire(today=FAR, progress=place).bags == 1
    assert Bag.objects.count() == there - 1 > 0


def test_a_hold_that_is_placed_when_the_bags_are_gone_keeps_the_entries(bea: Student) -> None:
    """Nothing is held any more by which the run could see it, but the hold itself."""
    bea.disguise(DELETE)

    def place(done: int, total: int) -> None:
        holds.place(bucket(3), reason="case 12", operator="olga")

    done = expiry.expire(today=FAR, progress=place)
    assert (done.bags, done.principals, done.kept) == (1, 0, 1)
    assert entry_of(bea).expires_on == bucket(3)


@pytest.mark.once
def test_what_is_held_is_no_part_of_the_work(bea: Student, clock: Any) -> None:
    """Or the bar would never come to its end."""
    bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    clock(2)
    bea.disguise(ANONYMISE_LECTURE, lecture=lecture(2))
    holds.place(bucket(3), reason="case 12", operator="olga")
    seen: list[tuple[int, int]] = []
    expiry.expire(today=FAR, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 2)]


class PostponesOne(set[bytes]):
    """Indexes that nobody has; who asks for the first time is told so after a bag was put into a later bucket, as a reveal does it."""

    def __init__(self, moved: Bag) -> None:
        self.moved, self.asked = moved, False

    def __contains__(self, index: object) -> bool:
        if not self.asked:
            store.postpone_bags([bytes(self.moved.index)], expires_on=bucket(5), using="default")
            self.asked = True
        return False


@pytest.mark.once
def test_a_bag_that_is_put_off_while_its_bucket_is_erased_stays(bea: Student) -> None:
    """Between the look at the bucket and the deletion somebody has made it last longer: it is deleted by its bucket, too."""
    bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    bags = list(Bag.objects.order_by("pk"))
    assert {bag.expires_on for bag in bags} == {bucket(3)}
    assert len(bags) > 1
    but = PostponesOne(bags[-1])
    retention.delete_some_bags(bucket(3), after=0, but=but, most=100, most_bytes=10**9, using="default")
    assert but.asked
    assert [(bag.pk, bag.expires_on) for bag in Bag.objects.all()] == [(bags[-1].pk, bucket(5))]


@pytest.mark.once
@pytest.mark.parametrize(
    ("day", "reason"), [(datetime.date(2026, 3, 2), "x"), (bucket(3), " "), (bucket(3), "x" * 201)]
)
def test_a_hold_needs_a_bucket_and_a_reason(db: None, day: datetime.date, reason: str) -> None:
    with pytest.raises(errors.HoldRefused):
        holds.place(day, reason=reason, operator="olga")
    assert holds.listing() == []
    assert audit.entries() == []


@pytest.mark.once
def test_a_hold_is_placed_once_and_lifted_once(db: None) -> None:
    holds.place(bucket(3), reason="case 12", operator="olga")
    with pytest.raises(errors.HoldRefused, match="held already"):
        holds.place(bucket(3), reason="another", operator="olga")
    assert [hold.reason for hold in holds.listing()] == ["case 12"]
    holds.lift(bucket(3), operator="olga")
    with pytest.raises(errors.HoldRefused, match="no legal hold"):
        holds.lift(bucket(3), operator="olga")
    assert len(audit.entries()) == 2


def test_what_a_reveal_moves_takes_the_hold_along(bea: Student, clock: Any) -> None:
    """The older disguise is taken back first: what it knew moves into the newer one's bag, of another month."""
    older = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    clock(6)
    bea.disguise(DELETE, with_key=True)
    holds.place(bucket(3), reason="case 12", operator="olga")
    assert bea.reveal(older).deferred
    assert {(hold.expires_on, hold.reason) for hold in holds.listing()} == {
        (bucket(3), "case 12"),
        (bucket(8), "case 12"),
    }
    assert expiry.expire(today=FAR).bags == 0
    bea.reveal_everything()


@pytest.mark.once
def test_what_moves_into_a_bag_that_expires_earlier_keeps_its_own_day(bea: Student, clock: Any) -> None:
    """The clock was wrong for a while."""
    clock(6)
    first = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    clock(1)
    bea.disguise(DELETE, with_key=True)
    assert set(buckets()) == {bucket(3), bucket(8)}
    assert bea.reveal(first).deferred
    assert set(buckets()) == {bucket(8)}
    assert entry_of(bea).expires_on == bucket(8)


@pytest.mark.once
def test_the_entry_that_leads_to_such_a_bag_is_kept_as_long(bea: Student, clock: Any) -> None:
    """Whatever day it has: without it, nobody would find the bag."""
    clock(6)
    first = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    clock(1)
    bea.disguise(DELETE, with_key=True)
    PrincipalEntry.objects.filter(reference=None).update(expires_on=bucket(3))
    assert bea.reveal(first).deferred
    assert set(buckets()) == {bucket(8)}
    assert entry_of(bea).expires_on == bucket(8)


@pytest.mark.once
def test_no_hold_spreads_where_nothing_moves(bea: Student, clock: Any) -> None:
    older = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    clock(6)
    newer = bea.disguise(ANONYMISE_LECTURE, lecture=lecture(2))
    holds.place(bucket(3), reason="case 12", operator="olga")
    assert bea.reveal(newer).complete
    assert bea.reveal(older).complete
    assert LegalHold.objects.count() == 1


def test_updates_that_held_bags_may_miss_are_kept(bea: Student) -> None:
    store.add_replay(b"sealed", logged_on=datetime.date(2020, 1, 1), using="default")
    holds.place(bucket(3), reason="case 12", operator="olga")
    store.delete_replays_before(bucket(1), unless=beside.kept().anything_held(), using="default")
    assert len(store.replays_since(datetime.date(2020, 1, 1), using="default")) == 1
    holds.lift(bucket(3), operator="olga")
    store.delete_replays_before(bucket(1), unless=beside.kept().anything_held(), using="default")
    assert store.replays_since(datetime.date(2020, 1, 1), using="default") == []


# Commands


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.once
def test_the_command_shows_what_expires_when(bea: Student, clock: Any) -> None:
    bea.disguise(DELETE)
    holds.place(bucket(5), reason="case 12", operator="olga")
    assert "2026-03-01" in run("edna_expire", "--dry-run")
    [shown] = json.loads(run("edna_expire", "--dry-run", "--json"))["buckets"]
    assert (shown["expires_on"], shown["bags"], shown["principals"], shown["due"]) == ("2026-03-01", 1, 1, False)
    clock(4)
    assert "due" in run("edna_expire", "--dry-run")
    assert Bag.objects.count() == 1
    assert json.loads(run("edna_expire", "--json")) == {"bags": 1, "principals": 1, "kept": 0, "held": 0}
    assert "Erased 0 bag(s)" in run("edna_expire")
    assert "Nothing is stored." in run("edna_expire", "--dry-run")


@pytest.mark.once
def test_the_command_for_holds(db: None) -> None:
    assert "No legal hold." in run("edna_hold", "list")
    assert "case 12" in run("edna_hold", "place", "2027-03-01", "--reason", "case 12", "--operator", "olga")
    assert json.loads(run("edna_hold", "list", "--json"))["holds"][0]["reason"] == "case 12"
    run("edna_hold", "lift", "2027-03-01", "--operator", "olga")
    assert holds.listing() == []
    for wrong in (["lift", "2027-03-01"], ["place", "--operator", "olga", "--reason", "x"], ["place", "2027-3"]):
        with pytest.raises(CommandError) as caught:
            run("edna_hold", *wrong)
        assert caught.value.returncode in (1, 2)
