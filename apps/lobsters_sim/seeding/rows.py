"""Rows of all twenty tables, made of a population: generators of plain tuples, in the order in which the tables can be filled.

Each table's texts and times come from a random source of their own, so that they do not depend on how other tables are made. Primary
keys count from 1; stories' and comments' in the order of time. Long, because there are twenty tables, a few lines for each.
"""

from __future__ import annotations

import datetime
import random
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

from django.db.models import Model

from .. import scores
from ..models import (
    Comment,
    Hat,
    HatRequest,
    HiddenStory,
    Invitation,
    InvitationRequest,
    Keystore,
    Message,
    Moderation,
    ModNote,
    ReadRibbon,
    SavedStory,
    Story,
    SuggestedTagging,
    SuggestedTitle,
    Tag,
    TagFilter,
    Tagging,
    User,
    Vote,
)
from . import words
from .population import NOBODY, Population

BEA, MOD = "bea", "mod"
Row = tuple[Any, ...]

#: Rows on a site of scale 1 of the tables that no published statistics describe.
SIZES: dict[type[Model], int] = {
    Hat: 150,
    HatRequest: 30,
    HiddenStory: 4_000,
    SavedStory: 10_000,
    ReadRibbon: 30_000,
    TagFilter: 4_000,
    Invitation: 500,
    InvitationRequest: 60,
    Moderation: 3_000,
    ModNote: 400,
    SuggestedTagging: 1_500,
    SuggestedTitle: 1_500,
}
#: Bea has so many of each.
OF_BEA = 3
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_SHORT = 36**6

confidence = lru_cache(maxsize=10_000)(scores.confidence)


@dataclass(frozen=True)
class Table:
    """What to insert; ``size`` is about how many rows."""

    model: type[Model]
    names: tuple[str, ...]
    rows: Iterable[Row]
    size: int


class Site:
    """A population at a certain scale, whose last day is ``until``; everybody has the same ``password``, which is a hash."""

    def __init__(
        self, population: Population, *, scale: float, seed: int, until: datetime.datetime, password: str
    ) -> None:
        self.people, self.scale, self.seed, self.password = population, scale, seed, password
        self.opened = until - datetime.timedelta(seconds=population.seconds)
        source = self.source("usernames")
        named = {population.bea: BEA, population.mod: MOD}
        self.usernames = [named.get(user) or words.username(user, source) for user in range(population.users)]
        self.moderators = self._choose_moderators()
        self.hats = self._own(Hat)
        self.tag_ids = {tag: number for number, (tag, *_) in enumerate(words.TAGS, start=1)}

    def source(self, name: str) -> random.Random:
        return random.Random(f"lobsters {self.seed} {name}")

    def at(self, seconds: int) -> datetime.datetime:
        return self.opened + datetime.timedelta(seconds=seconds)

    def tables(self) -> list[Table]:
        people = self.people
        users, stories, comments = people.users, len(people.story_authors), len(people.comment_authors)
        votes = sum(people.story_votes) + sum(people.comment_votes)
        dated, moderated = (
            ("created_at", "updated_at"),
            ("moderator_user", "story", "comment", "user", "action", "reason"),
        )
        return [
            Table(User, _USER, self.user_rows(), users),
            Table(Tag, ("id", "tag", "description", "privileged", "is_media", "hotness_mod"), self.tag_rows(), 50),
            Table(Keystore, ("key", "value"), self.keystore_rows(), 3),
            Table(Story, _STORY, self.story_rows(), stories),
            Table(Tagging, ("id", "story", "tag"), self.tagging_rows(), 2 * stories),
            Table(Hat, ("id", *dated, "user", "granted_by_user", "hat", "link"), self.hat_rows(), len(self.hats)),
            self._table(HatRequest, (*dated, "user", "hat", "link", "comment"), self.hat_request_rows),
            Table(Comment, _COMMENT, self.comment_rows(), comments),
            Table(Vote, ("id", "user", "story", "comment", "vote", "reason"), self.vote_rows(), votes),
            Table(Message, _MESSAGE, self.message_rows(), comments // 2),
            self._table(Moderation, (*dated, *moderated, "is_from_suggestions"), self.moderation_rows),
            self._table(ModNote, (*dated, *moderated, "is_from_suggestions"), self.mod_note_rows),
            self._table(HiddenStory, ("user", "story"), self.hidden_story_rows),
            self._table(SavedStory, (*dated, "user", "story"), self.saved_story_rows),
            self._table(ReadRibbon, (*dated, "user", "story", "is_following"), self.read_ribbon_rows),
            self._table(TagFilter, (*dated, "user", "tag"), self.tag_filter_rows),
            self._table(Invitation, (*dated, "user", "email", "code", "memo"), self.invitation_rows),
            self._table(
                InvitationRequest,
                (*dated, "code", "is_verified", "email", "name", "memo", "ip_address"),
                self.invitation_request_rows,
            ),
            self._table(SuggestedTagging, ("story", "tag", "user"), self.suggested_tagging_rows),
            self._table(SuggestedTitle, ("story", "user", "title"), self.suggested_title_rows),
        ]

    def _table(self, model: type[Model], names: tuple[str, ...], rows: Any) -> Table:
        """One of the tables that are filled with a row for each of some drawn users."""
        numbered = (
            (number, *row) for number, row in enumerate(rows(self._own(model), self.source(str(model))), start=1)
        )
        return Table(model, ("id", *names), numbered, self._size(model))

    def _size(self, model: type[Model]) -> int:
        return max(OF_BEA + 2, int(SIZES[model] * self.scale))

    def _own(self, model: type[Model]) -> array[int]:
        """Whose the rows of a table are: Bea's first."""
        size = self._size(model)
        return array("I", [self.people.bea] * OF_BEA + self.people.writers.draw(size - OF_BEA))

    def _choose_moderators(self) -> list[int]:
        source = self.source("moderators")
        number = min(max(1, int(4 * self.scale)), max(1, self.people.users - 2))
        others = source.sample([user for user in range(self.people.users) if user != self.people.bea], number)
        return sorted({self.people.mod, *others})

    # Users and what the whole site shares

    def user_rows(self) -> Iterator[Row]:
        source, people = self.source("users"), self.people
        first, last = array("I", [NOBODY]) * people.users, array("I", [0]) * people.users
        karma = array("i", [0]) * people.users
        for authors, times, votes, downs in (
            (people.story_authors, people.story_times, people.story_votes, people.story_downs),
            (people.comment_authors, people.comment_times, people.comment_votes, people.comment_downs),
        ):
            for author, time, cast, against in zip(authors, times, votes, downs, strict=True):
                first[author] = min(first[author], time)
                last[author] = max(last[author], time)
                karma[author] += cast - 1 - 2 * against
        moderators = set(self.moderators)
        for user in range(people.users):
            if first[user] == NOBODY:
                first[user] = last[user] = int(source.random() * people.seconds)
            joined = first[user] - int(source.random() * 300 * 86_400)
            seen = min(last[user] + int(source.expovariate(1 / (20 * 86_400))), people.seconds)
            if user in (people.bea, people.mod):
                seen = people.seconds - 3600
            name = self.usernames[user]
            tokens = (None, f"{source.getrandbits(240):060x}", f"{source.getrandbits(240):060x}")
            email = f"{name}@example.org"
            yield (
                *(user + 1, name, karma[user], self.at(seen), self.password, *tokens, email),
                *(self.at(joined), user in moderators),
            )

    def tag_rows(self) -> Iterator[Row]:
        for number, (tag, description, modifier, privileged) in enumerate(words.TAGS, start=1):
            yield number, tag, description, privileged, tag in words.MEDIA, modifier

    def keystore_rows(self) -> Iterator[Row]:
        yield from (
            ("traffic:date", int(self.at(self.people.seconds).timestamp())),
            ("traffic:hits", 1),
            ("traffic:intensity", 50),
        )

    # Stories

    def _tags(self) -> Iterator[list[str]]:
        """The tags of each story."""
        source = self.source("tags")
        ordinary = [tag for tag, *_, privileged in words.TAGS if tag != words.TOPIC and not privileged]
        for on_topic in self.people.on_topic:
            chosen = source.sample(ordinary, 1 + int(source.random() * 2.5))
            yield [words.TOPIC, *chosen[1:]] if on_topic else chosen

    def story_rows(self) -> Iterator[Row]:
        people, source = self.people, self.source("stories")
        points = array("i", [0]) * len(people.story_authors)
        for story, cast, against in zip(
            people.comment_stories, people.comment_votes, people.comment_downs, strict=True
        ):
            points[story] += cast - 2 * against
        modifiers = {tag: modifier for tag, _, modifier, _ in words.TAGS}
        short = _short_ids(source)
        for story, (author, tags) in enumerate(zip(people.story_authors, self._tags(), strict=True)):
            created_at = self.at(people.story_times[story])
            ups, downs = people.story_votes[story] - people.story_downs[story], people.story_downs[story]
            by_author, asks = source.random() < 0.08, "ask" in tags
            title = words.title(source, question=asks)
            host = f"{words.workplace(author).lower()}.example.org" if by_author else source.choice(words.SITES)
            slug = "-".join("".join(letter if letter.isalnum() else " " for letter in title.lower()).split())
            url = "" if asks else f"https://{host}/{created_at.year}/{slug}-{story + 1}"
            texts = words.paragraphs(author, source) if asks or source.random() < 0.1 else []
            text = "\n\n".join(texts)
            hotness = scores.hotness(
                created_at,
                upvotes=ups,
                downvotes=downs,
                comment_points=points[story],
                tag_modifiers=[modifiers[tag] for tag in tags],
                by_author=by_author,
            )
            merged = story - int(source.random() * 50) if story > 50 and source.random() < 0.002 else None
            twitter = str(source.randrange(10**17, 10**18)) if source.random() < 0.05 else None
            yield (
                *(story + 1, created_at, author + 1, url, title, text, next(short), ups, downs, hotness),
                *(words.rendered(texts), text, people.story_comments[story], merged, twitter, by_author),
            )

    def tagging_rows(self) -> Iterator[Row]:
        numbers = count(1)
        for story, tags in enumerate(self._tags(), start=1):
            for tag in tags:
                yield next(numbers), story, self.tag_ids[tag]

    # Comments, votes, messages

    def comment_rows(self) -> Iterator[Row]:
        people, source = self.people, self.source("comments")
        threads = array("I", [0]) * len(people.comment_authors)
        hats = {user: number for number, user in enumerate(self.hats, start=1)}
        short = _short_ids(source)
        for comment, (story, author) in enumerate(zip(people.comment_stories, people.comment_authors, strict=True)):
            created_at, parent = self.at(people.comment_times[comment]), people.comment_parents[comment]
            threads[comment] = comment + 1 if parent == NOBODY else threads[parent]
            downs = people.comment_downs[comment]
            ups = people.comment_votes[comment] - downs
            texts = words.paragraphs(author, source)
            hat = hats[author] if author in hats and source.random() < 0.1 else None
            yield (
                *(comment + 1, created_at, created_at, next(short), story + 1, author + 1),
                *(None if parent == NOBODY else parent + 1, threads[comment], "\n\n".join(texts), ups, downs),
                *(confidence(ups, downs), words.rendered(texts), hat),
            )

    def vote_rows(self) -> Iterator[Row]:
        source = self.source("votes")
        for number, (user, story, comment, vote) in enumerate(self.people.votes(), start=1):
            reason = "" if vote > 0 else source.choice("OMTISU")
            yield number, user + 1, story + 1, None if comment == NOBODY else comment + 1, vote, reason

    def message_rows(self) -> Iterator[Row]:
        """Whoever answers a comment also writes to the author of the story."""
        people, source, numbers = self.people, self.source("messages"), count(1)
        short = _short_ids(source)
        for comment, (story, author) in enumerate(zip(people.comment_stories, people.comment_authors, strict=True)):
            recipient = people.story_authors[story]
            if people.comment_parents[comment] == NOBODY or author == recipient:
                continue
            subject = source.choice(words.SUBJECTS)
            body = source.choice(words.BODIES).format(subject)
            when = self.at(people.comment_times[comment])
            flags = (source.random() < 0.9, source.random() < 0.05, source.random() < 0.03)
            yield next(numbers), when, author + 1, recipient + 1, f"About {subject}", body, next(short), *flags

    # What belongs to one member

    def _moment(self, source: random.Random) -> datetime.datetime:
        return self.at(int(source.random() * self.people.seconds))

    def _stories(self, owners: Iterable[int], source: random.Random) -> Iterator[tuple[int, int]]:
        """A story for each user, no pair twice."""
        stories = len(self.people.story_authors)
        seen = set()
        for user in owners:
            story = int(source.random() * stories)
            if user * stories + story not in seen:
                seen.add(user * stories + story)
                yield user, story

    def hat_rows(self) -> Iterator[Row]:
        source = self.source("hats")
        for number, user in enumerate(self.hats, start=1):
            when, by = self._moment(source), source.choice(self.moderators)
            link = f"https://{words.workplace(user).lower()}.example.org/about"
            yield number, when, when, user + 1, by + 1, source.choice(words.HATS), link

    def hat_request_rows(self, owners: Iterable[int], source: random.Random) -> Iterator[Row]:
        for user in owners:
            when, place = self._moment(source), words.workplace(user)
            comment = f"My address at {place} is on the linked page."
            yield when, when, user + 1, source.choice(words.HATS), f"https://{place.lower()}.example.org/team", comment

    def hidden_story_rows(self, owners: Iterable[int], source: random.Random) -> Iterator[Row]:
        for user, story in self._stories(owners, source):
            yield user + 1, story + 1

    def saved_story_rows(self, owners: Iterable[int], source: random.Random) -> Iterator[Row]:
        for user, story in self._stories(owners, source):
            when = self._moment(source)
            yield when, when, user + 1, story + 1

    def read_ribbon_rows(self, owners: Iterable[int], source: random.Random) -> Iterator[Row]:
        for user, story in self._stories(owners, source):
            when = self._moment(source)
            yield when, when, user + 1, story + 1, source.random() < 0.9

    def tag_filter_rows(self, owners: Iterable[int], source: random.Random) -> Iterator[Row]:
        seen = set()
        for user in owners:
            tag = 1 + int(source.random() * len(words.TAGS))
            if (user, tag) not in seen:
                seen.add((user, tag))
                when = self._moment(source)
                yield when, when, user + 1, tag

    def invitation_rows(self, owners: Iterable[int], source: random.Random) -> Iterator[Row]:
        for number, user in enumerate(owners):
            when, guest = self._moment(source), words.username(number, source)
            memo = f"We worked together at {words.workplace(user)}."
            yield when, when, user + 1, f"{guest}@guests.example.org", f"{source.getrandbits(75):015x}", memo

    def invitation_request_rows(self, owners: Iterable[int], source: random.Random) -> Iterator[Row]:
        for number, _ in enumerate(owners):
            when, guest = self._moment(source), words.username(number, source)
            address = f"192.0.2.{source.randrange(1, 255)}"
            code, memo = f"{source.getrandbits(75):015x}", "I write about databases on the linked page."
            yield when, when, code, source.random() < 0.7, f"{guest}@strangers.example.org", guest, memo, address

    def suggested_tagging_rows(self, owners: Iterable[int], source: random.Random) -> Iterator[Row]:
        for user, story in self._stories(owners, source):
            yield story + 1, 1 + int(source.random() * len(words.TAGS)), user + 1

    def suggested_title_rows(self, owners: Iterable[int], source: random.Random) -> Iterator[Row]:
        for user, story in self._stories(owners, source):
            yield story + 1, user + 1, words.title(source, question=False)

    # What is the moderators', too

    def moderation_rows(self, owners: Iterable[int], source: random.Random) -> Iterator[Row]:
        """The moderation log: titles and tags that were changed. A moderator can be moderated, and some changes the members suggest."""
        people = self.people
        of_bea = [story for story, author in enumerate(people.story_authors) if author == people.bea][:OF_BEA]
        for number, _ in enumerate(owners):
            story = of_bea[number] if number < len(of_bea) else int(source.random() * len(people.story_authors))
            when, author, suggested = self._moment(source), people.story_authors[story], source.random() < 0.2
            moderator = people.mod if number < OF_BEA else source.choice(self.moderators)
            action = source.choice(
                ("changed the title", f"added the tag {source.choice(words.TAGS)[0]}", "removed a tag")
            )
            by = None if suggested else moderator + 1
            yield when, when, by, story + 1, None, author + 1, action, source.choice(words.REASONS), suggested

    def mod_note_rows(self, owners: Iterable[int], source: random.Random) -> Iterator[Row]:
        for number, user in enumerate(owners):
            when = self._moment(source)
            moderator = self.people.mod if number < OF_BEA else source.choice(self.moderators)
            comment = source.randrange(len(self.people.comment_authors))
            where = (self.people.comment_stories[comment] + 1, comment + 1) if source.random() < 0.5 else (None, None)
            action = source.choice(("Talked about self-promotion", "Asked to be kinder", "Explained the tags"))
            yield when, when, moderator + 1, *where, user + 1, action, source.choice(words.REASONS), False


def _short_ids(source: random.Random) -> Iterator[str]:
    """Six characters each, none twice: a walk through all such numbers in steps that have no divisor in common with how many there are."""
    number, step = source.randrange(_SHORT), 2 * source.randrange(_SHORT // 3) + 1
    while step % 3 == 0:
        step += 2
    while True:
        number = (number + step) % _SHORT
        rest, digits = number, ""
        for _ in range(6):
            rest, digit = divmod(rest, 36)
            digits += _DIGITS[digit]
        yield digits


_USER = (
    *(
        "id",
        "username",
        "karma",
        "last_login",
        "password",
        "password_reset_token",
        "rss_token",
        "session_token",
        "email",
    ),
    *("created_at", "is_moderator"),
)
_STORY = (
    *("id", "created_at", "user", "url", "title", "description", "short_id", "upvotes", "downvotes", "hotness"),
    *("markeddown_description", "story_cache", "comments_count", "merged_story", "twitter_id", "user_is_author"),
)
_COMMENT = (
    *("id", "created_at", "updated_at", "short_id", "story", "user"),
    *("parent_comment", "thread_id", "comment", "upvotes", "downvotes"),
    *("confidence", "markeddown_comment", "hat"),
)
_MESSAGE = (
    *("id", "created_at", "author_user", "recipient_user", "subject", "body", "short_id"),
    *("has_been_read", "deleted_by_author", "deleted_by_recipient"),
)
