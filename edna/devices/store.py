"""Reads and writes the sealed records. Bytes in, bytes out: knows neither whose one is nor what is in it.

Every function takes the database alias; those that write run in the caller's transaction.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import BinaryField
from django.db.models.functions import Length, Substr

from edna.devices.models import DeviceRecord
from edna.errors import SequenceTaken

_AT_ONCE: Final = 500


def find(places: Iterable[bytes], *, using: str) -> dict[bytes, bytes]:
    """What lies at these places; of those where something does."""
    found = DeviceRecord._default_manager.using(using).filter(place__in=list(places)).order_by("id")
    return {bytes(place): bytes(sealed) for place, sealed in found.values_list("place", "sealed")}


def seen(places: Iterable[bytes], *, using: str) -> dict[bytes, tuple[int, bytes]]:
    """As `find`, with the key of each row."""
    found = DeviceRecord._default_manager.using(using).filter(place__in=list(places)).order_by("id")
    return {bytes(place): (pk, bytes(sealed)) for pk, place, sealed in found.values_list("id", "place", "sealed")}


def beginnings(size: int, *, using: str) -> Iterator[list[tuple[int, int, bytes, int]]]:
    """In pages of all records: key, length of the place, so many bytes of the record, its length."""
    first = Substr("sealed", 1, size, output_field=BinaryField())
    found = DeviceRecord._default_manager.using(using).annotate(a=Length("place"), b=first, c=Length("sealed"))
    after = None
    while page := list(
        (found if after is None else found.filter(id__gt=after))
        .order_by("id")
        .values_list("id", "a", "b", "c")[:_AT_ONCE]
    ):
        yield [(pk, place, bytes(beginning), length) for pk, place, beginning, length in page]
        after = page[-1][0]


def add(place: bytes, sealed: bytes, *, expires_on: datetime.date | None = None, using: str) -> None:
    """
    Raises:
        SequenceTaken: something lies there.
    """
    try:
        DeviceRecord._default_manager.using(using).create(place=place, sealed=sealed, expires_on=expires_on)
    except IntegrityError as error:
        raise SequenceTaken(
            "Another device was quicker, or this place is taken. Nothing was changed; try again."
        ) from error


def put(place: bytes, sealed: bytes, *, using: str) -> None:
    """Whatever lies there."""
    DeviceRecord._default_manager.using(using).update_or_create(place=place, defaults={"sealed": sealed})


def replace(place: bytes, sealed: bytes, *, former: bytes, using: str) -> None:
    """If ``former`` lies there still; otherwise somebody has put something newer there, which stays."""
    DeviceRecord._default_manager.using(using).filter(place=place, sealed=former).update(sealed=sealed)


def move(place: bytes, to: bytes, sealed: bytes, *, former: bytes, using: str) -> bool:
    """As `replace`, to another place; whether it was done. What lies there already is the newer, and stays."""
    there = DeviceRecord._default_manager.using(using).filter(place=place, sealed=former)
    try:
        with transaction.atomic(using=using):
            return there.update(place=to, sealed=sealed) > 0
    except IntegrityError:
        there.delete()
        return False


def places(*, using: str) -> Iterator[list[bytes]]:
    """In pages, where anything lies."""
    after = None
    found = DeviceRecord._default_manager.using(using).order_by("id").values_list("id", "place")
    while page := list((found if after is None else found.filter(id__gt=after))[:_AT_ONCE]):
        yield [bytes(place) for _, place in page]
        after = page[-1][0]


def remove(places: Iterable[bytes], *, using: str) -> None:
    DeviceRecord._default_manager.using(using).filter(place__in=list(places)).delete()


def remove_expired(today: datetime.date, *, using: str) -> None:
    DeviceRecord._default_manager.using(using).filter(expires_on__lt=today).delete()
