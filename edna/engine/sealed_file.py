"""A person's sealed bags as one file that they open without the site: docs/format.md, "File of sealed bags".

Invariant (nothing readable): the file holds what the tables hold of this person, sealed as it is there, and no key in the clear. Which bags
are theirs only their key tells, so it takes an unlocked principal to write it. Reads; of what an interrupted change of keys has left,
bags get their new recipients first.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from edna import policy_seals, registry, store
from edna.custody import recovery
from edna.custody.recovery import RecoveryCode
from edna.engine.bags.capability import Unlocked, require_unlocked
from edna.engine.bags.key_graph import KeyGraph, Segment
from edna.engine.files.stored_files import PIECE_BYTES
from edna.engine.renewing import rewrapping
from edna.errors import PolicyError
from edna.records.bag import BagKind
from edna.records.diff import Files
from edna.records.locator import Locator, seal_locator

FORMAT: Final = "edna sealed bags 1"


def text(unlocked: Unlocked, recovery_code: RecoveryCode | str | None) -> str:
    """The file. With a code it opens by that, too."""
    require_unlocked(unlocked, "An export")
    code = None if recovery_code is None else RecoveryCode.of(recovery_code)
    if unlocked.handover is None:
        rewrapping.finish(unlocked.secret_key, using=unlocked.using)
    graph = unlocked.key_graph()
    contents = [
        index for _, segments in graph.follow(tuple(BagKind), start=unlocked.locators) for index in _contents(segments)
    ]
    graph.require_own(unlocked.locators)
    places = [locator.index(kind, sequence) for locator, seen in graph.seen.items() for kind, sequence in seen.segments]
    bags = store.stored_bags([*places, *contents], using=unlocked.using)
    wrapped = code and recovery.wrap_for_file(unlocked.secret_key, code=code)
    document = {
        "format": FORMAT,
        "public_key": bytes(unlocked.public_key).hex(),
        "wrapped": _base64(wrapped) if wrapped else None,
        "lists": list(_lists(graph, unlocked)),
        "bags": [
            {"index": index.hex(), "sealed": _base64(_container(index, bag.sealed))}
            for index, bag in sorted(bags.items())
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def lists_of(public_keys: Iterable[bytes]) -> dict[bytes, bytes]:
    """By public key, the items of locators of everybody among them who has an entry. One statement."""
    entries = store.entries_by_public_key(set(public_keys), using=registry.database())
    return {entry.public_key: entry.locators for entry in entries}


class Stored(NamedTuple):
    """By index: bags as they are stored but for policy seals, and why this process does not take off the policy seal of others. Where those
    lie that did not fit."""

    bags: dict[bytes, bytes]
    barred: dict[bytes, PolicyError]
    left: list[bytes]


def bags_at(indexes: Iterable[bytes], *, most_bytes: int) -> Stored:
    """Those of the bags that are there: at least one, and no more bytes than this."""
    using = registry.database()
    sizes = store.sizes_of_bags(set(indexes), using=using)
    wanted: list[bytes] = []
    for index, size in sizes.items():
        if wanted and size > most_bytes:
            break
        wanted.append(index)
        most_bytes -= size
    found = Stored({}, {}, [*sizes][len(wanted) :])
    for index, bag in (store.stored_bags(wanted, using=using) if wanted else {}).items():
        try:
            found.bags[index] = _container(index, bag.sealed)
        except PolicyError as error:
            # One that waits for another process keeps nobody from the others.
            found.barred[index] = error
    return found


def _container(index: bytes, stored: bytes) -> bytes:
    """Without a policy seal: whose it is, opens it elsewhere.

    Raises:
        PolicyError: this process does not open it.
    """
    return policy_seals.take_off(stored, index=index)[1]


def _contents(segments: list[Segment]) -> Iterator[bytes]:
    """Where the content of files lies that these records name."""
    for batch in (batch for segment in segments for batch in segment.bag.batches):
        if isinstance(batch, Files) and len(batch.columns) > 1:
            for locator, _, _, size, _ in batch.rows:
                for number in range(-(-size // PIECE_BYTES)):
                    yield Locator(locator).index(BagKind.SHARED, number)


def _lists(graph: KeyGraph, unlocked: Unlocked) -> Iterator[dict[str, Any]]:
    for public_key, holder in graph.holders.items():
        items = b"".join(holder.items.values())
        if holder is graph.own:
            # Receipts that no list has become items of the file's: it needs none beside it.
            own = [locator for locator in unlocked.locators if locator not in holder.items]
            items += b"".join(seal_locator(locator, recipient=unlocked.public_key) for locator in own)
        yield {"public_key": public_key.hex(), "items": _base64(items)}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
