"""Raw rows: what is written in one statement arrives as it is, and what is looked for in many places is asked for at once."""

from __future__ import annotations

import datetime
import ipaddress
import json
import uuid
from collections.abc import Iterator
from decimal import Decimal
from operator import itemgetter
from typing import Any

import pytest
from django.db import DataError, IntegrityError, connection, connections, models, transaction
from django.test.utils import isolate_apps

from apps.hotcrp_sim.models import PaperReview
from apps.websubmit.models import Answer, Lecture, Question, User
from edna.crypto.keys import PublicKey
from edna.db import rows as raw
from edna.db.rows import can_send_savepoints, holding, in_one_statement, insert_free, row_bytes, table_of, total_bytes
from edna.db.rows.arrays import rows_of_arrays
from edna.db.rows.binding import among, arrays_of
from edna.db.rows.tables import Table
from edna.engine.disguising.batched_writes import Writes
from edna.models import Bag
from tests.support import enrol_many, make_course, statements

pytestmark = pytest.mark.django_db

BAGS = table_of(Bag)
PLACES = [(table_of(Answer), "author"), (table_of(User), "id")]


@pytest.mark.parametrize("count", [1, 2, 50])
def test_values_that_all_rows_share_arrive_in_all_rows(count: int) -> None:
    """Bytes, NULL and text that looks like a place for a parameter; the index differs from row to row."""
    for shared in (b"100 %s %(s0)s \x00\xff'", b""):
        rows = [(pk, bytes([pk]) * 32, shared, None) for pk in range(1, count + 1)]
        raw.insert(BAGS, ("id", "index", "sealed", "expires_on"), rows, using="default")
        found = Bag.objects.order_by("pk").values_list("pk", "index", "sealed", "expires_on")
        assert [(pk, bytes(index), bytes(sealed), day) for pk, index, sealed, day in found] == rows
        Bag.objects.all().delete()


def test_equal_values_of_different_types_stay_what_they_are() -> None:
    """Only the very same object counts as the same: 1 is not True, nor "1"."""
    texts = ["1", "%s", "None", "1"]
    rows = [(number, text) for number, text in enumerate(texts, start=1)]
    raw.insert(table_of(Lecture), ("id", "label"), rows, using="default")
    assert list(Lecture.objects.order_by("pk").values_list("pk", "label")) == rows


@pytest.mark.parametrize(
    "column",
    [
        ["abc"] * 3,
        ["abc", "d", ""],
        [b"abc", "d", b""],
        ["abc", None, b"defg"],
        [None] * 3,
        [True, 1, 1.0],
        [1, 22, 333],
        [["text in a list"], {"a": "b"}, "c"],
        [PublicKey(bytes([9]) * 32)] * 3,
    ],
)
def test_the_bytes_of_rows_are_those_of_each_row_together(column: list[Any]) -> None:
    """However their columns are: an account of packets, which nobody may get lower than row by row."""
    rows = [(value, number, "same") for number, value in enumerate(column)]
    texts = sum(len(value) for row in rows for value in row if isinstance(value, (str, bytes)))
    assert total_bytes(rows) == sum(map(row_bytes, rows)) == 9 * 12 + texts


#: What is special to SQL, to LIKE, to a driver or to an encoding; and every plane of Unicode.
TEXTS = [
    "",
    "'",
    '"',
    "\\",
    "\\'",
    "%",
    "%s",
    "%%",
    "%(s0)s",
    "a\nb\rc\td\x1a\x08",
    "\u00e4\u03c0\u4e2d",
    "\U0001f600",
    "\ufffd",
    "null",
    "1",
]


@pytest.mark.parametrize("count", [1, 2, 60])
def test_values_arrive_to_the_byte_in_however_many_rows(count: int) -> None:
    """Inserted and updated: all alike, all different, and some of each."""
    everything = bytes(range(256))
    rows = [(pk, bytes([pk]) * 32, everything[pk:] + everything[:pk], None) for pk in range(1, count + 1)]
    raw.insert(BAGS, ("id", "index", "sealed", "expires_on"), rows, using="default")
    day = datetime.date(2031, 2, 1)
    other = [(pk, everything * 2 if pk % 2 else b"", day if pk % 3 else None) for pk, *_ in rows]
    for names, new in (
        (("sealed", "expires_on"), other),
        (("sealed", "expires_on"), [(pk, b"\\'", day) for pk, *_ in rows]),
        (("index", "sealed"), [(pk, index[::-1] + b"", sealed) for pk, index, sealed, _ in rows]),
    ):
        raw.update(BAGS, names, new, using="default")
        found = raw.read(BAGS, ("id", *names), [(pk,) for pk, *_ in rows], lock=False, using="default")
        assert [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in found] == new


def test_texts_arrive_to_the_byte() -> None:
    table, count = table_of(Lecture), len(TEXTS)
    rows = [(number, f"{text}") for number, text in enumerate(TEXTS, start=1)]
    raw.insert(table, ("id", "label"), rows, using="default")
    turned = [(number, TEXTS[-number]) for number in range(1, count + 1)]
    for new in (rows, turned, [(number, TEXTS[9]) for number in range(1, count + 1)]):
        raw.update(table, ("label",), new, using="default")
        assert raw.read(table, ("id", "label"), [(pk,) for pk, _ in new], lock=False, using="default") == new


def test_a_column_that_is_kept_changes_in_some_rows_only() -> None:
    make_course(lectures=1, questions=3)
    one, two = Lecture.objects.create(pk=901, label="one"), Lecture.objects.create(pk=902, label="two")
    table = table_of(Question)
    keys = list(Question.objects.order_by("pk").values_list("pk", flat=True))
    (first, *_) = before = list(Question.objects.order_by("pk").values_list("lecture", flat=True))
    for new, expected in (
        ([one.pk, None, two.pk], [one.pk, first, two.pk]),
        ([None, one.pk, None], [one.pk, one.pk, two.pk]),
        ([None, None, None], [one.pk, one.pk, two.pk]),
        (before, before),
    ):
        rows = [(key, value, number) for number, (key, value) in enumerate(zip(keys, new, strict=True), start=31)]
        raw.update(table, ("lecture", "number"), rows, kept={"lecture"}, using="default")
        found = Question.objects.order_by("pk").values_list("lecture", "number")
        assert list(found) == list(zip(expected, (31, 32, 33), strict=True))


def test_changes_of_one_table_are_written_together_if_none_has_to_come_first() -> None:
    make_course(lectures=1, questions=3)
    one = Lecture.objects.create(pk=901, label="one")
    table = table_of(Question)
    keys = list(Question.objects.order_by("pk").values_list("pk", flat=True))
    (lecture, *_) = Question.objects.values_list("lecture", flat=True)

    def changed(*changes: tuple[str, dict[int, Any]]) -> int:
        writes = Writes("default")
        for name, new in changes:
            writes.add(table, (name,), [(keys[place], value) for place, value in new.items()])
        return len([sql for sql in statements(writes.flush) if "UPDATE" in sql])

    def now() -> list[tuple[Any, ...]]:
        return list(Question.objects.order_by("pk").values_list("lecture", "number", "text"))

    alike = changed(("text", {0: "a", 1: "b"}), ("lecture", {0: one.pk, 1: one.pk}))
    assert [row[0::2] for row in now()][:2] == [(one.pk, "a"), (one.pk, "b")]
    # Of rows that differ, numbers only: a text that is not changed could not be told from one that is to be NULL.
    numbers = changed(("lecture", {0: lecture}), ("number", {1: 71, 2: 72}))
    assert [row[:2] for row in now()][1:] == [(one.pk, 71), (lecture, 72)]
    texts = changed(("text", {0: "c"}), ("number", {2: 73}))
    assert [row[1:] for row in now()][2][0] == 73
    assert now()[0][2] == "c"
    again = changed(("text", {0: "d"}), ("text", {0: "e", 1: "e"}))
    assert [row[2] for row in now()][:2] == ["e", "e"]
    assert (alike, numbers, texts, again) == (1, 1, 2, 2)


def test_so_are_flags_of_other_rows() -> None:
    first, second, third = (student.user.pk for student in enrol_many(3))
    writes = Writes("default")
    writes.add(table_of(User), ("is_admin",), [(first, True), (second, True)])
    writes.add(table_of(User), ("is_active",), [(third, False)])
    writes.add(table_of(User), ("is_anon",), [(third, True)])
    assert len([sql for sql in statements(writes.flush) if "UPDATE" in sql]) == 1
    found = User.objects.filter(pk__in=[first, second, third]).values_list("pk", "is_admin", "is_active", "is_anon")
    assert set(found) == {(first, True, True, False), (second, True, True, False), (third, False, False, True)}


def test_places_that_hold_a_value_are_found_in_one_statement() -> None:
    make_course(lectures=1, questions=1)
    ada, bea = (student.user for student in enrol_many(2))
    Answer.objects.create(author=ada, question=Question.objects.get(), text="x")
    for values, expected in (
        ([ada.pk], {0, 1}),
        ([bea.pk], {1}),
        ([-5, -6], set()),
        ([-5, ada.pk, -6], {0, 1}),
        ([], set()),
    ):
        found: list[Any] = []
        asked = statements(lambda v=values, f=found: f.append(holding(PLACES, v, using="default")))
        assert found == [expected]
        assert len(asked) == bool(values)


def test_very_many_values_are_looked_for_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    (ada,) = (student.user for student in enrol_many(1))
    monkeypatch.setattr("edna.db.rows.reading._MOST_MENTIONS", 4)
    found: list[Any] = []
    asked = statements(lambda: found.append(holding(PLACES, [-1, -2, -3, -4, ada.pk], using="default")))
    assert (found, len(asked)) == ([{1}], 3)


def test_a_statement_that_is_refused_leaves_nothing_where_no_savepoint_is_taken() -> None:
    """MariaDB undoes the statement, and the transaction goes on; elsewhere a savepoint sees to that."""
    rows = [(1, "first"), (2, "second"), (1, "again")]
    alone = in_one_statement(rows, using="default")
    assert alone == (connection.vendor == "mysql")
    assert not in_one_statement([], using="default")
    if alone:
        with transaction.atomic():
            with pytest.raises(IntegrityError):
                raw.insert(table_of(Lecture), ("id", "label"), rows, using="default")
            raw.insert(table_of(Lecture), ("id", "label"), rows[:1], using="default")
        assert list(Lecture.objects.values_list("pk", "label")) == rows[:1]


@pytest.mark.only_on("postgresql")
def test_a_savepoint_goes_along_with_what_it_is_for() -> None:
    """One statement for the three; the transaction goes on after a refusal, and the outer savepoints are what they were."""
    table, columns = table_of(Lecture), ("id", "label")
    assert can_send_savepoints([(1, "a")], using="default")
    assert not can_send_savepoints([], using="default")

    def insert(*rows: tuple[int, str]) -> set[Any]:
        return insert_free(table, columns, rows, using="default", with_savepoint=True)

    with transaction.atomic():
        found: list[Any] = []
        assert len(statements(lambda: found.append(insert((1, "first"), (2, "second"))))) == 1
        with transaction.atomic():
            with pytest.raises(DataError):
                insert((3, "third"), (4, "x" * 1_000))
            found.append(insert((2, "taken"), (5, "fifth")))
    assert found == [{(1,), (2,)}, {(5,)}]
    assert list(Lecture.objects.order_by("pk").values_list("pk", "label")) == [
        (1, "first"),
        (2, "second"),
        (5, "fifth"),
    ]


@pytest.mark.only_on("postgresql")
def test_drivers_that_bind_on_the_server_get_savepoints_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "server_side_binding", True)
    assert not can_send_savepoints([(1, "a")], using="default")


@pytest.fixture
def things() -> Iterator[Table]:
    """A table of PostgreSQL's with 200 rows, with columns of each kind that is told apart in lists."""
    with isolate_apps("tests"):

        class Thing(models.Model):
            id = models.UUIDField(primary_key=True)
            small = models.SmallIntegerField(null=True)
            large = models.BigIntegerField()
            code = models.BinaryField()
            text = models.CharField(max_length=20)
            amount = models.DecimalField(max_digits=20, decimal_places=2)

            class Meta:
                app_label = "tests"

    with connection.schema_editor() as editor:
        editor.create_model(Thing)
    table = table_of(Thing)
    raw.insert(table, table.names, [_thing(number) for number in range(200)], using="default")
    yield table
    with connection.schema_editor() as editor:
        editor.delete_model(Thing)


def _thing(number: int) -> tuple[Any, ...]:
    code = b"\\'\"{},\x00\xff" + bytes([number])
    return uuid.UUID(int=number), number or None, -(2**63) + number, code, f'"{{}},\\{number}', Decimal(number)


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("on_the_server", [False, True])
@pytest.mark.parametrize("count", [19, 20, 150])
@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["id"], "uuid"),
        (["small"], "bigint"),
        (["large"], "bigint"),
        (["code"], "bytea"),
        (["large", "code"], "bytea"),
        (["text"], ""),
        (["amount"], ""),
        (["large", "text"], ""),
    ],
)
def test_many_values_go_to_postgresql_as_one(
    things: Table, names: list[str], kind: str, count: int, on_the_server: bool
) -> None:
    """However the driver binds. Of some types only, and with the same answer: a column's type says what is equal in it."""
    psycopg = pytest.importorskip("psycopg")
    picked = itemgetter(*map(things.names.index, names))
    wanted = [picked(_thing(number)) for number in range(1, count + 1)]
    rows = [value if len(names) > 1 else (value,) for value in wanted]
    condition, params = among([things.field(name) for name in names], rows, connection)
    as_one = bool(kind) and count >= 20
    assert len(params) == len(names) * (1 if as_one else count)
    assert (f"::{kind}[]" in condition) == as_one
    connection.ensure_connection()
    cursor = (psycopg.Cursor if on_the_server else psycopg.ClientCursor)(connection.connection)
    cursor.execute(f'SELECT "large" FROM "tests_thing" WHERE {condition} ORDER BY "large"', params)
    assert cursor.fetchall() == [(_thing(number)[2],) for number in range(1, count + 1)]


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("other", [None, True, 2**15, -(2**31) - 1, 2**63 - 1, 2**63, -(2**63) - 1])
def test_in_a_long_list_may_be_what_no_row_can_have(things: Table, other: Any) -> None:
    """It is in no row, and no error. Values that are no whole numbers are left as they are."""
    values = [other, *range(1, 41)]
    if other is not True:  # PostgreSQL compares no number with it, however it is told
        found = raw.read_where(things, ("small",), "small", values, lock=True, using="default")
        assert sorted(found) == [(number,) for number in range(1, 41)]
    in_range = type(other) is int and -(2**63) <= other < 2**63
    assert (arrays_of([(value,) for value in values], ["bigint"]) is not None) == in_range


@pytest.mark.only_on("postgresql")
def test_rows_get_values_of_their_own_from_arrays(things: Table) -> None:
    ids = [uuid.UUID(int=number) for number in range(60)]
    whole = [(key, 500 + number, b"\\x00,%s" + bytes([number])) for number, key in enumerate(ids)]
    with_null = [(key, None if number % 2 else number, code) for number, (key, _, code) in enumerate(whole)]
    for new in (whole, with_null):
        (sent,) = statements(lambda new=new: raw.update(things, ("small", "code"), new, using="default"))
        assert "UNNEST(" in sent
        found = raw.read(things, ("id", "small", "code"), [(key,) for key in ids], lock=False, using="default")
        assert found == new
    kept = [(key, None if number % 2 else number + 7) for number, key in enumerate(ids)]
    raw.update(things, ("small",), kept, kept={"small"}, using="default")
    raw.update(things, ("large",), [(key, 2**40 + number) for number, key in enumerate(ids)], using="default")
    with pytest.raises(DataError), transaction.atomic():
        raw.update(things, ("small",), [(key, 2**20 + number) for number, key in enumerate(ids)], using="default")
    assert len(raw.read_where(things, ("id",), "large", range(2**40, 2**40 + 60), lock=False, using="default")) == 60
    assert raw.held_values(things, "small", range(7, 70, 2), lock=True, using="default") >= {7, 9}
    places = [(things, "small"), (things, "large")]
    for values in ([*range(2**40, 2**40 + 30)], [*range(1, 30), 2**64]):
        (asked,) = statements(lambda values=values: holding(places, values, lock=True, using="default"))
        assert (asked.count("= ANY (") == 2) == (2**64 not in values)
    raw.delete(things, [(key,) for key in ids], using="default")
    raw.delete_where(things, "small", list(range(60, 200)), using="default")
    assert not things.model._base_manager.exists()


NASTY = [
    "",
    "NULL",
    "null",
    "a,b",
    "{}",
    '"',
    "\\",
    '\\"',
    "it's",
    "%s %% %(c0)s",
    "\n\t ",
    "é\U0001f600",
    "\\x41",
    "E'\\101'",
]


@pytest.fixture
def odd() -> Iterator[Table]:
    """A table of PostgreSQL's with columns of all kinds. Some have another type than their model knows, as those of others' tables have."""
    with isolate_apps("tests"):

        class Odd(models.Model):
            id = models.BigIntegerField(primary_key=True)
            text = models.CharField(max_length=20)
            mood = models.TextField()
            data = models.TextField()
            key = models.CharField(max_length=36)
            code = models.BinaryField(null=True)
            good = models.BooleanField()
            amount = models.DecimalField(max_digits=20, decimal_places=3)
            real = models.FloatField()
            at = models.DateTimeField()
            day = models.DateField(null=True)
            time = models.TimeField()
            none = models.TextField(null=True)
            numbers = models.TextField()

            class Meta:
                app_label = "tests"

    with connection.cursor() as cursor:
        cursor.execute("CREATE TYPE mood AS ENUM ('low', 'high')")
        cursor.execute(
            "CREATE TABLE tests_odd (id bigint PRIMARY KEY, text varchar(20) UNIQUE, mood mood, data jsonb, key uuid, code bytea, "
            "good boolean, amount numeric(20, 3), real double precision, at timestamptz, day date, time time, none inet, numbers integer[])"
        )
    yield table_of(Odd)
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE tests_odd")
        cursor.execute("DROP TYPE mood")


def _odd(number: int) -> tuple[Any, ...]:
    text = NASTY[number] if number < len(NASTY) else f"text {number}"
    return (
        number,
        text,
        "low" if number % 3 else "high",
        json.dumps([text, {"number": number}]),
        str(uuid.UUID(int=number)),
        None if number % 4 else text.encode() + bytes([number, 0]),
        number % 2 == 0,
        Decimal(number) / 8,
        number / 3 if number else float("-inf"),
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(hours=number, microseconds=number),
        None if number % 5 == 0 else datetime.date(1999, 12, 31) + datetime.timedelta(days=number),
        datetime.time(number % 24, 59, 59, number),
        None,
        "{1,2}",
    )


@pytest.mark.only_on("postgresql")
def test_many_rows_arrive_as_a_few_do_whatever_the_types_of_their_columns(odd: Table) -> None:
    """In arrays of the types that columns have, not of those that their model knows; a few rows are single values."""
    rows = [_odd(number) for number in range(80)]
    found = []
    for together in (10, 80):
        sent = statements(
            lambda together=together: [
                raw.insert(odd, odd.names, rows[at : at + together], using="default") for at in range(0, 80, together)
            ]
        )
        assert ["UNNEST(" in each for each in sent] == [together == 80] * (80 // together)
        with connection.cursor() as cursor:
            cursor.execute("SELECT t::text FROM tests_odd t ORDER BY id")
            found.append(cursor.fetchall())
            cursor.execute("DELETE FROM tests_odd")
    assert found[0] == found[1]
    assert len(found[0]) == 80


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("on_the_server", [False, True])
def test_arrays_of_rows_do_however_the_driver_binds(odd: Table, on_the_server: bool) -> None:
    psycopg = pytest.importorskip("psycopg")
    rows = [_odd(number) for number in range(60)]
    selected = rows_of_arrays(odd, odd.names, rows, connection)
    assert selected is not None
    sql, params = selected
    assert len(params) == len(odd.names), "one for each column"
    cursor = (psycopg.Cursor if on_the_server else psycopg.ClientCursor)(connection.connection)
    cursor.execute(f"INSERT INTO tests_odd ({', '.join(odd.names)}) {sql}", params)
    there = raw.read(
        odd, ("id", "text", "good", "at", "code"), [(row[0],) for row in rows], lock=False, using="default"
    )
    assert there == [(row[0], row[1], row[6], row[9], row[5]) for row in rows]


@pytest.mark.only_on("postgresql")
def test_many_rows_change_to_what_they_would_be_inserted_as(odd: Table) -> None:
    rows = [(number, f"new {number}", *_odd(59 - number)[2:]) for number in range(60)]
    found = []
    for first in (rows, [_odd(number) for number in range(60)]):
        raw.insert(odd, odd.names, first, using="default")
        if first is not rows:
            (sent,) = statements(lambda: raw.update(odd, odd.names[1:], rows, using="default"))
            assert "UNNEST(" in sent
        with connection.cursor() as cursor:
            cursor.execute("SELECT t::text FROM tests_odd t ORDER BY id")
            found.append(cursor.fetchall())
            cursor.execute("DELETE FROM tests_odd")
    assert found[0] == found[1]


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("count", [1, 3, 60])
@pytest.mark.parametrize("as_one", [False, True])
def test_a_column_that_holds_more_than_its_model_says_gets_the_whole_value(count: int, as_one: bool) -> None:
    """A table that others have made, or altered: nothing is cut off to what the model says, on the way back least of all."""
    with isolate_apps("tests"):

        class Short(models.Model):
            text = models.CharField(max_length=5)
            amount = models.DecimalField(max_digits=5, decimal_places=1)

            class Meta:
                app_label = "tests"

    table = table_of(Short)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE tests_short (id bigint PRIMARY KEY, text text, amount numeric)")
    names, rows = ("id", "text", "amount"), [(number, "", Decimal()) for number in range(count)]
    raw.insert(table, names, rows, using="default")
    new = [(number, f"a long text {as_one or number}", Decimal("123456.125") + number) for number in range(count)]
    raw.update(table, names[1:], new, using="default")
    assert raw.read(table, names, [row[:1] for row in rows], lock=False, using="default") == new


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("collation", ["", 'COLLATE "C"', "COLLATE caseless"])
def test_rows_are_told_apart_by_a_text_as_its_column_says(collation: str) -> None:
    """A key may be one, and have a collation of its own."""
    with isolate_apps("tests"):

        class Named(models.Model):
            name = models.CharField(max_length=20, primary_key=True)
            number = models.IntegerField()

            class Meta:
                app_label = "tests"

    with connection.cursor() as cursor:
        cursor.execute("CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        cursor.execute(f"CREATE TABLE tests_named (name varchar(20) {collation} PRIMARY KEY, number integer)")
    table = table_of(Named)
    raw.insert(table, table.names, [(f"Name {number}", 0) for number in range(40)], using="default")
    rows = [(f"{'NAME' if 'caseless' in collation else 'Name'} {number}", number + 1) for number in range(40)]
    raw.update(table, ("number",), rows, using="default")
    there = raw.read_where(table, ("number",), "number", range(1, 41), lock=False, using="default")
    assert sorted(there) == [(number,) for number in range(1, 41)]


@pytest.mark.only_on("postgresql")
def test_of_many_rows_those_are_inserted_whose_values_are_free(odd: Table) -> None:
    rows = [_odd(number) for number in range(50)]
    raw.insert(odd, odd.names, rows[10:12], using="default")
    (sent,) = statements(lambda: insert_free(odd, odd.names, rows, using="default", with_savepoint=True))
    assert "UNNEST(" in sent
    taken = [(50, "text 20", *_odd(50)[2:]), *(_odd(number) for number in range(51, 80))]
    assert insert_free(odd, odd.names, taken, using="default") == {(number,) for number in range(51, 80)}


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("column", ["none", "text", "amount"])
def test_what_goes_into_no_array_is_a_single_value(odd: Table, column: str) -> None:
    """An address that the application has given, say; and a text that is too long is an error in either way."""
    new: Any = {"none": ipaddress.ip_address("::1"), "text": "x" * 21, "amount": Decimal("1e30")}[column]
    rows = [list(_odd(number)) for number in range(40)]
    rows[7][odd.names.index(column)] = new

    def insert() -> None:
        raw.insert(odd, odd.names, [tuple(row) for row in rows], using="default")

    if column == "none":
        (sent,) = statements(insert)
        assert "UNNEST(" not in sent
    else:
        with pytest.raises(DataError), transaction.atomic():
            insert()


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("of_pairs", [False, True])
def test_a_long_list_goes_along_the_key(of_pairs: bool) -> None:
    table = table_of(PaperReview if of_pairs else Bag)
    keys = [(number, number) if of_pairs else (number,) for number in range(1, 61)]
    (sent,) = statements(lambda: raw.read(table, table.key_names, keys, lock=True, using="default"))
    with connection.cursor() as cursor:
        # A small table is read in other ways, which cost as little; this way the planner says whether the index can serve at all.
        for other in ("seqscan", "mergejoin", "hashjoin"):
            cursor.execute(f"SET LOCAL enable_{other} = off")
        cursor.execute(f"EXPLAIN {sent}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Seq Scan" not in plan
    assert "Index Cond" in plan


@pytest.mark.only_on("mysql")
@pytest.mark.parametrize("writes", [False, True])
def test_a_statement_about_many_keys_goes_along_the_key(writes: bool) -> None:
    """Left alone, the server may read, and lock, along another index, or all of a small table: also what somebody else is writing.

    When it does so depends on its statistics, so that it is told is what can be seen every time.
    """
    reviews, keys = table_of(PaperReview), [(paper, paper) for paper in range(1, 61)]

    def work() -> None:
        if writes:
            raw.update(reviews, ("contact",), [(*key, 1) for key in keys], using="default")
        else:
            raw.read(reviews, ("paper", "review_id", "contact"), keys, lock=True, using="default")

    (sent,) = statements(work)
    assert "FORCE INDEX (PRIMARY)" in sent
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN FORMAT=TRADITIONAL {sent}")
        names = [column[0] for column in cursor.description or ()]
        explained = dict(zip(names, cursor.fetchone(), strict=True))
    assert (explained["type"], explained["key"]) == ("range", "PRIMARY")


@pytest.mark.only_on("mysql")
@pytest.mark.parametrize("is_mariadb", [True, False])
@pytest.mark.parametrize("count", [2, 50])
def test_mariadb_and_mysql_are_each_told_in_their_own_way_which_row_gets_what(
    is_mariadb: bool, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MariaDB understands both, MySQL its own; of several columns, NULL and bytes among the values, the longest not in the first row."""
    if is_mariadb and not connections["default"].mysql_is_mariadb:
        pytest.skip("a MySQL cannot be asked as a MariaDB is")
    monkeypatch.setitem(connections["default"].__dict__, "mysql_is_mariadb", is_mariadb)
    columns = ("id", "index", "sealed", "expires_on")
    raw.insert(BAGS, columns, [(pk, bytes([pk]) * 32, b"", None) for pk in range(1, count + 1)], using="default")
    day = datetime.date(2030, 1, 1)
    rows = [(pk, bytes([pk, 0, 255]) * pk, None if pk % 2 else day) for pk in range(1, count + 1)]
    asked = statements(lambda: raw.update(BAGS, ("sealed", "expires_on"), rows, using="default"))
    assert ["UNION ALL" in sql for sql in asked] == [not is_mariadb]
    found = Bag.objects.order_by("pk").values_list("pk", "sealed", "expires_on")
    assert [(pk, bytes(sealed), expires_on) for pk, sealed, expires_on in found] == rows
