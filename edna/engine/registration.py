"""Registering principals, and giving one a new key: key pairs, the slots that they come with, and entries.

Invariant: a generated secret key is in the returned registration and in slots, and nowhere else. Knows keys, slots and entries; no
disguises.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from django.db import DatabaseError
from django.db.models import Model

from edna import conf, keypool, registry, store
from edna.crypto.keys import ContentKey, PublicKey, SecretKey, generate_key_pairs
from edna.custody.base import Slot
from edna.custody.recovery import RecoveryCode
from edna.db import transactions
from edna.db.cursors import connection_of
from edna.engine import browser_slots, key_slots
from edna.engine.bags.capability import Unlocked
from edna.engine.books import beside as tables_beside
from edna.engine.browser_slots import BrowserSlot
from edna.engine.graph.references import without_row
from edna.engine.principals import identity_at_work
from edna.engine.renewing import making_over, parts, rewrapping, rotation
from edna.engine.renewing.making_over import NewKeys
from edna.errors import (
    DatabaseNotChosen,
    EdnaError,
    HandoverRefused,
    PrincipalAlreadyRegistered,
    PrincipalError,
    PrincipalHasDevices,
    ReceiptsIncomplete,
)
from edna.store import serverkeys

logger = logging.getLogger("edna")


@dataclasses.dataclass(frozen=True)
class Registration:
    """What registering returned: shown once, stored nowhere. Without a generated key, only the public half."""

    public_key: PublicKey
    secret_key: SecretKey | None = None
    recovery_code: RecoveryCode | None = None


def register(
    principal: Model,
    *,
    password: str | None,
    identifier: str | None,
    public_key: PublicKey | bytes | None,
    has_code: bool = True,
) -> Registration:
    """Give a principal a key pair, with slots if it is made here. ``has_code=False``: nobody would see the recovery code, so there is none.

    Raises:
        PrincipalAlreadyRegistered, PrincipalError, ServerKeyUnknown
    """
    model, reference, using = identity_at_work(principal)
    serverkeys.require(using=using)
    made, slots = _made(
        public_key,
        password=password,
        identifier=lambda: key_slots.identifier_of(principal) if identifier is None else identifier,
        has_code=has_code,
        using=using,
    )

    def work() -> None:
        _add(model, {reference: made.public_key}, using=using)
        if slots:
            key_slots.add(slots, using=using)

    transactions.run(work, using=using)
    return made


def register_elsewhere(principal: Model, *, public_key: PublicKey, slots: Sequence[BrowserSlot]) -> Registration:
    """Give a principal a key pair that was made elsewhere, with slots that were, too.

    Raises:
        PrincipalAlreadyRegistered, PrincipalError, ServerKeyUnknown, SlotRefused
    """
    model, reference, using = identity_at_work(principal)
    serverkeys.require(using=using)
    made = browser_slots.to_keep(public_key, slots, using=using)

    def work() -> None:
        _add(model, {reference: public_key}, using=using)
        browser_slots.keep(public_key, slots, made, using=using)

    transactions.run(work, using=using)
    return Registration(public_key)


def register_many(principals: Iterable[Model]) -> list[Registration]:
    """Register many at once with generated keys and no slots, in one transaction.

    Raises:
        PrincipalAlreadyRegistered, PrincipalError, ServerKeyUnknown
    """
    identities = [identity_at_work(principal) for principal in principals]
    registrations = [
        Registration(key.public_key, key) for key in generate_key_pairs(len(identities), hybrid=conf.is_hybrid())
    ]
    if len({using for _, _, using in identities}) > 1:
        raise DatabaseNotChosen(
            "These people are in several databases, and no transaction spans two. Nothing was done; register those of each by themselves."
        )
    # By model: two of them may well have the same primary key.
    public_keys: dict[type[Model], dict[str, PublicKey]] = {}
    for (model, reference, _), registration in zip(identities, registrations, strict=True):
        public_keys.setdefault(model, {})[reference] = registration.public_key
    if sum(map(len, public_keys.values())) < len(identities):
        raise PrincipalAlreadyRegistered("One principal is named twice; register each principal once.")

    def work() -> None:
        for model, keys in public_keys.items():
            _add(model, keys, using=using)

    if identities:
        using = identities[0][2]
        serverkeys.require(using=using)
        transactions.run(work, using=using)
    return registrations


def rotate(
    unlocked: Unlocked,
    *,
    password: str | None,
    identifier: str | None,
    public_key: PublicKey | bytes | None,
    receipts_complete: bool,
    leave_damaged: bool,
    require: bool = True,
) -> Registration:
    """Replace a principal's key and slots, and seal everything anew. ``unlocked`` is closed. With ``require``, those who keep something
    beside it are asked.

    Raises:
        ReceiptsIncomplete, what `rotation.rotate` raises, and those who are asked
    """
    old, using = unlocked.secret_key, unlocked.using
    if require and unlocked.renewed_by is not None:
        if (password, identifier, public_key) != (None, None, None):
            raise PrincipalHasDevices(
                "This key was unlocked by a device, so that rotate() updates the device: without a password, an identifier or a public "
                "key. Nothing was changed."
            )
        renewed: Registration = unlocked.renewed_by(leave_damaged)
        unlocked.close()
        return renewed
    serverkeys.require(using=using)
    if public_key is not None and (password is not None or identifier is not None):
        raise TypeError("rotate(public_key=...) makes no key slots: the secret key is not here.")
    if not receipts_complete and registry.any_unlisted():
        raise ReceiptsIncomplete(
            "Receipts may be the only way to some bags of this principal (locator mode client). Unlock with all their receipts, "
            "and pass receipts_complete=True; whatever they do not lead to would be lost. Nothing was changed."
        )
    made, slots = _made(
        public_key,
        password=password,
        identifier=lambda: identifier or key_slots.identifier_of_unlocked(unlocked),
        using=using,
    )

    def work() -> None:
        if require:
            tables_beside.require_rotation(old.public_key, using=using)
        rotation.rotate(unlocked, made.public_key, leave_damaged=leave_damaged)
        key_slots.remove_all(old, using=using)
        if slots:
            key_slots.add(slots, using=using)

    try:
        transactions.run(work, using=using)
    except PrincipalAlreadyRegistered:
        # The pool is a copy of another process's, perhaps, so that a drawn key is somebody's: all are drawn again. If it is the
        # principal's own new key, the second attempt says so.
        keypool.pool.wipe()
        transactions.run(work, using=using)
    unlocked.close()
    return made


def rewrap(
    unlocked: Unlocked,
    secret_key: SecretKey,
    *,
    beside: Callable[[], object],
    leave_damaged: bool = False,
    leave_rest: bool = False,
) -> int:
    """Replace a principal's key by one that somebody keeps, and let bags keep their bodies; return how many there are. Slots go.
    ``unlocked`` is closed. ``beside`` is called in the same transaction, first, and may be called twice. ``leave_damaged`` gives up bags
    that do not open. Outside of a transaction many bags get their recipients in parts, afterwards, or with ``leave_rest`` by `finish`.

    Raises:
        ReceiptsIncomplete, ServerKeyUnknown, and what ``beside`` and `rewrapping.rewrap_all` raise
    """
    old, using = unlocked.secret_key, unlocked.using
    serverkeys.require(using=using)
    if registry.any_unlisted():
        raise ReceiptsIncomplete(
            "Receipts may be the only way to some bags of this principal (locator mode client), so that a change of keys could lose them. "
            "Nothing was changed; rotate with all receipts."
        )
    # Another change may have been interrupted, and nobody would know the keys before its own any more.
    finish(old, quietly=leave_damaged, using=using)
    # Browsers do not know former keys, and only a worker with a credential may have what opens what has a policy.
    in_parts = not connection_of(using).in_atomic_block and conf.custody() == "server" and not conf.policies()

    def work() -> int:
        beside()
        number = rewrapping.rewrap_all(unlocked, secret_key, leave_damaged=leave_damaged, in_parts=in_parts)
        key_slots.remove_all(old, using=using)
        return number

    try:
        number = transactions.run(work, using=using)
    except PrincipalAlreadyRegistered:  # as in `rotate`
        keypool.pool.wipe()
        number = transactions.run(work, using=using)
    unlocked.close()
    if not leave_rest:
        # Whoever did it is to be told, whatever happens now: it is done.
        finish(secret_key, quietly=True, using=using)
    return number


def finish(secret_key: SecretKey, *, quietly: bool, using: str) -> int:
    """Give bags their new recipients that `rewrap` has left without; return how many. What cannot be done now is left for the next time,
    and logged if ``quietly``.

    Raises:
        what `rewrapping.finish` raises, if not ``quietly``
    """
    try:
        return rewrapping.finish(secret_key, using=using)
    except (EdnaError, DatabaseError) as error:
        if not quietly:
            raise
        logger.warning(
            "Some bags have not got their new recipients (%s): tried again when a device unlocks.", type(error).__name__
        )
        return 0


def bags_left(secret_key: SecretKey, *, using: str) -> int:
    return rewrapping.left_of(secret_key, using=using)


def rotate_elsewhere(
    new_keys: NewKeys, slots: Sequence[BrowserSlot], *, beside: Callable[[], object] | None = None
) -> None:
    """Replace a principal's key by one that was made elsewhere, with slots that were, too; no bag is opened. ``beside`` is called in the
    same transaction, first, and may be called twice: by those who hold the key, who are not asked then whether it may be replaced.

    Raises:
        ReceiptsIncomplete, ServerKeyUnknown, SlotRefused, and what ``beside`` and `making_over.make_over` raise
    """
    using = registry.database()
    serverkeys.require(using=using)
    if registry.any_unlisted():
        raise ReceiptsIncomplete(
            "Receipts may be the only way to some bags of this principal (locator mode client), and a receipt does not say whose they are. "
            "Nothing was changed; make a new key on the server, with all receipts."
        )
    if new_keys.own not in new_keys.keys:
        raise HandoverRefused("The key that is to be replaced is not among those that were sent. Nothing was changed.")
    public_key = new_keys.keys[new_keys.own]
    made = browser_slots.to_keep(public_key, slots, using=using)

    def work() -> None:
        if beside is None:
            tables_beside.require_rotation(PublicKey(new_keys.own), using=using)
        else:
            beside()
        making_over.make_over(new_keys, using=using)
        browser_slots.remove_all(PublicKey(new_keys.own), using=using)
        browser_slots.keep(public_key, slots, made, using=using)
        parts.forget_parts(PublicKey(new_keys.own), using=using)

    transactions.run(work, using=using)


def keep_part(public_key: PublicKey, number: int, content: bytes) -> ContentKey:
    """As `parts.keep_part`, in a transaction of its own."""
    using = registry.database()
    return transactions.run(lambda: parts.keep_part(public_key, number, content, using=using), using=using)


def _made(
    public_key: PublicKey | bytes | None,
    *,
    password: str | None,
    identifier: Callable[[], str],
    has_code: bool = True,
    using: str,
) -> tuple[Registration, list[Slot]]:
    """A registration with a given public key, or with a new pair and its slots."""
    if public_key is not None:
        return Registration(public_key if isinstance(public_key, PublicKey) else PublicKey.of(public_key)), []
    [secret_key] = generate_key_pairs(1, hybrid=conf.is_hybrid())
    code = RecoveryCode.new() if has_code else None
    slots = [key_slots.for_code(secret_key, code, using=using)] if code is not None else []
    if password is not None:
        slots.append(key_slots.for_password(secret_key, identifier=identifier(), password=password, using=using))
    return Registration(secret_key.public_key, secret_key, code), slots


def _add(model: type[Model], public_keys: Mapping[str, PublicKey], *, using: str) -> None:
    """Add natural principals, whose rows must exist: a removed person's key waits for them under their receipt."""
    missing = without_row(model, list(public_keys), using=using)
    if missing:
        raise PrincipalError(
            f"{model._meta.label} {', '.join(missing)} has no row: save it first. "
            "If the account was removed by a disguise, reveal that instead of registering it again."
        )
    label = model._meta.label_lower
    new = [
        store.NewEntry(bytes(key), label, reference, True, key.encapsulation_key)
        for reference, key in public_keys.items()
    ]
    store.add_entries(new, using=using)
