"""``manage.py edna_ledger``: keep the erasure ledger apart from the backups, and use it after one was restored."""

from __future__ import annotations

import re
from typing import Any

from django.core.management.base import CommandError, CommandParser

from edna.management.base import PARTIAL, EdnaCommand, operator_of, table, usage
from edna.operations.exports import ledger
from edna.operations.exports.ledger import Reapplied


class Command(EdnaCommand):
    noted = True
    help = (
        "Keep the erasure ledger apart from the backups, and use it after one was restored.\n\nWhoever was disguised after a backup "
        'is in plain sight again once it is restored. With EDNA["LEDGER"] on, edna keeps\na row for each disguise that names nobody; '
        "`write` puts them into a file, `reapply` disguises those people again."
    )
    examples = (
        "  manage.py edna_ledger write /elsewhere/ledger-2026-11-21\n"
        "  manage.py edna_ledger reapply /elsewhere/ledger-2026-11-21 --dry-run\n"
        "  manage.py edna_ledger reapply /elsewhere/ledger-2026-11-21 --operator olga\n"
        "  manage.py edna_ledger prune 2026-05 --operator olga"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "action",
            choices=("write", "reapply", "prune"),
            help="Write a file, disguise again who is in one, or delete rows that no backup needs.",
        )
        parser.add_argument(
            "subject",
            metavar="FILE|MONTH",
            help="To write: a new file. To reapply: a file that `write` made. To prune: the month of the oldest backup that is kept.",
        )
        parser.add_argument("--dry-run", action="store_true", help="With reapply: only say how many it would be.")
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        action, subject = options["action"], options["subject"]
        if options["dry_run"] and action != "reapply":
            raise usage("--dry-run goes with reapply.")
        if action == "write":
            rows = ledger.write(subject, progress=self.show_progress, operator=operator_of(options))
            self._tell(options, {"file": subject, "rows": rows}, f"Wrote {rows} rows to {subject}.")
        elif action == "prune":
            if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", subject):
                raise usage("prune takes a month, such as 2026-05.")
            rows = ledger.prune(before=subject, operator=operator_of(options))
            self._tell(options, {"pruned": rows}, f"Deleted {rows} rows of disguises from before {subject}.")
        else:
            self._reapply(options)

    def _reapply(self, options: dict[str, Any]) -> None:
        done = ledger.reapply(
            options["subject"],
            dry_run=options["dry_run"],
            operator=operator_of(options),
            progress=self.show_progress,
        )
        document = {
            "rows": done.rows,
            "again": dict(done.again),
            "for_good": done.for_good,
            "already": done.already,
            "absent": done.absent,
            "done": done.done,
            "failed": done.failed,
            "jobs": done.jobs,
            "left": [vars(each) for each in done.left],
        }
        self._tell(options, document, _in_words(done, dry_run=options["dry_run"]))
        if not done.complete:
            raise CommandError(
                f"{len(done.left) + done.failed} disguise(s) were not applied again: these people are in plain sight. "
                "--json names them with the reason; edna_jobs shows what failed.",
                returncode=PARTIAL,
            )

    def _tell(self, options: dict[str, Any], document: dict[str, Any], text: str) -> None:
        if options["json"]:
            self.print_json(document)
        else:
            self.stdout.write(text)


def _in_words(done: Reapplied, *, dry_run: bool) -> str:
    lines = [
        f"The ledger has {done.rows} rows. {done.already} of them are true of the database as it is, "
        f"{done.absent} are about nobody who is in it."
    ]
    if done.again:
        lines.append(f"{'To be disguised' if dry_run else 'Disguised'} again:")
        lines.append(table(("disguise", "people"), sorted(done.again.items())))
        if done.for_good:
            lines.append(
                f"{done.for_good} of these {'are' if dry_run else 'were'} for good, as they were before: without a way back."
            )
    else:
        lines.append("Nobody has to be disguised again.")
    if done.left:
        reasons = sorted({(each.disguise, each.reason) for each in done.left})
        counts = [
            (name, why, sum(each.disguise == name and each.reason == why for each in done.left))
            for name, why in reasons
        ]
        lines += ["Not by a job:", table(("disguise", "reason", "people"), counts)]
    return "\n".join(lines)
