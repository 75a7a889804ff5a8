"""Owners that no path of foreign keys leads to: a row names somebody by a value, or by a content type and the number of an object.

Such an owner stands in specifications, plans and records as a text, like a path, and may end one: ``ticket__[email=email of auth.user]``.
So a step that follows a relation to such rows is written as for any path. `by_value` and `about` write the text, `parsed` reads it.
Invariant: what is written is read as the same again, also from a record of earlier. Knows model definitions; reads no rows.
It is long: the text, its grammar and what it means as an expression stand or fall together.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db.models import CharField, Field, ForeignKey, ForeignObjectRel, JSONField, Model, TextField

from edna.errors import SpecError
from edna.json_keys import BETWEEN, EACH

_TEXT: Final = re.compile(
    r"\[(?:about (?P<about>[\w.]+)(?: by (?P<by>[\w+]+))?"
    r"|(?:(?P<pairs>\w+=[\w.]+(?:,\w+=[\w.]+)*)|(?P<value>[\w.]+) in (?P<place>\w+(?:\.(?:\w+|\*))+))"
    r"(?P<ignoring> ignoring case)?(?: of (?P<of>[\w.]+))?)\]"
)
#: What Django and most packages call the two columns of a generic key; the admin's history has no more than these.
_COLUMNS: Final = ("content_type", "object_id")


@dataclass(frozen=True)
class ByValue:
    """Columns of the row, each with the column of the principal that has the same value. ``principal`` is a model's label, or "" for
    the one principal model that there is."""

    pairs: tuple[tuple[str, str], ...]
    ignore_case: bool = False
    principal: str = ""

    def __str__(self) -> str:
        pairs = ",".join(f"{column}={theirs.replace('__', '.')}" for column, theirs in self.pairs)
        return f"[{pairs}{' ignoring case' * self.ignore_case}{f' of {self.principal}' if self.principal else ''}]"


@dataclass(frozen=True)
class ByElement:
    """A column of the principal, and the ``place`` of the same value in a document or a list of the row: a column, then keys, and ``*`` for
    each element. Whatever else stands there may be somebody else's."""

    place: tuple[str, ...]
    theirs: str
    ignore_case: bool = False
    principal: str = ""

    def __str__(self) -> str:
        of = f" of {self.principal}" if self.principal else ""
        return f"[{self.theirs.replace('__', '.')} in {'.'.join(self.place)}{' ignoring case' * self.ignore_case}{of}]"

    @property
    def column(self) -> str:
        return self.place[0]

    @property
    def element(self) -> tuple[str, ...]:
        """The place of what is the person's: the element in the innermost list, or the document."""
        last = max((at for at, part in enumerate(self.place) if part == EACH), default=0)
        return self.place[: last + 1]

    def same(self, value: Any) -> str:
        """A value as it is compared: on every database alike, for a document's texts have no collation."""
        text = str(value).strip()
        return text.casefold() if self.ignore_case else text


@dataclass(frozen=True)
class About:
    """The object that the row is about is the principal. ``by`` is a `GenericForeignKey`, or the two columns that say it; without, the only
    ones that there are."""

    principal: str
    by: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"[about {self.principal}{' by ' + '+'.join(self.by) if self.by else ''}]"


def by_value(
    column: str | Mapping[str, str],
    principal_column: str | None = None,
    *,
    ignore_case: bool = False,
    principal: type[Model] | None = None,
) -> str:
    """For ``owner``: whoever has in their row what stands in a column of this one, as ``by_value("submitter_email", "email")``.

    Several columns are a mapping, and all have to be the same. ``column`` may be a path to another row (``"ticket__submitter_email"``),
    and ``principal_column`` one of rows that refer to the principal (``"emailaddress__email"``). What is empty or NULL names nobody.
    The database compares as its collation says; with ``ignore_case``, without regard to case. ``principal`` says whose it is, if there
    are several principal models.

    Raises:
        SpecError: it does not say which columns.
    """
    pairs: dict[Any, Any] = dict(column) if isinstance(column, Mapping) else {column: principal_column}
    if not pairs or not all(
        isinstance(name, str) and re.fullmatch(r"\w+", name) for pair in pairs.items() for name in pair
    ):
        raise SpecError(
            'edna.by_value takes a column of the row and one of the principal: by_value("submitter_email", "email"), or '
            'by_value({"submitter_email": "email"}).'
        )
    paths = {name.rpartition("__")[0] for name in pairs}
    if len(paths) > 1:
        raise SpecError(f"edna.by_value: {', '.join(pairs)} are columns of different rows; name those of one.")
    (path,) = paths
    columns = tuple((name.rpartition("__")[2], str(theirs)) for name, theirs in pairs.items())
    return _ending(path, ByValue(columns, ignore_case, principal._meta.label_lower if principal else ""))


def by_element(
    place: str, principal_column: str, *, ignore_case: bool = False, principal: type[Model] | None = None
) -> str:
    """For ``owner`` of a `Modify`: whoever has in their row what stands in a list or a document of this one. Theirs is that element alone.

    ``place`` is a column, then keys and ``*`` for each element, as in ``set``: ``by_element("watchers__*", "email")`` for a list,
    ``by_element("people__*__mail", "email")`` for one of objects, ``by_element("meta__mail", "email")`` for a key. In a column of text,
    ``by_element("cc__*", "email")``, elements are what stands between commas, semicolons and line ends.

    Raises:
        SpecError: it does not say where.
    """
    parts = tuple(str(place).split(BETWEEN))
    keys = [part for part in parts[1:] if part != EACH]
    if len(parts) < 2 or not re.fullmatch(r"\w+", str(principal_column)):
        raise SpecError(
            'edna.by_element takes a place in a list or a document of the row, and a column of the principal: by_element("watchers__*", '
            '"email"). A column that has one value alone is edna.by_value\'s.'
        )
    if not all(re.fullmatch(r"\w*[^\W\d]\w*", key) for key in (parts[0], *keys)):
        raise SpecError(f"edna.by_element: {place!r} has a part that is no name; where an element stands is said by *.")
    return str(ByElement(parts, principal_column, ignore_case, principal._meta.label_lower if principal else ""))


def about(principal: type[Model], *, by: str | tuple[str, str] = "") -> str:
    """For ``owner``: the person whom a row is about by content type and number, as entries of the admin's history are.

    ``by`` names the `GenericForeignKey`, if the model has several, or the two columns: ``("content_type", "object_pk")``. It may be a
    path to another row.

    Raises:
        SpecError: it does not say which columns.
    """
    names = [by] if isinstance(by, str) else list(by)
    if by and not all(re.fullmatch(r"\w*[^\W_]", name) for name in names):
        raise SpecError(
            f"edna.about takes a generic key, or the two columns of one: by={by!r} is neither. Of another row: "
            'by="ticket__content_object", or by=("ticket__content_type", "ticket__object_id").'
        )
    paths = {name.rpartition("__")[0] for name in names}
    if len(paths) > 1:
        raise SpecError(f"edna.about: {', '.join(names)} are columns of different rows; name those of one.")
    last = tuple(name.rpartition("__")[2] for name in names if name)
    return _ending(paths.pop(), About(principal._meta.label_lower, last))


def along(path: str, owner: str, model: type[Model]) -> str:
    """The owner of rows that refer by ``path`` to rows of ``model``, whose owner this is. What `about` leaves to the model is said: from
    afar, nobody sees which columns there are."""
    if is_by_value(owner):
        before, match = parsed(owner)
        if isinstance(match, About) and not match.by:
            with suppress(SpecError, FieldDoesNotExist):
                owner = _ending(before, replace(match, by=_named_by(holder(model, owner))))
    return f"{path}__{owner}"


def spelled_out(owner: str, model: type[Model]) -> str:
    """The same text for the same columns of ``model``, however `about` names them."""
    if is_by_value(owner):
        path, match = parsed(owner)
        if isinstance(match, About):
            with suppress(SpecError, FieldDoesNotExist):
                return _ending(path, replace(match, by=generic_columns(holder(model, owner), match)))
    return owner


def _named_by(model: type[Model]) -> tuple[str, ...]:
    """What `about` has to name where it is not the row itself that has it: the key, or the columns of one that has no name."""
    columns = generic_columns(model, About(""))
    keys = [key.name for key in _generic_keys(model).values()]
    return (keys[0],) if keys else columns


def _ending(path: str, match: ByValue | ByElement | About) -> str:
    return f"{path}__{match}" if path else str(match)


# Reading it


def is_by_value(owner: str) -> bool:
    """Whether an owner, or the last part of one, is a match of values instead of a foreign key."""
    return owner.endswith("]")


@functools.lru_cache(maxsize=1024)
def parsed(owner: str) -> tuple[str, ByValue | ByElement | About]:
    """The path to the row that has the values, "" if it is the row itself, and what is compared there.

    Raises:
        SpecError: it is no such text.
    """
    path, _, last = owner.rpartition("__")
    found = _TEXT.fullmatch(last)
    if found is None:
        raise SpecError(f"{owner!r} is no owner: write it with edna.by_value or edna.about.")
    if found["about"]:
        return path, About(found["about"], tuple((found["by"] or "").split("+")) if found["by"] else ())
    if found["place"]:
        place, theirs = tuple(found["place"].split(".")), found["value"].replace(".", "__")
        return path, ByElement(place, theirs, bool(found["ignoring"]), found["of"] or "")
    pairs = [pair.split("=") for pair in found["pairs"].split(",")]
    columns = tuple((column, theirs.replace(".", "__")) for column, theirs in pairs)
    return path, ByValue(columns, bool(found["ignoring"]), found["of"] or "")


def element_of(owners: Sequence[str]) -> ByElement | None:
    """Where in rows the person's element stands, if that is how they are owned."""
    match = parsed(owners[0])[1] if len(owners) == 1 and is_by_value(owners[0]) else None
    return match if isinstance(match, ByElement) else None


def with_principal(owner: str, principal: type[Model]) -> str:
    """The owner, with the principal model named."""
    path, match = parsed(owner)
    return _ending(path, replace(match, principal=match.principal or principal._meta.label_lower))


def principal_of(owner: str, models: Sequence[type[Model]]) -> type[Model]:
    """Of which of the principal ``models`` the owner is; for `about`, whatever it names.

    Raises:
        SpecError: it does not say, or names no model.
    """
    _, match = parsed(owner)
    if match.principal:
        try:
            return apps.get_model(match.principal)
        except (LookupError, ValueError):
            raise SpecError(f"{written(owner)} names no model that is installed.") from None
    if len(models) != 1:
        raise SpecError(f"{written(owner)} does not say whose value it is: add principal=... to it.")
    return models[0]


def written(owner: str, *, named: Callable[[type[Model]], str] = lambda model: model.__name__) -> str:
    """The owner as code; of a path, its text. ``named`` is how models are called there."""
    if not is_by_value(owner):
        return json.dumps(owner)
    path, match = parsed(owner)
    prefix = f"{path}__" if path else ""
    if isinstance(match, About):
        names = [json.dumps(prefix + name) for name in match.by] or ([json.dumps(prefix)] if prefix else [])
        by = f", by={names[0]}" if len(names) == 1 else f", by=({', '.join(names)})" if names else ""
        return f"edna.about({_written_model(match.principal, named)}{by})"
    options = ", ignore_case=True" if match.ignore_case else ""
    options += f", principal={_written_model(match.principal, named)}" if match.principal else ""
    if isinstance(match, ByElement):
        return f"edna.by_element({json.dumps(BETWEEN.join(match.place))}, {json.dumps(match.theirs)}{options})"
    if len(match.pairs) == 1:
        ((column, theirs),) = match.pairs
        return f"edna.by_value({json.dumps(prefix + column)}, {json.dumps(theirs)}{options})"
    pairs = {prefix + column: theirs for column, theirs in match.pairs}
    return f"edna.by_value({json.dumps(pairs)}{options})"


def in_words(owner: str) -> str:
    """The owner in a sentence that goes on with "is the person"; of a path, the path."""
    if not is_by_value(owner):
        return owner
    path, match = parsed(owner)
    prefix = f"{path}__" if path else ""
    if isinstance(match, About):
        return f"{prefix}{match.by[0] if len(match.by) == 1 else 'object'}"
    if isinstance(match, ByElement):
        return (
            f"an element of {prefix}{BETWEEN.join(match.element).removesuffix(f'{BETWEEN}{EACH}')} (by {match.theirs})"
        )
    return " and ".join(f"{prefix}{column} (by {theirs})" for column, theirs in match.pairs)


def _written_model(label: str, named: Callable[[type[Model]], str]) -> str:
    try:
        return named(apps.get_model(label))
    except (LookupError, ValueError):
        return label


# In the models


def holder(model: type[Model], owner: str) -> type[Model]:
    """The model whose row has the values: the one at the end of the path.

    Raises:
        SpecError, django.core.exceptions.FieldDoesNotExist
    """
    path, _ = parsed(owner)
    for name in path.split("__") if path else ():
        field = model._meta.get_field(name)
        related = field.related_model
        if not isinstance(related, type):
            raise SpecError(f"{model._meta.label}.{name} {_why_nothing_is_there(field)}")
        model = related
    return model


def _why_nothing_is_there(field: object) -> str:
    if isinstance(field, JSONField):
        return "is a JSON document: edna.by_element says where in it somebody is named, for a Modify"
    return "is no foreign key, so the path ends there"


def columns_of(model: type[Model], owner: str) -> tuple[Field[Any, Any], ...]:
    """The columns that are compared, where they stand: for `about`, content type and number.

    Raises:
        SpecError, django.core.exceptions.FieldDoesNotExist
    """
    _, match = parsed(owner)
    here = holder(model, owner)
    if isinstance(match, ByElement):
        names: Sequence[str] = [match.column]
    else:
        names = generic_columns(here, match) if isinstance(match, About) else [column for column, _ in match.pairs]
    columns = tuple(here._meta.get_field(name) for name in names)
    if any(not isinstance(column, Field) or not column.concrete for column in columns):
        raise SpecError(f"{written(owner)}: {here._meta.label} has no column of that name.")
    if len({column.model for column in columns}) > 1:
        raise SpecError(f"{written(owner)}: these columns lie in different tables, which cannot be compared at once.")
    return columns  # type: ignore[return-value]


def own_columns(model: type[Model], owners: Sequence[str]) -> list[str]:
    """Columns of ``model`` itself by which ``owners`` are found; none of paths, and none where `edna.E106` speaks. Nor of elements: whoever
    writes another one beside does not change whose these are."""
    names: list[str] = []
    for owner in owners:
        if is_by_value(owner) and not parsed(owner)[0] and not isinstance(parsed(owner)[1], ByElement):
            try:
                names += [column.name for column in columns_of(model, owner)]
            except (SpecError, FieldDoesNotExist):
                continue
    return names


def generic_columns(model: type[Model], match: About) -> tuple[str, str]:
    """The content type's column and the number's.

    Raises:
        SpecError: there is none, or one of several.
    """
    if len(match.by) == 2:
        return match.by[0], match.by[1]
    keys = _generic_keys(model)
    names = {field.name for field in model._meta.concrete_fields}
    if match.by and match.by[0] in keys:
        key = keys[match.by[0]]
    elif not match.by and len(keys) == 1:
        (key,) = keys.values()
    elif not match.by and not keys and names.issuperset(_COLUMNS):
        return _COLUMNS
    elif not match.by and keys:
        raise SpecError(
            f"{model._meta.label} has {len(keys)} generic keys: say which, by={' or '.join(map(json.dumps, sorted(keys)))}."
        )
    elif not match.by:
        raise SpecError(
            f"{model._meta.label} has no generic key, and no columns content_type and object_id; so its rows do not say what they are "
            "about, unless two columns of other names do."
        )
    else:
        raise SpecError(f"{model._meta.label} has no generic key {match.by[0]!r}; it has {', '.join(keys) or 'none'}.")
    return key.ct_field, key.fk_field


def _generic_keys(model: type[Model]) -> dict[str, Any]:
    # Not above: a specification may be imported before there are any models.
    from django.contrib.contenttypes.fields import GenericForeignKey

    return {key.name: key for key in model._meta.private_fields if isinstance(key, GenericForeignKey)}


def kinds_of(model: type[Model]) -> Iterator[type[Model]]:
    """The models whose content type means the same row under the same key: proxies, and children that have the key of their parent."""
    concrete = model._meta.concrete_model or model
    for each in apps.get_models(include_auto_created=True):
        own = each._meta.concrete_model or each
        if own is concrete or (issubclass(own, concrete) and _key_of(own, concrete)):
            yield each


def _key_of(child: type[Model], parent: type[Model]) -> bool:
    while child is not parent:
        key = child._meta.pk
        if (
            not isinstance(key, ForeignKey)
            or not key.remote_field.parent_link
            or not isinstance(key.related_model, type)
        ):
            return False
        child = key.related_model._meta.concrete_model or key.related_model
    return True


@dataclass(frozen=True)
class Theirs:
    """Where principals have a value that rows name them by: a column, and the one that says whose it is."""

    column: Field[Any, Any]
    whose: Field[Any, Any]


def their_column(principal: type[Model], name: str) -> Theirs:
    """
    Raises:
        SpecError, django.core.exceptions.FieldDoesNotExist
    """
    meta = (principal._meta.concrete_model or principal)._meta
    first, _, rest = name.partition("__")
    field: Any = meta.pk if name == "pk" else meta.get_field(first)
    if not rest and isinstance(field, Field) and field.concrete and field.model._meta.concrete_model is meta.model:
        return Theirs(field, meta.pk)
    if isinstance(field, ForeignObjectRel) and rest and isinstance(field.field, ForeignKey):
        their = field.field.model._meta
        column: Any = their.pk if rest == "pk" else their.get_field(rest)
        local = column in their.local_concrete_fields and field.field in their.local_fields
        if local and field.field.target_field.primary_key:
            return Theirs(column, field.field)
    own = isinstance(field, ForeignKey) and rest in ("pk", field.target_field.name)
    instead = f" That key stands in the account itself: write {first!r}." if own else ""
    raise SpecError(
        f"{meta.label} has no column {name!r}, nor have rows that refer to it; principals cannot be found by it.{instead}"
    )


def their_columns(owner: str, principal: type[Model]) -> list[Field[Any, Any]]:
    """The columns of principals with which an owner by value is compared; of one that a row is about, none.

    Raises:
        SpecError, django.core.exceptions.FieldDoesNotExist
    """
    _, match = parsed(owner)
    return [their_column(principal, theirs).column for theirs in compared(match)]


def compared(match: ByValue | ByElement | About) -> list[str]:
    """What principals have in common with their rows."""
    if isinstance(match, ByElement):
        return [match.theirs]
    return [theirs for _, theirs in match.pairs] if isinstance(match, ByValue) else []


def is_text(field: Field[Any, Any]) -> bool:
    return isinstance(field, (CharField, TextField))
