"""Whether the others who own a row are there, now that one of its owners reveals.

What several people own goes with whoever leaves first, and comes back with whoever comes back last. A record says who else was there when
it was made (`Owners`), and a shared bag without values tells that somebody else's disguise lies over its rows. Somebody is away
if their disguise lies over the row; or if the row has lost them since, and did not name the one who reveals, so that nobody could tell.
What waits for that goes to them (`handed_over`). If the row names, in the place of who reveals, a pseudoprincipal whose list they do not
open and which is not empty, that list may tell: what several own stays. Where one's own bags do not all open, nobody can tell who is
away: what several own stays then. Invariant (nothing overwritten): nothing that somebody has taken out of sight comes back by somebody
else. Reads the application's tables and entries.
A little long: of what stays, what is gone and what was handed over the same is asked, by one path, by value or among several.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.db.models import Model

from edna import registry
from edna.clock import A_MOMENT
from edna.coverage import relation_to_several, same_table
from edna.db import rows as raw
from edna.db.rows import Row
from edna.engine.bags.opened_bag import Opened
from edna.engine.bags.reader import Journal
from edna.engine.forwarding.walk import table_by_label
from edna.engine.graph.outcome import Reason
from edna.engine.graph.references import reference_of
from edna.engine.layers.joint_batches import JointBatch
from edna.engine.layers.owners import Need, Needs, layers_of_others, needs_of
from edna.engine.planning.owners import each_of, people, tables_in_common, values_along, values_of
from edna.engine.surroundings.current_rows import same_values
from edna.names_left import takes_off, takes_out
from edna.records.diff import Modified, Removed, RowBatch
from edna.spec import Remove
from edna.store import Entry
from edna.value_owners import is_by_value, own_columns, parsed


@dataclass
class CurrentOwners:
    """Whom rows name now: by model and key, and by path, None for nobody and "" for what cannot be told."""

    named: dict[tuple[str, Row], dict[str, str | None]] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    nobody: set[str] = field(default_factory=set)

    def is_there(self, reference: str | None) -> bool:
        """Whether this is a user of flesh and blood, with or without a key."""
        if not reference or reference in self.nobody:
            return reference == ""
        entry = self.entries.get(reference)
        return entry is None or entry.natural


class Others:
    """The other owners of the rows of one reveal."""

    def __init__(self, journal: Journal, *, using: str) -> None:
        self.journal, self.using = journal, using
        self.model: type[Model] = apps.get_model(journal.current.head.principal_model)
        self.disguise = registry.find(journal.current.head.disguise)
        self.needs: Needs = needs_of(journal.current)
        #: Whose keys were opened: those who reveal now.
        self.mine = set(journal.holders)
        pointed = {locator for opened in journal.others if not opened.shared for locator in opened.pointers}
        pointed |= set(journal.current.pointers)
        self._layers = list(layers_of_others(opened for opened in journal.others if opened.tells_of_more))
        self._strangers = [each for each in self._layers if each.locator not in pointed]
        own = set(journal.current.pointers)
        self._left = [each for each in self._layers if each.locator not in own]
        #: Bags that somebody has handed over; those of them that the receipt does not lead to are tried in passing. Not while chunks are
        #: left: they have the keys of pseudoprincipals in whose lists it may stand that somebody is away.
        self.handed = [
            opened
            for opened in journal.others
            if opened.handed_over and not (journal.partly and opened.locator not in own)
        ]
        self.passing = frozenset(opened for opened in self.handed if opened.locator not in own)
        self.standing = CurrentOwners()
        #: Models of whose rows others may have hidden something, of which nobody can tell.
        self._unseen = tables_in_common() if journal.blind else set()
        self.why_away = Reason.BAG_DAMAGED if journal.blind else Reason.OWNER_AWAY

    def __bool__(self) -> bool:
        return bool(self.needs or self._layers or self.handed or self._unseen)

    def common_columns(self, batch: Modified) -> set[str]:
        """Those columns of a change that go with whoever leaves first, as far as the revealed bag or another's disguise says.

        What goes with those alone who reveal now waits for nobody.
        """
        if batch.model in self._unseen:
            return {*batch.columns}
        needed = {
            name
            for (label, _), needs in self.needs.items()
            if label == batch.model
            for need in needs
            if need.public_key not in self.mine
            for name in need.columns
        }
        return needed.union(*(each.columns for each in self._strangers if each.model == batch.model)) & {*batch.columns}

    # Who is away

    def look(self, batches: Iterable[RowBatch]) -> None:
        """Needs the rows as their owner has left them. Finds out whom they name, in one statement a table or two."""
        keys: dict[str, tuple[Modified, dict[Row, None]]] = {}
        for batch in batches:
            if isinstance(batch, Modified):
                asked = [key for key in batch.primary_keys() if (batch.model, key) in self.needs]
                keys.setdefault(batch.model, (batch, {}))[1].update(dict.fromkeys(asked))
        for batch, rows in keys.values():
            self._look(batch, list(rows), self.needs)

    def away(self, batch: Modified, *, of: JointBatch[Modified] | None = None) -> list[Sequence[Any]]:
        """Rows of changes over which another owner's disguise lies, or whose other owners have left since.

        ``of``: what others have handed over, or all had left, if the rows are among that.
        """
        needs = self.needs if of is None else of.needs
        if self.journal.blind:
            return self._perhaps_hidden(batch, needs)
        covered = self.under_others(batch, opened=of.opened if of else None)
        keys, by_any = batch.primary_keys(), of is not None
        asked = [key for key in keys if (batch.model, key) in needs and key not in covered]
        common = frozenset(batch.columns)
        # Of the own ones, as they were before any change of theirs was undone: whom they named then could be told.
        standing = self.standing if of is None else self._look(batch, asked, needs)
        if of is None:
            # Rows that this reveal has brought back: of a change that was made for others as well, they alone tell.
            back = [key for key in asked if (batch.model, key) not in standing.named]
            self._look(
                batch, [key for key in back if any(need.shares_change for need in needs[batch.model, key])], needs
            )
        standing = self._once_back(batch, asked, needs, standing)
        return [
            row
            for key, row in zip(keys, batch.rows, strict=True)
            if key in covered or self._has_left(batch.model, key, needs, standing, common=common, by_any=by_any)
        ]

    def _once_back(
        self, batch: Modified, keys: Collection[Row], needs: Needs, standing: CurrentOwners
    ) -> CurrentOwners:
        """Where the change has replaced what says whose a row is, by value or as the reference over which a path leads: whom the row would
        name if the change were undone."""
        table = table_by_label(batch.model)
        paths = {need.path for key in keys for need in needs[batch.model, key] if need.columns & {*batch.columns}}
        found = {path: _says_whose(table.model, path) for path in paths} if table else {}
        found = {path: names for path, names in found.items() if not {*names}.isdisjoint(batch.columns)}
        if table is None or not found:
            return standing
        names = tuple(dict.fromkeys((*table.key_names, *(name for each in found.values() for name in each))))
        before = {
            key: dict(zip(batch.columns, batch.old(row), strict=True))
            for key, row in zip(batch.primary_keys(), batch.rows, strict=True)
        }
        width = len(table.key)
        there = {row[:width]: row for row in raw.read(table, names, list(keys), lock=False, using=self.using)}
        rows = [dict(zip(names, row, strict=True)) | before[key] for key, row in there.items()]
        once = CurrentOwners(dict(standing.named), dict(standing.entries), set(standing.nobody))
        for path in found:
            along = values_along(table, rows, path, self.model, using=self.using)
            self._ask(once, (value for known, whom in along if known for value in each_of(whom)))
            for key, (known, whom) in zip(there, along, strict=True):
                once.named[batch.model, key] = {
                    **once.named.get((batch.model, key), {}),
                    **(self._names(path, whom, needs[batch.model, key]) if known else {path: ""}),
                }
        return once

    def under_others(self, batch: Modified | Removed, *, opened: Opened | None = None) -> set[Row]:
        """Rows over which somebody else's disguise lies that is newer, and says so; or, of what another owner has handed over, one that who
        reveals has not taken back. That of a removed row is about no column."""
        applied_at = (opened or self.journal.current).head.applied_at
        passing = opened in self.passing
        if passing:
            # Of the same moment, what lies beneath the own change may lie over that of whoever has handed it over.
            applied_at -= A_MOMENT
        return {
            key
            for each in (self._left if passing else self._strangers)
            if each.model == batch.model
            and each.applied_at >= applied_at
            and (not each.columns if isinstance(batch, Removed) else not each.columns.isdisjoint(batch.columns))
            for key in each.keys
        }.intersection(batch.primary_keys())

    @functools.cached_property
    def changed_for_others(self) -> Needs:
        """Rows of changes that were made for somebody else as well, and for whom."""
        found = {
            row: [need for need in needs if need.shares_change and need.public_key not in self.mine]
            for row, needs in self.needs.items()
        }
        return {row: needs for row, needs in found.items() if needs}

    def left_together(self, batch: Modified, *, removed: Collection[Row]) -> set[Row]:
        """Rows that were changed for others as well, of whom somebody is away; or may be, of those that are ``removed``. No later record
        knows of them: pseudoprincipals owned the row then."""
        common = frozenset(batch.columns)
        together = {
            key: [need for need in self.changed_for_others[batch.model, key] if not need.columns.isdisjoint(common)]
            for key in batch.primary_keys()
            if (batch.model, key) in self.changed_for_others
        }
        asked = {key for key, needs in together.items() if needs}
        gone = {
            key
            for key in asked.intersection(removed)
            if any(self._tells(batch.model, need.path, by_any=False) for need in together[key])
        }
        away = self.away(batch.only(asked - gone)) if asked - gone else ()
        return gone.union(tuple(row[: len(batch.key)]) for row in away)

    def waits_on_top(self, model: str, key: Row, name: str, *, left: Any, found: Any) -> bool:
        """Whether changes that other owners have handed over, and that still wait, have made what is ``found`` in the column of what
        was ``left`` there."""
        changes = [
            (batch.old(row)[place], batch.new(row)[place])
            for batch, row in self._handed_changes.get((model, key), ())
            for place in [batch.columns.index(name) if name in batch.columns else None]
            if place is not None
        ]
        while not same_values([left], [found]):
            over = next((change for change in changes if same_values([change[0]], [left])), None)
            if over is None:
                return False
            changes.remove(over)
            left = over[1]
        return True

    @functools.cached_property
    def _handed_changes(self) -> Mapping[tuple[str, Row], Sequence[tuple[Modified, Sequence[Any]]]]:
        """By row; what comes off before the own changes has come off by now."""
        found: dict[tuple[str, Row], list[tuple[Modified, Sequence[Any]]]] = {}
        for batch in (each for opened in self.handed for each in opened.diffs if isinstance(each, Modified)):
            for key, row in zip(batch.primary_keys(), batch.rows, strict=True):
                found.setdefault((batch.model, key), []).append((batch, row))
        return found

    def away_from_removed(self, batch: Removed, *, of: JointBatch[Removed] | None = None) -> list[Sequence[Any]]:
        """Removed rows whose other owners have left since: as far as what the row refers to is there, and tells."""
        needs = self.needs if of is None else of.needs
        if self.journal.blind:
            return self._perhaps_hidden(batch, needs)
        keys = batch.primary_keys()
        asked = [position for position, key in enumerate(keys) if (batch.model, key) in needs]
        table = table_by_label(batch.model)
        if not asked or table is None:
            return []
        rows = [dict(zip(batch.columns, batch.rows[position], strict=True)) for position in asked]
        paths = dict.fromkeys(need.path for position in asked for need in needs[batch.model, keys[position]])
        standing, found = CurrentOwners(), dict[tuple[int, str], tuple[bool, Any]]()
        for path in paths:
            for position, value in zip(
                asked, values_along(table, rows, path, self.model, using=self.using), strict=True
            ):
                found[position, path] = value
        also = _to_look_for(need for position in asked for need in needs[batch.model, keys[position]])
        named = (value for there, whom in found.values() if there for value in each_of(whom))
        self._ask(standing, named, also=also)
        away = []
        covered = self.under_others(batch, opened=of.opened if of else None)
        for position in asked:
            key = batch.model, keys[position]
            named_there: dict[str, str | None] = {}
            for path in paths:
                known, whom = found[position, path]
                named_there |= self._names(path, whom, needs[key]) if known else {path: ""}
            # What led from the row to several went with it: only whose account is gone is known to be away.
            several = (need for need in needs[key] if need.among_several and not is_by_value(need.path))
            named_there |= {need.at: None if need.reference in standing.nobody else "" for need in several}
            standing.named[key] = named_there
            if key[1] in covered or self._has_left(*key, needs, standing, by_any=of is not None):
                away.append(batch.rows[position])
        return away

    def _perhaps_hidden(self, batch: RowBatch, needs: Needs) -> list[Sequence[Any]]:
        """Rows that somebody else owns as well, or may own."""
        keys = zip(batch.primary_keys(), batch.rows, strict=True)
        return [row for key, row in keys if batch.model in self._unseen or (batch.model, key) in needs]

    def _has_left(
        self,
        model: str,
        key: Row,
        needs: Needs,
        standing: CurrentOwners,
        *,
        common: frozenset[str] = frozenset(),
        by_any: bool,
    ) -> bool:
        """``common``: columns of a change; none of the row itself."""
        needed, named = needs.get((model, key), ()), standing.named.get((model, key))
        if not needed or named is None:
            return False
        if common and not by_any and self._may_be_told_elsewhere(standing, named, needed, common=common):
            return True
        mine = any(self._is_mine(standing, reference, then=True) for reference in named.values())
        # Who has disguised it since has told it; but for those for whom the one change was made as well, and those who did not find it,
        # since what named them was taken out.
        told = mine and bool(common) and not by_any
        return any(
            need.public_key not in self.mine
            and not (told and not need.shares_change and not self._is_gone(standing, named, need))
            and (not common or not need.columns.isdisjoint(common))
            and (self._is_missed(model, standing, named, need, by_any=by_any) or self._is_gone(standing, named, need))
            and not self._stands_for(standing, named, need)
            for need in needed
        )

    def _may_be_told_elsewhere(
        self,
        standing: CurrentOwners,
        named: Mapping[str, str | None],
        needed: Collection[Need],
        *,
        common: frozenset[str],
    ) -> bool:
        """Whether the row names, in the place of who reveals, a pseudoprincipal whose list they do not open, and something stands there:
        the receipt that leads to it was withheld, or what it led to is erased."""
        if all(need.public_key in self.mine or need.columns.isdisjoint(common) for need in needed):
            return False
        in_my_place = (
            standing.entries.get(named.get(need.at) or "") for need in needed if need.public_key in self.mine
        )
        return any(
            entry is not None and not entry.natural and entry.public_key not in self.mine and bool(entry.locators)
            for entry in in_my_place
        )

    def _stands_for(self, standing: CurrentOwners, named: Mapping[str, str | None], need: Need) -> bool:
        now = named.get(need.at, "")
        return standing.is_there(now) or self._is_mine(standing, now)

    def _is_gone(self, standing: CurrentOwners, named: Mapping[str, str | None], need: Need) -> bool:
        """Whether the account went whose value the row has, or that was among several. A foreign key would point at nothing, and hold the
        row. The number of what is about somebody stays, and names whom nobody has."""
        tells, now = need.among_several or is_by_value(need.path), named.get(need.at, "")
        return tells and (now is None or now in standing.nobody) and need.reference in standing.nobody

    def _is_missed(
        self, model: str, standing: CurrentOwners, named: Mapping[str, str | None], need: Need, *, by_any: bool
    ) -> bool:
        """Whether nobody but a disguise has taken them out of the place where they were."""
        if not need.among_several or is_by_value(need.path):
            return self._tells(model, need.path, by_any=by_any)
        # Of several, the application may have taken one away: a disguise leaves somebody else there, or nobody if it is one that does so.
        return self._tells(model, need.path, by_any=by_any, off=True) or (
            self._tells(model, need.path, by_any=by_any)
            and any(
                entry is not None and not entry.natural and entry.public_key not in self.mine
                for at, reference in named.items()
                if at.startswith(f"{need.path} ")
                for entry in [standing.entries.get(reference or "")]
            )
        )

    def _tells(self, model: str, path: str, *, by_any: bool, off: bool = False) -> bool:
        """Whether somebody who leaves is missed at the end of this path, or only what it leads over; ``off``: although their account stays.
        Of what was handed over, nobody knows by which disguise."""
        table = table_by_label(model)
        if table is None or self.disguise is None:
            return True
        disguises = registry.disguises().values() if by_any else (self.disguise,)
        takes = takes_off if off else takes_out
        return any(takes(each, table.model, path) for each in disguises)  # type: ignore[arg-type]  # classes are hashable

    def _is_mine(self, standing: CurrentOwners, reference: str | None, *, then: bool = False) -> bool:
        """``then``: also while the disguise was on. Whose account went with it, and came back with a later chunk, was named by nothing."""
        entry = standing.entries.get(reference or "")
        if entry is None or entry.public_key not in self.mine:
            return False
        return not (then and entry.natural and self._took_account)

    @functools.cached_property
    def _took_account(self) -> bool:
        return self.disguise is not None and registry.removes_account(self.disguise)

    def _look(self, batch: RowBatch, keys: Sequence[Row], needs: Needs) -> CurrentOwners:
        standing, table = CurrentOwners(), table_by_label(batch.model)
        if not keys or table is None:
            return standing
        paths = tuple(dict.fromkeys(need.path for key in keys for need in needs[batch.model, key]))
        found = values_of(table, keys, paths, self.model, using=self.using)
        # Whom a value meant who is gone, no row tells any more.
        also = _to_look_for(need for key in keys for need in needs[batch.model, key])
        named = (value for values in found.values() for whom in values for value in each_of(whom))
        self._ask(standing, named, also=also)
        for key, values in found.items():
            standing.named[batch.model, key] = {
                at: reference
                for path, whom in zip(paths, values, strict=True)
                for at, reference in self._names(path, whom, needs[batch.model, key]).items()
            }
        self.standing.named |= standing.named
        return standing

    def _ask(self, standing: CurrentOwners, values: Iterable[Any], *, also: Collection[str] = ()) -> None:
        references = {reference_of(self.model, value) for value in values if value is not None}.union(also)
        if references:
            standing.entries, standing.nobody = people(references, model=self.model, using=self.using)
            self.standing.entries |= standing.entries
            self.standing.nobody |= standing.nobody

    def _names(self, path: str, whom: Any, needs: Collection[Need]) -> dict[str, str | None]:
        """Who stands at the end of a path; of several, each whom it names, and None for those needed whom it does not."""
        references = [reference_of(self.model, value) for value in each_of(whom)]
        nobody: dict[str, str | None] = {need.at: None for need in needs if need.path == path and need.among_several}
        if not nobody:
            return {path: references[0] if references else None}
        return nobody | {f"{path} {reference}": reference for reference in references}

    def awaited(self, bags: Iterable[Opened], rows: Collection[tuple[str, Row]]) -> set[tuple[str, Row]]:
        """Those of the rows that somebody else may bring back: whose account is gone, or who may have removed the row and kept the
        account."""
        if not rows:
            return set()
        needs = [
            (row, need)
            for opened in bags
            for row, those in needs_of(opened).items()
            for need in those
            if row in rows and need.public_key not in self.mine
        ]
        references = {need.reference for _, need in needs}
        nobody = people(references, model=self.model, using=self.using)[1] if references else set()
        return {
            (model, key)
            for (model, key), need in needs
            if need.reference in nobody or self._may_have_removed(model, need.path)
        }

    @staticmethod
    def _may_have_removed(model: str, path: str) -> bool:
        table = table_by_label(model)
        return table is None or any(
            isinstance(step, Remove) and same_table(step.model, table.model) and path in step.owners
            for disguise in registry.disguises().values()
            if not registry.removes_account(disguise)
            for step in disguise.steps()
        )


def _says_whose(model: type[Model], path: str) -> list[str]:
    """Columns of the model itself by which an owner is found: those that are compared, or the reference over which the path leads."""
    if is_by_value(path) and not parsed(path)[0]:
        return own_columns(model, [path])
    over, _, rest = path.partition("__")
    return [over] if rest and not relation_to_several(model, path) else []


def _to_look_for(needs: Iterable[Need]) -> set[str]:
    """Those whose account is asked for although the row may not name them any more."""
    return {need.reference for need in needs if need.among_several or is_by_value(need.path)}
