"""What everybody should see: a model in memory of rows, and of who has hidden what of them under which receipt.

A row has its *truth*: what it would be if nobody had ever disguised anything. Over each of its columns lie *layers*, one for
each record that replaced a value; the row may be *gone* under a record that removed it. What is visible is the topmost layer,
or the truth. A reveal takes the layers of one receipt away, wherever in the stack they lie: that is all that the order of
reveals should mean.

Which rows a disguise means is asked of Django with the specification's own paths and conditions; nothing here is edna's but
the specification and the names of the policies.
"""

from __future__ import annotations

import copy
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.contrib.contenttypes.fields import GenericForeignKey
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.models import SET_NULL, ForeignKey, GeneratedField, Model, Q, QuerySet

from edna import Reason
from edna.placeholders import Placeholder, as_placeholder
from edna.spec import ALL, Decorrelate, Disguise, Keep, Modify, Param, Remove
from edna.value_owners import About, ByElement, element_of, is_by_value, parsed

UNKNOWN: Final = object()

#: Whose layers and removals are of nobody who could reveal them.
APPLICATION: Final = "the application"

Values = dict[str, Any]
#: Model -> visible primary key -> column -> value.
Snapshot = dict[type[Model], dict[Any, Values]]


@dataclass(eq=False, repr=False)
class Gone:
    """Who can bring a removed row back, by which receipts. ``shared``: others who can, by the receipt that gave it to these
    pseudoprincipals of theirs. So it is with what was replaced when all had left."""

    holders: dict[Any, set[str]]
    shared: dict[Any, set[Any]] = field(default_factory=dict)
    #: Several principals owned the row, be they one person's pseudoprincipals.
    together: bool = False
    #: Receipts that gave such a pseudoprincipal, and that it was held under: the name is back, and the voice still theirs.
    held_under: set[str] = field(default_factory=set)
    #: By column, whom else it leads to, as the disguise says, and by which of their keys they can be found: what waits there is handed to
    #: them.
    others: dict[str, frozenset[tuple[Any, int]]] = field(default_factory=dict)

    def copy(self) -> Gone:
        others = dict(self.others)
        return Gone(_copied(self.holders), _copied(self.shared), self.together, set(self.held_under), others)

    def comes_back(self, person: Any, receipt: str, given: set[Any]) -> bool:
        """Whether the person brings it back by this receipt, whose pseudoprincipals are ``given``. Who has removed it themselves, as well,
        does so by taking that back, and not by the name of another."""
        if person in self.holders:
            return receipt in self.holders[person]
        return receipt in self.held_under or bool(self.shared.get(person, set()) & given)

    @property
    def people(self) -> Set[Any]:
        return self.holders.keys() | self.shared.keys()


@dataclass(eq=False, repr=False)
class Layer:
    """One record over one column: ``value`` stands where what is below it stood. ``receipts``: the bag that it is in, or those
    that it may have been moved to."""

    #: None where all had left.
    person: Any
    receipts: set[str]
    value: Any
    #: What the specification says about the value: a placeholder, or which rows get the same pseudoprincipal.
    placeholder: Placeholder | None = None
    group: Any = None
    #: Who is told that it lies over what they have put there, because the row names them.
    told: frozenset[Any] = frozenset()
    #: The others who owned the row then, by their own name: what is held for them is theirs to bring back.
    others: frozenset[Any] = frozenset()
    #: By which of their keys these can be found.
    found_by: frozenset[tuple[Any, int]] = frozenset()
    #: Whose value it replaced, whoever has it under disguise since.
    together: frozenset[Any] = frozenset()
    #: Where these stood: the paths to them.
    paths: tuple[Any, ...] = ()
    #: What a reveal does with rows that name it: the policy of the relation.
    policy: str = "restore"
    #: Whoever can take it away, if all had left: whichever of them comes back first.
    left: Gone | None = None

    @property
    def people(self) -> Set[Any]:
        """Who can open the record."""
        return {self.person} if self.left is None else self.left.people

    def __repr__(self) -> str:
        return f"<{[*self.left.holders] if self.left else self.person}: {self.value!r}>"


@dataclass(eq=False, repr=False)
class Row:
    model: type[Model]
    truth: Values
    layers: dict[str, list[Layer]] = field(default_factory=dict)
    gone: Gone | None = None
    #: The person that this row of the principal model is a placeholder for.
    stands_for: Any = None
    #: A pseudoprincipal that stays for good: something was left on it.
    retained: bool = False
    #: The receipts of disguises that found in it what they were going to put there.
    unchanged: set[str] = field(default_factory=set)
    #: The receipts of disguises that removed it together with somebody else: they point at it, whoever has brought it back since.
    pointed_at: set[str] = field(default_factory=set)

    def copy(self) -> Row:
        layers = {
            name: [replace(each, receipts=set(each.receipts), left=each.left and each.left.copy()) for each in stack]
            for name, stack in self.layers.items()
        }
        gone = self.gone and self.gone.copy()
        told = set(self.unchanged), set(self.pointed_at)
        return Row(self.model, dict(self.truth), layers, gone, self.stands_for, self.retained, *told)

    def value(self, name: str) -> Any:
        stack = self.layers.get(name)
        return stack[-1].value if stack else self.truth[name]

    def visible(self) -> Values:
        return {name: self.value(name) for name in self.truth}

    @property
    def key(self) -> Any:
        names = [each.attname for each in key_fields(self.model)]
        return self.value(names[0]) if len(names) == 1 else tuple(map(self.value, names))

    def all_layers(self) -> Iterator[tuple[str, Layer]]:
        return ((name, layer) for name, stack in self.layers.items() for layer in stack)

    def __repr__(self) -> str:
        return f"<{self.model.__name__} {self.key}{' gone' if self.gone else ''} {sorted(self.layers)}>"


@dataclass(frozen=True, eq=False)
class Effect:
    """What a disguise does to one row, for one target."""

    kind: str  # remove, empty, modify, decorrelate
    row: Row
    target: int
    columns: Mapping[str, Placeholder | None] = field(default_factory=dict)
    group: Any = None
    #: For a removal, and what goes when all have left: further targets, and persons whose pseudoprincipals own the row too.
    targets: tuple[int, ...] = ()
    shared: Mapping[Any, set[Any]] = field(default_factory=dict)
    on_paper: bool = False
    #: Of a modification: another one, for another of the row's owners, lies over it from the same moment.
    covered: bool = False
    #: Of a modification: the people whom the row names as owners.
    told: frozenset[Any] = frozenset()
    #: Those of them whom it names by their own name.
    natural: frozenset[Any] = frozenset()
    #: Where it names them.
    paths: tuple[Any, ...] = ()
    policies: Mapping[str, str] = field(default_factory=dict)
    #: Of a modification: what its placeholders may ask for of the person's own row.
    person: Mapping[str, Any] = field(default_factory=dict)
    #: Of a reference that is emptied: the row that it names, which goes.
    named: Row | None = None
    #: Of a removal: by column, the people to whom it leads, by their own name.
    owners: Mapping[str, set[Any]] = field(default_factory=dict)


#: A record that is not restored: its row, why in a word, the bags that it may be in, and what is in the way.
Waiting = tuple[Row, str, set[str], Callable[[], list[Row | None]]]

#: What an outcome says is held, by model and key: the reasons, with the field.
Said = Mapping[tuple[str, Any], Set[tuple[Reason, str | None]]]

#: What keeps back a removed row that others may bring back: somebody is away, or a row that it refers to.
WAITS: Final = frozenset({Reason.OWNER_AWAY, Reason.REFERENCE_MISSING})


# Models


def key_fields(model: type[Model]) -> list[Any]:
    return list(getattr(model._meta, "pk_fields", None) or [model._meta.pk])


def columns_of(model: type[Model]) -> list[Any]:
    """The columns of the model's own table that are not computed by the database."""
    return [each for each in model._meta.local_concrete_fields if not isinstance(each, GeneratedField)]


@functools.cache
def unique_columns(model: type[Model]) -> tuple[str, ...]:
    return tuple(each.attname for each in columns_of(model) if each.unique and not each.primary_key)


def references_of(model: type[Model]) -> list[Any]:
    return [each for each in columns_of(model) if isinstance(each, ForeignKey)]


@functools.cache
def _reading(model: type[Model]) -> tuple[list[str], list[int], Any, str, Any]:
    """How to read a table as the application sees it, worked out once: the machines do little else."""
    names = [each.attname for each in columns_of(model)]
    keys = [names.index(each.attname) for each in key_fields(model)]
    compiler = QuerySet(model).order_by().values_list(*names).query.get_compiler("default")
    sql, _ = compiler.as_sql()
    return names, keys, compiler, sql, compiler.get_converters([each for each, _, _ in compiler.select])


def snapshot(models: Iterable[type[Model]]) -> Snapshot:
    found: Snapshot = {}
    for model in models:
        names, keys, compiler, sql, converters = _reading(model)
        with connection.cursor() as cursor:
            cursor.execute(sql)
            read = cursor.fetchall()
        rows = found[model] = {}
        for row in compiler.apply_converters(read, converters) if converters else read:
            values = apart(model, dict(zip(names, row, strict=True)))
            rows[row[keys[0]] if len(keys) == 1 else tuple(row[i] for i in keys)] = values
    return found


def apart(model: type[Model], values: Values) -> Values:
    """With what is in documents as columns."""
    for name, keys in getattr(model, "documents", {}).items():
        document = values.pop(name)
        values |= {f"{name}__{key}": document[int(key) if key.isdecimal() else key] for key in keys}
    return values


def whole(model: type[Model], values: Values) -> Values:
    """With documents again."""
    for name, keys in getattr(model, "documents", {}).items():
        within = {key: values.pop(f"{name}__{key}") for key in keys}
        values[name] = list(within.values()) if keys[0].isdecimal() else within
    return values


def column_called(model: type[Model], name: str) -> Any:
    """The column, also of what is in its document."""
    return model._meta.get_field(name.partition("__")[0])


def _copied(sets: Mapping[Any, set[Any]]) -> dict[Any, set[Any]]:
    return {key: set(values) for key, values in sets.items()}


def bound(condition: Q, params: Mapping[str, Any]) -> Q:
    """The condition with values in place of its parameters."""
    copy = condition.copy()
    copy.children = [
        bound(child, params)
        if isinstance(child, Q)
        else (child[0], params[child[1].name] if isinstance(child[1], Param) else child[1])
        for child in condition.children
    ]
    return copy


class Oracle:
    def __init__(self, principal: type[Model], models: Iterable[type[Model]]) -> None:
        self.principal = principal
        self.models = tuple(models)
        self.rows: dict[type[Model], list[Row]] = {model: [] for model in self.models}
        owners = {
            model: {each.attname: each.target_field.attname for each in columns_of(model) if self.is_owner(each)}
            for model in self.models
        }
        self.owners = {model: columns for model, columns in owners.items() if columns}
        self.named_by = {target for columns in self.owners.values() for target in columns.values()}
        #: Receipts that are not revealed yet, by the person who can.
        self.outstanding: dict[Any, set[str]] = {}
        #: All receipts, oldest first.
        self.order: list[str] = []
        #: What was held for others, who may bring it back: a row, or a layer of one.
        self.handed: list[tuple[Row, str | None, Layer | None]] = []
        #: Pseudoprincipals whom rows named that were handed over, or whose names are back while something waits in their lists that all had
        #: left: they may stay as long as that waits for anybody, and no longer than to a sweep.
        self.lingering: set[Any] = set()
        #: Pseudoprincipals in removed rows: nobody outside can tell which is in which.
        self.hidden: set[Any] = set()
        #: The rows that the latest reveal was about; those of which it put something under a later disguise of the same person; and
        #: those of which it found a value that was the same before.
        self.due: set[Row] = set()
        #: What is away for good: somebody has given up what they had removed, or the application has deleted what others hid.
        self.lost: list[Row] = []
        #: Those that there are, where it is asked what somebody else may have done.
        self.disguises: tuple[type[Disguise], ...] = ()
        #: Whether anything was replaced when all had left, so that nobody has to look where nothing was.
        self.waits_for_all = False
        #: What a step that was matched last means of the row, if it is an element of a list.
        self._element: str | None = None
        self.idle: set[Row] = set()
        self.folded: set[Row] = set()
        #: What was held when it was tried last, rows and layers, and was handed to nobody: whoever tried it has to try again.
        self.alone: set[Row | Layer] = set()
        #: What the latest outcome said is held.
        self.said: Said = {}
        #: Who has a key, and how many they have had before.
        self.keys: dict[Any, int] = {}

    def copy(self) -> Oracle:
        """Another one that knows the same, for whoever goes on from here in several ways."""
        other = copy.copy(self)
        rows = {id(row): row.copy() for row in self.all_rows()}
        other.rows = {model: [rows[id(row)] for row in known] for model, known in self.rows.items()}
        other.handed = [
            (
                rows[id(row)],
                name,
                None if layer is None else rows[id(row)].layers[str(name)][row.layers[str(name)].index(layer)],
            )
            for row, name, layer in self.handed
        ]
        other.lingering = set(self.lingering)
        other.outstanding, other.order, other.hidden = _copied(self.outstanding), list(self.order), set(self.hidden)
        other.alone, other.keys = set(), dict(self.keys)
        return other

    # What is visible

    def all_rows(self) -> Iterator[Row]:
        return (row for rows in self.rows.values() for row in rows)

    def present(self, model: type[Model]) -> list[Row]:
        """The model's visible rows. A pseudoprincipal exists as long as it stands for somebody somewhere."""
        model = model._meta.concrete_model  # type: ignore[assignment]
        rows = [row for row in self.rows[model] if row.gone is None]
        if model is not self.principal:
            return rows
        used = self.in_use()
        return [
            row
            for row in rows
            if row.stands_for is None or row.retained or any((name, row.truth[name]) in used for name in self.named_by)
        ]

    def in_use(self) -> set[tuple[str, Any]]:
        """What names pseudoprincipals, or waits for them: their columns that are referred to, with the values there."""
        used = {
            (target, layer.value)
            for model, columns in self.owners.items()
            for row in self.rows[model]
            for name, target in columns.items()
            for layer in row.layers.get(name, ())
        }
        if not self.waits_for_all:
            return used
        # Whatever the row names by now.
        pk = self.principal._meta.pk.attname
        waiting = (layer.left for row in self.all_rows() for _, layer in row.all_layers() if layer.left)
        return used | {(pk, key) for left in waiting for keys in left.shared.values() for key in keys}

    def owner_columns(self, model: type[Model]) -> dict[str, str]:
        """Columns that refer to principals, and the columns of the principal that they refer to."""
        return self.owners.get(model, {})

    def is_owner(self, column: Any) -> bool:
        related = column.related_model if isinstance(column, ForeignKey) else None
        return related is not None and related._meta.concrete_model is self.principal

    def expected(self) -> Snapshot:
        return {model: {row.key: row.visible() for row in self.present(model)} for model in self.models}

    def unknown(self) -> int:
        """How many pseudoprincipals nobody has seen yet, because the rows that name them are gone."""
        layers = (layer for row in self.all_rows() for _, layer in row.all_layers())
        return sum(layer.value is UNKNOWN and layer.placeholder is None for layer in layers)

    def person_of(self, key: Any) -> Any:
        """The person behind a principal's primary key, None where there is no such row."""
        for row in self.rows[self.principal]:
            if row.truth[self.principal._meta.pk.attname] == key:
                return key if row.stands_for is None else row.stands_for
        return None

    @property
    def stand_ins(self) -> set[Any]:
        return {row.key for row in self.rows[self.principal] if row.stands_for is not None}

    def pseudoprincipals_of(self, person: Any) -> set[Any]:
        name = self.principal._meta.pk.attname
        return {row.truth[name] for row in self.present(self.principal) if row.stands_for == person}

    def sweep(self, gone: set[Any]) -> None:
        """These pseudoprincipals are swept: nobody needs them, as far as anybody can see."""
        self.lingering -= gone

    # What the application does

    def adopt(self, after: Snapshot, changed: Mapping[Row, Iterable[str]] | None = None) -> None:
        """The application has made rows, or changed columns of rows: that is the truth now."""
        for model, rows in after.items():
            expected = {row.key for row in self.present(model)}
            for key, values in rows.items():
                if key not in expected and key not in self.hidden:
                    self.rows[model].append(Row(model, dict(values)))
        for row, names in (changed or {}).items():
            now = after[row.model][row.key]
            for name in names:
                assert not row.layers.get(name)
                row.truth[name] = now[name]

    def is_free(self, row: Row) -> bool:
        """Nothing is hidden of the row, and no other row refers to it, neither visibly nor in truth."""
        if row.gone or any(row.layers.values()):
            return False
        for other in self.all_rows():
            for reference in (each for each in columns_of(other.model) if isinstance(each, ForeignKey)):
                if reference.related_model._meta.concrete_model is row.model:
                    value = row.truth[reference.target_field.attname]
                    if value in (other.truth[reference.attname], other.value(reference.attname)):
                        return False
        return True

    # What a disguise does

    # The model says in one place what a disguise does, in the order in which steps act.
    def predict(  # noqa: C901
        self, disguise: type[Disguise], params: Mapping[str, Any], targets: list[set[Any]]
    ) -> list[Effect]:
        """``targets``: the primary keys that each principal to disguise stands for."""
        who = {key: number for number, keys in enumerate(targets) for key in keys}
        removals: dict[Row, Effect] = {}
        stays: list[Effect] = []
        changes: list[Effect] = []
        listed: dict[tuple[Row, int], frozenset[Any]] = {}
        for step in disguise.steps():
            if isinstance(step, Remove):
                for row, target, holders in self.matched(step, params, who):
                    if row not in removals and not any(each.row is row for each in stays):
                        effects = self.removal(step, row, target, holders, who)
                        removals.update((row, each) for each in effects if each.kind == "remove")
                        stays += [each for each in effects if each.kind != "remove"]
                        stays += [Effect("stays", row, target)]
        self.add_families(removals)
        for relation, target_model in set_null_relations(disguise):
            for row in self.present(relation.model):
                value = row.value(relation.attname)
                for gone in removals.values():
                    named = gone.row.model is target_model and gone.row.value(relation.target_field.attname) == value
                    if named and value is not None and row not in removals:
                        changes.append(Effect("empty", row, gone.target, {relation.attname: None}, named=gone.row))
        changes += [each for each in stays if each.kind != "stays"]
        for step in disguise.steps():
            if isinstance(step, Remove):
                continue
            for row, target, holders in self.matched(step, params, who):
                going = removals.get(row)
                if isinstance(step, Modify) and step.waits_for_all:
                    changes += self.when_all_left(step, row, holders, who, going)
                    continue
                alone = going is not None and not going.shared and len(going.targets) == 1
                if alone and self.removes_account(disguise):
                    continue
                if going and not alone and not isinstance(step, Modify):
                    continue
                if isinstance(step, Modify):
                    named = {
                        name: name if "__" in name else row.model._meta.get_field(name).attname for name in step.set
                    }
                    columns = {self._element or named[name]: as_placeholder(value) for name, value in step.set.items()}
                    told = frozenset(map(self.person_of, holders))
                    # Of an element nobody else has anything, but they may bring back the row.
                    natural = self.removers(disguise, row, params)
                    if self._element is None:
                        natural |= told & ({*holders} - {None})
                    elif any(isinstance(each, Remove) and each.model is row.model for each in disguise.steps()):
                        # Whatever of the row waits is theirs to bring back.
                        listed[row, target] = self.listed(element_of(step.owners), row)
                    # Others can bring back a row that goes, and see no more of it than if it had stayed.
                    change = Effect("modify", row, target, columns, on_paper=bool(going), told=told, natural=natural)
                    change = replace(change, paths=tuple(step.owners))
                    # Where it depends on who it is, each of several is asked for.
                    each = any(placeholder.person for placeholder in columns.values()) or self.names_stay(
                        disguise, step
                    )
                    meant = [*dict.fromkeys(who[holder] for holder in holders if holder in who)] if each else [target]
                    # Of a row that goes with one alone, what is the others' is changed before.
                    meant = [one for one in meant if not (alone and going and one == going.target)]
                    last = meant[-1] if meant and not alone else None
                    changes += [
                        replace(change, target=one, person=self.own_row(targets[one]), covered=one != last)
                        for one in meant
                    ]
                elif going is None:
                    changes.append(self.decorrelation(step, row, target, holders))
                elif target != going.target and self.follows_by_mention(step, row):
                    changes.append(replace(self.decorrelation(step, row, target, holders), on_paper=True))
        changes = [
            replace(each, natural=each.natural | listed.get((each.row, each.target), frozenset()))
            if each.kind == "modify"
            else each
            for each in changes
        ]
        owners = self.owners_of(disguise, params, removals)
        for each in changes:
            if each.kind == "decorrelate" and each.on_paper and each.row in owners:
                owners[each.row] = {name: whom for name, whom in owners[each.row].items() if name not in each.columns}
        removals = {row: replace(each, owners=owners.get(row, {})) for row, each in removals.items()}
        policies = {label.lower(): policy for label, policy in disguise.references.items()}
        return [replace(each, policies=policies) for each in (*changes, *removals.values())]

    def removes_account(self, disguise: type[Disguise]) -> bool:
        return any(isinstance(each, Remove) and each.model is self.principal for each in disguise.steps())

    def follows_by_mention(self, step: Decorrelate, row: Row) -> bool:
        """Whether a name in a row that is gone can follow whoever stands for the person: by their primary key, outside the row's own."""
        column = row.model._meta.get_field(step.column)
        return column.target_field.primary_key and column not in key_fields(row.model)

    def names_stay(self, disguise: type[Disguise], step: Modify) -> bool:
        """Whether accounts stay, and a row of several owners names one of them afterwards, or goes with one."""
        if len(step.owners) < 2 or self.removes_account(disguise):
            return False
        taken: set[str] = set()
        for each in disguise.steps():
            if each.model is not step.model:
                continue
            if isinstance(each, Remove) and len(each.owners) == 1:
                return True
            if isinstance(each, Decorrelate):
                taken.add(each.column)
            elif isinstance(each, Modify) and not each.waits_for_all:
                taken.update(each.set)
        return not taken.issuperset(step.owners)

    def own_row(self, keys: Set[Any]) -> Values:
        """The row of the person who stands for these keys, before anything is changed."""
        rows = [row for row in self.present(self.principal) if row.key in keys]
        return next((row for row in rows if row.stands_for is None), rows[0]).visible() if rows else {}

    def owners_of(
        self, disguise: type[Disguise], params: Mapping[str, Any], rows: Mapping[Row, Effect]
    ) -> dict[Row, dict[str, set[Any]]]:
        """Of rows that go: whom the disguise leads to over each of their columns, where it does by several ways."""
        found: dict[Row, dict[str, set[Any]]] = {}
        everybody = {row.key: 0 for row in self.present(self.principal)}
        ways: dict[type[Model], set[Any]] = {}
        for step in disguise.steps():
            ways.setdefault(step.model, set()).update(step.owners)
        several = [
            step for step in disguise.steps() if len(ways[step.model]) > 1 and not any(map(is_by_value, step.owners))
        ]
        for step in several if rows else ():
            for row, _, holders in self.matched(step, params, everybody):
                for path, whom in zip(step.owners, holders, strict=True) if row in rows else ():
                    if whom is not None and self.person_of(whom) == whom:
                        column = row.model._meta.get_field(path.partition("__")[0]).attname
                        found.setdefault(row, {}).setdefault(column, set()).add(whom)
        return found

    def removers(self, disguise: type[Disguise], row: Row, params: Mapping[str, Any]) -> frozenset[Any]:
        """Whom the row names, by their own name, of those with whom the disguise would remove it: as it says, only if it means the row."""
        steps = (each for each in disguise.steps() if isinstance(each, Remove) and each.model is row.model)
        owners = [
            owner for step in steps for owner in step.owners if step.where is None or self.means(step, params, row)
        ]
        named = {row.value(row.model._meta.get_field(owner).attname) for owner in owners if "__" not in owner}
        return frozenset(key for key in named if self.person_of(key) == key)

    @staticmethod
    def means(step: Remove, params: Mapping[str, Any], row: Row) -> bool:
        """Whether the row, which is there, meets the condition."""
        assert step.where is not None
        return QuerySet(step.model).filter(bound(step.where, params), pk=row.key).exists()

    def listed(self, element: ByElement | None, row: Row) -> frozenset[Any]:
        """Who is named in the list, and may be who brings the row back with which their element waits."""
        assert element is not None
        places = row.model.documents[element.column]  # type: ignore[attr-defined]
        named = {row.value(f"{element.column}__{place}") for place in places}
        return frozenset(each.key for each in self.present(self.principal) if each.value(element.theirs) in named)

    def add_families(self, removals: dict[Row, Effect]) -> None:
        """Rows of several tables that are one object go together."""
        links = [
            (model, column)
            for model in self.models
            for column in columns_of(model)
            if isinstance(column, ForeignKey) and column.remote_field.parent_link
        ]
        waiting = list(removals.values())
        while waiting:
            effect = waiting.pop()
            for child, link in links:
                parent = link.related_model
                if effect.row.model is child:
                    found = [row for row in self.present(parent) if row.key == effect.row.value(link.attname)]
                elif effect.row.model is parent:
                    found = [row for row in self.present(child) if row.value(link.attname) == effect.row.key]
                else:
                    continue
                for row in found:
                    if row not in removals:
                        removals[row] = replace(effect, row=row)
                        waiting.append(removals[row])

    def matched(
        self, step: Any, params: Mapping[str, Any], who: Mapping[Any, int]
    ) -> Iterator[tuple[Row, int, list[Any]]]:
        """Rows that the step means, the first owner that is meant, and all owners in the order of the paths."""
        if any(map(is_by_value, step.owners)):
            yield from self._matched_by_value(step, who)
            return
        paths = [f"{path}__pk" for path in step.owners] or ["pk"]
        query = QuerySet(step.model)
        if step.where is not None:
            query = query.filter(bound(step.where, params))
        mine = functools.reduce(operator.or_, (Q(**{f"{path}__in": list(who)}) for path in paths))
        groups = step.group_paths if isinstance(step, Decorrelate) else ()
        seen: set[Row] = set()
        by_key = {row.key: row for row in self.present(step.model)}
        for found in query.filter(mine).order_by("pk").values_list("pk", *paths, *groups):
            row = by_key[found[0]]
            holders = list(found[1 : len(paths) + 1])
            if row not in seen:
                seen.add(row)
                target = next(who[holder] for holder in holders if holder in who)
                self._groups = found[len(paths) + 1 :]
                yield row, target, holders

    def _matched_by_value(self, step: Any, who: Mapping[Any, int]) -> Iterator[tuple[Row, int, list[Any]]]:
        """Whoever has now what the row says."""
        ((_, match),) = map(parsed, step.owners)
        if isinstance(match, About):
            yield from self._matched_by_type(step, who)
            return
        theirs = {tuple(row.value(name) for _, name in match.pairs): row.key for row in self.present(self.principal)}
        for row in sorted(self.present(step.model), key=lambda row: row.key):
            holder = theirs.get(tuple(row.value(name) for name, _ in match.pairs))
            if holder in who:
                self._groups = ()
                yield row, who[holder], [holder]

    def _matched_by_type(self, step: Any, who: Mapping[Any, int]) -> Iterator[tuple[Row, int, list[Any]]]:
        """Whoever is there now with the number that the row says."""
        (key,) = (each for each in step.model._meta.private_fields if isinstance(each, GenericForeignKey))
        kind = ContentType.objects.get_for_model(self.principal).pk
        there = {row.key for row in self.present(self.principal)}
        for row in sorted(self.present(step.model), key=lambda row: row.key):
            holder = row.value(key.fk_field)
            if row.value(f"{key.ct_field}_id") == kind and holder in there and holder in who:
                self._groups = ()
                yield row, who[holder], [holder]

    def removal(self, step: Remove, row: Row, target: int, holders: list[Any], who: Mapping[Any, int]) -> list[Effect]:
        if len(step.owners) < 2:
            return [Effect("remove", row, target, targets=(target,))]
        natural, targets, shared = self.divided(holders, who)
        mine = [(path, holder) for path, holder in zip(step.owners, holders, strict=True) if holder in who]
        alone = not natural and not shared and len(targets) == 1
        effects = []
        for path, holder in mine:
            # Others can bring a row back that goes: what it says of an owner is that owner's to give back.
            if "__" not in path and not alone:
                name = row.model._meta.get_field(path).attname
                effects.append(Effect("decorrelate", row, who[holder], {name: None}, object(), on_paper=not natural))
        if not natural:
            effects.append(Effect("remove", row, target, targets=targets, shared=shared))
        return effects

    def divided(
        self, holders: Iterable[Any], who: Mapping[Any, int]
    ) -> tuple[list[Row], tuple[int, ...], dict[Any, set[Any]]]:
        """Of a row's owners: the others who are there by their own name, the targets, and the pseudoprincipals of others."""
        rows = {each.truth[self.principal._meta.pk.attname]: each for each in self.present(self.principal)}
        others = [rows[holder] for holder in holders if holder not in who and holder in rows]
        shared: dict[Any, set[Any]] = {}
        for each in others:
            if each.stands_for is not None:
                shared.setdefault(each.stands_for, set()).add(each.key)
        natural = [each for each in others if each.stands_for is None]
        return natural, tuple(dict.fromkeys(who[holder] for holder in holders if holder in who)), shared

    def when_all_left(
        self, step: Modify, row: Row, holders: list[Any], who: Mapping[Any, int], going: Effect | None
    ) -> list[Effect]:
        """Nothing while anybody is there; nothing either if the row goes with one of them alone, or with the same people."""
        natural, targets, shared = self.divided(holders, who)
        alone = going is not None and not going.shared and len(going.targets) == 1
        if natural or alone or (going and ({*going.targets}, going.shared) == ({*targets}, shared)):
            return []
        columns = {row.model._meta.get_field(name).attname: as_placeholder(value) for name, value in step.set.items()}
        return [Effect("modify", row, targets[0], columns, targets=targets, shared=shared, on_paper=going is not None)]

    def decorrelation(self, step: Decorrelate, row: Row, target: int, holders: list[Any]) -> Effect:
        name = row.model._meta.get_field(step.column).attname
        # Steps of one word share pseudoprincipals.
        word = step.together or id(step)
        if step.group_by is ALL:
            group: Any = ("all", word)
        else:
            group = ("by", word, *self._groups) if step.group_paths else ("row", word, row)
        return Effect("decorrelate", row, target, {name: None}, (target, holders[0], group))

    def apply(self, effects: Iterable[Effect], receipts: list[str], persons: list[Any], after: Snapshot) -> None:
        """The disguise has run: ``receipts`` and natural ``persons`` by target. Learn what nobody could predict."""
        new: list[tuple[Row, str, Layer]] = []
        for effect in effects:
            person, receipt = persons[effect.target], receipts[effect.target]
            going = effect.row if effect.kind == "remove" else effect.named
            if going is not None and going.stands_for is not None and going.key in after[self.principal]:
                continue  # spared: others, or records of its own, need it; nobody can tell which from outside
            if effect.kind == "remove":
                assert effect.row.gone is None
                effect.row.gone = gone = self.gone(effect, receipts, persons)
                for name, whom in effect.owners.items():
                    gone.others[name] = self.keys_of(whom - {person})
                if gone.together:
                    effect.row.pointed_at |= set().union(*gone.holders.values())
                continue
            left = self.gone(effect, receipts, persons)
            for name, placeholder in effect.columns.items():
                layer = Layer(person, {receipt}, None if effect.kind == "empty" else UNKNOWN, placeholder, effect.group)
                if placeholder is not None and placeholder.reads_original:
                    layer.value = self.derived(effect, name, placeholder)
                elif placeholder is not None and (effect.on_paper or effect.covered):
                    assert placeholder.name in ("constant", "null") or effect.covered  # nobody sees it yet
                    if placeholder.name in ("constant", "null"):
                        layer.value = placeholder.make(column_called(effect.row.model, name), None)
                layer.told = layer.together = effect.told
                layer.paths = effect.paths
                layer.others = effect.natural - {person}
                layer.found_by = self.keys_of(layer.others)
                if left.together:
                    layer.person, layer.receipts, layer.left = None, set().union(*left.holders.values()), left
                    self.waits_for_all = True
                field = column_called(effect.row.model, name).name
                layer.policy = effect.policies.get(f"{effect.row.model._meta.label_lower}.{field}", "restore")
                effect.row.layers.setdefault(name, []).append(layer)
                if placeholder is not None and layer.value is not UNKNOWN and not effect.on_paper:
                    self.forget_what_nobody_can_tell(effect.row, name)
                if layer.value is UNKNOWN:
                    new.append((effect.row, name, layer))
        for person, receipt in zip(persons, receipts, strict=True):
            self.outstanding.setdefault(person, set()).add(receipt)
            self.order.append(receipt)
        self.learn(after)

    @staticmethod
    def derived(effect: Effect, name: str, placeholder: Placeholder) -> Any:
        """What the developer's function makes of what stands there now."""
        now = effect.row.value(name)
        return placeholder.make(
            column_called(effect.row.model, name), (now, effect.person) if placeholder.person else now
        )

    @staticmethod
    def forget_what_nobody_can_tell(row: Row, name: str) -> None:
        """Somebody else had put the very same there, and nobody could tell them."""
        stack = row.layers[name]
        if len(stack) > 1:
            layer, below = stack[-1], stack[-2]
            if below.value == layer.value and not below.people & {*layer.people, *layer.together}:
                stack.pop()
                row.unchanged |= layer.receipts

    @staticmethod
    def gone(effect: Effect, receipts: list[str], persons: list[Any]) -> Gone:
        holders: dict[Any, set[str]] = {}
        for target in effect.targets:
            holders.setdefault(persons[target], set()).add(receipts[target])
        return Gone(holders, dict(effect.shared), bool(effect.shared) or len(effect.targets) > 1)

    def learn(self, after: Snapshot) -> None:
        """Values that were drawn at random, and pseudoprincipals, as soon as they can be seen."""
        pk = self.principal._meta.pk.attname
        known = {row.truth[pk] for row in self.rows[self.principal]}
        fresh = {key: values for key, values in after[self.principal].items() if key not in known}
        by_group: dict[Any, Any] = {}
        for model in self.models:
            for row in self.rows[model]:
                for name, stack in row.layers.items():
                    layer = stack[-1] if stack else None
                    if layer is None or layer.value is not UNKNOWN or row.gone is not None:
                        continue
                    key = self._key_without(row, name)
                    value = next((v[name] for k, v in after[model].items() if key(k, v)), UNKNOWN)
                    assert value is not UNKNOWN, f"{row.model.__name__}.{name}: the row is not there"
                    layer.value = value
                    if layer.placeholder is not None:
                        self.check_placeholder(row, name, layer)
                        self.forget_what_nobody_can_tell(row, name)
                        continue
                    # A pseudoprincipal: a new one for each group, and no two groups share one.
                    target = self.owner_columns(model)[name]
                    made = [each for each in fresh.values() if each[target] == value]
                    assert made, f"{row!r}.{name} was not re-pointed to a new pseudoprincipal: {value}"
                    assert by_group.setdefault(("group", layer.group), value) == value, f"{row!r}.{name}: another group"
                    assert by_group.setdefault(("value", value), layer.group) == layer.group, f"{row!r}.{name}: shared"
                    if all(each.truth[pk] != made[0][pk] for each in self.rows[self.principal]):
                        self.rows[self.principal].append(Row(self.principal, made[0], stands_for=layer.person))
        # Whoever was made for a row that is gone cannot be told from the others.
        self.hidden = {key for key in fresh if all(row.truth[pk] != key for row in self.rows[self.principal])}

    @staticmethod
    def _key_without(row: Row, name: str) -> Callable[[Any, Values], bool]:
        """Finds the row in a snapshot, although its key may have changed together with ``name``."""
        names = [each.attname for each in key_fields(row.model)]
        if name not in names:
            key = row.key
            return lambda k, v: k == key
        others = {each: row.value(each) for each in names if each != name}
        return lambda k, v: bool(others) and all(v[each] == value for each, value in others.items())

    def check_placeholder(self, row: Row, name: str, layer: Layer) -> None:
        column = column_called(row.model, name)
        placeholder = layer.placeholder
        assert placeholder is not None
        if placeholder.name in ("constant", "null", "blank"):
            assert layer.value == placeholder.make(column, None), f"{row!r}.{name}: {layer.value!r}"
        elif placeholder.unique:
            others = [each.value(name) for each in self.rows[row.model] if each is not row]
            assert layer.value not in others
            assert layer.value != row.truth[name]

    # What a reveal does

    def reveal(self, person: Any, receipt: str, after: Snapshot, said: Said) -> tuple[set[tuple[Row, str]], set[Row]]:
        """Take away what lay under the receipt; ``said`` is what the outcome said is held, and why.

        Returns what other people stand in the way of (with a word why), and the rows of which something waits for another
        disguise of the same person.
        """
        self.said = said
        layers = {
            (row, name, layer)
            for row in self.all_rows()
            for name, layer in row.all_layers()
            if layer.person == person and receipt in layer.receipts
        }
        for row, name, layer in list(layers):
            if len(layer.receipts) > 1 and self._stands(row, name, layer, after):
                # It had been moved into one of several bags, and it was not this one.
                layer.receipts.discard(receipt)
                layers.discard((row, name, layer))
        given = {layer.value for row, name, layer in layers if name in self.owner_columns(row.model)}
        layers |= {
            (row, name, layer)
            for row in self.all_rows()
            for name, layer in row.all_layers()
            if layer.left and layer.left.comes_back(person, receipt, given)
        }
        pending = {row for row in self.all_rows() if row.gone and row.gone.comes_back(person, receipt, given)}
        found = {row for row, _, _ in layers} | pending
        self.idle = {row for row in self.all_rows() if receipt in row.unchanged} - found
        self.due = found | self.idle
        self.folded = set()
        while True:
            # What was handed over may come along: it waits for what comes now, which may wait for it.
            along = {row for row, _, layer in self.handed if layer is None and row.key in after[row.model]} - pending
            back = self._can_return(person, pending | {row for row in along if row.gone})
            for row in back:
                self._is_there(row, by_others=row not in pending)
            pending -= back
            done = {each for each in self._newest_first(layers) if self._take_away(person, *each, after)}
            layers -= done
            if not back and not done:
                break
        held: set[tuple[Row, str]] = set()
        deferred: set[Row] = set()
        waiting: list[Waiting] = []
        final: set[Layer] = set()
        for row in pending:
            holders = row.gone.holders.get(person, {receipt})  # type: ignore[union-attr]
            waiting.append((row, "reference", holders, lambda row=row: self._missing_of(person, row) or [None]))
        for row, name, layer in layers:
            covered = row.layers[name][-1] is not layer
            if self._told_of_more(person, row, name, layer):
                held.add((row, "away"))
            elif row.gone is not None and self._is_handed(layer) and (row.model._meta.label_lower, row.key) in said:
                # Others have it as well, and it is not put past what of theirs may lie on top of it: then it waits where it is.
                held.add((row, "row"))
            elif row.gone is not None and not covered:
                receipts = {receipt} if layer.left else layer.receipts
                waiting.append((row, "row", receipts, functools.partial(list, [row])))
            elif covered and self._waits_below(row, name, layer, said):
                held.add((row, "away"))
            elif covered:
                # By others; if the row is gone, too, it will not be as this record left it when it is back.
                held.add((row, "changed" if row.gone is None else "row"))
                final |= {layer} if row.gone is None else set()
            else:
                missing = functools.partial(self._in_the_way, person, row, name, self._below(row, name, layer))
                waiting.append((row, "reference", layer.receipts, missing))
        # What waits for something that waits for another disguise waits for that disguise, too.
        while moved := [each for each in waiting if self._defer(person, receipt, each, said)]:
            deferred |= {each[0] for each in moved}
            self._forget_others(person, moved)
            waiting = [each for each in waiting if each not in moved]
        held |= {(row, why) for row, why, receipts, _ in waiting if receipts == {receipt}}
        if not held:
            self.outstanding[person].discard(receipt)
        # Their voices have moved with their records.
        moved_on = {
            layer.value
            for row, name, layer in layers
            if name in self.owner_columns(row.model) and receipt not in layer.receipts
        }
        for _, _, layer in layers:
            if layer.left:
                mine = layer.left.shared.get(person, set()) & given
                if not mine or mine - moved_on:
                    layer.left.held_under.add(receipt)
                self.lingering |= mine
        self._note_alone(person, held, pending, layers)
        with_others = {row for row in pending if self._is_with_others(row, said)}
        self._hand_over({row for row, _ in held}, with_others, {each for each in layers if each[2] not in final})
        for row, _, layer in layers:
            # Whoever wants it back has it under disguise no longer, but for what waits here for somebody who is away.
            if (row, "away") not in held or self._is_handed(layer):
                layer.told = frozenset()
        self._bring_back(person, after)
        return held, deferred

    def _newest_first(self, layers: set[tuple[Row, str, Layer]]) -> list[tuple[Row, str, Layer]]:
        """From the top: what lies there and changed nothing goes, and what it lies on waits, not the other way round."""
        place = {row: number for number, row in enumerate(self.all_rows())}
        return sorted(layers, key=lambda each: (place[each[0]], each[1], -each[0].layers[each[1]].index(each[2])))

    def can_be_given_up(self, person: Any, receipt: str, row: Row, whys: Set[str]) -> bool:
        """Of a row that is held: not what others hold as well, nor what is theirs to bring back."""
        mine = [layer for _, layer in row.all_layers() if layer.person == person and receipt in layer.receipts]
        removed = row.gone is not None and receipt in row.gone.holders.get(person, ())
        together = row.gone is not None and row.gone.together
        if "away" in whys or (removed and together) or not (removed or mine):
            return False
        for _, layer in row.all_layers():
            # Of a row all or nothing, and what was changed when all had left is others' as well.
            if layer.left and (receipt in layer.left.held_under or receipt in layer.left.holders.get(person, ())):
                return False
        # What others have written over stays so, whoever comes back.
        others = {other for layer in mine for other in layer.others} if whys - {"changed"} else set()
        if removed:
            others |= {row.value(name) for name in self.owner_columns(row.model)}
        others -= {None, person}
        there = {each.key for each in self.present(self.principal)}
        return others <= there and not others & self.who_may_remove(row)

    def who_may_remove(self, row: Row) -> set[Any]:
        """Those of its owners who might have removed the row, and kept their account."""
        steps = (
            step
            for disguise in self.disguises
            if not any(each.model is self.principal and isinstance(each, Remove) for each in disguise.steps())
            for step in disguise.steps()
        )
        paths = {path for step in steps if isinstance(step, Remove) and step.model is row.model for path in step.owners}
        return {self.true_owner(row, path) for path in paths}

    def true_owner(self, row: Row, path: str) -> Any:
        """Whom the path leads to, if nobody had ever disguised anything."""
        first, _, rest = path.partition("__")
        column = row.model._meta.get_field(first)
        value = row.truth[column.attname]
        if not rest:
            return value
        target = column.target_field.attname
        return self.true_owner(
            next(each for each in self.rows[column.related_model] if each.truth[target] == value), rest
        )

    def give_up(self, person: Any, receipt: str, rows: set[Row], *, complete: bool) -> None:
        """What others did of these rows stands: what is away is nobody's to bring back, and what stays is the application's."""
        for row in rows:
            if row.gone and receipt in row.gone.holders.get(person, ()):
                self.lost.append(row)
                row.gone = Gone({APPLICATION: set()})  # that is what it is for whoever has changed it
                self.handed = [each for each in self.handed if each[0] is not row or each[2]]
                if not any(layer.people - {person} for _, layer in row.all_layers()):
                    self.rows[row.model].remove(row)
            for name, stack in row.layers.items():
                for layer in [each for each in stack if each.person == person and receipt in each.receipts]:
                    self.handed = [each for each in self.handed if each[2] is not layer]
                    place, is_owner = stack.index(layer), name in self.owner_columns(row.model)
                    if is_owner and row.gone and APPLICATION in row.gone.holders:
                        stack.remove(layer)  # nothing is there that would name anybody
                        continue
                    # Nobody stands for anybody any more where somebody else's name has come.
                    renamed = is_owner and layer is not stack[-1]
                    value = stack[place + 1].value if renamed else layer.value
                    stack[place] = Layer(APPLICATION, set(), value, None if is_owner else layer.placeholder)
        if complete:
            self.outstanding[person].discard(receipt)

    @staticmethod
    def _forget_others(person: Any, moved: Iterable[Waiting]) -> None:
        """What moves into the bag of another disguise leaves behind who else owned it."""
        for row, _, receipts, _ in moved:
            if row.gone is not None and receipts is row.gone.holders.get(person):
                row.gone.others = {}
            for _, layer in row.all_layers():
                if receipts is layer.receipts:
                    layer.found_by = frozenset()

    def _waits_below(self, row: Row, name: str, layer: Layer, said: Said) -> bool:
        """Whether a change is said to wait for somebody else, and lies below what was handed over: then it is handed to them as well."""
        stack = row.layers[name]
        reasons = said.get((row.model._meta.label_lower, row.key), ())
        return (
            row.gone is None
            and any(map(self._is_handed, stack[stack.index(layer) + 1 :]))
            and any(reason is Reason.OWNER_AWAY for reason, _ in reasons)
        )

    def _note_alone(
        self, person: Any, held: set[tuple[Row, str]], pending: set[Row], layers: set[tuple[Row, str, Layer]]
    ) -> None:
        """Of what is held: what nobody else is handed, who could bring it back."""
        whys: dict[Row, set[str]] = {}
        for row, why in held:
            whys.setdefault(row, set()).add(why)
        for row in pending & whys.keys():
            assert row.gone is not None
            waits = [
                each
                for each in references_of(row.model)
                if self._missing(person, row, each.attname, row.value(each.attname))
            ]
            found = [any(map(self._can_be_found, row.gone.others.get(each.attname, ()))) for each in waits]
            self.alone -= {row}
            if (
                row.gone.together
                or self._taken(row)
                or not all(found)
                or len(self._missing_of(person, row)) > len(found)
            ):
                self.alone.add(row)
        for row, name, layer in layers:
            handed = (
                name not in self.owner_columns(row.model)
                and layer.left is None
                and whys.get(row, set()) <= {"row", "away"}
            )
            self.alone -= {layer}
            if row in whys and not (handed and any(map(self._can_be_found, layer.found_by))):
                self.alone.add(layer)

    def keys_of(self, people: Iterable[Any]) -> frozenset[tuple[Any, int]]:
        """Those of them who have a key, and which."""
        return frozenset((each, self.keys[each]) for each in people if each in self.keys)

    def _can_be_found(self, other: tuple[Any, int]) -> bool:
        """Somebody who owned a row: by the key that they had then, or as their account is there."""
        whom, key = other
        rows = [row for row in self.rows[self.principal] if row.truth[self.principal._meta.pk.attname] == whom]
        return self.keys.get(whom) == key or (whom in self.keys and rows[0].gone is None)

    def not_back(self) -> Iterator[tuple[Row, str | None, Layer | None]]:
        """What is left of anybody's though nothing is in its way any more: removed rows, and changes. Not what its owner alone could have
        brought back, and tried before."""
        for row in self.all_rows():
            if row.gone is not None and row.gone.people & self.keys.keys():
                people = row.gone.people
                if (
                    row not in self.alone
                    and not self._taken(row)
                    and not any(self._missing_of(each, row) for each in people)
                ):
                    yield row, None, None
            for name, layer in row.all_layers():
                people = layer.people & self.keys.keys()
                if (
                    people
                    and row.stands_for is None
                    and layer not in self.alone
                    and not self._is_in_the_way(row, name, layer)
                ):
                    yield row, name, layer

    def _is_in_the_way(self, row: Row, name: str, layer: Layer) -> bool:
        """Whether anything is in the way of a change."""
        if row.gone is not None or row.layers[name][-1] is not layer:
            return True
        below = self._below(row, name, layer)
        others = self.present(row.model) if name in unique_columns(row.model) else []
        return any(other is not row and other.value(name) == below for other in others) or any(
            self._missing(each, row, name, below) or self._told_of_more(each, row, name, layer) for each in layer.people
        )

    def _is_with_others(self, row: Row, said: Said) -> bool:
        """Of a removed row that is held: whether others have it, too, or are handed it. Those are to whom what it waits for leads; where
        nobody is, it stays with who has removed it, and what they take back of it goes into that record."""
        assert row.gone is not None
        columns = {name for reason, name in said.get((row.model._meta.label_lower, row.key), ()) if reason in WAITS}
        found = [
            other
            for name, others in row.gone.others.items()
            if None in columns or row.model._meta.get_field(name).name in columns
            for other in others
        ]
        return row.gone.together or any(map(self._can_be_found, found))

    def _hand_over(self, held: set[Row], pending: set[Row], layers: set[tuple[Row, str, Layer]]) -> None:
        """Note what others may bring back from now on: what of these rows was held."""
        handed = [(row, None, None) for row in pending & held]
        handed += [
            (row, name, layer)
            for row, name, layer in layers
            if row in held and layer.others and name not in self.owner_columns(row.model)
        ]
        self.handed += handed
        for row in {row for row, _, _ in handed}:
            self.lingering |= {row.value(name) for name in self.owner_columns(row.model)} & self.stand_ins

    def _bring_back(self, person: Any, after: Snapshot) -> None:
        """What was handed over, and can be seen to be back: nobody foretells when, but never while anything is in its way."""
        while True:
            back = [each for each in self.handed if self._is_back(person, *each, after)]
            if not back:
                break
            self.handed = [each for each in self.handed if each not in back]
        self.handed = [
            (row, name, layer)
            for row, name, layer in self.handed
            if (row.gone if layer is None else layer in row.layers.get(str(name), ()))
        ]

    def _is_back(self, person: Any, row: Row, name: str | None, layer: Layer | None, after: Snapshot) -> bool:
        found = after[row.model].get(row.key)
        if layer is None:
            if row.gone is None or found is None or self.missing(row) or self._taken(row):
                return False
            self._is_there(row, by_others=True)
            return True
        stack = row.layers.get(str(name), [])
        if row.gone is not None or found is None or not stack or stack[-1] is not layer:
            return False
        for lower in reversed(stack):
            if not self._is_handed(lower):
                return False
            below = self._below(row, str(name), lower)
            if found[str(name)] == below or (below is UNKNOWN and found[str(name)] != layer.value):
                break  # what was drawn beneath it is seen for the first time
            if found[str(name)] == layer.value and not self._comes_unseen(person, row, str(name), layer):
                return False  # nothing can be seen to be back
        else:
            return False
        # Several come back at once: what lies between is never seen.
        for each in stack[stack.index(lower) :]:
            row.pointed_at |= each.receipts
        del stack[stack.index(lower) :]
        return True

    def _comes_unseen(self, person: Any, row: Row, name: str, layer: Layer) -> bool:
        """Whether several come back at once, with the same constant below them as on top: the one who reveals was handed all of them."""
        stack, below = row.layers[name], []
        for each in reversed(stack):
            if not self._is_handed(each) or person not in each.others:
                break
            below.append(self._below(row, name, each))
        return layer.value in below and not self._is_in_the_way(row, name, layer)

    @staticmethod
    def _is_there(row: Row, *, by_others: bool) -> None:
        assert row.gone is not None
        if by_others:
            row.pointed_at |= set().union(*row.gone.holders.values())
        row.gone = None

    def _is_handed(self, layer: Layer) -> bool:
        return any(each is layer for _, _, each in self.handed)

    @staticmethod
    def _seen(row: Row, after: Snapshot) -> Values:
        return after[row.model].get(row.key, {})

    def _told_of_more(self, person: Any, row: Row, name: str, layer: Layer) -> bool:
        """Whether somebody who owns the row, too, has it under disguise as well, since; or, of what was handed over, has their name."""
        stack = row.layers[name]
        since = [
            over
            for named, column in self._places_of_names(row, layer.paths)
            for over in named.layers.get(column, ())[-1:]
            if over.person in layer.together - {layer.person} and self._when(over) > self._when(layer)
        ]
        if since and row.gone is None and self._is_handed(layer):
            return True
        above = stack[stack.index(layer) + 1 :]
        return any(each.person != person and person in each.told for each in above)

    def _places_of_names(self, row: Row, paths: Iterable[Any]) -> Iterator[tuple[Row, str]]:
        """The rows and columns that name its owners now: its own, and those at the ends of paths over other rows."""
        for column in self.owner_columns(row.model):
            yield row, column
        for path in (each for each in paths if "__" in each):
            way, _, last = path.rpartition("__")
            if (at := self._along(row, way.split("__"))) is not None:
                yield at, at.model._meta.get_field(last).attname

    def _along(self, row: Row, way: Iterable[str]) -> Row | None:
        """The row to which foreign keys lead now, if it is there."""
        for name in way:
            column: Any = row.model._meta.get_field(name)
            there = self.present(column.related_model) if isinstance(column, ForeignKey) else ()
            found = next((each for each in there if each.key == row.value(column.attname)), None)
            if found is None:
                return None
            row = found
        return row

    def _when(self, layer: Layer) -> int:
        return min((self.order.index(receipt) for receipt in layer.receipts), default=-1)

    def missing(self, row: Row) -> list[Row | None]:
        """What a row refers to by a constraint and that is not there."""
        return [
            blocker
            for each in references_of(row.model)
            if each.db_constraint
            for blocker in self._missing(None, row, each.attname, row.value(each.attname))
            if blocker is not row  # it comes with what refers to it
        ]

    def _stands(self, row: Row, name: str, layer: Layer, after: Snapshot) -> bool:
        """Whether the layer is still there, as far as can be seen."""
        found = after[row.model].get(row.key)
        if found is not None:
            return bool(found[name] == layer.value)
        target = self.owner_columns(row.model).get(name)
        return target is not None and any(each[target] == layer.value for each in after[self.principal].values())

    def _defer(self, person: Any, receipt: str, waiting: Waiting, said: Said) -> bool:
        """Whether other disguises of the same person are in the way; then it is theirs from now on. Where other people are, too,
        or it was handed over to them, it may be either."""
        row, _, receipts, blockers = waiting
        own: set[str] = set()
        others = any(of is row and layer is None for of, _, layer in self.handed)
        for blocker in blockers():
            if blocker is None or blocker.gone is None or person not in blocker.gone.holders:
                others = True
            else:
                own |= blocker.gone.holders[person]
                # Nothing moves into a bag for several; and what waits here as well may wait for others.
                others |= blocker.gone.together or blocker.gone.holders[person] == {receipt}
        if not own - {receipt} or (others and (row.model._meta.label_lower, row.key) in said):
            return False
        receipts.clear()
        receipts |= own - {receipt}
        return True

    def _can_return(self, person: Any, pending: set[Row]) -> set[Row]:
        """Of removed rows, those whose references will all point at something, counting the others that return."""
        back = set(pending)
        while True:
            stay = {
                row
                for row in back
                if self._taken(row) or any(blocker not in back for blocker in self._missing_of(person, row))
            }
            if not stay:
                return back
            back -= stay

    def _taken(self, row: Row) -> bool:
        """Whether another row has the row's primary key, or a value that only one may have."""
        return any(
            other is not row and (other.key == row.key or any(other.value(name) == row.value(name) for name in names))
            for names in [unique_columns(row.model)]
            for other in self.present(row.model)
        )

    def _missing_of(self, person: Any, row: Row) -> list[Row | None]:
        missing = [
            blocker
            for each in references_of(row.model)
            for blocker in self._missing(person, row, each.attname, row.value(each.attname))
        ]
        for key in (each for each in row.model._meta.private_fields if isinstance(each, GenericForeignKey)):
            # As without a constraint: it may point at nothing, but waits for what the same person has taken away.
            target = ContentType.objects.get_for_id(row.value(f"{key.ct_field}_id")).model_class()
            for other in self.rows[target]:
                if other.key == row.value(key.fk_field) and other.gone and person in other.gone.holders:
                    missing.append(other)
        return missing

    def _missing(self, person: Any, row: Row, name: str, value: Any) -> list[Row | None]:
        """The row that ``value`` of a column would refer to and that is not there (None where nothing is known of it)."""
        column = next((each for each in columns_of(row.model) if each.attname == name), None)
        if value is None or value is UNKNOWN or not isinstance(column, ForeignKey):
            return []
        target = column.target_field.attname
        model = column.related_model._meta.concrete_model
        if model not in self.rows:
            return []
        rows = [each for each in self.rows[model] if value in (each.value(target), each.truth[target])]
        if any(each.gone is None and each.value(target) == value for each in rows):
            return []
        if not column.db_constraint:
            # It may point at nothing; but not at somebody whose own account is still under the same person's disguise.
            return [each for each in rows if each.gone and person in each.gone.holders]
        return list(rows) or [None]

    def _in_the_way(self, person: Any, row: Row, name: str, value: Any) -> list[Row | None]:
        return self._missing(person, row, name, value) or [None]

    @staticmethod
    def _below(row: Row, name: str, layer: Layer) -> Any:
        stack = row.layers[name]
        position = stack.index(layer)
        return stack[position - 1].value if position else row.truth[name]

    def _is_mentioned(self, person: Any, row: Row, name: str, layer: Layer) -> bool:
        """Whether somebody else has taken the row along as it names this person's pseudoprincipal: then the name follows."""
        assert row.gone is not None
        target = self.owner_columns(row.model).get(name)
        known = {*row.gone.holders, *row.gone.shared}
        strangers = person not in known and APPLICATION not in known and layer.value is not None
        return strangers and target == self.principal._meta.pk.attname and layer.policy == "restore"

    def _take_away(self, person: Any, row: Row, name: str, layer: Layer, after: Snapshot) -> bool:
        """Restore the value below, or fold the record into what covers it; whether that was possible."""
        stack = row.layers[name]
        self._rise(person, row, name, layer)
        position = stack.index(layer)
        if layer.value == self._below(row, name, layer):
            stack.remove(layer)  # it changed nothing, whatever has become of the row
            self.idle.add(row)
            return True
        if self._told_of_more(person, row, name, layer):
            return False
        if position + 1 < len(stack):
            above = stack[position + 1 :]
            if all(map(self._is_handed, above)) and row.gone is None:
                # What was handed over came back first, in passing; and after this, perhaps, what was handed over and lies beneath.
                seen = self._seen(row, after).get(name)
                beneath = itertools.takewhile(self._is_handed, reversed(stack[:position]))
                lowest = next((each for each in (layer, *beneath) if seen == self._below(row, name, each)), None)
                # The same constant may stand on top still: then the outcome says so.
                waits = seen == stack[-1].value and (row.model._meta.label_lower, row.key) in self.said
                if lowest is not None and not waits:
                    came_back = stack[stack.index(lowest) :]
                    row.pointed_at |= set().union(*(each.receipts for each in came_back if each is not layer))
                    del stack[stack.index(lowest) :]
                    return True
            # What was handed over is others', too, and goes into nothing that all had left.
            into_others = self._is_handed(layer) and above[0].left is not None
            apart = self._is_handed(above[0]) and above[0].value != layer.value
            if person in above[0].people and not apart and not into_others:
                stack.remove(layer)
                self.folded.add(row)
                return True
            return row.gone is None and self._same_constant_twice(stack, layer, self._below(row, name, layer))
        if row.gone is not None:
            if any(each is row and over is None for each, _, over in self.handed):
                return False  # whoever brings it back has not opened this
            alone = not row.gone.together
            mine = person in row.gone.people
            if mine:
                self.folded.add(row)
            if (alone and mine) or (mine and name not in self.owner_columns(row.model)):
                stack.remove(layer)
                return True
            if self._is_mentioned(person, row, name, layer):
                stack.remove(layer)
                return True
            if person in row.gone.holders:
                # Somebody else may bring the row back while this person's removal lasts, and must not see a name.
                layer.receipts = set(row.gone.holders[person])
                return True
            return False
        below = self._below(row, name, layer)
        if self._missing(person, row, name, below):
            return False
        others = self.present(row.model) if name in unique_columns(row.model) else []
        if any(other is not row and other.value(name) == below for other in others):
            return False
        stack.remove(layer)
        return True

    def _rise(self, person: Any, row: Row, name: str, layer: Layer) -> None:
        """Above those that found nothing to change, of others who had no need to tell: they might as well lie below it."""
        stack = row.layers[name]
        for each in stack[stack.index(layer) + 1 :]:
            nothing = each.value == layer.value and each.placeholder is not None and each.placeholder.reads_original
            if not nothing or person in {*each.people, *each.told} or self._is_handed(each):
                break
            each.value = self._below(row, name, layer)
            stack.remove(each)
            stack.insert(stack.index(layer), each)

    def _same_constant_twice(self, stack: list[Layer], layer: Layer, below: Any) -> bool:
        """Others have changed the value, and somebody whom the row did not let tell has put this very constant over that: nobody can tell
        it from one's own, and the old value comes back. It stands in the way of whoever came later, as a write of the application."""
        above = stack[stack.index(layer) + 1 :]
        if stack[-1].value != layer.value or any(layer.people & {*each.people, *each.told} for each in above):
            return False
        if any(map(self._is_handed, above)):
            return False  # that goes first
        stack.remove(layer)
        stack.append(Layer(APPLICATION, set(), below))
        return True


def set_null_relations(disguise: type[Disguise]) -> list[tuple[Any, type[Model]]]:
    """Foreign keys that empty themselves when what they point at is removed, and that no step deals with."""
    from django.apps import apps

    removed = {step.model: step for step in disguise.steps() if isinstance(step, Remove)}
    kept = {(step.model, step.field) for step in disguise.transformations if isinstance(step, Keep)}
    found = []
    for model in apps.get_app_config("zoo").get_models(include_auto_created=True):
        for column in columns_of(model) if not model._meta.proxy else ():
            if not isinstance(column, ForeignKey) or column.remote_field.on_delete is not SET_NULL:
                continue
            target = column.related_model._meta.concrete_model
            covered = any(
                step.model is model
                and (not isinstance(step, Modify) or column.name in step.set)
                and step.where is None
                and any(owner.split("__")[0] == column.name for owner in step.owners)
                for step in disguise.steps()
            )
            if target in removed and not covered and (model, column.name) not in kept:
                found.append((column, target))
    return found
