"""``manage.py edna_audit``: what disguises do with personal data, and whether one person's is still to be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import connections
from django.db.models import Model

from edna import api, registry
from edna.auditing import html, record, report, text, values
from edna.auditing.search import Findings, search
from edna.management.base import (
    PARTIAL,
    USAGE,
    EdnaCommand,
    chosen_principal_models,
    find_the_only_principal,
    pair,
    params_of,
    read_stdin,
    usage,
)
from edna.management.credentials import add_key_arguments, check_usage, credentials, is_given
from edna.spec import Disguise
from edna.words import count


class Command(EdnaCommand):
    help = (
        "Say what disguises make of every column that looks personal, which of them nothing covers, and, for one person, whether\n"
        "the database still holds their values. Changes nothing.\n\nIt names tables, columns and keys, never what is in them, so that "
        "it can be mailed.\n\n--principal: somebody in plain sight; what would still be found once they are disguised. With their "
        "key\n(--secret-key-file, --recovery-code, --identifier), or with --values: what is found now, while they are disguised."
    )
    examples = (
        "  manage.py edna_audit --html > report.html\n  manage.py edna_audit --principal bea@example.org --disguise "
        "shop.delete-account\n  manage.py edna_audit --recovery-code\n  manage.py edna_audit --values - < values.txt"
    )
    statuses = "0 nothing found, 1 refused, 2 wrong usage, 3 something found: a value of the person, or a column that nothing covers"
    requires_system_checks = ("edna",)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--principal",
            metavar="WHO",
            help="Search for somebody in plain sight: the primary key, the name they log in with, or their e-mail address. "
            "pk:42 if 42 could be several of these.",
        )
        parser.add_argument(
            "--model",
            metavar="APP.MODEL",
            help="With --principal: the principal model, where there are several and WHO is somebody in more than one.",
        )
        parser.add_argument(
            "--disguise",
            metavar="NAME",
            help="With --principal: as if this one were applied; unless given, each that takes no parameters.",
        )
        parser.add_argument(
            "--param",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            type=pair,
            help="With --disguise: a parameter; repeat it for several.",
        )
        add_key_arguments(parser, required=False, receipts="with a key, where the server keeps no locators")
        parser.add_argument(
            "--values",
            metavar="FILE",
            help="Search for what stands in this file, one value a line; - reads standard input.",
        )
        parser.add_argument(
            "--ignore",
            metavar="TABLE[.COLUMN]",
            action="append",
            default=[],
            help="A table or column of the database that may hold them; repeat it for several.",
        )
        parser.add_argument(
            "--database",
            metavar="ALIAS",
            action="append",
            default=[],
            help="Search this database instead of the one where the principals are; repeat it for several.",
        )
        parser.add_argument(
            "--show", action="store_true", help="Print the values that were found, too. Then it is not for mailing."
        )
        parser.add_argument(
            "--facts",
            metavar="FILE",
            help="A JSON file with what only people know, for the record of processing: "
            + ", ".join(record.FACTS)
            + ".",
        )
        parser.add_argument("--html", action="store_true", help="Print a page of HTML instead of text.")
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        if options["html"] and options["json"]:
            raise usage("--html or --json, not both.")
        if options["show"] and (options["html"] or options["json"]):
            raise usage("--show goes with text alone: a file with people's values in it is soon elsewhere.")
        if unknown := [alias for alias in options["database"] if alias not in connections]:
            raise usage(f"There is no database {unknown[0]!r} in the settings.")
        check_usage(options, stdin_is_taken="give the values in a file" if options["values"] == "-" else "")
        facts = _facts(options["facts"])
        made = report.made(searches=list(self._searches(options)), facts=facts)
        if options["json"]:
            self.print_json(made.as_dict())
        elif options["html"]:
            self.stdout.write(html.written(made))
        else:
            self.stdout.write(text.written(made, show=options["show"]))
        if made.anything_found:
            raise CommandError(_found(made), returncode=PARTIAL)

    def _searches(self, options: dict[str, Any]) -> list[Findings]:
        wanted: list[values.Values] = []
        if is_given(options):
            with api.unlock(**credentials(options), receipts=options["with_receipt"]) as unlocked:
                wanted.append(values.of_sealed(unlocked))
        elif options["principal"]:
            wanted += self._in_plain_sight(options)
        if options["values"]:
            wanted.append(values.given(_lines(options["values"])))
        for each in wanted:
            if not each.by_needle:
                raise CommandError(
                    f"There is nothing to look for of {each.of}: nothing is disguised, or no text of it is long enough to say "
                    "something. With --values FILE, say what must not be found."
                )
        return [search(each, using=options["database"], ignore=options["ignore"]) for each in wanted]

    def _in_plain_sight(self, options: dict[str, Any]) -> list[values.Values]:
        named = registry.get(options["disguise"]) if options["disguise"] else None
        models = [registry.principal_model_for(named)] if named else chosen_principal_models(options["model"])
        try:
            principal = find_the_only_principal(models, options["principal"])
        except CommandError as error:
            if error.returncode == USAGE:
                raise
            raise CommandError(
                f"{error} Of somebody whose account is removed, only their key (--recovery-code, for example) or --values "
                "can tell what to look for."
            ) from None
        disguises = [named] if named else self._for(principal, options)
        return [
            values.of_plan(api.plan(each.name, principal, params=params_of(each.name, options["param"])), principal)
            for each in disguises
        ]

    def _for(self, principal: Model, options: dict[str, Any]) -> list[type[Disguise]]:
        """The disguises that can be applied to somebody without being told more."""
        if options["param"]:
            raise usage("--param goes with --disguise.")
        model = registry.principal_model_of(principal)
        several = [each for each in registry.disguises().values() if registry.principal_model_for(each) is model]
        for disguise in (each for each in several if each.params):
            self.say(f"{disguise.name} takes parameters and is left out; name it with --disguise.")
        without = [disguise for disguise in several if not disguise.params]
        if not without:
            raise usage("No disguise is registered that takes no parameters; name one with --disguise.")
        return without


def _found(made: report.Report) -> str:
    places = sum(len(findings.certain) for findings in made.searches)
    said = []
    if places:
        said.append(
            f"Found values of the person in {count(places, 'place')}: cover them in a disguise, or name with --ignore what may hold them."
        )
    if made.uncovered:
        said.append(
            f"Found {count(len(made.uncovered), 'column')} that look personal and are covered by nothing: cover them in a disguise, or say "
            'Keep(Model, "column", why="...") of what may stay.'
        )
    return " ".join(said)


def _lines(path: str) -> list[str]:
    if path == "-":
        return read_stdin().splitlines()
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {type(error).__name__}.") from None


def _facts(path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        facts = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} cannot be read: {type(error).__name__}.") from None
    if not isinstance(facts, dict) or not facts.keys() <= record.FACTS.keys():
        raise usage(f"{path} must be one JSON object with texts under some of {', '.join(record.FACTS)}.")
    return {name: str(fact) for name, fact in facts.items()}
