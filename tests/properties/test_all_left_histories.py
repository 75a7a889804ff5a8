"""Every short history of what goes when all have left: the text stays as long as anybody is there, is back with whoever comes back first,
and in the end all is as if nothing had been, in whichever order people come back.

Two people own a letter; each of them, or all, leave, are masked, or are hushed. What others do in between says `test_every_history.py`.
`EDNA_ACTS` chooses how many acts: 2 in `make test`, 3 at most.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

import edna
from edna import Decorrelate, Disguise, Modify, Remove
from edna.errors import ReceiptUnknown
from edna.models import Bag, PrincipalEntry
from edna.testing import Person, cheap_keys
from tests.installed import registering
from tests.zoo.models.hamlet import MODELS, Diary, Hearth, Letter, Villager
from tests.zoo.specs.hamlet import AnonymousVillager
from tests.zoo.tables import zoo_tables  # noqa: F401 - a fixture

pytestmark = [pytest.mark.django_db, pytest.mark.once]

ACTS = min(int(os.environ.get("EDNA_ACTS") or 2), 3)
OWNERS = ["sender", "recipient"]


class LeaveLetters(Disguise):
    """The text of a letter goes with the last of both."""

    name = "zoo.hamlet-leave-letters"
    applies_to = "staff"
    transformations = [
        Remove(Villager),
        Remove(Diary, owner="villager"),
        Remove(Hearth, owner="villager"),
        Modify(Letter, owner=OWNERS, set={"text": "[left]"}, when=edna.ALL_LEFT),
        Decorrelate(Letter, owner=OWNERS),
    ]


class MaskLetters(Disguise):
    name = "zoo.hamlet-mask-letters"
    applies_to = "staff"
    transformations = [Decorrelate(Letter, owner=OWNERS)]


class HushLetters(Disguise):
    name = "zoo.hamlet-hush-letters"
    applies_to = "staff"
    transformations = [Modify(Letter, owner=OWNERS, set={"text": "[hushed]"})]


#: Whom a disguise is for: the first, the second, or everybody.
EVERYBODY = 2
CHOICES = list(itertools.product((LeaveLetters, MaskLetters, HushLetters), (0, 1, EVERYBODY)))


@contextlib.contextmanager
def going_back() -> Iterator[None]:
    savepoint = connection.savepoint()
    try:
        yield
    finally:
        connection.savepoint_rollback(savepoint)
        connection.run_on_commit.clear()


class Seen:
    """What the letter says, and whom it names of the two: all that there is to know as long as nobody comes back."""

    def __init__(self) -> None:
        self.text, self.named = "needle", {0, 1}

    def after(self, cls: type[Disguise], whom: int) -> Seen:
        seen = Seen()
        seen.text, targets = self.text, {0, 1} if whom == EVERYBODY else {whom}
        mine = targets & self.named
        seen.named = self.named if cls is HushLetters else self.named - mine
        # One of everybody is for what pseudoprincipals have, too.
        if mine or whom == EVERYBODY:
            if cls is HushLetters:
                seen.text = "[hushed]"
            elif cls is LeaveLetters and not seen.named:
                seen.text = "[left]"
        return seen


def text() -> str:
    return QuerySet(Letter).get().text


def tables() -> Any:
    return {model.__name__: sorted(QuerySet(model).values_list(), key=repr) for model in MODELS}


def comes_back(person: Person) -> bool:
    """Reveals all that the person has; whether anything came of it."""
    progress = False
    for entry in person.history():
        with contextlib.suppress(ReceiptUnknown):  # it was of a pseudoprincipal whom a reveal before has let go of
            outcome = person.reveal(entry.receipt)
            progress |= bool(outcome.restored or outcome.deferred or outcome.complete)
    return progress


@pytest.mark.usefixtures("zoo_tables")
def test_everybody_comes_back_from_every_history(record_property: Callable[[str, object], None]) -> None:
    """The letter says what it should after each act, and when one of both is back. When both are, every row is as it was, and no bag,
    item of a list or pseudoprincipal is left."""
    with registering(AnonymousVillager, LeaveLetters, MaskLetters, HushLetters), cheap_keys():
        people = []
        for number in (1001, 1002):
            QuerySet(Villager).bulk_create([Villager(id=number, name=f"villager {number}")])
            people.append(Person.registered(QuerySet(Villager).get(pk=number)))
        QuerySet(Letter).bulk_create([Letter(id=1, sender_id=1001, recipient_id=1002, text="needle", readers=[])])
        before, entries = tables(), PrincipalEntry.objects.count()
        gone_through, differing = 0, []

        def walk(history: Sequence[str], seen: Seen) -> None:
            nonlocal gone_through
            for cls, whom in CHOICES if len(history) < ACTS else ():
                if whom != EVERYBODY and not QuerySet(Villager).filter(pk=people[whom].user.pk).exists():
                    continue
                story = (*history, f"{whom} {cls.__name__}")
                with going_back():
                    if whom == EVERYBODY:
                        edna.disguise_all(cls.name)
                    else:
                        people[whom].disguise(cls.name)
                    gone_through += 1
                    then = seen.after(cls, whom)
                    if text() != then.text:
                        differing.append(f"{'; '.join(story)}: {text()}")
                    for order in (people, people[::-1]):
                        with going_back():
                            while comes_back(order[0]):
                                pass
                            if not any("Hush" in each for each in story) and text() != "needle":
                                differing.append("; ".join((*story, f"{order[0].user} is back")))
                            while sum(map(comes_back, order)):
                                pass
                            lists = b"".join(map(bytes, PrincipalEntry.objects.values_list("locators", flat=True)))
                            left = Bag.objects.exists() or lists or PrincipalEntry.objects.count() != entries
                            if tables() != before or left:
                                differing.append("; ".join(story))
                    walk(story, then)

        walk((), Seen())
        record_property("histories of what goes when all have left were gone through", gone_through)
        assert gone_through >= 78
        assert differing == []
