"""Clients that take longer than they may, though no time has passed: a busy machine is late by itself."""

from __future__ import annotations

from edna.custody.sockets.connections import Connections

#: No client takes this long by itself.
NEVER = 3600.0


def all_are_late(connections: Connections) -> None:
    """Whoever something is expected of now has had all the time for it."""
    with connections._lock:
        for held in connections._held.values():
            if held.deadline is not None:
                held.deadline = held.since
