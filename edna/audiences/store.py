"""Reads and writes the tables. Every function takes the database alias; those that write run in the caller's transaction.

Keeps: rows that have a tag are tagged as they are written, and of those that this site did not tag none is handed out (`AudienceForged`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, F

from edna import inner_door
from edna.audiences import tags
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

    Raises: AudienceUnknown, AudienceForged.
    """
    found = AudienceUpdate._default_manager.using(using).filter(audience=name).order_by("sequence")
    state = Audience()
    for row in tags.require(found):
        state = state.follow(bytes(row.update))
    if not state.nodes:
        raise AudienceUnknown(f'There is no audience "{name}" here. Make it with edna.audiences.create.')
    return state


def is_there(name: str, *, using: str) -> bool:
    return AudienceUpdate._default_manager.using(using).filter(audience=name).exists()


def add_update(name: str, sequence: int, update: bytes, *, using: str) -> None:
    """
    Raises: AudienceChanged: another one stands there.
    """
    row = AudienceUpdate(audience=name, sequence=sequence, update=update)
    tags.give([row], using=using)
    try:
        with transaction.atomic(using=using):
            row.save(using=using, force_insert=True)
    except IntegrityError as error:
        raise AudienceChanged("Another member was quicker. Nothing was changed; do it again.") from error


def names(name: str, *, using: str) -> dict[bytes, str]:
    found = AudienceName._default_manager.using(using).filter(audience=name).order_by("id")
    return {bytes(row.member): row.name for row in tags.require(found)}


def add_names(name: str, called: Mapping[bytes, str], *, using: str) -> None:
    rows = [AudienceName(audience=name, member=member, name=each) for member, each in called.items()]
    tags.give(rows, using=using)
    AudienceName._default_manager.using(using).bulk_create(rows)


def numbers_of_updates(*, using: str) -> dict[str, list[int]]:
    """Of each audience, in their order."""
    found: dict[str, list[int]] = {}
    rows = AudienceUpdate._default_manager.using(using).order_by("audience", "sequence")
    for name, sequence in rows.values_list("audience", "sequence"):
        found.setdefault(name, []).append(sequence)
    return found


def tag_anew(name: str, *, using: str) -> None:
    """Rows of an audience that were tagged under an older key of the server get a tag under the first one.

    Raises: AudienceForged
    """
    for model in (AudienceUpdate, AudienceName, SharedSecret):
        older = [
            row
            for row in tags.require(model._default_manager.using(using).filter(audience=name))
            if not tags.is_newest(row)
        ]
        tags.give(older, using=using)
        for row in older:
            row.save(using=using, update_fields=["tag"])


# Shares


def sharing(name: str, together: int, *, using: str) -> Sharing:
    """What counts now.

    Raises: AudienceUnknown, AudienceForged.
    """
    return shares(name, together, using=using)[0]


def shares(name: str, together: int, *, using: str) -> tuple[Sharing, list[Deal]]:
    """What counts now, with the shares.

    Raises: AudienceUnknown, AudienceForged.
    """
    found = SharedSecret._default_manager.using(using).filter(audience=name, together=together, dealer=0)
    newest = found.order_by("-epoch").first()
    if newest is None:
        raise AudienceUnknown(
            f'There is no audience "{name}" here of which {together} act together. Make it with edna.audiences.create. Nothing was changed.'
        )
    tags.require([newest])
    shared: Any = values.decode(bytes(newest.said))
    (number, epoch, members, commitments, dealers), deals = shared
    return Sharing(number, epoch, tuple(members), tuple(commitments), tuple(dealers)), [_deal(each) for each in deals]


def kept_togethers(name: str, *, using: str) -> list[int]:
    """How many act together, of each secret that the audience shares."""
    found = SharedSecret._default_manager.using(using).filter(audience=name, dealer=0)
    return sorted(set(found.values_list("together", flat=True)))


def epochs(*, using: str) -> dict[tuple[str, int], int]:
    """Of each audience, and each number of members that act together, which shares count."""
    found = SharedSecret._default_manager.using(using).filter(dealer=0).order_by("epoch")
    return {(name, together): epoch for name, together, epoch in found.values_list("audience", "together", "epoch")}


def put_shares(name: str, together: int, made: Sharing, deals: Sequence[Deal], *, using: str) -> None:
    """These count from now on; what was dealt before is forgotten."""
    objects = SharedSecret._default_manager.using(using)
    objects.filter(audience=name, together=together).delete()
    said: Any = [
        [made.id, made.epoch, list(made.members), list(made.commitments), list(made.dealers)],
        [_said(each) for each in deals],
    ]
    row = SharedSecret(audience=name, together=together, epoch=made.epoch, dealer=0, said=values.encode(said))
    tags.give([row], using=using)
    row.save(using=using, force_insert=True)


def put_deal(name: str, together: int, epoch: int, deal: Deal, members: Sequence[bytes], *, using: str) -> list[Deal]:
    """Keep what one has handed on, and return all that were handed on to the same members."""
    objects = SharedSecret._default_manager.using(using)
    said: Any = [list(members), _said(deal)]
    of_epoch = objects.filter(audience=name, together=together, epoch=epoch).exclude(dealer=0)
    of_epoch.filter(dealer=deal.dealer).delete()
    new = SharedSecret(audience=name, together=together, epoch=epoch, dealer=deal.dealer, said=values.encode(said))
    tags.give([new], using=using)
    new.save(using=using, force_insert=True)
    found = []
    for row in tags.require(of_epoch.all()):
        pair: Any = values.decode(bytes(row.said))
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
    tags.give(new, using=using)
    HeldCopy._default_manager.using(using).bulk_create(new, batch_size=_PLACES)


def copies_of_sharings(*, using: str) -> dict[bytes, int]:
    """How many there are, by whom they are shared."""
    found = HeldCopy._default_manager.using(using).values_list("shared_by").annotate(number=Count("id"))
    return {bytes(shared_by): number for shared_by, number in found}


def remove_copies(marks: Sequence[bytes], *, using: str) -> set[bytes]:
    """Those of them that were there."""
    gone: set[bytes] = set()
    for start in range(0, len(marks), _PLACES):
        part = marks[start : start + _PLACES]
        # Asked whenever a bag goes, and there is nearly always none.
        found = inner_door.values_there(HeldCopy, "mark", part, using=using)
        if found:
            HeldCopy._default_manager.using(using).filter(mark__in=part).delete()
        gone |= found
    return gone


def copies(places: Sequence[bytes], *, using: str) -> dict[bytes, tuple[bytes, bytes]]:
    """By place: by whom it is shared, and what is sealed.

    Raises: AudienceForged: another copy was put there, perhaps one that somebody wants members to open unknowingly.
    """
    found = HeldCopy._default_manager.using(using).filter(place__in=places).order_by("id")
    return {bytes(row.place): (bytes(row.shared_by), bytes(row.sealed)) for row in tags.require(found)}


# Requests


def add_request(request: HoldRequest, *, using: str) -> None:
    tags.give([request], using=using)
    request.save(using=using, force_insert=True)


def request(number: int, *, using: str) -> HoldRequest | None:
    """
    Raises: AudienceForged: it is not what was asked.
    """
    return next(iter(tags.require(HoldRequest._default_manager.using(using).filter(pk=number))), None)


def requests(name: str, *, using: str) -> list[HoldRequest]:
    """
    Raises: AudienceForged: one of them is not what was asked.
    """
    return tags.require(HoldRequest._default_manager.using(using).filter(audience=name).order_by("asked_on", "id"))


def count_use(number: int, *, using: str) -> None:
    HoldRequest._default_manager.using(using).filter(pk=number).update(uses=F("uses") + 1)


def put_part(number: int, member: bytes, sealed: bytes, *, using: str) -> None:
    HoldPart._default_manager.using(using).update_or_create(request=number, member=member, defaults={"sealed": sealed})


def parts(numbers: Sequence[int], *, using: str) -> dict[int, dict[bytes, bytes]]:
    """By request and member."""
    found: dict[int, dict[bytes, bytes]] = {number: {} for number in numbers}
    rows = HoldPart._default_manager.using(using).filter(request__in=numbers).order_by("id")
    for number, member, sealed in rows.values_list("request", "member", "sealed"):
        found[number][bytes(member)] = bytes(sealed)
    return found


# Notices


def add_notice(place: bytes, sealed: bytes, *, using: str) -> None:
    HoldNotice._default_manager.using(using).create(place=place, sealed=sealed)


def notices(places: Sequence[bytes], *, using: str) -> dict[bytes, bytes]:
    found = HoldNotice._default_manager.using(using).filter(place__in=places).order_by("id")
    return {bytes(place): bytes(sealed) for place, sealed in found.values_list("place", "sealed")}
