"""Which relations point at rows that a disguise removes, and whether the same disguise deals with each of them.

Invariant (DESIGN 4): after a disguise nothing dangles. Every relation to a removed model must be removed or re-pointed
along the same ownership, be ``SET_NULL``, or be declared with ``Keep``. Reads model definitions only, never rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.db.models import SET_NULL, ForeignKey, Model, UniqueConstraint

from edna.errors import DanglingReferences
from edna.spec import Decorrelate, Disguise, Remove


@dataclass(frozen=True, slots=True)
class Relation:
    """``model.field`` is a foreign key to ``target``."""

    model: type[Model]
    field: ForeignKey[Any, Any]
    target: type[Model]

    @property
    def label(self) -> str:
        return f"{self.model._meta.label}.{self.field.name}"

    @property
    def is_enforced(self) -> bool:
        """The database has a constraint for it. Also under ``DO_NOTHING``: that stops Django, not the database."""
        return bool(getattr(self.field, "db_constraint", True))

    @property
    def is_parent_link(self) -> bool:
        """The relation is how a multi-table child finds its parent's row."""
        return bool(self.field.remote_field.parent_link)

    @property
    def changed_by_database(self) -> bool:
        """``DB_CASCADE`` and its like: the database follows the removal by itself, and nothing would be recorded."""
        return hasattr(self.field.remote_field.on_delete, "on_delete_sql")


def same_table(first: type[Model], second: type[Model]) -> bool:
    """Proxies count as the table they stand for."""
    return first._meta.concrete_model is second._meta.concrete_model


def relations_to(target: type[Model]) -> Iterator[Relation]:
    """Every stored foreign key to ``target``, hidden many-to-many tables included."""
    for model in apps.get_models(include_auto_created=True):
        if model._meta.proxy or model._meta.swapped:
            continue
        for field in model._meta.local_fields:
            related = field.related_model
            if isinstance(field, ForeignKey) and isinstance(related, type) and same_table(related, target):
                yield Relation(model, field, target)


def removed_models(disguise: type[Disguise]) -> dict[type[Model], list[Remove]]:
    removed: dict[type[Model], list[Remove]] = {}
    for step in disguise.steps():
        if isinstance(step, Remove):
            removed.setdefault(step.model._meta.concrete_model or step.model, []).append(step)
    return removed


def set_null_relations(disguise: type[Disguise]) -> list[Relation]:
    """Relations to removed rows that the disguise empties by itself, because their model says ``SET_NULL``."""
    return [
        relation
        for relation in _relations_to_removed(disguise)
        if relation.field.remote_field.on_delete is SET_NULL
        and not covered_by(disguise, relation)
        and not kept(disguise, relation.model, relation.field.name)
    ]


def uncovered_relations(disguise: type[Disguise]) -> list[Relation]:
    """Relations that would dangle, or that the database would refuse to let dangle."""
    return [
        relation
        for relation in _relations_to_removed(disguise)
        if relation.field.remote_field.on_delete is not SET_NULL
        and not covered_by(disguise, relation)
        and not kept(disguise, relation.model, relation.field.name)
    ]


def kept_but_constrained(disguise: type[Disguise]) -> list[Relation]:
    """``Keep`` on a relation that the database enforces: the removal would fail there."""
    return [
        relation
        for relation in _relations_to_removed(disguise)
        if relation.is_enforced
        and kept(disguise, relation.model, relation.field.name)
        and not covered_by(disguise, relation)
    ]


def uncovered_generic_keys(disguise: type[Disguise]) -> list[tuple[GenericForeignKey, list[type[Model]]]]:
    """``GenericForeignKey``s and the removed models that they may point at: no constraint watches them."""
    found = []
    for model in apps.get_models():
        for key in model._meta.private_fields:
            # Proxies and multi-table children inherit the keys of their parents, where they are listed already.
            if not isinstance(key, GenericForeignKey) or key.model is not model or kept(disguise, model, key.name):
                continue
            targets = [
                target
                for target in removed_models(disguise)
                if target is not model and not _generic_covered(disguise, key, target)
            ]
            if targets:
                found.append((key, targets))
    return found


def require_covered(disguise: type[Disguise]) -> None:
    """
    Raises:
        DanglingReferences: the disguise would leave rows that point at nothing.
    """
    labels = ", ".join(relation.label for relation in uncovered_relations(disguise))
    if labels:
        raise DanglingReferences(
            f"{disguise.name} would leave rows pointing at nothing through {labels}. "
            "Add Remove or Decorrelate for them to the same disguise, or Keep if they may stay."
        )


def kept(disguise: type[Disguise], model: type[Model], name: str) -> bool:
    return any(same_table(step.model, model) and step.field == name for step in disguise.kept())


def covered_by(disguise: type[Disguise], relation: Relation) -> bool:
    """A step on the relation's model follows this very relation to the removed row's owner, without leaving rows out."""
    for remove in removed_models(disguise)[relation.target]:
        path = relation.field.name + (f"__{remove.owner}" if remove.owner else "")
        for step in disguise.steps():
            if not same_table(step.model, relation.model) or step.where is not None:
                continue
            if isinstance(step, Remove) and step.owner == path:
                break
            if isinstance(step, Decorrelate) and not remove.owner and step.owner == relation.field.name:
                break
        else:
            return False
    return True


def _relations_to_removed(disguise: type[Disguise]) -> Iterator[Relation]:
    for model in removed_models(disguise):
        yield from relations_to(model)


def _generic_covered(disguise: type[Disguise], key: GenericForeignKey, target: type[Model]) -> bool:
    """A ``GenericRelation`` of ``target`` names the way back, and a step removes along it."""
    for relation in target._meta.private_fields:
        if not isinstance(relation, GenericRelation) or relation.related_model is not key.model:
            continue
        if (relation.content_type_field_name, relation.object_id_field_name) != (key.ct_field, key.fk_field):
            continue
        name = relation.related_query_name()
        owners = {name + (f"__{remove.owner}" if remove.owner else "") for remove in removed_models(disguise)[target]}
        steps = {
            step.owner
            for step in disguise.steps()
            if isinstance(step, Remove) and step.where is None and same_table(step.model, key.model)
        }
        if owners <= steps:
            return True
    return False


def unique_groups(model: type[Model]) -> list[tuple[str, ...]]:
    """Columns, alone or together, that no two rows may share; the primary key is left to others."""
    meta = model._meta
    groups: list[tuple[str, ...]] = [
        (field.name,) for field in meta.concrete_fields if field.unique and not field.primary_key
    ]
    groups += [tuple(group) for group in meta.unique_together]
    groups += [
        tuple(constraint.fields)
        for constraint in meta.constraints
        if isinstance(constraint, UniqueConstraint) and constraint.fields and constraint.condition is None
    ]
    return list(dict.fromkeys(groups))
