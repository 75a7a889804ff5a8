"""``manage.py edna_hold``: keep a bucket of bags although its day comes."""

from __future__ import annotations

import argparse
import datetime
from typing import Any

from django.core.management.base import CommandParser

from edna.management.base import EdnaCommand, table, usage
from edna.operations.retention import holds


class Command(EdnaCommand):
    in_each = True
    help = (
        "List, place and lift legal holds: buckets (first days of a month) of which nothing is erased, although their day comes. "
        "A hold stops nobody from revealing what is theirs. Placing and lifting is noted in the audit trail."
    )
    examples = (
        "  manage.py edna_hold list\n"
        '  manage.py edna_hold place 2027-03-01 --reason "case 12/26" --operator olga\n'
        "  manage.py edna_hold lift 2027-03-01 --operator olga"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("action", choices=("list", "place", "lift"))
        parser.add_argument(
            "bucket", nargs="?", type=_day, help="The day on which it expires, as edna_expire --dry-run shows it."
        )
        parser.add_argument("--reason", default="", help="To place: why. A case number; not a name.")
        parser.add_argument("--operator", default="", help="To place and lift: who you are, for the audit trail.")

    def run(self, options: dict[str, Any]) -> None:
        action, bucket, operator = options["action"], options["bucket"], options["operator"]
        if action != "list" and (bucket is None or not operator):
            raise usage(f"{action} needs the bucket and --operator.")
        if action == "place":
            holds.place(bucket, reason=options["reason"], operator=operator)
        elif action == "lift":
            holds.lift(bucket, operator=operator)
        found = holds.listing()
        if options["json"]:
            self.print_json(
                {"holds": [{"expires_on": h.expires_on, "reason": h.reason, "placed_on": h.placed_on} for h in found]}
            )
        elif found:
            self.stdout.write(
                table(("bucket", "placed on", "reason"), [(h.expires_on, h.placed_on, h.reason) for h in found])
            )
        else:
            self.stdout.write("No legal hold.")


def _day(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date like 2027-03-01") from None
