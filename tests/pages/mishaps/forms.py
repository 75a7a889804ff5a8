"""The forms of a page as a browser without scripts has them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html.parser import HTMLParser


@dataclass
class Form:
    #: Where it goes; empty: to its own page.
    action: str
    method: str = "post"
    #: What a browser would send as it stands.
    fields: dict[str, list[str]] = field(default_factory=dict)
    #: Those that somebody fills in, by their kinds; and of a list, what it offers.
    kinds: dict[str, str] = field(default_factory=dict)
    offers: dict[str, list[str]] = field(default_factory=dict)
    #: What an open key does with it, where that is a script's.
    hands: str | None = None
    #: Its buttons: where each sends it instead, and what it says itself.
    buttons: list[tuple[str, str, str]] = field(default_factory=list)

    def by_its_buttons(self) -> list[Form]:
        """It once for each button that sends it elsewhere, or says something."""
        said = []
        for action, name, value in dict.fromkeys(self.buttons):
            more = {name: [value]} if name else {}
            said.append(replace(self, action=action or self.action, fields={**self.fields, **more}))
        return said


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._list, self._area, self._is_shown = "", "", True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name, kind = given.get("name", ""), given.get("type", "text")
        self._is_shown = self._is_shown and tag != "template"  # that waits for a script
        if tag == "form":
            hands = given.get("data-edna-hands")
            self._form = Form(given.get("action", ""), given.get("method", "get").lower(), hands=hands)
            self.forms += [self._form] if self._is_shown else []
        form = self._form
        if form is None or not self._is_shown:
            return
        if tag == "button" and kind != "button":
            form.buttons.append((given.get("formaction", ""), name, given.get("value", "")))
        elif tag == "option" and self._list:
            form.offers[self._list].append(given.get("value", ""))
            if "selected" in given:
                form.fields[self._list] = [given.get("value", "")]
        elif tag in ("input", "select", "textarea") and name:
            self._take(form, tag if tag != "input" else kind, name, given)

    def _take(self, form: Form, kind: str, name: str, given: dict[str, str]) -> None:
        if kind in ("checkbox", "radio", "select"):
            form.offers.setdefault(name, []).extend([given.get("value", "on")] if kind != "select" else [])
        if kind not in ("checkbox", "radio", "select") or "checked" in given:
            form.fields.setdefault(name, []).append(given.get("value", "on" if kind == "checkbox" else ""))
        if kind != "hidden":
            form.kinds[name] = kind
        self._list = name if kind == "select" else self._list
        self._area = name if kind == "textarea" else ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "template":
            self._is_shown = True
        elif tag == "select":
            self._list = ""
        elif tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area and self._form is not None:
            self._form.fields[self._area][-1] += data


def forms_of(page: str) -> list[Form]:
    """Those that are sent, once for each of their buttons."""
    reader = _Reader()
    reader.feed(page)
    return [each for form in reader.forms if form.method == "post" for each in form.by_its_buttons()]
