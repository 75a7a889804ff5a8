"""``manage.py edna_export_sealed``: a person's sealed bags as a file that they open without the site."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from edna import api, inner_door
from edna.management.base import EdnaCommand, new_private_file, operator_of
from edna.management.credentials import add_key_arguments, check_usage, credentials


class Command(EdnaCommand):
    noted = True
    help = (
        "Write a person's sealed bags into a file for them. It opens with their secret key, on the page edna-open.html, without "
        "the site and without a network;\nwritten with the recovery code, it opens with that, too.\n\nChanges nothing. Nothing in the "
        "file is in the clear, and no key."
    )
    examples = (
        "  manage.py edna_export_sealed --output bea.json --recovery-code\n"
        "  manage.py edna_export_sealed --output bea.json --secret-key-file bea.key"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", metavar="FILE", required=True, help="A new file to write to.")
        add_key_arguments(parser, required=True, receipts="where the server keeps no locators")
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        check_usage(options)
        given = credentials(options)
        with api.unlock(**given, receipts=options["with_receipt"]) as unlocked:
            written = api.export_sealed(unlocked, recovery_code=given.get("recovery_code"))
        with new_private_file(options["output"]) as file:
            inner_door.note_act("export sealed", operator=operator_of(options))
            file.write(written)
        if options["json"]:
            self.print_json({"file": options["output"], "bytes": len(written)})
        else:
            self.stdout.write(f"{options['output']} has {len(written)} bytes; open it with edna-open.html.")
