"""A browser reduced to what counts: one connection that stays open, cookies, and the tokens of forms."""

from __future__ import annotations

import html
import http.client
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from benchmarks.counting import ANSWER, ASK
from benchmarks.kit import page as kit

_FIELD = re.compile(r"<(?:input|textarea)\b[^>]*>")


class Page(kit.Page):
    """What came back."""

    def missing(self, what: str) -> Exception:
        return AssertionError(f"{what} on this page (status {self.status}): {_errors(self.text)}")

    def inputs(self, name: str) -> dict[str, str]:
        """Names and values of the page's inputs whose name begins like this."""
        found = {}
        for tag in _FIELD.findall(self.text):
            attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
            if attributes.get("name", "").startswith(name) and "value" in attributes:
                found[attributes["name"]] = html.unescape(attributes["value"])
        return found


def _errors(text: str) -> str:
    return " ".join(re.findall(r'class="(?:errorlist|note error)[^"]*"[^>]*>(.*?)</', text, re.DOTALL)) or text[:300]


class Browser:
    """``root`` is where the application's addresses begin. ``count``: ask the site how many statements each request took;
    ``statements`` adds up the answers."""

    def __init__(self, port: int, *, root: str = "/") -> None:
        self._root = root.rstrip("/")
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        self.cookies: dict[str, str] = {}
        self.count = False
        self.statements = 0

    def get(self, path: str) -> Page:
        return self._send("GET", path, None)

    def post(self, path: str, fields: Mapping[str, Any], *, expect: int = 200) -> Page:
        page = self._send("POST", path, urlencode(fields))
        if page.status != expect:
            raise AssertionError(f"POST {path} gave {page.status} instead of {expect}: {_errors(page.text)}")
        return page

    def _send(self, method: str, path: str, body: str | None) -> Page:
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        if self.count:
            headers[ASK] = "1"
        self._connection.request(method, self._root + path, body=body, headers=headers)
        response = self._connection.getresponse()
        text = response.read().decode()
        self.statements += int(response.headers.get(ANSWER, 0))
        for cookie in response.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return Page(response.status, text)

    def close(self) -> None:
        self._connection.close()
