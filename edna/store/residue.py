"""What may be left over in edna's tables, in pages: a page costs as many statements, however much is in it.

Decides nothing: whether something is residue depends on the application's rows, which this module does not know.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db.models import QuerySet
from django.db.models.functions import Length

from edna import shards
from edna.db import rows
from edna.db.cursors import connection_of
from edna.db.rows import table_of
from edna.models import PrincipalEntry, SessionLink
from edna.store import ENTRY_COLUMNS, Entry, entries_of
from edna.store.tags import entry_data, entry_tags

#: The number of an entry, whom it names, and whether its tag is right.
Named = tuple[int, str, bool]


def unlisted_pseudoprincipals(model: str, *, after: int, most: int, using: str) -> list[Named]:
    """Pseudoprincipals in whose list nothing is, in the order of their keys."""
    found = PrincipalEntry.objects.using(using).filter(
        model=model, natural=False, reference__isnull=False, id__gt=after
    )
    found = found.alias(size=Length("locators")).filter(size=0)
    return _named(found, most=most, using=using)


def attached(model: str, *, after: int, most: int, using: str) -> list[Named]:
    """Whoever has a row, or should have, in the order of their keys."""
    found = PrincipalEntry.objects.using(using).filter(model=model, reference__isnull=False, id__gt=after)
    return _named(found, most=most, using=using)


def _named(found: QuerySet[PrincipalEntry], *, most: int, using: str) -> list[Named]:
    tags, database = entry_tags(), shards.named(using)
    columns = ("id", "public_key", "model", "reference", "natural", "tag", "encapsulation_key")
    page = found.order_by("id").values_list(*columns)[:most]
    found_there = []
    for pk, key, model, reference, natural, tag, half in page:
        data = entry_data(pk, bytes(key), model, reference, natural, half, database=database)
        found_there.append((pk, str(reference), tags.is_right(tag, data)))
    return found_there


def locked_entries(ids: Collection[int], *, using: str) -> list[Entry]:
    """In the order of their keys; locked, so that nobody who is disguised or revealed meanwhile is lost."""
    if connection_of(using).vendor == "sqlite":
        # Nothing to lock a row with: a statement that could write takes the lock of the whole file.
        PrincipalEntry.objects.using(using).filter(id=0).update(natural=False)
    keys = [(pk,) for pk in ids]
    return entries_of(rows.read(table_of(PrincipalEntry), ENTRY_COLUMNS, keys, lock=True, using=using), using=using)


def session_links(*, after: int, most: int, using: str) -> list[tuple[int, str]]:
    """(id, session key), in the order of their keys."""
    found = SessionLink.objects.using(using).filter(id__gt=after)
    return list(found.order_by("id").values_list("id", "session_key")[:most])


def delete_session_links(ids: Iterable[int], *, using: str) -> None:
    # Nothing refers to them: no collecting, no signals.
    SessionLink.objects.using(using).filter(id__in=list(ids))._raw_delete(using)
