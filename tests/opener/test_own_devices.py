"""Somebody with several devices, each of which keeps its key: by the modules in Node, against a real server.

Every byte that reaches the server is recorded: no key of a device and no secret of the group is among them, nor what devices are called.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.handlers.base import BaseHandler
from django.test import override_settings

import edna
from apps.websubmit.models import Lecture
from edna import conf, devices, errors
from edna.crypto.keys import SecretKey
from edna.devices import reading, writing
from edna.devices.models import DeviceRecord
from edna.testing import application_dump
from edna.testing.search import finds, places
from tests.custody.browser import Browser, encoded, refused_as
from tests.installed import registering
from tests.integration.test_rotation import EachAlone, assert_opens_nothing, keys_of
from tests.opener.test_handing_over import RECEIVED, LoggedIn, recorded
from tests.support import ANONYMISE_LECTURE, DELETE, PASSWORD, Student, enrol_in_course

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]
HERE = Path(__file__).resolve().parent
NAME = "bea@example.org"

InBrowser = Callable[..., Any]


@pytest.fixture
def bea(monkeypatch: pytest.MonkeyPatch) -> Iterator[Student]:
    with registering(EachAlone):
        student = enrol_in_course(NAME, "carl@example.org")
        monkeypatch.setattr(LoggedIn, "user", student.user)
        yield student


@pytest.fixture
def in_browser(live_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[InBrowser]:
    """What one of somebody's browsers does."""
    RECEIVED.clear()
    program = [str(shutil.which("node") or shutil.which("nodejs")), str(HERE / "devices-story.mjs")]

    def act(what: str, device: SecretKey | None = None, **given: Any) -> Any:
        asked = {"base": f"{live_server.url}/", "act": what, "hybrid": conf.is_hybrid(), **given}
        if device is not None:
            asked["device"] = device.expose_text()
        assert node.stdin
        assert node.stdout
        node.stdin.write(json.dumps(asked) + "\n")
        node.stdin.flush()
        answer = json.loads(node.stdout.readline())
        assert not answer.get("error", "").startswith(("Error", "TypeError", "ReferenceError", "RangeError")), answer
        return answer.get("result", answer.get("error"))

    monkeypatch.setattr(BaseHandler, "resolve_request", recorded)
    configured = {**django_settings.EDNA, "CUSTODY": "browser"}
    with (
        override_settings(EDNA=configured, ROOT_URLCONF="edna.urls"),
        subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node,
    ):
        yield act


def group_secrets(*keys: SecretKey) -> dict[str, bytes]:
    """What devices know, by the keys of these."""
    found = {}
    for number, key in enumerate(keys):
        device = reading.read(key)
        found |= {f"key {number}": key.expose(), f"prekey {number}": device.keys.prekey.expose()}
        found |= {f"secret {at} of {number}": secret.expose() for at, secret in device.secrets.items()}
        found[f"key of the group by {number}"] = device.secret.secret_key().expose()
    return found


def test_two_browsers_are_devices_and_one_that_is_removed_opens_nothing_new(
    bea: Student, in_browser: InBrowser
) -> None:
    """Made, added, renamed, removed and updated; what each opens; and the server has seen no secret."""
    before = application_dump()
    receipts = [bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)]
    edna.disguise_all(EachAlone.name)
    receipts.append(bea.disguise(DELETE, with_key=True))
    old, laptop, phone = keys_of(bea), devices.new_key(), devices.new_key()

    first = edna.SecretKey.parse(
        in_browser("create", laptop, text=bea.secret_key.expose_text(), name="A laptop of hers")
    )
    assert_opens_nothing(old)
    code = in_browser("begin", phone)
    phone_id = in_browser("add", laptop, code=code, name="A telephone")
    assert in_browser("open", phone) == first.expose_text()
    assert in_browser("group code", phone) == in_browser("group code", laptop) == devices.group_code(phone)
    assert in_browser("add", laptop, code=code, name="Once more") == "DeviceCodeRefused"
    in_browser("rename", laptop, id=phone_id, name="Her telephone")
    assert [each["name"] for each in in_browser("members", phone)] == ["A laptop of hers", "Her telephone"]
    assert in_browser("new key in its place", laptop) == "PrincipalHasDevices"
    hidden = group_secrets(laptop, phone)

    in_browser("remove", laptop, id=phone_id)
    assert in_browser("open", phone) == "DeviceRemoved"
    assert_opens_nothing([first])
    second = in_browser("open", laptop)
    in_browser("forget", phone)
    assert in_browser("open", phone) == "DeviceUnknown"

    hidden |= group_secrets(laptop)
    copied, following = laptop, devices.new_key()
    in_browser("update", copied, following=following.expose_text())
    assert in_browser("open", copied) == "DeviceUnknown"
    assert in_browser("open", following) != second
    assert in_browser("update", copied, following=following.expose_text()) == in_browser("open", following)
    hidden |= group_secrets(following)

    for receipt in reversed(receipts):
        assert in_browser("reveal", following, receipt=str(receipt))["complete"]
    assert application_dump().keys() == before.keys()
    texts = {name: key.expose_text() for name, key in {"laptop": copied, "phone": phone, "third": following}.items()}
    names = {name: name for name in ("A laptop of hers", "A telephone", "Her telephone")}
    received = b"\n".join(set(RECEIVED))
    assert finds(received, hidden | texts | names) == []
    assert finds(received, {"code": code}) == ["code"]
    assert places(hidden | texts | names) == []


def test_both_custodies_read_what_the_other_has_written(bea: Student, in_browser: InBrowser) -> None:
    """A device that was made on the server acts in a browser, and the other way round; a password goes on opening the key."""
    laptop, phone = devices.create(bea.unlock(), name="laptop"), devices.new_key()
    code = in_browser("begin", phone)
    phone_id = devices.add(laptop, code, name="phone")
    assert [each["name"] for each in in_browser("members", phone)] == ["laptop", "phone"]
    third = devices.begin()
    in_browser("add", phone, code=third.code, name="third")
    with devices.unlock(third.secret_key) as unlocked:
        assert edna.principal(unlocked) == bea.user
    in_browser("remove", laptop, id=phone_id.hex(), identifier=NAME, password=PASSWORD)
    text = in_browser("by password", identifier=NAME, password=PASSWORD)
    assert text == in_browser("open", third.secret_key)
    assert [each.name for each in devices.members(third.secret_key)] == ["laptop", "third"]
    assert in_browser("open", phone) == "DeviceRemoved"


def test_an_answer_that_is_lost_loses_no_key(bea: Student, in_browser: InBrowser) -> None:
    """The browser has kept the key before; it is done once."""
    laptop, following = devices.new_key(), devices.new_key()
    in_browser("create", laptop, text=bea.secret_key.expose_text(), name="laptop", lost="devices/rotate")
    in_browser("update", laptop, following=following.expose_text(), lost="devices/rotate")
    with devices.unlock(following) as unlocked:
        assert edna.principal(unlocked) == bea.user
    assert reading.read(following).membership.sequence == 1


def test_of_the_hybrid_kind_everything_but_the_key_of_the_group_is(
    bea: Student, in_browser: InBrowser, settings: Any
) -> None:
    """As on the server: the group's own key is of X25519."""
    settings.EDNA = {**settings.EDNA, "RECIPIENT": "x-wing"}
    edna.disguise_all(EachAlone.name)
    [entry] = bea.history()
    laptop = devices.new_key()
    in_browser("create", laptop, text=bea.secret_key.expose_text(), name="laptop")
    assert in_browser("reveal", laptop, receipt=str(entry.receipt))["complete"]


def test_who_has_copied_the_tables_replaces_no_state_and_no_log(bea: Student, in_browser: InBrowser) -> None:
    """It takes the keys: to know the places, and what lies there, is not enough; nor is to have been a device."""
    laptop, phone = devices.create(bea.unlock(), name="laptop"), devices.begin()
    phone_id = devices.add(laptop, phone.code, name="phone")
    group = reading.read(laptop).secret.secret_key()
    stolen = {bytes(each.place): bytes(each.sealed) for each in DeviceRecord.objects.all()}
    thief, browser = SecretKey.generate(), Browser()
    place = writing.keeping.state_place(laptop)
    asked = {"notes": [], "device": None, "state": {"place": encoded(place), "sealed": encoded(b"nonsense")}}
    asked["state"] |= {"token": browser.prove(thief), "former": encoded(stolen[place])}
    assert refused_as(browser.act("devices/note", asked, thief)) == (403, "NotYours")
    assert refused_as(browser.act("devices/note", asked, group)) == (403, "NotYours")
    gone = {"place": encoded(place)}
    assert refused_as(browser.act("devices/forget", gone, thief)) == (403, "NotYours")
    devices.remove(laptop, phone_id)
    nothing = {"notes": []}
    assert refused_as(browser.act("devices/note", nothing, group)) == (400, "DeviceUnknown")
    assert devices.members(laptop)[0].name == "laptop"


def test_a_person_begins_so_many_devices_in_an_hour(
    bea: Student, in_browser: InBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is begun nothing says whose it is, so that nobody else could delete it."""
    monkeypatch.setattr(writing, "MOST_BEGUN", 2)
    monkeypatch.setattr("edna.throttle._now", lambda: 1_800_000_018.0)
    for _ in range(2):
        assert "-" in in_browser("begin", devices.new_key())
    number = DeviceRecord.objects.count()
    assert in_browser("begin", devices.new_key()) == "TooBusy"
    assert DeviceRecord.objects.count() == number
    with pytest.raises(errors.TooBusy):
        devices.begin(person=bea.user)
    devices.begin(person=enrol_in_course("dan@example.org").user)
