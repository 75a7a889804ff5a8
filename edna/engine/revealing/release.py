"""Lets go of pseudoprincipals whose disguise is undone: fixes what refers to them, wherever it is, and deletes them.

What refers to one is in tables (rows that came to it since the disguise: the reference policy decides), in bags of the same
principal, what stays in the revealed one among them (the value becomes that of whom it stood for), and in bags that were sealed to it
(they become bags of the one who speaks for it). Invariant: nothing dangles, neither now nor in a later reveal; a pseudoprincipal that
anything still needs stays.
A little long: who goes, who stays and who stays without a voice is decided of the same references.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.apps import apps
from django.db.models import Model

from edna import coverage, signals, store
from edna.companions import links_to
from edna.coverage import relations_to
from edna.db import rows as raw
from edna.db.rows import Row, Table, table_of
from edna.engine.bags.opened_bag import Opened, places_of, pointing_at
from edna.engine.bags.reader import Journal
from edna.engine.graph.outcome import fits
from edna.engine.graph.references import reference_of
from edna.engine.layers import mentions
from edna.engine.layers.aliases import Aliases
from edna.engine.layers.journal_forwarding import mentioned_by_stuck
from edna.engine.pseudoprincipals import companions
from edna.engine.pseudoprincipals.orphans import generically_referred
from edna.engine.revealing.incoming_references import policies_of, reference_policy, settle
from edna.engine.revealing.progress import LetGo, Listing, Progress
from edna.engine.surroundings.attached_rows import Attached, Values
from edna.records.diff import Changed, Decorrelated, Removed, RowBatch
from edna.records.locator import Locator
from edna.records.speaksfor import SpeaksFor


def let_go(journal: Journal, progress: Progress, *, using: str) -> LetGo:
    """Let go of the revealed bag's pseudoprincipals, as far as nothing needs them."""
    current = journal.current
    if not current.speaks_for:
        return LetGo([], set(), [])
    model: type[Model] = apps.get_model(current.head.principal_model)
    people = {key for voice in current.speaks_for for key in (voice.principal, voice.owner)}
    aliases = Aliases(model, people, journal.others, using=using)
    free, named_again, adopted = _candidates(journal, progress, aliases, model)
    policy = functools.partial(reference_policy, current.head.disguise)
    held = _what_stays(current, progress)
    attached = Attached(journal, model, list(free), aliases, policy, held=held, using=using)
    adopted += _wait_for_own(journal, attached, progress, free, named_again)
    owners = _owners({**named_again, **free})
    for opened in journal.others if named_again else ():
        # Whoever else brings a row back finds the name there, although what all had left of it has still to wait.
        mentions.follow(opened, {key: owners[key] for key in named_again}, label=table_of(model).label)
    staying = _generically_referred(model, free, using=using)
    went = not staying and _have_gone(model, free, current.head.disguise, using=using)
    left = set() if went else _settle(journal, model, free, owners, aliases, attached, progress, staying, using=using)
    kept = {key: free.pop(key) for key in left if key in free}
    silent = _silenced(journal, model, kept, aliases, attached)
    adopted += _wait_in_earlier_chunks(journal, attached, free, owners)
    moved = {bytes(voice.public_key) for opened in journal.others for voice in opened.speaks_for}
    let_go_of = {*free, *silent}
    remaining = [
        voice
        for voice in current.speaks_for
        if voice.principal not in let_go_of and bytes(voice.public_key) not in moved
    ]
    adopted += _adopt(journal, model, list(silent.values()), owners)
    if not free:
        return LetGo(remaining, set(), adopted)
    for label, rows in companions.remove(model, list(free), progress.news, using=using).items():
        progress.deleted.setdefault(label, set()).update(rows)
    gone_to = {q: owners[q] for q in free}
    _rewrite(journal, model, gone_to, aliases, attached, progress)
    progress.kept = list(held.diffs)
    remaining = [voice._replace(owner=gone_to.get(voice.owner, voice.owner)) for voice in remaining]
    adopted += _adopt(journal, model, list(free.values()), owners)
    if not went:
        raw.delete(table_of(model), [(key,) for key in free], using=using)
    progress.news.note(signals.rows_removed, table_of(model), table_of(model).key_names, [(key,) for key in free])
    gone = [holder.entry for holder in map(journal.holder_of, free.values()) if holder]
    store.delete_entries(gone, using=using)
    return LetGo(remaining, {entry.public_key for entry in gone}, adopted)


def look_at_incoming(journal: Journal, progress: Progress, *, using: str) -> None:
    """Say what came to pseudoprincipals, and could not go to whom they stand for: `let_go` without writing. Not of companions, nor of
    anybody whose account is not here."""
    current = journal.current
    if not current.speaks_for:
        return
    model: type[Model] = apps.get_model(current.head.principal_model)
    people = {key for voice in current.speaks_for for key in (voice.principal, voice.owner)}
    aliases = Aliases(model, people, journal.others, using=using)
    free, *_ = _candidates(journal, progress, aliases, model)
    table, owners = table_of(model), _owners(free)
    here = {
        row[0]
        for row in raw.read(table, table.key_names, [(key,) for key in {*owners.values()}], lock=False, using=using)
    }
    free = {key: voice for key, voice in free.items() if owners[key] in here}
    beside = links_to(model)
    for relation in _referring(model, free, owners, aliases, lock=False, using=using) if free else ():
        if relation.field not in beside:
            whom = aliases.owners(table_of(relation.model).label, relation.field.name, {q: owners[q] for q in free})
            settle(current.head.disguise, relation, whom, progress, using=using)


def _what_stays(current: Opened, progress: Progress) -> Opened:
    """The revealed bag with what is held of it alone."""
    held = Opened(current.locator, [replace(current.head, batches=())], holder=current.holder)
    held.add(*progress.kept)
    return held


def _settle(
    journal: Journal,
    model: type[Model],
    free: dict[Any, SpeaksFor],
    owners: Mapping[Any, Any],
    aliases: Aliases,
    attached: Attached,
    progress: Progress,
    staying: set[Any],
    *,
    using: str,
) -> set[Any]:
    """Deal with every row that refers to one of those who are ``free``, and leave there those who may go: none of those ``staying``.
    Returns with whom rows stay that were given up."""
    name, order = journal.current.head.disguise, {link: place for place, link in enumerate(attached.links, start=1)}
    referring = _referring(model, free, owners, aliases, using=using)
    left: set[Any] = set()
    # Companions last: none goes while anything else may yet keep its pseudoprincipal. Of these, those first that may not be able to move.
    for relation in sorted(relations_to(model), key=lambda each: order.get(each.field, 0)):
        if relation.field in order:
            _take_out(free, staying)
        if not free:
            break
        whom = {q: owners[q] for q in free}
        retained = reference_policy(name, relation) == "retain"
        if relation.field in order and not retained:
            # One that holds nothing but what is specified goes with its pseudoprincipal.
            following = attached.following(relation.field)
            whom = {q: owner for q, owner in whom.items() if q in following and q not in left}
        values = aliases.owners(table_of(relation.model).label, relation.field.name, whom)
        needed = settle(name, relation, values, progress, using=using) if relation in referring and values else set()
        if retained:
            needed |= _sealed_mentions(relation, attached.bags, values)
        for key in aliases.keys(relation, needed):
            free.pop(key, None)
        left.update(aliases.keys(relation, progress.left_with.get(relation.label, ())))
    _take_out(free, staying)
    for relation, whose in attached.doomed(free.keys() - left):
        for value in settle(name, relation, whose, progress, using=using):
            free.pop(whose[value], None)
    return left


def _take_out(free: dict[Any, SpeaksFor], staying: set[Any]) -> None:
    for key in staying:
        free.pop(key, None)


def _generically_referred(model: type[Model], free: Mapping[Any, SpeaksFor], *, using: str) -> set[Any]:
    """Those at which a generic key points: no policy says where it would go, and nothing would refuse the deletion. So it stays, with
    its voice, and whoever disguises with the key finds what is about it."""
    by_reference = {reference_of(model, key): key for key in free}
    referred = generically_referred(model, set(by_reference), using=using) if by_reference else set()
    return {by_reference[reference] for reference in referred}


def _wait_for_own(
    journal: Journal,
    attached: Attached,
    progress: Progress,
    free: dict[Any, SpeaksFor],
    named_again: Mapping[Any, SpeaksFor],
) -> list[Listing]:
    """Take out of ``free`` those to whose companions something is attached that follows the owner, while what is beside the owner lies in
    another bag: they go when that is back, and their voices wait there. So do those who have a row of which everybody has one, while the
    owner's lies there: it would be in the way; and those who have one there that would be deleted, while something refers to it. And those
    whom something keeps that is attached."""
    adopted: list[Listing] = []
    for key in attached.retaining():
        free.pop(key, None)
    for key, needing in list(attached.needed_where_they_go(_owners({**named_again, **free}))):
        if key in free:
            adopted += _wait_in(attached.first_naming(needing, [key]), free.pop(key), journal, attached)
    followed = {link: attached.following(link) for link in (*attached.links, *attached.ones)}
    people = {voice.owner for voice in free.values()}
    kept = [*attached.held.diffs, *(journal.earlier() if any(followed.values()) else ())]
    away = {link: attached.away(link, people, kept) for link, keys in followed.items() if keys}
    # By what stays in the revealed bag first, then by the oldest: of a disguise in chunks, that is the one that is revealed last.
    order = {opened: place for place, opened in enumerate((attached.held, *journal.others, None))}
    waits = True
    while waits:
        owners, waits = _owners({**named_again, **free}), False
        for key in list(free):
            bags = [
                places[owners[key]] for link, places in away.items() if key in followed[link] and owners[key] in places
            ]
            if bags:
                voice, opened, waits = free.pop(key), min(bags, key=order.__getitem__), True
                if opened is not None:
                    opened = attached.first_naming(opened, [key])
                    adopted += _wait_in(opened, voice, journal, attached)
                if opened in (None, attached.held) and None in bags:
                    progress.outcome.postponed = journal.partly
    return adopted


def _wait_in(opened: Opened, voice: SpeaksFor, journal: Journal, attached: Attached) -> list[Listing]:
    """The voice waits with what this bag has; where that is what stays in the revealed one, it is there already."""
    if opened is attached.held:
        return []
    opened.add_voice(voice, unlisted=journal.current.unlisted)
    return _take_over(journal, opened)


def _wait_in_earlier_chunks(
    journal: Journal, attached: Attached, free: Mapping[Any, SpeaksFor], owners: Mapping[Any, Any]
) -> list[Listing]:
    """The voices of those for whom the revealed bag's stand are in no later chunk than whatever names them, or will: what names those who
    are ``free`` names their owners once they have gone, and who waits for an earlier chunk stands for somebody there."""
    adopted: list[Listing] = []
    followed: dict[Any, set[Any]] = {}
    for voice in journal.current.speaks_for:
        goes = voice.principal in free
        owner = owners[voice.principal if goes else voice.owner] if goes or voice.owner in free else voice.owner
        followed.setdefault(owner, {owner}).update([voice.principal] if goes else [])
    moves = True
    while moves:
        moves = False
        for opened in [each for each in journal.others if not each.shared]:
            for voice in [each for each in opened.speaks_for if each.principal in followed]:
                first = attached.first_naming(opened, followed[voice.principal], going=free)
                if first is not opened:
                    opened.drop_voice(voice)
                    first = journal.current if first is attached.held else first
                    if voice not in first.speaks_for:  # it may have left the revealed bag just now
                        first.add_voice(voice, unlisted=opened.unlisted)
                    adopted += _take_over(journal, first)
                    followed.setdefault(voice.owner, {voice.owner})
                    moves = True
    return adopted


def _silenced(
    journal: Journal, model: type[Model], kept: Mapping[Any, SpeaksFor], aliases: Aliases, attached: Attached
) -> dict[Any, SpeaksFor]:
    """Of those who keep rows that were given up: those for whom nobody needs to speak any more, as no other bag is sealed to them, and
    none names them, as far as bags can be found."""
    if not kept or journal.current.unlisted:
        return {}
    sealed_to = {opened.holder.public_key for opened in journal.others if opened.holder is not None}
    named: set[Any] = set()
    for relation in relations_to(model):
        values = aliases.owners(table_of(relation.model).label, relation.field.name, {key: key for key in kept})
        named.update(aliases.keys(relation, _sealed_mentions(relation, attached.bags, values)))
    return {key: voice for key, voice in kept.items() if key not in named and bytes(voice.public_key) not in sealed_to}


def _have_gone(model: type[Model], free: Mapping[Any, SpeaksFor], disguise: str, *, using: str) -> bool:
    """Delete them right away where the database refuses that if a row refers to one of them: nearly always none does, and nobody
    has to ask. Only if nothing else can speak for one to stay."""
    rows = [(key,) for key in free]
    if not rows or links_to(model) or not raw.in_one_statement(rows, using=using) or not _refuses_all(model):
        return False
    if "retain" in policies_of(disguise).values():
        return False
    return fits(lambda those: raw.delete(table_of(model), those, using=using), rows, using=using)


@functools.cache
def _refuses_all(model: type[Model]) -> bool:
    """Whether the database refuses to delete a row of the model to which any row refers. Of a table that Django did not make, it may follow
    the deletion, or not know of the reference."""
    return all(
        each.is_enforced and each.model._meta.managed and not each.changed_by_database and not each.is_parent_link
        for each in relations_to(model)
    )


def _referring(
    model: type[Model],
    free: Mapping[Any, SpeaksFor],
    owners: Mapping[Any, Any],
    aliases: Aliases,
    *,
    lock: bool = True,
    using: str,
) -> set[coverage.Relation]:
    """The relations by which a row refers to one of those who could go: few, so all are asked at once.

    If one comes into being after this, the foreign key refuses the deletion, and so the reveal: it can be tried again.
    """
    asked: dict[tuple[bool, tuple[Any, ...]], list[coverage.Relation]] = {}
    whom = {q: owners[q] for q in free}
    for relation in relations_to(model):
        known_as = tuple(aliases.owners(table_of(relation.model).label, relation.field.name, whom))
        # Without a foreign key, nothing would refuse: there a look that locks, and waits for whoever writes now, is needed.
        asked.setdefault((lock and not relation.is_enforced, known_as), []).append(relation)
    found: set[coverage.Relation] = set()
    for (waiting, known_as), relations in asked.items():
        places = [(table_of(relation.model), relation.field.name) for relation in relations]
        found |= {relations[position] for position in raw.holding(places, known_as, lock=waiting, using=using)}
    return found


def _candidates(
    journal: Journal, progress: Progress, aliases: Aliases, model: type[Model]
) -> tuple[dict[Any, SpeaksFor], dict[Any, SpeaksFor], list[Listing]]:
    """Those that no record needs any more, and those that only what all had left still waits for; the voice of one that another bag's
    record needs goes into that bag."""
    held = (batch for batch in progress.kept if isinstance(batch, Decorrelated))
    still_used = mentioned_by_stuck(journal).union(*map(aliases.owners_in, held))
    # By the oldest bag that needs it: of a disguise in chunks, that is the one that is revealed last.
    needed = {
        key: opened
        for opened in reversed(journal.others)
        for batch in opened.diffs
        if isinstance(batch, Decorrelated)
        for key in aliases.owners_in(batch)
    }
    for key, own in _in_shared_rows(journal, aliases, model):
        needed.setdefault(key, own)
    named = still_used.union(needed)
    for key, own in _in_lists_of_shared_changes(journal):
        needed.setdefault(key, own)
    sealed_together = {
        opened.locator
        for opened in journal.others
        if opened.shared and not (opened.empty or opened.is_mention or opened.tells_of_more or opened.handed_over)
    }
    rows_together = sealed_together - {opened.locator for opened in journal.others if opened.changed_by_all}
    free, named_again = {}, {}
    adopted: list[Listing] = []
    for voice in journal.current.speaks_for:
        key = voice.principal
        # Or a bag does not open, which may name them.
        is_back = not journal.damaged and key not in named and not _burdened(journal, voice, rows_together)
        if key in needed:
            needed[key].add_voice(voice, unlisted=journal.current.unlisted)
            # Never into a bag that only this voice opens: nobody would find the key to it any more.
            adopted += _take_over(journal, needed[key])
        elif is_back and not _burdened(journal, voice, sealed_together):
            free[key] = voice
        if is_back and key not in free:
            named_again[key] = voice
    return free, named_again, adopted


def _take_over(journal: Journal, opened: Opened) -> list[Listing]:
    """Let the principal who unlocked hold this bag. Nobody else: the key of a pseudoprincipal may lie in this very bag by now."""
    own = journal.own
    assert opened.holder is not None
    former = opened.holder.public_key
    if former == own.entry.public_key:
        return []
    opened.hand_over(own.entry)
    return [Listing(opened, former)]


def _in_shared_rows(journal: Journal, aliases: Aliases, model: type[Model]) -> Iterator[tuple[Any, Opened]]:
    """Pseudoprincipals in removed rows that others own too, with the principal's own bag that waits for the same rows.

    Whoever else brings such a row back must not find the name of whom one stood for in it.
    """
    waiting = pointing_at(journal.others)
    together = (opened for opened in journal.others if opened.shared and not opened.handed_over)
    for opened in (opened for opened in together if opened.locator in waiting):
        for batch in (batch for batch in opened.diffs if isinstance(batch, Removed)):
            for relation in relations_to(model):
                if table_of(relation.model).label == batch.model:
                    for position, _ in places_of(batch, {relation.field.name}):
                        for key in aliases.keys(relation, [row[position] for row in batch.rows]):
                            yield key, waiting[opened.locator]


def _in_lists_of_shared_changes(journal: Journal) -> Iterator[tuple[Any, Opened]]:
    """Those in whose lists changes wait that were made when all had left, with the principal's own bag that leads to these as well."""
    waiting = pointing_at(opened for opened in journal.others if not opened.shared)
    changed = {opened.locator for opened in journal.others if opened.changed_by_all} & waiting.keys()
    for voice in journal.current.speaks_for if changed else ():
        holder = journal.holder_of(voice)
        for locator in changed.intersection(holder.items) if holder is not None else ():
            yield voice.principal, waiting[locator]


def _burdened(journal: Journal, voice: SpeaksFor, sealed_together: set[Locator]) -> bool:
    """Rows that others own too wait for this pseudoprincipal."""
    holder = journal.holder_of(voice) if sealed_together else None
    return holder is not None and not sealed_together.isdisjoint(holder.items)


def _owners(voices: Mapping[Any, SpeaksFor]) -> dict[Any, Any]:
    """Whom each stands for, once all of them are gone: one may stand for another one."""
    owners = {}
    for key, voice in voices.items():
        owner, steps = voice.owner, len(voices)
        while owner in voices and steps:
            owner, steps = voices[owner].owner, steps - 1
        owners[key] = owner
    return owners


# In bags


def _sealed_mentions(relation: coverage.Relation, bags: Sequence[Opened], free: Mapping[Any, Any]) -> set[Any]:
    label = table_of(relation.model).label
    return {
        row[position]
        for opened in bags
        for batch in opened.diffs
        if batch.model == label
        for position, _ in places_of(batch, {relation.field.name})
        for row in batch.rows
        if row[position] in free
    }


def _rewrite(
    journal: Journal,
    model: type[Model],
    owners: Mapping[Any, Any],
    aliases: Aliases,
    attached: Attached,
    progress: Progress,
) -> None:
    """In every bag, what names one of them names its owner from now on, and the row of one itself is forgotten; so is what changed in
    rows that are deleted along. What is attached to their companions follows."""
    if not journal.others and attached.held.empty:
        return
    names: Values = {}
    doomed: Values = {}
    for relation in relations_to(model):
        label, policy = table_of(relation.model).label, reference_policy(journal.current.head.disguise, relation)
        values = aliases.owners(label, relation.field.name, owners)
        names.setdefault(label, {})[relation.field.name] = dict(values)
        if relation.field not in attached.links and policy == "delete":
            doomed.setdefault(label, {})[relation.field.name] = dict(values)
    attached.follow(owners, names, doomed)
    for (label, column), now in progress.passed_on.items():
        names.setdefault(label, {}).setdefault(column, {}).update(now)
    attached.follow_mentions(names)
    gone = {label: set(rows) for label, rows in progress.deleted.items()}
    # Also of companions that a sweep had taken: what has their owner's key now is another row.
    for link in (link for link in attached.links if link.primary_key):
        label = table_of(link.model).label
        went = doomed[label][link.name].keys() - progress.passed_on.get((label, link.name), {}).keys()
        gone.setdefault(label, set()).update((key,) for key in went)
    principals = table_of(model)
    for removed in (batch for opened in attached.bags for batch in opened.diffs if isinstance(batch, Removed)):
        for position, name in places_of(removed, doomed.get(removed.model, {})):
            rows = [row for row in removed.rows if row[position] in doomed[removed.model][name]]
            keys = replace(removed, rows=rows).primary_keys()
            # A row that a record migration has made has no key yet, and is in nobody else's record.
            gone.setdefault(removed.model, set()).update(key for key in keys if None not in key)
    for opened in attached.bags:
        if opened.is_mention:
            mentions.follow(opened, owners, label=principals.label)
            continue
        for batch in opened.diffs:
            going = doomed.get(batch.model, {})
            keep = list(_surviving(batch, principals, gone.get(batch.model, set()), going, owners))
            if len(keep) < len(batch.rows):
                left = replace(batch, rows=keep)
                opened.exchange(batch, left)
                if opened is attached.held:
                    progress.forget_held(batch, left)
                batch = left
            for position, name in places_of(batch, names.get(batch.model, {})):
                opened.substitute(batch, position, names[batch.model][name])
        opened.exchange_voices(lambda voice: voice._replace(owner=owners.get(voice.owner, voice.owner)))


def _surviving(
    batch: RowBatch,
    principals: Table,
    gone: set[Row],
    doomed: Mapping[str, Mapping[Any, Any]],
    owners: Mapping[Any, Any],
) -> Iterator[Sequence[Any]]:
    """The rows but those of the pseudoprincipals themselves, and of others that go, or have gone, along with them."""
    own = batch.model == principals.label
    keys = batch.primary_keys() if (own or gone) and isinstance(batch, Removed | Changed) else None
    places = [(at, doomed[name]) for at, name in places_of(batch, doomed)] if isinstance(batch, Removed) else []
    for key, row in zip(keys or batch.rows, batch.rows, strict=True):
        leaves = keys is not None and (key in gone or (own and key[0] in owners))
        if not leaves and not any(row[position] in values for position, values in places):
            yield row


def _adopt(
    journal: Journal, model: type[Model], voices: Sequence[SpeaksFor], owners: Mapping[Any, Any]
) -> list[Listing]:
    """Bags sealed to those who go become bags of the principal, under the same locator."""
    if not voices or not journal.others:
        return []
    by_holder: dict[bytes, list[Opened]] = {}
    for opened in journal.others:
        if opened.holder is not None:
            by_holder.setdefault(opened.holder.public_key, []).append(opened)
    adopted: list[Listing] = []
    references = {reference_of(model, key): reference_of(model, owner) for key, owner in owners.items()}
    staying = {voice.principal: voice for opened in (journal.current, *journal.others) for voice in opened.speaks_for}
    noted = {opened.locator: opened for opened in journal.others if opened.is_mention or opened.listings}
    for voice in voices:
        # A mention is to be followed further, if the next one may go as well.
        if noted and (holder := journal.holder_of(voice)) is not None:
            followed = [noted[locator] for locator in holder.items if locator in noted]
            further = staying.get(owners[voice.principal])
            heir = journal.holder_of(further) if further is not None else None
            for opened in followed:
                if opened.listings:
                    adopted.append(Listing(opened))
                elif heir is not None:
                    adopted.append(Listing(opened, heir=heir.entry))
        for opened in by_holder.get(bytes(voice.public_key), ()):
            principal = references.get(str(opened.head.principal), opened.head.principal)
            opened.name_principal(principal)
            adopted += _take_over(journal, opened)
    return adopted
