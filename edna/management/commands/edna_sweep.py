"""``manage.py edna_sweep``: delete what nobody needs any more."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from edna.management.base import EdnaCommand, table
from edna.operations import sweeping

WHAT = {
    "pseudoprincipals": "pseudoprincipals to whom nothing refers",
    "detached": "entries whose user was deleted past Django",
    "session_links": "links of sessions that are over",
    "job_rows": "rows of jobs for nobody",
}


class Command(EdnaCommand):
    help = (
        "Delete what nobody needs any more: pseudoprincipals to whom nothing refers, and what crashes and statements past Django "
        "have left. Whoever reveals later gets everything back all the same.\n\nIn pages, while the site goes on. Run it every "
        "night; what is not surely left over stays, and manage.py edna_verify reports it."
    )
    examples = "  manage.py edna_sweep\n  manage.py edna_sweep --json"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--made-by-hand",
            action="store_true",
            help="The project has edna.on_reveal functions, and names pseudoprincipals by foreign keys alone: sweep those too.",
        )

    def run(self, options: dict[str, Any]) -> None:
        done = sweeping.sweep(made_by_hand=options["made_by_hand"])
        if options["json"]:
            self.print_json(done.as_dict())
            return
        found = [(WHAT[name], count) for name, count in done.as_dict().items() if count]
        self.stdout.write(f"Swept:\n{table(('what', 'how many'), found)}" if found else "Nothing was left over.")
