"""Tags for rows that are there: page by page and by their keys, so that memory does not grow with a table.

Decides nothing: whether a row with a wrong tag gets a right one is for the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Model, QuerySet

from edna import conf, shards
from edna.db import rows
from edna.db.cursors import connection_of
from edna.db.rows import table_of
from edna.models import PrincipalEntry
from edna.store.tags import Tags, entry_data, entry_tags

_AT_ONCE: Final = 1_000
#: By a check, which is to be quick. Keys are random: if many rows are so, one of the first is.
_LOOKED_AT: Final = 100
#: In place of the alias of another database: the site had one alone when the tag was made.
ALONE: Final = ""
#: The detail of the audit trail that says for which former place somebody has vouched; and what it says in place of an alias.
FORMERLY: Final = "formerly"
ONE_ALONE: Final = "one alone"


@dataclass(frozen=True)
class Tagged:
    """A table whose rows have tags: the columns that these are over, and how they are made.

    ``kind`` is for programs, ``words`` are one and several of it for people.
    """

    kind: str
    words: tuple[str, str]
    model: type[Model]
    columns: tuple[str, ...]
    tags: Callable[[], Tags]
    data: Callable[..., bytes | None]
    #: Which rows have one; all unless given.
    among: tuple[tuple[str, Any], ...] = ()
    #: Whether ``data`` is told, as ``database``, in which of several the row is: for tags that count in one of them alone.
    is_placed: bool = False

    def said(self, told: Sequence[Any], *, database: str | None) -> bytes | None:
        """What the tag of a row with these columns is over; None of what has not the shape of such a row. ``database`` is None where there
        is one alone."""
        return self.data(*told, database=database) if self.is_placed else self.data(*told)

    def is_of(self, place: str, told: Sequence[Any], tag: Any, tags: Tags) -> bool:
        """Whether the tag is right for a row of this place: an alias, or `ALONE`."""
        return self.is_placed and tags.is_right(tag, self.said(told, database=place or None))

    def rows(self, *, using: str) -> QuerySet[Any]:
        return self.model._base_manager.using(using).filter(**dict(self.among)).order_by("pk")


def entries(*, entry: int | None = None) -> Tagged:
    """All, or one of them."""
    columns = ("id", "public_key", "model", "reference", "natural", "encapsulation_key")
    among: tuple[tuple[str, Any], ...] = (("reference__isnull", False),)
    if entry is not None:
        among += (("id", entry),)
    words = ("public key", "public keys")
    return Tagged("entries", words, PrincipalEntry, columns, entry_tags, entry_data, among, is_placed=True)


#: By database, the names of tables to which this process has added the column of tags.
_new_columns: dict[str, set[str]] = {}


def note_new_column(table: str, *, using: str) -> None:
    _new_columns.setdefault(using, set()).add(table)


def take_new_columns(*, using: str) -> set[str]:
    """What was noted, once."""
    return _new_columns.pop(using, set())


@dataclass
class Found:
    """``older`` have a tag under a key that is not the first, ``wrong`` no right one; ``elsewhere`` are those of them that have the one of
    another database of the site, or of a site with one alone; ``tagged`` have a new one now, ``vouched`` of them were wrong."""

    looked_at: int = 0
    older: int = 0
    wrong: int = 0
    elsewhere: int = 0
    tagged: int = 0
    vouched: int = 0

    def add(self, more: Found) -> None:
        self.looked_at += more.looked_at
        self.older += more.older
        self.wrong += more.wrong
        self.elsewhere += more.elsewhere
        self.tagged += more.tagged
        self.vouched += more.vouched


def pages(tagged: Tagged, *, with_tag: bool | None = None, using: str) -> Iterator[list[int]]:
    """The keys of rows that have a tag, or should have one; of those ``with_tag`` or without, if that is given."""
    found = tagged.rows(using=using)
    found = found if with_tag is None else found.filter(tag__isnull=not with_tag)
    after = None
    while page := list(
        (found if after is None else found.filter(pk__gt=after)).values_list("pk", flat=True)[:_AT_ONCE]
    ):
        yield page
        after = page[-1]


def other_places(*, using: str) -> list[str]:
    """What a tag may name in place of this database, if the site has several."""
    several = conf.databases()
    return [ALONE, *(alias for alias in several if alias != using)] if several else []


def tag(tagged: Tagged, page: Collection[int], *, wrong_too: bool, using: str, formerly: str | None = None) -> Found:
    """Tag these rows anew, in the caller's transaction, where their tag is of an older key; with ``wrong_too``, where it is wrong; with
    ``formerly``, where it is right for a row of that place: an alias, or `ALONE`."""
    query = tagged.rows(using=using).filter(pk__in=list(page))
    if connection_of(using).vendor == "sqlite":
        # Nothing to lock a row with: a statement that could write takes the lock of the whole file.
        tagged.model._base_manager.using(using).filter(pk=0).update(tag=None)
    else:
        query = query.select_for_update()
    tags, found, new = tagged.tags(), Found(), []
    made, database, others = tags.maker(using=using), shards.named(using), other_places(using=using)
    for *told, held in query.values_list(*tagged.columns, "tag"):
        data = tagged.said(told, database=database)
        found.looked_at += 1
        if tags.is_newest(held, data):
            continue
        right = tags.is_right(held, data)
        found.older += right
        found.wrong += not right
        meant = not right and formerly is not None and tagged.is_of(formerly, told, held, tags)
        found.elsewhere += meant or (not right and any(tagged.is_of(each, told, held, tags) for each in others))
        # What has not the shape of such a row gets none.
        if data is not None and (right or wrong_too or meant):
            new.append((told[0], made(data)))
            found.vouched += not right
    found.tagged = len(new)
    if new:
        rows.update(table_of(tagged.model), ("tag",), new, using=using)
    return found


def any_tagged_alone(tagged: Tagged, *, using: str) -> bool:
    """Whether some of the first rows have the tag of a site with one database, on a site with several."""
    if not conf.databases():
        return False
    tags = tagged.tags()
    found = tagged.rows(using=using).values_list(*tagged.columns, "tag")[:_LOOKED_AT]
    return any(tagged.is_of(ALONE, told, held, tags) for *told, held in found)


def untagged(tagged: Tagged, *, using: str) -> int:
    """How many rows should have a tag, and have none."""
    return tagged.rows(using=using).filter(tag=None).count()


def count(tagged: Tagged, *, using: str) -> Found:
    """How many rows have a tag under which key; tags nothing."""
    tags, found, database = tagged.tags(), Found(), shards.named(using)
    for page in pages(tagged, using=using):
        for *told, held in tagged.rows(using=using).filter(pk__in=page).values_list(*tagged.columns, "tag"):
            data = tagged.said(told, database=database)
            found.looked_at += 1
            if not tags.is_newest(held, data):
                right = tags.is_right(held, data)
                found.older += right
                found.wrong += not right
    return found


def verdicts(tagged: Tagged, *, using: str) -> Iterator[bool]:
    """Of each row that has a tag, whether this site made it, in whichever database."""
    tags = tagged.tags()
    places = [shards.named(using) or ALONE, *other_places(using=using)]
    for page in pages(tagged, with_tag=True, using=using):
        found = tagged.rows(using=using).filter(pk__in=page).values_list(*tagged.columns, "tag")
        for *told, held in found:
            if tagged.is_placed:
                yield any(tagged.is_of(each, told, held, tags) for each in places)
            else:
                yield tags.is_right(held, tagged.said(told, database=None))


def checked(tagged: Tagged, *, using: str) -> Iterator[list[tuple[int, bool]]]:
    """Page by page, the keys of all rows, and whether their tags are right."""
    tags, database = tagged.tags(), shards.named(using)
    for page in pages(tagged, using=using):
        found = tagged.rows(using=using).filter(pk__in=page).values_list(*tagged.columns, "tag")
        yield [(told[0], tags.is_right(held, tagged.said(told, database=database))) for *told, held in found]
