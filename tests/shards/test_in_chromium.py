"""One of two with the same primary key, name and password leaves and comes back with a key that stays in her browser, or by a device: in
Chromium, with pictures in ``build/screenshots/shards``. The other's database stays equal to the byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.showcase.tests.key_in_browser import FIRST, KeyInBrowser
from tests.shards.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.once]

SECOND = "eight geese över the marsh"


class Member(KeyInBrowser):
    namespace = "shards"
    for_everybody = ("-phone",)

    def at(self, address: str) -> None:
        self.page.goto(f"{self.site}/privacy/{address}")

    def logs_in(self, alias: str) -> None:
        self.page.goto(f"{self.site}/log-in/{alias}")

    def looks(self) -> Any:
        """What is in the databases, by digests."""
        return self.page.request.get(f"{self.site}/look").json()


class Operator(Member):
    for_everybody = ()  # Django's admin has colours of its own

    def __init__(self, page: Any, site: str) -> None:
        super().__init__(page, site)
        # Django's admin has no icon, and browsers ask for one.
        page.route("**/favicon.ico", lambda route: route.fulfill(status=204))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    with Site(tmp_path, {}).served(SHARDS_CUSTODY="browser", SHARDS_APPS="edna.devices") as address:
        yield address


def test_one_leaves_and_comes_back_and_the_other_stays_to_the_byte(new_page: Any, served: str) -> None:
    north, south = (Member(new_page(), served) for _ in range(2))
    for alias, member in (("north", north), ("south", south)):
        member.logs_in(alias)
        member.at("key/")
        code = member.makes_a_key()
        member.keeps(code)
    before = south.looks()

    south.at("")
    south.follow("Leave the club")
    south.sees("2 notes")
    south.picture("01-leave")
    south.opens("Leave the club")
    south.sees("Good-bye")
    (receipt,) = {*re.findall(r"edna1:club\.go:\w+", south.page.content())}
    assert south.looks()["south"]["own"] != before["south"]["own"]

    # Nobody guesses which of the two is meant.
    south.page.context.clear_cookies()
    south.at("return/")
    south.fill(identifier="bea")
    south.opens("Bring my account back")
    south.sees("More than one account here opens with this, and nothing says which one you mean.")
    south.picture("02-which-one")
    south.fill(receipt=receipt)
    south.opens("Bring my account back")
    south.sees("It is back", "Your account is here.")
    south.picture("03-back")
    after = south.looks()
    assert after["north"] == before["north"]
    assert after["south"]["own"] == before["south"]["own"]

    # By the code she needs nothing else; then another password, and another key.
    south.logs_in("south")
    south.at("hidden/")
    south.opens_by_code("Show it", code)
    south.sees("Nothing of yours is hidden now.")
    south.at("key/password/")
    south.ready()
    south.types("New password", SECOND)
    south.types("The new password again", SECOND)
    south.opens("Set the password")
    south.sees("The new password opens your key.")
    south.at("key/new/")
    south.ready()
    south.types("New password", FIRST)
    south.types("The new password again", FIRST)
    south.opens("Replace my key", SECOND)
    assert south.shown_code() != code
    south.picture("04-new-key")
    assert south.looks()["north"] == before["north"]
    assert north.errors == []
    assert len(south.errors) == 1  # it was refused once
    assert "409" in south.errors[0]


def test_guardians_help_somebody_of_the_second_database(new_page: Any, tmp_path: Path) -> None:
    """Whose account is away, and who has forgotten the password, is found by a name that somebody else has in the first."""
    apps = "edna.devices edna.guardians"
    with Site(tmp_path, {}).served(SHARDS_CUSTODY="browser", SHARDS_APPS=apps) as served:
        north, south = (Member(new_page(), served) for _ in range(2))
        for alias, member in (("north", north), ("south", south)):
            member.logs_in(alias)
            member.at("key/")
            member.keeps(member.makes_a_key())
            member.at("guardians/")
            member.ready()
            member.fill(contact=f"bea@{alias}.example")
            for secret, text in (("pin", "4711"), ("pin_again", "4711"), ("password", FIRST)):
                member.types_into(member.page.locator(f"[data-edna-secret={secret}]"), text)
            member.tap("Have the guardians help me")
            member.sees("The guardians keep a way back for you.")
        before = south.looks()
        south.at("do/club.go/")
        south.opens("Leave the club")
        south.sees("Good-bye")
        (receipt,) = {*re.findall(r"edna1:club\.go:\w+", south.page.content())}
        south.page.context.clear_cookies()

        south.at("forgotten/")
        south.follow("The guardians can help")
        south.ready()
        south.fill(identifier="bea")
        south.tap("Ask the guardians")
        south.sees("0 of the guardians have agreed")
        mails = south.page.request.get(f"{served}/mails/4").json()
        assert set(mails) == {"bea@north.example", "bea@south.example"}  # both have had that name
        aunt = south.page.locator("li", has_text="Your aunt")
        south.types_into(aunt.get_by_role("textbox"), mails["bea@south.example"])
        aunt.get_by_role("button").click()
        south.sees("1 of the guardians have agreed")
        asked = south.page.locator("[data-edna-code]").first.text_content()
        south.page.request.get(f"{served}/later")
        south.at("guardians/request/")
        south.ready()
        south.fill(identifier="bea", request_code=asked)
        south.tap("Look")
        south.sees("4 of the guardians have agreed")
        south.picture("07-guardians")
        for secret, text in (("pin", "4711"), ("new_password", SECOND), ("again", SECOND)):
            south.types_into(south.page.locator(f"form[data-edna-finish] [data-edna-secret={secret}]"), text)
        south.tap("Set the password")
        south.sees("your new password opens your key")
        south.at("return/")
        south.fill(identifier="bea", receipt=receipt)
        south.opens("Bring my account back", SECOND)
        south.sees("It is back")
        after = south.looks()
        assert after["south"]["own"] == before["south"]["own"]
        assert after["north"] == before["north"]
        assert north.errors == []
        assert all("403" in error for error in south.errors)  # guardians who wait for a code, or for another one


def test_operators_choose_of_which_database_they_see_the_audiences(new_page: Any, tmp_path: Path) -> None:
    apps = "edna.devices edna.guardians edna.audiences"
    with Site(tmp_path, {}).served(SHARDS_CUSTODY="server", SHARDS_APPS=apps, SHARDS_ADMIN="1") as served:
        olga = Operator(new_page(), served)
        olga.logs_in("default")
        with olga.next_page():
            olga.page.get_by_role("link", name="Audiences", exact=True).last.click()
        olga.sees("Database: north south", "ada", "bob")
        olga.follow("south")
        olga.sees("3\nmembers", "cyd", "dan", "eve")
        olga.picture("08-audiences")
        olga.follow("Delete it …")
        olga.sees("Database: south", "Delete stewards")
        olga.picture("09-delete")
        olga.press(re.compile("^Delete"))
        olga.sees("Deleted: stewards.", "There is no audience")
        olga.follow("north")
        olga.sees("2\nmembers", "ada", "bob")
        assert olga.errors == []


def test_a_device_brings_back_its_own_person(new_page: Any, served: str) -> None:
    """Both have been at one browser, and each finds there what is theirs."""
    laptop, phone = Member(new_page(), served), Member(new_page(), served)
    for alias in ("north", "south"):
        laptop.logs_in(alias)
        laptop.at("key/")
        laptop.keeps(laptop.makes_a_key())
        laptop.at("devices/")
        laptop.sees("This browser is none of your devices yet.")
        laptop.follow("Make this my first device")
        laptop.ready()
        laptop.types("What you call the device", f"Laptop in the {alias}")
        laptop.opens("Make this my first device")
        laptop.sees(f"Laptop in the {alias}", "This is your only device.")

    phone.logs_in("south")
    phone.at("devices/")
    phone.sees("This browser is none of your devices yet.")
    phone.tap("Show a code")
    phone.sees("Type this code on a device that you have already")
    code = phone.page.locator("#edna-device-code").inner_text()
    laptop.at("devices/add/")
    laptop.ready()
    laptop.fill(code=code)
    laptop.types("What you call the device", "Phone")
    laptop.tap("Add it")
    laptop.sees("Phone", "Laptop in the south")
    laptop.picture("05-devices")

    before = phone.looks()
    phone.at("do/club.go/")
    phone.ready()
    phone.tap("Leave the club")
    phone.sees("Good-bye")
    phone.page.context.clear_cookies()
    phone.at("return/")
    phone.sees("This device opens your key")
    phone.picture("06-return")
    phone.tap("Bring my account back")
    phone.sees("It is back")
    assert phone.looks()["south"]["own"] == before["south"]["own"]
    laptop.logs_in("south")
    laptop.at("devices/")
    laptop.follow("Remove Phone")
    laptop.page.get_by_text(": Phone").wait_for()
    laptop.tap("Remove it")
    laptop.sees("It is removed")
    phone.page.context.clear_cookies()
    phone.at("return/")
    phone.ready()
    phone.tap("Bring my account back")
    phone.sees("This device was removed, and opens nothing any more")
    assert phone.looks()["north"] == before["north"]
    assert [walker.errors for walker in (laptop, phone)] == [[], []]
