"""Notes in the erasure ledger who is disguised, so that it can be done again after an older backup was restored (docs/backups.md).

Invariant: a row is there from the transaction that disguises somebody to the one that has brought everything back, if anything can;
nothing in it is of use without the server's keys. Natural principals only: what belongs to pseudoprincipals is nobody's in a restored
backup either. Disguises by hand are not noted, because nothing could do them again. One statement each, and none while the ledger is off.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from edna import conf, shards
from edna.engine.planning.steps import Plan
from edna.errors import BagError
from edna.operations.store import ledger as store
from edna.records.ledgernote import LedgerNote, ledger_index, open_note, seal_note, what
from edna.records.locator import split_items
from edna.registry import ByHand
from edna.store import serverkeys


def note(plan: Plan, *, now: datetime.datetime, for_good: bool, using: str) -> None:
    """Note whom ``plan`` disguises, in its transaction, ``for_good`` if nothing brings it back. A row that is there is written anew."""
    if not conf.ledger() or issubclass(plan.disguise, ByHand):
        return
    label = plan.principal_model._meta.label_lower
    subject = what(plan.disguise.name, plan.params, for_good=for_good)
    notes = []
    for entry in (target.entry for target in plan.targets if target.entry.natural):
        index = ledger_index(
            serverkeys.signing_key(using=using), model=label, reference=str(entry.reference), what=subject
        )
        position = len(split_items(entry.locators, hybrid=entry.encapsulation_key is not None))
        # In what is sealed, and not in the index: a row is found and deleted whatever its database is called by then.
        database = shards.named(using) or ""
        written = LedgerNote(plan.disguise.name, dict(plan.params), f"{now:%Y-%m}", position, for_good, database)
        notes.append((index, seal_note(written, index=index, server_key=serverkeys.signing_key(using=using))))
    if notes:
        store.put(notes, using=using)


def strike(model: str, reference: str, subject: bytes, *, using: str) -> None:
    """Delete the row of a disguise of which nothing is left to bring back; in the reveal's transaction."""
    store.delete(candidates(model, reference, subject, keys=conf.mac_keys()), using=using)


def candidates(model: str, reference: str, subject: bytes, *, keys: Sequence[bytes]) -> list[bytes]:
    """Where the note may stand: under each key of the server, the current one first."""
    return [ledger_index(key, model=model, reference=reference, what=subject) for key in keys]


def is_ours(index: bytes, sealed: bytes) -> bool:
    """Whether this site has noted it, under a key that is configured."""
    try:
        open_note(sealed, index=index, server_keys=conf.mac_keys())
    except BagError:
        return False
    return True
