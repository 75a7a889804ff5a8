"""Rows that the application hands over as objects or querysets: which rows they are, and bringing the objects up to date.

The engine works with raw rows; only `engine.by_hand.session` takes what views work with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db import router
from django.db.models import Field, ForeignKey, JSONField, Model, QuerySet

from edna import conf, json_keys, registry
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.db.rows import Row, table_of
from edna.errors import SpecError
from edna.placeholders import Placeholder

Objects = Model | QuerySet[Any, Any] | Iterable[Model]
#: Raw primary keys by model; the keys of a dictionary, so that each is there once and they stay in order.
Given = dict[type[Model], dict[Row, None]]


def given(objects: Iterable[Objects], *, using: str) -> Given:
    """The rows that objects, lists of objects and querysets mean.

    Raises:
        SpecError: an object is not saved, its model is written to another database, or a queryset is of another one.
    """
    rows: Given = {}
    for each in objects:
        if isinstance(each, QuerySet):
            home = _database_of(each)
            _add(rows, each.model, each.using(using).values_list("pk", flat=True), home=home, using=using)
        else:
            for one in [each] if isinstance(each, Model) else each:
                _add(rows, type(one), [one.pk], home=registry.database_of(one, type(one)), using=using)
    return rows


def _database_of(queryset: QuerySet[Any, Any]) -> str:
    """What was chosen by ``using``, whose rows are meant and not those of the same conditions elsewhere; else what the router says.

    Of several databases the one at work is no answer: nobody has said that the rows are there.
    """
    state: Any = queryset  # what the stubs of Django do not know
    if state._db is not None:
        return str(state._db)
    if conf.databases():
        return router.db_for_write(queryset.model, **state._hints)
    return registry.database(queryset.model)


def _add(rows: Given, model: type[Model], keys: Iterable[Any], *, home: str, using: str) -> None:
    table = table_of(model)
    if home != using:
        raise SpecError(
            f"{model._meta.label}: these rows are in another database ({home!r}) than the principal of the session ({using!r}); a session "
            "has one. Nothing was done by this call."
        )
    known = rows.setdefault(table.model, {})
    for key in keys:
        if key is None or (isinstance(key, tuple) and None in key):
            raise SpecError(f"This {model._meta.label} is not saved; a session works with rows of the database.")
        known[_raw_key(model, key, using=using)] = None


def _raw_key(model: type[Model], key: Any, *, using: str) -> Row:
    columns = table_of(model).key
    parts = key if len(columns) > 1 else (key,)
    connection = connection_of(using)
    prepared = [column.get_db_prep_value(part, connection) for column, part in zip(columns, parts, strict=True)]
    return tuple(prepared)


def keys_in(owner: type[Model], model: type[Model], keys: Iterable[Row], *, using: str) -> list[Row]:
    """The primary keys of rows of ``model`` in its own or a parent's table."""
    here = list(keys)
    while table_of(owner).model is not table_of(model).model:
        parent = next(each for each in model._meta.parents if issubclass(each, owner))
        link = model._meta.parents[parent]
        assert link is not None
        here = [(value,) for (value,) in raw.read(table_of(model), (link.name,), here, lock=False, using=using)]
        model = parent
    return here


def column_of(model: type[Model], name: str) -> Field[Any, Any]:
    """The stored column of that name, in the model's own table or a parent's; for a key of a JSON column, that one.

    Raises:
        SpecError: there is none, or the database computes it.
    """
    try:
        column = model._meta.get_field(json_keys.column(name))
    except FieldDoesNotExist:
        column = None
    fits = isinstance(column, JSONField) or not json_keys.is_key(name)
    if fits and isinstance(column, Field) and column.concrete and column in table_of(column.model).fields:
        return column
    raise SpecError(f"{model._meta.label}.{name} is no column that can be set: it does not exist, or is computed.")


def plain(column: Field[Any, Any], value: Any) -> Any:
    """A value as `Modify` takes it: the key for an instance; nothing that only a query could compute."""
    if isinstance(value, Model) and isinstance(column, ForeignKey):
        return getattr(value, column.target_field.attname)
    if isinstance(value, Placeholder) and value.person:
        raise SpecError(
            f"{column.model._meta.label}.{column.name}: by hand you have the person; give derived(function) without person=."
        )
    if hasattr(value, "resolve_expression"):
        raise SpecError(f"{column.model._meta.label}.{column.name}: give a value or a placeholder, not an expression.")
    return value


def refresh(
    objects: Objects, names: Iterable[str], moved: Mapping[type[Model], Mapping[Row, Row]], *, using: str
) -> None:
    """Objects that the application holds must not write the old values back when they are saved.

    ``moved`` are raw keys that have changed, by the former one. One statement for each model.
    """
    if isinstance(objects, QuerySet):
        return
    by_model: dict[type[Model], list[tuple[Any, Model]]] = {}
    for each in [objects] if isinstance(objects, Model) else objects:
        model: type[Model] = type(each)
        key = _key_now(each, moved.get(table_of(model).model, {}), using=using)
        by_model.setdefault(model, []).append((key, each))
    for model, held in by_model.items():
        attributes = list(dict.fromkeys(column_of(model, name).attname for name in names))
        rows: QuerySet[Any, Any] = QuerySet(model=model, using=using).filter(pk__in=[key for key, _ in held])
        now = {row[0]: row[1:] for row in rows.values_list("pk", *attributes)}
        for key, each in held:
            for attribute, value in zip(attributes, now.get(key, ()), strict=False):
                setattr(each, attribute, value)


def _key_now(each: Model, moved: Mapping[Row, Row], *, using: str) -> Any:
    key = moved.get(_raw_key(type(each), each.pk, using=using)) if moved else None
    if key is None:
        return each.pk
    columns = table_of(type(each)).key
    values = tuple(raw.python_value(column, value, using=using) for column, value in zip(columns, key, strict=True))
    return values if len(values) > 1 else values[0]
