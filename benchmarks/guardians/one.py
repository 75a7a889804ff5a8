"""One guardian of a measurement, as a process: ``python -m benchmarks.guardians.one FOLDER NUMBER PORT``. Without Django, as any may be."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from pathlib import Path

import nacl.signing

from edna.crypto.keys import SecretKey
from edna.custody.guardians.process.guardian import Guardian
from edna.custody.guardians.process.policies import Waiting
from edna.custody.guardians.process.requests import Limits
from edna.custody.guardians.process.server import Server
from edna.custody.guardians.process.store import Store
from edna.custody.guardians.roster import Identity, Roster, from_base64


def main(folder: Path, number: int, port: int) -> None:
    said = json.loads((folder / f"{number}.json").read_text())
    key, secret_key = nacl.signing.SigningKey(from_base64(said["signing_key"])), from_base64(said["secret_key"])
    identity = Identity(number, key, SecretKey(secret_key))
    roster = Roster.parse((folder / "roster.json").read_text(), site_key=from_base64(said["site_key"]))
    guardian = Guardian(
        identity=identity,
        roster=roster,
        store=Store(folder / f"{number}.sqlite3"),
        policy=Waiting(lambda contact, text: None, wait_seconds=0),
        clock=lambda: int(time.time()),
        # As many questions as are measured; each ticket is good for as few as any.
        limits=Limits(requests_a_day=10**9, unconfirmed=10**9, told_a_day=1),
    )
    server = Server(("127.0.0.1", port), guardian, clock=lambda: int(time.time()))
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    with server:
        server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
