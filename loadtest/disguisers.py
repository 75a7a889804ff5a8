"""Somebody who leaves and comes back, again and again, through the site's own pages.

What the pages are called, and how one looks whether everything is back, the applications say.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, ClassVar, Final

import gevent
from locust import task
from locust.exception import StopUser

from loadtest.browser import Load, Page, Unexpected, Visitor
from loadtest.people import Account
from loadtest.samples import AROUND
from loadtest.turns import Over

_SEEN: Final = r'name="seen" value="([^"]+)"'
_PATIENCE = 1000
#: ``manage("edna_jobs", "pause", "7")``: a command of the site's ``manage.py``, as its operator runs it; gives what it prints.
Manage = Callable[..., str]
_REST_SECONDS = 1.0


class Disguiser(Visitor):
    """A turn is: log in, leave, come back, look whether everything is there. Between turns this user does nothing at all.

    ``what`` names the turns it waits for: `loadtest.scenarios.Variant.what`, as the application's ``USERS`` have it.
    """

    abstract = True
    what: ClassVar[str] = "account"

    def wait_time(self) -> float:
        return 0.0

    @task
    def there_and_back(self) -> None:
        try:
            with self.load.turns[self.what].turn() as account:
                self.pair(account)
        except Over:
            raise StopUser from None
        except Unexpected as unexpected:
            self.load.wrong.append(str(unexpected))
            gevent.sleep(_REST_SECONDS)

    def pair(self, account: Account) -> None:
        self.forget_cookies()
        self.log_in(account)
        # Before, so that whoever leaves and is not seen back is looked for at the end.
        self.load.away[account.name] = account
        self.leave(account)
        self.come_back(account)
        self.look(account)
        del self.load.away[account.name]

    def persist(
        self, form: str, path: str, fields: dict[str, Any], *, name: str, kind: str, rows: int, seen: bool = False
    ) -> Page:
        """Send a form until the site is not too busy for it: whoever is refused waits as long as the page says, and tries again. A page
        that does what it has told wants to know which it was: what was ``seen`` goes along."""
        for _ in range(_PATIENCE):
            page = self.get(form, name=f"{name} (form)", kind=AROUND)
            if not page.retry_after_seconds:
                sent = {**fields, **({"seen": page.find(_SEEN)} if seen else {})}
                page = self.post(path, sent, token=page.token, name=name, kind=kind, rows=rows)
                # Others are at work: what it would do has changed, and the page tells it anew.
                while "seen" in sent and page.all(_SEEN)[:1] not in ([], [sent["seen"]]):
                    sent["seen"] = page.find(_SEEN)
                    page = self.post(path, sent, token=page.token, name=name, kind=kind, rows=rows)
            if not page.retry_after_seconds:
                return page
            gevent.sleep(page.retry_after_seconds * random.uniform(1.0, 1.5))
        raise Unexpected(f"{name} was refused {_PATIENCE} times")

    def bring_back(self) -> None:
        """At the end: whoever is still away comes back. Who cannot stays away, which fails the run."""
        for account in list(self.load.away.values()):
            if not self._is_here(account):
                try:
                    self.forget_cookies()
                    self.come_back(account)
                    self.look(account)
                except Unexpected as unexpected:
                    self.load.wrong.append(f"at the end: {unexpected}")
                    continue
            self.load.away.pop(account.name, None)

    def _is_here(self, account: Account) -> bool:
        """Perhaps leaving has failed, or only its answer was lost."""
        self.forget_cookies()
        try:
            self.look(account)
        except Unexpected:
            return False
        return True

    def log_in(self, account: Account) -> None:
        raise NotImplementedError

    def leave(self, account: Account) -> None:
        """The one request that disguises is of kind `loadtest.samples.DISGUISE`, with the account's rows."""
        raise NotImplementedError

    def come_back(self, account: Account) -> None:
        """The one request that reveals is of kind `loadtest.samples.REVEAL`, with the account's rows. At the end of a load this may be
        another user than the one that left: what only the page of leaving has shown is not there."""
        raise NotImplementedError

    def look(self, account: Account) -> None:
        """Log in, and see whether everything is there: raises `Unexpected` if not."""
        raise NotImplementedError


class Steered(Disguiser):
    """Disguises that the site does by itself, such as those of a schedule: an operator starts them at the beginning of each phase of
    the variant, and stops them at its end. There are no turns; whoever was put away is brought back after the last phase."""

    abstract = True

    @classmethod
    def begin(cls, load: Load, manage: Manage) -> None:
        """A phase begins."""
        raise NotImplementedError

    @classmethod
    def end(cls, load: Load, manage: Manage) -> None:
        """A phase has ended."""
        raise NotImplementedError

    @classmethod
    def over(cls, load: Load, manage: Manage) -> None:
        """There will be no other: put whoever may be away into ``load.away``."""
        raise NotImplementedError
