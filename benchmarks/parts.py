"""What the milliseconds of an operation are spent on: SQL by kind of statement, sealing, encoding, making keys, deriving keys, Python.

The functions below are found by name and exchanged wherever edna has imported them; one that is gone is an error that names it.
SQL is the time inside the database's driver, escaping of parameters, round trip and conversion of rows included: Django's cursors,
its transactions, and the hand-written SQL's own driver.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, Final
from unittest import mock

from django.db import connection
from django.db.backends.utils import CursorWrapper

from benchmarks.kit.driver import Driver
from benchmarks.stopwatch import REST, Spent, Stopwatch, cost_of_one_call_ns, mean_ms, middle

#: Module and function, or class and method, by part. What one of them calls of another part is that part's.
SEAMS: Final[dict[str, Sequence[tuple[str, str]]]] = {
    "sealing": (
        ("edna.crypto.sealing", "seal"),
        ("edna.crypto.sealing", "open_sealed"),
        ("edna.crypto.sealing", "seal_small"),
        ("edna.crypto.sealing", "open_small"),
        ("edna.crypto.keys", "derive"),
        ("edna.crypto.keys", "fingerprint"),
        ("edna.records.bag", "_mac"),
        ("nacl.bindings", "crypto_scalarmult_base"),
    ),
    "encoding": (
        ("edna.records.bag", "seal_bag"),
        ("edna.records.bag", "open_bag"),
        ("edna.records.bag", "read_content"),
        ("edna.records.values", "encode"),
        ("edna.records.values", "decode"),
    ),
    "key pool": (("edna.keypool", "KeyPool.take"), ("edna.crypto.keys", "generate_key_pairs")),
    "derivation": (("edna.custody.password", "derive"),),
}
#: The kinds of SQL, all of which together are the part "sql".
KINDS: Final = ("select", "insert", "update", "delete", "transaction", "other")
PARTS: Final = ("sql", *SEAMS, REST)
_FIRST_WORDS: Final = {
    "select": "select",
    "insert": "insert",
    "replace": "insert",
    "update": "update",
    "with": "update",  # what PostgreSQL's hand-written SQL begins with that makes owners on the way
    "delete": "delete",
    **dict.fromkeys(("begin", "start", "commit", "rollback", "savepoint", "release"), "transaction"),
}
#: Reading what a statement found; counted with the statements that find something.
_FETCH: Final = "fetch"
_FETCHES: Final = frozenset({"fetchone", "fetchmany", "fetchall"})


class SeamGone(RuntimeError):
    """A function whose time would be counted is not where it was: name its new place in `benchmarks.parts.SEAMS`."""


@contextmanager
def drilling() -> Iterator[Stopwatch]:
    """Everything named here is counted until the block is left. Costs something: never while an operation is timed."""
    watch = Stopwatch()
    with ExitStack() as stack:
        for part, places in SEAMS.items():
            for module, name in places:
                for home, attribute, found in _homes(module, name):
                    stack.enter_context(mock.patch.object(home, attribute, watch.wrapped(part, found)))
        for patch in _sql(watch):
            stack.enter_context(patch)
        stack.enter_context(connection.execute_wrapper(_executing(watch)))
        yield watch


def _homes(module_name: str, name: str) -> list[tuple[Any, str, Any]]:
    """Every place that has the function: where it is defined, and all modules of edna that have imported it."""
    module = importlib.import_module(module_name)
    owner, _, attribute = name.rpartition(".")
    home = getattr(module, owner, None) if owner else module
    found = getattr(home, attribute, None)
    if found is None:
        raise SeamGone(f"{module_name}.{name} is gone; say in benchmarks.parts.SEAMS what is to be counted instead.")
    if owner:
        return [(home, attribute, found)]
    ours = [other for key, other in list(sys.modules.items()) if key.startswith("edna.") and other is not module]
    also = [(other, key, found) for other in ours for key, value in list(vars(other).items()) if value is found]
    return [(home, attribute, found), *also]


def kind_of(sql: Any) -> str:
    """What kind of statement it is, by its first word. On PostgreSQL an insert may bring its savepoint along."""
    words = str(sql).removeprefix("SAVEPOINT edna_insert; ").split(None, 1)
    return _FIRST_WORDS.get(words[0].lower(), "other") if words else "other"


def _executing(watch: Stopwatch) -> Callable[..., Any]:
    def execute(run: Any, sql: Any, *arguments: Any) -> Any:
        return watch.during(kind_of(sql), run, sql, *arguments)

    return execute


def _sql(watch: Stopwatch) -> Iterator[Any]:
    """What no wrapper of Django's sees: fetching, beginning and ending transactions; and all that the bare driver does."""
    fetched = CursorWrapper.__getattr__

    def attribute(cursor: Any, name: str) -> Any:
        found = fetched(cursor, name)
        return watch.wrapped(_FETCH, found) if name in _FETCHES else found

    yield mock.patch.object(CursorWrapper, "__getattr__", attribute)
    for name in ("_commit", "_rollback", "_set_autocommit"):
        if not hasattr(connection, name):
            raise SeamGone(
                f"Django's connection has no {name} any more; say in benchmarks.parts what ends a transaction."
            )
        yield mock.patch.object(connection, name, watch.wrapped("transaction", getattr(connection, name)))
    for name in ("execute", "many"):
        yield mock.patch.object(Driver, name, _by_hand(watch, getattr(Driver, name)))
    for name in ("begin", "commit", "rollback"):
        yield mock.patch.object(Driver, name, watch.wrapped("transaction", getattr(Driver, name)))


def _by_hand(watch: Stopwatch, method: Callable[..., Any]) -> Callable[..., Any]:
    def run(driver: Driver, sql: str, *arguments: Any) -> Any:
        return watch.during(kind_of(sql), method, driver, sql, *arguments)

    return run


@cache
def _cost_ms() -> float:
    return cost_of_one_call_ns() / 1e6


def summary(samples: Sequence[Spent]) -> dict[str, Any]:
    """Fields of a result: ``parts_ms``, which adds up to ``parts_whole_ms``; ``sql_ms`` and ``sql_calls``, its part "sql" by kind.

    Means of the rounds but for the quickest and the slowest quarter. ``parts_overhead_ms`` is what the counting itself took.
    """
    chosen = middle(samples)
    found = mean_ms(chosen)
    found = {**found, "select": found.get("select", 0.0) + found.get(_FETCH, 0.0)}
    sql = {kind: round(found.get(kind, 0.0), 4) for kind in KINDS}
    parts = {"sql": sum(sql.values()), **{part: found.get(part, 0.0) for part in PARTS[1:]}}
    parts = {part: round(ms, 4) for part, ms in parts.items()}
    calls = [sum(sample.calls.values()) for sample in chosen]
    return {
        "parts_n": len(samples),
        "parts_ms": parts,
        "parts_whole_ms": round(sum(parts.values()), 4),
        "parts_overhead_ms": round(sum(calls) / len(calls) * _cost_ms(), 4),
        "sql_ms": sql,
        "sql_calls": {kind: round(sum(each.calls.get(kind, 0) for each in chosen) / len(chosen), 1) for kind in KINDS},
    }
