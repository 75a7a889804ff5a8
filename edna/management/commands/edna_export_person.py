"""``manage.py edna_export_person``: what is a person's, disguised data included, as a file for them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, TextIO

from django.core.management.base import CommandParser

from edna import api
from edna.errors import BagError, StorageFailed
from edna.management.person_file import PersonFile, PersonFileCommand
from edna.words import count

#: The document, in an archive.
DOCUMENT = "export.json"


class Command(PersonFileCommand):
    act = "export person"
    help = (
        "Write what is a person's into a file for them: the rows that they own now, and what is disguised of them, as JSON "
        "(docs/export-1.schema.json); with --files, the content of their files, too.\n\nChanges nothing. The file is in the clear: hand it "
        "over, then delete it."
    )
    examples = (
        "  manage.py edna_export_person --output bea.json --recovery-code\n"
        "  manage.py edna_export_person --output bea.zip --files --secret-key-file bea.key"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--files",
            action="store_true",
            help=f"Write a zip archive: the document is {DOCUMENT} in it, beside it the content of each file.",
        )
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        self.files: Sequence[api.OwnFile] | None = [] if options["files"] else None
        super().run(options)

    def make(self, unlocked: api.Unlocked, given: dict[str, Any]) -> PersonFile:
        document = api.export(unlocked)
        if self.files is not None:
            self.files = api.export_files(unlocked)
        # A row stands once as it is, and once for each state of it that is disguised.
        rows = len({(row["model"], json.dumps(row["key"])) for row in document["rows"]})
        counts = {
            "rows": rows,
            "states": len(document["rows"]),
            "files": len(document["files"]),
            "blobs": len(document["blobs"]),
        }
        states = f" in {counts['states']:,} states" if counts["states"] > rows else ""
        unopened = document["unopened"]
        more = f" and {count(len(self.files), 'file')}" if self.files else ""
        return PersonFile(
            json.dumps(document, indent=2),
            {**counts, "unopened": unopened},
            f"{count(rows, 'row')}{states}{more}, in the clear.",
            f"{unopened} of what is sealed did not open, and is not in it." if unopened else "",
        )

    def write(self, file: TextIO, made: PersonFile) -> None:
        if self.files is None:
            super().write(file, made)
            return
        missing = 0
        with zipfile.ZipFile(file.buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(DOCUMENT, made.text)
            for each in self.files:
                missing += not _put(archive, each)
        if missing:
            self.say(
                f"{count(missing, 'file')} could not be read, and {'is' if missing == 1 else 'are'} not whole in it."
            )


def _put(archive: zipfile.ZipFile, each: api.OwnFile) -> bool:
    """Whether it could be read."""
    # A name is somebody's word: whoever unpacks it must not write elsewhere.
    name = [part for part in PurePosixPath(each.name.replace("\\", "/")).parts if part not in ("/", "..")]
    try:
        with archive.open(
            "/".join(["files", each.state, each.model, each.column, *name]), "w", force_zip64=True
        ) as content:
            for piece in each.pieces():
                content.write(piece)
    except (StorageFailed, BagError):
        return False
    return True
