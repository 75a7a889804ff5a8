"""What a disguise does to rows that stay: placeholders in their columns, pseudoprincipals for their owners.

Invariant: a record says what a row held before, and what the database made of what was written; the records are in the order of the
steps. As few statements as there are tables, or two where values are read again. Writes the application's tables.
A little long: values, owners and what is read again go into the same statement for each table.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Field, JSONField, Model, QuerySet

from edna import json_keys, registry
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.db.rows import Row, table_of
from edna.engine.disguising.batched_writes import Writes
from edna.engine.disguising.record import Records, SharedRows, mention, record, share, tell_owners
from edna.engine.graph.references import reference_of
from edna.engine.planning.shares import Share
from edna.engine.planning.steps import Plan, PlannedStep, together
from edna.engine.pseudoprincipals import factory
from edna.engine.pseudoprincipals.factory import Made
from edna.placeholders import Placeholder
from edna.records.diff import Decorrelated
from edna.records.speaksfor import SpeaksFor
from edna.spec import Modify

#: By table, keys that this disguise has changed: the former and the new one.
Moved = dict[type[Model], dict[Row, Row]]

#: By target, what placeholders ask for of the person's own row.
People = Mapping[int, Mapping[str, Any]]

#: Pseudoprincipals of one step, by target and group.
Voices = Mapping[tuple[int, Any], Made]

#: Puts on record what was written.
Recording = Callable[[], object]


def apply(plan: Plan, records: list[Records], shared: list[SharedRows], *, using: str) -> Moved:
    """Apply the plan's changes, put them on record, and return which rows have other keys now."""
    changed: dict[type[Model], dict[str, set[Row]]] = {}
    moved: Moved = {}
    # Changes before removals: a database without deferred constraints refuses to delete what is still referred to.
    changes = sorted((step for step in plan.changes if step.rows), key=_changes_key)
    people = _people(plan, changes, using=using)
    writes = Writes(using)
    written: list[Recording] = []
    for planned, made in zip(changes, _pseudoprincipals(plan, changes, using=using), strict=True):
        step = _where_now(planned, moved)
        over = not step.on_paper and _is_over_a_change(step, planned, changed)
        if over or _changes_key(step):
            _finish_writing(writes, written)
        if over:
            step = _read_again(step, using=using)
        if step.gives_away:
            written.append(decorrelate(plan, step, records, moved, writes, made, using=using))
        else:
            modified = modify(step, records, writes, plan=plan, shared=shared, people=people, using=using)
            written += [modified, functools.partial(_mention, plan, step, records, shared)]
    _finish_writing(writes, written)
    return moved


def _finish_writing(writes: Writes, written: list[Recording]) -> None:
    """Write what waits, and put it on record, in the order of the steps."""
    writes.flush()
    for put_on_record in written:
        put_on_record()
    written.clear()


def _mention(plan: Plan, step: PlannedStep, records: list[Records], shared: list[SharedRows]) -> None:
    step = step.only(lambda key: key not in step.shares)
    shared += [*mention(plan, step, records), *tell_owners(plan, step, records)]


def _changes_key(step: PlannedStep) -> bool:
    """Such steps come last: the others find their rows under the keys that were planned, and so do their records."""
    return step.operation is Decorrelated and step.columns[-1] in step.table.key_names


def _where_now(step: PlannedStep, moved: Moved) -> PlannedStep:
    """The step with the keys that earlier steps of this disguise have given to its rows."""
    if step.table.model not in moved:
        return step
    width = len(step.table.key)
    keys = translated(step.primary_keys(), moved[step.table.model])
    return replace(step, rows=[(*key, *row[width:]) for key, row in zip(keys, step.rows, strict=True)])


def translated(keys: list[Row], moved: Mapping[Row, Row]) -> list[Row]:
    return [moved.get(key, key) for key in keys]


def _is_over_a_change(step: PlannedStep, planned: PlannedStep, changed: dict[type[Model], dict[str, set[Row]]]) -> bool:
    """Whether an earlier step has changed one of its columns in one of its rows; notes what this one changes, by ``planned`` keys."""
    over = False
    keys = planned.primary_keys()
    names = step.columns[len(step.table.key) :]
    before = changed.setdefault(step.table.model, {})
    for name in names:
        under = [before[each] for each in before if json_keys.overlap(each, name)]
        over = over or not all(each.isdisjoint(keys) for each in under)
    for name in names:
        before.setdefault(name, set()).update(keys)
    return over


def _read_again(step: PlannedStep, *, using: str) -> PlannedStep:
    """The step with the values that an earlier step of this disguise left: a reveal undoes them one after the other."""
    width = len(step.table.key)
    rows = raw.read(step.table, step.columns, step.primary_keys(), lock=False, using=using)
    now = {row[:width]: row for row in rows}
    return replace(step, rows=[now[key] for key in step.primary_keys()])


def at_once(change: Callable[[Writes], Recording], *, using: str) -> None:
    """`modify` or `decorrelate`, for itself."""
    writes = Writes(using)
    put_on_record = change(writes)
    writes.flush()
    put_on_record()


def _people(plan: Plan, changes: Sequence[PlannedStep], *, using: str) -> People:
    """What placeholders ask for of the people's own rows, before any of these is changed: one statement, if any asks."""
    draws = [draw for step in changes for draw in getattr(step.transformation, "placeholders", {}).values()]
    names = list(dict.fromkeys(name for draw in draws for name in draw.person))
    if not names:
        return {}
    numbers = {str(target.entry.reference): number for number, target in enumerate(plan.targets)}
    rows: QuerySet[Any, Any] = QuerySet(model=plan.principal_model, using=using).filter(pk__in=list(numbers))
    found = rows.values_list("pk", *names)
    return {numbers[reference_of(plan.principal_model, key)]: dict(zip(names, own, strict=True)) for key, *own in found}


def modify(
    step: PlannedStep,
    records: list[Records],
    writes: Writes,
    *,
    plan: Plan | None = None,
    shared: list[SharedRows] | None = None,
    people: People | None = None,
    using: str,
) -> Recording:
    """Change the step's columns to placeholders, when ``writes`` are written. Of a ``plan``, rows that others own too are ``shared``."""
    width = len(step.table.key)
    names = step.columns[width:]
    keys = [row[:width] for row in step.rows]
    new = _placeholder_values(step, names, people or {}, using=using)
    writes.add(step.table, names, [(*key, *values) for key, values in zip(keys, new, strict=True)])

    def put_on_record() -> None:
        # Read again: a reveal compares with what the database made of the values, not with what it was given.
        now = raw.read(step.table, (*step.table.key_names, *names), keys, lock=False, using=using)
        by_key = {row[:width]: row[width:] for row in now}
        own = replace(step, rows=[(*row, *by_key[row[:width]]) for row in step.rows])
        if step.shares and plan is not None and shared is not None:
            # Where the value was the same before, too: an earlier disguise that put it there folds into this one, whoever reveals it.
            shared.extend(share(plan, own.only(step.shares.__contains__), records))
            own = own.only(lambda key: key not in step.shares)
        record(own, names, own.rows, records)
        if plan is not None:
            _change_in_removal(plan, step, names, by_key, using=using)

    return put_on_record


def _change_in_removal(
    plan: Plan, step: PlannedStep, names: Sequence[str], now: Mapping[Row, Row], *, using: str
) -> None:
    """Rows that go, and that somebody else brings back, go as the step has left them: what it took out comes back with its person alone."""
    removal = next((each for each in plan.removals if each.table is step.table), None)
    if removal is None or not (removal.shares or len(plan.targets) > 1):
        return
    gone = set(removal.primary_keys())
    keys = [key for key in step.primary_keys() if key in gone]
    if not keys:
        return
    columns = tuple(dict.fromkeys(map(json_keys.column, names)))
    if columns != tuple(names):
        width = len(step.table.key)
        documents = raw.read(step.table, (*step.table.key_names, *columns), keys, lock=False, using=using)
        now = {row[:width]: row[width:] for row in documents}
    places, going = [removal.columns.index(name) for name in columns], set(keys)
    for number, key in enumerate(removal.primary_keys()):
        if key in going:
            row = list(removal.rows[number])
            for place, value in zip(places, now[key], strict=True):
                row[place] = value
            removal.rows[number] = tuple(row)


def _placeholder_values(step: PlannedStep, names: Sequence[str], people: People, *, using: str) -> list[Row]:
    """The placeholders' values, drawn per row; for references to removed rows what their model says, NULL for most."""
    connection = connection_of(using)
    if not isinstance(step.transformation, Modify):
        value = step.relation.value_on_delete() if step.relation and step.rows else None
        if isinstance(value, Model):
            value = getattr(value, step.table.field(names[0]).target_field.attname)  # type: ignore[attr-defined]
        if value is not None:
            value = step.table.field(names[0]).get_db_prep_save(value, connection)
        return [(value,) * len(names)] * len(step.rows)
    width = len(step.table.key)
    columns = []
    for position, name in enumerate(names):
        column = step.table.field(name)
        placeholder = step.transformation.placeholders[name]
        own = [people[target] for target in step.targets] if placeholder.person else None
        if json_keys.is_key(name):
            make = _values_of_each if json_keys.is_of_each(name) else _values_of_key
            columns.append(make(column, placeholder, [row[width + position] for row in step.rows], own))
            continue
        originals: list[Any] = [None] * len(step.rows)
        if placeholder.reads_original:
            originals = raw.python_values(column, [row[width + position] for row in step.rows], using=using)
        originals = list(zip(originals, own, strict=True)) if own else originals
        one = placeholder.is_same_for_all
        made = [placeholder.make(column, original) for original in (originals[:1] if one else originals)]
        drawn = raw.prepared(column, made, connection)
        columns.append(drawn * len(originals) if one else drawn)
    return list(zip(*columns, strict=True))


def _values_of_key(
    column: Field[Any, Any],
    placeholder: Placeholder,
    texts: Sequence[str | None],
    people: Sequence[Mapping[str, Any]] | None,
) -> list[str | None]:
    """What stands under a key of a document, as texts of it: nothing where nothing stands there."""
    drawn: list[str | None] = []
    read: Callable[[str], Any] = str  # an element of a plain text
    write: Callable[[Any], str] = str
    if isinstance(column, JSONField):
        read = functools.partial(json.loads, cls=column.decoder)
        write = functools.partial(json.dumps, cls=column.encoder)
    for place, text in enumerate(texts):
        if text is None or (drawn and drawn[-1] is not None and placeholder.is_same_for_all):
            drawn.append(None if text is None else drawn[-1])
            continue
        original = read(text) if placeholder.reads_original else None
        original = (original, people[place]) if people else original
        drawn.append(write(placeholder.make(column, original)))
    return drawn


def _values_of_each(
    column: Field[Any, Any],
    placeholder: Placeholder,
    texts: Sequence[str | None],
    people: Sequence[Mapping[str, Any]] | None,
) -> list[str | None]:
    """As `_values_of_key`, for what stands in each element of a list: one value each."""
    lists = [json_keys.elements(text) for text in texts]
    whose = [own for own, there in zip(people, lists, strict=True) for _ in there] if people else None
    drawn = iter(_values_of_key(column, placeholder, [each for there in lists for each in there], whose))
    made = [[str(next(drawn)) for _ in there] for there in lists]
    return [None if text is None else json_keys.joined(each) for text, each in zip(texts, made, strict=True)]


def _pseudoprincipals(plan: Plan, steps: Sequence[PlannedStep], *, using: str) -> list[Voices]:
    """Of each step, a pseudoprincipal for each of its groups; made all at once, so that steps cost no statements."""
    if not any(step.gives_away for step in steps):
        return [{} for _ in steps]
    sets = [[step for step in each if step.gives_away] for each in together(steps)]
    groups = [list(dict.fromkeys(group for step in each for group in step.own_groups)) for each in sets]
    wanted = [(len(found), each[0].refers_to if each else None) for found, each in zip(groups, sets, strict=True)]
    generator = registry.pseudoprincipal_for(plan.disguise, plan.principal_model)
    made = factory.make(generator, plan.principal_model, wanted, using=using)
    by_step: dict[int, Voices] = {}
    for each, found, them in zip(sets, groups, made, strict=True):
        whose = dict(zip(found, them, strict=True))
        by_step |= {id(step): {group: whose[group] for group in step.own_groups} for step in each}
    return [by_step.get(id(step), {}) for step in steps]


def decorrelate(
    plan: Plan,
    step: PlannedStep,
    records: list[Records],
    moved: Moved,
    writes: Writes,
    made: Voices | None = None,
    *,
    using: str,
    to: Any = None,
) -> Recording:
    """Re-point the step's column to ``made`` pseudoprincipals, one for each of its groups, or to the value ``to``, when ``writes`` are
    written; one that is a part of the key at once."""
    if made is None:
        [made] = _pseudoprincipals(plan, [step], using=using) if to is None else [{}]
    width = len(step.table.key)
    (name,) = step.columns[width:]
    new = [made[group].value if made else to for group in step.own_groups]
    changed = [(*row, value) for row, value in zip(step.rows, new, strict=True)]
    if step.on_paper:
        voices = [made[group] for group in step.own_groups]
        _replace_in_removal(plan, step, {row[:width]: voice for row, voice in zip(changed, voices, strict=True)})
    elif name not in step.table.key_names:
        writes.add(step.table, (name,), [(*row[:width], row[-1]) for row in changed])
    elif changed:
        raw.update_each(step.table, (name,), [(*row[:width], row[-1]) for row in changed], using=using)
    if name in step.table.key_names:
        changed = _under_new_keys(step, name, changed, moved)
    # Of steps that share them, the first one has said so already.
    said = {voice.principal for each in records for voice in each.speaks_for} if step.together else set()
    for (target, (owner, _)), voice in made.items():
        if voice.key not in said:
            public_key = voice.secret_key.public_key
            records[target].speaks_for.append(SpeaksFor(voice.key, public_key, voice.secret_key, owner))
    return functools.partial(record, step, (name,), changed, records)


def _under_new_keys(step: PlannedStep, name: str, changed: Sequence[Row], moved: Moved) -> list[Row]:
    """The rows as a record has them: it says where a row is found from now on. Notes in ``moved`` where each has come from."""
    width, position = len(step.table.key), step.table.key_names.index(name)
    keys = {row[:width]: (*row[:position], row[-1], *row[position + 1 : width]) for row in changed}
    former = moved.setdefault(step.table.model, {})
    came_from = {key: old for old, key in former.items()}
    former |= {came_from.get(old, old): key for old, key in keys.items()}
    return [(*keys[row[:width]], *row[width:]) for row in changed]


def _replace_in_removal(plan: Plan, step: PlannedStep, new: Mapping[Row, Made]) -> None:
    """The rows that go say who owned them by pseudoprincipals: another owner may bring them back first.

    What waits for a pseudoprincipal is in its list, so that nobody takes away its row before: a mention, if the row goes with one
    person alone.
    """
    (removal,) = [each for each in plan.removals if each.table is step.table]
    position = removal.columns.index(step.columns[-1])
    shares: dict[Row, Share] = {}
    former = removal.primary_keys()
    for number, key in enumerate(former):
        if key in new:
            row = removal.rows[number]
            removal.rows[number] = (*row[:position], new[key].value, *row[position + 1 :])
            if key not in removal.shares:
                plan.mentioned[table_of(plan.principal_model).label, new[key].key] = new[key].entry
    for key, now in zip(former, removal.primary_keys(), strict=True):
        if key in removal.shares:
            share = removal.shares[key]
            shares[now] = replace(share, voices=(*share.voices, new[key].entry)) if key in new else share
    removal.shares.clear()
    removal.shares.update(shares)
