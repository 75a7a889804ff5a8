"""Companions in the database: made with their pseudoprincipals, asked whether anything hangs on them, and taken away with them.

Invariants (nothing linkable): a companion's row tells as little as that of its pseudoprincipal. (Nothing overwritten): one to which a
row of somebody refers is not taken away. What somebody has written into one goes with it, as what they have written into the
pseudoprincipal's own row (docs/decisions/0026). A number of statements that depends on the tables alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db.models import ForeignKey, Model

from edna import signals
from edna.companions import companions_of, links_to
from edna.coverage import Relation, relations_to
from edna.db import rows as raw
from edna.db.rows import Row, table_of
from edna.engine.books.announcements import News
from edna.engine.pseudoprincipals.new_rows import Kind, insert_new
from edna.spec import Pseudoprincipal

#: Of some companions' tables, the raw primary keys of pseudoprincipals who need none there.
Without = Mapping[type[Model], Collection[Any]]


def make(
    generator: type[Pseudoprincipal],
    model: type[Model],
    keys: Sequence[Any],
    *,
    using: str,
    without: Without | None = None,
) -> None:
    """The companions of those pseudoprincipals of ``model`` who have these raw primary keys: one statement for each table.

    Raises:
        SpecError: one cannot be made as the specification has it.
    """
    for companion in companions_of(generator, model):
        beside = [key for key in keys if key not in (without or {}).get(companion.model, ())]
        if beside:
            values = _values_of(companion.link, beside, using=using)
            given = {companion.link.name: [values[key] for key in beside]}
            insert_new(Kind(companion.model, companion.values, companion.said, given), len(beside), using=using)


#: Of one companion, what others may name it by: the columns that any relation refers to, with the values there.
Known = Mapping[str, Any]


def beside(
    model: type[Model], keys: Sequence[Any], *, lock: bool, using: str
) -> dict[ForeignKey[Any, Any], list[tuple[Any, Known]]]:
    """By link, the companions of those with these raw primary keys: beside whom each is, and what others may name it by. Locks them,
    with ``lock``. No statement for a table to which nothing refers."""
    links = [link for link in sorted(links_to(model), key=str) if named_by(link)] if keys else []
    return {link: rows_beside(link, keys, lock=lock, using=using) for link in links}


def rows_beside(link: ForeignKey[Any, Any], keys: Sequence[Any], *, lock: bool, using: str) -> list[tuple[Any, Known]]:
    """Of one link, whether or not anything refers to its table."""
    whose = {value: key for key, value in _values_of(link, keys, using=using).items()}
    table, names = table_of(link.model), named_by(link)
    rows = raw.read_where(table, (link.name, *names), link.name, list(whose), lock=lock, using=using)
    return [(whose[value], dict(zip(names, known, strict=True))) for value, *known in rows]


def named_by(link: ForeignKey[Any, Any]) -> tuple[str, ...]:
    """The columns of a companion's table that any relation refers to."""
    return tuple(dict.fromkeys(relation.field.target_field.name for relation in relations_to(link.model)))


def referred_to(
    link: ForeignKey[Any, Any], companions: Sequence[tuple[Any, Known]], *, lock: bool, using: str
) -> dict[Relation, set[Any]]:
    """By relation, beside whom those of these companions are to which a row of its table refers."""
    found: dict[Relation, set[Any]] = {}
    relations = relations_to(link.model)
    for target in named_by(link) if companions else ():
        whose = {known[target]: key for key, known in companions}
        for relation in _referring(relations, target, list(whose), lock=lock, using=using):
            other = table_of(relation.model)
            held = raw.held_values(other, relation.field.name, list(whose), lock=False, using=using)
            found[relation] = {whose[value] for value in held}
    return found


def held_on_to(
    model: type[Model], keys: Sequence[Any], *, lock: bool, using: str
) -> dict[ForeignKey[Any, Any], set[Any]]:
    """By link, those of these raw primary keys to whose companion a row of any table refers. Locks the companions, with ``lock``."""
    return {
        link: set().union(*referred_to(link, there, lock=lock, using=using).values())
        for link, there in beside(model, keys, lock=lock, using=using).items()
    }


def _referring(
    relations: Sequence[Relation], target: str, values: Sequence[Any], *, lock: bool, using: str
) -> list[Relation]:
    """Those by which a row refers to one that has one of these values there. Nearly always none, so all are asked at once."""
    asked = [relation for relation in relations if relation.field.target_field.name == target]
    found: list[Relation] = []
    # Without a foreign key, nothing would refuse: there a look that locks, and waits for whoever writes now, is needed.
    for unsafe in (False, True):
        part = [relation for relation in asked if (lock and not relation.is_enforced) is unsafe]
        places = [(table_of(relation.model), relation.field.name) for relation in part]
        found += [part[place] for place in raw.holding(places, values, lock=unsafe, using=using)]
    return found


def remove(model: type[Model], keys: Sequence[Any], news: News, *, using: str) -> dict[str, list[Row]]:
    """Delete the companions of those with these raw primary keys; which rows, by label."""
    gone: dict[str, list[Row]] = {}
    for link in sorted(links_to(model), key=str) if keys else ():
        table, values = table_of(link.model), list(_values_of(link, keys, using=using).values())
        gone[table.label] = raw.read_where(table, table.key_names, link.name, values, lock=True, using=using)
        raw.delete(table, gone[table.label], using=using)
        news.note(signals.rows_removed, table, table.key_names, gone[table.label])
    return gone


def _values_of(link: ForeignKey[Any, Any], keys: Sequence[Any], *, using: str) -> dict[Any, Any]:
    """By what the link names those with these raw primary keys."""
    if link.target_field.primary_key:
        return dict(zip(keys, keys, strict=True))
    table = table_of(link.target_field.model)
    names = (*table.key_names, link.target_field.name)
    return dict(raw.read(table, names, [(key,) for key in keys], lock=False, using=using))
