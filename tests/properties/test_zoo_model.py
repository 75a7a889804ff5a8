"""Whatever people, staff and the application do in the zoo, in whatever order: everybody sees what they should, and in the end
everything is as if nobody had ever disguised anything.

One machine for each habitat: they shrink better than one for all. The rules and what always holds are in `tests.zoo.machine`,
what should be seen is in `tests.zoo.oracle`.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import pytest
from django.conf import settings as settings_of_django
from django.contrib.contenttypes.models import ContentType
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models import ForeignKey, Model, QuerySet
from hypothesis import HealthCheck, Phase, note
from hypothesis import settings as Profile
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

import edna
from edna.errors import RevealRefused
from tests.zoo import migrations
from tests.zoo.beside import Beside
from tests.zoo.disputes import Accepting, Disputed
from tests.zoo.fields import Point
from tests.zoo.machine import Habitat, Inhabitant, _create, crashes, edna_dump, few, numbers, pick
from tests.zoo.migrations import history  # noqa: F401 - a fixture
from tests.zoo.models import council, court, guild, lending, press, shop, studio, town
from tests.zoo.oracle import APPLICATION, Effect, Gone, Layer, Oracle, Row, Snapshot, references_of
from tests.zoo.specs import council as council_specs
from tests.zoo.specs import court as court_specs
from tests.zoo.specs import guild as guild_specs
from tests.zoo.specs import lending as lending_specs
from tests.zoo.specs import press as press_specs
from tests.zoo.specs import shop as shop_specs
from tests.zoo.specs import studio as studio_specs
from tests.zoo.specs import town as town_specs
from tests.zoo.tables import zoo, zoo_tables  # noqa: F401 - fixtures


class Town(Habitat):
    principal = town.Citizen
    tables = (
        town.Citizen,
        town.Profile,
        town.Decree,
        town.Tag,
        town.Post,
        town.Post.tags.through,
        town.Flag,
        town.Comment,
        town.Attachment,
        town.Mention,
        town.Vote,
        town.Club,
        town.Membership,
    )
    made = tables[2:]
    disguises = tuple(cls for cls in town_specs.ALL if hasattr(cls, "transformations"))
    fill = {
        (town.Citizen, "email"): lambda self, draw: f"needle{next(self.numbers)}@example.org",
        (town.Flag, "content_type"): lambda self, draw: ContentType.objects.get_for_model(town.Post).pk,
        (town.Flag, "object_id"): lambda self, draw: draw(
            [row.key for row in self.oracle.present(town.Post)] or [NotImplemented]
        ),
        (town.Post, "status"): lambda self, draw: draw(["public", "draft"]),
        (town.Post, "place"): lambda self, draw: draw([None, Point(1, -2), Point(0, 10**9)]),
    }

    def may_be_deleted(self, row: Any) -> bool:
        flagged = {flag.truth["object_id"] for flag in self.oracle.rows[town.Flag]}
        return super().may_be_deleted(row) and row.key not in flagged


def nobody() -> list[int]:
    """The sentinel, where Django lets an application write it."""
    return [court.Moderation.NOBODY] if connection.features.allows_auto_pk_0 else []


class Court(Habitat):
    principal = court.Party
    tables = court.MODELS
    made = tables[1:]
    disguises = tuple(
        cls for cls in court_specs.ALL if hasattr(cls, "transformations") and cls not in court_specs.DISPUTED
    )
    fill = {
        (court.Moderation, "user"): lambda self, draw: self.somebody_or_nobody(draw),
        (court.Treaty, "number"): lambda self, draw: next(self.numbers),
    }

    def somebody_or_nobody(self, draw: Callable[[list[Any]], Any]) -> Any:
        options = [*nobody(), *self.options(court.Moderation._meta.get_field("user"))]
        return draw(options) if options else NotImplemented

    @rule(which=numbers)
    def disguise_each(self, which: int) -> None:
        """One after the other, each for themselves: what waits until all have left goes with the last of them."""
        cls = self.drawn(which)
        for person in self.those_there():
            self.disguise_one(person, cls, {}, with_key=False)
            self.everybody_sees_what_they_should()


class Council(Habitat):
    """Trees that cascade, conditions along relations, rows about somebody; what lies beyond anybody's reach, a plan tells."""

    principal = council.Elder
    tables = council.MODELS
    made = tables[1:]
    disguises = tuple(cls for cls in council_specs.ALL if hasattr(cls, "transformations"))
    one_in = 2
    fill = {
        (council.Minute, "content_type"): lambda self, draw: ContentType.objects.get_for_model(council.Elder).pk,
        (council.Minute, "object_id"): lambda self, draw: draw(
            self.options(council.Remark._meta.get_field("elder")) or [NotImplemented]
        ),
    }

    @rule(who=few, data=st.data())
    def remove_branch(self, who: int, data: Any) -> None:
        """By hand: a motion of somebody's, with all that is below it, whosever that is."""
        person = self.someone(who)
        motions = self.oracle.present(council.Motion)
        own = [row for row in motions if person is not None and row.value("proposer_id") == person.pk]
        if person is None or not own:
            return
        self.remove_below(person, {pick(data, own)})

    def remove_below(self, person: Inhabitant, branch: set[Row]) -> None:
        motions = self.oracle.present(council.Motion)
        while below := {row for row in motions if row.value("parent_id") in {each.key for each in branch}} - branch:
            branch |= below
        remarks = {
            row
            for row in self.oracle.present(council.Remark)
            if row.value("motion_id") in {each.key for each in branch}
        }
        user = self.user(person.pk)
        with edna.session(user, council_specs.BRANCH) as session:
            session.remove(
                *(
                    QuerySet(model).filter(pk__in=[row.key for row in rows])
                    for model, rows in ((council.Remark, remarks), (council.Motion, branch))
                )
            )
        self.latest = None
        self.tell(f"{person.pk} removes a branch by hand, receipt {len(self.oracle.order)}: {branch} {remarks}")
        effects = [Effect("remove", row, 0, targets=(0,)) for row in (*branch, *remarks)]
        self.oracle.apply(effects, [str(session.receipt)], [person.pk], self.look())

    @rule(who=few, which=numbers)
    def plan(self, who: int, which: int) -> None:
        """It counts what would happen, and says which tables have more that the key alone finds, and by which disguises."""
        person = self.someone(who)
        if person is None:
            return
        cls = self.drawn(which)
        user = self.user(person.pk)
        with person.unlock() as unlocked:
            plans = [edna.plan(cls.name, user), edna.plan(cls.name, user, unlocked=unlocked)]
        mine = [{person.pk}, {person.pk} | self.oracle.pseudoprincipals_of(person.pk)]
        found = [{effect.row for effect in self.oracle.predict(cls, {}, [keys])} for keys in mine]
        for plan, rows in zip(plans, found, strict=True):
            counted = Counter(row.model._meta.label_lower for row in rows if row.stands_for is None)
            assert {label: number for label, number in plan.counts.items() if number} == counted
        assert plans[1].beyond_reach == {}
        said = plans[0].beyond_reach
        if not self.oracle.outstanding.get(person.pk):
            assert said == {}
        # The row itself has a pseudoprincipal for its owner, or one along the path.
        by = {
            receipt.split(":")[1]
            for row in self.oracle.all_rows()
            for name in self.oracle.owner_columns(row.model)
            for layer in row.layers.get(name, ())
            if layer.person == person.pk
            for receipt in layer.receipts
        }
        # What it has done itself it need not do again.
        by.discard(cls.name)
        for row in found[1] - found[0] if by else ():
            if row.model is not self.principal:
                assert not by.isdisjoint(said[row.model._meta.label_lower]), (row, by, said)


class BesideMembers(Beside):
    generator = guild_specs.AnonymousMember
    references = guild_specs.REFERENCES


class Guild(Habitat):
    """Pseudoprincipals have companions, and are shared by steps and columns. The application attaches rows to companions, too."""

    principal = guild.Member
    tables = guild.MODELS
    made = tuple(model for model in tables[1:] if model is not guild.Ribbon)
    disguises = tuple(cls for cls in guild_specs.ALL if hasattr(cls, "transformations"))
    oracles = BesideMembers
    one_in = 2
    #: What others attach; plaques and taunts seldom.
    attached: ClassVar[tuple[type[Model], ...]] = (*3 * (guild.Wreath, guild.Coin), guild.Taunt, guild.Plaque)

    oracle: BesideMembers

    def is_beside(self, row: Row) -> bool:
        """Whether it is a companion: what is written there goes with it, and whoever deletes it is no application."""
        return row in self.oracle.beside

    def may_be_edited(self, row: Row) -> bool:
        """The twin does not know yet what is attached to a companion."""
        return not self.is_beside(row) and not self.oracle.is_attached(row)

    def may_be_deleted(self, row: Row) -> bool:
        return not self.is_beside(row) and super().may_be_deleted(row)

    def options(self, column: Any) -> list[Any]:
        """What `attach` refers to is another matter."""
        target = column.target_field.attname
        beside = {row.truth[target] for row in self.oracle.beside if row.model is column.related_model}
        return [value for value in super().options(column) if value not in beside]

    @precondition(lambda self: self.oracle.beside)
    @rule(which=numbers, data=st.data())
    def attach(self, which: int, data: Any) -> None:
        self.attach_one(which, data)

    @rule(who=few, which=numbers, model=numbers, number=few, data=st.data())
    def disguise_and_attach(self, who: int, which: int, model: int, number: int, data: Any) -> None:
        """In one: it seldom comes about by itself."""
        person = self.someone(who)
        if person is not None:
            masks = (guild_specs.Mask, guild_specs.OneNobody, guild_specs.TwoNobodies, guild_specs.Leave)
            self.disguise_one(person, masks[which % len(masks)], {}, with_key=bool(which % 2))
            self.everybody_sees_what_they_should()
            for each in range(number + 1):
                self.attach_one(model + each, data)

    def attach_one(self, which: int, data: Any) -> None:
        """Somebody attaches a row to what stands beside a pseudoprincipal. In the twin it hangs from the first where it comes to."""
        model = self.attached[which % len(self.attached)]
        (column,) = (each for each in references_of(model) if each.related_model in self.oracle.companions)
        there = {*self.oracle.present(column.related_model)}
        hosts = [
            row
            for nobody in self.oracle.rows[guild.Member]
            for row in self.oracle.companions_of(nobody.key)
            if row in there and row.model is column.related_model and QuerySet(row.model).filter(pk=row.key).exists()
        ]
        if hosts:
            host, number = pick(data, hosts), next(self.numbers)
            values = {"id": 1000 + number, column.attname: host.key, "text": f"needle text '{number}'"}
            for name in self.oracle.owner_columns(model):
                values[name] = pick(data, [row for row in self.oracle.rows[guild.Member] if row.stands_for is None]).key
                if not QuerySet(guild.Member).filter(pk=values[name]).exists():
                    return
            self.tell(f"the application attaches {model.__name__} {values} beside {self.oracle.beside[host]}")
            self.write(partial(_create, model, values), int)
            self.oracle.rows[model].append(Row(model, values))

    def revealed(self) -> None:
        for row in self.oracle.arrived:
            self.write(int, partial(_create, row.model, dict(row.truth)))
        self.oracle.arrived = []

    def reveal_everything(self, *, finish: bool = True) -> None:
        """Who has no chest for what was put into those of pseudoprincipals gets one in the end."""
        super().reveal_everything(finish=False)
        for person in {self.oracle.person_of(key): None for key in self.oracle.waiting}:
            if self.oracle.own(guild.Chest, person) is None:
                self.create(guild.Chest, {"member_id": person, "lock": "needle lock"})
        super().reveal_everything(finish=finish)

    def clean_now(self) -> dict[str, int]:
        """Whose those are with whom something stays, a bag says."""
        return super().clean_now() if not self.oracle.retained else {}

    def compare_with_the_twin(self) -> None:
        """There, a pseudoprincipal with whom something stays is a member like any other."""
        found = self.look()
        for key in found[guild.Member].keys() & self.oracle.retained.keys():
            self.write(int, partial(_create, guild.Member, found[guild.Member][key]))
            for model in self.oracle.companions:
                for values in found[model].values():
                    if values["member_id"] == key:
                        self.write(int, partial(_create, model, values))
            for row in self.oracle.companions_of(key):
                for policy in ("restore", "delete", "retain"):
                    for other, _ in self.oracle.attached_to(row, policy=policy):
                        self.write(int, partial(_create, other.model, dict(other.truth)))
        super().compare_with_the_twin()

    def leave_out(self, found: Snapshot, expected: Snapshot) -> None:
        for shown in (found, expected):
            for model in guild_specs.AnonymousMember.companions:
                rows = shown[model]
                for key in [key for key, values in rows.items() if values["member_id"] in self.swept]:
                    del rows[key]


class Ribbons(Guild):
    """Who attaches something takes it along when they leave."""

    made = guild.MODELS[1:]
    attached = (*4 * (guild.Ribbon,), guild.Wreath)


class Lending(Habitat):
    principal = lending.Reader
    tables = lending.MODELS
    made = tables[1:]
    disguises = tuple(cls for cls in lending_specs.ALL if hasattr(cls, "transformations"))
    fill = {
        (lending.Reader, "code"): lambda self, draw: f"needle-{next(self.numbers)}",
        (lending.Shelf, "label"): lambda self, draw: f"needle-shelf-{next(self.numbers)}",
        (lending.Loan, "number"): lambda self, draw: next(self.numbers),
        (lending.Call, "reader_code"): lambda self, draw: draw(
            ["", *self.options(lending.Shelf._meta.get_field("reader"))]
        ),
        (lending.Call, "slip"): lambda self, draw: {"note": draw(["needle note", "-"]), "desk": "needle desk"},
    }


class Counting(Oracle):
    """A journal has as many articles as can be seen."""

    def expected(self) -> Snapshot:
        shown = super().expected()
        for key, values in shown[press.Journal].items():
            values["article_count"] = sum(each["journal_id"] == key for each in shown[press.Article].values())
        return shown


class Press(Habitat):
    """Names stand in texts and documents of rows that stay, and a count follows."""

    principal = press.Writer
    tables = press.MODELS
    made = tables[1:]
    disguises = tuple(cls for cls in press_specs.ALL if hasattr(cls, "transformations"))
    oracles = Counting
    one_in = 2
    fill = {
        (press.Journal, "article_count"): lambda self, draw: 0,
        (press.Journal, "ever"): lambda self, draw: 0,
        (press.Article, "meta"): lambda self, draw: {
            "by": self.naming(draw, 1),
            "desk": f"needle desk {next(self.numbers)}",
        },
        (press.Notice, "headline"): lambda self, draw: self.naming(draw, 2),
        (press.Duet, "text"): lambda self, draw: self.naming(draw, 2),
    }

    def naming(self, draw: Callable[[list[Any]], Any], number: int) -> str:
        """A text that names so many people: those whom its row names, or others."""
        names = [row.truth["name"] for row in self.oracle.rows[press.Writer] if row.stands_for is None]
        return f"{' and '.join(draw(names) for _ in range(number))} ({next(self.numbers)})"

    def create(self, model: Any, values: Any, twin: Any = None) -> Any:
        made = super().create(model, values, twin)
        if model is press.Article:
            (journal,) = [row for row in self.oracle.rows[press.Journal] if row.key == made.journal_id]
            journal.truth["ever"] += 1
        return made

    def deleted(self, row: Row) -> None:
        if row.model is press.Article:
            self.write(partial(press.count_again, [row.truth["journal_id"]]))


class Studio(Habitat):
    principal = studio.Artist
    tables = studio.MODELS
    made = tables[1:]
    disguises = tuple(cls for cls in studio_specs.ALL if hasattr(cls, "transformations"))


class Shop(Habitat):
    principal = shop.Customer
    tables = shop.MODELS
    made = tables[1:]
    disguises = tuple(cls for cls in shop_specs.ALL if hasattr(cls, "transformations"))
    fill = {
        (shop.Customer, "notes"): lambda self, draw: "",
    }


def _with_host(model: Any, values: Any, host: Any) -> None:
    """In the twin, a pseudoprincipal that is retained is a customer like any other."""
    if host is not None:
        _create(shop.Customer, host)
    _create(model, values)


class Guests(Habitat):
    """The application attaches rows to pseudoprincipals; what becomes of them is for the disguise to say."""

    principal = shop.Customer
    tables = (shop.Customer, shop.Purchase, shop.Invoice)
    made = (shop.Purchase,)
    disguises = (shop_specs.RestoreReferences, shop_specs.DeleteReferences, shop_specs.RetainReferences)
    policies = {"zoo.shop-delete-references": "delete", "zoo.shop-retain-references": "retain"}

    def __init__(self) -> None:
        #: Rows that are deleted together with a pseudoprincipal, by its primary key.
        self.doomed: list[tuple[Any, Row]] = []
        #: Rows that are deleted, or retained, or neither twin nor oracle would know.
        self.guests: set[Row] = set()
        super().__init__()

    @rule(data=st.data(), invoice=st.booleans())
    def attach(self, data: Any, invoice: bool) -> None:
        """Somebody buys, or is billed, as a pseudoprincipal."""
        stacks = [row.layers["customer_id"] for row in self.oracle.rows[shop.Purchase] if row.layers.get("customer_id")]
        if not stacks:
            return
        stack = pick(data, stacks)
        key, layer = stack[-1].value, stack[-1]
        found = {self.policies.get(receipt.split(":")[1], "restore") for each in stack for receipt in each.receipts}
        if len(found) > 1:
            return  # each pseudoprincipal below has a say, when the one above it goes
        (policy,) = found
        model = shop.Invoice if invoice else shop.Purchase
        number = next(self.numbers)
        values = {"id": 1000 + number, "customer_id": key, "text": f"needle {number}"}
        twin = partial(_create, model, values | {"customer_id": layer.person})
        if policy == "delete":
            twin = partial(int)  # no such row
        elif policy == "retain":
            (row,) = [each for each in self.oracle.rows[shop.Customer] if each.truth["id"] == key]
            first, row.retained, stays = not row.retained, True, dict(row.truth)
            twin = partial(_with_host, model, values, stays if first else None)
        self.write(lambda: _create(model, values), twin)
        if policy == "restore":
            row = Row(model, values | {"customer_id": layer.person})
            # It goes down the same way as the row that the pseudoprincipal was made for.
            row.layers["customer_id"] = [Layer(each.person, set(each.receipts), each.value) for each in stack]
        else:
            row = Row(model, values)
            if policy == "delete":
                self.doomed.append((key, row))
            self.guests.add(row)
        self.oracle.rows[model].append(row)

    def revealed(self) -> None:
        used = {value for _, value in self.oracle.in_use()}
        for key, row in self.doomed:
            if key not in used and row in self.oracle.rows[row.model]:
                self.oracle.rows[row.model].remove(row)

    def may_be_edited(self, row: Row) -> bool:
        return row not in self.guests

    def may_be_deleted(self, row: Row) -> bool:
        return row not in self.guests and super().may_be_deleted(row)

    def may_take_key(self) -> bool:
        """With the key, a guest would be disguised along with its host, and the host's policy would not find it."""
        return not self.guests

    def clean_now(self) -> dict[str, int]:
        """Pseudoprincipals that were retained keep their entries; whose they are stays in the bags."""
        retained = sum(row.retained for row in self.oracle.rows[shop.Customer])
        counts = super().clean_now()
        return counts if not retained else {}


class Quarrels(Disputed):
    """The application, and others, get in the way of what is hidden: it is held, with a reason, until they get out of it."""

    principal = shop.Customer
    tables = (shop.Customer, shop.Quote, shop.Contract, shop.Visit, shop.Slot)
    made = tables[1:]
    disguises = (shop_specs.Rename, shop_specs.Hush, shop_specs.Discard)
    fill = {(shop.Slot, "number"): lambda self, draw: next(self.numbers)}

    def __init__(self) -> None:
        #: Rows that stand where others stood: neither twin nor anybody's disguise knows of them.
        self.takers: set[Row] = set()
        super().__init__()

    @rule(data=st.data())
    def overwrite(self, data: Any) -> None:
        """A value that a disguise has put there is changed."""
        choices = [
            (row, name)
            for model in (shop.Quote, shop.Slot, shop.Contract)
            for row in self.oracle.present(model)
            for name, stack in row.layers.items()
            if stack and stack[-1].person != APPLICATION
        ]
        if not choices:
            return
        row, name = pick(data, choices)
        before = row.value(name)
        there = [each.key for each in self.oracle.present(shop.Customer) if each.stands_for is None]
        layer = self.put_over(row, name, there[0] if name == "customer_id" else f"overwritten {next(self.numbers)}")

        def undo() -> bool:
            possible = name != "customer_id" or self.is_there(before)
            return possible and self.take_off(row, name, layer, before)

        self.quarrels.append(undo)

    @staticmethod
    def is_there(key: Any) -> bool:
        return QuerySet(shop.Customer).filter(pk=key).exists()

    def sweep_now(self, crash: int | None = None) -> None:
        """Not while somebody may be taken whom others have to name again: that quarrel would last for ever."""
        overwritten = (
            layer.person == APPLICATION
            for row in self.oracle.rows[shop.Contract]
            for layer in row.layers.get("customer_id", ())
        )
        if not any(overwritten):
            super().sweep_now(crash)

    @rule(data=st.data())
    def take_name(self, data: Any) -> None:
        """Somebody takes a user name that is hidden."""
        taken = [row.truth["username"] for row in self.oracle.rows[shop.Customer] if row.stands_for is None]
        free = [name for name in taken if not QuerySet(shop.Customer).filter(username=name).exists()]
        if not free:
            return
        name, number = pick(data, free), next(self.numbers)
        self.quarrel(f"the application lets customer {5000 + number} take {name!r}")
        QuerySet(shop.Customer).bulk_create([shop.Customer(id=5000 + number, username=name)])
        taker = Row(shop.Customer, {"id": 5000 + number, "username": name, "name": "", "notes": ""})
        self.oracle.rows[shop.Customer].append(taker)
        self.takers.add(taker)

        def undo() -> bool:
            QuerySet(shop.Customer).filter(pk=5000 + number).delete()
            self.oracle.rows[shop.Customer].remove(taker)
            return True

        self.quarrels.append(undo)

    @rule(data=st.data())
    def take_key(self, data: Any) -> None:
        """A row comes to have the primary key of one that is gone."""
        gone = [row.truth["id"] for row in self.oracle.rows[shop.Visit] if row.gone]
        free = [key for key in gone if not QuerySet(shop.Visit).filter(pk=key).exists()]
        if not free:
            return
        key = pick(data, free)
        self.quarrel(f"the application gives a visit the key {key}")
        taker = Row(shop.Visit, {"id": key, "customer_id": 4999, "text": "another visit"})
        QuerySet(shop.Visit).bulk_create([shop.Visit(**taker.truth)])
        self.oracle.rows[shop.Visit].append(taker)
        self.takers.add(taker)

        def undo() -> bool:
            QuerySet(shop.Visit).filter(pk=key)._raw_delete(using="default")
            self.oracle.rows[shop.Visit].remove(taker)
            return True

        self.quarrels.append(undo)

    @rule(data=st.data())
    def lose(self, data: Any) -> None:
        """A row of which a column is hidden is deleted."""
        rows = [row for row in self.oracle.present(shop.Quote) if row.layers.get("text")]
        rows = [row for row in rows if all(each.person != APPLICATION for _, each in row.all_layers())]
        if not rows:
            return
        row = pick(data, rows)
        values = row.visible()
        self.quarrel(f"the application deletes {row!r}")
        QuerySet(shop.Quote).filter(pk=row.key)._raw_delete(using="default")
        row.gone = Gone({APPLICATION: set()})

        def undo() -> bool:
            QuerySet(shop.Quote).bulk_create([shop.Quote(**values)])
            row.gone = None
            return True

        self.quarrels.append(undo)

    def may_be_edited(self, row: Row) -> bool:
        return row not in self.takers and super().may_be_edited(row)

    def may_be_deleted(self, row: Row) -> bool:
        return row not in self.takers and super().may_be_deleted(row)

    def make(self, *args: Any, **kwargs: Any) -> None:
        """No new rows: they would get into further quarrels."""

    def reveal_one(self, person: Inhabitant, receipt: str, crash: int | None = None, accept: Any = ()) -> bool:
        """All or nothing first, where that is asked for."""
        if crash is None and len(receipt) % 2:
            before = edna_dump()
            with person.unlock() as unlocked, transaction.atomic(), contextlib.suppress(RevealRefused):
                assert edna.reveal(receipt, unlocked, allow_partial=False).complete
                transaction.set_rollback(True)
            assert edna_dump() == before
        return super().reveal_one(person, receipt, crash, accept)

    def give_in(self) -> None:
        raise AssertionError(f"{len(self.quarrels)} quarrels last")

    def reveal_everything(self) -> None:
        super().reveal_everything(finish=False)
        while self.quarrels:
            left = len(self.quarrels)
            self.quarrels = [undo for undo in reversed(self.quarrels) if not undo()]
            if len(self.quarrels) == left:
                self.give_in()
            self.latest = None
            super().reveal_everything(finish=False)
        while self.gives_up():
            super().reveal_everything(finish=False)
        super().reveal_everything()

    def gives_up(self) -> bool:
        """Whether anybody has given up anything, once there are no quarrels any more."""
        return False


class Settling(Accepting, Quarrels):
    """People accept, and specifications do, where every row is one person's."""

    disguises = (*Quarrels.disguises, shop_specs.Shrug)
    one_in = 2

    @rule(who=few, which=numbers, quarrel=few, everything=st.booleans(), data=st.data())
    def quarrel_and_accept(self, who: int, which: int, quarrel: int, everything: bool, data: Any) -> None:
        """In one: it seldom comes about by itself."""
        person = self.someone(who)
        if person is None:
            return
        self.disguise_one(person, self.drawn(which), {}, with_key=False)
        (self.overwrite, self.lose, self.take_key, self.take_name)[quarrel](data)
        self.everybody_sees_what_they_should()
        receipt = pick(data, self.history(person))
        self.reveal_one(person, receipt)
        held = self.held[receipt]
        if held:
            self.everybody_sees_what_they_should()
            self.reveal_one(person, receipt, accept=edna.ALL if everything else [held[which % len(held)]])

    def give_in(self) -> None:
        """Nobody can undo these quarrels."""
        self.quarrels = []

    def gives_up(self) -> bool:
        """All is accepted that something stands in the way of for good: such a quarrel, or what stands since somebody has accepted it."""
        return self.accept_everything()


class Verdicts(Accepting, Court):
    """What the application does to rows with several owners, each of them can accept, as far as no other one waits for the row."""

    disguises = (
        *(cls for cls in Court.disguises if cls not in (court_specs.Clear, court_specs.Resign)),
        *court_specs.DISPUTED,
    )
    #: By which somebody could have removed a message, and kept the account: so nobody could ever give one up.
    without = (court_specs.Clear, court_specs.Resign)
    one_in = 4

    @rule(data=st.data())
    def overwrite(self, data: Any) -> None:
        choices = [
            (row, name)
            for model in self.made
            for row in self.oracle.present(model)
            for name in ("text", "reason")
            if row.layers.get(name) and row.layers[name][-1].person != APPLICATION
        ]
        if choices:
            row, name = pick(data, choices)
            before = row.value(name)
            layer = self.put_over(row, name, f"overwritten {next(self.numbers)}")
            self.quarrels.append(partial(self.take_off, row, name, layer, before))

    @rule(data=st.data())
    def lose(self, data: Any) -> None:
        """A row is deleted of which something is hidden. Nobody makes it again."""
        rows = [row for model in self.made for row in self.oracle.present(model) if self.can_be_lost(row)]
        if rows:
            row = pick(data, rows)
            self.quarrel(f"the application deletes {row!r}")
            QuerySet(row.model).filter(pk=row.key)._raw_delete(using="default")
            row.gone = Gone({APPLICATION: set()})
            self.oracle.lost.append(row)

    def can_be_lost(self, row: Row) -> bool:
        """What could be waited for without end is not: what all had left, and what somebody may have removed."""
        seals = [each for each in self.oracle.rows[court.Seal] if each.truth["message_id"] == row.key]
        if row.model is court.Message and not all(
            each.gone and not each.gone.together and self.can_be_given_up(each) for each in seals
        ):
            return False
        return any(row.layers.values()) and self.can_be_given_up(row)

    def can_be_given_up(self, row: Row) -> bool:
        """Whether there will be a time at which nobody has to wait for anybody."""
        may_remove = self.oracle.who_may_remove(row)
        return not any(layer.left or layer.others & may_remove for _, layer in row.all_layers())

    @rule(who=few, which=numbers, crash=crashes)
    def accept_at_once(self, who: int, which: int, crash: int | None) -> None:
        """What nobody has tried before."""
        person = list(self.inhabitants.values())[who % len(self.inhabitants)]
        if receipts := self.history(person):
            self.reveal_one(person, receipts[which % len(receipts)], crash, edna.ALL)

    def reveal_everything(self, *, finish: bool = True) -> None:
        """What nobody can accept in the end, the application takes back."""
        super().reveal_everything(finish=False)
        while self.accept_everything() or self.take_back():
            super().reveal_everything(finish=False)
        super().reveal_everything()

    def take_back(self) -> bool:
        """The application undoes what it has written over something that waits; whether there was any."""
        covered = [
            (row, name, stack, layer)
            for model in self.made
            for row in self.oracle.present(model)
            for name, stack in row.layers.items()
            for layer in [each for each in stack if each.person != APPLICATION][-1:]
            if stack[-1] is not layer
        ]
        for row, name, stack, layer in covered:
            self.quarrel(f"the application undoes what it has made of {row!r}.{name}")
            QuerySet(row.model).filter(pk=row.key).update(**{name: layer.value})
            del stack[stack.index(layer) + 1 :]
        return bool(covered)


class Gallery(Habitat):
    """Files go and come with the rows that name them; sometimes the process dies between the commit and the storage."""

    principal = studio.Artist
    tables = studio.MODELS
    made = (studio.Work, studio.Sketch, studio.LegacyNote)
    disguises = (
        studio_specs.Close,
        studio_specs.Anonymise,
        studio_specs.Leave,
        studio_specs.BurnFiles,
        studio_specs.Redact,
    )
    fill = {(studio.Sketch, "image"): lambda self, draw: self.file(draw)}

    def __init__(self) -> None:
        self.interrupted = False
        shutil.rmtree(settings_of_django.MEDIA_ROOT, ignore_errors=True)
        super().__init__()

    def file(self, draw: Callable[[list[Any]], Any]) -> Any:
        """A new file, or one that another visible sketch names already, or none."""
        known = {row.value("image") for row in self.oracle.present(studio.Sketch)} - {None, ""}
        kind = draw(["new", "new", "none", "known"])
        if kind == "none" or (kind == "known" and not known):
            return None
        if kind == "known":
            return draw(sorted(known))
        name = f"sketches/needle-{next(self.numbers)}.txt"
        default_storage.save(name, ContentFile(self.content(name)))
        return name

    @staticmethod
    def content(name: str) -> bytes:
        return f"needle: what is in {name} \0".encode() * 3

    def may_be_deleted(self, row: Row) -> bool:
        # The application would leave the file behind, and nobody would know whose it is.
        return row.model is not studio.Sketch and super().may_be_deleted(row)

    def survive(self, work: Callable[[], Any], crash: int | None) -> Any:
        """What waits for a commit happens now, or never: after the act, if it commits, or as if it had, where the story never does."""
        waiting: list[Callable[[], object]] = []

        def keep() -> None:
            waiting.extend(function for _, function, _ in connection.run_on_commit)
            connection.run_on_commit.clear()

        connection.run_on_commit.clear()
        with mock.patch.object(connection, "run_and_clear_commit_hooks", keep):
            result = super().survive(work, crash)
        keep()
        if result is not None and crash is not None and crash % 2:
            self.interrupted = self.interrupted or bool(waiting)
            note("the process dies right after the commit")
            return result
        for function in waiting:
            function()
        return result

    @rule()
    def finish(self) -> None:
        """What `manage.py edna_files` does."""
        connection.run_on_commit.clear()
        assert edna.finish_files().left == []
        self.interrupted = False

    def reveal_everything(self, *, finish: bool = True) -> None:
        self.finish()
        super().reveal_everything(finish=finish)
        self.finish()
        self.files_are_where_their_rows_are()

    @invariant()
    def files_are_where_their_rows_are(self) -> None:
        """Each as it was, and no others. After a crash there may be too many or too few, until it is finished."""
        root = Path(settings_of_django.MEDIA_ROOT)
        found = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        named = {row.value("image") for row in self.oracle.present(studio.Sketch)} - {None, ""}
        if not self.interrupted:
            assert found == {name: self.content(name) for name in named}


def _update_all(model: Any, change: Callable[[str], str]) -> None:
    for key, text in list(QuerySet(model).values_list("pk", "text")):
        QuerySet(model).filter(pk=key).update(text=change(text))


def shout(text: str) -> str:
    return text + "!"


class Moving(Habitat):
    """Migrations change the data of tables, and the rules that go with them what is sealed."""

    principal = shop.Customer
    tables = shop.MODELS
    made = (shop.Purchase, shop.Quote, shop.Slot)
    disguises = (shop_specs.Hush, shop_specs.Forget, shop_specs.RestoreReferences, shop_specs.Erase, shop_specs.Detach)
    fill = {
        (shop.Slot, "number"): lambda self, draw: next(self.numbers),
        (shop.Customer, "notes"): lambda self, draw: "",
    }

    def __init__(self) -> None:
        migrations.go_to(0)
        self.stage = 0
        super().__init__()

    @precondition(lambda self: self.stage < migrations.LAST)
    @rule()
    def migrate(self) -> None:
        self.stage += 1
        migrations.go_to(self.stage)
        note(f"migration {self.stage}")
        for model in migrations.CHANGED[self.stage]:
            self.write(lambda model=model: _update_all(model, shout))
            for row in self.oracle.rows[model]:
                row.truth["text"] = shout(row.truth["text"])
                for layer in row.layers.get("text", ()):
                    layer.value = shout(layer.value)


HABITATS = (
    Town,
    Council,
    Court,
    Guild,
    Ribbons,
    Lending,
    Press,
    Studio,
    Shop,
    Guests,
    Quarrels,
    Settling,
    Verdicts,
    Moving,
    Gallery,
)


def profile(habitat: type[Habitat], usual: int | None = None, *, steps: int = 14) -> Profile:
    """As many examples as there is time for: more on SQLite than on servers, many in `make test-deep`, which draws new ones each
    time. The others are the same each time."""
    usual = usual or (32 if connection.vendor == "sqlite" else 8) // habitat.one_in
    return Profile(
        max_examples=int(os.environ.get("EDNA_ZOO_EXAMPLES") or usual),
        stateful_step_count=int(os.environ.get("EDNA_ZOO_STEPS") or steps),
        derandomize=not os.environ.get("EDNA_RANDOM_EXAMPLES"),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        print_blob=False,
        phases=[Phase.generate] if os.environ.get("EDNA_ZOO_SHRINK") == "no" else list(Phase),
    )


@pytest.fixture
def by_hand() -> Iterator[None]:
    edna.on_reveal(council_specs.BRANCH)(council_specs.branch_is_back)
    yield
    edna.unregister(council_specs.branch_is_back)


#: How many parts of habitats have stories of their own: some in `make test`, hundreds in `make test-deep`.
PARTS = int(os.environ.get("EDNA_ZOO_PARTS") or len(HABITATS))


def part_of_a_habitat(number: int) -> type[Habitat]:
    """One with few tables, few disguises and few people: what seldom meets in the whole meets here in each story."""
    source = random.Random(number)
    habitat = HABITATS[number % len(HABITATS)]
    made = set(source.sample(habitat.made, min(len(habitat.made), source.choice([1, 1, 2, 2, 3]))))
    while more := {model for each in made for model in needed_by(each)} & set(habitat.made) - made:
        made |= more
    offered = source.sample(habitat.disguises, min(len(habitat.disguises), source.choice([1, 2, 2, 3, 3])))
    narrowed = {
        "made": tuple(model for model in habitat.made if model in made),
        "offered": tuple(cls for cls in habitat.disguises if cls in offered),
        "people": min(habitat.people, source.choice([2, 2, 3])),
    }
    return type(f"{habitat.__name__}{number}", (habitat,), narrowed)


def needed_by(model: type[Model]) -> set[type[Model]]:
    """What there must be rows of, for a row of it."""
    columns = [each for each in model._meta.concrete_fields if isinstance(each, ForeignKey) and not each.null]
    return {column.related_model._meta.concrete_model for column in columns}


@contextlib.contextmanager
def unregistered(*disguises: type[edna.Disguise]) -> Iterator[None]:
    for cls in disguises:
        edna.unregister(cls)
    yield
    for cls in disguises:
        edna.register(cls)


@pytest.mark.parametrize("habitat", HABITATS, ids=lambda cls: cls.__name__.lower())
def test_everybody_sees_what_they_should(
    zoo: Any,  # noqa: F811
    history: None,  # noqa: F811
    by_hand: None,
    tmp_path: Path,
    settings: Any,
    habitat: type[Habitat],
) -> None:
    settings.MEDIA_ROOT = tmp_path
    with unregistered(*habitat.without):
        run_state_machine_as_test(habitat, settings=profile(habitat))


@pytest.mark.once
@pytest.mark.parametrize("number", range(PARTS))
def test_everybody_sees_what_they_should_in_a_part(
    zoo: Any,  # noqa: F811
    history: None,  # noqa: F811
    by_hand: None,
    tmp_path: Path,
    settings: Any,
    number: int,
) -> None:
    settings.MEDIA_ROOT = tmp_path
    part = part_of_a_habitat(number)
    print(part.__name__, [model.__name__ for model in part.made], [cls.name for cls in part.offered])
    with unregistered(*part.without):
        run_state_machine_as_test(part, settings=profile(part, 5))


# The model itself


class Told(Habitat):
    """A story that is written down."""

    people = 2

    def tell(self, story: str) -> None:
        """Nobody searches for it."""


class ToldOfTown(Told, Town):
    def comment(self) -> None:
        """Of the second one, on a post of the first."""
        first, second = self.inhabitants
        for model, owner, more in (
            (town.Post, first, {}),
            (town.Comment, second, {"post_id": 1000, "parent_id": None}),
        ):
            values = self.values_for(model, lambda options: options[0]) or {}
            self.create(model, values | {"id": 1000, "author_id": owner} | more)

    def goes_with(self, *disguises: type[edna.Disguise]) -> None:
        """One after the other."""
        for person, cls in zip(self.inhabitants.values(), disguises, strict=True):
            self.disguise_one(person, cls, {}, with_key=False)


def test_what_is_one_persons_alone_may_take_a_second_pass(zoo: Any) -> None:  # noqa: F811
    """A comment that went with a post, and whose author is back only after that was tried."""
    story = ToldOfTown()
    story.comment()
    story.goes_with(town_specs.Unpublish, town_specs.LeaveQuietly)
    story.teardown()


def test_what_waits_for_somebody_else_and_for_an_own_disguise_may_be_held(zoo: Any) -> None:  # noqa: F811
    """A mention of a comment, whose author is away, and of a post, which waits for the person's own account."""
    story = ToldOfTown()
    story.comment()
    story.create(town.Mention, {"id": 1000, "comment_id": 1000, "post_id": 1000, "text": "needle"})
    story.goes_with(town_specs.Unpublish, town_specs.LeaveQuietly)
    first, _ = story.inhabitants.values()
    story.disguise_one(first, town_specs.LeaveQuietly, {}, with_key=False)
    story.reveal_one(first, story.history(first)[0])
    story.teardown()


def test_what_is_handed_over_takes_one(zoo: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    story = ToldOfTown()
    story.comment()
    story.goes_with(town_specs.Leave, town_specs.LeaveQuietly)
    story.teardown()
    story = ToldOfTown()
    story.comment()
    story.goes_with(town_specs.Leave, town_specs.LeaveQuietly)
    monkeypatch.setattr("edna.engine.revealing.progress.can_wait", lambda *_: False)
    with pytest.raises(AssertionError, match=r"not back after everybody .*<Comment 1000 gone"):
        story.teardown()


class ToldOfQuotes(Told, Settling):
    pass


def test_what_lies_below_what_was_accepted_is_accepted_in_the_end(zoo: Any) -> None:  # noqa: F811
    """Nobody could undo that any more, and no quarrel was left over which anybody would have given in."""
    story = ToldOfQuotes()
    person = next(iter(story.inhabitants.values()))
    story.create(shop.Quote, {"id": 1000, "customer_id": person.pk, "text": "needle"})
    for cls in (shop_specs.Hush, shop_specs.Shrug):
        story.disguise_one(person, cls, {}, with_key=False)
    story.overwrite(None)
    story.reveal_one(person, story.history(person)[-1])
    assert story.accepted == 1
    story.teardown()


class ToldOfMessages(Told, Verdicts):
    pass


def test_of_two_changes_that_were_made_when_all_had_left_the_later_changed_nothing(zoo: Any) -> None:  # noqa: F811
    """What waits is the earlier one, and the later receipt has nothing to wait for. The model took now one, now the other."""
    with unregistered(*ToldOfMessages.without):
        story = ToldOfMessages()
        first, second = story.inhabitants.values()
        people = {"author_id": first.pk, "recipient_id": second.pk}
        story.create(court.Message, {"id": 1000, **people, "text": "needle"})
        for person, cls in ((first, court_specs.Mask), (second, court_specs.Mask), (first, court_specs.Fade)):
            story.disguise_one(person, cls, {}, with_key=True)
        story.disguise_one(first, court_specs.Fade, {}, with_key=True)
        story.overwrite(None)
        story.reveal_one(second, story.history(second)[0])
        story.teardown()


class ToldOfRibbons(Told, Ribbons):
    pass


def test_what_waited_for_another_disguise_is_handed_to_nobody(zoo: Any) -> None:  # noqa: F811
    """It lies in the bag of that one, where nothing says whose else it is: whoever has that tries again."""
    story = ToldOfRibbons()
    first, second = story.inhabitants.values()
    story.create(guild.Sign, {"id": 1000, "member_id": first.pk, "motto": "needle"})
    story.create(guild.Ribbon, {"id": 1000, "sign_id": 1000, "giver_id": second.pk, "text": "needle"})
    for person, cls in ((first, guild_specs.Strip), (first, guild_specs.Leave), (second, guild_specs.Leave)):
        story.disguise_one(person, cls, {}, with_key=False)
    # First the one that waits for the account.
    for receipt in story.history(first):
        story.reveal_one(first, receipt)
    story.teardown()


def test_a_row_is_not_given_up_while_a_change_waits_that_is_others_as_well(zoo: Any) -> None:  # noqa: F811
    with unregistered(*ToldOfMessages.without):
        story = ToldOfMessages()
        first, second = story.inhabitants.values()
        story.create(
            court.Moderation,
            {"id": 1000, "moderator_id": second.pk, "user_id": first.pk, "reason": "needle"},
        )
        for person, cls in ((first, court_specs.Veil), (second, court_specs.Veil), (second, court_specs.Depart)):
            story.disguise_one(person, cls, {}, with_key=True)
            story.overwrite(None)
        story.accept_everything()
        story.teardown()


def test_whoever_is_named_over_another_row_is_waited_for_as_well(zoo: Any) -> None:  # noqa: F811
    """What was handed over stays under disguise while the other's later disguise lasts: of a seal, whose owners its message names, as of
    the message. The model had looked at the row's own columns alone."""
    with unregistered(*ToldOfMessages.without):
        story = ToldOfMessages()
        first, second = story.inhabitants.values()
        people = {"author_id": first.pk, "recipient_id": second.pk}
        story.create(court.Message, {"id": 1000, **people, "text": "needle"})
        story.create(court.Seal, {"id": 1000, "message_id": 1000, "text": "needle of the seal"})
        for person, cls in (
            (first, court_specs.Hush),
            (second, court_specs.Hush),
            (second, court_specs.Mask),
            (first, court_specs.Veil),
        ):
            story.disguise_one(person, cls, {}, with_key=False)
        for person in (first, second, first):
            story.reveal_one(person, story.history(person)[0])
        story.teardown()


def test_what_all_had_left_lies_below_the_row_that_went_with_it(zoo: Any) -> None:  # noqa: F811
    """One disguise empties a text, as all have left, and takes the row; each is in a bag for several. An earlier change of the text folds
    into the later one, and is not told as a row that is missing."""
    with unregistered(*ToldOfMessages.without):
        story = ToldOfMessages()
        first, second = story.inhabitants.values()
        owners = {"first_id": first.pk, "second_id": second.pk, "third_id": first.pk}
        story.create(court.Treaty, {"id": 1000, **owners, "number": 1, "text": "needle"})
        story.disguise_one(first, court_specs.Mask, {}, with_key=False)
        for cls in (court_specs.Mask, court_specs.Fade, court_specs.Mask):
            story.disguise_everybody(cls, {})
        story.disguise_one(second, court_specs.Withdraw, {}, with_key=True)
        story.teardown()


class ToldOfCouncil(Told, Council):
    pass


def test_what_waits_for_somebody_elses_row_alone_is_handed_to_nobody(zoo: Any) -> None:  # noqa: F811
    """A part of a tree, below somebody else's. Its name goes into the record of its removal, which one person alone has, and the
    pseudoprincipal goes. The model kept that until the parent was back."""
    story = ToldOfCouncil()
    first, second = story.inhabitants.values()
    for key, owner, parent in ((1000, second, None), (1001, first, 1000)):
        values = {"proposer_id": owner.pk, "parent_id": parent, "private": True, "text": "needle"}
        story.create(council.Motion, {"id": key} | values)
    for cls in (council_specs.Mask, council_specs.Retract):
        story.disguise_everybody(cls, {})
    mask, retract = story.history(first)
    for receipt in (retract, mask):
        story.reveal_one(first, receipt)
        story.everybody_sees_what_they_should()
    story.teardown()


def test_who_is_not_meant_by_a_condition_is_handed_nothing(zoo: Any, by_hand: None) -> None:  # noqa: F811
    """Whoever has emptied a reference of a row that its owner took away by hand tries again. The model took the owner for one whom the
    disguise would have let remove the row, whatever the step's condition said of it."""
    story = ToldOfCouncil()
    first, second = story.inhabitants.values()
    for key, owner, parent, private in ((1000, first, None, True), (1001, second, 1000, False)):
        values = {"proposer_id": owner.pk, "parent_id": parent, "private": private, "text": "needle"}
        story.create(council.Motion, {"id": key} | values)
    story.disguise_one(first, council_specs.Retract, {}, with_key=False)
    story.remove_below(second, {row for row in story.oracle.present(council.Motion) if row.key == 1001})
    story.teardown()


def test_what_waits_for_each_other_comes_back_with_the_last(zoo: Any) -> None:  # noqa: F811
    """Two parts of a tree that bite each other's tails: whoever comes first hands theirs over. The model tried what was handed over
    after the person's own, which waited for it."""
    story = ToldOfCouncil()
    for key, person in enumerate(story.inhabitants.values(), start=1000):
        values = {"proposer_id": person.pk, "parent_id": None, "private": True, "text": "needle"}
        story.create(council.Motion, {"id": key} | values)
    one, other = story.oracle.present(council.Motion)
    story.update(one, {"parent_id": other.key})
    story.update(other, {"parent_id": one.key})
    story.disguise_everybody(council_specs.Retract, {})
    story.teardown()


def test_a_reference_that_was_emptied_comes_back_with_whoever_is_back_last(zoo: Any) -> None:  # noqa: F811
    """Whom the row would name, if the reference over which a path leads were there, is asked: over the empty one, nobody was back."""
    story = ToldOfCouncil()
    first, second = story.inhabitants.values()
    for key, owner, parent in ((1000, first, None), (1001, second, 1000)):
        values = {"proposer_id": owner.pk, "parent_id": parent, "private": True, "text": "needle"}
        story.create(council.Motion, {"id": key} | values)
    for person in (first, second):
        story.disguise_one(person, council_specs.Retract, {}, with_key=False)
    for person in (first, second):
        story.reveal_one(person, story.history(person)[0])
    assert QuerySet(council.Motion).get(pk=1001).parent_id == 1000
    story.teardown()
