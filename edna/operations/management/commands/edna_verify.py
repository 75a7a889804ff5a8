"""``manage.py edna_verify``: is the store as edna wrote it, and is any work left over?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from edna import api
from edna.management.base import DAMAGED, PARTIAL, EdnaCommand, read_stdin, table
from edna.operations.upkeep import verification
from edna.operations.upkeep.findings import KINDS, Severity, Verified


class Command(EdnaCommand):
    in_each = True
    help = (
        "Walk all of edna's tables and say what is not as edna wrote it, and what work has been left: overdue, pending, orphaned. "
        "Repairs nothing.\n\nNeeds no key of anybody. With a person's secret key it also opens all that is theirs, and says in "
        "numbers whether everything is there. Prints numbers of rows; never content, keys or people."
    )
    examples = "  manage.py edna_verify\n  manage.py edna_verify --json\n  manage.py edna_verify --key-file bea.key"
    statuses = "0 sound, 1 refused, 2 wrong usage, 3 something needs attention, 4 damage"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        key = parser.add_mutually_exclusive_group()
        key.add_argument("--key-file", metavar="FILE", help="A file with a person's secret key and nothing else.")
        key.add_argument("--key-stdin", action="store_true", help="Read a person's secret key from standard input.")

    def run(self, options: dict[str, Any]) -> None:
        found = verification.verify(secret_key=_key(options), progress=None if options["json"] else self._progress)
        if options["json"]:
            self.print_json(
                {
                    "verdict": found.worst.value if found.worst else "sound",
                    "seen": found.seen,
                    "findings": [each.as_dict() for each in found.findings],
                }
            )
        else:
            self._report(found)
        if found.worst is Severity.DAMAGE:
            raise CommandError("The store is damaged; see to what is listed, first of all.", returncode=DAMAGED)
        if found.worst is Severity.ATTENTION:
            raise CommandError("The store is sound, and something needs attention.", returncode=PARTIAL)

    def _progress(self, what: str, count: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{what}: {count}\033[K", str, ending="")
            self.stderr.flush()

    def _report(self, found: Verified) -> None:
        if self.stderr.isatty():
            self.stderr.write("\r\033[K", str, ending="")
        self.stdout.write(
            f"Looked at:\n{table(('what', 'how many'), found.seen.items())}" if found.seen else "Nothing is stored."
        )
        for each in sorted(found.findings, key=lambda each: list(Severity).index(each.severity), reverse=True):
            kind = KINDS[each.kind]
            self.stdout.write(f"{kind.severity.value}: {each.kind} ({each.count}): {kind.meaning}.")
            if each.ids:
                more = "" if len(each.ids) >= each.count else ", ..."
                self.stdout.write(f"    rows: {', '.join(map(str, each.ids))}{more}")
            self.stdout.write(f"    to do: {kind.remedy}")
        if not found.findings:
            self.stdout.write("Sound.")


def _key(options: dict[str, Any]) -> api.SecretKey | None:
    """Never from the command line, which every user of the machine can read."""
    if options["key_stdin"]:
        return api.SecretKey.parse(read_stdin())
    if options["key_file"] is None:
        return None
    try:
        text = Path(options["key_file"]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{options['key_file']} cannot be read: {type(error).__name__}.") from None
    return api.SecretKey.parse(text)
