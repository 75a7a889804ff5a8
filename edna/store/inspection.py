"""Edna's tables as they are, page by page and by their keys, for whoever looks for damage. Nothing is trusted to have its shape.

A page costs as many statements, however much is in it; sealed bytes are not read whole. Reads only.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import BinaryField, Count, Model, Q, QuerySet
from django.db.models.functions import Length, Substr

from edna import shards
from edna.crypto.keys import PublicKey
from edna.db.short_values import number_of
from edna.errors import KeyMalformed
from edna.models import Bag, KeySlot, PrincipalEntry, Replay, SessionLink
from edna.store import ENDING, PendingFile, file_task_ids, file_tasks
from edna.store.tags import entry_data, entry_tags
from edna.store.vouching import other_places

_AT_ONCE: Final = 500

#: What the database itself should keep unique: a copy that was restored without its indexes may not.
UNIQUE: Final[tuple[tuple[type[Model], tuple[str, ...]], ...]] = (
    (PrincipalEntry, ("public_key",)),
    (PrincipalEntry, ("reference", "model")),
    (KeySlot, ("slot_id",)),
    (Bag, ("index",)),
    (SessionLink, ("session_key",)),
)


@dataclass(frozen=True, slots=True)
class SeenEntry:
    """Of a principal, with lengths for what is sealed. ``number`` is the one that follows from the key, under which it is looked for."""

    id: int
    number: int
    public_key: Any
    model: str
    reference: str | None
    natural: bool
    locators_bytes: int
    last_seen_on: datetime.date | None
    expires_on: datetime.date | None
    has_tag: bool
    sound: bool
    #: Whether its tag is that of another database of the site, or of a site with one alone.
    is_of_another: bool
    encapsulation_key: Any
    is_under_way: bool


@dataclass(frozen=True, slots=True)
class SeenBag:
    id: int
    index_bytes: int
    #: The number that follows from its index, under which it is looked for.
    number: int
    beginning: bytes
    bytes: int
    expires_on: datetime.date | None


def _pages(query: QuerySet[Any], *, most: int = _AT_ONCE) -> Iterator[list[tuple[Any, ...]]]:
    """Rows of ``query``, whose first value is the key, in the order of their keys."""
    after = None
    while page := list((query if after is None else query.filter(pk__gt=after)).order_by("pk")[:most]):
        yield page
        after = page[-1][0]


def entries(*, using: str) -> Iterator[list[SeenEntry]]:
    found = PrincipalEntry.objects.using(using).annotate(a=Length("locators"))
    names = (
        "id",
        "public_key",
        "model",
        "reference",
        "natural",
        "a",
        "last_seen_on",
        "expires_on",
        "tag",
        "encapsulation_key",
        "under_way",
    )
    tags, database, others = entry_tags(), shards.named(using), other_places(using=using)
    for page in _pages(found.values_list(*names)):
        seen = []
        for row in page:
            pk, key, model, reference, natural, listed, last_seen_on, expires_on, tag, half, under_way = row
            said = (pk, bytes(key), model, reference, natural, half)
            sound = reference is None or tags.is_right(tag, entry_data(*said, database=database))
            of_another = not sound and any(
                tags.is_right(tag, entry_data(*said, database=each or None)) for each in others
            )
            has_tag, is_under_way = tag is not None, under_way is not None
            seen.append(
                SeenEntry(
                    *(pk, number_of(bytes(key)), key, model, reference, natural, listed, last_seen_on, expires_on),
                    *(has_tag, sound, of_another, half, is_under_way),
                )
            )
        yield seen


def keys_of_people(*, using: str) -> Iterator[list[PublicKey]]:
    """Public keys of those who may have a way back: who is there and no pseudoprincipal, and whoever was removed. Not what is no key."""
    found = PrincipalEntry.objects.using(using).filter(Q(natural=True) | Q(reference__isnull=True))
    for page in _pages(found.values_list("id", "public_key")):
        yield [key for _, raw in page for key in _sound_key(raw)]


def _sound_key(raw: bytes) -> Iterator[PublicKey]:
    with suppress(KeyMalformed):
        yield PublicKey(bytes(raw))


def bags(*, beginning: int, using: str) -> Iterator[list[SeenBag]]:
    found = Bag.objects.using(using).annotate(
        a=Length("index"),
        b=Substr("index", 1, 8, output_field=BinaryField()),
        c=Substr("sealed", 1, beginning, output_field=BinaryField()),
        d=Length("sealed"),
    )
    for page in _pages(found.values_list("id", "a", "b", "c", "d", "expires_on")):
        yield [
            SeenBag(pk, length, number_of(bytes(index)), bytes(sealed), size, day)
            for pk, length, index, sealed, size, day in page
        ]


def slots(*, using: str) -> Iterator[list[tuple[int, int, int, int]]]:
    """(id, and the lengths of slot id, tag and wrapped key)."""
    found = KeySlot.objects.using(using).annotate(a=Length("slot_id"), b=Length("tag"), c=Length("wrapped"))
    for page in _pages(found.values_list("id", "a", "b", "c")):
        yield [(row[0], row[1], row[2], row[3]) for row in page]


def slot_versions(tags: Collection[bytes] | None = None, *, using: str) -> Iterator[list[tuple[bytes, bytes]]]:
    """(tag, first byte) of all key slots, or of those with these tags."""
    found = KeySlot.objects.using(using) if tags is None else KeySlot.objects.using(using).filter(tag__in=list(tags))
    found = found.annotate(a=Substr("wrapped", 1, 1, output_field=BinaryField()))
    for page in _pages(found.values_list("id", "tag", "a")):
        yield [(bytes(tag), bytes(first)) for _, tag, first in page]


def replays(*, using: str) -> Iterator[list[tuple[int, bytes]]]:
    # Few at once: each may be large, and is read whole.
    for page in _pages(Replay.objects.using(using).values_list("id", "sealed"), most=50):
        yield [(pk, bytes(sealed)) for pk, sealed in page]


def pending_files(*, using: str) -> Iterator[list[PendingFile]]:
    ids = file_task_ids(using=using)
    for start in range(0, len(ids), _AT_ONCE):
        yield file_tasks(ids[start : start + _AT_ONCE], using=using)


def some_session_tags(*, most: int, using: str) -> list[bytes]:
    linked = SessionLink.objects.using(using).exclude(owner_tag=ENDING)
    found = linked.order_by("id").values_list("owner_tag", flat=True)[:most]
    return [bytes(tag) for tag in found]


def duplicates(model: type[Model], columns: tuple[str, ...], *, most: int, using: str) -> list[int]:
    """Keys of rows that have the values of these columns together with another row: some, if there are many."""
    known = model._base_manager.using(using).filter(**{f"{name}__isnull": False for name in columns})
    twice = known.values(*columns).annotate(count=Count("pk")).filter(count__gt=1).order_by()
    same = Q()
    for row in twice[:most]:
        same |= Q(**{name: row[name] for name in columns})
    return list(known.filter(same).order_by("pk").values_list("pk", flat=True)[:most]) if same else []
