"""benchmarks.guardians.soak, for a moment: people are helped while guardians restart and get new shares at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.guardians.soak import soak
from edna.custody.guardians.schedule import GuardianSchedule

pytestmark = [pytest.mark.once, pytest.mark.slow]


def test_nobody_is_refused_while_guardians_restart_and_get_new_shares(tmp_path: Path) -> None:
    """Processes: two of six are down at any time, and sweeps go on, some of them through the middle of a stop."""
    soaked = soak(tmp_path, GuardianSchedule(6, 2, attack_seconds=6, restart_seconds=2), seconds=5, boot_seconds=2)
    assert soaked.failures == []
    assert soaked.evaluations
    assert soaked.restarts >= 2
    assert soaked.fewest_up >= 2
