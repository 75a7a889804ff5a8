"""What edna does when somebody logs in or out.

Guarantees: `login()` and `alogin()` never log in a pseudoprincipal, whichever backend vouches for it, and leave no trace of
the attempt on its row; every session that a principal logs in with, or still uses, is noted, so that removing them ends it;
the day of a principal's last activity is kept, no finer. A login costs three small statements; one of a user who is no
principal costs none.

Does not know: sessions kept in cookies (nothing can end those from here), and logins that call neither `login()` nor go
through `EdnaMiddleware`.
"""

from __future__ import annotations

from typing import Any, Final

from django.contrib.auth.models import update_last_login
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.core.exceptions import PermissionDenied
from django.db.models.signals import post_delete
from django.http import HttpRequest

from edna import api, conf
from edna.visitors import attendance, is_principal, is_pseudoprincipal, log_out, session_key_of

REFUSAL: Final = "Nobody can log in as this user."


def connect() -> None:
    """Called once the applications are loaded."""
    # Django's own receiver writes the date of the login to the user's row, so the refusal has to come before it.
    last_login = user_logged_in.disconnect(dispatch_uid="update_last_login")
    user_logged_in.connect(_logged_in, dispatch_uid="edna.logged_in")
    user_logged_out.connect(_logged_out, dispatch_uid="edna.logged_out")
    for label in conf.principal_models():
        # For these models only: a receiver for all would take Django's fast deletion away from every model of the project.
        post_delete.connect(_deleted, sender=label, dispatch_uid=f"edna.deleted.{label}")
    if last_login:
        user_logged_in.connect(update_last_login, dispatch_uid="update_last_login")


def _logged_in(*, request: HttpRequest | None = None, user: Any = None, **_: Any) -> None:
    """
    Raises:
        PermissionDenied: the user is a pseudoprincipal; nobody is logged in now.
    """
    if is_pseudoprincipal(user):
        log_out(user, request)
        raise PermissionDenied(REFUSAL)
    session = getattr(request, "session", None)
    if session is not None and session.session_key is None and is_principal(user):
        session.save()  # `login` has thrown away somebody else's session; its successor has no key yet
    attendance.note(user, session_key_of(request))


def _deleted(*, instance: Any, **_: Any) -> None:
    # Without this, somebody who gets the same primary key later would be taken for the one who was deleted.
    api.forget_principal(instance)


def _logged_out(*, request: HttpRequest | None = None, user: Any = None, **_: Any) -> None:
    key = session_key_of(request)
    if key is not None and is_principal(user):
        api.forget_session(key)
