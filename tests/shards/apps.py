"""Lets a test stop a runner in the middle of a batch, at a moment that no clock decides.

In a process with `SHARDS_GATES` the third batch of each shard waits inside its transaction until there is a file "open-north" (or
"open-south"), and says by a file "waits-north" that it does.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import Any

from django.apps import AppConfig
from django.conf import settings

_MOST_BATCHES = 2
_batches: Counter[str] = Counter()


class Shards(AppConfig):
    name = "tests.shards"
    label = "shards"

    def ready(self) -> None:
        from edna import signals

        if os.environ.get("SHARDS_GATES"):
            signals.before_commit.connect(_wait, dispatch_uid="tests.shards")


def _wait(*, sender: Any, using: str, **_: Any) -> None:
    if sender._meta.label != "auth.User":
        return  # one for each model
    _batches[using] += 1
    gate = settings.SCRATCH / f"open-{using}"
    if _batches[using] > _MOST_BATCHES and not gate.exists():
        (settings.SCRATCH / f"waits-{using}").touch()
        while not gate.exists():
            time.sleep(0.02)
