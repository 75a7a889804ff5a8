"""Ends the sessions of removed principals: a session holds the user's primary key, and opens the site to its cookie.

Django's session table does not say whose a session is, so `link` notes at login, under a tag keyed by the server, which
sessions belong to which principal. Where sessions lie outside of the transaction, the link stays until the session is deleted: without
whose it was, for nothing may name somebody who is gone. Knows session engines; knows no disguises.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.contrib.sessions.backends.signed_cookies import SessionStore as CookieSessions
from django.db import router, transaction

from edna import conf, store
from edna.crypto.keys import derive, fingerprint
from edna.errors import DatabaseBusy
from edna.store import Entry, serverkeys

logger = logging.getLogger("edna")


def owner_tags(model: str, reference: str) -> list[bytes]:
    """The tag under each server key, the current one first."""
    return [_owner_tag(model, reference, key) for key in conf.mac_keys()]


def _owner_tag(model: str, reference: str, server_key: bytes) -> bytes:
    data = f"{model}\0{reference}".encode()
    return derive(fingerprint(server_key, purpose=b"edna.session.key"), purpose=b"edna.session.tag", data=data)


def link(model: str, reference: str, session_key: str, *, using: str) -> None:
    tag = _owner_tag(model, reference, serverkeys.first_known(using=using))
    store.link_session(tag, session_key, using=using)


def ended(session_keys: Sequence[str], *, using: str) -> set[str]:
    """Those of them that surely are of no session any more: known only where sessions live in this database."""
    engine = _engine()
    if not _rows_here(engine, using=using):
        return set()
    rows = engine.get_model_class()._base_manager.using(using).filter(session_key__in=session_keys)
    return set(session_keys) - set(rows.values_list("session_key", flat=True))


def unlink(session_key: str, *, using: str) -> None:
    store.unlink_session(session_key, using=using)


#: Begins what stands in place of a session's key: no session has such a one.
_EPOCH = "returned "


def keep_ended(model: str, reference: str, *, using: str) -> None:
    """A removed principal is back: no session from before is good. Those in cookies, which nobody could delete, are good only if they know
    the epoch that begins now. Those elsewhere that an interruption left are ended first; whose they are is not known, so all of them.
    No statement where sessions lie in this database.

    Raises:
        DatabaseBusy: what keeps them does not answer.
    """
    engine = _engine()
    if issubclass(engine, CookieSessions):
        link(model, reference, _EPOCH + secrets.token_hex(15), using=using)
    elif not _all_here(engine, using=using) and finish(using=using)[1]:
        raise DatabaseBusy(
            "Some sessions of people who left could not be ended before, and cannot now: what keeps sessions does not answer. Nobody "
            "returns until it does, because a session from before would be good again. Nothing was changed; try again."
        )


def epoch(model: str, reference: str, *, using: str) -> str | None:
    """What a session of this principal has to know; None if they have never been away. One statement."""
    keys = store.sessions_of(owner_tags(model, reference), using=using)
    return next((key for key in keys if key.startswith(_EPOCH)), None)


def end(entries: Sequence[Entry], *, using: str) -> None:
    """Delete the sessions of these principals; in this transaction where sessions live in the same database."""
    tags = [tag for entry in entries for tag in owner_tags(entry.model, str(entry.reference))]
    keys = store.sessions_of(tags, using=using) if tags else []
    if not keys:
        return
    engine = _engine()
    if _rows_here(engine, using=using):
        engine.get_model_class()._base_manager.using(using).filter(session_key__in=keys).delete()
    if _all_here(engine, using=using) or issubclass(engine, CookieSessions):
        store.unlink_sessions_of(tags, using=using)
        return
    # Caches and other databases cannot take part in the transaction: once it has committed, and not before. What fails there must not
    # fail the caller, who holds the receipt of what is done. The links stay until then, so that whoever sweeps goes on, or a return does.
    store.let_sessions_end(tags, using=using)
    transaction.on_commit(partial(_finish, keys, using=using), using=using, robust=True)


def finish(*, using: str) -> tuple[int, int]:
    """End what was interrupted between a commit and the sessions that it meant: how many of them, and how many did not end now either."""
    keys = store.sessions_to_end(using=using)
    ended = _finish(keys, using=using) if keys else 0
    return ended, len(keys) - ended


def _finish(keys: Sequence[str], *, using: str) -> int:
    """Delete these sessions where they are, and then their links; how many did not fail."""
    engine, ended = _engine(), []
    for key in keys:
        try:
            engine(key).delete()
        except Exception as error:
            # Not its text, which may quote the session.
            logger.error("A session could not be ended (%s); edna_sweep tries again.", type(error).__name__)
        else:
            ended.append(key)
    store.unlink_sessions(ended, using=using)
    return len(ended)


def _engine() -> Any:
    return import_module(settings.SESSION_ENGINE).SessionStore


def _rows_here(engine: Any, *, using: str) -> bool:
    """Whether sessions have rows in this database."""
    if engine is DatabaseSessions and not apps.is_installed("django.contrib.sessions"):
        return False  # a site without sessions, such as one with tokens alone, leaves the setting as it is
    return issubclass(engine, DatabaseSessions) and router.db_for_write(engine.get_model_class()) == using


def _all_here(engine: Any, *, using: str) -> bool:
    """Whether nothing of them is anywhere else, as in a cache."""
    return engine is DatabaseSessions and _rows_here(engine, using=using)
