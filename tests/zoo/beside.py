"""An oracle that knows companions, too: the rows that are made beside each pseudoprincipal, and go with it.

A companion is there as long as its pseudoprincipal is. What becomes of it in between is that of any row of the pseudoprincipal's owner, as
far as a disguise takes their key. Once its pseudoprincipal is gone, so is it, with whatever was sealed of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from django.db.models import Model

from edna.placeholders import as_placeholder
from edna.spec import Pseudoprincipal
from tests.zoo.oracle import Effect, Oracle, Row, Snapshot, Values


class Beside(Oracle):
    #: How the pseudoprincipals of the habitat are filled.
    generator: ClassVar[type[Pseudoprincipal]]

    def __init__(self, principal: type[Model], models: Iterable[type[Model]]) -> None:
        super().__init__(principal, models)
        #: The primary key of the pseudoprincipal beside which a row was made.
        self.beside: dict[Row, Any] = {}
        #: Pseudoprincipals that were swept at one time: some have been made again, with others beside them.
        self.swept: set[Any] = set()

    @property
    def companions(self) -> Mapping[type[Model], tuple[str, Mapping[str, Any]]]:
        """Of each model, the column that names whom a row is beside, and what the specification puts into the others."""
        return {
            model: (next(iter(self.owner_columns(model))), values)
            for model, values in self.generator.companions.items()
            if values is not None
        }

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
        assert not self.hidden  # nobody could tell whose companions are whose
        stand_ins = {row.key for row in self.rows[self.principal] if row.stands_for is not None}
        self.forget(lambda row: self.beside[row] in self.swept and row.key not in after[row.model])
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
