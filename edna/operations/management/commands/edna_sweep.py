"""``manage.py edna_sweep``: delete what nobody needs any more."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from edna.management.base import PARTIAL, EdnaCommand, operator_of, table
from edna.operations.upkeep import residue

WHAT = {
    "pseudoprincipals": "pseudoprincipals to whom nothing refers",
    "detached": "entries whose user was deleted past Django",
    "session_links": "links of sessions that are over",
    "job_rows": "rows of jobs for nobody",
}


class Command(EdnaCommand):
    noted = True
    in_each = True
    help = (
        "Delete what nobody needs any more: pseudoprincipals to whom nothing refers, and what crashes and statements past Django "
        "have left. Whoever reveals later gets everything back all the same.\n\nIn pages, while the site goes on. Run it every "
        "night; what is not surely left over stays, and manage.py edna_verify reports it. Entries that this site did not note are "
        "left as they are: somebody else has written to the table."
    )
    examples = "  manage.py edna_sweep\n  manage.py edna_sweep --json"
    statuses = "0 swept, 1 refused, 2 wrong usage, 3 entries that this site did not note were left as they are"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--made-by-hand",
            action="store_true",
            help="The project has edna.on_reveal functions, and names pseudoprincipals by foreign keys alone: sweep those too.",
        )

    def run(self, options: dict[str, Any]) -> None:
        done = residue.sweep(made_by_hand=options["made_by_hand"], operator=operator_of(options))
        if options["json"]:
            self.print_json(done.as_dict())
        else:
            found = [(what, count) for name, what in WHAT.items() if (count := done.as_dict()[name])]
            nothing = "Nothing was swept." if done.forged else "Nothing was left over."
            self.stdout.write(f"Swept:\n{table(('what', 'how many'), found)}" if found else nothing)
        if done.forged:
            raise CommandError(
                f"{done.forged} {'entry' if done.forged == 1 else 'entries'} that this site did not note, or not as now, would have been "
                "swept, and stayed as they were; manage.py edna_verify names them.",
                returncode=PARTIAL,
            )
