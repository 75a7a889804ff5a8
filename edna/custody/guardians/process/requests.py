"""What people ask of one guardian: who may ask, how often, and who gets in whose way.

Keeps: whoever has copied an envelope may ask, and that costs its owner nothing but messages. Requests are limited where they are answered,
and those that a code has confirmed to be the owner's apart from the others, which they displace. Of the others few are kept, and the
owner is told of few. When those are many, a code in the last message confirms any one request, so the owner gets through. Does not know:
shares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from edna.crypto.keys import fingerprint
from edna.custody.guardians.process.policies import CounterCode, Policy, Request
from edna.custody.guardians.process.store import Enrolment, Store, Ticket
from edna.custody.guardians.tickets import is_veto, name_of, ticket_of
from edna.errors import GuardianRefused, TicketRefused

_DAY_SECONDS: Final = 86_400
_VETOED: Final = "vetoed"


@dataclass(frozen=True, slots=True)
class Limits:
    """How often somebody may ask about one enrolment. `requests_a_day` are answered of each kind: confirmed by a code, and others."""

    requests_a_day: int = 3
    uses_of_a_ticket: int = 3
    ticket_days: int = 7
    #: Of how many requests the owner is told in a day.
    told_a_day: int = 8
    #: How many unconfirmed requests are kept.
    unconfirmed: int = 20


def note(store: Store, what: str, about: bytes, *, at: int) -> None:
    """Write into the audit log, by an id."""
    store.note(what, about=about.hex()[:16], at=at)


class Requests:
    """The requests at one guardian. ``clock()`` gives whole seconds since the epoch; `site` is what people call the site."""

    def __init__(
        self, store: Store, policy: Policy, *, clock: Callable[[], int], site: str = "", limits: Limits | None = None
    ) -> None:
        self._store, self._policy, self._clock, self._site = store, policy, clock, site
        self._limits = limits or Limits()

    def open(self, enrolment: bytes, token: bytes) -> None:
        """Somebody asks for help, and will show `token`. The owner is told.

        Raises: GuardianRefused if nothing is kept for that enrolment; TicketRefused within a day of a veto.
        """
        now, id_ = self._clock(), ticket_of(token)
        kept = self.enrolment(enrolment)
        with self._store.transaction():
            if self._policy.ends:
                self._store.forget_tickets(before=now - max(self._limits.ticket_days, 1) * _DAY_SECONDS)
            opened = self._store.ticket(id_)
            if opened is not None and "told" in opened.notes:
                return
            if kept.vetoed > now - _DAY_SECONDS:
                self._note("ticket refused", enrolment)
                left = kept.vetoed + _DAY_SECONDS - now
                raise TicketRefused("The owner has vetoed; no requests are taken for a day.", retry_after_seconds=left)
            # First on the disk, then told: whoever is told can find it.
            self._store.put_ticket(Ticket(id_, enrolment, now))
            self._make_room(enrolment, id_)
            self._note("ticket opened", id_)
            is_told, is_buried = self._to_tell(enrolment, now)
        request = self._request(Ticket(id_, enrolment, now), kept)
        try:
            notes = self._policy.opened(request) if is_told else {}
            buried = self._policy.buried(request) if is_buried else {}
        except BaseException:
            # Nobody was told: no time begins to run.
            with self._store.transaction():
                self._store.remove_ticket(id_)
                self._untell(enrolment, now, is_told=is_told, is_buried=is_buried)
                self._note("owner not told", enrolment)
            raise
        with self._store.transaction():
            self._noted(id_, {**notes, "told": now})
            if "code" in buried:
                self._add_code(enrolment, {"code": buried["code"], "until": now + _DAY_SECONDS})

    def confirm(self, token: bytes, code: str, *, enrolment: bytes | None = None) -> None:
        """By the code that the policy has given out. With `enrolment`, a request that others have displaced is made again.

        Raises: TicketRefused if the policy does not take this code.
        """
        now = self._clock()
        if enrolment is not None and self._store.ticket(ticket_of(token)) is None:
            self.open(enrolment, token)
        with self._store.transaction():
            ticket = self._ticket(token)
            wrong = int(ticket.notes.get("wrong", 0))
            if wrong >= self._limits.uses_of_a_ticket:
                raise TicketRefused("Too many wrong codes: open another ticket.")
            self._noted(ticket.ticket, {"wrong": wrong + 1})
            kept, codes = self.enrolment(ticket.enrolment), self._codes(ticket.enrolment, now)
        name = name_of(ticket.ticket)
        usable = [each for each in codes if each.get("for", name) == name]
        notes, used = self._confirmed(ticket, kept, code, usable)
        with self._store.transaction():
            if used is not None:
                # Good for one.
                self._put(ticket.enrolment, codes=[each for each in codes if each != used])
            self._noted(ticket.ticket, notes)
            for other in self._unconfirmed(ticket.enrolment):
                if other.state != _VETOED:
                    self._store.remove_ticket(other.ticket)
            self._note("ticket confirmed", ticket.ticket)

    def state(self, token: bytes) -> Mapping[str, Any]:
        """Whether this guardian helps with that ticket now, or waits for a code, or for time to pass.

        Raises: TicketRefused if there is no such ticket, or a veto.
        """
        ticket = self._ticket(token)
        request, left = self._request(ticket, self.enrolment(ticket.enrolment)), None
        helps = "told" in ticket.notes
        try:
            self._policy.check(request, now=self._clock())
        except TicketRefused as error:
            helps, left = False, error.retry_after_seconds
        return {
            "for_code": self._policy.waits_for_code(request),
            "helps": helps,
            "retry_after_seconds": left,
            "confirmed": bool(ticket.notes.get("confirmed")),
        }

    def issue_code(self, name: str, *, contact: str) -> str:
        """A code for whoever has shown at the counter who they are: of the ticket that they name, if it is about that contact.

        Raises: TicketRefused if there is no such ticket, it is somebody else's, or this guardian has another policy.
        """
        if not isinstance(self._policy, CounterCode):
            raise TicketRefused("This guardian gives out no codes at a counter.")
        code, notes = self._policy.issued()
        now = self._clock()
        with self._store.transaction():
            found = self._store.open_tickets(since=now - _DAY_SECONDS * self._limits.ticket_days)
            tickets = [each for each in found if name_of(each.ticket) == name]
            if not tickets and self._is_crowded(contact):
                # Others have displaced it; it is made again when the code is given.
                for enrolment in self._store.enrolments_of(contact):
                    self._add_code(enrolment, {**notes, "for": name, "until": now + _DAY_SECONDS})
                    self._note("code issued", enrolment)
                return code
            if len(tickets) != 1 or tickets[0].state == _VETOED:
                raise TicketRefused("There is no open request of that name.")
            (ticket,) = tickets
            # Who stands there may have a ticket for somebody else's envelope.
            is_theirs = self.enrolment(ticket.enrolment).contact.casefold() == contact.strip().casefold()
            if is_theirs:
                self._noted(ticket.ticket, notes)
            self._note("code issued" if is_theirs else "code refused", ticket.ticket)
        if not is_theirs:
            raise TicketRefused("That request is about somebody else: check who is at the counter.")
        return code

    def veto(self, enrolment: bytes, veto: bytes, *, number: int) -> int:
        """The owner refuses all tickets that are open, and others for a day. Returns how many there were.

        Raises: TicketRefused if this is not what vetoes.
        """
        if not is_veto(veto, self.enrolment(enrolment).vetoes, number=number):
            raise TicketRefused("Only the owner can veto: this is not their word.")
        with self._store.transaction():
            tickets = self._store.tickets(enrolment, since=0)
            for ticket in tickets:
                self._store.put_ticket(replace(ticket, state=_VETOED))
            self._put(enrolment, codes=[])
            self._store.note_veto(enrolment, at=self._clock())
            self._note("vetoed", enrolment)
        return len(tickets)

    def use(self, token: bytes, point: bytes) -> bytes:
        """Count a question, which is to be answered now; the same again is none. Returns of which enrolment it is.

        Raises: TicketRefused if the policy does not allow it yet, the ticket is used up, or enough was answered today.
        """
        ticket = self._ticket(token)
        if "told" not in ticket.notes:
            raise TicketRefused("The owner was not told of this request yet: ask again.")
        self._policy.check(self._request(ticket, self.enrolment(ticket.enrolment)), now=self._clock())
        with self._store.transaction():
            ticket = self._ticket(token)
            asked = fingerprint(point, purpose=b"edna.guard.ask.1", size=16).hex()
            if asked not in ticket.notes.get("asked", ()):
                if ticket.used >= self._limits.uses_of_a_ticket:
                    raise TicketRefused("This ticket is used up: open another.")
                if ticket.used == 0:
                    self._admit(ticket)
                # Counted before it is answered: a kill in between is no further guess.
                notes = {**ticket.notes, "asked": [*ticket.notes.get("asked", ()), asked]}
                self._store.put_ticket(replace(ticket, used=ticket.used + 1, notes=notes))
            self._note("evaluated", ticket.ticket)
        return ticket.enrolment

    def enrolment(self, enrolment: bytes) -> Enrolment:
        """
        Raises: GuardianRefused if nothing is kept for it.
        """
        kept = self._store.enrolment(enrolment)
        if kept is None:
            raise GuardianRefused("This guardian knows no such enrolment.")
        return kept

    # --- parts ---

    def _to_tell(self, enrolment: bytes, now: int) -> tuple[bool, bool]:
        """Whether the owner is told of a new request, and whether they are told that there are too many to be told of each."""
        told, buried = self._today(enrolment, "told", now), self._today(enrolment, "buried", now)
        is_told = len(told) < self._limits.told_a_day
        is_last = len(told) == self._limits.told_a_day - 1
        is_code_used = bool(buried) and not self._codes(enrolment, now)
        is_buried = is_last or (
            not is_told and (not buried or (is_code_used and len(buried) < self._limits.told_a_day))
        )
        self._put(enrolment, told=[*told, now] if is_told else told, buried=[*buried, now] if is_buried else buried)
        return is_told, is_buried

    def _untell(self, enrolment: bytes, now: int, *, is_told: bool, is_buried: bool) -> None:
        for name in ("told",) * is_told + ("buried",) * is_buried:
            times = self._today(enrolment, name, now)
            if now in times:
                times.remove(now)
            self._put(enrolment, **{name: times})

    def _today(self, enrolment: bytes, name: str, now: int) -> list[int]:
        return [at for at in self._store.notes(enrolment).get(name, ()) if at > now - _DAY_SECONDS]

    def _admit(self, ticket: Ticket) -> None:
        now, kind = self._clock(), "answered" if ticket.notes.get("confirmed") else "answered unconfirmed"
        times = self._today(ticket.enrolment, kind, now)
        if len(times) >= self._limits.requests_a_day:
            self._note("too many answered", ticket.ticket)
            left = times[0] + _DAY_SECONDS - now
            raise TicketRefused("This guardian has answered enough requests today.", retry_after_seconds=left)
        self._put(ticket.enrolment, **{kind: [*times, now]})

    def _make_room(self, enrolment: bytes, newest: bytes) -> None:
        others = [each for each in self._unconfirmed(enrolment) if each.ticket != newest]
        for each in others[: max(len(others) + 1 - self._limits.unconfirmed, 0)]:
            self._store.remove_ticket(each.ticket)

    def _unconfirmed(self, enrolment: bytes) -> Sequence[Ticket]:
        """The oldest first."""
        return [each for each in self._store.tickets(enrolment, since=0) if not each.notes.get("confirmed")]

    def _is_crowded(self, contact: str) -> bool:
        found = self._store.enrolments_of(contact)
        return any(len(self._unconfirmed(enrolment)) >= self._limits.unconfirmed for enrolment in found)

    def _confirmed(
        self, ticket: Ticket, kept: Enrolment, code: str, codes: Sequence[Mapping[str, Any]]
    ) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
        """What the policy notes, and which code of the enrolment it was, if it was one of these."""
        try:
            return self._policy.confirmed(self._request(ticket, kept), code), None
        except TicketRefused:
            for each in codes:
                notes = {**ticket.notes, "code": each["code"]}
                try:
                    return self._policy.confirmed(self._request(replace(ticket, notes=notes), kept), code), each
                except TicketRefused:
                    continue
            raise

    def _codes(self, enrolment: bytes, now: int) -> list[Mapping[str, Any]]:
        return [each for each in self._store.notes(enrolment).get("codes", ()) if each["until"] > now]

    def _add_code(self, enrolment: bytes, code: Mapping[str, Any]) -> None:
        self._put(enrolment, codes=[*self._codes(enrolment, self._clock()), code])

    def _put(self, enrolment: bytes, **notes: Any) -> None:
        self._store.put_notes(enrolment, {**self._store.notes(enrolment), **notes})

    def _ticket(self, token: bytes) -> Ticket:
        ticket = self._store.ticket(ticket_of(token))
        is_over = ticket is not None and ticket.opened < self._clock() - self._limits.ticket_days * _DAY_SECONDS
        if ticket is None or (is_over and self._policy.ends):
            raise TicketRefused("There is no such ticket, or it is over: open another.")
        if ticket.state == _VETOED:
            raise TicketRefused("The owner has vetoed this.")
        return ticket

    def _noted(self, ticket: bytes, notes: Mapping[str, Any]) -> None:
        kept = self._store.ticket(ticket)
        if kept is not None:
            self._store.put_ticket(replace(kept, notes={**kept.notes, **notes}))

    def _request(self, ticket: Ticket, kept: Enrolment) -> Request:
        account = f" of the account {kept.account}" if kept.account else ""
        site = f" at {self._site}" if self._site else ""
        # Time runs from when the owner was told.
        return Request(
            name_of(ticket.ticket),
            kept.contact,
            ticket.notes.get("told", ticket.opened),
            ticket.notes,
            f"your key{account}{site}",
        )

    def _note(self, what: str, about: bytes) -> None:
        note(self._store, what, about, at=self._clock())
