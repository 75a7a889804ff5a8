"""``manage.py edna_keys``: which keys of the server the database knows, and which are configured."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from edna import serverkeys
from edna.management.base import EdnaCommand, table, usage

_BEFORE = (
    "need a former key. Run manage.py edna_vouch before you take it out of MAC_KEYS, and edna_files for files; bags may need it longer "
    "(docs/backups.md)."
)
_BY_OWNERS = (
    "need a former key until those whose they are have used them, or made them anew: passwords, codes, passkeys and guardians' help open "
    "nothing once it is out of MAC_KEYS."
)
_AFTER = (
    "have no tag under a key of MAC_KEYS. Put a missing key back, behind the present one, and run manage.py edna_vouch; manage.py "
    "edna_verify names what is still wrong then."
)


class Command(EdnaCommand):
    in_each = True
    help = (
        'List the server\'s keys (EDNA["MAC_KEYS"]) by check values, which tell nothing about them; let the database know new ones; let it '
        "forget a former one that nothing needs any more. Under a key that the database does not know nothing is disguised. Adding "
        "and forgetting is noted in the audit trail."
    )
    examples = (
        "  manage.py edna_keys list\n"
        "  manage.py edna_keys add --operator olga\n"
        "  manage.py edna_keys forget 3f2a91c4 --operator olga"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("action", choices=("list", "add", "forget"), help="What to do.")
        parser.add_argument(
            "key", nargs="?", help="To forget: the first digits of its check value, as list shows them."
        )
        parser.add_argument("--operator", default="", help="To add and forget: who you are, for the audit trail.")
        parser.add_argument(
            "--lost",
            action="store_true",
            help="To add: the former keys are lost for good, and with them all that was sealed under them. To forget: the key is lost, "
            "whatever was noted under it.",
        )

    def run(self, options: dict[str, Any]) -> None:
        action, key, operator = options["action"], options["key"], options["operator"]
        if action != "list" and not operator:
            raise usage(f"{action} needs --operator.")
        if (action == "forget") != (key is not None):
            raise usage("forget needs the first digits of a check value; list and add take none.")
        if options["lost"] and action == "list":
            raise usage("--lost is for add and forget.")
        if action == "add":
            added = serverkeys.add(operator=operator, lost=options["lost"])
            self.say(f"Added: {', '.join(added)}." if added else "The database knows all configured keys already.")
        elif action == "forget":
            self.say(f"Forgotten: {serverkeys.forget(key, operator=operator, lost=options['lost'])}.")
        lines = serverkeys.listing()
        # With one key, and no other known, there is nothing to tell apart; and every row is read for it.
        former = serverkeys.former() if len(lines) > 1 else serverkeys.Former({}, {}, {})
        if options["json"]:
            keys = [{"check_value": x.digits, "place": x.place, "added_on": x.added_on} for x in lines]
            self.print_json({"keys": keys, "former": former.older, "untagged": former.wrong})
        else:
            head = ("check value", "in MAC_KEYS", "known since")
            self.stdout.write(
                table(
                    head,
                    [
                        (x.digits, x.place or "no", x.added_on or "not known: nothing is disguised under it")
                        for x in lines
                    ],
                )
            )
            older, of_owners = former.split()
            for numbers, advice in ((older, _BEFORE), (of_owners, _BY_OWNERS), (former.wrong, _AFTER)):
                if told := former.in_words(numbers):
                    self.stdout.write(f"{told} {advice}")
