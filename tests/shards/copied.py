"""Rows of edna's that somebody with write access to both databases copies from the one to the other:
`python -m tests.shards.copied STORY ...`, as `run` tells its own.

In both databases the first member has the same primary key, the same name and the same words: what counts in the other database would be
about somebody else.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import django

django.setup()

import pytest  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.contrib.sessions.models import Session  # noqa: E402
from django.core.checks import run_checks  # noqa: E402
from django.core.files.base import ContentFile  # noqa: E402
from django.core.files.storage import FileSystemStorage, default_storage  # noqa: E402
from django.core.management import CommandError  # noqa: E402
from django.db import connections  # noqa: E402
from django.db.models import QuerySet  # noqa: E402
from django.test import Client, override_settings  # noqa: E402

import edna  # noqa: E402
from edna import devices, errors  # noqa: E402
from edna.crypto.keys import SecretKey  # noqa: E402
from edna.db.short_values import number_of  # noqa: E402
from edna.devices.models import DeviceRecord  # noqa: E402
from edna.engine.books import under_way  # noqa: E402
from edna.models import Bag, FileTask, KeySlot, PrincipalEntry, Replay, SessionLink  # noqa: E402
from edna.operations import audit, jobs  # noqa: E402
from edna.operations.models import AuditCount, AuditEntry, Job, JobItem  # noqa: E402
from edna.operations.upkeep import verification  # noqa: E402
from tests.shards.run import PASSWORD, SHARDS, both, everything, manage, member, refused, tell  # noqa: E402
from tests.upgrades.club.models import Message, Note  # noqa: E402

stories: dict[str, Callable[[], None]] = {}
HOWTO = Path(__file__).resolve().parents[2] / "docs" / "howto-shards.md"


def story(each: Callable[[], None]) -> Callable[[], None]:
    stories[each.__name__] = each
    return each


def copied(*models: type[Any], replaced: bool = False) -> None:
    """Rows of the north, put into the south, perhaps in the place of all that are there."""
    for model in models:
        if replaced:
            model._base_manager.using("south").all().delete()
        for row in model._base_manager.using("north").order_by("pk"):
            row.save(using="south", force_insert=True)


def audit_of(alias: str, action: str) -> list[dict[str, Any]]:
    with edna.on(alias):
        return audit.details_of(action)


def found(alias: str) -> dict[str, list[int]]:
    with edna.on(alias) if settings.EDNA["DATABASES"] else contextlib.nullcontext():
        return {each.kind: each.ids for each in verification.verify().findings}


@contextlib.contextmanager
def while_there_was_one(alias: str) -> Iterator[None]:
    """The site as it was while all its people were in this database."""
    with override_settings(
        DATABASE_ROUTERS=[f"tests.shards.copied.{alias.capitalize()}Alone"], EDNA={**settings.EDNA, "DATABASES": []}
    ):
        yield


class _Alone:
    alias: str

    def db_for_read(self, model: Any, **_: Any) -> str:
        return self.alias

    db_for_write = db_for_read


class NorthAlone(_Alone):
    alias = "north"


class SouthAlone(_Alone):
    alias = "south"


@contextlib.contextmanager
def storage_that_deletes_nothing() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:

        def refuse(*_: Any) -> None:
            raise OSError

        patch.setattr(FileSystemStorage, "delete", refuse)
        yield


def _a_file_waits(person: User) -> str:
    """Somebody leaves, and a file of theirs is still there; its name."""
    edna.register_principal(person)
    note = Note.objects.using(person._state.db).filter(author=person).order_by("pk")[0]
    note.attachment.save("waits.txt", ContentFile(b"dear Ann"))
    with storage_that_deletes_nothing():
        edna.disguise("club.leave", person)
    return str(note.attachment.name)


# Entries of principals


@story
def to_an_entry_that_was_copied_nothing_is_sealed() -> None:
    """Whose key it is would be said of who has the same primary key: the next disguise of theirs would be somebody else's to open."""
    north, south = both()
    key = edna.register_principal(north).secret_key
    copied(PrincipalEntry)
    (entry,) = PrincipalEntry.objects.using("south")
    for disguise in ("club.veil", "club.leave"):
        with refused(errors.EntryForged, str(entry.pk), "'south'", "edna_vouch"):
            edna.disguise(disguise, south)
    with edna.on("south"), refused(errors.EntryForged):
        edna.disguise_all("club.veil")
    with edna.on("south"), refused(errors.EntryForged), edna.unlock(secret_key=key) as unlocked:
        edna.speak_as(unlocked, Note.objects.using("south").filter(author=south)[0])
    assert found("north") == {}
    assert found("south") == {"entry_of_another": [entry.pk]}
    assert edna.disguise("club.leave", north)


@story
def with_an_entry_that_was_copied_nobody_passes_for_somebody_else() -> None:
    """Put into the place of another one, it would make who has its key the owner of all that the other person has."""
    north, south = both()
    key, _ = (edna.register_principal(each).secret_key for each in (north, south))
    copied(PrincipalEntry, replaced=True)
    attempts: list[Callable[[Any], object]] = [
        edna.export,
        edna.principal,
        lambda unlocked: edna.disguise("club.leave", south, unlocked=unlocked),
        edna.rotate,
    ]
    for attempt in attempts:
        with edna.on("south"), refused(errors.EntryForged, "edna_vouch"), edna.unlock(secret_key=key) as unlocked:
            attempt(unlocked)
    assert list(found("south")) == ["entry_of_another"]
    with edna.on("north"), edna.unlock(secret_key=key) as unlocked:
        assert edna.principal(unlocked) == north


@story
def nobody_is_swept_for_a_pseudoprincipal_of_the_other_database() -> None:
    """Copied, it would say of who has the same primary key that they are a pseudoprincipal, which nothing needs."""
    north = member("north", key=5)
    edna.register_principal(north)
    edna.disguise("club.veil", north)
    placeholders = list(PrincipalEntry.objects.using("north").filter(natural=False))
    assert placeholders
    for row in placeholders:
        member("south", f"cyd-{row.reference}", key=int(row.reference))
        row.locators = b""
        row.save(using="south", force_insert=True)
    before = everything("south")
    manage("edna_sweep", "--database", "south")
    assert everything("south") == before
    assert found("south")["entry_of_another"] == sorted(row.pk for row in placeholders)


# Other places: one database before, another alias, somebody who was moved


def vouched(*arguments: str) -> str:
    """What it has done in which database, as it is told to whoever types it."""
    return manage("edna_vouch", *arguments, operator="olga")


def warned(alias: str) -> list[str]:
    return [each.id for each in run_checks(tags=["database"], databases=[alias]) if each.id == "edna.W073"]


@story
def a_site_that_had_one_database_is_told_to_vouch_once() -> None:
    with while_there_was_one("north"):
        north = member("north", key=5)
        key = edna.register_principal(north, password=PASSWORD).secret_key
        receipt = edna.disguise("club.veil", north)
        gone = member("north", "ann", key=6)
        own = edna.register_principal(gone).secret_key
        left = edna.disguise("club.leave", gone)
        assert edna.replay(Note, where={"text": "note 0 of ann in the north"}, set={"text": "[redacted]"}) == 0
        name = _a_file_waits(member("north", "cyd", key=7))
        assert warned("north") == []
        assert found("north") == {}
    member("south", key=5)
    entries = sorted(PrincipalEntry.objects.using("north").filter(reference__isnull=False).values_list("pk", flat=True))
    (logged,), (task,) = (model._base_manager.using("north").all() for model in (Replay, FileTask))
    assert warned("north") == ["edna.W073"]
    assert warned("south") == []
    assert found("north") == {"entry_of_another": entries, "replay": [logged.pk], "file_task": [task.pk]}
    copied(PrincipalEntry)
    for attempt in (lambda: edna.disguise("club.leave", north), lambda: edna.unlock(secret_key=key, principal=north)):
        with refused(errors.EntryForged, "'north'", "Whose tags count where"):
            attempt()
    with pytest.raises(CommandError, match=rf"{len(entries)} of them .*Whose tags count where"):
        vouched("--database", "north")
    with refused(CommandError, "--database"):
        vouched("--formerly-alone")
    vouched("--formerly-alone", "--database", "north")
    assert warned("north") == []
    assert found("north") == {}
    assert found("south") == {"entry_of_another": entries}  # of nobody who is there has somebody vouched
    PrincipalEntry.objects.using("south").all().delete()
    for secret_key, each in ((key, receipt), (own, left)):
        with edna.unlock(secret_key=secret_key) as unlocked:
            assert edna.reveal(each, unlocked).complete
        assert not Note.objects.using("north").filter(text="note 0 of ann in the north").exists()
    assert Note.objects.using("north").filter(text="[redacted]").exists()
    manage("edna_files", "--database", "north")
    assert not default_storage.exists(name)
    (noted,) = [each for each in audit_of("north", "vouch") if "formerly" in each]
    assert (noted["entries"], noted["replays"], noted["files"]) == (len(entries), 1, 1)


@contextlib.contextmanager
def another_alias(former: str, alias: str) -> Iterator[None]:
    settings.DATABASES[alias] = settings.DATABASES[former]
    several = [alias if each == former else each for each in settings.EDNA["DATABASES"]]
    connections.close_all()
    try:
        with override_settings(EDNA={**settings.EDNA, "DATABASES": several}):
            yield
    finally:
        connections[alias].close()
        del settings.DATABASES[alias]


@story
def of_copies_the_one_in_the_database_that_is_named_is_vouched_for() -> None:
    """An entry keeps its number where it is copied to, and so does a job. Whoever vouches for one of them has looked at one."""
    north, _ = both()
    edna.register_principal(north)
    with edna.on("north"):
        job = jobs.start("club.veil").id
    tagged: tuple[type[Any], ...] = (PrincipalEntry, Job, JobItem)
    for model in tagged:
        QuerySet(model, using="north").update(tag=bytes(16))
    copied(*tagged)
    (entry,) = PrincipalEntry.objects.using("north")
    for named in (("--entry", str(entry.pk)), ("--job", str(job))):
        with refused(CommandError, "--database"):
            vouched(*named)
        vouched(*named, "--database", "north")
    assert found("north") == {"job_waiting": [job]}
    assert found("south").keys() >= {"entry_tag", "job"}


@story
def a_database_with_another_alias_is_vouched_for_by_the_former_one() -> None:
    """What had no right tag under that one gets none."""
    north, _ = both()
    key = edna.register_principal(north).secret_key
    receipt = edna.disguise("club.veil", north)
    forged = number_of(public_key := bytes(SecretKey.generate().public_key))
    columns = {"model": "auth.user", "natural": True, "locators": b"", "tag": bytes(16)}
    PrincipalEntry.objects.using("north").create(id=forged, public_key=public_key, reference="7", **columns)
    with another_alias("north", "nord"):
        assert warned("nord") == []
        assert found("nord")["entry_tag"]
        with pytest.raises(errors.EntryForged, match="Whose tags count where"):
            edna.disguise("club.leave", User.objects.using("nord").get(pk=5))
        with pytest.raises(CommandError, match=r"^1 row"):
            vouched("--formerly", "north", "--database", "nord")
        assert found("nord") == {"entry_tag": [forged]}
        with edna.unlock(secret_key=key) as unlocked:
            assert edna.reveal(receipt, unlocked).complete


@story
def who_is_moved_by_hand_is_vouched_for_alone() -> None:
    """With another primary key, where theirs is taken."""
    south, person = member("south", key=5), member("north", "ann", key=5)
    key = edna.register_principal(person, password=PASSWORD).secret_key
    edna.register_principal(south)
    entry = PrincipalEntry.objects.using("north").get()
    User.objects.using("north").all().delete()
    moved = User.objects.db_manager("south").create_user("ann", pk=6)
    PrincipalEntry.objects.using("north").all().delete()
    entry.reference = "6"
    entry.save(using="south", force_insert=True)
    with refused(errors.EntryForged, str(entry.pk), f"--entry {entry.pk}"):
        edna.disguise("club.leave", moved)
    vouched("--entry", str(entry.pk), "--database", "south")
    assert found("south") == {}
    receipt = edna.disguise("club.leave", moved)
    with edna.unlock(secret_key=key) as unlocked:
        assert edna.reveal(receipt, unlocked).complete
        assert edna.principal(unlocked) == moved


@story
def who_is_moved_as_the_docs_say_has_everything_there() -> None:
    """With nothing disguised; and with something, while the account is there, and while it is away. In keys of each shard's own range."""
    (page,) = re.findall(r"### Move somebody\n.*?```python\n(.*?)```", HOWTO.read_text(), re.DOTALL)
    docs: dict[str, Any] = {}
    exec(page, docs)  # what the page shows
    edna.register_principal(User.objects.db_manager("south").create_user("sue", pk=5))
    for number, disguises in enumerate(((), ("club.veil",), ("club.leave",), ("club.veil", "club.leave")), start=1):
        person = member("north", f"ann-{number}", key=100 * number)
        made = edna.register_principal(person, password=PASSWORD)
        before, receipts = _values([person.pk], "north"), []
        with edna.unlock(secret_key=made.secret_key) as unlocked:
            receipts += [edna.disguise(name, person, unlocked=unlocked) for name in disguises]
            sealed = edna.export_sealed(unlocked) if receipts else None
        entry = PrincipalEntry.objects.using("north").get(public_key=bytes(made.secret_key.public_key))
        if sealed is not None:
            with pytest.raises(SystemExit, match="is disguised"):
                docs["of_edna"](entry, "north")
        kept = docs["of_edna"](entry, "north", sealed)
        assert sum(isinstance(row, KeySlot) for row in kept) == 2  # the password's, and the code's
        whose = [int(each.reference) for each in kept if isinstance(each, PrincipalEntry) and each.reference]
        for row in [row for rows in _rows_of(whose, "north") for row in rows]:
            row.save(using="south", force_insert=True)
        docs["move"](kept, source="north", target="south")
        for rows in reversed(_rows_of(whose, "north")):
            rows._raw_delete("north")
        assert [found(alias) for alias in SHARDS] == [{}, {}]
        assert not any(model.objects.using("north").exists() for model in (PrincipalEntry, KeySlot, Bag))
        for given in ({"identifier": person.username, "password": PASSWORD}, {"recovery_code": made.recovery_code}):
            with edna.unlock(**given) as unlocked:
                assert unlocked.using == "south"
        with edna.unlock(secret_key=made.secret_key) as unlocked:
            assert len(edna.history(unlocked)) == len(receipts)
            assert all(edna.reveal(receipt, unlocked).complete for receipt in reversed(receipts))
        assert _values([person.pk], "south") == before
        entry = PrincipalEntry.objects.using("south").get(reference=str(person.pk))
        assert len(docs["of_edna"](entry, "south")) == 3  # and not refused: nothing is disguised any more
        receipt = edna.disguise("club.leave", User.objects.using("south").get(pk=person.pk))
        with edna.unlock(secret_key=made.secret_key) as unlocked:
            assert edna.reveal(receipt, unlocked).complete


def _rows_of(people: list[int], alias: str) -> list[Any]:
    """Those of these people, referred ones first."""
    theirs: tuple[tuple[type[Any], str], ...] = ((User, "pk"), (Note, "author"), (Message, "sender"))
    return [
        model._base_manager.using(alias).filter(**{f"{field}__in": people}).order_by("pk") for model, field in theirs
    ]


def _values(people: list[int], alias: str) -> list[Any]:
    return [list(rows.values()) for rows in _rows_of(people, alias)]


@story
def tables_that_came_by_a_file_are_vouched_for() -> None:
    north = member("north", key=5)
    key = edna.register_principal(north, password=PASSWORD).secret_key
    receipt = edna.disguise("club.veil", north)
    file = settings.SCRATCH / "moved"
    manage("edna_export", str(file), "--database", "north", operator="olga")
    for model in (User, Note, Message):
        model.objects.using("south").bulk_create(model.objects.using("north").order_by("pk"))
    manage("edna_import", str(file), "--database", "south", operator="olga")
    with (
        edna.on("south"),
        refused(errors.EntryForged, "Whose tags count where"),
        edna.unlock(secret_key=key) as unlocked,
    ):
        edna.reveal(receipt, unlocked)
    vouched("--formerly", "north", "--database", "south")
    assert found("south") == {}
    with edna.on("south"), edna.unlock(secret_key=key) as unlocked:
        assert edna.reveal(receipt, unlocked).complete


@story
def one_database_again_vouches_by_the_alias_that_it_had() -> None:
    north = member("north", key=5)
    key = edna.register_principal(north).secret_key
    receipt = edna.disguise("club.veil", north)
    with while_there_was_one("north"):
        with refused(errors.EntryForged):
            edna.disguise("club.leave", north)
        vouched("--formerly", "north")
        with edna.unlock(secret_key=key) as unlocked:
            assert edna.reveal(receipt, unlocked).complete


# Updates that are done again, and files


@story
def what_was_redacted_in_one_database_is_not_in_the_other() -> None:
    """The log says which rows by their primary keys: in the other database others have these."""
    _, south = both()
    key = edna.register_principal(south).secret_key
    before = everything("south")
    receipt = edna.disguise("club.leave", south)
    same = Note.objects.using("north").order_by("pk").values_list("pk", flat=True)[0]
    with edna.on("north"):
        edna.replay(Note, where={"pk": same}, set={"text": "[redacted]"})
    copied(Replay)
    (row,) = Replay.objects.using("south")
    with (
        refused(errors.BagForged, "'south'", "Whose tags count where"),
        edna.unlock(secret_key=key) as unlocked,
    ):
        edna.reveal(receipt, unlocked)
    assert found("south") == {"replay": [row.pk]}
    assert found("north") == {}
    row.delete()
    with edna.unlock(secret_key=key) as unlocked:
        assert edna.reveal(receipt, unlocked).complete
    assert everything("south") == before


@story
def a_file_that_waits_to_be_deleted_in_one_database_is_not_in_the_other() -> None:
    """There no row names it, once its owner is back: it would be deleted from the storage, which is common to both."""
    north, _ = both()
    key = edna.register_principal(north).secret_key
    note = Note.objects.using("north").order_by("pk")[0]
    note.attachment.save("letter.txt", ContentFile(b"dear Ann"))
    name = note.attachment.name
    with storage_that_deletes_nothing():
        receipt = edna.disguise("club.leave", north)
    copied(FileTask)
    (task,) = FileTask.objects.using("south")
    with edna.unlock(secret_key=key) as unlocked:
        assert edna.reveal(receipt, unlocked).complete
    with contextlib.suppress(CommandError):
        manage("edna_files", "--database", "south")
    assert default_storage.exists(name)
    assert found("south") == {"file_task": [task.pk]}
    assert found("north") == {}


# What is under way


@story
def what_is_under_way_for_somebody_is_not_for_who_has_the_same_primary_key() -> None:
    """The next disguise of theirs would go on under a receipt that somebody else has: the first chunk would be of the other person."""
    north, south = both()
    for person in (north, south):
        edna.register_principal(person)
    with override_settings(EDNA={**settings.EDNA, "CHUNK_ROWS": 1}):
        with pytest.MonkeyPatch.context() as patch:
            goes_on = under_way.after

            def interrupted(*args: Any, **options: Any) -> Any:
                if args[1].number == 1:
                    raise KeyboardInterrupt
                return goes_on(*args, **options)

            patch.setattr(under_way, "after", interrupted)
            with pytest.raises(KeyboardInterrupt):
                edna.disguise("club.leave", north)
        (entry,) = PrincipalEntry.objects.using("north").exclude(under_way=None)
        copied(Bag)
        PrincipalEntry.objects.using("south").update(under_way=entry.under_way)
        other = edna.disguise("club.leave", south)
        own = edna.disguise("club.leave", north)
    assert own != other
    assert Bag.objects.using("north").count() < Bag.objects.using("south").count()


# What operators did


@story
def the_trail_of_one_database_does_not_pass_for_that_of_another() -> None:
    """As a whole, with its count: what was done there would never have been, and somebody else would have done something."""
    for alias in SHARDS:
        with edna.on(alias):
            audit.note("apply", operator=f"olga of the {alias}", disguise="club.veil", principals=3)
            audit.note("sweep", operator="olga", pseudoprincipals=2)
            assert audit.verify() == []
    trail = [list(model._base_manager.using("north").order_by("pk")) for model in (AuditEntry, AuditCount)]
    with connections["south"].cursor() as cursor:
        cursor.execute("DELETE FROM edna_auditentry")
    AuditCount.objects.using("south").all().delete()
    for rows in trail:
        for row in rows:
            row._state.adding = True
            row.save(using="south", force_insert=True)
    with edna.on("south"):
        assert audit.verify() == [row.pk for row in trail[0]]
        audit.note("sweep", operator="olga", pseudoprincipals=1)
        assert audit.verify() == [row.pk for row in trail[0]]
    with edna.on("north"):
        assert audit.verify() == []


@story
def a_trail_goes_on_once_somebody_vouches_for_where_it_was() -> None:
    """From one database to one of several, and to another alias; each time what was noted before counts if a later entry says so."""
    with while_there_was_one("north"):
        audit.note("apply", operator="olga", disguise="club.veil", principals=3)
        assert audit.verify() == []
    assert list(found("north")) == ["audit"]
    with edna.on("north"):
        audit.note("sweep", operator="olga", pseudoprincipals=2)
        assert len(audit.verify()) == audit.entries()[0].id - 1
    vouched("--formerly-alone", "--database", "north")
    assert found("north") == {}
    with another_alias("north", "nord"):
        assert list(found("nord")) == ["audit"]
        vouched("--formerly", "north", "--database", "nord")
        assert found("nord") == {}
        with edna.on("nord"):
            audit.note("sweep", operator="olga", pseudoprincipals=1)
            assert audit.verify() == []


# What does no harm: docs/decisions/0044-shards.md, "Rows that are copied"


@story
def a_slot_that_was_copied_opens_the_key_that_it_opened_before_and_nothing_of_others() -> None:
    """Its tag and its place follow from the key and from words, and name nobody. Whose key it opens, entries say."""
    north, south = both()
    key = edna.register_principal(north, password=PASSWORD).secret_key
    edna.register_principal(south)
    copied(KeySlot)
    words: dict[str, Any] = {"identifier": "bea", "password": PASSWORD}
    with edna.unlock(**words) as unlocked:
        assert unlocked.using == "north"  # where the key has an entry
    with edna.on("south"), pytest.raises(errors.EdnaError), edna.unlock(**words, principal=south) as unlocked:
        edna.export(unlocked)
    with edna.unlock(**words, principal=north) as unlocked:
        assert unlocked.using == "north"
        assert edna.principal(unlocked) == north
    with edna.unlock(secret_key=key) as unlocked:
        assert unlocked.using == "north"


@story
def a_link_that_was_copied_ends_the_session_that_it_names_and_no_other() -> None:
    """Whoever writes to one database can put any session's key beside any tag: another database is not needed for it."""
    north, south = both()
    edna.register_principal(south)
    browsers = {}
    for alias, person in zip(SHARDS, (north, south), strict=True):
        browsers[alias] = Client()
        browsers[alias].force_login(person, backend=f"tests.shards.backends.{alias.capitalize()}")
    SessionLink.objects.using("south").all().delete()
    edna.register_principal(north)
    copied(SessionLink)
    edna.disguise("club.leave", south)
    alive = set(Session.objects.using("default").values_list("session_key", flat=True))
    assert browsers["south"].session.session_key in alive
    assert browsers["north"].session.session_key not in alive


@story
def a_device_that_was_copied_opens_its_own_group_and_nothing_of_others() -> None:
    """Places follow from keys, which nobody else has, and what lies there is sealed to them."""
    north, south = both()
    key = edna.register_principal(north).secret_key
    edna.register_principal(south)
    with edna.unlock(secret_key=key) as unlocked:
        laptop = devices.create(unlocked, name="Laptop")
    copied(DeviceRecord)
    with edna.on("south"), pytest.raises(errors.EdnaError), devices.unlock(laptop) as unlocked:
        edna.export(unlocked)
    with edna.on("north"), devices.unlock(laptop) as unlocked:
        assert edna.principal(unlocked) == north


@story
def what_was_sealed_in_one_database_and_copied_overwrites_nobody_in_the_other() -> None:
    """A removed person's entry names nobody, and has no tag; with it their bags open, for whoever has their key."""
    north, south = both()
    key = edna.register_principal(north).secret_key
    edna.register_principal(south)
    receipt = edna.disguise("club.leave", north)
    theirs = everything("south")
    copied(PrincipalEntry, Bag, replaced=True)
    with refused(errors.DatabaseNotChosen), edna.unlock(secret_key=key):
        pass
    with edna.on("south"), edna.unlock(secret_key=key) as unlocked:
        outcome = edna.reveal(receipt, unlocked)
    assert outcome.held
    assert everything("south") == theirs
    with edna.on("north"), edna.unlock(secret_key=key) as unlocked:
        assert edna.reveal(receipt, unlocked).complete


if __name__ == "__main__":
    print(json.dumps(tell({name: stories[name] for name in sys.argv[1:] or stories})))
