"""What commands share that write a file for one person, with their key.

Keeps: the file is new, and readable by whoever runs the command alone; that it was written is in the audit trail before anything is in it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, TextIO

from django.core.management.base import CommandParser

from edna import api, inner_door, shards
from edna.management.base import EdnaCommand, new_private_file, operator_of
from edna.management.credentials import add_key_arguments, check_usage, credentials


@dataclass(frozen=True)
class PersonFile:
    """``text`` is what is in it; ``counts`` what ``--json`` says of it, ``holds`` and ``warning`` the same in words."""

    text: str = field(repr=False)
    counts: dict[str, int]
    holds: str
    warning: str = ""


class PersonFileCommand(EdnaCommand):
    """``act`` is what the trail calls it."""

    noted = True
    act: ClassVar[str]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", metavar="FILE", required=True, help="A new file to write to.")
        add_key_arguments(parser, required=True, receipts="where the server keeps no locators")
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        check_usage(options)
        given = credentials(options)
        with api.unlock(**given, receipts=options["with_receipt"]) as unlocked:
            made = self.make(unlocked, given)
        with new_private_file(options["output"]) as file, shards.at(unlocked.using):
            inner_door.note_act(self.act, operator=operator_of(options))
            self.write(file, made)
        if options["json"]:
            self.print_json({"file": options["output"], **made.counts})
            return
        self.stdout.write(f"{options['output']} has {made.holds}")
        if where := shards.in_words(unlocked.using):
            self.say(f"The person was found{where}.")
        if made.warning:
            self.say(made.warning)

    def write(self, file: TextIO, made: PersonFile) -> None:
        file.write(made.text)

    @abstractmethod
    def make(self, unlocked: api.Unlocked, given: dict[str, Any]) -> PersonFile:
        """``given`` is what has opened the key."""
