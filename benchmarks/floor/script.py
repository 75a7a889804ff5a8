"""The floor itself: accounts with keys, rows hidden, rows back.

Left out beside what the package says: a row of several owners that all have left is nobody's and stays, and a reveal that finds a
row changed is an error and not held.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.floor import sealing
from benchmarks.floor.sealing import KeyPair
from benchmarks.floor.statements import change, delete, insert, marks, select
from benchmarks.kit.driver import Driver, Row

#: From so many places on it pays to ask first which of them have any row.
_PROBE_FROM: Final = 5
_POOL: Final = 512


class People:
    """The table of accounts, its key, and the columns of a placeholder person (without the key), made anew for each."""

    def __init__(
        self, table: str, key: str, placeholder: Callable[[], Mapping[str, Any]], *, key_bits: int = 53
    ) -> None:
        self.table, self.key, self.placeholder, self._key_bits = table, key, placeholder, key_bits
        self._drawn: set[int] = set()

    def new_key(self) -> int:
        """None that was drawn before: of tens of thousands with 31 bits, two are alike in every third run."""
        while (key := -1 - secrets.randbits(self._key_bits)) in self._drawn:
            pass
        self._drawn.add(key)
        return key


@dataclass(frozen=True)
class Person:
    """Somebody with a key."""

    key: Any
    pair: KeyPair = field(repr=False)


Values = Mapping[str, Any]
#: What is to stand in which columns of a row that one of these owns.
Change = Callable[[Values, Container[Any]], Values]


@dataclass(frozen=True)
class Place:
    """Rows ``t`` of one table that one of the columns ``owners`` gives to a person: they go, if ``removes``. If not, ``change`` says
    what they get, and columns that ``repointed`` names go to placeholder people: one for each row, or each value of ``group``."""

    table: str
    owners: tuple[str, ...]
    key: tuple[str, ...] = ("id",)
    removes: bool = False
    repoints: bool = False
    change: Change | None = None
    where: str = ""
    params: tuple[Any, ...] = ()
    group: str = ""


def repointed(table: str, *owners: str, **more: Any) -> Place:
    """A place whose rows stay and get other owners."""
    return Place(table, owners, repoints=True, **more)


@dataclass
class _Hidden:
    """What one bag keeps, and who is made for it."""

    removed: list[tuple[str, list[Row]]] = field(default_factory=list)
    changed: list[tuple[Place, Sequence[str], list[tuple[Row, Row, Row]]]] = field(default_factory=list)
    made: dict[Any, KeyPair] = field(default_factory=dict)
    detached: list[tuple[bytes, Any]] = field(default_factory=list)

    def content(self) -> Any:
        changed = [(place.table, place.key, names, rows) for place, names, rows in self.changed]
        return self.removed, changed, self.made, self.detached


class Floor:
    """Two tables of its own, and key pairs made ahead of time as edna's pool has them."""

    def __init__(self, driver: Driver, people: People) -> None:
        self._driver, self._people = driver, people
        self._pool: list[KeyPair] = []
        blob, digest = driver.dialect.blob, driver.dialect.digest
        driver.execute(
            f"CREATE TABLE floor_entry (public_key {digest} PRIMARY KEY, person BIGINT UNIQUE, locators {blob} NOT NULL)"
        )
        driver.execute(f"CREATE TABLE floor_bag (place {digest} PRIMARY KEY, sealed {blob} NOT NULL)")
        driver.commit()

    def register(self, keys: Iterable[Any]) -> dict[Any, Person]:
        """Give accounts that are there a key."""
        made = {key: Person(key, sealing.key_pair()) for key in keys}
        listed = [(person.pair[1], key, b"") for key, person in made.items()]
        with self._driver.transaction():
            for start in range(0, len(listed), 1000):
                insert(self._driver, "floor_entry", listed[start : start + 1000])
        return made

    def add(self, key: Any) -> Person:
        """The same for a new account, within the transaction that makes it."""
        person = Person(key, sealing.key_pair())
        insert(self._driver, "floor_entry", [(person.pair[1], key, b"")])
        return person

    def ready(self, count: int) -> None:
        """Have so many key pairs. Untimed: edna's pool fills up in a thread of its own."""
        while len(self._pool) < max(count, _POOL):
            self._pool.append(sealing.key_pair())

    # There

    def hide(self, places: Sequence[Place], people: Sequence[Person], *, with_key: bool = False) -> dict[Any, bytes]:
        """What becomes of these people's rows, in one transaction; ``with_key``: of those that earlier disguises moved, too."""
        with self._driver.transaction():
            lists = self._lock(people)
            owner = {person.key: person.key for person in people}
            if with_key:
                for person in people:
                    owner |= dict.fromkeys(self._voices(person, lists[person.key]), person.key)
            hidden = {person.key: _Hidden() for person in people}
            made: list[tuple[Any, KeyPair]] = []
            found = [(place, *self._find(place, owner)) for place in self._with_rows(places, owner)]
            gone: list[tuple[Place, list[Row]]] = []
            for place, names, rows in found:
                if place.removes:
                    gone.append((place, self._note_removed(place, names, rows, owner, hidden)))
                else:
                    self._note_changed(place, names, rows, owner, hidden, made)
            self._insert_made(made)
            for place, names, rows in _together(hidden.values()):
                change(self._driver, place.table, place.key, names, rows)
            for place, keys in gone:
                if keys:
                    delete(self._driver, place.table, place.key, keys)
            return self._store(
                people, owner, lists, hidden, leaving=any(p.table == self._people.table for p, _ in gone)
            )

    def _lock(self, people: Sequence[Person]) -> dict[Any, bytes]:
        table, key = map(self._driver.quoted, (self._people.table, self._people.key))
        known = f"floor_entry e JOIN {table} u ON u.{key} = e.person"
        sql = f"SELECT e.person, e.locators FROM {known} WHERE e.person IN ({marks(len(people))})"
        return dict(select(self._driver, sql + self._driver.dialect.locked, [person.key for person in people]))

    def _voices(self, person: Person, locators: bytes) -> dict[Any, KeyPair]:
        """The placeholder people that somebody's bags tell of, and those of these."""
        indexes = [sealing.index_of(locator) for locator in sealing.open_locators(locators, person.pair)]
        if not indexes:
            return {}
        sql = f"SELECT sealed FROM floor_bag WHERE place IN ({marks(len(indexes))})"
        bags = select(self._driver, sql + self._driver.dialect.locked, indexes)
        voices: dict[Any, KeyPair] = {}
        for (sealed,) in bags:
            voices |= sealing.opened(sealed, person.pair)[2]
        if voices:
            sql = f"SELECT person, locators FROM floor_entry WHERE person IN ({marks(len(voices))})"
            for key, further in select(self._driver, sql + self._driver.dialect.locked, list(voices)):
                if further:
                    voices = {**voices, **self._voices(Person(key, voices[key]), further)}
        return voices

    def _with_rows(self, places: Sequence[Place], owner: Mapping[Any, Any]) -> list[Place]:
        if len(places) < _PROBE_FROM:
            return list(places)
        asked, params = [], []
        for place in places:
            where, given = self._condition(place, owner)
            asked.append(f"EXISTS (SELECT 1 FROM {self._driver.quoted(place.table)} t WHERE {where})")
            params += given
        (answers,) = select(self._driver, f"SELECT {', '.join(asked)}", params)
        return [place for place, answer in zip(places, answers, strict=True) if answer]

    def _condition(self, place: Place, owner: Mapping[Any, Any]) -> tuple[str, list[Any]]:
        among = f"IN ({marks(len(owner))})" if len(owner) > 1 else "= %s"
        owned = " OR ".join(f"t.{self._driver.quoted(name)} {among}" for name in place.owners)
        where = f"({owned})" + (f" AND {place.where}" if place.where else "")
        return where, [*(list(owner) * len(place.owners)), *place.params]

    def _find(self, place: Place, owner: Mapping[Any, Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
        where, params = self._condition(place, owner)
        group = f", {place.group}" if place.group else ""
        table = self._driver.quoted(place.table)
        rows = select(
            self._driver, f"SELECT t.*{group} FROM {table} t WHERE {where}{self._driver.dialect.locked}", params
        )
        return [column[0] for column in self._driver.cursor.description], rows

    def _note_removed(
        self,
        place: Place,
        names: Sequence[str],
        rows: Sequence[Row],
        owner: Mapping[Any, Any],
        hidden: Mapping[Any, _Hidden],
    ) -> list[Row]:
        (column,) = (names.index(name) for name in place.owners)
        own: dict[Any, list[Row]] = {}
        for row in rows:
            own.setdefault(owner[row[column]], []).append(row)
        for person, theirs in own.items():
            hidden[person].removed.append((place.table, theirs))
        keys = [names.index(name) for name in place.key]
        return [[row[at] for at in keys] for row in rows]

    def _note_changed(
        self,
        place: Place,
        names: Sequence[str],
        rows: Sequence[Row],
        owner: Mapping[Any, Any],
        hidden: Mapping[Any, _Hidden],
        made: list[tuple[Any, KeyPair]],
    ) -> None:
        keys = [names.index(name) for name in place.key]
        groups: dict[Any, Any] = {}
        found: dict[Any, list[tuple[Values, Values, Row]]] = {}
        for row in rows:
            values = dict(zip(names, row, strict=True))
            person = next(owner[values[name]] for name in place.owners if values[name] in owner)
            new: dict[str, Any] = dict(place.change(values, owner)) if place.change else {}
            if place.repoints:
                for name in place.owners:
                    if values[name] in owner:
                        at = (owner[values[name]], name, row[-1]) if place.group else (row[0], name)
                        if at not in groups:
                            groups[at], pair = self._people.new_key(), self._pool.pop()
                            made.append((groups[at], pair))
                            hidden[person].made[groups[at]] = pair
                        new[name] = groups[at]
            new = {name: value for name, value in new.items() if value != values[name]}
            if new:
                found.setdefault(person, []).append((values, new, [row[at] for at in keys]))
        for person, theirs in found.items():
            columns = list(dict.fromkeys(name for _, new, _ in theirs for name in new))
            noted = [
                (key, [values[name] for name in columns], [new.get(name, values[name]) for name in columns])
                for values, new, key in theirs
            ]
            hidden[person].changed.append((place, columns, noted))

    def _insert_made(self, made: Sequence[tuple[Any, KeyPair]]) -> None:
        if made:
            filled = [self._people.placeholder() for _ in made]
            rows = [(key, *values.values()) for (key, _), values in zip(made, filled, strict=True)]
            insert(self._driver, self._people.table, rows, (self._people.key, *filled[0]))
            insert(self._driver, "floor_entry", [(public, key, b"") for key, (_, public) in made])

    def _store(
        self,
        people: Sequence[Person],
        owner: Mapping[Any, Any],
        lists: Mapping[Any, bytes],
        hidden: Mapping[Any, _Hidden],
        *,
        leaving: bool,
    ) -> dict[Any, bytes]:
        driver, locators = self._driver, {person.key: secrets.token_bytes(32) for person in people}
        others = [key for key in owner if key not in locators]
        if leaving and others:
            sql = f"SELECT public_key, person FROM floor_entry WHERE person IN ({marks(len(others))})"
            for public, key in select(driver, sql, others):
                hidden[owner[key]].detached.append((public, key))
        bags, entries = [], []
        for person in people:
            public, locator = person.pair[1], locators[person.key]
            bags.append((sealing.index_of(locator), sealing.seal(hidden[person.key].content(), public)))
            now = lists[person.key] + sealing.seal_locator(locator, public)
            entries.append(([public], [person.key, lists[person.key]], [None if leaving else person.key, now]))
        insert(driver, "floor_bag", bags)
        change(driver, "floor_entry", ("public_key",), ("person", "locators"), entries)
        if leaving and others:
            driver.execute(f"UPDATE floor_entry SET person = NULL WHERE person IN ({marks(len(others))})", others)
        return locators

    # And back

    def back(self, person: Person, locator: bytes) -> None:
        """Everything as it was before; who was made for it goes."""
        driver = self._driver
        secret = person.pair[0]
        pair = (secret, sealing.public_of(secret))
        with driver.transaction():
            sql = "SELECT person, locators FROM floor_entry WHERE public_key = %s"
            ((now, sealed),) = select(driver, sql + driver.dialect.locked, (pair[1],))
            sql, index = "SELECT sealed FROM floor_bag WHERE place = %s", sealing.index_of(locator)
            ((bag,),) = select(driver, sql + driver.dialect.locked, (index,))
            removed, changed, made, detached = sealing.opened(bag, pair)
            for table, rows in reversed(removed):
                insert(driver, table, rows)
            for table, key, names, rows in reversed(changed):
                change(driver, table, key, names, [(pk, new, old) for pk, old, new in rows])
            if made:
                # Refused by the foreign keys if something refers to one of them by now.
                delete(driver, self._people.table, (self._people.key,), [[key] for key in made])
                delete(driver, "floor_entry", ("person",), [[key] for key in made])
            delete(driver, "floor_bag", ("place",), [[index]])
            listed = sealing.open_locators(sealed, pair)
            size = len(sealed) // len(listed)
            at = listed.index(locator) * size
            kept = bytes(sealed[:at] + sealed[at + size :])
            entries = [([pair[1]], [now, sealed], [person.key, kept])]
            change(driver, "floor_entry", ("public_key",), ("person", "locators"), entries)
            if detached:
                change(
                    driver, "floor_entry", ("public_key",), ("person",), [([p], [None], [key]) for p, key in detached]
                )

    # Beside a disguise

    def voices(self, person: Person) -> dict[Any, KeyPair]:
        """For whom somebody speaks."""
        public = sealing.public_of(person.pair[0])
        sql = "SELECT locators FROM floor_entry WHERE public_key = %s"
        ((locators,),) = select(self._driver, sql, (public,))
        return self._voices(person, locators)

    def forget(self) -> None:
        """All that was hidden, once the rows were put back in another way."""
        with self._driver.transaction():
            self._driver.execute("DELETE FROM floor_bag")
            self._driver.execute("DELETE FROM floor_entry WHERE person < 0")
            self._driver.execute("UPDATE floor_entry SET locators = %s", (b"",))


def _together(hidden: Iterable[_Hidden]) -> list[tuple[Place, Sequence[str], list[tuple[Row, Row, Row]]]]:
    """Of several people: rows of one place and of the same columns in one statement."""
    found: dict[tuple[int, tuple[str, ...]], tuple[Place, Sequence[str], list[tuple[Row, Row, Row]]]] = {}
    for each in hidden:
        for place, names, rows in each.changed:
            found.setdefault((id(place), tuple(names)), (place, names, []))[2].extend(rows)
    return list(found.values())
