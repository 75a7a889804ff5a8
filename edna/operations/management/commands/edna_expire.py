"""``manage.py edna_expire``: erase what has expired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandParser

from edna.management.base import EdnaCommand, operator_of, table
from edna.operations.retention import expiry
from edna.operations.retention.expiry import Bucket


class Command(EdnaCommand):
    noted = True
    in_each = True
    help = (
        'Erase, for good, the bags whose day has come (EDNA["RETENTION_DAYS"]), and what is left of principals who were removed as '
        "long ago. What a legal hold is on stays (manage.py edna_hold).\n\nIn small transactions, while the site goes on. Run it "
        "every night. Interrupted, it has erased some; run it again."
    )
    examples = "  manage.py edna_expire\n  manage.py edna_expire --dry-run"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--dry-run", action="store_true", help="Erase nothing; say what expires when, and what is due."
        )

    def run(self, options: dict[str, Any]) -> None:
        if options["dry_run"]:
            self._show(options)
            return
        done = expiry.expire(progress=None if options["json"] else self.show_progress, operator=operator_of(options))
        if options["json"]:
            self.print_json(done.as_dict())
            return
        self.stdout.write(f"Erased {done.bags} bag(s) and {done.principals} entry(ies) of removed principals.")
        if done.held:
            self.stdout.write(f"{done.held} bag(s) are due and under a legal hold (manage.py edna_hold list).")
        if done.kept:
            self.stdout.write(f"{done.kept} entry(ies) stay as long, because some of these may be theirs.")

    def _show(self, options: dict[str, Any]) -> None:
        buckets = expiry.upcoming()
        due = [bucket.expires_on for bucket in expiry.due()]
        if options["json"]:
            self.print_json({"buckets": [{**bucket.as_dict(), "due": bucket.expires_on in due} for bucket in buckets]})
        elif buckets:
            rows = [_line(bucket, due=bucket.expires_on in due) for bucket in buckets]
            self.stdout.write(table(("expires on", "bags", "bytes", "removed principals", ""), rows))
        else:
            self.stdout.write("Nothing is stored.")


def _line(bucket: Bucket, *, due: bool) -> Sequence[object]:
    day = bucket.expires_on or "never"
    remark = f"held: {bucket.held}" if bucket.held is not None else "due" if due else ""
    return day, bucket.bags, bucket.bytes, bucket.principals, remark
