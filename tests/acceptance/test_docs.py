"""The documentation is true: its code runs, its links lead somewhere, nothing public is left out.

A code block says by itself what happens to it, in the order of the page: ``file=PATH`` is that file of a new Django project,
``append=PATH`` is added to it, ``sh run`` and ``python run`` are run there, ``sh fails`` is run and must fail, and ``text output`` must
be what the block before it printed (``…`` stands for anything). A block without a mark is only for reading.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import edna
from tests.acceptance import errors_page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
WRITTEN = [page for page in PAGES if page.exists()]
BLOCK = re.compile(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Runs the blocks of one page, one after the other, with the variables of the earlier ones.
SESSION = """
import contextlib, io, json, sys, traceback
import django
django.setup()
names = {"__name__": "__console__"}
for line in sys.stdin:
    printed, failure = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(json.loads(line), "<page>", "exec"), names)
    except BaseException:
        failure = traceback.format_exc()
    print(json.dumps([printed.getvalue(), failure]), flush=True)
"""


class Project:
    """A new Django project, as `startproject mysite` makes it, that the blocks of a page work on."""

    def __init__(self, where: Path) -> None:
        self.where = where
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("EDNA_", "DJANGO_"))}
        self.environment = inherited | {
            "DJANGO_SETTINGS_MODULE": "mysite.settings",
            "EDNA_MAC_KEY": "0123456789abcdef" * 4,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": f"{where}:{ROOT}",
        }
        self.session: subprocess.Popen[str] | None = None
        self.shell("python -m django startproject mysite .", DJANGO_SETTINGS_MODULE="")

    def shell(self, command: str, *, fails: bool = False, **environment: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-ec", command],
            cwd=self.where,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        assert (done.returncode != 0) == fails, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def write(self, name: str, text: str, *, append: bool = False) -> None:
        self.close()  # a running process would not notice
        path = self.where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".py":
            (path.parent / "__init__.py").touch()
        path.write_text(f"{path.read_text()}\n\n{text}" if append else text)

    def python(self, code: str) -> str:
        if self.session is None:
            self.session = subprocess.Popen(
                [sys.executable, "-c", SESSION],
                cwd=self.where,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self.session.stdin is not None
        assert self.session.stdout is not None
        self.session.stdin.write(json.dumps(code) + "\n")
        self.session.stdin.flush()
        printed, failure = json.loads(self.session.stdout.readline())
        assert not failure, f"{code}\n{failure}"
        return str(printed)

    def close(self) -> None:
        if self.session is not None:
            self.session.communicate()
            self.session = None


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path)
    yield made
    made.close()


def agrees(printed: str, shown: str) -> bool:
    pattern = ".*?".join(re.escape(part) for part in shown.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["README.md", "docs/tutorial.md", "docs/low-level.md", "docs/several-principal-models.md"]
)
def test_the_code_of_the_page_runs(page: str, project: Project) -> None:
    printed, ran = "", 0
    for language, mark, code in BLOCK.findall((ROOT / page).read_text()):
        kind, _, name = mark.partition("=")
        if kind in ("file", "append"):
            project.write(name, code, append=kind == "append")
        elif (language, mark) in (("sh", "run"), ("sh", "fails")):
            printed = project.shell(code, fails=mark == "fails")
        elif (language, mark) == ("python", "run"):
            printed, ran = project.python(code), ran + 1
        elif (language, mark) == ("text", "output"):
            assert agrees(printed, code), f"{page} shows:\n{code}\nThis was printed:\n{printed}"
        else:
            assert mark == "", f"{page}: what is a block marked {mark!r}?"
            assert language != "python", f"{page}: this code is not run by the tests:\n{code}"
    assert ran >= 3


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("https://", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        other = (page.parent / name).resolve() if name else page
        if not other.exists() or (anchor and anchor not in anchors(other)):
            broken.append(target)
    assert broken == []


def anchors(page: Path) -> set[str]:
    """The names that code forges give to headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "index.md").read_text()
    missing = [
        str(page.relative_to(DOCS))
        for page in DOCS.rglob("*.md")
        if page.name != "index.md" and f"({page.relative_to(DOCS)})" not in index
    ]
    assert missing == []


def test_every_public_name_is_documented() -> None:
    text = (DOCS / "api.md").read_text()
    assert [name for name in edna.__all__ if f"`edna.{name}" not in text] == []
    public = [name for name, value in vars(edna.placeholders).items() if is_made_there(value, "edna.placeholders")]
    assert [
        name for name in public if f"`{name}(" not in text and name[0] not in "_P" and name != "as_placeholder"
    ] == []


def is_made_there(value: object, module: str) -> bool:
    return callable(value) and getattr(value, "__module__", "") == module


def test_the_page_of_errors_says_what_the_classes_say() -> None:
    assert (DOCS / "errors.md").read_text() == errors_page.page(), errors_page.__doc__


def test_every_setting_is_documented() -> None:
    from edna import conf

    text = "".join(page.read_text() for page in DOCS.rglob("*.md"))
    assert [name for name in conf.DEFAULTS if f"`{name}`" not in text and f'EDNA["{name}"]' not in text] == []


WORDS = (
    "principal",
    "natural principal",
    "pseudoprincipal",
    "disguise",
    "reveal",
    "remove",
    "modify",
    "decorrelate",
    "diff record",
    "speaks-for record",
    "bag",
    "locator",
    "receipt",
    "key slot",
    "unlocked principal",
    "key pool",
)


def test_the_glossary_explains_every_word() -> None:
    text = (DOCS / "glossary.md").read_text()
    assert [word for word in WORDS if f"**{word}**" not in text] == []
