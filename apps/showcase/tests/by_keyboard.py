"""Somebody who has a keyboard and no mouse: goes by Tab, and sees at each stop where they are.

After each button that a script answers, the focus is at what is new, or where it was. It is never lost, which would send them back to the
top of the page.
"""

from __future__ import annotations

import re
from itertools import cycle
from typing import Any

from playwright.sync_api import Locator

from apps.showcase.tests.walker import Walker
from tests.waiting import eventually

#: So often the way is asked for anew.
TOO_MANY = 80
#: How many times Tab leads from where the focus is to the target, as far as can be told before; less than nothing: with Shift. Whatever
#: has the focus on the way shows it, and can be seen.
WAY = """target => {
  const look = () => {
    const here = document.activeElement;
    if (!here || here === document.body) return;
    const {top, bottom, left, right} = here.getBoundingClientRect(), {outlineStyle, outlineWidth} = getComputedStyle(here);
    const isSeen = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
    if (!isSeen || outlineStyle === "none" || !parseFloat(outlineWidth)) window.ednaNotSeen ??= here.outerHTML;
  };
  if (!("ednaNotSeen" in window)) {
    window.ednaNotSeen = null;
    addEventListener("keyup", ({key}) => key === "Tab" && look(), true);
  }
  look();
  if (window.ednaNotSeen) throw new Error(`not seen: ${window.ednaNotSeen}`);
  const here = document.activeElement;
  if (here === target) return 0;
  const follows = (one, other) => one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
  const isStop = each => each.tabIndex >= 0 && !each.disabled && each.checkVisibility({visibilityProperty: true});
  const stops = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter(isStop);
  if (!here || follows(here, target)) return Math.max(1, stops.filter(each => follows(here, each) && !follows(target, each)).length);
  return -Math.max(1, stops.filter(each => follows(each, here) && !follows(each, target)).length);
}"""
#: What was pressed on this document last, which has not gone yet.
IS_PRESSED = "document.documentElement.hasAttribute('data-pressed')"
PRESS = "document.documentElement.setAttribute('data-pressed', '')"
#: Of a list that has the focus: as which of its options this one stands there.
PLACE_OF = "value => [...document.activeElement.options].findIndex(each => each.value === value)"
#: Whether the focus is at something that is there, and to be seen.
IS_SOMEWHERE = """() => {
  const here = document.activeElement;
  if (!here || here === document.body || here.disabled || !here.checkVisibility()) return false;
  const {top, bottom} = here.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}"""


class ByKeyboard(Walker):
    def __init__(self, page: Any, site: str) -> None:
        super().__init__(page, site)
        self._keys = cycle(["Enter", "Space"])

    def reaches(self, locator: Locator) -> None:
        target = locator.first.element_handle()
        for _ in range(TOO_MANY):
            way = self.page.evaluate(WAY, target)
            if way == 0:
                return
            for _ in range(abs(way)):
                self.page.keyboard.press("Tab" if way > 0 else "Shift+Tab")
        raise AssertionError(f"no Tab leads to {target.evaluate('e => e.outerHTML')}")

    def types_into(self, locator: Locator, text: str) -> None:
        self.reaches(locator)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text) if text else self.page.keyboard.press("Delete")

    def choose(self, **values: str) -> None:
        for name, value in values.items():
            self.reaches(self.page.locator(f"[name={name}]:visible"))
            for key in ("Home", *["ArrowDown"] * self.page.evaluate(PLACE_OF, value)):
                self.page.keyboard.press(key)

    def presses(self, locator: Locator) -> None:
        """A button, by Enter and by Space in turns."""
        self.reaches(locator)
        self.page.evaluate(PRESS)
        self.page.keyboard.press(next(self._keys))

    def tap(self, name: str | re.Pattern[str]) -> None:
        self.presses(self.page.get_by_role("button", name=name, exact=isinstance(name, str)))

    def follow(self, name: str | re.Pattern[str]) -> None:
        self.reaches(self.page.get_by_role("link", name=name))
        with self.next_page():
            self.page.keyboard.press("Enter")

    def unfolds(self, text: str) -> None:
        self.presses(self.page.locator("summary", has_text=text))

    def ticks(self, box: Locator) -> None:
        self.reaches(box)
        self.page.keyboard.press("Space")

    def taps_twice(self, button: str) -> None:
        self.reaches(self.page.get_by_role("button", name=button, exact=True))
        for _ in range(2):
            self.page.keyboard.press("Enter")

    def sees(self, *texts: str) -> None:
        super().sees(*texts)
        if self.page.evaluate(IS_PRESSED):
            eventually(lambda: self.page.evaluate(IS_SOMEWHERE), what=f"the focus is somewhere beside {texts}")
