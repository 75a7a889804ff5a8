"""The one door of the library: what applications, commands, pages and tasks call.

Every function is atomic: it does all it says or nothing, and raises one of `edna.errors` with a sentence that says what
to do. In a request, those that open or lock a key, disguise or reveal may raise `TooBusy` before they begin. Nothing here keeps state
between calls but the key pool. One file on purpose: the whole contract at one glance.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from django.apps import apps
from django.db import IntegrityError, connections, router
from django.db.models import Model
from django.utils import timezone

from edna import conf, keypool, recordmigrations, registry, store, throttle
from edna.crypto.keys import PublicKey, SecretKey, generate_key_pairs
from edna.custody import password as password_slots
from edna.custody import recovery as recovery_slots
from edna.custody.base import OPENS_NOTHING, Slot, SlotSecret, candidate_ids, lock_slot, slot_tag, unlock_slot
from edna.custody.recovery import RecoveryCode
from edna.db import transactions
from edna.engine import chunks
from edna.engine.bags import ownership, rotation
from edna.engine.bags.capability import Unlocked, listed_locators
from edna.engine.bags.chain import InChunks, chunks_of
from edna.engine.books import departure, expiry_dates, noted, sessions
from edna.engine.books.measurements import measured, measuring
from edna.engine.by_hand import handmade
from edna.engine.by_hand.handmade import Session
from edna.engine.disguising import execute as disguising
from edna.engine.files import file_tasks
from edna.engine.files.file_tasks import FinishedFiles
from edna.engine.forwarding import replay_log, table_history
from edna.engine.graph import staff as the_staff
from edna.engine.graph.outcome import Held, Outcome, Reason
from edna.engine.graph.references import key_of, reference_of, without_row
from edna.engine.graph.tally import Recorded
from edna.engine.planning import plan as planning
from edna.engine.planning.steps import Plan, PlannedTable, Target, TooManyRows
from edna.engine.revealing import reveal as revealing
from edna.engine.revealing.blobs import Revealed
from edna.errors import (
    ConstraintRefused,
    DatabaseBusy,
    NotYours,
    PrincipalAlreadyRegistered,
    PrincipalError,
    PrincipalNotRegistered,
    ReceiptMalformed,
    ReceiptsIncomplete,
    UnregisteredOwners,
    WrongCredentials,
)
from edna.records.bag import BagKind
from edna.records.diff import DiffBatch
from edna.records.locator import Locator, Receipt
from edna.spec import Disguise, validated_params
from edna.store import serverkeys

__all__ = [
    "FinishedFiles",
    "Held",
    "HistoryEntry",
    "Outcome",
    "Plan",
    "PlannedTable",
    "PublicKey",
    "Reason",
    "Receipt",
    "RecoveryCode",
    "Registration",
    "Revealed",
    "SecretKey",
    "Session",
    "Unlocked",
    "change_password",
    "disguise",
    "disguise_all",
    "end_sessions_on_removal",
    "finish_files",
    "forget_principal",
    "forget_session",
    "history",
    "is_pseudoprincipal",
    "is_registered",
    "migrations_without_rule",
    "new_recovery_code",
    "note_activity",
    "plan",
    "plan_all",
    "principal",
    "register_principal",
    "register_principals",
    "replay",
    "reveal",
    "rotate",
    "rules_without_migration",
    "session",
    "session_epoch",
    "speak_as",
    "speaks_for",
    "unlock",
    "unregistered",
]

#: Principals that a global disguise takes at once: enough to make statements cheap, few enough to fit memory.
_TARGETS_AT_ONCE = 500

Principal = TypeVar("Principal", bound=Model)


@dataclasses.dataclass(frozen=True)
class Registration:
    """What registering returned: shown once, stored nowhere. Without a generated key, only the public half."""

    public_key: PublicKey
    secret_key: SecretKey | None = None
    recovery_code: RecoveryCode | None = None


@dataclasses.dataclass(frozen=True)
class HistoryEntry:
    """One disguise that can be revealed. ``counts`` are rows by model, each once."""

    receipt: Receipt
    name: str
    applied_at: datetime.datetime
    counts: dict[str, int]
    params: dict[str, Any]
    _recorded: Recorded = dataclasses.field(default_factory=Recorded, repr=False, compare=False)

    @staticmethod
    def counts_together(entries: Iterable[HistoryEntry]) -> dict[str, int]:
        """The rows of several entries of one history by model, each once: the same disguise may be there twice, say.

        Given in the order of the history, newest first.
        """
        together = Recorded()
        for entry in reversed(list(entries)):
            together.include(entry._recorded)
        return together.counts()


# Registering


def register_principal(
    principal: Model,
    *,
    password: str | None = None,
    identifier: str | None = None,
    public_key: PublicKey | bytes | None = None,
) -> Registration:
    """Give a user a key pair, so that their data can be disguised.

    Without ``public_key`` the pair is generated here: the secret key exists only in the returned registration and, wrapped,
    in a recovery slot and (with ``password``) a password slot. ``identifier`` is what the person will type beside the
    password; the user name unless given.

    Raises:
        PrincipalAlreadyRegistered: this user or key is registered already; nothing was changed.
        PrincipalError: the user is not saved, or not of a principal model.
        ServerKeyUnknown: the key slots would need a server key that is not this site's.
    """
    if password is not None:
        throttle.admit()
    model, reference, using = _identity(principal)
    serverkeys.require(using=using)
    if public_key is not None:
        given = public_key if isinstance(public_key, PublicKey) else PublicKey(public_key)
        transactions.run(lambda: _add_principals(model, {reference: given}, using=using), using=using)
        return Registration(given)
    secret_key, code = SecretKey.generate(), RecoveryCode.new()
    slots = [_lock(secret_key, recovery_slots.derive(code), kind=recovery_slots.KIND)]
    if password is not None:
        secret = _password_secret(_identifier(principal, identifier), password)
        slots.append(_lock(secret_key, secret, kind=password_slots.KIND))

    def work() -> None:
        _add_principals(model, {reference: secret_key.public_key}, using=using)
        store.add_slots([(slot.slot_id, slot.tag, slot.wrapped) for slot in slots], using=using)

    transactions.run(work, using=using)
    return Registration(secret_key.public_key, secret_key, code)


def register_principals(principals: Iterable[Model]) -> list[Registration]:
    """Register many at once with generated keys and no slots, in one transaction: the caller hands out the keys.

    Raises:
        PrincipalAlreadyRegistered: one of them is registered already; nothing was changed.
        ServerKeyUnknown: the server's key is not this site's.
    """
    identities = [_identity(principal) for principal in principals]
    registrations = [Registration(key.public_key, key) for key in generate_key_pairs(len(identities))]
    # By model: two of them may well have the same primary key.
    public_keys: dict[type[Model], dict[str, PublicKey]] = {}
    for (model, reference, _), registration in zip(identities, registrations, strict=True):
        public_keys.setdefault(model, {})[reference] = registration.public_key
    if sum(map(len, public_keys.values())) < len(identities):
        raise PrincipalAlreadyRegistered("One principal is named twice; register each principal once.")

    def work() -> None:
        for model, keys in public_keys.items():
            _add_principals(model, keys, using=using)

    if identities:
        using = identities[0][2]
        serverkeys.require(using=using)
        transactions.run(work, using=using)
    return registrations


def _add_principals(model: type[Model], public_keys: Mapping[str, PublicKey], *, using: str) -> None:
    """Add natural principals, whose rows must exist: a removed person's key waits for them under their receipt."""
    missing = without_row(model, list(public_keys), using=using)
    if missing:
        raise PrincipalError(
            f"{model._meta.label} {', '.join(missing)} has no row: save it first. "
            "If the account was removed by a disguise, reveal that instead of registering it again."
        )
    label = model._meta.label_lower
    store.add_entries([(bytes(key), label, reference, True) for reference, key in public_keys.items()], using=using)


def is_registered(principal: Model) -> bool:
    model, reference, using = _identity(principal)
    return bool(store.entries_by_reference(model._meta.label_lower, [reference], using=using))


def unregistered(principals: Iterable[Principal]) -> list[Principal]:
    """Those of them who have no key, in their order; as many statements for all as for one."""
    identities = [(principal, *_identity(principal)) for principal in principals]
    references: dict[tuple[str, str], list[str]] = {}
    for _, model, reference, using in identities:
        references.setdefault((model._meta.label_lower, using), []).append(reference)
    registered = {
        (entry.model, entry.reference)
        for (label, using), wanted in references.items()
        for entry in store.entries_by_reference(label, wanted, using=using)
    }
    return [
        principal
        for principal, model, reference, _ in identities
        if (model._meta.label_lower, reference) not in registered
    ]


def is_pseudoprincipal(principal: Model) -> bool:
    """Whether this row of a principal model is a placeholder that a disguise made."""
    model, reference, using = _identity(principal)
    return store.is_pseudoprincipal(model._meta.label_lower, reference, using=using)


def change_password(unlocked: Unlocked, *, identifier: str, password: str) -> None:
    """Replace the password slot: the old password opens nothing from here on, whatever it went with.

    However the key was opened: whoever has the recovery code needs no old password. ``identifier`` may be a new one.

    Raises:
        PrincipalNotRegistered, CapabilityClosed, ServerKeyUnknown, DatabaseBusy. Nothing was changed then.
    """
    throttle.admit()
    serverkeys.require(using=unlocked.using)
    slot = _lock(unlocked.secret_key, _password_secret(identifier, password), kind=password_slots.KIND)
    _replace_slot(unlocked, slot, kind=password_slots.KIND)


def new_recovery_code(unlocked: Unlocked) -> RecoveryCode:
    """Replace the recovery slot: the old code opens nothing from here on. The new one is shown once, and stored nowhere.

    The key, its password and all receipts stay as they are; when somebody else may have had the old code, `rotate` instead. Of two that
    are asked for at once, the one that was made last is good, and the other opens nothing.

    Raises:
        PrincipalNotRegistered, CapabilityClosed, ServerKeyUnknown, DatabaseBusy. Nothing was changed then.
    """
    throttle.admit()
    serverkeys.require(using=unlocked.using)
    code = RecoveryCode.new()
    slot = _lock(unlocked.secret_key, recovery_slots.derive(code), kind=recovery_slots.KIND)
    _replace_slot(unlocked, slot, kind=recovery_slots.KIND)
    return code


def _replace_slot(unlocked: Unlocked, slot: Slot, *, kind: str) -> None:
    def work() -> None:
        unlocked.entry(lock=True)  # a key that was rotated meanwhile gets no slot
        store.delete_slots_by_tag(slot_tag(unlocked.secret_key, kind=kind), using=unlocked.using)
        store.add_slots([(slot.slot_id, slot.tag, slot.wrapped)], using=unlocked.using)

    transactions.run(work, using=unlocked.using)


def rotate(
    unlocked: Unlocked,
    *,
    password: str | None = None,
    identifier: str | None = None,
    public_key: PublicKey | bytes | None = None,
    receipts_complete: bool = False,
    leave_damaged: bool = False,
) -> Registration:
    """Replace a principal's key, and those of everyone they speak for, after a compromise: the old ones open nothing any more.

    Everything is sealed anew, all or nothing; receipts stay good. ``unlocked`` is closed. All key slots go; the returned registration
    has a new secret key and recovery code, and with ``password`` there is a password slot again (``identifier`` as in
    `register_principal`; it has to be given while the account is removed). With ``public_key`` the new pair was made elsewhere.

    In locator mode ``client`` only what the receipts given to `unlock` lead to can be sealed anew: ``receipts_complete`` says that they
    are all there are. ``leave_damaged`` gives up bags that do not open, instead of refusing.

    Raises:
        ReceiptsIncomplete, ReceiptForeign, BagError, PrincipalNotRegistered, PrincipalAlreadyRegistered, CapabilityClosed,
        ServerKeyUnknown, DatabaseBusy. Nothing was changed then.
    """
    throttle.admit()
    old, using = unlocked.secret_key, unlocked.using
    serverkeys.require(using=using)
    if public_key is not None and (password is not None or identifier is not None):
        raise TypeError("rotate(public_key=...) makes no key slots: the secret key is not here.")
    if not receipts_complete and registry.any_unlisted():
        raise ReceiptsIncomplete(
            "Receipts may be the only way to some bags of this principal (locator mode client). Unlock with all their receipts, "
            "and pass receipts_complete=True; whatever they do not lead to would be lost. Nothing was changed."
        )
    slots = []
    if public_key is not None:
        made = Registration(public_key if isinstance(public_key, PublicKey) else PublicKey(public_key))
    else:
        secret_key, code = SecretKey.generate(), RecoveryCode.new()
        made = Registration(secret_key.public_key, secret_key, code)
        slots.append(_lock(secret_key, recovery_slots.derive(code), kind=recovery_slots.KIND))
        if password is not None:
            secret = _password_secret(identifier or _identifier_of(unlocked), password)
            slots.append(_lock(secret_key, secret, kind=password_slots.KIND))

    def work() -> None:
        rotation.rotate(unlocked, made.public_key, leave_damaged=leave_damaged)
        for kind in (password_slots.KIND, recovery_slots.KIND):
            store.delete_slots_by_tag(slot_tag(old, kind=kind), using=using)
        if slots:
            store.add_slots([(slot.slot_id, slot.tag, slot.wrapped) for slot in slots], using=using)

    try:
        transactions.run(work, using=using)
    except PrincipalAlreadyRegistered:
        # The pool is a copy of another process's, perhaps, so that a drawn key is somebody's: all are drawn again. If it is the
        # principal's own new key, the second attempt says so.
        keypool.pool.wipe()
        transactions.run(work, using=using)
    unlocked.close()
    return made


def _identifier_of(unlocked: Unlocked) -> str:
    """What the unlocked person types beside the password, from their account."""
    found = principal(unlocked)
    if found is not None:
        return _identifier(found, None)
    raise PrincipalError(
        "The account is removed, and with it its user name; pass the identifier= that the person will type."
    )


# Unlocking


def unlock(
    *,
    secret_key: SecretKey | str | None = None,
    identifier: str | None = None,
    password: str | None = None,
    recovery_code: RecoveryCode | str | None = None,
    receipts: Sequence[Receipt | str] = (),
    principal: Model | None = None,
) -> Unlocked:
    """Open a principal's keys from exactly one of: the secret key, identifier and password, or the recovery code.

    ``receipts`` tell where to look where locators are not kept by the server (locator mode ``client``). Use the result in a
    ``with`` block; it forgets its keys at the end.

    Somebody may have registered anew with the identifier and password of an account that is removed. Then it is ``principal``'s key that is
    meant; without, that of a receipt; without, that of the removed account.

    Raises:
        WrongCredentials: they open nothing; it is not said whether the person was ever here.
        KeyMalformed, RecoveryCodeMalformed, ReceiptMalformed: mistyped.
        ServerKeyUnknown: it is the server's key that is wrong, so that nothing would open.
    """
    throttle.admit()
    using = router.db_for_write(registry.principal_models()[0])
    serverkeys.require_any(using=using)
    if sum(given is not None for given in (secret_key, password, recovery_code)) != 1:
        raise TypeError("unlock() takes exactly one of secret_key=, identifier= with password=, or recovery_code=.")
    locators = [_receipt(receipt).locator for receipt in receipts]
    if isinstance(secret_key, str):
        secret_key = SecretKey.parse(secret_key)
    elif secret_key is None:
        if recovery_code is not None:
            code = RecoveryCode.parse(recovery_code) if isinstance(recovery_code, str) else recovery_code
            keys = _open_slots([(recovery_slots.derive(code), conf.mac_keys())], kind=recovery_slots.KIND, using=using)
        elif identifier is None:
            raise TypeError("unlock(password=...) needs the identifier= that the password was registered with.")
        else:
            keys = _open_slots(_password_secrets(identifier, str(password)), kind=password_slots.KIND, using=using)
        secret_key = _meant(keys, principal, locators, using=using)
    unlocked = Unlocked(secret_key, using=using, locators=locators)
    unlocked.entry()
    return unlocked


def principal(unlocked: Unlocked) -> Model | None:
    """The row of who is unlocked, read now, with whatever disguises have made of it; None while the account is removed.

    For pages on which people prove who they are by their key alone, because a disguise has changed what they log in with.
    """
    entry = unlocked.entry()
    if not entry.attached:
        return None
    model: type[Model] = apps.get_model(entry.model)
    return model._base_manager.using(unlocked.using).filter(pk=entry.reference).first()


def _open_slots(secrets: Iterable[tuple[SlotSecret, Sequence[bytes]]], *, kind: str, using: str) -> list[SecretKey]:
    """What lies in the slots of the first of ``secrets`` that opens any, each under one of its server keys.

    A slot that would be made otherwise today, because of another server key, cost or salt, is put in today's form: with the first of
    ``secrets``, which is there already.
    """
    newest: SlotSecret | None = None
    opened: list[SecretKey] = []
    for secret, keys in secrets:
        newest = newest or secret
        rows = store.find_slots(candidate_ids(secret, peppers=keys), using=using)
        for row in rows:
            with contextlib.suppress(WrongCredentials):  # changed by somebody; others of the same id may open
                opened.append(unlock_slot(Slot(*row), slot_secret=secret, peppers=keys))
                if row[0] not in candidate_ids(newest, peppers=conf.mac_keys()[:1]) and serverkeys.may_seal(
                    using=using
                ):
                    made = _lock(opened[-1], newest, kind=kind)
                    renew = partial(
                        store.replace_slot,
                        row[0],
                        slot_id=made.slot_id,
                        tag=made.tag,
                        wrapped=made.wrapped,
                        using=using,
                    )
                    transactions.statement(renew, using=using)
        if rows:
            break
    if not opened:
        raise WrongCredentials(OPENS_NOTHING)
    return opened


def _meant(
    keys: Sequence[SecretKey], principal: Model | None, locators: Collection[Locator], *, using: str
) -> SecretKey:
    """Of keys that the same identifier and password open: that of ``principal``, else the one to whom a receipt was given, else that of
    somebody whose account is removed, for whom there may be no other way."""
    if len(keys) == 1:
        return keys[0]
    wanted = _identity(principal)[:2] if principal is not None else None
    entries = {entry.public_key: entry for entry in store.entries_by_public_key(map(_public, keys), using=using)}

    def rank(key: SecretKey) -> int:
        entry = entries.get(_public(key))
        if entry is None:
            return 4
        if wanted is not None and (entry.model, entry.reference) == (wanted[0]._meta.label_lower, wanted[1]):
            return 0
        if locators and any(locator in locators for _, locator in listed_locators(entry, key)):
            return 1
        return 3 if entry.attached else 2

    return min(keys, key=rank)


def _public(key: SecretKey) -> bytes:
    return bytes(key.public_key)


def _lock(secret_key: SecretKey, secret: SlotSecret, *, kind: str) -> Slot:
    using = router.db_for_write(registry.principal_models()[0])
    return lock_slot(secret_key, slot_secret=secret, kind=kind, pepper=serverkeys.signing_key(using=using))


def _password_secret(identifier: str, password: str) -> SlotSecret:
    """What a password slot is made with today."""
    secret, _ = next(_password_secrets(identifier, password))
    return secret


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


def _identifier(principal: Model, identifier: str | None) -> str:
    if identifier is not None:
        return identifier
    get_username = getattr(principal, "get_username", None)
    if get_username is None:
        raise PrincipalError(
            f"{principal._meta.label} has no user name; pass the identifier= that the person will type."
        )
    return str(get_username())


# Disguising


def plan(
    name: str, principal: Model, *, params: Mapping[str, Any] | None = None, unlocked: Unlocked | None = None
) -> Plan:
    """What ``disguise`` would do, table by table. Reads only, so what it says may be overtaken by the application.

    Raises:
        What ``disguise`` would refuse with before it begins.
    """
    cls = registry.get(name)
    model, reference, using = _identity(principal, cls)
    serverkeys.require(using=using)
    given = validated_params(cls, params)
    target = _target(model, reference, unlocked, using=using, lock=False)
    return planning.build(cls, [target], params=given, using=using, lock=False)


def plan_all(name: str, *, params: Mapping[str, Any] | None = None, staff: bool = True) -> Plan:
    """What ``disguise_all`` would do, for everybody together. Reads only."""
    cls = registry.get(name)
    given = validated_params(cls, params)
    model = registry.principal_model_for(cls)
    using = router.db_for_write(model)
    serverkeys.require(using=using)
    but = set() if staff else the_staff.references(model, using=using)
    return planning.build_for_everybody(cls, params=given, using=using, but=but)


@measured("disguise")
def disguise(
    name: str,
    principal: Model,
    *,
    params: Mapping[str, Any] | None = None,
    unlocked: Unlocked | None = None,
    atomic: bool = False,
    operator: str = "",
) -> Receipt:
    """Apply a disguise to one principal and return the receipt, which says where its bags are.

    With ``unlocked``, data that earlier disguises gave to pseudoprincipals is disguised too, and everything is sealed to
    the unlocked principal's own key. In locator mode ``client`` only the receipt leads back: to keep it before the disguise is
    committed, call this inside ``transaction.atomic()``.

    More than ``EDNA["CHUNK_ROWS"]`` rows are disguised in chunks, each in a transaction of its own, the principal's own row in
    the last. If that is interrupted, the chunks that are done stay disguised: `history` lists them under a receipt of their own, and
    calling this again disguises the rest. Everything happens in one transaction with ``atomic``, in locator mode ``client``, and
    inside a transaction of the caller.

    ``operator`` is who does it for somebody else: with it, the act is noted in the audit trail (not for whom).

    Raises:
        UnknownDisguise, InvalidParameters, PrincipalNotRegistered, NotYours, DanglingReferences, ConstraintRefused,
        ServerKeyUnknown, DatabaseBusy; PrincipalError: the disguise is for another principal model. Nothing was changed then, but by
        chunks that were done before.
    """
    throttle.admit()
    cls = registry.get(name)
    model, reference, using = _identity(principal, cls)
    serverkeys.require(using=using)
    given = validated_params(cls, params)
    # In mode client, chunks whose receipt nobody has got yet must not be there.
    whole = atomic or (cls.locators or conf.locator_mode()) == "client" or _inside_another_transaction(using)

    def work() -> Receipt:
        if unlocked is not None:
            # Looked up before the locks were taken, it may lack what somebody else disguised meanwhile.
            unlocked.forget_voices()
        target = _target(model, reference, unlocked, using=using, lock=True)
        most = None if whole or not target.entry.natural else conf.chunk_rows()
        prepared = planning.build(
            cls, [target], params=given, using=using, lock=True, most=most, lock_principals_first=True
        )
        receipt = disguising.execute(prepared, now=timezone.now(), using=using)[0]
        note()
        return receipt

    def note() -> None:
        if operator:
            noted.act("disguise", operator=operator, disguise=cls.name, principals=1)

    def in_chunks() -> Receipt:
        # Before the first chunk: none of them is to be done that nothing tells of.
        note()
        target = _target(model, reference, unlocked, using=using, lock=False)
        return chunks.disguise(cls, target, params=given, using=using)

    receipt = None
    with contextlib.suppress(TooManyRows):
        receipt = _applied(cls, work, using=using)
    if receipt is None:
        receipt = _applied(cls, in_chunks, using=None)
    if unlocked is not None:
        unlocked.forget_voices()
    return receipt


def _inside_another_transaction(using: str) -> bool:
    return connections[using].in_atomic_block


@measured("disguise_all")
def disguise_all(
    name: str,
    *,
    params: Mapping[str, Any] | None = None,
    staff: bool = True,
    progress: Callable[[int, int], None] | None = None,
    operator: str = "",
) -> list[Receipt]:
    """Apply a disguise to every principal who owns a row that it means, pseudoprincipals included; needs no secret.

    All or nothing, in one transaction. Without ``staff``, those stay as they are who run the site (``EDNA["STAFF"]``).
    ``progress(done, total)`` is called after each batch of principals. The audit trail notes it, under the name of the ``operator``.

    Raises:
        UnregisteredOwners: some of those rows belong to somebody without a key; nothing was changed.
        ServerKeyUnknown: the server's key is not this site's; nothing was changed.
    """
    throttle.admit()
    cls = registry.get(name)
    given = validated_params(cls, params)
    model = registry.principal_model_for(cls)
    using = router.db_for_write(model)
    serverkeys.require(using=using)

    def work() -> list[Receipt]:
        references = planning.owners_with_rows(cls, given, using=using)
        if not staff:
            references -= the_staff.references(model, using=using)
        entries = [entry for part in _batched(sorted(references)) for entry in _entries(model, part, using=using)]
        without_key = references - {str(entry.reference) for entry in entries}
        # A value that no row of the principal model has, such as 0 for "nobody", is no owner.
        unregistered = (
            len(without_key) - len(without_row(model, sorted(without_key), using=using)) if without_key else 0
        )
        if unregistered:
            raise UnregisteredOwners(
                f"{cls.name}: {unregistered} owner(s) of the rows that it means have no key; "
                "register them first (manage.py edna_register --all --keys-file FILE)."
            )
        receipts: list[Receipt] = []
        for part in _batched([str(entry.reference) for entry in entries]):
            # Read anew: an earlier batch may have put something into their lists.
            targets = [Target(entry, (entry,)) for entry in _entries(model, part, using=using)]
            planning.lock_principals(model, targets, using=using)
            prepared = planning.build(cls, targets, params=given, using=using, lock=True, first_owner_only=True)
            receipts += disguising.execute(prepared, now=timezone.now(), using=using)
            if progress is not None:
                progress(len(receipts), len(entries))
        if receipts:
            noted.act("disguise", operator=operator, disguise=cls.name, principals=len(receipts), whom="everybody")
        return receipts

    return _applied(cls, work, using=using)


#: What an error in the middle of several transactions says instead of "nothing was changed".
_STAYS = "The chunks that were done before stay as they are: `edna.history` shows them, and trying again does the rest."

Item = TypeVar("Item")
Result = TypeVar("Result")


def _applied(cls: type[Disguise], work: Callable[[], Result], *, using: str | None) -> Result:
    """``work()`` in a transaction, or without, if it makes its own: several."""
    try:
        return work() if using is None else transactions.run(work, using=using)
    except IntegrityError:
        pass
    except DatabaseBusy as error:
        if using is not None:
            raise
        raise DatabaseBusy(f"The database was too busy in the middle of {cls.name}. {_STAYS}") from error
    # Outside of the handler: the database's words quote the values of rows, and end up in logs.
    raise ConstraintRefused(
        f"The database refused {cls.name}: one of its constraints would be broken. "
        f"{_STAYS if using is None else 'Nothing was changed.'} "
        "Cover every table that refers to what is removed, and give unique columns unique placeholders."
    )


def _batched(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), _TARGETS_AT_ONCE):
        yield items[start : start + _TARGETS_AT_ONCE]


def _entries(model: type[Model], references: Sequence[str], *, using: str) -> list[store.Entry]:
    return store.entries_by_reference(model._meta.label_lower, references, using=using, lock=True)


def _target(model: type[Model], reference: str, unlocked: Unlocked | None, *, using: str, lock: bool) -> Target:
    entries = store.entries_by_reference(model._meta.label_lower, [reference], using=using, lock=lock)
    if not entries:
        raise PrincipalNotRegistered(
            f"{model._meta.label} {reference} has no key. If the account was removed, reveal it; otherwise "
            "call edna.register_principal first."
        )
    entry = entries[0]
    if unlocked is None:
        return Target(entry, (entry,))
    if entry.public_key != bytes(unlocked.public_key):
        raise NotYours(
            f"The unlocked principal is not {model._meta.label} {reference}; unlock with that person's own key."
        )
    if lock:
        unlocked.voices(lock=True)
    unlocked.require_all_voices()
    others = [voice.entry for voice in unlocked.spoken_for()] if lock else unlocked.spoken_for_now()
    owners = (entry, *(other for other in others if other.attached))
    return Target(entry, owners, unlocked.speaking(), frozenset(unlocked.needed()))


@contextlib.contextmanager
def session(principal: Model, name: str, *, unlocked: Unlocked | None = None) -> Iterator[Session]:
    """A disguise by hand: what the block does through the session is one transaction, and one receipt at its end.

    ``name`` is one that a function is registered under with `on_reveal`. Leaving the block by an exception changes nothing.
    With ``unlocked``, what belongs to pseudoprincipals of the principal can be disguised, too.

    Raises:
        UnknownDisguise, PrincipalNotRegistered, NotYours, ConstraintRefused, ServerKeyUnknown, DatabaseBusy. Nothing was changed then.
    """
    throttle.admit()
    cls = registry.by_hand(name)
    model, reference, using = _identity(principal)
    serverkeys.require(using=using)

    def begin() -> Session:
        if unlocked is not None:
            unlocked.forget_voices()
        target = _target(model, reference, unlocked, using=using, lock=True)
        planning.lock_principals(model, [target], using=using)
        return Session(cls, model, target, using=using)

    opened: Session | None = None
    committed = False
    try:
        block = transactions.block(begin, Session.finish, refusal=lambda: handmade.refusal(cls), using=using)
        with measuring("session", name), block as opened:
            yield opened
        committed = True
    finally:
        if opened is not None:
            opened.close(committed=committed)
        if unlocked is not None:
            unlocked.forget_voices()


# Revealing


@measured("reveal")
def reveal(
    receipt: Receipt | str,
    unlocked: Unlocked,
    *,
    overrides: Mapping[str, Any] | None = None,
    allow_partial: bool = True,
    atomic: bool = False,
) -> Outcome:
    """Undo one disguise. What cannot be undone now stays sealed and is listed in ``Outcome.held`` with its reason.

    ``overrides`` gives new values for unique columns that somebody else has taken meanwhile: ``{"shop.user.email": "b@x.org"}``.

    A disguise that was applied in chunks comes back chunk by chunk, the last one first. If that is interrupted, what is back is
    back, and the same receipt leads to the rest. Everything happens in one transaction with ``atomic``, without
    ``allow_partial``, and inside a transaction of the caller.

    Raises:
        ReceiptMalformed, ReceiptUnknown, ReceiptForeign, BagError, RevealRefused, ConstraintRefused, DatabaseBusy,
        ServerKeyUnknown, CapabilityClosed. Nothing was changed then, but by chunks that came back before.
    """
    throttle.admit()
    parsed, using = _receipt(receipt), unlocked.using
    serverkeys.require_any(using=using)
    new_values, whole, several = overrides or {}, atomic or not allow_partial, False
    try:
        try:
            return transactions.run(
                lambda: revealing.reveal(parsed, unlocked, overrides=new_values, allow_partial=allow_partial),
                using=using,
            )
        except InChunks:
            pass  # it goes on below: what goes wrong there has nothing to do with this

        def in_chunks() -> Outcome:
            return chunks.reveal(
                parsed, unlocked, overrides=new_values, allow_partial=allow_partial, separately=not whole
            )

        several = not whole
        return transactions.run(in_chunks, using=using) if whole else in_chunks()
    except IntegrityError:
        pass
    except DatabaseBusy as error:
        if not several:
            raise
        raise DatabaseBusy(f"The database was too busy in the middle of {parsed.disguise}. {_STAYS}") from error
    # Outside of the handler: the database's words quote the values of rows, and end up in logs.
    raise ConstraintRefused(
        f"The database refused to take back {parsed.disguise}: somebody has just made a row that stands in the way. "
        f"{_STAYS if several else 'Nothing was changed; try again.'}"
    )


def replay(model: type[Model], *, where: Mapping[str, Any], set: Mapping[str, Any]) -> int:
    """Update rows, and do the same to rows that are under disguise when they come back: for a moderator's redaction.

    ``where`` maps the model's own columns to exact values (a list means any of them), ``set`` to the values that they get. Returns
    how many rows were updated now; of those under disguise nobody can know.

    Raises:
        InvalidParameters: no columns of the model, or values that they cannot have.
        ConstraintRefused: the database refuses the update. Nothing was changed then.
        ServerKeyUnknown: the log would be sealed under a server key that is not this site's.
    """
    using = router.db_for_write(model)
    serverkeys.require(using=using)
    try:
        return transactions.run(lambda: replay_log.perform(model, where, set, using=using), using=using)
    except IntegrityError:
        pass
    raise ConstraintRefused(
        f"{model._meta.label} was not changed: the database would have one of its constraints broken. "
        "set a value that may stand in all the rows that you mean."
    )


def history(unlocked: Unlocked) -> list[HistoryEntry]:
    """Every disguise of this principal, and of the pseudoprincipals they speak for, that can be revealed; newest first.

    In locator mode ``client`` only what the ``receipts`` given to `unlock` lead to is found. A disguise of which a bag was damaged or
    is missing is left out, and the error is in ``unlocked.damaged``; revealing by its receipt raises it.
    """
    wanted = unlocked.keys_by_locator()
    chunked = {locator.chunk(number): locator for locator in wanted for number in chunks_of(locator, wanted.keys())[1:]}
    found: dict[Locator, HistoryEntry] = {}
    for locator, bag in unlocked.open_all(wanted, BagKind.DIFF):
        first = chunked.get(locator, locator)
        known = found.get(first)
        if known is None or bag.applied_at < known.applied_at:
            recorded = known._recorded if known else Recorded(bag.principal_model, bag.principal)
            found[first] = HistoryEntry(
                Receipt(bag.disguise, first), bag.disguise, bag.applied_at, {}, dict(bag.params), recorded
            )
        found[first]._recorded.add(batch for batch in bag.batches if isinstance(batch, DiffBatch))
    for entry in found.values():
        entry.counts.update(entry._recorded.counts())
    damaged = {chunked.get(locator, locator) for locator in wanted if unlocked.is_damaged(locator)}
    entries = [entry for first, entry in found.items() if first not in damaged]
    return sorted(entries, key=lambda entry: entry.applied_at, reverse=True)


def speaks_for(unlocked: Unlocked, model: type[Model] | None = None) -> list[Any]:
    """Primary keys of the pseudoprincipals that this principal speaks for, at any depth, whose rows exist.

    Whose entry was changed past edna is left out, and an `EntryForged` is in ``unlocked.damaged``.
    """
    label = None if model is None else model._meta.label_lower
    return [
        apps.get_model(voice.entry.model)._meta.pk.to_python(voice.entry.reference)
        for voice in unlocked.spoken_for()
        if voice.entry.attached and label in (None, voice.entry.model)
    ]


def speak_as(unlocked: Unlocked, obj: Model, *, owner: str | None = None) -> Model:
    """The pseudoprincipal that owns ``obj``, if this principal speaks for it: act as its owner without revealing anything.

    Who owns a row is what the registered disguises say of its model (every ``owner`` of their steps), read from the database
    now. Of several owners it is the one that is theirs. For a model of which no disguise says anything, its only foreign key to a
    principal model counts; ``owner`` says which one, where there are several.

    Raises:
        NotYours: no owner of ``obj`` is a pseudoprincipal of this principal.
        SpecError: ``owner`` is no path to a principal model.
    """
    found = ownership.spoken_for(obj, speaks_for, unlocked, owner=owner)
    if found is None:
        raise NotYours(
            f"This key speaks for no owner of {obj._meta.label} {obj.pk}; unlock with the key of the person who wrote it."
        )
    return found


def _receipt(receipt: Receipt | str) -> Receipt:
    if isinstance(receipt, str):
        return Receipt.parse(receipt)
    if not isinstance(receipt, Receipt):
        raise ReceiptMalformed(f"A receipt is an edna.Receipt or its text; this is a {type(receipt).__name__}.")
    return receipt


# Files


def finish_files() -> FinishedFiles:
    """Delete and write what a crash, or a storage that did not answer, has left of disguises and reveals. ``left`` says what it could not.

    Two processes that do this at once do no harm.

    Raises:
        ServerKeyUnknown: no key of the server's is this site's: what it has noted would pass for forged. Nothing was done.
    """
    using = router.db_for_write(registry.principal_models()[0])
    serverkeys.require_any(using=using)
    return file_tasks.finish(using=using)


# Schema changes, called from the checks


def rules_without_migration() -> list[tuple[str, str]]:
    """For which `record_migration` functions there is no migration."""
    return [
        (app_label, name) for app_label, name in recordmigrations.named() if not table_history.known(app_label, name)
    ]


def migrations_without_rule(app_labels: Iterable[str]) -> list[tuple[str, str]]:
    """Migrations of these applications that run code, and for which no function says what it means for records."""
    found = [(app_label, name) for app_label in app_labels for name in table_history.unreadable(app_label)]
    return [(app_label, name) for app_label, name in found if not recordmigrations.rules_for(app_label, name)]


# Sessions and activity, called from the edges


def end_sessions_on_removal(principal: Model, session_key: str) -> None:
    """Note that this session is the principal's, so that removing the principal ends it.

    Raises:
        ServerKeyUnknown: it would be noted under a server key that is not this site's.
    """
    model, reference, using = _identity(principal)
    sessions.link(model._meta.label_lower, reference, session_key, using=using)


def session_epoch(principal: Model) -> str | None:
    """What a session that lies in a cookie has to know to be this principal's; None if they have never returned."""
    model, reference, using = _identity(principal)
    return sessions.epoch(model._meta.label_lower, reference, using=using)


def forget_session(session_key: str) -> None:
    sessions.unlink(session_key, using=router.db_for_write(registry.principal_models()[0]))


def forget_principal(principal: Model) -> None:
    """The application deleted a principal's row by itself: the entry must not wait for the next row of that key.

    One that this site did not write stays as it is, as evidence; nothing is sealed to it, whoever has that key next.
    """
    model, reference, using = _identity(principal)

    def work() -> None:
        # Locked: what is written back must not be older than what somebody else has added, or sealed to a new key, meanwhile.
        entries = _entries(model, [reference], using=using)
        kept_until = expiry_dates.entry_bucket(expiry_dates.today(), listed_before=True, using=using)
        ours = [entry.detached(expires_on=kept_until) for entry in entries if entry.sound]
        if ours:
            store.save_entries(ours, using=using)
        departure.forget(entries, using=using)

    transactions.run(work, using=using)


def note_activity(principal: Model, *, today: datetime.date) -> None:
    """Keep the date of a principal's last activity, no finer, for schedules."""
    model, reference, using = _identity(principal)
    label = model._meta.label_lower
    # A job that is about to disguise them may be in the way: nobody's login is to fail for that.
    transactions.statement(lambda: store.touch_entry(label, reference, today=today, using=using), using=using)


def _identity(principal: Model, disguise: type[Disguise] | None = None) -> tuple[type[Model], str, str]:
    """The principal model, the reference, and the database of a user.

    Raises:
        PrincipalError: the user is not saved, not of a principal model, or not of the one that ``disguise`` is for.
    """
    model = registry.principal_model_of(principal)
    if disguise is not None and model is not (wanted := registry.principal_model_for(disguise)):
        # Somebody there has the same primary key, and their rows would be disguised.
        raise PrincipalError(f"{disguise.name} is for {wanted._meta.label}; this is a {model._meta.label}.")
    # Not its own primary key: a multi-table child may have another one.
    key = getattr(principal, model._meta.pk.attname)
    if key is None:
        raise PrincipalError(f"This {model._meta.label} is not saved yet; save it first.")
    using = router.db_for_write(model)
    return model, reference_of(model, key_of(model, str(key), using=using)), using
