"""What somebody's key leads to at this conference.

Other applications of the site have people and disguises, too, and edna opens any key and undoes any disguise that it is given. Here it is
those of the conference, or none: a key of elsewhere opens nothing here, and it is not said that it is one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db import transaction
from django.views.decorators.debug import sensitive_variables

import edna
from apps.showcase import passwords
from apps.showcase.waysback import NeedsField

from . import words
from .auth import identifier
from .models import ContactInfo

REMOVE = "hotcrp.remove-account"
ANONYMISE = "hotcrp.anonymize-conference"
_IN_THE_WAY = (edna.Reason.ROW_EXISTS, edna.Reason.UNIQUE_TAKEN, edna.Reason.CONSTRAINT)


def belongs_here(receipt: edna.Receipt) -> bool:
    return receipt.disguise in (REMOVE, ANONYMISE)


def history(unlocked: edna.Unlocked, *names: str) -> list[edna.HistoryEntry]:
    """What is disguised, of this conference; of these disguises, if some are named. The latest first."""
    return [entry for entry in edna.history(unlocked) if entry.name in (names or (REMOVE, ANONYMISE))]


def account_of(unlocked: edna.Unlocked) -> ContactInfo | None:
    """The account whose key it is; None while it is removed.

    Raises:
        WrongCredentials: it is the key of nobody at this conference.
        BagError: what would tell cannot be opened.
    """
    found = edna.principal(unlocked)
    if isinstance(found, ContactInfo):
        return found
    if found is None and history(unlocked, REMOVE):
        return None
    # A removal that cannot be opened leaves no entry: say so, rather than that there was none.
    for error in unlocked.damaged:
        raise error
    raise edna.errors.WrongCredentials("This key is of nobody at this conference.")


@sensitive_variables()
def reveal_all(
    receipts: Sequence[edna.Receipt],
    unlocked: edna.Unlocked,
    *,
    new_email: str = "",
    password: str = "",
    address: str = "",
    accept: Any = (),
) -> edna.Outcome:
    """Undo disguises one after the other, all or nothing; one outcome for all. With ``new_email`` the account comes back under that address
    if its own is taken. With a password, that holds for the login and for the key (``address`` as for `set_password`). ``accept`` is given
    up if it cannot come back.

    A disguise that was applied twice, or after somebody had left, has many receipts: the person's, and one for each placeholder that stood
    for them. `history` has them in the order in which they are to be undone.

    Raises:
        RevealRefused: a conflict of interest cannot be put back where it was, so its owner does not come back either: without it they
            would see the paper. (One whose paper is gone, or that was deleted meanwhile, keeps nobody away.)
    """
    work = partial(
        _reveal_all, receipts, unlocked, new_email=new_email, password=password, address=address, accept=accept
    )
    for pause in (0.05, 0.1, 0.2, 0.4):
        try:
            return work()
        except edna.errors.DatabaseBusy:
            # edna does not run again what is part of our transaction.
            time.sleep(pause * random.uniform(0.5, 1.5))
    return work()


@sensitive_variables()
def _reveal_all(
    receipts: Sequence[edna.Receipt],
    unlocked: edna.Unlocked,
    *,
    new_email: str,
    password: str,
    address: str,
    accept: Any,
) -> edna.Outcome:
    together = edna.Outcome()
    waiting: dict[edna.Receipt, list[edna.Held]] = {}
    overrides = {"hotcrp_sim.contactinfo.email": new_email} if new_email else {}
    with transaction.atomic():
        for receipt in receipts:
            try:
                outcome = edna.reveal(receipt, unlocked, overrides=overrides)
            except edna.errors.ReceiptUnknown:
                if len(receipts) == 1:
                    raise
                continue  # one of several, of a placeholder that has gone with an earlier one
            together.include(outcome)
            waiting[receipt] = outcome.held
        if any(row.model == "hotcrp_sim.paperconflict" and row.reason in _IN_THE_WAY for row in together.held):
            raise edna.errors.RevealRefused("A conflict of interest cannot be put back.", outcome=together)
        # Only now: nobody gives up the conflict that keeps them away.
        for receipt in [receipt for receipt, held in waiting.items() if held and accept]:
            together.held = [row for row in together.held if row not in waiting[receipt]]
            together.include(edna.reveal(receipt, unlocked, accept=accept))
        account = edna.principal(unlocked) if password else None
        if isinstance(account, ContactInfo):
            # With the address that it has now: its own may have been free after all.
            set_password(account, unlocked, password=password, address=address)
    return together


@sensitive_variables()
def set_password(account: ContactInfo, unlocked: edna.Unlocked, *, password: str, address: str = "") -> None:
    """One password, for the login and for the key. ``address`` is what its owner logs in with while the account has lost its own.

    Raises:
        NeedsField: it has, and no address was given.
        ValidationError: the password is too like the account. Nothing was changed then.
    """
    if account.is_covered and not address:
        raise NeedsField("email", words.WHICH_ADDRESS)
    name = address if account.is_covered else account.email
    passwords.set_password(account, unlocked, identifier=identifier(name), password=password)
