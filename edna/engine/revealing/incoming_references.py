"""Rows that came to refer to a pseudoprincipal after its disguise: what becomes of them when it is let go of.

The reference policy of the disguise decides, for each relation: they go to whom it stood for, are deleted, or keep it. Where it says
nothing they go to the owner, but for those that cannot because the owner has one already and two there must not be: these are deleted,
and what refers to them goes to the owner's. Invariant (nothing overwritten): nothing dangles, and what stands in the way keeps the
pseudoprincipal. Writes the application's tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db.models import Model

from edna import coverage, registry, signals
from edna.coverage import relations_to
from edna.db import rows as raw
from edna.db.rows import Row, Table, table_of
from edna.engine.books import announcements
from edna.engine.graph import families
from edna.engine.graph.order import deletion_order
from edna.engine.graph.outcome import Held, Reason, named, write_what_fits
from edna.engine.revealing.constraints import refusal, taken, with_references
from edna.engine.revealing.progress import Progress, hold
from edna.records.diff import Modified

#: Where the disguise says nothing: to the owner, unless the owner has one, of which there can be no second.
UNSAID: Final = "unsaid"


def reference_policy(name: str, relation: coverage.Relation) -> str:
    return policies_of(name).get(relation.label.lower(), UNSAID)


def policies_of(name: str) -> dict[str, str]:
    """By the label of a relation, in lower case, what the disguise of this name says of it."""
    disguise = registry.find(name)
    return {label.lower(): policy for label, policy in (disguise.references if disguise else {}).items()}


def settle(
    name: str, relation: coverage.Relation, owners: Mapping[Any, Any], progress: Progress, *, using: str
) -> set[Any]:
    """Deal with rows that came to refer to a pseudoprincipal after the disguise; return the pseudoprincipals still needed.

    ``owners`` says to whom each value of the relation's column would go; ``name`` is that of the disguise. In a rehearsal it is only
    said what could not go to them now.
    """
    table, policy, rehearsed = table_of(relation.model), reference_policy(name, relation), progress.rehearsed
    width, names = len(table.key), (*table.key_names, relation.field.name)
    found = raw.read_where(table, names, relation.field.name, list(owners), lock=not rehearsed, using=using)
    if not found:
        return set()
    if policy == "retain":
        return {row[-1] for row in found}
    if policy == "delete":
        return set() if rehearsed else _delete(table, found, progress, using=using)
    surplus: dict[Row, Row] = {}
    if policy == UNSAID and coverage.one_each(relation.field):
        surplus = _surplus(relation, found, owners, lock=not rehearsed, using=using)
        surplus_rows = [row for row in found if row[:width] in surplus]
        found = [row for row in found if row[:width] not in surplus]
    needed = _restore(relation, found, owners, progress, using=using)
    if surplus and not rehearsed:
        _pass_on(name, relation, surplus, progress, using=using)
        needed |= _delete(table, surplus_rows, progress, using=using)
    return needed


def _restore(
    relation: coverage.Relation, found: Sequence[Row], owners: Mapping[Any, Any], progress: Progress, *, using: str
) -> set[Any]:
    """Give these rows to the owners; return the pseudoprincipals whose rows stay where they are, until they can move."""
    table = table_of(relation.model)
    width = len(table.key)
    back = {(*row[:width], owners[row[-1]]): row[-1] for row in found}
    batch = Modified(table.label, "", table.key_names, (relation.field.name,), ())
    names = (*table.key_names, relation.field.name)
    aside = Progress(present=progress.present)
    rows = with_references(batch, table, list(back), names, aside, using=using)
    if relation.field.name in table.key_names and rows:
        # Under another key, what refers to it would point at nothing.
        fixed = _needed_by_others(table, _objects(table, [row[:width] for row in rows], using=using), using=using)
        hold(aside, batch, [row for row in rows if row[:width] in fixed], Reason.CONSTRAINT, relation.field.name)
        rows = [row for row in rows if row[:width] not in fixed]
    column = (relation.field.name,)
    if progress.rehearsed:
        refused = set(taken(table, column, rows, using=using))
    else:
        refused = set(
            write_what_fits(lambda part: raw.update_each(table, column, part, using=using), rows, using=using)
        )
    for row in refused:
        hold(aside, batch, [row], *refusal(table, names, row, using=using, row_exists=True))
    moved = [row for row in rows if row not in refused]
    progress.news.note_undone(batch, table, moved)
    _note_new_keys(relation, table, moved, back, progress)
    stay = {row: key for row, key in back.items() if row not in set(moved)}
    left = _leave(relation, table, stay, progress)
    progress.outcome.due.add(table.label, {row[:width] for row in rows if row not in left})
    # Said, but not sealed: these rows are in their table, under the pseudoprincipal, which stays until they can move.
    waiting = [row[:width] for row in stay if row not in left]
    progress.outcome.held += [each for each in aside.outcome.held if each.pk in {named(key) for key in waiting}]
    progress.outcome.stopped.add(table.label, waiting)
    return {key for row, key in stay.items() if row not in left}


def _note_new_keys(
    relation: coverage.Relation, table: Table, moved: Sequence[Row], before: Mapping[Row, Any], progress: Progress
) -> None:
    """Rows whose key is whom they refer to have another one now: sealed records may name them by the old one."""
    if not moved or relation.field.name not in table.key_names:
        return
    now = {before[row]: row[-1] for row in moved}
    places = [(table.label, relation.field.name)]
    for each in relations_to(table.model):
        if each.field.target_field.name == relation.field.name:
            places.append((table_of(each.model).label, each.field.name))
    for place in places:
        progress.passed_on.setdefault(place, {}).update(now)


def _leave(relation: coverage.Relation, table: Table, stay: Mapping[Row, Any], progress: Progress) -> set[Row]:
    """Those of the rows that the person gives up: they stay with their pseudoprincipal for good. Not while the person's account lies in
    another bag of theirs: then it may still come back."""
    left = {row for row in stay if (table.label, named(row[:-1])) in progress.given_up}
    if left:
        left -= _whose_owner_may_come_back(relation, left, progress)
    for row in left:
        progress.left_with.setdefault(relation.label, set()).add(stay[row])
        if (table.label, named(row[:-1])) not in progress.accepted:
            progress.accepted.add((table.label, named(row[:-1])))
            progress.outcome.accept(table.label, named(row[:-1]))
    return left


def _whose_owner_may_come_back(relation: coverage.Relation, rows: set[Row], progress: Progress) -> set[Row]:
    target = relation.field.target_field
    away = progress.under_disguise(table_of(target.model), target.name)
    return {row for row in rows if row[-1] in away}


def _surplus(
    relation: coverage.Relation, found: Sequence[Row], owners: Mapping[Any, Any], *, lock: bool, using: str
) -> dict[Row, Row]:
    """Of rows of which everybody has one at most: those whose owner has one, by its key or what that will be, if only now."""
    table, name = table_of(relation.model), relation.field.name
    width = len(table.key)
    wanted = {owners[row[-1]] for row in found}
    own = {
        row[-1]: row[:width]
        for row in raw.read_where(table, (*table.key_names, name), name, list(wanted), lock=lock, using=using)
    }
    surplus: dict[Row, Row] = {}
    for row in found:
        owner = owners[row[-1]]
        if owner in own:
            surplus[row[:width]] = own[owner]
        else:
            own[owner] = tuple(owner if part == name else row[place] for place, part in enumerate(table.key_names))
    return surplus


def _pass_on(
    name: str, relation: coverage.Relation, surplus: Mapping[Row, Row], progress: Progress, *, using: str
) -> None:
    """What refers to a row of which its owner has one already goes to the owner's, as far as the policies for that say so."""
    table = table_of(relation.model)
    for target in dict.fromkeys(each.field.target_field.name for each in relations_to(table.model)):
        keys = list({*surplus, *surplus.values()})
        names = (*table.key_names, target)
        values = {row[:-1]: row[-1] for row in raw.read(table, names, keys, lock=False, using=using)}
        now = {values[key]: values[heir] for key, heir in surplus.items() if key in values and heir in values}
        for each in relations_to(table.model):
            if each.field.target_field.name == target and not each.is_parent_link:
                progress.passed_on.setdefault((table_of(each.model).label, each.field.name), {}).update(now)
                settle(name, each, now, progress, using=using)


def _delete(table: Table, found: Sequence[Row], progress: Progress, *, using: str) -> set[Any]:
    """Delete rows, given by their keys and whom they refer to; return those of whom a row stays, because others refer to it."""
    width = len(table.key)
    objects = _objects(table, [row[:width] for row in found], using=using)
    needed = _needed_by_others(table, objects, using=using)
    _delete_objects(table, [row[:width] for row in found if row[:width] not in needed], objects, progress, using=using)
    for key in sorted(needed):
        progress.outcome.held.append(Held.of(table.label, key, Reason.CONSTRAINT))
    return {row[-1] for row in found if row[:width] in needed}


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
        links = announcements.parents(part)
        leading = raw.read(part, links, keys, lock=False, using=using) if links and keys else []
        raw.delete(part, keys, using=using)
        progress.deleted.setdefault(part.label, set()).update(keys)
        progress.news.note(signals.rows_removed, part, part.key_names, keys)
        progress.news.note_parents(part, links, leading)
