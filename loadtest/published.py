"""What was published of the research system under load, to be drawn beside what is measured here. Other hardware, other programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Lobsters, one disguiser who deletes and restores in a loop: operations per second of normal traffic. (none, then by size and whether
#: all was done in one transaction.) The high level was 95 % of the processors.
LOBSTERS_PER_SECOND: Final = {
    "low": {
        "none": 927,
        ("random", False): 893,
        ("random", True): 862,
        ("heaviest", False): 858,
        ("heaviest", True): 789,
    },
    "high": {
        "none": 4039,
        ("random", False): 3908,
        ("random", True): 3861,
        ("heaviest", False): 3918,
        ("heaviest", True): 3350,
    },
}
#: WebSubmit, draft evaluation: 100 users edit, 30 disguise and reveal at once. The slowest edits, in ms.
WEBSUBMIT_SPIKES_MS: Final[Mapping[str, float]] = {
    "draft: up to 4,000 ms": 4000,
    "draft, batched records: under 1,500 ms": 1500,
}
#: The same: fewer disguisers than this at a time had little effect.
WEBSUBMIT_FEW_DISGUISERS: Final = 16
