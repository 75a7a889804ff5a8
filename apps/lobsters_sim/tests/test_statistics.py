"""What the data generator draws agrees with the published statistics of the original site. Numbers only; no database."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from apps.lobsters_sim.seeding.histograms import Histogram, Sampler, histogram_of, read, settle
from apps.lobsters_sim.seeding.population import NOBODY, Population, populate

pytestmark = pytest.mark.long

PUBLISHED = 2.75
SMALL = 0.05
NAMES = ("votes_per_user", "votes_per_story", "votes_per_comment", "comments_per_story")


@pytest.fixture(scope="module")
def published() -> Population:
    return populate(PUBLISHED, 1)


def cast(people: Population) -> list[int]:
    """Votes of each user."""
    counted = Counter(user for user, *_ in people.votes())
    return [counted[user] for user in range(people.users)]


def drawn(people: Population, name: str) -> list[int]:
    if name == "votes_per_user":
        return list(people.quotas)
    return list(
        {
            "votes_per_story": people.story_votes,
            "votes_per_comment": people.comment_votes,
            "comments_per_story": people.story_comments,
        }[name]
    )


def difference(found: Histogram, expected: Histogram) -> float:
    """The share of all that is in another bin."""
    bins, others = dict(found.bins), dict(expected.bins)
    return sum(abs(bins.get(start, 0) - others.get(start, 0)) for start in {*bins, *others}) / 2 / expected.total


@pytest.mark.slow
def test_the_published_size(published: Population) -> None:
    assert published.users == 15_955
    assert len(published.story_authors) == 111_792
    assert len(published.comment_authors) == 333_495


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_histograms_at_the_published_size(name: str, published: Population) -> None:
    expected = read(name).scaled(PUBLISHED)
    assert difference(histogram_of(drawn(published, name), expected), expected) < 0.001


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "votes_per_user"])
def test_histograms_of_a_small_site(name: str, seed: int) -> None:
    expected = read(name).scaled(SMALL)
    assert difference(histogram_of(drawn(populate(SMALL, seed), name), expected), expected) < 0.002


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_users_of_a_small_site_vote_in_proportion(seed: int) -> None:
    """The heaviest users are rounded away, so the others cast their votes, too: each bin as large a share as it should have."""
    people, histogram = populate(SMALL, seed), read("votes_per_user").scaled(SMALL)
    votes, weights = (
        cast(people),
        [sum(histogram.bounds(start)) / 2 for start, count in histogram.bins for _ in range(count)],
    )
    total, weight, first = sum(votes), sum(weights), 0
    assert total == sum(people.story_votes) + sum(people.comment_votes)
    for _, count in histogram.bins:
        if count >= 5:
            share, expected = (
                sum(each[first : first + count]) / whole for each, whole in ((votes, total), (weights, weight))
            )
            assert share == pytest.approx(expected, rel=0.3)
        first += count


@pytest.mark.slow
def test_every_user_casts_as_many_votes_as_planned(published: Population) -> None:
    """Nobody votes twice for the same, authors vote first for their own, and the counters count."""
    counted = Counter()
    ups, downs, seen = Counter(), Counter(), set()
    before = None
    for user, story, comment, vote in published.votes():
        counted[user] += 1
        thing = (story, comment)
        if thing != before:
            seen, before = set(), thing
            author = published.story_authors[story] if comment == NOBODY else published.comment_authors[comment]
            assert (user, vote) == (author, 1)
        assert user not in seen
        seen.add(user)
        (ups if vote > 0 else downs)[story if comment == NOBODY else -1 - comment] += 1
        if comment != NOBODY:
            assert story == published.comment_stories[comment]
    off = sum(abs(counted[user] - quota) for user, quota in enumerate(published.quotas))
    assert off < 0.0001 * sum(published.quotas)
    for number, against, key in (
        (published.story_votes, published.story_downs, lambda story: story),
        (published.comment_votes, published.comment_downs, lambda comment: -1 - comment),
    ):
        assert all(
            downs[key(i)] == d and ups[key(i)] == n - d for i, (n, d) in enumerate(zip(number, against, strict=True))
        )


@pytest.mark.slow
def test_writers_are_as_heavy_as_their_votes(published: Population) -> None:
    """Few have written very much, most of them less than ten."""
    written = Counter([*published.story_authors, *published.comment_authors])
    numbers = sorted(written.get(user, 0) for user in range(published.users))
    assert numbers[len(numbers) // 2] < 10
    assert numbers[-1] > 1_500
    assert max(written, key=written.__getitem__) > published.users - 20
    heavy = sum(numbers[-published.users // 20 :]) / sum(numbers)
    assert heavy > 0.35


@pytest.mark.slow
def test_half_of_the_comments_are_replies_in_the_same_thread(published: Population) -> None:
    replies = [(comment, parent) for comment, parent in enumerate(published.comment_parents) if parent != NOBODY]
    assert len(replies) / len(published.comment_parents) == pytest.approx(0.5, abs=0.01)
    stories, times = published.comment_stories, published.comment_times
    for comment, parent in replies:
        assert parent < comment
        assert stories[parent] == stories[comment]
        assert published.story_times[stories[comment]] < times[parent] <= times[comment] <= published.seconds


@pytest.mark.slow
def test_every_fifth_story_of_a_user_is_on_the_topic(published: Population) -> None:
    stories, on_topic = Counter(published.story_authors), Counter()
    for author, topical in zip(published.story_authors, published.on_topic, strict=True):
        on_topic[author] += topical
    assert all(number // 5 <= on_topic[author] <= number // 5 + 1 for author, number in stories.items())
    assert sum(on_topic.values()) / len(published.story_authors) == pytest.approx(0.2, abs=0.005)


def test_bins() -> None:
    """A number is in the bin that it is nearest to; the smallest bin counts half."""
    histogram = read("comments_per_story")
    assert histogram.width == 10
    assert [histogram.bin_of(number) for number in (0, 4, 5, 10, 14, 15)] == [0, 0, 10, 10, 10, 20]
    assert (histogram.bounds(0), histogram.bounds(10)) == ((0, 4), (5, 14))
    assert (histogram.weight(0), histogram.weight(170)) == (5, 170)
    assert Histogram(10, ((0, 3), (10, 1), (20, 1))).scaled(0.5).bins == ((0, 2), (10, 1), (20, 1))
    assert Histogram(10, ((0, 3), (10, 1))).scaled(0.4).bins == ((0, 1),)


def test_the_sampler_draws_by_weight() -> None:
    sampler = Sampler(Histogram(10, ((0, 2), (10, 1), (30, 3))), random.Random(1))
    drawn = Counter(sampler.draw(11_000))
    for number, expected in enumerate((500, 500, 1_000, 3_000, 3_000, 3_000)):
        assert drawn[number] == pytest.approx(expected, rel=0.15)


def test_settle_keeps_its_bounds() -> None:
    for total, expected in ((12, 12), (100, 16), (0, 9)):
        numbers = [2, 2, 8]
        settle(numbers, total, range(2), [1, 0, 0], 4, random.Random(1))
        assert sum(numbers) == expected
        assert numbers[2] == 8
