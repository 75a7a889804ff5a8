"""One guardian: what it answers to whom. It keeps shares, helps whoever its own policy lets, and never sees what it helps to.

Keeps: each enrolment has shares of its own, so that a ticket for one cannot ask for another, blinded as the question
is. Whoever has a ticket may
ask a few times, so that a PIN is guessed no more often. Everything is in the audit log, by ids. Does not know: sockets (`server`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from edna.crypto.keys import SecretKey, fingerprint
from edna.crypto.sealing import open_small
from edna.custody.guardians.evaluation import Partial, Place, evaluate
from edna.custody.guardians.group import Point, scalar_of
from edna.custody.guardians.process.policies import CounterCode, Policy, Request
from edna.custody.guardians.process.store import Enrolment, Store, Ticket
from edna.custody.guardians.refresh import Deal, Receiver, Taken, taken
from edna.custody.guardians.repair import Mask, Sum, repaired
from edna.custody.guardians.roster import Identity, Roster
from edna.custody.guardians.sharing import Share, check_share
from edna.custody.guardians.tickets import is_veto, name_of, ticket_of
from edna.errors import GuardianRefused, TicketRefused, WrongKey

_DAY_SECONDS: Final = 86_400
_VETOED: Final = "vetoed"
#: Keys of rounds that are kept in memory.
_MOST_ROUNDS: Final = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """How often somebody may ask."""

    tickets_a_day: int = 3
    uses_of_a_ticket: int = 3
    ticket_days: int = 7


class Guardian:
    """The one of `identity` in `roster`. ``clock()`` gives whole seconds since the epoch."""

    def __init__(
        self,
        *,
        identity: Identity,
        roster: Roster,
        store: Store,
        policy: Policy,
        clock: Callable[[], int],
        limits: Limits | None = None,
    ) -> None:
        if roster.member(identity.number).verify_key != bytes(identity.signing_key.verify_key):
            raise GuardianRefused(f"The roster names another key for guardian {identity.number}.")
        self.identity, self.roster, self.policy = identity, roster, policy
        self._store, self._clock, self._limits = store, clock, limits or Limits()
        #: Keys of rounds, in memory alone: a restart forgets them.
        self._rounds: dict[bytes, SecretKey] = {}
        self._lock = threading.Lock()

    @property
    def number(self) -> int:
        return self.identity.number

    # --- what the site orders ---

    def enrol(self, enrolment: Enrolment, *, sealed_share: bytes, commitments: Sequence[Point]) -> None:
        """Keep a share. Once more with the same is no mistake.

        Raises: GuardianRefused if the share does not fit, or another is there already.
        """
        try:
            share = scalar_of(open_small(sealed_share, secret_key=self.identity.secret_key))
        except WrongKey as error:
            raise GuardianRefused(f"This share is not sealed to guardian {self.number}.") from error
        if len(commitments) != self.roster.threshold:
            raise GuardianRefused("This enrolment is for another threshold than the roster's.")
        check_share(share, number=self.number, commitments=commitments)
        with self._store.transaction():
            if self._store.enrolment(enrolment.enrolment) is not None:
                if self._share(enrolment.enrolment).commitments[0] != commitments[0]:
                    raise GuardianRefused("Another share is kept for this enrolment.")
                return
            self._store.add_enrolment(enrolment)
            self._store.put_share(Share(enrolment.enrolment, 0, share, tuple(commitments)))
            self._note("enrolled", enrolment.enrolment)

    def forget(self, enrolment: bytes) -> None:
        """Destroy what is kept for an enrolment; nothing if there is nothing."""
        with self._store.transaction():
            self._store.remove_enrolment(enrolment)
            self._note("forgotten", enrolment)

    # --- what a person asks ---

    def open_ticket(self, enrolment: bytes, token: bytes) -> None:
        """Somebody asks for help, and will show `token`. The owner is told.

        Raises: GuardianRefused if nothing is kept for that enrolment; TicketRefused if there were too many, or a veto.
        """
        now, id_ = self._clock(), ticket_of(token)
        kept = self._store.enrolment(enrolment)
        if kept is None:
            raise GuardianRefused(f"Guardian {self.number} knows no such enrolment.")
        with self._store.transaction():
            self._store.forget_tickets(before=now - max(self._limits.ticket_days, 1) * _DAY_SECONDS)
            opened = self._store.ticket(id_)
            if opened is not None and "told" in opened.notes:
                return
            today = self._store.tickets(enrolment, since=now - _DAY_SECONDS + 1)
            is_vetoed = kept.vetoed > now - _DAY_SECONDS
            if len(today) >= self._limits.tickets_a_day or is_vetoed:
                self._note("ticket refused", enrolment)
                left = (kept.vetoed if is_vetoed else today[0].opened) + _DAY_SECONDS - now
                raise TicketRefused("There were too many tickets, or a veto; no more today.", retry_after_seconds=left)
            # First on the disk, then told: whoever is told can find it.
            self._store.put_ticket(Ticket(id_, enrolment, now))
            self._note("ticket opened", id_)
        try:
            notes = self.policy.opened(self._request(Ticket(id_, enrolment, now), kept))
        except BaseException:
            # Nobody was told: no time begins to run.
            with self._store.transaction():
                self._store.remove_ticket(id_)
                self._note("owner not told", enrolment)
            raise
        with self._store.transaction():
            self._noted(id_, {**notes, "told": now})

    def confirm(self, token: bytes, code: str) -> None:
        """
        Raises: TicketRefused if the policy does not take this code.
        """
        with self._store.transaction():
            ticket = self._ticket(token)
            wrong = int(ticket.notes.get("wrong", 0))
            if wrong >= self._limits.uses_of_a_ticket:
                raise TicketRefused("Too many wrong codes: open another ticket.")
            self._noted(ticket.ticket, {"wrong": wrong + 1})
        notes = self.policy.confirmed(self._request(ticket, self._enrolment(ticket.enrolment)), code)
        with self._store.transaction():
            self._noted(ticket.ticket, notes)
            self._note("ticket confirmed", ticket.ticket)

    def waits_for_code(self, token: bytes) -> bool:
        """
        Raises: TicketRefused if there is no such ticket.
        """
        ticket = self._ticket(token)
        return self.policy.waits_for_code(self._request(ticket, self._enrolment(ticket.enrolment)))

    def issue_code(self, name: str, *, contact: str) -> str:
        """A code for whoever has shown at the counter who they are: of the ticket that they name, if it is about that contact.

        Raises: TicketRefused if there is no such ticket, it is somebody else's, or this guardian has another policy.
        """
        if not isinstance(self.policy, CounterCode):
            raise TicketRefused("This guardian gives out no codes at a counter.")
        code, notes = self.policy.issued()
        since = self._clock() - _DAY_SECONDS * self._limits.ticket_days
        with self._store.transaction():
            tickets = [each for each in self._store.open_tickets(since=since) if name_of(each.ticket) == name]
            if len(tickets) != 1 or tickets[0].state == _VETOED:
                raise TicketRefused("There is no open request of that name.")
            (ticket,) = tickets
            # Who stands there may have a ticket for somebody else's envelope.
            is_theirs = self._enrolment(ticket.enrolment).contact.casefold() == contact.strip().casefold()
            if is_theirs:
                self._noted(ticket.ticket, notes)
            self._note("code issued" if is_theirs else "code refused", ticket.ticket)
        if not is_theirs:
            raise TicketRefused("That request is about somebody else: check who is at the counter.")
        return code

    def veto(self, enrolment: bytes, veto: bytes) -> int:
        """The owner refuses all tickets that are open, and others for a day. Returns how many there were.

        Raises: TicketRefused if this is not what vetoes.
        """
        kept = self._enrolment(enrolment)
        if not is_veto(veto, kept.vetoes, number=self.number):
            raise TicketRefused("Only the owner can veto: this is not their word.")
        with self._store.transaction():
            tickets = self._store.tickets(enrolment, since=0)
            for ticket in tickets:
                self._store.put_ticket(replace(ticket, state=_VETOED))
            self._store.note_veto(enrolment, at=self._clock())
            self._note("vetoed", enrolment)
        return len(tickets)

    def evaluate(self, token: bytes, point: bytes) -> list[Partial]:
        """This guardian's part for a blinded point: one for the present share, and one for that of a refresh under way.

        Raises: TicketRefused if the policy does not allow it yet, or the ticket is used up; GuardianRefused if it is no point.
        """
        ticket = self._ticket(token)
        if "told" not in ticket.notes:
            raise TicketRefused("The owner was not told of this request yet: ask again.")
        self.policy.check(self._request(ticket, self._enrolment(ticket.enrolment)), now=self._clock())
        with self._store.transaction():
            ticket = self._ticket(token)
            asked = fingerprint(point, purpose=b"edna.guard.ask.1", size=16).hex()
            if asked not in ticket.notes.get("asked", ()):
                if ticket.used >= self._limits.uses_of_a_ticket:
                    raise TicketRefused("This ticket is used up: open another.")
                # Counted before it is answered: a kill in between is no further guess. The same point again is none either.
                notes = {**ticket.notes, "asked": [*ticket.notes.get("asked", ()), asked]}
                self._store.put_ticket(replace(ticket, used=ticket.used + 1, notes=notes))
            self._note("evaluated", ticket.ticket)
            shares = self._store.shares(ticket.enrolment)
        return [
            evaluate(
                each.share,
                place=Place(each.enrolment, each.epoch, self.number),
                point=point,
                commitments=each.commitments,
            )
            for each in shares
        ]

    # --- refresh and repair, as the site orders ---

    def receive(self, round_: bytes) -> Receiver:
        """A key for one round, the same if asked twice."""
        with self._lock:
            while len(self._rounds) > _MOST_ROUNDS:
                del self._rounds[next(iter(self._rounds))]
            secret_key = self._rounds.setdefault(round_, SecretKey.generate())
        return Receiver.new(self.identity, round_=round_, public_key=secret_key.public_key)

    def deal(self, round_: bytes, enrolments: Sequence[bytes], receivers: Sequence[Receiver]) -> list[Deal]:
        """Shares of zero for each of these enrolments that this guardian knows.

        Raises: GuardianRefused if a key is not signed for this round.
        """
        self._check(receivers, round_)
        return [
            Deal.new(
                self.roster,
                self.identity,
                enrolment=share.enrolment,
                epoch=share.epoch,
                receivers=receivers,
            )
            for share in map(self._newest, enrolments)
            if share is not None
        ]

    def take(self, round_: bytes, deals: Sequence[Deal]) -> Taken:
        """Keep the next share of one enrolment beside the present one.

        Raises: GuardianRefused: a deal is wrong; another refresh is not decided yet; this guardian is behind.
        """
        secret_key = self._round(round_)
        if not deals:
            raise GuardianRefused("There are no deals.")
        enrolment, epoch = deals[0].enrolment, deals[0].epoch
        with self._store.transaction():
            shares = {each.epoch: each for each in self._store.shares(enrolment)}
            if epoch not in shares:
                raise GuardianRefused(f"Guardian {self.number} has no share of epoch {epoch}: it has to be repaired.")
            share = taken(shares[epoch], deals, roster=self.roster, number=self.number, secret_key=secret_key)
            undecided = shares.get(epoch + 1)
            # Never over another: enough others may have forgotten the former share for that one already.
            if undecided is not None and undecided.deals != share.deals:
                raise GuardianRefused(
                    f"Guardian {self.number} keeps what another refresh has dealt: finish or drop that first."
                )
            self._store.put_share(share)
        return Taken.new(self.identity, share)

    def taken(self, enrolment: bytes) -> tuple[Taken | None, bool]:
        """The receipt for the newest refresh, None before the first; and whether it is undecided yet."""
        shares = self._store.shares(enrolment)
        newest = shares[-1] if shares else None
        receipt = Taken.new(self.identity, newest) if newest is not None and newest.deals else None
        return receipt, len(shares) > 1

    def commit(self, receipts: Sequence[Taken]) -> bool:
        """Forget the former share, shown that enough others have the next one. Whether this guardian has it, too.

        Raises: GuardianRefused if these are not receipts of enough guardians for the same deals.
        """
        first = receipts[0] if receipts else None
        if first is None or len({each.number for each in receipts}) < self.roster.threshold:
            raise GuardianRefused(f"It takes receipts of {self.roster.threshold} guardians to forget a share.")
        for each in receipts:
            each.check(self.roster)
            if (each.enrolment, each.epoch, each.deals) != (first.enrolment, first.epoch, first.deals):
                raise GuardianRefused("These receipts are for different deals.")
        with self._store.transaction():
            ours = {each.epoch: each for each in self._store.shares(first.enrolment)}.get(first.epoch)
            if ours is None or ours.deals != first.deals:
                return False
            self._store.remove_shares_before(first.enrolment, first.epoch)
            self._note(f"refreshed to epoch {first.epoch}", first.enrolment)
        return True

    def drop(self, enrolment: bytes, *, epoch: int) -> None:
        """Drop the share of a refresh that too few have taken. Only where the former is still there.

        Raises: GuardianRefused if it is not.
        """
        with self._store.transaction():
            epochs = [each.epoch for each in self._store.shares(enrolment)]
            if epoch not in epochs:
                return
            if epoch - 1 not in epochs:
                raise GuardianRefused(
                    f"Guardian {self.number} has forgotten the former share: that refresh is decided."
                )
            self._store.remove_share(enrolment, epoch)

    def mask(self, round_: bytes, enrolment: bytes, *, epoch: int, repaired: int, helpers: Sequence[Receiver]) -> Mask:
        """Deal what hides the shares of the helpers of a repair.

        Raises: GuardianRefused if a key is not signed for this round, or this guardian has no such share.
        """
        self._check(helpers, round_)
        return Mask.new(self._share(enrolment, epoch), self.identity, repaired=repaired, helpers=helpers)

    def help_repair(self, round_: bytes, masks: Sequence[Mask], *, receiver: Receiver) -> Sum:
        """
        Raises: GuardianRefused: a mask is wrong, or for somebody else; too few of them; no such share.
        """
        self._check([receiver], round_)
        helpers = {each.helper for each in masks}
        if len(helpers) != len(masks) or len(masks) < self.roster.threshold or self.number not in helpers:
            raise GuardianRefused("A repair takes a mask of each helper, and enough of them.")
        place = {(each.enrolment, each.epoch, each.repaired) for each in masks}
        if len(place) != 1 or receiver.number in helpers or masks[0].repaired != receiver.number:
            raise GuardianRefused("These masks are not for that one repair.")
        for each in masks:
            each.check(self.roster)
        share = self._share(masks[0].enrolment, masks[0].epoch)
        self._note(f"helped guardian {receiver.number}", share.enrolment)
        return Sum.new(share, self.identity, masks, secret_key=self._round(round_), receiver=receiver)

    def repair(self, round_: bytes, masks: Sequence[Mask], sums: Sequence[Sum], *, enrolment: Enrolment) -> None:
        """Keep the share that others have helped to, in the place of what is there.

        Raises: GuardianRefused: they do not fit, or are not newer.
        """
        share = repaired(sums, masks, roster=self.roster, number=self.number, secret_key=self._round(round_))
        with self._store.transaction():
            known = self._store.enrolment(enrolment.enrolment)
            if share.enrolment != enrolment.enrolment:
                raise GuardianRefused("These are for another enrolment.")
            present = self._store.shares(enrolment.enrolment)
            if present and present[-1].epoch > share.epoch:
                raise GuardianRefused(f"Guardian {self.number} has a newer share.")
            if present and present[-1].commitments[0] != share.commitments[0]:
                raise GuardianRefused("These are shares of something else.")
            if known is None:
                self._store.add_enrolment(enrolment)
            self._store.put_share(share)
            self._store.remove_shares_before(share.enrolment, share.epoch)
            self._note(f"repaired to epoch {share.epoch}", share.enrolment)

    # --- what it knows ---

    def status(self) -> Mapping[str, Any]:
        """Numbers, for whoever operates it."""
        epochs = {str(epoch): count for epoch, count in sorted(self._store.epochs().items())}
        return {"number": self.number, "enrolments": self._store.count_enrolments(), "epochs": epochs}

    def enrolments(self, *, after: bytes, most: int) -> list[tuple[bytes, int]]:
        """A page of enrolments, each with the epoch of its newest share."""
        return [(id_, self._share(id_).epoch) for id_ in self._store.enrolments(after=after, most=most)]

    def known(self, enrolment: bytes) -> Enrolment:
        """
        Raises: GuardianRefused if nothing is kept for it.
        """
        return self._enrolment(enrolment)

    def audit(self, *, most: int = 100) -> Sequence[tuple[int, str, str]]:
        return self._store.audit(most=most)

    # --- parts ---

    def _check(self, receivers: Sequence[Receiver], round_: bytes) -> None:
        for each in receivers:
            each.check(self.roster, round_=round_)

    def _round(self, round_: bytes) -> SecretKey:
        with self._lock:
            found = self._rounds.get(round_)
        if found is None:
            raise GuardianRefused(f"Guardian {self.number} has no key for this round: it was started in between.")
        return found

    def _newest(self, enrolment: bytes) -> Share | None:
        shares = self._store.shares(enrolment)
        return shares[-1] if shares else None

    def _share(self, enrolment: bytes, epoch: int | None = None) -> Share:
        shares = [each for each in self._store.shares(enrolment) if epoch is None or each.epoch == epoch]
        if not shares:
            raise GuardianRefused(f"Guardian {self.number} has no such share.")
        return shares[-1]

    def _enrolment(self, enrolment: bytes) -> Enrolment:
        kept = self._store.enrolment(enrolment)
        if kept is None:
            raise GuardianRefused(f"Guardian {self.number} knows no such enrolment.")
        return kept

    def _ticket(self, token: bytes) -> Ticket:
        ticket = self._store.ticket(ticket_of(token))
        if ticket is None or ticket.opened < self._clock() - self._limits.ticket_days * _DAY_SECONDS:
            raise TicketRefused("There is no such ticket, or it is over: open another.")
        if ticket.state == _VETOED:
            raise TicketRefused("The owner has vetoed this.")
        return ticket

    def _noted(self, ticket: bytes, notes: Mapping[str, Any]) -> None:
        kept = self._store.ticket(ticket)
        if kept is not None:
            self._store.put_ticket(replace(kept, notes={**kept.notes, **notes}))

    def _request(self, ticket: Ticket, kept: Enrolment) -> Request:
        # Time runs from when the owner was told.
        return Request(name_of(ticket.ticket), kept.contact, ticket.notes.get("told", ticket.opened), ticket.notes)

    def _note(self, what: str, about: bytes) -> None:
        self._store.note(what, about=about.hex()[:16], at=self._clock())
