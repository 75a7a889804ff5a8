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
