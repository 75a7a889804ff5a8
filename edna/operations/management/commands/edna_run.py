"""``manage.py edna_run``: work on jobs."""

from __future__ import annotations

import time
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from edna import shards
from edna.errors import EdnaError, JobRefused
from edna.management.base import PARTIAL, EdnaCommand, sentence
from edna.operations import jobs
from edna.operations.jobs import JobReport, JobState
from edna.operations.management.foreground_runner import Stop, sum_up, work_on

_SECONDS_BETWEEN_LOOKS: Final = 2.0


class Command(EdnaCommand):
    help = (
        "Work on jobs until nothing is left to do: on one, or on all that wait. Needs no Celery, and goes on where any other process "
        "was killed.\n\nSeveral at once share the work. SIGTERM and Ctrl-C stop after the batch at hand; nothing is lost by kill -9 either."
    )
    examples = "  manage.py edna_run --forever\n  manage.py edna_run 1234567890123456789 --seconds 600"
    requires_system_checks = ("edna",)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("job", metavar="JOB", nargs="?", type=int, help="The number of one job, instead of all.")
        parser.add_argument(
            "--forever",
            action="store_true",
            help="Go on waiting for jobs: for systemd and the like, instead of Celery.",
        )
        parser.add_argument("--seconds", metavar="N", type=float, help="Stop after so many seconds: for cron.")
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        self.until = None if options["seconds"] is None else time.monotonic() + options["seconds"]
        self.worked_on: dict[int, JobReport] = {}
        #: Where others are at work, as many as may be, and what cannot be worked on here.
        self.passed_over: set[int] = set()
        self.refused: set[int] = set()
        with Stop() as self.stop:
            if options["job"] is not None:
                self._one(options["job"])
            else:
                self._all(forever=options["forever"])
        self._report(as_json=options["json"])

    def _one(self, job: int) -> None:
        report = jobs.report(job)
        if report.state is JobState.PAUSED:
            raise JobRefused(f"Job {job} is paused: manage.py edna_jobs resume {job}.")
        self._work_on(job)

    def _all(self, *, forever: bool) -> None:
        while not self.stop() and self._seconds_left() != 0:
            found = [job for job in jobs.waiting() if job not in self.passed_over]
            for job in found:
                if not self.stop():
                    self._try(job)
            if not forever and not found:
                break
            if forever and not found:
                self.stop.wait(_SECONDS_BETWEEN_LOOKS)
                self.passed_over.clear()

    def _try(self, job: int) -> None:
        """One job that cannot be worked on here keeps no other from being."""
        try:
            self._work_on(job)
        except EdnaError as error:
            self.say(f"Job {job}: {sentence(error)}")
            self.worked_on[job] = jobs.report(job)
            self.refused.add(job)
            self.passed_over.add(job)

    def _work_on(self, job: int) -> None:
        before = jobs.report(job)
        if before.state is JobState.RUNNING:
            where = shards.in_words(before.database)
            self.say(f"Job {job}{where}, {before.disguise}: {before.left} of {before.total} left.")
        after = work_on(self, job, stop=self.stop, seconds=self._seconds_left())
        self.worked_on[job] = after
        if after.state is JobState.RUNNING and after.left == before.left:
            self.passed_over.add(job)

    def _seconds_left(self) -> float | None:
        return None if self.until is None else max(0.0, self.until - time.monotonic())

    def _report(self, *, as_json: bool) -> None:
        reports = list(self.worked_on.values())
        if as_json:
            self.print_json({"jobs": [report.as_dict() for report in reports]})
        else:
            self.stdout.write("\n".join(map(sum_up, reports)) or "No job is waiting.")
        failed = sum(report.failed for report in reports)
        if failed:
            raise CommandError(
                f"{failed} could not be disguised; manage.py edna_jobs show says why, and retry tries again.",
                returncode=PARTIAL,
            )
        if self.refused:
            raise CommandError("Some jobs could not be worked on; the reasons are above.", returncode=PARTIAL)
