"""What the developer writes about dormant accounts: `@edna.schedule` and the `Notice` that its function gets. Runs nothing.

A schedule says after how many days without activity which disguise is applied, and how many days before people are told.
Registered at start-up in each application's ``disguises`` module. Knows the application's models; never looks into a database.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar

from django.core.mail import EmailMessage
from django.db.models import Q

from edna.errors import SpecError, UnknownSchedule
from edna.spec import Disguise, validated_name

_DAY: Final = datetime.timedelta(days=1)
#: As many days as a schedule can be about: 68 years.
_MOST_DAYS: Final = 25_000

_schedules: dict[str, Schedule] = {}


@dataclass(frozen=True)
class Notice:
    """What somebody is to be told: that they will be disguised on ``applies_on`` (``"warning"``), or that they are now (``"applied"``).

    ``principal`` is their row as it was before. ``receipt`` is there once it is applied; it is theirs alone, and opens nothing
    without their key.
    """

    kind: Literal["warning", "applied"]
    schedule: str
    principal: Any = field(repr=False)  # whose str() may be a name
    applies_on: datetime.date
    days_left: int
    receipt: str = field(default="", repr=False)


Notify = Callable[[Notice], EmailMessage | None]
Decorated = TypeVar("Decorated", bound=Notify)


@dataclass(frozen=True)
class Schedule:
    """One schedule as it was declared. ``notify_days`` are days of notice, the longest first."""

    name: str
    disguise: type[Disguise]
    inactive_days: int
    notify_days: tuple[int, ...]
    notify: Notify
    last_active: tuple[str, ...]
    only: Q
    params: Mapping[str, Any]
    rate_per_second: float | None

    @property
    def days_before_first(self) -> int:
        """Days without activity after which a schedule first does something about somebody."""
        return self.inactive_days - max(self.notify_days, default=0)

    @property
    def description(self) -> str:
        return " ".join((self.notify.__doc__ or "").split())


def schedule(
    disguise: type[Disguise],
    *,
    inactive_for: datetime.timedelta,
    notify_before: Sequence[datetime.timedelta] = (),
    name: str | None = None,
    last_active: str | Sequence[str] | None = "last_login",
    only: Q | None = None,
    params: Mapping[str, Any] | None = None,
    rate_per_second: float | None = None,
) -> Callable[[Decorated], Decorated]:
    """Decorator of a function that writes the mails of a schedule: ``disguise`` is applied to who was away ``inactive_for`` so long.

    They are told at each of ``notify_before``. When somebody was last active is the latest of the day that `EdnaMiddleware` keeps and
    the principal model's fields ``last_active``; who is not known to have ever been active is left alone. ``only`` narrows whom
    the schedule is for. The function gets a `Notice` and returns a Django ``EmailMessage``, which edna sends, or None.

    Raises:
        SpecError: an option cannot be used as it stands, or another schedule has that name.
    """
    if not isinstance(disguise, type) or not issubclass(disguise, Disguise):
        raise SpecError(
            f"@edna.schedule takes a Disguise, not {disguise!r}; write @edna.schedule(Decay, inactive_for=...)."
        )
    own = validated_name(getattr(disguise, "name", None))
    name = own if name is None else validated_name(name)
    inactive_days = _days(name, "inactive_for", inactive_for)
    notify_days = _notice_days(name, notify_before, inactive_days=inactive_days)
    if rate_per_second is not None and not (type(rate_per_second) in (int, float) and 0 < rate_per_second < math.inf):
        raise SpecError(
            f"The schedule {name}: rate_per_second must be a number above 0, or None for the site's own limit."
        )
    if only is not None and not isinstance(only, Q):
        raise SpecError(f"The schedule {name}: only must be a Q, such as Q(is_staff=False).")
    fields = _fields(name, last_active)

    def decorate(notify: Decorated) -> Decorated:
        _add(
            Schedule(
                name=name,
                disguise=disguise,
                inactive_days=inactive_days,
                notify_days=notify_days,
                notify=notify,
                last_active=fields,
                only=Q() if only is None else only,
                params=dict(params or {}),
                rate_per_second=rate_per_second,
            )
        )
        return notify

    return decorate


def _add(new: Schedule) -> None:
    """
    Raises:
        SpecError: a function that was written elsewhere has this name. A module that is imported again does no harm.
    """
    known = _schedules.get(new.name)
    if known is not None and _source(known.notify) != _source(new.notify):
        raise SpecError(
            f"Two schedules are called {new.name!r}: {_source(known.notify)} and {_source(new.notify)}. "
            "Give one of them name=..."
        )
    _schedules[new.name] = new


def unregister(notify: Notify) -> None:
    """Undo `schedule`: for tests, and for projects that replace an application's schedule by their own."""
    for name, known in list(_schedules.items()):
        if known.notify is notify:
            del _schedules[name]


def schedules() -> dict[str, Schedule]:
    return dict(sorted(_schedules.items()))


def get(name: str) -> Schedule:
    """
    Raises:
        UnknownSchedule: nothing is registered under that name.
    """
    try:
        return _schedules[name]
    except KeyError:
        known = ", ".join(sorted(_schedules)) or "none"
        raise UnknownSchedule(f"No schedule is called {name!r}. Registered: {known}.") from None


def _days(name: str, option: str, given: object) -> int:
    if not isinstance(given, datetime.timedelta) or given % _DAY or not _DAY <= given <= _MOST_DAYS * _DAY:
        raise SpecError(
            f"The schedule {name}: {option} takes whole days as in timedelta(days=30), from 1 to {_MOST_DAYS:,}: activity is kept "
            "by the day."
        )
    return given.days


def _notice_days(
    name: str, given: datetime.timedelta | Sequence[datetime.timedelta], *, inactive_days: int
) -> tuple[int, ...]:
    each_time = (given,) if isinstance(given, datetime.timedelta) else given
    days = tuple(_days(name, "notify_before", each) for each in each_time)
    if any(sooner >= longer for longer, sooner in itertools.pairwise(days)):
        raise SpecError(f"The schedule {name}: write notify_before with the longest notice first, and none twice.")
    if days and days[0] >= inactive_days:
        raise SpecError(
            f"The schedule {name}: notify_before has to be shorter than inactive_for, or people are warned while they are active."
        )
    return days


def _fields(name: str, last_active: str | Sequence[str] | None) -> tuple[str, ...]:
    fields = (last_active,) if isinstance(last_active, str) else tuple(last_active or ())
    if not all(isinstance(each, str) and each for each in fields):
        raise SpecError(
            f"The schedule {name}: last_active names a field of the principal model, several in a list, or is None."
        )
    return fields


def _source(notify: object) -> str:
    named: Any = notify if hasattr(notify, "__qualname__") else type(notify)
    return f"{named.__module__}.{named.__qualname__}"
