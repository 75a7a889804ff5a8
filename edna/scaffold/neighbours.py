"""Tables that hang together with a person's, and that no step of a draft reaches: what rows refer to, and what a table in between ties.

They are listed for whoever reads the draft. Reads model definitions only.
"""

from __future__ import annotations

from django.db.models import ForeignKey, Model

from edna import personal_columns
from edna.coverage import Relation
from edna.remedies import is_of_principals
from edna.scaffold.draft import Draft
from edna.spec import Remove


def behind(draft: Draft) -> dict[type[Model], tuple[list[str], list[str]]]:
    """Tables that rows of a person refer to, and from which nothing leads to one: an address of an order. By what, and what they say."""
    found: dict[type[Model], tuple[list[str], list[str]]] = {}
    touched = dict.fromkeys([*(step.model for step in draft.steps), *(relation.model for relation in draft.emptied)])
    for model in touched:
        for column in model._meta.local_fields:
            if not isinstance(column, ForeignKey) or not isinstance(column.related_model, type):
                continue
            if is_of_principals(model, draft.principals) and not column.unique:
                continue  # a type, a group: many people's
            target = column.related_model
            if target in touched or personal_columns.way_to_a_person(target) is not None:
                continue
            if told := [each.name for each in target._meta.concrete_fields if personal_columns.says_who(each)]:
                found.setdefault(target, ([], told))[0].append(Relation(model, column, target).label)
    return found


def beside(draft: Draft) -> dict[type[Model], tuple[list[str], list[str]]]:
    """Tables that are tied to people by a table in between, out of which the person goes: a talk of several speakers. By what, and what
    they keep that may name somebody."""
    found: dict[type[Model], tuple[list[str], list[str]]] = {}
    removed = {step.model for step in draft.steps if isinstance(step, Remove)}
    for model in personal_columns.tables():
        told = [each.name for each in model._meta.concrete_fields if personal_columns.may_name(each)]
        for relation in personal_columns.relations_to_people(model) if told and model not in removed else ():
            if relation.remote_field.through in removed:
                found.setdefault(model, ([], told))[0].append(relation.name)
    return found
