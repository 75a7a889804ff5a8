"""What an erasure destroys: of one disguise of a person, or of all of them.

Counts only, so a page may show it before and after. Knows records; reads and writes no tables.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from edna.engine.bags.opened_bag import Opened
from edna.engine.files.pointers import pointers_in
from edna.engine.graph.placeholder_rows import PlaceholderRows
from edna.engine.graph.tally import Recorded


@dataclass(frozen=True)
class Erasure:
    """What is destroyed for good, or would be. ``rows`` counts rows by model, each once: they stay in the tables as they are, or stay
    away. ``pseudoprincipals`` are those for whom nobody speaks any more, ``files`` sealed contents. ``forgets`` says that nothing of the
    person is left then: their key opens nothing, and its slots are gone."""

    rows: dict[str, int] = field(default_factory=dict)
    pseudoprincipals: int = 0
    files: int = 0
    forgets: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "pseudoprincipals": self.pseudoprincipals,
            "files": self.files,
            "forgets": self.forgets,
        }


class Counting:
    """Adds up what bags hold, before anything is taken out of them. In any order."""

    def __init__(self) -> None:
        self._recorded: list[tuple[datetime.datetime, Recorded]] = []
        self._pseudoprincipals = 0
        self._files = 0

    def add(self, opened: Opened, others: Iterable[Opened], placeholders: PlaceholderRows) -> None:
        """``others``: among them, the shared bags at which it points."""
        recorded = Recorded(opened.head.principal_model, opened.head.principal, placeholders)
        recorded.add(opened.diffs)
        pointers = set(opened.pointers) if recorded.needs_shared else ()
        for shared in others:
            if shared.locator in pointers:
                recorded.name_shared(shared.diffs)
        self._recorded.append((opened.head.applied_at, recorded))
        self._pseudoprincipals += len(opened.speaks_for)
        self._files += sum(1 for _ in pointers_in(opened.diffs))

    def result(self, *, forgets: bool) -> Erasure:
        together = Recorded()
        for _, recorded in sorted(self._recorded, key=lambda each: each[0]):
            together.include(recorded)
        return Erasure(together.counts(), self._pseudoprincipals, self._files, forgets)
