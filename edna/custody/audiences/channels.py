"""Who can tell whom at once: a graph of cached channels that one member can leave without cutting others off.

A ring, and a tree across it: a member has at most five channels, and nobody is far from anybody. Whoever leaves, the rest is connected, so
a new secret reaches all along channels that exist (Rodeh, Birman, Dolev: "Using AVL trees for fault-tolerant group key management", 2002,
call their graph a diamond). If several leave, some may be cut off: they read the tree.

Keeps: a hop opens for one reader, of one flood. Does not know trees, nor how hops travel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import nacl.utils
from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
    crypto_scalarmult,
)
from nacl.exceptions import CryptoError

from edna.crypto.keys import PublicKey, Secret, SecretKey, fingerprint
from edna.errors import KeyMalformed

_NONCE_BYTES = 24


def neighbours(count: int) -> list[set[int]]:
    """With whom each of so many has a channel, by their places in one order."""
    found: list[set[int]] = [set() for _ in range(count)]
    for place in range(1, count):
        for other in ((place - 1) // 2, (place + 1) % count):
            if other != place:
                found[place].add(other)
                found[other].add(place)
    return found


def flood(count: int, *, start: int, without: Collection[int]) -> list[tuple[int, int]]:
    """Who tells whom, in order, when ``start`` knows something and those ``without`` whom it is are passed over."""
    around = neighbours(count)
    told, hops, queue = {start}, [], deque([start])
    while queue:
        place = queue.popleft()
        for other in sorted(around[place] - told):
            if other not in without:
                told.add(other)
                hops.append((place, other))
                queue.append(other)
    return hops


class ChannelKey(Secret):
    """What two members have in common from the day on which their channel was made: no exchange of keys is needed later."""

    __slots__ = ()


def channel_key(own: SecretKey, theirs: PublicKey) -> ChannelKey:
    """Made once, then kept by both."""
    both = sorted((bytes(own.public_key), bytes(theirs)))
    shared = crypto_scalarmult(own.scalar(), bytes(theirs))
    return ChannelKey(fingerprint(shared + b"".join(both), purpose=b"edna.aud.chan.1"))


@dataclass(frozen=True, slots=True)
class Hop:
    """From one member to a neighbour: the secret, sealed by the key of their channel."""

    sender: bytes
    reader: bytes
    sealed: bytes


def seal_hop(secret: SecretKey, *, key: ChannelKey, sender: bytes, reader: bytes, context: bytes) -> Hop:
    """``context`` says of which change of which audience it is."""
    nonce = nacl.utils.random(_NONCE_BYTES)
    said = crypto_aead_xchacha20poly1305_ietf_encrypt(secret.expose(), context + sender + reader, nonce, key.expose())
    return Hop(sender, reader, nonce + said)


def open_hop(hop: Hop, *, key: ChannelKey, context: bytes) -> SecretKey | None:
    """None if it is of another flood, for somebody else, or was changed. Never raises: its variables are secrets."""
    nonce, said = hop.sealed[:_NONCE_BYTES], hop.sealed[_NONCE_BYTES:]
    try:
        return SecretKey(
            crypto_aead_xchacha20poly1305_ietf_decrypt(said, context + hop.sender + hop.reader, nonce, key.expose())
        )
    except (CryptoError, KeyMalformed, ValueError):
        return None


def flooded(
    secret: SecretKey,
    order: Sequence[bytes],
    keys: Mapping[frozenset[bytes], ChannelKey],
    *,
    sender: bytes,
    without: Collection[bytes],
    context: bytes,
) -> tuple[dict[bytes, SecretKey], set[bytes]]:
    """What each member has learnt when a flood is over, and who was not reached: these read the tree.

    Each hop is sealed and opened with what its two ends have, as they would do it.
    """
    places = {member: place for place, member in enumerate(order)}
    learnt = {sender: secret}
    hops = flood(len(order), start=places[sender], without={places[member] for member in without})
    for place, other in hops:
        teller, reader = order[place], order[other]
        if (key := keys.get(frozenset((teller, reader)))) is None or teller not in learnt:
            continue
        hop = seal_hop(learnt[teller], key=key, sender=teller, reader=reader, context=context)
        if (opened := open_hop(hop, key=key, context=context)) is not None:
            learnt[reader] = opened
    return learnt, set(order) - set(without) - learnt.keys()
