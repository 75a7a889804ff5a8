"""Checks of pseudoprincipals: can their rows be made, can nobody log in to them, do their keys say nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Warning
from django.db.models import (
    BooleanField,
    CharField,
    Field,
    IntegerField,
    Model,
    PositiveBigIntegerField,
    PositiveIntegerField,
    PositiveSmallIntegerField,
    SmallAutoField,
    SmallIntegerField,
    UUIDField,
)

from edna import registry
from edna.checks.columns import check_columns
from edna.checks.settings import settings_value
from edna.checks.steps import is_table, name_of, usable_steps
from edna.coverage import parent_links, same_table
from edna.errors import SpecError
from edna.placeholders import Placeholder
from edna.spec import Decorrelate, Disguise, Pseudoprincipal, filler

_UNSIGNED: Final = (PositiveBigIntegerField, PositiveIntegerField, PositiveSmallIntegerField)
_SMALL: Final = (SmallAutoField, SmallIntegerField, PositiveSmallIntegerField)
_ENOUGH: Final = 26
#: What a pseudoprincipal must not be: able to log in, or privileged.
_POWERS: Final = ("is_active", "is_staff", "is_superuser")


def needs_pseudoprincipals(disguise: type[Disguise]) -> bool:
    """To re-point rows to: those of a `Decorrelate`, and shared rows that somebody else keeps."""
    return any(isinstance(step, Decorrelate) or len(step.owners) > 1 for step in usable_steps(disguise))


def find_generator(
    disguise: type[Disguise], model: type[Model]
) -> tuple[type[Pseudoprincipal] | None, list[CheckMessage]]:
    """The generator that fills pseudoprincipals of this disguise; otherwise why there is none."""
    obj = name_of(disguise)
    try:
        generator = registry.pseudoprincipal_for(disguise, model)
    except SpecError:
        message = Error(
            f"Decorrelate needs placeholder users of {model._meta.label}, and nothing says how to fill them, so the "
            "disguise cannot be applied.",
            hint="Register a generator: @edna.register class Anonymous(edna.Pseudoprincipal): model = "
            f"{model.__name__}; values = {{...}}.",
            obj=obj,
            id="edna.E310",
        )
        return None, [message]
    if not isinstance(generator, type) or not issubclass(generator, Pseudoprincipal):
        problem = "Its pseudoprincipal is no edna.Pseudoprincipal class"
    elif generator is not registry.StockUser and not (
        is_table(getattr(generator, "model", None)) and same_table(generator.model, model)
    ):
        problem = f"{generator.__name__} makes rows of another model than {model._meta.label}, to which the owners lead"
    else:
        return generator, []
    message = Error(
        f"{problem}; applying the disguise would fail.",
        hint=f"Give it an edna.Pseudoprincipal for {model.__name__}, or leave it out to use the registered one.",
        obj=obj,
        id="edna.E311",
    )
    return None, [message]


def check_generator(generator: type[Pseudoprincipal], model: type[Model]) -> list[CheckMessage]:
    obj = name_of(generator)
    columns, messages = check_values(generator.values, model, said="values", obj=obj)
    messages += check_columns(model, columns, what=f"{generator.__name__}.values", obj=obj)
    messages += _powers(columns, model, obj)
    return messages


def check_values(
    values: Mapping[str, Any], model: type[Model], *, said: str, obj: str, given: Collection[str] = ()
) -> tuple[dict[Field[Any, Any], Placeholder], list[CheckMessage]]:
    """What fills the columns of a new row, but for those that are ``given``; and what is wrong with it."""
    stored = {
        field.name: field
        for field in model._meta.local_concrete_fields
        if not field.primary_key and not getattr(field, "generated", False) and field.name not in given
    }
    messages: list[CheckMessage] = [
        Error(
            f"{said} names {name!r}, which is no column of {model._meta.label} that can be filled: the value is ignored.",
            hint=f"Columns: {', '.join(stored)}.",
            obj=obj,
            id="edna.E317",
        )
        for name in values
        if name not in stored
    ]
    columns: dict[Field[Any, Any], Placeholder] = {}
    for field in stored.values():
        try:
            columns[field] = filler(values, field, said=said)
        except SpecError:
            messages.append(
                Error(
                    f"Nothing says how to fill {model._meta.label}.{field.name}, which has no fixed default, may not "
                    "be NULL, or must be unique: no pseudoprincipal can be made.",
                    hint=f'Add {said} = {{"{field.name}": ...}} with a value or a placeholder'
                    + (", a unique one such as placeholders.random_string()." if field.unique else "."),
                    obj=obj,
                    id="edna.E312",
                )
            )
    return columns, messages


def _powers(columns: dict[Field[Any, Any], Placeholder], model: type[Model], obj: str) -> Iterator[CheckMessage]:
    for field, placeholder in columns.items():
        fixed = placeholder.make(field, None) if placeholder.name == "constant" else None
        if field.name in _POWERS and isinstance(field, BooleanField) and fixed is True:
            what = "could log in" if field.name == "is_active" else "would be privileged"
            yield Warning(
                f"Pseudoprincipals of {model._meta.label} get {field.name}=True: whoever gets hold of a password or "
                f"session for one {what}.",
                hint=f'Add values = {{"{field.name}": False}}.',
                obj=obj,
                id="edna.W313",
            )


def check_primary_key(model: type[Model]) -> Iterator[CheckMessage]:
    """Whether pseudoprincipals of ``model`` can have random primary keys."""
    mode, key, label = settings_value("PSEUDOPRINCIPAL_KEYS"), model._meta.pk, model._meta.label
    if any(parent_links(model)):
        yield Error(
            f"{label} keeps a part of its columns in a parent's table (multi-table inheritance): pseudoprincipals are rows "
            "of one table, so nothing can be decorrelated.",
            hint="Make the parent the principal model, or let the model stand on its own with a OneToOneField to it.",
            obj=model,
            id="edna.E105",
        )
    elif isinstance(key, _UNSIGNED) and mode == "negative":
        yield Error(
            f"{label} has an unsigned primary key, so its pseudoprincipals cannot have negative ones: nothing can be "
            "decorrelated.",
            hint='Set EDNA["PSEUDOPRINCIPAL_KEYS"] = "random", or make the key signed.',
            obj=model,
            id="edna.E314",
        )
    elif not isinstance(key, (IntegerField, UUIDField, CharField)):
        yield Error(
            f"{label} has a primary key of type {type(key).__name__}, of which edna makes no random ones: nothing can "
            "be decorrelated.",
            hint="Use an integer, UUID or text key for the principal model.",
            obj=model,
            id="edna.E315",
        )
    elif (isinstance(key, _SMALL) and mode != "sequence") or (
        isinstance(key, CharField) and 0 < (key.max_length or 0) < _ENOUGH
    ):
        yield Warning(
            f"{label} has a primary key with few possible values: "
            + (
                "two pseudoprincipals can draw the same one, and the disguise fails."
                if isinstance(key, CharField)
                else "after some ten thousand pseudoprincipals there is no free one left, and disguises fail."
            ),
            hint=f"Use a 64-bit integer, a UUID, or at least {_ENOUGH} characters.",
            obj=model,
            id="edna.W316",
        )
