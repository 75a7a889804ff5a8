"""What time it is for edna, in UTC with and without ``USE_TZ``; and at which moment something is done to a database.

`now` is Django's, so that whoever turns that clock turns this one. Invariant: no moment that is sealed depends on the time zone of a site,
or of a visitor.

`moment` says which disguise of a row lies on top of which. Servers' clocks differ, and are set back; all that disguise the rows of one
database share nothing but the database. So a process asks it what time it is, and counts on from there by a clock that is never set. SQLite
has no other clock than the machine's. Invariant: in a process each moment of a database is later than the one before. Those of two
processes differ by no more than the way to the database and back takes, and a transaction holds its rows for longer than that.
Not known: that the clock of a database itself is set back. A process that began before then goes on, a new one begins behind it.
"""

from __future__ import annotations

import datetime
import threading
import time
from dataclasses import dataclass
from typing import Final

from django.db import connections
from django.utils import timezone

#: Seconds since 1970, when the database reads its clock.
_TIMES: Final = {
    "mysql": "SELECT UNIX_TIMESTAMP(SYSDATE(6))",
    "postgresql": "SELECT EXTRACT(EPOCH FROM clock_timestamp())",
}
_ASKED_AGAIN_SECONDS: Final = 600
#: So exact an answer is not asked for again, and so little is no setting of a clock.
_EXACT_SECONDS: Final = 0.002
_MOST_QUESTIONS: Final = 3
_EPOCH: Final = datetime.datetime.fromtimestamp(0, datetime.UTC)
_MICROSECONDS: Final = 1_000_000
#: By so much, what is told of a change that lies beneath one's own of the same disguise is older than that; no other moment is as near.
A_MOMENT: Final = datetime.timedelta(microseconds=1)


def now() -> datetime.datetime:
    told = timezone.now()
    if timezone.is_naive(told):
        told = timezone.make_aware(told, timezone.get_default_timezone())
    return told.astimezone(datetime.UTC)


def today() -> datetime.date:
    """The same for everybody: a day of each user's own time zone would begin and end with every change of zones."""
    return now().date()


@dataclass(frozen=True)
class Reading:
    """What a database said its time is, between two moments of the clock that is never set. In seconds."""

    there: float
    asked: float
    answered: float
    #: What the clock of this server, which may be set, was ahead of the other one.
    here: float

    @property
    def took(self) -> float:
        return self.answered - self.asked

    @property
    def ahead(self) -> float:
        return self.there - (self.asked + self.answered) / 2

    @property
    def differs(self) -> float:
        """What the clocks of the database and of this server differ by at least: what the question took is no difference."""
        return max(abs(self.ahead - self.here) - self.took / 2, 0.0)

    def holds(self) -> bool:
        """Whether it is young, and this server was not stopped since, nor its clock set."""
        return (
            time.monotonic() < self.answered + _ASKED_AGAIN_SECONDS
            and abs(_server_ahead() - self.here) < _EXACT_SECONDS
        )


_lock = threading.Lock()
_readings: dict[str, Reading] = {}
_last_microseconds: dict[str, int] = {}


def moment(*, using: str) -> datetime.datetime:
    """Now, in UTC, and later than any moment of this database that this process had before. Mostly without a statement."""
    before, told, after = time.time(), now(), time.time()
    if not before - _EXACT_SECONDS <= told.timestamp() <= after + _EXACT_SECONDS:
        return told  # somebody has turned Django's clock
    reading = _readings.get(using)
    if reading is None or not reading.holds():
        reading = ask(using=using)
    with _lock:
        microseconds = round((time.monotonic() + reading.ahead) * _MICROSECONDS)
        _last_microseconds[using] = microseconds = max(microseconds, _last_microseconds.get(using, 0) + 2)
    return _EPOCH + datetime.timedelta(microseconds=microseconds)


def ask(*, using: str) -> Reading:
    """Ask the database what time it is: once, or a few times where that takes long, and the fastest answer counts."""
    readings: list[Reading] = []
    while len(readings) < _MOST_QUESTIONS and not any(reading.took < _EXACT_SECONDS for reading in readings):
        readings.append(_ask_once(using))
    _readings[using] = reading = min(readings, key=lambda each: each.took)
    return reading


def _ask_once(using: str) -> Reading:
    connection = connections[using]
    sql = _TIMES.get(connection.vendor)
    here = _server_ahead()
    if sql is None:
        asked = time.monotonic()
        return Reading(there=asked + here, asked=asked, answered=asked, here=here)
    with connection.cursor() as cursor:
        asked = time.monotonic()
        cursor.execute(sql)
        [(there,)] = cursor.fetchall()
        answered = time.monotonic()
    return Reading(there=float(there), asked=asked, answered=answered, here=here)


def _server_ahead() -> float:
    return time.time() - time.monotonic()
