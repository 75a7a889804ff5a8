"""Bags as nobody seals them: the vectors, changed at each of their layers, with whatever lies around made right again.

A change to the sealed bytes alone ends at the tag, and one to the content at the MAC. So most are made below these: of the payload, of
its zlib stream, of single values, and everything outside is sealed as a server would. Uses the vectors' writer, which shares no code
with the library.
"""

from __future__ import annotations

import json
import random
import runpy
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WRITER = runpy.run_path(str(Path(__file__).resolve().parent.parent / "vectors" / "generate.py"))
pack, container, content, extension = (WRITER[name] for name in ("pack", "container", "content", "extension"))
SECRETS = {WRITER[name].secret.hex(): WRITER[name] for name in ("BEA", "CARL", "EVE", "SHARED")}

Case = dict[str, Any]

#: What is hard about MessagePack and about the texts of extensions, or was once.
PIECES = [
    *WRITER["BAD_VALUES"].values(),
    *map(pack, WRITER["VALUES"].values()),
    *(
        extension(code, text)
        for code in (1, 2, 3, 4, 5)
        for text in (b"", b"0", b"-0", b"1e5", b"1E+5", b"0E-7", b"0.0000000")
    ),
    *(
        extension(1, text)
        for text in (
            b"-NaN",
            b"NaN0",
            b"sNaN7",
            b"Infinity",
            b"Inf",
            b"1E+999999999999999999",
            b"1E+1000000000000000000",
        )
    ),
    *(
        extension(1, text)
        for text in (
            b"0E+999999999999999999",
            b"1E-1999999999999999997",
            b"1E-1999999999999999998",
            b"00",
            b"1.",
            b".5",
            b"1E-7",
        )
    ),
    *(
        extension(2, b"2024-02-29T12:30:00" + end)
        for end in (b"", b"Z", b"+00:00", b"-00:00", b".5", b".500000", b".000000", b"+24:00")
    ),
    *(
        extension(2, b"2024-02-29T12:30:00" + end)
        for end in (b"+00:00:00", b"+00:00:01", b"-23:59:59.999999", b"+01:60", b"+01")
    ),
    *(
        extension(4, text)
        for text in (b"24:00:00", b"23:59:60", b"12:00", b"06:30:00+00:00", b"12:00:00+05:30", b"12:00:00.000001")
    ),
    *(
        extension(5, text)
        for text in (b"999999999:0:0", b"1000000000:0:0", b"-999999999:0:0", b"0:0:1000000", b"+1:0:0", b"00:0:0")
    ),
    *(
        extension(7, number.to_bytes(size, "big", signed=True))
        for number in (2**64, -(2**63) - 1, 2**71, -(2**71))
        for size in (10, 11)
    ),
    *(extension(code, bytes(size)) for code in (0, 6, 7, 8, 255, 254) for size in (0, 1, 4, 8, 12, 16)),
    *(
        bytes((form,)) + bytes(number)
        for form, number in ((0xCA, 4), (0xCC, 1), (0xCD, 2), (0xCE, 4), (0xCF, 8), (0xD0, 1), (0xD3, 8))
    ),
    b"\xca\x7f\x80\0\1",
    b"\xca\xff\xc0\0\0",
    b"\xca\x3f\x80\0\0",
    b"\xd9\x01a",
    b"\xdb\0\0\0\1a",
    b"\xdc\0\1\xc0",
    b"\xdf\0\0\0\1\xa1a\xc0",
    b"\xa6\xed\xa0\xbd\xed\xb1\x8c",
    b"\xa4\xf0\x9f\x91\x8c",
    b"\xa3\xed\xa0\x80",
    b"\xa2\xed\xa0",
    b"\xa3\xef\xbb\xbf",
    b"\xa2\xc0\x80",
    b"\xa4\xf4\x90\x80\x80",
    b"\x91" * 1022 + b"\x90",
    b"\x91" * 1023 + b"\x90",
    b"\x91" * 1024 + b"\x90",
    b"\x91" * 1025 + b"\x90",
    b"\x91" * 1024 + b"\xc0",
]
KEYS = [
    *map(
        pack,
        (
            0,
            1,
            True,
            False,
            1.0,
            -0.0,
            2**63,
            float(2**63),
            None,
            "1",
            b"1",
            [],
            [1],
            [True],
            [[1.0]],
            0.1,
            2**64,
            float(2**64),
        ),
    ),
    *(
        extension(1, text)
        for text in (b"1", b"1.0", b"1E+1", b"0.1", b"NaN", b"sNaN", b"Infinity", b"18446744073709551616", b"-0")
    ),
    *map(pack, (10, float("inf"), float("-inf"), float("nan"), float("nan"), "\U0001f44c", "\ud83d\udc4c", "\ud83d")),
    *(
        extension(2, text)
        for text in (b"2024-01-01T00:00:00", b"2024-01-01T00:00:00+00:00", b"2024-01-01T05:30:00+05:30")
    ),
    *(
        extension(2, text)
        for text in (b"0001-01-01T00:00:00+05:30", b"2023-12-31T19:00:00-05:00", b"9999-12-31T23:00:00-05:30")
    ),
    *(extension(4, text) for text in (b"12:00:00", b"12:00:00+05:30", b"06:30:00+00:00", b"00:00:00-06:30")),
    extension(3, b"2024-01-01"),
    extension(5, b"0:1:0"),
    extension(6, bytes(16)),
    b"\x80",
    b"\x91\x80",
    b"\x81\xc0\xc0",
]


def mutated_bags(count: int, *, seed: int) -> Iterator[Case]:
    """As many cases for `open_bag`, the same ones each time."""
    chance = random.Random(seed)
    sources = _sources()
    for _ in range(count):
        yield _mutated(chance, sources)


def _sources() -> list[Case]:
    """Vectors of bags, each with what it holds where that opens. The one of 64 MiB is long."""
    cases = [json.loads(text) for name, text in WRITER["all_cases"]().items() if name.startswith("bag-")]
    return [case["input"] for case in cases if "sealed_length" not in case["input"]]


def _mutated(chance: random.Random, sources: list[Case]) -> Case:
    given = dict(chance.choice(sources))
    layer = chance.choices(("sealed", "content", "zlib", "payload", "value"), weights=(20, 10, 15, 20, 35))[0]
    if given.get("secret_key") not in SECRETS:  # of the hybrid kind: what is inside is as in the others
        layer = "sealed"
    sealed = bytes.fromhex(given["sealed"])
    if layer == "sealed":
        changed = _bytes(chance, sealed, most=min(len(sealed), 200) if chance.random() < 0.7 else len(sealed))
        return _case(given | {"sealed": changed.hex()})
    # A place of its own, so that what is inside decides.
    locator, kind, sequence = bytes.fromhex(given["locator"]), given["kind"], chance.choice((0, 0, 0, 1))
    owner = SECRETS[given["secret_key"]]
    at = WRITER["index"](kind, sequence, locator)
    given = {name: given[name] for name in ("locator", "kind", "secret_key", "mac_keys")} | {"sequence": sequence}
    inside = {"at": at, "owner": owner.public}
    payload = _payload(chance, kind)
    if layer == "content":
        return _sealed(given, _bytes(chance, content(payload, **inside), most=100), owner)
    if layer == "zlib":
        stream = _bytes(chance, _deflated(chance, payload), times=chance.choice((0, 1, 1, 2)))
        return _sealed(given, content(stream, encoding=1, **inside), owner)
    if layer == "payload":
        payload = _bytes(chance, payload)
    return _sealed(given, content(payload, **inside), owner)


def _deflated(chance: random.Random, payload: bytes) -> bytes:
    if chance.random() < 0.2:  # of one stored block
        return WRITER["stored_deflate"](payload[:60_000])
    strategy = chance.choice((zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE))
    packer = zlib.compressobj(chance.choice((1, 6, 9)), zlib.DEFLATED, chance.choice((9, 15)), 8, strategy)
    return packer.compress(payload * chance.choice((1, 1, 40))) + packer.flush()


def _bytes(chance: random.Random, data: bytes, *, most: int | None = None, times: int | None = None) -> bytes:
    """Some bytes changed, taken out, put in or cut off."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4)) if times is None else times):
        at = chance.randrange(min(most or len(changed), len(changed)) or 1)
        match chance.randrange(7):
            case 0 | 1 if changed:
                changed[at % len(changed)] ^= 1 << chance.randrange(8)
            case 2 if changed:
                changed[at % len(changed)] = chance.choice((0, 1, 0x7F, 0x80, 0xC0, 0xC1, 0xC7, 0xD9, 0xFF))
            case 3:
                del changed[at : at + chance.randrange(1, 9)]
            case 4:
                changed[at:at] = chance.randbytes(chance.randrange(1, 9))
            case 5:
                changed[at:at] = changed[at : at + chance.randrange(1, 90)]
            case 6:
                del changed[at:]
    return bytes(changed)


def _payload(chance: random.Random, kind: int) -> bytes:
    """A bag of the kind, of which some values are others."""
    speaking = kind == 2
    cells = [_value(chance) for _ in range(chance.randrange(1, 4))]
    if speaking:
        key = WRITER["CARL"]
        row = [_value(chance), pack(key.public), pack(key.secret), _value(chance)]
        if chance.random() < 0.3:
            row[chance.choice((1, 2))] = pack(
                chance.choice(
                    (bytes(32), b"\xff" * 32, b"\x09" + bytes(31), bytes(31), b"\xed" + b"\xff" * 30 + b"\x7f")
                )
            )
        batch = [pack("a.b"), _list([_list(row)])]
        if chance.random() < 0.5:
            batch.append(pack(chance.choice(([bytes(32)], [], [bytes(31)], [b"", bytes(32)], ["x"], None, {}))))
    else:
        operation = chance.choice((1, 1, 2, 3, 4, 5, 6, 7, 8, 9))
        key, columns = ["id"], [f"c{number}" for number in range(len(cells))]
        if operation == 1:
            columns[0] = "id"
        row = cells if operation == 1 else [pack(1), *cells, *(cells if operation in (2, 3) else ())]
        batch = [
            pack(operation),
            pack("a.b"),
            pack("0001"),
            pack(key),
            pack(columns),
            _list([_list(row)] * chance.choice((1, 1, 2))),
        ]
    params = chance.choice((pack({}), pack({"a": 1}), _dict(chance, [pack("a"), pack("b"), _value(chance)])))
    whole = [
        pack(kind),
        pack("x.y"),
        pack(WRITER["AT"]),
        pack("a.b"),
        _value(chance),
        params,
        pack("sqlite"),
        pack(True),
        pack([1, 1]),
    ]
    for part in (whole, batch):
        if chance.random() < 0.12:
            part[chance.randrange(len(part))] = _value(chance)
    return _list([*whole, _list([_list(batch)])])


def _value(chance: random.Random, level: int = 0) -> bytes:
    match chance.randrange(20):
        case 0 | 1:
            return chance.choice(PIECES)
        case 3 | 4 if level < 4:
            keys = chance.sample(KEYS, chance.randrange(1, 5))
            return _dict(chance, keys)
        case 5 if level < 4:
            return _list([_value(chance, level + 1) for _ in range(chance.randrange(4))])
        case 6:
            return extension(chance.randrange(1, 6), _text(chance))
        case 7:
            # Around the most odd keys that a dictionary may have.
            odd = [extension(6, number.to_bytes(16, "big")) for number in range(chance.randrange(62, 67))]
            return _dict(
                chance, [*odd, *chance.sample([pack("a"), pack(b"b"), pack(3), pack(True)], chance.randrange(4))]
            )
        case _:
            return pack(chance.choice((None, True, 0, 7, -1, "x", "naïve", b"\xff", 0.5, 2**63, -(2**63), 2**64)))


def _text(chance: random.Random) -> bytes:
    """Close to the text of an extension."""
    text = chance.choice(
        (
            b"-12.340E+5",
            b"2024-02-29T23:59:59.999999+05:30",
            b"2023-02-28",
            b"23:59:59.000001-00:30:15",
            b"-1:86399:999999",
            b"0.00001",
        )
    )
    at = chance.randrange(len(text))
    return (
        text[:at]
        + chance.choice((b"", b"0", b"9", b"-", b"+", b"E", b".", b":", b" ", b"T", b"\xc3", b"1"))
        + text[at + chance.choice((0, 1)) :]
    )


def _list(items: list[bytes]) -> bytes:
    return struct.pack(">BH", 0xDC, len(items)) + b"".join(items)


def _dict(chance: random.Random, keys: list[bytes]) -> bytes:
    return struct.pack(">BH", 0xDE, len(keys)) + b"".join(key + pack(chance.choice((None, 1))) for key in keys)


def _sealed(given: Case, inside: bytes, owner: Any) -> Case:
    return _case(given | {"sealed": container(inside, recipients=(owner.public,)).hex()})


def _case(given: Case) -> Case:
    return {"operation": "open_bag", "input": given}
