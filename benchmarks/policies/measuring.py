"""One monitor with a store on the disk, and workers with manifests; all in this process."""

from __future__ import annotations

import secrets
import tempfile
import time
from base64 import b64decode
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import nacl.signing

from benchmarks.timing import Clock, Key, Result
from edna.custody.policies import seal
from edna.custody.policies.batches import Batches
from edna.custody.policies.certificates import Certificate
from edna.custody.policies.clauses import ClauseList
from edna.custody.policies.evidence import ManifestProver, manifest
from edna.custody.policies.process.monitor import Monitor
from edna.custody.policies.process.sessions import Session
from edna.custody.policies.process.store import Store
from edna.custody.policies.signing import to_base64

TEN = [(f"a{number}", "yes") for number in range(10)]
POLICIES = {
    "ten": " and ".join(f"{name} = {value}" for name, value in TEN),
    "one of three": " or ".join(
        f"({' and '.join(f'{name} = {value}' for name, value in [*TEN[:9], ('a9', last)])})"
        for last in ("x", "y", "yes")
    ),
}
SCALE = "10 attributes"
#: Workers that attest at the same time.
AT_ONCE = 64
_YEAR_SECONDS = 365 * 24 * 3600


def measured(*, samples: int, database: str) -> list[Result]:
    """Sealing and opening; and what a monitor does for one worker: verify, issue, note it on the disk."""
    clock = Clock(no_statements, processor=True)
    with tempfile.TemporaryDirectory(prefix="edna-policies-") as folder:
        monitor, prover = monitor_and_worker(Path(folder) / "monitor.sqlite3")
        clauses = ClauseList.parse(monitor.clauses(), monitor=monitor.public_key)
        session, asked = request(monitor, prover)
        credential = session.credential(monitor.credential(*asked), clauses=clauses)
        index, now = secrets.token_bytes(32), time.time()
        for label, size in (("1 kB", 1024), ("1 MB", 1024 * 1024)):
            content = secrets.token_bytes(size)
            for name, text in POLICIES.items():
                policy = monitor.policies[name]
                for _ in clock.rounds(range(samples if size < 10_000 else samples // 4)):
                    stored = clock(
                        Key(f"{name}, {label}: seal", "edna"),
                        lambda policy=policy, content=content: seal.seal(
                            content, policy=policy, clauses=clauses, index=index
                        ),
                        rows=len(text),
                    )
                    clock(
                        Key(f"{name}, {label}: open", "edna"),
                        lambda stored=stored: credential.open(stored, index=index, now=now),
                        rows=len(text),
                    )
        credential_key = Key("credential", "edna")
        for _ in clock.rounds(range(samples)):
            _, asked = request(monitor, prover)
            clock(credential_key, lambda asked=asked: monitor.credential(*asked), rows=1)
        extra = {credential_key: {"per_second": _many_credentials(monitor, prover)}}
        monitor.close()
    return clock.results(app="policies", level="library", database=database, scale=SCALE, extra=extra)


def _many_credentials(monitor: Monitor, prover: ManifestProver) -> float:
    """How many a second, when many workers start at once: each is noted on the disk before it is answered."""
    asked = [request(monitor, prover)[1] for _ in range(AT_ONCE * 20)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        started = time.perf_counter()
        list(pool.map(lambda each: monitor.credential(*each), asked))
        return len(asked) / (time.perf_counter() - started)


def attested(count: int, *, seconds: float, database: str) -> list[Result]:
    """Batched: all nonces at once, until each has its quote and path. Beside it, one quote for each."""
    clock, quotes = Clock(no_statements), 0

    def quote(root: bytes) -> str:
        nonlocal quotes
        quotes += 1
        time.sleep(seconds)
        return "quote"

    nonces = [secrets.token_bytes(32) for _ in range(count)]
    batches = Batches(quote)
    started = time.perf_counter()
    futures = [batches.ask(nonce) for nonce in nonces]
    answers = [future.result() for future in futures]
    batched = count / (time.perf_counter() - started)
    batches.close()
    assert len(answers) == count
    alone, together = Key("attestation, alone", "edna"), Key("attestation, batched", "edna")
    single = Batches(quote, most=1)
    for _ in clock.rounds(range(3), warm_up=1, counted=1):
        clock(alone, lambda: single.ask(secrets.token_bytes(32)).result(), rows=1)
        clock(together, lambda: None, rows=count)
    single.close()
    extra = {together: {"per_second": batched, "quote_seconds": seconds}, alone: {"quote_seconds": seconds}}
    return clock.results(app="policies", level="library", database=database, scale=SCALE, extra=extra)


def monitor_and_worker(path: Path) -> tuple[Monitor, ManifestProver]:
    store, certifier = Store(path), nacl.signing.SigningKey.generate()
    worker = nacl.signing.SigningKey.generate()
    Monitor.create(store)
    store.put_policies(POLICIES)
    for kind in ("certifier", "deployer"):
        store.trust(bytes(certifier.verify_key), kind)
    measurement = "worker", to_base64(bytes(worker.verify_key))
    until = int(time.time()) + _YEAR_SECONDS
    store.put_certificates([Certificate(measurement, frozenset(TEN), until).signed(certifier)])
    prover = ManifestProver(manifest(bytes(worker.verify_key), {}, key=certifier), worker)
    return Monitor(store, clock=time.time), prover


def request(monitor: Monitor, prover: ManifestProver) -> tuple[Session, tuple[bytes, bytes, Mapping[str, Any]]]:
    session = Session(monitor.nonce(), monitor=monitor.public_key)
    said = session.request(prover)
    return session, (b64decode(said["nonce"]), b64decode(said["session_key"]), said["evidence"])


def no_statements() -> AbstractContextManager[Callable[[], int]]:
    return nullcontext(lambda: 0)
