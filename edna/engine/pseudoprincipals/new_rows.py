"""Inserts rows that a specification fills, under keys that tell nothing: of pseudoprincipals, and of what is made beside them.

Invariant (nothing linkable): keys are random, never consecutive, and what is inserted together lies in the order of its random keys
(docs/decisions/0001). A number of statements that does not depend on the rows. Knows columns and placeholders; knows no principals.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import IntegrityError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import AutoField, BigIntegerField, Field, IntegerField, Model

from edna import conf, coverage
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.db.rows import Row, Table, table_of
from edna.engine.pseudoprincipals.random_keys import free_keys, random_keys
from edna.errors import SpecError
from edna.key_ranges import key_range
from edna.placeholders import Placeholder
from edna.spec import filler


@dataclass(frozen=True)
class Kind:
    """What rows of one table are filled with: ``values``, which messages call ``said``, but for columns that are ``given``."""

    model: type[Model]
    values: Mapping[str, Any]
    said: str
    #: Of some columns, what each row has there, as the database's driver reads it.
    given: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def table(self) -> Table:
        return table_of(self.model)

    @functools.cached_property
    def key(self) -> Field[Any, Any]:
        """Asked of each column.

        Raises:
            SpecError: these rows have no key of one column, or are a part of something larger.
        """
        if len(self.table.key) != 1 or any(coverage.parent_links(self.table.model)):
            raise SpecError(
                f"{self.model._meta.label}: pseudoprincipals, and what is beside them, need a model with one table and one primary key "
                "column."
            )
        return self.table.key[0]

    @functools.cached_property
    def fillers(self) -> dict[Field[Any, Any], Placeholder]:
        return {
            column: filler(self.values, column, said=self.said)
            for column in self.table.fields
            if column is not self.key and column.name not in self.given
        }

    def constants(self, connection: BaseDatabaseWrapper) -> Mapping[Field[Any, Any], Any]:
        """What stands in all of these rows, as the database's driver takes it."""
        if connection.vendor not in self._constants:
            fixed = {column: each.make(column, None) for column, each in self.fillers.items() if each.fixed}
            self._constants[connection.vendor] = {
                column: raw.prepared(column, [value], connection)[0] for column, value in fixed.items()
            }
        return self._constants[connection.vendor]

    @functools.cached_property
    def _constants(self) -> dict[str, dict[Field[Any, Any], Any]]:
        return {}


def insert_new(kind: Kind, count: int, *, using: str) -> list[Any]:
    """``count`` rows under new keys, which are returned as the database's driver will read them.

    Raises:
        SpecError: nothing says how to fill a column, or the primary key cannot be random.
    """
    key, connection = kind.key, connection_of(using)
    fillers = kind.fillers
    if key.name in kind.given:
        keys = kind.given[key.name]
        insert_with_keys(kind, keys, using=using)
        return list(keys)
    if conf.pseudoprincipal_keys() == "sequence" and isinstance(key, IntegerField):
        return _insert_in_sequence(kind, fillers, count, using=using)
    _count_on(kind, using=using)
    # Wide keys do not meet by chance, so nothing is asked about them. That a narrow one is taken MariaDB says itself.
    narrow = isinstance(key, IntegerField) and not isinstance(key, BigIntegerField)
    for look in (False, True) if connection.vendor == "mysql" or not narrow else (True,):
        drawn = free_keys(key, count, kind.table, using=using) if look else random_keys(key, count, connection)
        prepared = raw.prepared(key, drawn, connection)
        if narrow and not look:
            if _inserted_whole(kind, prepared, using=using):
                break
            continue
        insert_with_keys(kind, prepared, using=using)
        break
    _have_counted_on(kind, using=using)
    # As the driver will read them: MariaDB's takes a UUID and answers with text.
    return [str(k) if connection.vendor == "mysql" and isinstance(k, uuid.UUID) else k for k in prepared]


def insert_again(kind: Kind, keys: Sequence[Any], *, using: str) -> None:
    """Rows under keys that `insert_new` has drawn once, and that nobody has."""
    _count_on(kind, using=using)
    insert_with_keys(kind, keys, using=using)
    _have_counted_on(kind, using=using)


def insert_with_keys(kind: Kind, keys: Sequence[Any], *, using: str) -> None:
    """Rows with these primary keys, prepared for the database, and placeholders in all other columns that are not given."""
    names, rows = _filled(kind, keys, using=using)
    raw.insert(kind.table, names, rows, using=using)


def _inserted_whole(kind: Kind, keys: Sequence[Any], *, using: str) -> bool:
    """`insert_with_keys`, if the database does not refuse a row, in a statement that it undoes by itself then."""
    names, rows = _filled(kind, keys, using=using)
    try:
        if raw.in_one_statement(rows, using=using):
            raw.insert(kind.table, names, rows, using=using)
            return True
    except IntegrityError:
        # A key is taken; if it is something else, those that are free will say so again.
        pass
    return False


def _filled(kind: Kind, keys: Sequence[Any], *, using: str) -> tuple[list[str], list[Row]]:
    connection, count, fillers = connection_of(using), len(keys), kind.fillers
    constants = kind.constants(connection)
    prepared = [list(keys)]
    for column, placeholder in fillers.items():
        if column in constants:
            prepared.append([constants[column]] * count)
            continue
        draws = 1 if placeholder.once else count
        values = raw.prepared(column, [placeholder.make(column, None) for _ in range(draws)], connection)
        prepared.append(values * count if placeholder.once else values)
    given = {name: values for name, values in kind.given.items() if name != kind.key.name}
    prepared += [list(values) for values in given.values()]
    # By the random key: in the order of creation, neighbours in the file would be pseudoprincipals of one person.
    names = [kind.key.name, *(column.name for column in fillers), *given]
    return names, sorted(zip(*prepared, strict=True), key=lambda row: row[0])


def _counted_from(kind: Kind, *, using: str) -> int | None:
    return key_range(kind.key, connection_of(using)).counted_from if isinstance(kind.key, AutoField) else None


def _count_on(kind: Kind, *, using: str) -> None:
    """Before rows come in between: let InnoDB count on from beyond the keys that are drawn. It does so after a row that stood there."""
    number = _counted_from(kind, using=using)
    if number is None or connection_of(using).vendor != "mysql":
        return
    if not raw.counts_beyond(kind.table, number, using=using):
        one = replace(kind, given={name: values[:1] for name, values in kind.given.items()})
        insert_with_keys(one, [number], using=using)
        raw.delete(kind.table, [(number,)], using=using)


def _have_counted_on(kind: Kind, *, using: str) -> None:
    """The same for SQLite, which takes it once the table has had a row."""
    number = _counted_from(kind, using=using)
    if number is not None and connection_of(using).vendor == "sqlite":
        raw.count_beyond(kind.table, number, using=using)


def _insert_in_sequence(
    kind: Kind, fillers: Mapping[Field[Any, Any], Placeholder], count: int, *, using: str
) -> list[Any]:
    """For applications that cannot live with random keys: the keys then tell which rows were made together."""
    columns = {
        column.attname: [placeholder.make(column, None) for _ in range(count)]
        for column, placeholder in fillers.items()
    }
    columns |= {kind.table.field(name).attname: list(values) for name, values in kind.given.items()}
    rows = [kind.model(**{name: values[row] for name, values in columns.items()}) for row in range(count)]
    if not connection_of(using).features.can_return_rows_from_bulk_insert:  # MySQL says the number of one row only
        for row in rows:
            row.save(force_insert=True, using=using)
        return [row.pk for row in rows]
    return [row.pk for row in kind.model._base_manager.using(using).bulk_create(rows)]
