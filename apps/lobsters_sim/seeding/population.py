"""Who wrote what, when, and who voted for it: numbers only. Knows neither Django nor the tables.

Users, stories and comments are numbers from 0 on. Everything here follows from scale and seed, in flat arrays of some bytes for
each story, comment and vote, so that rows can be made and written one after the other.

How many votes a story or comment gets, how many comments a story, and how many votes a user casts, is drawn so that the histograms of
the published site come out again. Stories and comments are written by users as heavy as their votes are many.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Iterator, MutableSequence
from dataclasses import dataclass
from itertools import accumulate

from .histograms import Histogram, Sampler, read, settle

YEARS = 6
DAY = 86_400
#: Every so many-th story of a user carries the topic's tag.
TOPIC_EVERY = 5
DOWNVOTES_FOR_STORIES, DOWNVOTES_FOR_COMMENTS = 0.03, 0.04
REPLIES = 0.5
NOBODY = 2**32 - 1

Numbers = MutableSequence[int]


@dataclass
class Population:
    """Times are seconds since the site opened. ``votes`` count both kinds, the author's own included; ``downs`` are those against."""

    source: random.Random
    users: int
    bea: int
    mod: int
    writers: Sampler
    seconds: int
    story_authors: Numbers
    story_times: Numbers
    story_votes: Numbers
    story_downs: Numbers
    story_comments: Numbers
    on_topic: bytearray
    comment_stories: Numbers
    comment_authors: Numbers
    comment_times: Numbers
    comment_parents: Numbers
    comment_votes: Numbers
    comment_downs: Numbers
    quotas: Numbers

    def votes(self) -> Iterator[tuple[int, int, int, int]]:
        """User, story, comment (or `NOBODY`), and 1 or -1; each story's or comment's author first. May be called once."""
        deal = _Dealer(self)
        things = (
            (range(len(self.story_authors)), None, self.story_authors, self.story_votes, self.story_downs),
            (self.comment_stories, True, self.comment_authors, self.comment_votes, self.comment_downs),
        )
        for stories, of_comments, authors, votes, downs in things:
            for number, story in enumerate(stories):
                comment = number if of_comments else NOBODY
                author = authors[number]
                yield author, story, comment, 1
                against = downs[number]
                for position, user in enumerate(deal(author, votes[number] - 1)):
                    yield user, story, comment, -1 if position < against else 1


def populate(scale: float, seed: int) -> Population:
    source = random.Random(f"lobsters {seed}")
    voters, for_stories, for_comments, below = (
        read(name).scaled(scale)
        for name in ("votes_per_user", "votes_per_story", "votes_per_comment", "comments_per_story")
    )
    users, stories, comments = voters.total, below.total, for_comments.total
    seconds = int(YEARS * 365.25 * DAY)
    writers = Sampler(voters, source)
    bea, mod = _middle_of_bin(voters, 100), _middle_of_bin(voters, 500)
    if mod == bea:
        mod = max(0, bea - 1)

    story_times = array("I", sorted(int(source.random() * (seconds - DAY)) for _ in range(stories)))
    story_votes, story_comments = _popularity(for_stories, below, stories, comments, most=users, source=source)
    comment_times, comment_stories = _conversations(story_times, story_comments, seconds, source)
    comment_votes = _appreciation(for_comments, comment_stories, story_votes, most=users, source=source)
    comment_parents = _replies(comment_stories, story_comments, source)
    story_authors, comment_authors = array("I", writers.draw(stories)), array("I", writers.draw(comments))
    on_topic = _with_some_of_everything(bea, story_authors, comment_authors, comment_stories, users, source)
    cast = array("I", bytes(4 * users))
    for author in (*story_authors, *comment_authors):
        cast[author] += 1
    quotas = _quotas(voters, cast, sum(story_votes) + sum(comment_votes), most=stories + comments, source=source)
    return Population(
        source=source,
        users=users,
        bea=bea,
        mod=mod,
        writers=writers,
        seconds=seconds,
        story_authors=story_authors,
        story_times=story_times,
        story_votes=story_votes,
        story_downs=_downs(story_votes, DOWNVOTES_FOR_STORIES, source),
        story_comments=story_comments,
        on_topic=on_topic,
        comment_stories=comment_stories,
        comment_authors=comment_authors,
        comment_times=comment_times,
        comment_parents=comment_parents,
        comment_votes=comment_votes,
        comment_downs=_downs(comment_votes, DOWNVOTES_FOR_COMMENTS, source),
        quotas=quotas,
    )


def _middle_of_bin(histogram: Histogram, wanted: int) -> int:
    """A user of that bin, or of the next smaller one that there is."""
    first = found = 0
    for start, count in histogram.bins:
        if start <= wanted:
            found = first + count // 2
        first += count
    return found


def _popularity(
    for_stories: Histogram, below: Histogram, stories: int, comments: int, *, most: int, source: random.Random
) -> tuple[Numbers, Numbers]:
    """Votes and comments of each story: each by its histogram, and many votes mostly go with many comments."""
    votes = sorted(for_stories.numbers(source, least=1, most=most))
    # Rounding bin by bin leaves the histograms a story or two apart: those have few votes.
    votes = sorted([*[1] * (stories - len(votes)), *votes[max(0, len(votes) - stories) :]])
    talk = below.numbers(source)
    quiet = range(below.bins[0][1]) if below.bins[0][0] == 0 else range(0)
    least = [0] * stories
    settle(talk, comments, quiet, least, below.bounds(0)[1], source)
    settle(talk, comments, range(stories), least, comments, source)
    talk.sort()
    places = list(range(stories))
    source.shuffle(places)
    noisy = sorted(range(stories), key=lambda rank: rank + source.gauss(0, 0.2 * stories))
    story_votes, story_comments = array("H", bytes(2 * stories)), array("H", bytes(2 * stories))
    for rank, place in enumerate(places):
        story_votes[place] = votes[rank]
    for rank, other in enumerate(noisy):
        story_comments[places[other]] = talk[rank]
    return story_votes, story_comments


def _conversations(
    story_times: Numbers, story_comments: Numbers, seconds: int, source: random.Random
) -> tuple[Numbers, Numbers]:
    """When each comment was written, and below which story, in the order of time."""
    stories = len(story_times)
    moments = []
    for story, count in enumerate(story_comments):
        for _ in range(count):
            later = story_times[story] + 60 + int(source.expovariate(1 / (DAY / 2)))
            moments.append(min(later, seconds) * stories + story)
    moments.sort()
    return array("I", (moment // stories for moment in moments)), array("I", (moment % stories for moment in moments))


def _appreciation(
    histogram: Histogram, comment_stories: Numbers, story_votes: Numbers, *, most: int, source: random.Random
) -> Numbers:
    """Votes of each comment, by the histogram; those below stories with many votes mostly get more."""
    votes = sorted(histogram.numbers(source, least=1, most=most))
    logs = [math.log(number + 1) for number in range(max(story_votes, default=0) + 1)]
    order = sorted(
        range(len(votes)), key=lambda comment: logs[story_votes[comment_stories[comment]]] + source.gauss(0, 1)
    )
    found = array("H", bytes(2 * len(votes)))
    for number, comment in zip(votes, order, strict=True):
        found[comment] = number
    return found


def _replies(comment_stories: Numbers, story_comments: Numbers, source: random.Random) -> Numbers:
    """The comment that each comment answers, or `NOBODY`: half of all answer one."""
    first = [0, *accumulate(story_comments)]
    filled = array("H", bytes(2 * len(story_comments)))
    earlier = array("I", bytes(4 * len(comment_stories)))
    can = len(comment_stories) - sum(1 for count in story_comments if count)
    chance = min(0.95, REPLIES * len(comment_stories) / can) if can else 0.0
    parents = array("I", [NOBODY]) * len(comment_stories)
    for comment, story in enumerate(comment_stories):
        known = filled[story]
        if known and source.random() < chance:
            parents[comment] = earlier[first[story] + int(source.random() * known)]
        earlier[first[story] + known] = comment
        filled[story] = known + 1
    return parents


def _with_some_of_everything(
    bea: int,
    story_authors: Numbers,
    comment_authors: Numbers,
    comment_stories: Numbers,
    users: int,
    source: random.Random,
) -> bytearray:
    """Which stories carry the topic's tag: each user's in equal distances. Bea has written some things, there and elsewhere."""
    for story in source.sample(range(len(story_authors)), min(6, len(story_authors))):
        story_authors[story] = bea
    for comment in source.sample(range(len(comment_authors)), min(12, len(comment_authors))):
        comment_authors[comment] = bea
    seen = bytearray(int(source.random() * TOPIC_EVERY) for _ in range(users))
    seen[bea] = TOPIC_EVERY - 1
    on_topic = bytearray(len(story_authors))
    for story, author in enumerate(story_authors):
        seen[author] = (seen[author] + 1) % TOPIC_EVERY
        on_topic[story] = seen[author] == 0
    there = [comment for comment, story in enumerate(comment_stories) if on_topic[story]]
    for comment in source.sample(there, min(2, len(there))):
        comment_authors[comment] = bea
    return on_topic


def _downs(votes: Numbers, chance: float, source: random.Random) -> Numbers:
    """How many of the votes, but the author's, are against."""
    uniform = source.random
    return array("H", (sum(1 for _ in range(number - 1) if uniform() < chance) for number in votes))


def _quotas(histogram: Histogram, cast: Numbers, total: int, *, most: int, source: random.Random) -> Numbers:
    """How many votes each user casts, those for their own things (``cast``) included.

    On a small site rounding has left out the heaviest users, so all others vote more, in proportion.
    """
    wanted = histogram.numbers(source)
    light = range(histogram.bins[0][1]) if histogram.bins[0][0] == 0 else range(0)
    low, high = histogram.bounds(0)
    heavy = sum(wanted) - sum(wanted[user] for user in light)
    if not len(light) * low <= total - heavy <= len(light) * high:
        factor = total / sum(wanted)
        wanted = [int(number * factor + source.random()) for number in wanted]
        light, high = range(len(wanted)), most
    # Nobody casts fewer than for their own things.
    quotas = [max(number, own) for number, own in zip(wanted, cast, strict=True)]
    settle(quotas, total, light, cast, high, source)
    settle(quotas, total, range(len(quotas)), cast, most, source)
    return array("I", quotas)


class _Dealer:
    """Deals votes from a shuffled pack that holds each user as often as they still have to vote."""

    def __init__(self, population: Population) -> None:
        left = array("i", population.quotas)
        for authors in (population.story_authors, population.comment_authors):
            for author in authors:
                left[author] -= 1
        self.pack = array("I")
        for user, number in enumerate(left):
            if number > 0:
                self.pack.extend(array("I", [user]) * number)
        population.source.shuffle(self.pack)
        self.uniform, self.users = population.source.random, population.users

    def __call__(self, author: int, number: int) -> list[int]:
        """So many users, none of them twice, and not the author."""
        pack, uniform = self.pack, self.uniform
        voters: list[int] = []
        tries = 0
        while len(voters) < number:
            if pack and tries < 50:
                user = pack.pop()
                if user == author or user in voters:
                    # Back into the pack, somewhere else.
                    place = int(uniform() * (len(pack) + 1))
                    pack.append(user)
                    pack[place], pack[-1] = pack[-1], pack[place]
                    tries += 1
                    continue
            else:  # nobody else is left in the pack: whoever there is
                user = int(uniform() * self.users)
                if user == author or user in voters:
                    continue
            voters.append(user)
        return voters
