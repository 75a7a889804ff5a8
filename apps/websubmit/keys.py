"""What a key leads to here. It may be of another application of the site, whose receipts and history are none of ours."""

from __future__ import annotations

import edna

from .models import User

DELETION = "websubmit.delete-account"


def own_receipt(text: str) -> edna.Receipt:
    """A receipt of this application.

    Raises:
        ReceiptMalformed, ReceiptUnknown.
    """
    receipt = edna.Receipt.parse(text)
    if not receipt.disguise.startswith("websubmit."):
        raise edna.errors.ReceiptUnknown("This receipt is of another application.")
    return receipt


def own_history(unlocked: edna.Unlocked) -> list[edna.HistoryEntry]:
    return [entry for entry in edna.history(unlocked) if entry.name.startswith("websubmit.")]


def deletion(unlocked: edna.Unlocked) -> edna.Receipt | None:
    """The receipt of the deletion of this key's account, if there was one.

    Raises:
        BagError: there may be one, but it cannot be opened.
        WrongCredentials: the key is of another application.
    """
    for entry in own_history(unlocked):
        if entry.name == DELETION:
            return entry.receipt
    for error in unlocked.damaged:
        raise error
    if not isinstance(edna.principal(unlocked), User):
        raise edna.errors.WrongCredentials("This key is of another application.")
    return None
