"""``manage.py demo``: what edna does, shown in the terminal on one of the sample applications."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ... import applications, evidence
from ...stage import Stage


class Command(BaseCommand):
    help = (
        "A guided tour of edna in the terminal: somebody leaves a sample application and returns, rows lose their authors and get "
        "them back, and after each step the database is searched as a thief would search it. Uses a SQLite file of its own, made "
        "anew each time. The exit status is 0 only if every check held."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        keys = [application.key for application in applications.ALL]
        parser.add_argument(
            "app", nargs="?", default="websubmit", choices=keys, help="which one (default: %(default)s)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="replace")  # a terminal without ✓ shows a question mark, not a traceback
        welcome = self.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        stage = Stage(self.stdout.write, colour=options["force_color"] or (welcome and not options["no_color"]))
        application = applications.by_key(options["app"])
        assert application is not None  # the parser takes no other names
        path = Path(settings.VAR) / "demo.sqlite3"
        started = time.monotonic()
        with evidence.database_of_its_own(path):
            try:
                import_module(f"{application.package}.tour").Tour(stage, path).run()
            except Exception as error:  # whatever it is: a tour that breaks off has not shown what it promises
                if options["traceback"]:
                    raise
                stage.check(f"The tour goes on to its end, without {type(error).__name__}: {error}", False)
        if stage.failed:
            self.stdout.write("")
            count = f"{len(stage.failed)} of {stage.checks} checks failed"
            raise CommandError(f"{count}: edna did not do here what it promises. The first: {stage.failed[0]}")
        seconds = time.monotonic() - started
        stage.chapter(f"All {stage.checks} checks held, in {seconds:.0f} seconds. What to try next")
        others = [each.key for each in applications.ALL if each is not application]
        stage.show(
            [
                f"make serve, then http://localhost:8000{application.path} in your browser, with the password",
                f"    {application.password} and one of these names:",
                *(f"    {account.login}, {account.role}" for account in application.accounts),
                *(f"make demo APP={key}" for key in others),
                f"{application.package.replace('.', '/')}/disguises.py: the disguises of this tour, as an application writes them",
                "docs/tutorial.md: the same, step by step, in a project of your own",
                "docs/threat-model.md: what a thief still learns",
            ]
        )
