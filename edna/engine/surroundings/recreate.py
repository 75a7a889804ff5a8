"""Makes pseudoprincipals again that were swept as orphans, where what is revealed names them.

A record that was sealed with its person's key at hand may name one of the person's pseudoprincipals to which no row referred any
more (`engine.pseudoprincipals.orphans`). It has the key that it had, and the columns of a new one. Invariant: what a reveal finds
is as if nothing had been swept; only where the disguise that made it has expired meanwhile, and its secret key with it, it gets a
key pair that nobody has. No statement unless one of the person's pseudoprincipals has no entry, or is known only by its primary key.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.apps import apps
from django.db.models import Model

from edna import registry, store
from edna.companions import links_to
from edna.db import rows as raw
from edna.db.rows import Row, table_of
from edna.engine.bags.key_graph import Holder
from edna.engine.bags.opened_bag import Opened
from edna.engine.bags.reader import Journal
from edna.engine.graph.references import recognisable, reference_of
from edna.engine.planning.mentions import principal_columns
from edna.engine.pseudoprincipals import factory
from edna.records.diff import Changed, Mentions, Removed, RowBatch
from edna.records.speaksfor import SealedKey, SpeaksFor
from edna.spec import Disguise


def make_again(journal: Journal, coming: Sequence[Opened], *, using: str) -> None:
    """Rows and entries of those whom the records to reveal name as owners, or in any other column, and who were swept."""
    named = _named([batch for opened in (journal.current, *coming) for batch in opened.diffs])
    for label, keys in _voiceless(journal, named).items():
        _insert_voiceless(journal, label, keys, using=using)
    for label, found in _swept(journal, named).items():
        _insert(journal, label, found, using=using)


def to_be_made(journal: Journal, coming: Sequence[Opened]) -> dict[str, set[Any]]:
    """By model, the keys of those whom `make_again` would look after; some of them may be there."""
    named = _named([batch for opened in (journal.current, *coming) for batch in opened.diffs])
    found = {label: set(keys) for label, keys in _voiceless(journal, named).items()}
    for label, swept in _swept(journal, named).items():
        found.setdefault(label, set()).update(swept)
    return found


def _swept(journal: Journal, named: set[tuple[str, Any]]) -> dict[str, dict[Any, tuple[Opened, SpeaksFor]]]:
    """Of those who are ``named``, by model and key, pseudoprincipals who have no entry any more."""
    by_model: dict[str, dict[Any, tuple[Opened, SpeaksFor]]] = {}
    for opened in (journal.current, *journal.others):
        label = opened.head.principal_model
        for voice in opened.speaks_for:
            if (label, voice.principal) in named and bytes(voice.public_key) not in journal.holders:
                by_model.setdefault(label, {})[voice.principal] = opened, voice
    return by_model


def _insert(journal: Journal, label: str, found: dict[Any, tuple[Opened, SpeaksFor]], *, using: str) -> None:
    model = apps.get_model(label)
    disguise = next((cls for opened, _ in found.values() if (cls := registry.find(opened.head.disguise))), None)
    generator = registry.pseudoprincipal_for(disguise or _NoDisguise, model)
    without = _sealed_companions(journal, model)
    made = factory.insert_again(generator, model, list(found), without=without, using=using)
    voices = {now: found[key][1] for key, now in made.items()}
    new = [_entry(voice, label, reference_of(model, now)) for now, voice in voices.items()]
    for entry, voice in zip(store.add_entries(new, using=using), voices.values(), strict=True):
        journal.holders[entry.public_key] = Holder(entry, journal.own.opener.voice(voice), {})
    _rename(journal, label, {key: now for key, now in made.items() if now != key})
    _forget_anew(journal, model, {(now,) for now in made.values()})


def _forget_anew(journal: Journal, model: type[Model], made: set[Row]) -> None:
    """What changed in their rows, or in companions that have their keys, whichever bag of the person's it is in: these are others now."""
    own = [bag for bag in (journal.current, *journal.others) if not bag.shared]
    labels = [link.model for link in links_to(model) if link.primary_key and link.target_field.primary_key]
    for label in (table_of(each).label for each in (model, *labels)):
        _forget(own, label, made - _sealed_rows(own, label))


def _entry(voice: SpeaksFor, label: str, reference: str) -> store.NewEntry:
    # The key that was swept with the entry: of a voice that is sealed for a browser, only its X25519 half is here.
    public_key = voice.public_key if isinstance(voice.secret_key, SealedKey) else voice.secret_key.public_key
    return store.NewEntry(bytes(public_key), label, reference, False, public_key.encapsulation_key)


def forget_swept(journal: Journal, coming: Sequence[Opened], *, using: str) -> None:
    """What changed in the row of somebody who was swept and is not made again, or beside it, has no place to come back to, and nobody
    misses it: it was a placeholder. No statement unless a record is about such a row."""
    model: type[Model] = apps.get_model(journal.current.head.principal_model)
    everything = (journal.current, *journal.others)
    voices = {voice.principal for opened in everything for voice in opened.speaks_for}
    placeholders: dict[str, Callable[[Any], bool]] = {
        table_of(model).label: lambda key: key in voices or is_voiceless(model, key)
    }
    for link in links_to(model):
        own = link.primary_key and link.target_field.primary_key
        placeholders[table_of(link.model).label] = (
            placeholders[table_of(model).label] if own else functools.partial(is_voiceless, link.model)
        )
    asked: dict[str, set[Row]] = {}
    for batch in (batch for opened in (journal.current, *coming) for batch in opened.diffs):
        if isinstance(batch, Changed) and batch.model in placeholders:
            found = {key for key in batch.primary_keys() if placeholders[batch.model](key[0])}
            asked.setdefault(batch.model, set()).update(found)
    for label, keys in asked.items():
        if gone := keys - _sealed_rows(everything, label):
            about: type[Model] = apps.get_model(label)
            table = table_of(about)
            there = raw.read(table, table.key_names, sorted(gone, key=str), lock=False, using=using)
            _forget((journal.current, *coming), label, gone.difference(there))


def _sealed_rows(bags: Iterable[Opened], label: str) -> set[Row]:
    removed = (batch for opened in bags for batch in opened.diffs if isinstance(batch, Removed))
    return {key for batch in removed if batch.model == label for key in batch.primary_keys()}


def _forget(bags: Iterable[Opened], label: str, gone: set[Row]) -> None:
    for opened in bags if gone else ():
        for batch in opened.diffs:
            if isinstance(batch, Changed) and batch.model == label:
                keys = zip(batch.primary_keys(), batch.rows, strict=True)
                left = [row for key, row in keys if key not in gone]
                if len(left) < len(batch.rows):
                    opened.exchange(batch, replace(batch, rows=left))


def is_voiceless(model: type[Model], key: Any) -> bool:
    """Whether somebody with this raw key, whom no voice names, is a pseudoprincipal all the same: its disguise has expired."""
    return _is_drawn(key) and recognisable(model)


def _is_drawn(key: Any) -> bool:
    return type(key) is int and key < 0


def _voiceless(journal: Journal, named: set[tuple[str, Any]]) -> dict[str, set[Any]]:
    """Of those who are ``named``, by model, pseudoprincipals for whom no bag speaks any more. Not those whose row is sealed, and comes
    back by itself, nor somebody else's, whom a mention names."""
    found: dict[str, set[Any]] = {}
    told = {label for label in {label for label, _ in named} if recognisable(apps.get_model(label))}
    for label, key in named:
        if label in told and _is_drawn(key):
            found.setdefault(label, set()).add(key)
    for opened in (journal.current, *journal.others) if found else ():
        for voice in opened.speaks_for:
            found.get(opened.head.principal_model, set()).discard(voice.principal)
        for batch in opened.diffs:
            if isinstance(batch, Mentions):
                found.get(batch.model, set()).difference_update(batch.names())
            elif isinstance(batch, Removed):
                found.get(batch.model, set()).difference_update(key[0] for key in batch.primary_keys())
    return {label: keys for label, keys in found.items() if keys}


def _insert_voiceless(journal: Journal, label: str, keys: set[Any], *, using: str) -> None:
    model: type[Model] = apps.get_model(label)
    table = table_of(model)
    there = {
        key for (key,) in raw.read(table, table.key_names, [(key,) for key in sorted(keys)], lock=True, using=using)
    }
    missing = sorted(keys - there)
    if missing:
        disguise = registry.find(journal.current.head.disguise)
        generator = registry.pseudoprincipal_for(disguise or _NoDisguise, model)
        without = _sealed_companions(journal, model)
        factory.insert_again(generator, model, missing, without=without, using=using)
        add_voiceless(model, missing, using=using)


def add_voiceless(model: type[Model], keys: Collection[Any], *, using: str) -> None:
    """Entries of pseudoprincipals for whom no bag speaks any more, with key pairs that nobody has: without one they pass for users."""
    if keys:
        factory.give_keys(model, list(keys), using=using)


def _sealed_companions(journal: Journal, model: type[Model]) -> dict[type[Model], set[Any]]:
    """By model, whose companions lie in a bag: those come back by themselves, if only with an earlier chunk."""
    links = links_to(model)
    batches = [batch for opened in (journal.current, *journal.others) for batch in opened.diffs]
    batches += journal.earlier() if links else ()
    found: dict[type[Model], set[Any]] = {}
    for link in links:
        for batch in batches:
            if isinstance(batch, Removed) and batch.model == table_of(link.model).label and link.name in batch.columns:
                position = batch.columns.index(link.name)
                found.setdefault(link.model, set()).update(row[position] for row in batch.rows)
    return found


class _NoDisguise(Disguise):
    """Stands for one that is not in the project any more."""

    name = "of-an-earlier-release"


def _rename(journal: Journal, label: str, now: Mapping[Any, Any]) -> None:
    """Somebody else has the key by now: in all records of this person, these have another one."""
    columns = principal_columns()
    for opened in (journal.current, *journal.others) if now else ():
        for batch in opened.diffs:
            names = columns.get(batch.model, {})
            about_rows = batch.layout if isinstance(batch, Removed | Changed) else ()
            places = [position for position, name in enumerate(about_rows) if names.get(name) == label]
            for position in places:
                opened.substitute(batch, position, now)
        opened.exchange_voices(
            lambda voice: voice._replace(
                principal=now.get(voice.principal, voice.principal), owner=now.get(voice.owner, voice.owner)
            )
        )


def _named(batches: Iterable[RowBatch]) -> set[tuple[str, Any]]:
    """Principals, by model and raw key, that rows will refer to when these records are undone."""
    columns = principal_columns()
    found: set[tuple[str, Any]] = set()
    for batch in batches:
        if not isinstance(batch, Removed | Changed):
            continue
        names = columns.get(batch.model, {})
        for position, name in enumerate(batch.columns):
            if name in names:
                found |= {(names[name], row[batch.old_from + position]) for row in batch.rows}
    return found
