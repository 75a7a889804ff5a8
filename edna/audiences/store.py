"""Reads and writes the tables. Every function takes the database alias; those that write run in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from edna.audiences.models import (
    AudienceName,
    AudienceUpdate,
    HeldCopy,
    HoldNotice,
    HoldPart,
    HoldRequest,
    SharedSecret,
)
from edna.custody.audiences.audience import Audience
from edna.custody.audiences.together import Deal, Sharing
from edna.errors import AudienceChanged, AudienceUnknown
from edna.records import values

_PLACES = 500


def audience(name: str, *, using: str) -> Audience:
    """As all updates leave it.

    Raises: AudienceUnknown
    """
    found = AudienceUpdate._default_manager.using(using).filter(audience=name).order_by("sequence")
    state = Audience()
    for update in found.values_list("update", flat=True):
        state = state.follow(bytes(update))
    if not state.nodes:
        raise AudienceUnknown(f'There is no audience "{name}" here. Make it with edna.audiences.create.')
    return state


def is_there(name: str, *, using: str) -> bool:
    return AudienceUpdate._default_manager.using(using).filter(audience=name).exists()


def add_update(name: str, sequence: int, update: bytes, *, using: str) -> None:
    """
    Raises: AudienceChanged: another one stands there.
    """
    try:
        with transaction.atomic(using=using):
            AudienceUpdate._default_manager.using(using).create(audience=name, sequence=sequence, update=update)
    except IntegrityError as error:
        raise AudienceChanged("Another member was quicker. Nothing was changed; do it again.") from error


def names(name: str, *, using: str) -> dict[bytes, str]:
    found = AudienceName._default_manager.using(using).filter(audience=name).order_by("id")
    return {bytes(member): called for member, called in found.values_list("member", "name")}


def add_names(name: str, called: Mapping[bytes, str], *, using: str) -> None:
    AudienceName._default_manager.using(using).bulk_create(
        [AudienceName(audience=name, member=member, name=each) for member, each in called.items()]
    )


# Shares


def sharing(name: str, together: int, *, using: str) -> Sharing:
    """What counts now.

    Raises: AudienceUnknown
    """
    return shares(name, together, using=using)[0]


def shares(name: str, together: int, *, using: str) -> tuple[Sharing, list[Deal]]:
    """What counts now, with the shares.

    Raises: AudienceUnknown
    """
    found = SharedSecret._default_manager.using(using).filter(audience=name, together=together, dealer=0)
    newest = found.order_by("-epoch").first()
    if newest is None:
        raise AudienceUnknown(
            f'There is no audience "{name}" here of which {together} act together. Make it with edna.audiences.create. Nothing was changed.'
        )
    said = values.decode(bytes(newest.said))
    shared: Any = said
    (number, epoch, members, commitments, dealers), deals = shared
    return Sharing(number, epoch, tuple(members), tuple(commitments), tuple(dealers)), [_deal(each) for each in deals]


def kept_togethers(name: str, *, using: str) -> list[int]:
    """How many act together, of each secret that the audience shares."""
    found = SharedSecret._default_manager.using(using).filter(audience=name, dealer=0)
    return sorted(set(found.values_list("together", flat=True)))


def put_shares(name: str, together: int, made: Sharing, deals: Sequence[Deal], *, using: str) -> None:
    """These count from now on; what was dealt before is forgotten."""
    objects = SharedSecret._default_manager.using(using)
    objects.filter(audience=name, together=together).delete()
    said: Any = [
        [made.id, made.epoch, list(made.members), list(made.commitments), list(made.dealers)],
        [_said(each) for each in deals],
    ]
    objects.create(audience=name, together=together, epoch=made.epoch, dealer=0, said=values.encode(said))


def put_deal(name: str, together: int, epoch: int, deal: Deal, members: Sequence[bytes], *, using: str) -> list[Deal]:
    """Keep what one has handed on, and return all that were handed on to the same members."""
    objects = SharedSecret._default_manager.using(using)
    said: Any = [list(members), _said(deal)]
    objects.update_or_create(
        audience=name, together=together, epoch=epoch, dealer=deal.dealer, defaults={"said": values.encode(said)}
    )
    found = []
    for raw in (
        objects.filter(audience=name, together=together, epoch=epoch).exclude(dealer=0).values_list("said", flat=True)
    ):
        pair: Any = values.decode(bytes(raw))
        to, dealt = pair
        if list(to) == list(members):
            found.append(_deal(dealt))
    return found


def _said(deal: Deal) -> list[Any]:
    return [deal.dealer, list(deal.commitments), [[member, box] for member, box in deal.sealed.items()]]


def _deal(said: Any) -> Deal:
    dealer, commitments, sealed = said
    return Deal(dealer, tuple(commitments), dict(sealed))


# Copies


def places_there(places: Sequence[bytes], *, using: str) -> set[bytes]:
    found: set[bytes] = set()
    for start in range(0, len(places), _PLACES):
        part = HeldCopy._default_manager.using(using).filter(place__in=places[start : start + _PLACES])
        found.update(bytes(place) for place in part.values_list("place", flat=True))
    return found


def add_copies(rows: Sequence[tuple[bytes, bytes, bytes, bytes]], *, using: str) -> None:
    """(place, mark, by whom it is shared, sealed)."""
    new = [
        HeldCopy(place=place, mark=mark, shared_by=shared_by, sealed=sealed) for place, mark, shared_by, sealed in rows
    ]
    # By the random key: the order of writing must not say which belong together.
    new.sort(key=lambda copy: copy.id)
    HeldCopy._default_manager.using(using).bulk_create(new, batch_size=_PLACES)


def remove_copies(marks: Sequence[bytes], *, using: str) -> set[bytes]:
    """Those of them that were there."""
    gone: set[bytes] = set()
    for start in range(0, len(marks), _PLACES):
        part = HeldCopy._default_manager.using(using).filter(mark__in=marks[start : start + _PLACES])
        found = {bytes(mark) for mark in part.values_list("mark", flat=True)}
        if found:
            part.delete()
        gone |= found
    return gone


def copies(places: Sequence[bytes], *, using: str) -> dict[bytes, tuple[bytes, bytes]]:
    """By place: by whom it is shared, and what is sealed."""
    found = HeldCopy._default_manager.using(using).filter(place__in=places).order_by("id")
    return {
        bytes(place): (bytes(by), bytes(sealed))
        for place, by, sealed in found.values_list("place", "shared_by", "sealed")
    }


# Requests


def add_request(request: HoldRequest, *, using: str) -> None:
    request.save(using=using, force_insert=True)


def request(number: int, *, using: str) -> HoldRequest | None:
    return HoldRequest._default_manager.using(using).filter(pk=number).first()


def requests(name: str, *, using: str) -> list[HoldRequest]:
    return list(HoldRequest._default_manager.using(using).filter(audience=name).order_by("asked_on", "id"))


def count_use(number: int, *, using: str) -> None:
    HoldRequest._default_manager.using(using).filter(pk=number).update(uses=F("uses") + 1)


def put_part(number: int, member: bytes, sealed: bytes, *, using: str) -> None:
    HoldPart._default_manager.using(using).update_or_create(request=number, member=member, defaults={"sealed": sealed})


def parts(number: int, *, using: str) -> dict[bytes, bytes]:
    found = HoldPart._default_manager.using(using).filter(request=number).order_by("id")
    return {bytes(member): bytes(sealed) for member, sealed in found.values_list("member", "sealed")}


# Notices


def add_notice(place: bytes, sealed: bytes, *, using: str) -> None:
    HoldNotice._default_manager.using(using).create(place=place, sealed=sealed)


def notices(places: Sequence[bytes], *, using: str) -> dict[bytes, bytes]:
    found = HoldNotice._default_manager.using(using).filter(place__in=places).order_by("id")
    return {bytes(place): bytes(sealed) for place, sealed in found.values_list("place", "sealed")}
