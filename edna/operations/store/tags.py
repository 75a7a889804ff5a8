"""What the tags of jobs and of people on their lists are over: see `edna.store.tags`. Knows no table, and decides nothing."""

from __future__ import annotations

from typing import Any

from edna.records import values
from edna.store.tags import Tags


def job_tags() -> Tags:
    return Tags(b"edna.job.tag.001")


def job_data(
    pk: int,
    disguise: Any,
    params: Any,
    everybody: Any,
    schedule: Any,
    operator: Any,
    state: Any,
    keep_no_way_back: Any = False,
    *,
    database: str | None,
) -> bytes | None:
    """What a job does, to whom, for whom, and whether it is to; and, of one for good, that it is. Of several databases also in which one:
    primary keys are given anew in each, so a job that was copied to another one would be about others there."""
    if not isinstance(params, dict) or not all(isinstance(text, str) for pair in params.items() for text in pair):
        return None
    # Sorted: databases keep the members of a JSON object in an order of their own.
    said = [pk, disguise, sorted(params.items()), bool(everybody), schedule, operator, state]
    if database is not None:
        return values.encode([*said, bool(keep_no_way_back), database])
    # Jobs from before there were any for good keep their tags.
    return values.encode([*said, True] if keep_no_way_back else said)


def item_tags() -> Tags:
    return Tags(b"edna.jobitem.t.1")


def item_data(pk: int, job: int, reference: str) -> bytes:
    """Whom a job is about. Not how far it is: that changes for many at once, and nobody profits from it."""
    names = str(reference).encode("utf-8", "surrogatepass")
    return pk.to_bytes(8, "big", signed=True) + job.to_bytes(8, "big", signed=True) + names
