"""Taking members out by the quickest way that there is: a flood, a merge of the tree, or a wrap for each who stays.

Keeps: whichever way, the update says the same secret in the end, so whom a flood has missed, or who was away, reads the tree. Does not know
how hops and updates travel.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum

from edna.crypto.keys import SecretKey
from edna.custody.audiences.audience import Audience
from edna.custody.audiences.channels import ChannelKey, flooded
from edna.custody.audiences.shape import FLAT_BELOW
from edna.custody.audiences.updates import Member, Update


class Way(Enum):
    #: Along channels that are there already: one who goes cuts nobody off.
    FLOOD = "flood"
    #: What is left of the tree is put together anew; several who go may have cut others off.
    TREE = "tree"
    #: Below about 16, a wrap for each costs less than any path.
    FLAT = "flat"


@dataclass(frozen=True, repr=False)
class Revocation:
    """``learnt`` is what members know before they have read ``update``; ``missed`` are those whom a flood has not reached."""

    way: Way
    update: Update
    learnt: Mapping[bytes, SecretKey]
    missed: frozenset[bytes]


def way_of(audience: Audience, gone: Collection[bytes], *, has_channels: bool) -> Way:
    """Which one it is, when these go."""
    if len(audience.cards) - len(gone) < FLAT_BELOW:
        return Way.FLAT
    return Way.FLOOD if has_channels and len(gone) == 1 else Way.TREE


def revoke(
    audience: Audience, member: Member, gone: Collection[bytes], *, keys: Mapping[frozenset[bytes], ChannelKey]
) -> Revocation:
    """``member`` takes these out. ``keys`` are of channels between members in the order of their ids, if there are any.

    Raises: NotInAudience; AudienceRefused if that is nobody, or the member itself.
    """
    way = way_of(audience, gone, has_channels=bool(keys))
    if way is not Way.FLOOD:
        return Revocation(way, audience.leave_many(member, gone), {}, frozenset())
    secret = SecretKey.generate()
    update = audience.leave_many(member, gone, secret=secret)
    order = sorted(audience.cards)
    learnt, missed = flooded(secret, order, keys, sender=member.id, without=gone, context=audience.head)
    return Revocation(way, update, learnt, frozenset(missed))
