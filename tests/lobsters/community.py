"""The vocabulary of the tests over the discussion site: who is there, who owns what, and what a round of a disguise gave to whom.

``state()`` is every row of every table of the applications, byte for byte; it fails if a foreign key dangles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

import edna
from edna.testing import Person, application_dump
from tests.lobsters.models import Comment, Draft, Message, Moderation, Story, Tag, Tagging, User, Vote
from tests.lobsters.specs import ANON
from tests.support import edna_dump

state = application_dump

#: Every column that says whose a row is.
OWNER_COLUMNS: tuple[tuple[type[Model], str], ...] = (
    (Story, "user"),
    (Comment, "user"),
    (Vote, "user"),
    (Moderation, "moderator"),
    (Moderation, "user"),
    (Message, "author"),
    (Message, "recipient"),
    (Draft, "user"),
)
TO_THE_NEXT = "Why did you edit my title?"
#: What the site's statistics count.
COUNTED = (Story, Comment, Vote)


def between(message: Message) -> list[tuple[Any, Any]]:
    """Author and recipient, if the message is there."""
    return list(Message.objects.filter(pk=message.pk).values_list("author", "recipient"))


@dataclass
class Member(Person):
    """Somebody with an account of the site, and a key."""

    user: User

    @property
    def pk(self) -> int:
        return self.user.pk

    def owns(self, model: type[Model], name: str = "user") -> list[Any]:
        """Primary keys of the rows that say so, for everybody to see."""
        return list(model.objects.filter(**{name: self.pk}).order_by("pk").values_list("pk", flat=True))

    def counts(self) -> dict[str, int]:
        return {model.__name__: len(self.owns(model)) for model in COUNTED}

    def stands_behind(self) -> set[int]:
        """The pseudoprincipals that this member speaks for and that have a row."""
        with self.unlock() as unlocked:
            return set(edna.speaks_for(unlocked, User))

    def voice(self, obj: Model) -> User:
        """Whose row it is, of this member's pseudoprincipals."""
        with self.unlock() as unlocked:
            speaker = edna.speak_as(unlocked, obj)
            assert isinstance(speaker, User)
            return speaker

    def applies(self, name: str, *, with_key: bool = False, **params: Any) -> Round:
        return _round([self], lambda: self.disguise(name, with_key=with_key, **params))

    def takes_back(self, *rounds: Round) -> Counter[str]:
        """Reveal what the rounds did for this member, each receipt once, without anybody in the way; what still waits for another."""
        deferred: Counter[str] = Counter()
        for receipt in (receipt for each in rounds for receipt in each[self.pk]):
            outcome = self.reveal(receipt)
            assert outcome.held == []
            deferred += Counter(outcome.deferred)
        return deferred

    def tries_to_take_back(self, *rounds: Round) -> list[edna.Held]:
        """The same where others are away, too, and what is theirs may be in the way: what is held."""
        return [held for each in rounds for receipt in each[self.pk] for held in self.reveal(receipt).held]


#: What one application of a disguise gave to each member: the receipts, those of their pseudoprincipals included.
Round = dict[int, list[edna.Receipt]]


def _round(members: Sequence[Member], work: Callable[[], Any]) -> Round:
    known = {entry.receipt for member in members for entry in member.history()}
    work()
    return {
        member.pk: [entry.receipt for entry in member.history() if entry.receipt not in known] for member in members
    }


class Community:
    """Three members in a ring. Each has written stories; the next has commented on them, voted for and moderated them, and got a
    message about it.
    """

    def __init__(self, *, stories: int = 3) -> None:
        names = ("ann", "bob", "cat")
        users = [
            User.objects.create(username=name, email=f"{name}@example.org", about=f"I am {name}", karma=number)
            for number, name in enumerate(names, start=1)
        ]
        registrations = edna.register_principals(users)
        self.members = [
            Member(user, made.secret_key)
            for user, made in zip(users, registrations, strict=True)
            if made.secret_key is not None
        ]
        self.ann, self.bob, self.cat = self.members
        self.ai, self.privacy = (Tag.objects.create(name=name) for name in ("ai", "privacy"))
        for member, following in self._pairs():
            self._write_for(member.user, following.user, stories=stories)
        self.before, self.tables = state(), edna_dump()

    def _pairs(self) -> Iterator[tuple[Member, Member]]:
        return zip(self.members, [*self.members[1:], self.members[0]], strict=True)

    def _write_for(self, user: User, other: User, *, stories: int) -> None:
        kinds = (("a", [self.ai]), ("a", [self.ai, self.privacy]), ("b", []))
        for number, (url, tags) in enumerate(kinds[:stories]):
            story = Story.objects.create(user=user, url=f"https://{url}.example", title=f"{user.username} {number}")
            for tag in tags:
                Tagging.objects.create(story=story, tag=tag)
            comment = Comment.objects.create(user=other, story=story, text="First!")
            reply = Comment.objects.create(user=user, story=story, parent=comment, text="Thanks")
            Comment.objects.create(user=other, story=story, parent=reply, text="You are welcome")
            Vote.objects.create(user=other, story=story)
            Vote.objects.create(user=user, story=story)
            Moderation.objects.create(moderator=other, user=user, story=story, action=f"edited title {number}")
        Moderation.objects.create(moderator=user, user=user, action="moderated themselves")
        Message.objects.create(author=user, recipient=other, body=TO_THE_NEXT)
        Message.objects.create(author=user, recipient=user, body="A note to myself")

    def everybody(self, name: str = ANON, **params: Any) -> Round:
        """The staff disguise everybody at once."""
        return _round(self.members, lambda: edna.disguise_all(name, params=params))

    def all_take_back(self, *rounds: Round) -> None:
        for member in self.members:
            member.takes_back(*rounds)

    def all_take_back_the_rest(self) -> None:
        """One member after the other, the newest first, without anybody in the way."""
        for member in self.members:
            for entry in member.history():
                outcome = member.reveal(entry.receipt)
                assert outcome.held == [], (member.user.username, entry.name)

    # Who owns what

    def owners(self, columns: Iterable[tuple[type[Model], str]] = OWNER_COLUMNS) -> list[int]:
        """Who stands in the owner columns of every row, as often as they do."""
        return [
            owner
            for model, name in columns
            for owner in model.objects.filter(**{f"{name}__isnull": False}).values_list(name, flat=True)
        ]

    def pseudoprincipals(self) -> set[int]:
        return set(User.objects.exclude(pk__in=[member.pk for member in self.members]).values_list("pk", flat=True))

    def is_pseudonymous(self, *owners: int) -> bool:
        return set(owners) <= self.pseudoprincipals()

    def is_as_before(self) -> bool:
        """Every row of the application is what it was, and nothing is left in edna's tables."""
        assert state() == self.before
        assert edna_dump() == self.tables
        return True
