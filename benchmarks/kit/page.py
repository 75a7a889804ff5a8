"""A page as a browser that is driven by a program reads it: the token of its form, and what must stand on it."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass(frozen=True)
class Page:
    """What came back. `missing` says how somebody is told that it is not what it must be."""

    status: int
    text: str

    @property
    def token(self) -> str:
        """The token of the page's form, without which nothing may be sent."""
        found = _TOKEN.search(self.text)
        if found is None:
            raise self.missing("no form")
        return found[1]

    def find(self, pattern: str) -> str:
        """The first group of a pattern that must be on the page."""
        found = re.search(pattern, self.text, re.DOTALL)
        if found is None:
            raise self.missing(f"{pattern} is not")
        return html.unescape(found[1])

    def missing(self, what: str) -> Exception:
        raise NotImplementedError
