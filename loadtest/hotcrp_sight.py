"""What the users of HotCRP see, and what they must not see just now: who is away, and whether the conference is anonymised.

All users of a run share `CONFERENCE`: whoever leaves says so there, so that the others know whose name must be nowhere. Knows no HTTP.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

#: How long everybody pauses before they do something else.
PAUSE_SECONDS: Final = (0.25, 0.5)
#: Papers on a page of a list.
PAGE: Final = 50
#: On each page of somebody who is logged in.
LOGGED_IN: Final = r">(Log out)<"
ANONYMOUS: Final = "Anonymous reviewer"
_ROW = re.compile(r'<td class="n">(\d+)</td>\s*<td class="title">.*?</td>\s*<td>(.*?)</td>', re.DOTALL)
_REVIEWER = re.compile(r'<article class="review".*?<header><h3>[^<]*</h3><span>([^<]*)</span>', re.DOTALL)
#: The one member of the committee whom authors of an accepted paper may know.
_SHEPHERD = re.compile(r"<dt>Shepherd</dt><dd>[^<]*</dd>")
_SELECT = re.compile(r'<select name="(\w+)".*?</select>', re.DOTALL)
_SELECTED = re.compile(r'<option value="([^"]*)" selected>')
_TEXTAREA = re.compile(r'<textarea name="(\w+)"[^>]*>\n?(.*?)</textarea>', re.DOTALL)


@dataclass
class Conference:
    """Who is away now, by the texts that only they can be meant by; and which statuses pages may have."""

    _gone: dict[str, float] = field(default_factory=dict)
    #: A collection that users hand to each request; it changes while the conference is anonymised. 403 is then the answer of the
    #: committee's pages to members without a name, and 404 that of papers to those who have nothing any more that opens them.
    allowed: set[int] = field(default_factory=lambda: {200})

    @property
    def anonymised(self) -> bool:
        return len(self.allowed) > 1

    def close(self) -> None:
        self.allowed |= {403, 404}

    def open(self) -> None:
        self.allowed -= {403, 404}

    def leave(self, texts: Iterable[str]) -> None:
        """From now on no page that is asked for has one of these texts."""
        now = time.time()
        self._gone.update(dict.fromkeys(texts, now))

    def come_back(self, texts: Iterable[str]) -> None:
        """To be said before the request that brings them back."""
        for text in texts:
            self._gone.pop(text, None)

    def names_somebody_who_is_away(self, text: str, *, asked_at: float) -> bool:
        """Of a page: whether it names one who had left when it was asked for, and is not back."""
        return any(since < asked_at and gone in text for gone, since in self._gone.items())


CONFERENCE: Final = Conference()


def papers(text: str) -> dict[int, str]:
    """A list of papers: what the viewer has to do with each, by its number."""
    return {int(number): re.sub(r"<[^>]*>", "", you) for number, you in _ROW.findall(text)}


def names_a_reviewer(text: str, committee: Collection[str]) -> bool:
    """Whether a paper's page, as its authors read it, says who has reviewed or discussed it."""
    shown = _SHEPHERD.sub("", text)
    return any(name != ANONYMOUS for name in _REVIEWER.findall(shown)) or any(name in shown for name in committee)


def form_fields(text: str) -> dict[str, str]:
    """What the first review's form on a page holds, as a browser would send it unchanged; escaped as it stands there."""
    found: dict[str, str] = {}
    for select in _SELECT.finditer(text):
        selected = _SELECTED.search(select[0])
        found.setdefault(select[1], selected[1] if selected else "")
    for name, content in _TEXTAREA.findall(text):
        found.setdefault(name, content)
    return found
