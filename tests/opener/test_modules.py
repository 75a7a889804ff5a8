"""The JavaScript as files: what is vendored, and what a strict policy of a site allows."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MODULES = sorted((ROOT / "edna" / "static" / "edna" / "js").rglob("*.js"))


def test_what_is_vendored_is_what_its_lock_file_says() -> None:
    """libsodium is the npm registry's, byte for byte, with its licence; `.ci/vendor.py` fetches it again."""
    vendor = runpy.run_path(str(ROOT / ".ci" / "vendor.py"))

    assert vendor["differences"]() == []
    assert [lock["version"] for lock in vendor["locks"]().values()]
    assert all("LICENSE" in lock["files"] for lock in vendor["locks"]().values())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_no_module_needs_what_a_strict_policy_forbids(path: Path) -> None:
    """A site may say `script-src 'self' 'wasm-unsafe-eval'`: nothing is made of text, and no style is set in a script."""
    text = path.read_text()

    assert [word for word in ("eval(", "new Function", "innerHTML", "document.write", ".style.") if word in text] == []
