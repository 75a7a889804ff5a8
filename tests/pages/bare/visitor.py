"""Somebody with a browser that has no scripts: opens pages, and sends their forms with all that is hidden in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import Any

from django.test import Client


@dataclass
class Form:
    action: str
    fields: dict[str, list[str]] = field(default_factory=dict)
    #: Where its buttons send it instead.
    actions: dict[str, str] = field(default_factory=dict)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.text: list[str] = []
        self._button: dict[str, str | None] | None = None
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.forms.append(Form(given.get("action") or ""))
        elif tag in ("input", "textarea") and self.forms and given.get("name"):
            is_box = given.get("type") == "checkbox"
            if not is_box or "checked" in given:
                self.forms[-1].fields.setdefault(str(given["name"]), []).append(given.get("value") or "")
        elif tag == "button":
            self._button = given

    def handle_endtag(self, tag: str) -> None:
        if tag == "button":
            self._button = None

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self._button is not None and self.forms:
            self.forms[-1].actions[data.strip()] = str(self._button.get("formaction") or "")


class Visitor:
    """Keeps the page that is open; ``status`` and ``text`` are what it says."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.address = ""

    def open(self, address: str) -> str:
        self.address = address
        return self._read(self.client.get(address, follow=True))

    def press(self, button: str, **values: Any) -> str:
        """Send the form of that button, with what is hidden in it."""
        form = next(form for form in self.forms if button in form.actions)
        data = {**form.fields, **{name.replace("__", "-"): value for name, value in values.items()}}
        address = form.actions[button] or form.action or self.address
        data = {name: value for name, value in data.items() if value is not None}
        return self.send(address, data)

    def send(self, address: str, data: dict[str, Any]) -> str:
        self.address, self.sent = address, (address, data)
        return self._read(self.client.post(address, data, follow=True))

    def again(self) -> str:
        """A second click, or a reload."""
        return self.send(*self.sent)

    def _read(self, response: Any) -> str:
        self.response, self.status = response, response.status_code
        if response.redirect_chain:
            self.address = response.redirect_chain[-1][0]
        reader = _Reader()
        reader.feed(response.content.decode())
        self.forms = reader.forms
        self.text = " ".join(unescape(" ".join(reader.text)).split())
        return self.text
