"""Runs a piece of work in one transaction, again when the database asked for it.

Deadlocks, serialisation failures and lock time-outs are the database's way of saying "once more": nothing was changed,
so the whole work is repeated, a bounded number of times with jitter. Inside somebody else's transaction nothing is
repeated, because the database has already undone what the caller did before. A cluster whose nodes all write (Galera) says so at the
COMMIT, and more often: `python -m benchmarks.galera`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from django.db import IntegrityError, OperationalError, connections, transaction

from edna import shards
from edna.db.cursors import one_cursor
from edna.errors import DatabaseBusy

Result = TypeVar("Result")

ATTEMPTS: Final = 8
#: No other try begins after so long: each of those that wait for a lock can take a minute.
PATIENCE_SECONDS: Final = 90
_FIRST_PAUSE_SECONDS: Final = 0.02
_LONGEST_PAUSE_SECONDS: Final = 0.5
_JITTER: Final = secrets.SystemRandom()
#: Lock wait time-out, deadlock, and since the snapshot was taken a row was changed (MariaDB) or a table rebuilt.
_MYSQL_CODES: Final = {1205, 1213, 1020, 1412}
#: Serialisation failure, deadlock and lock not available of PostgreSQL.
_POSTGRESQL_STATES: Final = {"40001", "40P01", "55P03"}


def asks_for_another_try(error: BaseException | None) -> bool:
    """Whether the database does; or did so within the work, which has put it into words of its own."""
    if isinstance(error, DatabaseBusy):
        return asks_for_another_try(error.__cause__)
    if not isinstance(error, OperationalError):
        return False
    cause = error.__cause__
    if getattr(cause, "sqlstate", None) in _POSTGRESQL_STATES:
        return True
    return bool(error.args) and (error.args[0] in _MYSQL_CODES or "database is locked" in str(error.args[0]))


def run(work: Callable[[], Result], *, using: str) -> Result:
    """``work()`` in a transaction, all or nothing. This database is at work for whatever it calls.

    Raises:
        DatabaseBusy: the database asked for another try `ATTEMPTS` times.
    """
    nested = connections[using].in_atomic_block

    def whole() -> Result:
        with _begun_at_once(using=using), transaction.atomic(using=using), one_cursor(using=using):
            return work()

    outer = shards.at_work.set(using)
    try:
        return statement(whole, using=using)
    except OperationalError as error:
        if nested and asks_for_another_try(error):
            raise DatabaseBusy("The database was too busy; roll the transaction back and try again.") from error
        raise
    finally:
        shards.at_work.reset(outer)


@contextmanager
def _begun_at_once(*, using: str) -> Iterator[None]:
    """The transaction that the block begins does so by BEGIN on MariaDB and MySQL, where Django turns autocommit off before it and on
    after it: a question less for each. Past Django's cursors, as its COMMIT goes. It is the hook by which Django's SQLite begins; without
    it all goes on as ever."""
    connection: Any = connections[using]
    if connection.vendor != "mysql" or connection.in_atomic_block:
        yield
        return
    hook = "_start_transaction_under_autocommit"

    def start() -> None:
        vars(connection).pop(hook)  # for this one alone: what follows its commit begins others
        try:
            with connection.wrap_database_errors:
                connection.connection.begin()
        except OperationalError:
            connection.close()  # it may be dead, and Django notices that within a transaction only: the next one has another
            raise

    setattr(connection, hook, start)
    try:
        yield
    finally:
        vars(connection).pop(hook, None)


def statement(work: Callable[[], Result], *, using: str) -> Result:
    """``work()``, which is one statement: a transaction of its own, unless it is part of somebody else's, and then not run again.

    Raises:
        DatabaseBusy: the database asked for another try `ATTEMPTS` times, or for longer than `PATIENCE_SECONDS`.
    """
    nested = connections[using].in_atomic_block
    began = time.monotonic()
    for attempt in range(ATTEMPTS):
        try:
            return work()
        except (OperationalError, DatabaseBusy) as error:
            if nested or not asks_for_another_try(error):
                raise
            last = error
        if attempt + 1 == ATTEMPTS or time.monotonic() - began > PATIENCE_SECONDS:
            break
        pause = min(_FIRST_PAUSE_SECONDS * 2**attempt, _LONGEST_PAUSE_SECONDS)
        # Jitter is no secret, but two losers must not collide again: forked workers would inherit the state of `random`.
        time.sleep(pause * _JITTER.uniform(0.5, 1.5))
    raise DatabaseBusy(
        f"The database was too busy {attempt + 1} times in a row; nothing was changed. Try again later."
    ) from last


@contextmanager
def block(
    begin: Callable[[], Result],
    finish: Callable[[Result], None],
    *,
    refusal: Callable[[], Exception],
    using: str,
) -> Iterator[Result]:
    """A block of the caller's code between ``begin()`` and ``finish(...)``, in one transaction. It is not run again.

    Errors of the block itself are the caller's, and stay as they are.

    Raises:
        DatabaseBusy: the database asked for another try before the block or after it.
    What ``refusal`` makes, if a constraint turns out to be broken when the block has ended.
    """
    inside = True
    try:
        with shards.at(using), transaction.atomic(using=using):
            begun = run(begin, using=using)
            yield begun
            inside = False
            finish(begun)
        return
    except IntegrityError:
        if inside:
            raise
    except OperationalError as error:
        if inside or not asks_for_another_try(error):
            raise
        raise DatabaseBusy("The database was too busy; nothing was changed. Try again later.") from error
    # Outside of the handler: the database's words quote the values of rows, and end up in logs.
    raise refusal()
