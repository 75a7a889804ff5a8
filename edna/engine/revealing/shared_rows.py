"""The steps of a reveal about rows that others own, too: who is away keeps them back, and whoever comes back last brings them back.

Invariant (nothing lost): what waits lies in a shared bag to which the revealed one leads, and which the others have in their lists.
Knows opened records and one reveal's progress (`surroundings.owners` knows who is there, `surroundings.handed_over` who finds what waits).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edna.db.rows import Row
from edna.engine.bags.opened_bag import Opened
from edna.engine.forwarding.walk import table_by_label
from edna.engine.graph.outcome import Held, Reason, named
from edna.engine.layers import mentions
from edna.engine.layers.folding import Folding
from edna.engine.layers.joint_batches import joint_batches
from edna.engine.layers.stack import Layer, Stack
from edna.engine.planning.mentions import pointer
from edna.engine.planning.owners import goes_with_each, tables_in_common
from edna.engine.revealing.progress import Progress, Reveal, hold, note_absent
from edna.engine.revealing.undo import put_back
from edna.engine.surroundings import handed_over
from edna.engine.surroundings.current_rows import CurrentRows, changed_rows, same_values
from edna.engine.surroundings.handed_over import WAITS, can_wait
from edna.records.diff import Changed, Listed, Modified, Removed, RowBatch
from edna.spec import Disguise

#: Why the changes of a bag wait, by the bag, and by model, columns and key: and the column, if it is one's.
Reasons = dict[Opened, dict[tuple[str, tuple[str, ...], Row], tuple[Reason, str | None]]]


def require_whole(reveal: Reveal) -> None:
    """Values that several own come back if nobody of them is away. That stands in lists that a browser opens, and could keep to itself: so
    all of them must be handed over.

    Raises:
        HandoverRefused: something was kept back.
    """
    if reveal.unlocked.handover is None:
        return
    common = tables_in_common()
    changed = [batch for batch in reveal.current.diffs if isinstance(batch, Modified)]
    disguise = reveal.others.disguise
    removed = {batch.model for batch in reveal.current.diffs if isinstance(batch, Removed)}
    if (
        reveal.others.handed
        or any(opened.changed_by_all for opened in reveal.coming)
        or any(reveal.others.needs or batch.model in common for batch in changed)
        or (reveal.others.needs and any(_may_go_with_each(disguise, label) for label in removed))
    ):
        reveal.unlocked.require_whole(without=reveal.chunk.earlier if reveal.chunk else ())


def _may_go_with_each(disguise: type[Disguise] | None, label: str) -> bool:
    table = table_by_label(label)
    return disguise is None or table is None or goes_with_each(disguise, table.model)


def leave_out_removed(reveal: Reveal) -> None:
    """Removed rows whose other owners are away are not inserted: those of the revealed bag are held, others stay where they are."""
    others, progress = reveal.others, reveal.progress
    others.look(reveal.current.diffs if others.needs else ())
    for batch in reveal.current.diffs if others.needs else ():
        away = others.away_from_removed(batch) if isinstance(batch, Removed) else []
        if away:
            hold(progress, batch, away, others.why_away, None)
            reveal.current.exchange(batch, _without(batch, away))
            note_absent(replace(batch, rows=away), progress)
    for bags in _by_moment(others.handed, reveal):
        for removed in joint_batches(bags, Removed):
            away = others.away_from_removed(removed.batch, of=removed)
            if away:
                gone = replace(removed.batch, rows=away)
                reveal.apart += removed.take(set(gone.primary_keys()))
                note_absent(gone, progress)
                if bags[0] not in others.passing:
                    _say(reveal, removed.batch, away, others.why_away)


def given_up(reveal: Reveal) -> tuple[list[Opened], set[tuple[str, Any]]]:
    """The revealed bag and what it has handed over, and the rows of these that the person gives up: not those that others hold as well,
    nor those that somebody brings back who is away."""
    others, wanted = reveal.others, reveal.given_up
    if not wanted:
        return [], set()
    handed = [opened for opened in others.handed if opened not in others.passing]
    waiting = {
        (batch.model, key)
        for opened in (reveal.current, *handed)
        for batch in opened.diffs
        if _holds(batch)
        for key in batch.primary_keys()
        for reason, name in wanted.get((batch.model, named(key)), ())
        if (can_wait(others, batch, key, reason, name) if opened is reveal.current else reason in WAITS)
    }
    awaited = others.awaited([reveal.current, *handed], waiting)
    together = {
        (batch.model, key)
        for opened in reveal.coming
        if not opened.handed_over
        for batch in opened.diffs
        if _holds(batch)
        for key in batch.primary_keys()
    }
    kept = {(model, named(key)) for model, key in awaited | together}
    return [reveal.current, *handed], wanted.keys() - kept


def put_back_on_top(reveal: Reveal) -> None:
    """Bring back what was handed over, or changed when all had left, and lies over what the revealed bag changed: it comes off next."""
    current = reveal.current
    changed = {
        (batch.model, key) for batch in current.diffs if isinstance(batch, Changed) for key in batch.primary_keys()
    }
    on_top = [
        opened
        for opened in (*(each for each in reveal.coming if each.changed_by_all), *reveal.others.handed)
        if opened.head.applied_at >= current.head.applied_at
        and any((batch.model, key) in changed for batch in _changes_of(opened) for key in batch.primary_keys())
    ]
    over = _Over({opened: opened.diffs for opened in on_top})
    newest_first = _by_moment(on_top, reveal)
    waiting = True
    while waiting:  # one makes way for another
        rows = reveal.progress.current_rows
        waiting = sum(_put_back(bags, reveal, {}, over, current_rows=rows) for bags in newest_first) > 0


def try_handed_over(reveal: Reveal) -> None:
    """Bring back changes that were handed over, or made when all had left, the newest first, as long as one makes way for another; then
    leave out of each bag what is back."""
    others = reveal.others
    tried = [*others.handed, *(opened for opened in reveal.coming if opened.changed_by_all)]
    newest_first = _by_moment(tried, reveal)
    reasons: Reasons = {}
    over = _Over({opened: opened.diffs for opened in tried} | {reveal.current: reveal.progress.kept})
    waiting = True
    while waiting:
        waiting = sum(_put_back(bags, reveal, reasons, over) for bags in newest_first) > 0
    apart: dict[Opened, list[RowBatch]] = {}
    for opened, batch in reveal.apart:
        apart.setdefault(opened, []).append(batch)
    for opened in tried:
        opened.add(*apart.get(opened, ()))
        left = {(batch.model, key) for batch in opened.diffs if _holds(batch) for key in batch.primary_keys()}
        for batch in opened.owners:
            opened.exchange(batch, batch.only({key for model, key in left if model == batch.model}))
        if opened not in others.passing:
            waits = {(each.model, each.columns, key) for each in _changes_of(opened) for key in each.primary_keys()}
            why = {
                (model, key, *why): None
                for (model, columns, key), why in reasons.get(opened, {}).items()
                if (model, columns, key) in waits
            }
            for model, key, reason, name in why:
                _say_one(reveal, model, key, reason, name)


def hand_over(reveal: Reveal) -> None:
    """What waits for others goes into bags that they find; what nobody can find stays in the revealed bag, over what is theirs."""
    if reveal.progress.waiting:
        reveal.handed_over, kept = handed_over.hand_over(reveal.others, reveal.progress.waiting, reveal.entries)
        reveal.progress.kept += kept
    still_there = _waiting_here(reveal)
    pointed = set(reveal.current.pointers)
    for opened in reveal.journal.others:
        if opened.tells_of_more and opened.locator in pointed:
            # Whoever reveals has it under disguise no longer, but for what waits here.
            told = [_lying_over(batch, still_there) for batch in opened.diffs if isinstance(batch, Modified)]
            opened.keep([*(batch for batch in opened.diffs if isinstance(batch, Listed)), *filter(None, told)])
    reveal.new_items |= {item: opened.locator for opened in reveal.handed_over for _, item in opened.listings}
    for opened in reveal.handed_over:
        named = mentions.named(opened.diffs)
        leading = [mention.locator for mention in reveal.mentions if mentions.names(mention) & named]
        if leading:
            opened.add(pointer(leading, label=opened.diffs[0].model))


def _waiting_here(reveal: Reveal) -> dict[tuple[str, Row], set[str]]:
    """The rows of whose changes some stay in the revealed bag, as another owner is away: and in which columns."""
    away = {(held.model, held.pk) for held in reveal.outcome.held if held.reason is reveal.others.why_away}
    found: dict[tuple[str, Row], set[str]] = {}
    for batch in (batch for batch in reveal.progress.kept if isinstance(batch, Modified)) if away else ():
        for key in batch.primary_keys():
            if (batch.model, named(key)) in away:
                found.setdefault((batch.model, key), set()).update(batch.columns)
    return found


def _lying_over(told: Modified, still_there: Mapping[tuple[str, Row], set[str]]) -> Modified | None:
    columns = {*told.columns}
    keys = {key for key in told.primary_keys() if not columns.isdisjoint(still_there.get((told.model, key), ()))}
    return told.only(keys) if keys else None


class _Over:
    """Which of the changes that are tried, or are held, may lie on top of which: the newer one found what the older one had put there."""

    def __init__(self, tried: Mapping[Opened, Sequence[RowBatch]]) -> None:
        self._waiting: dict[tuple[str, Row], dict[Opened, list[tuple[Modified, Sequence[Any]]]]] = {}
        for opened, batches in tried.items():
            for batch in (batch for batch in batches if isinstance(batch, Modified)):
                for key, row in zip(batch.primary_keys(), batch.rows, strict=True):
                    self._waiting.setdefault((batch.model, key), {}).setdefault(opened, []).append((batch, row))

    def covered(self, batch: Modified, opened: Opened) -> dict[Row, str]:
        """By key, the rows that do not come back before the one on top of them, though what they left there may stand there again: others
        have put the same constant there. And in which column."""
        covered = {}
        for key, row in zip(batch.primary_keys(), batch.rows, strict=True):
            left = dict(zip(batch.columns, batch.new(row), strict=True))
            for other, changes in self._waiting.get((batch.model, key), {}).items():
                if other is opened or other.head.applied_at <= opened.head.applied_at:
                    continue
                for later, above in changes:
                    for name, found in zip(later.columns, later.old(above), strict=True):
                        if name in left and same_values([found], [left[name]]):
                            covered[key] = name
        return covered

    def is_back(self, opened: Opened, batch: Modified) -> None:
        for key in batch.primary_keys():
            of_row = self._waiting.get((batch.model, key), {})
            of_row[opened] = [each for each in of_row.get(opened, ()) if each[0].columns != batch.columns]


def _by_moment(bags: Iterable[Opened], reveal: Reveal) -> list[list[Opened]]:
    """Those that are tried alike together, the newest first."""
    together: dict[tuple[datetime.datetime, bool, bool], list[Opened]] = {}
    for opened in bags:
        alike = opened.head.applied_at, opened in reveal.others.passing, opened.changed_by_all
        together.setdefault(alike, []).append(opened)
    return [together[alike] for alike in sorted(together, key=lambda alike: alike[0], reverse=True)]


def _put_back(
    bags: Sequence[Opened], reveal: Reveal, reasons: Reasons, above: _Over, *, current_rows: CurrentRows | None = None
) -> bool:
    """Whether any change of these bags could be undone now, or folded into a later disguise of whoever has handed them over and reveals."""
    own = [each for each in reveal.journal.others if not each.shared]
    passing = bags[0] in reveal.others.passing
    stack, over = Stack(bags, own), own
    if bags[0].changed_by_all:
        # Whoever owned the row can open what lies over it, be it shared or not.
        coming = set(reveal.coming)
        over = [each for each in reveal.journal.others if each not in coming and not each.tells_of_more]
    done_any = False
    for changes in joint_batches(bags, Modified):
        batch = changes.batch
        changed = replace(batch, rows=changed_rows(batch))
        away = {tuple(row[: len(batch.key)]) for row in reveal.others.away(changed, of=changes)}
        if passing:
            rows = zip(batch.primary_keys(), batch.rows, strict=True)
            away |= {key for key, row in rows if _is_covered(stack, batch, key, row, changes.whose[key])}
        covered = above.covered(batch.without(away), bags[0])
        progress = reveal.progress
        aside = Progress(present=progress.present, absent=progress.absent, news=progress.news)
        aside.rehearsed = progress.rehearsed
        aside.current_rows = current_rows or CurrentRows(lock=not progress.rehearsed)
        aside.folding = None if passing else Folding(bags, over)
        for part in aside.fold(batch.without({*away, *covered})):
            put_back(part, aside, overrides={}, using=reveal.using)
        if covered:  # nothing folds past what lies on top
            aside.folding, aside.covered = None, {batch.model: covered}
            put_back(batch.only(covered.keys()), aside, overrides={}, using=reveal.using)
        reveal.outcome.waiting.include(aside.outcome.waiting)
        waits = away | {key for kept in aside.kept for key in kept.primary_keys()}
        why = dict.fromkeys(away, (reveal.others.why_away, batch.columns[0])) | {
            held.pk if isinstance(held.pk, tuple) else (held.pk,): (held.reason, held.field)
            for held in aside.outcome.held
        }
        for key, reason in why.items():
            if key in changes.whose:
                reasons.setdefault(changes.whose[key], {})[batch.model, batch.columns, key] = reason
        done = [key for key in batch.primary_keys() if key not in waits]
        if done:
            if not passing:
                reveal.outcome.due.add(batch.model, done)
            for opened, back in changes.take(set(done)):
                above.is_back(opened, back)
            done_any = True
    return done_any


def _is_covered(stack: Stack, batch: Modified, key: Row, row: Sequence[Any], opened: Opened) -> bool:
    """Whether a later disguise of one of those who reveal lies over it, which they have not taken back; of the same moment, one that has
    not left there what it found."""
    found = dict(zip(batch.columns, batch.old(row), strict=True))
    moment = opened.head.applied_at
    return stack.lies_over(batch.model) and any(
        layer.opened.head.applied_at > moment
        or (layer.opened.head.applied_at == moment and not _lies_beneath(layer, found))
        for layer in stack.layers(batch.model, key)
        if not layer.old.keys().isdisjoint(found)
    )


def _lies_beneath(layer: Layer, found: Mapping[str, Any]) -> bool:
    return any(same_values([layer.row[place]], [found[name]]) for name, place in layer.new.items() if name in found)


def _changes_of(opened: Opened) -> list[Modified]:
    return [batch for batch in opened.diffs if isinstance(batch, Modified)]


def _holds(batch: RowBatch) -> bool:
    return isinstance(batch, Removed | Changed)


def _without(batch: RowBatch, rows: Sequence[Sequence[Any]]) -> RowBatch:
    return batch.without(set(replace(batch, rows=rows).primary_keys()))


def _say(reveal: Reveal, batch: RowBatch, rows: Sequence[Sequence[Any]], reason: Reason) -> None:
    for key in replace(batch, rows=rows).primary_keys():
        _say_one(reveal, batch.model, key, reason, None)


def _say_one(reveal: Reveal, model: str, key: Row, reason: Reason, name: str | None) -> None:
    reveal.outcome.held.append(Held.of(model, key, reason, name))
    reveal.outcome.stopped.add(model, [key])
