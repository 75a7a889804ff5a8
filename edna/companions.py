"""Companions: rows that the application expects beside every user, such as a profile, made for pseudoprincipals too.

Says which models they are of, by which column each names whom it is beside, and what fills them. Invariant (nothing lost): a companion
holds nothing but what its specification says, so nobody needs a record of it. Reads specifications and model definitions; never rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import ForeignKey, Model

from edna import registry
from edna.coverage import one_each, same_table
from edna.errors import SpecError
from edna.spec import Pseudoprincipal


@dataclass(frozen=True)
class Companion:
    """Rows of ``model`` that name by ``link`` whom they are beside."""

    model: type[Model]
    link: ForeignKey[Any, Any]
    values: Mapping[str, Any]
    #: How messages call the values.
    said: str


def companions_of(generator: type[Pseudoprincipal], principal: type[Model]) -> list[Companion]:
    """What ``generator`` makes beside each pseudoprincipal of this model.

    Raises:
        SpecError: one of the models does not say whom its rows are beside.
    """
    return [
        Companion(link.model, link, values, f"{generator.__name__}.companions[{model.__name__}]")
        for model, values in generator.companions.items()
        if values is not None
        for link in [link_of(model, principal)]
    ]


def link_of(model: type[Model], principal: type[Model]) -> ForeignKey[Any, Any]:
    """The column by which a row of ``model`` names the user beside whom it is: the one that no two rows share, or the only one.

    Raises:
        SpecError: there is none, or it cannot be told which.
    """
    fields = (model._meta.concrete_model or model)._meta.local_fields
    found = [field for field in fields if isinstance(field, ForeignKey) and _names(field, principal)]
    unique = [field for field in found if one_each(field)]
    if len(unique or found) == 1:
        return (unique or found)[0]
    raise SpecError(
        f"{model._meta.label} cannot be a companion of {principal._meta.label}: it has "
        + ("several foreign keys there." if found else "no foreign key there.")
    )


def _names(field: ForeignKey[Any, Any], principal: type[Model]) -> bool:
    """Whether rows name one of ``principal`` by it, but for that of a multi-table child, which is one itself."""
    related = field.related_model
    return not field.remote_field.parent_link and isinstance(related, type) and same_table(related, principal)


def links_to(principal: type[Model]) -> set[ForeignKey[Any, Any]]:
    """The columns by which companions of this model's pseudoprincipals name them, whichever generator says so."""
    return {
        companion.link
        for generator in registry.generators()
        if generator.companions and same_table(generator.model, principal)
        for companion in companions_of(generator, principal)
    }
