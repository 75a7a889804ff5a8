"""``manage.py edna_export_person``: what is a person's, disguised data included, as a file for them."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from edna import api, inner_door
from edna.management.base import EdnaCommand, new_private_file, operator_of
from edna.management.credentials import add_key_arguments, check_usage, credentials


class Command(EdnaCommand):
    noted = True
    help = (
        "Write what is a person's into a file for them: the rows that they own now, and what is disguised of them, as JSON "
        "(docs/export-1.schema.json).\n\nChanges nothing. The file is in the clear: hand it over, then delete it."
    )
    examples = (
        "  manage.py edna_export_person --output bea.json --recovery-code\n"
        "  manage.py edna_export_person --output bea.json --secret-key-file bea.key"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", metavar="FILE", required=True, help="A new file to write to.")
        add_key_arguments(parser, required=True, receipts="where the server keeps no locators")
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        check_usage(options)
        with api.unlock(**credentials(options), receipts=options["with_receipt"]) as unlocked:
            document = api.export(unlocked)
        with new_private_file(options["output"]) as file:
            inner_door.note_act("export person", operator=operator_of(options))
            json.dump(document, file, indent=2)
        counts = {name: len(document[name]) for name in ("rows", "files", "blobs")}
        if options["json"]:
            self.print_json({"file": options["output"], **counts, "unopened": document["unopened"]})
        else:
            self.stdout.write(f"{options['output']} has {counts['rows']} rows, in the clear.")
            if document["unopened"]:
                self.say(f"{document['unopened']} of what is sealed did not open, and is not in it.")
