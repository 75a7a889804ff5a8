"""How much memory a disguise and its reveal take, in a process that has done nothing else: ``python -m benchmarks.memory`` is that process.

In a process that has worked before, what one operation needs hides in what the allocator has kept of the earlier ones.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING:
    import edna

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peaks(*, disguise: str, params: Mapping[str, Any], user: Any, secret_key: edna.SecretKey) -> dict[str, int] | None:
    """Bytes of resident memory: before, and the peaks of disguising and of revealing beyond that. None where nobody can tell."""
    if not os.access(_CLEAR, os.W_OK):
        return None
    asked = {
        "disguise": disguise,
        "params": dict(params),
        "model": user._meta.label,
        "user": user.pk,
        "secret_key": secret_key.expose().hex(),
    }
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory"],
        input=json.dumps(asked),
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    )
    found: dict[str, int] = json.loads(done.stdout)
    return found


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.apps import apps

    import edna

    asked = json.load(sys.stdin)
    users = apps.get_model(asked["model"])._default_manager
    user, another = users.get(pk=asked["user"]), users.exclude(pk=asked["user"]).order_by("pk").first()
    secret_key = edna.SecretKey(bytes.fromhex(asked["secret_key"]))
    if another is not None:
        edna.plan(asked["disguise"], another, params=asked["params"])  # imports what it takes
    before = _start()
    receipt = edna.disguise(asked["disguise"], user, params=asked["params"])
    there = _status("VmHWM")
    _start()
    with edna.unlock(secret_key=secret_key) as unlocked:
        outcome = edna.reveal(receipt, unlocked)
    back = _status("VmHWM")
    if not outcome.complete:
        raise AssertionError(f"not everything came back: {outcome}")
    print(json.dumps({"before": before, "there": there - before, "back": back - before}))


def _start() -> int:
    """Begin to look for a new peak; what is resident now."""
    _CLEAR.write_text("5")
    return _status("VmRSS")


def _status(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} does not say {name}")


if __name__ == "__main__":
    main()
