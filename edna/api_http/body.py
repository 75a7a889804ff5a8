"""What was sent, field by field: of the type and size that a route asks for, or refused. Messages name fields, never what is in them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from edna.errors import RequestRefused


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

    def objects(self, name: str, *, most: int) -> list[Body]:
        """
        Raises:
            RequestRefused: it is no list of at least one and at most so many objects.
        """
        found = self._list(name, most=most)
        if not all(isinstance(value, dict) for value in found):
            raise _refused(f"Each of {name!r} must be an object.")
        return [Body(value) for value in found]

    def _list(self, name: str, *, most: int) -> Sequence[Any]:
        value = self._content.get(name)
        if not isinstance(value, list) or not 0 < len(value) <= most:
            raise _refused(f"{name!r} must be a list of 1 to {most}.")
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
