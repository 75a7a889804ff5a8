"""Who owns the rows of a disguise beside those for whom it is done, by the paths of its other steps about the same table.

What one person's disguise changes or removes may be somebody else's, too: a note of a customer and of whoever wrote it. So the records
say who else was there (`Owners`), and whoever has such a row under disguise already, or may have, is told that one more disguise lies
over it (`disguising.record.beside`). A reveal asks again who is there (`surroundings.owners`). A column that names nobody, or somebody
without a key, makes no owner here. Reads the application's tables and entries; writes nothing, and opens nothing.
A little long: whom a path names, and whether a disguise takes them out of it, is asked of the same paths.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db.models import ForeignKey, Model, Q

from edna import coverage, json_keys, registry, store, value_owners
from edna.coverage import same_table
from edna.db import rows as raw
from edna.db.rows import Row, Table, table_of
from edna.engine.graph.owner_expressions import named_by
from edna.engine.graph.references import reference_of, without_row
from edna.engine.planning.scope import Scope
from edna.engine.planning.selection import Selection
from edna.engine.planning.steps import Owner, PlannedStep
from edna.errors import SpecError
from edna.names_left import changes_once, takes_out
from edna.records.diff import Modified, Removed
from edna.spec import Disguise, Modify, Remove
from edna.store import Entry
from edna.value_owners import element_of, is_by_value, parsed

#: By path, the columns that go with whoever leaves first; none where it is the row itself.
Paths = Mapping[str, tuple[str, ...]]


def note_owners(steps: Sequence[PlannedStep], scope: Scope) -> None:
    """Write into each step who owns its rows: one statement a table, and two for entries; none where one path leads to all."""
    found = list(_named_beside(steps, scope))
    if not found:
        return
    own = {str(entry.reference): entry for target in scope.targets for entry in target.owners if entry.attached}
    named_anywhere = {value for _, _, rows in found for row in rows.values() for whom in row for value in each_of(whom)}
    entries = own | _entries(scope, named_anywhere, own)
    told: dict[int, Entry] = {}
    renamed = {(step.table, key, step.columns[-1]) for step in steps if step.on_paper for key in step.primary_keys()}
    over, under = _changes_after(found), _changes_after(found[::-1])
    for step, paths, rows in found:
        targets = dict(zip(step.primary_keys(), step.targets, strict=True))
        several = _paths_to_several(scope.disguise, step.table.model)  # type: ignore[arg-type]  # classes are hashable
        for key, values in rows.items():
            owners: list[Owner] = []
            by_path = zip(paths.items(), values, strict=True)
            for path, columns, value in ((*at, value) for at, whom in by_path for value in each_of(whom)):
                if step.operation is Removed and (step.table, key, path) in renamed:
                    continue  # a pseudoprincipal stands there, and nobody is waited for
                entry = None if value is None else entries.get(reference_of(scope.model, value))
                if entry is None:
                    if value is not None and _is_missed_by_account(step, path, several):
                        owners.append(_without_key(path, value, scope))
                    continue
                target = scope.owners.get(str(entry.reference))
                mine = target == targets[key]
                on_top = any(each.columns_of(key, target).issuperset(columns) for each in over[id(step)])
                # Whoever leaves in the same moment, and has a change beneath, knows of none that came later.
                beneath = any(not each.columns_of(key, target).isdisjoint(columns) for each in under[id(step)])
                told_of_it = (
                    bool(columns)
                    and not mine
                    and (beneath or _may_have_it_under_a_disguise(scope.disguise, step, path, entry))
                )
                if told_of_it:
                    told[entry.id] = entry
                owner = Owner(path, entry, mine, told_of_it, on_top, columns, target=target)
                if entry.natural and not mine:
                    shared = bool(columns) and _is_made_for(entry, step, path, scope)
                    owner = replace(owner, shares_change=shared, removes_too=_removes_too(step, path, target, scope))
                owners.append(owner)
            if any(owner.told or (owner.entry.natural and not owner.mine) for owner in owners):
                step.owned[key] = tuple(owners)
    unlocked = [str(entry.reference) for entry in told.values() if str(entry.reference) not in scope.known]
    if unlocked and scope.lock:
        locked = store.entries_by_reference(scope.model._meta.label_lower, unlocked, using=scope.using, lock=True)
        now = {entry.id: entry for entry in locked}
        for step, _, _ in found:
            for key, owned in step.owned.items():
                step.owned[key] = tuple(owner.with_entry(now.get(owner.entry.id, owner.entry)) for owner in owned)


def _is_missed_by_account(step: PlannedStep, path: str, several: Collection[str]) -> bool:
    """Whether a row that is removed names somebody by what it cannot be held for when their account is gone: no foreign key of its own."""
    return step.operation is Removed and (path in several or is_by_value(path))


def _without_key(path: str, value: Any, scope: Scope) -> Owner:
    """Somebody who has none. If they get one, and leave, the row says nothing of it: it is away."""
    reference = reference_of(scope.model, value)
    return Owner(
        path, Entry(0, b"", scope.model._meta.label_lower, reference, True, b"", None), False, False, False, ()
    )


def _is_made_for(entry: Entry, step: PlannedStep, path: str, scope: Scope) -> bool:
    """Whether one change is made for its target and for this owner, whose turn it is as well, now or in another plan."""
    change = step.transformation
    return (
        isinstance(change, Modify)
        and changes_once(scope.disguise, change)  # type: ignore[arg-type]  # classes are hashable
        and path in change.owners
        and (str(entry.reference) in scope.owners or scope.ask_turns is not None)
    )


def _removes_too(step: PlannedStep, path: str, target: int | None, scope: Scope) -> bool:
    """Whether a row that goes for another target would have gone for this one, and nothing of it would tell that they are away."""
    return (
        step.operation is Removed and target is not None and path in _removed_for_one(scope.disguise, step.table.model)  # type: ignore[arg-type]  # classes are hashable
    )


@functools.lru_cache(maxsize=1024)
def _removed_for_one(disguise: type[Disguise], model: type[Model]) -> frozenset[str]:
    """Paths to those who alone take a row along, where their account and their name stay."""
    if registry.removes_account(disguise):
        return frozenset()
    steps = (step for step in disguise.steps() if isinstance(step, Remove) and same_table(step.model, model))
    paths = {step.owners[0] for step in steps if len(step.owners) == 1}
    return frozenset(path for path in paths if not takes_out(disguise, model, path))  # type: ignore[arg-type]  # as above


@dataclass(frozen=True, eq=False)
class _RowChanges:
    """Those of one step, of a table: which columns, and of which rows, for which target."""

    columns: frozenset[str]
    targets: Mapping[Row, int]

    def columns_of(self, key: Row, target: int | None) -> frozenset[str]:
        """What it changes of this row for this target."""
        return self.columns if target is not None and self.targets.get(key) == target else frozenset()


def _changes_after(found: Sequence[tuple[PlannedStep, Paths, Any]]) -> dict[int, list[_RowChanges]]:
    """By the identity of each step that changes rows, those after it, in this order, that change rows of the same table."""
    over: dict[int, list[_RowChanges]] = {}
    seen: dict[Table, list[_RowChanges]] = {}
    for step, _, _ in reversed(found):
        over[id(step)] = [*seen.get(step.table, ())]
        if step.operation is Modified:
            columns = frozenset(step.columns[len(step.table.key) :])
            later = _RowChanges(columns, dict(zip(step.primary_keys(), step.targets, strict=True)))
            seen.setdefault(step.table, []).append(later)
    return over


def values_of(
    table: Table,
    keys: Collection[Row],
    paths: Sequence[str],
    principal: type[Model],
    *,
    using: str,
    model: type[Model] | None = None,
) -> dict[Row, Sequence[Any]]:
    """Of rows that are in their table: raw primary keys of principals, by the rows' keys and in the order of the paths; a tuple of them
    along one to several, or to elements. Nothing of a path that the ``model``, or that of the table, does not have."""
    model, width, wanted = model or table.model, len(table.key), set(keys)
    key_names = table.key_names if width > 1 else ("pk",)
    single = [path for path in paths if element_of([path]) is None]
    try:
        names = (*key_names, *(registry.owner_key(model, path, principal=principal) for path in single))
    except (SpecError, FieldDoesNotExist):
        return {}
    found = _selected(model, names, key_names[0], [key[0] for key in keys], using=using)
    values: dict[Row, Sequence[Any]] = {row[:width]: row[width:] for row in found if row[:width] in wanted}
    for place, path in enumerate(single):
        if coverage.relation_to_several(model, path):
            whom: dict[Row, dict[Any, None]] = {}
            for row in found:
                whom.setdefault(row[:width], {})[row[width + place]] = None
            values = {
                key: (*row[:place], tuple(each for each in whom[key] if each is not None), *row[place + 1 :])
                for key, row in values.items()
            }
    if len(single) < len(paths):
        several = {
            path: _in_lists(table, list(values), path, principal, using=using) for path in paths if path not in single
        }
        values = {
            key: tuple(several[path][key] if path in several else row[single.index(path)] for path in paths)
            for key, row in values.items()
        }
    return values


def each_of(whom: Any) -> tuple[Any, ...]:
    """Whom a path leads to: one, nobody or, to elements, several."""
    return whom if isinstance(whom, tuple) else () if whom is None else (whom,)


def _in_lists(
    table: Table, keys: Sequence[Row], path: str, principal: type[Model], *, using: str
) -> dict[Row, tuple[Any, ...]]:
    element = element_of([path])
    if element is None or element.column not in table.names:
        return dict.fromkeys(keys, ())
    width, names = len(table.key), (*table.key_names, element.column)
    rows = raw.read(table, names, keys, lock=False, using=using)
    owner = registry.owner_key(table.model, path, principal=principal)
    named = named_by(table.model, [{element.column: row[-1]} for row in rows], owner, using=using)
    return dict.fromkeys(keys, ()) | {row[:width]: whom for row, whom in zip(rows, named, strict=True)}


def values_along(
    table: Table, rows: Sequence[Mapping[str, Any]], path: str, principal: type[Model], *, using: str
) -> list[tuple[bool, Any]]:
    """Of rows that are sealed, as columns: whether the row that the path leads over is there, and whom it names at its end."""
    if is_by_value(path) and not parsed(path)[0]:
        try:
            owner = registry.owner_key(table.model, path, principal=principal)
            return [(True, value) for value in named_by(table.model, rows, owner, using=using)]
        except (SpecError, FieldDoesNotExist, KeyError):
            return [(False, None)] * len(rows)  # the tables of today have no such columns
    name, _, rest = path.partition("__")
    try:
        column = table.field(name)
    except (KeyError, FieldDoesNotExist):
        return [(False, None)] * len(rows)
    if not rest or not isinstance(column, ForeignKey):
        return [(bool(not rest), row.get(name)) for row in rows]
    over, refers_to = column.related_model, column.target_field.name
    assert isinstance(over, type)
    names = (refers_to, registry.owner_key(over, rest, principal=principal))
    wanted = {row[name] for row in rows if row.get(name) is not None}
    there: dict[Any, Any] = dict(_selected(over, names, refers_to, list(wanted), using=using))
    return [(row.get(name) in there, there.get(row.get(name))) for row in rows]


def people(references: Collection[str], *, model: type[Model], using: str) -> tuple[dict[str, Entry], set[str]]:
    """Entries by reference, and those of the references that nobody has."""
    entries = store.entries_by_reference(model._meta.label_lower, references, using=using)
    known = {str(entry.reference): entry for entry in entries}
    unknown = sorted(set(references) - known.keys())
    return known, set(without_row(model, unknown, using=using)) if unknown else set()


def tables_in_common() -> set[str]:
    """The labels of tables of which a disguise changes rows for one owner that it would change, or remove, for others as well; or removes
    them, and nothing but a list tells for whom as well."""
    found = set()
    for disguise in registry.disguises().values():
        by_table: dict[str, list[Modify | Remove]] = {}
        for step in disguise.steps():
            if isinstance(step, Remove) or (isinstance(step, Modify) and not step.waits_for_all):
                for model in coverage.tables_of_object(step.model):
                    by_table.setdefault(table_of(model).label, []).append(step)
        for label, steps in by_table.items():
            owners = {path for step in steps for path in step.owners}
            changes = [step for step in steps if isinstance(step, Modify)]
            to_several = any(coverage.is_for_each(step, path) for step in changes for path in step.owners)
            changed = bool(changes) and (len(owners) > 1 or to_several)
            if changed or any(goes_with_each(disguise, step.model) for step in steps):
                found.add(label)
    return found


def goes_with_each(disguise: type[Disguise], model: type[Model]) -> bool:
    """Whether a disguise of everybody removes a row for one owner that it would have removed for others as well, whose accounts stay: what
    tells of them stands in lists alone."""
    return len(_removed_for_one(disguise, model)) > 1  # type: ignore[arg-type]  # classes are hashable


def several_may_own() -> bool:
    """Whether any disguise says of rows that they have several owners."""
    steps = (step for disguise in registry.disguises().values() for step in disguise.steps())
    return any(len(step.owners) > 1 for step in steps) or bool(tables_in_common())


# How


def _named_beside(
    steps: Sequence[PlannedStep], scope: Scope
) -> Iterator[tuple[PlannedStep, Paths, Mapping[Row, Sequence[Any]]]]:
    """Steps whose rows several paths lead to, with those and whom they name in each row: one statement for steps with the same paths."""
    alike: dict[tuple[Table, type[Model], frozenset[str]], list[tuple[PlannedStep, Paths, list[Row]]]] = {}
    for step in (each for each in steps if each.rows):
        paths = _paths(scope.disguise, step)
        several = _paths_to_several(scope.disguise, step.table.model)  # type: ignore[arg-type]  # as above
        if len(paths) > 1 or not several.isdisjoint(paths):
            # With multi-table inheritance, the table may be a parent's, which does not know the paths.
            model = step.transformation.model if step.transformation else step.table.model
            keys = [key for key in step.primary_keys() if key not in step.shares]
            alike.setdefault((step.table, model, frozenset(paths)), []).append((step, paths, keys))
    for (table, model, every_path), those in alike.items():
        order = sorted(every_path)
        every = list(dict.fromkeys(key for *_, keys in those for key in keys))
        named = values_of(table, every, order, scope.model, using=scope.using, model=model)
        for step, paths, keys in those:
            places = [order.index(path) for path in paths]
            own = {key: [named[key][place] for place in places] for key in keys if key in named}
            yield step, paths, _met(step, paths, own, scope, model=model)


@functools.lru_cache(maxsize=1024)
def _paths_to_several(disguise: type[Disguise], model: type[Model]) -> frozenset[str]:
    """Owner paths of what it does to rows, of which one leads from a row to several people, as far as no step says that it leads to one."""
    steps = [step for step in disguise.steps() if not step.one_owner and same_table(step.model, model)]
    return frozenset(path for step in steps for path in step.owners if coverage.relation_to_several(step.model, path))


def _entries(scope: Scope, values: Iterable[Any], own: Collection[str]) -> dict[str, Entry]:
    strangers = {reference_of(scope.model, value) for value in values if value is not None} - set(own)
    unread = strangers - scope.known.keys()
    found = store.entries_by_reference(scope.model._meta.label_lower, unread, using=scope.using) if unread else ()
    return scope.known | {str(entry.reference): entry for entry in found}


def _met(
    step: PlannedStep, paths: Paths, named: Mapping[Row, Sequence[Any]], scope: Scope, *, model: type[Model]
) -> Mapping[Row, Sequence[Any]]:
    """Without those to whom only steps lead that do not mean the row: one statement for each condition of another step."""
    names = step.table.key_names if len(step.table.key) > 1 else ("pk",)
    conditions = _conditions(scope.disguise, model, names, scope.using, removed=step.operation is Removed)  # type: ignore[arg-type]  # classes are hashable
    own = step.transformation.where if step.transformation else None
    # What the step itself means has been asked for: its rows are those.
    asked = {
        path: found
        for path, found in conditions.items()
        if path in paths and not any(each.where is own for each in found)
    }
    owners = list(dict.fromkeys(key[0] for key in named))
    meant = {
        each: set(each.selection.run(owners=owners, params=scope.params, using=scope.using))
        for each in dict.fromkeys(each for found in asked.values() for each in found)
        if each.selection is not None and owners
    }
    return {
        key: [
            value if path not in asked or any(key in meant.get(each, ()) for each in asked[path]) else None
            for path, value in zip(paths, values, strict=True)
        ]
        for key, values in named.items()
    }


@dataclass(frozen=True, eq=False)
class _Where:
    """That of one step. What selects the rows that it means; None where it can mean none."""

    where: Q
    selection: Selection | None


@functools.lru_cache(maxsize=1024)
def _conditions(
    disguise: type[Disguise], model: type[Model], names: tuple[str, ...], using: str, *, removed: bool
) -> Mapping[str, tuple[_Where, ...]]:
    """Of owner paths to which only steps with a condition lead: these conditions."""
    kinds = Remove if removed else (Modify, Remove)
    found: dict[str, list[_Where | None]] = {}
    for step in disguise.steps():
        if same_table(step.model, model) and isinstance(step, kinds):
            condition = None
            if step.where is not None:
                selection = Selection.compile(model, names, owners=names[:1], where=step.where, using=using)
                condition = _Where(step.where, selection)
            for path in step.owners:
                found.setdefault(path, []).append(condition)
    return {
        path: tuple(each for each in conditions if each is not None)
        for path, conditions in found.items()
        if None not in conditions
    }


def _paths(disguise: type[Disguise], step: PlannedStep) -> Paths:
    if step.operation is Removed:
        return _paths_of_removal(disguise, step.table.model)  # type: ignore[arg-type]  # as above
    if step.operation is Modified and isinstance(step.transformation, Modify) and not step.transformation.waits_for_all:
        model, columns = step.transformation.model, frozenset(step.columns[len(step.table.key) :])
        paths = _paths_of_change(disguise, model, columns)  # type: ignore[arg-type]  # as above
        registered = tuple(registry.disguises().values())
        return {**_said_by_others(registered, disguise, model, columns), **paths}  # type: ignore[arg-type]  # as above
    return {}


@functools.lru_cache(maxsize=1024)
def _said_by_others(
    registered: tuple[type[Disguise], ...], disguise: type[Disguise], model: type[Model], columns: frozenset[str]
) -> Paths:
    """Owners by value whom another disguise names by one of these columns: while the value is away, that one does not find the row."""
    principal = registry.principal_model_for(disguise)
    return {
        path: tuple(sorted(said))
        for other in registered
        if other is not disguise and registry.principal_model_for(other) is principal
        for path, said in _saying_whose(other, model, columns)
    }


@functools.lru_cache(maxsize=1024)
def _paths_of_removal(disguise: type[Disguise], model: type[Model]) -> Paths:
    """To everybody whom the disguise takes for an owner of a row that it removes."""
    return {path: () for step in disguise.steps() if same_table(step.model, model) for path in step.owners}


@functools.lru_cache(maxsize=1024)
def _paths_of_change(disguise: type[Disguise], model: type[Model], columns: frozenset[str]) -> Paths:
    """To everybody with whom one of these columns goes, or the row. Whose a row is is no column that anybody has in common, but
    with whom it names."""
    paths: dict[str, tuple[str, ...]] = {}
    for step in disguise.steps():
        if same_table(step.model, model) and isinstance(step, Modify) and not step.waits_for_all:
            says_whose = {*step.owners, *value_owners.own_columns(step.model, step.owners)}
            # A document holds what other steps set in it.
            common = {name for name in columns if any(_holds(name, each, step) for each in step.set)} - says_whose
            paths |= {path: tuple(sorted(common.union(paths.get(path, ())))) for path in step.owners if common}
    for step in disguise.steps():
        if same_table(step.model, model) and isinstance(step, Remove):
            paths |= {path: () for path in step.owners if path not in paths}
    for path, columns_of_path in _saying_whose(disguise, model, columns):
        # Whose a row is, is said of them: it does not come back by somebody else while they are away.
        paths[path] = tuple(sorted({*columns_of_path, *paths.get(path, ())}))
    if paths:
        # Whom a value names has nothing in common with the others but the row, which may go with one of them.
        paths |= {path: () for path in _own_values(disguise, model, columns) if path not in paths}
    return paths


def _saying_whose(
    disguise: type[Disguise], model: type[Model], columns: frozenset[str]
) -> Iterator[tuple[str, Collection[str]]]:
    """Owners by value, with those of the columns by which they are found."""
    for step in disguise.steps():
        for path in step.owners if same_table(step.model, model) else ():
            if said := columns.intersection(value_owners.own_columns(step.model, [path])):
                yield path, said


def _holds(column: str, name: str, step: Modify) -> bool:
    """Whether what the step sets goes with the column. An element that is one person's alone does not go with itself."""
    return json_keys.covers(column, name) and not (column == name and element_of(step.owners) is not None)


def _own_values(disguise: type[Disguise], model: type[Model], columns: frozenset[str]) -> Iterator[str]:
    for step in disguise.steps():
        if same_table(step.model, model) and isinstance(step, Modify) and any(map(is_by_value, step.owners)):
            own = any(json_keys.covers(each, name) for each in step.set for name in columns)
            yield from step.owners if own else ()


def _may_have_it_under_a_disguise(disguise: type[Disguise], step: PlannedStep, path: str, entry: Entry) -> bool:
    """Whether somebody whom a row names can have it under this disguise, or another: not under one that would have taken their name out."""
    if not entry.natural:
        return True
    assert step.transformation is not None
    model = step.transformation.model
    return any(_leaves_name(each, model, path) for each in (disguise, *registry.disguises().values()))


def _leaves_name(disguise: type[Disguise], model: type[Model], path: str) -> bool:
    """Whether the disguise changes rows at the end of this path, and whoever it is for is named there afterwards."""
    if not any(same_table(step.model, model) and path in step.owners for step in disguise.steps()):
        return False
    return not registry.removes_account(disguise) and not takes_out(disguise, model, path)  # type: ignore[arg-type]  # as above


def _selected(
    model: type[Model], names: tuple[str, ...], by: str, values: Sequence[Any], *, using: str
) -> Sequence[Row]:
    selection = _selection(model, names, by, using) if values else None
    return selection.run(owners=list(dict.fromkeys(values)), params={}, using=using) if selection is not None else []


@functools.lru_cache(maxsize=1024)
def _selection(model: type[Model], names: tuple[str, ...], by: str, using: str) -> Selection | None:
    try:
        return Selection.compile(model, names, owners=(by,), where=None, using=using)
    except FieldError:
        return None
