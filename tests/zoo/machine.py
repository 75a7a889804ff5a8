"""A state machine over one habitat of the zoo: what people and staff do in it, and what must hold after each step.

A habitat says which models it has, how to fill their columns, and which disguises there are. The application's writes are
logged, so that in the end a twin can be made that never disguised anything.
"""

from __future__ import annotations

import datetime
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from unittest import mock

from django.contrib.contenttypes.models import ContentType
from django.db import connection, models, transaction
from django.db.models import Model, QuerySet, UniqueConstraint
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import edna
from edna.crypto.keys import SecretKey
from edna.errors import NotYours, PrincipalNotRegistered, UnregisteredOwners
from edna.models import KeySlot, PrincipalEntry
from edna.operations.models import LastRun
from edna.operations.upkeep import residue
from edna.spec import Disguise
from edna.testing.dumps import check_foreign_keys, dump_query, filled
from edna.testing.search import finds
from tests.support import EDNA_TABLES, cut_into_chunks, loot
from tests.zoo.oracle import Oracle, Row, Snapshot, columns_of, key_fields, snapshot

EPOCH = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
#: Chooses among disguises, tables, receipts: as far as any list of these goes, and about as often each.
numbers = st.integers(0, 119)
few = st.integers(0, 3)
#: Before which statement the process dies; mostly it does not.
crashes = st.one_of(st.none(), st.none(), st.none(), st.integers(0, 20))

#: Of how many rows the chunks of a disguise are; mostly it has none.
chunks = st.one_of(st.none(), st.none(), st.sampled_from([1, 3]))


class Crash(Exception):
    """The process ends here."""


@dataclass
class Inhabitant:
    pk: Any
    secret_key: SecretKey | None

    def unlock(self) -> edna.Unlocked:
        return edna.unlock(secret_key=self.secret_key)


@dataclass(frozen=True)
class Write:
    """One write of the application, as the twin repeats it."""

    number: int
    repeat: Callable[[], Any]


class Habitat(RuleBasedStateMachine):
    principal: ClassVar[type[Model]]
    #: Every table of the habitat, referred tables first.
    tables: ClassVar[tuple[type[Model], ...]]
    #: What people make, by drawing: the models of which there are rows.
    made: ClassVar[tuple[type[Model], ...]]
    disguises: ClassVar[tuple[type[Disguise], ...]]
    #: Those of them that stories are about, if not about all.
    offered: ClassVar[tuple[type[Disguise], ...]] = ()
    people: ClassVar[int] = 3
    #: One more, who has no key.
    stranger: ClassVar[bool] = False
    #: Column -> how to fill it: ``(machine, draw) -> value``. Others are filled by their type.
    fill: ClassVar[Mapping[tuple[type[Model], str], Callable[[Any, Any], Any]]] = {}
    oracles: ClassVar[type[Oracle]] = Oracle
    #: Whether what is held, and why, is foreseen to the row.
    exact: ClassVar[bool] = True
    #: It tells one in so many of the usual number of stories, where the usual number is told.
    one_in: ClassVar[int] = 1
    #: Disguises of the zoo that this site does not have.
    without: ClassVar[tuple[type[Disguise], ...]] = ()

    def __init__(self) -> None:
        super().__init__()
        self.begin()
        ContentType.objects.clear_cache()
        self.numbers = itertools.count(1)
        self.log: list[Write] = []
        self.clock = 0
        self.latest: Snapshot | None = None
        self.oracle = self.oracles(self.principal, self.tables)
        #: Keys of pseudoprincipals that were swept at one time; some of them have been made again.
        self.swept: set[Any] = set()
        self.inhabitants: dict[Any, Inhabitant] = {}
        self.settle()
        self.clean = edna_dump()
        #: Disguises of everybody: the audit trail notes each, and nothing that people do themselves.
        self.acts = 0

    def begin(self) -> None:
        """A story is one transaction, of which nothing stays."""
        self.example = transaction.atomic()
        self.example.__enter__()

    def end(self) -> None:
        """The database is as it was before the story."""
        transaction.set_rollback(True)
        self.example.__exit__(None, None, None)

    def settle(self) -> None:
        """The people, who come first."""
        for number in range(self.people + self.stranger):
            user = self.create(self.principal, self.values_for(self.principal, lambda options: options[0]))
            if number < self.people:
                (registration,) = edna.register_principals([user])
                self.oracle.keys[user.pk] = 0
                key = registration.secret_key
                self.inhabitants[user.pk] = Inhabitant(user.pk, key)

    def teardown(self) -> None:
        try:
            self.reveal_everything()
            self.compare_with_the_twin()
        finally:
            self.end()

    def tell(self, story: str) -> None:
        """One step, for whoever reads of a story that ended badly."""
        note(story)

    # Writing as the application does

    def now(self) -> datetime.datetime:
        return EPOCH + datetime.timedelta(seconds=self.clock)

    def look(self) -> Snapshot:
        """The tables as they are after a step."""
        self.latest = self.look_at(self.tables)
        return self.latest

    def look_at(self, tables: Iterable[type[Model]]) -> Snapshot:
        return snapshot(tables)

    def write(self, work: Callable[[], Any], twin: Callable[[], Any] | None = None) -> Any:
        self.latest = None
        self.clock += 1
        self.log.append(Write(self.clock, twin or work))
        with mock.patch("django.utils.timezone.now", self.now):
            return work()

    def create(self, model: type[Model], values: Mapping[str, Any], twin: Mapping[str, Any] | None = None) -> Any:
        self.tell(f"the application makes {model.__name__} {dict(values)}")
        made = self.write(lambda: _create(model, values), (lambda: _create(model, twin)) if twin is not None else None)
        # A principal may bring others along: signals make profiles.
        written = self.tables if model is self.principal else (*model._meta.get_parent_list(), model)
        self.oracle.adopt(self.look_at(written))
        return made

    def values_for(self, model: type[Model], draw: Callable[[list[Any]], Any]) -> dict[str, Any] | None:
        """Values for a new row, None where there is nothing yet that it must refer to."""
        values: dict[str, Any] = {}
        number = next(self.numbers)
        for column in model._meta.concrete_fields:
            parent_link = isinstance(column, models.ForeignKey) and column.remote_field.parent_link
            if parent_link or isinstance(column, models.GeneratedField):
                continue
            if getattr(column, "auto_now", False) or getattr(column, "auto_now_add", False):
                continue
            how = self.fill.get((model, column.name))
            if how is not None:
                value = how(self, draw)
            elif isinstance(column, models.ForeignKey):
                options = self.options(column)
                if not options:
                    return None
                value = draw(options)
            else:
                value = self.plain_value(column, number, draw)
            if value is NotImplemented:
                return None
            values[column.attname] = value
        return values

    def options(self, column: Any) -> list[Any]:
        """What a foreign key of a new row may hold: visible rows, people and not pseudoprincipals."""
        rows = self.oracle.present(column.related_model)
        rows = [row for row in rows if row.stands_for is None]
        found: list[Any] = [
            row.value(column.target_field.attname) for row in rows if not self.is_disguised(row, column)
        ]
        return [*found, None] if column.null else found

    @staticmethod
    def is_disguised(row: Row, column: Any) -> bool:
        return bool(row.layers.get(column.target_field.attname))

    def plain_value(self, column: Any, number: int, draw: Callable[[list[Any]], Any]) -> Any:
        if isinstance(column, models.UUIDField):
            import uuid

            return uuid.UUID(int=0xA0000000000040008000000000000000 + number)
        if column.primary_key and isinstance(column, models.IntegerField):
            return 1000 + number
        if isinstance(column, models.CharField | models.TextField):
            return needle(column, number)
        if isinstance(column, models.BooleanField):
            return draw([False, True])
        if isinstance(column, models.IntegerField):
            return draw([1, 2, 3])
        if isinstance(column, models.DateField):
            return draw([None, EPOCH.date(), datetime.date(1999, 12, 31)])
        if isinstance(column, models.JSONField):
            return draw([{}, {"dark": True, "n": [1, None, "é"]}])
        if isinstance(column, models.FileField):
            return None
        raise NotImplementedError(f"{column}: the habitat must say how to fill it")

    def breaks_unique(self, model: type[Model], values: Mapping[str, Any]) -> bool:
        """In truth: while a row is hidden, its place may look free."""
        meta = model._meta
        groups = [tuple(c.fields) for c in meta.constraints if isinstance(c, UniqueConstraint) and c.condition is None]
        groups += [tuple(group) for group in meta.unique_together]
        groups += [(each.name,) for each in meta.local_concrete_fields if each.unique]
        groups.append(tuple(each.name for each in key_fields(model)))
        for group in groups:
            names = [meta.get_field(name).attname for name in group]
            if not all(name in values for name in names):
                continue
            wanted = [values[name] for name in names]
            for row in self.oracle.rows[model]:
                if [row.truth[name] for name in names] == wanted and None not in wanted:
                    return True
        return False

    # Rules

    @initialize(data=st.data())
    def furnish(self, data: Any) -> None:
        """Some of everything, so that the first disguise means something."""
        for model in self.made:
            for _ in range(data.draw(few)):
                values = self.values_for(model, lambda options: pick(data, options))
                if values is not None and not self.breaks_unique(model, values):
                    self.create(model, values)

    @rule(which=numbers, data=st.data())
    def make(self, which: int, data: Any) -> None:
        model = self.made[which % len(self.made)]
        values = self.values_for(model, lambda options: pick(data, options))
        if values is not None and not self.breaks_unique(model, values):
            self.create(model, values)

    @rule(which=numbers, data=st.data())
    def edit(self, which: int, data: Any) -> None:
        """A column of which nothing is hidden."""
        model = self.made[which % len(self.made)]
        rows = self.oracle.present(model)
        names = [
            each.attname
            for each in columns_of(model)
            if isinstance(each, models.CharField | models.TextField)
            and not each.primary_key
            and not each.choices
            and (model, each.name) not in self.fill
        ]
        choices = [(row, n) for row in rows for n in names if not row.layers.get(n) and self.may_be_edited(row)]
        if not choices:
            return
        row, name = pick(data, choices)
        value = needle(model._meta.get_field(name), next(self.numbers))
        self.update(row, {name: value})

    def may_be_edited(self, row: Row) -> bool:
        return True

    @rule(data=st.data())
    def move(self, data: Any) -> None:
        """A reference that may be empty, to another row or to none: trees grow, and sometimes bite their tails."""
        choices = [
            (row, column)
            for model in self.made
            for column in columns_of(model)
            if isinstance(column, models.ForeignKey)
            and column.null
            and not self.oracle.is_owner(column)
            and (model, column.name) not in self.fill
            for row in self.oracle.present(model)
            if not row.layers.get(column.attname)
        ]
        if choices:
            row, column = pick(data, choices)
            self.update(row, {column.attname: pick(data, self.options(column))})

    def update(self, row: Row, values: Mapping[str, Any]) -> None:
        model, key, twin_key = row.model, row.key, self.true_key(row)
        self.tell(f"the application updates {model.__name__} {key}: {dict(values)}")
        self.write(lambda: _update(model, key, values), lambda: _update(model, twin_key, values))
        touched = [each.attname for each in columns_of(model) if getattr(each, "auto_now", False)]
        self.oracle.adopt(self.look_at([model]), {row: [*values, *touched]})

    @staticmethod
    def true_key(row: Row) -> Any:
        """By which the twin knows the row."""
        truth = tuple(row.truth[each.attname] for each in key_fields(row.model))
        return truth[0] if len(truth) == 1 else truth

    @rule(data=st.data())
    def throw_away(self, data: Any) -> None:
        """The application deletes a row of which nothing is hidden, and to which nothing refers."""
        choices = [row for model in self.made for row in self.oracle.present(model) if self.may_be_deleted(row)]
        if choices:
            row = pick(data, choices)
            model, key = row.model, row.key
            self.tell(f"the application deletes {model.__name__} {key}")
            self.write(lambda: QuerySet(model).filter(pk=key)._raw_delete(using="default"))
            self.oracle.rows[model].remove(row)
            self.deleted(row)

    def deleted(self, row: Row) -> None:
        """What else the application does then."""

    def may_be_deleted(self, row: Row) -> bool:
        return row.model is not self.principal and not row.model._meta.parents and self.oracle.is_free(row)

    @rule(who=few, which=numbers, with_key=st.booleans(), crash=crashes, chunk=chunks, data=st.data())
    def disguise(self, who: int, which: int, with_key: bool, crash: int | None, chunk: int | None, data: Any) -> None:
        person = self.someone(who)
        if person is None:
            return
        cls = self.drawn(which)
        params = {name: data.draw(few) for name in cls.params}
        self.disguise_one(person, cls, params, with_key=with_key and self.may_take_key(), crash=crash, chunk=chunk)

    def disguise_one(
        self,
        person: Inhabitant,
        cls: type[Disguise],
        params: Mapping[str, Any],
        *,
        with_key: bool,
        crash: int | None = None,
        chunk: int | None = None,
    ) -> None:
        mine = {person.pk} | (self.oracle.pseudoprincipals_of(person.pk) if with_key else set())
        effects = self.oracle.predict(cls, params, [mine])
        user = self.user(person.pk)

        def work() -> list[str]:
            if not with_key:
                return [str(edna.disguise(cls.name, user, params=params))]
            with person.unlock() as unlocked:
                return [str(edna.disguise(cls.name, user, params=params, unlocked=unlocked))]

        # Whoever dies between two chunks leaves a part of a disguise: see tests/acceptance/test_chunks.py.
        with cut_into_chunks(None if crash is not None else chunk):
            receipts = self.survive(work, crash)
        if receipts is not None:
            cut = f", in chunks of {chunk}" if chunk and crash is None else ""
            self.tell(
                f"{person.pk} disguises, receipt {len(self.oracle.order)}: {cls.name} {'with' if with_key else 'without'} key{cut}"
            )
            self.oracle.apply(effects, receipts, [person.pk], self.look())

    def drawn(self, which: int) -> type[Disguise]:
        offered = self.offered or self.disguises
        return offered[which % len(offered)]

    def may_take_key(self) -> bool:
        return True

    def user(self, pk: Any) -> Model:
        return QuerySet(self.principal).get(pk=pk)

    @rule(which=numbers, crash=crashes, data=st.data())
    def disguise_all(self, which: int, crash: int | None, data: Any) -> None:
        choices = [cls for cls in self.offered or self.disguises if cls.applies_to == "staff"]
        if not choices:
            return
        cls = choices[which % len(choices)]
        self.disguise_everybody(cls, {name: data.draw(few) for name in cls.params}, crash=crash)

    def disguise_everybody(self, cls: type[Disguise], params: Mapping[str, Any], *, crash: int | None = None) -> None:
        pk = self.principal._meta.pk.attname
        principals = [row.truth[pk] for row in self.oracle.present(self.principal)]
        owners = [key for key in principals if self.owns_something(cls, params, key)]
        if any(self.oracle.person_of(key) not in self.inhabitants for key in owners):
            before = edna_dump()
            try:
                edna.disguise_all(cls.name, params=params)
            except UnregisteredOwners:
                assert edna_dump() == before
            else:
                raise AssertionError(f"{cls.name} went past somebody without a key")
            return
        # Nobody outside can tell who is behind a pseudoprincipal in a removed row, but there they are.
        if any(step.model is self.principal for step in cls.steps()):
            owners += self.oracle.hidden
        effects = self.oracle.predict(cls, params, [{key} for key in owners])
        receipts = self.survive(lambda: list(map(str, edna.disguise_all(cls.name, params=params))), crash)
        if receipts is not None:
            self.acts += bool(receipts)
            self.tell(f"everybody disguises, receipts {len(self.oracle.order)}...: {cls.name} {owners}")
            persons, ordered = self.in_order(receipts, owners)
            self.oracle.apply(effects, ordered, persons, self.look())

    def owns_something(self, cls: type[Disguise], params: Mapping[str, Any], key: Any) -> bool:
        return any(True for step in cls.steps() for _ in self.oracle.matched(step, params, {key: 0}))

    def in_order(self, receipts: list[str], owners: list[Any]) -> tuple[list[Any], list[str]]:
        """Each owner's person and receipt: everybody looks for theirs with their own key."""
        assert len(receipts) == len(owners), (receipts, owners)
        locators = {edna.Receipt.parse(receipt).locator: receipt for receipt in receipts}
        found: dict[Any, tuple[Any, str]] = {}
        for person in self.inhabitants.values():
            with person.unlock() as unlocked:
                for voice in unlocked.voices().values():
                    for locator in voice.items:
                        if locator in locators:
                            key = person.pk if voice.key is None else self.principal._meta.pk.to_python(voice.key)
                            found[key] = person.pk, locators[locator]
        assert set(found) == set(owners)
        return [found[owner][0] for owner in owners], [found[owner][1] for owner in owners]

    @rule(who=few, which=numbers, crash=crashes)
    def reveal(self, who: int, which: int, crash: int | None) -> None:
        person = list(self.inhabitants.values())[who % len(self.inhabitants)]
        receipts = self.history(person)
        if receipts:
            self.reveal_one(person, receipts[which % len(receipts)], crash)

    def history(self, person: Inhabitant) -> list[str]:
        with person.unlock() as unlocked:
            found = [str(entry.receipt) for entry in edna.history(unlocked)]
        assert set(found) <= self.oracle.outstanding.get(person.pk, set())
        # In the order in which they were applied, which the random locators do not tell.
        return sorted(found, key=self.oracle.order.index)

    def revealed(self) -> None:
        """What else a reveal does in this habitat."""

    def told(self, receipt: str, outcome: edna.Outcome, held: set[tuple[Row, str]], deferred: set[Row]) -> None:
        """What else an outcome has to say in this habitat."""

    def given_up(self, person: Inhabitant, receipt: str, held: set[tuple[Row, str]], accept: Any) -> set[Row]:
        """Of what is held, what the person or the specification accepts."""
        return set()

    def reveal_one(self, person: Inhabitant, receipt: str, crash: int | None = None, accept: Any = ()) -> bool:
        """Whether anything has come of it."""

        def work() -> edna.Outcome:
            with person.unlock() as unlocked:
                # In chunks, what is back when the process dies is back.
                return edna.reveal(receipt, unlocked, accept=accept, atomic=crash is not None)

        outcome = self.survive(work, crash)
        if outcome is None:
            return False
        order = self.oracle.order.index(receipt)
        self.tell(f"{person.pk} reveals receipt {order}, {receipt.split(':')[1]}: {outcome}")
        keys = {row: row.key for row in self.oracle.all_rows()}
        said: dict[tuple[str, Any], set[tuple[edna.Reason, str | None]]] = {}
        for each in outcome.held:
            said.setdefault((each.model, each.pk), set()).add((each.reason, each.field))
        held, deferred = self.oracle.reveal(person.pk, receipt, self.look(), said)
        given_up = self.given_up(person, receipt, held, accept)
        accepted = Counter(row.model._meta.label_lower for row in given_up)
        assert outcome.accepted == accepted, f"accepted: {outcome.accepted}; foreseen: {given_up}; {outcome.held}"
        held = {(row, why) for row, why in held if row not in given_up}
        self.oracle.give_up(person.pk, receipt, given_up, complete=not held)
        self.revealed()
        self.oracle.learn(self.look())
        if self.exact:
            foreseen = {(row.model._meta.label_lower, keys[row]) for row, _ in held}
            assert said.keys() == foreseen, f"held: {outcome.held}; foreseen: {held}"
        self.told(receipt, outcome, held, deferred)
        return bool(outcome.restored or outcome.deferred or outcome.complete)

    @rule(who=few, crash=crashes)
    def rotate(self, who: int, crash: int | None) -> None:
        """A new key; the old one opens nothing, and receipts stay good."""
        person = list(self.inhabitants.values())[who % len(self.inhabitants)]

        def work() -> edna.Registration:
            with person.unlock() as unlocked:
                return edna.rotate(unlocked)

        before = self.history(person)
        registration = self.survive(work, crash)
        if registration is None:
            return
        self.tell(f"{person.pk} has a new key")
        self.oracle.keys[person.pk] += 1
        old, person.secret_key = person.secret_key, registration.secret_key
        try:
            edna.unlock(secret_key=old)
        except PrincipalNotRegistered:
            pass
        else:
            raise AssertionError("the old key still opens something")
        assert self.history(person) == before
        # Its recovery slot stays; the people of the zoo had none.
        KeySlot.objects.all().delete()

    @precondition(lambda self: self.oracle.outstanding)
    @rule(crash=crashes)
    def sweep(self, crash: int | None) -> None:
        """Those go whom nobody needs; that they were not needed, the comparisons say that follow."""
        self.sweep_now(crash)

    def sweep_now(self, crash: int | None = None) -> None:
        before = set((self.latest or self.look())[self.principal])
        self.survive(lambda: residue.sweep(made_by_hand=True), crash)
        LastRun.objects.all().delete()
        gone = before - set(self.look()[self.principal])
        assert not any(self.oracle.person_of(key) == key for key in gone)
        self.tell(f"swept {len(gone)}")
        self.swept |= gone
        self.oracle.sweep(gone)

    @precondition(lambda self: self.oracle.outstanding)
    @rule(data=st.data())
    def speak(self, data: Any) -> None:
        """Whoever is behind a row's pseudoprincipal can act as it, and nobody else."""
        there = {row.truth[self.principal._meta.pk.attname] for row in self.oracle.present(self.principal)}
        choices = [
            (row, name, layer)
            for row in self.oracle.all_rows()
            if row.gone is None
            for name in self.oracle.owner_columns(row.model)
            for layer in row.layers.get(name, [])[-1:]
            if layer.value in there and layer.person in self.inhabitants
        ]
        if not choices:
            return
        row, _, layer = pick(data, choices)
        mine = {key for key in self.owner_keys(row) if self.oracle.person_of(key) == layer.person}
        obj = QuerySet(row.model).get(pk=row.key)
        with self.inhabitants[layer.person].unlock() as unlocked:
            assert edna.speak_as(unlocked, obj).pk in mine
        owners = self.owners(row)
        for other in self.inhabitants.values():
            if other.pk not in owners:
                with other.unlock() as unlocked:
                    try:
                        edna.speak_as(unlocked, obj)
                    except NotYours:
                        continue
                    raise AssertionError(f"{other.pk} speaks for {row!r}")

    def owners(self, row: Row) -> set[Any]:
        """The people behind every owner that a disguise names of the row, by whatever path."""
        return {self.oracle.person_of(key) for key in self.owner_keys(row)}

    def owner_keys(self, row: Row) -> set[Any]:
        """Every owner, by whatever path that a disguise names."""
        paths = {
            f"{path}__pk" for cls in self.disguises for s in cls.steps() if s.model is row.model for path in s.owners
        }
        return {key for keys in QuerySet(row.model).filter(pk=row.key).values_list(*paths) for key in keys}

    def someone(self, number: int) -> Inhabitant | None:
        """A person whose account exists."""
        people = self.those_there()
        return people[number % len(people)] if people else None

    def those_there(self) -> list[Inhabitant]:
        """Those whose accounts exist."""
        there = {row.truth[self.principal._meta.pk.attname] for row in self.oracle.present(self.principal)}
        return [person for person in self.inhabitants.values() if person.pk in there]

    def survive(self, work: Callable[[], Any], crash: int | None) -> Any:
        """The result of ``work``; None if the process died in the middle, and then nothing has changed."""
        self.latest = None
        if crash is None:
            return work()
        before = edna_dump()

        def die(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            nonlocal crash
            counts = "SAVEPOINT" not in sql or "INSERT" in sql  # what is inserted may bring its savepoint along
            crash -= counts  # type: ignore[operator]
            if crash == -1 and counts:  # once: what follows is the rollback
                raise Crash
            return execute(sql, params, many, context)

        try:
            with connection.execute_wrapper(die):
                return work()
        except Crash:
            assert edna_dump() == before
            return None

    # What always holds

    @invariant()
    def everybody_sees_what_they_should(self) -> None:
        found, expected = self.latest or self.look(), self.oracle.expected()
        # Pseudoprincipals in rows that are gone: there is one for each, but nobody can say which.
        assert len(self.oracle.hidden) == self.oracle.unknown()
        for key in (*self.oracle.hidden, *self.swept):
            found[self.principal].pop(key, None)
            expected[self.principal].pop(key, None)
        for key in self.oracle.lingering - expected[self.principal].keys():
            found[self.principal].pop(key, None)
        self.leave_out(found, expected)
        for model in self.tables:
            compare(model, found[model], expected[model])

    def leave_out(self, found: Snapshot, expected: Snapshot) -> None:
        """Take out of both what nobody can foretell in this habitat."""

    @invariant()
    def constraints_hold(self) -> None:
        check_foreign_keys([model._meta.db_table for model in self.tables])

    @invariant()
    def nothing_is_readable(self) -> None:
        """What is hidden is in none of edna's tables; that it is in none of the application's, the comparison has said."""
        kept = b"\n".join(
            value for table in EDNA_TABLES for row in raw_values(table) for value in row if isinstance(value, bytes)
        )
        for text in self.hidden_texts():
            assert text.encode() not in kept, text

    @invariant()
    def nothing_is_linkable(self) -> None:
        """Edna's tables name no person who has left, and only pseudoprincipals that exist."""
        there = {str(row.truth[self.principal._meta.pk.attname]) for row in self.oracle.present(self.principal)}
        there |= {str(key) for key in self.oracle.hidden | self.oracle.lingering}
        named = {
            entry.reference
            for entry in PrincipalEntry.objects.all()
            if entry.model == self.principal._meta.label_lower and entry.reference
        }
        assert named <= there, named - there

    def hidden_texts(self) -> list[str]:
        """Those that nothing says that can be seen, not even in the middle of a longer text."""
        hidden: dict[str, None] = {}
        seen: set[str] = set()
        for row in self.oracle.all_rows():
            for name, value in row.truth.items():
                if isinstance(value, str):
                    if row.gone is None:
                        seen.add(row.value(name))
                    if value.startswith("needle") and (row.gone or row.layers.get(name)):
                        hidden[value] = None
        said = "\n".join(each for each in seen if isinstance(each, str))
        return [text for text in hidden if text not in said]

    # The end

    def reveal_everything(self, *, finish: bool = True) -> None:
        """Everybody reveals everything, in whatever order; what waits for others is tried again."""
        if hidden := self.hidden_texts()[:12]:
            found = finds(loot(), dict(zip(hidden, hidden, strict=True)))
            assert found == []
        for _ in range(20):
            progress = False
            self.oracle.alone.clear()
            self.sweep_now()
            for number, person in enumerate(self.inhabitants.values()):
                receipts = self.history(person)
                # Neither the newest nor the oldest first, but the same each time.
                for receipt in receipts[number % 2 :: 2] + receipts[1 - number % 2 :: 2]:
                    if receipt in self.history(person):
                        progress |= self.reveal_one(person, receipt)
                        self.everybody_sees_what_they_should()
            self.all_are_back()
            if not progress:
                break
        if finish:
            for person in self.inhabitants.values():
                assert self.history(person) == []

    def all_are_back(self) -> None:
        """Everybody has revealed everything once, and nothing of anybody is away: but for what is one person's alone, and was tried before
        somebody else was back, and what waits for that."""
        left = list(self.oracle.not_back())
        assert not left, f"not back after everybody has revealed everything once: {left}"

    def clean_now(self) -> dict[str, int]:
        """How many rows edna's tables have when nothing is disguised."""
        noted = {"edna_auditentry": self.acts, "edna_auditcount": int(self.acts > 0)}
        return {table: len(rows) + noted.get(table, 0) for table, rows in self.clean.items()}

    def compare_with_the_twin(self) -> None:
        """Byte for byte what the same writes make of an application that never disguised anything."""
        if left := self.clean_now():
            assert {table: len(rows) for table, rows in edna_dump().items()} == left
        tables = [model._meta.db_table for model in self.tables]
        found = {table: exact_rows(table) for table in tables}
        check_foreign_keys()
        for model in reversed(self.tables):
            within = [each.name for each in columns_of(model) if each.null and each.related_model is model]
            QuerySet(model).update(**dict.fromkeys(within)) if within else None
            QuerySet(model)._raw_delete(using="default")
        for write in self.log:
            self.clock = write.number
            with mock.patch("django.utils.timezone.now", self.now):
                write.repeat()
        assert found == {table: exact_rows(table) for table in tables}


def pick(data: Any, options: Sequence[Any]) -> Any:
    """One of the options, by its number: printing rows would bury the story."""
    return options[data.draw(st.integers(0, len(options) - 1))] if len(options) > 1 else options[0]


def _create(model: type[Model], values: Mapping[str, Any]) -> Model:
    made = model(**values)
    made.save(force_insert=True)
    return made


def _update(model: type[Model], key: Any, values: Mapping[str, Any]) -> None:
    obj = QuerySet(model).get(pk=key)
    for name, value in values.items():
        setattr(obj, name, value)
    touched = [each.name for each in columns_of(model) if getattr(each, "auto_now", False)]
    obj.save(force_update=True, update_fields=[*values, *touched])


def needle(column: Any, number: int) -> str:
    return f"needle {column.name} '{number}' \\ é"


def compare(model: type[Model], found: Mapping[Any, Any], expected: Mapping[Any, Any]) -> None:
    if found == expected:
        return
    lines = [f"{key}: is there, and should not be: {found[key]}" for key in found.keys() - expected.keys()]
    lines += [f"{key}: is not there, and should be: {expected[key]}" for key in expected.keys() - found.keys()]
    for key in found.keys() & expected.keys():
        lines += [
            f"{key}.{name}: {found[key][name]!r} instead of {value!r}"
            for name, value in expected[key].items()
            if found[key][name] != value
        ]
    raise AssertionError(f"{model.__name__}\n" + "\n".join(map(str, lines)))


#: What to ask for the stored bytes of a table, worked out once: the zoo's tables do not change while it runs.
_exact_query = functools.cache(dump_query)


def exact_rows(table: str) -> list[tuple[str | None, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(_exact_query(table), [])
        return sorted(cursor.fetchall(), key=repr)


def edna_dump() -> dict[str, list[tuple[str | None, ...]]]:
    with_rows = filled(EDNA_TABLES)
    return {table: exact_rows(table) if table in with_rows else [] for table in EDNA_TABLES}


def raw_values(table: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
        return [
            tuple(bytes(v) if isinstance(v, memoryview | bytes) else str(v).encode() for v in row)
            for row in cursor.fetchall()
        ]


__all__ = ["Crash", "Habitat", "Inhabitant", "Snapshot"]
