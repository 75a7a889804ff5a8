"""Checks of what points at removed rows: nothing may dangle, and no copy may stay behind unsaid.

A little long: keys, generic keys, the admin's history and tables of copies are one question, and share how a hint names the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.apps import apps
from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model

from edna import coverage, histories, json_keys, personal_columns, registry, remedies
from edna.checks.settings import principal_models
from edna.checks.steps import is_table, name_of, written
from edna.checks.trees import check_trees
from edna.coverage import Relation, same_table
from edna.errors import SpecError
from edna.naming import import_of_namesake, is_of_others, written_model, written_step
from edna.remedies import Gap, is_of_principals
from edna.spec import ANY_LEFT, Decorrelate, Disguise, Keep, Modify, Remove, Transformation
from edna.value_owners import about, columns_of, is_by_value, is_text

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
        *_notes(disguise),
        *check_trees(disguise),
        *_copies(disguise),
        *_who_changed(disguise),
    ]


def _uncovered(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    obj = name_of(disguise)
    for gap in remedies.gaps(disguise, principals=principal_models()):
        relation = gap.relation
        if not any(map(_leads_to_people, gap.removes)):
            continue  # `edna.E106` speaks about it; a hint would repeat what is wrong
        target = relation.target._meta.label + (" by the step of another hint" if gap.depth else "")
        if relation.changed_by_database:
            yield Error(
                f"Removes {target}, and the database follows by itself through {relation.label} (on_delete at "
                "database level): rows would be deleted or changed without a record, and no reveal could bring them "
                "back.",
                hint=_cover(
                    gap, otherwise=_unless_of_others(gap, "use models.CASCADE or SET_NULL instead of the database's")
                ),
                obj=obj,
                id="edna.E203",
            )
        else:
            keep = "" if relation.is_enforced else f" If it may go on pointing at nothing: {_keep(relation)}."
            yield Error(
                f"Removes {target}, but says nothing about {relation.label}, which points there: rows would point at "
                "nothing, so the disguise is refused when it is applied.",
                hint=_cover(gap, otherwise=_unless_of_others(gap, "give the field on_delete=SET_NULL")) + keep,
                obj=obj,
                id="edna.E201",
            )


def _emptied(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """Rows that lose their link to a removed row, and keep what else says whose they were."""
    principals = {principal._meta.concrete_model for principal in principal_models()}
    modifications = [step for step in disguise.steps() if isinstance(step, Modify) and step.where is None]
    for relation in coverage.emptied_relations(disguise):
        model, link = relation.model, relation.field.name
        if histories.original(model) is not None and link == histories.CHANGED_BY:
            continue  # whoever changed a row, not whom it is about
        if is_of_principals(model, principal_models()) or relation.target._meta.concrete_model not in principals:
            continue  # rows of other people, who stay; or of something that is nobody
        # Those of another owner, and those with a condition, leave rows of this one out.
        replaced = {
            name for step in modifications if same_table(step.model, model) and link in step.owners for name in step.set
        }
        telling = [
            field
            for field in model._meta.concrete_fields
            if personal_columns.says_who(field, link=link)
            and field.name not in replaced
            and not coverage.kept(disguise, model, field.name)
        ]
        if telling:
            names = ", ".join(field.name for field in telling)
            step = Modify(model, link, set={field.name: None if field.null else "" for field in telling})
            yield Warning(
                f"Removes {relation.target._meta.label}, and {relation.label} is emptied: the rows stay, and keep "
                f"{names}, which may say whose they were.",
                hint=f"Add {written_step(step)}, or a Remove if the rows are to go. Of a column that is not about the person: "
                f"{written_step(Keep(model, telling[0].name, why='...'))}.",
                obj=name_of(disguise),
                id="edna.W207",
            )


def _enforced(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    for relation in coverage.kept_but_constrained(disguise):
        if relation.changed_by_database:
            what = "the database follows by itself, deleting or changing rows without a record"
        else:
            what = "the database enforces it and refuses the removal"
        gap = remedies.gap_of(disguise, relation, principals=principal_models())
        otherwise = _unless_of_others(gap, "give the field db_constraint=False and on_delete=DO_NOTHING")
        yield Error(
            f"Keeps {relation.label} pointing at removed rows of {relation.target._meta.label}, but {what}.",
            hint=(
                "Leave Keep out, and the reference is set as on_delete says. Or, i"
                if relation.is_set_by_django
                else "I"
            )
            + f"nstead of Keep: {_cover(gap, otherwise=otherwise)}",
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
        # With a reason, it is for the report: who the row names may be nobody's business.
        if not keep.why and isinstance(target, type) and not any(same_table(target, model) for model in removed):
            yield Warning(
                f'Keep({keep.model.__name__}, "{keep.field}") has no effect: the disguise removes nothing that the '
                "field points at.",
                hint="Leave it out, so that a later change of the disguise is checked; or say why it stays, for the report: "
                f'Keep({keep.model.__name__}, "{keep.field}", why="...").',
                obj=name_of(disguise),
                id="edna.W117",
            )


def _generic(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    for key, targets in coverage.uncovered_generic_keys(disguise):
        labels = ", ".join(target._meta.label for target in targets)
        people = [target for target in targets if is_of_principals(target, principal_models())]
        several = len([each for each in key.model._meta.private_fields if isinstance(each, GenericForeignKey)]) > 1
        steps = [Remove(key.model, about(each, by=key.name if several else "")) for each in people]
        ways = [f"for what is about people, add {' and '.join(map(written_step, steps))}"] if steps else []
        if others := ", ".join(target._meta.label for target in targets if target not in people):
            ways.append(
                f"give {others} a GenericRelation with a related_query_name (to a model of others, by contribute_to_class) and add "
                f'Remove({written_model(key.model)}, owner="...") along each'
            )
        yield Warning(
            f"{key.model._meta.label}.{key.name} can point at any row, so also at removed rows of {labels}; no "
            "constraint tells, and what points there would point at nothing and keep the removed row's primary key.",
            hint="If it never points there, or may go on pointing at nothing: "
            f"edna.{written_step(Keep(key.model, key.name))}. Otherwise {'; '.join(ways)}.",
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
        model._meta.label: model
        for site in all_sites
        for model, admin in site._registry.items()
        if _writes_history(admin, ModelAdmin)
        and (_is_removed(disguise, model) or _renames(disguise, model))
        and not entries_covered(disguise, LogEntry, model)
    }
    if logged:
        gone = sorted(label for label, model in logged.items() if _is_removed(disguise, model))
        renamed = sorted(logged.keys() - gone)
        told = (
            [f"entries about a removed row of {', '.join(gone)} stay and hold its primary key and its name (str())"]
            if gone
            else []
        )
        told += [f"those about a modified row of {', '.join(renamed)} may hold its former name"] if renamed else []
        people = [model for model in logged.values() if is_of_principals(model, principal_models())]
        beside = any(step.owners for step in disguise.removals() if same_table(step.model, LogEntry))
        steps = " and ".join(written_step(_about(LogEntry, model, disguise, beside=beside)) for model in people)
        otherwise = f"Add {steps}. Of others, override" if steps else "Override"
        yield Warning(
            f"The admin site writes a history about {', '.join(sorted(logged))}: {'; '.join(told)}, in the clear.",
            hint=f"{otherwise} {', '.join(_LOG_METHODS)} in the ModelAdmin of each so that they write nothing (of a "
            "package's: unregister it, and register your own that extends it; where it imports, skip_admin_log = True), and delete "
            "the old entries; or give the model a GenericRelation to LogEntry with a related_query_name, and add "
            'Remove(LogEntry, owner="...") along it; if the entries tell nothing: Keep(LogEntry, "object_id").',
            obj=name_of(disguise),
            id="edna.W206",
        )


def _notes(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """What a package notes about any row, it notes about accounts: with their names, before and after each change."""
    people = [each for each in principal_models() if _is_removed(disguise, each) or _renames(disguise, each)]
    for log, columns in histories.notes_about_any_row():
        told = [
            each for each in people if not same_table(each, log) and not notes_covered(disguise, log, each, columns)
        ]
        if not told or any(coverage.kept(disguise, log, name) for name in columns):
            continue
        beside = any(step.owners for step in disguise.removals() if same_table(step.model, log))
        steps = [Remove(log, histories.noted_about(each, columns), when=ANY_LEFT if beside else None) for each in told]
        keep = Keep(log, columns[1], why="...")
        yield Warning(
            f"{log._meta.label} says by content type and number what each of its rows is about. What it has noted about "
            f"{', '.join(each._meta.label for each in told)} stays, with names and former values, in the clear.",
            hint=f"Add {' and '.join(map(written_step, steps))}. What it notes about other rows that go or change: let it leave these "
            f"models out, or add steps with edna.by_value. If nothing of it tells anything: edna.{written_step(keep)}.",
            obj=name_of(disguise),
            id="edna.W211",
        )


def notes_covered(disguise: type[Disguise], log: type[Model], principal: type[Model], columns: tuple[str, str]) -> bool:
    """Whether a step takes what is noted about the account, or changes it."""
    steps = [each for each in disguise.steps() if same_table(each.model, log) and isinstance(each, Remove | Modify)]
    return coverage.takes_all_about(steps, (), principal, columns=columns)


def _is_removed(disguise: type[Disguise], model: type[Model]) -> bool:
    return any(same_table(model, removed) for removed in coverage.removed_models(disguise))


def _renames(disguise: type[Disguise], model: type[Model]) -> bool:
    """Whether a step replaces a text by which a row may be called, in its str(): nobody but Python can tell."""
    for step in disguise.steps():
        if isinstance(step, Modify) and same_table(step.model, model):
            columns = [each for each in model._meta.concrete_fields if each.name in step.set]
            if any(is_text(column) and not column.choices for column in columns):
                return True
    return False


def _about(log_entry: type[Model], model: type[Model], disguise: type[Disguise], *, beside: bool) -> Transformation:
    """What is done to the entries about an account: they go with it; where it stays, they lose its name."""
    if not _is_removed(disguise, model):
        return Modify(log_entry, about(model), set={"object_repr": ""})
    return Remove(log_entry, about(model), when=ANY_LEFT if beside else None)


def _copies(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """Rows whose copies in a table of histories keep what the step takes away."""
    for step in disguise.steps():
        for copies in histories.copies_of(step.model) if is_table(step.model) else ():
            there = [each for each in disguise.steps() if same_table(each.model, copies)]
            there = [each for each in there if {*each.owners} != {histories.CHANGED_BY}]
            if any(keep.model is copies for keep in disguise.kept()) or _done_to_copies(step, copies, there):
                continue
            same = histories.same_for(copies, step)
            if same is not None:
                hint = f"Add {written_step(same)}"
            else:
                hint = (
                    'Give the history a column that leads back, HistoricalRecords(related_name="..."), and add '
                    f'Remove({written_model(copies)}, owner="history_relation")'
                )
            yield Warning(
                f"{copies._meta.label} has copies of rows of {step.model._meta.label}, and keeps there what "
                f"{written(step)} takes away.",
                hint=f'{hint}. If they may stay: edna.Keep({written_model(copies)}, "history_id", why="...").',
                obj=name_of(disguise),
                id="edna.W209",
            )


def _who_changed(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """Copies that lose an owner, and go on saying who made the change: mostly the same person."""
    name = histories.CHANGED_BY
    first = {step.model: step for step in reversed(disguise.steps()) if isinstance(step, Decorrelate)}
    for step in reversed(first.values()):
        if not is_table(step.model) or histories.original(step.model) is None:
            continue
        beside = [each for each in disguise.steps() if same_table(each.model, step.model)]
        if (
            any(name in (*each.owners, *getattr(each, "set", ())) for each in beside)
            or not any(field.name == name and _leads_to_a_person(field) for field in step.model._meta.concrete_fields)
            or coverage.kept(disguise, step.model, name)
            or _goes(disguise)
        ):
            continue
        emptied, keep = Modify(step.model, name, set={name: None}), Keep(step.model, name, why="...")
        yield Warning(
            f"{written(step)} takes a name off copies, and the account stays: {step.model._meta.label}.{name} goes on "
            "saying who made each change, and who wrote the first one.",
            hint=f"Add {written_step(emptied)}. If it may stay: {written_step(keep)}.",
            obj=name_of(disguise),
            id="edna.W210",
        )


def _leads_to_a_person(field: Any) -> bool:
    return personal_columns.looks(field) is personal_columns.Looks.PERSON


def _goes(disguise: type[Disguise]) -> bool:
    """Whether the account goes, and references to it are emptied."""
    try:
        return registry.removes_account(disguise)
    except SpecError:
        return True  # another check says what is wrong


def _done_to_copies(step: Transformation, copies: type[Model], there: list[Transformation]) -> bool:
    """Whether the steps on the table of copies do what this step does to the rows."""
    if any(isinstance(each, Remove) for each in there):
        return True
    if isinstance(step, Modify):
        columns = {field.name for field in copies._meta.concrete_fields}
        names = {name for name in step.set if json_keys.column(name) in columns}
        done = {name for each in there if isinstance(each, Modify) for name in each.set}
        return all(any(json_keys.covers(each, name) for each in done) for name in names)
    return isinstance(step, Decorrelate) and any({*step.owners} <= {*each.owners} for each in there)


def _writes_history(admin: Any, plain: type) -> bool:
    """By Django's methods, or past them, as the imports of django-import-export do."""
    skips_imports = getattr(admin, "get_skip_admin_log", lambda: True)
    return not skips_imports() or any(getattr(type(admin), name, None) is getattr(plain, name) for name in _LOG_METHODS)


def entries_covered(disguise: type[Disguise], log_entry: type[Model], model: type[Model]) -> bool:
    """Whether a step takes the entries about rows that go or change, or what they say: by what they are about, or along a
    ``GenericRelation``."""
    target = model._meta.concrete_model or model
    # Of a row that stays, the number may be known.
    telling = _TELLING if _is_removed(disguise, target) else {"object_repr"}
    steps = [
        step
        for step in disguise.steps()
        if same_table(step.model, log_entry)
        and (isinstance(step, Remove) or (isinstance(step, Modify) and step.set.keys() >= telling))
    ]
    touched: Sequence[Remove | Modify] = coverage.removed_models(disguise).get(target, ())
    touched = touched or [
        step for step in disguise.steps() if isinstance(step, Modify) and same_table(step.model, target)
    ]
    if coverage.takes_all_about(steps, touched, target, columns=("content_type", "object_id")):
        return True
    names = [
        relation.related_query_name()
        for relation in model._meta.private_fields
        if isinstance(relation, GenericRelation)
        and relation.related_model is log_entry
        and (relation.content_type_field_name, relation.object_id_field_name) == ("content_type", "object_id")
    ]
    return any(
        all(any(coverage.takes_all(step, coverage.way_by(name, each)) for step in steps) for each in touched)
        for name in names
    )


def _leads_to_people(remove: Remove) -> bool:
    """Whether each owner of a step is one."""
    try:
        for owner in remove.owners:
            if is_by_value(owner):
                columns_of(remove.model, owner)
            else:
                registry.owner_target(remove.model, owner)
    except (SpecError, FieldDoesNotExist):
        return False
    return True


def _cover(gap: Gap, *, otherwise: str) -> str:
    """The steps that would cover the relation, as they have to be written, and what can be done instead."""
    relation, steps = gap.relation, [written_step(step) for step in gap.steps]
    if not steps:
        text = f"No owner path reaches all of these rows: Decorrelate {written_model(relation.target)} instead of removing it"
        return _with_imports(f"{text}{otherwise}.", relation)
    text = f"Add {' and '.join(steps)}"
    if not _nested(gap):
        if len(gap.steps[0].owners if isinstance(gap.steps[0], Remove) else ()) > 1:
            text += " instead of a step for each, so that a row stays until the last of its owners goes,"
        direct: list[Transformation] = [Decorrelate(relation.model, relation.field.name)]
        if relation.field.null and not coverage.in_key(relation.field):
            direct.append(Modify(relation.model, relation.field.name, set={relation.field.name: None}))
        text += "".join(f" or {other}" for other in map(written_step, direct) if other not in steps)
    elif others := list(map(written_step, remedies.instead(gap, principals=principal_models()))):
        stay = any(isinstance(step, Remove) for step in gap.steps)
        text += f", or, if the rows are to {'stay' if stay else 'go'}, {' and '.join(others)}"
    if any(isinstance(step, Modify) for step in gap.steps) and coverage.same_table(relation.model, relation.target):
        text += f" (what is below a removed row moves to the top), or Decorrelate {written_model(relation.model)} instead of removing it"
    return _with_imports(f"{text}{otherwise}.", relation)


def _nested(gap: Gap) -> bool:
    """It points at rows that go because of what they point at themselves."""
    return any(remove.owners for remove in gap.removes)


def _unless_of_others(gap: Gap, what: str) -> str:
    """A remedy in the model's own code, where that is the project's."""
    return "" if is_of_others(gap.relation.model) else f", or {what}"


def _with_imports(text: str, relation: Relation) -> str:
    """Where two models have one name, whose is meant."""
    lines = [import_of_namesake(model) for model in (relation.model, relation.target) if written_model(model) in text]
    return text + "".join(f" (Here, {line}.)" for line in dict.fromkeys(lines) if line)


def _keep(relation: Relation) -> str:
    return written_step(Keep(relation.model, relation.field.name))
