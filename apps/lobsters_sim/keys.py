"""Members and their keys: how a key is called, which disguises are this site's, and where each of them stands.

A recovery code opens a key of any application of the site; what is asked for here, and shown, is this application's alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.views.decorators.debug import sensitive_variables

import edna
from apps.showcase.keys import Keys

from .models import User

DELETION, DECAY, TOPIC = "lobsters.delete-account", "lobsters.decay", "lobsters.topic"

#: Those after which there is no account.
AWAY = (DELETION, DECAY)


def identifier(username: str) -> str:
    """What a key's password goes with: a user name is one of this application's, and not of another one's."""
    return f"lobsters:{username}"


KEYS = Keys(
    application="lobsters",
    model=User,
    name_column="lobsters_sim.user.username",
    away=AWAY,
    identifier=lambda user: identifier(user.username),
)


@sensitive_variables()
def finish(
    receipt: edna.Receipt, unlocked: edna.Unlocked, *, new_username: str = "", password: str = ""
) -> tuple[edna.Outcome, User | None, edna.Receipt | None]:
    """Delete an account that decayed: bring it back and remove it, all for the others at one moment.

    Nothing is changed if the account cannot come back; the outcome says what is in the way.
    """
    with transaction.atomic():
        outcome = KEYS.bring_back(receipt, unlocked, name=new_username, password=password)
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
