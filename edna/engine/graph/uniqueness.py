"""Which constraint of its table a row would break by having what another row has, in the database's own judgement.

Asked after the database has refused a row, to say which column is in the way, or to foresee that. Conditions and expressions of
constraints are evaluated by the database. Knows constraints and rows; knows no records, and writes nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import FieldError, ValidationError
from django.db import DatabaseError, transaction
from django.db.models import Deferrable, F, Model, Q, QuerySet, UniqueConstraint, Value
from django.db.models.lookups import Exact

from edna.coverage import unique_groups
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.db.rows import Row, Table


def taken_column(table: Table, values: Mapping[str, Any], key: Row, *, using: str) -> str | None:
    """The column whose value another row has, where both must be unique; None if none is. ``key`` is the row's own."""
    group = taken_together(table, values, key, using=using)
    return _named(table, group) if group else None


def taken_together(table: Table, values: Mapping[str, Any], key: Row, *, using: str) -> Sequence[str]:
    """As `taken_column`, all columns that are compared together; empty where none is."""
    width = len(table.key)
    for group in unique_groups(table.model):
        if all(values.get(name) is not None for name in group):
            wanted = [values[name] for name in group]
            names = (*table.key_names, *group)
            for other in raw.read_where(table, names, group[0], wanted[:1], lock=False, using=using):
                if list(other[width:]) == wanted and other[:width] != key:
                    return group
    for constraint in _special(table.model):
        if _meets_another(table, constraint, values, key, using=using):
            return sorted(_columns(constraint), key=table.names.index)
    return ()


def meets_another(table: Table, values: Mapping[str, Any], key: Row, *, using: str) -> str | None:
    """As `taken_column`, of constraints under a condition or for expressions alone: a statement for each of them."""
    for constraint in _special(table.model):
        if _meets_another(table, constraint, values, key, using=using):
            return _named(table, sorted(_columns(constraint), key=table.names.index))
    return None


def columns_that_must_be_unique(table: Table) -> set[str]:
    """Alone or together, always or under a condition."""
    names = {name for group in unique_groups(table.model) for name in group}
    return names.union(*(_columns(constraint) for constraint in _special(table.model)))


def require_unique_now(table: Table, *, using: str) -> None:
    """Let the database compare what it would compare at the end of the transaction only: then, it is too late to hold a row.

    Raises:
        IntegrityError
    """
    deferrable = connection_of(using).features.supports_deferrable_unique_constraints
    names = [each.name for each in deferrable_constraints(table.model) if each.deferrable is Deferrable.DEFERRED]
    if names and deferrable:
        raw.check_deferred(names, using=using)


@functools.cache
def deferrable_constraints(model: type[Model]) -> tuple[UniqueConstraint, ...]:
    """Those that may be broken for a moment: rows can exchange their values."""
    return tuple(
        constraint
        for constraint in model._meta.constraints
        if isinstance(constraint, UniqueConstraint) and constraint.deferrable is not None
    )


def _special(model: type[Model]) -> list[UniqueConstraint]:
    """Constraints that hold under a condition only, or for expressions of columns."""
    return [
        constraint
        for constraint in model._meta.constraints
        if isinstance(constraint, UniqueConstraint) and (constraint.condition is not None or constraint.expressions)
    ]


def _columns(constraint: UniqueConstraint) -> set[str]:
    """The columns that are compared, without those of the condition."""
    names = set(constraint.fields)
    for expression in constraint.expressions:
        parts = expression.flatten() if hasattr(expression, "flatten") else [expression]
        names |= {part.name for part in parts if isinstance(part, F)}
    return names


def _named(table: Table, group: Sequence[str]) -> str:
    """Of columns that are compared together, one that an override can change; the last one where none can."""
    free = [name for name in group if name not in table.key_names and not table.field(name).is_relation]
    return free[0] if free else group[-1]


def _meets_another(
    table: Table, constraint: UniqueConstraint, values: Mapping[str, Any], key: Row, *, using: str
) -> bool:
    names = _columns(constraint) | (constraint.condition.referenced_base_fields if constraint.condition else set())
    if not names <= set(values):
        return False  # a generated column, which only the database knows
    known = {
        name: Value(raw.python_value(table.field(name), values[name], using=using), output_field=table.field(name))
        for name in names
    }
    query: QuerySet[Any, Any] = QuerySet(model=table.model, using=using)
    try:
        with transaction.atomic(using=using):
            if constraint.condition is not None:
                if not constraint.condition.check(known, using=using):
                    return False
                query = query.filter(constraint.condition)
            if constraint.expressions:
                replaced: Any = {F(name): value for name, value in known.items()}
                expressions: Sequence[Any] = constraint.expressions
                query = query.filter(*(Exact(each, each.replace_expressions(replaced)) for each in expressions))
            else:
                query = query.filter(Q(**{name: known[name] for name in constraint.fields}))
            own = [raw.python_value(field, value, using=using) for field, value in zip(table.key, key, strict=True)]
            return query.exclude(pk=own[0] if len(own) == 1 else tuple(own)).exists()
    except (DatabaseError, FieldError, ValidationError, TypeError, ValueError):
        return False  # what cannot be asked cannot be named
