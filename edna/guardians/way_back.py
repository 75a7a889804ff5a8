"""The way back: guardians get a key back for somebody who has nothing left.

Keeps: what somebody asks is asked with a code that they keep, and nothing of a request is stored. Does not know: pages,
nor how somebody was enrolled (`enrolments`).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils import timezone

from edna import api, inner_door
from edna.custody import by_guardians
from edna.custody.guardians import quorum
from edna.errors import CustodyError, EnvelopeRefused, QuorumUnavailable, TicketRefused, WrongCredentials
from edna.guardians.enrolments import KIND, envelopes_at, fits, renew
from edna.guardians.site import Site, configured

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
    for recovery in _most_likely_first(_recoveries(configured(), identifier, code)):
        try:
            unlocked = inner_door.unlock_slot(inner_door.SlotSecret(recovery.finish(pin=pin)), kind=KIND)
            renew(identifier, recovery.envelope, unlocked)
            return unlocked
        except (QuorumUnavailable, EnvelopeRefused, WrongCredentials) as refusal:
            refusals.append(refusal)
    # Who has a name that somebody else had before is told about their own: that for which guardians have done most.
    raise next((each for each in refusals if isinstance(each, EnvelopeRefused)), refusals[0])


def _recoveries(site: Site, identifier: str, code: api.RecoveryCode | str) -> list[quorum.Recovery]:
    request = api.RecoveryCode.of(code)
    envelopes = envelopes_at(identifier)
    if not envelopes:
        raise WrongCredentials(_NOBODY)
    # One that is for former guardians is in nobody's way who has others.
    envelopes = [each for each in envelopes if fits(each, site.roster)] or envelopes
    return [
        quorum.Recovery(
            envelope,
            roster=site.roster,
            transport=site.transport,
            secret=by_guardians.request_secret(request, envelope=bytes(envelope)),
        )
        for envelope in envelopes
    ]


def _most_likely_first(recoveries: list[quorum.Recovery]) -> list[quorum.Recovery]:
    """Of a name that several have had: that first whose owner has given guardians a code, as they alone could; then by how many help."""
    if len(recoveries) < 2:
        return recoveries

    def help_for(recovery: quorum.Recovery) -> tuple[int, int]:
        said = [each for each in recovery.states().values() if not isinstance(each, CustodyError)]
        return sum(each.get("confirmed") is True for each in said), sum(each.get("helps") is True for each in said)

    return sorted(recoveries, key=help_for, reverse=True)


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
