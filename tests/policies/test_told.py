"""What `edna_monitor` says to whoever runs a monitor: a slip of the pen in a policy, before a worker meets it; what is wrong with files."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from edna import conf
from edna.custody.policies.process.store import Store
from edna.errors import ConfigurationError

pytestmark = pytest.mark.once

Tell = Callable[..., tuple[str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "monitor"


@pytest.fixture
def tell(settings: Any, folder: Path) -> Tell:
    """What a command prints, and what it says; of a monitor whose site has these policies."""
    settings.EDNA = {
        **settings.EDNA,
        "POLICIES": {"restore": "region = uu and role in (restorer, boss)", "audit": "regoin = eu"},
    }

    def tell(*arguments: Any) -> tuple[str, str]:
        out, err = io.StringIO(), io.StringIO()
        call_command("edna_monitor", *map(str, arguments), stdout=out, stderr=err)
        return out.getvalue(), err.getvalue()

    tell("init", "--folder", folder)
    return tell


def key(tell: Tell, path: Path) -> str:
    return tell("key", "--output", path)[0].split()[-1]


def test_what_no_certificate_gives_is_said_before_a_worker_meets_it(
    tell: Tell, folder: Path, tmp_path: Path, settings: Any
) -> None:
    said = tell("policies", "--folder", folder)[1]
    assert "restore names region = uu, and no certifier is trusted for region. Until one does, nobody satisfies" in said
    certifier, worker = key(tell, tmp_path / "c.key"), key(tell, tmp_path / "w.key")
    tell("trust", "--folder", folder, "--certifier", certifier, "--for", "region", "--for", "role")
    said = tell("policies", "--folder", folder)[1]
    assert "restore names region = uu, and no certificate that is valid gives any region." in said
    tell(
        "certify", "--key", tmp_path / "c.key", "--measurement", f"worker={worker}", "--attribute", "region=eu",
        "--attribute", "role=restorer", "--days", 3, "--output", tmp_path / "w.cert",
    )  # fmt: skip
    said = tell("accept", "--folder", folder, tmp_path / "w.cert")[1]
    assert "restore names region = uu, and no certificate that is valid gives it, but region = eu" in said
    # Nobody is the boss yet, which is no slip: a restorer would be enough.
    assert re.search(r"restore names role = boss, .*role = restorer", said)
    assert "audit names regoin = eu, and no certifier is trusted for regoin." in said
    stands = json.loads(tell("--json", "status", "--folder", folder)[0])
    assert len(stands["lacking"]) == 3
    # What is written rightly says nothing.
    settings.EDNA["POLICIES"] = {"restore": "region = eu and role = restorer"}
    assert tell("policies", "--folder", folder)[1].count("names") == 0


def test_a_file_that_is_no_certificate_is_named_with_what_it_is(tell: Tell, folder: Path, tmp_path: Path) -> None:
    key(tell, tmp_path / "d.key")
    worker = key(tell, tmp_path / "w.key")
    signed = ("manifest", "--key", tmp_path / "d.key", "--worker", worker, "--output", tmp_path / "w.manifest")
    for measured, wrong in ((["worker=1"], "does not say worker"), (["build=1", "build=2"], "given twice")):
        with pytest.raises(CommandError, match=wrong):
            tell(*signed, *(each for said in measured for each in ("--measured", said)))
    tell(*signed)
    with pytest.raises(CommandError, match=r"w\.manifest is a manifest, and no certificate; no file was accepted"):
        tell("accept", "--folder", folder, tmp_path / "w.manifest")
    tell(
        "certify", "--key", tmp_path / "d.key", "--measurement", f"worker={worker}", "--attribute", "a=1", "--days", 3,
        "--output", tmp_path / "w.cert",
    )  # fmt: skip
    with pytest.raises(CommandError, match=r"w\.cert was not accepted, and no other: This monitor does not know"):
        tell("accept", "--folder", folder, tmp_path / "w.cert")


def test_whom_to_trust_no_more_is_said_alone_and_of_somebody_who_was_trusted(
    tell: Tell, folder: Path, tmp_path: Path
) -> None:
    deployer = key(tell, tmp_path / "d.key")
    with pytest.raises(CommandError, match="Nobody with this key is trusted"):
        tell("trust", "--folder", folder, "--distrust", deployer)
    tell("trust", "--folder", folder, "--deployer", deployer)
    other = key(tell, tmp_path / "o.key")
    with pytest.raises(CommandError, match="stands alone, for a deployer's key as for a certifier's"):
        tell("trust", "--folder", folder, "--deployer", other, "--distrust", deployer)
    with pytest.raises(CommandError):
        tell("trust", "--folder", folder, "--certifier", other, "--deployer", "nothing")
    # What was refused has changed nothing.
    stands = tell("status", "--folder", folder)[0]
    assert (deployer in stands, other in stands) == (True, False)
    assert "distrusted: " in tell("trust", "--folder", folder, "--distrust", deployer)[0]
    assert "deployers: none" in tell("status", "--folder", folder)[0]


def test_what_a_monitor_did_is_a_line_each_with_its_day(tell: Tell, folder: Path) -> None:
    store = Store(folder / "monitor.sqlite3")
    store.note("credential", about="region=eu", at=1_800_000_000)
    store.note("refused", about="MeasurementUnknown", at=1_800_000_060)
    store.close()
    printed = tell("status", "--folder", folder)[0]
    assert (
        "audit:\n  2027-01-15 08:01 UTC  refused  MeasurementUnknown\n  2027-01-15 08:00 UTC  credential  region=eu\n"
        in printed
    )


def test_a_folder_without_a_monitor_is_named_as_it_was_typed(
    tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match="There is no monitor's store in nope: "):
        tell("status", "--folder", "nope")


def test_what_a_monitors_setting_cannot_have_is_named(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "MONITOR": {"ADDRESS": "x", "PUBLIC_KEY": "y", "CERTIFCATE": "z"}}
    with pytest.raises(ConfigurationError, match=r"It has 'CERTIFCATE', which it cannot have\. It lacks 'CLAUSES'\."):
        conf.monitor()
