"""What edna does when somebody logs in or out.

Guarantees: `login()` and `alogin()` never log in a pseudoprincipal, whichever backend vouches for it, and leave no trace of
the attempt on its row; every session that a principal logs in with, or still uses, is noted, so that removing them ends it;
the day of a principal's last activity is kept, no finer. A login costs three small statements; one of a user who is no principal costs
none. A database that was just migrated, and knows no server key, learns the configured ones; what it has from before there
were tags is tagged.

A session in a cookie, which nothing can end from here, gets the epoch of its principal; `edna.visitors` refuses those from before a return.

Does not know: logins that call neither `login()` nor go
through `EdnaMiddleware`.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, Final

from django.apps import apps as django_apps
from django.contrib.auth.models import update_last_login
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.core.exceptions import PermissionDenied
from django.db.models.signals import post_delete, post_migrate
from django.http import HttpRequest

from edna import conf, inner_door, registry, serverkeys, shards, vouching
from edna.errors import ConfigurationError
from edna.visitors import (
    attendance,
    begin_epoch,
    is_principal,
    is_pseudoprincipal,
    lies_in_cookie,
    log_out,
    note_login,
    session_key_of,
)

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
    post_migrate.connect(_migrated, sender=django_apps.get_app_config("edna"), dispatch_uid="edna.migrated")
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
    if session is not None and is_principal(user):
        note_login(session)
        if session.session_key is None:
            session.save()  # `login` has thrown away somebody else's session; its successor has no key yet
    attendance.note(user, session_key_of(request))
    if session is not None and lies_in_cookie(request) and is_principal(user):
        begin_epoch(user, session)


def _migrated(*, using: str, apps: Any = django_apps, stdout: Any = None, **_: Any) -> None:
    """The database's own tables are there, new or as they were, or were emptied: let it know the server's keys if it knows none, and tag
    what was written before there were tags."""
    if _columns(apps) != _columns(django_apps):
        return  # migrated to an earlier state only
    with suppress(ConfigurationError):  # edna.E002 says so
        if using not in registry.databases():
            return  # of the site, and not of its people
        with shards.at(using):
            serverkeys.introduce(using=using)
            for line in vouching.begin(using=using):
                (stdout or sys.stdout).write(line + "\n")


def _columns(apps: Any) -> set[tuple[str, str]]:
    """Of edna's tables; none before their migrations."""
    return {
        (model._meta.db_table, field.column) for model in conf.own_models(apps) for field in model._meta.local_fields
    }


def _deleted(*, instance: Any, using: str, **_: Any) -> None:
    # Without this, somebody who gets the same primary key later would be taken for the one who was deleted.
    several = conf.databases()
    if not several:
        inner_door.forget_principal(instance)
    elif using in several:
        inner_door.forget_principal(instance, deleted_from=using)


def _logged_out(*, request: HttpRequest | None = None, user: Any = None, **_: Any) -> None:
    key = session_key_of(request)
    if key is not None and is_principal(user):
        inner_door.forget_session(user, key)
