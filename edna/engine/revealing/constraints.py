"""Whether rows fit into their table as it is now: do their references lead somewhere, are their unique values free.

Invariant (nothing overwritten): what does not fit is held, that row and those below it only, with the reason that the outcome names.
Knows tables and one reveal's progress; knows no keys or bags.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db.models import SET_NULL, FileField, ForeignKey

from edna import coverage, registry
from edna.coverage import unique_groups
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.db.rows import Row, Table, table_of
from edna.engine.graph.outcome import Reason, write_what_fits
from edna.engine.graph.references import in_another_spelling
from edna.engine.graph.uniqueness import (
    columns_that_must_be_unique,
    deferrable_constraints,
    meets_another,
    require_unique_now,
    taken_column,
    taken_together,
)
from edna.engine.layers.terms_of_return import Overrides
from edna.engine.revealing.progress import Progress, hold
from edna.errors import InvalidParameters
from edna.records.diff import Modified, Removed, RowBatch


# Long: each column is asked about those rows alone that the columns before it let pass, and a held row changes what was asked.
def with_references(
    batch: RowBatch,
    table: Table,
    rows: list[Row],
    names: Sequence[str],
    progress: Progress,
    *,
    later: Collection[str] = (),
    unread: bool = False,
    may_empty: bool = False,
    using: str,
) -> list[Row]:
    """The rows whose foreign keys, as far as ``names`` has them, will point at something, and whose files nobody else has
    the names of. The others are held. ``unread``: what the database would refuse at once if it points at nothing is left to it.
    ``may_empty``: a removed row comes back without a reference that the database would have emptied, and that alone is held."""
    before = len(rows)
    for name, taken in progress.files.in_the_way_of(batch, rows, names).items():
        hold(progress, batch, taken, Reason.FILE_EXISTS, name)
        rows = [row for row in rows if row not in taken]
    for position, name in enumerate(names):
        column = table.field(name)
        if not rows or not isinstance(column, ForeignKey) or name in later:
            continue
        target = table_of(column.related_model)
        refers_to = column.target_field.name
        constrained = getattr(column, "db_constraint", True)
        refused = unread and constrained and refuses_at_once(table, using=using) and name not in table.links_within
        while True:
            # What was found before is still there, unless it was taken back; but it may turn out to be another row.
            absent = progress.absent.get((target.model, refers_to), set())
            seen = progress.seen.setdefault((target.model, refers_to), set())
            known = progress.present.get((target.model, refers_to), set()) | (seen - absent)
            if target.model is table.model and refers_to in names:
                known = known | {row[names.index(refers_to)] for row in rows}
            wanted = {row[position] for row in rows if row[position] is not None} - known
            # Whatever has the key of a row that is yet to come back is another row.
            away = missing = wanted & (progress.under_disguise(target, refers_to) | absent)
            if missing or (constrained and not refused):
                found = raw.read_where(target, (refers_to,), refers_to, list(wanted), lock=False, using=using)
                there = {value for (value,) in found}
                there |= in_another_spelling(target, refers_to, wanted - there - away, there, using=using)
                seen |= there - away
                # A key without a constraint may point at nothing, but not at a row that is yet to come back.
                missing = (wanted - there if constrained and not refused else set()) | away
            if not missing:
                break
            # A row of a tree that is held holds back those below it: look again without it.
            waiting = [row for row in rows if row[position] in missing]
            waiting = progress.move(batch, waiting, target, refers_to, position)
            emptied: dict[int, Row] = {}  # by identity: a value may be a list
            for part, waits in _by_what_they_wait_for(position, waiting, away):
                optional = _without(position, batch, table, part, progress, waits=waits) if may_empty else {}
                held = [row for row in part if id(row) not in optional]
                hold(progress, batch, held, Reason.REFERENCE_MISSING, name, waits=waits)
                emptied |= optional
            rows = [emptied.get(id(row), row) for row in rows if row[position] not in missing or id(row) in emptied]
    rows = _with_generic_references(batch, table, rows, names, progress, using=using)
    if len(rows) < before and table.links_within:
        # One that a later column held back may be the parent of one that an earlier column let pass.
        return with_references(
            batch, table, rows, names, progress, later=later, unread=unread, may_empty=may_empty, using=using
        )
    return rows


def _by_what_they_wait_for(
    position: int, rows: Sequence[Row], away: Collection[Any]
) -> tuple[tuple[list[Row], bool], ...]:
    """Those that refer to what is gone, and those that refer to what is sealed as well."""
    return (
        ([row for row in rows if row[position] not in away], False),
        ([row for row in rows if row[position] in away], True),
    )


def _without(
    position: int, batch: RowBatch, table: Table, rows: Sequence[Row], progress: Progress, *, waits: bool
) -> dict[int, Row]:
    """Of rows that refer to what is not there, those that come back without that, by identity, each with what it is then. The reference
    stays sealed: what it leads to may come back, too."""
    name = batch.columns[position]
    column: Any = table.field(name)
    optional = column.null and column.remote_field.on_delete is SET_NULL and name not in table.key_names
    people = any(coverage.same_table(column.related_model, model) for model in registry.principal_models())
    if not optional or people or name in table.links_within or not isinstance(batch, Removed):
        return {}
    keys = [batch.columns.index(each) for each in table.key_names]
    shared = progress.shared.get(batch.model, ())
    those = [row for row in rows if tuple(row[key] for key in keys) not in shared]
    found = {id(row): (*row[:position], None, *row[position + 1 :]) for row in those}
    links = [(*(row[key] for key in keys), row[position], None) for row in those]
    link = Modified(batch.model, batch.stamp, batch.key, (name,), links)
    hold(progress, link, links, Reason.REFERENCE_MISSING, name, waits=waits)
    return found


def refuses_at_once(table: Table, *, using: str) -> bool:
    """Whether the database refuses a statement that would leave a row of this table pointing at nothing."""
    features = connection_of(using).features
    # A table that others have made may lack a constraint that its model promises.
    return features.supports_foreign_keys and not features.can_defer_constraint_checks and table.model._meta.managed


def _with_generic_references(
    batch: RowBatch, table: Table, rows: list[Row], names: Sequence[str], progress: Progress, *, using: str
) -> list[Row]:
    """The rows whose generic keys lead to no row that is yet to come back: until then, another one may have its number."""
    for key in coverage.generic_keys(table.model):
        if not rows or not {key.ct_field, key.fk_field} <= set(names):
            continue
        kind, number = names.index(key.ct_field), names.index(key.fk_field)
        for content_type in dict.fromkeys(row[kind] for row in rows if row[kind] is not None):
            model = ContentType.objects.db_manager(using).get_for_id(content_type).model_class()
            if model is None or len(table_of(model).key) != 1:
                continue
            target = table_of(model)
            (refers_to,) = target.key_names
            # Whatever has the key of a row that is yet to come back is another row.
            back = progress.present.get((target.model, refers_to), set())
            away = {str(value) for value in progress.under_disguise(target, refers_to) - back}
            waiting = [row for row in rows if row[kind] == content_type and str(row[number]) in away]
            if waiting:
                gone = {id(row) for row in waiting}
                rows = [row for row in rows if id(row) not in gone]
                waiting = progress.move(batch, waiting, target, refers_to, number)
                hold(progress, batch, waiting, Reason.REFERENCE_MISSING, key.fk_field, waits=True)
    return rows


def write_back(table: Table, names: Sequence[str], rows: list[Row], *, using: str) -> list[Row]:
    """Update and return the rows that the database refuses; asked first where it would write their values into its log."""
    refused = taken(table, names, rows, using=using) if connection_of(using).vendor == "postgresql" else []
    free = [row for row in rows if row not in refused] if refused else rows

    def write(part: Sequence[Row]) -> None:
        raw.update_each(table, names, part, using=using)
        require_unique_now(table, using=using)

    return refused + write_what_fits(write, free, using=using)


def taken(table: Table, names: Sequence[str], rows: list[Row], *, using: str) -> list[Row]:
    """Rows whose new values would meet those of another row in columns that must be unique together."""
    exchangeable = [tuple(constraint.fields) for constraint in deferrable_constraints(table.model)]
    groups = [
        group
        for group in unique_groups(table.model)
        if set(group) & set(names) and set(group) <= set(table.names) and group not in exchangeable
    ]
    if not groups or not rows:
        return []
    width = len(table.key)
    new: dict[Row, dict[str, Any]] = {}
    for now in raw.read(
        table, (*table.key_names, *table.names), [row[:width] for row in rows], lock=False, using=using
    ):
        new[now[:width]] = dict(zip(table.names, now[width:], strict=True))
    for row in rows:
        new.setdefault(row[:width], {}).update(zip(names, row[width:], strict=True))
    found: set[Row] = set()
    for group in groups:
        wanted = {tuple(values.get(name) for name in group): key for key, values in new.items()}
        # Each once: of one that is named several times, PostgreSQL expects several times as many rows.
        first = list({values[0] for values in wanted if None not in values})
        for other in raw.read_where(table, (*table.key_names, *group), group[0], first, lock=False, using=using):
            if wanted.get(other[width:], other[:width]) != other[:width]:
                found.add(wanted[other[width:]])
    return [row for row in rows if row[:width] in found]


def plain_refusals(
    table: Table, names: Sequence[str], rows: Sequence[Row], *, using: str
) -> dict[Row, tuple[Reason, str | None]]:
    """Why rows cannot be inserted, by key, as far as equal keys and equal values tell: one statement for all of them, and one
    for each group of columns that must be unique. `refusal` knows more, of one row."""
    places = [names.index(name) for name in table.key_names]
    keys = [tuple(row[place] for place in places) for row in rows]
    there = raw.read(table, table.key_names, keys, lock=False, using=using)
    found: dict[Row, tuple[Reason, str | None]] = dict.fromkeys(there, (Reason.ROW_EXISTS, None))
    for group in unique_groups(table.model):
        if not set(group) <= set(names) or len(found) == len(rows):
            continue
        positions = [names.index(name) for name in group]
        others = [(key, row) for key, row in zip(keys, rows, strict=True) if key not in found]
        wanted = {tuple(row[position] for position in positions): key for key, row in others}
        first = list({values[0] for values in wanted if None not in values})
        for values in raw.read_where(table, group, group[0], first, lock=False, using=using):
            if values in wanted:
                found[wanted[values]] = (Reason.UNIQUE_TAKEN, group[0] if len(group) == 1 else group[-1])
    return found


#: Of more rows it is not foreseen: each takes a statement.
_FORESEEN: Final = 20


def further_refusals(
    table: Table, names: Sequence[str], rows: Sequence[Row], *, using: str
) -> dict[Row, tuple[Reason, str | None]]:
    """The same for constraints under a condition, or for expressions; of a few rows."""
    found: dict[Row, tuple[Reason, str | None]] = {}
    for row in rows if len(rows) <= _FORESEEN else ():
        values = dict(zip(names, row, strict=True))
        key = tuple(values[name] for name in table.key_names)
        if name := meets_another(table, values, key, using=using):
            found[key] = (Reason.UNIQUE_TAKEN, name)
    return found


def refusal(
    table: Table, names: Sequence[str], row: Row, *, using: str, row_exists: bool = False
) -> tuple[Reason, str | None]:
    """Why the database refused this row; its key is what comes first in it if it exists."""
    width = len(table.key)
    value = _whole(table, names, row, using=using, row_exists=row_exists)
    key = tuple(value[name] for name in table.key_names)
    if (not row_exists or key != row[:width]) and raw.read(table, table.key_names, [key], lock=False, using=using):
        return Reason.ROW_EXISTS, names[-1] if row_exists else None
    name = taken_column(table, value, row[:width] if row_exists else key, using=using)
    return (Reason.UNIQUE_TAKEN, name) if name else (Reason.CONSTRAINT, None)


def _whole(table: Table, names: Sequence[str], row: Row, *, using: str, row_exists: bool) -> dict[str, Any]:
    """Its values by column. Columns that stay as they are can be part of a constraint too."""
    value = dict(zip(names, row, strict=False))
    if row_exists:
        for current in raw.read(table, table.names, [row[: len(table.key)]], lock=False, using=using):
            value = dict(zip(table.names, current, strict=True)) | value
    return value


def require_columns(overrides: Overrides) -> None:
    """
    Raises:
        InvalidParameters: one of them is for no column that there is. Passed over, a typing error would look like a name that is taken.
            So would a model that has no rows: one that is swapped out, a proxy, or a child of that which has the column.
    """
    for name in overrides:
        label, _, column = name.rpartition(".")
        try:
            model = apps.get_model(label)
            field = model._meta.get_field(column)
        except (LookupError, ValueError, FieldDoesNotExist):
            raise InvalidParameters(
                f"overrides: there is no column {name!r}. Write the model's label and the field: {{'shop.user.email': 'b@x.org'}}."
            ) from None
        instead = model._meta.swapped or field.model._meta.label
        if instead.lower() != model._meta.label_lower:
            raise InvalidParameters(
                f"overrides: {name!r} is no column of a table of this site. Perhaps {instead}.{column} is meant."
            )


def overridden(
    table: Table, names: Sequence[str], row: Row, overrides: Overrides, *, using: str, row_exists: bool = False
) -> Row | None:
    """The row with the caller's values for taken columns (``{"shop.user.email": ...}``); None where there are none.

    Only columns that must be unique can be overridden, and never a key, a reference or the name of a file: a way round a
    collision, not a way to come back as somebody else. A column that nobody has taken stays as it was; where the database alone
    knows which one is taken, the caller is believed.

    Raises:
        InvalidParameters: the value does not pass the field's own validation.
    """
    chosen = _choices(table, names, overrides)
    if not chosen:
        return None
    value = _whole(table, names, row, using=using, row_exists=row_exists)
    key = row[: len(table.key)] if row_exists else tuple(value[name] for name in table.key_names)
    # Whoever has met another row in one column may meet a third one in another.
    taken = taken_together(table, value, key, using=using) or tuple(chosen)
    changed: dict[str, Any] = {}
    while new := {name: chosen.pop(name) for name in taken if name in chosen}:
        changed |= {name: _own_value(table, name, given, using=using) for name, given in new.items()}
        taken = taken_together(table, value | changed, key, using=using)
    back = tuple(changed.get(name, value) for name, value in zip(names, row, strict=True))
    return back if back != tuple(row) else None


def _choices(table: Table, names: Sequence[str], overrides: Overrides) -> dict[str, Any]:
    """By column, the caller's values for those that can be overridden."""
    values = {name.lower(): value for name, value in overrides.items()}
    unique = columns_that_must_be_unique(table) if values else set()
    found = {}
    for name in names:
        column, full = table.field(name), f"{table.label}.{name}".lower()
        fixed = name in table.key_names or column.is_relation or isinstance(column, FileField)
        if full in values and name in unique and not fixed:
            found[name] = values[full]
    return found


def _own_value(table: Table, name: str, given: Any, *, using: str) -> Any:
    """
    Raises:
        InvalidParameters: the value does not pass the field's own validation.
    """
    column = table.field(name)
    try:
        value = column.get_db_prep_save(column.clean(given, None), connection_of(using))
    except (ValidationError, ValueError, TypeError):
        value = None
    if value is None:
        raise InvalidParameters(f"overrides: the value for {table.label}.{name} is not valid; choose another.")
    return value
