"""Students, staff and their keys: what a password goes with, and after which disguise there is no account."""

from __future__ import annotations

from apps.showcase.keys import Keys

from .models import User

DELETION = "websubmit.delete-account"

KEYS = Keys(
    application="websubmit",
    model=User,
    name_column="websubmit.user.email",
    away=(DELETION,),
    identifier=lambda user: str(user.email),
)
