"""Times every disguise of the sample applications in this checkout and in others, strictly in turns: `python -m benchmarks.turns.run`.

Each checkout is a process with a private database of its own, equally seeded; while one works the others wait. Each round does one
operation for the same person in all of them, beginning with another one each time, and gives a ratio: so what else the machine does
meanwhile is in both. What comes out are medians of the ratios, by the clock and by the processor time of the process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.kit.environment import without_settings
from benchmarks.kit.percentiles import percentile
from benchmarks.kit.servers import private_database
from benchmarks.timing import interleave, say

ROOT: Final = Path(__file__).resolve().parent.parent.parent
#: Before the first rebuild for speed: what the goals were measured against.
BASELINE: Final = "3fc3c8e"
SCALES: Final[Mapping[str, Mapping[str, Any]]] = {
    "websubmit": {"users": 300, "lectures": 20, "questions": 4},
    "lobsters": {"scale": 0.2},
    "hotcrp": {"users": 300, "pc": 40, "papers": 60},
}
_WARM_UP: Final = 3
Times = Mapping[str, Sequence[float]]


class Checkout:
    """A process that works with the code of one checkout on a database of its own."""

    def __init__(self, name: str, directory: Path, app: str, url: str, scale: Mapping[str, Any]) -> None:
        self.name = name
        environment = {**without_settings(), "EDNA_DATABASE_URL": url, "EDNA_VAR": str(directory / "build" / "turns")}
        environment |= {"PYTHONPATH": str(directory), "DJANGO_SETTINGS_MODULE": "config.settings"}
        worker = str(Path(__file__).with_name("worker.py"))
        self._process = subprocess.Popen(
            [sys.executable, worker, app, json.dumps(scale)],
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with status {self._process.wait()}; why is above.")
        return json.loads(line)

    def ask(self, operation: str, person: int) -> Times:
        assert self._process.stdin is not None
        print(json.dumps({"operation": operation, "person": person}), file=self._process.stdin, flush=True)
        answer: Times = self.answer()
        return answer

    def close(self) -> None:
        """Nothing of it runs on."""
        self._process.kill()
        self._process.communicate()


def checkout(commit: str) -> tuple[str, Path]:
    """The files of a commit, in a clone below `build` that shares its objects with this one; a directory is one already."""
    if (given := Path(commit)).is_dir():
        return given.name, given.resolve()
    try:
        name = _git(ROOT, "rev-parse", "--short", f"{commit}^{{commit}}")
    except subprocess.CalledProcessError:
        raise SystemExit(
            f"error: there is no commit {commit!r} in {ROOT}; a shallow clone lacks earlier ones."
        ) from None
    directory = ROOT / "build" / "turns" / name
    if not directory.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
        _git(ROOT, "clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(directory))
        _git(directory, "checkout", "--quiet", "--detach", name)
    return name, directory


def _git(where: Path, *words: str) -> str:
    run = subprocess.run(["git", "-C", str(where), *words], check=True, capture_output=True, text=True)
    return run.stdout.strip()


def measure(
    app: str, database: str, places: Mapping[str, Path], rounds: int
) -> dict[str, dict[str, list[list[float]]]]:
    """By what was timed and by checkout: [by the clock, of the processor] of each round."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    with ExitStack() as stack:
        checkouts = []
        for name, directory in places.items():
            url = stack.enter_context(private_database(database, to_be_measured=True))
            checkouts.append(Checkout(name, directory, app, url, SCALES[app]))
            stack.callback(checkouts[-1].close)
        ready = [each.answer() for each in checkouts]
        if any(other != ready[0] for other in ready):
            raise RuntimeError(f"{app}: the checkouts have not got equal data: {ready}")
        for operation in ready[0]["operations"]:
            at_once = operation.endswith(" all")
            say(f"{app} on {database}: {operation}")
            for number in range(1 if at_once else rounds + _WARM_UP):
                note = partial(_note, found, operation, number, count=at_once or number >= _WARM_UP)
                interleave(number, *(partial(note, each) for each in checkouts))
    return found


def _note(
    found: dict[str, dict[str, list[list[float]]]], operation: str, number: int, one: Checkout, *, count: bool
) -> None:
    for name, times in one.ask(operation, number).items():
        if count:
            found.setdefault(name, {}).setdefault(one.name, []).append(list(times))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turns.run", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--against", default=BASELINE, help="commits or directories, comma-separated (default: %(default)s)"
    )
    parser.add_argument("--apps", default=",".join(SCALES), help="default: %(default)s")
    parser.add_argument(
        "--database", default="mariadb", help="mariadb, mysql, postgres or sqlite (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=40, help="of each operation (default: %(default)s)")
    arguments = parser.parse_args()
    others = dict(checkout(commit) for commit in arguments.against.split(","))
    for app in arguments.apps.split(","):
        found = measure(app, arguments.database, {"here": ROOT, **others}, arguments.rounds)
        print(f"\n{app} on {arguments.database}, medians of ms; ratios are medians over the rounds\n{_HEAD}")
        for name, by_checkout in found.items():
            for other in others:
                print(_line(name, other, by_checkout["here"], by_checkout[other]))
    return 0


_HEAD: Final = (
    f"{'operation':<26}{'against':<12}{'n':>4}{'ms':>9}{'then':>9}{'ratio':>8}{'cpu ms':>9}{'then':>9}{'ratio':>8}"
)


def _line(name: str, other: str, here: Sequence[Sequence[float]], then: Sequence[Sequence[float]]) -> str:
    line = f"{name:<26}{other:<12}{len(here):>4}"
    for place in (0, 1):
        pairs = [(one[place], two[place]) for one, two in zip(here, then, strict=True)]
        ours, theirs = (percentile([pair[at] for pair in pairs], 50) for at in (0, 1))
        line += f"{ours:>9.2f}{theirs:>9.2f}{percentile([one / two for one, two in pairs], 50):>8.2f}"
    return line


if __name__ == "__main__":
    sys.exit(main())
