"""Fills Lobsters for a load: members, stories and comments by the published statistics, keys for all, and who leaves.

Everybody was here today but the dormant ones, who have been away for years and were told twice: the next run of the schedule puts
them away. Talks to the database through Django; knows no HTTP.
"""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from django.core.management import call_command
from django.db.models import Q
from django.utils import timezone

import edna
from apps.lobsters_sim.keys import DECAY, identifier
from apps.lobsters_sim.management.commands.lobsters_seed import DEMO_PASSWORD
from apps.lobsters_sim.models import Comment, Story, User, Vote
from apps.lobsters_sim.seeding import histograms, words
from benchmarks.kit.driver import Driver
from benchmarks.lobsters import manual
from benchmarks.people import owned
from edna.operations.schedules import rounds
from loadtest.people import SIZES, Account, People
from loadtest.popularity import MIX, Bins
from loadtest.registering import register_disguiser, register_ordinary

#: What the published topic is called.
TOPIC: Final = words.TOPIC
#: So many of all members are dormant, and at most so many.
DORMANT_PART, DORMANT_MOST = 0.05, 240
#: Columns that others or logging in may change while their rows are there, and why.
IGNORED: Final[Mapping[str, str]] = {
    "users.last_login": "disguisers log in",
    "users.karma": "others vote for what they wrote",
    **{
        f"{table}.{column}": "others vote and comment"
        for table, columns in {
            "stories": ("upvotes", "downvotes", "hotness", "comments_count"),
            "comments": ("upvotes", "downvotes", "confidence"),
        }.items()
        for column in columns
    },
}
#: Of all rows, disguisers' or not: what nobody changes. (Votes are counted instead: whoever votes anew replaces theirs.)
KEPT: Final[Mapping[str, Sequence[str]]] = {
    "users": ("id", "username", "email", "created_at", "deleted_at", "is_moderator"),
    "stories": ("id", "short_id", "user_id", "title", "url", "description", "markeddown_description", "created_at"),
    "comments": ("id", "short_id", "story_id", "user_id", "parent_comment_id", "comment", "created_at", "updated_at"),
    "messages": ("id", "author_user_id", "recipient_user_id", "body", "deleted_by_author", "deleted_by_recipient"),
}
#: Tables that normal requests neither add rows to nor take any from.
SAME_SIZE: Final = (
    *("users", "hats", "hat_requests", "hidden_stories", "invitations", "messages", "mod_notes", "moderations"),
    *("saved_stories", "suggested_taggings", "suggested_titles", "tag_filters"),
)
everything_of = manual.everything_of
_AWAY_DAYS: Final = 3 * 365
#: When the two warnings were sent: long enough ago that their days are over.
_WARNED_DAYS_AGO: Final = (40, 9)


def prepare(*, scale: float, source: random.Random, drawn: int) -> People:
    """Seed an empty database, give everybody a key, and choose who leaves: ``drawn`` members by lot, and some by their rows."""
    call_command("lobsters_seed", scale=scale, no_register=True, verbosity=0)
    with closing(Driver()) as driver:
        rows, in_topic = owned(driver, manual.OWNERS), _owned_in_topic(driver)
    members = list(User.objects.filter(deleted_at=None).order_by("pk").only("pk", "username"))
    choice = _Choice(members, {member.pk: rows.get(member.pk, 0) + 1 for member in members}, source)
    chosen = {
        "heaviest": choice.by_rows(100),
        "median": choice.by_rows(50),
        "light": choice.by_rows(5),
        "random": choice.by_lot(drawn),
        "topic": choice.by_lot(drawn, among=in_topic),
        "dormant": choice.by_lot(min(DORMANT_MOST, max(1, int(DORMANT_PART * len(members))))),
    }
    disguisers = {
        size: [
            _account(member, choice.rows[member.pk], in_topic.get(member.pk, 0), by_password=size in SIZES)
            for member in those
        ]
        for size, those in chosen.items()
    }
    register_ordinary(choice.left)
    _put_to_sleep(chosen["dormant"])
    return People(
        app="lobsters",
        password=DEMO_PASSWORD,
        ordinary={"members": [member.username for member in choice.left]},
        disguisers=disguisers,
        facts={"topic": TOPIC, "mix": dict(MIX), "popular": _popular(members)},
        scale=f"{len(members):,} members, {Story.objects.count():,} stories, {Comment.objects.count():,} comments",
    )


class _Choice:
    """Members who are still to be chosen from: nobody is chosen twice."""

    def __init__(self, members: Sequence[User], rows: Mapping[int, int], source: random.Random) -> None:
        self.left, self.rows, self._source = list(members), rows, source
        self._ordered = sorted(members, key=lambda member: (rows[member.pk], member.pk))

    def by_rows(self, percent: int) -> list[User]:
        """Who has more rows than so many percent of all; the next one who is left."""
        place = (len(self._ordered) - 1) * percent // 100
        left = {member.pk for member in self.left}
        return self._take([next(member for member in self._ordered[place::-1] if member.pk in left)])

    def by_lot(self, number: int, *, among: Mapping[int, int] | None = None) -> list[User]:
        candidates = [member for member in self.left if among is None or member.pk in among]
        return self._take(self._source.sample(candidates, min(number, len(candidates) // 2)))

    def _take(self, members: list[User]) -> list[User]:
        taken = {member.pk for member in members}
        self.left = [member for member in self.left if member.pk not in taken]
        return members


def _account(member: User, rows: int, rows_in_topic: int, *, by_password: bool) -> Account:
    """Deriving a key from a password takes time on purpose: only whoever will need it has it."""
    marks = {**_marks(member), "topic_rows": rows_in_topic}
    if not by_password:
        code = edna.register_principal(member).recovery_code
        return Account(member.username, str(code), rows, marks, member.pk)
    return register_disguiser(
        member,
        name=member.username,
        password=DEMO_PASSWORD,
        identifier=identifier(member.username),
        rows=rows,
        marks=marks,
    )


def _marks(member: User) -> dict[str, Any]:
    """How much they wrote, words that only they use, and the latest story and comment, in all and about the topic: where it is to be
    seen, and what stands there."""
    stories = Story.objects.filter(user=member, is_expired=False)
    comments = Comment.objects.filter(user=member, is_deleted=False, is_moderated=False)
    marks: dict[str, Any] = {
        "workplace": words.workplace(member.pk - 1),
        "stories": stories.count(),
        "comments": comments.count(),
    }
    for prefix, only in (("", Q(merged_story=None)), ("topic_", Q(merged_story=None, taggings__tag__tag=TOPIC))):
        story = stories.filter(only).order_by("-pk").first()
        if story is not None:
            marks[f"{prefix}story"] = [story.short_id, story.title]
        comment = comments.filter(story__in=Story.objects.filter(only)).select_related("story").order_by("-pk").first()
        if comment is not None:
            marks[f"{prefix}comment"] = [comment.story.short_id, comment.comment.split("\n")[0]]
    return marks


def _owned_in_topic(driver: Driver) -> Mapping[int, int]:
    """How many rows of the topic each member has; whoever has none is not there."""
    found: Counter[int] = Counter()
    for table, where, parameters in manual.topic_of(0, TOPIC):
        everybody = where.replace("t.user_id = %s AND ", "")
        sql = f"SELECT t.user_id, COUNT(*) FROM {table} t WHERE {everybody} GROUP BY t.user_id"
        found.update(dict(driver.execute(sql, parameters[1:]).fetchall()))
    driver.connection.commit()
    return found


def _put_to_sleep(dormant: Sequence[User]) -> None:
    now = timezone.now()
    User.objects.update(last_login=now)
    long_ago = now - datetime.timedelta(days=_AWAY_DAYS)
    asleep = User.objects.filter(pk__in=[member.pk for member in dormant])
    asleep.update(last_login=long_ago, created_at=long_ago)
    for days in _WARNED_DAYS_AGO:
        day = now.astimezone(datetime.UTC).date() - datetime.timedelta(days=days)
        (report,) = rounds.run_schedules(only=DECAY, today=day)
        if sum(report.warned.values()) != len(dormant):
            raise RuntimeError(f"{sum(report.warned.values())} members were warned instead of {len(dormant)}")


def _popular(members: Iterable[User]) -> Mapping[str, Bins]:
    """Stories and comments by votes, stories by comments, members by the votes that they cast, in the bins of the statistics.

    Without stories that were merged into others: their addresses lead there.
    """
    stories = list(
        Story.objects.filter(merged_story=None).values_list("short_id", "upvotes", "downvotes", "comments_count")
    )
    comments = Comment.objects.filter(story__merged_story=None).values_list("short_id", "upvotes", "downvotes")
    cast = Counter(Vote.objects.order_by().values_list("user_id", flat=True).iterator())
    return {
        "members": _binned(((member.username, cast[member.pk]) for member in members), "votes_per_user"),
        "stories": _binned(((name, ups + downs) for name, ups, downs, _ in stories), "votes_per_story"),
        "discussed": _binned(((name, number) for name, _, _, number in stories), "comments_per_story"),
        "comments": _binned(((name, ups + downs) for name, ups, downs in comments), "votes_per_comment"),
    }


def _binned(numbers: Iterable[tuple[str, int]], statistics: str) -> Bins:
    like = histograms.read(statistics)
    found: dict[int, list[str]] = {}
    for name, number in numbers:
        found.setdefault(like.bin_of(number), []).append(name)
    return [(like.weight(start), names) for start, names in sorted(found.items())]


_COUNTED: Final = (
    ("stories", "upvotes", "votes", "c.story_id = t.id AND c.comment_id IS NULL AND c.vote = 1"),
    ("stories", "downvotes", "votes", "c.story_id = t.id AND c.comment_id IS NULL AND c.vote = -1"),
    ("stories", "comments_count", "comments", "c.story_id = t.id AND NOT c.is_deleted AND NOT c.is_moderated"),
    ("comments", "upvotes", "votes", "c.comment_id = t.id AND c.vote = 1"),
    ("comments", "downvotes", "votes", "c.comment_id = t.id AND c.vote = -1"),
)


def disagreements(driver: Driver) -> list[str]:
    """Counters that differ from the rows that they count, which none may once everybody is back: votes and comments would be lost."""
    found = []
    for table, column, counted, which in _COUNTED:
        sql = f"SELECT COUNT(*) FROM {table} t WHERE t.{column} <> (SELECT COUNT(*) FROM {counted} c WHERE {which})"
        if number := driver.number(sql):
            found.append(f"{table}.{column} differs from the number of its {counted} in {number} rows")
    driver.connection.commit()
    return found
