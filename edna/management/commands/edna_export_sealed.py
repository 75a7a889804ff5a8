"""``manage.py edna_export_sealed``: a person's sealed bags as a file that they open without the site."""

from __future__ import annotations

from typing import Any

from edna import api
from edna.management.person_file import PersonFile, PersonFileCommand


class Command(PersonFileCommand):
    act = "export sealed"
    help = (
        "Write a person's sealed bags into a file for them. It opens with their secret key, on the page edna-open.html, without "
        "the site and without a network;\nwritten with the recovery code, it opens with that, too.\n\nChanges nothing. Nothing in the "
        "file is in the clear, and no key."
    )
    examples = (
        "  manage.py edna_export_sealed --output bea.json --recovery-code\n"
        "  manage.py edna_export_sealed --output bea.json --secret-key-file bea.key"
    )

    def make(self, unlocked: api.Unlocked, given: dict[str, Any]) -> PersonFile:
        written = api.export_sealed(unlocked, recovery_code=given.get("recovery_code"))
        return PersonFile(written, {"bytes": len(written)}, f"{len(written)} bytes; open it with edna-open.html.")
