"""Whether a row still names its owner after a disguise of theirs: then a reveal cannot see by the row that they are away.

Reads specifications and model definitions, never rows.
"""

from __future__ import annotations

import functools
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import ManyToManyField, Model

from edna import coverage, json_keys, registry
from edna.coverage import relation_to_several, same_table
from edna.errors import SpecError
from edna.spec import Decorrelate, Disguise, Modify, Remove
from edna.value_owners import columns_of, is_by_value, their_columns


@functools.lru_cache(maxsize=1024)
def changes_once(disguise: type[Disguise], step: Modify) -> bool:
    """Whether a disguise of several people changes a row of theirs once, and not for each of them: what it puts there is the same for all,
    and the row tells of everybody that they are away."""
    if not coverage.changes_once(step):
        return False
    paths = step.owners
    several = len(paths) > 1 or (not step.one_owner and any(relation_to_several(step.model, each) for each in paths))
    if not several or step.waits_for_all or registry.removes_account(disguise):
        return True
    if any(
        isinstance(each, Remove) and len(each.owners) == 1 and same_table(each.model, step.model)
        for each in disguise.steps()
    ):
        return False  # the row may go with one of them alone, and without what is the others'
    left = (each for each in paths if not takes_out(disguise, step.model, each))  # type: ignore[arg-type]  # classes are hashable
    return all(relation_to_several(step.model, each) and takes_off(disguise, step.model, each) for each in left)  # type: ignore[arg-type]  # as above


@functools.lru_cache(maxsize=1024)
def takes_out(disguise: type[Disguise], model: type[Model], path: str) -> bool:
    """Whether the disguise takes its people out of the column at the end of the path, and leaves the row that has the column."""
    over, _, name = path.rpartition("__")
    if is_by_value(path):
        return _changes(disguise, model, path)
    try:
        holder = registry.owner_target(model, over or None)
        field: Any = holder._meta.get_field(name)
    except (SpecError, FieldDoesNotExist):
        return True
    if field.many_to_many:
        # The column is one of the table in between.
        many: Any = field if isinstance(field, ManyToManyField) else field.remote_field
        name = many.m2m_reverse_field_name() if many is field else many.m2m_field_name()
        holder = many.remote_field.through
        field = holder._meta.get_field(name)
    for step in disguise.steps():
        if same_table(step.model, holder):
            several = isinstance(step, Remove) and len(step.owners) > 1 and name in step.owners
            if several or (isinstance(step, Decorrelate) and step.column == name):
                return True
            if isinstance(step, Modify) and name in step.set and not step.waits_for_all:
                return True
    relations = coverage.set_null_relations(disguise)
    return any(relation.field == field for relation in relations)


@functools.lru_cache(maxsize=1024)
def takes_off(disguise: type[Disguise], model: type[Model], path: str) -> bool:
    """Whether the disguise removes what lies between a row and the several people to whom the path leads, and leaves their accounts."""
    here: Any = model
    between: set[Any] = set()
    for name in path.split("__"):
        relation = here._meta.get_field(name)
        if relation.many_to_many:
            between.add((relation.remote_field if isinstance(relation, ManyToManyField) else relation).through)
        here = relation.related_model
        between.add(here)
    between -= {model, here}
    return not registry.removes_account(disguise) and any(
        same_table(step.model, each) for step in disguise.steps() if isinstance(step, Remove) for each in between
    )


def _changes(disguise: type[Disguise], model: type[Model], owner: str) -> bool:
    """As `takes_out`, by value: it changes what is compared, in the row or in the principal's."""
    try:
        columns = {*columns_of(model, owner), *their_columns(owner, registry.principal_model_for(disguise))}
    except (SpecError, FieldDoesNotExist):
        return True
    return any(
        same_table(column.model, step.model) and any(json_keys.column(name) == column.name for name in step.set)
        for step in disguise.steps()
        if isinstance(step, Modify)
        for column in columns
    )
