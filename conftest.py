"""What all tests share, those in tests/ and those beside the sample applications.

The suite runs once for each database. A test that touches no database says the same thing every time, so it runs in the SQLite
pass only, as does one marked `once` or `browser`; whatever is left out is counted as deselected in pytest's closing line.
"""

from __future__ import annotations

import asyncio
import gc
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import TransactionTestCase
from django.utils import timezone

from benchmarks.kit.servers.server import in_memory
from tests import emptying
from tests.thorough import is_thorough
from tests.waiting import WAIT_SECONDS, be_late, on_one_day

DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "admin_client", "admin_user", "django_db_setup"}


_OF_DATABASES = re.compile(r"django_db|every_database|only_on|TestCase|live_server|\bdb\b|_db\b")
_ONCE_AS_A_WHOLE = re.compile(r"^pytestmark = .*pytest\.mark\.once", re.MULTILINE)


def _vendor() -> str:
    return str(settings.DATABASES["default"]["ENGINE"].rpartition(".")[2])


def _uses_database(item: pytest.Item) -> bool:
    if item.get_closest_marker("django_db") or item.get_closest_marker("every_database"):
        return True
    cls = getattr(item, "cls", None)
    if cls is not None and issubclass(cls, TransactionTestCase):
        return True
    return not DATABASE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def _belongs_here(item: pytest.Item, vendor: str) -> bool:
    if item.get_closest_marker("cluster") and not os.environ.get("EDNA_CLUSTER"):
        return False
    only = item.get_closest_marker("only_on")
    if only and vendor not in only.args:
        return False
    if vendor == "sqlite3":
        return True
    once = item.get_closest_marker("once") or item.get_closest_marker("browser")
    return not once and (only is not None or _uses_database(item))


def pytest_configure(config: pytest.Config) -> None:
    if late_seconds := os.environ.get("EDNA_TEST_LATE"):
        be_late(float(late_seconds))
    if memory := in_memory():  # databases of other sites lie in `tmp_path`: no commit there waits for a disk
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))
    _say_how_examples_are_generated(config)


def _say_how_examples_are_generated(config: pytest.Config) -> None:
    """The same ones each time: a new one that shows an old mistake is for `make test-deep`, and not for whoever has changed something else.
    They may take their time, because a busy machine is no defect. In the quick part there are fewer.

    Hypothesis also tries constants that it finds in the modules that are imported: other examples wherever one of them has changed, and
    whichever other tests are run. Not so here, unless new ones are asked for."""
    from hypothesis import HealthCheck, settings
    from hypothesis.internal.conjecture import providers

    settings.register_profile(
        "edna",
        derandomize=not os.environ.get("EDNA_RANDOM_EXAMPLES"),
        max_examples=25 if "not slow" in config.option.markexpr else 100,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
    )
    settings.load_profile("edna")
    if not os.environ.get("EDNA_RANDOM_EXAMPLES") and hasattr(providers, "_get_local_constants"):
        none_found = providers._local_constants
        providers._get_local_constants = lambda: none_found


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of which everything is left out are not imported: each process collects for itself."""
    if "not thorough" in config.option.markexpr and is_thorough(collection_path):
        return True
    return True if _vendor() != "sqlite3" and _says_the_same(collection_path) else None


def _says_the_same(path: Path) -> bool:
    """Whether a file shows that all its tests run in the SQLite pass only: it names nothing of a database, or is marked as a whole."""
    if path.suffix != ".py" or not path.name.startswith("test_"):
        return False
    text = path.read_text()
    return not _OF_DATABASES.search(text) or ("only_on" not in text and _ONCE_AS_A_WHOLE.search(text) is not None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    vendor = _vendor()
    # SQLite has all tests there are; a site of its own, with other settings, has no other database.
    if vendor == "sqlite3" and config.getini("DJANGO_SETTINGS_MODULE") == settings.SETTINGS_MODULE:
        missed = {item.path for item in items if _belongs_here(item, "another") and _says_the_same(item.path)}
        assert not missed, f"They look as if no other database had to run them: {sorted(missed)}"
    left_out = [item for item in items if not _belongs_here(item, vendor)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    if processes > 1:
        items[:] = _dealt_out(items, processes)


def pytest_collection_finish() -> None:
    """What is in memory now stays to the end, and is not looked through again and again: some tests go faster by a fifth."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _dealt_out(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """Each process begins with files that have slow tests, so that nobody waits at the end for one who has just begun a long one:
    xdist hands out as many items to each, in this order, and whoever is done takes over the last of another's."""
    long = {item.path for item in items if item.get_closest_marker("slow")}
    # Not those with a browser: its event loop stays in the process, and whatever is asynchronous comes before.
    long -= {item.path for item in items if item.get_closest_marker("browser")}
    paths = [path for path in dict.fromkeys(item.path for item in items) if path in long]
    quick = iter([item for item in items if item.path not in long])
    dealt: list[pytest.Item] = []
    for number in range(processes):
        own = set(paths[number::processes])
        share = [item for item in items if item.path in own]
        dealt += share
        dealt += islice(quick, max(0, len(items) // processes - len(share)))
    return [*dealt, *quick]


def pytest_report_header() -> str:
    return f"database: {_vendor()}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A browser's event loop stays in the process that once started one. Tests that know no browser do not see it: they could neither
    query nor run anything asynchronous beside it."""
    loop = None if item.get_closest_marker("browser") else asyncio._get_running_loop()
    if loop is not None:
        asyncio._set_running_loop(None)
    yield
    if loop is not None:
        asyncio._set_running_loop(loop)


@pytest.fixture(autouse=True, scope="session")
def _emptied_after_each() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        emptying.install(patch)
        yield


@pytest.fixture(autouse=True)
def _one_day() -> Iterator[None]:
    """It stays the day on which the test began: edna notes days, and tests compare tables with what they were before midnight."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", on_one_day(timezone.now))
        yield


_seconds: Counter[str] = Counter()
_processor_seconds: Counter[str] = Counter()
_used = sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Several processes wait for each other: what a test costs is what it and the processes that have ended with it used."""
    global _used
    report = yield
    before, _used = _used, sum(os.times()[:4])
    report.processor_seconds = _used - before
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.location[0]] += report.duration
    _processor_seconds[report.location[0]] += report.processor_seconds


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What tests have counted (`record_property` with a number), together, wherever they ran."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    _leave_failures(terminalreporter.stats)
    counted: Counter[str] = Counter()
    for report in reports:
        if getattr(report, "when", None) == "call":
            counted.update({name: value for name, value in report.user_properties if isinstance(value, int)})
    for name, number in counted.items():
        terminalreporter.write_line(f"{number:,} {name}")


def _leave_failures(stats: dict[str, list[Any]]) -> None:
    """For whoever runs the suite on several databases, and says at the very end what has failed on which: the last lines of each."""
    if not (record := os.environ.get("EDNA_LAST_WORDS")):
        return
    failed = [report for outcome in ("failed", "error") for report in stats.get(outcome, [])]
    with Path(record).open("w") as file:
        for report in failed[:20]:
            file.write("\n".join([f"--- {report.nodeid}", *report.longreprtext.splitlines()[-15:], ""]))
        if len(failed) > 20:
            file.write(f"--- and {len(failed) - 20} others\n")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave a record of what took how long, by file, the longest first: build/test-times-<database>.txt."""
    if hasattr(session.config, "workerinput") or not _seconds:
        return  # a process of several: the one that hands out the tests hears of all
    record = session.config.rootpath / "build" / f"test-times-{_vendor()}.txt"
    record.parent.mkdir(exist_ok=True)
    record.write_text(
        "".join(
            f"{seconds:8.2f} s  {_processor_seconds[file]:8.2f} s of the processor  {file}\n"
            for file, seconds in _seconds.most_common()
        )
    )


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's Chromium, driven by Playwright. For tests marked `browser`. Its headless shell draws the same pages, and has no
    toolbars, tabs and extensions, which take a third of the processor's time."""
    from playwright.sync_api import sync_playwright

    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.fail("Chromium is not installed: run .ci/system-packages as root, or deselect with -m 'not browser'.")
    # Playwright's synchronous interface keeps an event loop in this thread, and Django refuses to query beside one.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox does not work for root
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments, timeout=1_000 * WAIT_SECONDS)
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Makes pages, each of a fresh browser profile, with what Playwright's contexts take."""
    with ExitStack() as profiles:

        def make(**options: Any) -> Any:
            profile = profiles.enter_context(chromium.new_context(**options))
            profile.set_default_timeout(1_000 * WAIT_SECONDS)
            return profile.new_page()

        yield make


@pytest.fixture
def page(new_page: Callable[..., Any]) -> Any:
    return new_page()


@pytest.fixture
def page_without_scripts(new_page: Callable[..., Any]) -> Any:
    return new_page(java_script_enabled=False)


@pytest.fixture(scope="module")
def nobody_beside(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """On PostgreSQL, a server that only this module uses: on the usual one another process of the suite writes in a database
    beside, and for its transactions the server keeps what rows were, in ours, too."""
    if _vendor() != "postgresql":
        yield
        return
    from django.core.management import call_command

    from benchmarks.kit.servers import private_postgres
    from tests.support import on_server

    with private_postgres() as server, django_db_blocker.unblock(), on_server(server.url):
        call_command("migrate", verbosity=0)
        yield
