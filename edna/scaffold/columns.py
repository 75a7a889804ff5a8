"""What is put into columns: values that say nothing, and how placeholder users are filled in.

Reads model definitions only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from django.core.exceptions import FieldDoesNotExist
from django.db.models import (
    BooleanField,
    CharField,
    DateField,
    DecimalField,
    EmailField,
    Field,
    FloatField,
    GenericIPAddressField,
    IntegerField,
    Model,
    TextField,
    UUIDField,
)

from edna import placeholders
from edna.checks.pseudoprincipals.companions import check_companions
from edna.checks.pseudoprincipals.generators import check_generator, find_generator, needs_pseudoprincipals
from edna.checks.steps import column_of
from edna.coverage import in_key, relations_to, unique_groups
from edna.errors import SpecError
from edna.remedies import Models
from edna.scaffold.kinds import NEVER_BACK, kind_of
from edna.spec import NOTHING, Decorrelate, Disguise, filler

_NO_POWERS: Final = {"is_active", "is_staff", "is_superuser", "is_admin"}


def emptying(field: Field[Any, Any]) -> Any:
    """A value that says nothing about anybody; `NOTHING` if the column cannot have one."""
    model = field.model
    if in_key(field) or column_of(model, field.name) is None:
        return NOTHING
    if any(relation.field.target_field == field for relation in relations_to(model)):
        return NOTHING
    if field.null:
        return None
    if isinstance(field, DateField):
        return placeholders.truncated_date(to="year")
    if any(field.name in group for group in unique_groups(model)):
        return _unique(field)
    if isinstance(field, GenericIPAddressField):
        return "::" if field.protocol.lower() == "ipv6" else "0.0.0.0"  # noqa: S104 - nobody's address
    return "" if isinstance(field, (CharField, TextField)) else NOTHING


def _unique(field: Field[Any, Any]) -> Any:
    if isinstance(field, EmailField):
        return placeholders.random_email()
    return placeholders.random_string() if isinstance(field, (CharField, TextField)) else NOTHING


@dataclass(frozen=True, slots=True)
class Filling:
    """What a generator of placeholder users says, as code by column."""

    values: dict[str, str]
    #: Rows that the application expects beside every user; None where it is better off without.
    companions: dict[type[Model], dict[str, str] | None]
    #: Columns that need a row which nobody can make up.
    undecided: list[str]


def filling_of(disguise: type[Disguise], model: type[Model], *, principals: Models) -> Filling | None:
    """How placeholder users are to be filled, where the project does not say it and the disguise needs it."""
    if not needs_pseudoprincipals(disguise):
        return None
    generator, _ = find_generator(disguise, model)
    if generator is not None:
        problems = [*check_generator(generator, model), *check_companions(generator, model)]
        if not any(message.is_serious() or message.id == "edna.W319" for message in problems):
            return None
    moved = {step.model for step in disguise.steps() if isinstance(step, Decorrelate) or len(step.owners) > 1}
    companions = {
        relation.model: None
        if relation.model in moved or kind_of(relation.model, principals=principals) in NEVER_BACK
        else _values_beside(relation.model, but=relation.field)
        for relation in relations_to(model)
        if relation.field.unique and not relation.is_parent_link
    }
    values = _values(model)
    undecided = [name for name in values if model._meta.get_field(name).is_relation]
    return Filling({name: code for name, code in values.items() if name not in undecided}, companions, undecided)


def _values_beside(model: type[Model], *, but: Field[Any, Any]) -> dict[str, str] | None:
    """None if a column needs what nobody can make up: a reference."""
    values = _values(model, but=but)
    return None if any(model._meta.get_field(name).is_relation for name in values) else values


def _values(model: type[Model], *, but: Field[Any, Any] | None = None) -> dict[str, str]:
    values: dict[str, str] = {}
    for field in model._meta.local_concrete_fields:
        if field.primary_key or field is but or getattr(field, "generated", False):
            continue
        code = _filling(field)
        if code is not None:
            values[field.name] = code
    return values


def _filling(field: Field[Any, Any]) -> str | None:
    """None where edna's own default will do."""
    if field.name == "password":
        return "placeholders.unusable_password()"
    if field.name in _NO_POWERS and isinstance(field, BooleanField):
        return "False"
    if isinstance(field, EmailField) and not field.null:
        return "placeholders.random_email()"
    if _is_login_name(field) and not field.null:
        return "placeholders.random_string()"
    try:
        filler({}, field, said="values")
    except SpecError:
        return _needed(field)
    return None


def _is_login_name(field: Field[Any, Any]) -> bool:
    try:
        return field.model._meta.get_field(getattr(field.model, "USERNAME_FIELD", "")) is field
    except FieldDoesNotExist:
        return False


def _needed(field: Field[Any, Any]) -> str:
    """For a column without a default of its own."""
    if isinstance(field, UUIDField):
        return "placeholders.call(uuid.uuid4, unique=True)"
    if isinstance(field, (CharField, TextField)):
        return "placeholders.random_string()"
    if isinstance(field, IntegerField):
        if field.unique:
            return "placeholders.call(lambda: secrets.randbelow(2**31), unique=True)"
        # Pages may know no other values than these.
        return next((str(value) for value, _ in field.flatchoices if isinstance(value, int)), "0")
    if isinstance(field, BooleanField):
        return "False"
    if isinstance(field, (DecimalField, FloatField)):
        return "0"
    return json.dumps("Decide")
