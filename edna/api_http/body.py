"""What was sent, field by field: of the type and size that a route asks for, or refused. Messages name fields, never what is in them."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from edna.errors import RequestRefused

_LABEL_CHARACTERS: Final = 200


class Body:
    """A JSON object."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = content

    def __repr__(self) -> str:
        return "<Body withheld>"

    def text(self, name: str, *, most: int) -> str:
        """
        Raises:
            RequestRefused: there is none, or a longer one.
        """
        value = self._content.get(name)
        if not isinstance(value, str) or not 0 < len(value) <= most:
            raise _refused(f"{name!r} must be a text of 1 to {most} characters.")
        return value

    def binary(self, name: str, *, size: int) -> bytes:
        """Bytes, which JSON has as base 64.

        Raises:
            RequestRefused: there are none, or not so many.
        """
        value = _from_base64(self._content.get(name))
        if value is None or len(value) != size:
            raise _refused(f"{name!r} must be {size} bytes, in base 64.")
        return value

    def binaries(self, name: str, *, size: int, most: int) -> list[bytes]:
        """
        Raises:
            RequestRefused: it is no list of at least one and at most so many, or one of them has another size.
        """
        found = [_from_base64(value) for value in self._list(name, most=most)]
        sound = [value for value in found if value is not None and len(value) == size]
        if len(sound) < len(found):
            raise _refused(f"Each of {name!r} must be {size} bytes, in base 64.")
        return sound

    def varied_binaries(self, name: str, *, most: int, most_bytes: int) -> list[bytes]:
        """Bytes of any length, of which there may be none; none if it is left out.

        Raises:
            RequestRefused: there are others, more, or longer ones.
        """
        found = [_from_base64(value) for value in self._list(name, most=most, least=0)] if self.has(name) else []
        sound = [value for value in found if value is not None and len(value) <= most_bytes]
        if len(sound) < len(found):
            raise _refused(f"Each of {name!r} must be at most {most_bytes} bytes, in base 64.")
        return sound

    def pieces(self, name: str, *, size: int) -> list[bytes]:
        """Bytes, in base 64, as pieces of this size.

        Raises:
            RequestRefused: there are none such, or a part of one is over.
        """
        value = _from_base64(self._content.get(name))
        if value is None or len(value) % size:
            raise _refused(f"{name!r} must be pieces of {size} bytes, in base 64.")
        return [value[start : start + size] for start in range(0, len(value), size)]

    def answers(self, name: str, *, sizes: Collection[int], count: int) -> list[bytes | None]:
        """So many, each null, None, or of one of these sizes.

        Raises:
            RequestRefused: there are others.
        """
        value = self._content.get(name)
        if not isinstance(value, list) or len(value) != count:
            raise _refused(f"{name!r} must be a list of {count}.")
        found = [None if each is None else _from_base64(each) or b"" for each in value]
        if any(raw is not None and len(raw) not in sizes for raw in found):
            raise _refused(f"Each of {name!r} must be null, or {' or '.join(map(str, sizes))} bytes, in base 64.")
        return found

    def optional_binaries(self, name: str, *, size: int, count: int) -> list[bytes | None]:
        """So many, of which each may be null: None.

        Raises:
            RequestRefused: there are others.
        """
        value = self._content.get(name)
        if not isinstance(value, list) or len(value) != count:
            raise _refused(f"{name!r} must be a list of {count}.")
        found = [None if each is None else _from_base64(each) for each in value]
        if any(each is not None and (raw is None or len(raw) != size) for each, raw in zip(value, found, strict=True)):
            raise _refused(f"Each of {name!r} must be null, or {size} bytes in base 64.")
        return found

    def labels(self, name: str, *, most: int, least: int = 1) -> list[str]:
        """None if it is left out, and may be empty.

        Raises:
            RequestRefused: it is no list of at least one, unless told otherwise, and at most so many short texts.
        """
        found = self._list(name, most=most, least=least) if least or self.has(name) else []
        if not all(isinstance(value, str) and len(value) <= _LABEL_CHARACTERS for value in found):
            raise _refused(f"Each of {name!r} must be a text of at most {_LABEL_CHARACTERS} characters.")
        return list(found)

    def truth(self, name: str) -> bool:
        """
        Raises:
            RequestRefused: it is neither true nor false, nor left out.
        """
        value = self._content.get(name, False)
        if not isinstance(value, bool):
            raise _refused(f"{name!r} must be true or false.")
        return value

    def has(self, name: str) -> bool:
        return name in self._content

    def key(self, name: str) -> str | int | tuple[str | int, ...]:
        """A primary key, as JSON has it: several values are one of several columns.

        Raises:
            RequestRefused: it is none.
        """
        value = self._content.get(name)
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(each, str | int) and not isinstance(each, bool) for each in values):
            raise _refused(f"{name!r} must be a text, a number, or a list of these.")
        return tuple(values) if isinstance(value, list) else values[0]

    def choice(self, name: str, among: Collection[str]) -> str:
        """
        Raises:
            RequestRefused: it is none of them.
        """
        value = self._content.get(name)
        if not isinstance(value, str) or value not in among:
            raise _refused(f"{name!r} must be one of {', '.join(among)}.")
        return value

    def texts(self, name: str, *, most: int) -> dict[str, str]:
        """An object of at most so many texts; none if it is left out.

        Raises:
            RequestRefused: it is something else.
        """
        value = self._content.get(name, {})
        if (
            not isinstance(value, dict)
            or len(value) > most
            or not all(isinstance(each, str) for each in value.values())
        ):
            raise _refused(f"{name!r} must be an object of at most {most} texts.")
        return value

    def part(self, name: str) -> Body:
        """
        Raises:
            RequestRefused: it is no object.
        """
        value = self._content.get(name)
        if not isinstance(value, dict):
            raise _refused(f"{name!r} must be an object.")
        return Body(value)

    def objects(self, name: str, *, most: int, least: int = 1) -> list[Body]:
        """
        Raises:
            RequestRefused: it is no list of so many objects, at least one unless told otherwise.
        """
        found = self._list(name, most=most, least=least)
        if not all(isinstance(value, dict) for value in found):
            raise _refused(f"Each of {name!r} must be an object.")
        return [Body(value) for value in found]

    def _list(self, name: str, *, most: int, least: int = 1) -> Sequence[Any]:
        value = self._content.get(name)
        if not isinstance(value, list) or not least <= len(value) <= most:
            raise _refused(f"{name!r} must be a list of {least} to {most}.")
        return value


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _from_base64(value: object) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except ValueError:
        return None


def _refused(message: str) -> RequestRefused:
    return RequestRefused(message, status=HTTPStatus.BAD_REQUEST)
