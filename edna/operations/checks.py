"""Checks of `@edna.schedule`: that somebody is ever dormant, that nobody loses the way back, and that the disguise can be applied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db.models import DateField, Model

from edna import conf, registry, schedules
from edna.checks import TAG
from edna.checks.settings import principal_models
from edna.errors import ConfigurationError, InvalidParameters, SpecError
from edna.schedules import Schedule
from edna.spec import validated_params

_MIDDLEWARE: Final = "edna.middleware.EdnaMiddleware"


def connect() -> None:
    """Make the checks known to Django. Calling it again changes nothing."""
    register(check_schedules, TAG)


def check_schedules(**_: object) -> list[CheckMessage]:
    messages: list[CheckMessage] = []
    for schedule in schedules.schedules().values() if principal_models() else ():
        messages += [*_disguise(schedule), *_params(schedule), *_locators(schedule)]
        try:
            model = registry.principal_model_for(schedule.disguise)
        except (SpecError, TypeError, AttributeError):
            continue  # whatever is wrong with the disguise, its own checks say so
        messages += [*_last_active(schedule, model), *_only(schedule, model)]
    return messages


def _name(schedule: Schedule) -> str:
    return f"the schedule {schedule.name}"


def _disguise(schedule: Schedule) -> Iterator[CheckMessage]:
    if registry.disguises().get(schedule.disguise.name) is not schedule.disguise:
        yield Error(
            f"Its disguise {schedule.disguise.__qualname__} is not registered, so that it cannot be applied: people would be warned of "
            "something that never comes.",
            hint="Put @edna.register above the class.",
            obj=_name(schedule),
            id="edna.E400",
        )


def _locators(schedule: Schedule) -> Iterator[CheckMessage]:
    try:
        mode = schedule.disguise.locators or conf.locator_mode()
    except ConfigurationError:
        return
    if mode == "client":
        yield Warning(
            f"The server keeps no locators of {schedule.disguise.name} (mode client): whose mail with the receipt is lost "
            "could never reveal anything. It is not run.",
            hint='Set locators = "server" in the disguise.',
            obj=_name(schedule),
            id="edna.W401",
        )


def _params(schedule: Schedule) -> Iterator[CheckMessage]:
    try:
        validated_params(schedule.disguise, schedule.params)
    except InvalidParameters as error:
        yield Error(
            f"{error} Until then it cannot be applied.",
            hint="Write @edna.schedule(..., params={...}), with what the disguise declares.",
            obj=_name(schedule),
            id="edna.E402",
        )
    except (SpecError, TypeError, AttributeError):
        return  # edna.E101 is about these


def _last_active(schedule: Schedule, model: type[Model]) -> Iterator[CheckMessage]:
    for name in schedule.last_active:
        try:
            field = model._meta.get_field(name)
        except FieldDoesNotExist:
            field = None
        if not isinstance(field, DateField):  # a DateTimeField is one
            yield Error(
                f"last_active names {name!r}, which is no date and no date and time of {model._meta.label}: the schedule cannot "
                "be run.",
                hint="Name such a field, several in a list, or last_active=None: then the days that EdnaMiddleware keeps count.",
                obj=_name(schedule),
                id="edna.E403",
            )
    if not schedule.last_active and _MIDDLEWARE not in settings.MIDDLEWARE:
        yield Warning(
            "Nothing tells when somebody was last active: last_active is None, and EdnaMiddleware, which keeps the day, is not in "
            "MIDDLEWARE. Nobody is ever dormant.",
            hint=f'Add "{_MIDDLEWARE}", or name a field of {model._meta.label} in last_active.',
            obj=_name(schedule),
            id="edna.W404",
        )


def _only(schedule: Schedule, model: type[Model]) -> Iterator[CheckMessage]:
    try:
        model._base_manager.filter(schedule.only)
    except (FieldError, ValueError, TypeError) as error:
        yield Error(
            f"only is no condition on {model._meta.label} ({error}): the schedule cannot be run.",
            hint="Write it as for QuerySet.filter: only=Q(is_staff=False).",
            obj=_name(schedule),
            id="edna.E405",
        )
