"""Guardians as processes on this machine, on free ports of the loopback interface, and a site that reaches them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import nacl.signing

from benchmarks.kit.ports import reserved
from edna.custody.guardians.process.transport import HttpTransport
from edna.custody.guardians.roster import Identity, Roster, to_base64
from edna.custody.guardians.schedule import GuardianSchedule

_BOOT_SECONDS = 60.0


class Ring:
    """One guardian at each of the ports; `threshold` are needed. Their stores are in `folder`."""

    def __init__(
        self, folder: Path, ports: Sequence[int], *, threshold: int, plan: GuardianSchedule | None = None
    ) -> None:
        self._folder = folder
        site_key = nacl.signing.SigningKey.generate()
        self.ports: Mapping[int, int] = dict(enumerate(ports, start=1))
        identities = [Identity.new(number) for number in self.ports]
        members = [each.member(f"http://127.0.0.1:{self.ports[each.number]}") for each in identities]
        self.roster = Roster(members, threshold, bytes(site_key.verify_key), plan)
        (folder / "roster.json").write_text(self.roster.signed(site_key))
        for each in identities:
            said = {
                "signing_key": to_base64(bytes(each.signing_key)),
                "secret_key": to_base64(each.secret_key.expose()),
                "site_key": to_base64(self.roster.site_key),
            }
            (folder / f"{each.number}.json").write_text(json.dumps(said))
        self.transport = HttpTransport(self.roster, site_key=site_key)
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, number: int) -> None:
        command = [sys.executable, "-m", "benchmarks.guardians.one", str(self._folder), str(number)]
        self._running[number] = subprocess.Popen([*command, str(self.ports[number])])

    def stop(self, number: int) -> None:
        process = self._running.pop(number)
        process.terminate()
        process.wait(_BOOT_SECONDS)

    def wait(self, number: int) -> None:
        """Until it answers."""
        end = time.monotonic() + _BOOT_SECONDS
        while not self.answers(number):
            if time.monotonic() > end:
                raise RuntimeError(f"guardian {number} does not come up")
            time.sleep(0.02)

    def answers(self, number: int) -> bool:
        with socket.socket() as asking:
            asking.settimeout(5)
            return asking.connect_ex(("127.0.0.1", self.ports[number])) == 0

    def close(self) -> None:
        for number in list(self._running):
            self.stop(number)


@contextmanager
def ring_of(folder: Path, *, count: int, threshold: int, plan: GuardianSchedule | None = None) -> Iterator[Ring]:
    """All of them running."""
    with reserved([0] * count) as ports:  # also while one of them is down
        made = Ring(folder, ports, threshold=threshold, plan=plan)
        try:
            for number in made.ports:
                made.start(number)
            for number in made.ports:
                made.wait(number)
            yield made
        finally:
            made.close()
