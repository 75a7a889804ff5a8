"""``manage.py edna_jobs``: look at jobs, and steer them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.core.management.base import CommandParser

from edna.management.base import EdnaCommand, operator_of, table, usage
from edna.operations import jobs
from edna.operations.jobs import JobReport
from edna.operations.management.foreground_runner import duration, pace, sum_up
from edna.words import count

_STEERING: Final[dict[str, Callable[..., JobReport]]] = {
    "pause": jobs.pause,
    "resume": jobs.resume,
    "cancel": jobs.cancel,
    "retry": jobs.retry,
}


class Command(EdnaCommand):
    noted = True
    help = (
        "List jobs, show one, or pause, resume, cancel or retry one.\n\nA paused job stops after the batches at hand. Cancelling forgets "
        "who is still to do; what is done stays, and each person can reveal it, but for a job for good. Retrying is for those who failed."
    )
    examples = "  manage.py edna_jobs list\n  manage.py edna_jobs show 1234567890123456789\n  manage.py edna_jobs pause 1234567890123456789"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "action",
            nargs="?",
            default="list",
            choices=["list", "show", *_STEERING],
            help="What to do; list unless given.",
        )
        parser.add_argument("job", metavar="JOB", nargs="?", type=int, help="The number of the job, for all but list.")
        parser.add_argument("--unfinished", action="store_true", help="With list: only jobs that run or are paused.")
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        action, job = options["action"], options["job"]
        if (job is None) is not (action == "list"):
            raise usage("list takes no job." if action == "list" else f"{action} needs the number of a job.")
        if action == "list":
            self._list(jobs.reports(unfinished=options["unfinished"]), as_json=options["json"])
            return
        steer = _STEERING.get(action)
        report = steer(job, operator=operator_of(options)) if steer else jobs.report(job)
        if options["json"]:
            self.print_json(report.as_dict())
        elif action == "show":
            self.stdout.write(describe(report))
        else:
            self.stdout.write(sum_up(report))

    def _list(self, reports: list[JobReport], *, as_json: bool) -> None:
        if as_json:
            self.print_json({"jobs": [report.as_dict() for report in reports]})
            return
        rows: list[tuple[object, ...]] = [
            (each.id, each.disguise, each.standing, each.done, each.skipped, each.failed, each.left, each.runners)
            for each in reports
        ]
        head: tuple[str, ...] = ("job", "disguise", "state", "done", "skipped", "failed", "left", "at work")
        if any(each.database for each in reports):
            head = ("database", *head)
            rows = [(each.database, *row) for each, row in zip(reports, rows, strict=True)]
        self.stdout.write(table(head, rows) if rows else "There is no job.")


def describe(report: JobReport) -> str:
    lines: list[tuple[str, object]] = [
        *([("database", report.database)] if report.database else []),
        ("disguise", report.disguise),
        *((f"  {name}", value) for name, value in report.params.items()),
        ("for", "everybody" if report.everybody else "a selection"),
        *([("left out", count(report.left_out, "staff account"))] if report.left_out else []),
        ("way back", "none: nobody can reveal it" if report.keep_no_way_back else "each person's key"),
        ("schedule", report.schedule or "-"),
        ("started by", report.operator or "-"),
        ("started on", report.created_on),
        ("finished on", report.finished_on or "-"),
        ("worked for", duration(report.seconds)),
        ("at work", f"{report.runners} of at most {report.concurrency}"),
        ("limit", f"{report.limit_per_second:g} a second" if report.limit_per_second else "none"),
        ("pace", pace(report) or "-"),
    ]
    lines += [(f"failed: {reason}", number) for reason, number in sorted(report.failures.items())]
    width = max(len(name) for name, _ in lines)
    return sum_up(report) + "\n" + "\n".join(f"  {name.ljust(width)}  {value}" for name, value in lines)
