"""Cases of misconduct: who wrote a review whose writer has left, or has been made anonymous? Two chairs read it, together.

Each chair has a key of their own for this. Once they have made them, whoever leaves is told, and disguises keep a copy for two of them
(`disguises`); before, and without, nobody but the person can tell. A case is what chairs have asked about one review for one reason; each
chair who is to read asks for themselves, so each reading is one of its own in the audit trail and for the person.

Keeps: of what is opened only the person is handed out, and nothing else that was taken away. Does not know pages.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django.apps import apps

import edna
from edna import audiences

from . import keys
from .models import ContactInfo, PaperReview
from .policy import NOWHERE
from .reviews import letter

AUDIENCE: Final = "chairs"
TOGETHER: Final = 2
_ACCOUNT: Final = "hotcrp_sim.contactinfo"


def are_set_up() -> bool:
    """Whether the chairs have made their keys."""
    return apps.is_installed("edna.audiences") and audiences.is_there(AUDIENCE)


def is_held() -> bool:
    """Whether enough chairs with keys are left, so that two of them can read what goes now."""
    return apps.is_installed("edna.audiences") and audiences.is_usable(AUDIENCE, together=TOGETHER)


def removing() -> str:
    """The disguise by which people leave now."""
    return keys.REMOVE + (keys.HELD if is_held() else "")


def anonymising() -> str:
    return keys.ANONYMISE + (keys.HELD if is_held() else "")


# The chairs who hold keys


def begin_or_add(secret_key: str, cards: dict[str, str], *, called: str) -> None:
    """Make the audience, or take those in who are new; ``cards`` are of the others, by what they are called.

    Raises: AudienceRefused, NotInAudience, KeyMalformed, ConfigurationError.
    """
    if not are_set_up():
        own = audiences.card_of(secret_key)
        audiences.create(AUDIENCE, secret_key, {**cards, called: own}, together=TOGETHER)
        return
    there = {person.name for person in audiences.members(AUDIENCE)}
    for name, card in cards.items():
        if name in there:
            raise edna.errors.AudienceRefused(f"Another chair with a key is called {name}. Nothing was changed.")
        audiences.join(AUDIENCE, secret_key, name, card)


def hand_on(secret_key: str) -> bool:
    """Whether enough chairs have: then those who came later can read, too."""
    return audiences.hand_on(AUDIENCE, secret_key, together=TOGETHER)


def chairs() -> list[audiences.Person]:
    return audiences.members(AUDIENCE) if are_set_up() else []


# Cases


@dataclass(frozen=True)
class Case:
    """``agreed`` are the chairs who have done their part for somebody else; ``asking`` those who have asked, and may read."""

    number: int
    review: str
    reason: str
    opened_on: datetime.date
    reference: str
    requests: tuple[audiences.Request, ...]

    @property
    def asking(self) -> list[str]:
        return [request.asked_by for request in self.requests]

    @property
    def is_ready(self) -> bool:
        return len(self.requests) >= TOGETHER

    @property
    def readings(self) -> int:
        return sum(request.uses for request in self.requests)


@dataclass(frozen=True)
class Writer:
    """All that is told of what was opened. ``further`` is whom to ask about next, where a name was given up in two steps."""

    name: str = ""
    email: str = ""
    affiliation: str = ""
    further: str = ""


def every() -> list[Case]:
    """The newest first."""
    together: dict[tuple[str, str], list[audiences.Request]] = {}
    for request in audiences.requests(AUDIENCE) if are_set_up() else ():
        together.setdefault((request.reference, request.reason), []).append(request)
    called = _called({reference for reference, _ in together})
    found = [
        Case(
            min(request.id for request in requests),
            called.get(reference, "the step before"),
            reason,
            min(request.asked_on for request in requests),
            reference,
            tuple(requests),
        )
        for (reference, reason), requests in together.items()
    ]
    return sorted(found, key=lambda case: (case.opened_on, case.number), reverse=True)


def _called(references: Iterable[str]) -> dict[str, str]:
    """Of whom a case is about, the review that is theirs, such as 12A: placeholders have one each."""
    reviews = PaperReview.objects.filter(contact__in=list(references), contact__is_guise=True)
    return {
        str(review.contact_id): f"{review.paper_id}{letter(review.review_ordinal)}"
        for review in reviews.only("contact", "paper", "review_ordinal")
    }


def open_case(review: PaperReview, secret_key: str, *, reason: str) -> None:
    """
    Raises: HeldCopyRefused, AudienceUnknown, NotInAudience, ShareRefused.
    """
    audiences.ask(AUDIENCE, secret_key, review.contact, reason=reason)


def agree(case: Case, secret_key: str) -> None:
    """Do one's part for all who have asked, and ask oneself, so that one can read, too.

    Raises: as `open_case`.
    """
    me = audiences.member(AUDIENCE, secret_key).name
    for request in case.requests:
        if request.asked_by != me:
            audiences.agree(request.id, secret_key)
    if me not in case.asking:
        audiences.ask(AUDIENCE, secret_key, ContactInfo(pk=case.reference), reason=case.reason)


def read(case: Case, secret_key: str) -> list[Writer]:
    """Who it was, for a chair who has agreed. Who asked first does their part for the others here.

    Raises: TooFewTogether: no other chair has agreed; HeldCopyRefused: this one has not. BagMissing: it was taken back meanwhile.
    """
    me = audiences.member(AUDIENCE, secret_key).name
    own = next((request for request in case.requests if request.asked_by == me), None)
    if own is None:
        raise edna.errors.HeldCopyRefused("Whoever reads has agreed before.")
    for request in case.requests:
        if request is not own and me not in request.agreed:
            audiences.agree(request.id, secret_key)
    found = {_writer(held): None for held in audiences.read(own.id, secret_key)}
    if named := [writer for writer in found if not writer.further]:
        return named
    known = {case.reference for case in every()}
    for writer in found:
        if writer.further not in known:
            audiences.ask(AUDIENCE, secret_key, ContactInfo(pk=writer.further), reason=case.reason)
    return list(found)


def _writer(held: audiences.HeldData) -> Writer:
    """The account's name and address as they were; those of today where this disguise has left them."""
    values: dict[str, object] = {}
    if there := ContactInfo.objects.filter(pk=held.reference).first():
        values |= vars(there)
    for model, _, taken in held.rows:
        if model == _ACCOUNT and str(taken.get("contact_id")) == held.reference:
            values |= taken
    email = _text(values.get("email"))
    if not email or email.endswith(NOWHERE):
        return Writer(further=held.reference)
    name = " ".join(_text(values.get(part)) for part in ("first_name", "last_name")).strip()
    return Writer(name, email, _text(values.get("affiliation")))


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")


def uses(unlocked: edna.Unlocked) -> list[tuple[str, int, str, str]]:
    """What chairs have read of somebody: which audience, how many together, in which month, and why."""
    if not apps.is_installed("edna.audiences"):
        return []
    return [(use.audience, use.together, use.month, use.reason) for use in audiences.uses(unlocked)]
