"""Builds the library of policies by attributes from its source in Go, which lies beside this.

Keeps: what is there stays until the new one is whole. `tkn20/go.sum` pins what is compiled. Does not know: what the library does.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from edna.errors import ConfigurationError

SOURCE: Final = Path(__file__).parent / "tkn20"
#: Where Go's own archive puts it, which is on nobody's path.
_GO_ARCHIVE: Final = "/usr/local/go/bin"
_MOST_SECONDS: Final = 900


def go() -> str:
    """
    Raises: ConfigurationError if there is none, or one that is too old.
    """
    wanted = re.search(r"^go (\d+)\.(\d+)", (SOURCE / "go.mod").read_text(), re.MULTILINE)
    assert wanted is not None
    least = f"{wanted[1]}.{wanted[2]}"
    how = f"take one from https://go.dev/dl, or your system's package of Go {least} or newer"
    found = shutil.which("go") or shutil.which("go", path=_GO_ARCHIVE)
    if found is None:
        raise ConfigurationError(f"Building takes Go, and there is none: {how}.")
    said = re.search(r"go(\d+)\.(\d+)", _run([found, "env", "GOVERSION"], "tell its version").stdout)
    version = (int(said[1]), int(said[2])) if said is not None else (0, 0)
    # Since 1.21 Go fetches the Go that a module asks for, unless GOTOOLCHAIN=local.
    if version < (1, 21):
        raise ConfigurationError(f"The Go at {found} is {version[0]}.{version[1]}, which is too old: {how}.")
    return found


def build(target: Path) -> Path:
    """
    Raises: ConfigurationError if it cannot be built, with the compiler's last words.
    """
    compiler = go()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Beside the target: what is on the same disk moves in one step.
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            made = Path(folder) / target.name
            flags = ["-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"]
            _run([compiler, "build", *flags, "-o", str(made), "."], "build the library")
            made.replace(target)
    except OSError as error:
        raise ConfigurationError(f"{target} cannot be written: {error.strerror}.") from error
    return target


def _run(command: list[str], what: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CGO_ENABLED": "1"}
    try:
        done = subprocess.run(  # noqa: S603  # no shell; nothing of it comes from outside
            command, cwd=SOURCE, env=environment, capture_output=True, text=True, timeout=_MOST_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigurationError(f"Go could not {what}: {type(error).__name__}.") from error
    if done.returncode:
        raise ConfigurationError(f"Go could not {what}: {done.stderr.strip()[-1000:]}")
    return done
