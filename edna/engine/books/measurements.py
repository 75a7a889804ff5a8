"""Counts and times what the door does, for `signals.measured` and for the log: never for whom.

Rows and people are counted when they are committed, in the order in which that happens: work that was rolled back and done again
counts once, and of a disguise that broke off in the middle the chunks that stay. The news goes out after the commit, or at once
when the operation is refused. If nobody listens, all this costs is a look at who does.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import transaction

from edna import logs, registry, signals
from edna.errors import BagError, EdnaError, ReceiptError, WrongKey
from edna.records.locator import Receipt

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass
class Measurement:
    """One operation: what it has committed so far."""

    operation: str
    name: str
    principals: int = 0
    rows: int = 0
    held: Counter[str] = field(default_factory=Counter)
    #: The database, once something was counted.
    using: str | None = None

    def _add(self, principals: int, rows: int, held: Counter[str]) -> None:
        self.principals += principals
        self.rows += rows
        self.held += held


#: What the work of this thread or task counts for. An operation inside another one, in a callback, counts for itself.
_current: ContextVar[Measurement | None] = ContextVar("edna_measurement", default=None)


def count(*, principals: int, rows: Callable[[], int], held: Iterable[str] = (), using: str) -> None:
    """Add to what is being measured, if anything is, once the transaction is committed."""
    measurement = _current.get()
    if measurement is not None:
        measurement.using = using
        number, found = rows(), Counter(held)
        transaction.on_commit(lambda: measurement._add(principals, number, found), using=using, robust=True)


@contextmanager
def measuring(operation: str, disguise: object) -> Iterator[None]:
    """Measure what the block does with a ``disguise``, of which this is the name or a receipt; an error of it is counted, and goes on."""
    started = time.perf_counter()
    if not _heard():
        try:
            yield
        except BagError as error:  # which is for the log, whoever listens
            _tell(Measurement(operation, _known_name(disguise)), seconds=time.perf_counter() - started, error=error)
            raise
        return
    measurement = Measurement(operation, _known_name(disguise))
    token = _current.set(measurement)
    try:
        yield
    except Exception as error:
        _tell(measurement, seconds=time.perf_counter() - started, error=error)
        raise
    finally:
        _current.reset(token)
    seconds = time.perf_counter() - started
    if measurement.using is not None:  # otherwise nothing was done: a runner of a job found nobody left
        # Robust: a failure in here would be taken for one of the transaction, which is done.
        transaction.on_commit(lambda: _tell(measurement, seconds=seconds), using=measurement.using, robust=True)


def measured(operation: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Decorates a function of the door whose first parameter is the name of a disguise, or a receipt."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        first = next(iter(inspect.signature(function).parameters))

        @wraps(function)
        def measure(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            with measuring(operation, args[0] if args else kwargs.get(first)):
                return function(*args, **kwargs)

        return measure

    return decorate


def _known_name(given: object) -> str:
    """The name of a disguise, if the project has it: whatever else somebody types in its place, or into a receipt, is not passed on."""
    if isinstance(given, str) and registry.find(given) is None:
        try:
            given = Receipt.parse(given)
        except ReceiptError:
            return ""
    name = given.disguise if isinstance(given, Receipt) else given
    return name if isinstance(name, str) and registry.find(name) is not None else ""


def _heard() -> bool:
    receivers = signals.measured.receivers and signals.measured.has_listeners(None)
    return bool(receivers) or logs.logger.isEnabledFor(logging.INFO)


def _tell(measurement: Measurement, *, seconds: float, error: Exception | None = None) -> None:
    try:
        _log(measurement, seconds=seconds, error=error)
        signals.measured.send_robust(
            sender=None,
            operation=measurement.operation,
            name=measurement.name,
            seconds=seconds,
            principals=measurement.principals,
            rows=measurement.rows,
            held=dict(measurement.held),
            error="" if error is None else type(error).__name__,
        )
    except Exception as failure:
        # It is done, or refused for a reason of its own: what listens changes nothing about that.
        logs.logger.error("edna.signals.measured could not be sent: %s.", type(failure).__name__)


def _log(measurement: Measurement, *, seconds: float, error: Exception | None) -> None:
    failed = error is not None
    logs.event(
        f"{measurement.operation}_{'refused' if failed else 'done'}",
        level=_level(error),
        disguise=measurement.name or None,
        principals=None if failed and not measurement.principals else measurement.principals,
        rows=None if failed and not measurement.rows else measurement.rows,
        held=sum(measurement.held.values()) or None,
        seconds=seconds,
        error=type(error).__name__ if error is not None else None,
    )


def _level(error: Exception | None) -> int:
    if isinstance(error, BagError) and not isinstance(error, WrongKey):
        return logging.ERROR  # somebody, or a disk, has changed what edna wrote
    if error is None or isinstance(error, EdnaError):
        return logging.INFO
    return logging.WARNING
