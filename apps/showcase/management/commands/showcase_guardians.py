"""``manage.py showcase_guardians``: five guardians on this machine, to try them. A real site's are run by five different parties."""

from __future__ import annotations

import io
import signal
import socket
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

COUNT, THRESHOLD = 5, 3
#: Two help at once, after they have told the owner; the others by a code, which they mail.
POLICIES = ["waiting:0", "waiting:0", "mail", "mail", "mail"]


class Command(BaseCommand):
    help = (
        "Run five guardians until this is stopped. Three of them help somebody to their key again. What they would mail is printed. "
        "Their folders are made on first use; the site finds their roster when it starts."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--prepare", action="store_true", help="only make what is not there yet")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = Path(settings.GUARDIANS_FOLDER)
        key = self._prepared(folder)
        if options["prepare"]:
            return
        processes = [self._started(folder, number, key) for number in range(1, COUNT + 1)]

        def stop(number: int, frame: FrameType | None) -> None:
            for process in processes:
                process.terminate()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        for process in processes:
            process.wait()

    def _prepared(self, folder: Path) -> str:
        """Identities, the site's key and the roster; the public half of that key."""
        public = folder / "site.pub"
        if (folder / "roster.json").exists():
            return public.read_text().strip()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        public.write_text(_said("site-key", "--output", folder / "site.key"))
        members = []
        for number in range(1, COUNT + 1):
            address = f"http://127.0.0.1:{_free_port()}"
            member = folder / f"{number}.json"
            member.write_text(_said("new", "--folder", folder / str(number), "--number", number, "--address", address))
            members.append(member)
        site = ["--site", "the sample site", "--site-key", folder / "site.key"]
        _said("schedule", *site, "--threshold", THRESHOLD, "--output", folder / "roster.json", *members)
        return public.read_text().strip()

    @staticmethod
    def _started(folder: Path, number: int, key: str) -> subprocess.Popen[bytes]:
        given = [
            "--folder",
            str(folder / str(number)),
            "--roster",
            str(folder / "roster.json"),
            "--site-public-key",
            key,
        ]
        asked = ["--policy", POLICIES[number - 1], "--mail-server", "-"]
        return subprocess.Popen([sys.executable, "manage.py", "edna_guardian", "serve", *given, *asked])  # noqa: S603 - our own


def _said(*arguments: Any) -> str:
    out = io.StringIO()
    call_command("edna_guardian", *map(str, arguments), stdout=out)
    return out.getvalue()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
