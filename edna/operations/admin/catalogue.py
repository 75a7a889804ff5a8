"""The registered disguises as an operator reads them: what each does to which table, in words.

Reads specifications only, never rows. Knows nothing of permissions: whoever shows it decides who may see it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.core.exceptions import FieldDoesNotExist
from django.db.models import ForeignKey, Model, Q

from edna import conf, coverage, registry
from edna.engine.graph.staff import condition
from edna.errors import EdnaError
from edna.placeholders import Placeholder
from edna.spec import ALL, Decorrelate, Disguise, Modify, Param, Remove, Transformation
from edna.value_owners import in_words

_LONGEST_VALUE: Final = 60
_LOOKUPS: Final = {
    "exact": "is",
    "iexact": "is",
    "in": "is one of",
    "gt": "is more than",
    "gte": "is at least",
    "lt": "is less than",
    "lte": "is at most",
    "contains": "contains",
    "icontains": "contains",
    "startswith": "begins with",
    "endswith": "ends with",
}


@dataclass(frozen=True)
class Covered:
    """What happens to the rows of one table. ``kind`` is "remove", "modify", "decorrelate", "empty" or "keep"."""

    kind: str
    model: str
    plural: str
    whose: str
    effect: str
    condition: str = ""


@dataclass(frozen=True)
class ChosenFrom:
    """The rows that a parameter names: those of ``model``, by the values of the field called ``key``."""

    model: type[Model]
    key: str


@dataclass(frozen=True)
class CatalogueEntry:
    """One disguise. ``principal_model`` is None where its owners lead to none; the checks say why."""

    name: str
    description: str
    principal_model: type[Model] | None
    applies_to: str
    params: dict[str, type]
    #: Of the parameters that are compared with a foreign key, the rows to choose from.
    choices: dict[str, ChosenFrom]
    locators: str
    covered: tuple[Covered, ...]
    #: Where it is written, as the checks name it.
    source: str

    @property
    def people(self) -> str:
        """What the principals are called."""
        return str(self.principal_model._meta.verbose_name_plural) if self.principal_model else "principals"

    @property
    def model(self) -> str:
        return self.principal_model._meta.label if self.principal_model else ""

    @property
    def takes(self) -> list[tuple[str, str]]:
        """Parameters and the names of their types."""
        return [(name, kind.__name__) for name, kind in self.params.items()]

    @property
    def knows_staff(self) -> bool:
        """Whether anything says who of the principals runs the site."""
        return self.principal_model is not None and bool(condition(self.principal_model))

    @property
    def for_jobs(self) -> bool:
        """Whether a job can apply it. Receipts that the server does not keep would reach nobody."""
        return self.principal_model is not None and self.locators == "server"


def entries() -> list[CatalogueEntry]:
    return [_entry(disguise) for disguise in registry.disguises().values()]


def entry(name: str) -> CatalogueEntry:
    """
    Raises:
        UnknownDisguise: nothing is registered under that name.
    """
    return _entry(registry.get(name))


def names_for(model: type[Model]) -> list[str]:
    """The disguises that a job can apply to rows of ``model``, a principal model (or a proxy or child of one)."""
    wanted = {model._meta.concrete_model, *(parent._meta.concrete_model for parent in model._meta.get_parent_list())}
    return [
        found.name
        for found in entries()
        if found.for_jobs and found.principal_model and found.principal_model._meta.concrete_model in wanted
    ]


def _entry(disguise: type[Disguise]) -> CatalogueEntry:
    principal: type[Model] | None = None
    covered: tuple[Covered, ...] = ()
    try:
        principal = registry.principal_model_for(disguise)
        covered = tuple(_covered(disguise))
    except (EdnaError, FieldDoesNotExist, LookupError, TypeError, ValueError, AttributeError):
        pass  # a specification that does not hold together: the checks say what is wrong with it
    return CatalogueEntry(
        disguise.name,
        disguise.described(),
        principal,
        disguise.applies_to,
        dict(disguise.params),
        choices_of(disguise),
        disguise.locators or conf.locator_mode(),
        covered,
        f"{disguise.__module__}.{disguise.__qualname__}",
    )


def choices_of(disguise: type[Disguise]) -> dict[str, ChosenFrom]:
    """Which parameters stand for a row of another table, because a condition compares them with a foreign key."""
    found: dict[str, ChosenFrom] = {}
    for step in disguise.steps():
        for path, param in _compared(step.where) if step.where else ():
            with contextlib.suppress(FieldDoesNotExist):
                if param.name in disguise.params and (chosen := _chosen_from(step.model, path.split("__"))):
                    found.setdefault(param.name, chosen)
    return found


def _compared(where: Q) -> Iterator[tuple[str, Param]]:
    for child in where.children:
        if isinstance(child, Q):
            yield from _compared(child)
        elif isinstance(child, tuple) and isinstance(child[1], Param):
            yield child[0].removesuffix("__exact"), child[1]


def _chosen_from(model: type[Model], path: Sequence[str]) -> ChosenFrom | None:
    """What the foreign key at the end of ``path`` refers to, be it written with or without the field that it refers to.

    Raises:
        FieldDoesNotExist: the path goes on with a lookup, or leads nowhere.
    """
    chosen: ChosenFrom | None = None
    for name in path:
        if chosen is not None and name in ("pk", chosen.key):
            return chosen
        field = model._meta.pk if name == "pk" else model._meta.get_field(name)
        if not isinstance(field, ForeignKey):
            chosen = None
            model = getattr(field, "related_model", None) or model
        else:
            model = field.target_field.model
            chosen = ChosenFrom(model, field.target_field.name)
    return chosen


def _covered(disguise: type[Disguise]) -> Iterator[Covered]:
    for step in disguise.steps():
        yield Covered(
            type(step).__name__.lower(),
            *_table(step.model),
            _whose(step),
            _effect(step),
            describe_condition(step.where),
        )
    for relation in coverage.set_null_relations(disguise):
        effect = f"its {relation.field.name}, which points at what is removed, becomes empty or what its model says"
        yield Covered("empty", *_table(relation.model), "", effect)
    for kept in disguise.kept():
        yield Covered(
            "keep", *_table(kept.model), "", f"its {kept.field} goes on pointing at what is removed, on purpose"
        )


def _table(model: type[Model]) -> tuple[str, str]:
    return model._meta.label, str(model._meta.verbose_name_plural)


def _whose(step: Transformation) -> str:
    return " or ".join(path_in_words(in_words(owner)) for owner in step.owners) or "the account itself"


def _effect(step: Transformation) -> str:
    if isinstance(step, Remove):
        shared = "; one that others own too goes when the last of them leaves" if len(step.owners) > 1 else ""
        return f"sealed and deleted{shared}{_return(step)}"
    if isinstance(step, Modify):
        last = ", when the last owner leaves" if step.waits_for_all else ""
        return f"the values of {', '.join(step.set)} are sealed, and placeholders put in their places{last}"
    return f"its {path_in_words(step.column)} becomes a placeholder user, {_groups(step)}"


def _return(step: Remove) -> str:
    if not step.comes_back:
        return "; it does not come back"
    said = [f"{name} {_on_return(draw)}" for name, draw in step.values_on_return.items()]
    return f"; comes back with {', '.join(said)}" if said else ""


def _on_return(placeholder: Placeholder) -> str:
    """A constant by its value; of all else, that it is made anew."""
    return _shortened(placeholder.make(None, None)) if placeholder.fixed else "made anew"  # type: ignore[arg-type]


def _groups(step: Decorrelate) -> str:
    if step.together is not None:
        return f"{_groups(replace(step, together=None))}, shared with other steps ({step.together})"
    if step.group_by is ALL:
        return "one for all rows of a person"
    if step.group_paths:
        return f"one for each {' and '.join(map(path_in_words, step.group_paths))} of a person"
    return "another for each row"


def path_in_words(path: str) -> str:
    return path.replace("__", " › ")


def describe_condition(where: Q | None) -> str:
    """A ``Q`` in words, with parameters by their names; "" for none."""
    return _described(where) if where else ""


def _described(part: Any) -> str:
    if isinstance(part, Q):
        joint = f" {part.connector.lower()} "
        inner = joint.join(
            f"({_described(child)})" if isinstance(child, Q) and len(child.children) > 1 else _described(child)
            for child in part.children
        )
        return f"not ({inner})" if part.negated else inner
    if not isinstance(part, tuple):
        return _shortened(part)
    path, value = part
    head, _, last = path.rpartition("__")
    if last == "isnull":
        return f"{path_in_words(head)} is {'empty' if value else 'not empty'}"
    if head and last in _LOOKUPS:
        return f"{path_in_words(head)} {_LOOKUPS[last]} {_value(value)}"
    return f"{path_in_words(path)} is {_value(value)}"


def _value(value: Any) -> str:
    return f"the parameter {value.name}" if isinstance(value, Param) else _shortened(value)


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
