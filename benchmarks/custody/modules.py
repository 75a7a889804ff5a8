"""Which modules a page's script asks for, and how many of them it waits for one after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2] / "edna" / "static" / "edna" / "js"
_IMPORT: Final = re.compile(r'^(?:import|export)\b[^;]*?"(\.[^"]+)";', re.MULTILINE)


class Closure(NamedTuple):
    """``longest`` is the longest chain of modules of which each names the next."""

    root: Path
    files: list[Path]
    longest: int


def closure(*names: str) -> Closure:
    depth = {(ROOT / name).resolve(): 1 for name in names}
    waiting = list(depth)
    while waiting:
        path = waiting.pop()
        for name in _IMPORT.findall(path.read_text()):
            found = (path.parent / name).resolve()
            if depth.get(found, 0) <= depth[path]:
                depth[found] = depth[path] + 1
                waiting.append(found)
    return Closure(ROOT, sorted(depth), max(depth.values()))
