"""What one guardian keeps, in a SQLite file of its own: its enrolments, tickets, and what it was asked (the audit log).

Keeps: each change is one transaction, on the disk before it is answered, so that a kill loses nothing; what is
deleted is overwritten. A share
under refresh lies beside the present one until enough guardians have theirs. Does not know: what may be done.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edna.custody.guardians.group import POINT_BYTES, Point, Scalar
from edna.custody.guardians.sharing import Share

_TABLES = """
CREATE TABLE IF NOT EXISTS enrolment (
    id BLOB PRIMARY KEY, contact TEXT NOT NULL, vetoes BLOB NOT NULL, vetoed INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS share (
    enrolment BLOB NOT NULL, epoch INTEGER NOT NULL, share BLOB NOT NULL, commitments BLOB NOT NULL,
    deals BLOB NOT NULL, PRIMARY KEY (enrolment, epoch)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ticket (
    id BLOB PRIMARY KEY, enrolment BLOB NOT NULL, opened INTEGER NOT NULL, state TEXT NOT NULL, notes TEXT NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ticket_enrolment ON ticket (enrolment, opened);
CREATE TABLE IF NOT EXISTS about (enrolment BLOB PRIMARY KEY, account TEXT NOT NULL, notes TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS audit (number INTEGER PRIMARY KEY, at INTEGER NOT NULL, what TEXT NOT NULL, about TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Enrolment:
    """Whom a guardian helps: how to reach them, the hashes of what vetoes at each guardian, when they last did (0: never), and what they
    call their account. Nothing else says who they are."""

    enrolment: bytes
    contact: str = field(repr=False)
    vetoes: bytes = field(repr=False)
    vetoed: int = 0
    account: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Ticket:
    """Somebody's request for help. `ticket` is the hash of what they hold; `state` is what the policy says, `notes` what it keeps."""

    ticket: bytes
    enrolment: bytes
    opened: int
    state: str = "open"
    notes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    used: int = 0


class Store:
    """One guardian's file. Several threads of one process may use it."""

    def __init__(self, path: Path | str) -> None:
        self._lock = threading.RLock()
        self._database = sqlite3.connect(str(path), isolation_level=None, check_same_thread=False)
        for pragma in ("synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.executescript(_TABLES)

    def close(self) -> None:
        with self._lock:
            self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, and nobody else's in between."""
        with self._lock:
            if self._database.in_transaction:
                yield
                return
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def _all(self, statement: str, *values: Any) -> Sequence[Any]:
        with self._lock:
            return self._database.execute(statement, values).fetchall()

    def enrolment(self, enrolment: bytes) -> Enrolment | None:
        found = self._all(
            "SELECT id, contact, vetoes, vetoed, COALESCE(account, '') FROM enrolment LEFT JOIN about ON enrolment = id WHERE id = ?",
            enrolment,
        )
        return Enrolment(*found[0]) if found else None

    def add_enrolment(self, enrolment: Enrolment) -> None:
        values = enrolment.enrolment, enrolment.contact, enrolment.vetoes, enrolment.vetoed
        with self.transaction():
            self._all("INSERT INTO enrolment VALUES (?, ?, ?, ?)", *values)
            self._all("INSERT INTO about VALUES (?, ?, '{}')", enrolment.enrolment, enrolment.account)

    def enrolments_of(self, contact: str) -> Sequence[bytes]:
        """Of that address, however its letters are written."""
        wanted = contact.strip().casefold()
        return [id_ for id_, each in self._all("SELECT id, contact FROM enrolment") if each.casefold() == wanted]

    def notes(self, enrolment: bytes) -> Mapping[str, Any]:
        """What is noted about all requests of an enrolment together."""
        found = self._all("SELECT notes FROM about WHERE enrolment = ?", enrolment)
        return dict(json.loads(found[0][0])) if found else {}

    def put_notes(self, enrolment: bytes, notes: Mapping[str, Any]) -> None:
        self._all(
            "INSERT INTO about VALUES (?, '', ?) ON CONFLICT (enrolment) DO UPDATE SET notes = excluded.notes",
            enrolment, json.dumps(dict(notes)),
        )  # fmt: skip

    def note_veto(self, enrolment: bytes, *, at: int) -> None:
        self._all("UPDATE enrolment SET vetoed = ? WHERE id = ?", at, enrolment)

    def remove_enrolment(self, enrolment: bytes) -> None:
        with self.transaction():
            self._all("DELETE FROM share WHERE enrolment = ?", enrolment)
            self._all("DELETE FROM ticket WHERE enrolment = ?", enrolment)
            self._all("DELETE FROM about WHERE enrolment = ?", enrolment)
            self._all("DELETE FROM enrolment WHERE id = ?", enrolment)

    def enrolments(self, *, after: bytes = b"", most: int = 1000) -> Sequence[bytes]:
        """Ids in order, a page at a time."""
        return [row[0] for row in self._all("SELECT id FROM enrolment WHERE id > ? ORDER BY id LIMIT ?", after, most)]

    def count_enrolments(self) -> int:
        return int(self._all("SELECT COUNT(*) FROM enrolment")[0][0])

    def shares(self, enrolment: bytes) -> Sequence[Share]:
        """The present share, and that of a refresh that is not decided yet, in the order of their epochs."""
        rows = self._all(
            "SELECT enrolment, epoch, share, commitments, deals FROM share WHERE enrolment = ? ORDER BY epoch",
            enrolment,
        )
        return [Share(id_, epoch, Scalar(share), _points(points), deals) for id_, epoch, share, points, deals in rows]

    def put_share(self, share: Share) -> None:
        points = b"".join(share.commitments)
        self._all(
            "INSERT OR REPLACE INTO share VALUES (?, ?, ?, ?, ?)",
            share.enrolment, share.epoch, share.share.expose(), points, share.deals,
        )  # fmt: skip

    def remove_shares_before(self, enrolment: bytes, epoch: int) -> None:
        self._all("DELETE FROM share WHERE enrolment = ? AND epoch < ?", enrolment, epoch)

    def remove_share(self, enrolment: bytes, epoch: int) -> None:
        self._all("DELETE FROM share WHERE enrolment = ? AND epoch = ?", enrolment, epoch)

    def epochs(self) -> Mapping[int, int]:
        """How many enrolments have their newest share in which epoch."""
        return dict(
            self._all(
                "SELECT epoch, COUNT(*) FROM (SELECT MAX(epoch) AS epoch FROM share GROUP BY enrolment) GROUP BY epoch"
            )
        )

    def ticket(self, ticket: bytes) -> Ticket | None:
        found = self._all("SELECT id, enrolment, opened, state, notes, used FROM ticket WHERE id = ?", ticket)
        return _ticket(found[0]) if found else None

    def tickets(self, enrolment: bytes, *, since: int) -> Sequence[Ticket]:
        """Those of an enrolment that were opened since then, the oldest first."""
        found = self._all(
            "SELECT id, enrolment, opened, state, notes, used FROM ticket WHERE enrolment = ? AND opened >= ? ORDER BY opened",
            enrolment, since,
        )  # fmt: skip
        return [_ticket(row) for row in found]

    def open_tickets(self, *, since: int) -> Sequence[Ticket]:
        """Those of all enrolments."""
        statement = "SELECT id, enrolment, opened, state, notes, used FROM ticket WHERE opened >= ?"
        return [_ticket(row) for row in self._all(statement, since)]

    def put_ticket(self, ticket: Ticket) -> None:
        self._all(
            "INSERT OR REPLACE INTO ticket VALUES (?, ?, ?, ?, ?, ?)",
            ticket.ticket, ticket.enrolment, ticket.opened, ticket.state, json.dumps(dict(ticket.notes)), ticket.used,
        )  # fmt: skip

    def remove_ticket(self, ticket: bytes) -> None:
        self._all("DELETE FROM ticket WHERE id = ?", ticket)

    def forget_tickets(self, *, before: int) -> None:
        self._all("DELETE FROM ticket WHERE opened < ?", before)

    def note(self, what: str, *, about: str, at: int) -> None:
        """Write what happened into the audit log: ids, never a share, a code or an address."""
        self._all("INSERT INTO audit (at, what, about) VALUES (?, ?, ?)", at, what, about)

    def audit(self, *, most: int = 100) -> Sequence[tuple[int, str, str]]:
        """The newest entries: when, what, about which enrolment or ticket."""
        return [tuple(row) for row in self._all("SELECT at, what, about FROM audit ORDER BY number DESC LIMIT ?", most)]


def _points(raw: bytes) -> tuple[Point, ...]:
    return tuple(raw[start : start + POINT_BYTES] for start in range(0, len(raw), POINT_BYTES))


def _ticket(row: Sequence[Any]) -> Ticket:
    id_, enrolment, opened, state, notes, used = row
    return Ticket(id_, enrolment, opened, state, json.loads(notes), used)
