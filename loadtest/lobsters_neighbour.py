"""Somebody with a browser on Lobsters, whichever part they play."""

from __future__ import annotations

import re
from weakref import WeakKeyDictionary

from locust.env import Environment

from loadtest.browser import Page, Visitor
from loadtest.lobsters_town import Town

_towns: WeakKeyDictionary[Environment, Town] = WeakKeyDictionary()


class Neighbour(Visitor):
    """Knows the town that all of one load share."""

    abstract = True
    root = "/lobsters"

    @property
    def town(self) -> Town:
        if self.environment not in _towns:
            _towns[self.environment] = Town(self.load.people)
        return _towns[self.environment]

    def log_in_as(self, name: str, *, kind: str, to: str = "") -> Page:
        self.forget_cookies()
        fields = {"username": name, "password": self.load.people.password, "next": to}
        page = self.enter("/login", fields, kind=kind)
        page.find(f'href="/lobsters/u/({re.escape(name)})"')
        return page
