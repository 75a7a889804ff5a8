"""Keys that browsers keep, on a site with two databases: `python -m tests.shards.browsers STORY ...`, as `run` tells its own.

In both databases the first member has the same primary key, the same name and the same words.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import django

django.setup()

import pytest  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.db import connections  # noqa: E402
from django.test import RequestFactory, override_settings  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402
from django.urls import include, path  # noqa: E402

import edna  # noqa: E402
from edna import Disguise, SecretKey, devices, errors, guardians, registry, visitors  # noqa: E402
from edna.api_http import proofs  # noqa: E402
from edna.custody import base, by_guardians, password, recovery  # noqa: E402
from edna.custody.base import SlotSecret  # noqa: E402
from edna.custody.devices import keeping  # noqa: E402
from edna.guardians.site import configured  # noqa: E402
from edna.guardians.upkeep import leftovers  # noqa: E402
from tests.custody import browser as asking  # noqa: E402
from tests.custody.browser import encoded, refused_as  # noqa: E402
from tests.guardians.parties import Parties, made_elsewhere, parties  # noqa: E402
from tests.handing import Browser, as_sent  # noqa: E402
from tests.shards.run import PASSWORD, SHARDS, away, both, everything, manage, member, tell, untouched, untouched_rows  # noqa: E402
from tests.upgrades.club.models import Note  # noqa: E402

stories: dict[str, Callable[[], None]] = {}
urlpatterns = [path("", include("edna.urls"))]


def story(each: Callable[[], None]) -> Callable[[], None]:
    def told() -> None:
        with override_settings(EDNA={**settings.EDNA, "CUSTODY": "browser"}, ROOT_URLCONF=sys.modules[__name__]):
            each()

    stories[each.__name__] = told
    return told


class Asking(asking.Browser):
    def post_records(self, asked: dict[str, Any]) -> list[str | None]:
        response = self.ask("devices/records", asked)
        assert response.status_code == 200, response.content
        found: list[str | None] = response.json()["records"]
        return found


def browser_of(person: User | None = None) -> Asking:
    """Of whoever is logged in; of nobody."""
    browser = Asking()
    if person is not None:
        browser.force_login(person, backend=f"tests.shards.backends.{person._state.db.capitalize()}")
    return browser


def secret_of(typed: str = PASSWORD, *, name: str = "bea") -> SlotSecret:
    from edna import conf

    return password.derive(
        typed,
        identifier=name,
        opslimit=conf.argon2_opslimit(),
        memlimit_bytes=conf.argon2_memlimit_bytes(),
        pepper=conf.mac_keys()[0],
    )


def registered(person: User, *, typed: str = PASSWORD) -> SecretKey:
    """Their key, which their browser has made, with a slot of their password."""
    key, browser = SecretKey.generate(), browser_of(person)
    slot = browser.slot(key, secret_of(typed, name=person.username), kind="password")
    assert browser.act("keys/register", {"slots": [slot]}, key).status_code == 200
    return key


def registered_both(*typed: str) -> dict[str, tuple[User, SecretKey]]:
    """Two with one primary key and one name."""
    return {
        person._state.db: (person, registered(person, typed=each))
        for person, each in zip(both(), typed or (PASSWORD, "a long walk in the south"), strict=True)
    }


def wrapped_for(browser: Asking, typed: str, **more: Any) -> list[str]:
    response = browser.ask("slots/open", {"lookups": [encoded(base.lookup(secret_of(typed)))], **more})
    assert response.status_code == 200, response.content
    return [each for part in response.json()["slots"][0] for each in part["wrapped"]]


def handed(key: SecretKey, receipt: edna.Receipt, *, using: str) -> dict[str, Any]:
    walked = Browser(key, start=[receipt.locator], using=using)
    return {"receipt": str(receipt), "handed": as_sent(walked.for_reveal(receipt))}


@contextlib.contextmanager
def nothing_changes() -> Iterator[None]:
    before = [everything(alias, without="") for alias in SHARDS]
    try:
        yield
    finally:
        assert [everything(alias, without="") for alias in SHARDS] == before


@contextlib.contextmanager
def asked_in(*aliases: str) -> Iterator[dict[str, int]]:
    """How many statements went to each."""
    counts: dict[str, int] = {}
    with contextlib.ExitStack() as stack:
        sent = {alias: stack.enter_context(CaptureQueriesContext(connections[alias])) for alias in aliases or SHARDS}
        yield counts
    counts |= {alias: len(each.captured_queries) for alias, each in sent.items()}


@contextlib.contextmanager
def departing() -> Iterator[str]:
    """The disguise that somebody leaves by, as what people may do themselves."""

    @edna.register
    class Go(Disguise):
        name = "club.go"
        self_service = True
        transformations = [*registry.get("club.leave").steps()]

    try:
        yield Go.name
    finally:
        edna.registry.unregister(Go)


@story
def a_key_is_registered_where_its_person_is() -> None:
    """Nothing is asked of the other database, nor of the person's own before they are logged in."""
    for person, other in zip(both(), reversed(SHARDS), strict=True):
        with untouched(other):
            registered(person)
        assert edna.is_registered(person)
        again = browser_of(person)
        with nothing_changes():
            slot = again.slot(key := SecretKey.generate(), secret_of("another"), kind="password")
            assert refused_as(again.act("keys/register", {"slots": [slot]}, key)) == (409, "PrincipalAlreadyRegistered")
    with nothing_changes():
        stranger = browser_of()
        assert refused_as(stranger.act("keys/register", {"slots": [slot]}, key)) == (403, "RequestRefused")


@story
def a_slot_opens_in_the_database_of_its_person() -> None:
    typed = dict(zip(SHARDS, ("a long walk in the north", "a long walk in the south"), strict=True))
    people = registered_both(*typed.values())
    for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
        assert len(wrapped_for(browser_of(), typed[alias])) == 1
        logged_in = browser_of(people[alias][0])
        with untouched(other):
            assert len(wrapped_for(logged_in, typed[alias])) == 1
            assert wrapped_for(logged_in, typed[other]) == []


@story
def whoever_is_unknown_is_asked_for_as_somebody_known() -> None:
    """The same statements in each database, and an answer of the same length, for who is in one, in none, or has mistyped."""
    registered_both()
    lookups = [secret_of(), secret_of("a wrong walk home"), secret_of(name="nobody")]
    browser, seen = browser_of(), []
    wrapped_for(browser, PASSWORD)
    for each in lookups:
        with asked_in() as counts:
            response = browser.ask("slots/open", {"lookups": [encoded(base.lookup(each))]})
        seen.append((response.status_code, counts, len(response.content)))
    known, *others = seen
    assert known[1] == {"north": 1, "south": 1}
    assert others == [(200, known[1], others[0][2])] * 2
    # A key that nobody has is proved, and leads nowhere, as on a site with one database.
    stranger = SecretKey.generate()
    token = browser.prove(stranger)
    own = {"public_keys": [encoded(bytes(stranger.public_key))]}
    assert browser.ask("graph/entries", own, **{proofs.HEADER: token}).json() == {"lists": []}


@story
def a_proof_is_kept_nowhere_and_asks_nobody() -> None:
    people = registered_both()
    for _, key in people.values():
        with asked_in() as counts:
            browser_of().prove(key)
        assert counts == {"north": 0, "south": 0}


@story
def one_leaves_and_returns_with_a_key_in_the_browser() -> None:
    """Logged in to leave; by the key alone to return. The other, of the same primary key, stays to the byte."""
    people = registered_both()
    for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
        person, key = people[alias]
        browser = browser_of(person)
        before = everything(alias)
        with untouched_rows(other, without=""):
            voices = as_sent(Browser(key, using=alias).for_disguise())
            with departing() as name, asked_in(other) as counts:
                left = browser.act("graph/disguise", {"disguise": name, "handed": voices}, key)
                assert left.status_code == 200, left.content
            assert counts == {other: 0}
            assert not User.objects.using(alias).exists()
            receipt = edna.Receipt.parse(left.json()["receipt"])
            with asked_in(other) as counts:
                back = browser_of().act("graph/reveal", handed(key, receipt, using=alias), key)
            assert back.json()["complete"], back.content
            assert counts == {other: 1}  # whether it has that key
        assert everything(alias) == before


@story
def what_one_is_given_does_nothing_in_the_database_of_the_other() -> None:
    """A proof, a receipt, a handover, a slot; by whoever is logged in as the one with the same primary key in the other."""
    people = registered_both()
    receipts = {alias: edna.disguise("club.veil", person) for alias, (person, _) in people.items()}
    for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
        (_, key), (impostor, own) = people[alias], people[other]
        given = handed(key, receipts[alias], using=alias)
        browser = browser_of(impostor)
        slot = browser.slot(key, secret_of("a stolen walk"), kind="password")
        acts: list[tuple[str, dict[str, Any], str]] = [
            ("graph/reveal", given, "PrincipalNotRegistered"),
            ("graph/erase", given, "PrincipalNotRegistered"),
            ("graph/export", {"handed": given["handed"], "models": []}, "PrincipalNotRegistered"),
            ("slots/replace", {"slots": [slot]}, "PrincipalNotRegistered"),
            ("keys/register", {"slots": [slot]}, "PrincipalAlreadyRegistered"),
            ("keys/rotate-part", {"number": 0, "part": {}}, "PrincipalNotRegistered"),
        ]
        with nothing_changes():
            for address, content, code in acts:
                for forged in ({}, {"database": alias, "using": alias, "shard": alias}):
                    response = browser.act(address, {**content, **forged}, key)
                    assert response.json()["error"]["code"] == code, (address, response.content)
                    assert alias not in response.json()["error"]["message"]
                    assert other not in response.json()["error"]["message"]
            index = next(iter(given["handed"]["bags"]))["index"]
            assert browser.act("graph/bags", {"indexes": [index]}, key).json()["bags"] == []
            lists = browser.act("graph/entries", {"public_keys": [encoded(bytes(key.public_key))]}, key)
            assert lists.json() == {"lists": []}
            # With their own key, and what was given to the other.
            response = browser.act(
                "graph/reveal", {**given, "handed": as_sent(Browser(own, using=other).for_disguise())}, own
            )
            assert response.status_code >= 400
    for alias, (person, key) in people.items():
        back = browser_of(person).act("graph/reveal", handed(key, receipts[alias], using=alias), key)
        assert back.json()["complete"], back.content


@story
def a_proof_ends_with_the_session_of_its_database() -> None:
    """The other has the same primary key, and, to make it worse, the same hash of a password."""
    people = registered_both()
    (north, key), (south, _) = people["north"], people["south"]
    User.objects.using("south").update(password=north.password)
    south.refresh_from_db(using="south")
    browser = browser_of(north)
    token = browser.prove(key)
    listed = {"public_keys": [encoded(bytes(key.public_key))]}
    assert browser.ask("graph/entries", listed, **{proofs.HEADER: token}).status_code == 200
    browser.force_login(south, backend="tests.shards.backends.South")
    assert refused_as(browser.ask("graph/entries", listed, **{proofs.HEADER: token})) == (403, "KeyNotProved")


@story
def whoever_was_read_from_a_replica_is_where_the_router_writes_them() -> None:
    """`default` stands for a replica of the north."""

    class Replica:
        def db_for_write(self, model: type[Any], *, instance: Any = None, **_: Any) -> str | None:
            return "north" if isinstance(instance, User) and instance._state.db == "default" else None

    north, south = both()
    read = User(pk=5)
    read._state.db = "default"
    with override_settings(DATABASE_ROUTERS=[Replica(), *settings.DATABASE_ROUTERS]):
        assert [visitors.shard_of(each) for each in (read, north, south)] == ["north", "north", "south"]
        assert [visitors.is_same(north, each) for each in (read, north, south)] == [True, True, False]
    assert visitors.shard_of(read) == ""  # an operator, without that router


@story
def a_page_of_who_is_elsewhere_than_the_site_says_is_refused() -> None:
    """A middleware that puts requests into `edna.on` by their address, say."""
    people = registered_both()
    for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
        browser = browser_of(people[alias][0])
        for address in ("/", "/hidden/", "/devices/", "/guardians/refuse/"):
            with edna.on(alias):
                assert browser.get(address).status_code in (200, 404)  # no guardians here
            with edna.on(other), untouched(other):
                page = browser.get(address)
            assert page.status_code in (404, 409), address
            assert not any(f"'{each}'" in page.content.decode() for each in SHARDS)


@story
def one_name_and_password_in_both_are_not_guessed() -> None:
    people = registered_both(PASSWORD, PASSWORD)
    lookups = {"lookups": [encoded(base.lookup(secret_of()))]}
    logged_in = [browser_of(person) for person, _ in people.values()]
    with nothing_changes():
        response = browser_of().ask("slots/open", lookups)
        assert refused_as(response) == (409, "DatabaseNotChosen")
        assert not any(alias in response.content.decode() for alias in SHARDS)
        # Whoever has a receipt takes both, and tells by it whose is meant.
        assert len(wrapped_for(browser_of(), PASSWORD, of_several=True)) == 2
        for browser in logged_in:
            assert len(wrapped_for(browser, PASSWORD)) == 1


@story
def one_key_in_both_is_not_guessed() -> None:
    north, south = both()
    key = registered(north)
    edna.register_principal(south, public_key=key.public_key)
    asked = {"public_keys": [encoded(bytes(key.public_key))]}
    logged_in = [browser_of(person) for person in (north, south)]
    with nothing_changes():
        response = browser_of().act("graph/entries", asked, key)
        assert refused_as(response) == (409, "DatabaseNotChosen")
        assert not any(alias in response.content.decode() for alias in SHARDS)
        for browser in logged_in:
            assert len(browser.act("graph/entries", asked, key).json()["lists"]) == 1


@story
def a_slot_is_replaced_where_its_key_is() -> None:
    """A password by whoever is logged in, a recovery code by whoever is not."""
    people = registered_both()
    code = edna.RecoveryCode.new()
    for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
        person, key = people[alias]
        with untouched(other):
            logged_in = browser_of(person)
            slot = logged_in.slot(key, secret_of("another walk"), kind="password")
            assert logged_in.act("slots/replace", {"slots": [slot]}, key).status_code == 200
        with untouched_rows(other, without=""):
            browser = browser_of()
            slot = browser.slot(key, recovery.derive(code), kind="recovery")
            assert browser.act("slots/replace", {"slots": [slot]}, key).status_code == 200
        with edna.on(alias), edna.unlock(identifier="bea", password="another walk") as unlocked:
            assert unlocked.public_key == key.public_key
        with untouched_rows(other, without=""):
            assert browser_of().act("keys/rotate-part", {"number": 0, "part": {}}, key).status_code == 200
            # What was kept is a bag more, of that key's database.
        code = edna.RecoveryCode.new()


@story
def a_placeholder_is_spoken_for_in_its_own_database() -> None:
    """A page of the site's own edits a note, and the browser proves that it speaks for the note's owner."""
    people = registered_both()
    for person, _ in people.values():
        edna.disguise("club.veil", person)
    for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
        voices = Browser(people[alias][1], using=alias).voices
        browser = browser_of()
        tokens = ",".join(browser.prove(voice.opener.secret_key) for voice in voices)
        request = RequestFactory().get("/", headers={proofs.VOICES_HEADER: tokens})
        request.META["CSRF_COOKIE"] = browser.cookies["csrftoken"].value
        notes = {each: Note.objects.using(each).order_by("pk")[0] for each in SHARDS}
        assert notes[alias].pk == notes[other].pk
        with untouched(other):
            owner = proofs.speak_as(request, notes[alias], owner=None)
        assert (owner.pk, owner._state.db) == (notes[alias].author_id, alias)
        assert set(proofs.speaks_for(request, User)) == {int(voice.entry.reference) for voice in voices}
        with pytest.raises(errors.NotYours):
            proofs.speak_as(request, notes[other], owner=None)
        request.user = people[other][0]
        with pytest.raises(errors.KeyNotProved):  # it was proved by nobody who is logged in
            proofs.speak_as(request, notes[alias], owner=None)


@story
def a_database_that_is_away_keeps_no_browser_of_the_others_out() -> None:
    typed = dict(zip(SHARDS, ("a long walk in the north", "a long walk in the south"), strict=True))
    people = registered_both(*typed.values())
    for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
        key = people[alias][1]
        asked = {"public_keys": [encoded(bytes(key.public_key))]}
        with away(other):
            assert len(wrapped_for(browser_of(), typed[alias])) == 1
            assert len(browser_of().act("graph/entries", asked, key).json()["lists"]) == 1
            lookup = {"lookups": [encoded(base.lookup(secret_of(typed[other])))]}
            response = browser_of().ask("slots/open", lookup)
            assert refused_as(response) == (503, "DatabaseBusy")
            assert not any(each in response.content.decode() for each in SHARDS)
            assert refused_as(browser_of().act("graph/entries", asked, people[other][1])) == (503, "DatabaseBusy")


@story
def the_pages_take_a_handover_for_the_database_of_whose_it_is() -> None:
    """A database that a form names is not looked at."""
    people = registered_both()
    receipts = {alias: edna.disguise("club.veil", person) for alias, (person, _) in people.items()}
    for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
        person, key = people[alias]
        impostor, stranger = browser_of(people[other][0]), browser_of()
        sent = handed(key, receipts[alias], using=alias)
        with untouched_rows(other, without=""):
            for browser in (impostor, stranger):
                form = {
                    "receipt": sent["receipt"],
                    "handed": json.dumps(sent["handed"]),
                    "key_session": browser.prove(key),
                    "database": other,
                }
                page = browser.post(f"/back/?database={other}", form, headers={"X-CSRFToken": "t" * 32})
                assert page.status_code == 200
                is_back = browser is stranger
                assert ("It is back" in page.content.decode()) is is_back
                assert (Note.objects.using(alias).filter(author=person.pk).count() == 2) is is_back


# Devices


@story
def a_device_finds_the_database_of_its_person() -> None:
    """Made, added, removed and renewed in one of them; the other, where somebody has the same primary key, stays to the byte."""
    people = {person._state.db: (person, edna.register_principal(person).secret_key) for person in both()}
    for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
        person, key = people[alias]
        before = everything(alias)
        with untouched_rows(other, without=""):
            with edna.unlock(secret_key=key) as unlocked:
                laptop = devices.create(unlocked, name="Laptop")
            phone = devices.begin(name="Phone", person=person)
            phone_id = devices.add(laptop, phone.code, name="Phone")
            code = devices.add_recovery_code(laptop, name="Drawer")
            devices.add_password(laptop, identifier="bea", password=PASSWORD)
            receipt = edna.disguise("club.leave", person)
            ways: list[dict[str, Any]] = [{"secret_key": phone.secret_key}, {"recovery_code": code}]
            for way in ways:
                with edna.unlock(**way) as unlocked:
                    assert unlocked.using == alias
            with devices.unlock(phone.secret_key) as unlocked:
                assert unlocked.using == alias
                assert edna.reveal(receipt, unlocked).complete
            assert [each.name for each in devices.members(laptop)] == ["Laptop", "Phone", "Drawer", ""]
            assert devices.group_code(laptop) == devices.group_code(phone.secret_key)
            devices.rename(laptop, phone_id, "Telephone")
            devices.catch_up(phone.secret_key)
            assert devices.pending(laptop).bags == 0
            devices.remove(laptop, phone_id)
            devices.finish(laptop)
            with pytest.raises(errors.DeviceRemoved):
                devices.unlock(phone.secret_key)
            devices.forget(phone.secret_key)
            people[alias] = person, devices.update(laptop)
        with edna.on(other), nothing_changes(), pytest.raises(errors.DeviceUnknown):
            devices.unlock(people[alias][1])
        assert everything(alias) == before
    # Whose device is in neither is told so; whose password is in both is not guessed.
    with nothing_changes(), pytest.raises(errors.DeviceUnknown):
        devices.unlock(devices.new_key())
    with pytest.raises(errors.DatabaseNotChosen):
        edna.unlock(identifier="bea", password=PASSWORD)
    with edna.unlock(identifier="bea", password=PASSWORD, principal=people["south"][0]) as unlocked:
        assert unlocked.using == "south"
    for alias, (_, key) in people.items():
        with untouched_rows("north" if alias == "south" else "south", without=""):
            devices.end(key)


@story
def a_receipt_says_which_password_of_a_device_is_meant() -> None:
    receipts = {}
    for person in both():
        with edna.unlock(secret_key=edna.register_principal(person).secret_key) as unlocked:
            laptop = devices.create(unlocked)
        devices.add_password(laptop, identifier="bea", password=PASSWORD)
        receipts[person._state.db] = edna.disguise("club.leave", person)
    for alias, receipt in receipts.items():
        with edna.unlock(identifier="bea", password=PASSWORD, receipts=[receipt]) as unlocked:
            assert unlocked.using == alias
            assert edna.reveal(receipt, unlocked).complete


@story
def a_device_of_a_database_that_answers_opens_while_another_is_away() -> None:
    keys = {}
    for person in both():
        with edna.unlock(secret_key=edna.register_principal(person).secret_key) as unlocked:
            keys[person._state.db] = devices.create(unlocked)
    for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
        with away(other):
            for opens in (devices.unlock, lambda key: edna.unlock(secret_key=key)):
                with opens(keys[alias]) as unlocked:
                    assert unlocked.using == alias
                with pytest.raises(errors.DatabaseBusy):
                    opens(keys[other])


@story
def a_device_in_a_cookie_brings_back_its_own_person() -> None:
    """Where the site uses the key, with nothing typed; and not for whoever is logged in as the one with the same primary key."""
    people = {}
    for person in both():
        with edna.unlock(secret_key=edna.register_principal(person).secret_key) as unlocked:
            people[person._state.db] = person, devices.create(unlocked)
    manage("edna_verify")
    with override_settings(EDNA={**settings.EDNA, "CUSTODY": "server"}):
        for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
            person, key = people[alias]
            receipt = edna.disguise("club.leave", person)
            impostor, stranger = browser_of(people[other][0]), browser_of()
            with untouched_rows(other, without=""):
                for browser, address in ((impostor, "/back/"), (stranger, "/return/")):
                    is_back = browser is stranger
                    browser.cookies["edna_device_key_00000000"] = key.expose_text()
                    form = {"receipt": str(receipt), "password": "", "identifier": ""}
                    page = browser.post(address, form, headers={"X-CSRFToken": "t" * 32})
                    assert page.status_code == 200, page
                    assert ("It is back" in page.content.decode()) is is_back
                    assert User.objects.using(alias).exists() is is_back
            assert Note.objects.using(alias).filter(author=person.pk).count() == 2


@story
def what_browsers_keep_of_devices_is_found_in_one_database() -> None:
    """What lies at a place is shown to whoever knows it, of the database of who is logged in; and written where its owner is."""
    people = {}
    for person in both():
        with edna.unlock(secret_key=edna.register_principal(person).secret_key) as unlocked:
            people[person._state.db] = person, devices.create(unlocked)
    for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
        (person, key), impostor = people[alias], browser_of(people[other][0])
        place, unknown = encoded(keeping.state_place(key)), encoded(bytes(32))
        stranger, logged_in = browser_of(), browser_of(person)
        with untouched_rows(other, without=""):
            for asked in ({"places": [place, unknown]}, {"places": [place, unknown], "of": place}):
                with asked_in(other) as counts:
                    there, nothing = stranger.post_records(asked)
                assert there
                assert nothing is None
                assert counts == {other: 1}
                with asked_in(other) as counts:
                    assert logged_in.post_records(asked) == [there, None]
                assert counts == {other: 0}
                assert impostor.post_records(asked) == [None, None]
            assert stranger.post_records({"places": [unknown], "of": place}) == [None]
            assert stranger.post_records({"places": [place], "of": unknown}) == (
                [there] if alias == "north" else [None]
            )
            # To have copied a place is not enough, nor to be logged in as the other.
            for browser in (impostor, logged_in, stranger):
                wrong = browser.act("devices/forget", {"place": place}, people[other][1])
                assert (
                    wrong.json() == {"is_gone": True} if browser is impostor else refused_as(wrong) == (403, "NotYours")
                )
            assert devices.members(key)
            with asked_in(other) as counts:
                assert stranger.act("devices/forget", {"place": place}, key).json() == {"is_gone": True}
        with pytest.raises(errors.DeviceUnknown):
            devices.members(key)


# Guardians


@contextlib.contextmanager
def five_guardians() -> Iterator[Parties]:
    with tempfile.TemporaryDirectory(dir=settings.SCRATCH) as folder, parties(Path(folder)) as five:
        yield five


@story
def guardians_help_back_into_the_database_of_a_person() -> None:
    """Enrolled, asked, and a key got back in one of them; the other, where somebody has the same primary key, stays to the byte."""
    people = {alias: member(alias, f"{alias}-bea", key=5) for alias in SHARDS}
    keys = {alias: edna.register_principal(person).secret_key for alias, person in people.items()}
    with five_guardians() as five:
        for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
            person, name = people[alias], f"{alias}-bea"
            with untouched_rows(other, without=""):
                with edna.unlock(secret_key=keys[alias]) as unlocked:
                    assert not guardians.enroll(unlocked, identifier=name, contact=f"{alias}@home.example")
                assert guardians.is_enrolled(person)
            assert guardians.is_enrolled(people["south"]) is (alias == "south")
        for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
            person, name = people[alias], f"{alias}-bea"
            receipt = edna.disguise("club.leave", person)
            five.mails.clear()
            with untouched_rows(other, without=""):
                with away(other):
                    code, _ = guardians.ask(name)
                    with pytest.raises(errors.DatabaseBusy):
                        guardians.ask(f"{other}-bea")
                assert {contact for _, contact, _ in five.mails} == {f"{alias}@home.example"}
                five.now += 7201
                with guardians.recover(name, code) as unlocked:
                    assert unlocked.using == alias
                    assert edna.reveal(receipt, unlocked).complete
                    assert guardians.veto(unlocked) == {}
                    five.now -= 7201  # the site's orders are good for minutes
                    assert guardians.withdraw(unlocked) == {}
            assert not guardians.is_enrolled(person)
        with nothing_changes(), pytest.raises(errors.WrongCredentials):
            guardians.ask("nobody")
        assert leftovers.finish_of(configured().roster, configured().transport) == (0, 0)


@story
def a_browser_has_guardians_in_the_database_of_its_person() -> None:
    """Two with one name: an envelope is shown to who asks for the name, of the database of who is logged in; its key alone withdraws it."""
    people = registered_both()
    with five_guardians() as five:
        for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
            (person, key), salt = people[alias], by_guardians.new_salt()
            secret, browser = by_guardians.secret_for(key, salt=salt), browser_of(person)
            made = made_elsewhere(five, key.public_key, secret.expose(), salt=salt)
            sent: dict[str, Any] = {
                "identifier": "bea",
                "contact": f"{alias}@home.example",
                **{name: encoded(getattr(made, name)) for name in ("envelope", "salt", "commitments", "vetoes")},
                "shares": [*map(encoded, made.shares)],
            }
            impostor = browser_of(people[other][0])
            with untouched_rows(other, without=""), asked_in(other) as counts:
                slots = [browser.slot(key, secret, kind="guardians")]
                assert browser.act("guardians/enroll", {**sent, "slots": slots}, key).json() == {"missing": []}
            assert counts == {other: 0}
            with nothing_changes():
                assert refused_as(impostor.act("guardians/enroll", {**sent, "slots": slots}, key)) == (403, "NotYours")
                assert impostor.act("guardians/own", {}, key).json() == {"kept": None}
                assert impostor.act("guardians/withdraw", {}, key).json() == {"missing": []}
                assert browser.act("guardians/own", {}, key).json()["kept"]["envelope"] == sent["envelope"]
                assert browser_of().act("guardians/own", {}, key).json()["kept"]["envelope"] == sent["envelope"]
                assert browser.ask("guardians/envelopes", {"identifier": "bea"}).json() == {
                    "envelopes": [sent["envelope"]]
                }
        stranger = browser_of()
        with asked_in() as counts:
            assert len(stranger.ask("guardians/envelopes", {"identifier": "bea"}).json()["envelopes"]) == 2
        with asked_in() as others:
            assert stranger.ask("guardians/envelopes", {"identifier": "nobody"}).json() == {"envelopes": []}
        assert counts == others == {"north": 1, "south": 1}
        for alias, other in zip(SHARDS, reversed(SHARDS), strict=True):
            with untouched_rows(other, without=""):
                assert stranger.act("guardians/withdraw", {}, people[alias][1]).json() == {"missing": []}
            assert not guardians.is_enrolled(people[alias][0])


if __name__ == "__main__":
    print(json.dumps(tell({name: stories[name] for name in sys.argv[1:] or stories})))
