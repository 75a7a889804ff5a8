"""A discussion site of any size, on which few write much and most write little, and what is known of its members.

Names, addresses and primary keys have a beginning of their own, so that one search finds any of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from django.db.models import ForeignKey, Model

import edna
from apps.lobsters_sim.models import (
    Comment,
    Hat,
    HatRequest,
    HiddenStory,
    Invitation,
    Message,
    Moderation,
    ModNote,
    ReadRibbon,
    SavedStory,
    Story,
    SuggestedTitle,
    Tag,
    TagFilter,
    User,
    Vote,
)
from edna.testing import Person

NAME = "quillfeather"
FIRST_KEY = 7_340_000_000_001
KEY_STEP = 7
#: Nothing else begins like this: not the time in microseconds either.
KEY_PREFIX = "7340000"
MODERATORS = 4
AT_ONCE = 2_000

#: Columns that say whose a row is and that get another owner each, when everybody decays.
DECORRELATED: tuple[tuple[type[Model], str], ...] = (
    (Comment, "user"),
    (Story, "user"),
    (Vote, "user"),
    (Moderation, "moderator_user"),
    (Moderation, "user"),
    (ModNote, "moderator_user"),
    (ModNote, "user"),
    (Message, "author_user"),
    (Message, "recipient_user"),
)
#: Rows that go with their owner.
REMOVED: tuple[type[Model], ...] = (
    *(Hat, HatRequest, HiddenStory, Invitation, ReadRibbon, SavedStory, SuggestedTitle, TagFilter, User),
)


def settle(number: int, *, seed: int = 1) -> list[Person]:
    """So many members with keys, and some five rows for each: a few hundred for the heaviest, none for many."""
    source = random.Random(f"members {seed}")
    users = User.objects.bulk_create(
        (_user(place) for place in range(number)),
        batch_size=AT_ONCE,
    )
    registrations = [
        made for first in range(0, number, AT_ONCE) for made in edna.register_principals(users[first : first + AT_ONCE])
    ]
    tags = Tag.objects.bulk_create(Tag(tag=f"tag{place}") for place in range(10))
    Writing(source, users, tags).write()
    people = [Person(user, made.secret_key) for user, made in zip(users, registrations, strict=True)]  # type: ignore[arg-type]
    source.shuffle(people)  # whoever writes much is anywhere
    return people


def _user(place: int) -> User:
    name = f"{NAME}{place}"
    return User(
        pk=FIRST_KEY + place * KEY_STEP, username=name, email=f"{name}@burrow.example", password="!", karma=place % 97
    )


class Writing:
    """All rows but the members' own."""

    def __init__(self, source: random.Random, users: list[User], tags: list[Tag]) -> None:
        self.source, self.users, self.tags = source, users, tags

    def somebody(self) -> User:
        return self.users[int(len(self.users) * self.source.random() ** 2)]

    def moderator(self) -> User:
        return self.users[self.source.randrange(MODERATORS) * 11 % len(self.users)]

    def make(self, model: type[Model], share: float, **columns: Any) -> list[Any]:
        """``share`` rows for each member. A column that is a function is asked for each row."""
        number = max(3, int(share * len(self.users)))

        def row() -> Model:
            return model(**{name: value() if callable(value) else value for name, value in columns.items()})

        return model._default_manager.bulk_create((row() for _ in range(number)), batch_size=AT_ONCE)

    def said(self, what: str) -> Any:
        return lambda: f"{self.somebody().username} {what}"

    def write(self) -> None:
        somebody, moderator = self.somebody, self.moderator
        stories = self.make(Story, 0.3, user=somebody, title=self.said("found something"), upvotes=1)

        def story() -> Story:
            return self.source.choice(stories)

        def several(model: type[Model], share: float, other: str, others: list[Any]) -> None:
            pairs = {(somebody(), self.source.choice(others)) for _ in range(int(share * len(self.users)))}
            ordered = sorted(pairs, key=lambda pair: (pair[0].pk, pair[1].pk))
            made = [model(user=user, **{other: thing}) for user, thing in ordered]
            model._default_manager.bulk_create(made, batch_size=AT_ONCE)

        hats = self.make(Hat, 0.02, user=somebody, granted_by_user=moderator, hat=self.said("is a potter"))
        comments = self.make(Comment, 1.2, user=somebody, story=story, comment=self.said("begs to differ."))
        for hat in hats[: len(hats) // 2]:
            worn = self.source.choice(comments)
            Comment.objects.filter(pk=worn.pk).update(user=hat.user, hat=hat)
        self.make(Vote, 2.0, user=somebody, story=story, vote=1)
        self.make(
            Message, 0.3, author_user=somebody, recipient_user=somebody, subject="Tea", body=self.said("likes it")
        )
        self.make(Moderation, 0.04, moderator_user=moderator, user=somebody, story=story, action=self.said("was told"))
        self.make(ModNote, 0.01, moderator_user=moderator, user=somebody, action=self.said("listens"))
        self.make(HatRequest, 0.01, user=somebody, hat="Potter", link="https://example.org/", comment=self.said("asks"))
        self.make(Invitation, 0.03, user=somebody, email="dora@example.org", code="let-dora-in", memo=self.said("asks"))
        self.make(SuggestedTitle, 0.02, user=somebody, story=story, title=self.said("knows better"))
        several(HiddenStory, 0.1, "story", stories)
        several(SavedStory, 0.15, "story", stories)
        several(ReadRibbon, 0.2, "story", stories)
        several(TagFilter, 0.1, "tag", self.tags)


def rows_by_owner() -> dict[int, dict[str, int]]:
    """For each member, how many rows of each model a disguise takes along, each of them once: what their history must count."""
    found: dict[int, dict[str, set[object]]] = {}

    def note(model: type[Model], owners: Iterable[tuple[object, int]]) -> None:
        for key, owner in owners:
            found.setdefault(owner, {}).setdefault(model._meta.label_lower, set()).add(key)

    columns = [*DECORRELATED, *((model, "user") for model in REMOVED if model is not User), (User, "id")]
    for model, name in [*columns, (Hat, "granted_by_user")]:
        note(model, model._base_manager.values_list("pk", _column(model, name)))
    note(Comment, Comment.objects.exclude(hat=None).values_list("pk", "hat__user"))  # they lose their hats
    return {owner: {label: len(keys) for label, keys in models.items()} for owner, models in found.items()}


def owner_cells() -> list[int]:
    """Who stands in each of the columns that get another owner, when everybody decays."""
    return [
        owner
        for model, name in DECORRELATED
        for owner in model._base_manager.values_list(_column(model, name), flat=True)
    ]


def _column(model: type[Model], name: str) -> str:
    return str(model._meta.get_field(name).attname) if isinstance(model._meta.get_field(name), ForeignKey) else name


def needles(people: Iterable[Person]) -> dict[str, str | bytes | int]:
    """What no log and no broker may hold: of everybody what their names and keys begin with, of these people all there is."""
    found: dict[str, str | bytes | int] = {"a name": NAME, "an address": "burrow.example", "a primary key": KEY_PREFIX}
    for person in people:
        key, at = person.secret_key, person.user.pk
        found |= {f"secret key of {at}": key.expose(), f"its text {at}": key.expose_text().partition(":")[2]}
        for number, entry in enumerate(person.history()):
            locator = entry.receipt.locator.expose()
            found |= {f"locator {number} of {at}": locator, f"receipt {number} of {at}": str(entry.receipt)}
            found[f"code of receipt {number} of {at}"] = str(entry.receipt).rpartition(":")[2]
    return found
