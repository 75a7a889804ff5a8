"""Many people who do the same at the same time, guided by one user of Locust's: everybody reclaims what was disguised for all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from gevent.pool import Pool
from locust.env import Environment

from loadtest.browser import Unexpected, Visitor
from loadtest.people import Account

#: So many at the same time.
AT_ONCE = 8


class Guided(Visitor):
    """A browser that Locust neither starts nor counts among its users."""

    abstract = True

    def __init__(self, environment: Environment) -> None:
        self.host = environment.host
        super().__init__(environment)


Browser = TypeVar("Browser", bound=Guided)


def all_at_once(
    kind: type[Browser], environment: Environment, accounts: Iterable[Account], work: Callable[[Browser, Account], None]
) -> list[str]:
    """``work`` for each account, in this order, as many at a time as there are browsers. Returns what went wrong: whoever fails is left as
    they are, and the others go on."""
    everyone = [kind(environment) for _ in range(AT_ONCE)]
    browsers, wrong, pool = list(everyone), list[str](), Pool(AT_ONCE)

    def one(account: Account) -> None:
        browser = browsers.pop()
        browser.forget_cookies()
        try:
            work(browser, account)
        except Unexpected as unexpected:
            wrong.append(str(unexpected))
        finally:
            browsers.append(browser)

    for account in accounts:
        pool.spawn(one, account)
    pool.join(raise_error=True)
    for browser in everyone:
        browser.on_stop()
    return wrong
