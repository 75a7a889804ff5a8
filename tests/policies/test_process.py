"""A monitor on a socket."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import nacl.signing
import pytest

from edna.custody.policies.process.client import MonitorClient
from edna.custody.policies.process.monitor import Monitor
from edna.custody.policies.process.server import Server
from edna.custody.policies.process.store import Store
from edna.errors import (
    CertifierUnknown,
    ConfigurationError,
    EvidenceForged,
    MeasurementUnknown,
    MonitorUnavailable,
    NonceRefused,
    PolicyNotSatisfied,
)
from tests.policies.parties import EU_RESTORER, POLICIES, Party


class Served(Party):
    def start(self) -> MonitorClient:
        self.server = Server(("127.0.0.1", 0), self.monitor)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return MonitorClient(self.address, monitor=self.monitor.public_key)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.monitor.close()


@pytest.fixture
def party() -> Iterator[Served]:
    party = Served({**POLICIES, "monitor": "role = monitor"})
    yield party
    if hasattr(party, "server"):
        party.stop()


def test_a_worker_attests_and_gets_what_it_satisfies(party: Served) -> None:
    client = party.start()
    credential = client.credential(party.worker(EU_RESTORER), clauses=party.clauses)
    assert [str(each) for each in credential.clauses] == ["build=1.2&region=eu&role=restorer"]
    with pytest.raises(PolicyNotSatisfied):
        client.credential(party.worker({"region": "us"}), clauses=party.clauses)
    assert party.clauses.keys.keys() == set(party.monitor._clauses)


def test_each_refusal_arrives_as_its_own_error(party: Served) -> None:
    client = party.start()
    worker = party.worker(EU_RESTORER)
    party.store.remove_certificate(party.store.certificates()[0])
    party.store.remove_certificate(party.store.certificates()[0])
    party.monitor.reload()
    with pytest.raises(MeasurementUnknown):
        client.credential(worker, clauses=party.clauses)


@pytest.mark.parametrize("kind", ["deployer", "certifier"])
def test_what_somebody_signed_who_is_trusted_no_more_counts_no_more(party: Served, kind: str) -> None:
    client, worker = party.start(), party.worker(EU_RESTORER)
    assert client.credential(worker, clauses=party.clauses).clauses
    (key,) = party.store.trusted(kind)
    party.store.distrust(key)
    party.monitor.reload()
    with pytest.raises(CertifierUnknown if kind == "deployer" else MeasurementUnknown):
        client.credential(worker, clauses=party.clauses)


def test_without_a_monitor_there_is_no_new_credential(party: Served) -> None:
    client, worker = party.start(), party.worker(EU_RESTORER)
    clauses = party.clauses
    held = client.credential(worker, clauses=clauses)
    party.server.shutdown()
    party.server.server_close()
    with pytest.raises(MonitorUnavailable):
        client.credential(worker, clauses=clauses)
    assert not held.is_expired(now=party.clock())


def test_the_monitor_shows_itself_to_many_at_once(party: Served) -> None:
    client = party.start()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: client.check(), range(32)))
    other = MonitorClient(party.address, monitor=Party().monitor.public_key)
    with pytest.raises(EvidenceForged):
        other.check()
    with pytest.raises(EvidenceForged):
        other.clone(party.worker({"role": "monitor"}), Store(":memory:"))


def test_a_monitor_becomes_another_s_clone(party: Served) -> None:
    client, store = party.start(), Store(":memory:")
    with pytest.raises(PolicyNotSatisfied):
        client.clone(party.worker(EU_RESTORER), store)
    client.clone(party.worker({"role": "monitor"}), store)
    clone = Monitor(store, clock=party.clock)
    assert clone.clauses() == party.monitor.clauses()
    with pytest.raises(ConfigurationError):
        client.clone(party.worker({"role": "monitor"}), store)


def test_rubbish_is_refused(party: Served) -> None:
    party.start()

    def ask(method: str, path: str, body: bytes = b"") -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", party.server.server_address[1])
        connection.request(method, path, body)
        response = connection.getresponse()
        status, told = response.status, json.loads(response.read())
        connection.close()
        return status, told["error"]["code"]

    for body in (b"", b"[]", b"{", b"{}", b'{"nonce": 1, "session_key": 2, "evidence": {}}', b"[" * 5000):
        assert ask("POST", "/credential", body) == (400, EvidenceForged.__name__)
    for path in ("/attest", "/attest?nonce=xy", "/attest?nonce=00"):
        assert ask("GET", path) == (400, NonceRefused.__name__)
    assert ask("GET", "/status")[0] == ask("POST", "/master")[0] == 400
    assert ask("POST", "/credential", b"x" * 100_000) == (400, EvidenceForged.__name__)


def test_no_monitor_without_tls_but_on_the_loopback(party: Served) -> None:
    with pytest.raises(ConfigurationError):
        Server(("192.0.2.1", 0), party.monitor)
    for address in ("http://monitor.example", "ftp://localhost", "localhost:80", "https://"):
        with pytest.raises(ConfigurationError):
            MonitorClient(address, monitor=bytes(nacl.signing.SigningKey.generate().verify_key))
