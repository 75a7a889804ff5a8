"""One site whose people have keys on either side: where a script runs, it keeps that of a device; where none does, a cookie has it."""

from __future__ import annotations

from typing import Any

import pytest

import edna
from apps.websubmit.models import User
from edna.testing.search import finds
from tests.devices.scanning import scanned
from tests.devices.test_in_chromium import NAME, Device
from tests.devices.test_in_their_browser import KEY_PASSWORD, KeepsKey
from tests.support import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def either(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "CUSTODY": "both"}


def person(password: str) -> User:
    user = User.objects.create_user(NAME, PASSWORD)
    edna.register_principal(user, password=password, identifier=NAME)
    return user


class Either(KeepsKey):
    namespace = "devices-on-either-side"

    def is_in_cookie(self) -> bool:
        brought = [each["value"] for each in self.page.context.cookies() if each["name"].startswith("edna_device_key")]
        return any(".new." not in value for value in brought)

    def comes_back(self, user: User) -> None:
        """With nothing typed."""
        edna.disguise("websubmit.delete-account", user)
        self.page.context.clear_cookies(name="sessionid")
        self.at("return")
        self.sees("This device opens your key")
        self.tap("Bring my account back")
        self.sees("It is back")
        self.log_in()


def test_where_scripts_run_devices_keep_their_keys(new_page: Any, live_server: Any) -> None:
    """No key leaves the browser. One without scripts comes into the same group by its code; and each of them opens the key."""
    user = person(KEY_PASSWORD)
    laptop, phone = (Either(new_page(), live_server.url) for _ in range(2))
    bare = Device(new_page(java_script_enabled=False), live_server.url)
    laptop.log_in()
    laptop.at("devices-first")
    laptop.ready()
    laptop.types("What you call the device", "Laptop of hers")
    laptop.types("The password of your key", KEY_PASSWORD)
    laptop.picture("01-first")
    laptop.tap("Make this my first device")
    laptop.sees("Laptop of hers", "This is your only device.")
    phone.log_in()
    phone.at("devices")
    phone.sees("This browser is none of your devices yet.")
    phone.tap("Show a code")
    phone.sees("Type this code on a device that you have already")
    code = phone.page.locator("#edna-device-code").inner_text()
    laptop.page.goto(scanned(phone.page))
    laptop.ready()
    laptop.page.keyboard.type(code[-4:])
    laptop.types("What you call the device", "Phone of hers")
    laptop.tap("Add it")
    laptop.sees("Phone of hers", "This device.")
    phone.at("devices")
    phone.sees("Phone of hers", "This device.")

    bare.log_in()
    bare.at("devices")
    bare.press("Show a code")
    assert not bare.page.locator("[data-edna-picture]").is_visible()
    code = bare.page.locator("#edna-device-code").inner_text()
    laptop.follow("Add a device")
    laptop.ready()
    laptop.types("The code that the new device shows", code)
    laptop.types("What you call the device", "Bare one")
    laptop.tap("Add it")
    laptop.sees("Bare one")
    bare.at("devices")
    bare.sees("Bare one", "Laptop of hers", "This device.")

    phone.comes_back(user)
    laptop.log_in()
    laptop.at("devices")
    laptop.follow("Remove Phone of hers")
    laptop.page.get_by_text(": Phone of hers").wait_for()
    laptop.types("The password of your key", KEY_PASSWORD)
    laptop.tap("Remove it")
    laptop.sees("It is removed")
    phone.at("devices")
    phone.sees("This device was removed, and opens nothing any more.")
    assert not laptop.is_in_cookie()
    assert not phone.is_in_cookie()
    keys = {"key": laptop.stored()[0], "password": KEY_PASSWORD}
    assert finds(b"\n".join([*laptop.sent, *phone.sent]), keys) == []
    assert [walker.errors for walker in (laptop, phone)] == [[], []]


def test_where_none_runs_the_site_has_it_in_a_cookie_and_goes_on_so(new_page: Any, live_server: Any) -> None:
    """The pages are those of server custody; also later, when the same browser runs scripts."""
    user = person(PASSWORD)
    bare = Device(new_page(java_script_enabled=False), live_server.url)
    bare.log_in()
    bare.at("devices")
    bare.sees("This browser is none of your devices yet.")
    bare.follow("Make this my first device")
    bare.sees("keeps a key of its own in a cookie")
    bare.fill(name="Laptop", password=PASSWORD)
    bare.press("Make this my first device")
    bare.sees("Laptop", "This device.")
    bare.follow("Make a key to keep")
    bare.fill(name="Drawer")
    bare.press("Make it")
    bare.sees("edna-secret-key-1:")

    scripted = Either(new_page(), live_server.url)
    scripted.page.context.add_cookies(bare.page.context.cookies())
    scripted.at("devices")
    scripted.sees("Laptop", "This device.", "Drawer")
    scripted.press("Rename Drawer")
    scripted.fill(name="A safe")
    scripted.press("Rename it")
    scripted.sees("A safe")
    scripted.comes_back(user)
    scripted.at("devices")
    scripted.press("Remove A safe")
    scripted.fill(password="a password that opens nothing")
    scripted.press("Remove it")
    scripted.sees("This does not open your key")
    scripted.fill(password=PASSWORD)
    scripted.press("Remove it")
    scripted.sees("It is removed")
    assert scripted.is_in_cookie()
    assert scripted.stored() == []
    assert scripted.errors == []
