"""What the tags of rows are over: see `edna.store.tags`.

Invariant (nothing forged): who writes to the database and has no key of the server founds no audience, shares no secret, names nobody, and
changes neither what was asked for nor what lies at a place. Such a row is refused, and stays as evidence. A tag is over all columns but
those that nobody profits from (``HoldRequest.uses``). Of several databases it names the one in which the row is: primary keys are given
anew in each, so a row that was copied to another one would be about somebody else there. What it cannot tell is in `edna.store.tags`.
Updates are signed by members besides. Does not know who reads rows.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from django.db.models import Model

from edna import inner_door, shards
from edna.audiences.models import AudienceName, AudienceUpdate, HeldCopy, HoldRequest, SharedSecret
from edna.errors import AudienceForged
from edna.records import values

#: Of one of the tables below.
TaggedRow = TypeVar("TaggedRow", bound=Model)

#: By table: purpose, and columns in their order.
_OVER: Final[dict[type[Any], tuple[bytes, tuple[str, ...]]]] = {
    AudienceUpdate: (b"edna.aud.updat.1", ("id", "audience", "sequence", "update")),
    AudienceName: (b"edna.aud.name.1", ("id", "audience", "member", "name")),
    SharedSecret: (b"edna.aud.share.1", ("id", "audience", "together", "epoch", "dealer", "said")),
    HeldCopy: (b"edna.held.tag.1", ("id", "place", "mark", "shared_by", "sealed")),
    HoldRequest: (
        b"edna.held.ask.1",
        ("id", "audience", "together", "asked_by", "asked_on", "model", "reference", "reason", "places"),
    ),
}


#: The same tables, as whoever verifies and tags anew names them.
_CALLED: Final[dict[type[Any], tuple[str, tuple[str, str]]]] = {
    AudienceUpdate: ("audience_updates", ("update of an audience", "updates of audiences")),
    AudienceName: ("audience_names", ("name of a member", "names of members")),
    SharedSecret: ("audience_shares", ("set of shares", "sets of shares")),
    HeldCopy: ("held_copies", ("copy that is held", "copies that are held")),
    HoldRequest: ("hold_requests", ("request of a member", "requests of members")),
}


def tables() -> list[inner_door.Tagged]:
    return [
        inner_door.Tagged(kind, words, model, columns, partial(inner_door.tags_of, purpose), _said, is_placed=True)
        for model, (purpose, columns) in _OVER.items()
        for kind, words in (_CALLED[model],)
    ]


def give(rows: Sequence[Any], *, using: str) -> None:
    """Tag these of one table, under the first of the server's keys; nothing is written.

    Raises: ServerKeyUnknown
    """
    if not rows:
        return
    made = inner_door.tags_of(_OVER[type(rows[0])][0]).maker(using=using)
    for row in rows:
        row.tag = made(_data(row, using=using))


def require(rows: Iterable[TaggedRow], *, using: str) -> list[TaggedRow]:
    """Return these, of one table, if this site has tagged each, in this database.

    Raises: AudienceForged
    """
    found = list(rows)
    if not found:
        return found
    right = inner_door.tags_of(_OVER[type(found[0])][0])
    row: Any
    for row in found:
        if not right.is_right(row.tag, _data(row, using=using)):
            raise AudienceForged(
                f"Row {row.pk} of {row._meta.db_table}{shards.in_words(using)} does not carry this site's tag{_for_there(using)}: it was "
                'written or changed past edna, or under a server key that is not in EDNA["MAC_KEYS"] now. Nothing was changed. Put a '
                "missing key back behind the present one; otherwise find out who wrote to the table, and restore the row from a backup."
            )
    return found


def is_right(row: Any, *, using: str) -> bool:
    """Whether this site has tagged it."""
    return inner_door.tags_of(_OVER[type(row)][0]).is_right(row.tag, _data(row, using=using))


def is_newest(row: Any, *, using: str) -> bool:
    """Whether its tag is right, and under the first of the server's keys."""
    return inner_door.tags_of(_OVER[type(row)][0]).is_newest(row.tag, _data(row, using=using))


def _for_there(using: str) -> str:
    return " for that database" if shards.named(using) else ""


def _data(row: Any, *, using: str) -> bytes:
    return _said(*(getattr(row, column) for column in _OVER[type(row)][1]), database=shards.named(using))


def _said(*columns: Any, database: str | None) -> bytes:
    said: Any = [_plain(each) for each in columns]
    return values.encode(said if database is None else [*said, database])


def _plain(value: Any) -> Any:
    """As every database gives it."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    return bytes(value) if isinstance(value, (memoryview, bytearray)) else value
