"""``manage.py edna_erase``: destroy for good what a receipt leads to, with the person's key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from edna import api, inner_door, shards
from edna.management.base import EdnaCommand, operator_of, read_stdin, table
from edna.management.credentials import add_key_arguments, check_usage, credentials


class Command(EdnaCommand):
    noted = True
    help = (
        "Destroy for good what a disguise has sealed, after showing what that is and asking. Takes the receipt, and the key of the "
        "person it was issued to.\n\nNobody can bring it back, and the application's tables stay as they are. What other receipts lead to "
        "is kept."
    )
    examples = (
        "  manage.py edna_erase edna1:shop.delete-account:... --recovery-code\n"
        "  manage.py edna_erase - --secret-key-file bea.key --yes < receipt.txt"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "receipt",
            metavar="RECEIPT",
            help="The receipt; - reads it from standard input, so that it does not show in the list of processes (with --yes).",
        )
        add_key_arguments(parser, required=True, receipts="where the server keeps no locators")
        parser.add_argument(
            "--receipts-complete",
            action="store_true",
            help="These are all the receipts that the person has: if the account is removed, and nothing is left then, forget the person.",
        )
        parser.add_argument("--yes", action="store_true", help="Do not show what is destroyed and do not ask.")
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        check_usage(options, stdin_is_taken=_on_stdin(options))
        receipt = api.Receipt.parse(read_stdin() if options["receipt"] == "-" else options["receipt"])
        complete = {"receipts_complete": options["receipts_complete"]}
        with api.unlock(**credentials(options), receipts=[receipt, *options["with_receipt"]]) as unlocked:
            if not options["yes"]:
                where = shards.in_words(unlocked.using)
                self.say(f"{receipt.disguise} would be destroyed for good{where}:\n")
                self.say(_described(api.plan_erasure(receipt, unlocked, **complete)))
                self.ask_for(receipt.disguise, "\nNobody can bring it back. Go on?")
            erasure = api.erase(receipt, unlocked, **complete)
        with shards.at(unlocked.using):
            inner_door.note_act("erase", operator=operator_of(options), disguise=receipt.disguise)
        if options["json"]:
            self.print_json({"disguise": receipt.disguise, **erasure.as_dict()})
        else:
            self.stdout.write(f"Destroyed for good{shards.in_words(unlocked.using)}:\n{_described(erasure)}")


def _on_stdin(options: dict[str, Any]) -> str:
    """What standard input holds beside a secret, as `check_usage` takes it."""
    if options["receipt"] == "-":
        return "give the receipt as an argument"
    return "" if options["yes"] else "add --yes"


def _described(erasure: api.Erasure) -> str:
    counts = [*sorted(erasure.rows.items()), ("pseudoprincipals", erasure.pseudoprincipals), ("files", erasure.files)]
    rows = table(("of", "rows"), [(name, number) for name, number in counts if number])
    return rows + ("\nNothing of the person is left then: their key opens nothing any more." if erasure.forgets else "")
