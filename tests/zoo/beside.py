"""An oracle that knows companions, too: the rows that are made beside each pseudoprincipal, and go with it.

A companion is there as long as its pseudoprincipal is. What becomes of it in between is that of any row of the pseudoprincipal's owner, as
far as a disguise takes their key. Once its pseudoprincipal is gone, so is it, with whatever was sealed of it.

What others have attached to a companion follows its owner then: to what stands beside them, or along with the companion, which becomes
theirs. While what stands beside them is away, all of it waits for that; and where a companion's key is its owner's, it waits until they
have one. By the policy of its relation it is deleted instead, or stays, and its pseudoprincipal with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, ClassVar

from django.db.models import Model

from edna.placeholders import as_placeholder
from edna.spec import Pseudoprincipal
from tests.zoo.oracle import Effect, Oracle, Row, Said, Snapshot, Values, references_of


class Beside(Oracle):
    #: How the pseudoprincipals of the habitat are filled.
    generator: ClassVar[type[Pseudoprincipal]]
    #: What all disguises of the habitat say of relations.
    references: ClassVar[Mapping[str, str]] = {}

    def __init__(self, principal: type[Model], models: Iterable[type[Model]]) -> None:
        super().__init__(principal, models)
        #: The primary key of the pseudoprincipal beside which a row was made.
        self.beside: dict[Row, Any] = {}
        #: Pseudoprincipals that were swept at one time: some have been made again, with others beside them.
        self.swept: set[Any] = set()
        #: Of each pseudoprincipal, whom it stands for: a person, or another pseudoprincipal.
        self.owner_of: dict[Any, Any] = {}
        #: Pseudoprincipals that nothing names any more, and that wait for what is attached to their companions: the receipts by which
        #: they may go.
        self.waiting: dict[Any, set[str]] = {}
        #: Those with whom something stays, likewise: for good, unless the application takes it away before these receipts are used again.
        self.retained: dict[Any, set[str]] = {}
        #: What the latest reveals have brought to people, for the first time: companions, and what was attached to some.
        self.arrived: list[Row] = []

    @property
    def companions(self) -> Mapping[type[Model], tuple[str, Mapping[str, Any]]]:
        """Of each model, the column that names whom a row is beside, and what the specification puts into the others."""
        return {
            model: (next(iter(self.owner_columns(model))), values)
            for model, values in self.generator.companions.items()
            if values is not None
        }

    def attached_to(self, companion: Row, *, policy: str = "restore") -> list[tuple[Row, str]]:
        """Rows that refer to the companion, and by which column, of those relations that have this policy."""
        found = []
        for model in self.models:
            for column in references_of(model):
                if column.related_model is companion.model:
                    said = self.references.get(f"{model._meta.label}.{column.name}", "restore")
                    value = companion.truth[column.target_field.attname]
                    rows = self.rows[model] if said == policy else []
                    found += [(row, column.attname) for row in rows if row.truth[column.attname] == value]
        return found

    def is_attached(self, row: Row) -> bool:
        """Whether it refers to a companion."""
        columns = [each for each in references_of(row.model) if each.related_model in self.companions]
        return any(
            row.truth[each.attname] == companion.truth[each.target_field.attname]
            for each in columns
            for companion in self.beside
            if companion.model is each.related_model
        )

    def in_use(self) -> set[tuple[str, Any]]:
        return super().in_use() | {(self.principal._meta.pk.attname, key) for key in (*self.waiting, *self.retained)}

    def present(self, model: type[Model]) -> list[Row]:
        rows = super().present(model)
        if model not in self.companions:
            return rows
        there = {row.key for row in super().present(self.principal)}
        return [row for row in rows if row not in self.beside or self.beside[row] in there]

    def apply(self, effects: Iterable[Effect], receipts: list[str], persons: list[Any], after: Snapshot) -> None:
        """Where a pseudoprincipal is spared, because others may need it, so are its companions."""
        effects = [
            each
            for each in effects
            if each.kind != "remove"
            or each.row not in self.beside
            or self.beside[each.row] not in after[self.principal]
            or each.row.key not in after[each.row.model]
        ]
        super().apply(effects, receipts, persons, after)

    def learn(self, after: Snapshot) -> None:
        super().learn(after)
        for model, columns in self.owners.items():
            for row in self.rows[model]:
                for name in columns:
                    for layer in row.layers.get(name, ()):
                        self.owner_of.setdefault(layer.value, self._below(row, name, layer))
        assert not self.hidden  # nobody could tell whose companions are whose
        self.forget(lambda row: self.beside[row] in self.swept and row.key not in after[row.model])
        self.learn_companions(after)

    def learn_companions(self, after: Snapshot) -> None:
        """Those that were made, with somebody new or with somebody who was swept."""
        stand_ins = self.stand_ins
        known = {row for row in self.beside if row.gone is None}
        for model, (column, values) in self.companions.items():
            having = {self.beside[row] for row in known if row.model is model}
            taken = {row.key for row in self.rows[model]}
            for key, found in after[model].items():
                if found[column] in stand_ins - having and key not in taken:
                    self.check_companion(model, found, values)
                    row = Row(model, dict(found))
                    self.rows[model].append(row)
                    self.beside[row] = found[column]

    @staticmethod
    def check_companion(model: type[Model], found: Values, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            placeholder, field = as_placeholder(value), model._meta.get_field(name)
            assert found[field.attname] == placeholder.make(field, None), found

    # What a reveal does

    def reveal(self, person: Any, receipt: str, after: Snapshot, said: Said) -> tuple[set[tuple[Row, str]], set[Row]]:
        before = {value for _, value in super().in_use()} & self.stand_ins
        held, deferred = super().reveal(person, receipt, after, said)
        self.learn_companions(after)
        going = {key for key in before if self.person_of(key) == person} - {value for _, value in super().in_use()}
        kept = (*self.waiting.items(), *self.retained.items())
        going |= {key for key, receipts in kept if receipt in receipts}
        stay = self.let_go(person, receipt, going, after)
        if stay:
            self.outstanding[person].add(receipt)
        return held | {(row, "reference") for row in stay}, deferred

    def let_go(self, person: Any, receipt: str, going: set[Any], after: Snapshot) -> set[Row]:
        """These pseudoprincipals go, as far as nothing keeps them; returns the companions that cannot move."""
        for key in going:
            self.waiting.pop(key, None)
            self.retained.pop(key, None)
        stays = {key for key in going for row in self.companions_of(key) if self.attached_to(row, policy="retain")}
        self.retained |= {key: {receipt} for key in stays}
        going = going - stays
        # With a chunk of a disguise one may have gone before its owner does, or would have.
        early = {
            key: owner for key in going for owner in self.owners_among(key, going) if self.has_come(key, owner, after)
        }
        for key, owner in early.items():
            self.goes(key, owner, self.companions_of(key))
        going = going - early.keys()
        while True:
            owners = {key: self.owner_among(key, going) for key in going}
            waits = {
                key: own.gone.holders[person]
                for key in going
                for row in self.companions_of(key)
                if row.gone is None and self.attached_to(row)
                for own in [self.own(row.model, owners[key]) or self.own(self.principal, owners[key])]
                if own is not None and own.gone is not None
            }
            if not waits:
                break
            self.waiting |= waits
            going = going - waits.keys()
        beside = {key: self.companions_of(key) for key in going}
        stay: set[Row] = set()
        # Those first that may not be able to move.
        for model in sorted(self.companions, key=lambda model: model._meta.pk.name != self.link(model)):
            there = [row for key in going for row in beside[key] if row.model is model and row.gone is None]
            followed = [row for row in sorted(there, key=lambda row: row.key) if self.attached_to(row)]
            # Of several that may become the owner's: one of them, whichever it is.
            followed.sort(
                key=lambda row: after[model].get(row.key, {}).get(self.column(model)) != owners[self.beside[row]]
            )
            cannot: set[Any] = set()
            for row in followed:
                key = self.beside[row]
                moves_key = model._meta.pk.name == self.link(model)
                if owners[key] in cannot or (
                    self.own(model, owners[key]) is None
                    and moves_key
                    and any(other.gone is None for other, _ in self.attached_to(row))
                ):
                    cannot.add(owners[key])
                    stay.add(row)
                    self.waiting[key] = {receipt}
                    going = going - {key}
                else:
                    self.follow(row, owners[key])
        for key in sorted(going):
            self.goes(key, owners[key], beside[key])
        return stay

    def goes(self, key: Any, owner: Any, beside: Iterable[Row]) -> None:
        for row in beside:
            for other, _ in self.attached_to(row, policy="delete"):
                self.rows[other.model].remove(other)
            if row in self.beside and self.attached_to(row):
                self.follow(row, owner)
            if self.beside.get(row) == key:
                self.rows[row.model].remove(row)
                del self.beside[row]
        del self.owner_of[key]
        self.owner_of = {each: owner if whose == key else whose for each, whose in self.owner_of.items()}

    def has_come(self, key: Any, owner: Any, after: Snapshot) -> bool:
        """Whether what was attached to companions of one can be seen to be attached to those of the other."""
        theirs = {(row.model, row.key) for row in self.companions_of(owner)}
        return any(
            (row.model, after[other.model].get(other.key, {}).get(name)) in theirs
            for row in self.companions_of(key)
            for other, name in self.attached_to(row)
        )

    def follow(self, row: Row, owner: Any) -> None:
        """What is attached to a companion goes to what stands beside the owner, or along with the companion, which becomes theirs."""
        attached, own = self.attached_to(row), self.own(row.model, owner)
        if own is None:
            row.truth[self.column(row.model)] = owner
            own = row
            del self.beside[row]
            if owner in self.stand_ins:
                self.beside[row] = owner
            else:
                self.arrived.append(row)
        for other, name in attached:
            (column,) = (each for each in references_of(other.model) if each.attname == name)
            other.truth[name] = own.truth[column.target_field.attname]
            if owner not in self.stand_ins:
                self.arrived.append(other)

    def owner_among(self, key: Any, going: Set[Any]) -> Any:
        """Whom a pseudoprincipal stands for, once all of these are gone."""
        return self.owner_of[[key, *self.owners_among(key, going)][-1]]

    def owners_among(self, key: Any, going: Set[Any]) -> list[Any]:
        """Those of them for whom it stands, one for the other."""
        found = [key]
        while self.owner_of[found[-1]] in going:
            found.append(self.owner_of[found[-1]])
        return found[1:]

    def companions_of(self, key: Any) -> list[Row]:
        return [row for row, whose in self.beside.items() if whose == key]

    def own(self, model: type[Model], owner: Any) -> Row | None:
        """What stands beside somebody, or is their own row, if only under disguise."""
        name = self.column(model) if model is not self.principal else model._meta.pk.attname
        return next((row for row in self.rows[model] if row.truth[name] == owner), None)

    def column(self, model: type[Model]) -> str:
        return self.companions[model][0]

    def link(self, model: type[Model]) -> str:
        return self.column(model).removesuffix("_id")

    def sweep(self, gone: set[Any]) -> None:
        super().sweep(gone)
        self.swept |= gone
        self.forget(lambda row: self.beside[row] in gone)

    def forget(self, is_meant: Callable[[Row], bool]) -> None:
        """Of those that are there: what was beside somebody who is swept is made anew with them, if ever."""
        for row in [row for row in self.beside if row.gone is None and is_meant(row)]:
            self.rows[row.model].remove(row)
            del self.beside[row]


__all__ = ["Beside"]
