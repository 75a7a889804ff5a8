"""Enrolments: that guardians keep a way back to a key, for whoever has the key; and what is kept of it here.

Keeps: what guardians help to opens a slot of the key, not the key itself; what is stored of it here is sealed. Does not know: pages,
nor how somebody comes back (`way_back`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Final, ParamSpec, TypeVar

from django.db import transaction
from django.db.models import Model

from edna import api, conf, inner_door, registry, shards, throttle
from edna.custody import by_guardians
from edna.custody.guardians import quorum
from edna.custody.guardians.envelope import Envelope, size_of
from edna.custody.guardians.roster import Roster, to_base64
from edna.errors import CustodyError, EnvelopeRefused, QuorumUnavailable
from edna.guardians import store
from edna.guardians.site import Site, configured
from edna.guardians.upkeep import leftovers
from edna.guardians.upkeep.leftovers import Note

Given = ParamSpec("Given")
Result = TypeVar("Result")

KIND: Final = by_guardians.KIND


def where_unlocked(act: Callable[Given, Result]) -> Callable[Given, Result]:
    """Decorates what begins with an ``unlocked`` key: it is done in the database where that is."""

    @wraps(act)
    def there(*given: Given.args, **named: Given.kwargs) -> Result:
        unlocked: Any = given[0] if given else named["unlocked"]
        with shards.at(unlocked.using):
            return act(*given, **named)

    return there


@where_unlocked
def enroll(unlocked: api.Unlocked, *, identifier: str, contact: str, pin: str = "") -> Mapping[int, str]:
    """Have the site's guardians keep a way back, in the place of the one that there may be. ``identifier`` is what the person will type,
    ``contact`` where guardians reach them. Returns, by number, why guardians have no share yet: `edna_guardian refresh` gives it to them.

    Raises:
        QuorumUnavailable: fewer guardians than needed could be given a share. Nothing was changed.
        EnvelopeRefused: `edna_guardian refresh` fell into it. Nothing was changed.
        SecretKeyNeeded: the key did not leave its owner's browser.
        CapabilityClosed, ServerKeyUnknown, ConfigurationError
    """
    site, salt = configured(), by_guardians.new_salt()
    secret = by_guardians.secret_for(inner_door.secret_key_of(unlocked), salt=salt)
    (place,) = by_guardians.places(identifier, peppers=[inner_door.sealing_key()])
    (tag,) = by_guardians.tags(unlocked.public_key, peppers=[inner_door.sealing_key()])
    begun, former = list[Note](), list[Note]()

    def before(envelope: Envelope) -> None:
        begun.append(leftovers.begin(envelope, using=unlocked.using))

    def keep(using: str) -> None:
        leftovers.keep(begun[0], using=using)
        # Once nobody else can enroll this key: each has the guardians forget what it replaces.
        former[:] = _give_up(unlocked.public_key, using=using)
        store.add(place, tag, sealed, using=using)

    try:
        enrolled = quorum.enrol(
            secret.expose(),
            roster=site.roster,
            transport=site.transport,
            contact=contact,
            account=identifier,
            pin=pin,
            before=before,
        )
        sealed = by_guardians.seal(salt, bytes(enrolled.envelope), place=place, pepper=inner_door.sealing_key())
        inner_door.replace_slot(unlocked, secret, kind=KIND, beside=keep)
    except BaseException:
        _abandon(site, begun, using=unlocked.using)
        raise
    leftovers.forget(site, former, using=unlocked.using)
    return enrolled.missing


@where_unlocked
def withdraw(unlocked: api.Unlocked) -> Mapping[int, str]:
    """Give up the way back by guardians, who forget it. Returns, by number, what those said who have not heard it: without the site,
    their shares open nothing.

    Raises:
        CapabilityClosed, ServerKeyUnknown, ConfigurationError
    """
    site, former = configured(), list[Note]()

    def give_up(using: str) -> None:
        former[:] = _give_up(unlocked.public_key, using=using)

    inner_door.remove_slot(unlocked, kind=KIND, beside=give_up)
    return leftovers.forget(site, former, using=unlocked.using)


@where_unlocked
def veto(unlocked: api.Unlocked) -> Mapping[int, str]:
    """Refuse what anybody has asked of guardians about this key; they take no other request for a day. Returns, by number, what those
    said who have not heard it.

    Raises:
        SecretKeyNeeded, CapabilityClosed, ConfigurationError
    """
    site, deaf = configured(), dict[int, str]()
    key = inner_door.secret_key_of(unlocked)
    for salt, envelope in kept_for(unlocked.public_key):
        secret = by_guardians.secret_for(key, salt=salt)
        deaf |= quorum.veto(secret.expose(), envelope, roster=site.roster, transport=site.transport)
    return deaf


def withdraw_key(site: Site, public_key: api.PublicKey) -> Mapping[int, str]:
    """As `withdraw`, for whoever has proved this key."""
    using = registry.database()
    with transaction.atomic(using=using):
        inner_door.remove_slot_of(public_key, kind=KIND)
        former = _give_up(public_key, using=using)
    return leftovers.forget(site, former, using=using)


def forget_key(public_key: api.PublicKey, using: str) -> None:
    """What guardians help to opens nothing any more: drop it in the caller's transaction, and have them forget it after."""
    if not conf.has_guardians():
        return
    notes = _give_up(public_key, using=using)
    if notes:
        transaction.on_commit(partial(_forget_later, notes, using), using=using, robust=True)


@dataclass(frozen=True, slots=True)
class Made:
    """An enrolment that was made in a browser: the envelope, what vetoes are checked by, and a share sealed to each guardian."""

    envelope: bytes
    salt: bytes
    commitments: bytes
    vetoes: bytes
    shares: Sequence[bytes]


def enroll_elsewhere(
    site: Site,
    public_key: api.PublicKey,
    made: Made,
    slots: Sequence[inner_door.BrowserSlot],
    *,
    identifier: str,
    contact: str,
) -> Mapping[int, str]:
    """As `enroll`, for whoever has proved this key: the server passes on what it cannot open.

    Raises:
        EnvelopeRefused: it is none, or for other guardians; or `edna_guardian refresh` fell into it.
        QuorumUnavailable, SlotRefused, PrincipalNotRegistered, ServerKeyUnknown
    """
    envelope = Envelope.parse(made.envelope)
    if not fits(envelope, site.roster) or len(made.shares) != site.roster.count:
        raise EnvelopeRefused("This envelope was made for other guardians than the site's. Nothing was changed.")
    # Guardians obey the site: of an id that somebody else's envelope has, it would have them forget that one's shares.
    if envelope.head.enrolment != by_guardians.enrolment_for(public_key, salt=made.salt):
        raise EnvelopeRefused("This envelope was made for another key. Nothing was changed.")
    # The same length for all: a row tells nothing.
    if len(made.envelope) != size_of(by_guardians.SECRET_BYTES):
        raise EnvelopeRefused("This envelope does not hold what opens a slot. Nothing was changed.")
    using = registry.database()
    (place,) = by_guardians.places(identifier, peppers=[inner_door.sealing_key()])
    (tag,) = by_guardians.tags(public_key, peppers=[inner_door.sealing_key()])
    sealed = by_guardians.seal(made.salt, made.envelope, place=place, pepper=inner_door.sealing_key())
    begun = leftovers.begin(envelope, using=using)
    said = {
        "enrolment": to_base64(envelope.head.enrolment),
        "contact": contact,
        "account": identifier,
        "vetoes": to_base64(made.vetoes),
        "commitments": to_base64(made.commitments),
    }
    asked = {
        member.number: {**said, "share": to_base64(share)}
        for member, share in zip(site.roster.members, made.shares, strict=True)
    }
    try:
        missing = _deaf(quorum.ask_each(site.transport, asked, "/enrol", ordered=True))
        if site.roster.count - len(missing) < site.roster.threshold:
            raise QuorumUnavailable(have=site.roster.count - len(missing), need=site.roster.threshold, wrong=missing)
        with transaction.atomic(using=using):
            inner_door.replace_slots(public_key, slots)
            leftovers.keep(begun, using=using)
            # Once nobody else can enroll this key: each has the guardians forget what it replaces. Sent twice, it is the same one.
            former = _give_up(public_key, but=begun.enrolment, using=using)
            store.add(place, tag, sealed, using=using)
    except BaseException:
        _abandon(site, [] if _keeps(public_key, begun) else [begun], using=using)
        raise
    leftovers.forget(site, former, using=using)
    return missing


def is_enrolled(principal: Model) -> bool:
    """Whether guardians keep a way back to this person's key."""
    public_key = inner_door.public_key_of(principal)
    if public_key is None:
        return False
    return store.exists(_tags(public_key), using=inner_door.database_of(principal))


def _tags(public_key: api.PublicKey) -> list[bytes]:
    return by_guardians.tags(public_key, peppers=conf.mac_keys())


def kept_for(public_key: api.PublicKey) -> list[tuple[bytes, Envelope]]:
    """Salt and envelope of a key."""
    throttle.admit()
    return _opened(store.find_by_tag(_tags(public_key), using=registry.database()))


def envelopes_at(identifier: str) -> list[Envelope]:
    """Of whoever uses that identifier, or did; in each of several databases.

    Raises:
        DatabaseBusy: one of these is away, and no other has any.
    """
    throttle.admit()
    places = by_guardians.places(identifier, peppers=conf.mac_keys())
    found = inner_door.asked_in_each(lambda using: store.find(places, using=using))
    return [envelope for _, envelope in _opened(found)]


def _opened(rows: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, Envelope]]:
    """Salt and envelope of each that is sound."""
    opened = [by_guardians.open_sealed(sealed, place=place, peppers=conf.mac_keys()) for place, sealed in rows]
    return [(salt, Envelope.parse(raw)) for salt, raw in filter(None, opened)]


def renew(identifier: str, envelope: Envelope, unlocked: api.Unlocked) -> None:
    """What is kept of this enrolment lies under the server's present key afterwards, as the slot does that was opened by it."""
    with shards.at(unlocked.using):
        _renew(identifier, envelope, unlocked.public_key)


def _renew(identifier: str, envelope: Envelope, public_key: api.PublicKey) -> None:
    if not inner_door.may_seal():
        return
    places = by_guardians.places(identifier, peppers=conf.mac_keys())
    for place, sealed in store.find(places[1:], using=registry.database()):
        opened = by_guardians.open_sealed(sealed, place=place, peppers=conf.mac_keys())
        if opened is not None and opened[1] == bytes(envelope):
            (tag,) = by_guardians.tags(public_key, peppers=[inner_door.sealing_key()])
            new = by_guardians.seal(*opened, place=places[0], pepper=inner_door.sealing_key())
            store.move(place, places[0], tag, new, former=sealed, using=registry.database())


def fits(envelope: Envelope, roster: Roster) -> bool:
    """Whether an envelope is for as many guardians as these."""
    return (envelope.head.count, envelope.head.threshold) == (roster.count, roster.threshold)


def _give_up(public_key: api.PublicKey, *, but: bytes = b"", using: str) -> list[Note]:
    """In the caller's transaction: nothing is kept of a key any more, and guardians are to forget it."""
    former = [envelope for _, envelope in kept_for(public_key) if envelope.head.enrolment != but]
    store.remove(_tags(public_key), using=using)
    return leftovers.give_up(former, using=using)


def _keeps(public_key: api.PublicKey, note: Note) -> bool:
    return any(envelope.head.enrolment == note.enrolment for _, envelope in kept_for(public_key))


def _abandon(site: Site, begun: Sequence[Note], *, using: str) -> None:
    for note in begun:
        leftovers.forget(site, leftovers.abandon(note, using=using), using=using)


def _forget_later(notes: Sequence[Note], using: str) -> None:
    leftovers.forget(configured(), notes, using=using)


def _deaf(answers: Mapping[int, Mapping[str, object] | CustodyError]) -> dict[int, str]:
    return {number: str(answer) for number, answer in answers.items() if isinstance(answer, CustodyError)}
