"""Evidence of a TPM 2.0, by a real one in software: `make test-tpm` installs swtpm and the library, and runs this."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nacl.signing
import pytest
from django.core.management import call_command

from edna import conf
from edna.custody.policies.certificates import Certificate
from edna.custody.policies.clauses import ClauseList
from edna.custody.policies.evidence import binding
from edna.custody.policies.process.client import MonitorClient
from edna.custody.policies.process.monitor import Monitor
from edna.custody.policies.signing import to_base64
from edna.custody.policies.tpm import TpmProver, TpmVerifier
from edna.errors import (
    CertifierUnknown,
    ConfigurationError,
    EdnaError,
    EvidenceForged,
    MeasurementUnknown,
    NonceRefused,
)
from edna.policies import serving, worker
from tests.policies.parties import EU_RESTORER, NOW, POLICIES, Party, asked
from tests.sockets.processes import process
from tests.waiting import eventually

#: `make test-tpm` has installed them: there, one that is missing is a failure.
with_tpm = pytest.mark.skipif(
    not os.environ.get("EDNA_TPM")
    and (shutil.which("swtpm") is None or importlib.util.find_spec("tpm2_pytss") is None),
    reason="swtpm or tpm2-pytss is not installed: make test-tpm installs them",
)
REGISTERS = "sha256:0,1,16"
#: The debug register, which anybody may reset.
REGISTER = 16


class Machine:
    """A TPM in a process of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        port = _two_ports()
        self.where = f"swtpm:host=127.0.0.1,port={port}"
        command = [
            "swtpm",
            "socket",
            "--tpm2",
            "--tpmstate",
            f"dir={folder}",
            "--server",
            f"type=tcp,port={port},disconnect",
        ]
        self._process = subprocess.Popen(
            [*command, "--ctrl", f"type=tcp,port={port + 1}", "--flags", "not-need-init,startup-clear"]
        )
        eventually(lambda: _answers(port + 1), what="the TPM listens")
        self.prover = TpmProver(self.where, REGISTERS)
        self.reset()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)

    def reset(self) -> None:
        from tpm2_pytss import ESAPI, ESYS_TR

        with ESAPI(self.where) as tpm:
            tpm.pcr_reset(ESYS_TR(REGISTER))

    def extend(self) -> None:
        """As what boots does with what it loads."""
        from tpm2_pytss import ESAPI, ESYS_TR

        with ESAPI(self.where) as tpm:
            tpm.pcr_event(ESYS_TR(REGISTER), b"another loader")


def _two_ports() -> int:
    """The TSS looks for the control channel at the port behind."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as one:
            port = int(one.getsockname()[1])
            try:
                with socket.create_server(("127.0.0.1", port + 1)):
                    return port
            except OSError:
                continue


def _answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    folder = tmp_path_factory.mktemp("tpms")
    made = [Machine(folder / name) for name in ("one", "two")]
    yield made
    for each in made:
        each.stop()


@pytest.fixture
def machine(machines: list[Machine]) -> Machine:
    machines[0].reset()
    return machines[0]


class Certifying(Party):
    """A monitor that takes quotes, and knows what the registers of machines stand for that have booted as they should."""

    def knows(self, machine: Machine) -> None:
        self.monitor = Monitor(self.store, clock=self.clock, verifiers=[TpmVerifier()])
        _, registers = machine.prover.measured()
        self.certify(registers, {"build": "1.2", "role": "restorer"})

    def certificate(
        self, machine: Machine, *, by: nacl.signing.SigningKey | None = None, until: int = NOW + 10**6
    ) -> str:
        """About the key of its TPM, to be brought along."""
        key, _ = machine.prover.measured()
        return Certificate(key, frozenset({("region", "eu")}), until).signed(by or self.certifier)

    def prover(self, machine: Machine, certificate: str | None = None) -> TpmProver:
        brought = self.certificate(machine) if certificate is None else certificate
        return TpmProver(machine.where, REGISTERS, brought)


@pytest.fixture
def party(request: pytest.FixtureRequest) -> Certifying:
    made = Certifying()
    made.knows(request.getfixturevalue("machine"))
    return made


@with_tpm
def test_a_worker_with_a_tpm_gets_what_it_satisfies(party: Certifying, machine: Machine) -> None:
    credential = party.credential(party.prover(machine))
    assert set(credential.attributes) == set(EU_RESTORER.items())
    assert [str(each) for each in credential.clauses] == ["build=1.2&region=eu&role=restorer"]
    # The monitor may have been told before, and then there is nothing to bring along.
    key, _ = machine.prover.measured()
    party.certify(key, {"region": "eu"})
    assert party.credential(party.prover(machine, "")).attributes == credential.attributes


@with_tpm
def test_a_quote_counts_once_and_for_its_session_alone(party: Certifying, machine: Machine) -> None:
    request = party.session().request(party.prover(machine))
    party.monitor.credential(*asked(request))
    with pytest.raises(NonceRefused):
        party.monitor.credential(*asked(request))
    other = party.session().request(party.prover(machine))
    for swapped in ({"nonce": to_base64(party.monitor.nonce())}, {"session_key": to_base64(b"\x01" * 32)}):
        with pytest.raises(NonceRefused, match="another nonce, or for another session"):
            party.monitor.credential(*asked({**other, "nonce": to_base64(party.monitor.nonce()), **swapped}))


@with_tpm
def test_what_booted_otherwise_is_not_known(party: Certifying, machine: Machine) -> None:
    machine.extend()
    with pytest.raises(MeasurementUnknown, match="pcr sha256:0,1,16:"):
        party.credential(party.prover(machine))
    machine.reset()
    party.credential(party.prover(machine))
    # Nor does it help to leave the register out, or to take one of another bank.
    for registers in ("sha256:0,1", "sha1:0,1,16", "sha256:0,1+sha1:16"):
        with pytest.raises(MeasurementUnknown):
            party.credential(TpmProver(machine.where, registers, party.certificate(machine)))


@with_tpm
def test_another_machine_s_tpm_is_not_known(party: Certifying, machines: list[Machine]) -> None:
    one, two = machines
    with pytest.raises(MeasurementUnknown, match="tpm "):
        party.credential(party.prover(two, ""))
    with pytest.raises(EvidenceForged, match="about somebody else"):
        party.credential(party.prover(two, party.certificate(one)))
    _, registers = one.prover.measured()
    other = Certificate(registers, frozenset({("region", "eu")}), NOW + 10).signed(party.certifier)
    with pytest.raises(EvidenceForged, match="about somebody else"):
        party.credential(party.prover(one, other))


@with_tpm
def test_a_certificate_that_is_brought_along_has_to_be_of_a_certifier_and_valid(
    party: Certifying, machine: Machine
) -> None:
    with pytest.raises(CertifierUnknown):
        party.credential(party.prover(machine, party.certificate(machine, by=nacl.signing.SigningKey.generate())))
    changed = party.certificate(machine).replace("region", "regiom")
    with pytest.raises(EvidenceForged, match="was changed"):
        party.credential(party.prover(machine, changed))
    with pytest.raises(MeasurementUnknown):
        party.credential(party.prover(machine, party.certificate(machine, until=NOW)))
    party.store.trust(bytes(party.certifier.verify_key), "certifier", ["build", "role"])
    party.monitor.reload()
    with pytest.raises(CertifierUnknown, match="not trusted for region"):
        party.credential(party.prover(machine))


@with_tpm
@pytest.mark.parametrize("name", ["key", "quote", "signature"])
def test_each_flipped_byte_of_a_quote_is_refused(machine: Machine, name: str) -> None:
    nonce, session_key = b"n" * 32, b"s" * 32
    shown, verifier = dict(machine.prover.show(nonce, session_key)), TpmVerifier()
    wanted = verifier.verify(shown, nonce, session_key)
    raw = base64.b64decode(shown[name])
    for place in range(len(raw)):
        changed = raw[:place] + bytes((raw[place] ^ 1,)) + raw[place + 1 :]
        try:
            measured = verifier.verify({**shown, name: to_base64(changed)}, nonce, session_key)
        except EvidenceForged:
            continue
        # A key that is described otherwise is another one, about which nobody says anything.
        assert name == "key"
        assert measured[0] != wanted[0]
    for changed in (b"", raw[:-1], raw + b"\0", bytes(5000)):
        with pytest.raises(EvidenceForged):
            verifier.verify({**shown, name: to_base64(changed)}, nonce, session_key)
    with pytest.raises(EvidenceForged):
        verifier.verify({**shown, name: 5}, nonce, session_key)


@with_tpm
def test_a_key_that_signs_anything_quotes_nothing(machine: Machine) -> None:
    """Made in the same TPM, and not restricted: it signs what looks like a quote and was made elsewhere."""
    from tpm2_pytss import ESAPI, ESYS_TR, TPM2B_DATA, TPM2B_PUBLIC, TPM2B_SENSITIVE_CREATE, TPML_PCR_SELECTION

    nonce, session_key = b"n" * 32, b"s" * 32
    with ESAPI(machine.where) as tpm:
        for attributes in (
            "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|sign",
            "sensitivedataorigin|userwithauth|restricted|sign",
        ):
            template = TPM2B_PUBLIC.parse("ecc256:ecdsa-sha256:null", objectAttributes=attributes)
            handle, public, *_ = tpm.create_primary(TPM2B_SENSITIVE_CREATE(), template, ESYS_TR.OWNER)
            bound = TPM2B_DATA(binding(nonce, session_key))
            quote, signature = tpm.quote(handle, TPML_PCR_SELECTION.parse(REGISTERS), bound)
            tpm.flush_context(handle)
            shown = {
                "key": to_base64(public.marshal()),
                "quote": to_base64(bytes(quote)),
                "signature": to_base64(signature.marshal()),
            }
            with pytest.raises(EvidenceForged, match="may leave its TPM"):
                TpmVerifier().verify(shown, nonce, session_key)


@with_tpm
def test_what_a_tpm_has_signed_besides_is_no_quote(machine: Machine) -> None:
    """It says when it was asked, with the same key and for the same nonce."""
    from tpm2_pytss import ESAPI, ESYS_TR, TPM2B_DATA, TPM2B_PUBLIC, TPM2B_SENSITIVE_CREATE

    nonce, session_key = b"n" * 32, b"s" * 32
    with ESAPI(machine.where) as tpm:
        attributes = "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|restricted|sign"
        template = TPM2B_PUBLIC.parse("ecc256:ecdsa-sha256:null", objectAttributes=attributes)
        handle, public, *_ = tpm.create_primary(TPM2B_SENSITIVE_CREATE(), template, ESYS_TR.OWNER)
        said, signature = tpm.get_time(handle, TPM2B_DATA(binding(nonce, session_key)))
        tpm.flush_context(handle)
    shown = {
        "key": to_base64(public.marshal()),
        "quote": to_base64(bytes(said)),
        "signature": to_base64(signature.marshal()),
    }
    with pytest.raises(EvidenceForged, match="is no quote"):
        TpmVerifier().verify(shown, nonce, session_key)


@with_tpm
def test_the_command_says_what_a_machine_is_measured_as(machine: Machine) -> None:
    said = io.StringIO()
    call_command("edna_monitor", "--json", "tpm", "--at", machine.where, "--registers", REGISTERS, stdout=said)
    assert json.loads(said.getvalue()) == dict(machine.prover.measured())


@with_tpm
@pytest.mark.slow
def test_a_monitor_in_a_process_of_its_own_takes_quotes_if_it_is_told_to(machine: Machine, tmp_path: Path) -> None:
    store, certifier = serving.store_in(tmp_path / "monitor", new=True), nacl.signing.SigningKey.generate()
    Monitor.create(store)
    store.put_policies(POLICIES)
    store.trust(bytes(certifier.verify_key), "certifier")
    attributes, until = frozenset(EU_RESTORER.items()), int(time.time()) + 3600
    store.put_certificates(
        [Certificate(each, attributes, until).signed(certifier) for each in machine.prover.measured()]
    )
    monitor = Monitor(store, clock=time.time)
    clauses = ClauseList.parse(monitor.clauses(), monitor=monitor.public_key)
    serve = "edna_monitor", "serve", "--folder", tmp_path / "monitor", "--listen", "127.0.0.1:0"
    with process(*serve) as port:
        client = MonitorClient(f"http://127.0.0.1:{port}", monitor=monitor.public_key)
        with pytest.raises(EvidenceForged, match="no evidence of this kind"):
            client.credential(machine.prover, clauses=clauses)
    with process(*serve, "--tpm") as port:
        client = MonitorClient(f"http://127.0.0.1:{port}", monitor=monitor.public_key)
        assert set(client.credential(machine.prover, clauses=clauses).attributes) == attributes
        machine.extend()
        with pytest.raises(MeasurementUnknown):
            client.credential(machine.prover, clauses=clauses)


@with_tpm
def test_a_worker_shows_the_tpm_that_the_settings_name(
    machine: Machine, party: Certifying, settings: Any, tmp_path: Path
) -> None:
    certificate = tmp_path / "tpm.cert"
    certificate.write_text(party.certificate(machine))
    said = {
        "ADDRESS": "http://127.0.0.1:1",
        "PUBLIC_KEY": to_base64(party.monitor.public_key),
        "CLAUSES": tmp_path / "clauses.json",
        "TPM": machine.where,
        "TPM_REGISTERS": REGISTERS,
        "TPM_CERTIFICATE": certificate,
    }
    settings.EDNA = {**settings.EDNA, "MONITOR": said}
    prover = worker._prover(conf.monitor())
    assert prover is not None
    assert party.credential(prover).attributes == party.credential(party.prover(machine)).attributes
    for wrong in ({"MANIFEST": "a", "WORKER_KEY": "b"}, {"WORKER_KEY": "b", "TPM": None}, {"TPM": None}):
        changed = {name: each for name, each in {**said, **wrong}.items() if each is not None}
        settings.EDNA = {**settings.EDNA, "MONITOR": changed}
        with pytest.raises(ConfigurationError):
            conf.monitor()


@with_tpm
def test_a_tpm_that_is_not_there_is_told(machine: Machine) -> None:
    for where, registers in (
        ("swtpm:host=127.0.0.1,port=1", REGISTERS),
        ("nothing", REGISTERS),
        (machine.where, "sha256:x"),
    ):
        with pytest.raises(ConfigurationError, match="makes no quote"):
            TpmProver(where, registers).show(bytes(32), bytes(32))


# --- without one ---


def test_nothing_of_it_is_imported_before_it_is_used() -> None:
    program = "import sys, edna.custody.policies.tpm as tpm; tpm.TpmVerifier(); print('tpm2_pytss' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "tpm2_pytss", None)
    for act in (
        TpmVerifier.checked,
        lambda: TpmProver("device:/dev/tpmrm0").show(bytes(32), bytes(32)),
        lambda: TpmVerifier().verify({}, bytes(32), bytes(32)),
    ):
        with pytest.raises(ConfigurationError, match=r"django-edna\[tpm\]"):
            act()


def test_a_monitor_that_takes_no_quotes_refuses_one() -> None:
    party = Party()
    with pytest.raises(EdnaError, match="no evidence of this kind"):
        party.monitor.credential(party.monitor.nonce(), bytes(32), {"kind": "tpm"})
