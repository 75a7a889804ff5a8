"""A sweep: new shares for all enrolments at all guardians, and a repair of whoever has missed one before. The site carries the messages.

Keeps: a sweep that ends anywhere, or is killed, loses nothing; the next one finishes what was begun. No former share is forgotten while
fewer guardians than could be have the next one, and none of them is to spare. Does not know: sockets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import nacl.utils

from edna.custody.guardians.quorum import Transport
from edna.custody.guardians.refresh import ROUND_BYTES, Deal, Receiver, Taken
from edna.custody.guardians.repair import Mask, Sum
from edna.custody.guardians.roster import Roster, from_base64, to_base64
from edna.errors import CustodyError, GuardianRefused, QuorumUnavailable

_PAGE: Final = 100


@dataclass(slots=True)
class Swept:
    """What a sweep has done: for how many enrolments, for which guardians it was repaired, and what went wrong at which."""

    refreshed: int = 0
    finished: int = 0
    repaired: Counter[int] = field(default_factory=Counter)
    wrong: dict[int, str] = field(default_factory=dict)
    left: list[bytes] = field(default_factory=list)


class Sweep:
    """One sweep over the guardians of a roster."""

    def __init__(self, *, roster: Roster, transport: Transport) -> None:
        self._roster, self._transport = roster, transport
        self._round = nacl.utils.random(ROUND_BYTES)
        self._receivers: dict[int, Receiver] = {}
        #: How many were up when it began.
        self._up = 0
        #: Who has said of somebody's deal that it is wrong.
        self._blamed: set[int] = set()
        self.swept = Swept()

    def run(self) -> Swept:
        """Refresh all enrolments.

        Raises: QuorumUnavailable if fewer guardians are up than are needed.
        """
        self._begin()
        for id_, epochs in self._enrolments():
            try:
                self._enrolment(id_, epochs)
            except (QuorumUnavailable, GuardianRefused):
                self.swept.left.append(id_)
        return self.swept

    def _begin(self) -> None:
        for member in self._roster.members:
            try:
                answer = self._ask(member.number, "/receive", {"round": to_base64(self._round)})
                receiver = Receiver.of_dict(answer)
                receiver.check(self._roster, round_=self._round)
                self._receivers[member.number] = receiver
            except CustodyError as error:
                self.swept.wrong[member.number] = str(error)
        self._up = len(self._receivers)
        if self._up < self._roster.threshold:
            raise QuorumUnavailable(have=self._up, need=self._roster.threshold, wrong=self.swept.wrong)

    def _enrolments(self) -> Iterator[tuple[bytes, Mapping[int, int]]]:
        """Each enrolment that any guardian knows, with the epoch of each one's newest share."""
        found: dict[bytes, dict[int, int]] = {}
        for number in list(self._receivers):
            after = b""
            try:
                while True:
                    page = self._ask(number, "/enrolments", {"after": to_base64(after), "most": _PAGE})["enrolments"]
                    for each in page:
                        after = from_base64(each["enrolment"])
                        found.setdefault(after, {})[number] = int(each["epoch"])
                    if len(page) < _PAGE:
                        break
            except (CustodyError, KeyError, TypeError, ValueError) as error:
                self._lost(number, error)
        yield from sorted(found.items())

    def _enrolment(self, id_: bytes, epochs: Mapping[int, int]) -> None:
        newest, fitting = self._finish(id_, {each: epoch for each, epoch in epochs.items() if each in self._receivers})
        present = [number for number in fitting if number in self._receivers]
        if len(present) < self._roster.threshold:
            raise QuorumUnavailable(have=len(present), need=self._roster.threshold, wrong=self.swept.wrong)
        for number in self._receivers:
            if number not in present:
                self._repair(id_, newest, number, helpers=present[: self._roster.threshold])
                present.append(number)
        self._refresh(id_, sorted(present))

    def _finish(self, id_: bytes, epochs: Mapping[int, int]) -> tuple[int, list[int]]:
        """Decide a refresh that was left undecided: finished if enough have taken it, dropped if nobody can have finished it.

        Returns the newest epoch, and who has a share of it that combines with those of most others.
        """
        newest, said = max(epochs.values()), {"enrolment": to_base64(id_)}
        told = {number: self._ask(number, "/taken", said) for number, epoch in epochs.items() if epoch == newest}
        receipts: dict[bytes, dict[int, Taken]] = {}
        for number, each in told.items():
            if each["taken"] is not None:
                receipt = Taken.of_dict(each["taken"])
                receipts.setdefault(receipt.deals, {})[number] = receipt
        # Where guardians kept what different refreshes have dealt, the shares of most others count: nobody's share combines with another's.
        most = max(receipts.values(), key=len, default={})
        if not any(each["undecided"] for each in told.values()):
            return newest, list(most or told)
        if len(most) < self._roster.threshold:
            if len(most) + self._roster.count - len(epochs) >= self._roster.threshold:
                raise GuardianRefused("A refresh was left undecided, and guardians that are down may have decided it.")
            for number in told:
                self._ask(number, "/drop", {**said, "epoch": newest})
            return newest - 1, [number for number, epoch in epochs.items() if epoch >= newest - 1]
        present = [*most, *self._helped(id_, newest, list(most))]
        self._commit(list(most.values()), have=len(present))
        self.swept.finished += 1
        return newest, present

    def _helped(self, id_: bytes, epoch: int, helpers: Sequence[int]) -> Iterator[int]:
        """Those who were behind and are repaired now: before others forget the former share, which still fits theirs."""
        for number in [number for number in self._receivers if number not in helpers]:
            try:
                self._repair(id_, epoch, number, helpers=helpers[: self._roster.threshold])
            except CustodyError as error:
                self.swept.wrong[number] = str(error)
            else:
                yield number

    def _refresh(self, id_: bytes, numbers: Sequence[int]) -> None:
        receivers = [self._receivers[number].as_dict() for number in numbers]
        said = {"round": to_base64(self._round), "enrolments": [to_base64(id_)], "receivers": receivers}
        deals: list[Deal] = []
        for number in numbers:
            try:
                (answer,) = self._ask(number, "/deal", said)["deals"]
                deal = Deal.of_dict(answer)
                deal.check(self._roster)
                deals.append(deal)
            except (CustodyError, KeyError, TypeError, ValueError) as error:
                self._lost(number, error)
        receipts = None
        while receipts is None:
            receipts = self._taken(id_, deals)
        self._commit(receipts, have=len(receipts))
        self.swept.refreshed += 1

    def _taken(self, id_: bytes, deals: list[Deal]) -> list[Taken] | None:
        """Everybody's receipts for these deals; None if somebody has refused one of them, which is left out now."""
        said = {"round": to_base64(self._round), "deals": [each.as_dict() for each in deals]}
        receipts: list[Taken] = []
        for number in [number for number in self._receivers if deals and number in deals[0].sealed]:
            try:
                receipts.append(Taken.of_dict(self._ask(number, "/take", said)))
            except CustodyError as error:
                wrong = [each for each in deals if each.dealer == getattr(error, "guardian", None)]
                if wrong and number not in self._blamed:
                    # It may be wrong, or who says so may lie: one deal less does no harm, but nobody is believed twice.
                    self._blamed.add(number)
                    self._dropped(id_, deals[0].epoch + 1, receipts)
                    self.swept.wrong[wrong[0].dealer] = str(error)
                    deals.remove(wrong[0])
                    return None
                self._lost(number, error)
        if len(receipts) < self._roster.threshold:
            if receipts:
                self._dropped(id_, deals[0].epoch + 1, receipts)
            raise QuorumUnavailable(have=len(receipts), need=self._roster.threshold, wrong=self.swept.wrong)
        return receipts

    def _dropped(self, id_: bytes, epoch: int, receipts: Sequence[Taken]) -> None:
        # Nobody was shown enough receipts for these deals: no guardian has forgotten its former share.
        for each in receipts:
            try:
                self._ask(each.number, "/drop", {"enrolment": to_base64(id_), "epoch": epoch})
            except CustodyError as error:
                self._lost(each.number, error)

    def _commit(self, receipts: Sequence[Taken], *, have: int) -> None:
        # With no guardian to spare, the next one that is lost would take the secret with it. Undecided, either share still serves.
        if have <= self._roster.threshold and have < self._up:
            raise GuardianRefused(
                "Too few guardians have their next share to forget the former: the next sweep goes on."
            )
        said = {"receipts": [each.as_dict() for each in receipts]}
        for number in list(self._receivers):
            try:
                self._ask(number, "/commit", said)
            except CustodyError as error:
                self._lost(number, error)

    def _repair(self, id_: bytes, epoch: int, number: int, *, helpers: Sequence[int]) -> None:
        round_, place = to_base64(self._round), {"enrolment": to_base64(id_), "epoch": epoch}
        receivers = [self._receivers[helper].as_dict() for helper in helpers]
        asked = {**place, "round": round_, "repaired": number, "helpers": receivers}
        masks = [Mask.of_dict(self._ask(helper, "/mask", asked)).as_dict() for helper in helpers]
        asked = {"round": round_, "masks": masks, "receiver": self._receivers[number].as_dict()}
        helped = [self._ask(helper, "/help", asked) for helper in helpers]
        sums = [Sum.of_dict(each["sum"]).as_dict() for each in helped]
        about = Counter((each["contact"], each["vetoes"], each["account"]) for each in helped).most_common(1)[0][0]
        self._ask(
            number,
            "/repair",
            {
                "round": round_,
                "enrolment": to_base64(id_),
                "masks": masks,
                "sums": sums,
                **dict(zip(("contact", "vetoes", "account"), about, strict=True)),
            },
        )
        self.swept.repaired[number] += 1

    def _lost(self, number: int, error: Exception) -> None:
        """Go on without a guardian."""
        self._receivers.pop(number, None)
        self.swept.wrong[number] = str(error)

    def _ask(self, number: int, path: str, said: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._transport.ask(number, path, said, ordered=True)
