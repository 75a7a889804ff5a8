"""``manage.py edna_import``: fill edna's tables with what ``edna_export`` wrote."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from edna import shards
from edna.management.base import EdnaCommand, operator_of, settings_name_several
from edna.operations.exports import transfer


class Command(EdnaCommand):
    noted = True
    help = (
        "Fill edna's tables, which must be empty, with what edna_export wrote: all or nothing.\n\nThe file is verified first. The site "
        "needs the MAC_KEYS of the one that wrote it, and the application's own rows (loaddata)."
    )
    examples = "  manage.py edna_import edna.export\n  manage.py edna_import /secure/edna.export --json"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="A file that edna_export wrote.")
        default = "" if settings_name_several() else " (default: where edna's tables are)"
        parser.add_argument("--database", metavar="ALIAS", help=f"Which database{default}.")
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        done = transfer.load(
            options["file"], using=options["database"], progress=self.show_progress, operator=operator_of(options)
        )
        if options["json"]:
            self.print_json({"file": options["file"], "rows": done.rows, "tables": done.tables})
        else:
            self.stdout.write(f"Filled {len(done.tables)} tables{shards.in_words()} with {done.rows} rows.")
