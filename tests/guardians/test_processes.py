"""manage.py edna_guardian: guardians as processes, through TLS, killed and started again; and the commands around them."""

from __future__ import annotations

import argparse
import base64
import datetime
import io
import ipaddress
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import nacl.signing
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings
from django.core.management import CommandError, call_command

import edna
from apps.websubmit.models import User
from benchmarks.kit.ports import reserved
from edna import conf
from edna.custody.guardians import at_rest
from edna.custody.guardians.roster import Identity, Roster
from edna.guardians import files
from edna.guardians.management.commands import edna_guardian
from tests import warm
from tests.waiting import WAIT_SECONDS, eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once, pytest.mark.slow]

COUNT, THRESHOLD = 3, 2
ROOT = Path(__file__).resolve().parents[2]


def certificate(folder: Path) -> tuple[str, str]:
    """One for 127.0.0.1 that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "guardian")])
    today = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "tls.pem", folder / "tls.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    paths[1].write_bytes(private)
    return str(paths[0]), str(paths[1])


def run(*arguments: Any, **options: Any) -> str:
    out = io.StringIO()
    call_command("edna_guardian", *map(str, arguments), stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


class Guardians:
    """Processes, each with a folder of its own."""

    def __init__(self, folder: Path, ports: Sequence[int]) -> None:
        self.folder = folder
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        pem, self.key = certificate(folder)
        self.pem = pem
        self.ports = dict(enumerate(ports, start=1))
        members = []
        for number, port in self.ports.items():
            said = run(
                "new", "--folder", folder / str(number), "--number", number,
                "--address", f"https://127.0.0.1:{port}", "--certificate", pem,
            )  # fmt: skip
            members.append(folder / f"{number}.json")
            members[-1].write_text(said)
        self.site_key = folder / "site.key"
        self.public_key = run("site-key", "--output", self.site_key).strip()
        self.roster = folder / "roster.json"
        run(
            "schedule",
            "--site",
            "Example",
            "--site-key",
            self.site_key,
            "--threshold",
            THRESHOLD,
            "--output",
            self.roster,
            *members,
        )

    def start(self, number: int, *, policy: str = "waiting:0") -> None:
        arguments = [
            "serve", "--folder", self.folder / str(number), "--roster", self.roster, "--site-public-key", self.public_key,
            "--policy", policy, "--listen", f"127.0.0.1:{self.ports[number]}", "--certificate", self.pem,
            "--certificate-key", self.key, "--mail-server", "-",
        ]  # fmt: skip
        self.processes[number] = subprocess.Popen(
            [warm.python(), "manage.py", "edna_guardian", *map(str, arguments)],
            env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings_test"},
            stderr=(self.folder / f"{number}.log").open("ab"),
        )

    def wait(self) -> None:
        for number in self.processes:
            eventually(lambda number=number: self.answers(number))

    def answers(self, number: int) -> bool:
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", self.ports[number])) == 0

    def kill(self, number: int) -> None:
        self.processes[number].send_signal(signal.SIGKILL)
        self.processes[number].wait()

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(WAIT_SECONDS)

    @property
    def site(self) -> list[Any]:
        return ["--roster", self.roster, "--site-key", self.site_key]


@pytest.fixture
def guardians(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Guardians]:
    with reserved([0] * COUNT) as ports:
        running = Guardians(tmp_path, ports)
        for number in running.ports:
            running.start(number, policy=getattr(request, "param", "waiting:0"))
        running.wait()
        yield running
        running.stop()


def under_way(guardians: Guardians) -> bool:
    """A second share lies beside the first, at one guardian at least; or it is over already."""
    return any(
        epoch > 3
        for number in guardians.ports
        for epoch in epochs_of(guardians.folder / str(number) / "guardian.sqlite3")
    )


def epochs_of(path: Path) -> list[int]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return [epoch for (epoch,) in database.execute("SELECT epoch FROM share")]


def recovered(guardians: Guardians, envelope: Path, name: str) -> str:
    output = guardians.folder / name
    run(
        "recover", "--roster", guardians.roster, "--site-public-key", guardians.public_key, "--request",
        guardians.folder / f"{name}.request", "--output", output, envelope,
    )  # fmt: skip
    return output.read_text().strip()


def test_a_key_comes_back_from_processes_that_are_killed_and_refreshed(guardians: Guardians) -> None:
    """Enrolled with one guardian down; repaired; refreshed, one killed in the middle of it; and the key opens what it did."""
    bea = User.objects.create_user("bea@example.org", password="x")
    made = edna.register_principal(bea, password="of her key")
    assert made.secret_key is not None
    key_file = guardians.folder / "bea.key"
    key_file.write_text(made.secret_key.expose_text())
    envelope = guardians.folder / "bea.envelope"

    guardians.kill(3)
    run("enroll", *guardians.site, "--contact", "bea@example.org", "--output", envelope, "--secret-key-file", key_file)
    assert envelope.stat().st_mode & 0o077 == 0
    with pytest.raises(SystemExit):
        run("status", *guardians.site)
    guardians.start(3)
    guardians.wait()
    assert json.loads(run("refresh", *guardians.site, json=True))["repaired"] == {"3": 1}
    guardians.kill(1)
    assert recovered(guardians, envelope, "once.key") == made.secret_key.expose_text()

    # The first is down, and misses a refresh.
    with pytest.raises(SystemExit):
        run("refresh", *guardians.site)
    guardians.start(1)
    guardians.wait()
    assert "Guardian 1: 1 enrolment 1 of epoch 1\nGuardian 2: 1 enrolment 1 of epoch 2" in run(
        "status", *guardians.site
    )
    assert json.loads(run("refresh", *guardians.site, json=True))["repaired"] == {"1": 1}
    sweeping = subprocess.Popen(
        [warm.python(), "manage.py", "edna_guardian", "refresh", *map(str, guardians.site)],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings_test"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # Wherever it is then: `test_sweep` goes through the moments.
    eventually(lambda: under_way(guardians))
    guardians.kill(2)
    sweeping.wait(WAIT_SECONDS)
    assert recovered(guardians, envelope, "twice.key") == made.secret_key.expose_text()
    guardians.start(2)
    guardians.wait()
    assert json.loads(run("refresh", *guardians.site, json=True))["wrong"] == {}
    guardians.kill(1)
    assert recovered(guardians, envelope, "thrice.key") == made.secret_key.expose_text()
    said = run(
        "veto", "--roster", guardians.roster, "--site-public-key", guardians.public_key, "--secret-key-file", key_file, envelope
    )  # fmt: skip
    assert said.startswith("2 of 3 guardians refuse")
    with pytest.raises(CommandError, match="0 of the 2 guardians"):
        recovered(guardians, envelope, "never.key")
    assert "Traceback" not in "".join((guardians.folder / f"{number}.log").read_text() for number in guardians.ports)


def test_refusals_are_sentences(tmp_path: Path) -> None:
    (tmp_path / "identity.json").write_text("{}")
    with pytest.raises(CommandError, match="no identity of a guardian"):
        run("audit", "--folder", tmp_path, "--roster", tmp_path, "--site-public-key", "x")
    with pytest.raises(CommandError, match="cannot be read"):
        run("status", "--roster", tmp_path / "none", "--site-key", tmp_path / "none")
    for address, why in (("guardian.example:8443", "looks like https://"), ("http://guardian.example", "has no TLS")):
        with pytest.raises(CommandError, match=why):
            run("new", "--folder", tmp_path / "new", "--number", 1, "--address", address)
    assert not (tmp_path / "new").exists()
    key, another = tmp_path / "site.key", nacl.signing.SigningKey.generate()
    files.write_site_key(key, nacl.signing.SigningKey.generate())
    members = [Identity.new(number).member(f"http://127.0.0.1:844{number}") for number in (1, 2)]
    (tmp_path / "roster").write_text(Roster(members, 2, bytes(another.verify_key)).signed(another))
    with pytest.raises(CommandError, match=r"roster: The signature of the site is wrong.*key that signed it"):
        run("status", "--roster", tmp_path / "roster", "--site-key", key)


def test_each_action_can_be_called() -> None:
    command = edna_guardian.Command()
    parser = command.create_parser("manage.py", "edna_guardian")
    (actions,) = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    for page in ("docs/guardians.md", "docs/commands.md"):
        named = re.findall(r"manage\.py edna_guardian ([a-z-]+)", (ROOT / page).read_text())
        assert set(named) <= set(actions.choices), page
    assert len(actions.choices) == 14


@pytest.mark.parametrize("guardians", ["standing"], indirect=True)
def test_a_site_whose_keys_are_sealed_starts_when_enough_guardians_answer(guardians: Guardians) -> None:
    """Operators allow it once. No key is in the folder; with too few guardians the site says so, and does not start."""
    folder = guardians.folder / "keys"
    (key,) = conf.mac_keys()
    said = io.StringIO()
    call_command(
        "edna_guardian", "seal-keys", *map(str, guardians.site), "--contact", "ops@example.org", "--also", "SECRET_KEY",
        "--output", str(folder), stdout=said, stderr=said,
    )  # fmt: skip
    codes = []
    for number, name in re.findall(r"Guardian (\d): the request there is ([0-9a-f]+)", said.getvalue())[:2]:
        code = run(
            "code", "--folder", guardians.folder / number, "--roster", guardians.roster, "--site-public-key",
            guardians.public_key, "--for", "ops@example.org", name,
        )  # fmt: skip
        codes += ["--code", f"{number}:{code.strip()}"]
    assert run("open-keys", "--folder", folder, *codes) == "1 key of the server, and 1 other setting.\n"
    kept = b"".join(path.read_bytes() for path in folder.iterdir())
    assert not any(hidden in kept for hidden in (key, base64.b64encode(key), settings.SECRET_KEY.encode()))

    (guardians.folder / "sealed_site.py").write_text(
        "from config.settings_test import *\n"
        "from edna.custody.guardians import at_rest\n"
        "at_rest._AGAIN_SECONDS = float(os.environ['AGAIN'])\n"
        f"SEALED = at_rest.sealed_settings({str(folder)!r}, timeout_seconds=60)\n"
        "EDNA = {**EDNA, 'MAC_KEYS': SEALED['MAC_KEYS']}\nSECRET_KEY = SEALED['SECRET_KEY']\n"
    )

    def started(*, asking_again_after: float = at_rest._AGAIN_SECONDS) -> subprocess.Popen[str]:
        path = os.pathsep.join((str(guardians.folder), str(ROOT)))
        given = {"DJANGO_SETTINGS_MODULE": "sealed_site", "PYTHONPATH": path, "AGAIN": str(asking_again_after)}
        code = "import django; django.setup(); from edna import conf; print(conf.mac_keys()[0].hex())"
        return subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, **given},
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    assert started().communicate()[0].strip() == key.hex()
    guardians.kill(1)
    refused = started(asking_again_after=3600).communicate()[1]
    assert "1 of the 2 guardians helped that it takes to start. Guardian 1 cannot be reached" in refused
    assert "Guardian 3: This guardian waits for its code." in refused
    waiting = started()
    guardians.start(1, policy="standing")
    assert waiting.communicate()[0].strip() == key.hex()
