"""The operator's story in a browser: from the catalogue to a finished job and its retry, with pictures in ``build/screenshots/edna``."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client, override_settings

import edna
from apps.showcase.tests import walker as walkers
from apps.websubmit.models import Answer, User
from edna.operations import jobs
from tests.operator.conftest import Refusal, Stubborn, address
from tests.support import DELETE, Student, answer_everything, enrol, enrol_many, make_course
from tests.waiting import WAIT_SECONDS, eventually

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


class Walker(walkers.Walker):
    namespace = "edna"
    for_everybody = ()  # Django's admin has colours of its own

    def __init__(self, page: Any, site: str) -> None:
        super().__init__(page, site)
        # Django's admin has no icon, and browsers ask for one.
        page.route("**/favicon.ico", lambda route: route.fulfill(status=204))

    def visit(self, name: str, *args: Any) -> None:
        self.page.goto(self.site + address(name, *args))

    def log_in(self, user: User) -> None:
        client = Client()
        client.force_login(user)
        cookie = client.cookies[settings.SESSION_COOKIE_NAME]
        self.page.context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": self.site}])


@pytest.fixture
def walker(page: Any, live_server: Any, granted: set[str]) -> Walker:
    walker = Walker(page, live_server.url)
    walker.log_in(User.objects.create_user("olga@example.org", is_admin=True))
    return walker


@pytest.fixture
def students(transactional_db: None) -> list[Student]:
    make_course()
    students = [enrol("bea@example.org"), *enrol_many(5)]
    answer_everything(*students)
    return students


@pytest.fixture
def runner() -> Iterator[Callable[[int], threading.Event]]:
    """Starts a runner that does one account and then waits, before the next, until it is told to go on."""
    threads: list[threading.Thread] = []
    gates: list[threading.Event] = []

    def run(job: int) -> threading.Event:
        go_on = threading.Event()
        gates.append(go_on)

        def work() -> None:
            jobs.run(job, progress=lambda report: go_on.wait(WAIT_SECONDS) and None)
            connections.close_all()

        threads.append(threading.Thread(target=work, daemon=True))
        threads[-1].start()
        return go_on

    with override_settings(EDNA={**settings.EDNA, "JOB_BATCH": 1}):
        yield run
        for gate in gates:
            gate.set()
        for thread in threads:
            thread.join(WAIT_SECONDS)


def test_from_the_catalogue_to_a_finished_job_and_its_retry(
    walker: Walker, students: list[Student], refusal: type[Refusal], runner: Callable[[int], threading.Event]
) -> None:
    refusal.key = str(students[0].user.pk)
    walker.page.goto(f"{walker.site}/admin/")
    walker.picture("01-index")
    with walker.next_page():
        walker.page.get_by_role("link", name="Disguises", exact=True).last.click()
    walker.sees(DELETE, "Blank all answers.")
    walker.picture("02-catalogue")
    walker.follow(Stubborn.name)
    walker.picture("03-disguise")

    walker.fill(person="nobody@example.org")
    walker.press("Preview")
    walker.sees("No websubmit.User has the primary key, name or e-mail address 'nobody@example.org'.")
    walker.picture("04-nobody")
    walker.page.get_by_label("everybody who owns such rows").check()
    walker.press("Preview")
    walker.sees("24\nrows", "Nothing has been changed.")
    walker.picture("05-preview")

    walker.fill(confirmation="something else")
    walker.press("Apply to everybody")
    walker.sees("To confirm, type the name of the disguise")
    walker.picture("06-not-confirmed")
    assert jobs.reports() == []
    walker.fill(confirmation=Stubborn.name)
    walker.press("Apply to everybody")
    walker.sees("No process works on it now.")
    walker.picture("07-waiting")

    # Its page follows it without being loaded again, but where more has changed than figures: a runner is there.
    (report,) = jobs.reports()
    go_on = runner(report.id)
    walker.page.locator("[data-version^=running]").wait_for()
    walker.page.locator("[data-figure=left]", has_text="5").wait_for()
    walker.sees("1 of 2")
    walker.picture("08-running")
    walker.press("Pause")
    walker.sees("The job pauses after the accounts that it is at.")
    go_on.set()
    walker.press("Resume")
    eventually(lambda: jobs.report(report.id).state is not jobs.JobState.PAUSED)
    if jobs.report(report.id).state is jobs.JobState.RUNNING:
        runner(report.id).set()
    walker.sees("What failed")
    walker.sees("ZeroDivisionError", "5\nof 6 done")
    walker.picture("09-failed")

    refusal.key = ""
    walker.press("Retry what failed")
    runner(report.id).set()
    walker.page.locator("[data-figure=done]", has_text="6").wait_for()
    walker.page.get_by_text("finished", exact=True).wait_for()
    walker.picture("10-finished")
    walker.visit("job_changelist")
    walker.sees("6 of 6", "No job is running or paused.")
    walker.picture("11-jobs")
    walker.visit("sitehealth_changelist")
    walker.picture("12-health")
    walker.visit("auditentry_changelist")
    walker.sees("retry", "olga@example.org")
    walker.page.screenshot(path=walker.pictures / "13-trail.png", full_page=True)
    assert set(Answer.objects.values_list("text", flat=True)) == {"blank"}
    assert walker.errors == []


def test_no_press_is_lost_while_a_page_follows_a_job(
    walker: Walker, students: list[Student], runner: Callable[[int], threading.Event]
) -> None:
    """A button that is held down, or has the focus, stays where it is, whatever else the page has to show meanwhile."""
    job = jobs.start(DELETE, principals=[each.user for each in students])
    walker.visit("job_job", job.id)
    page, pause = walker.page, walker.page.get_by_role("button", name="Pause")
    pause.hover()
    page.mouse.down()
    go_on = runner(job.id)
    for _ in range(2):
        with page.expect_response("**/progress/"):
            pass
    page.mouse.up()
    walker.sees("The job pauses after the accounts that it is at.")

    walker.press("Resume")
    pause.focus()
    jobs.pause(job.id)
    walker.page.locator("[data-version^=paused]").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Pause"
    page.locator("h1").first.click()
    page.get_by_role("button", name="Resume").wait_for()
    assert pause.count() == 0

    cancel = page.get_by_role("button", name="Cancel")
    cancel.focus()
    jobs.cancel(job.id)
    walker.page.locator("[data-version^=cancelled]").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Cancel"
    page.locator("h1").first.click()
    cancel.wait_for(state="detached")
    go_on.set()
    assert walker.errors == []


def test_from_a_list_of_users(walker: Walker, students: list[Student]) -> None:
    walker.page.goto(f"{walker.site}/admin/websubmit/user/?q=bea")
    walker.page.get_by_role("checkbox").last.check()
    walker.page.locator("select[name=action]").select_option(label="Apply a disguise…")
    walker.press(re.compile("^(Go|Run)$"))
    walker.sees("For 1 person you have chosen.")
    walker.picture("20-chosen")
    walker.press(f"Preview {DELETE}")
    walker.sees("5\nrows")
    walker.fill(confirmation=DELETE)
    walker.press("Apply to 1 person")
    jobs.run(jobs.reports()[0].id)
    walker.page.get_by_text("finished", exact=True).wait_for()
    assert not User.objects.filter(email="bea@example.org").exists()


def test_an_operator_is_told_that_they_are_among_everybody_and_stays_logged_in(
    walker: Walker, students: list[Student]
) -> None:
    olga = User.objects.get(email="olga@example.org")
    (own,) = edna.register_principals([olga])
    answer_everything(Student(olga, own.secret_key), *(enrol(f"staff-{n}@example.org", is_admin=True) for n in (1, 2)))
    walker.visit("disguisecatalogue_disguise", DELETE)
    walker.page.get_by_label("everybody who owns such rows").check()
    walker.picture("40-everybody")
    walker.press("Preview")
    walker.sees("You and 2 other staff accounts are among them, and will be left out.")
    walker.picture("41-staff-left-out")
    walker.press("Preview with staff")
    walker.sees("You and 2 other staff accounts are among them, and will be disguised, too.")
    walker.picture("42-staff-taken-along")
    walker.press("Preview without staff")
    walker.fill(confirmation=DELETE)
    walker.press("Apply to everybody but staff")
    (job,) = jobs.reports()
    jobs.run(job.id)
    walker.page.get_by_text("finished", exact=True).wait_for()
    walker.sees("6\nof 6 done")
    assert walker.errors == []


def test_a_page_whose_session_has_ended_says_so_and_leads_to_the_log_in(
    walker: Walker, students: list[Student]
) -> None:
    """Somebody logs out elsewhere, or the job has disguised the operator."""
    job = jobs.start(DELETE, principals=[students[0].user])
    for page, args in (("job_job", (job.id,)), ("job_changelist", ())):
        walker.visit(page, *args)
        assert "Your session has ended" not in walker.page.locator("#edna").inner_text()
        cookies = walker.page.context.cookies()
        walker.page.context.clear_cookies()
        walker.sees("Your session has ended: you have logged out, or your own account was disguised.")
        walker.picture(f"30-session-ended-{page}")
        walker.follow("Log in")
        walker.page.wait_for_url(f"**/login/?next={address(page, *args)}")
        walker.page.context.add_cookies(cookies)
    # A server that is away for a moment is another thing, and the page goes on by itself.
    walker.visit("job_job", job.id)
    walker.page.route("**/progress/", lambda route: route.abort())
    walker.sees("The server does not answer just now")
    walker.picture("31-server-away")
    assert "Your session has ended" not in walker.page.locator("#edna").inner_text()


def test_without_scripts_pages_are_reloaded(
    page_without_scripts: Any, live_server: Any, granted: set[str], students: list[Student]
) -> None:
    walker = Walker(page_without_scripts, live_server.url)
    walker.log_in(User.objects.create_user("olga@example.org", is_admin=True))
    walker.visit("disguisecatalogue_disguise", DELETE)
    walker.fill(person="bea@example.org")
    walker.press("Preview")
    walker.fill(confirmation=DELETE)
    walker.press("Apply to 1 person")
    walker.sees("0\nof 1 done")
    jobs.run(jobs.reports()[0].id)
    walker.follow("Reload to see how far it is")
    walker.sees("1\nof 1 done")


def test_a_strict_policy_for_content_stops_nothing(
    walker: Walker, students: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No script and no style of ours is inline."""
    from django.middleware.security import SecurityMiddleware

    original = SecurityMiddleware.process_response

    def with_policy(self: Any, request: Any, response: Any) -> Any:
        response["Content-Security-Policy"] = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'"
        )
        return original(self, request, response)

    monkeypatch.setattr(SecurityMiddleware, "process_response", with_policy)
    job = jobs.start(DELETE, principals=[students[0].user])
    walker.visit("job_job", job.id)
    jobs.run(job.id)
    walker.page.get_by_text("finished", exact=True).wait_for()
    assert [error for error in walker.errors if "Content Security Policy" in error] == []
