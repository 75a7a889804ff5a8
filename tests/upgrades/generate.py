"""How the fixtures were made: ``python -m tests.upgrades.generate [NAME ...]`` writes those that are not there yet.

Each is written by the code of an earlier commit, which is unpacked beside nothing else of it; only this package, whose site and scene
never change, is put into it. When something that is stored changes its format, add a name and the commit before the change (or "" for
the tree as it is), generate, and commit the new file. A file that is there is never written again: it is what a site has on its disks.
(But for 1.5 and 1.6: the first ones held tags of slots that were made so for an hour before any release, and that nothing finds today.)
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests import warm

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FIXTURES = HERE / "fixtures"

#: By name, the commit whose code wrote it; "" is the tree as it is.
COMMITS = {
    "format-1.0": "bdc38da",  # bags of ten items, lists of locators, shared bags, files, the log of updates
    "format-1.1": "a5a7cbd",  # disguises in chunks
    "format-1.2": "bd62aa9",  # the erasure ledger, files of exports
    "format-1.3": "59d4a2c",  # salts of password slots that depend on the server's key, tags, known keys of the server
    "format-1.4": "758bbc1",  # records of who else owns a row, and of what is listed for them
    "format-1.5": "362d834",  # key slots of version 2
    "format-1.6": "362d834",  # keys in records of pseudoprincipals that are sealed themselves, for browsers
    "format-1.7": "eaf00fd",  # bags that were made over to a new key, items that follow from their locators
    "format-1.8": "8a43d3d",  # keys of the hybrid kind
}
#: What somebody with a database of then has to do by hand before they migrate: nothing of a released version.
BEFORE_MIGRATING = {
    # Before the first release, the first migration itself was changed.
    "format-1.0": ['ALTER TABLE edna_replay RENAME COLUMN "on" TO logged_on;'],
}


def run(
    root: Path,
    scratch: Path,
    stage: str,
    document: Path,
    *,
    ledger: bool = False,
    custody: str = "",
    recipient: str = "",
) -> subprocess.CompletedProcess[str]:
    """One stage of the scene, by the code below ``root``."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.upgrades.settings",
        "UPGRADES_SCRATCH": str(scratch),
        "UPGRADES_LEDGER": "1" if ledger else "",
        "UPGRADES_CUSTODY": custody,
        "UPGRADES_RECIPIENT": recipient,
    }
    return subprocess.run(
        [warm.python() if root == ROOT else sys.executable, "-m", "tests.upgrades.scene", stage, str(document)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def generate(name: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root, scratch, document = (Path(directory) / part for part in ("code", "scratch", "fixture.json"))
        scratch.mkdir()
        if COMMITS[name]:
            root.mkdir()
            archive = subprocess.run(["git", "archive", COMMITS[name]], cwd=ROOT, capture_output=True, check=True)
            subprocess.run(["tar", "-x", "-C", str(root)], input=archive.stdout, check=True)
            shutil.copytree(
                HERE, root / "tests" / "upgrades", ignore=shutil.ignore_patterns("fixtures"), dirs_exist_ok=True
            )
        else:
            root = ROOT
        ledger = name >= "format-1.2"
        custody = "both" if "format-1.6" <= name < "format-1.8" else ""
        recipient = "x-wing" if name >= "format-1.8" else ""
        done = run(root, scratch, "write", document, ledger=ledger, custody=custody, recipient=recipient)
        if done.returncode:
            raise SystemExit(f"{name} could not be written:\n{done.stderr}")
        written = json.loads(document.read_text())
        found = {
            "name": name,
            "commit": COMMITS[name],
            "ledger": ledger,
            "before_migrating": BEFORE_MIGRATING.get(name, []),
            **written,
        }
        FIXTURES.mkdir(exist_ok=True)
        (FIXTURES / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
        print(f"{name}: written by {COMMITS[name] or 'the tree as it is'}")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or COMMITS:
        if (FIXTURES / f"{wanted}.json").exists():
            print(f"{wanted}: there already")
        else:
            generate(wanted)
