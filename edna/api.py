"""The one door of the library: what applications, commands, pages and tasks call.

Every function is atomic: it does all it says or nothing, and raises one of `edna.errors` with a sentence that says what
to do. In a request, those that open or lock a key, disguise or reveal may raise `TooBusy` before they begin. Nothing here keeps state
between calls but the key pool. One file on purpose: the whole contract at one glance. What the functions do is in `engine`.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from django.db import router
from django.db.models import Model

from edna import recordmigrations, registry, throttle
from edna.crypto.keys import PublicKey, SecretKey
from edna.custody.recovery import RecoveryCode
from edna.engine import applying, key_slots, own_data, registration, sealed_file
from edna.engine import history as histories
from edna.engine import principals as people
from edna.engine import waiting as what_waits
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.openers import Handover
from edna.engine.books import beside, noted, sessions
from edna.engine.books.measurements import measured
from edna.engine.by_hand.handmade import Session
from edna.engine.erasing import erase as erasing
from edna.engine.erasing.erasure import Erasure
from edna.engine.files import file_tasks
from edna.engine.files.file_tasks import FinishedFiles
from edna.engine.forwarding import replay_log, table_history
from edna.engine.graph.outcome import Held, Outcome, Reason
from edna.engine.history import HistoryEntry, SealedValues
from edna.engine.layers.acceptance import Accepted
from edna.engine.planning.steps import Plan, PlannedTable
from edna.engine.registration import Registration
from edna.engine.revealing.blobs import Revealed
from edna.engine.waiting import Waiting
from edna.errors import PrincipalError, ReceiptMalformed
from edna.records.locator import Receipt
from edna.store import serverkeys

__all__ = [
    "Erasure",
    "FinishedFiles",
    "Handover",
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
    "SealedValues",
    "SecretKey",
    "Session",
    "Unlocked",
    "Waiting",
    "change_password",
    "disguise",
    "disguise_all",
    "end_sessions_on_removal",
    "erase",
    "export",
    "export_sealed",
    "finish_files",
    "forget_principal",
    "forget_session",
    "history",
    "is_pseudoprincipal",
    "is_registered",
    "migrations_without_rule",
    "new_recovery_code",
    "note_act",
    "note_activity",
    "plan",
    "plan_all",
    "plan_erasure",
    "principal",
    "register_principal",
    "register_principals",
    "replay",
    "reveal",
    "rotate",
    "rules_without_migration",
    "sealed_bags",
    "sealed_lists",
    "sealed_values",
    "session",
    "session_epoch",
    "speak_as",
    "speaks_for",
    "staff_among_everybody",
    "unlock",
    "unlock_handed",
    "unregistered",
    "waiting",
]

Principal = TypeVar("Principal", bound=Model)


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
    return registration.register(principal, password=password, identifier=identifier, public_key=public_key)


def register_principals(principals: Iterable[Model]) -> list[Registration]:
    """Register many at once with generated keys and no slots, in one transaction: the caller hands out the keys.

    Raises:
        PrincipalAlreadyRegistered: one of them is registered already; nothing was changed.
        ServerKeyUnknown: the server's key is not this site's.
    """
    return registration.register_many(principals)


def is_registered(principal: Model) -> bool:
    return people.is_registered(principal)


def unregistered(principals: Iterable[Principal]) -> list[Principal]:
    """Those of them who have no key, in their order; as many statements for all as for one."""
    return people.unregistered(principals)


def is_pseudoprincipal(principal: Model) -> bool:
    """Whether this row of a principal model is a placeholder that a disguise made."""
    return people.is_pseudoprincipal(principal)


def change_password(unlocked: Unlocked, *, identifier: str, password: str) -> None:
    """Replace the password slot: the old password opens nothing from here on, whatever it went with.

    However the key was opened: whoever has the recovery code needs no old password. ``identifier`` may be a new one.

    Raises:
        PrincipalNotRegistered, CapabilityClosed, ServerKeyUnknown, DatabaseBusy. Nothing was changed then.
    """
    throttle.admit()
    key_slots.change_password(unlocked, identifier=identifier, password=password)


def new_recovery_code(unlocked: Unlocked) -> RecoveryCode:
    """Replace the recovery slot: the old code opens nothing from here on. The new one is shown once, and stored nowhere.

    The key, its password and all receipts stay as they are; when somebody else may have had the old code, `rotate` instead. Of two that
    are asked for at once, the one that was made last is good, and the other opens nothing.

    Raises:
        PrincipalNotRegistered, CapabilityClosed, ServerKeyUnknown, DatabaseBusy. Nothing was changed then.
    """
    throttle.admit()
    return key_slots.new_recovery_code(unlocked)


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
    return registration.rotate(
        unlocked,
        password=password,
        identifier=identifier,
        public_key=public_key,
        receipts_complete=receipts_complete,
        leave_damaged=leave_damaged,
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
    return key_slots.unlock(
        secret_key=secret_key,
        identifier=identifier,
        password=password,
        recovery_code=recovery_code,
        locators=[_receipt(receipt).locator for receipt in receipts],
        principal=principal,
    )


def unlock_handed(handover: Handover, *, receipts: Sequence[Receipt | str] = ()) -> Unlocked:
    """An unlocked principal without their secret key: what their browser has opened, and hands over for one act.

    Whoever calls this knows that the client has the secret key of ``handover.public_key``. Every function that takes what `unlock` returns
    takes this, too, but for those that need the key itself. What was not handed over and is needed, and what does not fit what is stored,
    is refused when it is met, before anything changes; look anew then.

    Raises:
        PrincipalNotRegistered, EntryForged, ServerKeyUnknown, ReceiptMalformed
    """
    throttle.admit()
    return key_slots.unlock_handed(handover, locators=[_receipt(receipt).locator for receipt in receipts])


def sealed_lists(public_keys: Iterable[bytes]) -> dict[bytes, bytes]:
    """By public key, the list of locators of everybody among them who is registered or a pseudoprincipal: items that only they can open."""
    return sealed_file.lists_of(public_keys)


def sealed_bags(indexes: Iterable[bytes]) -> dict[bytes, bytes]:
    """By index, those of the bags that are there, as they are stored. Who knows an index has had the locator."""
    return sealed_file.bags_at(indexes)


def principal(unlocked: Unlocked) -> Model | None:
    """The row of who is unlocked, read now, with whatever disguises have made of it; None while the account is removed.

    For pages on which people prove who they are by their key alone, because a disguise has changed what they log in with.
    """
    return people.row_of(unlocked)


# Disguising


def plan(
    name: str, principal: Model, *, params: Mapping[str, Any] | None = None, unlocked: Unlocked | None = None
) -> Plan:
    """What ``disguise`` would do, table by table. Reads only, so what it says may be overtaken by the application.

    Raises:
        What ``disguise`` would refuse with before it begins.
    """
    return applying.plan(registry.get(name), principal, params=params, unlocked=unlocked)


def plan_all(name: str, *, params: Mapping[str, Any] | None = None, staff: bool = True) -> Plan:
    """What ``disguise_all`` would do, for everybody together. Reads only."""
    return applying.plan_all(registry.get(name), params=params, staff=staff)


def staff_among_everybody(name: str, *, params: Mapping[str, Any] | None = None) -> int:
    """How many of those who run the site own a row that ``name`` means. Reads only."""
    return applying.staff_among_everybody(registry.get(name), params=params)


@overload
def disguise(
    name: str,
    principal: Model,
    *,
    params: Mapping[str, Any] | None = None,
    unlocked: Unlocked | None = None,
    atomic: bool = False,
    keep_no_way_back: Literal[False] = False,
    operator: str = "",
) -> Receipt: ...


@overload
def disguise(
    name: str,
    principal: Model,
    *,
    params: Mapping[str, Any] | None = None,
    unlocked: Unlocked | None = None,
    atomic: bool = False,
    keep_no_way_back: Literal[True],
    operator: str = "",
) -> None: ...


@measured("disguise")
def disguise(
    name: str,
    principal: Model,
    *,
    params: Mapping[str, Any] | None = None,
    unlocked: Unlocked | None = None,
    atomic: bool = False,
    keep_no_way_back: bool = False,
    operator: str = "",
) -> Receipt | None:
    """Apply a disguise to one principal and return the receipt, which says where its bags are.

    With ``unlocked``, data that earlier disguises gave to pseudoprincipals is disguised too, and everything is sealed to
    the unlocked principal's own key. In locator mode ``client`` only the receipt leads back: to keep it before the disguise is
    committed, call this inside ``transaction.atomic()``.

    More than ``EDNA["CHUNK_ROWS"]`` rows are disguised in chunks, each in a transaction of its own, the principal's own row in
    the last. If that is interrupted, the chunks that are done stay disguised: `history` lists them under a receipt of their own, and
    calling this again disguises the rest. Everything happens in one transaction with ``atomic``, in locator mode ``client``, and
    inside a transaction of the caller.

    With ``keep_no_way_back`` it does the same to the tables, for good, in one transaction: nothing is sealed for the principal, files are
    deleted, nobody speaks for the pseudoprincipals, and there is no receipt: it returns None. What others own, too, is sealed for
    those. If the account goes, its entry goes as well, unless earlier disguises have bags to which it leads. With ``unlocked`` these are
    erased along, and the key slots.

    ``operator`` is who does it for somebody else: with it, the act is noted in the audit trail (not for whom).

    Raises:
        UnknownDisguise, InvalidParameters, PrincipalNotRegistered, NotYours, DanglingReferences, ConstraintRefused,
        ServerKeyUnknown, DatabaseBusy; PrincipalError: the disguise is for another principal model. Nothing was changed then, but by
        chunks that were done before. ErasureRefused, BagError: with ``keep_no_way_back`` and ``unlocked``, an earlier disguise cannot
        be erased.
    """
    throttle.admit()
    if keep_no_way_back:
        applying.disguise_for_good(registry.get(name), principal, params=params, unlocked=unlocked, operator=operator)
        return None
    return applying.disguise(
        registry.get(name), principal, params=params, unlocked=unlocked, atomic=atomic, operator=operator
    )


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
    return applying.disguise_all(registry.get(name), params=params, staff=staff, progress=progress, operator=operator)


@contextlib.contextmanager
def session(principal: Model, name: str, *, unlocked: Unlocked | None = None) -> Iterator[Session]:
    """A disguise by hand: what the block does through the session is one transaction, and one receipt at its end.

    ``name`` is one that a function is registered under with `on_reveal`. Leaving the block by an exception changes nothing.
    With ``unlocked``, what belongs to pseudoprincipals of the principal can be disguised, too.

    Raises:
        UnknownDisguise, PrincipalNotRegistered, NotYours, ConstraintRefused, ServerKeyUnknown, DatabaseBusy. Nothing was changed then.
    """
    throttle.admit()
    with applying.by_hand(registry.by_hand(name), principal, unlocked=unlocked) as opened:
        yield opened


# Revealing


@measured("reveal")
def reveal(
    receipt: Receipt | str,
    unlocked: Unlocked,
    *,
    overrides: Mapping[str, Any] | None = None,
    accept: Accepted = (),
    allow_partial: bool = True,
    atomic: bool = False,
) -> Outcome:
    """Undo one disguise. What cannot be undone now stays sealed and is listed in ``Outcome.held`` with its reason.

    ``overrides`` gives new values for unique columns that somebody else has taken meanwhile: ``{"shop.user.email": "b@x.org"}``.
    ``accept`` names what is given up if it cannot come back: held rows of an earlier outcome, or `edna.ALL` for whatever is held now.
    What others did stands then, and the record is erased for good: `Outcome.accepted` counts such rows. As long as the account
    itself is held, nothing is given up. Rows that others hold as well, and what the application's function holds, never are.

    A disguise that was applied in chunks comes back chunk by chunk, the last one first. If that is interrupted, what is back is
    back, and the same receipt leads to the rest. Everything happens in one transaction with ``atomic``, without
    ``allow_partial``, and inside a transaction of the caller.

    Raises:
        ReceiptMalformed, ReceiptUnknown, ReceiptForeign, BagError, RevealRefused, ConstraintRefused, DatabaseBusy,
        ServerKeyUnknown, CapabilityClosed. Nothing was changed then, but by chunks that came back before.
        InvalidParameters: ``accept`` is neither `edna.ALL` nor made of what an outcome holds.
        PrincipalError: ``unlocked`` is not what `unlock` returns.
    """
    _require_unlocked(unlocked, "A reveal")
    throttle.admit()
    return applying.reveal(
        _receipt(receipt),
        unlocked,
        overrides=overrides or {},
        accepted=accept,
        allow_partial=allow_partial,
        atomic=atomic,
    )


# Erasing


def plan_erasure(receipt: Receipt | str, unlocked: Unlocked, *, receipts_complete: bool = False) -> Erasure:
    """What `erase` would destroy. Reads only; what it says may be overtaken.

    Raises:
        What `erase` would refuse with.
    """
    _require_unlocked(unlocked, "An erasure")
    return erasing.plan(_receipt(receipt), unlocked, receipts_complete=receipts_complete)


@measured("erase")
def erase(receipt: Receipt | str, unlocked: Unlocked, *, receipts_complete: bool = False) -> Erasure:
    """Destroy what the receipt leads to, for good: its records, the contents of its files, the keys of its pseudoprincipals.

    Nothing comes back, and nothing in the application's tables changes: removed rows stay away, changed ones stay as they are, and rows
    of a pseudoprincipal stay with it, without a name for ever. Everything that other receipts lead to can still be revealed, as far as
    the rows that are there allow it. What others own, too, stays theirs.

    If the account is removed and this was the last that is left of it, the person is forgotten: entry and key slots go, ``unlocked`` is
    closed, and the key opens nothing any more. In locator mode ``client`` edna cannot know that; ``receipts_complete`` says that the
    receipts given to `unlock`, and this one, are all there are.

    All in one transaction, a disguise in chunks as well.

    Raises:
        ReceiptMalformed, ReceiptUnknown, ReceiptForeign, BagError, ReceiptsIncomplete, ErasureRefused, DatabaseBusy, ServerKeyUnknown,
        CapabilityClosed, PrincipalError. Nothing was changed then.
    """
    _require_unlocked(unlocked, "An erasure")
    throttle.admit()
    return erasing.erase(_receipt(receipt), unlocked, receipts_complete=receipts_complete)


def replay(model: type[Model], *, where: Mapping[str, Any], set: Mapping[str, Any]) -> int:
    """Update rows, and do the same to rows that are under disguise when they come back: for a moderator's redaction.

    ``where`` maps the model's own columns to exact values (a list means any of them), ``set`` to the values that they get. Returns
    how many rows were updated now; of those under disguise nobody can know.

    Raises:
        InvalidParameters: no columns of the model, or values that they cannot have.
        ConstraintRefused: the database refuses the update. Nothing was changed then.
        ServerKeyUnknown: the log would be sealed under a server key that is not this site's.
    """
    return replay_log.replay(model, where, set, held=beside.kept().anything_held(), using=router.db_for_write(model))


def history(unlocked: Unlocked) -> list[HistoryEntry]:
    """Every disguise of this principal, and of the pseudoprincipals they speak for, that can be revealed; newest first.

    In locator mode ``client`` only what the ``receipts`` given to `unlock` lead to is found. A disguise of which a bag was damaged or
    is missing is left out, and the error is in ``unlocked.damaged``; revealing by its receipt raises it.
    """
    return histories.of(unlocked)


def waiting(unlocked: Unlocked) -> list[Waiting]:
    """What still waits of disguises that this principal has taken back, newest first: what is held, why, what could come back by now.

    For pages after a log-in, and wherever a key was opened. Reads only: it writes and locks nothing, and calls no function of the
    application. Who has nothing waiting pays what `history` costs. A disguise that nobody has tried to reveal is not among it.
    """
    return what_waits.of(unlocked)


def export(unlocked: Unlocked) -> dict[str, Any]:
    """What is theirs, as a document for JSON (docs/export-1.schema.json): the rows that they own now, those of their pseudoprincipals
    among them, and what lies in their bags, each with the disguise and the day. Reads only.

    Whose a row is the registered disguises say. Columns that name another person are left out, as is the password's hash; files are
    listed, by name and size. In locator mode ``client`` only what the ``receipts`` given to `unlock` lead to is found.

    Raises:
        PrincipalNotRegistered, ReceiptForeign, CapabilityClosed, PrincipalError.
    """
    _require_unlocked(unlocked, "An export")
    return own_data.of(unlocked)


def sealed_values(unlocked: Unlocked) -> SealedValues:
    """All that is under disguise of this principal, in plain: for the audit, which looks whether it stands anywhere else.

    What the application sealed by itself, and the content of files, is not among it.
    """
    return histories.sealed_values(unlocked)


def export_sealed(unlocked: Unlocked, *, recovery_code: RecoveryCode | str | None = None) -> str:
    """Everything sealed that this principal's key leads to, as the text of a file that they open without the site (``edna-open.html``).

    Nothing in it is in the clear, and no key. It opens with the secret key; with ``recovery_code`` given, with that code as well. In
    locator mode ``client`` only what the ``receipts`` given to `unlock` lead to is found.

    Raises:
        ReceiptForeign: one of these receipts is somebody else's.
        RecoveryCodeMalformed: mistyped.
    """
    code = RecoveryCode.parse(recovery_code) if isinstance(recovery_code, str) else recovery_code
    return sealed_file.text(unlocked, code)


def speaks_for(unlocked: Unlocked, model: type[Model] | None = None) -> list[Any]:
    """Primary keys of the pseudoprincipals that this principal speaks for, at any depth, whose rows exist.

    Whose entry was changed past edna is left out, and an `EntryForged` is in ``unlocked.damaged``.
    """
    return people.speaks_for(unlocked, model)


def speak_as(unlocked: Unlocked, obj: Model, *, owner: str | None = None) -> Model:
    """The pseudoprincipal that owns ``obj``, if this principal speaks for it: act as its owner without revealing anything.

    Who owns a row is what the registered disguises say of its model (every ``owner`` of their steps), read from the database
    now. Of several owners it is the one that is theirs. For a model of which no disguise says anything, its only foreign key to a
    principal model counts; ``owner`` says which one, where there are several.

    Raises:
        NotYours: no owner of ``obj`` is a pseudoprincipal of this principal.
        SpecError: ``owner`` is no path to a principal model.
    """
    return people.speak_as(unlocked, obj, owner=owner)


def _require_unlocked(unlocked: object, what: str) -> None:
    if not isinstance(unlocked, Unlocked):
        raise PrincipalError(
            f"{what} takes what edna.unlock() returns, in its with block; this is a {type(unlocked).__name__}. Nothing was changed."
        )


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
    using = registry.database()
    serverkeys.require_any(using=using)
    return file_tasks.finish(using=using)


# Schema changes, called from the checks


def rules_without_migration() -> list[tuple[str, str]]:
    """For which `record_migration` functions there is no migration."""
    return [rule for rule in recordmigrations.named() if not table_history.known(*rule)]


def migrations_without_rule(app_labels: Iterable[str]) -> list[tuple[str, str]]:
    """Migrations of these applications that run code, and for which no function says what it means for records."""
    migrations = [(app_label, name) for app_label in app_labels for name in table_history.unreadable(app_label)]
    return [(app_label, name) for app_label, name in migrations if not recordmigrations.rules_for(app_label, name)]


# Sessions and activity, called from the edges


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


def forget_session(session_key: str) -> None:
    sessions.unlink(session_key, using=registry.database())


def forget_principal(principal: Model) -> None:
    """The application deleted a principal's row by itself: the entry must not wait for the next row of that key.

    One that this site did not write stays as it is, as evidence; nothing is sealed to it, whoever has that key next.
    """
    people.forget(principal)


def note_act(action: str, *, operator: str, disguise: str = "", **details: int | str) -> None:
    """Have the audit trail note what an operator did, in the caller's transaction: last in it. None is there without `edna.operations`."""
    noted.act(action, operator=operator, disguise=disguise, **details)


def note_activity(principal: Model, *, today: datetime.date) -> None:
    """Keep the date of a principal's last activity, no finer, for schedules."""
    people.note_activity(principal, today=today)
