"""Two browsers as two devices of one person, where keys stay in browsers: no byte that leaves them holds one."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

import edna
from apps.showcase.tests.key_in_browser import KeyInBrowser
from apps.websubmit.models import User
from edna import devices
from edna.testing.search import finds, places
from tests.devices.scanning import scanned
from tests.devices.test_in_chromium import NAME, Device
from tests.support import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]

KEY_PASSWORD = "nine geese over the marsh"


class KeepsKey(KeyInBrowser, Device):
    """A device of which a script has the key."""

    namespace = "devices-in-browser"

    def stored(self) -> list[str]:
        """The texts of the keys that it keeps."""
        names = 'Object.keys(localStorage).filter(name => name.startsWith("edna.device."))'
        return list(self.page.evaluate(f"{names}.map(name => JSON.parse(localStorage[name]).text)"))


def test_two_browsers_keep_their_keys_and_one_that_is_removed_opens_nothing_new(
    page: Any, new_page: Any, live_server: Any, settings: Any
) -> None:
    """The same addresses and words as where the server uses keys: made, added, renamed, used, removed, and given another key."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}
    user = User.objects.create_user(NAME, PASSWORD)
    registration = edna.register_principal(user, password=KEY_PASSWORD, identifier=NAME)
    laptop, phone = KeepsKey(page, live_server.url), KeepsKey(new_page(), live_server.url)
    laptop.log_in()
    laptop.at("home")
    laptop.follow("My devices")
    laptop.sees("This browser is none of your devices yet.")
    laptop.picture("01-none-yet")
    laptop.follow("Make this my first device")
    laptop.ready()
    laptop.types("What you call the device", "A laptop of hers")
    laptop.types("The password of your key", KEY_PASSWORD)
    laptop.picture("02-first")
    laptop.tap("Make this my first device")
    laptop.sees("A laptop of hers", "This device.", "This is your only device.", "Opens everything.")
    laptop.sees(f"Last here in {datetime.datetime.now(tz=datetime.UTC):%B %Y}.")
    laptop.picture("03-only-one")

    phone.log_in()
    phone.at("devices")
    phone.sees("This browser is none of your devices yet.")
    phone.tap("Show a code")
    phone.sees("Type this code on a device that you have already")
    code, address = phone.page.locator("#edna-device-code").inner_text(), scanned(phone.page)
    phone.picture("04-code")
    page.goto(address)
    laptop.ready()
    laptop.sees("Scanned. Now type the last four characters")
    page.keyboard.type(code[-4:])
    laptop.types("What you call the device", "Telephone")
    laptop.picture("05-add")
    laptop.tap("Add it")
    laptop.sees("Telephone", "A laptop of hers")
    laptop.follow("Rename Telephone")
    page.get_by_text(": Telephone").wait_for()
    laptop.types("What you call the device", "Her phone")
    laptop.tap("Rename it")
    laptop.sees("Her phone")
    laptop.picture("06-two")
    laptop.follow("Make a key to keep")
    laptop.ready()
    laptop.types("What you call the device", "Drawer")
    laptop.tap("Make it")
    laptop.sees("You see it this once.")
    paper = page.locator("#edna-device-key").inner_text()
    laptop.picture("07-key-to-keep")
    phone.at("devices")
    phone.sees("Her phone", "Drawer", "This device.")
    keys = {"laptop": laptop.stored()[0], "phone": phone.stored()[0], "paper": paper}

    # What is hidden a device brings back, with nothing typed.
    edna.disguise("websubmit.delete-account", user)
    phone.page.context.clear_cookies(name="sessionid")
    phone.at("return")
    phone.sees("This device opens your key")
    phone.picture("08-return")
    phone.tap("Bring my account back")
    phone.sees("It is back")
    for each in (laptop, phone):
        each.log_in()

    laptop.at("devices")
    laptop.follow("Remove Her phone")
    page.get_by_text(": Her phone").wait_for()
    laptop.types("The password of your key", KEY_PASSWORD)
    laptop.picture("09-remove")
    laptop.tap("Remove it")
    laptop.sees("It is removed")
    laptop.picture("10-removed")
    phone.at("devices")
    phone.sees("This device was removed, and opens nothing any more.")
    phone.picture("11-was-removed")
    assert phone.stored() == []

    laptop.at("devices")
    laptop.follow("Somebody may have copied it")
    page.get_by_text(": A laptop of hers").wait_for()
    laptop.picture("12-update")
    laptop.tap("Replace its key")
    laptop.sees("This device has another key.")
    keys["laptop, later"] = laptop.stored()[0]
    assert len({*keys.values()}) == 4

    assert [walker.errors for walker in (laptop, phone)] == [[], []]

    # A page for a new key would lock all of them out.
    laptop.at("replace-key")
    laptop.ready()
    laptop.types("New password", KEY_PASSWORD)
    laptop.types("The new password again", KEY_PASSWORD)
    laptop.tap("Replace my key")
    laptop.sees("You have devices, and a new key here would be one that none of them has.")
    sent = b"\n".join([*laptop.sent, *phone.sent])

    names = {each.name for each in devices.members(edna.SecretKey.parse(keys["laptop, later"]))}
    assert names == {"A laptop of hers", "Drawer"}
    secret = {what: edna.SecretKey.parse(text).expose() for what, text in keys.items()}
    hidden = {**keys, **{f"{what}, as bytes": key for what, key in secret.items()}, "password": KEY_PASSWORD}
    assert registration.secret_key
    hidden |= {"first key": registration.secret_key.expose(), "name": "A laptop of hers"}
    assert finds(sent, hidden) == []
    assert finds(sent, {"code": code}) == ["code"]
    assert places(hidden) == []
