"""Key slots that are made and opened in browsers: the server's part in them, keeping them, and having them replaced.

Invariant: nothing that comes here opens a slot: neither password nor slot secret, nor the key inside. Whoever asks for a salt or a slot
gets the same answer, by the same statements, whether there is such a person or not; that something opens, only its owner sees. Of several
databases each is asked for a slot, found or not, but where it is known whose it would be. A slot is kept for whoever has proved that they
have the key, in the place of that key's slot of its kind and of no other: its tag is made here, from the proved key. What is in it is not
looked at: who puts something else there has locked out themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from edna import conf, shards, store
from edna.crypto.keys import PublicKey
from edna.custody import base
from edna.custody import password as password_slots
from edna.db import transactions
from edna.engine.books import beside as tables_beside
from edna.engine.searched_shards import knowing_a_key
from edna.errors import DatabaseNotChosen, PrincipalNotRegistered, SlotRefused
from edna.store import serverkeys

#: A password, a recovery code, a passkey, guardians.
MOST_SLOTS = len(base.KINDS)
_BYTES = 32


@dataclass(frozen=True, slots=True)
class BrowserSlot:
    """A slot as its maker sends it. Its id is made from ``lookup`` (32 bytes), its tag from the proved key and ``kind``; ``wrapped`` is
    stored as it is."""

    lookup: bytes = field(repr=False)
    kind: str = field(repr=False)
    wrapped: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Stretching:
    """How a browser turns a password into a slot secret: by Argon2id, with this salt and cost."""

    salt: bytes = field(repr=False)
    opslimit: int
    memlimit_bytes: int


@dataclass(frozen=True, slots=True)
class Found:
    """The server's part in the slot of a lookup, for one of the server's keys, and what is wrapped there."""

    slot_id: bytes = field(repr=False)
    share: bytes = field(repr=False)
    wrapped: tuple[bytes, ...] = field(repr=False)


def stretchings(identifier: str) -> list[Stretching]:
    """The one for slots that are made now first, then those that older ones may have been made with. Everybody has them, known or not."""
    return [
        Stretching(password_slots.salt(identifier, pepper=pepper), opslimit, memlimit_bytes)
        for opslimit, memlimit_bytes in conf.argon2_costs()
        for pepper in conf.mac_keys()
    ]


def find(lookups: Sequence[bytes], *, of_several: bool, databases: Sequence[str]) -> list[list[Found]]:
    """For each lookup, one for each of the server's keys: that of slots that are made now first. In one statement for each database; unless
    they may be ``of_several``, what one lookup finds is in one.

    Raises:
        ServerKeyUnknown: a database knows none of the server's keys.
        DatabaseNotChosen: a lookup finds slots in several databases.
        DatabaseBusy: one of several databases is away, and no other has what is looked for.
    """
    searched = knowing_a_key(databases)
    parts = [[base.part(lookup, pepper=pepper) for pepper in conf.mac_keys()] for lookup in lookups]
    ids = [part.slot_id for each in parts for part in each]
    there: dict[bytes, list[tuple[bytes, str]]] = {}
    for (slot_id, _, wrapped), using in searched.ask(lambda using: store.find_slots(ids, using=using)):
        there.setdefault(slot_id, []).append((wrapped, using))
    if not there:
        searched.require_all()
    if not of_several:
        for each in parts:
            _require_one_database({using for part in each for _, using in there.get(part.slot_id, ())})
    return [
        [Found(part.slot_id, part.share, tuple(wrapped for wrapped, _ in there.get(part.slot_id, ()))) for part in each]
        for each in parts
    ]


def _require_one_database(found: set[str]) -> None:
    if len(found) > 1:
        raise DatabaseNotChosen(
            f"These credentials may open keys in several databases ({shards.listed(sorted(found))}). Nothing was opened; log in, give a "
            "receipt, or use a recovery code."
        )


def to_keep(public_key: PublicKey, slots: Sequence[BrowserSlot], *, using: str) -> list[base.Slot]:
    """As they are stored for that key, which is proved.

    Raises:
        SlotRefused: one of them has not the form of a slot, or two are of the same kind or open with the same secret.
        ServerKeyUnknown: the database does not know the key of the server.
    """
    if not all(_is_one(slot) for slot in slots):
        raise SlotRefused(
            "A key slot has not the form that docs/format.md gives it. Nothing was changed; make it again."
        )
    if len(slots) > MOST_SLOTS or any(len(set(given)) < len(slots) for given in _lookups_and_kinds(slots)):
        raise SlotRefused("There is one slot for each kind, with a secret of its own. Nothing was changed.")
    pepper = serverkeys.signing_key(using=using)
    return [
        base.Slot(
            base.part(slot.lookup, pepper=pepper).slot_id,
            base.stored_tag(public_key, kind=slot.kind, pepper=pepper),
            slot.wrapped,
        )
        for slot in slots
    ]


def keep(public_key: PublicKey, slots: Sequence[BrowserSlot], made: Sequence[base.Slot], *, using: str) -> None:
    """Put what `to_keep` has made in the place of that key's slots of these kinds, in the caller's transaction."""
    gone = [base.stored_tag(public_key, kind=slot.kind, pepper=pepper) for slot in slots for pepper in conf.mac_keys()]
    store.delete_slots_by_tag(gone, using=using)
    store.add_slots([(slot.slot_id, slot.tag, slot.wrapped) for slot in made], using=using)


def remove_all(public_key: PublicKey, *, using: str) -> None:
    """Delete every slot of that key but those of version 1, which go by the secret key alone."""
    keys = conf.mac_keys()
    gone = [base.stored_tag(public_key, kind=kind, pepper=pepper) for kind in base.KINDS for pepper in keys]
    store.delete_slots_by_tag(gone, using=using)
    tables_beside.slots_gone(public_key, using=using)


def replace(public_key: PublicKey, slots: Sequence[BrowserSlot], *, using: str) -> None:
    """Put each in the place of that key's slot of its kind. The caller knows that whoever asks has the key.

    Raises:
        PrincipalNotRegistered: nobody is registered with that key, or not any more.
        SlotRefused, ServerKeyUnknown: as `to_keep`.
    """
    made = to_keep(public_key, slots, using=using)

    def work() -> None:
        # Locked: a key that is rotated meanwhile gets no slot.
        entries = store.entries_by_public_key([bytes(public_key)], using=using, lock=True)
        if not any(entry.natural or not entry.attached for entry in entries):
            raise PrincipalNotRegistered("Nobody is registered with this key. Nothing was changed; unlock again.")
        keep(public_key, slots, made, using=using)

    transactions.run(work, using=using)


def _is_one(slot: BrowserSlot) -> bool:
    sizes = (len(slot.lookup), len(slot.wrapped))
    return sizes == (_BYTES, base.WRAPPED_BYTES) and slot.kind in base.KINDS and slot.wrapped[0] == base.VERSION


def _lookups_and_kinds(slots: Sequence[BrowserSlot]) -> tuple[list[bytes], list[str]]:
    return [slot.lookup for slot in slots], [slot.kind for slot in slots]
