"""Bags: all diff records, or all speaks-for records, of one (principal, disguise), sealed so that only its owner can
read it and only this server can have made it.

Keeps: the bag content of docs/format.md: index | MAC | encoding | payload, inside a sealed container. The MAC under a
server key that is not in the database covers the index (a bag cannot be moved), the owner's public key (it cannot be
handed to somebody else) and the payload (it cannot be made up: anybody can seal to a public key). Nothing of a bag is
decompressed or decoded before its MAC verified. Does not know: where bags are stored, the ORM, the clock, settings.

Long, for what seals and what opens are the same layout, read side by side. Each function that takes keys forgets them in its own frame
before it raises, for an error page prints variables: that is why some look alike.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from edna.crypto.keys import KEY_BYTES, ContentKey, PublicKey, SecretKey, fingerprint
from edna.crypto.sealing import open_sealed, open_succession, open_with_content_key, padded_length, seal
from edna.errors import (
    BagCorrupt,
    BagError,
    BagForged,
    BagMisplaced,
    BagTooLarge,
    ConfigurationError,
    ValueNotEncodable,
)
from edna.records import values
from edna.records.diff import RowBatch
from edna.records.locator import BagKind, Locator
from edna.records.speaksfor import SpeaksFor, SpeaksForBatch
from edna.records.succession import Succession, read_succession
from edna.records.values import Value

__all__ = [
    "MAX_PAYLOAD_BYTES",
    "Bag",
    "BagKind",
    "SealedBag",
    "open_bag",
    "open_handed_bag",
    "read_content",
    "seal_bag",
]

MAX_PAYLOAD_BYTES = 256 * 1024 * 1024
MIN_MAC_KEY_BYTES = 16

_PLAIN, _ZLIB = 0, 1
_MAC_BYTES = 32
_HEAD_BYTES = KEY_BYTES + _MAC_BYTES + 1
_LENGTH_BYTES = 4
_WORTH_COMPRESSING_BYTES = 256


@dataclass(frozen=True, slots=True)
class Bag:
    """The plaintext of one bag. `repr` shows neither the principal nor parameters: they are personal data.

    `applied_at` is aware, in UTC. `principal_model` is a lower-case label, `principal` the raw primary key of the one
    who was disguised, `params` the parameters of the disguise. `database` is the vendor whose driver the raw values come
    from. `listed` says that the locator is in its owner's list too (locator mode `server`), so that a bag that is put
    back after its reveal is found out. `segments` counts the bags of diff (or shared) and of speaks-for records under the
    locator, so that a missing one is found out. `batches` are all of the type that `kind` says.
    """

    kind: BagKind
    disguise: str
    applied_at: datetime.datetime = field(repr=False)
    principal_model: str
    principal: Value = field(repr=False)
    params: dict[str, Value] = field(repr=False)
    database: str
    listed: bool
    segments: tuple[int, int]
    batches: tuple[RowBatch, ...] | tuple[SpeaksForBatch, ...]

    def is_well_formed(self, sequence: int) -> bool:
        """Whether `open_bag` would accept the bag under that number: asked before sealing too, or it could never be
        revealed."""
        return (
            type(self.applied_at) is datetime.datetime
            and self.applied_at.utcoffset() == datetime.timedelta(0)
            and set(map(type, self.params)) <= {str}
            and set(map(type, self.segments)) <= {int}
            and min(self.segments) >= 0
            and (self.segments[self.kind is BagKind.SPEAKS_FOR] > sequence or self._is_file_content)
            and all(isinstance(batch, _BATCHES[self.kind]) for batch in self.batches)
        )

    @property
    def _is_file_content(self) -> bool:
        """Pieces of a file are sealed while it is read, and counted by the record that points at them."""
        return self.kind is BagKind.SHARED and self.segments == (0, 0)


_BATCHES: dict[BagKind, type[RowBatch] | type[SpeaksForBatch]] = {
    BagKind.DIFF: RowBatch,
    BagKind.SPEAKS_FOR: SpeaksForBatch,
    BagKind.SHARED: RowBatch,
}


@dataclass(frozen=True, slots=True)
class SealedBag:
    """What is stored: `index` (32 bytes, see `Locator.index`) and the sealed container."""

    index: bytes
    sealed: bytes = field(repr=False)


def seal_bag(
    bag: Bag,
    *,
    locator: Locator,
    sequence: int,
    public_key: PublicKey,
    mac_key: bytes,
    compress: bool,
    content_key: ContentKey | None = None,
) -> SealedBag:
    """Encode, authenticate, pad and seal `bag` for the owner of `public_key`.

    `mac_key` is the server's current key, any 16 bytes or more. `compress` allows compression, which is used only
    where it makes the padded size smaller. `content_key` is a new one, for who is to open the bag that is made without the owner's key.

    Raises: ValueNotEncodable naming model and field of the value that cannot be kept; BagTooLarge; ValueError for a
    batch whose rows do not fit its columns; ConfigurationError for a MAC key that is too short.
    """
    index = locator.index(bag.kind, sequence)
    content = _content(bag, index, sequence, public_key, mac_key, compress)
    if isinstance(content, Exception):
        del mac_key
        raise content
    failure = None
    try:
        return SealedBag(index, seal(content, recipients=(public_key,), content_key=content_key))
    except BagTooLarge as error:
        failure = error.with_traceback(None)
    del content, mac_key
    raise failure


def open_bag(
    sealed: bytes,
    *,
    locator: Locator,
    kind: BagKind,
    sequence: int,
    secret_key: SecretKey,
    mac_keys: Sequence[bytes],
    public_key: PublicKey | None = None,
) -> Bag:
    """Open a stored bag that must be the one of this locator, kind and sequence, made by this server for this key.

    `mac_keys` are all keys that verify. `public_key` is the owner's, if somebody else's key (a device's) opens the bag.

    Raises: the leaves of BagError, in the order of docs/format.md: container, BagMisplaced, BagForged, BagTooLarge,
    BagCorrupt.
    """
    owner = secret_key.public_key if public_key is None else public_key
    try:
        succession = open_succession(sealed, secret_key=secret_key)
        return read_content(
            open_sealed(sealed, secret_key=secret_key),
            locator=locator,
            kind=kind,
            sequence=sequence,
            public_key=owner,
            mac_keys=mac_keys,
            succession=succession,
        )
    except (BagError, ConfigurationError) as error:
        failure = error.with_traceback(None)  # the frames below hold the plaintext
    del mac_keys
    raise failure


def open_handed_bag(
    sealed: bytes,
    *,
    locator: Locator,
    kind: BagKind,
    sequence: int,
    content_key: ContentKey,
    mac_keys: Sequence[bytes],
    public_key: PublicKey,
    succession: Sequence[bytes] = (),
) -> Bag:
    """The same, by the key of its content, which its owner's browser handed over. It must have been made for this `public_key`, or
    made over to it: then what is sealed beside it was handed over, too.

    Raises: as `open_bag`.
    """
    try:
        return read_content(
            open_with_content_key(sealed, content_key=content_key),
            locator=locator,
            kind=kind,
            sequence=sequence,
            public_key=public_key,
            mac_keys=mac_keys,
            succession=succession,
        )
    except (BagError, ConfigurationError) as error:
        failure = error.with_traceback(None)  # the frames below hold the plaintext
    del mac_keys
    raise failure


def read_content(
    content: bytes,
    *,
    locator: Locator,
    kind: BagKind,
    sequence: int,
    public_key: PublicKey,
    mac_keys: Sequence[bytes],
    succession: Sequence[bytes] | BagError = (),
) -> Bag:
    """Verify and decode the content of a container that somebody else (a browser) opened, and what is sealed beside it. Trusts nothing
    but the MACs.

    Raises: BagMisplaced, BagForged, BagTooLarge, BagCorrupt.
    """
    bag = _verified(content, locator.index(kind, sequence), kind, sequence, public_key, mac_keys, succession)
    del content, mac_keys
    if isinstance(bag, Bag):
        return bag
    raise bag


def _content(
    bag: Bag, index: bytes, sequence: int, public_key: PublicKey, mac_key: bytes, compress: bool
) -> bytes | ValueNotEncodable | ValueError | ConfigurationError:
    """Return the content to seal, or the error that the caller shall raise (this frame knows plaintext and MAC key)."""
    if not bag.is_well_formed(sequence):
        return ValueError(
            f"{bag!r}: applied_at must be aware UTC, parameter names text, segments count this one, batches be of its kind"
        )
    try:
        payload = values.encode(
            [
                int(bag.kind),
                bag.disguise,
                bag.applied_at,
                bag.principal_model,
                bag.principal,
                bag.params,
                bag.database,
                bag.listed,
                bag.segments,
                [batch.to_payload() for batch in bag.batches],
            ]
        )
        encoding = _PLAIN
        if compress and len(payload) > _WORTH_COMPRESSING_BYTES:
            smaller = zlib.compress(payload, 1)
            if _stored_length(smaller) < _stored_length(payload):
                payload, encoding = smaller, _ZLIB
        return b"".join((index, _mac(mac_key, index, public_key, encoding, payload), bytes((encoding,)), payload))
    except ValueNotEncodable as error:
        return _blame(bag) or error.with_traceback(None)
    except (ValueError, ConfigurationError) as error:
        return error.with_traceback(None)


def _stored_length(payload: bytes) -> int:
    return padded_length(_LENGTH_BYTES + _HEAD_BYTES + len(payload))


def _mac(mac_key: bytes, index: bytes, public_key: PublicKey, encoding: int, payload: bytes) -> bytes:
    if len(mac_key) < MIN_MAC_KEY_BYTES:
        del mac_key, payload
        raise ConfigurationError(
            f"A key of MAC_KEYS needs at least {MIN_MAC_KEY_BYTES} bytes: short ones can be guessed."
        )
    mac = hashlib.blake2b(
        digest_size=_MAC_BYTES, key=fingerprint(mac_key, purpose=b"edna.mac.key.1"), person=b"edna.bag.mac.1"
    )
    mac.update(b"".join((index, bytes(public_key), bytes((encoding,)))))  # all of fixed length: no ambiguity
    mac.update(payload)
    return mac.digest()


def _verified(
    content: bytes,
    index: bytes,
    kind: BagKind,
    sequence: int,
    public_key: PublicKey,
    mac_keys: Sequence[bytes],
    pieces: Sequence[bytes] | BagError,
) -> Bag | BagError | ConfigurationError:
    """Return the bag, or the error that the caller shall raise (this frame knows the plaintext and the MAC keys)."""
    if len(content) < _HEAD_BYTES:
        return BagCorrupt("The content of the bag is too short. Nothing was changed; restore the bag from a backup.")
    stored_index, mac, encoding = content[:KEY_BYTES], content[KEY_BYTES : _HEAD_BYTES - 1], content[_HEAD_BYTES - 1]
    payload = content[_HEAD_BYTES:]
    if not hmac.compare_digest(stored_index, index):
        return BagMisplaced(
            "The bag was sealed for another place: bags were swapped or replayed. Nothing was changed; restore the bags from a backup."
        )
    succession = (
        pieces
        if isinstance(pieces, BagError)
        else read_succession(pieces, index=index, owner=public_key, mac_keys=mac_keys)
    )
    if isinstance(succession, BagError):
        return succession
    try:
        owner = succession.former if succession else public_key
        expected = [_mac(mac_key, index, owner, encoding, payload) for mac_key in mac_keys]
    except ConfigurationError as error:
        return error.with_traceback(None)
    if not any(hmac.compare_digest(mac, candidate) for candidate in expected):
        return BagForged(
            "The bag was not made by this server, or was edited: no key of MAC_KEYS verifies it. "
            "Nothing was changed; put a missing key back, or keep the bag as evidence."
        )
    if encoding == _ZLIB:
        expanded = _expand(payload)
        if isinstance(expanded, BagError):
            return expanded
        payload = expanded
    elif encoding != _PLAIN:
        return BagCorrupt(
            f"The content of the bag has an unknown encoding, {encoding}. "
            "Nothing was changed; restore the bag from a backup."
        )
    try:
        bag = _bag(values.decode(payload), kind, sequence)
    except BagCorrupt as error:
        return error.with_traceback(None)
    return bag if succession is None else _with_new_keys(bag, succession)


def _with_new_keys(bag: Bag, succession: Succession) -> Bag:
    """With the keys of today in its speaks-for records."""
    if bag.kind is not BagKind.SPEAKS_FOR:
        return bag
    batches = []
    for batch in bag.batches:
        assert isinstance(batch, SpeaksForBatch)
        rows = [SpeaksFor(*row) for row in batch.rows]
        new = [
            SpeaksFor(row.principal, *succession.voices.get(bytes(row.public_key), row[1:3]), row.owner) for row in rows
        ]
        batches.append(replace(batch, rows=new))
    return replace(bag, batches=tuple(batches))


def _expand(payload: bytes) -> bytes | BagError:
    """Decompress with a bound: 64 MiB of zlib data may announce 64 GiB."""
    decompressor = zlib.decompressobj()
    try:
        expanded = decompressor.decompress(payload, MAX_PAYLOAD_BYTES + 1)
    except zlib.error:
        return BagCorrupt(
            "The content of the bag does not decompress. Nothing was changed; restore the bag from a backup."
        )
    if len(expanded) > MAX_PAYLOAD_BYTES:
        return BagTooLarge(
            f"The content of the bag expands to more than {MAX_PAYLOAD_BYTES} bytes. "
            "Nothing was changed; restore the bag from a backup."
        )
    if not decompressor.eof or decompressor.unused_data:
        return BagCorrupt(
            "The content of the bag does not decompress. Nothing was changed; restore the bag from a backup."
        )
    return expanded


def _bag(payload: Value, kind: BagKind, sequence: int) -> Bag:
    match payload:
        case [
            int(number),
            str(disguise),
            applied_at,
            str(model),
            principal,
            dict(params),
            str(database),
            bool(listed),
            [int(diffs), int(voices)],
            list(batches),
        ] if type(number) is int and number == kind:
            read = SpeaksForBatch.from_payload if kind is BagKind.SPEAKS_FOR else RowBatch.from_payload
            bag = Bag(
                kind=kind,
                disguise=disguise,
                applied_at=applied_at,
                principal_model=model,
                principal=principal,
                params=params,
                database=database,
                listed=listed,
                segments=(diffs, voices),
                batches=tuple(map(read, batches)),  # type: ignore[arg-type]  # of one type, which mypy cannot see
            )
            if bag.is_well_formed(sequence):
                return bag
    raise BagCorrupt(
        "The content of the bag has another shape than a bag. Nothing was changed; restore the bag from a backup."
    )


def _blame(bag: Bag) -> ValueNotEncodable | None:
    """Find the value that cannot be encoded, to name its model and field. Slow: only after encoding failed."""
    suspects = [(bag.principal_model, "primary key", bag.principal)]
    suspects += [(bag.disguise, name, value) for name, value in bag.params.items()]
    for batch in bag.batches:
        for row in batch.rows:
            fields = batch.layout if isinstance(batch, RowBatch) else ("primary key",)
            suspects += zip((batch.model,) * len(fields), fields, row, strict=False)
    for model, name, value in suspects:
        try:
            values.encode(value)
        except ValueNotEncodable as error:
            return ValueNotEncodable(f"{model}, {name}: {error}", model=model, field=name, value_type=error.value_type)
    return None
