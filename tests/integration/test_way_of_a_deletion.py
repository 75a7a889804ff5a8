"""How far somebody has to read who follows a deletion: from which module into which it goes."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from django.dispatch import Signal

import edna
from edna import signals
from tests.support import DELETE, enrol_in_course

pytestmark = [pytest.mark.django_db, pytest.mark.once]

ROOT = str(Path(edna.__file__).parent) + "/"


def moves(work: Any) -> Counter[tuple[str, str]]:
    """How often each module calls into each other one. A generator counts each time it is resumed."""
    stack: list[str | None] = []
    found: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            name = frame.f_code.co_filename
            module = name.removeprefix(ROOT) if name.startswith(ROOT) else None
            caller = next(filter(None, reversed(stack)), None)
            stack.append(module)
            if module and caller and module != caller:
                found[caller, module] += 1
        elif event == "return" and stack:
            stack.pop()

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


def test_a_deletion_is_no_longer_way_than_the_page_of_the_architecture_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/architecture.md, "A row to the bag, and back". Nobody is listening, whatever else was imported."""
    for signal in (each for each in vars(signals).values() if isinstance(each, Signal)):
        monkeypatch.setattr(signal, "receivers", [])
    bea = enrol_in_course("bea@example.org")
    bea.reveal(bea.disguise(DELETE))  # specifications are compiled once

    found = moves(lambda: edna.disguise(DELETE, bea.user))

    inside = {pair: number for pair, number in found.items() if all(name.startswith("engine/") for name in pair)}
    assert sum(found.values()) <= 222
    assert sum(inside.values()) <= 60
    assert len(inside) <= 36
