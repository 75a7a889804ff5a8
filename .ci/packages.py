"""`make test-packages`: environments for packages that cannot share one with each other, or with the tests.

Each file in `tests/acceptance/packages` that pins packages makes one, below the directory that is given. They stay, so the next run
installs nothing, unless a pin has changed. edna itself is taken from the working tree. Knows no test.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "tests/acceptance/packages"


def make(pins: Path, directory: Path) -> None:
    where = directory / pins.stem
    installed = where / "installed.txt"
    if installed.exists() and installed.read_text() == pins.read_text():
        return
    print(f"{where}: {len(pins.read_text().splitlines())} packages", flush=True)
    venv.create(where, with_pip=True, clear=True)
    pip = [str(where / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "-r", str(pins)], check=True)
    installed.write_text(pins.read_text())


def main() -> int:
    directory = Path(sys.argv[1])
    try:
        for pins in sorted(PINS.glob("*.txt")):
            make(pins, directory)
    except subprocess.CalledProcessError as failed:
        print(f"error: {failed}; is a package index reachable?", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
