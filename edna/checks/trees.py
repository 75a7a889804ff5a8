"""Checks of trees whose places a library writes into columns: whoever removes, moves or renames rows without it leaves others' wrong."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.checks import CheckMessage, Warning

from edna import coverage, signals, trees
from edna.checks.steps import is_table, name_of, written
from edna.coverage import same_table
from edna.naming import written_model
from edna.spec import Disguise, Modify, Remove, Transformation


def check_trees(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    """Rows whose places a library writes into columns of others, which it does not do for a row that edna removes or moves."""
    touched = dict.fromkeys(
        step.model._meta.concrete_model or step.model
        for step in disguise.steps()
        if is_table(step.model) and (isinstance(step, Remove) or _moves(step))
    )
    for model in touched:
        columns = ", ".join(trees.places(model))
        if not columns or signals.before_commit.has_listeners(trees.table_of_places(model)):
            continue
        if trees.is_linked(model):
            done = "Removes or moves rows"
            unless = f"the {columns} of the rows that stay would be wrong"
            hint = "Have the library compute them again"
        else:
            done = "Removes rows"
            unless = f"only {columns} say what is below a row, so rows of others would be left below nothing"
            hint = (
                f"Decorrelate {written_model(model)} instead of removing it; if nothing of others is below, have the library "
                "mend the tree"
            )
        yield Warning(
            f"{done} of the tree {model._meta.label}, and no receiver of edna.signals.before_commit mends it: {unless}.",
            hint=f"{hint}, in a receiver of edna.signals.before_commit with sender={written_model(trees.table_of_places(model))}.",
            obj=name_of(disguise),
            id="edna.W208",
        )
    for step in disguise.steps():
        if not is_table(step.model) or not trees.places(step.model):
            continue
        table = trees.table_of_places(step.model)
        if _sorts(step) and not signals.before_commit.has_listeners(table):
            yield Warning(
                f"{written(step)} changes by what the library sorts the tree {step.model._meta.label}, and no receiver of "
                "edna.signals.before_commit sorts it again: a later insert goes to the wrong place, or fails.",
                hint=f"Have the library sort it, in a receiver of edna.signals.before_commit with sender={written_model(table)}; or leave "
                f"{' and '.join(trees.sorted_by(step.model))} as it is.",
                obj=name_of(disguise),
                id="edna.W208",
            )


def _moves(step: Transformation) -> bool:
    """Whether it changes what a row of a tree is below of."""
    columns = (coverage.column_of_object(step.model, name) for name in getattr(step, "set", ()))
    targets = [column.related_model for column in columns if column is not None]
    return any(isinstance(target, type) and same_table(target, step.model) for target in targets)


def _sorts(step: Transformation) -> bool:
    """Whether it changes by what the library sorts the rows of a tree."""
    return isinstance(step, Modify) and not set(trees.sorted_by(step.model)).isdisjoint(step.set)
