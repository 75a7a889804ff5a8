"""Reads and writes the tables. Every function takes the database alias; those that write run in the caller's transaction.

Keeps: rows that have a tag are tagged as they are written, and of those that this site did not tag none is handed out (`AudienceForged`).
A little long, for nothing else touches these tables.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, F

from edna import inner_door, shards
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
from edna.errors import AudienceChanged, AudienceForged, AudienceTooSmall, AudienceUnknown
from edna.records import values
from edna.words import count

_PLACES = 500


def audience(name: str, *, using: str) -> Audience:
    """As all updates leave it.

    Raises: AudienceUnknown, AudienceForged.
    """
    found = AudienceUpdate._default_manager.using(using).filter(audience=name).order_by("sequence")
    state = Audience()
    for row in tags.require(found, using=using):
        state = state.follow(bytes(row.update))
    if not state.nodes:
        raise AudienceUnknown(
            f'There is no audience "{name}" here{shards.in_words(using)}. Make it with edna.audiences.create.'
        )
    return state


def is_there(name: str, *, using: str) -> bool:
    return AudienceUpdate._default_manager.using(using).filter(audience=name).exists()


def hold(name: str, *, using: str) -> None:
    """Whoever changes an audience or its shares comes here before they read it: others who do wait until the caller's transaction ends, and
    read then what has become of it."""
    # The first update is never changed, and there until the audience is deleted.
    first = AudienceUpdate._default_manager.using(using).filter(audience=name, sequence=0)
    list(first.select_for_update().values_list("pk", flat=True))


def keep_from_deletion(name: str, *, using: str) -> bool:
    """Whether it is there. Whoever seals something to it, or acts as one of it, comes here: nobody changes or deletes it until the caller's
    transaction ends. Others may come, and do not wait."""
    return inner_door.keep_row(AudienceUpdate, audience=name, sequence=0, using=using)


def add_update(name: str, sequence: int, update: bytes, *, using: str) -> None:
    """
    Raises: AudienceChanged: another one stands there.
    """
    _add(AudienceUpdate(audience=name, sequence=sequence, update=update), using=using)


def _add(row: AudienceUpdate | SharedSecret, *, using: str) -> None:
    tags.give([row], using=using)
    try:
        with transaction.atomic(using=using):
            row.save(using=using, force_insert=True)
    except IntegrityError as error:
        raise AudienceChanged("Another member was quicker. Nothing was changed; do it again.") from error


def names(name: str, *, using: str) -> dict[bytes, str]:
    found = AudienceName._default_manager.using(using).filter(audience=name).order_by("id")
    return {bytes(row.member): row.name for row in tags.require(found, using=using)}


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
            for row in tags.require(model._default_manager.using(using).filter(audience=name), using=using)
            if not tags.is_newest(row, using=using)
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
    return _read(_newest(name, together, using=using))[0]


def _newest(name: str, together: int, *, using: str) -> SharedSecret:
    found = SharedSecret._default_manager.using(using).filter(audience=name, together=together, dealer=0)
    newest = found.order_by("-epoch").first()
    if newest is None:
        raise AudienceUnknown(
            f'There is no audience "{name}" here{shards.in_words(using)} of which {together} act together. Make it with '
            "edna.audiences.create. Nothing was changed."
        )
    tags.require([newest], using=using)
    return newest


def usable_sharing(name: str, together: int, *, using: str, to_seal: bool = False) -> Sharing:
    """What counts now, if what is sealed to it opens for those who are there. If something is ``to_seal``, nobody deletes the audience
    until the caller's transaction ends.

    Raises: AudienceUnknown, AudienceForged, AudienceTooSmall.
    """
    if not (keep_from_deletion if to_seal else is_there)(name, using=using):
        raise AudienceUnknown(f'There is no audience "{name}" here{shards.in_words(using)}. Nothing was changed.')
    return _usable(_newest(name, together, using=using))


def unusable(*, using: str) -> dict[tuple[str, int], AudienceForged | AudienceTooSmall]:
    """Why nothing can be sealed to some audiences, by their name and how many act together. One question for all."""
    rows = SharedSecret._default_manager.using(using).filter(dealer=0).order_by("epoch")
    found: dict[tuple[str, int], AudienceForged | AudienceTooSmall] = {}
    for key, row in {(row.audience, row.together): row for row in rows}.items():
        try:
            tags.require([row], using=using)
            _usable(row)
        except (AudienceForged, AudienceTooSmall) as error:
            found[key] = error
    return found


def _usable(row: SharedSecret) -> Sharing:
    (sharing, _), gone = _read(row)
    have = len(set(sharing.members) - gone)
    if have < sharing.threshold:
        raise AudienceTooSmall(
            f'Of the audience "{row.audience}" {count(have, "member")} with a share {"is" if have == 1 else "are"} left, and '
            f"{sharing.threshold} have to act together, so that nobody could read what is held. Nothing was changed. Take somebody in "
            "again who had a share, or delete the audience and make it anew.",
            have=have,
            need=sharing.threshold,
        )
    return sharing


def note_gone(name: str, there: Collection[bytes], *, using: str) -> None:
    """Note with each sharing who of its members is not ``there`` any more: a disguise asks that, and not who is in the audience, which
    takes all updates."""
    found = SharedSecret._default_manager.using(using).filter(audience=name, dealer=0)
    for row in tags.require(found, using=using):
        (sharing, _), known = _read(row)
        gone = set(sharing.members) - set(there)
        if gone != known:
            said: Any = values.decode(bytes(row.said))
            row.said = values.encode([*said[:2], *([sorted(gone)] if gone else [])])
            tags.give([row], using=using)
            row.save(using=using, update_fields=["said", "tag"])


def _read(row: SharedSecret) -> tuple[tuple[Sharing, list[Deal]], set[bytes]]:
    """With the ids of members who have gone since."""
    said: Any = values.decode(bytes(row.said))
    (number, epoch, members, commitments, dealers), deals, *gone = said
    sharing = Sharing(number, epoch, tuple(members), tuple(commitments), tuple(dealers))
    return (sharing, [_deal(each) for each in deals]), {member for ids in gone for member in ids}


def kept_togethers(name: str, *, using: str) -> list[int]:
    """How many act together, of each secret that the audience shares."""
    found = SharedSecret._default_manager.using(using).filter(audience=name, dealer=0)
    return sorted(set(found.values_list("together", flat=True)))


def epochs(*, using: str) -> dict[tuple[str, int], int]:
    """Of each audience, and each number of members that act together, which shares count."""
    found = SharedSecret._default_manager.using(using).filter(dealer=0).order_by("epoch")
    return {(name, together): epoch for name, together, epoch in found.values_list("audience", "together", "epoch")}


def sharings(*, using: str) -> dict[tuple[str, int], tuple[Sharing, set[bytes]]]:
    """The same with what is shared, and who of its members is noted as gone; without those that are not this site's."""
    found = SharedSecret._default_manager.using(using).filter(dealer=0).order_by("epoch")
    read = {(row.audience, row.together): _read(row) for row in found if tags.is_right(row, using=using)}
    return {place: (sharing, gone) for place, ((sharing, _), gone) in read.items()}


def put_shares(name: str, together: int, made: Sharing, deals: Sequence[Deal], *, using: str) -> None:
    """These count from now on; what was dealt before is forgotten.

    Raises: AudienceChanged: others count by now. A second secret in place of a first one would take with it what has been sealed to that.
    """
    objects = SharedSecret._default_manager.using(using).filter(audience=name, together=together)
    objects.filter(epoch__lte=made.epoch).exclude(epoch=made.epoch, dealer=0).delete()
    said: Any = [
        [made.id, made.epoch, list(made.members), list(made.commitments), list(made.dealers)],
        [_said(each) for each in deals],
    ]
    _add(
        SharedSecret(audience=name, together=together, epoch=made.epoch, dealer=0, said=values.encode(said)),
        using=using,
    )


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
    for row in tags.require(of_epoch.all(), using=using):
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


def held_for(name: str, *, using: str) -> tuple[int, int]:
    """How many there are for an audience; and how many more of which nobody can tell for whom they are: their shares are not there, or they
    are not as this site wrote them. Whoever writes to the tables can bring both about.

    Raises: AudienceForged: of its own shares.
    """
    known = {shared.id for shared, _ in sharings(using=using).values()}
    own = {sharing(name, each, using=using).id for each in kept_togethers(name, using=using)}
    copies = copies_of_sharings(using=using)
    others = HeldCopy._default_manager.using(using).exclude(shared_by__in=own).order_by("id")
    unclear = sum(
        bytes(row.shared_by) not in known or not tags.is_right(row, using=using)
        for row in others.iterator(chunk_size=_PLACES)
    )
    return sum(copies.get(each, 0) for each in own), unclear


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
        if found := marks_there(part, using=using):
            HeldCopy._default_manager.using(using).filter(mark__in=part).delete()
        gone |= found
    return gone


def marks_there(marks: Sequence[bytes], *, using: str) -> set[bytes]:
    return inner_door.values_there(HeldCopy, "mark", marks, using=using)


def copies(places: Sequence[bytes], *, using: str) -> dict[bytes, tuple[bytes, bytes]]:
    """By place: by whom it is shared, and what is sealed.

    Raises: AudienceForged: another copy was put there, perhaps one that somebody wants members to open unknowingly.
    """
    found = HeldCopy._default_manager.using(using).filter(place__in=places).order_by("id")
    return {bytes(row.place): (bytes(row.shared_by), bytes(row.sealed)) for row in tags.require(found, using=using)}


def delete(name: str, *, using: str) -> None:
    """All rows of an audience, what is held for it, and what was asked for."""
    for each in kept_togethers(name, using=using):
        shared_by = sharing(name, each, using=using).id
        HeldCopy._default_manager.using(using).filter(shared_by=shared_by).delete()
    asked = HoldRequest._default_manager.using(using).filter(audience=name)
    HoldPart._default_manager.using(using).filter(request__in=list(asked.values_list("pk", flat=True))).delete()
    asked.delete()
    for model in (AudienceUpdate, AudienceName, SharedSecret):
        model._default_manager.using(using).filter(audience=name).delete()


# Requests


def add_request(request: HoldRequest, *, using: str) -> None:
    tags.give([request], using=using)
    request.save(using=using, force_insert=True)


def request(number: int, *, using: str) -> HoldRequest | None:
    """
    Raises: AudienceForged: it is not what was asked.
    """
    found = HoldRequest._default_manager.using(using).filter(pk=number)
    return next(iter(tags.require(found, using=using)), None)


def requests(name: str, *, using: str) -> list[HoldRequest]:
    """
    Raises: AudienceForged: one of them is not what was asked.
    """
    found = HoldRequest._default_manager.using(using).filter(audience=name)
    return tags.require(found.order_by("asked_on", "id"), using=using)


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
