"""A thief asks the database, or reads its files, for what was written together: before scrubbing it tells, afterwards it does not."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections, transaction

import edna
from apps.websubmit.disguises import Anonymous
from apps.websubmit.models import Answer, Question, User
from edna import Decorrelate, Disguise, Modify, placeholders
from edna.db.short_values import short_reference
from edna.errors import ScrubRefused
from edna.models import Bag, KeySlot, PrincipalEntry
from edna.operations.upkeep import scrubbing
from edna.operations.upkeep.scrubbing import Left, scrub
from edna.testing import Person, application_dump
from edna.testing.dumps import columns
from tests.installed import installed, registered, registering
from tests.support import Student, answer_everything, edna_dump, enrol, enrol_many, execute, make_course

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nobody_beside"),
    pytest.mark.thorough,
]

PEOPLE, QUESTIONS = 12, 8
#: Of neighbours drawn by lot, one in eleven pairs is of one person; a third would be ten standard deviations off.
CHANCE = 1 / 3
TEXT = "Marmalade, thought "


class Everywhere(Disguise):
    """Another author for every answer."""

    name = "tests.everywhere"
    transformations = [Decorrelate(Answer, owner="author")]
    pseudoprincipal = Anonymous


class Redact(Disguise):
    """Rows that stay with their owner: what ties them together is only that they were changed at once."""

    name = "tests.redact"
    transformations = [Modify(Answer, owner="author", set={"text": placeholders.constant("[withdrawn]")})]


@dataclass
class Truth:
    """Whose each row is: what the thief wants to know. By table and primary key."""

    whose: dict[str, dict[Any, int]] = field(default_factory=lambda: defaultdict(dict))

    def note(self, person: int, before: dict[str, set[Any]], after: dict[str, set[Any]]) -> None:
        for table in before:
            self.whose[table] |= dict.fromkeys(after[table] - before[table], person)


def primary_keys() -> dict[str, set[Any]]:
    models = (Bag, PrincipalEntry, User)
    return {model._meta.db_table: set(model.objects.values_list("pk", flat=True)) for model in models}


@pytest.fixture
def course() -> Iterator[tuple[list[Student], Truth]]:
    """Students whose answers lie mixed, as they do where many answer at once."""
    make_course(2, QUESTIONS // 2)
    students = enrol_many(PEOPLE)
    truth = Truth()
    if connection.vendor == "postgresql":
        # Whoever still is in a transaction, from a test before, sees what rows were: the database keeps it for them.
        asked(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    for question in Question.objects.order_by("pk"):
        for number, student in enumerate(students):
            answer = Answer.objects.create(author=student.user, question=question, text=f"{TEXT}{number}")
            truth.whose["answers"][answer.pk] = number
    with registering(Everywhere, Redact):
        yield students, truth
    connections.close_all()


def disguised(students: list[Student], truth: Truth, name: str = Everywhere.name) -> None:
    """One after the other, each in a transaction of their own."""
    for number, student in enumerate(students):
        before = primary_keys()
        student.disguise(name)
        truth.note(number, before, primary_keys())


def same_person(people: list[int]) -> float:
    """Of how many neighbours both are of one person."""
    pairs = list(itertools.pairwise(people))
    return sum(first == second for first, second in pairs) / len(pairs)


def asked(sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def people_by_tie(truth: Truth, ties: Callable[[str], Iterator[tuple[Any, Any]]]) -> dict[Any, list[tuple[str, int]]]:
    """What ties rows together, and for each which rows it ties: table and person."""
    found = defaultdict(list)
    for table, whose in truth.whose.items():
        for key, tie in ties(table):
            if key in whose:
                found[tie].append((table, whose[key]))
    return found


def tells_a_person(found: dict[Any, list[tuple[str, int]]]) -> list[Any]:
    """The ties of several rows that are all of one person."""
    return [tie for tie, rows in found.items() if len(rows) > 1 and len({person for _, person in rows}) == 1]


# PostgreSQL


def transactions_of(table: str) -> Iterator[tuple[Any, Any]]:
    table = {"answers": Answer._meta.db_table}.get(table, table)
    for key, written, locked in asked(f"SELECT id, xmin::text, xmax::text FROM {table}"):
        yield key, written
        if locked != "0":
            yield key, locked


def in_order_of(column: str, truth: Truth, table: str) -> list[int]:
    name = {"answers": Answer._meta.db_table}.get(table, table)
    whose = truth.whose[table]
    return [whose[key] for (key,) in asked(f"SELECT id FROM {name} ORDER BY {column}") if key in whose]


TABLES = ("edna_bag", "edna_principalentry", User._meta.db_table, "answers")


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("name", [Everywhere.name, Redact.name])
def test_postgresql_does_not_tell_what_one_transaction_wrote(course: Any, name: str) -> None:
    students, truth = course
    disguised(students, truth, name)
    found = people_by_tie(truth, transactions_of)
    assert len(tells_a_person(found)) == PEOPLE
    assert all({table for table, _ in found[tie]} >= {"edna_bag", "answers"} for tie in tells_a_person(found))

    assert scrub().left == []
    found = people_by_tie(truth, transactions_of)
    assert tells_a_person(found) == []
    for rows in found.values():
        assert len({table for table, _ in rows}) == 1, "nothing ties a bag to a row of another table"
        assert len({person for _, person in rows}) == PEOPLE


@pytest.mark.only_on("postgresql")
def test_postgresql_does_not_tell_by_where_rows_lie(course: Any) -> None:
    students, truth = course
    disguised(students, truth)
    assert {table for table in TABLES if same_person(in_order_of("ctid", truth, table)) > 0.8} >= {
        "edna_principalentry",
        User._meta.db_table,
        "answers",
    }
    assert scrub().left == []
    for table in TABLES:
        assert same_person(in_order_of("ctid", truth, table)) < CHANCE, table
        # The order in which they lie is that of the key, which everybody can read.
        assert in_order_of("ctid", truth, table) == in_order_of("id", truth, table), table


@pytest.mark.only_on("postgresql")
def test_postgresql_does_not_tell_by_what_is_stored_out_of_line(course: Any) -> None:
    """Large values lie in a table of their own, in which numbers count up."""
    students, truth = course
    for _ in range(2):
        for number, student in enumerate(students):
            Answer.objects.filter(author=student.user).update(text=os.urandom(4_000).hex())  # does not compress
            before = primary_keys()
            student.disguise(Redact.name)
            truth.note(number, before, primary_keys())
    chunks = out_of_line("edna_bag")
    by_content = {bytes(bag.sealed): truth.whose["edna_bag"][bag.pk] for bag in Bag.objects.all()}
    assert len(chunks) == len(by_content) == 2 * PEOPLE
    assert [by_content[content] for _, content, _ in chunks] == [*range(PEOPLE)] * 2, "in the order of writing"

    assert scrub().left == []
    after = out_of_line("edna_bag")
    assert not {number for number, _, _ in chunks} & {number for number, _, _ in after}
    assert len({by for _, _, by in after}) == 1, "one transaction wrote all of them"
    # Of 24! orders.
    assert [content for _, content, _ in after] != [content for _, content, _ in chunks]
    assert sorted(content for _, content, _ in after) == sorted(by_content)


def out_of_line(table: str) -> list[tuple[int, bytes, str]]:
    """Number, content and transaction of each value, in the order of numbers."""
    [(name,)] = asked(f"SELECT reltoastrelid::regclass::text FROM pg_class WHERE relname = '{table}'")
    values: dict[int, tuple[bytes, str]] = {}
    for number, data, by in asked(f"SELECT chunk_id, chunk_data, xmin::text FROM {name} ORDER BY chunk_id, chunk_seq"):
        values[number] = (values.get(number, (b"", by))[0] + bytes(data), by)
    return [(number, *value) for number, value in values.items()]


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize(
    ("database", "statements", "tables"),
    [
        (None, ("BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1"), ("edna.bag", "websubmit.answer")),
        # Every transaction of the server sees as if one that writes beside were still open.
        ("postgres", ("BEGIN", "SELECT pg_current_xact_id()"), ("edna.bag",)),
    ],
    ids=["whoever began before", "whoever writes in another database"],
)
def test_postgresql_keeps_former_rows_for_open_transactions_and_scrubbing_says_so(
    course: Any,
    monkeypatch: pytest.MonkeyPatch,
    database: str | None,
    statements: tuple[str, ...],
    tables: tuple[str, ...],
) -> None:
    """For a transaction that is still open the database keeps what rows were, in the new files, too."""
    students, _ = course
    for student in students:
        student.disguise(Redact.name)
    other = connection.copy()
    other.settings_dict = {**other.settings_dict, "NAME": database or other.settings_dict["NAME"]}
    try:
        with other.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        with monkeypatch.context() as impatient:
            impatient.setattr(scrubbing, "_OLDER_SECONDS", 1.0)
            left = scrub().left
    finally:
        other.close()
    assert {Left(table, "busy") for table in tables} <= set(left)
    assert scrub().left == []


@pytest.mark.only_on("postgresql")
def test_postgresql_keeps_no_samples_of_what_was_there(course: Any) -> None:
    students, _ = course
    execute("ANALYZE")
    sampled = f"SELECT count(*) FROM pg_stats WHERE array_to_string(most_common_vals, ' ') LIKE '%{TEXT}%'"
    assert asked(sampled) != [(0,)]
    bounds = "SELECT histogram_bounds::text::text[] FROM pg_stats WHERE attname = 'reference' AND tablename = 'edna_principalentry'"
    [(references,)] = asked(bounds)
    reference = f"\\x{short_reference(str(students[0].user.pk)).hex()}"
    assert reference in references
    for student in students:
        student.disguise(Redact.name)
    students[0].disguise("websubmit.delete-account")
    assert asked(sampled) != [(0,)]
    assert asked(bounds) == [(references,)]
    scrub()
    assert asked(sampled) == [(0,)]
    [(references,)] = asked(bounds)
    assert reference not in references


@pytest.mark.only_on("postgresql")
def test_a_table_with_somebodys_trigger_is_not_written_row_by_row(course: Any) -> None:
    """It would note a change, or make one."""
    students, truth = course
    disguised(students, truth)
    table = Answer._meta.db_table
    execute(
        "CREATE FUNCTION note_change() RETURNS trigger AS 'BEGIN NEW.text := ''changed''; RETURN NEW; END' LANGUAGE plpgsql"
    )
    execute(f"CREATE TRIGGER note BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION note_change()")
    try:
        before = application_dump()
        assert scrub().left == [Left("websubmit.answer", "triggers")]
        assert application_dump() == before
    finally:
        execute(f"DROP TRIGGER note ON {table}")
        execute("DROP FUNCTION note_change")


@pytest.mark.only_on("postgresql")
def test_postgresql_does_not_tell_whose_a_key_slot_is() -> None:
    """Slots are made together with the entry, which says whose it is while that person is there."""
    truth = Truth()
    for number in range(4):
        before = slots_and_entries()
        enrol(password=f"password {number}")
        truth.note(number, before, slots_and_entries())
    assert len(tells_a_person(people_by_tie(truth, transactions_of))) == 4
    assert scrub().left == []
    assert tells_a_person(people_by_tie(truth, transactions_of)) == []


def slots_and_entries() -> dict[str, set[Any]]:
    return {
        model._meta.db_table: set(model.objects.values_list("pk", flat=True)) for model in (KeySlot, PrincipalEntry)
    }


@pytest.mark.only_on("postgresql")
def test_what_the_database_refuses_is_said_and_keeps_nothing_else_from_being_done(course: Any) -> None:
    """A constraint that older rows do not keep is looked at again when they are written."""
    students, truth = course
    disguised(students, truth)
    table = Answer._meta.db_table
    execute(f"ALTER TABLE {table} ADD CONSTRAINT kept CHECK (text = '') NOT VALID")
    try:
        tables = application_dump()
        assert scrub().left == [Left("websubmit.answer", "refused")]
        assert application_dump() == tables
    finally:
        execute(f"ALTER TABLE {table} DROP CONSTRAINT kept")
    found = people_by_tie(truth, transactions_of)
    assert all({name for name, _ in found[tie]} == {"answers"} for tie in tells_a_person(found))


@pytest.mark.only_on("postgresql")
def test_rows_that_somebody_holds_are_waited_for_by_nobody(course: Any) -> None:
    """They are tried again, then said to be left; whoever holds them is not disturbed."""
    students, truth = course
    disguised(students, truth)
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT id FROM edna_bag ORDER BY id LIMIT 1 FOR UPDATE")
            left = scrub(rebuild_application=False).left
            cursor.execute("UPDATE edna_bag SET expires_on = NULL WHERE id = (SELECT min(id) FROM edna_bag)")
            cursor.execute("COMMIT")
    finally:
        other.close()
    assert Left("edna.bag", "busy") in left
    assert scrub().left == []
    assert tells_a_person(people_by_tie(truth, transactions_of)) == []


# SQLite


@pytest.fixture
def world() -> Iterator[list[Person]]:
    """Principals with a UUID for a key."""
    with (
        installed("tests.integration.world", principals=["world.person"]) as models,
        registered("tests.integration.world"),
    ):
        people = []
        for number in range(PEOPLE):
            principal = models.Person.objects.create(handle=f"person {number}")
            people.append(Person(principal, edna.register_principal(principal).secret_key))
        for round_ in range(QUESTIONS):
            for person in people:
                models.Note.objects.create(author=person.user, text=f"{TEXT}{round_}")
        yield people
        for table in ("note", "person"):
            execute(f"DELETE FROM world_{table}")


@pytest.mark.only_on("sqlite3")
def test_sqlite_does_not_tell_by_hidden_row_numbers(world: list[Person]) -> None:
    whose: dict[Any, int] = {}
    for number, person in enumerate(world):
        before = {key for (key,) in asked("SELECT id FROM world_person")}
        person.disguise("world.anonymise")
        whose |= dict.fromkeys({key for (key,) in asked("SELECT id FROM world_person")} - before, number)

    def in_order() -> list[int]:
        return [whose[key] for (key,) in asked("SELECT id FROM world_person ORDER BY rowid") if key in whose]

    assert same_person(in_order()) > 0.8
    tables, own = application_dump(), edna_dump()
    [(highest,)] = asked("SELECT max(rowid) FROM world_person WHERE handle LIKE 'person %'")
    assert scrub().left == []
    assert same_person(in_order()) < CHANCE
    assert application_dump() == tables
    own_after = edna_dump()
    assert {name: rows for name, rows in own_after.items() if name != "edna_lastrun"} == {
        name: rows for name, rows in own.items() if name != "edna_lastrun"
    }
    assert asked("SELECT max(rowid) FROM world_person") == [(highest,)]
    for person in world:
        person.reveal_everything()


@pytest.mark.only_on("sqlite3")
def test_sqlite_has_no_row_numbers_beside_the_keys_of_edna() -> None:
    for table in ("edna_bag", "edna_principalentry", "edna_keyslot", "edna_ledgerentry", "edna_jobitem"):
        enrol_many(2)
        assert all(rowid == key for rowid, key in asked(f"SELECT rowid, id FROM {table}")), table


def stolen_files() -> bytes:
    path = Path(connection.settings_dict["NAME"])
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(path.name + "*")))


@pytest.mark.only_on("sqlite3")
def test_the_file_of_sqlite_does_not_tell_by_where_rows_lie(course: Any) -> None:
    students, truth = course
    busy = students[:4]
    Answer.objects.all().delete()
    make_course(2, QUESTIONS)
    answer_everything(*busy)
    disguised(busy, truth)
    entries = PrincipalEntry.objects.filter(natural=False)
    keys = {bytes(entry.public_key): truth.whose["edna_principalentry"][entry.pk] for entry in entries}
    # A quarter by chance; pages that were split have been tidied by SQLite itself.
    assert same_person(people_in_file(keys)) > 0.37
    assert scrub().left == []
    assert same_person(people_in_file(keys)) < 0.37


def people_in_file(keys: dict[bytes, int]) -> list[int]:
    """Whose the entries are, as they lie: in the table's pages, and in those of the index."""
    stolen = stolen_files()
    return [keys[match.group()] for match in re.finditer(b"|".join(map(re.escape, keys)), stolen)]


@pytest.mark.only_on("sqlite3")
def test_the_files_of_sqlite_hold_nothing_that_was_deleted(course: Any) -> None:
    students, _ = course
    execute("PRAGMA secure_delete = OFF")
    for student in students:
        student.disguise(Redact.name)
    assert TEXT.encode() in stolen_files()
    scrub()
    assert TEXT.encode() not in stolen_files()


# MariaDB


def file_of(table: str) -> bytes:
    """The table's file as it is on the disk, everything that is in memory written out."""
    [(directory, name)] = asked("SELECT @@datadir, DATABASE()")
    with connection.cursor() as cursor:
        cursor.execute(f"FLUSH TABLES {table} FOR EXPORT")
        stolen = (Path(directory) / name / f"{table}.ibd").read_bytes()
        cursor.execute("UNLOCK TABLES")
    return stolen


def transactions_in_file(table: str) -> Iterator[tuple[Any, Any]]:
    """InnoDB keeps rows by their key; behind it, which transaction wrote the row, until it is purged, and then the other columns."""
    table = {"answers": Answer._meta.db_table}.get(table, table)
    stolen = file_of(table)
    column = columns(table)[1]
    for key, following in asked(f"SELECT id, `{column}` FROM {table}"):
        found = re.search(re.escape(stored(key)) + b"(.{6}).{7}" + re.escape(stored(following)), stolen, re.DOTALL)
        assert found, "the thief no longer knows the format"
        yield key, found.group(1)


def stored(value: Any) -> bytes:
    """Integers are ordered as bytes are."""
    if isinstance(value, int):
        return (value + 2**63).to_bytes(8, "big")
    return value.encode() if isinstance(value, str) else bytes(value)


@contextlib.contextmanager
def nothing_purged() -> Iterator[None]:
    """Somebody reads for long: what InnoDB clears away by itself, in time, stays."""
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            cursor.execute("SELECT 1")
            yield
    finally:
        other.close()


@pytest.mark.only_on("mysql")
def test_the_files_of_mariadb_do_not_tell_what_one_transaction_wrote(course: Any) -> None:
    students, truth = course
    with nothing_purged():
        disguised(students, truth)
        found = people_by_tie(truth, transactions_in_file)
        assert len(tells_a_person(found)) >= PEOPLE
        assert any({table for table, _ in found[tie]} >= {"edna_bag", "answers"} for tie in tells_a_person(found))
    assert scrub().left == []
    found = people_by_tie(truth, transactions_in_file)
    assert tells_a_person(found) == []
    for table in truth.whose:
        people = [{person for name, person in rows if name == table} for rows in found.values()]
        assert [len(each) for each in people if each] == [PEOPLE]


@pytest.mark.only_on("mysql")
def test_the_files_of_mariadb_hold_nothing_that_was_deleted(course: Any) -> None:
    """Pages of which all rows were purged are free, and as they were."""
    students, _ = course
    make_course(1, 600)
    Answer.objects.all().delete()
    answer_everything(students[3], text=TEXT * 5)
    assert TEXT.encode() in file_of(Answer._meta.db_table)  # else a quick purge frees pages that never reached the disk
    students[3].disguise("websubmit.delete-account")
    assert Answer.objects.count() == 0
    time.sleep(1)  # for the purge
    assert TEXT.encode() in file_of(Answer._meta.db_table)
    scrub()
    assert TEXT.encode() not in file_of(Answer._meta.db_table)
    students[3].reveal_everything()


# Everywhere


def counters() -> list[tuple[Any, ...]]:
    """Where automatic keys go on."""
    tables = sorted(table for table in application_dump() if not table.startswith("django_"))
    if connection.vendor == "postgresql":
        return [
            (name, *asked(f'SELECT last_value, is_called FROM "{name}"')[0])
            for (name,) in asked(
                "SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' ORDER BY sequencename"
            )
        ]
    if connection.vendor == "sqlite":
        return asked("SELECT name, seq FROM sqlite_sequence ORDER BY name")
    return [(table, re.findall(r"AUTO_INCREMENT=\d+", asked(f"SHOW CREATE TABLE `{table}`")[0][1])) for table in tables]


def test_nothing_changes_and_everybody_comes_back(course: Any) -> None:
    students, truth = course
    before = application_dump()
    disguised(students[:8], truth)
    disguised(students[4:], truth, Redact.name)
    students[2].disguise("websubmit.delete-account")
    tables, own, counted = application_dump(), edna_dump(), counters()
    for rebuild in (False, True, True):
        done = scrub(rebuild_application=rebuild)
        assert done.left == []
        assert application_dump() == tables
        now = edna_dump()
        assert {name for name in own if now[name] != own[name]} <= {"edna_lastrun"}
        assert counters() == counted
    for student in students:
        student.reveal_everything()
    assert application_dump() == before


def test_an_empty_site_is_scrubbed() -> None:
    done = scrub()
    assert done.left == []
    assert done.as_dict()["rows"] == done.rows


def test_it_refuses_inside_a_transaction() -> None:
    with transaction.atomic(), pytest.raises(ScrubRefused):
        scrub()


@pytest.mark.once
def test_it_says_how_far_it_is(course: Any) -> None:
    steps: list[tuple[int, int]] = []
    scrub(progress=lambda done, total: steps.append((done, total)))
    assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
    assert {total for _, total in steps} == {len(steps)}


@pytest.mark.once
def test_when_it_was_done_last_is_noted_and_by_whom(course: Any) -> None:
    from edna.operations import audit
    from edna.operations.store import runs

    scrub()
    [run] = [each for each in runs.last_runs(using="default") if each.name == "scrub"]
    assert run.finished_at is not None
    assert set(run.counts) == {"rows", "tables", "left"}
    assert audit.entries() == []
    scrub(operator="olga")
    assert [(entry.operator, entry.action) for entry in audit.entries()] == [("olga", "scrub")]


def test_keys_that_are_no_numbers(world: list[Person]) -> None:
    before = application_dump()
    for person in world:
        person.disguise("world.anonymise")
    tables = application_dump()
    assert scrub().left == []
    assert application_dump() == tables
    for person in world:
        person.reveal_everything()
    assert application_dump() == before


def test_keys_and_owners_of_every_shape() -> None:
    """Keys of two columns, one of which is the owner; owners by another column than the key; rows in two tables."""
    with (
        installed("tests.integration.desk", principals=["desk.writer"]) as models,
        registered("tests.integration.desk"),
    ):
        writers = [models.Writer.objects.create(pen_name=f"Writer {number}") for number in range(4)]
        people = [Person(writer, edna.register_principal(writer).secret_key) for writer in writers]
        for number in range(6):
            for writer in writers:
                models.Draft.objects.create(writer=writer, text="A draft")
                models.Page.objects.create(writer=writer, number=number, text="A page")
                models.Essay.objects.create(owner=writer, title="On", text="An essay")
                models.Letter.objects.create(author=writer, recipient=writers[number % 4], text="A letter")
        before = application_dump()
        for person in people:
            person.disguise("desk.publish")
            person.disguise("desk.unsign")
        tables, written = application_dump(), transactions_by_table()
        assert scrub().left == []
        assert application_dump() == tables
        for table, ids in transactions_by_table().items():
            assert not ids & written[table], table
        for person in people:
            person.reveal_everything()
        assert application_dump() == before
        for name in ("letter", "draft", "page", "essay", "paper", "writer"):
            execute(f"DELETE FROM desk_{name}")
        connections.close_all()


def transactions_by_table() -> dict[str, set[str]]:
    """On PostgreSQL, by which transactions the rows are that a disguise has changed."""
    if connection.vendor != "postgresql":
        return {}
    return {
        name: {written for (written,) in asked(f"SELECT DISTINCT xmin::text FROM desk_{name}")}
        for name in ("letter", "draft", "page", "paper")
    }
