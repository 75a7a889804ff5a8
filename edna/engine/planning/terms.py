"""On which terms removed rows come back: some columns with other values than the sealed ones, some rows not at all.

Invariant: what counts is what the specifications say on the day of the reveal, so that a site that says it later protects itself from
rights of people who left before. A record stays under what its own disguise says of its model; where that says nothing of it (it
is not registered any more, was done by hand, or another disguise's record has moved into its bag), under what the other disguises say.
Knows specifications; knows no records (`engine.layers.terms_of_return` does).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.db.models import Model

from edna import registry
from edna.coverage import column_of_object, tables_of_object
from edna.db.rows import table_of
from edna.errors import SpecError
from edna.placeholders import Placeholder
from edna.spec import Disguise, Remove


@dataclass
class Term:
    """Of the rows of one table."""

    comes_back: bool = True
    columns: dict[str, Placeholder] = field(default_factory=dict)


#: By the label of the table. Those of which nothing is said are left out.
Terms = Mapping[str, Term]


def terms_of(name: str) -> Terms:
    """What holds for records of the disguise that is called ``name``, and for others that have come to lie in its bags.

    Raises:
        SpecError: a specification names a column that there is not.
    """
    everybody = (*registry.disguises().values(), *registry.all_by_hand().values())
    return _terms_of(name, everybody)


@functools.lru_cache(maxsize=256)
def _terms_of(name: str, everybody: tuple[type[Disguise], ...]) -> Terms:
    """Once per process, for each reveal asks. A specification does not change; which are registered may."""
    said = [(cls, step) for cls in everybody for step in cls.removals()]
    if all(step.returning is None for _, step in said):
        return {}
    own = [step for cls, step in said if cls.name == name]
    known = {table for step in own for table in _tables(step.model)}
    others = [step for cls, step in said if cls.name != name and _concrete(step.model) not in known]
    return {**_terms(others), **_terms(own)}


def in_words(disguise: type[Disguise], model: type[Model]) -> str:
    """On which terms rows of this table come back, for a plan; "" if as they were."""
    term = _terms(step for step in disguise.removals() if model in _tables(step.model)).get(table_of(model).label)
    if term is None or (term.comes_back and not term.columns):
        return ""
    return f"{', '.join(term.columns)} set anew" if term.comes_back else "not at all"


def _concrete(model: type[Model]) -> type[Model]:
    return model._meta.concrete_model or model


def _tables(model: type[Model]) -> tuple[type[Model], ...]:
    return tables_of_object(_concrete(model))


def _terms(steps: Iterable[Remove]) -> dict[str, Term]:
    """Rows stay away only if all steps say so; of columns, the first that gives a value does."""
    terms: dict[str, Term] = {}
    dropping: dict[str, list[bool]] = {}
    for step in steps:
        label = table_of(step.model).label
        dropping.setdefault(label, []).append(not step.comes_back)
        for name, placeholder in step.values_on_return.items():
            column = column_of_object(step.model, name)
            if column is None:
                raise SpecError(
                    f"Remove({step.model.__name__}, returning=...) names {name!r}, which is no column of {step.model._meta.label}. "
                    "Nothing was changed; correct it."
                )
            terms.setdefault(table_of(column.model).label, Term()).columns.setdefault(column.name, placeholder)
    for label, said in dropping.items():
        if all(said):
            terms.setdefault(label, Term()).comes_back = False
    return terms
