"""What a browser sends for a new key in several requests: parts, which lie among the bags until the last request takes them up.

Invariants: a part is sealed like a bag, and the one key that opens it here is known to its sender alone, so the table tells nothing of
it; a part changes nothing, and is gone once the key is replaced, or when the first part of another attempt comes. One that is left
expires. Does not know what is in a part, nor whose key is proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from edna import conf, store
from edna.clock import today
from edna.crypto.keys import ContentKey, PublicKey, derive, fingerprint
from edna.crypto.sealing import open_with_content_key, seal
from edna.engine.bags.openers import recipient_of
from edna.errors import BagError, HandoverRefused, PrincipalNotRegistered
from edna.store import serverkeys

#: Of one key.
MOST_PARTS: Final = 80

_DAYS: Final = 1


def keep_part(public_key: PublicKey, number: int, content: bytes, *, using: str) -> ContentKey:
    """Keep a part, in the caller's transaction, in the place of another one of that number; return what opens it.

    Raises:
        PrincipalNotRegistered: nobody who can have a new key has this one.
        EntryForged: somebody has changed their entry.
        HandoverRefused: nobody has so many parts.
        BagTooLarge: it does not fit into a container.
        ServerKeyUnknown
    """
    entries = store.entries_by_public_key([bytes(public_key)], using=using, lock=True)
    if not entries or (entries[0].attached and not entries[0].natural):
        raise PrincipalNotRegistered("Nobody is registered with this key. Nothing was kept; unlock again.")
    store.require_sound(entries)
    if number >= MOST_PARTS:
        raise HandoverRefused(f"A new key takes at most {MOST_PARTS} parts. Nothing was kept; make it on the server.")
    places = _places(public_key, serverkeys.signing_key(using=using))
    content_key = ContentKey.new()
    sealed = seal(content, recipients=[recipient_of(entries[0])], content_key=content_key)
    # Whichever key of the server was the first when they came: an earlier one leads to them still.
    former = [each for those in _all_places(public_key) for each in (those if number == 0 else [those[number]])]
    store.delete_bags(former, using=using)
    expires_on = store.expiry_bucket(today(), retention_days=_DAYS)
    store.add_bags([(places[number], sealed)], expires_on=expires_on, using=using)
    return content_key


def parts_kept(public_key: PublicKey, keys: Sequence[ContentKey], *, using: str) -> list[bytes]:
    """The parts of somebody, from number 0 on, by what opens each.

    Raises:
        HandoverRefused: one is not there, or is another one.
    """
    numbers = {place: number for places in _all_places(public_key) for number, place in enumerate(places[: len(keys)])}
    kept = {numbers[place]: bag.sealed for place, bag in store.stored_bags(numbers, using=using).items()}
    if len(kept) < len(keys):
        raise HandoverRefused("A part of what was sent for the new key is not there. Nothing was changed; begin again.")
    try:
        return [open_with_content_key(kept[number], content_key=key) for number, key in enumerate(keys)]
    except BagError:
        raise HandoverRefused(
            "A part of what was sent for the new key is another one now. Nothing was changed; begin again."
        ) from None


def forget_parts(public_key: PublicKey, *, using: str) -> None:
    """Erase all parts of somebody, in the caller's transaction."""
    store.delete_bags([place for places in _all_places(public_key) for place in places], using=using)


def _all_places(public_key: PublicKey) -> list[list[bytes]]:
    """By each of the server's keys: the first may have been added since."""
    return [_places(public_key, server_key) for server_key in conf.mac_keys()]


def _places(public_key: PublicKey, server_key: bytes) -> list[bytes]:
    key = fingerprint(server_key, purpose=b"edna.part.key.1")
    return [
        derive(key, purpose=b"edna.part.place1", data=bytes(public_key) + number.to_bytes(2, "big"))
        for number in range(MOST_PARTS)
    ]
