"""Makes pseudoprincipals: rows of the principal model that own what was decorrelated, each with a key pair.

Invariant (nothing linkable): nothing in the row tells when it was made, by which disguise, or which others were made with it.
Primary keys are random and never touch the table's auto-increment (docs/decisions/0001). Companions are made along with them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import Model

from edna import conf
from edna.crypto.keys import SecretKey, generate_key_pairs
from edna.db import rows as raw
from edna.db.rows import table_of
from edna.engine.graph.references import reference_of
from edna.engine.pseudoprincipals import companions, new_rows
from edna.engine.pseudoprincipals.new_rows import Kind, insert_new
from edna.keypool import pool
from edna.spec import Pseudoprincipal
from edna.store import Entry, NewEntry, add_entries, add_free_entries


class Made(NamedTuple):
    """A new pseudoprincipal: its raw primary key, its key pair, the raw value by which foreign keys refer to it, its entry."""

    key: Any
    secret_key: SecretKey
    value: Any
    entry: Entry


def make(
    generator: type[Pseudoprincipal], model: type[Model], wanted: Sequence[tuple[int, str | None]], *, using: str
) -> list[list[Made]]:
    """New pseudoprincipals for each of several (count, refers_to), rows and entries inserted in one statement each for all of them.

    ``refers_to`` names the column that a foreign key refers to, if it is not the primary key; it is read back.

    Raises:
        SpecError: the generator does not say how to fill a column, or the primary key cannot be random.
    """
    total = sum(count for count, _ in wanted)
    if not total:
        return [[] for _ in wanted]
    kind = _kind(generator, model)  # type: ignore[arg-type]  # classes are hashable
    keys = insert_new(kind, total, using=using)
    companions.make(generator, model, keys, using=using)
    table = table_of(model)
    values: dict[str | None, dict[Any, Any]] = {}
    for name in {refers_to for count, refers_to in wanted if count} - {None, *table.key_names}:
        names = (*table.key_names, str(name))
        values[name] = dict(raw.read(table, names, [(key,) for key in keys], lock=False, using=using))
    made = ((key, *given) for key, given in zip(keys, give_keys(model, keys, using=using), strict=True))
    return [
        [Made(key, pair, values[refers_to][key] if refers_to in values else key, entry) for key, pair, entry in part]
        for count, refers_to in wanted
        for part in [islice(made, count)]
    ]


def give_keys(model: type[Model], keys: Sequence[Any], *, using: str) -> list[tuple[SecretKey, Entry]]:
    """A key pair that nobody has, and an entry, for each of these raw primary keys; in one statement.

    That an entry has the public key already means that the pool is a copy of another process's (of one that was frozen and begun again
    several times, say): the rest of it is not used either.

    Raises:
        PrincipalAlreadyRegistered: one of them has an entry already.
    """
    label = model._meta.label_lower
    pairs = pool.take(len(keys))
    references = [reference_of(model, key) for key in keys]
    new = [_new_entry(pair, label, reference) for pair, reference in zip(pairs, references, strict=True)]
    entries = add_free_entries(new, using=using)
    taken = [position for position, entry in enumerate(entries) if entry is None]
    if taken:
        pool.wipe()
        for position, pair in zip(taken, generate_key_pairs(len(taken), hybrid=conf.is_hybrid()), strict=True):
            pairs[position] = pair
        again = [_new_entry(pairs[position], label, references[position]) for position in taken]
        for position, entry in zip(taken, add_entries(again, using=using), strict=True):
            entries[position] = entry
    return [(pair, entry) for pair, entry in zip(pairs, entries, strict=True) if entry is not None]


def _new_entry(pair: SecretKey, label: str, reference: str) -> NewEntry:
    public_key = pair.public_key
    return NewEntry(bytes(public_key), label, reference, False, public_key.encapsulation_key)


def insert_again(
    generator: type[Pseudoprincipal],
    model: type[Model],
    keys: Sequence[Any],
    *,
    using: str,
    without: companions.Without | None = None,
) -> dict[Any, Any]:
    """Rows with these raw primary keys, their other columns as those of new pseudoprincipals have them, and companions but for
    those ``without``.

    Return under which key each is: another one, where somebody else has got it by now. Raises as `make` does.
    """
    table = table_of(model)
    kind = _kind(generator, model)  # type: ignore[arg-type]  # as above
    taken = {key for (key,) in raw.read(table, table.key_names, [(key,) for key in keys], lock=True, using=using)}
    missing = [key for key in keys if key not in taken]
    if missing:
        new_rows.insert_again(kind, missing, using=using)
    renamed = zip(sorted(taken, key=str), insert_new(kind, len(taken), using=using) if taken else (), strict=True)
    now = {**{key: key for key in missing}, **dict(renamed)}
    companions.make(
        generator,
        model,
        list(now.values()),
        without={of: [now[key] for key in known if key in now] for of, known in (without or {}).items()},
        using=using,
    )
    return now


@functools.lru_cache(maxsize=256)
def _kind(generator: type[Pseudoprincipal], model: type[Model]) -> Kind:
    return Kind(model, generator.values, f"{generator.__name__}.values")
