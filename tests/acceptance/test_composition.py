"""What a disguise library promises, number by number: how disguises compose, and what each owner of a row gets back.

The numbers are those of docs/invariants.md; 18 to 33 are in `test_hard_cases`. Promise 15, a change of the schema between disguise and
reveal, needs tables that change: `tests.migrating` has it, in every order of 6 to 10.
"""

from __future__ import annotations

from itertools import groupby, permutations

import pytest
from django.db.models import Model

import edna
from tests.databases import first_everywhere
from tests.lobsters.community import OWNER_COLUMNS, TO_THE_NEXT, Community, Member, state
from tests.lobsters.models import Comment, Message, Moderation, Story, Tag, Tagging, User, Vote
from tests.lobsters.specs import (
    ANON,
    ANON_DELETE,
    ANON_RETAIN,
    BY_URL,
    CLEAR_MESSAGES,
    DECAY,
    GDPR,
    TOPIC,
)

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

MODERATION_OWNERS: tuple[tuple[type[Model], str], ...] = ((Moderation, "moderator"), (Moderation, "user"))
KEY = pytest.mark.parametrize("with_key", [True, False], ids=["with-key", "without-key"])


def test_01_decorrelating_by_tag_takes_the_user_off_tagged_stories_only(community: Community) -> None:
    ann = community.ann
    mine = set(ann.owns(Story))
    tagged = set(Story.objects.filter(user=ann.pk, taggings__tag=community.ai).values_list("pk", flat=True))
    others = list(Story.objects.exclude(user=ann.pk).order_by("pk").values())

    ann.applies(TOPIC, tag="ai")

    assert 0 < len(tagged) < len(mine)
    assert set(ann.owns(Story)) == mine - tagged
    assert set(Story.objects.filter(pk__in=tagged).values_list("user", flat=True)) <= ann.stands_behind()
    assert list(Story.objects.exclude(pk__in=mine).order_by("pk").values()) == others


def test_02_grouped_by_url_each_pseudoprincipal_owns_the_stories_that_share_one(community: Community) -> None:
    """Of one user: a pseudoprincipal never stands for two people, so two users' stories of one URL get one each."""
    written = sorted(Story.objects.values_list("user", "url", "pk"))
    shared = sorted([pk for *_, pk in rows] for _, rows in groupby(written, key=lambda row: row[:2]))

    community.everybody(BY_URL)

    now = sorted(Story.objects.values_list("user", "pk"))
    assert community.is_pseudonymous(*(owner for owner, _ in now))
    assert sorted([pk for _, pk in rows] for _, rows in groupby(now, key=lambda row: row[0])) == shared


def test_03_after_a_global_anon_every_owner_column_points_at_a_pseudoprincipal_of_its_own(community: Community) -> None:
    before, owners = state(), community.owners()

    community.everybody(ANON)

    after = state()
    assert set(before["lobsters_user"]) < set(after["lobsters_user"])
    assert {table: len(rows) for table, rows in before.items() if table != "lobsters_user"} == {
        table: len(rows) for table, rows in after.items() if table != "lobsters_user"
    }
    assert len(community.owners()) == len(set(community.owners())) == len(owners)
    assert set(community.owners()) == community.pseudoprincipals()


def test_04_gdpr_removes_user_and_stories_and_leaves_moderations_to_pseudoprincipals(community: Community) -> None:
    ann, moderations = community.ann, Moderation.objects.count()
    others = {pk: owner for pk, owner in Moderation.objects.values_list("pk", "moderator") if owner != ann.pk}
    mine = [*ann.owns(Moderation, "moderator"), *ann.owns(Moderation, "user")]
    stories = ann.owns(Story)

    ann.applies(GDPR)

    assert not User.objects.filter(pk=ann.pk).exists()
    assert not Story.objects.filter(pk__in=stories).exists()
    assert Moderation.objects.count() == moderations
    assert dict(Moderation.objects.filter(pk__in=others).values_list("pk", "moderator")) == others
    new = [owner for owner in community.owners(MODERATION_OWNERS) if community.is_pseudonymous(owner)]
    assert len(new) == len(set(new)) == len(mine)

    for member in (community.bob, community.cat):
        member.applies(GDPR)

    assert Moderation.objects.count() == moderations
    assert len(set(community.owners(MODERATION_OWNERS))) == 2 * moderations
    assert community.is_pseudonymous(*community.owners(MODERATION_OWNERS))


def test_05_gdpr_after_anon_removes_the_anonymised_stories_too(community: Community) -> None:
    ann, moderations = community.ann, Moderation.objects.count()
    stories, others = ann.owns(Story), Story.objects.exclude(user=ann.pk).count()
    community.everybody(ANON)

    ann.applies(GDPR, with_key=True)

    assert not User.objects.filter(pk=ann.pk).exists()
    assert not Story.objects.filter(pk__in=stories).exists()
    assert Story.objects.count() == others
    assert Moderation.objects.count() == moderations
    assert len(set(community.owners(MODERATION_OWNERS))) == 2 * moderations
    assert community.is_pseudonymous(*community.owners(MODERATION_OWNERS))


def test_06_revealing_anon_gives_each_user_their_rows_and_what_was_attached_meanwhile(community: Community) -> None:
    before = {member.pk: (member.owns(Story), member.owns(Moderation)) for member in community.members}
    anon = community.everybody(ANON)
    story = Story.objects.get(pk=before[community.ann.pk][0][0])
    answer = Message.objects.create(author=community.bob.user, recipient=story.user, body="Whoever you are, thank you")

    for member in community.members:
        member.takes_back(anon)
        assert (member.owns(Story), member.owns(Moderation)) == before[member.pk]

    answer.refresh_from_db()
    assert answer.recipient_id == community.ann.pk
    assert community.pseudoprincipals() == set()
    answer.delete()
    assert community.is_as_before()


def test_07_revealing_gdpr_brings_everything_back_under_the_same_key(community: Community) -> None:
    ann = community.ann
    gdpr = ann.applies(GDPR)
    assert not User.objects.filter(pk=ann.pk).exists()

    ann.takes_back(gdpr)

    assert User.objects.get(pk=ann.pk).username == "ann"
    assert community.pseudoprincipals() == set()
    assert community.is_as_before()


@pytest.mark.once
@KEY
def test_08_anon_gdpr_revealed_gdpr_first_is_pseudonymous_in_between(community: Community, with_key: bool) -> None:
    anon = community.everybody(ANON)
    anonymous = state()
    gdpr = community.ann.applies(GDPR, with_key=with_key)
    assert state() != anonymous

    community.ann.takes_back(gdpr)
    assert state() == anonymous

    community.all_take_back(anon)
    assert community.is_as_before()


@pytest.mark.once
@KEY
def test_09_anon_gdpr_revealed_anon_first_restores_nothing_visible_until_gdpr(
    community: Community, with_key: bool
) -> None:
    ann, stories, moderations = community.ann, community.ann.owns(Story), community.ann.owns(Moderation)
    anon = community.everybody(ANON)
    gdpr = ann.applies(GDPR, with_key=with_key)
    gone, users = state(), set(User.objects.values_list("pk", flat=True))

    deferred = ann.takes_back(anon)

    assert deferred["lobsters.story"] == len(stories)
    # A placeholder that nothing needs any more may go already.
    assert set(User.objects.values_list("pk", flat=True)) <= users
    assert state() | {"lobsters_user": []} == gone | {"lobsters_user": []}
    assert [entry.name for entry in ann.history()] == [GDPR]

    ann.takes_back(gdpr)
    assert (ann.owns(Story), ann.owns(Moderation)) == (stories, moderations)
    community.all_take_back({**anon, ann.pk: []})
    assert community.is_as_before()


@pytest.mark.once
def test_10_anon_twice_revealed_first_to_second_is_pseudonymous_in_between(community: Community) -> None:
    first, second = community.everybody(ANON), community.everybody(ANON)
    stories = Story.objects.count()

    community.all_take_back(first)
    assert Story.objects.count() == stories
    assert community.is_pseudonymous(*community.owners())

    community.all_take_back(second)
    assert community.is_as_before()


@pytest.mark.once
def test_10_anon_twice_revealed_second_to_first_is_pseudonymous_in_between(community: Community) -> None:
    first = community.everybody(ANON)
    anonymous = state()
    second = community.everybody(ANON)

    community.all_take_back(second)
    assert state() == anonymous

    community.all_take_back(first)
    assert community.is_as_before()


@first_everywhere("order", list(permutations(("anon", "gdpr", "bob", "cat"))), ids="-".join, count=3)
def test_11_a_moderator_leaves_anonymous_shared_rows_and_each_reveal_restores_ones_own_columns(
    small_community: Community, order: tuple[str, ...]
) -> None:
    """Without a key, what is already anonymous is nobody's: the rows stay, and only the account goes. Ann's own columns
    are hers again with the second of her two reveals.
    """
    ann, bob, cat = small_community.members
    before = owner_columns()
    anon = small_community.everybody(ANON)
    anonymous = owner_columns()
    gdpr = ann.applies(GDPR)
    assert owner_columns() == anonymous
    steps = {"anon": (ann, anon), "gdpr": (ann, gdpr), "bob": (bob, anon), "cat": (cat, anon)}

    for done, name in enumerate(order, start=1):
        member, which = steps[name]
        member.takes_back(which)
        back = {member.pk for name, (member, _) in steps.items() if name in order[:done]}
        if not {"anon", "gdpr"} <= set(order[:done]):
            back.discard(ann.pk)
        assert owner_columns() == {
            column: [then if then in back else now for then, now in zip(before[column], now, strict=True)]
            for column, now in anonymous.items()
        }
    assert small_community.is_as_before()


def owner_columns() -> dict[tuple[type[Model], str], list[int | None]]:
    """Every owner column, by row."""
    return {
        (model, name): list(model.objects.order_by("pk").values_list(name, flat=True)) for model, name in OWNER_COLUMNS
    }


@first_everywhere("name", [CLEAR_MESSAGES, GDPR])
@pytest.mark.parametrize("author_leaves_first", [True, False], ids=["author-leaves-first", "recipient-leaves-first"])
@pytest.mark.parametrize("author_returns_first", [True, False], ids=["author-returns-first", "recipient-returns-first"])
def test_12_one_owner_removes_then_the_other_and_the_first_to_reveal_brings_the_row_back(
    community: Community, name: str, author_leaves_first: bool, author_returns_first: bool
) -> None:
    owners = {"author": community.ann, "recipient": community.bob}
    message = letter(community.ann)
    first, second = ("author", "recipient") if author_leaves_first else ("recipient", "author")
    rounds = {first: owners[first].applies(name)}
    message.refresh_from_db()
    assert getattr(message, f"{second}_id") == owners[second].pk
    assert getattr(message, f"{first}_id") in owners[first].stands_behind()
    rounds[second] = owners[second].applies(name)
    assert not Message.objects.filter(pk=message.pk).exists()

    first, second = ("author", "recipient") if author_returns_first else ("recipient", "author")
    held = owners[first].tries_to_take_back(rounds[first])
    message.refresh_from_db()
    assert getattr(message, f"{first}_id") == owners[first].pk
    assert community.is_pseudonymous(getattr(message, f"{second}_id"))
    # Comments on what the other has written, and votes for it, wait for it.
    assert {each.model for each in held} <= ({"lobsters.comment", "lobsters.vote"} if name == GDPR else set())

    owners[second].takes_back(rounds[second])
    if held:
        owners[first].takes_back(rounds[first])
    assert community.is_as_before()


@pytest.mark.once
@pytest.mark.parametrize("order", ["cleared-first", "gdpr-first"])
def test_12_the_first_to_reveal_does_not_wait_for_an_owner_who_took_their_key_along(
    community: Community, order: str
) -> None:
    """Ann's account goes with all that her key leads to, but not the pseudoprincipal that Cat's message names."""
    ann, cat = community.ann, community.cat
    message = letter(cat)
    cleared = community.everybody(CLEAR_MESSAGES)
    gdpr = ann.applies(GDPR, with_key=True)

    cat.takes_back(cleared)
    message.refresh_from_db()
    assert message.author_id == cat.pk
    assert community.is_pseudonymous(message.recipient_id)

    ann.takes_back(*((cleared, gdpr) if order == "cleared-first" else (gdpr, cleared)))
    community.bob.takes_back(cleared)
    assert community.is_as_before()


@pytest.mark.once
def test_12_a_name_stands_in_a_row_again_with_the_last_of_its_owners_disguises(community: Community) -> None:
    """The row comes back with Ann. Bob's name follows when he has revealed both what made it anonymous and what removed it."""
    ann, bob = community.ann, community.bob
    message = letter(ann)
    anon = community.everybody(ANON)
    cleared = bob.applies(CLEAR_MESSAGES, with_key=True)
    assert not Message.objects.filter(pk=message.pk).exists()

    ann.takes_back(anon)
    bob.takes_back(anon)
    message.refresh_from_db()
    assert message.author_id == ann.pk
    assert message.recipient_id in bob.stands_behind()

    bob.takes_back(cleared)
    community.cat.takes_back(anon)
    assert community.is_as_before()


def letter(author: Member) -> Message:
    """The message to the next member."""
    return Message.objects.get(author=author.pk, body=TO_THE_NEXT)


@first_everywhere("order", list(permutations(range(3))), ids=str, count=2)
def test_13_shared_rows_that_a_global_disguise_removed_come_back_with_each_owners_own_column(
    community: Community, order: tuple[int, ...]
) -> None:
    written = list(Message.objects.order_by("pk").values_list("pk", "author", "recipient"))

    cleared = community.everybody(CLEAR_MESSAGES)
    assert not Message.objects.exists()

    back: set[int] = set()
    for number in order:
        community.members[number].takes_back(cleared)
        back.add(community.members[number].pk)
        expected = {pk: owners for pk, *owners in written if back & set(owners)}
        found = {pk: owners for pk, *owners in Message.objects.values_list("pk", "author", "recipient")}
        assert found.keys() == expected.keys()
        for pk, owners in found.items():
            for now, then in zip(owners, expected[pk], strict=True):
                assert now == then if then in back else community.is_pseudonymous(now)
    assert community.is_as_before()


@KEY
def test_14_a_recorded_update_between_disguise_and_reveal_holds_for_the_revealed_rows(
    community: Community, with_key: bool
) -> None:
    """With the key the stories are removed, without it they are anonymous: the update reaches them either way, once."""
    ann = community.ann
    anon = community.everybody(ANON)
    gdpr = ann.applies(GDPR, with_key=with_key)

    there = Story.objects.filter(url="https://a.example").count()
    assert edna.replay(Story, where={"url": "https://a.example"}, set={"url": "https://moved.example"}) == there
    assert there == (4 if with_key else 6)

    ann.takes_back(gdpr)
    community.all_take_back(anon)
    urls = list(Story.objects.filter(user=ann.pk).order_by("pk").values_list("url", flat=True))
    assert urls == ["https://moved.example", "https://moved.example", "https://b.example"]
    Story.objects.filter(url="https://moved.example").update(url="https://a.example")
    assert state() == community.before


@pytest.mark.parametrize(
    ("name", "becomes"), [(ANON, "its owner's"), (ANON_DELETE, "deleted"), (ANON_RETAIN, "the pseudoprincipal's")]
)
def test_16_reference_policies_restore_delete_and_retain(community: Community, name: str, becomes: str) -> None:
    ann = community.ann
    comment = Comment.objects.filter(user=ann.pk).earliest("pk")
    anon = community.everybody(name)
    comment.refresh_from_db()
    answer = Message.objects.create(author=community.bob.user, recipient=comment.user, body="You, whoever you are")

    community.all_take_back(anon)

    assert Comment.objects.get(pk=comment.pk).user_id == ann.pk
    recipients = list(Message.objects.filter(pk=answer.pk).values_list("recipient", flat=True))
    kept = comment.user_id if becomes == "the pseudoprincipal's" else ann.pk
    assert recipients == ([] if becomes == "deleted" else [kept])
    if kept != ann.pk:
        assert ann.stands_behind() == community.pseudoprincipals() == {kept}
        Message.objects.filter(pk=answer.pk).update(recipient=ann.pk)
        ann.takes_back({ann.pk: [entry.receipt for entry in ann.history()] or anon[ann.pk][:1]})
    Message.objects.filter(pk=answer.pk).delete()
    assert community.is_as_before()


@pytest.mark.once
@pytest.mark.parametrize(
    ("name", "params"), [(ANON, {}), (GDPR, {}), (DECAY, {}), (TOPIC, {"tag": "everything"})], ids=str
)
def test_17_counts_of_a_user_are_zero_in_between_and_equal_after(
    community: Community, name: str, params: dict[str, str]
) -> None:
    everything = Tag.objects.create(name="everything")
    Tagging.objects.bulk_create(Tagging(story=story, tag=everything) for story in Story.objects.all())
    ann, before = community.ann, community.ann.counts()
    assert min(before.values()) > 0

    disguised = community.everybody(name) if name == ANON else ann.applies(name, **params)
    assert set(ann.counts().values()) == {0}

    ann.takes_back(disguised)
    assert ann.counts() == before
    assert ann.owns(Vote) == sorted(Vote.objects.filter(user__username="ann").values_list("pk", flat=True))
