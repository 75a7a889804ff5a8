"""What the developer writes: disguises, their transformations, and how pseudoprincipals are filled in.

A specification is data. It knows the application's models and Django's ``Q``; it knows nothing of keys, bags or edna's
own tables, and it does not run anything.
A little long: these are the words of one language, and are read together.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import re
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final

from django.conf import settings
from django.db.models import (
    NOT_PROVIDED,
    BinaryField,
    DateField,
    DateTimeField,
    Expression,
    Field,
    ForeignKey,
    JSONField,
    Model,
    Q,
    TimeField,
)
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.functional import Promise
from django.utils.text import capfirst

from edna import json_keys
from edna.errors import InvalidParameters, SpecError
from edna.placeholders import Placeholder, as_placeholder, constant, null
from edna.value_owners import is_by_value, is_text

NAME_PATTERN: Final = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*", re.ASCII)
#: Every pseudoprincipal was "born" now: an instant that carries nothing.
EPOCH: Final = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
PARAMETER_TYPES: Final = (int, str, bool, float, decimal.Decimal, datetime.date, datetime.datetime, uuid.UUID)


class All:
    def __repr__(self) -> str:
        return "edna.ALL"


ALL: Final = All()


class Return(enum.Enum):
    """What ``returning`` says beside values."""

    AS_IT_WAS = "as it was"
    NOTHING = "nothing"

    def __repr__(self) -> str:
        return f"edna.{self.name}"


#: Comes back as it was sealed, and that is meant.
AS_IT_WAS: Final = Return.AS_IT_WAS
#: Does not come back.
NOTHING: Final = Return.NOTHING


class When(enum.Enum):
    """When several owners give something up, unless with the first of them who leaves."""

    ALL_LEFT = "all left"
    ANY_LEFT = "any left"

    def __repr__(self) -> str:
        return f"edna.{self.name}"


#: With the last natural owner who leaves.
ALL_LEFT: Final = When.ALL_LEFT
#: With the first, and that is meant.
ANY_LEFT: Final = When.ANY_LEFT


class Param(Expression):
    """A place in ``where`` that takes the parameter's value when the disguise is applied: ``Q(lecture=Param("lecture"))``.

    Bound as a statement parameter, never spliced into SQL.
    """

    allowed_default = False

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __repr__(self) -> str:
        return f"Param({self.name!r})"

    def resolve_expression(self, *args: Any, **kwargs: Any) -> Param:
        return self

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        return "%s", [self]


@dataclass(frozen=True, eq=False)
class _Owned:
    """``owner`` is a foreign key to the principal model, a path to one, or several of them; without, the row is the principal's own.
    Where no path leads to a person, `edna.by_value` and `edna.about` say who it is.

    ``one_owner`` says that each row has one owner, although the path could lead to several, as that from an address by the orders to
    their customer. ``reads_whole_table`` says that an owner by value needs no index, as of a small table. Both change nothing and
    silence a check.
    """

    model: type[Model]
    owner: str | Sequence[str] | None = None
    one_owner: bool = field(default=False, kw_only=True)
    reads_whole_table: bool = field(default=False, kw_only=True)

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """The owner paths, in the order written."""
        if self.owner is None:
            return ()
        return (self.owner,) if isinstance(self.owner, str) else tuple(self.owner)

    @cached_property
    def owner_paths(self) -> tuple[str, ...]:
        """As `owners`, with the primary key where the row is the principal's own."""
        return self.owners or ("pk",)


@dataclass(frozen=True, eq=False)
class Remove(_Owned):
    """Delete the rows that the principal owns. Without ``owner``, the model is the principal's own.

    Of several steps with other owners, ``when=ANY_LEFT`` says that it is meant: the row goes with whoever leaves first.

    With several owners the row is *shared*: it goes when the last natural owner gives it up, and until then only the
    principal's own columns are re-pointed to pseudoprincipals.

    ``returning`` says on which terms rows come back: a mapping gives columns other values than the sealed ones (values, placeholders,
    or `AS_IT_WAS`; of a row in several tables, columns of any of them), `NOTHING` drops the rows, `AS_IT_WAS` says that all of it is meant
    to return. What counts is what the specification says on the day of the reveal, so it also holds for people who left before it said so.
    """

    where: Q | None = None
    when: When | None = field(default=None, kw_only=True)
    returning: Mapping[str, Placeholder | Any] | Return | None = None

    @property
    def comes_back(self) -> bool:
        return self.returning is not NOTHING

    @property
    def values_on_return(self) -> dict[str, Placeholder]:
        """What stands in columns instead of what was sealed."""
        said = self.returning if isinstance(self.returning, Mapping) else {}
        return {name: as_placeholder(value) for name, value in said.items() if value is not AS_IT_WAS}


@dataclass(frozen=True, eq=False)
class Modify(_Owned):
    """Replace column values by placeholders. A row with several owners is modified for the first of them that is meant, and comes back
    with the last; ``when=ALL_LEFT`` says the other way: with the last natural owner who leaves, and with whoever comes back first.

    ``set`` names columns, or single keys of JSON columns as lookups write them: ``{"meta__author__name": "[deleted]"}``. A number is a
    position, where it meets a list, and ``*`` each element of it. A document that has no such key stays as it is.
    """

    set: Mapping[str, Placeholder | Any] = field(default_factory=dict)
    where: Q | None = None
    when: When | None = field(default=None, kw_only=True)

    @property
    def waits_for_all(self) -> bool:
        """Whether a row stays as it is while one of its owners is there."""
        return self.when is ALL_LEFT and len(self.owners) > 1

    @cached_property
    def placeholders(self) -> dict[str, Placeholder]:
        return {name: as_placeholder(value) for name, value in self.set.items()}

    @property
    def asks_each_owner(self) -> bool:
        """Whether what is put in place depends on which of several owners it is done for."""
        several = len(self.owners) > 1 and not self.waits_for_all
        return several and any(placeholder.person for placeholder in self.placeholders.values())

    @cached_property
    def for_each_owner(self) -> tuple[Modify, ...]:
        """Once for each of its owners: the same steps, whoever asks."""
        return tuple(dataclasses.replace(self, owner=owner) for owner in self.owners)


@dataclass(frozen=True, eq=False)
class Decorrelate(_Owned):
    """Re-point ``owner`` to pseudoprincipals: one per row, one per distinct value of ``group_by``, or one for ``ALL``.

    Of several owners, each is re-pointed for itself, where it is the principal. Steps, and owners of one, that are ``together`` by the same
    word share pseudoprincipals where their groups have the same values: ``group_by=["pk"]`` of topics and ``["topic"]`` of posts.
    """

    where: Q | None = None
    group_by: Sequence[str] | All = ()
    together: str | None = None

    @property
    def column(self) -> str:
        """The one owner; `Disguise.steps` makes a step of each."""
        (name,) = self.owners
        return name

    @property
    def group_paths(self) -> tuple[str, ...]:
        return () if isinstance(self.group_by, All) else tuple(self.group_by)

    @cached_property
    def for_each_owner(self) -> tuple[Decorrelate, ...]:
        """Once for each of its owners: the same steps, whoever asks."""
        if len(self.owners) <= 1:
            return (self,)
        return tuple(dataclasses.replace(self, owner=owner) for owner in self.owners)


@dataclass(frozen=True, eq=False)
class Keep:
    """Says that ``model.field`` may stay as it is: go on pointing at a removed row, or hold what looks personal. Changes nothing;
    silences the checks, and `edna_audit` reports ``why``."""

    model: type[Model]
    field: str
    why: str = ""

    def __init__(self, model: type[Model], *fields: str, field: str | None = None, why: str = "") -> None:
        """
        Raises:
            SpecError: it is not one field.
        """
        names = [*fields, *([field] if field is not None else [])]
        if len(names) != 1:
            steps = " and ".join(f'Keep({getattr(model, "__name__", model)}, "{name}", ...)' for name in names)
            raise SpecError(
                f"edna.Keep is about one field, and {len(names)} are given; why is given by name. Write "
                + (f"a step for each: {steps}." if names else 'Keep(Model, "field", why="...").')
            )
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "field", names[0])
        object.__setattr__(self, "why", why)


Transformation = Remove | Modify | Decorrelate
TRANSFORMATIONS: Final = (Remove, Modify, Decorrelate)


class Pseudoprincipal:
    """How to fill the row of a placeholder user: ``values`` maps field names to values or placeholders.

    Fields that ``values`` leaves out become NULL where they may, otherwise their constant default, otherwise the empty
    value of their type; times become a fixed instant, because a row's age would tie together what was made together.

    ``companions`` maps models of which the application expects a row beside every user to such ``values`` of their own:
    ``{Profile: {"bio": ""}}``. None in their place says that a model which looks so needs none.
    """

    model: ClassVar[type[Model]]
    values: ClassVar[Mapping[str, Any]] = {}
    companions: ClassVar[Mapping[type[Model], Mapping[str, Any] | None]] = {}


def filler(values: Mapping[str, Any], field: Field[Any, Any], *, said: str) -> Placeholder:
    """What fills ``field`` in the rows that these ``values`` describe; ``said`` is how a message calls them.

    Raises:
        SpecError: neither they nor the field say.
    """
    if field.name in values:
        return as_placeholder(values[field.name])
    if isinstance(field, (DateField, TimeField)):
        return null() if field.null else constant(_instant(field))
    if field.null:
        return null()
    if not field.unique:
        if field.default is not NOT_PROVIDED and not callable(field.default):
            return constant(field.default)
        if field.default in (dict, list):
            return constant(field.default())
        # `blank` says that a form may leave it empty, not that the column has an empty value: a number has none.
        if field.empty_strings_allowed and not isinstance(field, ForeignKey):
            return constant(b"" if isinstance(field, BinaryField) else "")
    raise SpecError(
        f"{said} does not say how to fill {field.model._meta.label}.{field.name}, "
        "which has no default, may not be NULL, or must be unique: give it a value or a placeholder."
    )


def _instant(field: Field[Any, Any]) -> Any:
    if isinstance(field, DateTimeField):
        # A database takes no time zone of a site that has none.
        return EPOCH if settings.USE_TZ else EPOCH.replace(tzinfo=None)
    return EPOCH.date() if isinstance(field, DateField) else EPOCH.time()


class Disguise:
    """One named disguise. ``title`` and ``description`` are what people and operators read of it; without, its name and its docstring.

    ``self_service`` says that people may apply it on the pages of `edna.pages`, each to themselves: True, or the values of its ``params``.

    ``applies_to`` says who may apply it: ``"self"`` (each user for themselves) or ``"staff"``.
    ``locators`` overrides ``EDNA["LOCATORS"]`` for this disguise. ``references`` says, per ``"app.Model.field"``, what a reveal
    does with rows that came to refer to a pseudoprincipal since: ``"restore"`` to the owner (the default), ``"delete"``, or
    ``"retain"`` on the pseudoprincipal. ``accepts`` says, per ``"app.Model"``, for which reasons a reveal gives up a row that it would
    hold: what others did then stands, and the record is erased (`Reason` lists them).
    ``audience`` names an audience (`edna.audiences`) of whom ``together`` members, acting together, can read what this takes away;
    without it nobody but the person can. ``audience_without`` says, per ``"app.Model"``, which columns these do not get to read;
    a password's hash and its like they never do.
    ``asks_for_key`` says whether pages open the person's key before they apply it: without, what
    another disguise has given to pseudoprincipals stays as it is. ``policy`` names the policy of ``EDNA["POLICIES"]`` that is needed,
    besides the person's key, to open what it seals.
    """

    name: ClassVar[str]
    params: ClassVar[Mapping[str, type]] = {}
    transformations: ClassVar[Sequence[Transformation | Keep]] = ()
    pseudoprincipal: ClassVar[type[Pseudoprincipal] | None] = None
    locators: ClassVar[str | None] = None
    applies_to: ClassVar[str] = "self"
    references: ClassVar[Mapping[str, str]] = {}
    accepts: ClassVar[Mapping[str, Collection[str]]] = {}
    asks_for_key: ClassVar[bool | None] = None
    audience: ClassVar[str | None] = None
    together: ClassVar[int] = 2
    audience_without: ClassVar[Mapping[str, Collection[str]]] = {}
    title: ClassVar[str | Promise] = ""
    description: ClassVar[str | Promise] = ""
    self_service: ClassVar[bool | Mapping[str, Any]] = False
    policy: ClassVar[str | None] = None

    @classmethod
    def steps(cls) -> list[Transformation]:
        """The transformations in order, a `Decorrelate` of several owners as one for each."""
        steps: list[Transformation] = []
        for step in cls.transformations:
            if isinstance(step, Decorrelate):
                steps += step.for_each_owner
            elif isinstance(step, TRANSFORMATIONS):
                steps.append(step)
        return steps

    @classmethod
    def removals(cls) -> list[Remove]:
        return [step for step in cls.transformations if isinstance(step, Remove)]

    @classmethod
    def kept(cls) -> list[Keep]:
        return [step for step in cls.transformations if isinstance(step, Keep)]

    @classmethod
    def called(cls) -> str:
        """Its title: "school.delete-account" without one is "Delete account"."""
        return str(cls.title) or title_of(cls.name)

    @classmethod
    def described(cls) -> str:
        return str(cls.description) or " ".join((cls.__doc__ or "").split())

    @classmethod
    def is_offered(cls) -> bool:
        """Whether people may apply it by themselves, on pages that are not written for it."""
        has_values = isinstance(cls.self_service, Mapping) or (cls.self_service is True and not cls.params)
        return has_values and cls.applies_to == "self"


def title_of(name: str) -> str:
    """What people read of a disguise that has no title: of ``school.delete-account``, "Delete account"."""
    return capfirst(re.sub(r"[_-]", " ", name.rpartition(".")[2]))


def validated_name(name: Any) -> str:
    """``name`` if it can stand in a receipt: lower-case letters, digits, and single ``.``, ``_`` or ``-`` between them."""
    if not isinstance(name, str) or len(name) > 100 or not NAME_PATTERN.fullmatch(name):
        raise SpecError(
            f"{name!r} is no disguise name: use at most 100 of a-z, 0-9 and . _ - between them, such as shop.delete-account."
        )
    return name


def validated_params(disguise: type[Disguise], params: Mapping[str, Any] | None) -> dict[str, Any]:
    """``params`` if they are exactly the declared ones, each of its declared type.

    Raises:
        InvalidParameters: one is missing, unknown or of another type.
    """
    given = dict(params or {})
    expected = ", ".join(f"{name}: {kind.__name__}" for name, kind in disguise.params.items()) or "none"
    for name in disguise.params:
        if name not in given:
            raise InvalidParameters(f"{disguise.name} needs the parameter {name!r}. It takes: {expected}.")
    for name, value in given.items():
        if name not in disguise.params:
            raise InvalidParameters(f"{disguise.name} has no parameter {name!r}. It takes: {expected}.")
        # bool is an int to Python, and datetime a date; to a database they are not.
        if type(value) is not disguise.params[name]:
            raise InvalidParameters(
                f"{disguise.name}: the parameter {name!r} must be {disguise.params[name].__name__}, not {type(value).__name__}."
            )
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise InvalidParameters(
                f"{disguise.name}: the parameter {name!r} is beyond 64 bits; no column is that wide."
            )
        if isinstance(value, str) and "\0" in value:
            raise InvalidParameters(
                f"{disguise.name}: the parameter {name!r} holds a NUL, which not every database takes."
            )
    return given


def parsed_params(disguise: type[Disguise], texts: Mapping[str, str]) -> dict[str, Any]:
    """Parameters from a command line or a form, converted to their declared types and validated.

    Raises:
        InvalidParameters: as `validated_params`, or a text does not read as its type.
    """
    parsers: dict[type, Any] = {bool: _parse_bool, datetime.date: parse_date, datetime.datetime: parse_datetime}
    values: dict[str, Any] = dict(texts)
    for name, text in texts.items():
        if name in disguise.params:
            kind = disguise.params[name]
            try:
                values[name] = parsers.get(kind, kind)(text)
            except (ValueError, decimal.InvalidOperation):
                values[name] = None
            if values[name] is None:
                raise InvalidParameters(f"{disguise.name}: the parameter {name!r} does not read as {kind.__name__}.")
    return validated_params(disguise, values)


def _parse_bool(text: str) -> bool | None:
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower())


def model_field(model: type[Model], name: str) -> Field[Any, Any]:
    """The concrete field called ``name``, or the JSON column of which it names a single key.

    Raises:
        django.core.exceptions.FieldDoesNotExist
    """
    if is_by_value(name):
        raise SpecError(
            f"{model._meta.label}: what names somebody by value cannot be given to a pseudoprincipal. Replace the value with Modify, or "
            "Remove the row."
        )
    column = model._meta.get_field(json_keys.column(name))
    if not isinstance(column, Field):
        raise SpecError(f"{model._meta.label}.{name} is a relation from elsewhere, not a column of this table.")
    element = is_text(column) and json_keys.is_element_of_text(name)
    if json_keys.is_key(name) and not isinstance(column, JSONField) and not element:
        raise SpecError(
            f"{model._meta.label}.{name} is no key of a JSON column: {column.name} is a {type(column).__name__}."
        )
    return column
