"""Put away the accounts of members who have not been here for long, and mail each what they can do about it.

Needs nobody's secret, so that a nightly job can run it. Prints numbers: who was put away is nobody's business any more.
"""

from __future__ import annotations

import datetime
from functools import partial
from typing import Any
from urllib.parse import urljoin

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

import edna
from apps.lobsters_sim.keys import DECAY
from apps.lobsters_sim.mails import mail_receipt
from apps.lobsters_sim.models import User

#: Members who are asked about at once.
AT_ONCE = 200


class Command(BaseCommand):
    help = "Put away the accounts of members who have not logged in for long; each is mailed a receipt and links."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--inactive-days", type=int, default=365, help="without a login for so many days (365)")
        parser.add_argument("--dry-run", action="store_true", help="say whom it would be, and do nothing")
        parser.add_argument("--site-url", default="http://localhost:8000", help="where the links in the mails begin")

    def handle(self, *, inactive_days: int, dry_run: bool, site_url: str, **options: Any) -> None:
        if inactive_days < 1:
            raise CommandError("--inactive-days must be 1 or more.")
        before = timezone.now() - datetime.timedelta(days=inactive_days)
        dormant = User.objects.filter(deleted_at=None).filter(
            Q(last_login__lt=before) | Q(last_login=None, created_at__lt=before)
        )
        done = unmailed = without_key = failed = 0
        last = 0
        while users := list(dormant.filter(pk__gt=last).order_by("pk")[:AT_ONCE]):
            last = users[-1].pk
            keyless = {user.pk for user in edna.unregistered(users)}
            without_key += len(keyless)
            for user in users:
                if user.pk in keyless:
                    continue
                if dry_run:
                    done += 1
                    self.stdout.write(f"would put away {user.username}")
                    continue
                try:
                    with transaction.atomic():
                        if dormant.filter(pk=user.pk).select_for_update().first() is None:
                            continue  # back since they were listed
                        receipt = edna.disguise(DECAY, user)
                except edna.errors.EdnaError as error:
                    # One account that cannot be put away keeps no other from it; nothing of it was changed.
                    failed += 1
                    self.stderr.write(f"{user}: {type(error).__name__}")
                    continue
                done += 1
                unmailed += not mail_receipt(user.email, receipt, partial(urljoin, site_url), username=user.username)
        what = "Would put away" if dry_run else "Put away"
        self.stdout.write(f"{what} {done} of the members who were last here before {before:%Y-%m-%d}.")
        if unmailed:
            self.stdout.write(
                f"{unmailed} of them could not be mailed. Their user name and password, or recovery code, brings them back."
            )
        if without_key:
            self.stdout.write(f"{without_key} have no key, and were left alone: nothing could be sealed for them.")
        if failed:
            raise CommandError(f"{failed} could not be put away.")
