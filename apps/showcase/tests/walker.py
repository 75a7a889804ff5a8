"""Somebody with a browser, for the browser tests of all applications."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from django.conf import settings
from django.urls import reverse

WIDE, NARROW, HIGH = 1100, 375, 760


class Walker:
    """Takes a picture of every page, and minds that it fits a telephone and can be read aloud.

    Pictures go to ``build/screenshots/`` and the ``namespace`` of the application's addresses.
    """

    namespace: ClassVar[str]

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
            self.page.locator(f"[name={name}]:visible").fill(value)

    def sees(self, *texts: str) -> None:
        shown = self.page.locator("body").inner_text()
        assert [text for text in texts if text not in shown] == []

    def picture(self, name: str) -> None:
        for suffix, width, scheme in (("", WIDE, "light"), ("-dark", WIDE, "dark"), ("-phone", NARROW, "light")):
            self.page.set_viewport_size({"width": width, "height": HIGH})
            self.page.emulate_media(color_scheme=scheme)
            assert self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
                f"{name} is wider than {width} px"
            )
            self.page.screenshot(path=self.pictures / f"{name}{suffix}.png", full_page=True)
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size({"width": WIDE, "height": HIGH})
        fields = "[...document.querySelectorAll('input:not([type=hidden]), textarea, select')]"
        assert self.page.evaluate(f"{fields}.filter(e => !(e.labels.length || e.ariaLabel)).length") == 0, (
            f"{name}: an unlabelled field"
        )
        named = "[...document.querySelectorAll('button, a')].filter(e => !(e.ariaLabel || e.textContent).trim()).length"
        assert self.page.evaluate(named) == 0, f"{name}: a button or link without a name"
        twice = "(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(e => e.id))"
        assert self.page.evaluate(twice) == 0, f"{name}: an id twice"
