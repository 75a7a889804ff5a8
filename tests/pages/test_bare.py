"""What `include("edna.urls")` gives a site with Django's own user model: the tests in `bare`, on a site of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BARE = Path(__file__).resolve().parent / "bare"


def run(marked: str, scratch: Path) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--ds=tests.pages.bare.settings", "-m", marked]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(BARE)],
        cwd=BARE.parents[2],
        env={**os.environ, "EDNA_TEST_SCRATCH": str(scratch)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


@pytest.mark.slow
def test_the_pages(tmp_path: Path) -> None:
    """What tests/pages/bare promises, one by one."""
    run("not browser", tmp_path)


@pytest.mark.browser
def test_the_pages_in_a_browser(tmp_path: Path) -> None:
    """The stories that tests/pages/bare tells; they leave pictures of the pages in build/screenshots/pages."""
    run("browser", tmp_path)
