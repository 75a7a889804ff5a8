"""The erasure ledger: a row from the transaction that disguises somebody to the one that brings them back, linking no one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

import edna
from apps.websubmit.models import Answer, Lecture, Question, User
from edna.engine.chunks import reveal as chunks
from edna.operations.models import LedgerEntry
from edna.testing.search import spellings
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    answer_everything,
    cut_into_chunks,
    enrol,
    enrol_many,
    know_server_keys,
    loot,
    make_course,
    statements,
)

pytestmark = pytest.mark.django_db

OLD, NEW = "an old key of at least 16 bytes", "a new key of at least 16 bytes"


def with_ledger(**changed: Any) -> override_settings:
    return override_settings(EDNA={**settings.EDNA, "LEDGER": True, **changed})


@pytest.fixture
def ledger() -> Iterator[None]:
    with with_ledger():
        yield


def rows() -> int:
    return LedgerEntry.objects.count()


@pytest.mark.usefixtures("ledger")
def test_a_row_is_there_while_somebody_is_disguised() -> None:
    make_course()
    bea, carl = enrol(), enrol()
    answer_everything(bea, carl)
    bea.disguise()
    assert rows() == 1
    carl.disguise()
    assert rows() == 2
    bea.reveal_everything()
    assert rows() == 1
    carl.reveal_everything()
    assert rows() == 0


@pytest.mark.once
def test_none_is_written_while_the_ledger_is_off() -> None:
    make_course()
    bea = enrol()
    answer_everything(bea)
    bea.disguise()
    assert rows() == 0


@pytest.mark.usefixtures("ledger")
def test_the_same_disguise_twice_is_one_row_until_both_are_revealed() -> None:
    make_course()
    bea = enrol()
    answer_everything(bea)
    lecture = Lecture.objects.order_by("pk").first()
    bea.disguise(ANONYMISE_LECTURE, lecture=lecture.pk)
    question = Question.objects.create(lecture=lecture, number=9, text="And now?")
    Answer.objects.create(author=bea.user, question=question, text="So.")
    bea.disguise(ANONYMISE_LECTURE, lecture=lecture.pk)
    assert rows() == 1
    bea.reveal_latest()
    assert rows() == 1
    bea.reveal_latest()
    assert rows() == 0


@pytest.mark.once
@pytest.mark.usefixtures("ledger")
def test_other_parameters_are_another_row() -> None:
    make_course()
    bea = enrol()
    answer_everything(bea)
    for lecture in Lecture.objects.all():
        bea.disguise(ANONYMISE_LECTURE, lecture=lecture.pk)
    assert rows() == 2
    bea.reveal_everything()
    assert rows() == 0


@pytest.mark.usefixtures("ledger")
def test_a_row_stays_until_everything_is_back() -> None:
    """A taken address keeps the account away; what is held may have to be disguised again after a restore."""
    make_course()
    bea = enrol("bea@example.org")
    answer_everything(bea)
    receipt = bea.disguise()
    User.objects.create_user("bea@example.org")
    assert bea.reveal(receipt).held
    assert rows() == 1
    assert bea.reveal(receipt, overrides={"websubmit.user.email": "other@example.org"}).complete
    assert rows() == 0


@pytest.mark.once
@pytest.mark.usefixtures("ledger")
def test_pseudoprincipals_are_not_in_it() -> None:
    make_course()
    people = [enrol(), enrol()]
    answer_everything(*people)
    edna.disguise_all(ANONYMISE_ALL)
    assert rows() == 2
    edna.disguise_all(ANONYMISE_ALL)  # all pseudoprincipals by now
    assert rows() == 2
    for person in people:
        person.reveal_everything()
    assert rows() == 0


@pytest.mark.usefixtures("ledger")
def test_a_disguise_in_chunks_is_one_row_until_the_first_chunk_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    make_course(lectures=3, questions=4)
    bea = enrol()
    answer_everything(bea)
    with cut_into_chunks(3), with_ledger(CHUNK_ROWS=3):
        receipt = bea.disguise()
        assert rows() == 1
        with monkeypatch.context() as patched:
            patched.setattr(chunks, "_reveal_chunk", one_chunk_and_no_more())
            with pytest.raises(InterruptedError):
                bea.reveal(receipt)
        assert Answer.objects.exists() or User.objects.filter(pk=bea.user.pk).exists()
        assert rows() == 1
        assert bea.reveal(receipt).complete
        assert rows() == 0


def one_chunk_and_no_more() -> Any:
    """What reveals a chunk, and dies instead of revealing a second one."""
    real, done = chunks._reveal_chunk, []

    def reveal_chunk(*args: Any, **kwargs: Any) -> Any:
        if done:
            raise InterruptedError
        done.append(real(*args, **kwargs))
        return done[0]

    return reveal_chunk


@pytest.mark.usefixtures("ledger")
def test_an_undone_transaction_leaves_no_row(transactional_db: None) -> None:
    from django.db import transaction

    make_course()
    bea = enrol()
    answer_everything(bea)
    with transaction.atomic():
        bea.disguise()
        transaction.set_rollback(True)
    assert rows() == 0
    receipt = bea.disguise()
    with transaction.atomic():
        bea.reveal(receipt)
        transaction.set_rollback(True)
    assert rows() == 1


@pytest.mark.once
@pytest.mark.usefixtures("ledger")
def test_a_disguise_by_hand_is_not_in_it() -> None:
    """Nothing could do it again."""

    @edna.on_reveal("test.by-hand")
    def come_back(revealed: Any) -> None:
        pass

    make_course()
    bea = enrol()
    answer_everything(bea)
    try:
        with edna.session(bea.user, "test.by-hand") as session:
            session.remove(Answer.objects.filter(author=bea.user))
        assert rows() == 0
        bea.disguise()
        assert rows() == 1
        bea.reveal_latest()
        assert bea.reveal(session.receipt).complete
        assert rows() == 0
    finally:
        edna.unregister(come_back)


# What it costs


def test_it_costs_one_statement_for_each_disguise_and_reveal() -> None:
    make_course()
    bea, carl = enrol(), enrol()
    answer_everything(bea, carl)
    without = statements(lambda: bea.disguise()), statements(lambda: bea.reveal_latest())
    with with_ledger():
        noted = statements(lambda: carl.disguise()), statements(lambda: carl.reveal_latest())
    for before, after in zip(without, noted, strict=True):
        # Django puts savepoints around what it writes in bulk.
        ours = [sql for sql in after if "SAVEPOINT" not in sql]
        assert len(ours) == len([sql for sql in before if "SAVEPOINT" not in sql]) + 1
        assert sum("edna_ledgerentry" in sql for sql in ours) == 1
        assert not any("edna_ledgerentry" in sql for sql in before)


@pytest.mark.usefixtures("ledger")
def test_everybody_costs_no_more_than_one() -> None:
    make_course()
    answer_everything(*enrol_many(1))
    few = [sql for sql in statements(lambda: edna.disguise_all(ANONYMISE_ALL)) if "edna_ledgerentry" in sql]
    Answer.objects.all().delete()
    answer_everything(*enrol_many(40))
    many = [sql for sql in statements(lambda: edna.disguise_all(ANONYMISE_ALL)) if "edna_ledgerentry" in sql]
    assert len(few) == len(many) == 1


# What it tells


@pytest.mark.once
@pytest.mark.usefixtures("ledger")
def test_rows_differ_by_nothing_that_is_about_a_person() -> None:
    """Of one size, whoever it is, whichever disguise, and however much they have; nothing in them twice."""
    make_course()
    people = [enrol(f"{'x' * length}@example.org") for length in (1, 30, 60)]
    answer_everything(*people, text="long " * 100)
    edna.disguise_all(ANONYMISE_ALL)
    for person in people:
        person.disguise(DELETE)
    found = list(LedgerEntry.objects.values_list("index", "sealed"))
    assert len(found) == 6
    assert {(len(bytes(index)), len(bytes(sealed))) for index, sealed in found} == {(32, 24 + 256 + 16)}
    cells = [bytes(cell) for row in found for cell in row]
    assert len(set(cells)) == len(cells)
    ledger = b"".join(cells)
    for needle in (DELETE, ANONYMISE_ALL, "websubmit.user", *(person.email for person in people)):
        assert not any(spelled in ledger for spelled in spellings(needle)), needle


@pytest.mark.once
@pytest.mark.usefixtures("ledger")
def test_the_same_person_and_disguise_have_another_row_under_another_key() -> None:
    """So that two sites, or a site before and after a rotation of the key, cannot be compared."""
    make_course()
    know_server_keys(OLD, NEW)
    with with_ledger(MAC_KEYS=[OLD]):
        bea = enrol()
    answer_everything(bea)
    indexes = set()
    for key in (OLD, NEW):
        with with_ledger(MAC_KEYS=[key, *{OLD, NEW} - {key}]):
            bea.disguise()
            indexes |= {bytes(index) for index in LedgerEntry.objects.values_list("index", flat=True)}
            bea.reveal_latest()
    assert len(indexes) == 2


@pytest.mark.once
@pytest.mark.usefixtures("ledger")
def test_no_index_of_a_row_is_anywhere_else_in_the_database() -> None:
    make_course()
    bea = enrol()
    answer_everything(bea)
    bea.disguise()
    [index] = LedgerEntry.objects.values_list("index", flat=True)
    assert loot().count(bytes(index)) == 1
