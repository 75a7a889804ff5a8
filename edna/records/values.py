"""Database values as bytes, exactly: what goes in comes out with the same type and the same bits.

Keeps: the value format of docs/format.md (a msgpack profile with seven extension types). Keeps: decoding cannot execute
anything, recurse, or allocate more than a constant times the length of its input; every text has one encoding per
type, so an extension value that is not the canonical spelling is refused. Does not know: models, fields, what the
values mean.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable, Collection, Iterator
from itertools import chain
from typing import Any, TypeAlias

import msgpack

from edna.errors import BagCorrupt, ValueNotEncodable

Value: TypeAlias = Any
"""None, bool, int, float, str, bytes, Decimal, datetime, date, time, timedelta, UUID; lists, dictionaries of them."""

DECIMAL, DATETIME, DATE, TIME, TIMEDELTA, UUID, BIG_INTEGER = range(1, 8)

_INT64_MIN, _UINT64_MAX = -(2**63), 2**64 - 1
#: Keys of a dictionary whose hashes somebody can choose so that all are one, and each is compared with all before it.
_MOST_SUCH_KEYS = 64


def encode(value: Value) -> bytes:
    """Return the bytes of `value`. Tuples are encoded as lists, subclasses of str, int, ... as the plain type.

    Raises: ValueNotEncodable if a part of it is of another type, nested more than about 1,000 levels, or a dictionary with more
    than 64 keys that are neither text, bytes nor numbers of 64 bits.
    """
    try:
        encoded: bytes = msgpack.packb(value, default=_extension, use_bin_type=True, unicode_errors="surrogatepass")
        # Dictionaries of so many keys are rare, and so are the bytes that they begin with: look closer then.
        if not _may_hold_large_map(encoded) or not _holds_slow_dictionary(value):
            return encoded
        failure, encoded = ValueNotEncodable(_SLOW), b""
    except ValueNotEncodable as error:
        failure = error.with_traceback(None)
    except (ValueError, OverflowError, TypeError, RecursionError) as error:
        failure = ValueNotEncodable(f"The value is too deep or too long for a record ({type(error).__name__}).")
    del value  # personal data, and in a speaks-for record secret keys: not for an error page that prints variables
    raise failure


def decode(data: bytes) -> Value:
    """Return the value that `encode` made `data` of.

    Raises: BagCorrupt for anything that `encode` cannot have made: truncated, trailing, unknown or non-canonical
    extension types, invalid UTF-8, duplicate, unhashable or too many odd keys, nesting beyond about 1,000 levels.
    """
    try:
        # unpackb trusts the count in an array's header and reserves 8 bytes per element, so a few nested headers could
        # make it reserve gigabytes. Skipping over the data first builds nothing, and succeeds only if every announced
        # element is there: after it, memory is bounded by a constant times len(data).
        scanner = msgpack.Unpacker(max_buffer_size=max(len(data), 1), strict_map_key=False)
        scanner.feed(data)
        scanner.skip()
        if scanner.tell() == len(data):
            value = msgpack.unpackb(
                data,
                ext_hook=_value_of_extension,
                object_pairs_hook=_mapping,
                strict_map_key=False,
                unicode_errors="surrogatepass",
            )
            # msgpack reads its own timestamp extension without asking the hook. These bytes are rare: look closer then.
            may_hold = _CODE_OF_TIMESTAMPS in data and any(start in data for start in _TIMESTAMPS)
            if not may_hold or not _holds_timestamp(value):
                return value
            problem = "a timestamp extension"
        else:
            problem = "trailing bytes"
    except BagCorrupt as error:
        problem = str(error)
    except (ValueError, msgpack.UnpackException, TypeError, RecursionError, OverflowError) as error:
        problem = type(error).__name__
    value = None
    del data  # the plaintext of a bag: not for an error page that prints variables
    raise BagCorrupt(
        f"The content of the bag does not decode: {problem}. Nothing was changed; restore the bag from a backup."
    )


def _extension(value: object) -> object:
    """Encode what msgpack does not know itself."""
    kind = type(value)
    if kind not in _EXTENSIONS:
        # A subclass is kept as the plain type. A datetime is a date as well, so the order of the table matters.
        kind = next((known for known in _EXTENSIONS if isinstance(value, known)), kind)
        if kind not in _EXTENSIONS:
            del value
            raise ValueNotEncodable(
                f"A value of type {kind.__name__} cannot be kept in a record.", value_type=kind.__name__
            )
    code = _EXTENSIONS[kind]
    data = _TEXTUAL[code][1](value).encode("ascii") if code in _TEXTUAL else _BINARY[code](value)
    # ExtType's own constructor checks its arguments again: too costly for every value.
    return tuple.__new__(msgpack.ExtType, (code, data))


def _timedelta_text(value: datetime.timedelta) -> str:
    return f"{value.days}:{value.seconds}:{value.microseconds}"


def _decimal(text: str) -> decimal.Decimal:
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        raise ValueError from None


def _timedelta(text: str) -> datetime.timedelta:
    days, seconds, microseconds = (int(part) for part in text.split(":"))
    return datetime.timedelta(days, seconds, microseconds)


# The text extensions: how to read one, and how it must have been written. The writers are unbound methods, so that they
# ignore what a subclass may have overridden.
_TEXTUAL: dict[int, tuple[Callable[[str], Any], Callable[[Any], str]]] = {
    DECIMAL: (_decimal, decimal.Decimal.__str__),
    DATETIME: (datetime.datetime.fromisoformat, datetime.datetime.isoformat),
    DATE: (datetime.date.fromisoformat, datetime.date.isoformat),
    TIME: (datetime.time.fromisoformat, datetime.time.isoformat),
    TIMEDELTA: (_timedelta, _timedelta_text),
}
#: How the others are written.
_BINARY: dict[int, Callable[[Any], bytes]] = {
    UUID: lambda value: value.bytes,
    BIG_INTEGER: lambda value: int.to_bytes(value, value.bit_length() // 8 + 1, "big", signed=True),
}
_EXTENSIONS: dict[type, int] = {
    datetime.datetime: DATETIME,
    decimal.Decimal: DECIMAL,
    uuid.UUID: UUID,
    datetime.date: DATE,
    datetime.time: TIME,
    datetime.timedelta: TIMEDELTA,
    int: BIG_INTEGER,  # msgpack encodes all that fit into 64 bits itself and hands over the others
}


def _value_of_extension(code: int, data: bytes) -> Value:
    if code in _TEXTUAL:
        read, write = _TEXTUAL[code]
        text = data.decode("ascii")
        value = read(text)
        # The constructors are lenient (spaces, underscores, foreign digits, several date formats): one value, one
        # spelling.
        if write(value) == text:
            return value
    elif code == UUID and len(data) == 16:
        return uuid.UUID(bytes=data)
    elif code == BIG_INTEGER:
        number = int.from_bytes(data, "big", signed=True)
        if not _INT64_MIN <= number <= _UINT64_MAX and len(data) == number.bit_length() // 8 + 1:
            return number
    raise BagCorrupt(
        f"An extension value of type {code} is unknown or malformed. "
        "Nothing was changed; restore the bag from a backup."
    )


_CODE_OF_TIMESTAMPS = b"\xff"  # no text has it
# In every header that MessagePack allows for it, whatever a writer would choose.
_TIMESTAMPS = (
    b"\xd6" + _CODE_OF_TIMESTAMPS,
    b"\xd7" + _CODE_OF_TIMESTAMPS,
    *(
        start + size.to_bytes(width, "big") + _CODE_OF_TIMESTAMPS
        for start, width in ((b"\xc7", 1), (b"\xc8", 2), (b"\xc9", 4))
        for size in (4, 8, 12)
    ),
)


def _holds_timestamp(value: Value) -> bool:
    return any(msgpack.Timestamp in set(map(type, level)) for level in _levels(value))


def _levels(value: Value) -> Iterator[list[Value]]:
    """All that is in it, level by level. In large bags of random keys, what begins a large map is found by chance: so nothing is done for
    each value alone."""
    level = [value]
    while level:
        yield level
        kinds = {kind for kind in set(map(type, level)) if issubclass(kind, (list, tuple, dict))}
        inner = [item for item in level if type(item) in kinds] if kinds else []
        if any(issubclass(kind, dict) for kind in kinds):
            inner = [(*item.keys(), *item.values()) if isinstance(item, dict) else item for item in inner]
        level = list(chain.from_iterable(inner))


_LARGE_MAPS = ((b"\xde", 2), (b"\xdf", 4))
_SLOW = f"A dictionary has more than {_MOST_SUCH_KEYS} keys that are neither text, bytes nor numbers of 64 bits."


def _may_hold_large_map(encoded: bytes) -> bool:
    """Whether the bytes with which a map of so many keys begins are there, if only by chance: the first byte alone is in most bags."""
    for start, width in _LARGE_MAPS:
        found = encoded.find(start)
        while found >= 0:
            count = int.from_bytes(encoded[found + 1 : found + 1 + width], "big")
            if _MOST_SUCH_KEYS < count <= len(encoded):
                return True
            found = encoded.find(start, found + 1)
    return False


def _holds_slow_dictionary(value: Value) -> bool:
    return any(
        isinstance(item, dict) and _is_slow(item)
        for level in _levels(value)
        if any(issubclass(kind, dict) for kind in set(map(type, level)))
        for item in level
    )


def _is_slow(keys: Collection[Value]) -> bool:
    if len(keys) <= _MOST_SUCH_KEYS:
        return False
    return sum(not isinstance(key, str | bytes) and not _is_native_integer(key) for key in keys) > _MOST_SUCH_KEYS


def _is_native_integer(key: Value) -> bool:
    """Of these, at most a dozen have one hash."""
    return isinstance(key, int) and _INT64_MIN <= key <= _UINT64_MAX


def _mapping(pairs: list[tuple[Value, Value]]) -> dict[Value, Value]:
    if len(pairs) > _MOST_SUCH_KEYS and _is_slow([key for key, _ in pairs]):
        raise BagCorrupt(f"{_SLOW} Nothing was changed; restore the bag from a backup.")
    mapping = {_hashable(key): value for key, value in pairs}
    if len(mapping) != len(pairs):
        raise BagCorrupt("A dictionary repeats a key. Nothing was changed; restore the bag from a backup.")
    return mapping


def _hashable(key: Value) -> Value:
    # A tuple is a legal dictionary key in Python and would come back as a list, which is not: what was sealed must
    # open.
    return tuple(map(_hashable, key)) if type(key) is list else key
