"""Disguising: what happens to rows of every shape, on an application that is not WebSubmit."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import JSONField, Value
from django.db.models.signals import post_delete, pre_delete

import edna
from apps.websubmit.models import Answer, User
from edna import Decorrelate, Disguise, Held, Reason, store
from edna.errors import EdnaError
from edna.testing import application_dump
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    Student,
    answer_everything,
    cut_into_chunks,
    edna_dump,
    enrol,
    enrol_many,
    make_course,
    nothing_changes,
    rows_of,
)

pytestmark = pytest.mark.django_db

VALUES: dict[str, list[Any]] = {
    "text": [
        "",
        "NULL",
        "'; --",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 ß\u0301",
        "back\\slash %s %%",
        "x" * 100_000,
    ],
    "name": ["", "True", "007", " leading and trailing ", "line\nbreak\ttab"],
    "blob": [b"", b"\x00", bytes(range(256)), b"\xff\xfe'\"\\%s", b"\x80" * 70_000],
    "whole": [0, -(2**31), 2**31 - 1],
    "big": [0, -(2**63), 2**63 - 1, 2**53 + 1],
    "small": [0, 32767],
    "amount": [decimal.Decimal(text) for text in ("0", "-0.000001", "1.100000", "99999999999999.999999")],
    "ratio": [0.0, -0.0, 0.1, 1e300, -5e-324, 1 / 3, float(2**53)],
    "flag": [True, False],
    "day": [datetime.date(1000, 1, 1), datetime.date(9999, 12, 31), datetime.date(2024, 2, 29)],
    "moment": [
        datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2025, 10, 26, 0, 59, 59, 999_999, tzinfo=datetime.UTC),
        datetime.datetime(2038, 1, 19, 3, 14, 8, 1, tzinfo=datetime.UTC),
    ],
    "clock": [datetime.time(0, 0), datetime.time(23, 59, 59, 999_999)],
    "span": [datetime.timedelta(0), datetime.timedelta(days=-1, microseconds=1), datetime.timedelta(days=100_000)],
    "data": [{}, [], "", "null", 0, False, {"b": [1, 2.5, None, "ü"], "a": {"": True}}, [[[]]]],
    "unique_id": [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")],
    "address": ["127.0.0.1", "2001:db8::1"],
}


def person(world: Any, handle: str) -> Student:
    made = world.Person.objects.create(handle=handle)
    return registered(made)


def registered(principal: Any) -> Student:
    key = edna.register_principal(principal, identifier=str(principal.pk)).secret_key
    assert key is not None
    return Student(principal, key)


def one_of_everything(world: Any, owner: Any) -> int:
    """A row per value, a row of NULLs, and a JSON null beside the SQL one."""
    rows = [world.Everything(owner=owner), world.Everything(owner=owner, data=None, slug="")]
    rows += [world.Everything(owner=owner, **{name: value}) for name, values in VALUES.items() for value in values]
    full = max(map(len, VALUES.values()))
    rows += [
        world.Everything(owner=owner, **{name: values[number % len(values)] for name, values in VALUES.items()})
        for number in range(full)
    ]
    world.Everything.objects.bulk_create(rows)
    world.Everything.objects.create(owner=owner, data=Value(None, JSONField()))
    return len(rows) + 1


def test_every_type_of_column_survives_removal(world: Any) -> None:
    """Exactly, on each database: extremes, empty and NULL, JSON null and SQL NULL, any bytes (promise 24)."""
    ada = person(world, "ada")
    number = one_of_everything(world, ada.user)
    before = application_dump()
    receipt = ada.disguise("world.leave")
    assert not world.Everything.objects.exists()
    assert ada.reveal(receipt).restored == {"world.everything": number, "world.person": 1}
    assert application_dump() == before


def test_every_type_of_column_survives_modification(world: Any) -> None:
    """What was written may be read otherwise (dates as text, numbers as floats): it is still known to be unchanged."""
    ada = person(world, "ada")
    number = one_of_everything(world, ada.user)
    before = application_dump()
    receipt = ada.disguise("world.redact")
    rows = list(world.Everything.objects.all())
    assert {row.text for row in rows} == {"[redacted] '%s' \\"}
    assert {bytes(row.blob) for row in rows} == {b"\x00\xff'\x80"}
    assert {row.big for row in rows} == {-(2**63)}
    assert {row.amount for row in rows} == {decimal.Decimal("0.1")}
    assert {row.span for row in rows} == {datetime.timedelta(days=-1, microseconds=7)}
    assert {row.clock for row in rows} == {datetime.time(1, 2, 3, 4)}
    assert {row.unique_id for row in rows} == {None}
    assert len({row.slug for row in rows}) == len({row.name for row in rows}) == number
    assert {row.day.day for row in rows if row.day} == {1}
    assert {(row.moment.hour, row.moment.microsecond) for row in rows if row.moment} == {(0, 0)}
    assert {row.moment.year for row in rows if row.moment} == {1970, 2025, 2038}

    outcome = ada.reveal(receipt)

    assert outcome.held == []
    assert outcome.restored == {"world.everything": number}
    assert application_dump() == before


@pytest.mark.parametrize("name", [name for name in VALUES if name != "slug"])
def test_a_change_in_any_type_of_column_is_noticed(world: Any, name: str) -> None:
    """Whatever the type, a value that somebody wrote since is not overwritten."""
    ada = person(world, "ada")
    value = VALUES[name][-1]
    # What the disguise leaves as it was, as the NULL of these, is nothing that it could overwrite.
    original = {name: value} if name in ("day", "moment", "unique_id") else {}
    row = world.Everything.objects.create(owner=ada.user, **original)
    receipt = ada.disguise("world.redact")
    world.Everything.objects.filter(pk=row.pk).update(**{name: value if name != "flag" else False})
    assert ada.reveal(receipt).held == [Held("world.everything", row.pk, Reason.CHANGED, name)]


def grow(world: Any, ada: Any, bob: Any) -> None:
    """Both write, answer themselves and each other, tag, pin and like."""
    tags = [world.Tag.objects.create(name=name) for name in ("red", "blue")]
    notes: list[Any] = []
    for number in range(12):
        author = (ada, ada, bob)[number % 3]
        parent = notes[number // 2] if notes and number % 4 else None
        note = world.Note.objects.create(author=author, reply_to=parent, text=f"note {number}")
        note.tags.set(tags[: number % 3])
        notes.append(note)
    # A tree that grew against the order of its keys.
    notes[0].reply_to = notes[9]
    notes[0].save()
    for number, note in enumerate(notes):
        if number % 2:
            world.Pin.objects.create(note=note, place=f"wall {number}")
        world.Like.objects.create(person=ada, note=note)
        if number % 3:
            world.Like.objects.create(person=bob, note=note)


def test_trees_and_hidden_tables_go_and_come_back(world: Any) -> None:
    """Replies of others lose their parent and find it again; the many-to-many rows, a key that is a reference: all return."""
    ada, bob = person(world, "ada"), person(world, "bob")
    grow(world, ada.user, bob.user)
    before, tables = application_dump(), edna_dump()

    receipt = ada.disguise("world.leave")

    assert world.Note.objects.count() == 4
    assert not world.Note.objects.filter(reply_to__author=ada.user).exists()
    assert set(world.Like.objects.values_list("person", flat=True)) <= {bob.user.pk}
    outcome = ada.reveal(receipt)
    assert outcome.held == []
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.parametrize("rows", [None, 2])
def test_a_condition_goes_along_with_what_refers_to_the_rows(world: Any, rows: int | None) -> None:
    """Written along the relation it covers it: what belongs to rows that stay, stays; in chunks as well."""
    ada, bob = person(world, "ada"), person(world, "bob")
    grow(world, ada.user, bob.user)
    before = application_dump()
    meant = set(world.Note.objects.filter(author=ada.user, tags__name="red", reply_to__isnull=False))
    likes = world.Like.objects.exclude(note__in=meant).count()

    with cut_into_chunks(rows):
        receipt = ada.disguise("world.withdraw", tag="red")

    left = world.Note.objects.all()
    assert meant
    assert set(left) & meant == set()
    assert left.filter(author=ada.user).exists()
    assert world.Like.objects.count() == likes
    assert not world.Like.objects.exclude(note__in=left).exists()
    with cut_into_chunks(rows):
        assert ada.reveal(receipt).complete
    assert application_dump() == before


def test_both_leave_and_return_in_any_order(world: Any) -> None:
    """References between two people who are both away wait until both sides are there, and none is lost."""
    ada, bob = person(world, "ada"), person(world, "bob")
    grow(world, ada.user, bob.user)
    before = application_dump()
    for order in ((ada, bob), (bob, ada)):
        receipts = {who.user.pk: who.disguise("world.leave") for who in (ada, bob)}
        assert not world.Note.objects.exists()
        for who in order:
            who.reveal(receipts[who.user.pk])
        for _ in range(3):
            for who in order:
                for entry in who.history():
                    who.reveal(entry.receipt)
        assert application_dump() == before
        assert ada.history() == bob.history() == []


def test_a_parent_that_is_gone_holds_back_the_replies_below_it_only(world: Any) -> None:
    """Of a tree, what does not hang below the missing row comes back (promise 19)."""
    ada, bob = person(world, "ada"), person(world, "bob")
    theirs = world.Note.objects.create(author=bob.user, text="root")
    below = world.Note.objects.create(author=ada.user, text="below", reply_to=theirs)
    deeper = world.Note.objects.create(author=ada.user, text="deeper", reply_to=below)
    other = world.Note.objects.create(author=ada.user, text="other")
    receipt = ada.disguise("world.leave")
    theirs.delete()
    outcome = ada.reveal(receipt)
    assert {(held.pk, held.reason, held.field) for held in outcome.held} == {
        (below.pk, Reason.REFERENCE_MISSING, "reply_to"),
        (deeper.pk, Reason.REFERENCE_MISSING, "reply_to"),
    }
    assert list(world.Note.objects.all()) == [other]


def test_a_parent_that_lacks_something_else_holds_back_the_replies_below_it(world: Any) -> None:
    """Whichever column it is that keeps the parent away, and whichever is looked at first."""
    ada = person(world, "ada")
    topic = world.Tag.objects.create(name="topic")
    parent = world.Note.objects.create(author=ada.user, text="parent", topic=topic)
    below = world.Note.objects.create(author=ada.user, text="below", reply_to=parent)
    other = world.Note.objects.create(author=ada.user, text="other")
    before = application_dump()
    receipt = ada.disguise("world.leave")
    key = topic.pk
    topic.delete()

    outcome = ada.reveal(receipt)

    assert {(held.pk, held.field) for held in outcome.held} == {(parent.pk, "topic"), (below.pk, "reply_to")}
    assert list(world.Note.objects.all()) == [other]
    connection.check_constraints()
    world.Tag.objects.create(pk=key, name="topic")
    assert ada.reveal(receipt).complete
    assert application_dump() == before


def test_a_parent_whose_unique_value_is_taken_holds_back_the_replies_below_it(world: Any) -> None:
    """The database refuses the parent only when it is inserted; what was inserted below it is taken back."""
    ada, bob = person(world, "ada"), person(world, "bob")
    parent = world.Note.objects.create(author=ada.user, text="parent", slug="taken")
    below = world.Note.objects.create(author=ada.user, text="below", reply_to=parent)
    deeper = world.Note.objects.create(author=ada.user, text="deeper", reply_to=below)
    other = world.Note.objects.create(author=ada.user, text="other")
    beside = world.Note.objects.create(author=ada.user, text="beside", reply_to=other)
    world.Pin.objects.create(note=deeper, place="here")
    before = application_dump()
    receipt = ada.disguise("world.leave")
    squatter = world.Note.objects.create(author=bob.user, text="mine", slug="taken")

    outcome = ada.reveal(receipt)

    assert {(held.model, held.pk, held.reason, held.field) for held in outcome.held} == {
        ("world.note", parent.pk, Reason.UNIQUE_TAKEN, "slug"),
        ("world.note", below.pk, Reason.REFERENCE_MISSING, "reply_to"),
        ("world.note", deeper.pk, Reason.REFERENCE_MISSING, "reply_to"),
        ("world.pin", deeper.pk, Reason.REFERENCE_MISSING, "note"),
    }
    assert outcome.restored == {"world.person": 1, "world.note": 2}
    assert set(world.Note.objects.all()) == {squatter, other, beside}
    connection.check_constraints()
    squatter.delete()
    assert ada.reveal(receipt).complete
    assert application_dump() == before


def test_a_later_row_that_others_refer_to_is_not_deleted(world: Any) -> None:
    """The policy says delete, but that would leave a like pointing at nothing: the row and its author stay until it can."""
    ada, bob = person(world, "ada"), person(world, "bob")
    world.Note.objects.create(author=ada.user, text="early")
    receipt = ada.disguise("world.prune")
    voice = world.Person.objects.exclude(pk__in=[ada.user.pk, bob.user.pk]).get()
    free = world.Note.objects.create(author=voice, text="late")
    liked = world.Note.objects.create(author=voice, text="late and liked")
    like = world.Like.objects.create(person=bob.user, note=liked)

    outcome = ada.reveal(receipt)

    assert outcome.held == [Held("world.note", liked.pk, Reason.CONSTRAINT, None)]
    connection.check_constraints()
    assert not world.Note.objects.filter(pk=free.pk).exists()
    assert world.Note.objects.get(pk=liked.pk).author == voice
    like.delete()
    assert ada.reveal(receipt).complete
    assert world.Note.objects.get().text == "early"
    assert not world.Person.objects.filter(pk=voice.pk).exists()


def test_one_pseudoprincipal_for_every_row(world: Any) -> None:
    """Without group_by no two rows share an owner (promise 3); UUID keys are random ones."""
    ada, bob = person(world, "ada"), person(world, "bob")
    grow(world, ada.user, bob.user)
    before, tables = application_dump(), edna_dump()
    edna.disguise_all("world.anonymise")
    owners = [
        *world.Note.objects.values_list("author", flat=True),
        *world.Like.objects.values_list("person", flat=True),
    ]
    assert len(set(owners)) == len(owners) == world.Note.objects.count() + world.Like.objects.count()
    assert not {ada.user.pk, bob.user.pk} & set(owners)
    assert {key.version for key in owners} == {4}
    bob.reveal_everything()
    ada.reveal_everything()
    assert application_dump() == before
    trail = {"edna_auditentry": None, "edna_auditcount": None}  # that an operator did it stays
    assert edna_dump() | trail == tables | trail


@pytest.mark.slow
def test_three_levels_and_then_everything_goes(world: Any) -> None:
    """anon, anon, anon, then leave with the key: all of it goes, and comes back in order (promise 22)."""
    ada, bob = person(world, "ada"), person(world, "bob")
    grow(world, ada.user, bob.user)
    before = application_dump()
    for _ in range(3):
        edna.disguise_all("world.anonymise")
    ada.disguise("world.leave", with_key=True)
    assert world.Note.objects.count() == 4
    ada.reveal_everything()
    bob.reveal_everything()
    assert application_dump() == before


@pytest.mark.slow
def test_few_possible_keys_never_collide(world: Any) -> None:
    """A principal model with 16-bit keys: thousands of pseudoprincipals find a free one each (promise 32)."""
    eve, kim = (registered(world.Villager.objects.create(name=name)) for name in ("eve", "kim"))
    world.Hut.objects.bulk_create(world.Hut(owner=who.user, number=n) for who in (eve, kim) for n in range(2500))
    before = application_dump()
    receipts = {who.user.name: who.disguise("world.scatter") for who in (eve, kim)}
    keys = list(world.Villager.objects.exclude(name__in=receipts).values_list("pk", flat=True))
    assert len(set(keys)) == 5000
    assert max(keys) < 0
    for who in (eve, kim):
        assert who.reveal(receipts[who.user.name]).complete
    assert application_dump() == before


def test_natural_and_composite_keys(world: Any) -> None:
    """A principal known by a text key, rows with a key of two columns, rows without an owner (promise 27)."""
    meg = registered(world.Member.objects.create(code="Meg O'Hara ✓"))
    world.Badge.objects.create(owner=None, title="nobody's")
    world.Badge.objects.create(owner=meg.user, title="gold")
    world.Seat.objects.create(room="a", number=1, owner=meg.user)
    world.Seat.objects.create(room="a", number=2, owner=meg.user)
    before = application_dump()

    receipts = edna.disguise_all("world.mask")
    assert len(receipts) == 1
    assert world.Badge.objects.filter(owner=None).count() == 1
    assert not world.Badge.objects.filter(owner=meg.user).exists()
    assert not world.Seat.objects.filter(owner=meg.user).exists()
    assert world.Member.objects.count() == 4
    assert len({member.joined for member in world.Member.objects.exclude(pk=meg.user.pk)}) == 1

    receipt = meg.disguise("world.resign", with_key=True)
    assert world.Badge.objects.count() == 1
    assert world.Member.objects.count() == world.Seat.objects.count() == 0
    victim = ("a", 2)
    other = world.Member.objects.create(code="other")
    squatter = world.Seat.objects.create(room="a", number=2, owner=other)
    outcome = meg.reveal(receipt)
    assert outcome.held == [Held("world.seat", victim, Reason.ROW_EXISTS, None)]
    squatter.delete()
    other.delete()
    meg.reveal_everything()
    assert application_dump() == before


def test_two_models_of_principals_with_the_same_key_are_two_people(world: Any) -> None:
    """Villager 7 and user 7 share a number and nothing else."""
    user = enrol(pk=7)
    villager = registered(world.Villager.objects.create(pk=7, name="seven"))
    world.Hut.objects.create(owner=villager.user, number=1)
    make_course()
    answer_everything(user)
    before = application_dump()
    first, second = user.disguise(DELETE), villager.disguise("world.burn")
    assert not User.objects.filter(pk=7).exists()
    assert not world.Villager.objects.exists()
    user.reveal(first)
    assert not world.Villager.objects.exists()
    villager.reveal(second)
    assert application_dump() == before


# WebSubmit again: groups, conditions and owners


def test_group_by_gives_each_group_an_author_of_its_own() -> None:
    """One per lecture and student, one for everything, one per row (promises 2, 3)."""

    class ByRow(Disguise):
        name = "test.by-row"
        transformations = [Decorrelate(Answer, owner="author")]

    class AtOnce(Disguise):
        name = "test.at-once"
        transformations = [Decorrelate(Answer, owner="author", group_by=edna.ALL)]

    make_course(lectures=2, questions=3)
    bea, carl = enrol_many(2)
    answer_everything(bea, carl)
    before = application_dump()
    for cls, authors in ((ByRow, 12), (AtOnce, 2)):
        edna.register(cls)
        edna.disguise_all(cls.name)
        assert len(set(Answer.objects.values_list("author", flat=True))) == authors
        for student in (bea, carl):
            student.reveal_everything()
        assert application_dump() == before
        edna.unregister(cls)
    edna.disguise_all(ANONYMISE_ALL)
    shared = set(Answer.objects.values_list("author", "question__lecture"))
    assert len(shared) == len({author for author, _ in shared}) == 4


def test_a_condition_leaves_other_rows_alone() -> None:
    """A lecture's answers are anonymised, the others' rows are not touched at all (promise 1)."""
    one, two = make_course()
    bea = enrol()
    answer_everything(bea)
    untouched = list(Answer.objects.filter(question__lecture=two).order_by("pk").values())
    bea.disguise("websubmit.anonymize-lecture", lecture=one.pk)
    assert list(Answer.objects.filter(question__lecture=two).order_by("pk").values()) == untouched
    assert Answer.objects.filter(question__lecture=one, author__is_anon=True).count() == 2


def test_managers_that_hide_rows_do_not_hide_them_from_a_disguise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Soft-deleted rows are somebody's data too."""
    make_course()
    bea = enrol()
    answer_everything(bea)
    hidden = type(
        "Hidden", (type(Answer._default_manager),), {"get_queryset": lambda self: Answer._base_manager.none()}
    )
    manager = hidden()
    manager.model = Answer
    monkeypatch.setattr(Answer, "objects", manager)
    bea.disguise(DELETE)
    assert rows_of("websubmit_answer", ["id"]) == []


@pytest.mark.once
def test_signals_and_save_are_not_called() -> None:
    """Rows move below the application's code: a receiver that writes an audit line would keep the plaintext."""
    seen: list[Any] = []

    def receiver(sender: Any, **kwargs: Any) -> None:
        seen.append(sender)

    make_course()
    bea = enrol()
    answer_everything(bea)
    for signal in (pre_delete, post_delete):
        signal.connect(receiver, sender=Answer)
    bea.disguise(DELETE)
    for signal in (pre_delete, post_delete):
        signal.disconnect(receiver, sender=Answer)
    assert seen == []


def test_an_error_in_the_middle_undoes_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and bags change together or not at all (nothing lost)."""
    make_course()
    bea = enrol()
    answer_everything(bea)

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OSError("the disk is full")

    with nothing_changes(), monkeypatch.context() as patched:
        patched.setattr(store, "add_bags", refuse)
        with pytest.raises(OSError, match="disk"):
            bea.disguise(DELETE)
    receipt = bea.disguise(DELETE)
    with nothing_changes(), monkeypatch.context() as patched:
        patched.setattr(store, "delete_bags", refuse)
        with pytest.raises(OSError, match="disk"):
            bea.reveal(receipt)
    assert bea.reveal(receipt).complete


def test_the_callers_transaction_decides() -> None:
    """In an outer transaction that is rolled back, nothing was disguised."""
    make_course()
    bea = enrol()
    answer_everything(bea)

    def change_of_mind() -> None:
        with transaction.atomic():
            bea.disguise(DELETE)
            raise RuntimeError

    with nothing_changes(), pytest.raises(RuntimeError):
        change_of_mind()
    assert bea.history() == []


@pytest.mark.once
def test_pseudoprincipals_cannot_log_in() -> None:
    make_course()
    bea = enrol()
    answer_everything(bea)
    bea.disguise(ANONYMISE_ALL)
    for voice in User.objects.filter(is_anon=True):
        assert not voice.has_usable_password()
        assert not voice.is_active
        assert edna.is_pseudoprincipal(voice)
        assert edna.is_registered(voice)
    assert not edna.is_pseudoprincipal(bea.user)


@pytest.mark.parametrize("mode", ["negative", "random", "sequence"])
def test_every_kind_of_pseudoprincipal_key_works(settings: Any, mode: str) -> None:
    settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": mode}
    make_course()
    bea = enrol()
    answer_everything(bea)
    before = application_dump()
    receipt = bea.disguise(ANONYMISE_ALL)
    keys = sorted(User.objects.filter(is_anon=True).values_list("pk", flat=True))
    if mode == "sequence":
        assert keys[0] > bea.user.pk
        assert keys[1] - keys[0] == 1
    else:
        assert (keys[0] < 0) is (mode == "negative")
        assert min(map(abs, keys)) > 2**20
    assert bea.reveal(receipt).complete
    if connection.vendor == "postgresql" or mode == "negative":
        assert application_dump() == before
    else:
        # SQLite's own table of counters remembers the largest key.
        assert application_dump() | {"sqlite_sequence": []} == before | {"sqlite_sequence": []}


@pytest.mark.once
def test_every_error_of_the_door_is_ednas() -> None:
    assert issubclass(edna.errors.UnregisteredOwners, EdnaError)
