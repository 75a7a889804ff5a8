"""What happened, request for request: nothing is rounded or put into buckets, so that percentiles are those of what was measured."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

#: Requests of people who use the site as ever; the one request that disguises; the one that reveals; what disguisers do around
#: it (forms, logging in, looking whether everything is back); and what was refused by the rate limit.
NORMAL, DISGUISE, REVEAL, AROUND, REFUSED = "normal", "disguise", "reveal", "around", "refused"

#: Labels of phases: the baseline; and, before a variant's label, disguisers without normal users.
BASELINE, ALONE = "A", "alone: "


class Sample(NamedTuple):
    """One request: when it began (seconds since the epoch), what it was, how long it took up to the last byte.

    ``rows`` is how many rows a disguise or reveal was about, 0 for other requests; ``error`` says what was wrong, if something was.
    """

    at: float
    kind: str
    name: str
    ms: float
    status: int
    rows: int = 0
    error: str = ""


class Phase(NamedTuple):
    """A stretch of a run: its label is "A" for the baseline, or a variant's; samples that began in it are its own."""

    label: str
    round: int
    began: float
    ended: float

    def has(self, at: float) -> bool:
        return self.began <= at < self.ended


def write(path: Path, samples: Iterable[Sample]) -> None:
    with gzip.open(path, "wt") as file:
        for sample in samples:
            file.write(json.dumps(sample) + "\n")


def read(path: Path) -> Iterator[Sample]:
    with gzip.open(path, "rt") as file:
        for line in file:
            yield Sample(*json.loads(line))
