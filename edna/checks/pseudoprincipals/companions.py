"""Checks of companions: can they be made, does a disguise make a second one, and which models look as if they needed some."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Error, Warning
from django.db.models import ForeignKey, Model

from edna import coverage, registry
from edna.checks.columns import check_columns
from edna.checks.pseudoprincipals.generators import check_primary_key, check_values
from edna.checks.steps import is_table, name_of, usable_steps
from edna.companions import Companion, companions_of, link_of
from edna.coverage import one_each, parent_links, same_table
from edna.errors import SpecError
from edna.spec import Decorrelate, Disguise, Pseudoprincipal

#: What `registry.StockUser` does, as a site writes it.
_MAKERS = (("username", "random_name()"), ("email", "random_email()"), ("password", "unusable_password()"))


def check_companions(generator: type[Pseudoprincipal], principal: type[Model]) -> Iterator[CheckMessage]:
    """What ``generator`` says of rows beside pseudoprincipals of this model, and what it does not say."""
    obj = name_of(generator)
    for model, values in generator.companions.items():
        if problem := _problem(model, values, principal):
            yield Error(
                f"companions[{getattr(model, '__name__', model)!s}] {problem}: no pseudoprincipal can be made.",
                hint="companions maps models with one foreign key, or one that is unique, to the users to values: "
                'companions = {Profile: {"bio": ""}}.',
                obj=obj,
                id="edna.E318",
            )
            return
    for companion in companions_of(generator, principal):
        yield from _check_companion(companion, obj)
    for relation in _asked_for(principal, generator):
        name = relation.model.__name__
        yield Warning(
            f"{relation.label} is a row beside each {principal._meta.label}, and pseudoprincipals get none: code that expects one "
            "for every user fails on what they own.",
            hint=_how(generator, principal)
            + f"companions = {{{name}: {{}}}} with what fills its columns, or companions = {{{name}: None}} if no page needs it.",
            obj=obj,
            id="edna.W319",
        )


def _how(generator: type[Pseudoprincipal], principal: type[Model]) -> str:
    """The words before what to write: where the site has no class yet, it needs one first."""
    if generator is not registry.StockUser:
        return "Add "
    values = ", ".join(f'"{name}": placeholders.{maker}' for name, maker in _MAKERS)
    return (
        "Register how placeholder users are made: @edna.register class Nobody(edna.Pseudoprincipal): "
        f'model = {principal.__name__}; values = {{{values}, "is_active": False}}; '
    )


def check_given_away(
    disguise: type[Disguise], generator: type[Pseudoprincipal], principal: type[Model]
) -> list[CheckMessage]:
    """Whether a step gives to a pseudoprincipal what it is made with."""
    messages: list[CheckMessage] = []
    try:
        links = [companion.link for companion in companions_of(generator, principal)]
    except (SpecError, AttributeError):
        return messages  # edna.E318
    for link in links:
        for step in usable_steps(disguise):
            gives = isinstance(step, Decorrelate) or len(step.owners) > 1
            if gives and one_each(link) and same_table(step.model, link.model) and link.name in step.owners:
                messages.append(
                    Error(
                        f"Gives {link.model._meta.label} to pseudoprincipals, who are made with one: there cannot be two, and the "
                        "disguise fails.",
                        hint=f"Leave {link.model.__name__} out of {generator.__name__}.companions, or Remove or Modify it here.",
                        obj=name_of(disguise),
                        id="edna.E320",
                    )
                )
    return messages


def _problem(model: Any, values: Any, principal: type[Model]) -> str | None:
    if not is_table(model):
        return "is no model with a table"
    if values is None:
        return None
    if any(parent_links(model)):
        return "keeps a part of its columns in a parent's table"
    try:
        link_of(model, principal)
    except SpecError:
        return f"has no foreign key to {principal._meta.label}, or several that are all not unique, or all unique"
    return None


def _check_companion(companion: Companion, obj: str) -> Iterator[CheckMessage]:
    model, link = companion.model, companion.link
    columns, messages = check_values(
        companion.values, model, said=f"companions[{model.__name__}]", obj=obj, given=(link.name,)
    )
    yield from messages
    yield from check_columns(model, columns, what=companion.said, obj=obj)
    if not link.primary_key:
        yield from check_primary_key(model)


def _asked_for(principal: type[Model], generator: type[Pseudoprincipal]) -> Iterator[coverage.Relation]:
    """One-to-one relations to the principal model of which the generator says nothing."""
    said = [model for model in generator.companions if is_table(model)]
    for relation in coverage.relations_to(principal):
        field: ForeignKey[Any, Any] = relation.field
        if (
            field.unique
            and not relation.is_parent_link
            and not any(same_table(relation.model, model) for model in said)
        ):
            yield relation
