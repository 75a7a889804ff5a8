"""``manage.py edna_scaffold``: a first ``disguises.py``, from the project's models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.base import CommandParser

from edna import registry
from edna.management.base import EdnaCommand, usage
from edna.scaffold.draft import Draft, draft
from edna.scaffold.module import written_module
from edna.spec import validated_name
from edna.words import count


class Command(EdnaCommand):
    help = "Write a first disguises.py: what deleting an account would do, so that it can be revealed. Reads models, no rows."
    examples = (
        "  manage.py edna_scaffold\n  manage.py edna_scaffold --output accounts/disguises.py\n  manage.py edna_scaffold "
        "--app shop --output shop/disguises.py"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--app",
            metavar="LABEL",
            action="append",
            default=[],
            dest="applications",
            help="Only what the tables of this application have, and the account stays; repeat it for several.",
        )
        parser.add_argument("--model", metavar="APP.MODEL", help="One principal model, where there are several.")
        parser.add_argument("--name", help="The name of the disguise; otherwise it follows from the application.")
        parser.add_argument("--output", metavar="FILE", help="Write to this file instead of standard output.")
        parser.add_argument("--force", action="store_true", help="With --output: overwrite the file.")
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        output = Path(options["output"]) if options["output"] else None
        if output is None and options["force"]:
            raise usage("--force goes with --output.")
        if output is not None and output.exists() and not options["force"]:
            raise usage(f"{output} exists already; --force overwrites it.")
        if output is not None:
            _forget(output)
        drafts = _drafts(options)
        for each in drafts if output is not None else ():
            _require_free(each.name)
        text = written_module(drafts)
        if output is not None:
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(text, encoding="utf-8")
        elif not options["json"]:
            self.stdout.write(text, ending="")
        if options["json"]:
            self.print_json(
                {
                    "file": options["output"],
                    "disguises": [{"name": each.name, "steps": len(each.steps)} for each in drafts],
                    "decisions": text.count("Decide:"),
                    **({} if output is not None else {"module": text}),
                }
            )
        else:
            steps = count(sum(len(each.steps) for each in drafts), "step")
            where = f" to {output}" if output is not None else ""
            self.say(
                f"{steps} written{where}; {count(text.count('Decide:'), 'comment')} to decide. Then: manage.py check."
            )


def _drafts(options: dict[str, Any]) -> list[Draft]:
    principals = registry.principal_models()
    known = {model._meta.label_lower: model for model in principals}
    chosen = list(known.values())
    if options["model"]:
        if options["model"].lower() not in known:
            raise usage(
                f"{options['model']} is no principal model. There are: {', '.join(m._meta.label for m in principals)}."
            )
        chosen = [known[options["model"].lower()]]
    labels = {config.label for config in apps.get_app_configs()}
    for label in options["applications"]:
        if label not in labels:
            raise usage(f"No application is called {label!r}. There are: {', '.join(sorted(labels))}.")
    drafts = []
    for model in chosen:
        name = options["name"] or _name(model, options["applications"])
        if [other._meta.app_label for other in chosen].count(model._meta.app_label) > 1 or (
            options["name"] and len(chosen) > 1
        ):
            name += f"-{model._meta.model_name}"
        each = draft(
            model, principals=principals, name=validated_name(name), applications=frozenset(options["applications"])
        )
        if each.steps:
            drafts.append(each)
    if not drafts:
        raise usage("Nothing in these applications leads to a principal, so there is nothing to write.")
    return drafts


def _name(model: type[Any], applications: list[str]) -> str:
    return f"{applications[0]}.leave" if applications else f"{model._meta.app_label}.delete-account"


def _forget(output: Path) -> None:
    """What the file registered that is to be overwritten: the new text cannot rely on it."""
    for each in (*registry.disguises().values(), *registry.generators()):
        if _file_of(each) == output.resolve():
            registry.unregister(each)


def _require_free(name: str) -> None:
    """Disguises of a new module must not meet others of their name."""
    there = registry.find(name)
    if there is not None:
        raise usage(f"{name} is registered already, by {there.__module__}. Give another --name.")


def _file_of(cls: type[Any]) -> Path | None:
    path = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return Path(path).resolve() if path else None
