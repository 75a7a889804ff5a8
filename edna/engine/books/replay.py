"""Updates rows, and has the same done to those under disguise when they come back: for a moderator's redaction.

Keeps: rows and log change in one transaction, and what is logged is what was set, as the driver reads it. Knows a model's own columns; how
the log is sealed, and what becomes of an update in a reveal, `engine.forwarding.replay_log` says.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import IntegrityError
from django.db.models import Model, Q

from edna import conf, registry, store
from edna.db import transactions
from edna.db.rows import Table, table_of
from edna.engine.books import beside
from edna.engine.forwarding import replay_log
from edna.engine.forwarding.driver_values import raw_value
from edna.errors import ConstraintRefused, InvalidParameters
from edna.records import values
from edna.store import serverkeys

#: Bags expire on the first of the month after their last day; an update is of use for so long, and a day.
_MONTH: Final = datetime.timedelta(days=32)


def replay(model: type[Model], where: Mapping[str, Any], new: Mapping[str, Any]) -> int:
    """Update the rows that are there and log the update, in one transaction; return the number of those rows.

    Updates that nothing can miss any more are dropped, unless a legal hold keeps something beyond its day.

    Raises:
        InvalidParameters: no columns of this model, or values that they cannot have.
        ConstraintRefused, ServerKeyUnknown
    """
    using = registry.database(model)
    serverkeys.require(using=using)
    try:
        return transactions.run(lambda: _perform(model, where, new, using=using), using=using)
    except IntegrityError:
        pass
    raise ConstraintRefused(
        f"{model._meta.label} was not changed: the database would have one of its constraints broken. "
        "set a value that may stand in all the rows that you mean."
    )


def _perform(model: type[Model], where: Mapping[str, Any], new: Mapping[str, Any], *, using: str) -> int:
    table = table_of(model)
    conditions = {_column(table, name): _listed(value) for name, value in where.items()}
    assignments = {_column(table, name): value for name, value in new.items()}
    if not conditions or not assignments:
        raise InvalidParameters(f"replay({table.label}) needs where= and set= with at least one column each.")
    if set(assignments) & set(table.key_names):
        raise InvalidParameters(f"replay({table.label}): a primary key cannot be set; records are found by it.")
    kept = {name: [_raw(table, name, each, using=using) for each in wanted] for name, wanted in conditions.items()}
    made = {name: _raw(table, name, value, using=using) for name, value in assignments.items()}
    updated: int = table.model._base_manager.using(using).filter(_query(conditions)).update(**assignments)
    # After the update, which may have waited for a disguise of the same rows: then it is later than that, too.
    logged_on = replay_log.add(table, kept, made, using=using)
    retention = conf.retention_days()
    if retention is not None:
        last = logged_on - datetime.timedelta(days=retention) - _MONTH
        store.delete_replays_before(last, unless=beside.kept().anything_held(), using=using)
    return updated


def _column(table: Table, name: str) -> str:
    try:
        column = "" if "__" in name else str(getattr(table.model._meta.get_field(name), "name", ""))
    except FieldDoesNotExist:
        column = table.key_names[0] if name == "pk" and len(table.key) == 1 else ""
    if column not in table.names:
        raise InvalidParameters(
            f"replay({table.label}): {name!r} is no column of this model; name its own fields only."
        )
    return column


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def _raw(table: Table, name: str, value: Any, *, using: str) -> Any:
    column = table.field(name)
    try:
        stored = raw_value(column, value, using=using)
        values.encode(stored)
        if stored is not None or column.null:
            return stored
    except (ValidationError, ValueError, TypeError, AttributeError):
        pass
    raise InvalidParameters(f"replay({table.label}): {name} cannot have this value; give a plain value of its type.")


def _query(conditions: Mapping[str, Sequence[Any]]) -> Q:
    query = Q()
    for name, wanted in conditions.items():
        present = [value for value in wanted if value is not None]
        one = Q(**{f"{name}__in": present}) if len(present) != 1 else Q(**{name: present[0]})
        query &= one | Q(**{f"{name}__isnull": True}) if len(present) < len(wanted) else one
    return query
