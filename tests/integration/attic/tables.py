"""The tables of the attic, made by hand; and a disguise for one test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import override_settings

from edna import Disguise, conf
from edna.spec import Transformation
from tests.installed import forget_relations

#: By vendor, what makes the tables.
TABLES: dict[str, Sequence[str]] = {
    "postgresql": (
        "CREATE TYPE attic_mood AS ENUM ('low', 'high')",
        "CREATE TYPE attic_size AS (width integer, unit text)",
        "CREATE TABLE attic_thing (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, person_id bigint NOT NULL, mood attic_mood,"
        " tags attic_mood[], note varchar(50), data json, size attic_size, weight double precision)",
        "CREATE TABLE attic_marked (id integer PRIMARY KEY, person_id bigint NOT NULL, labels text[],"
        " beside_id integer REFERENCES attic_marked DEFERRABLE INITIALLY DEFERRED, UNIQUE (person_id, id) DEFERRABLE)",
        "CREATE TABLE attic_stubborn (id serial PRIMARY KEY, person_id bigint NOT NULL, code double precision)",
        "CREATE FUNCTION attic_keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER keep BEFORE DELETE ON attic_stubborn FOR EACH ROW EXECUTE FUNCTION attic_keep()",
        "CREATE COLLATION attic_caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE TABLE attic_member (code varchar(20) COLLATE attic_caseless PRIMARY KEY, name text NOT NULL)",
        "CREATE TABLE attic_letter (id serial PRIMARY KEY, author_id varchar(20) COLLATE attic_caseless NOT NULL REFERENCES attic_member,"
        " reader_id varchar(20) COLLATE attic_caseless REFERENCES attic_member, text text NOT NULL)",
        "CREATE TABLE attic_counted (id serial PRIMARY KEY, person_id bigint NOT NULL, text text,"
        " upper text GENERATED ALWAYS AS (upper(text)) STORED, hidden text, lasts interval)",
        "CREATE TABLE attic_part (id serial PRIMARY KEY, counted integer REFERENCES attic_counted ON DELETE CASCADE)",
    ),
    "mysql": (
        "CREATE TABLE attic_thing (id integer AUTO_INCREMENT PRIMARY KEY, person_id bigint NOT NULL, mood enum('low', 'high'),"
        " tags set('low', 'high'), note varchar(50), data json, size binary(4), weight double)",
        # A number with single precision is equal to none that is written down.
        "CREATE TABLE attic_stubborn (id float PRIMARY KEY, person_id bigint NOT NULL, code double)",
        "CREATE TABLE attic_member (code varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY, name text NOT NULL)",
        "CREATE TABLE attic_letter (id integer AUTO_INCREMENT PRIMARY KEY,"
        " author_id varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,"
        " reader_id varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, text text NOT NULL,"
        " FOREIGN KEY (author_id) REFERENCES attic_member (code), FOREIGN KEY (reader_id) REFERENCES attic_member (code))",
        "CREATE TABLE attic_counted (id integer AUTO_INCREMENT PRIMARY KEY, person_id bigint NOT NULL, text varchar(50),"
        " upper varchar(50) AS (upper(text)) STORED, hidden text, share float,"
        " at timestamp NOT NULL DEFAULT current_timestamp ON UPDATE current_timestamp)",
        "CREATE TABLE attic_part (id integer PRIMARY KEY, counted integer, FOREIGN KEY (counted) REFERENCES attic_counted (id)"
        " ON DELETE CASCADE)",
    ),
    "sqlite": (
        "CREATE TABLE attic_thing (id integer PRIMARY KEY, person_id bigint NOT NULL, mood text, tags text, note varchar(50), data text,"
        " size text, weight real)",
        "CREATE TABLE attic_stubborn (id integer PRIMARY KEY, person_id bigint NOT NULL, code real)",
        "CREATE TRIGGER keep BEFORE DELETE ON attic_stubborn BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TABLE attic_member (code varchar(20) COLLATE NOCASE PRIMARY KEY, name text NOT NULL)",
        "CREATE TABLE attic_letter (id integer PRIMARY KEY, author_id varchar(20) COLLATE NOCASE NOT NULL REFERENCES attic_member,"
        " reader_id varchar(20) COLLATE NOCASE REFERENCES attic_member, text text NOT NULL)",
        "CREATE TABLE attic_counted (id integer PRIMARY KEY, person_id bigint NOT NULL, text text,"
        " upper text GENERATED ALWAYS AS (upper(text)) STORED, hidden text)",
        "CREATE TABLE attic_part (id integer PRIMARY KEY, counted integer REFERENCES attic_counted ON DELETE CASCADE)",
    ),
}
LEFT = (
    "DROP TABLE attic_part, attic_counted, attic_letter, attic_member, attic_stubborn, attic_marked, attic_thing",
    "DROP FUNCTION attic_keep()",
    "DROP COLLATION attic_caseless",
    "DROP TYPE attic_mood, attic_size",
)
NAMES = ("attic_part", "attic_counted", "attic_letter", "attic_member", "attic_stubborn", "attic_thing")


@pytest.fixture(scope="module")
def attic_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    changed = {
        "INSTALLED_APPS": [*settings.INSTALLED_APPS, "tests.integration.attic"],
        "EDNA": {**settings.EDNA, "PRINCIPAL_MODELS": [*conf.principal_models(), "attic.Member"]},
    }
    with django_db_blocker.unblock(), override_settings(**changed):
        forget_relations()
        run(*TABLES[connection.vendor])
        yield
        run(*(LEFT if connection.vendor == "postgresql" else [f"DROP TABLE {name}" for name in NAMES]))
        connection.close()
    forget_relations()


def run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def disguise(*steps: Transformation) -> type[Disguise]:
    return type("Leave", (Disguise,), {"name": "attic.leave", "transformations": list(steps)})
