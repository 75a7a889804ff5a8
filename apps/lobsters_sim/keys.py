"""Members and their keys: what a password goes with, and which disguises are this site's."""

from __future__ import annotations

from django.db import transaction
from django.views.decorators.debug import sensitive_variables

import edna

from .models import User

DELETION, DECAY, TOPIC = "lobsters.delete-account", "lobsters.decay", "lobsters.topic"


def identifier(username: str) -> str:
    """What a key's password goes with: a user name is one of this application's, and not of another one's."""
    return f"lobsters:{username}"


@sensitive_variables()
def finish(receipt: edna.Receipt, unlocked: edna.Unlocked) -> edna.Receipt | None:
    """Delete an account that decayed: bring it back and remove it, all for the others at one moment.

    Nothing is changed if the account cannot come back: None.
    """
    with transaction.atomic():
        edna.reveal(receipt, unlocked)
        user = edna.principal(unlocked)
        if not isinstance(user, User):
            transaction.set_rollback(True)
            return None
        return edna.disguise(DELETION, user, unlocked=unlocked)
