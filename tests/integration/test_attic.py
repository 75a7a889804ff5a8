"""Tables that others have made: with types that the models guess, keys in other letters, and a database that does more than models say.

What comes back is what was there, to the byte; or somebody says beforehand that it will not, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection, transaction

import edna
from edna import Disguise, Modify, Remove
from edna.errors import ConstraintRefused
from edna.spec import Transformation
from tests.installed import registering
from tests.integration.attic.models import Letter, Marked, Member, Stubborn, Thing
from tests.integration.attic.tables import attic_tables, disguise, run  # noqa: F401 - a fixture
from tests.support import Student, enrol

pytestmark = [pytest.mark.django_db]


@pytest.fixture(autouse=True)
def attic(attic_tables: None, db: None) -> None:  # noqa: F811
    """The tables, empty."""


def rows_of(table: str) -> list[Any]:
    """As the database writes them."""
    with connection.cursor() as cursor:
        whole = {"postgresql": "t::text", "mysql": "t.*", "sqlite": "t.*"}[connection.vendor]
        cursor.execute(f"SELECT {whole} FROM {table} t ORDER BY 1")
        return list(cursor.fetchall())


def things(student: Student, count: int) -> None:
    """Rows as they were inserted before there was a model."""
    marks = "%s, %s, %s, %s, %s, %s, %s"
    tags = {"postgresql": ("{low,high}", "{}"), "mysql": ("low,high", ""), "sqlite": ("{low,high}", "")}[
        connection.vendor
    ]
    size = {"postgresql": "(1,cm)", "mysql": b"a\0\0\0", "sqlite": "(1,cm)"}[connection.vendor]
    data = ('[1, {"a":  2}]', "{}", '"text"', "1.50", "[]", "null", " true")
    with connection.cursor() as cursor:
        for number in range(count):
            cursor.execute(
                f"INSERT INTO attic_thing (person_id, mood, tags, note, data, size, weight) VALUES ({marks})",
                [
                    student.user.pk,
                    "low" if number % 2 else "high",
                    tags[number % 2],
                    f"a note longer than five, {number}",
                    data[number % len(data)],
                    size if number % 3 else None,
                    "-0.0" if number % 2 else "0.1",
                ],
            )


MODIFIED = Modify(Thing, owner="person", set={"mood": "low", "note": "gone", "data": "[]", "size": None, "weight": 0.5})


@pytest.mark.parametrize("count", [1, 3, 25])
@pytest.mark.parametrize("step", [Remove(Thing, owner="person"), MODIFIED], ids=["removed", "modified"])
def test_values_come_back_as_they_were_whatever_the_model_takes_them_for(step: Transformation, count: int) -> None:
    bea, other = enrol(), enrol()
    things(bea, count)
    things(other, 2)
    before = rows_of("attic_thing")
    with registering(disguise(step)):
        receipt = bea.disguise("attic.leave")
        assert rows_of("attic_thing") != before
        assert bea.reveal(receipt).complete
    assert rows_of("attic_thing") == before


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("count", [1, 3, 25])
@pytest.mark.parametrize(
    "step",
    [Remove(Marked, owner="person"), Modify(Marked, owner="person", set={"labels": []})],
    ids=["removed", "modified"],
)
def test_lists_come_back(step: Transformation, count: int) -> None:
    """Of a table with a constraint that can be deferred, of which its model does not know. One row refers to another one."""
    bea, other = enrol(), enrol()
    for number in range(count):
        run(
            f"INSERT INTO attic_marked VALUES ({number}, {bea.user.pk}, '{{a,\"b {number}\"}}', {number - 1 if number else 'NULL'})"
        )
    run(f"INSERT INTO attic_marked VALUES (1000, {other.user.pk}, '{{}}', NULL)")
    before = rows_of("attic_marked")
    with registering(disguise(step)):
        receipt = bea.disguise("attic.leave")
        assert rows_of("attic_marked") != before
        assert bea.reveal(receipt).complete
    assert rows_of("attic_marked") == before


def test_whoever_is_told_that_rows_are_gone_is_told_the_truth() -> None:
    """A trigger, or a key that cannot be compared: the database deletes nothing, and says nothing."""
    bea = enrol()
    run(
        f"INSERT INTO attic_stubborn (id, person_id, code) VALUES (0.1, {bea.user.pk}, 1.5)".replace(
            "0.1", "0.1" if connection.vendor == "mysql" else "1"
        )
    )
    before = rows_of("attic_stubborn")
    with registering(disguise(Remove(Stubborn, owner="person"))):
        with pytest.raises(ConstraintRefused, match=r"told to delete rows of attic\.stubborn"), transaction.atomic():
            bea.disguise("attic.leave")
        assert list(bea.history()) == []
    assert rows_of("attic_stubborn") == before


@pytest.mark.only_on("mysql", "postgresql")
def test_what_does_not_fit_is_refused_without_the_words_of_the_database() -> None:
    """They quote values, and end up in logs."""
    bea = enrol()
    things(bea, 2)
    with (
        registering(disguise(Modify(Thing, owner="person", set={"note": "a needle, " * 9}))),
        pytest.raises(ConstraintRefused, match="does not fit") as refused,
        transaction.atomic(),
    ):
        bea.disguise("attic.leave")
    assert "needle" not in str(refused.value)
    assert refused.value.__context__ is None


@pytest.fixture
def members() -> tuple[Member, bytes]:
    """Bea, whom a letter calls BEA, and Carl, who reads it."""
    run(
        "INSERT INTO attic_member (code, name) VALUES ('Bea', 'Bea Bell')",
        "INSERT INTO attic_member (code, name) VALUES ('Carl', 'Carl Coe')",
        "INSERT INTO attic_letter (id, author_id, reader_id, text) VALUES (1, 'BEA', 'Carl', 'a letter')",
    )
    bea = Member.objects.get(pk="Bea")
    edna.register_principal(Member.objects.get(pk="Carl"))
    return bea, edna.register_principal(bea).secret_key


def by_member(*steps: Transformation) -> type[Disguise]:
    made = disguise(*steps)
    made.principal_model = "attic.Member"
    return made


@pytest.mark.parametrize(
    "steps",
    [
        (Remove(Letter, owner="author"), Remove(Letter, owner="reader")),
        (Modify(Letter, owner="author", set={"text": "x"}), Modify(Letter, owner="reader", set={"text": "y"})),
        (Remove(Letter, owner=["author", "reader"]),),
    ],
    ids=["removed with either", "modified for each", "removed with both"],
)
def test_an_owner_in_other_letters_is_refused_where_only_letters_tell(
    members: tuple[Member, Any], steps: Sequence[Transformation]
) -> None:
    """They were left as they were, without a word."""
    bea, _ = members
    with (
        registering(by_member(*steps)),
        pytest.raises(ConstraintRefused, match="another spelling"),
        transaction.atomic(),
    ):
        edna.disguise("attic.leave", bea)


def test_a_row_that_names_its_owner_in_other_letters_comes_back(members: tuple[Member, Any]) -> None:
    bea, secret_key = members
    before = rows_of("attic_letter")
    with registering(by_member(Remove(Letter, owner="author"))):
        receipt = edna.disguise("attic.leave", bea)
        assert rows_of("attic_letter") == []
        with edna.unlock(secret_key=secret_key) as unlocked:
            assert edna.reveal(receipt, unlocked).complete
    assert rows_of("attic_letter") == before


@pytest.mark.only_on("mysql")
def test_a_row_with_the_key_zero_comes_back_under_it() -> None:
    """MariaDB would count on instead."""
    bea = enrol()
    things(bea, 2)
    run("UPDATE attic_thing SET id = 0 ORDER BY id LIMIT 1")
    before = rows_of("attic_thing")
    with registering(disguise(Remove(Thing, owner="person"))):
        receipt = bea.disguise("attic.leave")
        assert bea.reveal(receipt).complete
    assert rows_of("attic_thing") == before
