"""A thief's search: texts and numbers in whatever spelling, in every table, edna's too, and in sessions.

Knows no key: what is sealed must not be found by it, and what is only encoded must be.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import struct
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from urllib.parse import quote as url_quote

from django.db import DEFAULT_DB_ALIAS, connections

from edna.auditing import reading
from edna.auditing.reading import columns, tables

Needle = str | bytes | int
#: What is longer takes much room when it is spelled, and is seldom looked for twice.
_REMEMBERED_LENGTH = 4096


def cells(*, using: str = DEFAULT_DB_ALIAS) -> Iterator[tuple[str, bytes]]:
    """All that somebody with a copy of the database can read: column after column (``table.column``), then the sessions' contents."""
    connection = connections[using]
    for table in tables(using=using):
        names = columns(table, using=using)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            rows = cursor.fetchall()
        for name, values in zip(names, zip(*rows, strict=True), strict=False):
            yield f"{table}.{name}", b"\n".join(map(as_bytes, values))
    if sessions := reading.session_table():
        contents = [json.dumps(content) for content in reading.session_contents(using=using)]
        yield f"the contents of {sessions}", "\n".join(contents).encode("utf-8", "surrogatepass")


def places(needles: Mapping[str, Needle], *, using: str = DEFAULT_DB_ALIAS, ignore: Collection[str] = ()) -> list[str]:
    """Where any of these is to be read. ``ignore`` names tables and columns that may hold them."""
    looked_for = _spelled(needles)
    return [
        f"{place} holds {name}"
        for place, content in cells(using=using)
        if place not in ignore and place.partition(".")[0] not in ignore
        for name in _found(content, looked_for)
    ]


def finds(haystack: bytes, needles: Mapping[str, Needle]) -> list[str]:
    """The names of the needles that the haystack holds in any spelling; case does not protect text."""
    return _found(haystack, _spelled(needles))


def _spelled(needles: Mapping[str, Needle]) -> dict[str, tuple[frozenset[bytes], frozenset[bytes]]]:
    """Of each, how it would be spelled, and how in small letters, if it is text."""
    return {
        name: (spellings(needle), spellings(needle.lower()) if isinstance(needle, str) else frozenset())
        for name, needle in needles.items()
    }


def _found(haystack: bytes, looked_for: Mapping[str, tuple[frozenset[bytes], frozenset[bytes]]]) -> list[str]:
    lowered = haystack.lower()
    return [
        name
        for name, (spelled, small) in looked_for.items()
        if any(each in haystack for each in spelled) or any(each in lowered for each in small)
    ]


def spellings(needle: Needle) -> frozenset[bytes]:
    """How a thief would look for ``needle``: as it is, in other encodings of text, in hexadecimal, base 64 and base 32."""
    if isinstance(needle, int) or (type(needle) in (str, bytes) and len(needle) <= _REMEMBERED_LENGTH):
        return _remembered(needle)
    return _spellings(needle)


def _spellings(needle: Needle) -> frozenset[bytes]:
    if isinstance(needle, int):
        packed = {struct.pack(order + "q", needle) for order in "<>"}
        return frozenset({str(needle).encode()} | packed | {spelled.hex().encode() for spelled in packed})
    found: set[bytes] = set()
    if isinstance(needle, str):
        for encoding in ("utf-8", "utf-16-le", "utf-16-be", "latin-1"):
            with contextlib.suppress(UnicodeEncodeError):
                found.add(needle.encode(encoding))
        found |= {json.dumps(needle)[1:-1].encode(), url_quote(needle).encode()}
    raw = as_bytes(needle)
    found |= {raw, raw.hex().encode(), raw.hex().upper().encode()}
    for encode, bits, group in ((base64.b64encode, 6, 3), (base64.urlsafe_b64encode, 6, 3), (base64.b32encode, 5, 5)):
        for shift in range(group):
            # The needle may start in the middle of a group of bytes: only the characters that it fills alone are its own.
            encoded = encode(bytes(shift) + raw).rstrip(b"=")
            own = encoded[-(-shift * 8 // bits) : (shift + len(raw)) * 8 // bits]
            found |= {own, own.lower()} if encode is base64.b32encode else {own}
    return frozenset(found)


#: A test looks for the same in one log line and one message after the other.
_remembered = functools.lru_cache(maxsize=1024, typed=True)(_spellings)


def as_bytes(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return str(value).encode("utf-8", "surrogatepass")
