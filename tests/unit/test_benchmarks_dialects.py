"""What the benchmarks write by hand and at the floor does the same on every database, each in a form of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from apps.hotcrp_sim.models import PC, ContactInfo
from apps.lobsters_sim.models import Story
from apps.websubmit.models import Answer, Lecture, Question, User
from benchmarks.floor import Floor
from benchmarks.floor.statements import change
from benchmarks.handwritten import repoint
from benchmarks.hotcrp import floor as hotcrp_floor
from benchmarks.hotcrp import manual as hotcrp
from benchmarks.kit.driver import Affected, Driver, Snapshot
from benchmarks.lobsters import floor as lobsters_floor
from benchmarks.lobsters import manual as lobsters
from benchmarks.websubmit import floor, manual

pytestmark = pytest.mark.django_db(transaction=True)

QUESTIONS = 6


@pytest.fixture
def driver() -> Iterator[Driver]:
    with closing(Driver()) as made:
        yield made
        made.rollback()


@pytest.fixture
def bea() -> User:
    """With an answer to each of six questions of two lectures; and Ada, with one."""
    lectures = [Lecture.objects.create(label=f"{number}. Faults") for number in (1, 2)]
    questions = [
        Question.objects.create(lecture=lectures[number % 2], number=number, text="Why?") for number in range(QUESTIONS)
    ]
    users = [User.objects.create(email=f"{name}@example.org", password="!") for name in ("bea", "ada")]
    Answer.objects.bulk_create(Answer(author=users[0], question=each, text="Because.") for each in questions)
    Answer.objects.create(author=users[1], question=questions[0], text="Hardly.")
    return users[0]


def placeholders(driver: Driver) -> Any:
    filled = {"email": driver.dialect.random_text, "apikey": driver.dialect.random_text, "password": "'!'"}
    flags = {"is_admin": "FALSE", "is_anon": "TRUE", "is_active": "FALSE"}
    return ("websubmit_user", "id"), {**filled, **flags}


def give_away(driver: Driver, user: User) -> None:
    """One new author for each lecture."""
    where, people = "t.author_id = %s", placeholders(driver)
    with driver.transaction():
        repoint(
            driver,
            "websubmit_answer",
            "author_id",
            where,
            (user.pk,),
            placeholders=people,
            group=floor.LECTURE,
            also={"text": "'[gone]'"},
        )


def test_rows_get_one_new_owner_for_each_group_and_those_of_others_stay(driver: Driver, bea: User) -> None:
    give_away(driver, bea)
    given = Answer.objects.filter(author__is_anon=True)
    by_lecture = set(given.values_list("question__lecture", "author"))
    assert given.count() == given.filter(text="[gone]").count() == QUESTIONS
    assert (
        len(by_lecture) == len({lecture for lecture, _ in by_lecture}) == len({author for _, author in by_lecture}) == 2
    )
    assert [(one.author.email, one.text) for one in Answer.objects.exclude(author__is_anon=True)] == [
        ("ada@example.org", "Hardly.")
    ]
    nobody = User(pk=bea.pk)
    give_away(driver, nobody)  # nothing is left to be given away
    assert User.objects.filter(is_anon=True).count() == 2


def test_rows_are_put_back_over_what_is_there(driver: Driver, bea: User) -> None:
    """Some are changed, some are gone, and who was made meanwhile goes."""
    rows = [
        Affected("websubmit_user", "t.id = %s", (bea.pk,)),
        Affected("websubmit_answer", "t.author_id = %s", (bea.pk,)),
    ]
    before, least = Snapshot(driver, rows), driver.number("SELECT MAX(id) + 1 FROM websubmit_user")
    assert len(before) == QUESTIONS + 1
    give_away(driver, bea)
    Answer.objects.filter(question__number=0, author__is_anon=True).delete()
    manual.delete_account(driver, bea.pk)
    with pytest.raises(AssertionError, match="websubmit_"):
        before.assert_unchanged()
    driver.commit()
    before.put_back(new={"websubmit_user": ("id", least)})
    before.assert_unchanged()
    assert not User.objects.filter(is_anon=True).exists()
    assert connection.check_constraints() is None


def test_what_the_floor_hides_comes_back(driver: Driver, bea: User) -> None:
    """Many rows each to their own values in one statement, NULL among them, keys of bytes; locked and deleted by lists."""
    ada = User.objects.get(email="ada@example.org")
    User.objects.filter(pk=ada.pk).update(joined_on=None)
    everything = Snapshot(driver, [Affected("websubmit_user", "1 = 1", ()), Affected("websubmit_answer", "1 = 1", ())])
    made = floor.floor(driver)
    try:
        made.ready(4 * QUESTIONS)
        people = made.register([bea.pk, ada.pk])
        given = made.hide(floor.ANONYMISE, list(people.values()))
        assert Answer.objects.filter(author__is_anon=True).count() == QUESTIONS + 1
        gone = made.hide(floor.DELETE, [people[bea.pk]], with_key=True)
        assert Answer.objects.count() == 1
        made.back(people[bea.pk], gone[bea.pk])
        for key, person in people.items():
            made.back(person, given[key])
        everything.assert_unchanged()
    finally:
        drop_floor(driver)


def test_a_row_that_somebody_has_changed_is_not_changed_at_the_floor(driver: Driver, bea: User) -> None:
    answers = list(Answer.objects.filter(author=bea).values_list("pk", "text"))
    rows = [([key], [text], [f"{number}"]) for number, (key, text) in enumerate(answers)]
    Answer.objects.filter(pk=answers[3][0]).update(text="No.")
    for some in (rows, rows[3:4]):
        with pytest.raises(AssertionError, match="websubmit_answer"), driver.transaction():
            change(driver, "websubmit_answer", ("id",), ("text",), some)
    assert set(Answer.objects.filter(author=bea).values_list("text", flat=True)) == {"Because.", "No."}


def test_everybody_is_anonymised_by_hand_and_their_answers_are_put_back(driver: Driver, bea: User) -> None:
    wrote = list(Answer.objects.order_by("pk").values_list("author", flat=True))
    authors = manual.Authors(driver)
    assert manual.anonymise_all(driver) == 3
    assert Answer.objects.values("author").distinct().count() == 3
    authors.put_back()
    authors.drop()
    assert list(Answer.objects.order_by("pk").values_list("author", flat=True)) == wrote
    with driver.transaction():
        key = manual.insert_account(driver, "cleo@example.org", "!")
    assert User.objects.get(email="cleo@example.org").pk == key


def test_sizes_are_told_of_tables_as_they_are_and_rebuilt(driver: Driver, bea: User) -> None:
    tables = ["websubmit_user", "websubmit_answer"]
    driver.dialect.analyse(driver.connection, tables)
    driver.dialect.rebuild(driver.connection, tables)
    sizes = driver.dialect.sizes(driver.cursor)
    told = tables if connection.vendor != "sqlite" else ["(the file)"]
    assert all(sizes[name] > 0 for name in told)
    assert driver.server().startswith(("SQLite 3", "MariaDB ", "PostgreSQL "))


def seeded_hotcrp(driver: Driver) -> tuple[Floor, Any, int]:
    call_command("hotcrp_seed", users=3, pc=10, papers=2, no_register=True, verbosity=0)
    return hotcrp_floor.floor(driver), hotcrp.everything_of, ContactInfo.objects.filter(roles=PC).latest("pk").pk


def seeded_lobsters(driver: Driver) -> tuple[Floor, Any, int]:
    call_command("lobsters_seed", scale=0.01, no_register=True, verbosity=0)
    return lobsters_floor.floor(driver), lobsters.everything_of, Story.objects.latest("pk").user_id


@pytest.mark.only_on("mysql", "postgresql")
@pytest.mark.parametrize(
    ("seeded", "new", "works"),
    [
        (
            seeded_hotcrp,
            {"ContactInfo": "contactId", "PaperReviewRefused": "contactId"},
            [(hotcrp.remove_account, hotcrp_floor.REMOVE), (hotcrp.anonymise, hotcrp_floor.ANONYMISE)],
        ),
        (
            seeded_lobsters,
            {"users": "id"},
            [(lobsters.delete_account, lobsters_floor.DELETE), (lobsters.decay, lobsters_floor.DECAY)],
        ),
    ],
)
def test_an_applications_rows_are_as_they_were(driver: Driver, seeded: Any, new: dict[str, str], works: Any) -> None:
    """Given away by hand and put back, and hidden at the floor: names with capital letters, owners in primary keys, further
    keys that are unique, and owners that have left."""
    made, everything_of, user = seeded(driver)
    try:
        person = made.register([user])[user]
        made.ready(1000)
        before = Snapshot(driver, everything_of(user))
        assert len(before) > 10
        people, key = next(iter(new.items()))
        for by_hand, places in works:
            least = driver.number(f'SELECT MAX("{key}") + 1 FROM "{people}"')
            by_hand(driver, user)
            with pytest.raises(AssertionError, match="is not what it was"):
                before.assert_unchanged()
            before.put_back(new={table: (column, least) for table, column in new.items()})
            before.assert_unchanged()
            made.back(person, made.hide(places, [person])[user])
            before.assert_unchanged()
    finally:
        drop_floor(driver)


def drop_floor(driver: Driver) -> None:
    driver.rollback()
    for table in ("floor_entry", "floor_bag"):
        driver.execute(f"DROP TABLE {table}")
    driver.commit()
