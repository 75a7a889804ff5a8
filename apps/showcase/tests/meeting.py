"""A page that meets somebody who locks the same rows in another order, so that the database has to end one of the two."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import Group
from django.db import connections, transaction

from tests.waiting import WAIT_SECONDS, at_once, until_waiting


def met(page: Callable[[], Any], *, first: Any, then: Any) -> int:
    """The status of a page that finds the rows ``first`` locked by somebody who wants the rows ``then``, once the page waits."""
    locked = threading.Event()

    def other() -> None:
        with transaction.atomic():
            # MariaDB ends whoever has changed less.
            Group.objects.bulk_create(Group(name=f"group {number}") for number in range(100))
            list(first.select_for_update())
            locked.set()
            until_waiting()
            list(then.select_for_update())

    def visitor() -> int:
        assert locked.wait(WAIT_SECONDS)
        return int(page().status_code)

    try:
        done, status = at_once(other, visitor)
    finally:
        connections.close_all()
    assert done is None, done
    assert isinstance(status, int), status
    return status
