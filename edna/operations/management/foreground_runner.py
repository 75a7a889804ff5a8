"""What `edna_run` and ``edna_disguise --job`` share: being a job's runner in the foreground, with a progress bar.

SIGTERM, and Ctrl-C, stop after the batch that is at work; a second Ctrl-C at once, which loses nothing either.
"""

from __future__ import annotations

import datetime
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Final

from edna.management.base import EdnaCommand
from edna.operations import jobs
from edna.operations.jobs import JobReport, JobState

#: Between two lines where there is no terminal whose line could be written over.
_SECONDS_BETWEEN_LINES: Final = 5.0

Handler = Any


class Stop:
    """Whether a signal has asked us to stop. In a ``with`` block; elsewhere than in the main thread nobody can ask."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Handler] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def __call__(self) -> bool:
        return self.asked

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self.asked and time.monotonic() < until:
            time.sleep(0.1)


def work_on(command: EdnaCommand, job_id: int, *, stop: Stop, seconds: float | None = None) -> JobReport:
    """Be one of the job's runners, and show how it goes."""
    shown = 0.0

    def show(report: JobReport) -> None:
        nonlocal shown
        if command.stderr.isatty() or time.monotonic() - shown > _SECONDS_BETWEEN_LINES or not report.left:
            shown = time.monotonic()
            command.show_progress(report.total - report.left, report.total, note=pace(report))

    report = jobs.run(job_id, seconds=seconds, progress=show, stopping=stop)
    if command.stderr.isatty() and shown and report.left:
        command.say("")  # the bar has not ended its line
    return report


def pace(report: JobReport) -> str:
    parts = []
    if report.rate_per_second is not None:
        parts.append(f"{report.rate_per_second:.{0 if report.rate_per_second >= 10 else 1}f} a second")
    if report.remaining_seconds is not None and report.left:
        parts.append(f"{duration(report.remaining_seconds)} left")
    if report.failed:
        parts.append(f"{report.failed} failed")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    return str(datetime.timedelta(seconds=round(seconds)))


def sum_up(report: JobReport) -> str:
    """One line for what has become of a job."""
    parts = [f"{report.done} of {report.total} disguised"]
    parts += [f"{count} {word}" for word, count in (("skipped", report.skipped), ("failed", report.failed)) if count]
    if report.left:
        parts.append(f"{report.left} " + ("never done" if report.state is JobState.CANCELLED else "left"))
    for_good = ", for good" if report.keep_no_way_back else ""
    where = f" in {report.database}" if report.database else ""
    return f"Job {report.id}{where}, {report.disguise}{for_good}: {report.standing}; {', '.join(parts)}."
