"""Which relations point at rows that a disguise removes, and whether the same disguise deals with each of them.

Invariant (nothing overwritten): after a disguise nothing dangles. Every relation to a removed model must be removed or re-pointed
along the same ownership, be ``SET_NULL``, or be declared with ``Keep``. Reads model definitions only, never rows.
A little long: relations, and what covers each kind of them, are one question.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.core.exceptions import FieldDoesNotExist
from django.db.models import SET_DEFAULT, SET_NULL, Field, ForeignKey, Model, Q, UniqueConstraint

from edna import conditions, value_owners
from edna.errors import DanglingReferences, SpecError
from edna.spec import Decorrelate, Disguise, Modify, Remove, Transformation


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
    def on_delete(self) -> Any:
        """What the model says, also where a library has put something around it (django-polymorphic does)."""
        return _on_delete(self.field)

    @property
    def is_set_by_django(self) -> bool:
        """``SET_NULL``, ``SET_DEFAULT`` or ``SET(...)``: the model says what the column becomes."""
        return _value_on_delete(self.field) is not None

    def value_on_delete(self) -> Any:
        """What the column becomes, asked for once for all rows: an instance, or the value of one."""
        value = _value_on_delete(self.field)
        return value() if callable(value) else value

    @property
    def changed_by_database(self) -> bool:
        """``DB_CASCADE`` and its like: the database follows the removal by itself, and nothing would be recorded."""
        return hasattr(self.on_delete, "on_delete_sql")


def _on_delete(field: ForeignKey[Any, Any]) -> Any:
    on_delete = field.remote_field.on_delete
    while callable(inside := getattr(on_delete, "action", None)):
        on_delete = inside
    return on_delete


def _value_on_delete(field: ForeignKey[Any, Any]) -> Any:
    """What makes the value, or None for an ``on_delete`` that leaves the column alone."""
    on_delete = _on_delete(field)
    if on_delete is SET_NULL:
        return lambda: None
    if on_delete is SET_DEFAULT:
        return field.get_default
    deconstruct = getattr(on_delete, "deconstruct", None)
    if deconstruct is None:
        return None
    path, arguments, _ = deconstruct()
    if path != "django.db.models.SET":
        return None
    (value,) = arguments
    return value if callable(value) else lambda: value


def generic_keys(model: type[Model]) -> list[GenericForeignKey]:
    """The model's keys that can refer to rows of any table; its own, not those that it inherits."""
    keys = [key for key in model._meta.private_fields if isinstance(key, GenericForeignKey)]
    columns = {column.name for column in model._meta.local_concrete_fields} if keys else set()
    return [key for key in keys if {key.ct_field, key.fk_field} <= columns]


def in_key(field: Field[Any, Any]) -> bool:
    """Whether a column is the primary key, or a part of it."""
    return bool(field.primary_key) or field in getattr(field.model._meta, "pk_fields", ())


def same_table(first: type[Model], second: type[Model]) -> bool:
    """Proxies count as the table they stand for."""
    return first._meta.concrete_model is second._meta.concrete_model


@functools.cache
def relations_to(target: type[Model]) -> tuple[Relation, ...]:
    """Every stored foreign key to ``target``, hidden many-to-many tables included. Looked up once per process."""
    tables = (
        model for model in apps.get_models(include_auto_created=True) if not (model._meta.proxy or model._meta.swapped)
    )
    return tuple(
        Relation(model, field, target)
        for model in tables
        for field in model._meta.local_fields
        if isinstance(field, ForeignKey)
        and isinstance(field.related_model, type)
        and same_table(field.related_model, target)
    )


def parent_links(model: type[Model]) -> Iterator[Relation]:
    """How a multi-table child finds the rows of its parents."""
    for field in model._meta.local_fields:
        if isinstance(field, ForeignKey) and field.remote_field.parent_link and isinstance(field.related_model, type):
            yield Relation(model, field, field.related_model._meta.concrete_model or field.related_model)


def child_links(model: type[Model]) -> Iterator[Relation]:
    """How the multi-table children of ``model`` find its rows."""
    return (relation for relation in relations_to(model) if relation.is_parent_link)


def removed_models(disguise: type[Disguise]) -> dict[type[Model], list[Remove]]:
    """The tables that lose rows, each with the steps that say so: parents and children of an object go with it."""
    removed: dict[type[Model], list[Remove]] = {}
    for step in disguise.steps():
        if isinstance(step, Remove):
            for model in tables_of_object(step.model._meta.concrete_model or step.model):
                removed.setdefault(model, []).append(step)
    return removed


@functools.cache
def tables_of_object(model: type[Model]) -> tuple[type[Model], ...]:
    """The tables that hold parts of one row of ``model``: its own, its children's, and the parents' of all of these.

    Another child of a parent may have a part, too; it goes along, but nobody has to say what becomes of references to it.
    """
    tables = {model: None}
    waiting = [model]
    while waiting:
        for link in child_links(waiting.pop()):
            if link.model not in tables:
                tables[link.model] = None
                waiting.append(link.model)
    waiting = list(tables)
    while waiting:
        for link in parent_links(waiting.pop()):
            if link.target not in tables:
                tables[link.target] = None
                waiting.append(link.target)
    return tuple(tables)


def column_of_object(model: type[Model], name: str) -> Field[Any, Any] | None:
    """The column of that name of one row of ``model``: its own or a parent's; or else a child table's, if just one has it."""
    concrete = model._meta.concrete_model or model
    columns: list[Field[Any, Any]] = [field for field in concrete._meta.concrete_fields if field.name == name]
    if not columns:
        tables = tables_of_object(concrete)
        columns = [field for table in tables for field in table._meta.local_concrete_fields if field.name == name]
    return columns[0] if len(columns) == 1 else None


def set_null_relations(disguise: type[Disguise]) -> list[Relation]:
    """Relations to removed rows that the disguise re-points by itself: their model says what to, ``SET_NULL`` or its like."""
    return [
        relation
        for relation in _relations_to_removed(disguise)
        if relation.is_set_by_django
        and not covered_by(disguise, relation)
        and not kept(disguise, relation.model, relation.field.name)
    ]


def emptied_relations(disguise: type[Disguise]) -> list[Relation]:
    """Relations to removed rows whose own rows stay and lose them: by their model's ``SET_NULL``, or by a step."""
    by_steps = [
        relation
        for relation in _relations_to_removed(disguise)
        if any(empties(step, relation) for step in disguise.steps()) and covered_by(disguise, relation)
    ]
    return [*set_null_relations(disguise), *by_steps]


def uncovered_relations(disguise: type[Disguise]) -> list[Relation]:
    """Relations that would dangle, or that the database would refuse to let dangle."""
    return [
        relation
        for relation in _relations_to_removed(disguise)
        if not relation.is_set_by_django
        and not covered_by(disguise, relation)
        and not closes_circle(disguise, relation)
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
    uncovered = []
    for model in apps.get_models():
        # Proxies and multi-table children inherit the keys of their parents, where they are listed already.
        for key in generic_keys(model):
            if kept(disguise, model, key.name):
                continue
            targets = [
                target
                for target in removed_models(disguise)
                # What Django has made for a many-to-many field has no content type: nothing is about its rows.
                if target is not model and not target._meta.auto_created and not _generic_covered(disguise, key, target)
            ]
            if targets:
                uncovered.append((key, targets))
    return uncovered


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
    """A step on the relation's model follows this very relation to the removed row's owners, without leaving rows out.

    To exactly those: with one owner more, or one less, rows would stay that have to go, or the other way round. Where the removal has a
    condition, the step may have the same one, written along the relation.
    """
    return not uncovered_removals(disguise, relation)


def uncovered_removals(disguise: type[Disguise], relation: Relation) -> list[Remove]:
    """The steps that remove what the relation points at, and that no step follows along it."""
    steps = [step for step in disguise.steps() if same_table(step.model, relation.model)]
    return [
        remove
        for remove in removed_models(disguise)[relation.target]
        if not any(_follows(step, relation, remove, ways_along(relation, remove)) for step in steps)
    ]


def _follows(step: Transformation, relation: Relation, remove: Remove, ways: list[Way]) -> bool:
    if (isinstance(step, Remove) or empties(step, relation)) and any(takes_all(step, way) for way in ways):
        return True
    if step.where is not None or remove.owners:
        return False
    # Shared rows: where another owner keeps the row, the principal's own column is re-pointed.
    if isinstance(step, Remove):
        return relation.field.name in step.owners
    return isinstance(step, Decorrelate) and step.owners == (relation.field.name,)


def empties(step: Transformation, relation: Relation) -> bool:
    """Whether a step puts something else where the relation stands."""
    if not isinstance(step, Modify) or step.waits_for_all:
        return False
    return same_table(step.model, relation.model) and relation.field.name in step.set


def takes_all(step: Transformation, way: Way) -> bool:
    """Whether a step means every row that refers to a removed one in this way. What is emptied may be so for more owners."""
    owners, needed = (
        {value_owners.spelled_out(each, step.model) for each in those} for those in (step.owners, way.owners)
    )
    meant = owners >= needed if isinstance(step, Modify) else owners == needed
    return meant and conditions.leaves_nothing_out(step.where, of=way.where)


def closes_circle(disguise: type[Disguise], relation: Relation) -> bool:
    """The rows at the other end are removed because they refer back to this table, whose rows are removed as well.

    Along a circle no path ends. That a company's first show is one of its own shows, no definition tells; if it is not, the
    database refuses the disguise, so it has to watch the relation.
    """
    if not relation.is_enforced:
        return False
    own = [step for step in disguise.steps() if isinstance(step, Remove) and same_table(step.model, relation.model)]
    back = {link.field.name for link in relations_to(relation.model) if same_table(link.model, relation.target)}
    ways = {
        frozenset(f"{name}__{owner}" for owner in step.owners)
        for step in own
        if step.where is None and step.owners
        for name in back
    }
    return all(
        remove.where is None and same_table(remove.model, relation.target) and frozenset(remove.owners) in ways
        for remove in removed_models(disguise)[relation.target]
    )


@dataclass(frozen=True, slots=True)
class Way:
    """The owner paths of rows that refer to rows which a step removes, and its condition as seen from them, if it can be."""

    owners: frozenset[str]
    where: Q | None


def way_by(path: str, remove: Remove | Modify) -> Way:
    """Of rows that refer by ``path`` to rows that ``remove`` takes, or changes."""
    owners = frozenset(value_owners.along(path, owner, remove.model) for owner in remove.owners) or frozenset({path})
    return Way(owners, conditions.along(remove.where, path))


def ways_along(relation: Relation, remove: Remove) -> list[Way]:
    """`way_by`, in every way in which it can be written where the relation leads to a parent or child of the model."""
    name, target, model = relation.field.name, relation.target, remove.model
    if same_table(target, model) or model in target._meta.get_parent_list():
        return [way_by(name, remove)]
    ways = [way_by("__".join((name, *down)), remove) for down in _descents(target, model)]
    fields = {field.name for field in target._meta.get_fields()}
    if all(owner.partition("__")[0] in fields for owner in remove.owners):
        # Of all objects of the parent, not of this kind alone: more than has to go, and nothing is left over.
        ways.append(Way(way_by(name, remove).owners, None))
    return ways


def _descents(parent: type[Model], model: type[Model]) -> Iterator[tuple[str, ...]]:
    """The names by which queries go down from ``parent`` to where a row is one of ``model``, too."""
    for link in child_links(parent):
        name = link.field.related_query_name()
        if same_table(link.model, model) or model in link.model._meta.get_parent_list():
            yield (name,)
        else:
            yield from ((name, *further) for further in _descents(link.model, model))


def _relations_to_removed(disguise: type[Disguise]) -> Iterator[Relation]:
    """Without the links between the tables of one object, which goes as a whole."""
    for model in removed_models(disguise):
        yield from (relation for relation in relations_to(model) if not relation.is_parent_link)


def _generic_covered(disguise: type[Disguise], key: GenericForeignKey, target: type[Model]) -> bool:
    """A step removes what is about ``target``, or along a ``GenericRelation`` of it that names the way back."""
    steps = [step for step in disguise.removals() if same_table(step.model, key.model)]
    if takes_all_about(steps, removed_models(disguise)[target], target, columns=(key.ct_field, key.fk_field)):
        return True
    for relation in target._meta.private_fields:
        if not isinstance(relation, GenericRelation) or relation.related_model is not key.model:
            continue
        if (relation.content_type_field_name, relation.object_id_field_name) != (key.ct_field, key.fk_field):
            continue
        ways = [way_by(relation.related_query_name(), remove) for remove in removed_models(disguise)[target]]
        if all(any(takes_all(step, way) for step in steps) for way in ways):
            return True
    return False


def takes_all_about(
    steps: Sequence[Transformation],
    touched: Sequence[Remove | Modify],
    target: type[Model],
    *,
    columns: tuple[str, str],
) -> bool:
    """Whether ``steps`` mean all rows that name by these two ``columns`` a row of ``target`` that the others have ``touched``, if that
    is the principals' own table."""
    if any(each.owners or not same_table(each.model, target) for each in touched):
        return False
    return any(
        _is_about(owner, step.model, target, columns)
        for step in steps
        if step.where is None and (len(step.owners) == 1 or isinstance(step, Modify))
        for owner in step.owners
    )


def _is_about(owner: str, model: type[Model], target: type[Model], columns: tuple[str, str]) -> bool:
    if not value_owners.is_by_value(owner):
        return False
    path, match = value_owners.parsed(owner)
    try:
        return (
            isinstance(match, value_owners.About)
            and not path
            and same_table(value_owners.principal_of(owner, ()), target)
            and value_owners.generic_columns(model, match) == columns
        )
    except SpecError:
        return False  # `edna.E106` speaks about it


def one_each(field: Field[Any, Any]) -> bool:
    """Whether no two rows refer to the same row by this foreign key."""
    return field.unique or (field.name,) in unique_groups(field.model)


def relation_to_several(model: type[Model], owner: str) -> Any | None:
    """The relation along which an owner path goes on to several rows, as from a post to all who are named in it; None where each row that
    it comes by leads to one."""
    at: Any = model
    for name in owner.split("__"):
        if value_owners.is_by_value(name):
            return None
        try:
            relation: Any = at._meta.get_field(name)
        except FieldDoesNotExist:
            return None
        if relation.many_to_many or (relation.one_to_many and not one_each(relation.remote_field)):
            return relation
        at = relation.related_model
        if at is None or isinstance(at, str):
            return None
    return None


def is_for_each(step: Transformation, owner: str) -> bool:
    """Whether the path leads from a row that is changed to several people, as from a text to all whom it names, and not to its owner."""
    return isinstance(step, Modify) and not step.one_owner and relation_to_several(step.model, owner) is not None


def changes_once(step: Modify) -> bool:
    """Whether a row is changed once, whoever of its owners leaves, and not for each of them."""
    asks = any(placeholder.person for placeholder in step.placeholders.values())
    return not step.asks_each_owner and not (
        asks and any(relation_to_several(step.model, each) for each in step.owners)
    )


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
