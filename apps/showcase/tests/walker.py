"""Somebody with a browser, for the browser tests of all applications."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from django.conf import settings
from django.urls import reverse
from playwright.sync_api import Locator

from tests.pages.bare import barriers
from tests.pages.bare.barriers import HIGH, PHONE, WIDE
from tests.waiting import eventually

#: Pictures are written for whoever asks for them: they take more than all else that a story does.
TAKES_PICTURES = "EDNA_PICTURES" in os.environ
#: Words that begin on one line and end on another. What is longer than any word, a receipt say, may be broken.
BROKEN_WORDS = """() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), broken = [], range = document.createRange();
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (text.parentElement.closest("script, style, textarea, select, option, .hidden")) continue;
    for (const {0: word, index} of text.data.matchAll(/[\\p{L}\\p{N}’']+/gu)) {
      if (word.length > 20) continue;
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const tops = [...range.getClientRects()].filter(box => box.width > 0).map(box => box.top);
      if (Math.max(...tops) - Math.min(...tops) > 4) broken.push(word);
    }
  }
  return broken;
}"""
#: Tables of which a telephone shows only the left part: the headings of their columns.
CUT_TABLES = """() => [...document.querySelectorAll(".scroll, .edna-wide")]
  .filter(box => box.scrollWidth > box.clientWidth + 1)
  .map(box => [...box.querySelectorAll("thead th")].map(heading => heading.textContent).join(" "))"""
#: Boxes of a line that is broken: an inline border is then open on both sides.
OPEN_BOXES = """() => [...document.querySelectorAll(".hat, .badge, .tag")]
  .filter(box => box.getClientRects().length > 1).map(box => box.textContent)"""
#: Levels of the headings, in their order.
HEADINGS = "() => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(heading => +heading.tagName[1])"


class Walker:
    """Minds of every page that it fits a telephone, can be read aloud and shuts nobody out; and takes a picture of it, with
    ``EDNA_PICTURES`` in the environment.

    Pictures go to ``build/screenshots/`` and the ``namespace`` of the application's addresses.
    """

    namespace: ClassVar[str]
    #: What is added to the name of a picture, how wide it is, and in which colours. What belongs to a width stands together.
    views: ClassVar[tuple[tuple[str, int, str], ...]] = (
        ("", WIDE, "light"),
        ("-dark", WIDE, "dark"),
        ("-phone-dark", PHONE, "dark"),
        ("-phone", PHONE, "light"),
    )
    #: Of those, where axe-core minds that nobody is shut out: in each colour, and in each width.
    for_everybody: ClassVar[tuple[str, ...]] = ("-dark", "-phone")

    def __init__(self, page: Any, site: str) -> None:
        self.page = page
        self.site = site
        self.errors: list[str] = []
        self.pictures = Path(settings.BASE_DIR) / "build" / "screenshots" / self.namespace
        self.pictures.mkdir(parents=True, exist_ok=True)
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))

    def go(self, name: str, *args: Any) -> None:
        self.page.goto(self.site + reverse(f"{self.namespace}:{name}", args=args))

    def fill(self, **values: str) -> None:
        for name, value in values.items():
            self.types_into(self.page.locator(f"[name={name}]:visible"), value)

    def types(self, label: str, text: str) -> None:
        self.types_into(self.page.get_by_label(label, exact=True), text)

    def types_into(self, locator: Locator, text: str) -> None:
        locator.fill(text)

    def choose(self, **values: str) -> None:
        for name, value in values.items():
            self.page.locator(f"[name={name}]:visible").select_option(value)

    def unfolds(self, text: str) -> None:
        self.page.locator("summary", has_text=text).click()

    def ticks(self, box: Locator) -> None:
        box.check()

    def press(self, name: str | re.Pattern[str]) -> None:
        """A button that sends a form: the next page is there afterwards."""
        with self.next_page():
            self.tap(name)

    def tap(self, name: str | re.Pattern[str]) -> None:
        """A button for a script, which stays on this page or sends the form later: `sees` waits for what comes of it."""
        self.page.get_by_role("button", name=name, exact=isinstance(name, str)).first.click()

    def taps_twice(self, button: str) -> None:
        self.page.get_by_role("button", name=button, exact=True).dblclick()

    def follow(self, name: str | re.Pattern[str]) -> None:
        """A link: the page where it leads is there afterwards."""
        with self.next_page():
            self.page.get_by_role("link", name=name).first.click()

    @contextmanager
    def next_page(self) -> Iterator[None]:
        """Whatever is done in here opens another page, which is there afterwards.

        A click does not wait for what it opens. Each document has loaded once, whereas a navigation may be a script's that only changes
        the address of the page that is here.
        """
        self.page.wait_for_load_state()
        with self.page.expect_event("load"):
            yield

    def sees(self, *texts: str) -> None:
        """Now, or as soon as the next page is there, or a script has said so."""
        for text in texts:
            eventually(lambda text=text: text in self.page.locator("body").inner_text(), what=f"the page says “{text}”")

    def picture(self, name: str) -> None:
        self.page.wait_for_load_state()
        if self.views and self.for_everybody:
            barriers.prepare(self.page)
        now = None
        for suffix, width, scheme in self.views:
            self.page.emulate_media(color_scheme=scheme)
            if width != now:
                self.page.set_viewport_size({"width": width, "height": HIGH})
                self._fits(name, width)
                now = width
            if TAKES_PICTURES:
                self.page.screenshot(path=self.pictures / f"{name}{suffix}.png", full_page=True)
            if suffix in self.for_everybody:
                found = barriers.asked(self.page)
                assert not found, "\n".join([f"{name}, {scheme}, {width} px", *found])
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size({"width": WIDE, "height": HIGH})
        levels = self.page.evaluate(HEADINGS)
        jumps = [(above, below) for above, below in pairwise([0, *levels]) if below > above + 1]
        assert (levels.count(1), jumps) == (1, []), f"{name}: headings {levels}"
        fields = "[...document.querySelectorAll('input:not([type=hidden]), textarea, select')]"
        assert self.page.evaluate(f"{fields}.filter(e => !(e.labels.length || e.ariaLabel)).length") == 0, (
            f"{name}: an unlabelled field"
        )
        named = "[...document.querySelectorAll('button, a')].filter(e => !(e.ariaLabel || e.textContent).trim()).length"
        assert self.page.evaluate(named) == 0, f"{name}: a button or link without a name"
        twice = "(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(e => e.id))"
        assert self.page.evaluate(twice) == 0, f"{name}: an id twice"

    def _fits(self, name: str, width: int) -> None:
        assert self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
            f"{name} is wider than {width} px"
        )
        broken = self.page.evaluate(BROKEN_WORDS)
        assert broken == [], f"{name}: words are broken at {width} px"
        assert self.page.evaluate(CUT_TABLES) == [], f"{name}: a table is cut at {width} px"
        assert self.page.evaluate(OPEN_BOXES) == [], f"{name}: a box is open at {width} px"
