"""The steps of docs/guardians.md, "Try it on one machine", as they stand there: in a new project, with five guardians as processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from benchmarks.kit.ports import reserved
from tests import warm
from tests.acceptance.newcomer import BLOCK, ROOT, Project
from tests.waiting import WAIT_SECONDS, eventually

pytestmark = [pytest.mark.once, pytest.mark.slow]

#: What somebody does in a browser at steps 5 and 6. MAIL is what stands in the terminal, MAILED the code in it.
_ENROL = """
from django.contrib.auth.models import User
User.objects.create_user("bea", "bea@example.org", "a long walk home")
log_in("a long walk home")
assert "Ways back: guardians" in browser.get("/privacy/").content.decode()
page = browser.post("/privacy/guardians/", {"contact": "bea@home.example", "password": "a long walk home"})
assert "5 of 5 guardians keep a piece" in page.content.decode(), page.content.decode()
"""
_ASK = """
browser.logout()
assert "/privacy/guardians/ask/" in browser.get(reverse("edna:forgotten")).content.decode()
page = browser.post("/privacy/guardians/ask/", {"identifier": "bea"}).content.decode()
(code,) = set(re.findall(r'name="request_code" value="([^"]+)"', page))
page = browser.post("/privacy/guardians/request/", {"identifier": "bea", "request_code": code}).content.decode()
assert "2 of the guardians have agreed; 3 are needed" in page, page
print(code)
"""
_COME_BACK = """
request = {"identifier": "bea", "request_code": CODE}
page = browser.post("/privacy/guardians/request/", request).content.decode()
beside = [each for each in page.split("<li")[1:] if any(name in MAIL for name in re.findall("[0-9a-f]{16}", each))]
(number,) = [re.search(r'name="number" value="([0-9]+)"', each)[1] for each in beside]
page = browser.post("/privacy/guardians/request/", {**request, "step": "confirm", "number": number, "code": MAILED})
assert "3 of the guardians have agreed" in page.content.decode(), page.content.decode()
new = "five yaks in a rowing boat"
page = browser.post("/privacy/guardians/request/", {**request, "step": "finish", "new_password": new, "again": new})
assert "your new password opens your key" in page.content.decode(), page.content.decode()
log_in(new)
"""
_BROWSER = """
import re
import django
django.setup()
from django.test import Client
from django.urls import reverse
browser = Client(headers={"host": "localhost"})


def log_in(password):
    answer = browser.post("/login/", {"username": "bea", "password": password})
    assert answer.status_code == 302, answer.content.decode()
"""


def in_a_browser(project: Project, steps: str, **given: object) -> str:
    (project.where / "steps.py").write_text(
        "\n".join([_BROWSER, *(f"{name} = {value!r}" for name, value in given.items()), steps])
    )
    return project.run("python steps.py", DJANGO_SETTINGS_MODULE="mysite.settings").strip()


@pytest.fixture
def digits() -> Iterator[str]:
    """So that with 1, 2, 3, 4 and 5 behind it nobody else listens there: the page has 844."""
    with ExitStack() as taken:
        for digits in range(1100, 3200):
            with suppress(OSError):
                taken.enter_context(reserved([int(f"{digits}{number}") for number in range(1, 6)]))
                yield str(digits)
                return
        raise AssertionError("no five ports are free")


@contextmanager
def terminal(project: Project, command: str, log: Path) -> Iterator[None]:
    """Another one, in which the command is given; its processes end with it."""
    with log.open("wb") as said:
        shell = subprocess.Popen(
            ["/bin/sh", "-ec", f"{command}\nwait"], cwd=project.where, env=project.environment, stdin=subprocess.DEVNULL,
            stdout=said, stderr=said, start_new_session=True,
        )  # fmt: skip
    try:
        yield
    finally:
        os.killpg(shell.pid, signal.SIGTERM)
        shell.wait(WAIT_SECONDS)


def test_the_steps_of_the_page_lead_back_to_a_lost_key(tmp_path: Path, digits: str) -> None:
    project = Project(tmp_path, python=warm.python())
    project.follow("docs/howto-pages.md", pasting=False, until="## Your own frame")
    project.write("templates/log_in.html", "{{ form }}")
    project.write("mysite/settings.py", 'TEMPLATES[0]["DIRS"] = [BASE_DIR / "templates"]', append=True)
    page = (ROOT / "docs/guardians.md").read_text()
    page = page[page.index("\n## Try it on one machine\n") : page.index("\n## What each one asks for\n")]
    installed, make, serve, settings, check = (code for _, _, code in BLOCK.findall(page))
    assert "127.0.0.1:844$number" in make

    project.write("mysite/settings.py", installed, append=True)
    project.run(make.replace("127.0.0.1:844$number", f"127.0.0.1:{digits}$number"))
    log = tmp_path / "terminal"
    with terminal(project, serve, log):
        eventually(lambda: log.read_text().count("listens on") == 5)
        project.write("mysite/settings.py", settings, append=True)
        *commands, run = check.strip().splitlines()
        assert run == "python manage.py runserver"
        assert "5 of 5 answer, 3 are needed" in project.run("\n".join(commands))
        code = in_a_browser(project, _ENROL + _ASK)
        eventually(lambda: log.read_text().count("give the code") == 3)
        mail = re.search(r"To bea@home\.example: (.*give the code (\S+) .*)", log.read_text())
        assert mail is not None
        in_a_browser(project, _COME_BACK, CODE=code, MAIL=mail[1], MAILED=mail[2])
