"""Makes pseudoprincipals: rows of the principal model that own what was decorrelated, each with a key pair.

Invariant (nothing linkable): nothing in the row tells when it was made, by which disguise, or which others were made with it.
Primary keys are random and never touch the table's auto-increment (docs/decisions/0001).
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from django.db import IntegrityError, connections
from django.db.models import BigIntegerField, Field, IntegerField, Model, UUIDField
from django.db.models.fields import CharField

from edna import conf, coverage, placeholders
from edna.crypto.keys import SecretKey, generate_key_pairs
from edna.db import rows as raw
from edna.db.rows import Row, Table, table_of
from edna.engine.graph.references import reference_of
from edna.errors import SpecError
from edna.keypool import pool
from edna.spec import Pseudoprincipal, filler
from edna.store import Entry, add_entries, add_free_entries

#: The largest integer that JavaScript reads exactly: admin pages and JSON APIs round anything beyond.
_SAFE_INTEGER: Final = 2**53 - 1
#: How often keys are drawn again because rows have them already.
_DRAWS: Final = 20


class Made(NamedTuple):
    """A new pseudoprincipal: its raw primary key, its key pair, the raw value by which foreign keys refer to it, its entry."""

    key: Any
    secret_key: SecretKey
    value: Any
    entry: Entry


def make(
    generator: type[Pseudoprincipal], model: type[Model], count: int, *, using: str, refers_to: str | None = None
) -> list[Made]:
    """``count`` new pseudoprincipals, rows and entries inserted in one statement each.

    ``refers_to`` names the column that a foreign key refers to, if it is not the primary key; it is read back.

    Raises:
        SpecError: the generator does not say how to fill a column, or the primary key cannot be random.
    """
    (made,) = make_for_all(generator, model, [(count, refers_to)], using=using)
    return made


def make_for_all(
    generator: type[Pseudoprincipal], model: type[Model], wanted: Sequence[tuple[int, str | None]], *, using: str
) -> list[list[Made]]:
    """As `make` does it, for each of several (count, refers_to), in as few statements as for one."""
    total = sum(count for count, _ in wanted)
    if not total:
        return [[] for _ in wanted]
    keys = _insert_rows(generator, model, total, using=using)
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
    new = [
        (bytes(pair.public_key), label, reference_of(model, key), False) for key, pair in zip(keys, pairs, strict=True)
    ]
    entries = add_free_entries(new, using=using)
    taken = [position for position, entry in enumerate(entries) if entry is None]
    if taken:
        pool.wipe()
        for position, pair in zip(taken, generate_key_pairs(len(taken)), strict=True):
            pairs[position] = pair
        again = [(bytes(pairs[position].public_key), *new[position][1:]) for position in taken]
        for position, entry in zip(taken, add_entries(again, using=using), strict=True):
            entries[position] = entry
    return [(pair, entry) for pair, entry in zip(pairs, entries, strict=True) if entry is not None]


def insert_again(
    generator: type[Pseudoprincipal], model: type[Model], keys: Sequence[Any], *, using: str
) -> dict[Any, Any]:
    """Rows with these raw primary keys, their other columns as those of new pseudoprincipals have them.

    Return under which key each is: another one, where somebody else has got it by now. Raises as `make` does.
    """
    table = table_of(model)
    taken = {key for (key,) in raw.read(table, table.key_names, [(key,) for key in keys], lock=True, using=using)}
    missing = [key for key in keys if key not in taken]
    if missing:
        _insert_filled(generator, model, missing, using=using)
    renamed = zip(
        sorted(taken, key=str), _insert_rows(generator, model, len(taken), using=using) if taken else (), strict=True
    )
    return {**{key: key for key in missing}, **dict(renamed)}


def _insert_rows(generator: type[Pseudoprincipal], model: type[Model], count: int, *, using: str) -> list[Any]:
    table = table_of(model)
    connection = connections[using]
    if len(table.key) != 1 or any(coverage.parent_links(table.model)):
        raise SpecError(
            f"{model._meta.label}: pseudoprincipals need a model with one table and one primary key column."
        )
    key, *others = sorted(table.fields, key=lambda column: column is not table.key[0])
    fillers = {column: filler(generator, column) for column in others}
    if conf.pseudoprincipal_keys() == "sequence" and isinstance(key, IntegerField):
        drawn = {
            column: [placeholder.make(column, None) for _ in range(count)] for column, placeholder in fillers.items()
        }
        return _insert_in_sequence(model, drawn, count, using=using)
    # Wide keys do not meet by chance, so nothing is asked about them. That a narrow one is taken MariaDB says itself.
    narrow = isinstance(key, IntegerField) and not isinstance(key, BigIntegerField)
    for look in (False, True) if connection.vendor == "mysql" or not narrow else (True,):
        keys = _free_keys(key, count, table, using=using) if look else _random_keys(key, count, connection)
        prepared = [key.get_db_prep_save(value, connection) for value in keys]
        if narrow and not look:
            if _inserted_whole(generator, model, prepared, using=using):
                break
            continue
        _insert_filled(generator, model, prepared, using=using)
        break
    # As the driver will read them: MariaDB's takes a UUID and answers with text.
    return [str(k) if connection.vendor == "mysql" and isinstance(k, uuid.UUID) else k for k in prepared]


def _insert_filled(generator: type[Pseudoprincipal], model: type[Model], keys: Sequence[Any], *, using: str) -> None:
    """Rows with these primary keys, prepared for the database, and placeholders in all other columns."""
    names, rows = _filled(generator, model, keys, using=using)
    raw.insert(table_of(model), names, rows, using=using)


def _inserted_whole(generator: type[Pseudoprincipal], model: type[Model], keys: Sequence[Any], *, using: str) -> bool:
    """`_insert_filled`, if the database does not refuse a row, in a statement that it undoes by itself then."""
    names, rows = _filled(generator, model, keys, using=using)
    try:
        if raw.in_one_statement(rows, using=using):
            raw.insert(table_of(model), names, rows, using=using)
            return True
    except IntegrityError:
        # A key is taken; if it is something else, those that are free will say so again.
        pass
    return False


def _filled(
    generator: type[Pseudoprincipal], model: type[Model], keys: Sequence[Any], *, using: str
) -> tuple[list[str], list[Row]]:
    table, connection, count = table_of(model), connections[using], len(keys)
    key, *others = sorted(table.fields, key=lambda column: column is not table.key[0])
    fillers = {column: filler(generator, column) for column in others}
    prepared = [list(keys)]
    for column, placeholder in fillers.items():
        draws = 1 if placeholder.fixed else count
        values = [column.get_db_prep_save(placeholder.make(column, None), connection) for _ in range(draws)]
        prepared.append(values * count if placeholder.fixed else values)
    # By the random key: in the order of creation, neighbours in the file would be pseudoprincipals of one person.
    return [column.name for column in (key, *fillers)], sorted(zip(*prepared, strict=True), key=lambda row: row[0])


def _insert_in_sequence(
    model: type[Model], columns: dict[Field[Any, Any], list[Any]], count: int, *, using: str
) -> list[Any]:
    """For applications that cannot live with random keys: the keys then tell which rows were made together."""
    rows = [model(**{column.attname: values[row] for column, values in columns.items()}) for row in range(count)]
    return [row.pk for row in model._base_manager.using(using).bulk_create(rows)]


def _free_keys(key: Field[Any, Any], count: int, table: Table, *, using: str) -> list[Any]:
    """``count`` random keys that no row has."""
    keys = dict.fromkeys(_random_keys(key, count, connections[using]))
    for _ in range(_DRAWS):
        for (taken,) in raw.read(table, table.key_names, [(each,) for each in keys], lock=False, using=using):
            del keys[taken]
        if len(keys) == count:
            return list(keys)
        # Only those that are missing: among many rows, some of a large draw are always taken.
        keys |= dict.fromkeys(_random_keys(key, count - len(keys), connections[using]))
    raise SpecError(
        f"{table.model._meta.label} has too few possible primary keys for {count} more pseudoprincipals; give it a wider key."
    )


def _random_keys(field: Field[Any, Any], count: int, connection: Any) -> list[Any]:
    if isinstance(field, UUIDField):
        return [uuid.uuid4() for _ in range(count)]
    if isinstance(field, IntegerField):
        low, high = connection.ops.integer_field_range(field.get_internal_type())
        low, high = max(low or -_SAFE_INTEGER, -_SAFE_INTEGER), min(high or _SAFE_INTEGER, _SAFE_INTEGER)
        if conf.pseudoprincipal_keys() == "negative":
            if low >= 0:
                raise SpecError(
                    f"{field.model._meta.label} has an unsigned primary key, so pseudoprincipals cannot have negative ones: "
                    'set EDNA["PSEUDOPRINCIPAL_KEYS"] to "random" or "sequence".'
                )
            return _random_integers(low + 1, -1, count)
        # The upper half: far from the rows that exist. The table's auto-increment goes on from the highest of them.
        return _random_integers(high // 2, high - 1, count)
    if isinstance(field, CharField):
        return [placeholders.random_string().make(field, None) for _ in range(count)]
    raise SpecError(
        f"{field.model._meta.label}: no random primary keys for a {type(field).__name__}; use an integer, UUID or text key."
    )


def _random_integers(lowest: int, highest: int, count: int) -> list[int]:
    """From one call to the system's generator; of 128 bits each, so that all are as likely."""
    drawn = secrets.token_bytes(16 * count)
    several = (int.from_bytes(drawn[start : start + 16], "big") for start in range(0, len(drawn), 16))
    return [lowest + number % (highest - lowest + 1) for number in several]
