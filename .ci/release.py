"""Builds the release and does with it what a stranger would: `make release`.

    build/venv-release/bin/python .ci/release.py          build dist/, check it, install it, follow the README with it
    build/venv-release/bin/python .ci/release.py cut      give the changes under [Unreleased] the version and today's date

Ends with an error if anything about the two files in dist/ is not right. Whether they may be published is another question, and the
last line answers it: the version has its section in the changelog, and git knows all that is here. It publishes nothing.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
REPORTS = ROOT / "build" / "release"
CHANGELOG = ROOT / "CHANGELOG.md"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
#: Followed with the wheel, as the README is: what a newcomer reads first.
PAGES = ["README.md", "docs/tutorial.md"]
#: With which people open their data without the site.
OPEN_PAGE = "edna/static/edna/edna-open.html"


class Wrong(Exception):
    """What is not right with the release."""


def step(said: str, *command: object, **environment: str) -> str:
    print(f"--- {said}", flush=True)
    done = subprocess.run(
        [*map(str, command)],
        cwd=ROOT,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    print(done.stdout.strip(), flush=True)
    if done.returncode:
        raise Wrong(f"{said}: exit {done.returncode}.")
    return done.stdout


def tool(name: str) -> Path:
    return Path(sys.executable).parent / name


def build() -> tuple[Path, Path]:
    """An sdist, and a wheel made of that sdist; the same bytes from the same commit."""
    shutil.rmtree(DIST, ignore_errors=True)
    committed = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    step("build", sys.executable, "-m", "build", "--outdir", DIST, ROOT, SOURCE_DATE_EPOCH=committed.stdout.strip())
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    if wheel.name.split("-")[1] != VERSION:
        raise Wrong(f"{wheel.name} is not version {VERSION}.")
    return sdist, wheel


def check(sdist: Path, wheel: Path) -> None:
    step("twine: the description and the metadata", tool("twine"), "check", "--strict", sdist, wheel)
    step("check-wheel-contents", tool("check-wheel-contents"), wheel)


def install(wheel: Path) -> Path:
    """Into an environment in which is nothing else, not even pip: what the SBOM lists is what the wheel asks for."""
    where = REPORTS / "venv"
    venv.EnvBuilder(clear=True, with_pip=False, symlinks=True).create(where)
    python = where / "bin" / "python"
    step("install into an empty environment", tool("pip"), "--python", python, "install", "--quiet", wheel)
    step("what was installed", tool("pip"), "--python", python, "list", "--format=freeze")
    step("pip check", tool("pip"), "--python", python, "check")
    return python


def inspect(python: Path) -> list[str]:
    """List what is installed, and ask whether something is known about it; what could not be asked about."""
    bill = REPORTS / f"django_edna-{VERSION}.cdx.json"
    project = ("--pyproject", ROOT / "pyproject.toml", "--mc-type", "library", "--output-reproducible")
    step("SBOM", tool("cyclonedx-py"), "environment", *project, "--output-file", bill, python)
    (packages,) = (python.parent.parent / "lib").glob("python*/site-packages")
    report = REPORTS / "pip-audit.json"
    options = ("--path", packages, "--format", "json", "--output", report, "--progress-spinner=off")
    step("pip-audit: known vulnerabilities", tool("pip-audit"), *options)
    asked = json.loads(report.read_text())["dependencies"]
    return [entry["name"] for entry in asked if "skip_reason" in entry and entry["name"] != "django-edna"]


def follow(python: Path) -> None:
    step("follow the pages with the wheel", python, ROOT / "tests" / "acceptance" / "newcomer.py", *PAGES)


def sections() -> dict[str, str]:
    """What the changelog says of each version."""
    _, *found = re.split(r"^## \[([^\]]+)\][^\n]*\n", CHANGELOG.read_text(), flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))


def reasons_not_to_publish() -> list[str]:
    said = sections()
    reasons = []
    if VERSION not in said:
        reasons.append(f"CHANGELOG.md has no section [{VERSION}] (.ci/release.py cut makes it)")
    if said.get("Unreleased", "").strip():
        reasons.append("CHANGELOG.md has changes under [Unreleased]")
    if re.search(r"[a-z]", VERSION):
        reasons.append(f"{VERSION} is no final version")
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, check=True).stdout:
        reasons.append("the working tree has changes that no commit has")
    return reasons


def cut() -> None:
    if VERSION in sections():
        raise Wrong(f"CHANGELOG.md has a section [{VERSION}] already: raise the version in pyproject.toml first.")
    heading = f"## [Unreleased]\n\n## [{VERSION}] - {datetime.datetime.now(datetime.UTC).date()}\n"
    CHANGELOG.write_text(CHANGELOG.read_text().replace("## [Unreleased]\n", heading, 1))
    print(f"CHANGELOG.md: what was under [Unreleased] is [{VERSION}] now")


def main() -> int:
    try:
        if sys.argv[1:] == ["cut"]:
            cut()
            return 0
        REPORTS.mkdir(parents=True, exist_ok=True)
        sdist, wheel = build()
        check(sdist, wheel)
        python = install(wheel)
        unknown = inspect(python)
        follow(python)
    except Wrong as wrong:
        print(f"error: {wrong}", file=sys.stderr)
        return 1
    for path in (sdist, wheel):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(ROOT)}")
    # People compare it with the file that they have kept (docs/browser.md): as the wheel brings it.
    print(f"{hashlib.sha256(zipfile.ZipFile(wheel).read(OPEN_PAGE)).hexdigest()}  {OPEN_PAGE}")
    reasons = reasons_not_to_publish()
    if unknown:
        reasons.append(f"the index told pip-audit nothing about {', '.join(unknown)}")
    print(f"not to be published yet: {'; '.join(reasons)}" if reasons else "ready to be published: twine upload dist/*")
    return 0


if __name__ == "__main__":
    sys.exit(main())
