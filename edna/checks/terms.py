"""Checks of the terms on which removed rows come back: can they be kept, and are rights left to come back unsaid."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Warning
from django.db.models import BooleanField, CharField, Field, FileField, ForeignKey, Model, TextField

from edna import coverage
from edna.checks.columns import check_columns
from edna.checks.settings import principal_models
from edna.checks.steps import column_of, is_table, name_of, written, written_owner
from edna.coverage import column_of_object, in_key, relations_to, tables_of_object
from edna.naming import written_model
from edna.rights import grants, grants_of_django, looks_like_rights, names_a_right
from edna.spec import AS_IT_WAS, NOTHING, Disguise, Remove

#: Of any type: bits, a word, a list, a reference.
_SETS_OF_RIGHTS: Final = {"role", "roles", "permissions", "privileges"}


def check_returning(disguise: type[Disguise]) -> list[CheckMessage]:
    removals = [step for step in disguise.removals() if is_table(step.model)]
    messages: list[CheckMessage] = []
    for step in removals:
        if isinstance(step.returning, Mapping):
            messages += _values(disguise, step)
        elif step.returning is NOTHING:
            messages += cannot_stay_away(disguise, step, removals)
        elif step.returning not in (None, AS_IT_WAS):
            messages.append(
                Error(
                    f"{written(step)}: its `returning` is {step.returning!r}, so nothing of it comes back by a reveal.",
                    hint='Write returning={"is_staff": False}, edna.NOTHING or edna.AS_IT_WAS.',
                    obj=name_of(disguise),
                    id="edna.E121",
                )
            )
    return [*messages, *_contradictions(disguise, removals), *_unsaid(disguise, removals)]


def _values(disguise: type[Disguise], step: Remove) -> Iterator[CheckMessage]:
    obj, what = name_of(disguise), f"{written(step)}, returning"
    placeholders = step.values_on_return
    columns: dict[Field[Any, Any], Any] = {}
    for name in step.returning if isinstance(step.returning, Mapping) else ():
        column = column_of_object(step.model, name)
        field = column_of(column.model, name) if column is not None else None
        problem = "is no column that could be set" if field is None else _problem(step, field)
        if problem:
            yield Error(
                f"{what}: {step.model._meta.label}.{name} {problem}, so the rows cannot come back.",
                hint=f"Name other columns of {step.model._meta.label}, or leave it out.",
                obj=obj,
                id="edna.E121",
            )
        elif field is not None and name in placeholders:
            columns[field] = placeholders[name]
    for model in dict.fromkeys(field.model for field in columns):
        own = {field: draw for field, draw in columns.items() if field.model is model}
        yield from check_columns(model, own, what=what, obj=obj, fails="a reveal would hold the rows")


def _problem(step: Remove, field: Field[Any, Any]) -> str | None:
    if in_key(field):
        return "is a part of the primary key"
    if field.name in {owner.partition("__")[0] for owner in step.owners}:
        return "says whose the row is"
    if isinstance(field, FileField):
        return "names a file, which is sealed beside the row"
    if any(relation.field.target_field == field for relation in relations_to(field.model)):
        return "is what foreign keys find the row by"
    return None


def cannot_stay_away(disguise: type[Disguise], step: Remove, removals: Iterable[Remove]) -> Iterator[CheckMessage]:
    """Rows that stay away must be nobody's need."""
    model = step.model._meta.concrete_model or step.model
    staying = {each.model._meta.concrete_model for each in removals if each.returning is NOTHING}
    needed = [
        relation.label
        for relation in relations_to(model)
        if relation.model not in staying and not coverage.kept(disguise, relation.model, relation.field.name)
    ]
    principals = {principal._meta.concrete_model for principal in principal_models()}
    problem = None
    if principals & set(tables_of_object(model)):
        problem = "it is the account itself, which a reveal is to bring back"
    elif len(step.owners) > 1:
        problem = "its rows have several owners, and one of them would lose what another one brings back"
    elif len(tables_of_object(model)) > 1:
        problem = "its rows lie in several tables (multi-table inheritance)"
    elif any(isinstance(field, FileField) for field in model._meta.local_fields):
        problem = "its rows have files, which are sealed beside them"
    elif needed:
        problem = f"{', '.join(needed)} refers to its rows, and would be held for ever"
    if problem:
        yield Error(
            f"{written(step)} cannot stay away for good (returning=edna.NOTHING): {problem}.",
            hint="Let it come back, with other values in the columns that matter: returning={...}.",
            obj=name_of(disguise),
            id="edna.E122",
        )


def _contradictions(disguise: type[Disguise], removals: Iterable[Remove]) -> Iterator[CheckMessage]:
    """A record does not say which of two steps made it."""
    said: dict[type[Model], list[Remove]] = {}
    for step in removals:
        said.setdefault(step.model._meta.concrete_model or step.model, []).append(step)
    for model, steps in said.items():
        terms = [step.returning for step in steps]
        if any(each != terms[0] for each in terms):
            yield Error(
                f"Several steps remove {model._meta.label}, on different terms of return: which of them holds for a row that "
                "comes back cannot be told.",
                hint="Give each Remove of this model the same `returning`.",
                obj=name_of(disguise),
                id="edna.E121",
            )


def _unsaid(disguise: type[Disguise], removals: Iterable[Remove]) -> Iterator[CheckMessage]:
    """Rights that come back, and nobody has said that they should."""
    for step in removals:
        if step.returning in (AS_IT_WAS, NOTHING):
            continue
        said = step.returning if isinstance(step.returning, Mapping) else {}
        of_account = rights_of(step.model)
        rights = [field for field in of_account or _rights_in_rows(step) if field.name not in said]
        if rights:
            names = ", ".join(field.name for field in rights)
            values = ", ".join(f'"{field.name}": {_written_without(field)}' for field in rights)
            what = f"{written_model(step.model)}{written_owner(step.owners)}"
            whole = "" if of_account else ", or edna.NOTHING if they are not to come back at all"
            yield Warning(
                f"{written(step)}: {names} of {step.model._meta.label} look{'s' if len(rights) == 1 else ''} like rights, and nothing "
                "says how they come back: who left with them has them again after a return, even if everybody lost them meanwhile.",
                hint=f"Write Remove({what}, returning={{{values}}}); with edna.AS_IT_WAS for a value if it is "
                f"meant to come back{whole}.",
                obj=name_of(disguise),
                id="edna.W123",
            )
        elif not said and grants(step.model, principal_models()):
            yield _rights_of_a_table(disguise, step, removals)


def _rights_of_a_table(disguise: type[Disguise], step: Remove, removals: Iterable[Remove]) -> CheckMessage:
    label, what = step.model._meta.label, f"{written_model(step.model)}{written_owner(step.owners)}"
    if grants_of_django(step.model, principal_models()):
        problem = f"its rows of {label} give people groups or permissions"
    else:
        names = ", ".join(looks_like_rights(step.model, principal_models()))
        problem = f"its rows of {label} look like rights ({names})"
    ending = [replace(each, returning=NOTHING) if each.model is step.model else each for each in removals]
    if any(cannot_stay_away(disguise, replace(step, returning=NOTHING), ending)):
        hint = f"Write Remove({what}, returning={{...}}) with values that give no right, or edna.AS_IT_WAS if they are meant to come back."
    else:
        hint = f"Write Remove({what}, returning=edna.NOTHING); or edna.AS_IT_WAS if they are meant to come back."
    return Warning(
        f"{written(step)}: {problem}, and nothing says how they come back: who left with them has them again after a return, even if "
        "everybody lost them meanwhile.",
        hint=hint,
        obj=name_of(disguise),
        id="edna.W123",
    )


def rights_of(model: type[Model]) -> list[Field[Any, Any]]:
    """Columns of a principal's own row, in whichever table, that look like rights."""
    principals = {principal._meta.concrete_model for principal in principal_models()}
    concrete = model._meta.concrete_model or model
    if not principals & {concrete, *(parent._meta.concrete_model for parent in model._meta.get_parent_list())}:
        return []
    return [
        field
        for field in dict.fromkeys(
            field for table in tables_of_object(concrete) for field in table._meta.local_concrete_fields
        )
        if (isinstance(field, BooleanField) and names_a_right(field.name)) or field.name in _SETS_OF_RIGHTS
    ]


def _rights_in_rows(step: Remove) -> list[Field[Any, Any]]:
    """The same of rows that are somebody's by a key: of a membership, or a profile."""
    principals = {principal._meta.concrete_model for principal in principal_models()}
    columns = step.model._meta.local_concrete_fields
    targets = {field.name: field.related_model for field in columns if isinstance(field, ForeignKey)}
    theirs = [targets.get(owner) for owner in step.owners]
    if not any(isinstance(each, type) and each._meta.concrete_model in principals for each in theirs):
        return []
    return [field for field in columns if _is_right(field)]


def _is_right(field: Field[Any, Any]) -> bool:
    """A role without a choice of few is one on a stage, perhaps."""
    if isinstance(field, BooleanField):
        return names_a_right(field.name)
    is_any_text = isinstance(field, CharField | TextField) and not field.choices
    return field.name in _SETS_OF_RIGHTS and not is_any_text


def _written_without(field: Field[Any, Any]) -> str:
    """`without`, as code; of a choice, what one begins with."""
    is_choice = field.choices or (field.is_relation and not field.null)
    value = getattr(field.default, "value", field.default) if is_choice else without(field)
    if isinstance(value, str):
        return json.dumps(value)
    return repr(value) if value is None or isinstance(value, int) else "..."


def without(field: Field[Any, Any]) -> Any:
    """A value that gives no right, as far as the column's type tells."""
    if isinstance(field, BooleanField):
        return False
    if field.null:
        return None
    return 0 if "Integer" in field.get_internal_type() else ""
