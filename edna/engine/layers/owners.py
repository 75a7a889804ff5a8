"""What opened records say of those who own their rows, too: whose else a row was, and that somebody else's disguise lies over it.

Knows opened records alone; who of them is there, `engine.surroundings.owners` finds out.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from edna.coverage import relation_to_several
from edna.db.rows import Row
from edna.engine.bags.opened_bag import Opened
from edna.engine.forwarding.walk import table_by_label
from edna.records.diff import Changed
from edna.records.locator import Locator
from edna.value_owners import element_of


@dataclass(frozen=True)
class Need:
    """Somebody who owned a row when it was disguised: by which path, their reference, and the public key by which they are found."""

    path: str
    reference: str
    public_key: bytes
    #: What is theirs, too; nothing where it is the row itself.
    columns: frozenset[str]
    #: Whether the path leads to others as well: to elements, or along a relation to several rows.
    among_several: bool = False
    #: Whether the change was made for them as well, so that none of their own tells of it.
    shares_change: bool = False

    @property
    def at(self) -> str:
        """Where it is asked whether they are there: at the end of the path, or, if that leads to several, at theirs."""
        return f"{self.path} {self.reference}" if self.among_several else self.path


#: By model and key of a row.
Needs = Mapping[tuple[str, Row], Sequence[Need]]


@dataclass(frozen=True)
class LayerOfOthers:
    """That somebody's disguise lies over these columns of these rows."""

    locator: Locator
    applied_at: datetime.datetime
    model: str
    columns: frozenset[str]
    keys: frozenset[Row]


def layers_of_others(bags: Iterable[Opened]) -> Iterator[LayerOfOthers]:
    for opened in bags:
        for batch in opened.diffs:
            if isinstance(batch, Changed):
                keys = frozenset(batch.primary_keys())
                yield LayerOfOthers(opened.locator, opened.head.applied_at, batch.model, frozenset(batch.columns), keys)


def needs_of(opened: Opened) -> dict[tuple[str, Row], list[Need]]:
    needs: dict[tuple[str, Row], list[Need]] = {}
    for batch in opened.owners:
        width, table = len(batch.key), table_by_label(batch.model)
        to_several = {
            path: element_of([path]) is not None
            or (table is not None and relation_to_several(table.model, path) is not None)
            for path in {str(row[width]) for row in batch.rows}
        }
        for row in batch.rows:
            path, reference, public_key, columns = str(row[width]), *row[width + 1 :]
            first, *rest = str(columns).split(",")
            need = Need(
                path,
                str(reference),
                bytes(public_key),
                frozenset(filter(None, (first, *rest))),
                among_several=to_several[path],
                shares_change=not first and bool(rest),
            )
            needs.setdefault((batch.model, tuple(row[:width])), []).append(need)
    return needs
