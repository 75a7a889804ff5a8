"""Write the test vectors: an independent second implementation of docs/format.md, on libsodium's primitives, and on
OpenSSL's ML-KEM (the package cryptography) for keys of the hybrid kind. HPKE and X-Wing's combiner are written out here.

It imports nothing of edna, so that a vector is right because the specification says so and not because the library does. Its
keys, nonces and ephemeral keys are fixed, which is why it lives here: the library has no way to fix its randomness.

    python tests/vectors/generate.py            writes one JSON file per case beside this one
    python tests/vectors/generate.py --check    writes nothing, exits 1 if a file is missing, different or superfluous

Each file holds `operation`, its `input` (bytes as hexadecimal), and either `expect` or `error`: the name of the class that
must be raised. Values are written as {"type": ..., "value": ...}, see `tagged`.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import hashlib
import hmac
import json
import math
import struct
import sys
import uuid
import zlib
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from nacl import bindings as sodium

HERE = Path(__file__).resolve().parent


# --- primitives ------------------------------------------------------------------------------------------------------


def blake2b(data: bytes, *, purpose: bytes, key: bytes = b"", size: int = 32) -> bytes:
    return sodium.crypto_generichash_blake2b_salt_personal(data, digest_size=size, key=key, person=purpose)


def fixed(label: str, size: int = 32) -> bytes:
    """Bytes that look random and are the same every time."""
    return blake2b(label.encode(), purpose=b"edna.vectors", size=size)


class Pair:
    def __init__(self, label: str, secret: bytes | None = None) -> None:
        self.secret = secret or fixed(f"secret key of {label}")
        self.public = sodium.crypto_scalarmult_base(self.secret)


BEA, CARL, EVE = Pair("bea"), Pair("carl"), Pair("eve")
LOCATOR, SHARED_LOCATOR = fixed("locator"), fixed("locator of a shared bag")
SHARED = Pair("", blake2b(b"", purpose=b"edna.shared.1", key=SHARED_LOCATOR))
MAC_KEY, OLD_MAC_KEY = fixed("server key", 40), fixed("older server key", 20)
PEPPER, OLD_PEPPER = fixed("pepper"), fixed("older pepper")


def sealed_box(message: bytes, recipient: bytes, label: str, secret: bytes | None = None) -> bytes:
    """crypto_box_seal with a fixed ephemeral key: nonce = BLAKE2b-24(ephemeral public key | recipient)."""
    ephemeral = Pair(f"ephemeral {label}", secret)
    nonce = sodium.crypto_generichash_blake2b_salt_personal(ephemeral.public + recipient, digest_size=24)
    return ephemeral.public + sodium.crypto_box(message, nonce, recipient, ephemeral.secret)


# --- the hybrid of X25519 and ML-KEM-768 -------------------------------------------------------------------------------


class HybridPair(Pair):
    """X-Wing's: everything out of a seed. It is known by its X25519 half, `public`."""

    def __init__(self, label: str) -> None:
        self.seed = fixed(f"seed of {label}")
        expanded = hashlib.shake_256(self.seed).digest(96)
        super().__init__(label, expanded[64:])
        self.ml_kem = MLKEM768PrivateKey.from_seed_bytes(expanded[:64])
        self.whole = self.ml_kem.public_key().public_bytes_raw() + self.public


#: One ML-KEM ciphertext for each of these, made once: OpenSSL takes no randomness for one from its caller. Opening one is deterministic.
ENCAPSULATED = dict(line.split() for line in (HERE / "encapsulated.txt").read_text().splitlines())
#: What @noble/post-quantum 0.7.1 makes of Bea's seed: `ml_kem768_x25519.keygen`, then `encapsulate` with the bytes 0 to 63 as randomness.
OF_NOBLE = dict(line.split() for line in (HERE / "of-noble.txt").read_text().splitlines())
HYBRID_BEA, HYBRID_EVE = HybridPair("hybrid bea"), HybridPair("hybrid eve")


def shared_secret(pair: HybridPair, encapsulated: bytes, ephemeral: bytes, exchanged: bytes) -> bytes:
    """X-Wing's combiner."""
    secret = pair.ml_kem.decapsulate(encapsulated)
    return hashlib.sha3_256(secret + exchanged + ephemeral + pair.public + b"\\.//^\\").digest()


def hpke(message: bytes, pair: HybridPair, name: str, purpose: bytes) -> bytes:
    """RFC 9180, base mode: KEM 0x647a, HKDF-SHA256, ChaCha20-Poly1305."""
    encapsulated, ephemeral = bytes.fromhex(ENCAPSULATED[name]), Pair(f"ephemeral {purpose!r}")
    exchanged = sodium.crypto_scalarmult(ephemeral.secret, pair.public)
    shared = shared_secret(pair, encapsulated, ephemeral.public, exchanged)
    return encapsulated + ephemeral.public + hpke_box(message, shared, purpose)


def hpke_box(message: bytes, shared: bytes, purpose: bytes) -> bytes:
    suite = b"HPKE" + struct.pack(">HHH", 0x647A, 1, 3)

    def extract(salt: bytes, label: bytes, given: bytes) -> bytes:
        return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + given, "sha256")

    def expand(secret: bytes, label: bytes, context: bytes, size: int) -> bytes:
        said = struct.pack(">H", size) + b"HPKE-v1" + suite + label + context
        return hmac.digest(secret, said + b"\1", "sha256")[:size]

    context = b"\0" + extract(b"", b"psk_id_hash", b"") + extract(b"", b"info_hash", purpose)
    secret = extract(shared, b"secret", b"")
    key, nonce = expand(secret, b"key", context, 32), expand(secret, b"base_nonce", context, 12)
    return sodium.crypto_aead_chacha20poly1305_ietf_encrypt(message, b"", nonce, key)


# --- values: a msgpack writer of its own ------------------------------------------------------------------------------


def head(size: int, small: tuple[int, int] | None, *forms: tuple[int, str]) -> bytes:
    if small and size <= small[1]:
        return bytes((small[0] | size,))
    for code, form in forms:
        if size < 1 << 8 * struct.calcsize(">" + form):
            return bytes((code,)) + struct.pack(">" + form, size)
    raise ValueError(size)


def extension(code: int, data: bytes) -> bytes:
    short = {1: 0xD4, 2: 0xD5, 4: 0xD6, 8: 0xD7, 16: 0xD8}.get(len(data))
    start = bytes((short,)) if short else head(len(data), None, (0xC7, "B"), (0xC8, "H"), (0xC9, "I"))
    return start + bytes((code,)) + data


def integer(value: int) -> bytes:
    if 0 <= value < 128:
        return bytes((value,))
    if -32 <= value < 0:
        return bytes((value & 0xFF,))
    for code, form in (
        zip(range(0xCC, 0xD0), "BHIQ", strict=True) if value > 0 else zip(range(0xD0, 0xD4), "bhiq", strict=True)
    ):
        try:
            return bytes((code,)) + struct.pack(">" + form, value)
        except struct.error:
            continue
    size = 1
    while not -(1 << 8 * size - 1) <= value < 1 << 8 * size - 1:
        size += 1
    return extension(7, value.to_bytes(size, "big", signed=True))


def pack(value: Any) -> bytes:
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            return integer(value)
        case float():
            return b"\xcb" + struct.pack(">d", value)
        case str():
            data = value.encode("utf-8", "surrogatepass")
            return head(len(data), (0xA0, 31), (0xD9, "B"), (0xDA, "H"), (0xDB, "I")) + data
        case bytes():
            return head(len(value), None, (0xC4, "B"), (0xC5, "H"), (0xC6, "I")) + value
        case list():
            return head(len(value), (0x90, 15), (0xDC, "H"), (0xDD, "I")) + b"".join(map(pack, value))
        case dict():
            pairs = b"".join(pack(key) + pack(item) for key, item in value.items())
            return head(len(value), (0x80, 15), (0xDE, "H"), (0xDF, "I")) + pairs
        case decimal.Decimal():
            return extension(1, str(value).encode())
        case datetime.datetime():
            return extension(2, value.isoformat().encode())
        case datetime.date():
            return extension(3, value.isoformat().encode())
        case datetime.time():
            return extension(4, value.isoformat().encode())
        case datetime.timedelta():
            return extension(5, f"{value.days}:{value.seconds}:{value.microseconds}".encode())
        case uuid.UUID():
            return extension(6, value.bytes)
    raise TypeError(type(value))


def tagged(value: Any) -> dict[str, Any]:
    """The value as JSON that any language reads without loss."""
    match value:
        case None:
            return {"type": "null"}
        case bool():
            return {"type": "bool", "value": value}
        case int():
            return {"type": "int", "value": str(value)}
        case float():
            return {"type": "float", "value": struct.pack(">d", value).hex()}
        case str():
            return {"type": "str", "value": value.encode("utf-8", "surrogatepass").hex()}
        case bytes():
            return {"type": "bytes", "value": value.hex()}
        case list():
            return {"type": "list", "value": [tagged(item) for item in value]}
        case dict():
            return {"type": "dict", "value": [[tagged(key), tagged(item)] for key, item in value.items()]}
        case decimal.Decimal():
            return {"type": "decimal", "value": str(value)}
        case datetime.datetime():
            return {"type": "datetime", "value": value.isoformat()}
        case datetime.date():
            return {"type": "date", "value": value.isoformat()}
        case datetime.time():
            return {"type": "time", "value": value.isoformat()}
        case datetime.timedelta():
            return {"type": "timedelta", "value": f"{value.days}:{value.seconds}:{value.microseconds}"}
        case uuid.UUID():
            return {"type": "uuid", "value": value.hex}
    raise TypeError(type(value))


def nan(bits: str) -> float:
    return float(struct.unpack(">d", bytes.fromhex(bits))[0])


UTC = datetime.UTC
INDIA = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "one": 1,
    "one-as-float": 1.0,
    "one-as-text": "1",
    "int-64-bit-minimum": -(2**63),
    "int-64-bit-maximum": 2**63 - 1,
    "int-unsigned-64-bit-maximum": 2**64 - 1,
    "int-beyond-64-bit": 2**64,
    "int-below-64-bit": -(2**63) - 1,
    "int-every-width": [
        0,
        127,
        128,
        255,
        256,
        65535,
        65536,
        2**32 - 1,
        2**32,
        -1,
        -32,
        -33,
        -128,
        -129,
        -32768,
        -32769,
        -(2**31),
        -(2**31) - 1,
    ],
    "float-negative-zero": -0.0,
    "float-infinities": [math.inf, -math.inf],
    "float-nan-payload": nan("7ff8000000c0ffee"),
    "float-smallest": 5e-324,
    "text-empty": "",
    "text-looks-like-something-else": ["NULL", "None", "True", "007", "1e3", "{}"],
    "text-nul-quotes-backslash": "a\0b'\"\\",
    "text-emoji": "\U0001f9d1\u200d\U0001f4bb é ü",
    "text-lone-surrogate": "\ud83d",
    "text-every-length-form": ["x" * 31, "x" * 32, "x" * 255, "x" * 256],
    "bytes-empty": b"",
    "bytes-not-utf-8": b"\x00\xff\xfe\x80",
    "decimal-scale": [
        decimal.Decimal("1.0"),
        decimal.Decimal("1.00"),
        decimal.Decimal("-0.000"),
        decimal.Decimal("1E+3"),
    ],
    "decimal-special": [decimal.Decimal("NaN"), decimal.Decimal("sNaN123"), decimal.Decimal("-Infinity")],
    "datetime-naive": datetime.datetime(2024, 2, 29, 23, 59, 59, 999999),
    "datetime-utc": datetime.datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC),
    "datetime-offset": datetime.datetime(1, 1, 1, 0, 0, 0, 1, tzinfo=INDIA),
    "date": datetime.date(9999, 12, 31),
    "time": [datetime.time(0, 0), datetime.time(23, 59, 59, 5), datetime.time(12, 0, tzinfo=INDIA)],
    "timedelta": [datetime.timedelta(0), datetime.timedelta(-1, 86399, 999999), datetime.timedelta.max],
    "uuid": uuid.UUID("00000000-0000-4000-8000-ffffffffffff"),
    "list-nested": [[], [None, [1, "a"]], list(range(16))],
    "dict": {"b": 1, "a": {"": None}, "empty": {}},
}
#: Apart from those that the bag of every type holds.
LARGE_VALUES: dict[str, Any] = {
    "dict-of-many-numbers": {number - 40: number for number in range(80)},
    "dict-of-64-uuids": {uuid.UUID(int=number): number for number in range(64)},
}
BAD_VALUES: dict[str, bytes] = {
    "empty": b"",
    "trailing-byte": pack(1) + b"\0",
    "text-longer-than-the-data": b"\xdb\xff\xff\xff\xffabc",
    "array-longer-than-the-data": b"\xdd\x7f\xff\xff\xff\xc0",
    "map-longer-than-the-data": b"\xdf\x7f\xff\xff\xff\xc0",
    "nested-too-deep": b"\x91" * 100_000 + b"\xc0",
    "unknown-extension": extension(8, b"x"),
    "timestamp-extension": extension(0xFF, b"\0\0\0\0"),
    # The same in headers that a writer would not choose: readers of MessagePack know more of them than come to mind.
    "timestamp-extension-in-a-longer-form": b"\xc7\x04\xff\0\0\0\0",
    "timestamp-extension-in-the-longest-form": b"\x91\xc9\0\0\0\x0c\xff" + bytes(12),
    "dict-repeats-a-number-of-another-type": b"\x82" + pack(1) * 2 + pack(1.0) + pack(2),
    "dict-key-is-a-signalling-nan": b"\x81" + pack(decimal.Decimal("sNaN")) + b"\xc0",
    "reserved-byte": b"\xc1",
    "invalid-utf-8": b"\xa2\xc3\x28",
    "decimal-not-canonical": extension(1, b" 1_0.0"),
    "decimal-not-a-number": extension(1, b"one"),
    "datetime-not-canonical": extension(2, b"2024-01-01 00:00:00"),
    "date-impossible": extension(3, b"2023-02-29"),
    "time-not-canonical": extension(4, b"1200"),
    "timedelta-not-canonical": extension(5, b"0:86400:0"),
    "uuid-short": extension(6, bytes(15)),
    "big-int-that-fits-64-bits": extension(7, bytes(9)),
    "big-int-that-is-the-64-bit-minimum": extension(7, (-(2**63)).to_bytes(9, "big", signed=True)),
    "big-int-that-is-the-unsigned-64-bit-maximum": extension(7, (2**64 - 1).to_bytes(9, "big", signed=True)),
    "big-int-not-minimal": extension(7, b"\0" + (2**70).to_bytes(10, "big")),
    "dict-repeats-a-key": b"\x82" + (pack("a") + pack(1)) * 2,
    "dict-key-is-a-dict": b"\x81\x80\xc0",
    # All of them leave the same remainder modulo 2**61 - 1: a table of them is slow to build.
    "dict-of-65-large-numbers": b"\xde\0\x41"
    + b"".join(pack((2**61 - 1) << shift) + b"\xc0" for shift in range(64, 129)),
    "dict-of-65-uuids": b"\xde\0\x41" + b"".join(pack(uuid.UUID(int=number)) + b"\xc0" for number in range(65)),
}


# --- bags ------------------------------------------------------------------------------------------------------------

ANSWER_ROWS = [
    [1, -4503599627370495, 11, "Because of the 'barrier'.", datetime.datetime(2024, 3, 1, 9, 30, tzinfo=UTC), None],
    [
        2,
        -4503599627370495,
        12,
        "",
        datetime.datetime(2024, 3, 1, 9, 31, 0, 250000, tzinfo=UTC),
        decimal.Decimal("7.50"),
    ],
]
DIFF_BATCHES = [
    [
        1,
        "websubmit.answer",
        "0003_score",
        ["id"],
        ["id", "author_id", "question_id", "body", "at", "score"],
        ANSWER_ROWS,
    ],
    [2, "websubmit.student", "0003_score", ["id"], ["email"], [[7, "bea@example.org", "gone-1@example.invalid"]]],
    [3, "websubmit.comment", "", ["id"], ["author_id"], [[5, 7, -12345], [6, 7, -12345]]],
]
SHARED_BATCHES = [
    [1, "websubmit.message", "0003_score", ["id"], ["id", "sender_id", "recipient_id", "body"], [[3, -1, -2, "Hi"]]],
]
OWNER_ROWS = [[3, "author", "7", CARL.public, "body"], [3, "order__customer", "8", BEA.public, "body,title"]]
BLOB_ROWS = [[0, 0, b"From: bea"], [0, 1, b"@example.org"], [1, 0, b""]]
# Records beside those of rows: a pointer at the shared bag, one at the content of a file, and blobs.
FILE = b"%PDF-1.7 of Bea"
FILE_ROWS = [[SHARED_LOCATOR, "scan", "scans/bea.pdf", len(FILE), blake2b(FILE, purpose=b"edna.file.1")]]
OTHER_BATCHES = [
    [4, "websubmit.message", "", ["locator"], ["rows"], [[SHARED_LOCATOR, 1]]],
    [5, "websubmit.document", "", ["locator"], ["field", "name", "size", "digest"], FILE_ROWS],
    [6, "websubmit.export-mailbox", "", ["position", "part"], ["blob"], BLOB_ROWS],
]
SPEAKS_FOR_BATCHES = [
    ["websubmit.student", [[-12345, CARL.public, CARL.secret, 7], ["natural key", EVE.public, EVE.secret, -12345]]],
]


AT = datetime.datetime(2024, 5, 17, 12, 0, 0, 123456, tzinfo=UTC)


def bag(
    kind: int, batches: list[Any], params: dict[str, Any] | None = None, segments: list[Any] | None = None
) -> list[Any]:
    head = [kind, "websubmit.delete-account", AT, "websubmit.student", 7, params or {}, "sqlite", True]
    return [*head, segments or [1, 1], batches]


def shared_bag(batches: list[Any]) -> list[Any]:
    return [3, "", AT, "websubmit.student", None, {}, "sqlite", True, [1, 0], batches]


def index(kind: int, sequence: int, locator: bytes = LOCATOR) -> bytes:
    return blake2b(bytes((kind,)) + struct.pack(">I", sequence), purpose=b"edna.index.1", key=locator)


def content(
    payload: bytes, *, at: bytes, encoding: int = 0, owner: bytes = BEA.public, mac_key: bytes = MAC_KEY
) -> bytes:
    covered = at + owner + bytes((encoding,)) + payload
    mac = blake2b(covered, purpose=b"edna.bag.mac.1", key=blake2b(mac_key, purpose=b"edna.mac.key.1"))
    return at + mac + bytes((encoding,)) + payload


def padme(length: int) -> int:
    if length <= 1024:
        return 1024
    exponent = math.floor(math.log2(length))
    low_bits = exponent - (math.floor(math.log2(exponent)) + 1)
    step = 2**low_bits
    return math.ceil(length / step) * step


def container(
    plain: bytes,
    *,
    recipients: tuple[bytes, ...] = (BEA.public,),
    version: int = 1,
    suite: int = 1,
    extra_stanza: bytes = b"",
    padding: bytes | None = None,
    beside: tuple[bytes, ...] = (),
) -> bytes:
    file_key, nonce = fixed("file key"), fixed("nonce", 24)
    used = struct.pack(">I", len(plain)) + plain
    padded = used + (bytes(padme(len(used)) - len(used)) if padding is None else padding)
    body = nonce + sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(padded, bytes((version, suite)), nonce, file_key)
    stanzas = extra_stanza + b"".join(
        b"\x01\x00\x50" + sealed_box(file_key, recipient, str(number)) for number, recipient in enumerate(recipients)
    )
    stanzas += b"".join(b"\x02" + struct.pack(">H", len(stanza)) + stanza for stanza in beside)
    count = len(recipients) + bool(extra_stanza) + len(beside)
    return struct.pack(">BBBI", version, suite, count, len(body)) + stanzas + body


def hybrid_stanza(pair: HybridPair = HYBRID_BEA, name: str = "bea") -> bytes:
    return b"\x03" + struct.pack(">H", 1168) + hpke(fixed("file key"), pair, name, b"edna file key 1")


def noble_stanza() -> bytes:
    """Encapsulated by another library for the key that it made of the same seed."""
    box = hpke_box(fixed("file key"), bytes.fromhex(OF_NOBLE["shared_secret"]), b"edna file key 1")
    return b"\x03" + struct.pack(">H", 1168) + bytes.fromhex(OF_NOBLE["encapsulated"]) + box


def hybrid_item(pair: HybridPair = HYBRID_BEA, name: str = "bea") -> bytes:
    tag = blake2b(pair.public, purpose=b"edna.item.tag.1", key=LOCATOR)
    return tag + hpke(LOCATOR, pair, name, b"edna locator item 1")


def succession(
    *voices: bytes,
    at: bytes,
    owner: bytes = BEA.public,
    former: bytes = EVE.public,
    recipient: bytes = BEA.public,
    number: int = 0,
    count: int = 1,
    mac_key: bytes = MAC_KEY,
    padding: bytes | None = None,
    hybrid: bool = False,
) -> bytes:
    """One stanza of type 2: a piece of what the server has noted when a bag was made over to its owner's new key."""
    place, said = bytes((number, count)), former + b"".join(voices)
    key = blake2b(mac_key, purpose=b"edna.owner.key.1")
    piece = place + blake2b(at + owner + place + said, purpose=b"edna.owner.mac.1", key=key) + said
    used = struct.pack(">I", len(piece)) + piece
    padded = used + (bytes(padme(len(used)) - len(used)) if padding is None else padding)
    if hybrid:
        return hpke(padded, HYBRID_BEA, "bea", b"edna succession 1")
    return sealed_box(padded, recipient, f"succession {number}")


def voice(former: Pair, new: Pair) -> bytes:
    return former.public + new.public + sealed_box(new.secret, BEA.public, f"voice {new.public.hex()}")


def flipped(data: bytes, offset: int, bit: int = 0) -> bytes:
    return data[:offset] + bytes((data[offset] ^ 1 << bit,)) + data[offset + 1 :]


def stored_deflate(data: bytes) -> bytes:
    """A zlib stream of one stored block: the same in every zlib."""
    size = len(data)
    return b"\x78\x01\x01" + struct.pack("<HH", size, size ^ 0xFFFF) + data + struct.pack(">I", zlib.adler32(data))


# What zlib made of the payload of `bag-diff-deflated`; kept because another zlib may compress otherwise.
DEFLATED = bytes.fromhex(
    "78019bc5b8a33c35a9b8342937b3442f253527b5245537313939bf34afe4b8029391819189ae81a9aea17988a19195810110"
    "e9191a199b989a6983391b117a8b4b4a5352f34ad81b961517e66496a41e9ec4c838731ae306848ac4bce2f2d4a255060606"
    "c6f1c5c9f945a9131765a64c03e29589a52519f945f19929ab0b4b538b4b32f3f380ec2549f929958b124b9682d54e9ac678"
    "f9ff07061060e4dee9949a9c585a9caa909fa6509291aaa09e94585494995aa4ae775c12ea66635d03c310034b2b63909b21"
    "8e3d308d096e04cf02b8efe02a0d41be333205ba0faae11aa3b99ea9c134264c5fa27962e2d2d4dcc4cc9c8993d9d727a526"
    "3aa45624e616e4a4eae517a56f4bcfcf4bd535840b65e69525e6007dcd8c6466727e6e2e30e41680826322222c264d6665bf"
    "78fef8643610391a90a301094c9e832845020015698bb0"
)

OPEN = {
    "locator": LOCATOR.hex(),
    "kind": 1,
    "sequence": 0,
    "secret_key": BEA.secret.hex(),
    "mac_keys": [MAC_KEY.hex(), OLD_MAC_KEY.hex()],
}

Case = dict[str, Any]


def bag_cases() -> dict[str, Case]:
    diff = pack(bag(1, DIFF_BATCHES, {"lecture": 3, "since": datetime.date(2024, 1, 1)}))
    values = bag(
        1, [[2, "sample.everything", "0001_initial", ["id"], ["column"], [[1, v, None] for v in VALUES.values()]]]
    )
    keys = bag(
        1,
        [
            [
                2,
                "sample.page",
                "0001_initial",
                ["id"],
                ["meta__author__name"],
                [[1, '"B\\u00e9a"', '"[gone]"'], [2, None, None]],
            ]
        ],
    )
    speaks_for = pack(bag(2, SPEAKS_FOR_BATCHES))
    here, there = index(1, 0), index(1, 1)
    good = container(content(diff, at=here))
    stanza, body = 7 + 3, 7 + 83
    boxed = ["websubmit.student", [[-12345, CARL.public, sealed_box(CARL.secret, BEA.public, "voice"), 7]]]
    noted = [*SPEAKS_FOR_BATCHES[0], [index(1, 0, SHARED_LOCATOR), index(2, 0, SHARED_LOCATOR)]]
    assert zlib.decompress(DEFLATED) == pack(bag(1, DIFF_BATCHES * 3)), "renew DEFLATED with zlib.compress(payload, 1)"

    def valid(sealed: bytes, payload: Any, description: str, **changes: Any) -> Case:
        given = OPEN | changes | {"sealed": sealed.hex()}
        return {"description": description, "operation": "open_bag", "input": given, "expect": tagged(payload)}

    def defect(sealed: bytes, error: str, description: str, **changes: Any) -> Case:
        given = OPEN | changes | {"sealed": sealed.hex()}
        return {"description": description, "operation": "open_bag", "input": given, "error": error}

    plain = bag(1, DIFF_BATCHES, {"lecture": 3, "since": datetime.date(2024, 1, 1)})
    empty, last = bag(1, [], segments=[1, 0]), bag(1, DIFF_BATCHES, segments=[2**32, 0])
    shared, shared_place = pack(shared_bag(SHARED_BATCHES)), index(3, 0, SHARED_LOCATOR)
    mention = shared_bag([[7, "websubmit.user", "", ["mentioned"], ["now"], [[-12345, 7]]]])
    handed = shared_bag(
        [
            [2, "websubmit.note", "0003_score", ["id"], ["body"], [[3, "Hi", "[gone]"]]],
            [8, "websubmit.note", "0003_score", ["id"], ["path", "reference", "public_key", "columns"], OWNER_ROWS],
            [9, "", "", ["public_key"], ["item"], [[CARL.public, bytes(80)]]],
        ]
    )
    open_shared = {"locator": SHARED_LOCATOR.hex(), "kind": 3, "secret_key": SHARED.secret.hex()}
    pieces = [[5, "", "", ["offset"], ["content"], [[0, FILE]]]]
    piece = [3, "", AT, "", None, {}, "sqlite", False, [0, 0], pieces]
    unknown = b"\x7f\x00\x05other"
    formerly, voices_at = content(diff, at=here, owner=EVE.public), index(2, 0)
    dan, fay = Pair("dan"), Pair("fay")
    voices_formerly = content(speaks_for, at=voices_at, owner=EVE.public)
    rows = [[-12345, dan.public, voice(CARL, dan)[64:], 7], ["natural key", fay.public, voice(EVE, fay)[64:], -12345]]
    renewed = bag(2, [["websubmit.student", rows]])
    half_renewed = bag(2, [["websubmit.student", [rows[0], SPEAKS_FOR_BATCHES[0][1][1]]]])

    def made_over(*beside: bytes, plain: bytes = formerly) -> bytes:
        return container(plain, beside=beside)

    def hybrid(*stanzas: bytes, plain: bytes = diff, at: bytes = here, recipients: tuple[bytes, ...] = ()) -> bytes:
        """Made for Bea's key of the hybrid kind."""
        made = container(content(plain, at=at, owner=HYBRID_BEA.public), recipients=recipients)
        count = made[2] + len(stanzas)
        return made[:2] + bytes((count,)) + made[3:7] + b"".join(stanzas) + made[7:]

    noted_hybrid = succession(at=here, owner=HYBRID_BEA.public, hybrid=True)
    made_over_hybrid = container(formerly, recipients=(), extra_stanza=hybrid_stanza(), beside=(noted_hybrid,))
    by_seed = {"seed": HYBRID_BEA.seed.hex()}
    hybrid_good = hybrid(hybrid_stanza())
    hybrid_rows = [[-12345, HYBRID_EVE.public, b"\2" + HYBRID_EVE.seed, 7], [-12346, CARL.public, CARL.secret, 7]]
    hybrid_voices = bag(2, [["websubmit.student", hybrid_rows]])
    other_kind = [["websubmit.student", [[-12345, HYBRID_EVE.public, b"\3" + HYBRID_EVE.seed, 7]]]]
    both = (BEA.public, CARL.public)
    return {
        "bag-diff-plain": valid(good, plain, "removed, modified and decorrelated rows; not compressed"),
        "bag-diff-stored": valid(
            container(content(stored_deflate(diff), at=here, encoding=1)),
            plain,
            "compressed: a zlib stream of a stored block",
        ),
        "bag-diff-deflated": valid(
            container(content(DEFLATED, at=here, encoding=1)), bag(1, DIFF_BATCHES * 3), "compressed by zlib, level 1"
        ),
        "bag-every-value-type": valid(
            container(content(pack(values), at=here)), values, "every type of value, as old values of a modification"
        ),
        "bag-json-keys": valid(
            container(content(pack(keys), at=here)),
            keys,
            "a single key of a JSON column, in a document that has it and one that has not",
        ),
        "bag-no-batches": valid(container(content(pack(empty), at=here)), empty, "an empty bag"),
        "bag-speaks-for": valid(
            container(content(speaks_for, at=index(2, 0))), bag(2, SPEAKS_FOR_BATCHES), "speaks-for records", kind=2
        ),
        "bag-speaks-for-unlisted": valid(
            container(content(pack(bag(2, [noted])), at=index(2, 0))),
            bag(2, [noted]),
            "speaks-for records, and the indexes of two bags that no list leads to",
            kind=2,
        ),
        "bag-speaks-for-sealed-keys": valid(
            container(content(pack(bag(2, [boxed])), at=index(2, 0))),
            bag(2, [boxed]),
            "a speaks-for record whose secret key is sealed to the one the bag is sealed to",
            kind=2,
        ),
        "bag-later-segment": valid(
            container(content(pack(last), at=index(1, 2**32 - 1))),
            last,
            "the segment with the last sequence number",
            sequence=2**32 - 1,
        ),
        "bag-other-records": valid(
            container(content(pack(bag(1, OTHER_BATCHES)), at=here)),
            bag(1, OTHER_BATCHES),
            "a pointer at a shared bag, one at a file, and two blobs, one of them in two parts and one empty",
        ),
        "bag-shared": valid(
            container(content(shared, at=shared_place, owner=SHARED.public), recipients=(SHARED.public,)),
            shared_bag(SHARED_BATCHES),
            "a shared bag: sealed to the key pair that is derived from its locator, names nobody",
            **open_shared,
        ),
        "bag-file-content": valid(
            container(content(pack(piece), at=shared_place, owner=SHARED.public), recipients=(SHARED.public,)),
            piece,
            "a piece of a file's content: a bag of kind 3 that counts no segments",
            **open_shared,
        ),
        "bag-older-mac-key": valid(
            container(content(diff, at=here, mac_key=OLD_MAC_KEY)),
            plain,
            "a MAC under a key that verifies but no longer signs",
        ),
        "bag-two-recipients-first": valid(
            container(content(diff, at=here), recipients=both), plain, "two recipients, opened by the first"
        ),
        "bag-two-recipients-second": valid(
            container(content(diff, at=here), recipients=both),
            plain,
            "two recipients, opened by the second; the MAC names the owner",
            secret_key=CARL.secret.hex(),
            public_key=BEA.public.hex(),
        ),
        "bag-unknown-stanza-skipped": valid(
            container(content(diff, at=here), extra_stanza=unknown),
            plain,
            "a stanza of an unknown type is for somebody else",
        ),
        "bag-sixteen-recipients": valid(
            container(content(diff, at=here), recipients=(CARL.public,) * 15 + (BEA.public,)),
            plain,
            "as many stanzas as allowed",
        ),
        "bag-shared-handed-over": valid(
            container(content(pack(handed), at=shared_place, owner=SHARED.public), recipients=(SHARED.public,)),
            handed,
            "a shared bag with what waits for another owner, who owns it, and in whose list it is",
            **open_shared,
        ),
        "bag-shared-mention": valid(
            container(content(pack(mention), at=shared_place, owner=SHARED.public), recipients=(SHARED.public,)),
            mention,
            "a shared bag that says who stands in the place of a pseudoprincipal now",
            **open_shared,
        ),
        "bag-made-over": valid(
            made_over(succession(at=here)), plain, "made for another public key, and made over to this one since"
        ),
        "bag-made-over-older-mac-key": valid(
            made_over(succession(at=here, mac_key=OLD_MAC_KEY)),
            plain,
            "the same, noted under an older key of the server",
        ),
        "bag-made-over-to-others-too": valid(
            made_over(succession(at=here), succession(at=here, owner=CARL.public, recipient=CARL.public)),
            plain,
            "what is noted for somebody else is passed over",
        ),
        "bag-made-over-speaks-for": valid(
            made_over(succession(voice(CARL, dan), voice(EVE, fay), at=voices_at), plain=voices_formerly),
            renewed,
            "speaks-for records whose pseudoprincipals have other keys now",
            kind=2,
        ),
        "bag-made-over-in-two-pieces": valid(
            made_over(
                succession(voice(CARL, dan), at=voices_at, count=2),
                succession(voice(EVE, fay), at=voices_at, number=1, count=2),
                plain=voices_formerly,
            ),
            renewed,
            "the same, in two stanzas",
            kind=2,
        ),
        "bag-made-over-one-voice": valid(
            made_over(succession(voice(CARL, dan), voice(BEA, fay), at=voices_at), plain=voices_formerly),
            half_renewed,
            "one pseudoprincipal has another key; one that is noted is not in the records",
            kind=2,
        ),
        "bag-hybrid": valid(hybrid_good, plain, "sealed to a key of the hybrid kind", **by_seed),
        "bag-hybrid-of-noble": valid(
            hybrid(noble_stanza()), plain, "its stanza was encapsulated by @noble/post-quantum", **by_seed
        ),
        "bag-hybrid-second-stanza": valid(
            hybrid(hybrid_stanza(HYBRID_EVE, "eve"), hybrid_stanza(), recipients=(CARL.public,)),
            plain,
            "two recipients of the hybrid kind and one of X25519",
            **by_seed,
        ),
        "bag-hybrid-made-over": valid(
            made_over_hybrid,
            plain,
            "made for another public key, and made over to one of the hybrid kind since",
            **by_seed,
        ),
        "bag-hybrid-voices": valid(
            hybrid(hybrid_stanza(), plain=pack(hybrid_voices), at=voices_at),
            hybrid_voices,
            "speaks-for records with a key of each kind",
            kind=2,
            **by_seed,
        ),
        # one per defect
        "bag-hybrid-wrong-key": defect(
            hybrid_good, "WrongKey", "opened with somebody else's key of the hybrid kind", seed=HYBRID_EVE.seed.hex()
        ),
        "bag-hybrid-by-its-x25519-half": defect(
            hybrid_good, "WrongKey", "opened with the X25519 half alone", secret_key=HYBRID_BEA.secret.hex()
        ),
        "bag-hybrid-sealed-to-its-x25519-half": defect(
            hybrid(recipients=(HYBRID_BEA.public,)),
            "WrongKey",
            "a stanza of X25519 for the half of a key of the hybrid kind: whoever breaks X25519 could have made it",
            **by_seed,
        ),
        "bag-hybrid-flipped-bit-ml-kem": defect(
            flipped(hybrid_good, stanza + 500), "WrongKey", "a bit of the ML-KEM ciphertext flipped", **by_seed
        ),
        "bag-hybrid-flipped-bit-ephemeral-key": defect(
            flipped(hybrid_good, stanza + 1100), "WrongKey", "a bit of the ephemeral X25519 key flipped", **by_seed
        ),
        "bag-hybrid-flipped-bit-box": defect(
            flipped(hybrid_good, stanza + 1167), "WrongKey", "the last bit of the sealed file key flipped", **by_seed
        ),
        "bag-hybrid-ephemeral-key-of-small-order": defect(
            hybrid_good[: stanza + 1088] + bytes(32) + hybrid_good[stanza + 1120 :],
            "WrongKey",
            "the ephemeral X25519 key is a point of small order",
            **by_seed,
        ),
        "bag-hybrid-stanza-too-long": defect(
            hybrid(b"\x03" + struct.pack(">H", 1169) + hybrid_stanza()[3:] + b"x"),
            "BagCorrupt",
            "a stanza of the hybrid kind with a byte too many",
            **by_seed,
        ),
        "bag-hybrid-voice-of-another-kind": defect(
            hybrid(hybrid_stanza(), plain=pack(bag(2, other_kind)), at=voices_at),
            "BagCorrupt",
            "a speaks-for record with a key of a kind that there is not",
            kind=2,
            **by_seed,
        ),
        "bag-made-over-by-nobody": defect(container(formerly), "BagForged", "nothing is noted"),
        "bag-made-over-wrong-mac": defect(
            made_over(succession(at=here, mac_key=b"not one of the server's keys")),
            "BagForged",
            "noted by somebody else",
        ),
        "bag-made-over-at-another-place": defect(
            made_over(succession(at=there)), "BagForged", "what was noted of another bag"
        ),
        "bag-made-over-to-somebody-else": defect(
            made_over(succession(at=here, owner=CARL.public)), "BagForged", "what was noted for another owner"
        ),
        "bag-made-over-by-another-owner": defect(
            made_over(succession(at=here, former=CARL.public)),
            "BagForged",
            "the MAC of the bag names another former owner",
        ),
        "bag-made-over-piece-missing": defect(
            made_over(succession(at=here, count=2)), "BagCorrupt", "one stanza of two is gone"
        ),
        "bag-made-over-pieces-swapped": defect(
            made_over(succession(at=here, number=1, count=2), succession(at=here, count=2)),
            "BagCorrupt",
            "two stanzas in the wrong order",
        ),
        "bag-made-over-by-two": defect(
            made_over(succession(at=here, count=2), succession(at=here, number=1, count=2, former=CARL.public)),
            "BagCorrupt",
            "two stanzas name different former owners",
        ),
        "bag-made-over-by-a-point-of-small-order": defect(
            made_over(succession(at=here, former=bytes(32))), "BagCorrupt", "the former public key is none"
        ),
        "bag-made-over-piece-too-long": defect(
            made_over(succession(b"x", at=here)), "BagCorrupt", "a byte behind what is noted"
        ),
        "bag-made-over-padding-not-zero": defect(
            made_over(succession(at=here, padding=bytes(1024 - 4 - 66 - 1) + b"\1")),
            "BagCorrupt",
            "something is hidden in the padding of what is noted",
        ),
        "bag-made-over-misplaced": defect(
            made_over(succession(b"x", at=there), plain=content(diff, at=there, owner=EVE.public)),
            "BagMisplaced",
            "the place is looked at before what is noted",
        ),
        "bag-empty": defect(b"", "BagTruncated", "no bytes at all"),
        "bag-truncated-header": defect(good[:6], "BagTruncated", "ends inside the header"),
        "bag-truncated-stanza": defect(good[:60], "BagTruncated", "ends inside the stanza"),
        "bag-truncated-body": defect(good[:-1], "BagTruncated", "the last byte is missing"),
        "bag-wrong-version": defect(container(content(diff, at=here), version=2), "BagVersionUnknown", "version 2"),
        "bag-wrong-suite": defect(container(content(diff, at=here), suite=2), "BagSuiteUnknown", "suite 2"),
        "bag-only-unknown-stanza": defect(
            container(content(diff, at=here), recipients=(), extra_stanza=unknown),
            "BagSuiteUnknown",
            "no stanza of a known type",
        ),
        "bag-wrong-key": defect(good, "WrongKey", "opened with somebody else's key", secret_key=EVE.secret.hex()),
        "bag-flipped-bit-version": defect(flipped(good, 0), "BagVersionUnknown", "a bit of the version flipped"),
        "bag-flipped-bit-suite": defect(flipped(good, 1, 7), "BagSuiteUnknown", "a bit of the suite flipped"),
        "bag-flipped-bit-stanza-count": defect(flipped(good, 2), "BagCorrupt", "one stanza became none"),
        "bag-too-many-stanzas": defect(flipped(good, 2, 4), "BagCorrupt", "one stanza became 17"),
        "bag-flipped-bit-body-length": defect(flipped(good, 6, 4), "BagTruncated", "the announced length grew by 16"),
        "bag-flipped-bit-stanza-type": defect(flipped(good, 7), "BagSuiteUnknown", "the only stanza's type became 0"),
        "bag-flipped-bit-stanza-length": defect(flipped(good, 9), "BagCorrupt", "a sealed box cannot have 81 bytes"),
        "bag-flipped-bit-stanza-ephemeral-key": defect(
            flipped(good, stanza), "WrongKey", "a bit of the ephemeral key flipped"
        ),
        "bag-flipped-bit-stanza-box": defect(
            flipped(good, stanza + 79), "WrongKey", "the last bit of the sealed box flipped"
        ),
        "bag-flipped-bit-nonce": defect(flipped(good, body), "BagCorrupt", "a bit of the nonce flipped"),
        "bag-flipped-bit-ciphertext": defect(
            flipped(good, body + 100), "BagCorrupt", "a bit of the ciphertext flipped"
        ),
        "bag-flipped-bit-tag": defect(flipped(good, len(good) - 1), "BagCorrupt", "a bit of the tag flipped"),
        "bag-body-of-another": defect(
            good[:body] + container(content(diff, at=there))[body:][:-16] + good[-16:],
            "BagCorrupt",
            "somebody else's body",
        ),
        "bag-version-changed-in-associated-data": defect(
            b"\x01\x01" + container(content(diff, at=here), version=2)[2:], "BagCorrupt", "the header is authenticated"
        ),
        "bag-wrong-mac": defect(
            container(content(diff, at=here, mac_key=b"not one of the server's keys")),
            "BagForged",
            "a MAC of another key",
        ),
        "bag-flipped-bit-mac": defect(
            container(flipped(content(diff, at=here), 40)),
            "BagForged",
            "sealed by somebody who flipped a bit of the MAC",
        ),
        "bag-edited-payload": defect(
            container(flipped(content(diff, at=here), 90)), "BagForged", "sealed by somebody who edited the payload"
        ),
        "bag-edited-encoding": defect(
            container(flipped(content(diff, at=here), 64)), "BagForged", "sealed by somebody who edited the encoding"
        ),
        "bag-made-for-another-owner": defect(
            container(content(diff, at=here, owner=EVE.public)),
            "BagForged",
            "somebody else's bag, sealed again to this key",
        ),
        "bag-swapped-index": defect(
            container(content(diff, at=there)), "BagMisplaced", "the bag of segment 1 stored as segment 0"
        ),
        "bag-swapped-kind": defect(
            container(content(speaks_for, at=index(2, 0))), "BagMisplaced", "a speaks-for bag stored as a diff bag"
        ),
        "bag-trailing-bytes": defect(good + b"\0", "BagTrailingBytes", "a zero byte after the end"),
        "bag-over-long": defect(
            good, "BagTooLarge", "zero bytes up to one more than 64 MiB; refused first", sealed_length=64 * 2**20 + 1
        ),
        "bag-announces-too-much": defect(
            good[:3] + b"\xff\xff\xff\xff" + good[7:], "BagTooLarge", "the header announces a body of 4 GiB"
        ),
        "bag-announces-too-little": defect(
            good[:3] + struct.pack(">I", 1063) + good[7:],
            "BagCorrupt",
            "the header announces a body that cannot be one",
        ),
        "bag-padding-not-zero": defect(
            container(
                content(diff, at=here), padding=bytes(padme(4 + 65 + len(diff)) - 4 - 65 - len(diff) - 1) + b"\1"
            ),
            "BagCorrupt",
            "something is hidden in the padding",
        ),
        "bag-padding-too-long": defect(
            container(b"x", padding=bytes(2048 - 5)), "BagCorrupt", "more padding than the format says"
        ),
        "bag-padding-length-beyond-the-end": defect(
            container(b"", padding=bytes(1020))[:body] + _body(struct.pack(">I", 4096) + bytes(1020)),
            "BagCorrupt",
            "the content claims to be longer than the body",
        ),
        "bag-content-too-short": defect(container(b"x" * 64), "BagCorrupt", "no room for index, MAC and encoding"),
        "bag-unknown-encoding": defect(
            container(content(diff, at=here, encoding=2)), "BagCorrupt", "a compression that this version does not know"
        ),
        "bag-zlib-broken": defect(
            container(content(b"not zlib", at=here, encoding=1)), "BagCorrupt", "not a zlib stream"
        ),
        "bag-zlib-truncated": defect(
            container(content(DEFLATED[:-1], at=here, encoding=1)), "BagCorrupt", "zlib ends early"
        ),
        "bag-zlib-trailing-bytes": defect(
            container(content(DEFLATED + b"\0", at=here, encoding=1)), "BagCorrupt", "bytes after the zlib stream"
        ),
        "bag-payload-does-not-decode": defect(container(content(b"\xc1", at=here)), "BagCorrupt", "not msgpack"),
        "bag-payload-of-another-shape": defect(container(content(pack({"a": 1}), at=here)), "BagCorrupt", "not a bag"),
        "bag-payload-of-another-kind": defect(
            container(content(speaks_for, at=here)), "BagCorrupt", "a speaks-for payload at the index of a diff bag"
        ),
        "bag-row-too-short": defect(
            container(content(pack(bag(1, [[3, "a.b", "", ["id"], ["owner_id"], [[1, 2]]]])), at=here)),
            "BagCorrupt",
            "a row without its new value",
        ),
        "bag-removed-row-without-key": defect(
            container(content(pack(bag(1, [[1, "a.b", "", ["id"], ["body"], [["x"]]]])), at=here)),
            "BagCorrupt",
            "a removed row that could not be told from another",
        ),
        "bag-unknown-operation": defect(
            container(content(pack(bag(1, [[99, "a.b", "", ["id"], ["body"], []]])), at=here)),
            "BagCorrupt",
            "operation 99",
        ),
        "bag-kind-is-a-truth-value": defect(
            container(content(pack([True, *bag(1, [])[1:]]), at=here)), "BagCorrupt", "true, where the kind is 1"
        ),
        "bag-operation-is-a-truth-value": defect(
            container(content(pack(bag(1, [[True, "a.b", "", ["id"], ["id"], [[1]]]])), at=here)),
            "BagCorrupt",
            "true, where the operation is 1",
        ),
        "bag-speaks-for-point-of-small-order": defect(
            container(content(pack(bag(2, [["a.b", [[1, bytes(32), CARL.secret, 7]]]])), at=index(2, 0))),
            "BagCorrupt",
            "a speaks-for record with a public key to which nothing may be sealed",
            kind=2,
        ),
        "bag-two-defects-in-its-stanzas": defect(
            flipped(container(content(diff, at=here), recipients=both), 9)[: 7 + 83 + 20],
            "BagCorrupt",
            "the first stanza has a wrong length, and the bag ends inside the second",
        ),
        "bag-share-record-too-short": defect(
            container(content(pack(bag(1, [[4, "a.b", "", ["locator"], ["rows"], [[SHARED_LOCATOR]]]])), at=here)),
            "BagCorrupt",
            "a pointer at a shared bag that does not say how many rows are in it",
        ),
        "bag-segments-without-this-one": defect(
            container(content(pack(bag(1, [], segments=[1, 5])), at=there)),
            "BagCorrupt",
            "segment 1 of one diff segment",
            sequence=1,
        ),
        "bag-segments-of-the-other-kind-only": defect(
            container(content(pack(bag(2, [], segments=[1, 0])), at=index(2, 0))),
            "BagCorrupt",
            "a speaks-for bag that counts diff bags only",
            kind=2,
        ),
        "bag-segments-negative": defect(
            container(content(pack(bag(1, [], segments=[1, -1])), at=here)), "BagCorrupt", "fewer than no segments"
        ),
        "bag-segments-not-counted": defect(
            container(content(pack(bag(1, [], segments=[True, None])), at=here)),
            "BagCorrupt",
            "segments counted in truth values",
        ),
        "bag-shared-opened-by-an-owner": defect(
            container(content(shared, at=shared_place, owner=SHARED.public), recipients=(SHARED.public,)),
            "WrongKey",
            "opened with a person's key instead of the locator's",
            **(open_shared | {"secret_key": BEA.secret.hex()}),
        ),
        "bag-shared-made-for-a-person": defect(
            container(content(shared, at=shared_place), recipients=(SHARED.public,)),
            "BagForged",
            "a shared bag whose MAC names a person's key",
            **open_shared,
        ),
        "bag-shared-at-another-locator": defect(
            container(content(shared, at=index(3, 0), owner=SHARED.public), recipients=(SHARED.public,)),
            "BagMisplaced",
            "a shared bag that was moved",
            **open_shared,
        ),
        "bag-speaks-for-sealed-key-too-short": defect(
            container(content(pack(bag(2, [["a.b", [[1, CARL.public, boxed[1][0][2][:79], 7]]]])), at=index(2, 0))),
            "BagCorrupt",
            "a speaks-for record with a sealed secret key of 79 bytes",
            kind=2,
        ),
        "bag-speaks-for-without-owner": defect(
            container(content(pack(bag(2, [["a.b", [[1, CARL.public, CARL.secret]]]])), at=index(2, 0))),
            "BagCorrupt",
            "a speaks-for record that does not say whom it stands for",
            kind=2,
        ),
        "bag-speaks-for-unlisted-none": defect(
            container(content(pack(bag(2, [[*SPEAKS_FOR_BATCHES[0], []]])), at=index(2, 0))),
            "BagCorrupt",
            "speaks-for records with an empty list of bags that no list leads to: a writer leaves it out",
            kind=2,
        ),
        "bag-speaks-for-unlisted-short": defect(
            container(content(pack(bag(2, [[*SPEAKS_FOR_BATCHES[0], [bytes(31)]]])), at=index(2, 0))),
            "BagCorrupt",
            "speaks-for records with an index of 31 bytes",
            kind=2,
        ),
        "bag-local-time": defect(
            container(
                content(pack([*bag(1, [])[:2], datetime.datetime(2024, 1, 1, tzinfo=INDIA), *bag(1, [])[3:]]), at=here)
            ),
            "BagCorrupt",
            "the time of application is not in UTC",
        ),
        "bag-short-secret-key": defect(
            container(content(pack(bag(2, [["a.b", [[1, CARL.public, b"short", 7]]]])), at=index(2, 0))),
            "BagCorrupt",
            "a speaks-for record with a key of 5 bytes",
            kind=2,
        ),
    }


def _body(padded: bytes) -> bytes:
    nonce = fixed("nonce", 24)
    return nonce + sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(padded, b"\x01\x01", nonce, fixed("file key"))


# --- the small formats ------------------------------------------------------------------------------------------------


def base32(data: bytes) -> str:
    return base64.b32encode(data).decode().rstrip("=").lower()


def receipt_text(disguise: str, locator: bytes) -> str:
    checksum = blake2b(disguise.encode() + b"\0" + locator, purpose=b"edna.receipt.1", size=4)
    return f"edna1:{disguise}:{base32(locator + checksum)}"


def recovery_text(code: bytes) -> str:
    bits = "".join(f"{byte:08b}" for byte in code + blake2b(code, purpose=b"edna.recovery.c1", size=2))[:140]
    symbols = ["0123456789ABCDEFGHJKMNPQRSTVWXYZ"[int(bits[at : at + 5], 2)] for at in range(0, 140, 5)]
    return "-".join("".join(symbols[at : at + 4]) for at in range(0, 28, 4))


def slot(slot_secret: bytes, kind: str, pepper: bytes = PEPPER) -> dict[str, str]:
    key = blake2b(pepper, purpose=b"edna.pepper.1")
    slot_id = blake2b(slot_secret, purpose=b"edna.slot.id.1", key=key)
    wrapping_key = blake2b(slot_secret, purpose=b"edna.slot.wrap.1", key=key)
    nonce = fixed("slot nonce", 24)
    box = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(BEA.secret, b"\x01" + slot_id, nonce, wrapping_key)
    tag = blake2b(kind.encode(), purpose=b"edna.slot.tag.1", key=BEA.secret)
    return {"slot_id": slot_id.hex(), "tag": tag.hex(), "wrapped": (b"\x01" + nonce + box).hex()}


def slot_2(slot_secret: bytes, kind: str, pepper: bytes = PEPPER, *, hybrid: bool = False) -> dict[str, str]:
    """As it is made today."""
    key, owner = (HYBRID_BEA.seed, HYBRID_BEA.public) if hybrid else (BEA.secret, BEA.public)
    held = b"\2" if hybrid else b""
    return _slot_2(key, owner, held, slot_secret, kind, pepper)


def _slot_2(secret: bytes, public: bytes, held: bytes, slot_secret: bytes, kind: str, pepper: bytes) -> dict[str, str]:
    key = blake2b(pepper, purpose=b"edna.pepper.1")
    lookup = blake2b(b"", purpose=b"edna.slot.find.2", key=slot_secret)
    slot_id = blake2b(lookup, purpose=b"edna.slot.id.2", key=key)
    share = blake2b(lookup, purpose=b"edna.slot.part.2", key=key)
    wrapping_key = blake2b(share, purpose=b"edna.slot.wrap.2", key=slot_secret)
    nonce = fixed("slot nonce", 24)
    box = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(secret, b"\x02" + slot_id + held, nonce, wrapping_key)
    tag = blake2b(public + kind.encode(), purpose=b"edna.slot.mark.2", key=key)
    return {"slot_id": slot_id.hex(), "tag": tag.hex(), "wrapped": (b"\x02" + nonce + box).hex()}


def small_cases() -> dict[str, Case]:
    receipt = receipt_text("websubmit.delete-account", LOCATOR)
    code = fixed("recovery code", 16)
    printed = recovery_text(code)
    password_salt = blake2b(b"bea@example.org", purpose=b"edna.slot.salt", size=16)
    password = sodium.crypto_pwhash_alg(
        32, "pässword".encode(), password_salt, 1, 8 * 2**20, sodium.crypto_pwhash_ALG_ARGON2ID13
    )

    def peppered(pepper: bytes) -> bytes:
        key = blake2b(pepper, purpose=b"edna.pepper.1")
        salt = blake2b(b"bea@example.org", purpose=b"edna.slot.salt.2", key=key, size=16)
        return sodium.crypto_pwhash_alg(
            32, "pässword".encode(), salt, 1, 8 * 2**20, sodium.crypto_pwhash_ALG_ARGON2ID13
        )

    from_code = blake2b(code, purpose=b"edna.recovery.1")
    key_text = "edna-secret-key-1:" + base32(BEA.secret + blake2b(BEA.secret, purpose=b"edna.secretkey.1", size=4))
    checksum = blake2b(HYBRID_BEA.seed, purpose=b"edna.secretkey.2", size=4)
    hybrid_text = "edna-secret-key-2:" + base32(HYBRID_BEA.seed + checksum)
    peppers = {"peppers": [PEPPER.hex(), OLD_PEPPER.hex()]}
    good_slot = slot(password, "password")

    def case(operation: str, description: str, given: Any, expect: Any = None, error: str | None = None) -> Case:
        outcome = {"error": error} if error else {"expect": expect}
        return {"description": description, "operation": operation, "input": given, **outcome}

    typo = printed[:-1] + ("0" if printed[-1] != "0" else "1")
    lengths = [
        0,
        1,
        1023,
        1024,
        1025,
        1055,
        1056,
        1057,
        2047,
        2048,
        2049,
        10_000,
        65_537,
        1_000_000,
        9_999_999,
        67_000_000,
    ]
    return {
        "padding": case("padded_length", "Padmé with a floor of 1024", lengths, [padme(length) for length in lengths]),
        "index": case(
            "index",
            "where bags are stored",
            {"locator": LOCATOR.hex(), "kinds_and_sequences": [[1, 0], [2, 0], [3, 0], [1, 1], [2, 2**32 - 1]]},
            [index(1, 0).hex(), index(2, 0).hex(), index(3, 0).hex(), index(1, 1).hex(), index(2, 2**32 - 1).hex()],
        ),
        "chunks": case(
            "chunks",
            "the locators of the chunks of a disguise",
            {"locator": LOCATOR.hex(), "numbers": [0, 1, 2, 2**32 - 1]},
            [LOCATOR.hex()]
            + [
                blake2b(struct.pack(">I", number), purpose=b"edna.chunk.1", key=LOCATOR).hex()
                for number in (1, 2, 2**32 - 1)
            ],
        ),
        "shared-key": case(
            "shared_key",
            "the key pair of a shared bag",
            SHARED_LOCATOR.hex(),
            {"secret_key": SHARED.secret.hex(), "public_key": SHARED.public.hex()},
        ),
        "locator-item": case(
            "open_locator",
            "an entry of a principal's list of locators",
            {"sealed": sealed_box(LOCATOR, BEA.public, "locator").hex(), "secret_key": BEA.secret.hex()},
            LOCATOR.hex(),
        ),
        "locator-item-made": case(
            "make_item",
            "what a writer makes of a locator for a list, and a reader again, to compare",
            {"locator": LOCATOR.hex(), "public_key": BEA.public.hex()},
            sealed_box(LOCATOR, BEA.public, "", blake2b(BEA.public, purpose=b"edna.item.1", key=LOCATOR)).hex(),
        ),
        "locator-item-hybrid": case(
            "open_locator",
            "an entry of the list of somebody whose key is of the hybrid kind",
            {"sealed": hybrid_item().hex(), "seed": HYBRID_BEA.seed.hex()},
            LOCATOR.hex(),
        ),
        "locator-item-hybrid-wrong-key": case(
            "open_locator",
            "somebody else's entry",
            {"sealed": hybrid_item(HYBRID_EVE, "eve").hex(), "seed": HYBRID_BEA.seed.hex()},
            error="WrongKey",
        ),
        "locator-item-hybrid-wrong-tag": case(
            "open_locator",
            "a bit of the tag flipped",
            {"sealed": flipped(hybrid_item(), 0).hex(), "seed": HYBRID_BEA.seed.hex()},
            error="WrongKey",
        ),
        "locator-item-hybrid-wrong-size": case(
            "open_locator",
            "an entry of a list of X25519, sealed to the half of a key of the hybrid kind",
            {"sealed": sealed_box(LOCATOR, HYBRID_BEA.public, "locator").hex(), "seed": HYBRID_BEA.seed.hex()},
            error="WrongKey",
        ),
        "hybrid-key": case(
            "hybrid_key",
            "the public key that follows from a seed: ML-KEM half, X25519 half",
            HYBRID_BEA.seed.hex(),
            HYBRID_BEA.whole.hex(),
        ),
        "locator-item-wrong-key": case(
            "open_locator",
            "somebody else's entry",
            {"sealed": sealed_box(LOCATOR, BEA.public, "locator").hex(), "secret_key": EVE.secret.hex()},
            error="WrongKey",
        ),
        "locator-item-wrong-size": case(
            "open_locator",
            "a box of something else, sealed by somebody else",
            {"sealed": sealed_box(b"short", BEA.public, "locator").hex(), "secret_key": BEA.secret.hex()},
            error="WrongKey",
        ),
        "receipt": case(
            "parse_receipt", "as printed", receipt, {"disguise": "websubmit.delete-account", "locator": LOCATOR.hex()}
        ),
        "receipt-wrapped": case(
            "parse_receipt",
            "as a mail program wraps it",
            f"  {receipt[:40]}\r\n\t{receipt[40:80]}\n {receipt[80:]} ",
            {"disguise": "websubmit.delete-account", "locator": LOCATOR.hex()},
        ),
        "receipt-truncated": case(
            "parse_receipt", "the last character is missing", receipt[:-1], error="ReceiptMalformed"
        ),
        "receipt-mistyped": case(
            "parse_receipt", "two characters changed places", _swapped(receipt, 40), error="ReceiptMalformed"
        ),
        "receipt-other-disguise": case(
            "parse_receipt",
            "the checksum covers the name",
            receipt.replace("delete", "remove"),
            error="ReceiptMalformed",
        ),
        "receipt-of-another-version": case(
            "parse_receipt", "version 2", "edna2" + receipt[5:], error="ReceiptMalformed"
        ),
        "receipt-empty": case("parse_receipt", "nothing", "", error="ReceiptMalformed"),
        "recovery-code": case("parse_recovery_code", "as printed", printed, code.hex()),
        "recovery-code-as-typed": case(
            "parse_recovery_code",
            "lower case, no groups, O for 0 and l for 1",
            printed.replace("-", "").lower().replace("0", "o").replace("1", "l"),
            code.hex(),
        ),
        "recovery-code-mistyped": case(
            "parse_recovery_code", "the last symbol is another", typo, error="RecoveryCodeMalformed"
        ),
        "recovery-code-truncated": case(
            "parse_recovery_code", "a group is missing", printed[:-5], error="RecoveryCodeMalformed"
        ),
        "recovery-code-foreign-symbol": case(
            "parse_recovery_code", "U is no symbol", "U" + printed[1:], error="RecoveryCodeMalformed"
        ),
        "secret-key-text": case("parse_secret_key", "as printed", key_text, BEA.secret.hex()),
        "secret-key-text-hybrid": case("parse_secret_key", "of the hybrid kind", hybrid_text, HYBRID_BEA.seed.hex()),
        "secret-key-text-of-another-kind": case(
            "parse_secret_key",
            "the kind is covered by the checksum",
            key_text.replace("key-1", "key-2"),
            error="KeyMalformed",
        ),
        "secret-key-text-mistyped": case(
            "parse_secret_key", "two characters changed places", _swapped(key_text, 30), error="KeyMalformed"
        ),
        "secret-key-text-without-prefix": case(
            "parse_secret_key", "the prefix is missing", key_text[18:], error="KeyMalformed"
        ),
        "public-key-of-small-order": case(
            "public_key", "anybody could open what is sealed to it", "01" + "00" * 31, error="KeyMalformed"
        ),
        "public-key-with-its-top-bit-set": case(
            "public_key", "another spelling of Bea's", _top_bit(BEA.public).hex(), error="KeyMalformed"
        ),
        "public-key-of-p-and-two": case(
            "public_key", "another spelling of 2", "ef" + "ff" * 30 + "7f", error="KeyMalformed"
        ),
        "public-key-greatest-below-the-top-bit": case(
            "public_key", "2^255 - 1", "ff" * 31 + "7f", error="KeyMalformed"
        ),
        "public-key-greatest": case("public_key", "p - 2", "eb" + "ff" * 30 + "7f", "eb" + "ff" * 30 + "7f"),
        "slot-password": case(
            "password_slot",
            "identifier and password to slot, with the salt of earlier releases; case, spaces and Unicode form do not matter",
            {
                "identifier": " Bea@EXAMPLE.org ",
                "password": "pa\u0308ssword",
                "opslimit": 1,
                "memlimit_bytes": 8 * 2**20,
                **good_slot,
                **peppers,
            },
            {"slot_secret": password.hex(), "secret_key": BEA.secret.hex()},
        ),
        "slot-password-older-pepper": case(
            "password_slot",
            "locked before the server key was changed, with the salt of earlier releases",
            {
                "identifier": "bea@example.org",
                "password": "p\u00e4ssword",
                "opslimit": 1,
                "memlimit_bytes": 8 * 2**20,
                **slot(password, "password", OLD_PEPPER),
                **peppers,
            },
            {"slot_secret": password.hex(), "secret_key": BEA.secret.hex()},
        ),
        "slot-password-peppered-salt": case(
            "password_slot",
            "the salt depends on the server key, too; case, spaces and Unicode form do not matter",
            {
                "identifier": " Bea@EXAMPLE.org ",
                "password": "pa\u0308ssword",
                "opslimit": 1,
                "memlimit_bytes": 8 * 2**20,
                **slot(peppered(PEPPER), "password"),
                **peppers,
            },
            {"slot_secret": peppered(PEPPER).hex(), "secret_key": BEA.secret.hex()},
        ),
        "slot-password-peppered-salt-older-pepper": case(
            "password_slot",
            "salt, id and wrapping key from the server key of then",
            {
                "identifier": "bea@example.org",
                "password": "p\u00e4ssword",
                "opslimit": 1,
                "memlimit_bytes": 8 * 2**20,
                **slot(peppered(OLD_PEPPER), "password", OLD_PEPPER),
                **peppers,
            },
            {"slot_secret": peppered(OLD_PEPPER).hex(), "secret_key": BEA.secret.hex()},
        ),
        "slot-password-wrong": case(
            "password_slot",
            "one letter of the password in another case",
            {
                "identifier": "bea@example.org",
                "password": "P\u00e4ssword",
                "opslimit": 1,
                "memlimit_bytes": 8 * 2**20,
                **good_slot,
                **peppers,
            },
            error="WrongCredentials",
        ),
        "slot-moved": case(
            "recovery_slot",
            "the wrapped key of one slot under the id of another",
            {"code": printed, **slot(from_code, "recovery"), "slot_id": good_slot["slot_id"], **peppers},
            error="WrongCredentials",
        ),
        "slot-recovery": case(
            "recovery_slot",
            "recovery code to slot",
            {"code": printed, **slot(from_code, "recovery"), **peppers},
            {"slot_secret": from_code.hex(), "secret_key": BEA.secret.hex()},
        ),
        "slot-recovery-hybrid": case(
            "recovery_slot",
            "recovery code to slot, with a key of the hybrid kind",
            {"code": printed, **slot_2(from_code, "recovery", hybrid=True), **peppers},
            {"slot_secret": from_code.hex(), "secret_key": HYBRID_BEA.seed.hex()},
        ),
        "slot-tampered": case(
            "recovery_slot",
            "a bit of the wrapped key flipped",
            {
                "code": printed,
                **slot(from_code, "recovery"),
                "wrapped": flipped(bytes.fromhex(slot(from_code, "recovery")["wrapped"]), 30).hex(),
                **peppers,
            },
            error="WrongCredentials",
        ),
        "slot-2-password": case(
            "password_slot",
            "of version 2; case, spaces and Unicode form do not matter",
            {
                "identifier": " Bea@EXAMPLE.org ",
                "password": "pa\u0308ssword",
                "opslimit": 1,
                "memlimit_bytes": 8 * 2**20,
                **slot_2(peppered(PEPPER), "password"),
                **peppers,
            },
            {"slot_secret": peppered(PEPPER).hex(), "secret_key": BEA.secret.hex()},
        ),
        "slot-2-recovery-older-pepper": case(
            "recovery_slot",
            "of version 2, locked before the server key was changed",
            {"code": printed, **slot_2(from_code, "recovery", OLD_PEPPER), **peppers},
            {"slot_secret": from_code.hex(), "secret_key": BEA.secret.hex()},
        ),
        "slot-2-said-to-be-of-version-1": case(
            "recovery_slot",
            "the first byte of a slot of version 2 is 1",
            {
                "code": printed,
                **slot_2(from_code, "recovery"),
                "wrapped": "01" + slot_2(from_code, "recovery")["wrapped"][2:],
                **peppers,
            },
            error="WrongCredentials",
        ),
        "slot-2-tampered": case(
            "recovery_slot",
            "a bit of the wrapped key flipped",
            {
                "code": printed,
                **slot_2(from_code, "recovery"),
                "wrapped": flipped(bytes.fromhex(slot_2(from_code, "recovery")["wrapped"]), 30).hex(),
                **peppers,
            },
            error="WrongCredentials",
        ),
        "slot-of-another-version": case(
            "recovery_slot",
            "version 3",
            {
                "code": printed,
                **slot(from_code, "recovery"),
                "wrapped": "03" + slot(from_code, "recovery")["wrapped"][2:],
                **peppers,
            },
            error="WrongCredentials",
        ),
    }


def _top_bit(key: bytes) -> bytes:
    return key[:31] + bytes((key[31] | 0x80,))


def _swapped(text: str, at: int) -> str:
    """Two neighbouring characters, different ones, changed places."""
    while text[at] == text[at + 1]:
        at += 1
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def value_cases() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for name, value in (VALUES | LARGE_VALUES).items():
        cases[f"value-{name}"] = {"operation": "decode_value", "input": pack(value).hex(), "expect": tagged(value)}
    for name, data in BAD_VALUES.items():
        # A hundred thousand times the same byte is said, not written out.
        repeated = {"repeat": [data[:1].hex(), len(data) - 1], "then": data[-1:].hex()}
        given = repeated if len(data) > 10_000 else data.hex()
        cases[f"value-bad-{name}"] = {"operation": "decode_value", "input": given, "error": "BagCorrupt"}
    return cases


def all_cases() -> dict[str, str]:
    """Return the text of every vector file by its name."""
    cases = bag_cases() | small_cases() | value_cases()
    return {f"{name}.json": json.dumps(case, indent=1, sort_keys=True) + "\n" for name, case in cases.items()}


def written(arguments: list[str], expected: dict[str, str], *, into: Path) -> int:
    """Write what is expected into a folder, or compare it with what is there; the exit status."""
    if unknown := set(arguments) - {"--check"}:
        print(
            f"error: unknown: {' '.join(sorted(unknown))}; without an argument it writes the vectors, with --check it compares them"
        )
        return 2
    present = {path.name: path.read_text() for path in into.glob("*.json")}
    if "--check" in arguments:
        wrong = sorted(name for name in expected | present if expected.get(name) != present.get(name))
        print(f"{len(expected)} vectors, {len(wrong)} missing, different or superfluous", *wrong)
        return 1 if wrong else 0
    for name in present.keys() - expected.keys():
        (into / name).unlink()
    for name, text in expected.items():
        (into / name).write_text(text)
    print(f"{len(expected)} vectors written")
    return 0


if __name__ == "__main__":
    sys.exit(written(sys.argv[1:], all_cases(), into=HERE))
