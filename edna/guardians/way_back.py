"""The door of guardians: enrol somebody who has their key, and get it back for somebody who has nothing left.

Keeps: what guardians help to opens a slot of the key, not the key itself; what is stored of it here is sealed. What somebody asks is asked
with a code that they keep, and nothing of a request is stored. Does not know: pages.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from edna import api, conf, inner_door, registry, throttle
from edna.custody import by_guardians
from edna.custody.guardians import quorum
from edna.custody.guardians.envelope import Envelope, size_of
from edna.custody.guardians.roster import Roster, to_base64
from edna.errors import CustodyError, EnvelopeRefused, QuorumUnavailable, TicketRefused, WrongCredentials
from edna.guardians import store
from edna.guardians.site import Site, configured

KIND: Final = by_guardians.KIND
_MOST_SECONDS_TO_WAIT: Final = 3660 * 86_400
_NOBODY = "There is nothing here that guardians could help with: check the name. Nobody was asked."


@dataclass(frozen=True, slots=True)
class Answer:
    """What one guardian says of a request. `name` is what people call the guardian, `request` what both call the request there."""

    number: int
    name: str
    request: str
    helps: bool = False
    waits_for_code: bool = False
    waits_until: datetime.datetime | None = None
    is_refused: bool = False
    #: It cannot be reached, or keeps nothing of this person.
    is_away: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a request is: what each guardian says, and how many have to help."""

    answers: Sequence[Answer]
    needed: int

    @property
    def helping(self) -> int:
        return sum(answer.helps for answer in self.answers)

    @property
    def is_enough(self) -> bool:
        return self.helping >= self.needed


# Whoever has the key


def enroll(unlocked: api.Unlocked, *, identifier: str, contact: str, pin: str = "") -> Mapping[int, str]:
    """Have the site's guardians keep a way back, in the place of the one that there may be. ``identifier`` is what the person will type,
    ``contact`` where guardians reach them. Returns, by number, why guardians have no share yet: `edna_guardian refresh` gives it to them.

    Raises:
        QuorumUnavailable: fewer guardians than needed could be given a share. Nothing was changed.
        SecretKeyNeeded: the key did not leave its owner's browser.
        CapabilityClosed, ServerKeyUnknown, ConfigurationError
    """
    site, salt = configured(), by_guardians.new_salt()
    secret = by_guardians.secret_for(inner_door.secret_key_of(unlocked), salt=salt)
    (place,) = by_guardians.places(identifier, peppers=[inner_door.sealing_key()])
    (tag,) = by_guardians.tags(unlocked.public_key, peppers=[inner_door.sealing_key()])
    tags, former = _tags(unlocked.public_key), list[tuple[bytes, Envelope]]()
    enrolled = quorum.enrol(
        secret.expose(), roster=site.roster, transport=site.transport, contact=contact, account=identifier, pin=pin
    )
    sealed = by_guardians.seal(salt, bytes(enrolled.envelope), place=place, pepper=inner_door.sealing_key())

    def keep(using: str) -> None:
        # Once nobody else can enroll this key: each has the guardians forget what it replaces.
        former[:] = kept_for(unlocked.public_key)
        store.remove(tags, using=using)
        store.add(place, tag, sealed, using=using)

    try:
        inner_door.replace_slot(unlocked, secret, kind=KIND, beside=keep)
    except BaseException:
        _forget(site, [enrolled.envelope])
        raise
    _forget(site, [envelope for _, envelope in former])
    return enrolled.missing


def withdraw(unlocked: api.Unlocked) -> Mapping[int, str]:
    """Give up the way back by guardians, who forget it. Returns, by number, what those said who have not heard it: without the site,
    their shares open nothing.

    Raises:
        CapabilityClosed, ServerKeyUnknown, ConfigurationError
    """
    site, former = configured(), kept_for(unlocked.public_key)
    tags = _tags(unlocked.public_key)
    inner_door.remove_slot(unlocked, kind=KIND, beside=lambda using: store.remove(tags, using=using))
    return _forget(site, [envelope for _, envelope in former])


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
    former = kept_for(public_key)
    with transaction.atomic(using=registry.database()):
        inner_door.remove_slot_of(public_key, kind=KIND)
        store.remove(_tags(public_key), using=registry.database())
    return _forget(site, [envelope for _, envelope in former])


def forget_key(public_key: api.PublicKey, using: str) -> None:
    """What guardians help to opens nothing any more: drop it in the caller's transaction, and have them forget it after."""
    if not conf.has_guardians():
        return
    envelopes = [envelope for _, envelope in kept_for(public_key)]
    store.remove(_tags(public_key), using=using)
    if envelopes:
        transaction.on_commit(partial(_forget_later, envelopes), using=using, robust=True)


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
        EnvelopeRefused: it is none, or for other guardians.
        QuorumUnavailable, SlotRefused, PrincipalNotRegistered, ServerKeyUnknown
    """
    envelope = Envelope.parse(made.envelope)
    if not _fits(envelope, site.roster) or len(made.shares) != site.roster.count:
        raise EnvelopeRefused("This envelope was made for other guardians than the site's. Nothing was changed.")
    # Guardians obey the site: of an id that somebody else's envelope has, it would have them forget that one's shares.
    if envelope.head.enrolment != by_guardians.enrolment_for(public_key, salt=made.salt):
        raise EnvelopeRefused("This envelope was made for another key. Nothing was changed.")
    # The same length for all: a row tells nothing.
    if len(made.envelope) != size_of(by_guardians.SECRET_BYTES):
        raise EnvelopeRefused("This envelope does not hold what opens a slot. Nothing was changed.")
    (place,) = by_guardians.places(identifier, peppers=[inner_door.sealing_key()])
    (tag,) = by_guardians.tags(public_key, peppers=[inner_door.sealing_key()])
    sealed = by_guardians.seal(made.salt, made.envelope, place=place, pepper=inner_door.sealing_key())
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
    missing = _deaf(quorum.ask_each(site.transport, asked, "/enrol", ordered=True))
    try:
        if site.roster.count - len(missing) < site.roster.threshold:
            raise QuorumUnavailable(have=site.roster.count - len(missing), need=site.roster.threshold, wrong=missing)
        with transaction.atomic(using=registry.database()):
            inner_door.replace_slots(public_key, slots)
            # Once nobody else can enroll this key: each has the guardians forget what it replaces.
            former = kept_for(public_key)
            store.remove(_tags(public_key), using=registry.database())
            store.add(place, tag, sealed, using=registry.database())
    except BaseException:
        _forget(site, [envelope])
        raise
    # Sent twice, it is the same one.
    _forget(site, [each for _, each in former if each.head.enrolment != envelope.head.enrolment])
    return missing


def is_enrolled(principal: Model) -> bool:
    """Whether guardians keep a way back to this person's key."""
    public_key = inner_door.public_key_of(principal)
    if public_key is None:
        return False
    return store.exists(_tags(public_key), using=registry.database())


# Whoever has nothing left


def ask(identifier: str) -> tuple[api.RecoveryCode, Progress]:
    """Ask the guardians for help. Each tells the owner. Returns the code of the request, which nobody else has, and what they say.

    Raises:
        WrongCredentials: nobody of that name has guardians here.
        ConfigurationError
    """
    code = api.RecoveryCode.new()
    site = configured()
    recoveries = _recoveries(site, identifier, code)
    for recovery in recoveries:
        recovery.open()
    return code, _progress(site, recoveries)


def look(identifier: str, code: api.RecoveryCode | str) -> Progress:
    """What the guardians say of a request now.

    Raises:
        WrongCredentials, RecoveryCodeMalformed, ConfigurationError
    """
    site = configured()
    return _progress(site, _recoveries(site, identifier, code))


def confirm(identifier: str, code: api.RecoveryCode | str, number: int, said: str) -> None:
    """Give a guardian the code that it has asked for.

    Raises:
        TicketRefused: it is not the right one.
        GuardianRefused, WrongCredentials, RecoveryCodeMalformed, ConfigurationError
    """
    error: CustodyError | None = None
    for recovery in _recoveries(configured(), identifier, code):
        try:
            recovery.confirm(number, said)
        except CustodyError as refusal:
            error = refusal
        else:
            return
    if error is not None:
        raise error


def recover(identifier: str, code: api.RecoveryCode | str, *, pin: str = "") -> api.Unlocked:
    """Open the key with the help of those guardians who have agreed.

    Raises:
        QuorumUnavailable: not enough of them help yet.
        EnvelopeRefused: it is another PIN.
        WrongCredentials: nobody of that name has guardians here; or they were enrolled for a key that was replaced.
        RecoveryCodeMalformed, ServerKeyUnknown, ConfigurationError
    """
    refusals: list[CustodyError] = []
    for recovery in _recoveries(configured(), identifier, code):
        try:
            return inner_door.unlock_slot(inner_door.SlotSecret(recovery.finish(pin=pin)), kind=KIND)
        except (QuorumUnavailable, EnvelopeRefused, WrongCredentials) as refusal:
            refusals.append(refusal)
    # Who has a name that somebody else had before is told about their own: that for which guardians have done most.
    raise next((each for each in refusals if isinstance(each, EnvelopeRefused)), refusals[0])


# Parts


def _tags(public_key: api.PublicKey) -> list[bytes]:
    return by_guardians.tags(public_key, peppers=conf.mac_keys())


def kept_for(public_key: api.PublicKey) -> list[tuple[bytes, Envelope]]:
    """Salt and envelope of a key."""
    throttle.admit()
    return _opened(store.find_by_tag(_tags(public_key), using=registry.database()))


def envelopes_at(identifier: str) -> list[Envelope]:
    """Of whoever uses that identifier, or did."""
    throttle.admit()
    places = by_guardians.places(identifier, peppers=conf.mac_keys())
    return [envelope for _, envelope in _opened(store.find(places, using=registry.database()))]


def _opened(rows: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, Envelope]]:
    """Salt and envelope of each that is sound."""
    opened = [by_guardians.open_sealed(sealed, place=place, peppers=conf.mac_keys()) for place, sealed in rows]
    return [(salt, Envelope.parse(raw)) for salt, raw in filter(None, opened)]


def _recoveries(site: Site, identifier: str, code: api.RecoveryCode | str) -> list[quorum.Recovery]:
    request = api.RecoveryCode.of(code)
    envelopes = envelopes_at(identifier)
    if not envelopes:
        raise WrongCredentials(_NOBODY)
    # One that is for former guardians is in nobody's way who has others.
    envelopes = [each for each in envelopes if _fits(each, site.roster)] or envelopes
    return [
        quorum.Recovery(
            envelope,
            roster=site.roster,
            transport=site.transport,
            secret=by_guardians.request_secret(request, envelope=bytes(envelope)),
        )
        for envelope in envelopes
    ]


def _progress(site: Site, recoveries: Sequence[quorum.Recovery]) -> Progress:
    found = [
        [_answer(site, recovery, number, said) for number, said in recovery.states().items()] for recovery in recoveries
    ]
    most = max(found, key=lambda answers: sum(answer.helps for answer in answers))
    return Progress(most, site.roster.threshold)


def _answer(site: Site, recovery: quorum.Recovery, number: int, said: Mapping[str, object] | CustodyError) -> Answer:
    name, request = site.names.get(number, ""), recovery.name(number)
    if isinstance(said, CustodyError):
        is_refused = isinstance(said, TicketRefused)
        return Answer(number, name, request, is_refused=is_refused, is_away=not is_refused)
    left = said.get("retry_after_seconds")
    # What a guardian says of itself, and may be beyond all calendars.
    until = None
    if type(left) is int and 0 <= left <= _MOST_SECONDS_TO_WAIT:
        until = timezone.now() + datetime.timedelta(seconds=left)
    return Answer(number, name, request, said.get("helps") is True, said.get("for_code") is True, until)


def _forget(site: Site, envelopes: Sequence[Envelope]) -> Mapping[int, str]:
    """Have the guardians destroy their shares. What those said who have not heard it."""
    deaf: dict[int, str] = {}
    for envelope in envelopes:
        said = {"enrolment": to_base64(envelope.head.enrolment)}
        asked = {member.number: said for member in site.roster.members}
        deaf |= _deaf(quorum.ask_each(site.transport, asked, "/forget", ordered=True))
    return deaf


def _forget_later(envelopes: Sequence[Envelope]) -> None:
    _forget(configured(), envelopes)


def _deaf(answers: Mapping[int, Mapping[str, object] | CustodyError]) -> dict[int, str]:
    return {number: str(answer) for number, answer in answers.items() if isinstance(answer, CustodyError)}


def _fits(envelope: Envelope, roster: Roster) -> bool:
    return (envelope.head.count, envelope.head.threshold) == (roster.count, roster.threshold)
