"""An attacker pairs pseudoprincipals by what the tables show of each: how often are two of one person? (nothing linkable)

The attacker takes a pseudoprincipal and picks another one that looks the same in every column of its entry that is no random one, the
length of its list among them. Without looking they would be right as often as one person's are among all.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q
from django.db.models.functions import Length

import edna
from apps.websubmit.models import Answer, Lecture, User
from edna import Disguise, Modify, Param, placeholders
from edna.models import Bag, PrincipalEntry
from tests.installed import registering
from tests.support import ANONYMISE_ALL, ANONYMISE_LECTURE, DELETE, Student, answer_everything, enrol_many, make_course

pytestmark = [pytest.mark.django_db, pytest.mark.long]

PEOPLE, LECTURES = 16, 5


class Blank(Disguise):
    """Takes the text of one lecture's answers away, whoever is their author now."""

    name = "test.blank"
    params = {"lecture": int}
    transformations = [
        Modify(
            Answer, owner="author", where=Q(question__lecture=Param("lecture")), set={"text": placeholders.constant("")}
        )
    ]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with registering(Blank):
        yield


def looks() -> dict[str, Hashable]:
    """What each pseudoprincipal looks like, by its reference: all that its entry says but for what is random."""
    found = PrincipalEntry.objects.filter(natural=False, reference__isnull=False).annotate(size=Length("locators"))
    names = ("model", "size", "last_seen_on", "expires_on")
    return {reference: tuple(rest) for reference, *rest in found.values_list("reference", *names)}


def rates(whose: dict[str, int], look: dict[str, Hashable]) -> tuple[float, float]:
    """How often the attacker is right, and how often somebody who picks any other one would be: both exactly, of all picks."""
    classes: dict[Hashable, Counter[int]] = defaultdict(Counter)
    for reference, person in whose.items():
        classes[look[reference]][person] += 1
    guesses = [rate for people in classes.values() for rate in _rates_in(people)]
    by_chance = list(_rates_in(Counter(whose.values())))
    return sum(guesses) / len(guesses), sum(by_chance) / len(by_chance)


def _rates_in(people: Counter[int]) -> list[float]:
    total = people.total()
    return [(count - 1) / (total - 1) for count in people.values() for _ in range(count) if total > 1]


class Class:
    """People who have many answers anonymised, each at their own times, some with the key at hand and some without."""

    def __init__(self) -> None:
        make_course(lectures=LECTURES, questions=2)
        self.people = enrol_many(PEOPLE)
        answer_everything(*self.people)
        self.authors = dict(Answer.objects.values_list("pk", "author_id"))
        self.receipts: dict[int, list[edna.Receipt]] = {student.user.pk: [] for student in self.people}
        self.lectures = list(Lecture.objects.order_by("pk").values_list("pk", flat=True))

    def disguise(self, name: str, student: Student, *, with_key: bool, **params: Any) -> None:
        receipts = self.receipts[student.user.pk]
        if with_key:
            with student.unlock(receipts=receipts) as unlocked:
                made = edna.disguise(name, student.user, params=params, unlocked=unlocked)
        else:
            made = edna.disguise(name, student.user, params=params)
        receipts.append(made)

    def whose(self) -> dict[str, int]:
        """Of each pseudoprincipal that owns an answer, whose it is: what the attacker wants to know."""
        now = Answer.objects.values_list("pk", "author_id")
        return {str(author): self.authors[pk] for pk, author in now if author != self.authors[pk]}


@pytest.fixture(params=["server", "client"])
def lived_in(request: pytest.FixtureRequest, settings: Any) -> Class:
    """Who does what with a key and what without is drawn once and for all: people differ, as they do on a site."""
    settings.EDNA = {**settings.EDNA, "LOCATORS": request.param}
    scene, drawn = Class(), random.Random(20_240_517)
    for student in scene.people:
        lecture = drawn.choice(scene.lectures)
        scene.disguise(ANONYMISE_LECTURE, student, with_key=drawn.random() < 0.5, lecture=lecture)
        scene.disguise(ANONYMISE_ALL, student, with_key=drawn.random() < 0.5)
        # They come again later, some often and some never.
        for _ in range(drawn.randrange(12)):
            scene.disguise(Blank.name, student, with_key=True, lecture=drawn.choice(scene.lectures))
    return scene


@pytest.mark.once
def test_pseudoprincipals_of_one_person_are_not_found_by_how_they_look(lived_in: Class) -> None:
    whose = lived_in.whose()
    assert len(whose) == PEOPLE * LECTURES
    right, by_chance = rates(whose, looks())
    assert right <= 2 * by_chance
    # And by nothing else: no entry looks other than another one, before anybody has disguised them all.
    assert len(set(looks().values())) == 1
    # What bags show, they show of everybody's.
    assert len(set(Bag.objects.values_list("expires_on", flat=True))) == 1


@pytest.mark.once
def test_nor_after_a_disguise_without_keys_and_more_with_them(lived_in: Class) -> None:
    """What is sealed without a key lengthens the lists of all whose rows it means, whosever they are."""
    edna.disguise_all(ANONYMISE_ALL)
    drawn = random.Random(7)
    for student in lived_in.people:
        for _ in range(drawn.randrange(6)):
            lived_in.disguise(Blank.name, student, with_key=True, lecture=drawn.choice(lived_in.lectures))
    right, by_chance = rates(lived_in.whose(), looks())
    assert right <= 2 * by_chance


@pytest.mark.once
def test_nor_among_those_who_are_left_of_people_who_have_left(lived_in: Class) -> None:
    """Half of them leave with the key, and take what the pseudoprincipals own along; of the others all is there."""
    for student in lived_in.people[::2]:
        with student.unlock(receipts=lived_in.receipts[student.user.pk]) as unlocked:
            edna.disguise(DELETE, student.user, unlocked=unlocked)
    assert User.objects.filter(pk__in=[student.user.pk for student in lived_in.people]).count() == PEOPLE // 2
    right, by_chance = rates(lived_in.whose(), looks())
    assert right <= 2 * by_chance


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize(("model", "order"), [(Bag, "index"), (PrincipalEntry, "public_key"), (User, "id")])
def test_rows_that_one_disguise_has_written_lie_in_an_order_by_lot(model: Any, order: str) -> None:
    """In the order in which they were made, a bag of diff records would lie before that of the same person's speaks-for records."""
    make_course(lectures=LECTURES, questions=1)
    people = enrol_many(PEOPLE)
    answer_everything(*people)
    before = set(model.objects.values_list("pk", flat=True))
    with connection.cursor() as cursor:
        # A new file without holes: in one that other tests have used, a row goes where another one was.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"CLUSTER {model._meta.db_table} USING {model._meta.db_table}_pkey")
    edna.disguise_all(ANONYMISE_ALL)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, {order} FROM {model._meta.db_table} ORDER BY ctid")
        made = [value for key, value in cursor.fetchall() if key not in before]
    assert len(made) >= 2 * PEOPLE
    # Of entries and bags, by what is random in them besides the number.
    drawn = made if model is User else [bytes(value)[8:] for value in made]
    assert drawn == sorted(drawn)
