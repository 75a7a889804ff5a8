"""The page of a recovery code, and the way back by it, in a real browser; pictures are in ``build/screenshots``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import edna
from apps.showcase.tests import walker as walkers
from apps.showcase.tests.beas import OLD, PASSWORD, Bea
from apps.showcase.tests.tables import thief
from apps.showcase.tests.test_ways_back import CREDENTIALS, OTHER, by_password, key_of, page, proof, squat

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NEW = "another long walk"


class Walker(walkers.Walker):
    def __init__(self, page: Any, site: str, namespace: str) -> None:
        self.namespace = namespace  # type: ignore[misc]
        super().__init__(page, site)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()
        self.page.wait_for_load_state()

    def code(self) -> str:
        text: str = self.page.locator("#recovery-code .code").inner_text()
        return text


@pytest.fixture(params=OLD)
def bea(request: Any, transactional_db: None, beas: dict[str, Bea]) -> Bea:
    found: Bea = beas[request.param]
    return found


@pytest.fixture
def walker(page: Any, live_server: Any, bea: Bea) -> Walker:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return Walker(page, live_server.url, key_of(bea))


def log_in(walker: Walker, bea: Bea) -> None:
    walker.go("login")
    field = "email" if key_of(bea) == "hotcrp" else "username"
    walker.fill(**{field: CREDENTIALS[key_of(bea)][1], "password": PASSWORD})
    walker.press("Log in")


def test_a_code_survives_a_reload_until_it_is_kept(walker: Walker, bea: Bea, tmp_path: Path) -> None:
    log_in(walker, bea)
    walker.go("recovery-code")
    walker.sees("We do not keep your recovery code")
    walker.picture("70-new-recovery-code")
    walker.fill(password=PASSWORD)
    walker.press("Make a new recovery code")
    code = walker.code()
    assert re.fullmatch(r"(\w{4}-){6}\w{4}", code)
    walker.picture("71-recovery-code")

    # It survives: a reload asks for the page, and does not send the form again. Nothing that the server sends has it.
    for _ in range(2):
        answer = walker.page.reload()
        assert answer.request.method == "GET"
        assert code not in answer.text()
        assert walker.code() == code
        assert walker.page.locator("#new-code").is_hidden()
    assert code not in walker.page.url
    assert code not in thief()
    walker.go("account")
    walker.page.go_back()
    assert walker.code() == code

    # Copy, download, print
    walker.press("Copy")
    walker.sees("Copied.")
    assert walker.page.evaluate("navigator.clipboard.readText()") == code
    with walker.page.expect_download() as saving:
        walker.press("Download")
    saved = tmp_path / "code.txt"
    saving.value.save_as(saved)
    assert saving.value.suggested_filename == f"{key_of(bea)}-recovery-code.txt"
    assert code in saved.read_text()
    assert page(bea, "recover") in saved.read_text()
    walker.page.evaluate("window.print = () => document.body.dataset.printed = 'yes'")
    walker.press("Print")
    assert walker.page.locator("body[data-printed=yes]").count() == 1
    walker.page.emulate_media(media="print")
    assert walker.page.locator("#recovery-code .code").is_visible()
    assert walker.page.locator("#recovery-code form").is_hidden()
    walker.page.screenshot(path=walker.pictures / "72-recovery-code-printed.png", full_page=True)
    walker.page.emulate_media(media="screen")

    # It asks whether the code is kept, and then forgets it
    walker.press("Go on")
    assert walker.code() == code  # the browser asks for the tick first
    walker.page.get_by_label("I have kept it").check()
    walker.press("Go on")
    walker.sees("Keep your recovery code where you find it in years.")
    assert walker.page.evaluate("sessionStorage.length") == 0
    walker.go("recovery-code")
    walker.sees("We do not keep your recovery code")
    assert walker.page.locator("#recovery-code").is_hidden()
    edna.unlock(recovery_code=code).close()
    assert walker.errors == []


@pytest.mark.parametrize("bea", ["lobsters"], indirect=True)  # one script for all three
def test_a_code_does_not_survive_a_logout(walker: Walker, bea: Bea) -> None:
    """Whoever uses the same tab next finds nothing. Nor does a second code bring back the first."""
    log_in(walker, bea)
    walker.go("recovery-code")
    walker.fill(password=PASSWORD)
    walker.press("Make a new recovery code")
    other = walker.page.context.new_page()
    other.goto(walker.page.url)
    assert other.locator("#recovery-code").is_hidden()
    other.locator("[name=password]:visible").fill(PASSWORD)
    other.get_by_role("button", name="Make a new recovery code").click()
    second = other.locator("#recovery-code .code").inner_text()
    walker.page.reload()
    assert walker.page.locator("#recovery-code").is_hidden()
    assert other.evaluate("sessionStorage.length") == 1
    other.get_by_role("button", name="Log out").click()
    other.wait_for_load_state()
    assert other.evaluate("sessionStorage.length") == 0
    edna.unlock(recovery_code=second).close()


def test_back_by_code_alone_under_another_name(walker: Walker, bea: Bea) -> None:
    bea.leave()
    squat(bea)
    walker.go("login")
    walker.page.get_by_role("link", name=re.compile("recovery code")).first.click()
    walker.picture("73-recover")
    walker.fill(recovery_code=bea.code, new_password="short", again="shorter")
    walker.press("Set the new password")
    walker.picture("74-recover-error")
    walker.fill(new_password=NEW, again=NEW)
    walker.press("Set the new password")
    walker.picture("75-recover-name-taken")
    field, value = OTHER[key_of(bea)]
    if "@" in value:
        value = f"{'long' * 18}@x.org"  # and still no page is wider than the screen
    walker.fill(**{field: value, "new_password": NEW, "again": NEW})
    walker.press("Set the new password")
    if code := proof(bea, value):
        walker.picture("75-recover-code-mailed")
        walker.fill(**code, new_password=NEW, again=NEW)
        walker.press("Set the new password")
    walker.sees("Welcome back", "You are logged in", value)
    walker.picture("76-back-under-another-name")
    # A reload sends nothing again.
    assert walker.page.reload().request.method == "GET"
    assert walker.page.locator("text=Log out").count() == 1
    assert walker.errors == []


def test_back_by_code_and_then_a_new_password(walker: Walker, bea: Bea) -> None:
    bea.leave()
    walker.go("return")
    walker.picture("77-return")
    walker.fill(recovery_code=bea.code)
    walker.press("Bring my account back")
    walker.sees("You are logged in", "Have you forgotten your password?")
    walker.picture("78-back-by-code")
    walker.fill(new_password=NEW, again=NEW)
    walker.press("Set the new password")
    walker.sees("Your new password is set")
    walker.picture("79-password-set")
    edna.unlock(identifier=bea.identifier, password=NEW).close()


def test_a_reload_of_the_good_bye_sends_nothing_again(walker: Walker, bea: Bea) -> None:
    """Nor does it ask for a login, and lead whoever has one to the deletion again."""
    log_in(walker, bea)
    walker.go("remove" if key_of(bea) == "hotcrp" else "delete")
    walker.fill(password=PASSWORD)
    walker.press("Remove my account" if key_of(bea) == "hotcrp" else "Delete my account")
    walker.sees("Good-bye", "Your receipt")
    assert walker.page.reload().request.method == "GET"
    walker.sees("You removed your account" if key_of(bea) == "hotcrp" else "You deleted your account", "want it back?")
    assert walker.errors == []


@pytest.mark.parametrize("bea", ["lobsters"], indirect=True)  # one script for all three
def test_it_works_without_javascript(chromium: Any, live_server: Any, bea: Bea) -> None:
    """A reload then cannot show the code, but says so, and the page makes another one."""
    context = chromium.new_context(java_script_enabled=False)
    walker = Walker(context.new_page(), live_server.url, key_of(bea))
    log_in(walker, bea)
    walker.go("recovery-code")
    walker.fill(password=PASSWORD)
    walker.press("Make a new recovery code")
    code = walker.code()
    assert walker.page.get_by_role("button", name="Copy").is_hidden()
    walker.page.get_by_label("I have kept it").check()
    walker.press("Go on")
    walker.sees("Keep your recovery code where you find it in years.")
    walker.press("Log out")
    bea.leave()
    walker.go("recover")
    walker.fill(recovery_code=code, new_password=NEW, again=NEW)
    walker.press("Set the new password")
    walker.sees("You are logged in")
    walker.page.reload()
    walker.sees("This form is too old", "the first time counted")
    context.close()


@pytest.mark.parametrize("bea", ["lobsters"], indirect=True)  # test_ways_back.py asks all three
def test_away_by_password(walker: Walker, bea: Bea) -> None:
    bea.leave()
    walker.go("return")
    walker.fill(**by_password(bea))
    walker.press("Bring my account back")
    walker.sees("Welcome back", "You are logged in")
    walker.picture("80-back-by-password")
