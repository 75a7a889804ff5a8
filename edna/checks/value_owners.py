"""Checks of owners by value: what is compared is there and can be, is one person's, has an index, and is no pseudoprincipal's.

A little long: each of these looks at the same columns, and what an index is of use for goes by how they are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import FieldDoesNotExist
from django.db import connections
from django.db.models import F, Field, ForeignKey, JSONField, Model, UniqueConstraint
from django.db.models.expressions import OrderBy
from django.db.models.functions import Lower, Upper

from edna import conditions, registry
from edna.checks.settings import homes_of, principal_models
from edna.coverage import same_table, unique_groups
from edna.element_steps import require_own_elements
from edna.errors import PrincipalError, SpecError
from edna.json_keys import EACH
from edna.placeholders import Placeholder, as_placeholder
from edna.spec import Disguise, Modify, Pseudoprincipal, Remove, Transformation
from edna.value_owners import (
    About,
    ByElement,
    ByValue,
    columns_of,
    compared,
    element_of,
    is_by_value,
    is_text,
    parsed,
    principal_of,
    their_column,
    written,
)

_MEANS_NOBODY: Final = (None, "")


def check_owner(step: Transformation, owner: str, what: str, obj: str) -> Iterator[CheckMessage]:
    """One owner of a step, where the models have what it names; otherwise why nobody owns the rows."""
    _, match = parsed(owner)
    try:
        columns = columns_of(step.model, owner)
        principal = principal_of(owner, principal_models())
        theirs = [their_column(principal, name) for name in compared(match)]
    except (SpecError, FieldDoesNotExist) as error:
        yield Error(
            f"{what}: {str(error).rstrip('.')}. So nobody owns these rows, and the disguise cannot be applied.",
            hint='Write edna.by_value("column of the row", "column of the principal"), or edna.about(Model) for rows with a content type.',
            obj=obj,
            id="edna.E106",
        )
        return
    if isinstance(match, About):
        return
    if isinstance(match, ByElement):
        yield from _element(step, owner, match, columns[0], theirs[0].column, what, obj)
    for column, their in zip(columns, theirs, strict=True) if isinstance(match, ByValue) else ():
        documents = [each for each in (column, their.column) if isinstance(each, JSONField)]
        if documents:
            yield Error(
                f"{what} compares {column.model._meta.label}.{column.name} with {their.column.model._meta.label}.{their.column.name}, and "
                f"{documents[0].name} is a JSON document: what stands in one is not compared.",
                hint="For a Modify of what stands there, write edna.by_element. Else compare a column that has the value alone.",
                obj=obj,
                id="edna.E130",
            )
        elif _kind(column) != _kind(their.column):
            yield Error(
                f"{what} compares {column.model._meta.label}.{column.name} with {their.column.model._meta.label}."
                f"{their.column.name}, which is of another type: databases refuse that, or take different values for the same.",
                hint="Compare columns of one type: text with text, numbers with numbers.",
                obj=obj,
                id="edna.E130",
            )
    if not step.one_owner:
        yield from _one_persons([their.column for their in theirs], match.ignore_case, what, obj)
    if not step.reads_whole_table:
        yield from _without_an_index(step, owner, columns, match, what, obj)


def _one_persons(theirs: Sequence[Field[Any, Any]], ignore_case: bool, what: str, obj: str) -> Iterator[CheckMessage]:
    names = ", ".join(f"{their.model._meta.label}.{their.name}" for their in theirs)
    if _is_one_persons(theirs, ignore_case=ignore_case):
        return
    hint = "Make the column unique."
    if not (ignore_case and _is_one_persons(theirs, ignore_case=False)):
        problem = f"several people may have the same {names}"
    elif any(
        _folded_by(Upper, each.expressions) & {their.name for their in theirs} for each in _unique(theirs[0].model)
    ):
        problem = (
            f"{names} is unique in upper case, and compared in lower case here: several people may have one that is the same but for "
            "a letter such as the sign for kelvin, whose lower case is that of K"
        )
        hint = "Add UniqueConstraint(Lower(...))."
    else:
        problem = (
            f"{names} is unique, but for upper and lower case: several people may have one that differs in that alone"
        )
        hint = "Add UniqueConstraint(Lower(...)), or leave ignore_case out."
    yield Warning(
        f"{what}: {problem}. Each of them owns these rows; whoever applies the disguise first takes them from the others too.",
        hint=f"{hint} If your site sees to it that no two people have the same, say so in the step, beside owner: one_owner=True.",
        obj=obj,
        id="edna.W106",
    )


def _without_an_index(
    step: Transformation, owner: str, columns: Sequence[Field[Any, Any]], match: Any, what: str, obj: str
) -> Iterator[CheckMessage]:
    decide = "If the table is small, or not yours, say so in the step, beside owner: reads_whole_table=True."
    label, name = columns[0].model._meta.label, columns[0].name
    if isinstance(match, ByElement):
        if not _has_lists_index(columns[0]):
            # Of a text, no index finds a part.
            index = "On PostgreSQL, a GinIndex of a JSON column does, if case counts. "
            yield Warning(
                f"{what}: no index finds who is named within {label}.{name}. Each time the disguise is applied, the whole table is read.",
                hint=f"{index if isinstance(columns[0], JSONField) else ''}{decide} "
                "Else keep those people in a table of their own, a row for each.",
                obj=obj,
                id="edna.W131",
            )
        return
    if _is_indexed(columns, fixed=_fixed(step, owner, columns[0].model), ignore_case=match.ignore_case):
        return
    folding = _needs_folding(columns, match)
    index = f'models.Index(Lower("{name}"), name="...")' if folding else f'models.Index(fields=["{name}"])'
    beside = [] if folding else [" (or db_index=True)"]
    if folding and any(name in _folded_by(Upper, each) for each in _expressions(columns[0].model)):
        beside = [" (the one over Upper(...) is of no use: the statement compares lower case)"]
    elif folding and _is_indexed(columns, fixed=set(), ignore_case=False):
        beside = [f" (the one of {name} itself is of no use: the statement compares lower case)"]
    yield Warning(
        f"{what}: no index of {label} begins with {f'Lower({name})' if folding else name}, by which its rows are found. Each time the "
        "disguise is applied, the whole table is read.",
        hint=f"Add {index} to the model{''.join(beside)}. {decide}",
        obj=obj,
        id="edna.W131",
    )


def _fixed(step: Transformation, owner: str, model: type[Model]) -> set[str]:
    """Columns of the row with the value that have one value by the step's condition: an index may begin with them, too."""
    path, _ = parsed(owner)
    prefix = f"{path}__" if path else ""
    found: set[str] = set()
    for name in conditions.fixed_columns(step.where) if step.where is not None else ():
        if name.startswith(prefix):
            with suppress(FieldDoesNotExist):
                found.add(model._meta.get_field(name.removeprefix(prefix)).name)
    return found


def _element(
    step: Transformation,
    owner: str,
    match: ByElement,
    column: Field[Any, Any],
    their: Field[Any, Any],
    what: str,
    obj: str,
) -> Iterator[CheckMessage]:
    """Whether somebody can be named there, and the step changes what is theirs alone."""
    problem = ""
    if is_text(column) and match.place[1:] != (EACH,):
        problem = f"{column.name} is text, in which {written(owner)} finds nothing"
    elif not is_text(column) and not isinstance(column, JSONField):
        problem = f"{column.name} is no list: neither JSON nor text"
    elif _kind(their) not in ("text",) and (is_text(column) or _kind(their) != "number"):
        problem = f"{their.name} is neither text nor, for a JSON document, a number"
    else:
        try:
            require_own_elements(step)
        except SpecError as error:
            problem = str(error).rstrip(".")
    if problem:
        yield Error(
            f"{what}: {problem}. So nobody owns what stands there, and the disguise cannot be applied.",
            hint='Write edna.Modify(Model, owner=edna.by_element("watchers__*", "email"), set={"watchers__*": ...}). Whole rows are '
            "owned by a column that has one value alone.",
            obj=obj,
            id="edna.E130",
        )


def check_elements(disguise: type[Disguise], steps: Sequence[Transformation]) -> Iterator[CheckMessage]:
    """A list that is replaced as a whole goes with one, and others who leave are not found in it."""
    for step in steps:
        element = element_of(step.owners)
        if element is None:
            continue
        for other in steps:
            if isinstance(other, Modify) and same_table(other.model, step.model) and element.column in other.set:
                yield Error(
                    f"Modify({other.model.__name__}) sets the whole of {element.column}, in which {written(step.owners[0])} finds what is "
                    "each one's own: who leaves later is not found there, and what named them would come back with somebody else.",
                    hint=f"Leave {element.column} out of the one, or the elements out of the disguise.",
                    obj=f"{disguise.__module__}.{disguise.__qualname__}",
                    id="edna.E130",
                )


def check_shared(disguise: type[Disguise], steps: Sequence[Transformation]) -> Iterator[CheckMessage]:
    """Of a row that stays for another owner, a value cannot be re-pointed: it goes on saying who has left."""
    for step in steps:
        if not isinstance(step, Remove) or len(step.owners) < 2:
            continue
        for owner in filter(is_by_value, step.owners):
            try:
                columns = [column.name for column in columns_of(step.model, owner)]
            except (SpecError, FieldDoesNotExist):
                continue
            changing = (
                other
                for other in steps
                if isinstance(other, Modify) and same_table(other.model, step.model) and owner in other.owners
            )
            if not any(set(columns) & set(other.set) for other in changing):
                yield Warning(
                    f"Remove({step.model.__name__}) leaves a row to its other owners, and {', '.join(columns)} in it goes on saying "
                    "who has left.",
                    hint=f'Add edna.Modify({step.model.__name__}, owner={written(owner)}, set={{"{columns[0]}": ...}}) with a value that '
                    "means nobody.",
                    obj=f"{disguise.__module__}.{disguise.__qualname__}",
                    id="edna.W132",
                )


def check_pseudoprincipals(generator: type[Pseudoprincipal], model: type[Model]) -> Iterator[CheckMessage]:
    """A pseudoprincipal with a fixed value would own all rows that have it."""
    compared: dict[str, str] = {}
    for disguise in registry.disguises().values():
        # Another kind of people may have a column of the same name.
        steps = disguise.steps() if _disguises(disguise, model) else ()
        for step in steps:
            for owner in filter(is_by_value, step.owners):
                for table, name in _compared(owner, model):
                    if same_table(table, model):
                        compared.setdefault(name, disguise.name)
    for name, comparing in compared.items():
        said = generator.values.get(name)
        placeholder: Placeholder = as_placeholder(said)
        if placeholder.fixed and placeholder.make(model._meta.get_field(name), None) not in _MEANS_NOBODY:  # type: ignore[arg-type]  # a name of a column
            yield Error(
                f"Gives every pseudoprincipal the same {name}, and {comparing} finds the owners of rows by it: rows that "
                "have this value would be theirs.",
                hint=f'Use a random value, such as placeholders.random_email() for an e-mail address, or an empty one: "{name}": "".',
                obj=f"{generator.__module__}.{generator.__qualname__}",
                id="edna.E324",
            )


def _disguises(disguise: type[Disguise], model: type[Model]) -> bool:
    try:
        return same_table(registry.principal_model_for(disguise), model)
    except (PrincipalError, SpecError):
        return False  # other checks say so


def _compared(owner: str, model: type[Model]) -> Iterator[tuple[type[Model], str]]:
    for name in compared(parsed(owner)[1]):
        try:
            column = their_column(model, name).column
        except (SpecError, FieldDoesNotExist):
            continue
        yield column.model, column.name


def _kind(column: Field[Any, Any]) -> str:
    """What databases compare with each other without a cast."""
    while isinstance(column, ForeignKey):
        column = column.target_field
    if is_text(column):
        return "text"
    kind = column.get_internal_type()
    return "number" if "Integer" in kind or "Auto" in kind else kind


def _is_one_persons(columns: Sequence[Field[Any, Any]], *, ignore_case: bool) -> bool:
    """Whether no two rows have the same values in these columns."""
    names = {column.name for column in columns}
    model = columns[0].model
    if ignore_case and not _folds(model) and any(map(is_text, columns)):
        return any(_folded_by(Lower, constraint.expressions) & names for constraint in _unique(model))
    groups = [*unique_groups(model), *((column.name,) for column in columns if column.unique)]
    return any(names.issuperset(group) for group in groups)


def _unique(model: type[Model]) -> list[UniqueConstraint]:
    found = [each for each in model._meta.constraints if isinstance(each, UniqueConstraint)]
    return [each for each in found if len(each.expressions) == 1 and each.condition is None]


def _has_lists_index(column: Field[Any, Any]) -> bool:
    if not any(connections[alias].vendor == "postgresql" for alias in homes_of(column.model)):
        return False
    return any(type(each).__name__ == "GinIndex" and column.name in each.fields for each in column.model._meta.indexes)


def _folded_by(function: type[Lower | Upper], expressions: Sequence[Any]) -> set[str]:
    """The columns that are in lower case, or in upper case, in the first place of an index."""
    folded, name = _part(expressions[0]) if expressions else (None, "")
    return {name} if folded is function else set()


def _part(expression: Any) -> tuple[type[Lower | Upper] | None, str]:
    """What stands in a place of an index: a column, in lower or upper case; no name where it is something else."""
    expression = getattr(expression, "expression", expression) if isinstance(expression, OrderBy) else expression
    function = next((each for each in (Lower, Upper) if isinstance(expression, each)), None)
    if function is not None:
        (expression,) = expression.get_source_expressions()
    return (function, expression.name) if isinstance(expression, F) else (function, "")


def _folds(model: type[Model]) -> bool:
    return all(connections[alias].vendor == "mysql" for alias in homes_of(model))


def _needs_folding(columns: Sequence[Field[Any, Any]], match: ByValue) -> bool:
    return match.ignore_case and all(map(is_text, columns)) and not _folds(columns[0].model)


def _is_indexed(columns: Sequence[Field[Any, Any]], *, fixed: set[str], ignore_case: bool) -> bool:
    """Whether an index begins with one of the columns, as they are compared; before it, with what has one value at that."""
    model = columns[0].model
    texts = ignore_case and not _folds(model)
    wanted = {(Lower if texts and is_text(column) else None, column.name) for column in columns}
    before = {(None, name) for name in fixed}
    for places in _indexes(model):
        for place in places:
            if place in wanted:
                return True
            if place not in before:
                break
    return False


def _indexes(model: type[Model]) -> Iterator[list[tuple[type[Lower | Upper] | None, str]]]:
    for column in model._meta.local_concrete_fields:
        if column.unique or getattr(column, "db_index", False):
            yield [(None, column.name)]
    groups = [tuple(index.fields) for index in model._meta.indexes]
    groups += [tuple(each.fields) for each in model._meta.constraints if isinstance(each, UniqueConstraint)]
    groups += [tuple(each) for each in model._meta.unique_together]
    for group in groups:
        yield [(None, name.lstrip("-")) for name in group]
    yield from ([_part(each) for each in expressions] for expressions in _expressions(model))


def _expressions(model: type[Model]) -> list[Sequence[Any]]:
    constraints = [each for each in model._meta.constraints if isinstance(each, UniqueConstraint)]
    return [index.expressions for index in model._meta.indexes] + [
        each.expressions for each in constraints if each.condition is None
    ]
