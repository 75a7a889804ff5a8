"""Under which receipt a large disguise goes on that was interrupted between two chunks: noted in the principal's entry until the last.

Invariants (nothing readable, nothing linkable): the note is sealed to a key that comes from the server's own, and always of one length, so
that the tables say only that something is under way for somebody who is still there. It goes with the last chunk, with what brings
the first one back, and with the account. (Nothing forged): nobody else knows to which key it is sealed; one that was moved to another
entry, or to another of several databases, or is about another disguise or other parameters, counts nowhere. Opens no bag: which ones are
there gives the next number.
"""

from __future__ import annotations

import hmac
import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from edna import conf, shards, store
from edna.crypto.keys import KEY_BYTES, SecretKey, derive, fingerprint
from edna.crypto.sealing import open_small, seal_small
from edna.errors import WrongKey
from edna.records import values
from edna.records.chain import MOST_DAMAGED_CHUNKS, Chunk
from edna.records.locator import Locator
from edna.store import NOTHING_UNDER_WAY, Entry, serverkeys

_BOUND_BYTES: Final = 16
#: For so many chunks one statement asks whether they are there; more than may be missing in a row.
_AT_ONCE: Final = 8 * MOST_DAMAGED_CHUNKS


def noted(entry: Entry, disguise: str, params: Mapping[str, Any], *, using: str) -> Locator | None:
    """The first locator of what is under way for them, if it is this disguise with these parameters."""
    found = _opened(entry)
    if found is None:
        return None
    first, bound = found
    return first if hmac.compare_digest(bound, _bound(first, entry, disguise, params, using=using)) else None


def begun(entries: Sequence[Entry], disguise: str, params: Mapping[str, Any], *, using: str) -> list[Chunk]:
    """With which chunk the disguise goes on for each, or begins. No statement for those of whom nothing is noted."""
    firsts = [noted(entry, disguise, params, using=using) for entry in entries]
    return [Chunk(Locator.new(), 0) if first is None else following(first, using=using) for first in firsts]


def following(first: Locator, *, expected: int = 0, using: str) -> Chunk:
    """The chunk behind those that are stored; the first of a new disguise if none is: somebody has revealed them all."""
    there = _stored(first, range(max(expected - 1, 0), expected + 1), using=using) if expected else set()
    if there == {expected - 1}:
        return Chunk(first, expected)
    last = -1
    for start in itertools.count(0, _AT_ONCE):
        there = _stored(first, range(start, start + _AT_ONCE), using=using)
        if not there:
            return Chunk(first, last + 1) if last >= 0 else Chunk(Locator.new(), 0)
        last = max(there)
        if last < start + _AT_ONCE - MOST_DAMAGED_CHUNKS:
            return Chunk(first, last + 1)
    raise AssertionError


def after(
    entry: Entry, chunk: Chunk, disguise: str, params: Mapping[str, Any], *, more_to_come: bool, using: str
) -> Entry:
    """The entry once this chunk is done: it says what is under way while there is ``more_to_come``, and then no more.

    Raises:
        ServerKeyUnknown
    """
    first = noted(entry, disguise, params, using=using)
    if not more_to_come:
        return entry if first is None else finished(entry)
    if first == chunk.first:
        return entry
    recipient = _key(serverkeys.signing_key(using=using)).public_key
    said = chunk.first.expose() + _bound(chunk.first, entry, disguise, params, using=using)
    return entry._replace(under_way=seal_small(said, recipient=recipient))


def without(entry: Entry, gone: Collection[Locator]) -> Entry:
    """The entry once nothing lies under these locators: what began with one of them is not under way any more."""
    found = _opened(entry)
    return finished(entry) if found is not None and found[0] in gone else entry


def finished(entry: Entry) -> Entry:
    return entry._replace(under_way=NOTHING_UNDER_WAY)


def _stored(first: Locator, numbers: range, *, using: str) -> set[int]:
    places = {index: number for number in numbers for index in first.chunk(number).first_indexes()}
    return {places[index] for index in store.indexes_there(places, using=using)}


def _opened(entry: Entry) -> tuple[Locator, bytes] | None:
    if not entry.under_way:
        return None
    for server_key in conf.mac_keys():
        try:
            said = open_small(entry.under_way, secret_key=_key(server_key))
        except WrongKey:  # of one that was taken out since, or it was changed
            continue
        if len(said) == KEY_BYTES + _BOUND_BYTES:
            return Locator(said[:KEY_BYTES]), said[KEY_BYTES:]
    return None


def _bound(first: Locator, entry: Entry, disguise: str, params: Mapping[str, Any], *, using: str) -> bytes:
    # Not the row's own key, which is another one once the person has a new key.
    said = [entry.model, str(entry.reference), disguise, [list(each) for each in sorted(params.items())]]
    database = shards.named(using)
    data = values.encode(said if database is None else [*said, database])
    return derive(first.expose(), purpose=b"edna.under.for.1", data=data, size=_BOUND_BYTES)


def _key(server_key: bytes) -> SecretKey:
    return SecretKey(fingerprint(server_key, purpose=b"edna.under.way.1"))
