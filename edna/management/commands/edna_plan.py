"""``manage.py edna_plan``: what a disguise would do."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from edna import api, inner_door, registry, shards
from edna.errors import EdnaError
from edna.management.base import EdnaCommand, add_disguise_arguments, find_principal, params_of, table, usage
from edna.words import count


class Command(EdnaCommand):
    help = "Show what a disguise would do, table by table. Changes nothing."
    examples = (
        "  manage.py edna_plan shop.delete-account --principal bea@example.org\n  manage.py edna_plan "
        "school.anonymize-lecture --all --param lecture=3 --json"
    )
    requires_system_checks = ("edna",)

    def add_arguments(self, parser: CommandParser) -> None:
        add_disguise_arguments(parser)
        super().add_arguments(parser)

    def is_for_each(self, options: dict[str, Any]) -> bool:
        return bool(options["everyone"])

    def run(self, options: dict[str, Any]) -> None:
        plan, principal = make_plan(options)
        try:
            inner_door.require_audience(options["name"])
        except EdnaError as error:
            self.say(f"It would be refused now ({type(error).__name__}): {error}")
        if options["json"]:
            self.print_json({"principal": principal, **plan.as_dict()})
            return
        self.stdout.write(f"{describe(plan, principal)}{staff_left_out(options)}\n\nNothing was changed.")


def make_plan(options: dict[str, Any]) -> tuple[api.Plan, str | None]:
    """The plan that the options ask for, and the primary key of whom it is about (None: everybody)."""
    name, params = options["name"], params_of(options["name"], options["param"])
    if options["everyone"]:
        return api.plan_all(name, params=params, staff=options["include_staff"]), None
    if options["include_staff"]:
        raise usage("--include-staff goes with --all; one person is disguised whoever they are.")
    principal = find_principal(registry.principal_model_for(registry.get(name)), options["principal"])
    return api.plan(name, principal, params=params), str(principal.pk)


def describe(plan: api.Plan, principal: str | None) -> str:
    whom = "everybody" if principal is None else f"{plan.principal_model._meta.label} {principal}"
    rows = [(line.model, line.operation, f"{line.rows:,}", line.returning) for line in plan.tables]
    text = f"{plan.disguise.name} for {whom}{shards.in_words()}, {count(plan.rows, 'row')}:\n\n"
    if any(line.returning for line in plan.tables):
        text += table(("table", "operation", "rows", "comes back"), rows)
    else:
        text += table(("table", "operation", "rows"), [row[:3] for row in rows])
    if made := plan.pseudoprincipals:
        text += f"\n  with {count(made, 'new pseudoprincipal')} as {'owner' if made == 1 else 'owners'}"
    text += f"\n  about {count(plan.estimated_bytes, 'byte')} to be sealed"
    for model, names in plan.beyond_reach.items():
        text += (
            f"\n  without rows of {model} that {' or '.join(names)} gave away before: only the person's key finds those"
        )
    for model, names in plan.keys_not_found.items():
        text += f"\n  no row of {model} here has anything under {', '.join(names)}: nothing is replaced there. Is the name right?"
    return text


def staff_left_out(options: dict[str, Any]) -> str:
    """A line about those who run the site, and own such rows, and are not meant by --all."""
    if not options["everyone"] or options["include_staff"]:
        return ""
    number = inner_door.staff_among_everybody(options["name"], params=params_of(options["name"], options["param"]))
    return f"\n  without {count(number, 'staff account')} (--include-staff)" if number else ""
