"""``manage.py edna_scrub``: let nothing but their values tell which rows belong together."""

from __future__ import annotations

from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from edna.management.base import PARTIAL, EdnaCommand, operator_of, table
from edna.operations.upkeep.scrubbing import Scrubbed, scrub

REASONS: Final = {
    "busy": "in use all the time, or an open transaction sees it as it was; run this again when there is less to do",
    "refused": "the database did not let us: is its user the owner of the table, and do its rows keep its constraints?",
    "triggers": "somebody's trigger would take it for a change; where its rows lie was hidden, if the table is rebuilt, but not by whom "
    "they were written",
    "not_a_table": "no plain table: a view, a partitioned table, or one of another engine",
}


class Command(EdnaCommand):
    noted = True
    in_each = True
    help = (
        "Write edna's tables anew, and what disguises have written in the application's, so that where rows lie and which transaction "
        "wrote them no longer tells which belong together. Changes no value. Run it every night or week: while a table is being "
        "rebuilt, whoever needs it waits.\n\nIt may be stopped at any moment, and run as often as you like."
    )
    examples = "  manage.py edna_scrub\n  manage.py edna_scrub --keep-application-tables --json"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--keep-application-tables",
            action="store_true",
            help="Lock no table of the application's as a whole: where its rows lie, and what was deleted from it, stays in its file. "
            "(SQLite has one file for all tables, and rebuilds that.)",
        )

    def run(self, options: dict[str, Any]) -> None:
        rebuild = not options["keep_application_tables"]
        # Without a terminal cron would mail it, each night.
        progress = self.show_progress if self.stderr.isatty() else None
        done = scrub(rebuild_application=rebuild, operator=operator_of(options), progress=progress)
        if options["json"]:
            self.print_json(done.as_dict())
        else:
            self._report(done)
        if done.left:
            raise CommandError(
                f"{len(done.left)} table(s) are left; see to the reasons, then run this again.", returncode=PARTIAL
            )

    def _report(self, done: Scrubbed) -> None:
        self.stdout.write(
            f"{done.rows} rows written anew, {len(done.tables)} tables rebuilt, in {done.seconds:.1f} seconds."
        )
        if done.left:
            rows = [(left.table, REASONS.get(left.reason, left.reason)) for left in done.left]
            self.stdout.write(f"Left:\n{table(('table', 'why'), rows)}")
