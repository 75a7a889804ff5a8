"""Scrubbing: rewrites tables so that hidden columns and files of the database do not say which rows were written together.

A disguise is one transaction, and databases remember transactions: PostgreSQL in `xmin` and by where rows lie, SQLite in hidden
rowids and the order of pages, InnoDB in its pages (docs/scrubbing.md). Invariant: no value is changed, so that nothing is lost by
stopping at any moment; and nobody's transaction fails for it, they wait at most.
Knows which tables disguises touch; needs no secret. Two at once do no harm.
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from django.db import DatabaseError, OperationalError, connections
from django.db.models import Model

from edna import coverage, registry
from edna.db import rows as raw
from edna.db import transactions
from edna.db.rows import Row, Table, table_of
from edna.engine.graph.references import key_of
from edna.errors import DatabaseBusy, ScrubRefused
from edna.operations import audit
from edna.operations.store import runs
from edna.operations.store import scrub as store
from edna.store import serverkeys

__all__ = ["NAME", "Left", "Scrubbed", "scrub"]

#: As `edna.operations.store.runs` and the audit trail know it.
NAME: Final = "scrub"

BUSY: Final = "busy"
REFUSED: Final = "refused"
#: How SQLite's file is named among the tables.
WHOLE_FILE: Final = "(the whole file)"

#: Rows of one transaction: enough to mix many people, few enough that nobody waits long for one of them.
_ROWS_AT_ONCE: Final = 1_000
#: How often rows that others hold are tried again, and how long after.
_ROUNDS: Final = 20
_PAUSE_SECONDS: Final = 0.1
#: For how long transactions that began before are waited for.
_OLDER_SECONDS: Final = 2.0
#: How often SQLite is asked for the whole file; each time it waits as long as the connection's ``timeout`` says.
_TRIES: Final = 3


@dataclass(frozen=True)
class Left:
    """A table that is not, or not all of it, as it should be: "busy" (in use all the time, or an open transaction sees it as it was),
    "refused" (by the database), "triggers" (somebody's would fire) or "not_a_table" (a view, a partitioned table, another engine)."""

    table: str
    reason: str


@dataclass
class Scrubbed:
    """What scrubbing did. ``rows`` were written anew one by one, ``tables`` as a whole."""

    rows: int = 0
    tables: list[str] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        left = [{"table": each.table, "reason": each.reason} for each in self.left]
        return {"rows": self.rows, "tables": self.tables, "left": left, "seconds": round(self.seconds, 3)}


def scrub(
    *,
    rebuild_application: bool = True,
    operator: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> Scrubbed:
    """Let nothing but their values tell which rows belong together, as far as the database allows.

    Edna's tables are rewritten, and what disguises have written in the application's: pseudoprincipals, rows that refer to them, and
    on PostgreSQL whatever else the same transactions wrote. Without ``rebuild_application`` the application's tables are
    never locked as a whole; where their rows lie, and what was deleted from them, stays in the file. ``progress`` gets how many
    steps are done, and of how many.

    It can be stopped at any moment and run again. What it could not do is in ``left``.

    Raises:
        ScrubRefused: inside a transaction.
        ServerKeyUnknown: the server's key is not this site's.
        DatabaseBusy: it is done, but that could not be noted.
    """
    using = registry.database()
    if connections[using].in_atomic_block:
        raise ScrubRefused("Scrubbing cannot be done inside a transaction; call it outside of any.")
    serverkeys.require(using=using)  # what was done is noted in the audit trail
    began = time.monotonic()
    run = _Run(using)
    steps = run.steps(rebuild_application=rebuild_application)
    for number, step in enumerate(steps, start=1):
        step()
        if progress is not None:
            progress(number, len(steps))
    run.done.seconds = time.monotonic() - began
    rows, tables, left = run.done.rows, len(run.done.tables), len(run.done.left)

    def note() -> None:
        runs.note_run(NAME, {"rows": rows, "tables": tables, "left": left}, using=using)
        if operator:
            audit.note(NAME, operator=operator, rows=rows, tables=tables, left=left)

    transactions.run(note, using=using)
    return run.done


def application_tables(*, using: str) -> list[Table]:
    """The tables that disguises may have written: those of principals, those that refer to them, and all that a disguise names."""
    found: dict[type[Model], None] = dict.fromkeys(registry.principal_models())
    for principal in registry.principal_models():
        found |= {relation.model: None for relation in coverage.relations_to(principal)}
    for disguise in registry.disguises().values():
        found |= {step.model: None for step in disguise.steps()}
        found |= dict.fromkeys(coverage.removed_models(disguise))
        found |= {relation.model: None for relation in coverage.set_null_relations(disguise)}
    tables = dict.fromkeys(table_of(model) for model in found if registry.database(model) == using)
    return list(tables)


@dataclass
class _Run:
    """One run: what is done to which table, and what came of it."""

    using: str
    done: Scrubbed = field(default_factory=Scrubbed)
    #: A transaction saw, to the end, what rows were before: rebuilt tables still hold it.
    older_is_open: bool = False

    def steps(self, *, rebuild_application: bool) -> list[Callable[[], None]]:
        vendor = connections[self.using].vendor
        theirs, own = application_tables(using=self.using), store.own_tables()
        steps: list[Callable[[], None]] = []
        if vendor == "postgresql":
            # The application's first: which of its rows disguises have written is told by edna's, as they were written.
            steps += [partial(self._rewrite_written_by_disguises, table) for table in theirs]
            steps += [partial(self._rewrite_all, table) for table in store.unlabelled_tables()]
            steps += [partial(self._forget_samples, table) for table in [*theirs, *own]]
            steps.append(self._wait_for_older_transactions)
        if vendor == "sqlite":
            steps += [partial(self._scatter, table_of(model)) for model in registry.principal_models()]
            return [*steps, self._vacuum]
        return steps + [partial(self._rebuild, table) for table in [*(theirs if rebuild_application else []), *own]]

    # PostgreSQL

    def _rewrite_written_by_disguises(self, table: Table) -> None:
        if self._may_write(table):
            with self._noting(table):
                wanted = set(store.written_with_bags(table, using=self.using))
                for keys in itertools.chain(self._pseudoprincipals_in(table), self._referring_in(table)):
                    wanted.update(keys)
                # By lot: the rows of one transaction of ours are those of anybody.
                shuffled = list(wanted)
                secrets.SystemRandom().shuffle(shuffled)
                self._rewrite(table, _batches(shuffled))

    def _rewrite_all(self, table: Table) -> None:
        if self._may_write(table):
            with self._noting(table):
                # In the order of their keys, which are random.
                self._rewrite(table, store.keys(table, at_once=_ROWS_AT_ONCE, using=self.using))

    def _rewrite(self, table: Table, batches: Iterable[Sequence[Row]]) -> None:
        """Rows that others hold are tried again later: waiting for them, with other rows in our hands, could make them fail."""
        held = [key for batch in batches for key in self._rewrite_batch(table, batch)]
        for _ in range(_ROUNDS):
            if not held:
                return
            time.sleep(_PAUSE_SECONDS)
            there = raw.read(table, table.key_names, held, lock=False, using=self.using)
            held = [key for batch in _batches(there) for key in self._rewrite_batch(table, batch)]
        if held:
            self._leave(table, BUSY)

    def _rewrite_batch(self, table: Table, batch: Sequence[Row]) -> list[Row]:
        """Returns those that somebody else holds, or that are gone."""
        done = set(transactions.run(lambda: store.rewrite(table, batch, using=self.using), using=self.using))
        self.done.rows += len(done)
        return [key for key in batch if key not in done]

    def _forget_samples(self, table: Table) -> None:
        if store.obstacle(table, using=self.using) != store.NOT_A_TABLE:
            with self._noting(table):
                store.forget_samples(table, using=self.using)

    def _wait_for_older_transactions(self) -> None:
        """What rows were before they were rewritten leaves the files only when nobody sees it any more."""
        number = store.transaction_number(using=self.using)
        for _ in range(round(_OLDER_SECONDS / _PAUSE_SECONDS)):
            self.older_is_open = store.older_is_open(number, using=self.using)
            if not self.older_is_open:
                return
            time.sleep(_PAUSE_SECONDS)

    # SQLite

    def _scatter(self, table: Table) -> None:
        rowid = store.hidden_rowid(table, using=self.using)
        if rowid is not None and self._may_write(table):
            with self._noting(table):
                for batch in self._pseudoprincipals_in(table):
                    self._scatter_batch(table, batch, rowid)

    def _scatter_batch(self, table: Table, batch: Sequence[Row], rowid: str) -> None:
        transactions.run(lambda: store.scatter(table, batch, rowid, using=self.using), using=self.using)
        self.done.rows += len(batch)

    def _vacuum(self) -> None:
        for _ in range(_TRIES):
            try:
                if store.vacuum(using=self.using):
                    self.done.tables.append(WHOLE_FILE)
                    return
            except OperationalError as error:
                if not transactions.asks_for_another_try(error):
                    raise
            time.sleep(_PAUSE_SECONDS)
        self.done.left.append(Left(WHOLE_FILE, BUSY))

    # What they share

    def _rebuild(self, table: Table) -> None:
        with self._noting(table):
            if store.obstacle(table, using=self.using) == store.NOT_A_TABLE:
                self._leave(table, store.NOT_A_TABLE)
                return
            transactions.run(lambda: store.rebuild(table, using=self.using), using=self.using)
            self.done.tables.append(table.label)
            if self.older_is_open:
                self._leave(table, BUSY)

    def _pseudoprincipals_in(self, table: Table) -> Iterator[list[Row]]:
        """The keys of rows of this table that are pseudoprincipals."""
        for model in registry.principal_models():
            if table_of(model) == table:
                yield from ([row[:1] for row in found] for found in self._pseudoprincipals(model, ()))

    def _referring_in(self, table: Table) -> Iterator[list[Row]]:
        """The keys of rows of this table that refer to pseudoprincipals."""
        for model in registry.principal_models():
            relations = [relation for relation in coverage.relations_to(model) if table_of(relation.model) == table]
            targets = sorted({relation.field.target_field.name for relation in relations})
            for found in self._pseudoprincipals(model, targets) if relations else ():
                for relation in relations:
                    position = 1 + targets.index(relation.field.target_field.name)
                    values = [row[position] for row in found]
                    name = relation.field.name
                    yield raw.read_where(table, table.key_names, name, values, lock=False, using=self.using)

    def _pseudoprincipals(self, model: type[Model], names: Sequence[str]) -> Iterator[list[Row]]:
        """Key and named columns of pseudoprincipals, some at a time."""
        table = table_of(model)
        for references in store.pseudoprincipals(table.label, at_once=_ROWS_AT_ONCE, using=self.using):
            keys = [(key_of(model, reference, using=self.using),) for reference in references]
            yield raw.read(table, (*table.key_names, *names), keys, lock=False, using=self.using)

    def _may_write(self, table: Table) -> bool:
        obstacle = store.obstacle(table, using=self.using)
        if obstacle:
            self._leave(table, obstacle)
        return not obstacle

    @contextlib.contextmanager
    def _noting(self, table: Table) -> Iterator[None]:
        """What one table does not let be done does not keep the others from it."""
        try:
            yield
        except DatabaseBusy:
            self._leave(table, BUSY)
        except DatabaseError:
            if not connections[self.using].is_usable():
                raise
            self._leave(table, REFUSED)

    def _leave(self, table: Table, reason: str) -> None:
        left = Left(table.label, reason)
        if left not in self.done.left:
            self.done.left.append(left)


def _batches(keys: Sequence[Row]) -> Iterator[Sequence[Row]]:
    return (keys[at : at + _ROWS_AT_ONCE] for at in range(0, len(keys), _ROWS_AT_ONCE))
