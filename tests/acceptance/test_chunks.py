"""A large disguise is done in chunks, each a transaction of its own with a bag of its own, and undone the same way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Exists, OuterRef, Q
from django.test.utils import override_settings

import edna
from edna import Decorrelate, Disguise, Modify, Remove, errors, inner_door, placeholders, registry, signals, store
from edna.db import transactions
from edna.engine.chunks import disguise as disguising
from edna.engine.chunks.parts import split
from edna.engine.disguising import execute as execution
from edna.engine.planning.steps import First, Part, Target
from edna.engine.revealing import reveal as revealing
from edna.records.bag import BagKind
from edna.records.chain import chunks_of
from tests.databases import first_everywhere
from tests.installed import registering
from tests.interrupting import Transactions
from tests.lobsters.community import Community, Member, state
from tests.lobsters.models import Comment, Draft, Moderation, Story, Tagging, User, Vote
from tests.lobsters.specs import ANON, BY_URL, DECAY, GDPR, REDACT_COMMENTS, LeaveTopic
from tests.support import cut_into_chunks, flipped, nothing_changes, rows_of, statements

pytestmark = [pytest.mark.django_db, pytest.mark.every_database, pytest.mark.thorough]

EVERY_DISGUISE = (ANON, BY_URL, DECAY, GDPR, REDACT_COMMENTS)
LARGE_ONES = (ANON, DECAY, GDPR)


def rows_by_table() -> dict[str, int]:
    return {table: len(rows) for table, rows in state().items()}


@pytest.mark.parametrize("name", EVERY_DISGUISE)
def test_chunks_leave_what_one_transaction_leaves(
    community: Community, most: int, counted: Transactions, name: str
) -> None:
    ann = community.ann
    receipt = edna.disguise(name, ann.user, atomic=True)
    left, owned = rows_by_table(), ann.counts()
    assert counted.committed == 1
    assert ann.reveal(receipt).complete

    assert counted.of(lambda: ann.disguise(name)) > 1

    assert (rows_by_table(), ann.counts()) == (left, owned)


@pytest.mark.parametrize("name", EVERY_DISGUISE)
def test_all_chunks_come_back_by_one_receipt(community: Community, most: int, counted: Transactions, name: str) -> None:
    ann = community.ann
    receipts: list[edna.Receipt] = []
    made = counted.of(lambda: receipts.append(ann.disguise(name)))
    [entry] = ann.history()
    assert entry.receipt == receipts[0]

    undone = counted.of(lambda: ann.reveal(receipts[0]))

    assert undone >= made - 1  # the last transaction may have found nothing left to do
    assert community.is_as_before()


@pytest.mark.once
def test_history_counts_a_disguise_in_chunks_once(community: Community, most: int) -> None:
    ann = community.ann
    whole = edna.disguise(GDPR, ann.user, atomic=True)
    [expected] = ann.history()
    ann.reveal(whole)

    ann.disguise(GDPR)

    [entry] = ann.history()
    assert (entry.name, entry.counts, entry.params) == (expected.name, expected.counts, expected.params)


@first_everywhere("at_most", [1, 2, 5])
@pytest.mark.parametrize("name", LARGE_ONES)
def test_what_was_done_before_the_process_died_can_be_revealed(
    community: Community, most: int, counted: Transactions, name: str, at_most: int
) -> None:
    ann = community.ann
    assert counted.of(lambda: ann.disguise(name), at_most=at_most) == at_most
    assert state() != community.before  # and no foreign key dangles

    [entry] = ann.history()
    assert ann.reveal(entry.receipt).complete

    assert community.is_as_before()


@first_everywhere("at_most", [1, 3])
@pytest.mark.parametrize("name", LARGE_ONES)
def test_a_reveal_that_died_goes_on_with_the_same_receipt(
    community: Community, most: int, counted: Transactions, name: str, at_most: int
) -> None:
    ann = community.ann
    receipt = ann.disguise(name)
    assert counted.of(lambda: ann.reveal(receipt), at_most=at_most) == at_most
    assert state() != community.before
    [entry] = ann.history()
    assert entry.receipt == receipt

    assert ann.reveal(receipt).complete

    assert community.is_as_before()


@pytest.mark.once
@pytest.mark.parametrize(("first", "second"), [(ANON, GDPR), (BY_URL, GDPR), (ANON, BY_URL), (BY_URL, ANON)])
def test_chunks_compose_with_earlier_and_later_disguises(
    community: Community, most: int, first: str, second: str
) -> None:
    """With the key, what the first one gave to pseudoprincipals is disguised by the second; both come back in either order."""
    for in_order in (True, False):
        receipts = [community.ann.disguise(name, with_key=True) for name in (first, second)]
        for receipt in receipts if in_order else reversed(receipts):
            assert community.ann.reveal(receipt).held == []
        assert community.is_as_before()


@pytest.mark.once
def test_a_later_chunk_does_not_disguise_whom_an_earlier_one_made(community: Community, most: int) -> None:
    """With the key, removing an account removes those of its pseudoprincipals, but not of those who own what stays."""
    ann = community.ann
    stories = Story.objects.count()
    with ann.unlock() as unlocked:
        edna.disguise(DECAY, ann.user, unlocked=unlocked)
    assert Story.objects.count() == stories
    assert state()["lobsters_user"]
    assert len(ann.stands_behind()) >= len(Story.objects.filter(user__lt=0).values("user").distinct())


def test_rows_in_the_way_hold_back_their_own_and_what_belongs_to_them(community: Community, most: int) -> None:
    """Across chunks, too: what refers to a row that is held must not be given to the one that took its key."""
    ann = community.ann
    taken = Story.objects.filter(user=ann.pk).earliest("pk")
    receipt = ann.disguise(GDPR)
    squatter = Story.objects.create(pk=taken.pk, user=community.bob.user, url="https://c.example", title="Mine")

    outcome = ann.reveal(receipt)
    assert edna.Held("lobsters.story", taken.pk, edna.Reason.ROW_EXISTS) in outcome.held
    assert not Vote.objects.filter(story=squatter).exists()
    assert not Tagging.objects.filter(story=squatter).exists()

    squatter.delete()
    while ann.history():
        assert ann.reveal(receipt).complete
    assert community.is_as_before()


@pytest.mark.once
def test_a_reveal_ends_whatever_its_chunks_say(
    community: Community, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks that count something as back each time, and something as held, are not gone through for ever."""
    receipt = community.ann.disguise(GDPR)

    def always_the_same(*_: Any, **__: Any) -> edna.Outcome:
        outcome = edna.Outcome(held=[edna.Held("lobsters.story", 1, edna.Reason.ROW_MISSING)])
        outcome.due.add("lobsters.vote", [(1,)])
        outcome.count()
        return outcome

    monkeypatch.setattr(revealing, "reveal", always_the_same)

    assert not community.ann.reveal(receipt).complete


@pytest.mark.once
def test_a_damaged_chunk_is_refused_before_anything_is_changed(community: Community, most: int) -> None:
    ann = community.ann
    receipt = ann.disguise(GDPR)
    first = receipt.locator.index(BagKind.DIFF, 0)
    [(pk, sealed)] = [(pk, sealed) for pk, index, sealed in _bags() if index == first]
    _store(pk, flipped(sealed))

    with nothing_changes(), pytest.raises(errors.BagError):
        ann.reveal(receipt)

    _store(pk, sealed)
    assert ann.reveal(receipt).complete
    assert community.is_as_before()


def test_without_allow_partial_it_is_all_or_nothing(community: Community, most: int, counted: Transactions) -> None:
    ann = community.ann
    receipt = ann.disguise(GDPR)
    squatter = User.objects.create(username="ann")
    with nothing_changes(), pytest.raises(errors.RevealRefused):
        ann.reveal(receipt, allow_partial=False)

    squatter.delete()
    assert counted.of(lambda: ann.reveal(receipt, allow_partial=False)) == 1
    assert community.is_as_before()


def test_atomic_is_one_transaction_both_ways(community: Community, most: int, counted: Transactions) -> None:
    ann = community.ann
    receipts: list[edna.Receipt] = []
    assert counted.of(lambda: receipts.append(edna.disguise(GDPR, ann.user, atomic=True))) == 1
    ann.reveal(receipts[0])
    receipt = ann.disguise(GDPR)

    assert counted.of(lambda: ann.reveal(receipt, atomic=True)) == 1

    assert community.is_as_before()


def test_inside_a_transaction_of_the_caller_nothing_is_cut(community: Community, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 1}
    with transaction.atomic():
        receipt = community.ann.disguise(GDPR)
    with community.ann.unlock() as unlocked:
        assert receipt.locator in unlocked.listed()
        assert receipt.locator.chunk(1) not in unlocked.listed()


@pytest.mark.once
def test_in_locator_mode_client_nothing_is_cut(community: Community, counted: Transactions) -> None:
    """A process that died would leave chunks to which nobody has a receipt."""
    receipts: list[edna.Receipt] = []
    with cut_into_chunks(1), override_settings(EDNA={**django_settings.EDNA, "CHUNK_ROWS": 1, "LOCATORS": "client"}):
        assert counted.of(lambda: receipts.append(community.ann.disguise(GDPR))) == 1
    assert community.ann.reveal(receipts[0]).complete
    assert state() == community.before


@pytest.mark.once
def test_the_application_is_told_once_when_all_is_done(
    community: Community, most: int, counted: Transactions, django_capture_on_commit_callbacks: Any
) -> None:
    told: list[tuple[str, Any]] = []

    def disguised(keys: Any, **kwargs: Any) -> None:
        told.append(("disguised", keys))

    def revealed(keys: Any, **kwargs: Any) -> None:
        told.append(("revealed", keys))

    signals.disguised.connect(disguised, sender=User)
    signals.revealed.connect(revealed, sender=User)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            receipt = community.ann.disguise(ANON)
        with django_capture_on_commit_callbacks(execute=True):
            counted.of(lambda: community.ann.reveal(receipt), at_most=1)
        assert told == [("disguised", (community.ann.pk,))]
        with django_capture_on_commit_callbacks(execute=True):
            community.ann.reveal(receipt)
    finally:
        signals.disguised.disconnect(disguised, sender=User)
        signals.revealed.disconnect(revealed, sender=User)
    assert told[1:] == [("revealed", (community.ann.pk,))]


# How rows are divided


def parts_of(cls: type[Disguise], member: Member, *, most: int, settings: Any) -> list[Part]:
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": most}
    [entry] = store.entries_by_reference("lobsters.user", [str(member.pk)], using="default")
    return split(cls, Target(entry, (entry,)), params={}, using="default")


def places(parts: list[Part], model: Any) -> dict[Any, int]:
    return {key: number for number, part in enumerate(parts) for (key,) in keys_in(part, model)}


def keys_in(part: Part, model: Any) -> Collection[Any]:
    meant = part.get(model, ())
    assert not isinstance(meant, First)
    return meant


def about(parts: list[Part], model: Any) -> list[int]:
    return [number for number, part in enumerate(parts) if part.get(model)]


def test_what_refers_to_a_row_goes_before_it(community: Community, settings: Any) -> None:
    parts = parts_of(registry.get(GDPR), community.ann, most=1, settings=settings)
    votes, taggings, stories = (about(parts, model) for model in (Vote, Tagging, Story))
    assert max(votes) < min(stories)
    assert max(taggings) < min(stories)
    assert not any(User in part for part in parts)  # left to the last


def test_no_chunk_has_more_rows_than_it_may(community: Community, settings: Any) -> None:
    parts = parts_of(registry.get(ANON), community.ann, most=4, settings=settings)
    for part in parts:
        assert sum(meant.number if isinstance(meant, First) else len(meant) for meant in part.values()) <= 4
    assert set(places(parts, Story)) == set(community.ann.owns(Story))


@pytest.mark.once
def test_of_rows_that_vanish_one_by_one_the_keys_are_not_read(community: Community, most: int, settings: Any) -> None:
    """What somebody alone owns, and a disguise takes away, can be found until nothing is left."""
    ann = community.ann
    parts = parts_of(registry.get(ANON), ann, most=most, settings=settings)
    assert {Vote: First(most)} in parts
    assert len(about(parts, Vote)) == 1
    own = len(ann.owns(Vote))
    asked = [each for each in statements(lambda: ann.disguise(ANON)) if each.startswith("SELECT")]
    read = [each for each in asked if "lobsters_vote" in each and f"LIMIT {most}" in each]
    assert len(read) == own // most + 1


class Silence(Disguise):
    """Nothing has to go before votes; stories wait for them."""

    name = "lobsters.silence"
    transformations = (
        Decorrelate(Draft, owner="user"),
        Decorrelate(Vote, owner="user"),
        Decorrelate(Story, owner="user"),
    )


class SilenceStoriesFirst(Disguise):
    name = "lobsters.silence-stories-first"
    transformations = (Decorrelate(Story, owner="user"), Decorrelate(Vote, owner="user"))


def asked_before_the_first_bag(work: Callable[[], Any], table: str) -> list[str]:
    """What ``work`` reads of the table until it stores something."""
    asked = itertools.takewhile(lambda sql: "INSERT INTO" not in sql, statements(work))
    return [sql for sql in asked if sql.startswith("SELECT") and table in sql]


def test_rows_that_are_too_many_for_one_transaction_are_the_first_chunk(community: Community, most: int) -> None:
    """They are read and locked by then: they are taken there, and not read again."""
    ann = community.ann
    receipts: list[edna.Receipt] = []
    with registering(Silence):
        asked = asked_before_the_first_bag(lambda: receipts.append(ann.disguise(Silence.name)), "lobsters_vote")
        assert len(asked) == 1
        assert (ann.owns(Vote), ann.owns(Story)) == ([], [])
        assert ann.reveal(receipts[0]).complete
    assert community.is_as_before()


@pytest.mark.parametrize("cls", [Silence, SilenceStoriesFirst])
def test_whatever_is_found_to_be_too_much_the_first_chunk_is_what_goes_first(
    community: Community, most: int, counted: Transactions, cls: type[Disguise]
) -> None:
    """It has no more rows than others, and whoever dies after it goes on under its receipt."""
    ann = community.ann
    with registering(cls):
        assert counted.of(lambda: ann.disguise(cls.name), at_most=1) == 1
        [entry] = ann.history()
        assert entry.counts == {"lobsters.vote": most}
        assert ann.disguise(cls.name) == entry.receipt
        assert (ann.owns(Vote), ann.owns(Story)) == ([], [])
        assert ann.reveal(entry.receipt).complete
    assert community.is_as_before()


@pytest.mark.once
@pytest.mark.parametrize("cls", [Silence, SilenceStoriesFirst])
def test_what_is_required_is_asked_once_before_anything_is_done(
    community: Community, most: int, cls: type[Disguise]
) -> None:
    ann = community.ann
    own, asked = len(ann.owns(Vote)), list[int]()

    def disguise(condition: Callable[[edna.Plan | None], bool]) -> edna.Receipt | None:
        return inner_door.disguise_if(cls.name, ann.user, params={}, unlocked=None, condition=condition)

    def refuse(plan: edna.Plan | None) -> bool:
        raise errors.NotYours("somebody was faster")

    def agree(plan: edna.Plan | None) -> bool:
        asked.append(len(ann.owns(Vote)))
        return plan is None  # as it is of several transactions

    with registering(cls):
        with nothing_changes(), pytest.raises(errors.NotYours):
            disguise(refuse)
        with nothing_changes():
            assert disguise(lambda plan: False) is None
        assert disguise(agree) is not None
    assert asked == [own]


@pytest.mark.once
def test_a_first_chunk_that_the_database_refuses_has_changed_nothing(
    community: Community, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that is covered refers to its rows, so that there is nothing that would go along the next time."""

    def refused(*_: Any, **__: Any) -> Any:
        raise IntegrityError("a value of somebody's row")

    monkeypatch.setattr(execution, "execute", refused)
    refused_as_a_whole = pytest.raises(errors.ConstraintRefused, match="Nothing was changed")
    with registering(Silence), nothing_changes(), refused_as_a_whole:
        community.ann.disguise(Silence.name)


@pytest.mark.once
def test_a_first_chunk_is_done_again_if_the_database_was_busy(
    community: Community, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction is gone then, and what it had begun with it: the chunk is the first one again, with other rows if there are."""
    ann = community.ann
    real, busy = execution.execute, []

    def execute(*args: Any, **kwargs: Any) -> Any:
        if not busy:
            busy.append(real(*args, **kwargs))
            raise OperationalError(1213, "database is locked")
        return real(*args, **kwargs)

    monkeypatch.setattr(execution, "execute", execute)
    alone = type("Alone", (), {"in_atomic_block": False, "vendor": connection.vendor})()
    monkeypatch.setattr(transactions, "connections", {"default": alone})
    with registering(Silence):
        receipt = ann.disguise(Silence.name)
        assert busy
        assert [entry.receipt for entry in ann.history()] == [receipt]
        with ann.unlock() as unlocked:
            assert len(chunks_of(receipt.locator, unlocked.listed())) == len(unlocked.listed())
        assert ann.reveal(receipt).complete
    assert community.is_as_before()


@pytest.mark.once
def test_rows_that_get_one_pseudoprincipal_stay_together(community: Community, settings: Any) -> None:
    parts = parts_of(registry.get(BY_URL), community.ann, most=1, settings=settings)
    by_url: dict[str, set[int]] = {}
    for key, number in places(parts, Story).items():
        by_url.setdefault(Story.objects.get(pk=key).url, set()).add(number)
    assert sorted(map(len, by_url.values())) == [1, 1]


class WholeTree(Disguise):
    """Comments refer to comments."""

    name = "lobsters.whole-tree"
    transformations = (Remove(Comment, owner="user"), Remove(Vote, owner="user"))


class WithReplies(Disguise):
    """What others have answered goes along; it is found by way of what they have answered."""

    name = "lobsters.with-replies"
    transformations = (Remove(Comment, owner="user"), Remove(Comment, owner="parent__user"))


def thread(user: User, *, length: int) -> list[Comment]:
    """Each below the one before."""
    story = Story.objects.earliest("pk")
    made: list[Comment] = []
    for number in range(length):
        parent = made[-1] if made else None
        made.append(Comment.objects.create(user=user, story=story, parent=parent, text=f"{number}"))
    return made


@pytest.mark.once
@pytest.mark.parametrize("cls", [WholeTree, WithReplies])
def test_a_tree_is_removed_from_its_leaves(community: Community, settings: Any, cls: type[Disguise]) -> None:
    made = thread(community.ann.user, length=5)
    reply = Comment.objects.create(user=community.bob.user, story=made[0].story, parent=made[2], text="!")
    parts = parts_of(cls, community.ann, most=1, settings=settings)
    at = places(parts, Comment)
    assert len({at[each.pk] for each in made}) == 5
    assert [at[each.pk] for each in made] == sorted((at[each.pk] for each in made), reverse=True)
    assert (reply.pk in at) is (cls is WithReplies)
    assert at.get(reply.pk, -1) < at[made[2].pk]


@pytest.mark.once
def test_comments_in_a_circle_stay_together(community: Community, settings: Any) -> None:
    made = thread(community.ann.user, length=5)
    Comment.objects.filter(pk=made[1].pk).update(parent=made[3])
    Comment.objects.filter(pk=made[4].pk).update(parent=made[4])  # a circle of one
    at = places(parts_of(WholeTree, community.ann, most=1, settings=settings), Comment)
    first, second, third, fourth, fifth = (at[each.pk] for each in made)
    assert second == third == fourth
    assert len({first, second, fifth}) == 3


@pytest.mark.parametrize("cls", [WholeTree, WithReplies])
def test_a_tree_comes_back_from_its_root(community: Community, most: int, cls: type[Disguise]) -> None:
    ann = community.ann
    made = thread(ann.user, length=4)
    Comment.objects.create(user=community.bob.user, story=made[0].story, parent=made[1], text="!")
    Comment.objects.filter(pk=made[0].pk).update(parent=made[3])
    community.before = state()
    with registering(cls):
        receipt = edna.disguise(cls.name, ann.user, atomic=True)
        left, [entry] = rows_by_table(), ann.history()
        ann.reveal(receipt)
        receipt = ann.disguise(cls.name)
        assert (rows_by_table(), ann.history()[0].counts) == (left, entry.counts)
        assert ann.reveal(receipt).complete
    assert community.is_as_before()


class TwoGroupings(Disguise):
    """Each moderation names two people: one nobody for each action, and one for each story."""

    name = "lobsters.two-groupings"
    transformations = (
        Decorrelate(Moderation, owner="moderator", group_by=["story"]),
        Decorrelate(Moderation, owner="user", group_by=["action"]),
    )


def test_what_either_grouping_keeps_together_stays_together(community: Community, settings: Any) -> None:
    """One row links two groups of one step by a group of the other."""
    ann = community.ann
    stories = list(Story.objects.order_by("pk")[:4])
    Moderation.objects.all().delete()
    made = [
        Moderation.objects.create(moderator=ann.user, user=ann.user, story=stories[story], action=action)
        for story, action in zip([0, 0, 1, 2, 3, 3], "abbcde", strict=True)
    ]
    at = places(parts_of(TwoGroupings, ann, most=1, settings=settings), Moderation)
    first, second, third, fourth, fifth, sixth = (at[each.pk] for each in made)
    assert first == second == third
    assert fifth == sixth
    assert len({first, fourth, fifth}) == 3
    community.before = state()
    with registering(TwoGroupings), cut_into_chunks(1):
        receipt = ann.disguise(TwoGroupings.name)
        assert len(set(Moderation.objects.values_list("moderator", flat=True))) == 4
        assert len(set(Moderation.objects.values_list("user", flat=True))) == 5
        assert ann.reveal(receipt).complete
    assert community.is_as_before()


class ByStory(Disguise):
    """Comments on one's stories, whoever wrote them: found by an owner whom the other step replaces."""

    name = "lobsters.by-story"
    transformations = (
        Decorrelate(Story, owner="user"),
        Modify(Comment, owner="story__user", set={"text": "[gone]"}),
    )


@pytest.mark.once
def test_rows_that_are_found_through_others_go_before_these(community: Community, settings: Any) -> None:
    parts = parts_of(ByStory, community.ann, most=2, settings=settings)
    assert max(about(parts, Comment)) <= min(about(parts, Story))
    assert len(places(parts, Comment)) == Comment.objects.filter(story__user=community.ann.pk).count()


class Circle(Disguise):
    """Each of the two tables says which rows of the other are meant."""

    name = "lobsters.circle"
    transformations = (
        Decorrelate(Story, owner="user", where=Q(votes__pk__gt=0)),
        Decorrelate(Vote, owner="user", where=Q(story__url__gt="")),
    )


def test_tables_that_each_need_the_other_are_one_chunk(community: Community, settings: Any) -> None:
    parts = parts_of(Circle, community.ann, most=1, settings=settings)
    assert [set(part) for part in parts if part] == [{Story, Vote}]


# What chunks must not do


class Emptied(Disguise):
    """The second step means rows that were empty before; not those that the first one empties."""

    name = "lobsters.emptied"
    transformations = (
        Modify(Draft, owner="user", set={"text": ""}),
        Remove(Draft, owner="user", where=Q(text="")),
    )


class Lonely(Disguise):
    """Stories for which nobody voted; not those whose only votes the other step removes."""

    name = "lobsters.lonely"
    transformations = (
        Remove(Vote, owner="user"),
        Decorrelate(Story, owner="user", where=Q(votes__isnull=True)),
    )


class Rootless(Disguise):
    """Comments below no story; not those whose stories the other steps remove."""

    name = "lobsters.rootless"
    transformations = (
        Modify(Comment, owner="user", where=Q(story__isnull=True), set={"text": "[gone]"}),
        Remove(Tagging, owner="story__user"),
        Remove(Vote, owner="story__user"),
        Remove(Story, owner="user"),
    )


@pytest.mark.once
@pytest.mark.parametrize("cls", [Emptied, Lonely, Rootless])
def test_a_condition_is_about_what_was_there_before(community: Community, cls: type[Disguise]) -> None:
    ann = community.ann
    for text in ("", "x", "y", "z"):
        Draft.objects.create(user=ann.user, text=text)
    Vote.objects.filter(story__user=ann.pk).exclude(user=ann.pk).delete()
    before = state()
    with registering(cls):
        receipt = edna.disguise(cls.name, ann.user, atomic=True)
        left, counts = rows_by_table(), ann.history()[0].counts
        ann.reveal(receipt)
        with cut_into_chunks(1):
            receipt = ann.disguise(cls.name)
        assert (rows_by_table(), ann.history()[0].counts) == (left, counts)
        assert ann.reveal(receipt).complete
    assert state() == before


class Unlisted(Disguise):
    """Stories lose their titles; those that have none go, with what others have attached to them. Not those that lose theirs here."""

    name = "lobsters.unlisted"
    transformations = (
        Modify(Story, owner="user", where=~Q(title=""), set={"title": ""}),
        Remove(Story, owner="user", where=Q(title="")),
        Remove(Vote, owner="story__user", where=Q(story__title="")),
        Remove(Tagging, owner="story__user", where=Q(story__title="")),
    )


def test_rows_that_are_read_anew_are_not_asked_again_what_the_first_chunks_have_changed(
    community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody votes meanwhile. Stories, and votes of others, went that the disguise does not mean."""
    ann = community.ann
    Story.objects.filter(pk=ann.owns(Story)[0]).update(title="")
    with registering(Unlisted):
        receipt = edna.disguise(Unlisted.name, ann.user, atomic=True)
        left, counts = rows_by_table(), ann.history()[0].counts
        ann.reveal(receipt)
        refuse_once(monkeypatch, lambda _: Story.objects.filter(user=ann.pk, title="").count() > 1)
        with cut_into_chunks(1):
            receipt = ann.disguise(Unlisted.name)
        assert (rows_by_table(), ann.history()[0].counts) == (left, counts)
        assert ann.reveal(receipt).complete


class Lonelier(Disguise):
    name = "lobsters.lonelier"
    transformations = (Remove(Vote, owner="user"), Remove(Draft, owner="user", where=Q(user__votes__isnull=True)))


class Rereads(Disguise):
    """Who is named beside a text decides about it, and another step gives the name away."""

    name = "lobsters.rereads"
    transformations = (
        Decorrelate(Moderation, owner="moderator"),
        Modify(Moderation, owner="user", where=Q(moderator__karma__gt=0), set={"action": ""}),
    )


class Elsewhere(Disguise):
    """A condition that is an expression, about rows that go."""

    name = "lobsters.elsewhere"
    transformations = (
        Remove(Vote, owner="user"),
        Modify(Draft, owner="user", where=Q(~Exists(Vote.objects.filter(user=OuterRef("user")))), set={"text": ""}),
    )


class AmongOthers(Disguise):
    """What a subquery reads is read, too."""

    name = "lobsters.among-others"
    transformations = (
        Modify(Story, owner="user", set={"title": ""}),
        Remove(Vote, owner="user", where=Q(story__in=Story.objects.filter(title=""))),
    )


class AsksWhoIsThere(Disguise):
    """Whether anybody is named does not change."""

    name = "lobsters.asks-who-is-there"
    transformations = (
        Decorrelate(Moderation, owner="moderator"),
        Modify(Moderation, owner="user", where=Q(moderator__isnull=True), set={"action": ""}),
    )


class Blanked(Disguise):
    """The step alone changes what it asks for."""

    name = "lobsters.blanked"
    transformations = (Modify(Draft, owner="user", where=~Q(text=""), set={"text": ""}),)


class Asked(Disguise):
    """It asks about the account, which goes last."""

    name = "lobsters.asked"
    transformations = (
        Modify(User, set={"karma": 0}),
        Remove(Draft, owner="user", where=Q(user__karma__gt=0)),
    )


@pytest.mark.once
@pytest.mark.parametrize(
    ("cls", "cut"),
    [
        (Emptied, False),
        (Lonely, False),
        (Lonelier, False),
        (Rootless, False),
        (Unlisted, False),
        (Rereads, False),
        (Elsewhere, False),
        (AmongOthers, False),
        (AsksWhoIsThere, True),
        (Blanked, True),
        (Asked, True),
        (ByStory, True),
        (Circle, True),
        (LeaveTopic, True),
    ],
)
def test_a_disguise_is_not_cut_that_asks_for_what_it_changes(
    community: Community, most: int, cls: type[Disguise], cut: bool
) -> None:
    assert disguising.are_possible(cls, using="default") == cut


class Farewell(Disguise):
    """What is written lies in two steps with conditions; the third gives away the rest."""

    name = "lobsters.farewell"
    transformations = (
        Remove(Draft, owner="user", where=Q(big=0)),
        Modify(Draft, owner="user", where=Q(big=1), set={"text": "[gone]"}),
        Decorrelate(Draft, owner="user"),
    )


def test_what_is_written_between_two_chunks_is_disguised_as_the_conditions_say(
    community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It went into the open under a pseudonym: the last chunk asked no conditions."""
    ann = community.ann
    for number in range(8):
        Draft.objects.create(user=ann.user, text=f"words {number}", big=number % 2)
    community.before = state()
    real, written = disguising._Disguising.do, []

    def do(self: Any, part: Part) -> bool:
        if self.chunk.number == 2 and not written:
            written.extend(Draft.objects.create(user=ann.user, text="last words", big=big).pk for big in (0, 1))
        return real(self, part)

    monkeypatch.setattr(disguising._Disguising, "do", do)
    with registering(Farewell), cut_into_chunks(2):
        receipt = ann.disguise(Farewell.name)
        assert written
        assert set(Draft.objects.filter(big=1).values_list("text", flat=True)) == {"[gone]"}
        assert not Draft.objects.filter(big=0).exists()
        assert ann.reveal(receipt).complete
    assert set(Draft.objects.filter(pk__in=written).values_list("text", flat=True)) == {"last words"}
    Draft.objects.filter(pk__in=written).delete()
    assert community.is_as_before()


class Whole(Disguise):
    """A table that cannot be cut: a row is found by way of another one of the same table."""

    name = "lobsters.whole"
    transformations = (
        Modify(
            Comment,
            owner="user",
            where=Q(parent__isnull=True) | Q(parent__pk__gt=0),
            set={"text": placeholders.random_string()},
        ),
        Remove(Vote, owner="user"),
    )


@pytest.mark.once
def test_what_cannot_be_cut_is_modified_once(community: Community, most: int) -> None:
    ann = community.ann
    with registering(Whole):
        receipt = ann.disguise(Whole.name)
        assert ann.history()[0].counts["lobsters.comment"] == len(ann.owns(Comment))
        assert ann.reveal(receipt).complete
    assert community.is_as_before()


class Children(Disguise):
    name = "lobsters.children"
    transformations = (Remove(Vote, owner="story__user"), Remove(Tagging, owner="story__user"))


@pytest.mark.once
@pytest.mark.parametrize("rows", [None, 1])
def test_what_belongs_to_a_row_under_disguise_is_not_given_to_who_has_its_key_now(
    community: Community, rows: int | None
) -> None:
    """The row waits in another disguise; somebody else's has its key meanwhile."""
    ann = community.ann
    taken = Story.objects.filter(user=ann.pk).earliest("pk")
    with registering(Children), cut_into_chunks(rows):
        children = ann.disguise(Children.name)
        gone = ann.disguise(GDPR)
    squatter = Story.objects.create(pk=taken.pk, user=community.bob.user, url="https://c.example", title="Mine")

    ann.reveal(children)

    assert not Vote.objects.filter(story=squatter).exists()
    assert not Tagging.objects.filter(story=squatter).exists()
    squatter.delete()
    assert ann.reveal(gone).complete
    assert community.is_as_before()


class ForgetVotes(Disguise):
    name = "lobsters.forget-votes"
    transformations = (Remove(Vote, owner="user"),)


@pytest.mark.once
@pytest.mark.parametrize("rows", [None, 1])
def test_what_waited_in_a_late_chunk_for_an_early_one_comes_back_at_once(
    community: Community, counted: Transactions, rows: int | None
) -> None:
    ann = community.ann
    with registering(ForgetVotes):
        with cut_into_chunks(rows):
            votes = ann.disguise(ForgetVotes.name)
            gone = ann.disguise(GDPR)
        assert not ann.reveal(votes).held
        assert ann.reveal(gone, allow_partial=False).complete
    assert community.is_as_before()


@pytest.mark.once
def test_a_pseudoprincipal_of_an_earlier_disguise_stays_until_the_last_chunk_that_needs_it(
    community: Community, most: int
) -> None:
    """`BY_URL` gives two stories one author; each chunk of the other disguise takes one of them from it."""
    ann = community.ann
    disowned = ann.disguise(BY_URL)
    gone = ann.disguise(ANON, with_key=True)
    assert ann.reveal(disowned).held == []
    assert ann.reveal(gone).complete
    assert community.is_as_before()


def test_somebody_adds_what_refers_to_a_row_between_two_chunks(
    community: Community, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are read anew, and what was added goes along."""
    ann = community.ann
    story = Story.objects.filter(user=ann.pk).latest("pk")
    real, added = disguising._Disguising.do, []

    def do(self: Any, part: Part) -> bool:
        if part.get(Story) and not added:
            added.append(Vote.objects.create(user=community.cat.user, story=story).pk)
        return real(self, part)

    Vote.objects.filter(user=community.cat.pk, story=story).delete()
    community.before = state()
    monkeypatch.setattr(disguising._Disguising, "do", do)
    receipt = ann.disguise(GDPR)
    assert added
    assert ann.reveal(receipt).complete
    Vote.objects.filter(pk__in=added).delete()
    assert community.is_as_before()


def test_a_row_that_changed_hands_since_the_keys_were_read_is_left_out(
    community: Community, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = community.ann, community.bob
    given = Draft.objects.create(user=ann.user, text="x")
    community.before = state()
    real = disguising._Disguising.do

    def do(self: Any, part: Part) -> bool:
        Draft.objects.filter(pk=given.pk).update(user=bob.pk)
        return real(self, part)

    monkeypatch.setattr(disguising._Disguising, "do", do)
    receipt = ann.disguise(GDPR)
    assert Draft.objects.get(pk=given.pk).user_id == bob.pk
    assert ann.reveal(receipt).complete
    Draft.objects.filter(pk=given.pk).update(user=ann.pk)
    assert community.is_as_before()


@pytest.mark.once
def test_a_chunk_asks_for_its_keys_and_not_for_all_that_somebody_owns(community: Community, most: int) -> None:
    """Otherwise a database may go through everything for each chunk, and lock what it passes."""
    asked = [each for each in statements(lambda: community.ann.disguise(REDACT_COMMENTS)) if "lobsters_comment" in each]
    by_key = [each for each in asked if each.startswith("SELECT") and '"id" IN (' in each]
    assert by_key
    assert not any('"user_id" IN (' in each for each in by_key)


def refuse_once(monkeypatch: pytest.MonkeyPatch, when: Callable[[Any], bool]) -> list[Part]:
    """The database refuses a chunk, once. Which it was is in the list then."""
    real, refused = disguising._Disguising.do, list[Part]()

    def do(self: Any, part: Part) -> Part | None:
        if not refused and when(self):
            refused.append(part)
            raise IntegrityError("somebody has just referred to a row of it")
        return real(self, part)

    monkeypatch.setattr(disguising._Disguising, "do", do)
    return refused


def test_a_chunk_that_the_database_refuses_once_is_done_the_next_time(
    community: Community, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = refuse_once(monkeypatch, lambda chunks: chunks.chunk.number == 3)
    receipt = community.ann.disguise(ANON)
    assert refused
    assert community.ann.reveal(receipt).complete
    assert community.is_as_before()


@pytest.mark.once
def test_one_that_is_refused_after_the_first_one_was_done_with_its_rows_is_done_the_next_time(
    community: Community, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of those rows, and after them."""
    ann = community.ann
    with registering(Silence):
        for number in (1, 6 // most + 1):
            with monkeypatch.context() as patched:
                refused = refuse_once(patched, lambda chunks, number=number: chunks.chunk.number == number)
                receipt = ann.disguise(Silence.name)
            assert refused
            assert (ann.owns(Vote), ann.owns(Story)) == ([], [])
            [entry] = ann.history()
            assert entry.counts == {"lobsters.vote": 6, "lobsters.story": 3}
            assert ann.reveal(receipt).complete
            assert community.is_as_before()


@pytest.mark.once
def test_it_is_revealed_while_it_is_still_being_disguised(
    community: Community, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receipt leads to what was disguised after that, and the history to nothing else."""
    ann = community.ann
    real, seen = disguising._Disguising.do, []

    def do(self: Any, part: Part) -> bool:
        if self.chunk.number == 3 and not seen:
            [entry] = ann.history()
            seen.append(entry)
            assert ann.reveal(entry.receipt).held == []
        return real(self, part)

    monkeypatch.setattr(disguising._Disguising, "do", do)
    receipt = ann.disguise(ANON)
    assert seen
    [entry] = ann.history()
    assert entry.receipt == receipt
    assert ann.reveal(receipt).complete
    assert community.is_as_before()


class Nameless(Disguise):
    name = "lobsters.nameless"
    transformations = (Modify(Draft, owner="user", set={"text": "[gone]"}), Decorrelate(Draft, owner="user"))


def test_what_is_revealed_in_the_middle_is_disguised_as_a_whole(
    community: Community, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was done before, so it was not modified again; and given away, for everybody to read."""
    ann = community.ann
    for number in range(6):
        Draft.objects.create(user=ann.user, text=f"words {number}")
    before = state()
    real, seen = disguising._Disguising.do, list[edna.Receipt]()

    def do(self: Any, part: Part) -> bool:
        if self.chunk.number == 2 and not seen:
            [entry] = ann.history()
            seen.append(entry.receipt)
            assert ann.reveal(entry.receipt).complete
        return real(self, part)

    monkeypatch.setattr(disguising._Disguising, "do", do)
    with registering(Nameless):
        receipt = ann.disguise(Nameless.name)
        assert seen
        assert set(Draft.objects.exclude(user=ann.pk).values_list("text", flat=True)) == {"[gone]"}
        assert ann.owns(Draft) == []
        assert ann.reveal(receipt).complete
    assert state() == before


@pytest.mark.once
def test_a_chunk_that_is_gone_does_not_keep_the_others(community: Community, most: int) -> None:
    """Somebody has deleted a row of the table, or it has expired."""
    ann = community.ann
    receipt = ann.disguise(ANON)
    lost = [receipt.locator.chunk(3).index(kind, number) for kind in BagKind for number in range(3)]
    store.delete_bags(lost, using="default")

    assert ann.reveal(receipt).held == []

    assert len(ann.owns(Story)) == 3
    assert ann.history() == []


@pytest.mark.once
def test_a_chunk_given_up_by_a_rotation_leaves_the_others_to_the_receipt(community: Community, most: int) -> None:
    ann = community.ann
    receipt = ann.disguise(GDPR)
    third = receipt.locator.chunk(3).index(BagKind.DIFF, 0)
    [(pk, sealed)] = [(pk, sealed) for pk, index, sealed in _bags() if index == third]
    _store(pk, flipped(sealed))
    with ann.unlock() as unlocked:
        made = edna.rotate(unlocked, leave_damaged=True)
    assert made.secret_key is not None
    ann.secret_key = made.secret_key

    ann.reveal(receipt)

    assert User.objects.filter(pk=ann.pk).exists()


def test_a_busy_database_is_asked_again(community: Community, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``atomic``, too, if the transaction is edna's own."""
    ann = community.ann
    receipt = ann.disguise(GDPR)
    real, refused = revealing.restore, []

    def restore(*args: Any, **kwargs: Any) -> Any:
        if not refused:
            refused.append(True)
            raise OperationalError(1213, "database is locked")
        return real(*args, **kwargs)

    monkeypatch.setattr(revealing, "restore", restore)
    alone = type("Alone", (), {"in_atomic_block": False, "vendor": connection.vendor})()
    monkeypatch.setattr(transactions, "connections", {"default": alone})
    assert ann.reveal(receipt, atomic=True).complete
    assert refused
    assert community.is_as_before()


def test_a_chunk_that_the_database_refuses_again_and_again_says_what_is_done(
    community: Community, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = community.ann
    real = disguising._Disguising.do

    def do(self: Any, part: Part) -> bool:
        if self.chunk.number == 3:
            raise IntegrityError("a value of somebody's row")
        return real(self, part)

    monkeypatch.setattr(disguising._Disguising, "do", do)
    with pytest.raises(errors.ConstraintRefused, match="chunks that were done before stay") as caught:
        ann.disguise(ANON)
    assert "nothing was changed" not in str(caught.value)
    assert "somebody's row" not in str(caught.value)
    monkeypatch.undo()
    [entry] = ann.history()
    assert ann.reveal(entry.receipt).complete
    assert community.is_as_before()


# Bounds


def test_each_transaction_is_about_few_rows(community: Community, monkeypatch: pytest.MonkeyPatch) -> None:
    """No chunk reads, seals or changes more rows than it may, but for the last look for what was added meanwhile."""
    rows: list[int] = []
    execute = execution.execute

    def counting(plan: Any, **kwargs: Any) -> Any:
        rows.append(plan.rows)
        return execute(plan, **kwargs)

    monkeypatch.setattr(execution, "execute", counting)
    with cut_into_chunks(4):
        community.ann.disguise(ANON)
    assert len(rows) > 5
    assert max(rows) <= 4 * 2  # a row can be meant by two steps


def _bags() -> list[tuple[Any, ...]]:
    return rows_of("edna_bag", ["id", "index", "sealed"])


def _store(pk: int, sealed: bytes) -> None:
    store.Bag.objects.filter(pk=pk).update(sealed=sealed)
