"""manage.py edna_guardian serve and edna_monitor serve with a profile, as processes."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nacl.signing
import pytest
from django.core.management import CommandError, call_command

from benchmarks.kit.ports import reserved
from edna.custody.guardians.roster import to_base64
from edna.custody.policies.process.client import MonitorClient
from edna.errors import MonitorUnavailable
from edna.policies import files
from tests.sockets.processes import process

pytestmark = pytest.mark.slow


def run(command: str, *arguments: Any) -> str:
    out = io.StringIO()
    call_command(command, *map(str, arguments), stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_a_monitor_is_served_with_a_profile_to_who_is_named(tmp_path: Path) -> None:
    folder, key = tmp_path / "monitor", tmp_path / "worker.key"
    monitor = re.search(r"public key: (\S+)", run("edna_monitor", "init", "--folder", folder))
    worker = re.search(r"public key: (\S+)", run("edna_monitor", "key", "--output", key))
    assert monitor is not None
    assert worker is not None
    known_by = files.public_key_of(monitor[1], given_as="")
    serve = (
        "edna_monitor",
        "serve",
        "--folder",
        folder,
        "--listen",
        "127.0.0.1:0",
        "--profile",
        "secure",
        "--peer",
        worker[1],
    )
    with process(*serve) as port:
        address = f"secure://127.0.0.1:{port}"
        MonitorClient(address, monitor=known_by, key=files.read_key(key)).check()
        with pytest.raises(MonitorUnavailable, match="does not answer the key"):
            MonitorClient(address, monitor=known_by, key=nacl.signing.SigningKey.generate()).check()


@pytest.fixture
def two_ports() -> Iterator[list[int]]:
    with reserved([0, 0]) as ports:
        yield ports


def test_guardians_are_served_as_the_roster_says(tmp_path: Path, two_ports: list[int]) -> None:
    site_key, roster, ports = tmp_path / "site.key", tmp_path / "roster.json", dict(enumerate(two_ports, start=1))
    public_key = run("edna_guardian", "site-key", "--output", site_key).strip()
    for number, port in ports.items():
        address = f"secure://127.0.0.1:{port}"
        said = run("edna_guardian", "new", "--folder", tmp_path / str(number), "--number", number, "--address", address)
        (tmp_path / f"{number}.json").write_text(said)
    members = [tmp_path / f"{number}.json" for number in ports]
    run(
        "edna_guardian",
        "schedule",
        "--site",
        "Ours",
        "--site-key",
        site_key,
        "--threshold",
        2,
        "--output",
        roster,
        *members,
    )

    def serve(number: int, *more: str) -> tuple[Any, ...]:
        folder = tmp_path / str(number)
        return (
            "edna_guardian",
            "serve",
            "--folder",
            folder,
            "--roster",
            roster,
            "--site-public-key",
            public_key,
            *more,
        )

    with process(*serve(1)) as one, process(*serve(2, "--profile", "secure")) as two:
        assert {1: one, 2: two} == ports
        told = json.loads(run("edna_guardian", "--json", "status", "--roster", roster, "--site-key", site_key))
        assert told["up"] == 2
    with pytest.raises(CommandError, match="not the profile reg"):
        run(*serve(1, "--profile", "reg"))
    with pytest.raises(CommandError, match="--peer is a public key"):
        run(*serve(1, "--peer", to_base64(b"short")))
