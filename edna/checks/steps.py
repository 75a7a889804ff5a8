"""Checks of single steps of a disguise: does each owner path, condition and column exist and mean what it seems to.

A little long: each of these looks at one step alone, and they share how a step is written in a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import FieldDoesNotExist, FieldError, ValidationError
from django.db.models import Field, ForeignKey, JSONField, Model, Q, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.lookups import Lookup
from django.db.models.sql import Query
from django.utils.tree import Node

from edna import json_keys, registry
from edna.checks.columns import check_columns, misfit_key
from edna.checks.settings import principal_models
from edna.checks.value_owners import check_owner
from edna.coverage import in_key, kept, one_each, relation_to_several, relations_to, same_table
from edna.errors import SpecError
from edna.naming import written_names
from edna.remedies import is_of_principals
from edna.spec import Decorrelate, Disguise, Modify, Param, Remove, Transformation
from edna.value_owners import element_of, is_by_value, is_text, their_column

#: Lookups whose right side decides on the SQL itself: one value in one place cannot stand there.
_NOT_FOR_ONE_VALUE: Final = {"in", "range", "isnull"}


def usable_steps(disguise: type[Disguise]) -> list[Transformation]:
    """The steps that name a real table; `edna.E100` speaks about the others."""
    if not isinstance(disguise.transformations, (list, tuple)):
        return []
    return [step for step in disguise.steps() if is_table(step.model)]


def is_table(model: object) -> bool:
    """A model with a table (a proxy stands for the whole of the other model's): nothing abstract or swapped out."""
    if not isinstance(model, type) or not issubclass(model, Model):
        return False
    return not (model._meta.abstract or model._meta.swapped)


def name_of(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def written(step: Transformation) -> str:
    """The step as its author wrote it, near enough to be found."""
    return f"{type(step).__name__}({step.model.__name__}{written_owner(step.owners)})"


def written_owner(owners: Sequence[str]) -> str:
    return f", owner={written_names(owners)}" if owners else ""


def check_step(disguise: type[Disguise], step: Transformation) -> list[CheckMessage]:
    obj, what = name_of(disguise), written(step)
    messages: list[CheckMessage] = []
    for owner in step.owners:
        messages += check_owner(step, owner, what, obj) if is_by_value(owner) else _owner(step, owner, what, obj)
        messages += _of_principals(step, what, obj)
    if step.where is not None:
        messages += _where(disguise, step, what, obj)
    if isinstance(step, Modify):
        messages += _modified(disguise, step, what, obj)
    if isinstance(step, Decorrelate):
        messages += _decorrelated(disguise, step, what, obj)
    if isinstance(step, Remove) and len(step.owners) > 1:
        for field in filter(None, (column_of(step.model, owner) for owner in step.owners)):
            # While another owner keeps the row, the column of the one who leaves is re-pointed.
            messages += _referred_to(disguise, field, what, obj)
    messages += _key_of_several(step, what, obj)
    return messages


# Owners


def _owner(step: Transformation, owner: str, what: str, obj: str) -> Iterator[CheckMessage]:
    model: type[Model] = step.model
    for name in owner.split("__"):
        try:
            relation: Any = model._meta.get_field(name)
            related = relation.related_model
            if related is None or isinstance(related, str):
                raise SpecError
        except (FieldDoesNotExist, SpecError):
            known = ", ".join(sorted(f.name for f in model._meta.fields if f.is_relation)) or "none"
            yield Error(
                f"{what}: {model._meta.label} has no foreign key {name!r}, so nobody owns these rows and the disguise "
                "cannot be applied.",
                hint=f"Foreign keys of {model._meta.label}: {known}. Join several with __, as in "
                'owner="comment__author". Rows that hold a user\'s number or e-mail address in a plain column: '
                'owner=edna.by_value("user_number", "pk").',
                obj=obj,
                id="edna.E106",
            )
            return
        model = related
    many = None if isinstance(step, Modify) else relation_to_several(step.model, owner)
    if many is not None and not step.one_owner:
        yield Warning(
            f"{what}: this path leads to several owners of one row. Whoever applies the disguise first takes the row "
            "from the others too.",
            hint=_for_one_owner(many),
            obj=obj,
            id="edna.W106",
        )


def _of_principals(step: Transformation, what: str, obj: str) -> Iterator[CheckMessage]:
    if isinstance(step, Remove) and is_of_principals(step.model, principal_models()):
        yield Error(
            f"{what} removes other principals along with the one who applies it: their keys, receipts and sessions "
            "would be left without an account.",
            hint=f"Remove({step.model.__name__}) removes the principal itself. Disguise the others one by one, each "
            "with their own receipt.",
            obj=obj,
            id="edna.E109",
        )


def _for_one_owner(relation: Any) -> str:
    """What to do about a path that goes on to several rows there."""
    if relation.many_to_many:
        return "Use the table in between as the model of the step, for example the `through` model of a many-to-many field."
    column = relation.remote_field
    return (
        f"If no two people have {column.model._meta.label} rows that refer to the same one by {column.name}, say so: one_owner=True. "
        "A unique constraint on that column says it, too. Otherwise leave these rows to the last of them, by hand (edna.session)."
    )


def _key_of_several(step: Transformation, what: str, obj: str) -> Iterator[CheckMessage]:
    """A step that changes a primary key in which two people are named: each of them knows only the own changes of it."""
    if not isinstance(step, Decorrelate) and not (isinstance(step, Remove) and len(step.owners) > 1):
        return
    named = [field.name for field in _composite_key(step.model) if refers_to_principal(field)]
    if len(named) > 1 and set(named) & set(step.owners):
        yield Warning(
            f"{what} changes the primary key of {step.model._meta.label}, of which {' and '.join(named)} name different "
            "people: what one of them modified in a row, and sealed under its key of then, is not found again once the "
            "other one has come back.",
            hint="Give the table a primary key of its own and make these columns unique together.",
            obj=obj,
            id="edna.W118",
        )


def refers_to_principal(field: object) -> bool:
    related = field.related_model if isinstance(field, ForeignKey) else None
    return isinstance(related, type) and any(same_table(related, model) for model in principal_models())


# Conditions


def _where(disguise: type[Disguise], step: Transformation, what: str, obj: str) -> Iterator[CheckMessage]:
    try:
        if not isinstance(step.where, Q):
            raise TypeError(f"{type(step.where).__name__} is no Q object")
        query: QuerySet[Any, Any] = QuerySet(model=step.model).filter(step.where)
    except (FieldError, FieldDoesNotExist, ValidationError, TypeError, ValueError) as error:
        yield Error(
            f"{what}: its `where` cannot be understood ({error}), so the disguise cannot be applied.",
            hint='Write it as for QuerySet.filter: where=Q(question__lecture=Param("lecture")). A Param stands for '
            "one whole value.",
            obj=obj,
            id="edna.E102",
        )
        return
    unknown = params_in(query.query) - set(disguise.params)
    for name in sorted(unknown):
        yield Error(
            f"{what}: its `where` asks for Param({name!r}), which params does not declare; nobody can give it a "
            "value, so the disguise cannot be applied.",
            hint=f'Add params = {{"{name}": int}} (or its right type), or correct the name.',
            obj=obj,
            id="edna.E103",
        )
    for lookup in _walk(query.query):
        if isinstance(lookup, Lookup) and isinstance(lookup.rhs, Param) and lookup.lookup_name in _NOT_FOR_ONE_VALUE:
            yield Error(
                f"{what}: Param({lookup.rhs.name!r}) stands for one value, which the lookup {lookup.lookup_name!r} "
                "does not take; applying the disguise would fail.",
                hint="Compare with one value (exact, lt, gte, contains ...), or register one disguise per case.",
                obj=obj,
                id="edna.E104",
            )


def params_in(node: object) -> set[str]:
    return {part.name for part in _walk(node) if isinstance(part, Param)}


def _walk(node: Any) -> Iterator[Any]:
    """A condition and all that it is made of: nested conditions, both sides of lookups, subqueries."""
    yield node
    parts: list[Any] = []
    if isinstance(node, Query):
        parts = [node.where, *node.annotations.values()]
    elif isinstance(node, QuerySet):
        parts = [node.query]
    elif isinstance(node, Node):
        parts = list(node.children)
    elif isinstance(node, Lookup):
        parts = [node.lhs, node.rhs]
    elif isinstance(node, (list, tuple, set)):
        parts = list(node)
    elif isinstance(node, Combinable) or hasattr(node, "get_source_expressions"):
        parts = list(getattr(node, "get_source_expressions", list)())
    for part in parts:
        yield from _walk(part)


# Columns


def _modified(disguise: type[Disguise], step: Modify, what: str, obj: str) -> Iterator[CheckMessage]:
    if not isinstance(step.set, dict) or not step.set:
        yield Error(
            f"{what}: its `set` names no columns, so the step changes nothing.",
            hint='Write set={"body": placeholders.constant("[deleted]")}.',
            obj=obj,
            id="edna.E112",
        )
        return
    columns: dict[Field[Any, Any], Any] = {}
    yield from _asks_of_person(disguise, step, what, obj)
    for name in step.set:
        field = column_of(step.model, json_keys.column(name))
        if field is not None and json_keys.is_key(name):
            yield from _key(step, name, field, what, obj)
        elif field is None:
            yield Error(
                f"{what}: {step.model._meta.label} has no column {name!r} that could be set, so the disguise cannot "
                "be applied.",
                hint=f"Columns: {', '.join(f.name for f in step.model._meta.concrete_fields)}.",
                obj=obj,
                id="edna.E112",
            )
        elif in_key(field):
            yield Error(
                f"{what} changes {field.model._meta.label}.{field.name}, a part of the primary key: the row could not be "
                "found again, and a reveal would hold it for ever.",
                hint="Leave the primary key alone; remove the row if its key says who it belongs to.",
                obj=obj,
                id="edna.E113",
            )
        else:
            yield from _referred_to(disguise, field, what, obj)
            columns[field] = replace(step.placeholders[name], person=())
    # By table: with multi-table inheritance, parents' tables have some of them, and constraints of their own.
    for model in dict.fromkeys(field.model for field in columns):
        own = {field: draw for field, draw in columns.items() if field.model is model}
        yield from check_columns(model, own, what=what, obj=obj)


def _asks_of_person(disguise: type[Disguise], step: Modify, what: str, obj: str) -> Iterator[CheckMessage]:
    """Columns of the person's own row, or of the one beside it, that placeholders name."""
    asked = {name for placeholder in step.placeholders.values() for name in placeholder.person}
    try:
        person = registry.principal_model_for(disguise)
    except (SpecError, FieldDoesNotExist, LookupError):  # other checks speak about it
        return
    known = {field.name for field in person._meta.concrete_fields}
    for name in sorted(asked - known):
        if _is_beside(person, name):
            continue
        beside = [
            f"{relation.name}__..., of {relation.field.model._meta.label}"
            for relation in person._meta.related_objects
            if relation.one_to_one and not relation.field.remote_field.parent_link
        ]
        yield Error(
            f"{what}: a placeholder asks for {name!r} of the person, but {person._meta.label} has no such column, nor has a row "
            "of which everybody has one, so the disguise cannot be applied.",
            hint=f"Columns: {', '.join([*sorted(known), *beside])}.",
            obj=obj,
            id="edna.E302",
        )
    if asked and step.waits_for_all:
        yield Error(
            f"{what}: a placeholder asks for the person, but with when=ALL_LEFT several have left by then. What it took out would be one "
            "person's alone, and the names of the others would stay.",
            hint="Leave out when=, so that each who leaves takes their own name out; or replace the value as a whole.",
            obj=obj,
            id="edna.E302",
        )


def _is_beside(person: type[Model], name: str) -> bool:
    """Whether this is a column of a row of which everybody has one at most."""
    try:
        theirs = their_column(person, name)
    except (SpecError, FieldDoesNotExist):
        return False
    return one_each(theirs.whose)


def _key(step: Modify, name: str, field: Field[Any, Any], what: str, obj: str) -> Iterator[CheckMessage]:
    """A single key of a JSON column."""
    label = f"{step.model._meta.label}.{field.name}"
    around = next((each for each in step.set if each != name and json_keys.covers(each, name)), None)
    if is_text(field) and json_keys.is_element_of_text(name) and element_of(step.owners) is not None:
        yield from _of_text(step, name, field, what, obj)
    elif not isinstance(field, JSONField):
        yield Error(
            f"{what} sets {name!r}, but {label} is no JSONField and has no keys, so the disguise cannot be applied.",
            hint="A path with __ names a key in a JSON column of the step's own model. Columns of other models take a step of their own.",
            obj=obj,
            id="edna.E112",
        )
    elif not all(name.split(json_keys.BETWEEN)):
        yield Error(
            f"{what} sets {name!r}, in which a key is empty, so the step changes nothing.",
            hint='Join the keys with two underscores: set={"meta__author__name": ...}. A key that has two itself cannot be said.',
            obj=obj,
            id="edna.E112",
        )
    elif around is not None:
        yield Error(
            f"{what} sets {name!r} and {around!r}, which holds it: nobody ever sees the one of them.",
            hint="Leave one of the two out.",
            obj=obj,
            id="edna.E112",
        )
    elif problem := misfit_key(field, step.placeholders[name]):
        yield Error(
            f"{what}: what it puts into {label} under {name!r} {problem}, so applying the disguise would fail.",
            hint="Choose another placeholder.",
            obj=obj,
            id="edna.E302",
        )


def _of_text(step: Modify, name: str, field: Field[Any, Any], what: str, obj: str) -> Iterator[CheckMessage]:
    """An element of a plain text: the rest of it stays, so what is put in must not be longer, nor be several elements."""
    placeholder = step.placeholders[name]
    value = placeholder.make(field, None) if placeholder.fixed else ""
    fits = isinstance(value, str) and not re.search(r"[,;\r\n]", value)
    if not fits or (field.max_length is not None and not (placeholder.fixed and value == "")):
        yield Error(
            f"{what}: what it puts into {field.model._meta.label}.{field.name} for one element of it may not fit, so applying the disguise "
            "could fail.",
            hint='Write "": the element is emptied, and what stands around it stays. A TextField takes other texts, without commas.',
            obj=obj,
            id="edna.E302",
        )


def _decorrelated(disguise: type[Disguise], step: Decorrelate, what: str, obj: str) -> Iterator[CheckMessage]:
    field = column_of(step.model, step.column) if step.owners else None
    if field is not None and refers_to_principal(field):
        yield from _referred_to(disguise, field, what, obj)
    else:
        yield Error(
            f"{what}: its owner is no foreign key of {step.model._meta.label} itself to a principal model, so there "
            "is nothing that could be pointed at a pseudoprincipal.",
            hint="Decorrelate the model that holds the foreign key, and give the field's own name as owner (no path "
            "with __). What names somebody by value cannot be pointed elsewhere: replace the value with Modify, or Remove the row.",
            obj=obj,
            id="edna.E110",
        )
    if isinstance(step.group_by, str):
        yield Error(
            f"{what}: group_by is a string and would be read letter by letter.",
            hint=f'Write a list: group_by=["{step.group_by}"], or group_by=edna.ALL.',
            obj=obj,
            id="edna.E111",
        )
        return
    for path in step.group_paths:
        try:
            QuerySet(model=step.model).values_list(path)
        except (FieldError, TypeError, AttributeError):
            yield Error(
                f"{what}: group_by names {path!r}, which is no column, so it cannot be told how many "
                "pseudoprincipals are needed.",
                hint=f"Name columns of {step.model._meta.label}, or paths from there joined with __; of a GenericForeignKey, "
                "the two that it is made of.",
                obj=obj,
                id="edna.E111",
            )


def _composite_key(model: type[Model]) -> Sequence[Field[Any, Any]]:
    return getattr(model._meta, "pk_fields", ())


def _referred_to(disguise: type[Disguise], field: Field[Any, Any], what: str, obj: str) -> Iterator[CheckMessage]:
    """A column that foreign keys refer to, as its row's primary key or by ``to_field``: they would point at nothing."""
    labels = [
        relation.label
        for relation in relations_to(field.model)
        if relation.field.target_field == field
        and (relation.is_enforced or not kept(disguise, relation.model, relation.field.name))
    ]
    if labels:
        yield Error(
            f"{what} changes {field.model._meta.label}.{field.name}, by which {', '.join(labels)} finds its row: it would "
            "point at nothing, or the database refuses the change.",
            hint="Let the foreign key refer to a column that stays as it is, or remove the row with all that refers to it.",
            obj=obj,
            id="edna.E113",
        )


def column_of(model: type[Model], name: str) -> Field[Any, Any] | None:
    """The column that can be written under this very name: no relation's ``author_id``, nothing that the database computes."""
    for field in model._meta.concrete_fields:
        if field.name == name and not getattr(field, "generated", False):
            return field
    return None
