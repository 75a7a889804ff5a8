"""Whose a row is: what the registered disguises say of its model, read from the database.

A foreign key that merely mentions a principal (who moderated it, who is quoted) makes nobody an owner. Reads; never writes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Final

from django.core.exceptions import FieldDoesNotExist
from django.db.models import CompositePrimaryKey, ForeignKey, Manager, Model, Q, QuerySet
from django.db.models.expressions import RawSQL

from edna import registry
from edna.coverage import is_for_each, same_table
from edna.db.cursors import connection_of
from edna.errors import SpecError
from edna.spec import Disguise, Param
from edna.value_owners import element_of, is_by_value

#: Stands for the key in a query that is built once.
_KEY: Final = "key"
#: Of a principal model, the primary keys of those for whom somebody speaks.
Voices = Callable[[type[Model]], list[Any]]


def spoken_for(obj: Model, voices: Voices, *, owner: str | None, using: str) -> Model | None:
    """The first owner of the row that is among the ``voices`` of its model; None if there is none.

    The row of the database decides, not the object, whose attributes anybody may have set.

    Raises:
        SpecError: ``owner`` is no path to a principal model.
    """
    if owner is not None and _principal_model(type(obj), owner) is None:
        raise SpecError(f"{obj._meta.label}: {owner!r} is no foreign key to a principal model, and no path to one.")
    for path in [owner] if owner is not None else owner_paths(type(obj)):
        model = _principal_model(type(obj), path)
        mine = set(voices(model)) if model is not None else set()
        if model is None or not mine or obj.pk is None:
            continue
        for holder in _holders(type(obj), obj.pk, path, model, using=using):
            if holder.pk in mine:
                return holder
    return None


def _holders(of: type[Model], key: Any, path: str, model: type[Model], *, using: str) -> Iterable[Model]:
    """Those of ``model`` to whom the path leads from the row with this key."""
    sql = _sql_of_holders(of, path, model, using)
    if sql is None:
        return _query_of_holders(of, key, path, model, using=using)
    return model._base_manager.using(using).raw(sql, [of._meta.pk.get_db_prep_value(key, connection_of(using))])


def _query_of_holders(of: type[Model], key: Any, path: str, model: type[Model], *, using: str) -> QuerySet[Any, Any]:
    # Not a manager: managers may hide rows, and a hidden row is its owner's, too.
    rows: QuerySet[Any, Any] = QuerySet(model=of, using=using).filter(pk=key)
    # One statement for both: somebody's reveal, in another tab say, may just have taken the pseudoprincipal away, and who is not
    # there owns nothing any more.
    return model._base_manager.using(using).filter(pk__in=rows.values(f"{path}__pk" if path else "pk"))


@functools.lru_cache(maxsize=1024)
def _sql_of_holders(of: type[Model], path: str, model: type[Model], using: str) -> str | None:
    """The query with a place for the key, as building it takes several times as long as asking it. None of a key of several columns, and
    of a manager that adds something of its own: its rows, or what they depend on, may be others next time."""
    if isinstance(of._meta.pk, CompositePrimaryKey) or type(model._base_manager) is not Manager:
        return None
    query = _query_of_holders(of, RawSQL("%s", [_KEY]), path, model, using=using).query
    sql, params = query.get_compiler(using).as_sql()
    return str(sql) if list(params) == [_KEY] else None


def owner_paths(model: type[Model]) -> list[str]:
    """The paths from a row to its owners, the empty one if it is a principal itself.

    Those of the steps of all registered disguises, each once. Where none has a step for the model, its foreign key to a principal
    model, if there is one and no other.
    """
    own = [""] if any(same_table(model, principal) for principal in registry.principal_models()) else []
    registered = tuple(registry.disguises().values())
    declared = [*own, *_declared(registered, model)]
    if declared:
        return declared
    direct = [field.name for field in model._meta.concrete_fields if isinstance(field, ForeignKey)]
    owners = [name for name in direct if _principal_model(model, name) is not None]
    return owners if len(owners) == 1 else []


def owners_of(model: type[Model]) -> list[tuple[str, type[Model], Q | None]]:
    """What leads from a row to its owners, paths and values, each with the principal model that it leads to; and of which rows it does.

    A path leads there from each row. A value is somebody's in rows of the step's ``where`` alone: elsewhere the same number may be an
    order's.
    """
    found: list[tuple[str, type[Model] | None, Q | None]] = [
        (path, _principal_model(model, path), None) for path in owner_paths(model)
    ]
    found += [
        (owner, registry.principal_model_for(disguise), _without_params(step.where))
        for disguise in registry.disguises().values()
        for step in disguise.steps()
        if same_table(step.model, model)
        for owner in step.owners
        # A row that names somebody in a list, beside others, is not theirs.
        if is_by_value(owner) and element_of([owner]) is None and not is_for_each(step, owner)
    ]
    return [(path, principals, where) for path, principals, where in dict.fromkeys(found) if principals is not None]


def _without_params(where: Q | None) -> Q | None:
    """What is chosen when the disguise is applied says nothing of whose a row is."""
    if where is None or not _takes_params(where):
        return where
    if where.negated or where.connector != Q.AND:
        return None
    kept = [part for part in where.children if not _takes_params(Q(part))]
    return Q(*kept) if kept else None


def _takes_params(where: Q) -> bool:
    return any(isinstance(part, Param) for part in where.flatten())


@functools.lru_cache(maxsize=1024)
def _declared(registered: tuple[type[Disguise], ...], model: type[Model]) -> tuple[str, ...]:
    tables = {parent._meta.concrete_model for parent in (model, *model._meta.get_parent_list())}
    steps = (step for disguise in registered for step in disguise.steps())
    owners = ((step, owner) for step in steps if step.model._meta.concrete_model in tables for owner in step.owners)
    # A pseudoprincipal is named by keys alone. Who is named in a text beside others does not own the row.
    return tuple(
        dict.fromkeys(owner for step, owner in owners if not is_by_value(owner) and not is_for_each(step, owner))
    )


def _principal_model(model: type[Model], path: str) -> type[Model] | None:
    if is_by_value(path):
        return None
    try:
        target = registry.owner_target(model, path or None)
    except (SpecError, FieldDoesNotExist):
        return None
    return next((each for each in registry.principal_models() if same_table(each, target)), None)
