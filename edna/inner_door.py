"""The inner door: what edna's own edges call (checks, middleware, receivers, commands, the audit, HTTP, pages), and applications do not.

Keeps, as `api` does: each function does all it says or nothing, and raises one of `edna.errors`. A contract of import-linter names who
may come in here. Knows nothing of the domain: what the functions do is in `engine`. One file on purpose, as `api` is.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from django.db.models import Model

from edna import conf, recordmigrations, registry, throttle
from edna.crypto import hybrid
from edna.crypto.keys import KEY_BYTES, PublicKey, SecretKey
from edna.crypto.keys import ContentKey as ContentKey
from edna.custody.base import SlotSecret as SlotSecret
from edna.custody.recovery import RecoveryCode
from edna.db import rows, transactions
from edna.engine import browser_slots, disguise_and_reveal, key_proofs, key_slots, own_data, registration, sealed_file
from edna.engine import history as histories
from edna.engine import principals as people
from edna.engine import waiting as what_waits
from edna.engine.bags import held_copies, opened_copies
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.held_copies import Keeper as Keeper
from edna.engine.bags.openers import Handover as Handover
from edna.engine.bags.reader import Overview
from edna.engine.books import acts, sessions
from edna.engine.books import beside as tables_beside
from edna.engine.books.beside import Checked as Checked
from edna.engine.books.beside import FurtherTables as FurtherTables
from edna.engine.books.beside import HealthLine as HealthLine
from edna.engine.books.beside import KeyStatistic as KeyStatistic
from edna.engine.books.beside import Noted as Noted
from edna.engine.books.measurements import measuring
from edna.engine.browser_slots import BrowserSlot as BrowserSlot
from edna.engine.browser_slots import Found, Stretching
from edna.engine.chunks import conditions
from edna.engine.forwarding import table_history
from edna.engine.graph import references
from edna.engine.graph import staff as the_staff
from edna.engine.history import SealedValues
from edna.engine.planning.owners import several_may_own as several_may_own
from edna.engine.planning.owners import tables_in_common
from edna.engine.planning.steps import Plan
from edna.engine.registration import Registration
from edna.engine.renewing.making_over import MadeOver as MadeOver
from edna.engine.renewing.making_over import NewKeys as NewKeys
from edna.engine.renewing.parts import MOST_PARTS as MOST_PARTS
from edna.engine.renewing.parts import parts_kept
from edna.engine.searched_shards import SearchedShards, one_that_may_seal, the_one_with
from edna.engine.waiting import Waiting
from edna.errors import ConfigurationError, KeyMalformed
from edna.read_columns import Reading
from edna.records.locator import Locator, Receipt
from edna.records.speaksfor import SealedKey as SealedKey
from edna.records.succession import MOST_PIECES as MOST_PIECES
from edna.spec import Disguise
from edna.store import inspection, serverkeys, vouching
from edna.store.tags import Tags
from edna.store.vouching import Tagged as Tagged

Result = TypeVar("Result")
#: How much of something is under which of the server's keys.
FoundUnderKeys = vouching.Found


def disguise_if(
    name: str,
    principal: Model,
    *,
    params: Mapping[str, Any],
    unlocked: Unlocked | None,
    condition: Callable[[Plan | None], bool],
) -> Receipt | None:
    """As `api.disguise`; ``condition`` is asked while the account is locked, before anything is done, and unless it says yes, nothing is:
    this returns None. It is told the plan that is about to be done; None, if that takes several transactions. Of two who have seen the same
    at once, the second one is asked about what the first has left, however large that is. For another attempt it is asked once more.
    """

    def require(plan: Plan | None) -> None:
        if not condition(plan):
            raise _NotAsTold

    throttle.admit()
    with measuring("disguise", name), contextlib.suppress(_NotAsTold):
        return disguise_and_reveal.disguise(
            registry.get(name), principal, params=params, unlocked=unlocked, atomic=False, operator="", require=require
        )
    return None


class _NotAsTold(Exception):
    """A condition does not hold."""


def beyond_reach(name: str, principal: Model) -> dict[str, list[str]]:
    """`Plan.beyond_reach` of what `api.plan` says without a key; nothing else is planned. One statement at most."""
    return disguise_and_reveal.beyond_reach(registry.get(name), principal)


def in_one_transaction(work: Callable[[], Result], *, using: str) -> Result:
    """``work()``, all or nothing; tried again if the database asks for that, so it may run twice.

    Raises:
        DatabaseBusy: nothing was changed.
    """
    return transactions.run(work, using=using)


# Schema changes, called from the checks


def what_chunks_change(disguise: type[Disguise]) -> tuple[Reading, ...]:
    """What its conditions read that it changes before the last of several chunks: for that it is never cut. Asks no database."""
    return conditions.what_changes(disguise)


def rules_without_migration() -> list[tuple[str, str]]:
    """For which `record_migration` functions there is no migration."""
    return [rule for rule in recordmigrations.named() if not table_history.known(*rule)]


def migrations_without_rule(app_labels: Iterable[str]) -> list[tuple[str, str]]:
    """Migrations of these applications that run code, and for which no function says what it means for records."""
    migrations = [(app_label, name) for app_label in app_labels for name in table_history.unreadable(app_label)]
    return [(app_label, name) for app_label, name in migrations if not recordmigrations.rules_for(app_label, name)]


# Sessions and activity, called with each request and log-in


def end_sessions_on_removal(principal: Model, session_key: str) -> None:
    """Note that this session is the principal's, so that removing the principal ends it.

    Raises:
        ServerKeyUnknown: it would be noted under a server key that is not this site's.
    """
    model, reference, using = people.identity(principal)
    sessions.link(model._meta.label_lower, reference, session_key, using=using)


def session_epoch(principal: Model) -> str | None:
    """What a session that lies in a cookie has to know to be this principal's; None if they have never returned."""
    model, reference, using = people.identity(principal)
    return sessions.epoch(model._meta.label_lower, reference, using=using)


def forget_session(principal: Model, session_key: str) -> None:
    sessions.unlink(session_key, using=people.identity(principal)[2])


def forget_principal(principal: Model, *, deleted_from: str | None = None) -> None:
    """The application deleted a principal's row by itself: the entry must not wait for the next row of that key. Of several databases it
    was ``deleted_from`` this one, whatever the object says.

    One that this site did not write stays as it is, as evidence; nothing is sealed to it, whoever has that key next.
    """
    people.forget(principal, deleted_from=deleted_from)


def note_activity(principal: Model, *, today: datetime.date) -> None:
    """Keep the date of a principal's last activity, no finer, for schedules."""
    people.note_activity(principal, today=today)


# What operators do and ask, called from commands and the audit


def note_act(action: str, *, operator: str, disguise: str = "", **details: int | str) -> None:
    """Have the audit trail note what an operator did, in the caller's transaction: last in it. None is there without `edna.operations`."""
    acts.add(action, operator=operator, disguise=disguise, **details)


def staff_among_everybody(name: str, *, params: Mapping[str, Any] | None = None) -> int:
    """How many of those who run the site own a row that ``name`` means. Reads only."""
    return disguise_and_reveal.staff_among_everybody(registry.get(name), params=params)


def knows_staff(model: type[Model]) -> bool:
    """Whether anything says who of a principal model runs the site: ``EDNA["STAFF"]``, or a column."""
    return bool(the_staff.condition(model))


def sealed_values(unlocked: Unlocked) -> SealedValues:
    """All that is under disguise of this principal, in plain: for the audit, which looks whether it stands anywhere else.

    What the application sealed by itself, and the content of files, is not among it.
    """
    return histories.sealed_values(unlocked)


def replace_slot(unlocked: Unlocked, secret: SlotSecret, *, kind: str, beside: Callable[[str], object]) -> None:
    """Put a slot that ``secret`` opens in the place of the key's one of that kind. ``beside(alias)`` is called in the same transaction,
    which may be tried again.

    Raises:
        SecretKeyNeeded, CapabilityClosed, ServerKeyUnknown
    """
    throttle.admit()
    key_slots.replace_other(unlocked, secret, kind=kind, beside=beside)


def remove_slot(unlocked: Unlocked, *, kind: str, beside: Callable[[str], object]) -> None:
    """Delete the key's slot of that kind; ``beside`` as in `replace_slot`."""
    throttle.admit()

    def work() -> None:
        key_slots.remove_kind(unlocked.public_key, kind=kind, using=unlocked.using)
        beside(unlocked.using)

    transactions.run(work, using=unlocked.using)


def remove_slot_of(public_key: PublicKey, *, kind: str) -> None:
    """Delete that key's slot of a kind, in the caller's transaction; the caller knows that whoever asks has the key."""
    key_slots.remove_kind(public_key, kind=kind, using=registry.database())


def unlock_slot(secret: SlotSecret, *, kind: str) -> Unlocked:
    """Open the slot of that kind that ``secret`` opens.

    Raises:
        WrongCredentials, ServerKeyUnknown
    """
    throttle.admit()
    return key_slots.unlock_other(secret, kind=kind)


def keep_copies(keeper: Keeper) -> None:
    """Have copies of what opens the bags of disguises that declare an audience kept there."""
    held_copies.connect(keeper)


def require_audience(name: str, *, principal: Model | None = None) -> None:
    """That what a disguise takes away can be held as it declares; of one that declares nothing, nothing is asked. Of several databases, in
    the one where the ``principal`` is, or in the one that is at work.

    Raises:
        ConfigurationError, AudienceUnknown, AudienceTooSmall, AudienceForged: what the disguise would be refused with.
    """
    disguise = registry.get(name)
    if disguise.audience is not None:
        using = database() if principal is None or not conf.databases() else database_of(principal)
        held_copies.require(disguise, using=using)


def open_copy(
    copy: bytes, *, subject: tuple[str, str], using: str
) -> tuple[str, datetime.datetime, str, str, list[tuple[str, str, dict[str, object]]], Locator]:
    """What the bag that a copy opens says: disguise, when, model and primary key of whom it is about, rows, and its locator.

    Raises:
        BagMissing, HeldCopyRefused, BagError
    """
    bag, locator = opened_copies.opened(copy, subject=subject, using=using)
    return bag.disguise, bag.applied_at, bag.principal_model, str(bag.principal), opened_copies.told(bag), locator


def waiting_of(unlocked: Unlocked, receipt: Receipt) -> list[Waiting]:
    """As `edna.waiting`, of one receipt alone; also if nothing of it was brought back, since not all could be."""
    return [entry for entry in what_waits.of(unlocked, refused=receipt) if entry.receipt == receipt]


def uses_of(receipt: Receipt) -> list[tuple[str, int, str, str]]:
    """How what a receipt leads to was read by an audience that its disguise declares: name, how many together, month, reason."""
    return held_copies.uses(receipt, using=database()) if conf.has_audiences() else []


def locators_of(unlocked: Unlocked) -> set[Locator]:
    """Of everything that a key opens now.

    Raises:
        ReceiptForeign, EntryForged
    """
    return Overview((), unlocked).locators


def places_of_copies(subject: tuple[str, str], number: int, *, using: str) -> list[bytes]:
    """Where the copy of that number about somebody lies, by each key of the server, that which signs first."""
    return held_copies.places(subject, number, using=using)


def marks_of_copies(index: bytes, numbers: Iterable[int]) -> list[bytes]:
    """By which the copies of these numbers of a bag are found again, as `places_of_copies`."""
    return held_copies.marks(index, numbers)


def values_there(model: type[Model], column: str, values: Sequence[Any], *, using: str) -> set[Any]:
    """Those of ``values`` that a row of a table of the library's own has in this column."""
    return rows.held_values(rows.table_of(model), column, values, lock=False, using=using)


def keep_row(model: type[Model], *, using: str, **match: Any) -> bool:
    """Whether a row of a table of the library's own has these values. Nobody changes it until the transaction ends; others may ask, too."""
    return rows.keep(rows.table_of(model), match, using=using)


def on_slots_gone(told: Callable[[PublicKey, str], None]) -> None:
    """Have ``told(public_key, alias)`` called when all slots of a key go, because it was replaced or nothing is left for it to open: in
    the transaction of that, which may be tried again. Called once the applications are loaded."""
    tables_beside.on_slots_gone(told)


def before_rotation(asked: Callable[[PublicKey, str], None]) -> None:
    """Have ``asked(public_key, alias)`` called before a key is replaced by one that is made without those who hold it; it may raise. Called
    once the applications are loaded."""
    tables_beside.before_rotation(asked)


def open_otherwise(opened: Callable[[SecretKey], Unlocked | None]) -> None:
    """Have ``opened(secret_key)`` called by `api.unlock` for a key that is nobody's own, and may lead to somebody's. Called once the
    applications are loaded."""
    tables_beside.open_otherwise(opened)


def add_password_slot(secret_key: SecretKey, *, identifier: str, password: str) -> None:
    """A slot for a key that is not a principal's own, and leads to one.

    Raises:
        ServerKeyUnknown
    """
    throttle.admit()
    key_slots.add_password_slot(secret_key, identifier=identifier, password=password, using=registry.database())


def add_recovery_slot(secret_key: SecretKey) -> RecoveryCode:
    """As `add_password_slot`, for a recovery code, which is stored nowhere.

    Raises:
        ServerKeyUnknown
    """
    throttle.admit()
    return key_slots.add_recovery_slot(secret_key, using=registry.database())


def remove_slots(secret_key: SecretKey) -> None:
    """Delete every slot in which a key lies, in the caller's transaction."""
    key_slots.remove_all(secret_key, using=registry.database())


def rotate(unlocked: Unlocked, *, password: str | None, identifier: str | None, leave_damaged: bool) -> Registration:
    """As `api.rotate`, by whoever holds the key in another way, and gives that up.

    Raises:
        ReceiptsIncomplete, BagError, PrincipalNotRegistered
    """
    throttle.admit()
    return registration.rotate(
        unlocked,
        password=password,
        identifier=identifier,
        public_key=None,
        receipts_complete=False,
        leave_damaged=leave_damaged,
        require=False,
    )


def public_key_of(principal: Model) -> PublicKey | None:
    """What is sealed to for them; None if they are not registered."""
    model, reference, using = people.identity(principal)
    found = people.entries_of(model, [reference], lock=False, using=using)
    return PublicKey(found[0].public_key) if found else None


def sealing_key() -> bytes:
    """The server's key that seals, which the database knows. Give it no name where something may raise: error pages print variables.

    Raises:
        ServerKeyUnknown: the database does not know it.
    """
    return serverkeys.signing_key(using=registry.database())


def may_seal() -> bool:
    """Whether the database knows the server's key that seals, for whoever goes on without it."""
    return serverkeys.may_seal(using=registry.database())


def secret_key_of(unlocked: Unlocked) -> SecretKey:
    """The key itself: for guardians, who help to it.

    Raises:
        SecretKeyNeeded: it did not leave its owner's browser.
        CapabilityClosed
    """
    return unlocked.secret_key


def tags_of(purpose: bytes) -> Tags:
    """What makes and checks tags of an application's own rows, under the server's keys; ``purpose``, 16 bytes at most, names the table."""
    return Tags(purpose)


def tables_too(tables: FurtherTables) -> None:
    """Have the rows of an application's own tables verified by `edna_verify`, counted by `edna_keys`, and tagged anew by `edna_vouch`.
    Called once the applications are loaded."""
    tables_beside.tables_too(tables)


def keys_of_people(*, using: str) -> Iterator[list[PublicKey]]:
    """In pages, the public keys of whoever is there and no pseudoprincipal, and of whoever was removed."""
    return inspection.keys_of_people(using=using)


def rewrap(
    unlocked: Unlocked,
    secret_key: SecretKey,
    *,
    beside: Callable[[], object],
    leave_damaged: bool = False,
    leave_rest: bool = False,
) -> int:
    """Give a principal another key, which somebody else keeps, and everyone they speak for new ones. Bags keep their bodies and get other
    recipients; return how many. ``beside`` is called first, in the same transaction, which may be tried again. ``unlocked`` is closed.
    ``leave_damaged`` gives up bags that do not open. Many bags get their recipients afterwards, in parts; with ``leave_rest`` by
    `finish_rewrapping`.

    Raises:
        ReceiptsIncomplete, BagError, EntryForged, PrincipalNotRegistered, PrincipalAlreadyRegistered, and what ``beside`` raises.
            Nothing was changed then.
    """
    throttle.admit()
    return registration.rewrap(unlocked, secret_key, beside=beside, leave_damaged=leave_damaged, leave_rest=leave_rest)


def finish_rewrapping(secret_key: SecretKey, *, quietly: bool) -> int:
    """Give bags of this principal their new recipients that `rewrap` has left without, or that an interrupted one has; return how many.
    What cannot be done now is left for the next time, and logged if ``quietly``. One statement if none is left.

    Raises:
        BagError, EntryForged, DatabaseBusy: only if not ``quietly``.
    """
    return registration.finish(secret_key, quietly=quietly, using=registry.database())


def bags_left(secret_key: SecretKey) -> int:
    """How many bags `finish_rewrapping` would look at."""
    return registration.bags_left(secret_key, using=registry.database())


def database() -> str:
    """The alias of the database in which principals are."""
    return registry.database()


# Keys that are used in browsers, called from the HTTP interface


def unlock_handed(handover: Handover, *, receipts: Sequence[Receipt | str] = ()) -> Unlocked:
    """An unlocked principal without their secret key: what their browser has opened, and hands over for one act.

    Whoever calls this knows that the client has the secret key of ``handover.public_key``. Every function that takes what `unlock` returns
    takes this, too, but for those that need the key itself. What was not handed over and is needed, and what does not fit what is stored,
    is refused when it is met, before anything changes; look anew then.

    Raises:
        PrincipalNotRegistered, EntryForged, ServerKeyUnknown, ReceiptMalformed
    """
    throttle.admit()
    return key_slots.unlock_handed(handover, locators=[Receipt.of(receipt).locator for receipt in receipts])


def sealed_lists(public_keys: Iterable[bytes]) -> dict[bytes, bytes]:
    """By public key, the list of locators of everybody among them who is registered or a pseudoprincipal: items that only they can open."""
    throttle.admit()
    return sealed_file.lists_of(public_keys)


def sealed_bags(indexes: Iterable[bytes], *, most_bytes: int) -> sealed_file.Stored:
    """Those of the bags that are there, as they are stored: at least one, and no more bytes than this; and where the others lie.

    Who knows an index has had the locator.
    """
    throttle.admit()
    return sealed_file.bags_at(indexes, most_bytes=most_bytes)


def columns_that_refer(labels: Iterable[str]) -> dict[str, dict[str, tuple[str, str]]]:
    """Of these models, which columns refer to which column of which model: by label, names of fields."""
    throttle.admit()
    return {label: references.columns_that_refer(label) for label in set(labels)}


def in_common(labels: Iterable[str]) -> list[str]:
    """Those of these models of whose rows others may own, too, what a disguise changes."""
    return sorted(tables_in_common().intersection(labels))


def export_tables(unlocked: Unlocked, models: Iterable[str]) -> dict[str, Any]:
    """Of `edna.export` what stands in tables, and what a browser has to know of ``models`` that it has found in bags to write the rest
    itself: which columns name people, or are left out, or hold truth or documents. Reads only."""
    return own_data.of_tables(unlocked, models)


def missing_for_hybrid_keys() -> str | None:
    """What keys of the hybrid kind lack on this machine; None if they work."""
    try:
        hybrid.suite()
    except ConfigurationError as error:
        return str(error)
    return None


def challenge_key(public_key: bytes, *, bound_to: bytes) -> bytes:
    """Something that only the secret key of ``public_key`` opens, wherever that is; whoever sends back what is in it proves that they have
    the key. ``bound_to`` is what the caller knows them by, so that it serves nobody else.

    Raises:
        KeyMalformed: nothing is to be sealed to this public key.
        ServerKeyUnknown: the server's key is not this site's.
    """
    throttle.admit()
    return key_proofs.challenge(PublicKey(public_key), bound_to=bound_to, using=_that_may_seal())


def prove_key(public_key: bytes, opened: bytes, *, bound_to: bytes) -> bytes:
    """A token for whoever has opened a challenge: it says for some minutes whose secret key they have.

    Raises:
        KeyNotProved: this is not what the challenge held, it came too late, or from somebody else.
        ServerKeyUnknown: the server's key is not this site's.
    """
    throttle.admit()
    return key_proofs.prove(PublicKey(public_key), opened, bound_to=bound_to, using=_that_may_seal())


def challenge_keys(public_keys: Iterable[bytes], *, bound_to: bytes) -> list[bytes]:
    """`challenge_key` for each of them, in their order.

    Raises:
        KeyMalformed, ServerKeyUnknown
    """
    throttle.admit()
    using = _that_may_seal()
    return [key_proofs.challenge(PublicKey(key), bound_to=bound_to, using=using) for key in public_keys]


def _that_may_seal() -> str:
    """A database that knows the server's key: a proof is kept in none."""
    return one_that_may_seal(registry.databases())


def database_of(principal: Model) -> str:
    """Where somebody is.

    Raises:
        PrincipalError; DatabaseNotChosen: another one is at work.
    """
    return people.identity_at_work(principal)[2]


def database_of_keys(public_keys: Iterable[PublicKey]) -> str:
    """In which of several databases these keys are, of one person or of pseudoprincipals; any of them, if in none.

    Raises:
        DatabaseNotChosen: in several. DatabaseBusy: one is away, and no other has them.
    """
    throttle.admit()
    return people.database_of_keys({*map(bytes, public_keys)})


def database_with(question: Callable[[str], Iterable[object]]) -> str:
    """The one of several databases that answers with something, or any of them; without a question, where there is one or one is at work.

    Raises:
        DatabaseNotChosen: several do. DatabaseBusy: one is away, and no other does.
    """
    return the_one_with(question, aliases=registry.databases())


def asked_in_each(question: Callable[[str], Iterable[Result]]) -> list[Result]:
    """What the databases answer that may have it: all of several, or the one that is at work.

    Raises:
        DatabaseBusy: one of several is away, and no other has anything.
    """
    databases = SearchedShards(registry.databases())
    found = [each for each, _ in databases.ask(question)]
    if not found:
        databases.require_all()
    return found


def rotate_elsewhere(
    new_keys: NewKeys,
    *,
    opened: Mapping[bytes, bytes],
    slots: Sequence[BrowserSlot],
    bound_to: bytes,
    beside: Callable[[], object] | None = None,
) -> None:
    """Replace a principal's key, and those of everyone they speak for, by keys that were made in their browser; nothing is opened here.

    The old ones open nothing any more; receipts stay good. ``opened`` is what the challenges to all keys held, the old ones and the new, by
    public key. ``beside`` is as in `rewrap`. All or nothing.

    Raises:
        KeyNotProved: one of the keys is not proved.
        HandoverRefused: something has changed since the browser looked, or is not theirs.
        ReceiptsIncomplete: receipts may be the only way to some bags (locator mode ``client``).
        PrincipalNotRegistered, PrincipalAlreadyRegistered, EntryForged, SlotRefused, KeyMalformed, ServerKeyUnknown, and what
            ``beside`` raises.
    """
    throttle.admit()
    using = registry.database()
    for former, new in new_keys.keys.items():
        for key in (PublicKey(former), new):
            key_proofs.prove(key, opened.get(bytes(key), b""), bound_to=bound_to, using=using)
    registration.rotate_elsewhere(new_keys, slots, beside=beside)


def new_public_key(raw: bytes) -> PublicKey:
    """A public key that a browser has made, 32 or 1216 bytes, of the kind that `EDNA["RECIPIENT"]` has new keys be.

    Raises:
        KeyMalformed: it is none, or of the other kind.
    """
    if conf.is_hybrid() is (len(raw) == KEY_BYTES):
        raise KeyMalformed(
            f"New keys of this site are of the kind {conf.recipient()}, and this one is not. Nothing was changed; load the page again."
        )
    return PublicKey.of(raw)


def keep_part(public_key: PublicKey, number: int, content: bytes) -> ContentKey:
    """Keep a part of what will be sent to `rotate_elsewhere`, for whoever has proved this key; return what opens it. It changes nothing,
    and takes the place of an earlier one; with number 0 all earlier ones are gone.

    Raises:
        PrincipalNotRegistered, EntryForged, HandoverRefused, BagTooLarge, ServerKeyUnknown, DatabaseBusy
    """
    throttle.admit()
    return registration.keep_part(public_key, number, content)


def kept_parts(public_key: PublicKey, keys: Sequence[ContentKey]) -> list[bytes]:
    """What `keep_part` has kept of somebody, from number 0 on.

    Raises:
        HandoverRefused: a part is not there, or is another one.
    """
    throttle.admit()
    return parts_kept(public_key, keys, using=registry.database())


def proved_key(token: bytes, *, bound_to: bytes) -> PublicKey:
    """Whose secret key the holder of the token has.

    Raises:
        KeyNotProved: the token is no such one, or too old.
    """
    return key_proofs.proved(token, bound_to=bound_to)


def speaks_for_keys(public_keys: Iterable[PublicKey], model: type[Model] | None = None) -> list[Any]:
    """`edna.speaks_for`, for whoever has proved these keys of pseudoprincipals: what each of them speaks for is itself.

    Raises:
        EntryForged: this site did not write the entry of one of them.
    """
    raw = {*map(bytes, public_keys)}
    return people.speaks_for_keys(raw, model, using=people.database_of_keys(raw))


def speak_as_keys(public_keys: Iterable[PublicKey], obj: Model, *, owner: str | None = None) -> Model:
    """`edna.speak_as`, for whoever has proved these keys of pseudoprincipals.

    Raises:
        NotYours, SpecError, EntryForged
    """
    aliases = registry.databases()
    using = aliases[0] if len(aliases) == 1 else registry.database_of(obj, type(obj))
    return people.speak_as_keys({*map(bytes, public_keys)}, obj, owner=owner, using=using)


def stretchings(identifier: str) -> list[Stretching]:
    """How a browser turns the password that goes with an identifier into what opens a slot: the one of today first. Reads nothing."""
    throttle.admit()
    return browser_slots.stretchings(identifier)


def find_slots(lookups: Sequence[bytes], *, of_several: bool = False) -> list[list[Found]]:
    """For each lookup, and each of the server's keys, its part in that slot and what is wrapped there, if anything is. ``of_several``: what
    is wrapped may be of several databases, and whoever asks tells by a receipt what is meant.

    Raises:
        ServerKeyUnknown: the server's keys are not this site's.
        DatabaseNotChosen: a lookup finds something in several databases.
        DatabaseBusy: one of several databases is away, and no other has anything.
    """
    throttle.admit()
    return browser_slots.find(lookups, of_several=of_several, databases=registry.databases())


def register_without_code(principal: Model, *, password: str, identifier: str | None) -> Registration:
    """As `api.register_principal`, where nobody is there to be shown a recovery code: none is made until its owner asks for one.

    Raises:
        PrincipalAlreadyRegistered, PrincipalError, ServerKeyUnknown
    """
    throttle.admit()
    return registration.register(principal, password=password, identifier=identifier, public_key=None, has_code=False)


def kinds_of_slots(principal: Model) -> Callable[[], frozenset[str]] | None:
    """Tells, once called, of which kinds the slots of somebody's key are: `password`, `recovery`, `passkey`. Those of an earlier release
    are not told until they are opened. None: no key. One statement, and one more when it is called."""
    return key_slots.kinds_of(principal)


def register_elsewhere(principal: Model, *, public_key: PublicKey, slots: Sequence[BrowserSlot]) -> None:
    """Give a user a key pair and slots that were made in their browser; the caller knows that they have the secret key.

    Raises:
        PrincipalAlreadyRegistered, PrincipalError, SlotRefused, ServerKeyUnknown
    """
    throttle.admit()
    registration.register_elsewhere(principal, public_key=public_key, slots=slots)


def replace_slots(public_key: PublicKey, slots: Sequence[BrowserSlot]) -> None:
    """Put slots that were made in a browser in the place of those of their kinds; the caller knows that it has the secret key.

    Raises:
        PrincipalNotRegistered: nobody is registered with this key.
        SlotRefused, ServerKeyUnknown
    """
    throttle.admit()
    browser_slots.replace(public_key, slots, using=registry.database())
