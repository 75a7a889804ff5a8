"""What `include("edna.urls")` gives a site with Django's own user model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BARE = Path(__file__).resolve().parent / "bare"


def run(marked: str) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--ds=tests.pages.bare.settings", "-m", marked]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(BARE)], cwd=BARE.parents[2], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_the_pages() -> None:
    """What tests/pages/bare promises, one by one."""
    run("not browser")
