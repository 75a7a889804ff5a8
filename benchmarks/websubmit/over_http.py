"""Level "http": real pages through gunicorn, over a connection that stays open; two sites, with edna and by hand, side by side.

What is timed is the one request that does the work, up to the last byte of its answer. The form before it (and its token), logging
in and putting back are not.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from django.conf import settings
from django.test import Client
from django.urls import reverse

from apps.websubmit.models import Answer, Question
from benchmarks.browser import Browser, Page
from benchmarks.kit.driver import Driver
from benchmarks.timing import COUNTED, WARM_UP, Clock, Key, interleave
from benchmarks.websubmit import manual
from benchmarks.websubmit.course import PASSWORD, Course, Member

RECEIPT = r'id="edna-receipt">([^<]+)<'
LEAVING, RETURNING = "/privacy/do/websubmit.delete-account/", "/privacy/return/"
IT_IS_BACK = r"<h1>(It is back)<"
VARIANTS = ("edna", "manual")
#: A worker process keeps its pool of key pairs to itself, so one with threads, as .ci/serve has it.
GUNICORN = ("--workers", "1", "--threads", "2", "--worker-class", "gthread", "--keep-alive", "600", "--timeout", "600")


@contextmanager
def site(variant: str, settings_module: str = "benchmarks.websubmit.site_settings") -> Iterator[int]:
    """The sample site under gunicorn; gives the port."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        descriptor, port = listener.fileno(), listener.getsockname()[1]
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "gunicorn",
                *GUNICORN,
                "--bind",
                f"fd://{descriptor}",
                "--log-level",
                "warning",
                "config.wsgi",
            ],
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": settings_module,
                "BENCH_VARIANT": variant,
            },
            pass_fds=[descriptor],
        )
    try:
        _wait_for(port, process)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def browser_of(port: int) -> Browser:
    return Browser(port, root=reverse("websubmit:home"))


def log_in(browser: Browser, user: Any) -> None:
    """Without a password, which would be hashed slowly on purpose."""
    client = Client()
    client.force_login(user)
    browser.cookies[settings.SESSION_COOKIE_NAME] = client.cookies[settings.SESSION_COOKIE_NAME].value
    browser.get("/account/")  # the first page after a login notes whose the session is, once


def leaving(browser: Browser, opens: dict[str, str]) -> dict[str, str]:
    """What is to be sent to `LEAVING` by whoever is logged in; ``opens`` is what opens their key."""
    form = browser.get(LEAVING)
    return {"csrfmiddlewaretoken": form.token, "seen": form.find(r'name="seen" value="([^"]*)"'), **opens}


def returning(browser: Browser, receipt: str, opens: dict[str, str]) -> dict[str, str]:
    """What is to be sent to `RETURNING`."""
    return {"csrfmiddlewaretoken": browser.get(RETURNING).token, "receipt": receipt, **opens}


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError("gunicorn did not start; what it said is above")
        try:
            with closing(browser_of(port)) as browser:
                if browser.get("/").status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the site did not answer within a minute")


class Http:
    """Measures every operation on both sites. ``samples`` of the quick ones, ``slow`` of those with a password derivation."""

    name = "http"

    def __init__(self, course: Course, driver: Driver, ports: dict[str, int], *, samples: int, slow: int) -> None:
        self.course, self.driver = course, driver
        self.samples, self.slow = samples, slow
        self.browsers = {variant: browser_of(port) for variant, port in ports.items()}
        self.clock = Clock(self._counting)
        self.extra: dict[Key, dict[str, Any]] = {}

    @contextmanager
    def _counting(self) -> Iterator[Callable[[], int]]:
        browsers = self.browsers.values()
        before = sum(browser.statements for browser in browsers)
        for browser in browsers:
            browser.count = True
        yield lambda: sum(browser.statements for browser in browsers) - before
        for browser in browsers:
            browser.count = False

    def _members(self, *, derivation: bool = False) -> Iterator[tuple[int, Member]]:
        wanted = (self.slow if derivation else self.samples) + WARM_UP + COUNTED
        yield from enumerate(self.clock.rounds(self.course.some(wanted, self.course.with_slots)))

    def _as(self, variant: str, user: Any) -> Browser:
        """That site's browser, logged in as this user (None: as nobody)."""
        browser = self.browsers[variant]
        browser.cookies.clear()
        if user is not None:
            log_in(browser, user)
        return browser

    def _post(
        self, key: Key, browser: Browser, path: str, fields: dict[str, Any], *, rows: int, expect: int = 200
    ) -> Page:
        return self.clock(key, lambda: browser.post(path, fields, expect=expect), rows=rows)

    # On data that is not disguised

    def plain(self) -> None:
        self._create()
        self._read_and_edit()
        for derivation in (False, True):
            self._delete_and_restore(derivation)

    def _create(self) -> None:
        """A password is derived for the key (edna only) and hashed for the login (both): the form offers nothing less."""

        def create(variant: str, number: int) -> None:
            browser = self._as(variant, None)
            form = browser.get("/register/")
            fields = {"email": f"{variant}-web-{number}@example.org", "new_password": PASSWORD, "again": PASSWORD}
            fields["csrfmiddlewaretoken"] = form.token
            key = Key("create account", variant, variant == "edna")
            self._post(key, browser, "/register/", fields, rows=1).find(r'id="edna-(code)"')

        for number, _ in self._members(derivation=True):
            interleave(number, lambda n=number: create("edna", n), lambda n=number: create("manual", n))

    def _read_and_edit(self) -> None:
        course = self.course

        def read(variant: str, member: Member, lecture: int) -> None:
            browser = self._as(variant, member.user)
            key = Key("list answers", variant)
            page = self.clock(key, lambda: browser.get(f"/lectures/{lecture}/"), rows=course.scale.questions)
            page.find(r'class="badge done">(answered)')

        def staff(variant: str, lecture: int) -> None:
            browser = self._as(variant, course.staff)
            rows = course.scale.users * course.scale.questions
            key = Key("list a lecture's answers", variant)
            page = self.clock(key, lambda: browser.get(f"/staff/lectures/{lecture}/answers/?all=1"), rows=rows)
            assert page.text.count("<tr><td") >= rows, f"{page.text.count('<tr><td')} answers on the page"

        def edit(variant: str, member: Member, lecture: int, question: int) -> None:
            browser = self._as(variant, member.user)
            form = browser.get(f"/lectures/{lecture}/")
            fields = {"csrfmiddlewaretoken": form.token, f"question_{question}": course.text()}
            self._post(Key("edit an answer", variant), browser, f"/lectures/{lecture}/", fields, rows=1, expect=302)

        for number, member in self._members():
            lecture = course.random_lecture().pk
            interleave(number, *(lambda v=v, m=member, x=lecture: read(v, m, x) for v in VARIANTS))
        for number, _ in self._members(derivation=True):
            lecture = course.random_lecture().pk
            interleave(number, *(lambda v=v, x=lecture: staff(v, x) for v in VARIANTS))
        for number, member in self._members():
            place = course.random_question()
            interleave(number, *(lambda v=v, m=member, p=place: edit(v, m, *p) for v in VARIANTS))

    def _delete_and_restore(self, derivation: bool) -> None:
        rows = self.course.answers_each + 1

        def with_edna(member: Member) -> None:
            receipt = self._delete(Key("delete account", "edna", derivation), member, rows=rows)
            self._restore(Key("restore account", "edna", derivation), member, receipt, rows=rows)

        def by_hand(member: Member) -> None:
            saved = manual.Saved(self.driver, member.user.pk)
            self._delete(Key("delete account", "manual"), member, rows=rows)
            saved.put_back()

        for number, member in self._members(derivation=derivation):
            works = [lambda m=member: with_edna(m)]
            if not derivation:
                works.append(lambda m=member: by_hand(m))
            interleave(number, *works)

    def _delete(self, key: Key, member: Member, *, rows: int) -> str:
        """By password, from which the key is derived where it finds what was anonymised; or by recovery code."""
        browser = self._as(key.variant, member.user)
        fields = leaving(browser, {"password": PASSWORD} if key.derivation else {"recovery_code": member.recovery_code})
        return self._post(key, browser, LEAVING, fields, rows=rows).find(RECEIPT)

    def _restore(self, key: Key, member: Member, receipt: str, *, rows: int) -> None:
        browser = self._as(key.variant, None)
        opens = {"identifier": member.user.email, "password": PASSWORD}
        if not key.derivation:
            opens = {"recovery_code": member.recovery_code}
        fields = returning(browser, receipt, opens)
        self._post(key, browser, RETURNING, fields, rows=rows).find(IT_IS_BACK)
        if Answer.objects.filter(author=member.user).count() + 1 < rows and not key.operation.endswith("anonymise"):
            raise AssertionError("not everything came back")

    # Anonymised

    def anonymise(self, authors: manual.Authors) -> None:
        """Everybody at once, in one request: a single sample, given per user, with the total beside it."""
        users = self.course.scale.users
        for variant in reversed(VARIANTS):
            browser = self._as(variant, self.course.staff)
            form = browser.get("/staff/anonymise/all/")
            key = Key("anonymise (per user)", variant)
            fields = {"confirmation": "all lectures", "csrfmiddlewaretoken": form.token}
            with self._counting() as statements:
                began = time.perf_counter()
                browser.post("/staff/anonymise/all/", fields, expect=302)
                total = (time.perf_counter() - began) * 1000
            self.clock.samples[key] = [total / users]
            self.clock.statements[key] = {statements()}
            self.clock.rows[key] = [users * self.course.answers_each]
            self.extra[key] = {"users": users, "total_ms": round(total, 1)}
            if variant == "manual":
                authors.put_back()

    def under_disguise(self) -> None:
        rows = self.course.answers_each + 1
        for derivation in (False, True):
            for _, member in self._members(derivation=derivation):
                self._edit_anonymised(Key("edit an anonymised answer", "edna", derivation), member)
            for _, member in self._members(derivation=derivation):
                key = Key("delete after anonymise", "edna", derivation)
                receipt = self._delete(key, member, rows=rows)
                self._restore(Key("restore after anonymise", "edna", derivation), member, receipt, rows=rows)

    def _edit_anonymised(self, key: Key, member: Member) -> None:
        browser = self._as("edna", member.user)
        credentials = {"password": PASSWORD} if key.derivation else {"recovery_code": member.recovery_code}
        form = browser.get("/anonymised/")
        lecture = self.course.random_lecture().pk
        opened = browser.post("/anonymised/", {"csrfmiddlewaretoken": form.token, "lecture": lecture, **credentials})
        fields = opened.inputs("form-")
        shown = Question.objects.in_bulk([int(v) for name, v in fields.items() if name.endswith("-question")])
        assert len(shown) == self.course.scale.questions, f"{len(shown)} anonymised answers on the page"
        texts = dict(
            Answer.objects.filter(pk__in=[v for n, v in fields.items() if n.endswith("-answer")]).values_list(
                "pk", "text"
            )
        )
        for name, value in list(fields.items()):
            if name.endswith("-answer"):
                fields[name.replace("-answer", "-text")] = texts[int(value)]
        fields |= {"form-0-text": self.course.text(), "csrfmiddlewaretoken": opened.token, **credentials}
        self._post(key, browser, "/anonymised/edit/", fields, rows=1, expect=302)

    def close(self) -> None:
        for browser in self.browsers.values():
            browser.close()
