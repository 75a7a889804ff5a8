"""Searches the database for the values of one person: every column of every table, sessions, and the names of files.

Invariant: what it finds is told by table, column and key, and by where the value comes from, never by the value. Reads only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from django.apps import apps
from django.core.files.storage import FileSystemStorage, Storage
from django.db.models import FileField

from edna import json_keys, registry
from edna.auditing import reading
from edna.auditing.matching import Index, folded, leaves, needle
from edna.auditing.values import Value, Values, as_key, known_by

#: No two people have one: in whatever row it stands, even one that says of nobody whose it is, it is this person's.
_ADDRESS: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
#: Tables that `migrate` fills: names of models, migrations and permissions.
_OF_THE_CODE: Final = ("django_migrations", "django_content_type", "auth_permission")
#: Keys of rows that are told of one place.
_KEYS_TOLD: Final = 10


@dataclass
class Place:
    """A column, or a storage, in which values were found: in how many rows, in which, and what of the person it is.

    Not ``certain``: somebody else has the same value in the very column that it comes from, and it is no e-mail address; or the
    person's rows held what another principal is known by; or it is a word of the code.
    """

    name: str
    certain: bool
    rows: int = 0
    keys: list[str] = field(default_factory=list)
    #: By the origin of a value: in how many rows it is.
    holds: dict[str, int] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set, repr=False)

    def as_dict(self) -> dict[str, Any]:
        return {"place": self.name, "rows": self.rows, "keys": self.keys, "holds": dict(sorted(self.holds.items()))}


@dataclass
class Findings:
    """What a search has found. ``values`` is how many different ones were looked for."""

    of: str
    disguise: str
    values: int
    too_short: int
    unopened: int
    tables: int = 0
    rows: int = 0
    files: int = 0
    places: list[Place] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def certain(self) -> list[Place]:
        return [place for place in self.places if place.certain]

    @property
    def shared(self) -> list[Place]:
        return [place for place in self.places if not place.certain]

    def as_dict(self) -> dict[str, Any]:
        return {
            "of": self.of,
            "disguise": self.disguise or None,
            "values": self.values,
            "too_short": self.too_short,
            "unopened": self.unopened,
            "searched": {"tables": self.tables, "rows": self.rows, "files": self.files},
            "found": [place.as_dict() for place in self.certain],
            "also_of_others": [place.as_dict() for place in self.shared],
            "notes": self.notes,
        }


def search(values: Values, *, using: Collection[str] = (), ignore: Collection[str] = ()) -> Findings:
    """Look for them in these databases, or in the one where principals are. ``ignore`` names tables and columns that may hold them."""
    return _Search(values, ignore).run(using or [registry.database()])


class _Search:
    def __init__(self, values: Values, ignore: Collection[str]) -> None:
        self._values, self._ignore = values, ignore
        self._needles = list(values.by_needle)
        self._index = Index.of(self._needles)
        self._hits: list[tuple[str, str, set[int]]] = []
        #: Values that somebody else has where they come from, or is known by.
        self._of_others: set[int] = set()
        self._names = known_by()
        self._own_tables = {table for table, _ in self._names}
        self.findings = Findings(values.of, values.disguise, len(self._needles), values.too_short, values.unopened)
        self.findings.notes += [
            f"Not looked for: what stands in rows of {model} that {' or '.join(names)} gave away before. Only the person's key finds those."
            for model, names in values.beyond_reach.items()
        ]

    def run(self, databases: Iterable[str]) -> Findings:
        for number, using in enumerate(databases):
            own = using == registry.database()
            prefix = f"{using}: " if number or not own else ""
            for table in reading.tables(using=using):
                if table not in self._ignore:
                    self._table(table, prefix, using=using, own=own)
        self._files()
        self._tell()
        return self.findings

    def _table(self, table: str, prefix: str, *, using: str, own: bool) -> None:
        key = reading.keys(table, using=using)
        hidden = self._values.hidden.get(table, {}) if own else {}
        touched = self._values.touched.get(table, {}) if own else {}
        decode = "session_data" if table == reading.session_table() else None
        self.findings.tables += 1
        for names, rows in reading.pages(table, using=using):
            self.findings.rows += len(rows)
            places = [names.index(name) for name in key]
            wanted = [(place, name) for place, name in enumerate(names) if f"{table}.{name}" not in self._ignore]
            for row in rows:
                this = as_key(row[place] for place in places)
                gone = hidden.get(this, ()) if places else ()
                if gone is None:
                    continue
                for place, name in wanted:
                    value = row[place]
                    if value is None or name in gone or (isinstance(value, int) and abs(value) < 10_000):
                        continue
                    for single in (each for each in gone if each.startswith(name + json_keys.BETWEEN)):
                        value = json_keys.without(value, single, of=name)
                    if name == decode:
                        value = reading.session_content(value)
                    if found := self._index.found_in(value):
                        self._hit(table, name, prefix, this, value, found, touched=this in touched)

    def _hit(
        self, table: str, column: str, prefix: str, key: tuple[str, ...], value: Any, found: set[int], *, touched: bool
    ) -> None:
        meant, own = set(), key == self._values.own.get(table)
        for number in found:
            origins = self._values.by_needle[self._needles[number]]
            if not touched and all(each.only_in for each in origins):
                continue
            # An account that stays has what it had, unless that is what was taken.
            if own and not any(each.table in self._values.own and not each.only_in for each in origins):
                continue
            meant.add(number)
            at_home = any((each.table, each.column) == (table, column) for each in origins)
            is_address = any(_ADDRESS.fullmatch(each.text.strip()) for each in origins)
            at_home = at_home and not is_address
            if (at_home or self._names_somebody_else(table, column, key, origins)) and self._begins_with(value, number):
                self._of_others.add(number)
        if meant:
            self._hits.append((f"{prefix}{table}.{column}" if table else prefix, self._told(table, key), meant))

    def _names_somebody_else(self, table: str, column: str, key: tuple[str, ...], origins: list[Value]) -> bool:
        """Whether another principal is known by what stands there, and a row of this one held it: an invitation, the lines of a log."""
        if (table, column) not in self._names or key == self._values.own.get(table):
            return False
        # What comes from no table was given, to be found wherever it stands.
        return all(each.table and each.table not in self._own_tables for each in origins)

    def _begins_with(self, value: Any, number: int) -> bool:
        """Whether it is the same value, or of a document one that is, or begins as one that is too long to be looked for as a whole."""
        wanted = self._needles[number]
        same = {folded(each.text) for each in self._values.by_needle[wanted]}
        texts = {folded(each) for each in leaves(value)}
        if texts & same:
            return True
        return any(needle(each) == wanted for each in texts) and not any(each.endswith(wanted) for each in same)

    def _told(self, table: str, key: tuple[str, ...]) -> str:
        """A key of numbers. One of text is a name, perhaps, or opens a session."""
        text = "/".join(key)
        return text if all(part.lstrip("-").isdigit() for part in key) or reading.has_uuid_key(table) else "…"

    def _files(self) -> None:
        """Names of files, in every storage that a model keeps files in."""
        for label, storage in _storages():
            if isinstance(storage, FileSystemStorage) and not storage.base_location:
                self.findings.notes.append(f"The files of {label} were not listed: MEDIA_ROOT is not set.")
                continue
            if isinstance(storage, FileSystemStorage) and not os.path.lexists(storage.location):
                continue  # it is made with its first file
            try:
                for name in _names(storage):
                    self.findings.files += 1
                    if name not in self._values.files and (found := self._index.found_in(name)):
                        self._hit("", "", f"files of {label}", (), name, found, touched=False)
            except (NotImplementedError, OSError, ValueError) as error:
                self.findings.notes.append(f"The files of {label} cannot be listed ({type(error).__name__}).")

    def _tell(self) -> None:
        places: dict[tuple[str, bool], Place] = {}
        for name, key, found in self._hits:
            table = name.rpartition(" ")[2].partition(".")[0]
            others = found if table in _OF_THE_CODE else found & self._of_others
            for certain in (True, False):
                numbers = found - others if certain else others
                if not numbers:
                    continue
                place = places.setdefault((name, certain), Place(name, certain))
                place.rows += 1
                if key and len(place.keys) < _KEYS_TOLD:
                    place.keys.append(key)
                held = [each for number in numbers for each in self._values.by_needle[self._needles[number]]]
                place.texts.update(each.text for each in held)
                for origin in {each.origin for each in held}:
                    place.holds[origin] = place.holds.get(origin, 0) + 1
        self.findings.places = [places[name] for name in sorted(places, key=lambda name: (not name[1], name[0]))]


def _storages() -> Iterator[tuple[str, Storage]]:
    """Each once, under the first of the fields that keep files there."""
    seen: list[Storage] = []
    for model in apps.get_models(include_auto_created=True):
        for column in model._meta.local_concrete_fields:
            if isinstance(column, FileField) and not any(column.storage == each for each in seen):
                seen.append(column.storage)
                yield f"{model._meta.label}.{column.name}", column.storage


def _names(storage: Storage, folder: str = "") -> Iterator[str]:
    folders, files = storage.listdir(folder)
    for name in files:
        yield f"{folder}/{name}" if folder else name
    for name in folders:
        yield from _names(storage, f"{folder}/{name}" if folder else name)
