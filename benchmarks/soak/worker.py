"""One process of a soak: ``python -m benchmarks.soak.worker ROLE SCRATCH FOLDER``.

Says ``ready``, reads when to begin and how long to go on, does each of its acts so many times a second, brings everybody back, and ends.
``FOLDER/samples-ROLE.jsonl`` has a line for each act: when it was due, which one, how many milliseconds it took, how many it began
late, a remark, and what went wrong. Nothing that is noted stays in memory: what grows is not the soak's own.
"""

from __future__ import annotations

import heapq
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.soak.traffic import Act

Note = Callable[[dict[str, Any]], None]


def work(acts: list[Act], note: Note, *, began: float, seconds: float, rate: float) -> None:
    """Do what is due, in its order; who is late does not skip anything."""
    due = [(began + (place + 1) / (len(acts) + 1) / act.rate / rate, place) for place, act in enumerate(acts)]
    heapq.heapify(due)
    while due[0][0] < began + seconds:
        at, place = due[0]
        act = acts[place]
        heapq.heapreplace(due, (at + 1 / act.rate / rate, place))
        time.sleep(max(0.0, at - time.time()))
        late, start = time.time() - at, time.perf_counter()
        remark, wrong = "", ""
        try:
            remark = act.do() or ""
        except Exception as error:  # each one is shown in the report, and none ends the soak
            wrong = f"{type(error).__name__}: {error}"
        taken = time.perf_counter() - start
        note({"at": at, "act": act.name, "ms": taken * 1e3, "late_ms": late * 1e3, "remark": remark, "wrong": wrong})


def main(role: str, scratch: Path, folder: Path) -> None:
    import django

    django.setup()
    from benchmarks.soak.traffic import ROLES

    player = ROLES[role](json.loads((scratch / "people.json").read_text()))
    player.prepare()
    print("ready", flush=True)
    began, seconds, rate = map(float, sys.stdin.readline().split())
    with (folder / f"samples-{role}.jsonl").open("w", buffering=1) as file:
        work(player.acts(), lambda line: print(json.dumps(line), file=file), began=began, seconds=seconds, rate=rate)
    player.finish()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.soak.site_settings")
    main(sys.argv[1], *map(Path, sys.argv[2:]))
