"""Write `edna/static/edna/edna-open.html`: one file with the page, its style and all modules of the opener, so that it works offline.

    python .ci/open_page/build.py            writes it
    python .ci/open_page/build.py --check    exits 1 if it is not what would be written

Each module becomes a function that returns what it exports, in an order in which all that one imports stands before it. The page's policy
names the digests of its script and its style, and allows nothing else: no connection to anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATIC = HERE.parent.parent / "edna" / "static" / "edna"
PAGE = STATIC / "edna-open.html"

_IMPORT = re.compile(r'^import (?P<names>\{[^}]*\}|\* as \w+) from "(?P<path>\.[^"]+)";$', re.MULTILINE)
_LAZY = re.compile(r'await import\("(?P<path>\.[^"]+)"\)')
_EXPORTED = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_DEFAULT = re.compile(r"\bexport default (\w+);\s*$")


def bundled(entry: Path) -> str:
    modules: dict[Path, str] = {}
    _add(entry.resolve(), modules, [])
    return "\n".join(modules.values())


def _add(path: Path, modules: dict[Path, str], below: list[Path]) -> str:
    """The variable that holds what the module exports."""
    if path in below:
        raise ValueError(f"{path.name} imports itself")
    name = "m_" + re.sub(r"\W", "_", path.relative_to(STATIC).as_posix())
    if path in modules:
        return name
    text = path.read_text()

    def eager(match: re.Match[str]) -> str:
        imported = _add((path.parent / match["path"]).resolve(), modules, [*below, path])
        names = match["names"]
        return f"const {names.replace(' as ', ': ') if names.startswith('{') else names[5:]} = {imported};"

    def lazy(match: re.Match[str]) -> str:
        return _add((path.parent / match["path"]).resolve(), modules, [*below, path])

    text = _LAZY.sub(lazy, _IMPORT.sub(eager, text))
    exported = _EXPORTED.findall(text)
    text, defaults = _DEFAULT.subn(r"return { default: \1 };", _EXPORTED.sub("", text))
    if re.search(r"^(import|export)\b", text, re.MULTILINE):
        raise ValueError(f"{path.name} imports or exports in a way that this script does not know")
    ending = "" if defaults else f"\nreturn {{ {', '.join(exported)} }};"
    modules[path] = f"const {name} = (() => {{\n{text.strip()}{ending}\n}})();"
    return name


def page() -> str:
    script, style = bundled(STATIC / "js" / "page.js"), (HERE / "style.css").read_text()
    if "</script" in script or "<!--" in script:
        raise ValueError("a module holds what would end the script in the page")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}' 'wasm-unsafe-eval'; style-src '{_digest(style)}'; "
        "form-action 'none'; base-uri 'none'"
    )
    text = (HERE / "page.html").read_text()
    for name, value in (("policy", policy), ("style", style), ("script", script)):
        text = text.replace("{{" + name + "}}", value)
    return text


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def main(arguments: list[str]) -> int:
    if unknown := set(arguments) - {"--check"}:
        print(f"error: unknown: {' '.join(sorted(unknown))}")
        return 2
    if arguments:
        return 0 if PAGE.exists() and PAGE.read_text() == page() else 1
    PAGE.write_text(page())
    print(f"{PAGE.name}: {PAGE.stat().st_size} bytes, SHA-256 {hashlib.sha256(PAGE.read_bytes()).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
