"""Transactions of pages that meet others who lock the same rows in another order, such as those of somebody who is just leaving.

A database may end either of two that wait for each other, and ends the smaller one: the page's, which is then run again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, OperationalError, connections, transaction
from django.http import HttpRequest, HttpResponse

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
ATTEMPTS = 3


def atomically(work: Callable[Arguments, Result], *, using: str = DEFAULT_DB_ALIAS) -> Callable[Arguments, Result]:
    """In a transaction; again if the database ended it. ``work`` changes nothing but the database, or does so last."""

    @wraps(work)
    def repeated(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        for _ in range(ATTEMPTS - 1):
            try:
                with transaction.atomic(using=using):
                    return work(*args, **kwargs)
            except OperationalError:
                # What was ended is the outermost one: only that can be begun again.
                if connections[using].in_atomic_block:
                    raise
        with transaction.atomic(using=using):
            return work(*args, **kwargs)

    return repeated


def posts_atomically(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The same for what a page does with a form that was sent. Not for pages that disguise and reveal: edna tries again by itself."""
    again = atomically(view)

    @wraps(view)
    def shown(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        return (again if request.method == "POST" else view)(request, *args, **kwargs)

    return shown
