"""Counts the SQL statements behind a request, if the request asks for it; otherwise it costs one look at a header."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.http import HttpRequest, HttpResponse

ASK = "X-Bench-Count"
ANSWER = "X-Bench-Statements"

#: The hand-written site's own driver is not Django's; it keeps account here.
by_hand = threading.local()


class CountStatements:
    """The outermost middleware: the work of all others is counted, too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if ASK not in request.headers:
            return self.get_response(request)
        count = 0

        def note(execute: Any, *arguments: Any) -> Any:
            nonlocal count
            count += 1
            return execute(*arguments)

        before = _written_by_hand()
        with connection.execute_wrapper(note):
            response = self.get_response(request)
        response[ANSWER] = str(count + _written_by_hand() - before)
        return response


def _written_by_hand() -> int:
    driver = getattr(by_hand, "driver", None)
    return driver.statements if driver else 0
