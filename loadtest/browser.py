"""A Locust user that is a browser: cookies, the tokens of forms, redirects, and pages that are looked at instead of believed.

It drives geventhttpclient itself, as Locust's own fast client does, without that client's cookie jar and its copies of each answer:
whatever the user takes of the processors is missing at the site, which is on the same machine.

What goes wrong is told twice: to Locust, which counts the request as failed, and to the load (`Load.wrong`), which fails the run.
"""

from __future__ import annotations

import html
import re
import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlencode, urljoin, urlsplit

from geventhttpclient import HTTPClient
from geventhttpclient.response import HTTPConnectionClosed, HTTPParseError
from locust import User
from locust.env import Environment

from benchmarks.kit import page as kit
from loadtest.people import Account, People
from loadtest.samples import AROUND, NORMAL, REFUSED, Sample
from loadtest.turns import Turns

_FORM = "application/x-www-form-urlencoded"
_REDIRECTS = (301, 302, 303)
_MOST_REDIRECTS = 5
TOO_MANY = 429
#: A page that takes longer is no page any more.
TIMEOUT_SECONDS = 120.0


@dataclass
class Load:
    """What all users of a run share: who there is, when disguisers may begin, and what came of it. Hangs at Locust's environment."""

    people: People
    #: By what is done in them: those who delete accounts wait for other turns than those who anonymise a lecture.
    turns: defaultdict[str, Turns] = field(default_factory=lambda: defaultdict(Turns))
    samples: list[Sample] = field(default_factory=list)
    #: What must not happen, in words without anybody's data. One entry makes the run fail.
    wrong: list[str] = field(default_factory=list)
    #: Who left and was not seen back: whoever fails in the middle stays here, to be brought back at the end.
    away: dict[str, Account] = field(default_factory=dict)
    #: How somebody is asked to come back: the recovery code, or a password, whose key is derived on purpose slowly.
    by_password: bool = False
    #: Where accounts are few, to play with: several users may be the same person, and now and then overwrite each other.
    shared: bool = False
    _numbers: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def next_of(self, group: str, *, alone: bool = False) -> str:
        """The ordinary people of a group, one after the other, and from the start again when there are no more; ``alone``: somebody whom
        nobody else plays."""
        everybody = self.people.ordinary[group]
        number = self._numbers[group]
        self._numbers[group] += 1
        if alone and not self.shared and number >= len(everybody):
            raise Unexpected(f"there are more users than {group}: choose a larger --scale, or fewer --users")
        return everybody[number % len(everybody)]


@dataclass(frozen=True)
class Page(kit.Page):
    """What came back."""

    url: str
    retry_after_seconds: float = 0.0

    def missing(self, what: str) -> Exception:
        return Unexpected(f"{what} at {self.url} (status {self.status})")

    def all(self, pattern: str) -> list[str]:
        return [html.unescape(text) for text in re.findall(pattern, self.text, re.DOTALL)]


class Unexpected(Exception):
    """A page is not what it must be. The message names the page and never what is on it."""


class Visitor(User):
    """Somebody with a browser. ``root`` is where the application's pages begin, such as "/websubmit"."""

    abstract = True
    root: ClassVar[str] = ""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        site = urlsplit(environment.host or self.host or "")
        if site.scheme != "http" or not site.hostname:
            raise ValueError("name the site: --host http://localhost:8000")
        self._site = f"http://{site.netloc}"
        self._cookies: dict[str, str] = {}
        self._http = HTTPClient(
            site.hostname,
            port=site.port or 80,
            concurrency=1,
            connection_timeout=TIMEOUT_SECONDS,
            network_timeout=TIMEOUT_SECONDS,
        )

    @property
    def load(self) -> Load:
        found: Load = self.environment.load
        return found

    def on_stop(self) -> None:
        self._http.close()

    def get(self, path: str, *, name: str, kind: str = NORMAL, expect: Collection[int] = (200,), rows: int = 0) -> Page:
        """``name`` is what such pages are called in the results; any status but ``expect`` (after redirects) is wrong."""
        return self._send("GET", path, b"", name=name, kind=kind, expect=expect, rows=rows)

    def post(
        self,
        path: str,
        fields: Mapping[str, Any],
        *,
        token: str,
        name: str,
        kind: str = NORMAL,
        expect: Collection[int] = (200,),
        rows: int = 0,
    ) -> Page:
        """Send a form; a redirect is followed, and its time counts."""
        body = urlencode({"csrfmiddlewaretoken": token, **fields}, doseq=True).encode()
        return self._send("POST", path, body, name=name, kind=kind, expect=expect, rows=rows)

    def enter(
        self, path: str, fields: Mapping[str, Any], *, kind: str = AROUND, expect: Collection[int] = (200,)
    ) -> Page:
        """Open a form and send it, as somebody who logs in does."""
        form = self.get(path, name=f"{path} (form)", kind=kind)
        return self.post(path, fields, token=form.token, name=path, kind=kind, expect=expect)

    def forget_cookies(self) -> None:
        """From here on somebody else sits at this browser."""
        self._cookies.clear()

    def _send(
        self, method: str, path: str, body: bytes, *, name: str, kind: str, expect: Collection[int], rows: int
    ) -> Page:
        began, clock = time.time(), time.perf_counter()
        status, text, retry_after_seconds, error = 0, "", 0.0, ""
        try:
            status, text, retry_after_seconds = self._follow(method, self.root + path, body)
        except (OSError, HTTPConnectionClosed, HTTPParseError) as failed:
            error = f"{method} {name}: {type(failed).__name__}"
        ms = (time.perf_counter() - clock) * 1000
        refused = status == TOO_MANY
        if not error and not refused and status not in expect:
            error = f"{method} {name} gave {status}"
        self.load.samples.append(Sample(began, REFUSED if refused else kind, name, ms, status, rows, error))
        unexpected = Unexpected(error) if error else None
        self.environment.events.request.fire(
            request_type=method,
            name=name,
            response_time=ms,
            response_length=len(text),
            exception=unexpected,
            context={"kind": kind},
        )
        if unexpected is not None:
            raise unexpected
        return Page(status, text, path, retry_after_seconds)

    def _follow(self, method: str, path: str, body: bytes) -> tuple[int, str, float]:
        """Status and text of the page that the redirects lead to, and when a page that is refused may be asked for again."""
        headers = {"Referer": self._site + path}
        if body:
            headers["Content-Type"] = _FORM
        for _ in range(_MOST_REDIRECTS):
            if self._cookies:
                headers["Cookie"] = "; ".join([f"{name}={value}" for name, value in self._cookies.items()])
            response = self._http.request(method, path, body, headers)
            text = bytes(response.read()).decode()
            status, location, retry_after_seconds = int(response.get_code()), "", 0.0
            for header, value in response.headers:
                header = header.lower()
                if header == "set-cookie":
                    self._take_cookie(value)
                elif header == "location":
                    location = value
                elif header == "retry-after" and status == TOO_MANY:
                    retry_after_seconds = float(value)
            if status not in _REDIRECTS:
                return status, text, retry_after_seconds
            path, method, body = urljoin(path, location).partition("#")[0], "GET", b""
            headers.pop("Content-Type", None)
        return status, text, retry_after_seconds

    def _take_cookie(self, header: str) -> None:
        pair, _, attributes = header.partition(";")
        name, _, value = pair.partition("=")
        if not value.strip('"') or "max-age=0" in attributes.lower():
            self._cookies.pop(name, None)
        else:
            self._cookies[name] = value
