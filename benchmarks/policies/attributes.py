"""Policies by attributes: sealing and opening, and the key of a worker, where the library is built.

Beside the clock, what the processor took: pairings do nothing else, and a machine that does much else makes the clock say little.
"""

from __future__ import annotations

import secrets
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.policies.measuring import POLICIES, SCALE, monitor_and_worker, no_statements, request
from benchmarks.timing import Clock, Key, Result
from edna.custody.policies.attributes import library, seal
from edna.custody.policies.attributes.parameters import AttributeKey, Parameters
from edna.custody.policies.clauses import ClauseList
from edna.custody.policies.language import Formula

NAME = "by attributes"


def is_built() -> bool:
    return library.place().is_file()


def measured(*, samples: int, database: str) -> list[Result]:
    clock, processor = Clock(no_statements), dict[Key, list[float]]()

    def timed(key: Key, work: Callable[[], Any]) -> Any:
        began = time.process_time_ns()
        done = clock(key, work, rows=1)
        processor.setdefault(key, []).append((time.process_time_ns() - began) / 1e6)
        return done

    with tempfile.TemporaryDirectory(prefix="edna-policies-") as folder:
        monitor, prover = monitor_and_worker(Path(folder) / "monitor.sqlite3")
        monitor.create_attributes()
        parameters = Parameters.parse(monitor.parameters(), monitor=monitor.public_key)
        clauses = ClauseList.parse(monitor.clauses(), monitor=monitor.public_key)
        session, asked = request(monitor, prover)
        credential = session.credential(monitor.credential(*asked), clauses=clauses)
        formula, index, now = Formula.parse(POLICIES["ten"]), secrets.token_bytes(32), time.time()
        for label, size in (("1 kB", 1024), ("1 MB", 1024 * 1024)):
            content = secrets.token_bytes(size)
            for _ in clock.rounds(range(samples)):
                stored = timed(
                    Key(f"{NAME}, {label}: seal", "edna"),
                    lambda content=content: seal.seal(content, formula=formula, parameters=parameters, index=index),
                )
                timed(
                    Key(f"{NAME}, {label}: open", "edna"),
                    lambda stored=stored: credential.open(stored, index=index, now=now),
                )
        _, master = library.setup()
        for _ in clock.rounds(range(samples)):
            timed(
                Key(f"{NAME}: a worker's key", "edna"),
                lambda: AttributeKey.make(master, parameters.veil, epochs=[1], attributes=formula.conditions()),
            )
        monitor.close()
    extra = {key: {"processor_ms": statistics.median(found)} for key, found in processor.items()}
    return clock.results(app="policies", level="library", database=database, scale=SCALE, extra=extra)
