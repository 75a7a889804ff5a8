"""Audiences of a site with two databases: `python -m tests.shards.audiences STORY ...`, as `run` tells its own.

In both databases the first member has the same primary key, the same name and the same words; there may be an audience of the same name,
with the same people in it, who have the same keys.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import django

django.setup()

import pytest  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib.admin.models import LogEntry  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import CommandError, call_command  # noqa: E402
from django.db.models import Model  # noqa: E402
from django.test import Client, override_settings  # noqa: E402

import edna  # noqa: E402
from edna import audiences, errors, inner_door, registry  # noqa: E402
from edna.api_http.answers import refusal  # noqa: E402
from edna.audiences import tags  # noqa: E402
from edna.audiences.models import (  # noqa: E402
    AudienceName,
    AudienceUpdate,
    HeldCopy,
    HoldNotice,
    HoldPart,
    HoldRequest,
    SharedSecret,
)
from edna.models import Bag  # noqa: E402
from edna.operations import audit  # noqa: E402
from edna.operations.upkeep.health import health  # noqa: E402
from tests.custody.browser import refused_as  # noqa: E402
from tests.handing import Browser, as_sent  # noqa: E402
from tests.shards import browsers  # noqa: E402
from tests.shards.pages import hidden, operator, shown  # noqa: E402
from tests.shards.run import (  # noqa: E402
    PASSWORD,
    SHARDS,
    away,
    both,
    everything,
    manage,
    member,
    refused,
    tell,
    untouched,
    untouched_rows,
)
from tests.upgrades.club.models import Note  # noqa: E402

stories: dict[str, Callable[[], None]] = {}

#: Whatever says who is in an audience, and what its members open.
OF_AUDIENCES = (AudienceUpdate, AudienceName, SharedSecret)


class Held(edna.Disguise):
    """Takes notes away from who wrote them; two stewards can read whose they were."""

    name = "club.veil-held"
    self_service = True
    audience = "stewards"
    together = 2
    transformations = [*registry.get("club.veil").steps()]

    @classmethod
    def is_offered(cls) -> bool:
        return audiences.is_usable("stewards")


def story(each: Callable[[], None]) -> Callable[[], None]:
    def told() -> None:
        edna.register(Held)
        try:
            each()
        finally:
            registry.unregister(Held)

    stories[each.__name__] = told
    return told


class Stewards:
    """Some people who have keys of members; and what they call themselves."""

    def __init__(self, *names: str) -> None:
        self.new = {name: audiences.new_member() for name in names}

    def __getitem__(self, name: str) -> Any:
        return self.new[name].secret_key

    @property
    def cards(self) -> Mapping[str, str]:
        return {name: each.card for name, each in self.new.items()}

    def found(self, alias: str) -> None:
        """The audience of this database."""
        with edna.on(alias):
            audiences.create("stewards", self[next(iter(self.new))], self.cards, together=2)

    def read(self, about: Model, *, by: tuple[str, str] = ("ada", "bob")) -> list[audiences.HeldData]:
        number = audiences.ask("stewards", self[by[0]], about, reason="case 12")
        audiences.agree(number, self[by[1]])
        return audiences.read(number, self[by[0]])


def in_both() -> Stewards:
    """The same three in both databases."""
    found = Stewards("ada", "bob", "cyd")
    for alias in SHARDS:
        found.found(alias)
    return found


def veiled(*people: User) -> list[edna.Receipt]:
    for person in people:
        edna.register_principal(person, password=f"{PASSWORD} in the {person._state.db}")
    return [edna.disguise(Held.name, person) for person in people]


def copied(model: type[Any], *, changed: Mapping[str, Any] | None = None) -> list[Any]:
    """Rows of the north, put into the south by somebody who writes to both."""
    rows = list(model._base_manager.using("north").order_by("pk"))
    for row in rows:
        for name, value in (changed or {}).items():
            setattr(row, name, value)
        row.save(using="south", force_insert=True)
    return rows


# An attacker's eye


@story
def who_has_the_same_primary_key_elsewhere_is_not_who_was_asked_about() -> None:
    """Also where the same people have one key for both audiences: the row that they ask about says which."""
    stewards, people = in_both(), both()
    veiled(*people)
    for alias, person in zip(SHARDS, people, strict=True):
        other = "south" if alias == "north" else "north"
        with untouched(other):
            number = audiences.ask("stewards", stewards["ada"], person, reason="case 12")
        with untouched_rows(other, without=""):
            audiences.agree(number, stewards["bob"])
            (held,) = audiences.read(number, stewards["ada"])
        assert (held.database, held.model, held.reference) == (alias, "auth.user", "5")
        assert {values["author"] for model, _, values in held.rows if model == "club.note"} == {5}
        assert {values["id"] for model, _, values in held.rows if model == "club.note"} == set(
            Note.objects.using(alias).values_list("pk", flat=True)
        )
    alone = member("south", "dan", key=6)
    gus = member("north", "gus", key=6)
    veiled(gus)
    with refused(errors.HeldCopyRefused, "Nothing about auth.user 6", "'south'"):
        audiences.ask("stewards", stewards["ada"], alone, reason="curious")


@story
def a_member_in_the_wrong_database_is_none() -> None:
    """Two audiences of one name: who is in one has no part in what the other opens, whatever they call."""
    north, south = Stewards("ada", "bob"), Stewards("ada", "bob", "cyd")
    for alias, each in zip(SHARDS, (north, south), strict=True):
        each.found(alias)
    person, _ = people = both()
    veiled(*people)
    number = audiences.ask("stewards", north["ada"], person, reason="case 12")
    new = audiences.new_member()
    with edna.on("south"):
        (gone, *_) = (each.id for each in audiences.members("stewards"))
    with edna.on("north"):
        (ada, *_) = (each.id for each in audiences.members("stewards"))
    attempts: list[Callable[[], object]] = [
        lambda: audiences.ask("stewards", south["ada"], person, reason="curious"),
        lambda: audiences.agree(number, south["bob"]),
        lambda: audiences.read(number, south["ada"]),
    ]
    named: list[Callable[[], object]] = [
        lambda: audiences.join("stewards", south["ada"], "eve", new.card),
        lambda: audiences.leave("stewards", south["ada"], ada),
        lambda: audiences.hand_on("stewards", south["ada"]),
        lambda: audiences.secret_keys("stewards", south["ada"]),
        lambda: audiences.member("stewards", south["ada"]),
    ]
    for attempt in attempts:
        with refused(errors.NotInAudience):
            attempt()
    for attempt in named:
        with edna.on("north"), refused(errors.NotInAudience):
            attempt()
    with edna.on("north"), refused(errors.AudienceRefused):
        audiences.leave("stewards", north["ada"], gone)
    with edna.on("south"):
        for use in (audiences.agree, audiences.read):
            with refused(errors.HeldCopyRefused, f"no request {number}", "'south'"):
                use(number, south["ada"])
        with refused(errors.DatabaseNotChosen, "'north'", "'south' is at work"):
            audiences.ask("stewards", south["ada"], person, reason="curious")
    # What a member of both does in one is for that one alone.
    with edna.on("north"):
        audiences.join("stewards", north["ada"], "cyd", south.new["cyd"].card)
        for name in ("ada", "bob"):
            audiences.hand_on("stewards", north[name])
    with refused(errors.NotInAudience):
        audiences.agree(number, south["bob"])
    audiences.agree(number, south["cyd"])
    with edna.on("south"):
        assert audiences.requests("stewards") == []


@story
def an_audience_that_was_copied_from_the_other_database_is_none_there() -> None:
    """Who writes to two databases does not make the members of one those of the other: nothing is sealed to them, nobody reads."""
    stewards = Stewards("ada", "bob", "cyd")
    stewards.found("north")
    _, south = both()
    edna.register_principal(south)
    assert not _is_usable("south")
    for number in range(len(OF_AUDIENCES)):
        for model in OF_AUDIENCES[: number + 1]:
            copied(model)
        with edna.on("south"):
            if number < len(OF_AUDIENCES) - 1:
                # An audience without shares is as none to a disguise.
                with refused(errors.AudienceUnknown, "'south'"):
                    edna.disguise(Held.name, south)
            else:
                with refused(errors.AudienceForged, "edna_audiences_sharedsecret", "'south'"):
                    edna.disguise(Held.name, south)
                with pytest.raises(errors.AudienceForged):
                    audiences.is_usable("stewards")
            for ask in (audiences.members, audiences.public_key):
                with refused(errors.AudienceForged, "edna_audiences_audienceupdate", "'south'"):
                    ask("stewards")
            with refused(errors.AudienceForged):
                audiences.hand_on("stewards", stewards["ada"])
        if number < len(OF_AUDIENCES) - 1:
            for model in OF_AUDIENCES:
                model._base_manager.using("south").all().delete()
    with pytest.raises(CommandError) as caught:
        manage("edna_verify", "--database", "south")
    assert caught.value.returncode in (3, 4)
    for kind in ("audience_updates", "audience_names", "audience_shares"):
        assert _findings("south")[kind] > 0
        assert kind not in _findings("north")
    assert _is_usable("north")


def _is_usable(alias: str) -> bool:
    with edna.on(alias):
        return audiences.is_usable("stewards")


def _findings(alias: str) -> dict[str, int]:
    printed = io.StringIO()
    with contextlib.suppress(CommandError):
        call_command("edna_verify", "--json", "--database", alias, stdout=printed, stderr=io.StringIO())
    return {each["kind"]: each["count"] for each in json.loads(printed.getvalue())["findings"]}


@story
def shares_that_were_copied_to_the_other_database_open_nothing_there() -> None:
    """Each audience has shares of its own, also with the same members: in place of those of the south, those of the north are refused."""
    stewards, people = in_both(), both()
    veiled(*people)
    number = audiences.ask("stewards", stewards["ada"], people[1], reason="case 12")
    kept = list(SharedSecret.objects.using("south"))
    SharedSecret.objects.using("south").all().delete()
    copied(SharedSecret)
    with refused(errors.AudienceForged, "'south'"):
        audiences.agree(number, stewards["bob"])
    with refused(errors.AudienceForged, "'south'"):
        edna.disguise(Held.name, people[1])
    with edna.on("south"), refused(errors.AudienceForged, "'south'"):
        audiences.hand_on("stewards", stewards["ada"])
    SharedSecret.objects.using("south").all().delete()
    for row in kept:
        row.save(using="south", force_insert=True)
    audiences.agree(number, stewards["bob"])
    (held,) = audiences.read(number, stewards["ada"])
    assert held.database == "south"


@story
def a_copy_that_was_moved_to_the_other_database_says_nothing_of_who_is_there() -> None:
    """With its bag: what somebody of the north has hidden is not said to be of who has their primary key in the south."""
    stewards, (north, south) = in_both(), both()
    veiled(north)
    edna.register_principal(south)
    for model in (Bag, HeldCopy):
        copied(model)
    with refused(errors.HeldCopyRefused, "Nothing about auth.user 5", "'south'"):
        audiences.ask("stewards", stewards["ada"], south, reason="case 12")
    # Nor at a place at which it is looked for: somebody has seen where one of theirs lay.
    places = inner_door.places_of_copies(("auth.user", "5"), 0, using="south")
    assert places[0] not in inner_door.places_of_copies(("auth.user", "5"), 0, using="north")
    for place in places:
        HeldCopy.objects.using("south").all().delete()
        for row in HeldCopy.objects.using("north").all()[:1]:
            row.place = place
            row.save(using="south", force_insert=True)
        with refused(errors.AudienceForged, "'south'"):
            audiences.ask("stewards", stewards["ada"], south, reason="case 12")
    with pytest.raises(CommandError):
        manage("edna_verify", "--database", "south")
    HeldCopy.objects.using("south").all().delete()
    # Nor one that lies where it lay when there was one database, which is the same place in each.
    before = inner_door.places_of_copies(("auth.user", "5"), 0, using="north")[-1]
    row = HeldCopy.objects.using("north").first()
    assert row is not None
    row.place = before
    tags.give([row], using="north")
    row.save(using="north")
    copied(HeldCopy)
    with refused(errors.AudienceForged, "'south'"):
        audiences.ask("stewards", stewards["ada"], south, reason="case 12")


@story
def copies_of_two_people_with_one_primary_key_have_nothing_in_common() -> None:
    """Whoever has the tables of both does not see that something is held about the same primary key."""
    in_both()
    veiled(*both())
    seen = [
        {
            bytes(value)
            for row in HeldCopy.objects.using(alias).values_list("place", "mark", "shared_by", "tag")
            for value in row
        }
        for alias in SHARDS
    ]
    assert all(seen)
    assert not seen[0] & seen[1]


@story
def a_request_that_was_copied_to_the_other_database_is_asked_for_in_its_own() -> None:
    stewards, (north, south) = in_both(), both()
    veiled(north, south)
    number = audiences.ask("stewards", stewards["ada"], north, reason="case 12")
    for changed in ({}, {"reason": "of somebody else"}):
        copied(HoldRequest, changed=changed)
        with untouched_rows("south", without=""):
            audiences.agree(number, stewards["bob"])
            (held,) = audiences.read(number, stewards["ada"])
        assert held.database == "north"
        with edna.on("south"):
            with refused(errors.AudienceForged, "'south'"):
                audiences.agree(number, stewards["bob"])
            with refused(errors.AudienceForged, "'south'"):
                audiences.requests("stewards")
        HoldRequest.objects.using("south").all().delete()
    copied(HoldRequest)
    copied(HoldPart)
    HoldRequest.objects.using("north").all().delete()
    for use in (audiences.agree, audiences.read):
        with refused(errors.AudienceForged, "edna_audiences_holdrequest", "'south'"):
            use(number, stewards["ada"])


@story
def a_part_that_was_copied_to_the_other_database_is_no_part_there() -> None:
    """Nor a member's name: who has agreed to read in the north has not agreed to anything in the south."""
    stewards, (north, south) = in_both(), both()
    veiled(north, south)
    first = audiences.ask("stewards", stewards["ada"], north, reason="case 12")
    audiences.agree(first, stewards["bob"])
    second = audiences.ask("stewards", stewards["ada"], south, reason="case 12")
    own = HoldPart.objects.using("south").get().member
    for row in HoldPart.objects.using("north").exclude(member=own):
        row.request = second
        row.save(using="south", force_insert=True)
    with pytest.raises(errors.EdnaError) as caught:
        audiences.read(second, stewards["ada"])
    assert isinstance(caught.value, errors.TooFewTogether | errors.ShareRefused), caught.value
    assert not HoldNotice.objects.using("south").exists()
    audiences.agree(second, stewards["bob"])
    (held,) = audiences.read(second, stewards["ada"])
    assert held.database == "south"


@story
def a_name_is_guessed_in_no_database() -> None:
    """What names an audience alone is told where; nothing is sent to any."""
    stewards, card = in_both(), audiences.new_member().card
    key = stewards["ada"]
    calls: list[Callable[[], object]] = [
        lambda: audiences.create("more", key, stewards.cards),
        lambda: audiences.join("stewards", key, "dan", card),
        lambda: audiences.leave("stewards", key, bytes(16)),
        lambda: audiences.hand_on("stewards", key),
        lambda: audiences.member("stewards", key),
        lambda: audiences.members("stewards"),
        lambda: audiences.secret_keys("stewards", key),
        lambda: audiences.public_key("stewards"),
        lambda: audiences.is_there("stewards"),
        lambda: audiences.is_usable("stewards"),
        lambda: audiences.requests("stewards"),
        lambda: audiences.delete("stewards"),
        lambda: audiences.ask("stewards", key, User(pk=5), reason="case 12"),
    ]
    for call in calls:
        with untouched("north"), untouched("south"), pytest.raises(errors.DatabaseNotChosen, match="'north', 'south'"):
            call()
    olga = User.objects.db_manager("default").create_user("olga", pk=5)
    with refused(errors.PrincipalError, "'default'"):
        audiences.ask("stewards", key, olga, reason="case 12")
    for use in (audiences.agree, audiences.read):
        with refused(errors.HeldCopyRefused, "no request 1"):
            use(1, key)


# When one is away


@story
def a_database_that_is_away_keeps_no_member_of_the_others_out() -> None:
    stewards, people = in_both(), both()
    veiled(*people)
    numbers = {
        person._state.db: audiences.ask("stewards", stewards["ada"], person, reason="case 12") for person in people
    }
    for person in people:
        alias = person._state.db
        other = "south" if alias == "north" else "north"
        with away(other):
            audiences.agree(numbers[alias], stewards["bob"])
            (held,) = audiences.read(numbers[alias], stewards["ada"])
            assert held.database == alias
            new = audiences.new_member()
            with edna.on(alias):
                audiences.join("stewards", stewards["ada"], "dan", new.card)
                assert [audiences.hand_on("stewards", stewards[name]) for name in ("ada", "bob")] == [False, True]
                audiences.leave("stewards", stewards["ada"], audiences.member("stewards", new.secret_key).id)
            assert audiences.ask("stewards", stewards["bob"], person, reason="case 13")
            assert edna.disguise(Held.name, person)
            for number in (numbers[other], 1):
                for use in (audiences.agree, audiences.read):
                    with pytest.raises(errors.DatabaseBusy, match=f"do not answer: '{other}'"):
                        use(number, stewards["ada"])
            assert "stewards" in manage("edna_audiences", "list", "--database", alias)
            with pytest.raises(CommandError, match=f"^{other}: The database refused"):
                manage("edna_audiences", "list")


# A member's day


@story
def members_of_each_database_do_all_that_members_do() -> None:
    """And nothing of it is read or written in the other one, but for where a request is looked for."""
    keys = {}
    for alias in SHARDS:
        other = "south" if alias == "north" else "north"
        stewards = Stewards("ada", "bob", "cyd")
        person = member(alias, "bea", key=5)
        before = everything(alias)
        with untouched(other):
            stewards.found(alias)
            keys[alias] = edna.register_principal(person, password=f"{PASSWORD} in the {alias}")
            receipt = edna.disguise(Held.name, person)
            note = Note.objects.using(alias).first()
            assert note is not None
            assert note.author != person
            # About the placeholder that stands there now.
            number = audiences.ask("stewards", stewards["ada"], note.author, reason=f"case of the {alias}")
        with untouched_rows(other, without=""):
            audiences.agree(number, stewards["cyd"])
            (held,) = audiences.read(number, stewards["ada"])
        assert (held.database, held.reference) == (alias, "5")
        with edna.on(alias), untouched(other):
            (request,) = audiences.requests("stewards")
            assert (request.database, request.asked_by, request.uses) == (alias, "ada", 1)
            (entry, *_) = audit.entries(most=1)
            assert (entry.action, entry.operator) == ("held-data-read", "ada")
            dan = audiences.new_member()
            audiences.join("stewards", stewards["ada"], "dan", dan.card)
            assert [audiences.hand_on("stewards", stewards[name]) for name in ("ada", "bob")] == [False, True]
            audiences.leave("stewards", dan.secret_key, audiences.member("stewards", stewards["ada"]).id)
            assert [audiences.hand_on("stewards", key) for key in (stewards["bob"], dan.secret_key)] == [False, True]
            assert [each.name for each in audiences.members("stewards") if each.has_share] == ["bob", "cyd", "dan"]
            assert audiences.secret_keys("stewards", dan.secret_key)[0].public_key == audiences.public_key("stewards")
            with pytest.raises(errors.NotInAudience):
                audiences.ask("stewards", stewards["ada"], person, reason="case 13")
        second = audiences.ask("stewards", dan.secret_key, person, reason="case 13")
        audiences.agree(second, stewards["bob"])
        assert audiences.read(second, dan.secret_key)[0].database == alias
        made = keys[alias]
        with edna.unlock(secret_key=made.secret_key) as unlocked, untouched(other):
            assert {use.reason for use in audiences.uses(unlocked)} == {f"case of the {alias}", "case 13"}
            renewed = edna.rotate(unlocked, password=PASSWORD)
        third = audiences.ask("stewards", dan.secret_key, person, reason="case 14")
        audiences.agree(third, stewards["bob"])
        assert audiences.read(third, dan.secret_key)
        with edna.unlock(secret_key=renewed.secret_key) as unlocked, untouched(other):
            assert edna.reveal(receipt, unlocked).complete
        assert everything(alias) == before
        assert not HeldCopy.objects.using(alias).exists()
        with refused(errors.BagMissing):
            audiences.read(third, dan.secret_key)
    manage("edna_verify")


@story
def a_member_with_an_account_in_another_database_is_as_any() -> None:
    """A member is a key, and no account: who reads in the north may be somebody of the south, or an operator, with any primary key."""
    ada, bob = member("south", "ada", key=5), User.objects.db_manager("default").create_user("bob", pk=6)
    stewards, person = Stewards(ada.username, bob.username), member("north", "bea", key=5)
    stewards.found("north")
    veiled(person)
    with untouched_rows("south", without=""):
        (held,) = stewards.read(person)
    assert (held.database, held.reference) == ("north", "5")
    # And what becomes of her own account is nothing to the audience.
    edna.register_principal(ada)
    with untouched("north"):
        edna.disguise("club.veil", ada)
    assert stewards.read(person)


@story
def about_somebody_whose_row_is_gone_it_is_asked_where_they_were() -> None:
    class Gone(edna.Disguise):
        name = "club.leave-held"
        audience = "stewards"
        together = 2
        transformations = [edna.Remove(LogEntry, owner="user"), *registry.get("club.leave").steps()]

    edna.register(Gone)
    try:
        stewards, (north, south) = in_both(), both()
        edna.register_principal(north)
        edna.disguise(Gone.name, north)
        assert not User.objects.using("north").exists()
        with edna.on("north"), untouched("south"):
            number = audiences.ask("stewards", stewards["ada"], User(pk=5), reason="case 12")
        audiences.agree(number, stewards["bob"])
        (held,) = audiences.read(number, stewards["ada"])
        assert (held.database, held.reference) == ("north", "5")
        with edna.on("south"), refused(errors.HeldCopyRefused, "'south'"):
            audiences.ask("stewards", stewards["ada"], User(pk=5), reason="case 12")
        assert User.objects.using("south").get() == south
    finally:
        registry.unregister(Gone)


@story
def a_disguise_that_declares_an_audience_needs_one_where_its_person_is() -> None:
    stewards = Stewards("ada", "bob")
    stewards.found("north")
    north, south = both()
    for person in (north, south):
        edna.register_principal(person)
    with refused(errors.AudienceUnknown, "'south'"):
        edna.disguise(Held.name, south)
    assert edna.disguise(Held.name, north)
    with edna.on("south"), refused(errors.AudienceUnknown, "'south'"):
        edna.disguise_all(Held.name)
    printed = manage("edna_plan", Held.name, "--all")
    assert printed.index("north:") < printed.index("south:")


@story
def a_job_for_everybody_is_held_for_the_audience_of_each_database() -> None:
    stewards = in_both()
    people = {alias: [member(alias, f"{alias}-{key}", key=key) for key in (5, 6, 7)] for alias in SHARDS}
    for alias in SHARDS:
        edna.register_principals(people[alias])
    manage("edna_disguise", Held.name, "--all", "--job", "--yes", operator="olga")
    for alias in SHARDS:
        for person in people[alias]:
            (held,) = stewards.read(person)
            assert (held.database, held.reference) == (alias, str(person.pk))
    with edna.on("south"):
        assert audiences.delete("stewards", lose_held=True) > 0
    for alias in SHARDS:
        Note.objects.using(alias).create(author=people[alias][0], text="later")
    with pytest.raises(CommandError, match=r"^south: "):
        manage("edna_disguise", Held.name, "--all", "--yes", operator="olga")
    assert Note.objects.using("south").get(text="later").author == people["south"][0]
    assert Note.objects.using("north").get(text="later").author != people["north"][0]
    assert len(stewards.read(people["north"][0])) == 2


@story
def one_audience_is_deleted_in_one_database() -> None:
    stewards, people = in_both(), both()
    veiled(*people)
    with edna.on("south"), untouched_rows("north", without=""):
        with refused(errors.AudienceInUse):
            audiences.delete("stewards")
        assert audiences.delete("stewards", operator="olga", lose_held=True) > 0
        assert not audiences.is_there("stewards")
    assert stewards.read(people[0])
    manage("edna_verify")


# People, and operators


@story
def people_hide_something_by_the_pages_and_are_told_who_has_read_it() -> None:
    """Each where they are: an audience of the other database is none of theirs, and no page says that there is another one."""
    stewards = Stewards("ada", "bob")
    stewards.found("south")
    people = dict(zip(SHARDS, both(), strict=True))
    clients = {alias: Client() for alias in SHARDS}
    for alias, client in clients.items():
        edna.register_principal(people[alias], password="login")
        client.force_login(people[alias], backend=f"tests.shards.backends.{alias.capitalize()}")
    told = [shown(clients["south"].get("/privacy/")), shown(clients["north"].get("/privacy/"))]
    address = f"/privacy/do/{Held.name}/"
    assert [address in page for page in told] == [True, False]
    assert "“stewards”" in told[0]
    assert clients["north"].get(address).status_code == 404
    with untouched_rows("north"):
        told.append(shown(clients["south"].get(address)))
        told.append(shown(clients["south"].post(address, {**hidden(told[-1]), "password": "login"}, follow=True)))
        assert not Note.objects.using("south").filter(author=5).exists()
        receipt = re.search(r"edna1:club\.veil-held:\w+", told[-1])
        assert receipt is not None
        assert stewards.read(people["south"])
        given = {"receipt": receipt[0], "password": "login"}
        told.append(shown(clients["south"].post("/privacy/back/", given, follow=True)))
    assert "case 12" in told[-1]
    assert Note.objects.using("south").filter(author=5).count() == 2
    for page in told:
        assert not any(word in page.lower() for word in (*SHARDS, "database")), page


@story
def of_somebody_whose_key_stays_in_a_browser_it_is_read_and_they_are_told() -> None:
    """No request names a database, and no answer does."""
    stewards = Stewards("ada", "bob")
    with override_settings(EDNA={**settings.EDNA, "CUSTODY": "browser"}, ROOT_URLCONF="tests.shards.browsers"):
        people = browsers.registered_both()
        person, key = people["south"]
        browser = browsers.browser_of(person)
        voices = as_sent(Browser(key, using="south").for_disguise())

        def leave() -> Any:
            with untouched("north"):
                return browser.act("graph/disguise", {"disguise": Held.name, "handed": voices}, key)

        stewards.found("north")  # of which who is in the south has nothing
        assert refused_as(leave()) == (404, "RequestRefused")
        stewards.found("south")
        left = leave()
        assert left.status_code == 200, left.content
        (held,) = stewards.read(person)
        assert held.database == "south"
        sent = browsers.handed(key, edna.Receipt.parse(left.json()["receipt"]), using="south")
        form = {
            "receipt": sent["receipt"],
            "handed": json.dumps(sent["handed"]),
            "key_session": browser.prove(key),
        }
        with untouched_rows("north", without=""):
            page = shown(browser.post("/back/", form, headers={"X-CSRFToken": "t" * 32}))
        assert "It is back" in page
        assert "case 12" in page
        assert not any(alias in page + left.content.decode() for alias in SHARDS)
        assert not HeldCopy.objects.using("south").exists()


@story
def what_an_audience_stands_in_the_way_of_is_told_without_a_database() -> None:
    class Always(Held):
        name = "club.veil-always"
        transformations = Held.transformations

        @classmethod
        def is_offered(cls) -> bool:
            return True

    edna.register(Always)
    try:
        north, _ = both()
        edna.register_principal(north, password="login")
        Stewards("ada", "bob").found("south")
        client = Client()
        client.force_login(north, backend="tests.shards.backends.North")
        for address in ("/privacy/", f"/privacy/do/{Always.name}/"):
            page = shown(client.get(address))
            assert "AudienceUnknown" in page
            assert not any(alias in page for alias in SHARDS)
        with pytest.raises(errors.AudienceUnknown) as caught:
            edna.disguise(Always.name, north)
        answer = json.loads(refusal(caught.value).content)
        assert answer["error"]["code"] == "AudienceUnknown"
        assert not any(alias in answer["error"]["message"] for alias in SHARDS)
    finally:
        registry.unregister(Always)


@story
def operators_see_and_delete_the_audiences_of_the_chosen_database() -> None:
    north, south = Stewards("ada", "bob"), Stewards("cyd", "dan", "eve")
    north.found("north")
    south.found("south")
    people = both()
    veiled(*people)
    north.read(people[0])
    client = operator()
    listed = "/admin/edna_audiences/audienceoverview/"
    pages = {alias: shown(client.get(f"{listed}?database={alias}")) for alias in SHARDS}
    assert '<strong aria-current="true">north</strong>' in shown(client.get(listed))
    for alias, names, others in (("north", ("ada", "bob"), ("cyd", "eve")), ("south", ("cyd", "eve"), ("ada", "bob"))):
        assert f'<strong aria-current="true">{alias}</strong>' in pages[alias]
        assert all(f">{name}" in pages[alias] for name in names)
        assert not any(f">{name}" in pages[alias] for name in others)
        assert f'delete/stewards?database={alias}"' in pages[alias]
    assert "case 12" in pages["north"]
    assert "case 12" not in pages["south"]
    address = f"{listed}delete/stewards"
    for given in ({}, {"database": "default"}):
        with untouched_rows("north", without=""), untouched_rows("south", without=""):
            assert client.post(address, {"lose_held": "on", **given}).status_code == 404
    page = shown(client.get(f"{address}?database=south"))
    assert hidden(page)["database"] == "south"
    assert "?database=north" not in page
    with untouched_rows("north", without=""):
        response = client.post(address, {"lose_held": "on", **hidden(page)})
    assert response["Location"] == f"{listed}?database=south"
    assert "There is no audience" in shown(client.get(response["Location"]))
    assert client.get(f"{address}?database=south").status_code == 404
    assert _is_usable("north")


@story
def commands_name_the_database_of_an_audience() -> None:
    north, south = Stewards("ada", "bob"), Stewards("cyd", "dan", "eve")
    north.found("north")
    south.found("south")
    with edna.on("south"):
        audiences.create("wardens", south["cyd"], south.cards, together=None)
    people = both()
    veiled(*people)
    north.read(people[0])
    printed = manage("edna_audiences", "list")
    assert printed.index("north:") < printed.index("south:") < printed.index("wardens")
    for action, found in (("list", [1, 2]), ("members", [1, 2]), ("requests", [1, 2]), ("uses", [1, 2])):
        told = json.loads(manage("edna_audiences", action, "--json"))["databases"]
        assert [len(told[alias]["audiences"]) for alias in SHARDS] == found
        alone = json.loads(manage("edna_audiences", action, "--json", "--database", "south"))
        assert alone == told["south"]
    told = json.loads(manage("edna_audiences", "members", "stewards", "--json"))["databases"]
    names = {alias: [each["name"] for each in told[alias]["audiences"][0]["members"]] for alias in SHARDS}
    assert names == {"north": ["ada", "bob"], "south": ["cyd", "dan", "eve"]}
    used = json.loads(manage("edna_audiences", "uses", "stewards", "--json"))["databases"]
    assert [len(used[alias]["audiences"][0]["requests"]) for alias in SHARDS] == [1, 0]
    # Of a name that one of them has, the others say so.
    printed = manage("edna_audiences", "members", "wardens")
    assert printed.index("north:") < printed.index('no audience "wardens" here') < printed.index("south:")
    with refused(CommandError, "judges"):
        manage("edna_audiences", "members", "judges")
    with refused(CommandError, "wardens", "'north'"):
        manage("edna_audiences", "members", "wardens", "--database", "north")
    with refused(CommandError, "'north', 'south'", "--database"):
        manage("edna_audiences", "delete", "wardens", operator="olga")
    with untouched("north"):
        manage("edna_audiences", "delete", "wardens", "--database", "south", operator="olga")
    for alias in SHARDS:
        with edna.on(alias):
            assert [line.finding for line in health().lines if line.name == "audiences"] == ["1 audience."]


@story
def an_audience_of_when_there_was_one_database_goes_on_after_somebody_vouches() -> None:
    """docs/howto-shards.md: its rows name no database, and count in none, for they may have been copied; then they name theirs."""
    several = {**settings.EDNA, "DATABASES": ["default", "north"]}
    stewards = Stewards("ada", "bob")
    with override_settings(EDNA={**settings.EDNA, "DATABASES": []}):
        manage("edna_keys", "add", operator="olga")
        audiences.create("stewards", stewards["ada"], stewards.cards)
        person = member("default", "bea", key=5)
        veiled(person)
        number = audiences.ask("stewards", stewards["ada"], person, reason="case 12")
        manage("edna_verify")
    with override_settings(EDNA=several):
        for error, attempt in (
            (errors.AudienceForged, lambda: audiences.agree(number, stewards["bob"])),
            (
                errors.AudienceForged,
                lambda: audiences.ask("stewards", stewards["ada"], person, reason="case 13"),
            ),
            (errors.EntryForged, lambda: edna.disguise(Held.name, person)),
        ):
            with pytest.raises(error, match="in the database 'default'"):
                attempt()
        manage("edna_vouch", "--formerly-alone", "--database", "default", operator="olga")
        audiences.agree(number, stewards["bob"])
        (held,) = audiences.read(number, stewards["ada"])
        assert held.database == "default"
        edna.disguise(Held.name, person)
        assert len(stewards.read(person)) == 2  # what lies where it lay, and what was put there since
        manage("edna_verify", "--database", "default")


@story
def one_database_is_as_ever() -> None:
    stewards = Stewards("ada", "bob")
    with (
        override_settings(EDNA={**settings.EDNA, "DATABASES": []}),
        untouched("north"),
        untouched("south"),
    ):
        manage("edna_keys", "add", operator="olga")
        audiences.create("stewards", stewards["ada"], stewards.cards)
        person = member("default", "bea", key=5)
        veiled(person)
        (held,) = stewards.read(person)
        assert held.database is None
        (request,) = audiences.requests("stewards")
        assert request.database is None
        olga = User.objects.db_manager("default").create_superuser("olga", password="login")
        client = Client()
        client.force_login(olga)
        page = shown(client.get("/admin/edna_audiences/audienceoverview/"))
        assert "database=" not in page
        assert "delete/stewards" in page


if __name__ == "__main__":
    print(json.dumps(tell({name: stories[name] for name in sys.argv[1:] or stories})))
