"""Names of principals: the raw primary key of a row, and the text form that entries and bags keep of it; and which columns refer to rows.

The text is the same on every database. Reads the principal model only; knows no disguises, entries or bags.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from django.apps import apps
from django.db.models import ForeignKey, IntegerField, Model

from edna import conf
from edna.coverage import generic_keys
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.db.rows import Table, table_of
from edna.errors import ConstraintRefused


def reference_of(model: type[Model], key: Any) -> str:
    """The text form of a raw primary key, the same on every database."""
    return str(key) if type(key) is int else str(model._meta.pk.to_python(key))


def require_same_spelling(
    model: type[Model], owners: Collection[Any], references: Collection[str], *, using: str
) -> None:
    """That none of ``owners`` is one of the people by these ``references`` in other letters, which the database takes for the same.

    Raises:
        ConstraintRefused
    """
    texts = [owner for owner in owners if isinstance(owner, str)]
    if not texts:
        return
    folded = set(map(_folded, references))
    alike = [(owner,) for owner in texts if _folded(owner) in folded]
    table = table_of(model)
    # Somebody else may be called so: where the database tells letters apart.
    if set(alike) - set(raw.read(table, table.key_names, alike, lock=False, using=using) if alike else ()):
        raise spelled_otherwise(model)


def in_another_spelling(
    target: Table, column: str, values: Collection[Any], there: Collection[Any], *, using: str
) -> set[Any]:
    """Those texts that lead to a row which is ``there`` all the same: the database takes some letters for the same, and so do its foreign
    keys. It is asked about those alone that look alike."""
    texts = [value for value in values if isinstance(value, str)]
    folded = {_folded(value) for value in there if isinstance(value, str)} if texts else set()
    alike = [value for value in texts if _folded(value) in folded]
    return {value for value in alike if raw.read_where(target, (column,), column, [value], lock=False, using=using)}


def _folded(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold().strip()


def spelled_otherwise(model: type[Model]) -> ConstraintRefused:
    return ConstraintRefused(
        f"A row names its owner in another spelling than the table of {model._meta.label} does (other letters, or blanks at the end), and "
        "the database takes both for the same. Write it there as the owner has it. Nothing was changed."
    )


def recognisable(model: type[Model]) -> bool:
    """Whether a primary key alone says that edna has drawn it, for a pseudoprincipal or what is beside it."""
    return conf.pseudoprincipal_keys() == "negative" and isinstance(table_of(model).key[0], IntegerField)


def key_of(model: type[Model], reference: str, *, using: str) -> Any:
    """The raw primary key that `reference_of` wrote as text."""
    pk = model._meta.pk
    # Prepared here: on MariaDB, Django refuses to prepare an automatic key of 0, and columns are full of references to it.
    return pk.get_db_prep_value(pk.get_prep_value(pk.to_python(reference)), connection_of(using), prepared=True)


def unread(model: type[Model], references: Iterable[str], *, using: str) -> Iterator[Model]:
    """Instances with their primary keys alone: what else there is to know of them is read by whoever needs it."""
    key = model._meta.pk
    return (model.from_db(using, [key.attname], [key.to_python(reference)]) for reference in references)


def columns_that_refer(label: str) -> dict[str, tuple[str, str]]:
    """By the name of each column of a model that refers to rows, to which column of which model; ("", "") if that may be any row's key.

    A browser is told this to see which bags lie over each other. Under "" is the model's own key; there is nothing of no model.
    """
    try:
        model = apps.get_model(label)
    except (LookupError, ValueError):
        return {}
    own = {"": (model._meta.label_lower, str(getattr(model._meta.pk, "name", "")))}
    direct = {
        field.name: (table_of(field.related_model).label, field.target_field.name)
        for field in model._meta.concrete_fields
        if isinstance(field, ForeignKey) and not isinstance(field.related_model, str)
    }
    return own | direct | {key.fk_field: ("", "") for key in generic_keys(model)}


def without_row(model: type[Model], references: Sequence[str], *, using: str) -> list[str]:
    """Those of ``references`` that no row of the principal model has."""
    table = table_of(model)
    keys = [(key_of(model, reference, using=using),) for reference in references]
    there = {reference_of(model, key) for (key,) in raw.read(table, table.key_names, keys, lock=False, using=using)}
    return [reference for reference in references if reference not in there]
