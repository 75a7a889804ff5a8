"""Which rows a disguise means that another disguise of the site may have given to pseudoprincipals before, so that only a key finds them.

Reads the registered specifications and model definitions, never rows: whether it has happened to somebody, their own list tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import Field, ManyToManyField, ManyToManyRel, Model
from django.db.models.fields.reverse_related import ForeignObjectRel

from edna import coverage, registry
from edna.spec import Decorrelate, Disguise, Modify, Remove, Transformation
from edna.value_owners import is_by_value

#: A foreign key, by its table and name.
_Link = tuple[type[Model], str]


def by_others(disguise: type[Disguise]) -> dict[type[Model], list[str]]:
    """By table, which other disguises re-point what says whose its rows are; only of tables that this one takes something from."""
    given: dict[_Link, list[str]] = {}
    for name, other in registry.disguises().items():
        if other is disguise or _takes_the_account(other):
            continue  # whoever has no account applies nothing
        for link in dict.fromkeys(_given_away(other)):
            given.setdefault(link, []).append(name)
    found: dict[type[Model], dict[str, None]] = {}
    for step in disguise.steps():
        # What is given away again names nobody either way.
        if isinstance(step, Remove | Modify):
            for owner in step.owners:
                names = given.get(_owning(step.model, owner), [])
                if names:
                    found.setdefault(step.model._meta.concrete_model or step.model, {}).update(dict.fromkeys(names))
    return {model: sorted(names) for model, names in found.items()}


def names_left(disguise: type[Disguise], step: Transformation) -> list[str]:
    """Owner paths of a step at whose ends the disguise leaves the names of those for whom it is done; of values, nothing is said."""
    gone: set[Any] = {*_given_away(disguise)}
    for each in disguise.steps():
        if isinstance(each, Modify) and not each.waits_for_all:
            gone |= {_owning(each.model, name) for name in each.set}
    gone |= {(_concrete(each.model), each.field.name) for each in coverage.set_null_relations(disguise)}
    return [path for path in step.owners if not is_by_value(path) and _owning(step.model, path) not in gone]


def _takes_the_account(disguise: type[Disguise]) -> bool:
    return any(not step.owners and step.where is None for step in disguise.removals())


def _given_away(disguise: type[Disguise]) -> Iterator[_Link]:
    """The foreign keys that it points at pseudoprincipals; of a shared row, while others keep it."""
    for step in disguise.steps():
        if isinstance(step, Decorrelate) or (isinstance(step, Remove) and len(step.owners) > 1):
            yield from _links(step)


def _links(step: Transformation) -> Iterator[_Link]:
    for owner in step.owners:
        if (link := _owning(step.model, owner)) is not None:
            yield link


def _owning(model: type[Model], owner: str) -> Any:
    """The last foreign key of an owner path: the one that names the owner. None where there is no such path, as `edna.E106` says."""
    link: Any = None
    here: Any = model
    for name in owner.split("__"):
        try:
            hop = here._meta.get_field(name)
        except (FieldDoesNotExist, AttributeError):
            return None
        if isinstance(hop, ManyToManyField | ManyToManyRel):
            link = _in_between(hop)
        elif isinstance(hop, ForeignObjectRel):
            link = (_concrete(hop.related_model), hop.field.name)
        elif isinstance(hop, Field):
            link = (_concrete(hop.model), hop.name)
        else:
            return None
        here = hop.related_model
    return link


def _in_between(hop: Any) -> _Link:
    """The foreign key of the table in between that leads on."""
    field = hop if isinstance(hop, ManyToManyField) else hop.field
    return _concrete(
        field.remote_field.through
    ), field.m2m_reverse_field_name() if hop is field else field.m2m_field_name()


def _concrete(model: Any) -> Any:
    return model._meta.concrete_model
