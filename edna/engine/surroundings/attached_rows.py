"""Rows that others have attached to companions of pseudoprincipals who may go: in tables, and in the person's bags.

Where the disguise says nothing, such a row follows: to what is beside the owner, or, if the owner has nothing there, along with the
companion, which becomes theirs. What is beside the owner may lie in another bag; then all of it waits for that. So does a row of which
everybody has one, and that a page has made: it is no companion, and becomes the owner's whether or not anything is attached to it.
Invariant (nothing lost): what is sealed follows as what is in a table does, in bags of the person by itself, in those of others by a
mention; and no bag names a row that has gone. Reads tables and opened records; writes into mentions alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from typing import Any

from django.db.models import ForeignKey, Model

from edna.companions import links_to
from edna.coverage import Relation, one_each, relations_to
from edna.db import rows as raw
from edna.db.rows import table_of
from edna.engine.bags.opened_bag import Opened, places_of
from edna.engine.bags.reader import Journal
from edna.engine.layers import mentions
from edna.engine.layers.aliases import Aliases
from edna.engine.pseudoprincipals import companions
from edna.engine.pseudoprincipals.companions import Known
from edna.records.diff import Removed, RowBatch

#: By the label of a model and a column there: what its values become, or which of them go.
Values = dict[str, dict[str, dict[Any, Any]]]

Link = ForeignKey[Any, Any]

#: What a disguise can say of a relation.
SAID = ("restore", "delete", "retain")


class Attached:
    """What is attached to companions of those with these raw primary keys, now. ``policy`` says what the disguise has for a relation."""

    def __init__(
        self,
        journal: Journal,
        model: type[Model],
        keys: Sequence[Any],
        aliases: Aliases,
        policy: Callable[[Relation], str],
        *,
        held: Opened,
        using: str,
    ) -> None:
        self._model, self._keys, self._journal, self._others = model, keys, journal, journal.others
        #: What stays in the revealed bag, and all bags with that.
        self.held, self.bags = held, [*journal.others, held]
        self._aliases, self._policy, self._using = aliases, policy, using
        #: Those first whose rows may not be able to move, as their keys are their owners'.
        self.links: list[Link] = sorted(links_to(model), key=lambda link: (not link.primary_key, str(link)))
        #: One-to-one relations that are no companions' and of which nothing is said, as far as any row of their tables is sealed.
        self.ones: list[Link] = list(self._one_to_one(model, self._sealed())) if keys else []
        self._there = companions.beside(model, keys, lock=True, using=using)
        self._made = {link: companions.rows_beside(link, keys, lock=True, using=using) for link in self.ones}
        #: By link and relation, to whose companions rows refer, be these in a table or sealed.
        self._by_relation = {
            link: companions.referred_to(link, there, lock=True, using=using) for link, there in self._there.items()
        }
        for link, there in self._there.items():
            for relation, values in self._sealed_mentions(link):
                target = relation.field.target_field.name
                if named := {key for key, known in there if known[target] in values}:
                    self._by_relation[link].setdefault(relation, set()).update(named)

    def _one_to_one(self, model: type[Model], sealed: Sequence[RowBatch]) -> Iterator[Link]:
        tables = {batch.model for batch in sealed if isinstance(batch, Removed)}
        for relation in relations_to(model) if tables else ():
            if table_of(relation.model).label not in tables or relation.field in self.links or relation.is_parent_link:
                continue
            if one_each(relation.field) and self._policy(relation) not in SAID:
                yield relation.field

    def following(self, link: Link) -> set[Any]:
        """Those to whose companions something is attached that follows; or who have a row of another such table, which does."""
        if link in self._made:
            return {key for key, _ in self._made[link]}
        found = self._with(link, lambda policy: policy not in ("delete", "retain"))
        if named := self._mentioned(link):
            name = table_of(link.model).key_names[0]
            found |= {key for key, known in self._there.get(link, ()) if known.get(name) in named}
        return found

    def retaining(self) -> set[Any]:
        """Those whom something keeps that is attached to their companions, be these sealed, too."""
        found = set().union(*(self._with(link, "retain".__eq__) for link in self._by_relation))
        for link in self.links:
            whose = {value: key for key in self._keys for value in self._names_of(link, {key: key})}
            for relation, values in self._sealed_mentions(link):
                if self._policy(relation) == "retain":
                    target = _place(relation)[2]
                    sealed = self._sealed_rows(link)
                    found |= {whose[value] for value, known in sealed if value in whose and known[target] in values}
        return found

    def _with(self, link: Link, is_meant: Callable[[str], bool]) -> set[Any]:
        found = self._by_relation.get(link, {})
        return set().union(*(keys for relation, keys in found.items() if is_meant(self._policy(relation))))

    def doomed(self, keys: Set[Any]) -> Iterator[tuple[Relation, dict[Any, Any]]]:
        """The relations whose rows are deleted along with companions of these, and by what such a row names whose companion."""
        for link, found in self._by_relation.items():
            for relation, whose in found.items():
                if self._policy(relation) == "delete":
                    target = relation.field.target_field.name
                    yield relation, {known[target]: key for key, known in self._there[link] if key in keys & whose}

    def away(self, link: Link, owners: Collection[Any], kept: Sequence[RowBatch]) -> dict[Any, Opened | None]:
        """Of these principals, those who have nothing of the kind while it lies in a bag, or they themselves do; in which, but for the
        revealed one, or earlier chunks, where it is ``kept``, and shared ones."""
        named = {value: key for key in owners for value in self._names_of(link, {key: key})}
        bags: list[tuple[Opened | None, Sequence[RowBatch]]] = [(None, kept)]
        bags += [(None if opened.shared else opened, opened.diffs) for opened in self._others]
        places = {value: opened for opened, batches in bags for value, _ in self._sealed_rows(link, batches)}
        people = {
            key: opened
            for opened, batches in bags
            for batch in batches
            if isinstance(batch, Removed) and batch.model == table_of(self._model).label
            for (key,) in batch.primary_keys()
        }
        sealed = [value for value, key in named.items() if value in places or key in people]
        there = (
            raw.held_values(table_of(link.model), link.name, sealed, lock=False, using=self._using) if sealed else set()
        )
        found = {named[value]: places[value] for value in sealed if value in places and value not in there}
        if link in self._made:
            return found  # without their account, a row is held, as any reference is
        return {**{named[value]: people[named[value]] for value in sealed if named[value] in people}, **found}

    # In bags

    def needed_where_they_go(self, owners: Mapping[Any, Any]) -> Iterator[tuple[Any, Opened]]:
        """Of those whose ``owners`` these are: whoever has a row in a bag that would be forgotten with them, as the policy of its relation
        is to delete, while something in a bag refers to it; and the bag that has it."""
        bags = [opened for opened in self.bags if not opened.shared]
        tables = {batch.model for opened in bags for batch in opened.diffs if isinstance(batch, Removed)}
        whose = {key: key for key in owners}
        going = [
            (relation, self._names_of(relation.field, whose))
            for relation in (relations_to(self._model) if tables else ())
            if table_of(relation.model).label in tables
            and relation.field not in self.links
            and self._policy(relation) == "delete"
        ]
        for link in self.links if tables else ():
            there = [(key, known) for key, known in self._there.get(link, ()) if key in owners]
            names = self._names_of(link, whose)
            there += [(names[value], known) for value, known in self._sealed_rows(link) if value in names]
            for relation in relations_to(link.model):
                if self._policy(relation) == "delete":
                    _, _, target = _place(relation)
                    going.append((relation, {known[target]: key for key, known in there}))
        for relation, named in going:
            label, name, _ = _place(relation)
            referring = [each for each in relations_to(relation.model) if not each.is_parent_link] if named else []
            for opened in bags if referring else ():
                for batch in (each for each in opened.diffs if each.model == label and isinstance(each, Removed)):
                    for row in batch.rows:
                        key = named.get(row[batch.columns.index(name)]) if name in batch.columns else None
                        if key is not None and any(self._is_named(each, batch, row) for each in referring):
                            yield key, opened

    def first_naming(self, opened: Opened, keys: Collection[Any], *, going: Collection[Any] = ()) -> Opened:
        """This bag, or of a disguise in chunks the first in which anything but the voices of those ``going`` names one of these, or what
        stands beside them: once they have gone, those of earlier chunks could not be rewritten any more."""
        before = self._journal.chunks_before(opened)
        if not before:
            return opened
        places = [
            (*_place(relation)[:2], known[_place(relation)[2]])
            for link, there in self._there.items()
            for whose, known in there
            if whose in keys
            for relation in relations_to(link.model)
        ]
        for relation in relations_to(self._model):
            label, name, _ = _place(relation)
            places += [(label, name, value) for value in self._aliases.owners(label, name, {key: key for key in keys})]
        bags = {each.locator: each for each in self.bags}
        for each in (bags[locator] for locator in before if locator in bags):
            voices = self._journal.current.speaks_for if each is self.held else each.speaks_for
            if any(voice.owner in keys and voice.principal not in going for voice in voices) or _has(each, places):
                return each
        return opened

    def _is_named(self, relation: Relation, batch: Removed, row: Sequence[Any]) -> bool:
        """Whether any sealed record names this sealed row by the relation."""
        label, name, target = _place(relation)
        return target in batch.columns and any(
            other[position] == row[batch.columns.index(target)]
            for each in self._sealed()
            if each.model == label
            for position, _ in places_of(each, {name})
            for other in each.rows
        )

    def follow(self, owners: Mapping[Any, Any], names: Values, doomed: Values) -> None:
        """Of those who go, whose ``owners`` these are: add to what bags are to name from now on what is attached to companions, and to what
        goes of them the companions that are sealed, but for those that become their owner's."""
        for link in (*self.links, *self.ones):
            whose = self._names_of(link, owners)
            now, staying = self._follow_sealed(link, whose)
            for relation in relations_to(link.model):
                label, name, target = _place(relation)
                if self._policy(relation) != "delete":
                    names.setdefault(label, {}).setdefault(name, {}).update(now.get(target, {}))
                    continue
                gone = [known for key, known in self._there.get(link, ()) if key in owners]
                keeps = staying if link in self._made else ()
                gone += [known for value, known in self._sealed_rows(link) if value in whose and value not in keeps]
                doomed.setdefault(label, {}).setdefault(name, {}).update((known[target], None) for known in gone)
            going = {value: owner for value, owner in whose.items() if value not in staying}
            doomed.setdefault(table_of(link.model).label, {})[link.name] = going

    def _follow_sealed(self, link: Link, owners: Mapping[Any, Any]) -> tuple[dict[str, dict[Any, Any]], set[Any]]:
        """By column of the companions' table, what names a sealed one of these and what it names from now on; and those whose companion
        becomes the owner's."""
        mentioned = [
            (_place(relation)[2], values)
            for relation, values in self._sealed_mentions(link)
            if self._policy(relation) != "delete"
        ]
        if named := self._mentioned(link):
            mentioned.append((table_of(link.model).key_names[0], named))
        all_of_them = link in self._made
        sealed = self._sealed_rows(link) if mentioned or all_of_them else []
        followed = [
            (value, known)
            for value, known in sealed
            if value in owners and (all_of_them or any(known[target] in values for target, values in mentioned))
        ]
        now: dict[str, dict[Any, Any]] = {}
        staying: set[Any] = set()
        own = self._own(link, {owners[value] for value, _ in followed}, sealed)
        for value, known in sorted(followed, key=operator.itemgetter(0)):
            owner = owners[value]
            heir = own.get(owner) if one_each(link) else None
            if heir is None:
                heir = own[owner] = {name: owner if name == link.name else part for name, part in known.items()}
                staying.add(value)
            for name, part in known.items():
                now.setdefault(name, {})[part] = heir[name]
        return now, staying

    def _own(self, link: Link, owners: set[Any], sealed: Sequence[tuple[Any, Known]]) -> dict[Any, Known]:
        """What is beside these owners, or will be."""
        own = {value: known for value, known in sealed if value in owners}
        table, names = table_of(link.model), companions.named_by(link)
        found = raw.read_where(table, (link.name, *names), link.name, list(owners), lock=False, using=self._using)
        return own | {value: dict(zip(names, known, strict=True)) for value, *known in found}

    def _mentioned(self, link: Link) -> set[Any]:
        """Companions that rows name which others have taken away with themselves."""
        label = table_of(link.model).label
        return {
            now
            for opened in self._others
            if opened.is_mention
            for batch in opened.mentions
            if batch.model == label
            for now in batch.names().values()
        }

    def follow_mentions(self, names: Values) -> None:
        """Let those name what stands beside the owner, as rows do by ``names``."""
        for link in self.links:
            now: dict[Any, Any] = {}
            for relation in relations_to(link.model):
                label, name, _ = _place(relation)
                if relation.field.target_field.primary_key:
                    now |= names.get(label, {}).get(name, {})
            for opened in (each for each in self._others if now and each.is_mention):
                mentions.follow(opened, now, label=table_of(link.model).label)

    def _sealed_mentions(self, link: Link) -> Iterator[tuple[Relation, set[Any]]]:
        """The relations to companions by which sealed records name any, and the values there."""
        for relation in relations_to(link.model):
            label, name, _ = _place(relation)
            values = {
                row[position]
                for opened in self.bags
                for batch in opened.diffs
                if batch.model == label
                for position, _ in places_of(batch, {name})
                for row in batch.rows
            }
            if values:
                yield relation, values

    def _sealed_rows(self, link: Link, batches: Sequence[RowBatch] | None = None) -> list[tuple[Any, Known]]:
        """Removed rows of the companions' table: by what each names whom it is beside, and what others may name it by."""
        label, names = table_of(link.model).label, (link.name, *companions.named_by(link))
        if batches is None:
            batches = self._sealed()
        rows = [
            [row[batch.columns.index(name)] for name in names]
            for batch in batches
            if batch.model == label and isinstance(batch, Removed) and {*names} <= {*batch.columns}
            for row in batch.rows
        ]
        return [(value, dict(zip(names[1:], known, strict=True))) for value, *known in rows]

    def _sealed(self) -> list[RowBatch]:
        return [batch for opened in self.bags for batch in opened.diffs]

    def _names_of(self, link: Link, owners: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """By what the link names them."""
        return self._aliases.owners(table_of(link.model).label, link.name, owners)


def _place(relation: Relation) -> tuple[str, str, str]:
    """The label and the column that refer, and the column referred to."""
    return table_of(relation.model).label, relation.field.name, relation.field.target_field.name


def _has(opened: Opened, places: Sequence[tuple[str, str, Any]]) -> bool:
    """Whether a record of the bag has one of these values, by label and column."""
    return any(
        row[position] == value
        for label, name, value in places
        for batch in opened.diffs
        if batch.model == label
        for position, _ in places_of(batch, {name})
        for row in batch.rows
    )


__all__ = ["Attached", "Values"]
