"""The pages "my devices", where the server uses keys: two browsers of one person, and one that is removed."""

from __future__ import annotations

import datetime
import re
import time
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client, override_settings
from django.urls import reverse

import edna
from apps.websubmit.models import User
from apps.websubmit.privacy import Privacy
from edna import devices, throttle
from edna.devices import writing
from edna.devices.models import DeviceRecord
from edna.pages.keys.taking_along import LOCKED, READABLE
from tests.support import PASSWORD, nothing_changes, statements

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]
NAME = "bea@example.org"


def at(name: str) -> str:
    return reverse(f"websubmit-privacy:{name}")


class Browser:
    """One of Bea's."""

    def __init__(self) -> None:
        self.client = Client()
        self.client.login(username=NAME, password=PASSWORD)

    def open(self, name: str) -> str:
        return str(self.client.get(at(name), follow=True).content.decode())

    def send(self, name: str, /, **data: Any) -> str:
        return str(self.client.post(at(name), data, follow=True).content.decode())

    def key(self) -> str:
        (cookie,) = [
            each for name, each in self.client.cookies.items() if name.startswith("edna_device_key") and each.value
        ]
        assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", at("home"))
        return str(cookie.value)

    def id_of(self, name: str) -> str:
        """As the list has it."""
        return re.findall(rf'id="edna-device-([0-9a-f]+)">{name}<', self.open("devices"))[0]


@pytest.fixture
def custody(request: Any, settings: Any) -> str:
    """Where keys are used."""
    kind = str(getattr(request, "param", "server"))
    settings.EDNA = {**settings.EDNA, "CUSTODY": kind}
    return kind


#: Where keys are used on either side, a browser without scripts has the pages of server custody.
in_cookies = pytest.mark.parametrize("custody", ["server", "both"], indirect=True)


@pytest.fixture
def bea(custody: str) -> User:
    user = User.objects.create_user(NAME, PASSWORD)
    edna.register_principal(user, password=PASSWORD, identifier=NAME)
    return user


@pytest.fixture
def laptop(bea: User) -> Browser:
    browser = Browser()
    browser.open("devices-first")
    page = browser.send("devices-first", name="laptop", password=PASSWORD, keep_password="on")
    assert "This is your only device" in page
    return browser


def added(laptop: Browser, name: str = "phone") -> Browser:
    new = Browser()
    page = new.send("devices-begin")
    (code,) = re.findall(r'id="edna-device-code">([^<]+)<', page)
    assert code in new.open("devices")
    assert "No device shows this code" in laptop.send("devices-add", code="0000-0000-0000", name=name)
    assert name in laptop.send("devices-add", code=code.lower(), name=name)
    assert "This device." in new.open("devices")
    return new


@in_cookies
def test_from_the_first_device_to_one_that_is_removed(laptop: Browser, bea: User, custody: str) -> None:
    """Each opens her key with nothing typed; one that is removed opens nothing, and is told so; the password goes on opening it."""
    phone = added(laptop)
    assert "you do not have to type anything" in phone.open("hidden")
    assert "Receipt" not in phone.send("hidden")
    kept = phone.key()

    page = laptop.send("devices-remove", device=laptop.id_of("phone"))
    assert "What it has already, it keeps" in page
    page = laptop.send("devices-remove", device=laptop.id_of("phone"), sure="1", password="a guess")
    assert {"server": "This is not your password.", "both": "This does not open your key."}[custody] in page
    gone = {"device": laptop.id_of("phone"), "sure": "1", "password": PASSWORD}
    assert "It is removed" in laptop.send("devices-remove", **gone)
    with nothing_changes():  # a second click, or another tab: the list says what there is
        assert "This is your only device" in laptop.send("devices-remove", **gone)

    assert "This device was removed" in phone.send("hidden", password="")
    with pytest.raises(edna.errors.DeviceRemoved):
        devices.unlock(kept)
    assert "This device was removed" in phone.open("devices")
    assert "data-edna-site-opens" not in phone.open("hidden")
    assert phone.client.post(at("hidden"), {"password": PASSWORD}).status_code == 200
    with edna.unlock(identifier=NAME, password=PASSWORD) as unlocked:
        assert edna.principal(unlocked) == bea


def test_without_the_password_only_devices_open_the_key(laptop: Browser) -> None:
    phone = added(laptop)
    laptop.send("devices-remove", device=laptop.id_of("phone"), sure="1")

    with pytest.raises(edna.errors.WrongCredentials):
        edna.unlock(identifier=NAME, password=PASSWORD)
    assert phone.open("home")
    devices.unlock(laptop.key()).close()


@in_cookies
def test_somebody_who_is_away_comes_back_by_a_device(laptop: Browser, bea: User) -> None:
    """Nothing is typed; and a key from a drawer is typed as a secret key."""
    page = laptop.send("devices-paper", name="drawer")
    (key,) = set(re.findall(r"edna-secret-key-1:[a-z2-7]+", page))
    phone = added(laptop)
    for browser, typed in ((phone, {}), (Browser(), {"secret_key": key})):
        account = User.objects.get(email=NAME)
        edna.disguise("websubmit.delete-account", account)
        del browser.client.cookies["sessionid"]
        assert "Your account is here" in browser.send("return", **typed)
        browser.client.login(username=NAME, password=PASSWORD)


@in_cookies
def test_a_copied_device_gets_another_key(laptop: Browser) -> None:
    former = laptop.key()
    laptop.send("devices-update", device=laptop.id_of("laptop"))
    page = laptop.send("devices-update", device=laptop.id_of("laptop"), sure="1", password=PASSWORD)
    assert "This device has another key" in page
    assert laptop.key() != former
    with pytest.raises(edna.errors.DeviceUnknown):
        devices.unlock(former)
    devices.unlock(laptop.key()).close()


@pytest.fixture
def nameless(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a conference is anonymised, say, an account has no name with which a password could go: its owner types the former one."""

    def refused(self: Privacy, account: User) -> str:
        raise edna.errors.PrincipalError("The account has no address now.")

    monkeypatch.setattr(Privacy, "identifier_of", refused)
    monkeypatch.setattr(Privacy, "asks_for_name", lambda self, user: True)


def test_whoever_has_no_name_now_keeps_their_password(bea: User, nameless: None) -> None:
    """With the name that they type."""
    browser = Browser()
    browser.open("devices-first")
    typed = {"name": "laptop", "identifier": NAME, "password": PASSWORD, "keep_password": "on"}
    assert "This is your only device" in browser.send("devices-first", **typed)
    edna.unlock(identifier=NAME, password=PASSWORD).close()


@pytest.mark.parametrize("name", ["devices-update", "devices-remove"])
def test_a_password_that_goes_with_no_name_is_refused_before_anything_is_replaced(
    laptop: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    added(laptop)
    device = laptop.id_of("laptop" if name == "devices-update" else "phone")
    laptop.send(name, device=device)
    request.getfixturevalue("nameless")
    with nothing_changes():
        assert 'role="alert"' in laptop.send(name, device=device, sure="1", password=PASSWORD)


@in_cookies
def test_renamed(laptop: Browser) -> None:
    page = laptop.send("devices-rename", device=laptop.id_of("laptop"))
    assert 'value="laptop"' in page
    page = laptop.send("devices-rename", device=laptop.id_of("laptop"), sure="1", name="<b>old laptop</b>")
    assert "&lt;b&gt;old laptop&lt;/b&gt;" in page


@in_cookies
def test_the_list_says_in_which_month_each_was_last_here_and_what_it_opens(
    laptop: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noted when the device opens the list, once a month."""
    phone = added(laptop)
    earlier = datetime.datetime(2025, 3, 9, tzinfo=datetime.UTC)
    with monkeypatch.context() as patch:
        patch.setattr(writing, "clock", SimpleNamespace(now=lambda: earlier))
        devices.catch_up(phone.key())
    page = laptop.open("devices")
    assert "Last here in March 2025." in page
    assert page.count("Opens everything.") == 2
    assert "Last here in March 2025." not in phone.open("devices")
    with nothing_changes():
        assert "Last here in March 2025." not in phone.open("devices")


def test_of_several_people_in_one_browser_each_has_their_own(laptop: Browser) -> None:
    """Carl, who logs in on Bea's laptop, is not offered her devices, and his become others."""
    carl = User.objects.create_user("carl@example.org", PASSWORD)
    edna.register_principal(carl, password=PASSWORD, identifier="carl@example.org")
    key = laptop.key()
    laptop.client.login(username="carl@example.org", password=PASSWORD)
    page = laptop.open("devices")
    assert ("none of your devices yet" in page, "edna-device-" in page) == (True, False)
    assert "belongs to another account" in laptop.send("hidden")
    laptop.open("devices-first")
    laptop.send("devices-first", name="shared", password=PASSWORD)
    assert "shared" in laptop.open("devices")
    laptop.client.login(username=NAME, password=PASSWORD)
    page = laptop.open("devices")
    assert ("laptop</h2>" in page, "shared</h2>" in page) == (True, False)
    assert key in [each.value for each in laptop.client.cookies.values()]


@pytest.mark.parametrize("name", ["devices-add", "devices-paper", "devices-rename", "devices-remove", "devices-update"])
def test_a_browser_that_is_no_device_is_led_to_where_it_becomes_one(laptop: Browser, name: str) -> None:
    other = Browser()
    assert "none of your devices yet" in other.open(name)
    data = {
        "device": laptop.id_of("laptop"),
        "sure": "1",
        "name": "stolen",
        "code": "0000-0000-0000",
        "password": PASSWORD,
    }
    other.send(name, **data)
    assert [each.name for each in devices.members(laptop.key())] == ["laptop"]


NAMES = (
    "devices",
    "devices-first",
    "devices-add",
    "devices-paper",
    "devices-rename",
    "devices-remove",
    "devices-update",
)


@pytest.mark.parametrize("custody", ["both"], indirect=True)
def test_where_each_has_a_key_on_either_side_a_browser_that_is_no_device_has_the_pages_of_scripts(
    client: Client, bea: User
) -> None:
    """What they send, where no script runs, is the site's: nothing, from who is no device."""
    client.login(username=NAME, password=PASSWORD)
    assert at("devices") in client.get(at("home")).content.decode()
    for name in NAMES:
        assert "data-edna-hands=" in client.get(at(name)).content.decode()
    with nothing_changes():
        for name in set(NAMES) - {"devices", "devices-first"}:
            assert client.post(at(name), {"sure": "1", "name": "x", "code": "x"}).status_code in (200, 302)


def test_where_keys_stay_in_browsers_the_pages_do_nothing_without_their_script(laptop: Browser, settings: Any) -> None:
    """Whatever is sent, and whatever cookies: nothing is changed, and what they show is a script's to fill in."""
    with override_settings(EDNA={**settings.EDNA, "CUSTODY": "browser"}), nothing_changes():
        for name in NAMES:
            for answer in (
                laptop.client.get(at(name)),
                laptop.client.post(at(name), {"sure": "1", "name": "x", "code": "x"}),
            ):
                assert answer.status_code == 200
                page = answer.content.decode()
                assert "data-edna-hands=" in page
                assert "This page needs JavaScript" in page
        assert laptop.client.post(at("devices-begin")).status_code == 302


@pytest.mark.parametrize("custody", ["server", "browser", "both"], indirect=True)
def test_whoever_has_no_key_is_led_to_where_it_is_made(custody: str, client: Client) -> None:
    """By each page, and with the same words."""
    User.objects.create_user("cy@example.org", PASSWORD)
    client.login(username="cy@example.org", password=PASSWORD)
    for name in (*NAMES, "devices-begin"):
        for answer in (client.get(at(name)), client.post(at(name), {"sure": "1", "name": "x", "code": "x"})):
            page = answer.content.decode()
            assert "You have no key yet." in page, name
            assert "edna_device_key" not in str(answer.cookies)


def test_whoever_is_not_logged_in_sees_none(laptop: Browser) -> None:
    del laptop.client.cookies["sessionid"]
    assert laptop.client.get(at("devices")).status_code == 302


def test_a_page_asks_the_table_of_devices_only_once_something_is_sent(laptop: Browser) -> None:
    """A browser that brings a key along is believed until then."""
    assert [each for each in statements(lambda: laptop.open("hidden")) if "edna_devices" in each] == []
    assert [each for each in statements(lambda: laptop.send("hidden")) if "edna_devices" in each]


def test_an_answer_that_is_lost_loses_no_key(laptop: Browser, bea: User) -> None:
    """The browser has the new key with the form already: what the answer would have said, it sees when it looks again."""
    laptop.send("devices-update", device=laptop.id_of("laptop"))
    before = laptop.client.cookies.copy()
    laptop.send("devices-update", device=laptop.id_of("laptop"), sure="1")
    laptop.client.cookies = before
    assert "This device." in laptop.open("devices")
    assert not laptop.key().endswith(".new")


def test_a_browser_that_keeps_no_cookies_becomes_no_device(bea: User) -> None:
    browser = Browser()
    page = browser.send("devices-first", name="laptop", password=PASSWORD)
    assert "Your browser has kept no cookie" in page
    with edna.unlock(identifier=NAME, password=PASSWORD) as unlocked:
        assert edna.principal(unlocked) == bea


def test_devices_show_the_same_code_of_their_group(laptop: Browser) -> None:
    phone = added(laptop)
    (one, other) = (
        re.findall(r"show this:\s*<strong class=\"edna-whole\">([^<]+)<", each.open("devices"))
        for each in (laptop, phone)
    )
    assert (one, len(one)) == (other, 1)


def test_whose_group_has_ended_is_told_so(laptop: Browser) -> None:
    """Somebody begins anew elsewhere."""
    other = Browser()
    other.open("devices-first")
    other.send("devices-first", name="tablet", password=PASSWORD)
    assert "has another key now" in laptop.send("hidden")
    assert "Show a code" in laptop.open("devices")


@pytest.mark.parametrize("typed", [{}, {"password": PASSWORD}])
def test_a_new_key_that_no_device_would_have_is_refused(laptop: Browser, typed: dict[str, str]) -> None:
    new = "five yaks in a rowing boat"
    page = laptop.send("replace-key", new_password=new, again=new, **typed)
    assert "none of them has" in page
    assert User.objects.get(email=NAME).check_password(PASSWORD)
    devices.unlock(laptop.key()).close()


@pytest.mark.parametrize("custody", ["both"], indirect=True)
def test_pages_whose_script_keeps_what_is_typed_do_not_say_that_a_cookie_opens_the_key(laptop: Browser) -> None:
    """There the site could not go on with what comes."""
    assert "data-edna-site-opens" in laptop.open("take-along")
    for name in ("key-password", "passkey", "replace-key"):
        assert "data-edna-site-opens" not in laptop.open(name), name


def test_the_other_pages_of_the_key_open_by_a_device(laptop: Browser) -> None:
    """A new recovery code, what is taken along, and deleting ask for nothing else; the code opens the key until the next remove."""
    page = laptop.send("recovery-code")
    (code,) = set(re.findall(r"(?:[0-9A-Z]{4}-){6}[0-9A-Z]{4}", page))
    edna.unlock(recovery_code=code).close()
    assert "my-data" in laptop.client.post(at("take-along"), {"kind": READABLE})["Content-Disposition"]
    assert "it is what opens this file later" in laptop.send("take-along", kind=LOCKED)
    assert (
        "my-locked-data"
        in laptop.client.post(at("take-along"), {"kind": LOCKED, "recovery_code": code})["Content-Disposition"]
    )
    laptop.send("devices-update", device=laptop.id_of("laptop"))
    laptop.send("devices-update", device=laptop.id_of("laptop"), sure="1")
    with pytest.raises(edna.errors.WrongCredentials):
        edna.unlock(recovery_code=code)


def kept_by(browser: Browser) -> list[str]:
    """The keys in its cookies, without what is said of them."""
    cookies = browser.client.cookies.items()
    return [each.value.partition(".")[0] for name, each in cookies if name.startswith("edna_device_key") and each.value]


@pytest.fixture
def shared(bea: User) -> Browser:
    """A browser where Carl is logged in before Bea."""
    carl = User.objects.create_user("carl@example.org", PASSWORD)
    edna.register_principal(carl, password=PASSWORD, identifier="carl@example.org")
    browser = Browser()
    browser.client.login(username="carl@example.org", password=PASSWORD)
    return browser


def test_a_key_that_somebody_else_was_given_in_this_browser_becomes_nobodys(shared: Browser) -> None:
    """Carl opens the form, notes the cookie, and goes."""
    shared.open("devices-first")
    [known] = kept_by(shared)
    shared.client.login(username=NAME, password=PASSWORD)
    shared.open("devices-first")
    assert "This is your only device" in shared.send("devices-first", name="laptop", password=PASSWORD)
    with pytest.raises(edna.errors.DeviceUnknown):
        devices.unlock(known)


def test_a_code_that_somebody_else_has_begun_in_this_browser_is_not_shown(shared: Browser) -> None:
    (code,) = re.findall(r'id="edna-device-code">([^<]+)<', shared.send("devices-begin"))
    assert code in shared.open("devices")
    shared.client.login(username=NAME, password=PASSWORD)
    assert "edna-device-code" not in shared.open("devices")


def test_a_cookie_that_nobody_here_has_signed_is_no_new_key(bea: User) -> None:
    planted = devices.new_key()
    for mark in ("new", "new.", "new.x:y"):
        browser = Browser()
        browser.client.cookies["edna_device_key_0"] = f"{planted.expose_text()}.{mark}"
        assert "kept no cookie" in browser.send("devices-first", name="laptop", password=PASSWORD)


def test_a_form_that_was_left_long_ago_gives_no_key(laptop: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has copied the cookies since would have the next key of the device, too."""
    laptop.send("devices-update", device=laptop.id_of("laptop"))
    copied = kept_by(laptop)
    assert len(copied) == 2
    now = time.time()
    monkeypatch.setattr("django.core.signing.time.time", lambda: now + 3601)
    device = laptop.id_of("laptop")
    laptop.send("devices-update", device=device)
    assert "has another key" in laptop.send("devices-update", device=device, sure="1", password=PASSWORD)
    for key in copied:
        with pytest.raises(edna.errors.DeviceUnknown):
            devices.unlock(key)
    devices.unlock(laptop.key()).close()


def logged_out(browser: Browser) -> Browser:
    browser.client.cookies.pop("sessionid", None)
    return browser


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("hidden", {}),
        ("delete", {}),
        ("delete", {"what": "everything", "phrase": "delete everything"}),
        ("take-along", {"kind": READABLE}),
        ("return", {}),
    ],
)
def test_a_browser_that_is_logged_out_opens_nothing_of_an_account_that_is_here(
    laptop: Browser, name: str, data: dict[str, str]
) -> None:
    """Whoever comes to it afterwards has its cookie, and no log-in."""
    answer = logged_out(laptop).client.post(at(name), {"password": "", **data})
    assert "please log in first" in answer.content.decode()
    assert User.objects.filter(email=NAME).exists()


def test_nor_is_it_told_before_that_it_has_to_type_nothing(laptop: Browser, bea: User) -> None:
    """A form that is refused when it is sent empty says so first; of an account that is away nothing has to be typed."""
    shown = logged_out(laptop).client.get(at("return")).content.decode()
    assert "Log in first, and this device opens your key." in shown
    assert "you do not have to type anything" not in shown
    edna.disguise("websubmit.delete-account", bea)
    assert "you do not have to type anything" in logged_out(laptop).client.get(at("return")).content.decode()


def test_nor_brings_back_what_is_hidden_of_it(laptop: Browser, bea: User) -> None:
    edna.disguise("websubmit.delete-account", bea)
    bring_back = logged_out(laptop)
    [entry] = edna.history(devices.unlock(laptop.key()))
    bring_back.send("return")
    page = bring_back.send("bring-back", receipt=str(entry.receipt), password="")
    assert "please log in first" in page
    # What was typed is another thing than what the browser has.
    assert "please log in first" not in bring_back.send("hidden", secret_key=laptop.key())


def test_who_cannot_log_in_comes_back_by_a_device(laptop: Browser, bea: User) -> None:
    """Some sites leave the account where it is, and let nobody log in to it."""
    User.objects.update(is_active=False)
    assert "please log in first" not in logged_out(laptop).send("hidden")


def test_of_two_in_one_browser_the_one_who_is_away_comes_back(laptop: Browser, bea: User) -> None:
    carl = User.objects.create_user("carl@example.org", PASSWORD)
    edna.register_principal(carl, password=PASSWORD, identifier="carl@example.org")
    laptop.client.login(username="carl@example.org", password=PASSWORD)
    laptop.open("devices-first")
    laptop.send("devices-first", name="shared", password=PASSWORD)
    for away in (bea, carl):
        edna.disguise("websubmit.delete-account", User.objects.get(email=away.email))
        assert "Your account is here" in logged_out(laptop).send("return")
        assert User.objects.filter(email=away.email).exists()


def code_on(page: str) -> str:
    return str(re.findall(r'id="edna-device-code">([^<]+)<', page)[0])


def test_another_code_takes_the_place_of_the_former_one(laptop: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often: of one browser there is one card and one state with its guard, too where the first code was shown long ago."""
    there, phone = DeviceRecord.objects.count(), Browser()
    codes = [code_on(phone.send("devices-begin")) for _ in range(3)]
    assert DeviceRecord.objects.count() == there + 3
    now = time.time()
    monkeypatch.setattr("django.core.signing.time.time", lambda: now + 3601)
    codes.append(code_on(phone.send("devices-begin")))
    assert DeviceRecord.objects.count() == there + 3
    assert "No device shows this code" in laptop.send("devices-add", code=codes[0], name="phone")
    assert "phone" in laptop.send("devices-add", code=codes[-1], name="phone")
    assert "This device." in phone.open("devices")


def test_nor_does_another_code_take_a_key_on_paper_or_what_was_just_added(laptop: Browser) -> None:
    page = laptop.send("devices-paper", name="drawer")
    (paper,) = set(re.findall(r"edna-secret-key-1:[a-z2-7]+", page))
    phone = Browser()
    code = code_on(phone.send("devices-begin"))
    laptop.send("devices-add", code=code, name="phone")
    assert "This device." in phone.send("devices-begin")
    for key in (paper, kept_by(phone)[0]):
        devices.unlock(key).close()


def test_begun_by_too_many_at_once_is_refused(laptop: Browser, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By those of the whole site together, as all that is limited. A window has its own place, and the one before it left one."""
    settings.EDNA = {**settings.EDNA, "REQUEST_RATE_PER_SECOND": 1 / 60}
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "devices"}}
    caches["default"].clear()
    monkeypatch.setattr(throttle, "_now", lambda: 1_800_000_000.0)
    monkeypatch.setattr(throttle, "_ask_again_at", 0.0)
    there = DeviceRecord.objects.count()
    answers = [Browser().client.post(at("devices-begin")) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [302, 302, 429, 429]
    assert answers[-1]["Retry-After"]
    assert DeviceRecord.objects.count() == there + 6


def test_a_form_that_was_left_too_long_says_so(bea: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is sent once more is done."""
    browser = Browser()
    browser.open("devices-first")
    now = time.time()
    monkeypatch.setattr("django.core.signing.time.time", lambda: now + 3601)
    page = browser.send("devices-first", name="laptop", password=PASSWORD)
    assert ("This page was open for too long" in page, "kept no cookie" in page) == (True, False)
    assert "This is your only device" in browser.send("devices-first", name="laptop", password=PASSWORD)
