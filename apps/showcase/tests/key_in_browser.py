"""Somebody whose key stays in their browser: types what opens it into forms of which a script takes it."""

from __future__ import annotations

from typing import Any

from apps.showcase.tests.walker import Walker

FIRST = "seven geese över the marsh"


class KeyInBrowser(Walker):
    """Notes what the browser sends. Its pages shut nobody out."""

    for_everybody = ("", "-dark", "-phone-dark", "-phone")

    def __init__(self, page: Any, site: str) -> None:
        super().__init__(page, site)
        self.sent: list[bytes] = []
        page.context.on("request", self._note)

    def _note(self, request: Any) -> None:
        self.sent += [request.url.encode(), repr(request.headers).encode(), request.post_data_buffer or b""]

    def ready(self) -> None:
        """The script has taken the form."""
        self.page.locator("[data-edna-ready]").first.wait_for()

    def opens(self, button: str, password: str = FIRST) -> None:
        self.ready()
        self.types("The password of your key", password)
        self.tap(button)

    def opens_by_code(self, button: str, code: str) -> None:
        self.ready()
        self.unfolds("No password, or it does not work?")
        self.types("Recovery code", code)
        self.tap(button)

    def shown_code(self) -> str:
        return str(self.page.locator("#edna-code:not(:empty)").inner_text())

    def makes_a_key(self) -> str:
        """From the page where the log-in leads; the recovery code."""
        self.ready()
        self.types("A password for your key", FIRST)
        self.types("The new password again", FIRST)
        self.tap("Make my key")
        return self.shown_code()

    def keeps(self, code: str) -> None:
        """Confirms the code, and goes on to where they were going."""
        self.tap("I have kept it")
        self.types("The last four characters of your recovery code", code[-4:])
        self.tap("Confirm")
        self.sees("Good. Keep it where you find it in years.")
