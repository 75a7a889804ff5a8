"""``manage.py edna_export``: all of edna's tables in one file."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from edna import shards
from edna.management.base import EdnaCommand, operator_of, settings_name_several
from edna.operations.exports import transfer


class Command(EdnaCommand):
    noted = True
    help = (
        "Write all of edna's tables to a new file, to move them to another database.\n\nThe file is readable by you only, and holds "
        "what the tables hold: sealed bags, and whose public key is whose.\nIt opens nothing without the MAC_KEYS of this site."
    )
    examples = "  manage.py edna_export edna.export\n  manage.py edna_export /secure/edna.export --json"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="A new file; nothing is ever overwritten.")
        default = "" if settings_name_several() else " (default: where edna's tables are)"
        parser.add_argument("--database", metavar="ALIAS", help=f"Which database{default}.")
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        done = transfer.export(
            options["file"], using=options["database"], progress=self.show_progress, operator=operator_of(options)
        )
        if options["json"]:
            self.print_json({"file": options["file"], "rows": done.rows, "tables": done.tables})
        else:
            self.stdout.write(
                f"Wrote {done.rows} rows of {len(done.tables)} tables{shards.in_words()} to {options['file']}."
            )
