"""Rows that name the account by a value: in tables that no key ties to it, and where a key that may be empty is.

Each is proposed as a step that can be pasted. Invariant: columns are compared only with such of the account as say the same. Reads model
definitions; a guess, which a person confirms.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import Field, JSONField, Model, Q, TextField

from edna import personal_columns, placeholders
from edna.coverage import in_key, relations_to, tables_of_object
from edna.json_keys import BETWEEN, EACH
from edna.personal_columns import Looks
from edna.remedies import Step, gaps, is_of_principals, with_steps
from edna.scaffold.columns import emptying
from edna.scaffold.draft import Draft
from edna.scaffold.neighbours import behind
from edna.spec import NOTHING, Modify, Remove
from edna.value_owners import by_element, by_value, is_text

#: In the name of a column that holds what people log in with.
_LOGIN = {"user", "username", "login", "author", "member"}


@dataclass(frozen=True, slots=True)
class Named:
    """A table, the columns that look as if they said who somebody is, and the steps that take its rows along, if these can be told."""

    model: type[Model]
    columns: list[str]
    steps: list[Step]


def by_name_alone(draft: Draft) -> list[Named]:
    """Tables that no key ties to anybody, and which look as if they named people: a log of logins."""
    reached = {step.model for step in draft.steps} | {*behind(draft)}
    found: list[Named] = []
    for model in personal_columns.tables():
        if model in reached or personal_columns.way_to_a_person(model) is not None:
            continue
        if told := [each for each in model._meta.concrete_fields if personal_columns.says_who(each)]:
            owner = _owner(draft, told)
            found.append(Named(model, [each.name for each in told], _steps(draft, model, told, owner) if owner else []))
    return found


def _steps(draft: Draft, model: type[Model], told: list[Field[Any, Any]], owner: str) -> list[Step]:
    """The rows go, unless others refer to them. If the key itself names somebody, so does what refers to it: both go."""
    if not any(not each.is_set_by_django for table in tables_of_object(model) for each in relations_to(table)):
        return [Remove(model, owner)]
    if any(in_key(each) for each in told):
        gone = Remove(model, owner)
        supposed = with_steps(draft.as_disguise(), [gone])
        return [gone, *(step for gap in gaps(supposed, principals=draft.principals) for step in gap.steps)]
    values = {each.name: value for each in told if (value := emptying(each)) is not NOTHING}
    return [Modify(model, owner, set=values)] if values else []


def in_lists(draft: Draft) -> list[Named]:
    """Columns with a list of people, in rows of anybody: each has an element of it, and leaves the others theirs."""
    theirs = _address(draft.principal)
    principal = draft.principal if len(draft.principals) > 1 else None
    found: list[Named] = []
    for column in (each for model in personal_columns.tables() for each in model._meta.local_concrete_fields):
        if theirs is not None and personal_columns.lists_people(column) and not in_key(column):
            place = f"{column.name}{BETWEEN}{EACH}"
            # Among as many others as there may be, nothing longer is sure to fit.
            shortest = None if isinstance(column, JSONField) else ""
            value = placeholders.random_email() if isinstance(column, TextField) else shortest
            owner = by_element(place, theirs, principal=principal)
            found.append(Named(column.model, [column.name], [Modify(column.model, owner, set={place: value})]))
    return found


def of_others_than_who_serves(draft: Draft) -> list[Named]:
    """Rows in which somebody deals with what another one has sent in: the key leads to the first, and an address names the second."""
    accounts = tables_of_object(draft.principal._meta.concrete_model or draft.principal)
    found: list[Named] = []
    for model in personal_columns.tables():
        links = [each.name for each in model._meta.local_fields if each.related_model in accounts]
        told = [
            each
            for each in model._meta.local_concrete_fields
            if personal_columns.says_who(each)
            and links
            and all(personal_columns.is_of_another(each.name, beside=link) for link in links)
        ]
        values = {each.name: value for each in told if (value := emptying(each)) is not NOTHING}
        if values and (owner := _owner(draft, told)):
            found.append(Named(model, [*values], [Modify(model, owner, set=values)]))
    return found


def without_account(draft: Draft) -> list[Named]:
    """Rows of guests: the key to the account is empty in them, and what they name may be the account's all the same."""
    found: list[Named] = []
    for step in draft.steps:
        if (
            not isinstance(step, Remove | Modify)
            or len(step.owners) != 1
            or is_of_principals(step.model, draft.principals)
        ):
            continue
        try:
            link = step.model._meta.get_field(step.owners[0])
        except FieldDoesNotExist:  # a path
            continue
        if not isinstance(link, Field) or not link.null or in_key(link) or link.name in getattr(step, "set", ()):
            continue
        told = [each for each in step.model._meta.concrete_fields if personal_columns.says_who(each, link=link.name)]
        if owner := _owner(draft, told):
            guests = dataclasses.replace(step, owner=owner, where=Q(**{link.name: None}))
            found.append(Named(step.model, [each.name for each in told], [guests]))
    return found


def _owner(draft: Draft, told: list[Field[Any, Any]]) -> str | None:
    """By an address, which is one person's, before a name; by what one person alone has before another."""
    principal = draft.principal if len(draft.principals) > 1 else None
    for looks in (Looks.EMAIL, Looks.NAME):
        pairs = [
            (column.name, theirs)
            for column in told
            if personal_columns.looks(column) is looks and (theirs := _same(draft.principal, column, looks)) is not None
        ]
        if pairs:
            alone = {each.name for each in draft.principal._meta.concrete_fields if each.unique}
            own, theirs = next((pair for pair in pairs if pair[1] in alone), pairs[0])
            return by_value(own, theirs, principal=principal)
    return None


def _same(principal: type[Model], column: Field[Any, Any], looks: Looks) -> str | None:
    """The column of the account that says what this one says."""
    fields = {each.name: each for each in principal._meta.local_concrete_fields if is_text(each)}
    if looks is Looks.EMAIL:
        return _address(principal)
    if copy := personal_columns.key_of_copy(column):
        # `user_name` is a copy of the user's `username`, whatever they log in with.
        same = next((each for each in (copy[1], column.name.replace("_", "")) if each in fields), None)
        if same is not None:
            return same
    login = getattr(principal, "USERNAME_FIELD", "")
    if login in fields and _LOGIN.intersection(column.name.lower().split("_")):
        return str(login)
    return column.name if column.name in fields else None


def _address(principal: type[Model]) -> str | None:
    """The column by which the account is written to."""
    addresses = [
        each.name
        for each in principal._meta.local_concrete_fields
        if is_text(each) and personal_columns.looks(each) is Looks.EMAIL
    ]
    name = getattr(principal, "EMAIL_FIELD", "email")
    return name if name in addresses else next(iter(addresses), None)
