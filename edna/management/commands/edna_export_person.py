"""``manage.py edna_export_person``: what is a person's, disguised data included, as a file for them."""

from __future__ import annotations

import json
from typing import Any

from edna import api
from edna.management.person_file import PersonFile, PersonFileCommand


class Command(PersonFileCommand):
    act = "export person"
    help = (
        "Write what is a person's into a file for them: the rows that they own now, and what is disguised of them, as JSON "
        "(docs/export-1.schema.json).\n\nChanges nothing. The file is in the clear: hand it over, then delete it."
    )
    examples = (
        "  manage.py edna_export_person --output bea.json --recovery-code\n"
        "  manage.py edna_export_person --output bea.json --secret-key-file bea.key"
    )

    def make(self, unlocked: api.Unlocked, given: dict[str, Any]) -> PersonFile:
        document = api.export(unlocked)
        counts = {name: len(document[name]) for name in ("rows", "files", "blobs")}
        unopened = document["unopened"]
        return PersonFile(
            json.dumps(document, indent=2),
            {**counts, "unopened": unopened},
            f"{counts['rows']} rows, in the clear.",
            f"{unopened} of what is sealed did not open, and is not in it." if unopened else "",
        )
