"""One guardian: what it answers to whom. It keeps shares, helps whoever its own policy lets, and never sees what it helps to.

Keeps: each enrolment has shares of its own, so that a ticket for one cannot ask for another, blinded as the question
is. Everything is in the audit log, by ids. Does not know: sockets (`server`), who may ask how often (`requests`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from edna.crypto.keys import SecretKey
from edna.crypto.sealing import open_small
from edna.custody.guardians.evaluation import Partial, Place, evaluate
from edna.custody.guardians.group import Point, point_of, scalar_of
from edna.custody.guardians.process.policies import Policy
from edna.custody.guardians.process.requests import Limits, Requests, note
from edna.custody.guardians.process.store import Enrolment, Store
from edna.custody.guardians.refresh import Deal, Receiver, Taken, taken
from edna.custody.guardians.repair import Mask, Sum, repaired
from edna.custody.guardians.roster import Identity, Roster
from edna.custody.guardians.sharing import Share, check_share
from edna.errors import GuardianRefused, WrongKey

#: Keys of rounds that are kept in memory.
_MOST_ROUNDS: Final = 16


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
        self._store, self._clock = store, clock
        self.requests = Requests(store, policy, clock=clock, site=roster.site, limits=limits)
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
        """
        Raises: as `Requests.open`.
        """
        self.requests.open(enrolment, token)

    def confirm(self, token: bytes, code: str, *, enrolment: bytes | None = None) -> None:
        """
        Raises: as `Requests.confirm`.
        """
        self.requests.confirm(token, code, enrolment=enrolment)

    def state(self, token: bytes) -> Mapping[str, Any]:
        """
        Raises: as `Requests.state`.
        """
        return self.requests.state(token)

    def issue_code(self, name: str, *, contact: str) -> str:
        """
        Raises: as `Requests.issue_code`.
        """
        return self.requests.issue_code(name, contact=contact)

    def veto(self, enrolment: bytes, veto: bytes) -> int:
        """
        Raises: as `Requests.veto`.
        """
        return self.requests.veto(enrolment, veto, number=self.number)

    def evaluate(self, token: bytes, point: bytes) -> list[Partial]:
        """This guardian's part for a blinded point: one for the present share, and one for that of a refresh under way.

        Raises: TicketRefused if the policy does not allow it yet, or the ticket is used up; GuardianRefused if it is no point.
        """
        enrolment = self.requests.use(token, point_of(point))
        return [
            evaluate(
                each.share,
                place=Place(each.enrolment, each.epoch, self.number),
                point=point,
                commitments=each.commitments,
            )
            for each in self._store.shares(enrolment)
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
        return self.requests.enrolment(enrolment)

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

    def _note(self, what: str, about: bytes) -> None:
        note(self._store, what, about, at=self._clock())
