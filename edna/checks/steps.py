"""Checks of single steps of a disguise: does each owner path, condition and column exist and mean what it seems to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import FieldDoesNotExist, FieldError, ValidationError
from django.db.models import Field, ForeignKey, Model, Q, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.lookups import Lookup
from django.db.models.sql import Query
from django.utils.tree import Node

from edna.checks.columns import check_columns
from edna.checks.settings import principal_models
from edna.coverage import same_table
from edna.errors import SpecError
from edna.spec import Decorrelate, Disguise, Modify, Param, Remove, Transformation

#: Lookups whose right side decides on the SQL itself: one value in one place cannot stand there.
_NOT_FOR_ONE_VALUE: Final = {"in", "range", "isnull"}


def usable_steps(disguise: type[Disguise]) -> list[Transformation]:
    """The steps that name a real table; `edna.E100` speaks about the others."""
    if not isinstance(disguise.transformations, (list, tuple)):
        return []
    return [step for step in disguise.steps() if is_table(step.model)]


def is_table(model: object) -> bool:
    """A model with a table of its own: no proxy, nothing abstract or swapped out."""
    if not isinstance(model, type) or not issubclass(model, Model):
        return False
    return not (model._meta.abstract or model._meta.proxy or model._meta.swapped)


def name_of(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def written(step: Transformation) -> str:
    """The step as its author wrote it, near enough to be found."""
    owner = f', owner="{step.owner}"' if step.owner else ""
    return f"{type(step).__name__}({step.model.__name__}{owner})"


def check_step(disguise: type[Disguise], step: Transformation) -> list[CheckMessage]:
    obj, what = name_of(disguise), written(step)
    found: list[CheckMessage] = []
    if step.model._meta.parents:
        parents = ", ".join(parent._meta.label for parent in step.model._meta.parents)
        found.append(
            Error(
                f"{what}: {step.model._meta.label} keeps a part of its columns in the table of {parents} (multi-table "
                "inheritance), which this version of edna would leave behind; the disguise is refused when it is "
                "applied.",
                hint="Leave the model out, or turn the inheritance into a OneToOneField to the parent.",
                obj=obj,
                id="edna.E105",
            )
        )
    found += _owner(step, what, obj)
    if step.where is not None:
        found += _where(disguise, step, what, obj)
    if isinstance(step, Modify):
        found += _modified(step, what, obj)
    if isinstance(step, Decorrelate):
        found += _decorrelated(step, what, obj)
    return found


# Owners


def _owner(step: Transformation, what: str, obj: str) -> Iterator[CheckMessage]:
    model, last, many = step.model, None, False
    for name in step.owner.split("__") if step.owner else ():
        try:
            relation = model._meta.get_field(name)
            related = relation.related_model
            if related is None or isinstance(related, str):
                raise SpecError
        except (FieldDoesNotExist, SpecError):
            known = ", ".join(sorted(f.name for f in model._meta.fields if f.is_relation)) or "none"
            yield Error(
                f"{what}: {model._meta.label} has no foreign key {name!r}, so nobody owns these rows and the disguise "
                "cannot be applied.",
                hint=f"Foreign keys of {model._meta.label}: {known}. Join several with __, as in "
                'owner="comment__author".',
                obj=obj,
                id="edna.E106",
            )
            return
        many = many or bool(relation.many_to_many or relation.one_to_many)
        model, last = related, relation
    is_principal = any(same_table(model, principal) for principal in principal_models())
    if is_principal and isinstance(last, ForeignKey) and not last.target_field.primary_key:
        yield Error(
            f"{what}: {last.model._meta.label}.{last.name} refers to {model._meta.label}.{last.target_field.name}, "
            "which is not the primary key; edna finds owners by primary key and would find no rows.",
            hint="Let the foreign key refer to the primary key (no to_field).",
            obj=obj,
            id="edna.E108",
        )
    if many:
        yield Warning(
            f"{what}: this path leads to several owners of one row. Whoever applies the disguise first takes the row "
            "from the others too.",
            hint="Use the table in between as the model of the step, for example the `through` model of a "
            "many-to-many field.",
            obj=obj,
            id="edna.W106",
        )
    if isinstance(step, Remove) and step.owner and any(same_table(step.model, model) for model in principal_models()):
        yield Error(
            f"{what} removes other principals along with the one who applies it: their keys, receipts and sessions "
            "would be left without an account.",
            hint=f"Remove({step.model.__name__}) removes the principal itself. Disguise the others one by one, each "
            "with their own receipt.",
            obj=obj,
            id="edna.E109",
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
    return {found.name for found in _walk(node) if isinstance(found, Param)}


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


def _modified(step: Modify, what: str, obj: str) -> Iterator[CheckMessage]:
    if not isinstance(step.set, dict) or not step.set:
        yield Error(
            f"{what}: its `set` names no columns, so the step changes nothing.",
            hint='Write set={"body": placeholders.constant("[deleted]")}.',
            obj=obj,
            id="edna.E112",
        )
        return
    columns: dict[Field[Any, Any], Any] = {}
    for name in step.set:
        field = _column(step.model, name)
        if field is None:
            yield Error(
                f"{what}: {step.model._meta.label} has no column {name!r} that could be set, so the disguise cannot "
                "be applied.",
                hint=f"Columns: {', '.join(f.name for f in step.model._meta.concrete_fields)}.",
                obj=obj,
                id="edna.E112",
            )
        elif field.primary_key:
            yield _primary_key(what, field, obj)
        else:
            columns[field] = step.placeholders[name]
    yield from check_columns(step.model, columns, what=what, obj=obj)


def _decorrelated(step: Decorrelate, what: str, obj: str) -> Iterator[CheckMessage]:
    field = _column(step.model, step.owner) if step.owner else None
    if field is not None and field.primary_key:
        yield _primary_key(what, field, obj)
    elif not refers_to_principal(field):
        yield Error(
            f"{what}: its owner is no foreign key of {step.model._meta.label} itself to a principal model, so there "
            "is nothing that could be pointed at a pseudoprincipal.",
            hint="Decorrelate the model that holds the foreign key, and give the field's own name as owner (no path "
            "with __).",
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
                f"{what}: group_by names {path!r}, which does not exist, so it cannot be told how many "
                "pseudoprincipals are needed.",
                hint=f"Name fields of {step.model._meta.label}, or paths from there joined with __.",
                obj=obj,
                id="edna.E111",
            )


def _primary_key(what: str, field: Field[Any, Any], obj: str) -> CheckMessage:
    return Error(
        f"{what} changes {field.model._meta.label}.{field.name}, a primary key: the row could not be found again, and "
        "a reveal would hold it for ever.",
        hint="Leave the primary key alone; remove the row if its key says who it belongs to.",
        obj=obj,
        id="edna.E113",
    )


def _column(model: type[Model], name: str) -> Field[Any, Any] | None:
    """The column that can be written under this very name: no relation's ``author_id``, nothing that the database computes."""
    for field in model._meta.concrete_fields:
        if field.name == name and not getattr(field, "generated", False):
            return field
    return None


def twice_changed(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """Two steps on one column: nobody ever sees what the first puts into a row that both match."""
    changes: Counter[tuple[type[Model], str]] = Counter()
    for step in usable_steps(disguise):
        names = [step.owner] if isinstance(step, Decorrelate) else list(step.set) if isinstance(step, Modify) else []
        changes.update((step.model._meta.concrete_model or step.model, name) for name in names)
    for (model, name), count in changes.items():
        if count > 1:
            yield Warning(
                f"{count} steps change {model._meta.label}.{name}: in a row that more than one of them matches, only the "
                "value of the last one is ever visible.",
                hint="Make sure that their `where`s exclude each other, or merge the steps.",
                obj=name_of(disguise),
                id="edna.W114",
            )
