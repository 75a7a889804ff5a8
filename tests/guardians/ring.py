"""Guardians in one process, reached as through a socket: whatever they are asked and answer goes through JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import nacl.signing

from edna.custody.guardians import quorum
from edna.custody.guardians.process.guardian import Guardian
from edna.custody.guardians.process.policies import MailedCode, Policy, Waiting
from edna.custody.guardians.process.requests import Limits
from edna.custody.guardians.process.routes import Routes
from edna.custody.guardians.process.store import Store
from edna.custody.guardians.roster import Identity, Member, Roster
from edna.custody.guardians.sweep import Sweep, Swept
from edna.errors import GuardianRefused

SECRET = bytes(range(32))
NOW = 1_800_000_000


class Ring:
    """`count` guardians that help at once, or by the policies given; `threshold` of them are needed."""

    def __init__(
        self,
        folder: Path,
        *,
        count: int = 5,
        threshold: int = 3,
        policies: Mapping[int, Callable[[Any], Policy]] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.site_key = nacl.signing.SigningKey.generate()
        self.identities = {number: Identity.new(number) for number in range(1, count + 1)}
        members = [each.member(f"http://127.0.0.1:{9000 + number}") for number, each in self.identities.items()]
        self.roster = Roster(members, threshold, bytes(self.site_key.verify_key), site="Example's site")
        self.now = NOW
        self.down: set[int] = set()
        self.mails: dict[int, list[tuple[str, str]]] = {number: [] for number in self.identities}
        #: What a guardian answers instead: (number, path) -> a change of its answer.
        self.lies: dict[tuple[int, str], Callable[[dict[str, Any]], dict[str, Any]]] = {}
        self.asked: list[tuple[int, str, bytes]] = []
        self._folder, self._policies, self._limits = folder, policies or {}, limits
        self.guardians: dict[int, Guardian] = {}
        for number in self.identities:
            self.start(number)

    def roster_of(self, members: Sequence[Member]) -> Roster:
        """The same guardians at other addresses."""
        return Roster(members, self.roster.threshold, self.roster.site_key, site=self.roster.site)

    def start(self, number: int, *, empty: bool = False) -> None:
        """Start a guardian, again if need be: what was in memory alone is gone."""
        path = self._folder / f"{number}.sqlite3"
        if empty:
            path.unlink()

        def tell(contact: str, text: str) -> None:
            self.mails[number].append((contact, text))

        policy = self._policies.get(number, lambda tell: Waiting(tell, wait_seconds=0))(tell)
        store = Store(path)
        # Nobody pulls a plug here: killed are the processes of `test_processes`.
        store._database.execute("PRAGMA synchronous=OFF")
        self.guardians[number] = Guardian(
            identity=self.identities[number],
            roster=self.roster,
            store=store,
            policy=policy,
            clock=lambda: self.now,
            limits=self._limits,
        )

    def ask(self, number: int, path: str, said: Mapping[str, Any], *, ordered: bool = False) -> Mapping[str, Any]:
        if number in self.down:
            raise GuardianRefused(f"Guardian {number} cannot be reached (down).")
        body = json.dumps(said)
        self.asked.append((number, path, body.encode()))
        routes = Routes(self.guardians[number])
        route = (routes.ordered if ordered else routes.open)[path]
        answer = json.loads(json.dumps(route(json.loads(body))))
        return self.lies.get((number, path), lambda answer: answer)(answer)

    def enrol(self, secret: bytes = SECRET, *, pin: str = "") -> quorum.Enrolled:
        return quorum.enrol(secret, roster=self.roster, transport=self, contact="bea@example.org", pin=pin)

    def recovery(self, enrolled: quorum.Enrolled) -> quorum.Recovery:
        """Opened at all that are up."""
        recovery = quorum.Recovery(enrolled.envelope, roster=self.roster, transport=self)
        recovery.open()
        return recovery

    def sweep(self) -> Swept:
        return Sweep(roster=self.roster, transport=self).run()


def mailed(tell: Any) -> Policy:
    return MailedCode(tell)
