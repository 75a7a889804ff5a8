"""What is held for several members together: asked for by one, agreed to by others, read, and told to whom it is about.

A member asks about somebody, by the row of a person or of a placeholder, and gives a reason that the others see. Whoever agrees computes a
part, for who asked. Keeps: each reading is noted in the audit trail, and for the person, in the transaction in which the copies are opened;
what cannot be noted is not read. Of several databases all of it is in the one of whom it is about, whose audience opens it. Does not know
how members got their keys.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Model

from edna import clock, conf, inner_door, registry, shards
from edna.api import Unlocked
from edna.audiences import history, membership, store
from edna.audiences.copies import places_about
from edna.audiences.models import HoldRequest
from edna.audiences.notices import Use, tell, uses_under
from edna.crypto.keys import SecretKey
from edna.crypto.sealing import open_small, seal_small
from edna.custody.audiences import together as shared
from edna.custody.audiences.together import PART_BYTES
from edna.errors import AudienceForged, BagMissing, DatabaseNotChosen, HeldCopyRefused, TooFewTogether, WrongKey

_PLACE_BYTES: Final = 32


@dataclass(frozen=True)
class Request:
    """``agreed`` are the names of members who have done their part; ``uses`` is how often it was read. ``database`` is where it is, if
    there are several: in another one somebody else may have the same primary key."""

    id: int
    audience: str
    together: int
    asked_by: str
    asked_on: datetime.date
    model: str
    reference: str
    reason: str
    agreed: tuple[str, ...]
    uses: int
    database: str | None = None


@dataclass(frozen=True, repr=False)
class HeldData:
    """What one bag holds: ``model`` and ``reference`` are whose it is, ``rows`` have the model, what was done, and the values of before;
    ``database`` as in `Request`."""

    disguise: str
    applied_at: datetime.datetime
    model: str
    reference: str
    rows: list[tuple[str, str, dict[str, object]]]
    database: str | None = None


def ask(name: str, secret_key: SecretKey | str, about: Model, *, reason: str, together: int | None = None) -> int:
    """Ask the others to open with you what is held about somebody: ``about`` is the row of the person, or of a placeholder. Return the
    number of the request; who asks has agreed. A request is about what so many open ``together``; if that is not said, as few as there is
    something for. Of several databases the row says which; of somebody whose row is gone, `edna.on`.

    Raises:
        HeldCopyRefused: nothing about them is held for this audience, or no reason is given.
        DatabaseNotChosen: nothing says in which of several databases they are, or another one is at work.
        AudienceUnknown, NotInAudience
    """
    if not reason.strip() or len(reason) > 200:
        raise HeldCopyRefused(
            "Give a reason, of at most 200 letters: the others see it, and so does the person. Nothing was asked."
        )
    if not isinstance(about, Model):
        raise HeldCopyRefused(
            f"Ask about the row of a person, or of a placeholder; this is a {type(about).__name__}. Nothing was asked."
        )
    using = _database_of(about)
    subject = (about._meta.concrete_model._meta.label_lower, str(about.pk))  # type: ignore[union-attr]  # of a row, never abstract

    def work() -> int:
        store.keep_from_deletion(name, using=using)
        _, member = membership.own(name, secret_key, using=using)
        copies = store.copies(places_about(subject, using=using), using=using)
        kept = store.kept_togethers(name, using=using)
        for number in kept if together is None else {together}.intersection(kept):
            sharing = store.sharing(name, number, using=using)
            places = [place for place, (shared_by, _) in copies.items() if shared_by == sharing.id]
            if places:
                break
        else:
            raise HeldCopyRefused(
                f'Nothing about {subject[0]} {subject[1]} is held for the audience "{name}"{shards.in_words(using)}.'
            )
        request = HoldRequest(
            audience=name,
            together=number,
            asked_by=member.id,
            asked_on=clock.today(),
            model=subject[0],
            reference=subject[1],
            reason=reason,
            places=b"".join(sorted(places)),
        )
        store.add_request(request, using=using)
        _do_part(request, secret_key, using=using)
        return int(request.pk)

    return inner_door.in_one_transaction(work, using=using)


def _database_of(about: Model) -> str:
    """
    Raises:
        DatabaseNotChosen: neither it nor anything else says so; or another one is at work, where its primary key is somebody else.
    """
    read_from = about._state.db
    if not conf.databases() or read_from is None:
        return inner_door.database()  # of a row that is gone, say
    using = registry.database_of(about, type(about))
    if shards.at_work.get() not in (None, using):
        raise DatabaseNotChosen(
            f"This {about._meta.label} is in {using!r}, and {shards.at_work.get()!r} is at work. Nothing was asked."
        )
    return using


def agree(number: int, secret_key: SecretKey | str) -> None:
    """Do your part in a request of another member. It is for that member, and for this request alone.

    Raises: HeldCopyRefused, NotInAudience, ShareRefused, AudienceUnknown; DatabaseBusy: one of several databases is away, and no other has
    the request.
    """
    using = _database_of_request(number)

    def work() -> None:
        store.keep_from_deletion(_request(number, using=using).audience, using=using)
        _do_part(_request(number, using=using), secret_key, using=using)

    inner_door.in_one_transaction(work, using=using)


def _do_part(request: HoldRequest, secret_key: SecretKey | str, *, using: str) -> None:
    audience, member = membership.own(request.audience, secret_key, using=using)
    sharing, deals = store.shares(request.audience, request.together, using=using)
    share = shared.open_share(sharing, deals, member=member.id, secret_key=member.secret_key)
    asking = audience.cards.get(bytes(request.asked_by))
    if asking is None:
        raise HeldCopyRefused("Who has asked is not in the audience any more. Nothing was done; ask anew.")
    places = _places(request)
    found = store.copies(places, using=using)
    parts = [
        shared.part_of(found[place][1], share, sharing=sharing, member=member.id)
        if place in found
        else bytes(PART_BYTES)
        for place in places
    ]
    said = sharing.epoch.to_bytes(4, "big") + b"".join(parts)
    store.put_part(request.pk, member.id, seal_small(said, recipient=asking.public_key), using=using)


def read(number: int, secret_key: SecretKey | str, *, operator: str = "") -> list[HeldData]:
    """Open what was asked for, once enough members have agreed. Only who has asked can. It is noted, and the person is told.

    Raises:
        TooFewTogether: fewer have agreed.
        HeldCopyRefused: it is somebody else's request.
        BagMissing: it was brought back, has expired, or was erased meanwhile.
        NotInAudience, BagError; DatabaseBusy: as `agree`.
    """
    using = _database_of_request(number)

    def work() -> list[HeldData]:
        request = _request(number, using=using)
        audience, member = membership.own(request.audience, secret_key, using=using)
        if member.id != bytes(request.asked_by):
            raise HeldCopyRefused("Only who has asked reads what is opened. Ask yourself, or let them show it.")
        sharing = store.sharing(request.audience, request.together, using=using)
        said = [_opened_part(sealed, member.secret_key) for sealed in _own_parts(request, audience.cards, using=using)]
        places = _places(request)
        found = store.copies(places, using=using)
        current = [each[4:] for each in said if each[:4] == sharing.epoch.to_bytes(4, "big")]
        if len(current) < sharing.threshold:
            raise TooFewTogether(have=len(current), need=sharing.threshold)
        there = {sharing.number(each) for each in sharing.members if each in audience.cards}
        opened: list[HeldData] = []
        for at, place in enumerate(places):
            if place in found:
                parts = _parts_of([each[at * PART_BYTES : (at + 1) * PART_BYTES] for each in current], there)
                copy = shared.open_together(found[place][1], parts, sharing=sharing, context=place)
                opened.append(_read_copy(copy, request, using=using))
        if not opened:
            raise BagMissing(
                "What was asked for is not there any more: it was brought back, has expired, or was erased."
            )
        store.count_use(request.pk, using=using)
        inner_door.note_act(
            "held-data-read",
            operator=operator or membership.called_of(request.audience, member, using=using),
            disguise=opened[0].disguise,
            audience=request.audience,
            together=request.together,
            request=str(request.pk),
        )
        return opened

    return inner_door.in_one_transaction(work, using=using)


def _own_parts(request: HoldRequest, there: Any, *, using: str) -> list[bytes]:
    return [sealed for member, sealed in store.parts([request.pk], using=using)[request.pk].items() if member in there]


def _parts_of(parts: Sequence[bytes], numbers: Collection[int]) -> list[bytes]:
    """Those by a share of one of these. Whose part it is the row says, and anybody can write a row: who went, and whose share has not been
    handed on yet, could lie under the name of somebody who is there."""
    return [part for part in parts if part and part[0] in numbers]


def _opened_part(sealed: bytes, secret_key: SecretKey) -> bytes:
    try:
        return open_small(sealed, secret_key=secret_key)
    except WrongKey:
        return b""


def _read_copy(copy: bytes, request: HoldRequest, *, using: str) -> HeldData:
    subject = (request.model, request.reference)
    disguise, applied_at, model, reference, rows, locator = inner_door.open_copy(copy, subject=subject, using=using)
    month = clock.now().strftime("%Y-%m")
    tell(locator, Use(request.audience, request.together, month, request.reason), using=using)
    return HeldData(disguise, applied_at, model, reference, rows, shards.named(using))


# What the person is told


def uses(unlocked: Unlocked) -> list[Use]:
    """What was read of a person's, of all that their key leads to now: ask before they bring it back.

    Raises: ReceiptForeign, EntryForged.
    """
    return uses_under(inner_door.locators_of(unlocked), using=unlocked.using)


# Requests and shares


def requests(name: str) -> list[Request]:
    """All that were ever made, oldest first."""
    using = inner_door.database()
    called, found = store.names(name, using=using), store.requests(name, using=using)
    parts = store.parts([each.pk for each in found], using=using)
    return [
        Request(
            int(each.pk),
            name,
            each.together,
            called.get(bytes(each.asked_by), ""),
            each.asked_on,
            each.model,
            each.reference,
            each.reason,
            tuple(called.get(member, "") for member in parts[each.pk]),
            each.uses,
            shards.named(using),
        )
        for each in found
    ]


def hand_on(name: str, secret_key: SecretKey | str, *, together: int = 2) -> bool:
    """Hand your share on to who is in the audience now; return whether enough have, so that everybody has a new share and those who went
    have none that counts.

    Raises: AudienceUnknown, NotInAudience, ShareRefused; AudienceTooSmall: too few are left who have one, so that it cannot be done.
    """
    using = inner_door.database()

    def work() -> bool:
        store.hold(name, using=using)
        audience, member = membership.own(name, secret_key, using=using)
        store.usable_sharing(name, together, using=using)
        sharing, deals = store.shares(name, together, using=using)
        keys = {each: card.public_key for each, card in audience.cards.items()}
        share = shared.open_share(sharing, deals, member=member.id, secret_key=member.secret_key)
        deal = shared.hand_on(share, sharing=sharing, member=member.id, members=keys, threshold=together)
        dealt = store.put_deal(name, together, sharing.epoch + 1, deal, list(keys), using=using)
        store.tag_anew(name, using=using)
        if len(dealt) < together:
            return False
        after = shared.handed_on(sharing, dealt, list(keys))
        store.put_shares(name, together, after, [each for each in dealt if each.dealer in after.dealers], using=using)
        history.note_shares(name, together, after, by=membership.called_of(name, member, using=using))
        return True

    return inner_door.in_one_transaction(work, using=using)


def _database_of_request(number: int) -> str:
    """Where it is: no two have one number, and a row that somebody has copied to another database carries no tag for there.

    Raises:
        AudienceForged, HeldCopyRefused: it is in none of them as it was asked, or not at all.
        DatabaseBusy: one of several is away, and no other has it.
    """
    found: list[HoldRequest] = []
    forged: list[AudienceForged] = []

    def ask(using: str) -> list[HoldRequest]:
        try:
            here = store.request(number, using=using)
        except AudienceForged as error:
            forged.append(error)
            return []
        found.extend([here] if here is not None else [])
        return [here] if here is not None else []

    using = inner_door.database_with(ask)
    if forged and not found:
        raise forged[0]
    if not found and len(registry.databases()) > 1:
        raise HeldCopyRefused(
            f"There is no request {number} in any of the databases {shards.listed(registry.databases())}."
        )
    return using


def _request(number: int, *, using: str) -> HoldRequest:
    request = store.request(number, using=using)
    if request is None:
        raise HeldCopyRefused(f"There is no request {number}{shards.in_words()}.")
    return request


def _places(request: HoldRequest) -> list[bytes]:
    raw = bytes(request.places)
    return [raw[start : start + _PLACE_BYTES] for start in range(0, len(raw), _PLACE_BYTES)]
