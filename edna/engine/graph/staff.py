"""Who of the principals runs the site: what is for everybody takes them along only on purpose, or an operator locks themselves out.

Reads the principal model only. Keeps: where nothing says who is of the staff, nobody is.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Final

from django.core.exceptions import FieldError, ValidationError
from django.db.models import BooleanField, Model, Q

from edna import conditions, conf
from edna.engine.graph.references import reference_of
from edna.errors import ConfigurationError

#: Django's names for it. A user model may have the second alone, as where nobody uses the admin site.
_COLUMNS: Final = ("is_staff", "is_superuser")


def condition(model: type[Model]) -> Q | None:
    """What the rows of the staff have in common: by ``EDNA["STAFF"]``, or else by the columns ``is_staff`` and ``is_superuser``.

    None if nothing says.
    """
    configured = conf.staff().get(model._meta.label_lower)
    if configured is not None:
        return configured
    flags = {field.name for field in model._meta.concrete_fields if isinstance(field, BooleanField)}
    said = [Q((column, True)) for column in _COLUMNS if column in flags]
    return reduce(or_, said) if said else None


def references(model: type[Model], *, using: str) -> set[str]:
    """Of everybody of the staff. One statement, or none.

    Raises:
        ConfigurationError: ``EDNA["STAFF"]`` names what the model does not have.
    """
    said = condition(model)
    if said is None:
        return set()
    try:
        members = model._base_manager.using(using).filter(said)
    except (FieldError, ValidationError, ValueError, TypeError):
        raise ConfigurationError(
            f'EDNA["STAFF"] says who of {model._meta.label} is of the staff by what that model cannot be filtered by: '
            f"{', '.join(conditions.columns(said))}."
        ) from None
    return {reference_of(model, key) for key in members.values_list("pk", flat=True)}
