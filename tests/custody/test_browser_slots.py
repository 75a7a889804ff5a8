"""Keys and slots that browsers make: registered, opened on either side, replaced; and what nobody else can do with them."""

from __future__ import annotations

from typing import Any

import pytest

import edna
from apps.websubmit.models import User
from edna import SecretKey, conf, inner_door, serverkeys, vouching
from edna.custody import base, password, recovery
from edna.custody.base import SlotSecret
from edna.errors import PrincipalNotRegistered, SlotRefused, WrongCredentials
from edna.models import KeySlot
from edna.testing.search import finds
from tests.custody.browser import Browser, decoded, encoded, refused_as
from tests.support import statements, with_server_keys
from tests.waiting import logged_in_long_ago

pytestmark = [pytest.mark.django_db, pytest.mark.once]

EMAIL, PASSWORD, OTHER_PASSWORD = "bea@example.org", "a long walk home", "a longer walk home"
KEY = SecretKey(b"K" * 32)


@pytest.fixture(autouse=True)
def browser_custody(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "CUSTODY": "both"}
    settings.ROOT_URLCONF = "edna.urls"


@pytest.fixture
def user() -> User:
    return User.objects.create_user(EMAIL, PASSWORD)


@pytest.fixture
def browser(user: User) -> Browser:
    browser = Browser()
    browser.force_login(user)
    return browser


def from_password(browser: Browser, text: str = PASSWORD, identifier: str = EMAIL) -> SlotSecret:
    """As a browser derives it: with nothing but what the server tells."""
    first, *_ = browser.ask("slots/salt", {"identifier": identifier}).json()["stretchings"]
    salt, costs = decoded(first["salt"]), {"opslimit": first["opslimit"], "memlimit_bytes": first["memlimit_bytes"]}
    assert salt == password.salt(identifier, pepper=conf.mac_keys()[0])
    return password.derive(text, identifier=identifier, pepper=conf.mac_keys()[0], **costs)


def registered(browser: Browser) -> edna.RecoveryCode:
    code = edna.RecoveryCode.new()
    slots = [
        browser.slot(KEY, from_password(browser), kind="password"),
        browser.slot(KEY, recovery.derive(code), kind="recovery"),
    ]
    answer = browser.act("keys/register", {"slots": slots}, KEY)
    assert answer.status_code == 200, answer.content
    return code


def test_what_a_browser_has_made_opens_on_the_server(browser: Browser, user: User) -> None:
    """One site may have people of both kinds, and somebody may be both."""
    code = registered(browser)
    assert edna.is_registered(user)
    for way in ({"identifier": EMAIL, "password": PASSWORD}, {"recovery_code": code}):
        with edna.unlock(**way) as unlocked:  # type: ignore[arg-type]
            assert unlocked.secret_key == KEY
    before = set(KeySlot.objects.values_list("slot_id", "tag", "wrapped"))
    assert len(before) == 2
    edna.unlock(identifier=EMAIL, password=PASSWORD).close()
    assert set(KeySlot.objects.values_list("slot_id", "tag", "wrapped")) == before, "it is of today's form"


def test_a_session_that_somebody_has_copied_registers_no_key(browser: Browser, user: User) -> None:
    """Their key would lock what the person can never open again. Whoever logs in once more registers one."""
    logged_in_long_ago(browser)
    slot = browser.slot(KEY, from_password(browser), kind="password")
    assert refused_as(browser.act("keys/register", {"slots": [slot]}, KEY)) == (403, "RequestRefused")
    assert not edna.is_registered(user)
    browser.force_login(user)
    registered(browser)


def test_what_was_made_under_a_former_key_of_the_server_opens_in_a_browser(browser: Browser, user: User) -> None:
    """It stands behind the present one, and the browser is told a salt for each. `edna_keys` counts the slots until they are made anew."""
    with with_server_keys("an old key of the server's, long"):
        code = registered(browser)
    with with_server_keys("a new key of the server's, long", "an old key of the server's, long"):
        told = browser.ask("slots/salt", {"identifier": EMAIL}).json()["stretchings"]
        secrets = [
            password.derive(
                PASSWORD,
                identifier=EMAIL,
                pepper=pepper,
                opslimit=each["opslimit"],
                memlimit_bytes=each["memlimit_bytes"],
            )
            for pepper in conf.mac_keys()
            for each in told
            if decoded(each["salt"]) == password.salt(EMAIL, pepper=pepper)
        ]
        assert len(secrets) == 2
        for secret in (secrets[1], recovery.derive(code)):
            (found,) = browser.ask("slots/open", {"lookups": [encoded(base.lookup(secret))]}).json()["slots"]
            ((wrapped, slot_id),) = [(each["wrapped"][0], each["id"]) for each in found if each["wrapped"]]
            slot = base.Slot(decoded(slot_id), b"", decoded(wrapped))
            assert base.unlock_slot(slot, slot_secret=secret, peppers=conf.mac_keys()) == KEY
        vouching.vouch()
        assert serverkeys.former().older["slots"] == 2
        made = [
            browser.slot(KEY, secrets[0], kind="password"),
            browser.slot(KEY, recovery.derive(code), kind="recovery"),
        ]
        assert browser.act("slots/replace", {"slots": made}, KEY).json() == {}
        assert serverkeys.former().older["slots"] == serverkeys.former().wrong["slots"] == 0
    with with_server_keys("a new key of the server's, long"):
        edna.unlock(identifier=EMAIL, password=PASSWORD).close()
        edna.unlock(recovery_code=code).close()


def test_what_the_server_has_made_opens_in_a_browser(browser: Browser, user: User) -> None:
    made = edna.register_principal(user, password=PASSWORD)
    assert made.secret_key is not None
    lookup = base.lookup(from_password(browser))
    keys = browser.ask("slots/open", {"lookups": [encoded(lookup)]}).json()["slots"][0]
    ((found, *others),) = ([one for one in keys if one["wrapped"]],)
    assert others == []
    slot = base.Slot(decoded(found["id"]), b"", decoded(found["wrapped"][0]))
    secret = from_password(browser)
    assert base.unlock_slot(slot, slot_secret=secret, peppers=conf.mac_keys()) == made.secret_key


def test_a_stranger_and_a_wrong_password_get_the_same_answer(browser: Browser, user: User) -> None:
    """In its shape and length, and for the same statements; only the right lookup finds something, and that alone opens nothing."""
    registered(browser)

    def asked(identifier: str, text: str) -> tuple[Any, int]:
        salts = browser.ask("slots/salt", {"identifier": identifier}).json()
        lookup = encoded(base.lookup(from_password(browser, text, identifier)))
        count = len(statements(lambda: browser.ask("slots/open", {"lookups": [lookup]})))
        answers = [
            browser.ask("slots/open", {"lookups": [lookup]}),
            browser.ask("slots/salt", {"identifier": identifier}),
        ]
        slots = answers[0].json()["slots"]
        return [
            [(answer.status_code, len(answer.content), sorted(answer.headers)) for answer in answers],
            len(salts["stretchings"]),
            [[sorted(one) for one in each] for each in slots],
            slots[0][0]["wrapped"],
        ], count

    assert asked(EMAIL, "a wrong walk home") == asked("nobody@example.org", PASSWORD)
    assert asked(EMAIL, PASSWORD)[0][-1] != []
    assert len(statements(lambda: browser.ask("slots/salt", {"identifier": EMAIL}))) == 0
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=EMAIL, password=encoded(base.lookup(from_password(browser))))


def test_a_changed_password_replaces_the_slot_and_no_other(browser: Browser, user: User) -> None:
    code = registered(browser)
    slot = browser.slot(KEY, from_password(browser, OTHER_PASSWORD), kind="password")
    assert browser.act("slots/replace", {"slots": [slot]}, KEY).json() == {}
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=EMAIL, password=PASSWORD)
    edna.unlock(identifier=EMAIL, password=OTHER_PASSWORD).close()
    edna.unlock(recovery_code=code).close()
    with edna.unlock(recovery_code=code) as unlocked:
        edna.new_recovery_code(unlocked)
    assert KeySlot.objects.count() == 2


def test_nobody_replaces_slots_of_somebody_else(browser: Browser, user: User) -> None:
    """Not with a key of their own and all that the database holds; nor are there ever more than one of a kind."""
    registered(browser)
    mallory = SecretKey.generate()
    edna.register_principal(User.objects.create_user("m@example.org", "p"), public_key=mallory.public_key)
    before = set(KeySlot.objects.values_list("slot_id", "tag", "wrapped"))
    session = {"X-Edna-Key-Session": browser.prove(mallory)}
    for at, tag in enumerate([encoded(bytes(each)) for _, each, _ in before] * 25):
        slot = browser.slot(mallory, SlotSecret(bytes([at]) * 32), kind=base.KINDS[at % len(base.KINDS)])
        slot |= {"tag": tag, "former_tag": tag}
        assert browser.ask("slots/replace", {"slots": [slot]}, **session).status_code == 200
    after = set(KeySlot.objects.values_list("slot_id", "tag", "wrapped"))
    assert before <= after
    assert len(after - before) == len(base.KINDS)
    with edna.unlock(secret_key=mallory) as unlocked:
        edna.rotate(unlocked, public_key=SecretKey.generate().public_key)
    assert set(KeySlot.objects.values_list("slot_id", "tag", "wrapped")) == before


def test_who_has_not_proved_a_key_or_is_nobody_changes_nothing(browser: Browser, user: User) -> None:
    slot = browser.slot(KEY, SlotSecret(b"S" * 32), kind="recovery")
    for path in ("keys/register", "slots/replace"):
        assert refused_as(browser.ask(path, {"slots": [slot]})) == (403, "KeyNotProved")
        forged = {"X-Edna-Key-Session": encoded(bytes(72))}
        assert refused_as(browser.ask(path, {"slots": [slot]}, **forged)) == (403, "KeyNotProved")
    assert refused_as(Browser().act("keys/register", {"slots": [slot]}, KEY)) == (403, "RequestRefused")
    assert refused_as(browser.act("slots/replace", {"slots": [slot]}, KEY)) == (400, "PrincipalNotRegistered")
    assert not edna.is_registered(user)
    registered(browser)
    assert refused_as(browser.act("keys/register", {"slots": [slot]}, SecretKey.generate())) == (
        409,
        "PrincipalAlreadyRegistered",
    )
    assert KeySlot.objects.count() == 2


def test_a_slot_that_is_none_is_refused(browser: Browser, user: User) -> None:
    good = browser.slot(KEY, SlotSecret(b"S" * 32), kind="recovery")
    other = browser.slot(KEY, SlotSecret(b"T" * 32), kind="password")
    former = encoded(b"\1" + decoded(good["wrapped"])[1:])
    for slots in (
        [good | {"wrapped": former}],
        [good, good | {"kind": other["kind"]}],
        [good, other | {"kind": good["kind"]}],
        [good | {"kind": "master"}],
    ):
        assert refused_as(browser.act("keys/register", {"slots": slots}, KEY)) == (400, "SlotRefused")
    for slots in ([], [good | {"wrapped": good["wrapped"][4:]}], [good | {"lookup": ""}], ["x"], [good] * 5):
        assert refused_as(browser.act("keys/register", {"slots": slots}, KEY)) == (400, "RequestRefused")
    assert not edna.is_registered(user)
    assert KeySlot.objects.count() == 0
    short = inner_door.BrowserSlot(lookup=b"", kind="password", wrapped=b"")
    with pytest.raises(SlotRefused):
        inner_door.replace_slots(KEY.public_key, [short])


def test_a_key_that_was_replaced_gets_no_slot(browser: Browser, user: User) -> None:
    code = registered(browser)
    slot = browser.slot(KEY, SlotSecret(b"S" * 32), kind="recovery")
    with edna.unlock(recovery_code=code) as unlocked:
        edna.rotate(unlocked, public_key=SecretKey.generate().public_key)
    assert KeySlot.objects.count() == 0, "slots that browsers made go with the key as well"
    assert refused_as(browser.act("slots/replace", {"slots": [slot]}, KEY)) == (400, "PrincipalNotRegistered")
    with pytest.raises(PrincipalNotRegistered):
        edna.unlock(secret_key=KEY)


def test_no_answer_and_no_table_holds_what_opens_a_slot(browser: Browser, user: User) -> None:
    secret = from_password(browser)
    registered(browser)
    answer = browser.ask("slots/open", {"lookups": [encoded(base.lookup(secret))]}).content
    stored = b"".join(b"".join(map(bytes, row)) for row in KeySlot.objects.values_list("slot_id", "tag", "wrapped"))
    needles = {"slot secret": secret.expose(), "secret key": KEY.expose(), "pepper": conf.mac_keys()[0]}
    assert not finds(answer, needles)
    assert not finds(stored, {**needles, "lookup": base.lookup(secret)})
