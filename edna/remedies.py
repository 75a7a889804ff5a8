"""Which steps a disguise still needs, so that nothing points at removed rows: all of them at once.

A step that removes more rows brings relations to these with it. Each gap is filled with the step that a hint would name, until no new one
appears. Invariant: it ends, because no owner path leads through one table twice. Reads model definitions only; proposes, and registers
nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from django.core.exceptions import FieldDoesNotExist
from django.db.models import PROTECT, ForeignKey, Model

from edna import coverage, registry
from edna.coverage import Relation, Way, in_key, tables_of_object
from edna.errors import SpecError
from edna.rights import Models as Models
from edna.rights import grants
from edna.spec import NOTHING, Decorrelate, Disguise, Keep, Modify, Remove, Transformation

#: Paths through a dense schema are many. Whoever has as many steps to write as this wants another design.
MOST_STEPS: Final = 400

Step = Transformation | Keep


@dataclass(slots=True)
class Gap:
    """A relation to removed rows that nothing follows; ``steps`` would. Without any, no step can."""

    relation: Relation
    #: 0: to what the disguise removes. Otherwise: to what the steps of other gaps would remove.
    depth: int
    #: The steps that remove what it points at, also those of other gaps.
    removes: list[Remove] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def gaps(disguise: type[Disguise], *, principals: Models) -> list[Gap]:
    """Every relation that the disguise leaves pointing at nothing, and every one that the steps which mend this would."""
    found: dict[tuple[type[Model], str, type[Model]], Gap] = {}
    supposed, depth = disguise, 0
    while True:
        uncovered = coverage.uncovered_relations(supposed)
        shared = shared_steps(supposed, uncovered, principals=principals)
        new: list[Step] = []
        for relation in uncovered:
            key = (relation.model, relation.field.name, relation.target)
            gap = found.setdefault(key, Gap(relation, depth))
            removes = coverage.uncovered_removals(supposed, relation)
            steps = following(supposed, relation, principals=principals)
            if relation.model in shared and any(not remove.owners for remove in removes):
                steps = [each for each in steps if "__" in str(getattr(each, "owner", ""))]
                steps.insert(0, shared[relation.model])
            gap.removes += [remove for remove in removes if remove not in gap.removes]
            gap.steps += [step for step in steps if step not in gap.steps]
            new += [step for step in steps if step not in new]
        if not new or len(supposed.transformations) > MOST_STEPS:
            return list(found.values())
        supposed, depth = with_steps(supposed, new), depth + 1


def gap_of(disguise: type[Disguise], relation: Relation, *, principals: Models) -> Gap:
    """One relation alone, whether or not it was declared that it may stay."""
    removes = coverage.uncovered_removals(disguise, relation)
    return Gap(relation, 0, removes, following(disguise, relation, principals=principals))


def with_steps(disguise: type[Disguise], steps: Iterable[Step]) -> type[Disguise]:
    """The same steps and more; registered nowhere, and no subclass, which a project's own base class might register."""
    attributes = {"name": disguise.name, "transformations": [*disguise.transformations, *steps]}
    return type(disguise.__name__, (Disguise,), attributes)


def following(disguise: type[Disguise], relation: Relation, *, principals: Models) -> list[Step]:
    """The steps that take along what refers to removed rows by this relation, one for each removal that lacks one."""
    steps: list[Step] = []
    for remove in coverage.uncovered_removals(disguise, relation):
        going, emptying = _removing(relation, remove, principals), _emptying(relation, remove)
        # What a removed row's own rows are protected by is others' more often than not: it can do without.
        if emptying is not None and remove.owners and relation.on_delete is PROTECT:
            steps.append(emptying)
        elif going is not None or emptying is not None:
            steps += [each for each in (going, emptying) if each is not None][:1]
        elif _opens_circle(relation, remove) and not is_of_principals(relation.model, principals):
            steps.append(_removal(relation, remove, principals))
        elif not remove.owners:
            steps.append(Decorrelate(relation.model, relation.field.name))
        elif not relation.is_enforced:
            steps.append(Keep(relation.model, relation.field.name))
    return merged(steps)


def instead(gap: Gap, *, principals: Models) -> list[Step]:
    """The other way to mend what hangs on removed rows: where its steps empty the reference, rows go, and the other way round."""
    steps: list[Step] = []
    for remove in [each for each in gap.removes if each.owners]:
        going, emptying = _removing(gap.relation, remove, principals), _emptying(gap.relation, remove)
        if going is not None and emptying is not None:
            steps.append(going if any(isinstance(step, Modify) for step in gap.steps) else emptying)
    return merged(steps)


def _removing(relation: Relation, remove: Remove, principals: Models) -> Remove | None:
    """None where they are people, or where no path says whose they are."""
    if is_of_principals(relation.model, principals) or _comes_back(relation, remove):
        return None
    return _removal(relation, remove, principals)


def _removal(relation: Relation, remove: Remove, principals: Models) -> Remove:
    way = _way(relation, remove)
    returning = NOTHING if grants(relation.model, principals) else None
    return Remove(relation.model, _owner(sorted(way.owners)), where=way.where, returning=returning)


def _emptying(relation: Relation, remove: Remove) -> Modify | None:
    """None where the reference must not be empty."""
    if not relation.field.null or in_key(relation.field):
        return None
    way = _way(relation, remove)
    return Modify(relation.model, _owner(sorted(way.owners)), set={relation.field.name: None}, where=way.where)


def _way(relation: Relation, remove: Remove) -> Way:
    return (coverage.ways_along(relation, remove) or [coverage.way_by(relation.field.name, remove)])[0]


def merged(steps: Iterable[Step]) -> list[Step]:
    """What is emptied along several paths, by one step: two would change one column of one row."""
    result: list[Step] = []
    for step in steps:
        for place, other in enumerate(result):
            if isinstance(step, Modify) and isinstance(other, Modify) and _alike(step, other):
                owners = dict.fromkeys((*other.owners, *step.owners))
                result[place] = dataclasses.replace(other, owner=_owner(list(owners)))
                break
        else:
            result.append(step)
    return result


def _alike(one: Modify, other: Modify) -> bool:
    return one.model is other.model and one.set == other.set and one.where is None and other.where is None


def shared_steps(
    disguise: type[Disguise], uncovered: Iterable[Relation], *, principals: Models
) -> dict[type[Model], Remove]:
    """Rows of several people at once: they go with the last of them. A step for each would take them from those who stay."""
    names: dict[tuple[type[Model], type[Model]], list[str]] = {}
    for relation in uncovered:
        direct = not any(remove.owners for remove in coverage.removed_models(disguise)[relation.target])
        if direct and not in_key(relation.field) and not is_of_principals(relation.model, principals):
            names.setdefault((relation.model, relation.target), []).append(relation.field.name)
    return {model: Remove(model, owners) for (model, _), owners in names.items() if len(owners) > 1}


def is_of_principals(model: type[Model], principals: Models) -> bool:
    """Rows of the model, or their parents' or children's, are principals."""
    tables = tables_of_object(model._meta.concrete_model or model)
    return any(principal._meta.concrete_model in tables for principal in principals)


def _comes_back(relation: Relation, remove: Remove) -> bool:
    """Whether the owner paths of removed rows lead through the table that refers to them: a tree, or a circle, never ends."""
    passed = [table for owner in remove.owners for table in _tables_on(remove.model, owner)]
    return any(relation.model in tables_of_object(table) for table in dict.fromkeys(passed))


def _opens_circle(relation: Relation, remove: Remove) -> bool:
    """Whether rows are somebody's because of one that hangs on them, and which they may do without: the circle ends where that
    reference is emptied, which is the next gap."""
    for owner in remove.owners:
        tables = _tables_on(remove.model, owner)
        if len({*tables}) < len(tables) or len(tables) < 2 or tables[1] is not relation.model:
            return False
        link = remove.model._meta.get_field(owner.partition("__")[0])
        if not isinstance(link, ForeignKey) or not link.null or in_key(link):
            return False
    return bool(remove.owners)


def _tables_on(model: type[Model], owner: str) -> list[type[Model]]:
    """All tables of a path but the last, which is the principal's; up to where it leads nowhere (`edna.E106`)."""
    tables: list[type[Model]] = []
    for name in owner.split("__"):
        tables.append(model._meta.concrete_model or model)
        try:
            model = registry.owner_target(model, name)
        except (SpecError, FieldDoesNotExist):
            break
    return tables


def _owner(owners: list[str]) -> str | list[str]:
    return owners[0] if len(owners) == 1 else owners
