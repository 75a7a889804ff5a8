"""Moves all of edna's tables from one database to another, by a file.

Keeps: what is written is one moment of the tables; what is read is verified as a whole first, and comes in all or nothing, into tables
that are empty. The file holds what the tables hold, and no more: bags stay sealed, and open with the same ``MAC_KEYS`` only. Memory
does not grow with the tables. Does not know: the application's own rows (Django's ``dumpdata`` moves those), nor how tables are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import IntegrityError, connections, transaction

from edna import clock, registry
from edna.db.rows import Table
from edna.errors import FileRefused, TablesNotEmpty
from edna.operations import audit
from edna.operations.exports import bundle
from edna.operations.store import transfer as store
from edna.store import serverkeys

KIND: Final = "tables"
#: How rows are numbered in it: before 2, entries and bags had numbers that do not follow from what they are found by.
FORM: Final = 2

Progress = Callable[[int, int], None]


@dataclass
class Transferred:
    """How many rows of which tables."""

    tables: dict[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(self.tables.values())


def export(path: str, *, using: str | None = None, progress: Progress | None = None, operator: str = "") -> Transferred:
    """Write all of edna's tables to a new file that only its owner may read. With an ``operator``, the trail notes it first.

    Raises:
        FileRefused: there is something at ``path`` already.
        ServerKeyUnknown: the file would be signed with a key that is not this site's.
    """
    alias = using or registry.database()
    serverkeys.require(using=alias)
    done = Transferred()
    with bundle.new_file(path, using=alias) as writer, _noted("export", operator), store.snapshot(using=alias):
        counts = [(table, store.count(table, using=alias)) for table in store.tables()]
        writer.add(
            {
                "kind": KIND,
                "form": FORM,
                "written_on": clock.today(),
                "database": connections[alias].vendor,
                "tables": [[store.label_of(table), list(table.names), number] for table, number in counts],
            }
        )
        total = sum(number for _, number in counts)
        for table, number in counts:
            written = 0
            for page in store.pages(table, using=alias):
                writer.add([store.label_of(table), [list(row) for row in page]])
                written += len(page)
                if progress is not None:
                    progress(done.rows + written, total)
            if written != number:
                # Without a snapshot (MyISAM, say): the application was at work.
                raise FileRefused(f"{store.label_of(table)} changed while it was written; stop the site and try again.")
            done.tables[store.label_of(table)] = written
    return done


def load(path: str, *, using: str | None = None, progress: Progress | None = None, operator: str = "") -> Transferred:
    """Fill edna's tables with what `export` wrote, all or nothing. With an ``operator``, the trail that came with it notes it.

    Raises:
        FileRefused: the file is none of `export`, was cut off or edited, or is of another release or site.
        TablesNotEmpty: there are rows in edna's tables already.
    """
    alias = using or registry.database()
    with bundle.whole_file(path) as reader:
        pieces = reader.pieces()
        expected = _expected(next(pieces, None), path)
        try:
            with transaction.atomic(using=alias):
                done = _fill(pieces, expected, path, using=alias, progress=progress)
                if operator:
                    audit.note("import", operator=operator, rows=done.rows)
                return done
        except IntegrityError:
            pass
    # Outside of the handler: the database's words quote the values of rows.
    raise TablesNotEmpty(
        "Somebody wrote to edna's tables at the same time. Nothing was changed; stop the site and try again."
    )


@contextmanager
def _noted(action: str, operator: str) -> Iterator[None]:
    # Before anything is written: no file is to be there that nothing tells of. It holds the entry, too.
    if operator:
        audit.note(action, operator=operator)
    yield


def _expected(header: Any, path: str) -> dict[str, int]:
    """How many rows of each table the file holds, if its tables are those of today."""
    match header:
        case {"kind": kind, "tables": list(listed)} if kind == KIND:
            described = [(label, names) for label, names, _ in listed]
            if header.get("form") != FORM or described != [
                (store.label_of(table), list(table.names)) for table in store.tables()
            ]:
                raise FileRefused(
                    f"{path} was written by a release of edna with other tables. Nothing was changed; import it with that release, "
                    "then upgrade and migrate."
                )
            return {label: number for label, _, number in listed}
    raise FileRefused(f"{path} does not hold edna's tables; edna_export writes such a file. Nothing was changed.")


def _fill(
    pieces: Iterator[Any], expected: dict[str, int], path: str, *, using: str, progress: Progress | None
) -> Transferred:
    tables = {store.label_of(table): table for table in store.tables()}
    _require_empty([table for table in tables.values() if table.model is not serverkeys.MODEL], using=using)
    done, total = Transferred(dict.fromkeys(expected, 0)), sum(expected.values())
    # What migrating took for this site's keys gives way to those that the sealed things were made under, but for configured ones.
    here = serverkeys.standing(using=using)
    serverkeys.forget([key.check_value for key in here.known], using=using)
    serverkeys.forgotten(here.missing, using=using)
    for label, rows in pieces:
        store.add(tables[label], rows, using=using)
        done.tables[label] += len(rows)
        if progress is not None:
            progress(done.rows, total)
    if done.tables != expected:
        raise FileRefused(f"{path} does not hold as many rows as it says. Nothing was changed; write it again.")
    for key in here.known:
        if key.check_value in here.configured:
            serverkeys.add([key.check_value], added_on=key.added_on, using=using)
    store.filled(using=using)
    return done


def _require_empty(tables: list[Table], *, using: str) -> None:
    taken = [store.label_of(table) for table in tables if not store.is_empty(table, using=using)]
    if taken:
        raise TablesNotEmpty(
            f"There are rows in {', '.join(taken)} already. Nothing was changed; import into a database that was just migrated, "
            "before anybody uses it."
        )
