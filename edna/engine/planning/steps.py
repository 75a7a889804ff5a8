"""What a plan is made of: targets, steps with their rows, and the plan itself. Values; reads and writes nothing."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol

from django.db.models import Model

from edna import conf, coverage, decorrelated_rows, json_keys, registry
from edna.crypto.keys import PublicKey
from edna.db.rows import Row, Table, table_of
from edna.engine.graph.placeholder_rows import PlaceholderRows
from edna.engine.graph.tally import Tally
from edna.engine.planning import terms
from edna.engine.planning.shares import Share
from edna.records import values
from edna.records.bag import Bag, BagKind
from edna.records.diff import Operation, Removed
from edna.records.locator import Locator
from edna.spec import Decorrelate, Disguise, Transformation
from edna.store import Entry

_SAMPLE_ROWS = 100
#: A speaks-for record: the key, whose it is, and for whom.
_VOICE_BYTES: Final = 70
#: What a bag takes that has nearly nothing in it.
_SMALLEST_BAG_BYTES: Final = 1_150


class First(NamedTuple):
    """So many rows, whichever the database finds first, of those ``behind`` a primary key, if there is one."""

    number: int
    behind: int | None = None


#: Of some tables, the raw primary keys that are meant, or the first rows.
Part = Mapping[type[Model], Collection[Row] | First]
#: Of some tables, the rows that have been dealt with, by their keys.
Finished = Mapping[type[Model], Collection[Row]]


class Opener(Protocol):
    """What opens the bags of one owner."""

    @property
    def public_key(self) -> PublicKey: ...

    def open(self, sealed: bytes, *, locator: Locator, kind: BagKind, sequence: int) -> Bag: ...


@dataclass(frozen=True)
class Turns:
    """Of owners who are in no plan with whoever asks: whose turn ``was``, in an earlier plan, and whose ``may_have_been``."""

    was: Set[str] = frozenset()
    may_have_been: Set[str] = frozenset()


#: Of everybody who is disguised in several plans: what is known of these references, of people and of pseudoprincipals.
AskTurns = Callable[[Set[str], Set[str]], Turns]
#: Where the keys of a principal's pseudoprincipals lie, and what may open it.
Speaking = Mapping[Locator, Sequence[Opener]]


@dataclass(frozen=True)
class Target:
    """A principal to disguise: the entry to seal to, and every entry whose rows are meant (itself first).

    ``speaking`` is where the keys of the others lie; ``needed`` are the public keys of those whom a bag may name that no list leads to.
    """

    entry: Entry
    owners: tuple[Entry, ...]
    speaking: Speaking = field(default_factory=dict, repr=False)
    needed: frozenset[bytes] = frozenset()
    #: None where there is no other plan.
    ask_turns: AskTurns | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Owner:
    """Somebody who owns a row: by which path, and whether it is ``mine``, who is disguised.

    ``told``: that one more disguise lies over it; ``on_top``: but beneath a change of their own of this very disguise. ``columns`` are
    theirs, too; none where it is the row itself. ``shares_change``: the change is made for them as well, so that none of their own tells
    of it. ``removes_too``: the row goes for somebody else in the moment in which it would have gone for them, and their account stays.
    """

    path: str
    entry: Entry
    mine: bool
    told: bool
    on_top: bool
    columns: tuple[str, ...]
    shares_change: bool = False
    removes_too: bool = False
    #: If they are disguised in the same plan: which of its targets they are.
    target: int | None = None

    def with_entry(self, entry: Entry) -> Owner:
        return replace(self, entry=entry)


@dataclass
class PlannedStep:
    """Rows of one table under one operation, each with the target it belongs to.

    ``rows`` hold the values of ``columns``: all stored columns for a removal, otherwise the key and then the columns to
    change. ``groups`` says, for a decorrelation, which rows share a pseudoprincipal: (raw key of whom it stands for, group).
    """

    operation: Operation
    table: Table
    columns: tuple[str, ...]
    transformation: Transformation | None
    rows: list[Row] = field(default_factory=list, repr=False)
    targets: list[int] = field(default_factory=list, repr=False)
    groups: list[Any] = field(default_factory=list, repr=False)
    #: Of a removal: rows that others own too, by primary key.
    shares: dict[Row, Share] = field(default_factory=dict, repr=False)
    #: Who owns rows that somebody else owns, too, by primary key.
    owned: dict[Row, tuple[Owner, ...]] = field(default_factory=dict, repr=False)
    #: Of a decorrelation: the rows are removed right after, so that only their records change.
    on_paper: bool = False
    #: Of references to removed rows that no step deals with: the model says what they become.
    relation: coverage.Relation | None = None

    def primary_keys(self) -> list[Row]:
        if not self.rows:
            return []
        if self.operation is not Removed:
            return [row[: len(self.table.key)] for row in self.rows]
        positions = [self.columns.index(name) for name in self.table.key_names]
        if len(positions) == 1:
            (position,) = positions
            return [(row[position],) for row in self.rows]
        return list(map(operator.itemgetter(*positions), self.rows))

    def only(self, keep: Callable[[Row], bool]) -> PlannedStep:
        """With the rows whose primary keys are to be kept."""
        kept = [position for position, key in enumerate(self.primary_keys()) if keep(key)]
        if len(kept) == len(self.rows):
            return self
        return replace(
            self,
            rows=[self.rows[position] for position in kept],
            targets=[self.targets[position] for position in kept],
            groups=[self.groups[position] for position in kept] if self.groups else [],
        )

    @property
    def gives_away(self) -> bool:
        """Whether the rows get pseudoprincipals for owners, one for each group."""
        return self.on_paper or isinstance(self.transformation, Decorrelate)

    @property
    def refers_to(self) -> str:
        """Of a decorrelation: the column of the principals' table by which its foreign key names them."""
        name: str = self.table.field(self.columns[-1]).target_field.name  # type: ignore[attr-defined]
        return name

    @property
    def refers_to_key(self) -> bool:
        """Of a decorrelation: whether that is their primary key."""
        return bool(self.table.field(self.columns[-1]).target_field.primary_key)  # type: ignore[attr-defined]

    @property
    def together(self) -> tuple[str, str] | None:
        """What steps that share their pseudoprincipals have in common: their word, and the column by which these are named."""
        word = self.transformation.together if isinstance(self.transformation, Decorrelate) else None
        return None if word is None else (word, self.refers_to)

    @property
    def own_groups(self) -> Iterator[tuple[int, Any]]:
        """Of a decorrelation: the (target, group) of each row."""
        return zip(self.targets, self.groups, strict=True)


def together(steps: Sequence[PlannedStep]) -> list[list[PlannedStep]]:
    """The steps in sets of those that share pseudoprincipals; most stand alone."""
    sets: dict[object, list[PlannedStep]] = {}
    for number, step in enumerate(steps):
        sets.setdefault(step.together or number, []).append(step)
    return list(sets.values())


@dataclass(frozen=True)
class PlannedTable:
    """One line of a preview."""

    model: str
    operation: str
    rows: int
    #: On which terms removed rows come back, in words; "" if as they were.
    returning: str = ""


@dataclass(frozen=True)
class Plan:
    """What applying ``disguise`` with ``params`` would do. ``removals`` are in the order in which they can be deleted."""

    disguise: type[Disguise]
    params: Mapping[str, Any]
    principal_model: type[Model]
    targets: tuple[Target, ...]
    removals: tuple[PlannedStep, ...]
    changes: tuple[PlannedStep, ...]
    #: Pseudoprincipals that rows of others mention, by the label of their model and raw key; those that it makes are among them once made.
    mentioned: dict[tuple[str, Any], Entry] = field(default_factory=dict, repr=False)
    #: Whether the person's key was given, so that it is for everybody whom they speak for, too.
    with_key: bool = False

    @property
    def steps(self) -> tuple[PlannedStep, ...]:
        return self.changes + self.removals

    @property
    def does_anything(self) -> bool:
        """Whether any row is meant, and be it one that counts nowhere: what is beside a pseudoprincipal."""
        return any(step.rows for step in self.steps)

    @property
    def tables(self) -> list[PlannedTable]:
        """Rows by table and operation, in the order of execution; tables without rows are listed too.

        In a line each row counts once. A row that is changed in two ways is in two lines; `counts` has it once.
        """
        tallies: dict[Operation, Tally] = {}
        for step in self.steps:
            tallies.setdefault(step.operation, Tally()).add(step.table.label, self._counted(step))
        return [
            PlannedTable(
                table.label,
                operation.word,
                len(tallies[operation].of(table.label)),
                terms.in_words(self.disguise, table.model) if operation is Removed else "",
            )
            for table, operation in dict.fromkeys((step.table, step.operation) for step in self.steps)
        ]

    @property
    def counts(self) -> dict[str, int]:
        """Rows by table: each that is changed or removed once, without the rows of pseudoprincipals themselves."""
        tally = Tally()
        for step in self.steps:
            tally.add(step.table.label, self._counted(step))
        return tally.counts()

    @property
    def beyond_reach(self) -> dict[str, list[str]]:
        """By table, the disguises that may have given rows of it to pseudoprincipals: without the person's key, those are not in this plan.

        Empty if nothing is known to be so: the key was given, there is no such disguise, or none was applied to them. Where the server
        keeps no locators (mode ``client``), nobody knows, and it is said.
        """
        alone = [target for target in self.targets if target.entry.natural and len(target.owners) == 1]
        if not alone or self.with_key:
            return {}
        listed = any(target.entry.locators for target in alone)
        return {
            model._meta.label_lower: kept
            for model, names in decorrelated_rows.by_others(self.disguise).items()
            if (kept := [name for name in names if listed or _mode(name) == "client"])
        }

    @property
    def keys_not_found(self) -> dict[str, list[str]]:
        """By table, the keys of JSON columns that a step names and none of its rows has: these stay as they are. A typing error, maybe."""
        found: dict[str, list[str]] = {}
        for step in self.changes:
            for place, name in enumerate(step.columns):
                if json_keys.is_key(name) and step.rows and all(row[place] is None for row in step.rows):
                    found.setdefault(step.table.label, []).append(name)
        return found

    @property
    def rows(self) -> int:
        """How many rows there are in `counts`."""
        return sum(self.counts.values())

    def _counted(self, step: PlannedStep) -> list[Row]:
        keys = step.primary_keys()
        names = step.columns if step.operation is Removed else (*step.table.key_names, *step.columns)
        placeholders = self._placeholders.among(step.table.label, names, step.rows, keys)
        return [key for key in keys if key not in placeholders] if placeholders else keys

    @functools.cached_property
    def _placeholders(self) -> PlaceholderRows:
        owners = (owner for target in self.targets for owner in target.owners)
        nobody = {str(owner.reference) for owner in owners if not owner.natural}
        return PlaceholderRows({table_of(self.principal_model).label: nobody})

    @property
    def pseudoprincipals(self) -> int:
        return sum(len({group for step in steps for group in step.groups}) for steps in together(self.changes))

    @functools.cached_property
    def estimated_bytes(self) -> int:
        """About how many bytes will be sealed: rows by a sample of each table, uncompressed; keys; and what no bag is smaller than."""
        total = self.pseudoprincipals * _VOICE_BYTES
        if self.rows:
            total += len(self.targets) * (2 if self.pseudoprincipals else 1) * _SMALLEST_BAG_BYTES
        for step in self.steps:
            sample = step.rows[:_SAMPLE_ROWS]
            total += len(values.encode([list(row) for row in sample])) * len(step.rows) // max(1, len(sample))
        return total

    def as_dict(self) -> dict[str, Any]:
        return {
            "disguise": self.disguise.name,
            "tables": [
                {"model": t.model, "operation": t.operation, "rows": t.rows, "returning": t.returning}
                for t in self.tables
            ],
            "counts": self.counts,
            "rows": self.rows,
            "pseudoprincipals": self.pseudoprincipals,
            "beyond_reach": self.beyond_reach,
            "keys_not_found": self.keys_not_found,
            "estimated_bytes": self.estimated_bytes,
        }


def _mode(name: str) -> str:
    return registry.get(name).locators or conf.locator_mode()
