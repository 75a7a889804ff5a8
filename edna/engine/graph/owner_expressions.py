"""How a statement asks for the owners of rows: by a path of foreign keys, or by a match of values (`edna.value_owners`).

Everything here goes into Django's query compiler, and is compiled once; the owners are bound when the statement runs. Invariant: one
statement however many owners there are, and an empty value is nobody's. A match by value is a join to the principals' table. A row about
somebody names their key as another column writes it, so no join is needed: keys are translated on their way in and out.
A little long: whichever way leads to an owner, it ends at the same place in the statement.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.db.models import (
    Case,
    CharField,
    CompositePrimaryKey,
    F,
    Field,
    IntegerField,
    Lookup,
    Model,
    Q,
    QuerySet,
    TextField,
    Value,
    When,
)
from django.db.models.expressions import Col
from django.db.models.functions import Concat, Lower, Trim
from django.db.models.lookups import Exact, GreaterThan, IsNull
from django.db.models.sql.constants import LOUTER
from django.db.models.sql.datastructures import Join
from django.db.models.sql.where import AND, WhereNode

from edna import value_owners
from edna.db.cursors import connection_of
from edna.db.rows import array_types
from edna.engine.graph.element_joins import contains, elements
from edna.engine.graph.references import key_of, reference_of
from edna.value_owners import About, ByElement, columns_of, compared, is_by_value, is_text, parsed, their_column

#: A raw value as it stands in another column; None where it cannot.
Translation = Callable[[Any, str], Any]


class _Place(str):
    """Where values are bound. A type of its own: a value in somebody's row may be the same text. ``types``: the `array_types` before it;
    ``column``: what stands before it, if rows of several people are found by it, and both are in parentheses."""

    __slots__ = ("column", "translation", "types")
    translation: Translation | None
    types: Sequence[str] | None
    column: str

    def __new__(cls, text: str, translation: Any = None, types: Sequence[str] | None = None, column: str = "") -> Self:
        made = super().__new__(cls, text)
        made.translation, made.types, made.column = translation, types, column
        return made

    def behind(self, types: Sequence[str] | None, column: str = "") -> Self:
        """The same behind such columns, under a name that has not got this one in it: a statement may have both."""
        name = "_".join(["_", *(types or ()), *([_number(column)] if column else []), self.lstrip("_")])
        return type(self)(name, self.translation, types, column) if types else self


class Owners(_Place):
    """The place of the owners."""

    __slots__ = ()

    def values(self, keys: Sequence[Any], using: str) -> Sequence[Any]:
        """What stands in this place for principals with these raw keys."""
        if self.translation is None:
            return keys
        translated = [self.translation(key, using) for key in keys]
        return [value for value in translated if value is not None] or [None]


class Keys(_Place):
    """The place of primary keys, to which a statement is limited each time it runs."""

    __slots__ = ()


OWNERS: Final = Owners("__edna_owners__")
KEYS: Final = Keys("__edna_keys__")


class _OwnedBy(Lookup):  # type: ignore[type-arg]  # no type arguments at run time
    """``path IN (owners)``, or keys, bound when the statement runs: its text is compiled once.

    A lookup, not just an expression: MariaDB would otherwise be asked whether the condition equals 1, and use no index.
    """

    prepare_rhs = False

    def __init__(self, value: Any, place: Owners | Keys = OWNERS) -> None:
        super().__init__(value, ())
        self.place = place

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        sql, params = self.process_lhs(compiler, connection)
        column = self.lhs.output_field
        several = isinstance(column, CompositePrimaryKey)
        types = array_types(column.fields if several else [column], connection)
        # Of a foreign key, the field is what it refers to. Of a unique column it is known how many rows each value has.
        repeats = isinstance(self.lhs, Col) and not self.lhs.target.unique and not params
        before = sql if types and repeats and isinstance(self.place, Owners) else ""
        place = self.place.behind(types, before)
        condition = f"{f'({sql})' if several else sql} {place}"
        return f"({condition})" if before else condition, [*params, place]


def owned_by(model: type[Model], owner: str, *, using: str) -> Q:
    """The condition that one of the owners to be bound is at the end of ``owner``."""
    if not is_by_value(owner):
        return Q(_OwnedBy(F(owner)))
    if not isinstance(parsed(owner)[1], About):
        return Q(_OwnedBy(_ValueOwner(model, owner)))
    place = Owners(f"__edna_about_{_number(owner)}__", _into(model, owner))
    return _of_kind(model, owner, using=using) & Q(_OwnedBy(F(_number_path(model, owner)), place))


def limited_to_keys() -> Q:
    """The condition that a row has one of the primary keys to be bound."""
    return Q(_OwnedBy(F("pk"), KEYS))


def named(model: type[Model], owner: str, *, using: str) -> Any:
    """What a statement selects to know whose a row is."""
    if not is_by_value(owner):
        return owner
    if not isinstance(parsed(owner)[1], About):
        return _ValueOwner(model, owner)
    return Case(When(_of_kind(model, owner, using=using), then=F(_number_path(model, owner))))


def names_anybody(model: type[Model], owner: str, principal: type[Model], *, using: str) -> Q:
    """The condition that there is an owner at the end of ``owner``."""
    everybody: QuerySet[Any, Any] = QuerySet(model=principal, using=using)
    if not is_by_value(owner):
        # With a subquery, not a join: Django leaves a join to the principal out, since the key is in the table itself.
        return Q(**{f"{owner}__in": everybody.values("pk")})
    if not isinstance(parsed(owner)[1], About):
        return Q(IsNull(_ValueOwner(model, owner), False))
    kind, path = _of_kind(model, owner, using=using), _number_path(model, owner)
    number = columns_of(model, owner)[1]
    if isinstance(number, IntegerField):
        return kind & Q(**{f"{path}__in": everybody.values("pk")})
    if isinstance(principal._meta.pk, (IntegerField, CharField)):
        # Not a cast: MariaDB would find that the two texts have different collations.
        texts = everybody.values_list(Concat("pk", Value(""), output_field=TextField()))
        return kind & Q(**{f"{path}__in": texts})
    return kind & Q(**{f"{path}__isnull": False})


def translations(model: type[Model], names: Sequence[str]) -> tuple[tuple[int, Translation], ...]:
    """Of what `named` selects, the positions at which something else stands than a principal's raw key, and how it becomes one."""
    return tuple(
        (position, _out_of(model, name))
        for position, name in enumerate(names)
        if is_by_value(name) and isinstance(parsed(name)[1], About)
    )


# By value


class _ValueOwner(F):
    """The primary key of the principal who has the values of the row: of a table that is joined, NULL where there is none."""

    def __init__(self, model: type[Model], owner: str) -> None:
        super().__init__(owner)
        self.model = model

    def resolve_expression(
        self,
        query: Any = None,
        allow_joins: bool = True,
        reuse: Any = None,
        summarize: bool = False,
        for_save: bool = False,
    ) -> Any:
        path, match = parsed(self.name)
        assert not isinstance(match, About)
        principal = apps.get_model(match.principal)
        theirs = [their_column(principal, name) for name in compared(match)]
        prefix = f"{path}__" if path else ""
        columns = [match.column] if isinstance(match, ByElement) else [column for column, _ in match.pairs]
        own = [query.resolve_ref(prefix + column, allow_joins, reuse, summarize) for column in columns]
        pairs = tuple((col.target, their.column) for col, their in zip(own, theirs, strict=True))
        whose = theirs[0].whose
        element = match if isinstance(match, ByElement) else None
        same: Any = _ValueJoin(pairs, match.ignore_case, element, whose.model)
        join = Join(whose.model._meta.db_table, own[0].alias, None, LOUTER, same, nullable=True)
        # What is asked for and what is selected are one join.
        return whose.get_col(query.join(join))


@dataclass(frozen=True)
class _ValueJoin:
    """What a join asks of the relation that it goes along: on which condition rows belong together."""

    pairs: tuple[tuple[Field[Any, Any], Field[Any, Any]], ...]
    ignore_case: bool
    element: ByElement | None
    #: Whose table is joined: a subquery of the same statement asks for it.
    related_model: type[Model]

    def get_joining_fields(self) -> tuple[tuple[Any, Any], ...]:
        # Not here: Django would cast one to the type of the other, and cut it off to its length.
        return ()

    def get_extra_restriction(self, alias: str, related_alias: str) -> WhereNode:
        conditions: list[Any] = []
        for column, their in self.pairs:
            own, theirs = column.get_col(related_alias), their.get_col(alias)
            if self.element is not None:
                conditions.append(contains(self.element, own, theirs))
            elif self.ignore_case and _is_sensitive(column, their):
                conditions.append(_Folded(own, theirs))
            else:
                conditions.append(Exact(own, theirs))
            if is_text(their):
                conditions.append(GreaterThan(Trim(theirs), Value("")))
        return WhereNode(conditions, AND)


def _is_sensitive(*columns: Field[Any, Any]) -> bool:
    return all(map(is_text, columns))


class _Folded(Exact):  # type: ignore[type-arg]  # no type arguments at run time
    """The same but for case. MariaDB and MySQL compare so by themselves, along the index, unless a column has a collation of its own."""

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        sides = (self.lhs, self.rhs)
        own = any(getattr(side.target, "db_collation", None) for side in sides)
        if connection.vendor == "mysql" and not own:
            return Exact(*sides).as_sql(compiler, connection)
        return Exact(*map(Lower, sides)).as_sql(compiler, connection)


# About somebody


def _of_kind(model: type[Model], owner: str, *, using: str) -> Q:
    """The condition that the content type is the principal model's, or that of a proxy or child of it."""
    path, _ = parsed(owner)
    types: QuerySet[Any, Any] = QuerySet(model=ContentType, using=using).filter(_labels(owner))
    name = columns_of(model, owner)[0].name
    return Q(**{f"{path}__{name}__in" if path else f"{name}__in": types.values("pk")})


def _labels(owner: str) -> Q:
    kinds = value_owners.kinds_of(_principal(owner))
    labels = (Q(app_label=kind._meta.app_label, model=kind._meta.model_name) for kind in kinds)
    return functools.reduce(operator.or_, labels)


def _number_path(model: type[Model], owner: str) -> str:
    path, name = parsed(owner)[0], columns_of(model, owner)[1].name
    return f"{path}__{name}" if path else name


def _number(owner: str) -> str:
    """A text that is in no other place of the statement."""
    return owner.encode().hex()


def _into(model: type[Model], owner: str) -> Translation:
    number, principal = columns_of(model, owner)[1], _principal(owner)

    def translate(key: Any, using: str) -> Any:
        try:
            value = number.get_prep_value(number.to_python(reference_of(principal, key)))
            return number.get_db_prep_value(value, connection_of(using), prepared=True)
        except (ValidationError, ValueError, TypeError, OverflowError):
            return None  # no number that this column could hold

    return translate


def _out_of(model: type[Model], owner: str) -> Translation:
    number, principal = columns_of(model, owner)[1], _principal(owner)

    def translate(value: Any, using: str) -> Any:
        if value is None:
            return None
        try:
            # MariaDB and MySQL take two texts for the same that differ in spaces at their ends.
            text = str(number.to_python(value)).rstrip(" ")
            key = key_of(principal, text, using=using)
            return key if reference_of(principal, key) == text else None
        except (ValidationError, ValueError, TypeError, OverflowError):
            return None

    return translate


def named_by(model: type[Model], rows: Sequence[Mapping[str, Any]], owner: str, *, using: str) -> list[Any]:
    """Of rows of ``model``, as raw values by column: the keys of principals whom they name by ``owner`` now, or None. Whom a list names
    are several: a tuple."""
    _, match = parsed(owner)
    columns = columns_of(model, owner)
    if isinstance(match, About):
        types = ContentType.objects.using(using).filter(_labels(owner)).values_list("pk", flat=True)
        known, translate = set(types), _out_of(model, owner)
        kind, number = columns
        return [translate(row[number.name], using) if row[kind.name] in known else None for row in rows]
    principal = apps.get_model(match.principal)
    if isinstance(match, ByElement):
        return _named_in_lists(match, columns[0], rows, principal, using=using)
    theirs = [their_column(principal, name) for _, name in match.pairs]
    first, whose = theirs[0].column, theirs[0].whose
    wanted = {row[columns[0].name] for row in rows} - {None, ""}
    texts = {value.lower() for value in wanted if isinstance(value, str)} if match.ignore_case else wanted
    people: QuerySet[Any, Any] = QuerySet(model=whose.model, using=using)
    people = people.annotate(edna_value=Lower(first.name)) if match.ignore_case else people
    found = people.filter(**{f"{'edna_value' if match.ignore_case else first.name}__in": texts})
    holders = {
        _folded(values): key
        for key, *values in found.order_by("-pk").values_list(whose.attname, *(each.column.attname for each in theirs))
    }
    return [holders.get(_folded([row[column.name] for column in columns])) for row in rows]


def _named_in_lists(
    match: ByElement, column: Field[Any, Any], rows: Sequence[Mapping[str, Any]], principal: type[Model], *, using: str
) -> list[Any]:
    theirs = their_column(principal, match.theirs)
    texts = [{match.same(value) for _, value in elements(row[column.name], match, column)} - {""} for row in rows]
    people: QuerySet[Any, Any] = QuerySet(model=theirs.whose.model, using=using)
    asked = "edna_value" if match.ignore_case and is_text(theirs.column) else theirs.column.name
    people = people.annotate(edna_value=Lower(theirs.column.name)) if asked == "edna_value" else people
    wanted = (
        set().union(*texts) if is_text(theirs.column) else {each for each in set().union(*texts) if each.isdecimal()}
    )
    found = people.filter(**{f"{asked}__in": wanted}).values_list(theirs.whose.attname, theirs.column.attname)
    holders: dict[str, list[Any]] = {}
    for key, value in found.order_by("pk") if wanted else ():
        holders.setdefault(match.same(value), []).append(key)
    return [tuple(key for text in sorted(each) for key in holders.get(text, ())) for each in texts]


def _folded(values: Sequence[Any]) -> tuple[str, ...]:
    """What the database takes for the same is the same here; it may have found more than that."""
    return tuple(str(value).strip().casefold() for value in values)


def _principal(owner: str) -> type[Model]:
    found: type[Model] = apps.get_model(parsed(owner)[1].principal)
    return found._meta.concrete_model or found
