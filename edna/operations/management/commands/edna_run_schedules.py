"""``manage.py edna_run_schedules``: warn who is dormant, and disguise who was warned and did not return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from edna import conf
from edna.management.base import PARTIAL, EdnaCommand, table
from edna.operations import jobs
from edna.operations.jobs import JobReport
from edna.operations.schedules import rounds
from edna.operations.schedules.rounds import ScheduleReport


class Command(EdnaCommand):
    help = (
        "Find who was away for as long as a schedule says (@edna.schedule), mail the notices that are due, and start a job for "
        "those who had them all and did not return. Run it once a day.\n\nPrints counts, never names. Where jobs are run by "
        "commands (EDNA['JOB_RUNNER']), it runs the jobs of the schedules, too."
    )
    examples = "  manage.py edna_run_schedules\n  manage.py edna_run_schedules --dry-run --schedule shop.decay"
    requires_system_checks = ("edna",)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--schedule", metavar="NAME", help="This schedule only.")
        parser.add_argument("--dry-run", action="store_true", help="Count, and do nothing.")
        parser.add_argument(
            "--no-run", action="store_true", help="Start jobs, and leave it to others (edna_run) to run them."
        )
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        reports = rounds.run_schedules(
            only=options["schedule"],
            dry_run=options["dry_run"],
            progress=lambda _, done, total: self.show_progress(done, total),
        )
        runs_jobs = conf.job_runner() == "command" and not options["dry_run"] and not options["no_run"]
        done = [jobs.run(each.job, progress=self._show_job) for each in reports if runs_jobs and each.job is not None]
        if options["json"]:
            self.print_json(_document(reports, done))
        else:
            self._report(reports, done, dry_run=options["dry_run"])
        troubled = [each for each in reports if each.trouble or each.failed]
        if troubled or any(job.failed for job in done):
            names = ", ".join(each.schedule for each in troubled) or "a job"
            raise CommandError(
                f"Not all was done ({names}); what was not is tried again by the next run.", returncode=PARTIAL
            )

    def _show_job(self, job: JobReport) -> None:
        self.show_progress(job.total - job.left, job.total)

    def _report(self, reports: Sequence[ScheduleReport], done: Sequence[JobReport], *, dry_run: bool) -> None:
        if not reports:
            self.stdout.write("No schedule is registered.")
            return
        head: tuple[str, ...] = ("schedule", "warned", "not mailed", "failed", "returned", "due", "job")
        rows: list[tuple[object, ...]] = [
            (
                each.schedule,
                ", ".join(f"{number:,} ({days} days)" for days, number in each.warned.items()) or 0,
                each.unmailed,
                each.failed,
                each.returned,
                each.due,
                each.job or "",
            )
            for each in reports
        ]
        if any(each.database for each in reports):
            head = ("database", *head)
            rows = [(each.database, *row) for each, row in zip(reports, rows, strict=True)]
        self.stdout.write(f"{'Would be done' if dry_run else 'Done'}:\n{table(head, rows)}")
        for job in done:
            self.stdout.write(
                f"Job {job.id}: {job.done:,} disguised, {job.skipped:,} left alone, {job.failed:,} failed, {job.left:,} left to do."
            )
        for each in reports:
            if each.trouble:
                self.say(f"{each.schedule}: {IN_WORDS.get(each.trouble, each.trouble)}.")


IN_WORDS = {"busy": "another process is at it, or was killed less than five minutes ago"}


def _document(reports: Sequence[ScheduleReport], done: Sequence[JobReport]) -> dict[str, Any]:
    return {
        "schedules": [each.as_dict() for each in reports],
        "jobs": [{"id": job.id, "done": job.done, "skipped": job.skipped, "failed": job.failed} for job in done],
    }
