"""Single keys of JSON columns, taken for columns: ``meta__author__name`` is what stands under ``name`` in ``author`` in ``meta``.

Invariant: whatever else the document holds stays as it is, to the byte, and a key that is not there does not come to be. A value is
its text in the document, None where there is none. Knows names and texts; knows no models, and sends no statement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Container, Iterable, Sequence
from typing import Any, Final

#: As in lookups. No field's name contains it.
BETWEEN: Final = "__"

_SPACE: Final = re.compile(r"[ \t\n\r]*")
#: Tells where a value ends. Numbers are left as they are: they may be longer than Python reads.
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False)


def is_key(name: str) -> bool:
    return BETWEEN in name


def column(name: str) -> str:
    """The column that holds the document; of a name without a path, itself."""
    return name.partition(BETWEEN)[0]


def holder(name: str, columns: Container[str]) -> str | None:
    """The nearest of ``columns`` that holds what is called ``name``: itself, a part of the document around it, the whole of it."""
    while name not in columns and is_key(name):
        name = name.rpartition(BETWEEN)[0]
    return name if name in columns else None


def overlap(one: str, other: str) -> bool:
    """Whether what is written to the one is seen in the other."""
    return one == other or one.startswith(other + BETWEEN) or other.startswith(one + BETWEEN)


def read(document: Any, name: str, *, of: str | None = None) -> str | None:
    """What the document has under ``name``; ``of`` is the name of ``document`` itself, the column's if it is not said."""
    found = _span(document, _path(name, of)) if isinstance(document, str) else None
    return document[slice(*found)] if found else None


def written(document: Any, name: str, value: str | None, *, of: str | None = None) -> Any:
    """The document with this value under ``name``, if it has anything there, and if there is a value."""
    found = _span(document, _path(name, of)) if isinstance(document, str) and value is not None else None
    return f"{document[: found[0]]}{value}{document[found[1] :]}" if found else document


def taken(rows: Iterable[Sequence[Any]], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows of whole documents as rows of what is ``names`` of them. Further values stay."""
    places = [(place, name) for place, name in enumerate(names) if is_key(name)]
    made = []
    for row in rows:
        values = list(row)
        for place, name in places:
            values[place] = read(row[place], name)
        made.append(tuple(values))
    return made


def same_value(name: str, one: Any, other: Any) -> bool:
    """Whether two texts under a key are the same value: an application that writes the document again may write other spaces."""
    if not is_key(name) or one is None or other is None:
        return False
    try:
        return json.dumps(json.loads(one), sort_keys=True) == json.dumps(json.loads(other), sort_keys=True)
    except (ValueError, TypeError):
        return False


def any_of(names: Collection[str]) -> bool:
    return BETWEEN in ",".join(names)


def _path(name: str, of: str | None) -> list[str]:
    return name.removeprefix(of if of is not None else column(name)).split(BETWEEN)[1:]


def _span(document: str, path: Sequence[str]) -> tuple[int, int] | None:
    start = _past_space(document, 0)
    for part in path:
        found = _member(document, start, part)
        if found is None:
            return None
        start = found
    return start, _end(document, start)


def _member(document: str, start: int, part: str) -> int | None:
    """Where the value begins that an object has under this name, or a list at this position. Of equal names the last one counts."""
    if document[start] == "[":
        return _item(document, start, int(part)) if part.isascii() and part.isdecimal() else None
    if document[start] != "{":
        return None
    found = None
    at = _past_space(document, start + 1)
    while document[at] == '"':
        name, end = _DECODER.raw_decode(document, at)
        value = _past_space(document, _past_space(document, end) + 1)
        if name == part:
            found = value
        at = _past_comma(document, _end(document, value))
    return found


def _item(document: str, start: int, number: int) -> int | None:
    at = _past_space(document, start + 1)
    while document[at] != "]":
        if not number:
            return at
        number -= 1
        at = _past_comma(document, _end(document, at))
    return None


def _end(document: str, start: int) -> int:
    _, end = _DECODER.raw_decode(document, start)
    return end


def _past_space(document: str, at: int) -> int:
    found = _SPACE.match(document, at)
    return found.end() if found else at


def _past_comma(document: str, at: int) -> int:
    at = _past_space(document, at)
    return _past_space(document, at + 1) if document[at] == "," else at
