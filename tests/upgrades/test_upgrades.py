"""What every earlier format holds comes back with the code of today: a database as it was then, migrated, opened and revealed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from edna.crypto.keys import SecretKey
from edna.custody import password
from edna.custody.base import candidate_ids, slot_tags
from tests import warm
from tests.upgrades.generate import COMMITS, FIXTURES, ROOT, run

STORED = sorted(FIXTURES.glob("*.json"))


@pytest.mark.parametrize("fixture", STORED, ids=lambda path: path.stem)
def test_everything_comes_back_to_the_byte(fixture: Path, tmp_path: Path) -> None:
    ledger = json.loads(fixture.read_text()).get("ledger", False)
    done = run(ROOT, tmp_path, "check", fixture, ledger=ledger)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize("fixture", STORED, ids=lambda path: path.stem)
def test_the_fixtures_have_slots_with_either_salt(fixture: Path) -> None:
    """Up to 1.2 the salt follows from the identifier alone; after, from the server's key too. The test above opens both."""
    document = json.loads(fixture.read_text())
    key = b"the MAC key of the tests of upgrades"
    slots = "".join(line for line in document["sql"] if line.startswith('INSERT INTO "edna_keyslot"'))
    for name, person in document["people"].items():
        found = []
        for pepper in (None, key):
            secret = password.derive(
                person["password"], identifier=name, opslimit=1, memlimit_bytes=8 * 1024 * 1024, pepper=pepper
            )
            found.append(any(each.hex().upper() in slots for each in candidate_ids(secret, peppers=[key])))
        assert found == ([True, False] if fixture.stem <= "format-1.2" else [False, True])
        # By its tag a slot is replaced: one that nobody finds opens for ever with the password of then.
        tags = slot_tags(SecretKey.parse(person["secret_key"]), kind=password.KIND, peppers=[key])
        assert any(each.hex().upper() in slots for each in tags)


@pytest.mark.slow
def test_everything_comes_back_with_the_ledger_on(tmp_path: Path) -> None:
    """Turned on with the upgrade: what was disguised before is not in it, and comes back as well."""
    done = run(ROOT, tmp_path, "check", STORED[0], ledger=True)
    assert done.returncode == 0, done.stderr[-4000:]


def test_a_fixture_can_fail(tmp_path: Path) -> None:
    """One bag less, and the check says so."""
    document = json.loads(STORED[0].read_text())
    bags = [line for line in document["sql"] if line.startswith('INSERT INTO "edna_bag"')]
    document["sql"].remove(bags[0])
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(document))
    assert run(ROOT, tmp_path, "check", broken).returncode


def test_there_is_a_fixture_for_each_name() -> None:
    assert [path.stem for path in STORED] == sorted(COMMITS)
    assert all(json.loads(path.read_text())["commit"] == COMMITS[path.stem] for path in STORED)


def test_a_format_does_not_change_without_a_fixture() -> None:
    """What is stored has changed: give tests/upgrades/generate.py another name, so that what there is today keeps opening."""
    script = "from tests.upgrades.scene import formats; import json; print(json.dumps(formats()))"
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.upgrades.settings",
        "UPGRADES_SCRATCH": "/nonexistent",
    }
    done = subprocess.run(
        [warm.python(), "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    today: dict[str, Any] = json.loads(done.stdout)
    assert today in [json.loads(path.read_text())["formats"] for path in STORED]
