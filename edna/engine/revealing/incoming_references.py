"""Rows that came to refer to a pseudoprincipal after its disguise: what becomes of them when it is let go of.

The reference policy of the disguise decides, for each relation: they go to whom it stood for, are deleted, or keep it. Invariant
(nothing overwritten): nothing dangles, and what stands in the way keeps the pseudoprincipal. Writes the application's tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Model

from edna import coverage, registry, signals
from edna.coverage import relations_to
from edna.db import rows as raw
from edna.db.rows import Row, Table, table_of
from edna.engine.graph import families
from edna.engine.graph.order import deletion_order
from edna.engine.graph.outcome import Held, Reason, write_what_fits
from edna.engine.revealing.constraints import refusal, with_references
from edna.engine.revealing.progress import Progress, hold
from edna.records.diff import Modified


def reference_policy(name: str, relation: coverage.Relation) -> str:
    disguise = registry.find(name)
    policies = disguise.references if disguise else {}
    return {label.lower(): policy for label, policy in policies.items()}.get(relation.label.lower(), "restore")


def settle(
    relation: coverage.Relation, policy: str, owners: Mapping[Any, Any], progress: Progress, *, using: str
) -> set[Any]:
    """Deal with rows that came to refer to a pseudoprincipal after the disguise; return the pseudoprincipals still needed."""
    table = table_of(relation.model)
    width = len(table.key)
    found = raw.read_where(
        table, (*table.key_names, relation.field.name), relation.field.name, list(owners), lock=True, using=using
    )
    if not found:
        return set()
    if policy == "retain":
        return {row[-1] for row in found}
    if policy == "delete":
        objects = _objects(table, [row[:width] for row in found], using=using)
        needed = _needed_by_others(table, objects, using=using)
        doomed = [row[:width] for row in found if row[:width] not in needed]
        _delete_objects(table, doomed, objects, progress, using=using)
        for key in sorted(needed):
            pk = key[0] if len(key) == 1 else key
            progress.outcome.held.append(Held(table.label, pk, Reason.CONSTRAINT))
        return {row[-1] for row in found if row[:width] in needed}
    back = {(*row[:width], owners[row[-1]]): row[-1] for row in found}
    batch = Modified(table.label, "", table.key_names, (relation.field.name,), ())
    names = (*table.key_names, relation.field.name)
    aside = Progress(present=progress.present)
    rows = with_references(batch, table, list(back), names, aside, using=using)
    refused = set(
        write_what_fits(lambda part: raw.update(table, (relation.field.name,), part, using=using), rows, using=using)
    )
    for row in refused:
        hold(aside, batch, [row], *refusal(table, names, row, using=using, row_exists=True))
    # Said, but not sealed: these rows are in their table, under the pseudoprincipal, which stays until they can move.
    progress.outcome.held += aside.outcome.held
    progress.outcome.stopped.include(aside.outcome.stopped)
    progress.outcome.due.add(table.label, {row[:width] for row in rows})
    moved = [row for row in rows if row not in refused]
    progress.news.note_undone(batch, table, moved)
    there = set(moved)
    return {key for row, key in back.items() if row not in there}


#: For each table, the rows to delete by primary key, and the key of the row to whose object they belong.
Objects = dict[type[Model], dict[Row, Row]]


def _objects(table: Table, keys: Sequence[Row], *, using: str) -> Objects:
    """The rows, and what other tables hold of the same objects (multi-table inheritance)."""
    if not families.links_of(table.model):
        return {table.model: {key: key for key in keys}}
    rows = raw.read(table, (*table.key_names, *table.names), keys, lock=True, using=using)
    width = len(table.key)
    found: families.Found = {table.model: {row[:width]: (row[width:], row[:width]) for row in rows}}
    families.complete(found, lock=True, using=using)
    return {model: {key: owner for key, (_, owner) in parts.items()} for model, parts in found.items()}


def _needed_by_others(table: Table, objects: Objects, *, using: str) -> set[Row]:
    """Those of the objects that a row of any table points at: they cannot be deleted without leaving it dangling."""
    needed: set[Row] = set()
    for model, owners in objects.items():
        part = table_of(model)
        for relation in relations_to(model):
            referring = table_of(relation.model)
            if relation.is_parent_link and relation.model in objects:
                continue
            target = relation.field.target_field.name
            names = (*part.key_names, target)
            values = {row[-1]: row[:-1] for row in raw.read(part, names, list(owners), lock=False, using=using)}
            name = relation.field.name
            for (value,) in raw.read_where(referring, (name,), name, list(values), lock=False, using=using):
                needed.add(owners[values[value]])
    return needed


def _delete_objects(table: Table, doomed: Sequence[Row], objects: Objects, progress: Progress, *, using: str) -> None:
    going = set(doomed)
    for model in deletion_order(list(objects)):
        part = table_of(model)
        keys = [key for key, owner in objects[model].items() if owner in going]
        raw.delete(part, keys, using=using)
        progress.news.note(signals.rows_removed, part, part.key_names, keys)
