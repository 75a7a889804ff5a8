"""``manage.py demo``: what edna does, shown in the terminal on a small WebSubmit."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ... import evidence
from ...stage import Stage
from ...tour import Tour
from .websubmit_seed import DEMO_PASSWORD, DEMO_STAFF, DEMO_STUDENT


class Command(BaseCommand):
    help = (
        "A guided tour of edna in the terminal: a student leaves and returns, the staff anonymise a lecture, and after each "
        "step the database is searched as a thief would search it. Uses a SQLite file of its own, made anew each time. "
        "The exit status is 0 only if every check held."
    )
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="replace")  # a terminal without ✓ shows a question mark, not a traceback
        welcome = self.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        stage = Stage(self.stdout.write, colour=options["force_color"] or (welcome and not options["no_color"]))
        path = Path(settings.VAR) / "demo.sqlite3"
        started = time.monotonic()
        with evidence.database_of_its_own(path):
            try:
                Tour(stage, path).run()
            except Exception as error:
                if options["traceback"]:
                    raise
                stage.check(f"The tour goes on to its end, without {type(error).__name__}: {error}", False)
        if stage.failed:
            self.stdout.write("")
            count = f"{len(stage.failed)} of {stage.checks} checks failed"
            raise CommandError(f"{count}: edna did not do here what it promises. The first: {stage.failed[0]}")
        seconds = time.monotonic() - started
        stage.chapter(f"All {stage.checks} checks held, in {seconds:.0f} seconds. What to try next")
        stage.show(
            [
                "make serve                   the same site in your browser, at http://localhost:8000/",
                f"                             student {DEMO_STUDENT}, staff {DEMO_STAFF},",
                f"                             password {DEMO_PASSWORD}",
                "apps/websubmit/disguises.py  the disguises of this tour, as an application writes them",
                "docs/tutorial.md             the same, step by step, in a project of your own",
                "docs/threat-model.md         what a thief still learns",
            ]
        )
