"""``manage.py showcase_seed``: something to look at in each sample application that is still empty."""

from __future__ import annotations

import io
from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from ... import applications


class Command(BaseCommand):
    help = (
        "Fill each sample application that nobody has an account in with a little data, and say where it is and with whom to try it. "
        "An application with people in it is left alone. For more data, run the applications' own commands instead."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--site", default="http://localhost:8000", help="the address to print (default: %(default)s)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        site = options["site"].rstrip("/")
        codes = {application.key: self._seed(application) for application in applications.ALL}
        for application in applications.ALL:
            self.stdout.write(
                f"\n{application.name:<10} {site}{application.path}   password of everybody: {application.password}"
            )
            for account in application.accounts:
                self.stdout.write(f"{'':<10} {account.login}, {account.role}")
            if code := codes[application.key]:
                self.stdout.write(f"{'':<10} {code}")
        self.stdout.write(f"\nAdmin      {site}/admin/   with the staff account of WebSubmit")

    def _seed(self, application: applications.Application) -> str:
        """What the application's command says of the demo account's recovery code; empty if it had nothing to do."""
        if application.model._base_manager.exists():
            return ""
        said = io.StringIO()
        call_command(application.seed, stdout=said, stderr=self.stderr, **application.scale)
        lines = said.getvalue().splitlines()
        self.stdout.write(f"{application.name}: {lines[0]}")
        return next((line for line in lines if line.startswith("Recovery code")), "")
