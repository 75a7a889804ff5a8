"""What is somebody's: rows that they own now, and what lies in their bags, as a document that they can take along.

Reads only. Nobody else's data: of a row that several people own, columns that name another person are left out. Knows what the registered
disguises say of owners, and opened records; knows no requests and no files' contents.
A little long: what is left out of rows and of records is decided alike, and stands beside each other.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db.models import BooleanField, ForeignKey, JSONField, Model, Q

from edna import clock, json_keys, registry
from edna.coverage import same_table
from edna.db.rows import Row, table_of
from edna.engine.bags.capability import Unlocked, require_unlocked
from edna.engine.bags.key_graph import KeyGraph
from edna.engine.bags.ownership import owners_of
from edna.engine.graph.placeholder_rows import PlaceholderRows
from edna.engine.graph.placeholder_rows import columns_of as placeholder_columns
from edna.engine.graph.references import key_of, reference_of
from edna.engine.planning.mentions import principal_columns
from edna.engine.planning.selection import Selection
from edna.errors import SpecError
from edna.records.bag import Bag, BagKind
from edna.records.diff import Blobs, Changed, Decorrelated, Files, Removed
from edna.records.speaksfor import SpeaksForBatch
from edna.value_owners import columns_of, is_by_value, their_columns

#: What the document says it is.
FORMAT = "edna-export-1"

#: By the label of a principal model, whose rows are theirs, as text.
_Mine = dict[str, set[str]]
#: By the label of a table, some of its columns.
_Columns = dict[str, set[str]]


def of(unlocked: Unlocked) -> dict[str, Any]:
    """The document (docs/export-1.schema.json)."""
    require_unlocked(unlocked, "An export")
    graph = unlocked.key_graph()
    mine: _Mine = {}
    bags: list[Bag] = []
    for _, segments in graph.follow(tuple(BagKind), start=unlocked.locators):
        for bag in (segment.bag for segment in segments):
            _note_mine(mine, bag)
            bags.append(bag)
    graph.require_own(unlocked.locators)
    bags.sort(key=lambda bag: bag.applied_at)
    placeholders = PlaceholderRows.spoken_for((batch.model, batch.rows) for batch in graph.voices)
    rows = [
        *_present(graph, mine, placeholders, using=unlocked.using),
        *(row for bag in bags for row in _sealed_rows(bag, mine, placeholders)),
    ]
    _leave_out_values_of_others(rows)
    return {
        "format": FORMAT,
        "made_at": clock.now().isoformat(),
        "rows": rows,
        "files": [file for bag in bags for file in _sealed_files(bag)],
        "blobs": [blob for bag in bags for blob in _sealed_blobs(bag)],
        "unopened": len(graph.refused) + len(graph.forged),
    }


def of_tables(unlocked: Unlocked, labels: Iterable[str]) -> dict[str, Any]:
    """The part of the document that stands in tables, for a browser that opens the bags itself; and what it has to know of the models
    ``labels``, which it has found in them, to write the rest as `of` does.

    Takes what says for whom the person speaks, and opens nothing else.
    """
    graph = unlocked.key_graph()
    mine: _Mine = {}
    for _, segments in graph.follow([BagKind.SPEAKS_FOR], start=unlocked.locators):
        for segment in segments:
            _note_mine(mine, segment.bag)
    graph.require_own(unlocked.locators)
    graph.require_handed()
    placeholders = PlaceholderRows.spoken_for((batch.model, batch.rows) for batch in graph.voices)
    rows = [*_present(graph, mine, placeholders, using=unlocked.using)]
    _leave_out_values_of_others(rows)
    compared = _compared()
    return {
        "format": FORMAT,
        "made_at": clock.now().isoformat(),
        "rows": rows,
        "principals": {label: sorted(references) for label, references in mine.items()},
        "models": {label: _about(label, *compared) for label in set(labels)},
    }


def _about(label: str, values: _Columns, naming: _Columns) -> dict[str, Any]:
    """Of a model's columns: which name principals, and of which model, "" for one that cannot be compared; which are left out; which hold
    truth, or documents, that a driver gives as something else; which are compared with values of principals, or are such values; and by
    which column a row names the pseudoprincipal as whose placeholder it is left out, of which model, and whether a negative key says so."""
    try:
        model: type[Model] = apps.get_model(label)
    except (LookupError, ValueError):
        return {
            "people": {},
            "secret": [],
            "booleans": [],
            "documents": [],
            "values": [],
            "naming": [],
            "placeholders": [],
        }
    names = [column.name for column in table_of(model).fields]
    known = principal_columns().get(label, {})
    people = {name: known.get(name, "") for name in names if name in known or _refers_to_principals(label, name)}
    return {
        "people": people,
        "secret": [name for name in names if _is_password(label, name)],
        "booleans": [name for name in names if isinstance(_column(label, name), BooleanField)],
        "documents": [name for name in names if isinstance(_column(label, name), JSONField)],
        "values": sorted(values.get(label, ())),
        "naming": sorted(naming.get(label, ())),
        "placeholders": [
            [column, table_of(principals).label, by_key]
            for column, principals, by_key in placeholder_columns(label, registry.principal_models())
        ],
    }


def _note_mine(mine: _Mine, bag: Bag) -> None:
    if bag.principal is not None:
        mine.setdefault(bag.principal_model, set()).add(str(bag.principal))
    for batch in bag.batches:
        if isinstance(batch, SpeaksForBatch):
            model: type[Model] = apps.get_model(batch.model)
            mine.setdefault(batch.model, set()).update(reference_of(model, key) for key, *_ in batch.rows)


# What is in the tables


def _present(graph: KeyGraph, mine: _Mine, placeholders: PlaceholderRows, *, using: str) -> Iterator[dict[str, Any]]:
    """Without pseudoprincipals themselves, and their companions. Adds to ``mine`` who is there."""
    there: _Mine = {}
    me = {graph.own.entry.model: {str(graph.own.entry.reference)}} if graph.own.entry.attached else {}
    # By their entries: somebody else may have the key of an account that is gone.
    for entry in (holder.entry for holder in graph.holders.values() if holder.entry.attached):
        for known in (mine, there):
            known.setdefault(entry.model, set()).add(str(entry.reference))
    for model in sorted(_models(), key=lambda each: each._meta.label_lower):
        table = table_of(model)
        names = [column.name for column in table.fields]
        seen: set[Row] = set()
        for principals, whom, paths, where in _owners(model, me, there):
            # The person first, before the pseudoprincipals that are theirs.
            mine_first = sorted(whom, key=lambda each: (each not in me.get(principals._meta.label_lower, ()), each))
            keys = [key_of(principals, reference, using=using) for reference in mine_first]
            selection = Selection.compile(model, [*table.key_names, *names], owners=paths, where=where, using=using)
            found = selection.run(owners=keys, params={}, using=using, of_one=True) if selection else []
            found_keys = [row[: len(table.key_names)] for row in found]
            seen |= placeholders.among(table.label, [*table.key_names, *names], found, found_keys)
            for key, row in zip(found_keys, found, strict=True):
                if key not in seen:
                    seen.add(key)
                    yield _row(table.label, key, zip(names, row[len(key) :], strict=True), mine, state="present")


def _models() -> set[type[Model]]:
    """Of which the registered disguises say whose their rows are."""
    models = {table_of(step.model).model for cls in registry.disguises().values() for step in cls.steps()}
    return models | {table_of(model).model for model in registry.principal_models()}


def _owners(model: type[Model], me: _Mine, there: _Mine) -> Iterator[tuple[type[Model], set[str], list[str], Q | None]]:
    """Of each principal model, whose rows are meant, what leads to them, and from which rows it does."""
    for principals in registry.principal_models():
        label = table_of(principals).label
        owners: dict[tuple[bool, Q | None], list[str]] = {}
        for path, target, where in owners_of(model):
            if same_table(target, principals):
                owners.setdefault((path == "", where), []).append(path)
        for (is_own, where), paths in owners.items():
            if whom := (me if is_own else there).get(label):
                keys = [registry.owner_key(model, path or None, principal=principals) for path in paths]
                yield principals, whom, keys, where


def _leave_out_values_of_others(rows: list[dict[str, Any]]) -> None:
    """Columns that name their owner by value, where it is none of the person's values: they may name somebody else."""
    theirs, naming = _compared()
    known = {
        str(row["columns"][name]).strip().casefold()
        for row in rows
        for name in theirs.get(row["model"], ())
        if row["columns"].get(name) is not None
    }
    for row in rows:
        for name in naming.get(row["model"], ()):
            value = row["columns"].get(name)
            if value not in (None, "") and str(value).strip().casefold() not in known:
                del row["columns"][name]
                row["left_out"].append(name)


def _compared() -> tuple[_Columns, _Columns]:
    """By table, the columns of principals with which owners by value are compared, and those that are compared with them."""
    theirs: dict[str, set[str]] = {}
    naming: dict[str, set[str]] = {}
    for cls in registry.disguises().values():
        for step in cls.steps():
            for owner in (owner for owner in step.owners if is_by_value(owner)):
                try:
                    those = their_columns(owner, registry.principal_model_for(cls))
                    own = columns_of(step.model, owner) if those else ()
                except (SpecError, FieldDoesNotExist):
                    continue  # the checks speak about it
                for known, columns in ((theirs, those), (naming, own)):
                    for column in columns:
                        known.setdefault(table_of(column.model).label, set()).add(column.name)
    return theirs, naming


# What is sealed


def _sealed_rows(bag: Bag, mine: _Mine, placeholders: PlaceholderRows) -> Iterator[dict[str, Any]]:
    for batch in bag.batches:
        if not isinstance(batch, Removed | Changed):
            continue
        state = "removed" if isinstance(batch, Removed) else "changed"
        if isinstance(batch, Decorrelated):
            state = "disowned"
        keys = batch.primary_keys()
        left_out = placeholders.in_batch(batch, keys)
        for key, row in zip(keys, batch.rows, strict=True):
            if key in left_out:
                continue
            old = row if isinstance(batch, Removed) else batch.old(row)
            if bag.kind is BagKind.SHARED and isinstance(batch, Changed) and all(value is None for value in old):
                continue  # it says no more than that a disguise of somebody else lies over the row
            yield _row(batch.model, key, zip(batch.columns, old, strict=True), mine, state=state, bag=bag)


def _sealed_files(bag: Bag) -> Iterator[dict[str, Any]]:
    for batch in (batch for batch in bag.batches if isinstance(batch, Files)):
        for _, column, name, size, _ in batch.rows:
            yield {"model": batch.model, "column": column, "name": name, "bytes": size, **_when(bag)}


def _sealed_blobs(bag: Bag) -> Iterator[dict[str, Any]]:
    """What the application has sealed by itself; large ones in parts."""
    for batch in (batch for batch in bag.batches if isinstance(batch, Blobs)):
        for position, part, content in batch.rows:
            yield {"position": position, "part": part, "content": _json(content), **_when(bag)}


def _when(bag: Bag | None) -> dict[str, Any]:
    if bag is None:
        return {"disguise": None, "day": None}
    return {"disguise": bag.disguise or None, "day": bag.applied_at.date().isoformat()}


def _row(
    label: str,
    key: Iterable[Any],
    cells: Iterable[tuple[str, Any]],
    mine: _Mine,
    *,
    state: str,
    bag: Bag | None = None,
) -> dict[str, Any]:
    names = principal_columns().get(label, {})
    columns, left_out = {}, []
    for name, value in cells:
        if value is not None and (
            _names_another(label, names.get(name), name, value, mine) or _is_password(label, name)
        ):
            left_out.append(name)
        else:
            read = _read(label, name, value)
            # A document is JSON as it is, however deep.
            columns[name] = read if isinstance(read, dict | list) else _json(read)
    return {
        "model": label,
        "key": [_json(part) for part in key],
        "state": state,
        **_when(bag),
        "columns": columns,
        "left_out": left_out,
    }


def _names_another(label: str, principals: str | None, name: str, value: Any, mine: _Mine) -> bool:
    """Whether a column names somebody else; one that does not hold their primary key cannot be compared, and counts as that."""
    if principals is not None:
        return reference_of(apps.get_model(principals), value) not in mine.get(principals, ())
    return _refers_to_principals(label, name)


def _refers_to_principals(label: str, name: str) -> bool:
    column = _column(label, name)
    return isinstance(column, ForeignKey) and any(
        same_table(column.remote_field.model, model) for model in registry.principal_models()
    )


def _is_password(label: str, name: str) -> bool:
    """A hash is of no use to its owner, and of much to whoever finds the file."""
    return name == "password" and label in {table_of(model).label for model in registry.principal_models()}


def _read(label: str, name: str, value: Any) -> Any:
    """Drivers give truth as a number and JSON as text."""
    column = _column(label, json_keys.column(name))
    if isinstance(column, BooleanField) and isinstance(value, int):
        return bool(value)
    if isinstance(column, JSONField) and isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _column(label: str, name: str) -> Any:
    """None if there is no such model or column any more."""
    try:
        return apps.get_model(label)._meta.get_field(name)
    except (LookupError, ValueError, FieldDoesNotExist):
        return None


def _json(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case decimal.Decimal() | uuid.UUID() | datetime.timedelta():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return {"base64": base64.b64encode(bytes(value)).decode("ascii")}
        case dict():
            return {str(key): _json(each) for key, each in value.items()}
        case list() | tuple():
            return [_json(each) for each in value]
    return str(value)
