"""Ends the sessions of removed principals: a session holds the user's primary key, and opens the site to its cookie.

Django's session table does not say whose a session is, so `link` notes at login, under a tag keyed by the server, which
sessions belong to which principal. Knows session engines; knows no disguises.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from importlib import import_module

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.contrib.sessions.backends.signed_cookies import SessionStore as CookieSessions
from django.db import router, transaction

from edna import conf, store
from edna.crypto.keys import derive, fingerprint
from edna.store import Entry, serverkeys


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
    engine = import_module(settings.SESSION_ENGINE).SessionStore
    if not issubclass(engine, DatabaseSessions) or router.db_for_write(engine.get_model_class()) != using:
        return set()
    rows = engine.get_model_class()._base_manager.using(using).filter(session_key__in=session_keys)
    return set(session_keys) - set(rows.values_list("session_key", flat=True))


def unlink(session_key: str, *, using: str) -> None:
    store.unlink_session(session_key, using=using)


#: Begins what stands in place of a session's key: no session has such a one.
_EPOCH = "returned "


def begin_epoch(model: str, reference: str, *, using: str) -> None:
    """A removed principal is back: sessions in cookies, which nobody could delete, are good only if they know the epoch that begins now.
    No statement where sessions lie on the server."""
    if issubclass(import_module(settings.SESSION_ENGINE).SessionStore, CookieSessions):
        link(model, reference, _EPOCH + secrets.token_hex(15), using=using)


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
    store.unlink_sessions_of(tags, using=using)
    engine = import_module(settings.SESSION_ENGINE).SessionStore
    if issubclass(engine, DatabaseSessions) and router.db_for_write(engine.get_model_class()) == using:
        engine.get_model_class()._base_manager.using(using).filter(session_key__in=keys).delete()
        if engine is DatabaseSessions:
            return
    # Caches and other databases cannot take part in the transaction: once it has committed, and not before. What fails there
    # must not fail the caller, who holds the receipt of what is done; Django logs it.
    for key in keys:
        transaction.on_commit(engine(key).delete, using=using, robust=True)
