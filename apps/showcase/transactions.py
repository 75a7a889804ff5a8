"""Transactions of pages that meet others who lock the same rows in another order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, transaction

Result = TypeVar("Result")
ATTEMPTS = 3


def atomically(work: Callable[[], Result]) -> Result:
    """In a transaction; again if the database ended it because two waited for each other."""
    for _ in range(ATTEMPTS - 1):
        try:
            with transaction.atomic():
                return work()
        except OperationalError:
            continue
    with transaction.atomic():
        return work()
