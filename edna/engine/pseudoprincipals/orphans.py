"""Pseudoprincipals that nothing refers to any more: found, and let go of, without anybody's key.

One is an orphan if no row of any table refers to it, no relation and no generic key, and its list of locators is empty. Then no
bag is sealed to it, no row that others own too waits for it, and no record of anybody else mentions it (docs/threat-model.md, 12).
What may still name it are its own person's bags, those that were sealed with their key at hand: a reveal makes it again where
it is named (`engine.surroundings.recreate`). Invariant: whoever is about to refer to it, or to list something for it, is waited for and
seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db.models import EmailField, ForeignKey, IntegerField, Model

from edna import conf, coverage, registry, signals, store
from edna.companions import links_to
from edna.coverage import relations_to
from edna.db import rows as raw
from edna.db.rows import table_of
from edna.engine.books.announcements import News
from edna.engine.graph.references import key_of, recognisable, reference_of
from edna.engine.pseudoprincipals import companions
from edna.spec import Modify, Remove
from edna.store import residue, retention

#: Databases take a bounded number of parameters in one statement.
_AT_ONCE: Final = 10_000


def may_be_swept(model: type[Model], *, made_by_hand: bool, using: str) -> bool:
    """Whether an orphan of this model is surely not needed.

    Not where foreign keys refer to another column than the primary key: one that is made again has other values there. Not where bags
    expire and keys do not say what they are: what names an orphan may outlive the bag that speaks for it, without which it is not
    made again. Nor, with such keys, where a disguise changes companions: a record of one that was swept would wait for it for ever. Nor
    where a disguise takes along what is attached to companions, and leaves these: nothing would say whose they were.
    Not where bags may be known by their receipts alone: what names one might be revealed without the receipt of the bag that
    speaks for it. And not where sessions may have made some for the application to name in ways of its own, unless ``made_by_hand``
    says that it does not.
    """
    return (
        all(relation.field.target_field.primary_key for relation in relations_to(model))
        and (made_by_hand or not registry.all_by_hand())
        and not registry.any_unlisted()
        and (recognisable(model) or not (retention.anything_expires(using=using) or _changed_beside(model)))
        and not _taken_from_beside(model)
    )


def _changed_beside(model: type[Model]) -> bool:
    """Whether a disguise changes companions whose key is not that of their pseudoprincipal."""
    tables = {table_of(link.model) for link in links_to(model) if not link.primary_key}
    steps = [step for disguise in registry.disguises().values() for step in disguise.steps()]
    return any(isinstance(step, Modify) and table_of(step.model) in tables for step in steps)


def _taken_from_beside(model: type[Model]) -> bool:
    """Whether records of a disguise may name companions that it leaves where they are."""
    for link in links_to(model):
        attached = {(table_of(relation.model), relation.field.name) for relation in relations_to(link.model)}
        for disguise in registry.disguises().values() if attached else ():
            steps = [step for step in disguise.steps() if isinstance(step, Remove | Modify)]
            takes = any(
                table_of(step.model) == table and (isinstance(step, Remove) or name in step.set)
                for step in steps
                for table, name in attached
            )
            if takes and not any(_removes_all(step, link) for step in steps):
                return True
    return False


def _removes_all(step: Remove | Modify, link: ForeignKey[Any, Any]) -> bool:
    """Whether it removes whatever is beside somebody."""
    whole = isinstance(step, Remove) and step.where is None and list(step.owners) == [link.name]
    return whole and table_of(step.model) == table_of(link.model)


def unreferenced(model: type[Model], references: Sequence[str], *, using: str, lock: bool = False) -> set[str]:
    """Those at which no row of any table points. With ``lock``, rows that are being written are waited for where no foreign key
    would refuse them. One statement for each relation."""
    # By reference: a driver may read a key as another type than the one it takes.
    keys = {reference: key_of(model, reference, using=using) for reference in references}
    # A companion is no reason to stay, but what refers to it is one.
    links = links_to(model)
    for needed in companions.held_on_to(model, list(keys.values()), lock=lock, using=using).values():
        for key in needed:
            keys.pop(reference_of(model, key), None)
    for relation in relations_to(model):
        if not keys:
            break
        if relation.field in links:
            continue
        table, unsafe = table_of(relation.model), lock and not relation.is_enforced
        for value in raw.held_values(table, relation.field.name, list(keys.values()), lock=unsafe, using=using):
            keys.pop(reference_of(model, value), None)
    found = set(keys)
    return found - generically_referred(model, found, using=using) if found else found


def generically_referred(model: type[Model], references: set[str], *, using: str) -> set[str]:
    """Those at which a `GenericForeignKey` of any row points. One statement for each such key of the site."""
    if not apps.is_installed("django.contrib.contenttypes"):
        return set()
    known = {str(model._meta.pk.to_python(reference)): reference for reference in references}
    found: set[str] = set()
    for holder, key in _generic_keys():
        typed = model._meta.concrete_model if key.for_concrete_model else None
        meta = (typed or model)._meta
        column = holder._meta.get_field(key.fk_field)
        values = [value for value in known if _fits(column, value)]
        # Not by the type's key: to ask for it writes its row, where nothing is of that type yet.
        kind = {f"{key.ct_field}__app_label": meta.app_label, f"{key.ct_field}__model": meta.model_name}
        rows = holder._base_manager.using(using).filter(**kind)
        for start in range(0, len(values), _AT_ONCE):
            some = rows.filter(**{f"{key.fk_field}__in": values[start : start + _AT_ONCE]})
            there = some.values_list(key.fk_field, flat=True).distinct()
            found |= {known[str(value)] for value in there if str(value) in known}
    return found


def _fits(column: Any, value: str) -> bool:
    """Whether the column can hold the key: one of numbers refers to nobody whose key is a UUID."""
    try:
        column.get_prep_value(value)
    except (ValueError, TypeError, ValidationError):
        return False
    return True


def _generic_keys() -> Iterator[tuple[type[Model], Any]]:
    for holder in apps.get_models(include_auto_created=True):
        if not holder._meta.proxy and not holder._meta.swapped:
            yield from ((holder, key) for key in coverage.generic_keys(holder))


def without_entry(model: type[Model], *, using: str) -> Iterator[list[str]]:
    """Pages of references of rows that are surely pseudoprincipals, and of whom edna knows nothing: somebody might log in as one.

    Sure is a negative key, where they have these, with an address that can never exist. Of others it cannot be told.
    """
    table = table_of(model)
    emails = [column.name for column in table.fields if isinstance(column, EmailField)]
    if conf.pseudoprincipal_keys() != "negative" or not isinstance(table.key[0], IntegerField) or not emails:
        return
    found = model._base_manager.using(using).filter(pk__lt=0, **{f"{emails[0]}__endswith": ".invalid"}).order_by("pk")
    after = None
    while keys := list((found if after is None else found.filter(pk__gt=after)).values_list("pk", flat=True)[:500]):
        after = keys[-1]
        references = [str(key) for key in keys]
        entries = store.entries_by_reference(model._meta.label_lower, references, using=using)
        known = {entry.reference for entry in entries}
        yield [reference for reference in references if reference not in known]


def let_go(model: type[Model], ids: Sequence[int], *, using: str) -> int:
    """Delete those of these entries that are orphans, and their rows; in the caller's transaction. How many.

    Never by an entry that this site did not write: whom it names may be anybody.
    """
    label = model._meta.label_lower
    # Entries first, then rows: as disguises and reveals lock them.
    entries = {
        str(entry.reference): entry
        for entry in residue.locked_entries(ids, using=using)
        if entry.sound and entry.attached and entry.model == label and not entry.natural and not entry.locators
    }
    table = table_of(model)
    keys = [(key_of(model, reference, using=using),) for reference in entries]
    # Locked: a foreign key to one of them that somebody is writing is waited for, and then seen.
    found = raw.read(table, table.key_names, keys, lock=True, using=using)
    there = {reference_of(model, key): (key,) for (key,) in found}
    gone = unreferenced(model, sorted(there), using=using, lock=True)
    doomed = [key for reference, key in there.items() if reference in gone]
    news = News()
    companions.remove(model, [key for (key,) in doomed], news, using=using)
    raw.delete(table, doomed, using=using)
    store.delete_entries([entries[reference] for reference in sorted(gone)], using=using)
    news.note(signals.rows_removed, table, table.key_names, doomed)
    news.send("", using=using)
    return len(gone)
