"""Whom the users of a load play: read from a file that was written when the site was filled (`loadtest.prepare`).

Pure values: knows no HTTP, no Locust and no database.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

#: Which of those who can disguise their data: by lot, or by how many rows are theirs.
SIZES = ("random", "light", "median", "heaviest")


@dataclass(frozen=True)
class Account:
    """Somebody with a key: ``name`` is what they log in with, ``rows`` how many rows of the database name them.

    ``key`` is the primary key of the account's row, by which the rows are compared before and after; who talks HTTP has no use for it.
    ``marks`` are texts that only this person's own pages show, by what they are of: whoever is back must find them there.
    """

    name: str
    recovery_code: str = field(repr=False)
    rows: int
    marks: dict[str, Any] = field(default_factory=dict)
    key: int = 0


@dataclass(frozen=True)
class People:
    """Everybody of one application. ``ordinary`` never disguise anything; ``disguisers`` do, by size; ``facts`` are what an application's
    users must know of its data, such as which pages are popular. ``scale`` says in words how large the site is."""

    app: str
    password: str
    ordinary: dict[str, list[str]]
    disguisers: dict[str, list[Account]]
    facts: dict[str, Any]
    scale: str = ""

    @classmethod
    def read(cls, path: Path) -> People:
        found = json.loads(path.read_text())
        disguisers = {
            size: [Account(**account) for account in accounts] for size, accounts in found.pop("disguisers").items()
        }
        return cls(disguisers=disguisers, **found)

    def write(self, path: Path) -> None:
        # Recovery codes open everything: a file for its owner alone, made as such.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(asdict(self), file)

    def all_disguisers(self) -> list[Account]:
        """Each once, whatever sizes they stand for."""
        return list({account.name: account for some in self.disguisers.values() for account in some}.values())
