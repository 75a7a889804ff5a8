"""``manage.py edna_files``: finish with files what a crash has left."""

from __future__ import annotations

from typing import Any, Final

from django.core.management.base import CommandError

from edna import api
from edna.management.base import PARTIAL, EdnaCommand, table

REASONS: Final = {
    "name_taken": "another file has its name by now; move that away",
    "field_unknown": "the project has no such file field any more",
    "storage_failed": "the storage does not answer, or refuses",
    "forged": "this site has not noted it under a key of MAC_KEYS: put a missing key back; otherwise somebody wrote it into the database: "
    "look into that, and delete the row",
    "bag_unreadable": "its sealed content is damaged; restore the bag from a backup",
}


class Command(EdnaCommand):
    in_each = True
    help = (
        "Delete the files of rows under disguise, and write those of revealed rows, as far as a crash or a storage that "
        "did not answer has kept that from being done at once. Run it at start-up and every hour or so.\n\nPrints counts "
        "and fields, never names of files. Run it as often as you like, also twice at once."
    )
    examples = "  manage.py edna_files\n  manage.py edna_files --json"

    def run(self, options: dict[str, Any]) -> None:
        done = api.finish_files()
        if options["json"]:
            self.print_json(done.as_dict())
        else:
            self._report(done)
        if done.left:
            raise CommandError(
                f"{len(done.left)} file(s) are left to do; see to the reasons, then run this again.", returncode=PARTIAL
            )

    def _report(self, done: api.FinishedFiles) -> None:
        counts = [("deleted", done.deleted), ("written", done.written), ("nothing to do any more", done.dropped)]
        found = [(label, number) for label, number in counts if number]
        self.stdout.write(f"Files:\n{table(('what', 'files'), found)}" if found else "No file was waiting.")
        if done.left:
            rows = [(left.field, left.action, in_words(left.reason)) for left in done.left]
            self.stdout.write(f"Left:\n{table(('field', 'to', 'why'), rows)}")


def in_words(reason: str) -> str:
    word, _, detail = reason.partition(" ")
    return f"{REASONS.get(word, word)} {detail}".rstrip()
