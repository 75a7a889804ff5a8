"""Attacks on policy seals that are none of a single format: by who deploys, by what changes meanwhile, by settings that went."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nacl.signing
import pytest
from django.core.management import CommandError, call_command

from edna import errors
from edna.custody.policies import seal
from edna.custody.policies.clauses import clause_key
from edna.custody.policies.evidence import ManifestProver, manifest
from edna.custody.policies.language import Clause
from edna.custody.policies.process.monitor import Monitor
from edna.custody.policies.process.sessions import checked_attestation
from edna.custody.policies.process.store import Store
from edna.custody.policies.signing import signed_text, to_base64
from edna.models import Bag
from edna.policies import checks, serving, worker
from edna.testing import application_dump
from tests.policies.parties import EU_RESTORER, Party, asked
from tests.policies.test_bags import bea, become, gone, party  # noqa: F401  # fixtures
from tests.policies.test_process import Served
from tests.support import Student, edna_dump
from tests.unit.leaks import assert_error_leaks_nothing
from tests.waiting import WAIT_SECONDS


def test_a_manifest_cannot_say_that_a_worker_is_another_one() -> None:
    those = Party()
    other = those.worker(EU_RESTORER)
    key = nacl.signing.SigningKey.generate()
    # Certified as nothing, but known.
    those.certify(("worker", to_base64(bytes(key.verify_key))), {})
    measured = {"worker": to_base64(bytes(other.key.verify_key))}
    with pytest.raises(errors.ConfigurationError, match="does not say worker"):
        manifest(bytes(key.verify_key), measured, key=those.deployer)
    # By another program than ours.
    said = {"version": 1, "worker": to_base64(bytes(key.verify_key)), "measurements": measured}
    file = signed_text(said, purpose=b"edna policies manifest 1\n", key=those.deployer)
    with pytest.raises(errors.EvidenceForged, match="worker"):
        those.credential(ManifestProver(file, key))


def test_whoever_deploys_is_not_said_to_be_trusted_for_something_alone(tmp_path: Path) -> None:
    Monitor.create(serving.store_in(tmp_path, new=True))
    key = to_base64(bytes(nacl.signing.SigningKey.generate().verify_key))
    with pytest.raises((CommandError, SystemExit, errors.EdnaError)):
        call_command("edna_monitor", "trust", "--folder", str(tmp_path), "--deployer", key, "--for", "build")
    assert not serving.store_in(tmp_path).trusted("deployer")


def test_what_changes_while_keys_are_computed_is_in_the_next_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of before are not kept for the monitor of after."""
    those = Party()
    prover, begun = those.worker(EU_RESTORER), []

    def slow(*args: Any, **named: Any) -> Any:
        made = clause_key(*args, **named)
        if not begun:
            begun.append(True)
            those.monitor.begin_epoch(keep=[])
        return made

    monkeypatch.setattr("edna.custody.policies.process.monitor.clause_key", slow)
    those.monitor.credential(*asked(those.session().request(prover)))
    assert begun
    credential = those.credential(prover)
    assert credential.epochs == (2,)
    assert credential.clauses


@pytest.mark.parametrize("number", [float("inf"), "9" * 5000, True, None, 1.5])
def test_a_path_of_rubbish_is_refused(number: Any) -> None:
    those = Party()
    told = dict(those.monitor.attest(bytes(32)))
    with pytest.raises((errors.EvidenceForged, errors.NonceRefused)):
        checked_attestation({**told, "count": number}, bytes(32), monitor=those.monitor.public_key)
    those.monitor.close()


def test_a_running_monitor_reads_again_after_it_could_not_and_what_changed_before_it_looked(tmp_path: Path) -> None:
    read, over = [], threading.Event()

    class Reads:
        def reload(self) -> None:
            read.append(True)
            if len(read) == 1:
                raise errors.PolicyMalformed("for now")
            over.set()

    (tmp_path / "changed").touch()
    thread = threading.Thread(target=serving._watch, args=(Reads(), tmp_path / "changed", over, 0.01), daemon=True)
    thread.start()
    thread.join(WAIT_SECONDS)
    assert len(read) == 2


def test_what_a_monitor_sent_is_in_no_error_about_it() -> None:
    those = Party()
    prover, another = those.worker(EU_RESTORER), Party()
    session = those.session()
    told = those.monitor.credential(*asked(session.request(prover)))
    clause = Clause.parse("build=1.2&region=eu&role=restorer")
    secret = clause_key(those.monitor._master, epoch=1, clause=clause).expose()
    with pytest.raises(errors.CredentialForged) as caught:
        session.credential(told, clauses=another.clauses)
    assert_error_leaks_nothing(caught.value, secret, to_base64(secret).encode())


def test_what_a_monitor_is_is_in_no_error_of_its_clone() -> None:
    class Full(Store):
        def put_policies(self, policies: Mapping[str, str]) -> None:
            raise errors.ConfigurationError("The disk is full.")

    those = Party({"monitor": "role = monitor"})
    session = those.session()
    told = those.monitor.clone(*asked(session.request(those.worker({"role": "monitor"}))))
    master = those.monitor._master.expose()
    with pytest.raises(errors.ConfigurationError) as caught:
        session.become_clone(told, Full(":memory:"))
    assert_error_leaks_nothing(caught.value, master, to_base64(master).encode())


@pytest.mark.once
@pytest.mark.django_db
def test_without_policies_in_the_settings_nothing_that_wants_one_is_sealed(
    bea: Student,  # noqa: F811
    settings: Any,
) -> None:
    settings.EDNA = {name: each for name, each in settings.EDNA.items() if name != "POLICIES"}
    before = application_dump(), edna_dump()
    with pytest.raises(errors.ConfigurationError, match="restore"):
        gone(bea)
    assert (application_dump(), edna_dump()) == before
    (problem,) = checks.check_policies()
    assert "restore" in problem.msg


@pytest.mark.once
@pytest.mark.django_db
def test_without_the_application_and_the_settings_nothing_that_wants_one_is_sealed(
    bea: Student,  # noqa: F811
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("edna.policy_seals._connected", [])
    settings.EDNA = {name: each for name, each in settings.EDNA.items() if name not in ("POLICIES", "MONITOR")}
    before = application_dump(), edna_dump()
    with pytest.raises(errors.ConfigurationError, match=r"edna\.policies"):
        gone(bea)
    assert (application_dump(), edna_dump()) == before


@pytest.mark.once
@pytest.mark.django_db
def test_a_worker_does_not_seal_by_a_list_of_an_epoch_that_is_closed(
    bea: Student,  # noqa: F811
    become: Callable[[Mapping[str, str]], None],  # noqa: F811
    party: Served,  # noqa: F811
) -> None:
    """The old list is signed as well as the new one: whoever puts it back has bags sealed to credentials of before."""
    party.monitor.begin_epoch(keep=[])
    become(EU_RESTORER)
    worker.attest()
    before = application_dump(), edna_dump()
    with pytest.raises(errors.ClauseListForged, match="epoch 1"):
        gone(bea)
    assert (application_dump(), edna_dump()) == before


@pytest.mark.once
@pytest.mark.django_db
def test_bags_of_closed_epochs_do_not_ask_the_monitor_each_time(
    bea: Student,  # noqa: F811
    become: Callable[[Mapping[str, str]], None],  # noqa: F811
    party: Served,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone(bea)
    become(EU_RESTORER)
    worker.attest()
    monkeypatch.setattr(worker, "PAUSE_SECONDS", 60.0)
    stored = bytearray(Bag.objects.all()[0].sealed)
    stored[2:6] = (99).to_bytes(4, "big")
    assert seal.check(bytes(stored), len(stored)) == 99
    for _ in range(5):
        with pytest.raises(errors.EpochExpired):
            worker.worker.take_off(bytes(stored), index=bytes(32))
    assert len([each for each in party.store.audit() if each[1] == "credential"]) <= 2
