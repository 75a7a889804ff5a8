"""Two browsers as two devices of one person, by the keyboard alone, with a picture of every page in ``build/screenshots/devices``."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

import edna
from apps.showcase.tests.by_keyboard import ByKeyboard
from apps.websubmit.models import User
from tests.devices.scanning import scanned
from tests.support import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]
NAME = "bea@example.org"


class Device(ByKeyboard):
    namespace = "devices"
    for_everybody = ("", "-dark", "-phone-dark", "-phone")

    def at(self, name: str, *, namespace: str = "websubmit-privacy") -> None:
        self.page.goto(self.site + reverse(f"{namespace}:{name}"))

    def log_in(self) -> None:
        self.at("login", namespace="websubmit")
        self.fill(username=NAME, password=PASSWORD)
        self.press("Log in")


def test_two_devices_of_one_person_and_one_that_is_removed(new_page: Any, live_server: Any) -> None:
    """Added by a code that is scanned, and its end typed; what one hides the other brings back; one that is removed opens nothing."""
    user = User.objects.create_user(NAME, PASSWORD)
    edna.register_principal(user, password=PASSWORD, identifier=NAME)
    laptop, phone = Device(new_page(), live_server.url), Device(new_page(), live_server.url)
    laptop.log_in()
    laptop.at("home")
    laptop.follow("My devices")
    laptop.picture("01-none-yet")
    laptop.follow("Make this my first device")
    laptop.fill(name="Laptop", password=PASSWORD)
    laptop.picture("02-first")
    laptop.press("Make this my first device")
    laptop.picture("03-only-one")

    phone.log_in()
    phone.at("devices")
    phone.press("Show a code")
    code, address = phone.page.locator("#edna-device-code").inner_text(), scanned(phone.page)
    phone.picture("04-code")
    assert code[:10] in address
    assert code[:-1] not in address  # what is followed adds nothing
    laptop.page.context.clear_cookies(name="sessionid")
    laptop.page.goto(address)  # it survives the log-in
    laptop.fill(username=NAME, password=PASSWORD)
    laptop.press("Log in")
    laptop.sees("Scanned. Now type the last four characters")
    laptop.page.goto("about:blank")
    laptop.page.goto(address + code[-4:])  # somebody has sent all of it
    laptop.sees("Scanned. Now type the last four characters")
    assert laptop.page.locator("[name=code]").input_value() == code[:10]
    laptop.page.keyboard.type(code[-4:])
    laptop.fill(name="Phone")
    laptop.picture("05-add")
    laptop.press("Add it")
    laptop.sees("Phone", "This device.")
    laptop.picture("06-two")
    laptop.follow("Make a key to keep")
    laptop.fill(name="Drawer")
    laptop.press("Make it")
    laptop.sees("edna-secret-key-1:")
    laptop.picture("07-key-to-keep")

    # What one hides, the other brings back, with nothing typed.
    edna.disguise("websubmit.delete-account", user)
    phone.page.context.clear_cookies(name="sessionid")
    phone.at("return")
    phone.sees("This device opens your key")
    phone.picture("08-return")
    phone.press("Bring my account back")
    phone.sees("It is back")
    for each in (laptop, phone):
        each.log_in()

    laptop.at("devices")
    laptop.press("Remove Phone")
    laptop.fill(password=PASSWORD)
    laptop.picture("09-remove")
    laptop.press("Remove it")
    laptop.sees("It is removed")
    laptop.picture("10-removed")

    edna.disguise("websubmit.delete-account", User.objects.get(email=NAME))
    phone.page.context.clear_cookies(name="sessionid")
    phone.at("return")
    phone.press("Bring my account back")
    phone.sees("This device was removed, and opens nothing any more")
    phone.picture("11-removed-opens-nothing")
    assert not User.objects.filter(email=NAME).exists()
    laptop.page.context.clear_cookies(name="sessionid")
    laptop.at("return")
    laptop.press("Bring my account back")
    laptop.sees("It is back")
    phone.log_in()
    phone.at("devices")
    phone.picture("12-was-removed")
    laptop.log_in()
    laptop.at("devices")
    laptop.press(re.compile("^Somebody may have copied it"))
    laptop.picture("13-update")
    assert [walker.errors for walker in (laptop, phone)] == [[], []]
