"""What the documentation site is made from: the pages as the repository has them, those of the docstrings, and one order of all.

The order is that of `docs/index.md`. Whoever adds a page adds its line there, and has added it to the navigation. In the same way
`docs/api.md` says what the pages of the Python interface show. What a page says, and where its links lead, is the same here and in the
repository: only blocks of code that are files get the file's name above them, and two pages a list of others below.
"""

from __future__ import annotations

import enum
import inspect
import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import edna

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE")
PAGE = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\.md\)", re.MULTILINE)
FILE = re.compile(r"^```(\w+) (file|append)=(\S+)$", re.MULTILINE)
PROSE = "".join(page.read_text() for page in sorted((ROOT / "docs").glob("*.md")))
PUBLIC = re.compile(r"`edna\.(\w+)")

#: Modules that are documented whole, each on a page of its own.
MODULES = {
    "placeholders": ("Placeholders", "edna.placeholders"),
    "signals": ("Signals", "edna.signals"),
    "testing": ("Testing", "edna.testing"),
    "errors": ("Errors", "edna.errors"),
    "jobs": ("Jobs", "edna.operations.jobs"),
}
#: Packages that import what they name when it is asked for: by what they name.
PACKAGES = {
    "policies": ("Policies", "edna.policies"),
    "audiences": ("Audiences", "edna.audiences"),
}


def lay_out(where: Path) -> None:
    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(ROOT / "docs", where / "docs", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for name in BESIDE:
        shutil.copy(ROOT / name, where)
    interface = where / "docs" / "interface"
    interface.mkdir()
    for name, text in interface_pages():
        (interface / f"{name}.md").write_text(text)
    for page in where.rglob("*.md"):
        page.write_text(FILE.sub(captioned, page.read_text()))
    append(where / "README.md", navigation((ROOT / "docs" / "index.md").read_text()))
    append(where / "docs" / "api.md", interface_list(path.stem for path in sorted(interface.iterdir())))


def captioned(mark: re.Match[str]) -> str:
    """The tests' mark of a block (`tests/acceptance/test_docs.py`) as what Sphinx writes above it."""
    language, kind, name = mark.groups()
    return f"```{{code-block}} {language}\n:caption: {name}{', at the end' if kind == 'append' else ''}\n"


def append(page: Path, text: str) -> None:
    page.write_text(f"{page.read_text()}\n{text}")


# The order of the pages


def navigation(index: str) -> str:
    """A hidden list of pages for each part of the index: the sidebar shows them under the names of the parts."""
    lists = [toctree("edna", ["Ten minutes <self>", "All pages <docs/index>"])]
    for part, text in parts(index):
        pages = [f"{title} <{normal(target)}>" for title, target in PAGE.findall(text)]
        if pages:
            lists.append(toctree(part, pages))
    lists.append(toctree("Project", ["Changes <CHANGELOG>", "Report a vulnerability <SECURITY>"]))
    return "\n".join(lists)


def parts(index: str) -> Iterator[tuple[str, str]]:
    """The headings of the index, with what a line that ends in a colon says below them, and the text of each."""
    for section in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        pieces = re.split(r"^([^-\n][^\n]*):\n", text, flags=re.MULTILINE)
        yield heading, pieces[0]
        for said, piece in zip(pieces[1::2], pieces[2::2], strict=True):
            yield f"{heading}: {said[0].lower()}{said[1:]}", piece


def normal(target: str) -> str:
    return target.removeprefix("../") if target.startswith("../") else f"docs/{target}"


def toctree(caption: str, entries: list[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```", ""])


# The Python interface


def interface_pages() -> Iterator[tuple[str, str]]:
    """The name and the text of each page: one for each part of `docs/api.md` that lists public names, and the modules."""
    for part, text in parts((ROOT / "docs" / "api.md").read_text()):
        said = {
            name: line
            for line in text.splitlines()
            if line.startswith("| `edna.")
            for name in PUBLIC.findall(line.split(" | ")[0])
        }
        blocks = [block(name, line) for name, line in said.items() if not inspect.ismodule(getattr(edna, name))]
        if blocks:
            yield re.sub(r"\W+", "-", part.lower()), f"# {part}\n\n{docstrings(blocks)}"
    for name, (title, module) in MODULES.items():
        whole = f".. automodule:: {module}\n   :members:"
        yield name, f"# {title}: `{module}`\n\n{docstrings([whole])}"
    for name, (title, package) in PACKAGES.items():
        found = import_module(package)
        named = [(each, inspect.isclass(getattr(found, each))) for each in found.__all__]
        blocks = [f".. auto{'class' if is_class else 'function'}:: {package}.{each}" for each, is_class in named]
        yield name, f"# {title}: `{package}`\n\n{docstrings(blocks)}"


def block(name: str, said: str) -> str:
    """What reads the docstring. Of a class's members only those are public that the pages name."""
    found = getattr(edna, name)
    if inspect.isclass(found):
        linked = "".join((ROOT / "docs" / page).read_text() for page in re.findall(r"\]\(([\w-]+\.md)", said))
        named = re.findall(r"`\.(\w+)", said) + re.findall(rf"\b{name}\.(\w+)", PROSE)
        named += re.findall(r"\b(?!_)\w+\.(\w+)\(", linked)
        members = [member for member in dict.fromkeys(named) if hasattr(found, member)]
        option = f":members: {', '.join(members)}" if members else ":no-members:"
        if issubclass(found, enum.Enum):
            option = ":members:\n   :undoc-members:"
        return f".. autoclass:: edna.{name}\n   {option}"
    return (
        f".. autofunction:: edna.{name}" if inspect.isfunction(found) else f".. autodata:: edna.{name}\n   :no-value:"
    )


def is_only_returned(name: str) -> bool:
    """Whether this is a class that nobody calls: `docs/api.md` names it without parentheses."""
    text = (ROOT / "docs" / "api.md").read_text()
    return f"`{name}`" in text and f"`{name}(" not in text


def docstrings(blocks: list[str]) -> str:
    return "\n\n".join(["```{eval-rst}", *blocks]) + "\n```\n"


def interface_list(names: Iterator[str]) -> str:
    entries = [f"interface/{name}" for name in names]
    shown = "\n".join(["```{toctree}", *entries, "```", ""])
    return f"## In full\n\nSignatures and docstrings of everything that is public:\n\n{shown}"


def name_the_first_page(where: Path, page: str) -> None:
    """A web server asks for `index.html`; the page lies beside it, so its links hold."""
    shutil.copy(where / f"{page}.html", where / "index.html")
