"""Which guardians are down for a restart, and when: so that whoever stole into one has to begin anew before they are in enough of them.

An attacker needs `attack_seconds` for a guardian; a restart takes `restart_seconds` and throws them out (with a
refresh of the shares: what they
took is worth nothing then). All are restarted once within each `attack_seconds`, in slots of `restart_seconds`, so few at a time that
`threshold` stay up.

Keeps: a schedule that cannot hold is refused when it is made. Does not know: processes, clocks.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from edna.custody.guardians.sharing import check_threshold
from edna.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class GuardianSchedule:
    """
    Raises: ConfigurationError if fewer than `threshold` guardians would be up at some moment.
    """

    count: int
    threshold: int
    attack_seconds: int
    restart_seconds: int

    def __post_init__(self) -> None:
        check_threshold(count=self.count, threshold=self.threshold)
        if not 0 < self.restart_seconds <= self.attack_seconds:
            raise ConfigurationError("A restart takes at least a second, and not longer than an attack.")
        if self.count - self.at_once < self.threshold:
            raise ConfigurationError(
                f"To restart all {self.count} guardians within {self.attack_seconds} s, {self.at_once} have to be down at once; "
                f"then {self.count - self.at_once} are up, and {self.threshold} are needed. Restart faster, or take more guardians."
            )

    @property
    def slots(self) -> int:
        """How many restarts, one after the other, fit into the time of an attack."""
        return self.attack_seconds // self.restart_seconds

    @property
    def at_once(self) -> int:
        """How many guardians restart in one slot, at most."""
        return math.ceil(self.count / self.slots)

    def down(self, at_seconds: float) -> frozenset[int]:
        """The guardians that restart at that time (seconds since the epoch)."""
        slot = int(at_seconds // self.restart_seconds) % self.slots
        first = slot * self.at_once + 1
        return frozenset(range(first, min(first + self.at_once, self.count + 1)))

    def up(self, at_seconds: float) -> Collection[int]:
        """The guardians that are to be up at that time, in the order of their numbers."""
        down = self.down(at_seconds)
        return [number for number in range(1, self.count + 1) if number not in down]

    def next_restart(self, number: int, *, after_seconds: float) -> float:
        """When that guardian restarts next (seconds since the epoch)."""
        slot = (number - 1) // self.at_once
        turn = int(after_seconds // self.restart_seconds)
        return float((turn + (slot - turn) % self.slots) * self.restart_seconds)
