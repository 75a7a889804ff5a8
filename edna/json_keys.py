"""Single keys of JSON columns, taken for columns: ``meta__author__name`` is what stands under ``name`` in ``author`` in ``meta``.

``authors__*__name`` is what stands there in each element of a list: all of it together is one value, a list in the order of the document.
``cc__,2`` is the third element of a plain text, between commas, semicolons and line ends (`places`).

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
#: A part of a path: where it meets a list, each of its elements.
EACH: Final = "*"

#: Begins the last part of a path into a plain text, before the position.
OF_TEXT: Final = ","

#: An element of a plain text: all from its first sign to the next comma, semicolon or line end. One may be empty.
_ELEMENT: Final = re.compile(r"(?:^|(?<=[,;\r\n]))[^\S\r\n]*([^,;\r\n]*)")
_SPACE: Final = re.compile(r"[ \t\n\r]*")
#: Tells where a value ends. Numbers are left as they are: they may be longer than Python reads.
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False)
#: What tells where an object or a list ends, however deep it is: databases take more depth than Python reads.
_BRACKET_OR_TEXT: Final = re.compile(r'[][{}]|"(?:[^"\\]|\\.)*+"', re.DOTALL)


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


def is_of_each(name: str) -> bool:
    """Whether it is a value in each element of a list."""
    return EACH in name.split(BETWEEN)


def is_element_of_text(name: str) -> bool:
    """Whether it can be an element of a plain text, or each of them."""
    _, between, element = name.partition(BETWEEN)
    return bool(between) and (element == EACH or element.startswith(OF_TEXT))


def places(document: Any, path: Sequence[str], *, is_text: bool) -> list[tuple[str, ...]]:
    """Where in the document something stands under the path, after the column: with a position for each ``*`` that meets a list."""
    if not isinstance(document, str):
        return []
    if is_text:
        return [(f"{OF_TEXT}{number}",) for number, _ in enumerate(_ELEMENT.finditer(document))]
    found: list[tuple[tuple[str, ...], int]] = [((), _past_space(document, 0))] if document else []
    for part in path:
        found = [
            ((*before, str(number) if part == EACH and document[start] == "[" else part), at)
            for before, start in found
            for number, at in enumerate(_members(document, start, part))
        ]
    return [place for place, _ in found]


def covers(one: str, other: str) -> bool:
    """Whether the other is the one, or within it."""
    around, within = one.split(BETWEEN), other.split(BETWEEN)
    return len(around) <= len(within) and all(a in (b, EACH) for a, b in zip(around, within, strict=False))


def overlap(one: str, other: str) -> bool:
    """Whether what is written to the one is seen in the other."""
    parts = zip(one.split(BETWEEN), other.split(BETWEEN), strict=False)
    return all(a == b or EACH in (a, b) for a, b in parts)


def read(document: Any, name: str, *, of: str | None = None) -> str | None:
    """What the document has under ``name``; ``of`` is the name of ``document`` itself, the column's if it is not said."""
    path = _path(name, of)
    found = _spans(document, path) if isinstance(document, str) else []
    if not found:
        return None
    texts = [document[start:end] for start, end in found]
    return joined(texts) if EACH in path else texts[0]


def written(document: Any, name: str, value: str | None, *, of: str | None = None) -> Any:
    """The document with this value under ``name``, if it has anything there, and if there is a value. Of each element, the document stays
    as it is if there are more of them, or fewer, than values."""
    path = _path(name, of)
    found = _spans(document, path) if isinstance(document, str) and value is not None else []
    texts = (elements(value) if EACH in path else [value]) if value is not None else []
    if len(texts) != len(found):
        return document
    for (start, end), text in zip(reversed(found), reversed(texts), strict=True):
        document = f"{document[:start]}{text}{document[end:]}"
    return document


def without(document: Any, name: str, *, of: str | None = None) -> Any:
    """The document with nothing under ``name``: null."""
    there = read(document, name, of=of)
    nothing = there if there is None else "null"
    if nothing and EACH in _path(name, of):
        nothing = joined(["null"] * len(elements(there)))
    return written(document, name, nothing, of=of)


def joined(texts: Iterable[str]) -> str:
    """A list of these values."""
    return f"[{', '.join(texts)}]"


def elements(text: str | None) -> list[str]:
    """The values in a list, as they are written there; nothing of what is no list."""
    found: list[str] = []
    if text is None or text[(at := _past_space(text, 0)) : at + 1] != "[":
        return found
    at = _past_space(text, at + 1)
    while text[at] != "]":
        end = _end(text, at)
        found.append(text[at:end])
        at = _past_comma(text, end)
    return found


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
    except (ValueError, TypeError, RecursionError):
        return False


def any_of(names: Collection[str]) -> bool:
    return BETWEEN in ",".join(names)


def _path(name: str, of: str | None) -> list[str]:
    of = of if of is not None else column(name)
    below = name.removeprefix(of).split(BETWEEN)[1:]
    # What is of each element is a list already, however deep these were.
    return [EACH, *below] if is_of_each(of) else below


def _spans(document: str, path: Sequence[str]) -> list[tuple[int, int]]:
    """Where the values begin and end that the path leads to: one at most, but of each element of a list."""
    if path and path[0].startswith(OF_TEXT):
        return [found.span(1) for found in _ELEMENT.finditer(document)][int(path[0][1:]) :][:1]
    starts = [_past_space(document, 0)] if document else []
    for part in path:
        starts = [found for start in starts for found in _members(document, start, part)]
    return [(start, _end(document, start)) for start in starts]


def _members(document: str, start: int, part: str) -> list[int]:
    if part != EACH or document[start] != "[":
        found = _member(document, start, part)
        return [] if found is None else [found]
    starts, at = [], _past_space(document, start + 1)
    while document[at] != "]":
        starts.append(at)
        at = _past_comma(document, _end(document, at))
    return starts


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
    if document[start] in "[{":
        depth = 0
        for found in _BRACKET_OR_TEXT.finditer(document, start):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
            if not depth:
                return found.end()
    _, end = _DECODER.raw_decode(document, start)
    return end


def _past_space(document: str, at: int) -> int:
    found = _SPACE.match(document, at)
    return found.end() if found else at


def _past_comma(document: str, at: int) -> int:
    at = _past_space(document, at)
    return _past_space(document, at + 1) if document[at] == "," else at
