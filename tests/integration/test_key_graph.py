"""A capability opens each bag once: it remembers what it has opened, by the sealed bytes, within bounds and until it is closed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.db import transaction

import edna
from apps.websubmit.models import Answer, User
from edna.engine.bags import memory
from edna.records import bag as bags
from edna.testing import application_dump
from tests.support import ANONYMISE_ALL, DELETE, Student, edna_dump, enrol_in_course

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[bytes]:
    """How often each sealed bag was opened."""
    counted: Counter[bytes] = Counter()
    really = bags.open_sealed

    def counting(sealed: bytes, **options: Any) -> bytes:
        content = really(sealed, **options)
        counted[sealed] += 1
        return content

    monkeypatch.setattr(bags, "open_sealed", counting)
    return counted


def test_who_looks_and_reveals_opens_each_bag_once(bea: Student, opened: Counter[bytes]) -> None:
    before, tables = application_dump(), edna_dump()
    edna.disguise_all(ANONYMISE_ALL)
    bea.disguise(DELETE, with_key=True)
    opened.clear()
    with bea.unlock() as unlocked:
        entries = edna.history(unlocked)
        assert len(opened) > len(entries) > 1
        assert edna.history(unlocked) == entries
        for entry in entries:
            assert edna.reveal(entry.receipt, unlocked).complete
    assert set(opened.values()) == {1}
    assert application_dump() == before
    assert edna_dump() == tables


def test_who_speaks_for_others_and_disguises_again_opens_each_bag_once(bea: Student, opened: Counter[bytes]) -> None:
    edna.disguise_all(ANONYMISE_ALL)
    with bea.unlock() as unlocked:
        assert edna.speaks_for(unlocked, User)
        for answer in Answer.objects.filter(author__in=edna.speaks_for(unlocked, User)):
            edna.speak_as(unlocked, answer)
        edna.disguise(DELETE, bea.user, unlocked=unlocked)
        assert len(edna.history(unlocked)) == 2
    assert set(opened.values()) == {1}


def test_a_reveal_that_was_refused_leaves_nothing_in_what_is_remembered(bea: Student, opened: Counter[bytes]) -> None:
    """It has folded, renamed and marked its records, and the next one begins with those that are sealed."""
    before, tables = application_dump(), edna_dump()
    first = bea.disguise(ANONYMISE_ALL)
    second = bea.disguise(DELETE, with_key=True)
    opened.clear()
    squatter = User.objects.create_user(bea.email)
    with bea.unlock() as unlocked:
        for _ in range(2):
            with pytest.raises(edna.errors.RevealRefused):
                edna.reveal(second, unlocked, allow_partial=False)
            with transaction.atomic():
                assert edna.reveal(first, unlocked).deferred
                transaction.set_rollback(True)
        squatter.delete()
        assert edna.reveal(first, unlocked).complete
        assert edna.reveal(second, unlocked).complete
    assert set(opened.values()) == {1}
    assert application_dump() == before
    assert edna_dump() == tables


def test_what_was_sealed_with_a_key_of_the_server_that_was_taken_back_does_not_open_any_more(
    bea: Student, settings: Any
) -> None:
    receipt = bea.disguise(DELETE)
    with bea.unlock() as unlocked:
        assert edna.history(unlocked)
        settings.EDNA = {**settings.EDNA, "MAC_KEYS": [b"another key of this server......"]}
        assert edna.history(unlocked) == []
        with pytest.raises(edna.errors.EdnaError):
            edna.reveal(receipt, unlocked)


def test_it_is_bounded_and_ends_with_the_capability(
    bea: Student, opened: Counter[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of more than that, what was used last stays."""
    bea.disguise(ANONYMISE_ALL)
    unlocked = bea.unlock()
    edna.history(unlocked)
    assert len(unlocked.memory) == len(opened) == 2
    unlocked.close()
    assert len(unlocked.memory) == 0
    monkeypatch.setattr(memory, "MOST_BYTES", 1)
    with bea.unlock() as unlocked:
        assert edna.history(unlocked)
        assert edna.history(unlocked)
        assert len(unlocked.memory) == 0
