"""Who a principal is to edna: their model, reference and database, and what is known about them by their row or by their key.

Invariant: a pseudoprincipal is spoken for by whoever holds its key, and by nobody else. Knows entries; changes no row of the application,
and disguises nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any, Final, TypeVar

from django.apps import apps
from django.db.models import Model

from edna import clock, conf, registry, shards, store
from edna.db import transactions
from edna.engine.bags import ownership
from edna.engine.bags.capability import Unlocked
from edna.engine.books import departure, expiry_dates
from edna.engine.graph.references import key_of, reference_of, without_row
from edna.engine.planning import plan as planning
from edna.engine.searched_shards import the_one_with
from edna.errors import DatabaseNotChosen, NotYours, PrincipalError, UnregisteredOwners
from edna.spec import Disguise

#: How many of those without a key a message names.
_NAMED: Final = 5
#: References that are looked up in one statement.
_LOOKED_UP_AT_ONCE: Final = 5_000

Principal = TypeVar("Principal", bound=Model)


# By their row


def identity(principal: Model, *, disguise: type[Disguise] | None = None) -> tuple[type[Model], str, str]:
    """The principal model, the reference, and the database of a user.

    Raises:
        PrincipalError: the user is not saved, not of a principal model, or not of the one that ``disguise`` is for.
    """
    model, key, using = registry.home_of(principal)
    if disguise is not None and model is not (wanted := registry.principal_model_for(disguise)):
        # Somebody there has the same primary key, and their rows would be disguised.
        raise PrincipalError(f"{disguise.name} is for {wanted._meta.label}; this is a {model._meta.label}.")
    return model, reference_of(model, key_of(model, str(key), using=using)), using


def identity_at_work(principal: Model, *, disguise: type[Disguise] | None = None) -> tuple[type[Model], str, str]:
    """As `identity`, for what is done to somebody: not where another database is at work, whose people may have the same primary key.

    Raises:
        PrincipalError; DatabaseNotChosen: they are in another one.
    """
    found = model, _, using = identity(principal, disguise=disguise)
    if shards.at_work.get() not in (None, using):
        raise DatabaseNotChosen(
            f"This {model._meta.label} is in {using!r}, and {shards.at_work.get()!r} is at work. Nothing was done."
        )
    return found


def entries_of(model: type[Model], references: Sequence[str], *, lock: bool, using: str) -> list[store.Entry]:
    return store.entries_by_reference(model._meta.label_lower, references, using=using, lock=lock)


def is_registered(principal: Model) -> bool:
    """Not who is in no database of people."""
    if registry.is_in_no_database(principal):
        return False
    model, reference, using = identity(principal)
    return bool(entries_of(model, [reference], lock=False, using=using))


def unregistered(principals: Iterable[Principal]) -> list[Principal]:
    given = list(principals)
    places = [None if registry.is_in_no_database(each) else identity(each) for each in given]
    references: dict[tuple[type[Model], str], list[str]] = {}
    for model, reference, using in filter(None, places):
        references.setdefault((model, using), []).append(reference)
    registered = {
        (entry.model, using, entry.reference)
        for (model, using), wanted in references.items()
        for entry in entries_of(model, wanted, lock=False, using=using)
    }
    return [
        principal
        for principal, place in zip(given, places, strict=True)
        if place is None or (place[0]._meta.label_lower, place[2], place[1]) not in registered
    ]


def owners_of_rows(
    disguise: type[Disguise], params: Mapping[str, Any], *, but: Set[str], lock: bool = False, using: str
) -> tuple[list[str], int]:
    """References of all who own a row that the disguise means, ``but`` these; and how many of these do.

    Raises:
        UnregisteredOwners: one of them has no key.
    """
    found = planning.owners_with_rows(disguise, params, using=using)
    spared = len(found & but)
    found -= but
    label = registry.principal_model_for(disguise)._meta.label_lower
    references: list[str] = []
    wanted = sorted(found)
    for start in range(0, len(wanted), _LOOKED_UP_AT_ONCE):
        part = wanted[start : start + _LOOKED_UP_AT_ONCE]
        references += sorted(store.references_there(label, part, lock=lock, using=using))
    require_registered(disguise, found.difference(references), using=using)
    return references, spared


def require_registered(disguise: type[Disguise], without_key: Collection[str], *, using: str) -> None:
    """
    Raises:
        UnregisteredOwners: one of these owners, who have no key, has a row.
    """
    model = registry.principal_model_for(disguise)
    # A value that no row of the principal model has, such as 0 for "nobody", is no owner.
    found = sorted(set(without_key) - set(without_row(model, sorted(without_key), using=using))) if without_key else []
    if found:
        named = f"{model._meta.label} {', '.join(found[:_NAMED])}{' …' if len(found) > _NAMED else ''}"
        raise UnregisteredOwners(
            f"{disguise.name}: {len(found)} owner(s) of the rows that it means have no key ({named}); "
            "register them first (manage.py edna_register --all --keys-file FILE). If they run the site: who of them is of the staff says "
            'EDNA["STAFF"], and only --include-staff (in Python staff=True) means those, too.'
        )


def is_pseudoprincipal(principal: Model) -> bool:
    if registry.is_in_no_database(principal):
        return False
    model, reference, using = identity(principal)
    return store.is_pseudoprincipal(model._meta.label_lower, reference, using=using)


def forget(principal: Model, *, deleted_from: str | None = None) -> None:
    """Detach the entry of somebody whose row is gone. One that this site did not write stays as it is."""
    if deleted_from is None:
        model, reference, using = identity(principal)
    else:
        model, using = registry.principal_model_of(principal), deleted_from
        reference = reference_of(model, key_of(model, str(getattr(principal, model._meta.pk.attname)), using=using))

    def work() -> None:
        # Locked: what is written back must not be older than what somebody else has added, or sealed to a new key, meanwhile.
        entries = entries_of(model, [reference], lock=True, using=using)
        kept_until = expiry_dates.entry_bucket(clock.today(), listed_before=True, using=using)
        ours = [entry.detached(expires_on=kept_until) for entry in entries if entry.sound]
        if ours:
            store.save_entries(ours, using=using)
        departure.forget(entries, using=using)

    transactions.run(work, using=using)


def note_activity(principal: Model, *, today: datetime.date) -> None:
    model, reference, using = identity(principal)
    label = model._meta.label_lower
    # A job that is about to disguise them may be in the way: nobody's login is to fail for that.
    transactions.statement(lambda: store.touch_entry(label, reference, today=today, using=using), using=using)


# By their key


def row_of(unlocked: Unlocked) -> Model | None:
    """The row of who is unlocked, read now; None while the account is removed."""
    entry = unlocked.entry()
    if not entry.attached:
        return None
    model: type[Model] = apps.get_model(entry.model)
    return model._base_manager.using(unlocked.using).filter(pk=entry.reference).first()


def speaks_for(unlocked: Unlocked, model: type[Model] | None = None) -> list[Any]:
    """Primary keys of the pseudoprincipals that this principal speaks for, at any depth, whose rows exist."""
    label = None if model is None else model._meta.label_lower
    return [
        apps.get_model(voice.entry.model)._meta.pk.to_python(voice.entry.reference)
        for voice in unlocked.spoken_for()
        if voice.entry.attached and label in (None, voice.entry.model)
    ]


def speak_as(unlocked: Unlocked, obj: Model, *, owner: str | None) -> Model:
    """The pseudoprincipal that owns ``obj``, if this principal speaks for it.

    Raises:
        NotYours, SpecError
    """
    return _spoken_for(obj, lambda model: speaks_for(unlocked, model), owner=owner, using=unlocked.using)


def database_of_keys(public_keys: Collection[bytes]) -> str:
    """In which database these are: the keys of a person, or of pseudoprincipals of one.

    Raises:
        DatabaseNotChosen, DatabaseBusy: as `the_one_with`.
    """
    return the_one_with(
        lambda using: store.entries_by_public_key(public_keys, using=using), aliases=registry.databases()
    )


def speaks_for_keys(public_keys: Collection[bytes], model: type[Model] | None = None, *, using: str) -> list[Any]:
    """`speaks_for`, by the keys of pseudoprincipals themselves; the caller knows that somebody has their secret halves.

    Raises:
        EntryForged: this site did not write the entry of one of them.
    """
    label = None if model is None else model._meta.label_lower
    entries = store.entries_by_public_key(public_keys, using=using)
    store.require_sound(entries)
    return [
        apps.get_model(entry.model)._meta.pk.to_python(entry.reference)
        for entry in entries
        if entry.attached and not entry.natural and label in (None, entry.model)
    ]


def speak_as_keys(public_keys: Collection[bytes], obj: Model, *, owner: str | None, using: str) -> Model:
    """`speak_as`, by the keys of pseudoprincipals themselves.

    Raises:
        NotYours, SpecError, EntryForged
    """
    return _spoken_for(obj, lambda model: speaks_for_keys(public_keys, model, using=using), owner=owner, using=using)


def _spoken_for(obj: Model, voices: ownership.Voices, *, owner: str | None, using: str) -> Model:
    if conf.databases() and (there := registry.database_of(obj, type(obj))) != using:
        # Not the row of the same key in this one.
        raise NotYours(f"{obj._meta.label} {obj.pk} is in {there!r}, and what was unlocked is a key in {using!r}.")
    found = ownership.spoken_for(obj, voices, owner=owner, using=using)
    if found is None:
        raise NotYours(
            f"This key speaks for no owner of {obj._meta.label} {obj.pk}; unlock with the key of the person who wrote it."
        )
    return found
