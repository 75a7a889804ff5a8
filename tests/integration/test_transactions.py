"""How a transaction of edna's begins and ends, as the server counts it."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection, transaction

from edna.db import transactions
from edna.errors import DatabaseBusy
from edna.models import Replay
from tests.support import execute

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.only_on("mysql")]


def counted() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS WHERE Variable_name IN ('Com_begin', 'Com_commit', 'Com_set_option')")
        return {name: int(number) for name, number in cursor.fetchall()}


def nested() -> None:
    transactions.run(lambda: execute("DELETE FROM edna_replay"), using="default")


def test_it_begins_by_one_question_and_ends_by_one() -> None:
    before = counted()
    transactions.run(nested, using="default")
    now = counted()
    assert {name: now[name] - before[name] for name in now} == {"Com_begin": 1, "Com_commit": 1, "Com_set_option": 0}


def test_a_site_s_own_transactions_begin_as_django_lets_them() -> None:
    transactions.run(nested, using="default")
    before = counted()
    with transaction.atomic():
        nested()
    assert counted()["Com_begin"] == before["Com_begin"]


def test_what_failed_is_undone_whole_and_afterwards_each_statement_counts_for_itself() -> None:
    def work() -> None:
        execute("INSERT INTO edna_replay (id, logged_on, sealed) VALUES (1, '2026-01-01', 'x')")
        execute("SELECT * FROM edna_no_such_table")

    with pytest.raises(Exception, match="edna_no_such_table"):
        transactions.run(work, using="default")
    assert not Replay.objects.exists()
    assert connection.get_autocommit()
    execute("INSERT INTO edna_replay (id, logged_on, sealed) VALUES (1, '2026-01-01', 'x')")
    connection.close()
    assert Replay.objects.count() == 1


def test_what_the_database_asks_for_again_begins_anew() -> None:
    tries: list[int] = []

    def work() -> int:
        tries.append(execute("INSERT INTO edna_replay (id, logged_on, sealed) VALUES (1, '2026-01-01', 'x')"))
        if len(tries) == 1:
            raise OperationalError(1213, "Deadlock")
        return Replay.objects.count()

    assert transactions.run(work, using="default") == 1
    assert tries == [1, 1]


def test_so_it_does_where_the_work_has_put_that_into_words_of_its_own() -> None:
    """The audit trail says which transaction does not see what: edna's own goes again, and only a caller's is told."""
    tries: list[int] = []

    def work() -> int:
        tries.append(1)
        try:
            if len(tries) == 1:
                raise OperationalError(1020, "Record has changed since last read")
        except OperationalError as error:
            raise DatabaseBusy("this transaction is an older one") from error
        return 1

    assert transactions.run(work, using="default") == 1
    tries.clear()
    with pytest.raises(DatabaseBusy, match="an older one"), transaction.atomic():
        transactions.run(work, using="default")
