"""Checks of what is put into columns: does each placeholder fit, and is it unique where it has to be."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import ValidationError
from django.db.models import DateField, Field, JSONField, Model

from edna.coverage import unique_groups
from edna.placeholders import Placeholder, random_name


def check_columns(
    model: type[Model],
    columns: Mapping[Field[Any, Any], Placeholder],
    *,
    what: str,
    obj: str,
    fails: str = "applying the disguise would fail",
) -> Iterator[CheckMessage]:
    """``columns`` are those that get a placeholder; ``what`` names the step or the generator that says so, ``fails`` what comes of it."""
    for field, placeholder in columns.items():
        problem = misfit(field, placeholder)
        if problem:
            yield Error(
                f"{what}: what it puts into {model._meta.label}.{field.name} {problem}, so {fails}.",
                hint="Choose another placeholder, or change the column.",
                obj=obj,
                id="edna.E302",
            )
        elif field.unique and placeholder.unique and 0 < (field.max_length or 0) < placeholder.room:
            yield Warning(
                f"{what}: {model._meta.label}.{field.name} is unique but has room for {field.max_length} characters "
                f"only, so that two random values may meet: then {fails}.",
                hint=f"Make the column at least {placeholder.room} characters long, or put random_name() there, which takes "
                f"{random_name().room}; a function of your own that knows which are taken says call(..., unique=True).",
                obj=obj,
                id="edna.W303",
            )
    names = {field.name: (field, draw) for field, draw in columns.items()}
    yield from _unique(model, names, what=what, obj=obj, fails=fails)


def misfit(field: Field[Any, Any], placeholder: Placeholder) -> str | None:
    """Why a value of this placeholder cannot stand in the column. A developer's own function is never called."""
    if placeholder.person:
        return "asks for columns of the person, which only a Modify has"
    if placeholder.name in ("call", "derived", "row"):
        return None
    if placeholder.reads_original:
        return None if isinstance(field, DateField) else "is cut from a date, which the column does not hold"
    try:
        value = placeholder.make(field, None)
    except Exception:  # whatever it is, it would be raised while disguising
        return "cannot be drawn for this column (has it `choices`?)"
    if value is None:
        return None if field.null else "is NULL, which the column does not take"
    try:
        field.to_python(value)
    except (ValidationError, TypeError, ValueError, AttributeError):
        return f"is no value of a {type(field).__name__}"
    if isinstance(value, str) and field.max_length and len(value) > field.max_length:
        return f"is longer than its {field.max_length} characters"
    if field.unique and placeholder.unique and placeholder.make(field, None) == value:
        return "is always the same, because the column is too short for anything random"
    return None


def misfit_key(field: JSONField, placeholder: Placeholder) -> str | None:
    """Why a value of this placeholder cannot stand under a key of a JSON column."""
    if placeholder.name in ("call", "derived", "row"):
        return None
    if placeholder.reads_original:
        return "is cut from a date, which JSON does not know"
    try:
        json.dumps(placeholder.make(field, None), cls=field.encoder)
    except Exception:  # whatever it is, it would be raised while disguising
        return "is no JSON, or cannot be drawn"
    return None


def _unique(
    model: type[Model], columns: Mapping[str, tuple[Field[Any, Any], Placeholder]], *, what: str, obj: str, fails: str
) -> Iterator[CheckMessage]:
    for group in unique_groups(model):
        touched = [columns[name] for name in group if name in columns]
        if not touched or any(_sets_apart(field, placeholder) for field, placeholder in touched):
            continue
        label = f"{model._meta.label}.{' + '.join(group)}"
        always = all(placeholder.is_same_for_all for _, placeholder in touched)
        if len(touched) == len(group):
            yield Error(
                f"{what}: {label} must be unique, but "
                + ("gets the same value in every row" if always else "two rows may get the same value")
                + f": the database refuses the second row: {fails}.",
                hint="Use placeholders.random_string() without a length, or of 26 characters or more, random_name(), random_email(), "
                "call(..., unique=True), or null() where the column takes it.",
                obj=obj,
                id="edna.E301",
            )
        else:
            yield Warning(
                f"{what}: {label} must be unique together, and only {', '.join(field.name for field, _ in touched)} "
                "gets a new value, the same in every row: the database refuses rows that differed there only: "
                f"{fails}.",
                hint="Use a unique placeholder for one of these columns, unless the other columns tell the rows apart.",
                obj=obj,
                id="edna.W301",
            )


def _sets_apart(field: Field[Any, Any], placeholder: Placeholder) -> bool:
    """Two rows with this placeholder never collide: it is unique, or NULL, which equals nothing."""
    if placeholder.unique or placeholder.name in ("call", "row") or placeholder.reads_original:
        return placeholder.unique
    value: Any = ""
    with contextlib.suppress(Exception):  # edna.E302
        value = placeholder.make(field, None)
    return value is None and field.null
