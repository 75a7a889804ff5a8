"""Which steps a first disguise has: what deleting the account would do, made so that it can be revealed.

Each table follows the ``on_delete`` of its model as far as that can be undone; where it cannot, its rows stay and lose their owner's name.
Invariant: nothing points at removed rows, as far as steps can reach. Reads model definitions; registers and writes nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.db.models import DO_NOTHING, RESTRICT, ForeignKey, Model

from edna import coverage, histories, personal_columns, trees
from edna.checks.relations import entries_covered, notes_covered
from edna.checks.terms import cannot_stay_away, rights_of, without
from edna.coverage import Relation, in_key, same_table, tables_of_object
from edna.json_keys import BETWEEN
from edna.naming import hidden_in
from edna.remedies import MOST_STEPS, Models, Step, following, is_of_principals, merged
from edna.scaffold.columns import emptying
from edna.scaffold.kinds import NEVER_BACK, Kind, goes_along, is_left_alone, kind_of
from edna.spec import ANY_LEFT, AS_IT_WAS, NOTHING, Decorrelate, Disguise, Keep, Modify, Remove, When
from edna.value_owners import about, is_by_value


@dataclass(slots=True)
class Draft:
    """The steps of one disguise, and what they do not say by themselves."""

    principal: type[Model]
    principals: Models
    name: str
    steps: list[Step] = field(default_factory=list)
    #: Tables that could not go with their owner, and the relation that stands in the way.
    obstacles: dict[type[Model], Relation] = field(default_factory=dict)
    #: Relations whose model says what becomes of them: nothing has to be written.
    emptied: list[Relation] = field(default_factory=list)

    def as_disguise(self, *more: Step) -> type[Disguise]:
        """As it would be registered."""
        attributes = {"name": self.name, "transformations": [*self.steps, *more], "__doc__": "A draft."}
        return type("Draft", (Disguise,), attributes)


def draft(principal: type[Model], *, principals: Models, name: str, applications: Collection[str] = ()) -> Draft:
    """All that leads to a principal. With ``applications``, what their tables have, and the account stays."""
    result = Draft(principal, principals, name)
    account = Remove(principal, returning={each.name: without(each) for each in rights_of(principal)} or None)
    relations: dict[type[Model], list[Relation]] = {}
    for table in tables_of_object(principal._meta.concrete_model or principal):
        for relation in coverage.relations_to(table):
            if not relation.is_parent_link and (not applications or relation.model._meta.app_label in applications):
                relations.setdefault(relation.model, []).append(relation)
    # What becomes of copies depends on what becomes of the rows.
    for model, direct in sorted(relations.items(), key=lambda each: histories.original(each[0]) is not None):
        result.steps += _owned(result, model, direct, account_stays=bool(applications))
    if not applications:
        result.steps += _beside_the_account(principal)
        result.steps.append(account)
    _follow(result)
    result.steps += _told_of_the_account(result)
    result.steps += _said_of_those_who_left(result)
    _name_copies_alike(result)
    _end_rights(result)
    # What the account refers to is no question of the account, which goes.
    result.emptied = [
        each
        for each in coverage.set_null_relations(result.as_disguise())
        if is_of_principals(each.target, principals) or not is_of_principals(each.model, principals)
    ]
    return result


def _owned(draft: Draft, model: type[Model], relations: list[Relation], *, account_stays: bool) -> Iterator[Step]:
    """The steps for a table that refers to the principal itself."""
    kind = kind_of(model, principals=draft.principals)
    going = [each for each in relations if goes_along(each) or (kind is Kind.LOG and is_left_alone(each))]
    staying = [each for each in relations if each not in going and not each.is_set_by_django]
    for relation in [each for each in going if _stays_in(draft, histories.original(model), each.field.name)]:
        going.remove(relation)
        staying.append(relation)
    if is_of_principals(model, draft.principals):
        # Other people's accounts: they lose the reference alone.
        going, staying = [], [*going, *staying]
        for relation in [each for each in staying if each.field.null and not in_key(each.field)]:
            staying.remove(relation)
            yield Modify(model, relation.field.name, set={relation.field.name: None})
    elif going and trees.places(model) and not trees.is_linked(model):
        going, staying = [], [*going, *staying]
    elif going and (obstacle := _obstacle(draft, model)):
        draft.obstacles[model] = obstacle
        going, staying = [], [*going, *staying]
    if account_stays:
        for relation in [each for each in relations if each.is_set_by_django]:
            if relation.field.null:
                yield Modify(model, relation.field.name, set={relation.field.name: None})
            else:
                staying.append(relation)
    # A row stays for the last of several owners, unless they are its key.
    apart = [each for each in going if in_key(each.field)] if len(going) > 1 else []
    if together := [each.field.name for each in going if each not in apart]:
        yield Remove(model, _one_or_several(together))
    for relation in apart:
        yield Remove(model, relation.field.name)
    if staying:
        yield Decorrelate(model, _one_or_several([each.field.name for each in staying]))


def _beside_the_account(principal: type[Model]) -> Iterator[Remove]:
    """Rows to which the account refers, one to one, and nothing else does: settings. Django would leave them, nobody's."""
    targets = dict.fromkeys(each.related_model for each in principal._meta.local_fields)
    for target in [each for each in targets if isinstance(each, type)]:
        keys = personal_columns.keys_of_accounts(target)
        names = [each.related_query_name() for each in keys if each.model is principal and not each.remote_field.hidden]
        others = [
            each
            for table in (tables_of_object(target) if keys else ())
            for each in coverage.relations_to(table)
            if each.field not in keys and not each.is_parent_link and hidden_in(each.model)[0] is not target
        ]
        if len(names) == len(keys) == 1 and not others:
            yield Remove(target, names[0])


def _stays_in(draft: Draft, original: type[Model] | None, owner: str) -> bool:
    """Whether the rows of which a table has copies stay, and lose their owner's name: so the copies do."""
    return any(
        isinstance(step, Decorrelate) and step.model is original and owner in step.owners for step in draft.steps
    )


def _name_copies_alike(draft: Draft) -> None:
    """A row and its copies belong to one pseudoprincipal."""
    for place, step in enumerate(draft.steps):
        original = histories.original(step.model)
        if not isinstance(step, Decorrelate) or original is None:
            continue
        for other, row in enumerate(draft.steps):
            if isinstance(row, Decorrelate) and row.model is original and row.owners == step.owners:
                together = original._meta.model_name
                draft.steps[other] = dataclasses.replace(row, group_by=["pk"], together=together)
                draft.steps[place] = dataclasses.replace(step, group_by=[original._meta.pk.name], together=together)


def _obstacle(draft: Draft, model: type[Model], above: tuple[type[Model], ...] = ()) -> Relation | None:
    """The relation that keeps rows of ``model`` from going with their owner; None if nothing does."""
    family = tables_of_object(model._meta.concrete_model or model)
    for relation in [each for table in family for each in coverage.relations_to(table)]:
        if relation.is_parent_link or relation.is_set_by_django or is_left_alone(relation):
            continue
        may_be_null = relation.field.null and not in_key(relation.field)
        if relation.model in family:
            # A tree. Inside of what goes, what is left below can move up; of everybody's rows, it is others' text.
            if not (above and may_be_null):
                return relation
        elif is_of_principals(relation.model, draft.principals):
            if not may_be_null:
                return relation
        elif any(relation.model in tables_of_object(table) for table in above):
            if not may_be_null and relation.model is not above[-1]:
                return relation
        elif not goes_along(relation) and not _goes_anyway(draft, relation, (*above, model)):
            return relation
        elif (further := _obstacle(draft, relation.model, (*above, model))) is not None:
            return further
    return None


def _goes_anyway(draft: Draft, relation: Relation, above: tuple[type[Model], ...]) -> bool:
    """``RESTRICT`` gives way where the row goes by another of its references, as in Django; ``DO_NOTHING`` stops nothing."""
    if relation.on_delete is not RESTRICT:
        return relation.on_delete is DO_NOTHING
    others = [
        Relation(relation.model, each, each.related_model)
        for each in relation.model._meta.concrete_fields
        if isinstance(each, ForeignKey) and each is not relation.field and isinstance(each.related_model, type)
    ]
    return any(goes_along(each) and each.target in (*above, draft.principal) for each in others)


def _follow(draft: Draft) -> None:
    """Whatever refers to what the steps remove, until nothing more does."""
    while len(draft.steps) < MOST_STEPS:
        disguise = draft.as_disguise()
        new: list[Step] = []
        for relation in coverage.uncovered_relations(disguise):
            steps = following(disguise, relation, principals=draft.principals)
            if is_left_alone(relation) and kind_of(relation.model, principals=draft.principals) is not Kind.LOG:
                steps = [Keep(relation.model, relation.field.name)]
            new += steps
        new = new or list(_generic(draft, disguise))
        if not new:
            return
        draft.steps = merged([*draft.steps, *new])


def _generic(draft: Draft, disguise: type[Disguise]) -> Iterator[Step]:
    """Keys that may point at any row: along a relation that leads back, or kept for review."""
    for key, targets in coverage.uncovered_generic_keys(disguise):
        found: list[Remove] = []
        reached = True
        for target in targets:
            names = [
                relation.related_query_name()
                for relation in target._meta.private_fields
                if isinstance(relation, GenericRelation)
                and relation.related_model is key.model
                and (relation.content_type_field_name, relation.object_id_field_name) == (key.ct_field, key.fk_field)
                and not relation.remote_field.hidden
            ]
            for remove in coverage.removed_models(disguise)[target]:
                if same_table(remove.model, draft.principal) and same_table(target, draft.principal):
                    several = sum(isinstance(each, GenericForeignKey) for each in key.model._meta.private_fields) > 1
                    owner = about(target, by=key.name if several else "")
                    found.append(Remove(key.model, owner, when=_beside_others(draft, key.model)))
                elif not names or remove.model in (key.model, draft.principal):
                    reached = False
                else:
                    owners = sorted(coverage.way_by(names[0], remove).owners)
                    found.append(Remove(key.model, _one_or_several(owners)))
        yield from found
        if not reached:
            yield Keep(key.model, key.name)


def _beside_others(draft: Draft, model: type[Model]) -> When | None:
    """That a row goes with the first of several people is meant where a step of its own takes it from whoever made it."""
    own = [step for step in draft.steps if isinstance(step, Remove) and step.model is model]
    return ANY_LEFT if any(BETWEEN not in owner for step in own for owner in step.owners) else None


def _told_of_the_account(draft: Draft) -> Iterator[Step]:
    """What the admin's history, or a package's, says about the account. By whoever leaves first: who did it, or to whom it was done."""
    disguise = draft.as_disguise()
    if not any(same_table(model, draft.principal) for model in coverage.removed_models(disguise)):
        return
    for log, columns in histories.notes_about_any_row():
        if not notes_covered(disguise, log, draft.principal, columns):
            yield Remove(log, histories.noted_about(draft.principal, columns), when=_beside_others(draft, log))
    if apps.is_installed("django.contrib.admin"):
        from django.contrib.admin.models import LogEntry

        if not entries_covered(disguise, LogEntry, draft.principal):
            yield Remove(LogEntry, about(draft.principal), when=_beside_others(draft, LogEntry))


def _said_of_those_who_left(draft: Draft) -> Iterator[Modify]:
    """Rows that stay lose what says whose they were."""
    disguise = draft.as_disguise()
    accounts = tables_of_object(draft.principal._meta.concrete_model or draft.principal)
    links: dict[type[Model], list[str]] = {}
    for relation in coverage.emptied_relations(disguise):
        changed_by = histories.original(relation.model) is not None and relation.field.name == histories.CHANGED_BY
        if relation.target in accounts and not changed_by:
            links.setdefault(relation.model, []).append(relation.field.name)
    for step in disguise.steps():
        if isinstance(step, Decorrelate):
            links.setdefault(step.model, []).append(step.column)
        elif isinstance(step, Remove) and len(step.owners) > 1 and not any("__" in owner for owner in step.owners):
            links.setdefault(step.model, []).extend(step.owners)  # until the last of them goes
    for model, names in links.items():
        values: dict[tuple[str, ...], dict[str, Any]] = {}
        for column in () if is_of_principals(model, draft.principals) else model._meta.local_concrete_fields:
            value = emptying(column)
            theirs = [name for name in names if personal_columns.says_who(column, link=name)]
            if theirs and value is not NOTHING:
                # `sender_name` is about the sender; of what only the row has, nobody knows about whom it is.
                about = tuple(name for name in theirs if column.name.startswith(name)) or tuple(dict.fromkeys(theirs))
                values.setdefault(about, {})[column.name] = value
        for about, said in values.items():
            yield Modify(model, _one_or_several(list(about)), set=said)


def _end_rights(draft: Draft) -> None:
    """What gives rights or opens doors does not come back, where nothing needs it."""
    doors = {
        step.model
        for step in draft.steps
        if isinstance(step, Remove) and kind_of(step.model, principals=draft.principals) in NEVER_BACK
    }
    for model in [model for model in doors if rights_of_others(draft, model)]:
        doors.remove(model)
        draft.steps = [
            dataclasses.replace(step, returning=AS_IT_WAS) if isinstance(step, Remove) and step.model is model else step
            for step in draft.steps
        ]
    # What hangs on them alone goes with them, or they would be needed.
    doors |= {step.model for step in draft.steps if isinstance(step, Remove) and hidden_in(step.model)[0] in doors}
    ending = set(doors)
    while True:
        draft.steps = [
            dataclasses.replace(step, returning=NOTHING if step.model in ending else None)
            if isinstance(step, Remove) and step.model in doors
            else step
            for step in draft.steps
        ]
        disguise = draft.as_disguise()
        removals = [step for step in disguise.removals() if step.model in ending]
        needed = {step.model for step in removals if any(cannot_stay_away(disguise, step, disguise.removals()))}
        if not needed:
            return
        ending -= needed


def rights_of_others(draft: Draft, model: type[Model]) -> bool:
    """Whether rights of others go with the account, too, as they are about it or what goes along: they would lose them for good."""
    if kind_of(model, principals=draft.principals) is not Kind.RIGHTS:
        return False
    owners = [
        owner for step in draft.steps if isinstance(step, Remove) and step.model is model for owner in step.owners
    ]
    return any(is_by_value(owner) or BETWEEN in owner for owner in owners) and any(
        not is_by_value(owner) and BETWEEN not in owner for owner in owners
    )


def _one_or_several(names: list[str]) -> str | list[str]:
    return names[0] if len(names) == 1 else names
