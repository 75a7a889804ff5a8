"""Several processes at work at the same time, each a fork of this one."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def in_children(work: Sequence[Callable[[], Any]], scratch: Path) -> list[Any]:
    """What each says that runs in a process of its own, all at the same time."""
    children = []
    for number, each in enumerate(work):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                (scratch / str(number)).write_text(json.dumps(each()))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        children.append(child)
    ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]  # all of them, whoever fails
    if any(ended):
        raise RuntimeError("A process failed; why is above.")
    return [json.loads((scratch / str(number)).read_text()) for number in range(len(work))]
