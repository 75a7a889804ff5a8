"""Checks of steps against each other: which of one disguise can change the same column of the same row, and of which rows one disguise
takes the owner before another one looks for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from django.contrib.contenttypes.fields import GenericRel
from django.core.checks import CheckMessage, Error, Info, Warning
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db.models import Field, FileField, Model, Q

from edna import conf, coverage, decorrelated_rows, inner_door, json_keys, rows_of_others, value_owners
from edna.checks.steps import column_of, name_of, usable_steps, written, written_owner
from edna.coverage import same_table
from edna.errors import ConfigurationError, SpecError
from edna.spec import ALL_LEFT, ANY_LEFT, Decorrelate, Disguise, Modify, Remove, Transformation


def twice_changed(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """Two steps on one column: nobody ever sees what the first puts into a row that both match."""
    changes: dict[tuple[type[Model], str], list[Transformation]] = {}
    for step in usable_steps(disguise):
        names = [step.column] if isinstance(step, Decorrelate) else list(step.set) if isinstance(step, Modify) else []
        for name in names:
            if field := column_of(step.model, json_keys.column(name)):
                changes.setdefault((field.model, name), []).append(step)
    for model, name in changes:
        # What is around a key changes it, too.
        others = ((key, found) for (other, key), found in changes.items() if other is model)
        steps = list(dict.fromkeys(step for key, found in others if json_keys.covers(name, key) for step in found))
        if any(not _exclude_each_other(first, second) for first, second in combinations(steps, 2)):
            yield Warning(
                f"{len(steps)} steps change {model._meta.label}.{name}: in a row that more than one of them matches, only the "
                "value of the last one is ever visible.",
                hint="Make sure that their `where`s exclude each other, or merge the steps.",
                obj=name_of(disguise),
                id="edna.W114",
            )


def when_all_have_left(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """`when=edna.ALL_LEFT` where nothing could ever come of it."""
    for step in usable_steps(disguise):
        if isinstance(step, Decorrelate) or step.when in (None, ANY_LEFT):
            continue
        what, obj = f"{written(step)} with when={step.when!r}", name_of(disguise)
        columns = step.set if isinstance(step, Modify) else ()
        files = [name for name in columns if isinstance(column_of(step.model, name), FileField)]
        if step.when is not ALL_LEFT or len(step.owners) < 2 or files:
            yield Error(
                f"{what} is not understood: edna.ALL_LEFT is about a row of several owners and its columns"
                f"{', but for files' if files else ''}.",
                hint="List the owners: the columns are replaced when the last of them leaves. Without `when`, they go with the first.",
                obj=obj,
                id="edna.E125",
            )
            continue
        stays = [] if isinstance(step, Remove) else decorrelated_rows.names_left(disguise, step)
        if stays:
            yield Warning(
                f"{what}: this disguise leaves {' and '.join(stays)} in the row, so whoever is named there never seems to have "
                "left, and the others wait for them.",
                hint="Take the name out as well, with Decorrelate or by setting it to None; or leave out `when`, and it goes with the "
                "first owner.",
                obj=obj,
                id="edna.W125",
            )


def goes_with_the_first(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """Steps on one model with other owners: is the row, or a column, to go with any of them?"""
    steps = [step for step in usable_steps(disguise) if isinstance(step, Remove | Modify) and step.owners]
    for first, second in combinations(steps, 2):
        if not same_table(first.model, second.model) or {*first.owners} == {*second.owners}:
            continue
        if first.when is not None or second.when is not None or _exclude_each_other(first, second):
            continue
        owners = written_owner([*dict.fromkeys((*first.owners, *second.owners))]).removeprefix(", ")
        if isinstance(first, Remove) and isinstance(second, Remove):
            if _is_asked_for(disguise, first) and _is_asked_for(disguise, second):
                continue
            what, step = "a row", f"Remove({first.model.__name__}, {owners})"
        elif isinstance(first, Modify) and isinstance(second, Modify):
            names = first.set.keys() & second.set.keys() - {*first.owners, *second.owners}
            if not names:
                continue
            what = ", ".join(sorted(names))
            step = f"Modify({first.model.__name__}, {owners}, set=..., when=edna.ALL_LEFT)"
        else:
            continue
        yield Info(
            f"{written(first)} and {written(second)}: {what} goes with whoever leaves first, and comes back with the last of them.",
            hint=f"If that is meant, say when=edna.ANY_LEFT in one of them. If it is to go when all have left, write one step: {step}.",
            obj=name_of(disguise),
            id="edna.W126",
        )


def done_at_once_alone(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """Conditions about rows that the disguise changes for others: asked again in a later part, they find something else."""
    for reading in rows_of_others.readings(disguise):
        yield Warning(
            f"For everybody it is for one transaction: {reading} for others. After the first part of several, whoever comes later "
            "would not be found any more, and their texts and names would stay; so `atomic=False` and jobs for everybody are refused.",
            hint="Let the condition, or the groups, be about columns that the disguise leaves as they are. Where it is never for very "
            "many, silence this.",
            obj=name_of(disguise),
            id="edna.W133",
        )


def never_cut(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """Conditions about what a step has changed or removed before the last of several chunks asks them again: there is one chunk."""
    try:
        if (disguise.locators or conf.locator_mode()) != "server":
            return  # it is never cut there
    except ConfigurationError:
        return  # `edna.E002` speaks about it
    for reading in inner_door.what_chunks_change(disguise):
        yield Warning(
            f"It is never cut into chunks: {reading} before the last chunk, which asks all conditions again and would mean other rows. "
            "Whoever has very many rows is disguised in one transaction, which holds all of them in memory, and their locks.",
            hint="Let the condition be about columns that no other step sets, and about rows that none removes; or put into the row "
            "itself what it asks. Where nobody has very many rows, silence this.",
            obj=name_of(disguise),
            id="edna.W134",
        )


def _is_asked_for(disguise: type[Disguise], step: Transformation) -> bool:
    """Whether something would point at nothing without it."""
    others = [each for each in disguise.transformations if each is not step]
    without = type(disguise.__name__, (disguise,), {"transformations": others})
    return bool(coverage.uncovered_relations(without))


def given_away_before(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """Rows that another disguise gives to pseudoprincipals: without the person's key, this one leaves them where they are."""
    # Whoever disguises others has no key to ask for; the plan says it.
    if disguise.asks_for_key is not None or disguise.applies_to != "self":
        return
    given = decorrelated_rows.by_others(disguise)
    if given:
        tables = ", ".join(model._meta.label for model in given)
        names = " and ".join(sorted({name for names in given.values() for name in names}))
        yield Warning(
            f"It is to take rows of {tables}, of which {names} may have given some to pseudoprincipals before: applied without the "
            "person's key, it does not find these, and they stay as they are.",
            hint="Say asks_for_key = True: edna's pages ask for the key then. A view of yours opens it as well: edna.disguise(..., "
            "unlocked=edna.unlock(...)). Or say asks_for_key = False if they may stay.",
            obj=name_of(disguise),
            id="edna.W124",
        )


def _exclude_each_other(first: Transformation, second: Transformation) -> bool:
    """Whether no row can match both, as far as plain conditions tell. What cannot be told counts as possible."""
    one, other = _certain(first), _certain(second)
    about, also = _is_about(first), _is_about(second)
    if about is not None and also is not None and about[0] == also[0] and not same_table(about[1], also[1]):
        return True  # what such a key points at is one row, of one table
    return any(other[fact] != value for fact, value in one.items() if fact in other)


def _is_about(step: Transformation) -> tuple[tuple[str, str], type[Model]] | None:
    """The two columns of a generic key, and the table of what it points at in every row of the step; None if none is in its owner."""
    if len(step.owners) != 1:
        return None
    (owner,) = step.owners
    try:
        if value_owners.is_by_value(owner):
            path, match = value_owners.parsed(owner)
            if path or not isinstance(match, value_owners.About):
                return None
            return value_owners.generic_columns(step.model, match), value_owners.principal_of(owner, ())
        reverse = step.model._meta.get_field(owner.partition("__")[0])
    except (FieldDoesNotExist, SpecError):
        return None  # `edna.E106` speaks about it
    if not isinstance(reverse, GenericRel):
        return None
    relation = reverse.field
    return (relation.content_type_field_name, relation.object_id_field_name), relation.model


def _certain(step: Transformation) -> dict[tuple[Field[Any, Any], str], Any]:
    """What every row of a step has: for columns of its own table, whether they are NULL, and which number or truth value is in them.

    Only from conditions that all have to hold. Text is left out: the database decides which texts are equal.
    """
    facts: dict[tuple[Field[Any, Any], str], Any] = {}
    owners = {owner.partition("__")[0] for owner in step.owners}
    if len(owners) == 1 and (field := _own_column(step.model, *owners)):
        facts[field, "null"] = False
    for path, value in _required(step.where):
        name, _, lookup = path.partition("__")
        field = _own_column(step.model, name)
        if field is None:
            continue
        if lookup == "isnull" and isinstance(value, bool):
            facts.setdefault((field, "null"), value)
        elif lookup in ("", "exact") and (value is None or isinstance(value, (bool, int))):
            facts.setdefault((field, "null"), value is None)
            try:
                facts.setdefault((field, "value"), field.to_python(value))
            except ValidationError:
                continue
    return facts


def _required(where: Any) -> Iterator[tuple[str, Any]]:
    """The conditions of a `where` of which none may fail."""
    if isinstance(where, Q) and not where.negated and (where.connector == Q.AND or len(where.children) == 1):
        for child in where.children:
            if isinstance(child, tuple):
                yield child
            else:
                yield from _required(child)


def _own_column(model: type[Model], name: str) -> Field[Any, Any] | None:
    """A column of the model, by the name of the field or, for a foreign key, with ``_id``: no relation to many rows."""
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return None
    return field if isinstance(field, Field) and field.concrete and not field.many_to_many else None
