"""Sends what a schedule's function writes: one connection for many mails, and one bad address keeps no other mail from being sent.

Logs how many failed with which class of error, never an address, a text or the error's words. Knows neither when nor to whom.
"""

from __future__ import annotations

import logging
from collections import Counter
from types import TracebackType

from django.core.mail import get_connection
from django.views.decorators.debug import sensitive_variables

from edna import logs
from edna.schedules import Notice, Schedule


class Mailer:
    """``with Mailer(schedule) as mailer: mailer.send(notice)``."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._connection = get_connection()
        self._failures: Counter[str] = Counter()
        self.unmailed = 0
        #: Every attempt would wait until it gives up: what is left is not tried.
        self._down = False

    @property
    def failed(self) -> int:
        return self._failures.total()

    def __enter__(self) -> Mailer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hang_up()
        for error, number in self._failures.items():
            logs.event(
                "mails_failed",
                level=logging.WARNING,
                area="schedules",
                schedule=self._schedule.name,
                mails=number,
                error=error,
            )

    @sensitive_variables()
    def send(self, notice: Notice) -> bool:
        """Whether they are told: also where there is nothing to send, because the schedule's function returned None."""
        if self._down:
            self._failures["not_tried"] += 1
            return False
        try:
            message = self._schedule.notify(notice)
            if message is None or not message.recipients():
                self.unmailed += 1
                return True
            if message.connection is None:
                self._dial()
                message.connection = self._connection
            if message.send() == 0:
                raise OSError
            return True
        except Exception as error:  # whatever it is, it is about this one mail, unless the server is down
            self._failures[type(error).__name__] += 1
            self._hang_up()  # a connection that has failed may go on failing
            return False

    def _dial(self) -> None:
        try:
            self._connection.open()
        except Exception:
            self._down = True
            raise

    def _hang_up(self) -> None:
        try:
            self._connection.close()
        except Exception as error:
            logs.event("mail_connection_failed", area="schedules", error=type(error).__name__)
