"""How a test waits for others, and makes them meet: never for a time, always until something is so.

How long anything takes is nobody's promise. `WAIT_SECONDS` only keeps a test that hangs from hanging for ever. `EDNA_TEST_LATE=0.3` lets
every wait of the tests' process take so much longer than it was asked to: what only passes because somebody is quick enough fails then.
"""

from __future__ import annotations

import datetime
import functools
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from edna import visitors

#: Longer than any database waits for a lock by itself.
WAIT_SECONDS = 120
#: The same for a process that does all of a story: longer than any takes on a machine that has much else to do.
CHILD_SECONDS = 600
#: How many connections to this database wait for locks now, and whether the answer is new. Another process of the suite has a database
#: of its own on the same server, in which somebody may be waiting as well.
_WAITING = {
    "postgresql": "SELECT COUNT(*), TRUE FROM pg_locks JOIN pg_stat_activity USING (pid)"
    " WHERE NOT granted AND datname = current_database()",
    # MariaDB repeats an answer that was given a moment before, to anybody: it is new if whoever asks is in it.
    "mysql": "SELECT SUM(trx_state = 'LOCK WAIT' AND db = DATABASE()), SUM(id = CONNECTION_ID())"
    " FROM information_schema.innodb_trx JOIN information_schema.processlist ON id = trx_mysql_thread_id",
}
#: MariaDB looks again only for whoever has not asked for a tenth of a second: asked all the time, it repeats its first answer.
_LOOK_SECONDS = 0.2


def eventually(
    condition: Callable[[], Any], *, within: float = WAIT_SECONDS, look_seconds: float = 0.05, what: str = "it"
) -> Any:
    """What the condition finally says; that it does so at some time is all that is promised. ``what`` is for who reads that it did not."""
    deadline = time.monotonic() + within
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {within} seconds: {what}"
        time.sleep(look_seconds)
    return found


def until_waiting(number: int = 1) -> None:
    """Return when so many connections to the test's database wait for locks. SQLite cannot tell."""
    with closing(connection.copy()) as other, other.cursor() as cursor:
        if connection.vendor == "mysql":
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")

        def waiting() -> bool:
            cursor.execute(_WAITING[connection.vendor])
            found, is_new = cursor.fetchone()
            return bool(is_new) and int(found) >= number

        eventually(waiting, look_seconds=_LOOK_SECONDS)


_SESSIONS = {
    "postgresql": "SELECT COUNT(*) FROM pg_stat_activity WHERE pid = %s",
    "mysql": "SELECT COUNT(*) FROM information_schema.processlist WHERE id = %s",
}


def session_of(connected: BaseDatabaseWrapper) -> int | None:
    """By which number the server knows this connection. SQLite has none."""
    if connected.vendor == "postgresql":
        return int(connected.connection.info.backend_pid)
    return int(connected.connection.thread_id()) if connected.vendor == "mysql" else None


def until_gone(*sessions: int) -> None:
    """Return when the server has ended these connections: until then, it holds the locks of whoever was killed."""
    with closing(connection.copy()) as other, other.cursor() as cursor:

        def gone(session: int) -> bool:
            cursor.execute(_SESSIONS[connection.vendor], [session])
            return int(cursor.fetchone()[0]) == 0

        for session in sessions:
            eventually(lambda: gone(session), what=f"the end of connection {session}")  # noqa: B023


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Run all of them at the same moment, each in a thread with a connection of its own; results or exceptions, in order."""
    barrier = threading.Barrier(len(works))
    results: list[Any] = [None] * len(works)

    def run(position: int, work: Callable[[], Any]) -> None:
        try:
            barrier.wait(WAIT_SECONDS)
            results[position] = work()
        except Exception as error:
            results[position] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=each, daemon=True) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive(), "deadlock"
    return results


def be_late(seconds: float) -> None:
    """Let whoever waits in this process, and in those forked from it, come back so much later."""
    sleep = time.sleep

    def late(wait: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(wait)
        def waited(*args: Any, **kwargs: Any) -> Any:
            try:
                return wait(*args, **kwargs)
            finally:
                sleep(seconds)

        return waited

    time.sleep = late(sleep)
    threading.Event.wait = late(threading.Event.wait)  # type: ignore[method-assign]
    threading.Barrier.wait = late(threading.Barrier.wait)  # type: ignore[method-assign]


def on_one_day(now: Callable[[], datetime.datetime]) -> Callable[[], datetime.datetime]:
    """A clock that goes as ``now`` does, and stays in the last moment of the day on which it was made."""
    day = now().date()

    def clock() -> datetime.datetime:
        moment = now()
        return (
            moment if moment.date() <= day else datetime.datetime.combine(day, datetime.time.max, tzinfo=moment.tzinfo)
        )

    return clock


def logged_in_long_ago(client: Any) -> None:
    """Django's test client is as it would be after the minutes for which a log-in counts as fresh: nobody has to wait for them."""
    session = client.session
    session[visitors._SHOWN_AT] -= visitors.FRESH_SECONDS // 60 + 1
    session.save()
