"""The slots in which a principal's key is kept: made, replaced and opened, by password or recovery code.

Invariant: a slot is bound to a server key that the database knows, and a wrong password costs the same, whoever's it is. The ways to
hold a key are in `custody`; this module joins them with the server's keys and the tables. It disguises and reveals nothing.
A little long: making, replacing, opening and finding a slot are one promise.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from django.db.models import Model

from edna import conf, registry, shards, store
from edna.crypto.keys import PublicKey, SecretKey
from edna.custody import password as password_slots
from edna.custody import recovery as recovery_slots
from edna.custody.base import (
    KINDS,
    OPENS_NOTHING,
    Slot,
    SlotSecret,
    candidate_ids,
    former_tag,
    lock_slot,
    slot_tags,
    stored_tag,
    unlock_slot,
)
from edna.custody.recovery import RecoveryCode
from edna.db import transactions
from edna.engine.bags.capability import Unlocked, of_nobody
from edna.engine.bags.openers import Handover, listed_items
from edna.engine.books import beside as tables_beside
from edna.engine.principals import entries_of, identity, identity_at_work, row_of
from edna.engine.searched_shards import SearchedShards, knowing_a_key
from edna.errors import (
    CustodyError,
    DatabaseNotChosen,
    EdnaError,
    PrincipalError,
    PrincipalNotRegistered,
    WrongCredentials,
)
from edna.records.locator import Locator
from edna.store import serverkeys

# Opening


def unlock(
    *,
    secret_key: SecretKey | str | None,
    identifier: str | None,
    password: str | None,
    recovery_code: RecoveryCode | str | None,
    locators: Sequence[Locator],
    principal: Model | None,
) -> Unlocked:
    """Open a principal's keys from exactly one of: the secret key, identifier and password, or the recovery code.

    Raises:
        WrongCredentials, KeyMalformed, RecoveryCodeMalformed, ServerKeyUnknown
        DatabaseBusy: one of several databases is away, and no other has the key.
    """
    databases = knowing_a_key(_databases_of(principal))
    if sum(given is not None for given in (secret_key, password, recovery_code)) != 1:
        raise TypeError("unlock() takes exactly one of secret_key=, identifier= with password=, or recovery_code=.")
    is_from_slot = secret_key is None
    if isinstance(secret_key, str):
        secret_key = SecretKey.parse(secret_key)
    if secret_key is not None:
        keys = [(secret_key, using) for using in databases.there()]
    elif recovery_code is not None:
        code = RecoveryCode.of(recovery_code)
        keys = _open([(recovery_slots.derive(code), conf.mac_keys())], kind=recovery_slots.KIND, databases=databases)
    elif identifier is None:
        raise TypeError("unlock(password=...) needs the identifier= that the password was registered with.")
    else:
        keys = _open(_password_secrets(identifier, str(password)), kind=password_slots.KIND, databases=databases)
    opened: list[Unlocked] = []
    problem: EdnaError | None = None
    for secret_key, using in _meant(keys, principal, locators, databases, is_from_slot=is_from_slot):
        with shards.at(using), databases.passed_over_if_away(using):
            try:
                opened.append(_unlocked(secret_key, is_from_slot=is_from_slot, locators=locators, using=using))
            except (PrincipalNotRegistered, CustodyError) as error:
                problem = error if problem is None or isinstance(problem, PrincipalNotRegistered) else problem
    if opened:
        return _one_of(opened, locators)
    databases.require_all()
    if problem is not None and not (isinstance(problem, PrincipalNotRegistered) and len(databases.there()) > 1):
        raise problem
    raise of_nobody(f" in any of the databases {shards.listed(databases.there())}")


def _databases_of(principal: Model | None) -> Sequence[str]:
    """Where a key can be: where its person is, if that is known."""
    if principal is None or not conf.databases():
        return registry.databases()
    return [identity_at_work(principal)[2]]


def _unlocked(secret_key: SecretKey, *, is_from_slot: bool, locators: Sequence[Locator], using: str) -> Unlocked:
    unlocked = Unlocked(secret_key, using=using, locators=locators)
    try:
        unlocked.entry()
    except PrincipalNotRegistered:
        other: Unlocked | None = tables_beside.opened_otherwise(secret_key)
        if other is None:
            raise
        unlocked, other.locators = other, tuple(locators)
        if is_from_slot:
            # Another key in its place would be in no slot.
            unlocked.renewed_by = None
    return unlocked


def add_password_slot(secret_key: SecretKey, *, identifier: str, password: str, using: str) -> None:
    """For a key that is not a principal's own, and leads to one."""
    serverkeys.require(using=using)
    slot = for_password(secret_key, identifier=identifier, password=password, using=using)
    transactions.run(lambda: add([slot], using=using), using=using)


def add_recovery_slot(secret_key: SecretKey, *, using: str) -> RecoveryCode:
    """As `add_password_slot`, for a new code."""
    serverkeys.require(using=using)
    code = RecoveryCode.new()
    slot = for_code(secret_key, code, using=using)
    transactions.run(lambda: add([slot], using=using), using=using)
    return code


def unlock_handed(handover: Handover, *, locators: Sequence[Locator]) -> Unlocked:
    """
    Raises:
        PrincipalNotRegistered, EntryForged, ServerKeyUnknown
    """
    using = registry.database()
    serverkeys.require_any(using=using)
    unlocked = Unlocked(handover, using=using, locators=locators)
    unlocked.entry()
    return unlocked


def _open(
    secrets: Iterable[tuple[SlotSecret, Sequence[bytes]]], *, kind: str, databases: SearchedShards
) -> list[tuple[SecretKey, str]]:
    """What lies in the slots of the first of ``secrets`` that opens any, each under one of its server keys, and in which database.

    A slot that would be made otherwise today, because of another version, server key, cost or salt, is put in today's form: with the
    first of ``secrets``, which is there already.
    """
    newest: SlotSecret | None = None
    opened: list[tuple[SecretKey, str]] = []
    for secret, keys in secrets:
        newest = newest or secret
        ids = candidate_ids(secret, peppers=keys)
        # Nobody waits for another secret because of a second database: it is looked for in all of them.
        found = _slots(ids, databases)
        for row, using in found:
            with contextlib.suppress(WrongCredentials):  # changed by somebody; others of the same id may open
                key = unlock_slot(Slot(*row), slot_secret=secret, peppers=keys)
                opened.append((key, using))
                of_today = candidate_ids(newest, peppers=conf.mac_keys()[:1])[0]
                if row[0] != of_today and serverkeys.may_seal(using=using):
                    tagged_as = _kind_of_tag(row[1], key)
                    made = _lock(key, newest, kind=tagged_as or kind, using=using)
                    # A browser may have put another key into a slot: it stays the one of its maker, who can have no more of them.
                    _renew(row[:2], made if tagged_as else replace(made, tag=row[1]), using=using)
                    if row[2][0] == 1:
                        _retag_former(key, using=using)
        if found:
            break
    if not opened:
        databases.require_all()
        raise WrongCredentials(OPENS_NOTHING)
    return opened


def _renew(former: tuple[bytes, bytes], made: Slot, *, using: str) -> None:
    new = {"slot_id": made.slot_id, "tag": made.tag, "wrapped": made.wrapped}
    transactions.statement(partial(store.replace_slot, former, **new, using=using), using=using)


def _slots(ids: Sequence[bytes], databases: SearchedShards) -> list[tuple[tuple[bytes, bytes, bytes], str]]:
    return databases.ask(lambda using: store.find_slots(ids, using=using))


def _kind_of_tag(tag: bytes, secret_key: SecretKey) -> str | None:
    """Of which kind the slot's maker said that it is, if it is that key's: renewed as another, it would be one more of that."""
    keys = conf.mac_keys()
    return next((kind for kind in KINDS if tag in slot_tags(secret_key, kind=kind, peppers=keys)), None)


def _retag_former(secret_key: SecretKey, *, using: str) -> None:
    """Give other slots of version 1 of that key today's tag: a browser, which cannot show theirs, replaces them from then on."""
    pepper, public_key = serverkeys.signing_key(using=using), secret_key.public_key
    for kind in KINDS:
        tags = former_tag(secret_key, kind=kind), stored_tag(public_key, kind=kind, pepper=pepper)
        transactions.statement(partial(store.retag_slots, *tags, using=using), using=using)


_OF_PERSON, _OF_RECEIPT, _REMOVED, _THERE, _UNKNOWN = range(5)


def _meant(
    keys: Sequence[tuple[SecretKey, str]],
    principal: Model | None,
    locators: Collection[Locator],
    databases: SearchedShards,
    *,
    is_from_slot: bool,
) -> Sequence[tuple[SecretKey, str]]:
    """Of keys that the same identifier and password open: that of ``principal``, else the one to whom a receipt was given, else that of
    somebody whose account is removed, for whom there may be no other way. In which of several databases, is not guessed. With it, of keys
    that are nobody's own, those that may lead to somebody in another database; all of them, if no other is there.

    Raises:
        DatabaseNotChosen: several have such a key, and nothing says which one is meant.
    """
    if len(keys) == 1:
        return keys
    wanted = identity(principal)[:2] if principal is not None else None
    by_database: dict[str, list[SecretKey]] = {}
    for key, using in keys:
        by_database.setdefault(using, []).append(key)
    listed = databases.ask(
        lambda using: store.entries_by_public_key(map(_public, by_database.get(using, ())), using=using)
    )
    entries = {(entry.public_key, using): entry for entry, using in listed}
    there = databases.there()
    if not there:
        databases.require_all()

    def rank(found: tuple[SecretKey, str]) -> int:
        key, using = found
        entry = entries.get((_public(key), using))
        if entry is None:
            return _UNKNOWN
        if wanted is not None and (entry.model, entry.reference) == (wanted[0]._meta.label_lower, wanted[1]):
            return _OF_PERSON
        if locators and not listed_items(entry, key).keys().isdisjoint(locators):
            return _OF_RECEIPT
        return _THERE if entry.attached else _REMOVED

    ranked = sorted(((rank(found), *found) for found in keys if found[1] in there), key=lambda each: each[0])
    best, key, using = ranked[0]
    also = {other for number, _, other in ranked if number <= (best if best <= _OF_RECEIPT else _THERE)}
    _require_one(also)
    unknown = [(other, there) for number, other, there in ranked if number == _UNKNOWN]
    if best == _UNKNOWN:
        return unknown
    may_lead = is_from_slot and best > _OF_RECEIPT
    return [(key, using), *(found for found in unknown if may_lead and found[1] != using)]


def _one_of(opened: Sequence[Unlocked], locators: Collection[Locator]) -> Unlocked:
    """
    Raises:
        DatabaseNotChosen: they are in several databases, and no receipt says which one is meant.
    """
    if len({each.using for each in opened}) > 1:
        listing = [
            each for each in opened if not listed_items(each.entry(), each.secret_key).keys().isdisjoint(locators)
        ]
        try:
            _require_one({each.using for each in listing or opened})
        except DatabaseNotChosen:
            for each in opened:
                each.close()
            raise
        opened = [*listing, *(each for each in opened if each not in listing)]
    for each in opened[1:]:
        each.close()
    return opened[0]


def _require_one(found: Collection[str]) -> None:
    if len(found) > 1:
        raise DatabaseNotChosen(
            f"These credentials open keys in several databases ({shards.listed(sorted(found))}). Nothing was unlocked; give a command "
            "--database; pass principal= or a receipt, or call it in the block of `with edna.on(...)`."
        )


def _public(key: SecretKey) -> bytes:
    return bytes(key.public_key)


# Making


def for_password(secret_key: SecretKey, *, identifier: str, password: str, using: str) -> Slot:
    """The slot of a password, as it is made today."""
    secret, _ = next(_password_secrets(identifier, password))
    return _lock(secret_key, secret, kind=password_slots.KIND, using=using)


def for_code(secret_key: SecretKey, code: RecoveryCode, *, using: str) -> Slot:
    """The slot of a recovery code."""
    return _lock(secret_key, recovery_slots.derive(code), kind=recovery_slots.KIND, using=using)


def add(slots: Sequence[Slot], *, using: str) -> None:
    store.add_slots([(slot.slot_id, slot.tag, slot.wrapped) for slot in slots], using=using)


def remove_all(key: SecretKey | PublicKey, *, using: str) -> None:
    """Delete every slot in which a key lies; by its public half, all but those of version 1."""
    keys = conf.mac_keys()
    if isinstance(key, SecretKey):
        tags = [tag for kind in KINDS for tag in slot_tags(key, kind=kind, peppers=keys)]
    else:
        tags = [stored_tag(key, kind=kind, pepper=pepper) for kind in KINDS for pepper in keys]
    store.delete_slots_by_tag(tags, using=using)
    tables_beside.slots_gone(key.public_key if isinstance(key, SecretKey) else key, using=using)


def remove_all_of(unlocked: Unlocked) -> None:
    """Delete every slot of an unlocked principal's key, as far as they can be told by what is here of it."""
    key = unlocked.secret_key if unlocked.handover is None else unlocked.public_key
    remove_all(key, using=unlocked.using)


def change_password(unlocked: Unlocked, *, identifier: str, password: str) -> None:
    """Replace the password slot by one of the new identifier and password."""
    serverkeys.require(using=unlocked.using)
    slot = for_password(unlocked.secret_key, identifier=identifier, password=password, using=unlocked.using)
    _replace(unlocked, slot, kind=password_slots.KIND)


def new_recovery_code(unlocked: Unlocked) -> RecoveryCode:
    """Replace the recovery slot; return the code of the new one."""
    serverkeys.require(using=unlocked.using)
    code = RecoveryCode.new()
    _replace(unlocked, for_code(unlocked.secret_key, code, using=unlocked.using), kind=recovery_slots.KIND)
    return code


def replace_other(unlocked: Unlocked, secret: SlotSecret, *, kind: str, beside: Callable[[str], object]) -> None:
    """Put a slot of a kind that is made elsewhere in the place of the one there is; ``beside(alias)`` is called in the same transaction,
    which may be tried again."""
    serverkeys.require(using=unlocked.using)
    slot = _lock(unlocked.secret_key, secret, kind=kind, using=unlocked.using)
    _replace(unlocked, slot, kind=kind, beside=beside)


def remove_kind(public_key: PublicKey, *, kind: str, using: str) -> None:
    """Delete that key's slot of a kind, but those of version 1; in the caller's transaction."""
    tags = [stored_tag(public_key, kind=kind, pepper=pepper) for pepper in conf.mac_keys()]
    store.delete_slots_by_tag(tags, using=using)


def unlock_other(secret: SlotSecret, *, kind: str) -> Unlocked:
    """Open what a secret of a kind that is made elsewhere opens.

    Raises:
        WrongCredentials, ServerKeyUnknown
    """
    databases = knowing_a_key(registry.databases())
    keys = _open([(secret, conf.mac_keys())], kind=kind, databases=databases)
    (key, using), *_ = _meant(keys, None, (), databases, is_from_slot=False)
    unlocked = Unlocked(key, using=using)
    unlocked.entry()
    return unlocked


def _replace(
    unlocked: Unlocked, slot: Slot, *, kind: str, beside: Callable[[str], object] = lambda using: None
) -> None:
    def work() -> None:
        unlocked.entry(lock=True)  # a key that was rotated meanwhile gets no slot
        tags = slot_tags(unlocked.secret_key, kind=kind, peppers=conf.mac_keys())
        store.delete_slots_by_tag(tags, using=unlocked.using)
        add([slot], using=unlocked.using)
        beside(unlocked.using)

    transactions.run(work, using=unlocked.using)


def _lock(secret_key: SecretKey, secret: SlotSecret, *, kind: str, using: str) -> Slot:
    return lock_slot(secret_key, slot_secret=secret, kind=kind, pepper=serverkeys.signing_key(using=using))


def _password_secrets(identifier: str, password: str) -> Iterator[tuple[SlotSecret, Sequence[bytes]]]:
    """As slots are made today, then as older ones may have been, each with the server keys that it may have gone with.

    Slow on purpose, so stop at the first that opens something. A wrong password costs them all, whoever's it is: for each cost,
    one for each server key, and one for the slots of earlier releases.
    """
    keys = conf.mac_keys()
    for opslimit, memlimit_bytes in conf.argon2_costs():
        for pepper in (keys[0], None, *keys[1:]):
            secret = password_slots.derive(
                password, identifier=identifier, opslimit=opslimit, memlimit_bytes=memlimit_bytes, pepper=pepper
            )
            yield secret, keys if pepper is None else [pepper]


# What is known of them without the key


def kinds_of(principal: Model) -> Callable[[], frozenset[str]] | None:
    """Tells, once called, of which kinds the slots of somebody's key are, as far as the server has tagged them: version 1 is not told.
    None: no key."""
    model, reference, using = identity(principal)
    found = entries_of(model, [reference], lock=False, using=using)
    if not found:
        return None
    public_key = PublicKey(found[0].public_key)

    def kinds() -> frozenset[str]:
        tags = {stored_tag(public_key, kind=kind, pepper=pepper): kind for kind in KINDS for pepper in conf.mac_keys()}
        return frozenset(tags[tag] for tag in store.slot_tags_there(tags, using=using))

    return kinds


# What a person types beside the password


def identifier_of(principal: Model) -> str:
    """Their user name.

    Raises:
        PrincipalError: the model has none.
    """
    get_username = getattr(principal, "get_username", None)
    if get_username is None:
        raise PrincipalError(
            f"{principal._meta.label} has no user name; pass the identifier= that the person will type."
        )
    return str(get_username())


def identifier_of_unlocked(unlocked: Unlocked) -> str:
    """The user name of whoever is unlocked, from their account.

    Raises:
        PrincipalError: the account is removed, or the model has no user names.
    """
    account = row_of(unlocked)
    if account is not None:
        return identifier_of(account)
    raise PrincipalError(
        "The account is removed, and with it its user name; pass the identifier= that the person will type."
    )
