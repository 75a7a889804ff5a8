"""The JavaScript as files: what is vendored, and what a strict policy of a site allows."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles.storage import StaticFilesStorage

from benchmarks.custody.modules import closure
from edna.pages.keys import modules

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


START = ROOT / "edna" / "static" / "edna" / "js" / "pages" / "start.js"
ACTS = dict(re.findall(r'^  "?([\w-]+)"?: \(\) => import\("\./(\w+\.js)"\)', START.read_text(), re.MULTILINE))


@pytest.mark.parametrize("hands", ACTS)
def test_a_page_asks_at_once_for_each_module_that_its_script_leads_to(hands: str) -> None:
    """And for no other; whoever gives a module another import finds here what `edna/pages/keys/modules.py` is to say."""
    found = closure("pages/start.js", f"pages/{ACTS[hands]}")
    names = {str(path.relative_to(found.root)) for path in found.files} - {"pages/start.js"}

    assert sorted(modules.modules_of(hands)) == sorted(names)


class Renaming(StaticFilesStorage):
    """As storages do that put a digest into names."""

    def url(self, name: str | None) -> str:
        return f"https://cdn.example.org/static/{name}".replace(".js", ".d1ge57.js")


class RenamingImports(Renaming):
    """Into those that stand in modules, too."""

    support_js_module_import_aggregation = True


@pytest.mark.parametrize(
    ("storage", "address"),
    [
        (StaticFilesStorage, "/static/edna/js/graph.js"),
        (Renaming, "https://cdn.example.org/static/edna/js/graph.js"),
        (RenamingImports, "https://cdn.example.org/static/edna/js/graph.d1ge57.js"),
    ],
)
def test_the_addresses_are_those_by_which_modules_name_each_other(settings: Any, storage: type, address: str) -> None:
    """Otherwise each would be fetched twice."""
    name = f"{storage.__module__}.{storage.__name__}"
    settings.STATIC_URL, settings.STORAGES = "/static/", {**settings.STORAGES, "staticfiles": {"BACKEND": name}}

    assert [each for each in modules.addresses_of("receipt") if "graph" in each] == [address]
