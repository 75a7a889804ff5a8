"""``manage.py edna_vouch``: tag rows anew that this site did not tag, or under an older key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from edna import vouching
from edna.management.base import (
    PARTIAL,
    EdnaCommand,
    need_operations,
    operator_of,
    settings_name_several,
    table,
)


class Command(EdnaCommand):
    in_each = True
    help = (
        "Say that public keys, jobs and their lists are right, by tagging them under the first of MAC_KEYS.\n\nUnless told more, only what "
        "was tagged under an older key is tagged anew; what has no right tag is counted. --as-they-are vouches for that, too: after a key "
        "of the server was lost, or where you know that a row was changed for a reason.\n\nWhere people are in several databases, a tag "
        "counts in one of them alone. --formerly and --formerly-alone vouch for what has that of another alias, or of one database."
    )
    examples = (
        "  manage.py edna_vouch\n  manage.py edna_vouch --entry 1234567890123456789\n"
        "  manage.py edna_vouch --job 1234567890123456789\n  manage.py edna_vouch --as-they-are\n"
        "  manage.py edna_vouch --formerly nord --database north\n  manage.py edna_vouch --formerly-alone --database north"
    )

    noted = True

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--entry", metavar="ID", type=int, help="Vouch for this entry as it is.")
        which.add_argument("--job", metavar="ID", type=int, help="Vouch for this job as it is, and for its list.")
        which.add_argument(
            "--as-they-are", action="store_true", help="Vouch for all rows as they are, whoever wrote them."
        )
        which.add_argument(
            "--formerly",
            metavar="ALIAS",
            help="Vouch for rows that are tagged for the database of this name: its alias was changed, say.",
        )
        if settings_name_several():
            which.add_argument(
                "--formerly-alone",
                action="store_true",
                help="Vouch for rows that were tagged while the site had one database.",
            )
        super().add_arguments(parser)

    def is_for_each(self, options: dict[str, Any]) -> bool:
        # One row, and what has the tag of another place, is vouched for where somebody says: in the others it may have been copied.
        one = options["entry"] is not None or options["job"] is not None
        return not one and options["formerly"] is None and not options.get("formerly_alone")

    def run(self, options: dict[str, Any]) -> None:
        entry, job = options["entry"], options["job"]
        one = entry is not None or job is not None
        if job is not None:
            need_operations("--job")
        done = vouching.vouch(
            as_they_are=options["as_they_are"] or one,
            entry=entry,
            job=job,
            formerly=vouching.ALONE if options.get("formerly_alone") else options["formerly"],
            operator=operator_of(options),
            progress=None if options["json"] else self._progress,
        )
        if one and not done.looked_at("entries" if job is None else "jobs"):
            raise CommandError(f"There is no such {'entry' if job is None else 'job'}; nothing was changed.")
        if options["json"]:
            self.print_json(done.as_dict())
        else:
            self._report(done)
        if done.left:
            elsewhere = (
                f" {done.elsewhere} of them have the tag of another database, or of when the site had one alone: docs/howto-shards.md, "
                '"Whose tags count where".'
                if done.elsewhere and done.formerly is None
                else ""
            )
            raise CommandError(
                f"{done.left} row(s) have no right tag, and were left as they are; manage.py edna_verify names them.{elsewhere}",
                returncode=PARTIAL,
            )

    def _progress(self, what: str, count: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{vouching.known_words()[what][1]}: {count}\033[K", str, ending="")
            self.stderr.flush()

    def _report(self, done: vouching.Vouched) -> None:
        if self.stderr.isatty():
            self.stderr.write("\r\033[K", str, ending="")
        heads = ("what", "looked at", "of an older key", "without a right tag")
        words = vouching.known_words() | done.words
        rows = [(words[kind][1], each.looked_at, each.older, each.wrong) for kind, each in done.found.items()]
        self.stdout.write(table(heads, rows))
        self.stdout.write(f"edna vouches for {done.tagged} more of them, as they are now.")
