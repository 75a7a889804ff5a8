"""Members and their keys: how a key is called, which disguises are this site's, and where each of them stands.

A recovery code opens a key of any application of the site; what is asked for here, and shown, is this application's alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

import edna

from .models import User

DELETION, DECAY, TOPIC = "lobsters.delete-account", "lobsters.decay", "lobsters.topic"

#: Those after which there is no account.
AWAY = (DELETION, DECAY)


def identifier(username: str) -> str:
    """What a key's password goes with: a user name is one of this application's, and not of another one's."""
    return f"lobsters:{username}"


def own_receipt(text: str) -> edna.Receipt:
    """A receipt of this application.

    Raises:
        ReceiptMalformed, ReceiptUnknown.
    """
    receipt = edna.Receipt.parse(text)
    if not receipt.disguise.startswith("lobsters."):
        raise edna.errors.ReceiptUnknown("This receipt is of another application.")
    return receipt


def own_history(unlocked: edna.Unlocked) -> list[edna.HistoryEntry]:
    return [entry for entry in edna.history(unlocked) if entry.name.startswith("lobsters.")]


def departure(unlocked: edna.Unlocked) -> edna.Receipt | None:
    """The receipt of what took the account away.

    Raises:
        BagError: there may be one, but it cannot be opened.
        WrongCredentials: the key is of another application.
    """
    for entry in own_history(unlocked):
        if entry.name in AWAY:
            return entry.receipt
    for error in unlocked.damaged:
        raise error
    if not isinstance(edna.principal(unlocked), User):
        raise edna.errors.WrongCredentials("This key is of another application.")
    return None


def bring_back(
    receipt: edna.Receipt, unlocked: edna.Unlocked, *, new_username: str = "", password: str = ""
) -> edna.Outcome:
    """Reveal, under another user name if one is given; the password then opens the key with that one."""
    if not new_username:
        return edna.reveal(receipt, unlocked)
    with transaction.atomic():
        outcome = edna.reveal(receipt, unlocked, overrides={"lobsters_sim.user.username": new_username})
        back = edna.principal(unlocked)
        # Only if the account has come back under it: its own name may have been free after all.
        if isinstance(back, User) and back.username == new_username and password:
            edna.change_password(unlocked, identifier=identifier(new_username), password=password)
    return outcome


def finish(
    receipt: edna.Receipt, unlocked: edna.Unlocked, *, new_username: str = "", password: str = ""
) -> tuple[edna.Outcome, User | None, edna.Receipt | None]:
    """Delete an account that decayed: bring it back and remove it, all for the others at one moment.

    Nothing is changed if the account cannot come back; the outcome says what is in the way.
    """
    with transaction.atomic():
        outcome = bring_back(receipt, unlocked, new_username=new_username, password=password)
        user = edna.principal(unlocked)
        if not isinstance(user, User):
            transaction.set_rollback(True)
            return outcome, None, None
        return outcome, user, edna.disguise(DELETION, user, unlocked=unlocked)


def leave_topic(user: User, tag: str) -> edna.Receipt:
    return edna.disguise(TOPIC, user, params=_topic(tag))


def plan_topic(user: User, tag: str) -> edna.Plan:
    return edna.plan(TOPIC, user, params=_topic(tag))


def _topic(tag: str) -> Mapping[str, str]:
    return {"tag": tag}
