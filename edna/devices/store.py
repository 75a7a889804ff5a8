"""Reads and writes the sealed records. Bytes in, bytes out: knows neither whose one is nor what is in it.

Every function takes the database alias; those that write run in the caller's transaction.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from django.db import IntegrityError

from edna.devices.models import DeviceRecord
from edna.errors import SequenceTaken


def find(places: Iterable[bytes], *, using: str) -> dict[bytes, bytes]:
    """What lies at these places; of those where something does."""
    found = DeviceRecord._default_manager.using(using).filter(place__in=list(places)).order_by("id")
    return {bytes(place): bytes(sealed) for place, sealed in found.values_list("place", "sealed")}


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


def remove(places: Iterable[bytes], *, using: str) -> None:
    DeviceRecord._default_manager.using(using).filter(place__in=list(places)).delete()


def remove_expired(today: datetime.date, *, using: str) -> None:
    DeviceRecord._default_manager.using(using).filter(expires_on__lt=today).delete()
