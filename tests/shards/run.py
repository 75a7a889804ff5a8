"""What a process of a site with two databases does: `python -m tests.shards.run STORY ...`, or all of them. Each story begins with empty
tables; standard output has, for each, how it failed.

In both databases the first member has the same primary key, the same name and the same words.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest import mock

import django

django.setup()

import pytest  # noqa: E402
from asgiref.sync import async_to_sync  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib.auth import aauthenticate, aget_user, authenticate, get_user  # noqa: E402
from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.contrib.sessions.models import Session  # noqa: E402
from django.core.checks import run_checks  # noqa: E402
from django.core.management import CommandError, call_command  # noqa: E402
from django.db import OperationalError, connections, transaction  # noqa: E402
from django.http import HttpRequest  # noqa: E402
from django.test import Client, override_settings  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

import edna  # noqa: E402
from edna import errors, registry, signals  # noqa: E402
from edna.models import SessionLink  # noqa: E402
from edna.operations.models import LedgerEntry  # noqa: E402
from edna.store import serverkeys  # noqa: E402
from edna.testing.dumps import filled, rows  # noqa: E402
from tests.upgrades.club.models import Message, Note, Vote  # noqa: E402

SHARDS = ("north", "south")
PASSWORD = "a long walk home"

stories: dict[str, Callable[[], None]] = {}


def story(tell: Callable[[], None]) -> Callable[[], None]:
    stories[tell.__name__] = tell
    return tell


def manage(*arguments: str, **options: Any) -> str:
    printed = io.StringIO()
    call_command(*arguments, stdout=printed, stderr=io.StringIO(), **options)
    return printed.getvalue()


def migrate() -> None:
    for alias in settings.DATABASES:
        manage("migrate", database=alias, verbosity=0)


def member(alias: str, name: str = "bea", *, key: int | None = None, text: str = "") -> User:
    """Somebody with two notes and a message to themselves."""
    person: User = User.objects.db_manager(alias).create_user(name, f"{name}@{alias}.example", "login", pk=key)
    for number in range(2):
        Note.objects.using(alias).create(author=person, text=text or f"note {number} of {name} in the {alias}", price=1)
    Message.objects.using(alias).create(sender=person, recipient=person, text=f"hello from the {alias}")
    return person


def both() -> list[User]:
    """Two people with one primary key and one name."""
    return [member(alias, key=5) for alias in SHARDS]


def everything(alias: str, *, without: str = "edna") -> dict[str, Any]:
    """All rows of the application; without="" edna's as well."""
    names = connections[alias].introspection.table_names()
    return {name: rows(name, using=alias) for name in names if not (without and name.startswith(without))}


@contextlib.contextmanager
def untouched(alias: str) -> Iterator[None]:
    """Neither read nor written: no statement is sent to it, and no row of any table is another."""
    before = everything(alias, without="")
    try:
        with CaptureQueriesContext(connections[alias]) as sent:
            yield
    finally:
        assert [each["sql"] for each in sent.captured_queries] == []
        assert everything(alias, without="") == before


@contextlib.contextmanager
def refused(error: type[Exception], *words: str) -> Iterator[None]:
    """Refused with these words, and nothing was changed anywhere."""
    before = [everything(alias, without="") for alias in SHARDS]
    with pytest.raises(error) as caught:
        yield
    assert type(caught.value) is error
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert [everything(alias, without="") for alias in SHARDS] == before


@story
def one_leaves_and_returns_and_the_other_is_untouched() -> None:
    north, _ = both()
    before = everything("north")
    with untouched("south"):
        key = edna.register_principal(north, password=PASSWORD).secret_key
        assert edna.is_registered(north)
        assert edna.plan("club.leave", north).rows > 3
        receipt = edna.disguise("club.leave", north)
        assert not User.objects.using("north").exists()
    assert not edna.is_registered(User.objects.using("south").get())
    with edna.unlock(secret_key=key) as unlocked, untouched("south"):
        assert edna.principal(unlocked) is None
        assert [entry.receipt for entry in edna.history(unlocked)] == [receipt]
        assert edna.reveal(receipt, unlocked).complete
        assert edna.export(unlocked)["rows"]
    assert everything("north") == before


@story
def what_they_do_to_both_is_each_ones_own() -> None:
    people = both()
    keys = [edna.register_principal(person).secret_key for person in people]
    assert edna.unregistered(people) == []
    before = [everything(alias) for alias in SHARDS]
    receipts = [edna.disguise("club.leave", person) for person in people]
    for key, receipt, alias in zip(keys, receipts, SHARDS, strict=True):
        with edna.unlock(secret_key=key) as unlocked:
            assert [entry.receipt for entry in edna.history(unlocked)] == [receipt]
            assert edna.reveal(receipt, unlocked).complete
            account = edna.principal(unlocked)
            assert account is not None
            assert account._state.db == alias
    assert [everything(alias) for alias in SHARDS] == before


@story
def who_is_registered_is_said_of_each() -> None:
    north, south = both()
    edna.register_principal(north)
    assert edna.unregistered([south, north]) == [south]


@story
def unlock_finds_the_database() -> None:
    north, south = member("north", "ann", key=5), member("south", "ben", key=5)
    for person in (north, south):
        made = edna.register_principal(person, password=PASSWORD)
        receipt = edna.disguise("club.leave", person)
        ways: list[dict[str, Any]] = [
            {"secret_key": made.secret_key},
            {"identifier": person.username, "password": PASSWORD},
            {"recovery_code": made.recovery_code},
        ]
        for way in ways:
            with edna.unlock(**way) as unlocked:
                assert [entry.receipt for entry in edna.history(unlocked)] == [receipt]
            with edna.on(person._state.db), edna.unlock(**way):
                pass
            other = "south" if person is north else "north"
            none = errors.PrincipalNotRegistered if "secret_key" in way else errors.WrongCredentials
            with edna.on(other), refused(none), edna.unlock(**way):
                pass
    with refused(errors.WrongCredentials):
        edna.unlock(identifier="ann", password="another walk")


@contextlib.contextmanager
def away(*aliases: str) -> Iterator[None]:
    """Their server does not answer."""

    def refuse(*_: Any) -> Any:
        raise OperationalError("server has gone away")

    with contextlib.ExitStack() as stack:
        for alias in aliases:
            stack.enter_context(connections[alias].execute_wrapper(refuse))
        yield


@story
def a_database_that_is_away_keeps_nobody_of_the_others_out() -> None:
    north, south = member("north", "ann", key=5), member("south", "ben", key=5)
    ways: dict[str, list[dict[str, Any]]] = {}
    for person in (north, south):
        made = edna.register_principal(person, password=PASSWORD)
        ways[person._state.db] = [
            {"secret_key": made.secret_key},
            {"identifier": person.username, "password": PASSWORD},
            {"recovery_code": made.recovery_code},
        ]
    for known in (True, False):  # whether this process has seen that they know the server's key
        for alias, other in (("north", "south"), ("south", "north")):
            for way, others in zip(ways[alias], ways[other], strict=True):
                if not known:
                    for each in SHARDS:
                        serverkeys.forget_all(using=each)
                with away(other):
                    with edna.unlock(**way) as unlocked:
                        assert unlocked.using == alias
                    with pytest.raises(errors.DatabaseBusy, match=f"do not answer: '{other}'"):
                        edna.unlock(**others)
                with away(*SHARDS), pytest.raises(errors.DatabaseBusy, match=r"'north'.*'south'"):
                    edna.unlock(**way)
    with away("south"), edna.on("south"), pytest.raises(OperationalError):
        edna.unlock(**ways["south"][0])
    with pytest.raises(errors.WrongCredentials):
        edna.unlock(identifier="ann", password="another walk")


@story
def one_password_in_both_is_not_guessed() -> None:
    people = both()
    for person in people:
        edna.register_principal(person, password=PASSWORD)
    same: dict[str, Any] = {"identifier": "bea", "password": PASSWORD}
    with refused(errors.DatabaseNotChosen, "'north', 'south'"):
        edna.unlock(**same)
    for person, alias in zip(people, SHARDS, strict=True):
        with edna.unlock(**same, principal=person) as unlocked:
            assert edna.principal(unlocked) == person
            assert unlocked.using == alias
        with edna.on(alias), edna.unlock(**same) as unlocked:
            assert unlocked.using == alias
        receipt = edna.disguise("club.leave", person)
        with edna.unlock(**same, receipts=[receipt]) as unlocked:
            assert unlocked.using == alias
            assert edna.reveal(receipt, unlocked).complete


@story
def one_key_in_both_is_not_guessed() -> None:
    people = both()
    key = edna.register_principal(people[0]).secret_key
    assert key is not None
    edna.register_principal(people[1], public_key=key.public_key)
    with refused(errors.DatabaseNotChosen, "'north', 'south'"):
        edna.unlock(secret_key=key)
    with edna.unlock(secret_key=key, principal=people[0]) as unlocked:
        with refused(errors.NotYours, "'south'", "'north'"):
            edna.disguise("club.leave", people[1], unlocked=unlocked)
        receipt = edna.disguise("club.leave", people[0], unlocked=unlocked)
    with edna.unlock(secret_key=key, receipts=[receipt]) as unlocked:
        assert unlocked.using == "north"
        assert edna.reveal(receipt, unlocked).complete


@story
def what_is_of_the_other_opens_nothing_and_the_message_says_so() -> None:
    north, south = both()
    keys = [edna.register_principal(person).secret_key for person in (north, south)]
    receipt = edna.disguise("club.veil", north)
    note = Note.objects.using("north").first()
    assert note is not None
    with edna.on("south"), refused(errors.PrincipalNotRegistered, "in the database 'south'"):
        edna.unlock(secret_key=keys[0])
    with refused(errors.PrincipalNotRegistered, "in any of the databases 'north', 'south'"):
        edna.unlock(secret_key=edna.SecretKey.generate())
    with edna.unlock(secret_key=keys[1]) as unlocked:
        with refused(errors.ReceiptUnknown, "in the database 'south'"):
            edna.reveal(receipt, unlocked)
        with refused(errors.NotYours, "'north'", "'south'"):
            edna.disguise("club.leave", north, unlocked=unlocked)
        with refused(errors.NotYours, "is in 'north'", "'south'"):
            edna.speak_as(unlocked, note)
    with edna.on("south"), refused(errors.DatabaseNotChosen, "'north'", "'south' is at work"):
        edna.disguise("club.leave", north)
    with (
        refused(errors.SpecError, "another database"),
        edna.session(south, "club.by-hand") as session,
    ):
        session.remove(note)  # South has a note of the same primary key.
    with refused(errors.DatabaseNotChosen, "several databases"):
        edna.register_principals([member_of("cyd", "north"), member_of("cyd", "south")])
    with refused(errors.DatabaseNotChosen, "'elsewhere'", "'north', 'south'"), edna.on("elsewhere"):
        pass
    lost = User(pk=5, username="nowhere")
    with refused(errors.PrincipalError, "'default'", "'north', 'south'"):
        edna.disguise("club.leave", lost)


def member_of(name: str, alias: str) -> User:
    """Not written."""
    return User.from_db(alias, ["id", "username"], [7, name])  # type: ignore[no-any-return]


@story
def a_session_takes_no_rows_of_another_database() -> None:
    """Each has a note of the same primary key in the other: a queryset is never moved to the session's database."""
    north, _ = both()
    edna.register_principal(north)
    notes = [Note.objects.using("south"), Note.objects.using("default"), Note.objects.all()]
    for elsewhere in (each.filter(author=5) for each in notes):
        for act in (
            lambda session, elsewhere=elsewhere: session.remove(elsewhere),
            lambda session, elsewhere=elsewhere: session.modify(elsewhere, text="changed"),
            lambda session, elsewhere=elsewhere: session.decorrelate(elsewhere, "author"),
        ):
            with (
                refused(errors.SpecError, "another database", "'north'"),
                edna.session(north, "club.by-hand") as session,
            ):
                act(session)
    with edna.session(north, "club.by-hand") as session:
        session.modify(Note.objects.using("north").filter(author=5), text="changed")
        session.remove(north.note_set.all()[:1])  # the router says where those of a row are
    assert [each.text for each in Note.objects.using("north")] == ["changed"]
    assert Note.objects.using("south").count() == 2


@story
def the_routers_answer_for_the_person_counts() -> None:
    both()
    # Made without a database, as by a form: the site's router knows by the name.
    said = User(pk=5, username="south")
    edna.register_principal(said)
    assert [edna.is_registered(User.objects.using(alias).get()) for alias in SHARDS] == [False, True]


@story
def what_names_nobody_is_told_where() -> None:
    people = both()
    keys = [edna.register_principal(person).secret_key for person in people]
    where: dict[str, Any] = {"where": {"text": "note 0 of bea in the north"}, "set": {"text": "[redacted]"}}
    for ask in (
        lambda: edna.plan_all("club.veil"),
        lambda: edna.disguise_all("club.veil"),
        lambda: edna.replay(Note, **where),
    ):
        with refused(errors.DatabaseNotChosen, "'north', 'south'", "edna.on"):
            ask()
    before = everything("north")
    with edna.on("north"), untouched("south"):
        assert edna.plan_all("club.veil").rows == 2
        assert len(edna.disguise_all("club.veil", operator="olga")) == 1
    with edna.unlock(secret_key=keys[0]) as unlocked:
        (entry,) = edna.history(unlocked)
        assert edna.reveal(entry.receipt, unlocked).complete
    assert everything("north") == before
    edna.disguise("club.leave", people[0], operator="olga")
    with edna.on("north"):
        assert edna.replay(Note, **where) == 0  # it is in a bag
    with edna.unlock(secret_key=keys[0]) as unlocked:
        (entry,) = edna.history(unlocked)
        assert edna.reveal(entry.receipt, unlocked).complete
    assert Note.objects.using("north").filter(text="[redacted]").exists()
    assert edna.finish_files().deleted == 0


@story
def a_thread_is_told_and_nobody_else_is() -> None:

    seen: list[object] = []

    def look() -> None:
        try:
            seen.append(registry.database())
        except errors.DatabaseNotChosen as error:
            seen.append(type(error))

    with edna.on("north"):
        look()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        with edna.on("south"):
            look()
        look()
    look()
    assert seen == ["north", errors.DatabaseNotChosen, "south", "north", errors.DatabaseNotChosen]


@story
def placeholders_are_of_the_same_database() -> None:
    people = both()
    keys = [edna.register_principal(person).secret_key for person in people]
    before = [everything(alias) for alias in SHARDS]
    receipts = [edna.disguise("club.veil", person) for person in people]
    for alias, person in zip(SHARDS, people, strict=True):
        owners = set(Note.objects.using(alias).values_list("author", flat=True))
        assert len(owners) == 2
        assert person.pk not in owners
        assert User.objects.using(alias).filter(pk__in=owners).count() == 2
    for key, receipt in zip(keys, receipts, strict=True):
        with edna.unlock(secret_key=key) as unlocked:
            assert len(edna.speaks_for(unlocked)) == 2
            assert edna.speak_as(unlocked, Note.objects.using(unlocked.using).first()).pk in edna.speaks_for(unlocked)
            assert edna.reveal(receipt, unlocked).complete
    assert [everything(alias) for alias in SHARDS] == before


@story
def a_key_is_renewed_where_it_is() -> None:
    north, _ = both()
    made = edna.register_principal(north, password=PASSWORD)
    receipt = edna.disguise("club.veil", north)
    with untouched("south"):
        with edna.on("north"), edna.unlock(secret_key=made.secret_key) as unlocked:
            edna.change_password(unlocked, identifier="bea", password="another walk")
            code = edna.new_recovery_code(unlocked)
        with edna.unlock(recovery_code=code, principal=north) as unlocked:
            renewed = edna.rotate(unlocked, password=PASSWORD)
        with edna.unlock(secret_key=renewed.secret_key, principal=north) as unlocked:
            assert edna.reveal(receipt, unlocked).complete
            edna.disguise("club.leave", north, unlocked=unlocked, keep_no_way_back=True)
    assert not filled(
        [name for name in connections["north"].introspection.table_names() if "keyslot" in name], using="north"
    )


@story
def nothing_of_who_left_is_in_either_database() -> None:
    from edna.testing import assert_nothing_left

    person = member("north", "xaverine", text="the ferry to Hrossey leaves at dawn")
    other = member("south", "yolanthe")
    edna.register_principal(person, password=PASSWORD)
    edna.disguise("club.leave", person)
    for alias in settings.DATABASES:
        assert_nothing_left("xaverine", "ferry to Hrossey", "hello from the north", using=alias)
    with pytest.raises(AssertionError):
        assert_nothing_left(other.username, using="south")  # whoever looks finds what is there


@story
def sessions_end_with_the_account() -> None:
    north, south = member("north", "ann", key=5), member("south", "ben", key=5)
    for person in (north, south):
        edna.register_principal(person)
    client, another = Client(), Client()
    client.force_login(north)
    another.force_login(south)
    assert Session.objects.using("default").count() == 2
    edna.disguise("club.leave", north)
    assert [session.get_decoded()["_auth_user_id"] for session in Session.objects.using("default").all()] == ["5"]
    assert Session.objects.using("default").filter(pk=another.session.session_key).exists()


@contextlib.contextmanager
def stopped_at_sessions(how: type[BaseException]) -> Iterator[None]:
    """Whoever deletes a session in its database, which is none of the shards, gets no further."""

    def stop(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "django_session" in sql:
            raise how("the other database is away")
        return execute(sql, params, many, context)

    with connections["default"].execute_wrapper(stop):
        yield


@story
def sessions_that_an_interruption_has_left_end_before_anybody_returns() -> None:
    """They lie in another database, so that they cannot go in the transaction: a kill, or the database away, may come between."""
    north = member("north", key=5)
    key = edna.register_principal(north).secret_key
    for how, goes_on in ((KeyboardInterrupt, "sweep"), (OperationalError, "return"), (OperationalError, "sweep")):
        client = Client()
        client.force_login(User.objects.using("north").get(), backend="tests.shards.backends.North")
        (tag,) = SessionLink.objects.using("north").values_list("owner_tag", flat=True)
        with contextlib.suppress(KeyboardInterrupt), stopped_at_sessions(how):
            edna.disguise("club.leave", User.objects.using("north").get())
        assert not User.objects.using("north").exists()
        assert Session.objects.using("default").count() == 1
        # What is kept says which session is to end, and no longer whose it is.
        (kept,) = SessionLink.objects.using("north").all()
        assert (kept.session_key, kept.owner_tag == tag) == (client.session.session_key, False)
        with edna.unlock(secret_key=key) as unlocked:
            (entry,) = edna.history(unlocked)
            with refused(errors.DatabaseBusy, "sessions"), stopped_at_sessions(OperationalError):
                edna.reveal(entry.receipt, unlocked)
            with stopped_at_sessions(OperationalError):
                manage("edna_sweep")
            assert SessionLink.objects.using("north").count() == 1
            if goes_on == "sweep":
                assert "links of sessions" in manage("edna_sweep")
                assert Session.objects.using("default").count() == 0
                assert SessionLink.objects.using("north").count() == 0
            assert edna.reveal(entry.receipt, unlocked).complete
        assert Session.objects.using("default").count() == 0
        assert SessionLink.objects.using("north").count() == 0
        assert not client.get("/").wsgi_request.user.is_authenticated


def crowd() -> dict[str, list[User]]:
    """Three people in each database, with the same primary keys, all with keys."""
    people = {alias: [member(alias, f"{alias}-{key}", key=key) for key in (5, 6, 7)] for alias in SHARDS}
    for alias in SHARDS:
        edna.register_principals(people[alias])
    return people


@story
def a_job_for_everybody_is_one_in_each_database() -> None:
    from edna.operations import jobs

    crowd()
    with refused(errors.DatabaseNotChosen, "'north', 'south'"):
        jobs.start("club.leave")
    for alias in SHARDS:
        with edna.on(alias):
            jobs.start("club.leave", operator="olga")
    started = {each.database: each for each in jobs.reports()}
    assert set(started) == set(SHARDS)
    assert {each.total for each in started.values()} == {3}
    assert sorted(jobs.waiting()) == sorted(each.id for each in started.values())
    for alias, each in started.items():
        assert each.as_dict()["database"] == alias
        other = "south" if alias == "north" else "north"
        assert jobs.report(each.id).database == alias
        with edna.on(other), refused(errors.JobUnknown):
            jobs.report(each.id)
    with refused(errors.JobUnknown, "There is no job 1;"):
        jobs.pause(1)
    listed = manage("edna_jobs")
    assert "database" in listed
    assert all(alias in listed for alias in SHARDS)
    south = started["south"].id
    manage("edna_jobs", "pause", str(south), operator="olga")
    assert [each.state for each in (jobs.report(started["north"].id), jobs.report(south))] == ["running", "paused"]
    with untouched_rows("south"):
        manage("edna_run")
    assert not User.objects.using("north").filter(pk__in=[5, 6, 7]).exists()
    manage("edna_jobs", "resume", str(south), operator="olga")
    manage("edna_run", "--database", "north")
    assert jobs.report(south).left == 3
    assert "south" in manage("edna_run", "--database", "south")
    assert [(each.state, each.done) for each in jobs.reports()] == [("finished", 3)] * 2
    assert not User.objects.using("south").filter(pk__in=[5, 6, 7]).exists()


@story
def the_command_for_everybody_starts_and_runs_one_in_each() -> None:
    from edna.operations import jobs

    crowd()
    printed = manage("edna_disguise", "club.leave", "--all", "--job", "--yes", operator="olga")
    assert printed.index("north:") < printed.index("in north,") < printed.index("south:") < printed.index("in south,")
    assert {(each.database, each.done, each.state) for each in jobs.reports()} == {
        (alias, 3, "finished") for alias in SHARDS
    }


@contextlib.contextmanager
def untouched_rows(alias: str, *, without: str = "edna") -> Iterator[None]:
    before = everything(alias, without=without)
    try:
        yield
    finally:
        assert everything(alias, without=without) == before


@story
def schedules_are_run_in_each_database() -> None:
    from datetime import timedelta

    from django.utils import timezone

    from edna import schedules

    @edna.schedule(registry.get("club.veil"), inactive_for=timedelta(days=30))
    def away(notice: Any) -> None:
        return None

    try:
        crowd()
        for alias in SHARDS:
            User.objects.using(alias).update(last_login=timezone.now() - timedelta(days=90))
        User.objects.using("south").filter(pk=7).update(last_login=timezone.now())
        document = json.loads(manage("edna_run_schedules", "--json"))
        assert [(each["database"], each["due"], each["trouble"]) for each in document["schedules"]] == [
            ("north", 3, ""),
            ("south", 2, ""),
        ]
        assert [each["done"] for each in document["jobs"]] == [3, 2]
        assert "north" in manage("edna_run_schedules")
        for alias in SHARDS:
            left = Note.objects.using(alias).filter(author__in=[5, 6, 7]).values_list("author", flat=True)
            assert set(left) == (set() if alias == "north" else {7})
    finally:
        schedules._schedules.clear()


@story
def commands_name_the_database() -> None:
    people = crowd()
    edna.disguise("club.leave", people["south"][0])
    for command in ("edna_verify", "edna_expire", "edna_sweep", "edna_scrub", "edna_keys", "edna_vouch", "edna_hold"):
        arguments = ["list"] if command in ("edna_keys", "edna_hold") else []
        with untouched_rows("north"), untouched_rows("south"):
            printed = manage(command, *arguments)
            document = json.loads(manage(command, *arguments, "--json"))
            one = manage(command, *arguments, "--database", "south")
            alone = json.loads(manage(command, *arguments, "--database", "south", "--json"))
        assert printed.index("north:") < printed.index("south:"), command
        assert set(document) == {"databases"}, command
        assert list(document["databases"]) == list(SHARDS), command
        assert "north:" not in one, command
        assert "databases" not in alone, command
    files = json.loads(manage("edna_files", "--json"))["databases"]
    assert {alias: each["left"] for alias, each in files.items()} == {alias: [] for alias in SHARDS}
    planned = json.loads(manage("edna_plan", "club.leave", "--all", "--json"))["databases"]
    assert planned["north"]["rows"] > planned["south"]["rows"] > 0
    for arguments in (["edna_plan", "club.leave", "--principal", "5"], ["edna_register", "5"]):
        with refused(CommandError, "'north', 'south'", "--database"):
            manage(*arguments)
    with refused(CommandError, "'elsewhere'", "'north', 'south'"):
        manage("edna_verify", "--database", "elsewhere")
    assert (
        json.loads(manage("edna_plan", "club.leave", "--principal", "5", "--database", "north", "--json"))["principal"]
        == "5"
    )


@story
def what_goes_by_a_file_is_of_one_database() -> None:
    """Register everybody, the ledger, and moving by a file; each names the database, or is refused."""
    for alias in SHARDS:
        for key in (5, 6):
            member(alias, f"{alias}-{key}", key=key)
    folder = settings.SCRATCH / "files"
    folder.mkdir(exist_ok=True)
    for command in (["edna_register", "--all", "--keys-file"], ["edna_export"], ["edna_ledger", "write"]):
        kept = override_settings(EDNA={**settings.EDNA, "LEDGER": True})
        with kept, refused(CommandError, "'north', 'south'", "--database"):
            manage(*command, str(folder / f"{command[0]}-nowhere"), operator="olga")
    for alias in SHARDS:
        backend = f"tests.shards.backends.{alias.capitalize()}"
        Client().force_login(User.objects.using(alias).get(pk=6), backend=backend)
        SessionLink.objects.using(alias).all().delete()
    with untouched_rows("north", without=""):
        manage("edna_register", "--all", "--keys-file", str(folder / "keys"), "--database", "south", operator="olga")
    assert SessionLink.objects.using("south").count() == 1  # who has the same key in the north is not taken for them
    people = list(User.objects.using("south").order_by("pk"))
    assert edna.unregistered(people) == []
    with override_settings(EDNA={**settings.EDNA, "LEDGER": True}):
        before = everything("south")
        with untouched("north"):
            receipt = edna.disguise("club.leave", people[0])
            manage("edna_ledger", "write", str(folder / "ledger"), "--database", "south", operator="olga")
            lines = (folder / "keys").read_text().splitlines()
            key = next(each for each in map(json.loads, lines) if each["principal"] == "5")
            with edna.unlock(secret_key=key["secret_key"], principal=people[1]) as unlocked:
                assert edna.reveal(receipt, unlocked).complete
            assert everything("south") == before
            reapply = ["edna_ledger", "reapply", str(folder / "ledger"), "--database", "south"]
            assert "1" in manage(*reapply, "--dry-run", operator="olga")
            manage(*reapply, operator="olga")
        assert not User.objects.using("south").filter(pk=5).exists()
        # Who has the same primary key in the north is somebody else.
        edna.register_principal(User.objects.using("north").get(pk=5))
        with refused(CommandError, "'south'", "'north'"):
            manage(*reapply[:-1], "north", operator="olga")
        for row in LedgerEntry.objects.using("south"):
            row.save(using="north", force_insert=True)
        manage("edna_ledger", "write", str(folder / "mixed"), "--database", "north", operator="olga")
        LedgerEntry.objects.using("north").all().delete()
        with refused(CommandError, "'south'", "'north'"):
            manage("edna_ledger", "reapply", str(folder / "mixed"), "--database", "north", operator="olga")
        with override_settings(EDNA={**settings.EDNA, "DATABASES": []}), untouched_rows("north"):
            manage("edna_keys", "add", operator="olga")
            manage("edna_ledger", "write", str(folder / "unnamed"), operator="olga")
        with refused(CommandError, "does not say which database", "'north'"):
            manage("edna_ledger", "reapply", str(folder / "unnamed"), "--database", "north", operator="olga")
    told = manage("edna_export", str(folder / "export"), "--database", "south", operator="olga")
    assert "in the database 'south'" in told
    assert (folder / "export").stat().st_size > 1000


@story
def a_job_that_was_copied_to_the_other_database_is_not_done_there() -> None:
    """With its list: primary keys are given anew in each, so it would disguise others."""
    from edna.operations import jobs
    from edna.operations.models import Job, JobItem

    crowd()
    for name, options in (("club.veil", {}), ("club.leave", {"keep_no_way_back": True})):
        with edna.on("north"):
            job = jobs.start(name, operator="olga", **options).id
        rows = [each for model in (Job, JobItem) for each in model._base_manager.using("north").all()]
        for row in rows:
            row.save(using="south", force_insert=True)
        with untouched_rows("south"):
            with contextlib.suppress(CommandError):
                manage("edna_run", "--database", "south")
            with edna.on("south"):
                assert jobs.forged() == [job]
                assert jobs.report(job).done == 0
            with pytest.raises(CommandError):
                manage("edna_verify", "--database", "south")
        assert jobs.report(job).database == "north"
        manage("edna_run", "--database", "north")
        assert jobs.report(job).done >= 3
        for model in (Job, JobItem):
            for alias in SHARDS:
                model._base_manager.using(alias).all().delete()


@story
def a_command_about_jobs_names_the_database_that_is_away() -> None:
    from edna.operations import jobs

    crowd()
    with edna.on("north"):
        job = jobs.start("club.veil").id
    with away("south"):
        for command in (["edna_run"], ["edna_jobs"], ["edna_jobs", "show", "1"]):
            with pytest.raises(CommandError, match="do not answer: 'south'"):
                manage(*command)
        assert "north" in manage("edna_jobs", "show", str(job))
        manage("edna_run", "--database", "north")
        assert jobs.report(job).left == 0
    with edna.on("south"):
        job = jobs.start("club.veil").id
    with away("north"):
        assert jobs.pause(job).database == "south"


@story
def files_are_finished_in_each_database_by_name() -> None:
    crowd()
    none = "No file was waiting.\n"
    assert manage("edna_files") == f"north:\n{none}south:\n{none}"


@story
def the_audit_looks_where_the_person_is() -> None:
    people = crowd()
    with refused(CommandError, "'north', 'south'", "--database"):
        manage("edna_audit", "--principal", "5", "--disguise", "club.leave")
    with untouched("north"):
        found = json.loads(
            manage("edna_audit", "--principal", "south-5", "--disguise", "club.leave", "--database", "south", "--json")
        )
    assert not found["searches"][0]["found"]
    assert people


@story
def tasks_are_done_in_each_database() -> None:
    from edna import tasks
    from edna.operations import jobs
    from edna.operations.upkeep import figures

    crowd()
    for alias in SHARDS:
        with edna.on(alias):
            jobs.start("club.leave")
    for job in jobs.waiting():
        tasks.run_job(job)
    tasks.run_schedules()
    tasks.finish_files()
    tasks.maintain()
    tasks.scrub()
    assert [(each.state, each.done) for each in jobs.reports()] == [("finished", 3)] * 2
    for alias in SHARDS:
        with edna.on(alias):
            assert set(figures.recurring()) == {"schedules", "expire", "sweep", "scrub"}


@story
def metrics_name_the_database() -> None:
    from edna import metrics

    people = crowd()
    edna.disguise("club.leave", people["south"][0])
    page = metrics.page().decode()
    assert 'edna_tables_up{database="north"} 1.0' in page
    assert 'edna_bags{database="south",expires="never"} 1.0' in page
    assert 'edna_bags{database="north"' not in page


@story
def a_command_that_is_refused_in_one_database_goes_through_the_others() -> None:
    crowd()
    member("south", "dan")  # without a key
    with pytest.raises(CommandError) as caught:
        manage("edna_disguise", "club.veil", "--all", "--yes", operator="olga")
    assert str(caught.value).startswith("south: ")
    assert "1 owner(s)" in str(caught.value)
    assert caught.value.returncode == 3
    assert not Note.objects.using("north").filter(author__in=[5, 6, 7]).exists()
    assert Note.objects.using("south").filter(author__in=[5, 6, 7]).count() == 6


@story
def a_reveal_by_command_finds_the_database() -> None:
    people = crowd()
    key = edna.register_principal(member("south", "eve")).secret_key
    before = everything("south")
    assert people
    assert key is not None
    file = settings.SCRATCH / "eve.key"
    file.write_text(key.expose_text())
    receipt = manage(
        "edna_disguise", "club.leave", "--principal", "eve", "--yes", "--database", "south", operator="olga"
    ).strip()
    assert everything("south") != before
    with untouched_rows("north"):
        printed = manage("edna_reveal", receipt, "--secret-key-file", str(file))
    assert "Restored in the database 'south':" in printed
    assert everything("south") == before


@story
def what_a_command_says_of_somebody_names_the_database() -> None:
    """Also where it asks whether to go on, past what it prints: two people may have the same primary key."""
    crowd()
    for command in (["edna_plan", "club.veil"], ["edna_audit", "--disguise", "club.veil"]):
        printed = io.StringIO()
        with contextlib.suppress(CommandError):  # something was found
            given = ["--principal", "5", "--database", "south"]
            call_command(*command, *given, stdout=printed, stderr=io.StringIO())
        assert "auth.User 5 in the database 'south'" in printed.getvalue(), command
    asked = io.StringIO()
    with mock.patch("sys.stdin", io.StringIO("no\n" * 2)), pytest.raises(CommandError):
        call_command("edna_disguise", "club.veil", "--all", stdout=io.StringIO(), stderr=asked)
    assert all(f"for everybody in the database '{alias}'" in asked.getvalue() for alias in SHARDS)
    key, file = edna.register_principal(member("south", "eve")).secret_key, settings.SCRATCH / "eve.key"
    assert key is not None
    file.write_text(key.expose_text())
    given = ["--principal", "eve", "--yes", "--database", "south"]
    receipt = manage("edna_disguise", "club.veil", *given, operator="olga").strip()
    told, keys = io.StringIO(), ["--secret-key-file", str(file)]
    written = str(settings.SCRATCH / "eve.json")
    call_command("edna_export_person", "--output", written, *keys, operator="olga", stdout=io.StringIO(), stderr=told)
    assert "found in the database 'south'" in told.getvalue()
    printed = manage("edna_erase", receipt, "--secret-key-file", str(file), "--yes", operator="olga")
    assert "Destroyed for good in the database 'south':" in printed


@story
def what_cannot_be_is_a_check() -> None:
    def found(**changed: Any) -> dict[str, str]:
        with override_settings(EDNA={**settings.EDNA, **changed}):
            messages = run_checks(tags=["edna"])
        wanted = ("edna.E050", "edna.E051", "edna.E052", "edna.E069", "edna.W071", "edna.E002")
        return {str(each.id): f"{each.msg} {each.hint}" for each in messages if each.id in wanted}

    ((check, words),) = found().items()
    assert check == "edna.W071"
    assert all(word in words for word in ("club.Note", "club.Vote", "'default'", "SILENCED_SYSTEM_CHECKS"))
    assert "auth.User" not in words

    class Home:
        """What is made without a row goes to a shard."""

        def db_for_write(self, model: type[Any], *, instance: Any = None, **_: Any) -> str | None:
            return "north" if instance is None else None

    class Unsaid:
        def db_for_write(self, model: type[Any], *, instance: Any = None, **_: Any) -> str | None:
            if instance is None:
                raise LookupError("say where")
            return None

    for router in (Home(), Unsaid()):
        with override_settings(DATABASE_ROUTERS=[router, *settings.DATABASE_ROUTERS]):
            assert found() == {}
    assert set(found(DATABASES=["north", "elsewhere"])) == {"edna.E002"}
    assert set(found(DATABASES="north")) == {"edna.E002"}
    assert set(found(CUSTODY="both")) == {"edna.W071"}

    class Pinned:
        """Votes of everybody lie in one place."""

        def db_for_write(self, model: type[Any], **_: Any) -> str | None:
            return "default" if model is Vote else None

    class Nowhere:
        """Votes have a table in the south alone."""

        def allow_migrate(self, db: str, app_label: str, model_name: str | None = None, **_: Any) -> bool | None:
            return False if model_name == "vote" and db != "south" else None

    class Unmigrated:
        def allow_migrate(self, db: str, app_label: str, **_: Any) -> bool | None:
            return False if app_label == "edna" and db == "south" else None

    with override_settings(DATABASE_ROUTERS=[Unmigrated(), *settings.DATABASE_ROUTERS]):
        said = found()["edna.E069"]
    assert "migrate --database south" in said
    assert "out of the disguise" not in said
    for router in (Pinned(), Nowhere()):
        with override_settings(DATABASE_ROUTERS=[router, *settings.DATABASE_ROUTERS]):
            (check, words), _ = sorted(found().items())
        assert check == "edna.E069"
        assert "club.Vote" in words
        assert "docs/howto-shards.md" in words


@story
def the_recipe_for_rows_that_cannot_be_where_the_person_is() -> None:
    """docs/howto-shards.md: one disguise in each database, one receipt each."""
    north, south = both()
    keys = [edna.register_principal(person).secret_key for person in (north, south)]
    before = [everything(alias) for alias in SHARDS]
    receipts = [edna.disguise("club.leave", person) for person in (north, south)]
    for key, receipt in zip(reversed(keys), reversed(receipts), strict=True):
        with edna.unlock(secret_key=key, receipts=[receipt]) as unlocked:
            assert edna.reveal(receipt, unlocked).complete
    assert [everything(alias) for alias in SHARDS] == before


@story
def what_is_noted_of_somebody_is_noted_where_they_are() -> None:
    """Also where another database is at work: a log-in, a day of activity, a row that the application deletes."""
    north, south = both()
    for person in (north, south):
        edna.register_principal(person)
    client = Client()
    with edna.on("south"), untouched("south"):
        assert edna.is_registered(north)
        assert not edna.is_pseudoprincipal(north)
        client.force_login(north)
        client.logout()
        north.delete()
    assert edna.is_registered(south)
    with edna.on("north"):
        assert edna.plan_all("club.veil").rows == 0
    again = member("north", key=5)
    edna.register_principal(again)
    with untouched("south"):
        User(pk=5).delete(using="north")
    assert edna.is_registered(south)
    assert not edna.is_registered(member("north", key=5))
    operator = User.objects.db_manager("default").create_user("olga", password="login", pk=5)
    with untouched("north"), untouched("south"):
        assert not edna.is_registered(operator)
        assert not edna.is_pseudoprincipal(operator)
        assert edna.unregistered([operator]) == [operator]
        client.force_login(operator)
        client.logout()
        operator.delete()


@story
def what_is_made_without_a_shard_goes_where_the_docs_say() -> None:
    """docs/howto-shards.md, "Rows that are made without a shard": the reason for `edna.W071`."""
    person = User.objects.db_manager("north").create_user("north-gus", pk=5)
    User.objects.db_manager("default").create_user("olga", pk=5)
    note = Note(author=person)
    note.save()
    made = [note, person.note_set.create(), Note.objects.using("north").create(author=person)]
    assert [each._state.db for each in made] == ["north"] * 3
    assert Note.objects.create(author=person)._state.db == "default"


@story
def the_recipe_for_log_ins() -> None:
    """docs/howto-shards.md: everybody is found where they are, and has the rights of nobody else; in asynchronous views, too."""
    people = {alias: member(alias, f"{alias}-gus", key=5) for alias in ("default", *SHARDS)}
    for alias, name in (("default", "delete_note"), ("north", "add_note")):
        group = Group.objects.using(alias).create(name="moderators")
        group.permissions.add(Permission.objects.using(alias).get(codename=name))
        people[alias].groups.add(group)
    found: dict[str, User] = {}
    for alias, person in people.items():
        given = {"username": person.username, "password": "login"}
        for user in (authenticate(None, **given), async_to_sync(aauthenticate)(None, **given)):
            assert isinstance(user, User)
            assert (user._state.db, user.pk) == (alias, 5)
            found[alias] = user
        assert authenticate(None, username=person.username, password="another") is None
        client = Client()
        assert client.login(**given)
        request = HttpRequest()
        request.session = client.session
        for user in (get_user(request), async_to_sync(aget_user)(request)):
            assert isinstance(user, User)
            assert (user._state.db, user.username) == (alias, person.username)
        User.objects.using(alias).filter(pk=5).update(is_active=False)
        assert authenticate(None, **given) is None
        assert not get_user(request).is_authenticated
    assert {alias: sorted(user.get_all_permissions()) for alias, user in found.items()} == {
        "default": ["club.delete_note"],
        "north": ["club.add_note"],
        "south": [],
    }


@story
def signals_say_the_database() -> None:
    """Also those that wait for the end of the caller's transaction: a receiver may call edna, and looks for rows there."""
    heard: list[Any] = []

    def hear(*, sender: Any, keys: Any, using: str, **_: Any) -> None:
        heard.append((sender, sorted(keys), using, registry.database()))

    for person in both():
        edna.register_principal(person)
    for signal in (signals.rows_removed, signals.disguised):
        signal.connect(hear, sender=User)
    try:
        with transaction.atomic(using="south"):
            edna.disguise("club.leave", User.objects.using("south").get(pk=5))
            assert heard == []
        assert heard == [(User, [5], "south", "south")] * 2
    finally:
        for signal in (signals.rows_removed, signals.disguised):
            signal.disconnect(hear, sender=User)


@story
def one_database_is_as_ever() -> None:

    with override_settings(EDNA={**settings.EDNA, "DATABASES": []}):
        manage("edna_keys", "add", operator="olga")
        assert registry.databases() == (registry.database(),) == ("default",)
        person = member("default")
        key = edna.register_principal(person).secret_key
        before = everything("default")
        with untouched("north"), untouched("south"):
            receipt = edna.disguise("club.leave", person)
            with edna.unlock(secret_key=key) as unlocked:
                assert edna.reveal(receipt, unlocked).complete
        assert everything("default") == before
        with refused(errors.DatabaseNotChosen, "the site has one database"), edna.on("default"):
            pass


def tell(told: Mapping[str, Callable[[], None]]) -> dict[str, str]:
    """How each of them failed; "" if it did not."""
    migrate()
    connections.close_all()
    described = settings.DATABASES.items()
    files = [
        settings.SCRATCH / f"{alias}.sqlite3" for alias, database in described if database["ENGINE"].endswith("sqlite3")
    ]
    servers = [alias for alias, database in described if not database["ENGINE"].endswith("sqlite3")]
    for file in files:
        shutil.copy(file, f"{file}.empty")
    found: dict[str, str] = {}
    for name, each in told.items():
        for file in files:
            shutil.copy(f"{file}.empty", file)
        for alias in servers:
            manage("flush", database=alias, interactive=False, verbosity=0)
        try:
            each()
            found[name] = ""
        except BaseException:
            found[name] = traceback.format_exc()
        connections.close_all()
    for file in files:
        shutil.copy(f"{file}.empty", file)  # whoever tells others after these begins with empty tables, too
    return found


if __name__ == "__main__":
    print(json.dumps(tell({name: stories[name] for name in sys.argv[1:] or stories})))
