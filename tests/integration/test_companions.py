"""Companions: what the application expects beside every user is there for pseudoprincipals too, tells nothing, and goes with them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connection
from django.db.models import Model
from django.test import override_settings

import edna
from edna import Disguise, Modify, Remove
from edna.engine.pseudoprincipals import factory
from edna.operations.upkeep import residue
from edna.testing import Person, application_dump
from tests.installed import registered, registering
from tests.integration.conftest import FORUM
from tests.integration.forum.models import Follower, Member, Post, Profile, Settings, Topic, Watch
from tests.integration.forum.specs import Anonymise, Nobody
from tests.support import cut_into_chunks, edna_dump, execute, statements

pytestmark = [pytest.mark.django_db, pytest.mark.long]


@pytest.fixture(autouse=True)
def forum(forum_tables: None, db: None) -> Iterator[None]:
    with registered(FORUM):
        yield


def member(name: str, *, topics: int = 2, profile: bool = True) -> Person:
    made = Member.objects.create(name=name, email=f"{name}@example.org")
    if profile:
        Profile.objects.create(member=made, signature=f"yours, {name}", avatar=f"avatars/{name}.png", posts=topics)
        Settings.objects.create(member=made, theme="dark")
    for number in range(topics):
        topic = Topic.objects.create(starter=made, last_poster=made, title=f"topic {number}")
        Post.objects.create(topic=topic, author=made, text=f"first of {number}")
    return Person.registered(made)


@pytest.fixture
def bea() -> Person:
    return member("bea")


@pytest.fixture
def carl() -> Person:
    return member("carl")


def nobodies() -> list[Member]:
    return list(Member.objects.filter(email__endswith=".invalid"))


def test_every_pseudoprincipal_has_its_companions(bea: Person, carl: Person) -> None:
    """Filled as the specification says: what it leaves out as in any new pseudoprincipal, without a time that tells."""
    bea.disguise("forum.anonymise")
    made = nobodies()
    assert len(made) == 6
    for nobody in made:
        assert (nobody.profile.signature, nobody.profile.avatar.name, nobody.profile.posts) == ("[deleted]", "", 0)
        assert nobody.profile.joined_at.year == 2000
        assert nobody.settings.theme == "light"
    assert not Watch.objects.exists()
    keys = {nobody.pk for nobody in made}
    # Drawn for themselves: they say neither whose they are nor which were made together.
    assert keys.isdisjoint(nobody.profile.pk for nobody in made)
    assert all(nobody.profile.pk < 0 for nobody in made)


def test_a_site_without_time_zones_makes_them_too(bea: Person) -> None:
    """There a database refuses a moment with a time zone."""
    with override_settings(USE_TZ=False, TIME_ZONE="America/New_York"):
        receipt = bea.disguise("forum.anonymise")
        assert {nobody.profile.joined_at for nobody in nobodies()} == {datetime.datetime(2000, 1, 1)}
        assert bea.reveal(receipt).complete


@pytest.mark.once
def test_a_thief_cannot_tell_by_them_whose_a_pseudoprincipal_is(bea: Person, carl: Person) -> None:
    """Every column that is not a random key says the same of everybody's, in whatever order the thief looks at them."""
    for person in (bea, carl):
        person.disguise("forum.anonymise")
    made = {nobody.pk for nobody in nobodies()}
    for model, random_columns in ((Profile, {"id", "member_id"}), (Settings, {"member_id"})):
        rows = list(model._base_manager.filter(member__in=made).values())
        assert {row["member_id"] for row in rows} == made
        assert len({str({name: row[name] for name in row.keys() - random_columns}) for row in rows}) == 1
    # Neighbours by the one key are strangers by the other: pairs in the same order would be one in twelve factorial.
    by_member = list(Profile.objects.filter(member__in=made).order_by("member_id").values_list("pk", flat=True))
    assert by_member != sorted(by_member)
    with nothing_lies_in_order_of_making(Profile):
        member("dora", topics=8).disguise("forum.anonymise")


@contextmanager
def nothing_lies_in_order_of_making(model: type[Model]) -> Iterator[None]:
    """PostgreSQL keeps rows where they were put: in the order of random keys, from an empty file on."""
    table, key = model._meta.db_table, model._meta.pk.column
    before = set(model._base_manager.values_list("pk", flat=True))
    if connection.vendor == "postgresql":
        execute("SET CONSTRAINTS ALL IMMEDIATE")
        execute(f"CLUSTER {table} USING {table}_pkey")
    yield
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {key} FROM {table} ORDER BY ctid")
            made = [key for (key,) in cursor.fetchall() if key not in before and key < 0]
        assert made == sorted(made)


def test_they_go_with_it_and_nothing_is_left(bea: Person, carl: Person) -> None:
    before, tables = application_dump(), edna_dump()
    receipt = bea.disguise("forum.anonymise")
    assert bea.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


#: Of each disguise, the rows that are Bea's own: none of her six pseudoprincipals and of what is beside them.
OWN = {
    "forum.anonymise": {"forum.topic": 2, "forum.post": 2},
    "forum.hush": {"forum.profile": 1},
    "test.mask": {"forum.member": 1, "forum.profile": 1, "forum.settings": 1},
    "forum.leave": {
        "forum.member": 1,
        "forum.profile": 1,
        "forum.settings": 1,
        "forum.topic": 2,
        "forum.post": 2,
    },
}


@pytest.mark.parametrize("newest_first", [True, False])
def test_who_leaves_with_the_key_takes_them_along_and_brings_them_back(
    bea: Person, carl: Person, newest_first: bool
) -> None:
    """They are removed and come back with the others, and count nowhere: not before, not in between, and not afterwards."""
    before, tables = application_dump(), edna_dump()
    receipts = [bea.disguise("forum.anonymise"), bea.disguise("forum.hush", with_key=True)]
    with bea.unlock() as unlocked:
        assert edna.plan("forum.leave", bea.user, unlocked=unlocked).counts == OWN["forum.leave"]
    receipts.append(bea.disguise("forum.leave", with_key=True))
    for receipt in reversed(receipts) if newest_first else receipts:
        with bea.unlock() as unlocked:
            history = {entry.name: entry.counts for entry in edna.history(unlocked)}
            assert edna.plan_erasure(receipt, unlocked).rows == history[receipt.disguise]
        assert history == {name: OWN[name] for name in history}
        outcome = bea.reveal(receipt)
        assert outcome.complete
        counted = {name: {**outcome.restored, **outcome.deferred}.get(name, 0) for name in OWN[receipt.disguise]}
        assert counted == OWN[receipt.disguise]
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.once
def test_they_go_in_chunks_too(bea: Person, carl: Person) -> None:
    """One that is all that a chunk is about counts nowhere, and is changed nevertheless."""
    before = application_dump()
    receipt = bea.disguise("forum.anonymise")
    with cut_into_chunks(1):
        hushed = bea.disguise("forum.hush", with_key=True)
    assert {nobody.profile.signature for nobody in nobodies()} == {"[hushed]"}
    assert bea.reveal(hushed).complete
    assert {nobody.profile.signature for nobody in nobodies()} == {"[deleted]"}
    assert bea.reveal(receipt).complete
    assert application_dump() == before


@pytest.mark.once
def test_they_are_no_data_of_the_persons_to_take_along(bea: Person, carl: Person) -> None:
    """Neither those that are there, nor those that were changed or removed with the key. What is beside her is."""

    def exported() -> list[tuple[str, str, Any]]:
        with bea.unlock() as unlocked:
            rows = edna.export(unlocked)["rows"]
        beside = {"forum.member", "forum.profile", "forum.settings"}
        return sorted((row["model"], row["state"], *row["key"]) for row in rows if row["model"] in beside)

    own = bea.user.profile.pk
    with registering(Mask):
        bea.disguise("forum.anonymise")
        present = [("forum.member", bea.user.pk), ("forum.profile", own), ("forum.settings", bea.user.pk)]
        assert exported() == [(model, "present", key) for model, key in present]
        bea.disguise("test.mask", with_key=True)
        bea.disguise("forum.leave", with_key=True)
        assert exported() == [(model, state, key) for model, key in present for state in ("changed", "removed")]


@pytest.mark.once
def test_what_is_beside_somebody_else_counts(bea: Person, carl: Person) -> None:
    """A session may remove anybody's row: only what is beside a pseudoprincipal is none."""
    with by_hand():
        bea.disguise("forum.anonymise")
        with edna.session(bea.user, "test.by-hand") as session:
            session.remove(carl.user.profile)
        with bea.unlock() as unlocked:
            assert edna.history(unlocked)[0].counts == {"forum.profile": 1}
            [row] = [row for row in edna.export(unlocked)["rows"] if row["state"] == "removed"]
        assert row["model"] == "forum.profile"


@contextmanager
def by_hand() -> Iterator[None]:
    def nothing(revealed: edna.Revealed) -> None:
        """Nothing more to do."""

    with registering():
        edna.on_reveal("test.by-hand")(nothing)
        try:
            yield
        finally:
            edna.unregister(nothing)


@pytest.mark.once
def test_what_somebody_wrote_into_one_goes_with_it(bea: Person, carl: Person) -> None:
    """As what they have written into the pseudoprincipal's own row: it was said of nobody."""
    before = application_dump()
    receipt = bea.disguise("forum.anonymise")
    Profile.objects.filter(member__in=nobodies()).update(signature="I was here", posts=7)
    assert bea.reveal(receipt).complete
    assert application_dump() == before


def test_what_hangs_on_one_goes_to_the_owners_own(bea: Person, carl: Person) -> None:
    """One who follows the profile of nobody follows Bea once it was her; twice is once."""
    receipt = bea.disguise("forum.anonymise")
    first, second, *_ = nobodies()
    Follower.objects.create(profile=first.profile, member=carl.user)
    Follower.objects.create(profile=second.profile, member=first)
    outcome = bea.reveal(receipt)
    assert outcome.complete
    assert set(Follower.objects.values_list("profile__member__name", "member__name")) == {
        ("bea", "carl"),
        ("bea", "bea"),
    }
    assert Profile.objects.count() == 2
    assert not nobodies()


def test_without_an_own_one_the_owner_gets_what_something_hangs_on() -> None:
    """It is more than what the specification says by now, and so a reference like any other."""
    dora, carl = member("dora", profile=False), member("carl")
    receipt = dora.disguise("forum.anonymise")
    first, *others = nobodies()
    Follower.objects.create(profile=first.profile, member=carl.user)
    assert dora.reveal(receipt).complete
    assert Follower.objects.get().profile.member == dora.user
    assert not Settings.objects.exclude(member=carl.user.pk).exists()
    assert others
    assert not nobodies()


class Keeping(Anonymise):
    name = "test.keeping"
    references = {"forum.Follower.profile": "retain"}


class Dropping(Anonymise):
    name = "test.dropping"
    references = {"forum.Follower.profile": "delete"}


class Shed(Disguise):
    """What is beside members goes, whoever follows it."""

    name = "test.shed"
    transformations = [
        Remove(Profile, owner="member"),
        Remove(Settings, owner="member"),
        Remove(Follower, owner="profile__member"),
    ]


@pytest.mark.once
def test_what_hangs_on_one_waits_while_the_owners_own_is_away(bea: Person, carl: Person) -> None:
    """The companion does not become hers, in the way of her own."""
    with registering(Shed):
        before, tables = application_dump(), edna_dump()
        receipt = bea.disguise("forum.anonymise")
        first, *_ = nobodies()
        follower = Follower.objects.create(profile=first.profile, member=carl.user)
        shed = bea.disguise("test.shed")
        assert bea.reveal(receipt).complete
        assert nobodies() == [first]
        assert Follower.objects.get().profile.member == first
        assert bea.reveal(shed).complete
        assert Follower.objects.get().profile == bea.user.profile
        follower.delete()
        assert (application_dump(), edna_dump()) == (before, tables)


@pytest.mark.once
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("left", ["forum.leave", "test.shed"])
def test_what_hangs_on_one_and_is_sealed_goes_where_it_would_go_otherwise(carl: Person, left: str, own: bool) -> None:
    """To the owner's own, or with the companion, which becomes theirs; those on which nothing hangs come to nobody."""
    bea = member("bea", profile=own)
    with registering(Shed):
        receipt = bea.disguise("forum.anonymise")
        followed = {nobody.profile for nobody in nobodies()[:2]}
        for profile, follower in zip(followed, (carl, member("eve")), strict=True):
            Follower.objects.create(profile=profile, member=follower.user)
        gone = bea.disguise(left, with_key=True)
        assert not Follower.objects.exists()
        assert bea.reveal(receipt).complete
        assert bea.reveal(gone).complete
        profile = Profile.objects.get(member=bea.user)
        assert profile.signature == ("yours, bea" if own else "[deleted]")
        assert own or profile in followed
        assert [each.profile for each in Follower.objects.all()] == [profile, profile]
        assert Profile.objects.count() == 3
        assert bea.history() == []
        assert not nobodies()


class Unfollowed(Disguise):
    """Followers go, and what they follow stays."""

    name = "test.unfollowed"
    transformations = [Remove(Follower, owner="profile__member")]


@pytest.mark.once
@pytest.mark.parametrize("own", [True, False])
def test_what_hung_on_one_that_stays_follows_from_its_bag(carl: Person, own: bool) -> None:
    bea = member("bea", profile=own)
    with registering(Unfollowed):
        receipt = bea.disguise("forum.anonymise")
        first, *_ = nobodies()
        Follower.objects.create(profile=first.profile, member=carl.user)
        gone = bea.disguise("test.unfollowed", with_key=True)
        assert bea.reveal(receipt).complete
        assert bea.reveal(gone).complete
        assert Follower.objects.get().profile.member == bea.user
        assert Profile.objects.count() == 2


@pytest.mark.once
def test_nobody_is_swept_whose_companion_a_sealed_row_may_name(bea: Person, carl: Person) -> None:
    """One that is made again has another key: what hung on it would wait for it for ever."""
    with registering(Unfollowed, Clear):
        receipt = bea.disguise("forum.anonymise")
        first, *_ = Member.objects.filter(posts__isnull=False, pk__lt=0)
        Follower.objects.create(profile=first.profile, member=carl.user)
        gone = [bea.disguise(name, with_key=True) for name in ("test.unfollowed", "test.clear")]
        call_command("edna_sweep", "--made-by-hand")
        for each in (*gone, receipt):
            assert bea.reveal(each).complete
        assert Follower.objects.get().profile == bea.user.profile


@pytest.mark.once
def test_without_an_own_one_it_is_deleted_all_the_same(carl: Person) -> None:
    dora = member("dora", profile=False)
    with registering(Dropping):
        before, tables = application_dump(), edna_dump()
        receipt = dora.disguise("test.dropping")
        Follower.objects.create(profile=nobodies()[0].profile, member=carl.user)
        gone = dora.disguise("forum.leave", with_key=True)
        assert dora.reveal(receipt).complete
        assert dora.reveal(gone).complete
        assert (application_dump(), edna_dump()) == (before, tables)
        receipt = dora.disguise("test.dropping")
        Follower.objects.create(profile=nobodies()[0].profile, member=carl.user)
        assert dora.reveal(receipt).complete
        assert (application_dump(), edna_dump()) == (before, tables)


@pytest.mark.once
@pytest.mark.parametrize("own", [True, False])
def test_what_is_to_stay_keeps_companion_and_pseudoprincipal(carl: Person, own: bool) -> None:
    bea = member("bea", profile=own)
    with registering(Keeping):
        receipt = bea.disguise("test.keeping")
        first, *_ = nobodies()
        Follower.objects.create(profile=first.profile, member=carl.user)
        assert bea.reveal(receipt).complete
        assert nobodies() == [first]
        assert Follower.objects.get().profile.member == first
        assert Settings.objects.filter(member=first).exists()


@pytest.mark.once
def test_what_is_to_stay_stays_from_its_bag(bea: Person, carl: Person) -> None:
    """Also if the companion is sealed with it."""
    with registering(Keeping, Shed):
        receipt = bea.disguise("test.keeping")
        first, *_ = nobodies()
        Follower.objects.create(profile=first.profile, member=carl.user)
        shed = bea.disguise("test.shed", with_key=True)
        assert bea.reveal(receipt).complete
        assert nobodies() == [first]
        assert bea.reveal(shed).complete
        assert Follower.objects.get().profile.member == first


def test_the_sweep_takes_them_along_and_a_reveal_makes_them_again(bea: Person, carl: Person) -> None:
    """Without a row that refers to it, a pseudoprincipal is an orphan: its companions do not hold it."""
    Post.objects.all().delete()
    bea.disguise("forum.anonymise")
    first, *_ = Member.objects.filter(topics__isnull=False, pk__lt=0)
    Follower.objects.create(profile=first.profile, member=carl.user)
    Topic.objects.exclude(starter__pk=carl.user.pk).delete()
    call_command("edna_sweep", "--made-by-hand")
    assert nobodies() == [first]  # somebody follows its profile
    Follower.objects.all().delete()
    call_command("edna_sweep", "--made-by-hand")
    assert not nobodies()
    assert Profile.objects.count() == Settings.objects.count() == 2


@pytest.mark.once
def test_one_that_is_made_again_has_them_but_for_those_that_are_sealed(bea: Person, carl: Person) -> None:
    before = application_dump()
    receipt = bea.disguise("forum.anonymise")
    left = bea.disguise("forum.leave", with_key=True)
    call_command("edna_sweep", "--made-by-hand")
    assert bea.reveal(left).complete
    assert Profile.objects.count() == Settings.objects.count() == 2 + 6
    assert bea.reveal(receipt).complete
    assert application_dump() == before


class Mask(Disguise):
    """Of the accounts themselves, and of what is beside them."""

    name = "test.mask"
    transformations = [
        Modify(Member, set={"email": "nobody@example.org"}),
        Modify(Profile, owner="member", set={"signature": "masked"}),
        Modify(Settings, owner="member", set={"theme": "grey"}),
    ]


@pytest.mark.once
def test_what_changed_in_one_that_was_swept_needs_nothing_to_come_back(bea: Person, carl: Person) -> None:
    with registering(Mask):
        before = application_dump()
        receipts = [bea.disguise("forum.anonymise"), bea.disguise("forum.anonymise", with_key=True)]
        receipts.append(bea.disguise("test.mask", with_key=True))
        assert residue.sweep(made_by_hand=True).pseudoprincipals == 6
        with bea.unlock() as unlocked:
            assert edna.history(unlocked)[0].counts == OWN["test.mask"]
        for receipt in reversed(receipts):
            assert bea.reveal(receipt).complete
        assert application_dump() == before


@pytest.mark.once
def test_what_others_have_deleted_is_held_as_ever(bea: Person) -> None:
    """Hers was no placeholder's."""
    receipt = bea.disguise("forum.hush")
    Profile.objects.all().delete()
    assert [held.reason for held in bea.reveal(receipt).held] == [edna.Reason.ROW_MISSING]


@pytest.mark.once
def test_a_page_that_makes_what_is_missing_stands_in_nobodys_way(bea: Person, carl: Person) -> None:
    """Of a kind of which everybody has one, and of which the specification has said nothing: the owner's own stays."""
    own = Watch.objects.create(member=bea.user, level=3)
    before = application_dump()
    receipt = bea.disguise("forum.anonymise")
    for nobody in nobodies():
        Watch.objects.get_or_create(member=nobody)
    assert bea.reveal(receipt).complete
    assert list(Watch.objects.all()) == [own]
    assert application_dump() == before


@pytest.mark.once
def test_without_one_of_their_own_the_owner_gets_one(bea: Person) -> None:
    receipt = bea.disguise("forum.anonymise")
    for nobody in nobodies():
        Watch.objects.get_or_create(member=nobody)
    assert bea.reveal(receipt).complete
    assert Watch.objects.get().member == bea.user


@pytest.mark.once
@pytest.mark.parametrize("newest_first", [True, False])
def test_what_a_page_made_and_a_later_disguise_removed_stands_in_nobodys_way(bea: Person, newest_first: bool) -> None:
    Watch.objects.create(member=bea.user, level=3)
    before, tables = application_dump(), edna_dump()
    receipts = [bea.disguise("forum.anonymise")]
    for nobody in nobodies():
        Watch.objects.get_or_create(member=nobody)
    receipts.append(bea.disguise("forum.leave", with_key=True))
    assert not Watch.objects.exists()
    for receipt in reversed(receipts) if newest_first else receipts:
        assert bea.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


def test_pseudoprincipals_of_sessions_have_them_too(bea: Person) -> None:
    with by_hand():
        before = application_dump()
        with edna.session(bea.user, "test.by-hand") as session:
            nobody = session.new_pseudoprincipal()
            session.decorrelate(Post.objects.filter(author=bea.user), "author", to=nobody)
        assert nobody.profile.signature == "[deleted]"
        assert session.receipt is not None
        assert bea.reveal(session.receipt).complete
        assert application_dump() == before


@pytest.mark.parametrize("mode", ["negative", "random", "sequence"])
def test_keys_of_every_mode(mode: str, bea: Person, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": mode}
    before = application_dump()
    receipt = bea.disguise("forum.anonymise")
    assert all(nobody.settings and nobody.profile for nobody in nobodies())
    assert bea.reveal(receipt).complete
    assert application_dump() == before


@pytest.mark.once
def test_each_table_takes_one_statement_however_many_there_are() -> None:
    def made(people: int) -> list[str]:
        sent = statements(lambda: factory.make(Nobody, Member, [(people, None)], using="default"))
        return [sql for sql in sent if "INSERT INTO" in sql]

    assert len(made(2)) == len(made(40)) == 4


@pytest.mark.once
def test_the_number_of_statements_of_a_reveal_does_not_depend_on_them() -> None:
    def taken(name: str, topics: int) -> tuple[int, int]:
        person = member(name, topics=topics)
        receipts: list[edna.Receipt] = []
        there = statements(lambda: receipts.append(person.disguise("forum.anonymise")))
        return len(there), len(statements(lambda: person.reveal(receipts[0])))

    assert taken("few", 2) == taken("many", 15)


@pytest.mark.once
def test_the_checks_have_nothing_to_say_of_the_forum() -> None:
    assert [each for each in run_checks(tags=["edna"]) if "forum" in f"{each.obj} {each.msg}".lower()] == []


class Strip(Disguise):
    """Settings alone, whoever's they are now."""

    name = "test.strip"
    transformations = [Remove(Settings, owner="member")]


class Clear(Disguise):
    """Posts alone."""

    name = "test.clear"
    transformations = [Remove(Post, owner="author")]


@pytest.mark.once
def test_a_companion_that_lies_in_another_bag_is_not_made_again(bea: Person, carl: Person) -> None:
    """It comes back by itself, when that one is revealed."""
    with registering(Strip, Clear):
        before = application_dump()
        anonymous = bea.disguise("forum.anonymise")
        stripped = bea.disguise("test.strip", with_key=True)
        cleared = bea.disguise("test.clear", with_key=True)
        assert residue.sweep(made_by_hand=True).pseudoprincipals
        for receipt in (cleared, stripped, anonymous):
            assert bea.reveal(receipt).complete
        assert application_dump() == before


@pytest.mark.once
def test_companions_that_lie_in_several_chunks_are_not_made_again(bea: Person, carl: Person) -> None:
    """Those of the chunk that comes back first make its pseudoprincipal again; the others come back after them."""
    with registering(Shed, Clear):
        before = application_dump()
        anonymous = bea.disguise("forum.anonymise")
        with cut_into_chunks(1):
            shed = bea.disguise("test.shed", with_key=True)
        cleared = bea.disguise("test.clear", with_key=True)
        assert residue.sweep(made_by_hand=True).pseudoprincipals
        for receipt in (shed, cleared, anonymous):
            assert bea.reveal(receipt).complete
        assert application_dump() == before


@pytest.mark.once
def test_what_hangs_on_one_waits_for_every_chunk_of_what_is_beside_the_owner(bea: Person, carl: Person) -> None:
    """Her settings come back first, with one chunk, and her profile with another."""
    with registering(Shed):
        receipt = bea.disguise("forum.anonymise")
        first, *_ = nobodies()
        Follower.objects.create(profile=first.profile, member=carl.user)
        with cut_into_chunks(1):
            shed = bea.disguise("test.shed")
        assert bea.reveal(receipt).complete
        assert bea.reveal(shed).complete
        assert Follower.objects.get().profile == bea.user.profile
        assert not nobodies()


@pytest.mark.once
def test_what_hangs_on_one_waits_for_the_chunks_behind_that_of_the_account(bea: Person, carl: Person) -> None:
    """Her posts name her again once the account is there, with the first chunk that comes back; her profile is in another one."""
    before, tables = application_dump(), edna_dump()
    receipt = bea.disguise("forum.anonymise")
    first, *_ = nobodies()
    follower = Follower.objects.create(profile=first.profile, member=carl.user)
    with cut_into_chunks(1):
        left = bea.disguise("forum.leave")
    assert bea.reveal(receipt).complete
    assert bea.reveal(left).complete
    assert Follower.objects.get().profile == bea.user.profile
    follower.delete()
    assert (application_dump(), edna_dump()) == (before, tables)


@pytest.mark.once
def test_in_chunks_what_is_beside_somebody_is_back_before_their_name(bea: Person, carl: Person) -> None:
    """So what hangs on a companion finds her own."""
    with cut_into_chunks(1):
        left = bea.disguise("forum.leave")
    for number, nobody in enumerate(nobodies()):
        Follower.objects.create(profile=nobody.profile, member=member(f"reader {number}", topics=0).user)
    assert bea.reveal(left).complete
    assert [each.profile for each in Follower.objects.all()] == [bea.user.profile] * 6
