"""Expiry and sweeping while people come and go, and killed in the middle: nobody gets half, and nothing that is needed goes."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections

import edna
from apps.websubmit.models import Answer
from edna import errors
from edna.models import Bag, PrincipalEntry
from edna.operations.models import LastRun
from edna.operations.retention import expiry, holds
from edna.operations.upkeep import residue, verification
from edna.records.bag import BagKind
from edna.testing import application_dump
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    Student,
    answer_everything,
    edna_dump,
    enrol,
    in_another_process,
    make_course,
)
from tests.waiting import at_once

pytestmark = [pytest.mark.django_db(transaction=True)]

FAR = datetime.date(2150, 1, 1)
#: What one of two who meet may be told; nothing was changed then.
LOST = (errors.DatabaseBusy,)


@pytest.fixture
def students() -> Iterator[list[Student]]:
    make_course()
    made = [enrol() for _ in range(3)]
    answer_everything(*made)
    yield made
    connections.close_all()


def tables() -> Any:
    return {name: rows for name, rows in edna_dump().items() if name != LastRun._meta.db_table}


def swept_again_and_again() -> list[int]:
    return [residue.sweep().pseudoprincipals for _ in range(3)]


def test_people_come_back_while_their_pseudoprincipals_are_swept(students: list[Student]) -> None:
    """Those of the first disguise own nothing since the second one; whoever reveals needs them again at that moment."""
    before, own = application_dump(), tables()
    lecture = Answer.objects.values_list("question__lecture", flat=True)[0]
    receipts = []
    for student in students:
        student.disguise(ANONYMISE_LECTURE, lecture=lecture)
        receipts.append(student.disguise(ANONYMISE_ALL, with_key=True))
    results = at_once(
        swept_again_and_again,
        swept_again_and_again,
        *(lambda s=s, r=r: s.reveal(r) for s, r in zip(students, receipts, strict=True)),
    )
    for result in results:
        assert isinstance(result, (list, edna.Outcome, *LOST)), results
        assert not isinstance(result, edna.Outcome) or result.complete
    swept_again_and_again()
    for student in students:
        student.reveal_everything()
    assert application_dump() == before
    assert tables() == own


def test_somebody_comes_back_on_the_very_day(
    students: list[Student], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it, or nothing."""
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}
    monkeypatch.setattr(expiry, "_ROWS_AT_ONCE", 1)
    receipts = [student.disguise(ANONYMISE_ALL) for student in students]
    Bag.objects.update(expires_on="2020-01-01")
    results = at_once(expiry.expire, *(lambda s=s, r=r: s.reveal(r) for s, r in zip(students, receipts, strict=True)))
    told = (expiry.Expired, edna.Outcome, errors.ReceiptUnknown, *LOST)
    assert all(isinstance(result, told) for result in results), results
    for student, result in zip(students, results[1:], strict=True):
        back = Answer.objects.filter(author=student.user.pk).count()
        assert back == (4 if isinstance(result, edna.Outcome) else 0)
        assert not isinstance(result, edna.Outcome) or result.complete
    expiry.expire()
    assert Bag.objects.count() == 0


def test_a_hold_that_is_placed_while_its_bucket_is_erased(
    students: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it is placed, nothing more goes."""
    monkeypatch.setattr(expiry, "_ROWS_AT_ONCE", 1)
    for student in students:
        student.disguise(ANONYMISE_ALL)
    bucket = datetime.date(2020, 1, 1)
    Bag.objects.update(expires_on=bucket)

    def place() -> int:
        holds.place(bucket, reason="case 12", operator="olga")
        return Bag.objects.count()

    done, left = at_once(expiry.expire, place)
    assert isinstance(done, (expiry.Expired, *LOST)), done
    if isinstance(left, int):
        assert Bag.objects.count() == left
        assert expiry.expire().bags == 0
    else:
        assert isinstance(left, LOST)


@pytest.mark.slow
@pytest.mark.every_database
@pytest.mark.parametrize("milliseconds", [1, 20, 50, 90, 150, 250])
def test_killed_at_any_moment(students: list[Student], milliseconds: int) -> None:
    """What was done is done, the store is sound, and running it again does the rest."""
    for student in students:
        student.disguise(ANONYMISE_ALL)
    kept = students[0].history()[0].receipt
    for index in [kept.locator.index(kind, 0) for kind in BagKind]:
        Bag.objects.filter(index=index).update(expires_on="2100-01-01")
    Bag.objects.exclude(expires_on="2100-01-01").update(expires_on="2020-01-01")

    def work() -> None:
        expiry._ROWS_AT_ONCE = 1  # type: ignore[misc]
        expiry.expire()
        residue.sweep()

    in_another_process(work, killed_after=milliseconds / 1000)
    assert verification.verify().worst in (None, "note", "attention")
    expiry.expire()
    residue.sweep()
    assert verification.verify().findings == []
    assert set(Bag.objects.values_list("expires_on", flat=True)) == {datetime.date(2100, 1, 1)}
    assert students[0].reveal(kept).complete
    assert PrincipalEntry.objects.filter(natural=True).count() == 3
