"""``manage.py edna_health``: whether edna is well, for people and for whatever watches exit statuses."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from edna.management.base import PARTIAL, EdnaCommand, table
from edna.operations.upkeep.health import Health, health


class Command(EdnaCommand):
    in_each = True
    help = (
        "Show whether jobs have runners, schedules and upkeep were run, what is stored until when, which files wait, and which "
        "system checks complain.\n\nChanges nothing and names nobody. Exit status 3 says that something wants attention."
    )
    examples = "  manage.py edna_health\n  manage.py edna_health --json || mail -s 'edna' operators@example.org"

    def run(self, options: dict[str, Any]) -> None:
        found = health()
        if options["json"]:
            self.print_json(found.as_dict())
        else:
            self.stdout.write(describe(found))
        if not found.ok:
            names = ", ".join(line.name for line in found.lines if line.advice)
            raise CommandError(f"Attention: {names}.", returncode=PARTIAL)


def describe(found: Health) -> str:
    """The lines, and below them what to do."""
    lines = table(("what", "verdict", "found"), ((line.name, line.verdict, line.finding) for line in found.lines))
    advice = [f"  {line.name}: {line.advice}" for line in found.lines if line.advice]
    return "\n".join([lines, *(["\nWhat to do:", *advice] if advice else [])])
