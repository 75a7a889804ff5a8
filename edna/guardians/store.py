"""Reads and writes the sealed envelopes. Bytes in, bytes out: knows neither whose one is nor what is in it.

Every function takes the database alias; those that write run in the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from edna.guardians.models import KeptEnvelope

_AT_ONCE: Final = 500


def find(places: Sequence[bytes], *, using: str) -> list[tuple[bytes, bytes]]:
    """(place, sealed) of all that lie at one of these places."""
    found = KeptEnvelope.objects.using(using).filter(place__in=places).order_by("id").values_list("place", "sealed")
    return [(bytes(place), bytes(sealed)) for place, sealed in found]


def find_by_tag(tags: Sequence[bytes], *, using: str) -> list[tuple[bytes, bytes]]:
    """(place, sealed) of a key's."""
    found = KeptEnvelope.objects.using(using).filter(tag__in=tags).order_by("id").values_list("place", "sealed")
    return [(bytes(place), bytes(sealed)) for place, sealed in found]


def everything(*, using: str) -> Iterator[list[tuple[bytes, bytes]]]:
    """(place, sealed) of all, in pages."""
    after = None
    found = KeptEnvelope.objects.using(using).order_by("id").values_list("id", "place", "sealed")
    while page := list((found if after is None else found.filter(id__gt=after))[:_AT_ONCE]):
        yield [(bytes(place), bytes(sealed)) for _, place, sealed in page]
        after = page[-1][0]


def exists(tags: Sequence[bytes], *, using: str) -> bool:
    return KeptEnvelope.objects.using(using).filter(tag__in=tags).exists()


def add(place: bytes, tag: bytes, sealed: bytes, *, using: str) -> None:
    KeptEnvelope.objects.using(using).create(place=place, tag=tag, sealed=sealed)


def tags_at(places: Sequence[bytes], *, using: str) -> list[tuple[bytes, bytes, bytes]]:
    """(place, tag, sealed) of all that lie at one of these places."""
    found = KeptEnvelope.objects.using(using).filter(place__in=places).order_by("id")
    return [
        (bytes(place), bytes(tag), bytes(sealed)) for place, tag, sealed in found.values_list("place", "tag", "sealed")
    ]


def take(place: bytes, tag: bytes, *, using: str) -> bool:
    """Delete what lies there; whether anything did."""
    return KeptEnvelope.objects.using(using).filter(place=place, tag=tag).delete()[0] > 0


def move_row(place: bytes, tag: bytes, *, to: bytes, sealed: bytes, using: str) -> bool:
    """Put what lies there to another place; whether anything did."""
    return KeptEnvelope.objects.using(using).filter(place=place, tag=tag).update(place=to, sealed=sealed) > 0


def move(place: bytes, to: bytes, tag: bytes, sealed: bytes, *, former: bytes, using: str) -> None:
    """Put another into the place of what lies there, if it still does."""
    there = KeptEnvelope.objects.using(using).filter(place=place, sealed=former)
    there.update(place=to, tag=tag, sealed=sealed)


def remove(tags: Sequence[bytes], *, using: str) -> None:
    KeptEnvelope.objects.using(using).filter(tag__in=tags).delete()
