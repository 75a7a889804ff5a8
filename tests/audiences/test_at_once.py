"""Members, operators and disguises at once: nobody who goes gets a share, nothing is held for nobody, and no audience is left in half."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction

import edna
from apps.hotcrp_sim.disguises import RemoveAccountHeld
from apps.websubmit.models import Lecture
from edna import audiences, errors
from edna.audiences import store
from edna.audiences.models import AudienceUpdate, HeldCopy, HoldPart, HoldRequest, SharedSecret
from edna.testing import Person
from tests.audiences.test_holds import Chairs, WithChairs, declared, review_of, somebody
from tests.waiting import WAIT_SECONDS, at_once, until_waiting

# SQLite has one lock for all, and cannot tell who waits for it.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.only_on("mysql", "postgresql")]

__all__ = ["declared"]


@pytest.fixture
def chairs() -> Iterator[Chairs]:
    yield Chairs("ada", "bob", "cyd")
    connections.close_all()


@contextmanager
def stopping_after(begin: str, table: type[Any], then: Callable[[], object]) -> Iterator[None]:
    """Where this thread has first written to the table, ``then`` comes before it goes on."""
    done: list[str] = []

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if sql.startswith(begin) and table._meta.db_table in sql and not done:
            done.append(sql)
            then()
        return result

    with connection.execute_wrapper(watch):
        yield


def beside(first: Callable[[], Any], second: Callable[[], Any], *, after: str, table: type[Any]) -> tuple[Any, Any]:
    """What comes of both, where the second one begins once the first has written to the table, and waits for it."""
    begun = threading.Event()

    def met() -> None:
        begun.set()
        until_waiting()

    def one() -> Any:
        with stopping_after(after, table, met):
            return first()

    def other() -> Any:
        assert begun.wait(WAIT_SECONDS)
        return second()

    results = at_once(one, other)
    return results[0], results[1]


def held_by_somebody() -> Person:
    person = somebody("rae@example.org")
    review_of(person)
    return person


def test_who_is_taken_out_gets_no_share_from_those_who_hand_theirs_on_meanwhile(chairs: Chairs) -> None:
    """Whoever would have completed it waits, sees who is there now, and has to be followed by another one."""
    assert not audiences.hand_on("chairs", chairs["ada"])
    gone, completed = beside(
        lambda: chairs.leave("ada", "cyd"),
        lambda: audiences.hand_on("chairs", chairs["bob"]),
        after="INSERT",
        table=AudienceUpdate,
    )
    assert (gone, completed) == (None, False)
    assert store.sharing("chairs", 2, using="default").epoch == 0
    assert audiences.hand_on("chairs", chairs["ada"])
    assert len(store.sharing("chairs", 2, using="default").members) == 2


def test_of_two_who_hand_on_at_once_the_second_completes_it(chairs: Chairs) -> None:
    results = beside(
        lambda: audiences.hand_on("chairs", chairs["ada"]),
        lambda: audiences.hand_on("chairs", chairs["bob"]),
        after="INSERT",
        table=SharedSecret,
    )
    assert results == (False, True)


def test_nothing_is_held_for_an_audience_that_is_deleted_meanwhile(chairs: Chairs) -> None:
    person = held_by_somebody()
    receipt, deleted = beside(
        lambda: edna.disguise(WithChairs.name, person.user),
        lambda: audiences.delete("chairs"),
        after="INSERT",
        table=HeldCopy,
    )
    assert isinstance(receipt, edna.Receipt)
    assert isinstance(deleted, errors.AudienceInUse)


def renewed(person: Person) -> object:
    with person.unlock() as unlocked:
        return edna.rotate(unlocked).secret_key


def test_what_is_sealed_again_is_held_still_or_not_at_all(chairs: Chairs) -> None:
    """A copy of an audience that is deleted meanwhile would lie there for nobody."""
    person = held_by_somebody()
    edna.disguise(WithChairs.name, person.user)
    key, deleted = beside(
        lambda: renewed(person),
        lambda: audiences.delete("chairs"),
        after="INSERT",
        table=HeldCopy,
    )
    assert isinstance(deleted, errors.AudienceInUse)
    person.secret_key = key
    held, key = beside(
        lambda: audiences.delete("chairs", lose_held=True),
        lambda: renewed(person),
        after="DELETE",
        table=AudienceUpdate,
    )
    assert held > 0
    assert not isinstance(key, Exception), key
    assert not HeldCopy.objects.exists()


def test_nobody_is_told_of_a_hold_while_the_audience_is_being_deleted(chairs: Chairs) -> None:
    person = held_by_somebody()
    deleted, refused = beside(
        lambda: audiences.delete("chairs"),
        lambda: edna.disguise(WithChairs.name, person.user),
        after="DELETE",
        table=AudienceUpdate,
    )
    assert deleted == 0
    assert isinstance(refused, errors.AudienceUnknown)
    assert not HeldCopy.objects.exists()


@pytest.mark.parametrize(
    "act",
    [
        lambda chairs, person: audiences.hand_on("chairs", chairs["bob"]),
        lambda chairs, person: chairs.leave("ada", "cyd"),
        lambda chairs, person: audiences.create("chairs", chairs["ada"], {}, together=3),
        lambda chairs, person: audiences.ask("chairs", chairs["ada"], person.user, reason="case 12"),
        lambda chairs, person: audiences.agree(audiences.requests("chairs")[0].id, chairs["bob"]),
    ],
    ids=["hand on", "leave", "share more", "ask", "agree"],
)
def test_of_one_that_is_deleted_meanwhile_nothing_is_left(
    chairs: Chairs, act: Callable[[Chairs, Person], object]
) -> None:
    """Shares without members would be sealed to; an update without those before it would keep the name for ever."""
    person = held_by_somebody()
    edna.disguise(WithChairs.name, person.user)
    assert not audiences.hand_on("chairs", chairs["ada"])
    audiences.ask("chairs", chairs["ada"], person.user, reason="case 11")
    _, refused = beside(
        lambda: audiences.delete("chairs", lose_held=True),
        lambda: act(chairs, person),
        after="DELETE",
        table=AudienceUpdate,
    )
    assert isinstance(refused, errors.EdnaError)
    assert not any(model.objects.exists() for model in (AudienceUpdate, SharedSecret, HeldCopy, HoldRequest, HoldPart))


class Rival:
    """Somebody with another connection who locks the shares first, and the audience then: the other way round."""

    def __init__(self) -> None:
        self.holds, self.go, self.gone = threading.Event(), threading.Event(), threading.Event()
        self.refused: list[BaseException | None] = []

    def run(self) -> None:
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL deadlock_timeout = '60s'")  # so that it is the other who finds out
            # MariaDB ends whoever has changed less.
            Lecture.objects.bulk_create(Lecture(label=str(number)) for number in range(100))
            list(SharedSecret.objects.select_for_update())
            self.holds.set()
            assert self.go.wait(WAIT_SECONDS)
            list(AudienceUpdate.objects.select_for_update().filter(sequence=0))
            transaction.set_rollback(True)
        self.gone.set()

    def watch(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        """Of whoever locks the audience: then the two hold what the other one wants."""
        # The next try lets the rival go first: PostgreSQL gives the audience to whoever comes before those who waited wake up.
        assert not self.refused or self.gone.wait(WAIT_SECONDS)
        try:
            result = execute(sql, params, many, context)
        except OperationalError as error:
            self.refused.append(error.__cause__)
            raise
        if AudienceUpdate._meta.db_table in sql and sql.endswith("FOR UPDATE") and not self.go.is_set():
            self.go.set()
            until_waiting()
        return result


@pytest.mark.parametrize(
    ("act", "updates", "epochs"),
    [
        (lambda chairs: chairs.leave("ada", "cyd"), 2, [0, 1]),
        (lambda chairs: audiences.hand_on("chairs", chairs["bob"]), 1, [1]),
        (lambda chairs: audiences.delete("chairs"), 0, []),
    ],
    ids=["leave", "hand on", "delete"],
)
def test_whom_the_database_ends_because_two_waited_for_each_other_does_it_again(
    chairs: Chairs, act: Callable[[Chairs], object], updates: int, epochs: list[int]
) -> None:
    """All of it is there then, and once."""
    audiences.hand_on("chairs", chairs["ada"])
    rival = Rival()

    def one() -> object:
        assert rival.holds.wait(WAIT_SECONDS)
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET deadlock_timeout = '10ms'")
        with connection.execute_wrapper(rival.watch):
            return act(chairs)

    done, other = at_once(one, rival.run)
    assert not isinstance(done, Exception), done
    assert other is None
    (cause,) = rival.refused
    assert getattr(cause, "sqlstate", None) == "40P01" or getattr(cause, "args", (None,))[0] == 1213
    assert AudienceUpdate.objects.count() == updates
    assert sorted(SharedSecret.objects.values_list("epoch", flat=True)) == epochs


@pytest.mark.parametrize(
    "act",
    [
        lambda chairs, mia, number: edna.disguise(RemoveAccountHeld.name, mia),
        lambda chairs, mia, number: audiences.ask("chairs", chairs["bob"], mia, reason="case 13"),
        lambda chairs, mia, number: audiences.agree(number, chairs["bob"]),
    ],
    ids=["disguise", "ask", "agree"],
)
def test_nobody_waits_for_a_disguise_but_who_changes_the_audience(
    chairs: Chairs, act: Callable[[Chairs, Any, int], object]
) -> None:
    """Neither of the two owns a row that the other one's disguise looks for: MariaDB reads all of a small table, and so waits for rows that
    are locked there, with an audience or without."""
    mia, rae = (somebody(f"{name}@example.org") for name in ("mia", "rae"))
    edna.disguise(WithChairs.name, mia.user)
    number = audiences.ask("chairs", chairs["ada"], mia.user, reason="case 12")
    sealed, finished = threading.Event(), threading.Event()

    def wait_for_the_other() -> None:
        sealed.set()
        assert finished.wait(WAIT_SECONDS)

    def one() -> edna.Receipt:
        with stopping_after("INSERT", HeldCopy, wait_for_the_other):
            return edna.disguise(RemoveAccountHeld.name, rae.user)

    def other() -> object:
        assert sealed.wait(WAIT_SECONDS)
        done = act(chairs, mia.user, number)
        finished.set()
        return done

    receipt, done = at_once(one, other)
    assert isinstance(receipt, edna.Receipt)
    assert not isinstance(done, Exception), done
