"""Values survive exactly: type, bits, scale, offset; hostile bytes neither execute, recurse nor allocate without bound."""

from __future__ import annotations

import collections
import datetime
import enum
import math
import struct
import tracemalloc
import uuid
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils.safestring import SafeString
from hypothesis import given, settings
from hypothesis import strategies as st

from edna.errors import BagCorrupt, ValueNotEncodable
from edna.records.values import decode, encode
from tests.unit.leaks import assert_error_leaks_nothing

pytestmark = pytest.mark.thorough

OFFSETS = st.integers(-86_399, 86_399).map(lambda s: datetime.timezone(datetime.timedelta(seconds=s)))
TEXTS = st.text() | st.text(st.characters(categories=["Cs", "Lu", "Cc", "So"]))
DIGITS = st.tuples(
    st.integers(0, 1), st.lists(st.integers(0, 9), min_size=1, max_size=40).map(tuple), st.integers(-30, 30)
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**65), 2**65),
    st.floats(),
    st.binary(min_size=8, max_size=8).map(lambda bits: struct.unpack(">d", bits)[0]),
    TEXTS,
    st.binary(),
    st.decimals(),
    DIGITS.map(Decimal),
    st.datetimes(),
    st.datetimes(timezones=st.none() | OFFSETS),
    st.dates(),
    st.times(),
    st.times(timezones=OFFSETS),
    st.timedeltas(),
    st.uuids(),
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=20)


def exactly(value: Any) -> Any:
    """Something that is equal only for the same type and the same bits."""
    match value:
        case list():
            return [exactly(item) for item in value]
        case dict():
            return [(exactly(key), exactly(item)) for key, item in value.items()]
        case float():
            return ("float", struct.pack(">d", value))
        case Decimal():
            return ("Decimal", value.as_tuple())
        case datetime.datetime() | datetime.time():
            return (type(value), value.replace(tzinfo=None, fold=0), value.utcoffset())
    return (type(value), value)


@given(value=VALUES)
@settings(max_examples=250)
def test_every_value_comes_back_exactly(value: Any) -> None:
    """Behaviour 24, for whatever Hypothesis can think of."""
    assert exactly(decode(encode(value))) == exactly(value)


@pytest.mark.parametrize(
    "value",
    [
        '\'; DROP TABLE "answers" -- \\',
        "a\0b",
        "NULL",
        "None",
        "True",
        "007",
        "",
        "\ud800 lone",
        "👩‍👩‍👧 \U0010ffff",
        b"\x00\xff\xfe",
        b"",
        None,
        True,
        False,
        1,
        0,
        1.0,
        -0.0,
        math.inf,
        -math.inf,
        2**63 - 1,
        -(2**63),
        2**64 - 1,
        2**64,
        -(2**63) - 1,
        10**300,
        -(10**300),
        Decimal("1.10"),
        Decimal("1.1"),
        Decimal("-0"),
        Decimal("0E-28"),
        Decimal("sNaN"),
        Decimal("NaN12"),
        Decimal("-Infinity"),
        datetime.datetime(2024, 10, 27, 2, 30, 0, 1),
        datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=-9, minutes=-30))),
        datetime.datetime.min,
        datetime.datetime.max,
        datetime.timedelta.min,
        datetime.timedelta.max,
        {"a": None, "b": {"": []}},
        {1: "one", None: "none", (1, (2, "x")): "tuple"},
    ],
)
def test_a_value_comes_back_exactly(value: Any) -> None:
    """Spelled out, so that a reader sees what is promised."""
    assert exactly(decode(encode([value]))) == exactly([value])


@pytest.mark.parametrize("bits", ["7ff8000000000000", "fff8000000000001", "7ff0000000000001", "7fffffffffffffff"])
def test_a_nan_keeps_its_bits(bits: str) -> None:
    """Sign, quietness and payload."""
    value = struct.unpack(">d", bytes.fromhex(bits))[0]

    assert struct.pack(">d", decode(encode(value))).hex() == bits


def test_values_that_compare_equal_stay_different() -> None:
    """True is not 1 is not 1.0 is not Decimal(1); "" is not None is not b""."""
    values = [True, 1, 1.0, Decimal(1), "1", b"1", "", b"", None, [], {}, 0, False, Decimal("1.0")]

    assert len({encode(value) for value in values}) == len(values)


class Colour(enum.IntEnum):
    RED = 2**70
    BLUE = 3


class Fruit(enum.StrEnum):
    APPLE = "apple"


class Moment(datetime.datetime):
    def isoformat(self, *args: Any, **kwargs: Any) -> str:
        return "now"


class Price(Decimal):
    def __str__(self) -> str:
        return "cheap"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (SafeString("<b>"), "<b>"),
        (Fruit.APPLE, "apple"),
        (Colour.BLUE, 3),
        (Colour.RED, 2**70),
        (Price("1.50"), Decimal("1.50")),
        (Moment(2024, 1, 1), datetime.datetime(2024, 1, 1)),
        (memoryview(b"\0\xff"), b"\0\xff"),
        (bytearray(b"x"), b"x"),
        ((1, (2,)), [1, [2]]),
        (collections.namedtuple("Row", "a b")(1, 2), [1, 2]),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    ],
)
def test_a_subclass_comes_back_as_its_plain_type(value: Any, plain: Any) -> None:
    """What drivers, template code and enumerations hand over is the same in the database."""
    assert exactly(decode(encode(value))) == exactly(plain)


def test_a_named_time_zone_comes_back_as_its_offset() -> None:
    """The instant and the local reading survive; the name of the zone is not in the database either."""
    value = datetime.datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))

    back = decode(encode(value))

    assert back == value
    assert back.utcoffset() == datetime.timedelta(hours=2)


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j, range(3), Exception("x"), type, lambda: None, iter([])])
@pytest.mark.parametrize("wrapped", [lambda v: v, lambda v: [1, [v]], lambda v: {"a": v}])
def test_a_value_of_an_unknown_type_is_refused_by_the_name_of_its_type(value: Any, wrapped: Any) -> None:
    """Nothing is pickled or turned into text; the message does not show the value or its neighbours."""
    with pytest.raises(ValueNotEncodable) as caught:
        encode(wrapped([b"private neighbour", value]))

    assert caught.value.value_type == type(value).__name__
    assert isinstance(caught.value, TypeError)
    assert_error_leaks_nothing(caught.value, b"private neighbour")


def test_what_is_nested_too_deeply_is_refused_before_it_is_written() -> None:
    """What encode accepts, decode accepts: there is no value that is sealed and then cannot be opened."""
    depths = {}
    for depth in (10, 500, 1000, 1023, 1024, 1025, 2000, 100_000):
        value: Any = None
        for _ in range(depth):
            value = [value]
        try:
            data = encode(value)
        except ValueNotEncodable:
            depths[depth] = False
        else:
            depths[depth] = True
            assert encode(decode(data)) == data

    assert depths[500]
    assert not depths[100_000]


@pytest.mark.parametrize(
    "keys",
    [
        [(2**61 - 1) << shift for shift in range(64, 129)],
        [uuid.UUID(int=number * (2**61 - 1)) for number in range(65)],
        [Decimal(number * (2**61 - 1)) for number in range(65)],
        [(number,) for number in range(65)],
        [float(2**number) for number in range(65)],
    ],
)
@pytest.mark.parametrize("wrapped", [lambda v: v, lambda v: [1, (v,)], lambda v: {"a": {"b": v}}])
def test_a_dictionary_that_is_slow_to_build_is_refused_on_both_sides(keys: list[Any], wrapped: Any) -> None:
    """Hashes of these can be chosen: a reader would compare each key with all before it. Sixty-four are nothing, and are taken."""
    few = wrapped(dict.fromkeys(keys[1:], b"private neighbour"))
    assert exactly(decode(encode(few))) == exactly(decode(encode(decode(encode(few)))))
    many = dict.fromkeys(keys, b"private neighbour")
    with pytest.raises(ValueNotEncodable) as refused:
        encode(wrapped(many))
    assert_error_leaks_nothing(refused.value, b"private neighbour")
    written = b"\xde\x00\x41" + b"".join(encode(key) + encode(value) for key, value in many.items())
    with pytest.raises(BagCorrupt) as caught:
        decode(b"\x91" + written)
    assert_error_leaks_nothing(caught.value, b"private neighbour")


def test_text_bytes_and_numbers_of_64_bits_may_be_keys_as_many_as_there_are() -> None:
    """Hashes of texts and bytes cannot be chosen, and of 64-bit numbers few have the same."""
    value: dict[Any, Any] = {number * (2**61 - 1): None for number in range(-4, 9)}
    value |= {kind(number): number for number in range(1000) for kind in (int, str)}
    value |= {bytes([number]): number for number in range(256)}
    value |= {Decimal(f"{number}.5"): number for number in range(63)} | {None: None}
    assert decode(encode(value)) == value


@given(data=st.binary(max_size=200))
@settings(max_examples=1000)
def test_random_bytes_decode_or_are_refused(data: bytes) -> None:
    """Never another exception; and what decodes is a value that encodes again."""
    try:
        value = decode(data)
    except BagCorrupt:
        return
    assert exactly(decode(encode(value))) == exactly(value)


@given(value=VALUES, data=st.data())
@settings(max_examples=250)
def test_a_mutated_value_decodes_or_is_refused(value: Any, data: st.DataObject) -> None:
    """Bytes near valid ones reach deeper than random ones."""
    encoded = bytearray(encode(value))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(encoded) - 1))
        encoded[at] = data.draw(st.integers(0, 255))

    try:
        again = decode(bytes(encoded))
    except BagCorrupt:
        return
    encode(again)


NESTED_CLAIMS = b"\xdd\x00\x01\x00\x00" * 1000 + bytes(70_000)
HOSTILE = {
    "nested arrays that each claim 65,536 elements": NESTED_CLAIMS,
    "an array that claims four thousand million": b"\xdd\xff\xff\xff\xff" + bytes(1000),
    "a map that claims four thousand million": b"\xdf\xff\xff\xff\xff" + bytes(1000),
    "a text that claims four thousand million": b"\xdb\xff\xff\xff\xff" + bytes(1000),
    "bytes that claim four thousand million": b"\xc6\xff\xff\xff\xff" + bytes(1000),
    "an extension that claims four thousand million": b"\xc9\xff\xff\xff\xff\x01" + bytes(1000),
    "nested maps": b"\x81" * 100_000,
    "a million levels": b"\x91" * 1_000_000 + b"\xc0",
    "nested maps as keys": b"\x81\x91" * 500 + b"\xc0",
    "a number with a million digits": b"\xc9\x00\x0f\x42\x40\x05" + b"9" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_are_refused_in_little_memory(name: str) -> None:
    """Claimed lengths and nesting cost nothing: memory is bounded by a small multiple of the bytes that are there."""
    data = HOSTILE[name]
    tracemalloc.start()
    try:
        with pytest.raises(BagCorrupt) as caught:
            decode(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 8 * len(data) + 200_000
    assert caught.value.__context__ is None


def test_the_densest_valid_bytes_take_memory_in_proportion() -> None:
    """The worst that does decode: a list of nothing but empty dictionaries."""
    data = b"\xdd" + struct.pack(">I", 100_000) + b"\x80" * 100_000
    tracemalloc.start()
    try:
        decode(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 250 * len(data)


def test_a_refused_decode_does_not_show_the_plaintext() -> None:
    """The plaintext of a bag is personal data, and secret keys."""
    timestamp = b"\xd6\xff\0\0\0\0"
    for data in (encode([b"private", uuid.UUID(int=1)]) + b"\0", b"\x92" + encode(b"private") + timestamp):
        with pytest.raises(BagCorrupt) as caught:
            decode(data)
        assert_error_leaks_nothing(caught.value, b"private")
