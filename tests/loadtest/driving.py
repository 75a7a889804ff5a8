"""What the tests of loads share: a short one, by the process that does it, and the data before and after."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.kit.driver import Driver
from loadtest import integrity
from loadtest.people import People
from loadtest.scenarios import Variant

#: Only for a load that does not end at all: one that takes a minute takes ten on a machine that has much else to do.
HANGING_SECONDS = 900
LOOPING = Variant("everybody", disguisers=4)


def drive(host: str, directory: Path, **changes: Any) -> dict[str, Any]:
    """A short load; what the driver says of it."""
    order = {
        "app": "websubmit",
        "host": host,
        "people": str(directory / "people.json"),
        "users": 2,
        "seed": 1,
        "warm_seconds": 0.5,
        "seconds": 2,
        "rounds": 1,
        "gap_seconds": 0,
        "alone_seconds": 0,
        "alone_pairs": 1,
        "by_password": False,
        "environment": {},
        "variants": [asdict(LOOPING)],
        **changes,
    }
    (directory / "order.json").write_text(json.dumps(order))
    command = [sys.executable, "-m", "loadtest.driver", str(directory / "order.json"), str(directory)]
    subprocess.run(command, check=True, timeout=HANGING_SECONDS)
    told: dict[str, Any] = json.loads((directory / "driver.json").read_text())
    return told


def look(people: People) -> integrity.State:
    with closing(Driver()) as driver:
        return integrity.look(people.app, people, driver)
