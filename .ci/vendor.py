"""Fetch what is vendored, by the lock file beside it, from the npm registry: `python .ci/vendor.py`. With --check it fetches nothing.

To take another version, write it into `lock.json` with the digest that `npm view NAME dist.integrity` says, run this, and look at the
difference.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).resolve().parent.parent / "edna" / "static" / "edna" / "vendor"


def locks() -> dict[Path, dict[str, Any]]:
    return {path.parent: json.loads(path.read_text()) for path in sorted(VENDOR.glob("*/lock.json"))}


def differences() -> list[str]:
    """What is not as its lock file says: files that are missing, changed, or of no package."""
    wrong = []
    for folder, lock in locks().items():
        present = {path.name for path in folder.iterdir()} - {"lock.json"}
        wrong += [f"{folder.name}/{name} is in no lock file" for name in sorted(present - lock["files"].keys())]
        for name, file in lock["files"].items():
            if name not in present or sha256(folder / name) != file["sha256"]:
                wrong.append(
                    f"{folder.name}/{name} is missing, or is not the file of {lock['package']} {lock['version']}"
                )
    return wrong


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetch(folder: Path, lock: dict[str, Any]) -> None:
    wanted = f"{lock['package']}@{lock['version']}"
    with tempfile.TemporaryDirectory() as where:
        subprocess.run(["npm", "pack", "--silent", wanted], cwd=where, check=True, stdout=subprocess.DEVNULL)
        (packed,) = Path(where).glob("*.tgz")
        digest = "sha512-" + base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode()
        if digest != lock["integrity"]:
            sys.exit(f"error: {wanted} has the digest {digest}, the lock file says {lock['integrity']}")
        with tarfile.open(packed) as archive:
            for name, file in lock["files"].items():
                member = archive.extractfile(f"package/{file['from']}")
                assert member is not None
                (folder / name).write_bytes(member.read())


def main(arguments: list[str]) -> int:
    if unknown := set(arguments) - {"--check"}:
        print(f"error: unknown: {' '.join(sorted(unknown))}")
        return 2
    if not arguments:
        for folder, lock in locks().items():
            fetch(folder, lock)
    print(*(wrong := differences()), sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
