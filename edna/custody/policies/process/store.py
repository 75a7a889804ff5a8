"""What a monitor keeps, in a SQLite file of its own: its keys, the policies, certificates, nonces that are open, and what it did (the
audit log).

Keeps: each change is on the disk before it is answered; what is deleted is overwritten. The file is its owner's alone. Does not know:
what may be done.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

_TABLES = """
CREATE TABLE IF NOT EXISTS value (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS policy (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS certificate (file TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS trusted (key BLOB NOT NULL, kind TEXT NOT NULL, names TEXT NOT NULL, PRIMARY KEY (key, kind)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS audit (number INTEGER PRIMARY KEY, at INTEGER NOT NULL, what TEXT NOT NULL, about TEXT NOT NULL);
"""


class Store:
    """One monitor's file. Several threads of one process may use it."""

    def __init__(self, path: Path | str) -> None:
        if str(path) != ":memory:":
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._lock, self._turn = threading.RLock(), threading.Condition()
        self._unwritten: list[tuple[int, str, str]] = []
        self._noted = self._written = 0
        self._is_writing = False
        self._database = sqlite3.connect(str(path), isolation_level=None, check_same_thread=False)
        for pragma in ("synchronous=FULL", "secure_delete=ON"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.executescript(_TABLES)

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _all(self, statement: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._database.execute(statement, values).fetchall()

    def value(self, name: str) -> bytes | None:
        found = self._all("SELECT value FROM value WHERE name = ?", name)
        return found[0][0] if found else None

    def put_value(self, name: str, value: bytes) -> None:
        self._all("INSERT OR REPLACE INTO value VALUES (?, ?)", name, value)

    def policies(self) -> Mapping[str, str]:
        return dict(self._all("SELECT name, text FROM policy ORDER BY name"))

    def put_policies(self, policies: Mapping[str, str]) -> None:
        """These, and no others any more."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute("DELETE FROM policy")
            self._database.executemany("INSERT INTO policy VALUES (?, ?)", sorted(policies.items()))
            self._database.execute("COMMIT")

    def certificates(self) -> Sequence[str]:
        return [file for (file,) in self._all("SELECT file FROM certificate ORDER BY file")]

    def put_certificates(self, files: Iterable[str]) -> None:
        for file in files:
            self._all("INSERT OR REPLACE INTO certificate VALUES (?)", file)

    def remove_certificate(self, file: str) -> None:
        self._all("DELETE FROM certificate WHERE file = ?", file)

    def trusted(self, kind: str) -> Mapping[bytes, frozenset[str] | None]:
        """By key, the names of attributes; None for all."""
        found = self._all("SELECT key, names FROM trusted WHERE kind = ?", kind)
        return {bytes(key): (frozenset(json.loads(names)) or None) for key, names in found}

    def trust(self, key: bytes, kind: str, names: Iterable[str] = ()) -> None:
        self._all("INSERT OR REPLACE INTO trusted VALUES (?, ?, ?)", key, kind, json.dumps(sorted(names)))

    def distrust(self, key: bytes) -> None:
        self._all("DELETE FROM trusted WHERE key = ?", key)

    def note(self, what: str, *, about: str, at: int) -> None:
        """Write what happened into the audit log: attributes and public keys, never a secret one."""
        with self._turn:
            self._unwritten.append((at, what, about))
            self._noted += 1
            mine = self._noted
            while self._is_writing and self._written < mine:
                self._turn.wait()
            if self._written >= mine:
                return
            # For all who wait: one wait for the disk is enough for them.
            self._is_writing = True
            notes, self._unwritten, until = self._unwritten, [], self._noted
        try:
            self._write(notes)
        except sqlite3.Error:
            with self._turn:
                self._unwritten = notes + self._unwritten
                self._is_writing = False
                self._turn.notify_all()
            raise
        with self._turn:
            self._written, self._is_writing = until, False
            self._turn.notify_all()

    def _write(self, notes: Sequence[tuple[int, str, str]]) -> None:
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.executemany("INSERT INTO audit (at, what, about) VALUES (?, ?, ?)", notes)
                self._database.execute("COMMIT")
            except sqlite3.Error:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def audit(self, *, most: int = 100) -> Sequence[tuple[int, str, str]]:
        return [tuple(row) for row in self._all("SELECT at, what, about FROM audit ORDER BY number DESC LIMIT ?", most)]
