"""One of two with the same primary key, name and password leaves and comes back with a key that stays in her browser: in Chromium, with
pictures in ``build/screenshots/shards``. The other's database stays equal to the byte."""

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
    with Site(tmp_path, {}).served(SHARDS_CUSTODY="browser") as address:
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
