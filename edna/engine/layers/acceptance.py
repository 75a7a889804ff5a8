"""What a person gives up: records that others stand in the way of, and that are to be forgotten instead of kept.

Invariant (nothing lost): only what the person names, or what the specification says of today, and only after it was tried in the same
transaction. Accounts, rows that others hold as well, and blobs of the application cannot be given up.
Knows opened records and held ones; reads and writes no tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.apps import apps
from django.db.models import ForeignKey

from edna import registry
from edna.db.rows import table_of
from edna.engine.bags.opened_bag import Opened
from edna.engine.graph.outcome import Held, Outcome, Reason, named
from edna.errors import InvalidParameters
from edna.records.diff import Changed, Removed, RowBatch
from edna.spec import All

#: Rows by the label of their table and their key, as `Held` names them, and for what they are held: the reason, and the field.
Rows = Mapping[tuple[str, Any], Collection[tuple[Reason, str | None]]]
#: What a caller accepts: these, or whatever is held.
Accepted = Collection[Held] | All
#: What the specification accepts by itself: reasons, by the label of a model.
Policy = Mapping[str, Collection[str]]

#: These are said of rows that a disguise changed, and never of removed ones.
_OF_CHANGED_ROWS = frozenset({Reason.CHANGED, Reason.ROW_MISSING})


def require_held(accepted: Accepted) -> None:
    """
    Raises:
        InvalidParameters: it is neither `edna.ALL` nor made of what an outcome holds.
    """
    if not isinstance(accepted, All) and not all(isinstance(each, Held) for each in accepted):
        raise InvalidParameters(
            "accept takes rows of an outcome, accept=outcome.held, or edna.ALL for whatever is held. Nothing was changed."
        )


def rows_to_give_up(outcome: Outcome, accepted: Accepted, policy: Policy, *, given_up: Rows) -> Rows:
    """Of what is still held: the rows that the caller or the specification gives up, beside those that are ``given_up`` already.

    None as long as an account is held: what belongs to it waits for it, and is not in anybody's way. Of a row, all or nothing; of an
    object in several tables, too, whichever of them is named. Of "whatever is held", nothing that only waits for other such rows: it is
    tried again once these are given up, and may come back without them.
    """
    held = outcome.held
    accounts = {table_of(model).label for model in registry.principal_models()}
    if any(each.model in accounts and each.reason not in _OF_CHANGED_ROWS for each in held):
        return {}
    by_itself = {(label.lower(), str(reason)) for label, reasons in policy.items() for reason in reasons}
    by_caller = None if isinstance(accepted, All) else {(each.model, str(each.pk)) for each in accepted}
    objects: dict[tuple[str, Any], list[Held]] = {}
    for each in held:
        objects.setdefault((_first_table(each.model), each.pk), []).append(each)
    rows: dict[tuple[str, Any], dict[tuple[Reason, str | None], None]] = {}
    by_themselves: set[tuple[str, Any]] = set()
    for parts in objects.values():
        tables = {each.model.lower() for each in parts}
        # That it waits for what is held as well, and may come back, is no reason of its own: a specification speaks of what is gone.
        reasons = {str(each.reason) for each in parts if each not in outcome.behind_sealed}
        meant = (
            by_caller is None
            or any((each.model, str(each.pk)) in by_caller for each in parts)
            or not by_itself.isdisjoint(itertools.product(tables, reasons))
        )
        if meant and all(each.reason.can_be_accepted for each in parts):
            for each in parts:
                rows.setdefault((each.model, each.pk), {})[each.reason, each.field] = None
            if by_caller is not None or reasons:
                by_themselves.update((each.model, each.pk) for each in parts)
    more = {row: why for row, why in rows.items() if row not in given_up}
    # Those that are left wait for each other, or for what stays.
    return {row: why for row, why in more.items() if row in by_themselves} or more


def _first_table(label: str) -> str:
    """The one that all tables of an object begin with, as far as they have one key."""
    try:
        key = apps.get_model(label)._meta.pk
    except (LookupError, ValueError):  # there is no such model any more
        return label
    if not isinstance(key, ForeignKey) or not key.remote_field.parent_link or isinstance(key.related_model, str):
        return label
    return _first_table(table_of(key.related_model).label)


def give_up(bags: Iterable[Opened], rows: Collection[tuple[str, Any]], outcome: Outcome) -> set[tuple[str, Any]]:
    """Take the records of these rows out of the bags, and return whose there were; they are erased with the rest of what is revealed."""
    given_up: set[tuple[str, Any]] = set()

    def left_of(batch: RowBatch) -> RowBatch:
        keys = [(batch.model, named(key)) for key in batch.primary_keys()]
        given_up.update(key for key in keys if key in rows)
        return replace(batch, rows=[row for row, key in zip(batch.rows, keys, strict=True) if key not in rows])

    for opened in bags if rows else ():
        for batch in opened.diffs:
            if isinstance(batch, Removed | Changed):
                opened.exchange(batch, left_of(batch))
        opened.keep_stuck(replace(each, batch=left_of(each.batch)) for each in opened.stuck)
    for model, key in sorted(given_up, key=str):
        outcome.accept(model, key)
    return given_up
