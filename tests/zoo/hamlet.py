"""The hamlet as it stands: what two people, staff and others can do there now, what must hold then, and the way back.

Invariant: what `going_back` encloses leaves nothing behind, neither in the tables nor in the oracle. Knows no order of acts: whoever goes
through them has that (`tests.zoo.histories`).
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.apps import apps
from django.db import connection
from django.db.models import Model, QuerySet

import edna
from edna.errors import ReceiptUnknown
from edna.value_owners import ByElement, element_of
from tests.support import AUDIT_TABLES, EDNA_TABLES
from tests.zoo.machine import Habitat, Inhabitant, raw_values
from tests.zoo.models.hamlet import MODELS, Diary, Hearth, Letter, Stamp, Villager
from tests.zoo.oracle import APPLICATION, Gone, Layer, Oracle, Row, whole
from tests.zoo.specs import hamlet as specs

#: The primary key of the letter, which others edit and delete.
LETTER: Final = 1
REASONS: Final = {
    "away": edna.Reason.OWNER_AWAY,
    "changed": edna.Reason.CHANGED,
    "row": edna.Reason.ROW_MISSING,
    "reference": edna.Reason.REFERENCE_MISSING,
}
VILLAGER: Final = Villager._meta.label_lower
#: Of which the oracle knows nothing: it is there where a pseudoprincipal is, and what it holds is of no interest to anybody.
HEARTH: Final = Hearth._meta.label_lower


@dataclass(frozen=True)
class Act:
    #: In words, by which `EDNA_HISTORY` finds it: "1 mask", "2 leave with key", "all hush", "1 reveals 3", "others edit".
    story: str
    do: Callable[[], Any]


def counted(rows: Iterable[Row]) -> Counter[str]:
    return Counter(row.model._meta.label_lower for row in rows if row.model is not Villager)


def rows_of_edna() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in EDNA_TABLES))
        return dict(cursor.fetchall())


def raw_hearths() -> dict[Any, str]:
    return dict(QuerySet(Hearth).values_list("villager", "fuel"))


class InMemory(Oracle):
    """Finds rows by what it knows itself: asking the database takes longer than all else here."""

    def matched(
        self, step: Any, params: Mapping[str, Any], who: Mapping[Any, int]
    ) -> Iterator[tuple[Row, int, list[Any]]]:
        rows = self.present(step.model) if step.model in self.rows else ()
        self._element = None
        if (element := element_of(step.owners)) is not None:
            yield from self._elements(element, rows, who)
            return
        for row in sorted(rows, key=lambda row: row.key):
            if step.where is not None and any(row.value(name) != value for name, value in step.where.children):
                continue
            holders = [self._follow(row, path) for path in step.owners] or [row.key]
            target = next((who[holder] for holder in holders if holder in who), None)
            if target is not None:
                self._groups = ()
                yield row, target, holders

    def _elements(
        self, element: ByElement, rows: Iterable[Row], who: Mapping[Any, int]
    ) -> Iterator[tuple[Row, int, list[Any]]]:
        """A row once for each who is named in its list."""
        people = {row.value(element.theirs): row.key for row in self.present(self.principal)}
        for row in rows:
            for place in row.model.documents[element.column]:  # type: ignore[attr-defined]
                holder = people.get(row.value(f"{element.column}__{place}"))
                if holder in who:
                    self._element = f"{element.column}__{place}"
                    yield row, who[holder], [holder]

    def _follow(self, row: Row, path: str) -> Any:
        """The key that stands at the end of a path of foreign keys."""
        name, _, rest = path.partition("__")
        column = row.model._meta.get_field(name)
        key = row.value(column.attname)
        if not rest:
            return key
        return self._follow(next(each for each in self.present(column.related_model) if each.key == key), rest)


class Hamlet(Habitat):
    principal = Villager
    tables = tuple(model for model in MODELS if model is not Hearth)
    made = tables[1:]
    disguises = (specs.Leave, specs.Mask, specs.Hush)
    people = 2
    oracles = InMemory

    def __init__(self) -> None:
        #: What others have put in the way and can take out of it again: how, and the row that it is about.
        self.quarrels: tuple[tuple[str, type[Model], int], ...] = ()
        #: What others have done: each of it once in a history.
        self.done_by_others: frozenset[str] = frozenset()
        super().__init__()
        self.users = {key: QuerySet(Villager).get(pk=key) for key in self.inhabitants}
        one, two = self.inhabitants
        self.create(Diary, {"id": 1, "villager_id": one, "text": "needle diary 1", "meta": {"mood": "needle mood"}})
        self.create(Diary, {"id": 2, "villager_id": two, "text": "needle diary 2", "meta": {"mood": "glad"}})
        self.create(
            Diary, {"id": 3, "villager_id": one, "text": "needle diary 3", "meta": {"mood": ""}, "public": False}
        )
        readers = [self.users[each].name for each in (two, one)]
        people = {"sender_id": one, "recipient_id": two}
        self.create(Letter, {"id": LETTER, **people, "text": "needle letter", "readers": readers})
        self.create(Stamp, {"id": 1, "letter_id": LETTER, "text": "needle stamp"})

    def tell(self, story: str) -> None:
        """Whoever walks knows the acts."""

    def user(self, pk: Any) -> Model:
        return self.users[pk]

    # What can be done now

    def choices(self) -> Iterator[Act]:
        there = {row.truth["id"] for row in self.oracle.present(Villager)}
        people = list(enumerate(self.inhabitants.values(), start=1))
        for number, person in people:
            for cls in self.disguises if person.pk in there else ():
                for with_key in (False, True) if self.speaks(person) else (False,):
                    do = partial(self.disguise_one, person, cls, {}, with_key=with_key)
                    yield Act(f"{number} {cls.__name__.lower()}{' with key' * with_key}", do)
        for cls in self.disguises:
            yield Act(f"all {cls.__name__.lower()}", partial(self.disguise_everybody, cls, {}))
        for number, person in people:
            for receipt in self.history(person):
                order = self.oracle.order.index(receipt) + 1
                yield Act(f"{number} reveals {order}", partial(self.reveal_one, person, receipt))
        letter = self.letter()
        for name, do, possible in (
            ("edit", self.edit, letter),
            ("insert", self.insert, letter or self.free_names()),
            ("delete", self.delete, letter),
        ):
            if possible and name not in self.done_by_others:
                yield Act(f"others {name}", do)

    def history(self, person: Inhabitant) -> list[str]:
        """What is still sealed of each receipt is what the oracle hides under it."""
        with person.unlock() as unlocked:
            found = {str(entry.receipt): Counter(entry.counts) for entry in edna.history(unlocked)}
        assert set(found) <= self.oracle.outstanding.get(person.pk, set())
        for receipt, counts in found.items():
            for label in (VILLAGER, HEARTH):
                counts.pop(label, None)
            hidden, perhaps = self.hidden_under(person, receipt)
            # One part of a row may lie in a bag that others have, too, and another one here: it counts in both.
            parted = {row for row in hidden | perhaps if len(row.layers) > 1}
            most = counted(hidden | perhaps) + counted(parted)
            assert counted(hidden) <= counts <= most, (counts, hidden, perhaps)
        return sorted(found, key=self.oracle.order.index)

    def hidden_under(self, person: Inhabitant, receipt: str) -> tuple[set[Row], set[Row]]:
        """The rows of which the receipt hides something; and those of which perhaps another one does, or nothing is to hide."""
        hidden, perhaps = set(), set()
        for row in self.oracle.all_rows():
            under = [each.receipts for _, each in row.all_layers() if each.person == person.pk]
            under += [row.gone.holders[person.pk]] if row.gone and person.pk in row.gone.holders else []
            if any(receipts == {receipt} for receipts in under):
                hidden.add(row)
            elif receipt in row.unchanged | row.pointed_at or any(receipt in receipts for receipts in under):
                perhaps.add(row)
        return hidden, perhaps

    def speaks(self, person: Inhabitant) -> bool:
        """Whether their key leads to anybody's rows but their own: otherwise it makes no difference."""
        return any(
            layer.person == person.pk
            for row in self.oracle.all_rows()
            for name in self.oracle.owner_columns(row.model)
            for layer in row.layers.get(name, ())
        )

    # What others do

    def find(self, model: type[Model], key: int) -> Row:
        return next(row for row in self.oracle.rows[model] if row.truth["id"] == key)

    def letter(self) -> Row | None:
        return next((row for row in self.oracle.present(Letter) if row.truth["id"] == LETTER), None)

    def free_names(self) -> list[str]:
        """Of people who have left."""
        return [row.truth["name"] for row in self.oracle.rows[Villager] if row.gone and row.stands_for is None]

    def edit(self) -> None:
        """The letter's text: over what a disguise has put there, if it has."""
        self.interfere("edit")
        letter = self.letter()
        assert letter is not None
        QuerySet(Letter).filter(pk=LETTER).update(text="needle edited")
        if stack := letter.layers.get("text"):
            stack.append(Layer(APPLICATION, set(), "needle edited"))
        else:
            letter.truth["text"] = "needle edited"

    def insert(self) -> None:
        """A second stamp; where the letter is gone, somebody who takes the name of one who has left."""
        self.interfere("insert")
        if self.letter():
            row = Row(Stamp, {"id": 100, "letter_id": LETTER, "text": "needle second stamp"})
        else:
            row = Row(Villager, {"id": 100, "name": self.free_names()[0]})
            self.quarrels += (("insert", Villager, 100),)
        QuerySet(row.model).bulk_create([row.model(**row.truth)])
        self.oracle.rows[row.model].append(row)

    def delete(self) -> None:
        """The letter with its stamps: for good, if no disguise has been about them."""
        self.interfere("delete")
        letter = self.letter()
        assert letter is not None
        stamps = [row for row in self.oracle.rows[Stamp] if row.truth["letter_id"] == LETTER]
        visible = [row for row in stamps if row.gone is None]
        free = visible == stamps and not any(
            any(row.layers.values()) or row.unchanged or row.pointed_at for row in (letter, *stamps)
        )
        for row in (*visible, letter):
            QuerySet(row.model).filter(pk=row.key)._raw_delete(using="default")
            if free:
                self.oracle.rows[row.model].remove(row)
            else:
                row.gone = Gone({APPLICATION: set()})
                self.quarrels += (("delete", row.model, row.key),)

    def interfere(self, name: str) -> None:
        self.done_by_others |= {name}
        self.latest = None

    def make_up(self) -> bool:  # type: ignore[override]
        """Others undo what stands in the way of somebody, the last first; whether anything came of it. What refers to somebody who is not
        there, no database takes."""
        self.latest = None
        quarrels, self.quarrels = self.quarrels, ()
        for quarrel in reversed(quarrels):
            how, model, key = quarrel
            row = self.find(model, key)
            if how == "insert":
                QuerySet(model).filter(pk=key)._raw_delete(using="default")
                self.oracle.rows[model].remove(row)
            elif self.oracle.missing(row):
                self.quarrels = (quarrel, *self.quarrels)
            else:
                row.gone = None
                QuerySet(model).bulk_create([model(**whole(model, row.visible()))])
        made_up = len(self.quarrels) < len(quarrels)
        letter = self.letter()
        stack = letter.layers.get("text") if letter else None
        while stack and stack[-1].person == APPLICATION:
            stack.pop()
            made_up = True
        if made_up and letter:
            QuerySet(Letter).filter(pk=LETTER).update(text=letter.value("text"))
        return made_up

    # What must hold

    def everybody_sees_what_they_should(self) -> None:
        super().everybody_sees_what_they_should()
        placeholders = set(QuerySet(Villager).values_list("pk", flat=True)) - {*self.inhabitants, 100}
        assert raw_hearths() == dict.fromkeys(placeholders, "peat")

    def told(self, receipt: str, outcome: edna.Outcome, held: set[tuple[Row, str]], deferred: set[Row]) -> None:
        """Why each row is held, and how many of the others are back or wait for another disguise of the same person."""
        reasons = {(row.model, row.truth["id"], self.reason(row, why)) for row, why in held}
        said = {(apps.get_model(each.model), each.pk, each.reason) for each in outcome.held}
        assert said == reasons, f"said: {said}; foreseen: {reasons}"
        kept = {row for row, _ in held}
        later = (deferred | self.oracle.folded) - kept
        # What was the very same constant before has nothing to bring back, and counts with the one or with the other.
        either = counted(self.oracle.idle - kept - later)
        counts = {kind: Counter(getattr(outcome, kind)) for kind in ("restored", "deferred")}
        for each in counts.values():
            # People count once, and pseudoprincipals in disguises of their own only.
            for label in (VILLAGER, HEARTH):
                each.pop(label, None)
        assert counts["restored"] + counts["deferred"] == counted(self.oracle.due - kept), (outcome, self.oracle.due)
        assert counted(later) <= counts["deferred"] <= counted(later) + either, (outcome, later)

    @staticmethod
    def reason(row: Row, why: str) -> edna.Reason:
        """Nothing stands in the way of an account but that somebody has taken its name."""
        return edna.Reason.UNIQUE_TAKEN if row.model is Villager else REASONS[why]

    def everybody_comes_back(self) -> None:
        """All reveal all, oldest first; where others stand in the way, they make way."""
        receipts, progress, story = [], True, list[str]()
        while progress:
            progress, receipts = False, []
            for person in self.inhabitants.values():
                for receipt in self.history(person):
                    receipts.append(receipt)
                    story.append(f"{person.pk % 1000} reveals {self.oracle.order.index(receipt) + 1}")
                    try:
                        progress |= self.reveal_one(person, receipt)
                    except ReceiptUnknown:  # it was of a pseudoprincipal, whom a reveal before has let go of
                        assert receipt not in self.history(person)
                    except AssertionError as error:
                        error.add_note(f"on the way back, after {'; '.join(story)}")
                        raise
                    self.everybody_sees_what_they_should()
            if not progress and self.make_up():
                story.append("others make up")
                progress = True
        assert receipts == []
        hidden = [row for row in self.oracle.all_rows() if row.gone or any(row.layers.values())]
        # A pseudoprincipal that nothing names any more does not come back.
        assert [row for row in hidden if row.stands_for is None] == []
        assert raw_hearths() == {}
        assert rows_of_edna() == self.clean_now()

    # Going on, and back

    @contextlib.contextmanager
    def going_back(self) -> Iterator[None]:
        """After the block everything is as it was before."""
        kept = self.oracle, self.quarrels, self.done_by_others, self.acts
        self.oracle, self.latest = self.oracle.copy(), None
        savepoint = connection.savepoint()
        try:
            yield
        finally:
            connection.savepoint_rollback(savepoint)
            connection.savepoint_commit(savepoint)
            connection.run_on_commit.clear()
            self.oracle, self.quarrels, self.done_by_others, self.acts = kept
            self.latest = None

    def state(self) -> Any:
        """All there is, to the byte, and what others have not done yet."""
        tables = [*EDNA_TABLES, *(model._meta.db_table for model in MODELS)]
        return self.done_by_others, tuple(frozenset(raw_values(table)) for table in tables if table not in AUDIT_TABLES)
