"""The SELECTs behind a disguise: its ownership and ``where`` compiled once, bound to owners and parameters at each run.

Goes through Django's query compiler, so that every join and lookup of a ``Q`` works, but reads raw rows. Knows models and
specifications; knows no bags, keys or targets.
"""

from __future__ import annotations

import datetime
import functools
import operator
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Model, Q, QuerySet, Value
from django.db.models.expressions import RawSQL
from django.db.models.sql import Query

from edna.db.cursors import connection_of, cursor_of
from edna.db.rows import Row, array_types, asking_for_any, counting, in_list, in_list_of_one, packets, plain
from edna.engine.graph.owner_expressions import Keys, Owners, Translation, named, owned_by, translations
from edna.spec import Param

#: The place of the key behind which rows are meant.
_BEHIND: Final = object()


@dataclass(frozen=True)
class Selection:
    """A compiled SELECT: text and parameters with places for the owners, for keys, and for the disguise's parameters."""

    sql: str
    params: tuple[Any, ...]
    #: What it was compiled from, to be asked about it.
    query: Query = field(repr=False, compare=False)
    #: What stands at some positions of a row becomes a principal's key.
    translations: tuple[tuple[int, Translation], ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def compile(
        cls,
        model: type[Model],
        names: Sequence[str],
        *,
        owners: Sequence[str],
        where: Q | None,
        using: str,
        lock: bool = False,
        distinct: bool = False,
    ) -> Selection | None:
        """``names`` are fields or paths of ``model``; a row is meant that any of ``owners`` leads to, or every row without.
        None where the condition can match nothing. With ``distinct``, the same values once, in no order."""
        query = _query(model, names, owners=owners, where=where, using=using)
        query = query.order_by().distinct() if distinct else query.order_by("pk")
        if lock:
            query = query.select_for_update()
        try:
            sql, params = query.query.get_compiler(using=using).as_sql()
        except EmptyResultSet:
            return None
        return cls(sql, tuple(params), query.query, translations(model, names))

    @classmethod
    def any_of_each(cls, selections: Sequence[Selection], *, waiting: Sequence[bool], using: str) -> Selection:
        """One that finds one row, which says of each selection whether it would find any.

        Of a ``waiting`` one, the statement waits for whoever is writing such a row, and has not committed.
        """
        asked, bound = [], []
        for each, waits in zip(selections, waiting, strict=True):
            query = each.query.clone()
            query.clear_ordering(force=True)
            query.clear_select_clause()
            query.add_annotation(Value(1), "found")
            query.select_for_update = waits
            sql, params = query.get_compiler(using=using).as_sql()
            asked.append(sql)
            bound += params
        return cls(asking_for_any(asked), tuple(bound), Query(None))

    def counted(self, *, most: int) -> Selection:
        """One that finds one row: how many rows this one finds, or ``most`` if there are more."""
        return replace(self, sql=counting(self.sql, most=most), translations=())

    @functools.cached_property
    def tables(self) -> tuple[str, ...]:
        """The tables that it reads, by the database's names, each as often as it is read."""
        return tuple(_tables_of(self.query))

    @property
    def joins(self) -> bool:
        """Whether it reads several tables, or one several times."""
        return len(self.tables) > 1

    def first(self, number: int, *, behind: int | None = None, using: str) -> Selection:
        """One that finds so many of these rows, whichever come first along the index that the database takes, of those ``behind`` a primary
        key."""
        compiled = self._first.get((number, behind is None))
        if compiled is None:
            query = self.query.clone()
            query.clear_ordering(force=True)
            if behind is not None:
                query.add_q(Q(pk__gt=RawSQL("%s", [_BEHIND])))
            compiled = self._first[number, behind is None] = self._limited(query, number, using=using)
        if behind is None:
            return compiled
        return replace(compiled, params=tuple(behind if param is _BEHIND else param for param in compiled.params))

    def within(self, most: int, *, using: str) -> Selection:
        """One that may end as soon as it has found more rows than ``most``, where the database goes along the same index then.

        MariaDB and MySQL do without an order, for whose sake they would go through the table by its primary key, and lock what they pass.
        So would PostgreSQL, which orders what it locks; by a number that is computed it cannot. Elsewhere it is this selection.
        """
        if most not in self._within:
            self._within[most] = self._ending_within(most, using=using)
        return self._within[most]

    def _ending_within(self, most: int, *, using: str) -> Selection:
        connection = connection_of(using)
        if connection.vendor == "mysql":
            return self.first(most + 1, using=using)
        if connection.vendor != "postgresql":
            return self
        query = self.query.clone()
        key = query.model._meta.pk if query.model else None
        if key is None or query.distinct or query.combinator or array_types([key], connection) != ["bigint"]:
            return self
        query.clear_ordering(force=True)
        query.add_ordering(F("pk") + 0)
        return self._limited(query, most + 1, using=using)

    def _limited(self, query: Query, number: int, *, using: str) -> Selection:
        query.set_limits(high=number)
        sql, params = query.get_compiler(using=using).as_sql()
        return replace(self, sql=sql, params=tuple(params))

    @functools.cached_property
    def _within(self) -> dict[int, Selection]:
        return {}

    @functools.cached_property
    def _first(self) -> dict[tuple[int, bool], Selection]:
        return {}

    def run(
        self,
        *,
        owners: Sequence[Any] | None,
        params: Mapping[str, Any],
        using: str,
        keys: Collection[Row] = (),
        of_one: bool = False,
    ) -> list[Row]:
        """The rows of these owners; ``owners`` is None for a selection compiled without. ``keys``, raw ones, are for one that is limited to
        some. ``of_one``: the first owner is a person, the others are the pseudoprincipals that are theirs."""
        connection = connection_of(using)
        run = functools.partial(self._run, keys=keys, params=params, connection=connection, of_one=of_one)
        if owners is None or not self._places:
            return run(())
        if len(owners) == 1:
            return run(owners)  # nothing to cut
        found: list[Row] = []
        owned = [(owner,) * self._places for owner in owners]
        for part in packets(owned, connection, other_parameters=len(self.params) + sum(map(len, keys))):
            found += run(owners if part is owned else [owner for owner, *_ in part])
        return found

    @functools.cached_property
    def _places(self) -> int:
        """How often the owners stand in the statement."""
        return sum(isinstance(param, Owners) for param in self.params)

    def _run(
        self,
        owners: Sequence[Any],
        *,
        keys: Collection[Row],
        params: Mapping[str, Any],
        connection: BaseDatabaseWrapper,
        of_one: bool,
    ) -> list[Row]:
        places: dict[str, tuple[str, list[Any]]] = {}
        bound: list[Any] = []
        for param in self.params:
            if isinstance(param, Param):
                bound.append(_driver_value(params[param.name], connection))
            elif isinstance(param, Owners):
                if param not in places:
                    values = [(value,) for value in param.values(owners, connection.alias)]
                    # Where a key does not go into the column, it is not known whose is the first.
                    if of_one and param.column and len(values) == len(owners):
                        places[param] = in_list_of_one(param.column, values, connection, types=param.types)
                    else:
                        places[param] = in_list(values, connection, types=param.types)
                bound.extend(places[param][1])
            elif isinstance(param, Keys):
                places[param] = in_list(list(keys), connection, types=param.types)
                bound.extend(places[param][1])
            else:
                bound.append(param)
        sql = self.sql
        for place, (condition, _) in places.items():
            sql = sql.replace(place, condition)
        with cursor_of(connection) as cursor:
            cursor.execute(sql, bound)
            rows = plain(cursor.fetchall(), connection)
        return self._translated(rows, connection.alias) if self.translations else rows

    def _translated(self, rows: Sequence[Row], using: str) -> list[Row]:
        lists = [list(row) for row in rows]
        for position, translate in self.translations:
            for row in lists:
                row[position] = translate(row[position], using)
        return [tuple(row) for row in lists]


def _query(
    model: type[Model], names: Sequence[str], *, owners: Sequence[str], where: Q | None, using: str
) -> QuerySet[Any, Any]:
    # Not a manager: managers may hide rows, and hidden rows are someone's data too.
    query: QuerySet[Any, Any] = QuerySet(model=model, using=using).filter(
        functools.reduce(operator.or_, (owned_by(model, path, using=using) for path in owners), Q())
    )
    if where is not None:
        query = query.filter(where)
    return query.values_list(*(named(model, name, using=using) for name in names))


def tables_read(model: type[Model], names: Sequence[str], *, owners: Sequence[str], where: Q | None) -> tuple[str, ...]:
    """The tables that such a selection would read, in any database: nothing is compiled, so none is asked what it can do."""
    return tuple(_tables_of(_query(model, names, owners=owners, where=where, using=DEFAULT_DB_ALIAS).query))


def _tables_of(query: Query) -> Iterator[str]:
    if not query.combinator:
        read = [table.table_name for alias, table in query.alias_map.items() if query.alias_refcount[alias]]
        # Django compiles copies of the parts of a union: these know their own table only by their model.
        yield from read or ([query.model._meta.db_table] if query.model else [])
    parts: list[Any] = [query.where, *query.annotation_select.values(), *query.combined_queries]
    while parts:
        part = parts.pop()
        if isinstance(part, Query):
            yield from _tables_of(part)
        elif hasattr(part, "get_source_expressions"):
            parts += part.get_source_expressions()


def _driver_value(value: Any, connection: BaseDatabaseWrapper) -> Any:
    """A Python value as the driver takes it as a parameter."""
    if isinstance(value, datetime.datetime):
        return connection.ops.adapt_datetimefield_value(value)
    if isinstance(value, datetime.date):
        return connection.ops.adapt_datefield_value(value)
    if isinstance(value, uuid.UUID) and not connection.features.has_native_uuid_field:
        return value.hex
    return value
