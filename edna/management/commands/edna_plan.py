"""``manage.py edna_plan``: what a disguise would do."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from edna import api, registry
from edna.management.base import EdnaCommand, add_disguise_arguments, find_principal, params_of, table


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

    def run(self, options: dict[str, Any]) -> None:
        plan, principal = make_plan(options)
        if options["json"]:
            self.print_json({"principal": principal, **plan.as_dict()})
            return
        self.stdout.write(f"{describe(plan, principal)}\n\nNothing was changed.")


def make_plan(options: dict[str, Any]) -> tuple[api.Plan, str | None]:
    """The plan that the options ask for, and the primary key of whom it is about (None: everybody)."""
    name, params = options["name"], params_of(options["name"], options["param"])
    if options["everyone"]:
        return api.plan_all(name, params=params), None
    principal = find_principal(registry.principal_model_for(registry.get(name)), options["principal"])
    return api.plan(name, principal, params=params), str(principal.pk)


def describe(plan: api.Plan, principal: str | None) -> str:
    whom = "everybody" if principal is None else f"{plan.principal_model._meta.label} {principal}"
    rows = [(line.model, line.operation, f"{line.rows:,}") for line in plan.tables]
    text = f"{plan.disguise.name} for {whom}, {_count(plan.rows, 'row')}:\n\n"
    text += table(("table", "operation", "rows"), rows)
    if made := plan.pseudoprincipals:
        text += f"\n  with {_count(made, 'new pseudoprincipal')} as {'owner' if made == 1 else 'owners'}"
    return f"{text}\n  about {_count(plan.estimated_bytes, 'byte')} to be sealed"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
