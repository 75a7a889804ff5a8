"""Reads and writes the sealed envelopes. Bytes in, bytes out: knows neither whose one is nor what is in it.

Every function takes the database alias; those that write run in the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from edna.guardians.models import KeptEnvelope


def find(places: Sequence[bytes], *, using: str) -> list[tuple[bytes, bytes]]:
    """(place, sealed) of all that lie at one of these places."""
    found = KeptEnvelope.objects.using(using).filter(place__in=places).order_by("id").values_list("place", "sealed")
    return [(bytes(place), bytes(sealed)) for place, sealed in found]


def find_by_tag(tags: Sequence[bytes], *, using: str) -> list[tuple[bytes, bytes]]:
    """(place, sealed) of a key's."""
    found = KeptEnvelope.objects.using(using).filter(tag__in=tags).order_by("id").values_list("place", "sealed")
    return [(bytes(place), bytes(sealed)) for place, sealed in found]


def exists(tags: Sequence[bytes], *, using: str) -> bool:
    return KeptEnvelope.objects.using(using).filter(tag__in=tags).exists()


def add(place: bytes, tag: bytes, sealed: bytes, *, using: str) -> None:
    KeptEnvelope.objects.using(using).create(place=place, tag=tag, sealed=sealed)


def remove(tags: Sequence[bytes], *, using: str) -> None:
    KeptEnvelope.objects.using(using).filter(tag__in=tags).delete()
