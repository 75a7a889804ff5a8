"""Which functions bring sealed records forward past a migration that edna cannot read by itself.

Filled at start-up by ``@edna.record_migration``, in an application's ``disguises`` module or beside the migration itself. Knows
functions and names; never looks into a database, a bag, or Django's migrations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from edna.errors import SpecError
from edna.records.sealedrecord import SealedRecord

Function = TypeVar("Function", bound=Callable[[SealedRecord], object])


@dataclass(frozen=True)
class Rule:
    """One function for one migration; ``models`` are lower-case labels, None for all."""

    function: Callable[[SealedRecord], object]
    models: frozenset[str] | None

    def concerns(self, model: str) -> bool:
        return self.models is None or model in self.models

    def apply(self, record: SealedRecord) -> Iterator[SealedRecord]:
        """
        Raises:
            TypeError: the function returned something else than records. And whatever the function raises.
        """
        returned = self.function(record)
        # A forgotten `return` must not erase anybody's data: to keep nothing, a rule has to say so with ().
        if isinstance(returned, SealedRecord):
            yield returned
        elif isinstance(returned, Iterable):
            for each in returned:
                if isinstance(each, SealedRecord):
                    yield each
                elif each is not None:
                    raise TypeError("a record migration returns records")
        else:
            raise TypeError("a record migration returns a record, or several; () if nothing is to be kept")


_rules: dict[tuple[str, str], list[Rule]] = {}


def record_migration(
    app_label: str, migration: str, *, models: Sequence[str] | None = None
) -> Callable[[Function], Function]:
    """Decorator: says what a migration means for records that were sealed before it.

    The function gets a `SealedRecord` in the shape from before the migration, and returns it in the shape from after it; or
    several records; or ``()`` if nothing of it is to be kept. What Django's own operations in that migration say (renamed, added,
    removed columns) is done afterwards, unless the function has done it. ``models`` limits it to records of these models;
    with ``models=()`` it says that the migration concerns no record.

    Raises:
        SpecError: ``migration`` is no migration's name, or ``models`` are no labels.
    """
    if not isinstance(migration, str) or not migration or "." in migration or isinstance(models, str):
        raise SpecError(
            f'record_migration({app_label!r}, {migration!r}): name the migration as its file is called, without ".py", '
            'and the models as a list of labels such as ["shop.order"].'
        )
    labels = None if models is None else frozenset(label.lower() for label in models)
    if any("." not in label for label in labels or ()):
        raise SpecError(f'record_migration({app_label!r}, {migration!r}): write models as labels such as "shop.order".')

    def register(function: Function) -> Function:
        rules = _rules.setdefault((app_label, migration), [])
        # A module that is loaded again registers the same functions again.
        rules[:] = [rule for rule in rules if _source(rule.function) != _source(function)]
        rules.append(Rule(function, labels))
        return function

    return register


def _source(function: Callable[..., object]) -> tuple[str, str]:
    return getattr(function, "__module__", ""), getattr(function, "__qualname__", repr(function))


def rules_for(app_label: str, migration: str) -> Sequence[Rule]:
    """In the order in which they were registered."""
    return _rules.get((app_label, migration), ())


def named() -> list[tuple[str, str]]:
    """The migrations for which there is a function."""
    return sorted(_rules)


def unregister(app_label: str, migration: str) -> None:
    """Undo `record_migration`: for tests."""
    _rules.pop((app_label, migration), None)
