"""Which columns of the project name files, and who names which file.

A file belongs to whoever names it: one that any row of any table still names is nobody's alone. Reads tables, one statement for
each `FileField` of the project that keeps its files in the storage in question; no statement where no file is in question.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db import DatabaseError, router, transaction
from django.db.models import FileField, Model

from edna import conf, registry
from edna.db import rows as raw
from edna.db.rows import table_of
from edna.engine.files.stored_files import storage_key
from edna.placeholders import as_placeholder
from edna.records.diff import Modified, Removed, RowBatch
from edna.spec import Modify

#: Which storage, and the name in it.
Name: TypeAlias = tuple[Hashable, str]


@functools.cache
def file_fields(model: type[Model]) -> tuple[FileField, ...]:
    """Of the model's own table."""
    return tuple(field for field in table_of(model).fields if isinstance(field, FileField))


def label_of(field: FileField) -> str:
    return f"{field.model._meta.label_lower}.{field.name}"


def field_of(label: str) -> FileField | None:
    """The field that `label_of` named; None if there is none any more."""
    model, _, name = label.rpartition(".")
    try:
        field = apps.get_model(model)._meta.get_field(name)
    except (LookupError, ValueError, FieldDoesNotExist):
        return None
    return field if isinstance(field, FileField) else None


def name_of(field: FileField, name: str) -> Name:
    return storage_key(field.storage), name


def mentions(batch: RowBatch) -> Iterator[tuple[FileField, str, tuple[Any, ...]]]:
    """Every file that the rows of a record named before, with the field and the row's key."""
    if not isinstance(batch, Removed | Modified) or not batch.rows:
        return
    fields = {field.name: field for field in _file_fields_of(batch.model)}
    columns = [(position, fields[name]) for position, name in enumerate(batch.columns) if name in fields]
    if not columns:
        return
    start, count = batch.old_from, len(batch.columns)
    for key, row in zip(batch.primary_keys(), batch.rows, strict=True):
        for position, field in columns:
            name = row[start + position]
            if not isinstance(name, str) or not name:
                continue
            if isinstance(batch, Removed) or row[start + count + position] != name:
                yield field, name, key


def _file_fields_of(label: str) -> tuple[FileField, ...]:
    try:
        model: type[Model] = apps.get_model(label)
    except (LookupError, ValueError):
        return ()
    return file_fields(model)


def names_in(batches: Iterable[RowBatch]) -> set[Name]:
    """The files that the rows of these records named."""
    keys: dict[FileField, Hashable] = {}
    named = set()
    for batch in batches:
        for field, name, _ in mentions(batch):
            if field not in keys:
                keys[field] = storage_key(field.storage)
            named.add((keys[field], name))
    return named


def still_named(names: Iterable[Name], *, using: str) -> set[Name]:
    """Those of the files that a row of any table names now."""
    wanted: dict[Hashable, set[str]] = {}
    for key, name in names:
        wanted.setdefault(key, set()).add(name)
    named: set[Name] = set()
    for field in _all_file_fields() if wanted else ():
        key = storage_key(field.storage)
        if key in wanted:
            # Compared here too: to some collations two names are one.
            named |= {(key, name) for name in _held_by(field, sorted(wanted[key]), using=using) if name in wanted[key]}
    return named


@functools.cache
def _all_file_fields() -> tuple[FileField, ...]:
    return tuple(
        field
        for model in apps.get_models(include_auto_created=True)
        if not model._meta.proxy
        for field in file_fields(model)
    )


def _held_by(field: FileField, names: Sequence[str], *, using: str) -> set[str]:
    table = table_of(field.model)
    # Of several databases each has its own files.
    database = using if conf.databases() else router.db_for_write(table.model) or using

    def read() -> set[str]:
        rows = raw.read_where(table, (field.name,), field.name, names, lock=False, using=database)
        return {name for (name,) in rows}

    if table.model._meta.managed:
        return read()
    try:
        with transaction.atomic(using=database):
            return read()
    except DatabaseError:
        # Nobody has made the table of this model here.
        return set()


def project_names() -> Mapping[FileField, set[str]]:
    """Names that the project itself writes into a column: of a picture for everybody without one, say. Nobody's own."""
    written_names: dict[FileField, set[str]] = {
        field: {str(field.get_default())} for field in _all_file_fields() if field.has_default()
    }
    steps = [step for cls in registry.disguises().values() for step in cls.steps() if isinstance(step, Modify)]
    written = [(step.model, name, value) for step in steps for name, value in step.placeholders.items()]
    for generator in registry.generators():
        written += [(generator.model, name, as_placeholder(value)) for name, value in generator.values.items()]
    for model, name, placeholder in written:
        field = field_of(f"{model._meta.label}.{name}")
        if field is not None and placeholder.name == "constant":
            written_names.setdefault(field, set()).add(str(placeholder.make(field, None)))
    return written_names
