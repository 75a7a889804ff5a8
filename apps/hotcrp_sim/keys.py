"""What somebody's key leads to at this conference.

Other applications of the site have people and disguises, too, and edna opens any key and undoes any disguise that it is given. Here it is
those of the conference, or none: a key of elsewhere opens nothing here, and it is not said that it is one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from django.db import OperationalError, transaction
from django.views.decorators.debug import sensitive_variables

import edna

from .models import ContactInfo

Result = TypeVar("Result")
CONFLICT = "hotcrp_sim.paperconflict"
REMOVE = "hotcrp.remove-account"
ANONYMISE = "hotcrp.anonymize-conference"
#: The same, of which two chairs can read together whose a review was (`cases`).
HELD = "-held"
REMOVALS = (REMOVE, REMOVE + HELD)
ANONYMISATIONS = (ANONYMISE, ANONYMISE + HELD)
_IN_THE_WAY = (edna.Reason.ROW_EXISTS, edna.Reason.UNIQUE_TAKEN, edna.Reason.CONSTRAINT)


def history(unlocked: edna.Unlocked, *names: str) -> list[edna.HistoryEntry]:
    """What is disguised, of this conference; of these disguises, if some are named. The latest first."""
    return [entry for entry in edna.history(unlocked) if entry.name in (names or REMOVALS + ANONYMISATIONS)]


def account_of(unlocked: edna.Unlocked) -> ContactInfo | None:
    """The account whose key it is; None while it is removed.

    Raises:
        WrongCredentials: it is the key of nobody at this conference.
        BagError: what would tell cannot be opened.
    """
    found = edna.principal(unlocked)
    if isinstance(found, ContactInfo):
        return found
    if found is None and history(unlocked, *REMOVALS):
        return None
    # A removal that cannot be opened leaves no entry: say so, rather than that there was none.
    for error in unlocked.damaged:
        raise error
    raise edna.errors.WrongCredentials("This key is of nobody at this conference.")


def require_conflicts(outcome: edna.Outcome) -> None:
    """
    Raises:
        RevealRefused: a conflict of interest cannot be put back where it was, so its owner does not come back either: without it they
            would see the paper. (One whose paper is gone, or that was deleted meanwhile, keeps nobody away.)
    """
    if any(row.model == CONFLICT and row.reason in _IN_THE_WAY for row in outcome.held):
        raise edna.errors.RevealRefused("A conflict of interest cannot be put back.", outcome=outcome)


@sensitive_variables()
def reveal_all(receipts: Sequence[edna.Receipt], unlocked: edna.Unlocked) -> tuple[edna.Outcome, edna.Receipt]:
    """Undo disguises one after the other, all or nothing; one outcome for all, and the receipt of what is held first.

    A disguise that was applied twice, or after somebody had left, has many receipts: the person's, and one for each placeholder that stood
    for them. `history` has them in the order in which they are to be undone.

    Raises:
        RevealRefused: as in `require_conflicts`.
    """
    return persistently(lambda: _reveal_all(receipts, unlocked))


@sensitive_variables()
def persistently(work: Callable[[], Result]) -> Result:
    """Do it again where the database gave way to others, at the end of our transaction, too: edna does not run again what is part of it."""
    for pause in (0.05, 0.1, 0.2, 0.4):
        try:
            return work()
        except (edna.errors.DatabaseBusy, OperationalError):
            time.sleep(pause * random.uniform(0.5, 1.5))
    return work()


@sensitive_variables()
def _reveal_all(receipts: Sequence[edna.Receipt], unlocked: edna.Unlocked) -> tuple[edna.Outcome, edna.Receipt]:
    together, held = edna.Outcome(), receipts[0]
    with transaction.atomic():
        for receipt in receipts:
            try:
                outcome = edna.reveal(receipt, unlocked)
            except edna.errors.ReceiptUnknown:
                if len(receipts) == 1:
                    raise
                continue  # one of several, of a placeholder that has gone with an earlier one
            if outcome.held and not together.held:
                held = receipt
            together.include(outcome)
        require_conflicts(together)
    return together, held
