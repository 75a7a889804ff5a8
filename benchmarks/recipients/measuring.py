"""Times keys of both kinds, and disguises whose pseudoprincipals get such; both kinds take turns. And weighs what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from benchmarks.keypool import DISGUISE, wait_for_refill
from benchmarks.timing import Clock, Key, Result, interleave

KINDS: Final = ("x25519", "x-wing")
POOLS: Final = ("full pool", "drained pool")


def keys(rounds: int, *, database: str) -> list[Result]:
    """A key pair is made, a small bag sealed and opened."""
    from edna.crypto.keys import generate_key_pairs
    from edna.crypto.sealing import open_sealed, seal

    clock, sizes = Clock(_no_statements, processor=True), {}

    def once(kind: str) -> None:
        [key] = clock(Key(f"key pair, {kind}", "edna"), lambda: generate_key_pairs(1, hybrid=kind == "x-wing"), rows=1)
        sealed = clock(Key(f"seal, {kind}", "edna"), lambda: seal(b"x" * 900, recipients=[key.public_key]), rows=1)
        clock(Key(f"open, {kind}", "edna"), lambda: open_sealed(sealed, secret_key=key), rows=1)
        sizes[Key(f"seal, {kind}", "edna")] = {"bytes": len(sealed)}

    for number in clock.rounds(range(rounds)):
        interleave(number, *(lambda kind=kind: once(kind) for kind in KINDS))
    return _results(clock, "a bag of 1 kB", database, sizes)


def disguises(size: int, student: Any, key: Any, *, rounds: int, database: str) -> list[Result]:
    """Each answer gets another author, and comes back. What came into edna's tables stands beside the disguise."""
    from django.conf import settings

    import edna
    from edna.keypool import pool

    clock, grown, present = Clock(_no_statements, processor=True), {}, [key]

    def once(kind: str, state: str) -> None:
        settings.EDNA["RECIPIENT"] = kind
        with edna.unlock(secret_key=present[0]) as unlocked:
            present[0] = edna.rotate(unlocked).secret_key
        wait_for_refill()
        if state == "full pool":
            pool.refill()
        else:
            pool.take(pool.depth)
            wait_for_refill(drain=True)
        before = _held()
        made = Key(f"disguise, {state}, {kind}", "edna")
        receipt = clock(made, lambda: edna.disguise(DISGUISE, student), rows=size)
        entries, bags = (after - former for after, former in zip(_held(), before, strict=True))
        grown[made] = {"entries_bytes": entries, "bags_bytes": bags}
        with edna.unlock(secret_key=present[0]) as unlocked:
            assert clock(Key(f"reveal, {kind}", "edna"), lambda: edna.reveal(receipt, unlocked), rows=size).complete

    turns = [(kind, state) for kind in KINDS for state in POOLS]
    for number in clock.rounds(range(rounds), warm_up=1, counted=0):
        interleave(number, *(lambda turn=turn: once(*turn) for turn in turns))
    return _results(clock, f"{size:,} pseudoprincipals", database, grown)


def _held() -> tuple[int, int]:
    """Bytes of public keys and lists in entries, and of sealed bags."""
    from edna.models import Bag, PrincipalEntry

    entries = PrincipalEntry.objects.values_list("public_key", "encapsulation_key", "locators")
    return (
        sum(len(part or b"") for row in entries for part in row),
        sum(len(sealed) for sealed in Bag.objects.values_list("sealed", flat=True)),
    )


def _results(clock: Clock, scale: str, database: str, extra: dict[Key, dict[str, int]]) -> list[Result]:
    return clock.results(app="recipients", level="library", database=database, scale=scale, extra=extra)


def _no_statements() -> AbstractContextManager[Callable[[], int]]:
    return nullcontext(lambda: 0)
