"""Guardians on sockets of the loopback interface, in threads of the test, and a site that has them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nacl.signing
from django.conf import settings
from django.test.utils import override_settings

from benchmarks.kit.ports import reserved
from edna.crypto.keys import PublicKey
from edna.crypto.sealing import seal_small
from edna.custody import by_guardians
from edna.custody.guardians.envelope import Head, seal
from edna.custody.guardians.evaluation import output_of
from edna.custody.guardians.group import Scalar, hash_to_point, multiply, multiply_base
from edna.custody.guardians.process.guardian import Guardian
from edna.custody.guardians.process.policies import MailedCode, Policy, Waiting
from edna.custody.guardians.process.server import Server
from edna.custody.guardians.process.store import Store
from edna.custody.guardians.roster import Identity, Roster
from edna.custody.guardians.sharing import deal
from edna.custody.guardians.tickets import veto_hashes
from edna.guardians import enrolments, files

NAMES = ["The library", "The students' union", "The bank", "Your aunt's firm", "The notary"]


class Parties:
    """Five guardians of whom three are needed: the first three wait two hours, the others mail a code."""

    def __init__(self, folder: Path, ports: Sequence[int]) -> None:
        # By the clock of the machine: orders are good for minutes.
        self.now, self.folder = int(time.time()), folder
        self.mails: list[tuple[int, str, str]] = []
        self.guardians: dict[int, Guardian] = {}
        self._servers: dict[int, Server] = {}
        identities = [Identity.new(number) for number in range(1, len(NAMES) + 1)]
        stores = [Store(folder / f"{each.number}.sqlite3") for each in identities]
        members = [each.member(f"http://127.0.0.1:{port}") for each, port in zip(identities, ports, strict=True)]
        site_key = nacl.signing.SigningKey.generate()
        self.roster = Roster(members, 3, bytes(site_key.verify_key))
        files.write_site_key(folder / "site.key", site_key)
        (folder / "roster.json").write_text(self.roster.signed(site_key))
        for identity, store, port in zip(identities, stores, ports, strict=True):
            store._database.execute("PRAGMA synchronous=OFF")
            number = identity.number
            tell = self._teller(number)
            policy: Policy = Waiting(tell, wait_seconds=7200) if number <= 3 else MailedCode(tell)
            self.guardians[number] = Guardian(
                identity=identity, roster=self.roster, store=store, policy=policy, clock=lambda: self.now
            )
            self._servers[number] = Server(("127.0.0.1", port), self.guardians[number], clock=lambda: self.now)
            serve = self._servers[number].serve_forever
            threading.Thread(target=serve, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def setting(self) -> dict[str, Any]:
        return {
            "ROSTER": str(self.folder / "roster.json"),
            "SITE_KEY": str(self.folder / "site.key"),
            "NAMES": NAMES,
        }

    def _teller(self, number: int) -> Callable[[str, str], None]:
        return lambda contact, text: self.mails.append((number, contact, text))

    def code(self, number: int, contact: str = "") -> str:
        """The one that this guardian has mailed last, or has mailed to this address last."""
        text = [text for mailed, to, text in self.mails if mailed == number and contact in ("", to)][-1]
        return text.split("give the code ")[1].split()[0]

    def stop(self, *numbers: int) -> None:
        for number in numbers or list(self._servers):
            server = self._servers.pop(number)
            server.shutdown()
            server.server_close()


def made_elsewhere(five: Parties, public_key: PublicKey, secret: bytes, *, salt: bytes) -> enrolments.Made:
    """An enrolment as a browser makes it: the guardians would help to ``secret``."""
    shared, id_ = Scalar.random(), by_guardians.enrolment_for(public_key, salt=salt)
    dealt = deal(shared, count=5, threshold=3)
    head = Head(id_, 5, 3, multiply_base(shared))
    envelope = seal(head, secret, pin="", hash_of=lambda data: output_of(data, multiply(hash_to_point(data), shared)))
    shares = [seal_small(dealt.shares[each.number].expose(), recipient=each.public_key) for each in five.roster.members]
    vetoes = veto_hashes(secret, enrolment=id_, count=5)
    return enrolments.Made(bytes(envelope), salt, b"".join(dealt.commitments), vetoes, shares)


@contextmanager
def parties(folder: Path, **edna: Any) -> Iterator[Parties]:
    """A site with guardians, and other settings of edna."""
    with reserved([0] * len(NAMES)) as ports:
        made = Parties(folder, ports)
        try:
            with override_settings(EDNA={**settings.EDNA, "GUARDIANS": made.setting, **edna}):
                yield made
        finally:
            made.stop()
