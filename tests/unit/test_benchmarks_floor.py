"""The floor of the benchmarks does what it is measured for: what it hides comes back, and a row that was changed stops it."""

from __future__ import annotations

import secrets
import sqlite3
from typing import Any

import pytest

from benchmarks.floor import Floor, People, Person, Place, repointed
from benchmarks.kit.dialects import SQLite
from benchmarks.kit.driver import Driver

pytestmark = pytest.mark.once

SCHEMA = """
PRAGMA foreign_keys = ON;
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE post (id INTEGER PRIMARY KEY, author INTEGER REFERENCES person (id), thread INTEGER, body TEXT);
CREATE TABLE vote (id INTEGER PRIMARY KEY, voter INTEGER REFERENCES person (id), post INTEGER);
INSERT INTO person VALUES (1, 'bea'), (2, 'ada');
INSERT INTO post VALUES (1, 1, 7, 'one'), (2, 1, 7, 'two'), (3, 1, 8, 'three'), (4, 2, 7, 'of ada');
INSERT INTO vote VALUES (1, 1, 4), (2, 2, 1);
"""
POSTS = repointed("post", "author", group="t.thread")
LEAVE = (
    repointed("post", "author", change=lambda *_: {"body": "[gone]"}),
    Place("vote", ("voter",), removes=True),
    Place("person", ("id",), removes=True),
)


class Embedded(Driver):
    """The driver over an SQLite database in memory; it takes no settings."""

    def __init__(self) -> None:
        self.statements, self.dialect = 0, SQLite()
        self.connection: Any = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.executescript(SCHEMA)
        self.cursor = self.connection.cursor()


@pytest.fixture
def driver() -> Driver:
    return Embedded()


@pytest.fixture
def floor(driver: Driver) -> Floor:
    made = Floor(driver, People("person", "id", lambda: {"name": secrets.token_hex(8)}))
    made.ready(10)
    return made


@pytest.fixture
def bea(floor: Floor) -> Person:
    return floor.register([1, 2])[1]


def rows(driver: Driver, *tables: str) -> list[Any]:
    return [driver.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in tables]


def test_what_is_hidden_comes_back(driver: Driver, floor: Floor, bea: Person) -> None:
    everywhere = ("person", "post", "vote", "floor_entry", "floor_bag")
    before = rows(driver, *everywhere)
    locator = floor.hide(LEAVE, [bea])[1]
    assert driver.number("SELECT COUNT(*) FROM post WHERE author = 1 OR body IN ('one', 'two', 'three')") == 0
    assert driver.number("SELECT COUNT(*) FROM person WHERE id = 1") == 0
    floor.back(bea, locator)
    assert rows(driver, *everywhere) == before


def test_rows_that_were_given_away_are_found_by_the_key(driver: Driver, floor: Floor, bea: Person) -> None:
    """One placeholder person for each thread; they leave with the person, and come back with them."""
    floor.hide([POSTS], [bea])
    given = rows(driver, "person", "post", "vote")
    assert len({author for _, author, *_ in given[1]}) == 3
    locator = floor.hide(LEAVE, [bea], with_key=True)[1]
    assert driver.number("SELECT COUNT(*) FROM post WHERE body = '[gone]'") == 3
    floor.back(bea, locator)
    assert rows(driver, "person", "post", "vote") == given


def test_a_row_that_somebody_changed_stops_the_reveal(driver: Driver, floor: Floor, bea: Person) -> None:
    locator = floor.hide(LEAVE, [bea])[1]
    driver.execute("UPDATE post SET body = 'edited' WHERE id = 2")
    then = rows(driver, "person", "post", "vote", "floor_bag")
    with pytest.raises(AssertionError, match="post"):
        floor.back(bea, locator)
    assert rows(driver, "person", "post", "vote", "floor_bag") == then


def test_it_takes_one_statement_for_each_table_and_deed(driver: Driver, floor: Floor, bea: Person) -> None:
    """Lock, three reads, two INSERTs of people, an UPDATE, two DELETEs, the bag, the entry."""
    before = driver.statements
    floor.hide(LEAVE, [bea])
    assert driver.statements - before == 11
