"""Kinds of fields: each says once what may stand in a request or an answer, and both reads it and describes it.

Keeps: what does not fit is refused, and what is refused is named by its place, never by what is in it. Knows JSON, and no noun of edna's.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from edna.errors import RequestRefused

Schema = dict[str, Any]


class Field:
    """What may stand at one place."""

    @property
    def says(self) -> str:
        """Completes the sentence "it must be ..."."""
        raise NotImplementedError

    def read(self, value: Any, name: str) -> Any:
        """What a route works with.

        Raises:
            RequestRefused: it is something else.
        """
        raise NotImplementedError

    def schema(self) -> Schema:
        """As JSON Schema has it."""
        raise NotImplementedError

    def refuse(self, name: str) -> RequestRefused:
        return RequestRefused(f"{name!r} must be {self.says}.", status=HTTPStatus.BAD_REQUEST)


@dataclass(frozen=True)
class Text(Field):
    most: int | None = None
    least: int = 1
    among: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        if self.among:
            return f"one of {', '.join(self.among)}"
        return "a text" if self.most is None else f"a text of {self.least} to {self.most} characters"

    def read(self, value: Any, name: str) -> str:
        fits = isinstance(value, str) and self.least <= len(value) and (self.most is None or len(value) <= self.most)
        if not fits or (self.among and value not in self.among):
            raise self.refuse(name)
        return str(value)

    def schema(self) -> Schema:
        if self.among:
            return {"type": "string", "enum": [*self.among]}
        most = {} if self.most is None else {"maxLength": self.most}
        return {"type": "string", "minLength": self.least, **most}


@dataclass(frozen=True)
class Binary(Field):
    """Bytes, which JSON has as base 64: so many, a multiple of ``pieces``, at most so many, or any number."""

    size: int | None = None
    pieces: int = 1
    most: int | None = None

    @property
    def says(self) -> str:
        if self.size is not None:
            return f"{self.size} bytes, in base 64"
        return f"at most {self.most} bytes, in base 64" if self.most else f"pieces of {self.pieces} bytes, in base 64"

    def read(self, value: Any, name: str) -> bytes:
        found = _from_base64(value)
        if (
            found is None
            or len(found) % self.pieces
            or self.size not in (None, len(found))
            or (self.most is not None and len(found) > self.most)
        ):
            raise self.refuse(name)
        return found

    def schema(self) -> Schema:
        said: Schema = {"type": "string", "contentEncoding": "base64"}
        if self.size is not None:
            padding = -self.size % 3
            letters = (self.size + padding) // 3 * 4 - padding
            return {**said, "pattern": f"^[A-Za-z0-9+/]{{{letters}}}{'=' * padding}$"}
        if self.most is not None:
            return {**said, "maxLength": (self.most + 2) // 3 * 4}
        return said if self.pieces == 1 else {**said, "description": f"Pieces of {self.pieces} bytes."}


@dataclass(frozen=True)
class Truth(Field):
    @property
    def says(self) -> str:
        return "true or false"

    def read(self, value: Any, name: str) -> bool:
        if not isinstance(value, bool):
            raise self.refuse(name)
        return value

    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Number(Field):
    @property
    def says(self) -> str:
        return "a whole number, not below 0"

    def read(self, value: Any, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.refuse(name)
        return int(value)

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": 0}


@dataclass(frozen=True)
class Key(Field):
    """A primary key: several values are one of several columns."""

    @property
    def says(self) -> str:
        return "a text, a number, or a list of these"

    def read(self, value: Any, name: str) -> str | int | tuple[str | int, ...]:
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(each, str | int) and not isinstance(each, bool) for each in values):
            raise self.refuse(name)
        return tuple(values) if isinstance(value, list) else values[0]

    def schema(self) -> Schema:
        one = {"type": ["string", "integer"]}
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


@dataclass(frozen=True)
class Anything(Field):
    @property
    def says(self) -> str:
        return "anything"

    def read(self, value: Any, name: str) -> Any:
        return value

    def schema(self) -> Schema:
        return {}


@dataclass(frozen=True)
class OrNull(Field):
    field: Field

    @property
    def says(self) -> str:
        return f"null, or {self.field.says}"

    def read(self, value: Any, name: str) -> Any:
        if value is None:
            return None
        try:
            return self.field.read(value, name)
        except RequestRefused:
            raise self.refuse(name) from None

    def schema(self) -> Schema:
        return {"anyOf": [{"type": "null"}, self.field.schema()]}


@dataclass(frozen=True)
class Either(Field):
    one: Field
    other: Field

    @property
    def says(self) -> str:
        return f"{self.one.says}; or {self.other.says}"

    def read(self, value: Any, name: str) -> Any:
        for kind in (self.one, self.other):
            try:
                return kind.read(value, name)
            except RequestRefused:
                continue
        raise self.refuse(name)

    def schema(self) -> Schema:
        return {"anyOf": [self.one.schema(), self.other.schema()]}


@dataclass(frozen=True)
class ListOf(Field):
    field: Field
    most: int | None = None
    least: int = 0

    @property
    def says(self) -> str:
        return "a list" if self.most is None else f"a list of {self.least} to {self.most}"

    def read(self, value: Any, name: str) -> list[Any]:
        fits = isinstance(value, list) and self.least <= len(value) and (self.most is None or len(value) <= self.most)
        if not fits:
            raise self.refuse(name)
        return [self.field.read(each, f"{name}[]") for each in value]

    def schema(self) -> Schema:
        most = {} if self.most is None else {"maxItems": self.most}
        return {"type": "array", "items": self.field.schema(), "minItems": self.least, **most}


@dataclass(frozen=True)
class MapOf(Field):
    """An object with any names."""

    field: Field
    most: int | None = None

    @property
    def says(self) -> str:
        return "an object" if self.most is None else f"an object of at most {self.most}"

    def read(self, value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict) or (self.most is not None and len(value) > self.most):
            raise self.refuse(name)
        return {each: self.field.read(value[each], f"{name}.*") for each in value}

    def schema(self) -> Schema:
        most = {} if self.most is None else {"maxProperties": self.most}
        return {"type": "object", "additionalProperties": self.field.schema(), **most}


@dataclass(frozen=True)
class Object(Field):
    """An object with these names. Those of ``defaults`` may be left out; others that are sent are not looked at."""

    fields: Mapping[str, Field]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def says(self) -> str:
        return "an object"

    def read(self, value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.refuse(name or "It")
        within = f"{name}." if name else ""
        return {
            each: self.defaults[each]
            if each in self.defaults and each not in value
            else kind.read(value.get(each), f"{within}{each}")
            for each, kind in self.fields.items()
        }

    def schema(self) -> Schema:
        properties = {
            name: {
                **kind.schema(),
                **({"default": self.defaults[name]} if self.defaults.get(name) not in (None, b"") else {}),
            }
            for name, kind in self.fields.items()
        }
        required = [name for name in self.fields if name not in self.defaults]
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def choice(among: Collection[str]) -> Text:
    return Text(among=tuple(among))


#: A key, a lookup, an index, a locator: all are of this size.
KEY: Final = Binary(32)
#: A public key that things are sealed to: of X25519, or of the hybrid kind as X-Wing has it.
WHOLE_KEY: Final = Either(KEY, Binary(1216))
LABEL: Final = Text(200)


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _from_base64(value: object) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except ValueError:
        return None
