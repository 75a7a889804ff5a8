"""Who gets a credential, and who does not: each refusal has its own error, and nobody gets a key."""

from __future__ import annotations

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import nacl.signing
import pytest

from edna.custody.policies import batches
from edna.custody.policies.certificates import Certificate, Certifiers
from edna.custody.policies.evidence import ManifestProver, manifest
from edna.custody.policies.process.monitor import NONCE_LASTS_SECONDS, Monitor
from edna.custody.policies.process.sessions import Session, checked_attestation
from edna.custody.policies.process.store import Store
from edna.errors import (
    CertifierUnknown,
    ConfigurationError,
    CredentialForged,
    EvidenceForged,
    MeasurementUnknown,
    NonceRefused,
    PolicyNotSatisfied,
)
from tests.policies.parties import EU_RESTORER, NOW, Party, asked
from tests.waiting import WAIT_SECONDS, eventually


@pytest.fixture
def party() -> Party:
    return Party()


def test_a_nonce_is_used_once(party: Party) -> None:
    request = party.session().request(party.worker(EU_RESTORER))
    assert party.monitor.credential(*asked(request))
    with pytest.raises(NonceRefused, match="used"):
        party.monitor.credential(*asked(request))


def test_a_nonce_that_the_monitor_did_not_give_out_is_refused(party: Party) -> None:
    session = Session(secrets.token_bytes(32), monitor=party.monitor.public_key)
    with pytest.raises(NonceRefused):
        party.monitor.credential(*asked(session.request(party.worker(EU_RESTORER))))


def test_a_nonce_is_over_soon(party: Party) -> None:
    request = party.session().request(party.worker(EU_RESTORER))
    party.clock.now += NONCE_LASTS_SECONDS + 1
    with pytest.raises(NonceRefused):
        party.monitor.credential(*asked(request))


def test_evidence_for_another_nonce_or_session_is_refused(party: Party) -> None:
    """A replay: what somebody else has shown, with a new nonce, or for a key of one's own."""
    worker = party.worker(EU_RESTORER)
    _, session_key, shown = asked(party.session().request(worker))
    with pytest.raises(NonceRefused, match="another nonce"):
        party.monitor.credential(party.monitor.nonce(), session_key, shown)
    nonce, _, shown = asked(party.session().request(worker))
    with pytest.raises(NonceRefused, match="another session"):
        party.monitor.credential(nonce, secrets.token_bytes(32), shown)


def test_an_unknown_measurement_is_refused(party: Party) -> None:
    key = nacl.signing.SigningKey.generate()
    worker = ManifestProver(manifest(bytes(key.verify_key), {"build": "0123"}, key=party.deployer), key)
    with pytest.raises(MeasurementUnknown):
        party.credential(worker)


def test_a_certificate_ends(party: Party) -> None:
    worker = party.worker(EU_RESTORER)
    party.clock.now += 10**6
    with pytest.raises(MeasurementUnknown):
        party.credential(worker)


def test_an_unknown_certifier_is_refused(party: Party) -> None:
    stranger = nacl.signing.SigningKey.generate()
    file = party.certify(("build", "mine"), EU_RESTORER, by=stranger)
    with pytest.raises(CertifierUnknown):
        Certifiers(party.store.trusted("certifier")).read(file)
    key = nacl.signing.SigningKey.generate()
    party.certify(("worker", "x"), {})
    worker = ManifestProver(manifest(bytes(key.verify_key), {"build": "mine"}, key=party.deployer), key)
    with pytest.raises(MeasurementUnknown):
        party.credential(worker)
    # Nor who has signed the manifest.
    worker = ManifestProver(manifest(bytes(key.verify_key), {}, key=stranger), key)
    with pytest.raises(CertifierUnknown):
        party.credential(worker)


def test_a_certifier_says_only_what_they_are_trusted_for(party: Party) -> None:
    of_regions = nacl.signing.SigningKey.generate()
    trusted = Certifiers({bytes(of_regions.verify_key): frozenset({"region"})})
    file = Certificate(("worker", "x"), frozenset({("region", "eu")}), NOW).signed(of_regions)
    assert trusted.read(file).attributes == {("region", "eu")}
    file = Certificate(("worker", "x"), frozenset({("region", "eu"), ("role", "restorer")}), NOW).signed(of_regions)
    with pytest.raises(CertifierUnknown, match="not trusted for role"):
        trusted.read(file)


def test_what_was_changed_is_refused(party: Party) -> None:
    file = party.certify(("build", "x"), EU_RESTORER)
    with pytest.raises(EvidenceForged):
        Certifiers(party.store.trusted("certifier")).read(file.replace("eu", "us"))
    worker = party.worker(EU_RESTORER)
    with pytest.raises(EvidenceForged):
        party.credential(replace(worker, file=worker.file.replace("build", "guild")))
    with pytest.raises(EvidenceForged):
        party.credential(replace(worker, key=nacl.signing.SigningKey.generate()))
    nonce, key, shown = asked(party.session().request(worker))
    with pytest.raises(EvidenceForged):
        party.monitor.credential(nonce, key, {**shown, "kind": "words"})


def test_half_of_the_attributes_get_nothing(party: Party) -> None:
    """Two that are each half of what it takes: neither gets any key, so that they have none together."""
    for half in ({"region": "eu"}, {"role": "restorer", "build": "1.2"}):
        with pytest.raises(PolicyNotSatisfied):
            party.credential(party.worker(half))


def test_an_answer_of_another_monitor_is_refused(party: Party) -> None:
    session = party.session()
    told = party.monitor.credential(*asked(session.request(party.worker(EU_RESTORER))))
    with pytest.raises(CredentialForged):
        session.credential({**told, "box": told["box"][:-8] + "AAAAAAA="}, clauses=party.clauses)
    with pytest.raises(CredentialForged):
        party.session().credential(told, clauses=party.clauses)
    session._monitor = Party().monitor.public_key
    with pytest.raises(CredentialForged):
        session.credential(told, clauses=party.clauses)


def test_keys_that_do_not_belong_to_the_list_are_refused(party: Party) -> None:
    session = party.session()
    told = party.monitor.credential(*asked(session.request(party.worker(EU_RESTORER))))
    with pytest.raises(CredentialForged, match="another key"):
        session.credential(told, clauses=Party().clauses)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 100])
def test_each_nonce_of_a_batch_has_its_path(count: int) -> None:
    nonces = [secrets.token_bytes(32) for _ in range(count)]
    root, paths = batches.tree(nonces)
    for nonce, path in zip(nonces, paths, strict=True):
        batches.check_path(nonce, path, root=root)
        assert len(path.neighbours) <= (count - 1).bit_length()
        with pytest.raises(NonceRefused):
            batches.check_path(secrets.token_bytes(32), path, root=root)
        for changed in (
            replace(path, number=path.number + 1),
            replace(path, count=path.count + 8),
            replace(path, neighbours=(*path.neighbours, bytes(32))),
            replace(path, neighbours=path.neighbours[:-1]),
        ):
            if changed != path:
                with pytest.raises(NonceRefused):
                    batches.check_path(nonce, changed, root=root)


def test_the_monitor_is_attested_in_batches(party: Party) -> None:
    """While a quote is made, all who ask wait for the next one, which is for all of them."""
    made, go = [], threading.Event()

    def quote(root: bytes) -> str:
        made.append(root)
        assert go.wait(WAIT_SECONDS)
        return "quote"

    party.monitor._hardware_quote = quote
    nonces = [secrets.token_bytes(32) for _ in range(64)]
    with ThreadPoolExecutor(64) as pool:
        first = pool.submit(party.monitor.attest, nonces[0])
        eventually(lambda: made)
        others = [pool.submit(party.monitor.attest, nonce) for nonce in nonces[1:]]
        collected = party.monitor._batches
        assert collected is not None
        eventually(lambda: len(collected._waiting) == len(others))
        go.set()
        told = [each.result() for each in (first, *others)]
    assert len(made) == 2
    for nonce, answer in zip(nonces, told, strict=True):
        checked_attestation(answer, nonce, monitor=party.monitor.public_key)
        with pytest.raises(NonceRefused):
            checked_attestation(answer, secrets.token_bytes(32), monitor=party.monitor.public_key)
        with pytest.raises(EvidenceForged):
            checked_attestation(answer, nonce, monitor=Party().monitor.public_key)
    party.monitor.close()


def test_a_monitor_clones_to_who_may_and_to_nobody_else(party: Party) -> None:
    session = party.session()
    with pytest.raises(PolicyNotSatisfied):
        party.monitor.clone(*asked(session.request(party.worker(EU_RESTORER))))
    party.store.put_policies({**party.policies, "monitor": "role = monitor and host in (a, b)"})
    party.monitor.reload()
    session = party.session()
    told = party.monitor.clone(*asked(session.request(party.worker({"role": "monitor", "host": "b"}))))
    store = Store(":memory:")
    session.become_clone(told, store)
    other = Monitor(store, clock=party.clock)
    assert (other.public_key, other.clauses()) == (party.monitor.public_key, party.monitor.clauses())
    with pytest.raises(ConfigurationError):
        session.become_clone(told, store)
    # A credential is no clone.
    session = party.session()
    told = party.monitor.credential(*asked(session.request(party.worker(EU_RESTORER))))
    with pytest.raises(CredentialForged):
        session.become_clone(told, Store(":memory:"))


def test_the_audit_log_says_what_was_given_to_whom(party: Party) -> None:
    party.credential(party.worker(EU_RESTORER))
    assert party.store.audit()[0] == (NOW, "credential", "build = 1.2, region = eu, role = restorer")


def test_what_many_note_at_once_is_all_there_before_each_goes_on(tmp_path: Path) -> None:
    store = Store(tmp_path / "monitor.sqlite3")
    other = Store(tmp_path / "monitor.sqlite3")

    def note(number: int) -> bool:
        store.note("credential", about=str(number), at=NOW)
        return any(about == str(number) for _, _, about in other.audit(most=1000))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(note, range(200)))
    assert len({about for _, _, about in store.audit(most=1000)}) == len(store.audit(most=1000)) == 200
