"""Checks of what points at removed rows: nothing may dangle, and no copy may stay behind unsaid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from django.apps import apps
from django.contrib.contenttypes.fields import GenericRelation
from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model, Q

from edna import coverage, personal
from edna.checks.settings import principal_models
from edna.checks.steps import expression, in_key, is_table, name_of, written_owner
from edna.checks.terms import grants
from edna.conditions import written as written_condition
from edna.coverage import Relation, same_table
from edna.spec import Disguise, Modify, Remove

_LOG_METHODS: Final = ("log_addition", "log_change", "log_deletions")
#: What an entry of the admin's history tells about a row that is gone.
_TELLING: Final = {"object_id", "object_repr"}


def check_relations(disguise: type[Disguise]) -> list[CheckMessage]:
    return [
        *_uncovered(disguise),
        *_emptied(disguise),
        *_enforced(disguise),
        *_keeps(disguise),
        *_generic(disguise),
        *_admin_history(disguise),
    ]


def _uncovered(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    obj = name_of(disguise)
    uncovered = coverage.uncovered_relations(disguise)
    for relation in uncovered:
        target = relation.target._meta.label
        if relation.changed_by_database:
            yield Error(
                f"Removes {target}, and the database follows by itself through {relation.label} (on_delete at "
                "database level): rows would be deleted or changed without a record, and no reveal could bring them "
                "back.",
                hint=f"Cover it: add {_cover(disguise, relation)}; or use models.CASCADE or SET_NULL instead of the "
                "database's.",
                obj=obj,
                id="edna.E203",
            )
        else:
            keep = "" if relation.is_enforced else f" If it may go on pointing at nothing: {_keep(relation)}."
            keep = _of_several(disguise, relation, uncovered) + keep
            yield Error(
                f"Removes {target}, but says nothing about {relation.label}, which points there: rows would point at "
                "nothing, so the disguise is refused when it is applied.",
                hint=f"Add {_cover(disguise, relation)}, or give the field on_delete=SET_NULL.{keep}",
                obj=obj,
                id="edna.E201",
            )


def _of_several(disguise: type[Disguise], relation: Relation, uncovered: Iterable[Relation]) -> str:
    """Where a row is of several people at once, a step for each would take it from those who stay."""
    names = [
        each.field.name
        for each in uncovered
        if each.model is relation.model and each.target is relation.target and not in_key(each.field)
    ]
    if len(names) < 2 or any(remove.owners for remove in coverage.removed_models(disguise)[relation.target]):
        return ""
    owners = ", ".join(f'"{name}"' for name in names)
    return (
        f" A row that is to stay until the last of its owners goes: Remove({expression(relation.model)}, owner=[{owners}]) "
        "instead of a step for each."
    )


def _emptied(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """Rows that lose their link to a removed row, and keep what else says whose they were."""
    principals = {principal._meta.concrete_model for principal in principal_models()}
    modifications = [step for step in disguise.steps() if isinstance(step, Modify) and step.where is None]
    for relation in coverage.emptied_relations(disguise):
        model, link = relation.model, relation.field.name
        concrete = model._meta.concrete_model
        if concrete in principals or relation.target._meta.concrete_model not in principals:
            continue  # rows of other people, who stay; or of something that is nobody
        # Those of another owner, and those with a condition, leave rows of this one out.
        replaced = {
            name for step in modifications if same_table(step.model, model) and link in step.owners for name in step.set
        }
        telling = [
            field
            for field in model._meta.concrete_fields
            if personal.says_who(field, link=link)
            and field.name not in replaced
            and not coverage.kept(disguise, model, field.name)
        ]
        if telling:
            names = ", ".join(field.name for field in telling)
            values = ", ".join(f'"{field.name}": {None if field.null else ""!r}' for field in telling)
            yield Warning(
                f"Removes {relation.target._meta.label}, and {relation.label} is emptied: the rows stay, and keep "
                f"{names}, which may say whose they were.",
                hint=f'Add Modify({expression(model)}, owner="{link}", set={{{values}}}), or a Remove if the rows are to go. If '
                "nothing there is about the person, silence this check.",
                obj=name_of(disguise),
                id="edna.W207",
            )


def _enforced(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    for relation in coverage.kept_but_constrained(disguise):
        if relation.changed_by_database:
            what = "the database follows by itself, deleting or changing rows without a record"
        else:
            what = "the database enforces it and refuses the removal"
        yield Error(
            f"Keeps {relation.label} pointing at removed rows of {relation.target._meta.label}, but {what}.",
            hint=f"Add {_cover(disguise, relation)} instead of Keep, or give the field db_constraint=False and "
            "on_delete=DO_NOTHING.",
            obj=name_of(disguise),
            id="edna.E203" if relation.changed_by_database else "edna.E202",
        )


def _keeps(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    removed = coverage.removed_models(disguise)
    for keep in disguise.kept():
        if not is_table(keep.model):
            continue
        try:
            field = keep.model._meta.get_field(keep.field)
        except FieldDoesNotExist:
            yield Error(
                f'Keep({keep.model.__name__}, "{keep.field}") names no field of {keep.model._meta.label}, so it covers '
                "nothing.",
                hint="Correct the name of the field.",
                obj=name_of(disguise),
                id="edna.E117",
            )
            continue
        target = field.related_model
        if isinstance(target, type) and not any(same_table(target, model) for model in removed):
            yield Warning(
                f'Keep({keep.model.__name__}, "{keep.field}") has no effect: the disguise removes nothing that the '
                "field points at.",
                hint="Leave it out, so that a later change of the disguise is checked.",
                obj=name_of(disguise),
                id="edna.W117",
            )


def _generic(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    for key, targets in coverage.uncovered_generic_keys(disguise):
        labels = ", ".join(target._meta.label for target in targets)
        yield Warning(
            f"{key.model._meta.label}.{key.name} can point at any row, so also at removed rows of {labels}; no "
            "constraint tells, and what points there would point at nothing and keep the removed row's primary key.",
            hint="If it never points there, or may go on pointing at nothing: "
            f'edna.Keep({key.model.__name__}, "{key.name}"). Otherwise give '
            f"{targets[0]._meta.label} a GenericRelation with a related_query_name and add "
            f'Remove({key.model.__name__}, owner="...") along it.',
            obj=name_of(disguise),
            id="edna.W205",
        )


def _admin_history(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """An admin log entry holds the primary key and the str() of the row it is about, as text."""
    if not apps.is_installed("django.contrib.admin"):
        return
    from django.contrib.admin import ModelAdmin
    from django.contrib.admin.models import LogEntry
    from django.contrib.admin.sites import all_sites

    if coverage.kept(disguise, LogEntry, "object_id"):
        return
    logged = {
        model._meta.label
        for site in all_sites
        for model, admin in site._registry.items()
        if any(same_table(model, removed) for removed in coverage.removed_models(disguise))
        and any(getattr(type(admin), name, None) is getattr(ModelAdmin, name) for name in _LOG_METHODS)
        and not _entries_covered(disguise, LogEntry, model)
    }
    if logged:
        yield Warning(
            f"The admin site writes a history about {', '.join(sorted(logged))}: entries about a removed row stay and "
            "hold its primary key and its name (str()) in the clear.",
            hint=f"Override {', '.join(_LOG_METHODS)} in its ModelAdmin so that they write nothing, and delete the old "
            "entries; or give the model a GenericRelation to LogEntry with a related_query_name, and add "
            'Remove(LogEntry, owner="...") along it; if the entries tell nothing: Keep(LogEntry, "object_id").',
            obj=name_of(disguise),
            id="edna.W206",
        )


def _entries_covered(disguise: type[Disguise], log_entry: type[Model], model: type[Model]) -> bool:
    """A ``GenericRelation`` of the logged model names the way to its entries, and a step takes them, or what they say, along it."""
    steps = [
        step
        for step in disguise.steps()
        if same_table(step.model, log_entry)
        and (isinstance(step, Remove) or (isinstance(step, Modify) and step.set.keys() >= _TELLING))
    ]
    removed = coverage.removed_models(disguise)[model._meta.concrete_model or model]
    names = [
        relation.related_query_name()
        for relation in model._meta.private_fields
        if isinstance(relation, GenericRelation)
        and relation.related_model is log_entry
        and (relation.content_type_field_name, relation.object_id_field_name) == ("content_type", "object_id")
    ]
    return any(
        all(any(coverage.takes_all(step, coverage.way_by(name, remove)) for step in steps) for remove in removed)
        for name in names
    )


def _cover(disguise: type[Disguise], relation: Relation) -> str:
    """The steps that would cover the relation, as they have to be written."""
    name, removes = expression(relation.model), coverage.removed_models(disguise)[relation.target]
    ways = [
        (coverage.ways_along(relation, remove) or [coverage.way_by(relation.field.name, remove)])[0]
        for remove in removes
    ]
    terms = ", returning=edna.NOTHING" if grants(relation.model) else ""
    steps = " and ".join(
        dict.fromkeys(
            f"Remove({name}{written_owner(sorted(way.owners))}{_condition(way.where)}{terms})" for way in ways
        )
    )
    if all(not remove.owners for remove in removes):
        field = relation.field.name
        steps += f' or Decorrelate({name}, owner="{field}")'
        if relation.field.null:
            steps += f' or Modify({name}, owner="{field}", set={{"{field}": None}})'
    return steps


def _condition(where: Q | None) -> str:
    return "" if where is None else f", where={written_condition(where)}"


def _keep(relation: Relation) -> str:
    return f'Keep({expression(relation.model)}, "{relation.field.name}")'
