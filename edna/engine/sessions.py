"""Ends the sessions of removed principals: a session holds the user's primary key, and opens the site to its cookie.

Django's session table does not say whose a session is, so `link` notes at login, under a tag keyed by the server, which
sessions belong to which principal. Knows session engines; knows no disguises.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.db import router, transaction

from edna import conf, store
from edna.crypto.keys import derive, fingerprint
from edna.store import Entry


def owner_tags(model: str, reference: str) -> list[bytes]:
    """The tag under each server key, the current one first."""
    data = f"{model}\0{reference}".encode()
    return [
        derive(fingerprint(key, purpose=b"edna.session.key"), purpose=b"edna.session.tag", data=data)
        for key in conf.mac_keys()
    ]


def link(model: str, reference: str, session_key: str, *, using: str) -> None:
    store.link_session(owner_tags(model, reference)[0], session_key, using=using)


def ended(session_keys: Sequence[str], *, using: str) -> set[str]:
    """Those of them that surely are of no session any more: known only where sessions live in this database."""
    engine = import_module(settings.SESSION_ENGINE).SessionStore
    if not issubclass(engine, DatabaseSessions) or router.db_for_write(engine.get_model_class()) != using:
        return set()
    rows = engine.get_model_class()._base_manager.using(using).filter(session_key__in=session_keys)
    return set(session_keys) - set(rows.values_list("session_key", flat=True))


def unlink(session_key: str, *, using: str) -> None:
    store.unlink_session(session_key, using=using)


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
